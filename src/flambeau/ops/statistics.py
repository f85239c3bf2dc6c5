"""Order statistics along a dimension: median, quantile, mode and kthvalue; and covariances."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from .. import dtypes
from .. import strides as st
from ..dtypes import FLOATING_TYPES, dtype, float32, float64, int64
from ..errors import ArgumentError, DtypeError, IndexRangeError, ModeError, ShapeError, ValueRangeError, shown
from . import results
from .operator import REGISTRY, Array, ErrorSample, Operand, Sample, Value, composite
from .reduction_kernels import require_values
from .samples import NUMERIC_TYPES, bad_dims
from .scans import running_extreme
from .sorting import sort
from .views import reshape, squeeze, unsqueeze

# medians


def _numeric(name: str, input: Any) -> None:
    if input.dtype is dtypes.bool_:
        raise DtypeError("bool tensors have no order here", hint="convert with .int()", operator=name)


def _picked(input: Any, indices: Any, dim: int, keepdim: bool) -> tuple[Any, Any]:
    """(values, indices) of one element per row; `indices` has size 1 along `dim`."""
    values = REGISTRY["gather"](input, dim, indices)
    return (values, indices) if keepdim else (squeeze(values, dim), squeeze(indices, dim))


def _nan_last(input: Any, ordered: Any, at: int, chosen: Any) -> Any:
    """The chosen indices, replaced by that of the first NaN in rows that have one."""
    if not input.dtype.is_floating_point:
        return chosen.clone()  # no view of all indices
    has_nan = REGISTRY["isnan"](ordered.values.narrow(at, -1, 1))
    return REGISTRY["where"](has_nan, input.detach().argmax(at, True), chosen)


def _row_medians(name: str, input: Any, dim: int, keepdim: bool, skip_nan: bool) -> tuple[Any, Any]:
    """(values, indices) of the lower medians along a dimension."""
    _numeric(name, input)
    require_values(name, input.shape, dim)
    if not input.shape:
        return _picked(reshape(input, (1,)), input.new_zeros((1,), dtype=int64), 0, False)
    at = st.wrap_dim(dim, len(input.shape), name)
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
        return make(*_row_medians(name, input, dim, keepdim, skip_nan))
    if prod(input.shape):
        return _row_medians(name, reshape(input, (-1,)), 0, False, skip_nan)[0]
    _numeric(name, input)
    return input.new_full((), float("nan") if input.dtype.is_floating_point else _lowest(input.dtype))


def _lowest(dtype: dtype) -> int:
    """The median of no integers: what PyTorch makes of NaN."""
    return 0 if dtype.itemsize == 1 else -(2 ** (8 * dtype.itemsize - 1))


def _rows_or_all() -> Iterator[Sample]:
    yield Sample((Array((3, 4)),))
    yield Sample((Array((3, 5)), 0))
    yield Sample((Array((4, 3), layout="transposed"), -1, True))
    yield Sample((Array(()), 0))


def _row_errors() -> Iterator[ErrorSample]:
    yield from bad_dims()
    yield ErrorSample((Array((0, 3)), 0), IndexRangeError, "expected reduction dim 0 to have non-zero size")
    yield ErrorSample((Array((3,), dtype="bool"),), DtypeError, "bool tensors have no order")


@composite(samples=_rows_or_all, errors=_row_errors, dtypes=NUMERIC_TYPES)
def median(input: Operand, dim: Any = None, keepdim: bool = False) -> Any:
    """Median: of an even number of elements the lower one; NaN if there is one.  With dim, (values, indices).

    Shapes: without dim (); with it the input's without that dimension, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: IndexRangeError for a dimension without elements, or a bad one; DtypeError for bool.
    Example:
        >>> x = torch.tensor([[1, 9, 2], [7, 3, 5]])
        >>> torch.median(x)
        tensor(3)
        >>> torch.median(x, dim=1).values
        tensor([2, 5])
    """
    return _median("median", results.median, input, dim, keepdim, False)


@composite(samples=_rows_or_all, errors=_row_errors, dtypes=NUMERIC_TYPES)
def nanmedian(input: Operand, dim: Any = None, keepdim: bool = False) -> Any:
    """As `median`, of the elements that are not NaN; NaN if there is no other.

    Shapes: as `median`.
    Host:   returns at once.
    Raises: IndexRangeError for a dimension without elements, or a bad one; DtypeError for bool.
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
    """(values, indices) of the k-th smallest element along a dimension, from k = 1; NaN is the greatest.

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
    chosen = sort(input.detach(), at).indices.narrow(at, k - 1, 1).clone()
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
    """(values, indices) of the most frequent element along a dimension: the least of several, at its last place.

    Shapes: the input's without that dimension, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: IndexRangeError for a dimension without elements, or a bad one.
    Example:
        >>> torch.mode(torch.tensor([[1, 2, 2], [7, 7, 5]])).values
        tensor([2, 7])
    """
    require_values("mode", input.shape, dim)
    if not input.shape:
        values = reshape(input, (1,))
        return results.mode(*_picked(values, values.new_zeros((1,), dtype=int64), 0, False))
    at = st.wrap_dim(dim, len(input.shape), "mode")
    ordered = sort(input.detach(), at)
    size = input.shape[at]
    if size > 1:
        places = positions(ordered.indices, size, at)
        is_new = REGISTRY["ne"](ordered.values.narrow(at, 1, size - 1), ordered.values.narrow(at, 0, size - 1))
        starts = REGISTRY["where"](is_new, places.narrow(at, 1, size - 1), 0)
        lengths = places.narrow(at, 1, size - 1) - running_extreme(starts, at, True).values
        best = lengths.argmax(at, True)
        place = REGISTRY["where"](lengths.amax(at, True) > 0, best + 1, 0)
    else:
        place = ordered.indices.narrow(at, 0, 1) * 0
    return results.mode(*_picked(input, REGISTRY["gather"](ordered.indices, at, place), at, keepdim))


def positions(like: Any, count: int, dim: int) -> Any:
    """0 to count - 1 along `dim`, as int64, with size 1 in the other dimensions of `like`."""
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
    found = _between(ordered, ranks, at, several, interpolation)
    found = squeeze(found, at + several)
    if not keepdim:
        return found
    if dim is not None and input.shape:
        return unsqueeze(found, at + several)
    return reshape(found, (*found.shape[:several], *(1 for _ in input.shape)))


def _between(ordered: Any, ranks: Any, dim: int, several: bool, interpolation: str) -> Any:
    """The values at fractional ranks of rows; with `several`, ranks have one more dimension in front."""
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
            hint="linear is the default",
            operator=name,
        )
    if not hasattr(q, "strides"):
        if not 0 <= q <= 1:
            raise ValueRangeError(f"q must be in the range [0, 1], got {q}", hint="0.5 is the median", operator=name)
    elif len(q.shape) > 1 or q.dtype is not input.dtype:
        raise ArgumentError(
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
    """The values below which a share q of the elements lies, along a dimension or of all; NaN if there is one.

    q: a number or a tensor of numbers from 0 to 1.  interpolation: between the two nearest elements: linear, lower,
    higher, midpoint or nearest.
    Shapes: the input's without the dimension, or with size 1 there if keepdim; a vector q adds a first dimension.
    Host:   returns at once.
    Raises: DtypeError except for float32 and float64; ShapeError, IndexRangeError, ModeError, ValueRangeError.
    Example:
        >>> torch.quantile(torch.tensor([1.0, 2.0, 3.0, 5.0]), torch.tensor([0.5, 1.0]))
        tensor([2.5000, 5.0000])
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@composite(samples=_quantile_samples, errors=_quantile_errors, dtypes=(float32, float64))
def nanquantile(
    input: Operand, q: Value, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Any:
    """As `quantile`, of the elements that are not NaN; NaN if there is no other.

    Shapes: as `quantile`.
    Host:   returns at once.
    Raises: DtypeError except for float32 and float64; ShapeError, IndexRangeError, ModeError, ValueRangeError.
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
    yield ErrorSample((Array((2, 3), dtype="bool"),), DtypeError, "bool tensors have no order")


@composite(samples=_cov_samples, errors=_cov_errors, dtypes=FLOATING_TYPES, takes_out=False)
def cov(
    input: Operand, *, correction: int = 1, fweights: Operand | None = None, aweights: Operand | None = None
) -> Any:
    """The covariance matrix of variables, which are rows, over observations, which are columns.

    fweights: how often each observation counts.  aweights: its weight.
    Shapes: [variables, observations] gives [variables, variables]; a vector is one variable and gives ().
    Host:   returns at once.
    Raises: ShapeError for more than two dimensions or weights of another length, DtypeError for bool.
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
    rows = rows if rows.dtype.is_floating_point else rows.to(float32)
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
    """The correlation coefficients of variables, which are rows: `cov` over both deviations, within [-1, 1].

    Shapes: as `cov`.
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
