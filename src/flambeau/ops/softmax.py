"""Softmax, log_softmax and their gradients.  kernels/softmax.cu has the device code.

- Half types are computed in float32, and each result is rounded once.
- Any dimension and strides are supported.  Along the innermost dimension, threads hold whole rows.  Along another,
  neighbouring threads compute neighbouring rows ("across").
- Rows of more than one tile (`RowPlan`) have separate kernels ("long") if all operands have the same strides: a block
  holds 144 KiB of a row, and makes 16-byte accesses at any start of a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import prod
from typing import Any

from .. import strides as st
from ..dtypes import FLOATING_TYPES, dtype
from ..errors import DtypeError
from ..host import np
from ..kernel import MAX_BLOCKS, Grid, Kernel, Pointer, Scalar, Strided
from .operator import Array, ErrorSample, Operand, Sample, operator
from .pointwise import THREADS, source_text
from .reduction_kernels import (
    ROW_ARGUMENTS,
    ROW_BOUNDS,
    ROW_PARAMETERS,
    ROW_SOURCE,
    RowPlan,
    across_grid,
    even_variant,
    layout_along,
    plan_rows,
    plan_spread,
)
from .samples import bad_dims

SOFTMAX_SOURCE = ROW_SOURCE + source_text("softmax.cu")
OPERATIONS = 8.0  # arithmetic operations per element
LONG_ROW_LANES = 512  # threads of a long row (kernels/rows.cu)
_ACROSS = [Scalar(name, "int64") for name in ("rows", "size", "lanes", "logarithm")]


def _softmax_reference(out: Any, input: Any, wide: dtype, logarithm: int) -> None:
    x = input.astype(wide.numpy, copy=False)
    x = x - x.max(axis=-1, keepdims=True)
    if logarithm:
        out[...] = x - np.log(np.exp(x).sum(axis=-1, keepdims=True))
        return
    x = np.exp(x)
    out[...] = x / x.sum(axis=-1, keepdims=True)


def _backward_reference(out: Any, grad: Any, output: Any, wide: dtype, logarithm: int) -> None:
    g, y = grad.astype(wide.numpy, copy=False), output.astype(wide.numpy, copy=False)
    if logarithm:
        out[...] = g - np.exp(y) * g.sum(axis=-1, keepdims=True)
    else:
        out[...] = y * (g - (g * y).sum(axis=-1, keepdims=True))


@cache
def softmax_kernel(source: dtype, out: dtype, is_even: bool) -> Kernel:
    """Return the kernel of softmax, or log_softmax, of rows that threads hold, from type `source` to type `out`."""
    end, choice = even_variant(is_even)
    entry = f"softmax_{source.name}_{out.name}{end}"
    code = f"""{SOFTMAX_SOURCE}
extern "C" __global__ void {ROW_BOUNDS} {entry}({out.cuda}* out, const {source.cuda}* input,
    const __grid_constant__ Layout<2> layout, {ROW_ARGUMENTS},
    long long logarithm) {{
  softmax<{choice}, {out.wide.cuda}>(out, input, layout, rows, size, tiles, (int)lanes, logarithm != 0);
}}
"""

    def reference(result: Any, input: Any, rows: int, size: int, tiles: int, lanes: int, logarithm: int) -> None:
        _softmax_reference(result, input, out.wide, logarithm)

    params = [*_layout_params(("out", out), ("input", source)), *ROW_PARAMETERS, Scalar("logarithm", "int64")]
    return Kernel(entry, code, params, reference, OPERATIONS)


@cache
def softmax_long_kernel(dtype: dtype, logarithm: bool) -> Kernel:
    """Return the kernel of softmax, or log_softmax, of long rows."""
    entry, choice, t = f"{_stem(logarithm)}_long_{dtype.name}", str(logarithm).lower(), dtype.cuda
    code = f"""{SOFTMAX_SOURCE}
