"""The family of reductions: any dimensions, any strides, one kernel template (kernels/reduce.cu).

- Half types are accumulated in float32 and integers in int64; each result is rounded once.
- The reduced dimensions are moved last and collapsed; nothing is copied.
- Few results of many elements are made in two launches: pieces first, then the join of the pieces.
- The order of accumulation depends on sizes and strides alone, so results repeat exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from math import prod
from typing import Any, NamedTuple

from .. import strides as st
from ..dtypes import dtype, int64
from ..errors import ShapeError
from ..host import np
from ..kernel import MAX_DIMS, Grid, Kernel, Pointer, Scalar, Strided
from .dims import Dims, dims_of, reduced_shape
from .pointwise import MAX_BLOCKS, PRELUDE, THREADS, source_text

TARGET_BLOCKS = 132 * 8  # blocks that keep a large device busy
STEPS_PER_PIECE = 16  # each lane of a piece joins at least so many values
MIN_PIECES = 4  # fewer are not worth a second launch
MAX_PIECES = 1024
WARP_COUNT = 1024  # up to so many values, a warp makes a result faster than a block does
SOURCE = PRELUDE + source_text("reduce.cu")


class Fold(NamedTuple):
    """One value per result: `finish(join over map(x, center), scale)`, in CUDA C++ and in NumPy."""

    name: str
    begin: str
    join: str
    ufunc: str
    map: str = "x"
    finish: str = "a"
    mapped: Callable[[Any, Any], Any] | None = None
    finished: Callable[[Any, Any], Any] | None = None


SUM = Fold("sum", "0", "a + b", "add")


class Spread(NamedTuple):
    """How results are spread over threads: `lanes` per result (see kernels/reduce.cu), and pieces per result."""

    lanes: int
    across: bool
    parts: int

    def grid(self, outputs: int) -> Grid:
        blocks = -(-outputs * self.lanes // THREADS) * self.parts
        return Grid((min(blocks, MAX_BLOCKS), 1, 1), THREADS)


class Walk(NamedTuple):
    """An input with the reduced dimensions last: (shape, [strides]); `kept` others lead; `length` values per result."""

    layout: tuple[Sequence[int], Sequence[Sequence[int]]]
    kept: int
    outputs: int
    length: int
    spread: Spread

    def numbers(self, parts: int) -> tuple[int, int, int, int]:
        return self.outputs, self.length, parts, self.kept


def walk_of(shape: Sequence[int], strides: Sequence[int], dims: Sequence[int], may_split: bool = True) -> Walk:
    """Plan the reduction of `dims` (counted from the front)."""
    rest = [dim for dim in range(len(shape)) if dim not in dims]
    kept, (kept_steps,) = st.collapse([shape[dim] for dim in rest], [[strides[dim] for dim in rest]])
    sizes, (steps,) = st.collapse([shape[dim] for dim in dims], [[strides[dim] for dim in dims]])
    outputs, count = prod(kept), prod(sizes)
    is_inner = not kept or min(steps, default=0) <= min(kept_steps)
    spread = spread_of(outputs, count, is_inner, may_split)
    return Walk(((*kept, *sizes), [(*kept_steps, *steps)]), len(kept), outputs, count, spread)


def spread_of(outputs: int, count: int, is_inner: bool, may_split: bool = True) -> Spread:
    """is_inner: whether the values of one result lie closer together than the results do."""
    lanes = THREADS if is_inner and count > WARP_COUNT else 32 if is_inner else 8
    if not is_inner and not may_split and outputs * lanes < TARGET_BLOCKS * THREADS and count > WARP_COUNT:
        lanes = 32
    if count <= 8 or (not is_inner and outputs >= TARGET_BLOCKS * THREADS):
        lanes = 1
    across = lanes == 1 or not is_inner
    blocks = -(-outputs * lanes // THREADS)
    parts = min(count // (lanes * STEPS_PER_PIECE), TARGET_BLOCKS // max(blocks, 1), MAX_PIECES)
    if not may_split or parts < MIN_PIECES:
        return Spread(lanes, across, 1)
    chunk = -(-count // parts)
    return Spread(lanes, across, -(-count // chunk))  # no piece is empty


def lines_of(
    shape: Sequence[int], operands: Sequence[Sequence[int]], dim: int
) -> tuple[tuple[Any, Any], int, int, bool]:
    """(layout with `dim` last and the rest collapsed, rows, size of `dim`, whether rows are walked across)."""
    rest = [each for each in range(len(shape)) if each != dim]
    walked = [[strides[each] for each in rest] for strides in operands]
    sizes, steps = st.collapse([shape[each] for each in rest], walked)
    size, along = (shape[dim], [strides[dim] for strides in operands]) if shape else (1, [1] * len(operands))
    layout = (*sizes, size), [(*before, step) for before, step in zip(steps, along)]
    is_inner = not sizes or along[-1] <= min(steps[-1])
    return layout, prod(sizes), size, is_inner


_NUMBERS = [Scalar(name, "int64") for name in ("outputs", "count", "parts", "kept")]


@cache
def fold_kernel(fold: Fold, source: dtype, wide: dtype, out: dtype, lanes: int, across: bool) -> Kernel:
    """The kernel that reads `source`, accumulates in `wide` and writes `out`."""
    entry = f"{fold.name}_{source.name}_{wide.name}_{out.name}_{lanes}{'_across' if across else ''}"
    value = wide.cuda
    code = f"""{SOURCE}
