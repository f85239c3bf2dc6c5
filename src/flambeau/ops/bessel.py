"""Bessel functions, the Airy function and orthogonal polynomials (see special.py)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import dtypes
from ..host import np, special
from .arithmetic import sign
from .compare import where
from .elementary import floating_function
from .operator import Array, Operand, Sample, Value
from .pointwise import pointwise, to_float
from .samples import positives, singles, unbroadcastable
from .special import SOURCE, special_function
from .trigonometry import cos

# Bessel functions


@floating_function("(decltype(input))cyl_bessel_i0((double)input)", singles, 40.0)
def i0(input: Operand) -> Any:
    """Modified Bessel function of the first kind of order 0.

    Shapes: as the input's.
    Host: returns at once.
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
    """exp(-|x|) i0(x), which does not overflow.

    Shapes: as the input's.
    Host: returns at once.
    Example:
        >>> torch.special.i0e(torch.tensor([0.0, 1.0, 1000.0]))
        tensor([1.0000, 0.4658, 0.0126])
    """
    return special.i0e(input)


@special_i0e.derivative
def _(grad: Any, input: Any, out: Any) -> Any:
    return grad * (special_i1e(input) - sign(input) * out)


@special_function("i1", "cyl_bessel_i1")
def special_i1(input: Operand) -> Any:
    """Modified Bessel function of the first kind of order 1.

    Shapes: as the input's.
    Host: returns at once.
    Example:
        >>> torch.special.i1(torch.tensor([0.0, 1.0, 2.0]))
        tensor([0.0000, 0.5652, 1.5906])
    """
    return special.i1(input)


@special_i1.derivative
def _(grad: Any, input: Any, out: Any) -> Any:
    return grad * (i0(input) - where(input == 0, 0.5, out / input))


@special_function("i1e", "(decltype(input))scaled_i(1, (double)input)")
def special_i1e(input: Operand) -> Any:
    """exp(-|x|) i1(x), which does not overflow.

    Shapes: as the input's.
    Host: returns at once.
    Example:
        >>> torch.special.i1e(torch.tensor([0.0, 1.0, 1000.0]))
        tensor([0.0000, 0.2079, 0.0126])
    """
    return special.i1e(input)


@special_i1e.derivative
def _(grad: Any, input: Any, out: Any) -> Any:
    return grad * (special_i0e(input) - sign(input) * out - where(input == 0, 0.5, out / input))


@special_function("bessel_j0", "j0")
def special_bessel_j0(input: Operand) -> Any:
    """Bessel function of the first kind of order 0.

    Shapes: as the input's.
    Host: returns at once.
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
    """Bessel function of the first kind of order 1.

    Shapes: as the input's.
    Host: returns at once.
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
    """Bessel function of the second kind of order 0; NaN below 0.

    Shapes: as the input's.
    Host: returns at once.
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
    """Bessel function of the second kind of order 1; NaN below 0.

    Shapes: as the input's.
    Host: returns at once.
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
    """Modified Bessel function of the first kind of order 0.

    Shapes: as the input's.
    Host: returns at once.
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
    """Modified Bessel function of the first kind of order 1.

    Shapes: as the input's.
    Host: returns at once.
    Example:
        >>> torch.special.modified_bessel_i1(torch.tensor([0.0, 1.0, 2.0]))
        tensor([0.0000, 0.5652, 1.5906])
    """
    return special.i1(input)


@special_modified_bessel_i1.derivative
def _(grad: Any, input: Any, out: Any) -> Any:
    return grad * (i0(input) - where(input == 0, 0.5, out / input))


@special_function(
    "modified_bessel_k0", "(decltype(input))(exp(-(double)input) * scaled_k(0, (double)input))", positives
)
def special_modified_bessel_k0(input: Operand) -> Any:
    """Modified Bessel function of the second kind of order 0; NaN below 0.

    Shapes: as the input's.
    Host: returns at once.
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
    """Modified Bessel function of the second kind of order 1; NaN below 0.

    Shapes: as the input's.
    Host: returns at once.
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
    """exp(x) modified_bessel_k0(x), which does not underflow.

    Shapes: as the input's.
    Host: returns at once.
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
    """exp(x) modified_bessel_k1(x), which does not underflow.

    Shapes: as the input's.
    Host: returns at once.
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
    """Spherical Bessel function of the first kind of order 0: sin(x) / x.

    Shapes: as the input's.
    Host: returns at once.
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
    """Airy function Ai.  It has no gradient.

    Shapes: as the input's.
    Host: returns at once.
    Example:
        >>> torch.special.airy_ai(torch.tensor([-2.0, 0.0, 2.0]))
        tensor([0.2274, 0.3550, 0.0349])
    """
    return special.airy(input)[0]


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
    """The polynomial of degree n, which is cut to an integer; 0 where that is negative."""
    degree = np.asarray(n).astype(np.int64)
    value = function(np.maximum(degree, 0), np.asarray(x, np.float64))
    return np.where(degree < 0, 0, np.where(degree == 0, 1, value))


