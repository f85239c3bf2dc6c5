"""Views of a part of a tensor: select, slice, narrow, split and its variants, unbind, diagonal, unfold, as_strided.

Also views as copies, such as view_copy.

The gradient of each is zeros with the gradient of the part at its position (`embed`).  Pieces that are made together,
by `split` and `unbind`, have one node, which joins their gradients (`join.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import wraps
from inspect import cleandoc
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple

from .. import dtypes
from .. import strides as st
from ..core import record, thread
from ..core import views as core
from ..core.storage import NO_PLACE, NotLowerable
from ..core.view_geometry import known_views
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    IndexRangeError,
    ShapeError,
    ValueRangeError,
    shown,
)
from ..memory_formats import contiguous_format
from . import views
from .indexing_kernels import accumulate_rows, target_offsets, zeros
from .operator import Array, Call, ErrorSample, Operand, Operator, Sample, composite, operator, view
from .samples import bad_dims


class Dense(NamedTuple):
    """The shape and strides of a contiguous array without memory, from which a view computes the offset of a part."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0


def sized(input: Operand, dim: int, name: str) -> tuple[int, int]:
    """Return (dimension counted from the front, its size).  Raises IndexRangeError if it is out of range."""
    if not input.shape:
        raise IndexRangeError(
            "cannot be applied to a 0-dim tensor", hint="use tensor.item() to get its value", operator=name
        )
    at = st.wrap_dim(dim, len(input.shape), name)
    return at, input.shape[at]


def embedded(part: Operator, grad: Any, shape: Sequence[int], *attributes: Any) -> Any:
    """Return the gradient of a tensor of `shape` from that of a part of it: zeros outside the part."""
    size, strides, offset = part.body(Dense(tuple(shape), st.contiguous(shape)), *attributes)
    return embed(grad, tuple(shape), tuple(size), tuple(strides), offset)


def _embed_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 2)), (3, 3), (2, 2), (3, 1), 1))
    yield Sample((Array((3, 2)), (4,), (3, 2), (1, 1), 0))
    yield Sample((Array((0, 2)), (2, 2), (0, 2), (2, 1), 0))


@operator(samples=_embed_samples, dtypes=dtypes.ALL, method=False, function=False)
def embed(call: Call, input: Operand, shape: Any, size: Any, strides: Any, offset: int) -> Any:
    """Return zeros of `shape` with `input` in the part (size, strides, offset).  Elements that overlap are added.

    Shapes: the input has shape `size`, the result `shape`.
    Host:   returns at once.
    """
    out = zeros(call, shape, input.dtype)
    if prod(size) == 0:
        return out
    if st.overlaps_itself(size, strides):
        accumulate_rows(call, out, target_offsets(call, size, strides, offset), input, (1, prod(shape), 1))
    else:
        call.assign(call.part(out, size, strides, offset), input)
    return out


@embed.derivative
def _(grad: Any, size: Any, strides: Any, offset: int) -> Any:
    whole = grad.contiguous()
    return whole.as_strided(size, strides, whole.storage_offset() + offset)


def _as_strided_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), (2, 2), (4, 1), 1))
    yield Sample((Array((6,)), (3, 2), (1, 1)))


def _as_strided_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), (2, 2), (2, 1)), ShapeError, r"need 4 elements, but .* storage of 3")
    yield ErrorSample((Array((3,)), (2,), (-1,)), ValueRangeError, r"negative")


@view(samples=_as_strided_samples, errors=_as_strided_errors, dtypes=dtypes.ALL)
def as_strided(input: Operand, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """Return a view of the input's storage with the given sizes and strides, in elements.

    storage_offset: the index in the storage of the first element; None is the input's offset.
    Shapes: the result has the shape `size`.
    Host:   returns at once.
    Raises: ValueRangeError for negative numbers, ShapeError if the view exceeds the storage.
    Example:
        >>> torch.as_strided(torch.arange(6), size=(2, 2), stride=(3, 1))
        tensor([[0, 1],
                [3, 4]])
    """
    source: Any = input
    lowering = thread.here().lowering
    if storage_offset is not None and lowering is not None and not lowering.is_derivative:
        raise NotLowerable("storage_offset counts from the start of the storage, which a plan does not know")
    start = source._offset if storage_offset is None else storage_offset
    size, stride = st.as_ints(size), st.as_ints(stride)
    if len(size) != len(stride) or start < 0 or any(number < 0 for number in (*size, *stride)):
        raise ValueRangeError(
            f"sizes {list(size)}, strides {list(stride)}, offset {start} do not make a view",
            hint="give as many strides as sizes, and no negative number",
            operator="as_strided",
        )
    held = source._storage.nbytes // source.dtype.itemsize
    reach = st.extent(size, stride)
    if reach and start + reach > held:
        raise ShapeError(
            f"sizes {list(size)} with strides {list(stride)} and offset {start} need {start + reach} "
            f"elements, but the view is of a storage of {held}",
            hint="strides and offset count elements from the storage's start: lower the sizes or the offset",
            operator="as_strided",
        )
    return size, stride, start - source._offset


@as_strided.derivative
def _(
    grad: Any, size: Any, stride: Any, storage_offset: Any, input_shape: Any, input_strides: Any, input_offset: int
) -> Any:
    if st.overlaps_itself(input_shape, input_strides):
        raise AutogradError(
            f"no gradient for an input whose elements overlap, shape {list(input_shape)} with strides "
            f"{list(input_strides)}",
            hint="clone() the input first",
            operator="as_strided",
        )
    start = input_offset if storage_offset is None else storage_offset
    low = min(start, input_offset)
    extent = max(start + st.extent(size, stride), input_offset + st.extent(input_shape, input_strides)) - low
    flat = embed(grad, (extent,), tuple(size), tuple(stride), start - low)
    return flat.as_strided(input_shape, input_strides, input_offset - low)


def _select_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), 0, 1))
    yield Sample((Array((3, 4), layout="transposed"), -1, -2))
    yield Sample((Array((2, 0)), 0, 1))


