"""TensorCore: the waist of the library.  A tensor is a storage seen through a type, a shape and strides."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from . import host
from . import memory_formats as formats
from . import strides as st
from .dtypes import dtype
from .errors import OutOfMemoryError, ValueRangeError
from .hooks import hooks
from .kernel import Access
from .layout import Layout, dense_layout, known_dense, layout_of
from .runtime import device as devices
from .runtime import state, storage
from .runtime.storage import WIDEST_ACCESS, Storage
from .strides import Size

MAX_NBYTES = 1 << 60
MAX_OVERLAP_WORK = 10_000  # candidates that are tried to tell whether two views share a byte
SOMEWHERE = 1 << 20  # an address of arrays that are compared and never read


class TensorCore:
    """A storage seen through a layout, `offset` elements from its start, and what autograd hangs on it.

    grad_fn: the node that made it, None for a leaf;  output_index: which of the node's outputs it is.
    accumulator: a weak reference to the node that adds to `grad`, for a leaf that was used.
    base: for a view, the tensor that it views;  view_version: the storage's version when grad_fn was made.
    """

    storage: Storage
    layout: Layout
    offset: int
    _requires_grad: bool
    _grad_fn: Any
    output_index: int
    grad: Any
    accumulator: Any
    base: Any
    view_version: int
    hooks: Any

    __slots__ = (
        "__weakref__", "_grad_fn", "_requires_grad", "accumulator", "base", "grad", "hooks", "layout", "offset",
        "output_index", "storage", "view_version",
    )  # fmt: skip

    def __init__(self, storage: Storage, layout: Layout, offset: int = 0) -> None:
        begin(self, storage, layout, offset)

    @property
    def dtype(self) -> dtype:
        return self.layout.dtype

    @property
    def shape(self) -> Size:
        return self.layout.shape

    @property
    def strides(self) -> st.Shape:
        """Steps between neighbours, in elements."""
        return self.layout.strides

    @property
    def device(self) -> devices.device:
        index = self.storage.device
        return devices.CPU if index < 0 else devices.cuda(index)

    @property
    def device_index(self) -> int:
        """The CUDA device's index, or -1 for the CPU."""
        return self.storage.device

    @property
    def is_cuda(self) -> bool:
        return self.storage.device >= 0

    @property
    def requires_grad(self) -> bool:
        return in_graph(self)

    @property
    def ndim(self) -> int:
        return len(self.layout.shape)

    def numel(self) -> int:
        """How many elements there are."""
        return self.layout.numel

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the elements lie without gaps in row-major order, or in another memory format."""
        if memory_format is None:
            return self.layout.dense
        formats.check("is_contiguous", memory_format)
        return formats.lies_in(memory_format, self.shape, self.strides)

    def is_aligned(self) -> bool:
        """Whether the first element lies at a multiple of 16 bytes, the widest access of a GPU."""
        return self.layout.aligned

    def address(self) -> int:
        """Where the first element lies."""
        return address_of(self)

    def array(self) -> Any:
        """A NumPy array over the same host memory, which it keeps alive."""
        if hooks.on_host_read is not None:
            hooks.on_host_read(Access(self.address(), self.dtype, "r", self.shape, self.strides))
        start = self.offset * self.dtype.itemsize
        flat = self.storage.array()[start:]
        steps = [step * self.dtype.itemsize for step in self.strides]
        return host.np.ndarray(self.shape, self.dtype.numpy, flat, 0, steps)

    def describe(self) -> str:
        """As errors name a tensor: `float32[4, 4] on cuda:0`."""
        return f"{self.dtype.name}{list(self.shape)} on {self.device}"


def begin(tensor: TensorCore, storage: Storage, layout: Layout, offset: int) -> None:
    """Make a leaf over a storage of an object that has no attributes yet."""
    tensor.storage = storage
    tensor.layout = layout
    tensor.offset = offset
    tensor._requires_grad = False
    tensor._grad_fn = None
    tensor.output_index = 0
    tensor.grad = None
    tensor.accumulator = None
    tensor.base = None
    tensor.view_version = 0
    tensor.hooks = None


def in_graph(tensor: TensorCore) -> bool:
    """Whether a tensor takes part in a graph."""
    if tensor._requires_grad or tensor._grad_fn is not None:
        return True
    base = tensor.base  # a view joins the graph that its base joined
    return base is not None and tensor.view_version != tensor.storage.version and in_graph(base)


def address_of(tensor: TensorCore) -> int:
    """Where a tensor's first element lies."""
    return tensor.storage.address() + tensor.offset * tensor.layout.itemsize


