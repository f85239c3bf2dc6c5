"""Reading and writing along one dimension by an index vector: the array is seen as rows [outer, size, inner]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import prod
from typing import Any

from .. import dtypes
from .. import strides as st
from ..dtypes import dtype, int64
from ..errors import DtypeError, IndexRangeError, ShapeError
from ..kernel import Kernel, Param, Pointer, Strided
from .moving import UNITS, move_of
from .operator import Array, Call, ErrorSample, Operand, Sample, operator
from .scatter import (
    ROW_ARGUMENTS,
    ROW_CALL,
    ROW_NUMBERS,
    Rows,
    accumulate,
    check_index,
    indexing_kernel,
    layout_of,
    scalars,
    wrapped,
    write,
)

INDEX_TYPES = dtypes.INTEGER_TYPES


def index_array(*shape: int, low: int = 0, high: int = 2, seed: int = 3) -> Array:
    return Array(shape, low=low, high=high, dtype="int64", seed=seed, grad=False)


def _rows(name: str, input: Operand, dim: int, index: Operand) -> tuple[Rows, int]:
    """`input` as rows along a dimension, and the dimension counted from the front.  Checks the index."""
    at = st.wrap_dim(dim, len(input.shape), name)
    if index.dtype not in INDEX_TYPES:
        raise DtypeError(
            f"the index must be of an integer type, got {index.dtype.name}", hint="convert with .long()", operator=name
        )
    if len(index.shape) > 1:
        raise ShapeError(
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


def given_input(call: Call, input: Operand) -> Any:
    """A contiguous result that holds the input's values: the input itself in a call in place."""
    out = call.output(input.shape, input.dtype)
    if out is not input and out.numel():
        call.assign(out, input)
    return out


# one dimension


@cache
def _select_kernel(kind: dtype, unit: int) -> Kernel:
    moved = UNITS[unit]
    arguments = "void* out, const long long* index, const void* input, Layout<1> layout, "
    params: list[Param] = [
        Pointer("out", kind, "w", ("outer", "count", "inner")), Pointer("index", int64, "r", ("count",)),
        Pointer("input", kind, "r", "layout"), Strided("layout", ("input",)), *scalars(*ROW_NUMBERS),
    ]  # fmt: skip

    def reference(
        out: Any, index: Any, input: Any, outer: int, size: int, inner: int, count: int, lowest: int, dim: int, *_: int
    ) -> None:
        out[...] = input.reshape(outer, size, inner)[:, check_index(index, lowest, size, dim)]

    body = f"select_rows(({moved}*)out, (const {moved}*)input, {ROW_CALL}, outer, inner, width, lanes)"
    return indexing_kernel(f"select_rows_{unit}", arguments + ROW_ARGUMENTS, body, params, reference)


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
    """The indexes of a dimension that `index` lists, in its order.  wrap: negative ones count from the end.

    Shapes: as the input, with as many along `dim` as the index has entries.
    Host:   returns at once; an index out of range raises on the CPU and stops the device on a GPU.
    Raises: IndexRangeError, DtypeError, ShapeError.
    Example:
        >>> torch.index_select(torch.tensor([[1, 2], [3, 4], [5, 6]]), 0, torch.tensor([2, 0]))
        tensor([[5, 6],
                [1, 2]])
    """
    (outer, size, inner), at = _rows("index_select", input, dim, index)
    count = index.numel()
    if count and not size:
        raise IndexRangeError(
            f"dimension {at} has no elements to select, the shape is {list(input.shape)}",
            hint="select another dimension, or pass an empty index",
            operator="index_select",
        )
    out = call.output(_replaced(input.shape, at, count), input.dtype)
    if outer * count * inner:
        move = move_of(input.dtype, input.shape or (1,), input.strides or (1,), at, (out, input))
        layout = layout_of(input.shape, input.strides)
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


def _add_errors() -> Iterator[ErrorSample]:
    yield ErrorSample(
        (Array((3, 4)), 0, index_array(2), Array((3, 4))), ShapeError, r"source .* \[2, 4\], got \[3, 4\]"
    )
    yield ErrorSample((Array((3, 4)), 0, index_array(2), Array((2, 4), dtype="bool")), DtypeError, r"source is bool")


def _check_source(name: str, input: Operand, shape: Sequence[int], source: Any) -> None:
    """Raise ShapeError or DtypeError if entries of `shape` cannot come from `source`."""
    if source.dtype is not input.dtype:
        raise DtypeError(
            f"the input is {input.dtype.name}, but the source is {source.dtype.name}",
            hint=f"convert it with .to(torch.{input.dtype.name})",
            operator=name,
        )
    if tuple(source.shape) != tuple(shape):
        raise ShapeError(
            f"the source must have shape {list(shape)}, got {list(source.shape)}",
            hint="it is the input's shape, with as many places in the indexed dimension as the index has",
            operator=name,
        )


