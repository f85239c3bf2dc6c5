"""torch._C: the names of PyTorch's compiled core that programs and packages touch."""

from ...errors import no_attribute as _no_attribute
from ...runtime.generator import Generator
from ...strides import Size
from ...tensor.subclass import default_running as DisableTorchFunction  # noqa: N812
from ...tensor.subclass import default_running as DisableTorchFunctionSubclass  # noqa: N812
from ...tensor.subclass import run_default as _disabled_torch_function_impl
from ...tensor.tensor import Tensor as TensorBase
from ...tools.eager import DispatchKey
from ...tools.eager import Setting as _ExcludeDispatchKeyGuard
from ...tools.eager import no as _are_functorch_transforms_active
from ...tools.eager import no as _has_mkldnn
from ...tools.eager import no as _is_tracing
from ...tools.eager import nothing as _get_tracing_state
from ...tools.eager import nothing as _jit_override_can_fuse_on_cpu
from ...tools.eager import nothing as _jit_override_can_fuse_on_gpu
from ...tools.eager import nothing as _jit_set_bailout_depth
from ...tools.eager import nothing as _jit_set_nvfuser_enabled
from ...tools.eager import nothing as _jit_set_profiling_executor
from ...tools.eager import nothing as _jit_set_profiling_mode
from ...tools.eager import nothing as _jit_set_texpr_fuser_enabled
from ...tools.eager import nothing as _log_api_usage_once
from ...tools.eager import same as DispatchKeySet  # noqa: N812

__all__ = [
    "DispatchKey", "DispatchKeySet", "_ExcludeDispatchKeyGuard", "DisableTorchFunction",
    "DisableTorchFunctionSubclass", "Generator", "Size", "TensorBase", "_are_functorch_transforms_active",
    "_disabled_torch_function_impl", "_get_tracing_state", "_has_mkldnn", "_is_tracing",
    "_jit_override_can_fuse_on_cpu", "_jit_override_can_fuse_on_gpu", "_jit_set_bailout_depth",
    "_jit_set_nvfuser_enabled", "_jit_set_profiling_executor", "_jit_set_profiling_mode",
    "_jit_set_texpr_fuser_enabled", "_log_api_usage_once",
]  # fmt: skip


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
