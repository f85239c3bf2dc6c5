"""Searching and counting: unique, searchsorted, bucketize, isin, bincount, histc and histogram."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import inf, isfinite, prod
from typing import Any

from .. import dtypes
from .. import strides as st
from ..dtypes import FLOATING_TYPES, INTEGER_TYPES, bool_, dtype, float32, float64, int32, int64, promote_types
from ..errors import (
    ArgumentError,
    DtypeError,
    IndexRangeError,
    ModeError,
    ShapeError,
    ValueRangeError,
    shown,
)
from ..host import np
from ..kernel import Grid, Kernel, Param, Pointer, Scalar
from . import results
from .compaction import FEW_BINS, FEW_RUNS, few_bins, few_runs, first_rows, fits_block
from .copies import fill_kernel
from .indexing import nonzero
from .indexing_kernels import indexing_kernel, scalars
from .operator import REGISTRY, Array, Call, ErrorSample, Operand, Sample, Value, composite, operator
from .pointwise import FULL_DEVICE_BLOCKS, THREADS, grid_over, pointwise
from .reductions import aminmax, any_
from .samples import bad_dims, index_array
from .scans import running_sum
from .sorting import DIGIT_BITS, LONG_ROW, sort_rows, sort_values
from .views import movedim, reshape

# unique elements


@cache
def _begins_kernel(dtype: dtype) -> Kernel:
    arguments = f"bool* out, const {dtype.cuda}* values, long long rows, long long n"
    params: list[Param] = [
        Pointer("out", bool_, "w", ("rows", "n")), Pointer("values", dtype, "r", ("rows", "n")), *scalars("rows", "n"),
    ]  # fmt: skip

    def reference(out: Any, values: Any, rows: int, n: int) -> None:
        out[:, 0] = True
        np.not_equal(values[:, 1:], values[:, :-1], out=out[:, 1:])

    step = f"""
long long column;
divide(i, n, column);
out[i] = column == 0 || load<{dtype.wide.cuda}>(values[i]) != load<{dtype.wide.cuda}>(values[i - 1]);
"""
    body = f"for (long long i = first_index(); i < rows * n; i += index_step()) {{{step}}}"
    return indexing_kernel(f"run_begins_{dtype.name}", arguments, body, params, reference)


def _runs() -> Iterator[Sample]:
    yield Sample((Array((3, 4), low=0, high=1),))
    yield Sample((Array((4, 3), low=0, high=1, layout="transposed"),))
    yield Sample((Array((2, 0)),))


@operator(samples=_runs, dtypes=dtypes.ALL, method=False, function=False, differentiable=False)
def run_begins(call: Call, input: Operand) -> Any:
    """Test whether each element of the last dimension differs from the one before; True for the first.

    Host: returns at once.
    """
    out, numel = call.output(input.shape, bool_), input.numel()
    if numel:
        n = input.shape[-1]
        call.launch(_begins_kernel(input.dtype), grid_over(numel), out, call.contiguous(input), numel // n, n)
    return out


def _groups(is_new: Any) -> Any:
    """Return the number of each element's group.  is_new: whether an element begins a group."""
    return running_sum(is_new, -1) - 1


def _starts(is_new: Any) -> Any:
    return nonzero(is_new).select(1, 0)


def _counts(starts: Any, total: int) -> Any:
    return REGISTRY["diff"](starts, append=starts.new_full((1,), total))


def _ranks(values: Any) -> Any:
    """Return the rank of each element of the last dimension among its distinct elements."""
    ordered = sort_rows(values)
    return values.new_zeros(values.shape, dtype=int64).scatter(-1, ordered.indices, _groups(run_begins(ordered.values)))


def _row_ranks(rows: Any) -> Any:
    """Return the rank of each row of a matrix among its distinct rows, in lexicographic order."""
    ranks = _ranks(rows.t().contiguous())
    count = ranks.shape[1]
    while ranks.shape[0] > 1:  # merge pairs of adjacent columns
        pairs = ranks.shape[0] // 2
        even = ranks.narrow(0, 0, 2 * pairs).reshape(pairs, 2, count)
        joined = _ranks(even.select(1, 0) * count + even.select(1, 1))
        left = ranks.narrow(0, 2 * pairs, ranks.shape[0] - 2 * pairs)
        ranks = REGISTRY["cat"]([joined, left], 0)
    return ranks.select(0, 0)


def _as_rows(name: str, input: Any, dim: int) -> tuple[Any, int]:
    """Return (a matrix with one row for each index of a dimension, the dimension)."""
    if not input.shape:
        raise IndexRangeError(
            f"Dimension specified as {dim} but tensor has no dimensions", hint="leave dim out", operator=name
        )
    at = st.wrap_dim(dim, len(input.shape), name)
    size = input.shape[at]
    if prod(input.shape) == 0 and size:
        raise ShapeError(
            f"expected only dimension {at} to have size 0, got shape {list(input.shape)}",
            hint="choose the dimension without elements",
            operator=name,
        )
    return (reshape(movedim(input, at, 0), (size, -1)) if prod(input.shape) else input), at


def _chosen(unique: Any, inverse: Any, counts: Any, return_inverse: bool, return_counts: bool) -> Any:
    outputs = (unique, *([inverse] if return_inverse else []), *([counts] if return_counts else []))
    return outputs if len(outputs) > 1 else unique


def _empty(input: Any, shape: Sequence[int], return_inverse: bool, return_counts: bool) -> Any:
    inverse = input.new_zeros(shape, dtype=int64)
    return _chosen(
        input.new_zeros((0,)) if shape == input.shape else input.clone(),
        inverse, input.new_zeros((0,), dtype=int64), return_inverse, return_counts,
    )  # fmt: skip


