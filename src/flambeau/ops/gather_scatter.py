"""gather, scatter, scatter_reduce, take, put and masked_scatter, with one index per element; and writes to a part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from math import prod
from typing import Any

from .. import dtypes
from .. import strides as st
from ..dtypes import converted, dtype, int64
from ..errors import (
    DtypeError,
    IndexCountError,
    IndexRangeError,
    ModeError,
    NotSupportedError,
    ShapeError,
    ValueRangeError,
    shown,
)
from ..host import np
from ..kernel import Kernel, Param, Pointer, Strided
from .arithmetic import remainder
from .compaction import few_replaced, fits_block, is_recorded
from .copies import C_TYPES_BY_SIZE, fill_kernel
from .indexing import INDEX_TYPES, check_source, copied_input, nonzero, row_shape
from .indexing_kernels import (
    JOINS,
    accumulate_rows,
    are_few,
    check_index,
    copy_if_same,
    indexing_kernel,
    scalars,
    target_offsets,
    write_few,
    write_rows,
)
from .operator import REGISTRY, Array, Call, ErrorSample, Operand, Sample, Value, composite, operator, passed_as
from .pointwise import PYTHON, grid_over
from .samples import NUMERIC_TYPES, index_array
from .scans import running_sum
from .slicing import Dense, embed, sized
from .views import as_if_read, broadcast_tensors, expand, reshape

INDEX_HINT = "add dimensions with unsqueeze(); index_select takes a vector of indexes for whole rows"


def _checked(name: str, input: Operand, dim: int, index: Operand) -> int:
    """Return the dimension, counted from the front.  Raises if the index does not fit the input.

    A tensor without dimensions counts as a vector of one element.
    """
    at = st.wrap_dim(dim, len(input.shape), name)
    if index.dtype not in INDEX_TYPES:
        raise DtypeError(
            f"the index must be of an integer type, got {index.dtype.name}", hint="convert with .long()", operator=name
        )
    if index.numel() == 0:
        return at
    have, room = index.shape or (1,), input.shape or (1,)
    if len(have) != len(room):
        raise ShapeError(
            f"the index tensor must have the same number of dimensions as the input: {list(index.shape)} and "
            f"{list(input.shape)}",
            hint=INDEX_HINT,
            operator=name,
        )
    if any(size > limit for d, (size, limit) in enumerate(zip(have, room)) if d != at):
        raise ShapeError(
            f"index of shape {list(index.shape)} is larger than the input, {list(input.shape)}, apart from "
            f"dimension {at}",
            hint=f"shorten the index: it may be larger only in dimension {at}",
            operator=name,
        )
    return at


@cache
def _gather_kernel(dtype: dtype) -> Kernel:
    bits = C_TYPES_BY_SIZE[dtype.itemsize]
    arguments = (
        f"{bits}* out, const long long* index, const {bits}* input, Layout<1> index_layout, Layout<1> layout, "
        "long long numel, long long dim, long long axis"
    )
    params: list[Param] = [
        Pointer("out", dtype, "w", ("numel",)), Pointer("index", int64, "r", "index_layout"),
        Pointer("input", dtype, "r", "layout"),
        Strided("index_layout", ("index",)), Strided("layout", ("input",)), *scalars("numel", "dim", "axis"),
    ]  # fmt: skip

    def reference(out: Any, index: Any, input: Any, numel: int, dim: int, axis: int) -> None:
        places = list(np.indices(index.shape, sparse=True))
        places[axis] = check_index(index, 0, input.shape[axis], dim)
        out[...] = input[tuple(places)].reshape(-1)

    body = "gather_elements(out, index, input, index_layout, layout, numel, (int)axis)"
    return indexing_kernel(f"gather_{8 * dtype.itemsize}", arguments, body, params, reference)


def _gather_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), 0, index_array(2, 4)))
    yield Sample((Array((3, 4)), 1, index_array(3, 6)))
    yield Sample((Array((4, 3), layout="transposed"), -1, index_array(2, 2)))
    yield Sample((Array((3, 4)), 0, index_array(0, 4)))
    yield Sample((Array((3,)), 0, index_array(5)))


def _gather_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3, 4)), 0, index_array(2)), ShapeError, r"same number of dimensions")
    yield ErrorSample((Array((3, 4)), 0, index_array(2, 5)), ShapeError, r"larger than the input")
    yield ErrorSample((Array((3, 4)), 0, Array((2, 4), dtype="float32")), DtypeError, r"integer type, got float32")


@operator(samples=_gather_samples, errors=_gather_errors, dtypes=dtypes.ALL)
def gather(call: Call, input: Operand, dim: int, index: Operand, *, sparse_grad: bool = False) -> Any:
    """Read the input at the positions `index` along `dim`: for dim 0 of a matrix, result[i][j] = input[index[i][j]][j].

    sparse_grad: has no effect; gradients are dense.
    Shapes: the result has the shape of the index, which is at most that of the input except along `dim`.
    Host:   returns at once; an index out of range raises on the CPU and triggers a device-side assert on a GPU.
    Raises: IndexRangeError if `dim` or an index is out of range, DtypeError unless the index is of an integer type,
            ShapeError if its shape does not fit.
    Example:
        >>> x = torch.tensor([[1, 2], [3, 4]])
        >>> torch.gather(x, 1, torch.tensor([[0, 0], [1, 0]]))
        tensor([[1, 1],
                [4, 3]])
    """
    at = _checked("gather", input, dim, index)
    out = call.output(index.shape, input.dtype)
    numel = index.numel()
    if numel:
        if not input.numel():
            raise IndexRangeError(
                f"an index of shape {list(index.shape)} is out of bounds for dimension {at} with size 0",
                hint="pass an empty index: that dimension has no elements",
                operator="gather",
            )
        places = index if index.dtype is int64 else call.contiguous(index, int64)
        index_layout, layout, axis = _merged_layouts(places, input, at)
        values = out, places, input, index_layout, layout, numel, at, axis
        call.launch(_gather_kernel(input.dtype), grid_over(numel), *values)
    return out


def _merged_layouts(index: Any, input: Any, dim: int) -> tuple[Any, Any, int]:
    """Return (layout of the index, of the input, `dim` in both); dimensions before and after `dim` are merged."""
    if len(input.shape) < 2:
        of_index, of_input = [(operand.shape or (1,), [operand.strides or (1,)]) for operand in (index, input)]
        return of_index, of_input, 0
    before, steps = st.collapse(index.shape[:dim], [index.strides[:dim], input.strides[:dim]])
    behind, rests = st.collapse(index.shape[dim + 1 :], [index.strides[dim + 1 :], input.strides[dim + 1 :]])
    rows = [(*steps[i], operand.strides[dim], *rests[i]) for i, operand in enumerate((index, input))]
    sizes = [(*before, operand.shape[dim], *behind) for operand in (index, input)]
    return (sizes[0], [rows[0]]), (sizes[1], [rows[1]]), len(before)


@gather.derivative
def _(grad: Any, dim: int, index: Any, input_shape: Any) -> Any:
    return grad.new_zeros(input_shape).scatter_add(dim, index, grad), None


def _scatter_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), 0, index_array(2, 4), Array((2, 4), seed=1)))
    yield Sample((Array((4, 3), layout="transposed"), 1, index_array(2, 3, high=3, seed=0), Array((3, 3), seed=1)))
    yield Sample((Array((3,)), 0, index_array(2, high=3, seed=0), Array((2,), seed=1)))
    yield Sample((Array((3, 4)), 1, index_array(3, 2), 1))
    yield Sample(_many())


def _many() -> tuple[Any, ...]:
    """Return sample arguments of a scatter with too many indexes for `write_few`."""
    return Array((8,), grad=False), 0, index_array(600, high=7), Array((600,), seed=1, grad=False)


def _add_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), 0, index_array(2, 4), Array((2, 4), seed=1)))
    yield Sample((Array((4, 3), layout="transposed"), 1, index_array(2, 3), Array((3, 3), seed=1)))
    yield Sample((Array((3,)), 0, index_array(5), Array((5,), seed=1)))
    yield Sample(_many())


def _scatter_errors() -> Iterator[ErrorSample]:
    yield ErrorSample(
        (Array((3, 4)), 0, index_array(2, 4), Array((1, 4))), ShapeError, r"source of shape \[1, 4\] .* \[2, 4\]"
    )
    yield ErrorSample((Array((3, 4)), 0, index_array(2), Array((2,))), ShapeError, r"same number of dimensions")


def _written(
    call: Call, name: str, input: Any, dim: int, index: Any, src: Any, how: str | None, includes: bool = True
) -> Any:
    """Return a contiguous copy of the input, with `src` written to or combined with the elements that the index names.

    how: a key of JOINS of indexing_kernels, None to write.
    """
    at = _checked(name, input, dim, index)
    _check_source(name, input, index, src)
    if not index.numel():
        return copied_input(call, input)
    shape, walk = input.shape or (1,), index.shape or (1,)
    if are_few(call, walk, at):
        named = index if index.dtype is int64 else call.contiguous(index, int64)
        out = copied_input(call, input)
        write_few(call, out, named, src, at, walk, how=how, includes=includes)
        return out
    ready = call.contiguous(index, int64)
    places = target_offsets(call, walk, st.contiguous(shape), index=ready, dim=at, limit=shape[at])
    out = copied_input(call, input)
    rows = (1, out.numel(), 1)
    if how is not None:
        accumulate_rows(call, out, places, src, rows, walk, how=how, includes=includes)
    else:
        write_rows(call, out, places, src, rows, walk, unique=not hasattr(src, "strides"))
    return out


def _check_source(name: str, input: Any, index: Any, src: Any) -> None:
    if not hasattr(src, "strides"):
        return
    if src.dtype is not input.dtype:
        raise DtypeError(
            f"the input is {input.dtype.name}, but the source is {src.dtype.name}",
            hint=f"convert it with .to(torch.{input.dtype.name})",
            operator=name,
        )
    have, room = index.shape or (1,), src.shape or (1,)
    if index.numel() and (len(have) != len(room) or any(size > limit for size, limit in zip(have, room))):
        raise ShapeError(
            f"a source of shape {list(src.shape)} does not cover the index of shape {list(index.shape)}",
            hint="no size of the source may be smaller than the index's: src.expand_as(index) repeats sizes of 1",
            operator=name,
        )


def _padded(part: Any, shape: Sequence[int] | None) -> Any:
    """Return the gradient of a source, 0 for elements beyond the index; None for a number."""
    if shape is None or tuple(part.shape) == tuple(shape):
        return part if shape is not None else None
    if not shape:
        return part.reshape(())
    return embed(part, tuple(shape), tuple(part.shape), st.contiguous(shape), 0)


def _check_reduce(reduce: str) -> None:
    if reduce not in ("add", "multiply"):
        raise ModeError(
            f"reduce must be 'add' or 'multiply', got {shown(reduce)}",
            hint="use one of these; scatter_reduce() has more reductions",
            operator="scatter",
        )


def _filled(call: Call, shape: Sequence[int], dtype: dtype, value: Any) -> Any:
    """Return scratch memory of this shape, filled with a number."""
    scratch = call.scratch(shape, dtype)
    if scratch.numel():
        number = passed_as(value, partial(converted, call.called, dtype), PYTHON[dtype.category])
        call.launch(fill_kernel(dtype), grid_over(scratch.numel()), scratch, number, scratch.numel())
    return scratch


@operator(
    samples=_scatter_samples, errors=_scatter_errors, dtypes=dtypes.ALL, inplace=True, other_names={"value": "src"}
)
def scatter(call: Call, input: Operand, dim: int, index: Operand, src: Value, *, reduce: Any = None) -> Any:
    """Return a copy of the input with `src` written along `dim`: for dim 0, copy[index[i][j]][j] = src[i][j].

    src: a tensor or a number.
    reduce: None, or "add" or "multiply" to combine with the input; "multiply" has no derivative.
    If several writes go to one element, the last in row-major order counts; the gradient assumes no such conflict.
    Shapes: the index is at most as large as the source, and as the input except along `dim`.
    Host:   returns at once; an index out of range raises on the CPU and triggers a device-side assert on a GPU.
    Raises: IndexRangeError if `dim` or an index is out of range, DtypeError unless the index is of an integer type and
            the source of the input's type, ShapeError if the source does not cover the index, ModeError for any
            other reduce.
    Example:
        >>> index = torch.tensor([[0], [2]])
        >>> torch.scatter(torch.zeros(2, 3), 1, index, 1.0)
        tensor([[1., 0., 0.],
                [0., 0., 1.]])
    """
    if reduce is not None:
        _check_reduce(reduce)
        source = src if hasattr(src, "strides") else _filled(call, index.shape, input.dtype, src)
        return _written(call, "scatter", input, dim, index, source, "sum" if reduce == "add" else "prod")
    return _written(call, "scatter", input, dim, index, src, None)


@scatter.derivative
def _(grad: Any, dim: int, index: Any, src_shape: Any, reduce: Any, needs: Any) -> Any:
    if reduce == "multiply":
        raise NotSupportedError(
            "reduce='multiply' has no derivative", hint="use scatter_reduce(..., reduce='prod')", operator="scatter"
        )
    whole = None if not needs[0] else grad.scatter(dim, index, 0) if reduce is None else grad
    return whole, None, _padded(grad.gather(dim, index), src_shape) if needs[2] else None


@operator(samples=_add_samples, errors=_scatter_errors, dtypes=dtypes.ALL, inplace=True)
def scatter_add(call: Call, input: Operand, dim: int, index: Operand, src: Operand) -> Any:
    """Return a copy of the input with `src` added along `dim`: for dim 0, copy[index[i][j]][j] += src[i][j].

    Additions to one element are made in row-major order of the index.
    Shapes: the index is at most as large as the source, and as the input except along `dim`.
    Host:   returns at once; an index out of range raises on the CPU and triggers a device-side assert on a GPU.
    Raises: IndexRangeError if `dim` or an index is out of range, DtypeError unless the index is of an integer type and
            the source of the input's type, ShapeError if the source does not cover the index.
    Example:
        >>> torch.scatter_add(torch.zeros(3), 0, torch.tensor([0, 2, 2]), torch.tensor([1.0, 5.0, 6.0]))
        tensor([ 1.,  0., 11.])
    """
    return _written(call, "scatter_add", input, dim, index, src, "sum")


@scatter_add.derivative
def _(grad: Any, dim: int, index: Any, src_shape: Any, needs: Any) -> Any:
    return grad, None, _padded(grad.gather(dim, index), src_shape) if needs[2] else None


def _reduce_samples() -> Iterator[Sample]:
    index = index_array(2, 4)
    yield Sample((Array((3, 4)), 0, index, Array((2, 4), seed=1), "sum"))
    yield Sample((Array((3, 4)), 0, index, Array((2, 4), seed=1), "mean"), {"include_self": False})
    yield Sample((Array((3, 4)), 0, index, Array((2, 4), low=0.5, high=2, seed=1), "prod"))
    yield Sample((Array((3, 4)), 0, index, Array((3, 4), low=0.5, high=2.2, seed=2), "amax"), {"include_self": False})
    yield Sample((Array((4, 3), layout="transposed"), 1, index_array(2, 3), Array((2, 3), -1.7, 2.1, seed=1), "amin"))
    yield Sample((Array((3,)), 0, index_array(0), Array((0,)), "mean"))
    for reduce in ("mean", "amax", "amin"):
        yield Sample((*_many(), reduce))
    yield Sample((*_many()[:3], Array((600,), low=0.98, high=1.02, grad=False), "prod"))


def _reduce_errors() -> Iterator[ErrorSample]:
    wrong = (Array((3, 4)), 0, index_array(2, 4), Array((2, 4)), "max")
    yield ErrorSample(wrong, ModeError, "one of sum, prod, mean, amax, amin, got 'max'")
    wrong = (Array((3,), dtype="bool"), 0, index_array(3), Array((3,), dtype="bool"), "mean")
    yield ErrorSample(wrong, DtypeError, "bool tensors have no mean")
    for sample in _scatter_errors():
        yield ErrorSample((*sample.args, "sum"), sample.error, sample.match)


def check_join(name: str, reduce: Any, allowed: Sequence[str]) -> None:
    """Raise ModeError unless `reduce` is allowed."""
    if reduce not in allowed:
        raise ModeError(
            f"reduce must be one of {', '.join(allowed)}, got {shown(reduce)}",
            hint="pass one of these names",
            operator=name,
        )


@operator(samples=_reduce_samples, errors=_reduce_errors, dtypes=NUMERIC_TYPES, inplace=True)
def scatter_reduce(
    call: Call, input: Operand, dim: int, index: Operand, src: Operand, reduce: str, *, include_self: bool = True
) -> Any:
    """Return a copy of the input with `src` reduced along `dim`: for dim 0, src[i][j] into copy[index[i][j]][j].

    Reductions into one element are made in row-major order of the index.
    reduce: "sum", "prod", "mean", "amax" or "amin"; the mean of integers is rounded down.
    include_self: whether the reduction includes the input's element.  Elements that no index names are unchanged.
    Shapes: the index is at most as large as the source, and as the input except along `dim`.
    Host:   returns at once; an index out of range raises on the CPU and triggers a device-side assert on a GPU.
    Raises: IndexRangeError if `dim` or an index is out of range, DtypeError unless the index is of an integer type and
            the source of the input's type, or for a mean of bool, ShapeError if the source does not cover the index,
            ModeError for any other reduce.
    Example:
        >>> index = torch.tensor([0, 2, 2])
        >>> torch.scatter_reduce(torch.ones(3), 0, index, torch.tensor([2.0, 3.0, 5.0]), "prod")
        tensor([ 2.,  1., 15.])
    """
    check_join("scatter_reduce", reduce, tuple(JOINS))
    if reduce == "mean" and input.dtype is dtypes.bool_:
        raise DtypeError("bool tensors have no mean", hint="convert with .float()", operator="scatter_reduce")
    return _written(call, "scatter_reduce", input, dim, index, src, reduce, include_self)


@scatter_reduce.derivative
def _(
    grad: Any, out: Any, input: Any, dim: int, index: Any, src: Any, src_shape: Any, reduce: str, include_self: bool,
    needs: Any,
) -> Any:  # fmt: skip
    if 0 in index.shape:
        return grad, None, src.new_zeros(src_shape) if needs[2] else None
    part = _first(src, index.shape)
    whole, share = join_gradients(grad, out, input, dim, index, part, reduce, include_self)
    whole = whole if include_self else whole.scatter(dim, index, 0)
    return whole if needs[0] else None, None, _padded(share, src_shape) if needs[2] else None


def _first(source: Any, shape: Sequence[int]) -> Any:
    """Return the first elements of a source along each dimension: those that an index of `shape` names."""
    if len(source.shape) != len(shape):  # of a vector and a tensor without dimensions
        return source.reshape(-1).narrow(0, 0, 1).reshape(shape)
    for dim, size in enumerate(shape):
        source = source.narrow(dim, 0, size)
    return source


def join_gradients(
    grad: Any, out: Any, input: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool
) -> tuple[Any, Any]:
    """Return the gradients of the source and, as if the reduction included every element, of the input (first)."""
    if reduce == "sum":
        return grad, grad.gather(dim, index)
    if reduce == "mean":
        count = input.new_ones(input.shape) if include_self else input.new_zeros(input.shape)
        count = count.scatter_add(dim, index, src.new_ones(src.shape))
        count = count.masked_fill(count == 0, 1)
        return grad / count, (grad / count).gather(dim, index)
    if reduce == "prod":
        return _product_gradients(grad, out, input, dim, index, src, include_self)
    is_self, is_source = input == out, src == out.gather(dim, index)
    ties = (is_self.to(grad.dtype) if include_self else grad.new_zeros(grad.shape)).scatter_add(
        dim, index, is_source.to(grad.dtype)
    )
    shared = grad / ties.masked_fill(ties == 0, 1)
    return is_self * (shared if include_self else grad), is_source * shared.gather(dim, index)


def _product_gradients(
    grad: Any, out: Any, input: Any, dim: int, index: Any, src: Any, include_self: bool
) -> tuple[Any, Any]:
    filled = input.masked_fill(input == 0, 1)
    whole = grad * filled.scatter_reduce(dim, index, src, "prod", include_self=include_self) / filled
    is_zero = src == 0
    zeros = input.new_zeros(input.shape).scatter_add(dim, index, is_zero.to(input.dtype)).gather(dim, index)
    is_only = is_zero & (zeros == 1)
    others = input.scatter_reduce(dim, index, src.masked_fill(is_only, 1), "prod", include_self=include_self)
    rest = (grad * out).gather(dim, index) / src.masked_fill(is_zero, 1)
    return whole, REGISTRY["where"](is_only, (grad * others).gather(dim, index), rest)


def _index_reduce_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), 0, index_array(5), Array((5, 4), low=0.5, high=2, seed=1), "prod"))
    yield Sample((Array((3, 4)), 1, index_array(2), Array((3, 2), seed=1), "mean"), {"include_self": False})
    yield Sample((Array((4, 3), layout="transposed"), 0, index_array(3), Array((3, 3), -1.7, 2.1, seed=1), "amax"))


def _index_reduce_errors() -> Iterator[ErrorSample]:
    wrong = (Array((3, 4)), 0, index_array(2), Array((2, 4)), "sum")
    yield ErrorSample(wrong, ModeError, "one of prod, mean, amax, amin, got 'sum'")
    wrong = (Array((3, 4)), 0, index_array(2, 2), Array((2, 4)), "mean")
    yield ErrorSample(wrong, ShapeError, r"vector, got shape \[2, 2\]")
    wrong = (Array((3, 4)), 0, index_array(2), Array((3, 4)), "mean")
    yield ErrorSample(wrong, ShapeError, r"source .* \[2, 4\], got \[3, 4\]")


@composite(samples=_index_reduce_samples, errors=_index_reduce_errors, dtypes=NUMERIC_TYPES, inplace=True)
def index_reduce(
    input: Operand, dim: int, index: Operand, source: Operand, reduce: str, *, include_self: bool = True
) -> Any:
    """Return a copy of the input with slices of `source` combined by `reduce` at the given indexes of `dim`.

    reduce: "prod", "mean", "amax" or "amin".  include_self: whether the reduction includes the input's own slice.
    Shapes: the source has the shape of the input, except that its size along `dim` is the number of indexes.
    Host:   returns at once; an index out of range raises on the CPU and triggers a device-side assert on a GPU.
    Raises: IndexRangeError if `dim` or an index is out of range, DtypeError unless the index is of an integer type and
            the source of the input's, IndexCountError if their shapes do not fit, ModeError for any other reduce.
    Example:
        >>> torch.index_reduce(torch.ones(3), 0, torch.tensor([1, 1]), torch.tensor([2.0, 3.0]), "prod")
        tensor([1., 6., 1.])
    """
    check_join("index_reduce", reduce, tuple(how for how in JOINS if how != "sum"))
    _, at = row_shape("index_reduce", input, dim, index)
    shape = tuple(input.shape)
    check_source("index_reduce", input, (*shape[:at], index.numel(), *shape[at + 1 :]) if shape else (), source)
    if not shape:
        return scatter_reduce(input, 0, reshape(index, ()), source, reduce, include_self=include_self)
    column = reshape(index, (-1,) + (1,) * (len(shape) - 1 - at))
    return scatter_reduce(input, at, expand(column, source.shape), source, reduce, include_self=include_self)


# one index per element of the flattened input


def _take_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), index_array(2, 2, low=-4, high=9)))
    yield Sample((Array((4, 3), layout="transposed"), index_array(5, high=9)))
    yield Sample((Array(()), index_array(2, high=0)))
    yield Sample((Array((3,)), index_array(0)))


def _take_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), Array((2,), dtype="float32")), DtypeError, "integer type, got float32")
    yield ErrorSample((Array((0,)), index_array(2)), IndexRangeError, "no elements to select")


@composite(samples=_take_samples, errors=_take_errors, dtypes=dtypes.ALL)
def take(input: Operand, index: Operand) -> Any:
    """Return the elements of the flattened input at the given indexes; negative ones count from the end.

    Shapes: the result has the shape of the index.
    Host:   returns at once; an index out of range raises on the CPU and triggers a device-side assert on a GPU.
    Raises: IndexRangeError if an index is out of range, DtypeError unless the index is of an integer type.
    Example:
        >>> torch.take(torch.tensor([[4, 3], [5, 6]]), torch.tensor([0, -1]))
        tensor([4, 6])
    """
    flat = reshape(input, (-1,)).index_select(0, reshape(index, (-1,)), wrap=True)
    return reshape(flat, tuple(index.shape))


def _put_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), index_array(2, 2, low=-4, high=9), Array((4,), seed=1)))
    yield Sample((Array((4, 3), layout="transposed"), index_array(5, high=9), Array((5,), seed=1), True))
    yield Sample((Array((3,)), index_array(0), Array((0,))))


def _put_errors() -> Iterator[ErrorSample]:
    wrong = (Array((3,)), index_array(2), Array((3,)))
    yield ErrorSample(wrong, ShapeError, r"3 elements, and the index 2")
    wrong = (Array((3,)), index_array(2), Array((2,), dtype="int64"))
    yield ErrorSample(wrong, DtypeError, "the input is float32, but the source is int64")


@composite(samples=_put_samples, errors=_put_errors, dtypes=dtypes.ALL, inplace=True, takes_out=False)
def put(input: Operand, index: Operand, source: Operand, accumulate: bool = False) -> Any:
    """Return a copy of the input with `source` written at the given indexes of its flattened elements.

    accumulate: whether to add the source instead of writing it.
    If several indexes name one element, the last write counts, and additions are made in order.
    Shapes: the source has as many elements as the index; the result has the input's shape.
    Host:   returns at once; an index out of range raises on the CPU and triggers a device-side assert on a GPU.
    Raises: IndexRangeError if an index is out of range, DtypeError unless the index is of an integer type and the
            source of the input's type, IndexCountError if they differ in the number of elements.
    Example:
        >>> torch.put(torch.zeros(2, 2), torch.tensor([1, -1]), torch.tensor([5.0, 6.0]))
        tensor([[0., 5.],
                [0., 6.]])
    """
    if source.numel() != index.numel():
        raise IndexCountError(
            f"the source has {source.numel()} elements, and the index {index.numel()}",
            hint="pass one element for each index",
            operator="put",
        )
    flat, places, values = reshape(input, (-1,)), reshape(index, (-1,)), reshape(source, (-1,))
    written = flat.index_add if accumulate else flat.index_copy
    return reshape(written(0, places, values, wrap=True), tuple(input.shape))


FILL_CHOSEN = """
for (long long i = first_index(); i < numel; i += index_step()) {
    long long at[3];
    offsets(layout, i, at);
    if (mask[at[2]]) device_assert(sums[i] <= count);
    out[at[0]] = mask[at[2]] ? source[sums[i] - 1] : input[at[1]];
}
"""


@cache
def _chosen_kernel(dtype: dtype) -> Kernel:
    entry, t = f"fill_chosen_{dtype.itemsize}", C_TYPES_BY_SIZE[dtype.itemsize]
    arguments = (
        f"{t}* out, const {t}* input, const bool* mask, const long long* sums, const {t}* source, "
        "const __grid_constant__ Layout<3> layout, long long numel, long long count"
    )

    def reference(out: Any, input: Any, mask: Any, sums: Any, source: Any, numel: int, count: int) -> None:
        places = check_index(np.where(mask, sums.reshape(mask.shape) - 1, 0), 0, count, 0)
        out[...] = np.where(mask, source[places], input)

    params: list[Param] = [
        Pointer("out", dtype, "w", "layout"), Pointer("input", dtype, "r", "layout"),
        Pointer("mask", dtypes.bool_, "r", "layout"), Pointer("sums", int64, "r", ("numel",)),
        Pointer("source", dtype, "r", ("count",)), Strided("layout", ("out", "input", "mask")),
        *scalars("numel", "count"),
    ]  # fmt: skip
    return indexing_kernel(entry, arguments, FILL_CHOSEN, params, reference)


def _chosen_samples() -> Iterator[Sample]:
    sums = Array((12,), low=1, high=12, dtype="int64", grad=False)
    mask = Array((3, 4), low=0, high=2, dtype="bool", seed=2)
    yield Sample((Array((3, 4)), mask, sums, Array((12,), seed=1)))
    yield Sample((Array((4, 3), layout="transposed"), mask._replace(shape=(4, 3)), sums, Array((12,), seed=1)))


@operator(samples=_chosen_samples, dtypes=dtypes.ALL, method=False, function=False)
def fill_chosen(call: Call, input: Operand, mask: Operand, sums: Operand, source: Operand) -> Any:
    """Compute `masked_scatter` for operands of one shape.  sums: the running sum of the flattened mask.

    Host: returns at once.
    """
    out = call.output(input.shape, input.dtype)
    if numel := out.numel():
        layout = st.collapse(input.shape, [out.strides, input.strides, mask.strides])
        operands = input, mask, call.contiguous(sums), call.contiguous(source)
        call.launch(_chosen_kernel(input.dtype), grid_over(numel), out, *operands, layout, numel, source.numel())
    return out


@fill_chosen.derivative
def _(grad: Any, mask: Any, sums: Any, source_shape: Any, needs: Any) -> Any:
    of_source = None
    if needs[3]:
        unchosen = REGISTRY["logical_not"](reshape(mask, (-1,)))
        flowed = reshape(grad, (-1,)).masked_fill(unchosen, 0)
        of_source = grad.new_zeros(source_shape).index_add(0, (sums - 1).masked_fill(unchosen, 0), flowed)
    return grad.masked_fill(mask, 0) if needs[0] else None, None, None, of_source


def _masked_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), low=0, high=2, dtype="bool", seed=2), Array((12,), seed=1)))
    yield Sample((Array((4, 3), layout="transposed"), Array((3,), low=0, high=1, dtype="bool"), Array((4, 3), seed=1)))


def _masked_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), Array((3,)), Array((3,))), DtypeError, "the mask must be bool, got float32")
    wrong = (Array((3,)), Array((3,), dtype="bool"), Array((3,), dtype="int64"))
    yield ErrorSample(wrong, DtypeError, "the input is float32, but the source is int64")


@composite(samples=_masked_samples, errors=_masked_errors, dtypes=dtypes.ALL, inplace=True, takes_out=False)
def masked_scatter(input: Operand, mask: Operand, source: Operand) -> Any:
    """Return a copy of the input with the elements of `source`, in row-major order, where the mask is true.

    Shapes: input and mask broadcast; the source has at least as many elements as the mask has true ones.
    Host:   returns at once; a source that is too short raises on the CPU and triggers a device-side assert on a GPU.
    Raises: DtypeError unless the mask is bool and the source of the input's type, ShapeError if the mask does not
            broadcast, IndexRangeError if the source has too few elements.
    Example:
        >>> x = torch.tensor([1, 2, 3])
        >>> torch.masked_scatter(x, x > 1, torch.tensor([8, 9]))
        tensor([1, 8, 9])
    """
    if mask.dtype is not dtypes.bool_:
        raise DtypeError(
            f"the mask must be bool, got {mask.dtype.name}",
            hint="compare first, for example x > 0",
            operator="masked_scatter",
        )
    if source.dtype is not input.dtype:
        raise DtypeError(
            f"the input is {input.dtype.name}, but the source is {source.dtype.name}",
            hint=f"convert it with .to(torch.{input.dtype.name})",
            operator="masked_scatter",
        )
    shape = st.broadcast([input.shape, mask.shape], "masked_scatter")
    if fits_block(input, shape) and source.numel() and not is_recorded(input, source):
        return few_replaced(input, mask, source)
    target, chosen = broadcast_tensors(input, mask)
    if not source.numel():
        return as_if_read(target.clone(), source)
    return fill_chosen(target, chosen, running_sum(reshape(chosen, (-1,)), 0), reshape(source, (-1,)))


# nonzero elements


def _argwhere_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4), low=0, high=2),))
    yield Sample((Array((0, 3)),))


@composite(samples=_argwhere_samples, dtypes=dtypes.ALL, host="waits", differentiable=False, takes_out=False)
def argwhere(input: Operand) -> Any:
    """Return the indexes of all nonzero elements, in row-major order: the same as `nonzero`.

    Shapes: [count, number of the input's dimensions], int64.
    Host:   waits, because the size of the result depends on the values.
    Raises: ArgumentTypeError if the input is not a tensor.
    Example:
        >>> torch.argwhere(torch.tensor([[0, 3], [4, 0]]))
        tensor([[0, 1],
                [1, 0]])
    """
    return nonzero(input)


FIRST_PLACES = """
for (long long i = first_index(); i < numel || i < count; i += index_step()) {
    if (i < count && i >= sums[numel - 1])
        for (int d = 0; d < ndim; ++d) out[i * ndim + d] = filled;
    if (i >= numel || !mask[i] || sums[i] > count) continue;
    long long rest = i;
    for (int d = ndim - 1; d >= 0; --d) rest = divide(rest, sizes[d], out[(sums[i] - 1) * ndim + d]);
}
"""


@cache
def _first_places_kernel(ndim: int) -> Kernel:
    sizes = [f"size{dim}" for dim in range(ndim)]
    names = "numel", "count", "filled", *sizes
    params: list[Param] = [
        Pointer("out", int64, "w", ("count", ndim)), Pointer("mask", dtypes.bool_, "r", ("numel",)),
        Pointer("sums", int64, "r", ("numel",)), *scalars(*names),
    ]  # fmt: skip

    def reference(out: Any, mask: Any, sums: Any, numel: int, count: int, filled: int, *sizes: int) -> None:
        places = np.flatnonzero(mask)[:count]
        out[...] = filled
        out[: len(places)] = np.stack(np.unravel_index(places, sizes), 1)

    pointers = "long long* out, const bool* mask, const long long* sums, "
    arguments = pointers + ", ".join(f"long long {name}" for name in names)
    body = f"const long long sizes[] = {{{', '.join(sizes)}}};\nconstexpr int ndim = {ndim};{FIRST_PLACES}"
    return indexing_kernel(f"first_places_{ndim}d", arguments, body, params, reference)


@operator(samples=tuple, dtypes=(dtypes.bool_,), method=False, function=False, differentiable=False)
def first_places(call: Call, mask: Operand, sums: Operand, size: int, filled: int) -> Any:
    """Return the indexes of the first `size` true elements, given the running sums; `filled` where there are fewer.

    Host: returns at once.
    """
    shape, numel = tuple(mask.shape), mask.numel()
    out = call.output((size, len(shape)), int64)
    if size:
        operands = call.contiguous(mask), call.contiguous(sums)
        grid = grid_over(max(numel, size), 1)
        call.launch(_first_places_kernel(len(shape)), grid, out, *operands, numel, size, filled, *shape)
    return out


def _static_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4), low=0, high=2),), {"size": 5})
    yield Sample((Array((4, 3), low=0, high=2, layout="transposed"),), {"size": 20, "fill_value": 7})
    yield Sample((Array((0, 3)),), {"size": 2})


def _static_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)),), ValueRangeError, "size must be at least 0, got -1", {"size": -1})


@composite(samples=_static_samples, errors=_static_errors, dtypes=dtypes.ALL, differentiable=False)
def nonzero_static(input: Operand, *, size: int, fill_value: int = -1) -> Any:
    """Return the indexes of the first `size` nonzero elements, in row-major order.

    If there are fewer, rows of fill_value follow.

    Shapes: [size, number of the input's dimensions], int64.
    Host:   returns at once.
    Raises: ValueRangeError for a negative size.
    Example:
        >>> torch.nonzero_static(torch.tensor([[0, 3], [4, 0]]), size=3)
        tensor([[ 0,  1],
                [ 1,  0],
                [-1, -1]])
    """
    if size < 0:
        raise ValueRangeError(f"size must be at least 0, got {size}", hint="pass 0 or more", operator="nonzero_static")
    flat: Any = reshape(input, (-1,)).to(dtypes.bool_)
    shape, numel = tuple(input.shape), flat.shape[0]
    if not shape or not numel:
        return flat.new_full((size, len(shape)), fill_value, dtype=int64)
    return first_places(reshape(flat, shape), running_sum(flat, 0), size, fill_value)


# writes to a part of a tensor


def _part_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 3)), Array((2, 2), seed=1), (2, 2), (3, 1), 1))
    yield Sample((Array((4, 3), layout="transposed"), Array((3,), seed=1), (3,), (4,), 0))


@operator(samples=_part_samples, dtypes=dtypes.ALL, method=False, function=False)
def write_part(call: Call, input: Operand, src: Operand, size: Any, strides: Any, offset: int) -> Any:
    """Return a contiguous copy of the input with `src` in a part (size, strides, offset) without overlap."""
    out = copied_input(call, input)
    if src.numel():
        call.assign(call.part(out, size, strides, offset), copy_if_same(call, src, out))
    return out


@write_part.derivative
def _(grad: Any, src_shape: Any, size: Any, strides: Any, offset: int, needs: Any) -> Any:
    whole = grad.contiguous()
    rest = write_part(whole, whole.new_zeros(src_shape), size, strides, offset) if needs[0] else None
    return rest, whole.as_strided(size, strides, whole.storage_offset() + offset) if needs[1] else None


def _write(name: str, part: Any, input: Any, src: Any, *attributes: Any) -> Any:
    """Return the input with `src` in a part, which the view `part` describes."""
    dense = Dense(tuple(input.shape), st.contiguous(input.shape))
    size, strides, offset = part.body(dense, *attributes)
    if tuple(src.shape) != tuple(size):
        raise ShapeError(
            f"the source has shape {list(src.shape)}, the part of the input {list(size)}",
            hint="expand or reshape the source",
            operator=name,
        )
    if src.dtype is not input.dtype:
        src = src.to(input.dtype)
    return write_part(input, src, tuple(size), tuple(strides), offset)


def _select_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3, 4)), Array((3,)), 0, 1), ShapeError, r"shape \[3\], the part of the input \[4\]")
    yield ErrorSample((Array((3, 4)), Array((4,)), 0, 3), IndexRangeError, "3")


def _select_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((4,), seed=1), 0, 1))
    yield Sample((Array((4, 3), layout="transposed"), Array((4,), seed=1), 1, -1))


@composite(samples=_select_samples, errors=_select_errors, dtypes=dtypes.ALL, takes_out=False)
def select_scatter(input: Operand, src: Operand, dim: int, index: int) -> Any:
    """Return a copy of the input in which `src` replaces the elements at one index of a dimension.

    Shapes: the source has the shape of `input.select(dim, index)`; the result has the input's.
    Host:   returns at once.
    Raises: IndexRangeError if `dim` or the index is out of range, ShapeError if the source has another shape.
    Example:
        >>> torch.select_scatter(torch.zeros(2, 2), torch.ones(2), 0, 1)
        tensor([[0., 0.],
                [1., 1.]])
    """
    return _write("select_scatter", REGISTRY["select"], input, src, dim, index)


def _slice_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((2, 4), seed=1), 0, 1))
    yield Sample((Array((4, 5), layout="transposed"), Array((4, 2), seed=1), 1, 0, -1, 2))


def _slice_errors() -> Iterator[ErrorSample]:
    wrong = (Array((3, 4)), Array((3, 4)), 0, 1)
    yield ErrorSample(wrong, ShapeError, r"shape \[3, 4\], the part of the input \[2, 4\]")


@composite(samples=_slice_samples, errors=_slice_errors, dtypes=dtypes.ALL)
def slice_scatter(
    input: Operand, src: Operand, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:
    """Return a copy of the input in which `src` replaces the slice start:end:step of a dimension.

    Shapes: the source has the shape of that slice; the result has the input's.
    Host:   returns at once.
    Raises: IndexRangeError if `dim` is out of range, ShapeError if the source has another shape,
            ArgumentError for a step below 1.
    Example:
        >>> torch.slice_scatter(torch.zeros(4), torch.ones(2), start=1, step=2)
        tensor([0., 1., 0., 1.])
    """
    return _write("slice_scatter", REGISTRY["slice"], input, src, dim, start, end, step)


def _diagonal_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3,), seed=1)))
    yield Sample((Array((4, 3), layout="transposed"), Array((2,), seed=1), 1))


def _diagonal_errors() -> Iterator[ErrorSample]:
    wrong = (Array((3, 4)), Array((4,)))
    yield ErrorSample(wrong, ShapeError, r"shape \[4\], the part of the input \[3\]")


@composite(samples=_diagonal_samples, errors=_diagonal_errors, dtypes=dtypes.ALL, takes_out=False)
def diagonal_scatter(input: Operand, src: Operand, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """Return a copy of the input with `src` written to the elements that `diagonal(offset, dim1, dim2)` selects.

    Shapes: the source has the shape of `input.diagonal(offset, dim1, dim2)`; the result has the input's.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range, ShapeError if both are the same, or the source has another
            shape than the diagonal.
    Example:
        >>> torch.diagonal_scatter(torch.zeros(2, 2), torch.ones(2))
        tensor([[1., 0.],
                [0., 1.]])
    """
    return _write("diagonal_scatter", REGISTRY["diagonal"], input, src, offset, dim1, dim2)


def _strided_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 3)), Array((2, 2), seed=1), (2, 2), (3, 1), 1))
    yield Sample((Array((6,)), Array((3,), seed=1), (3,), (2,)))


def _strided_errors() -> Iterator[ErrorSample]:
    wrong: tuple[Any, ...] = (Array((3, 4)), Array((4,)), (3,), (1,))
    yield ErrorSample(wrong, ShapeError, r"shape \[4\], .* \[3\]")
    wrong = (Array((3,)), Array((4,)), (4,), (1,))
    yield ErrorSample(wrong, ShapeError, "need 4 elements, the input has 3")
    wrong = (Array((3,)), Array((2, 2)), (2, 2), (1, 1))
    yield ErrorSample(wrong, ShapeError, "overlap")


@composite(samples=_strided_samples, errors=_strided_errors, dtypes=dtypes.ALL, takes_out=False)
def as_strided_scatter(input: Operand, src: Operand, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """Return a contiguous copy of the input with `src` written to the elements that `as_strided` would select in it.

    The selected elements must not overlap.  storage_offset: the position of the first one in the copy; None is 0.
    Shapes: the source has shape `size`; the result has the input's.
    Host:   returns at once.
    Raises: ShapeError if shapes differ, or the part exceeds the input or overlaps itself.
    Example:
        >>> torch.as_strided_scatter(torch.zeros(2, 2), torch.ones(2), (2,), (2,), 1)
        tensor([[0., 1.],
                [0., 1.]])
    """
    sizes, strides, offset = st.as_ints(size), st.as_ints(stride), storage_offset or 0
    needed = offset + st.extent(sizes, strides)
    if tuple(src.shape) != tuple(sizes) or needed > prod(input.shape) or st.overlaps_itself(sizes, strides):
        wrong = f"the source has shape {list(src.shape)}, and the part of the input to write has shape {list(sizes)}"
        if tuple(src.shape) == tuple(sizes):
            wrong = f"sizes {list(sizes)}, strides {list(strides)} and offset {offset} "
            wrong += "overlap" if needed <= prod(input.shape) else f"need {needed} elements, the input has "
            wrong += "" if needed <= prod(input.shape) else str(prod(input.shape))
        raise ShapeError(
            wrong, hint="the part must lie in the input, and must not overlap itself", operator="as_strided_scatter"
        )
    return write_part(input, src.to(input.dtype), tuple(sizes), tuple(strides), offset)


def _along_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3, 4)), Array((3, 4)), 0), DtypeError, "index must be of an integer type, got float32")
    yield ErrorSample(
        (Array((3, 4)), index_array(3, 4), 2), IndexRangeError, r"expected to be in range of \[-2, 1\], but got 2"
    )


def _along_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), index_array(1, 4), 0))
    yield Sample((Array((3, 4)), index_array(5)))


@composite(samples=_along_samples, errors=_along_errors, dtypes=dtypes.ALL)
def take_along_dim(input: Operand, indices: Operand, dim: int | None = None) -> Any:
    """Return the elements of the input at `indices` along `dim`; without dim, both are flattened.

    With `dim`, indices are taken modulo its size.
    Shapes: input and indices broadcast, except along `dim`; the result has the size of the indices there.
    Host:   returns at once; without `dim`, an index out of range raises on the CPU and triggers a device-side assert
            on a GPU.
    Raises: IndexRangeError if `dim`, or an index without `dim`, is out of range, DtypeError unless the indices have an
            integer type, ShapeError if the numbers of dimensions differ.
    Example:
        >>> x = torch.tensor([[30, 10, 20]])
        >>> torch.take_along_dim(x, x.argsort(), dim=1)
        tensor([[10, 20, 30]])
    """
    if dim is None:
        return gather(reshape(input, (-1,)), 0, reshape(indices, (-1,)))
    if len(input.shape) != len(indices.shape):
        raise ShapeError(
            f"input and indices should have the same number of dimensions, got shapes {list(input.shape)} and "
            f"{list(indices.shape)}",
            hint="add dimensions with unsqueeze()",
            operator="take_along_dim",
        )
    at, size = sized(input, dim, "take_along_dim")
    one = [*input.shape[:at], 1, *input.shape[at + 1 :]]
    shape = list(st.broadcast([one, [*indices.shape[:at], 1, *indices.shape[at + 1 :]]], "take_along_dim"))
    rest = shape[at + 1 :]
    source = expand(input, (*shape[:at], size, *rest))
    inside = remainder(indices, size) if size and indices.dtype in INDEX_TYPES else indices
    return gather(source, at, expand(inside, (*shape[:at], indices.shape[at], *rest)))
