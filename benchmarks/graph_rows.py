"""Replays of graphs: whole time, from the first replay's call to the end of the last one's work on the device."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import flambeau

from . import check, raw
from .goals import at_most
from .host_rows import STEP_TOLERANCE
from .perceptron import Perceptron
from .times import Row, Sizes, Take, Work

KERNELS = 100
SIDE = 16
REPLAYS = 50  # in a burst
STEPS = 20  # in a burst, of those that PyTorch makes without a graph
WARM_CALLS = 3


def captured(library: Any, call: Callable[[], Any]) -> tuple[Any, Any]:
    """A graph of what `call` does, and what it returned."""
    side, current = library.cuda.Stream(), library.cuda.current_stream()
    side.wait_stream(current)
    with library.cuda.stream(side):
        for _ in range(WARM_CALLS):
            call()
    current.wait_stream(side)
    graph = library.cuda.CUDAGraph()
    with library.cuda.graph(graph):
        result = call()
    return graph, result


def _sums(library: Any) -> tuple[Any, Any, Any]:
    """(graph, input, output): the input is added KERNELS times, each time by a kernel that needs the one before."""
    x = library.randn(SIDE, SIDE, device="cuda")

    def call() -> Any:
        total = x
        for _ in range(KERNELS):
            total = total + x
        return total

    graph, total = captured(library, call)
    return graph, x, total


def _small(library: Any, _: Sizes) -> Work:
    graph, x, total = _sums(library)

    def error() -> float:
        x.copy_(library.randn_like(x))
        graph.replay()
        return check.error(check.host(total), (KERNELS + 1) * check.host(x))

    return Work(graph.replay, error)


def _small_raw(_: Sizes) -> Take:
    """An equal graph of flambeau's, launched by a loop in C."""
    kept = _sums(flambeau)
    take = raw.replays(raw.launchable(kept[0]), REPLAYS)
    return lambda: take() if kept else 0.0


def _graphed(library: Any, _: Sizes) -> Work:
    """Forward, backward and the optimizer's step."""
    perceptron = Perceptron(library, capturable=True)
    graph, loss = captured(library, perceptron.step)

    def step() -> Any:
        graph.replay()
        return loss

    return Work(graph.replay, lambda: perceptron.error(step))


def _graphed_beside_eager(library: Any, sizes: Sizes) -> Work:
    if library is flambeau:
        return _graphed(library, sizes)
    perceptron = Perceptron(library)
    return Work(perceptron.step, lambda: perceptron.error(perceptron.step))


row = functools.partial(Row, unit="µs", whole=True)

ROWS = (
    row(
        "graph of 100 small kernels", make=_small, goals=(at_most(1.05, "raw"),), burst=REPLAYS, tolerance=1e-5,
        raw=_small_raw,
    ),
    row(
        "graphed training step, PyTorch's eager", make=_graphed_beside_eager, goals=(at_most(0.1),), burst=STEPS,
        tolerance=STEP_TOLERANCE,
    ),
    row("graphed training step, PyTorch's graphed", make=_graphed, burst=REPLAYS, tolerance=STEP_TOLERANCE),
)  # fmt: skip
