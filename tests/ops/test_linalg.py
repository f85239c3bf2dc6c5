"""Matrix products and linear layers: values, gradients, the plans of products, and errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flambeau as torch
from flambeau import dtypes
from flambeau.errors import DtypeError, ShapeError
from flambeau.library_operation import Gemm
from flambeau.ops import linalg
from flambeau.ops.linalg import DENSE, FULL, IN_PLACE, Matrices, plan_gemm, unit_steps
from flambeau.strides import contiguous
from flambeau.tensor.factories import tensor
from flambeau.testing import gradcheck, machine


def planned(a_shape, b_shape, batch, a_strides=None, b_strides=None):
    a = Matrices(a_shape, a_strides or contiguous(a_shape))
    b = Matrices(b_shape, b_strides or contiguous(b_shape))
    return plan_gemm(dtypes.float32, a, b, batch, False, False)


def test_transposed_operands_are_not_copied():
    plan = planned((2, 3), (3, 4), (), (1, 2), (1, 3))
    assert (plan.a, plan.b) == (IN_PLACE, IN_PLACE)
    assert plan.gemm == Gemm(dtypes.float32, 1, 2, 4, 3, (0, 1, 2), (0, 1, 3), (8, 4, 1))


def test_a_batch_over_one_matrix_is_one_tall_product():
    plan = planned((5, 2, 3), (3, 4), (5,))
    assert (plan.gemm.batch, plan.gemm.m, plan.a, plan.b) == (1, 10, IN_PLACE, IN_PLACE)


def test_a_broadcast_batch_is_a_step_of_zero():
    plan = planned((2, 3), (5, 3, 4), (5,))
    assert (plan.gemm.batch, plan.gemm.a_strides[0], plan.gemm.b_strides[0]) == (5, 0, 12)


def test_what_has_no_unit_step_is_copied():
    assert planned((2, 3), (3, 4), (), (6, 2)).a == DENSE
    assert planned((6, 1, 2, 3), (5, 3, 4), (6, 5)).a == FULL
    assert planned((6, 1, 2, 3), (5, 3, 4), (6, 5)).b == FULL
    assert planned((2, 3), (3, 4), (), (0, 1)).a == DENSE  # expanded rows


@pytest.mark.parametrize(
    ("case", "expected"),
    [((1, 4, 99, 1), (4, 1)), ((4, 1, 1, 99), (1, 4)), ((1, 1, 7, 7), (1, 1)), ((1, 4, 0, 2), (1, 2)),
     ((4, 1, 3, 0), (3, 1)), ((4, 3, 0, 1), None), ((4, 3, 6, 2), None), ((1, 4, 9, 0), None)],
)  # fmt: skip
def test_free_steps_are_chosen_so_that_one_is_a_unit(case, expected):
    assert unit_steps(*case) == expected


# products

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
        given, name, plans, is_on_host = None, "matmul", {}, False

        def output(self, shape, dtype):
            return tensor(np.zeros(shape), dtype=dtype)

        def library(self, operation, *operands):
            seen.append(operation.allow_tf32)

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


def test_errors_of_products_name_every_value():
    a, b = tensor(np.zeros((2, 3))), tensor(np.zeros((4, 5)))
    text = r"matmul: mat1 and mat2 shapes cannot be multiplied \(2x3 and 4x5\)"
    with pytest.raises(ShapeError, match=text):
        linalg.matmul(a, b)
    with pytest.raises(DtypeError, match="products of bool are not supported"):
        linalg.matmul(tensor([[True]]), tensor([[True]]))


# layers


@pytest.mark.parametrize("shape", [(4,), (2, 4), (2, 1), (1, 4), ()])
def test_addmm_adds_whatever_broadcasts(shape):
    bias, a, b = RANDOM.standard_normal(shape), RANDOM.standard_normal((2, 3)), RANDOM.standard_normal((3, 4))
    found = linalg.addmm(tensor(bias), tensor(a), tensor(b))
    np.testing.assert_allclose(found.numpy(), bias + a @ b, rtol=1e-12)
    scaled = linalg.addmm(tensor(bias), tensor(a), tensor(b), beta=2, alpha=3)
    np.testing.assert_allclose(scaled.numpy(), 2 * bias + 3 * (a @ b), rtol=1e-12)
    unread = linalg.addmm(tensor(bias * np.nan), tensor(a), tensor(b), beta=0)
    np.testing.assert_allclose(unread.numpy(), a @ b, rtol=1e-12)


@pytest.mark.parametrize("lead", [(), (2,), (2, 3)])
def test_linear(lead):
    x, weight, bias = leaf(*lead, 3), leaf(4, 3), leaf(4)
    expected = x.detach().numpy() @ weight.detach().numpy().T + bias.detach().numpy()
    np.testing.assert_allclose(linalg.linear(x, weight, bias).detach().numpy(), expected, rtol=1e-12)
    assert gradcheck(linalg.linear, [x, weight, bias])
    linalg.linear(x, weight, bias).sum().backward()
    assert weight.grad.is_contiguous()


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2)])
def test_only_the_gradients_that_are_wanted(wanted):
    operands = [tensor(RANDOM.standard_normal(shape)) for shape in ((2, 3), (4, 3), (4,))]
    for place in wanted:
        operands[place].requires_grad_()
    x, weight, _ = (each.detach().numpy() for each in operands)
    upstream = RANDOM.standard_normal((2, 4))
    linalg.linear(*operands).backward(tensor(upstream))
    expected = upstream @ weight, upstream.T @ x, upstream.sum(0)
    for place, (operand, gradient) in enumerate(zip(operands, expected, strict=True)):
        assert (operand.grad is not None) == (place in wanted)
        if place in wanted:
            np.testing.assert_allclose(operand.grad.numpy(), gradient, rtol=1e-12)


@pytest.mark.parametrize("lead", [(), (2,), (2, 3)])
def test_the_gradients_have_gradients(lead):
    operands = [leaf(*lead, 3), leaf(4, 3), leaf(4)]

    def gradients(*operands):
        result = linalg.linear(*operands)
        return torch.autograd.grad((result * result).sum(), operands, create_graph=True)

    assert gradcheck(gradients, operands)


def test_an_input_that_needs_no_gradient_keeps_no_weight():
    x, weight = tensor(RANDOM.standard_normal((2, 3))), leaf(4, 3)
    result = linalg.linear(x, weight)
    with torch.no_grad():
        weight.zero_()  # is not read again, so nothing is lost
    result.sum().backward()
    np.testing.assert_allclose(weight.grad.numpy(), np.tile(x.numpy().sum(0), (4, 1)), rtol=1e-12)


def test_gradients_of_nothing():
    x, weight, bias = leaf(0, 3), leaf(4, 3), leaf(4)
    linalg.linear(x, weight, bias).sum().backward()
    assert x.grad.shape == (0, 3)
    assert weight.grad.tolist() == [[0.0] * 3] * 4
    assert bias.grad.tolist() == [0.0] * 4


def test_an_inner_size_of_0_leaves_the_bias():
    found = linalg.linear(tensor(np.zeros((2, 0))), tensor(np.zeros((3, 0))), tensor(np.array([1.0, 2, 3])))
    assert found.tolist() == [[1, 2, 3]] * 2


def test_errors_of_layers_name_every_value():
    a, b = tensor(np.zeros((2, 3))), tensor(np.zeros((4, 5)))
    with pytest.raises(DtypeError, match="input and weight to have the same dtype, but got float64 and float32"):
        linalg.linear(a, tensor(np.zeros((4, 3), np.float32)))
    with pytest.raises(ShapeError, match=r"linear: mat1 and mat2 shapes cannot be multiplied \(2x3 and 5x4\)"):
        linalg.linear(a, b)


@pytest.mark.parametrize("use_gelu", [False, True])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_an_activated_layer_is_the_activation_of_the_layer(use_gelu, kind):
    bias = torch.tensor([-100.0, 1.0, 2.0, 3.0], requires_grad=True)
    operands = [bias.to(kind), leaf(2, 3).to(kind), leaf(3, 4).to(kind)]
    found = torch._addmm_activation(*operands, use_gelu=use_gelu)
    layer = torch.addmm(*operands)
    wanted = torch.nn.functional.gelu(layer, approximate="tanh") if use_gelu else layer.relu()
    np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=1e-6)
    assert use_gelu or (found[:, 0] == 0).all()
    upstream = tensor(RANDOM.standard_normal((2, 4))).to(kind)
    for ours, theirs in zip(
        torch.autograd.grad(found, operands, upstream), torch.autograd.grad(wanted, operands, upstream), strict=True
    ):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_an_activated_layer_has_a_second_derivative(activation):
    operands = [leaf(2, 3), leaf(4, 3), leaf(4)]
    assert gradcheck(lambda *operands: linalg.linear_activation(*operands, activation), operands)
    x, weight = leaf(2, 3), leaf(4, 3)

    def slope(x, weight):
        return torch.autograd.grad(linalg.linear_activation(x, weight, None, activation).sum(), x, create_graph=True)[0]

    assert gradcheck(slope, [x, weight])


def test_nan_stays_and_a_sum_of_nothing_is_activated():
    bias, rows = torch.tensor([float("nan"), -1.0, 2.0]), torch.zeros(2, 1)
    found = torch._addmm_activation(bias, rows, torch.zeros(1, 3)).numpy()
    np.testing.assert_array_equal(found, [[np.nan, 0, 2]] * 2)
    np.testing.assert_array_equal(torch._addmm_activation(bias, torch.zeros(2, 0), torch.zeros(0, 3)).numpy(), found)


@pytest.mark.parametrize("use_gelu", [False, True])
def test_activated_integers_are_refused(use_gelu):
    operands = [torch.ones(*shape, dtype=torch.int64) for shape in ((4,), (2, 3), (3, 4))]
    with pytest.raises(DtypeError, match="_addmm_activation: mat1 must be floating point, got int64"):
        torch._addmm_activation(*operands, use_gelu=use_gelu)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64"])
def test_products_of_every_layout_are_numpys(dtype):
    own = getattr(torch, dtype)
    draw = np.random.default_rng(0)
    a, b, row = (draw.integers(-9, 9, shape) for shape in ((5, 6), (6, 4), (4,)))
    bias = torch.tensor(row, dtype=own)
    for left in (torch.tensor(a, dtype=own), torch.tensor(a.T.copy(), dtype=own).t(), torch.tensor(a)[:, :].to(own)):
        for right in (torch.tensor(b, dtype=own), torch.tensor(b.T.copy(), dtype=own).t()):
            for _ in range(2):
                found = left @ right
                assert found.is_contiguous() and found.tolist() == (a @ b).tolist()
            assert torch.addmm(bias, left, right).tolist() == (a @ b + row).tolist()
            assert torch.nn.functional.linear(left, right.t(), bias).tolist() == (a @ b + row).tolist()
            assert torch.mm(left[1:], right[:, 1:]).tolist() == (a[1:] @ b[:, 1:]).tolist()
            assert torch.mm(left, right, out=torch.empty(5, 4, dtype=own)).tolist() == (a @ b).tolist()
    square = torch.tensor(a[:5, :5], dtype=own)
    assert (square @ square.t()).tolist() == (a[:, :5] @ a[:, :5].T).tolist()
    assert (square.t() @ square).tolist() == (a[:, :5].T @ a[:, :5]).tolist()


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("name", ["addmm", "addmv", "addr", "baddbmm", "addbmm"])
def test_operands_that_are_not_read_have_gradients_of_zeros(name, device, gpus):
    shapes = {
        "addmm": ((2, 3), (3, 4)), "addmv": ((2, 3), (3,)), "addr": ((2,), (4,)),
        "baddbmm": ((2, 2, 3), (2, 3, 4)), "addbmm": ((2, 2, 3), (2, 3, 4)),
    }  # fmt: skip
    first, second = (torch.ones(shape, device=device) for shape in shapes[name])
    product = getattr(torch, name)(torch.zeros(1, device=device), first, second)
    for alpha in (1, 2):
        for shape in (product.shape, (1,)):
            unread = torch.full(shape, np.nan, device=device, requires_grad=True)
            found = getattr(torch, name)(unread, first, second, beta=0, alpha=alpha)
            assert found.requires_grad and found.detach().equal(alpha * product)
            found.sum().backward()
            assert unread.grad.shape == shape and not unread.grad.any()
    assert not getattr(torch, name)(product, first, second, beta=0).requires_grad
    unread = torch.ones(product.shape, device=device, requires_grad=True)
    with torch.no_grad():
        assert not getattr(torch, name)(unread, first, second, beta=0).requires_grad
    written = unread * 1
    getattr(written, f"{name}_")(first, second, beta=0).sum().backward()
    assert not unread.grad.any()
    weights = [first.requires_grad_(), second.requires_grad_()]
    getattr(torch, name)(product.detach(), first, second, alpha=0).sum().backward()
    assert not any(weight.grad.any() for weight in weights)


def test_products_of_sparse_matrices_take_dense_ones():
    a, b = torch.arange(6.0).reshape(2, 3), torch.arange(12.0).reshape(3, 4)
    for name in ("spmm", "dsmm"):
        product = getattr(torch, name)
        assert product(a, b).equal(a @ b) and product(input=a, mat2=b, out=torch.empty(2, 4)).equal(a @ b)
        with pytest.raises(ShapeError, match=f"^{name}: "):
            product(a, b[0])


def test_removed_functions_name_their_replacement():
    x = torch.eye(2)
    for name, replacement in (
        ("eig", "linalg.eigh"), ("lstsq", "linalg.lstsq"), ("matrix_rank", "linalg.matrix_rank"),
        ("solve", "linalg.solve"), ("symeig", "linalg.eigh"),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=f"^{name}: .*removed.*\nhint: .*{replacement}"):
            getattr(torch, name)(x, x)
        if name != "matrix_rank":
            with pytest.raises(RuntimeError, match=f"^{name}: .*removed"):
                getattr(x, name)(x)
