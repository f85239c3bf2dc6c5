"""Copies between types and layouts, copies of rows, and fills.  Every copy and every factory uses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from math import gcd, prod
from operator import methodcaller
from typing import Any, NamedTuple

from .. import dtypes
from .. import strides as st
from ..dtypes import converted, dtype
from ..errors import ArgumentTypeError
from ..kernel import Grid, Kernel, Pointer, Scalar, Strided
from ..memory_formats import contiguous_format, preserve_format, strides_in
from .operator import Array, Call, ErrorSample, Number, Operand, Sample, Value, operator, passed_as
from .pointwise import (
    ACCESS_BYTES,
    MAX_GRID_BLOCKS,
    POINTWISE_SOURCE,
    PRELUDE,
    THREADS,
    KernelLayout,
    Pointwise,
    grid_over,
    kernel_layout,
    pointwise_grid,
    source_text,
    vector_width,
)

# copies of rows

WIDEST_UNIT = 16  # bytes that a thread moves at once where rows allow it
C_TYPES_BY_SIZE = {
    1: "unsigned char",
    2: "unsigned short",
    4: "unsigned int",
    8: "unsigned long long",
    WIDEST_UNIT: "Wide",
}
WARP = 32
UNITS_AHEAD = 4  # units that a thread loads before it stores the first
ROW_BLOCKS = 132 * 64  # for rows out of order, fewer blocks that loop over rows are faster
ROW_COPY_SOURCE = source_text("row_copy.cu")


def blocks_for(threads: int) -> int:
    """Return the number of blocks for `threads` threads.  Copies in order are fastest with a thread for each unit."""
    return min(-(-threads // THREADS), MAX_GRID_BLOCKS)


def unit_for(dtype: dtype, counts: Sequence[int], operands: Sequence[Any]) -> int:
    """Return the largest unit in bytes that divides all counts of elements and the addresses of all operands."""
    if not all(operand.is_aligned() for operand in operands):
        return dtype.itemsize
    return gcd(WIDEST_UNIT, *(count * dtype.itemsize for count in counts))


class RowCopy(NamedTuple):
    """The plan of a copy of rows between a strided and a contiguous array (kernels/row_copy.cu).

    unit: bytes of one access.  block, row: the strides of blocks and rows on the strided side, in units.
    width: units per row; 0 for rows that are not contiguous, which are copied element by element.
    lanes: threads per row.
    """

    unit: int
    block: int
    row: int
    width: int
    lanes: int

    def grid(self, rows: int, inner: int) -> Grid:
        if not self.width:
            return grid_over(rows * inner)
        rows_at_once = UNITS_AHEAD if self.width <= self.lanes else 1
        return Grid((min(blocks_for(-(-rows // rows_at_once) * self.lanes), ROW_BLOCKS), 1, 1), THREADS)


def lanes_for(width: int) -> int:
    """Return the number of threads for a row of `width` units.

    Up to a warp takes one unit each; wider rows take UNITS_AHEAD units each.
    """
    wanted = width if width <= WARP else max(-(-width // UNITS_AHEAD), WARP)
    return int(min(1 << (wanted - 1).bit_length(), THREADS))


def plan_row_copy(
    dtype: dtype, shape: Sequence[int], strides: Sequence[int], at: int, operands: Sequence[Any]
) -> RowCopy:
    """Plan a copy between a strided and a contiguous array, whose rows are the dimensions after `at`."""
    lead, tail = st.collapse(shape[:at], [strides[:at]]), st.collapse(shape[at + 1 :], [strides[at + 1 :]])
    if len(lead[0]) > 1 or tail[1][0] not in ((), (1,)):
        return RowCopy(dtype.itemsize, 0, 0, 0, 1)
    inner = tail[0][0] if tail[0] else 1
    block, row = lead[1][0][0] if lead[0] else 0, strides[at] if shape else 0
    unit = unit_for(dtype, (inner, block, row), operands)
    block, row, width = [count * dtype.itemsize // unit for count in (block, row, inner)]
    return RowCopy(unit, block, row, width, lanes_for(width))


# transposed copies

TRANSPOSE_TILE = 64  # elements of a side, as in transpose.cu
LEAST_FILLED = 0.25  # filled part of a matrix's tiles; below it, a copy by elements is faster


def tiled_layout(layout: KernelLayout) -> KernelLayout | None:
    """Return the layout for the transpose kernel, or None if tiles do not help.

    Dimensions are in the order: the fastest of the target, the fastest of the source, the others.
    """
    sizes, (target, source, *_) = layout
    moving = [dim for dim in range(len(sizes)) if source[dim]]
    fast = min(moving, key=lambda dim: source[dim], default=0)
    if fast == 0 or source[0] == 0 or _filled_share(sizes[0], sizes[fast]) < LEAST_FILLED:
        return None
    order = [0, fast, *(dim for dim in range(1, len(sizes)) if dim != fast)]
    return tuple(sizes[dim] for dim in order), [tuple(row[dim] for dim in order) for row in (target, source)]


def _filled_share(columns: int, rows: int) -> float:
    return columns * rows / (_tile_count(columns) * _tile_count(rows) * TRANSPOSE_TILE * TRANSPOSE_TILE)


def _tile_count(size: int) -> int:
    return -(-size // TRANSPOSE_TILE)


def tiled_grid(layout: KernelLayout) -> Grid:
    """Return the grid with one block per tile."""
    sizes = layout[0]
    return Grid((_tile_count(sizes[0]) * _tile_count(sizes[1]) * prod(sizes[2:]), 1, 1), THREADS)


@cache
def transpose_kernel(out: dtype, input: dtype, reference: Callable[..., None]) -> Kernel:
    """Return the kernel that copies `input` to `out` in tiles.

    Without conversion, types of one size share machine code.
    """
    if out is input:
        entry, types = f"transpose_{8 * out.itemsize}", [C_TYPES_BY_SIZE[out.itemsize]] * 3
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


# operators


class Convert(Pointwise):
    """The pointwise identity, from any type and layout to any other."""

    casts = True

    def lower(self, call: Any, input: Any, wanted: dtype | None = None, memory_format: Any = None) -> Any:
        if call.given is None:
            result = input.dtype if wanted is None else wanted
            strides = strides_in(call.called, memory_format or preserve_format, input.shape, input.strides)
            call.given = call.output(input.shape, result, strides)
            # float64 is rounded to half types through float32, unlike by NumPy's astype
            if call.is_on_host and not (input.dtype is dtypes.float64 and result.itemsize == 2):
                call.make_on_host(methodcaller("astype", result.numpy), input)
        return super().lower(call, input)

    def spread(
        self, kernel: Kernel, layout: KernelLayout, width: int, tensors: Sequence[Any]
    ) -> tuple[Kernel, Grid, KernelLayout]:
        """Return (kernel, grid, layout); the kernel transposes if the fastest dimensions of the two arrays differ."""
        tiled = tiled_layout(layout)
        if tiled is None:
            return super().spread(kernel, layout, width, tensors)
        out, input = kernel.params[:2]
        assert isinstance(out, Pointer) and isinstance(input, Pointer)
        return transpose_kernel(out.dtype, input.dtype, kernel.reference), tiled_grid(tiled), tiled


def _as_it_is(name: str, types: Sequence[dtype], common: dtype) -> tuple[Sequence[dtype], dtype]:
    return types, common


def _convert_samples() -> Iterator[Sample]:
    for wanted in (dtypes.float32, dtypes.float16, dtypes.int64, dtypes.uint8, dtypes.bool_):
        yield Sample((Array((3, 5), low=0, high=4), wanted))
    yield Sample((Array((4, 3), layout="transposed"), dtypes.float32))
    yield Sample((Array((40, 33), layout="transposed"),))
    yield Sample((Array((33, 40), layout="transposed"), dtypes.float32))
    yield Sample((Array((33, 40), layout="transposed"), None, contiguous_format))
    yield Sample((Array((0, 3)), dtypes.float32))
    yield Sample((Array(()), dtypes.bfloat16))


def _identity(input: Operand, dtype: Any = None, memory_format: Any = None) -> Any:
    """Copy `input` into dense memory, converted to `dtype` unless that is None.

    memory_format: None preserves the order of the strides.
    Shapes: the result has the input's shape.
    Host:   returns at once.
    """
    return input


def _only_input(input: Any) -> Any:
    return input


convert = Convert(
    _identity, _as_it_is, "input", 0.0,
    samples=_convert_samples, dtypes=dtypes.ALL, method=False, function=False, name="convert",
)  # fmt: skip
convert.body = _only_input


@convert.derivative
def _(grad: Any) -> Any:
    return grad  # autograd.fitting.fit converts it to the input's type


@cache
def fill_kernel(dtype: dtype) -> Kernel:
    number = "float64" if dtype.is_floating_point else "int64"
    source = f"""{POINTWISE_SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS})
