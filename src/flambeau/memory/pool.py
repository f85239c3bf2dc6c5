"""Pools: finding, splitting and coalescing the idle blocks of segments.

- Blocks tile their segment in address order.  A block has an owner, waits for events, or is idle.
- Each stream has a list of idle blocks sorted by size, then address: the first that is large enough is the best fit.
- Two neighbours are never both idle: `put` coalesces them.  A block that waits for events is not idle.
- A freed block is in a free list first (core/pool.py): `coalesce` moves all such blocks to the idle list, before
  statistics are read and when a request finds no block.  The small pool tries the best fit before that, so that the
  blocks of loops stay apart.
- In a split and in a merge the lower Block object survives, so the first block of a segment never changes.
- A pool has no lock: its allocator holds one.
"""

from __future__ import annotations

from bisect import bisect_left, insort

from ..core.pool import Block, BlockPool, Counters, Flow
from ..driver.api import StreamHandle
from .settings import BLOCK_GRAIN, DEFAULT_NON_SPLIT_ROUNDING

SMALL_REMAINDER = BLOCK_GRAIN  # bytes: the smallest remainder that is split off in the small pool
LARGE_REMAINDER = (1 << 20) + BLOCK_GRAIN  # bytes: the smallest remainder that is split off in the large pool
SHARED = (0, 0)  # the id of the pools that are not private

Idle = tuple[int, int, Block]


class Pool(BlockPool):
    """The small or the large pool of one device: its idle blocks and its counters.

    `total` counts both pools together.  A part is an idle block of a split segment.
    counters: shared with other pools of the same size class, if passed;  id: of the private pool that it belongs to;
    segments: how many it has;  is_expandable: whether these are expandable ones, whose parts are not counted.
    """

    __slots__ = (
        "id", "idle", "is_expandable", "is_small", "max_excess", "segments", "smallest_remainder", "total",
        "_parts", "_all_parts", "_part_bytes", "_all_part_bytes",
    )  # fmt: skip

    def __init__(
        self, is_small: bool, total: Counters, counters: Counters | None = None, id: tuple[int, int] = SHARED,
        is_expandable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(counters)
        self.is_small = is_small
        self.is_expandable = is_expandable
        self.id = id
        self.segments = 0
        self.idle: dict[StreamHandle, list[Idle]] = {}
        self.total = total
        parts, all_parts = (Counters(), Counters()) if is_expandable else (self.counters, total)
        self._parts, self._all_parts = parts.inactive_split, all_parts.inactive_split
        self._part_bytes, self._all_part_bytes = parts.inactive_split_bytes, all_parts.inactive_split_bytes
        self.max_excess = DEFAULT_NON_SPLIT_ROUNDING
        self.smallest_remainder = SMALL_REMAINDER if is_small or is_expandable else LARGE_REMAINDER

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
        if block.nbytes >= self.max_split and self._is_oversize_for(block, nbytes):
            return None
        del blocks[at]
        block.is_idle = False
        return self.carve(block, nbytes)

    def put(self, block: Block) -> None:
        """Make a block idle; coalesce it with its idle neighbours."""
        nbytes = block.nbytes
        blocks = self.idle.get(block.stream)
        if blocks is None:
            blocks = self.idle[block.stream] = []
        merged = 0
        after = block.next
        if after is not None and after.is_idle:
            del blocks[bisect_left(blocks, (after.nbytes, after.address))]
            absorb(block, after)
            merged = 1
        before = block.prev
        if before is not None and before.is_idle:
            del blocks[bisect_left(blocks, (before.nbytes, before.address))]
            absorb(before, block)
            block = before
            merged += 1
        block.is_idle = True
        insort(blocks, (block.nbytes, block.address, block))
        if block.prev is not None or block.next is not None:
            change(self._part_bytes, self._all_part_bytes, nbytes)
            if merged != 1:
                change(self._parts, self._all_parts, 1 - merged)
        else:
            block.idle_since = self.counters.allocation.allocated
            if merged:
                change(self._part_bytes, self._all_part_bytes, nbytes - block.nbytes)
                change(self._parts, self._all_parts, -merged)

    def _is_oversize_for(self, block: Block, nbytes: int) -> bool:
        return nbytes < self.max_split or block.nbytes >= nbytes + self.max_excess

    def carve(self, block: Block, nbytes: int) -> Block:
        """Split a block that is in no list after `nbytes`, if the remainder is large enough."""
        rest = block.nbytes - nbytes
        was_split = block.prev is not None or block.next is not None
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
            if was_split:
                self._part_bytes.freed += nbytes
                self._all_part_bytes.freed += nbytes
            else:
                change(self._part_bytes, self._all_part_bytes, rest)
                change(self._parts, self._all_parts, 1)
        elif was_split:
            change(self._part_bytes, self._all_part_bytes, -block.nbytes)
            change(self._parts, self._all_parts, -1)
        return block


def change(flow: Flow, total: Flow, amount: int) -> None:
    """Change a pool's flow and the flow of both pools together by an amount, which may be negative."""
    if amount > 0:
        flow.allocated += amount
        total.allocated += amount
        if (current := flow.allocated - flow.freed) > flow.peak:
            flow.peak = current
        if (current := total.allocated - total.freed) > total.peak:
            total.peak = current
    else:
        flow.freed -= amount
        total.freed -= amount


def absorb(block: Block, after: Block) -> None:
    """Append the next block's bytes to a block.  The next block is unlinked, so that its reference count frees it."""
    block.nbytes += after.nbytes
    block.next = after.next
    if after.next is not None:
        after.next.prev = block
    after.prev = after.next = None
    after.is_idle = False
