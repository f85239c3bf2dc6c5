"""The memory calls of virtual GPUs.  All but those on blocks are unsafe while a stream is capturing."""

from __future__ import annotations

from ...errors import AcceleratorError, OutOfMemoryError
from ...kernel import Access
from ..api import Address, EventHandle, StreamHandle
from .base import Calls
from .events import INVALID_HANDLE
from .races import HOST
from .touch import Touch


class MemoryCalls(Calls):
    """Segments, pinned memory and blocks."""

    def mem_alloc(self, device: int, nbytes: int) -> Address:
        with self._lock:
            self._captures.check_unsafe("mem_alloc")
            self._call(device, self._engine.preset.mem_alloc_ns)
            if self.faults.allocation.strikes():
                raise OutOfMemoryError(
                    f"{nbytes} bytes on virtual device {device} fail on demand", operator="mem_alloc"
                )
            return self._engine.memory.devices[device].allocate(nbytes)

    def mem_free(self, device: int, address: Address) -> None:
        with self._lock:
            self._captures.check_unsafe("mem_free")
            self._call(device)
            memory = self._engine.memory.devices[device]
            segment = memory.segment(address, "mem_free")
            self._engine.wait_for_users(memory.blocks_in(segment))
            memory.release(segment)

    def host_alloc(self, nbytes: int) -> Address:
        with self._lock:
            self._captures.check_unsafe("host_alloc")
            self._use_any()
            self._engine.clock.spend(self._engine.preset.mem_alloc_ns)
            return self._engine.memory.pinned.allocate(nbytes)

    def host_free(self, address: Address) -> None:
        self._unpin(address, "host_free")

    def host_register(self, address: Address, nbytes: int) -> None:
        with self._lock:
            self._captures.check_unsafe("host_register")
            self._use_any()
            self._engine.clock.spend(self._engine.preset.mem_alloc_ns)
            self._engine.memory.pinned.register(address, nbytes)

    def host_unregister(self, address: Address) -> None:
        self._unpin(address, "host_unregister")

    def _unpin(self, address: Address, name: str) -> None:
        with self._lock:
            self._captures.check_unsafe(name)
            self._engine.clock.spend(self._engine.preset.call_ns)
            pinned = self._engine.memory.pinned
            block = pinned.block(address, name)
            self._engine.wait_for_users([block])
            pinned.blocks.remove(block)

    def block_taken(self, device: int, address: Address, nbytes: int, stream: StreamHandle) -> None:
        with self._inner_lock:  # an allocator calls it, in a critical section
            queue = self._queue(stream)
            if queue.device != device:
                raise AcceleratorError(
                    f"stream {stream} belongs to device {queue.device}, the block to device {device}",
                    error_code=INVALID_HANDLE,
                    operator="block_taken",
                )
            self._engine.take_block(queue, address, address + nbytes)

    def block_given(self, device: int, address: Address, nbytes: int) -> None:
        self._check_index(device)  # what is given back on a device that is lost counts too
        self._engine.memory.devices[device].give(address, address + nbytes)

    def block_finished(self, address: Address, event: EventHandle) -> None:
        with self._lock:
            latest = self._event(event).latest
            block = self._engine.memory.around(address)
            if latest is not None and block is not None:
                self._engine.races.forget(block.history, latest.clock, block.low, block.high)

    def host_taken(self, address: Address, nbytes: int) -> None:
        with self._lock:
            self._engine.take_pinned(self._engine.memory.pinned.block(address, "host_taken"), nbytes)

    def host_touched(self, access: Access) -> None:
        if not access.nbytes or not self._engine.memory.pinned.blocks:
            return
        with self._lock:
            for block in self._engine.memory.pinned.blocks.overlapping(access.address, access.address + access.nbytes):
                self._engine.check_host(Touch(access, HOST), block)
