"""Modules of PyTorch without a file here: they only re-export names that other modules define.

Each row is a module: its purpose, and its names by the module that defines them.  `import flambeau.cuda.nvtx` finds
its row; the submodules of a module are the rows whose paths extend its path.  A module has a file if it defines
something, or computes its names.
"""

from types import SimpleNamespace as _Settings

from .importer import Row, install

_IMPORTED = "names that programs import"
_UNUSED = "a library or hardware that is not used"
_KEPT = "settings of a library that is not used: they are kept, and none has an effect"
_SPREAD = "names that programs import; modules and tensors are not spread over processes"
_NOT_EXPORTED = "names that programs import; networks are not exported"
_SETTINGS = "settings of a compiler that is not there: programs set them, and none has an effect"
_PLACEMENTS = "Partial, Placement, Replicate, Shard"
_WITH_GRADIENTS = (
    "all_gather, all_reduce, all_to_all, all_to_all_single, broadcast, gather, reduce, reduce_scatter, scatter"
)
_SHARDED_SETTINGS = (
    "BackwardPrefetch, CPUOffload, FullOptimStateDictConfig, FullStateDictConfig, MixedPrecision, "
    "ShardedOptimStateDictConfig, ShardedStateDictConfig, ShardingStrategy, StateDictType"
)
_SHARDED = f"{_SHARDED_SETTINGS}, FullyShardedDataParallel, OptimStateKeyType"

