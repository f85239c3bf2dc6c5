"""Joining, repeating and rearranging: cat, stack, repeat, flip, roll, meshgrid, rot90, pixel shuffles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import comb, prod
from typing import Any

from .. import callers, dtypes
from .. import strides as st
from ..core import thread
from ..core.storage import NotLowerable
from ..dtypes import dtype, int32, int64, promote
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    DtypeError,
    IndexRangeError,
    ShapeError,
    ValueRangeError,
    shown,
)
from ..host import np
from ..kernel import Grid, Kernel, Param, Pointer, Pointers, Scalar, Strided
from ..memory_formats import channels_to_end, contiguous_format, suggested
from .copies import C_TYPES_BY_SIZE, ROW_COPY_SOURCE, blocks_for, unit_for
from .creation import arange
from .operator import Array, Call, ErrorSample, Operand, Operands, Sample, composite, operator
from .pointwise import PRELUDE, THREADS, grid_over, source_text
from .slicing import embedded, select, sized, slice_, split, unbind
from .views import expand, permute, reshape, transpose, unsqueeze, view_, wrap_dims

NOTHING_HINT = "the result's type and device are those of the tensors: pass one at least"
GROUP = 8  # the most tensors that one launch of cat copies; with fewer, the last one is repeated


def _cat_samples() -> Iterator[Sample]:
    yield Sample(([Array((2, 3)), Array((1, 3), seed=1)],))
    yield Sample(([Array((2, 3)), Array((2, 1), seed=1), Array((2, 2), seed=2)], -1))
    yield Sample(([Array((3, 2), layout="transposed"), Array((3, 2), seed=1)], 1))
    yield Sample(([Array((2,)), Array((0,), seed=1), Array((3,), dtype="float32", seed=2)],))
    yield Sample(([Array((2, 2), seed=i) for i in range(GROUP + 2)], 1))
    yield Sample(([Array((2, 16)), Array((2, 32), seed=1)], 1))
    yield Sample(([Array((2, 3, 2, 2), layout="transposed")] * 2, 1))
    yield Sample(([Array((0, 2)), Array((0, 2), seed=1)],))


def _cat_errors() -> Iterator[ErrorSample]:
    yield ErrorSample(
        ([Array((2, 3)), Array((2, 4))],), ShapeError, r"must match except in dimension 0.*3 but got size 4.*number 1"
    )
    yield ErrorSample(([],), ArgumentError, r"non-empty list")
    yield ErrorSample(([Array(())],), ShapeError, r"zero-dimensional tensor \(at position 0\)")


@operator(samples=_cat_samples, errors=_cat_errors, dtypes=dtypes.ALL, method=False)
def cat(call: Call, tensors: Operands, dim: int = 0) -> Any:
    """Concatenate tensors along a dimension.

    Shapes: sizes are equal except along `dim`, where the result has their sum.  Tensors of shape [0] are left out.
    Host:   returns at once.
    Raises: ShapeError if other sizes differ, ValueRangeError for no tensors, IndexRangeError if `dim` is out of range.
    Example:
        >>> x = torch.tensor([[1, 2]])
        >>> torch.cat([x, x * 10])
        tensor([[ 1,  2],
                [10, 20]])
        >>> torch.cat([x, x * 10], dim=1)
        tensor([[ 1,  2, 10, 20]])
    """
    at, shape, dtype = _joined(tensors, dim)
    order = _common_order(tensors, len(shape))
    out = call.output(shape, dtype, st.compact(shape, order[::-1]))
    if order != sorted(order):  # channels-last tensors are joined in memory order
        tensors = [_reordered(call, tensor, order) for tensor in tensors]
        at, shape = order.index(at), [shape[dim] for dim in order]
    outer, inner = prod(shape[:at]), prod(shape[at + 1 :])
    start = 0
    parts = [tensor for tensor in tensors if tensor.numel()]
    for first in range(0, len(parts), GROUP):
        group = [call.contiguous(tensor, dtype) for tensor in parts[first : first + GROUP]]
        widths = [tensor.shape[at] * inner for tensor in group]
        starts = [start + sum(widths[:number]) for number in range(len(group))]
        unit = unit_for(dtype, (*widths, *starts, shape[at] * inner), (out, *group))
        padded = group + group[-1:] * (GROUP - len(group))
        columns = [
            size * dtype.itemsize // unit for sizes in (widths, starts) for size in sizes + [0] * (GROUP - len(group))
        ]
        most = max(tensor.numel() for tensor in group) * dtype.itemsize // unit
        numbers = (*columns, outer, shape[at] * inner * dtype.itemsize // unit, shape[at] * inner, start, len(group))
        call.launch(_cat_kernel(dtype, unit), Grid((blocks_for(most), len(group), 1), THREADS), out, padded, *numbers)
        start += sum(widths)
    return out


def _common_order(tensors: Sequence[Any], ndim: int) -> list[int]:
    """Return the dimensions of the result, slowest first: channels last if all tensors are, else in order."""
    formats = {suggested(tensor.shape, tensor.strides) for tensor in tensors}
    common = formats.pop()
    return list(common.order[::-1]) if not formats and common.order else list(range(ndim))


def _reordered(call: Call, tensor: Any, order: Sequence[int]) -> Any:
    return call.part(tensor, [tensor.shape[dim] for dim in order], [tensor.strides[dim] for dim in order], 0)


def _joined(tensors: Sequence[Any], dim: int) -> tuple[int, list[int], dtype]:
    """Return (dimension counted from the front, shape of the result, its dtype)."""
    if not tensors:
        raise ValueRangeError("expected a non-empty list of Tensors, got []", hint=NOTHING_HINT, operator="cat")
    first = next((tensor for tensor in tensors if tuple(tensor.shape) != (0,)), tensors[0])
    at = st.wrap_dim(dim, len(first.shape), "cat")
    dtype, total = tensors[0].dtype, 0
    for number, tensor in enumerate(tensors):
        dtype = promote(dtype, tensor.dtype)
        if not tensor.shape:
            raise ShapeError(
                f"zero-dimensional tensor (at position {number}) cannot be concatenated",
                hint="use stack, which adds a dimension",
                operator="cat",
            )
        if tuple(tensor.shape) != (0,):
            _check_sizes(first.shape, tensor.shape, at, number)
            total += tensor.shape[at]
    shape = list(first.shape)
    shape[at] = total
    return at, shape, dtype


def _check_sizes(expected: Sequence[int], got: Sequence[int], at: int, number: int) -> None:
    if len(got) != len(expected):
        raise ShapeError(
            f"tensors must have the same number of dimensions: got {len(expected)} and {len(got)}, of shapes "
            f"{list(expected)} and {list(got)}",
            hint=f"add dimensions of size 1 with unsqueeze() to the one at position {number}, or to the others",
            operator="cat",
        )
    for dim, (want, have) in enumerate(zip(expected, got)):
        if dim != at and want != have:
            raise ShapeError(
                f"Sizes of tensors must match except in dimension {at}. Expected size {want} but got size {have} "
                f"in dimension {dim} for tensor number {number} in the list: {list(expected)} and {list(got)}",
                hint=f"join along dimension {dim}, or cut the longer one with narrow({dim}, 0, {min(want, have)})",
                operator="cat",
            )


@cat.derivative
def _(grad: Any, dim: int, tensors_shape: Any, needs: Any) -> Any:
    at = dim % len(grad.shape)
    found: list[Any] = []
    start = 0
    for shape, needed in zip(tensors_shape, needs):
        skipped = tuple(shape) == (0,) and len(grad.shape) > 1
        size = 0 if skipped else shape[at]
        part = grad.new_zeros(shape) if skipped else grad.narrow(at, start, size)
        found.append(part if needed else None)
        start += size
    return found


@cache
def _cat_kernel(dtype: dtype, unit: int) -> Kernel:
    entry = f"cat_{unit}"
    source = f"""{PRELUDE}{ROW_COPY_SOURCE}{source_text("join.cu")}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}(
    void* out, const __grid_constant__ Pointers<void, {GROUP}> parts, const __grid_constant__ Columns columns,
    long long outer, long long units, long long width, long long start, long long held) {{
  join(({C_TYPES_BY_SIZE[unit]}*)out, parts, columns, outer, units);
}}
"""

    def reference(out: Any, parts: Any, *numbers: int) -> None:
        outer, _, _, start, held = numbers[2 * GROUP :]
        for part in parts[:held]:
            own = part.size // outer
            out[:, start : start + own] = part.reshape(outer, own)
            start += own

    names = [f"{name}{number}" for name in ("own", "start") for number in range(GROUP)]
    params: list[Param] = [
        Pointer("out", dtype, "w", ("outer", "width")), Pointers("parts", GROUP, dtype, "r"),
        *[Scalar(name, "int64") for name in (*names, "outer", "units", "width", "start", "held")],
    ]  # fmt: skip
    return Kernel(entry, source, params, reference, 0.0)


@composite(samples=_cat_samples, errors=_cat_errors, dtypes=dtypes.ALL, method=False)
def concat(tensors: Operands, dim: int = 0) -> Any:
    """Concatenate tensors along a dimension: an alias of `cat`.

    Shapes: sizes are equal except along `dim`, where the result has their sum.
    Host:   returns at once.
    Raises: ShapeError if other sizes differ, ValueRangeError for no tensors, IndexRangeError if `dim` is out of range.
    Example:
        >>> torch.concat([torch.tensor([1, 2]), torch.tensor([3])])
        tensor([1, 2, 3])
    """
    return cat(tensors, dim)


@composite(samples=_cat_samples, errors=_cat_errors, dtypes=dtypes.ALL, method=False)
def concatenate(tensors: Operands, dim: int = 0) -> Any:
    """Concatenate tensors along a dimension: an alias of `cat`.

    Shapes: sizes are equal except along `dim`, where the result has their sum.
    Host:   returns at once.
    Raises: ShapeError if other sizes differ, ValueRangeError for no tensors, IndexRangeError if `dim` is out of range.
    Example:
        >>> torch.concatenate([torch.tensor([1, 2]), torch.tensor([3])])
        tensor([1, 2, 3])
    """
    return cat(tensors, dim)


def _stack_samples() -> Iterator[Sample]:
    yield Sample(([Array((2, 3)), Array((2, 3), seed=1)],))
    yield Sample(([Array((2, 3)), Array((2, 3), seed=1)], -1))
    yield Sample(([Array(()), Array((), seed=1)],))


def _stack_errors() -> Iterator[ErrorSample]:
    yield ErrorSample(([Array((2,)), Array((3,))],), ShapeError, r"\[2\] at entry 0 and \[3\] at entry 1")
    yield ErrorSample(([],), ArgumentError, r"non-empty")


@composite(samples=_stack_samples, errors=_stack_errors, dtypes=dtypes.ALL, method=False)
def stack(tensors: Operands, dim: int = 0) -> Any:
    """Join tensors of one shape along a new dimension.

    Shapes: n tensors of shape [a, b] give [n, a, b] for dim 0, and [a, n, b] for dim 1.
    Host:   returns at once.
    Raises: ShapeError if shapes differ, ValueRangeError for no tensors, IndexRangeError if `dim` is out of range.
    Example:
        >>> torch.stack([torch.tensor([1, 2]), torch.tensor([3, 4])], dim=1)
        tensor([[1, 3],
                [2, 4]])
    """
    if not tensors:
        raise ValueRangeError("expected a non-empty list of Tensors, got []", hint=NOTHING_HINT, operator="stack")
    shape = tensors[0].shape
    for number, tensor in enumerate(tensors):
        if tensor.shape != shape:
            raise ShapeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and "
                f"{list(tensor.shape)} at entry {number}",
                hint="use cat to join tensors of different sizes, or reshape them first",
                operator="stack",
            )
    at = st.wrap_dim(dim, len(shape) + 1, "stack")
    if at < len(shape) and suggested(shape, tensors[0].strides).order:  # in memory order
        return view_(cat(tensors, at), (*shape[:at], len(tensors), *shape[at:]))
    return cat([unsqueeze(tensor, at) for tensor in tensors], at)


# gradients of split and unbind


@split.derivative
def _(grads: Any, split_size_or_sections: Any, dim: int, input_shape: Any) -> Any:
    known = [place for place, grad in enumerate(grads) if grad is not None]
    sizes, at = split_size_or_sections, dim % len(input_shape)
    if isinstance(sizes, int):
        total = input_shape[at]
        sizes = [min(sizes, total - start) for start in range(0, total, sizes)] if total else [0]
    if len(known) == 1:
        start = sum(sizes[: known[0]])
        return embedded(slice_, grads[known[0]], input_shape, at, start, start + sizes[known[0]])
    shapes = [(*input_shape[:at], size, *input_shape[at + 1 :]) for size in sizes]
    return cat(_with_zeros(grads, grads[known[0]], shapes), at)


@unbind.derivative
def _(grads: Any, dim: int, input_shape: Any) -> Any:
    known = [place for place, grad in enumerate(grads) if grad is not None]
    at = dim % len(input_shape)
    if len(known) == 1:
        return embedded(select, grads[known[0]], input_shape, at, known[0])
    shape = *input_shape[:at], *input_shape[at + 1 :]
    return stack(_with_zeros(grads, grads[known[0]], [shape] * len(grads)), at)


split.quick_node, unbind.quick_node = split, unbind


def _with_zeros(grads: Sequence[Any], like: Any, shapes: Sequence[Sequence[int]]) -> list[Any]:
    """Return the gradients, with zeros in place of None."""
    return [like.new_zeros(shape) if grad is None else grad for grad, shape in zip(grads, shapes)]


def _vector_samples() -> Iterator[Sample]:
    yield Sample(([Array((3,)), Array((3,), seed=1)],))
    yield Sample(([Array((2, 3)), Array((2, 3), seed=1)],))


def _stacked_errors() -> Iterator[ErrorSample]:
    yield ErrorSample(([Array((2, 3)), Array((3, 2))],), ShapeError, "Sizes of tensors must match except in dimension")
    yield ErrorSample(([],), ValueRangeError, "expected a non-empty list of Tensors")


@composite(samples=_vector_samples, errors=_stacked_errors, dtypes=dtypes.ALL, method=False)
def hstack(tensors: Operands) -> Any:
    """Concatenate tensors along dimension 1, or vectors along dimension 0.

    Shapes: those of the tensors, with the sum of sizes in dimension 1; in dimension 0 for vectors.
    Host:   returns at once.
    Raises: ShapeError if other sizes differ, ValueRangeError for no tensors.
    Example:
        >>> torch.hstack([torch.tensor([[1], [2]]), torch.tensor([[3], [4]])])
        tensor([[1, 3],
                [2, 4]])
    """
    several: list[Any] = [tensor if tensor.shape else unsqueeze(tensor, 0) for tensor in tensors]
    return cat(several, 0 if several and len(several[0].shape) == 1 else 1)


@composite(samples=_vector_samples, errors=_stacked_errors, dtypes=dtypes.ALL, method=False)
def vstack(tensors: Operands) -> Any:
    """Concatenate tensors along dimension 0, with vectors as rows.

    Shapes: [n, *] and [m, *] give [n + m, *]; a vector [k] counts as [1, k].
    Host:   returns at once.
    Raises: ShapeError if other sizes differ, ValueRangeError for no tensors.
    Example:
        >>> torch.vstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
        tensor([[1, 2],
                [3, 4]])
    """
    return cat([reshape(tensor, (1, -1)) if len(tensor.shape) < 2 else tensor for tensor in tensors], 0)


def _repeat_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 3)), (2, 1)))
    yield Sample((Array((3,)), (2, 3)))
    yield Sample((Array((2,)), (0,)))
    yield Sample((Array(()), (3,)))


def _repeat_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), (2,)), ShapeError, r"1 repeats, \[2\], .* 2 dimensions")


@composite(samples=_repeat_samples, errors=_repeat_errors, dtypes=dtypes.ALL, function=False)
def repeat(input: Operand, repeats: Any) -> Any:
    """Return a copy that repeats the input repeats[i] times along dimension i; new dimensions come first.

    Shapes: size i of the result is the input's times its count; more counts add leading dimensions.
    Host:   returns at once.
    Raises: ShapeError for fewer counts than dimensions, ValueRangeError for a negative one.
    Example:
        >>> torch.tensor([[1, 2]]).repeat(2, 3)
        tensor([[1, 2, 1, 2, 1, 2],
                [1, 2, 1, 2, 1, 2]])
    """
    lead = len(repeats) - len(input.shape)
    if lead < 0:
        raise ShapeError(
            f"{len(repeats)} repeats, {list(repeats)}, are too few for {len(input.shape)} dimensions",
            hint="pass one for each dimension, 1 where nothing is repeated; tile() accepts fewer",
            operator="repeat",
        )
    if any(count < 0 for count in repeats):
        raise ValueRangeError(
            f"repeats must not be negative: {list(repeats)}",
            hint="pass 1 to keep a dimension, 0 to empty it",
            operator="repeat",
        )
    shape = (*[1] * lead, *input.shape)
    apart = [part for size in shape for part in (1, size)]
    expanded = [part for count, size in zip(repeats, shape) for part in (count, size)]
    repeated = expand(reshape(input, tuple(apart)), tuple(expanded))
    return reshape(_dense_copy(repeated), tuple(count * size for count, size in zip(repeats, shape)))


def _dense_copy(input: Any) -> Any:
    return input.clone(memory_format=contiguous_format)


def _tile_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), (2, -1)), ValueRangeError, r"repeats must not be negative: \[2, -1\]")


@composite(samples=_repeat_samples, errors=_tile_errors, dtypes=dtypes.ALL)
def tile(input: Operand, dims: Any) -> Any:
    """Repeat the input dims[i] times along dimension i; missing leading counts are 1.

    If `dims` is shorter than the input's shape, its missing leading counts are 1.
    Shapes: size i of the result is the input's times its count; missing leading sizes of the input are 1.
    Host:   returns at once.
    Raises: ValueRangeError if a count is negative.
    Example:
        >>> torch.tile(torch.tensor([1, 2]), (2, 2))
        tensor([[1, 2, 1, 2],
                [1, 2, 1, 2]])
    """
    counts = st.as_ints(dims)
    return repeat(input, (*[1] * (len(input.shape) - len(counts)), *counts))


def _interleave_samples() -> Iterator[Sample]:
    counts = Array((2,), 0, 3, dtype="int64")
    yield Sample((Array((2, 3)), 2))
    yield Sample((Array((2, 3)), 2, 1))
    yield Sample((Array((2, 3)), counts, 0))
    yield Sample((Array((2, 3)), Array((1,), 2, 3, dtype="int64"), 1), {"output_size": 6})
    yield Sample((counts,))


def _interleave_errors() -> Iterator[ErrorSample]:
    counts = Array((2,), dtype="int64", low=-2, high=-1)
    yield ErrorSample((Array((2, 3)), -1), ValueRangeError, "must not be negative, got -1")
    yield ErrorSample((Array((2, 3)), counts, 0), ValueRangeError, "must not be negative, got -")
    yield ErrorSample((Array((2, 3)), counts, 1), ShapeError, r"repeats has 2 elements, and dimension 1 has size 3")
    yield ErrorSample((Array((2, 3)), Array((2,)), 0), DtypeError, "must be integers, got float32")
    yield ErrorSample((Array((2, 3)), Array((1, 2), dtype="int64"), 0), ShapeError, r"vector, got shape \[1, 2\]")
    yield ErrorSample((Array((2, 3)), 2, 2), IndexRangeError, r"expected to be in range of \[-2, 1\], but got 2")
    yield ErrorSample((Array((2, 3)), 2), ValueRangeError, "output_size is 5, .* make 12", {"output_size": 5})


@composite(samples=_interleave_samples, errors=_interleave_errors, dtypes=dtypes.ALL, host="may wait")
def repeat_interleave(
    input: Operand, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Any:
    """Repeat each element, or each index of a dimension, several times in a row.

    repeats: a count, or a vector of integers with a count for every index.  Without it, the input holds the counts, and
    the result repeats each index by its count.
    output_size: the size of the repeated dimension of the result, which is the sum of all counts.
    Shapes: those of the input; the size of `dim` is the sum of the counts.  Without dim, a vector.
    Host:   waits for the sum of a vector of counts unless output_size is given; otherwise returns at once.
            A wrong output_size for a vector of counts triggers a device-side assert on a GPU.
    Raises: ValueRangeError for a negative count or a wrong output_size, DtypeError unless the counts are integers,
            ShapeError unless there is one for each index, IndexRangeError if `dim` is out of range.
    Example:
        >>> x = torch.tensor([1, 2])
        >>> torch.repeat_interleave(x, 2)
        tensor([1, 1, 2, 2])
        >>> torch.repeat_interleave(x, torch.tensor([1, 3]))
        tensor([1, 2, 2, 2])
    """
    if repeats is None:
        return _places_of_counts(input, output_size)
    source = reshape(input, (-1,)) if dim is None else input
    at, size = sized(source, dim or 0, "repeat_interleave")
    if hasattr(repeats, "dtype"):
        counts = expand(repeats, (size,)) if repeats.numel() == 1 and len(repeats.shape) < 2 else repeats
        if len(counts.shape) == 1 and counts.shape[0] != size:
            raise ShapeError(
                f"repeats has {counts.shape[0]} elements, and dimension {at} has size {size}",
                hint="pass one number of repeats for each index, or one for all",
                operator="repeat_interleave",
            )
        places = _places_of_counts(counts, output_size)
        whole: Any = source
        return whole.index_select(at, places)
    repeats = st.as_int(repeats)
    if repeats < 0:
        raise _negative(repeats)
    if output_size is not None and output_size != size * repeats:
        raise ValueRangeError(
            f"output_size is {output_size}, but {size} entries repeated {repeats} times make {size * repeats}",
            hint="leave output_size out",
            operator="repeat_interleave",
        )
    return _repeated(source, repeats, at)


PLACES_OF_SUMS = """
device_assert(sums[n - 1] == total);
for (long long i = first_index(); i < total; i += index_step()) {
    long long low = 0, high = n - 1;
    while (low < high) {
        const long long middle = (low + high) / 2;
        if (sums[middle] <= i) low = middle + 1;
        else high = middle;
    }
    out[i] = low;
}
"""


@cache
def _places_kernel(dtype: dtype) -> Kernel:
    entry = f"places_of_sums_{dtype.name}"
    arguments = f"{dtype.cuda}* out, const {dtype.cuda}* sums, long long n, long long total"
    head = f'extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({arguments})'
    params: list[Param] = [
        Pointer("out", dtype, "w", ("total",)), Pointer("sums", dtype, "r", ("n",)),
        Scalar("n", "int64"), Scalar("total", "int64"),
    ]  # fmt: skip

    def reference(out: Any, sums: Any, n: int, total: int) -> None:
        if sums[n - 1] != total:
            raise ValueRangeError(
                f"output_size is {total}, but the sum of repeats is {sums[n - 1]}",
                hint="leave output_size out: the host then waits for the sum",
                operator="repeat_interleave",
            )
        out[...] = np.searchsorted(sums, np.arange(total), "right")

    return Kernel(entry, f"{PRELUDE}{ROW_COPY_SOURCE}\n{head} {{ {PLACES_OF_SUMS} }}\n", params, reference, 20.0)


def _sums() -> Iterator[Sample]:
    yield Sample((Array((1,), 5, 5), 5))


@operator(samples=_sums, dtypes=(int32, int64), method=False, function=False, differentiable=False)
def places_of_sums(call: Call, sums: Operand, total: int) -> Any:
    """Return each index i sums[i] - sums[i - 1] times.  sums: a vector of running sums;  total: the last of them.

    Host: returns at once; a wrong total raises on the CPU and triggers a device-side assert on a GPU.
    """
    out = call.output((total,), sums.dtype)
    call.launch(_places_kernel(sums.dtype), grid_over(total, 1), out, call.contiguous(sums), sums.shape[0], total)
    return out


def _places_of_counts(counts: Any, total: int | None) -> Any:
    """Return each index i counts[i] times."""
    if counts.dtype not in (int32, int64):
        raise DtypeError(
            f"repeats must be integers, got {counts.dtype.name}",
            hint="use int32 or int64: call .long()",
            operator="repeat_interleave",
        )
    if len(counts.shape) > 1:
        raise ShapeError(
            f"repeats must be a vector, got shape {list(counts.shape)}",
            hint="call .reshape(-1)",
            operator="repeat_interleave",
        )
    counts = reshape(counts, (-1,))
    if total is None:
        values = counts.tolist()
        if min(values, default=0) < 0:
            raise _negative(min(values))
        total = sum(values)
    size = counts.shape[0]
    if not size or not total:
        return counts.new_zeros((total,))
    return places_of_sums(counts.cumsum(0, counts.dtype), total)


def _negative(count: int) -> ValueRangeError:
    return ValueRangeError(
        f"repeats must not be negative, got {count}",
        hint="pass 0 or more: 0 leaves an index out",
        operator="repeat_interleave",
    )


def _repeated(source: Any, repeats: int, at: int) -> Any:
    shape = source.shape
    repeated = expand(unsqueeze(source, at + 1), (*shape[: at + 1], repeats, *shape[at + 1 :]))
    return reshape(_dense_copy(repeated), (*shape[:at], shape[at] * repeats, *shape[at + 1 :]))


def _flip_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 3)), (0,)))
    yield Sample((Array((2, 3, 4)), (0, -1)))
    yield Sample((Array((4, 3), layout="transposed"), (1,)))
    yield Sample((Array((0, 3)), (0,)))


def _flip_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), (2,)), IndexRangeError, r"expected to be in range of \[-2, 1\], but got 2")
    yield ErrorSample((Array((2, 3)), (0, -2)), ShapeError, r"duplicate dims are not allowed, got \[0, -2\]")


@operator(samples=_flip_samples, errors=_flip_errors, dtypes=dtypes.ALL)
def flip(call: Call, input: Operand, dims: Any) -> Any:
    """Return a copy with the elements in reverse order along each dimension in `dims`.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range, ShapeError if one is repeated.
    Example:
        >>> torch.flip(torch.tensor([[1, 2], [3, 4]]), dims=(0,))
        tensor([[3, 4],
                [1, 2]])
    """
    chosen = wrap_dims(st.as_ints(dims), len(input.shape), "flip")
    out = call.output(input.shape, input.dtype, st.preserved(input.shape, input.strides))
    numel = input.numel()
    if numel:
        order = sorted(range(len(out.shape)), key=lambda dim: -out.strides[dim])  # in the order of the result's memory
        mask = sum(1 << at for at, dim in enumerate(order) if dim in chosen)
        layout = [input.shape[dim] for dim in order], [[input.strides[dim] for dim in order]]
        call.launch(_flip_kernel(input.dtype), grid_over(numel), out, input, layout, numel, mask)
    return out


@flip.derivative
def _(grad: Any, dims: Any) -> Any:
    return grad.flip(dims)


@cache
def _flip_kernel(dtype: dtype) -> Kernel:
    bits = C_TYPES_BY_SIZE[dtype.itemsize]
    entry = f"flip_{8 * dtype.itemsize}"
    source = f"""{PRELUDE}{ROW_COPY_SOURCE}{source_text("join.cu")}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}(
    {bits}* out, const {bits}* input, Layout<1> layout, long long numel, long long mask) {{
  reverse(out, input, layout, numel, mask);
}}
"""

    def reference(out: Any, input: Any, numel: int, mask: int) -> None:
        out[...] = np.flip(input, [dim for dim in range(input.ndim) if mask >> dim & 1]).reshape(-1)

    params: list[Param] = [
        Pointer("out", dtype, "w", ("numel",)), Pointer("input", dtype, "r", "layout"), Strided("layout", ("input",)),
        Scalar("numel", "int64"), Scalar("mask", "int64"),
    ]  # fmt: skip
    return Kernel(entry, source, params, reference, 0.0)


def _roll_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 5)), 2))
    yield Sample((Array((3, 5)), (1, -2), (0, 1)))
    yield Sample((Array((0, 3)), 1, 0))


def _roll_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), (1, 2), 0), ShapeError, r"2 shifts, \[1, 2\], for 1 dimensions, \[0\]")
    yield ErrorSample((Array((2, 3)), 1, 2), IndexRangeError, r"expected to be in range of \[-2, 1\], but got 2")


@composite(samples=_roll_samples, errors=_roll_errors, dtypes=dtypes.ALL)
def roll(input: Operand, shifts: Any, dims: Any = None) -> Any:
    """Return a copy shifted along dimensions; elements shifted out at one end enter at the other.

    Without dims, the flattened tensor is shifted.
    Shapes: same as the input.
    Host:   returns at once.
    Raises: ShapeError if shifts and dims differ in number, or there is no shift, IndexRangeError if a dimension is out
            of range.
    Example:
        >>> torch.roll(torch.tensor([1, 2, 3, 4]), shifts=1)
        tensor([4, 1, 2, 3])
    """
    steps = st.as_ints(shifts)
    wanted = st.as_ints(() if dims is None else dims)
    if not steps:
        raise ShapeError("shifts are required, got none", hint="shift by 0 for a copy", operator="roll")
    if not wanted and len(steps) == 1:
        return reshape(roll(reshape(input, (-1,)), shifts, 0), tuple(input.shape))
    if len(steps) != len(wanted):
        raise ShapeError(
            f"{len(steps)} shifts, {steps}, for {len(wanted)} dimensions, {wanted}",
            hint="give one shift for each",
            operator="roll",
        )
    rolled: Any = input
    for step, dim in zip(steps, wanted):
        _, size = sized(rolled, dim, "roll")
        cut = (size - step) % size if size else 0
        rolled = cat([rolled.narrow(dim, cut, size - cut), rolled.narrow(dim, 0, cut)], dim)
    return rolled


# minimum numbers of dimensions


def _each(function: Any, name: str, tensors: tuple[Any, ...]) -> Any:
    """Apply a function to one tensor, to several, or to a sequence of them; several results are a tuple."""
    if len(tensors) == 1 and hasattr(type(tensors[0]), "_layout"):
        return function(tensors[0])
    several = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    check_tensors(name, several)
    return tuple([function(tensor) for tensor in several])


def check_tensors(name: str, tensors: Any) -> None:
    """Raise ArgumentTypeError unless all are tensors."""
    for number, tensor in enumerate(tensors):
        if not hasattr(type(tensor), "_layout"):  # the class Tensor has it too
            raise ArgumentTypeError(
                f"tensors[{number}] must be a Tensor, got {shown(tensor)}",
                hint="make one with torch.tensor(...)",
                operator=name,
            )


def _with_one(tensor: Any) -> Any:
    return tensor if tensor.shape else reshape(tensor, (1,))


def _with_two(tensor: Any) -> Any:
    return tensor if len(tensor.shape) >= 2 else unsqueeze(_with_one(tensor), 0)


def _with_three(tensor: Any) -> Any:
    return tensor if len(tensor.shape) >= 3 else unsqueeze(_with_two(tensor), -1)


def atleast_1d(*tensors: Any) -> Any:
    """Return the tensor, or a tuple of the tensors, with at least one dimension: [] becomes [1].

    Host:   returns at once.
    Raises: ArgumentTypeError if an argument is not a tensor.
    Example:
        >>> torch.atleast_1d(torch.tensor(1))
        tensor([1])
        >>> torch.atleast_1d(torch.tensor(1), torch.tensor([2]))
        (tensor([1]), tensor([2]))
    """
    return _each(_with_one, "atleast_1d", tensors)


def atleast_2d(*tensors: Any) -> Any:
    """Return the tensor, or a tuple of the tensors, with at least two dimensions: [n] becomes [1, n].

    [] becomes [1, 1].
    Host:   returns at once.
    Raises: ArgumentTypeError if an argument is not a tensor.
    Example:
        >>> torch.atleast_2d(torch.tensor([1, 2]))
        tensor([[1, 2]])
    """
    return _each(_with_two, "atleast_2d", tensors)


def atleast_3d(*tensors: Any) -> Any:
    """Return the tensor, or a tuple of the tensors, with at least three dimensions: [n] becomes [1, n, 1].

    [] becomes [1, 1, 1], and [n, m] becomes [n, m, 1].
    Host:   returns at once.
    Raises: ArgumentTypeError if an argument is not a tensor.
    Example:
        >>> torch.atleast_3d(torch.zeros(2, 3)).shape
        torch.Size([2, 3, 1])
    """
    return _each(_with_three, "atleast_3d", tensors)


def _rows() -> Iterator[Sample]:
    yield Sample(([Array((3,)), Array((3,), seed=1)],))
    yield Sample(([Array((2, 3)), Array((2, 3), seed=1)],))
    yield Sample(([Array(()), Array((), seed=1)],))


def _no_rows() -> Iterator[ErrorSample]:
    yield ErrorSample(([],), ValueRangeError, "expected a non-empty list of Tensors")


@composite(samples=_rows, errors=_no_rows, dtypes=dtypes.ALL, method=False)
def dstack(tensors: Operands) -> Any:
    """Concatenate tensors along dimension 2; a vector [n] counts as [1, n, 1], a matrix [n, m] as [n, m, 1].

    Shapes: [a, b, n] and [a, b, m] give [a, b, n + m].
    Host:   returns at once.
    Raises: ShapeError if other sizes differ, ValueRangeError for no tensors.
    Example:
        >>> torch.dstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
        tensor([[[1, 3],
                 [2, 4]]])
    """
    return cat([_with_three(tensor) for tensor in tensors], 2)


@composite(samples=_rows, errors=_no_rows, dtypes=dtypes.ALL, method=False)
def column_stack(tensors: Operands) -> Any:
    """Concatenate tensors along dimension 1; vectors become columns.

    Shapes: [a, n] and [a, m] give [a, n + m]; a vector [a] counts as [a, 1].
    Host:   returns at once.
    Raises: ShapeError if other sizes differ, ValueRangeError for no tensors.
    Example:
        >>> torch.column_stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
        tensor([[1, 3],
                [2, 4]])
    """
    columns = [reshape(tensor, (tensor.numel(), 1)) if len(tensor.shape) < 2 else tensor for tensor in tensors]
    return cat(columns, 1)


@composite(samples=_rows, errors=_no_rows, dtypes=dtypes.ALL, method=False)
def row_stack(tensors: Operands) -> Any:
    """Concatenate tensors along dimension 0, with vectors as rows: an alias of `vstack`.

    Shapes: [n, *] and [m, *] give [n + m, *]; a vector [k] counts as [1, k].
    Host:   returns at once.
    Raises: ShapeError if other sizes differ, ValueRangeError for no tensors.
    Example:
        >>> torch.row_stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
        tensor([[1, 2],
                [3, 4]])
    """
    return cat([reshape(tensor, (1, -1)) if len(tensor.shape) < 2 else tensor for tensor in tensors], 0)


# products of vectors


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Any, ...]:
    """Return a view of each vector, expanded to a grid that has one dimension for each vector.

    indexing: "ij" gives the shape [n0, n1, ...] for vectors of n0, n1, ... elements; "xy" exchanges the first two
    sizes.  None is "ij", with a warning.
    Host:   returns at once.
    Raises: ShapeError for more than one dimension, DtypeError for mixed types or devices, ValueRangeError for no
            tensors or any other indexing, ArgumentTypeError if one is not a tensor.
    Example:
        >>> x, y = torch.meshgrid(torch.tensor([1, 2, 3]), torch.tensor([4, 5]), indexing="ij")
        >>> x
        tensor([[1, 1],
                [2, 2],
                [3, 3]])
        >>> y
        tensor([[4, 5],
                [4, 5],
                [4, 5]])
    """
    several = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    check_tensors("meshgrid", several)
    if not several:
        raise ValueRangeError("expects a non-empty TensorList", hint="pass vectors", operator="meshgrid")
    if indexing is None:
        callers.warn(
            "meshgrid: in an upcoming release, it will be required to pass the indexing argument; pass indexing='ij'"
        )
    elif indexing not in ("ij", "xy"):
        raise ValueRangeError(
            f'indexing must be one of "xy" or "ij", but received: {shown(indexing)}',
            hint='"ij" has one dimension for each vector, in order',
            operator="meshgrid",
        )
    for number, tensor in enumerate(several):
        if len(tensor.shape) > 1:
            raise ShapeError(
                f"Expected 0D or 1D tensor in the tensor list but got tensors[{number}] of shape {list(tensor.shape)}",
                hint="flatten() it",
                operator="meshgrid",
            )
        if tensor.dtype is not several[0].dtype or tensor.device != several[0].device:
            raise DtypeError(
                "expects all tensors to have the same dtype and device, got "
                f"{several[0].describe()} and {tensor.describe()}",
                hint="convert them with .to(...)",
                operator="meshgrid",
            )
    shape = [tensor.numel() for tensor in several]
    swaps = indexing == "xy" and len(several) > 1
    grids = []
    for dim, tensor in enumerate(several):
        grid = expand(reshape(tensor, [-1 if at == dim else 1 for at in range(len(shape))]), tuple(shape))
        grids.append(transpose(grid, 0, 1) if swaps else grid)
    return tuple(grids)


def cartesian_prod(*tensors: Any) -> Any:
    """Return all tuples with one element of each vector, as rows; the first vector varies slowest.

    A single vector is returned as it is.
    Host:   returns at once.
    Raises: ShapeError unless all have one dimension.
    Example:
        >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([4, 5]))
        tensor([[1, 4],
                [1, 5],
                [2, 4],
                [2, 5]])
    """
    several = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    check_tensors("cartesian_prod", several)
    for number, tensor in enumerate(several):
        if len(tensor.shape) != 1:
            raise ShapeError(
                f"Expect a 1D vector, but tensors[{number}] has shape {list(tensor.shape)}",
                hint="flatten() it",
                operator="cartesian_prod",
            )
    if len(several) == 1:
        return several[0]
    return stack([reshape(grid, (-1,)) for grid in meshgrid(*several, indexing="ij")], 1)


def _combinations_samples() -> Iterator[Sample]:
    yield Sample((Array((4,)),))
    yield Sample((Array((4,)), 3))
    yield Sample((Array((3,)), 2, True))
    yield Sample((Array((2,)), 3))
    yield Sample((Array((3,)), 0))


def _combinations_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 2)),), ShapeError, r"1D vector, but got shape \[2, 2\]")
    yield ErrorSample((Array((2,)), -1), ValueRangeError, "non-negative number, but got -1")


@composite(samples=_combinations_samples, errors=_combinations_errors, dtypes=dtypes.ALL, takes_out=False, method=False)
def combinations(input: Operand, r: int = 2, with_replacement: bool = False) -> Any:
    """Return all choices of r elements of a vector, as rows in the order of their positions.

    with_replacement: True lets an element be chosen several times.
    Shapes: [n] gives [k, r], where k is the number of combinations.
    Host:   returns at once.
    Raises: ShapeError unless the input has one dimension, ValueRangeError for a negative r.
    Example:
        >>> torch.combinations(torch.tensor([1, 2, 3]))
        tensor([[1, 2],
                [1, 3],
                [2, 3]])
    """
    if len(input.shape) != 1:
        raise ShapeError(
            f"Expect a 1D vector, but got shape {list(input.shape)}", hint="flatten() it", operator="combinations"
        )
    if r < 0:
        raise ValueRangeError(
            f"Expect a non-negative number, but got {r}", hint="pass 0 or more", operator="combinations"
        )
    source: Any = input
    if r == 0:
        return source.new_empty((0,))
    size = source.shape[0]
    count = comb(size + r - 1, r) if with_replacement else comb(size, r)
    places = (
        source.new_zeros((0, r), dtype=dtypes.int64) if not count else _chosen(source, size, r, with_replacement, count)
    )
    return reshape(source.index_select(0, reshape(places, (-1,))), (count, r))


def _chosen(source: Any, size: int, r: int, with_replacement: bool, count: int) -> Any:
    """Return the positions of every choice, [count, r]: all tuples of ascending positions.  Host: returns at once."""
    places = arange(source.new_empty((size**r,), dtype=dtypes.int64), 0, 1)
    columns = [(places // size ** (r - 1 - column)) % size for column in range(r)]
    ascends = source.new_ones((size**r,), dtype=dtypes.bool_)
    for one, other in zip(columns, columns[1:]):  # noqa: RUF007
        ascends = ascends & (one <= other if with_replacement else one < other)
    kept = ascends.to(dtypes.uint8).argsort(descending=True, stable=True).narrow(0, 0, count)
    return stack(columns, 1).index_select(0, kept)


def _vander_samples() -> Iterator[Sample]:
    yield Sample((Array((3,), 1, 3),))
    yield Sample((Array((3,), 1, 3), 4, True))
    yield Sample((Array((2,), 1, 3), 0))


def _vander_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 2)),), ShapeError, r"one-dimensional tensor, got \[2, 2\]")
    yield ErrorSample((Array((2,)), -1), ValueRangeError, "N must be non-negative, got -1")


MANY_POWERS = 2**10  # from here on, they are one running product, after a check of the memory


def powers_of(column: Any, count: int) -> list[Any]:
    """Return tensors that are the powers 0 to count - 1 when joined along the last dimension, which has size 1."""
    powers = [column.new_ones(column.shape)]
    if count >= MANY_POWERS:
        if thread.here().lowering is not None:
            raise NotLowerable("an allocation that fails before the powers are computed")
        column.new_empty((*column.shape[:-1], count))
        return [*powers, column.expand((*column.shape[:-1], count - 1)).cumprod(-1)]
    for _ in range(count - 1):
        powers.append(powers[-1] * column)
    return powers


@composite(samples=_vander_samples, errors=_vander_errors, dtypes=dtypes.ALL[5:], takes_out=False, method=False,
           other_names={"input": "x"})  # fmt: skip
def vander(x: Operand, N: int | None = None, increasing: bool = False) -> Any:  # noqa: N803  (PyTorch's name)
    """Return the Vandermonde matrix of a vector: columns of powers from N - 1 down to 0, or up with increasing=True.

    Shapes: [n] gives [n, N]; N is n unless given.
    Host:   returns at once.
    Raises: ShapeError unless there is one dimension, ValueRangeError for a negative N.
    Example:
        >>> torch.vander(torch.tensor([1, 2, 3]))
        tensor([[1, 1, 1],
                [4, 2, 1],
                [9, 3, 1]])
    """
    if len(x.shape) != 1:
        raise ShapeError(
            f"x must be a one-dimensional tensor, got {list(x.shape)}", hint="flatten() it", operator="vander"
        )
    columns = x.shape[0] if N is None else N
    if columns < 0:
        raise ValueRangeError(f"N must be non-negative, got {columns}", hint="leave it out", operator="vander")
    source: Any = unsqueeze(x, 1).to(dtypes.promote(x.dtype, dtypes.int64))
    if not columns:
        return source.new_empty((x.shape[0], 0))
    powers = powers_of(source, columns)
    if not increasing:
        powers = [part.flip((1,)) if part.shape[1] > 1 else part for part in powers[::-1]]
    return cat(powers, 1)


# reversed and rotated


def _fliplr_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)),), ShapeError, "at least 2 dimensions, got 1")


def _images() -> Iterator[Sample]:
    yield Sample((Array((2, 3)),))
    yield Sample((Array((3, 2, 2), layout="transposed"),))


@composite(samples=_images, errors=_fliplr_errors, dtypes=dtypes.ALL, takes_out=False)
def fliplr(input: Operand) -> Any:
    """Return a copy with the elements in reverse order along dimension 1, which exchanges left and right.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ShapeError for fewer than two dimensions.
    Example:
        >>> torch.fliplr(torch.tensor([[1, 2], [3, 4]]))
        tensor([[2, 1],
                [4, 3]])
    """
    if len(input.shape) < 2:
        raise ShapeError(
            f"input must have at least 2 dimensions, got {len(input.shape)}: {list(input.shape)}",
            hint="use flip(x, 0) to reverse a vector",
            operator="fliplr",
        )
    return flip(input, (1,))


def _flipud_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array(()),), ShapeError, "at least 1 dimension, got 0")


@composite(samples=_images, errors=_flipud_errors, dtypes=dtypes.ALL, takes_out=False)
def flipud(input: Operand) -> Any:
    """Return a copy with the elements in reverse order along dimension 0, which exchanges top and bottom.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ShapeError for an input without dimensions.
    Example:
        >>> torch.flipud(torch.tensor([[1, 2], [3, 4]]))
        tensor([[3, 4],
                [1, 2]])
    """
    if not input.shape:
        raise ShapeError(
            "input must have at least 1 dimension, got 0: []", hint="reshape it to (1,)", operator="flipud"
        )
    return flip(input, (0,))


def _rot90_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 3)),))
    yield Sample((Array((2, 3, 2)), 2, (0, -1)))
    yield Sample((Array((3, 2), layout="transposed"), -1, (1, 0)))
    yield Sample((Array((2, 2)), 4))


def _rot90_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), 1, (0,)), ShapeError, r"2 dimensions, got \[0\]")
    yield ErrorSample((Array((2, 3)), 1, (0, -2)), ShapeError, r"different dimensions, got \[0, -2\]")
    yield ErrorSample((Array((3,)),), ShapeError, "at least 2 dimensions, got 1")


@composite(samples=_rot90_samples, errors=_rot90_errors, dtypes=dtypes.ALL, takes_out=False)
def rot90(input: Operand, k: int = 1, dims: Any = (0, 1)) -> Any:
    """Return a copy turned k times by 90 degrees in the plane of the dimensions `dims`, from the first to the second.

    Shapes: the input's; the sizes of the two dimensions change places if k is odd.
    Host:   returns at once.
    Raises: ShapeError unless there are two different dimensions, IndexRangeError if one is out of range.
    Example:
        >>> torch.rot90(torch.tensor([[1, 2], [3, 4]]))
        tensor([[2, 4],
                [1, 3]])
    """
    plane, ndim = st.as_ints(dims), len(input.shape)
    if len(plane) != 2:
        raise ShapeError(f"expected 2 dimensions, got {plane}", hint="as in (0, 1)", operator="rot90")
    if ndim < 2:
        raise ShapeError(
            f"input must have at least 2 dimensions, got {ndim}: {list(input.shape)}",
            hint="use flip(x, 0) to reverse a vector",
            operator="rot90",
        )
    a, b = [st.wrap_dim(dim, ndim, "rot90") for dim in plane]
    if a == b:
        raise ShapeError(f"expected different dimensions, got {plane}", hint="as in (0, 1)", operator="rot90")
    turns = k % 4
    if turns == 1:
        return transpose(flip(input, (b,)), a, b)
    if turns == 2:
        return flip(input, (a, b))
    if turns == 3:
        return transpose(flip(input, (a,)), a, b)
    source: Any = input
    return source.clone()


# channels and pixels


def _shuffle_samples() -> Iterator[Sample]:
    yield Sample((Array((1, 4, 2)), 2))
    yield Sample((Array((2, 6, 2, 2)), 3))
    yield Sample((Array((0, 4, 2)), 2))


def _shuffle_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((4, 2)), 2), ShapeError, r"more than 2 dimensions, got \[4, 2\]")
    yield ErrorSample((Array((1, 4, 2)), 3), ShapeError, "4 channels are not divisible by 3 groups")
    yield ErrorSample((Array((1, 4, 2)), 0), ValueRangeError, "groups must be positive, got 0")


@composite(samples=_shuffle_samples, errors=_shuffle_errors, dtypes=dtypes.ALL, takes_out=False, method=False)
def channel_shuffle(input: Operand, groups: int) -> Any:
    """Return a copy in which the channels (dimension 1) of `groups` consecutive groups are interleaved.

    The first channel of each group comes first, then the second channel of each group, and so on.
    Shapes: [n, c, *] gives the same.
    Host:   returns at once.
    Raises: ShapeError for fewer than three dimensions or if `groups` does not divide the channels, ValueRangeError
            unless it is positive.
    Example:
        >>> torch.channel_shuffle(torch.arange(4).reshape(1, 4, 1), 2).flatten()
        tensor([0, 2, 1, 3])
    """
    shape = tuple(input.shape)
    if len(shape) < 3:
        raise ShapeError(
            f"expects input with more than 2 dimensions, got {list(shape)}",
            hint="dimension 1 has the channels: [n, c, ...]",
            operator="channel_shuffle",
        )
    if groups <= 0:
        raise ValueRangeError(
            f"groups must be positive, got {groups}",
            hint="pass 1 or more: 1 changes nothing",
            operator="channel_shuffle",
        )
    if shape[1] % groups:
        raise ShapeError(
            f"{shape[1]} channels are not divisible by {groups} groups",
            hint="pass a divisor of the number of channels",
            operator="channel_shuffle",
        )
    if 0 in shape:
        source: Any = input
        return source.clone()
    inner = prod(shape[2:])
    moves = channels_to_end(shape, input.strides)
    if moves is not None:
        apart = reshape(permute(input, moves[0]), (shape[0], inner, groups, shape[1] // groups))
        mixed = permute(apart, (0, 1, 3, 2)).clone(memory_format=contiguous_format)
        return permute(reshape(mixed, (shape[0], *shape[2:], shape[1])), moves[1])
    apart = reshape(input, (shape[0], groups, shape[1] // groups, inner))
    return reshape(permute(apart, (0, 2, 1, 3)).clone(memory_format=contiguous_format), shape)


def _pixel_samples() -> Iterator[Sample]:
    yield Sample((Array((4, 2, 3)), 2))
    yield Sample((Array((2, 9, 1, 2)), 3))
    yield Sample((Array((0, 4, 1, 1)), 2))


def _pixel_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((4, 2)), 2), ShapeError, r"at least 3 dimensions, got \[4, 2\]")
    yield ErrorSample((Array((3, 2, 2)), 2), ShapeError, "3 channels are not divisible by 4, the square of 2")
    yield ErrorSample((Array((4, 2, 2)), 0), ValueRangeError, "upscale_factor must be positive, got 0")


def _check_pixels(name: str, what: str, input: Operand, factor: int) -> None:
    if len(input.shape) < 3:
        raise ShapeError(
            f"expects input to have at least 3 dimensions, got {list(input.shape)}",
            hint="the last three are channels, height and width",
            operator=name,
        )
    if factor <= 0:
        raise ValueRangeError(
            f"{what} must be positive, got {factor}", hint="pass 1 or more: 1 changes nothing", operator=name
        )


@composite(samples=_pixel_samples, errors=_pixel_errors, dtypes=dtypes.ALL, takes_out=False, method=False)
def pixel_shuffle(input: Operand, upscale_factor: int) -> Any:
    """Turn groups of r * r channels into squares of r by r pixels, for an upscale factor r.

    Shapes: [..., c * r * r, h, w] gives [..., c, h * r, w * r].
    Host:   returns at once.
    Raises: ShapeError if the channels do not divide evenly, ValueRangeError for a factor below 1.
    Example:
        >>> torch.pixel_shuffle(torch.arange(4).reshape(4, 1, 1), 2)
        tensor([[[0, 1],
                 [2, 3]]])
    """
    _check_pixels("pixel_shuffle", "upscale_factor", input, upscale_factor)
    r = upscale_factor
    *batch, channels, height, width = input.shape
    if channels % (r * r):
        raise ShapeError(
            f"{channels} channels are not divisible by {r * r}, the square of {r}",
            hint="dimension -3 has the channels",
            operator="pixel_shuffle",
        )
    kept, at = channels // (r * r), len(batch)
    moves = channels_to_end(input.shape, input.strides) if at == 1 else None
    if moves is not None:
        apart = reshape(permute(input, moves[0]), (*batch, height, width, kept, r, r))
        mixed = permute(apart, (0, 1, 4, 2, 5, 3)).clone(memory_format=contiguous_format)
        return permute(reshape(mixed, (*batch, height * r, width * r, kept)), moves[1])
    apart = reshape(input, (*batch, kept, r, r, height, width))
    order = (*range(at), at, at + 3, at + 1, at + 4, at + 2)
    return reshape(permute(apart, order).clone(memory_format=contiguous_format), (*batch, kept, height * r, width * r))


def _unpixel_samples() -> Iterator[Sample]:
    yield Sample((Array((1, 2, 4)), 2))
    yield Sample((Array((2, 1, 3, 6)), 3))
    yield Sample((Array((0, 1, 2, 2)), 2))


def _unpixel_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((4, 2)), 2), ShapeError, r"at least 3 dimensions, got \[4, 2\]")
    yield ErrorSample((Array((1, 3, 2)), 2), ShapeError, "3 by 2 is not divisible by 2")
    yield ErrorSample((Array((4, 2, 2)), 0), ValueRangeError, "downscale_factor must be positive, got 0")


@composite(samples=_unpixel_samples, errors=_unpixel_errors, dtypes=dtypes.ALL, takes_out=False, method=False)
def pixel_unshuffle(input: Operand, downscale_factor: int) -> Any:
    """Reverse `pixel_shuffle`: turn squares of r by r pixels into r * r channels, for a downscale factor r.

    Shapes: [..., c, h * r, w * r] gives [..., c * r * r, h, w].
    Host:   returns at once.
    Raises: ShapeError if height and width do not divide evenly, ValueRangeError for a factor below 1.
    Example:
        >>> torch.pixel_unshuffle(torch.arange(4).reshape(1, 2, 2), 2).flatten()
        tensor([0, 1, 2, 3])
    """
    _check_pixels("pixel_unshuffle", "downscale_factor", input, downscale_factor)
    r = downscale_factor
    *batch, channels, height, width = input.shape
    if height % r or width % r:
        raise ShapeError(
            f"an image of {height} by {width} is not divisible by {r}",
            hint="cut or pad the last two dimensions",
            operator="pixel_unshuffle",
        )
    at = len(batch)
    moves = channels_to_end(input.shape, input.strides) if at == 1 else None
    if moves is not None:
        apart = reshape(permute(input, moves[0]), (*batch, height // r, r, width // r, r, channels))
        mixed = permute(apart, (0, 1, 3, 5, 2, 4)).clone(memory_format=contiguous_format)
        return permute(reshape(mixed, (*batch, height // r, width // r, channels * r * r)), moves[1])
    apart = reshape(input, (*batch, channels, height // r, r, width // r, r))
    order = (*range(at), at, at + 2, at + 4, at + 1, at + 3)
    moved = permute(apart, order).clone(memory_format=contiguous_format)
    return reshape(moved, (*batch, channels * r * r, height // r, width // r))


# shapes


def broadcast_shapes(*shapes: Any) -> st.Size:
    """Return the shape to which tensors of the given shapes broadcast.

    Each shape is a tuple of ints, or an int for a shape of one dimension.
    Host:   returns at once.
    Raises: ShapeError if they do not broadcast, ValueRangeError for a negative size, ArgumentTypeError for anything but
            ints.
    Example:
        >>> torch.broadcast_shapes((2, 1), (3,), 1)
        torch.Size([2, 3])
    """
    try:
        listed = [st.as_ints(shape) for shape in shapes]
    except TypeError as error:
        raise ArgumentTypeError(
            f"expected tuples of ints or single ints, got ({', '.join(map(shown, shapes))})",
            hint="as in broadcast_shapes((2, 1), (3,))",
            operator="broadcast_shapes",
        ) from error
    for sizes in listed:
        if any(size < 0 for size in sizes):
            raise ValueRangeError(
                f"sizes must not be negative, got {tuple(sizes)}",
                hint="sizes are 0 or more; -1 has no special meaning here",
                operator="broadcast_shapes",
            )
    return st.Size(st.broadcast(listed, "broadcast_shapes"))
