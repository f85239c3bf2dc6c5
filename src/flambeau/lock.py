"""A lock that compiled code takes without a Python call; nearly every take succeeds at once."""

from __future__ import annotations

import threading

# compiled, the names are those of functions in C: see the .pxd
globals()["_new"] = threading.Lock
globals()["_take"] = lambda lock: lock.acquire()
globals()["_try"] = lambda lock: lock.acquire(False)
globals()["_give"] = lambda lock: lock.release()


class Lock:
    """As threading.Lock, without a timeout."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = _new()  # type: ignore[name-defined]  # noqa: F821

    def acquire(self) -> None:
        _take(self._lock)  # type: ignore[name-defined]  # noqa: F821

    def try_acquire(self) -> bool:
        """Take it if nobody has it; whether that was so."""
        return _try(self._lock)  # type: ignore[name-defined,no-any-return]  # noqa: F821

    def release(self) -> None:
        _give(self._lock)  # type: ignore[name-defined]  # noqa: F821

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *raised: object) -> None:
        self.release()
