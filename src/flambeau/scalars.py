"""Conversion of Python numbers to data types, by PyTorch's rules.

- A number that is an argument (of `fill_`, `masked_fill`, `clamp`; `alpha`) is converted by `converted`: an error where
  the type cannot hold it.
- A number that is an operand (of `+`, `*`, `<`) takes part in promotion, and then wraps as a cast in C does.
"""

from __future__ import annotations

from math import inf, isnan
from typing import Any

from .dtypes import BOOL, FLOATING, bfloat16, bool_, dtype, float16, float32
from .errors import ValueRangeError, shown

LARGEST = {float16: 65504.0, bfloat16: 3.3895313892515355e38, float32: 3.4028234663852886e38}


def integer_range(kind: dtype) -> tuple[int, int]:
    """The least and the largest value of an integer type or bool."""
    bits = 1 if kind is bool_ else 8 * kind.itemsize - kind.is_signed
    return -(1 << bits) if kind.is_signed else 0, (1 << bits) - 1


def converted(name: str, kind: dtype, value: Any) -> bool | int | float:
    """`value` as a number of type `kind`.

    bool: whether it is not 0.  Integers: floats are cut, and a negative int wraps in an unsigned type.
    Raises: ValueRangeError, in the name of operator `name`, if it lies outside the type's range.
    """
    if kind.category == FLOATING:
        return _float(name, kind, value)
    if kind.category == BOOL:
        return bool(value)
    low, high = integer_range(kind)
    if isinstance(value, float):
        if not low <= value <= high:
            raise overflow(name, kind, value)
        return int(value)
    if not (low if kind.is_signed else -high) <= value <= high:
        raise overflow(name, kind, value)
    return int(value) if kind.is_signed else int(value) & high


def _float(name: str, kind: dtype, value: Any) -> float:
    try:
        number = float(value)
    except OverflowError as error:
        raise overflow(name, kind, value) from error
    if abs(number) > LARGEST.get(kind, inf) and abs(number) != inf and not isnan(number):
        raise overflow(name, kind, value)
    return number


def overflow(name: str, kind: dtype, value: Any) -> ValueRangeError:
    """The error for a number that a type cannot hold."""
    if kind.is_floating_point:
        largest = f"{LARGEST.get(kind, 1.7976931348623157e308):.5g}"
        hint = f"{kind.name} holds -{largest} to {largest}, infinity and NaN"
    else:
        low, high = integer_range(kind)
        hint = f"{kind.name} holds {low} to {high}"
    return ValueRangeError(
        f"{name}: value cannot be converted to type {kind.name} without overflow: {shown(value)}", hint=hint
    )
