# cython: binding=False, embedsignature=True, embedsignature.format=clinic
"""TensorBase: a storage, a layout, and the tensor's autograd state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

from .. import host
from .. import memory_formats as formats
from .. import strides as st
from ..dtypes import dtype
from ..kernel import Access
from ..strides import Size
from . import call_errors, storage, thread
from .host_storage import on_host, pinned
from .layout import WIDEST_ACCESS, Layout, dense_layout, layout_of
from .native import blank
from .queue import hooks
from .storage import Storage

watchers: list[Callable[[Any], None]] = []  # called with every tensor that is about to be written in place
_watchers = watchers  # typed where compiled
# how a view was made, which decides whether it may be written where gradients are recorded
ORDINARY, FROM_FUNCTION, ONE_OF_SEVERAL, IN_NO_GRAD, IN_INFERENCE = range(5)


class TensorBase:
    """A tensor: a storage, a layout, an offset (in elements) and autograd state.

    grad_fn: the node that computed it, None for a leaf;  _output_index: which of the node's outputs it is.
    _accumulator: a weak reference to the node that adds to `grad`, for a leaf that was used.
    _counter: the storage whose version counts writes: its own, or one without memory where set through `.data`.
    _base: for a view, the tensor that it views;  _view_version: the counter's version when grad_fn was made.
    _origin: for a view, how it was made, ORDINARY or one of the other constants.
    retains_grad: whether a tensor that is not a leaf keeps its gradient in `grad`.
    _hooks: of a leaf, the functions called with its gradient (autograd/node_hooks.py), or None.
    """

    _storage: Storage
    _counter: Storage
    _layout: Layout
    _offset: int
    _requires_grad: bool
    _grad_fn: Any
    _output_index: int
    _grad: Any
    _accumulator: Any
    _base: Any
    _view_version: int
    _origin: int
    retains_grad: bool
    _hooks: Any

    __slots__ = (
        "__weakref__", "_accumulator", "_base", "_counter", "_grad", "_grad_fn", "_hooks", "_layout", "_offset",
        "_origin", "_output_index", "_requires_grad", "_storage", "_view_version", "retains_grad",
    )  # fmt: skip

    @property
    def dtype(self) -> dtype:
        """The type of the elements, such as torch.float32."""
        return self._layout.dtype

    @property
    def shape(self) -> Size:
        """The size of each dimension, as a torch.Size."""
        return self._layout.shape

    @property
    def strides(self) -> st.Shape:
        """Steps between neighbours along each dimension, in elements."""
        return self._layout.strides

    @property
    def device(self) -> Any:
        """The device of the memory, such as cpu or cuda:0."""
        return self._layout.device.public

    @property
    def device_index(self) -> int:
        """The CUDA device's index, or -1 for the CPU."""
        return self._layout.device.index

    @property
    def is_cuda(self) -> bool:
        """Whether this tensor is on a CUDA device."""
        return self._layout.device.index >= 0

    @property
    def requires_grad(self) -> bool:
        return in_graph(self)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._layout.shape)

    def numel(self) -> int:
        """Return the number of elements.

        Example:
            >>> torch.zeros(2, 3).numel()
            6
        """
        return self._layout.numel

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Return whether the elements are stored without gaps in row-major order, or in another memory format.

        Example:
            >>> torch.zeros(2, 3).is_contiguous(), torch.zeros(2, 3).t().is_contiguous()
            (True, False)
        """
        if memory_format is None:
            return self._layout.dense
        formats.check("is_contiguous", memory_format)
        return formats.lies_in(memory_format, self._layout.shape, self._layout.strides)

    def is_aligned(self) -> bool:
        """Return whether the first element's address is a multiple of 16 bytes, the widest access of a GPU."""
        return self._layout.aligned

    def address(self) -> int:
        """Return the address of the first element."""
        return address_of(self)

    def array(self) -> Any:
        """Return a NumPy array over the same host memory, which it keeps alive."""
        if hooks.on_host_read is not None:
            hooks.on_host_read(Access(self.address(), self.dtype, "r", self.shape, self.strides))
        return array_of(self)

    def describe(self) -> str:
        """Return the form in which errors name a tensor: `float32[4, 4] on cuda:0`."""
        return f"{self._layout.dtype.name}{list(self._layout.shape)} on {self._layout.device}"


def array_of(tensor: TensorBase) -> Any:
    """Return a NumPy array over a CPU tensor's memory.  Do not keep it if the tensor's memory may move."""
    memory, layout = tensor._storage, tensor._layout
    if memory.whole_layout is layout and tensor._offset == 0:
        return memory.whole
    if layout.plain is None:
        layout.prepare()
    if layout.numel == 0:
        return storage.new_array(layout.shape, layout.plain)
    return host.np.ndarray(layout.shape, layout.plain, memory.array(), tensor._offset * layout.itemsize, layout.steps)


