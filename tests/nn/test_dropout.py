"""Dropout."""

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentError


def test_values_are_dropped_or_scaled_in_training_only():
    torch.manual_seed(0)
    net, x = nn.Dropout(0.25), torch.ones(4000)
    values = net(x).tolist()
    assert sorted(set(values)) == pytest.approx([0.0, 4 / 3])
    assert 900 < values.count(0.0) < 1100
    assert net.eval()(x).tolist() == x.tolist()


def test_the_gradient_takes_the_same_mask():
    torch.manual_seed(0)
    x = torch.ones(50, requires_grad=True)
    out = nn.Dropout(0.5)(x)
    out.sum().backward()
    assert x.grad.tolist() == out.tolist()


def test_in_place():
    torch.manual_seed(0)
    x = torch.ones(50)
    assert nn.Dropout(0.5, inplace=True)(x) is x
    assert set(x.tolist()) == {0.0, 2.0}


def test_bad_probability():
    with pytest.raises(ArgumentError, match=r"between 0 and 1, but got 1\.5"):
        nn.Dropout(1.5)
    assert repr(nn.Dropout(0.1)) == "Dropout(p=0.1, inplace=False)"
