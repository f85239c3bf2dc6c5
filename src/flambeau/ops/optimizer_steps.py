"""Steps of optimizers, for many parameters in a few launches (ops/multi_tensor.py says how)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

from ..dtypes import dtype, float32
from ..errors import ArgumentError, DtypeError, ShapeError
from ..host import np
from ..kernel import Grid, Kernel, Pointers
from .multi_tensor import HIDDEN, LISTS_HINT, MANY, SHIFT, check_lists, lists_kernel, many, numbers, update
from .operator import Array, Call, ErrorSample, Number, Operands, Sample, operator

# Adam

ADAM_LISTS = {"grads": "r", "params": "rw", "means": "rw", "squares": "rw", "largest": "rw"}


def _adam_samples() -> Iterator[Sample]:
    params, grads, means, squares, largest = many(-1, -2, -1, 0.1, 0.5)
    values = (0.01, 0.9, 0.99, 1e-8, 0.99, 0.0, 0.5)
    yield Sample((params, grads, means, squares, [], *values))
    yield Sample((params, grads, means, squares, largest, 0.01, 0.9, 0.99, 1e-8, 1.0, 0.1, 0.5, True))


def _adam_errors() -> Iterator[ErrorSample]:
    one, other, values = [Array((2,))], [Array((3,))], (0.01, 0.9, 0.99, 1e-8, 1.0, 0.0, 0.5)
    yield ErrorSample((one, other, one, one, [], *values), ShapeError, r"grads\[0\] has shape \[3\], params\[0\] has")
    yield ErrorSample((one, one, [], one, [], *values), ArgumentError, r"params has 1 tensors, exp_avgs has 0")
    half = [Array((2,), dtype="float16")]
    yield ErrorSample((one, one, one, half, [], *values), DtypeError, r"exp_avg_sqs\[0\] is float16, expected float32")


@operator(
    samples=_adam_samples,
    errors=_adam_errors,
    mutates=("params", "exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs"),
    **HIDDEN,
)
def adam_step(
    call: Call, params: Operands, grads: Operands, exp_avgs: Operands, exp_avg_sqs: Operands,
    max_exp_avg_sqs: Operands, step_size: Number, beta1: Number, beta2: Number, eps: Number, shrink: Number,
    decay: Number, root: Number, maximize: bool = False,
) -> Any:  # fmt: skip
    """A step of Adam or AdamW for parameters of one device; the parameters.

    max_exp_avg_sqs: empty, or with amsgrad the largest squares so far.
    step_size: the learning rate over 1 - beta1**step;  root: the square root of 1 - beta2**step.
    shrink: a factor of the parameter, before the step;  decay: how much of it is added to the gradient.
    Host:   returns at once.
    Raises: ArgumentError, ShapeError or DtypeError if lists do not match.
    """
    _check_adam("adam_step", params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs)
    every = (grads, params, exp_avgs, exp_avg_sqs, max_exp_avg_sqs)
    values = (step_size, beta1, beta2, eps, shrink, decay, root, -1 if maximize else 1)
    update(call, _adam_kernel, every, 1, *values)
    return tuple(params)


def _check_adam(name: str, params: Any, grads: Any, means: Any, squares: Any, largest: Any) -> None:
    lists = {"params": params, "grads": grads, "exp_avgs": means, "exp_avg_sqs": squares}
    if largest:
        lists["max_exp_avg_sqs"] = largest
    check_lists(name, lists, adam_step.mutates)


@cache
def _adam_kernel(kind: dtype) -> Kernel:
    def reference(
        grads: Any, params: Any, means: Any, squares: Any, largest: Any, shift: int, size: float, beta1: float,
        beta2: float, eps: float, shrink: float, decay: float, root: float, sign: float,
    ) -> None:  # fmt: skip
        for each in _per_tensor(grads, params, means, squares, largest):
            _take_adam(each, kind, size, beta1, beta2, eps, shrink, decay, root, sign)

    names = ("size", "beta1", "beta2", "eps", "shrink", "decay", "root", "sign")
    body = f"adam<{kind.wide.cuda}>(lists, (int)shift, {', '.join(names)})"
    return lists_kernel("adam_step", kind, ADAM_LISTS, body, [SHIFT, *numbers(*names)], reference, 20.0)


def _per_tensor(*lists: Any) -> Iterator[tuple[Any, ...]]:
    """The entries of the lists that are not absent, one tensor after another."""
    return zip(*[each for each in lists if each])


def _take_adam(
    entries: tuple[Any, ...], kind: dtype, size: float, beta1: float, beta2: float, eps: float, shrink: float,
    decay: float, root: float, sign: float,
) -> None:  # fmt: skip
    """One tensor's step.  entries: of ADAM_LISTS, in their order."""
    wide = kind.wide.numpy
    grad, param, mean, square, *largest = entries
    slope = _slope(grad, param, wide, decay, sign)
    new_mean = mean.astype(wide)
    new_mean += (slope - new_mean) * (1 - beta1)
    new_square = square.astype(wide) * beta2 + slope * slope * (1 - beta2)
    mean[...], square[...] = new_mean, new_square
    for most in largest:
        new_square = np.maximum(most.astype(wide), new_square)
        most[...] = new_square
    param[...] = param.astype(wide) * shrink - new_mean / (np.sqrt(new_square) / root + eps) * size