# Type checkers see only files: scripts/stubs writes a stub for each of these rows.
TYPED = {
    "accelerator": Row(
        "devices and memory, independent of the device type",
        {
            ".runtime.accelerator": (
                "AnyGraph as Graph, DeviceIndex as device_index, current_accelerator, current_device_index, "
                "device_count, empty_cache, get_device_capability, is_available, set_device_index, synchronize"
            ),
            ".runtime.control": "current_stream, set_stream",
            ".runtime.cuda_memory": (
                "empty_host_cache, max_memory_allocated, max_memory_reserved, mem_get_info as get_memory_info, "
                "memory_allocated, memory_reserved, memory_stats, reset_accumulated_memory_stats, "
                "reset_peak_memory_stats"
            ),
        },
    ),
    "autograd.grad_mode": Row(
        "the modes of torch.autograd",
        {".autograd.mode": "enable_grad, inference_mode, no_grad, set_grad_enabled, set_multithreading_enabled"},
    ),
    "autograd.variable": Row("the former class of tensors in a graph", {".tensor.legacy": "Variable"}),
    "backends.cuda": Row(
        "the choice of methods and libraries on CUDA devices",
        {
            ".numerics": (
                "cublas_workspace_size, cublas_workspace_size as cublaslt_workspace_size, cudnn_sdp_enabled, "
                "enable_cudnn_sdp, enable_flash_sdp, enable_math_sdp, enable_mem_efficient_sdp, flash_sdp_enabled, "
                "is_built, math_sdp_enabled, matmul, mem_efficient_sdp_enabled, preferred_blas_library, "
                "preferred_linalg_library, sdp_kernel"
            ),
        },
    ),
    "compiler": Row(
        "nothing is compiled, so its functions return their argument or have no effect",
        {
            ".tools.eager": (
                "Setting as set_stance, compile, disable, no as is_compiling, no as is_dynamo_compiling, "
                "no as is_exporting, no_backends as list_backends, nothing as cudagraph_mark_step_begin, "
                "nothing as reset, nothing as set_default_backend, same as allow_in_graph, "
                "same as assume_constant_result, same as nested_compile_region, same as wrap_numpy, "
                "substitute as substitute_in_graph"
            )
        },
    ),
    "cpu": Row(
        "the functions of torch.cuda that programs call for every type of device",
        {
            ".runtime.cpu": (
                "Event, Stream, StreamContext, current_device, current_stream, device_count, get_capabilities, "
                "is_available, is_initialized, set_device, stream, synchronize"
            )
        },
    ),
    "cpu.amp": Row(
        "the former names of torch.amp for the CPU",
        {".amp.autocast_mode": "CpuAutocast as autocast, CpuGradScaler as GradScaler"},
    ),
    "cpu.amp.autocast_mode": Row("a module of torch.cpu.amp", {".amp.autocast_mode": "CpuAutocast as autocast"}),
    "cpu.amp.grad_scaler": Row("a module of torch.cpu.amp", {".amp.autocast_mode": "CpuGradScaler as GradScaler"}),
    "cuda.amp": Row(
        "the former names of torch.amp for CUDA devices",
        {
            ".amp.autocast_mode": (
                "CudaAutocast as autocast, CudaGradScaler as GradScaler, cuda_custom_bwd as custom_bwd, "
                "cuda_custom_fwd as custom_fwd"
            ),
            ".autograd.autocast": "amp_definitely_not_available",
        },
    ),
    "cuda.amp.autocast_mode": Row(
        "a module of torch.cuda.amp",
        {
            ".amp.autocast_mode": (
                "CudaAutocast as autocast, cuda_custom_bwd as custom_bwd, cuda_custom_fwd as custom_fwd"
            )
        },
    ),
    "cuda.amp.common": Row("a module of torch.cuda.amp", {".autograd.autocast": "amp_definitely_not_available"}),
    "cuda.amp.grad_scaler": Row(
        "a module of torch.cuda.amp",
        {".amp.autocast_mode": "CudaGradScaler as GradScaler", ".amp.grad_scaler": "OptState"},
    ),
    "cuda.comm": Row(
        "copies and sums between devices",
        {".parallel.comm": "broadcast, broadcast_coalesced, gather, reduce_add, reduce_add_coalesced, scatter"},
    ),
    "cuda.graphs": Row(
        "work that is captured once and replayed",
        {
            ".nn.graphed_callables": "make_graphed_callables",
            ".runtime.graph": "CUDAGraph, graph, graph_pool_handle, is_current_stream_capturing",
        },
    ),
    "cuda.green_contexts": Row("parts of a device's multiprocessors", {".runtime.green_context": "GreenContext"}),
    "cuda.memory": Row(
        "how much memory is in use, and its users",
        {
            ".runtime.control": "list_gpu_processes",
            ".runtime.cuda_memory": (
                "allocation_traceback as _allocation_traceback, caching_allocator_alloc, caching_allocator_delete, "
                "dump_snapshot as _dump_snapshot, empty_cache, empty_host_cache, get_allocator_backend, "
                "get_memory_metadata as _get_memory_metadata, get_per_process_memory_fraction, host_memory_stats, "
                "host_memory_stats_as_nested_dict, max_memory_allocated, max_memory_cached, max_memory_reserved, "
                "mem_get_info, memory_allocated, memory_cached, memory_reserved, memory_snapshot, memory_stats, "
                "memory_stats_as_nested_dict, memory_summary, record_memory_history as _record_memory_history, "
                "reset_accumulated_host_memory_stats, reset_accumulated_memory_stats, reset_max_memory_allocated, "
                "reset_max_memory_cached, reset_peak_host_memory_stats, reset_peak_memory_stats, "
                "set_allocator_settings as _set_allocator_settings, set_memory_metadata as _set_memory_metadata, "
                "set_per_process_memory_fraction, snapshot as _snapshot"
            ),
            ".runtime.memory_pool": "CUDAPluggableAllocator, MemPool, change_current_allocator, use_mem_pool",
        },
    ),
    "cuda.nccl": Row(
        "collectives of one process over tensors on several GPUs",
        {
            ".parallel.one_process": (
                "SUM, all_gather, all_reduce, broadcast, is_available, reduce, reduce_scatter, unique_id, version"
            ),
        },
    ),
    "cuda.nvtx": Row(
        "names for parts of a program, which profilers show",
        {".runtime.profiler": "mark, range, range_end, range_pop, range_push, range_start"},
    ),
    "cuda.profiler": Row("when NVIDIA's profilers collect", {".runtime.profiler": "profile, start, stop"}),
    "cuda.random": Row(
        "seeds and states of the GPUs' random number generators",
        {
            ".runtime.generator": (
                "cuda_initial_seed as initial_seed, manual_seed_all, seed_all, seed_current as manual_seed, "
                "seed_current_randomly as seed"
            ),
            ".tensor.random": (
                "cuda_get_rng_state as get_rng_state, cuda_set_rng_state as set_rng_state, get_rng_state_all, "
                "set_rng_state_all"
            ),
        },
    ),
    "cuda.streams": Row(
        "the classes of streams and events", {".runtime.stream": "Event, Stream, external_stream as ExternalStream"}
    ),
    "distributed.algorithms": Row("work over several processes", {".parallel.join": "Join, JoinHook, Joinable"}),
    "distributed.algorithms.ddp_comm_hooks": Row(
        "how DistributedDataParallel reduces a bucket of gradients",
        {".parallel.comm_hooks": "DDPCommHookType, register_ddp_comm_hook"},
    ),
    "distributed.algorithms.ddp_comm_hooks.default_hooks": Row(
        "an all_reduce in full or in half precision",
        {
            ".parallel.comm_hooks": (
                "allreduce_hook, bf16_compress_hook, bf16_compress_wrapper, fp16_compress_hook, fp16_compress_wrapper"
            )
        },
    ),
    "distributed.algorithms.join": Row(
        "uneven inputs of several processes", {".parallel.join": "Join, JoinHook, Joinable"}
    ),
    "distributed.algorithms.model_averaging": Row(_SPREAD),
    "distributed.algorithms.model_averaging.averagers": Row(
        _SPREAD, {".parallel.process_group": "ModelAverager, PeriodicModelAverager"}
    ),
    "distributed.constants": Row(
        "the default timeout of process groups", {".parallel.group": "TIMEOUT as default_pg_timeout"}
    ),
    "distributed.flight_recorder": Row(
        "the last collectives of this process", {".parallel.process_group": "dump_flight_recorder as dump"}
    ),
    "distributed.nn": Row("collectives with gradients", {".parallel.differentiable": _WITH_GRADIENTS}),
    "distributed.nn.functional": Row("collectives with gradients", {".parallel.differentiable": _WITH_GRADIENTS}),
    "func": Row(
        "derivatives of functions as functions, and calls of modules with other parameters",
        {
            ".autograd.transforms": (
                "functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap"
            ),
            ".nn.functional_call": "functional_call, replace_all_batch_norm_modules_, stack_module_state",
            ".tensor.rearranging": "rearrange",
        },
    ),
    "futures": Row("values that are there later", {".parallel.futures": "Future, collect_all, wait_all"}),
    "hub": Row(
        "models of local folders, and downloaded state dicts",
        {
            ".serialization.hub": (
                "HASH_REGEX, READ_DATA_CHUNK, Silence as _Faketqdm, download_url_to_file, entry_points as list, "
                "get_dir, help_of as help, home as _get_torch_home, load, load_state_dict_from_url, set_dir, tqdm"
            ),
            "urllib.parse": "urlparse",
        },
    ),
    "jit": Row(
        "functions and modules are returned as they are, and run eagerly",
        {
            ".tools.eager": (
                "Attribute, ScriptFunction, ScriptModule, ScriptModule as RecursiveScriptModule, Setting as fuser, "
                "Setting as optimized_execution, Setting as strict_fusion, TracerWarning, annotate, fork, ignore, "
                "is_instance as isinstance, jit_load as load, jit_save as save, no as is_scripting, "
                "no as is_tracing, no as onednn_fusion_enabled, nothing as _overload, "
                "nothing as enable_onednn_fusion, nothing as set_fusion_strategy, same as _overload_method, "
                "same as _script_if_tracing, same as export, same as freeze, same as interface, "
                "same as optimize_for_inference, same as script_if_tracing, same as script_method, same as unused, "
                "same as wait, script, trace, trace_graph as _get_trace_graph, trace_module"
            ),
            "typing": "Final",
        },
    ),
    "jit.annotations": Row(
        "annotations of arguments that are a number or a list of numbers",
        {
            "builtins": (
                "list as BroadcastingList1, list as BroadcastingList2, list as BroadcastingList3, "
                "list as BroadcastingList4, list as BroadcastingList5, list as BroadcastingList6"
            ),
            "typing": "Any, Dict, List, Optional, Tuple, Union",
        },
    ),
    "library": Row(
        "operators of a program, which are functions that run as they are written",
        {
            ".tools.eager": (
                "CustomOperator as CustomOpDef, Library, custom_op, custom_op as triton_op, decorator as impl, "
                "decorator as impl_abstract, decorator as register_fake, decorator as register_kernel, "
                "nothing as define, register_autograd, same as wrap_triton"
            ),
        },
    ),
    "linalg": Row(
        "products, factorizations, inverses and solutions of linear systems",
        {
            ".errors": "LinAlgError",
            ".ops.einsum": "linalg_cross as cross, linalg_multi_dot as multi_dot, linalg_vecdot as vecdot",
            ".ops.factorizations": (
                "linalg_cholesky as cholesky, linalg_cholesky_ex as cholesky_ex, linalg_cond as cond, "
                "linalg_det as det, linalg_diagonal as diagonal, linalg_eig as eig, linalg_eigh as eigh, "
                "linalg_eigvals as eigvals, linalg_eigvalsh as eigvalsh, "
                "linalg_householder_product as householder_product, linalg_inv as inv, linalg_inv_ex as inv_ex, "
                "linalg_lstsq as lstsq, linalg_lu as lu, linalg_lu_factor as lu_factor, "
                "linalg_lu_factor_ex as lu_factor_ex, linalg_lu_solve as lu_solve, linalg_matrix_exp as matrix_exp, "
                "linalg_matrix_power as matrix_power, linalg_matrix_rank as matrix_rank, linalg_pinv as pinv, "
                "linalg_qr as qr, linalg_slogdet as slogdet, linalg_solve as solve, linalg_solve_ex as solve_ex, "
                "linalg_solve_triangular as solve_triangular, linalg_svd as svd, linalg_svdvals as svdvals, "
                "linalg_tensorinv as tensorinv, linalg_tensorsolve as tensorsolve, linalg_vander as vander"
            ),
            ".ops.linalg": "matmul",
            ".ops.norms": "linalg_matrix_norm as matrix_norm, linalg_norm as norm, linalg_vector_norm as vector_norm",
            ".ops.symmetric": (
                "linalg_ldl_factor as ldl_factor, linalg_ldl_factor_ex as ldl_factor_ex, linalg_ldl_solve as ldl_solve"
            ),
        },
    ),
    "mps": Row(
        "Apple's GPUs, which are not used",
        {
            ".runtime.absent": (
                "NoDevice as Event, device_count, is_available, manual_seed, no_device as compile_shader, "
                "no_device as current_allocated_memory, no_device as driver_allocated_memory, no_device as "
                "empty_cache, no_device as get_rng_state, no_device as load_metallib, no_device as "
                "recommended_max_memory, no_device as seed, no_device as set_per_process_memory_fraction, "
                "no_device as set_rng_state, no_device as synchronize"
            ),
        },
    ),
    "mtia": Row(
        "Meta's accelerators, which are not used",
        {
            ".runtime.absent": (
                "NoContext as device, NoDevice as MTIAGraph, device_count, emulates_bfloat16 as "
                "is_bf16_supported, ignored as record_memory_history, ignored as reset_peak_memory_stats, ignored "
                "as set_rng_state_all, is_available, is_available as is_initialized, manual_seed, manual_seed as "
                "manual_seed_all, memory as max_memory_allocated, memory as memory_allocated, memory_stats, "
                "no_device as attach_out_of_memory_observer, no_device as current_device, no_device as "
                "current_stream, no_device as default_stream, no_device as empty_cache, no_device as "
                "get_device_capability, no_device as get_device_properties, no_device as get_rng_state, no_device "
                "as graph, no_device as graph_pool_handle, no_device as init, no_device as initial_seed, "
                "no_device as set_device, no_device as set_rng_state, no_device as set_stream, no_device as "
                "snapshot, no_device as stream, no_device as synchronize, nothing_listed as get_rng_state_all, "
                "seed, seed as seed_all"
            ),
        },
    ),
    "nn.parallel.comm": Row(
        "copies and sums between devices",
        {
            ".parallel.comm": "broadcast, broadcast_coalesced, gather, reduce_add, reduce_add_coalesced, scatter",
        },
    ),
    "nn.parallel.distributed": Row(
        "one module in several processes",
        {
            ".parallel.distributed": "DistributedDataParallel",
        },
    ),
    "overrides": Row(
        "for code that calls `__torch_function__` of its arguments itself",
        {
            ".tensor.overrides": (
                "TorchFunctionMode, get_overridable_functions, handle_torch_function, has_torch_function, "
                "has_torch_function_unary, has_torch_function_variadic, is_tensor_like, "
                "is_tensor_method_or_property, resolve_name, wrap_torch_function"
            ),
        },
    ),
    "profiler": Row(
        "records the work of some steps of a loop",
        {
            ".tools.profiler": (
                "ProfilerAction, ProfilerActivity, SteppedProfile as profile, kineto_available, record_function, "
                "schedule, supported_activities, tensorboard_trace_handler, trace"
            ),
        },
    ),
    "profiler.profiler": Row(
        "a module of torch.profiler",
        {
            ".tools.profiler": (
                "ProfilerAction, ProfilerActivity, SteppedProfile as profile, _always as _default_schedule_fn, "
                "schedule, supported_activities, tensorboard_trace_handler"
            )
        },
    ),
    "quasirandom": Row("points of Sobol' sequences", {".tensor.quasirandom": "SobolEngine"}),
    "return_types": Row(
        "the named tuples of functions with several results",
        {
            ".ops.results": (
                "aminmax, cummax, cummin, frexp, geqrf, histogram, histogramdd, kthvalue, linalg_cholesky_ex, "
                "linalg_eigh, linalg_inv_ex, linalg_ldl_factor, linalg_ldl_factor_ex, linalg_lstsq, linalg_lu, "
                "linalg_lu_factor, linalg_lu_factor_ex, linalg_qr, linalg_slogdet, linalg_solve_ex, linalg_svd, "
                "lu_unpack, max_ as max, median, min_ as min, mode, nanmedian, qr, sort, svd, topk, triangular_solve"
            )
        },
    ),
    "signal": Row("windows of signal processing"),
    "signal.windows": Row(
        "windows of signal processing",
        {
            ".tensor.windows": (
                "bartlett, blackman, cosine, exponential, gaussian, general_cosine, general_hamming, hamming, hann, "
                "kaiser, nuttall"
            )
        },
    ),
    "utils.benchmark": Row(
        "time of statements, with the GPU waited for",
        {
            ".tools.benchmark": "Measurement, Timer",
        },
    ),
    "utils.checkpoint": Row(
        "backward computes values again instead of keeping them",
        {
            ".autograd.checkpoint": (
                "CheckpointFunction, check_backward_validity, checkpoint, checkpoint_sequential, detach_variable, "
                "get_device_states, noop_context_fn, set_checkpoint_debug_enabled, set_checkpoint_early_stop, "
                "set_device_states"
            ),
            ".errors": "CheckpointError",
        },
    ),
    "utils.data.dataloader": Row(
        "DataLoader and its iterators",
        {
            ".data.collate": "default_collate, default_convert",
            ".data.dataset": "Dataset, IterableDataset",
            ".data.iterators": "BatchIterator as _BaseDataLoaderIter, SerialIterator as _SingleProcessDataLoaderIter",
            ".data.loader": "DataLoader, _DatasetKind, _InfiniteConstantSampler",
            ".data.sampler": "BatchSampler, RandomSampler, Sampler, SequentialSampler",
            ".data.workers": "WorkerIterator as _MultiProcessingDataLoaderIter, get_worker_info",
            ".utils.data": "_utils",
            "typing": "Any as _collate_fn_t, Any as _worker_init_fn_t",
        },
    ),
    "utils.data.dataset": Row(
        "datasets",
        {
            ".data.dataset": (
                "ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset, "
                "random_split"
            )
        },
    ),
    "utils.data.distributed": Row(
        "the sampler of a job of several processes",
        {
            ".data.dataset": "Dataset",
            ".data.sampler": "DistributedSampler, Sampler",
        },
    ),
    "utils.data.sampler": Row(
        "samplers",
        {
            ".data.sampler": (
                "BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler"
            )
        },
    ),
    "utils.dlpack": Row(
        "exchange of tensors with other libraries by DLPack",
        {
            ".tensor": "from_dlpack, to_dlpack",
        },
    ),
    "utils.hooks": Row(
        "the handles of hooks",
        {
            ".autograd.node_hooks": "RemovableHandle",
        },
    ),
    "utils.tensorboard": Row(
        "a writer of event files, through the package tensorboard",
        {
            ".tools.tensorboard": "SummaryWriter",
        },
    ),
    "xpu": Row(
        "Intel's GPUs, which are not used",
        {
            ".runtime.absent": (
                "NoContext as StreamContext, NoContext as device, NoContext as device_of, NoContext as stream, "
                "NoDevice as Event, NoDevice as MemPool, NoDevice as Stream, NoDevice as XPUGraph, NoDevice as "
                "XPUPluggableAllocator, device_count, empty_cache, ignored as reset_accumulated_memory_stats, "
                "ignored as reset_peak_memory_stats, ignored as set_rng_state_all, is_available, is_available as "
                "is_initialized, is_available as is_tf32_supported, manual_seed, manual_seed as manual_seed_all, "
                "memory as max_memory_allocated, memory as max_memory_reserved, memory as memory_allocated, "
                "memory as memory_reserved, memory_stats, memory_stats as memory_stats_as_nested_dict, no_device "
                "as can_device_access_peer, no_device as change_current_allocator, no_device as clock_rate, "
                "no_device as current_device, no_device as current_stream, no_device as device_memory_used, "
                "no_device as get_device_capability, no_device as get_device_name, no_device as "
                "get_device_properties, no_device as get_per_process_memory_fraction, no_device as get_rng_state, "
                "no_device as get_stream_from_external, no_device as graph, no_device as graph_pool_handle, "
                "no_device as init, no_device as initial_seed, no_device as is_current_stream_capturing, "
                "no_device as make_graphed_callables, no_device as mem_get_info, no_device as memory_usage, "
                "no_device as power_draw, no_device as set_device, no_device as set_per_process_memory_fraction, "
                "no_device as set_rng_state, no_device as set_stream, no_device as synchronize, no_device as "
                "temperature, no_device as use_mem_pool, no_device as utilization, no_flags as get_gencode_flags, "
                "nothing_listed as get_arch_list, nothing_listed as get_rng_state_all, nothing_listed as "
                "memory_snapshot, seed, seed as seed_all, takes_bfloat16 as is_bf16_supported"
            ),
        },
        {"default_generators": ()},
    ),
}
# Names that do nothing or report what is missing; former and private paths.
OTHERS = {
    # Hardware and libraries that are not used.
    "autograd.profiler": Row(
        "the former names of torch.profiler",
        {
            ".runtime.profiler": "emit_nvtx",
            ".tools.profiler": "EventList, FunctionEvent, WholeProfile as profile, record_function",
        },
    ),
    "backends.opt_einsum": Row(
        "the order of products in einsum, which is that of the operands",
        {".runtime.absent": "ignored as get_opt_einsum, is_available"},
        {"enabled": False, "strategy": None},
    ),
    "backends.cpu": Row("which instructions of the processor are used", {".host": "get_cpu_capability"}),
    "backends.cusparselt": Row(
        _UNUSED, {".runtime.absent": "ignored as get_max_alg_id, ignored as version, is_available"}
    ),
    "backends.kleidiai": Row(_UNUSED, {".runtime.absent": "is_available"}),
    "backends.mha": Row(_KEPT, {".runtime.absent": "get_fastpath_enabled, set_fastpath_enabled"}),
    "backends.miopen": Row(_KEPT, values={"immediate": False}),
    "backends.mkl": Row(
        _UNUSED,
        {".runtime.absent": "NoContext as verbose, is_available"},
        {"VERBOSE_OFF": 0, "VERBOSE_ON": 1},
    ),
    "backends.mkldnn": Row(
        _UNUSED,
        {
            ".runtime.absent": (
                "NoContext as verbose, is_available, is_available as is_acl_available, mkldnn_flags as flags"
            )
        },
        {
            "VERBOSE_OFF": 0,
            "VERBOSE_ON": 1,
            "VERBOSE_ON_CREATION": 2,
            "allow_tf32": None,
            "deterministic": False,
            "enabled": True,
            "fp32_precision": "none",
        },
    ),
    "backends.mps": Row(
        _UNUSED,
        {
            ".runtime.absent": (
                "is_available, is_built, no_device as get_core_count, no_device as get_name, "
                "no_device as is_macos13_or_newer, no_device as is_macos_or_newer"
            )
        },
    ),
    "backends.nnpack": Row(
        _UNUSED,
        {".runtime.absent": "is_available, nnpack_flags as flags, nnpack_set_flags as set_flags"},
        {"enabled": True},
    ),
    "backends.openmp": Row(_UNUSED, {".runtime.absent": "is_available"}),
    "backends.quantized": Row(_KEPT, values={"engine": "none", "supported_engines": ["none"]}),
    "backends.xnnpack": Row(_KEPT, values={"enabled": False}),
    "__future__": Row(
        "how conversions of modules replace parameters; the settings are kept and have no effect",
        {
            ".runtime.absent": (
                "get_overwrite_module_params_on_conversion, get_swap_module_params_on_conversion, "
                "set_overwrite_module_params_on_conversion, set_swap_module_params_on_conversion"
            )
        },
    ),
    "utils.deterministic": Row(
        "a setting that is kept and has no effect: empty tensors are not filled",
        values={"fill_uninitialized_memory": True},
    ),
    # Compilers: nothing is compiled, traced or exported.
    "_C": Row(
        "names of PyTorch's compiled core that programs and packages touch",
        {
            ".runtime.generator": "Generator",
            ".strides": "Size",
            ".tensor.subclass": (
                "default_running as DisableTorchFunction, default_running as DisableTorchFunctionSubclass, "
                "run_default as _disabled_torch_function_impl"
            ),
            ".tensor.tensor": "Tensor as TensorBase, TensorClass as _TensorMeta",
            ".tools.eager": (
                "DispatchKey, Graph, Node, Node as Value, same as DispatchKeySet, Setting as _ExcludeDispatchKeyGuard, "
                "no as _are_functorch_transforms_active, no as _has_mkldnn, no as _is_tracing, "
                "nothing as _get_tracing_state, nothing as _jit_override_can_fuse_on_cpu, "
                "nothing as _jit_override_can_fuse_on_gpu, nothing as _jit_set_bailout_depth, "
                "nothing as _jit_set_nvfuser_enabled, nothing as _jit_set_profiling_executor, "
                "nothing as _jit_set_profiling_mode, nothing as _jit_set_texpr_fuser_enabled, "
                "nothing as _log_api_usage_once"
            ),
        },
    ),
    "_C._functorch": Row(
        "marks of tensors inside transforms of functions; here those are plain tensors",
        {
            ".tools.eager": (
                "no as is_batchedtensor, no as is_functorch_wrapped_tensor, no as is_gradtrackingtensor, "
                "nothing as maybe_current_level, same as get_unwrapped, transform_level as _add_batch_dim, "
                "transform_level as _remove_batch_dim"
            )
        },
    ),
    "_C._nn": Row("a function of PyTorch's compiled core", {".tools.private_names": "parse_to as _parse_to"}),
    "__config__": Row("how the library was built", {".tools.compiled": "configuration as show"}),
    "_custom_ops": Row(
        "the former form of torch.library",
        {".tools.eager": "custom_op, decorator as impl, decorator as impl_abstract"},
    ),
    "_dynamo": Row(
        "a compiler that is not there; its functions have no effect",
        {
            ".tools.eager": (
                "NoGraph as OptimizedModule, Setting as set_stance, disable, optimize, no as is_compiling, "
                "no as is_dynamo_supported, no_backends as list_backends, nothing as graph_break, "
                "nothing as mark_dynamic, nothing as mark_static, nothing as mark_static_address, "
                "nothing as maybe_mark_dynamic, nothing as reset, same as allow_in_graph, "
                "same as assume_constant_result, same as disallow_in_graph, same as run, "
                "substitute as substitute_in_graph"
            )
        },
    ),
    "_dynamo._trace_wrapped_higher_order_op": Row(_IMPORTED, {".tools.eager": "Setting as TransformGetItemToIndex"}),
    "_dynamo.config": Row(
        _SETTINGS,
        values={
            "accumulated_cache_size_limit": 256,
            "accumulated_recompile_limit": 256,
            "allow_unspec_int_on_nn_module": False,
            "assume_static_by_default": True,
            "automatic_dynamic_shapes": True,
            "cache_size_limit": 8,
            "capture_dynamic_output_shape_ops": False,
            "capture_scalar_outputs": False,
            "compiled_autograd": False,
            "disable": False,
            "dynamic_shapes": True,
            "fail_on_recompile_limit_hit": False,
            "force_parameter_static_shapes": True,
            "guard_nn_modules": True,
            "inline_inbuilt_nn_modules": True,
            "optimize_ddp": True,
            "recompile_limit": 8,
            "suppress_errors": False,
            "verbose": False,
        },
    ),
    "_dynamo.exc": Row(
        "errors of a compiler that is not there", {".tools.private_names": "TorchDynamoException, Unsupported"}
    ),
    "_dynamo.eval_frame": Row(
        "the class of compiled modules, of which there are none",
        {".tools.eager": "NoGraph as OptimizedModule, no as is_dynamo_supported"},
    ),
    "_dynamo.utils": Row(_IMPORTED, {".tools.eager": "no as is_compile_supported"}),
    "_functorch": Row(_IMPORTED),
    "_functorch.vmap": Row(
        _IMPORTED,
        {".autograd.transforms": "vmap", ".tools.eager": "transform_level as _maybe_remove_batch_dim"},
    ),
    "_higher_order_ops": Row("scans of a program's own function"),
    "_higher_order_ops.associative_scan": Row(
        "scans of a program's own function", {".tools.eager": "associative_scan"}
    ),
    "_inductor": Row("a compiler that is not there"),
    "_inductor.config": Row(
        _SETTINGS,
        values={
            "coordinate_descent_check_all_directions": False,
            "coordinate_descent_tuning": False,
            "cpp": _Settings(threads=-1),
            "debug": False,
            "epilogue_fusion": True,
            "fallback_random": False,
            "force_fuse_int_mm_with_mul": False,
            "freezing": False,
            "fx_graph_cache": True,
            "max_autotune": False,
            "max_autotune_gemm_backends": "ATEN,TRITON,CPP",
            "reorder_for_compute_comm_overlap": False,
            "shape_padding": True,
            "triton": _Settings(cudagraph_skip_dynamic_graphs=False, cudagraph_trees=True, cudagraphs=False),
            "use_mixed_mm": True,
        },
    ),
    "_subclasses": Row(
        "tensors without values, which do not exist",
        {".tools.eager": "NoGraph as FakeTensor, NoGraph as FakeTensorMode"},
    ),
    "_subclasses.fake_tensor": Row(
        "tensors without values, which do not exist",
        {".tools.eager": "NoGraph as FakeTensor, NoGraph as FakeTensorMode, no as is_fake"},
    ),
    "ao": Row("names that packages import; networks are not quantized"),
    "ao.quantization": Row(
        "the marks in networks that could be quantized; here they pass their input on",
        {
            ".nn": "Identity as DeQuantStub, Identity as QuantStub",
            ".tools.private_names": "FakeQuantizeBase, ObserverBase",
        },
    ),
    "quantization": Row(
        "the former name of torch.ao.quantization",
        {".ao.quantization": "DeQuantStub, FakeQuantizeBase, ObserverBase, QuantStub"},
    ),
    "export": Row(
        "the export of programs, which raises NotSupportedError",
        {".tools.eager": "GraphModule as ExportedProgram, export_program as export, nothing as Dim"},
    ),
    "fx": Row(
        "names that programs import; programs are not traced, so there are no graphs",
        {
            ".tools.eager": (
                "Graph, GraphModule, Interpreter, Node, Proxy, Tracer, Interpreter as Transformer, symbolic_trace, "
                "same as wrap"
            )
        },
    ),
    "fx.experimental": Row(_IMPORTED),
    "fx.experimental.proxy_tensor": Row(
        "names that programs import; nothing is traced",
        {".tools.eager": "nothing as get_proxy_mode, symbolic_trace as make_fx"},
    ),
    "fx.experimental.symbolic_shapes": Row(
        "names that programs import; sizes are numbers",
        {".tools.eager": "no as is_symbolic, same as guard_or_false, same as guard_or_true"},
    ),
    "fx.graph_module": Row(
        _IMPORTED,
        {".tools.eager": "GraphModule, GraphModule as _CodeOnlyModule, nothing as _copy_attr"},
        {"_USER_PRESERVED_ATTRIBUTES_KEY": "_user_preserved_attributes"},
    ),
    "fx.node": Row(_IMPORTED, {".tools.eager": "Node", "typing": "Any as Argument, Any as Target"}),
    "fx.proxy": Row(_IMPORTED, {".tools.eager": "Proxy"}),
    "onnx": Row(
        _NOT_EXPORTED,
        {
            ".tools.eager": (
                "OperatorExportTypes, TrainingMode, no as is_in_onnx_export, nothing as register_custom_op_symbolic, "
                "nothing as unregister_custom_op_symbolic, onnx_export as export"
            )
        },
    ),
    "onnx.symbolic_helper": Row(
        "the decorator of functions that describe operators, which are not called",
        {".tools.eager": "decorator as parse_args"},
    ),
    "onnx.symbolic_opset11": Row(_NOT_EXPORTED, {".onnx": "export"}),
    "onnx.symbolic_opset9": Row(_NOT_EXPORTED, {".onnx": "export"}),
    # Parts of torch.distributed that are not implemented, and other paths to its names.
    "distributed._composable": Row(_SPREAD),
    "distributed._composable.fsdp": Row(_SPREAD, {".parallel.process_group": "FSDPModule, fully_shard"}),
    "distributed._functional_collectives": Row(
        _SPREAD,
        {".parallel.process_group": "all_to_all_single_autograd", ".tools.eager": "same as wait_tensor"},
    ),
    "distributed.checkpoint": Row("names that programs import; files of several processes are not written"),
    "distributed.checkpoint.hf_storage": Row(
        _IMPORTED, {".parallel.process_group": "HuggingFaceStorageReader, HuggingFaceStorageWriter"}
    ),
    "distributed.device_mesh": Row(_SPREAD, {".parallel.process_group": "DeviceMesh, init_device_mesh"}),
    "distributed.fsdp": Row(
        _SPREAD,
        {
            ".parallel.process_group": (
                f"{_SHARDED}, CPUOffloadPolicy, FSDPModule, MixedPrecisionPolicy, OffloadPolicy, fully_shard, "
                "register_fsdp_forward_method"
            )
        },
    ),
    "distributed.fsdp.fully_sharded_data_parallel": Row(_SPREAD, {".parallel.process_group": _SHARDED}),
    "distributed._tensor": Row(
        _SPREAD,
        {
            ".parallel.process_group": (
                f"DTensor, DeviceMesh, {_PLACEMENTS}, distribute_module, distribute_tensor, init_device_mesh"
            )
        },
    ),
    "distributed._tensor.experimental": Row(_SPREAD, {".parallel.process_group": "implicit_replication"}),
    "distributed.checkpoint.state_dict": Row(
        _SPREAD,
        {
            ".parallel.process_group": (
                "StateDictOptions, get_model_state_dict, get_optimizer_state_dict, get_state_dict, "
                "set_model_state_dict, set_optimizer_state_dict, set_state_dict"
            )
        },
    ),
    "distributed.fsdp.api": Row(_SPREAD, {".parallel.process_group": _SHARDED_SETTINGS}),
    "distributed.fsdp.sharded_grad_scaler": Row(_SPREAD, {".parallel.process_group": "ShardedGradScaler"}),
    "distributed.fsdp.wrap": Row(
        _SPREAD,
        {
            ".parallel.process_group": (
                "CustomPolicy, ModuleWrapPolicy, always_wrap_policy, enable_wrap, lambda_auto_wrap_policy, "
                "size_based_auto_wrap_policy, transformer_auto_wrap_policy, wrap"
            )
        },
    ),
    "distributed.optim": Row(_SPREAD, {".parallel.process_group": "PostLocalSGDOptimizer, ZeroRedundancyOptimizer"}),
    "distributed.rpc": Row(
        "calls of functions in other processes, which do not exist",
        {
            ".parallel.process_group": "RRef, init_rpc, remote, rpc_async, rpc_sync, shutdown",
            ".runtime.absent": "is_available",
        },
    ),
    "distributed.tensor": Row(
        _SPREAD,
        {
            ".parallel.process_group": (
                f"DTensor, DeviceMesh, {_PLACEMENTS}, distribute_module, distribute_tensor, init_device_mesh"
            )
        },
    ),
    "distributed.tensor._utils": Row(_SPREAD, {".parallel.process_group": "compute_local_shape_and_global_offset"}),
    "distributed.tensor.placement_types": Row(
        _SPREAD, {".parallel.process_group": f"{_PLACEMENTS}, Shard as _StridedShard"}
    ),
    # Former and private paths.
    "_jit_internal": Row(
        "decorators and annotations for a compiler that is not there",
        {
            ".jit.annotations": "Any, Dict, List, Optional, Tuple, Union",
            ".tools.eager": (
                "ignore, is_instance as _isinstance, no as is_scripting, nothing as _overload, "
                "same as _copy_to_script_wrapper, same as _overload_method, same as boolean_dispatch, same as export, "
                "same as unused"
            ),
            "typing": "Final",
        },
    ),
    "_tensor": Row("the class of tensors", {".tensor.tensor": "Tensor"}),
    "_tensor_str": Row(
        "tensors as text",
        {
            ".tensor.format": (
                "add_suffixes as _add_suffixes, get_printoptions, options as PRINT_OPTS, printoptions, "
                "set_printoptions, to_text as _str, to_text as _str_intern, values_to_text as _tensor_str"
            )
        },
    ),
    "_utils": Row(
        "copies into one array, and devices by name",
        {
            ".tools.private_names": (
                "available_device_type as _get_available_device_type, "
                "flatten_dense_tensors as _flatten_dense_tensors, "
                "unflatten_dense_tensors as _unflatten_dense_tensors"
            ),
            ".": "get_device_module as _get_device_module",
            "itertools": "accumulate as _accumulate",
        },
    ),
    "functional": Row(
        "functions of the package",
        {
            ".": (
                "atleast_1d, atleast_2d, atleast_3d, block_diag, broadcast_shapes, broadcast_tensors, cartesian_prod, "
                "cdist, chain_matmul, einsum, lu, meshgrid, norm, pca_lowrank, split, svd_lowrank, tensordot, unique, "
                "unique_consecutive, unravel_index"
            )
        },
    ),
    "nn.utils._named_member_accessor": Row(
        "parameters, buffers and submodules by dotted name",
        {
            ".nn.named_members": "MISSING as _MISSING, NamedMemberAccessor, set_tensor, swap_submodule, swap_tensor"
        },
    ),
    "storage": Row("the classes of storages", {".tensor.storages": "TypedStorage, UntypedStorage"}),
    "utils._pytree": Row(
        "nested lists, tuples and dicts as a list of leaves and a structure",
        {
            ".tools.pytree": (
                "Context, GetAttrKey, Kind as NodeDef, LeafSpec, MappingKey, PyTree, SequenceKey, TreeSpec, "
                "_kinds as SUPPORTED_NODES, dict_flatten as _dict_flatten, "
                "dict_flatten_with_keys as _dict_flatten_with_keys, dict_unflatten as _dict_unflatten, key_get, "
                "keystr, list_flatten as _list_flatten, list_flatten_with_keys as _list_flatten_with_keys, "
                "list_unflatten as _list_unflatten, node_type as _get_node_type, register_pytree_node, "
                "register_pytree_node as _register_pytree_node, tree_all, tree_any, tree_flatten, "
                "tree_flatten_with_path, tree_is_leaf, tree_iter, tree_leaves, tree_leaves_with_path, tree_map, "
                "tree_map_, tree_map_only, tree_map_with_path, tree_structure, tree_unflatten"
            )
        },
    ),
    "utils._contextlib": Row(
        "the base of contexts that decorate functions",
        {
            ".tools.private_names": (
                "DecoratorContextManager as _DecoratorContextManager, "
                "DecoratorContextManager as _NoParamDecoratorContextManager"
            )
        },
    ),
    "utils._foreach_utils": Row(
        "groups of tensors",
        {
            ".tools.private_names": (
                "foreach_devices as _get_foreach_kernels_supported_devices, "
                "foreach_devices as _get_fused_kernels_supported_devices, "
                "group_tensors as _group_tensors_by_device_and_dtype"
            )
        },
    ),
    "utils._python_dispatch": Row(
        "modes that intercept operators, which do not exist",
        {
            ".tools.eager": "NoGraph as TorchDispatchMode, no as is_traceable_wrapper_subclass",
            ".tools.private_names": "no_mode as _get_current_dispatch_mode",
        },
    ),
    "utils.weak": Row(
        "dictionaries with weak references to tensors",
        {".tools.private_names": ("WeakIdKeyDictionary, WeakIdKeyDictionary as WeakTensorKeyDictionary")},
    ),
    "utils.flop_counter": Row(
        "counts of arithmetic operations, which are not taken",
        {".tools.private_names": "FlopCounterMode"},
    ),
    "utils.cpp_extension": Row(
        "extensions of PyTorch, which are not built: its functions raise NotSupportedError",
        {
            ".tools.eager": (
                "CUDA_HOME, load_extension as load, load_inline_extension as load_inline, "
                "make_extension as BuildExtension, make_extension as CUDAExtension, make_extension as CppExtension"
            )
        },
    ),
    "utils.model_zoo": Row(
        "the former name of torch.hub's downloads", {".serialization.hub": "load_state_dict_from_url as load_url, tqdm"}
    ),
}
ROWS = TYPED | OTHERS
install(ROWS)
