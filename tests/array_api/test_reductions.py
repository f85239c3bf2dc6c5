"""Statistical and utility functions of the array API."""

import math

import pytest

import flambeau as torch
from flambeau import array_api as xp
from flambeau.errors import ArgumentError, IndexRangeError, ShapeError

X = [[1, 5, 0], [7, 2, 3]]


def test_truth_is_bool_for_every_type():
    for dtype in (torch.uint8, torch.uint16, torch.float32, torch.bool):
        x = torch.tensor(X).to(dtype)
        assert xp.all(x).item() is False and xp.any(x).item() is True, dtype
        assert xp.all(x, axis=1).tolist() == [False, True] and xp.all(x, axis=1).dtype is torch.bool, dtype
        assert xp.any(x, axis=(0, 1), keepdims=True).tolist() == [[True]], dtype
        assert xp.all(x, axis=()).tolist() == [[True, True, False], [True] * 3], dtype


def test_extremes():
    x = torch.tensor(X, dtype=torch.uint32)
    assert xp.max(x).item() == 7 and xp.max(x, axis=0).tolist() == [7, 5, 3] and xp.max(x, axis=()).tolist() == X
    assert xp.min(x, axis=(0, 1), keepdims=True).tolist() == [[0]] and xp.min(x, axis=1).dtype is torch.uint32
    assert math.isnan(xp.max(torch.tensor([1.0, math.nan])).item())


def test_sums_and_products():
    wide = {torch.uint8: torch.uint64, torch.uint32: torch.uint64, torch.int8: torch.int64, torch.bool: torch.int64,
            torch.float32: torch.float32}  # fmt: skip
    for dtype, wanted in wide.items():
        x = torch.tensor(X).to(dtype)
        for reduce in (xp.sum, xp.prod):
            for axis in (None, 1, (0, 1), ()):
                assert reduce(x, axis=axis).dtype is wanted, (reduce, dtype, axis)
                assert reduce(x, axis=axis, dtype=torch.float64).dtype is torch.float64
        for scan in (xp.cumulative_sum, xp.cumulative_prod):
            assert scan(x, axis=1).dtype is wanted, (scan, dtype)
    x = torch.tensor(X)
    assert xp.sum(x).item() == 18 and xp.sum(x, axis=0, keepdims=True).tolist() == [[8, 7, 3]]
    assert xp.prod(x, axis=1).tolist() == [0, 42] and xp.prod(x, axis=(0, -1)).item() == 0
    assert xp.prod(x, keepdims=True).tolist() == [[0]] and xp.prod(x, axis=()).tolist() == X
    assert xp.prod(x, axis=(1,), keepdims=True).tolist() == [[0], [42]]


def test_wrong_axes_are_named():
    x = torch.tensor(X)
    for reduce in (xp.sum, xp.prod, xp.max, xp.all, xp.mean):
        for axis in (2, -3, (0, 5)):
            with pytest.raises(IndexRangeError, match=r"-2, 1"):
                reduce(x.float(), axis=axis)
        with pytest.raises(ShapeError, match=r"0"):
            reduce(x.float(), axis=(0, -2))
    assert xp.prod(x, axis=(1, 0)).item() == 0 and xp.prod(x, axis=(-1,)).tolist() == [0, 42]
    assert xp.prod(x, keepdims=True).tolist() == [[0]]


def test_running_sums():
    x = torch.tensor([2, 3, 4])
    assert xp.cumulative_sum(x).tolist() == [2, 5, 9] and xp.cumulative_prod(x).tolist() == [2, 6, 24]
    assert xp.cumulative_sum(x, include_initial=True).tolist() == [0, 2, 5, 9]
    assert xp.cumulative_prod(torch.tensor(X), axis=-2, include_initial=True).tolist() == [[1, 1, 1], X[0], [7, 10, 0]]
    with pytest.raises(ArgumentError, match="cumulative_sum: axis=None .* x has 2"):
        xp.cumulative_sum(torch.tensor(X))
    assert xp.diff(torch.tensor([1, 4, 9])).tolist() == [3, 5]
    assert xp.diff(torch.tensor([1, 4, 9]), n=2, prepend=torch.tensor([0])).tolist() == [2, 2]


def test_means_and_deviations():
    x = torch.tensor([[1.0, 3.0], [2.0, 6.0]])
    assert xp.mean(x).item() == 3.0 and xp.mean(x, axis=(0, 1), keepdims=True).shape == (1, 1)
    assert xp.mean(x, axis=()).equal(x) and xp.mean(x, axis=()) is not x
    assert xp.var(x).item() == 3.5 and xp.var(x, axis=1, correction=1).tolist() == [2.0, 8.0]
    assert xp.std(x, axis=1).tolist() == [1.0, 2.0] and xp.std(x, axis=(), keepdims=True).tolist() == [[0.0] * 2] * 2
    assert all(math.isnan(reduce(torch.tensor([])).item()) for reduce in (xp.mean, xp.var, xp.std))