def _ends(values: Any) -> Any:
    """Return the least and the greatest of some integers, as numbers.  Host: waits once."""
    return REGISTRY["stack"](list(aminmax(values)), 0).tolist()


def _used_bits(keys: Any) -> int | None:
    """Return the number of low bits, in whole bytes, in which the integers of a long vector differ, or None.

    It reads the elements, which costs less than sorting by bytes that are all 0.
    """
    if keys.dtype not in (int32, int64) or keys.shape[0] <= LONG_ROW:
        return None
    least, greatest = _ends(keys)
    return None if least < 0 else -(-greatest.bit_length() // DIGIT_BITS) * DIGIT_BITS


def _few_unique(input: Any, sorts: bool, return_inverse: bool, return_counts: bool) -> Any:
    """Compute `unique` of a small tensor; `unique_consecutive` if the elements are not to be sorted first."""
    values, count, inverse, counts = few_runs(input, sorts, return_inverse, return_counts)
    number = count.item()
    lengths = first_rows(counts, number) if return_counts else None
    return _chosen(first_rows(values, number), inverse, lengths, return_inverse, return_counts)


def _unique_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4), low=0, high=2),))
    yield Sample((Array((4, 3), low=0, high=2, layout="transposed"), True, True, True))
    yield Sample((Array((3, 4), low=0, high=1), True, True, True, 1))
    yield Sample((Array((0, 3)),))
    yield Sample((Array(()), True, True, True))


def _unique_errors() -> Iterator[ErrorSample]:
    for sample in bad_dims():
        yield ErrorSample(sample.args[:1], sample.error, sample.match, {"dim": 2})
    yield ErrorSample((Array((2, 0)),), ShapeError, r"only dimension 0 to have size 0, got shape \[2, 0\]", {"dim": 0})


@composite(
    samples=_unique_samples, errors=_unique_errors, dtypes=dtypes.ALL, host="waits", differentiable=False,
    takes_out=False,
)  # fmt: skip
def unique(
    input: Operand, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """Return the distinct elements in ascending order, or with dim the distinct slices; NaNs are all distinct.

    return_inverse: also return, for each input element, its index in the result.
    return_counts: also return how often each distinct element occurs.
    sorted: has no effect, the result is always in order.
    Shapes: a vector; with dim, the input's shape with a different size there.
            The inverse has the input's shape; with dim, it is a vector.
    Host:   waits, because the size of the result depends on the values.
    Raises: IndexRangeError for a bad dimension, ShapeError if any other dimension has size 0.
    Example:
        >>> torch.unique(torch.tensor([3, 1, 3, 2]), return_counts=True)
        (tensor([1, 2, 3]), tensor([1, 1, 2]))
    """
    source: Any = input
    if dim is None and fits_block(input, input.shape, FEW_RUNS):
        return _few_unique(input, True, return_inverse, return_counts)
    if dim is None:
        keys, at, shape = reshape(source, (-1,)), 0, tuple(input.shape)
        if not keys.shape[0]:
            return _empty(source, input.shape, return_inverse, return_counts)
    else:
        rows, at = _as_rows("unique", source, dim)
        if not prod(input.shape):
            return _empty(source, (0,), return_inverse, return_counts)
        keys = _row_ranks(rows)
        shape = tuple(keys.shape)
    bits = _used_bits(keys)
    if not return_inverse and dim is None:
        ordered = order = sort_values(keys, False, bits)
    else:
        ordered, order = sort_rows(keys, False, bits)
    is_new = run_begins(ordered)
    starts = _starts(is_new)
    first: Any = starts if dim is None else order.index_select(0, starts)
    values = (ordered if dim is None else source).index_select(at, first)
    inverse = keys.new_zeros(keys.shape, dtype=int64).scatter(0, order, _groups(is_new)) if return_inverse else None
    counts = _counts(starts, keys.shape[0]) if return_counts else None
    return _chosen(values, None if inverse is None else reshape(inverse, shape), counts, return_inverse, return_counts)


def _consecutive_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4), low=0, high=2),))
    yield Sample((Array((4, 3), low=0, high=1, layout="transposed"), True, True))
    yield Sample((Array((3, 4), low=0, high=1), True, True, 1))
    yield Sample((Array((0, 3)),))


