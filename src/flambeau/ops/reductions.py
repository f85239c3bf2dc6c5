"""Reductions over dimensions: sums, products, means, variances, norms, all/any, min/max and order statistics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import inf, prod
from operator import index
from typing import Any

from .. import dtypes
from .. import strides as st
from ..dtypes import FLOATING_TYPES, bool_, dtype, float32, float64, int64, uint8
from ..errors import ArgumentTypeError, DtypeError, IndexRangeError, ModeError, ShapeError, ValueRangeError, shown
from ..host import np
from ..kernel import Kernel, Pointer, Scalar, Strided
from . import results
from .operator import REGISTRY, Array, ErrorSample, Operand, Sample, Value, composite, operator, view
from .order_statistics import row_choice
from .pointwise import THREADS, floating_only, numpy_type, pointwise
from .reduction_kernels import (
    REDUCE_SOURCE,
    SUM,
    WORK_PARAMETERS,
    Dims,
    Fold,
    cached_pieces,
    checked_plan,
    dims_of,
    fold_dims,
    host_pieces,
    host_rows,
    join_plan,
    plan_join,
    reduced_count,
    reduced_shape,
    reduction_source,
    require_values,
    restore_dims,
    run_fold,
    run_select,
)
from .samples import NUMERIC_TYPES, bad_dims, bad_floats, bad_lists, nothing_to_choose, reduction_samples
from .scans import running_extreme
from .sorting import TILE, kth_places, sort
from .views import as_if_read, reshape, squeeze, unsqueeze

# kernels of variance


@cache
def variance_kernel(source: dtype, across: bool) -> Kernel:
    """Return the kernel of the variance or its square root, or of the mean and sum of squares of each piece.

    centers: takes the means, or is absent.
    """
    entry = f"variance_{source.name}{'_across' if across else ''}"
    value, dtype = source.wide.cuda, source.cuda
    op = f"Variance<{value}, {dtype}, {dtype}>{{out, centers, means, squares, input, layout, scale, root != 0}}"
    arguments = f"{dtype}* out, {dtype}* centers, {value}* means, {value}* squares, const {dtype}* input, "
    arguments += "double scale, long long root"

    def reference(
        out: Any, centers: Any, means: Any, squares: Any, input: Any, scale: float, root: int, outputs: int,
        count: int, parts: int, chunk: int, *_: int,
    ) -> None:  # fmt: skip
        rows = host_rows(input, outputs, count, source.wide)
        for region, pieces in cached_pieces(rows, chunk):
            center = pieces.sum(axis=2) / pieces.dtype.type(pieces.shape[2])  # NaN of no values
            apart = np.square(pieces - center[..., None]).sum(axis=2)
            if means is None:
                out[region[1]] = _finish_variance(apart[:, 0], scale, root)
                if centers is not None:
                    centers[region[1]] = center[:, 0]
            else:
                means[region], squares[region] = center.T, apart.T

    params = [
        Pointer("out", source, "w", ("outputs",)),
        Pointer("centers", source, "w", ("outputs",)),
        Pointer("means", source.wide, "w", ("parts", "outputs")),
        Pointer("squares", source.wide, "w", ("parts", "outputs")),
        Pointer("input", source, "r", "layout"),
        *_VARIANCE_SCALARS,
        Strided("layout", ("input",)),
        *WORK_PARAMETERS,
    ]
    return Kernel(entry, REDUCE_SOURCE + reduction_source(entry, arguments, op, across), params, reference, 4.0)


@cache
def join_variance_kernel(wide: dtype, out: dtype) -> Kernel:
    """Return the kernel that joins the pieces of a variance; each has `chunk` values but the last, all have `count`."""
    entry, value = f"join_variances_{wide.name}_{out.name}", wide.cuda
    names = ("root", "parts", "outputs", "chunk", "count", "lanes")
    code = f"""{REDUCE_SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({out.cuda}* out, {out.cuda}* centers,
    const {value}* means, const {value}* squares, double scale, {", ".join(f"long long {name}" for name in names)}) {{
  const Pieces<{value}> pieces{{means, squares, parts, outputs, chunk, count}};
  join_variances(out, centers, pieces, scale, root != 0, (int)lanes);
}}
"""

    def reference(
        result: Any, centers: Any, means: Any, squares: Any, scale: float, root: int, parts: int, outputs: int,
        chunk: int, count: int, lanes: int,
    ) -> None:  # fmt: skip
        held = np.array([min(chunk, count - part * chunk) for part in range(parts)], wide.numpy)[:, None]
        center = (means * held).sum(axis=0) / wide.numpy.type(count)
        apart = (np.square(means - center) * held).sum(axis=0)
        result[...] = _finish_variance(squares.sum(axis=0) + apart, scale, root)
        if centers is not None:
            centers[...] = center

    params = [
        Pointer("out", out, "w", ("outputs",)),
        Pointer("centers", out, "w", ("outputs",)),
        Pointer("means", wide, "r", ("parts", "outputs")),
        Pointer("squares", wide, "r", ("parts", "outputs")),
        Scalar("scale", "float64"),
        *[Scalar(name, "int64") for name in names],
    ]
    return Kernel(entry, code, params, reference, 8.0)


_VARIANCE_SCALARS = [Scalar("scale", "float64"), Scalar("root", "int64")]


def _finish_variance(squares: Any, scale: float, root: int) -> Any:
    square = squares / squares.dtype.type(scale)
    return np.sqrt(square) if root else square


def run_variance(call: Any, input: Any, dims: Sequence[int], out: Any, centers: Any, scale: float, root: bool) -> None:
    """Queue the launches that write the variance along `dims` of `input` to contiguous `out`, the mean to `centers`.

    centers: None if the mean is not needed.
    """
    if not out.numel():
        return
    plan = checked_plan(call, input, dims)
    kernel = variance_kernel(input.dtype, plan.work.across)
    if plan.work.parts == 1:
        values = (out, centers, None, None, input, scale, int(root), plan.layout, *plan.numbers())
        call.launch(kernel, plan.work.grid(plan.outputs), *values)
        return
    shape, wide = (plan.work.parts, plan.outputs), input.dtype.wide
    means, squares = call.scratch(shape, wide), call.scratch(shape, wide)
    values = (means, squares, input, scale, int(root), plan.layout, *plan.numbers())
    call.launch(kernel, plan.work.grid(plan.outputs), None, None, *values)
    lanes, grid = plan_join(plan.work.parts, plan.outputs)
    numbers = (scale, int(root), plan.work.parts, plan.outputs, plan.work.chunk, plan.length, lanes)
    call.launch(join_variance_kernel(wide, out.dtype), grid, out, centers, means, squares, *numbers)


PROD = Fold("prod", "1", "a * b", "multiply")
ALL = Fold("all", "true", "a && b", "logical_and")
ANY = Fold("any", "false", "a || b", "logical_or")


# sums, products, means and variances


def _total(call: Any, fold: Fold, boolean: Fold, input: Any, dim: Dims, keepdim: bool, wanted: dtype | None) -> Any:
    out = wanted or (input.dtype if input.dtype.is_floating_point else int64)
    if out is bool_:
        return fold_dims(call, boolean, input, dim, keepdim, bool_, bool_)
    return fold_dims(call, fold, input, dim, keepdim, out, out.wide if out.is_floating_point else int64)


@operator(samples=reduction_samples, errors=bad_lists, dtypes=dtypes.ALL, name="sum")
def sum_(call: Any, input: Operand, dim: Dims = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """Compute the sum over some dimensions, or all of them.

    dtype: the type of the result; None keeps floating types and gives int64 for the others.
    Shapes: the input's without the summed dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range, ShapeError if one is repeated.
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


def _unreduce_samples() -> Iterator[Sample]:
    yield Sample((Array(()), (2, 3), None, False))
    yield Sample((Array((2, 4)), (2, 3, 4), 1, False))
    yield Sample((Array((1, 3, 1)), (2, 3, 4), (0, -1), True))


@view(samples=_unreduce_samples, dtypes=dtypes.ALL, method=False, function=False)
def unreduce(input: Operand, shape: Any, dim: Dims, keepdim: bool) -> Any:
    """Return a view of a reduction's result in the shape of its input: each result is repeated."""
    dims = dims_of("unreduce", dim, len(shape))
    kept = iter(input.strides)
    steps = [next(kept) if keepdim or at not in dims else 0 for at in range(len(shape))]
    return shape, [0 if at in dims else step for at, step in enumerate(steps)], 0


@unreduce.derivative
def _(grad: Any, dim: Any, keepdim: Any) -> Any:
    return grad.sum(dim, keepdim)


@operator(samples=reduction_samples, errors=bad_lists, dtypes=dtypes.ALL, name="prod")
def prod_(call: Any, input: Operand, dim: Dims = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """Compute the product over some dimensions, or all of them.

    dtype: the type of the result; None keeps floating types and gives int64 for the others.
    Shapes: the input's without the multiplied dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range, ShapeError if one is repeated.
    Example:
        >>> torch.prod(torch.tensor([[1, 2], [3, 4]]), dim=1)
        tensor([ 2, 12])
    """
    return _total(call, PROD, ALL, input, dim, keepdim, dtype)


@prod_.derivative
def _(grad: Any, out: Any, input: Any, dim: Any, keepdim: Any) -> Any:
    del out  # a parameter so that overwriting the result raises an error, as in PyTorch
    return restore_dims(grad, input.shape, dim, keepdim) * _products_of_others(input, dim)


def _products_of_others(input: Any, dim: Dims) -> Any:
    """Return, for each element, the product of all other elements of its reduction, without a division."""
    shape, ndim = tuple(input.shape), len(input.shape)
    dims = dims_of("prod", dim, ndim)
    order = [*(axis for axis in range(ndim) if axis not in dims), *dims]
    lead = [shape[axis] for axis in order[: ndim - len(dims)]]
    count = reduced_count(shape, dims)
    rows = input.permute(order).reshape([*lead, count])
    one, product = input.new_ones([*lead, min(count, 1)]), REGISTRY["running_product"]
    before = product(REGISTRY["cat"]([one, rows.narrow(-1, 0, max(count - 1, 0))], -1), -1)
    after = product(REGISTRY["cat"]([rows.narrow(-1, min(count, 1), max(count - 1, 0)), one], -1), -1, True)
    others = (before * after).reshape([shape[axis] for axis in order])
    return others.permute([order.index(axis) for axis in range(ndim)])


def _floating(name: str, input: Any, wanted: dtype | None = None) -> dtype:
    dtype = wanted or input.dtype
    if not dtype.is_floating_point:
        raise DtypeError(f"input must be floating point, got {dtype.name}", hint="convert with .float()", operator=name)
    return dtype


@operator(samples=reduction_samples, errors=bad_floats, dtypes=FLOATING_TYPES)
def mean(call: Any, input: Operand, dim: Dims = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """Compute the mean over some dimensions, or all of them; NaN where there are no elements.

    dtype: the type of the result; None keeps the type of the input.

    Shapes: the input's without the averaged dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: DtypeError for integers unless dtype is floating point, IndexRangeError if a dimension is out of range,
            ShapeError if one is repeated.
    Example:
        >>> x = torch.tensor([[1.0, 2.0], [3.0, 6.0]])
        >>> torch.mean(x)
        tensor(3.)
        >>> torch.mean(x, dim=1)
        tensor([1.5000, 4.5000])
    """
    result = _floating(call.name, input, dtype)
    count = reduced_count(input.shape, dims_of(call.name, dim, len(input.shape)))
    return fold_dims(call, SUM, input, dim, keepdim, result, result.wide, count)


@mean.derivative
def _(grad: Any, input_shape: Any, dim: Any, keepdim: Any) -> Any:
    return _mean_gradient(grad, input_shape, dim, keepdim)


def _mean_gradient(grad: Any, shape: Any, dim: Any, keepdim: Any) -> Any:
    count = reduced_count(shape, dims_of("mean", dim, len(shape)))
    return unreduce(grad / count, shape, dim, keepdim)


def _variance_samples() -> Iterator[Sample]:
    yield from (sample for sample in reduction_samples() if sample.args[0].shape)


@operator(samples=_variance_samples, errors=bad_floats, dtypes=FLOATING_TYPES, method=False, function=False)
def variance(call: Any, input: Operand, dim: Dims = None, keepdim: bool = False, correction: float = 1) -> Any:
    """Compute `var`: the sum of squared distances from the mean over count - correction.

    Raises: IndexRangeError if a dimension is out of range, ShapeError if one is repeated, DtypeError for integers.
    """
    return _run_spread(call, False, False, input, dim, keepdim, correction)


@operator(samples=_variance_samples, errors=bad_floats, dtypes=FLOATING_TYPES, method=False, function=False)
def deviation(call: Any, input: Operand, dim: Dims = None, keepdim: bool = False, correction: float = 1) -> Any:
    """Compute `std`: the square root of `variance`.

    Raises: IndexRangeError if a dimension is out of range, ShapeError if one is repeated, DtypeError for integers.
    """
    return _run_spread(call, True, False, input, dim, keepdim, correction)


def _run_spread(call: Any, root: bool, with_mean: bool, input: Any, dim: Dims, keepdim: bool, correction: float) -> Any:
    dtype = _floating(call.name, input)
    dims = dims_of(call.name, dim, len(input.shape))
    shape = reduced_shape(input.shape, dims, keepdim)
    out, centers = call.output(shape, dtype), call.output(shape, dtype) if with_mean else None
    run_variance(call, input, dims, out, centers, max(reduced_count(input.shape, dims) - correction, 0), root)
    return (out, centers) if with_mean else out


def _variance_gradient(grad: Any, input: Any, dim: Any, keepdim: Any, correction: float) -> Any:
    dims = dims_of("var", dim, len(input.shape))
    freedom = reduced_count(input.shape, dims) - correction
    scale = 2 / freedom if freedom > 0 else float("inf")
    return restore_dims(grad, input.shape, dim, keepdim) * scale * (input - input.mean(dims, True))


@variance.derivative
def _(grad: Any, input: Any, dim: Any, keepdim: Any, correction: Any) -> Any:
    return _variance_gradient(grad, input, dim, keepdim, correction)


@deviation.derivative
def _(grad: Any, out: Any, input: Any, dim: Any, keepdim: Any, correction: Any) -> Any:
    return _deviation_gradient(grad, out, input, dim, keepdim, correction)


def _deviation_gradient(grad: Any, out: Any, input: Any, dim: Any, keepdim: Any, correction: float) -> Any:
    halved = (grad / (out * 2)).masked_fill(out == 0, 0)
    return _variance_gradient(halved, input, dim, keepdim, correction)


@operator(samples=_variance_samples, errors=bad_floats, dtypes=FLOATING_TYPES, method=False, function=False)
def variance_and_mean(call: Any, input: Operand, dim: Dims = None, keepdim: bool = False, correction: float = 1) -> Any:
    """Compute `var_mean`: (variance, mean) in one pass.

    Raises: IndexRangeError if a dimension is out of range, ShapeError if one is repeated, DtypeError for integers.
    """
    return _run_spread(call, False, True, input, dim, keepdim, correction)


@operator(samples=_variance_samples, errors=bad_floats, dtypes=FLOATING_TYPES, method=False, function=False)
def deviation_and_mean(
    call: Any, input: Operand, dim: Dims = None, keepdim: bool = False, correction: float = 1
) -> Any:
    """Compute `std_mean`: (standard deviation, mean) in one pass.

    Raises: IndexRangeError if a dimension is out of range, ShapeError if one is repeated, DtypeError for integers.
    """
    return _run_spread(call, True, True, input, dim, keepdim, correction)


@variance_and_mean.derivative
def _(grads: Any, input: Any, dim: Any, keepdim: Any, correction: Any) -> Any:
    of_spread = None if grads[0] is None else _variance_gradient(grads[0], input, dim, keepdim, correction)
    return _with_mean(of_spread, grads[1], input.shape, dim, keepdim)


@deviation_and_mean.derivative
def _(grads: Any, out: Any, input: Any, dim: Any, keepdim: Any, correction: Any) -> Any:
    of_spread = None if grads[0] is None else _deviation_gradient(grads[0], out, input, dim, keepdim, correction)
    return _with_mean(of_spread, grads[1], input.shape, dim, keepdim)


def _with_mean(of_spread: Any, grad: Any, shape: Any, dim: Any, keepdim: Any) -> Any:
    """Add the gradient of a mean, if there is one."""
    if grad is None:
        return of_spread
    of_mean = _mean_gradient(grad, shape, dim, keepdim)
    return of_mean if of_spread is None else of_spread + of_mean


def _correction(name: str, dim: Any, unbiased: bool, keepdim: bool, correction: float | None) -> tuple[Any, float]:
    """Return (dim, correction) of a call; `var(False)` is `var(unbiased=False)`.  Raises ArgumentTypeError."""
    if isinstance(dim, bool):
        if keepdim or correction is not None:
            fact = f"dim must be an int, ints or None beside keepdim or correction, got {dim}"
            raise ArgumentTypeError(fact, hint=f"pass unbiased={dim} alone, or a dimension", operator=name)
        dim, unbiased = None, dim
    return dim, int(unbiased) if correction is None else correction


@composite(samples=_variance_samples, errors=bad_floats, dtypes=FLOATING_TYPES)
def var(input: Operand, dim: Any = None, unbiased: bool = True, keepdim: bool = False, correction: Any = None) -> Any:
    """Compute the variance over some dimensions, or all of them.

    It is the sum of the squared distances from the mean, divided by (count - correction).
    unbiased: True, the default, means correction=1; False means correction=0.
    Shapes: the input's without the reduced dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: DtypeError for integers, IndexRangeError if a dimension is out of range, ShapeError if one is repeated.
    Example:
        >>> x = torch.tensor([1.0, 2.0, 3.0, 4.0])
        >>> torch.var(x)
        tensor(1.6667)
        >>> torch.var(x, correction=0)
        tensor(1.2500)
    """
    dim, correction = _correction("var", dim, unbiased, keepdim, correction)
    return variance(input, dim, keepdim, correction)


@composite(samples=_variance_samples, errors=bad_floats, dtypes=FLOATING_TYPES)
def std(input: Operand, dim: Any = None, unbiased: bool = True, keepdim: bool = False, correction: Any = None) -> Any:
    """Compute the standard deviation over some dimensions, or all of them: the square root of `var`.

    unbiased, correction: as for `var`.  The gradient is 0 where the standard deviation is 0.

    unbiased, correction: see `var`.
    Shapes: the input's without the reduced dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: DtypeError for integers, IndexRangeError if a dimension is out of range, ShapeError if one is repeated.
    Example:
        >>> x = torch.tensor([[1.0, 3.0], [2.0, 8.0]])
        >>> torch.std(x, dim=1)
        tensor([1.4142, 4.2426])
        >>> torch.std(x, dim=1, unbiased=False)
        tensor([1., 3.])
    """
    dim, correction = _correction("std", dim, unbiased, keepdim, correction)
    return deviation(input, dim, keepdim, correction)


# pairs of results, and sums that leave elements out


def _pair_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)),))
    yield Sample((Array((2, 3, 4)), (0, -1), False, True))
    yield Sample((Array((4, 3), layout="transposed"), 1), {"correction": 0})


