"""Layer, RMS, batch, group, instance and local response norm, and their gradients (kernels/{layer,channel}_norm*.cu).

- Half types are computed in float32, and each result is rounded once.
- Operands are made contiguous first.  A row is the normalised dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import gcd, prod
from typing import Any

from .. import strides as st
from ..dtypes import FLOATING_TYPES, bfloat16, dtype, float16, float32, promote
from ..errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError, ValueRangeError, shown
from ..host import np
from ..kernel import MAX_DIMS, Grid, Kernel, Pointer, Scalar, Strided
from .channel_pointwise import channel_pointwise
from .operator import Array, Call, ErrorSample, Number, Operand, Operands, Sample, Value, composite, operator
from .pointwise import FULL_DEVICE_BLOCKS, PRELUDE, THREADS, floating_only, grid_over, pointwise, source_text
from .reduction_kernels import (
    PIECE_BLOCKS,
    REDUCE_SOURCE,
    ROW_ARGUMENTS,
    ROW_BOUNDS,
    ROW_PARAMETERS,
    ROW_SOURCE,
    SUM,
    WARP,
    WIDEST_ACCESS,
    WORK_PARAMETERS,
    checked_plan,
    even_variant,
    plan_join,
    plan_rows,
    reduced_count,
    reduction_source,
    run_fold,
)
from .reductions import variance_kernel

LAYER_NORM_SOURCE = ROW_SOURCE + source_text("layer_norm.cu")
COLUMN_LANES = 32  # the most lanes that share a block for the parameter gradients
COLUMN_BLOCKS = 132 * 4  # blocks of the parameter gradients that run at once
COLUMN_BOUNDS = f"__launch_bounds__({THREADS}, 4)"
ROWS_PER_PIECE = 64  # for the parameter gradients
SHORT_ROWS = 1024  # up to this many, fewer lanes share a block, and one launch computes the parameter gradients
SHORT_LANES = 4


def _norm_source(name: str, dtype: dtype, is_even: bool, bound: str, arguments: str, values: str) -> tuple[str, str]:
    """Return (kernel name, source) of a kernel that calls the template `name`."""
    end, choice = even_variant(is_even)
    entry = f"{name}_{dtype.name}{end}"
    return (
        entry,
        f"""{LAYER_NORM_SOURCE}