@composite(
    samples=_consecutive_samples, errors=_unique_errors, dtypes=dtypes.ALL, host="waits", differentiable=False,
    takes_out=False,
)  # fmt: skip
def unique_consecutive(
    input: Operand, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Return one element for each run of equal elements, or with dim one slice for each run of equal slices.

    return_inverse: also return, for each element, the index of its run in the result.
    return_counts: also return the length of each run.
    Shapes: a vector; with dim, the input's shape with a different size there.
            The inverse has the input's shape; with dim, it is a vector.
    Host:   waits, because the size of the result depends on the values.
    Raises: IndexRangeError if `dim` is out of range, ShapeError if another dimension has size 0.
    Example:
        >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]), return_counts=True)
        (tensor([1, 2, 1]), tensor([2, 1, 1]))
    """
    source: Any = input
    if dim is None and fits_block(input, input.shape, FEW_RUNS):
        return _few_unique(input, False, return_inverse, return_counts)
    if dim is None:
        keys, at, shape = reshape(source, (-1,)), 0, tuple(input.shape)
        if not keys.shape[0]:
            return _empty(source, input.shape, return_inverse, return_counts)
        is_new = run_begins(keys)
    else:
        rows, at = _as_rows("unique_consecutive", source, dim)
        if not prod(input.shape):
            return _empty(source, (0,), return_inverse, return_counts)
        is_new = any_(run_begins(rows.t()), 0)
        shape = tuple(is_new.shape)
    starts = _starts(is_new)
    values = (keys if dim is None else source).index_select(at, starts)
    inverse = reshape(_groups(is_new), shape) if return_inverse else None
    counts = _counts(starts, is_new.shape[0]) if return_counts else None
    return _chosen(values, inverse, counts, return_inverse, return_counts)


# places in sorted sequences

SEARCH = """
long long row = 0, low = 0, high = n;
if (lines > 1) row = i / columns;
const C value = load<C>(values[i]);
while (low < high) {
    const long long middle = low + (high - low) / 2;
    const C other = load<C>(sequence[row * n + (sorter ? sorter[row * n + middle] : middle)]);
    if (right ? !(other > value) : !(other >= value)) low = middle + 1;
    else high = middle;
}
out[i] = low;
"""


@cache
def _search_kernel(dtype: dtype, out: dtype) -> Kernel:
    numbers = ("numel", "lines", "n", "columns", "right")
    arguments = (
        f"{out.cuda}* out, const {dtype.cuda}* sequence, const {dtype.cuda}* values, const long long* sorter, "
        + ", ".join(f"long long {name}" for name in numbers)
    )
    params: list[Param] = [
        Pointer("out", out, "w", ("numel",)), Pointer("sequence", dtype, "r", ("lines", "n")),
        Pointer("values", dtype, "r", ("numel",)), Pointer("sorter", int64, "r", ("lines", "n")), *scalars(*numbers),
    ]  # fmt: skip

    def reference(
        result: Any, sequence: Any, values: Any, sorter: Any, numel: int, lines: int, n: int, columns: int, right: int
    ) -> None:
        wide = dtype.wide.numpy
        if lines == 1 and sorter is None and n and sequence[0, -1] == sequence[0, -1]:
            side = "right" if right else "left"
            result[...] = np.searchsorted(sequence[0].astype(wide), values.astype(wide), side)
            return
        low, high = np.zeros(numel, np.int64), np.full(numel, n, np.int64)
        row = np.arange(numel) // columns if lines > 1 else np.zeros(numel, np.int64)
        value = values.astype(wide)
        while n:
            middle = low + (high - low) // 2
            inside = np.minimum(middle, n - 1)
            other = sequence[row, inside if sorter is None else sorter[row, inside]].astype(wide)
            goes_on = ~(other > value) if right else ~(other >= value)
            is_open = low < high
            if not is_open.any():
                break
            low = np.where(is_open & goes_on, middle + 1, low)
            high = np.where(is_open & ~goes_on, middle, high)
        result[...] = low

    body = f"typedef {dtype.wide.cuda} C; for (long long i = first_index(); i < numel; i += index_step()) {{{SEARCH}}}"
    return indexing_kernel(f"search_{dtype.name}_{out.name}", arguments, body, params, reference)


def _search_rows_samples() -> Iterator[Sample]:
    yield Sample((Array((5,), low=0, high=4), Array((2, 3), low=0, high=4, seed=1)))
    yield Sample((Array((2, 5), low=0, high=0), Array((2, 3), low=0, high=4, seed=1), None, True, True))
    yield Sample((Array((3,), low=0, high=0), Array((0,)), index_array(3, high=2)))


@operator(samples=_search_rows_samples, dtypes=dtypes.ALL, method=False, function=False, differentiable=False)
def search_rows(
    call: Call, sequence: Operand, values: Operand, sorter: Operand | None = None, right: bool = False,
    out_int32: bool = False,
) -> Any:  # fmt: skip
    """Compute `searchsorted`, for operands of one type."""
    n = sequence.shape[-1]
    out = call.output(values.shape, int32 if out_int32 else int64)
    numel = values.numel()
    if numel:
        lines, columns = prod(sequence.shape[:-1]), values.shape[-1] if values.shape else 1
        order = None if sorter is None else call.contiguous(sorter)
        call.launch(
            _search_kernel(sequence.dtype, out.dtype), grid_over(numel), out, call.contiguous(sequence) if n else None,
            call.contiguous(values), order if n else None, numel, lines, n, columns, int(right),
        )  # fmt: skip
    return out


def _search(name: str, sequence: Any, values: Any, sorter: Any, right: bool, side: Any, out_int32: bool) -> Any:
    if side is not None and (side not in ("left", "right") or (right and side == "left")):
        raise ModeError(
            f"side must be 'left' or 'right' and agree with right={right}, got {shown(side)}",
            hint="leave right= out",
            operator=name,
        )
    if not hasattr(values, "strides"):
        dtype = sequence.dtype
        if not dtype.is_floating_point and isinstance(values, float):
            dtype = float64
        elif dtype is dtypes.bool_ and type(values) is int:  # an int may exceed True, such as 2
            dtype = int64
        sequence, values = sequence.to(dtype), sequence.new_full((), values, dtype=dtype)
    if not sequence.shape:
        raise ShapeError(
            "the sequence must have at least one dimension, got shape []", hint="reshape it to (1,)", operator=name
        )
    if len(sequence.shape) > 1 and tuple(sequence.shape[:-1]) != tuple(values.shape[:-1]):
        raise ShapeError(
            f"the sequence must be a vector, or its first sizes must be those of the values: {list(sequence.shape)} "
            f"and {list(values.shape)}",
            hint="expand the sequence",
            operator=name,
        )
    if sequence.dtype is not values.dtype:
        common = promote_types(sequence.dtype, values.dtype)
        sequence, values = sequence.to(common), values.to(common)
    if sorter is not None and (sorter.dtype is not int64 or tuple(sorter.shape) != tuple(sequence.shape)):
        raise ValueRangeError(
            f"the sorter must be int64 of shape {list(sequence.shape)}, got {sorter.dtype.name} of shape "
            f"{list(sorter.shape)}",
            hint="use argsort() of the sequence",
            operator=name,
        )
    return search_rows(sequence, values, sorter, right or side == "right", out_int32)


def _search_samples() -> Iterator[Sample]:
    yield Sample((Array((5,), low=0, high=4), Array((2, 3), low=0, high=4, seed=1)))
    yield Sample((Array((2, 5), low=0, high=0), Array((2, 3), low=0, high=4, seed=1)), {"right": True})
    yield Sample((Array((5,), low=0, high=4), 2), {"out_int32": True})
    yield Sample((Array((5,), low=0, high=4), Array((2, 3), low=0, high=4, seed=1, dtype="float64")))


def _search_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), Array((3, 3))), ShapeError, r"\[2, 3\] and \[3, 3\]")
    yield ErrorSample((Array((3,)), Array((3,))), ModeError, "agree with right=True, got 'left'",
                      {"side": "left", "right": True})  # fmt: skip


@composite(samples=_search_samples, errors=_search_errors, dtypes=dtypes.ALL, method=False, differentiable=False)
def searchsorted(
    sorted_sequence: Operand, input: Value, *, out_int32: bool = False, right: bool = False, side: Any = None,
    sorter: Operand | None = None,
) -> Any:  # fmt: skip
    """Return, for each value of `input`, the first index at which inserting the value keeps `sorted_sequence` sorted.

    right=True, or side="right": the last such index.  sorter: the indexes that sort the sequence, if it is not sorted.
    out_int32: whether the result is int32 rather than int64.
    Shapes: a sequence [n] serves all values; one of shape [*, n] has a row for each row of the values, [*, m].
    Host:   returns at once.
    Raises: ShapeError if the sequence does not fit the values, ModeError if side and right disagree, or for any other
            side, ValueRangeError for a sorter of another type or shape.
    Example:
        >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 6, 0]))
        tensor([1, 3, 0])
    """
    return _search("searchsorted", sorted_sequence, input, sorter, right, side, out_int32)


def _bucket_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 3), low=0, high=4, seed=1), Array((5,), low=0, high=4)))
    yield Sample((2, Array((5,), low=0, high=4)), {"right": True, "out_int32": True})


def _bucket_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), Array((3, 3))), ShapeError, r"boundaries must be a vector, got shape \[3, 3\]")


@composite(samples=_bucket_samples, errors=_bucket_errors, dtypes=dtypes.ALL, method=False, differentiable=False)
def bucketize(input: Value, boundaries: Operand, *, out_int32: bool = False, right: bool = False) -> Any:
    """Return the index of the bucket of each value v: index i means boundaries[i - 1] < v <= boundaries[i].

    right: True means boundaries[i - 1] <= v < boundaries[i] instead.  out_int32: True gives int32, not int64.
    Shapes: the boundaries are a sorted vector; the result has the input's shape.
    Host:   returns at once.
    Raises: ShapeError unless the boundaries are a vector.
    Example:
        >>> torch.bucketize(torch.tensor([3, 6, 0]), torch.tensor([1, 3, 5]))
        tensor([1, 3, 0])
    """
    if len(boundaries.shape) != 1:
        raise ShapeError(
            f"the boundaries must be a vector, got shape {list(boundaries.shape)}",
            hint="use searchsorted() for a row of boundaries for each row of values",
            operator="bucketize",
        )
    return _search("bucketize", boundaries, input, None, right, None, out_int32)


# membership

FEW_MEMBERS = 16
LARGEST_TABLE = 1 << 22  # the range of integers whose membership is looked up in a table on the CPU


def _member_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4), low=0, high=4), Array((3,), low=0, high=4, seed=1)))
    yield Sample((Array((4, 3), low=0, high=4, layout="transposed"), Array((40,), low=0, high=9, seed=1)))
    yield Sample((Array((3, 4), low=0, high=4), 2), {"invert": True})


def _member_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((1, 2), ArgumentError, "elements or test_elements must be a tensor")


@cache
def _host_isin_kernel(dtype: dtype) -> Kernel:
    """Return the kernel of `isin` on the CPU, without device code."""

    def reference(out: Any, elements: Any, members: Any, numel: int, count: int, invert: int) -> None:
        if count <= FEW_MEMBERS:
            out[...] = False
            for member in members:
                out |= elements == member
        elif dtype is bool_ or int(members.max()) - int(members.min()) < LARGEST_TABLE:
            out[...] = np.isin(elements, members, kind="table")
        else:
            ordered = np.sort(members)
            places = np.searchsorted(ordered, elements)
            out[...] = ordered[np.minimum(places, count - 1)] == elements
        if invert:
            np.logical_not(out, out=out)

    arrays = [Pointer("out", bool_, "w", ("numel",)), Pointer("elements", dtype, "r", ("numel",))]
    arrays.append(Pointer("members", dtype, "r", ("count",)))
    numbers = [Scalar(name, "int64") for name in ("numel", "count", "invert")]
    return Kernel(f"host_isin_{dtype.name}", "", [*arrays, *numbers], reference)


@operator(samples=tuple, method=False, function=False, differentiable=False)
def host_isin(call: Call, elements: Operand, members: Operand, invert: bool) -> Any:
    """Test whether each element of a CPU tensor is in a vector of the same type: of few floats, or of integers."""
    out = call.output(elements.shape, bool_)
    numel, count = elements.numel(), members.numel()
    if numel:
        kernel, grid = _host_isin_kernel(elements.dtype), Grid((1, 1, 1), 1)
        call.launch(kernel, grid, out, call.contiguous(elements), call.contiguous(members), numel, count, int(invert))
    return out


@composite(
    samples=_member_samples, errors=_member_errors, dtypes=dtypes.ALL, method=False, differentiable=False,
    other_names={"element": "elements", "test_element": "test_elements"},
)  # fmt: skip
def isin(elements: Value, test_elements: Value, *, assume_unique: bool = False, invert: bool = False) -> Any:
    """Return, for each element, whether it equals one of the test elements.

    NaN equals no element.  assume_unique: has no effect.  invert: True returns the opposite, True for elements that
    equal none.
    Shapes: the result has the shape of `elements`.
    Host:   returns at once.
    Raises: ArgumentError if `elements` and `test_elements` are both numbers.
    Example:
        >>> torch.isin(torch.tensor([[1, 2], [3, 4]]), torch.tensor([2, 3]))
        tensor([[False,  True],
                [ True, False]])
    """
    values: Any = elements
    members: Any = test_elements
    if not hasattr(values, "strides") and not hasattr(members, "strides"):
        raise ArgumentError(
            f"elements or test_elements must be a tensor, got {shown(values)} and {shown(members)}",
            hint="compare the numbers in Python",
            operator="isin",
        )
    if not hasattr(members, "strides"):
        is_member = REGISTRY["eq"](values, members)
        return REGISTRY["logical_not"](is_member) if invert else is_member
    if not hasattr(values, "strides"):
        is_member = any_(REGISTRY["eq"](members, values))
        return REGISTRY["logical_not"](is_member) if invert else is_member
    common = promote_types(values.dtype, members.dtype)
    source, few = values.to(common), reshape(members.to(common), (-1,))
    count = few.shape[0]
    if not source.is_cuda and (count <= FEW_MEMBERS or not common.is_floating_point):
        return host_isin(source, few, bool(invert))
    if count <= FEW_MEMBERS:
        is_member = any_(REGISTRY["eq"](source.unsqueeze(-1), few), -1)
        return REGISTRY["logical_not"](is_member) if invert else is_member
    ordered = sort_values(few)
    limit: Any = count
    if common.is_floating_point:
        is_nan = REGISTRY["isnan"](ordered)  # NaN is last; places there are no matches
        limit = count - is_nan.sum()
        ordered = ordered.masked_fill(is_nan, inf)
    flat = reshape(source, (-1,))
    places = search_rows(ordered, flat)
    same = REGISTRY["eq"](ordered.index_select(0, places.clamp(max=count - 1)), flat)
    is_member = reshape(same & (places < limit), tuple(source.shape))
    return REGISTRY["logical_not"](is_member) if invert else is_member


# counts of bins

SHARED_BINS = 4096
COUNT_BINS = f"""
__shared__ int own[{SHARED_BINS}];
const bool is_small = bins <= {SHARED_BINS};
for (int bin = threadIdx.x; is_small && bin < bins; bin += blockDim.x) own[bin] = 0;
__syncthreads();
for (long long i = first_index(); i < numel; i += index_step()) {{
    const long long bin = index[i];
    if (bin < 0 || bin >= bins) continue;
    if (is_small) atomicAdd(&own[bin], 1);
    else atomicAdd((unsigned long long*)&out[bin], 1ull);
}}
__syncthreads();
for (int bin = threadIdx.x; is_small && bin < bins; bin += blockDim.x)
    if (own[bin]) atomicAdd((unsigned long long*)&out[bin], (unsigned long long)own[bin]);