def _select_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3, 4)), 0, 3), IndexRangeError, r"index 3 is out of bounds for dimension 0 with size 3")
    yield ErrorSample((Array(()), 0, 0), IndexRangeError, r"0-dim")


@view(samples=_select_samples, errors=_select_errors, dtypes=dtypes.ALL)
def select(input: Operand, dim: int, index: int) -> Any:
    """Return a view of the input at one index of a dimension, without that dimension.

    Shapes: the input's without `dim`.
    Host:   returns at once.
    Raises: IndexRangeError if the dimension or the index is out of range.
    Example:
        >>> torch.select(torch.tensor([[1, 2], [3, 4]]), dim=1, index=0)
        tensor([1, 3])
    """
    shape, strides = input.shape, input.strides
    at, total = sized(input, dim, "select")
    if not -total <= index < total:
        raise IndexRangeError(
            f"index {index} is out of bounds for dimension {at} with size {total}",
            hint=f"use {-total} to {total - 1}; negative numbers count from the end"
            if total
            else "pass no index: the dimension is empty",
            operator="select",
        )
    return (*shape[:at], *shape[at + 1 :]), (*strides[:at], *strides[at + 1 :]), index % total * strides[at]


select.quick, select.quick_node = core.select, select


@select.derivative
def _(grad: Any, dim: int, index: int, input_shape: Any) -> Any:
    return embedded(select, grad, input_shape, dim, index)


def _slice_samples() -> Iterator[Sample]:
    yield Sample((Array((5, 4)), 0, 1, 4))
    yield Sample((Array((5, 4)), 1, None, None, 2))
    yield Sample((Array((5, 4)), 0, -2))
    yield Sample((Array((5,)), 0, 3, 1))
    yield Sample((Array((0, 4)), 0, 1, 9))


def _slice_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), 0, None, None, 0), ArgumentError, r"step must be greater than zero, got 0")


@view(samples=_slice_samples, errors=_slice_errors, dtypes=dtypes.ALL, method=False, function=False, name="slice")
def slice_(input: Operand, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    """Return a view of every `step`-th index of a dimension from start up to end, excluded; both may be negative.

    Shapes: those of the input; the size of `dim` is the number of selected indexes.
    Host:   returns at once.
    Raises: IndexRangeError if the dimension is out of range, ArgumentError for a step below 1.
    """
    if step <= 0:
        raise ArgumentError(
            f"step must be greater than zero, got {step}", hint="use flip(dim) to reverse a dimension", operator="slice"
        )
    at, total = sized(input, dim, "slice")
    first, last, _ = slice(start, end, step).indices(total)
    count = max(0, -(-(last - first) // step))
    shape, strides = input.shape, input.strides
    steps = (*strides[:at], strides[at] * step, *strides[at + 1 :])
    return (*shape[:at], count, *shape[at + 1 :]), steps, first * strides[at]


slice_.quick, slice_.quick_node = core.slice_, slice_


@slice_.derivative
def _(grad: Any, dim: int, start: Any, end: Any, step: int, input_shape: Any) -> Any:
    return embedded(slice_, grad, input_shape, dim, start, end, step)


def _narrow_samples() -> Iterator[Sample]:
    yield Sample((Array((5, 4)), 0, 1, 3))
    yield Sample((Array((5, 4)), -1, -3, 2))
    yield Sample((Array((5,)), 0, 5, 0))


def _narrow_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3, 4)), 0, 2, 4), ShapeError, r"start \(2\) \+ length \(4\) exceeds dimension size \(3\)")
    yield ErrorSample((Array((3, 4)), 0, 4, 0), IndexRangeError, r"start 4 .* \[-3, 3\]")


@composite(samples=_narrow_samples, errors=_narrow_errors, dtypes=dtypes.ALL, takes_out=False)
def narrow(input: Operand, dim: int, start: int, length: int) -> Any:
    """Return a view of the indexes start to start + length - 1 of dimension `dim`.

    Shapes: those of the input; the size of `dim` is `length`.
    Host:   returns at once.
    Raises: IndexRangeError if the dimension or start is out of range, ShapeError if the length does not fit.
    Example:
        >>> torch.narrow(torch.arange(10), 0, start=2, length=3)
        tensor([2, 3, 4])
    """
    _, size = sized(input, dim, "narrow")
    if not -size <= start <= size:
        raise IndexRangeError(
            f"start {start} is out of range, expected to be in [{-size}, {size}]",
            hint="pass a start in this range; negative numbers count from the end",
            operator="narrow",
        )
    first = start + size if start < 0 else start
    if length < 0 or first + length > size:
        raise ShapeError(
            f"start ({first}) + length ({length}) exceeds dimension size ({size})",
            hint=f"from there, length may be 0 to {max(size - first, 0)}",
            operator="narrow",
        )
    return slice_(input, dim, first, first + length)


