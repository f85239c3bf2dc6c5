"""`to` and `copy_`, split into convert, move, convert.

dtype and layout change on the side where the bytes are fewer or already dense: between devices on the source, from the
host on the host where the copy waits anyway, on the device where it does not.  runtime/copy moves the bytes.
"""

from __future__ import annotations

from typing import Any

from . import strides as st
from .core import record, thread
from .core.call import assign, call_two
from .core.layout import Layout, layout_of
from .core.native import whole
from .core.queue import hooks
from .core.tensor import TensorBase, alias_of, before_write, check_own_overlap, empty_tensor, new_tensor, overlap_of
from .dtypes import dtype
from .errors import ShapeError
from .memory_formats import preserve_format, suggested
from .ops.operator import COMPOSITE, REGISTRY, Operator
from .runtime.copy import copy_bytes, route_of


def dense(tensor: TensorBase, wanted: dtype) -> TensorBase:
    """The tensor itself if it is contiguous and of that type, else a copy that is, on the same device."""
    if tensor.dtype is wanted and tensor.is_contiguous():
        return tensor
    return dense_copy(tensor, wanted)


def to_device(tensor: TensorBase, device: int, non_blocking: bool) -> TensorBase:
    """A copy on another device (-1: the CPU) without gaps, its dimensions in the same order; unknown to autograd.

    Host: as runtime/copy says.
    """
    source = tensor if tensor.layout.compact else _compact_copy(tensor)
    pinned = device < 0 and non_blocking and tensor.device_index >= 0
    target = _like(source, device, pinned)
    _move(target, source, non_blocking)
    return target


def _like(tensor: TensorBase, device: int, pinned: bool) -> TensorBase:
    """An unset tensor that lies as a compact one does."""
    made = empty_tensor(tensor.layout.shape, tensor.layout.dtype, device, pinned, "to")
    layout = tensor.layout
    if layout.dense:
        return made
    return new_tensor(made.storage, layout_of(made.layout.device, layout.dtype, layout.shape, layout.strides))


def _compact_copy(tensor: TensorBase) -> TensorBase:
    """A copy on the same device without gaps, its dimensions in the same order; unknown to autograd."""
    if hooks.on_convert is not None:
        hooks.on_convert(tensor, tensor.dtype, tensor.device_index)
    strides = st.preserved(tensor.shape, tensor.strides)
    flat = empty_tensor(tensor.shape, tensor.dtype, tensor.device_index, False, "to")
    target = alias_of(flat, tensor.shape, strides, 0)
    assign(target, tensor)
    return target


def _move(target: TensorBase, source: TensorBase, non_blocking: bool) -> None:
    """Copy between two compact tensors of one type that lie alike."""
    size = source.dtype.itemsize
    nbytes = source.numel() * size
    copy_bytes(target.storage, target.offset * size, source.storage, source.offset * size, nbytes, non_blocking)


def move(input: Any, device: int, non_blocking: bool = False) -> Any:
    """A copy of a tensor on another device; differentiable."""
    result = to_device(input, device, non_blocking)
    bound = [input, device, non_blocking]
    if record.wants_grad(MOVE, bound):
        record.record(MOVE, bound, [result])
    return result


def _move_body(input: Operand, device: int, non_blocking: bool = False) -> Any:  # type: ignore[name-defined]  # noqa: F821
    """A copy of a tensor on another device (an index, -1 for the CPU)."""
    return move(input, device, non_blocking)


def _assign_body(input: Operand, source: Operand) -> Any:  # type: ignore[name-defined]  # noqa: F821
    """`input` with every element overwritten by `source`: how `copy_` stands in the graph."""
    return source


_convert = REGISTRY["convert"].called_as("convert")  # of its own, for the name of its node
MOVE = Operator(_move_body, COMPOSITE, samples=tuple, method=False, function=False, name="move")
ASSIGN = Operator(_assign_body, COMPOSITE, samples=tuple, method=False, function=False, name="copy")
_convert.node_name = MOVE.node_name


@MOVE.derivative
def _(grad: Any) -> Any:
    return grad  # brought back to the input's device by core.record.fit


@ASSIGN.derivative
def _(grad: Any) -> Any:
    return None, grad


def to(
    input: Any, device: int, wanted: dtype, non_blocking: bool = False, copy: bool = False, format: Any = None
) -> Any:
    """`input` on a device, as a type, in a memory format; itself if nothing changes and `copy` is False.

    format: None is preserve_format.
    Host:   from the device to the host it waits unless non_blocking; see runtime/copy.
    """
    if format is not None and not _is_in(format, input):
        return to(formatted(input, wanted, format), device, wanted, non_blocking)
    here = input.device_index
    if here == device:
        if input.layout.dtype is wanted and not copy:
            return input
        return _converted(input, wanted)
    if input.layout.dtype is wanted:
        return move(input, device, non_blocking)
    converts_here = here >= 0 or not non_blocking
    if converts_here:
        return move(_converted(input, wanted), device, non_blocking)
    return _converted(move(input, device, non_blocking), wanted)


