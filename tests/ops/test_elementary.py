"""Elementary functions: the error function to its last places, rounding, special values, second derivatives."""

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


# parts of numbers

NAN, INF = math.nan, math.inf


def test_signs_of_zero_and_of_infinities():
    x = torch.tensor([0.0, -0.0, -INF])
    assert torch.signbit(x).tolist() == [False, True, True]
    assert [math.copysign(1, each) for each in torch.copysign(torch.zeros(2), torch.tensor([-0.0, 1.0])).tolist()] == [
        -1,
        1,
    ]
    assert torch.isposinf(-x).tolist() == [False, False, True] and torch.isneginf(x).tolist() == [False, False, True]


def test_predicates_of_integers():
    x = torch.tensor([-3, 0, 4])
    assert torch.signbit(x).tolist() == [True, False, False]
    assert not torch.isposinf(x).any() and torch.isreal(x).all()


def test_frexp_of_what_is_not_finite():
    mantissa, exponent = torch.tensor([INF, 0.0, 8.0, -3.0]).frexp()
    assert mantissa.tolist() == [INF, 0.0, 0.5, -0.75] and exponent.tolist() == [0, 0, 4, 2]
    assert exponent.dtype is torch.int32


def test_nan_to_num_takes_the_ends_of_the_type():
    for kind, largest in ((torch.float16, 65504.0), (torch.float64, 1.7976931348623157e308)):
        x = torch.tensor([NAN, INF, -INF], dtype=kind)
        assert torch.nan_to_num(x).tolist() == [0.0, largest, -largest]
    assert torch.tensor([1, 2]).nan_to_num(nan=5.0, posinf=INF).tolist() == [1, 2]


def test_heaviside_of_nan_is_0():
    assert torch.heaviside(torch.tensor([NAN, 0.0]), torch.tensor(0.25)).tolist() == [0.0, 0.25]


def test_divisors_and_multiples():
    x, y = torch.tensor([0, -4, 2**62]), torch.tensor([0, 6, 6])
    assert torch.gcd(x, y).tolist() == [0, 2, 2] and torch.lcm(x, y)[:2].tolist() == [0, 12]
    narrow = torch.tensor([100], dtype=torch.int8).lcm(torch.tensor([2], dtype=torch.int8))
    assert narrow.tolist() == [100]


def test_remainders_of_the_least_integer():
    least = torch.tensor([-(2**63), 7])
    assert torch.fmod(least, torch.tensor([-1, 0])).tolist() == [0, 0]


def test_sums_of_logarithms_of_infinities():
    x = torch.tensor([INF, -INF, -INF])
    assert torch.logaddexp(x, torch.tensor([INF, -INF, 2.0])).tolist() == [INF, -INF, 2.0]


def test_real_tensors_are_their_own_parts(gpus):
    x = torch.tensor([1.0, -2.0])
    assert torch.real(x) is torch.conj(x) is torch.positive(x) is x.resolve_conj() is x.conj_physical_() is x.real is x
    assert not (x.is_sparse or x.is_quantized) and x.is_cpu and not x.cuda().is_cpu
    with pytest.raises(RuntimeError, match="imag: .*float32"):
        torch.imag(x)
    with pytest.raises(RuntimeError, match="positive: bool"):
        torch.positive(x > 0)


def test_aliases_have_their_own_names_in_errors():
    with pytest.raises(TypeError, match="arccos: argument 'input'"):
        torch.arccos("1")
    assert torch.arctan2(torch.tensor(1.0), torch.tensor(0.0)).item() == pytest.approx(math.pi / 2)


def test_functions_that_write_their_argument():
    x = torch.tensor([4.0, 9.0])
    assert torch.sqrt_(x) is x and x.tolist() == [2.0, 3.0]
    assert torch.nan_to_num_(x, nan=1.0) is x and torch.clamp_(x, max=2.5).tolist() == [2.0, 2.5]
    with pytest.raises(TypeError, match="sqrt_: argument 'input' must be a Tensor"):
        torch.sqrt_(4.0)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_composites_in_place_do_not_cut_their_results(device, gpus):
    x = torch.tensor([1, 2], device=device)
    for call in (lambda: x.ldexp_(x), lambda: x.mvlgamma_(1)):
        with pytest.raises(RuntimeError, match="_: result type float32 can't be cast to .* int64"):
            call()
    assert x.tolist() == [1, 2]
    assert torch.tensor([1.0, 3.0], device=device).ldexp_(x).tolist() == [2.0, 12.0]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_neighbours_of_half_types_are_those_of_the_type(device, gpus):
    for kind, step in ((torch.float16, 2.0**-10), (torch.bfloat16, 2.0**-7)):
        x, y = torch.ones(3, dtype=kind, device=device), torch.tensor([2.0, 0.0, 1.0], dtype=kind, device=device)
        assert torch.nextafter(x, y).tolist() == [1 + step, 1 - step / 2, 1] and torch.nextafter(x, y).dtype is kind


def test_float_power_writes_float64_alone():
    with pytest.raises(RuntimeError, match="float_power_: the result is float64, the tensor to write is float32"):
        torch.ones(2).float_power_(2)
    x = torch.tensor([3.0], dtype=torch.float64, requires_grad=True)
    y = x * 1
    y.float_power_(2).backward()
    assert y.item() == 9 and x.grad.item() == 6


def test_the_gradient_of_an_angle_of_small_numbers_is_finite():
    x, y = (torch.tensor([value, 0.0, 3.0], requires_grad=True) for value in (1e-25, 2e-25))
    torch.atan2(x, y)[:2].sum().backward()
    assert x.grad.tolist() == y.grad.tolist() == [0.0, 0.0, 0.0]
