"""Layer norm.  kernels/rows.cu has its device code.

- Half types are computed in float32, and each result is rounded once.
- Operands are made contiguous first: a row is the normalised dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import prod
from typing import Any

from ..dtypes import FLOATING_TYPES, dtype
from ..errors import AutogradError, DtypeError, ShapeError
from ..host import np
from ..kernel import Kernel, Pointer, Scalar
from .operator import Array, ErrorSample, Operand, Sample, composite, operator
from .pointwise import THREADS
from .reduction import SUM, TARGET_BLOCKS, run_fold, spread_of
from .rows import SOURCE, row_grid

COLUMN_LANES = 8
ROWS_PER_PIECE = 64  # of the parameter gradients


def _norm_source(name: str, kind: dtype, lanes: int, arguments: str, values: str) -> tuple[str, str]:
    """(entry, source) of a kernel that calls the template `name`."""
    entry = f"{name}_{kind.name}_{lanes}"
    return (
        entry,
        f"""{SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({arguments}) {{
  {name}<{lanes}, {kind.wide.cuda}, {kind.cuda}>({values});
}}
""",
    )


@cache
def layer_norm_kernel(kind: dtype, lanes: int) -> Kernel:
    """Normalised rows, their means and 1 / standard deviations."""
    t, c = kind.cuda, kind.wide.cuda
    arguments = (
        f"{t}* out, {c}* mean, {c}* rstd, const {t}* input, const {t}* weight, const {t}* bias, long long rows, "
    )
    arguments += "long long size, double eps"
    values = f"out, mean, rstd, input, weight, bias, rows, size, ({c})eps"
    entry, source = _norm_source("layer_norm", kind, lanes, arguments, values)

    def reference(
        out: Any, mean: Any, rstd: Any, input: Any, weight: Any, bias: Any, rows: int, size: int, eps: float
    ) -> None:
        x = input.astype(kind.wide.numpy, copy=False)
        mean[...] = x.mean(axis=1)
        x = x - mean[:, None]
        rstd[...] = 1 / np.sqrt(np.square(x).mean(axis=1) + kind.wide.numpy.type(eps))
        x = x * rstd[:, None]
        x = x if weight is None else x * weight.astype(kind.wide.numpy)
        out[...] = x if bias is None else x + bias.astype(kind.wide.numpy)

    params = [
        Pointer("out", kind, "w", ("rows", "size")),
        Pointer("mean", kind.wide, "w", ("rows",)),
        Pointer("rstd", kind.wide, "w", ("rows",)),
        Pointer("input", kind, "r", ("rows", "size")),
        Pointer("weight", kind, "r", ("size",)),
        Pointer("bias", kind, "r", ("size",)),
        Scalar("rows", "int64"),
        Scalar("size", "int64"),
        Scalar("eps", "float64"),
    ]
    return Kernel(entry, source, params, reference, 8.0)


def _norm_operands(kind: dtype) -> list[Pointer]:
    names = (("grad_output", kind), ("input", kind))
    statistics = (("mean", kind.wide), ("rstd", kind.wide))
    return [
        *(Pointer(name, each, "r", ("rows", "size")) for name, each in names),
        *(Pointer(name, each, "r", ("rows",)) for name, each in statistics),
    ]


@cache
def layer_norm_backward_kernel(kind: dtype, lanes: int) -> Kernel:
    """The gradient of the input."""
    t, c = kind.cuda, kind.wide.cuda
    arguments = f"{t}* out, const {t}* grad, const {t}* input, const {c}* mean, const {c}* rstd, const {t}* weight, "
    arguments += "long long rows, long long size"
    values = "out, grad, input, mean, rstd, weight, rows, size"
    entry, source = _norm_source("layer_norm_backward", kind, lanes, arguments, values)

    def reference(out: Any, grad: Any, input: Any, mean: Any, rstd: Any, weight: Any, rows: int, size: int) -> None:
        wide = kind.wide.numpy
        normal = (input.astype(wide) - mean[:, None]) * rstd[:, None]
        slope = grad.astype(wide) * (1 if weight is None else weight.astype(wide))
        along = normal * (slope * normal).mean(axis=1, keepdims=True)
        out[...] = rstd[:, None] * (slope - slope.mean(axis=1, keepdims=True) - along)

    params = [
        Pointer("out", kind, "w", ("rows", "size")),
        *_norm_operands(kind),
        Pointer("weight", kind, "r", ("size",)),
        Scalar("rows", "int64"),
        Scalar("size", "int64"),
    ]
    return Kernel(entry, source, params, reference, 12.0)


@cache
def layer_norm_columns_kernel(kind: dtype) -> Kernel:
    """The gradients of weight and bias, summed over pieces of the rows."""
    t, c = kind.cuda, kind.wide.cuda
    arguments = f"{c}* of_weight, {c}* of_bias, const {t}* grad, const {t}* input, const {c}* mean, const {c}* rstd, "
    arguments += "long long rows, long long size, long long parts"
    values = "of_weight, of_bias, grad, input, mean, rstd, rows, size, parts"
    entry, source = _norm_source("layer_norm_columns", kind, COLUMN_LANES, arguments, values)

    def reference(
        of_weight: Any, of_bias: Any, grad: Any, input: Any, mean: Any, rstd: Any, rows: int, size: int, parts: int
    ) -> None:
        slope = grad.astype(kind.wide.numpy)
        product = slope * ((input.astype(kind.wide.numpy) - mean[:, None]) * rstd[:, None])
        chunk = -(-rows // parts)
        for part in range(parts):
            here = slice(part * chunk, (part + 1) * chunk)
            of_weight[part], of_bias[part] = product[here].sum(axis=0), slope[here].sum(axis=0)

    params = [
        Pointer("of_weight", kind.wide, "w", ("parts", "size")),
        Pointer("of_bias", kind.wide, "w", ("parts", "size")),
        *_norm_operands(kind),
        *[Scalar(name, "int64") for name in ("rows", "size", "parts")],
    ]
    return Kernel(entry, source, params, reference, 6.0)


def _norm_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 5)), (5,)))
    yield Sample((Array((2, 3, 4)), (3, 4), Array((3, 4), seed=1), Array((3, 4), seed=2)))
    yield Sample((Array((5, 3), layout="transposed"), (3,), Array((3,), seed=1)))
    yield Sample((Array((2, 1500)), (1500,), None, Array((1500,), seed=1)))
    yield Sample((Array((0, 4)), (4,)))


def _norm_errors() -> Iterator[ErrorSample]:
    yield ErrorSample(
        (Array((2, 3)), (2,)), ShapeError, r"expected input with shape \[\*, 2\], but got input of size \[2, 3\]"
    )
    yield ErrorSample(
        (Array((2, 3)), (3,), Array((2,))), ShapeError, r"weight has shape \[2\], normalized_shape is \[3\]"
    )
    yield ErrorSample((Array((2, 3), dtype="int64"), (3,)), DtypeError, "must be floating point, got int64")


def _check_norm(input: Any, normalized_shape: Sequence[int], weight: Any, bias: Any) -> None:
    if not input.dtype.is_floating_point:
        raise DtypeError(
            f"layer_norm: input must be floating point, got {input.dtype.name}", hint="convert with .float()"
        )
    shape = list(normalized_shape)
    if not shape or list(input.shape[-len(shape) :]) != shape:
        wanted = ", ".join(["*", *map(str, shape)])
        raise ShapeError(
            f"layer_norm: given normalized_shape={shape}, expected input with shape [{wanted}], but got input of size "
            f"{list(input.shape)}"
        )
    for name, each in (("weight", weight), ("bias", bias)):
        if each is not None and list(each.shape) != shape:
            raise ShapeError(f"layer_norm: {name} has shape {list(each.shape)}, normalized_shape is {shape}")
        if each is not None and each.dtype is not input.dtype:
            raise DtypeError(
                f"layer_norm: {name} is {each.dtype.name}, input is {input.dtype.name}; they must be the same"
            )


@operator(samples=_norm_samples, errors=_norm_errors, dtypes=FLOATING_TYPES, method=False, function=False)
def native_layer_norm(
    call: Any, input: Operand, normalized_shape: Any, weight: Operand | None = None, bias: Operand | None = None,
    eps: float = 1e-5,
) -> Any:  # fmt: skip
    """(result, means, 1 / standard deviations): what `layer_norm` calls.

    Shapes: as `layer_norm`; the means and deviations have size 1 in the normalised dimensions.
    Host:   returns at once.
    """
    _check_norm(input, normalized_shape, weight, bias)
    kind, size = input.dtype, prod(normalized_shape)
    lead = len(input.shape) - len(normalized_shape)
    rows = prod(input.shape[:lead])
    out = call.output(input.shape, kind)
    shape = (*input.shape[:lead], *[1] * len(normalized_shape))
    mean, rstd = call.output(shape, kind.wide), call.output(shape, kind.wide)
    if rows * size:
        operands = [None if each is None else call.contiguous(each) for each in (input, weight, bias)]
        lanes = _norm_lanes(size)
        call.launch(layer_norm_kernel(kind, lanes), row_grid(rows, lanes), out, mean, rstd, *operands, rows, size, eps)
    return out, mean, rstd


def _norm_lanes(size: int) -> int:
    return spread_of(1, max(size, COLUMN_LANES + 1), True, may_split=False).lanes


@native_layer_norm.derivative
def _(grads: Any, outs: Any, input: Any, normalized_shape: Any, weight: Any, needs: Any) -> Any:
    _, mean, rstd = outs
    of_input = None
    if needs[0]:
        of_input = _statistics_gradient(grads[1], grads[2], input, mean, rstd, prod(normalized_shape))
        if grads[0] is not None:
            of_result = layer_norm_backward(grads[0], input, mean, rstd, weight)
            of_input = of_result if of_input is None else of_input + of_result
    if grads[0] is None or not (needs[1] or needs[2]):
        return of_input, None, None
    of_weight, of_bias = layer_norm_columns(grads[0], input, mean, rstd, normalized_shape)
    return of_input, of_weight if needs[1] else None, of_bias if needs[2] else None


def _statistics_gradient(of_mean: Any, of_rstd: Any, input: Any, mean: Any, rstd: Any, size: int) -> Any:
    """What flows back from the means and deviations; None where nothing does."""
    parts = [] if of_mean is None else [(of_mean / size).expand(input.shape)]
    if of_rstd is not None:
        parts.append((of_rstd * rstd**3 / size) * (mean - input))
    return None if not parts else parts[0] if len(parts) == 1 else parts[0] + parts[1]


def _row_samples() -> Iterator[Sample]:
    kept = {"low": 0.5, "high": 1.5, "grad": False}
    statistics = Array((3, 1), **kept), Array((3, 1), seed=1, **kept)
    yield Sample((Array((3, 5), grad=False), Array((3, 5), seed=1, grad=False), *statistics))


@operator(samples=_row_samples, dtypes=FLOATING_TYPES[2:], method=False, function=False)
def layer_norm_backward(
    call: Any, grad_output: Operand, input: Operand, mean: Operand, rstd: Operand, weight: Operand | None = None
) -> Any:
    """The gradient of the input of `native_layer_norm`.  It has no derivative.

    Shapes: the result has the input's shape.
    Host:   returns at once.
    Raises: AutogradError if it is differentiated.
    """
    kind = input.dtype
    rows = mean.numel()
    size = input.numel() // rows if rows else 0
    out = call.output(input.shape, kind)
    if rows * size:
        operands = [
            call.contiguous(grad_output, kind),
            call.contiguous(input),
            call.contiguous(mean),
            call.contiguous(rstd),
        ]
        weight = None if weight is None else call.contiguous(weight)
        lanes = _norm_lanes(size)
        call.launch(layer_norm_backward_kernel(kind, lanes), row_grid(rows, lanes), out, *operands, weight, rows, size)
    return out


def _column_samples() -> Iterator[Sample]:
    for sample in _row_samples():
        yield Sample((*sample.args, (5,)))


@operator(samples=_column_samples, dtypes=FLOATING_TYPES[2:], method=False, function=False)
def layer_norm_columns(
    call: Any, grad_output: Operand, input: Operand, mean: Operand, rstd: Operand, normalized_shape: Any
) -> Any:
    """The gradients of weight and bias of `native_layer_norm`.  It has no derivative.

    Shapes: two results of normalized_shape.
    Host:   returns at once.
    Raises: AutogradError if it is differentiated.
    """
    kind = input.dtype
    rows, size = mean.numel(), prod(normalized_shape)
    results = call.output(normalized_shape, kind), call.output(normalized_shape, kind)
    parts = _column_parts(rows, size)
    pieces = call.scratch((parts, size), kind.wide), call.scratch((parts, size), kind.wide)
    if rows * size:
        operands = [call.contiguous(each) for each in (grad_output, input, mean, rstd)]
        blocks = row_grid(size * parts, COLUMN_LANES)
        call.launch(layer_norm_columns_kernel(kind), blocks, *pieces, *operands, rows, size, parts)
    for piece, out in zip(pieces, results):
        run_fold(call, SUM, piece, (0,), out, kind.wide)
    return results


def _column_parts(rows: int, size: int) -> int:
    """Into how many pieces the rows are cut, so that the device is busy; 0 if there are none."""
    tiles = max(-(-size * COLUMN_LANES // THREADS), 1)
    parts = max(1, min(rows // ROWS_PER_PIECE, TARGET_BLOCKS // tiles))
    return -(-rows // -(-rows // parts)) if rows else 0


@layer_norm_backward.derivative
def _(grad: Any) -> Any:
    raise AutogradError("layer_norm_backward: the second derivative of layer_norm is not implemented")


@layer_norm_columns.derivative
def _(grads: Any) -> Any:
    raise AutogradError("layer_norm_columns: the second derivative of layer_norm is not implemented")


@composite(samples=_norm_samples, errors=_norm_errors, dtypes=FLOATING_TYPES, method=False)
def layer_norm(
    input: Operand, normalized_shape: Any, weight: Operand | None = None, bias: Operand | None = None, eps: float = 1e-5
) -> Any:
    """(input - mean) / sqrt(variance + eps) * weight + bias, over the last dimensions, which normalized_shape names.

    Its second derivative is not implemented.
    Shapes: the result has the input's shape; weight and bias have normalized_shape.
    Host:   returns at once.
    Raises: ShapeError if shapes do not fit, DtypeError if types differ or are not floating point.
    """
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    return native_layer_norm(input, shape, weight, bias, eps)[0]
