"""Radix sort and radix select of long rows (kernels/radix.cu).

Keys are the bits of elements as unsigned integers whose order is that of the elements: -0 equals 0, and every NaN is
the greatest.  The sort is stable, and every result is independent of the grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from ..dtypes import BOOL, FLOATING, bfloat16, dtype, float16, float32, float64, int32, int64
from ..host import np
from ..kernel import Grid, Kernel, Param, Pointer, Scalar
from .copies import fill_kernel
from .operator import Call
from .pointwise import PRELUDE, grid_over, source_text

TILE = 4096  # elements that a block takes; kernels/radix.cu has the same number
THREADS = 256
DIGITS = 256
DIGIT_BITS = 8
MOST_ELEMENTS = 1 << 31  # of a row: places are 32-bit integers
MOST_BLOCKS = (1 << 31) - 1
INFINITE = {float16: 0x7C00, bfloat16: 0x7F80, float32: 0x7F800000, float64: 0x7FF0000000000000}
SOURCE = PRELUDE + source_text("radix.cu")


def _key(dtype: dtype) -> str:
    """The C type that makes keys of elements."""
    kind = "AS_FLOATING" if dtype.category == FLOATING else "AS_SIGNED" if dtype.is_signed else "AS_UNSIGNED"
    kind = "AS_UNSIGNED" if dtype.category == BOOL else kind
    return f"Key<{dtype.cuda}, {kind}, {INFINITE.get(dtype, 0):#x}ull>"


def keys_of(values: Any, dtype: dtype, descending: bool) -> Any:
    """The keys of a NumPy array."""
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
    """The indexes that sort each row of a NumPy array of keys, along its last axis."""
    if keys.dtype.itemsize != 4 or keys.shape[-1] < DIGITS:
        return np.argsort(keys, axis=-1, kind="stable")
    place_bits = np.uint64(32)  # 64-bit integers of key and place sort faster than a stable sort of keys
    packed = keys.astype(np.uint64) << place_bits | np.arange(keys.shape[-1], dtype=np.uint64)
    packed.sort(axis=-1)
    return (packed & np.uint64(0xFFFFFFFF)).astype(np.int64)


def _kernel(
    entry: str, arguments: str, call: str, params: Sequence[Param], reference: Any, operations: float = 8.0
) -> Kernel:
    head = f'extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({arguments})'
    return Kernel(entry, f"{SOURCE}\n{head} {{ {call}; }}\n", params, reference, operations)


def _numbers(*names: str) -> tuple[list[Param], str]:
    """(64-bit integer parameters, their declarations)."""
    return [Scalar(name, "int64") for name in names], ", ".join(f"long long {name}" for name in names)


def _digits(keys: Any, shift: int) -> Any:
    return (keys >> keys.dtype.type(shift)).astype(np.uint8)


def _by_tile(marks: Any, tiles: int) -> Any:
    """Count, for each row and tile, the elements of a boolean array [rows, n]."""
    return np.add.reduceat(marks.astype(np.int32), np.arange(tiles) * TILE, axis=1)


@cache
def _count_kernel(dtype: dtype) -> Kernel:
    numbers, declared = _numbers("rows", "n", "tiles", "shift", "flip")

    def reference(counts: Any, keys: Any, rows: int, n: int, tiles: int, shift: int, flip: int) -> None:
        lines = np.arange(n) // TILE + tiles * np.arange(rows)[:, None]
        combined = lines * DIGITS + _digits(keys_of(keys, dtype, bool(flip)), shift)
        found = np.bincount(combined.reshape(-1), minlength=rows * tiles * DIGITS).reshape(rows, tiles, DIGITS)
        counts[...] = found.transpose(0, 2, 1)

    params = [Pointer("counts", int32, "w", ("rows", DIGITS, "tiles")), Pointer("keys", dtype, "r", ("rows", "n"))]
    call = f"count_digits<{_key(dtype)}>(counts, keys, rows, n, tiles, (int)shift, flip != 0)"
    arguments = f"int* counts, const {dtype.cuda}* keys, {declared}"
    return _kernel(f"count_digits_{dtype.name}", arguments, call, [*params, *numbers], reference)


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
def _scatter_kernel(dtype: dtype) -> Kernel:
    numbers, declared = _numbers("rows", "n", "tiles", "shift", "flip")

    def reference(
        out: Any, places: Any, indexes: Any, keys: Any, old_places: Any, counts: Any, totals: Any, rows: int, n: int,
        tiles: int, shift: int, flip: int,
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
        Pointer("counts", int32, "r", ("rows", DIGITS, "tiles")), Pointer("totals", int32, "r", ("rows", DIGITS)),
    ]  # fmt: skip
    arguments = (
        f"{dtype.cuda}* out, int* places, long long* indexes, const {dtype.cuda}* keys, const int* old_places, "
        f"const int* counts, const int* totals, {declared}"
    )
    call = f"scatter_digits<{_key(dtype)}>(out, places, indexes, keys, old_places, counts, totals, rows, n, tiles, "
    call += "(int)shift, flip != 0)"
    return _kernel(f"scatter_digits_{dtype.name}", arguments, call, [*params, *numbers], reference, 16.0)


def radix_sort(
    call: Call, input: Any, values: Any, indexes: Any, rows: int, n: int, descending: bool, bits: int | None = None
) -> None:
    """Sort the rows of contiguous `input` into `values`, and their indexes into `indexes`, which may be None.

    bits: the low bits in which elements differ; None for all of them.
    """
    dtype, tiles = input.dtype, -(-n // TILE)
    passes = -(-(8 * dtype.itemsize if bits is None else max(bits, 1)) // DIGIT_BITS)
    counts, totals = call.scratch((rows, DIGITS, tiles), int32), call.scratch((rows, DIGITS), int32)
    spare = call.scratch((rows, n), dtype) if passes > 1 else None
    held = [call.scratch((rows, n), int32) for _ in range(min(passes - 1, 2))] if indexes is not None else []
    grid = Grid((min(rows * tiles, MOST_BLOCKS), 1, 1), THREADS)
    sums = Grid((min(rows * DIGITS, MOST_BLOCKS), 1, 1), THREADS)
    keys, places = input, None
    for at in range(passes):
        numbers = (rows, n, tiles, DIGIT_BITS * at, int(descending))
        call.launch(_count_kernel(dtype), grid, counts, keys, *numbers)
        call.launch(_sum_kernel(), sums, counts, totals, rows * DIGITS, tiles)
        is_last = at == passes - 1
        target = values if (passes - 1 - at) % 2 == 0 else spare
        moved = held[at % 2] if held and not is_last else None
        last = indexes if is_last else None
        call.launch(_scatter_kernel(dtype), grid, target, moved, last, keys, places, counts, totals, *numbers)
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


def _selected(keys: Any, last: Any, count: int) -> Any:
    """The places of the first `count` keys of each row's order, as the kernel writes them, from the last such key."""
    less, equal = keys < last, keys == last
    left = count - less.sum(axis=1, keepdims=True)
    places = np.nonzero(less | (equal & (np.cumsum(equal, axis=1) <= left)))[1].reshape(len(keys), count)
    order = np.argsort(np.take_along_axis(equal, places, 1), axis=1, kind="stable")
    return np.take_along_axis(places, order, 1)


