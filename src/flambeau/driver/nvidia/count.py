"""How many devices there are, without starting CUDA: a process that only counted can still be forked.

NVML lists the devices and CUDA_VISIBLE_DEVICES is read here.  Where NVML is missing, or a device is divided (MIG), the
driver is initialized and asked.  Whatever is broken, the answer is "none": nobody has decided to use a GPU yet.
"""

from __future__ import annotations

from ... import config
from . import library, nvml


def device_count() -> int:
    """How many devices can be used, or 0.  Never raises."""
    try:
        bindings = library.driver_bindings()
        uuids = visible_uuids()
        return library.initialize(bindings) if uuids is None else len(uuids)
    except Exception:  # noqa: BLE001
        return 0


def visible_uuids() -> list[str] | None:
    """The UUIDs of the devices that the process would see if it started CUDA now; None where CUDA alone knows."""
    every = None if config.names_instances() else nvml.whole_devices()
    return None if every is None else [every[ordinal] for ordinal in config.visible_devices(every)]


def is_there() -> bool:
    """Whether any device could be used if CUDA_VISIBLE_DEVICES let it.  Never raises."""
    try:
        library.driver_bindings()
        uuids = nvml.whole_devices()
    except Exception:  # noqa: BLE001
        return False
    return device_count() > 0 if uuids is None else bool(uuids)