@composite(samples=_pair_samples, errors=bad_floats, dtypes=FLOATING_TYPES, method=False, takes_out=False)
def var_mean(
    input: Operand, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
) -> Any:
    """Return (variance, mean) over some dimensions, or all of them: the results of `var` and `mean`.

    unbiased, correction: see `var`.
    Shapes: those of `var`.
    Host:   returns at once.
    Raises: DtypeError for integers, IndexRangeError if a dimension is out of range, ShapeError if one is repeated.
    Example:
        >>> torch.var_mean(torch.tensor([1.0, 2.0, 3.0]))
        (tensor(1.), tensor(2.))
    """
    dim, correction = _correction("var_mean", dim, unbiased, keepdim, correction)
    return variance_and_mean(input, dim, keepdim, correction)


@composite(samples=_pair_samples, errors=bad_floats, dtypes=FLOATING_TYPES, method=False, takes_out=False)
def std_mean(
    input: Operand, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
) -> Any:
    """Return (standard deviation, mean) over some dimensions, or all of them: the results of `std` and `mean`.

    unbiased, correction: see `var`.
    Shapes: those of `std`.
    Host:   returns at once.
    Raises: DtypeError for integers, IndexRangeError if a dimension is out of range, ShapeError if one is repeated.
    Example:
        >>> torch.std_mean(torch.tensor([1.0, 2.0, 3.0]))
        (tensor(1.), tensor(2.))
    """
    dim, correction = _correction("std_mean", dim, unbiased, keepdim, correction)
    return deviation_and_mean(input, dim, keepdim, correction)


