"""Copies with a part replaced: select_scatter, slice_scatter, diagonal_scatter and as_strided_scatter."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from .. import dtypes
from .. import strides as st
from ..errors import IndexRangeError, ShapeError
from .operator import Array, Call, ErrorSample, Operand, Operator, Sample, composite, operator
from .slicing import Dense, diagonal, select, slice_


def _overwritten_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 3)), Array((2, 2), seed=1), (2, 2), (3, 1), 1))
    yield Sample((Array((3, 2), layout="transposed"), Array((2,), layout="strided", seed=1), (2,), (3,), 0))
    yield Sample((Array((2, 2)), Array((0, 2), seed=1), (0, 2), (2, 1), 0))


@operator(samples=_overwritten_samples, dtypes=dtypes.ALL, method=False, function=False)
def overwritten(call: Call, input: Operand, source: Operand, size: Any, strides: Any, offset: int) -> Any:
    """A contiguous copy of `input` whose part (size, strides, offset) is `source`, converted to the input's type.

    Host: returns at once.
    """
    out = call.output(input.shape, input.dtype)
    if prod(input.shape):
        call.assign(out, input)
        if prod(size):
            call.assign(call.part(out, size, strides, offset), source)
    return out


@overwritten.derivative
def _(grad: Any, size: Any, strides: Any, offset: int, needs: Any) -> Any:
    whole = grad.contiguous()
    of_input = overwritten(whole, whole.new_zeros(size), size, strides, offset) if needs[0] else None
    return of_input, whole.as_strided(size, strides, whole.storage_offset() + offset) if needs[1] else None


def _replace(name: str, part: Operator, input: Operand, source: Operand, *attributes: Any) -> Any:
    """Replace the part that a view operator gives."""
    shape = tuple(input.shape)
    size, strides, offset = part.body(Dense(shape, st.contiguous(shape)), *attributes)
    if tuple(source.shape) != tuple(size):
        raise ShapeError(
            f"expected src to have a size equal to the slice of self: {list(size)}, got {list(source.shape)}",
            hint="expand() or reshape() it",
            operator=name,
        )
    return overwritten(input, source, tuple(size), tuple(strides), offset)


def _select_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((4,), seed=1), 0, 1))
    yield Sample((Array((3, 4), layout="transposed"), Array((3,), seed=1), -1, -1))


def _select_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3, 4)), Array((3,)), 0, 1), ShapeError, r"\[4\], got \[3\]")
    yield ErrorSample((Array((3, 4)), Array((4,)), 0, 3), IndexRangeError, "index 3 is out of bounds")


@composite(samples=_select_samples, errors=_select_errors, dtypes=dtypes.ALL)
def select_scatter(input: Operand, src: Operand, dim: int, index: int) -> Any:
    """A copy of the input with `src` at one index of a dimension.

    Shapes: src has the shape of `input.select(dim, index)`.
    Host:   returns at once.
    Raises: ShapeError for another shape, IndexRangeError if the dimension or the index is out of range.
    Example:
        >>> torch.select_scatter(torch.zeros(2, 2), torch.ones(2), 0, 1)
        tensor([[0., 0.],
                [1., 1.]])
    """
    return _replace("select_scatter", select, input, src, dim, index)


def _slice_samples() -> Iterator[Sample]:
    yield Sample((Array((5, 2)), Array((2, 2), seed=1), 0, 1, 3))
    yield Sample((Array((2, 5)), Array((2, 3), seed=1), 1, None, None, 2))


def _slice_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((5,)), Array((3,)), 0, 1, 3), ShapeError, r"\[2\], got \[3\]")


@composite(samples=_slice_samples, errors=_slice_errors, dtypes=dtypes.ALL)
def slice_scatter(
    input: Operand, src: Operand, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:
    """A copy of the input with `src` at every `step`-th index of a dimension from start up to end, excluded.

    Host:   returns at once.
    Raises: ShapeError unless src has the shape of the slice, IndexRangeError if the dimension is out of range.
    Example:
        >>> torch.slice_scatter(torch.zeros(4), torch.ones(2), start=1, step=2)
        tensor([0., 1., 0., 1.])
    """
    return _replace("slice_scatter", slice_, input, src, dim, start, end, step)


def _diagonal_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3,), seed=1)))
    yield Sample((Array((2, 3, 4)), Array((2, 2), seed=1), -1, 1, 2))


def _diagonal_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3, 4)), Array((4,))), ShapeError, r"\[3\], got \[4\]")


@composite(samples=_diagonal_samples, errors=_diagonal_errors, dtypes=dtypes.ALL)
def diagonal_scatter(input: Operand, src: Operand, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """A copy of the input with `src` as a diagonal of two dimensions.

    Host:   returns at once.
    Raises: ShapeError unless src has the shape of the diagonal, IndexRangeError for dimensions out of range.
    Example:
        >>> torch.diagonal_scatter(torch.zeros(2, 2), torch.ones(2))
        tensor([[1., 0.],
                [0., 1.]])
    """
    return _replace("diagonal_scatter", diagonal, input, src, offset, dim1, dim2)


def _strided_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((2, 2), seed=1), (2, 2), (4, 1), 1))
    yield Sample((Array((6,)), Array((3,), seed=1), (3,), (2,)))


def _strided_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), Array((3,)), (2,), (1,)), ShapeError, r"\[2\], got \[3\]")
    yield ErrorSample((Array((3,)), Array((2,)), (2,), (3,)), ShapeError, "need 4 elements, but .* 3")


@composite(samples=_strided_samples, errors=_strided_errors, dtypes=dtypes.ALL)
def as_strided_scatter(input: Operand, src: Operand, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """A contiguous copy of the input with `src` in the part of these sizes and strides.

    Host:   returns at once.
    Raises: ShapeError unless src has these sizes, or if the part exceeds the input.
    Example:
        >>> torch.as_strided_scatter(torch.zeros(4), torch.ones(2), (2,), (2,))
        tensor([1., 0., 1., 0.])
    """
    start = storage_offset or 0
    reach = st.extent(size, stride)
    if reach and start + reach > input.numel():
        raise ShapeError(
            f"sizes {list(size)} with strides {list(stride)} and offset {start} need {start + reach} elements, but the "
            f"input has {input.numel()}",
            hint="lower the sizes or the offset",
            operator="as_strided_scatter",
        )
    if tuple(src.shape) != tuple(size):
        raise ShapeError(
            f"expected src to have a size equal to the slice of self: {list(size)}, got {list(src.shape)}",
            hint="expand() or reshape() it",
            operator="as_strided_scatter",
        )
    return overwritten(input, src, tuple(size), tuple(stride), start)