def _split_samples() -> Iterator[Sample]:
    yield Sample((Array((5, 2)), 2))
    yield Sample((Array((2, 5)), (1, 4), 1))


def _split_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), 0), ShapeError, r"split_size 0 .* size 3")
    yield ErrorSample((Array((3,)), (1, 1)), ShapeError, r"sum to 3, .* \[1, 1\]")


@composite(
    samples=_split_samples, errors=_split_errors, dtypes=dtypes.ALL, takes_out=False, gives_views=True,
    other_names={"tensor": "input", "split_size": "split_size_or_sections"},
)  # fmt: skip
def split(input: Operand, split_size_or_sections: Any, dim: int = 0) -> Any:
    """Return a tuple of views of consecutive pieces of a dimension.

    split_size_or_sections: the size of every piece, of which the last may be smaller, or a list of the sizes.

    split_size_or_sections: the size, or the list of sizes.
    Shapes: those of the input, except the size of `dim`.
    Host:   returns at once.
    Raises: IndexRangeError if the dimension is out of range, ShapeError if the sizes do not fit it.
    Example:
        >>> torch.split(torch.arange(5), 2)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
        >>> torch.split(torch.arange(5), [1, 4])
        (tensor([0]), tensor([1, 2, 3, 4]))
    """
    at, total = sized(input, dim, "split")
    wanted = split_size_or_sections
    if hasattr(wanted, "__index__"):
        wanted = st.as_int(wanted)
        if wanted < 0 or wanted == 0 != total:
            raise ShapeError(
                f"split_size {wanted} cannot divide dimension {at} of size {total}",
                hint="use a size of 1 or more",
                operator="split",
            )
        pieces = [min(wanted, total - start) for start in range(0, total, wanted)] if total else [0]
    else:
        pieces = st.as_ints(wanted)
        if sum(pieces) != total or any(piece < 0 for piece in pieces):
            raise ShapeError(
                f"the sizes must sum to {total}, the size of dimension {at}, but got {pieces}",
                hint=f"they sum to {sum(pieces)}; none may be negative",
                operator="split",
            )
    ends = list(accumulate(pieces))
    bounds = [(end - size, end) for end, size in zip(ends, pieces)]
    source: Any = input
    call = [source, pieces, at]
    if not record.wants_grad(split, call):
        return tuple(slice_(source, at, start, end) for start, end in bounds)
    return _recorded(split, call, [core.slice_(source, [source, at, start, end, 1]) for start, end in bounds])


def _recorded(operator: Operator, call: list[Any], pieces: list[Any]) -> tuple[Any, ...]:
    """Record views as the results of one call, so that backward joins their gradients instead of adding whole ones."""
    record.record(operator, call, pieces)
    return tuple(pieces)


def _chunk_samples() -> Iterator[Sample]:
    yield Sample((Array((5, 2)), 2))
    yield Sample((Array((2, 3)), 5, 1))


def _chunk_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), 0), ShapeError, r"greater than 0, got 0")


MAX_CHUNKS, MAX_PIECES = 2**63 - 1, 2**31 - 1  # an empty dimension has as many chunks as are asked for


def _check_count(name: str, what: str, count: int, most: int, size: int) -> None:
    if count > most:
        raise ValueRangeError(
            f"the number of {what} is too large: {count}, for a dimension of size {size}",
            hint=f"pass {most} or less",
            operator=name,
        )


@composite(samples=_chunk_samples, errors=_chunk_errors, dtypes=dtypes.ALL, takes_out=False, gives_views=True)
def chunk(input: Operand, chunks: int, dim: int = 0) -> Any:
    """Return views of at most `chunks` consecutive pieces of a dimension, of equal size except the last.

    Shapes: those of the input, except the size of `dim`.
    Host:   returns at once.
    Raises: IndexRangeError if the dimension is out of range, ShapeError if chunks is not positive, ValueRangeError
            if chunks is too large.
    Example:
        >>> torch.chunk(torch.arange(5), 2)
        (tensor([0, 1, 2]), tensor([3, 4]))
    """
    chunks = st.as_int(chunks)
    if chunks <= 0:
        raise ShapeError(
            f"the number of chunks must be greater than 0, got {chunks}",
            hint="pass 1 or more: 1 returns the whole tensor",
            operator="chunk",
        )
    _, total = sized(input, dim, "chunk")
    _check_count("chunk", "chunks", chunks, MAX_CHUNKS if total else MAX_PIECES, total)
    return split(input, -(-total // chunks), dim) if total else split(input, (0,) * chunks, dim)


def _unbind_errors() -> Iterator[ErrorSample]:
    yield from bad_dims()
    yield ErrorSample((Array(()),), IndexRangeError, "cannot be applied to a 0-dim tensor")


def _unbind_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 2)),))
    yield Sample((Array((3, 2)), 1))