def _without_nan(rows: Any) -> Any:
    return np.where(np.isnan(rows), rows.dtype.type(0), rows)


def _whole_without_nan(rows: Any) -> Any:
    return np.trunc(_without_nan(rows))


NAN_SUM = SUM._replace(name="nansum", map="x != x ? A(0) : x", mapped=_without_nan)
WHOLE_NAN_SUM = SUM._replace(name="whole_nansum", map="x != x ? A(0) : trunc(x)", mapped=_whole_without_nan)


@operator(samples=reduction_samples, errors=bad_lists, dtypes=dtypes.ALL)
def nansum(call: Any, input: Operand, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Compute the sum over some dimensions, or all of them, with NaN counted as 0.

    dtype: the type of the result; None keeps floating types and gives int64 for the others.
    Shapes: the input's without the summed dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range, ShapeError if one is repeated.
    Example:
        >>> torch.nansum(torch.tensor([1.0, float("nan"), 3.0]))
        tensor(4.)
    """
    if not input.dtype.is_floating_point:
        return _total(call, SUM, ANY, input, dim, keepdim, dtype)
    if dtype is None or dtype.is_floating_point or dtype is bool_:
        return _total(call, NAN_SUM, ANY, input, dim, keepdim, dtype)
    return fold_dims(call, WHOLE_NAN_SUM, input, dim, keepdim, dtype, float64)  # an integer type has no NaN


@nansum.derivative
def _(grad: Any, input: Any, dim: Any, keepdim: Any) -> Any:
    return unreduce(grad, input.shape, dim, keepdim).masked_fill(REGISTRY["isnan"](input), 0)


@composite(samples=reduction_samples, errors=bad_floats, dtypes=FLOATING_TYPES)
def nanmean(input: Operand, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Compute the mean over some dimensions, or all of them, of the elements that are not NaN; NaN if there is none.

    dtype: the type of the result; None keeps the type of the input.
    Shapes: the input's without the reduced dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: DtypeError for integers, IndexRangeError if a dimension is out of range, ShapeError if one is repeated.
    Example:
        >>> torch.nanmean(torch.tensor([1.0, float("nan"), 3.0]))
        tensor(2.)
    """
    _floating("nanmean", input)
    _floating("nanmean", input, dtype)
    count = REGISTRY["logical_not"](REGISTRY["isnan"](input)).sum(dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / count


def _count_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4), low=-1, high=1),))
    yield Sample((Array((2, 3, 4), low=-1, high=1), (0, -1)))
    yield Sample((Array((4, 3), low=-1, high=1, layout="transposed"), 1))
    yield Sample((Array((0, 3)), 0))


@composite(samples=_count_samples, errors=bad_lists, dtypes=dtypes.ALL, differentiable=False, takes_out=False)
def count_nonzero(input: Operand, dim: Dims = None) -> Any:
    """Return the number of nonzero elements over some dimensions, or all of them; NaN counts as nonzero.

    Shapes: the input's without the counted dimensions; int64.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range, ShapeError if one is repeated.
    Example:
        >>> torch.count_nonzero(torch.tensor([[0, 1], [2, 3]]), dim=0)
        tensor([1, 2])
    """
    return sum_(input.to(bool_), dim)


# logarithms of sums of exponentials


@cache
def logsumexp_kernel(source: dtype, out: dtype, across: bool) -> Kernel:
    """Return the kernel of `logsumexp`; a second launch joins the results of pieces in the same way."""
    entry = f"logsumexp_{source.name}_{out.name}{'_across' if across else ''}"
    op = f"LogSumExp<{source.wide.cuda}, {source.cuda}, {out.cuda}>{{out, input, layout}}"

    def reference(result: Any, input: Any, outputs: int, count: int, parts: int, chunk: int, *_: int) -> None:
        rows = host_rows(input, outputs, count, source.wide)
        for region, pieces in cached_pieces(rows, chunk):
            top = pieces.max(axis=2, keepdims=True, initial=-inf)
            top = np.where(np.isfinite(top), top, 0).astype(pieces.dtype)
            result[region] = (np.log(np.exp(pieces - top).sum(axis=2)) + top[..., 0]).T

    params = [
        Pointer("out", out, "w", ("parts", "outputs")),
        Pointer("input", source, "r", "layout"),
        Strided("layout", ("input",)),
        *WORK_PARAMETERS,
    ]
    source_code = reduction_source(entry, f"{out.cuda}* out, const {source.cuda}* input", op, across)
    return Kernel(entry, REDUCE_SOURCE + source_code, params, reference, 8.0)


def _exponent_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), 0))
    yield Sample((Array((2, 3, 4)), (0, -1), True))
    yield Sample((Array((4, 3), layout="transposed"), -1))
    yield Sample((Array((2, 6), layout="strided"), 1))
    yield Sample((Array((3, 0)), 0))
    yield Sample((Array(()), 0))
    yield Sample((Array((2, 300)), 1))


def _exponent_errors() -> Iterator[ErrorSample]:
    yield from bad_lists()


@operator(samples=_exponent_samples, errors=_exponent_errors, dtypes=FLOATING_TYPES, method=False, function=False)
def log_sum_exp(call: Any, input: Operand, dim: Dims, keepdim: bool = False) -> Any:
    """Compute `logsumexp` for floating types.

    Raises: IndexRangeError if a dimension is out of range, ShapeError if one is repeated.
    """
    dims = dims_of(call.name, dim, len(input.shape))
    out = call.output(reduced_shape(input.shape, dims, keepdim), input.dtype)
    if not out.numel():
        return out
    plan = checked_plan(call, input, dims)
    work, wide = plan.work, input.dtype.wide
    pieces = out if work.parts == 1 else call.scratch((work.parts, plan.outputs), wide)
    kernel = logsumexp_kernel(input.dtype, pieces.dtype, work.across)
    call.launch(kernel, work.grid(plan.outputs), pieces, input, plan.layout, *plan.numbers())
    if work.parts > 1:
        last = join_plan(pieces)
        kernel = logsumexp_kernel(wide, out.dtype, last.work.across)
        call.launch(kernel, last.work.grid(last.outputs), out, pieces, last.layout, *last.numbers())
    return out


log_sum_exp.node_name = "LogsumexpBackward0"


@log_sum_exp.derivative
def _(grad: Any, out: Any, input: Any, dim: Any, keepdim: Any) -> Any:
    total = restore_dims(out, input.shape, dim, keepdim)
    share = (input - total.masked_fill(total == -inf, 0)).exp()
    return restore_dims(grad, input.shape, dim, keepdim) * share


@composite(samples=_exponent_samples, errors=_exponent_errors, dtypes=dtypes.ALL)
def logsumexp(input: Operand, dim: Dims, keepdim: bool = False) -> Any:
    """Compute the logarithm of the sum of exponentials over some dimensions, without overflow.

    Integers and bool give the default floating point type.
    Shapes: the input's without the reduced dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range, ShapeError if one is repeated.
    Example:
        >>> torch.logsumexp(torch.tensor([[1000.0, 1000.0], [0.0, 0.0]]), dim=1)
        tensor([1.0007e+03, 6.9315e-01])
    """
    return log_sum_exp(input if input.dtype.is_floating_point else input.to(dtypes.default.floating), dim, keepdim)


# all and any


def _truth(call: Any, fold: Fold, input: Any, dim: Dims, keepdim: bool) -> Any:
    dtype = uint8 if input.dtype is uint8 else bool_
    if dim is None or isinstance(dim, int) or dim:
        return fold_dims(call, fold, input, dim, keepdim, dtype, bool_)
    out = call.output(input.shape, dtype)  # unlike for sums, () means no dimension
    run_fold(call, fold, input, (), out, bool_)
    return out


