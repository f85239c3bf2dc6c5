"""flambeau's own kernels for convolutions, where cuDNN is missing or refuses one (convolution.cu).

They are correct for every type, size and stride, sum in a fixed order, and are many times slower than cuDNN.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

from ...core.nvidia import Stream
from ...dtypes import BOOL, FLOATING, dtype
from ...errors import NotSupportedError
from ...kernel import Grid, Kernel, Param, Pointer, Scalar, Strided
from ...library_operation import CONVOLUTIONS, CONVOLVED, OF_WEIGHT, REFERENCES, Convolution, Sizes
from .own_kernels import Launch, device_text

THREADS = 256  # as in convolution.cu
MAX_BLOCKS = 1 << 20
SPATIAL = 3
OPERANDS = ("x", "w", "y")
NUMBERS = [f"{what}{dim}" for what in ("stride", "padding", "dilation") for dim in range(SPATIAL)]


class OwnConvolution:
    """A convolution on a kernel of this file.  load: loads a kernel and returns the function that launches it."""

    workspace_nbytes = 0
    native = None

    def __init__(self, problem: Convolution, load: Callable[[Kernel], Launch]) -> None:
        self._problem = problem
        self._kernel = convolution_kernel(problem.kind, problem.dtype)
        self._grid = grid_of(problem)
        self._launch = load(self._kernel)

    def run(self, addresses: tuple[int, ...], workspace: int, stream: Stream) -> None:
        if self._grid is not None:
            self._launch(self._grid, self._kernel.pack(values_of(self._problem, addresses)), stream)


@cache
def convolution_kernel(kind: str, of: dtype) -> Kernel:
    """The kernel of one kind and dtype: (x, w, y, three layouts, nine numbers, groups).  Raises NotSupportedError."""
    if of.category == BOOL:
        raise NotSupportedError(f"there is no convolution of {of!r} elements", operator="convolution")

    def reference(x: Any, w: Any, y: Any, *numbers: int) -> None:
        REFERENCES[kind](x, w, y, numbers[:3], numbers[3:6], numbers[6:9], numbers[9])

    modes = {name: "w" if result == kind else "r" for name, result in zip(OPERANDS, CONVOLVED)}
    params: list[Param] = [Pointer(name, of, mode, f"{name}_layout") for name, mode in modes.items()]
    params += [Strided(f"{name}_layout", (name,)) for name in OPERANDS]
    params += [Scalar(name, "int64") for name in (*NUMBERS, "groups")]
    return Kernel(f"{kind}_{of.name}", _source(kind, of, modes), params, reference, 2.0)


def convolution_kernels(of: dtype) -> tuple[Kernel, ...]:
    """Every kernel of one data type."""
    return tuple(convolution_kernel(kind, of) for kind in CONVOLUTIONS)


def _source(kind: str, of: dtype, modes: dict[str, str]) -> str:
    accumulator = of.compute if of.category == FLOATING else "unsigned long long"
    pointers = [f"{'const ' if mode == 'r' else ''}{of.cuda}* {name}" for name, mode in modes.items()]
    layouts = [f"const __grid_constant__ Layout<1> {name}_layout" for name in OPERANDS]
    numbers = [f"long long {name}" for name in (*NUMBERS, "groups")]
    listed = ", ".join("{" + ", ".join(NUMBERS[at : at + SPATIAL]) + "}" for at in range(0, len(NUMBERS), SPATIAL))
    call = f"{kind}<{of.cuda}, {accumulator}>(x, w, y, x_layout, w_layout, y_layout, steps, groups);"
    head = f'extern "C" __global__ void __launch_bounds__({THREADS})\n{kind}_{of.name}'
    entry = f"{head}({', '.join([*pointers, *layouts, *numbers])}) {{\n"
    body = f"    const Steps steps = {{{listed}}};\n    {call}\n}}\n"
    return "\n".join((device_text("ops/kernels/prelude.cu"), device_text("driver/nvidia/convolution.cu"), entry + body))


def values_of(problem: Convolution, addresses: tuple[int, ...]) -> tuple[Any, ...]:
    """The values that the kernel's `pack` takes for the operands (x, w, y)."""
    shapes = problem.x_shape, problem.w_shape, problem.y_shape
    strides = problem.x_strides, problem.w_strides, problem.y_strides
    layouts = [(_with_three(shape, 1), [_with_three(steps, 0)]) for shape, steps in zip(shapes, strides)]
    lead = SPATIAL - len(problem.stride)
    numbers = (problem.stride, 1), (problem.padding, 0), (problem.dilation, 1)
    steps = [number for given, missing in numbers for number in ((missing,) * lead + given)]
    return *addresses, *layouts, *steps, problem.groups


def _with_three(sizes: Sizes, missing: int) -> Sizes:
    """Sizes or strides with three spatial dimensions."""
    return (*sizes[:2], *(missing,) * (2 + SPATIAL - len(sizes)), *sizes[2:])


def grid_of(problem: Convolution) -> Grid | None:
    """The grid of a convolution: a thread, or for weights a block, for each element; None if there is none."""
    shapes = dict(zip(CONVOLVED, (problem.x_shape, problem.w_shape, problem.y_shape)))
    numel = prod(shapes[problem.kind])
    blocks = numel if problem.kind == OF_WEIGHT else -(-numel // THREADS)
    return Grid((min(blocks, MAX_BLOCKS), 1, 1), THREADS) if blocks else None
