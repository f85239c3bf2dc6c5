"""Locks, critical sections and small helpers for uncompiled runs.  Where native.pyx is compiled, it replaces this file.

Critical sections: inside one, a thread runs no user code.  Signal handlers are deferred until the main thread has left
its outermost section, and the garbage collector until every thread has left its own.  A thread that holds a lock of the
library is in a section.  The counts need no lock: CPython switches threads and runs handlers only at calls and loops,
and each count changes between two calls.
"""

from __future__ import annotations

import gc
import itertools
import os
import sys
import threading
from collections.abc import Callable
from struct import Struct
from threading import get_ident as thread_ident
from typing import Any

from ..errors import reentered

blank: Callable[[type], Any] = object.__new__
put_address = Struct("@Q").pack_into
copied = bytearray
identity = id
next_number = itertools.count().__next__

_main = threading.main_thread().ident  # only the main thread runs signal handlers
_main_depth = 0  # number of sections that the main thread is in
_depth = 0  # number of sections that all threads together are in
_collects = False  # whether the collector was enabled before the first section
_is_collecting, _stop_collecting, _collect_again = gc.isenabled, gc.disable, gc.enable
_put_off: list[tuple[int, Any]] = []  # deferred signals, with the functions that run their handlers
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_process = os.getpid()
_forks = 0  # number of forks between the first process and this one
_forker = 0  # the thread that made the last of them, the only one that the child has
_files: dict[str, bool] = {}  # whether a file whose frames `origin_above` has seen is one of this package


def is_unshared(buffer: object) -> bool:
    """Return False: the interpreter holds an unknown number of references in uncompiled code."""
    return False


def origin_above(task: Any, operator: Any) -> tuple[Any, int, Any, Any]:
    """Return the `callers.Origin` of the current call.  task, operator: those that the thread is running."""
    called = None
    passes = None if task is None else task.code  # compiled code runs a pass: its calls differ in their operators only
    frame: Any = sys._getframe()
    while frame is not None:
        code: Any = frame.f_code
        if code is passes:
            return *task.origin[:3], operator
        is_inside = _files.get(code.co_filename)
        if is_inside is None:
            is_inside = _files[code.co_filename] = code.co_filename.startswith(PACKAGE)
        if not is_inside:
            return code, frame.f_lasti, called, operator
        frame, called = frame.f_back, code
    return None, 0, called, operator


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
    """End a critical section.  After the outermost one, run the deferred signal handlers, which may raise."""
    global _depth, _main_depth
    _depth -= 1
    if _depth == 0 and _collects:
        _collect_again()
    if thread_ident() == _main:
        _main_depth -= 1
        if _put_off and _main_depth == 0:
            run_handlers()


def is_critical(frame: Any) -> bool:
    """Return whether the main thread, which runs `frame`, is in a critical section or about to enter one."""
    return _main_depth > 0 or bool(frame.f_lasti < entries.get(frame.f_code, 0))


def depth() -> int:
    """Return the number of sections that the main thread is in."""
    return _main_depth


def put_off(number: int, run: Any) -> None:
    """Defer `run(number, frame)` until the main thread has left its critical sections."""
    _put_off.append((number, run))


def run_handlers() -> None:
    """Run the deferred handlers, if this is the main thread.  Long waits call it where the state is consistent."""
    while _put_off and thread_ident() == _main:
        number, run = _put_off.pop(0)
        run(number, sys._getframe(1))


def _in_child() -> None:
    """Reset the counts in a forked child: its only thread is the one that forked, which was in no section."""
    global _main, _main_depth, _depth, _process, _forks, _forker
    if _depth and _collects:
        gc.enable()
    _main = _forker = thread_ident()
    _process, _forks = os.getpid(), _forks + 1
    _main_depth = _depth = 0
    _put_off.clear()


os.register_at_fork(after_in_child=_in_child)
entries = {enter_critical.__code__: sys.maxsize}  # {code that begins a section: offset from which it is in it}


class Lock:
    """A mutex.  Holding it is a critical section.

    `acquire` raises ReentryError if its thread holds the lock.  A forked child frees what threads that it lacks held.
    """

    __slots__ = ("_forks", "_lock", "_owner")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = 0
        self._forks = _forks

    def _free_if_lost(self) -> None:
        """Free the lock in a forked child if the thread that holds it exists in the parent only."""
        if os.getpid() != _process:  # a finalizer, which runs in the child before `_in_child`
            is_lost = self._owner != thread_ident()
        else:
            is_lost = self._forks != _forks and self._owner != _forker
        if is_lost:
            self._lock = threading.Lock()
            self._owner, self._forks = 0, _forks

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
            self._free_if_lost()
            if self._owner == ident:
                leave_critical()
                raise reentered()
            self._lock.acquire()
        self._owner, self._forks = ident, _forks

    def try_acquire(self) -> bool:
        """Try to acquire the lock; return whether it succeeded."""
        enter_critical()
        if not self._lock.acquire(False):
            self._free_if_lost()
            if not self._lock.acquire(False):
                leave_critical()
                return False
        self._owner, self._forks = thread_ident(), _forks
        return True

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


__all__ = [
    "PACKAGE", "Lock", "blank", "copied", "depth", "enter_critical", "entries", "identity", "is_critical",
    "is_unshared", "leave_critical", "next_number", "origin_above", "put_address", "put_off", "run_handlers",
    "thread_ident",
]  # fmt: skip
