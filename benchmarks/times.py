"""Times, with PyTorch beside flambeau in the same run, and the raw driver where a target hangs on it.

- Host time: a burst of at most 500 calls between two synchronisations, so that a full queue never blocks the host;
  the wait is not timed.
- Whole time, of replays and of what crosses to a process: such a burst, and the wait.
- Device time: events around a burst of about BURST_MS.  The burst is queued behind fills that hold the device for some
  milliseconds, so the time is the device's even where the host is slower.
- Rounds alternate between the sides, so a change of clock meets all.  Median, 10th and 90th percentile.
- Inputs are fresh random numbers.  What a call computes is checked against float64 before it is timed.
- A row that fails says so and does not stop the others.
"""

from __future__ import annotations

import functools
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import flambeau

from .goals import Goal, judged

ROUNDS = 15
BURST = 500  # calls of one launch or none between synchronisations
BURST_MS = 20.0
MAX_DEVICE_BURST = 100  # calls
HOLD_BYTES = 2 << 30
HOLD_FILLS = 6  # about 3 ms

Call = Callable[[], Any]
Take = Callable[[], float]


class Missing(Exception):
    """flambeau has no such thing."""


class Sizes(NamedTuple):
    """The sizes of the device rows; the tests use small ones."""

    elements: int = 1 << 30
    side: int = 1 << 15  # side * side is elements
    row: int = 4096
    square: int = 8192
    small_square: int = 1024
    batch: int = 64
    batch_square: int = 512
    heads: tuple[int, int, int, int] = (8, 16, 4096, 64)
    classes: tuple[int, int] = (4096, 32768)
    parameters: tuple[int, int] = (64, 4 << 20)
    copied_bytes: int = 256 << 20
    sorted: int = 16 << 20
    images: tuple[int, int, int, int] = (128, 64, 56, 56)
    chosen: int = 64
    recurrent: int = 650


class Work(NamedTuple):
    """One side's work: `call` is run once, then `error` tells how wrong what it made is, then `call` is timed.

    amount: what one call on the device moves or computes, in the row's unit times seconds.  close: undoes a setting.
    """

    call: Call
    error: Take
    amount: float = 0.0
    close: Callable[[], None] = lambda: None


class Row(NamedTuple):
    """A measurement.  raw: what makes the raw driver's side of it, from the flambeau library.

    burst: calls between synchronisations for host time; 0 for a rate on the device.  whole: the wait is timed too.
    """

    what: str
    unit: str
    make: Callable[[Any, Sizes], Work]
    goals: tuple[Goal, ...] = ()
    tolerance: float = 0.0
    burst: int = 0
    raw: Callable[[Sizes], Take] | None = None
    whole: bool = False


@functools.cache
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


def cpu_libraries() -> dict[str, Any]:
    """flambeau, and PyTorch with one thread where it is installed, for calls on the CPU."""
    found: dict[str, Any] = {"flambeau": flambeau}
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed: flambeau alone", file=sys.stderr)
    else:
        torch.set_num_threads(1)
        found["torch"] = torch
    return found


def is_real() -> bool:
    from flambeau.core import thread

    return thread.machine().choice.kind == "nvidia"


def measure(rows: Iterable[Row], only: str = "", rounds: int = ROUNDS, sizes: Sizes | None = None) -> Iterator[Any]:
    """Each row whose name has `only` in it, as it is done; a failure is in the row, under "error"."""
    for row in rows:
        if only in row.what:
            yield attempted(row.what, functools.partial(measured, row, sizes or Sizes(), rounds), row.goals, row.unit)


def attempted(what: str, take: Callable[[], dict[str, Any]], goals: tuple[Goal, ...], unit: str) -> dict[str, Any]:
    """A finished row."""
    start = time.perf_counter()
    row: dict[str, Any] = {"what": what, "unit": unit}
    try:
        found = take()
        row |= found | judged(goals, found, unit)
    except Missing as failure:
        row["missing"] = str(failure)
    except Exception as failure:  # noqa: BLE001 (whatever is wrong with one row, the others are measured)
        row["error"] = f"{type(failure).__name__}: {failure}"
        traceback.print_exc()
    row.setdefault("target", " and ".join(goal.text(unit) for goal in goals))
    return row | {"seconds": round(time.perf_counter() - start, 2)}


