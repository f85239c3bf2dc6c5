"""Rarely used critical sections: the decorator `whole`, and a reentrant lock."""

from __future__ import annotations

import sys
import threading
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

    __slots__ = ("inner",)

    def __init__(self) -> None:
        self.inner = threading.RLock()

    def acquire(self) -> None:
        enter_critical()
        if not self.inner.acquire(False):
            self.wait()

    def wait(self) -> None:
        """Acquire the mutex that another thread holds.  Outside other sections, signal handlers run meanwhile.

        When the interpreter ends it stops daemon threads for ever: what one of them holds is replaced, for finalizers.
        """
        while not self.inner.acquire(True, SLICE):
            if sys.is_finalizing():
                self.inner = threading.RLock()
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
