"""Kernels of batch norm for channels and planes that lie next to each other: when they run, their grids and values."""

import numpy as np
import pytest

import flambeau as torch
from flambeau.nn import functional as F
from flambeau.ops.channel_pointwise import channel_grid, plane_grid
from flambeau.ops.normalization import normal_slope, normalize_by
from flambeau.ops.pointwise import THREADS
from flambeau.testing import machine

RANDOM = np.random.default_rng(7)


def images(shape, dtype=torch.bfloat16, memory_format=torch.channels_last):
    found = torch.tensor(RANDOM.standard_normal(shape), dtype=dtype, device="cuda")
    return found if memory_format is None else found.to(memory_format=memory_format)


def numbers(channels):
    return torch.tensor(RANDOM.random((1, channels, 1, 1)) + 0.5, dtype=torch.float32, device="cuda")


def test_the_layout_decides_on_the_kernel():
    with machine(devices=1) as made:

        def kind_of(x):
            made.devices[0].kernels.clear()
            normalize_by(x, *(numbers(x.shape[1]) for _ in range(4)))
            (entry,) = [kernel.entry for kernel in made.devices[0].kernels if kernel.entry.startswith("normalize_by")]
            return entry.rsplit("_", 1)[1]

        own = {"memory_format": torch.contiguous_format}
        for kind, x in [
            ("channels", images((2, 16, 3, 4))),
            ("channels", images((2, 12, 3, 4), torch.float32)),
            ("channels", images((5, 16, 1, 1))),
            ("channels", images((2, 24, 3, 4))[:, :16]),
            ("planes", images((2, 16, 3, 4), **own)),
            ("planes", images((1, 5, 3, 3), **own)),
            ("planes", images((2, 3, 2, 2), torch.float32, **own)),
            ("float32", images((2, 3, 1, 3), torch.float32, **own)),  # smaller than a vector
            ("float32", images((2, 12, 3, 4))),
            ("float32", images((2, 24, 3, 4))[:, 1:17]),
            ("float32", images((2, 16, 3, 4), **own)[:, :8]),
            ("float32", images((3, 5, 3, 3), **own)[1:]),
        ]:
            assert kind_of(x) == kind, (kind, x.shape, x.stride())
        x = images((2, 6, 9), torch.float32, None)
        assert F.group_norm(x, 3).shape == x.shape
        assert any(kernel.entry.endswith("_planes") for kernel in made.devices[0].kernels)


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


def test_a_grid_has_fewer_vectors_for_each_thread_of_a_small_array():
    assert plane_grid(7, 8, 2).blocks[0] == 1
    assert plane_grid(8 * THREADS * 500, 8, 2).blocks[0] == 500
    assert plane_grid(8 * THREADS * 10_000, 8, 2).blocks[0] == 5000


@pytest.mark.devices(1)
@pytest.mark.parametrize("memory_format", [torch.channels_last, torch.contiguous_format], ids=str)
@pytest.mark.parametrize("dtype, tolerance", [("bfloat16", 0.05), ("float16", 0.01), ("float32", 1e-5)])
def test_values(gpus, dtype, tolerance, memory_format):
    for shape in ((3, 16, 5, 7), (2, 64, 30, 30), (4, 2056, 2, 2), (70, 24, 1, 1), (3, 7, 3, 3), (1, 3, 1, 1037)):
        x, slope = (images(shape, getattr(torch, dtype), memory_format) for _ in range(2))
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