extern "C" __global__ void __launch_bounds__({LONG_ROW_LANES}) {entry}({t}* out, const {t}* input,
    const __grid_constant__ Layout<2> layout, long long size) {{
  softmax_long<{choice}, {dtype.wide.cuda}>(out, input, layout, size);
}}
"""

    def reference(result: Any, input: Any, size: int) -> None:
        _softmax_reference(result, input, dtype.wide, logarithm)

    arrays = _layout_params(("out", dtype), ("input", dtype))
    return Kernel(entry, code, [*arrays, Scalar("size", "int64")], reference, OPERATIONS)


def _stem(logarithm: bool) -> str:
    return "log_softmax" if logarithm else "softmax"


@cache
def softmax_across_kernel(source: dtype, out: dtype) -> Kernel:
    """Return the kernel of softmax, or log_softmax, of rows that are next to each other in memory."""
    entry = f"softmax_across_{source.name}_{out.name}"
    code = f"""{SOFTMAX_SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({out.cuda}* out, const {source.cuda}* input,
    const __grid_constant__ Layout<2> layout, long long rows, long long size, long long lanes, long long logarithm) {{
  softmax_across<{out.wide.cuda}>(out, input, layout, rows, size, (int)lanes, logarithm != 0);
}}
"""

    def reference(result: Any, input: Any, rows: int, size: int, lanes: int, logarithm: int) -> None:
        _softmax_reference(result, input, out.wide, logarithm)

    return Kernel(entry, code, [*_layout_params(("out", out), ("input", source)), *_ACROSS], reference, OPERATIONS)


@cache
def softmax_backward_kernel(dtype: dtype, is_even: bool) -> Kernel:
    """Return the kernel of the gradient of softmax, or log_softmax, of rows that threads hold."""
    end, choice = even_variant(is_even)
    entry, t, c = f"softmax_backward_{dtype.name}{end}", dtype.cuda, dtype.wide.cuda
    code = f"""{SOFTMAX_SOURCE}
extern "C" __global__ void {ROW_BOUNDS} {entry}({t}* out, const {t}* grad, const {t}* output,
    const __grid_constant__ Layout<3> layout, {ROW_ARGUMENTS},
    long long logarithm) {{
  softmax_backward<{choice}, {c}>(out, grad, output, layout, rows, size, tiles, (int)lanes, logarithm != 0);
}}
"""

    def reference(
        out: Any, grad: Any, output: Any, rows: int, size: int, tiles: int, lanes: int, logarithm: int
    ) -> None:
        _backward_reference(out, grad, output, dtype.wide, logarithm)

    arrays = _layout_params(("out", dtype), ("grad", dtype), ("output", dtype))
    return Kernel(entry, code, [*arrays, *ROW_PARAMETERS, Scalar("logarithm", "int64")], reference, OPERATIONS)


@cache
def softmax_backward_long_kernel(dtype: dtype, logarithm: bool) -> Kernel:
    """Return the kernel of the gradient of softmax, or log_softmax, of long rows."""
    entry, choice, t = f"{_stem(logarithm)}_backward_long_{dtype.name}", str(logarithm).lower(), dtype.cuda
    code = f"""{SOFTMAX_SOURCE}
extern "C" __global__ void __launch_bounds__({LONG_ROW_LANES}) {entry}({t}* out, const {t}* grad, const {t}* output,
    const __grid_constant__ Layout<3> layout, long long size) {{
  softmax_backward_long<{choice}, {dtype.wide.cuda}>(out, grad, output, layout, size);
}}
"""

    def reference(out: Any, grad: Any, output: Any, size: int) -> None:
        _backward_reference(out, grad, output, dtype.wide, logarithm)

    arrays = _layout_params(("out", dtype), ("grad", dtype), ("output", dtype))
    return Kernel(entry, code, [*arrays, Scalar("size", "int64")], reference, OPERATIONS)


@cache
def softmax_backward_across_kernel(dtype: dtype) -> Kernel:
    """Return the kernel of the gradient for rows that are next to each other in memory."""
    entry, t = f"softmax_backward_across_{dtype.name}", dtype.cuda
    code = f"""{SOFTMAX_SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({t}* out, const {t}* grad, const {t}* output,
    const __grid_constant__ Layout<3> layout, long long rows, long long size, long long lanes, long long logarithm) {{
  softmax_backward_across<{dtype.wide.cuda}>(out, grad, output, layout, rows, size, (int)lanes, logarithm != 0);
}}
"""

    def reference(out: Any, grad: Any, output: Any, rows: int, size: int, lanes: int, logarithm: int) -> None:
        _backward_reference(out, grad, output, dtype.wide, logarithm)

    arrays = _layout_params(("out", dtype), ("grad", dtype), ("output", dtype))
    return Kernel(entry, code, [*arrays, *_ACROSS], reference, OPERATIONS)


def _layout_params(*arrays: tuple[str, dtype]) -> list[Any]:
    """Return parameters for arrays of one shape; the first array is written."""
    pointers = [Pointer(name, dtype, "r" if at else "w", "layout") for at, (name, dtype) in enumerate(arrays)]
    return [*pointers, Strided("layout", tuple(name for name, _ in arrays))]


def _are_long(rows: RowPlan, operands: Sequence[Any], strides: Sequence[Sequence[int]]) -> bool:
    """Return whether the kernels of long rows apply to rows that are contiguous in the first operand, the result."""
    out = operands[0]
    return (
        rows.tiles > 1
        and rows.rows <= MAX_BLOCKS[0]
        and all(operand.dtype is out.dtype and operand.is_aligned() for operand in operands)
        and all(steps == strides[0] for steps in strides)
    )


def _run_softmax(call: Any, logarithm: bool, input: Any, dim: int, wanted: dtype | None) -> Any:
    dim = st.wrap_dim(dim, len(input.shape), call.name)
    dtype = wanted or input.dtype
    if not dtype.is_floating_point and (prod(input.shape) or input.dtype.is_floating_point):
        raise DtypeError(
            f"input must be floating point, got {dtype.name}", hint="pass dtype=torch.float32", operator=call.name
        )
    out = call.output(input.shape, dtype)
    if out.numel():
        layout, count, size, is_inner = layout_along(input.shape, [out.strides, input.strides], dim)
        if is_inner and layout[1][0][-1] == 1:
            is_even, rows = plan_rows(count, size, (out, input), layout[1])
            if _are_long(rows, (out, input), layout[1]):
                grid = Grid((count, 1, 1), LONG_ROW_LANES)
                call.launch(softmax_long_kernel(dtype, logarithm), grid, out, input, layout, size)
                return out
            call.launch(
                softmax_kernel(input.dtype, dtype, is_even),
                rows.grid(),
                out,
                input,
                layout,
                *rows,
                int(logarithm),
            )
        else:
            lanes = plan_spread(count, size, False).lanes
            kernel = softmax_across_kernel(input.dtype, dtype)
            call.launch(kernel, across_grid(count, lanes), out, input, layout, count, size, lanes, int(logarithm))
    return out


def _run_softmax_backward(call: Any, logarithm: bool, grad: Any, output: Any, dim: int) -> Any:
    dim = st.wrap_dim(dim, len(output.shape), call.name)
    dtype = output.dtype
    grad = grad if grad.dtype is dtype else call.contiguous(grad, dtype)
    out = call.output(output.shape, dtype)
    if out.numel():
        layout, count, size, is_inner = layout_along(output.shape, [out.strides, grad.strides, output.strides], dim)
        if is_inner and layout[1][0][-1] == 1:
            is_even, rows = plan_rows(count, size, (out, grad, output), layout[1])
            if _are_long(rows, (out, grad, output), layout[1]):
                grid, kernel = Grid((count, 1, 1), LONG_ROW_LANES), softmax_backward_long_kernel(dtype, logarithm)
                call.launch(kernel, grid, out, grad, output, layout, size)
                return out
            kernel = softmax_backward_kernel(dtype, is_even)
            call.launch(kernel, rows.grid(), out, grad, output, layout, *rows, int(logarithm))
        else:
            lanes = plan_spread(count, size, False).lanes
            kernel = softmax_backward_across_kernel(dtype)
            numbers = count, size, lanes, int(logarithm)
            call.launch(kernel, across_grid(count, lanes), out, grad, output, layout, *numbers)
    return out


def _softmax_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 5)), 1))
    yield Sample((Array((2, 9, 4)), 1))
    yield Sample((Array((12, 3), layout="transposed"), -1))
    yield Sample((Array((2, 6), layout="strided"), 0))
    yield Sample((Array((0, 3)), 0))
    yield Sample((Array(()), 0))
    yield Sample((Array((2, 1500)), 1))
    yield Sample((Array((2, 16641), grad=False), 1))


def _softmax_errors() -> Iterator[ErrorSample]:
    yield from bad_dims()
    yield ErrorSample((Array((2, 3), dtype="int64"), 1), DtypeError, "must be floating point, got int64")


def _backward_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 5)), Array((3, 5), low=-1.5, high=-0.5, seed=1), 1))
    yield Sample((Array((9, 3), layout="transposed"), Array((9, 3), low=-1.5, high=-0.5, seed=1), 0))
    yield Sample((Array((2, 16641), grad=False), Array((2, 16641), low=-12, high=-9, seed=1, grad=False), 1))


@operator(samples=_softmax_samples, errors=_softmax_errors, dtypes=FLOATING_TYPES)
def softmax(call: Any, input: Operand, dim: int, dtype: Any = None) -> Any:
    """Compute exp(input) divided by its sum along `dim`.

    dtype: the type to which the input is converted first, and of the result; None keeps the input's.
    Shapes: the result has the input's shape.
    Host:   returns at once.
    Raises: IndexRangeError if dim is out of range, DtypeError for integers.
    Example:
        >>> torch.softmax(torch.tensor([[0.0, 0.0], [0.0, 1.0]]), dim=1)
        tensor([[0.5000, 0.5000],
                [0.2689, 0.7311]])
    """
    return _run_softmax(call, False, input, dim, dtype)


@softmax.derivative
def _(grad: Any, out: Any, dim: int) -> Any:
    return softmax_backward(grad, out, dim)


@operator(samples=_softmax_samples, errors=_softmax_errors, dtypes=FLOATING_TYPES)
def log_softmax(call: Any, input: Operand, dim: int, dtype: Any = None) -> Any:
    """Compute the logarithm of `softmax` along `dim`, accurate where softmax underflows.

    dtype: the type to which the input is converted first, and of the result; None keeps the input's.
    Shapes: the result has the input's shape.
    Host:   returns at once.
    Raises: IndexRangeError if dim is out of range, DtypeError for integers.
    Example:
        >>> torch.log_softmax(torch.tensor([[0.0, 0.0], [0.0, 1.0]]), dim=1)
        tensor([[-0.6931, -0.6931],
                [-1.3133, -0.3133]])
    """
    return _run_softmax(call, True, input, dim, dtype)


@log_softmax.derivative
def _(grad: Any, out: Any, dim: int) -> Any:
    return log_softmax_backward(grad, out, dim)


@operator(samples=_backward_samples, dtypes=FLOATING_TYPES, method=False, function=False)
def softmax_backward(call: Any, grad_output: Operand, output: Operand, dim: int) -> Any:
    """Return the gradient of `softmax` from its result: output * (grad_output - sum(grad_output * output)).

    Shapes: all have one shape.
    Host:   returns at once.
    """
    return _run_softmax_backward(call, False, grad_output, output, dim)


@softmax_backward.derivative
def _(grad: Any, grad_output: Any, output: Any, dim: int) -> Any:
    inner, outer = (grad_output * output).sum(dim, True), (grad * output).sum(dim, True)
    return softmax_backward(grad, output, dim), grad * (grad_output - inner) - grad_output * outer


@operator(samples=_backward_samples, dtypes=FLOATING_TYPES, method=False, function=False)
def log_softmax_backward(call: Any, grad_output: Operand, output: Operand, dim: int) -> Any:
    """Return the gradient of `log_softmax` from its result: grad_output - exp(output) * sum(grad_output).

    Shapes: all have one shape.
    Host:   returns at once.
    """
    return _run_softmax_backward(call, True, grad_output, output, dim)


@log_softmax_backward.derivative
def _(grad: Any, grad_output: Any, output: Any, dim: int) -> Any:
    weighted = grad * output.exp()
    return grad - weighted.sum(dim, True), -(weighted * grad_output.sum(dim, True))