@composite(samples=_unbind_samples, errors=_unbind_errors, dtypes=dtypes.ALL, takes_out=False, gives_views=True)
def unbind(input: Operand, dim: int = 0) -> Any:
    """Return a tuple of views, one for each index of a dimension.

    Shapes: the input's without `dim`.
    Host:   returns at once.
    Raises: IndexRangeError if the dimension is out of range.
    Example:
        >>> torch.unbind(torch.tensor([[1, 2], [3, 4]]))
        (tensor([1, 2]), tensor([3, 4]))
    """
    at, total = sized(input, dim, "unbind")
    source: Any = input
    call = [source, at]
    if not record.wants_grad(unbind, call):
        return tuple(select(source, at, index) for index in range(total))
    return _recorded(unbind, call, [core.select(source, [source, at, index]) for index in range(total)])


def _diagonal_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)),))
    yield Sample((Array((3, 4)), 1))
    yield Sample((Array((2, 3, 4)), -1, -2, -1))
    yield Sample((Array((2, 2)), 5))


def _diagonal_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), 0, 1, -1), ShapeError, r"duplicate|cannot be identical")


@view(samples=_diagonal_samples, errors=_diagonal_errors, dtypes=dtypes.ALL)
def diagonal(input: Operand, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """Return a view of the diagonals of the matrices in dimensions dim1 and dim2, as the last dimension.

    offset: 0 is the main diagonal; positive numbers are above it.
    Shapes: the input's without the two dimensions, and a last one with the length of the diagonal.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range, ShapeError if both are the same.
    Example:
        >>> torch.diagonal(torch.arange(9).reshape(3, 3), offset=1)
        tensor([1, 5])
    """
    shape, strides = input.shape, input.strides
    a, b = st.wrap_dim(dim1, len(shape), "diagonal"), st.wrap_dim(dim2, len(shape), "diagonal")
    if a == b:
        raise ShapeError(
            f"the two dimensions cannot be identical: {dim1} and {dim2}",
            hint=f"both are dimension {a} of {len(shape)}: name another, for example {(a + 1) % max(len(shape), 1)}",
            operator="diagonal",
        )
    down, right = max(-offset, 0), max(offset, 0)
    count = max(min(shape[a] - down, shape[b] - right), 0)
    rest = [i for i in range(len(shape)) if i not in (a, b)]
    start = down * strides[a] + right * strides[b] if count else 0
    return (*(shape[i] for i in rest), count), (*(strides[i] for i in rest), strides[a] + strides[b]), start


@diagonal.derivative
def _(grad: Any, offset: int, dim1: int, dim2: int, input_shape: Any) -> Any:
    return embedded(diagonal, grad, input_shape, offset, dim1, dim2)


def _trace_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)),))
    yield Sample((Array((0, 4)),))


def _trace_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)),), ShapeError, r"expected a matrix, got shape \[3\]")


@composite(samples=_trace_samples, errors=_trace_errors, dtypes=dtypes.ALL)
def trace(input: Operand) -> Any:
    """Compute the sum of the diagonal of a matrix; integers give int64.

    Shapes: [n, m] gives ().
    Host:   returns at once.
    Raises: ShapeError unless there are two dimensions.
    Example:
        >>> torch.trace(torch.tensor([[1, 2], [3, 4]]))
        tensor(5)
    """
    if len(input.shape) != 2:
        raise ShapeError(
            f"expected a matrix, got shape {list(input.shape)}",
            hint="use diagonal(...).sum(-1) for more dimensions",
            operator="trace",
        )
    return diagonal(input).sum()


def _unfold_samples() -> Iterator[Sample]:
    yield Sample((Array((6,)), 0, 3, 2))
    yield Sample((Array((5, 2)), 0, 2, 1))


def _unfold_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3, 4)), 1, 5, 1), ShapeError, r"dimension 1 has size 4, .* window of size 5")
    yield ErrorSample((Array((4,)), 0, 2, 0), ArgumentError, r"step .* 0")


@view(samples=_unfold_samples, errors=_unfold_errors, dtypes=dtypes.ALL, function=False)
def unfold(input: Operand, dimension: int, size: int, step: int) -> Any:
    """Return a view of all windows of `size` indexes along a dimension, which begin `step` indexes apart.

    The elements of a window are the last dimension of the result.
    Shapes: those of the input, with the number of windows in `dimension`, and a last dimension of `size`.
    Host:   returns at once.
    Raises: IndexRangeError if the dimension is out of range, ShapeError if no window fits, ValueRangeError for a step
            below 1.
    Example:
        >>> torch.arange(6).unfold(0, size=3, step=2)
        tensor([[0, 1, 2],
                [2, 3, 4]])
    """
    shape, strides = input.shape or (1,), input.strides or (1,)
    at = st.wrap_dim(dimension, len(shape), "unfold")
    if size < 0 or size > shape[at]:
        raise ShapeError(
            f"dimension {at} has size {shape[at]}, which does not hold a window of size {size}",
            hint=f"use a size of 0 to {shape[at]}",
            operator="unfold",
        )
    if step <= 0:
        raise ValueRangeError(
            f"step must be greater than zero, got {step}",
            hint="pass 1 or more: 1 starts a window at every index",
            operator="unfold",
        )
    if not input.shape:
        return (size,), (1,), 0
    count = (shape[at] - size) // step + 1
    steps = (*strides[:at], strides[at] * step, *strides[at + 1 :], strides[at])
    return (*shape[:at], count, *shape[at + 1 :], size), steps, 0