"""


@cache
def _bins_kernel() -> Kernel:
    params: list[Param] = [
        Pointer("out", int64, "rw", ("bins",)), Pointer("index", int64, "r", ("numel",)), *scalars("numel", "bins"),
    ]  # fmt: skip

    def reference(out: Any, index: Any, numel: int, bins: int) -> None:
        if index.min() < 0 or index.max() >= bins:
            index = index[(index >= 0) & (index < bins)]
        out[...] += np.bincount(index, minlength=bins)

    arguments = "long long* out, const long long* index, long long numel, long long bins"
    return indexing_kernel("count_bins", arguments, COUNT_BINS, params, reference)


def _bins_samples() -> Iterator[Sample]:
    yield Sample((index_array(50, low=-1, high=6), 5))
    yield Sample((index_array(0), 5))


@operator(samples=_bins_samples, dtypes=(int64,), method=False, function=False, differentiable=False)
def tally(call: Call, index: Operand, bins: int) -> Any:
    """Return how often each of 0 to bins - 1 occurs in a vector of int64; other elements are not counted."""
    out = call.output((bins,), int64)
    if bins:
        call.launch(fill_kernel(int64), grid_over(bins), out, 0, bins)
        numel = index.numel()
        if numel:
            grid = Grid((min(-(-numel // (8 * THREADS)), FULL_DEVICE_BLOCKS), 1, 1), THREADS)
            call.launch(_bins_kernel(), grid, out, call.contiguous(index), numel, bins)
    return out


def _bincount_samples() -> Iterator[Sample]:
    yield Sample((Array((9,), low=0, high=4),))
    yield Sample((Array((9,), low=0, high=4), Array((9,), dtype="float32", seed=1), 7))
    yield Sample((Array((0,)), None, 3))


def _bincount_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3), dtype="int64"),), ShapeError, r"a vector, got shape \[2, 3\]")
    yield ErrorSample((Array((3,)),), DtypeError, "of an integer type, got float32")
    yield ErrorSample((Array((3,), low=-1, high=1, dtype="int64"),), ValueRangeError, "at least 0, the least is -1")
    wrong = (Array((3,), low=0, high=1, dtype="int64"), Array((2,)))
    yield ErrorSample(wrong, ShapeError, r"weights of shape \[2\] .* \[3\]")


@composite(
    samples=_bincount_samples, errors=_bincount_errors, dtypes=INTEGER_TYPES, host="waits", differentiable=False,
    takes_out=False,
)  # fmt: skip
def bincount(input: Operand, weights: Operand | None = None, minlength: int = 0) -> Any:
    """Count how often each of 0, 1, 2, ... occurs in a vector of integers, or with `weights` sum the weights of each.

    Shapes: a vector; the result has minlength elements, or one more than the greatest integer if that is more.  It is
            int64; with weights float32 if they are float32, else float64.
    Host:   waits for the least and the greatest integer.
    Raises: ShapeError unless the input is a vector and the weights have its shape, DtypeError for floating point,
            ValueRangeError for a negative integer.
    Example:
        >>> torch.bincount(torch.tensor([1, 3, 1]))
        tensor([0, 2, 0, 1])
    """
    if len(input.shape) != 1:
        raise ShapeError(
            f"the input must be a vector, got shape {list(input.shape)}", hint="flatten it", operator="bincount"
        )
    if input.dtype not in INTEGER_TYPES:
        raise DtypeError(
            f"the input must be of an integer type, got {input.dtype.name}",
            hint="convert with .long()",
            operator="bincount",
        )
    if weights is not None and input.shape[0] and tuple(weights.shape) != tuple(input.shape):
        raise ShapeError(
            f"weights of shape {list(weights.shape)} do not match the input, {list(input.shape)}",
            hint="pass one weight for each integer",
            operator="bincount",
        )
    if minlength < 0:
        raise ValueRangeError(
            f"minlength must be at least 0, got {minlength}", hint="leave it out", operator="bincount"
        )
    few = few_bins(input) if fits_block(input, input.shape) else None
    bins = minlength
    if input.shape[0]:
        least, greatest = _ends(input) if few is None else few[1].tolist()
        if least < 0:
            raise ValueRangeError(
                f"the integers must be at least 0, the least is {least}",
                hint="subtract the least one: input - input.min()",
                operator="bincount",
            )
        bins = max(minlength, greatest + 1)
    if few is not None and weights is None and bins <= FEW_BINS:
        return first_rows(few[0], bins)
    index: Any = input.to(int64)
    if weights is None or not input.shape[0]:
        return tally(index, bins)
    given: Any = weights if weights.dtype is float32 else weights.to(float64)
    return given.new_zeros((bins,)).index_add(0, index, given)


def _histc_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), 5))
    yield Sample((Array((4, 3), layout="transposed"), 4, -1, 1))
    yield Sample((Array((0,)), 3))


def _histc_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), 0), ValueRangeError, "bins must be greater than 0, got 0")
    yield ErrorSample((Array((3,)), 3, 2, 1), ValueRangeError, "max must be at least min, got 2 and 1")
    yield ErrorSample((Array((3,), dtype="bool"),), DtypeError, "must be of a numeric type, got bool")


def _check_bins(name: str, bins: int) -> None:
    """Raise ValueRangeError for a number of bins below 1."""
    if bins < 1:
        raise ValueRangeError(
            f"bins must be greater than 0, got {bins}", hint="pass 1 or more: 100 is the default", operator=name
        )


def _check_bounds(name: str, low: float, high: float) -> None:
    """Raise ValueRangeError unless two bounds are finite and in order."""
    if low > high or not (isfinite(low) and isfinite(high)):
        raise ValueRangeError(
            f"max must be at least min, got {low} and {high}", hint="pass finite bounds in order", operator=name
        )


def _check_edges(name: str, edges: Any, input: Any) -> None:
    """Raise ShapeError or DtypeError for edges that are no vector of two or more, of the input's type."""
    if len(edges.shape) != 1 or edges.shape[0] < 2:
        raise ShapeError(
            f"edges of bins must be a vector of at least 2 elements, got shape {list(edges.shape)}",
            hint="pass n + 1 edges for n bins",
            operator=name,
        )
    if edges.dtype is not input.dtype:
        raise DtypeError(
            f"the input is {input.dtype.name}, but the edges of the bins are {edges.dtype.name}",
            hint=f"convert them with .to(torch.{input.dtype.name})",
            operator=name,
        )


