"""Elementwise functions of the array API that PyTorch names or promotes differently."""

from __future__ import annotations

from typing import Any

from ..dtypes import FLOATING
from ..ops import arithmetic, compare, elementary
from .data_types import number_like, promoted


def _of_two(name: str, operator: Any, example: str, printed: str) -> Any:
    """Make the function `name` of two operands, which get one type before the operator is called.

    example: arguments for the docstring, in which `tensor` stands for `torch.tensor`.  printed: the result for them.
    """

    def apply(x1: Any, x2: Any, /) -> Any:
        """{summary}

        x1, x2: arrays whose shapes broadcast, or one of them a Python number.
        Both are first converted to a common type.  Unlike in PyTorch, 0-dimensional arrays promote as others do, and
        uint16, uint32 and uint64 promote with every integer type, except uint64 with signed types.  A number gets the
        type of the array, unless its kind is higher (bool < integer < float): then both get that kind's default type.
        Raises: DtypeError if there is no common type.
        Example:
            >>> torch.array_api.{name}({example})
            {printed}
        """
        return operator(*promoted(x1, x2))

    apply.__name__ = apply.__qualname__ = name
    summary = str(operator.__doc__).partition("\n")[0].partition(".  ")[0].rstrip(".")
    summary = summary.replace("input", "x1").replace("other", "x2").replace("exponent", "x2")
    example = example.replace("tensor(", "torch.tensor(")
    apply.__doc__ = str(apply.__doc__).format(summary=f"{summary}.", name=name, example=example, printed=printed)
    return apply


add = _of_two(
    "add", arithmetic.add,
    "tensor([1], dtype=torch.uint16), tensor(2, dtype=torch.int8)", "tensor([3], dtype=torch.int32)",
)  # fmt: skip
atan2 = _of_two("atan2", elementary.atan2, "tensor([1.0, -1.0]), tensor([1.0, 0.0])", "tensor([ 0.7854, -1.5708])")
bitwise_and = _of_two("bitwise_and", compare.bitwise_and, "tensor([6, 7]), 3", "tensor([2, 3])")
bitwise_left_shift = _of_two("bitwise_left_shift", compare.bitwise_left_shift, "tensor([1, 3]), 2", "tensor([ 4, 12])")
bitwise_or = _of_two("bitwise_or", compare.bitwise_or, "tensor([6, 8]), 3", "tensor([ 7, 11])")
bitwise_right_shift = _of_two(
    "bitwise_right_shift", compare.bitwise_right_shift, "tensor([-8, 9]), 1", "tensor([-4,  4])"
)
bitwise_xor = _of_two("bitwise_xor", compare.bitwise_xor, "tensor([6, 7]), 3", "tensor([5, 4])")
copysign = _of_two("copysign", elementary.copysign, "tensor([1.0, 2.0]), tensor([-0.0, 3.0])", "tensor([-1.,  2.])")
divide = _of_two("divide", arithmetic.div, "tensor([7, 8]), 2", "tensor([3.5000, 4.0000])")
equal = _of_two("equal", compare.eq, "tensor([1, 2]), tensor([1, 3])", "tensor([ True, False])")
greater = _of_two("greater", compare.gt, "tensor([1, 2]), 1", "tensor([False,  True])")
greater_equal = _of_two("greater_equal", compare.ge, "tensor([1, 2]), 2", "tensor([False,  True])")
hypot = _of_two("hypot", elementary.hypot, "tensor([3.0]), tensor([4.0])", "tensor([5.])")
less = _of_two("less", compare.lt, "tensor([1, 2]), 2", "tensor([ True, False])")
less_equal = _of_two("less_equal", compare.le, "tensor([1, 2]), 1", "tensor([ True, False])")
logaddexp = _of_two("logaddexp", elementary.logaddexp, "tensor([0.0]), tensor([0.0])", "tensor([0.6931])")
logical_and = _of_two("logical_and", compare.logical_and, "tensor(True), tensor(False)", "tensor(False)")
logical_or = _of_two("logical_or", compare.logical_or, "tensor(True), tensor(False)", "tensor(True)")
logical_xor = _of_two("logical_xor", compare.logical_xor, "tensor(True), tensor(False)", "tensor(True)")
maximum = _of_two("maximum", compare.maximum, "tensor([1, 5]), tensor([3, 2])", "tensor([3, 5])")
minimum = _of_two("minimum", compare.minimum, "tensor([1, 5]), tensor([3, 2])", "tensor([1, 2])")
multiply = _of_two("multiply", arithmetic.mul, "tensor([2, 3]), 2.5", "tensor([5.0000, 7.5000])")
nextafter = _of_two("nextafter", elementary.nextafter, "tensor([0.0]), tensor([1.0])", "tensor([1.4013e-45])")
not_equal = _of_two("not_equal", compare.ne, "tensor([1, 2]), tensor([1, 3])", "tensor([False,  True])")
pow = _of_two("pow", arithmetic.pow_, "tensor([2, 3]), 2", "tensor([4, 9])")
remainder = _of_two("remainder", arithmetic.remainder, "tensor([7, -7]), 3", "tensor([1, 2])")
subtract = _of_two("subtract", arithmetic.sub, "tensor([5, 7]), 2", "tensor([3, 5])")


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
