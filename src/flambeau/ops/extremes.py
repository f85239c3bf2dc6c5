"""The largest and the smallest over dimensions: their values, and where they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .. import dtypes
from ..dtypes import int64
from ..errors import IndexRangeError
from .dims import Dims, bad_dims, bad_lists, dims_of, folds, nothing_to_choose, reduced_shape, require_values, restored
from .operator import REGISTRY, Array, ErrorSample, Operand, Sample, composite, operator
from .reduction import Fold, fold_dims, run_select

LARGEST = Fold("amax", "lowest<A>()", "a > b || a != a ? a : b", "maximum")
SMALLEST = Fold("amin", "highest<A>()", "a < b || a != a ? a : b", "minimum")
SECOND = {"other": "dim"}  # a second tensor stands where a dimension does


class MaxResult(NamedTuple):
    values: Any
    indices: Any

    def __repr__(self) -> str:
        return f"torch.return_types.max(\nvalues={self.values!r},\nindices={self.indices!r})"


class MinResult(NamedTuple):
    values: Any
    indices: Any

    def __repr__(self) -> str:
        return f"torch.return_types.min(\nvalues={self.values!r},\nindices={self.indices!r})"


def _extreme(call: Any, fold: Fold, input: Any, dim: Dims, keepdim: bool) -> Any:
    require_values(call.name, input.shape, None if dim == () else dim)
    return fold_dims(call, fold, input, dim, keepdim, input.dtype, input.dtype.wide)


def _shared(grad: Any, out: Any, input: Any, dim: Any, keepdim: Any) -> Any:
    """Equal shares of the gradient for all that equal the result."""
    hits = input == restored(out, input.shape, dim, keepdim)
    return hits * (restored(grad, input.shape, dim, keepdim) / hits.sum(dim, True))


def _extremes() -> Iterator[Sample]:
    yield from (sample for sample in folds() if 0 not in sample.args[0].shape)
    yield Sample((Array((0, 3)), 1))


def _extreme_errors() -> Iterator[ErrorSample]:
    yield from nothing_to_choose()
    yield from bad_lists()


@operator(samples=_extremes, errors=_extreme_errors, dtypes=dtypes.ALL)
def amax(call: Any, input: Operand, dim: Dims = (), keepdim: bool = False) -> Any:
    """Largest value over some dimensions, or all of them; NaN if there is one.  Equal values share the gradient.

    Shapes: the input's without the reduced dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: ShapeError or IndexRangeError if there is nothing to choose from, or for bad dimensions.
    Example:
        >>> torch.amax(torch.tensor([[1, 9], [7, 3]]), dim=(0, 1))
        tensor(9)
        >>> torch.amax(torch.tensor([[1, 9], [7, 3]]), dim=0)
        tensor([7, 9])
    """
    return _extreme(call, LARGEST, input, dim, keepdim)


@amax.derivative
def _(grad: Any, out: Any, input: Any, dim: Any, keepdim: Any) -> Any:
    return _shared(grad, out, input, dim, keepdim)


@operator(samples=_extremes, errors=_extreme_errors, dtypes=dtypes.ALL)
def amin(call: Any, input: Operand, dim: Dims = (), keepdim: bool = False) -> Any:
    """Smallest value over some dimensions, or all of them; NaN if there is one.  Equal values share the gradient.

    Shapes: the input's without the reduced dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: ShapeError or IndexRangeError if there is nothing to choose from, or for bad dimensions.
    Example:
        >>> torch.amin(torch.tensor([[1, 9], [7, 3]]), dim=(0, 1))
        tensor(1)
        >>> torch.amin(torch.tensor([[1, 9], [7, 3]]), dim=0)
        tensor([1, 3])
    """
    return _extreme(call, SMALLEST, input, dim, keepdim)


@amin.derivative
def _(grad: Any, out: Any, input: Any, dim: Any, keepdim: Any) -> Any:
    return _shared(grad, out, input, dim, keepdim)


def _chosen(call: Any, largest: bool, input: Any, dim: int | None, keepdim: bool, with_values: bool) -> tuple[Any, Any]:
    require_values(call.name, input.shape, dim)
    dims = dims_of(call.name, dim, len(input.shape))
    shape = reduced_shape(input.shape, dims, keepdim)
    indexes = call.output(shape, int64)
    values = call.output(shape, input.dtype) if with_values else None
    run_select(call, largest, input, dims, values, indexes)
    return values, indexes


def _placed(grad: Any, indices: Any, shape: Any, dim: int, keepdim: bool) -> Any:
    """The gradient of chosen values, put where they were chosen."""
    grad, indices = restored(grad, shape, dim, keepdim), restored(indices, shape, dim, keepdim)
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
    """(values, indices) of the largest along one dimension: what `max` with a dimension calls."""
    return MaxResult(*_chosen(call, True, input, dim, keepdim, True))


@max_dim.derivative
def _(grads: Any, out1: Any, input_shape: Any, dim: Any, keepdim: Any) -> Any:
    return _placed(grads[0], out1, input_shape, dim, keepdim)


@operator(samples=_choices_of_one, errors=_choice_errors, dtypes=dtypes.ALL, method=False, function=False)
def min_dim(call: Any, input: Operand, dim: int, keepdim: bool = False) -> Any:
    """(values, indices) of the smallest along one dimension: what `min` with a dimension calls."""
    return MinResult(*_chosen(call, False, input, dim, keepdim, True))


@min_dim.derivative
def _(grads: Any, out1: Any, input_shape: Any, dim: Any, keepdim: Any) -> Any:
    return _placed(grads[0], out1, input_shape, dim, keepdim)


def _one_or_all() -> Iterator[Sample]:
    yield from _choices_of_one()
    yield Sample((Array((3, 4)),))
    yield Sample((Array(()),))


@composite(samples=_one_or_all, errors=nothing_to_choose, dtypes=dtypes.ALL, name="max", other_names=SECOND)
def max_(input: Operand, dim: Any = None, keepdim: bool = False) -> Any:
    """Largest value; along one dimension (values, indices); with a second tensor `maximum` of both.

    NaN counts as larger than any number; of equal values the first is chosen.
    Shapes: without dim (); with it the input's without that dimension, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: IndexRangeError if there is nothing to choose from.
    Example:
        >>> x = torch.tensor([[1, 9], [7, 3]])
        >>> torch.max(x)
        tensor(9)
        >>> values, indices = torch.max(x, dim=1)
        >>> values, indices
        (tensor([9, 7]), tensor([1, 0]))
    """
    if hasattr(dim, "is_contiguous"):
        return REGISTRY["maximum"](input, dim)
    if dim is not None:
        return max_dim(input, dim, keepdim)
    require_values("max", input.shape, None)
    return amax(input)


@composite(samples=_one_or_all, errors=nothing_to_choose, dtypes=dtypes.ALL, name="min", other_names=SECOND)
def min_(input: Operand, dim: Any = None, keepdim: bool = False) -> Any:
    """Smallest value; along one dimension (values, indices); with a second tensor `minimum` of both.

    NaN counts as smaller than any number; of equal values the first is chosen.
    Shapes: without dim (); with it the input's without that dimension, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: IndexRangeError if there is nothing to choose from.
    Example:
        >>> x = torch.tensor([[1, 9], [7, 3]])
        >>> torch.min(x)
        tensor(1)
        >>> values, indices = torch.min(x, dim=1)
        >>> values, indices
        (tensor([1, 3]), tensor([0, 1]))
    """
    if hasattr(dim, "is_contiguous"):
        return REGISTRY["minimum"](input, dim)
    if dim is not None:
        return min_dim(input, dim, keepdim)
    require_values("min", input.shape, None)
    return amin(input)


@operator(samples=_one_or_all, errors=nothing_to_choose, dtypes=dtypes.ALL, differentiable=False)
def argmax(call: Any, input: Operand, dim: int | None = None, keepdim: bool = False) -> Any:
    """Index of the largest value along a dimension, or in the flattened input: NaN before numbers, first of equals.

    Shapes: as `max`.  The result is int64.
    Host:   returns at once.
    Raises: IndexRangeError if there is nothing to choose from.
    Example:
        >>> x = torch.tensor([[1, 9, 2], [7, 3, 5]])
        >>> torch.argmax(x)
        tensor(1)
        >>> torch.argmax(x, dim=1)
        tensor([1, 0])
    """
    return _chosen(call, True, input, dim, keepdim, False)[1]


@operator(samples=_one_or_all, errors=nothing_to_choose, dtypes=dtypes.ALL, differentiable=False)
def argmin(call: Any, input: Operand, dim: int | None = None, keepdim: bool = False) -> Any:
    """Index of the smallest value along a dimension, or in the flattened input: NaN before numbers, first of equals.

    Shapes: as `min`.  The result is int64.
    Host:   returns at once.
    Raises: IndexRangeError if there is nothing to choose from.
    Example:
        >>> x = torch.tensor([[1, 9, 2], [7, 3, 5]])
        >>> torch.argmin(x)
        tensor(0)
        >>> torch.argmin(x, dim=1)
        tensor([0, 1])
    """
    return _chosen(call, False, input, dim, keepdim, False)[1]
