"""Device monitoring: utilization, memory, temperature, power and clock, as in torch.cuda.

Nothing here starts CUDA.  On NVIDIA GPUs the values come from NVML and cover all processes.  On a virtual GPU they are
modelled and cover this process.
"""

from __future__ import annotations

from typing import Any

from ..core import thread
from ..driver.api import Monitor
from ..errors import ArgumentError, DeviceIndexError, NoDeviceError
from . import device as devices

BYTES_PER_MB = 1 << 20


def utilization(device: Any = None) -> int:
    """Return the share of the last sampling period (a second or less) in which kernels ran on a device, in percent.

    Example:
        >>> 0 <= torch.cuda.utilization() <= 100
        True
    """
    monitor, index = _of(device)
    return monitor.utilization(index)


def memory_usage(device: Any = None) -> int:
    """Return the share of the last sampling period (a second or less) in which memory was accessed, in percent.

    Example:
        >>> 0 <= torch.cuda.memory_usage() <= 100
        True
    """
    monitor, index = _of(device)
    return monitor.memory_usage(index)


def device_memory_used(device: Any = None) -> int:
    """Return the bytes in use on a device, by all processes; on a virtual GPU, by this process.

    Example:
        >>> x = torch.ones(1000, device="cuda")
        >>> torch.cuda.device_memory_used() >= torch.cuda.memory_reserved()
        True
    """
    monitor, index = _of(device)
    return monitor.memory_used(index)


def temperature(device: Any = None) -> int:
    """Return the temperature of a device's core, in degrees Celsius.

    Raises: NotSupportedError on a virtual GPU.
    Example:
        >>> torch.cuda.temperature()
        Traceback (most recent call last):
            ...
        flambeau.errors.NotSupportedError: temperature: virtual GPUs have no temperature: they model work and time only
        hint: ask for it on an NVIDIA GPU: FLAMBEAU_GPUS=nvidia
    """
    monitor, index = _of(device)
    return monitor.temperature(index)


def power_draw(device: Any = None) -> int:
    """Return the power that a device draws, in milliwatts.

    Raises: NotSupportedError on a virtual GPU.
    Example:
        >>> torch.cuda.power_draw()
        Traceback (most recent call last):
            ...
        flambeau.errors.NotSupportedError: power_draw: virtual GPUs draw no power: they model work and time only
        hint: ask for it on an NVIDIA GPU: FLAMBEAU_GPUS=nvidia
    """
    monitor, index = _of(device)
    return monitor.power_draw(index)


def clock_rate(device: Any = None) -> int:
    """Return the clock rate of a device's multiprocessors, in MHz; on a virtual GPU, that of the GPU that it models.

    Example:
        >>> torch.cuda.clock_rate()
        1980
    """
    monitor, index = _of(device)
    return monitor.clock_rate(index)


def list_gpu_processes(device: Any = None) -> str:
    """Text listing the processes on a device and their memory, or the reason why they are unknown.

    Example:
        >>> print(torch.cuda.list_gpu_processes())
        GPU:0
        no processes are running
    """
    try:
        monitor, index = _of(device)
    except NoDeviceError as missing:
        return str(missing)
    lines = [f"GPU:{index}"]
    for process in monitor.processes(index):
        used = "unknown" if process.nbytes is None else f"{process.nbytes / BYTES_PER_MB:.3f}"
        lines.append(f"process {process.pid:>10d} uses {used:>12} MB GPU memory")
    return "\n".join(lines if len(lines) > 1 else [*lines, "no processes are running"])


def _of(device: Any) -> tuple[Monitor, int]:
    """Return the monitor and the index of a device.  Raises NoDeviceError, ArgumentError or DeviceIndexError."""
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
            f"cuda:{index} is not visible: this process sees {count} devices",
            hint="CUDA_VISIBLE_DEVICES selects the visible devices",
        )
    return monitor, index
