"""Conversion of Python numbers to data types, by PyTorch's rules.

- An argument (of `fill_`, `masked_fill`, `clamp`; `alpha`) is converted by `converted`.  It is an error if the type
  cannot hold it.
- An operand (of `+`, `*`, `<`) takes part in type promotion and then wraps as a cast in C does.
"""

from __future__ import annotations

from math import inf, isinf, isnan
from typing import Any

from . import host
from .dtypes import BOOL, FLOATING, INTEGER_TYPES, UNSIGNED, bfloat16, bool_, dtype, float16, float32, float64
from .errors import ValueRangeError, shown

LARGEST = {
    float16: 65504.0, bfloat16: 3.3895313892515355e38, float32: 3.4028234663852886e38, float64: 1.7976931348623157e308,
}  # fmt: skip


def plain_number(value: Any) -> Any:
    """Convert a NumPy number, or an instance of a number's subclass, to the Python number; return others unchanged."""
    if isinstance(value, (int, float)):
        return float(value) if isinstance(value, float) else int(value)
    if host.is_numpy_loaded() and isinstance(value, host.np.generic) and value.dtype.kind in "biuf":
        return value.item()
    return value


def integer_range(dtype: dtype) -> tuple[int, int]:
    """Return the least and the largest value of an integer type or bool."""
    bits = 1 if dtype is bool_ else 8 * dtype.itemsize - dtype.is_signed
    return -(1 << bits) if dtype.is_signed else 0, (1 << bits) - 1


# By dtype: the least and the largest finite value, and the Python type of the values.
HELD: dict[dtype, tuple[Any, Any, type]] = {
    bool_: (-inf, inf, bool),
    **{dtype: (*integer_range(dtype), int) for dtype in (*INTEGER_TYPES, *UNSIGNED)},
    **{dtype: (-largest, largest, float) for dtype, largest in LARGEST.items()},
}


def converted(name: str, dtype: dtype, value: Any) -> Any:
    """Convert a number to a bool, int or float that a type can hold.

    For bool, the result is whether it is not 0.  For integers, floats are truncated, and a negative int wraps in an
    unsigned type.
    Raises: ValueRangeError, under the operator's name `name`, if it is outside the range of the type.
    """
    low, high, python = HELD[dtype]
    if low <= value <= high:
        return python(value)
    if dtype.category == BOOL:  # NaN
        return True
    if dtype.category == FLOATING and not isinstance(value, int) and (isinf(value) or isnan(value)):
        return float(value)
    if low == 0 and -high <= value < 0 and not isinstance(value, float):
        return int(value) & high
    raise overflow(name, dtype, value)


def overflow(name: str, dtype: dtype, value: Any) -> ValueRangeError:
    """Return the error for a number that a type cannot hold."""
    low, high, _ = HELD[dtype]
    hint = f"{dtype.name} holds {low:.5g} to {high:.5g}, infinity and NaN" if dtype.is_floating_point else ""
    return ValueRangeError(
        f"value cannot be converted to type {dtype.name} without overflow: {shown(value)}",
        hint=hint or f"{dtype.name} holds {low} to {high}",
        operator=name,
    )
