# Written by scripts/stubs, not by hand.
from .runtime.absent import NoDevice as Event
from .runtime.absent import device_count as device_count
from .runtime.absent import is_available as is_available
from .runtime.absent import manual_seed as manual_seed
from .runtime.absent import no_device as compile_shader
from .runtime.absent import no_device as current_allocated_memory
from .runtime.absent import no_device as driver_allocated_memory
from .runtime.absent import no_device as empty_cache
from .runtime.absent import no_device as get_rng_state
from .runtime.absent import no_device as load_metallib
from .runtime.absent import no_device as recommended_max_memory
from .runtime.absent import no_device as seed
from .runtime.absent import no_device as set_per_process_memory_fraction
from .runtime.absent import no_device as set_rng_state
from .runtime.absent import no_device as synchronize
__all__ = ["Event", "compile_shader", "current_allocated_memory", "device_count", "driver_allocated_memory", "empty_cache", "get_rng_state", "is_available", "load_metallib", "manual_seed", "recommended_max_memory", "seed", "set_per_process_memory_fraction", "set_rng_state", "synchronize"]
