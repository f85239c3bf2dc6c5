"""Fast path of views: computes sizes, strides and offset without a plan, a key or an operator's body.

Indexes and slices often differ, so these views are computed in every call.  The others are computed once for each
layout of the operand and arguments (`KnownViews`).

A function takes the operand and the bound arguments of its operator.  It returns None for a call that it does not
serve: an argument of another type or out of range, or a call that needs a copy.  `is_served` rejects memory of another
machine.  The operator then takes its ordinary path, which raises or copies.

In a graph, a call is recorded as a call of `quick_node`; an operator without one takes its ordinary path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import strides as st
from . import tensor, thread
from .layout import WIDEST_ACCESS, layout_of
from .tensor import IN_INFERENCE, IN_NO_GRAD, ONE_OF_SEVERAL, ORDINARY, TensorBase, in_graph

MOST_KNOWN = 256  # geometries kept per layout
_WIDEST, _NO_GRAD, _INFERENCE = WIDEST_ACCESS, IN_NO_GRAD, IN_INFERENCE  # C numbers where compiled
_ORDINARY, _ONE_OF_SEVERAL = ORDINARY, ONE_OF_SEVERAL
_WHOLE = (slice(None),)


def is_served(operand: Any) -> bool:
    """Return whether a value is a tensor on the CPU or on a device of the current machine."""
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
        view._counter = source._counter
        view._view_version = view._counter.version
        view._origin = source._origin if now.grad_enabled else _INFERENCE if now.inference else _NO_GRAD
    return view


def _wrapped(dim: Any, ndim: int) -> int:
    """Return a dimension counted from the front, or -1 if it is out of range or not an int."""
    if type(dim) is not int:
        return -1
    at: int = dim
    if at < 0:
        at += ndim
    return at if 0 <= at < ndim else -1


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


# views computed once


class KnownViews:
    """Fast case of an operator whose views follow from the operand's layout and from integers: computed once for each.

    learn: computes the geometry of a call, a pair (layout, elements from the operand's start), a list of such pairs, or
    False for a call that takes its ordinary path.  are_parts: whether none of several views may be written in a graph.
    """

    __slots__ = ("are_parts", "learn", "operator")

    def __init__(self, operator: Any, learn: Any, are_parts: bool) -> None:
        self.operator = operator
        self.learn = learn
        self.are_parts = are_parts

    def __call__(self, operand: TensorBase, bound: list[Any]) -> Any:
        layout, key = operand._layout, _key_of(self.operator, bound)
        if key is None:
            return None
        found = None if layout.views is None else layout.views.get(key)
        if found is None:
            found = self.learn(self.operator, operand, bound)
            if layout.views is None or len(layout.views) >= MOST_KNOWN:
                layout.views = {}
            layout.views[key] = found
        if found is False:
            return None
        bound[1:] = key[1:]  # a call that is recorded must not hold lists, which the program may change
        if type(found) is tuple:
            return _known(operand, found)
        pieces = tuple([_known(operand, pair) for pair in found])
        return marked_parts(pieces) if self.are_parts else pieces


def _known(source: TensorBase, pair: Any) -> TensorBase:
    """Make a view of a known geometry."""
    return linked(source, tensor.new_tensor(source._storage, pair[0], source._offset + pair[1]))


def marked_parts(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Mark views of one tensor that are returned together: none may be written where gradients are recorded."""
    for part in parts:
        view: TensorBase = part
        if view._origin == _ORDINARY:
            view._origin = _ONE_OF_SEVERAL
    return parts


def _key_of(operator: Any, bound: list[Any]) -> tuple[Any, ...] | None:
    """Return an operator and its arguments after the operand as a key; None if one is not an int, ints or None."""
    key = bound[:]
    key[0] = operator
    for index in range(1, len(bound)):
        value = bound[index]
        value_type = type(value)
        if value_type is tuple or value_type is list or value_type is st.Size:
            for item in value:
                if type(item) is not int:
                    return None
            key[index] = tuple(value)
        elif value_type is not int and value is not None:
            return None
    return tuple(key)
