"""Finds cuda.bindings, and turns the codes of NVIDIA's libraries into errors.

- Nothing of NVIDIA's is imported, and no driver call is made, before a function here is called.
- `check`, `check_ready`, `check_blas`, `check_solver`, `check_dnn`, `check_nccl` and `nvml_error` are the only places
  where a code becomes an exception.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
from collections.abc import Mapping
from ctypes import c_int
from pathlib import Path
from typing import Any

from ... import callers
from ...core import nvidia
from ...errors import (
    CUDA_TEXTS,
    AcceleratorError,
    FlambeauError,
    NoDeviceError,
    NotSupportedError,
    OutOfMemoryError,
    cuda_text,
)

DRIVER_LIBRARY = "libcuda.so.1"
SUCCESS = 0
OUT_OF_MEMORY = 2
INVALID_DEVICE = 101
INVALID_SOURCE = 300
INVALID_HANDLE = 400
NOT_READY = 600
PEER_ACCESS_ALREADY_ENABLED = 704
BLAS_ALLOC_FAILED = 3
SOLVER_ALLOC_FAILED = 2
DNN_BAD_PARAMETER, DNN_NOT_SUPPORTED = 2, 3  # thousands of a cudnnStatus_t
DNN_ALLOC_FAILED = frozenset({4003, 4004})
NVML_NOT_SUPPORTED = frozenset({3, 13})  # by the device; by the library
NVML_NO_DEVICE = frozenset({6, 9, 12})  # there is none of that name; no driver is loaded; the driver's library is lost
NVML_CODES = {
    1: "NVML is not initialized", 2: "an argument is invalid", 3: "the device does not tell", 4: "no permission",
    6: "there is no such device", 9: "NVIDIA's driver is not loaded", 12: "libnvidia-ml.so.1 cannot be loaded",
    13: "this NVML lacks the function", 15: "the device is lost", 18: "driver and library have different versions",
}  # fmt: skip

CAPTURE_CODES = range(900, 909)  # errors of calls that a capturing stream does not allow
CAPTURE_INVALIDATED = 901  # the capture was already broken: another call is the cause
CAPTURE_REFUSALS: list[str] = []  # the first refused calls since the process's latest capture began
MAX_REFUSALS = 4

# No driver, a driver that is a stub or too old, no device, or a device that the driver does not support.
NO_DEVICE = frozenset({34, 35, 100, 802, 803, 804})

STICKY = {
    214: "the device's memory is damaged",
    220: "a link between devices failed",
    226: "the device contained an error",
    700: "a kernel reached memory that it may not",
    702: "a kernel took too long",
    709: "the context was destroyed",
    710: "an assert in a kernel failed",
    714: "a kernel's stack is broken",
    715: "a kernel met an illegal instruction",
    716: "a kernel reached a misaligned address",
    717: "a kernel used an address of the wrong space",
    718: "a kernel jumped to an invalid address",
    719: "a kernel failed",
}

STACK_FRAMES = 3  # of the initialization, for a forked child's error
_first: list[tuple[int, list[str]]] = []

VIRTUAL_HINT = "set FLAMBEAU_GPUS=virtual:2 to run on two virtual GPUs, which need no hardware"
NVML_HINT = f"install NVIDIA's driver, which brings NVML; or {VIRTUAL_HINT}"
BINDINGS_HINT = f'pip install "cuda-bindings" where there is an NVIDIA GPU; or {VIRTUAL_HINT}'
LOST = "this process cannot use the device any more"
STICKY_HINT = (
    "what failed was launched earlier: CUDA_LAUNCH_BLOCKING=1 names its line, FLAMBEAU_STRICT=1 the last launches; "
    f"{LOST}"
)
SUSPECTS_HINT = f"the launch that failed is probably one of those; CUDA_LAUNCH_BLOCKING=1 tells which; {LOST}"


def driver_bindings() -> Any:
    """Return the module cuda.bindings.driver.  Raises NoDeviceError if it is not installed."""
    return _import("cuda.bindings.driver")


def nvrtc_bindings() -> Any:
    """Return the module cuda.bindings.nvrtc.  Raises NoDeviceError if it is not installed."""
    return _import("cuda.bindings.nvrtc")


def nvml_bindings() -> Any:
    """Return the module pynvml, of nvidia-ml-py.  Raises NoDeviceError if it is not installed."""
    return _import("pynvml", hint=f'pip install "nvidia-ml-py" where there is an NVIDIA GPU; or {VIRTUAL_HINT}')


def native() -> Any | None:
    """Return the module with compiled calls, or None in a build without them."""
    return nvidia if hasattr(nvidia, "Native") else None


def packaged(name: str) -> tuple[str, ...]:
    """Return the path of a library in NVIDIA's wheels or a toolkit; empty if not found.  name: such as `cublasLt`."""
    try:
        library: Any = importlib.import_module("cuda.pathfinder").load_nvidia_dynamic_lib(name)
    except (ImportError, RuntimeError):  # no pathfinder, or it finds none
        return ()
    return (library.abs_path,) if library.abs_path else ()