@operator(samples=reduction_samples, errors=bad_lists, dtypes=dtypes.ALL, name="all")
def all_(call: Any, input: Operand, dim: Dims = None, keepdim: bool = False) -> Any:
    """Return whether all elements are nonzero; True if there are no elements.

    NaN counts as nonzero.
    dim: None reduces all dimensions, () none.
    Shapes: the input's without the reduced dimensions, or with size 1 there if keepdim.  The result is bool, or uint8
            for uint8.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range, ShapeError if one is repeated.
    Example:
        >>> x = torch.tensor([[True, True], [True, False]])
        >>> torch.all(x)
        tensor(False)
        >>> torch.all(x, dim=1)
        tensor([ True, False])
    """
    return _truth(call, ALL, input, dim, keepdim)


@operator(samples=reduction_samples, errors=bad_lists, dtypes=dtypes.ALL, name="any")
def any_(call: Any, input: Operand, dim: Dims = None, keepdim: bool = False) -> Any:
    """Return whether any element is nonzero; False if there are no elements.

    NaN counts as nonzero.
    dim: None reduces all dimensions, () none.
    Shapes: the input's without the reduced dimensions, or with size 1 there if keepdim.  The result is bool, or uint8
            for uint8.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range, ShapeError if one is repeated.
    Example:
        >>> x = torch.tensor([[False, False], [True, False]])
        >>> torch.any(x)
        tensor(True)
        >>> torch.any(x, dim=1)
        tensor([False,  True])
    """
    return _truth(call, ANY, input, dim, keepdim)


# norms


@cache
def norm_fold(p: float) -> Fold:
    """Compute the sum of |x|^p, then its p-th root."""
    if p == 2:
        return SUM._replace(name="norm2", map="x * x", finish="sqrt(a)", mapped=_squares, finished=_square_root)
    name = f"norm{p:g}".replace(".", "_").replace("-", "minus").replace("+", "")

    def mapped(rows: Any) -> Any:
        return np.abs(rows) ** rows.dtype.type(p)

    def finished(total: Any, scale: Any) -> Any:
        return total ** total.dtype.type(1 / p)

    return SUM._replace(
        name=name, map=f"pow(fabs(x), (A){p!r})", finish=f"pow(a, (A){1 / p!r})", mapped=mapped, finished=finished
    )


def _squares(rows: Any) -> Any:
    return np.square(rows)


def _square_root(total: Any, scale: Any) -> Any:
    return np.sqrt(total)


def _require_floats(input: Any) -> None:
    if not input.dtype.is_floating_point:
        raise DtypeError(
            f"input must be floating point, got {input.dtype.name}", hint="convert with .float()", operator="norm"
        )


@operator(samples=reduction_samples, errors=bad_floats, dtypes=FLOATING_TYPES, method=False, function=False)
def vector_norm(call: Any, input: Operand, dim: Dims = None, keepdim: bool = False, p: float = 2.0) -> Any:
    """Compute `norm` for a finite p other than 0.

    Raises: IndexRangeError if a dimension is out of range, ShapeError if one is repeated, DtypeError for integers.
    """
    _require_floats(input)
    dims = dims_of(call.name, dim, len(input.shape))
    out = call.output(reduced_shape(input.shape, dims, keepdim), input.dtype)
    run_fold(call, norm_fold(float(p)), input, dims, out, input.dtype.wide)
    return out


@vector_norm.derivative
def _(grad: Any, out: Any, input: Any, dim: Any, keepdim: Any, p: Any) -> Any:
    scaled = (grad / (out if p == 2 else out ** (p - 1))).masked_fill(out == 0, 0)
    scaled = restore_dims(scaled, input.shape, dim, keepdim)
    if p == 2:
        return input * scaled
    return (input.sign() * input.abs() ** (p - 1)).masked_fill(input == 0, 0) * scaled


def _norm_samples() -> Iterator[Sample]:
    for p in (2, 1, 3, 0.5, 0, inf, -inf):
        yield Sample((Array((3, 4), grad=p != 0), p))
    yield Sample((Array((2, 3, 4)),), {"dim": (0, 2), "keepdim": True})
    yield Sample((Array((4, 3), layout="transposed"), 1.5, 0))
    yield Sample((Array((2, 0)), "fro", 1))


def _norm_errors() -> Iterator[ErrorSample]:
    for sample in bad_floats():
        yield ErrorSample(sample.args[:1], sample.error, sample.match, {"dim": (*sample.args, None)[1]})
    for p in (-1, inf):
        yield ErrorSample((Array((2, 0)), p, 1), ShapeError, rf"{p} norm on an empty dimension 1 of shape \[2, 0\]")


@composite(samples=_norm_samples, errors=_norm_errors, dtypes=FLOATING_TYPES)
def norm(input: Operand, p: Any = 2, dim: Dims = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """Compute the p-norm over some dimensions, or all of them.

    p: a number, inf or -inf; 0 counts the nonzero elements; None and "fro" mean 2; "nuc" is the sum of a matrix's
    singular values.  dtype: the type to which the input is converted first; None keeps its type.
    The gradient is 0 where the norm is 0.
    Shapes: the input's without the reduced dimensions, or with size 1 there if keepdim.
    Host:   returns at once; for "nuc" waits, if the operand is on a GPU.
    Raises: DtypeError for integers, IndexRangeError if a dimension is out of range, ShapeError if one is repeated,
            ModeError for another str as p.
    Example:
        >>> torch.norm(torch.tensor([3.0, 4.0]))
        tensor(5.)
        >>> torch.tensor([[3.0, -4.0], [0.0, 2.0]]).norm(1, dim=1)
        tensor([7., 2.])
    """
    values: Any = input if dtype is None else input.to(dtype)
    if p == "nuc":
        return REGISTRY["nuclear_norm"](values, range(len(values.shape)) if dim is None else dim, keepdim)
    if isinstance(p, str) and p != "fro":
        raise ModeError(f"p must be a number, 'fro' or 'nuc', got {p!r}", hint="as in p=1", operator="norm")
    p = 2.0 if p is None or p == "fro" else float(p)
    _require_floats(values)
    dims = dims_of("norm", dim, len(values.shape))
    empty = [at for at in dims if not values.shape[at]]
    if empty and (p < 0 or p == inf):
        raise ShapeError(
            f"cannot compute the {p:g} norm on an empty dimension {empty[0]} of shape {list(values.shape)}, because "
            "the operation does not have an identity",
            hint="pass p of 0 or more, except inf: such norms of an empty dimension are 0",
            operator="norm",
        )
    if p != 0 and all(values.shape[at] == 1 for at in dims):  # its powers could overflow
        sizes = values.contiguous().abs()
        return sizes if keepdim else sizes.squeeze(tuple(dims))
    if abs(p) != inf and p != 0:
        return vector_norm(values, dim, keepdim, p)
    if p == 0:
        return (values != 0).sum(dims, keepdim).to(values.dtype)
    return values.abs().amax(dims, keepdim) if p > 0 else values.abs().amin(dims, keepdim)


def _dist_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), seed=1)))
    yield Sample((Array((3, 1)), Array((4,), seed=1), 1))
    yield Sample((Array((4, 3), layout="transposed"), Array((4, 3), seed=1), 3))
    yield Sample((Array((3,), grad=False), Array((3,), seed=1, grad=False), inf))


def _dist_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), Array((2,))), ShapeError, r"shapes \[3\] and \[2\] do not broadcast")


@composite(samples=_dist_samples, errors=_dist_errors, dtypes=FLOATING_TYPES, takes_out=False)
def dist(input: Operand, other: Operand, p: float = 2) -> Any:
    """Return the p-norm of all elements of `input - other`; p is 2 by default.

    Shapes: the inputs broadcast together; the result has shape ().
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError for integers.
    Example:
        >>> torch.dist(torch.tensor([1.0, 5.0]), torch.tensor([4.0, 1.0]))
        tensor(5.)
    """
    return norm(input - other, p)


RENORM_EPS = 1e-7  # as in PyTorch


def _scaled_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 1), low=0.5, high=3.0, seed=1), 1.2))
    yield Sample((Array((2, 3), layout="strided"), Array((3,), low=0.5, high=3.0, seed=1), 1.2))


@pointwise(
    dtype=floating_only, samples=_scaled_samples, dtypes=FLOATING_TYPES, cost=4.0,
    cuda=f"norms > maxnorm ? input * (maxnorm / (norms + (decltype(norms)){RENORM_EPS})) : input",
    inplace=False, method=False, function=False,
)  # fmt: skip
def scaled_down(input: Value, norms: Value, maxnorm: float) -> Any:
    """Return `input` where its norm is at most `maxnorm`, else scaled to it."""
    length: Any = norms
    factor = maxnorm / (length + numpy_type(norms).type(RENORM_EPS))
    return np.where(length > maxnorm, input * factor, input)


@scaled_down.derivative
def _(grad: Any, input: Any, norms: Any, maxnorm: float, needs: Any) -> Any:
    is_long = norms > maxnorm
    factor = maxnorm / (norms + RENORM_EPS)
    of_norms = None
    if needs[1]:
        of_norms = (-grad * input * factor / (norms + RENORM_EPS)).masked_fill(is_long.logical_not(), 0)
    return grad * REGISTRY["where"](is_long, factor, 1.0), of_norms


def _renorm_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), 2, 0, 1.5))
    yield Sample((Array((2, 3, 4)), 1, -1, 2.0))
    yield Sample((Array((4, 3), layout="transposed"), 3, 1, 0.5))


