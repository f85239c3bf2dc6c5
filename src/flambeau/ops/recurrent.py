"""Recurrent layers as library calls: all steps of all layers at once (see recurrent_operation.py).

nn/recurrent.py defines their derivative, and another implementation for devices without such a library.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from ..dtypes import FLOATING_TYPES, float32, uint8
from ..recurrent_operation import GATES, Recurrent, RecurrentBackward, packed_order
from .copies import fill
from .join import cat
from .operator import Array, Call, Operand, Operands, Sample, Setting, operator

allow_tf32 = Setting(True)  # whether float32 products of recurrent layers may round inputs to 10 bits of mantissa
HIDDEN: dict[str, Any] = {"method": False, "function": False, "differentiable": False, "setting": allow_tf32}


def _operation(
    call: Call, data: Any, h_0: Any, weights: Sequence[Any], mode: str, sizes: Sequence[int], directions: int,
    has_biases: bool, is_training: bool,
) -> Recurrent:  # fmt: skip
    layers = h_0.shape[0] // directions
    return Recurrent(
        mode, data.dtype, tuple(sizes), data.shape[1], h_0.shape[2], layers, directions, has_biases, is_training,
        allow_tf32.value and data.dtype is float32 and not call.is_on_host,
    )  # fmt: skip


def dense(call: Call, operand: Any) -> Any:
    """Return the operand, or a copy, contiguous and aligned to 16 bytes; None for None."""
    if operand is None or operand.is_contiguous() and operand.is_aligned():
        return operand
    copied = call.scratch(operand.shape, operand.dtype)
    call.assign(copied, operand)
    return copied


def _joined(call: Call, weights: Sequence[Any], has_biases: bool) -> Any:
    """Return one array of the weights of all layers and directions: all matrices, then all biases."""
    if len(weights) == 1:
        return dense(call, weights[0])
    flat = [call.part(call.contiguous(weight), (weight.numel(),), (1,), 0) for weight in weights]
    return cat.lower(call, [flat[at] for at in packed_order(len(flat), has_biases)], 0)


def _weights(mode: str, inputs: int, hidden: int, layers: int, directions: int, has_biases: bool) -> list[Array]:
    gates = GATES[mode] * hidden
    arrays: list[Array] = []
    for layer in range(layers):
        for _ in range(directions):
            shapes: list[tuple[int, ...]] = [(gates, directions * hidden if layer else inputs), (gates, hidden)]
            shapes += [(gates,), (gates,)] if has_biases else []
            arrays += [Array(shape, -1, 1, seed=len(arrays) + at, grad=False) for at, shape in enumerate(shapes)]
    return arrays


def _cases() -> Iterator[tuple[list[Any], tuple[Any, ...]]]:
    """Yield (operands: data, first states and weights; attributes) for samples."""
    cases = (("LSTM", 2, 2, True), ("GRU", 1, 2, True), ("RNN_TANH", 2, 1, False), ("RNN_RELU", 1, 1, True))
    for mode, layers, directions, has_biases in cases:
        sizes = (3, 3) if mode == "GRU" else (3, 2, 2)
        state = Array((layers * directions, 3, 4), -1, 1, seed=1, grad=False)
        cell = state._replace(seed=2) if mode == "LSTM" else None
        data = Array((sum(sizes), 5), -1, 1, grad=False)
        weights = _weights(mode, 5, 4, layers, directions, has_biases)
        yield [data, state, cell, weights], (mode, sizes, directions, has_biases)


def _samples() -> Iterator[Sample]:
    for operands, attributes in _cases():
        yield Sample((*operands, *attributes, False))
    data, state, _, weights = operands
    whole = Array((sum(prod(weight.shape) for weight in weights),), -1, 1, grad=False)
    yield Sample((data, state, None, [whole], *attributes, False))


@operator(samples=_samples, dtypes=FLOATING_TYPES, **HIDDEN)
def recurrent(
    call: Call, data: Operand, h_0: Operand, c_0: Operand | None, weights: Operands, mode: str, sizes: Any,
    directions: int, has_biases: bool, is_training: bool,
) -> Any:  # fmt: skip
    """Return (results, last states, last cells or None, bytes that the gradients need) of recurrent layers.

    There are no such bytes without is_training, or if the library needs none.
    weights: weight_ih, weight_hh and, if has_biases, bias_ih and bias_hh of each layer and direction; or one array of
    all, in `packed_order`.
    Shapes: see `Recurrent`.
    Host:   returns at once.
    Raises: NotSupportedError if the device has no library that computes them.
    """
    operation = _operation(call, data, h_0, weights, mode, sizes, directions, has_biases, is_training)
    nbytes = call.reserve(operation) if is_training else 0
    out = call.output((operation.rows, operation.width), data.dtype)
    h_n = call.output(h_0.shape, data.dtype)
    c_n = None if c_0 is None else call.output(h_0.shape, data.dtype)
    reserve = call.output((nbytes,), uint8)
    inputs = *(dense(call, operand) for operand in (data, h_0, c_0)), _joined(call, weights, has_biases)
    call.library(operation, out, h_n, c_n, reserve if nbytes else None, *inputs)
    return out, h_n, c_n, reserve


def _backward_samples() -> Iterator[Sample]:
    for (data, h_0, c_0, weights), (mode, sizes, directions, has_biases) in _cases():
        grad = Array((sum(sizes), directions * 4), -1, 1, seed=3, grad=False)
        last, no_reserve = (h_0._replace(seed=4), c_0 and h_0._replace(seed=5)), Array((0,), dtype="uint8", grad=False)
        operands = grad, *last, grad, no_reserve, data, h_0, c_0, weights
        yield Sample((*operands, mode, sizes, directions, has_biases, False))


@operator(samples=_backward_samples, dtypes=FLOATING_TYPES, **HIDDEN)
def recurrent_backward(
    call: Call, grad: Operand, h_n_grad: Operand, c_n_grad: Operand | None, out: Operand, reserve: Operand,
    data: Operand, h_0: Operand, c_0: Operand | None, weights: Operands, mode: str, sizes: Any, directions: int,
    has_biases: bool, is_last: bool,
) -> Any:  # fmt: skip
    """Return the gradients of data, h_0, c_0 (or None) and weights of `recurrent`, those of the weights in one array.

    reserve: as returned by `recurrent`; if it is empty, the library repeats the forward pass, and `out` is not read.
    is_last: whether the reserve may be overwritten.
    Shapes: see `RecurrentBackward`.
    Host:   returns at once.
    Raises: NotSupportedError if the device has no library that computes them.
    """
    forward = _operation(call, data, h_0, weights, mode, sizes, directions, has_biases, True)
    of_data, of_h = call.output(data.shape, data.dtype), call.output(h_0.shape, data.dtype)
    of_c = None if c_0 is None else call.output(h_0.shape, data.dtype)
    of_weights = call.output((forward.weight_count,), data.dtype)
    before, call.given = call.given, of_weights
    fill.lower(call, of_weights, 0)
    call.given = before
    operands = [dense(call, operand) for operand in (grad, h_n_grad, c_n_grad, out, data, h_0, c_0)]
    joined = _joined(call, weights, has_biases)
    nbytes = call.reserve(forward)
    is_given = bool(reserve.numel())
    used = reserve if is_given and is_last else call.scratch((nbytes,), uint8) if nbytes else None
    if is_given and not is_last:
        call.assign(used, reserve)
    elif nbytes and not is_given:
        results = [None if like is None else call.scratch(like.shape, like.dtype) for like in (out, of_h, of_c)]
        call.library(forward, *results, used, *operands[4:], joined)
        operands[3] = results[0]
    call.library(RecurrentBackward(forward), of_data, of_h, of_c, of_weights, used, *operands, joined)
    return of_data, of_h, of_c, of_weights