def _is_in(format: Any, input: Any) -> bool:
    """Whether `to` has nothing to change: the strides look like the format, gaps or not."""
    return format is preserve_format or suggested(input.shape, input.strides) is format


def formatted(input: Any, wanted: dtype, format: Any) -> Any:
    """A copy as a type, in a memory format, on the same device; differentiable."""
    if hooks.on_convert is not None:
        hooks.on_convert(input, wanted, input.device_index)
    return _convert(input, wanted, format)


def _converted(input: Any, wanted: dtype) -> Any:
    """A copy as a type, on the same device, its dimensions in the same order; differentiable."""
    if hooks.on_convert is not None:
        hooks.on_convert(input, wanted, input.device_index)
    return call_two(_convert, input, wanted)


@whole
def copy_(target: Any, source: Any, non_blocking: bool = False) -> Any:
    """Overwrite `target` with `source`, broadcast and converted, across devices if need be; `target`.

    Host: as `to`.  Raises: ShapeError if the source does not broadcast to the target.
    """
    if st.broadcast([source.shape, target.shape], "copy_") != target.shape:
        raise ShapeError(
            f"a source of shape {list(source.shape)} does not fit a target of {list(target.shape)}",
            hint="the source is repeated where its sizes are 1, the target is not: give it the source's shape",
            operator="copy_",
        )
    before_write("copy_", target)
    is_recorded = record.wants_grad(ASSIGN, [target, source])
    if is_recorded or target.base is not None:
        record.check_inplace("copy_", target, is_recorded)
    check_own_overlap("copy_", target)
    needs_node = is_recorded and target.dtype.is_floating_point
    node = record.node_for_inplace(ASSIGN, [target, source], target) if needs_node else None
    _write(target, source, non_blocking)
    record.record_inplace(target, node)
    return target


def _write(target: TensorBase, source: TensorBase, non_blocking: bool) -> None:
    here, there = source.device_index, target.device_index
    if target.numel() == 0 or target is source:
        return
    if here == there:
        if overlap_of(source, target) == "partial":
            source = _apart(target, source)
        _within(target, source)
        return
    if _lie_alike(target.layout, source.layout):
        _move(target, source, non_blocking)
        return
    converts_here = here >= 0 or not non_blocking
    ready = dense(source, target.dtype if converts_here else source.dtype)
    if target.is_contiguous() and ready.dtype is target.dtype and ready.shape == target.shape:
        _move(target, ready, non_blocking)
    else:  # what is arranged on the host must have arrived
        _within(target, to_device(ready, there, non_blocking and there >= 0))


def _apart(target: TensorBase, source: TensorBase) -> TensorBase:
    """A copy of a source that shares memory with the target.  Raises ShapeError if both are without gaps."""
    if target.layout.compact and source.layout.compact:
        raise ShapeError(
            f"some elements of the source {source.describe()} and of the written-to tensor {target.describe()} "
            f"refer to a single memory location: they begin at elements {source.offset} and {target.offset}",
            hint="clone() the source before copying it",
            operator="copy_",
        )
    return dense_copy(source, source.dtype)


def _lie_alike(one: Layout, other: Layout) -> bool:
    """Whether the bytes of one are those of the other."""
    return one.compact and one.dtype is other.dtype and one.shape == other.shape and one.strides == other.strides


def _within(target: TensorBase, source: TensorBase) -> None:
    """Write one tensor into another of the same device."""
    if hooks.on_convert is not None and (source.dtype is not target.dtype or not target.is_contiguous()):
        hooks.on_convert(source, target.dtype, target.device_index)
    elif hooks.on_route is not None:
        stream = thread.current_stream(target.device_index) if target.device_index >= 0 else None
        hooks.on_route(
            route_of(target.storage, source.storage, True), stream, None, source.numel() * source.dtype.itemsize
        )
    assign(target, source)


def dense_copy(tensor: TensorBase, wanted: dtype) -> TensorBase:
    """A contiguous copy of that type on the same device, unknown to autograd."""
    if hooks.on_convert is not None:
        hooks.on_convert(tensor, wanted, tensor.device_index)
    target = empty_tensor(tensor.shape, wanted, tensor.device_index, False, "to")
    assign(target, tensor)
    return target


def read(tensor: TensorBase) -> Any:
    """A tensor's values as a NumPy array of its own memory or a copy.  Host: waits for the tensor's current stream."""
    return tensor.array() if tensor.device_index < 0 else to_device(tensor, -1, False).array()
