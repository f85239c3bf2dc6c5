"""Pointwise arithmetic: sums, products, quotients, powers, and the larger and the smaller."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log
from typing import Any

from .. import dtypes
from ..dtypes import dtype
from ..errors import ArgumentError, DtypeError, ShapeError
from ..host import np
from .operator import REGISTRY, Array, ErrorSample, Operand, Sample, Value, composite
from .pointwise import floating_only, numbers, pointwise, promoted, to_float

NUMBERS = tuple(each for each in dtypes.ALL if each is not dtypes.bool_)


def pairs() -> Iterator[Sample]:
    """Two operands: dense, broadcast, strided, empty, zero-dimensional, mixed with numbers and other types."""
    yield Sample((Array((3, 4)), Array((3, 4), seed=1)))
    yield Sample((Array((3, 1)), Array((4,), seed=1)))
    yield Sample((Array((4, 3), layout="transposed"), Array((4, 3), seed=1)))
    yield Sample((Array((2, 3), layout="strided"), 2))
    yield Sample((Array((5,)), Array((), seed=1)))
    yield Sample((Array((0, 3)), Array((3,), seed=1)))
    yield Sample((Array((3,)), Array((3,), dtype="float32", seed=1, grad=False)))
    yield Sample((Array(()), 1.5))


def divisible_pairs() -> Iterator[Sample]:
    """As `pairs`, with divisors away from 0 and values away from the steps of rounding."""
    yield Sample((Array((3, 4), 1, 7), Array((3, 4), 1, 4, seed=1)))
    yield Sample((Array((3, 1), -7, -1), Array((4,), 2, 4, seed=1)))
    yield Sample((Array((4, 3), 1, 7, layout="transposed"), Array((4, 3), 1, 4, seed=1)))
    yield Sample((Array((2, 3), 1, 7, layout="strided"), 2))
    yield Sample((Array((0, 3)), Array((3,), 1, 2, seed=1)))
    yield Sample((3, Array((2,), 1, 4)))


def singles() -> Iterator[Sample]:
    """One operand of every layout."""
    yield Sample((Array((3, 4)),))
    yield Sample((Array((4, 3), layout="transposed"),))
    yield Sample((Array((2, 3), layout="strided"),))
    yield Sample((Array((0, 3)),))
    yield Sample((Array(()),))


def positives() -> Iterator[Sample]:
    """As `singles`, with values above 0."""
    for (each,) in (sample.args for sample in singles()):
        yield Sample((each._replace(low=0.5, high=3.0),))


def unbroadcastable() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3, 4)), Array((3,))), ShapeError, r"shapes \[3, 4\] and \[3\] do not broadcast")


def bool_operands() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,), dtype="bool"), Array((3,), dtype="bool")), DtypeError, "bool operands are not supported")


def bool_operand() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,), dtype="bool"),), DtypeError, "bool operands are not supported")


@pointwise(dtype=promoted, cuda="input + alpha * other", samples=tuple, inplace=False, method=False, function=False)
def add_scaled(input: Value, other: Value, alpha: Value) -> Any:
    """`input + alpha * other`."""
    return input + alpha * other


@add_scaled.derivative
def _(grad: Any, alpha: Any) -> Any:
    return grad, grad * alpha, None


@pointwise(dtype=promoted, cuda="input + other", samples=pairs, errors=unbroadcastable, dtypes=dtypes.ALL)
def add(input: Value, other: Value) -> Any:
    """Sum of two tensors, or of a tensor and a number; `alpha` scales the second.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    """
    return input + other


@add.derivative
def _(grad: Any) -> Any:
    return grad, grad


@pointwise(dtype=numbers, cuda="input - other", samples=pairs, errors=bool_operands, dtypes=NUMBERS)
def sub(input: Value, other: Value) -> Any:
    """Difference of two tensors, or of a tensor and a number; `alpha` scales the second.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    """
    return input - other


@sub.derivative
def _(grad: Any, needs: Any) -> Any:
    return grad, -grad if needs[1] else None


@pointwise(dtype=promoted, cuda="input * other", samples=pairs, errors=unbroadcastable, dtypes=dtypes.ALL)
def mul(input: Value, other: Value) -> Any:
    """Product of two tensors, or of a tensor and a number.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    """
    return input * other


@mul.derivative(only_for={"input": "other", "other": "input"})
def _(grad: Any, input: Any, other: Any, needs: Any) -> Any:
    return grad * other if needs[0] else None, grad * input if needs[1] else None


@pointwise(dtype=to_float, cuda="input / other", samples=divisible_pairs, errors=unbroadcastable, dtypes=dtypes.ALL)
def div(input: Value, other: Value) -> Any:
    """Quotient of two tensors, or of a tensor and a number; integers give float32.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    """
    return input / other


@div.derivative(only_for={"input": "other"})
def _(grad: Any, input: Any, other: Any, needs: Any) -> Any:
    return grad / other if needs[0] else None, -grad * input / (other * other) if needs[1] else None


@pointwise(dtype=numbers, cuda="floored(input, other)", samples=divisible_pairs, dtypes=NUMBERS, cost=4.0, differentiable=False)
def floor_divide(input: Value, other: Value) -> Any:
    """Quotient rounded down.  An integer divided by 0 gives 0, on every device.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    """
    if input.dtype.kind in "iu":
        return np.where(other == 0, np.zeros_like(input), np.floor_divide(input, np.where(other == 0, np.ones_like(other), other)))
    return np.floor_divide(input, other)


@pointwise(dtype=numbers, cuda="remains(input, other)", samples=divisible_pairs, dtypes=NUMBERS, cost=4.0)
def remainder(input: Value, other: Value) -> Any:
    """What is left after `floor_divide`; it has the divisor's sign.  For an integer and 0 it is 0.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    """
    if input.dtype.kind in "iu":
        return np.where(other == 0, np.zeros_like(input), np.remainder(input, np.where(other == 0, np.ones_like(other), other)))
    return np.remainder(input, other)


