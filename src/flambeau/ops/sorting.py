"""Sorting: sort, argsort, msort and topk.  Stable; NaN is last, or first in descending order.

Rows of up to TILE elements take one launch.  Longer ones are sorted by tiles, which are then merged in pairs.  Rows of
more than LONG_ROW elements are sorted digit by digit (radix.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from .. import dtypes
from .. import strides as st
from ..dtypes import dtype, int64
from ..errors import IndexRangeError
from ..host import np
from ..kernel import Grid, Kernel, Param, Pointer, Scalar
from . import radix, results
from .operator import REGISTRY, Array, Call, ErrorSample, Operand, Sample, composite, operator
from .pointwise import PRELUDE, grid_over, source_text
from .samples import bad_last
from .views import permute, transpose

TILE = 1024  # elements that one block sorts; kernels/sort.cu has the same number
LONG_ROW = 16 * TILE
SELECT_ROW = 4096  # elements of a row from which on a select is faster than a sort
HOST_SELECT_ROW = 64  # the same on the CPU
SELECT_SHARE = 8  # of the elements of a row, a select takes at most this fraction


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
        sortable = radix.keys_of(input, dtype, descending)
        for start in range(0, n, TILE):
            order = start + radix.stable_order(sortable[:, start : start + TILE])
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
        sortable = radix.keys_of(old_keys, dtype, descending)
        for start in range(0, n, 2 * width):
            order = start + radix.stable_order(sortable[:, start : start + 2 * width])
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

    indices: None if only values are wanted.  bits: the low bits in which elements differ; None for all of them.
    """
    rows, n = shape
    if not rows * n:
        return
    dtype = input.dtype
    if call.is_on_host:
        grid = Grid((1, 1, 1), 1)
        call.launch(radix.host_sort_kernel(dtype), grid, values, indices, input, rows, n, int(descending))
        return
    if LONG_ROW < n < radix.MOST_ELEMENTS:
        radix.radix_sort(call, input, values, indices, rows, n, descending, bits)
        return
    indices = call.scratch((rows, n), int64) if indices is None else indices
    widths = [TILE << i for i in range(max(0, (-(-n // TILE) - 1).bit_length()))]
    other = (call.scratch((rows, n), dtype), call.scratch((rows, n), int64)) if widths else None
    ends: list[Any] = [(values, indices), other]
    if len(widths) % 2:
        ends.reverse()  # so that the last merge writes the results
    grid = Grid((rows * -(-n // TILE), 1, 1), TILE // 2)
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
    """(values, indices) of the elements of the last dimension in order.

    bits: the low bits in which elements differ, where that is known.
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
    """The elements of the last dimension in order, without their indexes.  bits: as for `sort_rows`.

    Host: returns at once.
    """
    shape = input.shape
    values = call.output(shape, input.dtype)
    n = shape[-1] if shape else 1
    source = call.contiguous(input)
    if source is values and n:  # a sort in place would overwrite what later passes read
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
    """(values, indices) of the elements along a dimension in order.  Always stable; NaN is the greatest.

    Shapes: both results are of the input's shape, and of its layout where that has no gaps; indices are int64.
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
    """The result itself if it has these compact strides, else a copy that has them."""
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
    """The elements in order along the first dimension.

    Shapes: as the input.
    Host:   returns at once.
    Example:
        >>> torch.msort(torch.tensor([[3, 1], [2, 5]]))
        tensor([[2, 1],
                [3, 5]])
    """
    return sort(input, 0).values


@composite(samples=_sort_samples, errors=bad_last, dtypes=dtypes.ALL)
def argsort(input: Operand, dim: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The indices that sort a dimension.

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
    """(values, indices) of the `count` greatest or least elements of each row; of equal ones the first.

    Those that differ from the last one come first; otherwise they have the order of the row.
    Host: returns at once.
    """
    n = input.shape[-1]
    shape = (*input.shape[:-1], count)
    values, indices = call.output(shape, input.dtype), call.scratch(shape, int64)
    if values.numel():
        rows, source = input.numel() // n, call.contiguous(input)
        if call.is_on_host:
            kernel, grid = radix.host_select_kernel(input.dtype), Grid((1, 1, 1), 1)
            call.launch(kernel, grid, values, indices, source, rows, n, count, int(largest))
        else:
            radix.radix_select(call, source, values, indices, rows, n, count, largest)
    return results.topk(values, indices)


def _first_places(input: Any, count: int, largest: bool) -> Any:
    """The indexes of the `count` greatest or least elements of the last dimension, in order."""
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
    """(values, indices) of the k greatest, or least, elements of a dimension, in order.  sorted has no effect.

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
    long = HOST_SELECT_ROW if source.device_index < 0 else SELECT_ROW
    if size >= long and 0 < k <= size // SELECT_SHARE:
        indices = transpose(_first_places(transpose(input.detach(), at, -1), k, largest), at, -1).contiguous()
    else:
        first = sort(input.detach(), at, largest).indices.narrow(at, 0, k)
        indices = first.clone() if len(input.shape) == 1 else first.contiguous()  # no view of all indices
    return results.topk(REGISTRY["gather"](input, at, indices), indices)  # whose derivative saves the returned indices
