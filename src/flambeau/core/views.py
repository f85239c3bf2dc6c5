"""Fast path of views: computes sizes, strides and offset without a plan, a key or an operator's body.

A function takes the operand and the bound arguments of its operator.  It returns None for a call that it does not
serve: an argument of another type or out of range, or a call that needs a copy.  `is_served` refuses memory of another
machine.  The operator then takes its ordinary path, which raises or copies.

A call in a graph is recorded as one of the operator `quick_node`.  Functions of operators that have another one, or
whose derivative takes other arguments, replace `bound` by the arguments of that call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import strides as st
from . import tensor, thread
from .layout import WIDEST_ACCESS, Layout, layout_of
from .tensor import IN_INFERENCE, IN_NO_GRAD, ONE_OF_SEVERAL, ORDINARY, TensorBase, in_graph

_WIDEST, _NO_GRAD, _INFERENCE = WIDEST_ACCESS, IN_NO_GRAD, IN_INFERENCE  # C numbers where compiled
_ORDINARY, _ONE_OF_SEVERAL = ORDINARY, ONE_OF_SEVERAL
_WHOLE = (slice(None),)


def is_served(operand: Any) -> bool:
    """Return whether a value is a tensor whose memory views of this machine may have."""
    if not isinstance(operand, TensorBase):
        return False
    device = operand._layout.device
    return device.index < 0 or device.machine is thread.machine()


def is_recorded(operand: TensorBase) -> bool:
    """Return whether a view of an operand is recorded for backward."""
    return thread.here().grad_enabled and in_graph(operand)


def _made(source: TensorBase, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> TensorBase:
    """Make a view of a tensor; offset in elements from the start of the storage."""
    memory, layout = source._storage, source._layout
    aligned = memory.aligned and offset * layout.itemsize % _WIDEST == 0
    device, dtype = layout.device, layout.dtype
    known = device.layouts.get((dtype, shape, strides, aligned))
    if known is None:
        known = layout_of(device, dtype, st.Size(shape), strides, aligned)
    return linked(source, tensor.new_tensor(memory, known, offset))


def linked(source: TensorBase, view: TensorBase) -> TensorBase:
    """Set a view's base and origin; return the view."""
    if view._storage.version >= 0:  # a view of an inference tensor is an inference tensor
        now = thread.here()
        view._base = source if source._base is None else source._base
        view._view_version = view._storage.version
        if now.grad_enabled:
            view._origin = source._origin
        else:
            view._origin = _INFERENCE if now.inference else _NO_GRAD
    return view


def _wrapped(dim: Any, ndim: int) -> int:
    """Return a dimension counted from the front, or -1 if it is out of range or not an int."""
    if type(dim) is not int:
        return -1
    at: int = dim
    if at < 0:
        at += ndim
    return at if 0 <= at < ndim else -1


def _without(values: tuple[int, ...], at: int) -> tuple[int, ...]:
    return values[1:] if at == 0 else values[:at] + values[at + 1 :]


def _with(values: tuple[int, ...], at: int, value: int) -> tuple[int, ...]:
    """Return a tuple with another value at one index."""
    return values[:at] + (value,) + values[at + 1 :]


# indexing


def get_item(source: Any, index: Any) -> TensorBase | None:
    """Return `source[index]` for integers and slices."""
    index_type = type(index)
    if not (index_type is int or index_type is slice or index_type is tuple) or not is_served(source):
        return None
    return None if is_recorded(source) else _indexed(source, index if index_type is tuple else (index,))


