"""The nvidia driver's own kernels for convolutions: their arguments, grids and sources."""

from __future__ import annotations

import numpy as np
import pytest

from flambeau import dtypes, errors
from flambeau.driver.nvidia import own_kernels as own
from flambeau.driver.nvidia.compile import compile_cubin
from flambeau.host import address_of
from flambeau.library_operation import CONVOLUTIONS, OF_INPUT, OF_OUTPUT, OF_WEIGHT, Convolution
from tests.driver.nvidia.host_arrays import array_of, strides

NUMBERS = dtypes.ALL[1:]


def operands(dtype, spatial):
    """(x, w, y) of small integers, with y in another order of memory."""
    random = np.random.default_rng(1)
    shapes = (2, 4, 5, 4, 3)[: 2 + spatial], (6, 2, 2, 3, 1)[: 2 + spatial], (2, 6, 5, 3, 3)[: 2 + spatial]
    x, w, y = (random.integers(0, 3, shape).astype(dtype.numpy) for shape in shapes)
    return x, w, np.moveaxis(np.ascontiguousarray(np.moveaxis(y, 1, -1)), -1, 1)


def problem_of(kind, dtype, arrays, spatial):
    steps = (1, 2, 1)[:spatial], (1, 2, 0)[:spatial], (2, 1, 1)[:spatial]
    return Convolution(kind, dtype, *(each.shape for each in arrays), *map(strides, arrays), *steps, 2)


@pytest.mark.parametrize("spatial", [2, 3])
@pytest.mark.parametrize("dtype", NUMBERS, ids=lambda each: each.name)
@pytest.mark.parametrize("kind", CONVOLUTIONS)
def test_the_arguments_of_a_launch(kind, dtype, spatial):
    arrays, wanted = operands(dtype, spatial), operands(dtype, spatial)
    problem, kernel = problem_of(kind, dtype, arrays, spatial), own.convolution_kernel(kind, dtype)
    problem.reference(*wanted)
    launched = []
    own.OwnConvolution(problem, lambda each: lambda grid, buffer, stream: launched.append((each, buffer))).run(
        tuple(map(address_of, arrays)), 0, None
    )
    assert launched[0][0] is kernel
    bound = kernel.bind(launched[0][1])
    kernel.reference(*(array_of(each) if hasattr(each, "address") else each for each in bound))
    assert [each.mode for each in bound[:3]] == [
        "w" if kind == result else "r" for result in (OF_INPUT, OF_WEIGHT, OF_OUTPUT)
    ]
    for found, want in zip(arrays, wanted):
        np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("dtype", dtypes.FLOATING_TYPES + (dtypes.int64,), ids=lambda each: each.name)
def test_every_kind_compiles(nvrtc, dtype, sample):
    for kernel in sample(own.convolution_kernels(dtype), 1):
        assert compile_cubin(kernel, "sm_90").startswith(b"\x7fELF")


def test_there_is_no_kernel_for_bool():
    with pytest.raises(errors.NotSupportedError, match=r"convolutions of torch\.bool elements"):
        own.convolution_kernel(OF_OUTPUT, dtypes.bool_)


def test_grids():
    arrays = operands(dtypes.float32, 2)
    blocks = [own.convolution_grid(problem_of(kind, dtypes.float32, arrays, 2)).blocks[0] for kind in CONVOLUTIONS]
    assert blocks == [1, 1, 6 * 2 * 2 * 3]
    empty = [each[:0] if at != 1 else each for at, each in enumerate(arrays)]
    assert own.convolution_grid(problem_of(OF_OUTPUT, dtypes.float32, empty, 2)) is None
