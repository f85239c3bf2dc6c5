"""Divergences: how they are found, formulas, and those that are infinite or not known."""

import math

import pytest

import flambeau as torch
from flambeau import distributions as D
from flambeau.errors import ArgumentTypeError, NotSupportedError


def test_a_divergence_is_found_by_the_nearest_classes():
    class Own(D.Normal):
        pass

    assert D.kl_divergence(Own(0.0, 1.0), D.Normal(1.0, 1.0)).item() == 0.5
    D.register_kl(Own, D.Normal)(lambda p, q: "own")
    assert D.kl_divergence(Own(0.0, 1.0), D.Normal(1.0, 1.0)) == "own"
    with pytest.raises(NotSupportedError, match="kl_divergence: .*Normal and Poisson"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.Poisson(1.0))
    with pytest.raises(ArgumentTypeError, match="register_kl: .*3"):
        D.register_kl(3, D.Normal)


def test_the_divergence_of_an_exponential_family_agrees_with_the_formula():
    p, q = D.Normal(torch.tensor([0.0, 1.0]), 2.0), D.Normal(torch.tensor([1.0, 3.0]), 0.5)
    general = D.kl._KL_REGISTRY[D.ExponentialFamily, D.ExponentialFamily](p, q)
    assert general.tolist() == pytest.approx(D.kl_divergence(p, q).tolist(), rel=1e-5)
    assert D.ExponentialFamily.entropy(p).tolist() == pytest.approx(p.entropy().tolist(), rel=1e-5)


def test_binomials_of_fewer_trials_have_no_known_divergence():
    p, q = D.Binomial(3, torch.tensor(0.5)), D.Binomial(5, torch.tensor(0.25))
    with pytest.raises(NotSupportedError, match=r"kl_divergence: .*3.*5"):
        D.kl_divergence(p, q)
    assert D.kl_divergence(q, p).item() == math.inf


@pytest.mark.parametrize("q", [D.Exponential(1.0), D.Gamma(1.0, 2.0), D.Normal(0.0, 1.0)])
def test_infinite_divergences_have_no_gradient(q):
    scale, alpha = torch.ones(2, requires_grad=True), torch.tensor([0.5, 3.0], requires_grad=True)
    divergence = D.kl_divergence(D.Pareto(scale, alpha), q)
    divergence.sum().backward()
    assert divergence[0].item() == math.inf
    for gradient in (scale.grad, alpha.grad):
        assert gradient[0].item() == 0
        assert gradient[1].isfinite()


def test_divergence_of_wishart_distributions():
    unit, double = torch.eye(2), 2 * torch.eye(2)
    for one, two, wanted in ((4.0, 4.0, 0.7725887), (4.0, 6.0, 2.7982206)):
        first, second = D.Wishart(torch.tensor(one), unit), D.Wishart(torch.tensor(two), double)
        assert D.kl_divergence(first, second).item() == pytest.approx(wanted, abs=1e-5)
        several = (D.Wishart(torch.tensor([df, df]), scale) for df, scale in ((one, unit), (two, double)))
        assert D.kl_divergence(*several).tolist() == pytest.approx([wanted, wanted], abs=1e-5)
