"""What NVIDIA's devices are doing, asked of NVML."""

from __future__ import annotations

from ctypes import c_void_p

from ... import config
from ...errors import DeviceIndexError
from ..api import Driver, GpuProcess
from . import nvml


class NvidiaMonitor:
    """An implementer of `driver.api.Monitor`.

    started: the process's driver, whose devices are asked for their UUIDs; without one, CUDA_VISIBLE_DEVICES is read.
    Raises: NoDeviceError if there is no NVML.
    """

    def __init__(self, started: Driver | None) -> None:
        self._nvml = nvml.load()
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
                hint="CUDA_VISIBLE_DEVICES says which",
            )
        return every[visible[device]]
