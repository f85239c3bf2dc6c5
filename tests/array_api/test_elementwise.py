"""Elementwise functions of the array API: promotion, numbers as operands, and special values."""

import math

import pytest

import flambeau as torch
from flambeau import array_api as xp
from flambeau.array_api import elementwise
from flambeau.errors import ArgumentTypeError, DtypeError

INTEGERS = (
    "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "floor_divide",
    "remainder",
)  # fmt: skip
ARITHMETIC = ("add", "subtract", "multiply", "maximum", "minimum", "pow")
COMPARISONS = ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal")
FLOATING = ("atan2", "copysign", "divide", "hypot", "logaddexp", "nextafter")


def test_wide_unsigned_integers_promote_with_all_others():
    a, b = torch.tensor([5], dtype=torch.uint32), torch.tensor([2], dtype=torch.int16)
    for name in (*ARITHMETIC, *INTEGERS, *COMPARISONS):
        wanted = getattr(xp, name)(a.to(torch.int64), b.to(torch.int64))
        found = getattr(xp, name)(a, b)
        assert found.dtype is wanted.dtype and found.tolist() == wanted.tolist(), name
    with pytest.raises(DtypeError, match="uint64 and int16"):
        xp.add(a.to(torch.uint64), b)


def test_arrays_without_dimensions_promote_as_others_do():
    a, b = torch.tensor(1.0, dtype=torch.float64), torch.tensor([2.0])
    for name in (*ARITHMETIC, *FLOATING, "floor_divide", "remainder"):
        assert getattr(xp, name)(a, b).dtype is getattr(xp, name)(b, a).dtype is torch.float64, name
    assert torch.add(a, b).dtype is torch.float32  # PyTorch's promotion


def test_numbers_are_operands_on_both_sides():
    x = torch.tensor([2.0, 3.0], dtype=torch.float64)
    for name in (*ARITHMETIC, *COMPARISONS, *FLOATING, "floor_divide", "remainder"):
        function, two = getattr(xp, name), torch.full((2,), 2.0, dtype=torch.float64)
        assert function(x, 2).equal(function(x, two)) and function(2, x).equal(function(two, x)), name
    assert xp.add(torch.tensor([1]), 1.5).dtype is torch.float32
    assert xp.logical_xor(True, torch.tensor([True, False])).tolist() == [False, True]
    with pytest.raises(ArgumentTypeError, match="add"):
        xp.add("1", torch.ones(1))


def test_functions_have_their_names():
    for name in (*ARITHMETIC, *COMPARISONS, *FLOATING, *INTEGERS):
        assert getattr(elementwise, name).__name__ == name


def test_clip():
    x = torch.tensor([1, 5, 9], dtype=torch.uint8)
    assert xp.clip(x) is not x and xp.clip(x).tolist() == [1, 5, 9]
    assert xp.clip(x, 2).tolist() == [2, 5, 9] and xp.clip(x, max=8).tolist() == [1, 5, 8]
    low = torch.tensor([[0], [6]])
    assert xp.clip(x, low, 8).tolist() == [[1, 5, 8], [6, 6, 8]] and xp.clip(x, low).dtype is torch.uint8
    assert all(math.isnan(each) for each in xp.clip(torch.ones(2), math.nan).tolist())


def test_quotients_of_infinities():
    inf = math.inf
    cases = ((inf, 2.0, inf), (-inf, 2.0, -inf), (inf, -2.0, -inf), (7.0, 2.0, 3.0), (-7.0, 2.0, -4.0), (3.0, inf, 0.0))
    for a, b, wanted in cases:
        assert xp.floor_divide(torch.tensor(a), torch.tensor(b)).item() == wanted, (a, b)
    assert math.isnan(xp.floor_divide(torch.tensor(inf), inf).item())
    minus_zero = xp.floor_divide(torch.tensor(-1.0), inf).item()
    assert minus_zero == 0 and math.copysign(1, minus_zero) == -1
    assert xp.floor_divide(torch.tensor([-7]), 2).tolist() == [-4]


def test_the_sign_of_nan_is_nan():
    found = xp.sign(torch.tensor([-2.0, 0.0, math.nan])).tolist()
    assert found[:2] == [-1.0, 0.0] and math.isnan(found[2])
    assert xp.sign(torch.tensor([-3, 4])).tolist() == [-1, 1]
