"""Mixtures."""

import pytest

import flambeau as torch
from flambeau import distributions as D
from flambeau.errors import ArgumentError
from tests.distributions.needs import SPECIAL, needs


@needs(*SPECIAL)
def test_mixtures():
    weights, means = torch.tensor([0.25, 0.75]), torch.tensor([[-1.0, 1.0], [0.0, 4.0]])
    mixture = D.MixtureSameFamily(D.Categorical(weights), D.Normal(means, 1.0))
    assert mixture.mean.tolist() == [0.5, 3.0] and mixture.variance.tolist() == [1.75, 4.0]
    value = torch.tensor([0.0, 1.0])
    parts = D.Normal(means, 1.0).log_prob(value.unsqueeze(-1)).exp()
    assert mixture.log_prob(value).exp().tolist() == pytest.approx((parts * weights).sum(-1).tolist())
    assert mixture.expand((3, 2)).log_prob(value).shape == (3, 2)
    with pytest.raises(ArgumentError, match="MixtureSameFamily: .*3 components"):
        D.MixtureSameFamily(D.Categorical(torch.ones(3)), D.Normal(means, 1.0))
