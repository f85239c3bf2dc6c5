"""LayerNorm."""

import pytest

import flambeau as torch
from flambeau import nn


def test_rows_get_mean_0_and_variance_1():
    out = nn.LayerNorm(4)(torch.tensor([[1.0, 2.0, 3.0, 4.0]]))
    scale = (1.25 + 1e-5) ** -0.5
    assert out.tolist()[0] == pytest.approx([-1.5 * scale, -0.5 * scale, 0.5 * scale, 1.5 * scale], rel=1e-6)


def test_weight_and_bias_follow():
    net = nn.LayerNorm((2, 2), eps=0.0)
    with torch.no_grad():
        net.weight.fill_(2.0)
        net.bias.fill_(1.0)
    out = net(torch.tensor([[1.0, 1.0], [3.0, 3.0]]))
    assert out.tolist() == [[-1.0, -1.0], [3.0, 3.0]]
    out.sum().backward()
    assert net.bias.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert net.weight.grad.tolist() == [[-1.0, -1.0], [1.0, 1.0]]


def test_parts_may_be_left_out():
    assert [name for name, _ in nn.LayerNorm(3, bias=False).named_parameters()] == ["weight"]
    assert list(nn.LayerNorm(3, elementwise_affine=False).parameters()) == []
    assert repr(nn.LayerNorm(3)) == "LayerNorm((3,), eps=1e-05, elementwise_affine=True)"
