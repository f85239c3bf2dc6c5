"""Discrete distributions: values, large log-odds, and counts beyond the precision of numbers."""

import math

import pytest

import flambeau as torch
from flambeau import distributions as D
from tests.distributions.needs import needs


@needs("logsumexp")
def test_values_of_discrete_distributions():
    assert D.Bernoulli(torch.tensor([0.5, 0.1])).enumerate_support().tolist() == [[0, 0], [1, 1]]
    assert D.Bernoulli(torch.tensor([0.5, 0.1])).enumerate_support(False).tolist() == [[0], [1]]
    assert D.Binomial(2, torch.tensor(0.5)).enumerate_support().tolist() == [0, 1, 2]
    assert D.Categorical(torch.ones(2, 3)).enumerate_support().tolist() == [[0, 0], [1, 1], [2, 2]]
    assert D.OneHotCategorical(torch.ones(2)).enumerate_support().tolist() == [[1, 0], [0, 1]]


def test_infinite_and_large_log_odds():
    logits = torch.tensor([math.inf, -math.inf, 12.0], requires_grad=True)
    bernoulli = D.Bernoulli(logits=logits)
    assert bernoulli.log_prob(torch.zeros(3))[0].item() == -math.inf
    # log1p(exp(-12)): a difference of large terms has no correct digit left
    log_prob = bernoulli.log_prob(torch.ones(3))[2]
    assert log_prob.item() == pytest.approx(-6.1441935e-06, rel=1e-6)
    assert D.ContinuousBernoulli(logits=logits).log_prob(torch.zeros(3))[0].item() == -math.inf
    sure = D.Bernoulli(probs=torch.tensor([0.0, 1.0]))
    for p, q in [(sure, D.Bernoulli(logits=logits[:2].flip(0))), (D.Bernoulli(logits=logits[:2].flip(0)), sure)]:
        assert torch.allclose(D.kl_divergence(p, q), torch.zeros(2), atol=1e-6)
    assert D.NegativeBinomial(1.0, logits=logits).log_prob(torch.zeros(3))[0].item() == -math.inf


def test_counts_beyond_the_precision_of_numbers():
    torch.manual_seed(0)
    assert torch.poisson(torch.tensor([math.inf, 1e38])).tolist() == pytest.approx([math.inf, 1e38])
    assert torch.poisson(torch.tensor([1e306], dtype=torch.float64)).item() == 1e306
    assert torch.binomial(torch.tensor([1e306], dtype=torch.float64), torch.tensor(0.25)).item() == 2.5e305
    sample = D.NegativeBinomial(torch.tensor([1.0, 2.0]), logits=torch.tensor([-100.0, 100.0])).sample((4,))
    assert sample[:, 0].tolist() == [0, 0, 0, 0]
    assert (sample[:, 1] > 1e30).all()
