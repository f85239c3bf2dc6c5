"""Copies of pinned memory that are done later, and waiting for one that writes it.

A pinned block keeps one `Arrival` per copy that writes it, with an event that was recorded behind it, until it was
waited for or a later copy of the same stream covers it.  The block is not used again before they are done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..core.native import Lock
from ..core.storage import Storage
from ..driver.api import EventHandle, StreamHandle
from ..memory.pending import is_done
from .stream import Event, Stream

MANY = 16  # arrivals of one block: with more, those that are done are dropped first

_lock = Lock()


class HostUse(NamedTuple):
    """What an asynchronous copy reads, or writes, of a pinned storage: `nbytes` at the address `low`."""

    memory: Storage
    low: int
    nbytes: int
    is_written: bool


class Arrival:
    """The bytes [low, high) of the host, which a copy on `stream` writes before `event`."""

    __slots__ = ("event", "high", "low", "stream")

    def __init__(self, low: int, high: int, stream: Stream, event: Event) -> None:
        self.low = low
        self.high = high
        self.stream = stream
        self.event = event

    @property
    def place(self) -> tuple[StreamHandle, EventHandle]:
        """The stream, and the driver's event behind the copy."""
        return self.stream.handle, self.event.handle

    def covers(self, other: Arrival) -> bool:
        """Whether waiting for this one, which came later, is waiting for the other."""
        return self.stream is other.stream and self.low <= other.low and other.high <= self.high


def expect(uses: Sequence[HostUse], stream: Stream) -> None:
    """Copies were put on a stream.  Host: returns at once."""
    if stream.machine.strict is not None:
        for each in uses:
            stream.machine.strict.host.expect(each, stream)
    written = [each for each in uses if each.is_written]
    if written:
        event = stream.record_event()
        for each in written:
            add(each.memory, each.low, each.nbytes, stream, event)


def add(memory: Storage, low: int, nbytes: int, stream: Stream, event: Event) -> None:
    """A copy that writes `nbytes` at the address `low` was put on a stream, and an event behind it."""
    made = Arrival(low, low + nbytes, stream, event)
    block = memory.block
    with _lock:
        kept = block.arrivals
        if kept:
            kept = [each for each in kept if not made.covers(each)]
            if len(kept) >= MANY and stream.machine.capture is None:
                kept = [each for each in kept if not is_done(stream.machine.driver, each.event.handle)]
        block.arrivals = [*kept, made]


def wait_for(storage: Storage, low: int, nbytes: int) -> None:
    """Wait for the copies into `nbytes` at the address `low` that are on their way.  Host: waits."""
    if not storage.is_pinned:
        return
    high = low + nbytes
    found = [each for each in storage.block.arrivals if each.low < high and low < each.high]
    for each in found:
        each.event.synchronize()
    with _lock:
        storage.block.arrivals = [each for each in storage.block.arrivals if each not in found]