def _place_samples() -> Iterator[Sample]:
    yield Sample((Array((12,)), -1, 1, 5))
    yield Sample((Array((12,), layout="strided"), Array((), low=0, high=0), Array((), low=1, high=1), 3))
    yield Sample((Array((3,), low=1, high=1), Array((), low=1, high=1), Array((), low=1, high=1), 3))


def _binned(name: str, types: Sequence[dtype], common: dtype) -> tuple[Sequence[dtype], dtype]:
    """Compute in the wide type of the elements, float64 for integers; return int64."""
    return [types[0].wide if types[0].is_floating_point else float64] * len(types), int64


@pointwise(
    dtype=_binned, samples=_place_samples, dtypes=(*INTEGER_TYPES, *FLOATING_TYPES), cost=8.0,
    cuda="low == high ? (input == low ? floor(bins / 2) : -1) : input >= low && input <= high "
    "? fmin(floor((input - low) * bins / (high - low)), bins - 1) : -1",
    inplace=False, method=False, function=False, differentiable=False,
)  # fmt: skip
def bin_places(input: Value, low: Value, high: Value, bins: Value) -> Any:
    """Return the bin of each element among `bins` bins from low to high.

    It is -1 outside, and the middle bin if the bounds are equal.
    """
    width = np.where(low == high, 1, high - low)
    at = np.floor((input - low) * bins / width)
    at = np.where(low == high, np.floor(bins / 2), np.fmin(at, bins - 1))
    return np.where((input >= low) & (input <= high), at, -1)


