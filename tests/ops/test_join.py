"""Joining, repeating, grids, turns and shuffles, compared with NumPy."""

import itertools

import numpy as np
import pytest

import flambeau as torch
from benchmarks.counts import of as cost_of
from flambeau.errors import AcceleratorError, ArgumentTypeError, DtypeError, ShapeError, ValueRangeError
from flambeau.ops.join import GROUP
from flambeau.testing import machine

pytestmark = pytest.mark.devices(1)


@pytest.fixture(params=["cpu", "cuda"])
def device(request, gpus):
    return request.param


def counted(*shape, device="cpu", start=0):
    return torch.tensor(np.arange(start, start + np.prod(shape)).reshape(shape), device=device)


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_cat_is_numpys_concatenate(device, dim):
    shapes = [[2, 3, 4], [2, 3, 4], [2, 3, 4]]
    for place, size in enumerate((1, 3, 2)):
        shapes[place][dim] = size
    parts = [counted(*shape, device=device, start=100 * i) for i, shape in enumerate(shapes)]
    expected = np.concatenate([each.cpu().numpy() for each in parts], dim)
    assert np.array_equal(torch.cat(parts, dim).cpu().numpy(), expected)


def test_cat_of_more_tensors_than_one_launch_takes(device):
    parts = [counted(2, i % 3, device=device, start=10 * i) for i in range(2 * GROUP + 3)]
    expected = np.concatenate([each.cpu().numpy() for each in parts], 1)
    assert np.array_equal(torch.cat(parts, 1).cpu().numpy(), expected)


def test_cat_converts_to_the_common_type(device):
    found = torch.cat([torch.ones(1, dtype=torch.int32, device=device), torch.full((1,), 0.5, device=device)])
    assert found.dtype is torch.float32
    assert found.tolist() == [1, 0.5]


def test_cat_skips_the_legacy_empty_tensor(device):
    assert torch.cat([torch.empty(0, device=device), torch.ones(2, 2, device=device)], 1).shape == (2, 2)


def test_cat_gives_each_part_its_gradient():
    a, b = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    (torch.cat([a, b, a]) * torch.arange(7.0)).sum().backward()
    assert a.grad.tolist() == [5, 7]
    assert b.grad.tolist() == [2, 3, 4]


def test_flip_and_roll_are_numpys(device):
    x = counted(3, 4, device=device)
    plain = x.cpu().numpy()
    assert np.array_equal(x.t().flip(0).cpu().numpy(), np.flip(plain.T, 0))
    assert np.array_equal(x.flip(0, 1).cpu().numpy(), np.flip(plain))
    assert np.array_equal(x.roll((1, -2), (0, 1)).cpu().numpy(), np.roll(plain, (1, -2), (0, 1)))
    assert np.array_equal(x.roll(5).cpu().numpy(), np.roll(plain, 5))


def test_repeat_and_tile_are_numpys_tile(device):
    x = counted(2, 3, device=device)
    assert np.array_equal(x.repeat(2, 1, 3).cpu().numpy(), np.tile(x.cpu().numpy(), (2, 1, 3)))
    assert np.array_equal(x.tile(2).cpu().numpy(), np.tile(x.cpu().numpy(), 2))
    assert np.array_equal(x.repeat_interleave(2, 0).cpu().numpy(), np.repeat(x.cpu().numpy(), 2, 0))


def test_stacks_are_numpys(device):
    a, b = counted(3, device=device), counted(3, device=device, start=5)
    plain = [a.cpu().numpy(), b.cpu().numpy()]
    assert np.array_equal(torch.stack([a, b], 1).cpu().numpy(), np.stack(plain, 1))
    assert np.array_equal(torch.hstack([a, b]).cpu().numpy(), np.hstack(plain))
    assert np.array_equal(torch.vstack([a, b]).cpu().numpy(), np.vstack(plain))


def test_repeat_interleave_by_counts(device):
    x = torch.arange(6.0, device=device).view(2, 3)
    counts = torch.tensor([1, 0, 3], device=device)
    assert x.repeat_interleave(counts, 1).tolist() == [[0, 2, 2, 2], [3, 5, 5, 5]]
    assert x.repeat_interleave(torch.tensor([2], device=device), 0).tolist() == [[0, 1, 2]] * 2 + [[3, 4, 5]] * 2
    assert x.repeat_interleave(torch.tensor(2, device=device)).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert torch.repeat_interleave(counts).tolist() == [0, 2, 2, 2]
    assert torch.repeat_interleave(counts * 0).tolist() == []
    narrow = counts.to(torch.int32)
    assert torch.repeat_interleave(narrow).dtype is torch.int32
    assert torch.tensor(3.0, device=device).repeat_interleave(2).tolist() == [3, 3]
    assert x.repeat_interleave(counts, 1, output_size=4).tolist() == [[0, 2, 2, 2], [3, 5, 5, 5]]
    many = np.random.default_rng(1).integers(0, 7, 3000)
    found = torch.repeat_interleave(torch.tensor(many, device=device)[::3])
    assert np.array_equal(found.cpu().numpy(), np.repeat(np.arange(1000), many[::3]))
    leaf = x.clone().requires_grad_()
    leaf.repeat_interleave(counts, 1).sum().backward()
    assert leaf.grad.tolist() == [[1, 0, 3], [1, 0, 3]]


