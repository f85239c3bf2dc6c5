"""A wrong derivative is found, element by element and along a direction."""

import pytest

import flambeau as torch
from flambeau.errors import AutogradError
from flambeau.testing.gradcheck import gradcheck


class Cube(torch.autograd.Function):
    """x^3, whose derivative is wrong by `error` in the last element."""

    @staticmethod
    def forward(ctx, x, error):
        ctx.save_for_backward(x)
        ctx.error = error
        return x * x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        slope = 3 * x * x
        slope[-1] += ctx.error
        return grad * slope, None


@pytest.fixture
def x():
    return torch.linspace(-2, 2, 5, dtype=torch.float64).requires_grad_()


@pytest.mark.parametrize("fast_mode", [False, True])
def test_a_right_derivative_passes(x, fast_mode):
    assert gradcheck(lambda x: Cube.apply(x, 0.0), [x], fast_mode=fast_mode)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_one_wrong_element_is_found(x, fast_mode):
    with pytest.raises(AutogradError, match="input 0 .*differs from central differences"):
        assert gradcheck(lambda x: Cube.apply(x, 0.1), [x], fast_mode=fast_mode)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_an_input_that_is_cut_off_is_found(x, fast_mode):
    with pytest.raises(AutogradError, match="input 1 .*differs"):
        assert gradcheck(lambda a, b: a * b.detach(), [x, x.detach().clone().requires_grad_()], fast_mode=fast_mode)
