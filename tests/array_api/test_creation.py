"""Arrays that the array API makes."""

import pytest

import flambeau as torch
from flambeau import array_api as xp
from flambeau.errors import ValueRangeError


def test_ranges():
    assert xp.arange(3).tolist() == [0, 1, 2] and xp.arange(1, 4, 2).tolist() == [1, 3]
    assert xp.arange(3, 0).shape == (0,) and xp.arange(3, 0).dtype is torch.int64
    assert xp.arange(0, -1.5).dtype is torch.float32 and xp.arange(0, -1, dtype=torch.int8).dtype is torch.int8
    assert xp.linspace(0, 1, 5).tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert xp.linspace(0, 1, 4, endpoint=False).tolist() == [0.0, 0.25, 0.5, 0.75]
    assert xp.linspace(0, 1, 0, endpoint=False).shape == (0,)
    for endpoint in (True, False):
        with pytest.raises(ValueRangeError, match="linspace: .*-1"):
            xp.linspace(0, 1, -1, endpoint=endpoint)


def test_diagonals():
    for k, wanted in ((0, [[1, 0, 0], [0, 1, 0]]), (-1, [[0, 0, 0], [1, 0, 0]]), (2, [[0, 0, 1], [0, 0, 0]])):
        assert xp.eye(2, 3, k=k, dtype=torch.int8).tolist() == wanted, k
    assert xp.eye(2, 3, k=3).sum() == 0 == xp.eye(2, 3, k=-(10**30)).sum() and xp.eye(0).shape == (0, 0)
    x = torch.arange(4).reshape(2, 2)
    assert xp.tril(x).tolist() == [[0, 0], [2, 3]] and xp.triu(x, k=1).tolist() == [[0, 1], [0, 0]]


def test_filled_arrays_take_a_shape_by_name():
    assert xp.full(shape=2, fill_value=True).dtype is torch.bool and xp.full((), 1.5).shape == ()
    for make in (xp.zeros, xp.ones, xp.empty):
        assert make(shape=(2, 3), dtype=torch.uint32).dtype is torch.uint32
        assert make(2).shape == (2,)


def test_grids():
    x, y = torch.tensor([1, 2]), torch.tensor([3, 4, 5])
    assert [each.shape for each in xp.meshgrid(x, y)] == [(3, 2)] * 2
    assert [each.shape for each in xp.meshgrid(x, y, indexing="ij")] == [(2, 3)] * 2
