"""Elementary functions: the error function to its last places, rounding, second derivatives."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flambeau as torch
from flambeau import dtypes
from flambeau.ops.operator import REGISTRY
from flambeau.testing import gradgradcheck


@given(st.floats(-8, 8))
def test_erf_is_exact_to_the_last_places(x):
    found = torch.erf(torch.tensor([x], dtype=torch.float64))
    assert found.item() == pytest.approx(math.erf(x), rel=5e-16, abs=0)


def test_erf_at_the_ends():
    found = torch.erf(torch.tensor([math.inf, -math.inf, math.nan, 0.0, -0.0])).tolist()
    assert found[:2] == [1.0, -1.0]
    assert math.isnan(found[2])
    assert [math.copysign(1, each) for each in found[3:]] == [1.0, -1.0]


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "round"])
def test_rounding_leaves_integers_alone(name):
    x = torch.tensor([-7, 2**62 + 1])
    found = getattr(torch, name)(x)
    assert found.dtype is dtypes.int64
    assert found.tolist() == [-7, 2**62 + 1]


def test_rounding():
    x = torch.tensor([-1.5, -0.5, 0.5, 1.5, 2.5])
    assert torch.round(x).tolist() == [-2.0, 0.0, 0.0, 2.0, 2.0]
    assert torch.floor(x).tolist() == [-2.0, -1.0, 0.0, 1.0, 2.0]
    assert torch.ceil(x).tolist() == [-1.0, 0.0, 1.0, 2.0, 3.0]
    assert torch.trunc(x).tolist() == [-1.0, 0.0, 0.0, 1.0, 2.0]


def test_steps_have_a_gradient_of_zeros():
    x = torch.tensor([1.5, -0.5], requires_grad=True)
    (torch.floor(x) + torch.ceil(x) + torch.trunc(x) + torch.round(x)).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", ["log", "log1p"])
def test_second_derivatives_of_logarithms(name):
    x = torch.tensor([0.3, 1.1, 2.5], dtype=torch.float64, requires_grad=True)
    assert gradgradcheck(REGISTRY[name], [x])


def test_ldexp_does_not_overflow_on_the_way(device):  # as in PyTorch 2.13, but for 0 and 2000, where that has NaN
    x = torch.tensor([0.0, 1.0, -2.0, 1e-40], device=device)
    exponents = torch.tensor([[200], [2000], [-300]], device=device)
    infinity = float("inf")
    expected = [[0, infinity, -infinity, 1.6069293830420667e20], [0, infinity, -infinity, infinity], [0, 0, 0, 0]]
    assert torch.ldexp(x, exponents).tolist() == expected
    ends = torch.tensor([infinity, -infinity, float("nan")], device=device)
    nan = pytest.approx(float("nan"), nan_ok=True)
    assert torch.ldexp(x[1], ends).tolist() == [infinity, 0, nan]
    assert torch.ldexp(x[1], torch.tensor(2.5, device=device)).item() == pytest.approx(2**2.5)