def open_first(*paths: str) -> ctypes.CDLL | None:
    """Open the first shared library that can be loaded; return None if none can."""
    for path in paths:
        try:
            return ctypes.CDLL(path)
        except OSError:  # the next path may exist
            continue
    return None


def in_wheels(library: str) -> list[str]:
    """Return the path of a library in NVIDIA's wheels; empty if no wheel has it."""
    packages = importlib.util.find_spec("nvidia")
    places = (packages.submodule_search_locations if packages else None) or ()
    return [str(path) for folder in places for path in sorted(Path(folder).glob(f"*/lib/{library}"))]


def declare(library: Any, signatures: Mapping[str, tuple[Any, ...]], result: Any = c_int) -> None:
    """Declare the parameters of a loaded library's functions, {name: types}, and the type that they return."""
    for name, argtypes in signatures.items():
        function = getattr(library, name)
        function.argtypes, function.restype = argtypes, result


def bindings_version() -> str:
    """Return the version of cuda.bindings.  Raises NoDeviceError if it is not installed."""
    return str(_import("cuda.bindings").__version__)


def _import(name: str, hint: str = BINDINGS_HINT) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as failure:
        raise NoDeviceError(f"{name} cannot be imported: {failure}", hint=hint) from failure


def initialize(cu: Any) -> int:
    """Start the driver and return how many devices it has, at least 1.  Raises NoDeviceError if there is none."""
    try:
        result = cu.cuInit(0)
    except RuntimeError as failure:  # DynamicLibNotFoundError, and RuntimeError itself in older releases
        raise NoDeviceError(f"NVIDIA's driver library cannot be loaded: {failure}", hint=VIRTUAL_HINT) from failure
    check(result, "cuInit")
    _first.append((os.getpid(), callers.call_stack(STACK_FRAMES)))
    del _first[1:]
    count = int(check(cu.cuDeviceGetCount(), "cuDeviceGetCount"))
    if count == 0:
        raise NoDeviceError("NVIDIA's driver has no device", hint=VIRTUAL_HINT)
    return count


def first_initialized() -> tuple[int, list[str]] | None:
    """Return (process id, source lines) of the driver's first initialization, or None; forked children inherit it."""
    return _first[0] if _first else None


def check(result: tuple[Any, ...], what: str, /, **values: Any) -> Any:
    """Return the result of a cuda.bindings call without its code: None, one value, or a tuple.

    what: the call's name;  values: its arguments, for the message.
    Raises: OutOfMemoryError, NoDeviceError or AcceleratorError, according to the code.
    """
    if result[0]:
        raise error_of(result[0], what, values)
    if len(result) == 2:
        return result[1]
    return result[1:] or None


def check_ready(result: tuple[Any, ...], what: str, /, **values: Any) -> bool:
    """Return whether a query found all work done.  Raises as `check` does for every other code."""
    if result[0] == NOT_READY:
        return False
    check(result, what, **values)
    return True


def check_blas(status: int, what: str, /, **values: Any) -> None:
    """Raise OutOfMemoryError or AcceleratorError unless a cuBLASLt call succeeded."""
    if status == SUCCESS:
        return
    fact = _fact(what, f"cuBLAS status {status}", values)
    raise OutOfMemoryError(fact) if status == BLAS_ALLOC_FAILED else AcceleratorError(fact)


