"""Device management as in torch.cuda: availability, the current device and stream, properties, waits, monitoring.

Monitoring does not start CUDA.  On NVIDIA GPUs its values come from NVML and cover all processes.  On a virtual GPU
they are modelled and cover this process.
"""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import callers, driver
from ..config import virtual_gpus
from ..core import thread
from ..core.queue import hooks
from ..driver.api import DeviceProperties, Monitor
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    CudaError,
    DeviceIndexError,
    DeviceQueryError,
    ModeError,
    NoDeviceError,
    NotSupportedError,
    shown,
)
from . import device as devices
from . import machine as machines
from .stream import Stream, adopted, check_alive, enter

if TYPE_CHECKING:
    from .ipc import Report


# The same on every GPU since compute capability 3.0.
THREADS_PER_BLOCK = 1024
SHARED_MEMORY_PER_BLOCK = 48 << 10  # bytes, without opting in to more


@dataclass(frozen=True)
class Uuid:
    """The UUID of a device: 16 bytes.  Its text has 36 characters."""

    bytes: bytes

    def __str__(self) -> str:
        digits = self.bytes.hex()
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


@dataclass(frozen=True)
class Properties:
    """Properties of one device.  Sizes in bytes."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    max_threads_per_multi_processor: int
    warp_size: int
    L2_cache_size: int
    uuid: Uuid
    max_threads_per_block: int = THREADS_PER_BLOCK
    shared_memory_per_block: int = SHARED_MEMORY_PER_BLOCK


def properties_of(reported: DeviceProperties) -> Properties:
    """Convert the driver's device properties to PyTorch's names."""
    known = reported._asdict()
    kept: dict[str, Any] = {name: value for name, value in known.items() if name in Properties.__annotations__}
    kept["uuid"] = Uuid(bytes.fromhex(reported.uuid.removeprefix("GPU-").replace("-", "")))
    return Properties(**kept, L2_cache_size=reported.l2_cache_size)


STRAY_HINT = "choose the device before memory is pinned or a GPU is used"


class Virtual:
    """Use `count` virtual GPUs in this process.  A repeated call with equal arguments changes nothing.

    preset: the modelled card: "h200", "h100", "a100-40", "a100-80", "l4", "t4", "rtx3090" or "rtx4090";
        or the path of a file that describes one (docs/concepts/cards.md), which ends in ".toml".
    memory: bytes of each GPU, as a number or a text such as "2GiB"; 0 for the preset's size.
    races: the effect of a race between streams: "poison" fills the shared bytes with 0xFF (NaN in floats), "error"
    raises, and "real" does as hardware does.  None is "real" with a schedule `replay:...`, else "poison".
    schedule: the order of the work of several ready streams: "submission", "seeded:N", "delay:N" or "replay:N,N,..."
    (docs/concepts/virtual-gpu.md).
    values: False computes no values, for programs that are larger than this machine: memory and time are still
    modelled, every value that the host reads is 1, and an operator whose result's shape depends on values raises
    NotSupportedError.  `flambeau fit` uses it.
    Raises: ConfigError for a bad value, or if other GPUs are in use already.
    Example:
        >>> torch.virtual(2, memory="16GiB")
        >>> torch.cuda.device_count(), torch.cuda.get_device_properties(0).total_memory == 16 * 2**30
        (2, True)
    """

    __name__ = "virtual"  # callers use the instance as a function

    def __call__(
        self,
        count: int = 1,
        *,
        preset: str = "h200",
        memory: int | str = 0,
        races: str | None = None,
        schedule: str = "submission",
        values: bool = True,
    ) -> None:
        choice = virtual_gpus(count, preset=preset, memory=memory, races=races, schedule=schedule, values=values)
        machines.choose(choice)

    def reset(self) -> None:
        """Replace the virtual GPUs by new ones of the same kind and number, for example after a device assert.

        These survive: CPU tensors, pinned ones included, with their values; the CPU's generator; settings of the
        process, such as the gradient mode, the default dtype and device, and the choice of `torch.virtual`.
        These do not: device memory, streams, events, graphs and the generators of devices, which start anew, as do
        statistics, allocator settings and peer access.  Each thread is on device 0 and on default streams.  Tensors and
        streams of the former GPUs can be freed; any other use of them raises an error.
        Host:   waits for the work of devices that have not failed.
        Raises: NotSupportedError on NVIDIA GPUs, where a process that lost its device has to be restarted.
        Example:
            >>> with torch.virtual.faults(device_assert=1):
            ...     x = torch.ones(2, device="cuda")
            >>> torch.virtual.reset()
            >>> torch.ones(2, device="cuda").tolist()
            [1.0, 1.0]
        """
        former = thread.machine()
        if former.choice.kind != "virtual":
            raise NotSupportedError(
                f"the machine is {former.choice.kind!r}, not virtual",
                hint="start the process again; FLAMBEAU_GPUS=virtual:2 chooses virtual GPUs",
                operator="virtual.reset",
            )
        if former.forked is not None:
            raise former.forked.error()
        if former.is_started:
            former.driver.drain()
        new = type(former)(former.asked, former.schedule)
        new.cpu_generator = former.cpu_generator
        thread.swap_machine(new)

    def faults(self, **wanted: Any) -> AbstractContextManager[None]:
        """Make calls on virtual GPUs fail inside the block: `flambeau.testing.faults`, which lists the arguments.

        Example:
            >>> with torch.virtual.faults(oom=1):
            ...     torch.ones(4, device="cuda")
            Traceback (most recent call last):
            ...
            flambeau.errors.OutOfMemoryError: allocate: the allocation of 16 bytes on virtual device 0 was made to fail
            hint: flambeau.testing.faults or --fault requested it
        """
        from .faults import faults  # imported late, so that importing flambeau stays fast

        return faults(**wanted)


virtual = Virtual()


def is_available() -> bool:
    """Return whether there is a GPU, real or virtual.  Never raises.

    Example:
        >>> torch.cuda.is_available()
        True
    """
    return device_count() > 0


def device_count() -> int:
    """Return the number of CUDA devices, 0 if there are none.  Never raises, and starts no virtual GPU.

    Example:
        >>> torch.cuda.device_count()
        2
    """
    return thread.machine().device_count()


def init() -> None:
    """Initialize CUDA now instead of at its first use.

    Raises: NoDeviceError if there is no GPU.
    Example:
        >>> torch.cuda.init()
        >>> torch.cuda.is_initialized()
        True
    """
    thread.machine().start()


def is_initialized() -> bool:
    """Return whether CUDA has been initialized; False in a child process that was forked afterwards.

    Example:
        >>> x = torch.ones(1, device="cuda")
        >>> torch.cuda.is_initialized()
        True
    """
    return thread.has_machine() and thread.machine().is_started


def ipc_collect() -> None:
    """Release unused imports of other processes' memory, and reclaim exports that other processes have released.

    The library does both in the background; this call waits until both are done.
    Host: waits for the work of this process that uses the released imports.
    Example:
        >>> torch.cuda.ipc_collect()
    """
    exchange = thread.machine().exchange if thread.has_machine() else None
    if exchange is not None:
        exchange.collect()


def ipc_report() -> Report:
    """Report memory shared with other processes: exported, imported and in flight.

    The result lists this process's storages that other processes hold (`lent`), storages of other processes that this
    process holds (`borrowed`), and tensors that were sent and not yet received (`in_flight`).
    Example:
        >>> torch.cuda.ipc_report()
        Report(lent=[], borrowed=[], in_flight=[])
    """
    from .ipc import Report  # imported late: it loads sockets, which few programs need

    exchange = thread.machine().exchange if thread.has_machine() else None
    return Report([], [], []) if exchange is None else exchange.report()


def is_in_bad_fork() -> bool:
    """Return whether this process cannot use CUDA because its parent had started CUDA before the fork."""
    return thread.has_machine() and thread.machine().forked is not None


def current_device() -> int:
    """Return the index of this thread's current device.

    Raises: NoDeviceError if there is no GPU.
    Example:
        >>> with torch.cuda.device(1):
        ...     torch.cuda.current_device()
        1
        >>> torch.cuda.current_device()
        0
    """
    devices.unmirror(devices.ASKED)
    return devices.cuda_index()


def set_device(device: Any) -> None:
    """Make a device current for this thread.  A negative index changes nothing.

    device: an index, a device, or an object on one, such as a tensor; None keeps the current device.
    Raises: DeviceIndexError if there is no such device, ArgumentError if it is not a CUDA device, DeviceNameError for a
            text that names no device, ArgumentTypeError for any other value; ModeError if the process has used another
            device and TORCH_CUDA_CHECK_STRAY_CONTEXT=error is set.
    Example:
        >>> torch.cuda.set_device(1)
        >>> torch.ones(1, device="cuda").device
        device(type='cuda', index=1)
        >>> torch.cuda.set_device(0)
    """
    if isinstance(device, int) and device < 0:
        return
    index = devices.cuda_index(device)
    if thread.machine().stray_contexts:
        _report_stray_contexts(index)
    thread.set_device(index)


def _report_stray_contexts(chosen: int) -> None:
    """Warn about contexts on other devices, or raise ModeError if TORCH_CUDA_CHECK_STRAY_CONTEXT=error is set."""
    machine = thread.machine()
    stray = [index for index in range(len(machine.devices)) if index != chosen and machine.driver.has_context(index)]
    if not stray:
        return
    names = ", ".join(f"cuda:{index}" for index in stray)
    fact = f"cuda:{chosen} is chosen, but this process has already used {names}, which takes memory there"
    if machine.stray_contexts == "error":
        raise ModeError(fact, operator="set_device", hint=STRAY_HINT)
    file, line = callers.place()
    warnings.warn_explicit(f"{fact}; {STRAY_HINT}", UserWarning, file, line)


def synchronize(device: Any = None) -> None:
    """Wait until all work on a device is done.

    device: an index or a device; None or a negative index is the current device.
    Host:   waits.
    Raises: DeviceIndexError if there is no such device, ArgumentError if it is not a CUDA device; AcceleratorError if
            work on the device failed, or during a capture.
    Example:
        >>> x = torch.ones(1000, device="cuda") * 2
        >>> torch.cuda.current_stream().query()
        False
        >>> torch.cuda.synchronize()
        >>> torch.cuda.current_stream().query()
        True
    """
    index = devices.index_or_current(device)
    if hooks.on_wait is not None:
        hooks.on_wait(None, devices.cuda(index))
    devices.unmirror("the host waited for the device")
    thread.machine().driver.device_synchronize(index)


def current_stream(device: Any = None) -> Stream:
    """Return this thread's current stream on a device.

    device: an index or a device; None or a negative index is the current device.
    Raises: DeviceIndexError if there is no such device, ArgumentError if it is not a CUDA device.
    Example:
        >>> side = torch.cuda.Stream()
        >>> with torch.cuda.stream(side):
        ...     torch.cuda.current_stream() == side
        True
    """
    devices.unmirror("the program asked for a stream")
    return thread.current_stream(devices.index_or_current(device))


def default_stream(device: Any = None) -> Stream:
    """Return the default stream of a device.

    device: an index or a device; None is the current device.
    Raises: DeviceIndexError if there is no such device, ArgumentError if it is not a CUDA device.
    Example:
        >>> torch.cuda.default_stream() == torch.cuda.current_stream()
        True
    """
    index = devices.cuda_index(device)
    return thread.machine().devices[index].default_stream


def set_stream(stream: Stream | None) -> None:
    """Make a stream and its device current for this thread.  None changes nothing.

    Raises: ArgumentTypeError if it is neither a stream nor None, AcceleratorError if its device no longer
            exists, as after `torch.virtual.reset()`.
    Example:
        >>> side = torch.cuda.Stream()
        >>> torch.cuda.set_stream(side)
        >>> torch.cuda.current_stream() == side
        True
        >>> torch.cuda.set_stream(torch.cuda.default_stream())
    """
    if stream is not None:
        stream = adopted(stream)
        if not isinstance(stream, Stream):
            raise ArgumentTypeError(
                f"expected a Stream or None, got {stream!r}", hint="pass a torch.cuda.Stream", operator="set_stream"
            )
        check_alive(stream, thread.machine(), "set_stream")
        enter(stream)


def get_device_properties(device: Any = None) -> Properties:
    """Return the properties of a device: its name, compute capability, memory in bytes, and so on.

    device: an index or a device; None is the current device.
    Raises: DeviceQueryError if there is no such device, ArgumentError if it is not a CUDA device.
    Example:
        >>> properties = torch.cuda.get_device_properties(0)
        >>> properties.name, properties.multi_processor_count
        ('Virtual H200', 132)
    """
    index = _known(device)
    return properties_of(thread.machine().devices[index].properties)


def get_device_name(device: Any = None) -> str:
    """Return the product name of a device, such as "NVIDIA H200".

    device: an index or a device; None is the current device.
    Raises: DeviceQueryError if there is no such device, ArgumentError if it is not a CUDA device.
    Example:
        >>> torch.cuda.get_device_name(0)
        'Virtual H200'
    """
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Return the compute capability of a device: (major, minor).

    device: an index or a device; None is the current device.
    Raises: DeviceQueryError if there is no such device, ArgumentError if it is not a CUDA device.
    Example:
        >>> torch.cuda.get_device_capability()
        (9, 0)
    """
    properties = get_device_properties(device)
    return properties.major, properties.minor


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Return whether a device can access another device's memory directly, without a copy through the host.

    device, peer_device: indexes or devices.
    Raises: DeviceQueryError if there is no such device, ArgumentError if it is not a CUDA device, DeviceIndexError if
            both are the same device.
    Example:
        >>> torch.cuda.can_device_access_peer(0, 1)
        True
    """
    one, other = _known(device), _known(peer_device)
    if one == other:
        raise DeviceIndexError(
            f"cuda:{one} is not a peer of itself", hint="pass two different devices", operator="can_device_access_peer"
        )
    return thread.machine().driver.peer_can(one, other)


def current_blas_handle() -> int:
    """Return this thread's cublasHandle_t on the current device, as a number.  Its work goes to the current stream.

    On a virtual GPU it is a number that no library accepts.  Host: returns at once.
    Raises: NotSupportedError if cuBLAS is not installed.
    Example:
        >>> torch.cuda.current_blas_handle() == torch.cuda.current_blas_handle()
        True
    """
    stream = thread.current_stream(devices.cuda_index())
    stream.driver.expose()
    return stream.driver.blas_handle(stream.handle)


def get_arch_list() -> list[str]:
    """Return the architectures that kernels are available for, prebuilt or compiled on demand, such as "sm_90".

    The list is empty without a GPU.  This call does not start CUDA.
    Example:
        >>> "sm_90" in torch.cuda.get_arch_list()
        True
    """
    return driver.architectures(thread.machine().choice)


def get_gencode_flags() -> str:
    """Return the nvcc flags that compile for the architectures of `get_arch_list`.

    Example:
        >>> "-gencode compute=compute_90,code=sm_90" in torch.cuda.get_gencode_flags()
        True
    """
    numbers = [arch.removeprefix("sm_") for arch in get_arch_list()]
    return " ".join(f"-gencode compute=compute_{number},code=sm_{number}" for number in numbers)


def check_error(res: int) -> None:
    """Raise CudaError unless an error code of the CUDA runtime is 0 (success).

    res: a cudaError_t, such as a member of `torch.cuda.cudaStatus`.
    Raises: CudaError with the code and CUDA's text for it; ArgumentTypeError for a value that is not an int.
    Example:
        >>> torch.cuda.check_error(torch.cuda.cudaStatus.SUCCESS)
    """
    if isinstance(res, bool) or not isinstance(res, int):
        raise ArgumentTypeError(
            f"the error code must be an int, got {shown(res)}",
            hint="pass the error code that a runtime call returned",
            operator="check_error",
        )
    if res != 0:
        raise CudaError(res)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return whether the current device supports bfloat16; False without a GPU.

    including_emulation: count emulation, which every GPU supports; if False, the hardware must support bfloat16.
    Example:
        >>> torch.cuda.is_bf16_supported()
        True
    """
    return is_available() and (including_emulation or get_device_capability()[0] >= 8)


