"""What virtual GPUs are doing: what their model knows of it, and no more."""

from __future__ import annotations

import os

from ...config import Gpus
from ...errors import NotSupportedError
from ..api import GpuProcess
from .clock import preset
from .driver import VirtualDriver

HINT = "ask for it on an NVIDIA GPU: FLAMBEAU_GPUS=nvidia"


class VirtualMonitor:
    """An implementer of `driver.api.Monitor`.  Devices that have not started are idle and empty."""

    def __init__(self, choice: Gpus, started: VirtualDriver | None) -> None:
        self._preset = preset(choice.preset)
        self._started = started

    def utilization(self, device: int) -> int:
        return 0 if self._started is None else self._started.busy_percent(device)

    def memory_usage(self, device: int) -> int:
        return 0 if self._started is None else self._started.memory_busy_percent(device)

    def memory_used(self, device: int) -> int:
        return 0 if self._started is None else self._started.memory_used(device)

    def temperature(self, device: int) -> int:
        raise NotSupportedError(
            "virtual GPUs have none: their model is of work and time", hint=HINT, operator="temperature"
        )

    def power_draw(self, device: int) -> int:
        raise NotSupportedError(
            "virtual GPUs draw none: their model is of work and time", hint=HINT, operator="power_draw"
        )

    def clock_rate(self, device: int) -> int:
        return self._preset.clock_mhz

    def processes(self, device: int) -> list[GpuProcess]:
        """This one, if it has memory there: each process has virtual GPUs of its own."""
        used = self.memory_used(device)
        return [GpuProcess(os.getpid(), used)] if used else []
