"""NVTX ranges and marks, and start and stop of CUDA profilers that collect on request.

- Ranges go to NVIDIA's profilers on NVIDIA GPUs, and to an open `flambeau.profile()` on every GPU.
- Ranges of `range_push` nest within a thread; those of `range_start` may end in another thread.
- `flambeau.profile()` collects on its own and ignores `start` and `stop`.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from .. import driver
from ..core import thread
from ..core.queue import hooks
from ..driver.api import Markers
from ..errors import ArgumentError
from . import cuda_memory


class Moment(NamedTuple):
    """A time of the driver's host clock.  held_nbytes: what tensors hold then on all devices."""

    time_ns: int
    held_nbytes: int


class Open(NamedTuple):
    """An open range.  start: None if no tool listened then;  begun: the range's id in the profiler."""

    text: str
    start: Moment | None
    begun: int = 0


class _Nested(threading.local):
    def __init__(self) -> None:
        self.ranges: list[Open] = []


_nested = _Nested()
_started: dict[int, Open] = {}
_numbers = itertools.count(1)


def mark(msg: str) -> None:
    """Mark the current time with a text in the timelines of profilers.

    msg: the text; another value is converted by `str`.
    Example:
        >>> torch.cuda.nvtx.mark("epoch 1")
    """
    if (markers := _markers()) is not None:
        markers.mark(str(msg))
    now = _now()
    _report(Open(str(msg), now), now)


def range_push(msg: str) -> int:
    """Begin a nested range of this thread; return its depth, 0 for the outermost.

    msg: the text; another value is converted by `str`.
    Example:
        >>> torch.cuda.nvtx.range_push("step"), torch.cuda.nvtx.range_push("forward")
        (0, 1)
        >>> torch.cuda.nvtx.range_pop(), torch.cuda.nvtx.range_pop()
        (1, 0)
    """
    opened = Open(str(msg), _now())
    if (markers := _markers()) is not None:
        markers.push(opened.text)
    _nested.ranges.append(opened)
    return len(_nested.ranges) - 1


def range_pop() -> int:
    """End this thread's innermost range; return its depth, or -1 without an open range.

    Example:
        >>> torch.cuda.nvtx.range_push("step")
        0
        >>> torch.cuda.nvtx.range_pop()
        0
        >>> torch.cuda.nvtx.range_pop()
        -1
    """
    if not _nested.ranges:
        return -1
    ended = _nested.ranges.pop()
    if (markers := _markers()) is not None:
        markers.pop()
    _report(ended, _now())
    return len(_nested.ranges)


def range_start(msg: str) -> int:
    """Begin a range that any thread may end; return its id, which `range_end` takes.

    msg: the text; another value is converted by `str`.
    Example:
        >>> number = torch.cuda.nvtx.range_start("load")
        >>> torch.cuda.nvtx.range_end(number)
    """
    text, markers, number = str(msg), _markers(), next(_numbers)
    _started[number] = Open(text, _now(), 0 if markers is None else markers.begin(text))
    return number


def range_end(range_id: int) -> None:
    """End the range that `range_start` began; range_id: the id that it returned.

    Raises: ArgumentError for an unknown or ended range.
    Example:
        >>> number = torch.cuda.nvtx.range_start("load")
        >>> torch.cuda.nvtx.range_end(number)
    """
    ended = _started.pop(range_id, None)
    if ended is None:
        raise ArgumentError(
            f"there is no open range {range_id}",
            hint="pass the result of range_start(), and end each range only once",
            operator="range_end",
        )
    if (markers := _markers()) is not None:
        markers.end(ended.begun)
    _report(ended, _now())


@contextmanager
def range(msg: str, *args: object, **kwargs: object) -> Iterator[None]:
    """Show a `with` block, or each call of a decorated function, as a range in the timelines of profilers.

    msg: the range's text; `str.format` inserts the other arguments.
    Raises: the errors of `str.format`, if the text does not fit the other arguments.
    Example:
        >>> with torch.cuda.nvtx.range("step {}", 3):
        ...     x = torch.ones(2)
        >>> @torch.cuda.nvtx.range("double")
        ... def double(x):
        ...     return x * 2
        >>> double(x)
        tensor([2., 2.])
    """
    with named(str(msg).format(*args, **kwargs)):
        yield


@contextmanager
def named(text: str) -> Iterator[None]:
    """Like `range`, without formatting the text."""
    range_push(text)
    try:
        yield
    finally:
        range_pop()


@contextmanager
def emit_nvtx(enabled: bool = True, record_shapes: bool = False) -> Iterator[None]:
    """Return a context without effect: operators get no NVTX ranges, and the program's own ranges always appear.

    Example:
        >>> with torch.autograd.profiler.emit_nvtx():
        ...     x = torch.ones(2)
    """
    yield


def _report(ended: Open, now: Moment | None) -> None:
    if hooks.on_range is not None and now is not None:
        start_ns, before = ended.start or (None, now.held_nbytes)
        hooks.on_range(ended.text, start_ns, now.time_ns, now.held_nbytes - before)


def _markers() -> Markers | None:
    return driver.markers(thread.machine().choice)


def _now() -> Moment | None:
    """Return the current moment; None if no hook listens for ranges, or the machine has not started."""
    machine = thread.machine()
    if hooks.on_range is None or not machine.is_started:
        return None
    return Moment(machine.driver.host_ns(), cuda_memory.allocated_bytes())


def start() -> None:
    """Start collection by an attached profiler, such as Nsight Systems.  Initializes CUDA.

    `flambeau.profile()` collects on its own and ignores this call.
    Raises: NoDeviceError if there is no GPU, AcceleratorError if the driver refuses.
    Example:
        >>> torch.cuda.profiler.start()
        >>> x = torch.ones(2, device="cuda")
        >>> torch.cuda.profiler.stop()
    """
    machine = thread.machine()
    machine.start()
    machine.driver.profiler_start()


def stop() -> None:
    """Stop collection by an attached profiler, such as Nsight Systems.  Initializes CUDA.

    Raises: NoDeviceError if there is no GPU, AcceleratorError if the driver refuses.
    Example:
        >>> torch.cuda.profiler.start()
        >>> x = torch.ones(2, device="cuda")
        >>> torch.cuda.profiler.stop()
    """
    machine = thread.machine()
    machine.start()
    machine.driver.profiler_stop()


@contextmanager
def profile() -> Iterator[None]:
    """Enable collection by an attached profiler inside a `with` block.

    Raises: NoDeviceError if there is no GPU, AcceleratorError if the driver refuses.
    Example:
        >>> with torch.cuda.profiler.profile():
        ...     x = torch.ones(2, device="cuda")
    """
    start()
    try:
        yield
    finally:
        stop()
