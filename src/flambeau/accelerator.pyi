# Written by scripts/stubs, not by hand.
from .runtime.accelerator import AnyGraph as Graph
from .runtime.accelerator import DeviceIndex as device_index
from .runtime.accelerator import current_accelerator as current_accelerator
from .runtime.accelerator import current_device_index as current_device_index
from .runtime.accelerator import device_count as device_count
from .runtime.accelerator import empty_cache as empty_cache
from .runtime.accelerator import get_device_capability as get_device_capability
from .runtime.accelerator import is_available as is_available
from .runtime.accelerator import set_device_index as set_device_index
from .runtime.accelerator import synchronize as synchronize
from .runtime.control import current_stream as current_stream
from .runtime.control import set_stream as set_stream
from .runtime.cuda_memory import empty_host_cache as empty_host_cache
from .runtime.cuda_memory import max_memory_allocated as max_memory_allocated
from .runtime.cuda_memory import max_memory_reserved as max_memory_reserved
from .runtime.cuda_memory import mem_get_info as get_memory_info
from .runtime.cuda_memory import memory_allocated as memory_allocated
from .runtime.cuda_memory import memory_reserved as memory_reserved
from .runtime.cuda_memory import memory_stats as memory_stats
from .runtime.cuda_memory import reset_accumulated_memory_stats as reset_accumulated_memory_stats
from .runtime.cuda_memory import reset_peak_memory_stats as reset_peak_memory_stats
__all__ = ["Graph", "current_accelerator", "current_device_index", "current_stream", "device_count", "device_index", "empty_cache", "empty_host_cache", "get_device_capability", "get_memory_info", "is_available", "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats", "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_index", "set_stream", "synchronize"]