def _renorm_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), 2, 2, 1.0), IndexRangeError, r"expected to be in range of \[-2, 1\], but got 2")
    yield ErrorSample((Array((2, 3)), -1, 0, 1.0), ValueRangeError, "p must be greater than 0, got -1")
    yield ErrorSample((Array((2, 3)), 2, 0, -1.0), ValueRangeError, "maxnorm must be at least 0, got -1.0")
    yield ErrorSample((Array((3,)), 2, 0, 1.0), ShapeError, r"at least 2 dimensions, got shape \[3\]")


@composite(samples=_renorm_samples, errors=_renorm_errors, dtypes=FLOATING_TYPES, inplace=True)
def renorm(input: Operand, p: Any, dim: int, maxnorm: float) -> Any:
    """Return the input with each slice along `dim` scaled down, if necessary, so that its p-norm is at most maxnorm.

    Shapes: at least two dimensions; the result has the input's shape.
    Host:   returns at once.
    Raises: ValueRangeError unless p is above 0 and maxnorm at least 0, IndexRangeError if `dim` is out of range,
            ShapeError for fewer than two dimensions, DtypeError for integers.
    Example:
        >>> torch.renorm(torch.tensor([[3.0, 4.0], [0.6, 0.8]]), 2, 0, 2.5)
        tensor([[1.5000, 2.0000],
                [0.6000, 0.8000]])
    """
    if not p > 0 or not maxnorm >= 0:
        wrong, bound = (f"p must be greater than 0, got {p}", "above 0") if not p > 0 else ("", "of 0 or more")
        raise ValueRangeError(
            wrong or f"maxnorm must be at least 0, got {maxnorm}", hint=f"pass a number {bound}", operator="renorm"
        )
    if len(input.shape) < 2:
        raise ShapeError(
            f"input must have at least 2 dimensions, got shape {list(input.shape)}",
            hint="unsqueeze(1) turns a vector into a column",
            operator="renorm",
        )
    at = st.wrap_dim(dim, len(input.shape), "renorm")
    norms = norm(input, p, [other for other in range(len(input.shape)) if other != at], True)
    return scaled_down(input, norms, float(maxnorm))


# largest and smallest values

LARGEST = Fold("amax", "lowest<A>()", "a > b || a != a ? a : b", "maximum")
SMALLEST = Fold("amin", "highest<A>()", "a < b || a != a ? a : b", "minimum")


def _run_extreme(call: Any, fold: Fold, input: Any, dim: Dims, keepdim: bool) -> Any:
    require_values(call.name, input.shape, None if dim == () else dim)
    return fold_dims(call, fold, input, dim, keepdim, input.dtype, input.dtype.wide)


def _share_gradient(grad: Any, out: Any, input: Any, dim: Any, keepdim: Any) -> Any:
    """Return the gradient, in equal shares for all elements that equal the result."""
    hits = input == restore_dims(out, input.shape, dim, keepdim)
    return hits * (restore_dims(grad, input.shape, dim, keepdim) / hits.sum(dim, True))


def _extremes() -> Iterator[Sample]:
    yield from (sample for sample in reduction_samples() if 0 not in sample.args[0].shape)
    yield Sample((Array((0, 3)), 1))


def _extreme_errors() -> Iterator[ErrorSample]:
    yield from nothing_to_choose()
    yield from bad_lists()


@operator(samples=_extremes, errors=_extreme_errors, dtypes=dtypes.ALL)
def amax(call: Any, input: Operand, dim: Dims = (), keepdim: bool = False) -> Any:
    """Return the largest value over some dimensions, or all of them; NaN if any element is NaN.

    dim: an int or several; () reduces all dimensions.  If several elements are the largest, they share the gradient
    equally.
    Shapes: the input's without the reduced dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: IndexRangeError for a dimension of size 0 or out of range, ShapeError if one is repeated.
    Example:
        >>> torch.amax(torch.tensor([[1, 9], [7, 3]]), dim=(0, 1))
        tensor(9)
        >>> torch.amax(torch.tensor([[1, 9], [7, 3]]), dim=0)
        tensor([7, 9])
    """
    return _run_extreme(call, LARGEST, input, dim, keepdim)


@amax.derivative
def _(grad: Any, out: Any, input: Any, dim: Any, keepdim: Any) -> Any:
    return _share_gradient(grad, out, input, dim, keepdim)


@operator(samples=_extremes, errors=_extreme_errors, dtypes=dtypes.ALL)
def amin(call: Any, input: Operand, dim: Dims = (), keepdim: bool = False) -> Any:
    """Return the smallest value over some dimensions, or all of them; NaN if any element is NaN.

    dim: an int or several; () reduces all dimensions.  If several elements are the smallest, they share the gradient
    equally.
    Shapes: the input's without the reduced dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: IndexRangeError for a dimension of size 0 or out of range, ShapeError if one is repeated.
    Example:
        >>> torch.amin(torch.tensor([[1, 9], [7, 3]]), dim=(0, 1))
        tensor(1)
        >>> torch.amin(torch.tensor([[1, 9], [7, 3]]), dim=0)
        tensor([1, 3])
    """
    return _run_extreme(call, SMALLEST, input, dim, keepdim)


@amin.derivative
def _(grad: Any, out: Any, input: Any, dim: Any, keepdim: Any) -> Any:
    return _share_gradient(grad, out, input, dim, keepdim)


@cache
def extremes_kernel(source: dtype, across: bool) -> Kernel:
    """Return the kernel of the smallest and the largest value, or of those of each piece."""
    entry, t = f"extremes_{source.name}{'_across' if across else ''}", source.cuda
    op = f"Extremes<{source.wide.cuda}, {t}>{{low, high, input, layout}}"

    def reference(low: Any, high: Any, input: Any, outputs: int, count: int, parts: int, chunk: int, *_: int) -> None:
        rows = host_rows(input, outputs, count, source.wide)
        for first, pieces in host_pieces(rows, chunk, parts):
            region = slice(first, first + pieces.shape[1])
            low[region], high[region] = pieces.min(axis=2).T, pieces.max(axis=2).T

    params = [
        *[Pointer(name, source, "w", ("parts", "outputs")) for name in ("low", "high")],
        Pointer("input", source, "r", "layout"),
        Strided("layout", ("input",)),
        *WORK_PARAMETERS,
    ]
    code = reduction_source(entry, f"{t}* low, {t}* high, const {t}* input", op, across)
    return Kernel(entry, REDUCE_SOURCE + code, params, reference, 2.0)


@operator(samples=_extremes, errors=_extreme_errors, dtypes=dtypes.ALL, method=False, function=False)
def extremes(call: Any, input: Operand, dim: Dims = (), keepdim: bool = False) -> Any:
    """Compute `aminmax`: (smallest, largest) in one pass.

    Raises: IndexRangeError if a dimension is out of range or has size 0, ShapeError if one is repeated.
    """
    require_values(call.name, input.shape, None if dim == () else dim)
    dims = dims_of(call.name, dim, len(input.shape))
    shape = reduced_shape(input.shape, dims, keepdim)
    ends = call.output(shape, input.dtype), call.output(shape, input.dtype)
    if ends[0].numel():
        plan = checked_plan(call, input, dims)
        pair, parts = (plan.work.parts, plan.outputs), ends
        if plan.work.parts > 1:
            parts = call.scratch(pair, input.dtype), call.scratch(pair, input.dtype)
        kernel = extremes_kernel(input.dtype, plan.work.across)
        call.launch(kernel, plan.work.grid(plan.outputs), *parts, input, plan.layout, *plan.numbers())
        if plan.work.parts > 1:
            for fold, part, end in zip((SMALLEST, LARGEST), parts, ends):
                run_fold(call, fold, part, (0,), end, input.dtype.wide)
    return results.aminmax(*ends)


@extremes.derivative
def _(grads: Any, out: Any, out1: Any, input: Any, dim: Any, keepdim: Any) -> Any:
    shares = [
        _share_gradient(grad, end, input, dim, keepdim) for grad, end in zip(grads, (out, out1)) if grad is not None
    ]
    return shares[0] if len(shares) == 1 else shares[0] + shares[1]


extremes.node_name = "AminmaxBackward0"


def _both_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)),))
    yield Sample((Array((3, 4)),), {"dim": 0})
    yield Sample((Array((4, 3), layout="transposed"),), {"dim": -1, "keepdim": True})
    yield Sample((Array(()),))


def _both_errors() -> Iterator[ErrorSample]:
    for sample in nothing_to_choose():
        yield ErrorSample(sample.args[:1], sample.error, sample.match, {"dim": (*sample.args, None)[1]})


@composite(samples=_both_samples, errors=_both_errors, dtypes=dtypes.ALL)
def aminmax(input: Operand, *, dim: Any = None, keepdim: bool = False) -> Any:
    """Return (min, max) of all elements or along a dimension; both are NaN if any element is NaN.

    Shapes: the input's without `dim`, or with size 1 there if keepdim; () without dim.
    Host:   returns at once.
    Raises: IndexRangeError for a dimension of size 0 or out of range.
    Example:
        >>> low, high = torch.aminmax(torch.tensor([3, 1, 2]))
        >>> low, high
        (tensor(1), tensor(3))
    """
    require_values("aminmax", input.shape, dim)
    return extremes(input, () if dim is None else dim, keepdim)


