"""What native.pyx does in C, for an interpreter alone.  Where that is compiled, it is imported instead of this file.

Critical sections: while a thread is in one, it runs nothing of the program's.  Signal handlers are put off until the
main thread has left its outermost section, and the garbage collector until every thread has left its own.  Every lock
of the library is a section for as long as it is held.  Counting is safe without a lock of its own: CPython switches
threads and runs handlers at calls and loops only, and each count changes between two calls.
"""

from __future__ import annotations

import gc
import itertools
import os
import sys
import threading
from collections.abc import Callable
from functools import wraps
from struct import Struct
from threading import get_ident as thread_ident
from typing import Any, TypeVar

from ..errors import reentered

F = TypeVar("F", bound=Callable[..., Any])
SLICE = 0.1  # seconds: how often a wait for a lock looks for signals

put_address = Struct("@Q").pack_into
copied = bytearray
identity = id
next_number = itertools.count().__next__

_main = threading.main_thread().ident  # only this thread runs signal handlers
_main_depth = 0  # sections that the main thread is in
_depth = 0  # sections that all threads are in
_collects = False  # whether the collector was enabled before the first of them
_is_collecting, _stop_collecting, _collect_again = gc.isenabled, gc.disable, gc.enable
_put_off: list[tuple[int, Any]] = []  # signals, and what runs their handlers


def blank(kind: type) -> Any:
    """A new object of a class; neither `__new__` nor `__init__` is called."""
    return object.__new__(kind)


def is_unshared(buffer: object) -> bool:
    """False: only compiled callers know how many references they own."""
    return False


def enter_critical() -> None:
    """Begin a critical section of this thread.  Sections nest."""
    global _depth, _main_depth, _collects
    if thread_ident() == _main:
        _main_depth += 1
    _depth += 1
    if _depth == 1:
        _collects = _is_collecting()
        _stop_collecting()


def leave_critical() -> None:
    """End a critical section; after the outermost one, run the signal handlers that were put off, which may raise."""
    global _depth, _main_depth
    _depth -= 1
    if _depth == 0 and _collects:
        _collect_again()
    if thread_ident() == _main:
        _main_depth -= 1
        if _put_off and _main_depth == 0:
            run_handlers()


def is_critical(frame: Any) -> bool:
    """Whether the main thread, which runs `frame`, is in a critical section or about to enter one."""
    return _main_depth > 0 or frame.f_code in _entries


def put_off(number: int, run: Any) -> None:
    """Have `run(number, frame)` called when the main thread has left its critical sections."""
    _put_off.append((number, run))


def run_handlers() -> None:
    """Run what was put off, if this is the main thread.  A long wait calls it where everything is consistent."""
    while _put_off and thread_ident() == _main:
        number, run = _put_off.pop(0)
        run(number, sys._getframe(1))


def _in_child() -> None:
    """The thread that forked is the only one left, and the main one.  It was in no section."""
    global _main, _main_depth, _depth
    if _depth and _collects:
        gc.enable()
    _main = thread_ident()
    _main_depth = _depth = 0
    _put_off.clear()


os.register_at_fork(after_in_child=_in_child)
_entries = {enter_critical.__code__}  # of functions that begin a section before they do anything else


def whole(function: F) -> F:
    """Decorate a function so that all of it, its first instruction included, is a critical section."""

    @wraps(function)
    def inside(*args: Any, **kwargs: Any) -> Any:
        enter_critical()
        try:
            result = function(*args, **kwargs)
        finally:
            leave_critical()
        return result

    _entries.add(inside.__code__)  # type: ignore[attr-defined]
    return inside  # type: ignore[return-value]


class Lock:
    """A mutex, held in a critical section.

    Raises ReentryError where its thread holds it already.
    """

    __slots__ = ("_lock", "_owner")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = 0

    def acquire(self) -> None:
        global _depth, _main_depth, _collects
        ident = thread_ident()
        if ident == _main:
            _main_depth += 1
        _depth += 1
        if _depth == 1:
            _collects = _is_collecting()
            _stop_collecting()
        if not self._lock.acquire(False):
            if self._owner == ident:
                leave_critical()
                raise reentered()
            _wait_for(self._lock)
        self._owner = ident

    def try_acquire(self) -> bool:
        """Try to acquire the lock; return whether it succeeded."""
        enter_critical()
        if self._lock.acquire(False):
            self._owner = thread_ident()
            return True
        leave_critical()
        return False

    def release(self, kind: object = None, error: object = None, traceback: object = None) -> None:
        global _depth, _main_depth
        self._owner = 0
        self._lock.release()
        _depth -= 1
        if _depth == 0 and _collects:
            _collect_again()
        if thread_ident() == _main:
            _main_depth -= 1
            if _put_off and _main_depth == 0:
                run_handlers()

    __enter__, __exit__ = acquire, release


class ReentrantLock:
    """A mutex that its thread may acquire again, held in a critical section.

    inner: the mutex alone, for calls that are made within a critical section.
    """

    __slots__ = ("inner",)

    def __init__(self) -> None:
        self.inner = threading.RLock()

    def acquire(self) -> None:
        global _depth, _main_depth, _collects
        if thread_ident() == _main:
            _main_depth += 1
        _depth += 1
        if _depth == 1:
            _collects = _is_collecting()
            _stop_collecting()
        if not self.inner.acquire(False):
            _wait_for(self.inner)

    def release(self, kind: object = None, error: object = None, traceback: object = None) -> None:
        global _depth, _main_depth
        self.inner.release()
        _depth -= 1
        if _depth == 0 and _collects:
            _collect_again()
        if thread_ident() == _main:
            _main_depth -= 1
            if _put_off and _main_depth == 0:
                run_handlers()

    __enter__, __exit__ = acquire, release


def _wait_for(lock: Any) -> None:
    """Acquire a lock that another thread has.  Outside of other sections, signal handlers run meanwhile."""
    while not lock.acquire(True, SLICE):
        if _main_depth == 1:
            try:
                run_handlers()
            except BaseException:
                leave_critical()
                raise


__all__ = [
    "Lock", "ReentrantLock", "blank", "copied", "enter_critical", "identity", "is_critical", "is_unshared",
    "leave_critical", "next_number", "put_address", "put_off", "run_handlers", "thread_ident", "whole",
]  # fmt: skip
