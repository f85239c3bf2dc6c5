"""Losses: of differences, of classes and of binary targets, divergences, likelihoods and margins."""

from __future__ import annotations

import math
from collections.abc import Iterator
from math import prod
from typing import Any

from .. import callers
from ..dtypes import FLOATING_TYPES
from ..errors import ArgumentError, ArgumentTypeError, ModeError, ShapeError, ValueRangeError, shown
from ..host import np
from .distances import pairwise_distance, raised
from .loss_kernels import IGNORED, class_errors, class_loss, class_samples, entropy_each, entropy_total, squeeze_target
from .operator import REGISTRY, Array, ErrorSample, Operand, Sample, Value, composite
from .pointwise import floating_only, is_tensor, numbers, numpy_type, pointwise, promoted, to_bool, to_float
from .softmax import log_softmax

REDUCTIONS = ("none", "mean", "sum")


def reduction_of(name: str, size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """Resolve the reduction of a loss from its current and its former arguments.

    Returns one of REDUCTIONS.

    Raises: ArgumentError for an unknown reduction, ArgumentTypeError for former arguments that are not bool.
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
                hint="use reduction='none', 'mean' or 'sum' instead",
                operator=name,
            )
    chosen = "none" if reduce is False else "sum" if size_average is False else "mean"
    callers.warn(f"{name}: size_average and reduce args will be deprecated, please use reduction='{chosen}' instead.")
    return chosen


def reduced(values: Any, reduction: str) -> Any:
    """Apply a reduction: the terms of a loss, their mean or their sum."""
    return values if reduction == "none" else values.mean() if reduction == "mean" else values.sum()


def _weighted(name: str, terms: Any, input: Any, weight: Any, reduction: str) -> Any:
    """Apply a reduction to terms times their weights; the mean divides by the sum of the weights."""
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
    dtype=numbers, cuda="(input - target) * (input - target)", samples=_terms, dtypes=FLOATING_TYPES,
    inplace=False, method=False, function=False,
)  # fmt: skip
def squared_difference(input: Value, target: Value) -> Any:
    """Return the terms of `mse_loss`: (input - target) squared."""
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
    """Return the terms of `l1_loss`: |input - target|."""
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
    """Return the terms of `smooth_l1_loss`: quadratic below `beta`, linear above."""
    distance = np.abs(input - target)
    return np.where(distance < beta, distance * distance / beta / 2, distance - beta / 2)


@smooth_difference.derivative
def _(grad: Any, input: Any, target: Any, beta: float, needs: Any) -> Any:
    difference = input - target
    slope = ((difference / beta).clamp(-1, 1) if beta else difference.sign()) * grad
    return slope, -slope if needs[1] else None, None


def warn_sizes(name: str, input: Any, target: Any) -> None:
    if input.shape != target.shape:
        callers.warn(
            f"{name}: target of shape {list(target.shape)} differs from input of shape {list(input.shape)}; they are "
            "broadcast, which is probably not intended"
        )


@composite(samples=_weighted_differences, errors=_bad_differences, dtypes=FLOATING_TYPES, method=False, function=False)
def mse_loss(
    input: Operand, target: Operand, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
    weight: Operand | None = None,
) -> Any:  # fmt: skip
    """Compute the squared difference of input and target.

    reduction: "mean" returns the mean of all terms, "sum" their sum, "none" each term.

    weight: a factor for each loss, of the input's shape.
    Shapes: different shapes broadcast, with a warning; the result is (), or the broadcast shape with reduction "none".
    Host:   returns at once.
    Raises: ArgumentError for a bad reduction, ShapeError if the shapes do not broadcast, DtypeError for integers.
    Example:
        >>> torch.nn.functional.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
        tensor(2.)
    """
    reduction = reduction_of("mse_loss", size_average, reduce, reduction)
    warn_sizes("mse_loss", input, target)
    return _weighted("mse_loss", squared_difference(input, target), input, weight, reduction)


@composite(samples=_weighted_differences, errors=_bad_differences, dtypes=FLOATING_TYPES, method=False, function=False)
def l1_loss(
    input: Operand, target: Operand, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
    weight: Operand | None = None,
) -> Any:  # fmt: skip
    """Compute the absolute difference of input and target.

    reduction: "mean" returns the mean of all terms, "sum" their sum, "none" each term.

    weight: a factor for each loss, of the input's shape.
    Shapes: different shapes broadcast, with a warning; the result is (), or the broadcast shape with reduction "none".
    Host:   returns at once.
    Raises: ArgumentError for a bad reduction, ShapeError if the shapes do not broadcast, DtypeError for integers.
    Example:
        >>> torch.nn.functional.l1_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
        tensor(1.)
    """
    reduction = reduction_of("l1_loss", size_average, reduce, reduction)
    warn_sizes("l1_loss", input, target)
    return _weighted("l1_loss", absolute_difference(input, target), input, weight, reduction)


def _bad_betas() -> Iterator[ErrorSample]:
    yield from _bad_differences()
    yield ErrorSample((Array((2,)), Array((2,))), ShapeError, "beta must not be negative, got -1", {"beta": -1})


@composite(samples=_differences, errors=_bad_betas, dtypes=FLOATING_TYPES, method=False, function=False)
def smooth_l1_loss(
    input: Operand, target: Operand, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
    beta: float = 1.0,
) -> Any:  # fmt: skip
    """Compute d * d / (2 * beta) where d = |input - target| is below beta, else d - beta / 2.

    reduction: "mean" returns the mean of all losses, "sum" their sum, "none" each loss.
    Shapes: different shapes broadcast, with a warning; the result is (), or the broadcast shape with reduction "none".
    Host:   returns at once.
    Raises: ArgumentError for a bad reduction, ShapeError if the shapes do not broadcast or beta is negative.
    Example:
        >>> torch.nn.functional.smooth_l1_loss(torch.tensor([0.5, 2.0]), torch.tensor([0.0, 0.0]), reduction="none")
        tensor([0.1250, 1.5000])
    """
    reduction = reduction_of("smooth_l1_loss", size_average, reduce, reduction)
    if beta < 0:
        raise ShapeError(
            f"beta must not be negative, got {beta}",
            hint="pass 0 or more: the loss is linear above beta, and 0 gives l1_loss",
            operator="smooth_l1_loss",
        )
    warn_sizes("smooth_l1_loss", input, target)
    return reduced(smooth_difference(input, target, float(beta)), reduction)


LOG_FLOOR = -100.0  # the least logarithm of a probability
SLOPE_FLOOR = 1e-12  # the least divisor in the gradient of such a logarithm


# classes


@composite(samples=class_samples, errors=class_errors, dtypes=FLOATING_TYPES, method=False, function=False)
def nll_loss(
    input: Operand, target: Operand, weight: Operand | None = None, size_average: Any = None,
    ignore_index: int = IGNORED, reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Compute the negative log-probability of the target classes, from log-probabilities.

    weight: one number per class.  ignore_index: a target that is skipped.
    reduction: "none", "sum", or "mean", which divides by the sum of the targets' weights (NaN if all are ignored).
    Shapes: input [n, c, *] or [c], target [n, *], () or [1] of int64 or uint8; the result is () or has the target's
            shape.
    Host:   returns at once.
    Raises: IndexRangeError for a target outside the classes on the CPU (a device-side assert on a GPU), ArgumentError
            for a bad reduction, or a target of another shape, ShapeError unless `weight` has one element for each
            class, DtypeError unless the target is int64 or uint8 and the input floating point.
    Example:
        >>> logs = torch.tensor([[0.5, 0.5], [0.9, 0.1]]).log()
        >>> torch.nn.functional.nll_loss(logs, torch.tensor([0, 1]), reduction="none")
        tensor([0.6931, 2.3026])
    """
    reduction = reduction_of("nll_loss", size_average, reduce, reduction)
    target = squeeze_target(input, target)
    return class_loss(input, target, weight, ignore_index, reduction)[0]


def _entropy_samples() -> Iterator[Sample]:
    yield from class_samples()
    target = Array((4,), low=0, high=2, dtype="int64", seed=1)
    weight = Array((3,), low=0.5, high=2.0, grad=False)
    yield Sample((Array((4, 3)), target, weight), {"ignore_index": 1, "label_smoothing": 0.2})
    yield Sample((Array((4, 3)), Array((4, 3), low=0.0, high=1.0, seed=1)), {"label_smoothing": 0.1})
    yield Sample((Array((2, 3, 2)), Array((2, 3, 2), low=0.0, high=1.0, seed=1)), {"reduction": "none"})


def _entropy_errors() -> Iterator[ErrorSample]:
    target = Array((2,), low=0, high=0, dtype="int64")
    yield ErrorSample((Array((2, 3)), target), ArgumentError, "between 0.0 and 1.0, got 2.0", {"label_smoothing": 2.0})
    yield from class_errors()


@composite(samples=_entropy_samples, errors=_entropy_errors, dtypes=FLOATING_TYPES, method=False, function=False)
def cross_entropy(
    input: Operand, target: Operand, weight: Operand | None = None, size_average: Any = None,
    ignore_index: int = IGNORED, reduce: Any = None, reduction: str = "mean", label_smoothing: float = 0.0, *,
    dtype: Any = None,
) -> Any:  # fmt: skip
    """Compute the negative log-probability of the target, from unnormalised logits.

    target: class indices (int64 or uint8), or probabilities (floating point, of the input's shape).
    weight, ignore_index, reduction: as in `nll_loss`.  For probabilities, "mean" divides by the number of samples, and
    ignore_index is not allowed.
    label_smoothing: the share of each target, from 0 to 1, that is spread evenly over all classes.
    dtype: the type that the loss is computed in, as if the input and the weight were converted to it.
    Shapes: input [n, c, *] or [c], target [n, *], () or [1], or the input's shape; the result is () or [n, *].
    Host:   returns at once.
    Raises: IndexRangeError for a target outside the classes on the CPU (a device-side assert on a GPU), ArgumentError
            for a bad reduction, or a target of another shape, ValueRangeError for a label_smoothing out of range,
            ShapeError unless `weight` has one element for each class, DtypeError unless the input is floating point and
            the target int64, uint8 or floating point, ModeError for an ignore_index with probabilities.
    Example:
        >>> logits = torch.tensor([[2.0, 0.0], [0.0, 0.0]])
        >>> torch.nn.functional.cross_entropy(logits, torch.tensor([0, 1]), reduction="none")
        tensor([0.1269, 0.6931])
    """
    reduction = reduction_of("cross_entropy", size_average, reduce, reduction)
    if not 0 <= label_smoothing <= 1:
        raise ValueRangeError(
            f"label_smoothing must be between 0.0 and 1.0, got {label_smoothing}",
            hint="pass the fraction of the target that is spread over all classes: 0.1 is usual, 0.0 disables it",
            operator="cross_entropy",
        )
    if not target.dtype.is_floating_point:
        target = squeeze_target(input, target)
    elif ignore_index >= 0:
        raise ModeError(
            f"ignore_index={ignore_index} is not supported for targets that are probabilities",
            hint="leave it out, or pass class indices",
            operator="cross_entropy",
        )
    is_flat = len(input.shape) <= 2 and input.shape[-1:] != (0,)
    is_direct = is_flat and label_smoothing == 0 and not target.dtype.is_floating_point
    is_wide = is_direct and weight is None and dtype is input.dtype.wide
    if dtype is not None and not is_wide:
        input, weight = input.to(dtype), None if weight is None else weight.to(dtype)
        target = target.to(dtype) if target.dtype.is_floating_point else target
    if is_direct:
        if reduction == "none":
            return entropy_each(input, target, weight, ignore_index, is_wide)[0]
        return entropy_total(input, target, weight, ignore_index, reduction == "mean", is_wide)[0]
    dim = 0 if len(input.shape) <= 1 else 1
    logs: Any = log_softmax(input, dim)
    if target.dtype.is_floating_point:
        return _probability_loss(logs, target, weight, reduction, label_smoothing, dim)
    loss, total = class_loss(logs, target, weight, ignore_index, reduction)
    if label_smoothing == 0:
        return loss
    spread = _spread_loss(logs, target, weight, ignore_index, dim)
    spread = spread if reduction == "none" else spread.sum()
    spread = spread / total.to(spread.dtype) if reduction == "mean" else spread
    return loss * (1 - label_smoothing) + spread * (label_smoothing / max(input.shape[dim], 1))


def _along(weight: Any, ndim: int, dim: int) -> Any:
    """Reshape one number per class to broadcast along the class dimension."""
    return weight.reshape([-1 if axis == dim else 1 for axis in range(ndim)])


def _spread_loss(logs: Any, target: Any, weight: Any, ignored: int, dim: int) -> Any:
    """Return the loss for a target of every class: a sum over the classes, 0 where the target is ignored."""
    weighted = logs if weight is None else logs * _along(weight, len(logs.shape), dim)
    return (-weighted.sum(dim)).masked_fill(target == ignored, 0)


def _probability_loss(logs: Any, target: Any, weight: Any, reduction: str, smoothing: float, dim: int) -> Any:
    if target.shape != logs.shape:
        raise ValueRangeError(
            f"probabilities must have the input's shape; input is {list(logs.shape)}, target is {list(target.shape)}",
            hint="a floating point target holds probabilities; indexes of classes are int64: convert with .long()",
            operator="cross_entropy",
        )
    classes = logs.shape[dim]
    if smoothing:
        target = target * (1 - smoothing) + smoothing / max(classes, 1)
    terms = logs * target
    terms = terms if weight is None else terms * _along(weight, len(logs.shape), dim)
    if reduction == "none":
        return -terms.sum(dim)
    total = -terms.sum(dim).sum()
    return total if reduction == "sum" else total / (prod(logs.shape) // max(classes, 1))  # NaN if there are no rows


# binary targets


def _probabilities() -> Iterator[Sample]:
    yield Sample((Array((3, 4), low=0.1, high=0.9), Array((3, 4), low=0.0, high=1.0, seed=1)))
    yield Sample((Array((3, 4), low=0.1, high=0.9, layout="transposed"), Array((3, 4), low=0.0, high=1.0, seed=1)))


@pointwise(
    dtype=floating_only, samples=_probabilities, dtypes=FLOATING_TYPES, cost=20.0,
    cuda="(device_assert(input >= 0 && input <= 1), device_assert(target >= 0 && target <= 1), "
    "(target - 1) * fmax(log1p(-input), decltype(input)(-100)) - target * fmax(log(input), decltype(input)(-100)))",
    inplace=False, method=False, function=False,
)  # fmt: skip
def bernoulli_loss(input: Value, target: Value) -> Any:
    """Return the terms of `binary_cross_entropy`."""
    for name, values in (("input", input), ("target", target)):
        outside = np.flatnonzero(~((values >= 0) & (values <= 1)))
        if len(outside):
            raise ValueRangeError(
                f"all elements of {name} should be between 0 and 1, got {np.ravel(values)[outside[0]]}",
                hint="apply torch.sigmoid first, or use binary_cross_entropy_with_logits",
                operator="binary_cross_entropy",
            )
    floor = numpy_type(input).type(LOG_FLOOR)
    return (target - 1) * np.maximum(np.log1p(-input), floor) - target * np.maximum(np.log(input), floor)


@bernoulli_loss.derivative
def _(grad: Any, input: Any, target: Any, needs: Any) -> Any:
    of_input = grad * (input - target) / (input * (1 - input)).clamp(min=SLOPE_FLOOR)
    return of_input, grad * ((-input).log1p() - input.log()) if needs[1] else None


def _logits() -> Iterator[Sample]:
    yield Sample((Array((3, 4), low=-4, high=4), Array((3, 4), low=0.0, high=1.0, seed=1), 1))
    yield Sample((Array((3, 4)), Array((3, 4), low=0.0, high=1.0, seed=1), Array((4,), low=0.5, high=2.0, seed=2)))


@pointwise(
    dtype=floating_only, samples=_logits, dtypes=FLOATING_TYPES, cost=20.0,
    cuda="(1 - target) * input + (1 + (pos_weight - 1) * target) "
    "* (log1p(exp(-fabs(input))) + (input < 0 ? -input : 0))",
    inplace=False, method=False, function=False,
)  # fmt: skip
def logistic_loss(input: Value, target: Value, pos_weight: Value) -> Any:
    """Return the terms of `binary_cross_entropy_with_logits`."""
    one = numpy_type(input).type(1)
    softplus = np.log1p(np.exp(-np.abs(input))) + np.maximum(-input, 0)
    return (one - target) * input + (one + (pos_weight - one) * target) * softplus


@logistic_loss.derivative
def _(grad: Any, input: Any, target: Any, pos_weight: Any, needs: Any) -> Any:
    of_input = grad * ((1 - target) - (1 + (pos_weight - 1) * target) * (-input).sigmoid())
    softplus = (-input.abs()).exp().log1p() + (-input).relu() if needs[1] or needs[2] else None
    of_target = None
    if needs[1]:  # without weights skip softplus * 0, which is NaN where softplus is infinite
        of_target = grad * (softplus * (pos_weight - 1) - input) if is_tensor(pos_weight) else -grad * input
    return of_input, of_target, grad * target * softplus if needs[2] else None


def _check_same_size(name: str, input: Any, target: Any) -> None:
    if input.shape != target.shape:
        raise ArgumentError(
            f"target size {list(target.shape)} must be the same as input size {list(input.shape)}",
            hint="reshape the target, for example target.view_as(input) or target.unsqueeze(1)",
            operator=name,
        )


def _bad_binaries() -> Iterator[ErrorSample]:
    yield ErrorSample(
        (Array((2,), low=0.5, high=0.5), Array((1,))), ArgumentError, r"\[1\] must be the same as input size \[2\]"
    )


@composite(samples=_probabilities, errors=_bad_binaries, dtypes=FLOATING_TYPES, method=False, function=False)
def binary_cross_entropy(
    input: Operand, target: Operand, weight: Operand | None = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """Compute the binary cross entropy, -(target * log(input) + (1 - target) * log(1 - input)).

    weight: a factor of each element.  Logarithms below -100 count as -100.
    reduction: "mean" returns the mean of all losses, "sum" their sum, "none" each loss.
    Shapes: input and target have one shape, to which weight broadcasts; the result is (), or with reduction="none" that
            shape.
    Host:   returns at once.
    Raises: ArgumentError for different shapes or an unknown reduction, ValueRangeError for numbers outside [0, 1] on
            the CPU (a device-side assert on a GPU), DtypeError for integers.
    Example:
        >>> input, target = torch.tensor([0.9, 0.5]), torch.tensor([1.0, 0.0])
        >>> torch.nn.functional.binary_cross_entropy(input, target, reduction="none")
        tensor([0.1054, 0.6931])
    """
    reduction = reduction_of("binary_cross_entropy", size_average, reduce, reduction)
    _check_same_size("binary_cross_entropy", input, target)
    terms: Any = bernoulli_loss(input, target)
    return reduced(terms if weight is None else terms * weight, reduction)


def _logit_pairs() -> Iterator[Sample]:
    yield Sample((Array((3, 4), low=-4, high=4), Array((3, 4), low=0.0, high=1.0, seed=1)))
    yield Sample(
        (Array((3, 4)), Array((3, 4), low=0.0, high=1.0, seed=1)), {"pos_weight": Array((4,), low=0.5, high=2.0)}
    )


@composite(samples=_logit_pairs, errors=_bad_binaries, dtypes=FLOATING_TYPES, method=False)
def binary_cross_entropy_with_logits(
    input: Operand, target: Operand, weight: Operand | None = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean", pos_weight: Operand | None = None,
) -> Any:  # fmt: skip
    """Compute `binary_cross_entropy` of sigmoid(input), accurate for large logits too.

    weight: a factor of each element.
    pos_weight: a factor of the positive term, target * log(sigmoid(input)), for each class.
    reduction: "mean" returns the mean of all losses, "sum" their sum, "none" each loss.
    Shapes: input and target have one shape, to which the weights broadcast; the result is (), or with reduction="none"
            that shape.
    Host:   returns at once.
    Raises: ArgumentError for different shapes or a bad reduction, DtypeError for integers.
    Example:
        >>> input, target = torch.tensor([0.0, 3.0]), torch.tensor([1.0, 1.0])
        >>> torch.nn.functional.binary_cross_entropy_with_logits(input, target, reduction="none")
        tensor([0.6931, 0.0486])
    """
    reduction = reduction_of("binary_cross_entropy_with_logits", size_average, reduce, reduction)
    _check_same_size("binary_cross_entropy_with_logits", input, target)
    terms: Any = logistic_loss(input, target, 1 if pos_weight is None else pos_weight)
    return reduced(terms if weight is None else terms * weight, reduction)


EPSILON = 1e-12  # added to squared lengths in cosine_embedding_loss


def _check_reduction(name: str, reduction: str) -> None:
    if reduction not in REDUCTIONS:
        raise ArgumentError(
            f"{reduction!r} is not a valid value for reduction", hint="use 'none', 'mean' or 'sum'", operator=name
        )


# divergence and likelihoods


def _margin_terms() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), low=0.1, high=1.0, seed=1)))
    yield Sample((Array((2, 3), layout="strided"), Array((3,), low=0.1, high=1.0, seed=1)))


