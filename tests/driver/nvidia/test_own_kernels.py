"""The nvidia driver's own kernels for products and attention."""

from __future__ import annotations

import numpy as np
import pytest

from flambeau import dtypes, errors
from flambeau.driver.nvidia import own_kernels as own
from flambeau.driver.nvidia.compile import compile_cubin
from flambeau.driver.nvidia.own_kernels import (
    MAX_GRID_Z,
    SMALL_DEPTH,
    SMALL_SIDE,
    OwnProduct,
    gemm_kernel,
    grid_of,
    is_small,
    kernel_of,
    small_kernel,
    values_of,
)
from flambeau.host import address_of
from flambeau.kernel import Grid
from flambeau.library_operation import Attention, AttentionBackward, Gemm
from tests.driver.nvidia.host_arrays import array_of, strides

NUMBERS = dtypes.ALL[1:]


def run_reference(kernel, buffer):
    kernel.reference(*(array_of(each) if hasattr(each, "address") else each for each in kernel.bind(buffer)))


def operands(dtype, batch, m, n, k, seed=0):
    random = np.random.default_rng(seed)
    shapes = (batch, m, k), (batch, k, n), (n,)
    return [random.integers(0, 5, shape).astype(dtype.numpy) for shape in shapes]


@pytest.mark.parametrize("dtype", NUMBERS, ids=lambda each: each.name)
@pytest.mark.parametrize("with_bias", [False, True])
def test_the_reference_on_strided_operands(dtype, with_bias):
    a, b, bias = operands(dtype, 2, 3, 5, 4)
    a, b = a.transpose(0, 2, 1).copy().transpose(0, 2, 1), np.repeat(b, 2, axis=2)[:, :, ::2]
    out = np.zeros((2, 5, 3), dtype.numpy).transpose(0, 2, 1)
    problem = Gemm(dtype, 2, 3, 5, 4, strides(a), strides(b), strides(out), with_bias)
    kernel = gemm_kernel(dtype)
    run_reference(kernel, kernel.pack(values_of(problem, tuple(map(address_of, (out, a, b, bias))))))
    wanted = a.astype("float64") @ b.astype("float64") + (bias.astype("float64") if with_bias else 0)
    assert np.array_equal(out.astype("float64"), wanted)  # small integers: exact in every type


def test_integers_keep_their_low_bits():
    a, b = np.full((1, 1, 2), 100, "int8"), np.full((1, 2, 1), 3, "int8")
    out = np.zeros((1, 1, 1), "int8")
    problem = Gemm(dtypes.int8, 1, 1, 1, 2, strides(a), strides(b), strides(out))
    kernel = gemm_kernel(dtypes.int8)
    run_reference(kernel, kernel.pack(values_of(problem, (address_of(out), address_of(a), address_of(b), 0))))
    assert out[0, 0, 0] == 600 - 512


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_the_reference_of_an_activation(activation):
    a, b, bias = np.array([[[1.0], [-2.0]]]), np.ones((1, 1, 1)), np.array([0.5])
    out = np.zeros((1, 2, 1))
    problem = Gemm(dtypes.float64, 1, 2, 1, 1, strides(a), strides(b), strides(out), True, activation=activation)
    kernel = kernel_of(problem)
    run_reference(kernel, kernel.pack(values_of(problem, tuple(map(address_of, (out, a, b, bias))))))
    wanted = [1.5, 0.0] if activation == "relu" else [1.399571596, -0.100428404]  # x(1 + tanh(...)) / 2, in float64
    assert np.allclose(out[0, :, 0], wanted, atol=1e-8)


@pytest.mark.parametrize("dtype", NUMBERS, ids=lambda each: each.name)
@pytest.mark.parametrize("kernel", [gemm_kernel, small_kernel])
def test_every_type_compiles(nvrtc, kernel, dtype):
    assert compile_cubin(kernel(dtype), "sm_90").startswith(b"\x7fELF")


@pytest.mark.parametrize(
    ("sizes", "wanted"),
    [
        ((1, SMALL_SIDE, SMALL_SIDE, SMALL_DEPTH), True),
        ((2, 1, 1, 1), False),
        ((1, SMALL_SIDE + 1, 1, 1), False),
        ((1, 1, SMALL_SIDE + 1, 1), False),
        ((1, 1, 1, SMALL_DEPTH + 1), False),
    ],
)
def test_which_products_are_small(sizes, wanted):
    problem = Gemm(dtypes.float32, *sizes, (1, 1, 1), (1, 1, 1), (1, 1, 1))
    assert is_small(problem) == wanted
    assert kernel_of(problem) is (small_kernel if wanted else gemm_kernel)(dtypes.float32)


def test_there_is_one_kernel_per_type_and_none_for_bool():
    assert gemm_kernel(dtypes.int32) is gemm_kernel(dtypes.int32)
    with pytest.raises(errors.NotSupportedError, match=r"matrix products of torch\.bool elements"):
        gemm_kernel(dtypes.bool_)


@pytest.mark.parametrize(
    ("batch", "m", "n", "k", "blocks"),
    [
        (1, 1, 1, 1, (1, 1, 1)), (1, 16, 16, 1, (1, 1, 1)), (1, 17, 64, 1, (8, 1, 1)), (1, 32, 32, 33, (1, 1, 1)),
        (3, 33, 65, 1, (6, 1, 3)), (MAX_GRID_Z + 9, 1, 33, 1, (2, 1, MAX_GRID_Z)),
    ],
)  # fmt: skip
def test_one_block_makes_one_square(batch, m, n, k, blocks):
    assert grid_of(Gemm(dtypes.int32, batch, m, n, k, (1, 1, 1), (1, 1, 1), (1, 1, 1))) == Grid(blocks, 256)


