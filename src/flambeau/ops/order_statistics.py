"""Order statistics of rows that a block sorts in one launch: the k-th element, medians, mode, and first elements.

Rows of up to TILE elements are sorted in shared memory (kernels/sort.cu); they may lie along any dimension.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from .. import dtypes
from ..dtypes import FLOATING, dtype, int64
from ..host import np
from ..kernel import MAX_BLOCKS, MAX_DIMS, Grid, Kernel, Pointer, Scalar, Strided
from . import results
from .operator import Array, Call, Operand, Sample, operator
from .pointwise import PRELUDE, source_text
from .reduction_kernels import layout_along, reduced_shape, restore_dims
from .sorting import TILE, keys_of, stable_order

CHOICES = ("kthvalue", "median", "nanmedian", "mode")  # in the order of kernels/sort.cu
WARP = 32
SIZES = [Scalar(name, "int64") for name in ("rows", "n", "size")]


def _source(entry: str, dtype: dtype, numbers: str, statement: str) -> str:
    t = dtype.cuda
    return f"""{PRELUDE}{source_text("sort.cu")}
extern "C" __global__ void __launch_bounds__({TILE // 2}) {entry}({t}* values, long long* indexes, const {t}* input,
    const __grid_constant__ Layout<1> layout, long long rows, long long n, long long size, {numbers}) {{
  const Rows<{t}> of{{input, layout, rows, (int)n, (int)size}};
  {statement};
}}
"""


def _parameters(dtype: dtype, shape: tuple[str, ...], numbers: tuple[str, ...]) -> list[Any]:
    return [
        Pointer("values", dtype, "w", shape), Pointer("indexes", int64, "w", shape),
        Pointer("input", dtype, "r", "layout"), Strided("layout", ("input",)), *SIZES,
        *[Scalar(name, "int64") for name in numbers],
    ]  # fmt: skip


def _sorted(input: Any, dtype: dtype, descending: bool, rows: int, n: int) -> tuple[Any, Any, Any]:
    """Return (rows, the indexes that sort each row, its sorted keys) of a NumPy array."""
    values = input.reshape(rows, n)
    keys = keys_of(values, dtype, descending)
    order = stable_order(keys)
    return values, order, np.take_along_axis(keys, order, 1)


def _place(choice: str, keys: Any, is_nan: Any, k: int) -> Any:
    """Return the place, among each row's sorted keys, of the element to which the row is reduced, in NumPy."""
    rows, n = keys.shape
    if choice == "kthvalue":
        return np.full(rows, k)
    numbers = n - is_nan.sum(axis=1)
    if choice == "median":
        return np.where(numbers < n, numbers, (n - 1) // 2)
    if choice == "nanmedian":
        return np.maximum(numbers - 1, 0) // 2
    places = np.arange(n)
    is_first = np.ones((rows, n), bool)
    is_first[:, 1:] = (keys[:, 1:] != keys[:, :-1]) | is_nan[:, 1:]
    lengths = places - np.maximum.accumulate(np.where(is_first, places, 0), axis=1)
    return lengths.argmax(axis=1)


@cache
def choice_kernel(dtype: dtype) -> Kernel:
    """Return the kernel of one element of each row.

    choice: an index of CHOICES.  k: the rank of "kthvalue", from 0.
    """
    entry, t, c = f"choose_of_rows_{dtype.name}", dtype.cuda, dtype.wide.cuda

    def reference(values: Any, indexes: Any, input: Any, rows: int, n: int, size: int, choice: int, k: int) -> None:
        elements, order, keys = _sorted(input, dtype, False, rows, n)
        is_nan = keys == ~keys.dtype.type(0) if dtype.category == FLOATING else np.zeros(keys.shape, bool)
        position = _place(CHOICES[choice], keys, is_nan, k)
        every = np.arange(rows)
        indexes[...] = order[every, position]
        values[...] = elements[every, indexes]

    statement = f"choose<{t}, {c}>(values, indexes, of, (Choice)choice, (int)k)"
    source = _source(entry, dtype, "long long choice, long long k", statement)
    return Kernel(entry, source, _parameters(dtype, ("rows",), ("choice", "k")), reference, 50.0)


@cache
def first_kernel(dtype: dtype, descending: bool) -> Kernel:
    """Return the kernel of the first `count` elements of each row in sorted order."""
    entry = f"first_of_rows_{dtype.name}_{'down' if descending else 'up'}"

    def reference(values: Any, indexes: Any, input: Any, rows: int, n: int, size: int, count: int) -> None:
        elements, order, _ = _sorted(input, dtype, descending, rows, n)
        indexes[...] = order[:, :count]
        values[...] = np.take_along_axis(elements, order[:, :count], 1)

    order = f"{dtype.cuda}, {dtype.wide.cuda}, {str(descending).lower()}"
    source = _source(entry, dtype, "long long count", f"take_first<{order}>(values, indexes, of, (int)count)")
    return Kernel(entry, source, _parameters(dtype, ("rows", "count"), ("count",)), reference, 50.0)


def _launch(call: Any, kernel: Kernel, values: Any, indexes: Any, input: Any, dim: int, *numbers: int) -> None:
    layout, rows, n, _ = layout_along(input.shape, [input.strides], dim)
    if len(layout[0]) > MAX_DIMS:
        input = call.contiguous(input)
        layout, rows, n, _ = layout_along(input.shape, [input.strides], dim)
    size = max(1 << (n - 1).bit_length(), 2)
    grid = Grid((min(rows, MAX_BLOCKS[0]), 1, 1), max(size // 2, WARP))
    call.launch(kernel, grid, values, indexes, input, layout, rows, n, size, *numbers)


def _choice_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 5)), 1, False, "kthvalue", 2))
    yield Sample((Array((4, 3), layout="transposed"), 0, True, "kthvalue", 0))
    yield Sample((Array((3, 6), low=0, high=3), 1, False, "mode"))
    yield Sample((Array((2, 5, 3), low=0, high=3, layout="strided"), 1, True, "mode"))
    yield Sample((Array((2, 6)), 1, False, "median"))
    yield Sample((Array((2, 700)), 1, False, "nanmedian"))
    yield Sample((Array((0, 3)), 1, False, "mode"))