@remainder.derivative(only_for={"input": "other", "other": "other"})
def _(grad: Any, input: Any, other: Any, needs: Any) -> Any:
    return grad, -grad * floor_divide(input, other) if needs[1] else None


def _powers() -> Iterator[Sample]:
    yield Sample((Array((3, 4), 0.5, 3), Array((3, 4), 1, 3, seed=1)))
    yield Sample((Array((3, 1), 0.5, 3), Array((4,), 1, 3, seed=1)))
    yield Sample((Array((4, 3), 0.5, 3, layout="transposed"), 2))
    yield Sample((Array((3,), -3, 3), 3))
    yield Sample((2, Array((4,), 1, 3)))
    yield Sample((Array((0, 3)), 2))


def _negative_powers() -> Iterator[ErrorSample]:
    fact = "Integers to negative integer powers are not allowed"
    yield ErrorSample((Array((3,), 1, 4, dtype="int64"), -2), ArgumentError, fact)


@pointwise(dtype=numbers, cuda="power(input, exponent)", samples=_powers, dtypes=NUMBERS, cost=20.0, method=False, function=False)
def power(input: Value, exponent: Value) -> Any:
    """`input` to the power `exponent`, element by element.  Integers wrap."""
    if input.dtype.kind in "iu":
        negative = exponent < 0
        found = np.power(input, np.where(negative, np.zeros_like(exponent), exponent))
        odd = np.where(exponent % 2 == 1, input, np.ones_like(input))
        return np.where(negative, np.where(np.abs(input) == 1, odd, np.zeros_like(input)), found)
    return np.power(input, exponent)


@power.derivative(only_for={"out": "exponent"})
def _(grad: Any, out: Any, input: Any, exponent: Any, needs: Any) -> Any:
    by_base = grad * exponent * power(input, exponent - 1) if needs[0] else None
    if not needs[1]:
        return by_base, None
    logarithm = log(input) if isinstance(input, (int, float)) else masked_log(input)
    return by_base, grad * out * logarithm


def masked_log(input: Any) -> Any:
    """The logarithm where it exists and 0 elsewhere: 0 ** x does not change with x."""
    return REGISTRY["where"](input > 0, REGISTRY["log"](clamp_min(input, 1e-300 if input.dtype is dtypes.float64 else 1e-38)), 0)


