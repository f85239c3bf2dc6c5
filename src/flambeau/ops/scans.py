"""Scans along a dimension: cumulative sums, products, minima and maxima; differences and integrals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from .. import dtypes
from .. import strides as st
from ..core import thread
from ..dtypes import FLOATING_TYPES, bool_, dtype, int64, uint8
from ..errors import ArgumentError, DtypeError, IndexRangeError, ShapeError, ValueRangeError
from ..host import np
from ..kernel import Grid, Kernel, Param, Pointer, Scalar, Strided
from . import results
from .copies import fill_kernel
from .operator import REGISTRY, Array, Call, ErrorSample, Operand, Sample, composite, operator
from .pointwise import FULL_DEVICE_BLOCKS, THREADS, grid_over, source_text
from .reduction_kernels import REDUCE_SOURCE, dims_of, layout_along
from .samples import bad_dims

SCAN_SOURCE = REDUCE_SOURCE + source_text("scan.cu")
SHORT_ROW = 32 * THREADS  # a row of at most this many elements is one part
MANY_ROWS = 132 * 8  # rows that fill a device without being divided
SCAN_PARTS = 132 * 16 * THREADS  # about the number of parts of all rows, if a thread scans a part
ACROSS_CHUNK = 256  # the fewest elements of a part that one thread scans
EXTREME_BYTES = 16  # bytes of a value and its index
SERIAL_ROW = 64  # a thread scans a row of at most this many elements, of any stride


class Scan(NamedTuple):
    """A scan in CUDA C++ and in NumPy: its identity (`begin`), and the operation that joins two results (`join`)."""

    name: str
    begin: str
    join: str
    ufunc: str


SUM = Scan("running_sum", "0", "a + b", "add")
PROD = Scan("running_product", "1", "a * b", "multiply")
LOG = Scan("running_log_sum", "lowest<C>()", "log_add(a, b)", "logaddexp")


class ScanPlan(NamedTuple):
    """The distribution of a scan over threads: `rows` rows of `size` elements, each divided into `chunks` parts."""

    layout: Any
    rows: int
    size: int
    chunk: int
    chunks: int
    across: bool

    def grid(self) -> Grid:
        count = self.rows * self.chunks
        return Grid((min(-(-count // THREADS) if self.across else count, FULL_DEVICE_BLOCKS), 1, 1), THREADS)

    def numbers(self, reverse: bool) -> tuple[int, ...]:
        return self.rows, self.size, self.chunk, self.chunks, int(reverse)


def plan_scan(shape: Sequence[int], operands: Sequence[Sequence[int]], dim: int, nbytes: int) -> ScanPlan:
    """Distribute a scan along `dim` over threads.  operands: strides of result and input.  nbytes: of one value."""
    layout, rows, size, is_inner = layout_along(shape, operands, dim)
    across = not is_inner or size <= SERIAL_ROW
    if size <= (ACROSS_CHUNK if across else SHORT_ROW) or rows > (SCAN_PARTS // 2 if across else MANY_ROWS):
        return ScanPlan(layout, rows, size, size, 1, across)
    chunk = (32 if nbytes <= 4 else 16) * THREADS  # kernels/scan.cu has the same numbers
    if across:
        chunk = -(-size // max(SCAN_PARTS // rows, 1))
        chunk = -(-chunk // ACROSS_CHUNK) * ACROSS_CHUNK
    return ScanPlan(layout, rows, size, chunk, -(-size // chunk), across)


NUMBERS = ("rows", "size", "chunk", "chunks", "reverse", "count")  # count: of `published`
PART_PARAMETERS: list[Param] = [
    Pointer("published", int64, "rw", ("count",)), Pointer("next", int64, "rw", (1,)),
    *(Scalar(name, "int64") for name in NUMBERS),
]  # fmt: skip
MARKS = "unsigned long long* published, unsigned long long* next"
PART_ARGUMENTS = ", ".join([MARKS, *(f"long long {name}" for name in NUMBERS)])
PARTS = "Parts{rows, size, chunk, chunks, reverse != 0}, published, next"
TOTALS = ("rows", "chunks")


def _scan_source(entry: str, arguments: str, op: str, across: bool, meaning: str = "", operands: int = 2) -> str:
    return f"""{SCAN_SOURCE}{meaning}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({arguments},
    const __grid_constant__ Layout<{operands}> layout, {PART_ARGUMENTS}) {{
  scan<{str(across).lower()}>({op}, {PARTS});
}}
"""


def _host_parts(rows: Any, chunk: int, chunks: int) -> Iterator[tuple[int, Any]]:
    for part in range(chunks):
        yield part, rows[:, part * chunk : (part + 1) * chunk]


@cache
def scan_kernel(scan: Scan, source: dtype, wide: dtype, out: dtype, across: bool) -> Kernel:
    """Return the kernel of a scan along the last dimension of a layout, or of the totals of its parts."""
    entry = f"{scan.name}_{source.name}_{wide.name}_{out.name}{'_across' if across else ''}"
    c = wide.cuda
    meaning = f"""