@pointwise(
    dtype=promoted, cuda="target > 0 ? target * (log(target) - input) : target == 0 ? target * -input : target / 0",
    samples=_margin_terms, dtypes=FLOATING_TYPES, cost=20.0, inplace=False, method=False, function=False,
)  # fmt: skip
def divergence(input: Value, target: Value) -> Any:
    """Return the terms of `kl_div`: target * (log(target) - input), without the logarithm where the target is 0."""
    number: Any = target
    logs = np.log(np.where(number == 0, 1, number))
    return number * (logs.astype(number.dtype) - input)


@divergence.derivative
def _(grad: Any, input: Any, target: Any, needs: Any) -> Any:
    return -(grad * target), grad * (target.log() + 1 - input) if needs[1] else None


def _divergences() -> Iterator[Sample]:
    pair = Array((3, 4)), Array((3, 4), low=0.1, high=1.0, seed=1)
    yield Sample(pair, {"reduction": "batchmean"})
    yield Sample(pair, {"reduction": "sum", "log_target": True})
    yield Sample((Array((4, 3), layout="transposed"), Array((4, 3), low=0.1, high=1.0)), {"reduction": "none"})


def _bad_reductions() -> Iterator[ErrorSample]:
    same = Array((2, 3)), Array((2, 3), low=0.5, high=1.0)
    yield ErrorSample(same, ArgumentError, "'average' is not a valid value", {"reduction": "average"})


