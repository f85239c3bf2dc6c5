"""Losses of differences, and the reduction that every loss ends with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import callers
from ..dtypes import FLOATING_TYPES
from ..errors import ArgumentError, ArgumentTypeError, ShapeError, shown
from ..host import np
from .operator import Array, ErrorSample, Operand, Sample, Value, composite
from .pointwise import floating_only, pointwise, promoted

REDUCTIONS = ("none", "mean", "sum")


def reduction_of(name: str, size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """Resolve the reduction of a loss from its current and its former arguments.

    Returns one of REDUCTIONS.

    Raises: ArgumentError for an unknown reduction, ArgumentTypeError for former arguments that are no bools.
    """
    if size_average is not None or reduce is not None:
        return _former_reduction(name, size_average, reduce)
    if reduction == "elementwise_mean":
        callers.warn(f"{name}: reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.")
        return "mean"
    if reduction not in REDUCTIONS:
        raise ArgumentError(
            f"{reduction!r} is not a valid value for reduction", hint="use 'none', 'mean' or 'sum'", operator=name
        )
    return reduction


def _former_reduction(name: str, size_average: bool | None, reduce: bool | None) -> str:
    for what, value in (("size_average", size_average), ("reduce", reduce)):
        if value not in (None, False, True):
            raise ArgumentTypeError(
                f"{what} must be a bool or None, got {shown(value)}",
                hint="reduction= takes 'mean' and its kin",
                operator=name,
            )
    chosen = "none" if reduce is False else "sum" if size_average is False else "mean"
    callers.warn(f"{name}: size_average and reduce args will be deprecated, please use reduction='{chosen}' instead.")
    return chosen


def reduced(values: Any, reduction: str) -> Any:
    """All terms of a loss, their mean or their sum."""
    return values if reduction == "none" else values.mean() if reduction == "mean" else values.sum()


def _weighted(name: str, terms: Any, input: Any, weight: Any, reduction: str) -> Any:
    """`reduced` of terms times their weights; the mean divides by the sum of the weights."""
    if weight is None:
        return reduced(terms, reduction)
    if weight.shape != input.shape:
        raise ArgumentError(
            f"weight must have the input's shape: weight is {list(weight.shape)}, input is {list(input.shape)}",
            hint="expand it: weight.expand_as(input)",
            operator=name,
        )
    terms = terms * weight
    return terms.sum() / weight.sum() if reduction == "mean" else reduced(terms, reduction)


def _differences() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), seed=1)))
    yield Sample((Array((3, 4), layout="transposed"), Array((3, 4), seed=1)), {"reduction": "sum"})
    yield Sample((Array((0, 3)), Array((0, 3), seed=1)), {"reduction": "none"})
    yield Sample((Array(()), Array((), seed=1)))


def _weighted_differences() -> Iterator[Sample]:
    yield from _differences()
    for reduction in REDUCTIONS:
        pair = Array((3, 4)), Array((3, 4), seed=1)
        yield Sample(pair, {"weight": Array((3, 4), low=0.5, high=2.0, seed=2), "reduction": reduction})


def _bad_differences() -> Iterator[ErrorSample]:
    same = Array((2, 3)), Array((2, 3))
    yield ErrorSample(same, ArgumentError, "'average' is not a valid value", {"reduction": "average"})


def _terms() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), seed=1)))
    yield Sample((Array((2, 3), layout="strided"), Array((3,), seed=1)))


@pointwise(
    dtype=promoted, cuda="(input - target) * (input - target)", samples=_terms, dtypes=FLOATING_TYPES,
    inplace=False, method=False, function=False,
)  # fmt: skip
def squared_difference(input: Value, target: Value) -> Any:
    """(input - target) squared: the terms of `mse_loss`."""
    return np.square(input - target)


@squared_difference.derivative
def _(grad: Any, input: Any, target: Any, needs: Any) -> Any:
    slope = (input - target) * grad * 2
    return slope, -slope if needs[1] else None


@pointwise(
    dtype=promoted, cuda="input > target ? input - target : target - input", samples=_terms, dtypes=FLOATING_TYPES,
    inplace=False, method=False, function=False,
)  # fmt: skip
def absolute_difference(input: Value, target: Value) -> Any:
    """|input - target|: the terms of `l1_loss`."""
    return np.abs(input - target)


@absolute_difference.derivative
def _(grad: Any, input: Any, target: Any, needs: Any) -> Any:
    slope = (input - target).sign() * grad
    return slope, -slope if needs[1] else None


def _smooth_terms() -> Iterator[Sample]:
    for sample in _terms():
        yield Sample((*sample.args, 0.75))


@pointwise(
    dtype=floating_only, samples=_smooth_terms, dtypes=FLOATING_TYPES, cost=4.0,
    cuda="fabs(input - target) < beta ? (input - target) * (input - target) / beta / 2 "
    ": fabs(input - target) - beta / 2",
    inplace=False, method=False, function=False,
)  # fmt: skip
def smooth_difference(input: Value, target: Value, beta: Value) -> Any:
    """The terms of `smooth_l1_loss`: squared below `beta`, straight above."""
    distance = np.abs(input - target)
    return np.where(distance < beta, distance * distance / beta / 2, distance - beta / 2)


@smooth_difference.derivative
def _(grad: Any, input: Any, target: Any, beta: float, needs: Any) -> Any:
    difference = input - target
    slope = ((difference / beta).clamp(-1, 1) if beta else difference.sign()) * grad
    return slope, -slope if needs[1] else None, None


def _warn_sizes(name: str, input: Any, target: Any) -> None:
    if input.shape != target.shape:
        callers.warn(
            f"{name}: target of shape {list(target.shape)} differs from input of shape {list(input.shape)}; they are "
            "broadcast, which is likely not what is meant"
        )


@composite(samples=_weighted_differences, errors=_bad_differences, dtypes=FLOATING_TYPES, method=False)
def mse_loss(
    input: Operand, target: Operand, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
    weight: Operand | None = None,
) -> Any:  # fmt: skip
    """Squared difference of input and target.

    weight: a factor for each term, of the input's shape.
    Shapes: the inputs broadcast together, with a warning; the result is (), or with reduction "none" their shape.
    Host:   returns at once.
    Raises: ArgumentError for a bad reduction, ShapeError, DtypeError.
    Example:
        >>> torch.nn.functional.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
        tensor(2.)
    """
    reduction = reduction_of("mse_loss", size_average, reduce, reduction)
    _warn_sizes("mse_loss", input, target)
    return _weighted("mse_loss", squared_difference(input, target), input, weight, reduction)


@composite(samples=_weighted_differences, errors=_bad_differences, dtypes=FLOATING_TYPES, method=False)
def l1_loss(
    input: Operand, target: Operand, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
    weight: Operand | None = None,
) -> Any:  # fmt: skip
    """Absolute difference of input and target.

    weight: a factor for each term, of the input's shape.
    Shapes: the inputs broadcast together, with a warning; the result is (), or with reduction "none" their shape.
    Host:   returns at once.
    Raises: ArgumentError for a bad reduction, ShapeError, DtypeError.
    Example:
        >>> torch.nn.functional.l1_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
        tensor(1.)
    """
    reduction = reduction_of("l1_loss", size_average, reduce, reduction)
    _warn_sizes("l1_loss", input, target)
    return _weighted("l1_loss", absolute_difference(input, target), input, weight, reduction)


def _bad_betas() -> Iterator[ErrorSample]:
    yield from _bad_differences()
    yield ErrorSample((Array((2,)), Array((2,))), ShapeError, "beta must not be negative, got -1", {"beta": -1})


@composite(samples=_differences, errors=_bad_betas, dtypes=FLOATING_TYPES, method=False)
def smooth_l1_loss(
    input: Operand, target: Operand, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
    beta: float = 1.0,
) -> Any:  # fmt: skip
    """Squared difference / (2 * beta) where it is below beta, else absolute difference - beta / 2.

    Shapes: the inputs broadcast together, with a warning; the result is (), or with reduction "none" their shape.
    Host:   returns at once.
    Raises: ArgumentError for a bad reduction, ShapeError (also for a negative beta), DtypeError.
    Example:
        >>> torch.nn.functional.smooth_l1_loss(torch.tensor([0.5, 2.0]), torch.tensor([0.0, 0.0]), reduction="none")
        tensor([0.1250, 1.5000])
    """
    reduction = reduction_of("smooth_l1_loss", size_average, reduce, reduction)
    if beta < 0:
        raise ShapeError(
            f"beta must not be negative, got {beta}",
            hint="it is where the loss becomes linear; 0 makes it l1_loss",
            operator="smooth_l1_loss",
        )
    _warn_sizes("smooth_l1_loss", input, target)
    return reduced(smooth_difference(input, target, float(beta)), reduction)
