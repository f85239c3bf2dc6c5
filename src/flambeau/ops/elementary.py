"""Elementary functions of one operand: exponentials, logarithms, trigonometry, the error function, rounding."""

from __future__ import annotations

from collections.abc import Iterator
from math import pi
from math import sqrt as root
from typing import Any

from .. import dtypes
from ..errors import DtypeError
from ..host import np
from .copies import fill
from .operator import Array, Operand, Sample, Value
from .pointwise import Pointwise, floating_only, numbers, numpy_type, pointwise, to_float
from .samples import NUMERIC_TYPES, one_bool, positives, singles

TWO_OVER_ROOT_PI = 2 / root(pi)


def floating_function(cuda: str, samples: Any = singles, cost: float = 10.0) -> Any:
    """Make an operator on floating point values; integers give float32."""
    return pointwise(dtype=to_float, cuda=cuda, samples=samples, dtypes=dtypes.ALL, cost=cost)


# exponentials and trigonometry


@floating_function("exp(input)")
def exp(input: Operand) -> Any:
    """e to the power x.

    Shapes: as the input's.
    Host: returns at once.
    Example:
        >>> torch.exp(torch.tensor([0.0, 1.0]))
        tensor([1.0000, 2.7183])
    """
    return np.exp(input)


@exp.derivative
def _(grad: Any, out: Any) -> Any:
    return grad * out


@floating_function("expm1(input)")
def expm1(input: Operand) -> Any:
    """exp(x) - 1, accurate near 0.

    Shapes: as the input's.
    Host: returns at once.
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
    """Natural logarithm.

    Shapes: as the input's.
    Host: returns at once.
    Example:
        >>> torch.log(torch.tensor([1.0, 2.718281828, 0.0]))
        tensor([0., 1., -inf])
    """
    return np.log(input)


@log.derivative
def _(grad: Any, input: Any) -> Any:
    return grad / input


@floating_function("log1p(input)", positives)
def log1p(input: Operand) -> Any:
    """log(1 + x), accurate near 0.

    Shapes: as the input's.
    Host: returns at once.
    Example:
        >>> x = torch.tensor([1e-9])
        >>> (torch.log1p(x), torch.log(1 + x))
        (tensor([1.0000e-09]), tensor([0.]))
    """
    return np.log1p(input)


@log1p.derivative
def _(grad: Any, input: Any) -> Any:
    return grad / (input + 1)


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


# W. J. Cody, "Rational Chebyshev approximations for the error function", Mathematics of Computation 23 (1969):
# erf(x) / x in x^2 up to SMALL, exp(x^2) erfc(x) in x beyond; from LARGE on, erf is 1 in float64.
SMALL, LARGE = 0.46875, 6.0
_NEAR_TOP = (
    1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2, 3.77485237685302021e2, 3.20937758913846947e3,
)  # fmt: skip
_NEAR_BOTTOM = (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3)
_FAR_TOP = (
    2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1, 2.98635138197400131e2,
    8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3, 1.23033935479799725e3,
)  # fmt: skip
_FAR_BOTTOM = (
    1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
    3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3,
)  # fmt: skip


def _polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    total = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        total *= x
        total += coefficient
    return total


def erf_of(x: Any) -> Any:
    """Error function of an array, computed in float64 with an error of 5e-16 and rounded to the type of the array."""
    wide = np.asarray(x, np.float64)
    size = np.minimum(np.abs(wide), LARGE)
    is_small = size <= SMALL
    square = np.where(is_small, size * size, 0.0)
    near = wide * (_polynomial(_NEAR_TOP, square) / _polynomial(_NEAR_BOTTOM, square))
    far = 1 - np.exp(-size * size) * (_polynomial(_FAR_TOP, size) / _polynomial(_FAR_BOTTOM, size))
    return np.where(is_small, near, np.copysign(far, wide)).astype(x.dtype)


@floating_function("erf(input)", cost=20.0)
def erf(input: Operand) -> Any:
    """Error function.

    Shapes: as the input's.
    Host: returns at once.
    Example:
        >>> torch.erf(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8427])
    """
    return erf_of(input)


@erf.derivative
def _(grad: Any, input: Any) -> Any:
    return grad * (exp(-(input * input)) * TWO_OVER_ROOT_PI)


# rounding


def numeric_function(cuda: str) -> Any:
    return pointwise(dtype=numbers, cuda=cuda, samples=singles, errors=one_bool, dtypes=NUMERIC_TYPES)


@numeric_function("floor_of(input)")
def floor(input: Operand) -> Any:
    """Round down to an integer; integers are unchanged.

    Shapes: as the input's.
    Host: returns at once.
    Example:
        >>> torch.floor(torch.tensor([-1.5, 0.2, 2.0]))
        tensor([-2.,  0.,  2.])
    """
    return np.floor(input)


@numeric_function("ceil_of(input)")
def ceil(input: Operand) -> Any:
    """Round up to an integer; integers are unchanged.

    Shapes: as the input's.
    Host: returns at once.
    Example:
        >>> torch.ceil(torch.tensor([-1.5, 0.2, 2.0]))
        tensor([-1.,  1.,  2.])
    """
    return np.ceil(input)


@numeric_function("trunc_of(input)")
def trunc(input: Operand) -> Any:
    """Round toward 0 to an integer; integers are unchanged.

    Shapes: as the input's.
    Host: returns at once.
    Example:
        >>> torch.trunc(torch.tensor([-1.5, 0.2, 2.0]))
        tensor([-1.,  0.,  2.])
    """
    return np.trunc(input)


def _multiples() -> Iterator[Sample]:
    for up, down in ((10.0, 1.0), (1.0, 100.0)):
        yield Sample((Array((3, 4), low=-300, high=300), up, down))


@pointwise(
    dtype=floating_only, cuda="round_of(input * up / down) / up * down", samples=_multiples,
    dtypes=dtypes.FLOATING_TYPES, inplace=False, method=False, function=False, cost=4.0,
)  # fmt: skip
def round_scaled(input: Value, up: Value, down: Value) -> Any:
    """The operator of `round` with decimals: the nearest multiple of down / up."""
    return np.rint(input * up / down) / up * down


@round_scaled.derivative
def _(grad: Any) -> Any:
    return fill(grad, 0), None, None


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
        up, down = (10.0**decimals, 1.0) if decimals > 0 else (1.0, 10.0**-decimals)
        return round_scaled.lower(call, input, up, down)


def _rounded(body: Any) -> Any:
    return Rounded(
        body, numbers, "round_of(input)", 1.0, samples=singles, errors=one_bool, dtypes=NUMERIC_TYPES, inplace=True
    )


@_rounded
def round(input: Operand, *, decimals: int = 0) -> Any:
    """Round to the nearest integer, halves to the even one; integers are unchanged.

    decimals: the number of digits after the point that are kept; -n rounds to multiples of 10^n.
    Shapes: as the input's.
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
