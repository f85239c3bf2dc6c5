"""Handle tables of the nvidia driver.

Handles are counted up over the whole process and never used twice, so a destroyed one is recognized.
"""

from __future__ import annotations

import itertools
from typing import TypeVar

from ...errors import AcceleratorError
from .library import INVALID_HANDLE

Entry = TypeVar("Entry")
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
