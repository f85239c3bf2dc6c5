"""`to` and `copy_`: conversion and copies between devices.

dtype and layout are converted on the side where fewer bytes have to move, or where the bytes are dense already.
Copies between devices convert on the source; copies from the host convert on the host if they wait anyway, else on the
device.  runtime/copy moves the bytes.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from . import host, uncomputed
from . import strides as st
from .core import record, thread
from .core.call import call_two, write
from .core.host_calls import check_storages, shrunk
from .core.inplace import check_inplace, node_for_inplace, record_inplace
from .core.layout import Layout, layout_of
from .core.locks import whole
from .core.queue import hooks
from .core.tensor import TensorBase, alias_of, before_write, empty_tensor, new_tensor
from .driver.api import CopyKind
from .dtypes import dtype, uint8
from .errors import ShapeError
from .kernel import Access
from .memory_formats import lies_in, preserve_format, suggested
from .operands import check_own_overlap, overlap_of, without_values
from .ops.operator import COMPOSITE, REGISTRY, Operand, Operator
from .runtime import sync_debug
from .runtime.copy import Route, copy_between, copy_bytes, route_of


def dense(tensor: TensorBase, wanted: dtype) -> TensorBase:
    """Return the tensor itself if it is contiguous and of that type, else a contiguous copy on the same device."""
    if tensor.dtype is wanted and tensor.is_contiguous():
        return tensor
    return dense_copy(tensor, wanted)


def assign(target: TensorBase, source: TensorBase) -> None:
    """Write `source`, converted and broadcast, into `target` of the same device; unknown to autograd."""
    if source._layout.shape != target._layout.shape:
        steps = st.expand(source._layout.shape, source._layout.strides, target._layout.shape)
        source = alias_of(source, target._layout.shape, steps, source._offset)
    write(REGISTRY["convert"], [source, None, None], target)


def to_device(tensor: TensorBase, device: int, non_blocking: bool) -> TensorBase:
    """Copy to another device (-1: the CPU), without gaps, in the same order of dimensions; unknown to autograd.

    Host: see runtime/copy.
    """
    if shrunk:
        check_storages((tensor,), "to")
    source = tensor if tensor._layout.compact else _compact_copy(tensor)
    pinned = device < 0 and non_blocking and tensor.device_index >= 0
    target = _like(source, device, pinned)
    _move(target, source, non_blocking)
    return target


def to_devices(tensors: Sequence[TensorBase], devices: Sequence[int]) -> list[TensorBase]:
    """Copy tensors of GPUs as `to_device` does, each to another GPU.  The streams wait for each other once."""
    sources = [tensor if tensor._layout.compact else _compact_copy(tensor) for tensor in tensors]
    targets = [_like(source, device, False) for source, device in zip(sources, devices)]
    copy_between(
        [
            (target._storage, 0, source._storage, source._offset * source._layout.itemsize, source._layout.nbytes)
            for target, source in zip(targets, sources)
        ]
    )
    return targets


def _like(tensor: TensorBase, device: int, pinned: bool) -> TensorBase:
    """Make an uninitialized tensor with the layout of a compact tensor."""
    flat = empty_tensor(tensor._layout.shape, tensor._layout.dtype, device, pinned, "to")
    layout = tensor._layout
    if layout.dense:
        return flat
    return new_tensor(flat._storage, layout_of(flat._layout.device, layout.dtype, layout.shape, layout.strides))


def _compact_copy(tensor: TensorBase) -> TensorBase:
    """Copy on the same device, without gaps, in the same order of dimensions; unknown to autograd."""
    if hooks.on_convert is not None:
        hooks.on_convert(tensor, tensor.dtype, tensor.device_index)
    strides = st.preserved(tensor.shape, tensor.strides)
    flat = empty_tensor(tensor.shape, tensor.dtype, tensor.device_index, False, "to")
    target = alias_of(flat, tensor.shape, strides, 0)
    assign(target, tensor)
    return target


def _move(target: TensorBase, source: TensorBase, non_blocking: bool) -> None:
    """Copy between two compact tensors of one type and the same strides."""
    size = source.dtype.itemsize
    nbytes = source._layout.numel * size
    if target.device_index < 0 <= source.device_index and not uncomputed.computes():
        uncomputed.stand_in(target, source)
    copy_bytes(target._storage, target._offset * size, source._storage, source._offset * size, nbytes, non_blocking)


def move(input: Any, device: int, non_blocking: bool = False) -> Any:
    """Copy a tensor to another device; differentiable."""
    result = to_device(input, device, non_blocking)
    bound = [input, device, non_blocking]
    if record.wants_grad(MOVE, bound):
        record.record(MOVE, bound, [result])
    return result


def _move_body(input: Operand, device: int, non_blocking: bool = False) -> Any:
    """Copy a tensor to another device (an index, -1 for the CPU)."""
    return move(input, device, non_blocking)


def _assign_body(input: Operand, source: Operand) -> Any:
    """Overwrite every element of `input` with `source`: the node of `copy_` in the graph."""
    return source


_convert = REGISTRY["convert"].called_as("convert")  # a copy, since its node has another name
_CAST_TWO = REGISTRY["cast_two"]
MOVE = Operator(_move_body, COMPOSITE, samples=tuple, method=False, function=False, name="move")
ASSIGN = Operator(_assign_body, COMPOSITE, samples=tuple, method=False, function=False, name="copy")
_convert.node_name = MOVE.node_name


@MOVE.derivative
def _(grad: Any) -> Any:
    return grad  # autograd.fitting.fit moves it to the input's device


@ASSIGN.derivative
def _(grad: Any) -> Any:
    return None, grad


def to(
    input: Any, device: int, wanted: dtype, non_blocking: bool = False, copy: bool = False, format: Any = None
) -> Any:
    """Return `input` on a device, with a dtype and a memory format; the same tensor if nothing changes, unless `copy`.

    format: None is preserve_format.
    Host:   waits for a copy from the device to the host unless non_blocking; see runtime/copy.
    """
    copies = copy or input.device_index != device or input._layout.dtype is not wanted
    if format is not None and not _is_in(format, input, copies):
        return to(formatted(input, wanted, format), device, wanted, non_blocking)
    here = input.device_index
    if here == device:
        if input._layout.dtype is wanted and not copy:
            return input
        return converted(input, wanted)
    if input._layout.dtype is wanted:
        return move(input, device, non_blocking)
    converts_here = here >= 0 or not non_blocking
    if converts_here:
        return move(converted(input, wanted), device, non_blocking)
    return converted(move(input, device, non_blocking), wanted)


def _is_in(format: Any, input: Any, copies: bool) -> bool:
    """Return whether the strides already follow the format; gaps are allowed where nothing is copied."""
    if format is preserve_format:
        return True
    return lies_in(format, input.shape, input.strides) if copies else suggested(input.shape, input.strides) is format


def formatted(input: Any, wanted: dtype, format: Any) -> Any:
    """Copy as a type, in a memory format, on the same device; differentiable."""
    if hooks.on_convert is not None:
        hooks.on_convert(input, wanted, input.device_index)
    return _convert(input, wanted, format)


def converted(input: Any, wanted: dtype) -> Any:
    """Copy as a type, on the same device, in the same order of dimensions; differentiable."""
    if hooks.on_convert is not None:
        hooks.on_convert(input, wanted, input.device_index)
    return call_two(_convert, input, wanted)


def converted_two(one: TensorBase, other: TensorBase, wanted: dtype) -> tuple[TensorBase, TensorBase]:
    """Copy two dense tensors of one type and device as another type, in one launch; differentiable."""
    if hooks.on_convert is not None:
        for tensor in (one, other):
            hooks.on_convert(tensor, wanted, tensor.device_index)
    copies: tuple[TensorBase, TensorBase] = _CAST_TWO(one, other, wanted, one._layout.dtype)
    return copies


@whole
def copy_(target: Any, source: Any, non_blocking: bool = False) -> Any:
    """Overwrite `target` with `source`, broadcast and converted, across devices if needed; return `target`.

    Host: as `to`.  Raises: ShapeError if the source does not broadcast to the target.
    """
    if source.shape != target.shape and st.broadcast([source.shape, target.shape], "copy_") != target.shape:
        raise ShapeError(
            f"a source of shape {list(source.shape)} does not fit a target of {list(target.shape)}",
            hint="use a target of the source's shape: only the source is broadcast",
            operator="copy_",
        )
    before_write("copy_", target)
    is_recorded = record.wants_grad(ASSIGN, [target, source])
    if is_recorded or target._base is not None:
        check_inplace("copy_", target, is_recorded)
    check_own_overlap("copy_", target)
    needs_node = is_recorded and target.dtype.is_floating_point
    node = node_for_inplace(ASSIGN, [target, source], target) if needs_node else None
    _write(target, source, non_blocking)
    record_inplace(target, node)
    return target


def _write(target: TensorBase, source: TensorBase, non_blocking: bool) -> None:
    here, there = source.device_index, target.device_index
    if source._layout.device is thread.META and target._layout.device is not thread.META:
        raise without_values("copy_", source)
    if target._layout.numel == 0 or target is source or target._layout.device is thread.META:
        return
    if shrunk:
        check_storages((target, source), "copy_")
    if here == there:
        if overlap_of(source, target) == "partial":
            source = _apart(target, source)
        _within(target, source)
        return
    if lie_alike(target._layout, source._layout):
        _move(target, source, non_blocking)
        return
    converts_here = here >= 0 or not non_blocking
    ready = dense(source, target.dtype if converts_here else source.dtype)
    if target.is_contiguous() and ready.dtype is target.dtype and ready.shape == target.shape:
        _move(target, ready, non_blocking)
    else:  # data must have arrived before it is rearranged on the host
        _within(target, to_device(ready, there, non_blocking and there >= 0))


def _apart(target: TensorBase, source: TensorBase) -> TensorBase:
    """Copy a source that shares memory with the target.  Raises ShapeError if neither has gaps."""
    if target._layout.compact and source._layout.compact:
        raise ShapeError(
            f"some elements of the source {source.describe()} and of the written-to tensor {target.describe()} "
            f"refer to a single memory location: they begin at elements {source._offset} and {target._offset}",
            hint="clone() the source before copying it",
            operator="copy_",
        )
    return dense_copy(source, source.dtype)


def lie_alike(one: Layout, other: Layout) -> bool:
    """Return whether two tensors have the same type, shape and compact strides."""
    return one.compact and one.dtype is other.dtype and one.shape == other.shape and one.strides == other.strides


def _within(target: TensorBase, source: TensorBase) -> None:
    """Write one tensor into another of the same device."""
    if hooks.on_convert is not None and (source.dtype is not target.dtype or not target.is_contiguous()):
        hooks.on_convert(source, target.dtype, target.device_index)
    elif hooks.on_route is not None:
        stream = thread.current_stream(target.device_index) if target.device_index >= 0 else None
        hooks.on_route(
            route_of(target._storage, source._storage, True), stream, None, source._layout.numel * source.dtype.itemsize
        )
    assign(target, source)


def dense_copy(tensor: TensorBase, wanted: dtype) -> TensorBase:
    """Make a contiguous copy of a type on the same device, unknown to autograd."""
    if hooks.on_convert is not None:
        hooks.on_convert(tensor, wanted, tensor.device_index)
    target = empty_tensor(tensor.shape, wanted, tensor.device_index, False, "to")
    assign(target, tensor)
    return target


# reading values

SMALL_READ = 4 << 10  # bytes that are read through page-locked memory, which is kept for later reads

READ = Route(
    "from a device to page-locked memory of the library", CopyKind.DEVICE_TO_HOST, True, False,
    "the host reads the values at once",
    "read values less often, or later: to('cpu', non_blocking=True) does not wait; wait() on its result before reading",
)  # fmt: skip


class Landing:
    """Page-locked memory to which small tensors are copied when they are read.  It belongs to the machine's driver."""

    __slots__ = ("address", "bytes", "machine")

    def __init__(self, machine: Any) -> None:
        self.machine = weakref.ref(machine)
        self.address = machine.driver.host_alloc(SMALL_READ)
        self.bytes = host.array_at(self.address, uint8, (SMALL_READ,), None)


