"""The only ambient state: the process's machine, and each thread's current device and streams."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from threading import get_ident
from typing import TYPE_CHECKING, Any

from .. import trace

if TYPE_CHECKING:
    from .machine import Machine
    from .stream import Stream


class Thread:
    """What one host thread has chosen.  A new thread starts at device 0 and on default streams.

    streams: by device, those that were chosen and those that were asked for; None for others.
    chosen: whether it has made a device or a stream current itself.
    handing: the composite that hands its call over to another operator, "" if none does.
    task: the backward pass that runs, None outside of any.
    inference: whether tensors are made for inference only, without version counters.
    """

    __slots__ = (
        "chosen", "default_devices", "device", "grad_enabled", "handing", "ident", "inference", "machine", "streams",
        "task",
    )  # fmt: skip

    def __init__(self, ident: int) -> None:
        self.ident = ident
        self.machine: Any = None
        self.device = 0
        self.chosen = False
        self.streams: list[Any] = []
        self.default_devices: list[Any] = []
        self.grad_enabled = True
        self.inference = False
        self.task: Any = None
        self.handing = ""


class _Local(threading.local):
    def __init__(self) -> None:
        self.thread = Thread(get_ident())
        self.end = _End()


class _End:
    """Goes when its thread ends, whose number another may get."""

    def __del__(self) -> None:
        _forget_last()


_local = _Local()
_last = Thread(0)  # of the thread that asked last: finding it is much cheaper than asking _local
globals()["_ident"] = get_ident  # compiled, the name is that of a function in C: see the .pxd
_lock = threading.RLock()
_machine: Machine | None = None


def machine() -> Machine:
    """The process's machine, made at first use from the environment, and not started yet."""
    global _machine
    if _machine is None:
        with _lock:
            if _machine is None:
                from .machine import Machine

                _machine = Machine.from_environment()
    return _machine


def has_machine() -> bool:
    return _machine is not None


def swap_machine(new: Machine | None) -> Machine | None:
    """Make `new` the process's machine; the previous one.  Tensors of the previous one stay bound to it."""
    global _machine
    with _lock:
        previous, _machine = _machine, new
    return previous


def replace_after_fork(new: Machine) -> None:
    """In a forked child: as `swap_machine`, whatever the parent's other threads held."""
    global _lock, _machine
    _lock = threading.RLock()
    _machine = new


def _forget_last() -> None:
    global _last
    _last = Thread(0)


def here() -> Thread:
    """What this thread has chosen."""
    global _last
    thread = _last
    ident = _ident()  # type: ignore[name-defined]  # noqa: F821
    if thread.ident != ident:
        thread = _last = _local.thread
    if thread.machine is not _machine:
        thread.machine = _machine
        thread.device = 0
        thread.chosen = False
        thread.streams = []
    return thread


def _handing() -> str:
    return here().handing


def current_device() -> int:
    """The index of this thread's current device."""
    return here().device


def set_device(index: int) -> None:
    thread = here()
    thread.device = index
    thread.chosen = True


def choose(index: int, streams: Iterable[Stream], chosen: bool) -> None:
    """Make a device and streams current; devices that are missing are on their default stream."""
    thread = here()
    thread.device = index
    thread.streams = []
    for stream in streams:
        _put_stream(thread, stream)
    thread.chosen = chosen


def has_chosen() -> bool:
    """Whether this thread has made a device or a stream current itself."""
    return here().chosen


def current_stream(index: int) -> Stream:
    """This thread's current stream on device `index` of a started machine."""
    thread = here()
    streams = thread.streams
    found: Stream | None = streams[index] if index < len(streams) else None
    return _put_stream(thread, machine().devices[index].default_stream) if found is None else found


def _put_stream(thread: Thread, stream: Stream) -> Stream:
    streams, device = thread.streams, stream.device_index
    streams.extend([None] * (device + 1 - len(streams)))
    streams[device] = stream
    return stream


def set_stream(stream: Stream) -> None:
    """Make `stream` the current one of its device; the current device does not change."""
    thread = here()
    _put_stream(thread, stream)
    thread.chosen = True


def streams() -> dict[int, Stream]:
    """This thread's streams by device, as a copy; devices that it has not used are missing."""
    return {device: each for device, each in enumerate(here().streams) if each is not None}


def default_device() -> Any:
    """The device that factories use, or None for the CPU."""
    chosen = _local.thread.default_devices
    return chosen[-1] if chosen else None


def push_default_device(device: Any) -> None:
    _local.thread.default_devices.append(device)


def pop_default_device() -> None:
    _local.thread.default_devices.pop()


trace.handing = _handing
