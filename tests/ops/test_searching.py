"""Unique elements, places in sorted sequences, membership and counts: NumPy's values, NaN and batches."""

import numpy as np
import pytest

import flambeau as torch
from benchmarks import counts
from flambeau.errors import IndexRangeError, ValueRangeError
from flambeau.ops.searching import SHARED_BINS
from flambeau.ops.sorting import LONG_ROW

NAN = float("nan")


@pytest.mark.parametrize("count", [0, 1, 50, LONG_ROW + 9])
def test_unique_elements_are_numpys(device, count):
    values = np.random.default_rng(count).integers(-20, 20, count)
    x = torch.tensor(values, device=device)
    found = torch.unique(x, return_inverse=True, return_counts=True)
    expected = np.unique(values, return_inverse=True, return_counts=True)
    assert all(np.array_equal(one.cpu().numpy(), other) for one, other in zip(found, expected, strict=True))
    assert x.unique().tolist() == expected[0].tolist()


def test_unique_slices_are_in_lexicographic_order(device):
    values = np.random.default_rng(0).integers(0, 3, (40, 5))
    x = torch.tensor(values, device=device)
    for dim, given in ((0, x), (1, x.t())):
        found, inverse, counts = torch.unique(given, True, True, True, dim)
        expected, places, numbers = np.unique(values, return_inverse=True, return_counts=True, axis=0)
        assert np.array_equal(found.cpu().numpy(), expected if dim == 0 else expected.T)
        assert (inverse.tolist(), counts.tolist()) == (places.reshape(-1).tolist(), numbers.tolist())


def test_runs_and_nan(device):
    x = torch.tensor([1, 1, 2, 2, 2, 1], device=device)
    found, inverse, counts = x.unique_consecutive(True, True)
    assert (found.tolist(), inverse.tolist(), counts.tolist()) == ([1, 2, 1], [0, 0, 1, 1, 1, 2], [2, 3, 1])
    assert x.reshape(3, 2).unique_consecutive(dim=0).tolist() == [[1, 1], [2, 2], [2, 1]]
    assert torch.tensor([NAN, 1.0, NAN], device=device).unique().isnan().tolist() == [False, True, True]
    with pytest.raises(IndexRangeError, match="unique: Dimension specified as 0 but tensor has no dimensions"):
        torch.tensor(1).unique(dim=0)


def test_places_in_sorted_rows(device):
    rng = np.random.default_rng(1)
    rows, values = np.sort(rng.integers(0, 9, (3, 7)), 1), rng.integers(-1, 11, (3, 4))
    for right in (False, True):
        found = torch.searchsorted(torch.tensor(rows, device=device), torch.tensor(values, device=device), right=right)
        side = "right" if right else "left"
        assert found.tolist() == [np.searchsorted(row, each, side).tolist() for row, each in zip(rows, values)]
        assert torch.bucketize(torch.tensor(values, device=device), torch.tensor(rows[0], device=device),
                               right=right).tolist() == np.searchsorted(rows[0], values, side).tolist()  # fmt: skip
    shuffled = torch.tensor([5, 1, 3], device=device)
    found = torch.searchsorted(shuffled, torch.tensor([2, 9], device=device), sorter=shuffled.argsort(), out_int32=True)
    assert found.tolist() == [1, 3] and found.dtype is torch.int32
    assert torch.searchsorted(torch.tensor([1, 3], device=device), 2.5).item() == 1
    assert torch.searchsorted(torch.tensor([1.0, 3.0], device=device), torch.tensor(NAN, device=device)).item() == 2