def _third(n: Any, x: Any) -> Any:
    """Chebyshev's polynomials of the third kind."""
    return special.eval_chebyu(n, x) - special.eval_chebyu(np.maximum(n - 1, 0), x)


def _fourth(n: Any, x: Any) -> Any:
    """Chebyshev's polynomials of the fourth kind."""
    return special.eval_chebyu(n, x) + special.eval_chebyu(np.maximum(n - 1, 0), x)


@_polynomial("chebyshev_polynomial_t", "CHEBYSHEV_T")
def special_chebyshev_polynomial_t(input: Value, n: Value) -> Any:
    """Chebyshev polynomial of the first kind, of degree n; 0 for a negative n.  It has no gradient.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Example:
        >>> torch.special.chebyshev_polynomial_t(torch.tensor([0.5, 2.0]), 3)
        tensor([-1., 26.])
    """
    return _evaluated(special.eval_chebyt, input, n)


@_polynomial("chebyshev_polynomial_u", "CHEBYSHEV_U")
def special_chebyshev_polynomial_u(input: Value, n: Value) -> Any:
    """Chebyshev polynomial of the second kind, of degree n; 0 for a negative n.  It has no gradient.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Example:
        >>> torch.special.chebyshev_polynomial_u(torch.tensor([0.5, 2.0]), 3)
        tensor([-1., 56.])
    """
    return _evaluated(special.eval_chebyu, input, n)


@_polynomial("chebyshev_polynomial_v", "CHEBYSHEV_V")
def special_chebyshev_polynomial_v(input: Value, n: Value) -> Any:
    """Chebyshev polynomial of the third kind, of degree n; 0 for a negative n.  It has no gradient.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Example:
        >>> torch.special.chebyshev_polynomial_v(torch.tensor([0.5, 2.0]), 3)
        tensor([-1., 41.])
    """
    return _evaluated(_third, input, n)


@_polynomial("chebyshev_polynomial_w", "CHEBYSHEV_W")
def special_chebyshev_polynomial_w(input: Value, n: Value) -> Any:
    """Chebyshev polynomial of the fourth kind, of degree n; 0 for a negative n.  It has no gradient.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Example:
        >>> torch.special.chebyshev_polynomial_w(torch.tensor([0.5, 2.0]), 3)
        tensor([-1., 71.])
    """
    return _evaluated(_fourth, input, n)


@_polynomial("shifted_chebyshev_polynomial_t", "CHEBYSHEV_T", "2 * (double)input - 1")
def special_shifted_chebyshev_polynomial_t(input: Value, n: Value) -> Any:
    """Chebyshev polynomial of the first kind, of 2 x - 1, of degree n; 0 for a negative n.  It has no gradient.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Example:
        >>> torch.special.shifted_chebyshev_polynomial_t(torch.tensor([0.5, 2.0]), 3)
        tensor([-0., 99.])
    """
    return _evaluated(special.eval_chebyt, 2 * np.asarray(input, np.float64) - 1, n)