def measured(row: Row, sizes: Sizes, rounds: int) -> dict[str, Any]:
    """The figures of every side, and their errors.  Raises AssertionError if a result is wrong."""
    for library in libraries().values():
        library.cuda.empty_cache()  # what the row before has left
    works: dict[str, Work] = {}
    errors = {}
    try:
        for side, library in libraries().items():
            works[side] = row.make(library, sizes)
            errors[f"{side} error"] = checked(row, works[side], side)
        takes = _takes(row, works)
        if row.raw is not None and is_real():
            takes["raw"] = row.raw(sizes)
        return errors | alternated(takes, rounds) | ({"whole": True} if row.whole else {})
    finally:
        for work in works.values():
            work.close()


def checked(row: Row, work: Work, side: str = "flambeau") -> float:
    """Run the call once and return its relative error.  Raises AssertionError if that exceeds the row's tolerance."""
    work.call()
    found = work.error()
    if not found <= row.tolerance:
        raise AssertionError(f"{side} is off by {found:.2e}, more than {row.tolerance:.0e}")
    return found


def alternated(takes: dict[str, Take], rounds: int) -> dict[str, Any]:
    """One figure of each side after the other, after a round that warms up."""
    figures: dict[str, list[float]] = {side: [] for side in takes}
    for number in range(rounds + 1):
        for side, take in takes.items():
            value = take()
            if number:
                figures[side].append(value)
    return {side: spread(each) for side, each in figures.items()}


def spread(values: list[float]) -> dict[str, float]:
    """Median, 10th and 90th percentile (nearest rank)."""
    ordered = sorted(values)
    at = {
        name: ordered[round(share * (len(ordered) - 1))]
        for name, share in (("p10", 0.1), ("median", 0.5), ("p90", 0.9))
    }
    return {**at, "rounds": len(ordered)}


def _takes(row: Row, works: dict[str, Work]) -> dict[str, Take]:
    if row.burst:
        return {
            side: functools.partial(host_us, libraries()[side], each.call, row.burst, row.whole)
            for side, each in works.items()
        }
    burst = device_burst(flambeau, works["flambeau"].call)
    return {
        side: functools.partial(_rate, libraries()[side], each.call, burst, each.amount) for side, each in works.items()
    }


def host_us(library: Any, call: Call, count: int, whole: bool = False) -> float:
    """Microseconds of host time per call; `whole`: of the device's work too."""
    library.cuda.synchronize()
    start = time.perf_counter_ns()
    for _ in range(count):
        call()
    taken = time.perf_counter_ns() - start
    library.cuda.synchronize()
    if whole:
        taken = time.perf_counter_ns() - start
    return taken / count / 1000


def _rate(library: Any, call: Call, count: int, amount: float) -> float:
    return amount * count / (device_ms(library, call, count) / 1000)


def device_burst(library: Any, call: Call) -> int:
    """How many calls take about BURST_MS."""
    call()
    return max(1, min(MAX_DEVICE_BURST, int(BURST_MS / max(device_ms(library, call, 2) / 2, 1e-3))))


def device_ms(library: Any, call: Call, count: int) -> float:
    """Milliseconds of `count` calls on the device."""
    start, end = library.cuda.Event(enable_timing=True), library.cuda.Event(enable_timing=True)
    library.cuda.synchronize()
    if is_real():
        for _ in range(HOLD_FILLS):
            _held(library).zero_()
    start.record()
    for _ in range(count):
        call()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end))


@functools.cache
def _held(library: Any) -> Any:
    return library.empty(HOLD_BYTES // 4, device="cuda")
