"""Comparisons, logic, selection, maximum, minimum and clamp against NumPy and recorded values."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flambeau as torch
from flambeau import dtypes
from flambeau.dtypes import integer_range
from flambeau.errors import DtypeError, ShapeError
from flambeau.testing import gradgradcheck, machine

NAN = math.nan
VALUES = st.one_of(st.floats(width=32), st.just(NAN))


@given(a=VALUES, b=VALUES)
def test_comparisons_follow_python(a, b):
    x, y = torch.tensor([a], dtype=torch.float64), torch.tensor([b], dtype=torch.float64)
    found = [(x == y), (x != y), (x < y), (x <= y), (x > y), (x >= y)]
    assert [each.item() for each in found] == [a == b, a != b, a < b, a <= b, a > b, a >= b]
    assert all(each.dtype is dtypes.bool_ for each in found)


@pytest.mark.parametrize("kind", [dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64])
def test_what_was_filled_with_a_number_equals_it(kind):
    x = torch.full((3,), 0.1, dtype=kind)
    assert (x == 0.1).tolist() == [True] * 3
    assert (x >= 0.1).tolist() == [True] * 3
    assert (x > 0.1).tolist() == [False] * 3
    assert (x < 1e300).tolist() == [True] * 3


def test_in_place_comparison_keeps_the_type():
    x = torch.tensor([1.0, -1.0])
    assert x.lt_(0) is x
    assert x.tolist() == [0.0, 1.0]
    assert x.dtype is dtypes.float32


def test_comparisons_carry_no_gradient():
    x = torch.ones(2, requires_grad=True)
    assert not (x > 0).requires_grad


def test_logic_counts_nan_and_fractions_as_true():
    x = torch.tensor([0.0, -0.0, 0.5, NAN])
    assert torch.logical_not(x).tolist() == [True, True, False, False]
    assert torch.logical_and(x, 0.5).tolist() == [False, False, True, True]
    assert torch.logical_or(x, torch.tensor([0, 1, 0, 0])).tolist() == [False, True, True, True]
    assert torch.logical_xor(x, True).tolist() == [True, True, False, False]


def test_bits():
    x = torch.tensor([5, 3], dtype=torch.uint8)
    assert (~x).tolist() == [250, 252]
    assert (x & 6).tolist() == [4, 2]
    assert (x | 8).tolist() == [13, 11]
    assert (x ^ 1).tolist() == [4, 2]
    assert (~torch.tensor([True, False])).tolist() == [False, True]
    assert (torch.tensor([True]) & torch.tensor([6])).tolist() == [0]
    with pytest.raises(DtypeError, match="bitwise_and: operands must be integers or bool, got float32"):
        torch.ones(2) & 1


def test_tests_of_a_value():
    x = torch.tensor([1.0, NAN, math.inf, -math.inf])
    assert torch.isnan(x).tolist() == [False, True, False, False]
    assert torch.isinf(x).tolist() == [False, False, True, True]
    assert torch.isfinite(x).tolist() == [True, False, False, False]
    assert torch.isfinite(torch.tensor([1, 2])).tolist() == [True, True]


def test_where_takes_the_type_that_arithmetic_would():
    yes = torch.tensor([True, False])
    half = torch.ones(2, dtype=torch.float16)
    assert torch.where(yes, half, 0.5).dtype is dtypes.float16
    assert torch.where(yes, torch.tensor([1, 2], dtype=torch.int32), 7).dtype is dtypes.int32
    assert torch.where(yes, 1.0, 2).dtype is dtypes.float32
    assert torch.where(yes, torch.tensor([1, 2]), 0.5).tolist() == [1.0, 0.5]
    assert torch.where(yes, yes, False).dtype is dtypes.bool_


def test_where_lets_no_nan_into_the_other_gradient():
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    torch.where(x > 0, torch.sqrt(x), 0).sum().backward()
    assert x.grad[1].item() == 0.25


def test_masked_fill_keeps_the_type():
    mask = torch.tensor([True, False])
    assert torch.tensor([1, 2]).masked_fill(mask, 7.9).tolist() == [7, 2]
    assert torch.tensor([1, 2]).masked_fill(mask, torch.tensor(7.9)).tolist() == [7, 2]
    assert torch.tensor([False, False]).masked_fill(mask, 3).tolist() == [True, False]
    assert torch.ones(2, dtype=torch.float16).masked_fill(mask, -math.inf).tolist() == [-math.inf, 1.0]
    assert torch.zeros(1).masked_fill(mask, 2).tolist() == [2.0, 0.0]
    for dtype in (torch.uint16, torch.uint32, torch.uint64):
        x = torch.zeros(2, dtype=dtype)
        x[mask] = 7
        assert x.tolist() == [7, 0] == x.masked_fill(mask, torch.tensor(7)).tolist(), dtype
    with pytest.raises(ShapeError, match="masked_fill"):
        torch.zeros(1).masked_fill_(mask, 2)


def test_masked_fill_gives_the_gradient_to_what_stayed_and_to_the_value():
    x = torch.ones(3, requires_grad=True)
    value = torch.tensor(5.0, requires_grad=True)
    x.masked_fill(torch.tensor([True, False, True]), value).sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.0]
    assert value.grad.item() == 2.0


def test_integer_ranges():
    assert integer_range(dtypes.bool_) == (0, 1)
    assert integer_range(dtypes.uint8) == (0, 255)
    assert integer_range(dtypes.int8) == (-128, 127)
    assert integer_range(dtypes.int64) == (-(1 << 63), (1 << 63) - 1)


def test_where_with_a_condition_alone_gives_the_places(device):
    x = torch.arange(6.0, device=device).view(2, 3)
    assert [each.tolist() for each in torch.where(x > 2)] == [[1, 1, 1], [0, 1, 2]]
    assert [each.tolist() for each in torch.where(condition=x[0])] == [[1, 2]]
    assert [each.tolist() for each in torch.where(x[1, 1] > 2)] == [[0]]
    assert x.where(x > 2, 0).tolist() == [[0, 0, 0], [3, 4, 5]]
    assert x.where(x > 2, x[0]).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_where_takes_bytes_with_a_warning():
    x = torch.arange(3.0)
    with pytest.warns(UserWarning, match="uint8"):
        assert torch.where((x > 1).to(torch.uint8), x, -1).tolist() == [-1, -1, 2]


@pytest.mark.parametrize("kind", ["int8", "bool", "float32"])
def test_a_condition_of_bytes_has_no_part_in_the_result_s_type(device, kind):
    yes, x = torch.tensor([1, 0], dtype=torch.uint8, device=device), torch.tensor([1, 0], device=device)
    kept = x.to(getattr(dtypes, kind if kind != "bool" else "bool_"))
    with pytest.warns(UserWarning, match="uint8"):
        found = torch.where(yes, kept, kept)
        numbers = torch.where(yes, 1, 2)
        mixed = torch.where(yes, x.bool(), 100)
    assert (found.dtype, found.tolist()) == (kept.dtype, [1, 0])
    assert (numbers.dtype, numbers.tolist()) == (dtypes.int64, [1, 2])
    assert (mixed.dtype, mixed.tolist()) == (dtypes.int64, [1, 100])


SHIFTS = (  # type, bits, places, shifted left, shifted right: as PyTorch 2.13 on the CPU
    ("int64", [1, -2, 3], 1, [2, -4, 6], [0, -1, 1]),
    ("int64", [1, -2, 3], 64, [0, 0, 0], [0, -1, 0]),
    ("int64", [1, -2, 3], -1, [0, 0, 0], [0, -1, 0]),
    ("int8", [1, -2, 3], 7, [-128, 0, -128], [0, -1, 0]),
    ("int8", [1, -2, 3], 8, [0, 0, 0], [0, -1, 0]),
    ("uint8", [1, 254, 3], 1, [2, 252, 6], [0, 127, 1]),
    ("uint8", [1, 254, 3], 8, [0, 0, 0], [0, 0, 0]),
    ("int32", [1, -2, 3], 31, [-2147483648, 0, -2147483648], [0, -1, 0]),
)


@pytest.mark.parametrize(("kind", "bits", "places", "left", "right"), SHIFTS)
def test_shifts(device, kind, bits, places, left, right):
    x = torch.tensor(bits, dtype=getattr(torch, kind), device=device)
    assert (x << places).tolist() == left and (x >> places).tolist() == right
    by = torch.full_like(x, places)
    assert torch.bitwise_left_shift(x, by).tolist() == left
    assert x.bitwise_right_shift(by).tolist() == right
    x <<= places
    assert x.tolist() == left and x.dtype is getattr(torch, kind)


def test_numbers_are_shifted_too(device):
    x = torch.tensor([1, 2, 3], device=device)
    assert (2 << x).tolist() == [4, 8, 16] and (16 >> x).tolist() == [8, 4, 2]
    assert (torch.tensor(True, device=device) << 1).item() == 2
    for wrong in (x.float(), x > 1):
        with pytest.raises(RuntimeError, match="bitwise_left_shift: operands must be integers"):
            wrong << wrong


def test_inverting_floating_point_is_a_type_error(device):
    with pytest.raises(TypeError, match=r"invert: .*float32\[2\]"):
        ~torch.ones(2, device=device)


def test_the_result_of_masked_fill_is_contiguous(device):
    x = torch.arange(24.0, device=device).reshape(2, 3, 4)
    for view in (x, x.permute(2, 0, 1), x.transpose(1, 2), x[:, ::2], x[:, :1].expand(2, 3, 4)):
        found = view.masked_fill(view > 5, -1)
        assert found.is_contiguous() and found.tolist() == torch.where(view > 5, -1.0, view).tolist()


# maximum, minimum and clamp


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
