"""Activations: accuracy, special values, gradients at the joints, second derivatives, random slopes, and checks."""

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


# rectifiers

NAN = math.nan


def slopes(function, values):
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    function(x).sum().backward()
    return x.grad.tolist()


def test_gradients_at_the_joints_are_pytorchs():
    assert slopes(F.hardtanh, [-1.0, 0.0, 1.0]) == [0, 1, 0]
    assert slopes(F.relu6, [0.0, 3.0, 6.0]) == [0, 1, 0]
    assert slopes(F.hardswish, [-3.0, 0.0, 3.0, 4.0]) == [0, 0.5, 1, 1]
    assert slopes(F.hardshrink, [-0.5, 0.25, 0.75]) == [0, 0, 1] == slopes(F.softshrink, [-0.5, 0.25, 0.75])
    assert slopes(F.leaky_relu, [0.0, 1.0]) == [0.01, 1] and slopes(F.elu, [0.0, 1.0]) == [1, 1]
    assert slopes(lambda x: F.threshold(x, 1.0, 5.0), [1.0, 1.5]) == [0, 1]


RECTIFIERS = [
    F.elu, F.celu, F.selu, F.softplus, F.logsigmoid, F.mish, F.tanhshrink, F.softsign, F.hardswish, F.leaky_relu,
]  # fmt: skip


@pytest.mark.parametrize("function", RECTIFIERS, ids=lambda each: each.__name__)
def test_second_derivatives_of_rectifiers(function):
    x = torch.tensor([-1.7, -0.4, 0.3, 2.1], dtype=torch.float64, requires_grad=True)
    assert gradgradcheck(function, [x])


def test_second_derivatives_of_prelu():
    x = torch.tensor([[-1.7, 0.4], [0.3, -2.1]], dtype=torch.float64, requires_grad=True)
    weight = torch.tensor([0.3, 0.6], dtype=torch.float64, requires_grad=True)
    assert gradgradcheck(F.prelu, [x, weight])


def test_infinities():
    ends = torch.tensor([math.inf, -math.inf])
    assert F.elu(ends).tolist() == [math.inf, -1] and F.softplus(ends).tolist() == [math.inf, 0]
    assert F.logsigmoid(ends).tolist() == [0, -math.inf] and F.hardsigmoid(ends).tolist() == [1, 0]


def test_integers():
    x = torch.tensor([-3, 2, 9])
    assert F.relu6(x).tolist() == [0, 2, 6] and F.relu6(x).dtype is torch.int64
    assert torch.threshold(x, 2, 7).tolist() == [7, 7, 9]
    with pytest.raises(RuntimeError, match="leaky_relu: operands must be floating point, got int64"):
        F.leaky_relu(x)


def test_random_slopes_are_in_range_and_the_gradient_has_them():
    torch.manual_seed(3)
    x = torch.full((200,), -1.0, requires_grad=True)
    y = torch.rrelu(x, 0.25, 0.5, training=True)
    y.sum().backward()
    assert len(set(y.tolist())) > 100 and y.max().item() <= -0.25 and y.min().item() >= -0.5
    assert x.grad.equal(-y.detach())
    assert F.rrelu(x, 0.25, 0.75).tolist() == [-0.5] * 200


def test_gumbel_softmax():
    torch.manual_seed(2)
    logits = torch.tensor([0.0, math.log(3.0)]).expand(4000, 2).clone().requires_grad_()
    hard = F.gumbel_softmax(logits, tau=0.7, hard=True)
    assert sorted(set(hard.flatten().tolist())) == [0.0, 1.0]
    assert abs(hard[:, 1].mean().item() - 0.75) < 0.03
    hard[:, 1].sum().backward()
    assert logits.grad.abs().sum().item() > 0
    soft = F.gumbel_softmax(logits.detach(), dim=0)
    assert soft.sum(0).tolist() == pytest.approx([1.0, 1.0], rel=1e-5)


WRITING = ["celu", "elu", "hardtanh", "leaky_relu", "rrelu", "selu", "threshold"]


@pytest.mark.parametrize("name", [*WRITING, "relu6", "mish"])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_in_place_forms(name, device, gpus):
    numbers = (0.5, 2.0) if name == "threshold" else ()
    x = torch.tensor([-2.0, 0.25, 3.0], device=device)
    expected = getattr(F, name)(x, *numbers)
    y = x.clone()
    assert getattr(F, name)(y, *numbers, inplace=True) is y and y.equal(expected)
    if name in WRITING:
        y = x.clone()
        assert getattr(F, f"{name}_")(y, *numbers) is y and y.equal(expected)


def test_the_gradient_of_hardsigmoid_preserves_the_memory_format(device):
    x = torch.tensor([[[[1.0, -4.0]], [[float("nan"), 5.0]]]], device=device).to(memory_format=torch.channels_last)
    x.requires_grad_()
    (grad,) = torch.autograd.grad(F.hardsigmoid(x), x, torch.full_like(x, 6.0))
    assert grad.stride() == x.stride() and grad.flatten().tolist() == pytest.approx([1, 0, 0, 0])


@pytest.mark.parametrize("name", [*WRITING, "relu6", "mish", "silu", "hardswish", "hardsigmoid"])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_gradients_of_in_place_forms(name, device, gpus):
    numbers = (0.5, 2.0) if name == "threshold" else ()
    found = []
    for inplace in (False, True):
        x = torch.tensor([-2.0, 0.25, 3.0], device=device, requires_grad=True)
        getattr(F, name)(x * 1, *numbers, inplace=inplace).sum().backward()
        found.append(x.grad)
    assert found[0].equal(found[1])


def test_gradients_of_random_slopes_in_place():
    x = torch.full((50,), -1.0, requires_grad=True)
    y = torch.rrelu_(x * 1, 0.25, 0.5, training=True)
    y.sum().backward()
    assert x.grad.equal(-y.detach()) and len(set(y.tolist())) > 20
    with pytest.raises(ValueError, match="rrelu: lower must not exceed upper"):
        torch.rrelu_(torch.ones(1), 1.0, 0.0)


@pytest.mark.parametrize(
    "function, slope",
    [
        (F.hardtanh, 1), (F.relu6, 1), (F.hardswish, 1), (F.hardshrink, 1), (F.softshrink, 1), (F.elu, 1), (F.celu, 1),
        (F.selu, 1.0507009873554805), (F.hardsigmoid, 0),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_slope_at_nan_is_that_of_the_last_piece(function, slope, device, gpus):
    x = torch.tensor([NAN, 5.0], dtype=torch.float64, device=device, requires_grad=True)
    function(x).sum().backward()
    assert x.grad[0].item() == slope


def test_gumbel_noise_is_that_of_pytorch():
    torch.manual_seed(7)
    found = F.gumbel_softmax(torch.ones(2, 3))
    expected = [[0.45662948, 0.46785372, 0.07551672], [0.49943256, 0.20874971, 0.29181772]]
    assert (found - torch.tensor(expected)).abs().max() < 1e-6
