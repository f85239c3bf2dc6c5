"""Caching allocator of pinned host memory.

Policy
- Sizes are rounded to 4 KiB, never to powers of two.  Blocks are not split.  The smallest idle block that is large
  enough is reused, if it wastes at most an eighth of the request, or 4 KiB.
- A freed block is reusable once the events of all its recorded streams are done.  The events are recorded when the
  block is drained, and queried at the next allocation.  A slow stream delays only its own blocks.  Copies that write a
  block bring their own events.
- Idle blocks are kept up to a limit in bytes.  Above it, those idle longest go back to the driver first.
- If the driver is out of memory: wait for all events, search again, hand back everything idle, ask the driver again.

Invariants
- `free` takes no lock: it appends to a deque, which the next call that takes the lock drains.
- Driver calls and `record_event` run under the lock.  Of this cache, they may call only `free`.
- During a capture no event is recorded or queried, and nothing is handed back.
"""

from __future__ import annotations

import ctypes
import mmap
import time
from bisect import bisect_left, insort
from collections import deque
from typing import Any, Protocol

from .. import signals
from ..core.native import Lock
from ..core.pool import Flow
from ..driver.api import Address, Driver, EventHandle, StreamHandle
from ..errors import AcceleratorError, ArgumentError, OutOfMemoryError
from .pending import Pending, RecordEvent
from .private import relaxed
from .settings import UNLIMITED
from .statistics import Times, report_flow, reset_accumulated, reset_peaks

HOST_GRAIN = 4 << 10  # bytes: every block is a multiple of this
WASTE_SHIFT = 3  # a reused block may exceed the request by 1 / 2**3 of it
LEAST_WASTE = 4 << 10  # bytes: by which a reused block may always exceed the request
INVALID_VALUE = 1  # the CUresult of an invalid pointer


class PendingCopy(Protocol):
    """A copy that writes a block."""

    @property
    def place(self) -> tuple[StreamHandle, EventHandle]:
        """The copy's stream, and the event recorded after it."""


class HostBlock:
    """A block of pinned memory: allocated, waiting for events, or idle.

    nbytes:    its size, a multiple of 4 KiB;  requested: the bytes that were asked for.
    streams:   recorded streams that have no event yet;  pending: the number of unfinished events.
    pending_copies: copies that write it and were not waited for yet; runtime/pending_copies.py replaces the list.
    allocated: whether it has an owner.
    memory:    the process's memory that the driver registered; None if the driver allocated it.
    """

    __slots__ = ("address", "allocated", "memory", "pending_copies", "nbytes", "pending", "requested", "streams")

    def __init__(self, address: Address, nbytes: int) -> None:
        self.address = address
        self.nbytes = nbytes
        self.memory: Any = None
        self.requested = 0
        self.allocated = False
        self.streams: list[StreamHandle] = []
        self.pending_copies: list[PendingCopy] = []
        self.pending = 0


