"""Sums, products, means, variances and truth over dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import dtypes
from ..dtypes import FLOATING_TYPES, bool_, dtype, int64, uint8
from ..errors import DtypeError
from .dims import Dims, bad_floats, bad_lists, count_of, dims_of, folds, reduced_shape, restored
from .operator import REGISTRY, Array, Operand, Sample, composite, operator, view
from .reduction import SUM, Fold, fold_dims, run_fold
from .variance import run_variance

PROD = Fold("prod", "1", "a * b", "multiply")
ALL = Fold("all", "true", "a && b", "logical_and")
ANY = Fold("any", "false", "a || b", "logical_or")


# sums and products


def _total(call: Any, fold: Fold, boolean: Fold, input: Any, dim: Dims, keepdim: bool, wanted: dtype | None) -> Any:
    out = wanted or (input.dtype if input.dtype.is_floating_point else int64)
    if out is bool_:
        return fold_dims(call, boolean, input, dim, keepdim, bool_, bool_)
    return fold_dims(call, fold, input, dim, keepdim, out, out.wide if out.is_floating_point else int64)


@operator(samples=folds, errors=bad_lists, dtypes=dtypes.ALL, name="sum")
def sum_(call: Any, input: Operand, dim: Dims = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """Sum over some dimensions, or all of them.

    dtype: of the result; None keeps floating types and gives int64 for the others.
    Shapes: the input's without the summed dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range, ShapeError if one is given twice.
    Example:
        >>> x = torch.tensor([[1, 2], [3, 4]])
        >>> torch.sum(x)
        tensor(10)
        >>> torch.sum(x, dim=0)
        tensor([4, 6])
        >>> torch.sum(x, dim=1, keepdim=True)
        tensor([[3],
                [7]])
    """
    return _total(call, SUM, ANY, input, dim, keepdim, dtype)


@sum_.derivative
def _(grad: Any, input_shape: Any, dim: Any, keepdim: Any) -> Any:
    return unreduce(grad, input_shape, dim, keepdim)


def _reduced() -> Iterator[Sample]:
    yield Sample((Array(()), (2, 3), None, False))
    yield Sample((Array((2, 4)), (2, 3, 4), 1, False))
    yield Sample((Array((1, 3, 1)), (2, 3, 4), (0, -1), True))


@view(samples=_reduced, dtypes=dtypes.ALL, method=False, function=False)
def unreduce(input: Operand, shape: Any, dim: Dims, keepdim: bool) -> Any:
    """What has `shape` before a reduction, with each result in the place of all that it was made of."""
    dims = dims_of("unreduce", dim, len(shape))
    kept = iter(input.strides)
    steps = [next(kept) if keepdim or at not in dims else 0 for at in range(len(shape))]
    return shape, [0 if at in dims else step for at, step in enumerate(steps)], 0


@unreduce.derivative
def _(grad: Any, dim: Any, keepdim: Any) -> Any:
    return grad.sum(dim, keepdim)


@operator(samples=folds, errors=bad_lists, dtypes=dtypes.ALL, name="prod")
def prod_(call: Any, input: Operand, dim: Dims = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """Product over some dimensions, or all of them.  Its second derivative is right where no factor is 0.

    dtype: of the result; None keeps floating types and gives int64 for the others.
    Shapes: the input's without the multiplied dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range, ShapeError if one is given twice.
    Example:
        >>> torch.prod(torch.tensor([[1, 2], [3, 4]]), dim=1)
        tensor([ 2, 12])
    """
    return _total(call, PROD, ALL, input, dim, keepdim, dtype)


@prod_.derivative
def _(grad: Any, out: Any, input: Any, dim: Any, keepdim: Any) -> Any:
    is_zero = input == 0
    others = input.masked_fill(is_zero, 1)
    of_only_zero = others.prod(dim, True) * (is_zero.sum(dim, True) == 1)
    rest = REGISTRY["where"](is_zero, of_only_zero, restored(out, input.shape, dim, keepdim) / others)
    return restored(grad, input.shape, dim, keepdim) * rest


def _floating(name: str, input: Any, wanted: dtype | None = None) -> dtype:
    kind = wanted or input.dtype
    if not kind.is_floating_point:
        raise DtypeError(f"input must be floating point, got {kind.name}", hint="convert with .float()", operator=name)
    return kind


@operator(samples=folds, errors=bad_floats, dtypes=FLOATING_TYPES)
def mean(call: Any, input: Operand, dim: Dims = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """Mean over some dimensions, or all of them; NaN where there are no elements.

    Shapes: the input's without the averaged dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: DtypeError for integers unless dtype says a floating type; IndexRangeError, ShapeError for bad dimensions.
    Example:
        >>> x = torch.tensor([[1.0, 2.0], [3.0, 6.0]])
        >>> torch.mean(x)
        tensor(3.)
        >>> torch.mean(x, dim=1)
        tensor([1.5000, 4.5000])
    """
    kind = _floating(call.name, input, dtype)
    count = count_of(input.shape, dims_of(call.name, dim, len(input.shape)))
    return fold_dims(call, SUM, input, dim, keepdim, kind, kind.wide, count)


@mean.derivative
def _(grad: Any, input_shape: Any, dim: Any, keepdim: Any) -> Any:
    count = count_of(input_shape, dims_of("mean", dim, len(input_shape)))
    return unreduce(grad / count, input_shape, dim, keepdim)


def _spreads() -> Iterator[Sample]:
    yield from (sample for sample in folds() if sample.args[0].shape)


@operator(samples=_spreads, errors=bad_floats, dtypes=FLOATING_TYPES, method=False, function=False)
def variance(call: Any, input: Operand, dim: Dims = None, keepdim: bool = False, correction: float = 1) -> Any:
    """Mean squared distance from the mean, with count - correction for the count: what `var` calls."""
    return _spread(call, False, input, dim, keepdim, correction)


@operator(samples=_spreads, errors=bad_floats, dtypes=FLOATING_TYPES, method=False, function=False)
def deviation(call: Any, input: Operand, dim: Dims = None, keepdim: bool = False, correction: float = 1) -> Any:
    """Square root of `variance`: what `std` calls."""
    return _spread(call, True, input, dim, keepdim, correction)


def _spread(call: Any, root: bool, input: Any, dim: Dims, keepdim: bool, correction: float) -> Any:
    kind = _floating(call.name, input)
    dims = dims_of(call.name, dim, len(input.shape))
    out = call.output(reduced_shape(input.shape, dims, keepdim), kind)
    run_variance(call, input, dims, out, max(count_of(input.shape, dims) - correction, 0), root)
    return out


def _variance_gradient(grad: Any, input: Any, dim: Any, keepdim: Any, correction: float) -> Any:
    dims = dims_of("var", dim, len(input.shape))
    freedom = count_of(input.shape, dims) - correction
    scale = 2 / freedom if freedom > 0 else float("inf")
    return restored(grad, input.shape, dim, keepdim) * scale * (input - input.mean(dims, True))


@variance.derivative
def _(grad: Any, input: Any, dim: Any, keepdim: Any, correction: Any) -> Any:
    return _variance_gradient(grad, input, dim, keepdim, correction)


@deviation.derivative
def _(grad: Any, out: Any, input: Any, dim: Any, keepdim: Any, correction: Any) -> Any:
    halved = (grad / (out * 2)).masked_fill(out == 0, 0)
    return _variance_gradient(halved, input, dim, keepdim, correction)


def _correction(dim: Any, unbiased: bool, correction: float | None) -> tuple[Any, float]:
    """`var(False)` is short for `var(unbiased=False)`."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return dim, int(unbiased) if correction is None else correction