def _run_choice(
    call: Any, largest: bool, input: Any, dim: int | None, keepdim: bool, with_values: bool
) -> tuple[Any, Any]:
    require_values(call.name, input.shape, dim)
    dims = dims_of(call.name, dim, len(input.shape))
    shape = reduced_shape(input.shape, dims, keepdim)
    indexes = call.output(shape, int64)
    values = call.output(shape, input.dtype) if with_values else None
    run_select(call, largest, input, dims, values, indexes)
    return values, indexes


def _scatter_gradient(grad: Any, indices: Any, shape: Any, dim: int, keepdim: bool) -> Any:
    """Return the gradient of the input: zeros, with the gradients of the chosen values at their indices."""
    grad, indices = restore_dims(grad, shape, dim, keepdim), restore_dims(indices, shape, dim, keepdim)
    return grad.new_zeros(shape).scatter(dim, indices, grad)


def _choices_of_one() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), 0))
    yield Sample((Array((4, 3), layout="transposed"), -1, True))
    yield Sample((Array((0, 3)), 1))
    yield Sample((Array(()), 0))


def _choice_errors() -> Iterator[ErrorSample]:
    yield from bad_dims()
    yield ErrorSample((Array((0, 3)), 0), IndexRangeError, "expected reduction dim 0 to have non-zero size")


@operator(samples=_choices_of_one, errors=_choice_errors, dtypes=dtypes.ALL, method=False, function=False)
def max_dim(call: Any, input: Operand, dim: int, keepdim: bool = False) -> Any:
    """Compute `max` with a dimension: (values, indices) of the largest elements.

    Raises: IndexRangeError if the dimension is out of range or has size 0.
    """
    return results.max_(*_run_choice(call, True, input, dim, keepdim, True))


@max_dim.derivative
def _(grads: Any, out1: Any, input_shape: Any, dim: Any, keepdim: Any) -> Any:
    return _scatter_gradient(grads[0], out1, input_shape, dim, keepdim)


@operator(samples=_choices_of_one, errors=_choice_errors, dtypes=dtypes.ALL, method=False, function=False)
def min_dim(call: Any, input: Operand, dim: int, keepdim: bool = False) -> Any:
    """Compute `min` with a dimension: (values, indices) of the smallest elements.

    Raises: IndexRangeError if the dimension is out of range or has size 0.
    """
    return results.min_(*_run_choice(call, False, input, dim, keepdim, True))


@min_dim.derivative
def _(grads: Any, out1: Any, input_shape: Any, dim: Any, keepdim: Any) -> Any:
    return _scatter_gradient(grads[0], out1, input_shape, dim, keepdim)


def _require_dim(name: str, keepdim: bool) -> None:
    """Raise ArgumentTypeError for `keepdim` in a call without `dim`, whose result has no dimensions to keep."""
    if keepdim:
        raise ArgumentTypeError("keepdim=True needs dim", hint="pass a dimension, or leave keepdim out", operator=name)


def _dim_of(name: str, other: Any, dim: Any) -> Any:
    """Return the dimension of a call, which is passed as `dim` or first.  Raises ArgumentTypeError for both."""
    if other is None:
        return index(dim) if hasattr(dim, "is_contiguous") else dim
    if dim is not None:
        fact = f"takes a second tensor or a dimension, not both: other={shown(other)}, dim={shown(dim)}"
        raise ArgumentTypeError(fact, hint=f"call {name} with one of them", operator=name)
    return other


def _one_or_all() -> Iterator[Sample]:
    yield from _choices_of_one()
    yield Sample((Array((3, 4)),))
    yield Sample((Array(()),))


@composite(samples=_one_or_all, errors=nothing_to_choose, dtypes=dtypes.ALL, name="max")
def max_(input: Operand, other: Any = None, keepdim: bool = False, *, dim: Any = None) -> Any:
    """Return the largest element of a tensor or, with `dim`, (values, indices) of the largest along a dimension.

    With a second tensor in place of `dim`, return `maximum` of both, elementwise.
    NaN counts as larger than any number.  Of equal values the first is chosen.
    Shapes: without dim (); with it the input's without that dimension, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: IndexRangeError for a dimension of size 0 or out of range.
    Example:
        >>> x = torch.tensor([[1, 9], [7, 3]])
        >>> torch.max(x)
        tensor(9)
        >>> values, indices = torch.max(x, dim=1)
        >>> values, indices
        (tensor([9, 7]), tensor([1, 0]))
    """
    if hasattr(other, "is_contiguous") and dim is None:
        _require_dim("max", keepdim)
        return REGISTRY["maximum"](input, other)
    dim = _dim_of("max", other, dim)
    if dim is not None:
        return max_dim(input, dim, keepdim)
    _require_dim("max", keepdim)
    require_values("max", input.shape, None)
    return amax(input)


@composite(samples=_one_or_all, errors=nothing_to_choose, dtypes=dtypes.ALL, name="min")
def min_(input: Operand, other: Any = None, keepdim: bool = False, *, dim: Any = None) -> Any:
    """Return the smallest element of a tensor or, with `dim`, (values, indices) of the smallest along a dimension.

    With a second tensor in place of `dim`, return `minimum` of both, elementwise.
    NaN counts as smaller than any number.  Of equal values the first is chosen.
    Shapes: without dim (); with it the input's without that dimension, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: IndexRangeError for a dimension of size 0 or out of range.
    Example:
        >>> x = torch.tensor([[1, 9], [7, 3]])
        >>> torch.min(x)
        tensor(1)
        >>> values, indices = torch.min(x, dim=1)
        >>> values, indices
        (tensor([1, 3]), tensor([0, 1]))
    """
    if hasattr(other, "is_contiguous") and dim is None:
        _require_dim("min", keepdim)
        return REGISTRY["minimum"](input, other)
    dim = _dim_of("min", other, dim)
    if dim is not None:
        return min_dim(input, dim, keepdim)
    _require_dim("min", keepdim)
    require_values("min", input.shape, None)
    return amin(input)


