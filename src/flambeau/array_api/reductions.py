"""Statistical and utility functions of the array API.

`axis` is an axis, a tuple of axes, or None for all; an empty tuple reduces nothing.
"""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..dtypes import INTEGER, dtype
from ..errors import ArgumentError
from ..ops import compare, join, scans
from ..ops import reductions as reducing
from ..tensor import factories


def _dtype_of_sum(x: Any, wanted: dtype | None) -> dtype:
    """Return the type of a sum or a product: integers and bool accumulate in 64 bits, and keep their sign."""
    if wanted is not None:
        return wanted
    given: dtype = x.dtype
    if given.category > INTEGER:
        return given
    return dtypes.uint64 if given.category == INTEGER and not given.is_signed else dtypes.int64


def all(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Test whether all elements along axes are true.  The result is bool; PyTorch returns uint8 for uint8.

    Shapes: the input's without the axes in `axis` (None: all axes), or with size 1 there if keepdims.
    Raises: IndexRangeError if an axis is out of range, ShapeError if one is repeated.
    Example:
        >>> torch.array_api.all(torch.tensor([[1, 2], [0, 3]]), axis=1)
        tensor([ True, False])
    """
    truth = compare.ne(x, 0)
    return truth if axis == () else reducing.all_(truth, axis, keepdims)


def any(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Test whether any element along axes is true.  The result is bool; PyTorch returns uint8 for uint8.

    Shapes: the input's without the axes in `axis` (None: all axes), or with size 1 there if keepdims.
    Raises: IndexRangeError if an axis is out of range, ShapeError if one is repeated.
    Example:
        >>> torch.array_api.any(torch.tensor([[0, 2], [0, 0]]), axis=1)
        tensor([ True, False])
    """
    truth = compare.ne(x, 0)
    return truth if axis == () else reducing.any_(truth, axis, keepdims)


def _scan(name: str, operator: Any, x: Any, axis: int | None, dtype: dtype | None, initial: int | None) -> Any:
    """Accumulate along an axis.  initial: a first element of the result, or None."""
    if axis is None:
        if x.ndim != 1:
            raise ArgumentError(
                f"axis=None is only for arrays with one dimension, and x has {x.ndim}", hint="pass axis", operator=name
            )
        axis = 0
    result = operator(x, axis, dtype=_dtype_of_sum(x, dtype))
    if initial is None:
        return result
    shape = list(x.shape)
    shape[axis] = 1
    return join.cat([factories.full(shape, initial, dtype=result.dtype, device=x.device), result], axis)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: dtype | None = None, include_initial: bool = False
) -> Any:
    """Return the cumulative product along an axis, which may be omitted if there is one dimension.

    include_initial: begin with a 1; the result is then one element longer along the axis.
    Raises: ArgumentError if the axis is omitted and there are several dimensions.
    Example:
        >>> torch.array_api.cumulative_prod(torch.tensor([2, 3, 4]))
        tensor([ 2,  6, 24])
    """
    return _scan("cumulative_prod", scans.cumprod, x, axis, dtype, 1 if include_initial else None)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: dtype | None = None, include_initial: bool = False
) -> Any:
    """Return the cumulative sum along an axis, which may be omitted if there is one dimension.

    include_initial: begin with a 0; the result is then one element longer along the axis.
    Raises: ArgumentError if the axis is omitted and there are several dimensions.
    Example:
        >>> torch.array_api.cumulative_sum(torch.tensor([2, 3, 4]), include_initial=True)
        tensor([0, 2, 5, 9])
    """
    return _scan("cumulative_sum", scans.cumsum, x, axis, dtype, 0 if include_initial else None)


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Any:
    """Return the n-th differences of adjacent elements along an axis.

    prepend, append: values put before and after the elements along the axis before the differences are taken.
    Shapes: the input's, after prepend and append, with n elements fewer along the axis.
    Raises: IndexRangeError if the axis is out of range, ShapeError for no dimensions, ValueRangeError for a negative n.
    Example:
        >>> torch.array_api.diff(torch.tensor([1, 4, 9]))
        tensor([3, 5])
    """
    return scans.diff(x, n, axis, prepend, append)


