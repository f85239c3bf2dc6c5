"""What the nvidia driver's handles stand for.

Handles are counted up over the whole process and never used twice, so a destroyed one is recognized.
"""

from __future__ import annotations

import itertools
from typing import Any, Generic, TypeVar

from ...errors import AcceleratorError
from .library import INVALID_HANDLE

Entry = TypeVar("Entry")
_next = itertools.count(1).__next__


class Table(Generic[Entry]):
    """Handles of one kind.  Any thread may call: each method is one dict operation."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._entries: dict[int, Entry] = {}

    def add(self, entry: Entry) -> int:
        handle = _next()
        self._entries[handle] = entry
        return handle

    def __getitem__(self, handle: int) -> Entry:
        """Raises AcceleratorError if there is no such handle (any more)."""
        try:
            return self._entries[handle]
        except KeyError:
            raise self._unknown(handle) from None

    def __contains__(self, handle: int) -> bool:
        return handle in self._entries

    def remove(self, handle: int) -> Entry:
        """Raises AcceleratorError if there is no such handle (any more)."""
        entry = self._entries.pop(handle, None)
        if entry is None:
            raise self._unknown(handle)
        return entry

    def _unknown(self, handle: int) -> AcceleratorError:
        return AcceleratorError(
            f"{self._kind} {handle} does not exist: it was never made, or was destroyed", error_code=INVALID_HANDLE
        )


class Stream:
    """cu: the CUstream, as cuda.bindings wants it; raw: its number.  is_ours: this driver made it, and destroys it."""

    __slots__ = ("cu", "device", "is_ours", "raw")

    def __init__(self, device: int, cu: Any, is_ours: bool) -> None:
        self.device = device
        self.cu = cu
        self.raw = int(cu)
        self.is_ours = is_ours


class Event:
    __slots__ = ("cu", "device", "timing")

    def __init__(self, device: int, cu: Any, timing: bool) -> None:
        self.device = device
        self.cu = cu
        self.timing = timing
