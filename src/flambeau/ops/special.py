"""Special functions: gamma and zeta functions, products with logarithms, the normal distribution.

On the host they are SciPy's; on GPUs those of CUDA's math library and of kernels/special.cu.  Operators that PyTorch
has only in `torch.special` are named special_...
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log as log_of_number
from math import pi
from math import sqrt as root
from typing import Any

from .. import dtypes
from ..errors import DerivativeError, DtypeError, OutOfMemoryError, ValueRangeError
from ..host import np, special
from .arithmetic import sign
from .compare import le, logical_and, masked_fill, where
from .elementary import TWO_OVER_ROOT_PI, cos, exp, floating_function, log
from .operator import Array, ErrorSample, Operand, Sample, Value
from .pointwise import Pointwise, floating_only, numpy_type, pointwise, to_float
from .samples import positives, singles, unbroadcastable

SOURCE = "special.cu"
ROOT_2, ROOT_2_PI = root(2), root(2 * pi)
AIRY_END = 200.0  # beyond it the Airy function is less than the smallest float64


def special_function(called: str, cuda: str, samples: Any = singles, **options: Any) -> Any:
    """Make an operator of torch.special; `cuda` is a function on doubles."""
    return floating_function(
        f"(decltype(input)){cuda}((double)input)" if cuda.isidentifier() else cuda, samples, 40.0, source=SOURCE,
        called=called, inplace=False, method=False, function=False, **options,
    )  # fmt: skip


def _underived(name: str, parameter: str) -> DerivativeError:
    return DerivativeError(
        f"the derivative by {parameter} is not implemented", hint=f"detach {parameter}", operator=name
    )


# gamma functions and zeta functions


@floating_function("lgamma(input)", singles, 40.0)
def lgamma(input: Operand) -> Any:
    """Compute the logarithm of the absolute value of the gamma function.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.lgamma(torch.tensor([0.5, 1.0, 5.0]))
        tensor([0.5724, 0.0000, 3.1781])
    """
    return np.where(np.isneginf(input), np.inf, special.gammaln(input))  # SciPy: negative infinity there


@lgamma.derivative
def _(grad: Any, input: Any) -> Any:
    return grad * digamma(input)


@floating_function("(decltype(input))digamma_of((double)input)", positives, 40.0, source=SOURCE)
def digamma(input: Operand) -> Any:
    """Compute the derivative of the logarithm of the gamma function.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.digamma(torch.tensor([0.5, 1.0, 5.0]))
        tensor([-1.9635, -0.5772,  1.5061])
    """
    return special.psi(input)


@digamma.derivative
def _(grad: Any, input: Any) -> Any:
    return grad * polygamma(input, 1)


def _orders() -> Iterator[Sample]:
    for order in (0, 1, 3):
        for sample in positives():
            yield Sample((*sample.args, order))


def _wrong_orders() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), -1), ValueRangeError, "does not support negative n, got n=-1")


class Polygamma(Pointwise):
    """The operator `polygamma`, which checks its order."""

    def lower(self, call: Any, input: Any, n: Any) -> Any:
        if n < 0:
            raise ValueRangeError(
                f"polygamma(n, x) does not support negative n, got n={n}",
                hint="pass n of 0 or more",
                operator="polygamma",
            )
        return super().lower(call, input, n)


def _polygamma(input: Operand, n: int) -> Any:
    """Compute the n-th derivative of `digamma` at each element.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ValueRangeError for a negative n.
    Example:
        >>> torch.tensor([1.0, 0.5]).polygamma_(1)
        tensor([1.6449, 4.9348])
    """
    return special.polygamma(n, input)


polygamma = Polygamma(  # other positions of arguments: tensor/functions.py
    _polygamma, to_float, "(decltype(input))polygamma_of((double)n, (double)input)", 40.0, source=SOURCE,
    samples=_orders, errors=_wrong_orders, dtypes=dtypes.ALL, inplace=True, method=False, function=False,
    name="polygamma",
)  # fmt: skip


@polygamma.derivative
def _(grad: Any, input: Any, n: Any) -> Any:
    return grad * polygamma(input, n + 1)


def _dimensions() -> Iterator[Sample]:
    for sample in positives():
        yield Sample((sample.args[0]._replace(low=2.0, high=5.0), 3))


def _no_dimensions() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), 0), ValueRangeError, "p has to be greater than or equal to 1, got 0")


MAX_DIMENSION = 2**31 - 1  # an int of the kernel; PyTorch's memory ends there too, with four bytes for each term


class Mvlgamma(Pointwise):
    """The operator `mvlgamma`, which checks its dimension."""

    def lower(self, call: Any, input: Any, p: Any) -> Any:
        if p < 1:
            raise ValueRangeError(
                f"p has to be greater than or equal to 1, got {p}",
                hint="p is a number of dimensions: pass 1 or more",
                operator="mvlgamma",
            )
        if p > MAX_DIMENSION:
            raise OutOfMemoryError(
                f"p={p} needs {p} terms for each of {input.numel()} elements: at most {MAX_DIMENSION} are supported",
                hint="p is a number of dimensions: check how it was computed",
                operator="mvlgamma",
            )
        return super().lower(call, input, p)


def _mvlgamma(input: Operand, p: int) -> Any:
    """Compute the logarithm of the multivariate gamma function with dimension p.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ValueRangeError for p below 1.
    Example:
        >>> torch.mvlgamma(torch.tensor([2.0, 3.0]), 2)
        tensor([0.4516, 1.5502])
    """
    number = numpy_type(input).type
    total = lgamma.body(input)
    for step in range(1, int(p)):
        total = total + lgamma.body(input + number(-step / 2))
    return total + number(p * (p - 1) / 4 * log_of_number(pi))


mvlgamma = Mvlgamma(
    _mvlgamma, to_float, "log_gammas_of(input, (int)p)", 80.0, source=SOURCE,
    samples=_dimensions, errors=_no_dimensions, dtypes=dtypes.ALL, inplace=True, name="mvlgamma",
)  # fmt: skip


@mvlgamma.derivative
def _(grad: Any, input: Any, p: Any) -> Any:
    total = digamma(input)
    for step in range(1, p):
        total = total + digamma(input + -step / 2)
    return grad * total


def _gamma_pairs() -> Iterator[Sample]:
    yield Sample((Array((3, 4), 0.5, 4.0, grad=False), Array((3, 4), 0.5, 4.0, seed=1)))
    yield Sample((Array((3, 1), 0.5, 4.0, grad=False), Array((4,), 0.5, 4.0, seed=1)))
    shape = Array((4, 3), 0.5, 4.0, grad=False, layout="transposed")
    yield Sample((shape, Array((4, 3), 0.5, 4.0, seed=1, layout="strided")))
    yield Sample((Array((0, 3), grad=False), Array((3,), 0.5, 4.0, seed=1)))


def _no_gammas() -> Iterator[ErrorSample]:
    yield from unbroadcastable()
    yield ErrorSample(
        (Array((3,), dtype="int64"), Array((3,), dtype="int64")), DtypeError, "must be floating point, got int64"
    )


def _incomplete(cuda: str) -> Any:
    return pointwise(
        dtype=floating_only, cuda=f"(decltype(input)){cuda}((double)input, (double)other)", source=SOURCE,
        samples=_gamma_pairs, errors=_no_gammas, dtypes=dtypes.FLOATING_TYPES, cost=200.0,
    )  # fmt: skip


def _density(input: Any, other: Any) -> Any:
    return exp((input - 1) * log(other) - other - lgamma(input))


@_incomplete("igamma_of")
def igamma(input: Operand, other: Operand) -> Any:
    """Compute the regularized lower incomplete gamma function P(a, x), where `input` is a and `other` is x.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError for integers; in backward DerivativeError if `input`
            requires a gradient.
    Example:
        >>> torch.igamma(torch.tensor([4.0]), torch.tensor([3.0, 4.0]))
        tensor([0.3528, 0.5665])
    """
    return special.gammainc(input, other)


@igamma.derivative
def _(grad: Any, input: Any, other: Any, needs: Any) -> Any:
    if needs[0]:
        raise _underived("igamma", "input")
    return None, grad * _density(input, other)


@_incomplete("igammac_of")
def igammac(input: Operand, other: Operand) -> Any:
    """Compute the regularized upper incomplete gamma function, 1 - igamma(input, other), accurate where it is near 0.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError for integers; in backward DerivativeError if `input`
            requires a gradient.
    Example:
        >>> torch.igammac(torch.tensor([4.0]), torch.tensor([3.0, 4.0]))
        tensor([0.6472, 0.4335])
    """
    return special.gammaincc(input, other)


@igammac.derivative
def _(grad: Any, input: Any, other: Any, needs: Any) -> Any:
    if needs[0]:
        raise _underived("igammac", "input")
    return None, -grad * _density(input, other)


def _zetas() -> Iterator[Sample]:
    yield Sample((Array((3, 4), 1.5, 4.0, grad=False), Array((3, 4), 0.5, 3.0, seed=1)))
    yield Sample((Array((3, 1), 1.5, 4.0, grad=False), Array((4,), 0.5, 3.0, seed=1)))
    yield Sample((2.0, Array((4, 3), 0.5, 3.0, seed=1, layout="transposed")))
    yield Sample((Array((2, 3), 1.5, 4.0, grad=False, layout="strided"), 2))


@pointwise(
    dtype=to_float, cuda="(decltype(input))zeta_of((double)input, (double)other)", source=SOURCE, samples=_zetas,
    errors=unbroadcastable, dtypes=dtypes.ALL, cost=100.0, called="zeta", inplace=False, method=False, function=False,
)  # fmt: skip
def special_zeta(input: Value, other: Value) -> Any:
    """Compute the Hurwitz zeta function: the sum of (other + k)^-input over k = 0, 1, ...

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast; in backward DerivativeError if `input` requires a gradient.
    Example:
        >>> torch.special.zeta(torch.tensor([2.0, 4.0]), 1)
        tensor([1.6449, 1.0823])
    """
    return special.zeta(input, other)


@special_zeta.derivative
def _(grad: Any, input: Any, other: Any, needs: Any) -> Any:
    if needs[0]:
        raise _underived("zeta", "input")
    return None, grad * -input * special_zeta(input + 1, other)


# products with logarithms


def _logarithms() -> Iterator[Sample]:
    yield Sample((Array((3, 4), 0.5, 3.0), Array((3, 4), 0.5, 3.0, seed=1)))
    yield Sample((Array((3, 1), 0.5, 3.0), Array((4,), 0.5, 3.0, seed=1)))
    yield Sample((Array((4, 3), 0.5, 3.0, layout="transposed"), Array((4, 3), 0.5, 3.0, seed=1, layout="strided")))
    yield Sample((Array((2, 3), 0.5, 3.0), 2))
    yield Sample((Array((0, 3)), Array((3,), seed=1)))


def _slope_by_factor(slope: Any, input: Any, other: Any, least: float) -> Any:
    """Return the gradient of a factor; 0 where the factor is 0 and the logarithm beside it is not finite.

    slope: the product of the gradient and the logarithm, which is 0 where the gradient is 0.
    least: the logarithm is finite if `other` is above it.
    """
    if not hasattr(other, "shape"):
        return slope if other > least else masked_fill(slope, input == 0, 0)
    return masked_fill(slope, logical_and(input == 0, le(other, least)), 0)


@pointwise(
    dtype=to_float, cuda="is_nan(other) ? other : input == 0 ? 0 : input * log(other)", samples=_logarithms,
    errors=unbroadcastable, dtypes=dtypes.ALL, cost=10.0, rounds=("input", "other"),
)  # fmt: skip
def xlogy(input: Value, other: Value) -> Any:
    """Compute input * log(other), and 0 where `input` is 0 and `other` is not NaN.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError if `out` is not floating point.
    Example:
        >>> torch.xlogy(torch.tensor([0.0, 2.0]), torch.tensor([0.0, 3.0]))
        tensor([0.0000, 2.1972])
    """
    return special.xlogy(input, other)


@xlogy.derivative
def _(grad: Any, input: Any, other: Any, needs: Any) -> Any:
    by_input = _slope_by_factor(xlogy(grad, other), input, other, 0) if needs[0] else None
    return by_input, grad * input / other if needs[1] else None


@pointwise(
    dtype=to_float, cuda="is_nan(other) ? other : input == 0 ? 0 : input * log1p(other)", samples=_logarithms,
    errors=unbroadcastable, dtypes=dtypes.ALL, cost=10.0, rounds=("input", "other"), called="xlog1py", inplace=False,
    method=False, function=False,
)  # fmt: skip
def special_xlog1py(input: Value, other: Value) -> Any:
    """Compute input * log(1 + other), and 0 where `input` is 0 and `other` is not NaN.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError if `out` is not floating point.
    Example:
        >>> torch.special.xlog1py(torch.tensor([0.0, 2.0]), torch.tensor([-1.0, 3.0]))
        tensor([0.0000, 2.7726])
    """
    return special.xlog1py(input, other)


@special_xlog1py.derivative
def _(grad: Any, input: Any, other: Any, needs: Any) -> Any:
    by_input = _slope_by_factor(special_xlog1py(grad, other), input, other, -1) if needs[0] else None
    return by_input, grad * input / (other + 1) if needs[1] else None


@special_function(
    "entr",
    "is_nan(input) ? input : input > 0 ? -input * log(input) : input == 0 ? 0 : (decltype(input))-INFINITY",
    positives,
)
def special_entr(input: Operand) -> Any:
    """Compute -x log(x); 0 at 0 and negative infinity below.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.special.entr(torch.tensor([0.0, 0.5, 1.0]))
        tensor([0.0000, 0.3466, -0.0000])
    """
    return special.entr(input)


@special_entr.derivative
def _(grad: Any, input: Any) -> Any:
    return grad * (-log(input) - 1)


class Logit(Pointwise):
    """The operator `logit`, with or without bounds."""

    def lower(self, call: Any, input: Any, eps: Any = None) -> Any:
        return super().lower(call, input, -1.0 if eps is None else float(eps))


def _shares() -> Iterator[Sample]:
    for sample in singles():
        share = sample.args[0]._replace(low=0.1, high=0.9)
        yield Sample((share,))
        yield Sample((share, 0.25))


def _no_share() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), "x"), TypeError, "argument 'eps' must be a number or None")


def _logit(input: Operand, eps: float | None = None) -> Any:
    """Compute log(x / (1 - x)).

    eps: x is first limited to [eps, 1 - eps].  With None it is not, and the result is NaN for x outside [0, 1].
    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentTypeError if `eps` is neither a number nor None, DtypeError if `out` is not floating point.
    Example:
        >>> torch.logit(torch.tensor([0.25, 0.5, 1.0]))
        tensor([-1.0986,  0.0000,     inf])
    """
    array: Any = input
    share = array if eps is None or eps < 0 else np.minimum(np.maximum(array, eps), 1 - eps)
    return np.log(share / (1 - share))


logit = Logit(
    _logit, to_float, "logit_of(eps < 0 ? input : smaller(larger(input, eps), 1 - eps))", 12.0, samples=_shares,
    errors=_no_share, dtypes=dtypes.ALL, inplace=True, name="logit",
)  # fmt: skip


@logit.derivative
def _(grad: Any, input: Any, eps: Any) -> Any:
    low = 0.0 if eps is None or eps < 0 else eps
    inside = logical_and(input >= low, input <= 1 - low)
    product = input.abs() * (1 - input)  # positive inside (0, 1), and for negative zero
    return where(inside, grad / product, float("nan") if eps is None or eps < 0 else 0.0)


# the normal distribution


@special_function("erfcx", "erfcx(input)")
def special_erfcx(input: Operand) -> Any:
    """Compute exp(x^2) erfc(x), which does not underflow.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.special.erfcx(torch.tensor([0.0, 1.0, 30.0]))
        tensor([1.0000, 0.4276, 0.0188])
    """
    return special.erfcx(input)


@special_erfcx.derivative
def _(grad: Any, input: Any, out: Any) -> Any:
    return grad * (input * out * 2 - TWO_OVER_ROOT_PI)


@special_function("ndtr", "normcdf(input)")
def special_ndtr(input: Operand) -> Any:
    """Compute the cumulative distribution function of the standard normal distribution.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.special.ndtr(torch.tensor([-1.0, 0.0, 1.0]))
        tensor([0.1587, 0.5000, 0.8413])
    """
    return special.ndtr(input)


@special_ndtr.derivative
def _(grad: Any, input: Any) -> Any:
    return grad * exp(input * input * -0.5) / ROOT_2_PI


def _probabilities() -> Iterator[Sample]:
    return (Sample((sample.args[0]._replace(low=0.1, high=0.9),)) for sample in singles())


@special_function("ndtri", "normcdfinv(input)", _probabilities)
def special_ndtri(input: Operand) -> Any:
    """Compute the quantile function of the standard normal distribution, the inverse of `ndtr`; NaN outside [0, 1].

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.special.ndtri(torch.tensor([0.025, 0.5, 0.975]))
        tensor([-1.9600,  0.0000,  1.9600])
    """
    return special.ndtri(input)


@special_ndtri.derivative
def _(grad: Any, out: Any) -> Any:
    return grad * exp(out * out * 0.5) * ROOT_2_PI


@special_function("log_ndtr", "log_normal_cumulative")
def special_log_ndtr(input: Operand) -> Any:
    """Compute the logarithm of `ndtr`; it stays accurate where `ndtr` is near 0.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.special.log_ndtr(torch.tensor([-30.0, 0.0, 5.0]))
        tensor([-4.5432e+02, -6.9315e-01, -2.8665e-07])
    """
    return special.log_ndtr(input)


@special_log_ndtr.derivative
def _(grad: Any, input: Any) -> Any:
    return grad / special_erfcx(input * (-1 / ROOT_2)) * root(2 / pi)


# Bessel functions


@floating_function("(decltype(input))cyl_bessel_i0((double)input)", singles, 40.0)
def i0(input: Operand) -> Any:
    """Compute the modified Bessel function of the first kind of order 0.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.i0(torch.tensor([0.0, 1.0, 2.0]))
        tensor([1.0000, 1.2661, 2.2796])
    """
    return special.i0(input)


@i0.derivative
def _(grad: Any, input: Any) -> Any:
    return grad * special_i1(input)


@special_function("i0e", "(decltype(input))scaled_i(0, (double)input)")
def special_i0e(input: Operand) -> Any:
    """Compute exp(-|x|) i0(x), which does not overflow.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.special.i0e(torch.tensor([0.0, 1.0, 1000.0]))
        tensor([1.0000, 0.4658, 0.0126])
    """
    return special.i0e(input)


@special_i0e.derivative
def _(grad: Any, input: Any, out: Any) -> Any:
    return grad * (special_i1e(input) - sign(input) * out)


def _over(out: Any, input: Any) -> Any:
    """Return i1(x) / x, or i1e(x) / x, whose limit at 0 is one half; no derivative at 0 is NaN."""
    is_zero = input == 0
    return where(is_zero, 0.5, out / input.masked_fill(is_zero, 1))


@special_function("i1", "cyl_bessel_i1")
def special_i1(input: Operand) -> Any:
    """Compute the modified Bessel function of the first kind of order 1.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.special.i1(torch.tensor([0.0, 1.0, 2.0]))
        tensor([0.0000, 0.5652, 1.5906])
    """
    return special.i1(input)


@special_i1.derivative
def _(grad: Any, input: Any, out: Any) -> Any:
    return grad * (i0(input) - _over(out, input))


@special_function("i1e", "(decltype(input))scaled_i(1, (double)input)")
def special_i1e(input: Operand) -> Any:
    """Compute exp(-|x|) i1(x), which does not overflow.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.special.i1e(torch.tensor([0.0, 1.0, 1000.0]))
        tensor([0.0000, 0.2079, 0.0126])
    """
    return special.i1e(input)


@special_i1e.derivative
def _(grad: Any, input: Any, out: Any) -> Any:
    return grad * (special_i0e(input) - sign(input) * out - _over(out, input))


@special_function("bessel_j0", "j0")
def special_bessel_j0(input: Operand) -> Any:
    """Compute the Bessel function of the first kind of order 0.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.special.bessel_j0(torch.tensor([0.0, 1.0, 10.0]))
        tensor([ 1.0000,  0.7652, -0.2459])
    """
    return special.j0(input)


@special_bessel_j0.derivative
def _(grad: Any, input: Any) -> Any:
    return -grad * special_bessel_j1(input)


@special_function("bessel_j1", "j1")
def special_bessel_j1(input: Operand) -> Any:
    """Compute the Bessel function of the first kind of order 1.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.special.bessel_j1(torch.tensor([0.0, 1.0, 10.0]))
        tensor([0.0000, 0.4401, 0.0435])
    """
    return special.j1(input)


@special_bessel_j1.derivative
def _(grad: Any, input: Any, out: Any) -> Any:
    return grad * (special_bessel_j0(input) - where(input == 0, 0.5, out / input))


@special_function("bessel_y0", "y0", positives)
def special_bessel_y0(input: Operand) -> Any:
    """Compute the Bessel function of the second kind of order 0; NaN below 0.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.special.bessel_y0(torch.tensor([0.5, 1.0, 10.0]))
        tensor([-0.4445,  0.0883,  0.0557])
    """
    return special.y0(input)


@special_bessel_y0.derivative
def _(grad: Any, input: Any) -> Any:
    return -grad * special_bessel_y1(input)


@special_function("bessel_y1", "y1", positives)
def special_bessel_y1(input: Operand) -> Any:
    """Compute the Bessel function of the second kind of order 1; NaN below 0.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.special.bessel_y1(torch.tensor([0.5, 1.0, 10.0]))
        tensor([-1.4715, -0.7812,  0.2490])
    """
    return special.y1(input)


@special_bessel_y1.derivative
def _(grad: Any, input: Any, out: Any) -> Any:
    return grad * (special_bessel_y0(input) - out / input)


@special_function("modified_bessel_i0", "cyl_bessel_i0")
def special_modified_bessel_i0(input: Operand) -> Any:
    """Compute the modified Bessel function of the first kind of order 0.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.special.modified_bessel_i0(torch.tensor([0.0, 1.0, 2.0]))
        tensor([1.0000, 1.2661, 2.2796])
    """
    return special.i0(input)


@special_modified_bessel_i0.derivative
def _(grad: Any, input: Any) -> Any:
    return grad * special_i1(input)


@special_function("modified_bessel_i1", "cyl_bessel_i1")
def special_modified_bessel_i1(input: Operand) -> Any:
    """Compute the modified Bessel function of the first kind of order 1.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.special.modified_bessel_i1(torch.tensor([0.0, 1.0, 2.0]))
        tensor([0.0000, 0.5652, 1.5906])
    """
    return special.i1(input)


@special_modified_bessel_i1.derivative
def _(grad: Any, input: Any, out: Any) -> Any:
    return grad * (i0(input) - _over(out, input))


@special_function(
    "modified_bessel_k0", "(decltype(input))(exp(-(double)input) * scaled_k(0, (double)input))", positives
)
def special_modified_bessel_k0(input: Operand) -> Any:
    """Compute the modified Bessel function of the second kind of order 0; NaN below 0.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.special.modified_bessel_k0(torch.tensor([0.5, 1.0, 2.0]))
        tensor([0.9244, 0.4210, 0.1139])
    """
    return special.k0(input)


@special_modified_bessel_k0.derivative
def _(grad: Any, input: Any) -> Any:
    return -grad * special_modified_bessel_k1(input)


@special_function(
    "modified_bessel_k1", "(decltype(input))(exp(-(double)input) * scaled_k(1, (double)input))", positives
)
def special_modified_bessel_k1(input: Operand) -> Any:
    """Compute the modified Bessel function of the second kind of order 1; NaN below 0.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.special.modified_bessel_k1(torch.tensor([0.5, 1.0, 2.0]))
        tensor([1.6564, 0.6019, 0.1399])
    """
    return special.k1(input)


@special_modified_bessel_k1.derivative
def _(grad: Any, input: Any, out: Any) -> Any:
    return -grad * (special_modified_bessel_k0(input) + out / input)


@special_function("scaled_modified_bessel_k0", "(decltype(input))scaled_k(0, (double)input)", positives)
def special_scaled_modified_bessel_k0(input: Operand) -> Any:
    """Compute exp(x) modified_bessel_k0(x), which does not underflow.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.special.scaled_modified_bessel_k0(torch.tensor([0.5, 1.0, 1000.0]))
        tensor([1.5241, 1.1445, 0.0396])
    """
    return special.k0e(input)


@special_scaled_modified_bessel_k0.derivative
def _(grad: Any, input: Any, out: Any) -> Any:
    return grad * (out - special_scaled_modified_bessel_k1(input))


@special_function("scaled_modified_bessel_k1", "(decltype(input))scaled_k(1, (double)input)", positives)
def special_scaled_modified_bessel_k1(input: Operand) -> Any:
    """Compute exp(x) modified_bessel_k1(x), which does not underflow.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.special.scaled_modified_bessel_k1(torch.tensor([0.5, 1.0, 1000.0]))
        tensor([2.7310, 1.6362, 0.0396])
    """
    return special.k1e(input)


@special_scaled_modified_bessel_k1.derivative
def _(grad: Any, input: Any, out: Any) -> Any:
    return grad * (out - special_scaled_modified_bessel_k0(input) - out / input)


def _spherical_j0(x: Any) -> Any:
    return np.where(np.isinf(x), 0, np.where(x == 0, 1, np.sin(x) / x))


@special_function("spherical_bessel_j0", "spherical_j0", positives)
def special_spherical_bessel_j0(input: Operand) -> Any:
    """Compute the spherical Bessel function of the first kind of order 0: sin(x) / x.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.special.spherical_bessel_j0(torch.tensor([0.0, 1.0, 10.0]))
        tensor([ 1.0000,  0.8415, -0.0544])
    """
    return _spherical_j0(input)


@special_spherical_bessel_j0.derivative
def _(grad: Any, input: Any, out: Any) -> Any:
    return grad * where(input == 0, 0, (cos(input) - out) / input)


@special_function("airy_ai", "airy_of", differentiable=False)
def special_airy_ai(input: Operand) -> Any:
    """Compute the Airy function Ai.

    The derivative is not implemented: the result never requires a gradient.
    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.special.airy_ai(torch.tensor([-2.0, 0.0, 2.0]))
        tensor([0.2274, 0.3550, 0.0349])
    """
    values = special.airy(input)[0]
    is_tiny = (input > AIRY_END) & (input < np.inf)  # SciPy gives NaN for very large arguments
    return np.where(is_tiny, values.dtype.type(0), values)


# orthogonal polynomials


def _degrees() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), 0, 6, seed=1)))
    yield Sample((Array((3, 1)), Array((4,), 0, 6, seed=1)))
    yield Sample((Array((4, 3), layout="transposed"), Array((4, 3), 0, 6, layout="strided", seed=1)))
    yield Sample((Array((2, 3)), 3))
    yield Sample((Array((0, 3)), Array((3,), seed=1)))


def _polynomial(called: str, family: str, argument: str = "(double)input") -> Any:
    return pointwise(
        dtype=to_float, cuda=f"(decltype(input))polynomial({family}, {argument}, (double)n)", source=SOURCE,
        samples=_degrees, errors=unbroadcastable, dtypes=dtypes.ALL, cost=60.0, called=called, differentiable=False,
        inplace=False, method=False, function=False,
    )  # fmt: skip


def _evaluated(function: Any, x: Any, n: Any) -> Any:
    """Return the polynomial of degree n, which is truncated to an integer; 0 where that is negative."""
    degree = np.asarray(n).astype(np.int64)
    value = function(np.maximum(degree, 0), np.asarray(x, np.float64))
    return np.where(degree < 0, 0, np.where(degree == 0, 1, value))


def _third(n: Any, x: Any) -> Any:
    """Return Chebyshev polynomials of the third kind."""
    return special.eval_chebyu(n, x) - special.eval_chebyu(np.maximum(n - 1, 0), x)


def _fourth(n: Any, x: Any) -> Any:
    """Return Chebyshev polynomials of the fourth kind."""
    return special.eval_chebyu(n, x) + special.eval_chebyu(np.maximum(n - 1, 0), x)


@_polynomial("chebyshev_polynomial_t", "CHEBYSHEV_T")
def special_chebyshev_polynomial_t(input: Value, n: Value) -> Any:
    """Compute the Chebyshev polynomial of the first kind of degree n at `input`; 0 for a negative n.

    The derivative is not implemented: the result never requires a gradient.
    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.special.chebyshev_polynomial_t(torch.tensor([0.5, 2.0]), 3)
        tensor([-1., 26.])
    """
    return _evaluated(special.eval_chebyt, input, n)


@_polynomial("chebyshev_polynomial_u", "CHEBYSHEV_U")
def special_chebyshev_polynomial_u(input: Value, n: Value) -> Any:
    """Compute the Chebyshev polynomial of the second kind of degree n at `input`; 0 for a negative n.

    The derivative is not implemented: the result never requires a gradient.
    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.special.chebyshev_polynomial_u(torch.tensor([0.5, 2.0]), 3)
        tensor([-1., 56.])
    """
    return _evaluated(special.eval_chebyu, input, n)


@_polynomial("chebyshev_polynomial_v", "CHEBYSHEV_V")
def special_chebyshev_polynomial_v(input: Value, n: Value) -> Any:
    """Compute the Chebyshev polynomial of the third kind of degree n at `input`; 0 for a negative n.

    The derivative is not implemented: the result never requires a gradient.
    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.special.chebyshev_polynomial_v(torch.tensor([0.5, 2.0]), 3)
        tensor([-1., 41.])
    """
    return _evaluated(_third, input, n)


@_polynomial("chebyshev_polynomial_w", "CHEBYSHEV_W")
def special_chebyshev_polynomial_w(input: Value, n: Value) -> Any:
    """Compute the Chebyshev polynomial of the fourth kind of degree n at `input`; 0 for a negative n.

    The derivative is not implemented: the result never requires a gradient.
    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.special.chebyshev_polynomial_w(torch.tensor([0.5, 2.0]), 3)
        tensor([-1., 71.])
    """
    return _evaluated(_fourth, input, n)


@_polynomial("shifted_chebyshev_polynomial_t", "CHEBYSHEV_T", "2 * (double)input - 1")
def special_shifted_chebyshev_polynomial_t(input: Value, n: Value) -> Any:
    """Compute the Chebyshev polynomial of the first kind of degree n at 2 * input - 1; 0 for a negative n.

    The derivative is not implemented: the result never requires a gradient.
    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.special.shifted_chebyshev_polynomial_t(torch.tensor([0.5, 2.0]), 3)
        tensor([-0., 99.])
    """
    return _evaluated(special.eval_chebyt, 2 * np.asarray(input, np.float64) - 1, n)


@_polynomial("shifted_chebyshev_polynomial_u", "CHEBYSHEV_U", "2 * (double)input - 1")
def special_shifted_chebyshev_polynomial_u(input: Value, n: Value) -> Any:
    """Compute the Chebyshev polynomial of the second kind of degree n at 2 * input - 1; 0 for a negative n.

    The derivative is not implemented: the result never requires a gradient.
    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.special.shifted_chebyshev_polynomial_u(torch.tensor([0.5, 2.0]), 3)
        tensor([ -0., 204.])
    """
    return _evaluated(special.eval_chebyu, 2 * np.asarray(input, np.float64) - 1, n)


@_polynomial("shifted_chebyshev_polynomial_v", "CHEBYSHEV_V", "2 * (double)input - 1")
def special_shifted_chebyshev_polynomial_v(input: Value, n: Value) -> Any:
    """Compute the Chebyshev polynomial of the third kind of degree n at 2 * input - 1; 0 for a negative n.

    The derivative is not implemented: the result never requires a gradient.
    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.special.shifted_chebyshev_polynomial_v(torch.tensor([0.5, 2.0]), 3)
        tensor([  1., 169.])
    """
    return _evaluated(_third, 2 * np.asarray(input, np.float64) - 1, n)


@_polynomial("shifted_chebyshev_polynomial_w", "CHEBYSHEV_W", "2 * (double)input - 1")
def special_shifted_chebyshev_polynomial_w(input: Value, n: Value) -> Any:
    """Compute the Chebyshev polynomial of the fourth kind of degree n at 2 * input - 1; 0 for a negative n.

    The derivative is not implemented: the result never requires a gradient.
    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.special.shifted_chebyshev_polynomial_w(torch.tensor([0.5, 2.0]), 3)
        tensor([ -1., 239.])
    """
    return _evaluated(_fourth, 2 * np.asarray(input, np.float64) - 1, n)


@_polynomial("hermite_polynomial_h", "HERMITE_H")
def special_hermite_polynomial_h(input: Value, n: Value) -> Any:
    """Compute the physicists' Hermite polynomial of degree n at `input`; 0 for a negative n.

    The derivative is not implemented: the result never requires a gradient.
    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.special.hermite_polynomial_h(torch.tensor([0.5, 2.0]), 3)
        tensor([-5., 40.])
    """
    return _evaluated(special.eval_hermite, input, n)


@_polynomial("hermite_polynomial_he", "HERMITE_HE")
def special_hermite_polynomial_he(input: Value, n: Value) -> Any:
    """Compute the probabilists' Hermite polynomial of degree n at `input`; 0 for a negative n.

    The derivative is not implemented: the result never requires a gradient.
    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.special.hermite_polynomial_he(torch.tensor([0.5, 2.0]), 3)
        tensor([-1.3750,  2.0000])
    """
    return _evaluated(special.eval_hermitenorm, input, n)


@_polynomial("laguerre_polynomial_l", "LAGUERRE")
def special_laguerre_polynomial_l(input: Value, n: Value) -> Any:
    """Compute the Laguerre polynomial of degree n at `input`; 0 for a negative n.

    The derivative is not implemented: the result never requires a gradient.
    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.special.laguerre_polynomial_l(torch.tensor([0.5, 2.0]), 3)
        tensor([-0.1458, -0.3333])
    """
    return _evaluated(special.eval_laguerre, input, n)


@_polynomial("legendre_polynomial_p", "LEGENDRE")
def special_legendre_polynomial_p(input: Value, n: Value) -> Any:
    """Compute the Legendre polynomial of degree n at `input`; 0 for a negative n.

    The derivative is not implemented: the result never requires a gradient.
    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.special.legendre_polynomial_p(torch.tensor([0.5, 2.0]), 3)
        tensor([-0.4375, 17.0000])
    """
    return _evaluated(special.eval_legendre, input, n)
