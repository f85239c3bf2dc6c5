"""Kernels of class losses: negative log-likelihood, and cross entropy of logits (kernels/class_losses.cu).

- A class index out of range raises IndexRangeError at once on the CPU.  On a GPU it triggers a
  device-side assert: the next call that waits raises AcceleratorError 710.
- Half types are computed in float32, sums have a fixed order, and each result is rounded once.
- Few losses are reduced by the launch that computes them, others by a second one.
- Cross entropy reads the logits once for the loss and once for the gradient.  It never stores their probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import prod
from typing import Any, NamedTuple

from ..dtypes import FLOATING_TYPES, dtype, int64, uint8
from ..errors import ArgumentError, AutogradError, DtypeError, ShapeError, ValueRangeError
from ..host import np
from ..kernel import Grid, Kernel, Pointer, Scalar
from .embedding import check_range
from .operator import Array, ErrorSample, Operand, Sample, operator
from .pointwise import THREADS, grid_over, source_text
from .reduction_kernels import (
    ROW_BOUNDS,
    ROW_SOURCE,
    SUM,
    TARGET_BLOCKS,
    RowPlan,
    even_variant,
    plan_rows,
    run_fold,
)
from .softmax import softmax
from .views import reshape

CLASS_LOSS_SOURCE = ROW_SOURCE + source_text("class_losses.cu")
IGNORED = -100
TERMS_PER_PIECE = 4096


# negative log-likelihood: kernels


@cache
def _class_kernel(name: str, dtype: dtype) -> Kernel:
    """Make nll_each, nll_pieces, nll_finish, nll_whole or nll_backward (kernels/class_losses.cu) for one type."""
    return _CLASS_KERNELS[name](dtype)


def _picked_source(entry: str, arguments: str, dtype: dtype, statement: str) -> str:
    t = dtype.cuda
    return f"""{CLASS_LOSS_SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({arguments}, const {t}* input, const long long* target,
    const {t}* weight, long long n, long long classes, long long inner, long long ignored, long long choice) {{
  const Picked<{dtype.wide.cuda}, {t}> picked{{input, target, weight, classes, inner, ignored}};
  {statement}
}}
"""


def _picked_params(dtype: dtype) -> list[Any]:
    return [
        Pointer("input", dtype, "r", ("n", "classes", "inner")),
        Pointer("target", int64, "r", ("n", "inner")),
        Pointer("weight", dtype, "r", ("classes",)),
        *[Scalar(name, "int64") for name in ("n", "classes", "inner", "ignored", "choice")],
    ]


def weights_of(target: Any, weight: Any, classes: int, ignored: int, wide: Any) -> Any:
    """Return the weight of each target in NumPy, 0 where it is ignored.  Raises IndexRangeError."""
    counted = target != ignored
    targets = np.where(counted, target, 0)
    check_range("nll_loss", targets[:, 0] if targets.shape[1] == 1 else targets, classes, "classes", "target")
    if weight is None:
        return counted.astype(wide)
    return np.where(counted, weight.astype(wide)[np.where(counted, target, 0)], wide.type(0))


def losses_of(input: Any, target: Any, weight: Any, classes: int, ignored: int, wide: Any) -> tuple[Any, Any]:
    """Return (loss, weight) of each target in NumPy, for log-probabilities [n, classes, inner]."""
    weights = weights_of(target, weight, classes, ignored, wide)
    chosen = np.where(target == ignored, 0, target)
    picked = np.take_along_axis(input, chosen[:, None], axis=1)[:, 0].astype(wide)
    return np.where(target == ignored, wide.type(0), -weights * picked), weights


def _each_kernel(dtype: dtype) -> Kernel:
    entry = f"nll_each_{dtype.name}"
    code = _picked_source(entry, f"{dtype.cuda}* out", dtype, "nll_each(out, picked, n * inner);")

    def reference(
        out: Any, input: Any, target: Any, weight: Any, n: int, classes: int, inner: int, ignored: int, choice: int
    ) -> None:
        out[...] = losses_of(input, target, weight, classes, ignored, dtype.wide.numpy)[0]

    return Kernel(entry, code, [Pointer("out", dtype, "w", ("n", "inner")), *_picked_params(dtype)], reference)


def _pieces_kernel(dtype: dtype) -> Kernel:
    """Return the kernel that sums losses and weights by pieces.

    choice: the number of pieces, which is also the number of blocks.
    """
    entry, c = f"nll_pieces_{dtype.name}", dtype.wide.cuda
    code = _picked_source(entry, f"{c}* losses, {c}* weights", dtype, "nll_pieces(losses, weights, picked, n * inner);")

    def reference(
        losses: Any,
        weights: Any,
        input: Any,
        target: Any,
        weight: Any,
        n: int,
        classes: int,
        inner: int,
        ignored: int,
        parts: int,
    ) -> None:
        terms = losses_of(input, target, weight, classes, ignored, dtype.wide.numpy)
        for out, values in zip((losses, weights), terms):
            chunk = -(-n * inner // parts)
            out[...] = [values.reshape(-1)[part * chunk : (part + 1) * chunk].sum() for part in range(parts)]

    pieces = [Pointer(name, dtype.wide, "w", ("choice",)) for name in ("losses", "weights")]
    return Kernel(entry, code, [*pieces, *_picked_params(dtype)], reference)


def _finish_kernel(dtype: dtype) -> Kernel:
    entry, t, c = f"nll_finish_{dtype.name}", dtype.cuda, dtype.wide.cuda
    code = f"""{CLASS_LOSS_SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({t}* out, {c}* total, const {c}* losses,
    const {c}* weights, long long parts, long long is_mean) {{
  nll_finish(out, total, losses, weights, parts, is_mean != 0);
}}
"""

    def reference(out: Any, total: Any, losses: Any, weights: Any, parts: int, is_mean: int) -> None:
        _put_loss(out, total, losses, weights, is_mean)

    wide = dtype.wide
    params = [Pointer("out", dtype, "w", ()), Pointer("total", wide, "w", ()), Pointer("losses", wide, "r", ("parts",))]
    numbers = [Scalar("parts", "int64"), Scalar("is_mean", "int64")]
    return Kernel(entry, code, [*params, Pointer("weights", wide, "r", ("parts",)), *numbers], reference)


def _whole_kernel(dtype: dtype) -> Kernel:
    """Return the kernel that reduces few losses to their sum, or to their mean (choice), in one block."""
    entry, t, c = f"nll_whole_{dtype.name}", dtype.cuda, dtype.wide.cuda
    statement = "nll_whole(out, total, picked, n * inner, choice != 0);"
    code = _picked_source(entry, f"{t}* out, {c}* total", dtype, statement)

    def reference(
        out: Any, total: Any, input: Any, target: Any, weight: Any,
        n: int, classes: int, inner: int, ignored: int, is_mean: int,
    ) -> None:  # fmt: skip
        losses, weights = losses_of(input, target, weight, classes, ignored, dtype.wide.numpy)
        _put_loss(out, total, losses.reshape(-1), weights.reshape(-1), is_mean)

    params = [Pointer("out", dtype, "w", ()), Pointer("total", dtype.wide, "w", ())]
    return Kernel(entry, code, [*params, *_picked_params(dtype)], reference)


def _put_loss(out: Any, total: Any, losses: Any, weights: Any, is_mean: int) -> None:
    """Write a loss and the total weight, in NumPy."""
    total[...] = weights.sum()
    out[...] = losses.sum() / total if is_mean else losses.sum()


def _backward_kernel(dtype: dtype) -> Kernel:
    """Return the kernel of the gradient.

    choice: the number of incoming gradients, 1 or n * inner.  `input` is not passed.
    """
    entry, t, c = f"nll_backward_{dtype.name}", dtype.cuda, dtype.wide.cuda
    statement = "nll_backward(out, grad, total, picked, n * inner, choice == 1);"
    code = _picked_source(entry, f"{t}* out, const {t}* grad, const {c}* total", dtype, statement)

    def reference(
        out: Any, grad: Any, total: Any, input: Any, target: Any, weight: Any,
        n: int, classes: int, inner: int, ignored: int, grads: int,
    ) -> None:  # fmt: skip
        wide = dtype.wide.numpy
        slopes = -weights_of(target, weight, classes, ignored, wide)
        slopes = slopes * grad.astype(wide).reshape(1 if grads == 1 else (n, inner))
        slopes = slopes if total is None else slopes / total
        chosen = (target[:, None] == np.arange(classes)[:, None]) & (target != ignored)[:, None]
        out[...] = np.where(chosen, slopes[:, None], wide.type(0))

    params = [
        Pointer("out", dtype, "w", ("n", "classes", "inner")),
        Pointer("grad", dtype, "r", ("choice",)),
        Pointer("total", dtype.wide, "r", ()),
    ]
    return Kernel(entry, code, [*params, *_picked_params(dtype)], reference)


_CLASS_KERNELS = {
    "each": _each_kernel, "pieces": _pieces_kernel, "finish": _finish_kernel, "whole": _whole_kernel,
    "backward": _backward_kernel,
}  # fmt: skip


# negative log-likelihood: operators


def _class_sizes(shape: Sequence[int]) -> tuple[int, int, int]:
    """Return (n, classes, inner) of log-probabilities [classes] or [n, classes, *]."""
    return (1, shape[0], 1) if len(shape) == 1 else (shape[0], shape[1], prod(shape[2:]))


def _unlike_batches(input: list[int], target: list[int]) -> str:
    """Return PyTorch's message for different numbers of predictions and targets; "" if they are equal."""
    if not input or not target or input[0] == target[0]:
        return ""
    return f"Expected input batch_size ({input[0]}) to match target batch_size ({target[0]}). "


def check_classes(input: Any, target: Any, weight: Any) -> None:
    """Raise DtypeError, ArgumentError or ShapeError unless these are operands of a class loss."""
    if not input.dtype.is_floating_point:
        raise DtypeError(
            f"input must be floating point, got {input.dtype.name}", hint="convert with .float()", operator="nll_loss"
        )
    if target.dtype is not int64:
        raise DtypeError(
            f"expected target dtype to be int64, got {target.dtype.name}",
            hint="convert with .long()",
            operator="nll_loss",
        )
    shape = list(input.shape)
    if not shape or (shape[:1] + shape[2:] != list(target.shape) and not (len(shape) == 1 and not target.shape)):
        raise ValueRangeError(
            f"{_unlike_batches(shape, list(target.shape))}expected target of the input's shape without its "
            f"class dimension; input is {shape}, target is {list(target.shape)}",
            hint=f"it must have shape {shape[:1] + shape[2:]}: one class for each prediction"
            if shape
            else "pass an input with a dimension of classes",
            operator="nll_loss",
        )
    classes = _class_sizes(shape)[1]
    if weight is not None and (tuple(weight.shape) != (classes,) or weight.dtype is not input.dtype):
        raise ShapeError(
            f"weight must be {input.dtype.name}[{classes}], one for each class, got {weight.dtype.name}"
            f"{list(weight.shape)}",
            hint=f"make it torch.ones({classes}, dtype=torch.{input.dtype.name}, device=input.device), then set values",
            operator="nll_loss",
        )


def squeeze_target(input: Any, target: Any) -> Any:
    """Return the target as int64 if it is uint8; for a single row of classes, a target of shape [1] becomes ()."""
    if target.dtype is uint8:
        target = target.to(int64)
    return reshape(target, ()) if len(input.shape) == 1 and tuple(target.shape) == (1,) else target


def class_samples() -> Iterator[Sample]:
    """Return samples of class losses."""
    logs: dict[str, Any] = {"low": -3.0, "high": -0.1}
    target = Array((4,), low=0, high=2, dtype="int64", seed=1)
    yield Sample((Array((4, 3), **logs), target))
    yield Sample(
        (Array((4, 3), layout="transposed", **logs), target, Array((3,), low=0.5, high=2.0, grad=False)),
        {"reduction": "sum"},
    )
    yield Sample((Array((4, 3), **logs), target, None), {"ignore_index": 1, "reduction": "none"})
    yield Sample((Array((4, 3), **logs), target, Array((3,), low=0.5, high=2.0, grad=False)), {"ignore_index": 1})
    yield Sample((Array((2, 3, 2, 2), **logs), Array((2, 2, 2), low=0, high=2, dtype="int64", seed=1)))
    yield Sample((Array((3,), **logs), Array((), low=1, high=1, dtype="int64")))
    yield Sample((Array((0, 3), **logs), Array((0,), dtype="int64")), {"reduction": "sum"})


def class_errors() -> Iterator[ErrorSample]:
    """Return error samples of class losses."""

    def target(value: int, dtype: str = "int64") -> Array:
        return Array((2,), low=value, high=value, dtype=dtype)

    input = Array((2, 3))
    yield ErrorSample(
        (input, Array((3,), low=0, high=0, dtype="int64")), ArgumentError, r"input is \[2, 3\], target is \[3\]"
    )
    yield ErrorSample((input, target(0, "int32")), DtypeError, "expected target dtype to be int64, got int32")
    yield ErrorSample((input, target(0)), ArgumentError, "'average' is not a valid value", {"reduction": "average"})
    yield ErrorSample((input, target(0), Array((2,))), ShapeError, r"one for each class, got \w+\[2\]")


def _nll_each_samples() -> Iterator[Sample]:
    for args, kwargs in class_samples():
        yield Sample((*args, None)[:3], {"ignore_index": 1} if "reduction" in kwargs else {})


def _nll_errors() -> Iterator[ErrorSample]:
    yield from (sample for sample in class_errors() if not sample.kwargs)


@operator(samples=_nll_each_samples, errors=_nll_errors, dtypes=FLOATING_TYPES, method=False, function=False)
def nll_each(
    call: Any, input: Operand, target: Operand, weight: Operand | None = None, ignore_index: int = IGNORED
) -> Any:
    """Compute `nll_loss` with reduction "none": the loss of each target.

    Raises: ArgumentError if the target does not have the input's shape without its class dimension, DtypeError if it is
            not int64, ShapeError if `weight` does not have one element for each class.
    """
    check_classes(input, target, weight)
    n, classes, inner = _class_sizes(input.shape)
    out = call.output(target.shape, input.dtype)
    if out.numel():
        operands = call.contiguous(input), call.contiguous(target), None if weight is None else call.contiguous(weight)
        kernel = _class_kernel("each", input.dtype)
        call.launch(kernel, grid_over(n * inner, 1), out, *operands, n, classes, inner, ignore_index, 0)
    return out


def _refuse_weight(name: str, needs: Any) -> None:
    """Raise AutogradError if the gradient of the weights of a class loss is requested."""
    if needs[2]:
        raise AutogradError(
            "the loss is not differentiable with respect to argument 'weight'",
            hint="pass weight.detach(), or multiply the losses of reduction='none'",
            operator=name,
        )


@nll_each.derivative
def _(grad: Any, input_shape: Any, target: Any, weight: Any, ignore_index: int, needs: Any) -> Any:
    _refuse_weight("nll_loss", needs)
    return nll_backward(grad, target, weight, None, input_shape, ignore_index, True), None, None


def _nll_total_samples() -> Iterator[Sample]:
    for args, _ in _nll_each_samples():
        yield Sample((*args, IGNORED, bool(args[0].shape[0])))


@operator(samples=_nll_total_samples, errors=_nll_errors, dtypes=FLOATING_TYPES, method=False, function=False)
def nll_total(
    call: Any, input: Operand, target: Operand, weight: Operand | None = None, ignore_index: int = IGNORED,
    is_mean: bool = True,
) -> Any:  # fmt: skip
    """Compute `nll_loss` with a reduction: (sum or weighted mean of the losses, total weight).

    Raises: ArgumentError if the target does not have the input's shape without its class dimension, DtypeError if it is
            not int64, ShapeError if `weight` does not have one element for each class.
    """
    check_classes(input, target, weight)
    n, classes, inner = _class_sizes(input.shape)
    dtype, count = input.dtype, n * inner
    out, total = call.output((), dtype), call.output((), dtype.wide)
    parts = max(1, min(count // TERMS_PER_PIECE, TARGET_BLOCKS))
    grid = Grid((parts, 1, 1), THREADS)
    if not count:
        nothing = call.scratch((1,), dtype.wide)
        run_finish(call, out, total, nothing, nothing, 0, is_mean)
        return out, total
    operands = call.contiguous(input), call.contiguous(target), None if weight is None else call.contiguous(weight)
    numbers = n, classes, inner, ignore_index
    if parts == 1:
        call.launch(_class_kernel("whole", dtype), grid, out, total, *operands, *numbers, int(is_mean))
        return out, total
    pieces = call.scratch((parts,), dtype.wide), call.scratch((parts,), dtype.wide)
    call.launch(_class_kernel("pieces", dtype), grid, *pieces, *operands, *numbers, parts)
    run_finish(call, out, total, *pieces, parts, is_mean)
    return out, total


def run_finish(call: Any, out: Any, total: Any, losses: Any, weights: Any, count: int, is_mean: bool) -> None:
    """Launch the kernel that reduces `count` sums of losses and of weights to the loss and the total weight."""
    kernel = _class_kernel("finish", out.dtype)
    call.launch(kernel, Grid((1, 1, 1), THREADS), out, total, losses, weights, count, int(is_mean))


@nll_total.derivative
def _(
    grads: Any, out1: Any, input_shape: Any, target: Any, weight: Any, ignore_index: int, is_mean: bool, needs: Any
) -> Any:
    _refuse_weight("nll_loss", needs)
    if grads[0] is None:  # the total weight does not depend on the input
        return None, None, None
    total = out1 if is_mean else None
    return nll_backward(grads[0], target, weight, total, input_shape, ignore_index, False), None, None


def class_loss(input: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> tuple[Any, Any]:
    """Return (loss, total weight of the targets); without a reduction the weight is None."""
    if reduction == "none":
        return nll_each(input, target, weight, ignore_index), None
    loss, total = nll_total(input, target, weight, ignore_index, reduction == "mean")
    return loss, total


def _class_gradients() -> Iterator[Sample]:
    target = Array((4,), low=0, high=2, dtype="int64", seed=1)
    yield Sample((Array((4,)), target, Array((3,), grad=False), None, (4, 3), 1, True))
    yield Sample((Array(()), target, None, None, (4, 3), IGNORED, False))


@operator(samples=_class_gradients, dtypes=FLOATING_TYPES, method=False, function=False)
def nll_backward(
    call: Any, grad_output: Operand, target: Operand, weight: Operand | None, total: Operand | None, shape: Any,
    ignore_index: int, is_each: bool,
) -> Any:  # fmt: skip
    """Return the gradient of the input, of shape `shape`, of `nll_each` (is_each) or `nll_total`.

    total: the total weight, for a mean.

    Shapes: grad_output has the loss's shape.
    Host:   returns at once.
    """
    n, classes, inner = _class_sizes(shape)
    dtype = grad_output.dtype
    out = call.output(shape, dtype)
    if out.numel():
        operands = call.contiguous(grad_output), total, None, call.contiguous(target)
        weight = None if weight is None else call.contiguous(weight)
        grads = n * inner if is_each else 1
        numbers = n, classes, inner, ignore_index, grads
        call.launch(_class_kernel("backward", dtype), grid_over(out.numel()), out, *operands, weight, *numbers)
    return out


@nll_backward.derivative
def _(grad: Any, target: Any, weight: Any, total: Any, ignore_index: int, is_each: bool) -> Any:
    flowed = class_loss(grad, target, weight, ignore_index, "none" if is_each else "sum")[0]
    return flowed if total is None else flowed / total, None, None, None


# cross entropy of logits: kernels

MOST_TILES = 2**31  # tiles of a row
NONE = None, None, None  # results that are not written
MOST_TERMS = 16 * TERMS_PER_PIECE  # terms that one block sums


def _entropy_source(entry: str, arguments: str, dtype: dtype, statement: str) -> str:
    t = dtype.cuda
    return f"""{CLASS_LOSS_SOURCE}
extern "C" __global__ void {ROW_BOUNDS} {entry}({arguments}, const {t}* input, const {t}* weight,
    const long long* target, long long rows, long long size, long long tiles, long long lanes, long long ignored,
    long long choice) {{
  const Picked<{dtype.wide.cuda}, {t}> picked{{input, target, weight, size, 1, ignored}};
  {statement}
}}
"""


def _entropy_parameters(dtype: dtype) -> list[Any]:
    numbers = [Scalar(name, "int64") for name in ("rows", "size", "tiles", "lanes", "ignored", "choice")]
    logits, weight = Pointer("input", dtype, "r", ("rows", "size")), Pointer("weight", dtype, "r", ("size",))
    return [logits, weight, Pointer("target", int64, "r", ("rows",)), *numbers]


@cache
def entropy_kernel(dtype: dtype, is_even: bool) -> Kernel:
    """Return the kernel of the loss and the norms of each row, or of the loss of all rows if one block takes them.

    The losses are written to `each` in their own type, or to `losses` and `weights` in the wide one; that of all rows
    to `whole` or, in the wide type, to `wide`, and the total weight to `total`.
    choice: whether that loss is a mean.
    """
    end, choice = even_variant(is_even)
    entry, t, c, wide = f"entropy_{dtype.name}{end}", dtype.cuda, dtype.wide.cuda, dtype.wide
    results = "{each, losses, weights, norms, whole, wide, total, choice != 0}"
    statement = f"const EntropyResults<{c}, {t}> results{results};\n  "
    statement += f"entropy<{choice}>(results, picked, rows, tiles, (int)lanes);"
    arguments = f"{t}* each, {c}* losses, {c}* weights, {c}* norms, {t}* whole, {c}* wide, {c}* total"
    code = _entropy_source(entry, arguments, dtype, statement)

    def reference(
        each: Any, losses: Any, weights: Any, norms: Any, whole: Any, wide_whole: Any, total: Any, input: Any,
        weight: Any, target: Any, rows: int, size: int, tiles: int, lanes: int, ignored: int, is_mean: int,
    ) -> None:  # fmt: skip
        x = input.astype(wide.numpy, copy=False)
        norms[:, 0] = x.max(axis=1)
        norms[:, 1] = np.log(np.exp(x - norms[:, :1]).sum(axis=1))
        logs = (x - norms[:, :1] - norms[:, 1:])[:, :, None]
        loss, scale = losses_of(logs, target[:, None], weight, size, ignored, wide.numpy)
        if each is not None:
            each[...] = loss[:, 0]
        if losses is not None:
            losses[...], weights[...] = loss[:, 0], scale[:, 0]
        if total is not None:
            _put_loss(wide_whole if whole is None else whole, total, loss[:, 0], scale[:, 0], is_mean)

    params = [
        Pointer("each", dtype, "w", ("rows",)),
        *(Pointer(n, wide, "w", ("rows",)) for n in ("losses", "weights")),
        Pointer("norms", wide, "w", ("rows", 2)),
        Pointer("whole", dtype, "w", ()),
        *(Pointer(n, wide, "w", ()) for n in ("wide", "total")),
    ]
    return Kernel(entry, code, [*params, *_entropy_parameters(dtype)], reference, 8.0)


@cache
def entropy_backward_kernel(dtype: dtype, of_grad: dtype, is_even: bool) -> Kernel:
    """Return the kernel of the gradient of the logits.

    of_grad: the type of the incoming gradients.  choice: their number, 1 or one per row.
    """
    end, choice = even_variant(is_even)
    types = dtype.name if of_grad is dtype else f"{dtype.name}_{of_grad.name}"
    entry, t, g, c, wide = f"entropy_backward_{types}{end}", dtype.cuda, of_grad.cuda, dtype.wide.cuda, dtype.wide
    statement = (
        f"entropy_backward<{choice}, {c}>(out, grad, total, norms, picked, rows, tiles, (int)lanes, choice == 1);"
    )
    code = _entropy_source(entry, f"{t}* out, const {g}* grad, const {c}* total, const {c}* norms", dtype, statement)

    def reference(
        out: Any, grad: Any, total: Any, norms: Any, input: Any, weight: Any, target: Any,
        rows: int, size: int, tiles: int, lanes: int, ignored: int, grads: int,
    ) -> None:  # fmt: skip
        slopes = weights_of(target[:, None], weight, size, ignored, wide.numpy)
        slopes = slopes * grad.astype(wide.numpy)[:, None]
        slopes = slopes if total is None else slopes / total
        slope = np.exp(input.astype(wide.numpy) - norms[:, :1] - norms[:, 1:]) - (target[:, None] == np.arange(size))
        out[...] = np.where(target[:, None] == ignored, wide.numpy.type(0), slope * slopes)

    params = [
        Pointer("out", dtype, "w", ("rows", "size")),
        Pointer("grad", of_grad, "r", ("choice",)),
        Pointer("total", wide, "r", ()),
        Pointer("norms", wide, "r", ("rows", 2)),
    ]
    return Kernel(entry, code, [*params, *_entropy_parameters(dtype)], reference, 8.0)


# cross entropy of logits: operators


def _entropy_row_samples() -> Iterator[Sample]:
    for args, kwargs in class_samples():
        if len(args[0].shape) <= 2:
            yield Sample((*args, None)[:3], {"ignore_index": 1} if "reduction" in kwargs else {})
    yield Sample((Array((3, 1500)), Array((3,), low=0, high=1499, dtype="int64", seed=1), None))


class RowLosses(NamedTuple):
    """The operands and the plan of the losses of rows; there is at least one row."""

    operands: tuple[Any, Any, Any]
    is_even: bool
    rows: RowPlan

    def run(self, call: Any, norms: Any, results: Sequence[Any], ignored: int, is_mean: bool = False) -> None:
        """Launch the kernel.  results: those of `entropy_kernel`, three before the norms and three after them."""
        kernel = entropy_kernel(self.operands[0].dtype, self.is_even)
        written = *results[:3], norms, *results[3:]
        call.launch(kernel, self.rows.grid(), *written, *self.operands, *self.rows, ignored, int(is_mean))


def _plan_losses(call: Any, input: Any, target: Any, weight: Any) -> RowLosses | None:
    """Return the plan of the losses of rows; None if there are none."""
    count, size = target.numel(), input.shape[-1]
    if not count * size:
        return None
    operands = call.contiguous(input), None if weight is None else call.contiguous(weight), call.contiguous(target)
    return RowLosses(operands, *plan_rows(count, size, operands[:1], most_tiles=MOST_TILES))


@operator(samples=_entropy_row_samples, dtypes=FLOATING_TYPES, method=False, function=False)
def entropy_each(
    call: Any, input: Operand, target: Operand, weight: Operand | None = None, ignore_index: int = IGNORED,
    is_wide: bool = False,
) -> Any:  # fmt: skip
    """Compute `cross_entropy` with reduction "none": (loss of each target, norms of each row).

    is_wide: whether the losses are of the wide type, without rounding.
    Shapes: input [n, c] or [c], target [n] or (); the norms are [n, 2].
    Host:   returns at once.
    """
    check_classes(input, target, weight)
    wide = input.dtype.wide
    out = call.output(target.shape, wide if is_wide else input.dtype)
    weights = call.scratch(target.shape, wide) if is_wide else None
    norms, plan = call.output((target.numel(), 2), wide), _plan_losses(call, input, target, weight)
    if plan is not None:
        plan.run(call, norms, [*((None, out, weights) if is_wide else (out, None, None)), *NONE], ignore_index)
    return out, norms


@entropy_each.derivative
def _(grads: Any, out1: Any, input: Any, target: Any, weight: Any, ignore_index: int, needs: Any) -> Any:
    _refuse_weight("cross_entropy", needs)
    return _logits_gradient(grads, out1, input, target, weight, None, ignore_index, True), None, None


def _logits_gradient(
    grads: Any, norms: Any, input: Any, target: Any, weight: Any, total: Any, ignored: int, is_each: bool
) -> Any:
    """Return the gradient of the logits from that of the loss and, in a second derivative, that of the norms."""
    of_loss, of_norms = grads[0], grads[-1]
    gradient = None
    if of_loss is not None:
        gradient = entropy_backward(of_loss, input, norms, target, weight, total, ignored, is_each)
    if of_norms is None:
        return gradient
    rows, peak = _as_rows(input), norms.narrow(1, 0, 1)
    of_peak, of_shift = of_norms.narrow(1, 0, 1), of_norms.narrow(1, 1, 1)
    of_statistics = softmax(rows, 1) * of_shift + (rows == peak) * (of_peak - of_shift)
    of_statistics = of_statistics.reshape(input.shape).to(input.dtype)
    return of_statistics if gradient is None else gradient + of_statistics


def _as_rows(input: Any) -> Any:
    return input.reshape([-1, input.shape[-1]]) if len(input.shape) == 1 else input


def _entropy_total_samples() -> Iterator[Sample]:
    for args, kwargs in _entropy_row_samples():
        yield Sample((*args, kwargs.get("ignore_index", IGNORED), bool(args[1].shape) and args[0].shape[0] > 0))


@operator(samples=_entropy_total_samples, dtypes=FLOATING_TYPES, method=False, function=False)
def entropy_total(
    call: Any, input: Operand, target: Operand, weight: Operand | None = None, ignore_index: int = IGNORED,
    is_mean: bool = True, is_wide: bool = False,
) -> Any:  # fmt: skip
    """Compute `cross_entropy` with a reduction: (loss, total weight, norms of each row).

    is_wide: whether the loss is of the wide type, without rounding.
    Shapes: input [n, c] or [c], target [n] or (); the norms are [n, 2].
    Host:   returns at once.
    """
    check_classes(input, target, weight)
    wide, count = input.dtype.wide, target.numel()
    out, total = call.output((), wide if is_wide else input.dtype), call.output((), wide)
    norms, plan = call.output((count, 2), wide), _plan_losses(call, input, target, weight)
    if plan is not None and plan.rows.grid().blocks[0] == 1:
        whole = (None, out) if is_wide else (out, None)
        plan.run(call, norms, [*NONE, *whole, total], ignore_index, is_mean)
        return out, total, norms
    losses, weights = call.scratch((max(count, 1),), wide), call.scratch((max(count, 1),), wide)
    if plan is not None:
        plan.run(call, norms, [None, losses, weights, *NONE], ignore_index)
    if count > MOST_TERMS:
        losses, weights = _total(call, losses), _total(call, weights)
        count = 1
    run_finish(call, out, total, losses, weights, count, is_mean)
    return out, total, norms


def _total(call: Any, terms: Any) -> Any:
    """Return the sum of a vector, as a vector of one element."""
    out = call.scratch((1,), terms.dtype)
    run_fold(call, SUM, terms, (0,), out, terms.dtype)
    return out


@entropy_total.derivative
def _(
    grads: Any, out1: Any, out2: Any, input: Any, target: Any, weight: Any, ignore_index: int, is_mean: bool,
    needs: Any,
) -> Any:  # fmt: skip
    _refuse_weight("cross_entropy", needs)
    total = out1 if is_mean else None
    return _logits_gradient((grads[0], grads[2]), out2, input, target, weight, total, ignore_index, False), None, None


def _entropy_backward_samples() -> Iterator[Sample]:
    target = Array((4,), low=0, high=2, dtype="int64", seed=1)
    logits, norms = Array((4, 3)), Array((4, 2), low=2.0, high=3.0, seed=1)
    yield Sample((Array((4,)), logits, norms, target, Array((3,), low=0.5, high=2.0, grad=False), None, 1, True))
    yield Sample((Array(()), logits, norms, target, None, None, IGNORED, False))


@operator(samples=_entropy_backward_samples, dtypes=FLOATING_TYPES[2:], method=False, function=False)
def entropy_backward(
    call: Any, grad_output: Operand, input: Operand, norms: Operand, target: Operand, weight: Operand | None,
    total: Operand | None, ignore_index: int, is_each: bool,
) -> Any:  # fmt: skip
    """Return the gradient of the logits of `entropy_each` (is_each) or `entropy_total`.

    total: the total weight, for a mean.
    Shapes: the result has the input's shape.
    Host:   returns at once.
    """
    out = call.output(input.shape, input.dtype)
    size, count = input.shape[-1], target.numel()
    if count * size:
        weight = None if weight is None else call.contiguous(weight)
        operands = call.contiguous(input), weight, call.contiguous(target)
        is_even, rows = plan_rows(count, size, (out, operands[0]), most_tiles=MOST_TILES)
        of_grad = input.dtype.wide if grad_output.dtype is input.dtype.wide else input.dtype
        grads = call.contiguous(grad_output, of_grad), total, call.contiguous(norms)
        numbers = (*rows, ignore_index, count if is_each else 1)
        kernel = entropy_backward_kernel(input.dtype, of_grad, is_even)
        call.launch(kernel, rows.grid(), out, *grads, *operands, *numbers)
    return out


@entropy_backward.derivative
def _(
    grad: Any, grad_output: Any, input: Any, norms: Any, target: Any, weight: Any, total: Any,
    ignore_index: int, is_each: bool,
) -> Any:  # fmt: skip
    rows, flowed = _as_rows(input), _as_rows(grad)
    weighted = flowed * (rows - norms.narrow(1, 0, 1) - norms.narrow(1, 1, 1)).exp()
    inner = weighted.sum(1, True)
    apart = (flowed - inner).reshape(input.shape)
    of_grad = class_loss(apart, target, weight, ignore_index, "none" if is_each else "sum")[0]
    scale = -nll_backward(grad_output, target, weight, total, input.shape, ignore_index, is_each)
    scale = _as_rows(scale).sum(1, True)
    of_norms = (-(inner * scale)).expand(norms.shape)
    of_grad = of_grad if total is None else of_grad / total
    of_input = (weighted * scale).reshape(input.shape).to(input.dtype)
    return of_grad.to(grad_output.dtype), of_input, of_norms, None, None, None
