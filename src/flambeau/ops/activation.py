"""Pointwise functions of one floating point operand: exponentials, trigonometry, activations.  Integers give float32."""

from __future__ import annotations

from collections.abc import Iterator
from math import pi, sqrt as root
from typing import Any

from .. import dtypes
from ..errors import ArgumentError
from ..host import np
from .arithmetic import NUMBERS, positives, singles
from .operator import Array, ErrorSample, Operand, Sample, composite
from .pointwise import Pointwise, floating_only, pointwise, promoted, to_float

TWO_OVER_ROOT_PI = 2 / root(pi)
ONE_OVER_ROOT_2 = 1 / root(2)
ONE_OVER_ROOT_2_PI = 1 / root(2 * pi)
ROOT_2_OVER_PI = root(2 / pi)
GELU_CUBIC = 0.044715  # D. Hendrycks and K. Gimpel, "Gaussian error linear units", 2016


def _smooth(cuda: str, samples: Any = singles, cost: float = 10.0) -> Any:
    return pointwise(dtype=to_float, cuda=cuda, samples=samples, dtypes=dtypes.ALL, cost=cost)


@_smooth("exp_of(input)")
def exp(input: Operand) -> Any:
    """e to the power of the value.  Shapes: as the input's.  Host: returns at once."""
    return np.exp(input)


@exp.derivative
def _(grad: Any, out: Any) -> Any:
    return grad * out


@_smooth("expm1_of(input)")
def expm1(input: Operand) -> Any:
    """exp(x) - 1, exact near 0.  Shapes: as the input's.  Host: returns at once."""
    return np.expm1(input)


@expm1.derivative
def _(grad: Any, out: Any) -> Any:
    return grad * (out + 1)


@_smooth("log_of(input)", positives)
def log(input: Operand) -> Any:
    """The natural logarithm.  Shapes: as the input's.  Host: returns at once."""
    return np.log(input)


@log.derivative
def _(grad: Any, input: Any) -> Any:
    return grad / input


@_smooth("log1p_of(input)", positives)
def log1p(input: Operand) -> Any:
    """log(1 + x), exact near 0.  Shapes: as the input's.  Host: returns at once."""
    return np.log1p(input)


@log1p.derivative
def _(grad: Any, input: Any) -> Any:
    return grad / (input + 1)


@_smooth("sqrt_of(input)", positives)
def sqrt(input: Operand) -> Any:
    """The square root.  Shapes: as the input's.  Host: returns at once."""
    return np.sqrt(input)


@sqrt.derivative
def _(grad: Any, out: Any) -> Any:
    return grad / (out * 2)


@_smooth("1 / sqrt_of(input)", positives)
def rsqrt(input: Operand) -> Any:
    """1 over the square root.  Shapes: as the input's.  Host: returns at once."""
    return 1 / np.sqrt(input)


@rsqrt.derivative
def _(grad: Any, out: Any) -> Any:
    return grad * out * out * out * -0.5


@_smooth("sin_of(input)")
def sin(input: Operand) -> Any:
    """The sine.  Shapes: as the input's.  Host: returns at once."""
    return np.sin(input)


@sin.derivative
def _(grad: Any, input: Any) -> Any:
    return grad * cos(input)


@_smooth("cos_of(input)")
def cos(input: Operand) -> Any:
    """The cosine.  Shapes: as the input's.  Host: returns at once."""
    return np.cos(input)


@cos.derivative
def _(grad: Any, input: Any) -> Any:
    return grad * -sin(input)


@_smooth("tanh_of(input)")
def tanh(input: Operand) -> Any:
    """The hyperbolic tangent.  Shapes: as the input's.  Host: returns at once."""
    return np.tanh(input)


@tanh.derivative
def _(grad: Any, out: Any) -> Any:
    return grad * (1 - out * out)


@_smooth("sigmoid_of(input)")
def sigmoid(input: Operand) -> Any:
    """1 / (1 + exp(-x)).  Shapes: as the input's.  Host: returns at once."""
    return 1 / (1 + np.exp(-input))  # type: ignore[operator]


@sigmoid.derivative
def _(grad: Any, out: Any) -> Any:
    return grad * (out * (1 - out))


def erf_of(x: Any) -> Any:
    """The error function of an array, to 1 unit in the last place of float32 and 1e-15 in float64.

    Source: for |x| < 2 the series 2/sqrt(pi) sum x^(2n+1) 2^n / (2n+1)!! exp(-x^2) (Abramowitz and Stegun, 7.1.6); beyond,
    the continued fraction of erfc (7.1.14).  Both are evaluated in float64.
    """
    wide = np.abs(x.astype(np.float64))
    near = np.where(wide < 2.5, wide, 0.0)
    term = total = near
    for n in range(1, 48):
        term = term * (2 * near * near) / (2 * n + 1)
        total = total + term
    small = TWO_OVER_ROOT_PI * np.exp(-near * near) * total
    far = np.clip(np.where(wide < 2.5, 2.5, wide), None, 30.0)
    fraction = far
    for n in range(60, 0, -1):
        fraction = far + (n / 2) / fraction
    large = 1 - np.exp(-far * far) / (fraction * root(pi))
    found = np.copysign(np.where(wide < 2.5, small, large), x)
    return np.where(np.isnan(x), x, found).astype(x.dtype)


