"""Indexing by masks and index tensors: nonzero, masked_select, index_select, index_add, index_copy, index_put.

Several index tensors are combined into one: the dimensions that they index are flattened, and `flat_index` computes the
indexes in the flattened dimension.  The result then selects rows of one dimension.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import prod
from typing import Any, NamedTuple

from .. import dtypes
from .. import strides as st
from ..core.tensor import TensorBase
from ..dtypes import bool_, dtype, int64, uint8
from ..errors import (
    ArgumentTypeError,
    DtypeError,
    FlambeauError,
    IndexCountError,
    IndexRangeError,
    ShapeError,
    ValueRangeError,
    name_error,
    shown,
)
from ..host import np
from ..kernel import Grid, Kernel, Param, Pointer, Scalar, Strided
from ..memory_formats import contiguous_format
from .compaction import elements_where, few_places, first_rows, fits_block, is_recorded, rows_where
from .copies import C_TYPES_BY_SIZE, plan_row_copy
from .indexing_kernels import (
    INDEX_ARGUMENTS,
    INDEX_CALL,
    INDEX_NUMBERS,
    RowShape,
    accumulate_rows,
    are_few,
    check_index,
    indexing_kernel,
    scalars,
    strided_layout,
    wrapped_index,
    write_few,
    write_rows,
)
from .operator import REGISTRY, Array, Call, ErrorSample, Operand, Operands, Sample, Value, composite, operator
from .pointwise import grid_over
from .samples import index_array
from .slicing import select, unbind
from .views import broadcast_tensors, expand, permute, reshape

# elements that are not zero

NONZERO_CHUNK = 1024  # elements that one block counts
SCAN_THREADS = 1024


@cache
def _count_kernel() -> Kernel:
    params: list[Param] = [
        Pointer("counts", int64, "w", ("chunks",)),
        Pointer("mask", bool_, "r", ("numel",)),
        *scalars("chunks", "numel"),
    ]

    def reference(counts: Any, mask: Any, chunks: int, numel: int) -> None:
        counts[...] = np.add.reduceat(mask.astype(np.int64), np.arange(0, numel, NONZERO_CHUNK))

    arguments = "long long* counts, const bool* mask, long long chunks, long long numel"
    return indexing_kernel(
        "count_chunks", arguments, f"count_chunks(counts, mask, numel, {NONZERO_CHUNK})", params, reference
    )


@cache
def _sum_kernel() -> Kernel:
    params: list[Param] = [
        Pointer("starts", int64, "w", ("ends",)), Pointer("counts", int64, "r", ("chunks",)),
        *scalars("ends", "chunks"),
    ]  # fmt: skip

    def reference(starts: Any, counts: Any, ends: int, chunks: int) -> None:
        starts[0] = 0
        np.cumsum(counts, out=starts[1:])

    arguments = "long long* starts, const long long* counts, long long ends, long long chunks"
    return indexing_kernel(
        "sum_counts", arguments, "sum_counts(starts, counts, chunks)", params, reference, threads=SCAN_THREADS
    )


@cache
def _places_kernel() -> Kernel:
    params: list[Param] = [
        Pointer("out", int64, "w", ("found", "ndim")), Pointer("starts", int64, "r", ("ends",)),
        Pointer("mask", bool_, "r", "layout"), Strided("layout", ("mask",)), *scalars("found", "ends", "numel"),
        Scalar("ndim", "int64"),
    ]  # fmt: skip

    def reference(out: Any, starts: Any, mask: Any, found: int, ends: int, numel: int, ndim: int) -> None:
        out[...] = np.argwhere(mask)

    arguments = (
        "long long* out, const long long* starts, const bool* mask, Layout<1> layout, long long found, long long ends, "
        "long long numel, long long ndim"
    )
    body = f"write_places(out, starts, mask, layout, numel, {NONZERO_CHUNK})"
    return indexing_kernel("write_places", arguments, body, params, reference)


def _nonzero_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4), low=0, high=2),))
    yield Sample((Array((4, 3), low=0, high=2, layout="transposed"),))
    yield Sample((Array((5,), low=0, high=1),), {"as_tuple": True})
    yield Sample((Array((0, 3)),))
    yield Sample((Array(()),))
    yield Sample((Array((), low=1, high=2),), {"as_tuple": True})


def _masks() -> Iterator[Sample]:
    yield Sample((Array((3, 4), low=0, high=2),))
    yield Sample((Array((4, 3), low=0, high=2, layout="transposed"),))


@operator(samples=_masks, dtypes=dtypes.ALL, differentiable=False, method=False, function=False)
def count_nonzero_before(call: Call, input: Operand) -> Any:
    """Return the number of nonzero elements before each chunk of NONZERO_CHUNK elements, and the total at the end.

    Shapes: [chunks + 1], int64.
    Host:   returns at once.
    """
    numel = prod(input.shape)
    chunks = -(-numel // NONZERO_CHUNK)
    starts = call.output((chunks + 1,), int64)
    if numel:
        mask = call.contiguous(input, bool_)
        counts = call.scratch((chunks,), int64)
        call.launch(_count_kernel(), Grid((chunks, 1, 1), 256), counts, mask, chunks, numel)
        call.launch(_sum_kernel(), Grid((1, 1, 1), SCAN_THREADS), starts, counts, chunks + 1, chunks)
    return starts


def _found_masks() -> Iterator[Sample]:
    zeros = Array((2,), low=0, high=1, dtype="int64")  # with one chunk, only the first start is read
    yield Sample((Array((3, 4), low=1, high=2), zeros, 12))


@operator(samples=_found_masks, dtypes=dtypes.ALL, differentiable=False, method=False, function=False)
def places_of_nonzero(call: Call, input: Operand, starts: Operand, found: int) -> Any:
    """Return the indexes of the `found` nonzero elements.  starts: the result of `count_nonzero_before`.

    Shapes: [found, input dimensions], int64.
    Host:   returns at once.
    """
    ndim, numel = len(input.shape), prod(input.shape)
    out = call.output((found, ndim), int64)
    if found and ndim:
        mask = call.contiguous(input, bool_)
        values = (out, starts, mask, (input.shape, [mask.strides]), found, starts.shape[0], numel, ndim)
        call.launch(_places_kernel(), Grid((starts.shape[0] - 1, 1, 1), 256), *values)
    return out


@composite(samples=_nonzero_samples, dtypes=dtypes.ALL, host="waits", differentiable=False)
def nonzero(input: Operand, as_tuple: bool = False) -> Any:
    """Return the indexes of all nonzero elements, in row-major order.

    Shapes: [number of nonzero elements, number of the input's dimensions], int64; with as_tuple, a tuple of one vector
            for each dimension.
    Host:   waits, because the size of the result depends on the values.
    Raises: ArgumentTypeError if the input is not a tensor.
    Example:
        >>> x = torch.tensor([[0, 3], [4, 0]])
        >>> torch.nonzero(x)
        tensor([[0, 1],
                [1, 0]])
        >>> torch.nonzero(x, as_tuple=True)
        (tensor([0, 1]), tensor([1, 0]))
    """
    if as_tuple and not input.shape:
        return nonzero(reshape(input, (1,)), True)
    if fits_block(input, input.shape):
        places, count = few_places(input)
        out = first_rows(places, count.item())
    else:
        is_mask = input.dtype is bool_ and input.is_contiguous()
        mask = input if is_mask else REGISTRY["convert"](input, bool_, contiguous_format)
        starts: Any = count_nonzero_before(mask)
        out = places_of_nonzero(mask, starts, select(starts, 0, -1).item() if prod(input.shape) else 0)
    return unbind(out, 1) if as_tuple else out


# one index vector along one dimension

INDEX_TYPES = dtypes.INTEGER_TYPES


def row_shape(name: str, input: Operand, dim: int, index: Operand) -> tuple[RowShape, int]:
    """Return (shape of the rows along a dimension, the dimension counted from the front).  Checks the index."""
    at = st.wrap_dim(dim, len(input.shape), name)
    if index.dtype not in INDEX_TYPES:
        raise DtypeError(
            f"the index must be of an integer type, got {index.dtype.name}", hint="convert with .long()", operator=name
        )
    if len(index.shape) > 1:
        raise IndexCountError(
            f"the index must be a vector, got shape {list(index.shape)}",
            hint="flatten it with .reshape(-1)",
            operator=name,
        )
    if not input.shape and index.numel() != 1 and name != "index_fill":
        raise IndexRangeError(
            f"a 0-dim tensor takes one index, got {index.numel()}", hint="unsqueeze(0) makes it a vector", operator=name
        )
    shape = input.shape or (1,)
    return (prod(shape[:at]), shape[at], prod(shape[at + 1 :])), at


def _replaced(shape: Sequence[int], at: int, size: int) -> tuple[int, ...]:
    return (*shape[:at], size, *shape[at + 1 :]) if shape else ()


def copied_input(call: Call, input: Operand) -> Any:
    """Return a contiguous result with the values of the input: the input itself in place."""
    out = call.output(input.shape, input.dtype)
    if out is not input and out.numel():
        call.assign(out, input)
    return out


@cache
def _select_kernel(dtype: dtype, unit: int) -> Kernel:
    moved = C_TYPES_BY_SIZE[unit]
    arguments = "void* out, const long long* index, const void* input, Layout<1> layout, "
    params: list[Param] = [
        Pointer("out", dtype, "w", ("outer", "count", "inner")), Pointer("index", int64, "r", ("count",)),
        Pointer("input", dtype, "r", "layout"), Strided("layout", ("input",)), *scalars(*INDEX_NUMBERS),
    ]  # fmt: skip

    def reference(
        out: Any, index: Any, input: Any, outer: int, size: int, inner: int, count: int, lowest: int, dim: int, *_: int
    ) -> None:
        out[...] = input.reshape(outer, size, inner)[:, check_index(index, lowest, size, dim)]

    body = f"select_rows(({moved}*)out, (const {moved}*)input, {INDEX_CALL}, outer, inner, width, lanes)"
    return indexing_kernel(f"select_rows_{unit}", arguments + INDEX_ARGUMENTS, body, params, reference)


def _select_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), 0, index_array(5)))
    yield Sample((Array((2, 16)), 0, index_array(3)))
    yield Sample((Array((4, 3), layout="transposed"), 1, index_array(2)))
    yield Sample((Array((2, 3, 4)), -2, index_array(4)))
    yield Sample((Array((3, 4)), 0, index_array(0)))
    yield Sample((Array((3,)), 0, index_array()))


def _select_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3, 4)), 2, index_array(2)), IndexRangeError, r"got 2")
    yield ErrorSample((Array((3, 4)), 0, Array((2,), dtype="float32")), DtypeError, r"integer type, got float32")
    yield ErrorSample((Array((3, 4)), 0, index_array(2, 2)), ShapeError, r"vector, got shape \[2, 2\]")


@operator(samples=_select_samples, errors=_select_errors, dtypes=dtypes.ALL)
def index_select(call: Call, input: Operand, dim: int, index: Operand, wrap: bool = False) -> Any:
    """Return a copy of the slices at the given indexes of a dimension, in the order of the indexes.

    wrap: True lets negative indexes count from the end.
    Shapes: the shape of the input, except that the size along `dim` is the number of indexes.
    Host:   returns at once; an index out of range raises on the CPU and triggers a device-side assert on a GPU.
    Raises: IndexRangeError if `dim` or an index is out of range, DtypeError unless the index is of an integer type,
            IndexCountError, a ShapeError, unless the index is a vector.
    Example:
        >>> torch.index_select(torch.tensor([[1, 2], [3, 4], [5, 6]]), 0, torch.tensor([2, 0]))
        tensor([[5, 6],
                [1, 2]])
    """
    (outer, size, inner), at = row_shape("index_select", input, dim, index)
    count = index.numel()
    if count and not size:
        raise IndexRangeError(
            f"dimension {at} has no elements to select, the shape is {list(input.shape)}",
            hint="select another dimension, or pass an empty index",
            operator="index_select",
        )
    out = call.output(_replaced(input.shape, at, count), input.dtype)
    if outer * count * inner:
        move = plan_row_copy(input.dtype, input.shape or (1,), input.strides or (1,), at, (out, input))
        layout = strided_layout(input.shape, input.strides)
        numbers = (outer, size, inner, count, -size if wrap else 0, at, *move[1:])
        values = (out, call.contiguous(index, int64), input, layout, *numbers)
        call.launch(_select_kernel(input.dtype, move.unit), move.grid(outer * count, inner), *values)
    return out


@index_select.derivative
def _(grad: Any, dim: int, index: Any, input_shape: Any, wrap: bool) -> Any:
    return grad.new_zeros(input_shape).index_add(dim, index, grad, wrap=wrap), None


def _add_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), 0, index_array(5), Array((5, 4), seed=1)))
    yield Sample((Array((4, 3), layout="transposed"), 1, index_array(2), Array((4, 2), seed=1)), {"alpha": 2})
    yield Sample((Array((3, 4)), 0, index_array(0), Array((0, 4), seed=1)))
    yield Sample(_many())


def _many() -> tuple[Any, ...]:
    """Return sample arguments of index_add with too many indexes for `write_few`."""
    return Array((8,), grad=False), 0, index_array(600, high=7), Array((600,), seed=1, grad=False)


def _add_errors() -> Iterator[ErrorSample]:
    yield ErrorSample(
        (Array((3, 4)), 0, index_array(2), Array((3, 4))), ShapeError, r"source .* \[2, 4\], got \[3, 4\]"
    )
    yield ErrorSample((Array((3, 4)), 0, index_array(2), Array((2, 4), dtype="bool")), DtypeError, r"source is bool")


def check_source(name: str, input: Operand, shape: Sequence[int], source: Any) -> None:
    """Raise IndexCountError or DtypeError unless `source` has the type of the input and the given shape."""
    if source.dtype is not input.dtype:
        raise DtypeError(
            f"the input is {input.dtype.name}, but the source is {source.dtype.name}",
            hint=f"convert it with .to(torch.{input.dtype.name})",
            operator=name,
        )
    if tuple(source.shape) != tuple(shape) and (shape or tuple(source.shape) != (1,)):
        raise IndexCountError(
            f"the source must have shape {list(shape)}, got {list(source.shape)}",
            hint="pass the input's shape, with the number of indexes as the size of the indexed dimension",
            operator=name,
        )


@operator(samples=_add_samples, errors=_add_errors, dtypes=dtypes.ALL, inplace=True)
def index_add(
    call: Call, input: Operand, dim: int, index: Operand, source: Operand, alpha: float = 1, wrap: bool = False
) -> Any:
    """Return a copy of the input with alpha * source added at the given indexes of a dimension.

    The additions to a repeated index are made in order.  wrap: True lets negative indexes count from the end.
    Shapes: the source has the shape of the input, except that its size along `dim` is the number of indexes.
    Host:   returns at once; an index out of range raises on the CPU and triggers a device-side assert on a GPU.
    Raises: IndexRangeError if `dim` or an index is out of range, DtypeError unless the index is of an integer type and
            the source of the input's, IndexCountError, a ShapeError, if their shapes do not fit.
    Example:
        >>> torch.index_add(torch.zeros(3), 0, torch.tensor([1, 1]), torch.tensor([2.0, 3.0]))
        tensor([0., 5., 0.])
    """
    rows, at = row_shape("index_add", input, dim, index)
    check_source("index_add", input, _replaced(input.shape, at, index.numel()), source)
    lowest = -rows[1] if wrap else 0
    out = copied_input(call, input)
    if are_few(call, _replaced(out.shape or (1,), at, index.numel()), at):
        _write_few_rows(call, out, index, source, at, lowest, how="sum", scale=alpha)
    else:
        places = wrapped_index(call, index, rows[1], lowest, at)
        accumulate_rows(call, out, places, source, rows, scale=alpha)
    return out


def _write_few_rows(call: Call, out: Any, index: Any, source: Any, at: int, lowest: int, **joined: Any) -> None:
    """Do the same as `write_few` for a vector of indexes of dimension `at`."""
    shape = _replaced(out.shape or (1,), at, index.numel())
    places = index if index.dtype is int64 else call.contiguous(index, int64)
    behind = len(shape) - at - 1
    column = call.part(places, (index.numel(), *(1,) * behind), (*(places.strides or (0,)), *(0,) * behind), 0)
    write_few(call, out, column, source, at, shape, lowest=lowest, **joined)


@index_add.derivative
def _(grad: Any, dim: int, index: Any, alpha: Any, wrap: bool, needs: Any) -> Any:
    part = grad.index_select(dim, index, wrap=wrap) * alpha if needs[2] else None
    return grad, None, part


def _copy_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), 0, index_array(2, seed=0), Array((2, 4), seed=1)))
    yield Sample((Array((2, 16)), 0, index_array(2, seed=0), Array((2, 16), seed=1)))
    yield Sample((Array((4, 3), layout="transposed"), 1, index_array(3, high=3, seed=0), Array((4, 3), seed=1)))
    yield Sample(_many())


@operator(samples=_copy_samples, errors=_add_errors, dtypes=dtypes.ALL, inplace=True)
def index_copy(
    call: Call, input: Operand, dim: int, index: Operand, source: Operand, wrap: bool = False, unique: bool = False
) -> Any:
    """Return a copy of the input with `source` written at the given indexes of a dimension.

    Of several writes to one index, the last counts.  The gradient is correct only if no index is repeated.
    unique: True promises that no index is repeated.  wrap: True lets negative indexes count from the end.
    Shapes: the source has the shape of the input, except that its size along `dim` is the number of indexes.
    Host:   returns at once; an index out of range raises on the CPU and triggers a device-side assert on a GPU.
    Raises: IndexRangeError if `dim` or an index is out of range, DtypeError unless the index is of an integer type and
            the source of the input's, IndexCountError, a ShapeError, if their shapes do not fit.
    Example:
        >>> torch.index_copy(torch.zeros(3), 0, torch.tensor([2, 0]), torch.tensor([7.0, 9.0]))
        tensor([9., 0., 7.])
    """
    rows, at = row_shape("index_copy", input, dim, index)
    shape = _replaced(input.shape, at, index.numel())
    check_source("index_copy", input, shape, source)
    lowest = -rows[1] if wrap else 0
    out = copied_input(call, input)
    if are_few(call, shape or (1,), at):
        _write_few_rows(call, out, index, source, at, lowest)
    else:
        places = call.contiguous(index, int64)
        write_rows(call, out, places, source, rows, shape, lowest=lowest, dim=at, unique=unique)
    return out


@index_copy.derivative
def _(grad: Any, dim: int, index: Any, wrap: bool, needs: Any) -> Any:
    whole = grad.index_fill(dim, index, 0) if needs[0] else None
    return whole, None, grad.index_select(dim, index, wrap=wrap) if needs[2] else None


def _fill_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), 0, index_array(2), 1))
    yield Sample((Array((3, 4)), 1, index_array(2, low=-4, high=-1), 1))
    yield Sample((Array(()), 0, index_array(2, high=0), 1))
    yield Sample((Array((8,), grad=False), 0, index_array(600, high=7), 1))
    yield Sample((Array((3, 4)), 1, index_array(3, low=-4, high=1), Array((), seed=1)))
    yield Sample((Array(()), -1, index_array(1, high=0), Array((), seed=1)))


def _fill_errors() -> Iterator[ErrorSample]:
    yield ErrorSample(
        (Array((3, 4)), 2, index_array(2), 1), IndexRangeError, r"expected to be in range of \[-2, 1\], but got 2"
    )
    yield ErrorSample((Array((3, 4)), 0, Array((2,)), 1), DtypeError, "index must be of an integer type, got float32")
    yield ErrorSample(
        (Array((3, 4)), 0, index_array(2, 2), 1), IndexCountError, r"must be a vector, got shape \[2, 2\]"
    )
    yield ErrorSample(
        (Array((3, 4)), 0, index_array(2), Array((1,))), ShapeError, r"without dimensions, got shape \[1\]"
    )


@operator(samples=_fill_samples, errors=_fill_errors, dtypes=dtypes.ALL, inplace=True)
def index_fill(call: Call, input: Operand, dim: int, index: Operand, value: Value) -> Any:
    """Return a copy of the input with one value at the given indexes of a dimension.

    Negative indexes count from the end.
    value: a number, or a tensor without dimensions, which may have a gradient.
    Shapes: same as the input; the index is a vector.
    Host:   returns at once; an index out of range raises on the CPU and triggers a device-side assert on a GPU.
    Raises: IndexRangeError if `dim` or an index is out of range, IndexCountError if the index is not a vector,
            DtypeError if it is not of an integer type, ShapeError if `value` has dimensions.
    Example:
        >>> torch.index_fill(torch.tensor([1.0, 2.0, 3.0]), 0, torch.tensor([0, 2]), -1)
        tensor([-1.,  2., -1.])
    """
    rows, at = row_shape("index_fill", input, dim, index)
    if of_value := getattr(value, "shape", ()):
        raise ShapeError(
            f"value must be a number or a tensor without dimensions, got shape {list(of_value)}",
            hint="use index_copy() to write several values",
            operator="index_fill",
        )
    out = copied_input(call, input)
    shape = _replaced(input.shape or (1,), at, index.numel())
    if are_few(call, shape, at):
        _write_few_rows(call, out, index, value, at, -rows[1])
    else:
        places = call.contiguous(index, int64)
        write_rows(call, out, places, value, rows, shape, lowest=-rows[1], dim=at, unique=True)
    return out


@index_fill.derivative
def _(grad: Any, dim: int, index: Any, needs: Any) -> Any:
    whole = grad.index_fill(dim, index, 0) if needs[0] else None
    if not needs[2]:
        return whole, None, None
    others = grad.new_ones(grad.shape, dtype=dtypes.bool_).index_fill(dim, index, False)
    return whole, None, grad.masked_fill(others, 0).sum()


# several index tensors, and masks


@cache
def _flat_kernel(count: int) -> Kernel:
    places = [f"index{i}" for i in range(count)]
    sizes = [f"size{i}" for i in range(count)]
    dims = [f"dim{i}" for i in range(count)]
    numbers = ["numel", *sizes, *dims]
    pointers = "".join(f"const long long* {name}, " for name in places)
    arguments = f"long long* out, {pointers}Layout<{count}> layout, " + ", ".join(
        f"long long {name}" for name in numbers
    )
    step = " ".join(
        f"at = at * {size} + checked({name}[offset(layout, {i}, i)], -{size}, {size});"
        for i, (name, size) in enumerate(zip(places, sizes))
    )
    body = f"long long at = 0; {step} out[i] = at;"
    loop = f"for (long long i = first_index(); i < numel; i += index_step()) {{ {body} }}"
    params: list[Param] = [
        Pointer("out", int64, "w", ("numel",)), *(Pointer(name, int64, "r", "layout") for name in places),
        Strided("layout", tuple(places)), *scalars(*numbers),
    ]  # fmt: skip

    def reference(out: Any, *rest: Any) -> None:
        given, facts = rest[:count], rest[count + 1 :]
        at: Any = 0
        for index, size, dim in zip(given, facts[:count], facts[count:]):
            at = at * size + check_index(index, -size, size, dim)
        out[...] = np.reshape(at, -1)

    return indexing_kernel(f"flat_index_{count}", arguments, loop, params, reference)


def _flat_samples() -> Iterator[Sample]:
    yield Sample(([index_array(3), index_array(2, 1, seed=1)], (2, 3), (0, 1)))


@operator(samples=_flat_samples, method=False, function=False, differentiable=False)
def flat_index(call: Call, indices: Operands, sizes: Any, dims: Any) -> Any:
    """Combine the index tensors of neighbouring dimensions into indexes of those dimensions flattened.

    Shapes: the indices broadcast; the result is a vector.
    sizes: the sizes of the dimensions.  dims: their numbers, for errors.
    Host:   returns at once; an index out of range raises on the CPU and triggers a device-side assert on a GPU.
    """
    shape = st.broadcast([index.shape for index in indices], "index")
    numel = prod(shape)
    out = call.output((numel,), int64)
    if numel:
        ready = [index if index.dtype is int64 else call.contiguous(index, int64) for index in indices]
        layout = st.collapse(shape, [st.expand(index.shape, index.strides, shape) for index in ready])
        call.launch(_flat_kernel(len(ready)), grid_over(numel), out, *ready, layout, numel, *sizes, *dims)
    return out


class Selection(NamedTuple):
    """The rows of a tensor that a list of index tensors selects.

    source: the tensor with all indexed dimensions flattened into dimension `dim`.  rows: the indexes in `dim`.
    shape: the shape of the selection.  order: the order of the dimensions before flattening.
    unique: whether no row is repeated.
    """

    source: Any
    dim: int
    rows: Any
    shape: tuple[int, ...]
    order: tuple[int, ...]
    unique: bool


def selection_of(input: Any, indices: Sequence[Any]) -> Selection:
    """Resolve `indices`, one per dimension, tensors or None.  A mask counts for as many as it has dimensions.

    Host: waits if there is a mask.
    """
    only_mask = next((index for index in indices if index is not None), None) if _count(indices) == 1 else None
    if only_mask is None and not _count(indices):
        raise ValueRangeError(
            f"got no index tensor, the input has shape {list(input.shape)}",
            hint="use copy_() or fill_() to write the whole tensor",
            operator="index",
        )
    flattened_mask = only_mask is not None and only_mask.dtype in (bool_, uint8) and len(only_mask.shape) > 0
    entries, dims = _entries(input, indices, flattened_mask)
    between = dims == list(range(dims[0], dims[0] + len(dims)))
    rest = [dim for dim in range(len(input.shape)) if dim not in dims]
    first = dims[0] if between else 0
    order = (*rest[:first], *dims, *rest[first:])
    sizes = [input.shape[dim] for dim in dims]
    moved = input if between else permute(input, order)
    lead, tail = moved.shape[:first], moved.shape[first + len(dims) :]
    if flattened_mask:
        shape, rows = tuple(entries[0].shape), entries[0]
    else:
        shape = _broadcast_shape(entries)
        rows = reshape(entries[0], (-1,)) if len(entries) == 1 else flat_index(entries, sizes, dims)
    source = moved if len(dims) == 1 else reshape(moved, (*lead, prod(sizes), *tail))
    return Selection(source, first, rows, (*lead, *shape, *tail), order, flattened_mask)


def _count(indices: Sequence[Any]) -> int:
    return sum(index is not None for index in indices)


def _broadcast_shape(entries: Sequence[Any]) -> tuple[int, ...]:
    try:
        return st.broadcast([entry.shape for entry in entries], "index")
    except ShapeError as error:
        listed = ", ".join(str(list(entry.shape)) for entry in entries)
        raise IndexRangeError(
            f"shape mismatch: indexing tensors could not be broadcast together: {listed}",
            hint=error.hint,
            operator="index",
        ) from error


def _entries(input: Any, indices: Sequence[Any], flat: bool) -> tuple[list[Any], list[int]]:
    """Return (integer index tensor, its dimension) of all indices.

    flat: a single mask gives one index for its dimensions.
    """
    entries: list[Any] = []
    dims: list[int] = []
    dim = 0
    for index in indices:
        width = 1
        if index is not None and index.dtype in (bool_, uint8):
            width = len(index.shape)
            if not width:
                raise IndexRangeError(
                    "a mask without dimensions selects nothing here, got one of shape []",
                    hint="unsqueeze(0) both the tensor and the mask, or use x[mask]",
                    operator="index",
                )
            check_mask(input, index, dim)
            entries += [nonzero(reshape(index, (-1,))).select(1, 0)] if flat else nonzero(index, as_tuple=True)
        elif index is not None:
            if not index.dtype.category == dtypes.INTEGER:
                raise IndexRangeError(
                    f"tensors used as indices must be integers, bytes or bool, got {index.dtype.name}",
                    hint="convert it with .long(), or compare for a mask, as in x > 0",
                    operator="index",
                )
            entries.append(index)
        if index is not None:
            dims += range(dim, dim + width)
        dim += width
    if dim > len(input.shape):
        raise IndexRangeError(
            f"too many indices for tensor of dimension {len(input.shape)}: {dim}",
            hint=f"leave out {dim - len(input.shape)}; a mask counts for as many as it has dimensions",
            operator="index",
        )
    return entries, dims


def is_mask_of(input: Any, mask: Any) -> bool:
    """Return whether a tensor is a mask of the first dimensions of another one on its device, or of all."""
    if mask is None or mask.dtype is not bool_ or mask.device_index != input.device_index:
        return False
    ndim = len(mask.shape)
    return ndim > 0 and (mask.shape == input.shape or mask.shape == input.shape[:ndim])


def check_mask(input: Any, mask: Any, dim: int) -> None:
    """Raise IndexRangeError unless a mask has the shape of the dimensions from `dim` on."""
    for at, size in enumerate(mask.shape):
        if dim + at >= len(input.shape) or input.shape[dim + at] != size:
            raise IndexRangeError(
                f"The shape of the mask {list(mask.shape)} at index {at} does not match the shape of the "
                f"indexed tensor {list(input.shape)} at index {dim + at}",
                hint=f"make the mask of the tensor that it indexes; it must have the sizes from dimension {dim} on",
                operator="index",
            )


def _advanced_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), [index_array(5)]))
    yield Sample((Array((3, 4)), [index_array(2, 1), index_array(3, seed=1)]))
    yield Sample((Array((2, 3, 4)), [index_array(2), None, index_array(2, seed=1)]))
    yield Sample((Array((4, 3), layout="transposed"), [None, index_array(2, 2)]))
    yield Sample((Array((3, 4)), [Array((3,), low=0, high=1, dtype="bool")]))


def _advanced_errors() -> Iterator[ErrorSample]:
    yield ErrorSample(
        (Array((3, 4)), [index_array(2), index_array(3)]),
        IndexRangeError,
        r"could not be broadcast together: \[2\], \[3\]",
    )
    yield ErrorSample(
        (Array((3, 4)), [Array((2,), dtype="bool")]), IndexRangeError, r"shape of the mask \[2\] at index 0"
    )
    yield ErrorSample(
        (Array((3,)), [index_array(2), index_array(2)]), IndexRangeError, r"too many indices for tensor of dimension 1"
    )
    yield ErrorSample(
        (Array((3,)), [Array((2,), dtype="float32")]), IndexRangeError, r"must be integers, bytes or bool, got float32"
    )


@composite(
    samples=_advanced_samples, errors=_advanced_errors, dtypes=dtypes.ALL, method=False, function=False, host="may wait"
)
def index(input: Operand, indices: Any) -> Any:
    """Select elements by index tensors, as `x[i, :, j]` does.

    indices: one tensor per dimension; None selects all of it.
    Shapes: the index tensors broadcast; their shape takes the place of the dimensions that they index, or, where those
            are not neighbours, comes first.  A mask counts for as many dimensions as it has.
    Host:   waits for the number of true elements if there is a mask, else returns at once; an index out of range
            raises on the CPU and triggers a device-side assert on a GPU.
    Raises: IndexRangeError if an index is out of range or of floating point, and if the shapes of indexes do not
            broadcast.
    """
    mask = indices[0] if len(indices) == 1 else None
    if is_mask_of(input, mask) and fits_block(input, input.shape) and not is_recorded(input):
        return rows_where(input, mask)
    at = selection_of(input, indices)
    return reshape(at.source.index_select(at.dim, at.rows, wrap=True), at.shape)


def _put_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), [index_array(2)], Array((4,), seed=1)))
    yield Sample((Array((3, 4)), [index_array(5), index_array(5, seed=1)], Array((5,), seed=1), True))
    yield Sample((Array((2, 3, 4)), [index_array(2), None, index_array(2, seed=1)], Array((2, 3), seed=1)))


def _put_errors() -> Iterator[ErrorSample]:
    yield ErrorSample(
        (Array((3, 4)), [index_array(2)], Array((3,))), ShapeError, r"shape \[3\] cannot be broadcast .* \[2, 4\]"
    )


def _entries_to_write(at: Selection, values: Any) -> Any:
    """Bring `values` into the shape of the rows that are written."""
    try:
        spread = expand(values, at.shape)
    except ShapeError as error:
        raise ShapeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing "
            f"result of shape {list(at.shape)}",
            hint=f"give values of shape {list(at.shape)}, or of one that broadcasts to it",
            operator="index_put",
        ) from error
    shape = at.source.shape
    return reshape(spread, (*shape[: at.dim], at.rows.numel(), *shape[at.dim + 1 :]))


@composite(samples=_put_samples, errors=_put_errors, dtypes=dtypes.ALL, host="may wait")
def index_put(input: Operand, indices: Any, values: Operand, accumulate: bool = False) -> Any:
    """Return a copy of the input with `values` written or added to the elements that index tensors select.

    indices: a tuple of index tensors, one per dimension, which select the elements of `input[indices]`.
    accumulate: True adds.  Of several writes to one element the last counts; additions to it are made in order.
    Shapes: values broadcast to the shape of the selection.
    Host:   returns at once; waits for an index tensor that is a mask (bool) or lies on another device.
    Raises: IndexRangeError if an index is out of range or of floating point, ShapeError if the values do not broadcast
            to the selected elements, DtypeError if they are of another type.
    Example:
        >>> torch.index_put(torch.zeros(2, 2), (torch.tensor([0, 1]), torch.tensor([1, 0])), torch.tensor([5.0, 6.0]))
        tensor([[0., 5.],
                [6., 0.]])
    """
    at = selection_of(input, _moved(indices, input))
    entries = _entries_to_write(at, values)
    if accumulate:
        written = at.source.index_add(at.dim, at.rows, entries, wrap=True)
    else:
        written = at.source.index_copy(at.dim, at.rows, entries, wrap=True, unique=at.unique)
    whole = reshape(written, tuple(input.shape[dim] for dim in at.order))
    return permute(whole, tuple(at.order.index(dim) for dim in range(len(at.order))))


def index_put_(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """Write `values` in place to the elements that the index tensors `indices` select, and return the tensor.

    accumulate: True adds the values instead; see `index_put`.  For a tensor on a GPU, values without dimensions may lie
    on the CPU.
    Host:   returns at once; waits for an index tensor that is a mask (bool) or lies on another device.
    Raises: ArgumentTypeError if `indices` is not a tuple of tensors, IndexRangeError for an index out of range or of
            floating point, ShapeError if the values do not broadcast to the selected elements, DtypeError if their
            types differ, AutogradError for a leaf that requires a gradient.
    Example:
        >>> x = torch.zeros(3)
        >>> x.index_put_((torch.tensor([1, 1]),), torch.tensor([2.0, 3.0]), accumulate=True)
        tensor([0., 5., 0.])
    """
    _check_tensors(input=input, values=values)
    if not isinstance(indices, (tuple, list)):
        raise ArgumentTypeError(
            f"indices must be a tuple of tensors, got {shown(indices)}", hint="as in (index,)", operator="index_put_"
        )
    _check_tensors(**{f"indices[{number}]": index for number, index in enumerate(indices) if index is not None})
    try:
        return _put(input, indices, values, accumulate)
    except FlambeauError as error:
        name_error(error, "index_put_")
        raise


def _check_tensors(**operands: Any) -> None:
    for what, value in operands.items():
        if not isinstance(value, TensorBase):
            raise ArgumentTypeError(
                f"{what} must be a Tensor, got {shown(value)}",
                hint="make one with torch.tensor(...)",
                operator="index_put_",
            )


def _moved(indices: Any, input: Any) -> list[Any]:
    """Return index tensors on the input's device: those of another one are copied."""
    return [each if each is None or each.device == input.device else each.to(input.device) for each in indices]


def _put(input: Any, indices: Any, values: Any, accumulate: bool) -> Any:
    indices = _moved(indices, input)
    at = selection_of(input, indices)
    if not values.shape and values.device.type == "cpu":
        values = values.to(input.device)  # a number
    entries = _entries_to_write(at, values)
    if at.source.address() != input.address() or not at.source.numel():
        return input.copy_(index_put(input, indices, values, accumulate))  # the flattened dimensions had to be copied
    if accumulate:
        at.source.index_add_(at.dim, at.rows, entries, wrap=True)
    else:
        at.source.index_copy_(at.dim, at.rows, entries, wrap=True, unique=at.unique)
    return input


def _masked_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), low=0, high=2, dtype="bool", seed=2)))
    yield Sample((Array((3, 4)), Array((4,), low=0, high=2, dtype="bool", seed=2)))


