"""The two drivers, `nvidia` and `virtual`.  No other module names both.

`api` is the interface; neither driver is imported before it is chosen.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

from ..config import Gpus
from ..errors import ArgumentError, NoDeviceError
from .api import Driver, Markers, Monitor

if TYPE_CHECKING:
    from .virtual.driver import VirtualDriver
    from .virtual.schedule import Schedule


def make(choice: Gpus | None, schedule: Schedule | None = None) -> Driver:
    """Make the driver of the chosen GPUs, not yet started; None chooses NVIDIA's.

    Raises: NoDeviceError if no GPUs are chosen; ArgumentError for a schedule without virtual GPUs.
    """
    if choice is not None and choice.kind == "virtual":
        from .virtual.driver import VirtualDriver

        return VirtualDriver(choice, schedule)
    if schedule is not None:
        raise ArgumentError(f"a schedule needs virtual GPUs, got {schedule!r}", operator="make")
    if choice is not None and choice.kind == "none":
        raise NoDeviceError(
            "CUDA was used, but FLAMBEAU_GPUS=none", hint="set FLAMBEAU_GPUS=virtual:2 for virtual GPUs"
        )
    from .nvidia.driver import NvidiaDriver

    if choice is not None and choice.is_followed:
        from .virtual.followed import FollowedDriver

        return FollowedDriver(choice, NvidiaDriver())
    return NvidiaDriver()


def monitor(choice: Gpus, started: Driver | None) -> Monitor:
    """Make the monitor of the chosen devices.  started: their driver; None before the start.

    Raises: NoDeviceError where there are no virtual GPUs and no NVML.
    """
    if choice.kind == "virtual":
        from .virtual.driver import VirtualMonitor

        return VirtualMonitor(choice, cast("VirtualDriver | None", started))
    from .nvidia.nvml import NvidiaMonitor

    return NvidiaMonitor(started)


def markers(choice: Gpus) -> Markers | None:
    """Return the NVTX markers, or None without a listener."""
    if choice.kind != "nvidia":
        return None
    from .nvidia import nvtx

    return nvtx.load()


def architectures(choice: Gpus) -> list[str]:
    """Return the architectures that kernels exist for, such as `sm_90`; empty without GPUs.  Does not start CUDA."""
    if choice.kind == "virtual":
        from .virtual.card import card

        return [card(choice.preset).arch]
    if choice.kind == "none":
        return []
    from .nvidia import compile

    return compile.architectures()


def nvidia_initialized() -> tuple[int, list[str]] | None:
    """Return (process id, source lines) of the first initialization of NVIDIA's driver; None if there was none."""
    library = sys.modules.get(f"{__name__}.nvidia.library")
    return None if library is None else library.first_initialized()


def nvidia_device_count() -> int:
    """Return the number of usable NVIDIA GPUs under the current CUDA_VISIBLE_DEVICES; 0 if a library is missing.

    Never raises, and starts CUDA only where NVML cannot tell.
    """
    from .nvidia import nvml

    return nvml.device_count()


def nvidia_is_there() -> bool:
    """Return whether there is a usable NVIDIA GPU, visible or not.  Never raises."""
    from .nvidia import nvml

    return nvml.has_device()


def nccl_version() -> tuple[int, int, int] | None:
    """Return the version of NCCL; None if it is not installed.  Does not start CUDA."""
    from .nvidia import nccl

    return nccl.version()


def nccl_unique_id() -> bytes | None:
    """Return the unique id of a new NCCL communicator; None if NCCL is not installed."""
    from .nvidia import nccl

    library = nccl.load()
    return None if library is None else nccl.new_id(library)
