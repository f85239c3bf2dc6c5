"""Passing a thread's current device and streams to other threads, and a strict-mode check.

- A thread starts at device 0 and on default streams, whatever the thread that started it had chosen.
- `carry` applies a thread's choice to a function in another thread, or to all later work of a pool's thread.
- Under FLAMBEAU_STRICT=1 a thread warns once, at its first work on a GPU, if it lacks a device or stream that the
  thread that started it had chosen.  A thread that has chosen a device or a stream itself does not warn.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import callers
from ..core import thread
from ..core.locks import whole
from ..errors import ArgumentTypeError, shown
from . import mistakes
from .stream import Stream

if TYPE_CHECKING:
    from .machine import Machine

_PARENT = "_flambeau_parent"  # attribute of a threading.Thread: (name, Choice) of the thread that started it


class Choice(NamedTuple):
    """A thread's current device and streams.

    machine: the machine of the streams, None before there is one;  is_own: whether the thread chose them itself.
    """

    machine: Machine | None
    device: int
    streams: tuple[Stream, ...]
    is_own: bool

    @staticmethod
    def here() -> Choice:
        """Return this thread's choice."""
        machine = thread.machine() if thread.has_machine() else None
        return Choice(machine, thread.current_device(), tuple(streams().values()), thread.here().chosen)

    def adopt(self) -> None:
        """Make this device and these streams current, as if the calling thread had chosen them."""
        self._replace(is_own=True).restore()

    @whole
    def restore(self) -> None:
        """Restore this choice in the current thread.  Does nothing if the process has another machine by now."""
        if self.machine in (None, thread.machine()):
            now = thread.here()
            now.streams = []  # devices without a stream use their default stream
            for stream in self.streams:
                thread.set_stream(stream)
            now.device, now.chosen = self.device, self.is_own

    def side_streams(self) -> list[Stream]:
        """Return the chosen streams that are not default streams."""
        return [
            stream for stream in self.streams if stream != stream.machine.devices[stream.device_index].default_stream
        ]

    def is_as_in_new_threads(self) -> bool:
        """Return whether a new thread starts with the same device and streams."""
        return self.device == 0 and not self.side_streams()


def streams() -> dict[int, Stream]:
    """Return a copy of this thread's streams by device.  Devices that it has not used are missing."""
    return {device: stream for device, stream in enumerate(thread.here().streams) if stream is not None}


def carry(function: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Wrap a function so that it runs with this thread's current device and streams in any thread.

    Without a function, return a function that makes them current in the thread that calls it: pass it as `initializer`
    to a thread pool.
    Raises: ArgumentTypeError if `function` is not callable.
    Example:
        >>> side, found = torch.cuda.Stream(), []
        >>> from threading import Thread
        >>> with torch.cuda.stream(side):
        ...     thread = Thread(target=torch.cuda.carry(lambda: found.append(torch.cuda.current_stream())))
        >>> thread.start()
        >>> thread.join()
        >>> found == [side]
        True
    """
    choice = Choice.here()
    if function is None:
        return choice.adopt
    if not callable(function):
        raise ArgumentTypeError(
            f"expected a function, got {shown(function)}",
            hint="pass a function; carry() makes an initializer",
            operator="carry",
        )

    @functools.wraps(function)
    def carried(*args: Any, **kwargs: Any) -> Any:
        before = Choice.here()
        try:
            choice.adopt()
            return function(*args, **kwargs)
        finally:
            before.restore()

    return carried


# strict mode


_on_start: Callable[[], None] | None = None  # called before a thread starts that lacks its parent's device or streams


class Parents:
    """Warns about threads of one machine that did not inherit their parent's device and streams.

    on_start: called before such a thread starts; from then on, every launch must call `worked`.  None if all launches
    call it anyway.
    """

    def __init__(self, on_start: Callable[[], None] | None = None) -> None:
        global _on_start
        _remember_parents()
        _on_start = on_start or _on_start

    def worked(self, stream: Stream) -> None:
        """Warn if the calling thread, which submitted work to a stream, lacks its parent's choice."""
        current = threading.current_thread()
        parent = current.__dict__.pop(_PARENT, None)
        if parent is None or parent[1].machine is not stream.machine or thread.here().chosen:
            return
        name, choice = parent
        text = _warning(current.name, name, choice, stream)
        if mistakes.collected is not None:
            mistakes.collected.add(text.replace("\nhint: ", "; "), is_error=False)
        else:
            warnings.warn_explicit(f"{callers.call_site()}: {text}", UserWarning, *callers.place())


def _warning(child: str, parent: str, choice: Choice, stream: Stream) -> str:
    had = [f"device cuda:{choice.device}", *(repr(side) for side in choice.side_streams())]
    return (
        f"thread {child!r} works on {stream!r}; when thread {parent!r} started it, that had "
        f"chosen {', '.join(had)}, which new threads do not inherit\n"
        f"hint: start it with cuda.carry(function), or choose a device or a stream in the thread"
    )


def _remember_parents() -> None:
    """Make threads started from now on remember their parent's choice."""
    start = threading.Thread.start
    if start.__dict__.get("is_strict", False):
        return

    @functools.wraps(start)
    def remembering(started: threading.Thread) -> None:
        if thread.has_machine() and (mistakes.collected is not None or thread.machine().strict is not None):
            choice = Choice.here()
            if not choice.is_as_in_new_threads():
                started.__dict__[_PARENT] = (threading.current_thread().name, choice)
                if _on_start is not None:
                    _on_start()
        start(started)

    remembering.__dict__["is_strict"] = True
    threading.Thread.start = remembering  # type: ignore[method-assign, assignment]  # a method of the standard library