@_smooth("erf_of(input)", cost=20.0)
def erf(input: Operand) -> Any:
    """The error function.  Shapes: as the input's.  Host: returns at once."""
    return erf_of(input)


@erf.derivative
def _(grad: Any, input: Any) -> Any:
    return grad * (exp(-(input * input)) * TWO_OVER_ROOT_PI)


@pointwise(dtype=promoted, cuda="is_nan(input) || input > 0 ? input : 0", samples=singles, dtypes=NUMBERS)
def relu(input: Operand) -> Any:
    """Values below 0 become 0; NaN stays.  Shapes: as the input's.  Host: returns at once."""
    return np.maximum(input, input.dtype.type(0))  # type: ignore[attr-defined]


@relu.derivative
def _(grad: Any, out: Any) -> Any:
    return grad * (out > 0)


@pointwise(
    dtype=floating_only, cuda="input / (1 + exp_of(-input))", samples=singles, dtypes=dtypes.FLOATING_TYPES, cost=12.0
)
def silu(input: Operand) -> Any:
    """x times sigmoid(x).  Shapes: as the input's.  Host: returns at once."""
    return input / (1 + np.exp(-input))  # type: ignore[operator]


@silu.derivative
def _(grad: Any, input: Any) -> Any:
    gate = sigmoid(input)
    return grad * (gate * (1 + input * (1 - gate)))


def _gelu_like(cuda: str) -> Any:
    return pointwise(
        dtype=floating_only, cuda=cuda, samples=singles, dtypes=dtypes.FLOATING_TYPES, cost=20.0, inplace=False, method=False,
        function=False,
    )  # fmt: skip


@_gelu_like(f"input / 2 * (1 + erf_of(input * (decltype(input)){ONE_OVER_ROOT_2!r}))")
def gelu_erf(input: Operand) -> Any:
    """x times the normal distribution's cumulative function."""
    return input / 2 * (1 + erf_of(input * input.dtype.type(ONE_OVER_ROOT_2)))  # type: ignore[attr-defined,operator]


@gelu_erf.derivative
def _(grad: Any, input: Any) -> Any:
    cumulative = (erf(input * ONE_OVER_ROOT_2) + 1) * 0.5
    density = exp(input * input * -0.5) * ONE_OVER_ROOT_2_PI
    return grad * (cumulative + input * density)


_INNER = f"(decltype(input)){ROOT_2_OVER_PI!r} * (input + (decltype(input)){GELU_CUBIC!r} * input * input * input)"


@_gelu_like(f"input / 2 * (1 + tanh_of({_INNER}))")
def gelu_tanh(input: Operand) -> Any:
    """The usual approximation of gelu_erf by tanh."""
    number = input.dtype.type  # type: ignore[attr-defined]
    inner = number(ROOT_2_OVER_PI) * (input + number(GELU_CUBIC) * input * input * input)
    return input / 2 * (1 + np.tanh(inner))  # type: ignore[operator]


@gelu_tanh.derivative
def _(grad: Any, input: Any) -> Any:
    inner = tanh((input + input * input * input * GELU_CUBIC) * ROOT_2_OVER_PI)
    slope = (input * input * (3 * GELU_CUBIC) + 1) * ROOT_2_OVER_PI
    return grad * ((inner + 1) * 0.5 + input * (1 - inner * inner) * slope * 0.5)


def _gelus() -> Iterator[Sample]:
    for approximate in ("none", "tanh"):
        for sample in singles():
            yield Sample(sample.args, {"approximate": approximate})


def _unknown_gelu() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), "exact"), ArgumentError, "gelu: approximate='exact' is unknown")


@composite(samples=_gelus, errors=_unknown_gelu, dtypes=dtypes.FLOATING_TYPES, method=False)
def gelu(input: Operand, approximate: str = "none") -> Any:
    """x times the normal distribution's cumulative function; approximate="tanh" is the cheaper form.

    Shapes: as the input's.
    Host:   returns at once.
    Raises: ArgumentError for another approximation; DtypeError for integers.
    """
    if approximate not in ("none", "tanh"):
        raise ArgumentError(f"gelu: approximate={approximate!r} is unknown", hint="use 'none' or 'tanh'")
    chosen: Pointwise = gelu_erf if approximate == "none" else gelu_tanh
    return chosen(input)


