"""Searching, sorting and set functions of the array API."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import dtypes
from ..errors import ShapeError
from ..ops import compare, indexing, reductions, scans, sorting
from ..ops import searching as finding
from .data_types import promoted


def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """Return the index of the first maximum along an axis; axis=None: in the flattened array.

    Shapes: the input's without the axis, or with size 1 there if keepdims.
    Raises: IndexRangeError if the axis is out of range, or has no elements.
    Example:
        >>> torch.array_api.argmax(torch.tensor([[1, 5], [7, 2]]), axis=1)
        tensor([1, 0])
    """
    return reductions.argmax(x, axis, keepdims)


def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """Return the index of the first minimum along an axis; axis=None: in the flattened array.

    Shapes: the input's without the axis, or with size 1 there if keepdims.
    Raises: IndexRangeError if the axis is out of range, or has no elements.
    Example:
        >>> torch.array_api.argmin(torch.tensor([[1, 5], [7, 2]]), axis=1)
        tensor([0, 1])
    """
    return reductions.argmin(x, axis, keepdims)


def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Count the elements that are not zero, along axes; axis=None: in the whole array.

    Shapes: the input's without the axes in `axis`, or with size 1 there if keepdims.
    Raises: IndexRangeError if an axis is out of range, ShapeError if one is repeated.
    Example:
        >>> torch.array_api.count_nonzero(torch.tensor([[1, 0], [2, 3]]), axis=0)
        tensor([2, 1])
    """
    is_counted = compare.ne(x, 0)
    return is_counted.to(dtypes.int64) if axis == () else reductions.sum_(is_counted, axis, keepdims)


def nonzero(x: Any, /) -> tuple[Any, ...]:
    """Return the indices of the elements that are not zero, one array for each axis.

    Host: waits, since the size of the result depends on the values.
    Raises: ShapeError for no dimensions.
    Example:
        >>> torch.array_api.nonzero(torch.tensor([[0, 1], [2, 0]]))
        (tensor([0, 1]), tensor([1, 0]))
    """
    if x.ndim == 0:
        raise ShapeError("x has no dimensions", hint="reshape it to (1,)", operator="nonzero")
    return tuple(indexing.nonzero(x, as_tuple=True))


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    """Return the indices at which inserting the values of x2 keeps x1 sorted.

    side: "left" is the index before equal values of x1, "right" the one after them.  sorter: the indices that sort x1.
    Shapes: same as x2.
    Raises: ModeError for any other side, ValueRangeError for a sorter of another type or shape, DtypeError if there is
            no common type.
    Example:
        >>> torch.array_api.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 4]))
        tensor([1, 2])
    """
    among, values = promoted(x1, x2)
    return finding.searchsorted(among, values, side=side, sorter=sorter)


def where(condition: Any, x1: Any, x2: Any, /) -> Any:
    """Return x1 where the condition is true, and x2 elsewhere.  The type is the one that they promote to.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Raises: ShapeError if the shapes do not broadcast, DtypeError if the condition is not bool, or there is no common
            type.
    Example:
        >>> torch.array_api.where(torch.tensor([True, False]), torch.tensor([1, 2]), 0)
        tensor([1, 0])
    """
    return compare.where(condition, *promoted(x1, x2))


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Return the indices that sort an array along an axis, in ascending order unless `descending`.

    Shapes: same as the input.
    Raises: IndexRangeError if the axis is out of range.
    Example:
        >>> torch.array_api.argsort(torch.tensor([3, 1, 2]))
        tensor([1, 2, 0])
    """
    return sorting.argsort(x, axis, descending, stable)


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Return the elements in ascending order along an axis, or in descending order if `descending` is True.

    Shapes: same as the input.
    Raises: IndexRangeError if the axis is out of range.
    Example:
        >>> torch.array_api.sort(torch.tensor([3, 1, 2]), descending=True)
        tensor([3, 2, 1])
    """
    return sorting.sort(x, axis, descending, stable).values


class UniqueAll(NamedTuple):
    """Distinct values, the first index of each, the number of each element's value, and how often each occurs."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """Distinct values, and how often each occurs."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """Distinct values, and the number of each element's value among them."""

    values: Any
    inverse_indices: Any


def unique_all(x: Any, /) -> UniqueAll:
    """Return the distinct values in order, with first indices, inverse indices and counts; every NaN is distinct.

    Shapes: vectors of the distinct values, indices and counts; inverse indices have the input's shape.
    Host:   waits, since the number of distinct values depends on the data.
    Raises: ArgumentTypeError if the argument is not an array.
    Example:
        >>> torch.array_api.unique_all(torch.tensor([5, 3, 5])).indices
        tensor([1, 0])
    """
    values, inverse, counts = finding.unique(x, return_inverse=True, return_counts=True)
    by_value = sorting.argsort(inverse.reshape(-1), stable=True)
    firsts = scans.cumsum(counts, 0) - counts
    return UniqueAll(values, indexing.index_select(by_value, 0, firsts), inverse, counts)


def unique_counts(x: Any, /) -> UniqueCounts:
    """Return the distinct values in order, and how often each occurs; every NaN is distinct.

    Shapes: vectors with one element for each distinct value.
    Host:   waits, since the number of distinct values depends on the data.
    Raises: ArgumentTypeError if the argument is not an array.
    Example:
        >>> torch.array_api.unique_counts(torch.tensor([5, 3, 5])).counts
        tensor([1, 2])
    """
    return UniqueCounts(*finding.unique(x, return_counts=True))


def unique_inverse(x: Any, /) -> UniqueInverse:
    """Return the distinct values in order, and for each element the index of its value; every NaN is distinct.

    Shapes: a vector of the distinct values; inverse indices have the input's shape.
    Host:   waits, since the number of distinct values depends on the data.
    Raises: ArgumentTypeError if the argument is not an array.
    Example:
        >>> torch.array_api.unique_inverse(torch.tensor([5, 3, 5])).inverse_indices
        tensor([1, 0, 1])
    """
    return UniqueInverse(*finding.unique(x, return_inverse=True))


def unique_values(x: Any, /) -> Any:
    """Return the distinct values in order; every NaN is distinct.

    Shapes: a vector of the distinct values.
    Host:   waits, since the number of distinct values depends on the data.
    Raises: ArgumentTypeError if the argument is not an array.
    Example:
        >>> torch.array_api.unique_values(torch.tensor([5, 3, 5]))
        tensor([3, 5])
    """
    return finding.unique(x)
