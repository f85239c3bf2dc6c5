"""Reductions: values against NumPy, types, ties, NaN, pieces, and gradients where something special happens."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flambeau import dtypes
from flambeau.errors import DtypeError, IndexRangeError, ShapeError
from flambeau.ops import reduce
from flambeau.ops.reduce import MAX_PIECES, spread_of, walk_of
from flambeau.tensor.factories import tensor
from flambeau.testing import gradcheck, machine

NAN = float("nan")
INF = float("inf")


def leaf(values):
    return tensor(values, dtype=dtypes.float64, requires_grad=True)


def gradient(function, values):
    x = leaf(values)
    function(x).sum().backward()
    return x.grad.tolist()


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
    close(reduce.amax(x, dims, keepdim), seen.max(dims, keepdims=keepdim))
    close(reduce.mean(x, dims, keepdim), seen.mean(dims, keepdims=keepdim))
    close(reduce.var(x, dims, False, keepdim), seen.var(dims, keepdims=keepdim))
    assert reduce.argmax(x, dims[0]).tolist() == seen.argmax(dims[0]).tolist()
    found = reduce.max_(x, dims[0])
    assert found.values.tolist() == seen.max(dims[0]).tolist()
    assert found.indices.tolist() == seen.argmax(dims[0]).tolist()
    close(reduce.cumsum(x, dims[0]), seen.cumsum(dims[0]))


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
        assert reduce.argmin(x, dim).tolist() == values.argmin(dim).tolist()
        found = reduce.max_(x, dim)
        assert found.values.tolist() == values.max(dim).tolist()
        assert found.indices.tolist() == values.argmax(dim).tolist()
    close(reduce.std(x.to(dtypes.float64)), values.std(ddof=1), rtol=1e-9)


def test_pieces_on_a_virtual_gpu_give_the_same_bits():
    values = np.random.default_rng(2).standard_normal(70_001)
    on_cpu = reduce.sum_(tensor(values)).item()
    with machine(devices=1):
        x = tensor(values, device="cuda")
        assert reduce.sum_(x).item() == on_cpu
        assert reduce.argmax(x).item() == int(values.argmax())


@pytest.mark.parametrize("kind", [dtypes.float16, dtypes.bfloat16])
def test_half_types_accumulate_in_float32(kind):
    assert reduce.sum_(tensor(np.ones(4096), dtype=kind)).item() == 4096
    assert reduce.sum_(tensor(np.ones(4097), dtype=kind), dtype=dtypes.float32).item() == 4097
    assert reduce.mean(tensor(np.full(60_000, 3.0), dtype=kind)).item() == 3


def test_result_types():
    for kind in (dtypes.bool_, dtypes.uint8, dtypes.int32):
        x = tensor([1, 1, 1], dtype=kind)
        assert reduce.sum_(x).dtype is dtypes.int64
        assert reduce.prod_(x).dtype is dtypes.int64
        assert reduce.cumsum(x, 0).dtype is dtypes.int64
        assert reduce.amax(x).dtype is kind
        assert reduce.sum_(x, dtype=dtypes.float32).tolist() == 3.0
    assert reduce.all_(tensor([1, 0], dtype=dtypes.uint8)).dtype is dtypes.uint8
    assert reduce.all_(tensor([1, 0], dtype=dtypes.int8)).dtype is dtypes.bool_
    assert reduce.sum_(tensor([1, -1]), dtype=dtypes.bool_).item() is True
    assert reduce.sum_(tensor([200, 100], dtype=dtypes.uint8)).item() == 300


def test_nothing_to_reduce_gives_the_neutral_element():
    x = tensor(np.zeros((3, 0), np.float32))
    assert reduce.sum_(x, 1).tolist() == [0.0] * 3
    assert reduce.prod_(x, 1).tolist() == [1.0] * 3
    assert reduce.all_(x).item() is True
    assert reduce.any_(x).item() is False
    assert np.isnan(reduce.mean(x).item())
    assert reduce.amax(x, 0).shape == (0,)
    assert reduce.cumsum(x, 1).shape == (3, 0)


def test_nan_is_found_first():
    x = tensor([[1.0, NAN, 5.0, NAN], [4.0, 7.0, 7.0, 1.0]])
    assert reduce.argmax(x, 1).tolist() == [1, 1]
    assert reduce.argmin(x, 1).tolist() == [1, 3]
    assert np.isnan(reduce.amax(x).item())
    assert np.isnan(reduce.amin(x, 1).tolist()[0])
    assert reduce.any_(tensor([NAN])).item() is True


def test_max_names_its_results():
    found = reduce.max_(tensor([[1.0, 3.0]]), dim=1, keepdim=True)
    assert found.values.tolist() == [[3.0]]
    assert found.indices.tolist() == [[1]]
    assert repr(found).startswith("torch.return_types.max(\nvalues=")
    values, indices = reduce.min_(tensor(2.0), 0)
    assert (values.item(), indices.item()) == (2.0, 0)


def test_ties_share_the_gradient_without_an_index_and_the_first_takes_it_with_one():
    ties = [[1.0, 3.0, 3.0], [3.0, 2.0, 2.0]]
    third = 1 / 3
    assert gradient(reduce.max_, ties) == [[0, third, third], [third, 0, 0]]
    assert gradient(lambda x: reduce.amax(x, 1), ties) == [[0, 0.5, 0.5], [1, 0, 0]]
    assert gradient(lambda x: reduce.max_(x, 1).values, ties) == [[0, 1, 0], [1, 0, 0]]


@pytest.mark.parametrize(
    ("values", "expected"),
    [([2.0, 3.0, 4.0], [12, 8, 6]), ([2.0, 0.0, 4.0], [0, 8, 0]), ([0.0, 0.0, 4.0], [0, 0, 0])],
)
def test_product_with_zeros_has_a_gradient(values, expected):
    assert gradient(reduce.prod_, values) == expected


def test_gradients_at_zero_are_zero():
    assert gradient(reduce.std, [1.0, 1.0]) == [0, 0]
    for p in (1, 2, 3, 0.5):
        assert gradient(lambda x, p=p: reduce.norm(x, p), [0.0, 0.0]) == [0, 0]
    assert gradient(lambda x: reduce.norm(x, 1), [0.0, 2.0]) == [0, 1]
    assert gradient(lambda x: reduce.norm(x, INF), [2.0, 2.0]) == [0.5, 0.5]


def test_norms():
    x = tensor([[3.0, -4.0], [0.0, 12.0]])
    found = [reduce.norm(x, p).item() for p in ("fro", 1, INF, -INF, 0)]
    assert found == [13, 19, 12, 0, 3]
    assert reduce.norm(x, dim=1).tolist() == [5, 12]


def test_variance_forms():
    x = tensor([[1.0, 2.0], [4.0, 9.0]])
    assert reduce.var(x, False).item() == reduce.var(x, correction=0).item() == 9.5
    assert reduce.var(x, 0, unbiased=False).tolist() == [2.25, 12.25]
    assert np.isnan(reduce.var(tensor([1.0])).item())
    far = tensor(np.array([1e8, 1e8 + 2]))
    assert reduce.var(far).item() == 2


@pytest.mark.parametrize("function", [reduce.sum_, reduce.mean, reduce.var, reduce.std, reduce.prod_, reduce.norm])
def test_second_derivatives(function):
    """The gradient's own derivative agrees with differences of the gradient."""
    values = np.array([[0.5, -1.25, 2.0], [1.5, 0.75, -0.5]])

    def slope(at):
        x = leaf(at)
        return x, (lambda y: y * y)(function(x)).sum()

    def first(at):
        x, out = slope(at)
        out.backward(create_graph=True)
        return x

    x = first(values)
    wanted = np.cos(np.arange(6.0)).reshape(2, 3)
    found, x.grad = x.grad, None
    (found * tensor(wanted)).sum().backward()
    step = 1e-6
    for index in np.ndindex(2, 3):
        moved = [values.copy(), values.copy()]
        moved[0][index] += step
        moved[1][index] -= step
        ends = [(first(at).grad.detach().numpy() * wanted).sum() for at in moved]
        assert x.grad.numpy()[index] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-5)