@composite(samples=_histc_samples, errors=_histc_errors, dtypes=(*INTEGER_TYPES, *FLOATING_TYPES), differentiable=False)
def histc(input: Operand, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    """Return the number of elements in each of `bins` bins of equal width from min to max; others are ignored.

    If min and max are equal, the range is from the least to the greatest element.
    Shapes: a vector of `bins` elements, of the input's type.
    Host:   returns at once.
    Raises: DtypeError for booleans, ValueRangeError if bins < 1, min > max, or a bound is not finite.
    Example:
        >>> torch.histc(torch.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
        tensor([0., 2., 1., 0.])
    """
    if input.dtype is bool_:
        raise DtypeError("input must be of a numeric type, got bool", hint="convert with .int()", operator="histc")
    _check_bins("histc", bins)
    _check_bounds("histc", min, max)
    flat: Any = reshape(input, (-1,))
    low, high = _bounds(flat, min, max)
    return tally(bin_places(flat, low, high, bins), bins).to(input.dtype)


def _bounds(flat: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Return the bounds as numbers or tensors.  Equal bounds are replaced by the elements', which may be equal, too."""
    if low == high and flat.shape[0]:
        least, greatest = aminmax(flat)
        return least, greatest
    return low, low + 1 if low == high else high


def _places_between(edges: Any, flat: Any) -> Any:
    """Return the bin of each element between the edges, -1 outside; the last bin includes its right edge."""
    count = edges.shape[0] - 1
    places = search_rows(edges, flat, None, True) - 1
    last = edges.narrow(0, count, 1)
    places = REGISTRY["where"](REGISTRY["eq"](flat, last), count - 1, places)
    outside = REGISTRY["isnan"](flat) | REGISTRY["gt"](flat, last)
    return places.masked_fill(outside, -1)


def _edges_of(name: str, flat: Any, bounds: Any, bins: int) -> Any:
    """Return the edges of bins of equal width, computed as by `linspace`.  Equal bounds are moved apart by 1.

    bounds: (least, greatest), None for those of the elements.
    """
    _check_bins(name, bins)
    low: Any
    high: Any
    low, high = bounds or (0, 0)
    _check_bounds(name, low, high)
    if bounds is None:
        low, high = _bounds(flat, low, high)
    if hasattr(low, "strides"):
        apart = REGISTRY["eq"](low, high).to(flat.dtype) * 0.5
        low, high = low - apart, high + apart
    elif low == high:
        low, high = low - 0.5, high + 0.5
    low, high = (bound if hasattr(bound, "strides") else flat.new_full((), bound) for bound in (low, high))
    step = ((high - low) / bins).to(float64)
    places = REGISTRY["arange"](flat.new_empty((bins + 1,), dtype=float64))
    is_first = REGISTRY["lt"](places, (bins + 1) // 2)
    return REGISTRY["where"](is_first, step * places + low, high - step * (bins - places)).to(flat.dtype)


def _histogram_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), 5))
    yield Sample((Array((12,)), 4), {"range": (-1.0, 1.0), "weight": Array((12,), seed=1), "density": True})
    yield Sample((Array((3, 4)), Array((3,), low=-1, high=-1)))


