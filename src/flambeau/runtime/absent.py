"""Answers about hardware and libraries that flambeau does not use: Apple's GPUs, Intel's GPUs, MKL, OpenMP, Vulkan."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NoReturn

from ..errors import NoDeviceError

_NO_DEVICE = "flambeau supports no devices of the types mps, mtia and xpu"
_OTHERS = "use the CPU, an NVIDIA GPU, or virtual GPUs: torch.virtual(1)"
NEWEST_CUDA = "13.0"  # reported if cuda-bindings is not installed


def is_available() -> bool:
    """Return False: flambeau does not use the library, backend or device type that this function asks about.

    Example:
        >>> torch.backends.mps.is_available(), torch.xpu.is_available(), torch.distributed.is_mpi_available()
        (False, False, False)
    """
    return False


def is_built() -> bool:
    """Return False: flambeau is built without this backend.

    Example:
        >>> torch.backends.mps.is_built()
        False
    """
    return False


def is_vulkan_available() -> bool:
    """Return False: Vulkan is not used.

    Example:
        >>> torch.is_vulkan_available()
        False
    """
    return False


def device_count() -> int:
    """Return 0: flambeau supports no devices of this type.

    Example:
        >>> torch.xpu.device_count()
        0
    """
    return 0


def cuda_version() -> str:
    """Return the CUDA version of the installed cuda-bindings, such as '13.0'; NEWEST_CUDA if they are not installed."""
    from importlib import metadata  # slow to import

    try:
        major, minor, *_ = metadata.version("cuda-bindings").split(".")
    except (metadata.PackageNotFoundError, ValueError):
        return NEWEST_CUDA
    return f"{major}.{minor}"


# torch.mps, torch.mtia and torch.xpu


class NoDevice:
    """Stream, event or graph of a device type that flambeau does not support; the constructor raises NoDeviceError.

    Example:
        >>> try:
        ...     torch.xpu.Stream()
        ... except RuntimeError:
        ...     print("no Intel GPUs")
        no Intel GPUs
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NoDeviceError(_NO_DEVICE, hint=_OTHERS)


class NoContext:
    """Context manager for a device or stream of a type that flambeau does not support; it has no effect.

    Example:
        >>> with torch.xpu.device(0):
        ...     print(torch.xpu.device_count())
        0
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args = args

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        return None


def no_device(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise NoDeviceError, a RuntimeError: there is no device of this type.

    Example:
        >>> try:
        ...     torch.mps.synchronize()
        ... except RuntimeError:
        ...     print("no Apple GPU")
        no Apple GPU
    """
    raise NoDeviceError(_NO_DEVICE, hint=_OTHERS)


def manual_seed(seed: int) -> None:
    """Do nothing: there are no generators of this device type.

    Example:
        >>> torch.mps.manual_seed(1)
    """


def seed() -> None:
    """Do nothing: there are no generators of this device type.

    Example:
        >>> torch.xpu.seed_all()
    """


def empty_cache() -> None:
    """Do nothing: there is no memory of this device type.

    Example:
        >>> torch.xpu.empty_cache()
    """


def takes_bfloat16(including_emulation: bool = True) -> bool:
    """Return False: there is no device of this type.

    Example:
        >>> torch.xpu.is_bf16_supported()
        False
    """
    return False


def emulates_bfloat16(including_emulation: bool = True) -> bool:
    """Return True, as PyTorch does on every machine.

    Example:
        >>> torch.mtia.is_bf16_supported()
        True
    """
    return True


