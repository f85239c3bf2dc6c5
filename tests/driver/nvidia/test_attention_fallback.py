"""The own attention: what its kernels mean, how they are packed and spread, and that they compile."""

from __future__ import annotations

import numpy as np
import pytest

from flambeau import dtypes, errors
from flambeau.driver.nvidia import attention_fallback as own
from flambeau.driver.nvidia.compile import compile_cubin
from flambeau.host import address_of, bytes_at
from flambeau.kernel import Grid, row_major
from flambeau.library_operation import Attention, AttentionBackward

RANDOM = np.random.default_rng(2)
KINDS = dtypes.FLOATING_TYPES
STREAM = object()


def array_of(access):
    """The NumPy array that an access names, on host memory."""
    steps = [step * access.dtype.itemsize for step in row_major(access)]
    flat = bytes_at(access.address, access.nbytes).view(access.dtype.numpy)
    return np.lib.stride_tricks.as_strided(flat, tuple(access.shape), steps)


def steps(array):
    return tuple(step // array.itemsize for step in array.strides)


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
    problem = Attention(kind, *sizes, 0.3, is_causal, *map(steps, (*inputs, out)))
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
    backward = AttentionBackward(problem, *map(steps, (grad, *results)))
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


@pytest.mark.parametrize("kind", [dtypes.bfloat16, dtypes.float64], ids=lambda each: each.name)
def test_every_kernel_compiles(nvrtc, kind):
    for kernel in own.kernels_of(kind):
        assert compile_cubin(kernel, "sm_90").startswith(b"\x7fELF")


@pytest.mark.parametrize(
    ("rows", "blocks"), [((1, 1, 1, 8), 1), ((2, 3, 16, 8), 6), ((2, 3, 17, 8), 12), ((2, 3, 0, 8), 0)]
)
def test_one_block_makes_16_rows_of_one_head(rows, blocks):
    assert own.grid_of(rows) == (Grid((blocks, 1, 1), 256) if blocks else None)


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