def check_solver(status: int, what: str, /, **values: Any) -> None:
    """Raise OutOfMemoryError or AcceleratorError unless a cuSOLVER call succeeded."""
    if status == SUCCESS:
        return
    fact = _fact(what, f"cuSOLVER status {status}", values)
    raise OutOfMemoryError(fact) if status == SOLVER_ALLOC_FAILED else AcceleratorError(fact)


def check_dnn(status: int, what: str, message: str, /, **values: Any) -> None:
    """Raise an error unless a cuDNN call succeeded.

    message: cuDNN's text.
    Raises: NotSupportedError for an unsupported operation, OutOfMemoryError, AcceleratorError.
    """
    if status == SUCCESS:
        return
    fact = _fact(what, f"cuDNN status {status}: {message}" if message else f"cuDNN status {status}", values)
    if status // 1000 in (DNN_BAD_PARAMETER, DNN_NOT_SUPPORTED):
        raise NotSupportedError(fact)
    raise OutOfMemoryError(fact) if status in DNN_ALLOC_FAILED else AcceleratorError(fact)


def check_nccl(status: int, what: str, message: str, /, **values: Any) -> None:
    """Raise AcceleratorError unless an NCCL call succeeded.  message: NCCL's text."""
    if status != SUCCESS:
        raise AcceleratorError(
            _fact(what, f"NCCL status {status}: {message}", values), hint="set NCCL_DEBUG=WARN for NCCL's own message"
        )


def nvml_error(status: int, what: str, /) -> FlambeauError:
    """Return the error that a nvmlReturn_t stands for: NotSupportedError, NoDeviceError or AcceleratorError."""
    fact = _fact(what, f"{NVML_CODES.get(status, 'unknown code')} (NVML status {status})", {})
    if status in NVML_NOT_SUPPORTED:
        return NotSupportedError(fact, hint="install a newer NVIDIA driver, which may support the call")
    return NoDeviceError(fact, hint=NVML_HINT) if status in NVML_NO_DEVICE else AcceleratorError(fact)


def error_of(code: Any, what: str, values: Mapping[str, Any]) -> FlambeauError:
    """Return the error that a CUresult or an nvrtcResult stands for."""
    number = int(code)
    name = getattr(code, "name", "unknown code")  # a newer driver has codes that these bindings do not
    if name.startswith("NVRTC"):
        return AcceleratorError(_fact(what, f"{name} ({number})", values), error_code=INVALID_SOURCE)
    meaning = f"CUDA error: {cuda_text(number)}: " if number in CUDA_TEXTS else ""
    meaning += f"{STICKY[number]}: {name}" if number in STICKY else name
    fact = _fact(what, f"{meaning} ({number})", values)
    if number in NO_DEVICE:
        return NoDeviceError(fact, hint=VIRTUAL_HINT)
    if number == OUT_OF_MEMORY:
        return OutOfMemoryError(fact)
    if number in CAPTURE_CODES:
        fact = f"{fact}; called by {callers.caller()}"
        if number != CAPTURE_INVALIDATED and len(CAPTURE_REFUSALS) < MAX_REFUSALS:
            CAPTURE_REFUSALS.append(fact)
    if number in STICKY:
        return _lost(fact, number)
    return AcceleratorError(fact, error_code=number)


def _lost(fact: str, number: int) -> AcceleratorError:
    """Return the error of earlier work on the device that made this call fail."""
    fact = f"{fact}; met by {callers.caller()}"
    suspects = callers.suspects() if callers.suspects is not None else []
    if suspects:
        fact += f"; launched before, the latest first: {', '.join(suspects)}"
    return AcceleratorError(fact, hint=SUSPECTS_HINT if suspects else STICKY_HINT, error_code=number, sticky=True)


def _fact(what: str, problem: str, values: Mapping[str, Any]) -> str:
    listed = ", ".join(f"{name} is {value}" for name, value in values.items())
    return f"{what}: {problem}; {listed}" if listed else f"{what}: {problem}"
