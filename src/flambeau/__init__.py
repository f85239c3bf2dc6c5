"""flambeau: PyTorch's CUDA semantics, with devices, streams and memory, on NVIDIA GPUs and on virtual GPUs.

`import flambeau as torch` runs PyTorch programs.  Docstrings have these headings, where they apply:

- Shapes: the shapes of arguments and results.  `*` stands for any number of dimensions.
- Host: whether the call returns at once, or the host waits until the GPU has finished some work.
- Order: which work on streams comes before and after the call's own.
- Memory: how much memory the call needs.
- Raises: errors, and when they occur.  They are classes of `flambeau.errors`.
"""

import importlib as _importlib
import os as _os
from math import e, inf, nan, pi

from . import autograd, cuda, errors
from . import import_paths as _import_paths  # noqa: F401  (makes the modules without a file importable)
from .autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled
from .autograd.autocast import *  # noqa: F403
from .autograd.autocast import __all__ as _autocast_names
from .autograd.mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .dtypes import (
    bfloat16,
    cdouble,
    cfloat,
    chalf,
    complex32,
    complex64,
    complex128,
    double,
    dtype,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    half,
    int1,
    int2,
    int3,
    int4,
    int5,
    int6,
    int7,
    int8,
    int16,
    int32,
    int64,
    long,
    promote_types,
    qint8,
    qint32,
    quint2x4,
    quint4x2,
    quint8,
    short,
    uint1,
    uint2,
    uint3,
    uint4,
    uint5,
    uint6,
    uint7,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .dtypes import bool_ as bool
from .dtypes import float_ as float
from .dtypes import int_ as int
from .errors import AcceleratorError, OutOfMemoryError
from .importer import listing as _listing
from .importer import submodule as _submodule
from .memory_formats import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    jagged,
    layout,
    memory_format,
    preserve_format,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from .numerics import (
    are_deterministic_algorithms_enabled,
    get_deterministic_debug_mode,
    get_float32_matmul_precision,
    is_deterministic_algorithms_warn_only_enabled,
    set_deterministic_debug_mode,
    set_float32_matmul_precision,
    use_deterministic_algorithms,
)
from .ops.assertion import assert_async as _assert_async  # noqa: F401  (PyTorch's name for it)
from .ops.linalg import addmm_activation as _addmm_activation  # noqa: F401  (PyTorch's name for it)
from .runtime.absent import is_vulkan_available
from .runtime.accelerator import AnyEvent as Event
from .runtime.accelerator import get_device_module
from .runtime.control import virtual
from .runtime.device import device, get_default_device, set_default_device
from .runtime.generator import Generator, initial_seed, manual_seed, seed
from .runtime.generator import default_generator as _default_generator
from .runtime.host_threads import (
    get_num_interop_threads,
    get_num_threads,
    is_warn_always_enabled,
    set_flush_denormal,
    set_num_interop_threads,
    set_num_threads,
    set_warn_always,
)
from .runtime.stream import Stream
from .strides import Size
from .tensor import *  # noqa: F403
from .tensor import __all__ as _tensor_names
from .tensor.functions import *  # noqa: F403
from .tensor.functions import __all__ as _function_names
from .tensor.legacy import Variable as _Variable
from .tools.compiled import warn_if_uncompiled as _warn_if_uncompiled

__version__ = "0.2.0"
_warn_if_uncompiled()
autograd.Variable = _Variable  # set here, since it needs tensors, which need autograd
for _name in ("ops",):  # internal modules whose names PyTorch uses otherwise; imports still find them
    if isinstance(globals().get(_name), type(_importlib)):
        del globals()[_name]
_LATE = {  # the modules of names that few programs need
    "Future": "parallel.futures",
    "GradScaler": "amp",
    "compile": "tools.eager",
    "explain": "tools.explain",
    "load": "serialization",
    "profile": "tools.profiler",
    "save": "serialization",
    "statistics": "tools.statistics",
    "vmap": "autograd.transforms",
    **dict.fromkeys(
        (
            "ctc_loss", "embedding_bag", "gru", "gru_cell", "lstm", "lstm_cell", "rnn_relu", "rnn_relu_cell",
            "rnn_tanh", "rnn_tanh_cell",
        ),
        "nn.package_functions",
    ),
}  # fmt: skip
# names of PyTorch's compilers, by their names in tools/eager.py
_EAGER = {
    "_assert": "check_that", "_check": "check", "ops": "operators", "SymBool": "SymBool", "SymFloat": "SymFloat",
    "SymInt": "SymInt", "PyTorchFileReader": "PyTorchFileReader",
    "ScriptFunction": "ScriptFunction", "ScriptModule": "ScriptModule",
    "TensorType": "TensorType", "classes": "operators",
}  # fmt: skip
_SUBMODULES = (
    "accelerator",
    "amp",
    "array_api",
    "backends",
    "compiler",
    "cpu",
    "data",
    "distributed",
    "distributions",
    "fft",
    "func",
    "futures",
    "hub",
    "jit",
    "library",
    "linalg",
    "mps",
    "mtia",
    "multiprocessing",
    "nn",
    "optim",
    "overrides",
    "parallel",
    "profiler",
    "quasirandom",
    "random",
    "return_types",
    "serialization",
    "signal",
    "special",
    "testing",
    "types",
    "utils",
    "version",
    "xpu",
)
__all__ = [
    "AcceleratorError", "Event", "Generator", "OutOfMemoryError", "Size", "Stream",
    "are_deterministic_algorithms_enabled", "autograd", "bfloat16", "bool", "channels_last", "channels_last_3d",
    "contiguous_format", "cuda", "device", "double", "dtype", "enable_grad",
    "errors", "float", "float16", "float32", "float64", "get_default_device", "get_deterministic_debug_mode",
    "get_device_module", "get_float32_matmul_precision", "half", "inference_mode", "initial_seed", "int", "int16",
    "int32", "int64",
    "int8", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_deterministic_algorithms_warn_only_enabled",
    "is_grad_enabled", "is_inference_mode_enabled", "layout", "long", "manual_seed", "memory_format", "no_grad",
    "preserve_format", "promote_types", "seed", "set_default_device", "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_grad_enabled", "short", "strided", "uint8", "use_deterministic_algorithms", "virtual",
    "jagged", "set_anomaly_enabled", "sparse_bsc", "sparse_bsr", "sparse_coo", "sparse_csc", "sparse_csr",
    "cdouble", "cfloat", "chalf", "complex32", "complex64", "complex128", "e", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "get_num_interop_threads", "get_num_threads", "inf",
    "is_vulkan_available", "is_warn_always_enabled", "nan", "pi", "set_flush_denormal", "set_num_interop_threads",
    "set_num_threads",
    "int1", "int2", "int3", "int4", "int5", "int6", "int7", "qint8", "qint32", "quint2x4", "quint4x2", "quint8",
    "uint1", "uint2", "uint3", "uint4", "uint5", "uint6", "uint7",
    "set_warn_always", "uint16", "uint32", "uint64",
    *_LATE, *_tensor_names, *_function_names, *_autocast_names,
]  # fmt: skip
__dir__ = _listing(globals(), *_SUBMODULES)


_PACKAGE = __name__  # `flambeau run --as-torch` changes __name__ to PyTorch's


def __getattr__(name: str) -> object:
    """Import a submodule, or the module of a name, at its first use, so that importing flambeau stays fast."""
    if name == "default_generator":
        return _default_generator(-1)
    if name in _EAGER:
        return getattr(_importlib.import_module(f"{_PACKAGE}.tools.eager"), _EAGER[name])
    if name in _LATE:
        found: object = getattr(_importlib.import_module(f"{_PACKAGE}.{_LATE[name]}"), name)
        globals()[name] = found
        return found
    if name in _SUBMODULES:
        return _importlib.import_module(f"{_PACKAGE}.{name}")
    if name == "_sample_dirichlet":
        return _importlib.import_module(f"{_PACKAGE}.distributions.sampling").sample_dirichlet
    if name.startswith("_foreach_"):
        return _importlib.import_module(f"{_PACKAGE}.tensor.foreach").function(name)
    return _submodule(_PACKAGE, name)


if _os.environ.get("FLAMBEAU_CHECK"):  # in a process that a program under `flambeau check` has started
    _importlib.import_module(f"{_PACKAGE}.tools.race_report").check_this_process()
