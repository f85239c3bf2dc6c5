"""Searching, sorting and set functions of the array API."""

import math

import pytest

import flambeau as torch
from flambeau import array_api as xp
from flambeau.errors import ShapeError


def test_positions():
    x = torch.tensor([[1, 5, 5], [7, 0, 2]])
    assert xp.argmax(x) == 3 and xp.argmax(x, axis=1, keepdims=True).tolist() == [[1], [0]]
    assert xp.argmin(x).item() == 4 and xp.argmin(x, keepdims=True).shape == (1, 1)
    assert [each.tolist() for each in xp.nonzero(x[1:])] == [[0, 0], [0, 2]]
    with pytest.raises(ShapeError, match="nonzero: x has no dimensions"):
        xp.nonzero(torch.tensor(1))
    assert xp.count_nonzero(x).item() == 5 and xp.count_nonzero(x, axis=0, keepdims=True).tolist() == [[2, 1, 2]]
    assert xp.count_nonzero(x[1], axis=()).tolist() == [1, 0, 1]


def test_places_among_sorted_values():
    x = torch.tensor([5, 1, 3], dtype=torch.uint16)
    values = torch.tensor([1, 4], dtype=torch.int8)
    assert xp.searchsorted(xp.sort(x), values, side="right").tolist() == [1, 2]
    assert xp.searchsorted(x, values, sorter=xp.argsort(x)).tolist() == [0, 2]


def test_choices_promote():
    found = xp.where(torch.tensor([True, False]), torch.tensor([1, 2], dtype=torch.uint16), torch.tensor(-1))
    assert found.tolist() == [1, -1] and found.dtype is torch.int64
    assert xp.where(torch.tensor([True, False]), 2, torch.tensor([1.5, 2.5])).tolist() == [2.0, 2.5]


def test_order():
    x = torch.tensor([[2, 1, 2], [0, 3, 0]])
    assert xp.sort(x).tolist() == [[1, 2, 2], [0, 0, 3]]
    assert xp.sort(x, axis=0, descending=True).tolist() == [[2, 3, 2], [0, 1, 0]]
    assert xp.argsort(x, descending=True).tolist() == [[0, 2, 1], [1, 0, 2]]


def test_distinct_values():
    x = torch.tensor([[3.0, math.nan, 1.0], [1.0, math.nan, 3.0]])
    values, indices, inverse, counts = xp.unique_all(x)
    assert values[:2].tolist() == [1.0, 3.0] and values[2:].isnan().all() and values.shape == (4,)
    assert indices[:2].tolist() == [2, 0] and inverse.shape == (2, 3) and inverse[:, ::2].tolist() == [[1, 0], [0, 1]]
    assert counts.tolist() == [2, 2, 1, 1] == xp.unique_counts(x).counts.tolist()
    assert xp.unique_inverse(x).inverse_indices.equal(inverse) and xp.unique_values(x).shape == (4,)