def _histogram_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), 0), ValueRangeError, "bins must be greater than 0, got 0")
    yield ErrorSample((Array((3,), dtype="int64"), 3), DtypeError, "must be floating point, got int64")
    yield ErrorSample((Array((3,)), 3), ShapeError, r"weight of shape \[2\] .* \[3\]", {"weight": Array((2,))})
    yield ErrorSample((Array((3,)), 3), ValueRangeError, "max must be at least min, got 2 and 1", {"range": (2, 1)})
    yield ErrorSample((Array((3,)), 3), ValueRangeError, r"range must be .* 2 numbers, got \(2,\)", {"range": (2,)})
    yield ErrorSample((Array((3,)), Array((1,))), ShapeError, r"at least 2 elements, got shape \[1\]")
    yield ErrorSample((Array((3,)), Array((2,), dtype="int64")), DtypeError, "input is float.*edges.* are int64")


@composite(samples=_histogram_samples, errors=_histogram_errors, dtypes=(float32, float64), differentiable=False)
def histogram(
    input: Operand, bins: Any = 100, *, range: Any = None, weight: Operand | None = None, density: bool = False
) -> Any:
    """Return (hist, bin_edges): the number of elements in each bin, or with `weight` the sums of their weights.

    bins: the number of bins of equal width, or a vector of their edges.  range: (least, greatest) edge; by default the
    least and greatest elements.  density: True divides by the total and by the width of each bin.
    Shapes: vectors of `bins` and bins + 1 elements.
    Host:   returns at once.
    Raises: DtypeError for integers, ValueRangeError for less than 1 bin or a bad range, ShapeError if weights or edges
            do not fit.
    Example:
        >>> torch.histogram(torch.tensor([1.0, 2.0, 1.0]), bins=3, range=(0.0, 3.0)).hist
        tensor([0., 2., 1.])
    """
    flat: Any = reshape(input, (-1,))
    if weight is not None and tuple(weight.shape) != tuple(input.shape):
        raise ShapeError(
            f"weight of shape {list(weight.shape)} does not match the input, {list(input.shape)}",
            hint="pass one weight for each element",
            operator="histogram",
        )
    if not input.dtype.is_floating_point:
        raise DtypeError(
            f"input must be floating point, got {input.dtype.name}", hint="convert with .float()", operator="histogram"
        )
    if range is not None and (hasattr(bins, "strides") or len(range) != 2):
        raise ValueRangeError(
            f"range must be None if bins holds edges, and otherwise 2 numbers, got {shown(range)}",
            hint="pass the least and the greatest edge, or the edges alone",
            operator="histogram",
        )
    if hasattr(bins, "strides"):
        _check_edges("histogram", bins, input)
    edges = bins if hasattr(bins, "strides") else _edges_of("histogram", flat, range, bins)
    count = edges.shape[0] - 1
    places = _places_between(edges, flat)
    counts = _counted(flat, places, count, weight)
    if density:
        counts = counts / (counts.sum() * REGISTRY["diff"](edges))
    return results.histogram(counts, edges)


