"""Sorts, selections and scans of long rows against NumPy, on hardware, in every type."""

import numpy as np
import pytest

import flambeau as torch
from flambeau import dtypes
from flambeau.ops import sorting
from flambeau.testing import machine
from tests.conftest import ON_HARDWARE

LENGTHS = ((1 << 20) + 7, 100_003) if ON_HARDWARE else (sorting.LONG_ROW + 4099,)
SHAPES = [(1, LENGTHS[0]), (3, LENGTHS[-1])]


@pytest.fixture(autouse=True)
def gpu():
    if ON_HARDWARE:
        yield
        return
    with machine(devices=1):
        yield


def rows(dtype, shape, seed=0):
    """Random elements with repetitions; for floating types with NaN, infinities and both zeros."""
    rng = np.random.default_rng(seed)
    if dtype.category == dtypes.BOOL:
        return rng.random(shape) < 0.5
    if not dtype.is_floating_point:
        bits = rng.integers(0, 256, (*shape, dtype.itemsize), np.uint8)
        return bits.view(dtype.numpy).reshape(shape)
    values = (rng.normal(size=shape) * 100).astype(np.float32).astype(dtype.numpy)
    special = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0], np.float32).astype(dtype.numpy)
    return np.where(rng.random(shape) < 0.05, special[rng.integers(0, len(special), shape)], values)


def on_gpu(values, dtype):
    return torch.tensor(values.astype(np.float32) if dtype is dtypes.bfloat16 else values).to(dtype).cuda()


def bits_of(tensor):
    """The bits of a tensor's elements."""
    kinds = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return tensor.cpu().view(kinds[tensor.dtype.itemsize]).numpy()


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", dtypes.ALL, ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("descending", [False, True])
def test_long_rows_are_sorted_and_selected(dtype, shape, descending):
    values = rows(dtype, shape)
    x = on_gpu(values, dtype)
    order = np.argsort(sorting.keys_of(values, dtype, descending), axis=-1, kind="stable")
    found = x.sort(-1, descending)
    assert np.array_equal(found.indices.cpu().numpy(), order)
    expected = np.take_along_axis(bits_of(x), order, 1)
    assert np.array_equal(bits_of(found.values), expected)
    assert np.array_equal(bits_of(sorting.sort_values(x, descending)), expected)
    for count in (1, 100, 1025):
        found = x.topk(count, -1, largest=descending)
        assert np.array_equal(found.indices.cpu().numpy(), order[:, :count])
        assert np.array_equal(bits_of(found.values), expected[:, :count])


@pytest.mark.gpu
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", dtypes.ALL, ids=lambda dtype: dtype.name)
def test_long_rows_are_scanned(dtype, shape):
    for dim, given in ((1, shape), (0, shape[::-1])):
        values = rows(dtype, given, 1)
        if dtype.is_floating_point:  # sums that are exact
            values = np.random.default_rng(1).integers(-1, 2, given).astype(dtype.numpy)
        x = on_gpu(values, dtype)
        wide = np.float64 if dtype.is_floating_point else np.int64
        found = x.cumsum(dim, dtype=torch.float64 if dtype.is_floating_point else None)
        assert np.array_equal(found.cpu().numpy(), values.astype(wide).cumsum(dim))
        best, places = x.cummax(dim)
        expected = np.maximum.accumulate(values.astype(wide), dim)
        assert np.array_equal(best.cpu().numpy().astype(wide), expected)
        numbers = np.arange(given[dim]).reshape((-1, 1) if dim == 0 else (1, -1))
        last = np.maximum.accumulate(np.where(values.astype(wide) == expected, numbers, 0), dim)
        assert np.array_equal(places.cpu().numpy(), last)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.int64, torch.float32, torch.float64], ids=str)
def test_long_rows_are_reduced_in_logarithms(dtype):
    x = torch.tensor(np.random.default_rng(2).normal(size=SHAPES[0]) * 20).to(dtype).cuda()
    exact = np.logaddexp.reduce(x.cpu().numpy().astype(np.float64), axis=1)
    np.testing.assert_allclose(x.logsumexp(1).cpu().numpy(), exact, rtol=1e-5)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", dtypes.ALL, ids=lambda dtype: dtype.name)
def test_long_rows_have_their_unique_elements(dtype):
    values = rows(dtype, SHAPES[0], 3).reshape(-1)
    values = np.where(values != values, np.zeros_like(values), values)
    wide = values.astype(np.float64) if dtype.is_floating_point else values
    found = on_gpu(values, dtype).unique(return_inverse=True, return_counts=True)
    expected = np.unique(wide, return_inverse=True, return_counts=True)
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one.cpu().numpy().astype(other.dtype), other)
    alone = on_gpu(values, dtype).unique()
    assert np.array_equal(alone.cpu().numpy().astype(wide.dtype), expected[0])
