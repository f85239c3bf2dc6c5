"""Rows that are only moved: their units, and the same values whatever their width, distance and start."""

import numpy as np
import pytest

import flambeau as torch
from flambeau.ops.copies import lanes_for, plan_row_copy, unit_for

pytestmark = pytest.mark.devices(1)
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
