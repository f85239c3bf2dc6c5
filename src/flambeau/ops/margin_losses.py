"""Margin losses of classes: multi_margin_loss and multilabel_margin_loss (kernels/margin_losses.cu).

- multi_margin_loss: a warp computes a row of up to WARP_ROW classes, a block a longer row.
- multilabel_margin_loss: a block computes a row.
- With a reduction, one block also sums few rows.  Of many rows, each block sums some; a second launch adds the sums.
- A label out of range raises IndexRangeError at once on the CPU.  On a GPU it stops the device as a failed assertion
  does: the next call that waits raises AcceleratorError 710.
- Half types are computed in float32, sums have a fixed order, and each result is rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from ..dtypes import FLOATING_TYPES, dtype, int64, uint8
from ..errors import ArgumentError, AutogradError, DtypeError, ShapeError
from ..host import np
from ..kernel import Grid, Kernel, Pointer, Scalar
from .copies import fill_kernel
from .embedding import check_range
from .losses import REDUCTIONS, reduction_of
from .operator import Array, ErrorSample, Operand, Sample, composite, operator
from .pointwise import FULL_DEVICE_BLOCKS, THREADS, grid_over, source_text
from .reduction_kernels import ROW_SOURCE, SUM, TARGET_BLOCKS, WARP, run_fold

SOURCE = ROW_SOURCE + source_text("margin_losses.cu")
WARP_ROW = 1024  # the most classes of a row that a warp computes
TERMS_PER_BLOCK = 4096  # for a loss with a reduction


# one row for each sample


def sizes_of(shape: Any) -> tuple[int, int]:
    """Return (rows, classes) of an input [classes], [rows, classes] or ()."""
    return (shape[0], shape[1]) if len(shape) == 2 else (1, math.prod(shape))


def _check_rows(name: str, input: Any, target: Any, has_classes: bool) -> None:
    """Raise ShapeError or DtypeError unless the target has a row of labels, or a label, for each row of the input."""
    shape, labels = tuple(input.shape), tuple(target.shape)
    if has_classes:
        fits = labels == shape or len(shape) < 2 and len(labels) < 2 and math.prod(labels) == math.prod(shape)
    else:
        fits = labels == shape[:1] if len(shape) == 2 else labels in ((), (1,))
    if len(shape) > 2 or not fits or not sizes_of(shape)[1]:
        raise ShapeError(
            f"target {list(labels)} does not fit input {list(shape)}",
            hint="each row is a sample: input [n, c], target " + ("[n, c]" if has_classes else "[n]"),
            operator=name,
        )
    if target.dtype is not int64:
        raise DtypeError(f"target must be int64, got {target.dtype.name}", hint="convert with .long()", operator=name)


# kernels

SIZES = [
    *[Scalar(name, "int64") for name in ("rows", "size")],
    Scalar("divisor", "float64"),
    *[Scalar(name, "int64") for name in ("lanes", "count", "is_each")],
]
SIZE_ARGUMENTS = "long long rows, long long size, double divisor, long long lanes, long long count, long long is_each"


class Margins(NamedTuple):
    """The operands of the kernels of one loss.

    name: the beginning of the kernels' names.  parameters, arguments: the operands, for Kernel and in CUDA C++.
    value: the declaration of the object with which kernels/margin_losses.cu computes.
    """

    name: str
    parameters: list[Any]
    arguments: str
    value: str

    def source(self, entry: str, results: str, statement: str) -> str:
        return f"""{SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({results}, {self.arguments}, {SIZE_ARGUMENTS}) {{
  const {self.value};
  {statement}
}}
"""


def _class_margins(dtype: dtype) -> Margins:
    t, c = dtype.cuda, dtype.wide.cuda
    parameters = [
        Pointer("input", dtype, "r", ("rows", "size")), Pointer("target", int64, "r", ("rows",)),
        Pointer("weight", dtype, "r", ("size",)), Scalar("p", "int64"), Scalar("margin", "float64"),
    ]  # fmt: skip
    arguments = f"const {t}* input, const long long* target, const {t}* weight, long long p, double margin"
    value = f"ClassMargins<{c}, {t}> of{{input, target, weight, rows, size, p, ({c})margin, ({c})divisor}}"
    return Margins("class_margins", parameters, arguments, value)


def _label_margins(dtype: dtype) -> Margins:
    t, c = dtype.cuda, dtype.wide.cuda
    parameters = [
        Pointer("input", dtype, "r", ("rows", "size")), Pointer("target", int64, "r", ("rows", "size")),
        Pointer("marks", uint8, "w", ("rows", "size")),
    ]  # fmt: skip
    arguments = f"const {t}* input, const long long* target, unsigned char* marks"
    value = f"LabelMargins<{c}, {t}> of{{input, target, marks, rows, size, ({c})divisor}}"
    return Margins("label_margins", parameters, arguments, value)


def _class_terms(input: Any, target: Any, weight: Any, margin: float, wide: Any) -> tuple[Any, Any]:
    """Return (margin of each class to the target, 0 where it does not count; weight of each row) in NumPy.

    Raises: IndexRangeError.
    """
    check_range("multi_margin_loss", target, input.shape[1], "classes", "target")
    x = input.astype(wide, copy=False)
    apart = wide.type(margin) - np.take_along_axis(x, target[:, None], 1) + x
    counts = (apart > 0) & (np.arange(input.shape[1]) != target[:, None])
    weights = np.ones(len(x), wide) if weight is None else weight.astype(wide)[target]
    return np.where(counts, apart, wide.type(0)), weights


def _label_terms(input: Any, target: Any, marks: Any, wide: Any) -> Any:
    """Return the margin of each class to each target in NumPy, 0 where it does not count: [rows, targets, classes].

    Writes the marks.  Raises: IndexRangeError.
    """
    index = np.maximum(target, 0)
    check_range("multilabel_margin_loss", index, input.shape[1], "classes", "target")
    are_labels = np.logical_and.accumulate(target >= 0, axis=1)
    marks[...] = 0
    np.maximum.at(marks, (np.arange(len(index))[:, None], index), are_labels.astype(np.uint8))
    x = input.astype(wide, copy=False)
    apart = wide.type(1) - np.take_along_axis(x, index, 1)[:, :, None] + x[:, None]
    return np.where((apart > 0) & are_labels[:, :, None] & (marks == 0)[:, None], apart, wide.type(0))


def _put_losses(out: Any, losses: Any, lanes: int, is_each: int, divisor: float) -> None:
    """Write the loss of each row, or the sum of the losses of each block's rows, in NumPy."""
    losses = losses / losses.dtype.type(divisor)
    blocks = np.arange(len(losses)) // (THREADS // lanes) % len(out)
    out[...] = losses if is_each else [losses[blocks == block].sum() for block in range(len(out))]


@cache
def class_kernel(dtype: dtype, out: dtype) -> Kernel:
    """Return the kernel of multi_margin_loss.

    It writes `count` losses: of rows (is_each), or sums over the rows of each block.
    """
    wide, margins = dtype.wide.numpy, _class_margins(dtype)

    def reference(
        out: Any, input: Any, target: Any, weight: Any, p: int, margin: float, rows: int, size: int, divisor: float,
        lanes: int, count: int, is_each: int,
    ) -> None:  # fmt: skip
        apart, weights = _class_terms(input, target, weight, margin, wide)
        _put_losses(out, (apart**p).sum(axis=1) * weights, lanes, is_each, divisor)

    entry = f"{margins.name}_{dtype.name}_{out.name}"
    source = margins.source(entry, f"{out.cuda}* out", "class_margins(out, of, (int)lanes, is_each != 0);")
    return Kernel(entry, source, [Pointer("out", out, "w", ("count",)), *margins.parameters, *SIZES], reference, 3.0)


@cache
def class_backward_kernel(dtype: dtype) -> Kernel:
    """Return the kernel of the gradient of multi_margin_loss.

    count: the number of incoming gradients: one for each row with is_each, else 1.
    """
    wide, margins = dtype.wide.numpy, _class_margins(dtype)

    def reference(
        out: Any, grad: Any, input: Any, target: Any, weight: Any, p: int, margin: float, rows: int, size: int,
        divisor: float, lanes: int, count: int, is_each: int,
    ) -> None:  # fmt: skip
        apart, weights = _class_terms(input, target, weight, margin, wide)
        units = grad.astype(wide) * weights / wide.type(divisor)
        slopes = (2 * apart if p == 2 else (apart > 0).astype(wide)) * units[:, None]
        slopes[np.arange(rows), target] = -slopes.sum(axis=1)
        out[...] = slopes

    t, entry = dtype.cuda, f"{margins.name}_backward_{dtype.name}"
    statement = "class_margins_backward(out, grad, of, (int)lanes, is_each == 0);"
    params = [Pointer("out", dtype, "w", ("rows", "size")), Pointer("grad", dtype, "r", ("count",))]
    source = margins.source(entry, f"{t}* out, const {t}* grad", statement)
    return Kernel(entry, source, [*params, *margins.parameters, *SIZES], reference, 4.0)


@cache
def label_kernel(dtype: dtype, out: dtype) -> Kernel:
    """Return the kernel of multilabel_margin_loss; its result has the form of `class_kernel`'s."""
    wide, margins = dtype.wide.numpy, _label_margins(dtype)

    def reference(
        out: Any, input: Any, target: Any, marks: Any, rows: int, size: int, divisor: float, lanes: int, count: int,
        is_each: int,
    ) -> None:  # fmt: skip
        losses = _label_terms(input, target, marks, wide).sum(axis=(1, 2))
        _put_losses(out, losses, lanes, is_each, divisor)

    entry = f"{margins.name}_{dtype.name}_{out.name}"
    source = margins.source(entry, f"{out.cuda}* out", "label_margins(out, of, is_each != 0);")
    return Kernel(entry, source, [Pointer("out", out, "w", ("count",)), *margins.parameters, *SIZES], reference, 3.0)


@cache
def label_backward_kernel(dtype: dtype) -> Kernel:
    """Return the kernel of the gradient of multilabel_margin_loss, with gradients as in `class_backward_kernel`."""
    wide, margins = dtype.wide.numpy, _label_margins(dtype)

    def reference(
        out: Any, grad: Any, input: Any, target: Any, marks: Any, rows: int, size: int, divisor: float, lanes: int,
        count: int, is_each: int,
    ) -> None:  # fmt: skip
        active = _label_terms(input, target, marks, wide) > 0
        slopes = active.sum(axis=1)
        np.subtract.at(slopes, (np.arange(rows)[:, None], np.maximum(target, 0)), active.sum(axis=2))
        out[...] = slopes.astype(wide) * (grad.astype(wide) / wide.type(divisor))[:, None]

    t, entry = dtype.cuda, f"{margins.name}_backward_{dtype.name}"
    params = [Pointer("out", dtype, "w", ("rows", "size")), Pointer("grad", dtype, "r", ("count",))]
    statement = "label_margins_backward(out, grad, of, is_each == 0);"
    source = margins.source(entry, f"{t}* out, const {t}* grad", statement)
    return Kernel(entry, source, [*params, *margins.parameters, *SIZES], reference, 4.0)


# launches


def _divisor(shape: Any, reduction: str) -> float:
    rows, size = sizes_of(shape)
    return float(rows * size if reduction == "mean" else size)


def _grid(rows: int, lanes: int, most: int) -> Grid:
    return Grid((max(1, min(-(-rows * lanes // THREADS), most)), 1, 1), THREADS)


def _launch_loss(call: Any, kernel: Any, operands: Any, shape: Any, lanes: int, row_shape: Any, reduction: str) -> Any:
    """Launch kernel(type, type of its result), and reduce its results.  Returns the loss.

    operands: its arguments between the result and the sizes.  shape: of the input.  row_shape: the shape of the losses
    of rows.
    """
    dtype, (rows, size) = operands[0].dtype, sizes_of(shape)
    divisor = _divisor(shape, reduction)
    out = call.output(row_shape if reduction == "none" else (), dtype)
    if not rows:
        if reduction != "none":
            call.launch(fill_kernel(dtype), grid_over(1), out, math.nan if reduction == "mean" else 0.0, 1)
    elif reduction == "none":
        sizes = rows, size, divisor, lanes, rows, 1
        call.launch(kernel(dtype, dtype), _grid(rows, lanes, FULL_DEVICE_BLOCKS), out, *operands, *sizes)
    else:
        grid = _grid(rows, lanes, min(max(1, rows * size // TERMS_PER_BLOCK), TARGET_BLOCKS))
        blocks = grid.blocks[0]
        if blocks == 1:
            call.launch(kernel(dtype, dtype), grid, out, *operands, rows, size, divisor, lanes, 1, 0)
        else:
            sums = call.scratch((blocks,), dtype.wide)
            call.launch(kernel(dtype, dtype.wide), grid, sums, *operands, rows, size, 1.0, lanes, blocks, 0)
            run_fold(call, SUM, sums, (0,), out, dtype.wide, divisor)
    return out


def _launch_gradient(call: Any, kernel: Any, grad: Any, operands: Any, shape: Any, lanes: int, reduction: str) -> Any:
    """Launch the kernel of the gradient, unless there are no rows.  Returns the gradient."""
    dtype, (rows, size) = operands[0].dtype, sizes_of(shape)
    out = call.output(shape, dtype)
    if rows:
        is_each = reduction == "none"
        sizes = rows, size, _divisor(shape, reduction), lanes, rows if is_each else 1, int(is_each)
        grid = _grid(rows, lanes, FULL_DEVICE_BLOCKS)
        call.launch(kernel, grid, out, call.contiguous(grad, dtype), *operands, *sizes)
    return out


# one label for each row


def _class_margin_samples() -> Iterator[Sample]:
    target = Array((3,), low=0, high=3, dtype="int64")
    for reduction in REDUCTIONS:
        yield Sample((Array((3, 4)), target, None, 1, 1.0, reduction))
    yield Sample((Array((3, 4)), target, Array((4,), low=0.5, high=2, grad=False), 2, 1.5, "mean"))
    yield Sample((Array((2, 1100)), Array((2,), low=0, high=1099, dtype="int64"), None, 1, 1.0, "none"))
    yield Sample((Array((40, 300), grad=False), Array((40,), low=0, high=299, dtype="int64"), None, 1, 1.0, "sum"))
    yield Sample((Array((0, 3)), Array((0,), dtype="int64"), None, 1, 1.0, "sum"))


def _class_operands(call: Any, input: Any, target: Any, weight: Any, p: int, margin: float) -> tuple[Any, ...]:
    weight = None if weight is None else call.contiguous(weight)
    return call.contiguous(input), call.contiguous(target), weight, int(p), float(margin)


@operator(samples=_class_margin_samples, dtypes=FLOATING_TYPES, method=False, function=False)
def class_margin(
    call: Any, input: Operand, target: Operand, weight: Operand | None, p: int, margin: float, reduction: str
) -> Any:
    """Compute `multi_margin_loss` for checked operands."""
    operands = _class_operands(call, input, target, weight, p, margin)
    return _launch_loss(call, class_kernel, operands, input.shape, _lanes(input.shape), target.shape, reduction)


@class_margin.derivative
def _(grad: Any, input: Any, target: Any, weight: Any, p: int, margin: float, reduction: str, needs: Any) -> Any:
    if needs[2]:
        raise AutogradError(
            "the loss is not differentiable with respect to argument 'weight'",
            hint="pass weight.detach(), or multiply the losses of reduction='none'",
            operator="multi_margin_loss",
        )
    return class_margin_backward(grad, input, target, weight, p, margin, reduction), None, None


def _lanes(shape: Any) -> int:
    """Return the number of threads that compute a row of multi_margin_loss."""
    return WARP if sizes_of(shape)[1] <= WARP_ROW else THREADS


def _class_gradient_samples() -> Iterator[Sample]:
    for sample in _class_margin_samples():
        reduction = sample.args[-1]
        grad = Array(sample.args[1].shape if reduction == "none" else (), low=0.5, high=1.5)
        yield Sample((grad, *sample.args))


@operator(samples=_class_gradient_samples, dtypes=FLOATING_TYPES, method=False, function=False)
def class_margin_backward(
    call: Any, grad_output: Operand, input: Operand, target: Operand, weight: Operand | None, p: int, margin: float,
    reduction: str,
) -> Any:  # fmt: skip
    """Return the gradient of the input of `class_margin`."""
    operands = _class_operands(call, input, target, weight, p, margin)
    kernel = class_backward_kernel(input.dtype)
    return _launch_gradient(call, kernel, grad_output, operands, input.shape, _lanes(input.shape), reduction)


@class_margin_backward.derivative
def _(
    grad: Any, grad_output: Any, input: Any, target: Any, weight: Any, p: int, margin: float, reduction: str, needs: Any
) -> Any:
    of_grad = of_input = None
    if needs[0]:
        ones = grad_output.new_ones(grad_output.shape)
        slopes = grad * class_margin_backward(ones, input, target, weight, p, margin, reduction)
        of_grad = slopes.sum(-1).reshape(grad_output.shape) if reduction == "none" else slopes.sum()
    if needs[1] and p == 2:  # the slope of a class is twice its margin to the target
        flowed, index = _as_rows(grad), target.reshape([-1, 1])
        halves = class_margin_backward(grad_output, input, target, weight, 1, margin, reduction)
        terms = 2 * _as_rows(halves) * (flowed - flowed.gather(1, index))
        of_input = terms.scatter_add(1, index, -terms.sum(1, True)).reshape(input.shape)
    return of_grad, of_input, None, None


def _as_rows(input: Any) -> Any:
    return input.reshape(sizes_of(input.shape))


def _class_margins_of_users() -> Iterator[Sample]:
    target = Array((3,), low=0, high=3, dtype="int64")
    yield Sample((Array((3, 4)), target))
    yield Sample((Array((3, 4)), target, 2, 1.5), {"weight": Array((4,), low=0.5, high=2, grad=False)})
    yield Sample((Array((4,)), Array((), low=1, high=1, dtype="int64")), {"reduction": "none"})


def _bad_class_margins() -> Iterator[ErrorSample]:
    pair = Array((2, 3)), Array((2,), low=0, high=1, dtype="int64")
    yield ErrorSample((*pair, 3), ArgumentError, "only p == 1 and p == 2 .* got 3")
    yield ErrorSample(pair, ArgumentError, r"one-dimensional, got \[1, 3\]", {"weight": Array((1, 3))})
    yield ErrorSample(pair, ArgumentError, r"expected 3 but got \w+\[2\]", {"weight": Array((2,))})
    yield ErrorSample((pair[0], Array((3,), dtype="int64")), ShapeError, r"target \[3\] .* input \[2, 3\]")


@composite(
    samples=_class_margins_of_users, errors=_bad_class_margins, dtypes=FLOATING_TYPES, method=False, function=False
)
def multi_margin_loss(
    input: Operand, target: Operand, p: int = 1, margin: float = 1.0, weight: Operand | None = None,
    size_average: Any = None, reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Sum max(0, margin - input[target] + input[class]) ** p / c over the classes other than the target.

    This is the loss of one sample; c is the number of classes.  p: 1 or 2.  weight: a factor for each target class.
    reduction: "mean" returns the mean of all losses, "sum" their sum, "none" each loss.
    Shapes: input [n, c] and target [n], or [c] and (); the result is (), or with reduction "none" the target's shape.
    Host:   returns at once.
    Raises: IndexRangeError for a target outside the classes on the CPU (a device-side assert on a GPU), ArgumentError
            for a bad reduction, p or weight, ShapeError if the target does not fit the input, DtypeError unless the
            target is int64.
    Example:
        >>> torch.nn.functional.multi_margin_loss(torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([3]))
        tensor(0.3250)
    """
    reduction = reduction_of("multi_margin_loss", size_average, reduce, reduction)
    if p not in (1, 2):
        raise ArgumentError(
            f"only p == 1 and p == 2 supported, got {p}", hint="use 1 or 2", operator="multi_margin_loss"
        )
    _check_rows("multi_margin_loss", input, target, False)
    if weight is not None:
        _check_weight(input, weight)
    return class_margin(input, target, weight, p, margin, reduction)


def _check_weight(input: Any, weight: Any) -> None:
    if len(weight.shape) != 1:
        raise ArgumentError(
            f"weight must be one-dimensional, got {list(weight.shape)}",
            hint="pass one number for each class",
            operator="multi_margin_loss",
        )
    classes = sizes_of(input.shape)[1]
    if weight.shape[0] != classes or weight.dtype is not input.dtype:
        raise ArgumentError(
            f"inconsistent weight size, expected {classes} but got {weight.dtype.name}{list(weight.shape)}",
            hint=f"pass one {input.dtype.name} number for each class",
            operator="multi_margin_loss",
        )


# several labels for each row


def _label_margin_samples() -> Iterator[Sample]:
    target = Array((2, 4), low=-1, high=3, dtype="int64", seed=2)
    for reduction in REDUCTIONS:
        yield Sample((Array((2, 4)), target, reduction))
    yield Sample((Array((40, 300), grad=False), Array((40, 300), low=-1, high=299, dtype="int64"), "sum"))
    yield Sample((Array((0, 3)), Array((0, 3), dtype="int64"), "mean"))


def _label_operands(call: Any, input: Any, target: Any) -> tuple[Any, ...]:
    return call.contiguous(input), call.contiguous(target), call.scratch(input.shape, uint8)


@operator(samples=_label_margin_samples, dtypes=FLOATING_TYPES, method=False, function=False)
def label_margin(call: Any, input: Operand, target: Operand, reduction: str) -> Any:
    """Compute `multilabel_margin_loss` for checked operands."""
    operands = _label_operands(call, input, target)
    return _launch_loss(call, label_kernel, operands, input.shape, THREADS, input.shape[:-1], reduction)


@label_margin.derivative
def _(grad: Any, input: Any, target: Any, reduction: str) -> Any:
    return label_margin_backward(grad, input, target, reduction), None


def _label_gradient_samples() -> Iterator[Sample]:
    for sample in _label_margin_samples():
        reduction = sample.args[-1]
        grad = Array(sample.args[0].shape[:-1] if reduction == "none" else (), low=0.5, high=1.5)
        yield Sample((grad, *sample.args))


@operator(samples=_label_gradient_samples, dtypes=FLOATING_TYPES, method=False, function=False)
def label_margin_backward(call: Any, grad_output: Operand, input: Operand, target: Operand, reduction: str) -> Any:
    """Return the gradient of the input of `label_margin`."""
    operands, kernel = _label_operands(call, input, target), label_backward_kernel(input.dtype)
    return _launch_gradient(call, kernel, grad_output, operands, input.shape, THREADS, reduction)


@label_margin_backward.derivative
def _(grad: Any, grad_output: Any, input: Any, target: Any, reduction: str) -> Any:
    ones = grad_output.new_ones(grad_output.shape)
    slopes = grad * label_margin_backward(ones, input, target, reduction)
    return slopes.sum(-1).reshape(grad_output.shape) if reduction == "none" else slopes.sum(), None, None


def _label_sets() -> Iterator[Sample]:
    target = Array((2, 4), low=-1, high=4, dtype="int64", seed=2)
    for reduction in REDUCTIONS:
        yield Sample((Array((2, 4)), target), {"reduction": reduction})
    yield Sample((Array((4,)), Array((4,), low=0, high=4, dtype="int64", seed=3)))


def _bad_label_sets() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), Array((2,), dtype="int64")), ShapeError, r"target \[2\] .* input \[2, 3\]")


@composite(samples=_label_sets, errors=_bad_label_sets, dtypes=FLOATING_TYPES, method=False, function=False)
def multilabel_margin_loss(
    input: Operand, target: Operand, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """Sum max(0, 1 - input[label] + input[other]) / c over all pairs of a label and another class of a sample.

    target: the labels of each sample, which end at the first -1.  c is the number of classes.
    reduction: "mean" returns the mean of all losses, "sum" their sum, "none" each loss.
    Shapes: input and target [n, c] or [c]; the result is (), or with reduction "none" [n].
    Host:   returns at once.
    Memory: one byte for each element of the input.
    Raises: IndexRangeError for a label outside the classes on the CPU (a device-side assert on a GPU), ArgumentError
            for a bad reduction, ShapeError if the target does not fit the input, DtypeError unless the target is int64.
    Example:
        >>> input, target = torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([[3, 0, -1, 1]])
        >>> torch.nn.functional.multilabel_margin_loss(input, target)
        tensor(0.8500)
    """
    reduction = reduction_of("multilabel_margin_loss", size_average, reduce, reduction)
    _check_rows("multilabel_margin_loss", input, target, True)
    return label_margin(input, target, reduction)
