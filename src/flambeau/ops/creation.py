"""Sequences and triangles: arange, linspace, tril and triu."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

from .. import dtypes
from ..dtypes import converted, dtype, float64, int64
from ..errors import ShapeError
from ..host import np, rounded
from ..kernel import Kernel, Param, Pointer, Scalar
from .copies import C_TYPES_BY_SIZE
from .operator import Array, Call, ErrorSample, Operand, Sample, operator
from .pointwise import PRELUDE, THREADS, grid_over
from .samples import NUMERIC_TYPES

_LOOP = (
    "for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < numel; "
    "i += (long long)gridDim.x * blockDim.x)"
)


@cache
def _triangle_kernel(dtype: dtype, lower: bool) -> Kernel:
    bits = C_TYPES_BY_SIZE[dtype.itemsize]
    entry = f"{'tril' if lower else 'triu'}_{8 * dtype.itemsize}"
    source = f"""{PRELUDE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}(
    {bits}* out, const {bits}* input, long long numel, long long rows, long long columns, long long diagonal) {{
  {_LOOP} {{
    long long column, row;
    divide(divide(i, columns, column), rows, row);
    out[i] = column - row {"<=" if lower else ">="} diagonal ? input[i] : 0;
  }}
}}
"""

    def reference(out: Any, input: Any, numel: int, rows: int, columns: int, diagonal: int) -> None:
        part = np.tril if lower else np.triu
        kept = part(np.ones((rows, columns), bool), diagonal)
        out.reshape(-1, rows, columns)[...] = np.where(kept, input.reshape(-1, rows, columns), input.dtype.type(0))

    params: list[Param] = [Pointer("out", dtype, "w", ("numel",)), Pointer("input", dtype, "r", ("numel",))]
    params += [Scalar(name, "int64") for name in ("numel", "rows", "columns", "diagonal")]
    return Kernel(entry, source, params, reference, 0.0)


def _triangle(call: Call, name: str, input: Operand, diagonal: int) -> Any:
    if len(input.shape) < 2:
        raise ShapeError(
            f"input must have at least 2 dimensions, got {list(input.shape)}",
            hint="the last two are rows and columns: add one with unsqueeze(0)",
            operator=name,
        )
    out = call.output(input.shape, input.dtype)
    numel = input.numel()
    if numel:
        kernel = _triangle_kernel(input.dtype, name == "tril")
        rows, columns = input.shape[-2], input.shape[-1]
        call.launch(kernel, grid_over(numel), out, call.contiguous(input), numel, rows, columns, diagonal)
    return out


def _triangle_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)),))
    yield Sample((Array((2, 3, 3)), 1))
    yield Sample((Array((4, 3), layout="transposed"), -1))
    yield Sample((Array((0, 3)),))


def _triangle_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)),), ShapeError, r"at least 2 dimensions, got \[3\]")


@operator(samples=_triangle_samples, errors=_triangle_errors, dtypes=dtypes.ALL, inplace=True)
def tril(call: Call, input: Operand, diagonal: int = 0) -> Any:
    """Return the lower triangle of matrices: elements above diagonal number `diagonal` are 0.

    diagonal: 0 is the main diagonal; positive numbers are above it.

    Shapes: [..., n, m], as the input.
    Host:   returns at once.
    Raises: ShapeError for fewer than two dimensions.
    Example:
        >>> torch.tril(torch.ones(3, 3))
        tensor([[1., 0., 0.],
                [1., 1., 0.],
                [1., 1., 1.]])
    """
    return _triangle(call, "tril", input, diagonal)


@tril.derivative
def _(grad: Any, diagonal: int) -> Any:
    return grad.tril(diagonal)


@operator(samples=_triangle_samples, errors=_triangle_errors, dtypes=dtypes.ALL, inplace=True)
def triu(call: Call, input: Operand, diagonal: int = 0) -> Any:
    """Return the upper triangle of matrices: elements below diagonal number `diagonal` are 0.

    diagonal: 0 is the main diagonal; positive numbers are above it.

    Shapes: [..., n, m], as the input.
    Host:   returns at once.
    Raises: ShapeError for fewer than two dimensions.
    Example:
        >>> torch.triu(torch.ones(3, 3), diagonal=1)
        tensor([[0., 1., 1.],
                [0., 0., 1.],
                [0., 0., 0.]])
    """
    return _triangle(call, "triu", input, diagonal)


@triu.derivative
def _(grad: Any, diagonal: int) -> Any:
    return grad.triu(diagonal)


def fused(factor: Any, other: Any, term: Any) -> Any:
    """Compute factor * other + term in float64 with one rounding, as a fused multiply-add of a GPU does.

    Boldo and Melquiond, "Emulation of FMA and correctly rounded sums": the errors of the product and of the sum are
    added with rounding to odd.  The last addition then rounds as if it were exact.
    """
    factor, other, term = np.float64(factor), np.asarray(other, np.float64), np.float64(term)
    with np.errstate(over="ignore", invalid="ignore"):
        result = _fused(factor, other, term)
        is_finite = np.isfinite(result)
        if is_finite.all():
            return result
        return np.where(is_finite, result, _fused_beyond(factor, other, term))


def _fused(factor: Any, other: Any, term: Any) -> Any:
    """Compute `fused` of operands that are far from the largest float64: `_halves` multiplies them."""
    product, error = _product(factor, other)
    low, lowest = _sum(term, error)
    high, rest = _sum(product, low)
    return high + _odd_sum(rest, lowest)


def _fused_beyond(factor: Any, other: Any, term: Any) -> Any:
    """Compute `fused` of operands of any size, infinities and NaN included."""
    scale, is_larger = 2.0**64, np.abs(factor) > np.abs(other)
    lowered = np.where(is_larger, factor / scale, factor), np.where(is_larger, other, other / scale)
    result = _fused(*lowered, term / scale) * scale
    return np.where(np.isfinite(result), result, factor * other + term)


def _sum(a: Any, b: Any) -> tuple[Any, Any]:
    """Return (a + b rounded, its rounding error)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _product(a: Any, b: Any) -> tuple[Any, Any]:
    """Return (a * b rounded, its rounding error)."""
    total = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return total, ((a_high * b_high - total) + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(a: Any) -> tuple[Any, Any]:
    scaled = a * 134217729.0  # 2**27 + 1
    high = scaled - (scaled - a)
    return high, a - high


def _odd_sum(a: Any, b: Any) -> Any:
    """Compute a + b rounded to odd: if it is inexact, the neighbour whose last bit is 1."""
    total, error = _sum(a, b)
    is_even = (np.asarray(total).view(np.int64) & 1) == 0
    toward = np.where(error > 0, np.inf, -np.inf)
    return np.where((error != 0) & is_even, np.nextafter(total, toward), total)


def steps_from(first: float, step: float, count: Any, dtype: dtype) -> Any:
    """Compute first + step * count, rounded once, as PyTorch does.

    For half types the count and the product are rounded, too.
    """
    if dtype.is_floating_point and dtype.itemsize == 2:
        counts, narrow = count.astype(np.float32).astype(dtype.numpy), np.float32
        products = (counts.astype(narrow) * narrow(step)).astype(dtype.numpy)
        return products.astype(narrow) + narrow(first)
    if dtype.is_floating_point and dtype.itemsize == 4:
        return _odd_sum(step * count, np.float64(first)).astype(np.float32)  # the product is exact
    return fused(step, count, first)


_STEPS = {  # `steps_from` in CUDA, by the size of a floating point type; other types use the first
    8: "__fma_rn(step, (double)count, first)",
    4: "(double)__fmaf_rn((float)step, (float)count, (float)first)",
    2: "(double)((float)first + load<float>(store<{0}>((float)step * load<float>(store<{0}>((float)count)))))",
}


@cache
def _linspace_kernel(dtype: dtype) -> Kernel:
    entry = f"linspace_{dtype.name}"
    formula = _STEPS[dtype.itemsize if dtype.is_floating_point else 8].format(dtype.cuda)
    source = f"""{PRELUDE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}(
    {dtype.cuda}* out, double start, double end, double apart, long long numel) {{
  {_LOOP} {{
    const bool is_first = i < numel / 2;
    const double first = is_first ? start : end, step = is_first ? apart : -apart;
    const long long count = is_first ? i : numel - 1 - i;
    out[i] = store<{dtype.cuda}>(load<{dtype.wide.cuda}>({formula}));
  }}
}}
"""

    def reference(out: Any, start: float, end: float, apart: float, numel: int) -> None:
        half = numel // 2
        out[:half] = steps_from(start, apart, np.arange(half), dtype)
        out[half:] = steps_from(end, -apart, np.arange(numel - 1 - half, -1, -1), dtype)

    params: list[Param] = [
        Pointer("out", dtype, "w", ("numel",)),
        *(Scalar(n, "float64") for n in ("start", "end", "apart")),
    ]
    return Kernel(entry, source, [*params, Scalar("numel", "int64")], reference, 4.0)


def _linspace_samples() -> Iterator[Sample]:
    yield Sample((Array((5,)), 7.0, 2.0))
    yield Sample((Array((1,)), 3.0, 4.0))
    yield Sample((Array((0,)), 0.0, 1.0))


@operator(samples=_linspace_samples, dtypes=dtypes.ALL[1:], method=False, function=False, differentiable=False)
def linspace(call: Call, input: Operand, start: float, end: float) -> Any:
    """Return a vector like `input` with evenly spaced numbers from start to end, both included.

    Each number is computed from the nearer end; integers are computed in float64 and truncated.
    Host:   returns at once.
    Raises: ValueRangeError if the type cannot hold an end.
    """
    start, end = (converted(call.name, input.dtype, number) for number in (start, end))
    out = call.output(input.shape, input.dtype)
    numel = input.numel()
    if numel:
        if numel == 1:
            end = start
        own = input.dtype.numpy.type if input.dtype.is_floating_point else np.float64
        with np.errstate(all="ignore"):
            start, end = own(start), own(end)
            apart = (end - start) / own(max(numel - 1, 1))
        numbers = float(start), float(end), float(apart)
        call.launch(_linspace_kernel(input.dtype), grid_over(numel), out, *numbers, numel)
    return out


# arange


@cache
def _arange_kernel(dtype: dtype) -> Kernel:
    is_floating = dtype.is_floating_point
    number = "float64" if is_floating else "int64"
    term = "__dadd_rn(start, __dmul_rn(step, (double)i))" if is_floating else "start + step * i"
    c = "double" if is_floating else "long long"
    source = f"""{PRELUDE}
extern "C" __global__ void __launch_bounds__({THREADS}) arange_{dtype.name}(
    {dtype.cuda}* out, {c} start, {c} step, long long numel) {{
  const long long threads = (long long)gridDim.x * blockDim.x;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < numel; i += threads)
    out[i] = store<{dtype.cuda}>({term});
}}
"""

    def reference(out: Any, start: Any, step: Any, numel: int) -> None:
        values = start + step * np.arange(numel, dtype=np.float64 if is_floating else np.int64)
        out[...] = rounded(values, dtype) if is_floating else values

    scalars = Scalar("start", number), Scalar("step", number), Scalar("numel", "int64")
    return Kernel(f"arange_{dtype.name}", source, [Pointer("out", dtype, "w", ("numel",)), *scalars], reference)


def _sequences() -> Iterator[Sample]:
    yield Sample((Array((7,)), 2, 3))
    yield Sample((Array((4, 3), layout="transposed"), 1, 2))
    yield Sample((Array((0,)), 0, 1))


@operator(samples=_sequences, dtypes=NUMERIC_TYPES, method=False, function=False, differentiable=False)
def arange(call: Call, input: Operand, start: float = 0, step: float = 1) -> Any:
    """Return a tensor like `input` with start, start + step, start + 2 * step and so on, in row-major order.

    Floating point values are computed in float64 and rounded once.
    Host:   returns at once.
    """
    out = call.output(input.shape, input.dtype)
    numel = prod(input.shape)
    if numel:
        wide = float64 if input.dtype.is_floating_point else int64
        first, apart = (converted(call.name, wide, number) for number in (start, step))
        call.launch(_arange_kernel(input.dtype), grid_over(numel), out, first, apart, numel)
    return out
