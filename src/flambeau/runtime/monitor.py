"""Device monitoring: utilization, memory, temperature, power and clock, as in torch.cuda.

Nothing here starts CUDA.  On NVIDIA GPUs the answers are NVML's, of all processes; a virtual GPU answers what its model
knows.
"""

from __future__ import annotations

from typing import Any

from ..core import thread
from ..driver.api import Monitor
from ..errors import ArgumentError, DeviceIndexError, NoDeviceError
from . import device as devices

BYTES_PER_MB = 1 << 20


def utilization(device: Any = None) -> int:
    """Percent of the last sampling period, a second or less, in which kernels ran on a device."""
    monitor, index = _of(device)
    return monitor.utilization(index)


def memory_usage(device: Any = None) -> int:
    """Percent of the last sampling period, a second or less, in which a device's memory was read or written."""
    monitor, index = _of(device)
    return monitor.memory_usage(index)


def device_memory_used(device: Any = None) -> int:
    """Bytes in use on a device, by all processes; on a virtual GPU, by this one."""
    monitor, index = _of(device)
    return monitor.memory_used(index)


def temperature(device: Any = None) -> int:
    """Degrees Celsius of a device's core.  Raises NotSupportedError on a virtual GPU."""
    monitor, index = _of(device)
    return monitor.temperature(index)


def power_draw(device: Any = None) -> int:
    """Milliwatts that a device draws.  Raises NotSupportedError on a virtual GPU."""
    monitor, index = _of(device)
    return monitor.power_draw(index)


def clock_rate(device: Any = None) -> int:
    """Megahertz at which a device's multiprocessors run; on a virtual GPU, those of the GPU that it models."""
    monitor, index = _of(device)
    return monitor.clock_rate(index)


def list_gpu_processes(device: Any = None) -> str:
    """Text listing the processes on a device and their memory, or the reason why they are unknown."""
    try:
        monitor, index = _of(device)
    except NoDeviceError as missing:
        return str(missing)
    lines = [f"GPU:{index}"]
    for each in monitor.processes(index):
        used = "unknown" if each.nbytes is None else f"{each.nbytes / BYTES_PER_MB:.3f}"
        lines.append(f"process {each.pid:>10d} uses {used:>12} MB GPU memory")
    return "\n".join(lines if len(lines) > 1 else [*lines, "no processes are running"])


def _of(device: Any) -> tuple[Monitor, int]:
    """The monitor and the index of a device argument.  Raises NoDeviceError, ArgumentError or DeviceIndexError."""
    machine = thread.machine()
    monitor = machine.monitor()
    if isinstance(device, devices.DeviceGuard):
        device = device.index
    chosen = devices.CUDA if device is None else devices.as_device(devices.named_by(device))
    if chosen.type != "cuda":
        raise ArgumentError(f"Expected a cuda device, but got: {chosen}", hint="use 'cuda', 'cuda:0' or an index")
    index = thread.current_device() if chosen.index is None else chosen.index
    count = machine.device_count()
    if index >= count:
        raise DeviceIndexError(
            f"cuda:{index} is not visible: this process sees {count} devices", hint="CUDA_VISIBLE_DEVICES says which"
        )
    return monitor, index
