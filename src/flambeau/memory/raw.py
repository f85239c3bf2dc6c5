"""Raw allocations: blocks identified by their address alone, for other libraries."""

from __future__ import annotations

from ..core.call_errors import invalid_pointer
from ..core.pool import Block
from ..driver.api import Address, StreamHandle
from .allocator import CachingAllocator


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
