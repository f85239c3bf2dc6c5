"""Distances and directions of vectors: cosine_similarity, pairwise_distance, cdist, pdist and normalize; bilinear.

cdist without a matrix product and pdist are one launch, which keeps no differences (kernels/distances.cu).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import inf
from typing import Any

from .. import strides as st
from ..dtypes import FLOATING_TYPES, dtype, promote
from ..errors import ArgumentError, DtypeError, IndexRangeError, ShapeError, ValueRangeError
from ..host import np
from ..kernel import Kernel, Pointer, Scalar, Strided
from .copies import fill
from .operator import Array, Call, ErrorSample, Operand, Sample, Value, composite, operator
from .pointwise import PRELUDE, THREADS, grid_over, pointwise, promoted, source_text
from .reduction_kernels import REDUCE_SOURCE, WARP, layout_along
from .samples import bad_dims, singles

MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
FEW_ROWS = 25  # with at most this many rows on each side, distances are computed without a matrix product


def _floors() -> Iterator[Sample]:
    yield Sample((Array((3, 4), low=0.6, high=2.0), 0.5))
    yield Sample((Array((0,)), 0.5))


@pointwise(
    dtype=promoted, cuda="input < floor ? floor : input", samples=_floors, dtypes=FLOATING_TYPES, inplace=False,
    method=False, function=False,
)  # fmt: skip
def raised(input: Value, floor: Value) -> Any:
    """Compute max(input, floor), whose gradient is that of the input everywhere."""
    return np.maximum(input, floor)


@raised.derivative
def _(grad: Any) -> Any:
    return grad, None


def _squares() -> Iterator[Sample]:
    return (Sample((sample.args[0]._replace(low=0.5, high=3.0),)) for sample in singles())


@pointwise(
    dtype=promoted, cuda="input > 0 ? sqrt(input) : input != input ? input : 0", samples=_squares,
    dtypes=FLOATING_TYPES, inplace=False, method=False, function=False,
)  # fmt: skip
def distance_of(input: Value) -> Any:
    """Return the square root of max(input, 0), whose gradient is 0 where it is 0."""
    return np.sqrt(np.maximum(input, 0))


@distance_of.derivative
def _(grad: Any, out: Any) -> Any:
    return (grad / (out * 2)).masked_fill(out == 0, 0)


def _pairs() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), seed=1)))
    yield Sample((Array((3, 4), layout="transposed"), Array((4,), seed=1), -1))
    yield Sample((Array((2, 5), layout="strided"), Array((1, 5), seed=1)), {"eps": 1e-3})
    yield Sample((Array((0, 3)), Array((0, 3), seed=1)))


def _bad_pairs() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), Array((3,)), 1), IndexRangeError, r"range of \[-1, 0\], but got 1")
    integers = Array((2, 3), dtype="int64")
    yield ErrorSample((integers, integers), DtypeError, "floating point, got int64")


@composite(samples=_pairs, errors=_bad_pairs, dtypes=FLOATING_TYPES, method=False)
def cosine_similarity(x1: Operand, x2: Operand, dim: int = 1, eps: float = 1e-8) -> Any:
    """Compute the cosine of the angle between vectors along `dim`; lengths below eps count as eps.

    Shapes: the inputs broadcast together; the result is without `dim`.
    Host:   returns at once.
    Raises: IndexRangeError for a bad dimension, ShapeError if the shapes do not fit, DtypeError for integers.
    Example:
        >>> torch.cosine_similarity(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]]))
        tensor([0.7071])
    """
    common = promote(x1.dtype, x2.dtype)
    if not common.is_floating_point:
        raise DtypeError(
            f"expected operands of floating point, got {common.name}",
            hint="convert with .float()",
            operator="cosine_similarity",
        )
    shape = st.broadcast([x1.shape, x2.shape], "cosine_similarity")
    units = []
    for x in (x1, x2):
        vectors: Any = x.to(common)
        whole = vectors.expand(shape)
        units.append(whole / raised(whole.norm(2, dim, True), eps))
    return (units[0] * units[1]).sum(dim)


def _apart() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), seed=1)))
    yield Sample((Array((3, 4)), Array((4,), seed=1), 1.0), {"keepdim": True})
    yield Sample((Array((4,)), Array((4,), seed=1), 3.0))
    yield Sample((Array((0, 3)), Array((0, 3))))


def _too_far() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), Array((2, 4))), ShapeError, r"\[2, 3\] and \[2, 4\] do not broadcast")


def _shifts() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), seed=1), 0.5))
    yield Sample((Array((2, 3), layout="strided"), Array((3,), seed=1), 1e-6))


@pointwise(
    dtype=promoted, cuda="input - other + shift", samples=_shifts, dtypes=FLOATING_TYPES, cost=2.0,
    inplace=False, method=False, function=False,
)  # fmt: skip
def shifted_difference(input: Value, other: Value, shift: Value) -> Any:
    """Return the differences whose norm `pairwise_distance` is: input - other + shift."""
    return input - other + shift


@shifted_difference.derivative
def _(grad: Any, needs: Any) -> Any:
    return grad, -grad if needs[1] else None, None


@composite(samples=_apart, errors=_too_far, dtypes=FLOATING_TYPES, method=False)
def pairwise_distance(x1: Operand, x2: Operand, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """Return the p-norm of x1 - x2 + eps over the last dimension.

    Shapes: the inputs broadcast together; the result is without the last dimension, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.pairwise_distance(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
        tensor([5.0000])
    """
    apart: Any = shifted_difference(x1, x2, eps)
    return apart.norm(p, -1, keepdim)


def _sets() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((2, 4), seed=1)))
    yield Sample((Array((2, 3, 4)), Array((2, 4), seed=1), 1.0))
    yield Sample((Array((3, 4)), Array((2, 4), seed=1)), {"compute_mode": MODES[1]})
    yield Sample((Array((30, 2)), Array((2, 2), seed=1)))
    yield Sample((Array((0, 4)), Array((2, 4), seed=1)))
    yield Sample((Array((3, 2)), Array((4, 2), seed=1), 3.0))


def _bad_sets() -> Iterator[ErrorSample]:
    pair = Array((2, 3)), Array((4, 3))
    yield ErrorSample((Array((3,)), pair[1]), ShapeError, r"at least two dimensions, got \[3\]")
    yield ErrorSample((pair[0], Array((4, 2))), ShapeError, r"the same number of columns, got \[2, 3\] and \[4, 2\]")
    yield ErrorSample((*pair, -1.0), ValueRangeError, "p must not be negative, got -1")
    yield ErrorSample(pair, ArgumentError, "'fast' is not a valid value for compute_mode", {"compute_mode": "fast"})
    yield ErrorSample((Array((2, 3), dtype="int64"), pair[1]), DtypeError, "floating point, got int64")


@composite(samples=_sets, errors=_bad_sets, dtypes=FLOATING_TYPES[2:], method=False)
def cdist(x1: Operand, x2: Operand, p: float = 2.0, compute_mode: Any = None) -> Any:
    """Return the p-norm of the difference of every row of x1 and every row of x2.

    compute_mode: "use_mm_for_euclid_dist" computes 2-norms by a matrix product, "donot_use_mm_for_euclid_dist" does
    not, and None or "use_mm_for_euclid_dist_if_necessary" does so for more than 25 rows.
    Shapes: [*, n, d] and [*, m, d], whose first dimensions broadcast, give [*, n, m].
    Host:   returns at once.
    Memory: the gradient of distances that were computed without a matrix product needs n * m * d numbers.
    Raises: ShapeError for fewer than two dimensions, or another number of columns, DtypeError for integers,
            ArgumentError for any other compute_mode, ValueRangeError for p below 0.
    Example:
        >>> torch.cdist(torch.tensor([[0.0, 0.0], [3.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
        tensor([[5.],
                [4.]])
    """
    for x in (x1, x2):
        if len(x.shape) < 2:
            raise ShapeError(
                f"both inputs need at least two dimensions, got {list(x.shape)}",
                hint="each row is a vector: add a dimension with unsqueeze(0)",
                operator="cdist",
            )
        if not x.dtype.is_floating_point:
            raise DtypeError(
                f"inputs must be floating point, got {x.dtype.name}", hint="convert with .float()", operator="cdist"
            )
    if x1.shape[-1] != x2.shape[-1]:
        raise ShapeError(
            f"both inputs must have the same number of columns, got {list(x1.shape)} and {list(x2.shape)}",
            hint="pass inputs whose last dimensions have the same size",
            operator="cdist",
        )
    if p < 0:
        raise ValueRangeError(
            f"p must not be negative, got {p}", hint="pass 0 or more: 2 is the Euclidean distance", operator="cdist"
        )
    mode = MODES[0] if compute_mode is None else compute_mode
    if mode not in MODES:
        raise ArgumentError(
            f"{mode!r} is not a valid value for compute_mode", hint=f"use one of {MODES}", operator="cdist"
        )
    common = promote(x1.dtype, x2.dtype)
    a: Any = x1.to(common)
    b: Any = x2.to(common)
    is_many = x1.shape[-2] > FEW_ROWS or x2.shape[-2] > FEW_ROWS
    if p == 2 and (mode == MODES[1] or mode == MODES[0] and is_many):
        squares = (a * a).sum(-1, True) + (b * b).sum(-1).unsqueeze(-2) - a @ b.transpose(-1, -2) * 2
        return distance_of(squares)
    return row_distances(a, b, float(p))


# distances of rows

DISTANCE_SOURCE = REDUCE_SOURCE + source_text("distances.cu")
THREAD_ROW = 16  # for rows of at most this many elements, a thread computes a distance; for longer rows a warp does
POWERS = {0.0: "ZERO", 1.0: "ONE", 2.0: "TWO", inf: "INFINITE"}
NORM_SCALARS = [
    *[Scalar(name, "int64") for name in ("count", "size", "lanes")],
    *[Scalar(name, "float64") for name in ("p", "inverse")],
]
NORM_ARGUMENTS = "long long count, long long size, long long lanes, double p, double inverse"


def _norms_of(apart: Any, p: float) -> Any:
    """Return the p-norms of the rows of a NumPy array."""
    sizes, number = np.abs(apart), apart.dtype.type
    if p == inf:
        return sizes.max(axis=-1)
    if p == 0:
        return np.where(np.isnan(sizes), sizes, (sizes != 0).astype(sizes.dtype)).sum(axis=-1)
    if p == 2:
        return np.sqrt(np.square(sizes).sum(axis=-1))
    return sizes.sum(axis=-1) if p == 1 else (sizes ** number(p)).sum(axis=-1) ** number(1 / p)


@cache
def _distances_kernel(dtype: dtype, power: str) -> Kernel:
    """Return the kernel of the distances of all rows of two arrays; the rows lie along the last dimension."""
    entry, t, c = f"row_distances_{dtype.name}_{power.lower()}", dtype.cuda, dtype.wide.cuda
    source = f"""{DISTANCE_SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({t}* out, const {t}* a, const {t}* b,
    const __grid_constant__ Layout<2> layout, {NORM_ARGUMENTS}) {{
  const int last = (int)layout.ndim - 1;
  const auto starts = [&](long long i, long long& at_a, long long& at_b) {{
    at_a = walk(layout, 0, 0, last, i), at_b = walk(layout, 1, 0, last, i);
  }};
  row_distances(out, a, b, Norm<{c}>{{{power}, ({c})p, ({c})inverse}}, count, size, layout.stride[0][last],
                layout.stride[1][last], (int)lanes, starts);
}}
"""

    def reference(out: Any, a: Any, b: Any, count: int, size: int, lanes: int, p: float, inverse: float) -> None:
        out[...] = _norms_of(a - b, p).reshape(count)

    params = [Pointer("out", dtype, "w", ("count",)), *[Pointer(name, dtype, "r", "layout") for name in "ab"]]
    return Kernel(entry, source, [*params, Strided("layout", ("a", "b")), *NORM_SCALARS], reference, 3.0)


@cache
def _pair_distances_kernel(dtype: dtype, power: str) -> Kernel:
    """Return the kernel of the distances of each row and every later one of a contiguous array."""
    entry, t, c = f"pair_distances_{dtype.name}_{power.lower()}", dtype.cuda, dtype.wide.cuda
    source = f"""{DISTANCE_SOURCE}{PAIRS}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({t}* out, const {t}* input, long long n,
    {NORM_ARGUMENTS}) {{
  const auto starts = [&](long long pair, long long& at_a, long long& at_b) {{
    const long long first = first_of_pair(pair, n);
    at_a = first * size, at_b = (pair - pairs_before(first, n) + first + 1) * size;
  }};
  row_distances(out, input, input, Norm<{c}>{{{power}, ({c})p, ({c})inverse}}, count, size, 1, 1, (int)lanes, starts);
}}
"""

    def reference(out: Any, input: Any, n: int, count: int, size: int, lanes: int, p: float, inverse: float) -> None:
        first, second = np.triu_indices(n, 1)
        out[...] = _norms_of(input[first] - input[second], p)

    params = [Pointer("out", dtype, "w", ("count",)), Pointer("input", dtype, "r", ("n", "size")), Scalar("n", "int64")]
    return Kernel(entry, source, [*params, *NORM_SCALARS], reference, 3.0)


def _launch_distances(call: Any, kernel: Any, out: Any, operands: Any, size: int, p: float) -> Any:
    """Launch kernel(dtype, power).  Returns `out`.  operands: the kernel's arguments between `out` and NORM_SCALARS."""
    count = out.numel()
    if not count or not size:
        return fill.lower(call, out, 0) if count else out
    lanes = 1 if size <= THREAD_ROW else WARP
    grid = grid_over(count * lanes, 1)
    numbers = count, size, lanes, p, 1 / p if p else 0.0
    call.launch(kernel(out.dtype, POWERS.get(p, "OTHER")), grid, out, *operands, *numbers)
    return out


def _norm_slopes(grad: Any, out: Any, apart: Any, p: float) -> Any:
    """Return the gradient of differences from that of their p-norms `out`, along the last dimension."""
    grad, length = grad.unsqueeze(-1), out.unsqueeze(-1)
    if p == 0:
        return apart.new_zeros(apart.shape)
    if p == inf:
        return apart.sign() * (apart.abs() == length) * grad
    scaled = (grad / (length if p == 2 else length ** (p - 1))).masked_fill(length == 0, 0)
    return apart * scaled if p == 2 else (apart.sign() * apart.abs() ** (p - 1)).masked_fill(apart == 0, 0) * scaled


def _distance_samples() -> Iterator[Sample]:
    for p in (0.0, 1.0, 2.0, 3.0, inf):  # for inf, the norm has a kink at equal differences
        yield Sample((Array((3, 4), grad=p < inf), Array((2, 4), seed=1, grad=p < inf), p))
    yield Sample((Array((2, 3, 4), layout="strided"), Array((2, 4), seed=1), 2.0))
    yield Sample((Array((2, 1, 3, 40)), Array((3, 5, 40), seed=1), 2.0))
    yield Sample((Array((3, 0)), Array((2, 0)), 2.0))


@operator(samples=_distance_samples, dtypes=FLOATING_TYPES[2:], method=False, function=False)
def row_distances(call: Call, input: Operand, other: Operand, p: float) -> Any:
    """Compute `cdist` without a matrix product, for operands of one type.

    Host: returns at once.
    """
    batch = st.broadcast([input.shape[:-2], other.shape[:-2]], "cdist")
    n, size = input.shape[-2:]
    m = other.shape[-2]
    out = call.output((*batch, n, m), input.dtype)
    shape = (*batch, n, m, size)
    lines = [
        st.expand((*input.shape[:-1], 1, size), (*input.strides[:-1], 0, input.strides[-1]), shape),
        st.expand((*other.shape[:-2], 1, m, size), (*other.strides[:-2], 0, *other.strides[-2:]), shape),
    ]
    layout = layout_along(shape, lines, len(shape) - 1)[0]
    return _launch_distances(call, _distances_kernel, out, (input, other, layout), size, p)


@row_distances.derivative
def _(grad: Any, out: Any, input: Any, other: Any, p: float, needs: Any) -> Any:
    slopes = _norm_slopes(grad, out, input.unsqueeze(-2) - other.unsqueeze(-3), p)
    return slopes.sum(-2) if needs[0] else None, -slopes.sum(-3) if needs[1] else None


# pairs of rows

PAIRS = """
// The pairs (first, second) of n rows, first < second, in row-major order: where those of `first` begin.
inline long long pairs_before(long long first, long long n) { return first * (2 * n - first - 1) / 2; }

inline long long first_of_pair(long long pair, long long n) {
    const double odd = 2.0 * n - 1;
    long long first = (long long)((odd - sqrt(fmax(odd * odd - 8.0 * pair, 0.0))) / 2);
    while (pairs_before(first, n) > pair) --first;  // the square root is rounded
    while (pairs_before(first + 1, n) <= pair) ++first;
    return first;
}

template <class C, class T>
inline void pair_differences(T* out, const T* input, long long n, long long pairs, long long size) {
    const long long threads = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < pairs * size; i += threads) {
        long long column;
        const long long pair = divide(i, size, column), first = first_of_pair(pair, n);
        const long long second = pair - pairs_before(first, n) + first + 1;
        out[i] = store<T>(load<C>(input[first * size + column]) - load<C>(input[second * size + column]));
    }
}

template <class C, class T> inline void pair_sums(T* out, const T* input, long long n, long long size) {
    const long long threads = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n * size; i += threads) {
        long long column;
        const long long row = divide(i, size, column), own = pairs_before(row, n) - row - 1;
        C total = 0;
        for (long long other = 0; other < row; ++other)
            total -= load<C>(input[(pairs_before(other, n) + row - other - 1) * size + column]);
        for (long long other = row + 1; other < n; ++other) total += load<C>(input[(own + other) * size + column]);
        out[i] = store<T>(total);
    }
}
"""


@cache
def _pairs_kernel(dtype: dtype) -> Kernel:
    entry, t = f"pair_differences_{dtype.name}", dtype.cuda
    code = f"""{PRELUDE}{PAIRS}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({t}* out, const {t}* input, long long n,
    long long pairs, long long size) {{
  pair_differences<{dtype.wide.cuda}>(out, input, n, pairs, size);
}}
"""

    def reference(out: Any, input: Any, n: int, pairs: int, size: int) -> None:
        first, second = np.triu_indices(n, 1)
        out[...] = input[first] - input[second]

    params = [Pointer("out", dtype, "w", ("pairs", "size")), Pointer("input", dtype, "r", ("n", "size"))]
    return Kernel(entry, code, [*params, *[Scalar(name, "int64") for name in ("n", "pairs", "size")]], reference)


@cache
def _pair_sums_kernel(dtype: dtype) -> Kernel:
    entry, t, wide = f"pair_sums_{dtype.name}", dtype.cuda, dtype.wide
    code = f"""{PRELUDE}{PAIRS}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({t}* out, const {t}* input, long long n,
    long long pairs, long long size) {{
  pair_sums<{wide.cuda}>(out, input, n, size);
}}
"""

    def reference(out: Any, input: Any, n: int, pairs: int, size: int) -> None:
        total = np.zeros((n, size), wide.numpy)
        first, second = np.triu_indices(n, 1)
        np.subtract.at(total, second, input)
        np.add.at(total, first, input)
        out[...] = total

    params = [Pointer("out", dtype, "w", ("n", "size")), Pointer("input", dtype, "r", ("pairs", "size"))]
    return Kernel(entry, code, [*params, *[Scalar(name, "int64") for name in ("n", "pairs", "size")]], reference)


def _row_samples() -> Iterator[Sample]:
    yield Sample((Array((4, 3)),))
    yield Sample((Array((3, 5), layout="transposed"),))
    yield Sample((Array((1, 3)),))


@operator(samples=_row_samples, dtypes=FLOATING_TYPES, method=False, function=False)
def pair_differences(call: Call, input: Operand) -> Any:
    """Return the difference of each row and every later one: [n, d] gives [n * (n - 1) / 2, d].

    Host: returns at once.
    """
    n, size = input.shape
    pairs = n * (n - 1) // 2
    out = call.output((pairs, size), input.dtype)
    if out.numel():
        kernel = _pairs_kernel(input.dtype)
        call.launch(kernel, grid_over(out.numel(), 1), out, call.contiguous(input), n, pairs, size)
    return out


@pair_differences.derivative
def _(grad: Any, input_shape: Any) -> Any:
    return pair_sums(grad, input_shape[0])


def _pair_samples() -> Iterator[Sample]:
    yield Sample((Array((6, 3)), 4))
    yield Sample((Array((3, 5), layout="transposed"), 3))
    yield Sample((Array((0, 3)), 1))


@operator(samples=_pair_samples, dtypes=FLOATING_TYPES, method=False, function=False)
def pair_sums(call: Call, input: Operand, n: int) -> Any:
    """Add each row of [n * (n - 1) / 2, d] to the first and subtract it from the second row of its pair: [n, d].

    This is the gradient of `pair_differences`.  Each element is the sum of its pairs, in order.
    Host: returns at once.
    """
    pairs, size = input.shape
    out = call.output((n, size), input.dtype)
    if out.numel() and not pairs:
        return fill.lower(call, out, 0)
    if out.numel():
        kernel = _pair_sums_kernel(input.dtype)
        call.launch(kernel, grid_over(out.numel(), 1), out, call.contiguous(input), n, pairs, size)
    return out


@pair_sums.derivative
def _(grad: Any) -> Any:
    return pair_differences(grad)


def _pair_distance_samples() -> Iterator[Sample]:
    for p in (0.0, 1.0, 2.0, 3.0, inf):  # for inf, the norm has a kink at equal differences
        yield Sample((Array((4, 3), grad=p < inf), p))
    yield Sample((Array((3, 20), layout="transposed"), 2.0))
    yield Sample((Array((1, 3)), 2.0))
    yield Sample((Array((3, 0)), 2.0))


@operator(samples=_pair_distance_samples, dtypes=FLOATING_TYPES[2:], method=False, function=False)
def pair_distances(call: Call, input: Operand, p: float) -> Any:
    """Compute `pdist`.

    Host: returns at once.
    """
    n, size = input.shape
    out = call.output((n * (n - 1) // 2,), input.dtype)
    return _launch_distances(call, _pair_distances_kernel, out, (call.contiguous(input), n), size, p)


@pair_distances.derivative
def _(grad: Any, out: Any, input: Any, p: float) -> Any:
    return pair_sums(_norm_slopes(grad, out, pair_differences(input), p), input.shape[0])


def _rows() -> Iterator[Sample]:
    yield Sample((Array((4, 3)),))
    yield Sample((Array((3, 5), layout="transposed"), 1.0))
    yield Sample((Array((1, 3)),))


def _bad_rows() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)),), ShapeError, r"2 dimensions, got \[3\]")
    yield ErrorSample((Array((3, 2)), -1.0), ValueRangeError, "p must not be negative, got -1")


@composite(samples=_rows, errors=_bad_rows, dtypes=FLOATING_TYPES[2:], method=False)
def pdist(input: Operand, p: float = 2) -> Any:
    """Return the p-norm distance between each row and every later row.

    Shapes: [n, d] gives [n * (n - 1) / 2].
    Host:   returns at once.
    Raises: ShapeError for a wrong number of dimensions, DtypeError for integers, ValueRangeError for p below 0.
    Example:
        >>> torch.pdist(torch.tensor([[0.0, 0.0], [3.0, 4.0], [3.0, 0.0]]))
        tensor([5., 3., 4.])
    """
    if len(input.shape) != 2:
        raise ShapeError(
            f"input must have 2 dimensions, got {list(input.shape)}",
            hint="pass a matrix in which each row is a vector",
            operator="pdist",
        )
    if not input.dtype.is_floating_point:
        raise DtypeError(
            f"input must be floating point, got {input.dtype.name}", hint="convert with .float()", operator="pdist"
        )
    if p < 0:
        raise ValueRangeError(
            f"p must not be negative, got {p}", hint="pass 0 or more: 2 is the Euclidean distance", operator="pdist"
        )
    return pair_distances(input, float(p))


def _vectors() -> Iterator[Sample]:
    yield Sample((Array((3, 4)),))
    yield Sample((Array((3, 4), layout="transposed"), 1.0, 0))
    yield Sample((Array((2, 3, 4)), 2.0, (0, 2)))
    yield Sample((Array((0, 4)),))


def _bad_vectors() -> Iterator[ErrorSample]:
    for sample in bad_dims():
        yield ErrorSample((sample.args[0], 2.0, sample.args[1]), sample.error, sample.match)


@composite(samples=_vectors, errors=_bad_vectors, dtypes=FLOATING_TYPES, method=False, function=False)
def normalize(input: Operand, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Any:
    """Divide vectors along `dim` by their p-norm, or by eps where that is larger.

    Shapes: the result has the input's shape.
    Host:   returns at once.
    Raises: IndexRangeError for a bad dimension, DtypeError for integers.
    Example:
        >>> torch.nn.functional.normalize(torch.tensor([[3.0, 4.0]]))
        tensor([[0.6000, 0.8000]])
    """
    vectors: Any = input
    return vectors / vectors.norm(p, dim, True).clamp_min(eps)


def _bilinear_samples() -> Iterator[Sample]:
    weight, bias = Array((4, 3, 2), seed=2), Array((4,), seed=3)
    yield Sample((Array((5, 3)), Array((5, 2), seed=1), weight, bias))
    yield Sample((Array((2, 3, 3)), Array((2, 3, 2), seed=1), weight))
    yield Sample((Array((3,)), Array((2,), seed=1), weight))


def _bad_bilinears() -> Iterator[ErrorSample]:
    weight = Array((4, 3, 2))
    yield ErrorSample((Array((5, 3)), Array((4, 2)), weight), ShapeError, r"\[5, 3\] and \[4, 2\] .* \[4, 3, 2\]")
    yield ErrorSample((Array((5, 2)), Array((5, 2)), weight), ShapeError, r"\[5, 2\] and \[5, 2\] .* \[4, 3, 2\]")


@composite(samples=_bilinear_samples, errors=_bad_bilinears, dtypes=FLOATING_TYPES[2:], method=False)
def bilinear(input1: Operand, input2: Operand, weight: Operand, bias: Operand | None = None) -> Any:
    """Compute input1 @ weight[k] @ input2 + bias[k] for each k.

    Shapes: [*, m], [*, n], weight [out, m, n] and bias [out] give [*, out].
    Host:   returns at once.
    Raises: ShapeError for shapes that do not fit.
    Example:
        >>> weight = torch.tensor([[[1.0, 0.0], [0.0, 2.0]]])
        >>> torch.bilinear(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0]]), weight)
        tensor([[19.]])
    """
    fits = input1.shape[:-1] == input2.shape[:-1] and len(weight.shape) == 3 and len(input1.shape) > 0
    if not fits or tuple(weight.shape[1:]) != (input1.shape[-1], input2.shape[-1]):
        raise ShapeError(
            f"inputs {list(input1.shape)} and {list(input2.shape)} do not fit weight {list(weight.shape)}",
            hint="the shapes must be [*, m], [*, n] and [out, m, n]",
            operator="bilinear",
        )
    out, first, second = weight.shape
    maps: Any = weight
    a: Any = input1.reshape((-1, first))
    b: Any = input2.reshape((-1, second, 1))
    halves = (a @ maps.permute(1, 0, 2).reshape((first, out * second))).reshape((-1, out, second))
    result = (halves @ b).reshape((*input1.shape[:-1], out))
    return result if bias is None else result + bias