@composite(samples=_powers, errors=_negative_powers, dtypes=NUMBERS, name="pow")
def pow_(input: Value, exponent: Value) -> Any:
    """`input` to the power `exponent`, element by element.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ArgumentError for integers to a negative number.
    """
    if isinstance(exponent, (int, float)) and not isinstance(input, (int, float)):
        integers = not input.dtype.is_floating_point and not isinstance(exponent, float)
        if integers and exponent < 0:
            raise ArgumentError(
                f"pow: Integers to negative integer powers are not allowed: {input.dtype.name} to {exponent}",
                hint="convert with .float() first",
            )
        if exponent == 2:
            return REGISTRY["square"](input)
    return power(input, exponent)


def _extremes(samples: Any) -> Any:
    return {"samples": samples, "dtypes": dtypes.ALL, "errors": unbroadcastable}


@pointwise(dtype=promoted, cuda="larger(input, other)", **_extremes(pairs))
def maximum(input: Value, other: Value) -> Any:
    """The larger of two values, NaN if either is; where they tie, the gradient is shared.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    """
    return np.maximum(input, other)


@pointwise(dtype=promoted, cuda="smaller(input, other)", **_extremes(pairs))
def minimum(input: Value, other: Value) -> Any:
    """The smaller of two values, NaN if either is; where they tie, the gradient is shared.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    """
    return np.minimum(input, other)


def _share(grad: Any, won: Any, tied: Any) -> Any:
    """All of the gradient where an input won, half of it where both did."""
    return grad * (won.to(grad.dtype) + tied.to(grad.dtype) * 0.5)


@maximum.derivative
def _(grad: Any, input: Any, other: Any) -> Any:
    tied = input == other
    return _share(grad, input > other, tied), _share(grad, input < other, tied)


@minimum.derivative
def _(grad: Any, input: Any, other: Any) -> Any:
    tied = input == other
    return _share(grad, input < other, tied), _share(grad, input > other, tied)


def _lower_bounds() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), 0))
    yield Sample((Array((4, 3), layout="transposed"), 1))
    yield Sample((Array((3, 4)), Array((4,), -1, 1, seed=2, grad=False)))
    yield Sample((Array((0, 3)), 0))


@pointwise(dtype=promoted, cuda="larger(input, min)", samples=_lower_bounds, dtypes=NUMBERS)
def clamp_min(input: Value, min: Value) -> Any:
    """Values below `min` become `min`; NaN stays.

    Shapes: the inputs broadcast together.
    Host:   returns at once.
    """
    return np.maximum(input, min)


@clamp_min.derivative
def _(grad: Any, input: Any, min: Any, needs: Any) -> Any:
    inside = (input >= min).to(grad.dtype)
    return grad * inside, grad * (1 - inside) if needs[1] else None


@pointwise(dtype=promoted, cuda="smaller(input, max)", samples=_lower_bounds, dtypes=NUMBERS)
def clamp_max(input: Value, max: Value) -> Any:
    """Values above `max` become `max`; NaN stays.

    Shapes: the inputs broadcast together.
    Host:   returns at once.
    """
    return np.minimum(input, max)


@clamp_max.derivative
def _(grad: Any, input: Any, max: Any, needs: Any) -> Any:
    inside = (input <= max).to(grad.dtype)
    return grad * inside, grad * (1 - inside) if needs[1] else None


def _bounds() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), -1, 1))
    yield Sample((Array((4, 3), layout="transposed"), None, 1))
    yield Sample((Array((2, 3), layout="strided"), 0))
    yield Sample((Array((0, 3)), 0, 1))
    yield Sample((Array(()),), {"max": 0})


def _no_bounds() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)),), ArgumentError, "at least one of 'min' or 'max' must not be None")


@composite(samples=_bounds, errors=_no_bounds, dtypes=NUMBERS, inplace=True)
def clamp(input: Operand, min: Value = None, max: Value = None) -> Any:  # type: ignore[assignment]
    """Values held between `min` and `max`, either of which may be None; NaN stays.

    Shapes: the inputs broadcast together.
    Host:   returns at once.
    Raises: ArgumentError if both are None.
    """
    if min is None and max is None:
        raise ArgumentError("clamp: at least one of 'min' or 'max' must not be None")
    found: Any = input if min is None else clamp_min(input, min)
    return found if max is None else clamp_max(found, max)


def _unary(rule: Any, cuda: str, samples: Any = singles, kinds: Sequence[dtype] = dtypes.ALL, **options: Any) -> Any:
    return pointwise(dtype=rule, cuda=cuda, samples=samples, dtypes=kinds, **options)