@unfold.derivative
def _(grad: Any, dimension: int, size: int, step: int, input_shape: Any) -> Any:
    return embedded(unfold, grad, input_shape, dimension, size, step)


_NAMES_OF_CUTS = {"sections": "indices_or_sections", "indices": "indices_or_sections"}


def _cuts(input: Operand, cuts: Sequence[int], at: int) -> tuple[Any, ...]:
    """Return the pieces between positions of a dimension; like Python's slices, they may be empty."""
    bounds = zip((0, *cuts), (*cuts, input.shape[at]))
    return tuple([slice_(input, at, first, last) for first, last in bounds])


def _even_cuts(size: int, sections: int) -> list[int]:
    """Return where to cut a dimension into sections of equal size; the first ones have one index more."""
    each, more = divmod(size, sections)
    return [place * each + min(place, more) for place in range(1, sections)]


def _numbers_of(cuts: Any) -> Any:
    """Read a CPU tensor of int64: a number of sections, or positions.  Return other arguments unchanged."""
    if not hasattr(cuts, "_layout"):
        return cuts
    if cuts.is_cuda or cuts.dtype is not dtypes.int64 or len(cuts.shape) > 1:
        raise ValueRangeError(
            f"indices or sections must be an int64 tensor on the CPU with 0 or 1 dimensions, got {cuts.describe()}",
            hint="pass an int or a tuple of ints, as .tolist() returns",
            operator="tensor_split",
        )
    return cuts.tolist()


def _tensor_split_samples() -> Iterator[Sample]:
    yield Sample((Array((7, 2)), 3))
    yield Sample((Array((2, 5)), (1, 3), 1))
    yield Sample((Array((5,), layout="strided"), (-2, 9)))
    yield Sample((Array((2, 0)), 2, -1))


def _tensor_split_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), 0), ValueRangeError, "sections must be larger than 0, got 0")
    yield ErrorSample((Array(()), 2), ShapeError, "at least one dimension")
    yield ErrorSample((Array((2, 3)), 2, 2), IndexRangeError, r"expected to be in range of \[-2, 1\], but got 2")


@composite(
    samples=_tensor_split_samples, errors=_tensor_split_errors, dtypes=dtypes.ALL, takes_out=False, gives_views=True,
    other_names={**_NAMES_OF_CUTS, "tensor_indices_or_sections": "indices_or_sections"},
)  # fmt: skip
def tensor_split(input: Operand, indices_or_sections: Any, dim: int = 0) -> Any:
    """Return views of consecutive pieces of a dimension: nearly equal ones, or those between the given positions.

    indices_or_sections: the number of pieces, or the positions of the splits, as ints or as a tensor on the CPU.  If
    the number does not divide the size, the first pieces have one index more than the others.
    Shapes: those of the input, except the size of `dim`.
    Host:   returns at once.
    Raises: ShapeError for an input without dimensions, IndexRangeError if `dim` is out of range, ValueRangeError for
            less than one piece.
    Example:
        >>> torch.tensor_split(torch.arange(5), 2)
        (tensor([0, 1, 2]), tensor([3, 4]))
        >>> torch.tensor_split(torch.arange(5), (1, 3))
        (tensor([0]), tensor([1, 2]), tensor([3, 4]))
    """
    if not input.shape:
        raise ShapeError(
            "the input needs at least one dimension, got []", hint="reshape it to (1,)", operator="tensor_split"
        )
    at, size = sized(input, dim, "tensor_split")
    cuts = _numbers_of(indices_or_sections)
    if hasattr(cuts, "__index__"):
        sections = st.as_int(cuts)
        if sections <= 0:
            raise ValueRangeError(
                f"the number of sections must be larger than 0, got {cuts}",
                hint="pass 1 or more: 1 returns the whole tensor",
                operator="tensor_split",
            )
        _check_count("tensor_split", "sections", sections, MAX_PIECES, size)
        return _cuts(input, _even_cuts(size, sections), at)
    return _cuts(input, st.as_ints(cuts), at)


def _split_along(name: str, input: Operand, cuts: Any, least: int, at: int) -> Any:
    """Split as `hsplit`, `vsplit` and `dsplit` do: sections must be equal."""
    if len(input.shape) < least:
        raise ShapeError(
            f"requires a tensor with at least {least} dimension{'s' * (least > 1)}, but got a tensor with "
            f"{len(input.shape)} dimensions: {list(input.shape)}",
            hint="add dimensions with unsqueeze(), or call tensor_split(..., dim)",
            operator=name,
        )
    if hasattr(cuts, "__index__"):
        sections, size = st.as_int(cuts), input.shape[at]
        if sections <= 0 or size % sections:
            raise ShapeError(
                f"attempted to split along dimension {at}, but the size of the dimension {size} is not divisible by "
                f"the split_size {sections}",
                hint="use tensor_split(...) for pieces of unequal sizes",
                operator=name,
            )
        return _cuts(input, _even_cuts(size, sections), at)
    return _cuts(input, st.as_ints(cuts), at)


