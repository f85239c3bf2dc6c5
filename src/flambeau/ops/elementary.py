"""Elementary functions: exponentials, logarithms, trigonometry, rounding, parts of numbers, common divisors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import inf, pi
from math import log as log_of_number
from math import sqrt as root
from typing import Any

from .. import dtypes
from .. import strides as st
from ..dtypes import bool_, dtype, int32
from ..errors import DtypeError
from ..host import np, special
from ..kernel import Kernel, Pointer, Strided
from . import results
from .arithmetic import pow_, rsqrt
from .compare import isfinite, masked_fill, where
from .copies import fill
from .operator import Array, ErrorSample, Operand, Sample, Value, operator
from .pointwise import (
    PRELUDE,
    THREADS,
    Pointwise,
    Types,
    common_type,
    floating_only,
    grid_over,
    numbers,
    numpy_type,
    pointwise,
    promoted,
    to_float,
)
from .samples import NUMERIC_TYPES, no_floats, one_bool, pairs, positives, singles, unbroadcastable

TWO_OVER_ROOT_PI = 2 / root(pi)
LOG_2, LOG_10 = log_of_number(2), log_of_number(10)
MOST_SHIFT = 5000  # of the exponent of a floating-point number, which is then 0 or infinite


def floating_function(cuda: str, samples: Any = singles, cost: float = 10.0, **options: Any) -> Any:
    """Make an operator on floating point values; integers give the default floating point type."""
    return pointwise(dtype=to_float, cuda=cuda, samples=samples, dtypes=dtypes.ALL, cost=cost, **options)


# exponentials and logarithms


@floating_function("exp(input)")
def exp(input: Operand) -> Any:
    """Compute the exponential of each element: e to the power x.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.exp(torch.tensor([0.0, 1.0]))
        tensor([1.0000, 2.7183])
    """
    return np.exp(input)


@exp.derivative
def _(grad: Any, out: Any) -> Any:
    return grad * out


@floating_function("exp2(input)")
def exp2(input: Operand) -> Any:
    """Compute 2 to the power x for each element x.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.exp2(torch.tensor([0.0, 3.0]))
        tensor([1., 8.])
    """
    return np.exp2(input)


@exp2.derivative
def _(grad: Any, out: Any) -> Any:
    return grad * out * LOG_2


@floating_function("expm1(input)")
def expm1(input: Operand) -> Any:
    """Compute exp(x) - 1, accurate near 0.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> x = torch.tensor([1e-9])
        >>> (torch.expm1(x), torch.exp(x) - 1)
        (tensor([1.0000e-09]), tensor([0.]))
    """
    return np.expm1(input)


@expm1.derivative
def _(grad: Any, out: Any) -> Any:
    return grad * (out + 1)


@floating_function("log(input)", positives)
def log(input: Operand) -> Any:
    """Compute the natural logarithm.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.log(torch.tensor([1.0, 2.718281828, 0.0]))
        tensor([0., 1., -inf])
    """
    return np.log(input)


@log.derivative
def _(grad: Any, input: Any) -> Any:
    return grad / input


@floating_function("log2(input)", positives)
def log2(input: Operand) -> Any:
    """Compute the logarithm to base 2.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.log2(torch.tensor([8.0, 0.5]))
        tensor([ 3., -1.])
    """
    return np.log2(input)


@log2.derivative
def _(grad: Any, input: Any) -> Any:
    return grad / (input * LOG_2)


@floating_function("log10(input)", positives)
def log10(input: Operand) -> Any:
    """Compute the logarithm to base 10.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.log10(torch.tensor([100.0, 0.5]))
        tensor([ 2.0000, -0.3010])
    """
    return np.log10(input)


@log10.derivative
def _(grad: Any, input: Any) -> Any:
    return grad / (input * LOG_10)


@floating_function("log1p(input)", positives)
def log1p(input: Operand) -> Any:
    """Compute log(1 + x), accurate near 0.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> x = torch.tensor([1e-9])
        >>> (torch.log1p(x), torch.log(1 + x))
        (tensor([1.0000e-09]), tensor([0.]))
    """
    return np.log1p(input)


@log1p.derivative
def _(grad: Any, input: Any) -> Any:
    return grad / (input + 1)


@floating_function("erf(input)", cost=20.0)
def erf(input: Operand) -> Any:
    """Compute the error function of each element.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.erf(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8427])
    """
    return special.erf(input)


@erf.derivative
def _(grad: Any, input: Any) -> Any:
    return grad * (exp(-(input * input)) * TWO_OVER_ROOT_PI)


@floating_function("erfc(input)", cost=20.0)
def erfc(input: Operand) -> Any:
    """Compute the complementary error function of each element: 1 - erf(x), accurate where the result is near 0.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.erfc(torch.tensor([0.0, 1.0]))
        tensor([1.0000, 0.1573])
    """
    return special.erfc(input)


@erfc.derivative
def _(grad: Any, input: Any) -> Any:
    return grad * (exp(-(input * input)) * -TWO_OVER_ROOT_PI)


def inner() -> Iterator[Sample]:
    """Return samples like `singles`, with values between -1 and 1."""
    return (Sample((sample.args[0]._replace(low=-0.9, high=0.9),)) for sample in singles())


@floating_function("erfinv(input)", inner, 20.0)
def erfinv(input: Operand) -> Any:
    """Compute the inverse of the error function of each element; NaN outside [-1, 1].

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.erfinv(torch.tensor([0.0, 0.5, 1.0]))
        tensor([0.0000, 0.4769,    inf])
    """
    return special.erfinv(input)


@erfinv.derivative
def _(grad: Any, out: Any) -> Any:
    return grad * exp(out * out) / TWO_OVER_ROOT_PI


# sums of exponentials


def _floating_pairs() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), seed=1)))
    yield Sample((Array((3, 1)), Array((4,), seed=1)))
    yield Sample((Array((4, 3), layout="transposed"), Array((4, 3), layout="strided", seed=1)))
    yield Sample((Array((0, 3)), Array((3,), seed=1)))


def _no_logarithms() -> Iterator[ErrorSample]:
    yield from unbroadcastable()
    integers = Array((3,), dtype="int64")
    yield ErrorSample((integers, integers), DtypeError, "operands must be floating point, got int64")


@pointwise(
    dtype=floating_only, cuda="add_logarithms(input, other)", samples=_floating_pairs, errors=_no_logarithms,
    dtypes=dtypes.FLOATING_TYPES, inplace=False, cost=20.0,
)  # fmt: skip
def logaddexp(input: Operand, other: Operand) -> Any:
    """Compute log(exp(input) + exp(other)), without overflow.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError for integers.
    Example:
        >>> torch.logaddexp(torch.tensor([-300.0, 0.0]), torch.tensor([-300.0, 1.0]))
        tensor([-299.3069,    1.3133])
    """
    return np.logaddexp(input, other)


@logaddexp.derivative
def _(grad: Any, input: Any, other: Any, needs: Any) -> Any:
    by_input = grad / (exp(other - input) + 1) if needs[0] else None
    return by_input, grad / (exp(input - other) + 1) if needs[1] else None


@pointwise(
    dtype=floating_only, cuda="add_logarithms_2(input, other)", samples=_floating_pairs, errors=_no_logarithms,
    dtypes=dtypes.FLOATING_TYPES, inplace=False, cost=20.0,
)  # fmt: skip
def logaddexp2(input: Operand, other: Operand) -> Any:
    """Compute log2(2^input + 2^other), without overflow.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError for integers.
    Example:
        >>> torch.logaddexp2(torch.tensor([-300.0, 0.0]), torch.tensor([-300.0, 1.0]))
        tensor([-299.0000,    1.5850])
    """
    return np.logaddexp2(input, other)


@logaddexp2.derivative
def _(grad: Any, input: Any, other: Any, needs: Any) -> Any:
    by_input = grad / (exp2(other - input) + 1) if needs[0] else None
    return by_input, grad / (exp2(input - other) + 1) if needs[1] else None


# rounding


def numeric_function(cuda: str) -> Any:
    return pointwise(dtype=numbers, cuda=cuda, samples=singles, errors=one_bool, dtypes=NUMERIC_TYPES)


@numeric_function("floor_of(input)")
def floor(input: Operand) -> Any:
    """Round down to an integer; integers are unchanged.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError for bool.
    Example:
        >>> torch.floor(torch.tensor([-1.5, 0.2, 2.0]))
        tensor([-2.,  0.,  2.])
    """
    return np.floor(input)


@numeric_function("ceil_of(input)")
def ceil(input: Operand) -> Any:
    """Round up to an integer; integers are unchanged.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError for bool.
    Example:
        >>> torch.ceil(torch.tensor([-1.5, 0.2, 2.0]))
        tensor([-1.,  1.,  2.])
    """
    return np.ceil(input)


@numeric_function("trunc_of(input)")
def trunc(input: Operand) -> Any:
    """Round toward 0 to an integer; integers are unchanged.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError for bool.
    Example:
        >>> torch.trunc(torch.tensor([-1.5, 0.2, 2.0]))
        tensor([-1.,  0.,  2.])
    """
    return np.trunc(input)


@pointwise(
    dtype=floating_only, cuda="input - trunc(input)", samples=singles, errors=no_floats, dtypes=dtypes.FLOATING_TYPES
)
def frac(input: Operand) -> Any:
    """Compute the fractional part, x - trunc(x), which has the sign of x.

    Shapes: same as the input.
    Host: returns at once.
    Raises: DtypeError for integers.
    Example:
        >>> torch.frac(torch.tensor([1.0, 2.5, -3.25]))
        tensor([ 0.0000,  0.5000, -0.2500])
    """
    array: Any = input
    return array - np.trunc(array)


@frac.derivative
def _(grad: Any) -> Any:
    return grad


def _multiples() -> Iterator[Sample]:
    for up, down in ((10.0, 1.0), (1.0, 100.0)):
        yield Sample((Array((3, 4), low=-300, high=300), up, down))


@pointwise(
    dtype=floating_only, cuda="round_of(input * up / down) / up * down", samples=_multiples,
    dtypes=dtypes.FLOATING_TYPES, inplace=False, method=False, function=False, cost=4.0,
)  # fmt: skip
def round_scaled(input: Value, up: Value, down: Value) -> Any:
    """Compute `round` with decimals: the nearest multiple of down / up."""
    return np.rint(input * up / down) / up * down


@round_scaled.derivative
def _(grad: Any) -> Any:
    return fill(grad, 0), None, None


MAX_DECIMALS = 308  # the largest power of ten in float64


class Rounded(Pointwise):
    """Rounding to integers, or to decimals."""

    def lower(self, call: Any, input: Any, decimals: int = 0) -> Any:
        if decimals == 0:
            return super().lower(call, input)
        if not input.dtype.is_floating_point:
            raise DtypeError(
                f"decimals={decimals} needs a floating point input, got {input.dtype.name}",
                hint="convert with .float()",
                operator="round",
            )
        scale = 10.0 ** abs(decimals) if abs(decimals) <= MAX_DECIMALS else inf  # as in PyTorch, with inf all is NaN
        up, down = (scale, 1.0) if decimals > 0 else (1.0, scale)
        return round_scaled.lower(call, input, up, down)


def _rounded(body: Any) -> Any:
    return Rounded(
        body, numbers, "round_of(input)", 1.0, samples=singles, errors=one_bool, dtypes=NUMERIC_TYPES, inplace=True
    )


@_rounded
def round(input: Operand, *, decimals: int = 0) -> Any:
    """Round to the nearest integer, halves to the even one; integers are unchanged.

    decimals: the number of digits after the point that are kept; -n rounds to multiples of 10^n.
    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError for bool, and for integers with decimals.
    Example:
        >>> torch.round(torch.tensor([0.5, 1.5, 2.6]))
        tensor([0., 2., 3.])
        >>> torch.round(torch.tensor([3.14159]), decimals=2)
        tensor([3.1400])
    """
    return input if numpy_type(input).kind in "iu" else np.rint(input)


for _each in (floor, ceil, trunc, round):
    _each.derivative(lambda grad: fill(grad, 0))


DEGREES = 180 / pi  # of one radian


def _near() -> Iterator[Sample]:
    """Return samples like `singles`, away from the poles of the tangent."""
    return (Sample((sample.args[0]._replace(low=-1.2, high=1.2),)) for sample in singles())


def _above_one() -> Iterator[Sample]:
    return (Sample((sample.args[0]._replace(low=1.5, high=4.0),)) for sample in singles())


# trigonometric functions


@floating_function("sin(input)")
def sin(input: Operand) -> Any:
    """Compute the sine of each element, an angle in radians.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.sin(torch.tensor([0.0, 3.14159265 / 6]))
        tensor([0.0000, 0.5000])
    """
    return np.sin(input)


@sin.derivative
def _(grad: Any, input: Any) -> Any:
    return grad * cos(input)


@floating_function("cos(input)")
def cos(input: Operand) -> Any:
    """Compute the cosine of each element, an angle in radians.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.cos(torch.tensor([0.0, 3.14159265 / 3]))
        tensor([1.0000, 0.5000])
    """
    return np.cos(input)


@cos.derivative
def _(grad: Any, input: Any) -> Any:
    return grad * -sin(input)


@floating_function("tan(input)", _near)
def tan(input: Operand) -> Any:
    """Compute the tangent of each element, an angle in radians.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.tan(torch.tensor([0.0, 3.14159265 / 4]))
        tensor([0., 1.])
    """
    return np.tan(input)


@tan.derivative
def _(grad: Any, out: Any) -> Any:
    return grad * (out * out + 1)


@floating_function("asin(input)", inner)
def asin(input: Operand) -> Any:
    """Compute the inverse of the sine, in radians in [-pi/2, pi/2]; NaN for input outside [-1, 1].

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.asin(torch.tensor([0.0, 1.0, 2.0]))
        tensor([0.0000, 1.5708,    nan])
    """
    return np.arcsin(input)


@asin.derivative
def _(grad: Any, input: Any) -> Any:
    return grad * rsqrt(1 - input * input)


@floating_function("acos(input)", inner)
def acos(input: Operand) -> Any:
    """Compute the inverse of the cosine, in radians in [0, pi]; NaN for input outside [-1, 1].

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.acos(torch.tensor([0.0, 1.0, 2.0]))
        tensor([1.5708, 0.0000,    nan])
    """
    return np.arccos(input)


@acos.derivative
def _(grad: Any, input: Any) -> Any:
    return -grad * rsqrt(1 - input * input)


@floating_function("atan(input)")
def atan(input: Operand) -> Any:
    """Compute the inverse of the tangent, in radians in [-pi/2, pi/2].

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.atan(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7854])
    """
    return np.arctan(input)


@atan.derivative
def _(grad: Any, input: Any) -> Any:
    return grad / (input * input + 1)


# hyperbolic functions


@floating_function("sinh(input)")
def sinh(input: Operand) -> Any:
    """Compute the hyperbolic sine.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.sinh(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 1.1752])
    """
    return np.sinh(input)


@sinh.derivative
def _(grad: Any, input: Any) -> Any:
    return grad * cosh(input)


@floating_function("cosh(input)")
def cosh(input: Operand) -> Any:
    """Compute the hyperbolic cosine.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.cosh(torch.tensor([0.0, 1.0]))
        tensor([1.0000, 1.5431])
    """
    return np.cosh(input)


@cosh.derivative
def _(grad: Any, input: Any) -> Any:
    return grad * sinh(input)


@floating_function("asinh(input)")
def asinh(input: Operand) -> Any:
    """Compute the inverse of the hyperbolic sine.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.asinh(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8814])
    """
    return np.arcsinh(input)


@asinh.derivative
def _(grad: Any, input: Any) -> Any:
    return grad * rsqrt(input * input + 1)


@floating_function("acosh(input)", _above_one)
def acosh(input: Operand) -> Any:
    """Compute the inverse of the hyperbolic cosine; NaN for input below 1.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.acosh(torch.tensor([1.0, 2.0]))
        tensor([0.0000, 1.3170])
    """
    return np.arccosh(input)


@acosh.derivative
def _(grad: Any, input: Any) -> Any:
    return grad * rsqrt(input * input - 1)


@floating_function("atanh(input)", inner)
def atanh(input: Operand) -> Any:
    """Compute the inverse of the hyperbolic tangent; NaN for input outside [-1, 1].

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.atanh(torch.tensor([0.0, 0.5, 1.0]))
        tensor([0.0000, 0.5493,    inf])
    """
    return np.arctanh(input)


@atanh.derivative
def _(grad: Any, input: Any) -> Any:
    return grad / (1 - input * input)


# angles


def _points() -> Iterator[Sample]:
    """Return samples like `pairs`, away from the point (0, 0)."""
    yield Sample((Array((3, 4)), Array((3, 4), 0.5, 3, seed=1)))
    yield Sample((Array((3, 1)), Array((4,), -3, -0.5, seed=1)))
    yield Sample((Array((4, 3), layout="transposed"), Array((4, 3), 0.5, 3, layout="strided", seed=1)))
    yield Sample((Array((0, 3)), Array((3,), seed=1)))
    yield Sample((Array(()), Array((), 1, 2)))


def _no_points() -> Iterator[ErrorSample]:
    yield from unbroadcastable()
    integers = Array((3,), dtype="int64")
    yield ErrorSample((integers, integers), DtypeError, "operands must be floating point, got int64")


@pointwise(
    dtype=to_float, cuda="atan2(input, other)", samples=_points, errors=unbroadcastable, dtypes=dtypes.ALL, cost=20.0
)
def atan2(input: Operand, other: Operand) -> Any:
    """Return the angle in radians of the point with x = `other` and y = `input`, in [-pi, pi].

    Integers give the default floating point type.
    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError if `out` is not floating point.
    Example:
        >>> torch.atan2(torch.tensor([1.0, 1.0, -1.0]), torch.tensor([1.0, -1.0, -1.0]))
        tensor([ 0.7854,  2.3562, -2.3562])
    """
    return np.arctan2(input, other)


@atan2.derivative
def _(grad: Any, input: Any, other: Any, needs: Any) -> Any:
    squares = input * input + other * other
    slope = where(squares == 0, 0, grad / squares)  # also 0 where the squares of small numbers are
    return slope * other if needs[0] else None, slope * -input if needs[1] else None


@pointwise(
    dtype=floating_only, cuda="hypot(input, other)", samples=_points, errors=_no_points, dtypes=dtypes.FLOATING_TYPES,
    cost=8.0,
)  # fmt: skip
def hypot(input: Operand, other: Operand) -> Any:
    """Compute the square root of `input * input + other * other`, without overflow of the squares.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError for integers.
    Example:
        >>> torch.hypot(torch.tensor([3.0]), torch.tensor([4.0]))
        tensor([5.])
    """
    return np.hypot(input, other)


@hypot.derivative
def _(grad: Any, out: Any, input: Any, other: Any, needs: Any) -> Any:
    return grad * (input / out) if needs[0] else None, grad * (other / out) if needs[1] else None


@floating_function("input * (decltype(input))57.29577951308232", cost=1.0)
def rad2deg(input: Operand) -> Any:
    """Convert each angle from radians to degrees; integers give the default floating point type.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.rad2deg(torch.tensor([0.0, 3.14159265]))
        tensor([  0., 180.])
    """
    return input * numpy_type(input).type(DEGREES)


@rad2deg.derivative
def _(grad: Any) -> Any:
    return grad * DEGREES


@floating_function("input * (decltype(input))0.017453292519943295", cost=1.0)
def deg2rad(input: Operand) -> Any:
    """Convert each angle from degrees to radians; integers give the default floating point type.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.deg2rad(torch.tensor([0, 180]))
        tensor([0.0000, 3.1416])
    """
    return input * numpy_type(input).type(1 / DEGREES)


@deg2rad.derivative
def _(grad: Any) -> Any:
    return grad * (1 / DEGREES)


@floating_function("sinc_of(input)")
def sinc(input: Operand) -> Any:
    """Compute sin(pi x) / (pi x), and 1 at 0; integers give the default floating point type.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.sinc(torch.tensor([0.0, 0.5, 1.0]))
        tensor([ 1.0000e+00,  6.3662e-01, -2.7828e-08])
    """
    angle = input * numpy_type(input).type(pi)
    return np.where(angle == 0, 1, np.sin(angle) / angle)


@sinc.derivative
def _(grad: Any, input: Any, out: Any) -> Any:
    return where(input == 0, 0, grad * ((cos(input * pi) - out) / input))


LARGEST = {
    dtypes.float16: 65504.0, dtypes.bfloat16: 3.3895313892515355e38, dtypes.float32: 3.4028234663852886e38,
    dtypes.float64: 1.7976931348623157e308,
}  # fmt: skip


def _tensors() -> Iterator[Sample]:
    """Yield two tensors: dense, broadcast, strided, empty, zero-dimensional."""
    yield Sample((Array((3, 4)), Array((3, 4), seed=1)))
    yield Sample((Array((3, 1)), Array((4,), seed=1)))
    yield Sample((Array((4, 3), layout="transposed"), Array((4, 3), layout="strided", seed=1)))
    yield Sample((Array((0, 3)), Array((3,), seed=1)))
    yield Sample((Array(()), Array((), seed=1)))


# signs


def _signs() -> Iterator[Sample]:
    return (sample for sample in pairs() if hasattr(sample.args[0], "shape"))


@pointwise(dtype=to_float, cuda="copysign(input, other)", samples=_signs, errors=unbroadcastable, dtypes=dtypes.ALL)
def copysign(input: Operand, other: Value) -> Any:
    """Return the magnitude of `input` with the sign of `other`; integers give the default floating point type.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError if `out` is not floating point.
    Example:
        >>> torch.copysign(torch.tensor([1.0, -2.0]), torch.tensor([-0.0, 3.0]))
        tensor([-1.,  2.])
    """
    return np.copysign(input, other)


@copysign.derivative
def _(grad: Any, out: Any, input: Any, needs: Any) -> Any:
    by_input = grad * where(input == 0, 0, out / input) if needs[0] else None
    return by_input, fill(grad, 0) if needs[1] else None


@floating_function(
    "is_nan(input) ? input : input < 0 ? (decltype(input))3.141592653589793 : 0", cost=1.0, inplace=False
)
def angle(input: Operand) -> Any:
    """Return the angle of each number in the complex plane: pi for a negative number, else 0; NaN is unchanged.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.angle(torch.tensor([-1.0, 0.0, 1.0]))
        tensor([3.1416, 0.0000, 0.0000])
    """
    number = numpy_type(input).type
    return np.where(np.isnan(input), input, np.where(np.less(input, 0), number(pi), number(0)))


angle.derivative(lambda grad: fill(grad, 0))
angle.inplace = False


def _same_type(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    if types[0] is not types[1]:
        raise DtypeError(
            f"input and values must have the same type, got {types[0].name} and {types[1].name}",
            hint=f"convert one, as in values.to(torch.{types[0].name})",
            operator=name,
        )
    return promoted(name, types, common)


def _two_types() -> Iterator[ErrorSample]:
    yield from unbroadcastable()
    yield ErrorSample((Array((3,)), Array((3,), dtype="int64")), DtypeError, "same type, got float32 and int64")


@pointwise(
    dtype=_same_type, cuda="input == 0 ? values : (decltype(input))(input > 0)", samples=_tensors, errors=_two_types,
    dtypes=dtypes.ALL, differentiable=False,
)  # fmt: skip
def heaviside(input: Operand, values: Operand) -> Any:
    """Return 0 where `input` is negative or NaN, `values` where it is 0, else 1.

    The result has no gradient.
    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError if the types differ.
    Example:
        >>> torch.heaviside(torch.tensor([-1.5, 0.0, 2.0]), torch.tensor([0.5]))
        tensor([0.0000, 0.5000, 1.0000])
    """
    return np.where(np.equal(input, 0), values, np.greater(input, 0).astype(numpy_type(input)))


# mantissas, exponents, neighbours


@cache
def frexp_kernel(dtype: dtype) -> Kernel:
    entry, t, c = f"frexp_{dtype.name}", dtype.cuda, dtype.wide.cuda
    source = f"""{PRELUDE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({t}* mantissa, int* exponent, const {t}* input,
    const __grid_constant__ Layout<3> layout) {{
  const long long numel = count(layout), step = (long long)gridDim.x * blockDim.x;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < numel; i += step) {{
    long long at[3];
    offsets(layout, i, at);
    const {c} x = load<{c}>(input[at[2]]);
    mantissa[at[0]] = store<{t}>(mantissa_of(x));
    exponent[at[1]] = exponent_of(x);
  }}
}}
"""

    def reference(mantissa: Any, exponent: Any, input: Any) -> None:
        mantissa[...], exponent[...] = np.frexp(input.astype(dtype.wide.numpy, copy=False))

    names = ("mantissa", "exponent", "input")
    types = zip(names, (dtype, int32, dtype), "wwr")
    return Kernel(entry, source, [*(Pointer(*each, "layout") for each in types), Strided("layout", names)], reference)


@operator(samples=singles, errors=no_floats, dtypes=dtypes.FLOATING_TYPES)
def frexp(call: Any, input: Operand) -> Any:
    """Return (mantissa, exponent), where input = mantissa * 2^exponent and |mantissa| is in [0.5, 1), or 0 for 0.

    Shapes: both results have the input's shape; exponent is int32.
    Host:   returns at once.
    Raises: DtypeError for integers.
    Example:
        >>> torch.frexp(torch.tensor([0.0, 3.0, -8.0]))
        torch.return_types.frexp(
        mantissa=tensor([ 0.0000,  0.7500, -0.5000]),
        exponent=tensor([0, 2, 4], dtype=torch.int32))
    """
    floating_only("frexp", [input.dtype], input.dtype)
    strides = st.preserved(input.shape, input.strides)
    mantissa, exponent = call.output(input.shape, input.dtype, strides), call.output(input.shape, int32, strides)
    if mantissa.numel():
        layout = st.collapse(input.shape, [mantissa.strides, exponent.strides, input.strides])
        call.launch(frexp_kernel(input.dtype), grid_over(mantissa.numel()), mantissa, exponent, input, layout)
    return results.frexp(mantissa, exponent)


@frexp.derivative
def _(grads: Any, out1: Any) -> Any:
    return None if grads[0] is None else grads[0] / pow_(2.0, out1)


def _exponents() -> Iterator[Sample]:
    for sample in _tensors():
        first, second = sample.args
        yield Sample((first, second._replace(low=-3, high=4)))


@pointwise(
    dtype=to_float, cuda="scaled(input, other)", cost=4.0, samples=_exponents, errors=unbroadcastable, dtypes=dtypes.ALL
)
def ldexp(input: Operand, other: Operand) -> Any:
    """Compute `input * 2 ** other`; integers give the default floating point type.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError if `out` is not floating point.
    Example:
        >>> torch.ldexp(torch.tensor([1.0, 3.0]), torch.tensor([4, -1]))
        tensor([16.0000,  1.5000])
    """
    whole = np.clip(np.floor(other), -MOST_SHIFT, MOST_SHIFT)  # NaN stays
    shift = np.where(np.isnan(whole), 0, whole).astype(np.int32)
    return np.ldexp(input * np.exp2(other - whole), shift)


@ldexp.derivative(only_for={"other": "input"})
def _(grad: Any, out: Any, other: Any, needs: Any) -> Any:
    return grad * exp2(other) if needs[0] else None, grad * out * LOG_2 if needs[1] else None


def _of_halves(dtype: dtype) -> Any:
    """Make the operator that `nextafter` lowers to for a half type."""

    def neighbour(input: Operand, other: Operand) -> Any:
        """Return the next number of a half type."""
        first, second = [np.asarray(each).astype(dtype.numpy) for each in (input, other)]
        return np.nextafter(first, second)

    return Pointwise(
        neighbour, lambda *_: ([dtype] * 2, dtype), f"neighbour<{dtype.cuda}>(input, other)", 4.0, samples=_tensors,
        dtypes=(dtype,), method=False, function=False, differentiable=False, name=f"nextafter_{dtype.name}",
    )  # fmt: skip


HALVES = {dtype: _of_halves(dtype) for dtype in (dtypes.float16, dtypes.bfloat16)}


class Nextafter(Pointwise):
    """The operator `nextafter`, whose result depends on the stored type, not on the compute type."""

    def lower(self, call: Any, input: Any, other: Any) -> Any:
        halves = HALVES.get(common_type([input, other]))
        return super().lower(call, input, other) if halves is None else halves.lower(call, input, other)


def _no_neighbours() -> Iterator[ErrorSample]:
    yield from unbroadcastable()
    integers = Array((3,), dtype="int64")
    yield ErrorSample((integers, integers), DtypeError, "operands must be floating point, got int64")


def _nextafter(input: Operand, other: Operand) -> Any:
    """Return the next representable number after `input` towards `other`; the gradient passes to `input` unchanged.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError for integers.
    Example:
        >>> x = torch.tensor([1.0])
        >>> torch.nextafter(x, torch.tensor([2.0])) - x
        tensor([1.1921e-07])
    """
    return np.nextafter(input, other)


nextafter = Nextafter(
    _nextafter, floating_only, "nextafter(input, other)", 4.0, samples=_tensors, errors=_no_neighbours,
    dtypes=dtypes.FLOATING_TYPES, inplace=True, name="nextafter",
)  # fmt: skip


@nextafter.derivative
def _(grad: Any, input: Any, other: Any, needs: Any) -> Any:
    return masked_fill(grad, input == other, 0), fill(grad, 0) if needs[1] else None


# divisors


def _integers_only(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    if common is bool_ or common.is_floating_point:
        raise DtypeError(f"operands must be integers, got {common.name}", hint="call .long()", operator=name)
    return promoted(name, types, common)


def _int_pairs() -> Iterator[Sample]:
    for sample in _tensors():
        first, second = sample.args
        yield Sample((first._replace(low=-12, high=12), second._replace(low=-6, high=9)))


def _no_divisors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), Array((3,))), DtypeError, "operands must be integers, got float32")


def _of_integers(cuda: str) -> Any:
    return pointwise(
        dtype=_integers_only, cuda=cuda, samples=_int_pairs, errors=_no_divisors, dtypes=dtypes.INTEGER_TYPES, cost=50.0
    )


@_of_integers("divisor_of(input, other)")
def gcd(input: Operand, other: Operand) -> Any:
    """Compute the greatest common divisor, which is not negative; that of 0 and 0 is 0.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: DtypeError for floating point and bool.
    Example:
        >>> torch.gcd(torch.tensor([12, 7, 0]), torch.tensor([18, 14, 5]))
        tensor([6, 7, 5])
    """
    return np.gcd(input, other)


@_of_integers("multiple_of(input, other)")
def lcm(input: Operand, other: Operand) -> Any:
    """Compute the least common multiple, which is not negative; 0 where an operand is 0.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: DtypeError for floating point and bool.
    Example:
        >>> torch.lcm(torch.tensor([4, 7, 0]), torch.tensor([6, 14, 5]))
        tensor([12, 14,  0])
    """
    divisors = np.gcd(input, other)
    wide = np.promote_types(numpy_type(input), np.int32)  # as C computes with narrower types
    return np.abs(np.floor_divide(input, np.where(divisors == 0, 1, divisors)).astype(wide) * other)


# NaN and infinities


class NanToNum(Pointwise):
    """The operator `nan_to_num`; infinities become by default the largest numbers of the input's type."""

    def lower(self, call: Any, input: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
        if not input.dtype.is_floating_point:
            return super().lower(call, input, 0.0, 0.0, 0.0)
        largest = LARGEST[input.dtype]
        return super().lower(
            call,
            input,
            0.0 if nan is None else float(nan),
            largest if posinf is None else float(posinf),
            -largest if neginf is None else float(neginf),
        )


def _as_first(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    """Dtype rule: every input is converted to the type of the first one, which the result has too."""
    return [types[0]] * len(types), types[0]


def _not_finite() -> Iterator[Sample]:
    yield from singles()
    yield Sample((Array((3, 4)), 1.5))
    yield Sample((Array((4, 3), layout="transposed"),), {"posinf": 2.0, "neginf": -3.0})


def _wrong_numbers() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), "0"), TypeError, "argument 'nan' must be a number or None")


def _nan_to_num(
    input: Operand, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Any:
    """Replace NaN by `nan`, infinities by `posinf` and `neginf`; integers are unchanged.

    nan: None means 0.  posinf, neginf: None means the largest and the lowest finite number of the type.
    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentTypeError if `nan`, `posinf` or `neginf` is neither a number nor None.
    Example:
        >>> torch.nan_to_num(torch.tensor([float("nan"), 2.0, -float("inf")]), neginf=-1.0)
        tensor([ 0.,  2., -1.])
    """
    array: Any = input
    if array.dtype.kind != "f":
        return array
    return np.where(
        np.isnan(array), nan, np.where(np.isposinf(array), posinf, np.where(np.isneginf(array), neginf, array))
    )


nan_to_num = NanToNum(
    _nan_to_num, _as_first, "is_nan(input) ? nan : is_infinite(input) ? (input > 0 ? posinf : neginf) : input", 3.0,
    samples=_not_finite, errors=_wrong_numbers, dtypes=dtypes.ALL, inplace=True, name="nan_to_num",
)  # fmt: skip


@nan_to_num.derivative
def _(grad: Any, input: Any) -> Any:
    return where(isfinite(input), grad, 0)
