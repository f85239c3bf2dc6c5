"""Tensor, the public class.  Most of its methods come from the operator registry; this file has the others."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .. import memory_formats as formats
from .. import transfer
from ..autograd import gradients
from ..autograd.graph_node import face_of
from ..autograd.mode import is_grad_enabled
from ..autograd.node_hooks import RemovableHandle
from ..core import call as calls
from ..core import record
from ..core.factories import sizes as sizes_of
from ..core.storage import Storage
from ..core.tensor import TensorBase, alias_of, empty_tensor, make_results
from ..core.versions import count_apart
from ..dtypes import bool_
from ..errors import (
    ArgumentTypeError,
    AutogradError,
    DtypeError,
    NotSupportedError,
    ShapeError,
    ValueRangeError,
    naming,
    shown,
)
from ..memory_formats import contiguous_format
from ..ops.operator import REGISTRY
from ..runtime import device as devices
from ..runtime.stream import Stream, adopted, check_alive
from . import checks, factories, gradient, legacy, meta, methods, operators, storages, subclass
from .format import to_text

PLAIN = (float, int)
_CONVERT = REGISTRY["convert"]
_FILL = REGISTRY["fill"].in_place()


class TensorClass(type):
    """The metaclass of Tensor: `Tensor(2, 3)` and `Tensor([1, 2])` construct as the legacy FloatTensor does.

    overrides: whether calls with tensors of a subclass go to its `__torch_function__`.
    """

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], overrides: bool = True
    ) -> TensorClass:
        if overrides:
            bases = tuple([subclass.overridable(base) if base is Tensor else base for base in bases])
        return super().__new__(mcs, name, bases, namespace)

    def __init__(cls, *args: Any, overrides: bool = True) -> None:
        super().__init__(*args)

    def __dir__(cls) -> list[str]:
        return operators.without(super().__dir__(), cls)

    @property
    def __signature__(cls) -> inspect.Signature:
        """The parameters of `__new__` or `__init__`, for `inspect.signature`."""
        init = cls.__init__
        made_by = cls.__new__ if inspect.isfunction(cls.__new__) and not inspect.isfunction(init) else init
        return inspect.Signature(list(inspect.signature(made_by).parameters.values())[1:])

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is Tensor and not (args and isinstance(args[0], Storage)):
            return legacy.make_tensor(*args, **kwargs)
        return type.__call__(cls, *args, **kwargs)


class Tensor(TensorBase, metaclass=TensorClass, overrides=False):
    """A multi-dimensional array of one dtype on one device; it records how it was computed if gradients are required.

    Tensor(2, 3) is uninitialized and has these sizes; Tensor([1, 2]) has these values.  Prefer `torch.tensor`.
    Most functions are methods too: `x.exp()` is `torch.exp(x)`.  The documentation of such a method calls this tensor
    `input`.  Methods do not take out=.  A method whose name ends with `_` writes its result into this tensor.
    Raises: ArgumentTypeError for sizes that are not ints, and data of another type, ValueRangeError for a negative
            size.
    Example:
        >>> x = torch.tensor([[1.0, 2.0]], requires_grad=True)
        >>> y = (x * x).sum()
        >>> y.backward()
        >>> y.item(), x.grad
        (5.0, tensor([[2., 4.]]))
    """

    __array_priority__ = 1000  # NumPy scalars leave binary operators to the tensor

    name: Any = None  # as in PyTorch; a subclass may set its own
    shown_as = "tensor"  # prefix of its `repr`
    as_subclass = subclass.as_subclass
    _make_subclass = staticmethod(subclass.make_subclass)

    # graph and gradient

    @property
    def grad_fn(self) -> Any:
        """The graph node that computed this tensor; None for a leaf."""
        edge = record.edge_of(self) if self.requires_grad else None
        return None if edge is None or self._grad_fn is None else face_of(edge[0])

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation computed this tensor."""
        if self.requires_grad:
            record.edge_of(self)
        return self._grad_fn is None

    @property
    def output_nr(self) -> int:
        """The index of this tensor among the results of its `grad_fn`."""
        if self.requires_grad:
            record.edge_of(self)
        return self._output_index

    def _is_view(self) -> bool:
        return self._base is not None

    def is_inference(self) -> bool:
        """Return whether this tensor was made in inference mode; autograd cannot save such a tensor for backward.

        Example:
            >>> torch.ones(1).is_inference()
            False
        """
        return self._storage.version < 0

    @property
    def _version(self) -> int:
        if self.is_inference():
            raise AutogradError(
                f"Inference tensors do not track version counter: {self.describe()}",
                hint="use a clone(), which has a version",
                operator="_version",
            )
        return self._counter.version

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to, or through, this tensor."""
        return super().requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        gradient.want(self, value, "requires_grad")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set whether autograd computes a gradient for this leaf, and return it; requires_grad=False turns that off.

        Raises: AutogradError for a non-leaf, DtypeError for integers.

        Example:
            >>> weight = torch.tensor([1.0, 2.0]).requires_grad_()
            >>> weight
            tensor([1., 2.], requires_grad=True)
        """
        is_plain = requires_grad is True and self._layout.is_floating and self._storage.version >= 0
        if self._grad_fn is None and (requires_grad is False or is_plain):
            self._requires_grad = requires_grad
        else:
            gradient.want(self, requires_grad, "requires_grad_")
        return self

    @property
    def data(self) -> Tensor:
        """Return a tensor over the same memory that is outside any graph and counts its writes apart.

        Backward does not notice writes through it to a value that was saved.
        """
        alias = self.detach()
        count_apart(alias, 0)
        return alias

    @data.setter
    def data(self, value: Tensor) -> None:
        gradient.check_data(self, value)
        version = self._counter.version
        self._storage, self._layout, self._offset = value._storage, value._layout, value._offset
        count_apart(self, max(version, 0))

    def detach(self) -> Tensor:
        """Return a tensor over the same memory without its autograd graph: it does not require a gradient.

        Shapes: same as this tensor.
        Example:
            >>> x = torch.tensor([1.0], requires_grad=True)
            >>> (x * 2).detach()
            tensor([2.])
        """
        return alias_of(self, self.shape, self.strides, self._offset)

    def detach_(self) -> Tensor:
        """Detach this tensor from its graph in place, and return it.

        Raises: AutogradError for a view.
        Example:
            >>> x = torch.tensor([1.0], requires_grad=True)
            >>> y = x * 2
            >>> y.detach_().requires_grad
            False
        """
        if self._base is not None:
            raise AutogradError(
                f"Can't detach views in-place: {self.describe()} of {self._base.describe()}",
                hint="use detach() instead",
                operator="detach_",
            )
        self._grad_fn, self._requires_grad = None, False
        return self

    @property
    def grad(self) -> Any:
        """The gradient that backward accumulated; None before the first one."""
        return self._grad

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None:
            gradient.check_grad(self, value)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def retain_grad(self) -> None:
        """Store the gradient of this non-leaf in `grad` during backward, after its hooks have run.

        Raises: AutogradError if the tensor does not require a gradient.
        Example:
            >>> x = torch.tensor([3.0], requires_grad=True)
            >>> y = x * 2
            >>> y.retain_grad()
            >>> (y * y).backward()
            >>> y.grad
            tensor([12.])
        """
        gradient.retain(self)

    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call `hook` with this tensor's gradient during backward; its result, unless None, replaces the gradient.

        The handle that is returned removes the hook by its method `remove`.

        Raises: ArgumentTypeError if the hook is not callable, AutogradError if the tensor does not require a gradient.
        Example:
            >>> x = torch.tensor([3.0], requires_grad=True)
            >>> handle = x.register_hook(lambda grad: grad * 10)
            >>> (x * 2).backward()
            >>> x.grad
            tensor([20.])
        """
        return gradient.register(self, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], None]) -> RemovableHandle:
        """Call `hook` with this leaf after a gradient was added to its `grad`.  Raises AutogradError for a non-leaf.

        The handle that is returned removes the hook by its method `remove`.

        Example:
            >>> x = torch.tensor([3.0], requires_grad=True)
            >>> handle = x.register_post_accumulate_grad_hook(lambda leaf: print("gradient:", leaf.grad))
            >>> (x * 2).backward()
            gradient: tensor([2.])
        """
        return gradient.register_accumulated(self, hook)

    def backward(
        self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
    ) -> None:
        """Add the gradient of this tensor to the `grad` of every leaf that it was computed from.

        gradient: a tensor of this tensor's shape; 1 by default for a tensor of one element.  retain_graph: True keeps
        the graph for another call; None means the value of create_graph.  create_graph: True records this backward
        pass, for higher derivatives.
        inputs: the tensors whose `grad` changes; None is all leaves.
        Host:   returns at once.
        Order:  the backward of each operator runs on the stream of its forward call.  At the end the current streams
                wait for the streams on which the gradients of leaves were added.
        Raises: AutogradError if the graph was freed or a saved value was overwritten.
        Example:
            >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
            >>> (x * x).sum().backward()
            >>> x.grad
            tensor([2., 4.])
        """
        gradients.backward([self], [gradient], retain_graph, create_graph, None, inputs)

    # shape

    def size(self, dim: int | None = None) -> Any:
        """Return the shape, or the size of one dimension.

        Raises: IndexRangeError if `dim` is out of range, ArgumentTypeError if it is not an int.
        Example:
            >>> x = torch.zeros(2, 3)
            >>> x.size(), x.size(-1)
            (torch.Size([2, 3]), 3)
        """
        if dim is None:
            return self.shape
        if type(dim) is not int:
            checks.integer("size", "dim", dim)
        try:
            return self.shape[dim]
        except IndexError:
            checks.dimension("size", dim, self)
            raise

    def stride(self, dim: int | None = None) -> Any:
        """Return the strides: the distance between neighbours along each dimension, or along `dim`, in elements.

        Raises: IndexRangeError if `dim` is out of range, ArgumentTypeError if it is not an int.
        Example:
            >>> torch.zeros(2, 3).stride(), torch.zeros(2, 3).t().stride()
            ((3, 1), (1, 3))
        """
        if dim is None:
            return self.strides
        if type(dim) is not int:
            checks.integer("stride", "dim", dim)
        try:
            return self.strides[dim]
        except IndexError:
            checks.dimension("stride", dim, self)
            raise

    def dim(self) -> int:
        """Return the number of dimensions.

        Example:
            >>> torch.zeros(2, 3).dim()
            2
        """
        return len(self.shape)

    ndimension = dim

    def nelement(self) -> int:
        """Return the number of elements.

        Example:
            >>> torch.zeros(2, 3).nelement()
            6
        """
        return self.numel()

    @property
    def layout(self) -> formats.layout:
        """`torch.strided`: elements lie in memory at fixed steps along each dimension."""
        return formats.strided

    def storage_offset(self) -> int:
        """Return the number of elements of the storage that come before the first element.

        Example:
            >>> torch.arange(5)[2:].storage_offset()
            2
        """
        return self._offset

    def element_size(self) -> int:
        """Return the size of one element, in bytes.

        Example:
            >>> torch.zeros(2, dtype=torch.float64).element_size()
            8
        """
        return self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        """Return the size of one element, in bytes."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements, without gaps between them."""
        return self.numel() * self.dtype.itemsize

    @property
    def is_cpu(self) -> bool:
        """Whether this tensor is on the CPU."""
        return not self.is_cuda and not meta.is_meta(self)

    @property
    def is_meta(self) -> bool:
        """Whether this tensor is on the device meta."""
        return meta.is_meta(self)

    def data_ptr(self) -> int:
        """Return the address of the first element; 0 if there are no elements, and on the meta device.

        Example:
            >>> x = torch.arange(4)
            >>> x[1:].data_ptr() - x.data_ptr()
            8
        """
        devices.unmirror("the program asked for an address")
        if self.is_cuda:
            devices.expose()
        return self.address() if self.numel() and self._storage.nbytes and not meta.is_meta(self) else 0

    def untyped_storage(self) -> storages.UntypedStorage:
        """Return the memory of this tensor as a storage of bytes; for a view, the whole storage.

        Example:
            >>> torch.zeros(3)[1:].untyped_storage().nbytes()
            12
        """
        return storages.of(self._storage)

    @property
    def T(self) -> Any:  # noqa: N802
        """A view with the dimensions in reverse order."""
        return REGISTRY["permute"](self, tuple(range(self.ndim - 1, -1, -1)))

    @property
    def mT(self) -> Any:  # noqa: N802
        """A view with the last two dimensions swapped."""
        if self.ndim == 1:
            raise ShapeError(
                f"tensor.mT is only supported on matrices or batches of matrices, this is {self.describe()}",
                hint="unsqueeze(0) makes a row of a vector",
                operator="mT",
            )
        return self.transpose(-2, -1) if self.shape else self

    @property
    def H(self) -> Any:  # noqa: N802
        """The transpose of a matrix; a 0-dim tensor is returned unchanged."""
        if self.ndim not in (0, 2):
            raise ShapeError(
                f"tensor.H is only supported on matrices (2-D tensors), this is {self.describe()}",
                hint="use mH, which swaps the last two dimensions",
                operator="H",
            )
        return self.t()

    @property
    def mH(self) -> Any:  # noqa: N802
        """A view with the last two dimensions swapped."""
        return self.mT

    def is_floating_point(self) -> bool:
        """Return whether the type is a floating point type.

        Example:
            >>> torch.tensor([1.0]).is_floating_point()
            True
        """
        return self.dtype.is_floating_point

    def view_as(self, other: Tensor) -> Any:
        """Return a view of this tensor with the shape of another one: see `view`.

        Shapes: the result has the shape of `other`.
        Raises: ArgumentTypeError if `other` is not a tensor, ShapeError if the number of elements differs, or
                the strides do not allow that shape without a copy.
        Example:
            >>> torch.arange(4).view_as(torch.zeros(2, 2))
            tensor([[0, 1],
                    [2, 3]])
        """
        checks.tensor("view_as", "other", other)
        return self.view(other.shape)

    def reshape_as(self, other: Tensor) -> Any:
        """Return this tensor with the shape of another one: see `reshape`.

        Shapes: the result has the shape of `other`.
        Raises: ArgumentTypeError if `other` is not a tensor, ShapeError if it has another number of elements.
        Example:
            >>> torch.arange(4).reshape_as(torch.zeros(2, 2))
            tensor([[0, 1],
                    [2, 3]])
        """
        checks.tensor("reshape_as", "other", other)
        return self.reshape(other.shape)

    def expand_as(self, other: Tensor) -> Any:
        """Return a view that expands this tensor to the shape of another one: see `expand`.

        Shapes: the result has the shape of `other`.
        Raises: ArgumentTypeError if `other` is not a tensor, ShapeError if a dimension that is not of size 1
                would change.
        Example:
            >>> torch.tensor([1, 2]).expand_as(torch.zeros(2, 2))
            tensor([[1, 2],
                    [1, 2]])
        """
        checks.tensor("expand_as", "other", other)
        return self.expand(other.shape)

    def contiguous(self, *, memory_format: Any = contiguous_format) -> Any:
        """Return the tensor itself if it is stored in `memory_format`, by default in row-major order, else a copy.

        Shapes: same as this tensor.
        Raises: ArgumentTypeError if memory_format is not a memory format, ShapeError if the format needs another number
                of dimensions, ValueRangeError for preserve_format unless the tensor is contiguous.
        Example:
            >>> x = torch.zeros(2, 3).t()
            >>> x.is_contiguous(), x.contiguous().is_contiguous()
            (False, True)
        """
        if memory_format is contiguous_format:
            return self if self._layout.dense else _CONVERT(self, None, contiguous_format)
        formats.check("contiguous", memory_format)
        if memory_format is formats.preserve_format and not self._layout.dense:
            raise ValueRangeError(
                f"{memory_format} is unsupported, this is {self.describe()} with strides {list(self.strides)}",
                hint="clone() preserves the order of dimensions",
                operator="contiguous",
            )
        if formats.lies_in(memory_format, self.shape, self.strides):
            return self
        with naming("contiguous"):
            return _CONVERT(self, None, memory_format)

    def clone(self, *, memory_format: Any = None) -> Any:
        """Return a copy in new memory, through which gradients flow to this tensor.

        memory_format: the format of the copy; None keeps the order of the dimensions in memory.

        Shapes: same as this tensor.
        Raises: ArgumentTypeError if memory_format is not a memory format, ShapeError if the format needs another number
                of dimensions.
        Example:
            >>> x = torch.tensor([1, 2])
            >>> y = x.clone()
            >>> y[0] = 9
            >>> x, y
            (tensor([1, 2]), tensor([9, 2]))
        """
        if memory_format is None:
            return _CONVERT(self)
        formats.check("clone", memory_format)
        with naming("clone"):
            return _CONVERT(self, None, memory_format)

    def sum_to_size(self, *sizes: Any, size: Any = None) -> Any:
        """Sum this tensor to a smaller shape that broadcasts to its own: the reverse of broadcasting.

        Shapes: the result has the listed sizes.
        Raises: ArgumentTypeError without sizes, ShapeError if they do not broadcast to the tensor's shape.
        Example:
            >>> torch.ones(2, 3).sum_to_size(1, 3)
            tensor([[2., 2., 2.]])
        """
        if not sizes and size is None:
            raise ArgumentTypeError(
                "missing 1 required positional argument: 'size'", hint="pass () for a scalar", operator="sum_to_size"
            )
        wanted = sizes_of(sizes if size is None else checks.named("sum_to_size", sizes, size), "sum_to_size")
        checks.expandable("sum_to_size", wanted, self.shape)
        if not wanted:
            return REGISTRY["sum"](self)
        lead = self.ndim - len(wanted)
        ones = [dim for dim, size in enumerate(wanted, lead) if size == 1 and self.shape[dim] != 1]
        repeated = [*range(lead), *ones]
        total = REGISTRY["sum"](self, repeated, True) if repeated else self
        return total.reshape(wanted) if lead else total

    # device and type

    to, cuda, cpu = methods.to, methods.cuda, methods.cpu

    def copy_(self, other: Any, non_blocking: bool = False) -> Any:
        """Overwrite this tensor with `other`, broadcast to its shape and converted to its type, and return it.

        Shapes: `other` broadcasts to this tensor.
        Host:   waits for a copy between the CPU and a GPU, unless it is non_blocking and from or to pinned memory.
        Raises: ShapeError if `other` does not broadcast to this tensor, ArgumentTypeError if it is neither a tensor nor
                a number, AutogradError for a leaf that requires a gradient.
        Example:
            >>> torch.zeros(2, 3).copy_(torch.tensor([1, 2, 3]))
            tensor([[1., 2., 3.],
                    [1., 2., 3.]])
        """
        if not isinstance(other, TensorBase):
            other = factories.of_number("copy_", "other", other, self.device)
        return transfer.copy_(self, other, non_blocking)

    def type(self, dtype: Any = None, non_blocking: bool = False, *, memory_format: Any = None) -> Any:
        """Return the name of this tensor's legacy type ("torch.FloatTensor"), or this tensor converted to `dtype`.

        dtype: a dtype, a legacy class such as torch.LongTensor, or the name of one; None returns the name.

        Raises: ArgumentError for a str that does not name a type, ArgumentTypeError for another value that is no type.
        Example:
            >>> torch.ones(2).type()
            'torch.FloatTensor'
            >>> torch.ones(2).type(torch.int64)
            tensor([1, 1])
        """
        if dtype is None:
            return legacy.name_of(self)
        converted = legacy.convert(self, dtype, non_blocking)
        return converted if memory_format is None else converted.to(memory_format=memory_format)

    def type_as(self, other: Tensor) -> Any:
        """Return this tensor with the type and on the device of another one; the tensor itself if nothing changes.

        Shapes: same as this tensor.
        Host:   waits for a copy between the CPU and a GPU.
        Raises: ArgumentTypeError if `other` is not a tensor.
        Example:
            >>> torch.tensor([1.5]).type_as(torch.tensor([1]))
            tensor([1])
        """
        checks.tensor("type_as", "other", other)
        return self.to(other.device, other.dtype)

    def get_device(self) -> int:
        """Return the index of the CUDA device, -1 on the CPU.

        Example:
            >>> torch.ones(1).get_device()
            -1
            >>> torch.ones(1, device="cuda").get_device()
            0
        """
        devices.unmirror(devices.ASKED)
        return self.device_index

    def pin_memory(self, device: Any = None) -> Any:
        """Return a copy in pinned memory; the tensor itself if it is already pinned.

        device: any CUDA device, or None; pinned memory serves all of them.
        Shapes: same as this tensor.
        Raises: ValueRangeError for a tensor on a GPU, ArgumentError for any other device type.
        Example:
            >>> torch.ones(2).pin_memory().is_pinned()
            True
        """
        checks.accelerator("pin_memory", device)
        if self.is_cuda:
            raise ValueRangeError(
                f"only dense CPU tensors can be pinned, this is {self.describe()}",
                hint="use .cpu().pin_memory()",
                operator="pin_memory",
            )
        if self.is_pinned():
            return self
        pinned: Any = empty_tensor(self.shape, self.dtype, -1, pin_memory=True)
        return pinned.copy_(self)

    def is_pinned(self, device: Any = None) -> bool:
        """Return whether this tensor lies in pinned host memory; does not initialize CUDA.

        device: any CUDA device, or None; it makes no difference.
        Raises: ArgumentError for a device that is not a GPU.
        Example:
            >>> torch.ones(2).is_pinned(), torch.ones(2, pin_memory=True).is_pinned()
            (False, True)
        """
        checks.accelerator("is_pinned", device)
        return self._storage.is_pinned

    def record_stream(self, s: Stream) -> None:
        """After this tensor is freed, keep its memory from reuse until the work then queued on stream `s` is done.

        Raises: ArgumentTypeError if `s` is not a stream, NotSupportedError on the CPU.
        Example:
            >>> side = torch.cuda.Stream()
            >>> x = torch.ones(2, device="cuda")
            >>> side.wait_stream(torch.cuda.current_stream())
            >>> with torch.cuda.stream(side):
            ...     y = x * 2
            >>> x.record_stream(side)  # x's memory is not reused before y is computed
        """
        s = adopted(s)
        if not isinstance(s, Stream):
            fact = f"expected a Stream, got {shown(s)}"
            raise ArgumentTypeError(fact, operator="record_stream", hint="as in torch.cuda.current_stream()")
        if not self.is_cuda:
            raise NotSupportedError(
                f"this is {self.describe()}, and only memory of a GPU can be kept for a stream",
                hint="record the copy on the GPU, or wait for the stream before the tensor is dropped",
                operator="record_stream",
            )
        machine = self._storage.device.machine
        if machine is not None:
            check_alive(s, machine, "record_stream")
        self._storage.record_stream(s)

    def module_load(self, other: Any, assign: bool = False) -> Any:
        """Return the tensor with which `Module.load_state_dict` replaces this one, given the loaded tensor `other`.

        assign: True returns `other`, detached; False copies its values into this tensor.
        Raises: ArgumentTypeError if `other` is not a tensor.
        Example:
            >>> torch.zeros(2).module_load(torch.tensor([1.0, 2.0]))
            tensor([1., 2.])
        """
        checks.tensor("module_load", "other", other)
        return other.detach() if assign else self.detach().copy_(other.detach())

    # values

    def item(self) -> Any:
        """Return the value of a tensor of one element, as a Python number.

        Host:   waits if it is on a GPU.
        Raises: ValueRangeError unless the tensor has one element, NotSupportedError on the meta device.
        Example:
            >>> torch.tensor([2.5]).item()
            2.5
        """
        if self.numel() != 1:
            raise checks.no_scalar("item", self)
        return transfer.read(self).astype(self.dtype.wide.numpy, copy=False).item()

    def tolist(self) -> Any:
        """Return the values as nested lists; a Python number if there are no dimensions.

        Host:   waits if it is on a GPU.
        Raises: NotSupportedError on the meta device.
        Example:
            >>> torch.tensor([[1, 2], [3, 4]]).tolist()
            [[1, 2], [3, 4]]
        """
        return transfer.read(self).astype(self.dtype.wide.numpy, copy=False).tolist()

    def numpy(self, *, force: bool = False) -> Any:
        """Return a NumPy array over the same memory.

        force: whether to detach the tensor, and copy it from a GPU, instead of raising an error.
        Shapes: the array has the shape of this tensor.
        Raises: ArgumentTypeError for a tensor on a GPU; AutogradError if it requires a gradient, except in no_grad.
        Example:
            >>> torch.tensor([1, 2]).numpy()
            array([1, 2])
        """
        if force is not False:
            checks.flag("numpy", "force", force)
        if force:
            return self.detach().cpu().numpy()
        if not self.is_cpu:
            raise ArgumentTypeError(
                f"can't convert {self.device} device type tensor to numpy: {self.describe()}",
                hint="use Tensor.cpu() to copy it to the host first",
                operator="numpy",
            )
        if self.requires_grad and is_grad_enabled():
            raise AutogradError(
                f"Can't call numpy() on Tensor that requires grad: {self.describe()}",
                hint="use tensor.detach().numpy() instead",
                operator="numpy",
            )
        return transfer.read(self)

    def fill_(self, value: Any) -> Any:
        """Set every element to a number, or to the value of a tensor without dimensions; return this tensor.

        Raises: ArgumentTypeError if `value` is neither a number nor a tensor, ShapeError if it has dimensions,
                ValueRangeError if the type cannot hold it, AutogradError for a leaf that requires a gradient.
        Example:
            >>> torch.zeros(3).fill_(7)
            tensor([7., 7., 7.])
        """
        if type(value) not in PLAIN:
            checks.fill(value)
            value = checks.plain(value)
        if isinstance(value, TensorBase):
            source: Any = value
            return self.copy_(source.clone() if source._storage is self._storage else source)
        return calls.call_inplace(_FILL, (self, value), {})

    def zero_(self) -> Any:
        """Set every element to 0, and return this tensor.

        Raises: AutogradError for a leaf that requires a gradient.
        Example:
            >>> torch.ones(3).zero_()
            tensor([0., 0., 0.])
        """
        return self.fill_(0)

    def __len__(self) -> int:
        if not self.shape:
            raise ArgumentTypeError(
                f"len() of a 0-d tensor, {self.describe()}", hint="numel() is 1; use item()", operator="len"
            )
        return self.shape[0]

    def __bool__(self) -> bool:
        if self.numel() != 1:
            raise ValueRangeError(
                f"Boolean value of Tensor with {'more than one value' if self.numel() else 'no values'} is "
                f"ambiguous: {self.describe()}",
                hint="use any() or all()",
                operator="bool",
            )
        return bool(self.item())

    def __float__(self) -> float:
        if self.numel() != 1:
            raise checks.no_scalar("float", self)
        return float(self.item())

    def __complex__(self) -> complex:
        if self.numel() != 1:
            raise checks.no_scalar("complex", self)
        return complex(self.item())

    def __int__(self) -> int:
        if self.numel() != 1:
            raise checks.no_scalar("int", self)
        return int(self.item())

    def __index__(self) -> int:
        if self.dtype.is_floating_point or self.numel() != 1:
            raise checks.no_index(self)
        return int(self.item())

    def __iter__(self) -> Any:
        if not self.shape:
            raise ArgumentTypeError(
                f"iteration over a 0-d tensor, {self.describe()}", hint="use item()", operator="iter"
            )
        return iter([self[index] for index in range(self.shape[0])])

    def __reversed__(self) -> Any:
        """Return the tensor with its first dimension reversed."""
        return REGISTRY["flip"](self, (0,)) if self.shape else self

    def __pos__(self) -> Any:
        if self.dtype is bool_:
            raise DtypeError(
                f"+ is not supported on a bool tensor, {self.describe()}", hint="call .int() first", operator="pos"
            )
        return self

    def __contains__(self, value: Any) -> bool:
        if not isinstance(value, (TensorBase, int, float)):
            raise DtypeError(
                f"expected a tensor or a number, got {shown(value)}", hint="use value in x.tolist()", operator="in"
            )
        return bool((self == value).any())

    def __repr__(self) -> str:
        return to_text(self)

    def __format__(self, spec: str) -> str:
        """Format as a number if there are no dimensions, else as `repr` does.  Host: waits if it is on a GPU."""
        if type(self) is Tensor and not self.shape:
            return format(self.item(), spec)
        if spec:
            raise ArgumentTypeError(
                f"unsupported format string {spec!r} for {self.describe()}",
                hint="format its elements",
                operator="format",
            )
        return repr(self)

    def __dir__(self) -> list[str]:
        return operators.without(super().__dir__(), type(self))

    __hash__ = object.__hash__  # defining __eq__ removed it


methods.install(Tensor)
operators.install(Tensor)
operators.install_missing(Tensor)
make_results(Tensor)
