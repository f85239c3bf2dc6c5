"""Kernels of batch norm for channels that lie next to each other: when they are launched, their grids, their values."""

import numpy as np
import pytest

import flambeau as torch
from flambeau.ops.channel_pointwise import channel_grid
from flambeau.ops.normalization import normal_slope, normalize_by
from flambeau.ops.pointwise import THREADS
from flambeau.testing import machine

RANDOM = np.random.default_rng(7)


def images(shape, dtype=torch.bfloat16, memory_format=torch.channels_last):
    return torch.tensor(RANDOM.standard_normal(shape), dtype=dtype, device="cuda").to(memory_format=memory_format)


def numbers(channels):
    return torch.tensor(RANDOM.random((1, channels, 1, 1)) + 0.5, dtype=torch.float32, device="cuda")


def test_the_layout_decides_on_the_kernel():
    with machine(devices=1) as made:

        def is_for_channels(x, channels):
            made.devices[0].kernels.clear()
            normalize_by(x, *(numbers(channels) for _ in range(4)))
            (entry,) = [kernel.entry for kernel in made.devices[0].kernels if kernel.entry.startswith("normalize_by")]
            return entry.endswith("_channels")

        assert is_for_channels(images((2, 16, 3, 4)), 16)
        assert is_for_channels(images((2, 12, 3, 4), torch.float32), 12)
        assert is_for_channels(images((5, 16, 1, 1)), 16)
        assert is_for_channels(images((2, 24, 3, 4))[:, :16], 16)
        assert not is_for_channels(images((2, 12, 3, 4)), 12)
        assert not is_for_channels(images((2, 24, 3, 4))[:, 1:17], 16)
        assert not is_for_channels(images((2, 16, 3, 4), memory_format=torch.contiguous_format), 16)


@pytest.mark.parametrize(
    "channels, rows, width",
    [
        (8, 1, 8),
        (64, 5000, 8),
        (24, 333, 8),
        (2048, 6272, 8),
        (2056, 40, 8),
        (4100, 70, 4),
        (12, 7, 4),
        (6, 100_000, 2),
    ],
)
def test_a_grid_covers_every_row_of_every_channel_once(channels, rows, width):
    """By the index arithmetic of the kernel."""
    columns = channels // width
    tiles = -(-columns // THREADS)
    lanes = -(-columns // tiles)
    together, blocks = THREADS // lanes, channel_grid(channels, rows, width).blocks[0]
    assert blocks % tiles == 0
    seen = np.zeros((rows, columns), int)
    for block in range(blocks):
        for group in range(together):
            of = slice(block % tiles * lanes, min((block % tiles + 1) * lanes, columns))
            seen[block // tiles * together + group :: blocks // tiles * together, of] += 1
    assert (seen == 1).all()


@pytest.mark.devices(1)
@pytest.mark.parametrize("dtype, tolerance", [("bfloat16", 0.05), ("float16", 0.01), ("float32", 1e-5)])
def test_values(gpus, dtype, tolerance):
    for shape in ((3, 16, 5, 7), (2, 64, 30, 30), (4, 2056, 2, 2), (70, 24, 1, 1)):
        x, slope = (images(shape, getattr(torch, dtype)) for _ in range(2))
        mean, rstd, weight, of_sum, of_product = (numbers(shape[1]) for _ in range(5))
        wide = [each.cpu().double().numpy() for each in (x, slope, mean, rstd, weight, of_sum, of_product)]
        found = normalize_by(x, mean, rstd, weight, of_sum)
        expected = (wide[0] - wide[2]) * wide[3] * wide[4] + wide[5]
        np.testing.assert_allclose(found.cpu().double().numpy(), expected, rtol=tolerance, atol=tolerance)
        found = normal_slope(x, slope, mean, rstd, weight, of_sum, of_product, weight, 0.25)
        normal = (wide[0] - wide[2]) * wide[3]
        expected = wide[3] * (wide[1] * wide[4] - (wide[5] + normal * wide[6]) * wide[4] / 4)
        np.testing.assert_allclose(found.cpu().double().numpy(), expected, rtol=tolerance, atol=tolerance)
        assert found.stride() == x.stride()
