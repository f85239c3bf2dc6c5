"""The family of reductions: every layout and choice of dimensions, how work is spread, pieces, and no values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flambeau import dtypes
from flambeau.ops import extremes, reduce, running
from flambeau.ops.reduction import MAX_PIECES, spread_of, walk_of
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
    close(reduce.sum_(x, dims, keepdim), seen.sum(dims, keepdims=keepdim))
    close(extremes.amax(x, dims, keepdim), seen.max(dims, keepdims=keepdim))
    close(reduce.mean(x, dims, keepdim), seen.mean(dims, keepdims=keepdim))
    close(reduce.var(x, dims, False, keepdim), seen.var(dims, keepdims=keepdim))
    assert extremes.argmax(x, dims[0]).tolist() == seen.argmax(dims[0]).tolist()
    found = extremes.max_(x, dims[0])
    assert found.values.tolist() == seen.max(dims[0]).tolist()
    assert found.indices.tolist() == seen.argmax(dims[0]).tolist()
    close(running.cumsum(x, dims[0]), seen.cumsum(dims[0]))


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 10**9), st.integers(1, 10**9), st.booleans())
def test_pieces_cover_everything_and_none_is_empty(outputs, count, is_inner):
    spread = spread_of(outputs, count, is_inner)
    chunk = -(-count // spread.parts)
    assert 1 <= spread.parts <= MAX_PIECES
    assert (spread.parts - 1) * chunk < count <= spread.parts * chunk
    assert spread_of(outputs, count, is_inner, may_split=False).parts == 1


def test_one_sum_of_many_elements_uses_many_blocks():
    walk = walk_of((1 << 24,), (1,), (0,))
    assert walk.spread.parts > 500
    assert walk.spread.grid(walk.outputs).blocks[0] == walk.spread.parts


def test_reduced_dimensions_collapse():
    walk = walk_of((4, 5, 6), (30, 6, 1), (1, 2))
    assert walk.layout == ((4, 30), [(30, 1)])
    assert (walk.kept, walk.outputs, walk.length) == (1, 4, 30)


@pytest.mark.parametrize("shape", [(70_001,), (3, 40_000), (40_000, 3)])
def test_pieces_give_the_same_values_as_numpy(shape):
    values = np.random.default_rng(1).integers(-1000, 1000, shape)
    x = tensor(values)
    assert walk_of(x.shape, x.strides, (x.shape.index(max(shape)),)).spread.parts > 1
    for dim in range(len(shape)):
        assert reduce.sum_(x, dim).tolist() == values.sum(dim).tolist()
        assert extremes.argmin(x, dim).tolist() == values.argmin(dim).tolist()
        found = extremes.max_(x, dim)
        assert found.values.tolist() == values.max(dim).tolist()
        assert found.indices.tolist() == values.argmax(dim).tolist()
    close(reduce.std(x.to(dtypes.float64)), values.std(ddof=1), rtol=1e-9)


def test_pieces_on_a_virtual_gpu_give_the_same_bits():
    values = np.random.default_rng(2).standard_normal(70_001)
    on_cpu = reduce.sum_(tensor(values)).item()
    with machine(devices=1):
        x = tensor(values, device="cuda")
        assert reduce.sum_(x).item() == on_cpu
        assert extremes.argmax(x).item() == int(values.argmax())


def test_nothing_to_reduce_gives_the_neutral_element():
    x = tensor(np.zeros((3, 0), np.float32))
    assert reduce.sum_(x, 1).tolist() == [0.0] * 3
    assert reduce.prod_(x, 1).tolist() == [1.0] * 3
    assert reduce.all_(x).item() is True
    assert reduce.any_(x).item() is False
    assert np.isnan(reduce.mean(x).item())
    assert extremes.amax(x, 0).shape == (0,)
    assert running.cumsum(x, 1).shape == (3, 0)
