"""Layer norm, RMS norm and their gradients (kernels/layer_norm.cu), and local response norm.

- Half types are computed in float32, and each result is rounded once.
- Operands are made contiguous first.  A row is the normalised dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import prod
from typing import Any

from .. import strides as st
from ..dtypes import FLOATING_TYPES, dtype
from ..errors import ArgumentError, DtypeError, ShapeError
from ..host import np
from ..kernel import Grid, Kernel, Pointer, Scalar
from .operator import REGISTRY, Array, ErrorSample, Operand, Sample, composite, operator
from .pointwise import THREADS, source_text
from .reduction_kernels import (
    ROW_ARGUMENTS,
    ROW_BOUNDS,
    ROW_PARAMETERS,
    ROW_SOURCE,
    SUM,
    WIDEST_ACCESS,
    even_variant,
    plan_rows,
    run_fold,
)

LAYER_NORM_SOURCE = ROW_SOURCE + source_text("layer_norm.cu")
COLUMN_LANES = 32  # at most, of those that share a block for the parameter gradients
COLUMN_BLOCKS = 132 * 4  # blocks of the parameter gradients that run at once
COLUMN_BOUNDS = f"__launch_bounds__({THREADS}, 4)"
ROWS_PER_PIECE = 64  # of the parameter gradients


def _norm_source(name: str, dtype: dtype, is_even: bool, bound: str, arguments: str, values: str) -> tuple[str, str]:
    """(kernel name, source) of a kernel that calls the template `name`."""
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
    """The kernel of normalised rows, their means and 1 / standard deviations."""
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
    """The kernel of the gradient of the input."""
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
    """The kernel of the gradients of weight and bias, summed over pieces of the rows."""
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
                hint="they must be the same",
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
    """The operator of `layer_norm`: (result, means, 1 / standard deviations).

    Shapes: as `layer_norm`; the means and deviations have size 1 in the normalised dimensions.
    Host:   returns at once.
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
    """The gradient of the input from those of the means and deviations; None without any."""
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
    """The gradient of the input of `native_layer_norm`.

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
    """The gradients of weight and bias of `native_layer_norm`.

    Shapes: two results of normalized_shape.
    Host:   returns at once.
    """
    dtype = input.dtype
    rows, size = mean.numel(), prod(normalized_shape)
    results = call.output(normalized_shape, dtype), call.output(normalized_shape, dtype)
    lanes, tiles = _column_tiles(size, dtype)
    parts = _column_parts(rows, tiles)
    pieces = call.scratch((parts, size), dtype.wide), call.scratch((parts, size), dtype.wide)
    if rows * size:
        operands = [call.contiguous(operand) for operand in (grad_output, input, mean, rstd)]
        is_even, _ = plan_rows(rows, size, operands[:2])
        grid = Grid((tiles * parts, 1, 1), THREADS)
        call.launch(layer_norm_columns_kernel(dtype, is_even), grid, *pieces, *operands, rows, size, parts, lanes)
    for piece, out in zip(pieces, results):
        run_fold(call, SUM, piece, (0,), out, dtype.wide)
    return results


def _column_tiles(size: int, dtype: dtype) -> tuple[int, int]:
    """(threads of a block along the columns, blocks that cover all columns)."""
    runs = -(-size * dtype.itemsize // WIDEST_ACCESS)
    lanes = 1
    while lanes < min(runs, COLUMN_LANES):
        lanes *= 2
    return lanes, -(-runs // lanes)


def _column_parts(rows: int, tiles: int) -> int:
    """The number of pieces of the rows that keeps the device busy; 0 without rows."""
    parts = max(1, min(rows // ROWS_PER_PIECE, COLUMN_BLOCKS // max(tiles, 1)))
    return -(-rows // -(-rows // parts)) if rows else 0


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
    """The gradients of input, mean and rstd from the gradient of (input - mean) * rstd."""
    of_input, dims = of_normal * rstd, _row_dims(mean)
    return of_input.to(input.dtype), -of_input.sum(dims, True), (of_normal * (input - mean)).sum(dims, True)


def _row_dims(mean: Any) -> list[int]:
    """The normalised dimensions, and other dimensions of size 1, whose sum changes nothing."""
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
    """(input - mean) / sqrt(variance + eps) * weight + bias, over the last dimensions.

    normalized_shape: the sizes of these dimensions.

    Shapes: the result has the input's shape; weight and bias have normalized_shape.
    Host:   returns at once.
    Raises: ShapeError if shapes do not fit, DtypeError if types differ or are not floating point.
    Example:
        >>> torch.nn.functional.layer_norm(torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 30.0]]), (3,))
        tensor([[-1.2247,  0.0000,  1.2247],
                [-0.7071, -0.7071,  1.4142]])
    """
    shape = tuple(st.as_ints(normalized_shape))
    return native_layer_norm(input, shape, weight, bias, eps)[0]


# RMS norm


@cache
def rms_norm_kernel(dtype: dtype, is_even: bool) -> Kernel:
    """The kernel of rows divided by their root mean square, and 1 / that root."""
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
    """The kernel of the gradient of the input."""
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
    """The operator of `rms_norm`: (result, 1 / root mean squares)."""
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
    """The gradient of the input of `native_rms_norm`."""
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
    """input / sqrt(mean of squares + eps) * weight, over the last dimensions.

    normalized_shape: the sizes of these dimensions.  eps: the machine epsilon of the type of the computation if None.

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


def _response_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 5, 3)), 3))
    yield Sample((Array((2, 4, 2, 2)), 2, 0.1, 0.5, 2.0))
    yield Sample((Array((3, 4, 2), layout="transposed"), 2))


def _response_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), 2), ArgumentError, r"3 or more dimensions, got shape \[2, 3\]")


@composite(samples=_response_samples, errors=_response_errors, dtypes=FLOATING_TYPES, method=False, function=False)
def local_response_norm(input: Operand, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    """input / (k + alpha * mean of the squares of `size` neighbouring channels) ** beta; missing neighbours are 0.

    Shapes: input [n, c, *]; the result as the input.
    Host:   returns at once.
    Raises: ArgumentError for fewer than 3 dimensions.
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
    if not input.numel():
        return input
    values: Any = input
    squares = values * values
    total = squares
    for step in range(1, size):  # the neighbours below come first: size // 2 of them
        shift = -((step + 1) // 2) if step % 2 else step // 2
        total = total + _shifted(squares, shift)
    return values / (total * (alpha / size) + k) ** beta


def _shifted(values: Any, shift: int) -> Any:
    """Channel c of the result is channel c + shift, or 0 where there is none."""
    channels = values.shape[1]
    count = min(abs(shift), channels)
    none = values.new_zeros((values.shape[0], count, *values.shape[2:]))
    kept = values.narrow(1, count if shift > 0 else 0, channels - count)
    return REGISTRY["cat"]([kept, none] if shift > 0 else [none, kept], 1)
