"""Fills, copies of rows in every unit, and copies through transposed tiles."""

import numpy as np
import pytest

import flambeau as torch
from flambeau import dtypes
from flambeau.ops import copies
from flambeau.ops.copies import lanes_for, plan_row_copy, unit_for
from flambeau.testing import machine

# fills

pytestmark = pytest.mark.devices(1)

KINDS = (dtypes.bool_, dtypes.uint8, dtypes.bfloat16, dtypes.int32, dtypes.float64)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("start", [0, 1])
def test_fills_of_every_length_and_alignment(gpus, kind, start):
    for length in (1, 3, 15, 16, 17, 1024, 1031):
        x = torch.zeros(length + 3, dtype=kind, device="cuda")
        x[start : start + length].fill_(1)
        want = np.zeros(length + 3)
        want[start : start + length] = 1
        assert np.array_equal(x.cpu().to(dtypes.float64).numpy(), want)


def test_a_part_is_filled_alone(gpus):
    x = torch.zeros(9, 10, device="cuda")
    x[1:-1, 2:7].fill_(2)
    want = np.zeros((9, 10))
    want[1:-1, 2:7] = 2
    assert np.array_equal(x.cpu().numpy(), want)


def test_integers_of_16_bits_are_the_low_bits_of_whole_numbers(gpus):
    """float64 passes through float32 on its way to half types only."""
    for device in ("cpu", "cuda"):
        numbers = torch.tensor([142857142.857, -142857142.857, 65537.5], dtype=torch.float64, device=device)
        assert numbers.to(torch.int16).tolist() == [-11338, 11338, 1], device
        assert numbers.to(torch.uint16).tolist() == [54198, 11338, 1], device
        assert torch.tensor([1 + 2**-11 + 2**-30], dtype=torch.float64, device=device).half().item() == 1, device


# copies of rows
WIDTHS = [1, 2, 3, 4, 7, 8, 15, 16, 24, 31, 32, 33, 64, 100, 129, 1024]


@pytest.mark.parametrize(("columns", "unit"), [(16, 16), (15, 4), (14, 8), (12, 16), (1, 4), (0, 16)])
def test_units_divide_every_count(columns, unit, gpus):
    x = torch.zeros(4, 16, device="cuda")
    assert unit_for(torch.float32, (columns, 4), (x,)) == min(unit, 16)
    assert unit_for(torch.float32, (columns, 4), (x, x[:, 1:])) == 4


def test_lanes_fill_warps():
    assert [lanes_for(width) for width in (1, 3, 32, 33, 128, 129, 1024, 5000)] == [1, 4, 32, 32, 32, 64, 256, 256]


def test_dense_rows_may_lie_apart(gpus):
    x = torch.zeros(6, 5, 16, device="cuda")
    assert plan_row_copy(torch.float32, (6, 5, 8), (80, 16, 1), 1, (x,))[:4] == (16, 20, 4, 2)
    assert plan_row_copy(torch.float32, (6, 5, 8), (80, 1, 5), 1, (x,)).width == 0
    assert plan_row_copy(torch.float32, (5, 6, 5), (1, 80, 1), 2, (x,)).width == 0


@pytest.mark.parametrize("kind", ["uint8", "float16", "float32", "int64"])
@pytest.mark.parametrize("start", [0, 1])
def test_rows_of_every_width(kind, start, gpus):
    random = np.random.default_rng(3)
    for width in WIDTHS:
        values = random.integers(0, 100, start + 37 * width)
        expected = values[start:].reshape(37, width)
        x = torch.tensor(values, device="cuda").to(getattr(torch, kind))[start:].view(37, width)
        index = random.integers(0, 37, 50)
        chosen = torch.tensor(index, device="cuda")
        half = max(width // 2, 1)
        assert np.array_equal(x[chosen].cpu().numpy(), expected[index])
        assert np.array_equal(x[:, :half][chosen].cpu().numpy(), expected[index, :half])
        assert np.array_equal(torch.cat([x, x[:5]]).cpu().numpy(), np.concatenate([expected, expected[:5]]))
        assert np.array_equal(torch.cat([x, x[:, :1]], 1).cpu().numpy(), np.concatenate([expected, expected[:, :1]], 1))
        target, written = torch.zeros_like(x), np.zeros_like(expected)
        target[chosen], written[index] = x[chosen], expected[index]
        assert np.array_equal(target.cpu().numpy(), written)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_gathers_along_every_dimension(dim, gpus):
    random = np.random.default_rng(4)
    for shape in ((3, 5, 7), (2, 300, 3), (1, 1, 600), (600, 2, 1)):
        values = random.integers(0, 1000, shape)
        index = random.integers(0, shape[dim], shape)
        x = torch.tensor(values, device="cuda")
        found = x.gather(dim, torch.tensor(index, device="cuda"))
        assert np.array_equal(found.cpu().numpy(), np.take_along_axis(values, index, dim))
        turned = torch.tensor(np.ascontiguousarray(values.T), device="cuda").permute(2, 1, 0)
        assert np.array_equal(turned.gather(dim, torch.tensor(index, device="cuda")).cpu().numpy(), found.cpu().numpy())


# transposed copies

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