@composite(samples=_divergences, errors=_bad_reductions, dtypes=FLOATING_TYPES, method=False, function=False)
def kl_div(
    input: Operand, target: Operand, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
    log_target: bool = False,
) -> Any:  # fmt: skip
    """Compute the Kullback-Leibler divergence, target * (log(target) - input), where input holds log-probabilities.

    reduction: "mean" returns the mean of all losses, "sum" their sum, "batchmean" the sum divided by the size of
    dimension 0, "none" each loss.  log_target: target holds logarithms too.
    Shapes: the inputs broadcast together; the result is (), or with reduction "none" their shape.
    Host:   returns at once.
    Raises: ArgumentError for a bad reduction, ShapeError if the shapes do not broadcast.
    Example:
        >>> input, target = torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[1.0, 0.0]])
        >>> torch.nn.functional.kl_div(input, target, reduction="batchmean")
        tensor(0.6931)
    """
    is_former = size_average is not None or reduce is not None
    wanted = reduction
    if reduction == "mean" and not is_former:
        callers.warn(
            "kl_div: reduction='mean' divides by the number of elements; 'batchmean' divides by the batch size, as "
            "the definition of the divergence does"
        )
    reduction = "sum" if reduction == "batchmean" and not is_former else reduction
    reduction = reduction_of("kl_div", size_average, reduce, reduction)
    values: Any = target
    terms = values.exp() * (values - input) if log_target else divergence(input, target)
    total = reduced(terms, reduction)
    return total / input.shape[0] if wanted == "batchmean" and input.shape else total


