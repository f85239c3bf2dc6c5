"""Segments and their blocks: finding, splitting and coalescing idle blocks.

- A segment is one allocation of the driver.  It and all of its blocks belong to one stream for its lifetime.
- Blocks tile their segment in address order.  A block has an owner, waits for events, or is idle.
- Each stream has a list of idle blocks sorted by size, then address: the first that is large enough is the best fit.
- Two neighbours are never both idle: `put` coalesces them.  A block that waits for events is not idle.
- A freed block goes to the free list of its size class, from which the next request of that size takes it (last in,
  first out).  It is not idle yet: `coalesce` moves all such blocks to the idle list, before statistics are read and
  when a request finds no block.  The small pool tries the best fit before that, so that the blocks of loops stay apart.
- In a split and in a merge the lower Block object survives, so the first block of a segment never changes.
- A pool has no lock: its allocator holds one.
- memory/segments.py adds and removes segments, memory/statistics.py reads the counters.
"""

from __future__ import annotations

from bisect import bisect_left, insort

from ..driver.api import Address, StreamHandle
from ..memory.settings import BLOCK_GRAIN, DEFAULT_NON_SPLIT_ROUNDING, UNLIMITED

KINDS = (
    "allocation", "segment", "active", "inactive_split",
    "allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes", "requested_bytes",
)  # fmt: skip
SMALL_LIMIT = 1 << 20  # bytes: the largest block of the small pool
SMALL_REMAINDER = BLOCK_GRAIN  # bytes: the smallest remainder that is split off in the small pool
LARGE_REMAINDER = (1 << 20) + BLOCK_GRAIN  # bytes: the smallest remainder that is split off in the large pool
SHARED = (0, 0)  # the id of the pools that are not private
_GRAIN, _LIMIT = BLOCK_GRAIN, SMALL_LIMIT  # C numbers where compiled


class Flow:
    """A counter of allocated and freed blocks or bytes, with its peak.

    `allocated` and `freed` only grow.  A reset saves their values as `allocated_before` and `freed_before`.
    """

    __slots__ = ("allocated", "allocated_before", "freed", "freed_before", "peak")

    def __init__(self) -> None:
        self.allocated = 0
        self.freed = 0
        self.peak = 0
        self.allocated_before = 0
        self.freed_before = 0

    def add(self, amount: int) -> None:
        self.allocated += amount
        self.note()

    def remove(self, amount: int) -> None:
        self.freed += amount

    def note(self) -> None:
        """Raise the peak to the current value."""
        current = self.allocated - self.freed
        if current > self.peak:
            self.peak = current


class Counters:
    """The nine flows of one pool, or of both together; one slot for each of KINDS.

    `awaiting` and `awaiting_bytes` count the freed blocks that wait for events.
    """

    __slots__ = (*KINDS, "awaiting", "awaiting_bytes")

    allocation: Flow
    segment: Flow
    active: Flow
    inactive_split: Flow
    allocated_bytes: Flow
    reserved_bytes: Flow
    active_bytes: Flow
    inactive_split_bytes: Flow
    requested_bytes: Flow

    def __init__(self) -> None:
        for kind in KINDS:
            setattr(self, kind, Flow())
        self.awaiting = 0
        self.awaiting_bytes = 0


def note_hot_peaks(small: Counters, large: Counters, total: Counters) -> None:
    """Update the peaks of the hot flows, while no block waits for events; call before anything is freed."""
    _note(small.allocation, large.allocation, total.allocation)
    _note(small.allocated_bytes, large.allocated_bytes, total.allocated_bytes)
    _note(small.requested_bytes, large.requested_bytes, total.requested_bytes)


def _note(small: Flow, large: Flow, total: Flow) -> None:
    in_small = small.allocated - small.freed
    in_large = large.allocated - large.freed
    if in_small > small.peak:
        small.peak = in_small
    if in_large > large.peak:
        large.peak = in_large
    if in_small + in_large > total.peak:
        total.peak = in_small + in_large


class Segment:
    """One allocation of the driver, of `nbytes` bytes.  first: the block at its start.

    is_oversize: whether it has at least max_split_size bytes, by the settings when it was made.
    pool: the pool that it belongs to.  memories: its memory on several devices (parallel/lockstep.py), or None.
    """

    __slots__ = ("address", "first", "is_oversize", "is_small", "memories", "nbytes", "pool", "stream")

    def __init__(self, address: Address, nbytes: int, stream: StreamHandle, is_small: bool, is_oversize: bool) -> None:
        self.address = address
        self.nbytes = nbytes
        self.stream = stream
        self.is_small = is_small
        self.is_oversize = is_oversize
        self.pool: Pool | None = None
        self.memories: list[object] | None = None
        self.first = Block(address, nbytes, self)