@_unary(numbers, "-input", kinds=NUMBERS, errors=bool_operand)
def neg(input: Operand) -> Any:
    """The values with the other sign.  Shapes: as the input's.  Host: returns at once."""
    return -input  # type: ignore[operator]


@neg.derivative
def _(grad: Any) -> Any:
    return -grad


@_unary(numbers, "absolute(input)", kinds=NUMBERS, errors=bool_operand)
def abs(input: Operand) -> Any:
    """The values without their sign.  Shapes: as the input's.  Host: returns at once."""
    return np.abs(input)


@abs.derivative
def _(grad: Any, input: Any) -> Any:
    return grad * sign(input)


@_unary(promoted, "sign_of(input)")
def sign(input: Operand) -> Any:
    """-1, 0 or 1 by the value's sign.  Shapes: as the input's.  Host: returns at once."""
    return input if input.dtype == bool else np.sign(np.nan_to_num(input, nan=0.0) if input.dtype.kind == "f" else input)  # type: ignore[attr-defined,comparison-overlap]


@sign.derivative
def _(grad: Any) -> Any:
    return grad * 0


@_unary(numbers, "input * input", kinds=NUMBERS)
def square(input: Operand) -> Any:
    """The values times themselves.  Shapes: as the input's.  Host: returns at once."""
    return input * input  # type: ignore[operator]


@square.derivative
def _(grad: Any, input: Any) -> Any:
    return grad * (input * 2)


@_unary(to_float, "1 / input", positives)
def reciprocal(input: Operand) -> Any:
    """1 over the values; integers give float32.  Shapes: as the input's.  Host: returns at once."""
    return 1 / input  # type: ignore[operator]


@reciprocal.derivative
def _(grad: Any, out: Any) -> Any:
    return -grad * out * out


def _floating(name: str, cuda: str, body: Any) -> Any:
    """floor, ceil, trunc, round: integers stay what they are, and the gradient is 0."""
    made = _unary(promoted, cuda, kinds=NUMBERS, name=name)(body)
    made.derivative(lambda grad: grad * 0)
    return made


def _floor(input: Operand) -> Any:
    """The largest integer that is not above the value.  Shapes: as the input's.  Host: returns at once."""
    return input if input.dtype.kind in "iu" else np.floor(input)  # type: ignore[attr-defined]


def _ceil(input: Operand) -> Any:
    """The smallest integer that is not below the value.  Shapes: as the input's.  Host: returns at once."""
    return input if input.dtype.kind in "iu" else np.ceil(input)  # type: ignore[attr-defined]


def _trunc(input: Operand) -> Any:
    """The value without its fraction.  Shapes: as the input's.  Host: returns at once."""
    return input if input.dtype.kind in "iu" else np.trunc(input)  # type: ignore[attr-defined]


def _round(input: Operand) -> Any:
    """The nearest integer, the even one of two.  Shapes: as the input's.  Host: returns at once."""
    return input if input.dtype.kind in "iu" else np.rint(input)  # type: ignore[attr-defined]


floor = _floating("floor", "floor_of(input)", _floor)
ceil = _floating("ceil", "ceil_of(input)", _ceil)
trunc = _floating("trunc", "trunc_of(input)", _trunc)
round_ = _floating("round", "round_of(input)", _round)


def _three() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), seed=1), Array((3, 4), 0.5, 2, seed=2)))
    yield Sample((Array((3, 1)), Array((4,), seed=1), 0.5))
    yield Sample((Array((4, 3), layout="transposed"), Array((4, 3), seed=1), 2.0))


@pointwise(dtype=floating_only, cuda="start + weight * (end - start)", samples=_three, dtypes=dtypes.FLOATING_TYPES)
def lerp(start: Value, end: Value, weight: Value) -> Any:
    """Blend from `start` (weight 0) to `end` (weight 1) along a straight line.

    Shapes: the three inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    """
    return start + weight * (end - start)


@lerp.derivative(only_for={"start": "weight", "end": "weight"})
def _(grad: Any, start: Any, end: Any, weight: Any, needs: Any) -> Any:
    return grad * (1 - weight), grad * weight, grad * (end - start) if needs[2] else None