fill_{dtype.name}({dtype.cuda}* out, {_C_TYPES[number]} value, long long numel) {{
  constexpr int pack = {ACCESS_BYTES // dtype.itemsize};
  const {dtype.cuda} stored = store<{dtype.cuda}>(({dtype.wide.cuda})value);
  Pack<{dtype.cuda}, pack> filled;
  for (int lane = 0; lane < pack; ++lane) filled.at[lane] = stored;
  const long long step = (long long)gridDim.x * blockDim.x, first = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  const long long packs = is_aligned<pack>(out) ? numel / pack : 0;
  for (long long i = first; i < packs; i += step) reinterpret_cast<Pack<{dtype.cuda}, pack>*>(out)[i] = filled;
  for (long long i = packs * pack + first; i < numel; i += step) out[i] = stored;
}}
"""

    def reference(out: Any, value: Any, numel: int) -> None:
        out[...] = dtype.wide.numpy.type(value)

    params = [Pointer("out", dtype, "w", ("numel",)), Scalar("value", number), Scalar("numel", "int64")]
    return Kernel(f"fill_{dtype.name}", source, params, reference, 0.0)


_C_TYPES = {"float64": "double", "int64": "long long"}


def _one_number(value: Value) -> Any:
    """Fill a tensor that is not dense with a number."""
    return value


strided_fill = Pointwise(
    _one_number, _as_it_is, "value", 0.0, samples=tuple, method=False, function=False, name="strided_fill"
)


def _fill_samples() -> Iterator[Sample]:
    for shape in ((3, 4), (), (0, 2)):
        yield Sample((Array(shape), 1))


def _no_number() -> Iterator[ErrorSample]:
    yield ErrorSample(
        (Array((3,)), "text"),
        ArgumentTypeError,
        "value' must be a number, not str: 'text'|value must be a number or a tensor",
    )


@operator(samples=_fill_samples, errors=_no_number, dtypes=dtypes.ALL, inplace=True, method=False, function=False)
def fill(call: Call, input: Operand, value: Number) -> Any:
    """Return a tensor like `input` with every element set to the number `value`.

    Shapes: the result has the input's shape.
    Host:   returns at once.
    Raises: ArgumentTypeError if `value` is not a number, ValueRangeError if the type cannot hold it.
    """
    out = call.given
    if out is None or out.shape != input.shape or out.dtype is not input.dtype:
        out = call.output(input.shape, input.dtype, st.preserved(input.shape, input.strides))
    # a dimension of stride 0 repeats one element, which is written once: kernels write neighbours in one access
    sizes = [size if step or not size else 1 for size, step in zip(out.shape, out.strides)]
    numel = prod(sizes)
    stored = passed_as(value, partial(converted, call.called, input.dtype))
    if numel and st.is_compact(sizes, out.strides):
        blocks = -(-numel * input.dtype.itemsize // (ACCESS_BYTES * THREADS))
        call.launch(fill_kernel(input.dtype), Grid((min(blocks, MAX_GRID_BLOCKS), 1, 1), THREADS), out, stored, numel)
    elif numel:
        width = vector_width(out.dtype, [])
        layout = kernel_layout(sizes, [out.strides], width)
        kernel = strided_fill.kernel(out.dtype, [None], (out.dtype,))
        call.launch(kernel, pointwise_grid(layout, width), out, stored, layout)
    return out


fill.writes_one_value = True


@fill.derivative
def _(grad: Any) -> Any:
    return None
