"""The gate of NVIDIA's profilers: they may be told to collect only between `start` and `stop`.

`flambeau.profile()` collects by itself, on every GPU, and does not look at this gate.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from .. import driver
from ..core import thread
from ..driver.api import Markers
from ..errors import ArgumentError
from ..hooks import hooks


class Open(NamedTuple):
    """A range that has not ended.  start_ns: None if nobody watched then;  begun: the profiler's name for it."""

    text: str
    start_ns: int | None
    begun: int = 0


class _Nested(threading.local):
    def __init__(self) -> None:
        self.ranges: list[Open] = []


_nested = _Nested()
_started: dict[int, Open] = {}
_numbers = itertools.count(1)


def mark(msg: str) -> None:
    """Say that something happened now."""
    if (markers := _markers()) is not None:
        markers.mark(str(msg))
    now = _now()
    _report(Open(str(msg), now), now)


def range_push(msg: str) -> int:
    """Begin a range inside this thread's innermost one; how many it is inside of, so 0 for the first."""
    opened = Open(str(msg), _now())
    if (markers := _markers()) is not None:
        markers.push(opened.text)
    _nested.ranges.append(opened)
    return len(_nested.ranges) - 1


def range_pop() -> int:
    """End this thread's innermost range; how many it was inside of, or -1 if there is none."""
    if not _nested.ranges:
        return -1
    ended = _nested.ranges.pop()
    if (markers := _markers()) is not None:
        markers.pop()
    _report(ended, _now())
    return len(_nested.ranges)


def range_start(msg: str) -> int:
    """Begin a range that any thread may end, with the number that this returns."""
    text, markers, number = str(msg), _markers(), next(_numbers)
    _started[number] = Open(text, _now(), 0 if markers is None else markers.begin(text))
    return number


def range_end(range_id: int) -> None:
    """End what `range_start` began.  Raises ArgumentError if there is no such range, or it has ended."""
    ended = _started.pop(range_id, None)
    if ended is None:
        raise ArgumentError(
            f"there is no range {range_id}", hint="give what range_start returned, once", operator="range_end"
        )
    if (markers := _markers()) is not None:
        markers.end(ended.begun)
    _report(ended, _now())


@contextmanager
def range(msg: str, *args: object, **kwargs: object) -> Iterator[None]:
    """`with nvtx.range("step {}", n):`, or `@nvtx.range("step")` on a function: a range around what is inside."""
    with named(str(msg).format(*args, **kwargs)):
        yield


@contextmanager
def named(text: str) -> Iterator[None]:
    """As `range`, of a text that is taken as it is."""
    range_push(text)
    try:
        yield
    finally:
        range_pop()


def _report(ended: Open, now_ns: int | None) -> None:
    if hooks.on_range is not None and now_ns is not None:
        hooks.on_range(ended.text, ended.start_ns, now_ns)


def _markers() -> Markers | None:
    return driver.markers(thread.machine().choice)


def _now() -> int | None:
    """The host's clock as the driver has it; None if nobody watches."""
    machine = thread.machine()
    return machine.driver.host_ns() if hooks.on_range is not None and machine.is_started else None


def start() -> None:
    """Let a profiler that waits for it collect from now on.  Starts the machine.  Raises AcceleratorError."""
    machine = thread.machine()
    machine.start()
    machine.driver.profiler_start()


def stop() -> None:
    """Let a profiler collect no more.  Starts the machine.  Raises AcceleratorError."""
    machine = thread.machine()
    machine.start()
    machine.driver.profiler_stop()


@contextmanager
def profile() -> Iterator[None]:
    """`with profiler.profile():` lets a profiler collect inside the block."""
    start()
    try:
        yield
    finally:
        stop()
