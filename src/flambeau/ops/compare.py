"""Comparisons, logic on bools and on bits, and choosing by a condition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import dtypes
from ..dtypes import dtype
from ..errors import DtypeError
from ..host import np
from .arithmetic import pairs, singles, unbroadcastable
from .operator import Array, ErrorSample, Operand, Sample, Value
from .pointwise import Pointwise, as_bool, pointwise, promoted, selected, to_bool

INTEGRAL = (dtypes.bool_, *dtypes.INTEGER_TYPES)


def _comparison(name: str, symbol: str, words: str, body: Any) -> Pointwise:
    body.__doc__ = f"""Whether the first value is {words} the second, as bool.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    """
    made = pointwise(
        dtype=to_bool, cuda=f"input {symbol} other", samples=pairs, errors=unbroadcastable, dtypes=dtypes.ALL, name=name
    )
    return made(body)


def _eq(input: Value, other: Value) -> Any:
    return input == other


def _ne(input: Value, other: Value) -> Any:
    return input != other


def _lt(input: Value, other: Value) -> Any:
    return input < other


def _le(input: Value, other: Value) -> Any:
    return input <= other


def _gt(input: Value, other: Value) -> Any:
    return input > other


def _ge(input: Value, other: Value) -> Any:
    return input >= other


eq = _comparison("eq", "==", "equal to", _eq)
ne = _comparison("ne", "!=", "different from", _ne)
lt = _comparison("lt", "<", "less than", _lt)
le = _comparison("le", "<=", "at most", _le)
gt = _comparison("gt", ">", "greater than", _gt)
ge = _comparison("ge", ">=", "at least", _ge)


@pointwise(dtype=as_bool, cuda="input && other", samples=pairs, dtypes=dtypes.ALL)
def logical_and(input: Value, other: Value) -> Any:
    """Whether both values are not 0.  Shapes: the inputs broadcast together.  Host: returns at once."""
    return np.logical_and(input, other)


@pointwise(dtype=as_bool, cuda="input || other", samples=pairs, dtypes=dtypes.ALL)
def logical_or(input: Value, other: Value) -> Any:
    """Whether a value is not 0.  Shapes: the inputs broadcast together.  Host: returns at once."""
    return np.logical_or(input, other)


@pointwise(dtype=as_bool, cuda="input != other", samples=pairs, dtypes=dtypes.ALL)
def logical_xor(input: Value, other: Value) -> Any:
    """Whether exactly one value is not 0.  Shapes: the inputs broadcast together.  Host: returns at once."""
    return np.logical_xor(input, other)


@pointwise(dtype=as_bool, cuda="!input", samples=singles, dtypes=dtypes.ALL)
def logical_not(input: Operand) -> Any:
    """Whether the value is 0.  Shapes: as the input's.  Host: returns at once."""
    return np.logical_not(input)


def _integral(name: str, types: Any, common: dtype) -> Any:
    if common.is_floating_point:
        raise DtypeError(f"{name}: operands must be integers or bool, got {common.name}", hint="convert with .long() or .bool()")
    return promoted(name, types, common)


def _integer_pairs() -> Iterator[Sample]:
    yield Sample((Array((3, 4), 0, 9), Array((3, 4), 0, 9, seed=1)))
    yield Sample((Array((3, 1), 0, 9), Array((4,), 0, 9, seed=1)))
    yield Sample((Array((4, 3), 0, 9, layout="transposed"), 1))
    yield Sample((Array((0, 3)), Array((3,), seed=1)))


def _floats() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), Array((3,))), DtypeError, "operands must be integers or bool, got float32")


@pointwise(dtype=_integral, cuda="input & other", samples=_integer_pairs, errors=_floats, dtypes=INTEGRAL)
def bitwise_and(input: Value, other: Value) -> Any:
    """Bits that are set in both; for bool, logical and.  Shapes: the inputs broadcast together.  Host: returns at once."""
    return np.bitwise_and(input, other)


@pointwise(dtype=_integral, cuda="input | other", samples=_integer_pairs, errors=_floats, dtypes=INTEGRAL)
def bitwise_or(input: Value, other: Value) -> Any:
    """Bits that are set in either; for bool, logical or.  Shapes: the inputs broadcast together.  Host: returns at once."""
    return np.bitwise_or(input, other)