extern "C" __global__ void {bound} {entry}({arguments}) {{
  {name}<{choice}, {dtype.wide.cuda}>({values});
}}
""",
    )


@cache
def layer_norm_kernel(dtype: dtype, is_even: bool) -> Kernel:
    """Return the kernel of normalised rows, their means and 1 / standard deviations."""
    t, c = dtype.cuda, dtype.wide.cuda
    arguments = (
        f"{t}* out, {c}* mean, {c}* rstd, const {t}* input, const {t}* weight, const {t}* bias, {ROW_ARGUMENTS}, "
    )
    arguments += "double eps"
    values = f"out, mean, rstd, input, weight, bias, rows, size, tiles, (int)lanes, ({c})eps"
    entry, source = _norm_source("layer_norm", dtype, is_even, ROW_BOUNDS, arguments, values)

    def reference(
        out: Any, mean: Any, rstd: Any, input: Any, weight: Any, bias: Any,
        rows: int, size: int, tiles: int, lanes: int, eps: float,
    ) -> None:  # fmt: skip
        x = input.astype(dtype.wide.numpy, copy=False)
        mean[...] = x.mean(axis=1)
        x = x - mean[:, None]
        rstd[...] = 1 / np.sqrt(np.square(x).mean(axis=1) + dtype.wide.numpy.type(eps))
        x = x * rstd[:, None]
        x = x if weight is None else x * weight.astype(dtype.wide.numpy)
        out[...] = x if bias is None else x + bias.astype(dtype.wide.numpy)

    params = [
        Pointer("out", dtype, "w", ("rows", "size")),
        Pointer("mean", dtype.wide, "w", ("rows",)),
        Pointer("rstd", dtype.wide, "w", ("rows",)),
        Pointer("input", dtype, "r", ("rows", "size")),
        Pointer("weight", dtype, "r", ("size",)),
        Pointer("bias", dtype, "r", ("size",)),
        *ROW_PARAMETERS,
        Scalar("eps", "float64"),
    ]
    return Kernel(entry, source, params, reference, 8.0)


def _norm_operands(own: dtype) -> list[Pointer]:
    names = (("grad_output", own), ("input", own))
    statistics = (("mean", own.wide), ("rstd", own.wide))
    return [
        *(Pointer(name, dtype, "r", ("rows", "size")) for name, dtype in names),
        *(Pointer(name, dtype, "r", ("rows",)) for name, dtype in statistics),
    ]


@cache
def layer_norm_backward_kernel(dtype: dtype, is_even: bool) -> Kernel:
    """Return the kernel of the gradient of the input."""
    t, c = dtype.cuda, dtype.wide.cuda
    arguments = f"{t}* out, const {t}* grad, const {t}* input, const {c}* mean, const {c}* rstd, const {t}* weight, "
    arguments += ROW_ARGUMENTS
    values = "out, grad, input, mean, rstd, weight, rows, size, tiles, (int)lanes"
    entry, source = _norm_source("layer_norm_backward", dtype, is_even, ROW_BOUNDS, arguments, values)

    def reference(
        out: Any, grad: Any, input: Any, mean: Any, rstd: Any, weight: Any,
        rows: int, size: int, tiles: int, lanes: int,
    ) -> None:  # fmt: skip
        wide = dtype.wide.numpy
        normal = (input.astype(wide) - mean[:, None]) * rstd[:, None]
        slope = grad.astype(wide) * (1 if weight is None else weight.astype(wide))
        along = normal * (slope * normal).mean(axis=1, keepdims=True)
        out[...] = rstd[:, None] * (slope - slope.mean(axis=1, keepdims=True) - along)

    params = [
        Pointer("out", dtype, "w", ("rows", "size")),
        *_norm_operands(dtype),
        Pointer("weight", dtype, "r", ("size",)),
        *ROW_PARAMETERS,
    ]
    return Kernel(entry, source, params, reference, 12.0)


@cache
def layer_norm_columns_kernel(dtype: dtype, is_even: bool) -> Kernel:
    """Return the kernel of the gradients of weight and bias, summed over pieces of the rows."""
    t, c = dtype.cuda, dtype.wide.cuda
    arguments = f"{c}* of_weight, {c}* of_bias, const {t}* grad, const {t}* input, const {c}* mean, const {c}* rstd, "
    arguments += "long long rows, long long size, long long parts, long long lanes"
    values = "of_weight, of_bias, grad, input, mean, rstd, rows, size, parts, (int)lanes"
    entry, source = _norm_source("layer_norm_columns", dtype, is_even, COLUMN_BOUNDS, arguments, values)

    def reference(
        of_weight: Any, of_bias: Any, grad: Any, input: Any, mean: Any, rstd: Any,
        rows: int, size: int, parts: int, lanes: int,
    ) -> None:  # fmt: skip
        slope = grad.astype(dtype.wide.numpy)
        product = slope * ((input.astype(dtype.wide.numpy) - mean[:, None]) * rstd[:, None])
        chunk = -(-rows // parts)
        for part in range(parts):
            here = slice(part * chunk, (part + 1) * chunk)
            of_weight[part], of_bias[part] = product[here].sum(axis=0), slope[here].sum(axis=0)

    params = [
        Pointer("of_weight", dtype.wide, "w", ("parts", "size")),
        Pointer("of_bias", dtype.wide, "w", ("parts", "size")),
        *_norm_operands(dtype),
        *[Scalar(name, "int64") for name in ("rows", "size", "parts", "lanes")],
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


def _check_norm(input: Any, normalized_shape: Sequence[int], weight: Any, bias: Any, name: str = "layer_norm") -> None:
    if not input.dtype.is_floating_point:
        raise DtypeError(
            f"input must be floating point, got {input.dtype.name}", hint="convert with .float()", operator=name
        )
    shape = list(normalized_shape)
    if not shape or list(input.shape[-len(shape) :]) != shape:
        wanted = ", ".join(["*", *map(str, shape)])
        raise ShapeError(
            f"given normalized_shape={shape}, expected input with shape [{wanted}], but got input of size "
            f"{list(input.shape)}",
            hint=f"normalized_shape is that of the last dimensions, for example {list(input.shape[-1:])}",
            operator=name,
        )
    for name, operand in (("weight", weight), ("bias", bias)):
        if operand is not None and list(operand.shape) != shape:
            raise ShapeError(
                f"{name} has shape {list(operand.shape)}, normalized_shape is {shape}",
                hint="pass tensors of shape normalized_shape",
                operator=name,
            )
        if operand is not None and operand.dtype is not input.dtype:
            raise DtypeError(
                f"{name} is {operand.dtype.name}, input is {input.dtype.name}; they must be the same",
                hint=f"convert one of them, for example {name}.to(torch.{input.dtype.name})",
                operator=name,
            )


@operator(samples=_norm_samples, errors=_norm_errors, dtypes=FLOATING_TYPES, method=False, function=False)
def native_layer_norm(
    call: Any, input: Operand, normalized_shape: Any, weight: Operand | None = None, bias: Operand | None = None,
    eps: float = 1e-5,
) -> Any:  # fmt: skip
    """Compute `layer_norm`: (result, means, 1 / standard deviations).

    Shapes: as `layer_norm`; the means and deviations have size 1 in the normalised dimensions.
    Host:   returns at once.
    Raises: ShapeError if the last sizes of the input, weight or bias are not normalized_shape, DtypeError for integers.
    """
    _check_norm(input, normalized_shape, weight, bias)
    dtype, size = input.dtype, prod(normalized_shape)
    lead = len(input.shape) - len(normalized_shape)
    count = prod(input.shape[:lead])
    out = call.output(input.shape, dtype)
    shape = (*input.shape[:lead], *[1] * len(normalized_shape))
    mean, rstd = call.output(shape, dtype.wide), call.output(shape, dtype.wide)
    if count * size:
        operands = [None if operand is None else call.contiguous(operand) for operand in (input, weight, bias)]
        is_even, rows = plan_rows(count, size, (out, *operands))
        call.launch(layer_norm_kernel(dtype, is_even), rows.grid(), out, mean, rstd, *operands, *rows, eps)
    return out, mean, rstd


@native_layer_norm.derivative
def _(grads: Any, out1: Any, out2: Any, input: Any, normalized_shape: Any, weight: Any, needs: Any) -> Any:
    mean, rstd, of_input = out1, out2, None
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
    """Return the gradient of the input from those of the means and deviations; None without any."""
    parts = [] if of_mean is None else [(of_mean / size).expand(input.shape)]
    if of_rstd is not None:
        parts.append((of_rstd * rstd**3 / size) * (mean - input))
    return None if not parts else parts[0] if len(parts) == 1 else parts[0] + parts[1]


def _row_samples() -> Iterator[Sample]:
    kept: dict[str, Any] = {"low": 0.5, "high": 1.5, "grad": False}
    statistics = Array((3, 1), **kept), Array((3, 1), seed=1, **kept)
    yield Sample((Array((3, 5), grad=False), Array((3, 5), seed=1, grad=False), *statistics))


@operator(samples=_row_samples, dtypes=FLOATING_TYPES[2:], method=False, function=False)
def layer_norm_backward(
    call: Any, grad_output: Operand, input: Operand, mean: Operand, rstd: Operand, weight: Operand | None = None
) -> Any:
    """Return the gradient of the input of `native_layer_norm`.

    Shapes: the result has the input's shape.
    Host:   returns at once.
    """
    dtype = input.dtype
    count = mean.numel()
    size = input.numel() // count if count else 0
    out = call.output(input.shape, dtype)
    if count * size:
        operands = [
            call.contiguous(grad_output, dtype),
            call.contiguous(input),
            call.contiguous(mean),
            call.contiguous(rstd),
        ]
        weight = None if weight is None else call.contiguous(weight)
        is_even, rows = plan_rows(count, size, (out, *operands[:2], weight))
        call.launch(layer_norm_backward_kernel(dtype, is_even), rows.grid(), out, *operands, weight, *rows)
    return out


def _column_samples() -> Iterator[Sample]:
    for sample in _row_samples():
        yield Sample((*sample.args, (5,)))


@operator(samples=_column_samples, dtypes=FLOATING_TYPES[2:], method=False, function=False)
def layer_norm_columns(
    call: Any, grad_output: Operand, input: Operand, mean: Operand, rstd: Operand, normalized_shape: Any
) -> Any:
    """Return the gradients of weight and bias of `native_layer_norm`.

    Shapes: two results of normalized_shape.
    Host:   returns at once.
    """
    dtype = input.dtype
    rows, size = mean.numel(), prod(normalized_shape)
    results = call.output(normalized_shape, dtype), call.output(normalized_shape, dtype)
    if not rows * size:
        for out in results if size else ():
            run_fold(call, SUM, call.scratch((0, size), dtype.wide), (0,), out, dtype.wide)
        return results
    lanes, tiles, parts = _column_plan(rows, size, dtype)
    if parts == 1 and dtype.wide is dtype:
        pieces = results
    else:
        pieces = call.scratch((parts, size), dtype.wide), call.scratch((parts, size), dtype.wide)
    operands = [call.contiguous(operand) for operand in (grad_output, input, mean, rstd)]
    is_even, _ = plan_rows(rows, size, operands[:2])
    grid = Grid((tiles * parts, 1, 1), THREADS)
    call.launch(layer_norm_columns_kernel(dtype, is_even), grid, *pieces, *operands, rows, size, parts, lanes)
    if pieces is not results:
        _join_sums(call, results, pieces, parts, size)
    return results


def _column_plan(rows: int, size: int, dtype: dtype) -> tuple[int, int, int]:
    """Return (threads of a block along the columns, blocks that cover all columns, pieces of the rows; 0 without rows).

    A few short columns whose type is also the accumulation type are one piece, whose sums are the results.
    """
    runs = -(-size * dtype.itemsize // WIDEST_ACCESS)
    is_short = rows <= SHORT_ROWS and runs <= SHORT_LANES * COLUMN_BLOCKS and dtype.wide is dtype
    most = SHORT_LANES if is_short else COLUMN_LANES
    lanes = 1
    while lanes < min(runs, most):
        lanes *= 2
    tiles = -(-runs // lanes)
    parts = 1 if is_short else max(1, min(rows // ROWS_PER_PIECE, COLUMN_BLOCKS // max(tiles, 1)))
    return lanes, tiles, -(-rows // -(-rows // parts)) if rows else 0


# the second derivative: mean and rstd are operands, whose gradients native_layer_norm defines


@layer_norm_backward.derivative
def _(grad: Any, grad_output: Any, input: Any, mean: Any, rstd: Any, weight: Any, needs: Any) -> Any:
    normal, scaled = (input - mean) * rstd, grad * rstd
    slope = grad_output if weight is None else grad_output * weight
    of_slope = scaled - _row_mean(scaled, mean) - normal * _row_mean(scaled * normal, mean)
    of_normal = -(scaled * _row_mean(slope * normal, mean) + slope * _row_mean(scaled * normal, mean))
    of_scale = (grad * (slope - _row_mean(slope, mean) - normal * _row_mean(slope * normal, mean))).sum(
        _row_dims(mean), True
    )
    of_input, of_mean, of_rstd = _through_normal(of_normal, input, mean, rstd)
    of_grad = of_slope if weight is None else of_slope * weight
    of_weight = _column_sum(of_slope * grad_output, weight) if needs[4] else None
    return of_grad.to(input.dtype), of_input, of_mean, of_rstd + of_scale, of_weight


@layer_norm_columns.derivative
def _(grads: Any, grad_output: Any, input: Any, mean: Any, rstd: Any) -> Any:
    of_weight, of_bias = grads
    parts = [] if of_bias is None else [of_bias.expand(input.shape)]
    if of_weight is None:
        return parts[0], None, None, None
    parts.append((input - mean) * rstd * of_weight)
    of_grad = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    return of_grad.to(input.dtype), *_through_normal(grad_output * of_weight, input, mean, rstd)


def _through_normal(of_normal: Any, input: Any, mean: Any, rstd: Any) -> tuple[Any, Any, Any]:
    """Return the gradients of input, mean and rstd from the gradient of (input - mean) * rstd."""
    of_input, dims = of_normal * rstd, _row_dims(mean)
    return of_input.to(input.dtype), -of_input.sum(dims, True), (of_normal * (input - mean)).sum(dims, True)


def _row_dims(mean: Any) -> list[int]:
    """Return the normalised dimensions and other dimensions of size 1, over which a sum changes nothing."""
    return [dim for dim, size in enumerate(mean.shape) if size == 1]


def _row_mean(terms: Any, mean: Any) -> Any:
    return terms.sum(_row_dims(mean), True) * (mean.numel() / max(terms.numel(), 1))


def _column_sum(terms: Any, weight: Any) -> Any:
    lead = len(terms.shape) - len(weight.shape)
    return (terms.sum(list(range(lead))) if lead else terms).to(weight.dtype)


@composite(samples=_norm_samples, errors=_norm_errors, dtypes=FLOATING_TYPES, method=False)
def layer_norm(
    input: Operand, normalized_shape: Any, weight: Operand | None = None, bias: Operand | None = None, eps: float = 1e-5
) -> Any:
    """Normalize the last dimensions: (input - mean) / sqrt(variance + eps) * weight + bias.

    normalized_shape: the sizes of these dimensions.

    Weight and bias may be float32 if the input is float16 or bfloat16.

    Shapes: the result has the input's shape; weight and bias have normalized_shape.
    Host:   returns at once.
    Raises: ShapeError if shapes do not fit, DtypeError if types differ or are not floating point.
    Example:
        >>> torch.nn.functional.layer_norm(torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 30.0]]), (3,))
        tensor([[-1.2247,  0.0000,  1.2247],
                [-0.7071, -0.7071,  1.4142]])
    """
    shape = tuple(st.as_ints(normalized_shape))
    affine = [parameter for parameter in (weight, bias) if parameter is not None]
    if affine and input.dtype in (bfloat16, float16) and all(parameter.dtype is float32 for parameter in affine):
        return native_layer_norm(input.to(float32), shape, weight, bias, eps)[0].to(input.dtype)
    return native_layer_norm(input, shape, weight, bias, eps)[0]


# RMS norm


@cache
def rms_norm_kernel(dtype: dtype, is_even: bool) -> Kernel:
    """Return the kernel of rows divided by their root mean square, and 1 / that root."""
    t, c = dtype.cuda, dtype.wide.cuda
    arguments = f"{t}* out, {c}* rstd, const {t}* input, const {t}* weight, {ROW_ARGUMENTS}, double eps"
    values = f"out, rstd, input, weight, rows, size, tiles, (int)lanes, ({c})eps"
    entry, source = _norm_source("rms_norm", dtype, is_even, ROW_BOUNDS, arguments, values)

    def reference(
        out: Any, rstd: Any, input: Any, weight: Any, rows: int, size: int, tiles: int, lanes: int, eps: float
    ) -> None:
        x = input.astype(dtype.wide.numpy, copy=False)
        rstd[...] = 1 / np.sqrt(np.square(x).mean(axis=1) + dtype.wide.numpy.type(eps))
        x = x * rstd[:, None]
        out[...] = x if weight is None else x * weight.astype(dtype.wide.numpy, copy=False)

    params = [
        Pointer("out", dtype, "w", ("rows", "size")),
        Pointer("rstd", dtype.wide, "w", ("rows",)),
        Pointer("input", dtype, "r", ("rows", "size")),
        Pointer("weight", dtype, "r", ("size",)),
        *ROW_PARAMETERS,
        Scalar("eps", "float64"),
    ]
    return Kernel(entry, source, params, reference, 4.0)


@cache
def rms_norm_backward_kernel(dtype: dtype, is_even: bool) -> Kernel:
    """Return the kernel of the gradient of the input."""
    t, c = dtype.cuda, dtype.wide.cuda
    arguments = f"{t}* out, const {t}* grad, const {t}* input, const {c}* rstd, const {t}* weight, {ROW_ARGUMENTS}"
    values = "out, grad, input, rstd, weight, rows, size, tiles, (int)lanes"
    entry, source = _norm_source("rms_norm_backward", dtype, is_even, ROW_BOUNDS, arguments, values)

    def reference(
        out: Any, grad: Any, input: Any, rstd: Any, weight: Any, rows: int, size: int, tiles: int, lanes: int
    ) -> None:
        wide = dtype.wide.numpy
        x, scale = input.astype(wide, copy=False), rstd[:, None]
        slope = grad.astype(wide) * (1 if weight is None else weight.astype(wide, copy=False))
        along = (slope * x).mean(axis=1, keepdims=True) * scale * scale
        out[...] = scale * (slope - x * along)

    params = [
        Pointer("out", dtype, "w", ("rows", "size")),
        *[Pointer(name, dtype, "r", ("rows", "size")) for name in ("grad", "input")],
        Pointer("rstd", dtype.wide, "r", ("rows",)),
        Pointer("weight", dtype, "r", ("size",)),
        *ROW_PARAMETERS,
    ]
    return Kernel(entry, source, params, reference, 8.0)


def _rms_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 5)), (5,)))
    yield Sample((Array((2, 3, 4)), (3, 4), Array((3, 4), seed=1), 1e-5))
    yield Sample((Array((5, 3), layout="transposed"), (3,), Array((3,), seed=1)))
    yield Sample((Array((2, 1500), grad=False), (1500,)))
    yield Sample((Array((0, 4)), (4,)))


def _rms_errors() -> Iterator[ErrorSample]:
    for sample in _norm_errors():
        yield ErrorSample(sample.args, sample.error, sample.match)


@operator(samples=_rms_samples, dtypes=FLOATING_TYPES, method=False, function=False)
def native_rms_norm(
    call: Any, input: Operand, normalized_shape: Any, weight: Operand | None = None, eps: float = 1e-5
) -> Any:
    """Compute `rms_norm`: (result, 1 / root mean squares)."""
    _check_norm(input, normalized_shape, weight, None, "rms_norm")
    dtype, size = input.dtype, prod(normalized_shape)
    lead = len(input.shape) - len(normalized_shape)
    count = prod(input.shape[:lead])
    out = call.output(input.shape, dtype)
    rstd = call.output((*input.shape[:lead], *[1] * len(normalized_shape)), dtype.wide)
    if count * size:
        operands = [None if operand is None else call.contiguous(operand) for operand in (input, weight)]
        is_even, rows = plan_rows(count, size, (out, *operands))
        call.launch(rms_norm_kernel(dtype, is_even), rows.grid(), out, rstd, *operands, *rows, float(eps))
    return out, rstd


@native_rms_norm.derivative
def _(grads: Any, out1: Any, input: Any, normalized_shape: Any, weight: Any, needs: Any) -> Any:
    grad, of_rstd = grads
    of_input = None
    if needs[0] and grad is not None:
        of_input = rms_norm_backward(grad, input, out1, weight)
    if needs[0] and of_rstd is not None:
        through = (of_rstd * out1**3 / -prod(normalized_shape)) * input
        of_input = through if of_input is None else of_input + through
    of_weight = None
    if needs[1] and grad is not None:
        of_weight = layer_norm_columns(grad, input, out1.new_zeros(out1.shape), out1, normalized_shape)[0]
    return of_input, of_weight


def _rms_rows() -> Iterator[Sample]:
    rstd = Array((3, 1), low=0.5, high=1.5, seed=1)
    yield Sample((Array((3, 5)), Array((3, 5), seed=1), rstd, Array((5,), seed=2)))
    yield Sample((Array((3, 5)), Array((3, 5), seed=1), rstd))


@operator(samples=_rms_rows, dtypes=FLOATING_TYPES[2:], method=False, function=False)
def rms_norm_backward(
    call: Any, grad_output: Operand, input: Operand, rstd: Operand, weight: Operand | None = None
) -> Any:
    """Return the gradient of the input of `native_rms_norm`."""
    dtype, count = input.dtype, rstd.numel()
    size = input.numel() // count if count else 0
    out = call.output(input.shape, dtype)
    if count * size:
        operands = [call.contiguous(grad_output, dtype), call.contiguous(input)]
        weight = None if weight is None else call.contiguous(weight)
        is_even, rows = plan_rows(count, size, (out, *operands, weight))
        kernel = rms_norm_backward_kernel(dtype, is_even)
        call.launch(kernel, rows.grid(), out, *operands, call.contiguous(rstd), weight, *rows)
    return out


@rms_norm_backward.derivative
def _(grad: Any, grad_output: Any, input: Any, rstd: Any, weight: Any, needs: Any) -> Any:
    normal, scaled = input * rstd, grad * rstd
    slope = grad_output if weight is None else grad_output * weight
    along, across = _row_mean(slope * normal, rstd), _row_mean(scaled * normal, rstd)
    of_slope = scaled - normal * across
    of_normal = -(scaled * along + slope * across)
    of_rstd = (grad * (slope - normal * along) + of_normal * input).sum(_row_dims(rstd), True)
    of_grad = of_slope if weight is None else of_slope * weight
    of_weight = _column_sum(of_slope * grad_output, weight) if needs[3] else None
    return of_grad.to(input.dtype), (of_normal * rstd).to(input.dtype), of_rstd, of_weight


@composite(samples=_rms_samples, errors=_rms_errors, dtypes=FLOATING_TYPES, method=False)
def rms_norm(input: Operand, normalized_shape: Any, weight: Operand | None = None, eps: float | None = None) -> Any:
    """Compute input / sqrt(mean of squares + eps) * weight, over the last dimensions.

    normalized_shape: the sizes of these dimensions.  eps: None means the machine epsilon of the computation's type.

    Shapes: the result has the input's shape; weight has normalized_shape.
    Host:   returns at once.
    Raises: ShapeError if shapes do not fit, DtypeError if types differ or are not floating point.
    Example:
        >>> torch.nn.functional.rms_norm(torch.tensor([[1.0, -1.0, 1.0], [0.0, 4.0, 3.0]]), (3,))
        tensor([[ 1.0000, -1.0000,  1.0000],
                [ 0.0000,  1.3856,  1.0392]])
    """
    shape = tuple(st.as_ints(normalized_shape))
    if eps is None:
        eps = float(np.finfo(input.dtype.wide.numpy).eps) if input.dtype.is_floating_point else 0.0
    if weight is not None and weight.dtype is not input.dtype and weight.dtype.is_floating_point:
        whole: Any = native_rms_norm(input, shape, None, eps)[0]
        return (whole * weight).to(input.dtype)
    return native_rms_norm(input, shape, weight, eps)[0]


# local response norm


@cache
def _channel_sums_kernel(dtype: dtype) -> Kernel:
    entry, t, c = f"channel_sums_{dtype.name}", dtype.cuda, dtype.wide.cuda
    source = f"""{PRELUDE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({t}* out, const {t}* input, long long n,
    long long channels, long long inner, long long size, long long before) {{
  const long long numel = n * channels * inner, step = (long long)gridDim.x * blockDim.x;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < numel; i += step) {{
    long long inside, channel;
    divide(divide(i, inner, inside), channels, channel);
    const long long first = channel - before > 0 ? channel - before : 0;
    const long long stop = channel - before + size < channels ? channel - before + size : channels;
    {c} total = 0;
    for (long long at = first; at < stop; ++at) total += load<{c}>(input[i + (at - channel) * inner]);
    out[i] = store<{t}>(total);
  }}
}}
"""

    def reference(out: Any, input: Any, n: int, channels: int, inner: int, size: int, before: int) -> None:
        wide = dtype.wide.numpy
        total = np.zeros((n, channels, inner), wide)
        for shift in range(-before, size - before):
            start, stop = max(-shift, 0), channels - max(shift, 0)
            if start < stop:
                total[:, start:stop] += input[:, start + shift : stop + shift].astype(wide, copy=False)
        out[...] = total

    shape = "n", "channels", "inner"
    params = [Pointer("out", dtype, "w", shape), Pointer("input", dtype, "r", shape)]
    return Kernel(entry, source, [*params, *(Scalar(name, "int64") for name in (*shape, "size", "before"))], reference)


def _channel_sum_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 5, 3)), 3, 1))
    yield Sample((Array((2, 4, 2, 2), layout="strided"), 2, 1))
    yield Sample((Array((3, 2, 2)), 6, 0))
    yield Sample((Array((0, 4, 2)), 2, 1))


@operator(samples=_channel_sum_samples, dtypes=FLOATING_TYPES, method=False, function=False)
def channel_sums(call: Call, input: Operand, size: int, before: int) -> Any:
    """Return the sums of `size` neighbouring channels, of which `before` come before the result's; missing ones are 0.

    Shapes: input [n, c, *]; the result has the input's shape.
    Host:   returns at once.
    """
    n, channels, *rest = input.shape
    out = call.output(input.shape, input.dtype)
    if out.numel():
        numbers = n, channels, prod(rest), size, before
        kernel = _channel_sums_kernel(input.dtype)
        call.launch(kernel, grid_over(out.numel(), 1), out, call.contiguous(input), *numbers)
    return out


@channel_sums.derivative
def _(grad: Any, size: int, before: int) -> Any:
    return channel_sums(grad, size, size - 1 - before)


def _response_terms() -> Iterator[Sample]:
    yield Sample((Array((2, 3)), Array((2, 3), low=0.5, high=3.0, seed=1), 0.5, 0.75, 1.0))
    yield Sample((Array((2, 3), layout="strided"), Array((2, 3), low=0.5, high=3.0, seed=1), 0.5, 2.0, 2.0))


@pointwise(
    dtype=floating_only, cuda="input / pow(total * alpha + k, beta)", samples=_response_terms, dtypes=FLOATING_TYPES,
    cost=20.0, inplace=False, method=False, function=False,
)  # fmt: skip
def damped(input: Value, total: Value, alpha: Value, beta: Value, k: Value) -> Any:
    """Return the last step of `local_response_norm`: input / (total * alpha + k) ** beta."""
    base: Any = total * alpha + k
    return input / base**beta


@damped.derivative
def _(grad: Any, input: Any, total: Any, alpha: float, beta: float, k: float, needs: Any) -> Any:
    base = total * alpha + k
    of_total = -grad * input * (base ** (-beta - 1)) * (alpha * beta) if needs[1] else None
    return grad / base**beta, of_total, None, None, None


def _response_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 5, 3)), 3))
    yield Sample((Array((2, 4, 2, 2)), 2, 0.1, 0.5, 2.0))
    yield Sample((Array((3, 4, 2), layout="transposed"), 2))


def _response_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), 2), ArgumentError, r"3 or more dimensions, got shape \[2, 3\]")
    yield ErrorSample((Array((2, 3, 2)), 0), ValueRangeError, "size should be greater than zero, got 0")


@composite(samples=_response_samples, errors=_response_errors, dtypes=FLOATING_TYPES, method=False, function=False)
def local_response_norm(input: Operand, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    """Divide the input by (k + alpha * mean of the squares of `size` neighbouring channels) ** beta.

    Missing neighbours count as 0.
    Shapes: input [n, c, *]; the result has the input's shape.
    Host:   returns at once.
    Raises: ArgumentError for fewer than 3 dimensions, ValueRangeError for a size below 1.
    Example:
        >>> torch.nn.functional.local_response_norm(torch.ones(1, 2, 1), size=2, alpha=1.0, beta=1.0)
        tensor([[[0.6667],
                 [0.5000]]])
    """
    if len(input.shape) < 3:
        raise ArgumentError(
            f"expected 3D or higher dimensionality: 3 or more dimensions, got shape {list(input.shape)}",
            hint="the channels are dimension 1: [n, c, *]",
            operator="local_response_norm",
        )
    if size <= 0:
        raise ValueRangeError(
            f"size should be greater than zero, got {size}",
            hint="pass the number of neighbouring channels, 1 or more",
            operator="local_response_norm",
        )
    if not input.numel():
        return input
    total = channel_sums(input * input, size, size // 2)
    return damped(input, total, alpha / size, float(beta), float(k))


SOURCE = REDUCE_SOURCE + source_text("channel_norms.cu")
VALUES_PER_LANE = 16  # the fewest values for each lane of a piece
ACROSS_LANES = 8  # lanes of a result that is adjacent to its neighbours in memory
WIDE_BLOCKS = 132 * 4  # concurrent blocks that compute runs of results
MOMENTS_BLOCKS = 132 * 4  # concurrent blocks that compute moments


@cache
def _pieces_kernel(dtype: dtype, across: bool) -> Kernel:
    """Return the kernel of variance under another name: its reference reads the input where it is, without a copy."""
    base = variance_kernel(dtype, across)
    entry, wide = base.entry.replace("variance", "moments"), dtype.wide.numpy

    def reference(
        out: Any, centers: Any, means: Any, squares: Any, input: Any, scale: float, root: int, outputs: int,
        count: int, parts: int, chunk: int, kept: int, *_: int,
    ) -> None:  # fmt: skip
        axes = tuple(range(kept, input.ndim))
        values = input.astype(wide, copy=False)
        center = values.mean(axis=axes, keepdims=True) if axes else values
        apart = values - center
        np.square(apart, out=apart)
        means[...], squares[...] = center.reshape(outputs), 0  # all in the first piece: the host does not need pieces
        squares[0] = apart.sum(axis=axes).reshape(outputs)

    return Kernel(entry, base.source.replace(base.entry, entry), base.params, reference, base.operations)


_STATISTICS_FACTORS = ("eps", "factor", "unbiased")


def _statistics_arguments(wide: dtype, running: dtype | None) -> str:
    c, t = wide.cuda, (running or wide).cuda
    factors = ", ".join(f"double {name}" for name in _STATISTICS_FACTORS)
    return f"{c}* mean, {c}* rstd, {c}* variance, {t}* running_mean, {t}* running_var, {factors}"


def _statistics_statement(wide: dtype, running: dtype | None) -> str:
    c, t = wide.cuda, (running or wide).cuda
    values = f"mean, rstd, variance, running_mean, running_var, ({c})eps, factor, unbiased"
    return f"const Statistics<{c}, {t}> statistics{{{values}}};"


def _statistics_parameters(wide: dtype, running: dtype | None) -> list[Any]:
    return [
        *[Pointer(name, wide, "w", ("outputs",)) for name in ("mean", "rstd", "variance")],
        *[Pointer(name, running or wide, "rw", ("outputs",)) for name in ("running_mean", "running_var")],
        *[Scalar(name, "float64") for name in _STATISTICS_FACTORS],
    ]


@cache
def _moments_kernel(wide: dtype, running: dtype | None = None) -> Kernel:
    """Return the kernel that joins pieces of statistics, and updates running statistics with them.

    running: the type of the running statistics; None if there are none.
    """
    entry, c = f"join_moments_{wide.name}", wide.cuda
    if running:
        entry += f"_{running.name}"
    names = ("parts", "outputs", "chunk", "count", "lanes")
    code = f"""{SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({_statistics_arguments(wide, running)},
    const {c}* means, const {c}* squares, {", ".join(f"long long {name}" for name in names)}) {{
  {_statistics_statement(wide, running)}
  join_moments(statistics, Pieces<{c}>{{means, squares, parts, outputs, chunk, count}}, (int)lanes);
}}
"""

    def reference(
        mean: Any, rstd: Any, variance: Any, running_mean: Any, running_var: Any, eps: float, factor: float,
        unbiased: float, means: Any, squares: Any, parts: int, outputs: int, chunk: int, count: int, lanes: int,
    ) -> None:  # fmt: skip
        number = wide.numpy.type
        held = np.array([min(chunk, count - part * chunk) for part in range(parts)], wide.numpy)[:, None]
        center = (means * held).sum(axis=0) / number(count)
        apart = (np.square(means - center) * held).sum(axis=0)
        square = (squares.sum(axis=0) + apart) / number(count)
        _put_statistics(mean, rstd, variance, running_mean, running_var, center, square, eps, factor, unbiased)

    params = [
        *_statistics_parameters(wide, running),
        *[Pointer(name, wide, "r", ("parts", "outputs")) for name in ("means", "squares")],
        *[Scalar(name, "int64") for name in names],
    ]
    return Kernel(entry, code, params, reference, 8.0)


@cache
def _whole_moments_kernel(dtype: dtype, across: bool, running: dtype | None = None) -> Kernel:
    """Return the kernel of the statistics of results that are not divided into pieces."""
    wide, t = dtype.wide, dtype.cuda
    entry = f"whole_moments_{dtype.name}{f'_{running.name}' if running else ''}{'_across' if across else ''}"
    arguments = f"{_statistics_arguments(wide, running)}, const {t}* input"
    op = f"WholeStatistics<{wide.cuda}, {t}, {(running or wide).cuda}>(input, layout, statistics)"
    code = reduction_source(entry, arguments, op, across, _statistics_statement(wide, running))

    def reference(
        mean: Any, rstd: Any, variance: Any, running_mean: Any, running_var: Any, eps: float, factor: float,
        unbiased: float, input: Any, outputs: int, count: int, parts: int, chunk: int, kept: int, *_: int,
    ) -> None:  # fmt: skip
        axes = tuple(range(kept, input.ndim))
        values = input.astype(wide.numpy, copy=False)
        center = values.mean(axis=axes, keepdims=True) if axes else values
        square = np.square(values - center).sum(axis=axes).reshape(outputs) / wide.numpy.type(count)
        center = center.reshape(outputs)
        _put_statistics(mean, rstd, variance, running_mean, running_var, center, square, eps, factor, unbiased)

    params = [
        *_statistics_parameters(wide, running), Pointer("input", dtype, "r", "layout"), Strided("layout", ("input",)),
        *WORK_PARAMETERS,
    ]  # fmt: skip
    return Kernel(entry, SOURCE + code, params, reference, 4.0)


def _put_statistics(
    mean: Any, rstd: Any, variance: Any, running_mean: Any, running_var: Any, center: Any, square: Any, eps: float,
    factor: float, unbiased: float,
) -> None:  # fmt: skip
    """Write statistics, and update the running ones, in NumPy."""
    mean[...] = center
    rstd[...] = 1 / np.sqrt(square + square.dtype.type(eps))
    if variance is not None:
        variance[...] = square
    if running_mean is not None:
        _move_statistics(running_mean, running_var, mean, square, factor, unbiased)


def _move_statistics(
    running_mean: Any, running_var: Any, mean: Any, variance: Any, factor: float, unbiased: float
) -> None:
    """Update running statistics with those of a batch, in NumPy."""
    number = variance.dtype.type
    for running, batch in ((running_mean, mean), (running_var, variance * number(unbiased))):
        running[...] = number(1 - factor) * running.astype(variance.dtype) + number(factor) * batch


@cache
def _sums_kernel(dtype: dtype, is_wide: bool, run: int = 1) -> Kernel:
    """Return the kernel of the sums of gradients, and of their products with the normalised input.

    is_wide: whether a thread computes several adjacent results.  run: values of one result that it loads at once.
    """
    name = "wide_normal_sums" if is_wide else "normal_sums"
    entry, t, c = f"{name}_{dtype.name}", dtype.cuda, dtype.wide.cuda
    last = "(int)lanes" if is_wide else "kept, (int)lanes, across != 0"
    if not is_wide:
        entry, name = f"{entry}_{run}", f"{name}<{run}>"
    bounds = f"{THREADS}, 4" if is_wide else f"{THREADS}"
    names = ("outputs", "count", "parts", "chunk", "kept", "lanes", "across")
    code = f"""{SOURCE}
extern "C" __global__ void __launch_bounds__({bounds}) {entry}({c}* sums, {c}* products, const {t}* grad,
    const {t}* input, const {c}* mean, const {c}* rstd, const __grid_constant__ Layout<4> layout,
    {", ".join(f"long long {name}" for name in names)}) {{
  {name}(sums, products, grad, input, mean, rstd, layout, outputs, count, parts, chunk, {last});
}}
"""
    wide = dtype.wide.numpy

    def reference(
        sums: Any, products: Any, grad: Any, input: Any, mean: Any, rstd: Any, outputs: int, count: int, parts: int,
        chunk: int, kept: int, lanes: int, across: int,
    ) -> None:  # fmt: skip
        axes = tuple(range(kept, input.ndim))
        slope = grad.astype(wide, copy=False)
        product = input.astype(wide, copy=False) - mean
        product *= rstd
        product *= slope
        sums[...], products[...] = 0, 0  # all in the first piece: the host does not need pieces
        sums[0], products[0] = slope.sum(axis=axes).reshape(-1), product.sum(axis=axes).reshape(-1)

    params = [
        *[Pointer(name, dtype.wide, "w", ("parts", "outputs")) for name in ("sums", "products")],
        *[Pointer(name, dtype, "r", "layout") for name in ("grad", "input")],
        *[Pointer(name, dtype.wide, "r", "layout") for name in ("mean", "rstd")],
        Strided("layout", ("grad", "input", "mean", "rstd")),
        *[Scalar(name, "int64") for name in names],
    ]
    return Kernel(entry, code, params, reference, 6.0)


@cache
def _join_sums_kernel(dtype: dtype) -> Kernel:
    """Return the kernel that joins two lists of pieces of sums, of the wide type, to results of `dtype`."""
    entry, t, c, wide = f"join_sums_{dtype.name}", dtype.cuda, dtype.wide.cuda, dtype.wide
    code = f"""{SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({t}* one, {t}* other, const {c}* one_pieces,
    const {c}* other_pieces, long long parts, long long outputs, long long lanes) {{
  join_sums(one, other, one_pieces, other_pieces, parts, outputs, (int)lanes);
}}
"""

    def reference(
        one: Any, other: Any, one_pieces: Any, other_pieces: Any, parts: int, outputs: int, lanes: int
    ) -> None:
        one[...], other[...] = one_pieces.sum(axis=0), other_pieces.sum(axis=0)

    params = [
        *[Pointer(name, dtype, "w", ("outputs",)) for name in ("one", "other")],
        *[Pointer(name, wide, "r", ("parts", "outputs")) for name in ("one_pieces", "other_pieces")],
        *[Scalar(name, "int64") for name in ("parts", "outputs", "lanes")],
    ]
    return Kernel(entry, code, params, reference, 2.0)


def _join_sums(call: Any, results: Sequence[Any], pieces: Sequence[Any], parts: int, outputs: int) -> None:
    """Launch the sums over the first dimension of two pieces [parts, outputs]."""
    if outputs:
        lanes, grid = plan_join(parts, outputs, fewest=1)
        call.launch(_join_sums_kernel(results[0].dtype), grid, *results, *pieces, parts, outputs, lanes)


@cache
def _update_kernel(dtype: dtype, wide: dtype) -> Kernel:
    """Return the kernel that updates running statistics."""
    entry, t, c = f"update_statistics_{dtype.name}_{wide.name}", dtype.cuda, wide.cuda
    code = f"""{SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({t}* running_mean, {t}* running_var, const {c}* mean,
    const {c}* variance, long long count, double factor, double unbiased) {{
  update_statistics(running_mean, running_var, mean, variance, count, factor, unbiased);
}}
"""

    def reference(
        running_mean: Any, running_var: Any, mean: Any, variance: Any, count: int, factor: float, unbiased: float
    ) -> None:
        _move_statistics(running_mean, running_var, mean, variance, factor, unbiased)

    params = [
        *[Pointer(name, dtype, "rw", ("count",)) for name in ("running_mean", "running_var")],
        *[Pointer(name, wide, "r", ("count",)) for name in ("mean", "variance")],
        Scalar("count", "int64"),
        *[Scalar(name, "float64") for name in ("factor", "unbiased")],
    ]
    return Kernel(entry, code, params, reference)


def _in_wide(name: str, types: Sequence[dtype], common: dtype) -> tuple[Sequence[dtype], dtype]:
    """Compute in the widest type, and return the type of the first operand."""
    wide = types[0].wide
    for other in types[1:]:
        wide = promote(wide, other)
    return [wide] * len(types), types[0]


def _affine_samples() -> Iterator[Sample]:
    statistics = Array((1, 3, 1), seed=1), Array((1, 3, 1), low=0.5, high=1.5, seed=2)
    affine = Array((1, 3, 1), seed=3), Array((1, 3, 1), seed=4)
    yield Sample((Array((2, 3, 4)), *statistics, *affine))
    yield Sample((Array((2, 3, 4), layout="transposed"), *statistics, 1.0, 0.0))
    yield Sample((Array((0, 3, 4)), *statistics, *affine))


def without_repetition(operand: Any) -> Any:
    """Return an array without the repeats of a broadcast: products of two such arrays are computed once per channel."""
    return operand[tuple([slice(0, 1) if step == 0 else slice(None) for step in operand.strides])]


@channel_pointwise(
    dtype=_in_wide, cuda="(input - mean) * (rstd * weight) + bias", whole=("input",), samples=_affine_samples,
    dtypes=FLOATING_TYPES, cost=4.0, method=False, function=False,
)  # fmt: skip
def normalize_by(input: Value, mean: Value, rstd: Value, weight: Value, bias: Value) -> Any:
    """Return (input - mean) * rstd * weight + bias, all broadcast to the input."""
    rstd, weight = map(without_repetition, (rstd, weight))
    out: Any = input - mean
    out *= rstd * weight
    out += bias
    return out


@normalize_by.derivative
def _(grad: Any, input: Any, mean: Any, rstd: Any, weight: Any, needs: Any) -> Any:
    slope: Any = grad * (rstd * weight) if needs[0] or needs[1] else None
    of_mean = -slope if needs[1] else None
    apart = grad * (input - mean) if needs[2] or needs[3] else None
    return slope, of_mean, apart * weight if needs[2] else None, apart * rstd if needs[3] else None, grad


def _slope_samples() -> Iterator[Sample]:
    statistics = Array((1, 3, 1), seed=1), Array((1, 3, 1), low=0.5, high=1.5, seed=2)
    rest = *(Array((1, 3, 1), seed=seed) for seed in range(3, 7)), 0.25
    yield Sample((Array((2, 3, 4)), Array((2, 3, 4), seed=7), *statistics, *rest))
    yield Sample((Array((0, 3, 4)), Array((0, 3, 4)), *statistics, *rest))


@channel_pointwise(
    dtype=_in_wide,
    cuda="slope * (rstd * weight) - (input - mean) * (of_product * (factor * share) * rstd * rstd)"
    " - of_sum * (factor * share) * rstd",
    whole=("input", "slope"), samples=_slope_samples, dtypes=FLOATING_TYPES, cost=10.0, method=False, function=False,
)  # fmt: skip
def normal_slope(
    input: Value, slope: Value, mean: Value, rstd: Value, weight: Value, of_sum: Value, of_product: Value,
    factor: Value, share: Value,
) -> Any:  # fmt: skip
    """Return the gradient of the input of `native_norm`, in the input's layout.

    of_sum, of_product: sums of slope and of its product with the normalised input; times factor * share, they are the
    means of slope * weight, and of slope * weight * normalised input.
    """
    rstd, of_product, factor = map(without_repetition, (rstd, of_product, factor))
    normal: Any = input - mean
    normal *= rstd * of_product
    normal += of_sum
    normal *= factor * share
    out: Any = slope * weight
    out -= normal
    out *= rstd
    return out


@normal_slope.derivative
def _(
    grad: Any, input: Any, slope: Any, mean: Any, rstd: Any, weight: Any, of_sum: Any, of_product: Any, factor: Any,
    share: Any, needs: Any,
) -> Any:  # fmt: skip
    scaled, normal, per_value = grad * rstd, (input - mean) * rstd, factor * share
    through = scaled * of_product * per_value * rstd if needs[0] or needs[2] else None
    of_rstd = grad * (slope * weight - (of_sum + normal * of_product * 2) * per_value) if needs[3] else None
    return (
        None if through is None else -through,
        scaled * weight,
        through,
        of_rstd,
        scaled * slope if needs[4] else None,
        -scaled * per_value,
        -scaled * normal * per_value,
        -scaled * (of_sum + normal * of_product) * share if needs[7] else None,
        None,
    )


def _spread(outputs: int, count: int, is_across: bool, held: int = 1, run: int = 1) -> tuple[int, int, int]:
    """Return (lanes, parts, values of each part) for sums of `count` values each.

    held: results that one thread computes.  run: values of one result that it loads at once; parts have whole runs.
    """
    if held > 1:
        lanes = THREADS // min(1 << (outputs // held - 1).bit_length(), WARP)
    elif is_across:
        lanes = ACROSS_LANES
    else:
        lanes = THREADS if count > THREADS * VALUES_PER_LANE // 4 else min(1 << (count - 1).bit_length(), WARP)
    blocks = -(-outputs * lanes // (THREADS * held))
    most = WIDE_BLOCKS if held > 1 else PIECE_BLOCKS
    parts = max(1, min(count // (lanes * VALUES_PER_LANE), most // max(blocks, 1)))
    chunk = -(-count // (parts * run)) * run
    return lanes, -(-count // chunk), chunk


def _sums_samples() -> Iterator[Sample]:
    statistics = Array((1, 3, 1), seed=1), Array((1, 3, 1), low=0.5, high=1.5, seed=2)
    for layout in ("dense", "transposed"):
        yield Sample((Array((2, 3, 4), layout=layout), Array((2, 3, 4), seed=6), *statistics, (0, 2)))
    yield Sample((Array((2, 3, 4)), Array((2, 3, 4), seed=6, layout="strided"), *statistics, (2,)))
    rows = Array((3, 1), seed=1), Array((3, 1), low=0.5, high=1.5, seed=2)
    yield Sample((Array((3, 1500), grad=False), Array((3, 1500), seed=6, grad=False), *rows, (1,)))
    yield Sample((Array((0, 3, 4)), Array((0, 3, 4)), *statistics, (0, 2)))


@operator(samples=_sums_samples, dtypes=FLOATING_TYPES[2:], method=False, function=False)
def normal_sums(call: Call, slope: Operand, input: Operand, mean: Operand, rstd: Operand, dims: Any) -> Any:
    """Return the sums of slope, and of slope * (input - mean) * rstd, over `dims`: two results of the wide type.

    Shapes: the results have size 1 in `dims`, in which mean and rstd are constant.
    """
    shape, wide = input.shape, input.dtype.wide
    kept = [dim for dim in range(len(shape)) if dim not in dims]
    small = [1 if dim in dims else size for dim, size in enumerate(shape)]
    results = call.output(small, wide), call.output(small, wide)
    outputs, count = prod(small), reduced_count(shape, dims)
    if not outputs:
        return results
    if not count:
        for out in results:
            run_fold(call, SUM, call.scratch((0, outputs), wide), (0,), out, wide)
        return results
    slope, mean, rstd = (slope if slope.dtype is input.dtype else call.contiguous(slope, input.dtype)), mean, rstd
    operands = [slope, input, *(stat if stat.dtype is wide else call.contiguous(stat, wide) for stat in (mean, rstd))]
    steps = [st.expand(operand.shape, operand.strides, shape) for operand in operands]
    outer, outer_steps = st.collapse([shape[dim] for dim in kept], [[row[dim] for dim in kept] for row in steps])
    inner, inner_steps = st.collapse([shape[dim] for dim in dims], [[row[dim] for dim in dims] for row in steps])
    if len(outer) + len(inner) > MAX_DIMS:
        raise ShapeError(
            f"{len(outer) + len(inner)} dimensions do not collapse to {MAX_DIMS} or fewer: shape {list(shape)}",
            hint="make the input contiguous first",
            operator=call.name,
        )
    is_across = bool(outer) and bool(inner) and outer_steps[1][-1] < min(inner_steps[1])
    held = WIDEST_ACCESS // input.dtype.itemsize
    if not is_across or outputs % held or not _is_in_runs(operands[:2], outer_steps, inner_steps, held):
        held = 1
    run = 1 if is_across else _run(operands[:2], outer_steps, inner, inner_steps)
    lanes, parts, chunk = _spread(outputs, count, is_across, held, run)
    pieces = call.scratch((parts, outputs), wide), call.scratch((parts, outputs), wide)
    layout = (*outer, *inner), [(*one, *other) for one, other in zip(outer_steps, inner_steps)]
    grid = Grid((min(-(-outputs * lanes // (THREADS * held)) * parts, FULL_DEVICE_BLOCKS), 1, 1), THREADS)
    numbers = outputs, count, parts, chunk, len(outer), lanes, int(is_across)
    targets = results if parts == 1 else pieces
    call.launch(_sums_kernel(input.dtype, held > 1, run), grid, *targets, *operands, layout, *numbers)
    if parts > 1:
        _join_sums(call, results, pieces, parts, outputs)
    return results


def _is_in_runs(operands: Sequence[Any], outer_steps: Any, inner_steps: Any, held: int) -> bool:
    """Return whether every operand has neighbouring results in aligned runs of `held`, and one dimension of values."""
    return all(
        operand.is_aligned() and tuple(outer) == (1,) and len(inner) == 1 and inner[0] % held == 0
        for operand, outer, inner in zip(operands, outer_steps, inner_steps)
    )


def _run(operands: Sequence[Any], outer_steps: Any, inner: Sequence[int], inner_steps: Any) -> int:
    """Return the number of adjacent values, at most 16 bytes, that are aligned runs in every operand."""
    if not inner or not all(operand.is_aligned() and row[-1] == 1 for operand, row in zip(operands, inner_steps)):
        return 1
    numbers = [inner[-1]]
    for outer, row in zip(outer_steps, inner_steps[: len(operands)]):
        numbers += (*outer, *row[:-1])
    return gcd(WIDEST_ACCESS // operands[0].dtype.itemsize, *numbers)


@normal_sums.derivative
def _(grads: Any, slope: Any, input: Any, mean: Any, rstd: Any) -> Any:
    of_sum, of_product = grads
    normal = (input - mean) * rstd
    if of_product is None:
        return of_sum.expand(input.shape), None, None, None
    of_slope = of_product * normal if of_sum is None else of_product * normal + of_sum
    through = of_product * slope
    of_input = through * rstd
    return of_slope, of_input, -of_input, through * (input - mean)


def _native_samples() -> Iterator[Sample]:
    affine = Array((1, 3, 1), seed=3), Array((1, 3, 1), seed=4)
    yield Sample((Array((2, 3, 4)), (0, 2), *affine))
    yield Sample((Array((2, 3, 4), layout="transposed"), (0, 2), None, affine[1]))
    yield Sample((Array((4, 3, 3), layout="strided"), (1, 2), None, None, 1e-3))
    yield Sample((Array((2, 3, 2, 2)), (2, 3), Array((1, 3, 1, 1), seed=1), Array((1, 3, 1, 1), seed=2)))
    yield Sample((Array((2, 3, 1500), grad=False), (0, 2)))
    yield Sample((Array((0, 3, 4)), (2,)))


@operator(samples=_native_samples, dtypes=FLOATING_TYPES, method=False, function=False)
def native_norm(
    call: Call, input: Operand, dims: Any, weight: Operand | None = None, bias: Operand | None = None, eps: float = 1e-5
) -> Any:
    """Compute group and instance norm: (result, means, 1 / deviations, variances) over `dims`.

    Shapes: weight and bias broadcast to the input; the statistics, of the wide type, have size 1 in `dims`.
    """
    variance = call.output(_small(input.shape, dims), input.dtype.wide)
    return *_normalized(call, input, dims, weight, bias, eps, variance), variance


def _small(shape: Sequence[int], dims: Sequence[int]) -> list[int]:
    """Return the shape of statistics over `dims`."""
    return [1 if dim in dims else size for dim, size in enumerate(shape)]


def _normalized(
    call: Call, input: Any, dims: Any, weight: Any, bias: Any, eps: float, variance: Any = None,
    running: Sequence[Any] = (), momentum: Any = 0.0, unbiased: float = 1.0,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Record the launches of a normalization; return (result, means, 1 / deviations).

    variance: takes the variances, or is None.  running: as in `batch_norm_of_batch`, contiguous and of one type.
    """
    wide, small = input.dtype.wide, _small(input.shape, dims)
    before, call.given = call.given, None
    mean, rstd = call.output(small, wide), call.output(small, wide)
    if input.numel():
        plan = checked_plan(call, input, dims, MOMENTS_BLOCKS)
        written = mean, rstd, variance, *(running or (None, None)), float(eps), momentum, unbiased
        grid, of_running = plan.work.grid(plan.outputs), running[0].dtype if running else None
        if plan.work.parts == 1:
            kernel = _whole_moments_kernel(input.dtype, plan.work.across, of_running)
            call.launch(kernel, grid, *written, input, plan.layout, *plan.numbers())
        else:
            pair = plan.work.parts, plan.outputs
            pieces = call.scratch(pair, wide), call.scratch(pair, wide)
            kernel = _pieces_kernel(input.dtype, plan.work.across)
            call.launch(kernel, grid, None, None, *pieces, input, 1.0, 0, plan.layout, *plan.numbers())
            lanes, grid = plan_join(*pair)
            numbers = *pair, plan.work.chunk, plan.length, lanes
            call.launch(_moments_kernel(wide, of_running), grid, *written, *pieces, *numbers)
    operands = input, mean, rstd, 1.0 if weight is None else weight, 0.0 if bias is None else bias
    out = normalize_by.lower(call, *operands)
    call.given = before
    return out, mean, rstd


@native_norm.derivative
def _(grads: Any, out1: Any, out2: Any, input: Any, dims: Any, weight: Any, bias_shape: Any, needs: Any) -> Any:
    return _norm_gradients(grads, out1, out2, input, dims, weight, bias_shape, needs)


def _norm_gradients(
    grads: Any, mean: Any, rstd: Any, input: Any, dims: Any, weight: Any, bias_shape: Any, needs: Any
) -> tuple[Any, Any, Any]:
    """Return the gradients of input, weight and bias of a normalization.

    grads: of its result and of its statistics.
    """
    grad, of_mean, of_rstd, of_variance = grads
    count = reduced_count(input.shape, dims)
    of_input = None
    if needs[0]:
        of_input = _channel_gradient(of_mean, of_rstd, of_variance, input, mean, rstd, count)
    if grad is None:
        return of_input, None, None
    shapes = [shape for shape in (None if weight is None else weight.shape, bias_shape) if shape is not None]
    alike = [dim for dim in dims if all(shape[dim] == 1 for shape in shapes)]
    sums, products = normal_sums(grad, input, mean, rstd, tuple(alike))
    if needs[0]:
        scale = 1.0 if weight is None else weight
        of_sum, of_product, factor = sums, products, scale
        if rest := [dim for dim in dims if dim not in alike]:
            of_sum, of_product = [(terms * scale).sum(rest, True) for terms in (sums, products)]
            factor = 1.0
        through = normal_slope(input, grad, mean, rstd, scale, of_sum, of_product, factor, 1 / max(count, 1))
        of_input = through if of_input is None else of_input + through
    of_weight = products.sum_to_size(weight.shape) if needs[1] else None
    return of_input, of_weight, sums.sum_to_size(bias_shape) if needs[2] else None


def _channel_gradient(
    of_mean: Any, of_rstd: Any, of_variance: Any, input: Any, mean: Any, rstd: Any, count: int
) -> Any:
    """Return the gradient of the input from those of its statistics; None without any."""
    parts = [] if of_mean is None else [(of_mean / count).expand(input.shape)]
    factor = None if of_rstd is None else -of_rstd * rstd**3 / count
    if of_variance is not None:
        factor = of_variance * (2 / count) if factor is None else factor + of_variance * (2 / count)
    if factor is not None:
        parts.append(factor * (input - mean))
    return None if not parts else parts[0] if len(parts) == 1 else parts[0] + parts[1]


def _update_samples() -> Iterator[Sample]:
    running = [Array((3,)), Array((3,), low=0.5, high=1.5, seed=1)]
    batch = Array((3,), dtype="float64", seed=2), Array((3,), low=0.5, dtype="float64", seed=3)
    yield Sample((running, *batch, 0.1, 1.5))


@operator(
    samples=_update_samples, dtypes=FLOATING_TYPES, method=False, function=False, differentiable=False,
    mutates=("running",),
)  # fmt: skip
def update_statistics(
    call: Call, running: Operands, mean: Operand, variance: Operand, momentum: Number, unbiased: Number
) -> Any:
    """Move running statistics toward a batch's by the share `momentum`; `unbiased` scales the batch's variance."""
    wide, own = mean.dtype, running[0].dtype
    count = running[0].numel()
    if count:
        targets = [call.contiguous(stat, own) for stat in running]
        operands = call.contiguous(mean), call.contiguous(variance)
        numbers = count, momentum, unbiased
        call.launch(_update_kernel(own, wide), grid_over(count), *targets, *operands, *numbers)
        _copy_back(call, running, targets)
    return tuple(running)


def _copy_back(call: Any, running: Sequence[Any], targets: Sequence[Any]) -> None:
    """Copy the converted running statistics back to the originals."""
    for target, original in zip(targets, running):
        if target is not original:
            call.assign(original, target)


# public operators


def require_floats(name: str, input: Any) -> None:
    """Raise DtypeError unless the input is floating point."""
    if not input.dtype.is_floating_point:
        raise DtypeError(
            f"input must be floating point, got {input.dtype.name}", hint="convert with .float()", operator=name
        )


def require_channels(name: str, input: Any, **operands: Any) -> None:
    """Raise ShapeError unless each operand that is not None has one number for each channel, dimension 1."""
    if len(input.shape) < 2:
        raise ShapeError(
            f"input must have at least 2 dimensions, got shape {list(input.shape)}",
            hint="the channels are dimension 1: [n, c, *]",
            operator=name,
        )
    for called, operand in operands.items():
        if operand is not None and not hasattr(operand, "shape"):
            raise ArgumentTypeError(
                f"{called} must be a Tensor, got {shown(operand)}",
                hint="pass a tensor, or None to leave it out",
                operator=name,
            )
        if operand is not None and tuple(operand.shape) != (input.shape[1],):
            raise ShapeError(
                f"{called} should contain {input.shape[1]} elements, got shape {list(operand.shape)}",
                hint=f"one number for each of the {input.shape[1]} channels of input {list(input.shape)}",
                operator=name,
            )


def along_channels(operand: Any, ndim: int) -> Any:
    """Return one number per channel, as an operand that broadcasts to [n, c, *]; None stays None."""
    return None if operand is None else operand.reshape((1, -1, *[1] * (ndim - 2)))


def _batch_samples() -> Iterator[Sample]:
    affine = Array((3,), seed=1), Array((3,), seed=2)
    yield Sample((Array((4, 3)), *affine))
    yield Sample((Array((2, 3, 4), layout="transposed"), None, None))
    yield Sample((Array((2, 3, 2, 2)), affine[0], None, 1e-2))


def _tracked_samples() -> Iterator[Sample]:
    running = [Array((3,), grad=False), Array((3,), low=0.5, high=1.5, seed=5, grad=False)]
    for sample in _batch_samples():
        input, weight, bias, *eps = sample.args
        yield Sample((input, weight, bias, [], *(eps or [1e-5]), 0.0))
    yield Sample((Array((2, 3, 4), grad=False), None, None, running, 1e-5, 0.25))


@operator(samples=_tracked_samples, dtypes=FLOATING_TYPES, method=False, function=False, mutates=("running",))
def batch_norm_of_batch(
    call: Call, input: Operand, weight: Operand | None, bias: Operand | None, running: Operands, eps: float,
    momentum: Number,
) -> Any:  # fmt: skip
    """Apply batch norm with the statistics of the batch.  Returns (result, means, 1 / deviations).

    running: the running mean and variance, which move toward the batch's by the share `momentum`, or nothing.
    """
    ndim, channels = len(input.shape), input.shape[1]
    dims = (0, *range(2, ndim))
    scale, shift = (None if parameter is None else _along(call, parameter, ndim) for parameter in (weight, bias))
    count = reduced_count(input.shape, dims)
    targets = [call.contiguous(stat, running[0].dtype) for stat in running] if count * channels else []
    unbiased = count / (count - 1) if count > 1 else float("nan")
    results = _normalized(call, input, dims, scale, shift, eps, None, targets, momentum, unbiased)
    _copy_back(call, running, targets)
    return results


def _along(call: Call, operand: Any, ndim: int) -> Any:
    """Return one number per channel, as an operand of a lowering that broadcasts to [n, c, *]."""
    (channels,), (step,) = operand.shape, operand.strides
    return call.part(operand, (1, channels, *[1] * (ndim - 2)), (channels * step, step, *[1] * (ndim - 2)), 0)


@batch_norm_of_batch.derivative
def _(grads: Any, out1: Any, out2: Any, input: Any, weight: Any, bias_shape: Any, needs: Any) -> Any:
    ndim = len(input.shape)
    shape = None if bias_shape is None else (1, *bias_shape, *[1] * (ndim - 2))
    dims, row = (0, *range(2, ndim)), along_channels(weight, ndim)
    of_input, *rest = _norm_gradients((*grads, None), out1, out2, input, dims, row, shape, needs)
    return of_input, *(None if grad is None else grad.reshape(-1) for grad in rest), *[None] * (len(needs) - 3)


def _running_samples() -> Iterator[Sample]:
    statistics = Array((3,), seed=3), Array((3,), low=0.5, high=1.5, seed=4)
    for sample in _batch_samples():
        yield Sample((sample.args[0], *statistics, *sample.args[1:]))


@composite(samples=_running_samples, dtypes=FLOATING_TYPES, method=False, function=False)
def batch_norm_of_running(
    input: Operand, running_mean: Operand, running_var: Operand, weight: Operand | None = None,
    bias: Operand | None = None, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """Apply batch norm with given statistics."""
    ndim, wide = len(input.shape), input.dtype.wide
    rstd = (running_var.to(wide) + eps).rsqrt()
    mean, rstd, weight, bias = (along_channels(operand, ndim) for operand in (running_mean, rstd, weight, bias))
    return normalize_by(input, mean, rstd, 1.0 if weight is None else weight, 0.0 if bias is None else bias)


@composite(samples=_batch_samples, dtypes=FLOATING_TYPES, method=False, function=False)
def instance_norm_of_input(
    input: Operand, weight: Operand | None = None, bias: Operand | None = None, eps: float = 1e-5
) -> Any:
    """Apply instance norm with each instance's statistics.  Returns (result, means, 1 / deviations, variances)."""
    ndim = len(input.shape)
    dims = tuple(range(2, ndim))
    return native_norm(input, dims, along_channels(weight, ndim), along_channels(bias, ndim), eps)


def _group_samples() -> Iterator[Sample]:
    affine = Array((4,), seed=1), Array((4,), seed=2)
    yield Sample((Array((2, 4, 3)), 2))
    yield Sample((Array((2, 4, 2, 2)), 2, *affine))
    yield Sample((Array((2, 4, 3), layout="transposed"), 4, *affine, 1e-3))
    yield Sample((Array((3, 4)), 1, affine[0]))
    yield Sample((Array((0, 4, 3)), 2))


def _group_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 4, 3)), 3), ShapeError, "4 channels are not divisible into 3 groups")
    yield ErrorSample((Array((2, 4, 3)), 0), ShapeError, "num_groups must be positive, got 0")
    yield ErrorSample((Array((2, 4, 3)), 2, Array((3,))), ShapeError, r"weight should contain 4 elements, got .*\[3\]")
    yield ErrorSample((Array((4,)), 2), ShapeError, r"at least 2 dimensions, got shape \[4\]")
    yield ErrorSample((Array((2, 4), dtype="int64"), 2), DtypeError, "must be floating point, got int64")