# Adam whose steps are counted in the device's memory


def _counted_samples() -> Iterator[Sample]:
    params, grads, means, squares, largest = many(-1, -2, -1, 0.1, 0.5)
    steps = [Array((), count, count, dtype="float32") for count in range(len(params))]
    yield Sample((params, grads, means, squares, [], steps, 0.01, 0.9, 0.99, 1e-8, 0.99, 0.0))
    yield Sample((params, grads, means, squares, largest, steps, 0.01, 0.0, 0.99, 1e-8, 1.0, 0.1, True))


def _counted_errors() -> Iterator[ErrorSample]:
    one, other, values = [Array((2,))], [Array((3,))], (0.01, 0.9, 0.99, 1e-8, 1.0, 0.0)
    count, whole = Array((), dtype="float32"), Array((), dtype="int64")
    yield ErrorSample((one, other, one, one, [], [count], *values), ShapeError, r"grads\[0\] has shape \[3\], params")
    yield ErrorSample((one, one, one, one, [], [], *values), ArgumentError, r"params has 1 tensors, steps has 0")
    message = r"steps\[0\] must be one float32 number, got "
    yield ErrorSample((one, one, one, one, [], [whole], *values), DtypeError, message + r"int64 of shape \[\]")
    wide = [Array((1,), dtype="float32")]
    yield ErrorSample((one, one, one, one, [], wide, *values), ShapeError, message + r"float32 of shape \[1\]")


@operator(
    samples=_counted_samples,
    errors=_counted_errors,
    mutates=("params", "exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs", "steps"),
    **HIDDEN,
)
def counted_adam_step(
    call: Call, params: Operands, grads: Operands, exp_avgs: Operands, exp_avg_sqs: Operands,
    max_exp_avg_sqs: Operands, steps: Operands, lr: Number, beta1: Number, beta2: Number, eps: Number, shrink: Number,
    decay: Number, maximize: bool = False,
) -> Any:  # fmt: skip
    """A step of Adam or AdamW that counts itself, so that each replay of a graph takes the next one; the parameters.

    steps: how many steps each parameter has taken; 1 is added before the corrections of its means are made of it.
    The others are adam_step's.
    Host:   returns at once.
    Raises: ArgumentError, ShapeError or DtypeError if lists do not match.
    """
    _check_adam(call.name, params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs)
    _check_counters(call.name, params, steps)
    for start in range(0, len(steps), MANY):
        call.launch(_count_kernel(), Grid((1, 1, 1), MANY), steps[start : start + MANY])
    every = (grads, params, exp_avgs, exp_avg_sqs, max_exp_avg_sqs)
    values = (lr, beta1, beta2, eps, shrink, decay, -1 if maximize else 1)
    update(call, _counted_adam_kernel, every, 1, *values, beside=[steps])
    return tuple(params)


def _check_counters(name: str, params: Any, steps: Any) -> None:
    if len(steps) != len(params):
        raise ArgumentError(f"params has {len(params)} tensors, steps has {len(steps)}", hint=LISTS_HINT, operator=name)
    for index, each in enumerate(steps):
        if each.shape or each.dtype is not float32:
            error = ShapeError if each.shape else DtypeError
            got = f"{each.dtype.name} of shape {list(each.shape)}"
            raise error(
                f"{name}: steps[{index}] must be one float32 number, got {got}", hint="make it torch.tensor(0.0)"
            )


@cache
def _count_kernel() -> Kernel:
    def reference(steps: Any) -> None:
        for each in steps:
            each += 1

    return lists_kernel("count_steps", float32, {"steps": "rw"}, "add_one(lists)", [], reference, 1.0)


