"""Sorting: sort, argsort, msort and topk.  Stable; NaN is last, or first in descending order.

Rows of up to TILE elements take one launch.  Longer ones are sorted by tiles, which are then merged in pairs.  Rows of
more than LONG_ROW elements are sorted digit by digit (kernels/radix.cu).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from .. import dtypes
from .. import strides as st
from ..dtypes import BOOL, FLOATING, bfloat16, dtype, float16, float32, float64, int32, int64
from ..errors import IndexRangeError
from ..host import np
from ..kernel import Grid, Kernel, Param, Pointer, Scalar
from . import results
from .copies import fill_kernel
from .operator import REGISTRY, Array, Call, ErrorSample, Operand, Sample, composite, operator
from .pointwise import FULL_DEVICE_BLOCKS, PRELUDE, grid_over, source_text
from .samples import bad_last
from .views import permute, transpose

TILE = 1024  # elements that one block sorts; kernels/sort.cu has the same number
WARP = 32  # threads; a block has a multiple of this
LONG_ROW = 16 * TILE
SELECT_ROW = 4096  # for rows of at least this many elements, a select is faster than a sort
HOST_SELECT_ROW = 64  # the same on the CPU
SELECT_SHARE = 8  # a select is used for at most 1 / 8 of the elements of a row


def _head(entry: str, threads: int, arguments: str, body: str) -> str:
    signature = f'extern "C" __global__ void __launch_bounds__({threads}) {entry}({arguments})'
    return f"{PRELUDE}{source_text('sort.cu')}\n{signature} {{ {body}; }}\n"


def _order(dtype: dtype, descending: bool) -> str:
    return f"{dtype.cuda}, {dtype.wide.cuda}, {'true' if descending else 'false'}"


@cache
def _tile_kernel(dtype: dtype, descending: bool) -> Kernel:
    entry = f"sort_tiles_{dtype.name}_{'down' if descending else 'up'}"
    arguments = f"{dtype.cuda}* keys, long long* places, const {dtype.cuda}* input, long long rows, long long n"
    body = f"sort_tile<{_order(dtype, descending)}>(keys, places, input, n, (n + TILE - 1) / TILE)"

    def reference(keys: Any, places: Any, input: Any, rows: int, n: int) -> None:
        sortable = keys_of(input, dtype, descending)
        for start in range(0, n, TILE):
            order = start + stable_order(sortable[:, start : start + TILE])
            keys[:, start : start + TILE] = np.take_along_axis(input, order, -1)
            places[:, start : start + TILE] = order

    shape = ("rows", "n")
    params: list[Param] = [
        Pointer("keys", dtype, "w", shape), Pointer("places", int64, "w", shape), Pointer("input", dtype, "r", shape),
        Scalar("rows", "int64"), Scalar("n", "int64"),
    ]  # fmt: skip
    return Kernel(entry, _head(entry, TILE // 2, arguments, body), params, reference, 50.0)


@cache
def _merge_kernel(dtype: dtype, descending: bool) -> Kernel:
    entry = f"merge_runs_{dtype.name}_{'down' if descending else 'up'}"
    arguments = (
        f"{dtype.cuda}* keys, long long* places, const {dtype.cuda}* old_keys, const long long* old_places, "
        f"long long rows, long long n, long long width"
    )
    body = f"merge_runs<{_order(dtype, descending)}>(keys, places, old_keys, old_places, rows, n, width)"

    def reference(keys: Any, places: Any, old_keys: Any, old_places: Any, rows: int, n: int, width: int) -> None:
        sortable = keys_of(old_keys, dtype, descending)
        for start in range(0, n, 2 * width):
            order = start + stable_order(sortable[:, start : start + 2 * width])
            keys[:, start : start + 2 * width] = np.take_along_axis(old_keys, order, -1)
            places[:, start : start + 2 * width] = np.take_along_axis(old_places, order, -1)

    shape = ("rows", "n")
    params: list[Param] = [
        Pointer("keys", dtype, "w", shape), Pointer("places", int64, "w", shape),
        Pointer("old_keys", dtype, "r", shape), Pointer("old_places", int64, "r", shape),
        Scalar("rows", "int64"), Scalar("n", "int64"), Scalar("width", "int64"),
    ]  # fmt: skip
    return Kernel(entry, _head(entry, 256, arguments, body), params, reference, 40.0)


def sort_rows_of(
    call: Any, input: Any, values: Any, indices: Any, shape: tuple[int, int], descending: bool, bits: int | None = None
) -> None:
    """Sort the rows of contiguous `input`, of shape (rows, n), into `values`, and their indexes into `indices`.

    indices: None if only values are needed.  bits: the number of low bits in which elements differ, or None for all.
    """
    rows, n = shape
    if not rows * n:
        return
    dtype = input.dtype
    if call.is_on_host:
        grid = Grid((1, 1, 1), 1)
        call.launch(host_sort_kernel(dtype), grid, values, indices, input, rows, n, int(descending))
        return
    if LONG_ROW < n < MOST_ELEMENTS:
        radix_sort(call, input, values, indices, rows, n, descending, bits)
        return
    indices = call.scratch((rows, n), int64) if indices is None else indices
    widths = [TILE << i for i in range(max(0, (-(-n // TILE) - 1).bit_length()))]
    other = (call.scratch((rows, n), dtype), call.scratch((rows, n), int64)) if widths else None
    ends: list[Any] = [(values, indices), other]
    if len(widths) % 2:
        ends.reverse()  # so that the last merge writes the results
    grid = Grid((rows * -(-n // TILE), 1, 1), max(WARP, min(1 << (n - 1).bit_length(), TILE) // 2))
    call.launch(_tile_kernel(dtype, descending), grid, *ends[0], input, rows, n)
    for width in widths:
        call.launch(_merge_kernel(dtype, descending), grid_over(rows * n, 1), *ends[1], *ends[0], rows, n, width)
        ends.reverse()


def _rows_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 5)),))
    yield Sample((Array((3, 5)), True))
    yield Sample((Array((2, 0)),))
    yield Sample((Array((2, LONG_ROW + 9), grad=False), True))


@operator(samples=_rows_samples, dtypes=dtypes.ALL, method=False, function=False)
def sort_rows(call: Call, input: Operand, descending: bool = False, bits: int | None = None) -> Any:
    """Return (values, indices) of the elements of the last dimension in order.

    bits: the number of low bits in which elements differ, where that is known.
    Host: returns at once.
    """
    shape = input.shape
    values, indices = call.output(shape, input.dtype), call.scratch(shape, int64)
    n = shape[-1] if shape else 1
    rows = input.numel() // n if n else 0
    sort_rows_of(call, call.contiguous(input), values, indices, (rows, n), descending, bits)
    return results.sort(values, indices)


@sort_rows.derivative
def _(grads: Any, out1: Any, input_shape: Any) -> Any:
    if grads[0] is None:
        return None
    return grads[0].new_zeros(input_shape).scatter(-1, out1, grads[0])


@operator(samples=_rows_samples, dtypes=dtypes.ALL, method=False, function=False, differentiable=False)
def sort_values(call: Call, input: Operand, descending: bool = False, bits: int | None = None) -> Any:
    """Return the elements of the last dimension in order, without their indexes.  bits: as for `sort_rows`.

    Host: returns at once.
    """
    shape = input.shape
    values = call.output(shape, input.dtype)
    n = shape[-1] if shape else 1
    source = call.contiguous(input)
    if source is values and n:  # a sort in place would overwrite data that later passes read
        source = call.scratch(shape, input.dtype)
        call.assign(source, input)
    sort_rows_of(call, source, values, None, (input.numel() // n if n else 0, n), descending, bits)
    return values


def _sort_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 5)),))
    yield Sample((Array((3, 5)), 0, True))
    yield Sample((Array((4, 3), layout="transposed"), -1))
    yield Sample((Array(()),))
    yield Sample((Array((0, 3)), 0))


@composite(samples=_sort_samples, errors=bad_last, dtypes=dtypes.ALL)
def sort(input: Operand, dim: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Return (values, indices): the elements sorted along a dimension, and their indices in the input.

    NaN is the greatest value.  stable: has no effect: equal elements always keep their order.
    Shapes: both results have the input's shape, and its strides if its memory has no gaps; indices are int64.
    Host:   returns at once.
    Raises: IndexRangeError if the dimension is out of range.
    Example:
        >>> values, indices = torch.sort(torch.tensor([3, 1, 2]), descending=True)
        >>> values, indices
        (tensor([3, 2, 1]), tensor([0, 2, 1]))
    """
    at = st.wrap_dim(dim, len(input.shape), "sort")
    last = len(input.shape) - 1
    strides = st.preserved(input.shape, input.strides)
    if at == max(last, 0):
        return results.sort(*(_laid_out(tensor, strides) for tensor in sort_rows(input, descending)))
    ordered = sort_rows(transpose(input, at, last), descending)
    return results.sort(*(_laid_out(transpose(tensor, at, last), strides) for tensor in ordered))