def test_running_sums_from_both_ends():
    x = tensor([[1, 2, 3], [4, 5, 6]])
    assert reduce.cumsum(x, 0).tolist() == [[1, 2, 3], [5, 7, 9]]
    assert reduce.running_sum(x, 1, None, True).tolist() == [[6, 5, 3], [15, 11, 6]]
    assert gradient(lambda each: reduce.cumsum(each, 0), [1.0, 1.0, 1.0]) == [3, 2, 1]
    gradcheck(lambda each: reduce.cumsum(each, -1), [leaf([[0.5, 1.0], [2.0, 3.0]])])


def test_errors_name_every_value():
    x = tensor(np.zeros((2, 3), np.float32))
    with pytest.raises(IndexRangeError, match=r"sum: dimension out of range .*\[-2, 1\], but got 5"):
        reduce.sum_(x, 5)
    with pytest.raises(ShapeError, match=r"mean: dim 1 appears multiple times in the list of dims \(1, -1\)"):
        reduce.mean(x, (1, -1))
    with pytest.raises(DtypeError, match="mean: input must be floating point, got int64"):
        reduce.mean(tensor([1]))
    with pytest.raises(ShapeError, match=r"max: expected reduction dim to be specified for an input of shape \[0, 3\]"):
        reduce.max_(tensor(np.zeros((0, 3))))
    with pytest.raises(IndexRangeError, match="amax: expected reduction dim 0 to have non-zero size"):
        reduce.amax(tensor(np.zeros((0, 3))), 0)
