"""Handle tables of the nvidia driver.

Handles are counted up over the whole process and never used twice, so a destroyed one is recognized.
"""

from __future__ import annotations

import itertools
from typing import Any, TypeVar

from ...errors import AcceleratorError
from .library import INVALID_HANDLE

Entry = TypeVar("Entry")
NO_DEVICE = -1
_next = itertools.count(1).__next__


class Table(dict[int, Entry]):
    """A table of handles of one kind.  Thread-safe: each method is one dict operation."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._kind = kind

    def add(self, entry: Entry) -> int:
        handle = _next()
        self[handle] = entry
        return handle

    def remove(self, handle: int) -> Entry:
        """Raises AcceleratorError if there is no such handle (any more)."""
        entry = self.pop(handle, None)
        return self.__missing__(handle) if entry is None else entry

    def __missing__(self, handle: int) -> Entry:
        raise AcceleratorError(
            f"{self._kind} {handle} does not exist: it was never made, or was destroyed", error_code=INVALID_HANDLE
        )


class Stream:
    """cu: the CUstream, as cuda.bindings wants it; raw: its number.  is_ours: this driver made it, and destroys it.

    context: the number of its device's context, 0 while it is not known.
    """

    __slots__ = ("context", "cu", "device", "is_ours", "raw")

    def __init__(self, device: int, cu: Any, is_ours: bool) -> None:
        self.device = device
        self.cu = cu
        self.raw = int(cu)
        self.is_ours = is_ours
        self.context = 0

    def end(self) -> int:
        """Its device, just before it is destroyed.  Compiled calls that still know it go the long way from now on."""
        device, self.device, self.context = self.device, NO_DEVICE, 0
        return device


class Event:
    """cu: the CUevent, as cuda.bindings wants it; raw: its number.  interprocess: other processes may open it."""

    __slots__ = ("cu", "device", "interprocess", "is_plain", "raw", "timing")

    def __init__(self, device: int, cu: Any, timing: bool, is_plain: bool = False, interprocess: bool = False) -> None:
        """is_plain: it has nothing that an event can have, and may serve again after it was destroyed."""
        self.device = device
        self.cu = cu
        self.raw = int(cu)
        self.timing = timing
        self.is_plain = is_plain
        self.interprocess = interprocess
