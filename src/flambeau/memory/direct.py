"""Allocation without flambeau's cache: from the driver's pool (cudaMallocAsync) or by a CUDAPluggableAllocator.

- Every block is one allocation of the source.  The next call of the allocator returns freed blocks, in the order of
  their streams: a free may happen in a finalizer, where the driver must not be called.
- Before a block that other streams used is returned, its stream is made to wait for them.  The host does not wait.
- There are no private pools, so captures and `MemPool` are refused.  There are no segments, so there is no snapshot.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn, Protocol

from ..core.pool import SMALL_LIMIT, Block, Flow, Segment
from ..core.queue import hooks
from ..driver.api import Address, Driver, StreamHandle
from ..errors import ArgumentError, NotSupportedError, OutOfMemoryError
from .allocator import CachingAllocator
from .pending import RecordEvent
from .private import PoolId
from .segments import SegmentSource
from .settings import BLOCK_GRAIN, EXACT, Settings
from .statistics import current, report_flow


class Source(SegmentSource, Protocol):
    """A source of device memory.  backend: its name in `get_allocator_backend`."""

    backend: str

    def trim(self, device: int) -> None:
        """Return unused memory to the device."""

    def reserved(self, device: int, used: int) -> int:
        """Return the bytes that the source holds.  used: the bytes of live blocks."""


class DriverPool:
    """The driver's own pool."""

    backend = "cudaMallocAsync"

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def allocate(self, device: int, nbytes: int, stream: StreamHandle) -> Address:
        return self._driver.pool_alloc(device, nbytes, stream)

    def free(self, device: int, address: Address, nbytes: int, stream: StreamHandle) -> None:
        self._driver.pool_free(device, address, stream)

    def trim(self, device: int) -> None:
        self._driver.pool_trim(device)

    def reserved(self, device: int, used: int) -> int:
        return self._driver.pool_reserved(device)


class LibraryFunctions:
    """Two functions of a shared library.

    allocate: `void* f(ssize_t size, int device, cudaStream_t stream)`, which returns NULL if there is no memory;
    free: `void f(void* ptr, ssize_t size, int device, cudaStream_t stream)`.
    """

    backend = "pluggable"

    def __init__(self, path: str | os.PathLike[str], allocate: str, free: str) -> None:
        self.path = os.fspath(path)
        try:
            library = ctypes.CDLL(self.path)
        except OSError as failure:
            raise ArgumentError(
                f"{self.path} cannot be loaded: {failure}",
                hint="pass the path of a shared library (.so)",
                operator="CUDAPluggableAllocator",
            ) from failure
        self.driver: Driver | None = None  # set before the first use; translates streams
        size, stream = ctypes.c_ssize_t, ctypes.c_void_p
        self._allocate = self._function(library, allocate, ctypes.c_void_p, [size, ctypes.c_int, stream])
        self._free = self._function(library, free, None, [ctypes.c_void_p, size, ctypes.c_int, stream])

    def _function(self, library: ctypes.CDLL, name: str, result: Any, arguments: list[Any]) -> Any:
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ArgumentError(
                f"{self.path} has no function {name!r}",
                hint='declare it extern "C", and check its name with nm -D',
                operator="CUDAPluggableAllocator",
            ) from None
        function.restype, function.argtypes = result, arguments
        return function

    def allocate(self, device: int, nbytes: int, stream: StreamHandle) -> Address:
        address = self._allocate(nbytes, device, self._raw(stream))
        if not address:
            raise OutOfMemoryError(f"{self.path} has no {nbytes} bytes on device {device}", operator="allocate")
        return Address(address)

    def free(self, device: int, address: Address, nbytes: int, stream: StreamHandle) -> None:
        self._free(address, nbytes, device, self._raw(stream))

    def trim(self, device: int) -> None:
        """Do nothing: the library has no call for it."""

    def reserved(self, device: int, used: int) -> int:
        return used

    def _raw(self, stream: StreamHandle) -> int:
        assert self.driver is not None
        return self.driver.stream_raw(stream)


