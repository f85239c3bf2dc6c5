"""`python -m benchmarks.cpu_rows [--only TEXT] [--rounds N]`: calls without a GPU, beside PyTorch's in one run.

Tensors are 16x16 float32 on the CPU, one thread; the rows of a virtual GPU are beside PyTorch's same call on the CPU.
Microseconds a call, medians of rounds that alternate between the two.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from .times import cpu_libraries

SIDE, INNER = 16, 64
BURST = 500  # calls per round: a virtual GPU's full queue would block the host
ROUNDS = 31

Call = Callable[[int], Any]  # with the number of the call


class Row(NamedTuple):
    """goal: the most, as a multiple of PyTorch's time.  make: returns the call, given a library and a device.

    waits: whether the time includes the work on the virtual GPU.
    """

    what: str
    goal: float
    make: Callable[[Any, str], Call]
    device: str = "cpu"
    waits: bool = False
    burst: int = BURST


def _square(library: Any, device: str, **options: Any) -> Any:
    return library.randn(SIDE, SIDE, device=device, **options)


def _of_one(apply: Callable[[Any, int], Any]) -> Callable[[Any, str], Call]:
    def make(library: Any, device: str) -> Call:
        a = _square(library, device)
        return lambda number: apply(a, number)

    return make


def _of_two(apply: Callable[[Any, Any], Any]) -> Callable[[Any, str], Call]:
    def make(library: Any, device: str) -> Call:
        a, b = _square(library, device), _square(library, device)
        return lambda _: apply(a, b)

    return make


def _ever_new_index(library: Any, device: str) -> Call:
    """No index comes twice, within a burst or in a later one of the usual rounds."""
    rows = BURST * (ROUNDS + 1)
    a, indexes = library.randn(rows, SIDE, device=device), itertools.cycle(range(rows))
    return lambda _: a[next(indexes)]


def _backward(library: Any, device: str) -> Call:
    x, y = _square(library, device, requires_grad=True), _square(library, device)

    def call(_: int) -> None:
        x.grad = None
        (x * y).relu().sum().backward()

    return call


def _training(library: Any, device: str) -> Call:
    nn = library.nn
    net = nn.Sequential(nn.Linear(SIDE, INNER), nn.ReLU(), nn.Linear(INNER, SIDE)).to(device)
    optimizer = library.optim.SGD(net.parameters(), lr=1e-3)
    x, y = _square(library, device), _square(library, device)

    def call(_: int) -> None:
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()

    return call


ROWS = (
    Row("a + b", 1.5, _of_two(lambda a, b: a + b)),
    Row("a * 2", 1.5, _of_one(lambda a, _: a * 2)),
    Row("relu", 1.5, _of_one(lambda a, _: a.relu())),
    Row("sum", 3.5, _of_one(lambda a, _: a.sum())),
    Row("a @ b", 3, _of_two(lambda a, b: a @ b)),
    Row("softmax", 7, _of_one(lambda a, _: a.softmax(-1))),
    Row("(x*y).relu().sum() and backward", 1.5, _backward, burst=BURST // 10),
    Row("training step of a perceptron", 1.6, _training, burst=BURST // 10),
    Row("a[i], ever new i", 1.2, _ever_new_index),
    Row("a[i:j]", 1.2, _of_one(lambda a, number: a[number % 8 : 9 + number % 7])),
    Row("t", 1.2, _of_one(lambda a, _: a.t())),
    Row("reshape(-1)", 1.2, _of_one(lambda a, _: a.reshape(-1))),
    Row("chunk(4)", 1.2, _of_one(lambda a, _: a.chunk(4))),
    Row("split(4)", 1.2, _of_one(lambda a, _: a.split(4))),
    Row("a + b on a virtual GPU, the call", 7, _of_two(lambda a, b: a + b), "cuda"),
    Row("a + b on a virtual GPU, with its run", 15, _of_two(lambda a, b: a + b), "cuda", waits=True),
)


def microseconds(library: Any, row: Row, call: Call, on_gpu: bool) -> float:
    """Return the time of one call."""
    start = time.perf_counter_ns()
    for number in range(row.burst):
        call(number)
    if on_gpu and row.waits:
        library.cuda.synchronize()
    taken = time.perf_counter_ns() - start
    if on_gpu:
        library.cuda.synchronize()
    return taken / row.burst / 1000


def measured(row: Row, libraries: dict[str, Any], rounds: int) -> dict[str, float]:
    """Return the median of each library, after a round that warms up."""
    takes = {}
    for name, library in libraries.items():
        on_gpu = row.device != "cpu" and name == "flambeau"
        takes[name] = library, row, row.make(library, row.device if on_gpu else "cpu"), on_gpu
    times: dict[str, list[float]] = {name: [] for name in takes}
    for number in range(rounds + 1):
        for name, take in takes.items():
            found = microseconds(*take)
            if number:
                times[name].append(found)
    return {name: statistics.median(each) for name, each in times.items()}


def main() -> int:
    os.environ.setdefault("FLAMBEAU_GPUS", "virtual:1")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    libraries = cpu_libraries()
    print(f"{'microseconds a call':40}" + "".join(f"{name:>10}" for name in libraries) + f"{'ratio':>8}{'goal':>8}")
    missed = 0
    for row in ROWS:
        if options.only in row.what:
            found = measured(row, libraries, options.rounds)
            ratio = found["flambeau"] / found["torch"] if "torch" in found else 0.0
            missed += ratio > row.goal
            cells = "".join(f"{each:10.2f}" for each in found.values())
            print(f"{row.what:40}{cells}{ratio:8.2f}{row.goal:8}", flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
