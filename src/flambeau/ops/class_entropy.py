"""Cross entropy of logits and class indices.  kernels/classes.cu has its device code.

- The logits are read once for the loss, and once for their gradient; their probabilities are never kept.
- A class index outside the classes is met as `nll_loss` says.
- Half types are computed in float32, sums in fixed order, and each result is rounded once.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from ..dtypes import FLOATING_TYPES, dtype, int64
from ..host import np
from ..kernel import Kernel, Pointer, Scalar
from .nll_loss import (
    IGNORED,
    SOURCE,
    TERMS_PER_PIECE,
    check_classes,
    class_loss,
    class_samples,
    losses_of,
    nll_backward,
    refuse_weight,
    run_finish,
    weights_of,
)
from .operator import Array, Operand, Sample, operator
from .reduction import SUM, run_fold
from .rows import ROW_BOUNDS, even, rows_of
from .softmax import softmax

MOST_TILES = 2**31  # of a row
MOST_TERMS = 16 * TERMS_PER_PIECE  # that one block sums


def _source(entry: str, arguments: str, kind: dtype, statement: str) -> str:
    t = kind.cuda
    return f"""{SOURCE}
extern "C" __global__ void {ROW_BOUNDS} {entry}({arguments}, const {t}* input, const {t}* weight,
    const long long* target, long long rows, long long size, long long tiles, long long lanes, long long ignored,
    long long grads) {{
  const Picked<{kind.wide.cuda}, {t}> picked{{input, target, weight, size, 1, ignored}};
  {statement}
}}
"""


def _operands(kind: dtype) -> list[Any]:
    numbers = [Scalar(name, "int64") for name in ("rows", "size", "tiles", "lanes", "ignored", "grads")]
    logits, weight = Pointer("input", kind, "r", ("rows", "size")), Pointer("weight", kind, "r", ("size",))
    return [logits, weight, Pointer("target", int64, "r", ("rows",)), *numbers]


@cache
def entropy_kernel(kind: dtype, is_even: bool) -> Kernel:
    """Each row's loss in its type or (with its target's weight) in the wide one, and its norms; `grads` is unused."""
    end, choice = even(is_even)
    entry, t, c, wide = f"entropy_{kind.name}{end}", kind.cuda, kind.wide.cuda, kind.wide
    statement = f"entropy<{choice}, {c}>(each, losses, weights, norms, picked, rows, tiles, (int)lanes);"
    code = _source(entry, f"{t}* each, {c}* losses, {c}* weights, {c}* norms", kind, statement)

    def reference(
        each: Any, losses: Any, weights: Any, norms: Any, input: Any, weight: Any, target: Any,
        rows: int, size: int, tiles: int, lanes: int, ignored: int, grads: int,
    ) -> None:  # fmt: skip
        x = input.astype(wide.numpy, copy=False)
        norms[:, 0] = x.max(axis=1)
        norms[:, 1] = np.log(np.exp(x - norms[:, :1]).sum(axis=1))
        logs = (x - norms[:, :1] - norms[:, 1:])[:, :, None]
        found, scale = losses_of(logs, target[:, None], weight, size, ignored, wide.numpy)
        if each is not None:
            each[...] = found[:, 0]
        if losses is not None:
            losses[...], weights[...] = found[:, 0], scale[:, 0]

    results = [
        Pointer("each", kind, "w", ("rows",)),
        *(Pointer(n, wide, "w", ("rows",)) for n in ("losses", "weights")),
    ]
    return Kernel(entry, code, [*results, Pointer("norms", wide, "w", ("rows", 2)), *_operands(kind)], reference, 8.0)


@cache
def entropy_backward_kernel(kind: dtype, is_even: bool) -> Kernel:
    """The gradient of the logits.  grads: how many there are, 1 or one per row."""
    end, choice = even(is_even)
    entry, t, c, wide = f"entropy_backward_{kind.name}{end}", kind.cuda, kind.wide.cuda, kind.wide
    statement = (
        f"entropy_backward<{choice}, {c}>(out, grad, total, norms, picked, rows, tiles, (int)lanes, grads == 1);"
    )
    code = _source(entry, f"{t}* out, const {t}* grad, const {c}* total, const {c}* norms", kind, statement)

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
        Pointer("out", kind, "w", ("rows", "size")),
        Pointer("grad", kind, "r", ("grads",)),
        Pointer("total", wide, "r", ()),
        Pointer("norms", wide, "r", ("rows", 2)),
    ]
    return Kernel(entry, code, [*params, *_operands(kind)], reference, 8.0)


# operators


def _row_samples() -> Iterator[Sample]:
    for args, kwargs in class_samples():
        if len(args[0].shape) <= 2:
            yield Sample((*args, None)[:3], {"ignore_index": 1} if "reduction" in kwargs else {})
    yield Sample((Array((3, 1500)), Array((3,), low=0, high=1499, dtype="int64", seed=1), None))


def _run_rows(
    call: Any, each: Any, losses: Any, weights: Any, input: Any, target: Any, weight: Any, ignored: int
) -> Any:
    """Launch the loss of each row; its norms."""
    size = input.shape[-1]
    count = target.numel()
    norms = call.output((count, 2), input.dtype.wide)
    if count * size:
        operands = call.contiguous(input), None if weight is None else call.contiguous(weight), call.contiguous(target)
        is_even, rows = rows_of(count, size, operands[:1], most_tiles=MOST_TILES)
        results = each, losses, weights, norms
        kernel = entropy_kernel(input.dtype, is_even)
        call.launch(kernel, rows.grid(), *results, *operands, *rows, ignored, 0)
    return norms


@operator(samples=_row_samples, dtypes=FLOATING_TYPES, method=False, function=False)
def entropy_each(
    call: Any, input: Operand, target: Operand, weight: Operand | None = None, ignore_index: int = IGNORED
) -> Any:
    """(loss of each target, norms of each row): what `cross_entropy` calls for reduction "none".

    Shapes: input [n, c] or [c], target [n] or (); the norms are [n, 2].
    Host:   returns at once.
    """
    check_classes(input, target, weight)
    out = call.output(target.shape, input.dtype)
    return out, _run_rows(call, out, None, None, input, target, weight, ignore_index)


@entropy_each.derivative
def _(grads: Any, out1: Any, input: Any, target: Any, weight: Any, ignore_index: int, needs: Any) -> Any:
    refuse_weight("cross_entropy", needs)
    return _of_logits(grads, out1, input, target, weight, None, ignore_index, True), None, None


def _of_logits(
    grads: Any, norms: Any, input: Any, target: Any, weight: Any, total: Any, ignored: int, is_each: bool
) -> Any:
    """What flows back from the loss, and in a second derivative from the norms."""
    of_loss, of_norms = grads[0], grads[-1]
    found = None
    if of_loss is not None:
        found = entropy_backward(of_loss, input, norms, target, weight, total, ignored, is_each)
    if of_norms is None:
        return found
    rows, peak = _rows_of(input), norms.narrow(1, 0, 1)
    of_peak, of_shift = of_norms.narrow(1, 0, 1), of_norms.narrow(1, 1, 1)
    more = softmax(rows, 1) * of_shift + (rows == peak) * (of_peak - of_shift)
    more = more.reshape(input.shape).to(input.dtype)
    return more if found is None else found + more


def _rows_of(input: Any) -> Any:
    return input.reshape([-1, input.shape[-1]]) if len(input.shape) == 1 else input


def _total_samples() -> Iterator[Sample]:
    for args, kwargs in _row_samples():
        yield Sample((*args, kwargs.get("ignore_index", IGNORED), bool(args[1].shape) and args[0].shape[0] > 0))


@operator(samples=_total_samples, dtypes=FLOATING_TYPES, method=False, function=False)
def entropy_total(
    call: Any, input: Operand, target: Operand, weight: Operand | None = None, ignore_index: int = IGNORED,
    is_mean: bool = True,
) -> Any:  # fmt: skip
    """(sum or weighted mean of the losses, total weight, norms of each row): what `cross_entropy` calls.

    Shapes: input [n, c] or [c], target [n] or (); the norms are [n, 2].
    Host:   returns at once.
    """
    check_classes(input, target, weight)
    wide, count = input.dtype.wide, target.numel()
    out, total = call.output((), input.dtype), call.output((), wide)
    terms = [call.scratch((max(count, 1),), wide) for _ in range(2)]
    norms = _run_rows(call, None, *terms, input, target, weight, ignore_index)
    if count > MOST_TERMS:
        sums = [call.scratch((1,), wide) for _ in range(2)]
        for each, joined in zip(terms, sums):
            run_fold(call, SUM, each, (0,), joined, wide)
        terms, count = sums, 1
    run_finish(call, out, total, *terms, count, is_mean)
    return out, total, norms


@entropy_total.derivative
def _(
    grads: Any, out1: Any, out2: Any, input: Any, target: Any, weight: Any, ignore_index: int, is_mean: bool,
    needs: Any,
) -> Any:  # fmt: skip
    refuse_weight("cross_entropy", needs)
    total = out1 if is_mean else None
    return _of_logits((grads[0], grads[2]), out2, input, target, weight, total, ignore_index, False), None, None


def _backward_samples() -> Iterator[Sample]:
    target = Array((4,), low=0, high=2, dtype="int64", seed=1)
    logits, norms = Array((4, 3)), Array((4, 2), low=2.0, high=3.0, seed=1)
    yield Sample((Array((4,)), logits, norms, target, Array((3,), low=0.5, high=2.0, grad=False), None, 1, True))
    yield Sample((Array(()), logits, norms, target, None, None, IGNORED, False))


@operator(samples=_backward_samples, dtypes=FLOATING_TYPES[2:], method=False, function=False)
def entropy_backward(
    call: Any, grad_output: Operand, input: Operand, norms: Operand, target: Operand, weight: Operand | None,
    total: Operand | None, ignore_index: int, is_each: bool,
) -> Any:  # fmt: skip
    """The gradient of the logits of `entropy_each` (is_each) or `entropy_total` (with its total for a mean).

    Shapes: the result has the input's shape.
    Host:   returns at once.
    """
    out = call.output(input.shape, input.dtype)
    size, count = input.shape[-1], target.numel()
    if count * size:
        weight = None if weight is None else call.contiguous(weight)
        operands = call.contiguous(input), weight, call.contiguous(target)
        is_even, rows = rows_of(count, size, (out, operands[0]), most_tiles=MOST_TILES)
        grads = call.contiguous(grad_output, input.dtype), total, call.contiguous(norms)
        numbers = (*rows, ignore_index, count if is_each else 1)
        call.launch(entropy_backward_kernel(input.dtype, is_even), rows.grid(), out, *grads, *operands, *numbers)
    return out


@entropy_backward.derivative
def _(
    grad: Any, grad_output: Any, input: Any, norms: Any, target: Any, weight: Any, total: Any,
    ignore_index: int, is_each: bool,
) -> Any:  # fmt: skip
    rows, flowed = _rows_of(input), _rows_of(grad)
    weighted = flowed * (rows - norms.narrow(1, 0, 1) - norms.narrow(1, 1, 1)).exp()
    inner = weighted.sum(1, True)
    apart = (flowed - inner).reshape(input.shape)
    of_grad = class_loss(apart, target, weight, ignore_index, "none" if is_each else "sum")[0]
    scale = -nll_backward(grad_output, target, weight, total, input.shape, ignore_index, is_each)
    scale = _rows_of(scale).sum(1, True)
    of_norms = (-(inner * scale)).expand(norms.shape)
    of_grad = of_grad if total is None else of_grad / total
    of_input = (weighted * scale).reshape(input.shape).to(input.dtype)
    return of_grad.to(grad_output.dtype), of_input, of_norms, None, None, None
