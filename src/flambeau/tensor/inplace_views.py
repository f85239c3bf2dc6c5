"""Methods that change a tensor's own shape, strides or memory: `t_`, `squeeze_`, `resize_`, `set_` and others.

Other tensors over the same storage are unaffected.  A tensor in a graph gets the node of the out-of-place view.
"""

from __future__ import annotations

from typing import Any

from .. import memory_formats as formats
from ..autograd.mode import GradMode, is_grad_enabled
from ..autograd.node_hooks import move_kept
from ..core.call_errors import checked_size
from ..core.factories import sizes as sizes_of
from ..core.inplace import check_inplace
from ..core.storage import Storage
from ..core.tensor import TensorBase, before_write, empty_tensor, tensor_over
from ..errors import ArgumentTypeError, AutogradError, DeviceMismatchError, DtypeError, ShapeError, naming, shown
from ..ops.operator import REGISTRY
from ..strides import contiguous, extent
from . import checks, storages


def _become(name: str, view: str, tensor: Any, *arguments: Any, **named: Any) -> Any:
    """Give a tensor the shape and strides of a view of it, and its node in a graph.  Raises AutogradError.

    The node of a tensor that is not a leaf is recorded under no_grad too, as its gradient must have the new shape.
    """
    checks.tensor(name, "self", tensor)
    before_write(name, tensor)
    is_recorded = tensor.requires_grad and (is_grad_enabled() or not tensor.is_leaf)
    if is_recorded:
        check_inplace(name, tensor, True)
    with naming(name), GradMode(is_recorded):
        seen = REGISTRY[view](tensor, *arguments, **named)
    if is_recorded and seen is not tensor:
        if tensor.retains_grad:
            move_kept(tensor, tensor._grad_fn, seen._grad_fn, seen._output_index)
        tensor._grad_fn, tensor._output_index = seen._grad_fn, seen._output_index
    _adopt(tensor, seen)
    return tensor


def _adopt(tensor: Any, other: Any) -> None:
    """Take the memory and layout of another tensor, as a write in place."""
    if other._storage is not tensor._storage:
        tensor._counter = other._counter
    tensor._storage, tensor._layout, tensor._offset = other._storage, other._layout, other._offset
    tensor._counter.version += 1


def t_(self: Any) -> Any:
    """Transpose this matrix in place and return it; the memory does not change.

    Shapes: [n, m] becomes [m, n]; [n] and [] stay.
    Raises: ShapeError for more than two dimensions, AutogradError for a leaf that requires a gradient.
    Example:
        >>> x = torch.tensor([[1, 2, 3], [4, 5, 6]])
        >>> x.t_().shape, x.shape
        (torch.Size([3, 2]), torch.Size([3, 2]))
    """
    return _become("t_", "t", self)


def transpose_(self: Any, dim0: int, dim1: int) -> Any:
    """Swap two dimensions of this tensor in place and return it; the memory does not change.

    Shapes: as this tensor's, with sizes dim0 and dim1 swapped.
    Raises: IndexRangeError if a dimension is out of range, AutogradError for a leaf that requires a gradient.
    Example:
        >>> torch.zeros(2, 3, 5).transpose_(0, 2).shape
        torch.Size([5, 3, 2])
    """
    return _become("transpose_", "transpose", self, dim0, dim1)


def swapaxes_(self: Any, axis0: int, axis1: int) -> Any:
    """Swap two dimensions of the tensor in place: an alias of `transpose_`.

    Shapes: as this tensor's, with sizes axis0 and axis1 swapped.
    Raises: IndexRangeError if a dimension is out of range, AutogradError for a leaf that requires a gradient.
    Example:
        >>> torch.zeros(2, 3).swapaxes_(0, 1).shape
        torch.Size([3, 2])
    """
    return _become("swapaxes_", "transpose", self, axis0, axis1)


def swapdims_(self: Any, dim0: int, dim1: int) -> Any:
    """Swap two dimensions of the tensor in place: an alias of `transpose_`.

    Shapes: as this tensor's, with sizes dim0 and dim1 swapped.
    Raises: IndexRangeError if a dimension is out of range, AutogradError for a leaf that requires a gradient.
    Example:
        >>> torch.zeros(2, 3).swapdims_(0, 1).shape
        torch.Size([3, 2])
    """
    return _become("swapdims_", "transpose", self, dim0, dim1)