def _indexed(operand: TensorBase, items: tuple[Any, ...]) -> TensorBase | None:
    layout = operand._layout
    sizes, steps = tuple(layout.shape), layout.strides
    if len(items) > len(sizes):
        return None
    offset, dim = operand._offset, 0
    shape: list[int] = []
    strides: list[int] = []
    for item in items:
        size, stride = sizes[dim], steps[dim]
        dim += 1
        if type(item) is int:
            at = item
            if not -size <= at < size:
                return None
            offset += (at + size if at < 0 else at) * stride
        elif type(item) is slice:
            if not _is_plain(item):
                return None
            step: int = 1 if item.step is None else item.step
            first = 0 if item.start is None else _bounded(item.start, size)
            last = size if item.stop is None else _bounded(item.stop, size)
            shape.append((last - first + step - 1) // step if last > first else 0)
            strides.append(stride * step)
            offset += first * stride
        else:
            return None
    return _made(operand, tuple(shape) + sizes[dim:], tuple(strides) + steps[dim:], offset)


def getter(otherwise: Callable[[Any, Any], Any]) -> Any:
    """Make the method of `x[index]`;  otherwise: called for an index that `get_item` does not serve."""

    def __getitem__(self: Any, index: Any) -> Any:
        try:
            view = get_item(self, index)
        except OverflowError:  # an index beyond 64 bits
            view = None
        return otherwise(self, index) if view is None else view

    return __getitem__


def _is_plain(item: slice) -> bool:
    """Return whether a slice has only integers and a positive step."""
    if item.start is not None and type(item.start) is not int or item.stop is not None and type(item.stop) is not int:
        return False
    return item.step is None or type(item.step) is int and item.step > 0


def _bounded(bound: int, size: int) -> int:
    """Return a bound of a slice, counted from the front and clamped to the dimension."""
    if bound < 0:
        bound += size
        return bound if bound > 0 else 0
    return bound if bound < size else size


def select(operand: TensorBase, bound: list[Any]) -> TensorBase | None:
    """`select(input, dim, index)`."""
    at = _wrapped(bound[1], len(operand._layout.shape))
    return None if at < 0 else _indexed(operand, _WHOLE * at + (bound[2],))


def slice_(operand: TensorBase, bound: list[Any]) -> TensorBase | None:
    """`slice(input, dim, start, end, step)`."""
    at = _wrapped(bound[1], len(operand._layout.shape))
    return None if at < 0 else _indexed(operand, _WHOLE * at + (slice(bound[2], bound[3], bound[4]),))


# pieces


def split(operand: TensorBase, bound: list[Any]) -> tuple[TensorBase, ...] | None:
    """`split(input, split_size, dim)` by one size."""
    if type(bound[1]) is not int:
        return None
    at = _wrapped(bound[2], len(operand._layout.shape))
    return None if at < 0 or bound[1] <= 0 else _pieces(operand, bound, at, bound[1])


def chunk(operand: TensorBase, bound: list[Any]) -> tuple[TensorBase, ...] | None:
    """`chunk(input, chunks, dim)`."""
    if type(bound[1]) is not int or bound[1] <= 0:
        return None
    at = _wrapped(bound[2], len(operand._layout.shape))
    if at < 0:
        return None
    count: int = bound[1]
    size: int = operand._layout.shape[at]
    return _pieces(operand, bound, at, (size + count - 1) // count) if size else None


def _pieces(operand: TensorBase, bound: list[Any], at: int, width: int) -> tuple[TensorBase, ...] | None:
    """Return views of `width` indexes of a dimension each; the last may have fewer."""
    layout = operand._layout
    size, stride, start = layout.shape[at], layout.strides[at], operand._offset
    if size == 0:
        return None
    pieces: list[TensorBase] = []
    shape = _with(tuple(layout.shape), at, min(width, size))
    for first in range(0, size, width):
        if size - first < width:
            shape = _with(shape, at, size - first)
        pieces.append(_part(_made(operand, shape, layout.strides, start + first * stride)))
    bound[1], bound[2] = [piece._layout.shape[at] for piece in pieces], at
    return tuple(pieces)


def unbind(operand: TensorBase, bound: list[Any]) -> tuple[TensorBase, ...] | None:
    """`unbind(input, dim)`."""
    layout = operand._layout
    at = _wrapped(bound[1], len(layout.shape))
    if at < 0:
        return None
    shape, strides = _without(tuple(layout.shape), at), _without(layout.strides, at)
    stride, start = layout.strides[at], operand._offset
    bound[1] = at
    return tuple([_part(_made(operand, shape, strides, start + index * stride)) for index in range(layout.shape[at])])


def _part(view: TensorBase) -> TensorBase:
    """Mark one of several views that are returned together: none may be written where gradients are recorded."""
    if view._origin == _ORDINARY:
        view._origin = _ONE_OF_SEVERAL
    return view


# other shapes


def reshape(operand: TensorBase, bound: list[Any]) -> TensorBase | None:
    """`reshape(input, shape)` and `view(input, size)` of a contiguous tensor, or of its last dimensions."""
    layout = operand._layout
    if layout.numel == 0:
        return None
    known, unknown = 1, -1
    target: list[int] = []
    for size in bound[1]:
        if type(size) is not int:
            return None
        if size == -1 and unknown < 0:
            unknown = len(target)
        elif size <= 0:
            return None
        else:
            known *= size
        target.append(size)
    if unknown >= 0:
        if layout.numel % known:
            return None
        target[unknown] = layout.numel // known
    elif known != layout.numel:
        return None
    return _row_major(operand, tuple(target)) if _is_row_major(layout) else _regrouped(operand, tuple(target))


def _regrouped(source: TensorBase, target: tuple[int, ...]) -> TensorBase | None:
    """Make a view that keeps the first dimensions and replaces the others, which have one step, as `x[..., 2:4]`."""
    shape, strides = tuple(source._layout.shape), source._layout.strides
    if 1 in shape or 1 in target:  # strides of these dimensions are those of `strides.view`
        return None
    kept = 0
    while kept < len(shape) and target[kept] == shape[kept]:
        kept += 1
    step = strides[-1]
    if strides[kept:] != tuple([size * step for size in _dense_strides(shape[kept:])]):
        return None
    steps = [size * step for size in _dense_strides(target[kept:])]
    return _made(source, target, strides[:kept] + tuple(steps), source._offset)


def flatten(operand: TensorBase, bound: list[Any]) -> TensorBase | None:
    """`flatten(input, start_dim, end_dim)` of a contiguous tensor."""
    layout = operand._layout
    shape = tuple(layout.shape)
    first, last = _wrapped(bound[1], len(shape)), _wrapped(bound[2], len(shape))
    if layout.numel == 0 or first < 0 or last <= first or not _is_row_major(layout):
        return None
    merged = 1
    for size in shape[first : last + 1]:
        merged *= size
    return _row_major(operand, (*shape[:first], merged, *shape[last + 1 :]))


def _is_row_major(layout: Layout) -> bool:
    """Return whether strides are those of a new tensor, also of dimensions of size 1."""
    known = layout.device.dense.get((layout.dtype, layout.shape))
    return known is layout or layout.dense and layout.strides == _dense_strides(tuple(layout.shape))


def _row_major(source: TensorBase, shape: tuple[int, ...]) -> TensorBase:
    """Make a view of all elements of a row-major tensor, in another shape."""
    layout = source._layout
    known = layout.device.dense.get((layout.dtype, shape)) if layout.aligned else None
    if known is None:
        return _made(source, shape, _dense_strides(shape), source._offset)
    return linked(source, tensor.new_tensor(source._storage, known, source._offset))


def _dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides = list(shape)
    step = 1
    for at in range(len(shape) - 1, -1, -1):
        strides[at] = step
        step *= shape[at]
    return tuple(strides)


def t(operand: TensorBase, bound: list[Any]) -> TensorBase | None:
    """`t(input)` of a matrix."""
    if len(operand._layout.shape) != 2:
        return None
    bound += (0, 1)
    return transpose(operand, bound)


def transpose(operand: TensorBase, bound: list[Any]) -> TensorBase | None:
    """`transpose(input, dim0, dim1)`."""
    layout = operand._layout
    ndim = len(layout.shape)
    one, other = _wrapped(bound[1], ndim), _wrapped(bound[2], ndim)
    if one < 0 or other < 0:
        return None
    shape, strides = list(layout.shape), list(layout.strides)
    shape[one], shape[other] = shape[other], shape[one]
    strides[one], strides[other] = strides[other], strides[one]
    return _made(operand, tuple(shape), tuple(strides), operand._offset)


def permute(operand: TensorBase, bound: list[Any]) -> TensorBase | None:
    """`permute(input, dims)`."""
    layout = operand._layout
    ndim = len(layout.shape)
    seen = 0
    shape: list[int] = []
    strides: list[int] = []
    for dim in bound[1]:
        at = _wrapped(dim, ndim)
        if at < 0 or seen >> at & 1:
            return None
        seen |= 1 << at
        shape.append(layout.shape[at])
        strides.append(layout.strides[at])
    return _made(operand, tuple(shape), tuple(strides), operand._offset) if len(shape) == ndim else None


def unsqueeze(operand: TensorBase, bound: list[Any]) -> TensorBase | None:
    """`unsqueeze(input, dim)`."""
    shape, strides = tuple(operand._layout.shape), operand._layout.strides
    at = _wrapped(bound[1], len(shape) + 1)
    if at < 0:
        return None
    step = shape[at] * strides[at] if at < len(shape) else 1
    return _made(operand, shape[:at] + (1,) + shape[at:], strides[:at] + (step,) + strides[at:], operand._offset)


def squeeze(operand: TensorBase, bound: list[Any]) -> TensorBase | None:
    """`squeeze(input, dim)` of one dimension, or of all."""
    shape, strides = tuple(operand._layout.shape), operand._layout.strides
    if bound[1] is None:
        kept = [at for at, size in enumerate(shape) if size != 1]
        return _made(operand, tuple([shape[at] for at in kept]), tuple([strides[at] for at in kept]), operand._offset)
    at = _wrapped(bound[1], len(shape))
    if at < 0:
        return None
    if shape[at] != 1:
        return _made(operand, shape, strides, operand._offset)
    return _made(operand, _without(shape, at), _without(strides, at), operand._offset)


def expand(operand: TensorBase, bound: list[Any]) -> TensorBase | None:
    """`expand(input, size)`."""
    shape, steps = tuple(operand._layout.shape), operand._layout.strides
    lead = len(bound[1]) - len(shape)
    if lead < 0:
        return None
    target: list[int] = []
    strides: list[int] = []
    dim = -lead
    for wanted in bound[1]:
        if type(wanted) is not int or wanted < 0 and (wanted != -1 or dim < 0):
            return None
        size, step = (shape[dim], steps[dim]) if dim >= 0 else (1, 0)
        if wanted != -1 and wanted != size:
            if size != 1:
                return None
            size, step = wanted, 0
        target.append(size)
        strides.append(step)
        dim += 1
    return _made(operand, tuple(target), tuple(strides), operand._offset)