def is_tf32_supported() -> bool:
    """Return whether the current device supports TF32: float32 matrix products with inputs rounded to 10 mantissa bits.

    Example:
        >>> torch.cuda.is_tf32_supported()
        True
    """
    return is_available() and get_device_capability()[0] >= 8


def _known(device: Any) -> int:
    """Return the index of a device.  Raises DeviceQueryError if there is no such device."""
    try:
        return devices.cuda_index(device)
    except DeviceIndexError as error:
        raise DeviceQueryError(f"Invalid device id: {error.fact}", hint=error.hint) from None


BYTES_PER_MB = 1 << 20


def utilization(device: Any = None) -> int:
    """Return the share of the last sampling period (a second or less) in which kernels ran on a device, in percent.

    device: an index or a device; None is the current device.
    Raises: NoDeviceError if there is no GPU, DeviceIndexError if there is no such device, ArgumentError if it is not a
            CUDA device.
    Example:
        >>> 0 <= torch.cuda.utilization() <= 100
        True
    """
    monitor, index = _monitor_of(device)
    return monitor.utilization(index)


def memory_usage(device: Any = None) -> int:
    """Return the share of the last sampling period (a second or less) in which memory was accessed, in percent.

    device: an index or a device; None is the current device.
    Raises: NoDeviceError if there is no GPU, DeviceIndexError if there is no such device, ArgumentError if it is not a
            CUDA device.
    Example:
        >>> 0 <= torch.cuda.memory_usage() <= 100
        True
    """
    monitor, index = _monitor_of(device)
    return monitor.memory_usage(index)


