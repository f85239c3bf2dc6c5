"""Functions of torch.cuda for the CPU, for programs that take the module of a device's type.

The CPU is one device, whose calls are complete when they return: streams and events order nothing, and nothing waits.
"""

from __future__ import annotations

import threading
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
    """A stream of the CPU.  Work is done at the call, so streams order nothing.

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
    """A block in which a stream of the CPU is the current one.  None changes nothing.

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
    """Return a block in which a stream of the CPU is the current one.

    Raises: ArgumentTypeError for an object that is no stream.
    Example:
        >>> with torch.cpu.stream(torch.cpu.Stream()):
        ...     x = torch.ones(2)
    """
    return StreamContext(stream)
