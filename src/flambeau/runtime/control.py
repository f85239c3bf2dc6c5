"""What a program asks of its devices as a whole: are there any, which is current, wait for all of it."""

from __future__ import annotations

import warnings
from typing import Any

from .. import callers, driver
from ..config import virtual_gpus
from ..core import thread
from ..errors import ArgumentTypeError, CudaError, DeviceIndexError, DeviceQueryError, ModeError
from ..hooks import hooks
from . import device as devices
from . import machine as machines
from .properties import Properties, properties_of
from .report import Report
from .stream import Stream, check_alive

STRAY_HINT = "choose the device before memory is pinned or anything is put on a GPU"


def virtual(
    count: int = 1, *, preset: str = "h200", memory: int | str = 0, races: str = "poison", schedule: str = "submission"
) -> None:
    """Use virtual GPUs in this process, from now on.

    memory: bytes of each, as a number or as "2GiB"; 0 for the preset's.  races: "poison", "error" or "real".
    Raises: ConfigError for a bad value, or once the machine has started.
    """
    machines.choose(virtual_gpus(count, preset=preset, memory=memory, races=races, schedule=schedule))


def is_available() -> bool:
    """Whether there is a GPU, real or virtual.  Never raises."""
    return device_count() > 0


def device_count() -> int:
    """How many CUDA devices there are; 0 if none.  Never raises, and starts no virtual GPU."""
    return thread.machine().device_count()


def init() -> None:
    """Start the machine now instead of at its first use.  Raises NoDeviceError if there is no GPU."""
    thread.machine().start()


def is_initialized() -> bool:
    """Whether the machine has started; False in a process that was forked from one where it had."""
    return thread.has_machine() and thread.machine().is_started


def ipc_collect() -> None:
    """Give back to other processes what was dropped here, and take back what they have given back.

    Both happen by themselves soon after; this is for when it must have happened.
    Host: waits for the work of this process that uses what was dropped.
    """
    exchange = thread.machine().exchange if thread.has_machine() else None
    if exchange is not None:
        exchange.collect()


def ipc_report() -> Report:
    """Who holds what: this process's tensors that others hold, theirs that it holds, and those on their way."""
    exchange = thread.machine().exchange if thread.has_machine() else None
    return Report([], [], []) if exchange is None else exchange.report()


def is_in_bad_fork() -> bool:
    """Whether this process was forked from one that had started CUDA, so that it cannot use it."""
    return thread.has_machine() and thread.machine().forked is not None


def current_device() -> int:
    """The index of this thread's current device."""
    return devices.cuda_index()


def set_device(device: Any) -> None:
    """Make a device current for this thread; nothing for a negative index.

    Raises: ModeError if the process has used another one, with TORCH_CUDA_CHECK_STRAY_CONTEXT=error.
    """
    if isinstance(device, int) and device < 0:
        return
    index = devices.cuda_index(device)
    if thread.machine().stray_contexts:
        _report_stray_contexts(index)
    thread.set_device(index)


def _report_stray_contexts(chosen: int) -> None:
    """Say which other devices this process uses.  Raises ModeError if that is what was asked for."""
    machine = thread.machine()
    stray = [index for index in range(len(machine.devices)) if index != chosen and machine.driver.has_context(index)]
    if not stray:
        return
    names = ", ".join(f"cuda:{index}" for index in stray)
    fact = f"cuda:{chosen} is chosen, and this process has used {names} already, which costs memory there"
    if machine.stray_contexts == "error":
        raise ModeError(fact, operator="set_device", hint=STRAY_HINT)
    file, line = callers.place()
    warnings.warn_explicit(f"{fact}; {STRAY_HINT}", UserWarning, file, line)


def synchronize(device: Any = None) -> None:
    """Wait until all work on a device, the current one if none is named, is done.  Host: waits."""
    index = devices.index_or_current(device)
    if hooks.on_wait is not None:
        hooks.on_wait(None, devices.cuda(index))
    thread.machine().driver.device_synchronize(index)


def current_stream(device: Any = None) -> Stream:
    """This thread's current stream on a device."""
    return thread.current_stream(devices.index_or_current(device))


def default_stream(device: Any = None) -> Stream:
    """The default stream of a device."""
    index = devices.cuda_index(device)
    return thread.machine().devices[index].default_stream


def set_stream(stream: Stream | None) -> None:
    """Make a stream, and its device, current for this thread; nothing for None."""
    if stream is not None:
        if not isinstance(stream, Stream):
            raise ArgumentTypeError(
                f"expected a Stream or None, got {stream!r}", hint="pass a torch.cuda.Stream", operator="set_stream"
            )
        check_alive(stream, thread.machine(), "set_stream")
        thread.enter(stream)


def get_device_properties(device: Any = None) -> Properties:
    """What a device is.  Raises DeviceQueryError if there is no such device."""
    index = _known(device)
    return properties_of(thread.machine().devices[index].properties)


def get_device_name(device: Any = None) -> str:
    """The name that a device's maker gave it, such as "NVIDIA H200"."""
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """(major, minor) compute capability."""
    found = get_device_properties(device)
    return found.major, found.minor


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether a device can reach another one's memory directly.  Raises DeviceQueryError for an unknown device."""
    one, other = _known(device), _known(peer_device)
    if one == other:
        raise DeviceIndexError(
            f"cuda:{one} is not its own peer", hint="name two devices", operator="can_device_access_peer"
        )
    return thread.machine().driver.peer_can(one, other)


def current_blas_handle() -> int:
    """The cublasHandle_t of this thread on the current device, as a number; its work goes to the current stream.

    On a virtual GPU it is a number that no library takes.  Host: returns at once.
    Raises: NotSupportedError if cuBLAS is not installed.
    """
    stream = thread.current_stream(devices.cuda_index())
    return stream.driver.blas_handle(stream.handle)


def get_arch_list() -> list[str]:
    """The architectures that kernels can be had for, such as "sm_90": shipped, or compiled when needed.

    Empty without a GPU.  Starts nothing.
    """
    return driver.architectures(thread.machine().choice)


def get_gencode_flags() -> str:
    """The flags by which nvcc compiles for the architectures of `get_arch_list`."""
    numbers = [each.removeprefix("sm_") for each in get_arch_list()]
    return " ".join(f"-gencode compute=compute_{number},code=sm_{number}" for number in numbers)


def check_error(res: int) -> None:
    """Raise CudaError unless a code of CUDA's runtime is 0, which is success."""
    if res != 0:
        raise CudaError(res)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the current device computes in bfloat16; emulation always can.  False without a GPU."""
    return is_available() and (including_emulation or get_device_capability()[0] >= 8)


def is_tf32_supported() -> bool:
    """Whether the current device multiplies float32 matrices with inputs of 10 bits of mantissa, if allowed to."""
    return is_available() and get_device_capability()[0] >= 8


def _known(device: Any) -> int:
    try:
        return devices.cuda_index(device)
    except DeviceIndexError as error:
        raise DeviceQueryError(f"Invalid device id: {error.fact}", hint=error.hint) from None
