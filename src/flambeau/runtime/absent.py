"""Answers about hardware and libraries that flambeau does not use: Apple's GPUs, Intel's GPUs, MKL, OpenMP, Vulkan."""

from __future__ import annotations

NEWEST_CUDA = "13.0"  # reported if cuda-bindings is not installed


def is_available() -> bool:
    """Return False: flambeau does not use this backend.

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
