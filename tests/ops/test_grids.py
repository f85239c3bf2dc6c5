"""Grids, turns and shuffles, compared with NumPy."""

import itertools

import numpy as np
import pytest

import flambeau as torch
from flambeau.errors import ArgumentTypeError, DtypeError, ShapeError, ValueRangeError

DEVICES = pytest.mark.parametrize("device", ["cpu", "cuda"])


def test_grids_are_views():
    x, y = torch.arange(3), torch.arange(2)
    for indexing in ("ij", "xy"):
        found = torch.meshgrid(x, y, indexing=indexing)
        wanted = np.meshgrid(x.numpy(), y.numpy(), indexing=indexing)
        assert [grid.tolist() for grid in found] == [grid.tolist() for grid in wanted]
        assert found[0].data_ptr() == x.data_ptr()
    assert found[0].stride() == (0, 1)


def test_a_grid_says_how_it_is_indexed():
    x = torch.arange(3)
    with pytest.warns(UserWarning, match="indexing"):
        torch.meshgrid(x, x)
    with pytest.raises(ValueRangeError, match="'yx'"):
        torch.meshgrid(x, indexing="yx")
    with pytest.raises(DtypeError, match=r"int64\[3\].*float32\[3\]"):
        torch.meshgrid(x, x.float(), indexing="ij")
    with pytest.raises(ShapeError, match=r"tensors\[1\] of shape \[1, 3\]"):
        torch.meshgrid(x, x[None], indexing="ij")


@DEVICES
def test_choices_have_the_order_of_itertools(device, gpus):
    x = torch.tensor([7, 5, 6, 4], device=device)
    for r in range(1, 6):
        assert torch.combinations(x, r).tolist() == [list(row) for row in itertools.combinations(x.tolist(), r)]
        again = itertools.combinations_with_replacement(x.tolist(), r)
        assert torch.combinations(x, r, True).tolist() == [list(row) for row in again]
    assert torch.cartesian_prod(x, x[:2], x[:1]).tolist() == [
        list(row) for row in itertools.product([7, 5, 6, 4], [7, 5], [7])
    ]


@DEVICES
def test_powers(device, gpus):
    x = torch.tensor([2, -1, 3], dtype=torch.int32, device=device)
    assert torch.vander(x).dtype is torch.int64
    for count in (0, 1, 4):
        for increasing in (True, False):
            wanted = np.vander([2, -1, 3], count, increasing)
            assert torch.vander(x, count, increasing).tolist() == wanted.tolist()


@DEVICES
def test_turns(device, gpus):
    x = np.arange(12).reshape(2, 2, 3)
    there = torch.tensor(x, device=device)
    for k in range(-3, 5):
        for dims in ((0, 1), (1, 0), (0, 2)):
            assert torch.rot90(there, k, dims).tolist() == np.rot90(x, k, dims).tolist()
    assert there.fliplr().tolist() == np.fliplr(x).tolist() and there.flipud().tolist() == np.flipud(x).tolist()


@DEVICES
def test_pixels_come_from_channels(device, gpus):
    x = torch.arange(2 * 8 * 2 * 3, device=device).reshape(2, 8, 2, 3)
    found = torch.pixel_shuffle(x, 2)
    assert found.shape == (2, 2, 4, 6)
    for channel, row, column in itertools.product(range(2), range(4), range(6)):
        source = x[:, channel * 4 + row % 2 * 2 + column % 2, row // 2, column // 2]
        assert found[:, channel, row, column].tolist() == source.tolist()
    assert torch.pixel_unshuffle(found, 2).equal(x)


def test_channels_of_groups_alternate():
    x = torch.arange(6).reshape(1, 6, 1, 1)
    assert torch.channel_shuffle(x, 3).flatten().tolist() == [0, 2, 4, 1, 3, 5]


def test_at_least_so_many_dimensions():
    x = torch.zeros(2, 3)
    assert torch.atleast_3d(x).shape == (2, 3, 1) and torch.atleast_3d(x[0]).shape == (1, 3, 1)
    assert torch.atleast_1d(x) is x and torch.atleast_2d(x[0], x)[1] is x
    assert torch.atleast_1d([x[0, 0]])[0].shape == (1,)
    with pytest.raises(ArgumentTypeError, match=r"atleast_1d: tensors\[0\].*3"):
        torch.atleast_1d(3)


def test_places_of_flat_indices():
    found = torch.unravel_index(torch.tensor([5, 0, 23]), (2, 3, 4))
    assert [part.tolist() for part in found] == [list(part) for part in np.unravel_index([5, 0, 23], (2, 3, 4))]
    with pytest.raises(ArgumentTypeError, match="unravel_index: .*float32"):
        torch.unravel_index(torch.tensor([1.0]), (2,))


def test_shapes_that_broadcast():
    assert torch.broadcast_shapes((2, 1, 4), 4, (3, 1)) == (2, 3, 4)
    assert torch.broadcast_shapes() == ()
    with pytest.raises(ShapeError, match="broadcast_shapes: "):
        torch.broadcast_shapes((2,), (3,))