def test_another_size_than_the_sum_of_counts_is_an_error(monkeypatch):
    monkeypatch.delenv("PYTORCH_NO_CUDA_MEMORY_CACHING", raising=False)  # where a release waits, and meets the error
    for size in (3, 5):
        with pytest.raises(ValueRangeError, match=f"repeat_interleave: output_size is {size}, .* sum of repeats is 4"):
            torch.arange(3).repeat_interleave(torch.tensor([1, 0, 3]), output_size=size)
        with machine(devices=1):
            x, counts = torch.arange(3, device="cuda"), torch.tensor([1, 0, 3], device="cuda")
            x.repeat_interleave(counts, output_size=size)
            with pytest.raises(AcceleratorError, match=f"output_size is {size}"):
                torch.cuda.synchronize()


def test_repeat_interleave_with_its_size_does_not_make_the_host_wait():
    with machine(devices=1):
        x, counts = torch.arange(3.0, device="cuda"), torch.tensor([1, 0, 3], device="cuda")
        assert "host wait" not in cost_of(lambda: x.repeat_interleave(counts, 0, output_size=4))
        found = cost_of(lambda: x.repeat_interleave(counts, 0))
        assert (found["launch"], found["copy"], found["host wait"]) == (3, 1, 1)


def test_what_moves_nothing_is_a_copy_all_the_same():
    x = torch.arange(6.0).reshape(1, 1, 2, 3)
    for copied in (
        torch.nn.functional.pixel_shuffle(x, 1),
        torch.nn.functional.pixel_unshuffle(x, 1),
        torch.nn.functional.channel_shuffle(x, 1),
        torch.roll(x, 0),
        torch.roll(x, 0, ()),
        torch.chain_matmul(x[0, 0]),
        torch.flip(x, ()),
    ):
        assert copied.tolist() in (x.tolist(), x[0, 0].tolist())
        copied.fill_(-1)
        assert x.sum().item() == 15
    out = torch.zeros(2, 3)
    assert torch.chain_matmul(x[0, 0], out=out) is out and out.tolist() == x[0, 0].tolist()


def test_roll_needs_shifts_and_shifts_all_elements_without_dimensions():
    x = torch.arange(6).reshape(2, 3)
    for dims in (None, (), []):
        assert torch.roll(x, 1, dims).tolist() == torch.roll(x, (1,), dims).tolist() == [[5, 0, 1], [2, 3, 4]]
    with pytest.raises(ShapeError, match="roll: shifts are required, got none"):
        torch.roll(x, (), ())
    with pytest.raises(ShapeError, match="2 shifts"):
        torch.roll(x, (1, 2))


SHUFFLES = {
    "channel_shuffle": lambda x: torch.channel_shuffle(x, 2),
    "pixel_shuffle": lambda x: torch.pixel_shuffle(x, 2),
    "pixel_unshuffle": lambda x: torch.pixel_unshuffle(x, 2),
}


@pytest.mark.parametrize("shape", [(2, 8, 4, 6), (1, 8, 4, 2, 6)])
@pytest.mark.parametrize("name", SHUFFLES)
def test_shuffles_preserve_channels_last(device, name, shape):
    """As in PyTorch, whose pixel shuffles take no channels_last_3d."""
    shuffle, format = SHUFFLES[name], torch.channels_last if len(shape) == 4 else torch.channels_last_3d
    is_last = len(shape) == 4 or name == "channel_shuffle"
    x = torch.tensor(np.random.default_rng(2).standard_normal(shape), device=device)
    last = x.contiguous(memory_format=format)
    for images, same in ((last, x), (last[..., 2:], x[..., 2:].contiguous())):
        found, expected = shuffle(images), shuffle(same)
        assert found.equal(expected) and expected.is_contiguous()
        assert found.is_contiguous(memory_format=format if is_last else torch.contiguous_format)
    last, x = last.requires_grad_(), x.requires_grad_()
    grads = [torch.autograd.grad(shuffle(images).sin().sum(), images)[0] for images in (last, x)]
    assert grads[0].equal(grads[1]) and grads[0].is_contiguous(memory_format=format) == is_last


# grids, turns and shuffles, compared with NumPy

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
