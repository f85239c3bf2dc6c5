"""torch.accelerator: devices and memory, independent of the device type."""

from .runtime.accelerator import AnyGraph as Graph
from .runtime.accelerator import DeviceIndex as device_index
from .runtime.accelerator import (
    current_accelerator,
    current_device_index,
    device_count,
    empty_cache,
    get_device_capability,
    is_available,
    set_device_index,
    synchronize,
)
from .runtime.control import current_stream, set_stream
from .runtime.memory_stats import (
    empty_host_cache,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_stats,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
)
from .runtime.memory_stats import mem_get_info as get_memory_info

__all__ = [
    "Graph", "current_accelerator", "current_device_index", "current_stream", "device_count", "device_index",
    "empty_cache", "empty_host_cache", "get_device_capability", "get_memory_info", "is_available",
    "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats",
    "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_index", "set_stream", "synchronize",
]  # fmt: skip
