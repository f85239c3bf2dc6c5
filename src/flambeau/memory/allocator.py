"""Caching allocator of one device: carves the driver's segments into blocks and reuses them.

Policy
- Sizes are rounded to 512 B.  Up to 1 MiB: the small pool, carved from 2 MiB segments.  Above: the large pool; requests
  under 10 MiB share segments of 20 MiB, others get a segment of their own, a multiple of 2 MiB.
- A block serves only the stream that its segment was made for.  Memory changes stream only through the driver.
- A block that other streams used is reusable once their events are done.  The events are recorded when the freed block
  is drained.
- Memory goes back to the driver only in `empty_cache`, above the garbage collection threshold, or when the driver has
  no more.  Only then does the host wait.  With exact settings (no caching), the next `allocate` also waits for freed
  blocks and hands them back.
- If no cached block fits: ask the driver, reclaim blocks whose events are done, call `last_resort`, hand back oversize
  segments, wait for all events and search again, hand back every idle segment, and finally raise.

Invariants
- `free` takes no lock, because it may run in a finalizer inside any lock, this one included.  It appends to a list,
  which the next call that takes the lock drains.
- Driver calls, `record_event` and the block hooks run under the lock.  Of this allocator, they may call only `free`.
  A caller of this allocator must not hold a lock that `record_event` takes.
- During a capture no event is recorded, queried or waited for, and no segment is handed back.  Capturing streams
  allocate from the private pool of the capture (memory/private.py), and their blocks return to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import get_ident

from ..core import call_errors
from ..core.allocator import BlockAllocator
from ..core.call_errors import invalid_pointer
from ..core.pool import SMALL_LIMIT, Block, Counters, Flow, Pool, take_block
from ..core.queue import hooks
from ..driver.api import Address, Driver, StreamHandle
from . import history
from .out_of_memory import TOO_LARGE_TO_TRY, Holder, Shortage, too_large
from .pending import RecordEvent
from .private import PoolId, PoolSet, PrivatePools, Routes, relaxed
from .segments import EXPANDABLE_SMALL_LIMIT, Segments, SegmentSource, largest
from .settings import UNLIMITED, Settings, check_fraction
from .statistics import (
    Incidents,
    copied,
    current,
    flows_of,
    note_peaks,
    report,
    report_flow,
    reset_accumulated,
    reset_peaks,
    settle,
)

ProcessUsage = Callable[[], Sequence[tuple[int, int]]]


class StreamAllocator(BlockAllocator):
    """An allocator whose blocks other streams may use."""

    def record_stream(self, block: Block, stream: StreamHandle) -> None:
        """Delay the reuse of the block, after its free, until the work queued on `stream` by then is done.

        Has no effect for the block's own stream.
        Host:   returns at once.
        Raises: AcceleratorError if the block was freed.
        """
        if not block.allocated:
            raise call_errors.invalid_pointer("record_stream", block.address)
        if stream == block.stream:
            return
        with self.lock:
            if stream not in block.streams:
                block.streams.append(stream)

    def _finish(self, block: Block) -> None:
        """Make a freed block reusable: its events are all done."""
        pool = block.segment.pool
        assert pool is not None
        pool.counters.awaiting -= 1
        pool.counters.awaiting_bytes -= block.nbytes
        pool.counters.requested_bytes.freed += block.requested
        pool.put(block)


class CachingAllocator(StreamAllocator):
    """Allocates blocks of one device's memory, and reuses them.

    record_event(stream): creates an event without timing, records it on the stream and returns it.
    process_usage():      (process id, bytes) of every process on the device, for out-of-memory errors; may be None.
    """

    def __init__(
        self,
        driver: Driver,
        device: int,
        record_event: RecordEvent,
        settings: Settings | None = None,
        process_usage: ProcessUsage | None = None,
    ) -> None:
        super().__init__(driver, device, record_event)
        self._process_usage = process_usage
        self._segments = Segments(driver, device, record_event)
        self._shared = PoolSet(self._small, self._large)  # `take` uses one pair of these
        self._private = PrivatePools()
        self._chosen = Routes()
        self._released: list[PoolId] = []
        self._fraction = 1.0
        self._incidents = Incidents()
        self.last_resort: Callable[[], None] | None = None  # called when memory runs out; may free blocks
        self.configure(settings or Settings())

    def owns(self, address: int) -> bool:
        """Return whether the address lies in one of this allocator's segments."""
        with self.lock:
            is_owned = self._segments.owns(address)
        return is_owned

    # options
    def configure(self, settings: Settings) -> None:
        """Change the settings.  Omitted ones return to their defaults, except the limit."""
        with self.lock:
            self._segments.settings = settings
            self._divisions = settings.roundup_divisions
            expands = settings.expandable_segments and not settings.exact
            self._small, self._large = self._shared.expandable if expands else self._shared.plain
            self._small_limit = EXPANDABLE_SMALL_LIMIT if expands else SMALL_LIMIT
            for pools in (self._shared, *self._private.sets()):
                pools.configure(settings)
        if settings.memory_fraction is not None:
            self.set_fraction(settings.memory_fraction)

    @property
    def settings(self) -> Settings:
        return self._segments.settings

    def set_fraction(self, fraction: float) -> None:
        """Limit the memory that this process reserves to a fraction of the device's memory.

        Raises: ArgumentTypeError if it is not a float; ArgumentError if it lies outside 0 to 1.
        """
        check_fraction(fraction)
        _, total = self._driver.mem_info(self.device)
        self._segments.limit = int(fraction * total)
        self._fraction = fraction

    @property
    def fraction(self) -> float:  # fraction of the device's memory that this process may reserve
        return self._fraction

    @property
    def limit(self) -> int | None:  # bytes; None if only the device limits this process
        return self._segments.limit

    def allocate(self, nbytes: int, stream: StreamHandle) -> Block:
        """Return a block of at least `nbytes` bytes whose first use is on `stream`.

        Host:   returns at once, unless the driver has no more memory: then it may wait for the device.
        Raises: OutOfMemoryError if there is no room even then; ArgumentError if nbytes is not positive.
        """
        self.lock.acquire()
        try:
            block = self.take(nbytes, stream)
        finally:
            self.lock.release()
        return block

    def capture_started(self, pool_id: PoolId | None = None) -> None:
        """Begin a capture: until it ends, no event is queried and no memory is handed back.

        pool_id: the private pool that serves the capturing streams, kept until `release_pool`.
        """
        with self.lock:
            self._pending.capture_started()
            if pool_id is not None:
                self._chosen.captured = self._private.use(pool_id, self._shared, self.settings)
                self._reroute()

    def capture_ended(self) -> None:
        """End a capture.  After the last one, blocks freed during captures get their events."""
        with self.lock:
            self._chosen.captured = None
            self._reroute()
            self._pending.capture_ended()

    @property
    def backend(self) -> str:  # PyTorch's name for the kind of allocator
        return "native"

    def require_pools(self, operator: str) -> None:
        """Raise NotSupportedError for an operator if this allocator has no private pools."""

    def require_segments(self, operator: str) -> None:
        """Raise NotSupportedError for an operator if this allocator has no segments."""

    def hold_pool(
        self,
        pool_id: PoolId,
        serves_shortages: bool = False,
        is_split: bool = True,
        source: SegmentSource | None = None,
    ) -> None:
        """Add a user to a private pool, which is created if missing, until `release_pool`.

        source: where the pool gets its segments; None for the driver.
        """
        with self.lock:
            private = self._private.use(pool_id, self._shared, self.settings)
            private.serves_shortages = serves_shortages
            if not is_split:
                private.never_split()
            if source is not None:
                private.expands = False
                self._segments.sources[pool_id] = source

    def begin_pool(self, pool_id: PoolId) -> None:
        """Serve the requests of this thread from a private pool, until `end_pool`.  Such calls nest."""
        with self.lock:
            private = self._private.use(pool_id, self._shared, self.settings)
            self._chosen.threads.setdefault(get_ident(), []).append(private)
            self._reroute()

    def end_pool(self, pool_id: PoolId) -> None:
        """Undo the thread's innermost `begin_pool`, which was for this pool."""
        with self.lock:
            chosen = self._chosen.threads[get_ident()]
            chosen.pop()
            if not chosen:
                del self._chosen.threads[get_ident()]
            self._reroute()
            self._private.release(pool_id)

    def pool_uses(self, pool_id: PoolId) -> int:
        """Return the number of users of a private pool."""
        with self.lock:
            self._release_pools()
            uses = self._private.uses(pool_id)
        return uses

    def _reroute(self) -> None:
        self._routes = None if self._chosen.is_empty else self._chosen

    def release_pool(self, pool_id: PoolId) -> None:
        """Remove one user of a private pool.  After the last one, `empty_cache` frees the pool.  Takes no lock."""
        self._released.append(pool_id)

    def empty_cache(self) -> None:
        """Return every idle segment to the driver.  Does nothing during a capture or in a thread inside `begin_pool`.

        Host: waits for the work that may still use the segments.
        """
        with self.lock:
            self._settle()
            if not self._pending.is_capturing and get_ident() not in self._chosen.threads:
                self._wait_for_events()
                self._hand_back_idle()

    # numbers
    @property
    def allocated_bytes(self) -> int:
        """Bytes of allocated blocks.  Does not wait for the lock, like `statistics`."""
        total, _, _ = self._figures()
        return current(total.allocated_bytes)

    @property
    def reserved_bytes(self) -> int:  # in segments
        return self._segments.reserved

    def statistics(self) -> dict[str, int]:
        """Return every counter, by the flat names of torch.cuda.memory_stats.

        Does not wait for the lock: a block that another thread is allocating or freeing may or may not be counted.
        """
        counts = report(*self._figures())
        report_flow(self._oversize, "oversize_allocations", counts)
        report_flow(self._segments.oversize, "oversize_segments", counts)
        counts |= self._incidents.counts() | self._segments.counts()
        return dict(sorted(counts.items()))

    def _figures(self) -> tuple[Counters, Counters, Counters]:
        """Return up-to-date counters: of both pools together, of the small one, and of the large one."""
        if self.lock.try_acquire():
            try:
                self._settle_for_report()
                figures = copied(self._total), copied(self._small.counters), copied(self._large.counters)
            finally:
                self.lock.release()
            return figures
        total, small, large = (copied(level) for level in (self._total, self._small.counters, self._large.counters))
        note_peaks(small, large, total)
        for block in tuple(self._freed):
            pool = block.segment.pool
            assert pool is not None
            counters = small if pool.is_small else large
            counters.allocation.freed += 1
            counters.allocated_bytes.freed += block.nbytes
            if block.streams:
                counters.awaiting += 1
                counters.awaiting_bytes += block.nbytes
            else:
                counters.requested_bytes.freed += block.requested
        settle(small, large, total)
        return total, small, large

    def snapshot(self) -> list[dict[str, object]]:
        """Return every segment and its blocks, in address order, by the names of torch.cuda.memory_snapshot."""
        with self.lock:
            self._settle_for_report()
            segments = self._segments.snapshot()
        return segments

    def reset_peak_statistics(self) -> None:
        """Set every peak to the current value."""
        with self.lock:
            self._settle_for_report()
            reset_peaks(self._flows())

    def reset_accumulated_statistics(self) -> None:
        """Set every accumulated count to 0."""
        with self.lock:
            self._settle_for_report()
            reset_accumulated(self._flows())
            self._incidents.reset()
            self._segments.reset_counts()

    def coalesce(self) -> None:
        """Merge all freed blocks with their free neighbours now."""
        with self.lock:
            self._settle()

    # methods that need the lock held
    def _settle(self) -> None:
        """Process freed blocks and coalesce every pool."""
        self._drain()
        self._settle_pools()
        self._release_pools()

    def _release_pools(self) -> None:
        while self._released:
            self._private.release(self._released.pop())

    def _settle_pools(self) -> None:
        for pool in (*self._shared.all, *self._private.pools()):
            pool.coalesce()

    def _poll(self) -> None:
        if self.settings.exact and not self._pending.is_capturing:
            self._wait_for_events()
            return self._hand_back_idle()
        note_peaks(self._small.counters, self._large.counters, self._total)
        self._pending.poll(self._finish)

    def _finish(self, block: Block) -> None:
        if hooks.on_memory is not None and block.segment.pool is not None:
            pool = block.segment.pool.id
            hooks.on_memory("free_completed", self.device, block.address, block.requested, block.stream, pool)
        super()._finish(block)

    # fallbacks when no cached block fits
    def _find_room(self, pool: Pool, size: int, stream: StreamHandle) -> Block:
        """Return a block of `size` bytes when no idle one of the pool fits.  Raises: OutOfMemoryError."""
        if size >= TOO_LARGE_TO_TRY:
            raise too_large()
        self._settle_pools()
        block = self._search(pool, size, stream) if pool.is_expandable else None
        is_rejected = block is None and self._is_rejected(pool, size)
        if block is None and not is_rejected:
            block = self._find_at_once(pool, size, stream)
        if block is None and not is_rejected and not self._pending.is_capturing:
            block = self._find_after_waiting(pool, size, stream)
            for private in self._private.in_shortages() if block is None else ():
                block = block or take_block(private.like(pool), size, stream)
        if block is None:
            self._incidents.out_of_memories += 1
            shortage = self._shortage(pool, size, stream)
            if hooks.on_memory is not None:
                hooks.on_memory("oom", self.device, shortage.free, size, stream, pool.id)
            raise shortage.error()
        return block

    def _is_rejected(self, pool: Pool, size: int) -> bool:
        """Count and return whether the settings refuse a request because its segment would exceed the limit."""
        limit = self._segments.limit if self.settings.rejects_over_limit else None
        if limit is None or self._segments.reserved + self._segments.size_for(size, pool) <= limit:
            return False
        self._incidents.rejections += 1
        return True

    def _search(self, pool: Pool, size: int, stream: StreamHandle) -> Block | None:
        """Return an idle block of a pool; with expandable segments, also one of the ordinary segments beside them."""
        block = take_block(pool, size, stream)
        if block is None and pool.is_expandable:
            block = take_block(self._private.of(pool, self._shared).plain_like(pool), size, stream)
        return block

    def _find_at_once(self, pool: Pool, size: int, stream: StreamHandle) -> Block | None:
        if self._pending.is_capturing:
            with relaxed(self._driver):
                return self._segments.grow(pool, size, stream)
        self._segments.collect_garbage(self._shared.plain[1])
        if (block := self._segments.grow(pool, size, stream)) is None:
            self._poll()
            block = self._search(pool, size, stream)
        return block

    def _find_after_waiting(self, pool: Pool, size: int, stream: StreamHandle) -> Block | None:
        if self.last_resort is not None:
            self.last_resort()
        self._settle()
        large = self._shared.plain[1]
        if self.settings.max_split_size != UNLIMITED and self._segments.hand_back_oversize(large, size, stream):
            block = self._segments.grow(pool, size, stream)
            if block is not None:
                return block
        self._wait_for_events()
        if (block := self._search(pool, size, stream)) is not None:
            return block
        self._hand_back_idle()
        self._incidents.retries += 1
        block = self._segments.grow(pool, size, stream)
        if block is None and pool.is_expandable:
            self._hand_back_idle()  # includes the pages that were mapped before one was refused
        return block

    def _wait_for_events(self) -> None:
        self._incidents.waits += 1
        note_peaks(self._small.counters, self._large.counters, self._total)
        self._pending.wait(self._finish)

    def _hand_back_idle(self) -> None:
        for pool in (*self._shared.all, *self._private.unused()):
            self._segments.hand_back_idle(pool)
        self._private.forget_empty()

    def _shortage(self, pool: Pool, size: int, stream: StreamHandle) -> Shortage:
        free, total = self._driver.mem_info(self.device)
        self._bring_up_to_date()
        return Shortage(
            device=self.device,
            block=size,
            segment=self._segments.size_for(size, pool),
            total=total,
            free=free,
            limit=self._segments.limit,
            processes=tuple(self._process_usage()) if self._process_usage is not None else (),
            allocated=current(self._total.allocated_bytes),
            active=current(self._total.active_bytes),
            reserved=self.reserved_bytes,
            largest=max(map(largest, self._shared.all)),
            reachable=largest(pool, stream),
            capturing=self._pending.is_capturing,
            waiting=self._waiting(),
            holders=self._holders(),
            is_recorded=history.recorder is not None,
            expands=pool.is_expandable,
        )

    def _waiting(self) -> tuple[tuple[int, int], ...]:
        """Return (CUstream, bytes) for each stream that freed blocks wait for."""
        sums: dict[StreamHandle, int] = {}
        for stream, block in self._pending.awaited():
            sums[stream] = sums.get(stream, 0) + block.nbytes
        return tuple((self._driver.stream_raw(stream), nbytes) for stream, nbytes in sums.items())

    def _holders(self) -> tuple[Holder, ...]:
        """Return the lines that allocated the live blocks, if a history is recorded."""
        if history.recorder is None:
            return ()
        lines: dict[str, list[int]] = {}
        for segment, blocks in self._segments.runs():
            is_expandable = segment.pool is not None and segment.pool.is_expandable  # its pages are returned one by one
            free = 0 if is_expandable else sum(block.nbytes for block in blocks if block.is_idle)
            sites = {block.address: history.recorder.line_of(block.address) for block in blocks if not block.is_idle}
            for block in blocks:
                if not block.is_idle:
                    sums = lines.setdefault(sites[block.address], [0, 0, 0])
                    sums[0] += block.nbytes
                    sums[1] += 1
            if len(set(sites.values())) == 1:
                lines[next(iter(sites.values()))][2] += free
        return tuple(Holder(site, *sums) for site, sums in lines.items())

    # numbers
    def _bring_up_to_date(self) -> None:
        self._settle()
        settle(self._small.counters, self._large.counters, self._total)

    def _settle_for_report(self) -> None:
        """Update the counters without a driver call that could wait, or fail on a lost device."""
        note_peaks(self._small.counters, self._large.counters, self._total)
        freed, count = self._freed, 0
        try:
            while count < len(freed):
                self._take_back(freed[count], True)
                count += 1
        finally:
            del freed[:count]
        self._settle_pools()
        self._release_pools()
        settle(self._small.counters, self._large.counters, self._total)

    def _flows(self) -> list[Flow]:
        levels = self._total, self._small.counters, self._large.counters
        return [flow for level in levels for _, flow in flows_of(level)] + [self._oversize, self._segments.oversize]


class RawBlocks:
    """Raw allocations of one allocator, by address."""

    def __init__(self, allocator: CachingAllocator) -> None:
        self._allocator = allocator
        self._blocks: dict[int, Block] = {}

    def allocate(self, nbytes: int, stream: StreamHandle) -> Address:
        """Allocate `nbytes` bytes as the allocator does; return 0 for 0 bytes."""
        if nbytes == 0:
            return Address(0)
        with self._allocator.lock:
            block = self._allocator.take(nbytes, stream)
            self._blocks[block.address] = block
        return block.address

    def free(self, address: int) -> None:
        """Free memory of `allocate`; 0 is ignored.  Raises: AcceleratorError for any other address."""
        if address == 0:
            return
        block = self._blocks.pop(address, None)
        if block is None:
            raise invalid_pointer("free", address)
        self._allocator.free(block)
