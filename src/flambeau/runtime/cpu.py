"""Functions of torch.cuda for the CPU, for programs that take the module of a device's type.

The CPU is one device, whose calls are complete when they return: streams and events order nothing, and nothing waits.
"""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ..errors import ArgumentTypeError, shown


def is_available() -> bool:
    """Return True: there is a CPU.

    Example:
        >>> torch.cpu.is_available()
        True
    """
    return True


def is_initialized() -> bool:
    """Return True: the CPU needs no start.

    Example:
        >>> torch.cpu.is_initialized()
        True
    """
    return True


def device_count() -> int:
    """Return 1: all processors are one device.

    Example:
        >>> torch.cpu.device_count()
        1
    """
    return 1


def current_device() -> str:
    """Return "cpu".

    Example:
        >>> torch.cpu.current_device()
        'cpu'
    """
    return "cpu"


def set_device(device: Any) -> None:
    """Do nothing: there is one CPU.

    Example:
        >>> torch.cpu.set_device("cpu")
    """


def synchronize(device: Any = None) -> None:
    """Return at once: calls on the CPU are complete when they return.

    Example:
        >>> torch.cpu.synchronize()
    """


class Event:
    """An event of the CPU, which is always complete.

    Example:
        >>> event = torch.cpu.Event()
        >>> event.record()
        >>> event.query()
        True
    """

    def query(self) -> bool:
        """Return True: the event is complete.

        Example:
            >>> torch.cpu.Event().query()
            True
        """
        return True

    def record(self, stream: Any = None) -> None:
        """Do nothing: all earlier calls are complete.

        Example:
            >>> torch.cpu.Event().record()
        """

    def synchronize(self) -> None:
        """Return at once: the event is complete.

        Example:
            >>> torch.cpu.Event().synchronize()
        """

    def wait(self, stream: Any = None) -> None:
        """Do nothing: the event is complete.

        Example:
            >>> torch.cpu.Event().wait()
        """


class Stream:
    """A stream of the CPU.  Work is complete when a call returns, so CPU streams order nothing.

    priority: has no effect.
    Example:
        >>> stream = torch.cpu.Stream()
        >>> with torch.cpu.stream(stream):
        ...     torch.cpu.current_stream() is stream
        True
    """

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        """Do nothing: the work of the other stream is complete.

        Example:
            >>> torch.cpu.Stream().wait_stream(torch.cpu.current_stream())
        """

    def wait_event(self, event: Any) -> None:
        """Do nothing: events are complete.

        Example:
            >>> torch.cpu.Stream().wait_event(torch.cpu.Event())
        """

    def record_event(self) -> None:
        """Do nothing: events are complete.

        Example:
            >>> torch.cpu.Stream().record_event()
        """


_DEFAULT = Stream()


class _State(threading.local):
    """A thread's current stream."""

    stream = _DEFAULT


_state = _State()


def current_stream(device: Any = None) -> Stream:
    """Return the stream that a `torch.cpu.stream` block has set in this thread, or the default one.

    Example:
        >>> torch.cpu.current_stream() is torch.cpu.current_stream()
        True
    """
    return _state.stream


class StreamContext:
    """Context manager that makes a stream of the CPU the current one.  None changes nothing.

    Raises: ArgumentTypeError for an object that is no stream.
    Example:
        >>> with torch.cpu.StreamContext(None):
        ...     x = torch.ones(2)
    """

    def __init__(self, stream: Any) -> None:
        if stream is not None and not isinstance(stream, Stream):
            raise ArgumentTypeError(
                f"expects a torch.cpu.Stream or None, got {shown(stream)}",
                hint="torch.cuda.stream takes the streams of GPUs",
                operator="stream",
            )
        self.stream = stream
        self._before: list[Stream] = []

    def __enter__(self) -> None:
        self._before.append(_state.stream)
        if self.stream is not None:
            _state.stream = self.stream

    def __exit__(self, error_type: object, error: object, traceback: object) -> None:
        _state.stream = self._before.pop()


def stream(stream: Any) -> StreamContext:
    """Return a context manager that makes a stream of the CPU the current one; None changes nothing.

    Raises: ArgumentTypeError for an object that is no stream.
    Example:
        >>> with torch.cpu.stream(torch.cpu.Stream()):
        ...     x = torch.ones(2)
    """
    return StreamContext(stream)


# features of an x86 processor, and Linux's names for those that it calls otherwise
_FEATURES = """
aes amx_bf16 amx_fp16 amx_int8 amx_tile avx avx10_1 avx10_2 avx2 avx512_4fmaps avx512_4vnniw avx512_bf16 avx512_bitalg
avx512_bw avx512_cd avx512_dq avx512_f avx512_fp16 avx512_ifma avx512_vbmi avx512_vbmi2 avx512_vl avx512_vnni
avx512_vp2intersect avx512_vpopcntdq avx_ne_convert avx_vnni avx_vnni_int16 avx_vnni_int8 bmi bmi2 clflush clflushopt
clwb f16c fma3 fma4 lzcnt popcnt sha sse sse2 sse3 sse4_1 sse4_2 sse4a ssse3
"""
_LINUX_NAMES = {"bmi": "bmi1", "fma3": "fma", "lzcnt": "abm", "sha": "sha_ni", "sse3": "pni"} | {
    f"avx512_{part}": f"avx512{part}" for part in ("bw", "cd", "dq", "f", "ifma", "vbmi", "vl")
}
_CPU_INFO = "/proc/cpuinfo"


def get_capabilities() -> Mapping[str, Any]:
    """Return a dictionary: the processor's name, architecture and number of cores; on x86 also a bool per feature.

    Example:
        >>> capabilities = torch.cpu.get_capabilities()
        >>> isinstance(capabilities["architecture"], str), capabilities["num_logical_cores"] > 0
        (True, True)
    """
    machine = platform.machine()
    found: dict[str, Any] = {"architecture": machine, "num_logical_cores": os.cpu_count()}
    try:
        with open(_CPU_INFO, encoding="utf-8") as file:
            pairs = [line.split(":", 1) for line in file if ":" in line]
    except OSError:
        return MappingProxyType(found)
    facts = {name.strip(): value.strip() for name, value in pairs}
    found["cpu_name"] = facts.get("model name", "")
    if machine == "x86_64":
        flags = set(facts.get("flags", "").split())
        found |= {name: _LINUX_NAMES.get(name, name) in flags for name in _FEATURES.split()}
    return MappingProxyType(found)