def device_memory_used(device: Any = None) -> int:
    """Return the bytes in use on a device, by all processes; on a virtual GPU, by this process.

    device: an index or a device; None is the current device.
    Raises: NoDeviceError if there is no GPU, DeviceIndexError if there is no such device, ArgumentError if it is not a
            CUDA device.
    Example:
        >>> x = torch.ones(1000, device="cuda")
        >>> torch.cuda.device_memory_used() >= torch.cuda.memory_reserved()
        True
    """
    monitor, index = _monitor_of(device)
    return monitor.memory_used(index)


def temperature(device: Any = None) -> int:
    """Return the temperature of a device's core, in degrees Celsius.

    device: an index or a device; None is the current device.
    Raises: NotSupportedError on a virtual GPU, NoDeviceError if there is no GPU, DeviceIndexError if there is no such
            device, ArgumentError if it is not a CUDA device.
    Example:
        >>> torch.cuda.temperature()
        Traceback (most recent call last):
            ...
        flambeau.errors.NotSupportedError: temperature: virtual GPUs have no temperature: they model work and time only
        hint: ask for it on an NVIDIA GPU: FLAMBEAU_GPUS=nvidia
    """
    monitor, index = _monitor_of(device)
    return monitor.temperature(index)


def power_draw(device: Any = None) -> int:
    """Return the power that a device draws, in milliwatts.

    device: an index or a device; None is the current device.
    Raises: NotSupportedError on a virtual GPU, NoDeviceError if there is no GPU, DeviceIndexError if there is no such
            device, ArgumentError if it is not a CUDA device.
    Example:
        >>> torch.cuda.power_draw()
        Traceback (most recent call last):
            ...
        flambeau.errors.NotSupportedError: power_draw: virtual GPUs draw no power: they model work and time only
        hint: ask for it on an NVIDIA GPU: FLAMBEAU_GPUS=nvidia
    """
    monitor, index = _monitor_of(device)
    return monitor.power_draw(index)


