"""Reads and writes of host memory before a copy into it is known to have arrived: errors under FLAMBEAU_STRICT=1.

- Known is what the host has waited for, or was told: an event or a stream behind the copy, directly or through streams
  that wait for each other.  That the copy happens to be done is not enough, so the answer is the same in every run.
- Only copies to the host are counted as operations of their streams; nothing else needs an order here.
- What was written down about events is forgotten when nothing is on its way.
"""

from __future__ import annotations

import threading
import weakref
from typing import NamedTuple

from .. import trace
from ..driver.api import EventHandle, StreamHandle
from ..errors import EarlyReadError
from ..kernel import Access
from ..order import HOST, Clock, Order, bytes_overlap
from .storage import Storage
from .stream import Stream

HINT = (
    "call wait() on the tensor that the copy returned or wrote, or synchronize with an event or a stream that comes "
    "after the copy"
)


class Expected(NamedTuple):
    """Bytes [low, high) that operation `number` of a stream writes.  site: the line of the copy."""

    memory: weakref.ref[Storage]
    low: int
    high: int
    stream: Stream
    number: int
    site: str


class EarlyReads:
    """What is on its way to one machine's pinned memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._order = Order()
        self._points: dict[EventHandle, Clock] = {}
        self._expected: list[Expected] = []

    def expect(self, storage: Storage, low: int, nbytes: int, stream: Stream) -> None:
        """A copy was put on a stream; the event behind it is not recorded yet."""
        with self._lock:
            number, _ = self._order.advance(stream.handle)
            made = Expected(weakref.ref(storage), low, low + nbytes, stream, number, trace.call_site())
            self._expected.append(made)

    def recorded(self, event: EventHandle, stream: Stream) -> None:
        if self._expected:
            with self._lock:
                self._points[event] = self._order.snapshot(stream.handle)

    def stream_waits(self, stream: Stream, event: EventHandle) -> None:
        if self._expected:
            with self._lock:
                self._order.learn(stream.handle, self._points.get(event, {}))

    def host_knows_event(self, event: EventHandle) -> None:
        """The host has waited for an event, or was told that it is done."""
        if self._expected:
            with self._lock:
                self._host_learns(self._points.get(event, {}))

    def host_knows_streams(self, streams: list[StreamHandle]) -> None:
        """The host has waited for everything on some streams, or was told that it is done."""
        if self._expected:
            with self._lock:
                for stream in streams:
                    self._host_learns(self._order.snapshot(stream))

    def _host_learns(self, clock: Clock) -> None:
        self._order.learn(HOST, clock)
        self._expected = [
            each
            for each in self._expected
            if each.memory() is not None and not self._order.host_knows(each.stream.handle, each.number)
        ]
        if not self._expected:
            self._points.clear()

    def check(self, access: Access) -> None:
        """Raises EarlyReadError if the host touches bytes that are on their way."""
        for each in list(self._expected):
            if each.memory() is not None and _touches(access, each):
                raise _error(access, each)


def _touches(access: Access, expected: Expected) -> bool:
    low, high = max(access.address, expected.low), min(access.address + access.nbytes, expected.high)
    if low >= high:
        return False
    if access.strides is None:
        return True
    size = access.dtype.itemsize
    arriving = (expected.low, (expected.high - expected.low,), None, 1)
    return bool(bytes_overlap(access.address, access.shape, access.strides, size, *arriving, low, high))


def _error(access: Access, expected: Expected) -> EarlyReadError:
    verb = "reads" if access.mode == "r" else "writes"
    return EarlyReadError(
        f"{trace.caller()}: {verb} host memory that a non_blocking copy writes, and has not waited for the copy, which "
        f"was made at {expected.site} on {expected.stream!r}",
        hint=HINT,
    )
