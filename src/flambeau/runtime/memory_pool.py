"""Memory pools that a program creates: torch.cuda.MemPool and torch.cuda.use_mem_pool."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..core import thread
from ..errors import ArgumentTypeError, NotSupportedError, shown
from ..memory.allocator import CachingAllocator
from ..memory.direct import LibraryFunctions
from ..memory.private import PoolId
from . import device as devices
from .cuda_memory import memory_snapshot
from .graph import graph_pool_handle


class CUDAPluggableAllocator:
    """Two functions of a shared library that allocate and free memory of NVIDIA GPUs.

    path_to_so_file: the library.  alloc_fn_name: `void* f(ssize_t size, int device, cudaStream_t stream)`, which
    returns NULL if there is no memory.  free_fn_name: `void f(void* ptr, ssize_t size, int device, cudaStream_t s)`.
    Pass it to `change_current_allocator` or to `MemPool`.
    Raises: ArgumentError if there is no such library or function, ArgumentTypeError if an argument is not a str or a
            path.
    Example:
        >>> allocator = torch.cuda.CUDAPluggableAllocator("libc.so.6", "malloc", "free")
        >>> allocator.allocator().path
        'libc.so.6'
    """

    def __init__(self, path_to_so_file: str, alloc_fn_name: str, free_fn_name: str) -> None:
        if not isinstance(path_to_so_file, (str, os.PathLike)):
            raise ArgumentTypeError(
                f"path_to_so_file must be a str or a path, got {shown(path_to_so_file)}",
                hint="pass the path of a shared library (.so)",
                operator="CUDAPluggableAllocator",
            )
        for name in (alloc_fn_name, free_fn_name):
            if not isinstance(name, str):
                raise ArgumentTypeError(
                    f"the name of an allocator function must be a str, got {shown(name)}",
                    hint="pass the names of two functions of the library",
                    operator="CUDAPluggableAllocator",
                )
        self._functions = LibraryFunctions(path_to_so_file, alloc_fn_name, free_fn_name)

    def allocator(self) -> LibraryFunctions:
        """Return the two functions as an object for `MemPool(allocator=...)`.

        Example:
            >>> functions = torch.cuda.CUDAPluggableAllocator("libc.so.6", "malloc", "free").allocator()
            >>> functions.path
            'libc.so.6'
        """
        return self._functions


def change_current_allocator(allocator: CUDAPluggableAllocator) -> None:
    """Let a shared library allocate all device memory, in place of the caching allocator.

    Call it before the first use of CUDA.  Device memory is then not cached: each tensor is one call of the library.
    Freed memory is returned to the library at the next allocation.
    Raises: ArgumentTypeError if it is not a CUDAPluggableAllocator; NotSupportedError after CUDA has started, and on
            virtual GPUs.
    Example:
        >>> def at_start(path):
        ...     allocator = torch.cuda.CUDAPluggableAllocator(path, "my_malloc", "my_free")
        ...     torch.cuda.change_current_allocator(allocator)
    """
    if not isinstance(allocator, CUDAPluggableAllocator):
        raise ArgumentTypeError(
            f"expected a CUDAPluggableAllocator, got {shown(allocator)}",
            hint="make one: torch.cuda.memory.CUDAPluggableAllocator(path, alloc_fn_name, free_fn_name)",
            operator="change_current_allocator",
        )
    machine = thread.machine()
    if machine.is_started:
        raise NotSupportedError(
            "Can't swap an already initialized allocator: CUDA has started",
            hint="call it before the first use of CUDA",
            operator="change_current_allocator",
        )
    _need_hardware("change_current_allocator")
    machine.allocator_functions = allocator.allocator()


def _need_hardware(operator: str) -> None:
    if thread.machine().choice.kind == "virtual":
        raise NotSupportedError(
            "a shared library cannot allocate memory of virtual GPUs",
            hint="use the caching allocator, or run on NVIDIA GPUs: FLAMBEAU_GPUS=nvidia",
            operator=operator,
        )


class MemPool:
    """A separate pool of device memory; `use_mem_pool` lets a thread allocate from it.

    Freed blocks return to the pool.  After the object is deleted, `empty_cache` returns the pool's idle memory to the
    driver; memory of live tensors stays until they are freed.

    allocator: the `allocator()` of a CUDAPluggableAllocator that supplies the pool's segments; None for the driver.
    use_on_oom: when memory runs out, allocations outside the pool may take its idle blocks instead of failing.
    no_split: each allocation gets a whole segment, new or idle, instead of a part of one.
    Raises: ArgumentTypeError if `allocator` is not from a CUDAPluggableAllocator; NotSupportedError with an
            allocator on virtual GPUs.
    Example:
        >>> pool = torch.cuda.MemPool()
        >>> with torch.cuda.use_mem_pool(pool):
        ...     x = torch.ones(1000, device="cuda")
        >>> [segment["total_size"] for segment in pool.snapshot()]
        [2097152]
    """

    def __init__(self, allocator: Any = None, use_on_oom: bool = False, no_split: bool = False) -> None:
        if isinstance(allocator, CUDAPluggableAllocator):
            allocator = allocator.allocator()
        if not isinstance(allocator, (LibraryFunctions, type(None))):
            raise ArgumentTypeError(
                f"expected allocator to be that of a CUDAPluggableAllocator, got {shown(allocator)}",
                hint="pass CUDAPluggableAllocator(path, alloc_fn_name, free_fn_name).allocator()",
                operator="MemPool",
            )
        if allocator is not None:
            _need_hardware("MemPool")
        self.allocator = allocator
        self._id = graph_pool_handle()
        self._use_on_oom = use_on_oom
        self._is_split = not no_split
        self._held: dict[int, CachingAllocator] = {}  # by device

    @property
    def id(self) -> PoolId:
        """The pool's id, two numbers; pass it as `pool=` to capture a graph into the pool."""
        return self._id

    def use_count(self) -> int:
        """Return the number of users of the pool: this object, each graph and each active `use_mem_pool` block.

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
        """Register the pool with the allocator of a device; return this allocator.

        index: the index of the device.
        Raises: DeviceIndexError if there is no such device, NotSupportedError if its allocator has no pools.
        Example:
            >>> pool = torch.cuda.MemPool()
            >>> pool.hold(0) is pool.hold(0)
            True
        """
        index = devices.cuda_index(index)
        allocator = thread.machine().devices[index].allocator
        if self._held.get(index) is not allocator:  # also after `torch.virtual.reset()`, which makes new ones
            if self.allocator is not None:
                self.allocator.driver = thread.machine().driver
            allocator.hold_pool(self._id, self._use_on_oom, self._is_split, self.allocator)
            self._held[index] = allocator
        return self._held[index]

    def __del__(self) -> None:
        for allocator in getattr(self, "_held", {}).values():
            allocator.release_pool(self._id)


@contextmanager
def use_mem_pool(pool: MemPool, device: Any = None) -> Iterator[None]:
    """Allocate from a pool inside a `with` block, on one device and in this thread only.

    device: None for the current one.  Inside, `empty_cache` has no effect on the device.
    Raises: ArgumentTypeError if `pool` is not a MemPool, DeviceIndexError if there is no such device, ArgumentError if
            it is not a CUDA device.
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
