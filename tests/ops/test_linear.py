"""Linear layers: values, all gradients in one call, second derivatives, and what is refused."""

import numpy as np
import pytest

import flambeau as torch
from flambeau.errors import DtypeError, ShapeError
from flambeau.ops import linalg
from flambeau.tensor.factories import tensor
from flambeau.testing import gradcheck

RANDOM = np.random.default_rng(4)


def leaf(*shape):
    return tensor(RANDOM.standard_normal(shape), requires_grad=True)


@pytest.mark.parametrize("shape", [(4,), (2, 4), (2, 1), (1, 4), ()])
def test_addmm_adds_whatever_broadcasts(shape):
    bias, a, b = RANDOM.standard_normal(shape), RANDOM.standard_normal((2, 3)), RANDOM.standard_normal((3, 4))
    found = linalg.addmm(tensor(bias), tensor(a), tensor(b))
    np.testing.assert_allclose(found.numpy(), bias + a @ b, rtol=1e-12)
    scaled = linalg.addmm(tensor(bias), tensor(a), tensor(b), beta=2, alpha=3)
    np.testing.assert_allclose(scaled.numpy(), 2 * bias + 3 * (a @ b), rtol=1e-12)
    unread = linalg.addmm(tensor(bias * np.nan), tensor(a), tensor(b), beta=0)
    np.testing.assert_allclose(unread.numpy(), a @ b, rtol=1e-12)


@pytest.mark.parametrize("lead", [(), (2,), (2, 3)])
def test_linear(lead):
    x, weight, bias = leaf(*lead, 3), leaf(4, 3), leaf(4)
    expected = x.detach().numpy() @ weight.detach().numpy().T + bias.detach().numpy()
    np.testing.assert_allclose(linalg.linear(x, weight, bias).detach().numpy(), expected, rtol=1e-12)
    assert gradcheck(linalg.linear, [x, weight, bias])
    linalg.linear(x, weight, bias).sum().backward()
    assert weight.grad.is_contiguous()


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2)])
def test_only_the_gradients_that_are_wanted(wanted):
    operands = [tensor(RANDOM.standard_normal(shape)) for shape in ((2, 3), (4, 3), (4,))]
    for place in wanted:
        operands[place].requires_grad_()
    x, weight, _ = (each.detach().numpy() for each in operands)
    upstream = RANDOM.standard_normal((2, 4))
    linalg.linear(*operands).backward(tensor(upstream))
    expected = upstream @ weight, upstream.T @ x, upstream.sum(0)
    for place, (operand, gradient) in enumerate(zip(operands, expected, strict=True)):
        assert (operand.grad is not None) == (place in wanted)
        if place in wanted:
            np.testing.assert_allclose(operand.grad.numpy(), gradient, rtol=1e-12)


@pytest.mark.parametrize("lead", [(), (2,), (2, 3)])
def test_the_gradients_have_gradients(lead):
    operands = [leaf(*lead, 3), leaf(4, 3), leaf(4)]

    def gradients(*operands):
        result = linalg.linear(*operands)
        return torch.autograd.grad((result * result).sum(), operands, create_graph=True)

    assert gradcheck(gradients, operands)


def test_an_input_that_needs_no_gradient_keeps_no_weight():
    x, weight = tensor(RANDOM.standard_normal((2, 3))), leaf(4, 3)
    result = linalg.linear(x, weight)
    with torch.no_grad():
        weight.zero_()  # is not read again, so nothing is lost
    result.sum().backward()
    np.testing.assert_allclose(weight.grad.numpy(), np.tile(x.numpy().sum(0), (4, 1)), rtol=1e-12)


def test_gradients_of_nothing():
    x, weight, bias = leaf(0, 3), leaf(4, 3), leaf(4)
    linalg.linear(x, weight, bias).sum().backward()
    assert x.grad.shape == (0, 3)
    assert weight.grad.tolist() == [[0.0] * 3] * 4
    assert bias.grad.tolist() == [0.0] * 4


def test_an_inner_size_of_0_leaves_the_bias():
    found = linalg.linear(tensor(np.zeros((2, 0))), tensor(np.zeros((3, 0))), tensor(np.array([1.0, 2, 3])))
    assert found.tolist() == [[1, 2, 3]] * 2


def test_errors_name_every_value():
    a, b = tensor(np.zeros((2, 3))), tensor(np.zeros((4, 5)))
    with pytest.raises(DtypeError, match="input and weight to have the same dtype, but got float64 and float32"):
        linalg.linear(a, tensor(np.zeros((4, 3), np.float32)))
    with pytest.raises(ShapeError, match=r"linear: mat1 and mat2 shapes cannot be multiplied \(2x3 and 5x4\)"):
        linalg.linear(a, b)


@pytest.mark.parametrize("use_gelu", [False, True])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_an_activated_layer_is_the_activation_of_the_layer(use_gelu, kind):
    operands = [leaf(4).to(kind), leaf(2, 3).to(kind), leaf(3, 4).to(kind)]
    found = torch._addmm_activation(*operands, use_gelu=use_gelu)
    layer = torch.addmm(*operands)
    wanted = torch.nn.functional.gelu(layer, approximate="tanh") if use_gelu else layer.relu()
    np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=1e-6)
    assert use_gelu or (found == 0).any()
    upstream = tensor(RANDOM.standard_normal((2, 4))).to(kind)
    for ours, theirs in zip(
        torch.autograd.grad(found, operands, upstream), torch.autograd.grad(wanted, operands, upstream), strict=True
    ):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_an_activated_layer_has_a_second_derivative(activation):
    operands = [leaf(2, 3), leaf(4, 3), leaf(4)]
    assert gradcheck(lambda *operands: linalg.linear_activation(*operands, activation), operands)
    x, weight = leaf(2, 3), leaf(4, 3)

    def slope(x, weight):
        return torch.autograd.grad(linalg.linear_activation(x, weight, None, activation).sum(), x, create_graph=True)[0]

    assert gradcheck(slope, [x, weight])


def test_nan_stays_and_a_sum_of_nothing_is_activated():
    bias, rows = torch.tensor([float("nan"), -1.0, 2.0]), torch.zeros(2, 1)
    found = torch._addmm_activation(bias, rows, torch.zeros(1, 3)).numpy()
    np.testing.assert_array_equal(found, [[np.nan, 0, 2]] * 2)
    np.testing.assert_array_equal(torch._addmm_activation(bias, torch.zeros(2, 0), torch.zeros(0, 3)).numpy(), found)


@pytest.mark.parametrize("use_gelu", [False, True])
def test_activated_integers_are_refused(use_gelu):
    operands = [torch.ones(*shape, dtype=torch.int64) for shape in ((4,), (2, 3), (3, 4))]
    with pytest.raises(DtypeError, match="_addmm_activation: mat1 must be floating point, got int64"):
        torch._addmm_activation(*operands, use_gelu=use_gelu)