@operator(samples=_choice_samples, dtypes=dtypes.ALL, method=False, function=False)
def row_choice(call: Call, input: Operand, dim: int, keepdim: bool, choice: str, k: int = 0) -> Any:
    """Return (values, indices) of one element of each row along `dim`, of up to TILE elements on a GPU.

    choice: one of CHOICES.  k: the rank of "kthvalue", from 0.
    Shapes: the input's without that dimension, or with size 1 there if keepdim.
    Host:   returns at once.
    """
    shape = reduced_shape(input.shape, (dim,), keepdim)
    values, indexes = call.output(shape, input.dtype), call.output(shape, int64)
    if values.numel():
        _launch(call, choice_kernel(input.dtype), values, indexes, input, dim, CHOICES.index(choice), k)
    return getattr(results, choice)(values, indexes)


@row_choice.derivative
def _(grads: Any, out1: Any, input_shape: Any, dim: int, keepdim: bool) -> Any:
    if grads[0] is None:
        return None
    grad, indices = (restore_dims(tensor, input_shape, dim, keepdim) for tensor in (grads[0], out1))
    return grad.new_zeros(input_shape).scatter(dim, indices, grad)


def _first_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 5)), 2, True))
    yield Sample((Array((4, 3), layout="transposed"), 3, False))
    yield Sample((Array((2, 600)), 40, True))
    yield Sample((Array((2, 3, 4), layout="strided"), 1, True))
    yield Sample((Array((3, 5)), 0, True))


@operator(samples=_first_samples, dtypes=dtypes.ALL, method=False, function=False)
def first_of_rows(call: Call, input: Operand, count: int, descending: bool) -> Any:
    """Return (values, indices) of the first elements in order of the last dimension, of up to TILE elements on a GPU.

    Shapes: the input's, with `count` as the last size.
    Host:   returns at once.
    """
    shape = (*input.shape[:-1], count)
    values, indexes = call.output(shape, input.dtype), call.output(shape, int64)
    if values.numel():
        _launch(call, first_kernel(input.dtype, descending), values, indexes, input, len(shape) - 1, count)
    return results.topk(values, indexes)


@first_of_rows.derivative
def _(grads: Any, out1: Any, input_shape: Any) -> Any:
    return None if grads[0] is None else grads[0].new_zeros(input_shape).scatter(-1, out1, grads[0])
