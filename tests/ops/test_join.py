"""Joining and repeating, against NumPy."""

import numpy as np
import pytest

import flambeau as torch
from benchmarks.counts import of as cost_of
from flambeau.errors import AcceleratorError, ShapeError, ValueRangeError
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
        with pytest.raises(ValueRangeError, match=f"repeat_interleave: output_size is {size}, .* add up to 4"):
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