def _hsplit_samples() -> Iterator[Sample]:
    yield Sample((Array((4,)), 2))
    yield Sample((Array((2, 5)), (1, 3)))


def _hsplit_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array(()), 2), ShapeError, "at least 1 dimension, but got a tensor with 0")
    yield ErrorSample((Array((2, 3)), 2), ShapeError, "dimension 1, but the size of the dimension 3 .* split_size 2")


@composite(
    samples=_hsplit_samples, errors=_hsplit_errors, dtypes=dtypes.ALL, takes_out=False, gives_views=True,
    other_names=_NAMES_OF_CUTS,
)  # fmt: skip
def hsplit(input: Operand, indices_or_sections: Any) -> Any:
    """Split a tensor along dimension 1, or a tensor of one dimension along dimension 0, and return a tuple of views.

    indices_or_sections: a number of equal pieces, or the positions at which to split.
    Shapes: those of the input, except in the dimension that is split.
    Host:   returns at once.
    Raises: ShapeError for a tensor without dimensions, or if the number of pieces does not divide the size.
    Example:
        >>> torch.hsplit(torch.tensor([[1, 2], [3, 4]]), 2)
        (tensor([[1],
                [3]]), tensor([[2],
                [4]]))
    """
    return _split_along("hsplit", input, indices_or_sections, 1, 0 if len(input.shape) == 1 else 1)


def _vsplit_samples() -> Iterator[Sample]:
    yield Sample((Array((4, 2)), 2))
    yield Sample((Array((3, 2), layout="transposed"), (1,)))


def _vsplit_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((4,)), 2), ShapeError, "at least 2 dimensions, but got a tensor with 1")
    yield ErrorSample((Array((3, 2)), 2), ShapeError, "dimension 0, but the size of the dimension 3 .* split_size 2")


@composite(
    samples=_vsplit_samples, errors=_vsplit_errors, dtypes=dtypes.ALL, takes_out=False, gives_views=True,
    other_names=_NAMES_OF_CUTS,
)  # fmt: skip
def vsplit(input: Operand, indices_or_sections: Any) -> Any:
    """Split a tensor of at least 2 dimensions along dimension 0, and return a tuple of views.

    indices_or_sections: an int, the number of equal pieces; or a list of the indices at which pieces after the first
        begin.
    Shapes: those of the input, except in the dimension that is split.
    Host:   returns at once.
    Raises: ShapeError for fewer dimensions, or if the number of pieces does not divide the size.
    Example:
        >>> torch.vsplit(torch.tensor([[1, 2], [3, 4]]), 2)
        (tensor([[1, 2]]), tensor([[3, 4]]))
    """
    return _split_along("vsplit", input, indices_or_sections, 2, 0)


def _dsplit_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 2, 4)), 2))
    yield Sample((Array((2, 2, 4)), (1, 2)))


def _dsplit_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((4, 2)), 2), ShapeError, "at least 3 dimensions, but got a tensor with 2")


@composite(
    samples=_dsplit_samples, errors=_dsplit_errors, dtypes=dtypes.ALL, takes_out=False, gives_views=True,
    other_names=_NAMES_OF_CUTS,
)  # fmt: skip
def dsplit(input: Operand, indices_or_sections: Any) -> Any:
    """Split a tensor of at least 3 dimensions along dimension 2, and return a tuple of views.

    indices_or_sections: an int, the number of equal pieces; or a list of the indices at which pieces after the first
        begin.
    Shapes: those of the input, except in the dimension that is split.
    Host:   returns at once.
    Raises: ShapeError for fewer dimensions, or if the number of pieces does not divide the size.
    Example:
        >>> [piece.shape for piece in torch.dsplit(torch.zeros(2, 3, 4), 2)]
        [torch.Size([2, 3, 2]), torch.Size([2, 3, 2])]
    """
    return _split_along("dsplit", input, indices_or_sections, 3, 2)


def _sizes_samples() -> Iterator[Sample]:
    yield Sample((Array((5, 2)), (2, 3)))
    yield Sample((Array((2, 5)), (0, 1, 4), -1))


def _sizes_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), (1, 1)), ShapeError, r"sum to 3, .* \[1, 1\]")
    yield from (ErrorSample((*each.args[:1], (1, 2), each.args[1]), each.error, each.match) for each in bad_dims())


@composite(samples=_sizes_samples, errors=_sizes_errors, dtypes=dtypes.ALL, takes_out=False, gives_views=True)
def split_with_sizes(input: Operand, split_sizes: Any, dim: int = 0) -> Any:
    """Return a tuple of views of consecutive pieces of a dimension, of the listed sizes.

    Shapes: those of the input, except the size of `dim`.
    Host:   returns at once.
    Raises: IndexRangeError if the dimension is out of range, ShapeError if the sizes do not sum to its size.
    Example:
        >>> torch.split_with_sizes(torch.arange(5), [1, 4])
        (tensor([0]), tensor([1, 2, 3, 4]))
    """
    return split(input, _listed("split_with_sizes", split_sizes), dim)