@pytest.mark.parametrize("count", [3, 100])
def test_members(device, count):
    rng = np.random.default_rng(2)
    values, members = rng.integers(0, 200, (4, 5)), rng.integers(0, 200, count)
    members[0] = values[1, 1]
    x, few = torch.tensor(values, device=device), torch.tensor(members, device=device)
    assert torch.isin(x, few).tolist() == np.isin(values, members).tolist()
    assert torch.isin(x.float(), few, invert=True).tolist() == (~np.isin(values, members)).tolist()
    odd = torch.tensor([1.0, NAN, float("inf")] * 10, device=device)
    found = torch.isin(torch.tensor([1.0, NAN, float("inf"), 2.0], device=device), odd)
    assert found.tolist() == [True, False, True, False]
    assert torch.isin(torch.tensor([NAN] * 20, device=device), odd[1::3]).any().item() is False


@pytest.mark.parametrize("bins", [7, SHARED_BINS + 10])
def test_counts_of_integers(device, bins):
    values = np.random.default_rng(3).integers(0, bins, 5000)
    weights = np.random.default_rng(4).random(5000)
    x = torch.tensor(values, device=device)
    assert np.array_equal(torch.bincount(x, minlength=bins).cpu().numpy(), np.bincount(values, minlength=bins))
    found = torch.bincount(x, torch.tensor(weights, device=device))
    np.testing.assert_allclose(found.cpu().numpy(), np.bincount(values, weights), rtol=1e-12)
    with pytest.raises(ValueRangeError, match="bincount: .* the least is -1"):
        torch.bincount(torch.tensor([-1, 2], device=device))


def test_histograms_are_numpys(device):
    values = np.random.default_rng(5).normal(size=1000)
    x = torch.tensor(values, device=device)
    expected, edges = np.histogram(values, 9)
    found = torch.histogram(x, 9)
    assert found.hist.tolist() == expected.tolist()
    np.testing.assert_allclose(found.bin_edges.cpu().numpy(), edges, rtol=1e-12)
    assert x.histc(9).tolist() == expected.tolist()
    assert x.histc(4, -1, 1).tolist() == np.histogram(values, 4, (-1, 1))[0].tolist()
    given = torch.tensor([-1.0, 0.0, 2.0], dtype=torch.float64, device=device)
    found = torch.histogram(x, given, weight=x.abs(), density=True).hist
    wanted = np.histogram(values, [-1, 0, 2], weights=np.abs(values), density=True)[0]
    np.testing.assert_allclose(found.cpu().numpy(), wanted, rtol=1e-12)
    assert torch.histc(torch.full((3,), 2.0, device=device), 4).tolist() == [0, 0, 3, 0]
    assert torch.histc(torch.zeros(3, dtype=torch.uint8, device=device), 4).tolist() == [0, 0, 3, 0]
    single = torch.histogram(torch.full((3,), 2.0, device=device), 4)
    assert single.hist.tolist() == [0, 0, 3, 0] and single.bin_edges.tolist() == [1.5, 1.75, 2, 2.25, 2.5]


def test_bounds_of_histograms_are_in_order_and_finite(device):
    x = torch.tensor([1.0, 2.0, 1.0, 0.5], device=device)
    found, edges = torch.histogram(x, 4, range=(2, 2))
    assert found.tolist() == [0, 0, 1, 0] and edges.tolist() == [1.5, 1.75, 2, 2.25, 2.5]
    assert torch.histogram(x, 2, range=(0, 0)).bin_edges.tolist() == [-0.5, 0, 0.5]
    for wrong in ((2, 1), (0, float("inf")), (float("nan"), 1), (), (1,), (1, 2, 3)):
        with pytest.raises(ValueRangeError, match="histogram: "):
            torch.histogram(x, 4, range=wrong)
    with pytest.raises(ValueRangeError, match="histogramdd: max must be at least min, got 3 and 2"):
        torch.histogramdd(x.reshape(2, 2), [2, 2], range=[0, 1, 3, 2])
    edges = torch.tensor([1.0, 2.0], device=device)
    with pytest.raises(ValueRangeError, match="None if bins holds edges"):
        torch.histogram(x, edges, range=(0, 1))
    for wrong, what in ((edges.double(), "float64"), (edges[:1], r"\[1\]"), (edges[None], r"\[1, 2\]")):
        with pytest.raises(RuntimeError, match=f"histogram.*edges of .*{what}"):
            torch.histogram(x, wrong)
        with pytest.raises(RuntimeError, match=f"histogramdd.*edges of .*{what}"):
            torch.histogramdd(x.reshape(2, 2), [edges, wrong])