class Result:
    """The class of the tensors that operators make."""

    __slots__ = ("kind",)

    def __init__(self) -> None:
        self.kind: type[TensorCore] = TensorCore


_result = Result()
globals()["_blank"] = TensorCore.__new__  # compiled, the name is that of a function in C: see the .pxd


def make_results(kind: type[TensorCore]) -> None:
    """Let operators make tensors of this class."""
    _result.kind = kind


def empty(shape: Sequence[int], dtype: dtype, device: int, pin_memory: bool = False, name: str = "empty") -> TensorCore:
    """A contiguous tensor with unset values, on CUDA device `device` or, if negative, on the CPU.

    On a GPU its first use is on the current stream.  Raises: ArgumentError, OutOfMemoryError.
    """
    layout = known_dense(dtype, shape) or _checked_layout(shape, dtype, name)
    if device >= 0:
        return new(
            storage.on_device(state.machine(), device, layout.nbytes, state.current_stream(device).handle), layout
        )
    return new(storage.pinned(state.machine(), layout.nbytes) if pin_memory else storage.on_host(layout.nbytes), layout)


def _checked_layout(shape: Sequence[int], dtype: dtype, name: str) -> Layout:
    size = checked_size(shape, name)
    nbytes = prod(size) * dtype.itemsize
    if nbytes >= MAX_NBYTES:
        raise OutOfMemoryError(
            f"{name}: {dtype.name}{list(size)} needs {nbytes} bytes, more than 1EB memory",
            hint="no device holds that: look for a size that was computed wrongly",
        )
    return dense_layout(dtype, size)


def new(storage: Storage, layout: Layout, offset: int = 0) -> TensorCore:
    """A tensor over a storage: `layout`, `offset` elements from its start."""
    made: TensorCore = _blank(_result.kind)  # type: ignore[name-defined]  # noqa: F821
    begin(made, storage, layout, offset)
    return made


def over(storage: Storage, dtype: dtype, shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> TensorCore:
    """A tensor over a storage, by its type, shape, strides and offset (in elements)."""
    aligned = storage.aligned and offset * dtype.itemsize % WIDEST_ACCESS == 0
    return new(storage, layout_of(dtype, Size(shape), tuple(strides), aligned), offset)


def checked_size(shape: Sequence[int], name: str) -> Size:
    """A shape as a Size.  Raises ValueRangeError for a negative dimension."""
    if any(size < 0 for size in shape):
        raise ValueRangeError(
            f"{name}: trying to create a tensor with negative dimension: {list(shape)}",
            hint="sizes are 0 or more",
        )
    return Size(shape)


def alias(source: TensorCore, shape: Sequence[int], strides: Sequence[int], offset: int) -> TensorCore:
    """Another tensor over the same storage, unknown to autograd."""
    return over(source.storage, source.dtype, shape, strides, offset)


def overlap(a: TensorCore, b: TensorCore) -> str:
    """How two tensors of one storage lie: "none", "same" (element for element) or "partial"."""
    if a.storage is not b.storage or not a.numel() or not b.numel():
        return "none"
    if a.offset == b.offset and a.strides == b.strides and a.shape == b.shape and a.dtype is b.dtype:
        return "same"
    first, second = sorted((a, b), key=lambda each: each.offset * each.dtype.itemsize)
    end = first.offset * first.dtype.itemsize + st.extent(first.shape, first.strides) * first.dtype.itemsize
    if second.offset * second.dtype.itemsize >= end:
        return "none"
    return "partial" if a.layout.compact and b.layout.compact or _share_bytes(a, b) else "none"


def _share_bytes(a: TensorCore, b: TensorCore) -> bool:
    """Whether views with gaps, whose ranges overlap, have a byte in common; also if that is too hard to tell."""
    arrays = [
        host.array_at(SOMEWHERE + each.offset * each.dtype.itemsize, each.dtype, each.shape, each.strides)
        for each in (a, b)
    ]
    try:
        return bool(host.np.shares_memory(*arrays, max_work=MAX_OVERLAP_WORK))
    except host.np.exceptions.TooHardError:
        return True
