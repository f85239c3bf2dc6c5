"""Recurrent layers on the CPU: the loop over all steps of one layer in one direction, forward and backward, in NumPy.

- The elements of all steps lie one below the other; step t has sizes[t] sequences, the first ones of the batch.
- Whatever does not depend on the step before is computed for all steps at once: the products with the inputs, the
  slopes of the gates, the gradients of the weights.
- A sigmoid is (tanh(x / 2) + 1) / 2, so that one tanh serves all gates of a step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from ..autograd.function import Function
from ..autograd.gradients import grad
from ..autograd.mode import GradMode, mode
from ..core import thread
from ..core.tensor import TensorBase
from ..dtypes import float32, float64
from ..host import np
from ..tensor.factories import from_numpy
from ..tensor.tensor import Tensor
from .parameter import Parameter

Arrays = tuple[Any, ...]


class Steps(NamedTuple):
    """The steps of a layer in the order of their computation.  places: (first row, number of rows) of each."""

    places: list[tuple[int, int]]
    batch: int
    is_reverse: bool


def steps_of(sizes: Sequence[int], is_reverse: bool) -> Steps:
    """The steps of sequences that are `sizes[t]` at step t."""
    places = list(zip(accumulate(sizes, initial=0), sizes))
    return Steps(places[::-1] if is_reverse else places, sizes[0], is_reverse)


def _before(first: Any, results: Any, steps: Steps) -> Any:
    """The state before each step: that of the step before, or the first one."""
    found = np.empty_like(results)
    now = first.copy()
    for start, count in steps.places:
        found[start : start + count] = now[:count]
        now[:count] = results[start : start + count]
    return found


def _scales(hidden: int, is_sigmoid: Sequence[bool], kind: Any) -> tuple[Any, Any]:
    """(factors, summands) of gates for a sigmoid as (tanh(x / 2) + 1) / 2."""
    halves = np.repeat(np.array(is_sigmoid), hidden)
    return np.where(halves, 0.5, 1.0).astype(kind), np.where(halves, 0.5, 0.0).astype(kind)


# one layer: (results, last states, values for backward) of the projected inputs, which are overwritten


def _simple(is_tanh: bool, x: Any, weight: Any, bias: Any, steps: Steps, states: Arrays) -> tuple[Any, Arrays, Arrays]:
    now = states[0].copy()
    turned = np.ascontiguousarray(weight.T)
    if bias is not None:
        x += bias
    for start, count in steps.places:
        row = x[start : start + count]
        row += now[:count] @ turned
        if is_tanh:
            np.tanh(row, out=row)
        else:
            np.maximum(row, 0, out=row)
        now[:count] = row
    return x, (now,), ()


def _simple_slopes(
    is_tanh: bool, grads: Arrays, weight: Any, steps: Steps, states: Arrays, results: Any, kept: Arrays
) -> tuple[Any, Any, Arrays]:
    """(gradient of the gates by the inputs, of the gates by the states, of the first states)."""
    slopes = 1 - results * results if is_tanh else (results > 0).astype(results.dtype)
    flow, now = grads[0] * slopes, grads[1].copy()
    for start, count in reversed(steps.places):
        row = flow[start : start + count]
        row += now[:count] * slopes[start : start + count]
        np.matmul(row, weight, out=now[:count])
    return flow, flow, (now,)


def _lstm(x: Any, weight: Any, bias: Any, steps: Steps, states: Arrays) -> tuple[Any, Arrays, Arrays]:
    hidden = weight.shape[1]
    factors, summands = _scales(hidden, (True, True, False, True), x.dtype)
    if bias is not None:
        x += bias
    x *= factors
    turned = np.ascontiguousarray(weight.T) * factors
    now, cell = (each.copy() for each in states)
    results, cells = np.empty((2, len(x), hidden), x.dtype)
    product, part = np.empty_like(x, shape=(steps.batch, 4 * hidden)), np.empty_like(x, shape=(steps.batch, hidden))
    for start, count in steps.places:
        rows = slice(start, start + count)
        gates, h, c, more = x[rows], now[:count], cell[:count], part[:count]
        gates += np.matmul(h, turned, out=product[:count])
        np.tanh(gates, out=gates)
        gates *= factors
        gates += summands
        c *= gates[:, hidden : 2 * hidden]
        np.multiply(gates[:, :hidden], gates[:, 2 * hidden : 3 * hidden], out=more)
        c += more
        cells[rows] = c
        np.tanh(c, out=h)
        h *= gates[:, 3 * hidden :]
        results[rows] = h
    return results, (now, cell), (x, cells)


def _lstm_slopes(
    grads: Arrays, weight: Any, steps: Steps, states: Arrays, results: Any, kept: Arrays
) -> tuple[Any, Any, Arrays]:
    gates, cells = kept
    hidden = weight.shape[1]
    enter, keep, new, leave = (gates[:, each * hidden : (each + 1) * hidden] for each in range(4))
    bent = np.tanh(cells)
    flow = gates * (1 - gates)
    flow[:, :hidden] *= new
    flow[:, hidden : 2 * hidden] *= _before(states[1], cells, steps)
    flow[:, 2 * hidden : 3 * hidden] = enter * (1 - new * new)
    flow[:, 3 * hidden :] *= bent
    into_cell = leave * (1 - bent * bent)
    now, cell = grads[1].copy(), grads[2].copy()
    for start, count in reversed(steps.places):
        rows = slice(start, start + count)
        h, c, row = now[:count], cell[:count], flow[rows]
        h += grads[0][rows]
        c += h * into_cell[rows]
        by_cell = row[:, : 3 * hidden].reshape(count, 3, hidden)
        by_cell *= c[:, None]
        row[:, 3 * hidden :] *= h
        c *= keep[rows]
        np.matmul(row, weight, out=h)
    return flow, flow, (now, cell)


def _gru(x: Any, weight: Any, bias: Any, steps: Steps, states: Arrays) -> tuple[Any, Arrays, Arrays]:
    hidden = weight.shape[1]
    factors, _ = _scales(hidden, (True, True, False), x.dtype)
    x *= factors
    turned = np.ascontiguousarray(weight.T) * factors
    shift = None if bias is None else bias * factors
    now = states[0].copy()
    results, of_new = np.empty((2, len(x), hidden), x.dtype)
    product, part = np.empty_like(x, shape=(steps.batch, 3 * hidden)), np.empty_like(x, shape=(steps.batch, hidden))
    for start, count in steps.places:
        rows = slice(start, start + count)
        gates, h, more = x[rows], now[:count], part[:count]
        of_h = np.matmul(h, turned, out=product[:count])
        if shift is not None:
            of_h += shift
        of_new[rows] = of_h[:, 2 * hidden :]
        two, new = gates[:, : 2 * hidden], gates[:, 2 * hidden :]
        two += of_h[:, : 2 * hidden]
        np.tanh(two, out=two)
        two += 1
        two *= 0.5
        np.multiply(two[:, :hidden], of_new[rows], out=more)
        new += more
        np.tanh(new, out=new)
        h -= new
        h *= two[:, hidden:]
        h += new
        results[rows] = h
    return results, (now,), (x, of_new)


def _gru_slopes(
    grads: Arrays, weight: Any, steps: Steps, states: Arrays, results: Any, kept: Arrays
) -> tuple[Any, Any, Arrays]:
    gates, of_new = kept
    hidden = weight.shape[1]
    reset, update, new = (gates[:, each * hidden : (each + 1) * hidden] for each in range(3))
    before = _before(states[0], results, steps)
    of_x = np.empty_like(gates)
    of_x[:, 2 * hidden :] = into_new = (1 - update) * (1 - new * new)
    of_x[:, :hidden] = into_new * of_new * reset * (1 - reset)
    of_x[:, hidden : 2 * hidden] = (before - new) * update * (1 - update)
    of_h = of_x.copy()
    of_h[:, 2 * hidden :] *= reset
    now = grads[1].copy()
    for start, count in reversed(steps.places):
        rows = slice(start, start + count)
        h = now[:count]
        h += grads[0][rows]
        row = of_h[rows].reshape(count, 3, hidden)
        row *= h[:, None]
        of_x[rows].reshape(count, 3, hidden)[...] *= h[:, None]
        h *= update[rows]
        h += of_h[rows] @ weight
    return of_x, of_h, (now,)


def _tanh_layer(*arguments: Any) -> Any:
    return _simple(True, *arguments)


def _relu_layer(*arguments: Any) -> Any:
    return _simple(False, *arguments)


def _tanh_slopes(*arguments: Any) -> Any:
    return _simple_slopes(True, *arguments)


def _relu_slopes(*arguments: Any) -> Any:
    return _simple_slopes(False, *arguments)


LOOPS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "RNN_TANH": (_tanh_layer, _tanh_slopes), "RNN_RELU": (_relu_layer, _relu_slopes), "LSTM": (_lstm, _lstm_slopes),
    "GRU": (_gru, _gru_slopes),
}  # fmt: skip


def fits(*operands: Any) -> bool:
    """Return whether the loops take these tensors: of one type, float32 or float64, on the CPU, without autocast."""
    given = [each for each in operands if each is not None]
    kind = given[0].dtype
    if kind is not float32 and kind is not float64 or getattr(thread.here(), "autocast", None) is not None:
        return False
    return all(type(each) in (Tensor, Parameter) and not each.is_cuda and each.dtype is kind for each in given)


class Layer(Function):
    """One layer in one direction: (results, last states) of inputs, weights, biases and first states.

    composed: the same by operators, for gradients of gradients.
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
            return (None, None, None, *_of_composed(ctx.composed, operands, ctx.needs_input_grad[3:], grads))
        data, weight_ih, weight_hh, bias_ih, bias_hh, *states = map(_array, operands)
        flows, (found, *others) = tuple(map(_array, grads)), map(_array, (results, *kept))
        of_x, of_h, first = LOOPS[ctx.mode][1](flows, weight_hh, ctx.steps, tuple(states), found, tuple(others))
        needs = ctx.needs_input_grad
        made = (
            of_x @ weight_ih if needs[3] else None,
            of_x.T @ data if needs[4] else None,
            of_h.T @ _before(states[0], found, ctx.steps) if needs[5] else None,
            of_x.sum(axis=0) if bias_ih is not None and needs[6] else None,
            of_h.sum(axis=0) if bias_hh is not None and needs[7] else None,
            *(each if need else None for each, need in zip(first, needs[8:])),
        )
        return (None, None, None, *(None if each is None else from_numpy(each) for each in made))


def _array(tensor: Any) -> Any:
    return None if tensor is None else tensor.detach().numpy() if isinstance(tensor, TensorBase) else tensor


def _of_composed(composed: Callable[..., Any], operands: Arrays, needs: Arrays, grads: Arrays) -> list[Any]:
    """Gradients that have gradients, by operators."""
    with GradMode(True):
        outputs = composed(*operands)
    wanted = [each for each, need in zip(operands, needs) if need]
    found = iter(grad(outputs, wanted, grads, create_graph=True, allow_unused=True))
    return [next(found) if need else None for need in needs]