def squeeze_(self: Any, dim: Any = None) -> Any:
    """Remove dimensions of size 1 from this tensor in place, all or those in `dim`, and return it.

    Shapes: this tensor's without these dimensions.
    Raises: IndexRangeError if a dimension is out of range, AutogradError for a leaf that requires a gradient.
    Example:
        >>> torch.zeros(1, 3, 1).squeeze_().shape
        torch.Size([3])
    """
    return _become("squeeze_", "squeeze", self, dim)


def unsqueeze_(self: Any, dim: int) -> Any:
    """Insert a dimension of size 1 into this tensor in place, and return it.

    Shapes: this tensor's with a size of 1 inserted.
    Raises: IndexRangeError if the dimension is out of range, AutogradError for a leaf that requires a gradient.
    Example:
        >>> torch.zeros(3).unsqueeze_(0).shape
        torch.Size([1, 3])
    """
    return _become("unsqueeze_", "unsqueeze", self, dim)


def as_strided_(self: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """Set this tensor's sizes, strides and offset within its storage, and return it.

    Shapes: this tensor gets the shape `size`.
    Raises: ShapeError if the new elements exceed the storage, AutogradError for a leaf that requires a gradient.
    Example:
        >>> torch.arange(4).as_strided_((2, 2), (1, 1))
        tensor([[0, 1],
                [1, 2]])
    """
    return _become("as_strided_", "as_strided", self, size, stride, storage_offset)


def resize_(self: Any, *sizes: Any, size: Any = None, memory_format: Any = None) -> Any:
    """Change this tensor's shape in place, and return it.

    The storage grows if it is too small.  Existing elements keep their place in memory; new ones are uninitialized.
    memory_format: the format of the new shape; None is row-major order.
    Shapes: this tensor gets the listed sizes.
    Raises: AutogradError for a tensor that requires a gradient, ShapeError or ValueRangeError for a bad shape,
            NotSupportedError if the storage is too small and shared with other processes or libraries.
    Example:
        >>> x = torch.tensor([[1, 2], [3, 4]])
        >>> x.resize_(3)
        tensor([1, 2, 3])
        >>> x.resize_(2, 2)
        tensor([[1, 2],
                [3, 4]])
    """
    wanted = sizes if size is None else checks.named("resize_", sizes, size)
    return _resized("resize_", self, sizes_of(wanted, "resize_"), memory_format)


def resize_as_(self: Any, the_template: Any, *, memory_format: Any = None) -> Any:
    """Change this tensor's shape in place to that of another tensor, as `resize_` does, and return it.

    memory_format: the format of the new shape; None is row-major order, preserve_format that of the other tensor.

    Shapes: this tensor gets the shape of `the_template`.
    Raises: ArgumentTypeError if `the_template` is not a tensor, AutogradError if this tensor requires a gradient.
    Example:
        >>> torch.arange(4).resize_as_(torch.zeros(2, 1))
        tensor([[0],
                [1]])
    """
    checks.tensor("resize_as_", "the_template", the_template)
    if memory_format is formats.preserve_format:
        memory_format = formats.suggested(the_template.shape, the_template.stride())
    return _resized("resize_as_", self, tuple(the_template.shape), memory_format)


def _resized(name: str, tensor: Any, shape: tuple[int, ...], format: Any) -> Any:
    checks.tensor(name, "self", tensor)
    if tensor.requires_grad:
        raise AutogradError(
            f"cannot resize variables that require grad: {tensor.describe()}", hint="use detach() first", operator=name
        )
    size = checked_size(shape, name)
    if format is not None:
        formats.check(name, format)
    elif size == tensor.shape:
        return tensor
    before_write(name, tensor)
    strides = contiguous(size) if format is None else formats.strides_in(name, format, size)
    _place(name, tensor, tensor._storage, tensor._offset, size, strides)
    return tensor


def _place(name: str, tensor: Any, memory: Storage, offset: int, size: Any, strides: Any) -> None:
    """Make a tensor refer to a part of a storage, which grows if it is too small."""
    reach = extent(size, strides)
    needed = (offset + reach) * tensor.dtype.itemsize if reach else 0
    if needed > memory.nbytes:
        storages.resize(memory, needed, name)
    _adopt(tensor, tensor_over(memory, tensor.dtype, size, strides, offset))


def set_(
    self: Any, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None
) -> Any:  # fmt: skip
    """Make this tensor refer to other memory, and return it.

    source: a tensor of this type, or a storage; without it, the tensor becomes empty.
    storage_offset, size, stride: the part of the storage, in elements; all of it in one dimension by default.
    Raises: DtypeError or DeviceMismatchError if the source has another type or device, AutogradError for a leaf that
            requires a gradient, ShapeError or ValueRangeError for a bad offset, size or stride.
    Example:
        >>> x, y = torch.zeros(2), torch.arange(4.0)
        >>> x.set_(y.untyped_storage(), 1, (2,), (2,))
        tensor([1., 3.])
        >>> y[1] = 7
        >>> x
        tensor([7., 3.])
    """
    checks.tensor("set_", "self", self)
    before_write("set_", self)
    if is_grad_enabled() and self.requires_grad:
        raise AutogradError(
            f"{'a leaf Variable' if self.is_leaf else 'a tensor'} that requires grad is being used in an in-place "
            f"operation: {self.describe()}",
            hint="call it under torch.no_grad(), or assign to .data",
            operator="set_",
        )
    storages.check_machine("set_", self._storage)
    if source is None:
        source = empty_tensor((0,), self.dtype, self.device_index)
    memory, own_type = _memory_of(source)
    if own_type is not None and own_type is not self.dtype:
        raise DtypeError(
            f"could not set tensor of type {own_type.name} to a tensor of type {self.dtype.name}",
            hint="pass source.untyped_storage() to read its bytes as another type",
            operator="set_",
        )
    if memory.device is not self._layout.device:
        raise DeviceMismatchError(
            f"the source is on {memory.device}, this is {self.describe()}",
            hint="move it with .to(...)",
            operator="set_",
        )
    if isinstance(source, TensorBase) and size is None:
        _adopt(self, source)
        return self
    checks.count("set_", "storage_offset", storage_offset)
    whole = max(memory.nbytes // self.dtype.itemsize - storage_offset, 0)
    if size is not None:
        size = checks.listed("set_", "size", "ints", size)
        checks.sizes("set_", (size,))
    wanted = checked_size((whole,) if size is None else size, "set_")
    steps = () if stride is None else checks.listed("set_", "stride", "ints", stride)
    for each in steps:
        checks.integer("set_", "an entry of stride", each)
    steps = steps or contiguous(wanted)
    if len(steps) != len(wanted):
        raise ShapeError(
            f"got {len(steps)} strides, {list(steps)}, for {len(wanted)} sizes, {list(wanted)}",
            hint="pass one stride, in elements, for each size",
            operator="set_",
        )
    _place("set_", self, memory, storage_offset, wanted, steps)
    return self


def _memory_of(source: Any) -> tuple[Storage, Any]:
    """Return a source's storage and its type, None for bytes."""
    if isinstance(source, TensorBase):
        return source._storage, source.dtype
    if isinstance(source, storages.TypedStorage):
        return source._storage, source.dtype
    if isinstance(source, storages.UntypedStorage):
        return source._storage, None
    raise ArgumentTypeError(
        f"source must be a Tensor or a storage, got {shown(source)}",
        hint="as in other.untyped_storage()",
        operator="set_",
    )


def fill_diagonal_(self: Any, fill_value: Any, wrap: bool = False) -> Any:
    """Fill the main diagonal of this tensor with the number `fill_value`, and return the tensor.

    If there are more than two dimensions, they must have the same size.
    wrap: in a matrix with more rows than columns, True leaves a row free below the diagonal, and begins another there.
    Raises: ShapeError for fewer than two or unequal dimensions, AutogradError for a leaf that requires a gradient.
    Example:
        >>> torch.zeros(2, 3).fill_diagonal_(5)
        tensor([[5., 0., 0.],
                [0., 5., 0.]])
    """
    if self.ndim < 2 or self.ndim > 2 and len(set(self.shape)) > 1:
        fact = "dimensions must be larger than 1" if self.ndim < 2 else "all dimensions must be of equal length"
        raise ShapeError(
            f"{fact}, this is {self.describe()}", hint="write diagonal(), which is a view", operator="fill_diagonal_"
        )
    checks.fill_value("fill_diagonal_", fill_value)
    checks.flag("fill_diagonal_", "wrap", wrap)
    rows, columns = self.shape[0], self.shape[1]
    step = sum(self.stride())
    parts = [(0, min(self.shape))]
    if wrap and self.ndim == 2 and rows > columns + 1:
        parts.append((self.stride(0) * (columns + 1), -(-self.numel() // (columns + 1)) - columns))
    for offset, count in parts:
        if count > 0:
            with naming("fill_diagonal_"):
                REGISTRY["as_strided"](self, (count,), (step,), self._offset + offset).fill_(fill_value)
    return self


METHODS = (
    t_, transpose_, swapaxes_, swapdims_, squeeze_, unsqueeze_, as_strided_, resize_, resize_as_, set_, fill_diagonal_,
)  # fmt: skip