class Block:
    """A block of a segment: allocated, waiting for events, or idle.

    nbytes:     its size, a multiple of 512;  requested: the bytes requested;  served: these, rounded up.
    streams:    recorded streams, other than its own, without an event yet;  pending: the number of unfinished events.
    allocated:  whether it has an owner;  is_idle: whether it is in its pool's idle list.
    free_list:  the free list of its size class, once it has been in one;  below: the next block of that list.
    idle_since: the pool's allocation count when its whole segment became idle.
    is_oversize: whether it counts among the oversize allocations.
    """

    __slots__ = (
        "address", "allocated", "below", "idle_since", "is_idle", "is_oversize", "nbytes", "next", "pending", "prev",
        "requested", "segment", "served", "free_list", "stream", "streams",
    )  # fmt: skip

    def __init__(self, address: int, nbytes: int, segment: Segment) -> None:
        self.address = Address(address)
        self.nbytes = nbytes
        self.requested = 0
        self.served = 0
        self.stream = segment.stream
        self.segment = segment
        self.allocated = False
        self.is_idle = False
        self.streams: list[StreamHandle] = []
        self.pending = 0
        self.prev: Block | None = None
        self.next: Block | None = None
        self.idle_since = 0
        self.is_oversize = False
        self.free_list: FreeList | None = None
        self.below: Block | None = None


class FreeList:
    """A stack of free blocks of one stream and one size class.

    top: the block freed last;  is_filled: whether it is among its pool's `filled`.
    """

    __slots__ = ("is_filled", "top")

    def __init__(self) -> None:
        self.top: Block | None = None
        self.is_filled = False


