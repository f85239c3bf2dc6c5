"""Memory pools of the program: torch.cuda.MemPool and torch.cuda.use_mem_pool."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..core import thread
from ..errors import ArgumentTypeError, NotSupportedError, shown
from ..memory.allocator import CachingAllocator
from ..memory.private import PoolId
from . import device as devices
from .graph import graph_pool_handle
from .memory_stats import memory_snapshot


class MemPool:
    """A pool of device memory, apart from the shared one; `use_mem_pool` lets a thread allocate from it.

    Freed blocks return to the pool.  When the object is deleted, idle memory of the pool goes back to the driver with
    the next `empty_cache`, and memory of live tensors when they are freed.

    allocator: must be None, as only the caching allocator is there.  use_on_oom: other requests get the pool's idle
    blocks before they run out of memory.  no_split: each request gets a segment, or a free one, of its own.

    Example:
        >>> pool = torch.cuda.MemPool()
        >>> with torch.cuda.use_mem_pool(pool):
        ...     x = torch.ones(1000, device="cuda")
        >>> [segment["total_size"] for segment in pool.snapshot()]
        [2097152]
    """

    def __init__(self, allocator: Any = None, use_on_oom: bool = False, no_split: bool = False) -> None:
        if allocator is not None:
            raise NotSupportedError(
                f"pluggable allocators are not supported, got {shown(allocator)}",
                hint="leave allocator= out",
                operator="MemPool",
            )
        self.allocator = None
        self._id = graph_pool_handle()
        self._use_on_oom = use_on_oom
        self._is_split = not no_split
        self._held: dict[int, CachingAllocator] = {}  # by device

    @property
    def id(self) -> PoolId:
        """Two numbers, as `graph_pool_handle` returns; graphs may use the pool by them."""
        return self._id

    def use_count(self) -> int:
        """Return the number of users: this object, each graph and each `use_mem_pool` that is using the pool.

        Example:
            >>> pool = torch.cuda.MemPool()
            >>> with torch.cuda.use_mem_pool(pool):
            ...     pool.use_count()
            2
            >>> pool.use_count()
            1
        """
        return 1 + sum(allocator.pool_uses(self._id) - 1 for allocator in self._held.values())

    def snapshot(self, include_traces: bool = True) -> list[dict[str, Any]]:
        """Return the pool's segments, in the form of `torch.cuda.memory_snapshot`.  include_traces has no effect.

        Units: sizes are in bytes.
        Example:
            >>> pool = torch.cuda.MemPool()
            >>> with torch.cuda.use_mem_pool(pool):
            ...     x = torch.ones(1000, device="cuda")
            >>> pool.snapshot()[0]["allocated_size"]
            4096
        """
        return memory_snapshot(self._id, include_traces)

    def hold(self, index: int) -> CachingAllocator:
        """Return the allocator of a device, in which the pool is kept from now on.

        Example:
            >>> pool = torch.cuda.MemPool()
            >>> pool.hold(0) is pool.hold(0)
            True
        """
        if index not in self._held:
            allocator = thread.machine().devices[index].allocator
            allocator.hold_pool(self._id, self._use_on_oom, self._is_split)
            self._held[index] = allocator
        return self._held[index]

    def __del__(self) -> None:
        for allocator in getattr(self, "_held", {}).values():
            allocator.release_pool(self._id)


@contextmanager
def use_mem_pool(pool: MemPool, device: Any = None) -> Iterator[None]:
    """A context in which this thread allocates on a device from a pool.  Other threads, and backward's, do not.

    device: None for the current one.  Inside, `empty_cache` has no effect on the device.
    Raises: ArgumentTypeError if `pool` is no MemPool.

    Example:
        >>> pool = torch.cuda.MemPool()
        >>> with torch.cuda.use_mem_pool(pool):
        ...     x = torch.ones(1000, device="cuda")
        >>> pool.snapshot()[0]["segment_pool_id"] == pool.id
        True
    """
    if not isinstance(pool, MemPool):
        raise ArgumentTypeError(
            f"expected a MemPool, got {shown(pool)}", hint="make one: torch.cuda.MemPool()", operator="use_mem_pool"
        )
    allocator = pool.hold(devices.cuda_index(device))
    allocator.begin_pool(pool.id)
    try:
        yield
    finally:
        allocator.end_pool(pool.id)
