"""Elementary functions: exponentials, logarithms, the error function, rounding."""

from __future__ import annotations

from collections.abc import Iterator
from math import log as log_of_number
from math import pi
from math import sqrt as root
from typing import Any

from .. import dtypes
from ..errors import DtypeError
from ..host import np, special
from .copies import fill
from .operator import Array, ErrorSample, Operand, Sample, Value
from .pointwise import Pointwise, floating_only, numbers, numpy_type, pointwise, to_float
from .samples import NUMERIC_TYPES, no_floats, one_bool, positives, singles, unbroadcastable

TWO_OVER_ROOT_PI = 2 / root(pi)
LOG_2, LOG_10 = log_of_number(2), log_of_number(10)


def floating_function(cuda: str, samples: Any = singles, cost: float = 10.0, **options: Any) -> Any:
    """Make an operator on floating point values; integers give float32."""
    return pointwise(dtype=to_float, cuda=cuda, samples=samples, dtypes=dtypes.ALL, cost=cost, **options)


# exponentials and logarithms


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


@floating_function("exp2(input)")
def exp2(input: Operand) -> Any:
    """2 to the power x.

    Shapes: as the input's.
    Host: returns at once.
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


@floating_function("log2(input)", positives)
def log2(input: Operand) -> Any:
    """Logarithm to base 2.

    Shapes: as the input's.
    Host: returns at once.
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
    """Logarithm to base 10.

    Shapes: as the input's.
    Host: returns at once.
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


@floating_function("erf(input)", cost=20.0)
def erf(input: Operand) -> Any:
    """Error function.

    Shapes: as the input's.
    Host: returns at once.
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
    """1 - erf(x), accurate where that is near 0.

    Shapes: as the input's.
    Host: returns at once.
    Example:
        >>> torch.erfc(torch.tensor([0.0, 1.0]))
        tensor([1.0000, 0.1573])
    """
    return special.erfc(input)


@erfc.derivative
def _(grad: Any, input: Any) -> Any:
    return grad * (exp(-(input * input)) * -TWO_OVER_ROOT_PI)


def inner() -> Iterator[Sample]:
    """As `singles`, with values between -1 and 1."""
    return (Sample((sample.args[0]._replace(low=-0.9, high=0.9),)) for sample in singles())


@floating_function("erfinv(input)", inner, 20.0)
def erfinv(input: Operand) -> Any:
    """Inverse of the error function; NaN outside [-1, 1].

    Shapes: as the input's.
    Host: returns at once.
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
    """log(exp(input) + exp(other)), without overflow.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: DtypeError for integers.
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
    """log2(2^input + 2^other), without overflow.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: DtypeError for integers.
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


@pointwise(
    dtype=floating_only, cuda="input - trunc(input)", samples=singles, errors=no_floats, dtypes=dtypes.FLOATING_TYPES
)
def frac(input: Operand) -> Any:
    """x - trunc(x), the part after the point, with the sign of x.

    Shapes: as the input's.
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
