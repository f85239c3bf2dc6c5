"""The reduction that variance and standard deviation share: values are read once (kernels/reduce.cu)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from ..dtypes import dtype
from ..host import np
from ..kernel import Grid, Kernel, Pointer, Scalar, Strided
from .pointwise import MAX_BLOCKS, THREADS
from .reduction import NUMBERS, SOURCE, pieces_of, planned, reducing, rows_of


@cache
def variance_kernel(source: dtype, across: bool) -> Kernel:
    """Squared distances from the mean, summed, over `scale`, or its root; or pieces: means, and such sums."""
    entry = f"variance_{source.name}{'_across' if across else ''}"
    value, kind = source.wide.cuda, source.cuda
    op = f"Variance<{value}, {kind}, {kind}>{{out, means, squares, input, layout, scale, root != 0}}"
    arguments = f"{kind}* out, {value}* means, {value}* squares, const {kind}* input, double scale, long long root"

    def reference(
        out: Any, means: Any, squares: Any, input: Any, scale: float, root: int, outputs: int, count: int, parts: int,
        chunk: int, *_: int,
    ) -> None:  # fmt: skip
        for part, piece in enumerate(pieces_of(rows_of(input, outputs, count, source.wide), parts, chunk)):
            center = piece.mean(axis=1)
            apart = np.square(piece - center[:, None]).sum(axis=1)
            if means is None:
                out[...] = _finished(apart, scale, root)
            else:
                means[part], squares[part] = center, apart

    params = [
        Pointer("out", source, "w", ("outputs",)),
        Pointer("means", source.wide, "w", ("parts", "outputs")),
        Pointer("squares", source.wide, "w", ("parts", "outputs")),
        Pointer("input", source, "r", "layout"),
        *_SCALARS,
        Strided("layout", ("input",)),
        *NUMBERS,
    ]
    return Kernel(entry, SOURCE + reducing(entry, arguments, op, across), params, reference, 4.0)


@cache
def join_kernel(wide: dtype, out: dtype) -> Kernel:
    """The variance of values from pieces of `chunk` values each but the last, of `count` together."""
    entry, value = f"join_variances_{wide.name}_{out.name}", wide.cuda
    names = ("root", "parts", "outputs", "chunk", "count")
    code = f"""{SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({out.cuda}* out, const {value}* means,
    const {value}* squares, double scale, {", ".join(f"long long {name}" for name in names)}) {{
  join_variances(out, means, squares, parts, outputs, scale, root != 0, chunk, count);
}}
"""

    def reference(
        result: Any, means: Any, squares: Any, scale: float, root: int, parts: int, outputs: int, chunk: int, count: int
    ) -> None:
        held = np.array([min(chunk, count - part * chunk) for part in range(parts)], wide.numpy)[:, None]
        center = (means * held).sum(axis=0) / wide.numpy.type(count)
        apart = (np.square(means - center) * held).sum(axis=0)
        result[...] = _finished(squares.sum(axis=0) + apart, scale, root)

    params = [
        Pointer("out", out, "w", ("outputs",)),
        Pointer("means", wide, "r", ("parts", "outputs")),
        Pointer("squares", wide, "r", ("parts", "outputs")),
        Scalar("scale", "float64"),
        *[Scalar(name, "int64") for name in names],
    ]
    return Kernel(entry, code, params, reference, 8.0)


_SCALARS = [Scalar("scale", "float64"), Scalar("root", "int64")]


def _finished(squares: Any, scale: float, root: int) -> Any:
    square = squares / squares.dtype.type(scale)
    return np.sqrt(square) if root else square


def run_variance(call: Any, input: Any, dims: Sequence[int], out: Any, scale: float, root: bool) -> None:
    """Queue the launches that put the variance along `dims` of `input` into `out`, which is contiguous."""
    if not out.numel():
        return
    walk = planned(call, input, dims)
    kernel = variance_kernel(input.dtype, walk.work.across)
    if walk.work.parts == 1:
        values = (out, None, None, input, scale, int(root), walk.layout, *walk.numbers())
        call.launch(kernel, walk.work.grid(walk.outputs), *values)
        return
    shape, wide = (walk.work.parts, walk.outputs), input.dtype.wide
    means, squares = call.scratch(shape, wide), call.scratch(shape, wide)
    values = (means, squares, input, scale, int(root), walk.layout, *walk.numbers())
    call.launch(kernel, walk.work.grid(walk.outputs), None, *values)
    grid = Grid((min(-(-walk.outputs // (THREADS // 32)), MAX_BLOCKS), 1, 1), THREADS)
    numbers = (scale, int(root), walk.work.parts, walk.outputs, walk.work.chunk, walk.length)
    call.launch(join_kernel(wide, out.dtype), grid, out, means, squares, *numbers)
