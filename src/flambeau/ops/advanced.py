"""Reading and writing elements by several index tensors, and by masks: what `x[i, :, j]` means.

Several index tensors become one: the dimensions that they index are flattened, and their places in them are computed
(`flat_index`).  What remains is selecting rows of one dimension (ops/indexing.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import prod
from typing import Any, NamedTuple

from .. import dtypes
from .. import strides as st
from ..dtypes import bool_, int64, uint8
from ..errors import DtypeError, FlambeauError, IndexRangeError, ShapeError, ValueRangeError, name_error
from ..host import np
from ..kernel import Kernel, Param, Pointer, Strided
from .indexing import index_array
from .nonzero import nonzero
from .operator import Array, Call, ErrorSample, Operand, Operands, Sample, composite, operator
from .pointwise import grid_over
from .scatter import check_index, indexing_kernel, scalars
from .views import broadcast_tensors, expand, permute, reshape


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
        f"at = at * {size} + checked({place}[offset(layout, {i}, i)], -{size}, {size});"
        for i, (place, size) in enumerate(zip(places, sizes))
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
    """For index tensors of neighbouring dimensions, the place in those dimensions flattened, row-major.

    Shapes: the indices broadcast; the result is a vector.  sizes, dims: of the dimensions, the latter for errors.
    Host:   returns at once; an index out of range raises on the CPU and stops the device on a GPU.
    """
    shape = st.broadcast([each.shape for each in indices], "index")
    numel = prod(shape)
    out = call.output((numel,), int64)
    if numel:
        ready = [each if each.dtype is int64 else call.contiguous(each, int64) for each in indices]
        layout = st.collapse(shape, [st.expand(each.shape, each.strides, shape) for each in ready])
        call.launch(_flat_kernel(len(ready)), grid_over(numel), out, *ready, layout, numel, *sizes, *dims)
    return out


class Place(NamedTuple):
    """What a list of index tensors selects: rows of `source`, whose dimension `dim` is all indexed ones flattened.

    shape: of the selection.  order: of the dimensions before they were flattened.  unique: no row comes twice.
    """

    source: Any
    dim: int
    rows: Any
    shape: tuple[int, ...]
    order: tuple[int, ...]
    unique: bool


def place(input: Any, indices: Sequence[Any]) -> Place:
    """Where `indices`, one per dimension, tensors or None, point.  Masks count for as many as they have dimensions.

    Host: waits if there is a mask.
    """
    only_mask = next((each for each in indices if each is not None), None) if _count(indices) == 1 else None
    if only_mask is None and not _count(indices):
        raise ValueRangeError(
            f"got no index tensor, the input has shape {list(input.shape)}",
            hint="copy_() and fill_() write the whole tensor",
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
    return Place(source, first, rows, (*lead, *shape, *tail), order, flattened_mask)


def _count(indices: Sequence[Any]) -> int:
    return sum(each is not None for each in indices)


def _broadcast_shape(entries: Sequence[Any]) -> tuple[int, ...]:
    try:
        return st.broadcast([each.shape for each in entries], "index")
    except ShapeError as error:
        listed = ", ".join(str(list(each.shape)) for each in entries)
        raise IndexRangeError(
            f"shape mismatch: indexing tensors could not be broadcast together: {listed}",
            hint=error.hint,
            operator="index",
        ) from error


def _entries(input: Any, indices: Sequence[Any], flat: bool) -> tuple[list[Any], list[int]]:
    """The integer index tensors, and the dimension of each.  A single mask, if `flat`, gives one for all of its."""
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


def check_mask(input: Any, mask: Any, dim: int) -> None:
    """Raise IndexRangeError if a mask does not have the shape of the dimensions from `dim` on."""
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
    samples=_advanced_samples, errors=_advanced_errors, dtypes=dtypes.ALL, method=False, function=False, host="waits"
)
def index(input: Operand, indices: Any) -> Any:
    """The elements that index tensors, one per dimension and None for all of it, point at: `x[i, :, j]`.

    Shapes: the index tensors broadcast; their shape takes the place of the dimensions that they index, or, where those
            are not neighbours, comes first.  A mask counts for as many dimensions as it has.
    Host:   waits for the number of true elements if there is a mask, else returns at once; an index out of range
            raises on the CPU and stops the device on a GPU.
    Raises: IndexRangeError.
    """
    at = place(input, indices)
    return reshape(at.source.index_select(at.dim, at.rows, wrap=True), at.shape)


def _put_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), [index_array(2)], Array((4,), seed=1)))
    yield Sample((Array((3, 4)), [index_array(5), index_array(5, seed=1)], Array((5,), seed=1), True))
    yield Sample((Array((2, 3, 4)), [index_array(2), None, index_array(2, seed=1)], Array((2, 3), seed=1)))


def _put_errors() -> Iterator[ErrorSample]:
    yield ErrorSample(
        (Array((3, 4)), [index_array(2)], Array((3,))), ShapeError, r"shape \[3\] cannot be broadcast .* \[2, 4\]"
    )


def _entries_to_write(at: Place, values: Any) -> Any:
    """`values` in the shape of the rows that are written."""
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


@composite(samples=_put_samples, errors=_put_errors, dtypes=dtypes.ALL, host="waits")
def index_put(input: Operand, indices: Any, values: Operand, accumulate: bool = False) -> Any:
    """The input with `values` written, or added, where index tensors point (see `index`).

    Of several writes to one element the last counts; values that are added are added in their order.
    Shapes: values broadcast to what the indices select.
    Host:   as `index`.
    Raises: IndexRangeError, ShapeError, DtypeError.
    Example:
        >>> torch.index_put(torch.zeros(2, 2), (torch.tensor([0, 1]), torch.tensor([1, 0])), torch.tensor([5.0, 6.0]))
        tensor([[0., 5.],
                [6., 0.]])
    """
    at = place(input, indices)
    entries = _entries_to_write(at, values)
    if accumulate:
        written = at.source.index_add(at.dim, at.rows, entries, wrap=True)
    else:
        written = at.source.index_copy(at.dim, at.rows, entries, wrap=True, unique=at.unique)
    whole = reshape(written, tuple(input.shape[dim] for dim in at.order))
    return permute(whole, tuple(at.order.index(dim) for dim in range(len(at.order))))


def index_put_(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """`index_put` in place; a method of tensors.

    Host:   as `index`.
    Raises: IndexRangeError, ShapeError, DtypeError.
    Example:
        >>> x = torch.zeros(3)
        >>> x.index_put_((torch.tensor([1, 1]),), torch.tensor([2.0, 3.0]), accumulate=True)
        tensor([0., 5., 0.])
    """
    try:
        return _put(input, indices, values, accumulate)
    except FlambeauError as error:
        name_error(error, "index_put_")
        raise


def _put(input: Any, indices: Any, values: Any, accumulate: bool) -> Any:
    at = place(input, indices)
    entries = _entries_to_write(at, values)
    if at.source.address() != input.address() or not at.source.numel():
        return input.copy_(index_put(input, indices, values, accumulate))  # the flattened dimensions had to be copied
    if accumulate:
        at.source.index_add_(at.dim, at.rows, entries, wrap=True)
    else:
        at.source.index_copy_(at.dim, at.rows, entries, wrap=True, unique=at.unique)
    return input


def _masked_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), low=0, high=1, dtype="bool", seed=2)))
    yield Sample((Array((3, 4)), Array((4,), low=0, high=1, dtype="bool", seed=2)))


def _masked_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), Array((3,))), DtypeError, "the mask must be bool, got float32")
    yield ErrorSample((Array((3,)), Array((2,), dtype="bool")), ShapeError, r"\[3\] and \[2\] do not broadcast")


@composite(samples=_masked_samples, errors=_masked_errors, dtypes=dtypes.ALL, host="waits")
def masked_select(input: Operand, mask: Operand) -> Any:
    """The elements where the mask is true, in row-major order.

    Shapes: input and mask broadcast; the result is a vector.
    Host:   waits for how many there are.
    Raises: DtypeError if the mask is not bool.
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
    source, chosen = broadcast_tensors(input, mask)
    return reshape(source, (-1,)).index_select(0, nonzero(reshape(chosen, (-1,))).select(1, 0))
