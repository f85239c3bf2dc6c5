"""Expandable segments: ranges of addresses in which memory is mapped page by page, where a request needs it.

- A segment belongs to one stream and one pool.  It reserves more addresses than the device has memory, so that it never
  has to move, and its blocks can always coalesce.
- A request maps pages of 2 MiB in the small pool, and of `large_segment` bytes in the large one.  Its last page is as
  small as the request allows.  All sizes are multiples of 2 MiB.
- The segment's blocks tile the whole range.  Unmapped ones have no owner, are in no list, and never touch each other.
- A request that no idle block can serve maps the lowest unmapped pages that complete a large enough range of idle and
  unmapped blocks.  What idle blocks have of whole pages is unmapped when memory is handed back.
- These pools do not count segments and parts of segments, as in PyTorch: only reserved bytes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator

from ..core.pool import Block, Pool, Segment, absorb
from ..driver.api import Address, Driver, StreamHandle
from ..errors import OutOfMemoryError

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
        """The addresses of the pages that lie in an idle block, which touch each other."""
        base, end = self.segment.address, block.address + block.nbytes
        address = base + _up(block.address - base, PAGE_GRAIN)
        idle = []
        while address < end:
            page = self.pages.get(address, 0)  # 0 inside of a page that starts before the block
            if page and address + page <= end:
                idle.append(address)
            address += page or PAGE_GRAIN
        return idle

    def candidate(self, nbytes: int) -> Block | None:
        """The lowest block from which `nbytes` bytes are idle or unmapped; it or its successor is unmapped."""
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
        """The mapped parts of every segment, with their blocks."""
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
        """The bytes to map for a request."""
        missing = 0
        block: Block | None = start
        while nbytes > 0 and block is not None:
            if block.address in reserved.unmapped:
                missing += _up(min(nbytes, block.nbytes), PAGE_GRAIN)
            nbytes -= block.nbytes
            block = block.next
        return missing

    def _map(self, reserved: Range, block: Block, nbytes: int) -> None:
        """Map the first pages of an unmapped block.  What is mapped becomes idle, also if a later page fails."""
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
        """The streams of idle blocks that have a whole page."""
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
        """Release the addresses of a segment of which nothing is mapped."""
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
    """Cut a block that is in no list after `nbytes`; return the rest."""
    rest = Block(block.address + nbytes, block.nbytes - nbytes, block.segment)
    rest.prev, rest.next = block, block.next
    if rest.next is not None:
        rest.next.prev = rest
    block.next = rest
    block.nbytes = nbytes
    return rest
