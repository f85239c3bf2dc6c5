"""Connectionist temporal classification: ctc_loss and its gradient (kernels/ctc.cu).

- Sums of paths are kept as logarithms in the wide type.  The order of all sums is fixed.
- The gradient is that of the log probabilities before a log_softmax, as in PyTorch: its sum over the classes is 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from ..dtypes import FLOATING_TYPES, dtype, int64
from ..host import np
from ..kernel import Grid, Kernel, Pointer, Scalar
from .embedding import check_range
from .operator import Array, Call, Operand, Sample, operator
from .pointwise import FULL_DEVICE_BLOCKS, PRELUDE, THREADS, grid_over, source_text

SIZES = ("times", "batch", "classes", "width", "held", "blank")  # held: the number of elements of the targets
LENGTHS = ("starts", "lengths", "target_lengths")


def _states(targets: Any, starts: Any, target_lengths: Any, classes: int, width: int, blank: int) -> tuple[Any, Any]:
    """Return (label of each state, whether it may be reached from two states before), both [batch, width]."""
    number = np.arange(width)
    index = np.minimum(number // 2, np.maximum(target_lengths - 1, 0)[:, None]) + starts[:, None]
    held = targets[np.minimum(index, max(len(targets) - 1, 0))] if len(targets) else np.zeros(index.shape, np.int64)
    is_label = (number % 2 == 1) & (number < 2 * target_lengths[:, None] + 1)
    labels = np.where(is_label, held, blank)
    check_range("ctc_loss", labels, classes, "classes", "target")
    skips = np.zeros(labels.shape, bool)
    skips[:, 2:] = is_label[:, 2:] & (labels[:, 2:] != labels[:, :-2])
    return labels, skips


def _log_sum(*values: Any) -> Any:
    stacked = np.stack(values)
    most = stacked.max(axis=0)
    most = np.where(np.isneginf(most), 0, most)
    return np.log(np.exp(stacked - most).sum(axis=0)) + most


def _pushed(row: Any, count: int) -> Any:
    """Return a row of states moved by `count`, towards the end if it is above 0."""
    out = np.full_like(row, -np.inf)
    if count > 0:
        out[:, count:] = row[:, :-count]
    else:
        out[:, :count] = row[:, -count:]
    return out


def _parameters(own: dtype, first: list[Any]) -> list[Any]:
    return [
        *first,
        Pointer("logs", own, "r", ("times", "batch", "classes")),
        Pointer("targets", int64, "r", ("held",)),
        *[Pointer(name, int64, "r", ("batch",)) for name in LENGTHS],
        *[Scalar(name, "int64") for name in SIZES],
    ]


def _source(name: str, own: dtype, arguments: str, values: str, more: str = "") -> tuple[str, str]:
    entry, t = f"{name}_{own.name}", own.cuda
    pointers = ", ".join(f"const long long* {pointer}" for pointer in ("targets", *LENGTHS))
    numbers = ", ".join(f"long long {size}" for size in SIZES)
    return (
        entry,
        f"""{PRELUDE}{source_text("ctc.cu")}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({arguments}, const {t}* logs, {pointers},
    {numbers}{more}) {{
  {name}({values});
}}
""",
    )


@cache
def _forward_kernel(own: dtype) -> Kernel:
    c = own.wide.cuda
    values = "losses, alpha, logs, targets, starts, lengths, target_lengths, batch, classes, width, blank"
    entry, source = _source("ctc_forward", own, f"{c}* losses, {c}* alpha", values)

    def reference(
        losses: Any, alpha: Any, logs: Any, targets: Any, starts: Any, lengths: Any, target_lengths: Any, times: int,
        batch: int, classes: int, width: int, held: int, blank: int,
    ) -> None:  # fmt: skip
        none = np.zeros(0, np.int64)
        labels, skips = _states(none if targets is None else targets, starts, target_lengths, classes, width, blank)
        losses[...] = np.where(target_lengths == 0, 0, np.inf)
        every, ends = np.arange(batch), 2 * target_lengths
        row = np.zeros((batch, width), losses.dtype)
        with np.errstate(divide="ignore", invalid="ignore"):
            for time in range(times):
                scores = logs[time].astype(losses.dtype)[every[:, None], labels]
                if time == 0:
                    row = np.where(np.arange(width) < 2, 0, -np.inf).astype(losses.dtype) + scores
                else:
                    skipped = np.where(skips, _pushed(row, 2), -np.inf)
                    row = _log_sum(row, _pushed(row, 1), skipped).astype(losses.dtype) + scores
                alpha[time] = row
                last = np.where(ends > 0, row[every, np.maximum(ends - 1, 0)], -np.inf)
                loss = -_log_sum(row[every, ends], last)
                losses[...] = np.where(lengths == time + 1, loss, losses)

    states = ("times", "batch", "width")
    first = [Pointer("losses", own.wide, "w", ("batch",)), Pointer("alpha", own.wide, "w", states)]
    return Kernel(entry, source, _parameters(own, first), reference, 16.0)


@cache
def _backward_kernel(own: dtype) -> Kernel:
    c = own.wide.cuda
    values = "both, beta, alpha, logs, targets, starts, lengths, target_lengths, batch, classes, width, blank"
    entry, source = _source("ctc_backward", own, f"{c}* both, {c}* beta, const {c}* alpha", values)

    def reference(
        both: Any, beta: Any, alpha: Any, logs: Any, targets: Any, starts: Any, lengths: Any, target_lengths: Any,
        times: int, batch: int, classes: int, width: int, held: int, blank: int,
    ) -> None:  # fmt: skip
        none = np.zeros(0, np.int64)
        labels, skips = _states(none if targets is None else targets, starts, target_lengths, classes, width, blank)
        every, number, ends = np.arange(batch)[:, None], np.arange(width), 2 * target_lengths[:, None]
        outside = number > ends
        begin = np.where((number >= ends - 1) & ~outside, 0, -np.inf).astype(both.dtype)
        row = begin
        with np.errstate(divide="ignore", invalid="ignore"):
            for time in range(times - 1, -1, -1):
                next_row = _log_sum(row, _pushed(row, -1), _pushed(np.where(skips, row, -np.inf), -2))
                next_row = np.where(lengths[:, None] == time + 1, begin, next_row)
                scores = logs[time].astype(both.dtype)[every, labels]
                row = np.where(outside, -np.inf, next_row.astype(both.dtype) + scores).astype(both.dtype)
                both[time] = alpha[time] + row
        beta[...] = 0

    states = ("times", "batch", "width")
    first = [
        Pointer("both", own.wide, "w", states),
        Pointer("beta", own.wide, "w", ("batch", 2, "width")),
        Pointer("alpha", own.wide, "r", states),
    ]
    return Kernel(entry, source, _parameters(own, first), reference, 16.0)


@cache
def _gradient_kernel(own: dtype) -> Kernel:
    c, t = own.wide.cuda, own.cuda
    values = "out, grad, losses, both, logs, targets, starts, lengths, target_lengths, times, batch, classes, width, "
    values += "blank"
    arguments = f"{t}* out, const {c}* grad, const {c}* losses, const {c}* both"
    entry, source = _source("ctc_gradient", own, arguments, f"{values}, zero != 0", ", long long zero")

    def reference(
        out: Any, grad: Any, losses: Any, both: Any, logs: Any, targets: Any, starts: Any, lengths: Any,
        target_lengths: Any, times: int, batch: int, classes: int, width: int, held: int, blank: int, zero: int,
    ) -> None:  # fmt: skip
        none = np.zeros(0, np.int64)
        labels, _ = _states(none if targets is None else targets, starts, target_lengths, classes, width, blank)
        wide = grad.dtype
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for n in range(batch):
                stop, states = int(lengths[n]), int(2 * target_lengths[n] + 1)
                out[:, n] = 0
                if zero and np.isinf(losses[n]) or not stop:
                    continue
                rows, own_labels = both[:stop, n, :states], labels[n, :states]
                most = rows.max(axis=1, keepdims=True)
                most = np.where(np.isneginf(most), 0, most)
                hits = (own_labels[:, None] == np.arange(classes)).astype(wide)
                sums = np.log(np.exp(rows - most) @ hits) + most
                scores = logs[:stop, n].astype(wide)
                out[:stop, n] = (np.exp(scores) - np.exp(sums + losses[n] - scores)) * grad[n]

    first = [
        Pointer("out", own, "w", ("times", "batch", "classes")),
        *[Pointer(name, own.wide, "r", ("batch",)) for name in ("grad", "losses")],
        Pointer("both", own.wide, "r", ("times", "batch", "width")),
    ]
    return Kernel(entry, source, [*_parameters(own, first), Scalar("zero", "int64")], reference, 16.0)


def _paths() -> Iterator[Sample]:
    logs = Array((5, 2, 4), low=-3.0, high=-0.5)
    labels = Array((4,), low=1, high=3.9, dtype="int64")
    lengths = Array((2,), low=5, high=5, dtype="int64"), Array((2,), low=2, high=2, dtype="int64")
    starts = Array((2,), low=0, high=0, dtype="int64")
    yield Sample((logs, labels, starts, *lengths, 2, 0))


@operator(samples=_paths, dtypes=FLOATING_TYPES[2:], method=False, function=False)
def ctc_paths(
    call: Call, log_probs: Operand, targets: Operand, starts: Operand, input_lengths: Operand,
    target_lengths: Operand, longest: int, blank: int, zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """Compute `ctc_loss`: (losses, forward variables).

    targets: all labels, of which sequence n has target_lengths[n] from starts[n] on.  longest: the most of them.
    Shapes: log_probs [t, n, c], targets [*], lengths and starts [n]; the results [n] and [t, n, 2 * longest + 1].
    """
    times, batch, classes = log_probs.shape
    own, width = log_probs.dtype, 2 * longest + 1
    losses, alpha = call.output((batch,), own.wide), call.output((times, batch, width), own.wide)
    if batch:
        grid = Grid((min(batch, FULL_DEVICE_BLOCKS), 1, 1), THREADS)
        operands = [call.contiguous(operand) for operand in (log_probs, targets, starts, input_lengths, target_lengths)]
        numbers = times, batch, classes, width, targets.numel(), blank
        call.launch(_forward_kernel(own), grid, losses, alpha, *operands, *numbers)
    return losses, alpha


@ctc_paths.derivative
def _(
    grads: Any, out: Any, out1: Any, log_probs: Any, targets: Any, starts: Any, input_lengths: Any,
    target_lengths: Any, blank: int, zero_infinity: bool,
) -> Any:  # fmt: skip
    if grads[0] is None:
        return None, None, None, None, None
    operands = log_probs, targets, starts, input_lengths, target_lengths
    return ctc_slope(grads[0], out, out1, *operands, blank, zero_infinity), None, None, None, None


def _slopes() -> Iterator[Sample]:
    flow = Array((2,), low=0.5, high=1.5), Array((2,), low=2.0, high=4.0)
    for sample in _paths():
        yield Sample((*flow, Array((5, 2, 5), low=-3.0, high=-0.5), *sample.args[:5], 0, False))


@operator(samples=_slopes, dtypes=FLOATING_TYPES[2:], method=False, function=False, differentiable=False)
def ctc_slope(
    call: Call, grad_output: Operand, losses: Operand, alpha: Operand, log_probs: Operand, targets: Operand,
    starts: Operand, input_lengths: Operand, target_lengths: Operand, blank: int, zero_infinity: bool,
) -> Any:  # fmt: skip
    """Return the gradient of the log probabilities of `ctc_paths`."""
    times, batch, classes = log_probs.shape
    own, width = log_probs.dtype, alpha.shape[2]
    out = call.output(log_probs.shape, own)
    if not out.numel():
        return out
    both, beta = call.scratch(alpha.shape, own.wide), call.scratch((batch, 2, width), own.wide)
    operands = [call.contiguous(operand) for operand in (log_probs, targets, starts, input_lengths, target_lengths)]
    numbers = times, batch, classes, width, targets.numel(), blank
    grid = Grid((min(batch, FULL_DEVICE_BLOCKS), 1, 1), THREADS)
    call.launch(_backward_kernel(own), grid, both, beta, call.contiguous(alpha), *operands, *numbers)
    flow = call.contiguous(grad_output, own.wide), call.contiguous(losses)
    kernel = _gradient_kernel(own)
    call.launch(kernel, grid_over(out.numel(), 1), out, *flow, both, *operands, *numbers, int(zero_infinity))
    return out
