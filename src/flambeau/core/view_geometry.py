"""Geometry of views that `views.KnownViews` computes once per layout and arguments."""

from __future__ import annotations

from typing import Any

from .. import strides as st
from .call import view_of
from .layout import WIDEST_ACCESS, Layout
from .operator import VIEW, Operator
from .tensor import TensorBase
from .views import KnownViews


def known_views(*operators: Operator) -> None:
    """Compute the views of operators once per layout of the operand and integer arguments.

    For an operator that is a view, or a composite that returns one or several views of its first operand; `gives_views`
    says whether these may not be written in a graph.  It must not read where in its storage the operand starts.
    """
    for operator in operators:
        operator.quick = KnownViews(operator, geometry_of, operator.gives_views)
        if operator.backward is not None:
            operator.quick_node = operator


def geometry_of(operator: Operator, operand: TensorBase, bound: list[Any]) -> Any:
    """Return (layout, elements from the operand's start) of the view of a call, or a list of these for several.

    Return False for a call whose result is no view or has another layout where the operand starts elsewhere.
    """
    if operator.kind is VIEW:
        shape, strides, step = operator.body(*bound)
        result: Any = view_of(operand, operand._layout.dtype, st.Size(shape), tuple(strides), operand._offset + step)
    else:
        result = operator.body(*bound)
    if not isinstance(result, tuple):
        return _pair(operand, result) or False
    pairs = [_pair(operand, view) for view in result]
    return False if None in pairs else pairs


def _pair(operand: TensorBase, view: TensorBase) -> tuple[Layout, int] | None:
    layout, step = view._layout, view._offset - operand._offset
    is_view = view is not operand and view._storage is operand._storage
    follows = operand._layout.aligned or step * layout.itemsize % WIDEST_ACCESS == 0  # whether `aligned` does
    return (layout, step) if is_view and follows else None
