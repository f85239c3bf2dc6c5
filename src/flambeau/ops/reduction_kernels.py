"""Kernels of reductions, over any dimensions and strides (kernels/reduce.cu) and over whole rows (kernels/rows.cu).

Reductions of any dimensions:

- Half types are accumulated in float32 and integers in int64.  Each result is rounded once.
- The reduced dimensions are moved last and collapsed.  Nothing is copied.
- Few results of many elements take two launches: one reduces pieces, one joins them.  Few columns of up to 1024 rows
  take one launch with more threads for each column.
- Threads load 16 bytes at once (8 of one-byte types) where the values of a result, or the results, are contiguous and
  every such run is aligned.
- The order of accumulation depends only on sizes, strides and alignment, so results repeat exactly.

Kernels of whole rows (softmax, layer norm, class losses):

- A thread holds up to RUNS runs of a row.  The lanes of a row together hold one tile of it.
- Rows up to the tile of MOST_THREADS (64 KiB) are read once, longer ones tile by tile.
- Rows are even if each consists of whole runs that are aligned in every operand.  They are accessed WIDEST_ACCESS bytes
  at a time.  Other rows, and most long ones, are accessed element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from math import prod
from typing import Any, NamedTuple

from .. import strides as st
from ..dtypes import dtype, int64
from ..errors import IndexRangeError, ShapeError
from ..host import np
from ..kernel import MAX_DIMS, Grid, Kernel, Pointer, Scalar, Strided
from .pointwise import FULL_DEVICE_BLOCKS, PRELUDE, THREADS, source_text

Dims = int | Sequence[int] | None


def dims_of(name: str, dim: Dims, ndim: int) -> tuple[int, ...]:
    """Return the reduced dimensions, counted from the front and sorted.  None and () mean all of them."""
    if dim is None or isinstance(dim, (tuple, list)) and not dim:
        return tuple(range(ndim))
    dims = [st.wrap_dim(axis, ndim, name) for axis in st.as_ints(dim)]
    for repeated in dims:
        if dims.count(repeated) > 1:
            raise ShapeError(
                f"dim {repeated} appears multiple times in the list of dims {dim}",
                hint=f"name each once; of {ndim} dimensions, {repeated} is also {repeated - ndim}",
                operator=name,
            )
    return tuple(sorted(dims)) if ndim else ()


def reduced_shape(shape: Sequence[int], dims: Sequence[int], keepdim: bool) -> list[int]:
    if keepdim:
        return [1 if dim in dims else size for dim, size in enumerate(shape)]
    return [size for dim, size in enumerate(shape) if dim not in dims]


def restore_dims(value: Any, shape: Sequence[int], dim: Dims, keepdim: bool) -> Any:
    """Return a result with its reduced dimensions restored, as size 1."""
    return value if keepdim else value.reshape(reduced_shape(shape, dims_of("reshape", dim, len(shape)), True))


def reduced_count(shape: Sequence[int], dims: Sequence[int]) -> int:
    """Return the number of values that are reduced to one result."""
    return prod(shape[dim] for dim in dims)


def require_values(name: str, shape: Sequence[int], dim: Dims) -> None:
    """Raise IndexRangeError if a reduced dimension has no elements."""
    if dim is None and prod(shape) == 0:
        raise IndexRangeError(
            f"expected reduction dim to be specified for an input of shape {list(shape)}, without elements",
            hint="specify the reduction dim with the 'dim' argument",
            operator=name,
        )
    for axis in dims_of(name, dim, len(shape)):
        if shape[axis] == 0:
            raise IndexRangeError(
                f"expected reduction dim {axis} to have non-zero size, the shape is {list(shape)}",
                hint="reduce a dimension that has elements, or test numel() first",
                operator=name,
            )


# reductions of any dimensions

TARGET_BLOCKS = 132 * 8  # blocks that keep a large device busy
PIECE_BLOCKS = 132 * 16  # the target number of blocks when results are divided into pieces
MAX_PIECES = 132 * 16
STEPS_PER_PIECE = 16  # the fewest loads of each lane of a piece
STEPS_PER_LANE = 4  # about the number of loads of a lane of a short result
MIN_PIECES = 4  # fewer are not worth a second launch
WARP_STEPS = 32  # up to this many loads for each lane, a warp computes a result faster than a block does
WARP_COUNT = 1024  # up to this many values, a warp computes a row faster than a block does
COLUMN_THREADS = 64  # the fewest adjacent threads that load adjacent results
SHORT_LANES = 64  # threads for each of a few short columns, which save a second launch
SHORT_BLOCKS = 132 * 2  # the most blocks of such columns: more columns keep the device busy anyway
LOAD_BYTES = 16
MAX_WIDE = 8  # the most values that are loaded at once
REDUCE_SOURCE = PRELUDE + source_text("reduce.cu")


class Fold(NamedTuple):
    """A reduction in CUDA C++ and in NumPy: `finish(join of all map(x), scale)`.

    The finish OVER divides a floating point result by the scale, so a scale of 1 changes nothing.
    """

    name: str
    begin: str
    join: str
    ufunc: str
    map: str = "x"
    finish: str = "a"
    mapped: Callable[[Any], Any] | None = None
    finished: Callable[[Any, Any], Any] | None = None

    def of_pieces(self) -> Fold:
        """Return the reduction of a piece, whose result is not finished."""
        return self if self.finish == OVER else self._replace(finish="a", finished=None)


OVER = "over(a, scale)"


def _over(total: Any, scale: float) -> Any:
    return total / total.dtype.type(scale) if total.dtype.kind == "f" else total


SUM = Fold("sum", "0", "a + b", "add", finish=OVER, finished=_over)


class Work(NamedTuple):
    """The distribution of results over threads (kernels/reduce.cu).

    lanes: threads per result.  parts, chunk: the number of pieces, and the values of each.
    across: whether neighbouring threads load neighbouring results rather than neighbouring values.
    wide: the number of neighbouring values (with `across`, of results) that a thread loads at once.
    """

    lanes: int
    across: bool
    wide: int
    parts: int
    chunk: int

    def grid(self, outputs: int) -> Grid:
        per_block = THREADS // self.lanes * (self.wide if self.across else 1)
        return Grid((min(-(-outputs // per_block) * self.parts, FULL_DEVICE_BLOCKS), 1, 1), THREADS)


class ReductionPlan(NamedTuple):
    """The launch parameters of one reduction.

    layout: (shape, [strides]) of the input, its reduced dimensions last.  kept: the number of other dimensions.
    outputs: the number of results.  length: the values of each.
    """

    layout: tuple[Sequence[int], Sequence[Sequence[int]]]
    kept: int
    outputs: int
    length: int
    work: Work

    def numbers(self) -> tuple[int, ...]:
        """Return the values of WORK_PARAMETERS, in their order."""
        lanes, _, wide, parts, chunk = self.work
        return self.outputs, self.length, parts, chunk, self.kept, lanes, int(wide > 1)


def plan_reduction(
    shape: Sequence[int], strides: Sequence[int], dims: Sequence[int], widest: int = 1, blocks: int = PIECE_BLOCKS
) -> ReductionPlan:
    """Plan the reduction of `dims`, counted from the front.

    widest: the most values of one aligned load.  blocks: see `plan_work`.
    """
    rest = [dim for dim in range(len(shape)) if dim not in dims]
    kept, (kept_steps,) = st.collapse([shape[dim] for dim in rest], [[strides[dim] for dim in rest]])
    sizes, (steps,) = st.collapse([shape[dim] for dim in dims], [[strides[dim] for dim in dims]])
    outputs, count = prod(kept), prod(sizes)
    is_inner = not kept or min(steps, default=0) <= min(kept_steps)
    runs, run_steps = (sizes, steps) if is_inner else (kept, kept_steps)
    others = [*(kept_steps if is_inner else steps), *run_steps[:-1]]
    is_whole = runs[-1:] != () and runs[-1] % widest == 0 and all(step % widest == 0 for step in others)
    is_line = is_inner and len(runs) == 1 and runs[0] >= 2 * widest  # its ends are loaded one by one
    is_wide = run_steps[-1:] == (1,) and (is_line or is_whole)
    work = plan_work(outputs, count, is_inner, widest if is_wide else 1, blocks)
    return ReductionPlan(((*kept, *sizes), [(*kept_steps, *steps)]), len(kept), outputs, count, work)


def plan_work(outputs: int, count: int, is_inner: bool, wide: int = 1, blocks: int = PIECE_BLOCKS) -> Work:
    """Distribute a reduction over threads.

    is_inner: whether the values of one result are closer than the results.  blocks: the number of blocks for which
    pieces are cut; 0 for no pieces.
    """
    steps, columns = (-(-count // wide), outputs) if is_inner else (count, outputs // wide)
    if is_inner:
        lanes = _power_of_two(-(-steps // STEPS_PER_LANE), 32)
        if steps > 32 * WARP_STEPS or (steps > 32 * STEPS_PER_LANE and outputs * 64 < TARGET_BLOCKS * THREADS):
            lanes = THREADS
    else:
        lanes = 1 if columns >= TARGET_BLOCKS * THREADS else THREADS // _power_of_two(columns, COLUMN_THREADS)
        lanes = min(lanes, _power_of_two(-(-steps // STEPS_PER_LANE), THREADS))
    uncut = -(-columns * lanes // THREADS)
    parts = min(steps // (lanes * STEPS_PER_PIECE), blocks // max(uncut, 1), MAX_PIECES)
    if parts < MIN_PIECES:
        return Work(lanes, not is_inner, wide, 1, count)
    is_short = steps <= SHORT_LANES * STEPS_PER_PIECE and columns * SHORT_LANES <= SHORT_BLOCKS * THREADS
    if not is_inner and wide > 1 and lanes <= SHORT_LANES and is_short:
        return Work(SHORT_LANES, True, wide, 1, count)
    unit = lanes * wide if is_inner else 1  # every piece is then aligned as the first one is
    chunk = -(-count // (parts * unit)) * unit
    return Work(lanes, not is_inner, wide, -(-count // chunk), chunk)  # no piece is empty


def plan_join(parts: int, outputs: int, fewest: int = 32) -> tuple[int, Grid]:
    """Return (lanes, grid) of a kernel that joins the pieces [parts, outputs] of results, by a warp or block for each.

    fewest: the lanes of a result of fewer pieces than a warp has lanes.
    """
    lanes = THREADS if parts >= THREADS else 32 if parts >= 32 else fewest
    return lanes, Grid((min(-(-outputs * lanes // THREADS), FULL_DEVICE_BLOCKS), 1, 1), THREADS)


class Spread(NamedTuple):
    """The distribution of a row over threads in a kernel of whole rows (`join_group` of kernels/reduce.cu).

    parts is 1.
    """

    lanes: int
    across: bool
    parts: int


def plan_spread(outputs: int, count: int, is_inner: bool) -> Spread:
    """Distribute rows over threads.  is_inner: whether the values of one row are closer than the rows."""
    lanes = THREADS if is_inner and count > WARP_COUNT else 32 if is_inner else 8
    if not is_inner and outputs * lanes < TARGET_BLOCKS * THREADS and count > WARP_COUNT:
        lanes = 32
    if count <= 8 or (not is_inner and outputs >= TARGET_BLOCKS * THREADS):
        lanes = 1
    return Spread(lanes, lanes == 1 or not is_inner, 1)


def _power_of_two(wanted: int, limit: int) -> int:
    """Return the smallest power of two that is at least `wanted`, at most the limit."""
    return min(1 << max(wanted - 1, 0).bit_length(), limit)


def widest_load(operand: Any) -> int:
    """Return the most elements of an operand that one load may read."""
    return min(LOAD_BYTES // operand.dtype.itemsize, MAX_WIDE) if operand.is_aligned() else 1


def layout_along(
    shape: Sequence[int], operands: Sequence[Sequence[int]], dim: int
) -> tuple[tuple[Any, Any], int, int, bool]:
    """Return (layout with `dim` last and the rest collapsed, rows, size of `dim`, whether `dim` is the innermost)."""
    rest = [axis for axis in range(len(shape)) if axis != dim]
    strides_of_rest = [[strides[axis] for axis in rest] for strides in operands]
    sizes, steps = st.collapse([shape[axis] for axis in rest], strides_of_rest)
    size, along = (shape[dim], [strides[dim] for strides in operands]) if shape else (1, [1] * len(operands))
    layout = (*sizes, size), [(*before, step) for before, step in zip(steps, along)]
    is_inner = not sizes or along[-1] <= min(steps[-1])
    return layout, prod(sizes), size, is_inner


CACHED = 1 << 16  # elements for which the CPU holds intermediate values at a time
FEWEST_ROWS = 16  # the fewest rows at a time, so that loops over contiguous elements are long enough
WORK_PARAMETERS = [Scalar(name, "int64") for name in ("outputs", "count", "parts", "chunk", "kept", "lanes", "wide")]
WORK_STATEMENT = "const Work work{outputs, count, parts, chunk, kept, lanes, wide};"
WORK_ARGUMENTS = ", ".join(f"long long {param.name}" for param in WORK_PARAMETERS)


def reduction_source(entry: str, arguments: str, op: str, across: bool, statement: str = "") -> str:
    """Return the source of a kernel that reduces by `op`, an expression of kernels/reduce.cu.

    statement: stands before it.
    """
    return f"""
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({arguments},
    const __grid_constant__ Layout<1> layout, {WORK_ARGUMENTS}) {{
  {WORK_STATEMENT} {statement}
  reduce<{str(across).lower()}>({op}, work);
}}
"""


@cache
def fold_kernel(fold: Fold, source: dtype, wide: dtype, out: dtype, across: bool) -> Kernel:
    """Return the kernel that reads `source`, accumulates in `wide` and writes `out`."""
    entry = f"{fold.name}_{source.name}_{wide.name}_{out.name}{'_across' if across else ''}"
    value = wide.cuda
    code = f"""{REDUCE_SOURCE}