@pointwise(dtype=_integral, cuda="input ^ other", samples=_integer_pairs, errors=_floats, dtypes=INTEGRAL)
def bitwise_xor(input: Value, other: Value) -> Any:
    """Bits that differ; for bool, logical xor.  Shapes: the inputs broadcast together.  Host: returns at once."""
    return np.bitwise_xor(input, other)


@pointwise(dtype=_integral, cuda="inverted(input)", samples=singles, dtypes=INTEGRAL)
def bitwise_not(input: Operand) -> Any:
    """The bits turned over; for bool, logical not.  Shapes: as the input's.  Host: returns at once."""
    return np.invert(input)


@pointwise(dtype=to_bool, cuda="is_nan(input)", samples=singles, dtypes=dtypes.ALL, inplace=False)
def isnan(input: Operand) -> Any:
    """Whether the value is NaN.  Shapes: as the input's.  Host: returns at once."""
    return input != input


@pointwise(dtype=to_bool, cuda="is_infinite(input)", samples=singles, dtypes=dtypes.ALL, inplace=False)
def isinf(input: Operand) -> Any:
    """Whether the value is infinite.  Shapes: as the input's.  Host: returns at once."""
    return np.isinf(input)


@pointwise(dtype=to_bool, cuda="!is_nan(input) && !is_infinite(input)", samples=singles, dtypes=dtypes.ALL, inplace=False)
def isfinite(input: Operand) -> Any:
    """Whether the value is neither infinite nor NaN.  Shapes: as the input's.  Host: returns at once."""
    return np.isfinite(input)


def _choices() -> Iterator[Sample]:
    yield Sample((Array((3, 4), 0, 2, dtype="bool"), Array((3, 4), seed=1), Array((3, 4), seed=2)))
    yield Sample((Array((3, 1), 0, 2, dtype="bool"), Array((4,), seed=1), 0))
    yield Sample((Array((4, 3), 0, 2, dtype="bool", layout="transposed"), 1.5, Array((4, 3), seed=2)))
    yield Sample((Array((0, 3), dtype="bool"), Array((3,)), Array(())))


def _no_condition() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), Array((3,)), Array((3,))), DtypeError, "condition must be bool, got float32")


@pointwise(
    dtype=selected, cuda="condition ? input : other", samples=_choices, errors=_no_condition, dtypes=dtypes.ALL, inplace=False,
    method=False,
)  # fmt: skip
def where(condition: Operand, input: Value, other: Value) -> Any:
    """`input` where the condition holds, else `other`.

    Shapes: the three inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: DtypeError if the condition is not bool.
    """
    return np.where(condition, input, other)


@where.derivative
def _(grad: Any, condition: Any) -> Any:
    return None, where(condition, grad, 0), where(condition, 0, grad)


def _masks() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), 0, 2, dtype="bool", seed=1), 1))
    yield Sample((Array((4, 3), layout="transposed"), Array((3,), 0, 2, dtype="bool", seed=1), 0))
    yield Sample((Array((0, 3)), Array((3,), 0, 2, dtype="bool"), 0))


def _no_mask() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), Array((3,)), 1), DtypeError, "mask must be bool, got float32")


def _masked(name: str, types: Any, common: dtype) -> Any:
    """The result keeps the first input's type, which the value is converted to."""
    if types[1] is not dtypes.bool_:
        raise DtypeError(f"{name}: mask must be bool, got {types[1].name}", hint="compare first, for example x > 0")
    if types[2].is_floating_point and not types[0].is_floating_point:
        raise DtypeError(f"{name}: value of type {types[2].name} cannot be converted to {types[0].name} without loss")
    return [types[0], dtypes.bool_, types[0]], types[0]


@pointwise(dtype=_masked, cuda="mask ? value : input", samples=_masks, errors=_no_mask, dtypes=dtypes.ALL)
def masked_fill(input: Operand, mask: Operand, value: Value) -> Any:
    """`input` with `value` where the mask holds.

    Shapes: the inputs broadcast together.
    Host:   returns at once.
    Raises: DtypeError if the mask is not bool.
    """
    return np.where(mask, value, input)  # type: ignore[call-overload]


@masked_fill.derivative
def _(grad: Any, mask: Any, needs: Any) -> Any:
    return where(mask, 0, grad), None, where(mask, grad, 0) if needs[2] else None