@composite(samples=_group_samples, errors=_group_errors, dtypes=FLOATING_TYPES, method=False)
def group_norm(
    input: Operand, num_groups: int, weight: Operand | None = None, bias: Operand | None = None, eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Any:  # fmt: skip
    """Normalize groups of channels to mean 0 and variance 1, then multiply by weight and add bias.

    cudnn_enabled: has no effect.
    Shapes: input [n, c, *], with c a multiple of num_groups; weight and bias [c]; the result has the input's shape.
    Host:   returns at once.
    Raises: ShapeError if shapes do not fit, DtypeError for integers.
    Example:
        >>> torch.group_norm(torch.tensor([[1.0, 3.0, 0.0, 8.0]]), 2)
        tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    require_floats("group_norm", input)
    if num_groups <= 0:
        raise ShapeError(
            f"num_groups must be positive, got {num_groups}",
            hint="pass 1 or more: 1 is one group of all channels",
            operator="group_norm",
        )
    require_channels("group_norm", input, weight=weight, bias=bias)
    n, channels, *rest = input.shape
    if channels % num_groups:
        raise ShapeError(
            f"{channels} channels are not divisible into {num_groups} groups",
            hint="pass num_groups that divides the number of channels, dimension 1 of the input",
            operator="group_norm",
        )
    per_group = channels // num_groups
    grouped = input.reshape((n, num_groups, per_group, *rest))
    shape = (1, num_groups, per_group, *[1] * len(rest))
    affine = [None if parameter is None else parameter.reshape(shape) for parameter in (weight, bias)]
    return native_norm(grouped, tuple(range(2, len(shape))), *affine, eps)[0].reshape(input.shape)
