"""Uses of host memory before a copy of it is known to be done: errors under FLAMBEAU_STRICT=1.

- What a copy writes may not be read or written, what it reads may not be written.
- Known is what the host has waited for, or was told: an event or a stream behind the copy, directly or through streams
  that wait for each other.  That the copy happens to be done is not enough, so the answer is the same in every run.
- Only copies of pinned memory are counted as operations of their streams; nothing else needs an order here.
- What was written down about events is forgotten when nothing is on its way.
"""

from __future__ import annotations

import weakref
from typing import NamedTuple

from .. import callers
from ..byte_ranges import ByteRange, byte_range
from ..core.native import Lock
from ..core.storage import Storage
from ..driver.api import EventHandle, StreamHandle
from ..errors import EarlyAccessError
from ..kernel import Access
from ..vector_clock import Clock, VectorClocks
from .arrival import HostUse
from .stream import Stream

WRITTEN_HINT = (
    "call wait() on the tensor that the copy returned or wrote, or synchronize with an event or a stream that comes "
    "after the copy"
)
READ_HINT = "synchronize with an event or a stream that comes after the copy before its source is written again"


class Expected(NamedTuple):
    """Bytes [low, high) that operation `number` of a stream writes, or reads.  site: the line of the copy."""

    memory: weakref.ref[Storage]
    low: int
    high: int
    is_written: bool
    stream: Stream
    number: int
    site: str


class EarlyUses:
    """What copies of one machine's pinned memory are not known to be done."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._clocks = VectorClocks()
        self._points: dict[EventHandle, Clock] = {}
        self._expected: list[Expected] = []

    def expect(self, use: HostUse, stream: Stream) -> None:
        """A copy was put on a stream; the event behind it is not recorded yet."""
        with self._lock:
            number = self._clocks.advance(stream.handle).number
            memory, high = weakref.ref(use.memory), use.low + use.nbytes
            made = Expected(memory, use.low, high, use.is_written, stream, number, callers.call_site())
            self._expected.append(made)

    def recorded(self, event: EventHandle, stream: Stream) -> None:
        if self._expected:
            with self._lock:
                self._points[event] = self._clocks.snapshot(stream.handle)

    def stream_waits(self, stream: Stream, event: EventHandle) -> None:
        if self._expected:
            with self._lock:
                if (point := self._points.get(event)) is not None:
                    self._clocks.learn(stream.handle, point)

    def host_knows_event(self, event: EventHandle) -> None:
        """The host has waited for an event, or was told that it is done."""
        if self._expected:
            with self._lock:
                if (point := self._points.get(event)) is not None:
                    self._host_learns(point)

    def host_knows_streams(self, streams: list[StreamHandle]) -> None:
        """The host has waited for everything on some streams, or was told that it is done."""
        if self._expected:
            with self._lock:
                for stream in streams:
                    self._host_learns(self._clocks.snapshot(stream))

    def _host_learns(self, clock: Clock) -> None:
        self._clocks.host_learn(clock)
        self._expected = [
            each
            for each in self._expected
            if each.memory() is not None and not self._clocks.host_knows(each.stream.handle, each.number)
        ]
        if not self._expected:
            self._points.clear()

    def check(self, access: Access) -> None:
        """Raises EarlyAccessError if the host does what has to wait for a copy."""
        for each in list(self._expected):
            has_to_wait = each.is_written or access.mode != "r"
            if has_to_wait and each.memory() is not None and _touches(access, each):
                raise _error(access, each)


def _touches(access: Access, expected: Expected) -> bool:
    if access.address >= expected.high or expected.low >= access.address + access.nbytes:
        return False
    return access.strides is None or byte_range(access).overlaps(
        ByteRange.dense(expected.low, expected.high - expected.low)
    )


def _error(access: Access, expected: Expected) -> EarlyAccessError:
    verb = "reads" if access.mode == "r" else "writes"
    use = "writes" if expected.is_written else "reads"
    return EarlyAccessError(
        f"{verb} host memory that a non_blocking copy {use}, and has not waited for the copy, which "
        f"was made at {expected.site} on {expected.stream!r}",
        hint=WRITTEN_HINT if expected.is_written else READ_HINT,
        operator=callers.caller(),
    )
