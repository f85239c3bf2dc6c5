"""Pointwise combinations of three operands, as optimizers use them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import dtypes
from ..dtypes import dtype
from ..errors import DtypeError, ShapeError
from ..host import np
from .operator import Array, ErrorSample, Sample, Value
from .pointwise import Types, floating_only, numbers, pointwise

NUMBERS = tuple(each for each in dtypes.ALL if each is not dtypes.bool_)


def _three() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), seed=1), Array((3, 4), 0.5, 2, seed=2)))
    yield Sample((Array((3, 1)), Array((4,), seed=1), 0.5))
    yield Sample((Array((4, 3), layout="transposed"), Array((4, 3), seed=1), 2.0))


def _unfit() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3, 4)), Array((3,)), Array((4,))), ShapeError, r"\[3, 4\] and \[3\] .* do not broadcast")


def _unfit_floats() -> Iterator[ErrorSample]:
    yield from _unfit()
    integers = Array((3,), dtype="int64")
    yield ErrorSample((integers, integers, integers), DtypeError, "must be floating point, got int64")


@pointwise(
    dtype=floating_only,
    cuda="fabs(weight) < 0.5 ? start + weight * (end - start) : end - (end - start) * (1 - weight)",
    factor="weight",
    samples=_three,
    errors=_unfit_floats,
    dtypes=dtypes.FLOATING_TYPES,
    other_names={"input": "start"},
)
def lerp(start: Value, end: Value, weight: Value) -> Any:
    """Blend from `start` (weight 0) to `end` (weight 1) along a straight line, computed from the nearer of the two.

    Shapes: the three inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Example:
        >>> torch.lerp(torch.tensor([0.0, 10.0]), torch.tensor([100.0, 20.0]), 0.25)
        tensor([25.0000, 12.5000])
    """
    apart = end - start
    return np.where(np.abs(weight) < 0.5, start + weight * apart, end - apart * (1 - weight))


@lerp.derivative(only_for={"start": "weight", "end": "weight"})
def _(grad: Any, start: Any, end: Any, weight: Any, needs: Any) -> Any:
    return grad * (1 - weight), grad * weight, grad * (end - start) if needs[2] else None


def _scaled() -> Iterator[Sample]:
    for value in (1, 3):
        yield Sample((Array((3, 4)), Array((3, 4), seed=1), Array((3, 4), 1, 3, seed=2)), {"value": value})
    yield Sample((Array((3, 1)), Array((4,), seed=1), Array((), 1, 3)), {"value": 2})
    yield Sample((Array((4, 3), layout="transposed"), Array((4, 3), seed=1), Array((4, 3), 1, 3, seed=2)))


@pointwise(
    dtype=numbers, cuda="input + value * tensor1 * tensor2", factor="value", samples=_scaled, errors=_unfit,
    dtypes=NUMBERS, cost=3.0,
)  # fmt: skip
def addcmul(input: Value, tensor1: Value, tensor2: Value, value: Value = 1) -> Any:
    """`input + value * tensor1 * tensor2`.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Example:
        >>> x = torch.tensor([1.0, 1.0])
        >>> torch.addcmul(x, torch.tensor([2.0, 3.0]), torch.tensor([4.0, 5.0]), value=0.5)
        tensor([5.0000, 8.5000])
    """
    return input + value * tensor1 * tensor2


@addcmul.derivative(only_for={"tensor1": "tensor2", "tensor2": "tensor1"})
def _(grad: Any, tensor1: Any, tensor2: Any, value: Any, needs: Any) -> Any:
    return grad, grad * tensor2 * value if needs[1] else None, grad * tensor1 * value if needs[2] else None, None


def _true_quotient(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    """As `floating_only`; two integers are no quotient."""
    if not types[1].is_floating_point and not types[2].is_floating_point:
        raise DtypeError(
            f"tensor1 or tensor2 must be floating point, got {types[1].name} and {types[2].name}",
            hint="convert one with .float()",
            operator=name,
        )
    return floating_only(name, types, common)


@pointwise(
    dtype=_true_quotient,
    cuda="input + value * (tensor1 / tensor2)",
    factor="value",
    samples=_scaled,
    errors=_unfit_floats,
    dtypes=dtypes.FLOATING_TYPES,
    cost=3.0,
)
def addcdiv(input: Value, tensor1: Value, tensor2: Value, value: Value = 1) -> Any:
    """`input + value * tensor1 / tensor2`, for floating point.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: DtypeError for integers.
    Example:
        >>> x = torch.tensor([1.0, 1.0])
        >>> torch.addcdiv(x, torch.tensor([2.0, 3.0]), torch.tensor([4.0, 6.0]), value=2)
        tensor([2., 2.])
    """
    return input + value * (tensor1 / tensor2)


@addcdiv.derivative(only_for={"tensor1": "tensor2"})
def _(grad: Any, tensor1: Any, tensor2: Any, value: Any, needs: Any) -> Any:
    by_first = grad * value / tensor2 if needs[1] else None
    return grad, by_first, -grad * value * tensor1 / (tensor2 * tensor2) if needs[2] else None, None
