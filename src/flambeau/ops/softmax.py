"""Softmax and its logarithm.  kernels/rows.cu has their device code.

- Half types are computed in float32, and each result is rounded once.
- They work along any dimension of any strides.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from .. import strides as st
from ..dtypes import FLOATING_TYPES, dtype
from ..errors import DtypeError
from ..host import np
from ..kernel import Kernel, Pointer, Scalar, Strided
from .dims import bad_dims
from .operator import Array, ErrorSample, Operand, Sample, operator
from .pointwise import THREADS
from .reduction import lines_of, spread_of
from .rows import SOURCE, row_grid


def _softmax_reference(logarithm: bool, wide: dtype) -> Any:
    def reference(out: Any, input: Any, rows: int, size: int) -> None:
        x = input.astype(wide.numpy, copy=False)
        x = x - x.max(axis=-1, keepdims=True)
        if logarithm:
            out[...] = x - np.log(np.exp(x).sum(axis=-1, keepdims=True))
            return
        x = np.exp(x)
        out[...] = x / x.sum(axis=-1, keepdims=True)

    return reference


@cache
def softmax_kernel(logarithm: bool, source: dtype, out: dtype, lanes: int, across: bool) -> Kernel:
    """Softmax, or its logarithm, of `source` values written as `out`."""
    entry = f"{'log_' if logarithm else ''}softmax_{source.name}_{out.name}_{lanes}{'_across' if across else ''}"
    choice = f"{lanes}, {str(across).lower()}, {str(logarithm).lower()}, {out.wide.cuda}"
    code = f"""{SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({out.cuda}* out, const {source.cuda}* input,
    const __grid_constant__ Layout<2> layout, long long rows, long long size) {{
  softmax<{choice}>(out, input, layout, rows, size);
}}
"""
    params = [
        Pointer("out", out, "w", "layout"),
        Pointer("input", source, "r", "layout"),
        Strided("layout", ("out", "input")),
    ]
    numbers = [Scalar("rows", "int64"), Scalar("size", "int64")]
    return Kernel(entry, code, [*params, *numbers], _softmax_reference(logarithm, out.wide), 8.0)


@cache
def softmax_backward_kernel(logarithm: bool, kind: dtype, lanes: int, across: bool) -> Kernel:
    """The gradient of softmax, or of its logarithm."""
    entry = f"{'log_' if logarithm else ''}softmax_backward_{kind.name}_{lanes}{'_across' if across else ''}"
    choice = f"{lanes}, {str(across).lower()}, {str(logarithm).lower()}, {kind.wide.cuda}"
    code = f"""{SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({kind.cuda}* out, const {kind.cuda}* grad,
    const {kind.cuda}* output, const __grid_constant__ Layout<3> layout, long long rows, long long size) {{
  softmax_backward<{choice}>(out, grad, output, layout, rows, size);
}}
"""

    def reference(out: Any, grad: Any, output: Any, rows: int, size: int) -> None:
        g, y = grad.astype(kind.wide.numpy, copy=False), output.astype(kind.wide.numpy, copy=False)
        if logarithm:
            out[...] = g - np.exp(y) * g.sum(axis=-1, keepdims=True)
        else:
            out[...] = y * (g - (g * y).sum(axis=-1, keepdims=True))

    names = ("out", "grad", "output")
    params = [Pointer(name, kind, "w" if name == "out" else "r", "layout") for name in names]
    numbers = [Scalar("rows", "int64"), Scalar("size", "int64")]
    return Kernel(entry, code, [*params, Strided("layout", names), *numbers], reference, 6.0)


def _run_softmax(call: Any, logarithm: bool, input: Any, dim: int, wanted: dtype | None) -> Any:
    dim = st.wrap_dim(dim, len(input.shape), call.name)
    kind = wanted or input.dtype
    if not kind.is_floating_point:
        raise DtypeError(f"{call.name}: input must be floating point, got {kind.name}", hint="pass dtype=torch.float32")
    out = call.output(input.shape, kind)
    if out.numel():
        layout, rows, size, is_inner = lines_of(input.shape, [out.strides, input.strides], dim)
        lanes, across, _ = spread_of(rows, size, is_inner, may_split=False)
        kernel = softmax_kernel(logarithm, input.dtype, kind, lanes, across)
        call.launch(kernel, row_grid(rows, lanes), out, input, layout, rows, size)
    return out


def _run_softmax_backward(call: Any, logarithm: bool, grad: Any, output: Any, dim: int) -> Any:
    dim = st.wrap_dim(dim, len(output.shape), call.name)
    grad = call.contiguous(grad, output.dtype) if grad.dtype is not output.dtype else grad
    out = call.output(output.shape, output.dtype)
    if out.numel():
        layout, rows, size, is_inner = lines_of(output.shape, [out.strides, grad.strides, output.strides], dim)
        lanes, across, _ = spread_of(rows, size, is_inner, may_split=False)
        kernel = softmax_backward_kernel(logarithm, output.dtype, lanes, across)
        call.launch(kernel, row_grid(rows, lanes), out, grad, output, layout, rows, size)
    return out


def _softmax_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 5)), 1))
    yield Sample((Array((2, 9, 4)), 1))
    yield Sample((Array((12, 3), layout="transposed"), -1))
    yield Sample((Array((2, 6), layout="strided"), 0))
    yield Sample((Array((0, 3)), 0))
    yield Sample((Array(()), 0))
    yield Sample((Array((2, 1500)), 1))


def _softmax_errors() -> Iterator[ErrorSample]:
    yield from bad_dims()
    yield ErrorSample((Array((2, 3), dtype="int64"), 1), DtypeError, "must be floating point, got int64")


def _backward_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 5)), Array((3, 5), low=-1.5, high=-0.5, seed=1), 1))
    yield Sample((Array((9, 3), layout="transposed"), Array((9, 3), low=-1.5, high=-0.5, seed=1), 0))


@operator(samples=_softmax_samples, errors=_softmax_errors, dtypes=FLOATING_TYPES)
def softmax(call: Any, input: Operand, dim: int, dtype: Any = None) -> Any:
    """exp(input) divided by its sum along `dim`.

    dtype: the input is read, and the result returned, as this type; None keeps the input's.
    Shapes: the result has the input's shape.
    Host:   returns at once.
    Raises: IndexRangeError if dim is out of range, DtypeError for integers.
    """
    return _run_softmax(call, False, input, dim, dtype)


@softmax.derivative
def _(grad: Any, out: Any, dim: int) -> Any:
    return softmax_backward(grad, out, dim)


@operator(samples=_softmax_samples, errors=_softmax_errors, dtypes=FLOATING_TYPES)
def log_softmax(call: Any, input: Operand, dim: int, dtype: Any = None) -> Any:
    """Logarithm of `softmax`, exact also where that is too small to represent.

    dtype: the input is read, and the result returned, as this type; None keeps the input's.
    Shapes: the result has the input's shape.
    Host:   returns at once.
    Raises: IndexRangeError if dim is out of range, DtypeError for integers.
    """
    return _run_softmax(call, True, input, dim, dtype)


@log_softmax.derivative
def _(grad: Any, out: Any, dim: int) -> Any:
    return log_softmax_backward(grad, out, dim)


@operator(samples=_backward_samples, dtypes=FLOATING_TYPES, method=False, function=False)
def softmax_backward(call: Any, grad_output: Operand, output: Operand, dim: int) -> Any:
    """output * (grad_output - sum(grad_output * output)): the gradient of `softmax`, whose result `output` is.

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
    """grad_output - exp(output) * sum(grad_output): the gradient of `log_softmax`, whose result `output` is.

    Shapes: all have one shape.
    Host:   returns at once.
    """
    return _run_softmax_backward(call, True, grad_output, output, dim)


@log_softmax_backward.derivative
def _(grad: Any, grad_output: Any, output: Any, dim: int) -> Any:
    weighted = grad * output.exp()
    return grad - weighted.sum(dim, True), -(weighted * grad_output.sum(dim, True))