_landings: list[Landing] = []  # landings that no read uses


def _landing(machine: Any) -> Landing:
    """Return a landing that no other thread or signal handler uses."""
    while _landings:
        try:
            landing = _landings.pop()
        except IndexError:  # another thread has taken the last one
            break
        if landing.machine() is machine:
            return landing
    return Landing(machine)


def on_meta(tensor: TensorBase) -> TensorBase:
    """Return a tensor of the CPU, which nothing else uses, as one of the device meta."""
    tensor._storage.device = thread.META
    return alias_of(tensor, tensor.shape, tensor.strides, tensor._offset)


def read(tensor: TensorBase) -> Any:
    """Return a tensor's values as a NumPy array of its memory, or a copy.  Host: waits for the current stream."""
    layout = tensor._layout
    if layout.device.index < 0:
        if layout.device is thread.META:
            raise without_values("", tensor)
        try:
            return tensor.array()
        except (TypeError, ValueError):  # of NumPy, whose text names neither the tensor nor the sizes
            check_storages((tensor,))
            raise
    if shrunk:
        check_storages((tensor,))
    machine = thread.machine()
    is_small = 0 < layout.nbytes <= SMALL_READ
    if is_small and layout.device.machine is machine and machine.capture is None:
        return _read_small(tensor if layout.compact else _compact_copy(tensor), machine)
    return to_device(tensor, -1, False).array()


def _read_small(source: TensorBase, machine: Any) -> Any:
    """Return a copy of the values of a compact tensor.  If the wait fails, the landing is not used again."""
    layout = source._layout
    address = source._storage.address() + source._offset * layout.itemsize
    computes = uncomputed.computes()
    if not computes:
        uncomputed.note_read(layout.dtype, source.describe())
    stream = thread.current_stream(layout.device.index)
    if hooks.on_route is not None:
        hooks.on_route(READ, stream, None, layout.nbytes)
    sync_debug.about_to_wait(stream.device_index)
    landing = _landing(machine)
    stream.copy(landing.address, address, layout.nbytes, CopyKind.DEVICE_TO_HOST)
    stream.synchronize()
    if hooks.on_host_read is not None:
        hooks.on_host_read(Access(landing.address, uint8, "r", (layout.nbytes,), None))
    if layout.plain is None:
        layout.prepare()
    values = host.np.ndarray(layout.shape, layout.plain, landing.bytes, 0, layout.steps).copy()
    _landings.append(landing)
    if not computes:
        values[...] = 1  # as in uncomputed.stand_in
    return values
