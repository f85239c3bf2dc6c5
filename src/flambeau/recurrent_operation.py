"""Recurrent layers as library operations, and their loops over all steps in NumPy.

- The elements of all steps are rows of one array, step by step; step t has the first sizes[t] sequences of the batch.
- Values that do not depend on the previous step are computed for all steps at once: the products with the inputs, the
  derivatives of the gates, the gradients of the weights.
- A sigmoid is (tanh(x / 2) + 1) / 2, so that one tanh serves all gates of a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple

from .dtypes import dtype, uint8
from .host import np
from .kernel import Access

GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}
Arrays = tuple[Any, ...]


class Steps(NamedTuple):
    """The steps of a layer in the order of their computation.  places: (first row, number of rows) of each."""

    places: list[tuple[int, int]]
    batch: int
    is_reverse: bool


def steps_of(sizes: Sequence[int], is_reverse: bool) -> Steps:
    """Return the steps of sequences that are `sizes[t]` at step t."""
    places = list(zip(accumulate(sizes, initial=0), sizes))
    return Steps(places[::-1] if is_reverse else places, sizes[0], is_reverse)


def states_before(first: Any, results: Any, steps: Steps) -> Any:
    """Return the state before each step: the state after the previous step, or the initial state."""
    before = np.empty_like(results)
    now = first.copy()
    for start, count in steps.places:
        before[start : start + count] = now[:count]
        now[:count] = results[start : start + count]
    return before


def _scales(hidden: int, is_sigmoid: Sequence[bool], dtype: Any) -> tuple[Any, Any]:
    """Return (factors, summands) of gates for a sigmoid as (tanh(x / 2) + 1) / 2."""
    halves = np.repeat(np.array(is_sigmoid), hidden)
    return np.where(halves, 0.5, 1.0).astype(dtype), np.where(halves, 0.5, 0.0).astype(dtype)


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
    """Return (gradient of the gates by the inputs, of the gates by the states, of the first states)."""
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
    now, cell = (state.copy() for state in states)
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
    enter, keep, new, leave = (gates[:, gate * hidden : (gate + 1) * hidden] for gate in range(4))
    bent = np.tanh(cells)
    flow = gates * (1 - gates)
    flow[:, :hidden] *= new
    flow[:, hidden : 2 * hidden] *= states_before(states[1], cells, steps)
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
    reset, update, new = (gates[:, gate * hidden : (gate + 1) * hidden] for gate in range(3))
    before = states_before(states[0], results, steps)
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


# the operations


def packed_order(count: int, has_biases: bool) -> list[int]:
    """Return the order of the weights of all layers and directions in one array: all matrices, then all biases.

    Example:
        >>> from flambeau.recurrent_operation import packed_order
        >>> packed_order(8, True)
        [0, 1, 4, 5, 2, 3, 6, 7]
    """
    if not has_biases:
        return [*range(count)]
    return [at + offset for first in (0, 2) for at in range(first, count, 4) for offset in (0, 1)]


class Recurrent(NamedTuple):
    """Recurrent layers, each of which reads the results of the previous one.

    mode: a key of GATES.  sizes: the number of sequences at each step, which never increases.
    data is [sum(sizes), input_size] and out [sum(sizes), directions * hidden_size].  The first states h_0 and the last
    states h_n are [layers * directions, sizes[0], hidden_size], and so are the cells c_0 and c_n of an LSTM.
    weights: one array with weight_ih and weight_hh of each layer and direction, followed, if has_biases, by bias_ih
    and bias_hh of each.  All arrays are contiguous.
    is_training: whether data for the gradients is written to `reserve`, whose size the driver knows.
    Operands: (out, h_n, c_n, reserve, data, h_0, c_0, weights).  The address of an absent one is 0.
    """

    mode: str
    dtype: dtype
    sizes: tuple[int, ...]
    input_size: int
    hidden_size: int
    layers: int
    directions: int
    has_biases: bool
    is_training: bool
    allow_tf32: bool = False

    @property
    def kind(self) -> str:
        return "recurrent"

    @property
    def operations(self) -> float:
        return 2.0 * sum(self.sizes) * self.weight_count

    @property
    def has_cells(self) -> bool:
        return self.mode == "LSTM"

    @property
    def rows(self) -> int:
        return sum(self.sizes)

    @property
    def width(self) -> int:
        return self.directions * self.hidden_size

    @property
    def state_shape(self) -> tuple[int, ...]:
        return self.layers * self.directions, self.sizes[0], self.hidden_size

    @property
    def weight_count(self) -> int:
        *_, (*_, (first, shape)) = self.places()
        return first + prod(shape)

    def places(self) -> Iterator[list[tuple[int, tuple[int, ...]]]]:
        """Yield (first element, shape) of weight_ih, weight_hh and the biases of each layer and direction."""
        gates, hidden = GATES[self.mode] * self.hidden_size, self.hidden_size
        widths = [self.input_size if layer == 0 else self.width for layer in range(self.layers)]
        bias = sum(self.directions * gates * (width + hidden) for width in widths)
        first = 0
        for width in widths:
            for _ in range(self.directions):
                second = first + gates * width
                matrices = [(first, (gates, width)), (second, (gates, hidden))]
                yield [*matrices, (bias, (gates,)), (bias + gates, (gates,))] if self.has_biases else [*matrices]
                first, bias = second + gates * hidden, bias + 2 * gates

    def accesses(self, addresses: tuple[int, ...]) -> list[Access | None]:
        out, h_n, c_n, reserve, *inputs = addresses
        state = self.state_shape
        return [
            Access(out, self.dtype, "w", (self.rows, self.width), None),
            Access(h_n, self.dtype, "w", state, None),
            Access(c_n, self.dtype, "w", state, None) if c_n else None,
            Access(reserve, uint8, "w", (1,), None) if reserve else None,
            *self.inputs(*inputs),
        ]

    def inputs(self, data: int, h_0: int, c_0: int, weights: int) -> list[Access | None]:
        state = self.state_shape
        return [
            Access(data, self.dtype, "r", (self.rows, self.input_size), None),
            Access(h_0, self.dtype, "r", state, None),
            Access(c_0, self.dtype, "r", state, None) if c_0 else None,
            Access(weights, self.dtype, "r", (self.weight_count,), None),
        ]

    def reference(self, out: Any, h_n: Any, c_n: Any, reserve: Any, *inputs: Any) -> None:
        results, last, _ = self._run(*inputs)
        out[...] = results
        for number, states in enumerate(last):
            h_n[number] = states[0]
            if c_n is not None:
                c_n[number] = states[1]

    def _run(self, data: Any, h_0: Any, c_0: Any, weights: Any) -> tuple[Any, list[Arrays], list[Arrays]]:
        """Return (results, last states, what `_gradients` needs) of each layer and direction, in float32 or wider."""
        wide = self.dtype.wide.numpy
        data, h_0, c_0, weights = (x if x is None else x.astype(wide) for x in (data, h_0, c_0, weights))
        last, kept = [], []
        for number, places in enumerate(self.places()):
            is_reverse = self.directions == 2 and number % 2 == 1
            steps = steps_of(self.sizes, is_reverse)
            of_x, of_h, *biases = (weights[at : at + prod(shape)].reshape(shape) for at, shape in places)
            projected = data @ of_x.T + (biases[0] if self.has_biases else 0)
            states = (h_0[number],) if c_0 is None else (h_0[number], c_0[number])
            shift = biases[1] if self.has_biases else None
            results, final, saved = LOOPS[self.mode][0](projected, of_h, shift, steps, states)
            last.append(final)
            kept.append((data, of_x, of_h, steps, states, results, saved))
            if number % self.directions == self.directions - 1:
                parts = [entry[5] for entry in kept[-self.directions :]]
                data = parts[0] if self.directions == 1 else np.concatenate(parts, 1)
        return data, last, kept


class RecurrentBackward(NamedTuple):
    """The gradients of data, h_0, c_0 and weights of `forward`, from those of out, h_n and c_n.

    weight_grad is added to; `reserve` is overwritten.
    Operands: (data_grad, h_0_grad, c_0_grad, weight_grad, reserve, grad, h_n_grad, c_n_grad, out, data, h_0, c_0,
    weights).
    """

    forward: Recurrent

    @property
    def kind(self) -> str:
        return "recurrent_backward"

    @property
    def operations(self) -> float:
        return 2 * self.forward.operations

    def accesses(self, addresses: tuple[int, ...]) -> list[Access | None]:
        of_data, of_h, of_c, of_weights, reserve, grad, of_h_n, of_c_n, out, *inputs = addresses
        of, state = self.forward, self.forward.state_shape
        return [
            Access(of_data, of.dtype, "w", (of.rows, of.input_size), None),
            Access(of_h, of.dtype, "w", state, None),
            Access(of_c, of.dtype, "w", state, None) if of_c else None,
            Access(of_weights, of.dtype, "rw", (of.weight_count,), None),
            Access(reserve, uint8, "rw", (1,), None) if reserve else None,
            Access(grad, of.dtype, "r", (of.rows, of.width), None),
            Access(of_h_n, of.dtype, "r", state, None),
            Access(of_c_n, of.dtype, "r", state, None) if of_c_n else None,
            Access(out, of.dtype, "r", (of.rows, of.width), None),
            *of.inputs(*inputs),
        ]

    def reference(
        self, of_data: Any, of_h: Any, of_c: Any, of_weights: Any, reserve: Any, grad: Any, of_h_n: Any, of_c_n: Any,
        out: Any, *inputs: Any,
    ) -> None:  # fmt: skip
        of, wide, hidden = self.forward, self.forward.dtype.wide.numpy, self.forward.hidden_size
        _, _, kept = of._run(*inputs)
        places, flow = list(of.places()), grad.astype(wide)
        for layer in reversed(range(of.layers)):
            below = 0
            for direction in range(of.directions):
                number = layer * of.directions + direction
                data, of_x, of_hidden, steps, states, results, saved = kept[number]
                part = np.ascontiguousarray(flow[:, direction * hidden : (direction + 1) * hidden])
                last = (of_h_n,) if of_c_n is None else (of_h_n, of_c_n)
                grads = part, *(array[number].astype(wide) for array in last)
                by_x, by_h, first = LOOPS[of.mode][1](grads, of_hidden, steps, states, results, saved)
                below = below + by_x @ of_x
                gradients = by_x.T @ data, by_h.T @ states_before(states[0], results, steps), by_x.sum(0), by_h.sum(0)
                for (at, _), gradient in zip(places[number], gradients):
                    of_weights[at : at + gradient.size] += gradient.ravel().astype(of_weights.dtype)
                for target, gradient in zip((of_h, of_c), first):
                    target[number] = gradient
            flow = below
        of_data[...] = flow
