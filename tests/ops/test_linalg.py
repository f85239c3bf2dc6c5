"""Matrix products: values for every rank and layout, empty products, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flambeau import dtypes
from flambeau.errors import DtypeError, ShapeError
from flambeau.ops import linalg
from flambeau.tensor.factories import tensor
from flambeau.testing import gradcheck, machine

RANDOM = np.random.default_rng(4)


def leaf(*shape):
    return tensor(RANDOM.standard_normal(shape), requires_grad=True)


SHAPES = [
    ((2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((3,), (5, 3, 4)), ((5, 2, 3), (3,)),
    ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)), ((6, 1, 2, 3), (5, 3, 4)),
    ((6, 5, 2, 3), (5, 3, 4)),
    ((1, 2, 3), (5, 3, 1)), ((2, 1), (1, 2)),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_every_rank_agrees_with_numpy(a, b):
    left, right = RANDOM.standard_normal(a), RANDOM.standard_normal(b)
    np.testing.assert_allclose(linalg.matmul(tensor(left), tensor(right)).numpy(), left @ right, rtol=1e-12)


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_gradients_for_every_rank(a, b):
    assert gradcheck(linalg.matmul, [leaf(*a), leaf(*b)])


@st.composite
def viewed(draw, rows, columns):
    """A [*, rows, columns] tensor seen through a permutation or a broadcast, with its values."""
    batch = draw(st.sampled_from([(), (2,), (3, 2), (1, 2), (3, 1)]))
    shape = (*batch, rows, columns)
    values = RANDOM.integers(-5, 5, shape).astype(np.float64)
    order = draw(st.permutations(range(len(shape))))
    inverse = np.argsort(order)
    x = tensor(np.ascontiguousarray(values.transpose(order))).permute(*[int(each) for each in inverse])
    return x, values


@settings(max_examples=80, deadline=None)
@given(st.data(), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3))
def test_every_layout_agrees_with_numpy(data, m, k, n):
    (a, left), (b, right) = data.draw(viewed(m, k)), data.draw(viewed(k, n))
    np.testing.assert_array_equal(linalg.matmul(a, b).numpy(), left @ right)


@pytest.mark.parametrize("kind", [dtypes.float16, dtypes.bfloat16])
def test_half_types_accumulate_in_float32(kind):
    a, b = RANDOM.standard_normal((4, 500)), RANDOM.standard_normal((500, 3))
    x, y = tensor(a, dtype=kind), tensor(b, dtype=kind)
    exact = linalg.matmul(x.to(dtypes.float32), y.to(dtypes.float32)).to(kind)
    found = linalg.matmul(x, y)
    assert found.dtype is kind
    assert found.tolist() == exact.tolist()


def test_integers_are_exact():
    big = tensor([[1 << 40, 3]])
    assert linalg.matmul(big, tensor([[5], [7]])).tolist() == [[5 * (1 << 40) + 21]]
    assert linalg.matmul(tensor([[200, 100]], dtype=dtypes.uint8), tensor([[1], [1]], dtype=dtypes.uint8)).item() == 44


def test_an_inner_size_of_zero_gives_zeros_or_the_bias():
    a, b = tensor(np.zeros((2, 0))), tensor(np.zeros((0, 3)))
    assert linalg.matmul(a, b).tolist() == [[0.0] * 3] * 2
    assert linalg.matmul(tensor(np.zeros((0, 3))), tensor(np.zeros((3, 2)))).shape == (0, 2)
    assert linalg.dot(tensor(np.zeros(0)), tensor(np.zeros(0))).item() == 0


def test_named_products():
    a, b, v = RANDOM.standard_normal((2, 3)), RANDOM.standard_normal((3, 4)), RANDOM.standard_normal(3)
    np.testing.assert_allclose(linalg.mm(tensor(a), tensor(b)).numpy(), a @ b, rtol=1e-12)
    np.testing.assert_allclose(linalg.mv(tensor(a), tensor(v)).numpy(), a @ v, rtol=1e-12)
    np.testing.assert_allclose(linalg.dot(tensor(v), tensor(v)).numpy(), v @ v, rtol=1e-12)
    np.testing.assert_allclose(linalg.outer(tensor(v), tensor(a[0])).numpy(), np.outer(v, a[0]), rtol=1e-12)
    batch = np.stack([a, a + 1])
    np.testing.assert_allclose(linalg.bmm(tensor(batch), tensor(np.stack([b, b]))).numpy(), batch @ b, rtol=1e-12)


def test_the_result_may_be_an_operand():
    a = tensor(np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert linalg.matmul(a, a, out=a) is a
    assert a.tolist() == [[7, 10], [15, 22]]


def test_tf32_is_off_until_it_is_asked_for():
    seen = []

    class Recorder:
        given, name, plans = None, "matmul", {}

        def output(self, shape, dtype):
            return tensor(np.zeros(shape), dtype=dtype)

        def library(self, problem, *operands):
            seen.append(problem.allow_tf32)

    a = tensor([[1.0]])
    assert linalg.allow_tf32.value is False
    linalg.matmul.body(Recorder(), a, a)
    linalg.allow_tf32.value = True
    try:
        linalg.matmul.body(Recorder(), a, a)
        linalg.matmul.body(Recorder(), a.to(dtypes.float64), a.to(dtypes.float64))
    finally:
        linalg.allow_tf32.value = False
    assert seen == [False, True, False]


def test_a_virtual_gpu_agrees():
    a, b = RANDOM.standard_normal((6, 1, 2, 3)), RANDOM.standard_normal((5, 3, 4))
    with machine(devices=1):
        found = linalg.matmul(tensor(a, device="cuda"), tensor(b, device="cuda"))
        np.testing.assert_allclose(found.cpu().numpy(), a @ b, rtol=1e-12)


def test_errors_name_every_value():
    a, b = tensor(np.zeros((2, 3))), tensor(np.zeros((4, 5)))
    text = r"matmul: mat1 and mat2 shapes cannot be multiplied \(2x3 and 4x5\)"
    with pytest.raises(ShapeError, match=text):
        linalg.matmul(a, b)
    with pytest.raises(DtypeError, match="no product of bool matrices"):
        linalg.matmul(tensor([[True]]), tensor([[True]]))