def _huber_terms() -> Iterator[Sample]:
    for sample in _margin_terms():
        yield Sample((*sample.args, 0.75))


@pointwise(
    dtype=floating_only, samples=_huber_terms, dtypes=FLOATING_TYPES, cost=4.0,
    cuda="fabs(input - target) <= delta ? (input - target) * (input - target) / 2 "
    ": delta * (fabs(input - target) - delta / 2)",
    inplace=False, method=False, function=False,
)  # fmt: skip
def huber_difference(input: Value, target: Value, delta: Value) -> Any:
    """Return the terms of `huber_loss`: quadratic up to `delta`, linear above."""
    distance = np.abs(input - target)
    return np.where(distance <= delta, distance * distance / 2, delta * (distance - delta / 2))


@huber_difference.derivative
def _(grad: Any, input: Any, target: Any, delta: float, needs: Any) -> Any:
    slope = (input - target).clamp(-delta, delta) * grad
    return slope, -slope if needs[1] else None, None


def _hubers() -> Iterator[Sample]:
    pair = Array((3, 4)), Array((3, 4), seed=1)
    yield Sample(pair)
    yield Sample(pair, {"reduction": "sum", "delta": 0.5})
    yield Sample(pair, {"reduction": "none", "weight": Array((3, 4), low=0.5, high=1.5, seed=2)})
    yield Sample((Array((0, 3)), Array((0, 3))), {"reduction": "none"})


