"""gather, scatter, scatter_add and take_along_dim: one index per element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Any

from .. import dtypes
from .. import strides as st
from ..dtypes import dtype, int64
from ..errors import DtypeError, IndexRangeError, ModeError, NotSupportedError, ShapeError, shown
from ..host import np
from ..kernel import Kernel, Param, Pointer, Strided
from ..scalars import converted
from .arithmetic import remainder
from .copies import C_TYPES_BY_SIZE, fill_kernel
from .indexing import INDEX_TYPES, copied_input
from .indexing_kernels import accumulate_rows, check_index, indexing_kernel, scalars, target_offsets, write_rows
from .operator import Array, Call, ErrorSample, Operand, Sample, Value, composite, operator, passed_as
from .pointwise import PYTHON, grid_over
from .samples import index_array
from .slicing import embed, sized
from .views import expand, reshape

INDEX_HINT = "add dimensions with unsqueeze(); index_select takes a vector of indexes for whole rows"


def _checked(name: str, input: Operand, dim: int, index: Operand) -> int:
    """The dimension, counted from the front.  Raises if the index does not fit the input."""
    at = st.wrap_dim(dim, len(input.shape), name)
    if index.dtype not in INDEX_TYPES:
        raise DtypeError(
            f"the index must be of an integer type, got {index.dtype.name}", hint="convert with .long()", operator=name
        )
    if index.numel() == 0:
        return at
    if len(index.shape) != len(input.shape):
        raise ShapeError(
            f"the index tensor must have the same number of dimensions as the input: {list(index.shape)} and "
            f"{list(input.shape)}",
            hint=INDEX_HINT,
            operator=name,
        )
    if any(have > room for d, (have, room) in enumerate(zip(index.shape, input.shape)) if d != at):
        raise ShapeError(
            f"index of shape {list(index.shape)} is larger than the input, {list(input.shape)}, apart from "
            f"dimension {at}",
            hint=f"shorten the index: it may be larger in dimension {at} alone",
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
    """Read the input at index[i][j] along `dim`: for dim 0, result[i][j] = input[index[i][j]][j].

    sparse_grad: must be False; gradients are dense.
    Shapes: the result has the shape of the index, which is at most that of the input except along `dim`.
    Host:   returns at once; an index out of range raises on the CPU and stops the device on a GPU.
    Raises: IndexRangeError, DtypeError, ShapeError.
    Example:
        >>> x = torch.tensor([[1, 2], [3, 4]])
        >>> torch.gather(x, 1, torch.tensor([[0, 0], [1, 0]]))
        tensor([[1, 1],
                [4, 3]])
    """
    at = _checked("gather", input, dim, index)
    if sparse_grad:
        raise NotSupportedError(
            "sparse_grad=True: there are no sparse gradients",
            hint="leave it out: the gradient is dense",
            operator="gather",
        )
    out = call.output(index.shape, input.dtype)
    numel = index.numel()
    if numel:
        if not input.numel():
            raise IndexRangeError(
                f"an index of shape {list(index.shape)} is out of bounds for dimension {at} with size 0",
                hint="that dimension has no elements",
                operator="gather",
            )
        places = index if index.dtype is int64 else call.contiguous(index, int64)
        index_layout, layout, axis = _merged_layouts(places, input, at)
        values = out, places, input, index_layout, layout, numel, at, axis
        call.launch(_gather_kernel(input.dtype), grid_over(numel), *values)
    return out


def _merged_layouts(index: Any, input: Any, dim: int) -> tuple[Any, Any, int]:
    """(layout of the index, layout of the input, `dim` in both), with the dimensions before and after `dim` merged."""
    if not input.shape:
        return ((1,), [(1,)]), ((1,), [(1,)]), 0
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


def _add_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), 0, index_array(2, 4), Array((2, 4), seed=1)))
    yield Sample((Array((4, 3), layout="transposed"), 1, index_array(2, 3), Array((3, 3), seed=1)))
    yield Sample((Array((3,)), 0, index_array(5), Array((5,), seed=1)))


def _scatter_errors() -> Iterator[ErrorSample]:
    yield ErrorSample(
        (Array((3, 4)), 0, index_array(2, 4), Array((1, 4))), ShapeError, r"source of shape \[1, 4\] .* \[2, 4\]"
    )
    yield ErrorSample((Array((3, 4)), 0, index_array(2), Array((2,))), ShapeError, r"same number of dimensions")


def _scattered(call: Call, name: str, input: Any, dim: int, index: Any, src: Any) -> tuple[Any, Any]:
    """(contiguous result with the values of the input, offsets to write in it).  Checks index and source."""
    at = _checked(name, input, dim, index)
    _check_source(name, input, index, src)
    shape = input.shape or (1,)
    places = None
    if index.numel():
        ready = call.contiguous(index, int64)
        places = target_offsets(call, ready.shape or (1,), st.contiguous(shape), index=ready, dim=at, limit=shape[at])
    return copied_input(call, input), places


def _check_source(name: str, input: Any, index: Any, src: Any) -> None:
    if not hasattr(src, "strides"):
        return
    if src.dtype is not input.dtype:
        raise DtypeError(
            f"the input is {input.dtype.name}, but the source is {src.dtype.name}",
            hint=f"convert it with .to(torch.{input.dtype.name})",
            operator=name,
        )
    if index.numel() and (len(src.shape) != len(index.shape) or any(h > r for h, r in zip(index.shape, src.shape))):
        raise ShapeError(
            f"a source of shape {list(src.shape)} does not cover the index of shape {list(index.shape)}",
            hint="no size of the source may be smaller than the index's: src.expand_as(index) repeats sizes of 1",
            operator=name,
        )


def _padded(part: Any, shape: Sequence[int] | None) -> Any:
    """The gradient of a source, 0 for elements beyond the index; None for a number."""
    if shape is None or tuple(part.shape) == tuple(shape):
        return part if shape is not None else None
    return embed(part, tuple(shape), tuple(part.shape), st.contiguous(shape), 0)


def _check_reduce(reduce: str) -> None:
    if reduce == "multiply":
        raise NotSupportedError(
            "reduce='multiply' is not supported", hint="use reduce='add', or gather first", operator="scatter"
        )
    if reduce != "add":
        raise ModeError(
            f"reduce must be 'add' or 'multiply', got {shown(reduce)}", hint="use 'add'", operator="scatter"
        )


def _filled(call: Call, shape: Sequence[int], dtype: dtype, value: Any) -> Any:
    """Scratch memory of this shape, filled with a number."""
    made = call.scratch(shape, dtype)
    if made.numel():
        number = passed_as(value, partial(converted, call.called, dtype), PYTHON[dtype.category])
        call.launch(fill_kernel(dtype), grid_over(made.numel()), made, number, made.numel())
    return made


@operator(
    samples=_scatter_samples, errors=_scatter_errors, dtypes=dtypes.ALL, inplace=True, other_names={"value": "src"}
)
def scatter(call: Call, input: Operand, dim: int, index: Operand, src: Value, *, reduce: Any = None) -> Any:
    """Write `src`, a tensor or a number, at index[i][j] along `dim`: for dim 0, input[index[i][j]][j] = src[i][j].

    reduce: None, or "add" to add to the input.
    Of several writes to one element the last in row-major order counts.  The gradient is that of single writes.
    Shapes: the index is at most as large as the source, and as the input except along `dim`.
    Host:   returns at once; an index out of range raises on the CPU and stops the device on a GPU.
    Raises: IndexRangeError, DtypeError, ShapeError, ModeError.
    Example:
        >>> index = torch.tensor([[0], [2]])
        >>> torch.scatter(torch.zeros(2, 3), 1, index, 1.0)
        tensor([[1., 0., 0.],
                [0., 0., 1.]])
    """
    if reduce is not None:
        _check_reduce(reduce)
        source = src if hasattr(src, "strides") else _filled(call, index.shape, input.dtype, src)
        return scatter_add.lower(call, input, dim, index, source)
    out, places = _scattered(call, "scatter", input, dim, index, src)
    if places is not None:
        is_number = not hasattr(src, "strides")
        write_rows(call, out, places, src, (1, out.numel(), 1), index.shape, unique=is_number)
    return out


@scatter.derivative
def _(grad: Any, dim: int, index: Any, src_shape: Any, reduce: Any, needs: Any) -> Any:
    whole = None if not needs[0] else grad.scatter(dim, index, 0) if reduce is None else grad
    return whole, None, _padded(grad.gather(dim, index), src_shape) if needs[2] else None


@operator(samples=_add_samples, errors=_scatter_errors, dtypes=dtypes.ALL, inplace=True)
def scatter_add(call: Call, input: Operand, dim: int, index: Operand, src: Operand) -> Any:
    """Add `src` at index[i][j] along `dim`, in row-major order: for dim 0, input[index[i][j]][j] += src[i][j].

    Shapes: the index is at most as large as the source, and as the input except along `dim`.
    Host:   returns at once; an index out of range raises on the CPU and stops the device on a GPU.
    Raises: IndexRangeError, DtypeError, ShapeError.
    Example:
        >>> torch.scatter_add(torch.zeros(3), 0, torch.tensor([0, 2, 2]), torch.tensor([1.0, 5.0, 6.0]))
        tensor([ 1.,  0., 11.])
    """
    out, places = _scattered(call, "scatter_add", input, dim, index, src)
    if places is not None:
        accumulate_rows(call, out, places, src, (1, out.numel(), 1), index.shape)
    return out


@scatter_add.derivative
def _(grad: Any, dim: int, index: Any, src_shape: Any, needs: Any) -> Any:
    return grad, None, _padded(grad.gather(dim, index), src_shape) if needs[2] else None


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
    """As `gather`, with input and indices broadcast except along `dim`.  Without dim, both are flattened.

    With `dim`, indices are taken modulo its size.
    Host:   returns at once; without `dim`, an index out of range raises on the CPU and stops the device on a GPU.
    Raises: IndexRangeError, DtypeError, ShapeError.
    Example:
        >>> x = torch.tensor([[30, 10, 20]])
        >>> torch.take_along_dim(x, x.argsort(), dim=1)
        tensor([[10, 20, 30]])
    """
    if dim is None:
        return gather(reshape(input, (-1,)), 0, reshape(indices, (-1,)))
    at, size = sized(input, dim, "take_along_dim")
    one = [*input.shape[:at], 1, *input.shape[at + 1 :]]
    shape = list(st.broadcast([one, [*indices.shape[:at], 1, *indices.shape[at + 1 :]]], "take_along_dim"))
    rest = shape[at + 1 :]
    source = expand(input, (*shape[:at], size, *rest))
    inside = remainder(indices, size) if size and indices.dtype in INDEX_TYPES else indices
    return gather(source, at, expand(inside, (*shape[:at], indices.shape[at], *rest)))
