"""Selections from small tensors, counted on the device: one launch of one block, one copy to the host, one wait.

The operators' results have room for all elements; `count`, or `ends`, says how much of it is used.  `first_rows` cuts a
result to size.  They are used on GPUs, where launches and waits take longest, by nonzero, masked_select,
masked_scatter, unique and bincount (kernels/compaction.cu).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import prod
from typing import Any

from .. import dtypes
from .. import strides as st
from ..core import thread
from ..core.layout import dense_layout
from ..core.tensor import in_graph
from ..dtypes import bool_, dtype, int64
from ..host import np
from ..kernel import MAX_DIMS, Grid, Kernel, Param, Pointer, Strided
from .copies import C_TYPES_BY_SIZE, ROW_COPY_SOURCE
from .indexing_kernels import check_index, scalars, strided_layout
from .operator import Array, Call, Operand, Sample, operator
from .pointwise import PRELUDE, source_text
from .sorting import TILE, WARP, keys_of, stable_order
from .views import reshape

FEW = 8192  # elements that one block takes
FEW_RUNS = TILE  # elements that `few_runs` takes
FEW_BINS = 1024  # bins that `few_bins` counts; their memory is taken whether they are used or not
BIN_THREADS = 256  # threads that clear and write the bins, at least
MOST_THREADS = 1024


def fits_block(tensor: Any, shape: Sequence[int], most: int = FEW) -> bool:
    """Return whether the operators of this module support a tensor that is broadcast to a shape."""
    return tensor.device_index >= 0 and len(shape) <= MAX_DIMS and 0 < prod(shape) <= most


def _block(numel: int, most: int = MOST_THREADS) -> Grid:
    """Return a grid of one block, with a thread for each element, in whole warps and up to `most` threads."""
    return Grid((1, 1, 1), min(-(-numel // WARP) * WARP, most))


def is_recorded(*tensors: Any) -> bool:
    """Return whether autograd records a call with these operands; the operators of this module have no derivatives."""
    return thread.here().grad_enabled and any(map(in_graph, tensors))


def first_rows(result: Any, count: int, row: Sequence[int] | None = None) -> Any:
    """Cut a new result, which nothing else refers to, to its first `count` rows; return it.

    row: the shape that a row gets; by default that of the result's rows.
    Its storage then has only the bytes of these rows; the block keeps the others until it is freed.
    """
    layout = result._layout
    _, *former = layout.shape
    shape = st.Size((count, *(former if row is None else row)))
    if not count:
        return result.new_empty(shape)
    result._layout = dense_layout(layout.device, layout.dtype, shape)
    result._storage.nbytes = result._layout.nbytes
    return result


def _kernel(entry: str, pointers: str, numbers: str, body: str, params: Sequence[Param], reference: Any) -> Kernel:
    """Return a kernel whose body is one call of a template of kernels/compaction.cu.

    numbers: names of 64-bit integers.
    """
    names = numbers.split()
    arguments = ", ".join([pointers, *(f"long long {name}" for name in names)])
    files = "".join(map(source_text, ("indexing.cu", "sort.cu", "compaction.cu")))
    head = f'extern "C" __global__ void __launch_bounds__({MOST_THREADS}) {entry}({arguments})'
    code = f"{PRELUDE}{ROW_COPY_SOURCE}{files}\n{head} {{ {body}; }}\n"
    return Kernel(entry, code, [*params, *scalars(*names)], reference, 0.0)


# indexes


@cache
def _places_kernel(dtype: dtype) -> Kernel:
    params: list[Param] = [
        Pointer("places", int64, "w", ("numel", "ndim")), Pointer("count", int64, "w", (1,)),
        Pointer("input", dtype, "r", "layout"), Strided("layout", ("input",)),
    ]  # fmt: skip

    def reference(places: Any, count: Any, input: Any, numel: int, ndim: int) -> None:
        indexes = np.argwhere(input != 0)
        count[...] = len(indexes)
        if places is not None:
            places[: len(indexes)] = indexes

    return _kernel(
        f"few_places_{dtype.name}", f"long long* places, long long* count, const {dtype.cuda}* input, Layout<1> layout",
        "numel ndim", f"few_places<{dtype.wide.cuda}>(places, count, input, layout, numel)", params, reference,
    )  # fmt: skip


@operator(samples=tuple, method=False, function=False, differentiable=False)
def few_places(call: Call, input: Operand) -> Any:
    """Return (places, count): the indexes of the nonzero elements, in row-major order, and their number.

    Shapes: [elements, dimensions] and []; both are int64.
    Host:   returns at once.
    """
    shape, numel = tuple(input.shape), input.numel()
    places, count = call.output((numel, len(shape)), int64), call.scratch((), int64)
    layout = shape, [input.strides]
    written = places if shape else None
    call.launch(_places_kernel(input.dtype), _block(numel), written, count, input, layout, numel, len(shape))
    return places, count


# values


@cache
def _chosen_kernel(dtype: dtype) -> Kernel:
    moved = C_TYPES_BY_SIZE[dtype.itemsize]
    params: list[Param] = [
        Pointer("values", dtype, "w", ("numel",)), Pointer("count", int64, "w", (1,)),
        Pointer("input", dtype, "r", "layout"), Pointer("mask", bool_, "r", "layout"),
        Strided("layout", ("input", "mask")),
    ]  # fmt: skip

    def reference(values: Any, count: Any, input: Any, mask: Any, numel: int) -> None:
        elements = input[mask]
        count[...] = len(elements)
        values[: len(elements)] = elements

    return _kernel(
        f"few_chosen_{8 * dtype.itemsize}",
        f"{moved}* values, long long* count, const {moved}* input, const bool* mask, Layout<2> layout", "numel",
        "few_chosen(values, count, input, mask, layout, numel)", params, reference,
    )  # fmt: skip


def _layout_of_both(input: Any, mask: Any) -> tuple[tuple[int, ...], tuple[Any, Any]]:
    """Return (the shape to which input and mask broadcast, their common layout)."""
    shape = st.broadcast([input.shape, mask.shape], "mask")
    return shape, st.collapse(shape, [st.expand(operand.shape, operand.strides, shape) for operand in (input, mask)])


@operator(samples=tuple, method=False, function=False, differentiable=False)
def few_chosen(call: Call, input: Operand, mask: Operand) -> Any:
    """Return (values, count): the elements where the mask is true, in row-major order, and their number.

    Shapes: input and mask broadcast; the values are a vector with room for all elements.  The count is [], int64.
    Host:   returns at once.
    """
    shape, layout = _layout_of_both(input, mask)
    numel = prod(shape)
    values, count = call.output((numel,), input.dtype), call.scratch((), int64)
    call.launch(_chosen_kernel(input.dtype), _block(numel), values, count, input, mask, layout, numel)
    return values, count


def elements_where(input: Any, mask: Any) -> Any:
    """Return the elements of a small tensor where the mask is true, as a vector.  Host: waits."""
    values, count = few_chosen(input, mask)
    return first_rows(values, count.item(), ())


def rows_where(input: Any, mask: Any) -> Any:
    """Return the rows of a small tensor where the mask, of the input's first dimensions, is true.  Host: waits."""
    row = input.shape[len(mask.shape) :]
    values, count = few_chosen(input, reshape(mask, (*mask.shape, *(1,) * len(row))) if row else mask)
    return first_rows(values, count.item() // prod(row), row)


@cache
def _replaced_kernel(dtype: dtype) -> Kernel:
    moved = C_TYPES_BY_SIZE[dtype.itemsize]
    params: list[Param] = [
        Pointer("out", dtype, "w", ("numel",)), Pointer("input", dtype, "r", "layout"),
        Pointer("mask", bool_, "r", "layout"), Pointer("source", dtype, "r", ("available",)),
        Strided("layout", ("input", "mask")),
    ]  # fmt: skip

    def reference(out: Any, input: Any, mask: Any, source: Any, numel: int, available: int) -> None:
        places = check_index(np.arange(np.count_nonzero(mask)), 0, available, 0)
        out[...] = input.reshape(-1)
        out[mask.reshape(-1)] = source[places]

    return _kernel(
        f"few_replaced_{8 * dtype.itemsize}",
        f"{moved}* out, const {moved}* input, const bool* mask, const {moved}* source, Layout<2> layout",
        "numel available", "few_replaced(out, input, mask, source, layout, numel, available)", params, reference,
    )  # fmt: skip


def _replaced_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((4,), 0, 2, "bool", seed=2), Array((4, 3), layout="transposed", seed=1)))


