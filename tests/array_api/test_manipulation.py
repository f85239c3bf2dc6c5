"""Functions of the array API that arrange, join and select elements."""

import re

import pytest

import flambeau as torch
from flambeau import array_api as xp
from flambeau.errors import ArgumentError, ArgumentTypeError, IndexRangeError, ValueRangeError

X = [[1, 2, 3], [4, 5, 6]]


def test_joined_arrays_promote():
    a, b = torch.tensor([[1]], dtype=torch.uint16), torch.tensor([[2]], dtype=torch.int8)
    for found, wanted in (
        (xp.concat([a, b]), [[1], [2]]), (xp.concat([a, b], axis=-1), [[1, 2]]), (xp.concat((a, b), axis=None), [1, 2]),
        (xp.stack([a, b]), [[[1]], [[2]]]), (xp.stack([a, b], axis=-1), [[[1, 2]]]),
    ):  # fmt: skip
        assert found.tolist() == wanted and found.dtype is torch.int32
    for join in (xp.concat, xp.stack):
        for wrong in ([], [a, 2]):
            with pytest.raises(ArgumentTypeError, match=rf"{join.__name__}: expected one array or more, got .*\[.*\]"):
                join(wrong)
        with pytest.raises(ArgumentTypeError, match=rf"{join.__name__}: arrays must be a list of arrays, got 5"):
            join(5)


def test_axes():
    x = torch.tensor(X)
    assert xp.expand_dims(x, axis=-1).shape == (2, 3, 1) and xp.permute_dims(x, (1, 0)).shape == (3, 2)
    assert xp.moveaxis(torch.ones(2, 3, 4), (0, 1), (1, 2)).shape == (4, 2, 3)
    assert xp.squeeze(x[None], 0).shape == (2, 3) and xp.squeeze(x[None, :, None], (0, 2)).shape == (2, 3)
    with pytest.raises(ValueRangeError, match="squeeze: axis 1 must have size 1, .* shape .2, 3."):
        xp.squeeze(x, 1)
    for call in (xp.expand_dims, xp.squeeze):
        with pytest.raises(IndexRangeError, match="got 4"):
            call(x, axis=4)
    assert [each.shape for each in xp.broadcast_arrays(x, torch.ones(1, 1, 1))] == [(1, 2, 3)] * 2
    assert xp.broadcast_to(torch.tensor([7]), (2, 2)).tolist() == [[7, 7], [7, 7]]
    assert [each.tolist() for each in xp.unstack(x, axis=1)] == [[1, 4], [2, 5], [3, 6]]


def test_elements_change_places():
    x = torch.tensor(X)
    assert xp.flip(x).tolist() == [[6, 5, 4], [3, 2, 1]] and xp.flip(x, axis=0).tolist() == [X[1], X[0]]
    assert xp.roll(x, 1).tolist() == [[6, 1, 2], [3, 4, 5]] and xp.roll(x, 1, axis=1).tolist() == [[3, 1, 2], [6, 4, 5]]
    assert xp.roll(x, 1, axis=(0, 1)).tolist() == xp.roll(x, (1, 1), axis=(0, 1)).tolist() == [[6, 4, 5], [3, 1, 2]]
    assert xp.repeat(x, 2).tolist() == [each for row in X for value in row for each in (value, value)]
    assert xp.repeat(x, torch.tensor([2, 0]), axis=0).tolist() == [X[0], X[0]]


def test_reshaping_copies_as_asked():
    x = torch.arange(6)
    assert xp.reshape(x, (2, 3)).data_ptr() == x.data_ptr() == xp.reshape(x, (2, 3), copy=False).data_ptr()
    assert xp.reshape(x, (3, 2), copy=True).data_ptr() != x.data_ptr()
    with pytest.raises((ValueError, RuntimeError)):
        xp.reshape(torch.tensor(X).mT, (6,), copy=False)


def test_elements_at_indices():
    x, at = torch.tensor(X), torch.tensor([2, 0], dtype=torch.uint8)
    assert xp.take(x, at, axis=1).tolist() == [[3, 1], [6, 4]] and xp.take(x[0], at).tolist() == [3, 1]
    with pytest.raises(ArgumentError, match="take: axis=None .* x has 2"):
        xp.take(x, at)
    for wrong in (1, [0, 1]):
        for call in (xp.take, xp.take_along_axis):
            with pytest.raises(ArgumentTypeError, match=re.escape(str(wrong))):
                call(x, wrong, axis=0)
    assert xp.take_along_axis(x, torch.tensor([[2], [0]], dtype=torch.int16)).tolist() == [[3], [4]]