def in_graph(tensor: TensorBase) -> bool:
    """Return whether a tensor takes part in a graph."""
    if tensor._requires_grad or tensor._grad_fn is not None:
        return True
    base = tensor._base  # a view joins the graph that its base joined
    return base is not None and in_graph(base)


def before_write(called: str, tensor: TensorBase) -> None:
    """Call the watchers of writes.  Raises AutogradError for an inference tensor outside inference mode."""
    if _watchers:
        for watcher in tuple(_watchers):
            watcher(tensor)
    if tensor._storage.version < 0 and not thread.here().inference:
        raise call_errors.inference_write(called, tensor)


def address_of(tensor: TensorBase) -> int:
    """Return the address of a tensor's first element."""
    return tensor._storage.address() + tensor._offset * tensor._layout.itemsize


_result: type[TensorBase] = TensorBase


def make_results(cls: type[TensorBase]) -> None:
    """Set the class of the tensors that operators make."""
    global _result
    _result = cls


def new_tensor(storage: Storage, layout: Layout, offset: int = 0) -> TensorBase:
    """Make a leaf over a storage; `offset` in elements."""
    return new_tensor_of(_result, storage, layout, offset)


def new_tensor_of(cls: type[TensorBase], storage: Storage, layout: Layout, offset: int) -> TensorBase:
    """Like `new_tensor`, with a given class."""
    tensor: TensorBase = blank(cls)
    tensor._storage = tensor._counter = storage
    tensor._layout = layout
    tensor._offset = offset
    tensor._requires_grad = False
    tensor._grad_fn = tensor._grad = tensor._accumulator = tensor._base = tensor._hooks = None
    tensor._output_index = tensor._view_version = tensor._origin = 0
    tensor.retains_grad = False
    return tensor


def taken(layout: Layout, stream: Any) -> TensorBase:
    """Make a tensor of a layout without gaps, with uninitialized values; on a GPU its first use is on `stream`.

    Raises: OutOfMemoryError.
    """
    if layout.device.index >= 0:
        made = new_tensor(storage.on_device(layout.device, layout.nbytes, stream.handle), layout)
        mirror = stream.mirror
        if mirror is not None:
            storage.add_twins(made._storage, mirror)
            if mirror.made is not None:
                mirror.made.append(ref(made))
        return made
    return new_on_host(layout)


def new_on_host(layout: Layout) -> TensorBase:
    """Make a CPU tensor of a layout without gaps, with uninitialized values, in memory from NumPy."""
    if layout.plain is None:
        layout.prepare()
    if layout.dense:
        return new_tensor(storage.of_array(storage.new_array(layout.shape, layout.plain), layout), layout)
    return new_tensor(on_host(layout.nbytes, layout.device), layout)


def empty_tensor(
    shape: Sequence[int], dtype: dtype, index: int, pin_memory: bool = False, name: str = "empty"
) -> TensorBase:
    """Make a contiguous tensor with uninitialized values, on CUDA device `index` or, if negative, on the CPU.

    On a GPU its first use is on the current stream.  Raises: ValueRangeError, OutOfMemoryError.
    """
    device = thread.device_at(index)
    layout = device.dense.get((dtype, shape)) if isinstance(shape, tuple) else None
    if layout is None:
        layout = dense_layout(device, dtype, call_errors.checked_size(shape, name, dtype))
    lowering = thread.here().lowering
    if lowering is not None:
        placeholder: TensorBase = lowering.take(layout)
        return placeholder
    if pin_memory:
        return new_tensor(pinned(thread.machine(), layout.nbytes), layout)
    return taken(layout, thread.current_stream(index) if index >= 0 else None)


def tensor_over(
    storage: Storage, dtype: dtype, shape: Sequence[int], strides: Sequence[int], offset: int = 0
) -> TensorBase:
    """Make a tensor over a storage from its type, shape, strides and offset (in elements)."""
    aligned = storage.aligned and offset * dtype.itemsize % WIDEST_ACCESS == 0
    return new_tensor(storage, layout_of(storage.device, dtype, Size(shape), tuple(strides), aligned), offset)


def alias_of(source: TensorBase, shape: Sequence[int], strides: Sequence[int], offset: int) -> TensorBase:
    """Make another tensor over the same storage, unknown to autograd."""
    alias = tensor_over(source._storage, source._layout.dtype, shape, strides, offset)
    alias._counter = source._counter
    return alias