@operator(samples=_replaced_samples, dtypes=dtypes.ALL, method=False, function=False, differentiable=False)
def few_replaced(call: Call, input: Operand, mask: Operand, source: Operand) -> Any:
    """Return a copy of a small tensor with the elements of the source, in order, where the mask is true.

    Shapes: input and mask broadcast; the result has their shape and is contiguous.
    Host:   returns at once; a source that is too short triggers a device-side assert.
    """
    shape, layout = _layout_of_both(input, mask)
    out = call.output(shape, input.dtype)
    numel, available = prod(shape), source.numel()
    values = out, input, mask, call.contiguous(source), layout, numel, available
    call.launch(_replaced_kernel(input.dtype), _block(numel), *values)
    return out


# runs of equal elements


@cache
def _runs_kernel(dtype: dtype, sorts: bool) -> Kernel:
    entry = f"few_runs_{dtype.name}{'_sorted' if sorts else ''}"
    template = f"few_runs<{str(sorts).lower()}, {dtype.cuda}, {dtype.wide.cuda}>"
    pointers = "long long* inverse, long long* counts, long long* count"
    params: list[Param] = [
        Pointer("values", dtype, "w", ("n",)), Pointer("inverse", int64, "w", ("n",)),
        Pointer("counts", int64, "w", ("n",)), Pointer("count", int64, "w", (1,)), Pointer("input", dtype, "r", ("n",)),
    ]  # fmt: skip

    def reference(values: Any, inverse: Any, counts: Any, count: Any, input: Any, n: int) -> None:
        order = stable_order(keys_of(input[None], dtype, False))[0] if sorts else np.arange(n)
        ordered = input[order]
        begins = np.concatenate([[True], ordered[1:] != ordered[:-1]])
        starts = np.flatnonzero(begins)
        values[: len(starts)] = ordered[starts]
        count[...] = len(starts)
        if inverse is not None:
            inverse[order] = np.cumsum(begins) - 1
        if counts is not None:
            counts[: len(starts)] = np.diff(starts, append=n)

    return _kernel(
        entry, f"{dtype.cuda}* values, {pointers}, const {dtype.cuda}* input", "n",
        f"{template}(values, inverse, counts, count, input, (int)n)", params, reference,
    )  # fmt: skip


