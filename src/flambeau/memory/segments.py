"""Segments of the caching allocator: allocation from the driver, look-up by address, release; expandable segments.

- A segment is made only within the limit of this process.
- It is handed back only when it is one idle block, and after the host has waited for its stream.  Blocks used on other
  streams become idle only after their events, so these streams need no wait.
- The allocator's lock is held around every call.

An expandable segment is a range of addresses in which memory is mapped page by page, where a request needs it:

- A segment belongs to one stream and one pool.  It reserves more addresses than the device has memory, so that it never
  has to move, and its blocks can always coalesce.
- A request maps pages of 2 MiB in the small pool, and of `large_segment` bytes in the large one.  Its last page is as
  small as the request allows.  All sizes are multiples of 2 MiB.
- The segment's blocks tile the whole range.  Unmapped ones have no owner and are in no list, and no two are adjacent.
- A request that no idle block can serve maps the lowest unmapped pages that complete a large enough range of idle and
  unmapped blocks.  Whole pages inside idle blocks are unmapped when memory is returned to the driver.
- As in PyTorch, the statistics of these pools count reserved bytes, but not segments or parts of segments.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from .. import signals
from ..core.pool import SHARED, SMALL_LIMIT, Block, Flow, Pool, Segment, absorb
from ..core.queue import hooks
from ..driver.api import Address, Driver, StreamHandle
from ..errors import OutOfMemoryError
from .pending import RecordEvent, wait_for
from .settings import SMALLEST_OWN_SEGMENT, UNLIMITED, Settings

PAGE_GRAIN = 2 << 20  # bytes: pages are a multiple of this
EXPANDABLE_SMALL_LIMIT = 64 << 10  # bytes: the largest block of the small pool, whose idle pages serve no large block

Changed = Callable[[str, Pool, Segment, int, int], None]  # event, pool, segment, address, bytes


class Range:
    """An expandable segment.

    largest: bytes of its largest pages;  pages: the bytes of each page, by address;  unmapped: its unmapped blocks, by
    address.
    """

    __slots__ = ("largest", "pages", "segment", "unmapped")

    def __init__(self, segment: Segment, largest: int) -> None:
        self.segment = segment
        self.largest = largest
        self.pages: dict[int, int] = {}
        self.unmapped: dict[int, Block] = {segment.first.address: segment.first}

    def runs(self) -> Iterator[list[Block]]:
        """Yield the blocks between two unmapped ones, in address order."""
        run: list[Block] = []
        block: Block | None = self.segment.first
        while block is not None:
            if block.address not in self.unmapped:
                run.append(block)
            elif run:
                yield run
                run = []
            block = block.next
        if run:
            yield run

    def idle_pages(self, block: Block) -> list[int]:
        """Return the addresses of the whole pages inside an idle block; they are contiguous."""
        base, end = self.segment.address, block.address + block.nbytes
        address = base + _up(block.address - base, PAGE_GRAIN)
        idle = []
        while address < end:
            page = self.pages.get(address, 0)  # 0 if the page starts before the block
            if page and address + page <= end:
                idle.append(address)
            address += page or PAGE_GRAIN
        return idle

    def candidate(self, nbytes: int) -> Block | None:
        """Return the lowest block from which `nbytes` bytes are idle or unmapped; it or its successor is unmapped."""
        for address in sorted(self.unmapped):
            start = self.unmapped[address]
            if start.prev is not None and start.prev.is_idle:
                start = start.prev
            available = 0
            block: Block | None = start
            while block is not None and (block.is_idle or block.address in self.unmapped):
                available += block.nbytes
                if available >= nbytes:
                    return start
                block = block.next
        return None


class ExpandableSegments:
    """The expandable segments of one device.

    changed(event, pool, segment, address, nbytes): counts and reports "segment_map" and "segment_unmap".
    """

    def __init__(self, driver: Driver, device: int, changed: Changed) -> None:
        self._driver = driver
        self._device = device
        self._changed = changed
        self._ranges: dict[int, Range] = {}  # by address

    def owns(self, address: int) -> bool:
        """Return whether the address lies in a segment."""
        segments = [reserved.segment for reserved in self._ranges.values()]
        return any(segment.address <= address < segment.address + segment.nbytes for segment in segments)

    def runs(self) -> list[tuple[Segment, list[Block]]]:
        """Return the mapped parts of every segment, with their blocks."""
        return [(reserved.segment, run) for reserved in self._ranges.values() for run in reserved.runs()]

    def of(self, pool: Pool) -> list[Range]:
        return [reserved for reserved in self._ranges.values() if reserved.segment.pool is pool]

    def grow(self, pool: Pool, nbytes: int, stream: StreamHandle, page: int, room: int | None) -> Block | None:
        """Return a block of `nbytes`, for which pages are mapped; None if the driver refuses one.

        room: bytes that may be mapped at most, None for any number.
        """
        reserved, start = self._candidate(pool, nbytes, stream, page)
        try:
            if room is not None and self._missing(reserved, start, nbytes) > room:
                raise OutOfMemoryError(f"more than {room} bytes would be reserved", operator="allocate")
            if not start.is_idle:
                self._map(reserved, start, min(nbytes, start.nbytes))
            while start.nbytes < nbytes:
                gap = start.next
                assert gap is not None
                self._map(reserved, gap, min(nbytes - start.nbytes, gap.nbytes))
        except OutOfMemoryError:
            self._release_unused(reserved)
            return None
        _take_out(pool, start)
        return pool.carve(start, nbytes)

    def _candidate(self, pool: Pool, nbytes: int, stream: StreamHandle, page: int) -> tuple[Range, Block]:
        for reserved in self.of(pool):
            if reserved.segment.stream == stream and (start := reserved.candidate(nbytes)) is not None:
                return reserved, start
        reserved = self._reserve(pool, nbytes, stream, page)
        return reserved, reserved.segment.first

    def _reserve(self, pool: Pool, nbytes: int, stream: StreamHandle, page: int) -> Range:
        _, total = self._driver.mem_info(self._device)
        size = _up(max(total + total // 8, nbytes), page)
        address = self._driver.mem_reserve(self._device, size)
        segment = Segment(address, size, stream, pool.is_small, False)
        segment.pool = pool
        pool.segments += 1
        reserved = self._ranges[address] = Range(segment, page)
        return reserved

    def _missing(self, reserved: Range, start: Block, nbytes: int) -> int:
        """Return the bytes to map for a request."""
        missing = 0
        block: Block | None = start
        while nbytes > 0 and block is not None:
            if block.address in reserved.unmapped:
                missing += _up(min(nbytes, block.nbytes), PAGE_GRAIN)
            nbytes -= block.nbytes
            block = block.next
        return missing

    def _map(self, reserved: Range, block: Block, nbytes: int) -> None:
        """Map the first pages of an unmapped block.  Mapped pages become idle, even if a later one fails."""
        mapped = 0
        try:
            while mapped < nbytes:
                page = min(_up(nbytes - mapped, PAGE_GRAIN), reserved.largest)
                address = Address(block.address + mapped)
                self._driver.mem_map(self._device, address, page)
                reserved.pages[address] = page
                mapped += page
        finally:
            if mapped:
                self._became_mapped(reserved, block, mapped)

    def _became_mapped(self, reserved: Range, block: Block, nbytes: int) -> None:
        segment = reserved.segment
        pool = segment.pool
        assert pool is not None
        del reserved.unmapped[block.address]
        if block.nbytes > nbytes:
            rest = _split(block, nbytes)
            reserved.unmapped[rest.address] = rest
        self._changed("segment_map", pool, segment, block.address, nbytes)
        pool.put(block)

    def shrink(self, pool: Pool) -> None:
        """Unmap the whole pages of idle blocks.  The host has waited for the streams that used them."""
        for reserved in self.of(pool):
            for run in list(reserved.runs()):
                for block in run:
                    if block.is_idle:
                        self._unmap(reserved, block)
            self._release_unused(reserved)

    def idle_streams(self, pool: Pool) -> list[StreamHandle]:
        """Return the streams of idle blocks that have a whole page."""
        return [
            reserved.segment.stream
            for reserved in self.of(pool)
            if any(block.is_idle and reserved.idle_pages(block) for run in reserved.runs() for block in run)
        ]

    def _unmap(self, reserved: Range, block: Block) -> None:
        pages = reserved.idle_pages(block)
        done = 0
        try:
            for address in pages:
                self._driver.mem_unmap(self._device, Address(address), reserved.pages[address])
                done += reserved.pages.pop(address)
        finally:
            if done:
                self._became_unmapped(reserved, block, pages[0], done)

    def _became_unmapped(self, reserved: Range, block: Block, low: int, nbytes: int) -> None:
        pool = reserved.segment.pool
        assert pool is not None
        _take_out(pool, block)
        gap = _split(block, low - block.address) if low > block.address else block
        if gap.nbytes > nbytes:
            pool.put(_split(gap, nbytes))
        if gap is not block:
            pool.put(block)
        before, after = gap.prev, gap.next
        if after is not None and after.address in reserved.unmapped:
            del reserved.unmapped[after.address]
            absorb(gap, after)
        if before is not None and before.address in reserved.unmapped:
            absorb(before, gap)
            gap = before
        reserved.unmapped[gap.address] = gap
        self._changed("segment_unmap", pool, reserved.segment, low, nbytes)

    def _release_unused(self, reserved: Range) -> None:
        """Release the address range of a segment without mapped pages."""
        segment = reserved.segment
        if segment.first.next is None and segment.first.address in reserved.unmapped:
            assert segment.pool is not None
            self._driver.mem_unreserve(self._device, segment.address)
            segment.pool.segments -= 1
            del self._ranges[segment.address]


def _up(nbytes: int, grain: int) -> int:
    return -(-nbytes // grain) * grain


def _take_out(pool: Pool, block: Block) -> None:
    """Take a block out of the idle list."""
    blocks = pool.idle[block.stream]
    del blocks[bisect_left(blocks, (block.nbytes, block.address))]
    block.is_idle = False


def _split(block: Block, nbytes: int) -> Block:
    """Split a block that is in no list after its first `nbytes` bytes; return the rest."""
    rest = Block(block.address + nbytes, block.nbytes - nbytes, block.segment)
    rest.prev, rest.next = block, block.next
    if rest.next is not None:
        rest.next.prev = rest
    block.next = rest
    block.nbytes = nbytes
    return rest


SMALL_SEGMENT = 2 << 20  # bytes
OWN_SEGMENT_GRAIN = 2 << 20  # bytes: segments made for one request are a multiple of this


class SegmentSource(Protocol):
    """A source of segments for a private pool, in place of the driver."""

    def allocate(self, device: int, nbytes: int, stream: StreamHandle) -> Address:
        """Allocate memory for work submitted to `stream` from now on.  Raises OutOfMemoryError."""

    def free(self, device: int, address: Address, nbytes: int, stream: StreamHandle) -> None:
        """Free memory after the work submitted to `stream` so far."""


class Segments:
    """All segments of one device.  sources: sources of private pools' segments by pool id, if not the driver."""

    def __init__(self, driver: Driver, device: int, record_event: RecordEvent) -> None:
        self.settings = Settings()
        self.limit: int | None = None
        self.oversize = Flow()
        self.reset_counts()
        self.reserved = 0
        self._driver = driver
        self._device = device
        self._record_event = record_event
        self._expandable = ExpandableSegments(driver, device, self._map_changed)
        self._by_address: dict[int, Segment] = {}
        self._addresses: list[int] = []
        self.sources: dict[tuple[int, int], SegmentSource] = {}
        self._source_of: dict[int, SegmentSource] = {}

    def counts(self) -> dict[str, int]:
        """Return the number of driver calls, and the size from which segments are oversize."""
        limit = self.settings.max_split_size
        return {
            "num_device_alloc": self.allocations,
            "num_device_free": self.frees,
            "max_split_size": -1 if limit == UNLIMITED else limit,
        }

    def reset_counts(self) -> None:
        self.allocations = self.frees = 0

    def grow(self, pool: Pool, nbytes: int, stream: StreamHandle) -> Block | None:
        """Return a block of `nbytes` in a new segment, or None if the limit or the driver refuses.

        With exact settings, a freed block is handed back to the driver, so it also waits for its own stream.
        """
        signals.look()
        if pool.is_expandable:
            room = None if self.limit is None else self.limit - self.reserved
            return self._expandable.grow(pool, nbytes, stream, self._page(pool), room)
        size = self.size_for(nbytes)
        if self.limit is not None and self.reserved + size > self.limit:
            return None
        try:
            source = self.sources.get(pool.id)
            if source is None:
                address = self._driver.mem_alloc(self._device, size)
            else:
                address = source.allocate(self._device, size, stream)
                self._source_of[address] = source
        except OutOfMemoryError:
            return None
        segment = Segment(address, size, stream, pool.is_small, size >= self.settings.max_split_size)
        self._by_address[address] = segment
        insort(self._addresses, address)
        self.allocations += 1
        self.reserved += size
        if segment.is_oversize:
            self.oversize.add(1)
        self._report("segment_alloc", pool, segment)
        block = add_segment(pool, segment, nbytes)
        if self.settings.exact:
            pool.smallest_remainder = UNLIMITED  # a graph's pool reuses blocks; a split could leave one unaligned
            if pool.id == SHARED:
                block.streams.append(stream)
        return block

    def _page(self, pool: Pool) -> int:
        """Return the bytes of the largest pages of an expandable segment."""
        return PAGE_GRAIN if pool.is_small else -(-self.settings.large_segment // PAGE_GRAIN) * PAGE_GRAIN

    def _map_changed(self, event: str, pool: Pool, segment: Segment, address: int, nbytes: int) -> None:
        """Count and report that a part of an expandable segment was mapped or unmapped."""
        if event == "segment_map":
            self.allocations += 1
            self.reserved += nbytes
        else:
            self.frees += 1
            self.reserved -= nbytes
        for counters in (pool.counters, pool.total):
            if event == "segment_map":
                counters.reserved_bytes.add(nbytes)
            else:
                counters.reserved_bytes.remove(nbytes)
        if hooks.on_memory is not None:
            hooks.on_memory(event, self._device, address, nbytes, segment.stream, pool.id)

    def size_for(self, nbytes: int, pool: Pool | None = None) -> int:
        """Return the bytes of the segment, or of its pages, to make for a block of `nbytes`."""
        if pool is not None and pool.is_expandable:
            return -(-nbytes // PAGE_GRAIN) * PAGE_GRAIN
        return nbytes if self.settings.exact else segment_size(nbytes, self.settings.large_segment)

    def hand_back_idle(self, pool: Pool) -> None:
        """Return a pool's idle segments to the driver, or the idle pages of expandable ones."""
        if pool.is_expandable:
            self._wait_for(dict.fromkeys(self._expandable.idle_streams(pool)))
            self._expandable.shrink(pool)
        else:
            self.hand_back(pool, idle_segments(pool))

    def hand_back(self, pool: Pool, segments: Iterable[Segment]) -> None:
        """Return idle segments of a pool to the driver, after waiting for their streams.

        Launches of a graph may have run on any stream; the driver's `mem_free` waits for those.
        """
        leaving = list(segments)
        self._wait_for({segment.stream: None for segment in leaving})
        for segment in leaving:
            source = self._source_of.get(segment.address)
            if source is None:
                self._driver.mem_free(self._device, segment.address)
            else:
                source.free(self._device, segment.address, segment.nbytes, segment.stream)
                del self._source_of[segment.address]
            remove_segment(pool, segment)
            del self._by_address[segment.address]
            self._addresses.remove(segment.address)
            self.frees += 1
            self.reserved -= segment.nbytes
            if segment.is_oversize:
                self.oversize.remove(1)
            self._report("segment_free", pool, segment)

    def _report(self, action: str, pool: Pool, segment: Segment) -> None:
        if hooks.on_memory is not None:
            hooks.on_memory(action, self._device, segment.address, segment.nbytes, segment.stream, pool.id)

    def hand_back_oversize(self, pool: Pool, nbytes: int, stream: StreamHandle) -> bool:
        """Hand back just enough idle oversize segments of a stream to make room; return whether there are enough."""
        need = max(self.size_for(nbytes), self.settings.max_split_size)
        idle = [segment for segment in idle_segments(pool) if segment.stream == stream and segment.is_oversize]
        idle.sort(key=_size)
        enough = [segment for segment in idle if segment.nbytes >= need][:1]
        while not enough or sum(map(_size, enough)) < need:
            if not idle:
                return False
            enough.append(idle.pop())
        self.hand_back(pool, enough)
        return True

    def collect_garbage(self, pool: Pool) -> None:
        """Hand back the segments of the large pool that are idle longest, if more than the threshold is reserved."""
        if self.limit is None or not self.settings.garbage_collection_threshold:
            return
        surplus = self.reserved - int(self.settings.garbage_collection_threshold * self.limit)
        idle = list(idle_segments(pool))
        while surplus > 0 and idle:
            mean = sum(segment.first.idle_since for segment in idle) / len(idle)
            oldest = [segment for segment in idle if segment.first.idle_since <= mean]
            idle = [segment for segment in idle if segment.first.idle_since > mean]
            surplus -= sum(map(_size, oldest))
            self.hand_back(pool, oldest)

    def runs(self) -> list[tuple[Segment, list[Block]]]:
        """Return every segment with its blocks, and every mapped part of an expandable segment, in address order."""
        runs = [(self._by_address[address], blocks_of(self._by_address[address])) for address in self._addresses]
        return sorted([*runs, *self._expandable.runs()], key=_start)

    def owns(self, address: int) -> bool:
        """Return whether the address lies in a segment."""
        if self._expandable.owns(address):
            return True
        at = bisect_right(self._addresses, address) - 1
        if at < 0:
            return False
        segment = self._by_address[self._addresses[at]]
        return address < segment.address + segment.nbytes

    def snapshot(self) -> list[dict[str, object]]:
        """Return every segment with its blocks, in address order."""
        return [self._describe(segment, blocks) for segment, blocks in self.runs()]

    def _describe(self, segment: Segment, blocks: list[Block]) -> dict[str, object]:
        active = [block for block in blocks if not block.is_idle]
        return {
            "device": self._device,
            "address": blocks[0].address,
            "total_size": sum(block.nbytes for block in blocks),
            "allocated_size": sum(block.nbytes for block in active if not block.pending),
            "active_size": sum(block.nbytes for block in active),
            "requested_size": sum(block.requested for block in active),
            "stream": segment.stream,
            "segment_type": "small" if segment.is_small else "large",
            "segment_pool_id": segment.pool.id if segment.pool else SHARED,
            "is_expandable": segment.pool is not None and segment.pool.is_expandable,
            "blocks": [_describe_block(block) for block in blocks],
        }

    def _wait_for(self, streams: Iterable[StreamHandle]) -> None:
        for stream in streams:
            event = self._record_event(stream)
            try:
                wait_for(self._driver, event)
            finally:
                self._driver.event_destroy(event)


def _describe_block(block: Block) -> dict[str, object]:
    active = "active_awaiting_free" if block.pending else "active_allocated"
    return {
        "address": block.address,
        "size": block.nbytes,
        "requested_size": 0 if block.is_idle else block.requested,
        "state": "inactive" if block.is_idle else active,
    }


def _size(segment: Segment) -> int:
    return segment.nbytes


def _start(run: tuple[Segment, list[Block]]) -> int:
    return run[1][0].address


def segment_size(nbytes: int, large_segment: int) -> int:
    """Return the bytes of the segment to make for a block of `nbytes`."""
    if nbytes <= SMALL_LIMIT:
        return SMALL_SEGMENT
    if nbytes < SMALLEST_OWN_SEGMENT:
        return large_segment
    return -(-nbytes // OWN_SEGMENT_GRAIN) * OWN_SEGMENT_GRAIN


def blocks_of(segment: Segment) -> list[Block]:
    """Return all blocks of a segment, in address order."""
    blocks = []
    block: Block | None = segment.first
    while block is not None:
        blocks.append(block)
        block = block.next
    return blocks


def add_segment(pool: Pool, segment: Segment, nbytes: int) -> Block:
    """Add a new segment to a pool; return its first `nbytes` bytes as a block that is not idle."""
    pool.idle.setdefault(segment.stream, [])
    segment.pool = pool
    pool.segments += 1
    for counters in (pool.counters, pool.total):
        counters.segment.add(1)
        counters.reserved_bytes.add(segment.nbytes)
    return pool.carve(segment.first, nbytes)


def remove_segment(pool: Pool, segment: Segment) -> None:
    """Remove an idle segment, which has been returned to the driver, from its pool."""
    blocks = pool.idle[segment.stream]
    del blocks[bisect_left(blocks, (segment.nbytes, segment.address))]
    if not blocks:
        del pool.idle[segment.stream]
    pool.segments -= 1
    for counters in (pool.counters, pool.total):
        counters.segment.remove(1)
        counters.reserved_bytes.remove(segment.nbytes)


def idle_segments(pool: Pool) -> Iterator[Segment]:
    """Yield the segments that are one idle block."""
    for blocks in pool.idle.values():
        for _, _, block in blocks:
            if block.prev is None and block.next is None:
                yield block.segment


def largest(pool: Pool, stream: StreamHandle | None = None) -> int:
    """Return the bytes of a pool's largest idle block, of one stream or of all; 0 without any."""
    lists = pool.idle.values() if stream is None else [pool.idle.get(stream, [])]
    return max((blocks[-1][0] for blocks in lists if blocks), default=0)