def test_histc_with_bounds_is_four_launches(gpus):
    x = torch.ones(30, device="cuda")
    assert counts.of(lambda: torch.histc(x, 4, -1, 1))["launch"] == 4  # places, zeros, counts, the type


def test_whole_numbers_are_sought_in_bools_as_integers():
    bools = torch.tensor([False, True, True])
    assert [torch.searchsorted(bools, number).item() for number in (0, 1, 2, 0.5)] == [0, 1, 3, 1]
    assert torch.bucketize(2, bools).item() == 3


def test_values_and_boundaries_of_two_types_are_compared_in_a_common_one(device):
    edges = torch.tensor([1, 2, 3], device=device)
    assert torch.bucketize(torch.tensor([1.5, 2.0, 2.5], device=device), edges).tolist() == [1, 1, 2]
    assert torch.searchsorted(edges.float(), torch.tensor([0, 2, 4], device=device)).tolist() == [0, 1, 3]
    tenth = torch.tensor([0.1, 0.2], device=device)  # above the number of float64
    assert torch.bucketize(torch.tensor([0.1], dtype=torch.float64, device=device), tenth).tolist() == [0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_edges_of_bins_are_those_of_linspace(dtype):
    own = getattr(torch, dtype)
    for seed in range(40):
        values = torch.from_numpy(np.random.default_rng(seed).normal(size=15)).to(own)
        for bins in (4, 7, 10):
            found, edges = torch.histogram(values, bins)
            assert edges[0] == values.min() and edges[-1] == values.max() and found.sum() == 15
            expected = torch.linspace(values.min().item(), values.max().item(), bins + 1, dtype=own)
            assert (edges - expected).abs().max() <= (0 if dtype == "float32" else 1e-15)


def test_no_integers_need_no_weights():
    assert torch.bincount(torch.tensor([], dtype=torch.int64), weights=torch.ones(3), minlength=2).tolist() == [0, 0]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_histograms_of_points(gpus, device):
    points = torch.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [2.0, 2.0]], device=device)
    weight = torch.tensor([1.0, 2.0, 4.0, 8.0], device=device)
    hist, edges = torch.histogramdd(points, bins=[3, 3], weight=weight)
    assert hist.tolist() == [[0.0, 1.0, 0.0], [2.0, 0.0, 0.0], [4.0, 0.0, 8.0]]
    assert [edge.tolist() for edge in edges] == [pytest.approx([0, 2 / 3, 4 / 3, 2])] * 2
    diagonal = torch.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], device=device)
    dense = torch.histogramdd(diagonal, bins=[2, 2], range=[0.0, 1.0, 0.0, 1.0], density=True)
    assert dense.hist.tolist() == [[2.0, 0.0], [0.0, 2.0]]


@pytest.mark.parametrize("scale", [1, 10**12])
@pytest.mark.parametrize("count", [3, 40])
def test_membership_is_the_same_on_every_device(gpus, scale, count):
    values = torch.arange(100).reshape(10, 10) * scale
    members = torch.arange(0, 3 * count, 3) * scale
    for kind in (torch.int64, torch.float64):
        x, chosen = values.to(kind), members.to(kind)
        found = [value % 3 == 0 and value < 3 * count for value in range(100)]
        expected = [found[start : start + 10] for start in range(0, 100, 10)]
        assert torch.isin(x, chosen).tolist() == torch.isin(x.cuda(), chosen.cuda()).tolist() == expected
        assert torch.isin(x, chosen, invert=True).tolist() == [[not found for found in row] for row in expected]
