"""Pointwise functions of one operand: exponentials, trigonometry, rounding, activations."""

from __future__ import annotations

from collections.abc import Iterator
from math import pi
from math import sqrt as root
from typing import Any

from .. import dtypes
from ..errors import ArgumentError, DtypeError
from ..host import np
from ..problem import GELU_CUBIC, ROOT_2_OVER_PI, gelu_bend, gelu_tanh_of
from .arithmetic import NUMBERS, one_bool, positives, singles
from .convert import fill
from .operator import Array, ErrorSample, Operand, Sample, Value
from .pointwise import Pointwise, floating_only, numbers, pointwise, promoted, to_float

TWO_OVER_ROOT_PI = 2 / root(pi)
ONE_OVER_ROOT_2 = 1 / root(2)
ONE_OVER_ROOT_2_PI = 1 / root(2 * pi)


def _smooth(cuda: str, samples: Any = singles, cost: float = 10.0) -> Any:
    """A function of floating point values; integers give float32."""
    return pointwise(dtype=to_float, cuda=cuda, samples=samples, dtypes=dtypes.ALL, cost=cost)


# exponentials and trigonometry


@_smooth("exp(input)")
def exp(input: Operand) -> Any:
    """e to the power of the value.

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


@_smooth("expm1(input)")
def expm1(input: Operand) -> Any:
    """exp(x) - 1, exact near 0.

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


@_smooth("log(input)", positives)
def log(input: Operand) -> Any:
    """The natural logarithm.

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


@_smooth("log1p(input)", positives)
def log1p(input: Operand) -> Any:
    """log(1 + x), exact near 0.

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


@_smooth("sin(input)")
def sin(input: Operand) -> Any:
    """The sine.

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


@_smooth("cos(input)")
def cos(input: Operand) -> Any:
    """The cosine.

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
    for each in coefficients[1:]:
        total *= x
        total += each
    return total


def erf_of(x: Any) -> Any:
    """The error function of an array, computed in float64 to 5e-16, rounded to the array's type."""
    wide = np.asarray(x, np.float64)
    size = np.minimum(np.abs(wide), LARGE)
    is_small = size <= SMALL
    square = np.where(is_small, size * size, 0.0)
    near = wide * (_polynomial(_NEAR_TOP, square) / _polynomial(_NEAR_BOTTOM, square))
    far = 1 - np.exp(-size * size) * (_polynomial(_FAR_TOP, size) / _polynomial(_FAR_BOTTOM, size))
    return np.where(is_small, near, np.copysign(far, wide)).astype(x.dtype)


@_smooth("erf(input)", cost=20.0)
def erf(input: Operand) -> Any:
    """The error function.

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


def _on_numbers(cuda: str) -> Any:
    return pointwise(dtype=numbers, cuda=cuda, samples=singles, errors=one_bool, dtypes=NUMBERS)


@_on_numbers("floor_of(input)")
def floor(input: Operand) -> Any:
    """The largest integer not above the value; integers stay.

    Shapes: as the input's.
    Host: returns at once.
    Example:
        >>> torch.floor(torch.tensor([-1.5, 0.2, 2.0]))
        tensor([-2.,  0.,  2.])
    """
    return np.floor(input)


@_on_numbers("ceil_of(input)")
def ceil(input: Operand) -> Any:
    """The smallest integer not below the value; integers stay.

    Shapes: as the input's.
    Host: returns at once.
    Example:
        >>> torch.ceil(torch.tensor([-1.5, 0.2, 2.0]))
        tensor([-1.,  1.,  2.])
    """
    return np.ceil(input)


@_on_numbers("trunc_of(input)")
def trunc(input: Operand) -> Any:
    """The value without its fraction; integers stay.

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
    """The nearest multiple of down / up: what `round` with decimals lowers to."""
    return np.rint(input * up / down) / up * down


@round_scaled.derivative
def _(grad: Any) -> Any:
    return fill(grad, 0), None, None


class Rounded(Pointwise):
    """A rounding that may keep decimals."""

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
        body, numbers, "round_of(input)", 1.0, samples=singles, errors=one_bool, dtypes=NUMBERS, inplace=True
    )


@_rounded
def round(input: Operand, *, decimals: int = 0) -> Any:
    """The nearest integer, of two the even one; integers stay.  Shapes: as the input's.  Host: returns at once.

    decimals: how many digits are kept behind the point; negative, how many before it become 0.
    Raises: DtypeError for bool, and for integers with decimals.
    Example:
        >>> torch.round(torch.tensor([0.5, 1.5, 2.6]))
        tensor([0., 2., 3.])
        >>> torch.round(torch.tensor([3.14159]), decimals=2)
        tensor([3.1400])
    """
    return input if input.dtype.kind in "iu" else np.rint(input)  # type: ignore[attr-defined]


