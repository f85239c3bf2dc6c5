"""torch.cuda: devices, streams, events and memory, under PyTorch's names."""

import importlib as _importlib
import typing as _typing

from ..errors import AcceleratorError, CudaError, DeferredCudaCallError, OutOfMemoryError
from ..importer import listing as _listing
from ..importer import submodule as _submodule
from ..runtime.control import (
    can_device_access_peer,
    check_error,
    clock_rate,
    current_blas_handle,
    current_device,
    current_stream,
    default_stream,
    device_count,
    device_memory_used,
    get_arch_list,
    get_device_capability,
    get_device_name,
    get_device_properties,
    get_gencode_flags,
    init,
    ipc_collect,
    ipc_report,
    is_available,
    is_bf16_supported,
    is_initialized,
    is_tf32_supported,
    list_gpu_processes,
    memory_usage,
    power_draw,
    set_device,
    set_stream,
    synchronize,
    temperature,
    utilization,
)
from ..runtime.control import is_in_bad_fork as _is_in_bad_fork  # noqa: F401  (PyTorch's name for it)
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
from ..runtime.cudart import cudart, cudaStatus
from ..runtime.device import DeviceGuard as device
from ..runtime.device import DeviceOfGuard as device_of
from ..runtime.generator import cuda_generators as _cuda_generators
from ..runtime.generator import cuda_initial_seed as initial_seed
from ..runtime.generator import manual_seed_all, seed_all
from ..runtime.generator import seed_current as manual_seed
from ..runtime.generator import seed_current_randomly as seed
from ..runtime.graph import CUDAGraph, graph, graph_pool_handle, is_current_stream_capturing
from ..runtime.green_context import GreenContext
from ..runtime.memory_pool import CUDAPluggableAllocator, MemPool, change_current_allocator, use_mem_pool
from ..runtime.sleep import sleep as _sleep  # noqa: F401
from ..runtime.stream import Event, Stream
from ..runtime.stream import StreamGuard as StreamContext
from ..runtime.stream import StreamGuard as stream
from ..runtime.stream import external_stream as ExternalStream  # noqa: N812
from ..runtime.stream import stream_from_external as get_stream_from_external
from ..runtime.sync_debug import get_sync_debug_mode, set_sync_debug_mode
from ..runtime.threads import carry
from ..tensor.legacy import CudaBFloat16Tensor as BFloat16Tensor
from ..tensor.legacy import CudaBoolTensor as BoolTensor
from ..tensor.legacy import CudaByteTensor as ByteTensor
from ..tensor.legacy import CudaCharTensor as CharTensor
from ..tensor.legacy import CudaDoubleTensor as DoubleTensor
from ..tensor.legacy import CudaFloatTensor as FloatTensor
from ..tensor.legacy import CudaHalfTensor as HalfTensor
from ..tensor.legacy import CudaIntTensor as IntTensor
from ..tensor.legacy import CudaLongTensor as LongTensor
from ..tensor.legacy import CudaShortTensor as ShortTensor
from ..tensor.random import cuda_get_rng_state as get_rng_state
from ..tensor.random import cuda_set_rng_state as set_rng_state
from ..tensor.random import get_rng_state_all, set_rng_state_all

if _typing.TYPE_CHECKING:  # the submodules are rows of import_paths.py, which name members of these
    from ..nn.graphed_callables import make_graphed_callables
    from ..parallel import comm
    from ..runtime import graph as graphs
    from ..runtime import green_context as green_contexts
    from ..runtime import profiler
    from ..runtime import profiler as nvtx
    from ..runtime import stream as streams
    from ..runtime.generator import Generator as _Generator
    from ..runtime.user_kernel import CudaKernel, kernel
    from ..tensor import random
    from . import memory

    default_generators: tuple[_Generator, ...]


def __getattr__(name: str) -> object:
    """Load names that need further modules when they are first used."""
    if name == "make_graphed_callables":
        return _importlib.import_module("flambeau.nn.graphed_callables").make_graphed_callables
    if name in ("CudaKernel", "kernel", "_compile_kernel"):
        return getattr(_importlib.import_module("flambeau.runtime.user_kernel"), name.lstrip("_"))
    if name == "_initialized":
        return is_initialized()
    if name == "default_generators":
        return _cuda_generators()
    return _submodule(__name__, name)


__all__ = [
    "AcceleratorError", "BFloat16Tensor", "BoolTensor", "ByteTensor", "CUDAGraph", "CUDAPluggableAllocator",
    "CharTensor", "CudaError", "CudaKernel", "DeferredCudaCallError", "DoubleTensor", "Event", "ExternalStream",
    "FloatTensor", "GreenContext", "HalfTensor", "IntTensor", "LongTensor", "MemPool", "OutOfMemoryError",
    "ShortTensor", "Stream", "StreamContext", "amp", "caching_allocator_alloc", "caching_allocator_delete",
    "can_device_access_peer", "carry", "change_current_allocator", "check_error", "clock_rate", "comm", "cudaStatus",
    "cudart", "current_blas_handle", "current_device", "current_stream", "default_generators", "default_stream",
    "device", "device_count", "device_memory_used", "device_of", "empty_cache", "empty_host_cache",
    "get_allocator_backend", "get_arch_list", "get_device_capability", "get_device_name", "get_device_properties",
    "get_gencode_flags", "get_per_process_memory_fraction", "get_rng_state", "get_rng_state_all",
    "get_stream_from_external", "get_sync_debug_mode", "graph", "graph_pool_handle", "graphs", "green_contexts",
    "host_memory_stats", "host_memory_stats_as_nested_dict", "init", "initial_seed", "ipc_collect", "ipc_report",
    "is_available", "is_bf16_supported", "is_current_stream_capturing", "is_initialized", "is_tf32_supported",
    "kernel", "list_gpu_processes",
    "make_graphed_callables", "manual_seed", "manual_seed_all", "max_memory_allocated", "max_memory_cached",
    "max_memory_reserved", "mem_get_info", "memory", "memory_allocated", "memory_cached", "memory_reserved",
    "memory_snapshot", "memory_stats", "memory_stats_as_nested_dict", "memory_summary", "memory_usage", "nccl",
    "nvtx",
    "power_draw", "profiler", "random", "reset_accumulated_host_memory_stats", "reset_accumulated_memory_stats",
    "reset_max_memory_allocated", "reset_max_memory_cached", "reset_peak_host_memory_stats",
    "reset_peak_memory_stats", "seed", "seed_all", "set_device", "set_per_process_memory_fraction", "set_rng_state",
    "set_rng_state_all", "set_stream", "set_sync_debug_mode", "stream", "streams", "synchronize", "temperature",
    "use_mem_pool", "utilization",
]  # fmt: skip
__dir__ = _listing(globals())