def _laid_out(result: Any, strides: Sequence[int]) -> Any:
    """Return the result if it has these compact strides, else a copy that has them."""
    if all(size <= 1 or own == step for size, own, step in zip(result.shape, result.strides, strides)):
        return result
    order = sorted(range(len(strides)), key=strides.__getitem__, reverse=True)
    dense = permute(result, order).contiguous()
    return permute(dense, sorted(order, key=order.__getitem__))


def _msort_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 5)),))
    yield Sample((Array((4, 3), layout="transposed"),))
    yield Sample((Array((0, 3)),))


@composite(samples=_msort_samples, dtypes=dtypes.ALL)
def msort(input: Operand) -> Any:
    """Return a copy with the elements sorted in ascending order along dimension 0.

    Shapes: as the input.
    Host:   returns at once.
    Raises: ArgumentTypeError if the input is not a tensor.
    Example:
        >>> torch.msort(torch.tensor([[3, 1], [2, 5]]))
        tensor([[2, 1],
                [3, 5]])
    """
    return sort(input, 0).values


@composite(samples=_sort_samples, errors=bad_last, dtypes=dtypes.ALL)
def argsort(input: Operand, dim: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Return the indices that sort the elements along a dimension in ascending order.

    descending: True sorts in descending order.  stable: has no effect; equal elements always keep their order.
    Shapes: as the input, int64.
    Host:   returns at once.
    Raises: IndexRangeError if the dimension is out of range.
    Example:
        >>> x = torch.tensor([3, 1, 2])
        >>> order = torch.argsort(x)
        >>> order, x[order]
        (tensor([1, 2, 0]), tensor([1, 2, 3]))
    """
    return sort(input, dim, descending).indices


def _select_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 9)), 3))
    yield Sample((Array((9, 2), layout="transposed"), 2, False))
    yield Sample((Array((2, 5000)), 7))


@operator(samples=_select_samples, dtypes=dtypes.ALL, method=False, function=False, differentiable=False)
def select_rows(call: Any, input: Operand, count: int, largest: bool = True) -> Any:
    """Return (values, indices) of the `count` greatest or least elements of each row; of equal ones the first.

    Elements that differ from the last one come first; otherwise elements keep the order of the row.
    Host: returns at once.
    """
    n = input.shape[-1]
    shape = (*input.shape[:-1], count)
    values, indices = call.output(shape, input.dtype), call.scratch(shape, int64)
    if values.numel():
        rows, source = input.numel() // n, call.contiguous(input)
        if call.is_on_host:
            kernel, grid = host_select_kernel(input.dtype), Grid((1, 1, 1), 1)
            call.launch(kernel, grid, values, indices, source, rows, n, count, int(largest))
        else:
            radix_select(call, source, values, indices, rows, n, count, largest)
    return results.topk(values, indices)


def _first_places(input: Any, count: int, largest: bool) -> Any:
    """Return the indexes of the `count` greatest or least elements of the last dimension, in order."""
    values, indices = select_rows(input, count, largest)
    return REGISTRY["gather"](indices, -1, sort_rows(values, largest).indices)


def _topk_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 5)), 2))
    yield Sample((Array((3, 5)), 3, 0, False))
    yield Sample((Array((3,)), 0))
    yield Sample((Array((2, 4096), grad=False), 3))


def _topk_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3, 2)), 5), IndexRangeError, r"k 5 .* dimension 1 with size 2")


@composite(samples=_topk_samples, errors=_topk_errors, dtypes=dtypes.ALL)
def topk(input: Operand, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """Return (values, indices) of the k greatest elements along a dimension, in descending order.

    largest: False returns the k least, in ascending order.  sorted: has no effect.
    Shapes: both results have size k along `dim`, and are contiguous; indices are int64.
    Host:   returns at once.
    Raises: IndexRangeError if the dimension or k is out of range.
    Example:
        >>> values, indices = torch.topk(torch.tensor([4, 1, 9, 7]), k=2)
        >>> values, indices
        (tensor([9, 7]), tensor([2, 3]))
    """
    at = st.wrap_dim(dim, len(input.shape), "topk")
    size = input.shape[at] if input.shape else 1
    if not 0 <= k <= size:
        raise IndexRangeError(
            f"k {k} is out of range for dimension {at} with size {size}", hint=f"use 0 to {size}", operator="topk"
        )
    if not input.shape:
        return results.topk(*sort(input, at, largest))
    source: Any = input
    if source.device_index >= 0 and size <= TILE:
        first = REGISTRY["first_of_rows"](transpose(input, at, -1), k, largest)
        return (
            first if at == len(input.shape) - 1 else results.topk(*(transpose(e, at, -1).contiguous() for e in first))
        )
    long = HOST_SELECT_ROW if source.device_index < 0 else SELECT_ROW
    if size >= long and 0 < k <= size // SELECT_SHARE:
        indices = transpose(_first_places(transpose(input.detach(), at, -1), k, largest), at, -1).contiguous()
    else:
        first = sort(input.detach(), at, largest).indices.narrow(at, 0, k)
        indices = first.clone() if len(input.shape) == 1 else first.contiguous()  # not a view of all indices
    return results.topk(REGISTRY["gather"](input, at, indices), indices)  # whose derivative saves the returned indices


RADIX_TILE = 4096  # elements that a block takes; kernels/radix.cu has the same number
THREADS = 256
DIGITS = 256
DIGIT_BITS = 8
SORT_TILES = {1: 4096, 2: 4096, 4: 4096, 8: 3072}  # elements that a block of a sort takes, by their size in bytes
MOST_ELEMENTS = 1 << 30  # in a row: see kernels/radix.cu
MOST_BLOCKS = (1 << 31) - 1
INFINITE = {float16: 0x7C00, bfloat16: 0x7F80, float32: 0x7F800000, float64: 0x7FF0000000000000}
SOURCE = PRELUDE + source_text("radix.cu")


def _key(dtype: dtype) -> str:
    """Return the C type that converts elements to keys."""
    category = "AS_FLOATING" if dtype.category == FLOATING else "AS_SIGNED" if dtype.is_signed else "AS_UNSIGNED"
    category = "AS_UNSIGNED" if dtype.category == BOOL else category
    return f"Key<{dtype.cuda}, {category}, {INFINITE.get(dtype, 0):#x}ull>"


def keys_of(values: Any, dtype: dtype, descending: bool) -> Any:
    """Return the keys of a NumPy array."""
    bits = values.view(f"u{dtype.itemsize}")
    sign = bits.dtype.type(1 << (8 * dtype.itemsize - 1))
    if dtype.category == FLOATING:
        size = bits & ~sign
        keys = np.where(bits & sign, ~bits, bits | sign)
        keys = np.where(size == 0, sign, keys)
        keys = np.where(size > bits.dtype.type(INFINITE[dtype]), ~bits.dtype.type(0), keys)
    else:
        keys = bits ^ sign if dtype.is_signed and dtype.category != BOOL else bits
    return ~keys if descending else keys


def stable_order(keys: Any) -> Any:
    """Return the indexes that sort each row of a NumPy array of keys, along its last axis."""
    if keys.dtype.itemsize != 4 or keys.shape[-1] < DIGITS:
        return np.argsort(keys, axis=-1, kind="stable")
    place_bits = np.uint64(32)  # 64-bit integers of key and place sort faster than a stable sort of keys
    packed = keys.astype(np.uint64) << place_bits | np.arange(keys.shape[-1], dtype=np.uint64)
    packed.sort(axis=-1)
    return (packed & np.uint64(0xFFFFFFFF)).astype(np.int64)


def _kernel(
    entry: str, arguments: str, call: str, params: Sequence[Param], reference: Any, operations: float = 8.0,
    least: int = 1,
) -> Kernel:  # fmt: skip
    """Make a sort kernel.  least: the number of blocks that a multiprocessor must hold at once."""
    head = f'extern "C" __global__ void __launch_bounds__({THREADS}, {least}) {entry}({arguments})'
    return Kernel(entry, f"{SOURCE}\n{head} {{ {call}; }}\n", params, reference, operations)


def _numbers(*names: str) -> tuple[list[Param], str]:
    """Return (64-bit integer parameters, their declarations)."""
    return [Scalar(name, "int64") for name in names], ", ".join(f"long long {name}" for name in names)


def _digits(keys: Any, shift: int) -> Any:
    return (keys >> keys.dtype.type(shift)).astype(np.uint8)


def _by_tile(marks: Any, tiles: int) -> Any:
    """Count, for each row and tile, the elements of a boolean array [rows, n]."""
    return np.add.reduceat(marks.astype(np.int32), np.arange(tiles) * RADIX_TILE, axis=1)


@cache
def _count_kernel(dtype: dtype) -> Kernel:
    numbers, declared = _numbers("rows", "n", "tiles", "passes", "flip")

    def reference(totals: Any, keys: Any, rows: int, n: int, tiles: int, passes: int, flip: int) -> None:
        sort_keys = keys_of(keys, dtype, bool(flip))
        for at in range(passes):
            combined = np.arange(rows)[:, None] * DIGITS + _digits(sort_keys, DIGIT_BITS * at)
            totals[at] = np.bincount(combined.reshape(-1), minlength=rows * DIGITS).reshape(rows, DIGITS)

    params = [Pointer("totals", int32, "rw", ("passes", "rows", DIGITS)), Pointer("keys", dtype, "r", ("rows", "n"))]
    call = f"count_digits<{_key(dtype)}>(totals, keys, rows, n, tiles, (int)passes, flip != 0)"
    arguments = f"int* totals, const {dtype.cuda}* keys, {declared}"
    return _kernel(f"count_digits_{dtype.name}", arguments, call, [*params, *numbers], reference, 8.0, 4)


@cache
def _sum_kernel() -> Kernel:
    numbers, declared = _numbers("lines", "tiles")

    def reference(counts: Any, totals: Any, lines: int, tiles: int) -> None:
        sums = np.cumsum(counts, axis=1, dtype=np.int32)
        totals[...] = sums[:, -1]
        counts[...] = sums - counts

    params = [Pointer("counts", int32, "rw", ("lines", "tiles")), Pointer("totals", int32, "w", ("lines",))]
    call = "sum_lines(counts, totals, lines, tiles)"
    return _kernel("sum_digits", f"int* counts, int* totals, {declared}", call, [*params, *numbers], reference, 1.0)


@cache
def _pass_kernel(dtype: dtype) -> Kernel:
    numbers, declared = _numbers("rows", "n", "tiles", "shift", "flip")

    def reference(
        out: Any, places: Any, indexes: Any, keys: Any, old_places: Any, totals: Any, published: Any, next: Any,
        rows: int, n: int, tiles: int, shift: int, flip: int,
    ) -> None:  # fmt: skip
        order = stable_order(_digits(keys_of(keys, dtype, bool(flip)), shift))
        out[...] = np.take_along_axis(keys, order, 1)
        for given in (places, indexes):
            if given is not None:
                given[...] = order if old_places is None else np.take_along_axis(old_places, order, 1)

    shape = ("rows", "n")
    params = [
        Pointer("out", dtype, "w", shape), Pointer("places", int32, "w", shape), Pointer("indexes", int64, "w", shape),
        Pointer("keys", dtype, "r", shape), Pointer("old_places", int32, "r", shape),
        Pointer("totals", int32, "r", ("rows", DIGITS)), Pointer("published", int32, "rw", ("rows", "tiles", DIGITS)),
        Pointer("next", int32, "rw", (1,)),
    ]  # fmt: skip
    arguments = (
        f"{dtype.cuda}* out, int* places, long long* indexes, const {dtype.cuda}* keys, const int* old_places, "
        f"const int* totals, unsigned int* published, int* next, {declared}"
    )
    taken = SORT_TILES[dtype.itemsize] // THREADS
    call = f"sort_by_digit<{_key(dtype)}, {dtype.cuda}, {taken}>(out, places, indexes, keys, old_places, totals, "
    call += "published, next, rows, n, tiles, (int)shift, flip != 0)"
    return _kernel(f"sort_by_digit_{dtype.name}", arguments, call, [*params, *numbers], reference, 16.0, 4)


def radix_sort(
    call: Call, input: Any, values: Any, indexes: Any, rows: int, n: int, descending: bool, bits: int | None = None
) -> None:
    """Sort the rows of contiguous `input` into `values`, and their indexes into `indexes`, which may be None.

    bits: the number of low bits in which elements differ; None for all of them.
    """
    dtype, flip = input.dtype, int(descending)
    passes = -(-(8 * dtype.itemsize if bits is None else max(bits, 1)) // DIGIT_BITS)
    tiles, all_totals = -(-n // SORT_TILES[dtype.itemsize]), passes * rows * DIGITS
    counters = call.scratch((all_totals + passes,), int32)  # counts of digits, and of the tiles that a pass has taken
    published = call.scratch((rows, tiles, DIGITS), int32)
    spare = call.scratch((rows, n), dtype) if passes > 1 else None
    held = [call.scratch((rows, n), int32) for _ in range(min(passes - 1, 2))] if indexes is not None else []
    counted = -(-n // RADIX_TILE)
    call.launch(fill_kernel(int32), grid_over(counters.numel()), counters, 0, counters.numel())
    totals = call.part(counters, (passes, rows, DIGITS), (rows * DIGITS, DIGITS, 1), 0)
    grid = Grid((min(rows * counted, FULL_DEVICE_BLOCKS // 4), 1, 1), THREADS)  # few: all blocks add to the same totals
    call.launch(_count_kernel(dtype), grid, totals, input, rows, n, counted, passes, flip)
    grid = Grid((min(rows * tiles, FULL_DEVICE_BLOCKS), 1, 1), THREADS)
    keys, places = input, None
    for at in range(passes):
        is_last = at == passes - 1
        target = values if (passes - 1 - at) % 2 == 0 else spare
        moved = held[at % 2] if held and not is_last else None
        total = call.part(counters, (rows, DIGITS), (DIGITS, 1), at * rows * DIGITS)
        next_tile = call.part(counters, (1,), (1,), all_totals + at)
        call.launch(fill_kernel(int32), grid_over(published.numel()), published, 0, published.numel())
        call.launch(
            _pass_kernel(dtype), grid, target, moved, indexes if is_last else None, keys, places, total, published,
            next_tile, rows, n, tiles, DIGIT_BITS * at, flip,
        )  # fmt: skip
        keys, places = target, moved


# select


CHOSEN = Pointer("chosen", int64, "r", ("rows", 2))


@cache
def _chosen_kernel(dtype: dtype) -> Kernel:
    numbers, declared = _numbers("rows", "n", "tiles", "shift", "flip")
    bits = 8 * dtype.itemsize

    def reference(
        histogram: Any, input: Any, chosen: Any, rows: int, n: int, tiles: int, shift: int, flip: int
    ) -> None:
        keys = keys_of(input, dtype, bool(flip))
        digits = _digits(keys, shift).astype(np.int64) + DIGITS * np.arange(rows)[:, None]
        if shift + DIGIT_BITS < bits:
            prefix = _last_keys(chosen, keys)
            digits = digits[keys >> keys.dtype.type(shift + DIGIT_BITS) == prefix]
        histogram[...] += np.bincount(digits.reshape(-1), minlength=rows * DIGITS).reshape(rows, DIGITS)

    params = [
        Pointer("histogram", int32, "rw", ("rows", DIGITS)), Pointer("input", dtype, "r", ("rows", "n")), CHOSEN,
    ]  # fmt: skip
    arguments = f"int* histogram, const {dtype.cuda}* input, const long long* chosen, {declared}"
    call = (
        f"count_chosen<{_key(dtype)}>(histogram, input, (const Chosen*)chosen, rows, n, tiles, (int)shift, flip != 0)"
    )
    return _kernel(f"count_chosen_{dtype.name}", arguments, call, [*params, *numbers], reference)


@cache
def _digit_kernel() -> Kernel:
    numbers, declared = _numbers("rows", "count", "is_first")

    def reference(chosen: Any, histogram: Any, rows: int, count: int, is_first: int) -> None:
        if is_first:
            chosen[:, 0], chosen[:, 1] = 0, count
        sums = np.cumsum(histogram, axis=1)
        digit = (sums < chosen[:, 1:]).sum(axis=1)
        chosen[:, 0] = chosen[:, 0] << DIGIT_BITS | digit
        chosen[:, 1] -= (sums - histogram)[np.arange(rows), digit]

    params = [Pointer("chosen", int64, "rw", ("rows", 2)), Pointer("histogram", int32, "r", ("rows", DIGITS))]
    call = "choose((Chosen*)chosen, histogram, rows, count, is_first != 0)"
    arguments = f"long long* chosen, const int* histogram, {declared}"
    return _kernel("choose_digit", arguments, call, [*params, *numbers], reference, 1.0)


def _last_keys(chosen: Any, keys: Any) -> Any:
    return chosen[:, :1].view(np.uint64).astype(keys.dtype)


def _selected_alone(values: Any, dtype: dtype, count: int, descending: bool) -> Any:
    """Do the work of `_selected` by comparing values; None with NaN or if equal elements tie for the last places."""
    if dtype.itemsize < 4:  # half types have no fast order, and small integers have many equal elements
        return None
    at = values.shape[1] - count if descending else count - 1
    last = np.partition(values, at, axis=1)[:, at : at + 1]
    chosen = values >= last if descending else values <= last
    flat = np.flatnonzero(chosen)
    if len(flat) != count * len(values) or not (chosen.sum(axis=1) == count).all() or (values != values).any():
        return None
    places = (flat % values.shape[1]).reshape(len(values), count)
    order = np.argsort(np.take_along_axis(values, places, 1) == last, axis=1, kind="stable")
    return np.take_along_axis(places, order, 1)


def _selected(keys: Any, last: Any, count: int) -> Any:
    """Return the places of the `count` least keys of each row, in the kernel's order.

    last: the greatest of these keys.
    """
    less, equal = keys < last, keys == last
    left = count - less.sum(axis=1, keepdims=True)
    places = np.nonzero(less | (equal & (np.cumsum(equal, axis=1) <= left)))[1].reshape(len(keys), count)
    order = np.argsort(np.take_along_axis(equal, places, 1), axis=1, kind="stable")
    return np.take_along_axis(places, order, 1)


@cache
def _selected_kernel(dtype: dtype) -> Kernel:
    numbers, declared = _numbers("rows", "n", "tiles", "flip")

    def reference(counts: Any, input: Any, chosen: Any, rows: int, n: int, tiles: int, flip: int) -> None:
        keys = keys_of(input, dtype, bool(flip))
        last = _last_keys(chosen, keys)
        counts[:, 0], counts[:, 1] = _by_tile(keys < last, tiles), _by_tile(keys == last, tiles)

    params = [Pointer("counts", int32, "w", ("rows", 2, "tiles")), Pointer("input", dtype, "r", ("rows", "n")), CHOSEN]
    arguments = f"int* counts, const {dtype.cuda}* input, const long long* chosen, {declared}"
    call = f"count_selected<{_key(dtype)}>(counts, input, (const Chosen*)chosen, rows, n, tiles, flip != 0)"
    return _kernel(f"count_selected_{dtype.name}", arguments, call, [*params, *numbers], reference)


@cache
def _write_kernel(dtype: dtype) -> Kernel:
    numbers, declared = _numbers("rows", "n", "tiles", "count", "flip")

    def reference(
        values: Any, indexes: Any, input: Any, chosen: Any, counts: Any, totals: Any, rows: int, n: int, tiles: int,
        count: int, flip: int,
    ) -> None:  # fmt: skip
        keys = keys_of(input, dtype, bool(flip))
        indexes[...] = _selected(keys, _last_keys(chosen, keys), count)
        values[...] = np.take_along_axis(input, indexes, 1)

    params = [
        Pointer("values", dtype, "w", ("rows", "count")), Pointer("indexes", int64, "w", ("rows", "count")),
        Pointer("input", dtype, "r", ("rows", "n")), CHOSEN, Pointer("counts", int32, "r", ("rows", 2, "tiles")),
        Pointer("totals", int32, "r", ("rows", 2)),
    ]  # fmt: skip
    arguments = (
        f"{dtype.cuda}* values, long long* indexes, const {dtype.cuda}* input, const long long* chosen, "
        f"const int* counts, const int* totals, {declared}"
    )
    call = f"write_selected<{_key(dtype)}>(values, indexes, input, (const Chosen*)chosen, counts, totals, rows, n, "
    call += "tiles, count, flip != 0)"
    return _kernel(f"write_selected_{dtype.name}", arguments, call, [*params, *numbers], reference)


def radix_select(
    call: Call, input: Any, values: Any, indexes: Any, rows: int, n: int, count: int, descending: bool
) -> None:
    """Write the first `count` elements of each row's order, unordered, to `values` and their indexes to `indexes`.

    Of equal elements the first ones are selected.
    """
    dtype, tiles = input.dtype, -(-n // RADIX_TILE)
    passes = dtype.itemsize
    histograms = call.scratch((passes, rows, DIGITS), int32)
    chosen = call.scratch((rows, 2), int64)
    counts, totals = call.scratch((rows, 2, tiles), int32), call.scratch((rows, 2), int32)
    numel = passes * rows * DIGITS
    call.launch(fill_kernel(int32), grid_over(numel), histograms, 0, numel)
    grid = Grid((min(rows * tiles, MOST_BLOCKS), 1, 1), THREADS)
    line = Grid((min(rows, MOST_BLOCKS), 1, 1), THREADS)
    flip = int(descending)
    for at in range(passes):
        histogram = call.part(histograms, (rows, DIGITS), (DIGITS, 1), at * rows * DIGITS)
        numbers = (rows, n, tiles, DIGIT_BITS * (passes - 1 - at), flip)
        call.launch(_chosen_kernel(dtype), grid, histogram, input, chosen if at else None, *numbers)
        call.launch(_digit_kernel(), line, chosen, histogram, rows, count, int(at == 0))
    call.launch(_selected_kernel(dtype), grid, counts, input, chosen, rows, n, tiles, flip)
    sums = Grid((min(2 * rows, MOST_BLOCKS), 1, 1), THREADS)
    call.launch(_sum_kernel(), sums, counts, totals, 2 * rows, tiles)
    call.launch(_write_kernel(dtype), grid, values, indexes, input, chosen, counts, totals, rows, n, tiles, count, flip)


# on the CPU


@cache
def host_kth_kernel(dtype: dtype, skips_nan: bool) -> Kernel:
    """Return the kernel of the place of each row's k-th least element on the CPU, without device code.

    k: counted from 0; -1 for the lower median.  skips_nan: whether the median is of the elements that are not NaN;
    otherwise the median of a row with NaN is its first NaN.
    """

    def reference(indexes: Any, input: Any, rows: int, n: int, k: int) -> None:
        is_half = dtype.category == FLOATING and dtype.itemsize == 2
        values = keys_of(input, dtype, False) if is_half else input
        is_nan = input != input if dtype.category == FLOATING else None
        counts = np.full(rows, n) if is_nan is None or not is_nan.any() else n - np.count_nonzero(is_nan, axis=1)
        middles = np.maximum(counts - 1, 0) // 2 if skips_nan else np.full(rows, (n - 1) // 2)
        places = np.full(rows, k) if k >= 0 else middles
        for rank in np.unique(places):
            chosen = np.flatnonzero(places == rank)
            selected = values if len(chosen) == rows else values[chosen]
            indexes[chosen, 0] = _kth_places(selected, int(rank))
        if k < 0 and not skips_nan and is_nan is not None:
            for row in np.flatnonzero(counts < n):
                indexes[row] = is_nan[row].argmax()

    params = [Pointer("indexes", int64, "w", ("rows", 1)), Pointer("input", dtype, "r", ("rows", "n"))]
    return Kernel(
        f"host_kth_{dtype.name}{'_finite' * skips_nan}", "", [*params, *_numbers("rows", "n", "k")[0]], reference
    )


def _kth_places(values: Any, k: int) -> Any:
    """Return the place of the k-th least element of each row in a stable order; NaN comes last."""
    last = np.partition(values, k, axis=1)[:, k : k + 1]
    left = k - np.count_nonzero(values < last, axis=1)  # how many equal elements come before it
    same = values == last
    if last.dtype.kind == "f" and (last != last).any():
        same |= (values != values) & (last != last)
        left = np.where((last != last)[:, 0], k - np.count_nonzero(values == values, axis=1), left)
    rows, places = np.nonzero(same)
    starts = np.searchsorted(rows, np.arange(len(values)))
    return places[starts + left]


@operator(samples=tuple, method=False, function=False)
def kth_places(call: Any, input: Operand, k: int, skips_nan: bool) -> Any:
    """Return the places of `host_kth_kernel` along the last dimension of a CPU tensor, of size 1 there."""
    n = input.shape[-1]
    indexes = call.output((*input.shape[:-1], 1), int64)
    if indexes.numel():
        kernel, source = host_kth_kernel(input.dtype, skips_nan), call.contiguous(input)
        call.launch(kernel, Grid((1, 1, 1), 1), indexes, source, input.numel() // n, n, k)
    return indexes


@cache
def host_sort_kernel(dtype: dtype) -> Kernel:
    """Return the kernel that sorts whole rows on the CPU, without device code."""

    def reference(out: Any, indexes: Any, keys: Any, rows: int, n: int, flip: int) -> None:
        if indexes is None and dtype.category != FLOATING:
            out[...] = np.sort(keys, axis=1)[:, :: -1 if flip else 1]
            return
        order = stable_order(keys_of(keys, dtype, bool(flip)))
        out[...] = np.take_along_axis(keys, order, 1)
        if indexes is not None:
            indexes[...] = order

    shape = ("rows", "n")
    params = [
        Pointer("out", dtype, "w", shape),
        Pointer("indexes", int64, "w", shape),
        Pointer("keys", dtype, "r", shape),
    ]
    return Kernel(f"host_sort_{dtype.name}", "", [*params, *_numbers("rows", "n", "flip")[0]], reference)


@cache
def host_select_kernel(dtype: dtype) -> Kernel:
    """Return the kernel that selects from whole rows on the CPU, without device code."""

    def reference(values: Any, indexes: Any, input: Any, rows: int, n: int, count: int, flip: int) -> None:
        places = _selected_alone(input, dtype, count, bool(flip))
        if places is None:
            keys = keys_of(input, dtype, bool(flip))
            places = _selected(keys, np.partition(keys, count - 1, axis=1)[:, count - 1 : count], count)
        indexes[...] = places
        values[...] = np.take_along_axis(input, indexes, 1)

    results = [Pointer(name, own, "w", ("rows", "count")) for name, own in (("values", dtype), ("indexes", int64))]
    numbers = _numbers("rows", "n", "count", "flip")[0]
    params = [*results, Pointer("input", dtype, "r", ("rows", "n")), *numbers]
    return Kernel(f"host_select_{dtype.name}", "", params, reference)