@operator(samples=_add_samples, errors=_add_errors, dtypes=dtypes.ALL, inplace=True)
def index_add(
    call: Call, input: Operand, dim: int, index: Operand, source: Operand, alpha: float = 1, wrap: bool = False
) -> Any:
    """The input with alpha * source added at the indexes of a dimension, those of one index in their order.

    Shapes: the source is as the input, with as many along `dim` as the index has entries.
    Host:   returns at once; an index out of range raises on the CPU and stops the device on a GPU.
    Raises: IndexRangeError, DtypeError, ShapeError.
    Example:
        >>> torch.index_add(torch.zeros(3), 0, torch.tensor([1, 1]), torch.tensor([2.0, 3.0]))
        tensor([0., 5., 0.])
    """
    rows, at = _rows("index_add", input, dim, index)
    _check_source("index_add", input, _replaced(input.shape, at, index.numel()), source)
    places = wrapped(call, index, rows[1], -rows[1] if wrap else 0, at)
    out = given_input(call, input)
    accumulate(call, out, places, source, rows, scale=alpha)
    return out


@index_add.derivative
def _(grad: Any, dim: int, index: Any, alpha: Any, wrap: bool, needs: Any) -> Any:
    part = grad.index_select(dim, index, wrap=wrap) * alpha if needs[2] else None
    return grad, None, part


def _copy_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), 0, index_array(2, seed=0), Array((2, 4), seed=1)))
    yield Sample((Array((2, 16)), 0, index_array(2, seed=0), Array((2, 16), seed=1)))
    yield Sample((Array((4, 3), layout="transposed"), 1, index_array(3, high=3, seed=0), Array((4, 3), seed=1)))


@operator(samples=_copy_samples, errors=_add_errors, dtypes=dtypes.ALL, inplace=True)
def index_copy(
    call: Call, input: Operand, dim: int, index: Operand, source: Operand, wrap: bool = False, unique: bool = False
) -> Any:
    """The input with `source` written at the indexes of a dimension; of several writes to one, the last counts.

    The gradient is that of indexes that come once.
    unique: the caller knows that no index comes twice.
    Shapes: the source is as the input, with as many along `dim` as the index has entries.
    Host:   returns at once; an index out of range raises on the CPU and stops the device on a GPU.
    Raises: IndexRangeError, DtypeError, ShapeError.
    Example:
        >>> torch.index_copy(torch.zeros(3), 0, torch.tensor([2, 0]), torch.tensor([7.0, 9.0]))
        tensor([9., 0., 7.])
    """
    rows, at = _rows("index_copy", input, dim, index)
    shape = _replaced(input.shape, at, index.numel())
    _check_source("index_copy", input, shape, source)
    places = call.contiguous(index, int64)
    out = given_input(call, input)
    write(call, out, places, source, rows, shape, lowest=-rows[1] if wrap else 0, dim=at, unique=unique)
    return out


@index_copy.derivative
def _(grad: Any, dim: int, index: Any, wrap: bool, needs: Any) -> Any:
    whole = grad.index_fill(dim, index, 0) if needs[0] else None
    return whole, None, grad.index_select(dim, index, wrap=wrap) if needs[2] else None


def _fill_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), 0, index_array(2), 1))
    yield Sample((Array((3, 4)), 1, index_array(2, low=-4, high=-1), 1))
    yield Sample((Array(()), 0, index_array(2, high=0), 1))


def _fill_errors() -> Iterator[ErrorSample]:
    yield ErrorSample(
        (Array((3, 4)), 2, index_array(2), 1), IndexRangeError, r"expected to be in range of \[-2, 1\], but got 2"
    )
    yield ErrorSample((Array((3, 4)), 0, Array((2,)), 1), DtypeError, "index must be of an integer type, got float32")
    yield ErrorSample((Array((3, 4)), 0, index_array(2, 2), 1), ShapeError, r"must be a vector, got shape \[2, 2\]")


@operator(samples=_fill_samples, errors=_fill_errors, dtypes=dtypes.ALL, inplace=True)
def index_fill(call: Call, input: Operand, dim: int, index: Operand, value: Any) -> Any:
    """The input with a number written at the indexes of a dimension; negative ones count from the end.

    Host:   returns at once; an index out of range raises on the CPU and stops the device on a GPU.
    Raises: IndexRangeError, DtypeError, ShapeError.
    Example:
        >>> torch.index_fill(torch.tensor([1.0, 2.0, 3.0]), 0, torch.tensor([0, 2]), -1)
        tensor([-1.,  2., -1.])
    """
    rows, at = _rows("index_fill", input, dim, index)
    places = call.contiguous(index, int64)
    out = given_input(call, input)
    shape = _replaced(input.shape or (1,), at, index.numel())
    write(call, out, places, value, rows, shape, lowest=-rows[1], dim=at, unique=True)
    return out


@index_fill.derivative
def _(grad: Any, dim: int, index: Any) -> Any:
    return grad.index_fill(dim, index, 0), None
