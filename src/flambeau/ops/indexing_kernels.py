"""Kernels that write by index, for index_put, scatter and the gradients of indexing (kernels/indexing.cu).

- An array is treated as rows [outer, size, inner].  An index of `count` entries has the target row of each source row.
- Results do not depend on the grid.  Of several writes to one row the last counts; additions are made in order.
- Kernels that only copy elements depend on their size, so types of one size share machine code.
- An index out of range raises IndexRangeError before anything is written.  On a GPU it triggers a device-side assert.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

from .. import strides as st
from ..dtypes import FLOATING, converted, dtype, int64
from ..errors import IndexRangeError, ShapeError
from ..host import np
from ..kernel import MAX_DIMS, Kernel, Param, Pointer, Scalar, Strided
from .copies import C_TYPES_BY_SIZE, ROW_COPY_SOURCE, fill_kernel, plan_row_copy
from .operator import Call, Operand
from .pointwise import PRELUDE, THREADS, grid_over, source_text
from .sorting import sort_rows_of

C_NUMBERS = {"float64": "double", "int64": "long long"}

RowShape = tuple[int, int, int]  # outer, size, inner


def indexing_kernel(
    entry: str, arguments: str, call: str, params: Sequence[Param], reference: Any, threads: int = THREADS
) -> Kernel:
    """Make a kernel whose body is one call of a template of kernels/indexing.cu."""
    head = f'extern "C" __global__ void __launch_bounds__({threads}) {entry}({arguments})'
    source = PRELUDE + ROW_COPY_SOURCE + source_text("indexing.cu")
    return Kernel(entry, f"{source}\n{head} {{ {call}; }}\n", params, reference, 0.0)


def scalars(*names: str) -> list[Param]:
    """Return 64-bit integer parameters."""
    return [Scalar(name, "int64") for name in names]


def check_index(index: Any, lowest: int, size: int, dim: int) -> Any:
    """Check a NumPy index and count it from the front.  Raises IndexRangeError with the first value out of range."""
    least = index.min() if index.size else 0
    if index.size and (least < lowest or index.max() >= size):
        wrong = index[(index < lowest) | (index >= size)]
        raise IndexRangeError(
            f"index {wrong.flat[0]} is out of bounds for dimension {dim} with size {size}",
            hint=f"use {lowest} to {size - 1}" if size else "pass no index: that dimension has no elements",
        )
    return np.where(index < 0, index + size, index) if least < 0 else index


def zeros(call: Call, shape: Sequence[int], dtype: dtype) -> Any:
    """Return a new result, filled with zeros."""
    out = call.output(shape, dtype)
    if prod(shape):
        call.launch(fill_kernel(dtype), grid_over(prod(shape)), out, 0, prod(shape))
    return out


def strided_layout(shape: Sequence[int], strides: Sequence[int]) -> tuple[Any, Any]:
    """Return the value of a Strided parameter of one operand."""
    return st.collapse(shape, [strides])


def as_operand(call: Call, value: Any, like: dtype) -> Any:
    """Convert a tensor to type `like`, and a number to a zero-dimensional tensor of it."""
    if hasattr(value, "strides"):
        return value if value.dtype is like else call.contiguous(value, like)
    one = call.scratch((), like)
    call.launch(fill_kernel(like), grid_over(1), one, converted(call.called, like, value), 1)
    return one


INDEX_NUMBERS = ("outer", "size", "inner", "count", "lowest", "dim", "block", "row", "width", "lanes")
INDEX_ARGUMENTS = ", ".join(f"long long {name}" for name in INDEX_NUMBERS)
INDEX_CALL = "layout, Entries{index, size, count, lowest}, Steps{block, row}"


@cache
def _write_kernel(dtype: dtype, unit: int) -> Kernel:
    moved = C_TYPES_BY_SIZE[unit]
    arguments = "void* out, const long long* index, const void* source, const long long* winner, Layout<1> layout, "
    call = f"write_rows(({moved}*)out, (const {moved}*)source, winner, {INDEX_CALL}, outer, inner, width, lanes)"
    params: list[Param] = [
        Pointer("out", dtype, "rw", ("outer", "size", "inner")),
        Pointer("index", int64, "r", ("count",)),
        Pointer("source", dtype, "r", "layout"),
        Pointer("winner", int64, "r", ("size",)),
        Strided("layout", ("source",)),
        *scalars(*INDEX_NUMBERS),
    ]
    return indexing_kernel(f"write_rows_{unit}", arguments + INDEX_ARGUMENTS, call, params, _write_reference)


def _write_reference(
    out: Any, index: Any, source: Any, winner: Any, outer: int, size: int, inner: int, count: int, lowest: int,
    dim: int, *_: int,
) -> None:  # fmt: skip
    rows = check_index(index, lowest, size, dim)
    entries = source.reshape(outer, count, inner)
    if winner is not None:
        wins = winner[rows] == np.arange(count)
        rows, entries = rows[wins], entries[:, wins]
    out[:, rows] = entries


@cache
def _winner_kernel(step: str) -> Kernel:
    names = ("size", "count", "lowest", "dim")
    arguments = "long long* winner, const long long* index, " + ", ".join(f"long long {name}" for name in names)
    params: list[Param] = [
        Pointer("winner", int64, "rw", ("size",)),
        Pointer("index", int64, "r", ("count",)),
        *scalars(*names),
    ]

    def reference(winner: Any, index: Any, size: int, count: int, lowest: int, dim: int) -> None:
        rows = check_index(index, lowest, size, dim)
        winner[rows] = -1
        if step == "find":
            np.maximum.at(winner, rows, np.arange(count))

    return indexing_kernel(
        f"{step}_winners", arguments, f"{step}_winners(winner, index, size, count, lowest)", params, reference
    )


def write_rows(
    call: Call, out: Any, index: Any, source: Any, rows: RowShape, shape: Sequence[int], *,
    lowest: int = 0, dim: int = 0, unique: bool = False,
) -> None:  # fmt: skip
    """Write the entries of `source`, expanded to `shape`, to the rows `index` of contiguous `out`.

    index: int64.  lowest: 0, or -size if negative entries count from the end.  unique: whether no row is repeated.
    """
    outer, size, inner = rows
    count = index.numel()
    if not outer * inner * count:
        return
    sizes = (size, count, lowest, dim)
    winner = None if unique or count == 1 else call.scratch((size,), int64)
    if winner is not None:
        call.launch(_winner_kernel("clear"), grid_over(count), winner, index, *sizes)
        call.launch(_winner_kernel("find"), grid_over(count), winner, index, *sizes)
    entries = copy_if_same(call, as_operand(call, source, out.dtype), out)
    steps = st.expand(entries.shape, entries.strides, shape)
    move = plan_row_copy(out.dtype, *_as_rows(shape, steps, dim, inner * outer > 1), (out, entries))
    call.launch(
        _write_kernel(out.dtype, move.unit), move.grid(outer * count, inner),
        out, index, entries, winner, strided_layout(shape, steps), outer, size, inner, count, lowest, dim, *move[1:],
    )  # fmt: skip


def _as_rows(shape: Sequence[int], steps: Sequence[int], dim: int, has_rows: bool) -> tuple[Any, Any, int]:
    """Return (shape, strides, dimension of the entries) of a source whose entries are rows or single elements."""
    if has_rows:
        return shape, steps, dim
    sizes, (strides,) = st.collapse(shape, [steps])
    return (sizes, strides, 0) if len(sizes) == 1 else ((*sizes, 1), (*strides, 1), len(sizes))


def copy_if_same(call: Call, source: Any, out: Any) -> Any:
    """Return `source`, or a copy of it if it is `out`."""
    if source is not out:
        return source
    copied = call.scratch(source.shape, source.dtype)
    call.assign(copied, source)
    return copied


JOINS = {"sum": ("Sum", "add"), "prod": ("Product", "multiply"), "mean": ("Sum", "add")}
JOINS |= {"amax": ("Largest", "maximum"), "amin": ("Smallest", "minimum")}


@cache
def _join_kernel(dtype: dtype, how: str) -> Kernel:
    number = "float64" if dtype.category == FLOATING else "int64"
    names = ("outer", "size", "inner", "count")
    arguments = (
        f"{dtype.cuda}* out, const long long* rows, const long long* entries, const {dtype.cuda}* source, "
        + "Layout<1> layout, "
        + ", ".join(f"long long {name}" for name in names)
        + f", {C_NUMBERS[number]} scale, long long includes"
    )
    operation, _ = JOINS[how]
    is_mean = how == "mean"
    call = (
        f"join_entries<{operation}>(out, rows, entries, source, layout, {', '.join(names)}, ({dtype.wide.cuda})scale, "
    )
    call += f"includes != 0, {str(is_mean).lower()})"
    params: list[Param] = [
        Pointer("out", dtype, "rw", ("outer", "size", "inner")),
        Pointer("rows", int64, "r", ("count",)),
        Pointer("entries", int64, "r", ("count",)),
        Pointer("source", dtype, "r", "layout"),
        Strided("layout", ("source",)),
        *scalars(*names),
        Scalar("scale", number),
        Scalar("includes", "int64"),
    ]
    return indexing_kernel(f"join_{how}_{dtype.name}", arguments, call, params, _join_reference(dtype, how))


def _join_reference(dtype: dtype, how: str) -> Any:
    """Return the function that reduces the entries of a source into the rows of an array, in order within a row."""
    wide = dtype.wide
    _, ufunc = JOINS[how]
    is_mean = how == "mean"

    def reference(
        out: Any, rows: Any, entries: Any, source: Any, outer: int, size: int, inner: int, count: int, scale: Any,
        includes: int,
    ) -> None:  # fmt: skip
        total = out.astype(wide.numpy, copy=False)  # a view of a type that is its own wide one
        added = source.reshape(outer, count, inner)
        added = (added if entries is None else added[:, entries]).astype(wide.numpy, copy=False)
        if scale != 1:
            added = added * wide.numpy.type(scale)
        if is_mean or not includes:
            unique_rows, starts, counts = np.unique(rows, return_index=True, return_counts=True)
        if not includes:  # the first entry of a row replaces the row
            total[:, unique_rows] = added[:, starts]
            is_later = np.ones(count, bool)
            is_later[starts] = False
            rows, added = rows[is_later], added[:, is_later]
        if outer * inner > 1:  # NumPy is several times faster in one dimension
            rows = (np.arange(outer)[:, None, None] * size + rows[:, None]) * inner + np.arange(inner)
        getattr(np, ufunc).at(total.reshape(-1), rows.reshape(-1), added.reshape(-1))
        if is_mean:
            divide = np.divide if dtype.category == FLOATING else np.floor_divide
            total[:, unique_rows] = divide(total[:, unique_rows], (counts + includes).astype(wide.numpy)[:, None])
        if total is not out:
            out[...] = total

    return reference


def accumulate_rows(
    call: Call, out: Any, index: Any, source: Any, rows: RowShape, shape: Any = None, scale: Any = 1,
    how: str = "sum", includes: bool = True,
) -> None:  # fmt: skip
    """Reduce the entries of `source` into the rows `index` of contiguous `out`; entries of one row in their order.

    index: int64, counted from the front and already checked.  shape: the shape to which `source` expands.
    how: a key of JOINS.  includes: whether the reduction includes the row of `out`.
    """
    outer, size, inner = rows
    count = index.numel()
    if not outer * inner * count:
        return
    wanted = source.shape if shape is None else shape
    entries = copy_if_same(call, as_operand(call, source, out.dtype), out)
    layout = strided_layout(wanted, st.expand(entries.shape, entries.strides, wanted))
    ordered, places = index, None
    if not call.is_on_host:  # NumPy reduces in order anyway
        ordered, places = call.scratch((count,), int64), call.scratch((count,), int64)
        sort_rows_of(call, index, ordered, places, (1, count), False, max(size - 1, 0).bit_length())
    call.launch(
        _join_kernel(out.dtype, how), grid_over(outer * inner * count), out, ordered, places, entries, layout,
        outer, size, inner, count, converted(call.called, out.dtype, scale), int(includes),
    )  # fmt: skip


# few entries

FEW = 1 << 18  # entries times length of their lines up to which one launch that searches the lines is faster


@cache
def _few_kernel(dtype: dtype, how: str | None) -> Kernel:
    """Return the kernel that reduces few entries into an array, or writes them if `how` is None."""
    number = "float64" if dtype.is_floating_point else "int64"
    names = ("numel", "count", "axis", "size", "lowest", "dim", *(f"step{i}" for i in range(MAX_DIMS)))
    c = dtype.cuda
    arguments = (
        f"{c}* out, const long long* index, const {c}* source, Layout<2> layout, "
        + ", ".join(f"long long {name}" for name in names)
        + f", {C_NUMBERS[number]} number, long long includes"
    )
    steps = ", ".join(f"step{i}" for i in range(MAX_DIMS))
    few = "out, index, source, layout, steps, count, (int)axis, size, lowest"
    call = f"const long long steps[] = {{{steps}}}; "
    if how is None:
        call += f"write_few({few}, store<{c}>(({dtype.wide.cuda})number))"
    else:
        is_mean = str(how == "mean").lower()
        call += f"join_few<{JOINS[how][0]}>({few}, ({dtype.wide.cuda})number, includes != 0, {is_mean})"
    params: list[Param] = [
        Pointer("out", dtype, "rw", ("numel",)),
        Pointer("index", int64, "r", "layout"),
        Pointer("source", dtype, "r", "layout"),
        Strided("layout", ("index", "source")),
        *scalars(*names),
        Scalar("number", number),
        Scalar("includes", "int64"),
    ]
    join = None if how is None else _join_reference(dtype, how)

    def reference(
        out: Any, index: Any, source: Any, numel: int, count: int, axis: int, size: int, lowest: int, dim: int,
        *rest: Any,
    ) -> None:  # fmt: skip
        steps, (number, includes) = rest[:MAX_DIMS], rest[MAX_DIMS:]
        places: Any = check_index(index, lowest, size, dim) * steps[axis]
        for at, length in enumerate(index.shape):
            if at != axis:
                places = places + (np.arange(length) * steps[at]).reshape(-1, *(1,) * (index.ndim - at - 1))
        if join is not None:
            values = source.reshape(1, count, 1)
            join(out.reshape(1, -1, 1), places.reshape(-1), None, values, 1, numel, 1, count, number, includes)
        else:  # at repeated places, NumPy keeps the last value assigned
            out[places] = dtype.wide.numpy.type(number) if source is None else source

    entry = f"{'write' if how is None else f'join_{how}'}_few_{dtype.name}"
    return indexing_kernel(entry, arguments, call, params, reference)


def are_few(call: Call, shape: Sequence[int], dim: int) -> bool:
    """Return whether `write_few` supports indexes of `shape` along a dimension: on GPUs, where launches are slow."""
    return not call.is_on_host and len(shape) <= MAX_DIMS and prod(shape) * shape[dim] <= FEW


def write_few(
    call: Call, out: Any, index: Any, source: Any, dim: int, shape: Sequence[int], *,
    lowest: int = 0, how: str | None = None, scale: Any = 1, includes: bool = True,
) -> None:  # fmt: skip
    """Write or reduce few entries into contiguous `out`, in one launch; of several writes to a place the last counts.

    index: int64, replaces the place along `dim`; it expands to `shape`, as the source does unless it is a number.
    lowest, how, scale, includes: as in write_rows and accumulate_rows; entries are written if `how` is None.
    """
    count, sizes = prod(shape), out.shape or (1,)
    if not count:
        return
    named = copy_if_same(call, index, out)
    is_number = not hasattr(source, "strides")
    entries = None if is_number else copy_if_same(call, as_operand(call, source, out.dtype), out)
    of_index = st.expand(named.shape, named.strides, shape)
    of_source = (0,) * len(shape) if entries is None else st.expand(entries.shape, entries.strides, shape)
    rows = st.contiguous(sizes), of_index, of_source
    before, steps = st.collapse(shape[:dim], [row[:dim] for row in rows])
    behind, rests = st.collapse(shape[dim + 1 :], [row[dim + 1 :] for row in rows])
    walk = (*before, shape[dim], *behind)
    along, *strides = [(*steps[at], row[dim], *rests[at]) for at, row in enumerate(rows)]
    number = converted(call.called, out.dtype, source if is_number else scale)
    call.launch(
        _few_kernel(out.dtype, how), grid_over(count), out, named, entries, (walk, strides), out.numel(), count,
        len(before), sizes[dim], lowest, dim, *along, *(0,) * (MAX_DIMS - len(walk)), number, int(includes),
    )  # fmt: skip


@cache
def _wrap_kernel() -> Kernel:
    names = ("size", "count", "lowest", "dim")
    arguments = "long long* out, const long long* index, " + ", ".join(f"long long {name}" for name in names)
    params: list[Param] = [
        Pointer("out", int64, "w", ("count",)),
        Pointer("index", int64, "r", ("count",)),
        *scalars(*names),
    ]

    def reference(out: Any, index: Any, size: int, count: int, lowest: int, dim: int) -> None:
        out[...] = check_index(index, lowest, size, dim)

    return indexing_kernel("wrap_index", arguments, "wrap_index(out, index, size, count, lowest)", params, reference)


def wrapped_index(call: Call, index: Operand, size: int, lowest: int, dim: int) -> Any:
    """Convert an index to contiguous int64, checked and counted from the front."""
    count = index.numel()
    out = call.scratch((count,), int64)
    if count:
        call.launch(_wrap_kernel(), grid_over(count), out, call.contiguous(index, int64), size, count, lowest, dim)
    return out


@cache
def _targets_kernel() -> Kernel:
    names = (
        "numel",
        "dim",
        "limit",
        "start",
        "ndim",
        *(f"size{i}" for i in range(MAX_DIMS)),
        *(f"step{i}" for i in range(MAX_DIMS)),
    )
    arguments = "long long* out, const long long* index, " + ", ".join(f"long long {name}" for name in names)
    filled = "".join(f"layout.size[{i}] = size{i}, layout.stride[0][{i}] = step{i}; " for i in range(MAX_DIMS))
    call = f"Layout<1> layout; layout.ndim = ndim; {filled}targets(out, index, layout, numel, dim, limit, start)"
    params: list[Param] = [
        Pointer("out", int64, "w", ("numel",)),
        Pointer("index", int64, "r", ("numel",)),
        *scalars(*names),
    ]
    return indexing_kernel("targets", arguments, call, params, _targets_reference)


def _targets_reference(
    out: Any, index: Any, numel: int, dim: int, limit: int, start: int, ndim: int, *geometry: int
) -> None:
    sizes, steps = geometry[:ndim], geometry[MAX_DIMS : MAX_DIMS + ndim]
    offsets = out.reshape(sizes)
    if index is None:
        offsets[...] = 0
    else:
        np.multiply(check_index(index, 0, limit, dim).reshape(sizes), steps[dim], out=offsets)
    for axis, (size, step) in enumerate(zip(sizes, steps)):
        if size > 1 and (axis != dim or index is None):
            offsets += (np.arange(size) * step).reshape(-1, *(1,) * (ndim - axis - 1))
    if start:
        offsets += start


def target_offsets(
    call: Call,
    size: Sequence[int],
    steps: Sequence[int],
    start: int = 0,
    index: Any = None,
    dim: int = 0,
    limit: int = 0,
) -> Any:
    """Return the offset start + sum(position * stride) of every element of an array of shape `size`, as int64.

    index: contiguous, of that shape; it replaces the position along `dim` and must be below `limit`.
    """
    if index is None:
        size, (steps,) = st.collapse(size, [steps])
    numel, ndim = prod(size), len(size)
    if ndim > MAX_DIMS:
        raise ShapeError(
            f"{ndim} dimensions are more than the {MAX_DIMS} that kernels index: shape {list(size)}",
            hint="merge dimensions that are not indexed with flatten() or reshape()",
            operator="indexing",
        )
    out = call.scratch((numel,), int64)
    rest = (0,) * (MAX_DIMS - ndim)
    if numel:
        call.launch(
            _targets_kernel(), grid_over(numel), out, index, numel, dim, limit, start, ndim, *size, *rest, *steps, *rest
        )
    return out