@cache
def _counted_adam_kernel(kind: dtype) -> Kernel:
    def reference(
        grads: Any, params: Any, means: Any, squares: Any, largest: Any, steps: Any, shift: int, lr: float,
        beta1: float, beta2: float, eps: float, shrink: float, decay: float, sign: float,
    ) -> None:  # fmt: skip
        for each, count in zip(_per_tensor(grads, params, means, squares, largest), steps):
            size, root = corrected(lr, beta1, beta2, count.item())
            _take_adam(each, kind, size, beta1, beta2, eps, shrink, decay, root, sign)

    names = ("lr", "beta1", "beta2", "eps", "shrink", "decay", "sign")
    body = f"adam_counted<{kind.wide.cuda}>(lists, steps, (int)shift, {', '.join(names)})"
    params = [Pointers("steps", MANY, float32, "r"), SHIFT, *numbers(*names)]
    return lists_kernel("counted_adam_step", kind, ADAM_LISTS, body, params, reference, 20.0)


def corrected(lr: float, beta1: float, beta2: float, step: float) -> tuple[float, float]:
    """(step_size, root) of adam_step for the step of this number, from 1."""
    return lr / (1 - beta1**step), math.sqrt(1 - beta2**step)


def _slope(grad: Any, param: Any, wide: Any, decay: float, sign: float) -> Any:
    """A gradient as arithmetic takes it: turned round to maximize, with weight decay added."""
    slope = grad.astype(wide) * sign
    return slope + param.astype(wide) * decay if decay else slope


# SGD


def _sgd_samples() -> Iterator[Sample]:
    params, grads, buffers = many(-1, -2, -1)
    yield Sample((params, grads, [], 0.1, 0.0, 1.0, 0.05))
    yield Sample((params, grads, buffers, 0.1, 0.9, 0.7, 0.0))
    yield Sample((params, grads, buffers, 0.1, 0.9, 1.0, 0.05, True, True))


def _sgd_errors() -> Iterator[ErrorSample]:
    one, two = [Array((2,))], [Array((2,)), Array((2,))]
    yield ErrorSample((one, two, [], 0.1, 0.0, 1.0, 0.0), ArgumentError, r"params has 1 tensors, grads has 2")
    whole = [Array((2,), dtype="int64")]
    yield ErrorSample((whole, one, [], 0.1, 0.0, 1.0, 0.0), DtypeError, r"params\[0\] is int64, expected a floating")


@operator(samples=_sgd_samples, errors=_sgd_errors, mutates=("params", "buffers"), **HIDDEN)
def sgd_step(
    call: Call, params: Operands, grads: Operands, buffers: Operands, lr: Number, momentum: Number, taken: Number,
    decay: Number, nesterov: bool = False, maximize: bool = False,
) -> Any:  # fmt: skip
    """A step of gradient descent for parameters of one device; the parameters.

    buffers: empty, or with momentum the decaying sums of gradients;  taken: how much of the gradient joins its sum.
    decay: how much of the parameter is added to the gradient.
    Host:   returns at once.
    Raises: ArgumentError, ShapeError or DtypeError if lists do not match.
    """
    lists = {"params": params, "grads": grads}
    if buffers:
        lists["buffers"] = buffers
    check_lists("sgd_step", lists, sgd_step.mutates)
    values = (lr, momentum, taken, decay, nesterov, -1 if maximize else 1)
    update(call, _sgd_kernel, (grads, params, buffers), 1, *values)
    return tuple(params)


@cache
def _sgd_kernel(kind: dtype) -> Kernel:
    wide = kind.wide.numpy

    def reference(
        grads: Any, params: Any, buffers: Any, shift: int, lr: float, momentum: float, taken: float, decay: float,
        nesterov: float, sign: float,
    ) -> None:  # fmt: skip
        for index, (grad, param) in enumerate(zip(grads, params)):
            slope = _slope(grad, param, wide, decay, sign)
            if buffers:
                total = buffers[index].astype(wide) * momentum + slope * taken
                buffers[index][...] = total
                slope = slope + total * momentum if nesterov else total
            param[...] = param.astype(wide) - slope * lr

    names = ("lr", "momentum", "taken", "decay", "nesterov", "sign")
    body = f"sgd<{kind.wide.cuda}>(lists, (int)shift, {', '.join(names)})"
    lists = {"grads": "r", "params": "rw", "buffers": "rw"}
    return lists_kernel("sgd_step", kind, lists, body, [SHIFT, *numbers(*names)], reference, 8.0)