class PinnedCache:
    """Allocates blocks of pinned host memory, for all devices, and reuses them.

    record_event(stream): creates an event without timing, records it on the stream and returns it.
    max_cached:           bytes of idle blocks to keep at most.
    registers:            whether new blocks are memory of the process that the driver registers.
    """

    def __init__(self, driver: Driver, record_event: RecordEvent, max_cached: int = UNLIMITED) -> None:
        self.max_cached = max_cached
        self.registers = False
        self._driver = driver
        self.lock = Lock()
        self._freed: deque[HostBlock] = deque()
        # The garbage collector finalizes all objects of a cycle.  This set keeps blocks, and with them the events of
        # their pending copies, out of the cycle of a tensor: those events are queried after the block was freed.
        self._in_use: set[HostBlock] = set()
        self._pending: Pending[HostBlock] = Pending(driver, record_event)
        self._by_size: list[tuple[int, int]] = []
        self._idle: dict[int, HostBlock] = {}  # by address; the block idle longest is first
        self._idle_bytes = 0
        self._allocations = Flow()
        self._allocated_bytes = Flow()
        self._active_requests = Flow()
        self._active_bytes = Flow()
        self._alloc_time = Times()
        self._free_time = Times()
        self._frees = self._allocs = 0

    def allocate(self, nbytes: int) -> HostBlock:
        """Return a block of at least `nbytes` bytes.

        Host:   returns at once, unless the driver has no more: then it may wait for work that uses freed blocks.
        Raises: OutOfMemoryError if there is no room even then; ArgumentError if nbytes is not positive.
        """
        with self.lock:
            return self.take(nbytes)

    def take(self, nbytes: int) -> HostBlock:
        """Like `allocate`.  The caller holds `lock` until the block has an owner; else an interrupt could lose it."""
        if nbytes <= 0:
            raise ArgumentError(f"pinned allocate: {nbytes} bytes were requested; a block has at least 1")
        signals.look()
        size = -(-nbytes // HOST_GRAIN) * HOST_GRAIN
        self._drain()
        self._poll()
        block = self._take(size) or self._find_room(size)
        if self._driver.capabilities.finds_races:
            self._show_taken(block)
        block.requested = nbytes
        block.allocated = True
        self._in_use.add(block)
        self._active_requests.add(1)
        self._active_bytes.add(block.nbytes)
        return block

    def _show_taken(self, block: HostBlock) -> None:
        try:
            self._driver.host_taken(block.address, block.nbytes)
        except BaseException:
            self._keep(block)
            raise

    def free(self, block: HostBlock) -> None:
        """Free a block.  Safe in finalizers and under any lock; takes effect when the next call drains it.

        Host:   returns at once.
        Raises: AcceleratorError if the block was freed already.
        """
        if not block.allocated:
            raise _invalid_pointer("pinned free", block)
        block.allocated = False
        self._freed.append(block)

    def record_stream(self, block: HostBlock, stream: StreamHandle) -> None:
        """Delay the reuse of the block, after its free, until the work queued on `stream` by then is done.

        Host:   returns at once.
        Raises: AcceleratorError if the block was freed.
        """
        if not block.allocated:
            raise _invalid_pointer("pinned record_stream", block)
        with self.lock:
            if stream not in block.streams:
                block.streams.append(stream)

    def capture_started(self) -> None:
        """Begin a capture: until it ends, no event is queried and no memory is handed back."""
        with self.lock:
            self._pending.capture_started()

    def capture_ended(self) -> None:
        """End a capture.  After the last one, blocks freed during captures get their events."""
        with self.lock:
            self._pending.capture_ended()

    def empty_cache(self) -> None:
        """Return every idle block to the driver.  Does nothing during a capture.

        Blocks whose events are not done stay.

        Host: returns at once.
        """
        with self.lock:
            self._drain()
            self._poll()
            if not self._pending.is_capturing:
                self._shrink(0)

    def statistics(self) -> dict[str, int]:
        """Return every counter, by the flat names of torch.cuda.host_memory_stats; times in microseconds.

        Does not wait for the lock: if another call holds it, blocks freed since the last call still count as live.
        """
        if self.lock.try_acquire():
            try:
                self._drain(records_later=True)
            finally:
                self.lock.release()
        counts: dict[str, int] = {}
        for name, flow in self._flows():
            report_flow(flow, name, counts)
        counts["num_host_alloc"] = self._allocs
        counts["num_host_free"] = self._frees
        self._alloc_time.report("host_alloc_time", counts)
        self._free_time.report("host_free_time", counts)
        return dict(sorted(counts.items()))

    def reset_peak_statistics(self) -> None:
        """Set every peak to the current value, and reset the longest and shortest times."""
        with self.lock:
            self._drain()
            reset_peaks(flow for _, flow in self._flows())
            self._alloc_time.reset_peak()
            self._free_time.reset_peak()

    def reset_accumulated_statistics(self) -> None:
        """Set every accumulated count to 0."""
        with self.lock:
            self._drain()
            reset_accumulated(flow for _, flow in self._flows())
            self._alloc_time.reset()
            self._free_time.reset()
            self._frees = self._allocs = 0

    # methods that need the lock held
    def _drain(self, records_later: bool = False) -> None:
        """Process the blocks freed since the last call.  A block whose processing fails stays in the list."""
        while self._freed:
            block = self._freed[0]
            if block.streams:
                (self._pending.put_off if records_later else self._pending.add)(block)
            for copy in block.pending_copies:
                self._pending.follow(block, *copy.place, owner=copy)
            block.pending_copies = []
            self._in_use.discard(block)
            self._freed.popleft()
            if block.pending:
                continue
            self._make_idle(block)
            if not records_later:
                self._keep_within_cap()

    def _poll(self) -> None:
        if self._pending.queues:
            self._pending.poll(self._finish)

    def _finish(self, block: HostBlock) -> None:
        """Make a freed block idle: its events are all done."""
        self._make_idle(block)
        self._keep_within_cap()

    def _make_idle(self, block: HostBlock) -> None:
        self._active_requests.remove(1)
        self._active_bytes.remove(block.nbytes)
        self._keep(block)

    def _keep_within_cap(self) -> None:
        if not self._pending.is_capturing:
            self._shrink(self.max_cached)

    def _keep(self, block: HostBlock) -> None:
        insort(self._by_size, (block.nbytes, block.address))
        self._idle[block.address] = block
        self._idle_bytes += block.nbytes

    def _take(self, size: int) -> HostBlock | None:
        """Remove and return the smallest idle block that fits without too much waste, or None."""
        at = bisect_left(self._by_size, (size,))
        if at == len(self._by_size):
            return None
        nbytes, address = self._by_size[at]
        if nbytes - size > max(size >> WASTE_SHIFT, LEAST_WASTE):
            return None
        del self._by_size[at]
        self._idle_bytes -= nbytes
        return self._idle.pop(address)

    def _find_room(self, size: int) -> HostBlock:
        try:
            return self._make(size)
        except OutOfMemoryError:
            if self._pending.is_capturing:
                raise
        self._pending.wait(self._finish)
        block = self._take(size)
        if block is None:
            self._shrink(0)
            block = self._make(size)
        return block

    def _make(self, size: int) -> HostBlock:
        start = time.perf_counter_ns()
        if self._pending.is_capturing:
            with relaxed(self._driver):
                block = self._pinned(size)
        else:
            block = self._pinned(size)
        self._alloc_time.add(time.perf_counter_ns() - start)
        self._allocs += 1
        self._allocations.add(1)
        self._allocated_bytes.add(size)
        return block

    def _pinned(self, size: int) -> HostBlock:
        if not self.registers:
            return HostBlock(self._driver.host_alloc(size), size)
        memory = (ctypes.c_uint8 * size).from_buffer(mmap.mmap(-1, size))
        block = HostBlock(Address(ctypes.addressof(memory)), size)
        self._driver.host_register(block.address, size)
        block.memory = memory
        return block

    def _unpin(self, block: HostBlock) -> None:
        if block.memory is None:
            self._driver.host_free(block.address)
        else:
            self._driver.host_unregister(block.address)
            block.memory = None

    def _shrink(self, max_cached: int) -> None:
        """Free idle blocks, least recently used first, until at most `max_cached` bytes are cached."""
        while self._idle_bytes > max_cached:
            block = next(iter(self._idle.values()))
            start = time.perf_counter_ns()
            self._unpin(block)
            self._free_time.add(time.perf_counter_ns() - start)
            del self._idle[block.address]
            del self._by_size[bisect_left(self._by_size, (block.nbytes, block.address))]
            self._idle_bytes -= block.nbytes
            self._frees += 1
            self._allocations.remove(1)
            self._allocated_bytes.remove(block.nbytes)

    def _flows(self) -> tuple[tuple[str, Flow], ...]:
        return (
            ("allocations", self._allocations),
            ("allocated_bytes", self._allocated_bytes),
            ("active_requests", self._active_requests),
            ("active_bytes", self._active_bytes),
        )


def _invalid_pointer(operator: str, block: HostBlock) -> AcceleratorError:
    return AcceleratorError(f"invalid pinned pointer: {block.address:#x}", error_code=INVALID_VALUE, operator=operator)