def clock_rate(device: Any = None) -> int:
    """Return the clock rate of a device's multiprocessors, in MHz; on a virtual GPU, that of the GPU that it models.

    device: an index or a device; None is the current device.
    Raises: NoDeviceError if there is no GPU, DeviceIndexError if there is no such device, ArgumentError if it is not a
            CUDA device.
    Example:
        >>> torch.cuda.clock_rate()
        1980
    """
    monitor, index = _monitor_of(device)
    return monitor.clock_rate(index)


def list_gpu_processes(device: Any = None) -> str:
    """Return a text that lists the processes on a device and their memory in MB, or says why they are unknown.

    device: an index or a device; None is the current device.
    Raises: DeviceIndexError if there is no such device, ArgumentError if it is not a CUDA device.
    Example:
        >>> print(torch.cuda.list_gpu_processes())
        GPU:0
        no processes are running
    """
    try:
        monitor, index = _monitor_of(device)
    except NoDeviceError as missing:
        return str(missing)
    lines = [f"GPU:{index}"]
    for process in monitor.processes(index):
        used = "unknown" if process.nbytes is None else f"{process.nbytes / BYTES_PER_MB:.3f}"
        lines.append(f"process {process.pid:>10d} uses {used:>12} MB GPU memory")
    return "\n".join(lines if len(lines) > 1 else [*lines, "no processes are running"])


def _monitor_of(device: Any) -> tuple[Monitor, int]:
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
            hint="use a lower index; CUDA_VISIBLE_DEVICES selects the visible devices",
        )
    return monitor, index