@cache
def _selected_kernel(dtype: dtype) -> Kernel:
    numbers, declared = _numbers("rows", "n", "tiles", "flip")

    def reference(counts: Any, input: Any, chosen: Any, rows: int, n: int, tiles: int, flip: int) -> None:
        found = keys_of(input, dtype, bool(flip))
        last = _last_keys(chosen, found)
        counts[:, 0], counts[:, 1] = _by_tile(found < last, tiles), _by_tile(found == last, tiles)

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
        found = keys_of(input, dtype, bool(flip))
        indexes[...] = _selected(found, _last_keys(chosen, found), count)
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
    dtype, tiles = input.dtype, -(-n // TILE)
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
def host_sort_kernel(dtype: dtype) -> Kernel:
    """The sort of whole rows on the CPU, which has no device code."""

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
    """The select of whole rows on the CPU, which has no device code."""

    def reference(values: Any, indexes: Any, input: Any, rows: int, n: int, count: int, flip: int) -> None:
        keys = keys_of(input, dtype, bool(flip))
        indexes[...] = _selected(keys, np.partition(keys, count - 1, axis=1)[:, count - 1 : count], count)
        values[...] = np.take_along_axis(input, indexes, 1)

    results = [Pointer(name, kind, "w", ("rows", "count")) for name, kind in (("values", dtype), ("indexes", int64))]
    numbers = _numbers("rows", "n", "count", "flip")[0]
    params = [*results, Pointer("input", dtype, "r", ("rows", "n")), *numbers]
    return Kernel(f"host_select_{dtype.name}", "", params, reference)
