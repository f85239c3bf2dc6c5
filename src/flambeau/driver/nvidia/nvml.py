"""NVML through ctypes: device count, UUIDs and monitoring, without starting CUDA, so that the process can still fork.

- The library is loaded at the first query, once per process.
- The list of devices, and whether they are partitioned (MIG), is queried once: neither changes while a process runs.
- Devices are numbered in PCI bus order, regardless of CUDA_VISIBLE_DEVICES; a UUID is the same for CUDA and NVML.
- Every code passes through `library.check_nvml`.
- The device count reads CUDA_VISIBLE_DEVICES itself.  Without NVML, or with MIG, CUDA is initialized and queried.  Any
  failure counts as no device: the program has not chosen to use a GPU yet.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_char, c_uint, c_ulonglong, c_void_p
from functools import cache, cached_property
from typing import Any

from ... import config
from ...errors import AcceleratorError, DeviceIndexError, NoDeviceError, NotSupportedError
from ..api import Driver, GpuProcess
from . import library

LIBRARY = "libnvidia-ml.so.1"
UUID_BYTES = 96
MORE_PROCESSES = 8  # spare entries for processes that start between the query of their number and the query of the list
NOT_AVAILABLE = (1 << 64) - 1  # NVML_VALUE_NOT_AVAILABLE, in place of a process's bytes

# nvml.h
SUCCESS = 0
TEMPERATURE_GPU = 0
CLOCK_SM = 1

HINT = "install NVIDIA's driver, which brings it; virtual GPUs answer without: FLAMBEAU_GPUS=virtual:2"


class Utilization(ctypes.Structure):
    """nvmlUtilization_t: percent of the time of the last sampling period."""

    _fields_ = (("gpu", c_uint), ("memory", c_uint))


class Memory(ctypes.Structure):
    """nvmlMemory_t, in bytes."""

    _fields_ = (("total", c_ulonglong), ("free", c_ulonglong), ("used", c_ulonglong))


class ProcessInfo(ctypes.Structure):
    """nvmlProcessInfo_t."""

    _fields_ = (("pid", c_uint), ("nbytes", c_ulonglong), ("gpu_instance", c_uint), ("compute_instance", c_uint))


class Nvml:
    """The initialized library.  A device is a handle, which `device` returns for a UUID."""

    def __init__(self, found: Any) -> None:
        self._library = found
        self._call("nvmlInit_v2")

    @cached_property
    def uuids(self) -> tuple[str, ...]:
        """Every device's UUID, as `GPU-…` text, in PCI bus order."""
        count = c_uint()
        self._call("nvmlDeviceGetCount_v2", byref(count))
        return tuple(self._uuid(index) for index in range(count.value))

    def _uuid(self, index: int) -> str:
        text = (c_char * UUID_BYTES)()
        self._call("nvmlDeviceGetUUID", self._at(index), text, UUID_BYTES)
        return text.value.decode()

    def _at(self, index: int) -> c_void_p:
        handle = c_void_p()
        self._call("nvmlDeviceGetHandleByIndex_v2", index, byref(handle))
        return handle

    @cached_property
    def has_divided(self) -> bool:
        """Whether CUDA sees a device's MIG instances instead of the device."""
        return any(self._is_divided(self._at(index)) for index in range(len(self.uuids)))

    def _is_divided(self, device: c_void_p) -> bool:
        now, later = c_uint(), c_uint()
        try:
            self._call("nvmlDeviceGetMigMode", device, byref(now), byref(later))
        except NotSupportedError:  # most devices cannot be partitioned, and old drivers lack the query
            return False
        return bool(now.value)

    def device(self, uuid: str) -> c_void_p:
        handle = c_void_p()
        self._call("nvmlDeviceGetHandleByUUID", uuid.encode(), byref(handle))
        return handle

    def utilization(self, device: c_void_p) -> Utilization:
        found = Utilization()
        self._call("nvmlDeviceGetUtilizationRates", device, byref(found))
        return found

    def memory(self, device: c_void_p) -> Memory:
        found = Memory()
        self._call("nvmlDeviceGetMemoryInfo", device, byref(found))
        return found

    def temperature(self, device: c_void_p) -> int:
        return self._number("nvmlDeviceGetTemperature", device, TEMPERATURE_GPU)

    def power(self, device: c_void_p) -> int:
        return self._number("nvmlDeviceGetPowerUsage", device)

    def clock(self, device: c_void_p) -> int:
        return self._number("nvmlDeviceGetClockInfo", device, CLOCK_SM)

    def processes(self, device: c_void_p) -> list[GpuProcess]:
        """Return the processes that compute on a device."""
        name, count = "nvmlDeviceGetComputeRunningProcesses_v3", c_uint()
        if self._code(name, device, byref(count), None) == SUCCESS:
            return []  # with processes, the call fails: the buffer is too small
        count.value += MORE_PROCESSES
        found = (ProcessInfo * count.value)()
        self._call(name, device, byref(count), found)
        return [
            GpuProcess(each.pid, None if each.nbytes == NOT_AVAILABLE else each.nbytes) for each in found[: count.value]
        ]

    def _number(self, name: str, *arguments: Any) -> int:
        found = c_uint()
        self._call(name, *arguments, byref(found))
        return found.value

    def _call(self, name: str, *arguments: Any) -> None:
        library.check_nvml(self._code(name, *arguments), name)

    def _code(self, name: str, *arguments: Any) -> int:
        function = getattr(self._library, name, None)
        if function is None:
            raise NotSupportedError("the installed NVML lacks it", hint="update NVIDIA's driver", operator=name)
        return int(function(*arguments))


def load() -> Nvml:
    """Return this process's NVML.  Raises NoDeviceError if there is none, AcceleratorError if it does not start."""
    return _of_process(os.getpid())


@cache
def _of_process(pid: int) -> Nvml:
    try:
        return Nvml(ctypes.CDLL(LIBRARY))
    except OSError as failure:
        raise NoDeviceError(f"NVML, which watches NVIDIA's devices, cannot be loaded: {failure}", hint=HINT) from None


def whole_devices() -> tuple[str, ...] | None:
    """Return the UUIDs of all devices; None if NVML is missing or a device is partitioned (only CUDA knows them)."""
    try:
        found = load()
        return None if found.has_divided else found.uuids
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
        return int(self._nvml.memory(self._handle(device)).used)

    def temperature(self, device: int) -> int:
        return self._nvml.temperature(self._handle(device))

    def power_draw(self, device: int) -> int:
        return self._nvml.power(self._handle(device))

    def clock_rate(self, device: int) -> int:
        return self._nvml.clock(self._handle(device))

    def processes(self, device: int) -> list[GpuProcess]:
        return self._nvml.processes(self._handle(device))

    def _handle(self, device: int) -> c_void_p:
        return self._nvml.device(self._uuid(device))

    def _uuid(self, device: int) -> str:
        if self._started is not None:
            return self._started.properties(device).uuid
        every = self._nvml.uuids
        visible = config.visible_devices(every)
        if device >= len(visible):
            raise DeviceIndexError(
                f"cuda:{device} is not visible: this process sees {len(visible)} of {len(every)} devices",
                hint="CUDA_VISIBLE_DEVICES selects them",
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