@operator(samples=tuple, method=False, function=False, differentiable=False)
def few_runs(call: Call, input: Operand, sorts: bool, with_inverse: bool, with_counts: bool) -> Any:
    """Return (values, count, inverse, counts): the first element of each run of equal ones, and the number of runs.

    sorts: whether the elements are sorted first.  inverse: the number of each element's run, of the input's shape.
    counts: the lengths of runs.  Both are None unless they are wanted.
    Shapes: values and counts are vectors with room for all elements; count is [], int64.
    Host:   returns at once.
    """
    n = input.numel()
    values, count = call.output((n,), input.dtype), call.scratch((), int64)
    inverse = call.scratch(input.shape, int64) if with_inverse else None
    counts = call.scratch((n,), int64) if with_counts else None
    kernel, source = _runs_kernel(input.dtype, sorts), call.contiguous(input)
    call.launch(kernel, _block(n, TILE // 2), values, inverse, counts, count, source, n)
    return values, count, inverse, counts


# bins


@cache
def _bins_kernel(dtype: dtype) -> Kernel:
    params: list[Param] = [
        Pointer("counts", int64, "w", (FEW_BINS,)), Pointer("ends", int64, "w", (2,)),
        Pointer("input", dtype, "r", "layout"), Strided("layout", ("input",)),
    ]  # fmt: skip

    def reference(counts: Any, ends: Any, input: Any, numel: int) -> None:
        index = input.astype(np.int64)
        ends[...] = index.min(), index.max()
        counts[...] = np.bincount(index[(index >= 0) & (index < FEW_BINS)], minlength=FEW_BINS)

    return _kernel(
        f"few_bins_{dtype.name}", f"long long* counts, long long* ends, const {dtype.cuda}* input, Layout<1> layout",
        "numel", f"few_bins<{FEW_BINS}>(counts, ends, input, layout, numel)", params, reference,
    )  # fmt: skip


@operator(samples=tuple, method=False, function=False, differentiable=False)
def few_bins(call: Call, input: Operand) -> Any:
    """Return (counts, ends): the number of each integer from 0 to FEW_BINS - 1; the least and greatest integers.

    Shapes: vectors of int64.
    Host:   returns at once.
    """
    counts, ends = call.output((FEW_BINS,), int64), call.scratch((2,), int64)
    numel, layout = input.numel(), strided_layout(input.shape, input.strides)
    call.launch(_bins_kernel(input.dtype), _block(max(numel, BIN_THREADS)), counts, ends, input, layout, numel)
    return counts, ends
