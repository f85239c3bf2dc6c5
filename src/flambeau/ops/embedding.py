"""embedding, embedding_bag and one_hot, with deterministic gradients (kernels/embedding.cu).

An index outside the table raises IndexRangeError at once on the CPU.  On a GPU it triggers a device-side
assert: the next call that waits raises AcceleratorError 710.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

from ..dtypes import FLOATING_TYPES, dtype, int32, int64
from ..errors import ArgumentError, DtypeError, IndexRangeError, NotSupportedError, ShapeError, ValueRangeError
from ..host import np
from ..kernel import Grid, Kernel, Pointer, Scalar
from .copies import C_TYPES_BY_SIZE, ROW_COPY_SOURCE, plan_row_copy
from .operator import Array, ErrorSample, Operand, Sample, composite, operator
from .pointwise import PRELUDE, THREADS, grid_over, source_text

EMBEDDING_SOURCE = PRELUDE + ROW_COPY_SOURCE + source_text("embedding.cu")
TARGET_BLOCKS = 132 * 8  # blocks that a GPU of 132 multiprocessors runs at once
NO_ROW = -1


def check_range(name: str, indexes: Any, size: int, what: str, noun: str = "index") -> None:
    """Raise IndexRangeError for the first element of a NumPy array that is not in [0, size)."""
    bad = np.flatnonzero((indexes < 0) | (indexes >= size))
    if len(bad):
        position = [int(index) for index in np.unravel_index(bad[0], indexes.shape)]
        value = indexes[tuple(position)]
        told = f"Target {value} is out of bounds. " if noun == "target" else "index out of range in self: "
        raise IndexRangeError(
            f"{told}{noun} {value} at position {position} is out of range for {size} {what}",
            hint=f"use 0 to {size - 1}" if size else f"pass no index: there are no {what}",
            operator=name,
        )


@cache
def gather_kernel(dtype: dtype, index: dtype, unit: int) -> Kernel:
    """Return the kernel of out[i] = weight[indexes[i]]."""
    entry, moved = f"gather_rows_{unit}_{index.name}", C_TYPES_BY_SIZE[unit]
    code = f"""{EMBEDDING_SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}(void* out, const void* weight,
    const {index.cuda}* indexes, long long count, long long rows, long long width, long long units, long long lanes) {{
  const Named<{index.cuda}> named{{indexes, rows, units}};
  move_rows(({moved}*)out, (const {moved}*)weight, count, units, (int)lanes, named);
}}
"""

    def reference(out: Any, weight: Any, indexes: Any, count: int, rows: int, width: int, *_: int) -> None:
        check_range("embedding", indexes, rows, "embeddings")
        out[...] = weight[indexes]

    params = [
        Pointer("out", dtype, "w", ("count", "width")),
        Pointer("weight", dtype, "r", ("rows", "width")),
        Pointer("indexes", index, "r", ("count",)),
        *[Scalar(name, "int64") for name in ("count", "rows", "width", "units", "lanes")],
    ]
    return Kernel(entry, code, params, reference, 0.0)


@cache
def sum_kernel(dtype: dtype, index: dtype) -> Kernel:
    """Return the kernel of out[r] = the sum of grad[i] over all i with indexes[i] == r, in the order of i."""
    entry = f"sum_rows_{dtype.name}_{index.name}"
    code = f"""{EMBEDDING_SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({dtype.wide.cuda}* out, const {dtype.cuda}* grad,
    const {index.cuda}* indexes, long long count, long long rows, long long width, long long skipped,
    long long rows_per_block) {{
  sum_rows(out, grad, indexes, count, rows, width, skipped, rows_per_block);
}}
"""

    def reference(
        out: Any, grad: Any, indexes: Any, count: int, rows: int, width: int, skipped: int, rows_per_block: int
    ) -> None:
        out[...] = 0
        if count:
            taken = indexes != skipped
            np.add.at(out, indexes[taken], grad[taken].astype(dtype.wide.numpy, copy=False))

    params = [
        Pointer("out", dtype.wide, "w", ("rows", "width")),
        Pointer("grad", dtype, "r", ("count", "width")),
        Pointer("indexes", index, "r", ("count",)),
        *[Scalar(name, "int64") for name in ("count", "rows", "width", "skipped", "rows_per_block")],
    ]
    return Kernel(entry, code, params, reference)


@cache
def one_hot_kernel() -> Kernel:
    """Return the kernel of out[i, c] = indexes[i] == c."""
    code = f"""{EMBEDDING_SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) one_hot_int64(long long* out, const long long* indexes,
    long long count, long long classes) {{
  one_hot(out, indexes, count, classes);
}}
"""

    def reference(out: Any, indexes: Any, count: int, classes: int) -> None:
        check_range("one_hot", indexes, classes, "classes")
        out[...] = indexes[:, None] == np.arange(classes)

    params = [Pointer("out", int64, "w", ("count", "classes")), Pointer("indexes", int64, "r", ("count",))]
    return Kernel("one_hot_int64", code, [*params, Scalar("count", "int64"), Scalar("classes", "int64")], reference)


def _lookups() -> Iterator[Sample]:
    table, fixed = Array((4, 3), seed=1), Array((4, 3), seed=1, grad=False)  # a skipped row has no gradient to check
    yield Sample((Array((5,), low=0, high=3, dtype="int64"), table))
    yield Sample((Array((2, 3), low=0, high=3, dtype="int32"), fixed, 1))
    yield Sample((Array((3, 2), low=0, high=3, dtype="int64", layout="transposed"), fixed, -1))
    yield Sample((Array((0,), dtype="int64"), table))
    yield Sample((Array((), low=2, high=2, dtype="int64"), Array((4, 3), layout="transposed", seed=1)))
    yield Sample((Array((2, 3), low=0, high=3, dtype="int64"), fixed), {"scale_grad_by_freq": True})


def _bad_lookups() -> Iterator[ErrorSample]:
    table = Array((4, 3))
    yield ErrorSample((Array((1,), dtype="float32"), table), DtypeError, "input must be int64 or int32, got float32")
    yield ErrorSample(
        (Array((1,), dtype="int64"), Array((4,))), ShapeError, r"weight must have 2 dimensions, got shape \[4\]"
    )
    yield ErrorSample(
        (Array((1,), dtype="int64"), table, 4), ArgumentError, r"padding_idx must lie in \[-4, 3\], got 4"
    )


def _padding(padding_idx: int | None, rows: int) -> int:
    if padding_idx is None:
        return NO_ROW
    if not -rows <= padding_idx < rows:
        raise ArgumentError(
            f"padding_idx must lie in [{-rows}, {rows - 1}], got {padding_idx}",
            hint=f"pass the index of one of the weight's {rows} rows, or None",
            operator="embedding",
        )
    return padding_idx % rows


@operator(samples=_lookups, errors=_bad_lookups, dtypes=FLOATING_TYPES, method=False)
def embedding(
    call: Any, input: Operand, weight: Operand, padding_idx: int | None = None, scale_grad_by_freq: bool = False
) -> Any:
    """Return the rows of `weight` at the indices `input`.

    padding_idx: a row that gets no gradient.
    scale_grad_by_freq: divide the gradient of each row by the number of its occurrences in input.
    Shapes: input [*] of int64 or int32 and weight [n, d] give [*, d].
    Host:   returns at once.
    Raises: IndexRangeError for an index outside [0, n) on the CPU (a device-side assert on a GPU), DtypeError unless
            the input is int64 or int32, ShapeError unless `weight` is a matrix, ArgumentError if padding_idx is not one
            of its rows.
    Example:
        >>> table = torch.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
        >>> torch.nn.functional.embedding(torch.tensor([2, 0]), table)
        tensor([[2., 2.],
                [0., 0.]])
    """
    if input.dtype not in (int64, int32):
        raise DtypeError(
            f"input must be int64 or int32, got {input.dtype.name}", hint="convert with .long()", operator=call.name
        )
    if len(weight.shape) != 2:
        raise ShapeError(
            f"weight must have 2 dimensions, got shape {list(weight.shape)}",
            hint="each row is an embedding; input comes before weight",
            operator=call.name,
        )
    rows, width = weight.shape
    _padding(padding_idx, rows)
    out, count = call.output((*input.shape, width), weight.dtype), input.numel()
    if out.numel():
        table = call.contiguous(weight)
        move = plan_row_copy(weight.dtype, (rows, width), (width, 1), 0, (out, table))
        kernel = gather_kernel(weight.dtype, input.dtype, move.unit)
        values = (out, table, call.contiguous(input), count, rows, width, move.width, move.lanes)
        call.launch(kernel, move.grid(count, width), *values)
    return out


@embedding.derivative
def _(grad: Any, input: Any, weight_shape: Any, padding_idx: Any, scale_grad_by_freq: bool) -> Any:
    rows = weight_shape[0]
    if scale_grad_by_freq:
        grad = _divided_by_frequency(grad, input, rows)
    return None, embedding_backward(grad, input, rows, padding_idx)


def _divided_by_frequency(grad: Any, indices: Any, rows: int) -> Any:
    """Divide each row of `grad` by the number of occurrences of its index, in the wide type."""
    flat = indices.to(int64).reshape(-1)
    occurrences = flat.new_zeros((rows,)).scatter_add(0, flat, flat.new_ones(flat.shape))
    return grad.to(grad.dtype.wide) / occurrences.index_select(0, flat).reshape((*indices.shape, 1))


def _gradients() -> Iterator[Sample]:
    yield Sample((Array((5, 3)), Array((5,), low=0, high=3, dtype="int64", seed=1), 4))
    yield Sample((Array((2, 2, 3)), Array((2, 2), low=0, high=3, dtype="int32", seed=1), 4, 2))
    yield Sample((Array((0, 3)), Array((0,), dtype="int64"), 4))


@operator(samples=_gradients, dtypes=FLOATING_TYPES, method=False, function=False)
def embedding_backward(
    call: Any, grad_output: Operand, indices: Operand, num_embeddings: int, padding_idx: int | None = None
) -> Any:
    """Return the gradient of the weight of `embedding`: the sum over the uses of each row, in the order of the indices.

    Shapes: grad_output [*, d] and indices [*] give [num_embeddings, d].
    Host:   returns at once.
    """
    dtype, width = grad_output.dtype, grad_output.shape[-1]
    out = call.output((num_embeddings, width), dtype)
    if not out.numel():
        return out
    total = out if dtype.wide is dtype else call.scratch(out.shape, dtype.wide)
    columns = -(-width // THREADS)
    rows_per_block = -(-num_embeddings * columns // TARGET_BLOCKS)
    grid = Grid((-(-num_embeddings // rows_per_block), columns, 1), THREADS)
    operands = call.contiguous(grad_output), call.contiguous(indices)
    numbers = prod(indices.shape), num_embeddings, width, _padding(padding_idx, num_embeddings), rows_per_block
    call.launch(sum_kernel(dtype, indices.dtype), grid, total, *operands, *numbers)
    if total is not out:
        call.assign(out, total)
    return out


@embedding_backward.derivative
def _(grad: Any, indices: Any, num_embeddings: int, padding_idx: Any) -> Any:
    rows: Any = embedding(indices, grad, padding_idx)
    if padding_idx is not None:
        skipped = indices == _padding(padding_idx, num_embeddings)
        rows = rows.masked_fill(skipped.reshape((*indices.shape, 1)), 0)
    return rows, None


def _classes() -> Iterator[Sample]:
    yield Sample((Array((4,), low=0, high=2, dtype="int64"), 3))
    yield Sample((Array((2, 3), low=0, high=4, dtype="int64", layout="transposed"), 5))
    yield Sample((Array((0,), dtype="int64"), 2))


def _bad_classes() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((1,), dtype="float32"), 3), DtypeError, "input must be int64, got float32")
    yield ErrorSample((Array((0,), dtype="int64"), 0), ArgumentError, "num_classes must be positive, got 0")


@operator(samples=_classes, errors=_bad_classes, dtypes=(int64,), method=False, function=False, differentiable=False)
def one_hot_of(call: Any, input: Operand, num_classes: int) -> Any:
    """Compute `one_hot` with a known number of classes.

    Shapes: the result has the shape of the input and a last dimension of size num_classes.
    Raises: DtypeError unless the input is int64, ValueRangeError unless num_classes is positive.
    """
    if input.dtype is not int64:
        raise DtypeError(
            f"input must be int64, got {input.dtype.name}", hint="convert with .long()", operator=call.name
        )
    if num_classes < 1:
        raise ValueRangeError(
            f"num_classes must be positive, got {num_classes}",
            hint="pass 1 or more, or -1 for the largest index + 1",
            operator=call.name,
        )
    out, count = call.output((*input.shape, num_classes), int64), input.numel()
    if count:
        call.launch(one_hot_kernel(), grid_over(count * num_classes), out, call.contiguous(input), count, num_classes)
    return out


@composite(samples=_classes, errors=_bad_classes, dtypes=(int64,), method=False, function=False, host="waits")
def one_hot(tensor: Operand, num_classes: int = -1) -> Any:
    """Return 1 at each index, 0 elsewhere, along a new last dimension.

    num_classes: the size of that dimension; -1 is the largest index + 1.
    Shapes: [*] of int64 gives [*, num_classes] of int64.
    Host:   waits to find the largest index; returns at once where num_classes is given.
    Raises: IndexRangeError for an index outside [0, num_classes) on the CPU, DtypeError unless the input is int64,
            ValueRangeError unless num_classes is positive or -1.
    Example:
        >>> torch.nn.functional.one_hot(torch.tensor([0, 2]), num_classes=3)
        tensor([[1, 0, 0],
                [0, 0, 1]])
    """
    if num_classes == -1:
        if not tensor.numel():
            raise ValueRangeError(
                f"cannot infer the number of classes from an empty tensor, of shape {list(tensor.shape)}",
                hint="pass num_classes",
                operator="one_hot",
            )
        num_classes = int(tensor.max().item()) + 1
    return one_hot_of(tensor, num_classes)


# bags


def _bag_samples() -> Iterator[Sample]:
    table = Array((4, 3), seed=1)
    lines = Array((2, 3), low=0, high=4, dtype="int64")
    flat, starts = Array((6,), low=0, high=4, dtype="int64"), Array((3,), low=0, high=0, dtype="int64")
    for mode in ("sum", "mean", "max"):
        yield Sample((lines, table), {"mode": mode})
        yield Sample((flat, table, starts), {"mode": mode, "padding_idx": 2})
    weights = Array((6,), seed=2)
    yield Sample((flat, table, starts), {"mode": "sum", "per_sample_weights": weights, "include_last_offset": True})
    yield Sample((Array((2, 0), dtype="int64"), table))
    yield Sample((lines, Array((4, 3), seed=1, grad=False)), {"scale_grad_by_freq": True})


def _bad_bags() -> Iterator[ErrorSample]:
    table, flat, lines = Array((4, 3)), Array((3,), dtype="int64"), Array((2, 2), dtype="int64")
    starts = Array((1,), low=0, high=0, dtype="int64")
    yield ErrorSample((flat, table), ArgumentError, r"offsets .* \[3\]")
    yield ErrorSample((lines, table, starts), ArgumentError, r"offsets .* \[2, 2\]")
    wrong = Array((1,), low=0, high=0)
    yield ErrorSample((flat, table, wrong), DtypeError, "offsets must be int64 or int32, got float32")
    yield ErrorSample((Array((1, 1, 1), dtype="int64"), table), ArgumentError, r"1D or 2D, got \[1, 1, 1\]")
    yield ErrorSample((lines, Array((3,))), ArgumentError, r"2 dimensions, got \[3\]")
    yield ErrorSample((lines, table), ArgumentError, "'median'", {"mode": "median"})
    one = Array((2,))
    yield ErrorSample((lines, table), ArgumentError, r"\[2\].*\[2, 2\]", {"per_sample_weights": one, "mode": "sum"})
    same = Array((2, 2))
    yield ErrorSample((lines, table), NotSupportedError, "'max'", {"per_sample_weights": same, "mode": "max"})


def _check_bags(input: Any, weight: Any, offsets: Any, mode: str, per_sample_weights: Any) -> None:
    name = "embedding_bag"
    if len(weight.shape) != 2:
        raise ArgumentError(
            f"weight must have 2 dimensions, got {list(weight.shape)}",
            hint="pass a matrix in which each row is an embedding",
            operator=name,
        )
    if mode not in ("sum", "mean", "max"):
        raise ArgumentError(f"mode has to be sum, mean or max, got {mode!r}", hint="use 'mean'", operator=name)
    if len(input.shape) not in (1, 2):
        raise ArgumentError(
            f"input has to be 1D or 2D, got {list(input.shape)}",
            hint="pass a matrix with a row for each bag, or a vector and offsets",
            operator=name,
        )
    if (len(input.shape) == 1) is (offsets is None) or offsets is not None and len(offsets.shape) != 1:
        raise ArgumentError(
            f"offsets must be a 1D tensor for a 1D input, and None for a 2D input, whose shape is {list(input.shape)}",
            hint="pass the index at which each bag begins as offsets",
            operator=name,
        )
    if offsets is not None and offsets.dtype not in (int64, int32):
        raise DtypeError(
            f"offsets must be int64 or int32, got {offsets.dtype.name}", hint="convert with .long()", operator=name
        )
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ArgumentError(
            f"per_sample_weights {list(per_sample_weights.shape)} must have the shape of the input, "
            f"{list(input.shape)}",
            hint="pass one factor for each index",
            operator=name,
        )
    if per_sample_weights is not None and mode != "sum":
        raise NotSupportedError(
            f"per_sample_weights require mode 'sum', got {mode!r}", hint="use mode='sum'", operator=name
        )


@composite(samples=_bag_samples, errors=_bad_bags, dtypes=FLOATING_TYPES, method=False, function=False, host="waits")
def embedding_bag(
    input: Operand, weight: Operand, offsets: Operand | None = None, mode: str = "mean",
    per_sample_weights: Operand | None = None, include_last_offset: bool = False, padding_idx: int | None = None,
    scale_grad_by_freq: bool = False,
) -> Any:  # fmt: skip
    """Return the sum, mean or maximum of the rows of `weight` that each bag of indices names; 0 for an empty bag.

    offsets: the start of each bag in a 1D input; include_last_offset: the last offset is the end of the last bag.
    per_sample_weights: a factor for each row, with mode "sum".  padding_idx: an index that is skipped.
    scale_grad_by_freq: divide the gradient of each row by the number of its occurrences in input.
    Shapes: input [b, l], or [n] and offsets [b]; weight [rows, d]; the result [b, d].
    Host:   with mode "max" and offsets, waits for the size of the longest bag; on the CPU, for the first offset.
    Raises: DtypeError if input or offsets are not int64 or int32, ArgumentError for shapes or a mode that do not fit,
            NotSupportedError for per_sample_weights with a mode other than "sum", IndexRangeError as `embedding`.
    """
    _check_bags(input, weight, offsets, mode, per_sample_weights)
    indexes: Any = input
    _padding(padding_idx, weight.shape[0])
    rows: Any = embedding(input, weight, padding_idx, scale_grad_by_freq)
    factors: Any = per_sample_weights
    if factors is not None:
        rows = rows * factors.unsqueeze(-1)
    is_left_out: Any = None
    if padding_idx is not None:
        is_left_out = indexes == _padding(padding_idx, weight.shape[0])
        rows = rows.masked_fill(is_left_out.unsqueeze(-1), float("-inf") if mode == "max" else 0)
    if offsets is not None:
        return _flat_bags(rows, offsets, mode, is_left_out, include_last_offset)
    if mode == "sum" or not input.shape[1]:
        return rows.sum(1)
    if mode == "mean":
        count: Any = input.shape[1]
        if is_left_out is not None:
            count = (~is_left_out).sum(1, True).clamp_min(1)
        return rows.sum(1) / count
    largest = rows.max(1)[0]
    return largest if is_left_out is None else largest.masked_fill(is_left_out.all(1, True), 0)


def _flat_bags(rows: Any, offsets: Any, mode: str, is_left_out: Any, include_last: bool) -> Any:
    """Return the bags of rows that begin at the offsets."""
    if not offsets.is_cuda and offsets.numel() and int(offsets[0].item()) != 0:
        raise ValueRangeError(
            f"offsets[0] has to be 0, got {offsets[0].item()}",
            hint="begin offsets with 0, where the first bag starts",
            operator="embedding_bag",
        )
    starts = offsets[:-1] if include_last else offsets
    count, bags, width = rows.shape[0], starts.shape[0], rows.shape[1]
    marks = starts.new_zeros((count + 1,), dtype=int64)
    bag_of = marks.scatter_add(0, starts.to(int64), marks.new_ones((bags,))).cumsum(0)[:count] - 1
    kept = marks.new_ones((count,)) if is_left_out is None else (~is_left_out).to(int64)
    sizes = marks.new_zeros((bags,)).scatter_add(0, bag_of, kept)
    if mode != "max":
        total = rows.new_zeros((bags, width)).index_add(0, bag_of, rows)
        return total / sizes.clamp_min(1).unsqueeze(1) if mode == "mean" else total
    lengths = marks.new_zeros((bags,)).scatter_add(0, bag_of, marks.new_ones((count,)))
    longest = int(lengths.max().item()) if count and bags else 0
    if not longest:
        return rows.sum() * rows.new_zeros((bags, width))
    step = (marks.new_ones((longest,)).cumsum(0) - 1).unsqueeze(0)
    places = starts.to(int64).unsqueeze(1) + step
    lines = rows.index_select(0, places.clamp(0, count - 1).reshape(-1)).reshape(bags, longest, width)
    lines = lines.masked_fill((step >= lengths.unsqueeze(1)).unsqueeze(2), float("-inf"))
    return lines.max(1)[0].masked_fill((sizes == 0).unsqueeze(1), 0)
