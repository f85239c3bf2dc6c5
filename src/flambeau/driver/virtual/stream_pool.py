"""The driver's own pool of device memory: stream-ordered allocation.

- A chunk is an allocation of the device, of 32 MiB or more.  Each stream keeps the idle ranges that were freed on it.
- Memory that was freed on a stream is reused by that stream only, until `pool_trim` returns the chunks that are
  entirely idle.  NVIDIA's driver also reuses it on streams that it knows to be ordered after the free.
- Allocations are blocks like those of flambeau's allocator: allocating one counts as a write of its stream.
"""

from __future__ import annotations

from ...config import Gpus
from ...errors import AcceleratorError, OutOfMemoryError
from ..api import Address, StreamHandle
from .base import Calls
from .memory import INVALID_VALUE, Segment
from .queue import Queue
from .schedule import Schedule
from .space import GRANULE, Ranges

CHUNK = 32 << 20  # bytes
GRAIN = 512  # bytes


class DevicePool:
    """The pool of one device.  taken: the requested and the rounded size of each allocation, by address."""

    def __init__(self) -> None:
        self.chunks: dict[int, Segment] = {}
        self.idle: dict[StreamHandle, Ranges] = {}
        self.taken: dict[int, tuple[int, int]] = {}

    @property
    def reserved(self) -> int:
        return sum(chunk.high - chunk.low for chunk in self.chunks.values())


class PoolCalls(Calls):
    """The calls of the Driver on its own pool."""

    def __init__(self, choice: Gpus, schedule: Schedule | None = None) -> None:
        super().__init__(choice, schedule)
        self._pools = [DevicePool() for _ in self._engine.memory.devices]

    def pool_alloc(self, device: int, nbytes: int, stream: StreamHandle) -> Address:
        with self._inner_lock:  # called by an allocator in a critical section
            self._call(device)
            queue = self._pool_queue(device, stream, "pool_alloc")
            if nbytes <= 0:
                raise AcceleratorError(
                    f"{nbytes} bytes cannot be allocated", error_code=INVALID_VALUE, operator="pool_alloc"
                )
            if self.faults.block.left and self.faults.block.strikes():
                raise OutOfMemoryError(
                    f"the allocation of {nbytes} bytes on virtual device {device} was made to fail",
                    operator="pool_alloc",
                )
            pool, size = self._pools[device], -(-nbytes // GRAIN) * GRAIN
            idle = pool.idle.setdefault(stream, Ranges())
            low = idle.first_fit(size)
            if low is None:
                low = self._grow(device, pool, idle, size)
            self._engine.take_block(queue, low, low + nbytes)
            idle.remove(low, low + size)
            pool.taken[low] = nbytes, size
            return Address(low)

    def _grow(self, device: int, pool: DevicePool, idle: Ranges, size: int) -> int:
        """Add a chunk; return its address.  Raises OutOfMemoryError."""
        memory = self._engine.memory.devices[device]
        least = -(-size // GRANULE) * GRANULE
        try:
            low = memory.allocate(max(least, CHUNK))
        except OutOfMemoryError:
            if least >= CHUNK:
                raise
            low = memory.allocate(least)
        chunk = memory.segment(low, "pool_alloc")
        pool.chunks[low] = chunk
        idle.add(chunk.low, chunk.high)
        return low

    def pool_free(self, device: int, address: Address, stream: StreamHandle) -> None:
        with self._inner_lock:
            self._check_index(device)  # memory of a lost device is freed too
            pool = self._pools[device]
            if address not in pool.taken:
                raise AcceleratorError(
                    f"{address:#x} is not an allocation of the pool of device {device}",
                    error_code=INVALID_VALUE,
                    operator="pool_free",
                )
            self._pool_queue(device, stream, "pool_free")
            nbytes, size = pool.taken.pop(address)
            self._engine.memory.devices[device].give(address, address + nbytes)
            pool.idle.setdefault(stream, Ranges()).add(address, address + size)

    def pool_reserved(self, device: int) -> int:
        self._check_index(device)
        return self._pools[device].reserved

    def pool_trim(self, device: int) -> None:
        with self._lock:
            self._captures.check_unsafe("pool_trim")
            self._call(device)
            memory, pool = self._engine.memory.devices[device], self._pools[device]
            for chunk in list(pool.chunks.values()):
                parts = [part for idle in pool.idle.values() for part in idle.within(chunk.low, chunk.high)]
                if sum(high - low for low, high in parts) == chunk.high - chunk.low:
                    self._engine.wait_for_users(memory.blocks_in(chunk))
                    memory.release(chunk)
                    for idle in pool.idle.values():
                        idle.remove(chunk.low, chunk.high)
                    del pool.chunks[chunk.low]

    def _pool_queue(self, device: int, stream: StreamHandle, name: str) -> Queue:
        queue = self._queue(stream)
        if queue.device != device:
            raise AcceleratorError(
                f"stream {stream} belongs to device {queue.device}, not to device {device}",
                error_code=INVALID_VALUE,
                operator=name,
            )
        if queue.capture is not None:
            self._captures.check_stream(queue, name)
        return queue
