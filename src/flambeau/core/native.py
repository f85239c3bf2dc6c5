"""What native.pyx does in C, for an interpreter alone.  Where that is compiled, it is imported instead of this file."""

from __future__ import annotations

import itertools
import threading
from struct import Struct
from threading import get_ident as thread_ident
from typing import Any

put_address = Struct("@Q").pack_into
copied = bytearray
identity = id
next_number = itertools.count().__next__


def blank(kind: type) -> Any:
    """A new object of a class; neither `__new__` nor `__init__` is called."""
    return object.__new__(kind)


def is_unshared(buffer: object) -> bool:
    """False: only compiled callers know how many references they own."""
    return False


class Lock:
    """A mutex."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def acquire(self) -> None:
        self._lock.acquire()

    def try_acquire(self) -> bool:
        """Try to acquire the lock; return whether it succeeded."""
        return self._lock.acquire(False)

    def release(self) -> None:
        self._lock.release()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *raised: object) -> None:
        self._lock.release()


__all__ = ["Lock", "blank", "copied", "identity", "is_unshared", "next_number", "put_address", "thread_ident"]