struct Meaning {{
  typedef {value} A;
  static A begin() {{ return {fold.begin}; }}
  static A map(A x) {{ return {fold.map}; }}
  static A join(A a, A b) {{ return {fold.join}; }}
  static A finish(A a, double scale) {{ return {fold.finish}; }}
}};
"""
    op = f"Fold<Meaning, {value}, {source.cuda}, {out.cuda}>{{out, input, layout, scale}}"
    code += reduction_source(entry, f"{out.cuda}* out, const {source.cuda}* input, double scale", op, across)

    def reference(
        result: Any, input: Any, scale: float, outputs: int, count: int, parts: int, chunk: int, *_: int
    ) -> None:
        total = np.empty((parts, outputs), wide.numpy)
        if input is None or count == 0:
            input = np.empty((outputs, count), wide.numpy)
        _fold_pieces(fold, input.reshape(outputs, count), chunk, total)
        result[...] = total if fold.finished is None else fold.finished(total, scale)

    params = [
        Pointer("out", out, "w", ("parts", "outputs")),
        Pointer("input", source, "r", "layout"),
        Scalar("scale", "float64"),
        Strided("layout", ("input",)),
        *WORK_PARAMETERS,
    ]
    return Kernel(entry, code, params, reference)


@cache
def select_kernel(largest: bool, source: dtype, across: bool) -> Kernel:
    """Return the kernel of the index of the largest or smallest value, and of the value unless `values` is absent."""
    entry = f"{'largest' if largest else 'smallest'}_{source.name}{'_across' if across else ''}"
    dtype = source.cuda
    op = f"Select<{str(largest).lower()}, {source.wide.cuda}, {dtype}, {dtype}>"
    op += "{values, indexes, input, numbers, layout, outputs}"
    arguments = f"{dtype}* values, long long* indexes, const {dtype}* input, const long long* numbers"

    def reference(
        values: Any, indexes: Any, input: Any, known: Any, outputs: int, count: int, parts: int, chunk: int, *_: int
    ) -> None:
        rows = host_rows(input, outputs, count, source.wide)
        find = np.argmax if largest else np.argmin
        every = np.arange(outputs)
        for first, pieces in host_pieces(rows, chunk, parts):
            at = find(pieces, 2) + chunk * np.arange(first, first + pieces.shape[1])
            for part, places in enumerate(at.T, first):
                indexes[part] = places if known is None else known[places, every]
                if values is not None:
                    values[part] = rows[every, places]

    pair = ("parts", "outputs")
    params = [
        Pointer("values", source, "w", pair),
        Pointer("indexes", int64, "w", pair),
        Pointer("input", source, "r", "layout"),
        Pointer("numbers", int64, "r", ("count", "outputs")),
        Strided("layout", ("input",)),
        *WORK_PARAMETERS,
    ]
    return Kernel(entry, REDUCE_SOURCE + reduction_source(entry, arguments, op, across), params, reference)


def host_rows(input: Any, outputs: int, count: int, wide: dtype) -> Any:
    """Return the values of each result, as the rows of a NumPy array."""
    if input is None or count == 0:
        return np.empty((outputs, count), wide.numpy)
    return input.astype(wide.numpy, copy=False).reshape(outputs, count)


def host_pieces(rows: Any, chunk: int, at_once: int) -> Iterator[tuple[int, Any]]:
    """Yield (number of the first piece, [outputs, pieces, chunk]) of a NumPy array; the last piece may be shorter."""
    outputs, count = rows.shape
    whole = count // chunk if chunk else 0
    for first in range(0, whole, at_once):
        last = min(first + at_once, whole)
        yield first, rows[:, first * chunk : last * chunk].reshape(outputs, last - first, chunk)
    if whole * chunk < count or not count:
        yield whole, rows[:, None, whole * chunk :]


def cached_pieces(rows: Any, chunk: int) -> Iterator[tuple[Any, Any]]:
    """Yield parts that stay in the processor's cache: (their place in [pieces, outputs], [outputs, pieces, chunk])."""
    outputs = len(rows)
    at_once = max(CACHED // max(chunk * outputs, 1), 1)
    height = outputs if chunk * outputs <= CACHED else max(CACHED // chunk, FEWEST_ROWS)
    for start in range(0, outputs, height):
        for first, pieces in host_pieces(rows[start : start + height], chunk, at_once):
            yield (slice(first, first + pieces.shape[1]), slice(start, start + height)), pieces


def _fold_pieces(fold: Fold, rows: Any, chunk: int, total: Any) -> None:
    """Fold the pieces of rows into total, [parts, outputs].  Mapped values are computed in parts that fit the cache."""
    join, dtype = getattr(np, fold.ufunc).reduce, total.dtype
    if fold.mapped is None:
        for first, pieces in host_pieces(rows, chunk, len(total)):
            join(pieces, 2, dtype, total[first : first + pieces.shape[1]].T)
        return
    for index, pieces in cached_pieces(rows, chunk):
        join(fold.mapped(pieces.astype(dtype, copy=False)), 2, dtype, total[index].T)


def run_fold(call: Any, fold: Fold, input: Any, dims: Sequence[int], out: Any, wide: dtype, scale: float = 1.0) -> None:
    """Queue the launches that fold `dims` of `input` into `out`, which is contiguous."""
    if not out.numel():
        return
    plan = checked_plan(call, input, dims)
    across = plan.work.across
    if plan.work.parts == 1:
        kernel = fold_kernel(fold, input.dtype, wide, out.dtype, across)
        call.launch(kernel, plan.work.grid(plan.outputs), out, input, scale, plan.layout, *plan.numbers())
        is_alike = input.dtype is wide is out.dtype and fold.mapped is None and input.is_contiguous()
        if call.is_on_host and is_alike and sorted(dims) == list(range(len(input.shape) - len(dims), len(input.shape))):
            call.make_on_host(_row_fold(fold, plan.outputs, plan.length, out, scale), input)
        return
    pieces = call.scratch((plan.work.parts, plan.outputs), wide)
    kernel = fold_kernel(fold.of_pieces(), input.dtype, wide, wide, across)
    call.launch(kernel, plan.work.grid(plan.outputs), pieces, input, 1.0, plan.layout, *plan.numbers())
    last = join_plan(pieces)
    kernel = fold_kernel(fold._replace(map="x", mapped=None), wide, wide, out.dtype, last.work.across)
    call.launch(kernel, last.work.grid(last.outputs), out, pieces, scale, last.layout, *last.numbers())


def _row_fold(fold: Fold, outputs: int, count: int, out: Any, scale: float) -> Callable[[Any], Any]:
    """Make a NumPy function that reduces the last dimensions of an array, as the kernel's reference does."""
    join, shape, dtype = getattr(np, fold.ufunc).reduce, tuple(out.shape), out.dtype.numpy
    finish = None if fold.finish == OVER and scale == 1 else fold.finished

    def fold_rows(array: Any) -> Any:
        result = np.empty(shape, dtype)
        join(array.reshape(outputs, count), 1, None, result.reshape(outputs))
        return result if finish is None else finish(result, scale)

    return fold_rows


def run_select(call: Any, largest: bool, input: Any, dims: Sequence[int], values: Any, indexes: Any) -> None:
    """Queue the launches that find the largest or smallest along `dims`; `values` may be None."""
    if not indexes.numel():
        return
    plan = checked_plan(call, input, dims)
    kernel = select_kernel(largest, input.dtype, plan.work.across)
    if plan.work.parts == 1:
        call.launch(kernel, plan.work.grid(plan.outputs), values, indexes, input, None, plan.layout, *plan.numbers())
        return
    shape = plan.work.parts, plan.outputs
    best = call.scratch(shape, input.dtype), call.scratch(shape, int64)  # values and indexes of each piece
    call.launch(kernel, plan.work.grid(plan.outputs), *best, input, None, plan.layout, *plan.numbers())
    last = join_plan(best[0])
    kernel = select_kernel(largest, input.dtype, last.work.across)
    call.launch(kernel, last.work.grid(last.outputs), values, indexes, *best, last.layout, *last.numbers())


def join_plan(pieces: Any) -> ReductionPlan:
    """Plan the second launch, which joins the pieces of each result."""
    return plan_reduction(pieces.shape, pieces.strides, (0,), widest_load(pieces), blocks=0)


def checked_plan(call: Any, input: Any, dims: Sequence[int], blocks: int = PIECE_BLOCKS) -> ReductionPlan:
    """Plan the reduction of an operand.  Raises ShapeError for too many dimensions."""
    plan = plan_reduction(input.shape, input.strides, dims, widest_load(input), blocks)
    if len(plan.layout[0]) > MAX_DIMS:
        raise ShapeError(
            f"{len(plan.layout[0])} dimensions do not collapse to {MAX_DIMS} or fewer: shape "
            f"{list(input.shape)}, strides {list(input.strides)}, reduced {list(dims)}",
            hint="make the operand contiguous, or reduce in two steps",
            operator=call.name,
        )
    return plan


def fold_dims(
    call: Any, fold: Fold, input: Any, dim: Dims, keepdim: bool, out: dtype, wide: dtype, scale: float = 1.0
) -> Any:
    """Reduce the dimensions `dim`, as the caller gave them, into a new tensor of type `out`."""
    dims = dims_of(call.name, dim, len(input.shape))
    result = call.output(reduced_shape(input.shape, dims, keepdim), out)
    run_fold(call, fold, input, dims, result, wide, scale)
    return result


# kernels of whole rows

ROW_SOURCE = REDUCE_SOURCE + source_text("rows.cu")
WARP = 32
WIDEST_ACCESS = 16  # bytes per run
RUNS = 4  # runs of a tile that a thread holds
MOST_SCATTERED = 4  # the most elements of a run of a row that is not even
MOST_THREADS = 1024  # per block
LONG_ROW_THREADS = 256  # per row of several tiles, if there are at least MANY_ROWS rows
MANY_ROWS = 132 * 4
ROW_BOUNDS = f"__launch_bounds__({MOST_THREADS})"
ROW_PARAMETERS = [Scalar(name, "int64") for name in ("rows", "size", "tiles", "lanes")]
ROW_ARGUMENTS = "long long rows, long long size, long long tiles, long long lanes"


class RowPlan(NamedTuple):
    """The distribution of rows over threads: `lanes` threads per row, in `tiles` steps (kernels/rows.cu)."""

    rows: int
    size: int
    tiles: int
    lanes: int

    def grid(self) -> Grid:
        """Return a grid with threads for every row.

        Blocks do not loop: the last wave of few long blocks is seldom full.
        """
        threads = max(self.lanes, THREADS) if self.lanes <= WARP else self.lanes
        return Grid((-(-self.rows * self.lanes // threads), 1, 1), threads)


def plan_rows(
    count: int, size: int, operands: Sequence[Any], starts: Sequence[Sequence[int]] = (), most_tiles: int = 1
) -> tuple[bool, RowPlan]:
    """Return (whether rows are even, plan) for `count` rows of `size` elements.

    operands: the arrays that are read or written along the rows; None is absent.
    starts: the strides of the operands that are not contiguous, the last one along a row.
    most_tiles: the most tiles of an even row.
    """
    there = [operand for operand in operands if operand is not None]
    run = WIDEST_ACCESS // max(operand.dtype.itemsize for operand in there)
    is_even = size % run == 0 and size <= run * RUNS * MOST_THREADS * most_tiles
    is_even = is_even and all(operand.is_aligned() for operand in there)
    is_even = is_even and all(steps[-1] == 1 and all(step % run == 0 for step in steps[:-1]) for steps in starts)
    held = RUNS * (run if is_even else min(run, MOST_SCATTERED))
    wanted = -(-size // held)
    lanes = -(-wanted // WARP) * WARP if wanted > WARP else 1 << (wanted - 1).bit_length()
    most = LONG_ROW_THREADS if count >= MANY_ROWS else MOST_THREADS
    if lanes > (most if most_tiles > 1 else MOST_THREADS):
        lanes = most
    return is_even, RowPlan(count, size, -(-size // (held * lanes)), lanes)


def even_variant(is_even: bool) -> tuple[str, str]:
    """Return (suffix of the kernel's name, template argument)."""
    return ("_even", "true") if is_even else ("", "false")


def across_grid(rows: int, lanes: int) -> Grid:
    """Return the grid for rows that are next to each other in memory, with `lanes` threads per row."""
    return Grid((max(1, min(-(-rows * lanes // THREADS), FULL_DEVICE_BLOCKS)), 1, 1), THREADS)
