"""NVML through nvidia-ml-py: device count, UUIDs and monitoring, without starting CUDA, so that the process can fork.

- The library is loaded at the first query, once per process.
- The list of devices, and whether they are partitioned (MIG), is queried once: neither changes while a process runs.
- Devices are numbered in PCI bus order, regardless of CUDA_VISIBLE_DEVICES; a UUID is the same for CUDA and NVML.
- Every failure becomes an exception in `library.nvml_error`.
- The device count reads CUDA_VISIBLE_DEVICES itself.  Without NVML, or with MIG, CUDA is initialized and queried.  Any
  failure counts as no device: the program has not chosen to use a GPU yet.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from ... import config
from ...errors import AcceleratorError, DeviceIndexError, NoDeviceError, NotSupportedError
from ..api import Driver, GpuProcess
from . import library

Handle = Any  # of a device, which NVML makes for a UUID


class Nvml:
    """The initialized library.  bindings: the module pynvml."""

    def __init__(self, bindings: Any) -> None:
        self._bindings = bindings
        self._uuids: tuple[str, ...] | None = None
        self._has_divided: bool | None = None
        self._ask("nvmlInit")

    # no cached_property: before Python 3.12 it holds a lock, for which a forked child could wait for ever
    @property
    def uuids(self) -> tuple[str, ...]:
        """Every device's UUID, as `GPU-…` text, in PCI bus order."""
        if self._uuids is None:
            count = self._ask("nvmlDeviceGetCount")
            self._uuids = tuple(self._ask("nvmlDeviceGetUUID", self._at(index)) for index in range(count))
        return self._uuids

    @property
    def has_divided(self) -> bool:
        """Whether CUDA sees a device's MIG instances instead of the device."""
        if self._has_divided is None:
            self._has_divided = any(self._is_divided(self._at(index)) for index in range(len(self.uuids)))
        return self._has_divided

    def _at(self, index: int) -> Handle:
        return self._ask("nvmlDeviceGetHandleByIndex", index)

    def _is_divided(self, device: Handle) -> bool:
        try:
            now, _ = self._ask("nvmlDeviceGetMigMode", device)
        except NotSupportedError:  # most devices cannot be partitioned, and old drivers lack the query
            return False
        return bool(now)

    def device(self, uuid: str) -> Handle:
        return self._ask("nvmlDeviceGetHandleByUUID", uuid)

    def utilization(self, device: Handle) -> Any:
        """Return `gpu` and `memory`: percent of the time of the last sampling period."""
        return self._ask("nvmlDeviceGetUtilizationRates", device)

    def memory_used(self, device: Handle) -> int:
        return int(self._ask("nvmlDeviceGetMemoryInfo", device).used)

    def temperature(self, device: Handle) -> int:
        return int(self._ask("nvmlDeviceGetTemperature", device, self._bindings.NVML_TEMPERATURE_GPU))

    def power(self, device: Handle) -> int:
        return int(self._ask("nvmlDeviceGetPowerUsage", device))

    def clock(self, device: Handle) -> int:
        return int(self._ask("nvmlDeviceGetClockInfo", device, self._bindings.NVML_CLOCK_SM))

    def processes(self, device: Handle) -> list[GpuProcess]:
        """Return the processes that compute on a device."""
        processes = self._ask("nvmlDeviceGetComputeRunningProcesses", device)
        return [GpuProcess(process.pid, process.usedGpuMemory) for process in processes]

    def _ask(self, name: str, *arguments: Any) -> Any:
        try:
            return getattr(self._bindings, name)(*arguments)
        except self._bindings.NVMLError as failure:
            raise library.nvml_error(failure.value, name) from None


def load() -> Nvml:
    """Return this process's NVML.  Raises NoDeviceError if there is none, AcceleratorError if it does not start."""
    return _of_process(os.getpid())


@cache
def _of_process(pid: int) -> Nvml:
    return Nvml(library.nvml_bindings())


def whole_devices() -> tuple[str, ...] | None:
    """Return the UUIDs of all devices; None if NVML is missing or a device is partitioned (only CUDA knows them)."""
    try:
        nvml = load()
        return None if nvml.has_divided else nvml.uuids
    except (AcceleratorError, NoDeviceError, NotSupportedError):
        return None


class NvidiaMonitor:
    """The implementation of `driver.api.Monitor`.

    started: the process's driver, whose devices have UUIDs; without one, CUDA_VISIBLE_DEVICES is read.
    Raises: NoDeviceError if there is no NVML.
    """

    def __init__(self, started: Driver | None) -> None:
        self._nvml = load()
        self._started = started

    def utilization(self, device: int) -> int:
        return int(self._nvml.utilization(self._handle(device)).gpu)

    def memory_usage(self, device: int) -> int:
        return int(self._nvml.utilization(self._handle(device)).memory)

    def memory_used(self, device: int) -> int:
        return self._nvml.memory_used(self._handle(device))

    def temperature(self, device: int) -> int:
        return self._nvml.temperature(self._handle(device))

    def power_draw(self, device: int) -> int:
        return self._nvml.power(self._handle(device))

    def clock_rate(self, device: int) -> int:
        return self._nvml.clock(self._handle(device))

    def processes(self, device: int) -> list[GpuProcess]:
        return self._nvml.processes(self._handle(device))

    def _handle(self, device: int) -> Handle:
        return self._nvml.device(self._uuid(device))

    def _uuid(self, device: int) -> str:
        if self._started is not None:
            return self._started.properties(device).uuid
        every = self._nvml.uuids
        visible = config.visible_devices(every)
        if device >= len(visible):
            raise DeviceIndexError(
                f"cuda:{device} is not visible: this process sees {len(visible)} of {len(every)} devices",
                hint="use a lower index; CUDA_VISIBLE_DEVICES selects the visible devices",
            )
        return every[visible[device]]


def device_count() -> int:
    """Return the number of usable devices, 0 after any failure.  Never raises."""
    try:
        bindings = library.driver_bindings()
        uuids = visible_uuids()
        return library.initialize(bindings) if uuids is None else len(uuids)
    except Exception:  # noqa: BLE001
        return 0


def visible_uuids() -> list[str] | None:
    """Return the UUIDs of the devices visible to this process; None if only CUDA knows them."""
    every = None if config.names_instances() else whole_devices()
    return None if every is None else [every[ordinal] for ordinal in config.visible_devices(every)]


def has_device() -> bool:
    """Return whether a device would be usable without CUDA_VISIBLE_DEVICES.  Never raises."""
    try:
        library.driver_bindings()
        uuids = whole_devices()
    except Exception:  # noqa: BLE001
        return False
    return device_count() > 0 if uuids is None else bool(uuids)
