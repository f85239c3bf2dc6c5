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
    """The driver of the GPUs that were chosen, not yet started; None stands for NVIDIA's.

    Raises: NoDeviceError if the choice is to have none; ArgumentError for a schedule that nothing could follow.
    """
    if choice is not None and choice.kind == "virtual":
        from .virtual.driver import VirtualDriver

        return VirtualDriver(choice, schedule)
    if schedule is not None:
        raise ArgumentError(f"only virtual GPUs follow a schedule, got {schedule!r}", operator="make")
    if choice is not None and choice.kind == "none":
        raise NoDeviceError(
            "CUDA was used, and FLAMBEAU_GPUS=none", hint="set FLAMBEAU_GPUS=virtual:2 for virtual GPUs"
        )
    from .nvidia.driver import NvidiaDriver

    return NvidiaDriver()


def monitor(choice: Gpus, started: Driver | None) -> Monitor:
    """The monitor of the chosen devices.  started: their driver, None before the start.

    Raises: NoDeviceError where there are no virtual GPUs and no NVML.
    """
    if choice.kind == "virtual":
        from .virtual.driver import VirtualMonitor

        return VirtualMonitor(choice, cast("VirtualDriver | None", started))
    from .nvidia.nvml import NvidiaMonitor

    return NvidiaMonitor(started)


def markers(choice: Gpus) -> Markers | None:
    """The NVTX markers, or None without a listener."""
    if choice.kind != "nvidia":
        return None
    from .nvidia import nvtx

    return nvtx.load()


def architectures(choice: Gpus) -> list[str]:
    """The architectures that kernels are available for, as `sm_90`; empty without GPUs.  Starts nothing."""
    if choice.kind == "virtual":
        from .virtual.clock import preset

        return [preset(choice.preset).arch]
    if choice.kind == "none":
        return []
    from .nvidia import compile

    return compile.architectures()


def nvidia_initialized() -> tuple[int, list[str]] | None:
    """The process in which NVIDIA's driver was initialized first, and where; None if it was not."""
    library = sys.modules.get(f"{__name__}.nvidia.library")
    return None if library is None else library.first_initialized()


def nvidia_device_count() -> int:
    """How many NVIDIA GPUs can be used, as CUDA_VISIBLE_DEVICES says now: 0 where anything needed for them is missing.

    Never raises, and starts CUDA only where NVML cannot tell.
    """
    from .nvidia import nvml

    return nvml.device_count()


def nvidia_is_there() -> bool:
    """Whether there is an NVIDIA GPU that could be used, visible or not.  Never raises."""
    from .nvidia import nvml

    return nvml.has_device()
