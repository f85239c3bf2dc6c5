"""Signal handlers of the program, deferred while the main thread is in a critical section (core/native.py).

CPython runs handlers between two instructions of the main thread.  An exception raised by a handler would leave a call
half done.  So each handler is wrapped in a `Handler`, which `getsignal` then returns: at the start of CUDA, and at the
first call on the CPU that runs a NumPy reference.  A handler that is set later is wrapped at the next such call, launch
on a virtual GPU or allocation that makes a segment or takes pinned memory (SIGINT, SIGALRM), or at the next wait for a
virtual GPU (all but real-time signals).
"""

from __future__ import annotations

import os
import signal
import threading
import time
import weakref

# signal.getsignal wraps _signal's in an enum conversion, which costs ten times as much; _signal has no stub
from _signal import SIGALRM, SIGINT, getsignal
from _thread import start_new_thread
from types import FrameType
from typing import Any

from .core.native import is_critical, put_off

AGAIN = 0.001  # seconds until a signal that arrived in a finalizer is sent again
_PACKAGE = os.path.dirname(__file__)
_FINALIZERS = {"__del__", "free"}  # a compiled __del__ has no frame, and calls `free` of an allocator
interrupt: Any = None  # the handlers of SIGINT and SIGALRM at the last check
alarm: Any = None


class Handler:
    """Wraps a handler, and defers it while the main thread is in a critical section."""

    __slots__ = ("handler",)

    def __init__(self, handler: Any) -> None:
        self.handler = handler

    def __call__(self, number: int, frame: FrameType | None) -> Any:
        return put_off(number, self.run) if is_critical(frame) else self.run(number, frame)

    def run(self, number: int, frame: FrameType | None) -> Any:
        """Call the handler.  In a finalizer, where CPython drops exceptions, send the signal again instead."""
        return start_new_thread(_send_again, (number,)) if _is_finalizing(frame) else self.handler(number, frame)


def raised_by_handler(error: BaseException) -> bool:
    """Return whether an exception was raised by a signal handler of the program."""
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code is Handler.run.__code__:
            return True
        step = step.tb_next
    return False


def _is_finalizing(frame: FrameType | None) -> bool:
    """Return whether a finalizer of the library or of a weak dictionary is running."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file == weakref.__file__ or (frame.f_code.co_name in _FINALIZERS and file.startswith(_PACKAGE)):
            return True
        frame = frame.f_back
    return False


def _send_again(number: int) -> None:
    time.sleep(AGAIN)
    main = threading.main_thread().ident
    assert main is not None
    signal.pthread_kill(main, number)


def look() -> None:
    """Replace the handlers of SIGINT and SIGALRM if they were set since the last check."""
    if getsignal(SIGINT) is not interrupt or getsignal(SIGALRM) is not alarm:
        replace_handlers()


def replace_handlers() -> None:
    """Wrap every handler that is a Python callable.  Does nothing outside the main thread."""
    global interrupt, alarm
    if threading.current_thread() is not threading.main_thread():
        return
    for number in _CATCHABLE:
        handler = getsignal(number)
        if callable(handler) and type(handler) is not Handler:
            signal.signal(number, Handler(handler))
    interrupt, alarm = getsignal(SIGINT), getsignal(SIGALRM)


_UNCATCHABLE = {signal.SIGKILL, signal.SIGSTOP}
_CATCHABLE = [number for number in signal.valid_signals() - _UNCATCHABLE if number < signal.SIGRTMIN]
