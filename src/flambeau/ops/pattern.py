"""Values that depend on where an element stands: triangles, and numbers evenly spaced."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from .. import dtypes
from ..dtypes import dtype
from ..errors import ShapeError
from ..host import np
from ..kernel import Kernel, Param, Pointer, Scalar
from .operator import Array, Call, ErrorSample, Operand, Sample, operator
from .pointwise import PRELUDE, THREADS, grid_over
from .scatter import BITS

_LOOP = (
    "for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < numel; "
    "i += (long long)gridDim.x * blockDim.x)"
)


@cache
def _triangle_kernel(kind: dtype, lower: bool) -> Kernel:
    bits = BITS[kind.itemsize]
    entry = f"{'tril' if lower else 'triu'}_{8 * kind.itemsize}"
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

    params: list[Param] = [Pointer("out", kind, "w", ("numel",)), Pointer("input", kind, "r", ("numel",))]
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
    """The lower triangle of matrices: zero above the diagonal `diagonal` (0 is the main one, positive ones lie above).

    Shapes: [..., n, m], as the input.
    Host:   returns at once.
    Raises: ShapeError for fewer than two dimensions.
    """
    return _triangle(call, "tril", input, diagonal)


@tril.derivative
def _(grad: Any, diagonal: int) -> Any:
    return grad.tril(diagonal)


@operator(samples=_triangle_samples, errors=_triangle_errors, dtypes=dtypes.ALL, inplace=True)
def triu(call: Call, input: Operand, diagonal: int = 0) -> Any:
    """The upper triangle of matrices: zero below the diagonal `diagonal` (0 is the main one, positive ones lie above).

    Shapes: [..., n, m], as the input.
    Host:   returns at once.
    Raises: ShapeError for fewer than two dimensions.
    """
    return _triangle(call, "triu", input, diagonal)


@triu.derivative
def _(grad: Any, diagonal: int) -> Any:
    return grad.triu(diagonal)


@cache
def _linspace_kernel(kind: dtype) -> Kernel:
    entry = f"linspace_{kind.name}"
    source = f"""{PRELUDE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}(
    {kind.cuda}* out, double start, double end, double step, long long numel) {{
  {_LOOP} {{
    const double value = i < numel / 2 ? __dadd_rn(start, __dmul_rn(step, i))
                                       : __dadd_rn(end, -__dmul_rn(step, numel - 1 - i));
    out[i] = store<{kind.cuda}>(load<{kind.wide.cuda}>(value));
  }}
}}
"""

    def reference(out: Any, start: float, end: float, step: float, numel: int) -> None:
        i = np.arange(numel)
        out[...] = np.where(i < numel // 2, start + step * i, end - step * (numel - 1 - i)).astype(kind.wide.numpy)

    params: list[Param] = [
        Pointer("out", kind, "w", ("numel",)),
        *(Scalar(n, "float64") for n in ("start", "end", "step")),
    ]
    return Kernel(entry, source, [*params, Scalar("numel", "int64")], reference, 4.0)


def _linspace_samples() -> Iterator[Sample]:
    yield Sample((Array((5,)), -1.0, 2.0))
    yield Sample((Array((1,)), 3.0, 4.0))
    yield Sample((Array((0,)), 0.0, 1.0))


@operator(samples=_linspace_samples, dtypes=dtypes.ALL[1:], method=False, function=False, differentiable=False)
def linspace(call: Call, input: Operand, start: float, end: float) -> Any:
    """A vector like `input` of numbers evenly spaced from start to end, both included.

    Computed in float64 from the nearer end, and rounded once (cut, for integers).
    Host: returns at once.
    """
    out = call.output(input.shape, input.dtype)
    numel = input.numel()
    if numel:
        if numel == 1:
            end = start
        step = (end - start) / max(numel - 1, 1)
        call.launch(_linspace_kernel(input.dtype), grid_over(numel), out, float(start), float(end), step, numel)
    return out
