"""Whole time of recurrent layers, forward and backward, as in a small language model: 35 steps of 20 sequences."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from flambeau import dtypes
from flambeau.recurrent_operation import Recurrent, RecurrentBackward

from . import check
from .goals import at_most
from .times import Row, Sizes, Work

STEPS, BATCH, LAYERS = 35, 20, 2
CALLS = 20  # between synchronisations


def _lstm(dtype: str = "float32", dropout: float = 0.0, is_trained: bool = True) -> Any:
    def make(library: Any, sizes: Sizes) -> Work:
        hidden, kind = sizes.recurrent, getattr(library, dtype)
        net = library.nn.LSTM(hidden, hidden, LAYERS, dropout=dropout, device="cuda", dtype=kind)
        x = library.randn(STEPS, BATCH, hidden, device="cuda").to(kind).requires_grad_(is_trained)
        grad = library.randn(STEPS, BATCH, hidden, device="cuda").to(kind)

        def call() -> Any:
            if not is_trained:
                with library.no_grad():
                    return net(x)[0], ()
            out = net(x)[0]
            return out, library.autograd.grad(out, [x, *net.parameters()], grad)

        def error() -> float:
            net.dropout = 0.0
            out, grads = call()
            net.dropout = dropout
            exact, of_x = _exact(hidden, *(check.host(each) for each in (x, grad)), [*net.parameters()])
            errors = [check.error(check.host(out).reshape(exact.shape), exact)]
            errors += [check.error(check.host(each).reshape(of_x.shape), of_x) for each in grads[:1]]
            return max(errors)

        return Work(call, error)

    return make


def _exact(hidden: int, x: Any, grad: Any, parameters: list[Any]) -> tuple[Any, Any]:
    """(results, gradients of the inputs) in float64."""
    of = Recurrent("LSTM", dtypes.float64, (BATCH,) * STEPS, hidden, hidden, LAYERS, 1, True, True)
    flat = [check.host(each).ravel() for each in parameters]
    order = [at + each for at in (0, 2) for first in range(0, len(flat), 4) for each in (first, first + 1)]
    weights = np.concatenate([flat[at] for at in order])
    state, cell, h_n, c_n = np.zeros((4, *of.state_shape))
    x, grad, out, of_x = x.reshape(of.rows, -1), grad.reshape(of.rows, -1), *np.zeros((2, of.rows, hidden))
    of.reference(out, h_n, c_n, None, x, state, cell, weights)
    nothing = np.zeros((4, *of.state_shape))
    saved = grad, *nothing[2:], out, x, state, cell, weights
    RecurrentBackward(of).reference(of_x, *nothing[:2], np.zeros_like(weights), None, *saved)
    return out, of_x


row = functools.partial(Row, unit="µs", whole=True, burst=CALLS, goals=(at_most(1.0),))

ROWS = (
    row("lstm 2x650, forward and backward", make=_lstm(), tolerance=1e-2),  # both sides allow TF32, as PyTorch does
    row("lstm 2x650, forward", make=_lstm(is_trained=False), tolerance=5e-3),
    row("lstm 2x650, dropout, forward and backward", make=_lstm(dropout=0.5), tolerance=1e-2),
    row("lstm 2x650, bfloat16, forward and backward", make=_lstm("bfloat16"), tolerance=5e-2),
)
