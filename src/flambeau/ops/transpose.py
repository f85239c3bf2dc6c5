"""Copies between layouts whose fastest dimensions differ: tile by tile through shared memory (kernels/transpose.cu)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod

from ..dtypes import dtype
from ..kernel import Grid, Kernel, Pointer, Strided
from .pointwise import PRELUDE, source_text
from .pointwise_source import Walk

TILE = 64  # elements of a side, as in transpose.cu
THREADS = 256
LEAST_FILLED = 0.25  # of a matrix's tiles; with less, elements one by one are faster

_BITS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long long"}


def crossed(walk: Walk) -> Walk | None:
    """The kernel's layout (the target's fastest dimension, the source's, the rest), or None if tiles do not help."""
    sizes, (target, source, *_) = walk
    moving = [dim for dim in range(len(sizes)) if source[dim]]
    fast = min(moving, key=lambda dim: source[dim], default=0)
    if fast == 0 or source[0] == 0 or _filled(sizes[0], sizes[fast]) < LEAST_FILLED:
        return None
    order = [0, fast, *(dim for dim in range(1, len(sizes)) if dim != fast)]
    return tuple(sizes[dim] for dim in order), [tuple(each[dim] for dim in order) for each in (target, source)]


def _filled(columns: int, rows: int) -> float:
    return columns * rows / (_tiles(columns) * _tiles(rows) * TILE * TILE)


def _tiles(size: int) -> int:
    return -(-size // TILE)


def tiles(layout: Walk) -> Grid:
    """One block for every tile."""
    sizes = layout[0]
    return Grid((_tiles(sizes[0]) * _tiles(sizes[1]) * prod(sizes[2:]), 1, 1), THREADS)


@cache
def transposing(out: dtype, input: dtype, reference: Callable[..., None]) -> Kernel:
    """The kernel that copies `input` to `out`.  Types that are only moved share machine code by size."""
    if out is input:
        entry, types = f"transpose_{8 * out.itemsize}", [_BITS[out.itemsize]] * 3
    else:
        entry, types = f"transpose_{out.name}_{input.name}", [out.cuda, input.cuda, input.wide.cuda]
    source = f"""{PRELUDE}{source_text("transpose.cu")}
extern "C" __global__ void __launch_bounds__({THREADS})
{entry}({types[0]}* out, const {types[1]}* in, const __grid_constant__ Layout<2> layout) {{
  transpose<{", ".join(types)}>(out, in, layout);
}}
"""
    params = [
        Pointer("out", out, "w", "layout"), Pointer("input", input, "r", "layout"), Strided("layout", ("out", "input")),
    ]  # fmt: skip
    return Kernel(entry, source, params, reference, 0.0)
