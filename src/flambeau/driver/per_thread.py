"""Per-thread objects that are reused by other threads after their thread ends."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Thing = TypeVar("Thing")


class PerThread(Generic[Key, Thing]):
    """Per-thread objects by key.  After a thread ends, another thread may reuse its objects."""

    def __init__(self) -> None:
        self._threads = threading.local()
        self._spare: defaultdict[Key, list[Thing]] = defaultdict(list)

    def get(self, key: Key, make: Callable[[], Thing]) -> Thing:
        """The calling thread's object of a key."""
        if not hasattr(self._threads, "owned"):
            self._threads.owned = _Owned(self._spare)
        things: dict[Key, Thing] = self._threads.owned.things
        if key not in things:
            try:
                things[key] = self._spare[key].pop()
            except IndexError:  # there is none, or another thread was faster
                things[key] = make()
        return things[key]


class _Owned(Generic[Key, Thing]):
    """The objects of one thread.  Destroyed at thread exit, which returns them for reuse."""

    def __init__(self, spare: defaultdict[Key, list[Thing]]) -> None:
        self.things: dict[Key, Thing] = {}
        self._spare = spare

    def __del__(self) -> None:
        for key, thing in self.things.items():
            self._spare[key].append(thing)