struct Meaning {{
  typedef {value} A;
  static A begin() {{ return {fold.begin}; }}
  static A map(A x, A center) {{ return {fold.map}; }}
  static A join(A a, A b) {{ return {fold.join}; }}
  static A finish(A a, double scale) {{ return {fold.finish}; }}
}};
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({out.cuda}* out, const {source.cuda}* input,
    const {value}* center, const __grid_constant__ Layout<1> layout, long long outputs, long long count,
    long long parts, long long kept, double scale) {{
  const Fold<Meaning, {value}, {source.cuda}, {out.cuda}> fold{{out, input, center, layout, kept, scale}};
  reduce<{lanes}, {str(across).lower()}>(fold, outputs, count, parts);
}}
"""

    def reference(
        result: Any, input: Any, center: Any, outputs: int, count: int, parts: int, kept: int, scale: float
    ) -> None:
        rows = _rows(input, outputs, count, wide)
        mapped = rows if fold.mapped is None else fold.mapped(rows, center)
        join = getattr(np, fold.ufunc).reduce
        total = np.stack([join(piece, axis=1, dtype=wide.numpy) for piece in _pieces(mapped, parts)])
        result[...] = total if fold.finished is None else fold.finished(total, scale)

    params = [
        Pointer("out", out, "w", ("parts", "outputs")),
        Pointer("input", source, "r", "layout"),
        Pointer("center", wide, "r", ("outputs",)),
        Strided("layout", ("input",)),
        *_NUMBERS,
        Scalar("scale", "float64"),
    ]
    return Kernel(entry, code, params, reference)


@cache
def select_kernel(largest: bool, source: dtype, out: dtype, lanes: int, across: bool) -> Kernel:
    """The kernel that writes the largest or smallest of the values (unless absent), and its index."""
    entry = f"{'largest' if largest else 'smallest'}_{source.name}_{out.name}_{lanes}{'_across' if across else ''}"
    value = source.wide.cuda
    code = f"""{SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({out.cuda}* values, long long* indexes,
    const {source.cuda}* input, const long long* numbers, const __grid_constant__ Layout<1> layout, long long outputs,
    long long count, long long parts, long long kept) {{
  typedef Select<{str(largest).lower()}, {value}, {source.cuda}, {out.cuda}> Selecting;
  const Selecting select{{values, indexes, input, numbers, layout, kept, outputs}};
  reduce<{lanes}, {str(across).lower()}>(select, outputs, count, parts);
}}
"""

    def reference(
        values: Any, indexes: Any, input: Any, known: Any, outputs: int, count: int, parts: int, kept: int
    ) -> None:
        rows = _rows(input, outputs, count, source.wide)
        find = np.argmax if largest else np.argmin
        start, every = 0, np.arange(outputs)
        for part, piece in enumerate(_pieces(rows, parts)):
            at = start + find(piece, axis=1)
            indexes[part] = at if known is None else known[at, every]
            if values is not None:
                values[part] = rows[every, at]
            start += piece.shape[1]

    pair = ("parts", "outputs")
    params = [
        Pointer("values", out, "w", pair),
        Pointer("indexes", int64, "w", pair),
        Pointer("input", source, "r", "layout"),
        Pointer("numbers", int64, "r", ("count", "outputs")),
        Strided("layout", ("input",)),
        *_NUMBERS,
    ]
    return Kernel(entry, code, params, reference)


def _rows(input: Any, outputs: int, count: int, wide: dtype) -> Any:
    if input is None or count == 0:
        return np.empty((outputs, count), wide.numpy)
    return input.astype(wide.numpy, copy=False).reshape(outputs, count)


def _pieces(rows: Any, parts: int) -> Iterator[Any]:
    chunk = max(-(-rows.shape[1] // parts), 1)
    for part in range(parts):
        yield rows[:, part * chunk : (part + 1) * chunk]


def run_fold(
    call: Any,
    fold: Fold,
    input: Any,
    dims: Sequence[int],
    out: Any,
    wide: dtype,
    scale: float = 1.0,
    center: Any = None,
) -> None:
    """Queue the launches that fold `dims` of `input` into `out`, which is contiguous."""
    if not out.numel():
        return
    walk = _planned(call, input, dims)
    lanes, across, parts = walk.spread
    if parts == 1:
        kernel = fold_kernel(fold, input.dtype, wide, out.dtype, lanes, across)
        call.launch(kernel, walk.spread.grid(walk.outputs), out, input, center, walk.layout, *walk.numbers(1), scale)
        return
    pieces = call.scratch((parts, walk.outputs), wide)
    kernel = fold_kernel(fold._replace(finish="a", finished=None), input.dtype, wide, wide, lanes, across)
    call.launch(kernel, walk.spread.grid(walk.outputs), pieces, input, center, walk.layout, *walk.numbers(parts), scale)
    last = walk_of(pieces.shape, pieces.strides, (0,), may_split=False)
    kernel = fold_kernel(fold._replace(map="x", mapped=None), wide, wide, out.dtype, *last.spread[:2])
    call.launch(kernel, last.spread.grid(last.outputs), out, pieces, None, last.layout, *last.numbers(1), scale)


def run_select(call: Any, largest: bool, input: Any, dims: Sequence[int], values: Any, indexes: Any) -> None:
    """Queue the launches that find the largest or smallest along `dims`; `values` may be None."""
    if not indexes.numel():
        return
    walk = _planned(call, input, dims)
    lanes, across, parts = walk.spread
    if parts == 1:
        kernel = select_kernel(largest, input.dtype, input.dtype, lanes, across)
        call.launch(kernel, walk.spread.grid(walk.outputs), values, indexes, input, None, walk.layout, *walk.numbers(1))
        return
    pieces = call.scratch((parts, walk.outputs), input.dtype)
    places = call.scratch((parts, walk.outputs), int64)
    kernel = select_kernel(largest, input.dtype, input.dtype, lanes, across)
    call.launch(kernel, walk.spread.grid(walk.outputs), pieces, places, input, None, walk.layout, *walk.numbers(parts))
    last = walk_of(pieces.shape, pieces.strides, (0,), may_split=False)
    kernel = select_kernel(largest, input.dtype, input.dtype, *last.spread[:2])
    call.launch(kernel, last.spread.grid(last.outputs), values, indexes, pieces, places, last.layout, *last.numbers(1))


def _planned(call: Any, input: Any, dims: Sequence[int]) -> Walk:
    walk = walk_of(input.shape, input.strides, dims)
    if len(walk.layout[0]) > MAX_DIMS:
        raise ShapeError(
            f"{call.name}: {len(walk.layout[0])} dimensions do not collapse to {MAX_DIMS} or fewer: shape "
            f"{list(input.shape)}, strides {list(input.strides)}, reduced {list(dims)}",
            hint="make the operand contiguous, or reduce in two steps",
        )
    return walk


def fold_dims(
    call: Any, fold: Fold, input: Any, dim: Dims, keepdim: bool, out: dtype, wide: dtype, scale: float = 1.0
) -> Any:
    """A new tensor of type `out`: `dim` of the input, as the caller wrote it, folded."""
    dims = dims_of(call.name, dim, len(input.shape))
    result = call.output(reduced_shape(input.shape, dims, keepdim), out)
    run_fold(call, fold, input, dims, result, wide, scale)
    return result
