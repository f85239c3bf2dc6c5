"""torch.cuda.memory: how much memory is in use, and its users."""

from ..runtime.control import list_gpu_processes
from ..runtime.cuda_memory import allocation_traceback as _allocation_traceback  # noqa: F401
from ..runtime.cuda_memory import (
    caching_allocator_alloc,
    caching_allocator_delete,
    empty_cache,
    empty_host_cache,
    get_allocator_backend,
    get_per_process_memory_fraction,
    host_memory_stats,
    host_memory_stats_as_nested_dict,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_stats_as_nested_dict,
    memory_summary,
    reset_accumulated_host_memory_stats,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_host_memory_stats,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
from ..runtime.cuda_memory import dump_snapshot as _dump_snapshot  # noqa: F401
from ..runtime.cuda_memory import get_memory_metadata as _get_memory_metadata  # noqa: F401
from ..runtime.cuda_memory import record_memory_history as _record_memory_history  # noqa: F401
from ..runtime.cuda_memory import set_allocator_settings as _set_allocator_settings  # noqa: F401
from ..runtime.cuda_memory import set_memory_metadata as _set_memory_metadata  # noqa: F401
from ..runtime.cuda_memory import snapshot as _snapshot  # noqa: F401
from ..runtime.memory_pool import CUDAPluggableAllocator, MemPool, change_current_allocator, use_mem_pool

__all__ = [
    "CUDAPluggableAllocator", "MemPool", "caching_allocator_alloc", "caching_allocator_delete",
    "change_current_allocator", "empty_cache", "empty_host_cache",
    "get_allocator_backend", "get_per_process_memory_fraction", "host_memory_stats",
    "host_memory_stats_as_nested_dict", "list_gpu_processes", "max_memory_allocated", "max_memory_cached",
    "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_cached", "memory_reserved",
    "memory_snapshot", "memory_stats", "memory_stats_as_nested_dict", "memory_summary",
    "reset_accumulated_host_memory_stats", "reset_accumulated_memory_stats", "reset_max_memory_allocated",
    "reset_max_memory_cached", "reset_peak_host_memory_stats", "reset_peak_memory_stats",
    "set_per_process_memory_fraction", "use_mem_pool",
]  # fmt: skip