@_polynomial("shifted_chebyshev_polynomial_u", "CHEBYSHEV_U", "2 * (double)input - 1")
def special_shifted_chebyshev_polynomial_u(input: Value, n: Value) -> Any:
    """Chebyshev polynomial of the second kind, of 2 x - 1, of degree n; 0 for a negative n.  It has no gradient.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Example:
        >>> torch.special.shifted_chebyshev_polynomial_u(torch.tensor([0.5, 2.0]), 3)
        tensor([ -0., 204.])
    """
    return _evaluated(special.eval_chebyu, 2 * np.asarray(input, np.float64) - 1, n)


@_polynomial("shifted_chebyshev_polynomial_v", "CHEBYSHEV_V", "2 * (double)input - 1")
def special_shifted_chebyshev_polynomial_v(input: Value, n: Value) -> Any:
    """Chebyshev polynomial of the third kind, of 2 x - 1, of degree n; 0 for a negative n.  It has no gradient.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Example:
        >>> torch.special.shifted_chebyshev_polynomial_v(torch.tensor([0.5, 2.0]), 3)
        tensor([  1., 169.])
    """
    return _evaluated(_third, 2 * np.asarray(input, np.float64) - 1, n)


@_polynomial("shifted_chebyshev_polynomial_w", "CHEBYSHEV_W", "2 * (double)input - 1")
def special_shifted_chebyshev_polynomial_w(input: Value, n: Value) -> Any:
    """Chebyshev polynomial of the fourth kind, of 2 x - 1, of degree n; 0 for a negative n.  It has no gradient.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Example:
        >>> torch.special.shifted_chebyshev_polynomial_w(torch.tensor([0.5, 2.0]), 3)
        tensor([ -1., 239.])
    """
    return _evaluated(_fourth, 2 * np.asarray(input, np.float64) - 1, n)


@_polynomial("hermite_polynomial_h", "HERMITE_H")
def special_hermite_polynomial_h(input: Value, n: Value) -> Any:
    """Hermite polynomial of the physicists, of degree n; 0 for a negative n.  It has no gradient.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Example:
        >>> torch.special.hermite_polynomial_h(torch.tensor([0.5, 2.0]), 3)
        tensor([-5., 40.])
    """
    return _evaluated(special.eval_hermite, input, n)


@_polynomial("hermite_polynomial_he", "HERMITE_HE")
def special_hermite_polynomial_he(input: Value, n: Value) -> Any:
    """Hermite polynomial of probability theory, of degree n; 0 for a negative n.  It has no gradient.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Example:
        >>> torch.special.hermite_polynomial_he(torch.tensor([0.5, 2.0]), 3)
        tensor([-1.3750,  2.0000])
    """
    return _evaluated(special.eval_hermitenorm, input, n)


@_polynomial("laguerre_polynomial_l", "LAGUERRE")
def special_laguerre_polynomial_l(input: Value, n: Value) -> Any:
    """Laguerre polynomial, of degree n; 0 for a negative n.  It has no gradient.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Example:
        >>> torch.special.laguerre_polynomial_l(torch.tensor([0.5, 2.0]), 3)
        tensor([-0.1458, -0.3333])
    """
    return _evaluated(special.eval_laguerre, input, n)


@_polynomial("legendre_polynomial_p", "LEGENDRE")
def special_legendre_polynomial_p(input: Value, n: Value) -> Any:
    """Legendre polynomial, of degree n; 0 for a negative n.  It has no gradient.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Example:
        >>> torch.special.legendre_polynomial_p(torch.tensor([0.5, 2.0]), 3)
        tensor([-0.4375, 17.0000])
    """
    return _evaluated(special.eval_legendre, input, n)
