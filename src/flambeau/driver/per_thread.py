"""Per-thread objects that are reused by other threads after their thread ends."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class PerThread(Generic[Key, Value]):
    """Per-thread objects by key.  After a thread ends, another thread may reuse its objects."""

    def __init__(self) -> None:
        self._threads = threading.local()
        self._spare: defaultdict[Key, list[Value]] = defaultdict(list)

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """Return the calling thread's object for a key; `make` creates it if there is none to reuse."""
        if not hasattr(self._threads, "owned"):
            self._threads.owned = _Owned(self._spare)
        values: dict[Key, Value] = self._threads.owned.values
        if key not in values:
            try:
                values[key] = self._spare[key].pop()
            except IndexError:  # none left, or another thread took it first
                values[key] = make()
        return values[key]


class _Owned(Generic[Key, Value]):
    """The objects of one thread.  Destroyed at thread exit, which returns them for reuse."""

    def __init__(self, spare: defaultdict[Key, list[Value]]) -> None:
        self.values: dict[Key, Value] = {}
        self._spare = spare

    def __del__(self) -> None:
        for key, value in self.values.items():
            self._spare[key].append(value)