def _bad_hubers() -> Iterator[ErrorSample]:
    pair = Array((2, 3)), Array((2, 3))
    yield ErrorSample(pair, ShapeError, "delta must be positive, got 0", {"delta": 0})
    yield ErrorSample(pair, ArgumentError, r"weight is \[3\], input is \[2, 3\]", {"weight": Array((3,))})
    yield from _bad_reductions()


@composite(samples=_hubers, errors=_bad_hubers, dtypes=FLOATING_TYPES, method=False, function=False)
def huber_loss(
    input: Operand, target: Operand, reduction: str = "mean", delta: float = 1.0, weight: Operand | None = None
) -> Any:
    """Compute d * d / 2 where d = |input - target| is at most delta, else delta * (d - delta / 2).

    weight: a factor for each loss, of the input's shape.
    reduction: "mean" returns the mean of all losses, "sum" their sum, "none" each loss.
    Shapes: different shapes broadcast, with a warning; the result is (), or the broadcast shape with reduction "none".
    Host:   returns at once.
    Raises: ArgumentError for a bad reduction or weight, ShapeError if the shapes do not broadcast or delta is not
            above 0.
    Example:
        >>> torch.nn.functional.huber_loss(torch.tensor([0.5, 4.0]), torch.tensor([0.0, 0.0]), reduction="none")
        tensor([0.1250, 3.5000])
    """
    _check_reduction("huber_loss", reduction)
    if delta <= 0:
        raise ShapeError(
            f"delta must be positive, got {delta}",
            hint="pass a number above 0: the loss is linear above delta",
            operator="huber_loss",
        )
    warn_sizes("huber_loss", input, target)
    terms: Any = huber_difference(input, target, float(delta))
    if weight is None:
        return reduced(terms, reduction)
    if weight.shape != input.shape:
        raise ArgumentError(
            f"weight must have the input's shape: weight is {list(weight.shape)}, input is {list(input.shape)}",
            hint="expand it: weight.expand_as(input)",
            operator="huber_loss",
        )
    return reduced(terms * weight, reduction)


def _counts() -> Iterator[Sample]:
    pair = Array((3, 4), low=0.2, high=2.0), Array((3, 4), low=0.3, high=4.0, seed=1, grad=False)
    yield Sample(pair)
    yield Sample(pair, {"log_input": False, "full": True})
    yield Sample(pair, {"reduction": "none", "full": True})