class FreeLists:
    """The free lists of one stream.

    small: by nbytes // BLOCK_GRAIN, up to SMALL_LIMIT;  large: by nbytes, also sizes that settings do not round.
    """

    __slots__ = ("large", "small")

    def __init__(self) -> None:
        self.small: list[FreeList | None] = [None] * (SMALL_LIMIT // BLOCK_GRAIN + 1)
        self.large: dict[int, FreeList] = {}

    def of(self, nbytes: int) -> FreeList:
        """Return the free list of blocks that served `nbytes`."""
        is_small = nbytes <= _LIMIT and nbytes % _GRAIN == 0
        free_list = self.small[nbytes // _GRAIN] if is_small else self.large.get(nbytes)
        if free_list is None:
            free_list = FreeList()
            if is_small:
                self.small[nbytes // _GRAIN] = free_list
            else:
                self.large[nbytes] = free_list
        return free_list


Idle = tuple[int, int, Block]


class Pool:
    """The small or the large pool of one device: its idle blocks and its counters.

    `total` counts both pools together.  A part is an idle block of a split segment.
    counters: shared with other pools of the same size class, if passed;  id: of the private pool that it belongs to;
    segments: their number;  is_expandable: whether these are expandable ones, whose parts are not counted.
    max_split: larger blocks are oversize;  filled: the free lists that received blocks since the last `coalesce`.
    """

    __slots__ = (
        "counters", "filled", "id", "idle", "is_expandable", "is_small", "max_excess", "max_split", "segments",
        "smallest_remainder", "total",
        "_all_parts", "_free_lists", "_last_free_lists", "_last_stream", "_parts",
    )  # fmt: skip

    def __init__(
        self, is_small: bool, total: Counters, counters: Counters | None = None, id: tuple[int, int] = SHARED,
        is_expandable: bool = False,
    ) -> None:  # fmt: skip
        self.counters = counters if counters is not None else Counters()
        self.is_small = is_small
        self.is_expandable = is_expandable
        self.id = id
        self.segments = 0
        self.idle: dict[StreamHandle, list[Idle]] = {}
        self.total = total
        self._parts, self._all_parts = (Counters(), Counters()) if is_expandable else (self.counters, total)
        self.max_split = UNLIMITED
        self.max_excess = DEFAULT_NON_SPLIT_ROUNDING
        self.smallest_remainder = SMALL_REMAINDER if is_small or is_expandable else LARGE_REMAINDER
        self.filled: list[FreeList] = []
        self._free_lists: dict[StreamHandle, FreeLists] = {}
        self._last_stream: StreamHandle | None = None
        self._last_free_lists: FreeLists | None = None  # of the last stream

    def free_list_of(self, nbytes: int, stream: StreamHandle) -> FreeList:
        """Return the free list of a stream's blocks that served `nbytes`."""
        if stream is not self._last_stream or self._last_free_lists is None:
            if stream not in self._free_lists:
                self._free_lists[stream] = FreeLists()
            self._last_stream, self._last_free_lists = stream, self._free_lists[stream]
        return self._last_free_lists.of(nbytes)

    def find(self, nbytes: int, stream: StreamHandle) -> Block | None:
        """Take the best fit out of the idle blocks; None if there is none."""
        block = self._best_fit(nbytes, stream) if self.is_small else None
        if block is None:
            self.coalesce()
            block = self._best_fit(nbytes, stream)
        return block

    def coalesce(self) -> None:
        """Merge the blocks of all free lists into the idle list."""
        while self.filled:
            free_list = self.filled.pop()
            free_list.is_filled = False
            while free_list.top is not None:
                block = free_list.top
                free_list.top = block.below
                block.below = block.free_list = None
                self.put(block)

    def _best_fit(self, nbytes: int, stream: StreamHandle) -> Block | None:
        blocks = self.idle.get(stream)
        if not blocks:
            return None
        # (n,) sorts before every (n, address, block).
        at = bisect_left(blocks, (nbytes,))
        if at == len(blocks):
            return None
        block = blocks[at][2]
        if block.nbytes >= self.max_split and (nbytes < self.max_split or block.nbytes >= nbytes + self.max_excess):
            return None
        del blocks[at]
        block.is_idle = False
        return self.carve(block, nbytes)

    def put(self, block: Block) -> None:
        """Make a block idle; coalesce it with its idle neighbours."""
        blocks = self.idle.setdefault(block.stream, [])
        parts = part_bytes = 0
        after, before = block.next, block.prev
        if after is not None and after.is_idle:
            del blocks[bisect_left(blocks, (after.nbytes, after.address))]
            parts, part_bytes = -1, -after.nbytes
            absorb(block, after)
        if before is not None and before.is_idle:
            del blocks[bisect_left(blocks, (before.nbytes, before.address))]
            parts, part_bytes = parts - 1, part_bytes - before.nbytes
            absorb(before, block)
            block = before
        block.is_idle = True
        insort(blocks, (block.nbytes, block.address, block))
        if block.prev is None and block.next is None:
            block.idle_since = self.counters.allocation.allocated
        else:
            parts, part_bytes = parts + 1, part_bytes + block.nbytes
        self._change_parts(parts, part_bytes)

    def _change_parts(self, count: int, nbytes: int) -> None:
        """Change the number and the bytes of parts by amounts, which may be negative."""
        change(self._parts.inactive_split, self._all_parts.inactive_split, count)
        change(self._parts.inactive_split_bytes, self._all_parts.inactive_split_bytes, nbytes)

    def carve(self, block: Block, nbytes: int) -> Block:
        """Split a block that is in no list after `nbytes`, if the remainder is large enough."""
        rest = block.nbytes - nbytes
        parts = part_bytes = 0
        if block.prev is not None or block.next is not None:
            parts, part_bytes = -1, -block.nbytes
        if rest >= self.smallest_remainder and nbytes < self.max_split:
            remainder = Block(block.address + nbytes, rest, block.segment)
            remainder.prev = block
            after = remainder.next = block.next
            if after is not None:
                after.prev = remainder
            block.next = remainder
            block.nbytes = nbytes
            remainder.is_idle = True
            insort(self.idle[block.stream], (rest, remainder.address, remainder))
            parts, part_bytes = parts + 1, part_bytes + rest
        self._change_parts(parts, part_bytes)
        return block


def take_block(pool: Pool, nbytes: int, stream: StreamHandle) -> Block | None:
    """Return a block from the free list of `nbytes` (a multiple of 512), else the best fit, or None."""
    free_list = pool.free_list_of(nbytes, stream)
    kept = free_list.top
    if kept is None:
        return pool.find(nbytes, stream)
    free_list.top = kept.below
    kept.below = None
    return kept


def keep_block(pool: Pool, block: Block) -> None:
    """Push a freed block on the free list of its size class."""
    free_list = block.free_list
    if free_list is None:
        free_list = block.free_list = pool.free_list_of(block.served, block.stream)
    if not free_list.is_filled:
        free_list.is_filled = True
        pool.filled.append(free_list)
    block.below = free_list.top
    free_list.top = block


def change(flow: Flow, total: Flow, amount: int) -> None:
    """Change a pool's flow and the flow of both pools together by an amount, which may be negative."""
    if amount > 0:
        flow.add(amount)
        total.add(amount)
    else:
        flow.remove(-amount)
        total.remove(-amount)


def absorb(block: Block, after: Block) -> None:
    """Append the next block's bytes to a block.  The next block is unlinked, so that its reference count frees it."""
    block.nbytes += after.nbytes
    block.next = after.next
    if after.next is not None:
        after.next.prev = block
    after.prev = after.next = None
    after.is_idle = False
