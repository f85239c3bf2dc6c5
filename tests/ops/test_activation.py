"""Functions of one operand: accuracy, special values, second derivatives."""

import math

import pytest

import flambeau as torch
from flambeau import dtypes
from flambeau.errors import DtypeError
from flambeau.nn import functional as F
from flambeau.ops.operator import REGISTRY
from flambeau.testing import gradgradcheck

SMOOTH = ["exp", "expm1", "sin", "cos", "tanh", "sigmoid", "erf", "silu", "gelu"]


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "sin", "tanh", "sigmoid", "erf", "rsqrt", "reciprocal"])
def test_integers_give_float32(name):
    assert getattr(torch, name)(torch.tensor([1, 2])).dtype is dtypes.float32


def test_relu_keeps_nan_and_lets_its_gradient_pass():
    x = torch.tensor([-1.0, 0.0, 2.0, math.nan], requires_grad=True)
    found = torch.relu(x)
    assert found.tolist()[:3] == [0.0, 0.0, 2.0]
    assert math.isnan(found.tolist()[3])
    found.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 1.0, 1.0]


def test_relu_in_place():
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    y = x * 2
    torch.nn.functional.relu(y, inplace=True).sum().backward()
    assert x.grad.tolist() == [0.0, 2.0]
    assert torch.relu(torch.tensor([-3, 4])).tolist() == [0, 4]
    with pytest.raises(DtypeError, match="relu: bool operands"):
        torch.relu(torch.tensor([True]))


def test_gelu_in_both_forms():
    x = [-3.0, -0.5, 0.0, 1.0, 4.0]
    exact = [each * 0.5 * (1 + math.erf(each / math.sqrt(2))) for each in x]
    bend = [math.tanh(math.sqrt(2 / math.pi) * (each + 0.044715 * each**3)) for each in x]
    wide = torch.tensor(x, dtype=torch.float64)
    assert F.gelu(wide).tolist() == pytest.approx(exact, rel=1e-13)
    assert F.gelu(wide, approximate="tanh").tolist() == pytest.approx(
        [0.5 * each * (1 + b) for each, b in zip(x, bend)], rel=1e-13
    )
    assert F.gelu(wide.half()).dtype is dtypes.float16


@pytest.mark.parametrize("name", SMOOTH)
def test_second_derivatives(name):
    x = torch.tensor([-1.7, -0.2, 0.4, 1.1], dtype=torch.float64, requires_grad=True)
    assert gradgradcheck(REGISTRY[name], [x])


def test_second_derivative_of_the_tanh_form_of_gelu():
    x = torch.tensor([-1.7, -0.2, 0.4, 1.1], dtype=torch.float64, requires_grad=True)
    assert gradgradcheck(lambda each: F.gelu(each, "tanh"), [x])


def test_half_types_compute_in_float32():
    x = torch.tensor([0.1, 3.3, -2.7], dtype=torch.bfloat16)
    wide = x.float()
    for name in SMOOTH:
        assert REGISTRY[name](x).tolist() == REGISTRY[name](wide).to(dtypes.bfloat16).tolist()