for _each in (floor, ceil, trunc, round):
    _each.derivative(lambda grad: fill(grad, 0))


# activations: each backward is one launch, and has a derivative of its own


def _slopes() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), seed=1)))
    yield Sample((Array((4, 3), layout="transposed"), Array((4, 3), seed=1)))
    yield Sample((Array((0, 3)), Array((0, 3))))


def _backward(cuda: str, samples: Any = _slopes) -> Any:
    return pointwise(
        dtype=promoted, cuda=cuda, samples=samples, dtypes=dtypes.FLOATING_TYPES, cost=10.0, inplace=False,
        method=False, function=False,
    )  # fmt: skip


@_backward("upstream * (1 - result * result)")
def tanh_backward(upstream: Operand, result: Operand) -> Any:
    """The gradient of tanh, from its result."""
    return upstream * (1 - result * result)  # type: ignore[operator]


@tanh_backward.derivative
def _(grad: Any, upstream: Any, result: Any, needs: Any) -> Any:
    return tanh_backward(grad, result), grad * upstream * result * -2 if needs[1] else None


@_smooth("tanh(input)")
def tanh(input: Operand) -> Any:
    """The hyperbolic tangent.

    Shapes: as the input's.
    Host: returns at once.
    Example:
        >>> torch.tanh(torch.tensor([0.0, 1.0, 100.0]))
        tensor([0.0000, 0.7616, 1.0000])
    """
    return np.tanh(input)


@tanh.derivative
def _(grad: Any, out: Any) -> Any:
    return tanh_backward(grad, out)


@_backward("upstream * (result * (1 - result))")
def sigmoid_backward(upstream: Operand, result: Operand) -> Any:
    """The gradient of sigmoid, from its result."""
    return upstream * (result * (1 - result))  # type: ignore[operator]


@sigmoid_backward.derivative
def _(grad: Any, upstream: Any, result: Any, needs: Any) -> Any:
    return sigmoid_backward(grad, result), grad * upstream * (1 - result * 2) if needs[1] else None


def sigmoid_of(x: Any) -> Any:
    """1 / (1 + exp(-x)) of an array."""
    return 1 / (1 + np.exp(-x))


@_smooth("sigmoid_of(input)")
def sigmoid(input: Operand) -> Any:
    """1 / (1 + exp(-x)).

    Shapes: as the input's.
    Host: returns at once.
    Example:
        >>> torch.sigmoid(torch.tensor([0.0, 100.0]))
        tensor([0.5000, 1.0000])
    """
    return sigmoid_of(input)


@sigmoid.derivative
def _(grad: Any, out: Any) -> Any:
    return sigmoid_backward(grad, out)


def _results() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), seed=1, grad=False)))
    yield Sample((Array((4, 3), layout="transposed"), Array((4, 3), seed=1, grad=False)))


@_backward("result <= 0 ? 0 : upstream", samples=_results)
def relu_backward(upstream: Operand, result: Operand) -> Any:
    """The gradient of relu, from its result: it passes where that is not 0 (or NaN)."""
    return np.where(np.less_equal(result, 0), 0, upstream)  # type: ignore[call-overload]


@relu_backward.derivative
def _(grad: Any, result: Any) -> Any:
    return relu_backward(grad, result), None


_zeros: dict[Any, Any] = {}  # per NumPy type, an array without dimensions: NumPy converts a Python 0 in every call


@_on_numbers("is_nan(input) || input > 0 ? input : 0")
def relu(input: Operand) -> Any:
    """Values below 0 become 0; NaN stays.

    Shapes: as the input's.
    Host: returns at once.
    Example:
        >>> torch.relu(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([0., 0., 2.])
    """
    array: Any = input
    zero = _zeros.get(array.dtype)
    if zero is None:
        zero = _zeros[array.dtype] = np.zeros((), array.dtype)
    return np.maximum(array, zero)


@relu.derivative
def _(grad: Any, out: Any) -> Any:
    return relu_backward(grad, out)


def _integers() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,), dtype="int64"),), DtypeError, "operands must be floating point, got int64")


@_backward("upstream * silu_slope(input)")
def silu_backward(upstream: Operand, input: Operand) -> Any:
    """The gradient of silu."""
    gate = sigmoid_of(input)
    return upstream * (gate * (1 + input * (1 - gate)))  # type: ignore[operator]


@silu_backward.derivative
def _(grad: Any, upstream: Any, input: Any, needs: Any) -> Any:
    if not needs[1]:
        return silu_backward(grad, input), None
    gate = sigmoid(input)
    bend = gate * (1 - gate) * (input * (1 - gate * 2) + 2)
    return silu_backward(grad, input), grad * upstream * bend


