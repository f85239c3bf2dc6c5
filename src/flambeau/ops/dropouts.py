"""Dropout of whole channels, and dropout that keeps the mean and variance of SELU's values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ..dtypes import FLOATING_TYPES
from ..errors import ArgumentError, ShapeError
from .operator import Array, ErrorSample, Operand, Sample, composite
from .random import bernoulli

SATURATED = 1.7580993408473766  # the negative of the value to which SELU falls
NAMES = {"train": "training"}


def _samples() -> Iterator[Sample]:
    for training in (True, False):
        yield Sample((Array((5, 4, 3)), 0.5, training))
    yield Sample((Array((4, 3), layout="transposed"), 0.25, True))
    yield Sample((Array((3, 2)), 1.0, True))
    yield Sample((Array((0, 3)), 0.5, True))


def _errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3, 2)), -0.5, True), ArgumentError, "has to be between 0 and 1, but got -0.5")


def _feature_errors() -> Iterator[ErrorSample]:
    yield from _errors()
    yield ErrorSample((Array((3,)), 0.5, True), ShapeError, r"at least 2 dimensions, got \[3\]")


def _dropped(name: str, input: Any, p: float, training: bool, by_feature: bool, is_alpha: bool) -> Any:
    if not 0 <= p <= 1:
        raise ArgumentError(
            f"dropout probability has to be between 0 and 1, but got {p}",
            hint="p is the share of what becomes 0, for example 0.5",
            operator=name,
        )
    if not training or p == 0 or not input.numel():
        return input
    if p == 1:
        return input * 0
    if by_feature and len(input.shape) < 2:
        raise ShapeError(
            f"feature dropout needs at least 2 dimensions, got {list(input.shape)}",
            hint="the features are dimension 1: [n, c, *]",
            operator=name,
        )
    shape = (*input.shape[:2], *[1] * (len(input.shape) - 2)) if by_feature else input.shape
    kept: Any = bernoulli(input.new_ones(shape), 1 - p)
    if not is_alpha:
        return input * (kept / (1 - p))
    scale = 1 / math.sqrt((SATURATED * SATURATED * p + 1) * (1 - p))
    return input * (kept * scale) + ((kept - 1) * (SATURATED * scale) + SATURATED * scale * p)


@composite(samples=_samples, errors=_errors, dtypes=FLOATING_TYPES, method=False, other_names=NAMES)
def alpha_dropout(input: Operand, p: float = 0.5, training: bool = False) -> Any:
    """Dropout for SELU: set elements to its saturated value with probability p; mean and variance stay 0 and 1.

    Shapes: as the input's.
    Host:   returns at once.
    Raises: ArgumentError if p is not in [0, 1].
    Example:
        >>> torch.alpha_dropout(torch.ones(3), p=0.5, train=False)
        tensor([1., 1., 1.])
    """
    return _dropped("alpha_dropout", input, p, training, False, True)


@composite(samples=_samples, errors=_feature_errors, dtypes=FLOATING_TYPES, method=False, other_names=NAMES)
def feature_dropout(input: Operand, p: float = 0.5, training: bool = False) -> Any:
    """Set each channel of each instance to 0 with probability p, and scale the others by 1 / (1 - p).

    Shapes: [n, c, *]; the result as the input.
    Host:   returns at once.
    Raises: ArgumentError if p is not in [0, 1], ShapeError for fewer than 2 dimensions.
    Example:
        >>> x = torch.feature_dropout(torch.ones(50, 4, 3), p=0.5, train=True)
        >>> sorted(set(x.sum(2).flatten().tolist()))
        [0.0, 6.0]
    """
    return _dropped("feature_dropout", input, p, training, True, False)


@composite(samples=_samples, errors=_feature_errors, dtypes=FLOATING_TYPES, method=False, other_names=NAMES)
def feature_alpha_dropout(input: Operand, p: float = 0.5, training: bool = False) -> Any:
    """`alpha_dropout` of whole channels.

    Shapes: [n, c, *]; the result as the input.
    Host:   returns at once.
    Raises: ArgumentError if p is not in [0, 1], ShapeError for fewer than 2 dimensions.
    Example:
        >>> torch.feature_alpha_dropout(torch.ones(1, 2), p=0.5, train=False)
        tensor([[1., 1.]])
    """
    return _dropped("feature_alpha_dropout", input, p, training, True, True)
