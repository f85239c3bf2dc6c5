"""Matrix products without cuBLAS: where it is not installed, and for what it does not do (integers, odd strides).

One kernel per data type.  It is correct for every stride and size, and many times slower than cuBLAS.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any

from ...dtypes import BOOL, FLOATING, dtype
from ...errors import NotSupportedError
from ...kernel import Grid, Kernel, Pointer, Scalar, Strided
from ...problem import Gemm
from .handles import Stream

TILE = 32  # as in gemm.cu
THREADS = 256
MAX_GRID_Z = 65_535
PACKAGE = __package__.partition(".")[0]

Launch = Callable[[Grid, bytes, Stream], None]


class FallbackPlan:
    """A product on the kernel of this file.  `launch` puts the loaded kernel on a stream.  It needs no workspace."""

    workspace_nbytes = 0
    native = None

    def __init__(self, problem: Gemm, launch: Launch) -> None:
        self._problem = problem
        self._kernel = gemm_kernel(problem.dtype)
        self._grid = grid_of(problem)
        self._launch = launch

    def run(self, addresses: tuple[int, ...], workspace: int, stream: Stream) -> None:
        if self._grid is not None:
            self._launch(self._grid, self._kernel.pack(values_of(self._problem, addresses)), stream)


@cache
def gemm_kernel(of: dtype) -> Kernel:
    """The kernel of one data type: (out, a, b, bias, three layouts, n), strides in elements, bias absent or [n].

    Raises: NotSupportedError for bool.
    """
    if of.category == BOOL:
        raise NotSupportedError(f"gemm: there is no matrix product of {of!r} elements")
    meaning = Gemm(of, 1, 1, 1, 1, (1, 1, 1), (1, 1, 1), (1, 1, 1))

    def reference(out: Any, a: Any, b: Any, bias: Any, n: int) -> None:
        meaning.reference(out, a, b, bias)

    params = (
        Pointer("out", of, "w", "out_layout"),
        Pointer("a", of, "r", "a_layout"),
        Pointer("b", of, "r", "b_layout"),
        Pointer("bias", of, "r", ("n",)),
        Strided("out_layout", ("out",)),
        Strided("a_layout", ("a",)),
        Strided("b_layout", ("b",)),
        Scalar("n", "int64"),
    )
    return Kernel(f"gemm_{of.name}", _source(of), params, reference)


def values_of(problem: Gemm, addresses: tuple[int, ...]) -> tuple[Any, ...]:
    """What `gemm_kernel(problem.dtype).pack` takes for the operands (out, a, b, bias)."""
    out, a, b, bias = addresses
    batch, m, n, k = problem.batch, problem.m, problem.n, problem.k
    layouts = (
        ((batch, m, n), [problem.out_strides]),
        ((batch, m, k), [problem.a_strides]),
        ((batch, k, n), [problem.b_strides]),
    )
    return out, a, b, bias if problem.has_bias else 0, *layouts, n


def grid_of(problem: Gemm) -> Grid | None:
    """How a product is spread over the device; None if it has no element."""
    squares = -(-problem.m // TILE) * -(-problem.n // TILE)
    if squares * problem.batch == 0:
        return None
    return Grid((squares, 1, min(problem.batch, MAX_GRID_Z)), THREADS)


@cache
def warn_cublas_is_missing() -> None:
    """Say once per process what to install."""
    warnings.warn(
        "cuBLAS was not found, so matrix products run many times slower on flambeau's own kernel: "
        "pip install nvidia-cublas (nvidia-cublas-cu12 for CUDA 12)",
        RuntimeWarning,
        stacklevel=2,
    )


def _source(of: dtype) -> str:
    accumulator = of.compute if of.category == FLOATING else "unsigned long long"
    layouts = "Layout<1> out_layout, Layout<1> a_layout, Layout<1> b_layout"
    pointers = f"{of.cuda}* out, const {of.cuda}* a, const {of.cuda}* b, const {of.cuda}* bias"
    entry = (
        f'extern "C" __global__ void __launch_bounds__({THREADS})\n'
        f"gemm_{of.name}({pointers}, {layouts}, long long n) {{\n"
        f"    gemm<{of.cuda}, {accumulator}>(out, a, b, bias, out_layout, a_layout, b_layout);\n}}\n"
    )
    return "\n".join((device_text("ops/kernels/prelude.cu"), device_text("driver/nvidia/gemm.cu"), entry))


@cache
def device_text(path: str) -> str:
    """A file of device code, by its path in this package."""
    return resources.files(PACKAGE).joinpath(path).read_text(encoding="utf-8")
