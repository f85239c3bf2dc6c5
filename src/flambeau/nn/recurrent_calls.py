"""Recurrent layers on a GPU: all steps of several layers in one call of a library, forward and backward.

LSTMs on few sequences in float32 run one layer after the other, with one or two launches for each step (ops/lstm.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from .. import numerics
from ..autograd.function import Function
from ..autograd.mode import GradMode, mode
from ..core import thread
from ..dtypes import FLOATING_TYPES, float32
from ..errors import NotSupportedError
from ..ops.lstm import lstm_layer, lstm_layer_backward
from ..ops.operator import REGISTRY
from ..ops.recurrent import recurrent, recurrent_backward
from ..recurrent_operation import Recurrent, packed_order
from ..strides import contiguous
from ..tensor.tensor import Tensor
from .parameter import Parameter
from .recurrent_loops import gradients_of

FEW = 64  # sequences


def fits(data: Any, state: Sequence[Any], weights: Sequence[Any]) -> bool:
    """Return whether a library may compute with these tensors.

    cuDNN is bitwise reproducible only with settings that a program may not have made, so it is not used in the mode of
    deterministic algorithms.
    """
    return not numerics.are_deterministic_algorithms_enabled() and _are_alike(data, *state, *weights)


def takes_steps(mode_: str, sizes: Sequence[int], data: Any, *others: Any) -> bool:
    """Return whether each step has its own matrix product: faster for LSTMs on few float32 sequences of one length."""
    if mode_ != "LSTM" or data.dtype is not float32 or len(sizes) == 1 or not sizes[0] == sizes[-1] <= FEW:
        return False
    return _are_alike(data, *others)


def _are_alike(data: Any, *others: Any) -> bool:
    """Return whether tensors have one type and are on one GPU, outside DataParallel's mirror."""
    if not data.is_cuda or not data.numel() or data.dtype not in FLOATING_TYPES:
        return False
    dtype, device = data.dtype, data.device
    for tensor in (data, *others):
        if tensor is not None and not (
            type(tensor) in (Tensor, Parameter) and tensor.dtype is dtype and tensor.device == device
        ):
            return False
    return thread.current_stream(device.index).mirror is None


def run(
    mode_: str, sizes: Sequence[int], directions: int, has_biases: bool, composed: Callable[..., Any], data: Any,
    state: Sequence[Any], weights: Sequence[Any],
) -> tuple[Any, ...] | None:  # fmt: skip
    """Return (results, last states, last cells) of all layers; None if no library of the device computes them.

    composed: a function of (data, first states, weights) that computes the same by operators, for second derivatives.
    weights: those of all layers and directions, in one list.
    """
    operands = data, *state, *weights
    options = (
        mode_,
        tuple(sizes),
        directions,
        has_biases,
        mode.enabled and any(value.requires_grad for value in operands),
    )
    try:
        results: tuple[Any, ...] = Layers.apply(options, composed, len(state), *operands)
    except NotSupportedError:
        return None
    return results


def flattened(weights: Sequence[Any], has_biases: bool) -> Any:
    """Return the one array in which weights lie in packed order, as a view; None if they do not."""
    first = weights[0]
    storage, at = first._storage, first._offset
    for index in packed_order(len(weights), has_biases):
        weight = weights[index]
        if weight._storage is not storage or weight._offset != at or not weight.is_contiguous():
            return None
        at += weight.numel()
    return first.detach().as_strided((at - first._offset,), (1,))


def flatten(weights: Sequence[Any], has_biases: bool) -> None:
    """Move parameters of one type on one GPU into one array in packed order; others are unchanged."""
    dtype, device = weights[0].dtype, weights[0].device
    if not all(type(weight) is Parameter and weight.dtype is dtype and weight.device == device for weight in weights):
        return
    if dtype not in FLOATING_TYPES or not weights[0].is_cuda or flattened(weights, has_biases) is not None:
        return
    with GradMode(False):
        order = packed_order(len(weights), has_biases)
        whole = REGISTRY["cat"]([weights[index].detach().reshape(-1) for index in order])
        at = 0
        for index in order:
            weight = weights[index]
            weight.data = whole.as_strided(weight.shape, contiguous(weight.shape), at)
            at += weight.numel()


