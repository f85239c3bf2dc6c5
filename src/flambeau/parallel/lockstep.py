"""Allocation on several devices in lockstep: one block stands for the same bytes of memory on each of them.

- Mirrored work (mirror.py) allocates the same sizes on all devices but the first.  A LockstepAllocator searches for a
  free block once, in segments whose memory comes from the caching allocators of all these devices.
- The memory is returned to them when the last mirror has ended.  The segments keep their blocks, so that the next step
  finds its blocks in free lists.
- Drivers and tools that watch blocks must see each allocation of each device: `allocator_for` then returns None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from ..core import thread
from ..core.pool import Block, Pool, Segment
from ..core.queue import hooks
from ..core.storage import Storage, on_device
from ..driver.api import Address, EventHandle, StreamHandle
from ..memory.allocator import StreamAllocator
from ..memory.segments import add_segment, segment_size

_allocators: WeakKeyDictionary[Any, dict[Any, LockstepAllocator]] = WeakKeyDictionary()  # per machine, by streams


def allocator_for(machine: Any, streams: Sequence[Any]) -> LockstepAllocator | None:
    """Return the allocator for work on streams of several devices; None if each device must allocate on its own."""
    settings = machine.settings
    if machine.driver.capabilities.watches_blocks or hooks.on_block_taken is not None or settings.exact:
        return None
    known = _allocators.setdefault(machine, {})
    places = tuple([(stream.device_index, stream.handle) for stream in streams])
    allocator = known.get(places)
    if allocator is None:
        allocator = known[places] = LockstepAllocator(machine, places, known)
    return allocator


def _record_event(stream: StreamHandle) -> EventHandle:
    """Record an event on a stream that used a block."""
    event: EventHandle = thread.machine().record_event(stream)
    return event


class LockstepAllocator(StreamAllocator):
    """Allocates blocks that have the same segment and offset on several devices.

    A segment's address is not that of memory on a device.  Nothing here refers to the machine, nor to this allocator
    itself: its memory is freed with the last reference.
    """

    def __init__(
        self, machine: Any, places: tuple[tuple[int, StreamHandle], ...], known: dict[Any, LockstepAllocator]
    ) -> None:
        super().__init__(machine.driver, places[0][0], _record_event)
        self._filled: list[Segment] = []  # the segments that have memory
        self._places, self._known = places, known
        self._large_segment = machine.settings.large_segment
        self._segments = self._end = 0  # the number of segments, and the end address of the last one
        self._users = 0

    def enter(self) -> thread.Device:
        """Count one more user, until `leave`; return the Device with which `storage.on_device` uses this allocator."""
        self._users += 1
        device = thread.Device(self._places[0][0])
        allocator: Any = self
        device.allocator = allocator
        return device

    def leave(self) -> None:
        """Count one user less.  After the last one, free all memory, or let it be freed with the last block.

        Safe in finalizers.  If blocks are still in use, or the last step did not need all segments, the next user gets
        a new allocator: this one would spread the smaller amount of work over all its segments.
        """
        self._users -= 1
        if self._users:
            return
        if len(self._filled) == self._segments and self._is_idle():
            for segment in self._filled:
                segment.memories = None
            self._filled.clear()
        elif self._known.get(self._places) is self:
            del self._known[self._places]

    def __del__(self) -> None:
        for segment in self._filled:  # segments and blocks refer to each other
            segment.memories = None

    def _is_idle(self) -> bool:
        """Return whether all blocks are free.  Takes no lock."""
        flows = self._small.counters.allocation, self._large.counters.allocation
        return sum([flow.allocated - flow.freed for flow in flows]) == len(self._freed)

    def filled(self, segment: Segment) -> list[Storage]:
        """Allocate a segment's memory on all devices; return it.  Raises: OutOfMemoryError."""
        devices = thread.machine().devices
        memories = [on_device(devices[index], segment.nbytes, handle) for index, handle in self._places]
        segment.memories = [*memories]
        self._filled.append(segment)
        return memories

    # methods that need the lock held
    def _find_room(self, pool: Pool, size: int, stream: StreamHandle) -> Block:
        """See StreamAllocator: make a new segment."""
        nbytes = segment_size(size, self._large_segment)
        segment = Segment(Address(self._end), nbytes, stream, pool.is_small, False)
        self.filled(segment)
        self._segments += 1
        self._end += nbytes
        return add_segment(pool, segment, size)

    def _poll(self) -> None:
        """See StreamAllocator."""
        self._pending.poll(self._finish)