@operator(samples=_one_or_all, errors=nothing_to_choose, dtypes=dtypes.ALL, differentiable=False)
def argmax(call: Any, input: Operand, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the index of the largest value along a dimension, or in the flattened input.

    NaN counts as larger than any number.  Of equal values the first is chosen.

    Shapes: without dim (); with it the input's without that dimension, or with size 1 there if keepdim.  The result is
            int64.
    Host:   returns at once.
    Raises: IndexRangeError for a dimension of size 0 or out of range.
    Example:
        >>> x = torch.tensor([[1, 9, 2], [7, 3, 5]])
        >>> torch.argmax(x)
        tensor(1)
        >>> torch.argmax(x, dim=1)
        tensor([1, 0])
    """
    return _run_choice(call, True, input, dim, keepdim, False)[1]


@operator(samples=_one_or_all, errors=nothing_to_choose, dtypes=dtypes.ALL, differentiable=False)
def argmin(call: Any, input: Operand, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the index of the smallest value along a dimension, or in the flattened input.

    NaN counts as smaller than any number.  Of equal values the first is chosen.

    Shapes: without dim (); with it the input's without that dimension, or with size 1 there if keepdim.  The result is
            int64.
    Host:   returns at once.
    Raises: IndexRangeError for a dimension of size 0 or out of range.
    Example:
        >>> x = torch.tensor([[1, 9, 2], [7, 3, 5]])
        >>> torch.argmin(x)
        tensor(0)
        >>> torch.argmin(x, dim=1)
        tensor([0, 1])
    """
    return _run_choice(call, False, input, dim, keepdim, False)[1]


# medians


def _numeric(name: str, input: Any) -> None:
    if input.dtype is dtypes.bool_:
        raise DtypeError("bool tensors are not supported", hint="convert with .int()", operator=name)


def _picked(input: Any, indices: Any, dim: int, keepdim: bool) -> tuple[Any, Any]:
    """Return (values, indices) of one element per row; `indices` has size 1 along `dim`."""
    values = REGISTRY["gather"](input, dim, indices)
    return (values, indices) if keepdim else (squeeze(values, dim), squeeze(indices, dim))


def _nan_last(input: Any, ordered: Any, at: int, chosen: Any) -> Any:
    """Return the chosen indices; in rows with NaN, that of the first NaN."""
    if not input.dtype.is_floating_point:
        return chosen.clone()  # not a view of all indices
    has_nan = REGISTRY["isnan"](ordered.values.narrow(at, -1, 1))
    return REGISTRY["where"](has_nan, input.detach().argmax(at, True), chosen)


def _places_on_host(input: Any, at: int, k: int, skip_nan: bool) -> Any:
    """Return the places of the k-th least elements along a dimension, or of the medians for k = -1, of size 1 there."""
    return kth_places(input.detach().movedim(at, -1), k, skip_nan).movedim(-1, at)


def _is_on_host(input: Any) -> bool:
    return bool(input.device_index < 0)


def _is_sorted_by_a_block(input: Any, dim: int) -> bool:
    """Return whether `row_choice` supports the input: short rows on a GPU."""
    return not _is_on_host(input) and input.shape[dim] <= TILE


def _kth_places(input: Any, at: int, k: int) -> Any:
    if input.device_index < 0:
        return _places_on_host(input, at, k - 1, False)
    return sort(input.detach(), at).indices.narrow(at, k - 1, 1).clone()


def _row_medians(name: str, input: Any, dim: int, keepdim: bool, skip_nan: bool) -> Any:
    """Return (values, indices) of the lower medians along a dimension."""
    _numeric(name, input)
    require_values(name, input.shape, dim)
    if not input.shape:
        return _picked(reshape(input, (1,)), input.new_zeros((1,), dtype=int64), 0, False)
    at = st.wrap_dim(dim, len(input.shape), name)
    if input.device_index < 0:
        return _picked(input, _places_on_host(input, at, -1, skip_nan), at, keepdim)
    if _is_sorted_by_a_block(input, at):
        return row_choice(input, at, keepdim, name)
    ordered = sort(input.detach(), at)
    size = input.shape[at]
    middle = ordered.indices.narrow(at, (size - 1) // 2, 1)
    if not skip_nan:
        return _picked(input, _nan_last(input, ordered, at, middle), at, keepdim)
    if input.dtype.is_floating_point:
        count = REGISTRY["logical_not"](REGISTRY["isnan"](ordered.values)).sum(at, True)
        middle = REGISTRY["gather"](ordered.indices, at, ((count - 1).clamp(min=0) // 2))
    return _picked(input, middle, at, keepdim)


def _median(name: str, make: Any, input: Any, dim: Any, keepdim: bool, skip_nan: bool) -> Any:
    if dim is not None:
        medians = _row_medians(name, input, dim, keepdim, skip_nan)
        return medians if type(medians) is make else make(*medians)
    _require_dim(name, keepdim)
    if prod(input.shape):
        return _row_medians(name, reshape(input, (-1,)), 0, False, skip_nan)[0]
    _numeric(name, input)
    empty = input.new_full((), float("nan") if input.dtype.is_floating_point else _lowest(input.dtype))
    return as_if_read(empty, input)


def _lowest(dtype: dtype) -> int:
    """Return the median of an empty integer tensor: NaN, converted as PyTorch converts it."""
    return 0 if dtype.itemsize == 1 else -(2 ** (8 * dtype.itemsize - 1))


def _rows_or_all() -> Iterator[Sample]:
    yield Sample((Array((3, 4)),))
    yield Sample((Array((3, 5)), 0))
    yield Sample((Array((4, 3), layout="transposed"), -1, True))
    yield Sample((Array(()), 0))


def _row_errors() -> Iterator[ErrorSample]:
    yield from bad_dims()
    yield ErrorSample((Array((0, 3)), 0), IndexRangeError, "expected reduction dim 0 to have non-zero size")
    yield ErrorSample((Array((3,), dtype="bool"),), DtypeError, "bool tensors are not supported")


@composite(samples=_rows_or_all, errors=_row_errors, dtypes=NUMERIC_TYPES)
def median(input: Operand, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the median, or the lower of the two middle elements; NaN if any element is NaN.

    With dim, return (values, indices) along that dimension.
    Shapes: without dim (); with it the input's without that dimension, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: IndexRangeError for a dimension of size 0 or out of range; DtypeError for bool.
    Example:
        >>> x = torch.tensor([[1, 9, 2], [7, 3, 5]])
        >>> torch.median(x)
        tensor(3)
        >>> torch.median(x, dim=1).values
        tensor([2, 5])
    """
    return _median("median", results.median, input, dim, keepdim, False)


@composite(samples=_rows_or_all, errors=_row_errors, dtypes=NUMERIC_TYPES)
def nanmedian(input: Operand, dim: int | None = None, keepdim: bool = False) -> Any:
    """Compute `median` of the elements that are not NaN; the result is NaN if all are NaN.

    Shapes: without dim (); with it (values, indices) of the input's shape without that dimension, or with size 1 there
            if keepdim.
    Host:   returns at once.
    Raises: IndexRangeError for a dimension of size 0 or out of range; DtypeError for bool.
    Example:
        >>> torch.nanmedian(torch.tensor([3.0, float("nan"), 1.0]))
        tensor(1.)
    """
    return _median("nanmedian", results.nanmedian, input, dim, keepdim, True)


# the k-th and the most frequent value


def _kth_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 5)), 2))
    yield Sample((Array((3, 5)), 3, 0, True))
    yield Sample((Array((4, 3), layout="transposed"), 1, -1))
    yield Sample((Array(()), 1))


def _kth_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), 1, 2), IndexRangeError, r"expected to be in range of \[-2, 1\], but got 2")
    yield ErrorSample((Array((2, 3)), 4), IndexRangeError, r"k 4 .* dimension 1 with size 3")


@composite(samples=_kth_samples, errors=_kth_errors, dtypes=NUMERIC_TYPES)
def kthvalue(input: Operand, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """Return (values, indices) of the k-th smallest element along a dimension; k counts from 1.

    NaN counts as larger than any number.

    k: counts from 1.  NaN counts as the greatest element.
    Shapes: the input's without that dimension, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: IndexRangeError if the dimension or k is out of range; DtypeError for bool.
    Example:
        >>> torch.kthvalue(torch.tensor([[1, 9, 2], [7, 3, 5]]), 2).values
        tensor([2, 5])
    """
    _numeric("kthvalue", input)
    at = st.wrap_dim(dim, len(input.shape), "kthvalue")
    size = input.shape[at] if input.shape else 1
    if not 1 <= k <= size:
        raise IndexRangeError(
            f"k {k} is out of range for dimension {at} with size {size}", hint=f"use 1 to {size}", operator="kthvalue"
        )
    if not input.shape:
        return results.kthvalue(*_row_medians("kthvalue", input, 0, False, False))
    if _is_sorted_by_a_block(input, at):
        return row_choice(input, at, keepdim, "kthvalue", k - 1)
    chosen = _kth_places(input, at, k)
    return results.kthvalue(*_picked(input, chosen, at, keepdim))


def _mode_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 5)),))
    yield Sample((Array((3, 5)), 0, True))
    yield Sample((Array((4, 3), layout="transposed"), -1))
    yield Sample((Array(()),))


def _mode_errors() -> Iterator[ErrorSample]:
    yield from bad_dims()
    yield ErrorSample((Array((0, 3)), 0), IndexRangeError, "expected reduction dim 0 to have non-zero size")


@composite(samples=_mode_samples, errors=_mode_errors, dtypes=dtypes.ALL)
def mode(input: Operand, dim: int = -1, keepdim: bool = False) -> Any:
    """Return (values, indices) of the most frequent element along `dim`, the last dimension by default.

    Of equally frequent elements the smallest is chosen.  The index is that of the element's last occurrence.

    Shapes: the input's without that dimension, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: IndexRangeError for a dimension of size 0 or out of range.
    Example:
        >>> torch.mode(torch.tensor([[1, 2, 2], [7, 7, 5]])).values
        tensor([2, 7])
    """
    require_values("mode", input.shape, dim)
    if not input.shape:
        values = reshape(input, (1,))
        return results.mode(*_picked(values, values.new_zeros((1,), dtype=int64), 0, False))
    at = st.wrap_dim(dim, len(input.shape), "mode")
    if _is_on_host(input) or _is_sorted_by_a_block(input, at):
        return row_choice(input, at, keepdim, "mode")
    size = input.shape[at]
    ordered = sort(input.detach(), at)
    places = positions(ordered.indices, size, at)
    is_new = REGISTRY["ne"](ordered.values.narrow(at, 1, size - 1), ordered.values.narrow(at, 0, size - 1))
    starts = REGISTRY["where"](is_new, places.narrow(at, 1, size - 1), 0)
    lengths = places.narrow(at, 1, size - 1) - running_extreme(starts, at, True).values
    position = REGISTRY["where"](lengths.amax(at, True) > 0, lengths.argmax(at, True) + 1, 0)
    return results.mode(*_picked(input, REGISTRY["gather"](ordered.indices, at, position), at, keepdim))


def positions(like: Any, count: int, dim: int) -> Any:
    """Return 0 to count - 1 along `dim`, as int64, with size 1 in the other dimensions of `like`."""
    shape = [count if axis == dim else 1 for axis in range(len(like.shape))]
    return reshape(REGISTRY["arange"](like.new_empty((count,), dtype=int64)), shape)


# quantiles

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(name: str, input: Any, q: Any, dim: Any, keepdim: bool, interpolation: str, skip_nan: bool) -> Any:
    _check_quantile(name, input, q, interpolation)
    at = 0 if dim is None else st.wrap_dim(dim, len(input.shape), name)
    values = reshape(input, (-1,)) if dim is None or not input.shape else input
    ordered = sort(values, at).values
    size = ordered.shape[at]
    ranks = q if hasattr(q, "strides") else input.new_full((), q)
    several = len(ranks.shape) == 1
    ranks = reshape(ranks, (-1,) + (1,) * len(ordered.shape)) if several else ranks
    is_nan = REGISTRY["isnan"](ordered)
    if skip_nan:
        last = (REGISTRY["logical_not"](is_nan).sum(at, True) - 1).clamp(min=0).to(ordered.dtype)
        ranks = ranks * last
    else:
        ranks = (ranks * (size - 1)).masked_fill(is_nan.narrow(at, size - 1, 1), size - 1)
    quantiles = _between(ordered, ranks, at, several, interpolation)
    quantiles = squeeze(quantiles, at + several)
    if not keepdim:
        return quantiles
    if dim is not None and input.shape:
        return unsqueeze(quantiles, at + several)
    return reshape(quantiles, (*quantiles.shape[:several], *(1 for _ in input.shape)))


def _between(ordered: Any, ranks: Any, dim: int, several: bool, interpolation: str) -> Any:
    """Return the values at fractional ranks of rows; with `several`, ranks have one more dimension in front."""
    if interpolation == "nearest":
        ranks = ranks.round()
    below = ranks.floor()

    def at(places: Any) -> Any:
        source = unsqueeze(ordered, 0) if several else ordered
        axis = dim + several
        shape = st.broadcast([places.shape, [*source.shape[:axis], 1, *source.shape[axis + 1 :]]])
        whole = [*shape[:axis], source.shape[axis], *shape[axis + 1 :]]
        return REGISTRY["gather"](source.expand(whole), axis, places.to(int64).expand(shape))

    if interpolation in ("nearest", "lower"):
        return at(below)
    if interpolation == "higher":
        return at(ranks.ceil())
    share = 0.5 if interpolation == "midpoint" else ranks - below
    low = at(below)
    return REGISTRY["lerp"](low, at(ranks.ceil()), share)


def _check_quantile(name: str, input: Any, q: Any, interpolation: str) -> None:
    if input.dtype not in (float32, float64):
        raise DtypeError(
            f"input must be float32 or float64, got {input.dtype.name}", hint="convert with .float()", operator=name
        )
    if not prod(input.shape):
        raise ShapeError(
            f"input has no elements, its shape is {list(input.shape)}", hint="test numel() first", operator=name
        )
    if interpolation not in INTERPOLATIONS:
        raise ModeError(
            f"interpolation must be one of {', '.join(INTERPOLATIONS)}, got {shown(interpolation)}",
            hint="use one of these: linear is the default",
            operator=name,
        )
    if not hasattr(q, "strides"):
        if not 0 <= q <= 1:
            raise ValueRangeError(
                f"q must be in the range [0, 1], got {q}",
                hint="pass a number from 0 to 1: 0.5 is the median",
                operator=name,
            )
    elif len(q.shape) > 1 or q.dtype is not input.dtype:
        raise ValueRangeError(
            f"q must be a scalar or a vector of {input.dtype.name}, got {q.dtype.name} of shape {list(q.shape)}",
            hint="flatten it, and convert it to the type of the input",
            operator=name,
        )


def _quantile_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), 0.4))
    yield Sample((Array((3, 5)), 0.3, 1, True), {"interpolation": "midpoint"})
    yield Sample((Array((4, 3), layout="transposed"), Array((2,), low=0.2, high=0.7, grad=False), 0))
    yield Sample((Array((2, 3)), Array((2,), low=0.2, high=0.7, grad=False)), {"interpolation": "lower"})


def _quantile_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), 0.5, 2), IndexRangeError, r"expected to be in range of \[-2, 1\], but got 2")
    yield ErrorSample((Array((2, 3)), 1.5), ValueRangeError, r"range \[0, 1\], got 1.5")
    yield ErrorSample((Array((2, 3), dtype="int64"), 0.5), DtypeError, "must be float32 or float64, got int64")
    yield ErrorSample((Array((0, 3)), 0.5), ShapeError, r"no elements, its shape is \[0, 3\]")
    yield ErrorSample((Array((3,)), 0.5), ModeError, "one of linear, .* got 'cubic'", {"interpolation": "cubic"})


@composite(samples=_quantile_samples, errors=_quantile_errors, dtypes=(float32, float64))
def quantile(
    input: Operand, q: Value, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Any:
    """Return the q-quantiles along a dimension, or of all elements; NaN if an element is NaN.

    q: a number from 0 to 1, or a scalar or vector of such numbers with the input's dtype.
    interpolation: "linear", "lower", "higher", "midpoint" or "nearest": how a value between two elements is chosen.
    Shapes: the input's without the dimension, or with size 1 there if keepdim; a vector q adds a first dimension.
    Host:   returns at once.
    Raises: DtypeError except for float32 and float64, ShapeError for no elements, IndexRangeError if `dim` is out of
            range, ModeError for any other interpolation, ValueRangeError for a number q outside [0, 1], or a
            tensor q with another dtype or more than one dimension.
    Example:
        >>> torch.quantile(torch.tensor([1.0, 2.0, 3.0, 5.0]), torch.tensor([0.5, 1.0]))
        tensor([2.5000, 5.0000])
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@composite(samples=_quantile_samples, errors=_quantile_errors, dtypes=(float32, float64))
def nanquantile(
    input: Operand, q: Value, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Any:
    """Return the q-quantiles of the elements that are not NaN, along a dimension or of all; NaN if all are NaN.

    q, interpolation: as for `quantile`.

    Shapes: the input's without the dimension, or with size 1 there if keepdim; a vector q adds a first dimension.
    Host:   returns at once.
    Raises: DtypeError except for float32 and float64, ShapeError for no elements, IndexRangeError if `dim` is out of
            range, ModeError for any other interpolation, ValueRangeError for a number q outside [0, 1], or a
            tensor q with another dtype or more than one dimension.
    Example:
        >>> torch.nanquantile(torch.tensor([1.0, float("nan"), 3.0]), 0.5)
        tensor(2.)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)


# covariances


def _cov_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 5)),))
    yield Sample((Array((5,)),), {"correction": 0})
    yield Sample((Array((5, 3), layout="transposed"),), {"aweights": Array((3,), low=0.5, high=2.0, grad=False)})


def _cov_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3, 4)),), ShapeError, r"at most 2 dimensions, got shape \[2, 3, 4\]")
    yield ErrorSample((Array((2, 3), dtype="bool"),), DtypeError, "bool tensors are not supported")
    wrong = {"fweights": Array((3,), dtype="float32")}
    yield ErrorSample((Array((2, 3)),), DtypeError, "fweights must be integers, got float32", wrong)
    wrong = {"aweights": Array((3,), dtype="int64")}
    yield ErrorSample((Array((2, 3)),), DtypeError, "aweights must be floating point, got int64", wrong)


def _check_weights(weights: Any, are_counts: bool) -> None:
    """Raise DtypeError for weights of `cov` of the wrong type; on the CPU, ValueRangeError for their values."""
    name, expected = ("fweights", "integers") if are_counts else ("aweights", "floating point")
    if weights.dtype is bool_ or weights.dtype.is_floating_point is are_counts:
        convert = ".long()" if are_counts else ".float()"
        raise DtypeError(
            f"{name} must be {expected}, got {weights.dtype.name}", hint=f"convert with {convert}", operator="cov"
        )
    if weights.device_index < 0 and weights.shape[0] and not (weights.min() >= 0 and weights.any()):
        raise ValueRangeError(
            f"{name} must be at least 0, and at least one of them above 0: the least is {weights.min().item()}",
            hint="leave out observations of negative weight, and keep one with a weight above 0",
            operator="cov",
        )


@composite(samples=_cov_samples, errors=_cov_errors, dtypes=FLOATING_TYPES, takes_out=False)
def cov(
    input: Operand, *, correction: int = 1, fweights: Operand | None = None, aweights: Operand | None = None
) -> Any:
    """Return the covariance matrix of the input's rows, which are the variables; its columns are the observations.

    Integers give the default floating point type.
    correction: 1 divides by the number of observations less 1; 0 divides by their number.
    fweights: the number of times that each observation counts.  aweights: the weight of each observation.
    Shapes: [variables, observations] gives [variables, variables]; a vector is one variable and gives ().
    Host:   returns at once.
    Raises: ShapeError for more than two dimensions or weights of the wrong length, DtypeError for bool.
    Example:
        >>> torch.cov(torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    if len(input.shape) > 2:
        raise ShapeError(
            f"input must have at most 2 dimensions, got shape {list(input.shape)}",
            hint="flatten the observations into one dimension",
            operator="cov",
        )
    _numeric("cov", input)
    rows: Any = reshape(input, (1, -1)) if len(input.shape) < 2 else input
    rows = rows if rows.dtype.is_floating_point else rows.to(dtypes.default.floating)
    count = rows.shape[1]
    weight: Any = None
    for given in (fweights, aweights):
        if given is None:
            continue
        if tuple(given.shape) != (count,):
            raise ShapeError(
                f"weights of shape {list(given.shape)} do not match {count} observations",
                hint="pass one weight per column",
                operator="cov",
            )
        _check_weights(given, given is fweights)
        weight = given if weight is None else weight * given
    total: Any = count if weight is None else weight.sum()
    if not count:
        center = rows.sum(1, True) / total
    else:
        center = rows.mean(1, True) if weight is None else (rows * weight).sum(1, True) / total
    if aweights is None or correction == 0:
        freedom = total - correction
    else:
        freedom = total - correction * (weight * aweights).sum() / total
    freedom = freedom.clamp(min=0) if hasattr(freedom, "strides") else max(freedom, 0)
    apart = rows - center
    weighted = apart if weight is None else apart * weight
    return squeeze(REGISTRY["matmul"](apart, weighted.t()) / freedom)


def _corrcoef_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 5)),))
    yield Sample((Array((5, 3), layout="transposed"),))


def _corrcoef_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3, 4)),), ShapeError, r"at most 2 dimensions, got shape \[2, 3, 4\]")


@composite(samples=_corrcoef_samples, errors=_corrcoef_errors, dtypes=FLOATING_TYPES, takes_out=False)
def corrcoef(input: Operand) -> Any:
    """Return the matrix of correlation coefficients, from -1 to 1, of the input's rows, each of which is a variable.

    A coefficient is the covariance of two variables divided by the product of their standard deviations.  Integers give
    the default floating point type.
    Shapes: [variables, observations] gives [variables, variables]; a vector is one variable and gives ().
    Host:   returns at once.
    Raises: ShapeError for more than two dimensions, DtypeError for bool.
    Example:
        >>> torch.corrcoef(torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    matrix = cov(input)
    if not matrix.shape:
        return matrix / matrix
    deviation = REGISTRY["diagonal"](matrix).sqrt()
    return (matrix / unsqueeze(deviation, 1) / deviation).clamp(-1, 1)