def _listed(name: str, sizes: Any) -> list[int]:
    if hasattr(sizes, "__index__") or isinstance(sizes, str):
        raise ArgumentTypeError(f"split_sizes must be ints, got {shown(sizes)}", hint="as in (1, 4)", operator=name)
    return st.as_ints(sizes)


def _unsafe_samples() -> Iterator[Sample]:
    yield Sample((Array((5, 2)), 2))
    yield Sample((Array((2, 5)), 2, 1))


def _unsafe_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), 0), ShapeError, "split_size 0 .* size 3")


@composite(samples=_unsafe_samples, errors=_unsafe_errors, dtypes=dtypes.ALL, takes_out=False)
def unsafe_split(input: Operand, split_size: int, dim: int = 0) -> Any:
    """Split a dimension as `split` does, into pieces that autograd allows to be written in place.

    Shapes: those of the input, except the size of `dim`.
    Host:   returns at once.
    Raises: IndexRangeError if the dimension is out of range, ShapeError if the sizes do not fit it.
    Example:
        >>> torch.unsafe_split(torch.arange(4), 3)
        (tensor([0, 1, 2]), tensor([3]))
    """
    at, total = sized(input, dim, "unsafe_split")
    if split_size < 0 or split_size == 0 != total:
        raise ShapeError(
            f"split_size {split_size} cannot divide dimension {at} of size {total}",
            hint="use a size of 1 or more",
            operator="unsafe_split",
        )
    return _cuts(input, range(split_size, total, split_size) if split_size else (), at)


def _unsafe_chunk_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), 0), ShapeError, "greater than 0, got 0")


@composite(samples=_unsafe_samples, errors=_unsafe_chunk_errors, dtypes=dtypes.ALL, takes_out=False)
def unsafe_chunk(input: Operand, chunks: int, dim: int = 0) -> Any:
    """Split a dimension as `chunk` does, into pieces that autograd allows to be written in place.

    Shapes: those of the input, except the size of `dim`.
    Host:   returns at once.
    Raises: ShapeError unless the number of chunks is positive.
    Example:
        >>> torch.unsafe_chunk(torch.arange(4), 2)
        (tensor([0, 1]), tensor([2, 3]))
    """
    chunks = st.as_int(chunks)
    if chunks <= 0:
        raise ShapeError(
            f"the number of chunks must be greater than 0, got {chunks}",
            hint="pass 1 or more: 1 returns the whole tensor",
            operator="unsafe_chunk",
        )
    at, total = sized(input, dim, "unsafe_chunk")
    if not total:
        return _cuts(input, (0,) * (chunks - 1), at)
    return unsafe_split(input, -(-total // chunks), dim)


@composite(samples=_sizes_samples, errors=_sizes_errors, dtypes=dtypes.ALL, takes_out=False)
def unsafe_split_with_sizes(input: Operand, split_sizes: Any, dim: int = 0) -> Any:
    """Split a dimension as `split_with_sizes` does, into pieces that autograd allows to be written in place.

    Shapes: those of the input, except the size of `dim`.
    Host:   returns at once.
    Raises: ShapeError if the sizes do not sum to that of the dimension, IndexRangeError if `dim` is out of range.
    Example:
        >>> torch.unsafe_split_with_sizes(torch.arange(3), [1, 2])
        (tensor([0]), tensor([1, 2]))
    """
    at, total = sized(input, dim, "unsafe_split_with_sizes")
    sizes = _listed("unsafe_split_with_sizes", split_sizes)
    if sum(sizes) != total or any(size < 0 for size in sizes):
        raise ShapeError(
            f"the sizes must sum to {total}, the size of dimension {at}, but got {sizes}",
            hint=f"they sum to {sum(sizes)}; none may be negative",
            operator="unsafe_split_with_sizes",
        )
    ends = [sum(sizes[: place + 1]) for place in range(len(sizes))]
    return tuple([slice_(input, at, end - size, end) for size, end in zip(sizes, ends)])


known_views(
    as_strided, chunk, diagonal, dsplit, hsplit, narrow, split, split_with_sizes, tensor_split, unbind, unfold,
    unsafe_chunk, unsafe_split, unsafe_split_with_sizes, vsplit,
)  # fmt: skip
_known_strided: Any = as_strided.quick


def _of_whole_storage(operand: Any, bound: list[Any]) -> Any:
    """Compute `as_strided` of a tensor that fills its storage; a view of another tensor depends on its offset."""
    memory = operand._storage
    fills = operand._offset == 0 and memory.nbytes == operand._layout.nbytes and memory.place == NO_PLACE
    return _known_strided(operand, bound) if fills else None


as_strided.quick = _of_whole_storage

VIEWS = (  # operator, its arguments after the input, and their result for torch.arange(4).reshape(2, 2)
    (views.alias, "", "tensor([[0, 1],\n        [2, 3]])"),
    (as_strided, "(2,), (2,)", "tensor([0, 2])"),
    (diagonal, "", "tensor([0, 3])"),
    (views.expand, "(1, 2, 2)", "tensor([[[0, 1],\n         [2, 3]]])"),
    (narrow, "0, 1, 1", "tensor([[2, 3]])"),
    (views.permute, "(1, 0)", "tensor([[0, 2],\n        [1, 3]])"),
    (select, "1, 0", "tensor([0, 2])"),
    (slice_, "1, 1", "tensor([[1],\n        [3]])"),
    (split, "1", "(tensor([[0, 1]]), tensor([[2, 3]]))"),
    (split_with_sizes, "[1, 1]", "(tensor([[0, 1]]), tensor([[2, 3]]))"),
    (views.squeeze, "", "tensor([[0, 1],\n        [2, 3]])"),
    (views.t, "", "tensor([[0, 2],\n        [1, 3]])"),
    (views.transpose, "0, 1", "tensor([[0, 2],\n        [1, 3]])"),
    (unbind, "", "(tensor([0, 1]), tensor([2, 3]))"),
    (unfold, "0, 2, 1", "tensor([[[0, 2],\n         [1, 3]]])"),
    (views.unsqueeze, "0", "tensor([[[0, 1],\n         [2, 3]]])"),
)
UNNAMED = {  # summaries of the copies of views whose operator is not public
    "alias": "Return a contiguous copy of the input.\n",
    "slice": "Return a contiguous copy of every `step`-th index of a dimension from start up to end, excluded.\n",
}
METHODS = ("narrow",)  # `x.narrow_copy(...)`: PyTorch has a method only for this one
OTHER_NAMES = {"split_copy": {"split_size": "split_size_or_sections"}}


def _copy(view: Any) -> Any:
    return view.clone(memory_format=contiguous_format)


def _sections(original: Operator) -> str:
    """Return the lines about shapes, the host and errors from an operator's docstring."""
    before_example = cleandoc(original.__doc__ or "").partition("Example:")[0]
    _, label, rest = before_example.partition("Shapes:")
    return (label + rest).rstrip()


def _copying(original: Operator, arguments: str, printed: str) -> Operator:
    """Make the operator `<view>_copy`."""
    name = f"{original.name}_copy"

    @wraps(original.body)
    def copied(*values: Any) -> Any:
        result = original(*values)
        return tuple([_copy(view) for view in result]) if isinstance(result, tuple) else _copy(result)

    copied.__name__ = name
    shown = printed.replace("\n", "\n    ")
    call = f"torch.{name}(torch.arange(4).reshape(2, 2){arguments and ', '}{arguments})"
    several = "contiguous copies of the views" if printed.startswith("(") else "a contiguous copy of the view"
    first_line = cleandoc(original.__doc__ or "").partition("\n")[0]
    summary = f"Return {several} that `{original.name}` returns.\n\nSee `{original.name}`:\n    {first_line}"
    copied.__doc__ = (
        f"{UNNAMED.get(original.name, summary)}\n"
        f"{_sections(original)}\nExample:\n    >>> {call}\n    {shown}\n"
    )
    return composite(
        name=name, samples=original.samples, errors=original.errors, dtypes=dtypes.ALL,
        method=original.name in METHODS, other_names=OTHER_NAMES.get(name, original.other_names),
    )(copied)  # fmt: skip


COPIES = {f"{original.name}_copy": _copying(original, *text) for original, *text in VIEWS}


def _view_copy_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 6)), (3, -1)))
    yield Sample((Array((2, 4)), dtypes.uint8))