@composite(samples=_counts, errors=_bad_reductions, dtypes=FLOATING_TYPES, method=False, function=False)
def poisson_nll_loss(
    input: Operand, target: Operand, log_input: bool = True, full: bool = False, size_average: Any = None,
    eps: float = 1e-8, reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Compute the negative log-likelihood of counts, the target, under a Poisson distribution.

    log_input: True if the input is the logarithm of the rate: the loss is exp(input) - target * input.  False if it is
    the rate: the loss is input - target * log(input + eps).
    full: add Stirling's approximation of log(target!).
    reduction: "mean" returns the mean of all losses, "sum" their sum, "none" each loss.
    Shapes: the inputs broadcast together; the result is (), or with reduction "none" their shape.
    Host:   returns at once.
    Raises: ArgumentError for a bad reduction, ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.nn.functional.poisson_nll_loss(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 2.0]), reduction="none")
        tensor([1.0000, 0.7183])
    """
    reduction = reduction_of("poisson_nll_loss", size_average, reduce, reduction)
    rate: Any = input
    count: Any = target
    loss = rate.exp() - count * rate if log_input else rate - count * (rate + eps).log()
    if full:
        stirling = count * count.log() - count + (count * (2 * math.pi)).log() * 0.5
        loss = loss + stirling.masked_fill(count <= 1, 0)
    return reduced(loss, reduction)


def _variances() -> Iterator[Sample]:
    yield Sample((Array((3, 4)),))
    yield Sample((Array((2, 3), layout="strided"),))


@pointwise(
    dtype=to_bool, cuda="!(input < 0)", samples=_variances, dtypes=FLOATING_TYPES, inplace=False, method=False,
    function=False, differentiable=False,
)  # fmt: skip
def not_negative(input: Value) -> Any:
    """Return whether a number is 0 or more, or NaN."""
    return np.logical_not(np.less(input, 0))


def _gaussian_terms() -> Iterator[Sample]:
    variance = Array((3, 4), low=0.5, high=2.0, seed=2)
    yield Sample((Array((3, 4)), Array((3, 4), seed=1), variance, 1e-6, 0.0))
    row = variance._replace(shape=(3, 1), layout="strided")
    yield Sample((Array((3, 4), layout="transposed"), Array((4,), seed=1), row, 1e-6, 0.5))


@pointwise(
    dtype=floating_only, samples=_gaussian_terms, dtypes=FLOATING_TYPES, cost=20.0,
    cuda="(log(var < floor ? floor : var) + (input - target) * (input - target) / (var < floor ? floor : var)) / 2"
    " + constant",
    inplace=False, method=False, function=False,
)  # fmt: skip
def gaussian_loss(input: Value, target: Value, var: Value, floor: Value, constant: Value) -> Any:
    """Return the terms of `gaussian_nll_loss`, for variances of at least `floor`."""
    spread = np.maximum(var, floor)
    return (np.log(spread) + np.square(input - target) / spread) / 2 + constant


@gaussian_loss.derivative
def _(grad: Any, input: Any, target: Any, var: Any, floor: Any, needs: Any) -> Any:
    spread = raised(var, floor)  # the gradient of a variance below the floor is that of the floor
    slope = (input - target) * grad / spread
    of_var = None
    if needs[2]:
        apart = input - target
        of_var = grad * (1 - apart * apart / spread) / (spread * 2)
    return slope, -slope if needs[1] else None, of_var, None, None


def _gaussians() -> Iterator[Sample]:
    pair = Array((3, 4)), Array((3, 4), seed=1)
    yield Sample((*pair, Array((3, 4), low=0.5, high=2.0, seed=2)))
    yield Sample((*pair, Array((3,), low=0.5, high=2.0, seed=2)), {"full": True, "reduction": "sum"})
    yield Sample((*pair, 2.0), {"reduction": "none"})


def _bad_gaussians() -> Iterator[ErrorSample]:
    pair = Array((2, 3)), Array((2, 3))
    yield ErrorSample((*pair, -1.0), ArgumentError, "var has negative entries")
    yield ErrorSample((*pair, Array((2, 3), low=-2, high=-1)), ArgumentError, "var has negative entries")
    yield ErrorSample((*pair, Array((3,), low=1, high=2)), ArgumentError, r"var is \[3\], input is \[2, 3\]")
    yield ErrorSample((*pair, 1.0), ArgumentError, "'average' is not a valid value", {"reduction": "average"})


@composite(samples=_gaussians, errors=_bad_gaussians, dtypes=FLOATING_TYPES, method=False, function=False, host="waits")
def gaussian_nll_loss(
    input: Operand, target: Operand, var: Value, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """Compute the negative log-likelihood of a normal distribution: (log(var) + (input - target) ** 2 / var) / 2.

    var: the variances, clamped to at least eps; one number for all, one for each element, or one for each row.
    full: add the constant log(2 pi) / 2.  reduction: "mean", "sum", or "none" for each term.
    Shapes: input and target [*]; var [*], or without the last dimension, or with size 1 in one dimension; the result
            is (), or [*] with reduction "none".
    Host:   waits to check variances on a GPU.
    Raises: ArgumentError for negative variances, a bad shape or a bad reduction.
    Example:
        >>> input, target = torch.tensor([0.0, 1.0]), torch.tensor([0.0, 3.0])
        >>> torch.nn.functional.gaussian_nll_loss(input, target, torch.ones(2), reduction="none")
        tensor([0., 2.])
    """
    mean: Any = input
    if not hasattr(var, "shape"):
        spread: Any = mean.new_full(mean.shape, var)
        is_negative = var < 0
    else:
        spread = var
        are_fit: Any = not_negative(spread)
        is_negative = not bool(are_fit.all())  # a check passes where virtual GPUs compute no values
    if is_negative:
        raise ArgumentError(
            "var has negative entries",
            hint="pass variances, which are 0 or more, not logarithms of variances",
            operator="gaussian_nll_loss",
        )
    if tuple(spread.shape) != tuple(mean.shape):
        differ = [have for size, have in zip(mean.shape, spread.shape) if size != have]
        if tuple(spread.shape) == tuple(mean.shape[:-1]):
            spread = spread.unsqueeze(-1)
        elif len(spread.shape) != len(mean.shape) or sum(differ) != 1:
            raise ArgumentError(
                f"var is of incorrect size: var is {list(spread.shape)}, input is {list(mean.shape)}",
                hint="pass one variance for each element, or one for each row",
                operator="gaussian_nll_loss",
            )
    _check_reduction("gaussian_nll_loss", reduction)
    constant = 0.5 * math.log(2 * math.pi) if full else 0.0
    return reduced(gaussian_loss(mean, target, spread, float(eps), constant), reduction)


# margins


def _signed() -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield Sample((Array((3, 4)), Array((3, 4), low=1, high=1, grad=False)), {"reduction": reduction})
    yield Sample((Array((3, 4)), Array((3, 4), low=-1, high=-1, grad=False)))


@composite(samples=_signed, errors=_bad_reductions, dtypes=FLOATING_TYPES, method=False, function=False)
def hinge_embedding_loss(
    input: Operand, target: Operand, margin: float = 1.0, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """Return input where the target is 1, and max(0, margin - input) where it is -1.

    reduction: "mean" returns the mean of all losses, "sum" their sum, "none" each loss.
    Shapes: the inputs broadcast together; the result is (), or with reduction "none" their shape.
    Host:   returns at once.
    Raises: ArgumentError for a bad reduction, ShapeError if the shapes do not broadcast.
    Example:
        >>> input, target = torch.tensor([0.5, 0.2]), torch.tensor([1.0, -1.0])
        >>> torch.nn.functional.hinge_embedding_loss(input, target, reduction="none")
        tensor([0.5000, 0.8000])
    """
    reduction = reduction_of("hinge_embedding_loss", size_average, reduce, reduction)
    distance: Any = input
    apart = (margin - distance).clamp_min(0)
    label: Any = target
    where = REGISTRY["where"]
    return reduced(where(label != 1, apart, 0) + where(label != -1, distance, 0), reduction)


def _ranked() -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        pair = Array((3, 4)), Array((3, 4), seed=1)
        yield Sample((*pair, Array((3, 4), low=1, high=1, grad=False)), {"reduction": reduction, "margin": 0.3})


def _bad_ranks() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2,)), Array((2,)), Array((1, 2))), ShapeError, r"\[2\].*\[2\].*\[1, 2\]")
    same = Array((2,)), Array((2,)), Array((2,))
    yield ErrorSample(same, ArgumentError, "'average' is not a valid value", {"reduction": "average"})


@composite(samples=_ranked, errors=_bad_ranks, dtypes=FLOATING_TYPES, method=False, function=False)
def margin_ranking_loss(
    input1: Operand, input2: Operand, target: Operand, margin: float = 0, size_average: Any = None,
    reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Compute max(0, margin - target * (input1 - input2)).

    target: 1 where input1 should be the larger one, -1 where input2 should be.
    reduction: "mean" returns the mean of all losses, "sum" their sum, "none" each loss.
    Shapes: the inputs have the same number of dimensions and broadcast together; the result is (), or the broadcast
            shape with reduction "none".
    Host:   returns at once.
    Raises: ArgumentError for a bad reduction, ShapeError if the shapes do not broadcast or differ in the number of
            dimensions.
    Example:
        >>> first, second = torch.tensor([1.0, 1.0]), torch.tensor([0.0, 3.0])
        >>> torch.nn.functional.margin_ranking_loss(first, second, torch.ones(2), reduction="none")
        tensor([0., 2.])
    """
    reduction = reduction_of("margin_ranking_loss", size_average, reduce, reduction)
    shapes = [list(operand.shape) for operand in (input1, input2, target)]
    if len({len(shape) for shape in shapes}) > 1:
        raise ShapeError(
            f"all inputs should have the same number of dimensions, got shapes {', '.join(map(str, shapes))}",
            hint="add dimensions with unsqueeze()",
            operator="margin_ranking_loss",
        )
    label: Any = target
    return reduced((margin - label * (input1 - input2)).clamp_min(0), reduction)


