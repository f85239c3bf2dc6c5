"""Samples: shapes, supports, means, and gradients through them."""

import json
import math

import numpy as np
import pytest

import flambeau as torch
from flambeau.distributions import Beta, Categorical, Dirichlet, Gamma, Normal, RelaxedBernoulli, sampling
from tests.distributions.needs import DRAWN, SPECIAL, needs
from tests.oracle.distribution_cases import CASES, made

FAMILIES = json.loads(CASES.read_text())["families"]
COUNT = 4000


@needs(*SPECIAL, *DRAWN)
@pytest.mark.parametrize("case", FAMILIES, ids=[f"{at}-{case[0]}" for at, case in enumerate(FAMILIES)])
def test_samples_lie_in_the_support_around_the_mean(case):
    name, parameters, values, expected, _ = case
    torch.manual_seed(3)
    distribution = made(torch, name, parameters)
    sample = distribution.sample((COUNT,))
    assert sample.shape == (COUNT, *distribution.batch_shape, *distribution.event_shape)
    assert np.array(values).shape[1:] == sample.shape[1:] and not sample.requires_grad
    assert distribution.support.check(sample).all()
    mean, variance = expected["mean"], expected["variance"]
    if name in ("VonMises", "Categorical") or mean is None or variance is None:
        return
    mean, deviation = np.array(mean, float), np.sqrt(np.array(variance, float))
    found = sample.double().mean(0).numpy()
    known = np.isfinite(mean) & np.isfinite(deviation)
    assert (np.abs(found - mean) <= 6 * deviation / math.sqrt(COUNT) + 1e-9)[known].all()


OF_GAMMA = {  # these have samples of their own
    "Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma", "LKJCholesky", "NegativeBinomial",
    "StudentT", "VonMises", "Wishart",
}  # fmt: skip


@needs(*SPECIAL, *DRAWN)
@pytest.mark.parametrize("case", [case for case in FAMILIES if case[0] not in OF_GAMMA], ids=lambda case: case[0])
def test_samples_on_the_cpu_are_those_of_pytorch(case):
    name, parameters, _, _, drawn = case
    torch.manual_seed(1)
    found = made(torch, name, parameters).sample((3,))
    np.testing.assert_allclose(found.numpy(), np.array(drawn), rtol=1e-6, atol=1e-9)


def test_samples_of_a_location_and_a_scale_have_its_gradient():
    loc, scale = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([0.5, 3.0], requires_grad=True)
    sample = Normal(loc, scale).rsample((5,))
    sample.sum().backward()
    assert loc.grad.tolist() == [5, 5]
    noise = (sample.detach() - loc.detach()) / scale.detach()
    np.testing.assert_allclose(scale.grad.numpy(), noise.sum(0).numpy(), rtol=1e-5, atol=1e-5)
    assert not Normal(loc, scale).sample().requires_grad


def test_the_slope_of_a_gamma_sample_is_that_of_the_inverse_distribution_function():
    """The values are those of PyTorch's _standard_gamma_grad, in float64."""
    concentration = torch.tensor([0.1, 0.5, 1.0, 2.0, 10.0, 100.0], dtype=torch.float64)
    sample = torch.tensor([0.01, 0.3, 2.0, 1.0, 12.0, 90.0], dtype=torch.float64)
    expected = [0.422793, 1.0098, 1.63172, 0.750745, 1.11231, 0.949913]
    np.testing.assert_allclose(sampling._slope(concentration, sample).numpy(), expected, rtol=2e-4)


def test_samples_of_gamma_variables_have_gradients():
    torch.manual_seed(0)
    concentration = torch.tensor([0.3, 1.0, 7.0], requires_grad=True)
    Gamma(concentration, 2.0).rsample((20000,)).mean(0).sum().backward()
    np.testing.assert_allclose(concentration.grad.numpy(), [0.5] * 3, rtol=0.05)  # the derivative of the mean
    assert Beta(concentration, 1.0).rsample().requires_grad and Dirichlet(concentration).rsample().requires_grad


@pytest.mark.parametrize("concentration", [0.01, 0.3, 1.0, 30.0])
def test_gamma_samples_follow_the_distribution(concentration):
    from scipy import stats

    torch.manual_seed(2)
    sample = sampling.standard_gamma(torch.full((COUNT,), concentration).double()).numpy()
    assert stats.kstest(sample, "gamma", args=(concentration,)).pvalue > 1e-3


def test_a_straight_through_sample_and_a_relaxed_one_have_gradients():
    logits = torch.tensor([0.5, -1.0], requires_grad=True)
    RelaxedBernoulli(torch.tensor(0.5), logits=logits).rsample((3,)).sum().backward()
    assert (logits.grad > 0).all()


@needs("multinomial")
def test_a_class_is_drawn_as_often_as_its_probability_says():
    torch.manual_seed(1)
    drawn = Categorical(torch.tensor([[0.1, 0.2, 0.7], [1.0, 0.0, 0.0]])).sample((COUNT,))
    assert drawn.dtype is torch.int64 and drawn.shape == (COUNT, 2)
    shares = [(drawn[:, 0] == each).double().mean().item() for each in range(3)]
    assert shares == pytest.approx([0.1, 0.2, 0.7], abs=0.03) and (drawn[:, 1] == 0).all()