def _masked_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), Array((3,))), DtypeError, "the mask must be bool, got float32")
    yield ErrorSample((Array((3,)), Array((2,), dtype="bool")), ShapeError, r"\[3\] and \[2\] do not broadcast")


@composite(samples=_masked_samples, errors=_masked_errors, dtypes=dtypes.ALL, host="waits")
def masked_select(input: Operand, mask: Operand) -> Any:
    """Select the elements where the mask is true, in row-major order.

    Shapes: input and mask broadcast; the result is a vector.
    Host:   waits, because the size of the result depends on the values.
    Raises: ShapeError if the shapes do not broadcast, DtypeError if the mask is not bool.
    Example:
        >>> x = torch.tensor([[1, 8], [9, 2]])
        >>> torch.masked_select(x, x > 5)
        tensor([8, 9])
    """
    if mask.dtype is not bool_:
        raise DtypeError(
            f"the mask must be bool, got {mask.dtype.name}",
            hint="compare first, for example x > 0",
            operator="masked_select",
        )
    shape = input.shape if mask.shape == input.shape else st.broadcast([input.shape, mask.shape], "masked_select")
    if fits_block(input, shape) and not is_recorded(input):
        return elements_where(input, mask)
    source, chosen = broadcast_tensors(input, mask)
    return reshape(source, (-1,)).index_select(0, nonzero(reshape(chosen, (-1,))).select(1, 0))