def max(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the maximum along axes; NaN if any element is NaN.

    Shapes: the input's without the axes in `axis` (None: all axes), or with size 1 there if keepdims.
    Raises: IndexRangeError if an axis is out of range, ShapeError if one is repeated.
    Example:
        >>> torch.array_api.max(torch.tensor([[1, 5], [7, 2]]), axis=0)
        tensor([7, 5])
    """
    return x.clone() if axis == () else reducing.amax(x, () if axis is None else axis, keepdims)


def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the mean along axes.

    Shapes: the input's without the axes in `axis` (None: all axes), or with size 1 there if keepdims.
    Raises: DtypeError for integers, IndexRangeError if an axis is out of range, ShapeError if one is repeated.
    Example:
        >>> torch.array_api.mean(torch.tensor([[1.0, 5.0], [7.0, 2.0]]), axis=(0, 1))
        tensor(3.7500)
    """
    return x.clone() if axis == () else reducing.mean(x, axis, keepdims)


def min(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the minimum along axes; NaN if any element is NaN.

    Shapes: the input's without the axes in `axis` (None: all axes), or with size 1 there if keepdims.
    Raises: IndexRangeError if an axis is out of range, ShapeError if one is repeated.
    Example:
        >>> torch.array_api.min(torch.tensor([[1, 5], [7, 2]]), axis=0)
        tensor([1, 2])
    """
    return x.clone() if axis == () else reducing.amin(x, () if axis is None else axis, keepdims)


def prod(x: Any, /, *, axis: Any = None, dtype: dtype | None = None, keepdims: bool = False) -> Any:
    """Return the product along axes.  Unsigned integers give uint64; PyTorch gives int64.

    Shapes: the input's without the axes in `axis` (None: all axes), or with size 1 there if keepdims.
    Raises: IndexRangeError if an axis is out of range, ShapeError if one is repeated.
    Example:
        >>> torch.array_api.prod(torch.tensor([[1, 5], [7, 2]]), axis=(0, 1))
        tensor(70)
    """
    wanted = _dtype_of_sum(x, dtype)
    return x.to(wanted, copy=True) if axis == () else reducing.prod_(x, axis, keepdims, dtype=wanted)


def std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """Return the standard deviation along axes: the root of (sum of squared distances to the mean / (n - correction)).

    Shapes: the input's without the axes in `axis` (None: all axes), or with size 1 there if keepdims.
    Raises: DtypeError for integers, IndexRangeError if an axis is out of range, ShapeError if one is repeated.
    Example:
        >>> torch.array_api.std(torch.tensor([1.0, 3.0]))
        tensor(1.)
    """
    return var(x, axis=axis, correction=correction, keepdims=keepdims).sqrt()


def sum(x: Any, /, *, axis: Any = None, dtype: dtype | None = None, keepdims: bool = False) -> Any:
    """Return the sum along axes.  Unsigned integers give uint64; PyTorch gives int64.

    Shapes: the input's without the axes in `axis` (None: all axes), or with size 1 there if keepdims.
    Raises: IndexRangeError if an axis is out of range, ShapeError if one is repeated.
    Example:
        >>> torch.array_api.sum(torch.tensor([[1, 5], [7, 2]], dtype=torch.uint8), axis=0)
        tensor([8, 7], dtype=torch.uint64)
    """
    wanted = _dtype_of_sum(x, dtype)
    return x.to(wanted, copy=True) if axis == () else reducing.sum_(x, axis, keepdims, dtype=wanted)


def var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """Return the variance along axes: the sum of squared distances to the mean, divided by (n - correction).

    Shapes: the input's without the axes in `axis` (None: all axes), or with size 1 there if keepdims.
    Raises: DtypeError for integers, IndexRangeError if an axis is out of range, ShapeError if one is repeated.
    Example:
        >>> torch.array_api.var(torch.tensor([1.0, 3.0])), torch.array_api.var(torch.tensor([1.0, 3.0]), correction=1)
        (tensor(1.), tensor(2.))
    """
    if axis == ():
        x, axis = x[..., None], -1
        return reducing.var(x, axis, correction=correction)
    return reducing.var(x, axis, correction=correction, keepdim=keepdims)
