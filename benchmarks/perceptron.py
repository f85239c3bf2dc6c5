"""A small training step: three layers, cross entropy and AdamW.  Most of it is many small kernels."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from . import check

BATCH, WIDTHS = 64, (784, 256, 256, 10)
LEARNING_RATE, DECAY, EPS = 1e-3, 1e-2, 1e-8
BETAS = 0.9, 0.999


class Perceptron:
    """A net, its optimizer with PyTorch's defaults, and one batch.  capturable: steps may be captured."""

    def __init__(self, library: Any, capturable: bool = False) -> None:
        nn = library.nn
        self.library = library
        self.layers = [nn.Linear(*pair) for pair in itertools.pairwise(WIDTHS)]
        self.net = nn.Sequential(self.layers[0], nn.ReLU(), self.layers[1], nn.ReLU(), self.layers[2]).cuda()
        options = {"capturable": True} if capturable else {}
        self.optimizer = library.optim.AdamW(self.net.parameters(), lr=LEARNING_RATE, **options)
        self.x = library.randn(BATCH, WIDTHS[0], device="cuda")
        self.y = library.randint(0, WIDTHS[-1], (BATCH,), device="cuda")

    def step(self) -> Any:
        """The loss, of before the step."""
        self.optimizer.zero_grad()
        loss = self.library.nn.functional.cross_entropy(self.net(self.x), self.y)
        loss.backward()
        self.optimizer.step()
        return loss

    def error(self, step: Any) -> float:
        """Of one more step, on new numbers: of its loss, the last bias's running mean of gradients, and its change."""
        bias = self.layers[-1].bias
        state = self.optimizer.state[bias]
        self.x.copy_(self.library.randn_like(self.x))
        logits, classes = self._outputs(), self.y.cpu().numpy()
        mean, value = check.host(state["exp_avg"]), check.host(bias)
        loss = check.host(step())
        exact = check.mean_entropy(logits, classes)
        gradient = (check.softmax(logits) - np.eye(WIDTHS[-1])[classes]).mean(0)
        mean = BETAS[0] * mean + (1 - BETAS[0]) * gradient
        return max(
            abs(float(loss) - exact) / exact,
            check.error(check.host(state["exp_avg"]), mean),
            check.error(check.host(bias) - value, -_change(value, mean, state)),
        )

    def _outputs(self) -> Any:
        values = check.host(self.x)
        for number, layer in enumerate(self.layers):
            values = np.maximum(values, 0) if number else values
            values = values @ check.host(layer.weight).T + check.host(layer.bias)
        return values


def _change(value: Any, mean: Any, state: Any) -> Any:
    """The amount that the step subtracts from a parameter."""
    count, square = float(state["step"]), check.host(state["exp_avg_sq"])
    first, second = (1 - beta**count for beta in BETAS)
    with np.errstate(invalid="ignore"):  # a mean of squares that is negative makes the error infinite
        root = np.sqrt(square / second)
    return LEARNING_RATE * (DECAY * value + mean / first / (root + EPS))
