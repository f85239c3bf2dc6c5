"""Dimensions of a reduction: which ones `dim` means, the shape that they leave, and samples of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from .. import strides as st
from ..errors import DtypeError, IndexRangeError, ShapeError
from .operator import Array, ErrorSample, Sample

Dims = int | Sequence[int] | None


def dims_of(name: str, dim: Dims, ndim: int) -> tuple[int, ...]:
    """The reduced dimensions, counted from the front and sorted.  None and () stand for all of them."""
    if dim is None or isinstance(dim, (tuple, list)) and not dim:
        return tuple(range(ndim))
    found = [st.wrap_dim(each, ndim, name) for each in st.as_ints(dim)]
    for each in found:
        if found.count(each) > 1:
            raise ShapeError(
                f"dim {each} appears multiple times in the list of dims {dim}",
                hint=f"name each once; of {ndim} dimensions, {each} is also {each - ndim}",
                operator=name,
            )
    return tuple(sorted(found)) if ndim else ()


def reduced_shape(shape: Sequence[int], dims: Sequence[int], keepdim: bool) -> list[int]:
    if keepdim:
        return [1 if dim in dims else size for dim, size in enumerate(shape)]
    return [size for dim, size in enumerate(shape) if dim not in dims]


def restored(value: Any, shape: Sequence[int], dim: Dims, keepdim: bool) -> Any:
    """A result with its reduced dimensions back, as size 1."""
    return value if keepdim else value.reshape(reduced_shape(shape, dims_of("reshape", dim, len(shape)), True))


def count_of(shape: Sequence[int], dims: Sequence[int]) -> int:
    """How many values make one result."""
    return prod(shape[dim] for dim in dims)


def require_values(name: str, shape: Sequence[int], dim: Dims) -> None:
    """Raise IndexRangeError if there is nothing to choose from."""
    if dim is None and prod(shape) == 0:
        raise IndexRangeError(
            f"expected reduction dim to be specified for an input of shape {list(shape)}, without elements",
            hint="specify the reduction dim with the 'dim' argument",
            operator=name,
        )
    for each in dims_of(name, dim, len(shape)):
        if shape[each] == 0:
            raise IndexRangeError(
                f"expected reduction dim {each} to have non-zero size, the shape is {list(shape)}",
                hint="there is nothing to choose from: reduce a dimension that has elements, or test numel() first",
                operator=name,
            )


# samples


def folds() -> Iterator[Sample]:
    """One operand and dimensions: all, one, several, kept, strided, empty, zero-dimensional."""
    yield Sample((Array((3, 4)),))
    yield Sample((Array((3, 4)), 0))
    yield Sample((Array((2, 3, 4)), (0, -1), True))
    yield Sample((Array((4, 3), layout="transposed"), 1))
    yield Sample((Array((2, 6), layout="strided"), -1))
    yield Sample((Array((3, 0)), 0))
    yield Sample((Array(()),))
    yield Sample((Array((2, 300)), 1))


def bad_dims() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), 2), IndexRangeError, r"expected to be in range of \[-2, 1\], but got 2")


def bad_second() -> Iterator[ErrorSample]:
    """For operators of two dimensions."""
    yield ErrorSample((Array((2, 3)), 0, 2), IndexRangeError, r"expected to be in range of \[-2, 1\], but got 2")


def bad_new() -> Iterator[ErrorSample]:
    """For operators that make a dimension."""
    yield ErrorSample((Array((2, 3)), 3), IndexRangeError, r"expected to be in range of \[-3, 2\], but got 3")


def bad_last() -> Iterator[ErrorSample]:
    """For operators that count dimensions alone, as their first attribute."""
    yield from bad_dims()
    yield ErrorSample((Array(()), 1), IndexRangeError, r"expected to be in range of \[-1, 0\], but got 1")


def bad_lists() -> Iterator[ErrorSample]:
    yield from bad_dims()
    yield ErrorSample((Array((2, 3)), (0, -2)), ShapeError, "dim 0 appears multiple times")


def bad_floats() -> Iterator[ErrorSample]:
    yield from bad_lists()
    yield ErrorSample((Array((2, 3), dtype="int64"),), DtypeError, "must be floating point, got int64")


def nothing_to_choose() -> Iterator[ErrorSample]:
    yield from bad_dims()
    yield ErrorSample((Array((0, 3)),), IndexRangeError, "expected reduction dim to be specified")
    yield ErrorSample((Array((0, 3)), 0), IndexRangeError, "expected reduction dim 0 to have non-zero size")
