"""The devices of a program that does not say which kind it uses: torch.accelerator.

flambeau has one kind, CUDA.  What waits or frees does nothing before the machine has started.
"""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..core import thread
from . import control, usage
from . import device as devices


def is_available() -> bool:
    """Whether there is an accelerator.  Never raises."""
    return control.is_available()


def device_count() -> int:
    """How many accelerators there are; never raises."""
    return control.device_count()


def current_accelerator(check_available: bool = False) -> devices.device | None:
    """device("cuda"), or None where the process has none.  Starts nothing."""
    wanted = thread.machine().choice.kind != "none" and (control.is_available() or not check_available)
    return devices.CUDA if wanted else None


def current_device_index() -> int:
    """The index of this thread's current device."""
    return control.current_device()


def set_device_index(device: Any) -> None:
    """Make a device current for this thread; nothing for a negative index."""
    control.set_device(device)


class DeviceIndex(devices.DeviceGuard):
    """`with accelerator.device_index(i):` makes device i current for this thread, and restores on exit.

    None changes nothing.
    """

    def __init__(self, device: int | None) -> None:
        super().__init__(device)


def synchronize(device: Any = None) -> None:
    """Wait until all work on a device is done; nothing before the machine has started.  Host: waits."""
    if control.is_initialized():
        control.synchronize(device)


def empty_cache() -> None:
    """Hand idle memory back; nothing before the machine has started."""
    if control.is_initialized():
        usage.empty_cache()


def get_device_capability(device: Any = None) -> dict[str, Any]:
    """What a device can do: `supported_dtypes`, the types that tensors on it can have."""
    devices.cuda_index(device)
    return {"supported_dtypes": set(dtypes.ALL)}
