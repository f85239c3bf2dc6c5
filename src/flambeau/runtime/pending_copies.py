"""Pending copies: asynchronous copies into pinned memory, and waiting for them.

A pinned block keeps a `PendingCopy` for each copy that writes it, with an event recorded after the copy.  This entry is
dropped when the copy has been waited for, or when a later copy on the same stream covers it.  The block is not reused
before all of its copies are done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..core.native import Lock
from ..core.storage import Storage
from ..driver.api import EventHandle, StreamHandle
from ..memory.pending import is_done
from .stream import Event, Stream

MAX_PENDING = 16  # entries per block from which completed copies are dropped

_lock = Lock()


class HostUse(NamedTuple):
    """The bytes of a pinned storage that an asynchronous copy reads or writes: `nbytes` at the address `low`."""

    memory: Storage
    low: int
    nbytes: int
    is_written: bool


class PendingCopy:
    """A copy on `stream` that writes the host bytes [low, high); `event` was recorded after it."""

    __slots__ = ("event", "high", "low", "stream")

    def __init__(self, low: int, high: int, stream: Stream, event: Event) -> None:
        self.low = low
        self.high = high
        self.stream = stream
        self.event = event

    @property
    def place(self) -> tuple[StreamHandle, EventHandle]:
        """The handles of the stream and of the event after the copy."""
        return self.stream.handle, self.event.handle

    def covers(self, other: PendingCopy) -> bool:
        """Return whether waiting for this later copy also waits for the other."""
        return self.stream is other.stream and self.low <= other.low and other.high <= self.high


def expect(uses: Sequence[HostUse], stream: Stream) -> None:
    """Register copies that were submitted to a stream.  Host: returns at once."""
    if stream.machine.strict is not None:
        for use in uses:
            stream.machine.strict.host.expect(use, stream)
    written = [use for use in uses if use.is_written]
    if written:
        event = stream.record_event()
        for use in written:
            add(use.memory, use.low, use.nbytes, stream, event)


def add(memory: Storage, low: int, nbytes: int, stream: Stream, event: Event) -> None:
    """Register a submitted copy that writes `nbytes` at the address `low`, and the event recorded after it."""
    new = PendingCopy(low, low + nbytes, stream, event)
    block = memory.block
    with _lock:
        kept = block.pending_copies
        if kept:
            kept = [copy for copy in kept if not new.covers(copy)]
            if len(kept) >= MAX_PENDING and stream.machine.capture is None:
                kept = [copy for copy in kept if not is_done(stream.machine.driver, copy.event.handle)]
        block.pending_copies = [*kept, new]


def wait_for(storage: Storage, low: int, nbytes: int) -> None:
    """Wait for pending copies into `nbytes` at the address `low`.  Host: waits."""
    if not storage.is_pinned:
        return
    high = low + nbytes
    overlapping = [copy for copy in storage.block.pending_copies if copy.low < high and low < copy.high]
    for copy in overlapping:
        copy.event.synchronize()
    with _lock:
        storage.block.pending_copies = [copy for copy in storage.block.pending_copies if copy not in overlapping]
