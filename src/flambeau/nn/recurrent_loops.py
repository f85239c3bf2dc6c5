"""Recurrent layers on the CPU: the loops of recurrent_operation.py, and gradients, of one layer in one direction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.function import Function
from ..autograd.gradients import grad
from ..autograd.mode import GradMode, mode
from ..core import thread
from ..core.tensor import TensorBase
from ..dtypes import float32, float64
from ..recurrent_operation import LOOPS, Arrays, Steps, states_before
from ..tensor.factories import from_numpy
from ..tensor.tensor import Tensor
from .parameter import Parameter


def fits(*operands: Any) -> bool:
    """Return whether the loops support these tensors: of one type, float32 or float64, on the CPU, without autocast."""
    given = [operand for operand in operands if operand is not None]
    dtype = given[0].dtype
    if dtype is not float32 and dtype is not float64 or getattr(thread.here(), "autocast", None) is not None:
        return False
    return all(type(operand) in (Tensor, Parameter) and operand.is_cpu and operand.dtype is dtype for operand in given)


class Layer(Function):
    """One layer in one direction: (results, last states) of inputs, weights, biases and first states.

    composed: a function that computes the same by operators, for second derivatives.
    """

    @staticmethod
    def forward(
        ctx: Any, mode_: str, steps: Steps, composed: Callable[..., Any], data: Any, weight_ih: Any, weight_hh: Any,
        bias_ih: Any, bias_hh: Any, *states: Any,
    ) -> Any:  # fmt: skip
        x, of_x, of_h, shift_x, shift_h = map(_array, (data, weight_ih, weight_hh, bias_ih, bias_hh))
        projected = x @ of_x.T
        if shift_x is not None:
            projected += shift_x
        results, last, kept = LOOPS[mode_][0](projected, of_h, shift_h, steps, tuple(map(_array, states)))
        ctx.mode, ctx.steps, ctx.composed = mode_, steps, composed
        outputs = from_numpy(results), *map(from_numpy, last)
        operands = data, weight_ih, weight_hh, bias_ih, bias_hh, *states
        if any(ctx.needs_input_grad):
            ctx.count = len(operands)
            ctx.save_for_backward(*operands, outputs[0], *map(from_numpy, kept))
        return outputs

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        saved = ctx.saved_tensors
        operands, results, kept = saved[: ctx.count], saved[ctx.count], saved[ctx.count + 1 :]
        if mode.enabled:
            return (None, None, None, *gradients_of(ctx.composed, operands, ctx.needs_input_grad[3:], grads))
        data, weight_ih, weight_hh, bias_ih, bias_hh, *states = map(_array, operands)
        flows, (outputs, *others) = tuple(map(_array, grads)), map(_array, (results, *kept))
        of_x, of_h, first = LOOPS[ctx.mode][1](flows, weight_hh, ctx.steps, tuple(states), outputs, tuple(others))
        needs = ctx.needs_input_grad
        input_grads = (
            of_x @ weight_ih if needs[3] else None,
            of_x.T @ data if needs[4] else None,
            of_h.T @ states_before(states[0], outputs, ctx.steps) if needs[5] else None,
            of_x.sum(axis=0) if bias_ih is not None and needs[6] else None,
            of_h.sum(axis=0) if bias_hh is not None and needs[7] else None,
            *(gradient if need else None for gradient, need in zip(first, needs[8:])),
        )
        return (None, None, None, *(None if gradient is None else from_numpy(gradient) for gradient in input_grads))


def _array(tensor: Any) -> Any:
    return None if tensor is None else tensor.detach().numpy() if isinstance(tensor, TensorBase) else tensor


def gradients_of(composed: Callable[..., Any], operands: Arrays, needs: Arrays, grads: Arrays) -> list[Any]:
    """Return differentiable gradients, computed by operators."""
    with GradMode(True):
        outputs = composed(*operands)
    wanted = [operand for operand, need in zip(operands, needs) if need]
    remaining = iter(grad(outputs, wanted, grads, create_graph=True, allow_unused=True))
    return [next(remaining) if need else None for need in needs]
