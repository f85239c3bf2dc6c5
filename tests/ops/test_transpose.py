"""Copies whose two sides differ in the fastest dimension go through tiles."""

import numpy as np
import pytest

import flambeau as torch
from flambeau import dtypes
from flambeau.ops import copies
from flambeau.testing import machine

pytestmark = pytest.mark.devices(1)

PERMUTED = [
    ((64, 64), (1, 0)),
    ((100, 37), (1, 0)),
    ((129, 70), (1, 0)),
    ((5, 66, 130), (0, 2, 1)),
    ((66, 5, 130), (2, 1, 0)),
    ((66, 5, 130), (2, 0, 1)),
    ((33, 2, 4, 36), (3, 2, 1, 0)),
    ((2, 48, 9, 8), (0, 2, 3, 1)),
    ((40, 40), (1, 0)),
]


def whole(shape, kind):
    return torch.from_numpy(np.random.default_rng(0).integers(0, 50, shape)).to(kind).to("cuda")


def exact(tensor):
    return tensor.cpu().to(dtypes.float64).numpy()


@pytest.mark.parametrize("to", [None, dtypes.float32, dtypes.uint8])
@pytest.mark.parametrize(
    "kind", [dtypes.float32, dtypes.bfloat16, dtypes.uint8, dtypes.float64], ids=lambda kind: kind.name
)
def test_permuted_copies(gpus, kind, to):
    for shape, order in PERMUTED:
        for margin in (0, 1):
            x = whole((*shape[:-1], shape[-1] + margin), kind)[..., margin:].permute(order)
            made = x.contiguous() if to is None else x.to(to).contiguous()
            assert np.array_equal(exact(made), exact(x)), (shape, order, margin)


def test_a_copy_into_a_permuted_part_leaves_its_surroundings(gpus):
    x, out = whole((70, 90), dtypes.float32), torch.zeros(100, 80, device="cuda")
    out[3:93, 5:75].t().copy_(x)
    want = np.zeros((100, 80))
    want[3:93, 5:75] = exact(x).T
    assert np.array_equal(exact(out), want)


def test_a_step_along_the_sources_fastest_dimension(gpus):
    x = whole((80, 140), dtypes.float32)[:, ::2].t()
    assert np.array_equal(exact(x.contiguous()), exact(x))


def entries(shape, order):
    with machine(devices=1) as made:
        torch.zeros(shape, device="cuda").permute(order).contiguous()
        return [each.entry for each in made.devices[0].kernels if "fill" not in each.entry]


def test_tiles_serve_matrices_and_nothing_else():
    assert entries((64, 64), (1, 0)) == ["transpose_32"]
    assert entries((4, 32, 9, 9), (0, 2, 3, 1)) == ["transpose_32"]
    assert entries((64, 4), (1, 0)) == ["convert_float32_float32"]
    assert entries((9, 8, 64), (1, 0, 2)) == ["convert_float32_float32"]


def test_the_layout_begins_with_the_fastest_dimension_of_each_side():
    walk = ((64, 5, 64), [(1, 64, 320), (320, 64, 1), (0, 0, 0)])
    assert copies.tiled_layout(walk) == ((64, 64, 5), [(1, 320, 64), (320, 1, 64)])
    assert copies.tiled_grid(copies.tiled_layout(walk)).blocks == (5, 1, 1)
    assert copies.tiled_layout(((64, 64), [(1, 64), (0, 1), (0, 0)])) is None
    assert copies.tiled_layout(((64,), [(1,), (2,), (0,)])) is None
