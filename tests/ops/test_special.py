"""Special functions: values from tables and identities, poles, infinities, derivatives and their lack."""

import math

import numpy as np
import pytest

import flambeau as torch
from flambeau import special
from flambeau.testing import gradgradcheck

INF, NAN = math.inf, math.nan


def wide(*values):
    return torch.tensor(values, dtype=torch.float64)


def near(found, *expected):
    assert found.tolist() == pytest.approx(list(expected), rel=1e-13, nan_ok=True)


def test_gamma_functions_at_known_points():
    near(torch.lgamma(wide(0.5, 1.0, 5.0, -0.5)), math.log(math.pi) / 2, 0, math.log(24), math.log(4 * math.pi) / 2)
    assert torch.lgamma(wide(0.0, -2.0, -INF, INF)).tolist() == [INF] * 4
    near(torch.digamma(wide(1.0)), -0.5772156649015329)
    assert torch.digamma(wide(0.0)).item() == -INF and torch.digamma(wide(-1.0)).isnan()
    near(torch.polygamma(1, wide(1.0, 0.5)), math.pi**2 / 6, math.pi**2 / 2)
    near(wide(1.0).polygamma(2), -2.404113806319188)
    near(torch.mvlgamma(wide(3.0), 2), math.log(math.pi) / 2 + math.lgamma(3) + math.lgamma(2.5))
    near(special.zeta(wide(2.0, 4.0), 1), math.pi**2 / 6, math.pi**4 / 90)
    assert special.zeta(wide(1.0, 2.0), wide(3.0, -1.0)).tolist() == [INF, INF]


def test_incomplete_gamma_functions():
    x = wide(0.0, 0.3, 2.0, 30.0)
    near(torch.igamma(wide(1.0), x), *[-math.expm1(-each) for each in x.tolist()])
    near(torch.igammac(wide(1.0), x), *[math.exp(-each) for each in x.tolist()])
    near(special.gammainc(wide(0.5), wide(4.0)), math.erf(2.0))
    a, b = wide(-1.0, 0.0, INF, 2.0), wide(1.0, 1.0, 1.0, INF)
    near(torch.igamma(a, b), NAN, 1.0, 0.0, 1.0)


def test_the_normal_distribution():
    x = wide(-40.0, -1.0, 0.0, 2.5)
    near(special.ndtr(x), *[math.erfc(-each / math.sqrt(2)) / 2 for each in x.tolist()])
    near(special.ndtri(special.ndtr(x[1:])), -1.0, 0.0, 2.5)
    near(special.log_ndtr(wide(-40.0)), -804.6084420137538)
    near(special.erfcx(wide(30.0)), 0.018795888861416751)
    assert special.ndtri(wide(0.0, 1.0, 2.0)).isinf().tolist() == [True, True, False]


def test_products_with_logarithms_of_zero():
    assert torch.xlogy(wide(0.0, 0.0), wide(0.0, -1.0)).tolist() == [0, 0]
    assert torch.xlogy(wide(0.0), wide(NAN)).isnan() and special.xlog1py(wide(0.0), wide(-1.0)).item() == 0
    near(torch.xlogy(2, wide(3.0)), 2 * math.log(3))
    assert special.entr(wide(0.0, 1.0, -1.0)).tolist() == [0, 0, -INF]


def test_logit_with_bounds():
    x = wide(-0.5, 0.2, 1.0)
    assert torch.logit(x).isnan().tolist() == [True, False, False]
    near(torch.logit(x, 0.25), -math.log(3), -math.log(3), math.log(3))
    y = x.clone().requires_grad_()
    torch.logit(y, eps=0.1).sum().backward()
    near(y.grad, 0.0, 6.25, 0.0)


def test_bessel_functions():
    x = wide(0.5, 3.0, 25.0)
    wronskian = special.bessel_j1(x) * special.bessel_y0(x) - special.bessel_j0(x) * special.bessel_y1(x)
    assert wronskian.numpy() == pytest.approx(2 / (math.pi * x.numpy()), rel=1e-12)
    k0, k1 = special.scaled_modified_bessel_k0(x), special.scaled_modified_bessel_k1(x)
    cross = special.i0e(x) * k1 + special.i1e(x) * k0
    assert cross.numpy() == pytest.approx(1 / x.numpy(), rel=1e-12)
    near(special.modified_bessel_k0(wide(0.0)), INF)
    near(special.airy_ai(wide(0.0, 1.0)), 0.3550280538878172, 0.13529241631288141)
    near(special.spherical_bessel_j0(wide(0.0, 2.0, INF)), 1.0, math.sin(2) / 2, 0.0)