@pointwise(
    dtype=floating_only, cuda="input / (1 + exp(-input))", samples=singles, errors=_integers,
    dtypes=dtypes.FLOATING_TYPES, cost=12.0, method=False,
)  # fmt: skip
def silu(input: Operand) -> Any:
    """x times sigmoid(x).

    Shapes: as the input's.
    Host: returns at once.
    Raises: DtypeError for integers.
    Example:
        >>> torch.silu(torch.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.2689,  0.0000,  0.7311])
    """
    return input / (1 + np.exp(-input))  # type: ignore[operator]


@silu.derivative
def _(grad: Any, input: Any) -> Any:
    return silu_backward(grad, input)


@_backward("upstream * gelu_slope(input)")
def gelu_backward(upstream: Operand, input: Operand) -> Any:
    """The gradient of gelu."""
    number = input.dtype.type  # type: ignore[attr-defined]
    cumulative = number(0.5) * (1 + erf_of(input * number(ONE_OVER_ROOT_2)))
    density = np.exp(input * input * number(-0.5)) * number(ONE_OVER_ROOT_2_PI)  # type: ignore[operator]
    return upstream * (cumulative + input * density)


@gelu_backward.derivative
def _(grad: Any, upstream: Any, input: Any, needs: Any) -> Any:
    if not needs[1]:
        return gelu_backward(grad, input), None
    square = input * input
    density = exp(square * -0.5) * ONE_OVER_ROOT_2_PI
    return gelu_backward(grad, input), grad * upstream * (density * (2 - square))


@_backward("upstream * gelu_tanh_slope(input)")
def gelu_tanh_backward(upstream: Operand, input: Operand) -> Any:
    """The gradient of gelu's approximation by tanh."""
    number = input.dtype.type  # type: ignore[attr-defined]
    bend, steepness = gelu_bend(input), number(ROOT_2_OVER_PI) * (1 + 3 * number(GELU_CUBIC) * input * input)
    return upstream * (number(0.5) * (1 + bend) + number(0.5) * input * (1 - bend * bend) * steepness)


@gelu_tanh_backward.derivative
def _(grad: Any, upstream: Any, input: Any, needs: Any) -> Any:
    if not needs[1]:
        return gelu_tanh_backward(grad, input), None
    square = input * input
    bend = tanh((input + input * square * GELU_CUBIC) * ROOT_2_OVER_PI)
    steepness = (square * (3 * GELU_CUBIC) + 1) * ROOT_2_OVER_PI
    change = input * (6 * GELU_CUBIC * ROOT_2_OVER_PI)
    twice = (1 - bend * bend) * (steepness + input * 0.5 * (change - bend * 2 * steepness * steepness))
    return gelu_tanh_backward(grad, input), grad * upstream * twice


@pointwise(
    dtype=floating_only, cuda="gelu_tanh_of(input)", samples=tuple, dtypes=dtypes.FLOATING_TYPES, cost=20.0,
    inplace=False, method=False, function=False, differentiable=False,
)  # fmt: skip
def gelu_tanh(input: Operand) -> Any:
    """Gelu's approximation by tanh: what gelu lowers to for approximate="tanh"."""
    return gelu_tanh_of(input)


class Gelu(Pointwise):
    """One kernel for each form."""

    def lower(self, call: Any, input: Any, approximate: str = "none") -> Any:
        if approximate not in ("none", "tanh"):
            raise ArgumentError(f"approximate={approximate!r} is unknown", hint="use 'none' or 'tanh'", operator="gelu")
        return gelu_tanh.lower(call, input) if approximate == "tanh" else super().lower(call, input)


def _gelus() -> Iterator[Sample]:
    for approximate in ("none", "tanh"):
        for sample in singles():
            yield Sample(sample.args, {"approximate": approximate})


def _wrong_gelus() -> Iterator[ErrorSample]:
    yield from _integers()
    yield ErrorSample((Array((3,)), "exact"), ArgumentError, "gelu: approximate='exact' is unknown")


def _gelu(input: Operand, approximate: str = "none") -> Any:
    """x times the normal distribution's cumulative function; approximate="tanh" is the cheaper form.

    Shapes: as the input's.
    Host:   returns at once.
    Raises: ArgumentError for another approximation; DtypeError for integers.
    Example:
        >>> torch.nn.functional.gelu(torch.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.1587,  0.0000,  0.8413])
    """
    number = input.dtype.type  # type: ignore[attr-defined]
    return number(0.5) * input * (1 + erf_of(input * number(ONE_OVER_ROOT_2)))


gelu = Gelu(
    _gelu, floating_only, "input * normal_cumulative(input)", 20.0, samples=_gelus, errors=_wrong_gelus,
    dtypes=dtypes.FLOATING_TYPES, method=False, name="gelu",
)  # fmt: skip


@gelu.derivative
def _(grad: Any, input: Any, approximate: Any) -> Any:
    return gelu_tanh_backward(grad, input) if approximate == "tanh" else gelu_backward(grad, input)
