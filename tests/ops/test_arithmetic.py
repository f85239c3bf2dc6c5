"""Arithmetic: types, Python's rules for division, powers, alpha, and gradients that the sweep does not reach."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flambeau as torch
from flambeau import dtypes
from flambeau.errors import DtypeError
from flambeau.ops.operator import REGISTRY
from flambeau.testing import gradgradcheck, machine

INTEGERS = st.integers(-128, 127)


def test_an_integer_with_a_number_keeps_its_type_and_wraps():
    few = torch.tensor([250, 3], dtype=torch.uint8)
    assert (few + 10).dtype is dtypes.uint8
    assert (few + 10).tolist() == [4, 13]
    assert (few + -1).tolist() == [249, 2]
    assert (few * 1.5).dtype is dtypes.float32


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
def test_a_number_does_not_widen_floating_point(kind):
    x = torch.ones(2, dtype=getattr(dtypes, kind))
    for result in (x + 0.1, x - 1, x * 2.5, x / 3, x // 2, x % 2, x**1.5, 2**x):
        assert result.dtype is getattr(dtypes, kind)


def test_bool_follows_pytorch():
    yes = torch.tensor([True, False])
    assert (yes + yes).tolist() == [True, False]
    assert (yes * 2).tolist() == [2, 0]
    assert (yes / yes)[0].item() == 1.0
    assert (yes**2).dtype is dtypes.int64
    assert torch.sign(yes).dtype is dtypes.bool_
    one = torch.tensor([1])
    for refused in (lambda: yes - yes, lambda: 1 - yes, lambda: -yes, lambda: one - yes, lambda: yes**yes):
        with pytest.raises(DtypeError, match="bool operands are not supported"):
            refused()


@pytest.mark.parametrize(
    ("kind", "remainders", "of_number", "in_c", "powers", "of_large"),  # of PyTorch 2.13 on the CPU
    [
        ("float16", [0.000244140625, 0.0006103515625, 0.0992431640625],
         [0.0999755859375, 0.0999755859375, -2.900390625], [0.000244140625, 0.167236328125, -0.000732421875],
         [0.0999755859375, 0.0031604766845703125, 1000.5], [math.nan] * 3),
        ("bfloat16", [0.09912109375, 0.09765625, 0.0029296875], [0.10009765625, 0.10009765625, -2.90625],
         [0.33203125, 0.162109375, -0.328125], [0.10009765625, 0.003173828125, 996.0], [0.0, 1.5, -2.0]),
    ],
)  # fmt: skip
def test_numbers_of_remainders_and_powers_are_rounded_to_half_types(
    device, kind, remainders, of_number, in_c, powers, of_large
):
    x = torch.tensor([1.0, 2.5, -3.0], dtype=getattr(torch, kind), device=device)
    assert (x % 0.1).tolist() == torch.remainder(x, 0.1).tolist() == remainders
    assert (0.1 % x).tolist() == of_number
    assert torch.fmod(x, 1 / 3).tolist() == in_c
    assert (0.1**x).tolist() == powers
    assert (70000 % x).tolist() == pytest.approx(of_large, nan_ok=True)
    y = x.clone()
    y %= 0.1
    assert y.tolist() == remainders
    assert (x.float() % 0.1).tolist() == pytest.approx([0.1, 0.1, 0.0], abs=1e-6)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_tensors_of_other_types_are_rounded_to_half_types(device, kind):
    half = getattr(torch, kind)
    tenth = torch.tensor(0.1, dtype=torch.float64, device=device)
    x = torch.stack([tenth, tenth * 10, tenth * 30]).to(half)
    for other in (tenth, tenth.float()):
        rounded = other.to(half)
        assert (x == other).tolist() == (x == rounded).tolist() == [True, False, False]
        assert (x < other).tolist() == [False] * 3
        for call in (torch.sub, torch.remainder, torch.fmod, torch.floor_divide, torch.pow, torch.maximum):
            assert call(x, other).tolist() == call(x, rounded).tolist()
            assert call(other, x).tolist() == call(rounded, x).tolist()
    large = torch.tensor(2049, device=device)  # no half type holds it
    assert (torch.tensor([2048.0], dtype=half, device=device) == large).tolist() == [True]


def test_a_number_is_the_dividend_or_the_bound_of_half_types(device):  # values of PyTorch 2.13
    x = torch.tensor([0.1, -0.1], dtype=torch.float16, device=device)
    assert (2.7 // x).tolist() == [26.0, -27.0]
    x = torch.tensor([0.1, 0.2], dtype=torch.bfloat16, device=device, requires_grad=True)
    shrunk = torch.nn.functional.hardshrink(x, 0.1)
    shrunk.sum().backward()
    assert (shrunk.tolist(), x.grad.tolist()) == ([0.0, 0.2001953125], [0.0, 1.0])


def test_half_types_round_once():
    x = torch.tensor([2048.0], dtype=torch.float16)
    assert torch.add(x, x, alpha=1.0005).item() == 4096.0
    assert (x * 1.0005).item() == float(np.float16(2048 * 1.0005))


@given(a=INTEGERS, b=INTEGERS)
def test_integer_division_follows_python(a, b):
    x, y = torch.tensor([a], dtype=torch.int8), torch.tensor([b], dtype=torch.int8)
    quotient, rest = (x // y).item(), (x % y).item()
    if b == 0:
        assert (quotient, rest) == (0, 0)
    else:
        assert quotient == (a // b + 128) % 256 - 128  # -128 // -1 wraps
        assert rest == a % b


def test_floating_point_division_follows_python():
    pairs = [(7.0, 2.0), (-7.0, 2.0), (7.0, -2.0), (-7.0, -2.0), (0.3, 0.1), (1.0, math.inf), (-1.0, math.inf)]
    x, y = (torch.tensor(list(each), dtype=torch.float64) for each in zip(*pairs))
    assert (x // y).tolist() == [a // b for a, b in pairs]
    assert (x % y).tolist() == [a % b for a, b in pairs]
    assert (torch.tensor([1.0, -1.0]) // 0).tolist() == [math.inf, -math.inf]


@given(base=INTEGERS, exponent=st.integers(-4, 9))
def test_integer_powers_wrap(base, exponent):
    found = torch.tensor([base]) ** torch.tensor([exponent])
    if exponent >= 0:
        expected = (base**exponent + (1 << 63)) % (1 << 64) - (1 << 63)
    else:
        expected = {1: 1, -1: -1 if exponent % 2 else 1}.get(base, 0)
    assert found.item() == expected


def test_bools_have_powers_of_bool_numbers_alone(device):
    x = torch.tensor([True, False], device=device)
    for exponent, expected in ((True, [True, False]), (False, [True, True])):
        assert ((x**exponent).dtype, x.pow(exponent).tolist()) == (dtypes.bool_, expected)
    with pytest.raises(DtypeError, match="bool operands"):
        x.pow(torch.tensor(True, device=device))


def test_powers_with_an_operator_of_their_own():
    x = torch.tensor([4.0, 0.25], dtype=torch.float64)
    assert (x**2).tolist() == [16.0, 0.0625]
    assert (x**0.5).tolist() == [2.0, 0.5]
    assert (x**-0.5).tolist() == [0.5, 2.0]
    assert (x**-1).tolist() == [0.25, 4.0]
    assert (torch.tensor([3]) ** 0.5).dtype is dtypes.float32
    assert (torch.tensor([3]) ** 2.0).dtype is dtypes.float32


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 0.5, -1, -0.5, 2.5])
def test_the_derivative_of_a_power_at_zero_and_beyond(exponent):
    x = torch.tensor([2.0, 0.5], dtype=torch.float64, requires_grad=True)
    (x**exponent).sum().backward()
    assert x.grad.tolist() == pytest.approx([exponent * 2.0 ** (exponent - 1), exponent * 0.5 ** (exponent - 1)])


def test_the_power_of_zero_has_a_slope_in_its_exponent_only_below_zero():
    exponent = torch.tensor([0.0, 1.0, -1.0], dtype=torch.float64, requires_grad=True)
    (0**exponent).sum().backward()
    assert exponent.grad.tolist() == [0.0, 0.0, -math.inf]
    exponent.grad = None
    (torch.zeros(2, dtype=torch.float64) ** exponent[:2]).sum().backward()
    assert exponent.grad.tolist() == [0.0, 0.0, 0.0]


def test_a_zeroth_power_has_no_slope_even_at_zero():
    x = torch.tensor([0.0, 3.0], requires_grad=True)
    (x ** torch.tensor([0.0, 0.0]) + x**0).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_alpha_scales_the_second_operand():
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([10.0, 20.0])
    assert torch.add(x, y, alpha=3).tolist() == [31.0, 62.0]
    assert x.sub(y, alpha=0.5).tolist() == [-4.0, -8.0]
    assert x.clone().add_(y, alpha=-1).tolist() == [-9.0, -18.0]
    assert torch.add(torch.tensor([1]), 3, alpha=2).tolist() == [7]
    assert torch.add(torch.tensor([True]), torch.tensor([True]), alpha=2).dtype is dtypes.bool_


def test_alpha_scales_the_gradient():
    x = torch.ones(2, requires_grad=True)
    y = torch.ones(2, requires_grad=True)
    x.add(y, alpha=3).sub(y, alpha=0.5).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    assert y.grad.tolist() == [2.5, 2.5]


def test_a_plain_sum_launches_a_kernel_without_alpha():
    with machine(devices=1) as made:
        x = torch.ones(4, device="cuda")
        x + x
        x.add(x, alpha=2)
        entries = [kernel.entry for kernel in made.devices[0].kernels if kernel.entry.startswith("add")]
    assert entries == ["add_float32_float32_float32", "add_scaled_float32_float32_float32_nfloat32"]


def test_sign_is_zero_for_zero_and_nan():
    assert torch.sign(torch.tensor([-3.0, -0.0, 0.0, 2.0, math.nan])).tolist() == [-1.0, 0.0, 0.0, 1.0, 0.0]
    assert torch.sign(torch.tensor([0, 200], dtype=torch.uint8)).tolist() == [0, 1]


def test_steps_have_a_gradient_of_zeros():
    x = torch.tensor([1.5, math.nan], requires_grad=True)
    torch.sign(x).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_in_place_refuses_a_lower_category():
    with pytest.raises(DtypeError, match="float32 can't be cast to the desired output type int64"):
        torch.tensor([1]).add_(0.5)


def test_an_in_place_change_after_a_power_keeps_the_graph_alive():
    x = torch.tensor([3.0], requires_grad=True)
    y = x**2
    y.add_(1)
    y.sum().backward()
    assert x.grad.tolist() == [6.0]


@pytest.mark.parametrize("name", ["mul", "div", "pow", "sqrt", "rsqrt", "reciprocal", "square", "abs"])
def test_second_derivatives(name):
    operator = REGISTRY[name]
    x = torch.tensor([0.7, 1.3, 2.1], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([1.9, 0.8, 1.1], dtype=torch.float64, requires_grad=True)
    inputs = [x, y] if sum(each.is_tensor for each in operator.parameters) == 2 else [x]
    assert gradgradcheck(operator, inputs)


@pytest.mark.parametrize("name", ["add_", "sub_", "mul_", "div_"])
def test_in_place_arithmetic_of_large_and_expanded_tensors(name):
    large = torch.arange(300_000, dtype=torch.float64) + 1
    expected = getattr(large, name[:-1])(3.0)
    assert getattr(large, name)(3.0).equal(expected)
    square, row = torch.arange(9.0).reshape(3, 3).T, torch.tensor([1, 2, 4], dtype=torch.int16)
    expected = getattr(square, name[:-1])(row)
    assert getattr(square, name)(row).equal(expected)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 1)])
def test_powers_of_one_half_do_not_depend_on_the_exponent_s_shape(device, shape):
    x = torch.tensor([-math.inf, -0.0, 4.0], device=device)
    root = x.pow(torch.full(shape, 0.5, device=device)).flatten()
    assert root.tolist() == [math.inf, 0.0, 2.0]
    assert not root.signbit().any()
    slope = torch.autograd.grad(x.requires_grad_().pow(torch.full(shape, 1.5, device=device)).sum(), x)[0]
    assert slope.tolist() == [math.inf, 0.0, 3.0]