def _directed() -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        pair = Array((3, 4)), Array((3, 4), seed=1)
        yield Sample((*pair, Array((3,), low=1, high=1, grad=False)), {"reduction": reduction})
    yield Sample((Array((4,)), Array((4,), seed=1), Array((), low=-1, high=-1, grad=False)), {"margin": -0.9})


def _bad_directions() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), Array((2, 3)), Array(())), ShapeError, r"0D target .* 1D inputs.*\[2, 3\]")
    yield ErrorSample((Array((3,)), Array((3,)), Array((3,))), ShapeError, r"1D target .* 2D inputs.*\[3\]")
    yield ErrorSample((Array((3,)), Array((3,)), Array((1, 1))), ShapeError, r"0D or 1D target.*\[1, 1\]")


@composite(samples=_directed, errors=_bad_directions, dtypes=FLOATING_TYPES, method=False, function=False)
def cosine_embedding_loss(
    input1: Operand, input2: Operand, target: Operand, margin: float = 0, size_average: Any = None,
    reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Compute 1 - s where the target is 1, and max(0, s - margin) where it is -1.

    s is the cosine similarity of the vectors input1 and input2.

    reduction: "mean" returns the mean of all losses, "sum" their sum, "none" each loss.
    Shapes: inputs [n, d] and target [n], or [d] and (); the result is (), or with reduction "none" the target's shape.
    Host:   returns at once.
    Raises: ArgumentError for a bad reduction, ShapeError if the shapes do not fit.
    Example:
        >>> first, second = torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([[1.0, 0.0], [1.0, 1.0]])
        >>> torch.nn.functional.cosine_embedding_loss(first, second, torch.tensor([1, -1]), reduction="none")
        tensor([0.0000, 0.7071])
    """
    reduction = reduction_of("cosine_embedding_loss", size_average, reduce, reduction)
    ndim = len(target.shape)
    shapes = [list(operand.shape) for operand in (input1, input2)]
    if ndim > 1 or any(len(shape) != ndim + 1 for shape in shapes):
        wanted = "a 0D or 1D target is expected" if ndim > 1 else f"a {ndim}D target expects {ndim + 1}D inputs"
        raise ShapeError(
            f"{wanted}, got inputs {shapes[0]} and {shapes[1]}, target {list(target.shape)}",
            hint="vectors are rows: inputs [n, d], target [n]",
            operator="cosine_embedding_loss",
        )
    a: Any = input1
    b: Any = input2
    label: Any = target
    lengths = ((a * a).sum(-1) + EPSILON) * ((b * b).sum(-1) + EPSILON)
    cosine = (a * b).sum(-1) / lengths.sqrt()
    where = REGISTRY["where"]
    return reduced(where(label == 1, 1 - cosine, 0) + where(label == -1, (cosine - margin).clamp_min(0), 0), reduction)


def _triplets() -> Iterator[Sample]:
    triplet = Array((3, 4)), Array((3, 4), seed=1), Array((3, 4), seed=2)
    yield Sample(triplet)
    yield Sample(triplet, {"margin": 3.0, "swap": True, "reduction": "none"})
    yield Sample(triplet, {"margin": 2.0, "p": 1.0, "reduction": "sum"})


def _bad_triplets() -> Iterator[ErrorSample]:
    triplet = Array((2, 3)), Array((2, 3)), Array((2, 3))
    yield ErrorSample(triplet, ArgumentError, "margin must be greater than 0, got 0", {"margin": 0})
    yield ErrorSample((*triplet[:2], Array((3,))), ShapeError, r"2D, 2D and 1D")
    yield ErrorSample(triplet, ArgumentError, "'average' is not a valid value", {"reduction": "average"})


def check_triplet(name: str, margin: float, anchor: Any, positive: Any, negative: Any) -> None:
    """Raise ArgumentError for a margin that is not positive, ShapeError for different numbers of dimensions."""
    if margin <= 0:
        raise ArgumentError(
            f"margin must be greater than 0, got {margin}", hint="pass a number above 0: 1.0 is usual", operator=name
        )
    ranks = [len(operand.shape) for operand in (anchor, positive, negative)]
    if len(set(ranks)) > 1:
        raise ShapeError(
            "anchor, positive and negative are expected to have the same number of dimensions, but are "
            f"{ranks[0]}D, {ranks[1]}D and {ranks[2]}D",
            hint="add dimensions with unsqueeze()",
            operator=name,
        )


@composite(samples=_triplets, errors=_bad_triplets, dtypes=FLOATING_TYPES, method=False, function=False)
def triplet_margin_loss(
    anchor: Operand, positive: Operand, negative: Operand, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
    swap: bool = False, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Compute max(0, margin + d(anchor, positive) - d(anchor, negative)), where d is the p-norm distance.

    p: the order of the norm.  eps: added to each element of the difference.
    swap: replace the distance of anchor and negative by that of positive and negative where the latter is smaller.
    reduction: "mean" returns the mean of all losses, "sum" their sum, "none" each loss.
    Shapes: [*, d] each; the result is (), or with reduction "none" [*].
    Host:   returns at once.
    Raises: ArgumentError for a bad reduction or margin, ShapeError if the shapes do not broadcast.
    Example:
        >>> anchor, near, far = torch.zeros(1, 2), torch.tensor([[0.0, 1.0]]), torch.tensor([[0.0, 1.5]])
        >>> torch.nn.functional.triplet_margin_loss(anchor, near, far)
        tensor(0.5000)
    """
    reduction = reduction_of("triplet_margin_loss", size_average, reduce, reduction)
    check_triplet("triplet_margin_loss", margin, anchor, positive, negative)
    near, far = (pairwise_distance(anchor, other, p, eps) for other in (positive, negative))
    if swap:
        far = REGISTRY["minimum"](far, pairwise_distance(positive, negative, p, eps))
    return reduced((margin + near - far).clamp_min(0), reduction)


def _soft_labels() -> Iterator[Sample]:
    pair = Array((3, 4)), Array((3, 4), low=0.0, high=1.0, seed=1)
    for reduction in REDUCTIONS:
        yield Sample(pair, {"reduction": reduction})
    yield Sample(pair, {"weight": Array((4,), low=0.5, high=2.0, seed=2)})


@composite(samples=_soft_labels, errors=_bad_reductions, dtypes=FLOATING_TYPES, method=False, function=False)
def multilabel_soft_margin_loss(
    input: Operand, target: Operand, weight: Operand | None = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """Compute the mean over the classes of the binary cross entropy of sigmoid(input).

    weight: a factor of each class.

    reduction: "mean" returns the mean of all losses, "sum" their sum, "none" each loss.
    Shapes: input and target [*, c]; the result is (), or with reduction "none" [*].
    Host:   returns at once.
    Raises: ArgumentError for a bad reduction, ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.nn.functional.multilabel_soft_margin_loss(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]]))
        tensor(0.6931)
    """
    reduction = reduction_of("multilabel_soft_margin_loss", size_average, reduce, reduction)
    terms: Any = logistic_loss(input, target, 1)
    terms = terms if weight is None else terms * weight
    dim = len(input.shape) - 1  # of the classes, also if the target has more dimensions
    return reduced(terms.sum(dim) / input.shape[dim], reduction)


def _signed_terms() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), low=-1, high=1, seed=1)))
    yield Sample((Array((2, 3), layout="strided"), Array((3,), low=-1, high=1, seed=1)))


