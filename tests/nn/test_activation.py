"""Nonlinearities, against their formulas."""

import math

import pytest

import flambeau as torch
from flambeau import nn

POINTS = (-2.0, -0.5, 0.0, 0.5, 2.0)
ROOT = math.sqrt(2 / math.pi)
FORMULAS = {
    "ReLU": (nn.ReLU(), lambda x: max(x, 0.0)),
    "Tanh": (nn.Tanh(), math.tanh),
    "Sigmoid": (nn.Sigmoid(), lambda x: 1 / (1 + math.exp(-x))),
    "SiLU": (nn.SiLU(), lambda x: x / (1 + math.exp(-x))),
    "GELU": (nn.GELU(), lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2),
    "GELU of tanh": (nn.GELU("tanh"), lambda x: x * (1 + math.tanh(ROOT * (x + 0.044715 * x**3))) / 2),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_values(name):
    net, formula = FORMULAS[name]
    found = net(torch.tensor(POINTS, dtype=torch.float64)).tolist()
    assert found == pytest.approx([formula(x) for x in POINTS], rel=1e-12)


@pytest.mark.parametrize("make", [nn.ReLU, nn.SiLU])
def test_in_place(make):
    x = torch.tensor(POINTS)
    assert make(inplace=True)(x) is x
    assert x.tolist() == make()(torch.tensor(POINTS)).tolist()
    assert "inplace=True" in repr(make(inplace=True))


def test_softmax_sums_to_1():
    x = torch.tensor([[0.0, math.log(3.0)], [5.0, 5.0]], dtype=torch.float64)
    assert nn.Softmax(dim=1)(x).tolist() == [pytest.approx([0.25, 0.75]), pytest.approx([0.5, 0.5])]
    logs = nn.LogSoftmax(dim=1)(x)
    assert logs.exp().sum(1).tolist() == pytest.approx([1.0, 1.0])
    with pytest.warns(UserWarning, match="no dim was given, 1 is used"):
        assert nn.Softmax()(x).sum(1).tolist() == pytest.approx([1.0, 1.0])
