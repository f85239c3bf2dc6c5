"""Activations as modules: how they print, what they check, and that they call nn.functional with their settings."""

import pytest

import flambeau as torch
from flambeau import nn

PRINTED = {  # by call, as PyTorch prints it
    "ELU(inplace=True)": "ELU(alpha=1.0, inplace=True)", "CELU(2.0)": "CELU(alpha=2.0)", "SELU(True)":
    "SELU(inplace=True)", "LeakyReLU()": "LeakyReLU(negative_slope=0.01)", "PReLU(3)": "PReLU(num_parameters=3)",
    "RReLU()": "RReLU(lower=0.125, upper=0.3333333333333333)", "ReLU6(True)": "ReLU6(inplace=True)",
    "Hardtanh(0, 2.0)": "Hardtanh(min_val=0, max_val=2.0)", "Hardsigmoid(True)": "Hardsigmoid()",
    "Hardswish()": "Hardswish()", "Hardshrink()": "Hardshrink(0.5)", "Softshrink(1.0)": "Softshrink(1.0)",
    "Tanhshrink()": "Tanhshrink()", "Softplus()": "Softplus(beta=1.0, threshold=20.0)", "Softsign()": "Softsign()",
    "Softmin(1)": "Softmin(dim=1)", "LogSigmoid()": "LogSigmoid()", "Mish(True)": "Mish(inplace=True)",
    "GLU()": "GLU(dim=-1)", "Threshold(0.1, 20, True)": "Threshold(threshold=0.1, value=20, inplace=True)",
    "Softmax2d()": "Softmax2d()",
}  # fmt: skip


@pytest.mark.parametrize("call", PRINTED)
def test_a_module_prints_as_pytorchs(call):
    assert repr(eval(f"nn.{call}")) == PRINTED[call]


def test_settings_are_passed_on():
    x = torch.tensor([-2.0, 0.5, 4.0])
    with pytest.warns(FutureWarning, match="Hardtanh: m.._value is deprecated and renamed to m.._val") as warned:
        assert nn.Hardtanh(min_value=0.0, max_value=3.0)(x).tolist() == [0.0, 0.5, 3.0]
    assert len(warned) == 2
    assert nn.LeakyReLU(0.5)(x).tolist() == [-1.0, 0.5, 4.0] and nn.Threshold(1, 7)(x).tolist() == [7.0, 7.0, 4.0]
    assert nn.RReLU(0.5, 0.5)(x).tolist() == [-1.0, 0.5, 4.0] and nn.Softshrink(1.0)(x).tolist() == [-1.0, 0.0, 3.0]
    y = x.clone()
    assert nn.ELU(inplace=True)(y) is y and y[1:].equal(x[1:])


def test_prelu_learns_a_weight_for_each_channel():
    layer = nn.PReLU(2, init=0.5)
    layer(torch.tensor([[-1.0, 2.0], [-3.0, -4.0]])).sum().backward()
    assert layer.weight.tolist() == [0.5, 0.5] and layer.weight.grad.tolist() == [-4.0, -4.0]
    with pytest.raises(RuntimeError, match="prelu: weight has 2 elements, the input has 3 channels"):
        layer(torch.ones(1, 3))


def test_wrong_settings():
    with pytest.raises(ValueError, match="Hardtanh: min_val must be below max_val, got 1 and 0"):
        nn.Hardtanh(1, 0)
    with pytest.raises(ValueError, match=r"Softmax2d: expected input to be 3D or 4D, got shape \[2\]"):
        nn.Softmax2d()(torch.ones(2))


def test_softmax_of_channels():
    found = nn.Softmax2d()(torch.zeros(2, 4, 3, 3))
    assert found.equal(torch.full((2, 4, 3, 3), 0.25)) and nn.Softmin(0)(torch.zeros(2)).tolist() == [0.5, 0.5]
