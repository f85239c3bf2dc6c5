"""Views computed by the bodies of their operators, and the geometry of those that `views.KnownViews` computes once."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any

from ..operands import check_types
from ..strides import Size
from . import call_errors, record, thread
from .layout import WIDEST_ACCESS, Layout
from .operator import VIEW, Operator
from .tensor import TensorBase, alias_of
from .views import KnownViews, linked

_COMMON = {int, type(None), tuple, list, Size}  # types of the arguments of most views; others are checked first


def computed_view(operator: Operator, bound: list[Any]) -> TensorBase:
    """Return a tensor over the first operand's memory, as the operator's body describes it, and record it."""
    source = bound[0]
    if not isinstance(source, TensorBase):
        raise TypeError("the input is not a Tensor")
    device = source._layout.device
    if device.index >= 0 and device.machine is not thread.machine():
        raise call_errors.former_machine(operator.called, source._storage, thread.machine())
    if not _COMMON.issuperset(map(type, bound[1:])):
        check_types(operator, bound)
    view = linked(source, _of_body(operator, source, bound))
    if record.wants_grad(operator, bound):
        record.record(operator, bound, [view])
    return view


def _of_body(operator: Operator, source: TensorBase, bound: list[Any]) -> TensorBase:
    """Return a tensor with the shape, strides and offset that the body of a view computes, unknown to autograd."""
    shape, strides, step = operator.body(*bound)
    return alias_of(source, _integers(shape), _integers(strides), source._offset + index(step))


def _integers(values: Iterable[Any]) -> tuple[int, ...]:
    """Convert sizes or strides to integers.  Raises TypeError for anything else."""
    return tuple([index(value) for value in values])


def known_views(*operators: Operator) -> None:
    """Compute the views of operators once per layout of the operand and integer arguments.

    For an operator that is a view, or a composite that returns one or several views of its first operand; `gives_views`
    forbids writing these in a graph.  Its body must not depend on the operand's offset in its storage.
    """
    for operator in operators:
        operator.quick = KnownViews(operator, geometry_of, operator.gives_views)
        if operator.backward is not None:
            operator.quick_node = operator


def geometry_of(operator: Operator, operand: TensorBase, bound: list[Any]) -> Any:
    """Return (layout, elements from the operand's start) of the view of a call, or a list of these for several.

    Return False for a call whose result is no view, or whose layout depends on where the operand starts.
    """
    is_view = operator.kind is VIEW
    result: Any = _of_body(operator, operand, bound) if is_view else operator.body(*bound)
    if not isinstance(result, tuple):
        return _pair(operand, result) or False
    pairs = [_pair(operand, view) for view in result]
    return False if None in pairs else pairs


def _pair(operand: TensorBase, view: TensorBase) -> tuple[Layout, int] | None:
    layout, step = view._layout, view._offset - operand._offset
    is_view = view is not operand and view._storage is operand._storage
    follows = operand._layout.aligned or step * layout.itemsize % WIDEST_ACCESS == 0  # layouts decide `aligned`
    return (layout, step) if is_view and follows else None
