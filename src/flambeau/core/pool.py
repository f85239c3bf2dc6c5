"""Blocks of device memory, and the part of a pool that every allocation runs: free lists and counters.

- A segment is one allocation of the driver.  It and all of its blocks belong to one stream for its lifetime.
- A freed block goes to the free list of its size class, from which the next request of that size takes it (last in,
  first out).  It is not idle yet: `memory.pool.Pool.coalesce` moves all such blocks to the idle list.
- memory/pool.py is the rest of a pool: it finds, splits and coalesces idle blocks.  memory/segments.py adds and removes
  segments, memory/statistics.py reads the counters.
"""

from __future__ import annotations

from typing import Any

from ..driver.api import Address, StreamHandle
from ..memory.settings import BLOCK_GRAIN, UNLIMITED

KINDS = (
    "allocation", "segment", "active", "inactive_split",
    "allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes", "requested_bytes",
)  # fmt: skip
SMALL_LIMIT = 1 << 20  # bytes: the largest block of the small pool
_GRAIN, _LIMIT = BLOCK_GRAIN, SMALL_LIMIT  # C numbers where compiled


class Flow:
    """A counter of allocated and freed blocks or bytes, with its peak.

    `allocated` and `freed` only grow.  A reset remembers their values, as `allocated_before` and `freed_before`.
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
    """One allocation of the driver.  nbytes in bytes;  first: the block at its start.

    is_oversize: whether it has at least max_split_size bytes, by the settings when it was made.
    pool: the memory.pool.Pool that has it.
    """

    __slots__ = ("address", "first", "is_oversize", "is_small", "nbytes", "pool", "stream")

    def __init__(self, address: Address, nbytes: int, stream: StreamHandle, is_small: bool, is_oversize: bool) -> None:
        self.address = address
        self.nbytes = nbytes
        self.stream = stream
        self.is_small = is_small
        self.is_oversize = is_oversize
        self.pool: Any = None
        self.first = Block(address, nbytes, self)


class Block:
    """A block of a segment: allocated, waiting for events, or idle.

    nbytes:     its size, a multiple of 512;  requested: the bytes that were asked for;  served: these, rounded.
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

    small: by nbytes // BLOCK_GRAIN, up to SMALL_LIMIT;  large: by nbytes, also for sizes that exact settings leave.
    """

    __slots__ = ("large", "small")

    def __init__(self) -> None:
        self.small: list[FreeList | None] = [None] * (SMALL_LIMIT // BLOCK_GRAIN + 1)
        self.large: dict[int, FreeList] = {}

    def get(self, nbytes: int) -> FreeList | None:
        """The free list of blocks that served `nbytes`, or None."""
        return self.small[nbytes // _GRAIN] if nbytes <= _LIMIT and nbytes % _GRAIN == 0 else self.large.get(nbytes)

    def add(self, nbytes: int) -> FreeList:
        """Add a free list for blocks that serve `nbytes`."""
        free_list = FreeList()
        if nbytes <= _LIMIT and nbytes % _GRAIN == 0:
            self.small[nbytes // _GRAIN] = free_list
        else:
            self.large[nbytes] = free_list
        return free_list


class BlockPool:
    """The free lists and the counters of the small or the large pool of one device.  `memory.pool.Pool` is the rest.

    counters: shared with other pools of the same size class, if passed;  max_split: larger blocks are oversize.
    filled: the free lists that got blocks since `coalesce` emptied all.
    """

    __slots__ = ("_free_lists", "_last_free_lists", "_last_stream", "counters", "filled", "max_split")

    def __init__(self, counters: Counters | None) -> None:
        self.counters = counters if counters is not None else Counters()
        self.max_split = UNLIMITED
        self.filled: list[FreeList] = []
        self._free_lists: dict[StreamHandle, FreeLists] = {}
        self._last_stream: StreamHandle | None = None  # the stream of _last_free_lists
        self._last_free_lists: FreeLists | None = None

    def find(self, nbytes: int, stream: StreamHandle) -> Block | None:
        """Take the best fit out of the idle blocks."""
        raise AssertionError("the subclass defines find")

    def free_lists_of(self, stream: StreamHandle) -> FreeLists:
        free_lists = self._last_free_lists
        if free_lists is None or stream is not self._last_stream:
            if stream not in self._free_lists:
                self._free_lists[stream] = FreeLists()
            free_lists = self._free_lists[stream]
            self._last_stream, self._last_free_lists = stream, free_lists
        return free_lists


def take_block(pool: BlockPool, nbytes: int, stream: StreamHandle) -> Block | None:
    """Return a block from the free list of `nbytes` (a multiple of 512), else the best fit; None without either."""
    free_list = pool.free_lists_of(stream).get(nbytes)
    if free_list is not None and free_list.top is not None:
        kept = free_list.top
        free_list.top = kept.below
        kept.below = None
        return kept
    return pool.find(nbytes, stream)


def keep_block(pool: BlockPool, block: Block) -> None:
    """Push a freed block on the free list of its size class."""
    free_list = block.free_list
    if free_list is None:
        free_lists = pool.free_lists_of(block.stream)
        free_list = free_lists.get(block.served)
        if free_list is None:
            free_list = free_lists.add(block.served)
        block.free_list = free_list
    if not free_list.is_filled:
        free_list.is_filled = True
        pool.filled.append(free_list)
    block.below = free_list.top
    free_list.top = block
