"""Views of the whole: another tensor, or another type, over the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import dtypes
from .. import strides as st
from ..core.layout import layout_of
from ..errors import ShapeError
from .operator import Array, ErrorSample, Operand, Sample, composite, view


def _alias_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 3)),))


@view(samples=_alias_samples, dtypes=dtypes.ALL, method=False, function=False)
def alias(input: Operand) -> Any:
    """The whole input as a view of itself: another tensor, in the graph.

    Host: returns at once.
    """
    return input.shape, input.strides, 0


@alias.derivative
def _(grad: Any) -> Any:
    return grad


def _view_dtype_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 4)), dtypes.uint8))


def _view_dtype_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), dtypes.float64), ShapeError, "cannot be seen as float64, of 8 bytes")


@composite(
    samples=_view_dtype_samples,
    errors=_view_dtype_errors,
    dtypes=dtypes.ALL,
    method=False,
    function=False,
    called="view",
)
def view_dtype(input: Operand, dtype: Any) -> Any:
    """The same bytes as another type; no gradient flows through.

    Shapes: the last size changes with the size of an element.
    Host:   returns at once.
    Raises: ShapeError if the bytes of the last dimension cannot be divided so.
    Example:
        >>> torch.tensor([1.0]).view(torch.int32)
        tensor([1065353216], dtype=torch.int32)
    """
    source: Any = input
    old, new = input.dtype.itemsize, dtype.itemsize
    made = source.detach()
    aligned = input.is_aligned()
    if old == new:
        made.layout = layout_of(source.layout.device, dtype, input.shape, input.strides, aligned)
        return made
    divisible = all(step * old % new == 0 for step in (*input.strides[:-1], made.offset))
    if not input.shape or input.strides[-1] != 1 or input.shape[-1] * old % new or not divisible:
        raise ShapeError(
            f"{input.dtype.name}{list(input.shape)} with strides {list(input.strides)} cannot be seen as "
            f"{dtype.name}, of {new} bytes an element",
            hint="make it contiguous(), with a last dimension whose bytes divide evenly",
            operator="view",
        )
    shape = st.Size((*input.shape[:-1], input.shape[-1] * old // new))
    steps = (*(step * old // new for step in input.strides[:-1]), 1)
    made.layout = layout_of(source.layout.device, dtype, shape, steps, aligned)
    made.offset = made.offset * old // new
    return made