def _view_copy_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 6)), (5, -1)), ShapeError, r"'\[5, -1\]' is invalid for input of size 12")
    yield ErrorSample((Array((2, 3)), dtypes.float64), ShapeError, "cannot be viewed as float64, of 8 bytes")
    yield ErrorSample((Array((2,)),), ArgumentError, "neither a size nor a dtype")
    yield ErrorSample((Array((2,)), 3), ArgumentTypeError, "'size' must be a tuple of ints or a dtype, not int: 3")


@composite(samples=_view_copy_samples, errors=_view_copy_errors, dtypes=dtypes.ALL, method=False)
def view_copy(input: Operand, size: Any = None, *, dtype: Any = None) -> Any:
    """Return a contiguous copy in another shape, or with its bytes read as another type.

    size: the shape, where one size may be -1, or a dtype.  dtype: the type to read the bytes as, without a gradient.
    Shapes: `size`; for a dtype of another size, the last dimension grows or shrinks.
    Host:   returns at once.
    Raises: ShapeError if the elements do not fit, ArgumentError unless one of size and dtype is given,
            ArgumentTypeError for anything else.
    Example:
        >>> torch.view_copy(torch.arange(4).reshape(2, 2), (4,))
        tensor([0, 1, 2, 3])
        >>> torch.view_copy(torch.tensor([1.0]), torch.int32)
        tensor([1065353216], dtype=torch.int32)
    """
    seen = size if dtype is None else dtype
    if seen is None or size is not None and dtype is not None:
        given = "neither a size nor a dtype is" if seen is None else f"size={size} and dtype={dtype} are both"
        raise ArgumentError(f"{given} given", hint="pass one of them", operator="view_copy")
    if isinstance(seen, dtypes.dtype):
        return _copy(views.view_dtype(input, seen))
    if not isinstance(seen, Sequence):
        wrong = f"argument 'size' must be a tuple of ints or a dtype, not {type(seen).__name__}: {shown(seen)}"
        raise ArgumentTypeError(wrong, hint="pass the shape, for example (2, -1)", operator="view_copy")
    return _copy(views.view_(input, seen))


COPIES["view_copy"] = view_copy
