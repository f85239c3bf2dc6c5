"""Linear maps and changes of shape."""

import math

import pytest

import flambeau as torch
from flambeau import nn


def filled(net, *values):
    with torch.no_grad():
        for param, value in zip(net.parameters(), values):
            param.copy_(torch.tensor(value))
    return net


def test_linear_multiplies_and_shifts():
    net = filled(nn.Linear(2, 3), [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [0.5, 1.0, 1.5])
    x = torch.tensor([[1.0, 1.0], [0.0, 2.0]])
    assert net(x).tolist() == [[3.5, 8.0, 12.5], [4.5, 9.0, 13.5]]
    assert net(x.view(2, 1, 2)).shape == (2, 1, 3)
    net(x).sum().backward()
    assert net.weight.grad.tolist() == [[1.0, 3.0]] * 3
    assert net.bias.grad.tolist() == [2.0] * 3


def test_linear_without_bias():
    net = filled(nn.Linear(2, 1, bias=False), [[1.0, 2.0]])
    assert net.bias is None
    assert net(torch.ones(1, 2)).tolist() == [[3.0]]
    assert repr(net) == "Linear(in_features=2, out_features=1, bias=False)"


def test_linear_starts_within_its_bound():
    torch.manual_seed(3)
    net = nn.Linear(16, 200, dtype=torch.float64)
    bound = 1 / math.sqrt(16)
    for each in (net.weight, net.bias):
        assert each.dtype is torch.float64
        assert -bound <= each.min().item() < -0.9 * bound
        assert 0.9 * bound < each.max().item() <= bound


def test_the_seed_decides_the_start():
    def start():
        torch.manual_seed(5)
        return nn.Linear(3, 2).weight.tolist()

    first = start()
    assert start() == first
    assert nn.Linear(3, 2).weight.tolist() != first


@pytest.mark.devices(2)
def test_a_module_is_made_where_it_is_wanted(gpus):
    assert {str(each.device) for each in nn.Linear(2, 2, device="cuda:1").parameters()} == {"cuda:1"}
    with torch.device("cuda"):
        assert str(nn.Linear(2, 2).weight.device) == "cuda:0"


def test_shapes_flatten_and_unflatten():
    x = torch.zeros(2, 3, 4)
    assert nn.Flatten()(x).shape == (2, 12)
    assert nn.Flatten(0, 1)(x).shape == (6, 4)
    assert nn.Unflatten(1, (3, 1))(x).shape == (2, 3, 1, 4)
    assert nn.Identity(1, any=2)(x) is x
    assert repr(nn.Unflatten(1, (3, 1))) == "Unflatten(dim=1, unflattened_size=(3, 1))"