class LstmLayer(Function):
    """Return (results, last state, last cell) of one LSTM layer in one direction, as `recurrent_loops.Layer`."""

    @staticmethod
    def forward(
        ctx: Any, is_reverse: bool, composed: Any, data: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any,
        bias_hh: Any, h_0: Any, c_0: Any,
    ) -> Any:  # fmt: skip
        ctx.is_reverse, ctx.composed = is_reverse, composed
        bias = None if bias_ih is None else bias_ih + bias_hh
        out, h_n, c_n, gates, cells = lstm_layer(data, weight_ih, weight_hh, bias, h_0, c_0, is_reverse)
        if any(ctx.needs_input_grad):
            ctx.save_for_backward(gates, cells, out, data, weight_ih, weight_hh, bias_ih, bias_hh, h_0, c_0)
        return out, h_n, c_n

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        gates, cells, out, *operands = ctx.saved_tensors
        needs = ctx.needs_input_grad[2:]
        if mode.enabled:
            return None, None, *gradients_of(ctx.composed, operands, needs, grads)
        data, weight_ih, weight_hh, _, _, h_0, c_0 = operands
        of_data, of_x, of_h, flow, *first = lstm_layer_backward(
            *grads, out, gates, cells, data, weight_ih, weight_hh, h_0, c_0, ctx.is_reverse
        )
        of_bias = flow.sum(0) if needs[3] or needs[4] else None
        input_grads = of_data, of_x, of_h, of_bias, of_bias, *first
        return None, None, *(gradient if need else None for gradient, need in zip(input_grads, needs))


class Layers(Function):
    """Return (results, last states, last cells of an LSTM) of recurrent layers."""

    @staticmethod
    def forward(
        ctx: Any, options: tuple[str, tuple[int, ...], int, bool, bool], composed: Any, states: int, data: Any,
        *rest: Any,
    ) -> Any:  # fmt: skip
        *ctx.options, is_training = options
        ctx.composed, ctx.states = composed, states
        h_0, c_0, weights = _parted(rest, states)
        whole = flattened(weights, ctx.options[-1])
        given = weights if whole is None else [whole]
        out, h_n, c_n, reserve = recurrent(data, h_0, c_0, given, *options)
        if is_training:
            ctx.save_for_backward(reserve, out, data, *rest)
        return (out, h_n) if c_n is None else (out, h_n, c_n)

    @staticmethod
    def backward(ctx: Any, grad: Any, of_h_n: Any, of_c_n: Any = None) -> Any:
        reserve, out, data, *rest = ctx.saved_tensors
        needs = ctx.needs_input_grad[3:]
        if mode.enabled:
            grads = (grad, of_h_n) if of_c_n is None else (grad, of_h_n, of_c_n)
            return (*(None,) * 3, *gradients_of(ctx.composed, (data, *rest), needs, grads))
        h_0, c_0, weights = _parted(rest, ctx.states)
        whole = flattened(weights, ctx.options[-1])
        given = weights if whole is None else [whole]
        task = thread.here().task
        is_last = task is not None and not task.keep_graph
        of_data, of_h, of_c, of_weights = recurrent_backward(
            grad, of_h_n, of_c_n, out, reserve, data, h_0, c_0, given, *ctx.options, is_last
        )
        mode_, sizes, directions, has_biases = ctx.options
        layers = h_0.shape[0] // directions
        operation = Recurrent(
            mode_, data.dtype, sizes, data.shape[1], h_0.shape[2], layers, directions, has_biases, True
        )
        input_grads = [of_data, of_h] if of_c is None else [of_data, of_h, of_c]
        for first, shape in chain.from_iterable(operation.places()):
            input_grads.append(of_weights.as_strided(shape, contiguous(shape), first))
        return (*(None,) * 3, *(gradient if need else None for gradient, need in zip(input_grads, needs)))


def _parted(rest: Sequence[Any], states: int) -> tuple[Any, Any, list[Any]]:
    """Return (first states, first cells or None, weights)."""
    return rest[0], rest[1] if states == 2 else None, list(rest[states:])
