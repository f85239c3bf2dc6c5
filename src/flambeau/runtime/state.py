"""The only ambient state: the process's machine, and each thread's current device and streams."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .machine import Machine
    from .stream import Stream


class _Thread(threading.local):
    """What one host thread has chosen.  A new thread starts at device 0 and on default streams."""

    machine: Any = None
    device: int = 0
    default_devices: list[Any]
    streams: dict[int, Stream]
    deterministic: bool = False

    def __init__(self) -> None:
        self.streams = {}
        self.default_devices = []


_thread = _Thread()
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


def _here() -> _Thread:
    if _thread.machine is not _machine:
        _thread.machine = _machine
        _thread.device = 0
        _thread.streams = {}
    return _thread


def current_device() -> int:
    """The index of this thread's current device."""
    return _here().device


def set_device(index: int) -> None:
    _here().device = index


def current_stream(index: int) -> Stream:
    """This thread's current stream on device `index` of a started machine."""
    found = _here().streams.get(index)
    return found if found is not None else machine().devices[index].default_stream


def set_stream(stream: Stream) -> None:
    """Make `stream` the current one of its device; the current device does not change."""
    _here().streams[stream.device_index] = stream


def streams() -> dict[int, Stream]:
    """This thread's chosen streams by device, as a copy; devices on their default stream are missing."""
    return dict(_here().streams)


def default_device() -> Any:
    """The device that factories use, or None for the CPU."""
    return _thread.default_devices[-1] if _thread.default_devices else None


def push_default_device(device: Any) -> None:
    _thread.default_devices.append(device)


def pop_default_device() -> None:
    _thread.default_devices.pop()


def set_default_device(device: Any) -> None:
    _thread.default_devices[:1] = [device] if device is not None else []
