"""The only ambient state: the process's machine, and each thread's current device and streams."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .machine import Machine
    from .stream import Stream


class Thread:
    """What one host thread has chosen.  A new thread starts at device 0 and on default streams.

    chosen: whether it has made a device or a stream current itself.
    """

    __slots__ = ("chosen", "default_devices", "device", "machine", "streams")

    def __init__(self) -> None:
        self.machine: Any = None
        self.device = 0
        self.chosen = False
        self.streams: dict[int, Any] = {}
        self.default_devices: list[Any] = []


class _Local(threading.local):
    def __init__(self) -> None:
        self.thread = Thread()


_local = _Local()
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


def _here() -> Thread:
    here = _local.thread
    if here.machine is not _machine:
        here.machine = _machine
        here.device = 0
        here.chosen = False
        here.streams = {}
    return here


def current_device() -> int:
    """The index of this thread's current device."""
    return _here().device


def set_device(index: int) -> None:
    here = _here()
    here.device = index
    here.chosen = True


def choose(index: int, streams: dict[int, Stream], chosen: bool) -> None:
    """Make a device and streams current; devices that are missing are on their default stream."""
    here = _here()
    here.device = index
    here.streams = streams
    here.chosen = chosen


def has_chosen() -> bool:
    """Whether this thread has made a device or a stream current itself."""
    return _here().chosen


def current_stream(index: int) -> Stream:
    """This thread's current stream on device `index` of a started machine."""
    found = _here().streams.get(index)
    return found if found is not None else machine().devices[index].default_stream


def set_stream(stream: Stream) -> None:
    """Make `stream` the current one of its device; the current device does not change."""
    here = _here()
    here.streams[stream.device_index] = stream
    here.chosen = True


def streams() -> dict[int, Stream]:
    """This thread's chosen streams by device, as a copy; devices on their default stream are missing."""
    return dict(_here().streams)


def default_device() -> Any:
    """The device that factories use, or None for the CPU."""
    chosen = _local.thread.default_devices
    return chosen[-1] if chosen else None


def push_default_device(device: Any) -> None:
    _local.thread.default_devices.append(device)


def pop_default_device() -> None:
    _local.thread.default_devices.pop()
