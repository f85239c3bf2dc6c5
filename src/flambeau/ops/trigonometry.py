"""Trigonometric and hyperbolic functions and their inverses, angles in degrees, and sinc."""

from __future__ import annotations

from collections.abc import Iterator
from math import pi
from typing import Any

from .. import dtypes
from ..errors import DtypeError
from ..host import np
from .arithmetic import rsqrt
from .compare import where
from .elementary import floating_function, inner
from .operator import Array, ErrorSample, Operand, Sample
from .pointwise import floating_only, numpy_type, pointwise, to_float
from .samples import singles, unbroadcastable

DEGREES = 180 / pi  # of one radian


def _near() -> Iterator[Sample]:
    """As `singles`, away from the poles of the tangent."""
    return (Sample((sample.args[0]._replace(low=-1.2, high=1.2),)) for sample in singles())


def _above_one() -> Iterator[Sample]:
    return (Sample((sample.args[0]._replace(low=1.5, high=4.0),)) for sample in singles())


# trigonometric functions


@floating_function("sin(input)")
def sin(input: Operand) -> Any:
    """Sine.

    Shapes: as the input's.
    Host: returns at once.
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
    """Cosine.

    Shapes: as the input's.
    Host: returns at once.
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
    """Tangent.

    Shapes: as the input's.
    Host: returns at once.
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
    """Inverse of the sine, in [-pi/2, pi/2]; NaN outside [-1, 1].

    Shapes: as the input's.
    Host: returns at once.
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
    """Inverse of the cosine, in [0, pi]; NaN outside [-1, 1].

    Shapes: as the input's.
    Host: returns at once.
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
    """Inverse of the tangent, in [-pi/2, pi/2].

    Shapes: as the input's.
    Host: returns at once.
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
    """Hyperbolic sine.

    Shapes: as the input's.
    Host: returns at once.
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
    """Hyperbolic cosine.

    Shapes: as the input's.
    Host: returns at once.
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
    """Inverse of the hyperbolic sine.

    Shapes: as the input's.
    Host: returns at once.
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
    """Inverse of the hyperbolic cosine; NaN below 1.

    Shapes: as the input's.
    Host: returns at once.
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
    """Inverse of the hyperbolic tangent; NaN outside [-1, 1].

    Shapes: as the input's.
    Host: returns at once.
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
    """As `pairs`, away from the point (0, 0)."""
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
    """The angle of the point with abscissa `other` and ordinate `input`, in [-pi, pi]; integers give float32.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Example:
        >>> torch.atan2(torch.tensor([1.0, 1.0, -1.0]), torch.tensor([1.0, -1.0, -1.0]))
        tensor([ 0.7854,  2.3562, -2.3562])
    """
    return np.arctan2(input, other)


@atan2.derivative
def _(grad: Any, input: Any, other: Any, needs: Any) -> Any:
    slope = grad / (input * input + other * other)
    slope = where((input == 0).logical_and(other == 0), 0, slope)
    return slope * other if needs[0] else None, slope * -input if needs[1] else None


@pointwise(
    dtype=floating_only, cuda="hypot(input, other)", samples=_points, errors=_no_points, dtypes=dtypes.FLOATING_TYPES,
    cost=8.0,
)  # fmt: skip
def hypot(input: Operand, other: Operand) -> Any:
    """Square root of `input * input + other * other`, without overflow in between.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: DtypeError for integers.
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
    """An angle in radians converted to degrees; integers give float32.

    Shapes: as the input's.
    Host: returns at once.
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
    """An angle in degrees converted to radians; integers give float32.

    Shapes: as the input's.
    Host: returns at once.
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
    """sin(pi x) / (pi x), and 1 at 0; integers give float32.

    Shapes: as the input's.
    Host: returns at once.
    Example:
        >>> torch.sinc(torch.tensor([0.0, 0.5, 1.0]))
        tensor([ 1.0000e+00,  6.3662e-01, -2.7828e-08])
    """
    angle = input * numpy_type(input).type(pi)
    return np.where(angle == 0, 1, np.sin(angle) / angle)


@sinc.derivative
def _(grad: Any, input: Any, out: Any) -> Any:
    return where(input == 0, 0, grad * ((cos(input * pi) - out) / input))