struct Meaning {{
  typedef {c} C;
  static C begin() {{ return {scan.begin}; }}
  static C join(C a, C b) {{ return {scan.join}; }}
}};
"""
    op = f"Scan<Meaning, {c}, {source.cuda}, {out.cuda}>{{out, input, totals, before, layout}}"
    arguments = f"{out.cuda}* out, const {source.cuda}* input, {c}* totals, const {c}* before"

    def reference(
        result: Any, input: Any, totals: Any, before: Any, published: Any, next: Any, rows: int, size: int, chunk: int,
        chunks: int, reverse: int, count: int,
    ) -> None:  # fmt: skip
        ufunc, step = getattr(np, scan.ufunc), -1 if reverse else 1
        computes = np.dtype("float64") if wide.is_floating_point else wide.numpy  # roundings of float32 would add up
        values = input.astype(computes, copy=False).reshape(rows, size)[:, ::step]
        scanned = np.empty((rows, size), computes)
        for part, piece in _host_parts(values, chunk, chunks):
            accumulated = ufunc.accumulate(piece, axis=1)
            if result is None:
                totals[:, part] = accumulated[:, -1]
                continue
            if part:
                last = scanned[:, part * chunk - 1] if before is None else before[:, part - 1]
                accumulated = ufunc(last[:, None], accumulated)
            scanned[:, part * chunk : (part + 1) * chunk] = accumulated
        if result is not None:
            result[...] = scanned[:, ::step].reshape(result.shape)

    params: list[Param] = [
        Pointer("out", out, "w", "layout"), Pointer("input", source, "r", "layout"),
        Pointer("totals", wide, "w", TOTALS), Pointer("before", wide, "r", TOTALS),
        Strided("layout", ("out", "input")), *PART_PARAMETERS,
    ]  # fmt: skip
    return Kernel(entry, _scan_source(entry, arguments, op, across, meaning), params, reference, 2.0)


def _published(call: Call, plan: ScanPlan, nbytes: int) -> tuple[Any, Any, int]:
    """Return the arguments `published`, `next` and `count`, by which blocks wait for one another.

    nbytes: of a total.
    """
    count = plan.rows * (plan.chunks + -(-plan.chunks // THREADS)) * -(-nbytes // 4)
    marks = call.scratch((count + 1,), int64)
    call.launch(fill_kernel(int64), grid_over(count + 1), marks, 0, count + 1)
    return call.part(marks, (count,), (1,), 0), call.part(marks, (1,), (1,), count), count


def run_scan(call: Call, scan: Scan, input: Any, dim: int, out: Any, wide: dtype, reverse: bool = False) -> None:
    """Queue the launches that scan `input` along `dim` into `out`, of the same shape."""
    if not out.numel():
        return
    plan = plan_scan(input.shape, [out.strides, input.strides], dim, wide.itemsize)
    kernel = scan_kernel(scan, input.dtype, wide, out.dtype, plan.across)
    waits = plan.chunks > 1 and not plan.across
    published, next_part, count = _published(call, plan, wide.itemsize) if waits else (None, None, 0)
    end = (plan.layout, published, next_part, *plan.numbers(reverse), count)
    if plan.chunks == 1 or waits:
        call.launch(kernel, plan.grid(), out, input, None, None, *end)
        return
    shape = plan.rows, plan.chunks
    totals, before = call.scratch(shape, wide), call.scratch(shape, wide)
    call.launch(kernel, plan.grid(), None, input, totals, None, *end)
    run_scan(call, scan, totals, 1, before, wide)
    call.launch(kernel, plan.grid(), out, input, None, before, *end)


# sums, products and logarithms of sums


def _sum_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 5)), 0))
    yield Sample((Array((5, 3), layout="transposed"), -1))
    yield Sample((Array((2, 600)), 1))
    yield Sample((Array((0, 3)), 0))
    yield Sample((Array(()), 0))


def _product_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 5)), 0))
    yield Sample((Array((5, 3), layout="transposed"), -1))
    yield Sample((Array((2, 4), low=0.5, high=2), 1))
    yield Sample((Array((2, SERIAL_ROW + 1), low=1, high=1, grad=False), 1))
    yield Sample((Array((0, 3)), 0))
    yield Sample((Array(()), 0))


def _total_type(call: Call, input: Any, wanted: dtype | None) -> dtype:
    """Return the type of a cumulative sum or product."""
    result = wanted or (input.dtype if input.dtype.is_floating_point else int64)
    if result is bool_:
        raise DtypeError(f"{call.name} of type bool is not supported", hint="use dtype=torch.int64", operator=call.name)
    return result


def _scanned(call: Call, scan: Scan, input: Any, dim: int, wanted: dtype | None, reverse: bool) -> Any:
    at = st.wrap_dim(dim, len(input.shape), call.name)
    result = _total_type(call, input, wanted)
    out = call.output(input.shape, result)
    run_scan(call, scan, input, at, out, result.wide if result.is_floating_point else int64, reverse)
    return out


@operator(samples=_sum_samples, errors=bad_dims, dtypes=dtypes.ALL, method=False, function=False)
def running_sum(call: Call, input: Operand, dim: int, dtype: Any = None, reverse: bool = False) -> Any:
    """Compute `cumsum`.  reverse: sum from each element to the end.

    Raises: IndexRangeError if the dimension is out of range.
    """
    return _scanned(call, SUM, input, dim, dtype, reverse)


@running_sum.derivative
def _(grad: Any, dim: int, reverse: bool) -> Any:
    return running_sum(grad, dim, None, not reverse)


@composite(samples=_sum_samples, errors=bad_dims, dtypes=dtypes.ALL, inplace=True)
def cumsum(input: Operand, dim: int, dtype: Any = None) -> Any:
    """Compute the cumulative sum along `dim`: element i is the sum of elements 0 to i.

    dtype: the type of the result; None keeps floating types and gives int64 for the others.
    Shapes: the result has the input's shape.
    Host:   returns at once.
    Raises: IndexRangeError if dim is out of range.
    Example:
        >>> torch.cumsum(torch.tensor([[1, 2, 3], [4, 5, 6]]), dim=1)
        tensor([[ 1,  3,  6],
                [ 4,  9, 15]])
    """
    return running_sum(input, dim, dtype)


@operator(samples=_product_samples, errors=bad_dims, dtypes=dtypes.ALL, method=False, function=False)
def running_product(call: Call, input: Operand, dim: int, reverse: bool = False, dtype: Any = None) -> Any:
    """Compute `cumprod`.  reverse: multiply from each element to the end.

    Raises: IndexRangeError if the dimension is out of range.
    """
    return _scanned(call, PROD, input, dim, dtype, reverse)


running_product.node_name = "CumprodBackward0"


@running_product.derivative
def _(grad: Any, out: Any, input: Any, dim: int, reverse: bool) -> Any:
    is_zero = input == 0
    is_recorded = thread.here().grad_enabled and not input.is_meta  # tensors on the device meta have no values
    if is_recorded and bool(is_zero.any()):  # the derivative of the result below is right without zeros
        return _slopes_of_products(grad, input, dim, reverse)
    first = is_zero & (running_sum(is_zero, dim, None, reverse) == 1)
    rest = running_sum(grad * running_product(input.masked_fill(first, 1), dim, reverse), dim, None, not reverse)
    others = running_sum(grad * out, dim, None, not reverse) / input.masked_fill(is_zero, 1)
    return REGISTRY["where"](first, rest, others.masked_fill(is_zero, 0))


def _slopes_of_products(grad: Any, input: Any, dim: int, reverse: bool) -> Any:
    """Return the gradient of `running_product` without a division, from the products of all pieces of each row."""
    if not input.shape:
        return grad
    where, rows, slopes = REGISTRY["where"], input.transpose(dim, -1), grad.transpose(dim, -1)
    if reverse:
        rows, slopes = rows.flip(-1), slopes.flip(-1)
    positions = rows.new_ones(rows.shape[-1], dtype=int64).cumsum(0)
    is_later = positions.unsqueeze(1) < positions
    between = running_product(where(is_later, rows.unsqueeze(-2), 1), -1)  # [k, i]: of the elements k + 1 to i
    after = where(positions.unsqueeze(1) <= positions, between, 0) * slopes.unsqueeze(-2)
    one = rows.new_ones((*rows.shape[:-1], 1))
    before = running_product(REGISTRY["cat"]([one, rows.narrow(-1, 0, rows.shape[-1] - 1)], -1), -1)
    result = before * after.sum(-1)
    return (result.flip(-1) if reverse else result).transpose(dim, -1)


@composite(samples=_product_samples, errors=bad_dims, dtypes=dtypes.ALL, inplace=True)
def cumprod(input: Operand, dim: int, *, dtype: Any = None) -> Any:
    """Compute the cumulative product along `dim`: element i is the product of elements 0 to i.

    dtype: the type of the result; None keeps floating types and gives int64 for the others.
    A backward pass with create_graph=True waits for the input, to test whether it has zeros.
    Shapes: the result has the input's shape.
    Host:   returns at once.
    Raises: IndexRangeError if dim is out of range.
    Example:
        >>> torch.cumprod(torch.tensor([[1, 2, 3], [4, 5, 6]]), dim=1)
        tensor([[  1,   2,   6],
                [  4,  20, 120]])
    """
    return running_product(input, dim, False, dtype)


@operator(samples=_sum_samples, errors=bad_dims, dtypes=FLOATING_TYPES, method=False, function=False)
def running_log_sum(call: Call, input: Operand, dim: int, reverse: bool = False) -> Any:
    """Compute `logcumsumexp`.  reverse: from each element to the end.

    Raises: IndexRangeError if the dimension is out of range.
    """
    return _scanned(call, LOG, input, dim, None, reverse)


running_log_sum.node_name = "LogcumsumexpBackward0"


@running_log_sum.derivative
def _(grad: Any, out: Any, input: Any, dim: int, reverse: bool) -> Any:
    finite, where = out.masked_fill(out == -float("inf"), 0), REGISTRY["where"]

    def share(part: Any) -> Any:  # the positive elements of `part`, whose logarithm is finite
        is_more = part > 0
        logarithm = where(is_more, where(is_more, part, 1.0).log() - finite, -float("inf"))
        return (running_log_sum(logarithm, dim, not reverse) + input).exp()

    return share(grad) - share(-grad)


@composite(samples=_sum_samples, errors=bad_dims, dtypes=FLOATING_TYPES)
def logcumsumexp(input: Operand, dim: int) -> Any:
    """Compute the logarithm of the cumulative sum of exponentials along `dim`, without overflow.

    Shapes: the result has the input's shape.
    Host:   returns at once.
    Raises: IndexRangeError if dim is out of range, DtypeError for integers.
    Example:
        >>> torch.logcumsumexp(torch.tensor([0.0, 0.0, 0.0]), 0)
        tensor([0.0000, 0.6931, 1.0986])
    """
    if not input.dtype.is_floating_point:
        raise DtypeError(
            f"input must be floating point, got {input.dtype.name}",
            hint="convert with .float()",
            operator="logcumsumexp",
        )
    return running_log_sum(input, dim)


# largest and smallest values so far

HOST_COLUMNS = 64  # from this many columns on, the CPU scans a matrix row by row

def _extremes_so_far(pick: Any, data: Any, source: dtype, values: Any, indexes: Any) -> None:
    """Write the running extremes of rows, and the places of the last elements that equal them."""
    size = data.shape[1]
    wide = data.astype(source.wide.numpy, copy=False)
    best = pick.accumulate(wide, axis=1)
    hits = (wide == best) | (wide != wide) if source.is_floating_point else wide == best
    at = np.flatnonzero(hits)  # every row begins with one
    counts = np.diff(at, append=data.size)
    values[...] = np.repeat(data.reshape(-1)[at], counts).reshape(values.shape)
    indexes[...] = np.repeat(at % size, counts).reshape(indexes.shape)


def _extremes_across(largest: bool, input: Any, values: Any, indexes: Any, source: dtype) -> None:
    """Do the same as `_extremes_so_far` along the first dimension, a step per element, over all others at once."""
    wide = input.astype(source.wide.numpy, copy=False)
    best, kept, places = wide[0].copy(), input[0].copy(), np.zeros(input.shape[1:], np.int64)
    values[0], indexes[0] = kept, places
    for at in range(1, len(input)):
        is_new = wide[at] >= best if largest else wide[at] <= best
        if source.is_floating_point:
            is_new |= wide[at] != wide[at]
        for array, new in ((best, wide[at]), (kept, input[at]), (places, at)):
            np.copyto(array, new, where=is_new)
        values[at], indexes[at] = kept, places


@cache
def extreme_kernel(largest: bool, source: dtype, across: bool) -> Kernel:
    """Return the kernel of `cummax` and `cummin` along the last dimension of a layout, or of totals of parts."""
    entry = f"running_{'largest' if largest else 'smallest'}_{source.name}{'_across' if across else ''}"
    t, names = source.cuda, ("totals", "total_numbers", "before", "before_numbers")
    op = f"ScanExtreme<{str(largest).lower()}, {source.wide.cuda}, {t}>"
    op += "{values, indexes, input, numbers, totals, total_numbers, before, before_numbers, layout}"
    arguments = (
        f"{t}* values, long long* indexes, const {t}* input, const long long* numbers, {t}* totals, "
        f"long long* total_numbers, const {t}* before, const long long* before_numbers"
    )

    def reference(
        values: Any, indexes: Any, input: Any, numbers: Any, totals: Any, total_numbers: Any, before: Any,
        before_numbers: Any, published: Any, next: Any, rows: int, size: int, chunk: int, chunks: int, reverse: int,
        count: int,
    ) -> None:  # fmt: skip
        pick = np.maximum if largest else np.minimum
        is_whole = values is not None and numbers is None and before is None
        if is_whole and rows >= HOST_COLUMNS and input.strides[-1] > input.itemsize:
            source_rows, value_rows, index_rows = [np.moveaxis(array, -1, 0) for array in (input, values, indexes)]
            _extremes_across(largest, source_rows, value_rows, index_rows, source)
            return
        data = np.ascontiguousarray(input.reshape(rows, size))
        if is_whole:
            _extremes_so_far(pick, data, source, values, indexes)
            return
        wide = data.astype(source.wide.numpy, copy=False)
        chosen = np.empty((rows, size), np.int64)
        kept = np.empty((rows, size), data.dtype)
        for part, piece in _host_parts(wide, chunk, chunks):
            here = slice(part * chunk, (part + 1) * chunk)
            best = pick.accumulate(piece, axis=1)
            hits = np.where((piece == best) | (piece != piece), np.arange(piece.shape[1]), 0)
            places = part * chunk + np.maximum.accumulate(hits, axis=1)
            kept[:, here] = np.take_along_axis(data, places, 1)
            chosen[:, here] = places if numbers is None else np.take_along_axis(numbers.reshape(rows, size), places, 1)
            if part and before is not None:
                last, last_number = before[:, part - 1, None], before_numbers[:, part - 1, None]
                earlier = last.astype(wide.dtype)
                is_earlier = (best == best) & ((earlier != earlier) | (pick(earlier, best) != best))
                kept[:, here] = np.where(is_earlier, last, kept[:, here])
                chosen[:, here] = np.where(is_earlier, last_number, chosen[:, here])
            if values is None:
                totals[:, part], total_numbers[:, part] = kept[:, here][:, -1], chosen[:, here][:, -1]
        if values is not None:
            values[...], indexes[...] = kept.reshape(values.shape), chosen.reshape(values.shape)

    params: list[Param] = [
        Pointer("values", source, "w", "layout"), Pointer("indexes", int64, "w", "layout"),
        Pointer("input", source, "r", "layout"), Pointer("numbers", int64, "r", ("rows", "size")),
        *(Pointer(name, int64 if "number" in name else source, "wr"[at > 1], TOTALS) for at, name in enumerate(names)),
        Strided("layout", ("values", "input", "indexes")), *PART_PARAMETERS,
    ]  # fmt: skip
    return Kernel(entry, _scan_source(entry, arguments, op, across, operands=3), params, reference, 4.0)


def _run_extreme(call: Call, largest: bool, input: Any, numbers: Any, dim: int, values: Any, indexes: Any) -> None:
    """Queue the launches that scan `input` along `dim`.  numbers: the indexes of its elements, if not their places."""
    if not values.numel():
        return
    plan = plan_scan(input.shape, [values.strides, input.strides, indexes.strides], dim, EXTREME_BYTES)
    if call.is_on_host:  # a single part
        plan = ScanPlan(plan.layout, plan.rows, plan.size, plan.size, 1, plan.across)
    kernel = extreme_kernel(largest, input.dtype, plan.across)
    none = (None, None)
    waits = plan.chunks > 1 and not plan.across
    published, next_part, count = _published(call, plan, EXTREME_BYTES) if waits else (None, None, 0)
    end = (plan.layout, published, next_part, *plan.numbers(False), count)
    if plan.chunks == 1 or waits:
        call.launch(kernel, plan.grid(), values, indexes, input, numbers, *none, *none, *end)
        return
    shape = plan.rows, plan.chunks
    totals = call.scratch(shape, input.dtype), call.scratch(shape, int64)
    before = call.scratch(shape, input.dtype), call.scratch(shape, int64)
    call.launch(kernel, plan.grid(), *none, input, numbers, *totals, *none, *end)
    _run_extreme(call, largest, *totals, 1, *before)
    call.launch(kernel, plan.grid(), values, indexes, input, numbers, *none, *before, *end)


@operator(samples=_sum_samples, errors=bad_dims, dtypes=dtypes.ALL, method=False, function=False)
def running_extreme(call: Call, input: Operand, dim: int, largest: bool = True) -> Any:
    """Compute `cummax` and `cummin`.

    Raises: IndexRangeError if the dimension is out of range.
    """
    at = st.wrap_dim(dim, len(input.shape), call.name)
    values, indexes = call.output(input.shape, input.dtype), call.scratch(input.shape, int64)
    _run_extreme(call, largest, input, None, at, values, indexes)
    return (results.cummax if largest else results.cummin)(values, indexes)


running_extreme.node_name = "CummaxBackward0"


@running_extreme.derivative
def _(grads: Any, out1: Any, input_shape: Any, dim: int) -> Any:
    return None if grads[0] is None else grads[0].new_zeros(input_shape).scatter_add(dim, out1, grads[0])


@composite(samples=_sum_samples, errors=bad_dims, dtypes=dtypes.ALL)
def cummax(input: Operand, dim: int) -> Any:
    """Return (values, indices) of the largest element so far along `dim`; NaN propagates.

    Of equal elements, the index is that of the last one.
    Shapes: both results have the input's shape; indices are int64.
    Host:   returns at once.
    Raises: IndexRangeError if dim is out of range.
    Example:
        >>> values, indices = torch.cummax(torch.tensor([1, 3, 2, 3]), 0)
        >>> values, indices
        (tensor([1, 3, 3, 3]), tensor([0, 1, 1, 3]))
    """
    return running_extreme(input, dim, True)


@composite(samples=_sum_samples, errors=bad_dims, dtypes=dtypes.ALL)
def cummin(input: Operand, dim: int) -> Any:
    """Return (values, indices) of the smallest element so far along `dim`; NaN propagates.

    Of equal elements, the index is that of the last one.
    Shapes: both results have the input's shape; indices are int64.
    Host:   returns at once.
    Raises: IndexRangeError if dim is out of range.
    Example:
        >>> values, indices = torch.cummin(torch.tensor([3, 1, 2, 1]), 0)
        >>> values, indices
        (tensor([3, 1, 1, 1]), tensor([0, 1, 1, 3]))
    """
    return running_extreme(input, dim, False)


# differences and integrals


def _diff_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 5)),))
    yield Sample((Array((4, 3), layout="transposed"), 2, 0))
    yield Sample((Array((3, 5)), 1, -1, Array((3, 1), seed=1), Array((3, 2), seed=2)))
    yield Sample((Array((0, 3)), 1, 0))


def _diff_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), 1, 2), IndexRangeError, r"expected to be in range of \[-2, 1\], but got 2")
    yield ErrorSample((Array((2, 3)), -1), ValueRangeError, "n must be at least 0, got -1")
    yield ErrorSample((Array(()),), ShapeError, r"at least one dimension, got shape \[\]")


@composite(samples=_diff_samples, errors=_diff_errors, dtypes=dtypes.ALL)
def diff(
    input: Operand, n: int = 1, dim: int = -1, prepend: Operand | None = None, append: Operand | None = None
) -> Any:
    """Return the n-th differences along `dim`: for n = 1, element i is input[i + 1] - input[i].

    prepend, append: tensors that are joined before and after the input along `dim` first, unless n is 0.
    Shapes: the input's, with n elements fewer along `dim`.
    Host:   returns at once.
    Raises: IndexRangeError if dim is out of range, ShapeError for an input without dimensions, ValueRangeError for a
            negative n.
    Example:
        >>> torch.diff(torch.tensor([1, 4, 9]))
        tensor([3, 5])
    """
    if not input.shape:
        raise ShapeError(
            "input must have at least one dimension, got shape []", hint="reshape it to (1,)", operator="diff"
        )
    if n < 0:
        raise ValueRangeError(
            f"n must be at least 0, got {n}", hint="pass 0 or more: 0 returns the input", operator="diff"
        )
    at = st.wrap_dim(dim, len(input.shape), "diff")
    values: Any = input
    if n == 0:
        return values.clone()
    parts = [tensor for tensor in (prepend, input, append) if tensor is not None]
    if len(parts) > 1:
        values = REGISTRY["cat"](parts, at)
    for _ in range(min(n, values.shape[at])):
        after, before = _neighbours(values, at)
        values = after ^ before if values.dtype is bool_ else after - before
    return values


def _neighbours(values: Any, dim: int) -> tuple[Any, Any]:
    """Return (all elements but the first, all but the last) along a dimension."""
    count = max(values.shape[dim] - 1, 0)
    return values.narrow(dim, min(1, values.shape[dim]), count), values.narrow(dim, 0, count)


def _integral_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 5)),))
    yield Sample((Array((3, 5)),), {"dx": 2.0, "dim": 0})
    yield Sample((Array((3, 1)),))
    yield Sample((Array((3, 0)),))
    yield Sample((Array((3, 5)), Array((5,), seed=1)))
    yield Sample((Array((4, 3), layout="transposed"), Array((4, 3), seed=1)), {"dim": 0})


def _integral_errors() -> Iterator[ErrorSample]:
    wrong = {"dim": 2}
    yield ErrorSample((Array((2, 3)),), IndexRangeError, r"expected to be in range of \[-2, 1\], but got 2", wrong)
    yield ErrorSample((Array(()),), IndexRangeError, "specified as -1 but tensor has no dimensions")
    yield ErrorSample((Array((2, 3)), Array((2,))), ShapeError, "2 points along dimension 1, and 3 values")


def _trapezoids(name: str, y: Any, x: Any, dx: Any, dim: int) -> tuple[Any, int]:
    """Return (twice the areas between neighbours of distance 1 or x, the dimension)."""
    if x is not None and dx is not None:
        raise ArgumentError("x and dx are both given", hint="pass the points or their distance", operator=name)
    if not y.shape:
        raise IndexRangeError(
            f"Dimension specified as {dim} but tensor has no dimensions", hint="pass a vector of values", operator=name
        )
    if y.dtype is bool_:
        raise DtypeError("y of type bool is not supported", hint="convert with .float()", operator=name)
    at = st.wrap_dim(dim, len(y.shape), name)
    after, before = _neighbours(y, at)
    if x is None:
        return after + before, at
    x_dim = 0 if len(x.shape) == 1 else at - len(y.shape) + len(x.shape)
    if x.shape[x_dim] != y.shape[at]:
        raise ShapeError(
            f"there are {x.shape[x_dim]} points along dimension {at}, and {y.shape[at]} values",
            hint="pass a point for each value",
            operator=name,
        )
    right, left = _neighbours(x, x_dim)
    apart = right - left
    if len(x.shape) == 1:
        apart = apart.reshape((-1,) + (1,) * (len(y.shape) - 1 - at))
    return (after + before) * apart, at


def _integral(name: str, y: Any, x: Any, dx: Any, dim: int) -> Any:
    areas, at = _trapezoids(name, y, x, dx, dim)
    if not y.shape[at]:
        return y.sum(at, dtype=y.dtype)
    if x is not None:
        return areas.sum(at) / 2
    ends = y.select(at, 0) + y.select(at, -1)
    return (y.sum(at) - ends * 0.5) * (1 if dx is None else dx)


@composite(samples=_integral_samples, errors=_integral_errors, dtypes=FLOATING_TYPES, method=False, takes_out=False)
def trapezoid(y: Operand, x: Operand | None = None, *, dx: Any = None, dim: int = -1) -> Any:
    """Compute the integral of y along `dim` by the trapezoidal rule.

    x: the points at which the values lie; or dx: the distance between them, 1 by default.
    Shapes: the shape of y without `dim`.
    Host:   returns at once.
    Raises: IndexRangeError if dim is out of range, ShapeError if points and values differ in number, ArgumentError if x
            and dx are both given.
    Example:
        >>> torch.trapezoid(torch.tensor([1.0, 2.0, 4.0]))
        tensor(4.5000)
    """
    return _integral("trapezoid", y, x, dx, dim)


@composite(samples=_integral_samples, errors=_integral_errors, dtypes=FLOATING_TYPES, method=False, takes_out=False)
def trapz(y: Operand, x: Operand | None = None, *, dx: Any = None, dim: int = -1) -> Any:
    """Compute the integral of y along `dim` by the trapezoidal rule: an alias of `trapezoid`.

    x: the points at which the values lie; or dx: the distance between them, 1 by default.
    Shapes: the shape of y without `dim`.
    Host:   returns at once.
    Raises: IndexRangeError if `dim` is out of range, ShapeError if x has not one point for each value, ArgumentError if
            x and dx are both given.
    Example:
        >>> torch.trapz(torch.tensor([1.0, 2.0, 4.0]), dx=2)
        tensor(9.)
    """
    return _integral("trapz", y, x, dx, dim)


@composite(samples=_integral_samples, errors=_integral_errors, dtypes=FLOATING_TYPES, method=False, takes_out=False)
def cumulative_trapezoid(y: Operand, x: Operand | None = None, *, dx: Any = None, dim: int = -1) -> Any:
    """Compute the cumulative integral of y along `dim` by the trapezoidal rule: element i is that up to point i + 1.

    x: the points at which the values lie; or dx: the distance between them, 1 by default.
    Shapes: the shape of y, with one element fewer along `dim`.
    Host:   returns at once.
    Raises: IndexRangeError if `dim` is out of range, ShapeError unless x has one point for each value, ArgumentError if
            x and dx are both given.
    Example:
        >>> torch.cumulative_trapezoid(torch.tensor([1.0, 2.0, 4.0]))
        tensor([1.5000, 4.5000])
    """
    areas, at = _trapezoids("cumulative_trapezoid", y, x, dx, dim)
    if x is not None:
        return cumsum(areas, at) / 2
    return cumsum(areas * ((1 if dx is None else dx) / 2), at)


def _gradient_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 5)),))
    yield Sample((Array((5,)),), {"spacing": 2.0, "edge_order": 2})
    yield Sample((Array((4, 3), layout="transposed"),), {"spacing": [0.5, 2.0], "dim": (0, 1)})
    yield Sample((Array((4,)),), {"spacing": [Array((4,), low=1, high=3, grad=False)], "dim": 0})


def _gradient_errors() -> Iterator[ErrorSample]:
    wrong = {"dim": 2}
    yield ErrorSample((Array((2, 3)),), IndexRangeError, r"expected to be in range of \[-2, 1\], but got 2", wrong)
    yield ErrorSample((Array(()),), IndexRangeError, "specified as 0 but tensor has no dimensions", {"dim": 0})
    yield ErrorSample((Array((2, 3)),), ShapeError, "needs 3 elements, .* 2", {"edge_order": 2})
    yield ErrorSample((Array((2, 3)),), ValueRangeError, "edge_order must be 1 or 2, got 3", {"edge_order": 3})


@composite(samples=_gradient_samples, errors=_gradient_errors, dtypes=FLOATING_TYPES, method=False, takes_out=False)
def gradient(input: Operand, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> Any:
    """Estimate the partial derivatives by central differences: one tensor for each dimension in `dim`, all by default.

    spacing: the distance between neighbours, or a list with a distance or a vector of points for each dimension; None
    is 1.
    edge_order: 1 or 2, the order of the estimates at both ends.
    Shapes: those of the input.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range, ShapeError for too few elements or a repeated dimension,
            ValueRangeError for any other edge_order, or another number of spacings, DtypeError for uint8.
    Example:
        >>> torch.gradient(torch.tensor([1.0, 2.0, 4.0, 8.0]))
        (tensor([1.0000, 1.5000, 3.0000, 4.0000]),)
    """
    if edge_order not in (1, 2):
        raise ValueRangeError(f"edge_order must be 1 or 2, got {edge_order}", hint="use 1 or 2", operator="gradient")
    if input.dtype is uint8:
        raise DtypeError("input of type uint8 is not supported", hint="convert with .float()", operator="gradient")
    ndim = len(input.shape)
    dims = range(ndim) if dim is None else [st.wrap_dim(axis, ndim, "gradient") for axis in st.as_ints(dim)]
    dims_of("gradient", dim, ndim)  # raises for a repeated one
    spacings = spacing if isinstance(spacing, (list, tuple)) else [1 if spacing is None else spacing] * len(dims)
    if len(spacings) != len(dims):
        raise ValueRangeError(
            f"got {len(spacings)} spacings for {len(dims)} dimensions", hint="pass one for each", operator="gradient"
        )
    for axis in dims:
        if not input.shape:
            raise IndexRangeError(
                f"Dimension specified as {axis} but tensor has no dimensions",
                hint="pass a vector of values",
                operator="gradient",
            )
        if input.shape[axis] <= edge_order:
            raise ShapeError(
                f"edge_order {edge_order} needs {edge_order + 1} elements, dimension {axis} has {input.shape[axis]}",
                hint="leave that dimension out of dim",
                operator="gradient",
            )
    return tuple(_slopes(input, axis, gap, edge_order) for axis, gap in zip(dims, spacings))


def _slopes(values: Any, dim: int, gap: Any, edge_order: int) -> Any:
    """Return central differences along a dimension, and one-sided ones at its ends."""
    size = values.shape[dim]

    def part(start: int, count: int, of: Any = values) -> Any:
        return of.narrow(dim, start, count)

    if hasattr(gap, "strides"):  # points
        after, before = _neighbours(gap, 0)
        widths = (after - before).reshape((-1,) + (1,) * (len(values.shape) - 1 - dim))
        ahead, behind = (widths.narrow(0, at, max(size - 2, 0)) for at in (min(1, size - 1), 0))
        ends = (0, min(1, size - 2), max(size - 3, 0), size - 2)
        first, second, third, last = (widths.narrow(0, at, 1) for at in ends)
    else:
        ahead = behind = first = second = third = last = gap
    steps = values.narrow(dim, 1, size - 1) - values.narrow(dim, 0, size - 1)
    if edge_order == 1:
        start, end = part(0, 1, steps) / first, part(size - 2, 1, steps) / last
    else:
        start = _edge(part(0, 1, steps), part(1, 1, steps), first, second)
        end = _edge(part(size - 2, 1, steps), part(size - 3, 1, steps), last, third)
    if size == 2:
        return REGISTRY["cat"]([start, end], dim)
    left, right = part(0, size - 2, steps), part(1, size - 2, steps)
    inner = (left * (ahead / behind) + right * (behind / ahead)) / (ahead + behind)
    if not hasattr(gap, "strides"):
        inner = (part(2, size - 2) - part(0, size - 2)) / (2 * gap)
    return REGISTRY["cat"]([start, inner, end], dim)


def _edge(near: Any, far: Any, near_gap: Any, far_gap: Any) -> Any:
    """Return the slope at an end, of second order, from the two differences next to it."""
    whole = near_gap + far_gap
    return near * (1 / near_gap + 1 / whole) - far * (near_gap / (far_gap * whole))
