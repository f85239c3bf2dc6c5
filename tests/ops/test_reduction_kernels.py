"""The family of reductions: every layout and choice of dimensions, how work is spread, pieces, and no values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flambeau import dtypes
from flambeau.ops import reductions, scans
from flambeau.ops.reduction_kernels import MAX_PIECES, plan_reduction, plan_work
from flambeau.tensor.factories import tensor
from flambeau.testing import machine


def close(found, expected, rtol=1e-12):
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=rtol, atol=1e-12)


@st.composite
def arrays_and_dims(draw):
    """An array seen through a permutation, and the dimensions to reduce."""
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=5))
    order = draw(st.permutations(range(len(shape))))
    dims = draw(st.lists(st.sampled_from(range(len(shape))), unique=True, min_size=1))
    values = np.random.default_rng(draw(st.integers(0, 99))).integers(-9, 9, shape).astype(np.float64)
    return values, order, tuple(dims), draw(st.booleans())


@settings(max_examples=60, deadline=None)
@given(arrays_and_dims())
def test_every_layout_and_choice_of_dimensions_agrees_with_numpy(case):
    values, order, dims, keepdim = case
    seen, x = values.transpose(order), tensor(values).permute(order)
    close(reductions.sum_(x, dims, keepdim), seen.sum(dims, keepdims=keepdim))
    close(reductions.amax(x, dims, keepdim), seen.max(dims, keepdims=keepdim))
    close(reductions.mean(x, dims, keepdim), seen.mean(dims, keepdims=keepdim))
    close(reductions.var(x, dims, False, keepdim), seen.var(dims, keepdims=keepdim))
    assert reductions.argmax(x, dims[0]).tolist() == seen.argmax(dims[0]).tolist()
    found = reductions.max_(x, dims[0])
    assert found.values.tolist() == seen.max(dims[0]).tolist()
    assert found.indices.tolist() == seen.argmax(dims[0]).tolist()
    close(scans.cumsum(x, dims[0]), seen.cumsum(dims[0]))


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 10**9), st.integers(1, 10**9), st.booleans(), st.sampled_from([1, 2, 4, 8]))
def test_pieces_cover_everything_and_none_is_empty(outputs, count, is_inner, wide):
    work = plan_work(outputs * (1 if is_inner else wide), count, is_inner, wide)
    assert 1 <= work.parts <= MAX_PIECES
    assert (work.parts - 1) * work.chunk < count <= work.parts * work.chunk
    assert work.parts == 1 or not is_inner or work.chunk % wide == 0
    assert work.lanes in (1, 2, 4, 8, 16, 32, 64, 128, 256)
    assert work.across or work.lanes <= 32 or work.lanes == 256
    assert plan_work(outputs, count, is_inner, wide, blocks=0).parts == 1


def test_one_sum_of_many_elements_uses_many_blocks():
    walk = plan_reduction((1 << 24,), (1,), (0,))
    assert walk.work.parts > 500
    assert walk.work.grid(walk.outputs).blocks[0] == walk.work.parts


def test_few_short_columns_are_not_cut_into_pieces():
    for count, columns, wide in ((256, 256, 4), (1024, 256, 4), (1024, 1024, 4), (1000, 768, 8)):
        work = plan_work(columns, count, is_inner=False, wide=wide)
        assert (work.parts, work.lanes, work.chunk) == (1, 64, count)
    for count, columns, wide in ((1025, 256, 4), (8192, 768, 8), (1024, 256, 1), (1024, 50304, 4)):
        assert plan_work(columns, count, is_inner=False, wide=wide).parts > 1


@pytest.mark.parametrize(
    ("shape", "strides", "dims", "wide"),
    [
        ((6, 8), (8, 1), (1,), 4),
        ((6, 8), (8, 1), (0,), 4),
        ((6, 9), (9, 1), (1,), 4),
        ((6, 7), (7, 1), (1,), 1),
        ((6, 9), (9, 1), (0,), 1),
        ((6, 9), (12, 1), (1,), 4),
        ((9,), (1,), (0,), 4),
        ((3,), (1,), (0,), 1),
        ((6, 8), (16, 2), (1,), 1),
        ((2, 3, 8), (24, 8, 1), (0, 2), 4),
        ((2, 3, 6), (18, 6, 1), (0, 2), 1),
        ((2, 3, 8), (24, 8, 1), (1,), 4),
        ((8, 6), (1, 8), (0,), 4),
    ],
)
def test_loads_are_wide_where_every_one_is_aligned(shape, strides, dims, wide):
    assert plan_reduction(shape, strides, dims, widest=4).work.wide == wide
    assert plan_reduction(shape, strides, dims, widest=1).work.wide == 1


EDGES = [1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 127, 128, 129, 257, 1023, 4097]


@pytest.mark.parametrize(
    "kind", ["float32", "int8", *(pytest.param(kind, marks=pytest.mark.full) for kind in ("bfloat16", "float64"))]
)
def test_sizes_around_every_width_from_every_start(kind, gpus):
    """Rows, columns and all of [3, size] and [size, 3], aligned and not, dense and not, against NumPy."""
    kind = dtypes.BY_NAME[kind]
    for size in EDGES:
        values = np.random.default_rng(size).integers(-4, 5, 1 + 3 * size)
        for start in (0, 1):
            flat = tensor(values, dtype=kind).cuda()[start : start + 3 * size]
            for shape in ((3, size), (size, 3)):
                check_reductions(flat.view(*shape), values[start : start + 3 * size].reshape(shape))
            check_reductions(flat.view(3, size)[:, ::2], values[start : start + 3 * size].reshape(3, size)[:, ::2])


def check_reductions(x, expected):
    for dim in (0, 1, (0, 1)):
        assert reductions.sum_(x, dim, dtype=dtypes.float64).tolist() == expected.sum(dim).tolist()
        assert reductions.amin(x, dim).tolist() == expected.min(dim).tolist()
    for dim in (0, 1):
        assert reductions.argmax(x, dim).tolist() == expected.argmax(dim).tolist()


@pytest.mark.parametrize("shape", [(2, 3, 16, 5), (4, 8, 8, 8), (3, 1000, 1, 7)])
def test_several_dimensions_at_once(shape, gpus):
    values = np.random.default_rng(4).integers(-9, 9, shape)
    x = tensor(values, dtype=dtypes.float32).cuda()
    for dims in ((0, 2, 3), (1, 3), (0, 1), (2, 3), (0, 3)):
        assert reductions.sum_(x, dims).tolist() == values.sum(dims).tolist()
        found = reductions.var(x, dims).cpu().numpy()
        np.testing.assert_allclose(found, values.var(dims, ddof=1), rtol=1e-5)


@pytest.mark.parametrize("shape", [(300_000,), (5, 70_000), (70_000, 5), (40, 900), (900, 40)])
def test_variance_is_read_once_and_does_not_cancel(shape, gpus):
    values = np.random.default_rng(5).standard_normal(shape) + 100
    x = tensor(values, dtype=dtypes.float32).cuda()
    rounded = values.astype(np.float32).astype(np.float64)
    for dim in range(len(shape)):
        std = rounded.std(dim, ddof=1)
        error = 3e-5 * std**2 + 2e-5 * std  # a mean of 100 is off by 8e-6, and so is every distance from it
        assert (abs(reductions.var(x, dim).cpu().numpy() - std**2) <= error).all()
        assert (abs(reductions.std(x, dim).cpu().numpy() - std) <= error / std).all()


def test_reduced_dimensions_collapse():
    walk = plan_reduction((4, 5, 6), (30, 6, 1), (1, 2))
    assert walk.layout == ((4, 30), [(30, 1)])
    assert (walk.kept, walk.outputs, walk.length) == (1, 4, 30)


@pytest.mark.parametrize("shape", [(70_001,), (3, 40_000), (40_000, 3)])
def test_pieces_give_the_same_values_as_numpy(shape):
    values = np.random.default_rng(1).integers(-1000, 1000, shape)
    x = tensor(values)
    assert plan_reduction(x.shape, x.strides, (x.shape.index(max(shape)),)).work.parts > 1
    for dim in range(len(shape)):
        assert reductions.sum_(x, dim).tolist() == values.sum(dim).tolist()
        assert reductions.argmin(x, dim).tolist() == values.argmin(dim).tolist()
        found = reductions.max_(x, dim)
        assert found.values.tolist() == values.max(dim).tolist()
        assert found.indices.tolist() == values.argmax(dim).tolist()
    close(reductions.std(x.to(dtypes.float64)), values.std(ddof=1), rtol=1e-9)


def test_pieces_on_a_virtual_gpu_give_the_same_bits():
    values = np.random.default_rng(2).standard_normal(70_001)
    on_cpu = reductions.sum_(tensor(values)).item()
    with machine(devices=1):
        x = tensor(values, device="cuda")
        assert reductions.sum_(x).item() == on_cpu
        assert reductions.argmax(x).item() == int(values.argmax())


def test_nothing_to_reduce_gives_the_neutral_element():
    x = tensor(np.zeros((3, 0), np.float32))
    assert reductions.sum_(x, 1).tolist() == [0.0] * 3
    assert reductions.prod_(x, 1).tolist() == [1.0] * 3
    assert reductions.all_(x).item() is True
    assert reductions.any_(x).item() is False
    assert np.isnan(reductions.mean(x).item())
    assert reductions.amax(x, 0).shape == (0,)
    assert scans.cumsum(x, 1).shape == (3, 0)