@composite(samples=_spreads, errors=bad_floats, dtypes=FLOATING_TYPES)
def var(input: Operand, dim: Any = None, unbiased: bool = True, keepdim: bool = False, correction: Any = None) -> Any:
    """Variance over some dimensions: squared distances from the mean, summed, over count - correction.

    unbiased: short for correction 1 (True) or 0.
    Shapes: the input's without the reduced dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: DtypeError for integers; IndexRangeError, ShapeError for bad dimensions.
    Example:
        >>> x = torch.tensor([1.0, 2.0, 3.0, 4.0])
        >>> torch.var(x)
        tensor(1.6667)
        >>> torch.var(x, correction=0)
        tensor(1.2500)
    """
    dim, correction = _correction(dim, unbiased, correction)
    return variance(input, dim, keepdim, correction)


@composite(samples=_spreads, errors=bad_floats, dtypes=FLOATING_TYPES)
def std(input: Operand, dim: Any = None, unbiased: bool = True, keepdim: bool = False, correction: Any = None) -> Any:
    """Standard deviation over some dimensions: the square root of `var`.  Its gradient is 0 where it is 0.

    Shapes: the input's without the reduced dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: DtypeError for integers; IndexRangeError, ShapeError for bad dimensions.
    Example:
        >>> x = torch.tensor([[1.0, 3.0], [2.0, 8.0]])
        >>> torch.std(x, dim=1)
        tensor([1.4142, 4.2426])
        >>> torch.std(x, dim=1, unbiased=False)
        tensor([1., 3.])
    """
    dim, correction = _correction(dim, unbiased, correction)
    return deviation(input, dim, keepdim, correction)


# truth


def _truth(call: Any, fold: Fold, input: Any, dim: Dims, keepdim: bool) -> Any:
    kind = uint8 if input.dtype is uint8 else bool_
    if dim is None or isinstance(dim, int) or dim:
        return fold_dims(call, fold, input, dim, keepdim, kind, bool_)
    out = call.output(input.shape, kind)  # unlike in sums, () names no dimension
    run_fold(call, fold, input, (), out, bool_)
    return out


@operator(samples=folds, errors=bad_lists, dtypes=dtypes.ALL, name="all")
def all_(call: Any, input: Operand, dim: Dims = None, keepdim: bool = False) -> Any:
    """Whether every element is nonzero (NaN is); True where there are none.

    dim: None reduces all dimensions, () none.
    Shapes: the input's without the reduced dimensions, or with size 1 there if keepdim.  uint8 gives uint8, else bool.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range, ShapeError if one is given twice.
    Example:
        >>> x = torch.tensor([[True, True], [True, False]])
        >>> torch.all(x)
        tensor(False)
        >>> torch.all(x, dim=1)
        tensor([ True, False])
    """
    return _truth(call, ALL, input, dim, keepdim)


@operator(samples=folds, errors=bad_lists, dtypes=dtypes.ALL, name="any")
def any_(call: Any, input: Operand, dim: Dims = None, keepdim: bool = False) -> Any:
    """Whether some element is nonzero (NaN is); False where there are none.

    dim: None reduces all dimensions, () none.
    Shapes: the input's without the reduced dimensions, or with size 1 there if keepdim.  uint8 gives uint8, else bool.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range, ShapeError if one is given twice.
    Example:
        >>> x = torch.tensor([[False, False], [True, False]])
        >>> torch.any(x)
        tensor(True)
        >>> torch.any(x, dim=1)
        tensor([False,  True])
    """
    return _truth(call, ANY, input, dim, keepdim)
