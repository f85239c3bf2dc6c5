"""The larger and the smaller, and bounds: NaN, ties, and gradients at the bounds."""

import math

import pytest

import flambeau as torch
from flambeau.errors import DtypeError
from flambeau.testing import gradgradcheck, machine

NAN = math.nan


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_extremes_propagate_nan_and_share_ties(name):
    choose = getattr(torch, name)
    x = torch.tensor([1.0, NAN, 2.0, 3.0], requires_grad=True)
    y = torch.tensor([1.0, 0.0, NAN, 1.0], requires_grad=True)
    found = choose(x, y)
    assert [math.isnan(each) for each in found.tolist()] == [False, True, True, False]
    found.sum().backward()
    assert x.grad.tolist() == [0.5, 1.0, 1.0, 1.0 if name == "maximum" else 0.0]
    assert y.grad.tolist() == [0.5, 1.0, 1.0, 0.0 if name == "maximum" else 1.0]


def test_clamp():
    x = torch.tensor([-2.0, 0.5, 3.0, NAN])
    assert x.clamp(0, 1).tolist()[:3] == [0.0, 0.5, 1.0]
    assert math.isnan(x.clamp(0, 1).tolist()[3])
    assert x[:3].clamp(min=0).tolist() == [0.0, 0.5, 3.0]
    assert x[:3].clamp(max=0).tolist() == [-2.0, 0.0, 0.0]
    assert x[:3].clamp(1, 0).tolist() == [0.0, 0.0, 0.0]
    assert math.isnan(x.clamp(NAN, 1)[0].item())
    assert torch.tensor([5, -5]).clamp(0.5, 3).tolist() == [3.0, 0.5]
    with pytest.raises(DtypeError, match="float32 can't be cast"):
        torch.tensor([5, -5]).clamp_(0.5, 3)


def test_clamp_is_one_launch_in_place_too():
    with machine(devices=1) as made:
        x = torch.tensor([-2.0, 0.5, 3.0], device="cuda")
        assert x.clamp_(0, 1) is x
        assert x.tolist() == [0.0, 0.5, 1.0]
        entries = [kernel.entry for kernel in made.devices[0].kernels]
    assert entries == ["clamp_float32_float32_nfloat32_nfloat32"]


def test_the_gradient_of_clamp_at_and_beyond_its_bounds():
    x, low = (torch.tensor(each, requires_grad=True) for each in ([0.0, 1.0, 1.0, -1.0], [0.0, 1.0, 2.0, -1.0]))
    high = torch.zeros(4, requires_grad=True)
    torch.clamp(x, low, high).sum().backward()
    assert x.grad.tolist() == [1.0, 0.0, 0.0, 1.0]
    assert low.grad.tolist() == [0.0, 0.0, 0.0, 0.0]
    assert high.grad.tolist() == [0.0, 1.0, 1.0, 0.0]
    lonely = torch.tensor([NAN, 0.5], requires_grad=True)
    lonely.clamp(0, 1).sum().backward()
    assert lonely.grad.tolist() == [0.0, 1.0]


def test_second_derivatives_of_choosing():
    x = torch.tensor([0.7, -1.3, 2.1], dtype=torch.float64, requires_grad=True)
    assert gradgradcheck(lambda each: torch.clamp(each * each, 0.1, 3) * torch.maximum(each, -each), [x])