def _histogramdd_samples() -> Iterator[Sample]:
    yield Sample((Array((6, 2)), [3, 2]))
    yield Sample((Array((2, 3, 2)), 2), {"range": [-1.0, 1.0, -0.5, 0.5], "density": True})
    yield Sample((Array((5, 1)), [4]), {"weight": Array((5,), seed=1)})


def _histogramdd_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), 2), ShapeError, r"at least 2 dimensions, got shape \[3\]")
    yield ErrorSample((Array((3, 2)), [2]), ArgumentError, "1 .* 2 dimensions")
    yield ErrorSample((Array((3, 2), dtype="int64"), 2), DtypeError, "must be floating point, got int64")
    yield ErrorSample((Array((3, 2)), 2), ShapeError, r"weight of shape \[2\] .* \[3\]", {"weight": Array((2,))})
    yield ErrorSample((Array((3, 2)), 2), ArgumentError, "range .* 4 numbers, got 2", {"range": [0.0, 1.0]})


@composite(
    samples=_histogramdd_samples,
    errors=_histogramdd_errors,
    dtypes=(float32, float64),
    differentiable=False,
    method=False,
)
def histogramdd(
    input: Operand, bins: Any, range: Any = None, weight: Operand | None = None, density: bool = False
) -> Any:
    """Return (hist, bin_edges): the number of points in each box of a grid, or the sums of their weights.

    bins: the number of bins of equal width of each dimension, one number for all of them, or a vector of edges of each.
    range: a flat list of the least and greatest edge of each dimension; by default its least and greatest coordinates.
    density: True divides by the total and by the volume of each box.
    Shapes: [*, n] is points of n dimensions; hist has a dimension for each of them, bin_edges is n vectors.
    Host:   returns at once.
    Raises: ShapeError for fewer than two dimensions, or if weights or edges do not fit, DtypeError for integers,
            ValueRangeError for bins or a range out of range.
    Example:
        >>> points = torch.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [2.0, 2.0]])
        >>> torch.histogramdd(points, bins=[2, 2]).hist
        tensor([[0., 1.],
                [2., 1.]])
    """
    name = "histogramdd"
    if not input.dtype.is_floating_point:
        raise DtypeError(
            f"input must be floating point, got {input.dtype.name}", hint="convert with .float()", operator=name
        )
    if len(input.shape) < 2:
        raise ShapeError(
            f"input must have at least 2 dimensions, got shape {list(input.shape)}",
            hint="pass points whose last dimension holds the coordinates",
            operator=name,
        )
    if weight is not None and tuple(weight.shape) != tuple(input.shape[:-1]):
        raise ShapeError(
            f"weight of shape {list(weight.shape)} does not match the points, {list(input.shape[:-1])}",
            hint="pass one weight for each point",
            operator=name,
        )
    dims = input.shape[-1]
    points: Any = reshape(input, (prod(input.shape[:-1]), dims))
    given = list(bins) if isinstance(bins, (list, tuple)) else [bins] * dims
    if len(given) != dims:
        raise ValueRangeError(
            f"bins has {len(given)} entries for points of {dims} dimensions",
            hint="pass one entry for each dimension",
            operator=name,
        )
    if range is not None and len(range) != 2 * dims:
        raise ValueRangeError(
            f"range must be {2 * dims} numbers, got {len(range)}",
            hint="pass two numbers for each dimension",
            operator=name,
        )
    edges, index = [], None
    for at, wanted in enumerate(given):
        column = points.select(1, at).contiguous()
        if hasattr(wanted, "strides"):
            _check_edges(name, wanted, input)
            edges.append(wanted)
        else:
            edges.append(_edges_of(name, column, None if range is None else range[2 * at : 2 * at + 2], wanted))
        here = _places_between(edges[at], column)
        if index is None:
            index = here
        else:
            is_outside = REGISTRY["lt"](index, 0) | REGISTRY["lt"](here, 0)
            index = (index * (edges[at].shape[0] - 1) + here).masked_fill(is_outside, -1)
    shape = [edge.shape[0] - 1 for edge in edges]
    counts = _counted(points, index, prod(shape), weight).reshape(shape)
    if density:
        counts = counts / counts.sum()
        for at, edge in enumerate(edges):
            counts = counts / REGISTRY["diff"](edge).reshape([-1 if dim == at else 1 for dim, _ in enumerate(edges)])
    return results.histogramdd(counts, tuple(edges))


def _counted(values: Any, places: Any, bins: int, weight: Any) -> Any:
    """Return the number of elements in each bin, or the sum of their weights, in the type of the values."""
    if weight is None:
        return tally(places, bins).to(values.dtype)
    spare = places.masked_fill(places < 0, bins)
    return values.new_zeros((bins + 1,)).index_add(0, spare, reshape(weight, (-1,))).narrow(0, 0, bins)
