"""Steps of optimizers, for many parameters in a few launches (ops/multi_tensor.py says how)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from ..dtypes import dtype
from ..errors import ArgumentError, DtypeError, ShapeError
from ..host import np
from ..kernel import Kernel
from .multi_tensor import HIDDEN, SHIFT, check_lists, lists_kernel, many, numbers, update
from .operator import Array, Call, ErrorSample, Number, Operands, Sample, operator

# Adam


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
    lists = {"params": params, "grads": grads, "exp_avgs": exp_avgs, "exp_avg_sqs": exp_avg_sqs}
    if max_exp_avg_sqs:
        lists["max_exp_avg_sqs"] = max_exp_avg_sqs
    check_lists("adam_step", lists, adam_step.mutates)
    every = (grads, params, exp_avgs, exp_avg_sqs, max_exp_avg_sqs)
    values = (step_size, beta1, beta2, eps, shrink, decay, root, -1 if maximize else 1)
    update(call, _adam_kernel, every, 1, *values)
    return tuple(params)


@cache
def _adam_kernel(kind: dtype) -> Kernel:
    wide = kind.wide.numpy

    def reference(
        grads: Any, params: Any, means: Any, squares: Any, largest: Any, shift: int, size: float, beta1: float,
        beta2: float, eps: float, shrink: float, decay: float, root: float, sign: float,
    ) -> None:  # fmt: skip
        for index, (grad, param, mean, square) in enumerate(zip(grads, params, means, squares)):
            slope = _slope(grad, param, wide, decay, sign)
            new_mean = mean.astype(wide)
            new_mean += (slope - new_mean) * (1 - beta1)
            new_square = square.astype(wide) * beta2 + slope * slope * (1 - beta2)
            mean[...], square[...] = new_mean, new_square
            if largest:
                new_square = np.maximum(largest[index].astype(wide), new_square)
                largest[index][...] = new_square
            param[...] = param.astype(wide) * shrink - new_mean / (np.sqrt(new_square) / root + eps) * size

    names = ("size", "beta1", "beta2", "eps", "shrink", "decay", "root", "sign")
    lists = {"grads": "r", "params": "rw", "means": "rw", "squares": "rw", "largest": "rw"}
    body = f"adam<{kind.wide.cuda}>(lists, (int)shift, {', '.join(names)})"
    return lists_kernel("adam_step", kind, lists, body, [SHIFT, *numbers(*names)], reference, 20.0)


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