def memory(device: Any = None) -> int:
    """Return 0: no memory of this device type is in use.

    Example:
        >>> torch.xpu.memory_allocated()
        0
    """
    return 0


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Return {}: there are no statistics of this device type.

    Example:
        >>> torch.mtia.memory_stats()
        {}
    """
    return {}


def nothing_listed(*args: Any) -> list[Any]:
    """Return an empty list: no devices of this type, nor their generators or memory blocks, exist in flambeau.

    Example:
        >>> torch.xpu.get_arch_list()
        []
    """
    return []


def no_flags() -> str:
    """Return "": there are no architectures to compile for.

    Example:
        >>> torch.xpu.get_gencode_flags()
        ''
    """
    return ""


def ignored(*args: Any, **kwargs: Any) -> None:
    """Do nothing, and return None.

    Example:
        >>> torch.mtia.reset_peak_memory_stats()
    """


# settings of libraries that are not used


@contextmanager
def _held(module: str, **values: Any) -> Iterator[None]:
    """Set attributes of a module of torch.backends for a block; None leaves one as it is."""
    holder = sys.modules[f"flambeau.backends.{module}"]
    former = {name: getattr(holder, name) for name in values}
    try:
        vars(holder).update({name: value for name, value in values.items() if value is not None})
        yield
    finally:
        vars(holder).update(former)


def mkldnn_flags(
    enabled: bool | None = False,
    deterministic: bool | None = False,
    allow_tf32: bool | None = True,
    fp32_precision: str | None = "none",
) -> AbstractContextManager[None]:
    """Store settings of torch.backends.mkldnn inside a `with` block, and restore the former ones; they have no effect.

    Example:
        >>> with torch.backends.mkldnn.flags(enabled=False):
        ...     print(torch.backends.mkldnn.enabled)
        False
        >>> torch.backends.mkldnn.enabled
        True
    """
    values = {"enabled": enabled, "deterministic": deterministic, "allow_tf32": allow_tf32}
    return _held("mkldnn", **values, fp32_precision=fp32_precision)


def nnpack_flags(enabled: bool = False) -> AbstractContextManager[None]:
    """Store `enabled` of torch.backends.nnpack inside a `with` block, and restore the former value; it has no effect.

    Example:
        >>> with torch.backends.nnpack.flags(enabled=False):
        ...     print(torch.backends.nnpack.set_flags(False))
        (False,)
    """
    return _held("nnpack", enabled=enabled)


def nnpack_set_flags(_enabled: bool) -> tuple[bool]:
    """Set `enabled` of torch.backends.nnpack, which has no effect; return its former value in a tuple.

    Example:
        >>> torch.backends.nnpack.set_flags(True)
        (True,)
    """
    holder = vars(sys.modules["flambeau.backends.nnpack"])
    former, holder["enabled"] = holder["enabled"], _enabled
    return (former,)


def get_fastpath_enabled() -> bool:
    """Return whether attention layers may take a fused path, as `set_fastpath_enabled` stored it; True by default.

    Example:
        >>> torch.backends.mha.get_fastpath_enabled()
        True
    """
    enabled: bool = vars(sys.modules["flambeau.backends.mha"]).get("_is_enabled", True)
    return enabled


def set_fastpath_enabled(value: bool) -> None:
    """Store whether attention layers may take a fused path in evaluation; the setting has no effect.

    Example:
        >>> torch.backends.mha.set_fastpath_enabled(True)
    """
    vars(sys.modules["flambeau.backends.mha"])["_is_enabled"] = value


# torch.__future__

_conversions = {"overwrite": False, "swap": False}


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Keep whether a conversion of a module makes new parameters.  It has no effect: they stay the same objects.

    Example:
        >>> torch.__future__.set_overwrite_module_params_on_conversion(False)
    """
    _conversions["overwrite"] = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Return the setting of `set_overwrite_module_params_on_conversion`.

    Example:
        >>> torch.__future__.get_overwrite_module_params_on_conversion()
        False
    """
    return _conversions["overwrite"]


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Keep whether a conversion of a module swaps parameters with new ones.  It has no effect.

    Example:
        >>> torch.__future__.set_swap_module_params_on_conversion(False)
    """
    _conversions["swap"] = value


def get_swap_module_params_on_conversion() -> bool:
    """Return the setting of `set_swap_module_params_on_conversion`.

    Example:
        >>> torch.__future__.get_swap_module_params_on_conversion()
        False
    """
    return _conversions["swap"]