def test_an_empty_product_launches_nothing():
    problem = Gemm(dtypes.int32, 1, 0, 4, 3, (0, 3, 1), (12, 4, 1), (0, 4, 1))
    plan = OwnProduct(problem, lambda *arguments: pytest.fail("launched"))
    plan.run((0, 0, 0, 0), 0, None)
    assert plan.workspace_nbytes == 0


def test_a_sum_of_nothing_is_launched_for_its_zeros():
    problem = Gemm(dtypes.float32, 1, 2, 2, 0, (0, 1, 1), (0, 2, 1), (4, 2, 1))
    launched = []
    OwnProduct(problem, lambda grid, arguments, stream: launched.append(grid)).run((1, 0, 0, 0), 0, None)
    assert launched == [Grid((1, 1, 1), 256)]


# attention

RANDOM = np.random.default_rng(2)
KINDS = dtypes.FLOATING_TYPES
STREAM = object()


def strided(shape, kind, filled=True):
    """An array with a gap after each row, and its heads inside of its rows."""
    b, h, rows, dims = shape
    values = RANDOM.uniform(-1, 1, (b, rows, h, dims + 3)) if filled else np.zeros((b, rows, h, dims + 3))
    return values.astype(kind.numpy)[..., :dims].swapaxes(1, 2)


def problem_of(kind, is_causal=True, sizes=(2, 4, 2, 5, 7, 6, 3)):
    """(the problem, its operands)."""
    b, h, g, q, k, d, e = sizes
    shapes = (b, h, q, d), (b, g, k, d), (b, g, k, e)
    inputs = [strided(shape, kind) for shape in shapes]
    out = strided((b, h, q, e), kind, filled=False)
    logsumexp = np.zeros((b, h, q), kind.wide.numpy)
    problem = Attention(kind, *sizes, 0.3, is_causal, *map(strides, (*inputs, out)))
    return problem, (out, logsumexp, *inputs)


def loads(launched):
    """A `load` whose kernels run at once: their references, on host memory."""

    def load(kernel):
        def launch(grid, arguments, stream):
            assert stream is STREAM
            launched.append((kernel.entry, grid))
            bound = kernel.bind(arguments)
            kernel.reference(*(array_of(each) if hasattr(each, "address") else each for each in bound))

        return launch

    return load


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("kind", KINDS, ids=lambda each: each.name)
def test_the_kernels_together_are_the_problems(kind, is_causal):
    problem, operands = problem_of(kind, is_causal)
    launched = []
    own.AttentionFallback(problem, loads(launched)).run(tuple(map(address_of, operands)), 0, STREAM)
    expected = [np.zeros_like(each) for each in operands[:2]]
    problem.reference(*expected, *operands[2:])
    assert all(np.array_equal(found, want) for found, want in zip(operands, expected))

    grad = strided(problem.out_shape, kind)
    results = [strided(each.shape, kind, filled=False) for each in operands[2:]]
    backward = AttentionBackward(problem, *map(strides, (grad, *results)))
    plan = own.AttentionBackwardFallback(backward, loads(launched))
    workspace = np.zeros(plan.workspace_nbytes, "uint8")
    everything = (*results, grad, *operands)
    plan.run(tuple(map(address_of, everything)), address_of(workspace), STREAM)
    expected = [np.zeros_like(each) for each in results]
    backward.reference(*expected, *everything[3:])
    for found, want in zip(results, expected):
        np.testing.assert_allclose(found.astype("float64"), want.astype("float64"), rtol=1e-6)
    names = [entry.removesuffix(f"_{kind.name}") for entry, _ in launched]
    assert names == ["attention", "attention_along", "attention_query_grad", "attention_key_grad"]


@pytest.mark.parametrize(
    "kind", [dtypes.bfloat16, pytest.param(dtypes.float64, marks=pytest.mark.full)], ids=lambda each: each.name
)
def test_every_kernel_compiles(nvrtc, kind, sample):
    for kernel in sample(own.attention_kernels(kind), 2):
        assert compile_cubin(kernel, "sm_90").startswith(b"\x7fELF")


@pytest.mark.parametrize(
    ("rows", "blocks"), [((1, 1, 1, 8), 1), ((2, 3, 16, 8), 6), ((2, 3, 17, 8), 12), ((2, 3, 0, 8), 0)]
)
def test_one_block_makes_16_rows_of_one_head(rows, blocks):
    assert own.attention_grid(rows) == (Grid((blocks, 1, 1), 256) if blocks else None)


def test_no_keys_have_no_gradients_to_launch():
    problem, _ = problem_of(dtypes.float32, sizes=(1, 1, 1, 2, 0, 4, 4))
    rows = (8, 8, 4, 1)
    launched = []
    plan = own.AttentionBackwardFallback(
        AttentionBackward(problem, rows, rows, rows, rows), lambda kernel: lambda *_: launched.append(kernel.entry)
    )
    plan.run((0,) * 9, 0, STREAM)
    assert launched == ["attention_along_float32", "attention_query_grad_float32"]


@pytest.mark.parametrize("sizes", [(1, 1, 1, 2, 2, 257, 8), (1, 1, 1, 2, 2, 8, 300)], ids=str)
def test_heads_that_do_not_fit_are_refused(sizes):
    problem, _ = problem_of(dtypes.float32, sizes=sizes)
    with pytest.raises(errors.NotSupportedError, match="up to 256"):
        own.AttentionFallback(problem, loads([]))
