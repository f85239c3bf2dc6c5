"""Matrix products on flambeau's own kernels: for types that cuBLAS lacks, and for small products.

- `small_kernel`: few elements and terms.  A launch takes the host 2 us less than cuBLAS's call, and an H200 1.5 to
  2.1 us, where cuBLAS takes 1.8 to 2.7, and for float32 up to 4.7.
- `gemm_kernel`: all else, where cuBLAS is not installed, and integers and odd strides.  It is correct for every stride
  and size, and many times slower than cuBLAS.
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
from ...library_operation import ACTIVATIONS, Gemm
from .handles import Stream

TILE = 32  # as in gemm.cu
SMALL_TILE, SMALL_DEPTH = 16, 32  # as in gemm.cu
SMALL_SIDE = 64
THREADS = 256
MAX_GRID_Z = 65_535
PACKAGE = __package__.partition(".")[0]
OPERANDS = 4  # out, a, b, bias: the first parameters

Launch = Callable[[Grid, bytes, Stream], None]


def is_small(problem: Gemm) -> bool:
    """Whether a product is for `small_kernel`."""
    return problem.batch == 1 and max(problem.m, problem.n) <= SMALL_SIDE and problem.k <= SMALL_DEPTH


def kernel_of(problem: Gemm) -> Kernel:
    """The kernel for a product.  Raises: NotSupportedError for bool."""
    return small_kernel(problem.dtype) if is_small(problem) else gemm_kernel(problem.dtype)


class OwnProduct:
    """A product on a kernel of this file, which needs no workspace.

    launch: puts the loaded `kernel_of(problem)` on a stream.  grid: None if there is nothing to launch.
    native: what runs it without Python in between, or None.
    """

    workspace_nbytes = 0

    def __init__(self, problem: Gemm, launch: Launch) -> None:
        self._problem = problem
        self._kernel = kernel_of(problem)
        self._launch = launch
        self.grid = grid_of(problem)
        self.native: Any = None

    def packed(self, addresses: tuple[int, ...]) -> bytes:
        """The arguments of a launch."""
        return self._kernel.pack(values_of(self._problem, addresses))

    def run(self, addresses: tuple[int, ...], workspace: int, stream: Stream) -> None:
        if self.grid is not None:
            self._launch(self.grid, self.packed(addresses), stream)


@cache
def gemm_kernel(of: dtype) -> Kernel:
    """The kernel of one data type: (out, a, b, bias, three layouts, n, the activation's place in ACTIVATIONS).

    Strides are in elements; bias is absent or [n].
    Raises: NotSupportedError for bool.
    """
    return _kernel("gemm", of)


@cache
def small_kernel(of: dtype) -> Kernel:
    """As `gemm_kernel`, for a product that `is_small`."""
    return _kernel("small_gemm", of)


def _kernel(name: str, of: dtype) -> Kernel:
    if of.category == BOOL:
        raise NotSupportedError(f"there is no matrix product of {of!r} elements", operator="gemm")

    def reference(out: Any, a: Any, b: Any, bias: Any, n: int, activation: int) -> None:
        meaning = Gemm(of, 1, 1, 1, 1, (1, 1, 1), (1, 1, 1), (1, 1, 1), activation=ACTIVATIONS[activation])
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
        Scalar("activation", "int32"),
    )
    return Kernel(f"{name}_{of.name}", _source(name, of), params, reference)


def values_of(problem: Gemm, addresses: tuple[int, ...]) -> tuple[Any, ...]:
    """What `kernel_of(problem).pack` takes for the operands (out, a, b, bias)."""
    out, a, b, bias = addresses
    batch, m, n, k = problem.batch, problem.m, problem.n, problem.k
    layouts = (
        ((batch, m, n), [problem.out_strides]),
        ((batch, m, k), [problem.a_strides]),
        ((batch, k, n), [problem.b_strides]),
    )
    return out, a, b, bias if problem.has_bias else 0, *layouts, n, ACTIVATIONS.index(problem.activation)


def grid_of(problem: Gemm) -> Grid | None:
    """How a product is spread over the device; None if it has no element."""
    side = SMALL_TILE if is_small(problem) else TILE
    squares = -(-problem.m // side) * -(-problem.n // side)
    if squares * problem.batch == 0:
        return None
    return Grid((squares, 1, min(problem.batch, MAX_GRID_Z)), THREADS)


@cache
def warn_cublas_is_missing() -> None:
    """Warn once per process that cuBLAS is missing, with the package to install."""
    warnings.warn(
        "cuBLAS was not found, so matrix products run many times slower on flambeau's own kernel: "
        "pip install nvidia-cublas (nvidia-cublas-cu12 for CUDA 12)",
        RuntimeWarning,
        stacklevel=2,
    )


def _source(name: str, of: dtype) -> str:
    accumulator = of.compute if of.category == FLOATING else "unsigned long long"
    layouts = "Layout<1> out_layout, Layout<1> a_layout, Layout<1> b_layout"
    pointers = f"{of.cuda}* out, const {of.cuda}* a, const {of.cuda}* b, const {of.cuda}* bias"
    entry = (
        f'extern "C" __global__ void __launch_bounds__({THREADS})\n'
        f"{name}_{of.name}({pointers}, {layouts}, long long n, int activation) {{\n"
        f"    {name}<{of.cuda}, {accumulator}>(out, a, b, bias, activation, out_layout, a_layout, b_layout);\n}}\n"
    )
    parts = (device_text(f"{each}.cu") for each in ("ops/kernels/prelude", "ops/kernels/math", "driver/nvidia/gemm"))
    return "\n".join((*parts, entry))


@cache
def device_text(path: str) -> str:
    """A file of device code, by its path in this package."""
    return resources.files(PACKAGE).joinpath(path).read_text(encoding="utf-8")
