"""Times, with PyTorch beside flambeau in the same run.

- Host time: a burst of at most 500 launches between two synchronisations, so that a full queue never blocks the host;
  the wait is not timed.  Device time: events around the calls, one warm burst first.
- Rounds alternate between the two libraries, so a change of clock meets both.  Median, 10th and 90th percentile.
- Inputs are fresh random numbers.  Every device result is checked against float64 before it is timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import flambeau

from . import check

ROUNDS = 21
BURST = 500  # calls of one launch or none between synchronisations
TRAINING_BURST = 10  # training steps
DEVICE_BURST = 10
ELEMENTS = 1 << 30
SQUARE = 8192
COPY_BYTES = 1 << 30

Call = Callable[[], Any]


class Device(NamedTuple):
    """A measurement on the device: `make(library)` gives the call and its check; reported is `amount` per second."""

    name: str
    make: Callable[[Any], tuple[Call, Callable[[], float]]]
    amount: float
    unit: str
    tolerance: float


def libraries() -> dict[str, Any]:
    """flambeau, and PyTorch where it is installed and can use a GPU of its own."""
    found: dict[str, Any] = {"flambeau": flambeau}
    if not is_real():
        return found
    try:
        import torch
    except ImportError:  # measured alone
        return found
    if torch.cuda.is_available():
        found["torch"] = torch
    return found


def is_real() -> bool:
    from flambeau.runtime import state

    return state.machine().choice.kind == "nvidia"


def measure(only: str = "", rounds: int = ROUNDS) -> list[dict[str, Any]]:
    """Every time whose name has `only` in it: host times, and on a real GPU device times."""
    found = [host_times(name, make, burst, rounds) for name, (make, burst) in HOST.items() if only in name]
    if is_real():
        found += [device_times(each, rounds) for each in DEVICE if only in each.name]
    return found


# host


def host_times(name: str, make: Callable[[Any], Call], burst: int, rounds: int) -> dict[str, Any]:
    """Microseconds of host time per call."""
    sides = libraries()
    made = {side: make(library) for side, library in sides.items()}
    figures: dict[str, list[float]] = {side: [] for side in sides}
    for number in range(rounds + 1):
        for side, library in sides.items():
            taken = _burst(library, made[side], burst)
            if number:  # the first round warms up
                figures[side].append(taken)
    return {"name": name, "kind": "host", "unit": "µs", **{side: spread(each) for side, each in figures.items()}}


def _burst(library: Any, call: Call, count: int) -> float:
    library.cuda.synchronize()
    start = time.perf_counter_ns()
    for _ in range(count):
        call()
    taken = time.perf_counter_ns() - start
    library.cuda.synchronize()
    return taken / count / 1000


def _pair(library: Any, *shape: int) -> tuple[Any, Any]:
    return library.randn(*shape, device="cuda"), library.randn(*shape, device="cuda")


def _add(library: Any) -> Call:
    a, b = _pair(library, 64, 64)
    return lambda: a + b


def _empty(library: Any) -> Call:
    return lambda: library.empty(64, 64, device="cuda")


def _slice(library: Any) -> Call:
    a, _ = _pair(library, 64, 64)
    return lambda: a[1:]


def _matmul(library: Any) -> Call:
    a, b = _pair(library, 64, 64)
    return lambda: a @ b


def _record(library: Any) -> Call:
    event = library.cuda.Event()
    return lambda: event.record()


def _with_stream(library: Any) -> Call:
    side = library.cuda.Stream()

    def call() -> None:
        with library.cuda.stream(side):
            pass

    return call


def _training(library: Any) -> Call:
    nn = library.nn
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).cuda()
    x, y = library.randn(32, 64, device="cuda"), library.randint(0, 10, (32,), device="cuda")

    def call() -> None:
        net.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()

    return call


HOST: dict[str, tuple[Callable[[Any], Call], int]] = {
    "add": (_add, BURST),
    "empty": (_empty, BURST),
    "slice": (_slice, BURST),
    "matmul": (_matmul, BURST),
    "event.record": (_record, BURST),
    "with stream": (_with_stream, BURST),
    "forward+backward": (_training, TRAINING_BURST),
}


# device


def device_times(what: Device, rounds: int) -> dict[str, Any]:
    """Rates on the device, and relative errors against float64.  Raises AssertionError if a result is wrong."""
    sides = libraries()
    result: dict[str, Any] = {"name": what.name, "kind": "device", "unit": what.unit}
    figures: dict[str, list[float]] = {side: [] for side in sides}
    made = {}
    for side, library in sides.items():
        made[side], error = what.make(library)
        made[side]()
        result[f"{side} error"] = found = error()
        assert found <= what.tolerance, f"{what.name}: {side} is off by {found:.2e}, more than {what.tolerance:.0e}"
    for number in range(rounds + 1):
        for side, library in sides.items():
            milliseconds = _device_burst(library, made[side])
            if number:
                figures[side].append(what.amount / (milliseconds / 1000))
    made.clear()
    for library in sides.values():
        library.cuda.empty_cache()
    return result | {side: spread(each) for side, each in figures.items()}


def _device_burst(library: Any, call: Call) -> float:
    """Milliseconds per call."""
    start, end = library.cuda.Event(enable_timing=True), library.cuda.Event(enable_timing=True)
    library.cuda.synchronize()
    start.record()
    for _ in range(DEVICE_BURST):
        call()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) / DEVICE_BURST


def _large_add(library: Any) -> tuple[Call, Callable[[], float]]:
    a, b = _pair(library, ELEMENTS)
    out = library.full((ELEMENTS,), float("nan"), device="cuda")
    return lambda: library.add(a, b, out=out), lambda: check.pointwise(lambda x, y: x + y, out, a, b)


def _large_exp(library: Any) -> tuple[Call, Callable[[], float]]:
    a, _ = _pair(library, ELEMENTS)
    out = library.full((ELEMENTS,), float("nan"), device="cuda")
    return lambda: library.exp(a, out=out), lambda: check.pointwise(check.exp, out, a)


def _large_sum(library: Any) -> tuple[Call, Callable[[], float]]:
    a = library.rand(ELEMENTS, device="cuda")
    return lambda: a.sum(), lambda: check.total(a.sum(), a)


def _product(dtype: str) -> Callable[[Any], tuple[Call, Callable[[], float]]]:
    def make(library: Any) -> tuple[Call, Callable[[], float]]:
        a, b = (each.to(getattr(library, dtype)) for each in _pair(library, SQUARE, SQUARE))
        return lambda: a @ b, lambda: check.product(a @ b, a, b)

    return make


def _to_device(library: Any) -> tuple[Call, Callable[[], float]]:
    host = library.randn(COPY_BYTES // 4).pin_memory()
    device = library.full((COPY_BYTES // 4,), float("nan"), device="cuda")
    return lambda: device.copy_(host, non_blocking=True), lambda: check.same(device, host)


def _to_host(library: Any) -> tuple[Call, Callable[[], float]]:
    device = library.randn(COPY_BYTES // 4, device="cuda")
    host = library.full((COPY_BYTES // 4,), float("nan")).pin_memory()

    def error() -> float:
        library.cuda.synchronize()
        return check.same(device, host)

    return lambda: host.copy_(device, non_blocking=True), error


DEVICE = (
    Device("add 1Gi float32", _large_add, 3 * 4 * ELEMENTS / 1e12, "TB/s", 1e-6),
    Device("exp 1Gi float32", _large_exp, 2 * 4 * ELEMENTS / 1e12, "TB/s", 1e-6),
    Device("sum 1Gi float32", _large_sum, 4 * ELEMENTS / 1e12, "TB/s", 1e-5),
    Device("matmul bfloat16", _product("bfloat16"), 2 * SQUARE**3 / 1e12, "TFLOP", 1e-2),
    Device("matmul float32", _product("float32"), 2 * SQUARE**3 / 1e12, "TFLOP", 1e-5),
    Device("pinned to cuda", _to_device, COPY_BYTES / 1e9, "GB/s", 0.0),
    Device("cuda to pinned", _to_host, COPY_BYTES / 1e9, "GB/s", 0.0),
)


def spread(values: list[float]) -> dict[str, float]:
    """Median, 10th and 90th percentile (nearest rank)."""
    ordered = sorted(values)
    at = {
        name: ordered[round(share * (len(ordered) - 1))]
        for name, share in (("p10", 0.1), ("median", 0.5), ("p90", 0.9))
    }
    return {**at, "rounds": len(ordered)}