class DirectAllocator(CachingAllocator):
    """The allocator of one device without a cache: each block comes from a source, and goes back to it.

    follow(stream, other): makes later work of a stream wait for the work submitted to another so far.
    """

    def __init__(
        self,
        driver: Driver,
        device: int,
        record_event: RecordEvent,
        settings: Settings,
        source: Source,
        follow: Callable[[StreamHandle, StreamHandle], None],
    ) -> None:
        self._source = source
        self._follow = follow
        self._live: dict[int, Block] = {}
        self._put_off: list[Block] = []  # freed, but not yet returned
        self._held = Flow()  # bytes reserved by the source, when last asked
        super().__init__(driver, device, record_event, settings)

    @property
    def backend(self) -> str:
        return self._source.backend

    def configure(self, settings: Settings) -> None:
        """Change the settings.  Those of the cache have no effect."""
        super().configure(replace(settings, roundup_divisions=EXACT))

    def owns(self, address: int) -> bool:
        """Return whether the address lies in a live block."""
        return any(low <= address < low + block.nbytes for low, block in tuple(self._live.items()))

    # methods that need the lock held
    def take(self, nbytes: int, stream: StreamHandle) -> Block:
        """Like `CachingAllocator.allocate`."""
        if nbytes <= 0:
            raise ArgumentError(f"{nbytes} bytes were requested; a block has at least 1", operator="allocate")
        self._drain()
        size = -(-nbytes // BLOCK_GRAIN) * BLOCK_GRAIN
        pool = self._small if size <= SMALL_LIMIT else self._large
        address = self._obtain(nbytes, size, stream)
        segment = Segment(address, size, stream, pool.is_small, False)
        segment.pool = pool
        block = segment.first
        block.requested, block.allocated = nbytes, True
        self._live[address] = block
        counters = pool.counters
        counters.allocation.allocated += 1
        counters.allocated_bytes.allocated += size
        counters.requested_bytes.allocated += nbytes
        if hooks.on_block_taken is not None:
            hooks.on_block_taken(block, stream)
        return block

    def _obtain(self, nbytes: int, size: int, stream: StreamHandle) -> Address:
        for is_last in (False, True):
            used = sum(block.nbytes for block in self._live.values()) if self.limit is not None else 0
            if self.limit is None or used + size <= self.limit:
                try:
                    return self._source.allocate(self.device, nbytes, stream)
                except OutOfMemoryError:
                    pass
            if not is_last:
                if self.last_resort is not None:
                    self.last_resort()
                self._drain()
                self._trim()
                self._incidents.retries += 1
        self._incidents.out_of_memories += 1
        raise self._shortage(self._large, size, stream).error()

    def _drain(self) -> None:
        while self._put_off:
            self._return(self._put_off[-1])
            self._put_off.pop()
        super()._drain()

    def _take_back(self, block: Block, records_later: bool) -> None:
        if records_later:
            self._put_off.append(block)
        else:
            self._return(block)
        if hooks.on_block_given is not None:
            hooks.on_block_given(block)
        pool = block.segment.pool
        assert pool is not None
        counters = pool.counters
        counters.allocation.freed += 1
        counters.allocated_bytes.freed += block.nbytes
        counters.requested_bytes.freed += block.requested

    def _return(self, block: Block) -> None:
        """Return a block to the source, once its stream waits for the recorded streams."""
        while block.streams:
            self._follow(block.stream, block.streams[0])
            del block.streams[0]
        self._source.free(self.device, block.address, block.requested, block.stream)
        del self._live[block.address]

    def empty_cache(self) -> None:
        """Return the source's unused memory to the device.  Host: waits."""
        with self.lock:
            self._drain()
            self._trim()
            self._incidents.waits += 1

    def _trim(self) -> None:
        self._note_held()  # the source only grows between calls of `trim`
        self._source.trim(self.device)

    def _note_held(self) -> None:
        before, now = current(self._held), self.reserved_bytes
        if now > before:
            self._held.add(now - before)
        else:
            self._held.remove(before - now)

    def statistics(self) -> dict[str, int]:
        """Like `CachingAllocator.statistics`.  Segments and their parts are 0; reserved bytes are not split by pool."""
        counts = super().statistics()
        self._note_held()
        report_flow(self._held, "reserved_bytes.all", counts)
        counts["reserved_bytes.all.peak"] = max(self._held.peak, counts["allocated_bytes.all.peak"])
        return counts

    def _flows(self) -> list[Flow]:
        self._note_held()
        return [*super()._flows(), self._held]

    @property
    def reserved_bytes(self) -> int:
        return self._source.reserved(self.device, sum(block.nbytes for block in tuple(self._live.values())))

    # not supported without segments of its own
    def require_pools(self, operator: str) -> None:
        """Raise NotSupportedError: this allocator has no private pools."""
        self._refuse("private pools", operator)

    def require_segments(self, operator: str) -> None:
        """Raise NotSupportedError: this allocator has no segments."""
        self._refuse("segments", operator)

    def hold_pool(
        self,
        pool_id: PoolId,
        serves_shortages: bool = False,
        is_split: bool = True,
        source: SegmentSource | None = None,
    ) -> None:
        self.require_pools("MemPool")

    def snapshot(self) -> list[dict[str, object]]:
        self._refuse("segments", "memory_snapshot")

    def _refuse(self, what: str, operator: str) -> NoReturn:
        raise NotSupportedError(
            f"the {self.backend} backend has no {what}",
            hint="use the native backend: leave backend: out of PYTORCH_ALLOC_CONF, and set no other allocator",
            operator=operator,
        )
