"""The hot path of the caching allocator: takes blocks, frees them, and returns freed blocks to their pools.

memory/allocator.py contains the rest, and documents the choice of blocks and the invariants.
"""

from __future__ import annotations

from ..driver.api import Driver, StreamHandle
from ..errors import ArgumentError
from ..memory.pending import Pending, RecordEvent
from ..memory.private import Routes
from ..memory.settings import BLOCK_GRAIN, rounded
from ..memory.statistics import note_peaks
from . import call_errors
from .native import Lock
from .pool import SMALL_LIMIT, Block, Counters, Flow, Pool, keep_block, note_hot_peaks, take_block
from .queue import hooks


class BlockAllocator:
    """Takes and frees memory blocks of one device.  The subclass defines `_poll` and `_find_room`."""

    def __init__(self, driver: Driver, device: int, record_event: RecordEvent) -> None:
        self.device, self._driver, self._hot = device, driver, driver.hot
        self._watches_blocks = driver.capabilities.watches_blocks
        self.lock = Lock()
        self._freed: list[Block] = []
        self._pending: Pending[Block] = Pending(driver, record_event)
        self._awaited = self._pending.queues
        self._total = Counters()
        self._small, self._large = Pool(True, self._total), Pool(False, self._total)
        self._small_limit = SMALL_LIMIT
        self._routes: Routes | None = None  # set while a capture or a thread uses private pools
        self._divisions: tuple[int, ...] = ()
        self._oversize = Flow()

    def take(self, nbytes: int, stream: StreamHandle) -> Block:
        """Return a block of at least `nbytes` bytes, first used on `stream`.  Raises: ArgumentError, OutOfMemoryError.

        The caller holds `lock` until the block has an owner; otherwise an interrupt could leak the block.
        """
        if nbytes <= 0:
            raise ArgumentError(f"{nbytes} bytes were requested; a block has at least 1", operator="allocate")
        size = rounded(nbytes, self._divisions) if self._divisions else (nbytes + BLOCK_GRAIN - 1) & -BLOCK_GRAIN
        pool = self._small if size <= self._small_limit else self._large
        if self._routes is not None:
            pool = self._routes.instead_of(pool, stream, self._driver)
        if self._freed:
            BlockAllocator._drain(self)  # a direct call
        if self._awaited:
            self._poll()
        block = take_block(pool, size, stream) or self._find_room(pool, size, stream)
        if self._watches_blocks:
            self._show_taken(block, nbytes, stream)
        block.requested = nbytes
        if block.served != size:
            block.served = size
            block.free_list = None
        block.allocated = True
        counters = pool.counters
        counters.allocation.allocated += 1
        counters.allocated_bytes.allocated += block.nbytes
        counters.requested_bytes.allocated += nbytes
        if block.nbytes >= pool.max_split:
            block.is_oversize = True
            self._oversize.add(1)
        if hooks.on_block_taken is not None:
            hooks.on_block_taken(block, stream)
        return block

    def _show_taken(self, block: Block, nbytes: int, stream: StreamHandle) -> None:
        try:
            self._hot.block_taken(self.device, block.address, nbytes, stream)
        except BaseException:
            pool = block.segment.pool  # when memory is short, it may come from a pool other than the requested one
            assert pool is not None
            pool.put(block)
            raise

    def free(self, block: Block) -> None:
        """Free a block.  Safe in finalizers and under any lock; takes effect when the allocator next drains its list.

        Host:   returns at once.
        Raises: AcceleratorError if the block was freed already.
        """
        if not block.allocated:
            raise call_errors.invalid_pointer("free", block.address)
        block.allocated = False
        if hooks.on_block_freed is not None:
            hooks.on_block_freed(block)
        self._freed.append(block)

    # methods that need the lock held
    def _drain(self) -> None:
        """Process the blocks freed since the last call.  A block whose processing fails stays in the list."""
        small, large = self._small.counters, self._large.counters
        if small.awaiting or large.awaiting:
            note_peaks(small, large, self._total)
        else:
            note_hot_peaks(small, large, self._total)
        freed, count = self._freed, 0
        try:
            while count < len(freed):  # other frees may append meanwhile
                self._take_back(freed[count], False)
                count += 1
        finally:
            if count == 1:  # fast path for the usual case
                del freed[0]
            else:
                del freed[:count]

    def _take_back(self, block: Block, records_later: bool) -> None:
        if block.streams:
            if records_later:
                self._pending.put_off(block)
            else:
                self._pending.add(block)
        if self._watches_blocks:
            self._hot.block_given(self.device, block.address, block.requested)
        if hooks.on_block_given is not None:
            hooks.on_block_given(block)
        pool = block.segment.pool
        assert pool is not None
        counters = pool.counters
        counters.allocation.freed += 1
        counters.allocated_bytes.freed += block.nbytes
        if block.is_oversize:
            block.is_oversize = False
            self._oversize.remove(1)
        if block.pending:
            counters.awaiting += 1
            counters.awaiting_bytes += block.nbytes
        else:
            counters.requested_bytes.freed += block.requested
            keep_block(pool, block)

    # methods of the subclass, called with the lock held
    def _poll(self) -> None:
        """Make the blocks reusable whose events have completed."""
        raise AssertionError("the subclass defines _poll")

    def _find_room(self, pool: Pool, size: int, stream: StreamHandle) -> Block:
        """Obtain a block of at least `size` bytes that the pool cannot serve.  Raises: OutOfMemoryError."""
        raise AssertionError("the subclass defines _find_room")
