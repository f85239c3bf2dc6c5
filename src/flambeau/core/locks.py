"""Rarely used critical sections: the decorator `whole`, and a reentrant lock.

In a forked child, locks that other threads of the parent held are free: these threads do not exist there.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from .native import depth, enter_critical, entries, leave_critical, run_handlers

F = TypeVar("F", bound=Callable[..., Any])
SLICE = 0.1  # seconds: how often a wait for a lock checks for signals


def whole(function: F) -> F:
    """Decorate a function so that all of it, including its first instruction, is a critical section."""

    def inside(*args: Any, **kwargs: Any) -> Any:
        enter_critical()
        try:
            result = function(*args, **kwargs)
        finally:
            leave_critical()
        return result

    code = inside.__code__
    entries[code] = min(start for start, _, line in code.co_lines() if line and line > code.co_firstlineno + 1)
    return cast("F", wraps(function)(inside))


class ReentrantLock:
    """A reentrant mutex.  Holding it is a critical section.

    inner: the plain mutex, for calls within a critical section.
    """

    __slots__ = ("__weakref__", "inner")

    def __init__(self) -> None:
        self.inner: Any = threading.RLock()
        _locks.add(self)

    def acquire(self) -> None:
        enter_critical()
        if not self.inner.acquire(False):
            self.wait()

    def wait(self) -> None:
        """Acquire the mutex that another thread holds.  Outside other sections, signal handlers run meanwhile.

        Finalizers also run when no other thread can release the mutex any more, which is then made free: after the
        interpreter has stopped daemon threads, and in a forked child before `_in_child`.
        """
        while not self.inner.acquire(True, SLICE):
            if sys.is_finalizing() or os.getpid() != _process:
                self.inner._at_fork_reinit()
            elif depth() == 1:
                try:
                    run_handlers()
                except BaseException:
                    leave_critical()
                    raise

    def release(self, kind: object = None, error: object = None, traceback: object = None) -> None:
        self.inner.release()
        leave_critical()

    __enter__, __exit__ = acquire, release


_locks: weakref.WeakSet[ReentrantLock] = weakref.WeakSet()
_process = os.getpid()


def _in_child() -> None:
    global _process
    _process = os.getpid()
    for lock in list(_locks):
        if not lock.inner._is_owned():
            lock.inner._at_fork_reinit()


os.register_at_fork(after_in_child=_in_child)