def _unravel_samples() -> Iterator[Sample]:
    yield Sample((index_array(2, 3, high=11), (3, 4)))
    yield Sample((index_array(3, high=5), 6))


def _unravel_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), (3, 4)), ArgumentTypeError, "must be of an integer type, got float32")
    yield ErrorSample((index_array(3), (3, -4)), ValueRangeError, r"at least 0, got \[3, -4\]")


@composite(
    samples=_unravel_samples,
    errors=_unravel_errors,
    dtypes=(int64,),
    differentiable=False,
    method=False,
    takes_out=False,
)
def unravel_index(indices: Operand, shape: Any) -> Any:
    """Convert flat indexes of elements, in row-major order, to one tensor of indexes for each dimension of `shape`.

    Shapes: one int64 tensor of the indices' shape for each dimension.
    Host:   returns at once.
    Raises: ArgumentTypeError unless the indices are integers, ValueRangeError for a negative size.
    Example:
        >>> torch.unravel_index(torch.tensor([1, 5]), (2, 3))
        (tensor([0, 1]), tensor([1, 2]))
    """
    if indices.dtype not in INDEX_TYPES:
        raise ArgumentTypeError(
            f"the indices must be of an integer type, got {indices.dtype.name}",
            hint="convert with .long()",
            operator="unravel_index",
        )
    sizes = [size.__index__() for size in ([shape] if hasattr(shape, "__index__") else shape)]  # bools too
    if any(size < 0 for size in sizes):
        raise ValueRangeError(
            f"sizes must be at least 0, got {sizes}", hint="pass the sizes of an array", operator="unravel_index"
        )
    places: Any = indices
    places = places.to(int64)
    return tuple(places // step % size for step, size in zip(st.contiguous(sizes), sizes))
