"""Freed blocks that other streams may still use, and the events that they wait for.

- A block waits for one event per recorded stream, and for earlier events that `follow` added.
- There is one first-in-first-out queue per stream.  Events of a stream complete in order, so polling stops at the
  first that is not done, and a slow stream never delays the blocks of another.  An event added by `follow` may
  be older than those ahead of it, which only delays its block.
- While no queue exists, the driver is not queried.  A query only lets blocks be reused; it orders no work of the
  program, which has to order its own work.
- During a capture nothing is recorded, queried or waited for.  The events are recorded when the last capture ends.
- The allocator that owns a `Pending` holds its lock around every call.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from ..driver.api import Address, Driver, EventHandle, StreamHandle

RecordEvent = Callable[[StreamHandle], EventHandle]


class Awaitable(Protocol):
    """A block that waits for events.

    streams: recorded streams without an event yet;  pending: the number of unfinished events, recorded or not.
    """

    address: Address
    streams: list[StreamHandle]
    pending: int


B = TypeVar("B", bound=Awaitable)


def is_done(driver: Driver, event: EventHandle) -> bool:
    """Return whether an event is done, for internal use: the query orders no work of the program."""
    return driver.event_query(event, False) if driver.capabilities.finds_races else driver.event_query(event)


def wait_for(driver: Driver, event: EventHandle) -> None:
    """Wait for an event, for internal use like `is_done`.  Host: waits."""
    if driver.capabilities.finds_races:
        driver.event_synchronize(event, False)
    else:
        driver.event_synchronize(event)


class Pending(Generic[B]):
    """Queues of events, and the blocks that wait for them."""

    __slots__ = ("_captures", "_deferred", "_driver", "_record_event", "queues")

    def __init__(self, driver: Driver, record_event: RecordEvent) -> None:
        self.queues: dict[StreamHandle, deque[tuple[EventHandle, B, object]]] = {}
        self._driver = driver
        self._record_event = record_event
        self._captures = 0
        self._deferred: list[B] = []

    @property
    def is_capturing(self) -> bool:
        return self._captures > 0

    def capture_started(self) -> None:
        self._captures += 1

    def capture_ended(self) -> None:
        self._captures -= 1
        self._record_deferred()

    def add(self, block: B) -> None:
        """Record events on a block's streams, and hold the block until they are done.  After an error, call again."""
        block.pending = block.pending or len(block.streams)
        if self._captures:
            self._deferred.append(block)
        else:
            self._record(block)

    def put_off(self, block: B) -> None:
        """Like `add`, without a driver call: the next `poll` or `wait` records the events."""
        block.pending = block.pending or len(block.streams)
        self._deferred.append(block)
        self.queues.setdefault(block.streams[0], deque())

    def _record_deferred(self) -> None:
        while self._deferred and not self._captures:
            self._record(self._deferred[-1])
            self._deferred.pop()

    def _record(self, block: B) -> None:
        while block.streams:
            stream = block.streams[0]
            event = self._record_event(stream)
            self.queues.setdefault(stream, deque()).append((event, block, None))
            del block.streams[0]

    def follow(self, block: B, stream: StreamHandle, event: EventHandle, owner: object) -> None:
        """Make a block wait for another event, recorded on a stream.  The event's owner destroys it."""
        block.pending += 1
        self.queues.setdefault(stream, deque()).append((event, block, owner))

    def awaited(self) -> list[tuple[StreamHandle, B]]:
        """Return every stream that a freed block waits for, with the block."""
        queued = [(stream, block) for stream, queue in self.queues.items() for _, block, _ in queue]
        return queued + [(stream, block) for block in self._deferred for stream in block.streams]

    def poll(self, finish: Callable[[B], None]) -> None:
        """Remove the events that are done; call `finish` with each block that waits for no more events."""
        if self._captures:
            return
        self._record_deferred()
        for stream, queue in list(self.queues.items()):
            while queue and is_done(self._driver, queue[0][0]):
                self._forget_first(queue, finish)
            if not queue:
                del self.queues[stream]

    def wait(self, finish: Callable[[B], None]) -> None:
        """Wait until every event is done, then do as `poll`.  Must not be called during a capture."""
        self._record_deferred()
        for stream, queue in list(self.queues.items()):
            while queue:
                wait_for(self._driver, queue[0][0])
                self._forget_first(queue, finish)
            del self.queues[stream]

    def _forget_first(self, queue: deque[tuple[EventHandle, B, object]], finish: Callable[[B], None]) -> None:
        event, block, owner = queue.popleft()
        if self._driver.capabilities.finds_races:
            self._driver.block_finished(block.address, event)
        block.pending -= 1
        if block.pending == 0:
            finish(block)
        if owner is None:
            self._driver.event_destroy(event)
