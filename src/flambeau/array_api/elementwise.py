"""Elementwise functions of the array API that PyTorch names or promotes differently."""

from __future__ import annotations

from typing import Any

from ..dtypes import FLOATING
from ..ops import arithmetic, compare, elementary
from .data_types import number_like, promoted


def _of_two(name: str, operator: Any) -> Any:
    """Make the function `name` of two operands, which get one type before the operator is called."""

    def apply(x1: Any, x2: Any, /) -> Any:
        """{summary}

        x1, x2: arrays, or one of them a Python number.
        Every function of two arrays first converts them to a common type; the example shows it for `add`.  Unlike in
        PyTorch, 0-dimensional arrays promote as others do, and uint16, uint32 and uint64 promote with all integers but
        uint64 with signed ones.  A number gets the type of the array, unless its kind (bool, integer, float) is higher.
        Raises: DtypeError if there is no common type.
        Example:
            >>> torch.array_api.add(torch.tensor([1], dtype=torch.uint16), torch.tensor(2, dtype=torch.int8))
            tensor([3], dtype=torch.int32)
        """
        return operator(*promoted(x1, x2))

    apply.__name__ = apply.__qualname__ = name
    summary = str(operator.__doc__).partition("\n")[0].partition(".  ")[0].rstrip(".")
    summary = summary.replace("input", "x1").replace("other", "x2").replace("exponent", "x2")
    apply.__doc__ = str(apply.__doc__).format(summary=f"{summary}.")
    return apply


add = _of_two("add", arithmetic.add)
atan2 = _of_two("atan2", elementary.atan2)
bitwise_and = _of_two("bitwise_and", compare.bitwise_and)
bitwise_left_shift = _of_two("bitwise_left_shift", compare.bitwise_left_shift)
bitwise_or = _of_two("bitwise_or", compare.bitwise_or)
bitwise_right_shift = _of_two("bitwise_right_shift", compare.bitwise_right_shift)
bitwise_xor = _of_two("bitwise_xor", compare.bitwise_xor)
copysign = _of_two("copysign", elementary.copysign)
divide = _of_two("divide", arithmetic.div)
equal = _of_two("equal", compare.eq)
greater = _of_two("greater", compare.gt)
greater_equal = _of_two("greater_equal", compare.ge)
hypot = _of_two("hypot", elementary.hypot)
less = _of_two("less", compare.lt)
less_equal = _of_two("less_equal", compare.le)
logaddexp = _of_two("logaddexp", elementary.logaddexp)
logical_and = _of_two("logical_and", compare.logical_and)
logical_or = _of_two("logical_or", compare.logical_or)
logical_xor = _of_two("logical_xor", compare.logical_xor)
maximum = _of_two("maximum", compare.maximum)
minimum = _of_two("minimum", compare.minimum)
multiply = _of_two("multiply", arithmetic.mul)
nextafter = _of_two("nextafter", elementary.nextafter)
not_equal = _of_two("not_equal", compare.ne)
pow = _of_two("pow", arithmetic.pow_)
remainder = _of_two("remainder", arithmetic.remainder)
subtract = _of_two("subtract", arithmetic.sub)


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """Limit values to [min, max]; bounds are numbers or arrays, and None is no bound.  The type is that of x.

    Shapes: the bounds broadcast to the shape of x.
    Raises: ShapeError if the shapes do not broadcast, ArgumentTypeError for a bound that is neither a number nor an
            array.
    Example:
        >>> torch.array_api.clip(torch.tensor([1, 5, 9]), 2, 8)
        tensor([2, 5, 8])
    """
    if min is None and max is None:
        return x.clone()
    low, high = (bound if bound is None else _bound_of(bound, x) for bound in (min, max))
    return compare.clamp(x, low, high)


def _bound_of(bound: Any, x: Any) -> Any:
    """Convert a number or an array to the type of x."""
    return bound.to(x.dtype) if hasattr(bound, "shape") else number_like(bound, x)


def floor_divide(x1: Any, x2: Any, /) -> Any:
    """Divide, and round towards minus infinity.

    An infinite dividend gives an infinite quotient; PyTorch gives NaN.  An infinite divisor gives 0 or -0; PyTorch
    gives -1 for operands of different signs.
    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Raises: ShapeError if the shapes do not broadcast, DtypeError for bool, or if there is no common type.
    Example:
        >>> torch.array_api.floor_divide(torch.tensor([7.0, -1.0]), torch.tensor([2.0, float("inf")]))
        tensor([3., -0.])
    """
    first, second = promoted(x1, x2)
    quotient = arithmetic.floor_divide(first, second)
    if quotient.dtype.category != FLOATING:
        return quotient
    is_infinite = compare.logical_or(compare.isinf(first), compare.isinf(second))
    return compare.where(is_infinite, elementary.floor(arithmetic.div(first, second)), quotient)


def sign(x: Any, /) -> Any:
    """Return -1, 0 or 1 with the sign of each element, and NaN for NaN, where PyTorch has 0.

    Shapes: same as the input.
    Raises: ArgumentTypeError if the argument is not an array.
    Example:
        >>> torch.array_api.sign(torch.tensor([-2.0, 0.0, float("nan")]))
        tensor([-1.,  0., nan])
    """
    result = arithmetic.sign(x)
    return compare.where(compare.isnan(x), x, result) if x.dtype.category == FLOATING else result