@pointwise(
    dtype=to_float, cuda="log1p(exp(-target * input))", samples=_signed_terms, dtypes=FLOATING_TYPES, cost=20.0,
    inplace=False, method=False, function=False,
)  # fmt: skip
def soft_margin(input: Value, target: Value) -> Any:
    """Return the terms of `soft_margin_loss`: log(1 + exp(-target * input))."""
    negative: Any = -target
    return np.log1p(np.exp(negative * input))


@soft_margin.derivative
def _(grad: Any, input: Any, target: Any, needs: Any) -> Any:
    odds = (-target * input).exp()
    slope = -grad * odds / (1 + odds)
    return slope * target if needs[0] else None, slope * input if needs[1] else None


@composite(samples=_signed, errors=_bad_reductions, dtypes=FLOATING_TYPES, method=False, function=False)
def soft_margin_loss(
    input: Operand, target: Operand, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """Compute log(1 + exp(-target * input)), with targets of 1 and -1.

    reduction: "mean" returns the mean of all losses, "sum" their sum, "none" each loss.
    Shapes: the inputs broadcast together; the result is (), or with reduction "none" their shape.
    Host:   returns at once.
    Raises: ArgumentError for a bad reduction, ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.nn.functional.soft_margin_loss(torch.tensor([0.0, 1.0]), torch.tensor([1.0, -1.0]), reduction="none")
        tensor([0.6931, 1.3133])
    """
    reduction = reduction_of("soft_margin_loss", size_average, reduce, reduction)
    return reduced(soft_margin(input, target), reduction)