def test_polynomials():
    angle = np.linspace(0.1, 3.0, 7)
    x, n = torch.from_numpy(np.cos(angle)), 9
    assert special.chebyshev_polynomial_t(x, n).numpy() == pytest.approx(np.cos(n * angle), rel=1e-11)
    second = np.sin((n + 1) * angle) / np.sin(angle)
    assert special.chebyshev_polynomial_u(x, n).numpy() == pytest.approx(second, rel=1e-11)
    assert special.shifted_chebyshev_polynomial_t((x + 1) / 2, n).numpy() == pytest.approx(np.cos(n * angle), rel=1e-10)
    degrees = torch.tensor([-1.0, 0.0, 1.9, 3.0], dtype=torch.float64)
    two = wide(2.0)
    near(special.hermite_polynomial_h(two, degrees), 0, 1, 4, 40)
    near(special.hermite_polynomial_he(two, degrees), 0, 1, 2, 2)
    near(special.laguerre_polynomial_l(two, degrees), 0, 1, -1, -1 / 3)
    near(special.legendre_polynomial_p(two, degrees), 0, 1, 2, 17)
    near(special.chebyshev_polynomial_v(two, degrees), 0, 1, 3, 41)
    near(special.chebyshev_polynomial_w(two, degrees), 0, 1, 5, 71)


def test_aliases():
    x = torch.tensor([0.25, 0.75])
    assert special.expit(x).equal(torch.sigmoid(x)) and special.psi(x).equal(special.digamma(x))
    assert special.gammaln(x).equal(torch.lgamma(x)) and special.expm1(x).equal(torch.expm1(x))
    assert special.softmax(x, 0).equal(torch.softmax(x, 0))
    assert special.round(x, decimals=1).equal(x.round(decimals=1))
    assert special.polygamma(1, x).equal(torch.polygamma(1, x))
    assert special.multigammaln(x + 2, 2).equal(torch.mvlgamma(x + 2, 2))


@pytest.mark.parametrize("name", ["lgamma", "digamma", "i0", "logit"])
def test_second_derivatives(name):
    assert gradgradcheck(getattr(torch, name), [wide(0.2, 0.6).requires_grad_()])


@pytest.mark.parametrize("name", ["i0e", "i1", "i1e", "ndtr", "ndtri", "log_ndtr", "erfcx", "entr"])
def test_second_derivatives_of_special(name):
    assert gradgradcheck(getattr(special, name), [wide(0.2, 0.6).requires_grad_()])


def test_derivatives_that_do_not_exist():
    a, x = wide(2.0).requires_grad_(), wide(1.0).requires_grad_()
    with pytest.raises(RuntimeError, match="igamma: the derivative by input is not implemented"):
        torch.igamma(a, x).sum().backward()
    torch.igamma(a.detach(), x).sum().backward()
    near(x.grad, math.exp(-1))
    assert not special.legendre_polynomial_p(x, 3).requires_grad


def test_forms_in_place():
    x = wide(0.5, 2.0)
    assert torch.xlogy_(x, 2.0) is x and x.lgamma_() is x and torch.i0_(x) is x
    y = wide(1.5)
    assert y.digamma_() is y and y.mvlgamma_ and y.igamma_ and y.polygamma_
    assert wide(1.0).polygamma_(1).tolist() == pytest.approx([math.pi**2 / 6])


def test_gradients_of_mvlgamma_in_place():
    x = wide(3.0).requires_grad_()
    y = x * 1
    y.mvlgamma_(2).backward()
    near(x.grad, special.psi(wide(3.0)).item() + special.psi(wide(2.5)).item())


def test_the_slope_of_xlog1py_beside_a_number_does_not_depend_on_the_input():
    x = torch.tensor([NAN, INF, 0.0, 2.0], dtype=torch.float64, requires_grad=True)
    special.xlog1py(x, 2.0).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), math.log(3), rtol=1e-15)


@pytest.mark.parametrize("call", [torch.igamma, torch.igammac, torch.special.zeta])
def test_a_missing_derivative_is_a_not_implemented_error(call):
    total = call(torch.full((2,), 2.0, requires_grad=True), torch.ones(2)).sum()
    with pytest.raises(NotImplementedError, match="the derivative by input is not implemented"):
        total.backward()


def test_airy_of_large_arguments(device):
    large = torch.tensor([200.5, 1e4, 1e30], device=device)
    assert torch.special.airy_ai(large).tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", ["i1", "i1e", "modified_bessel_i1"])
def test_the_second_derivative_at_zero_is_finite(name):
    x = torch.tensor([0.0, 1e-4], dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(getattr(torch.special, name)(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert first.tolist()[0] == 0.5 and second.tolist()[0] == 0.0


def test_a_gradient_of_0_stays_0_beside_an_infinite_logarithm():
    for function, edge in ((torch.xlogy, 0.0), (special.xlog1py, -1.0)):
        factor, other = torch.tensor([0.0, 1.0, 2.0], requires_grad=True), torch.tensor([edge, edge, 1.0])
        for second in (other, edge):
            (slope,) = torch.autograd.grad(function(factor, second), factor, torch.tensor([1.0, 0.0, 0.0]))
            assert slope.tolist() == [0.0, 0.0, 0.0]
    rates = torch.tensor([0.5, 2.0], requires_grad=True)
    density = torch.distributions.Gamma(rates, 1.0).log_prob(torch.tensor([0.0, 1.0]))
    torch.where(density.isfinite(), density, 0.0).sum().backward()
    assert rates.grad[0].item() == 0.0 and rates.grad[1].isfinite()
