"""Signal handlers of the program, put off while the main thread is in a critical section (core/native.py).

CPython runs handlers between two instructions of the main thread; what they raise would leave a call half done.  So
each handler is replaced by one that looks first.  `getsignal` shows that one.  A handler that is set later is replaced
at the next launch on a virtual GPU or allocation that makes a segment or takes pinned memory (SIGINT, SIGALRM), or at
the next wait for a virtual GPU (all but real-time signals).
"""

from __future__ import annotations

import signal
import threading
import time
import weakref
from _signal import SIGALRM, SIGINT, getsignal  # type: ignore[import-not-found]  # what `signal` makes of getsignal costs ten times as much
from _thread import start_new_thread
from pathlib import Path
from types import FrameType
from typing import Any

from .core.native import is_critical, put_off

AGAIN = 0.001  # seconds until a signal that fell within a finalizer is sent again
_PACKAGE = str(Path(__file__).parent)
_FINALIZERS = {"__del__", "free"}  # a compiled __del__ has no frame, and calls `free` of an allocator
_interrupt: Any = None  # the handlers that SIGINT and SIGALRM had when they were last looked at
_alarm: Any = None


class Handler:
    """A handler that is put off while the main thread is in a critical section."""

    __slots__ = ("handler",)

    def __init__(self, handler: Any) -> None:
        self.handler = handler

    def __call__(self, number: int, frame: FrameType) -> Any:
        return put_off(number, self.run) if is_critical(frame) else self.run(number, frame)

    def run(self, number: int, frame: FrameType) -> Any:
        """Call the handler; later if a finalizer runs, in which CPython drops what is raised."""
        return start_new_thread(_send_again, (number,)) if _is_finalizing(frame) else self.handler(number, frame)


def _is_finalizing(frame: FrameType | None) -> bool:
    """Whether a finalizer of the library or of a weak dictionary runs."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file == weakref.__file__ or (frame.f_code.co_name in _FINALIZERS and file.startswith(_PACKAGE)):
            return True
        frame = frame.f_back
    return False


def _send_again(number: int) -> None:
    time.sleep(AGAIN)
    signal.pthread_kill(threading.main_thread().ident, number)  # type: ignore[arg-type]


def look() -> None:
    """Replace the handlers of SIGINT and SIGALRM if they were set since the last time."""
    if getsignal(SIGINT) is not _interrupt or getsignal(SIGALRM) is not _alarm:
        replace_handlers()


def replace_handlers() -> None:
    """Replace every handler that is a Python callable.  Only the main thread may; nothing in others."""
    global _interrupt, _alarm
    if threading.current_thread() is not threading.main_thread():
        return
    for number in _CATCHABLE:
        found = getsignal(number)
        if callable(found) and type(found) is not Handler:
            signal.signal(number, Handler(found))  # type: ignore[arg-type]
    _interrupt, _alarm = getsignal(SIGINT), getsignal(SIGALRM)


_CATCHABLE = [each for each in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP} if each < signal.SIGRTMIN]
