"""Flight recorder: the last collectives of this process, in a fixed amount of memory.

- TORCH_FR_BUFFER_SIZE sets how many are kept (2000).
- The error of a failed collective has the last few as a note.  If TORCH_FR_DUMP_TEMP_FILE is set, the process also
  writes the result of `dump` to the file of that name, with the rank appended.
"""

from __future__ import annotations

import json
import os
import time
from collections import deque
from typing import Any

from ..config import is_whole_number

SIZE = 2000
SHOWN = 5  # entries in a note


class Entry:
    """One collective.  state: scheduled, started (values given, or work queued) or completed;  times: wall clock.

    key: the group, and the collective's name in the group.
    """

    __slots__ = ("completed_ns", "created_ns", "key", "name", "nbytes", "number", "started_ns", "text")

    def __init__(self, number: int, key: str, name: str, text: str, nbytes: int) -> None:
        self.number, self.key, self.name, self.text, self.nbytes = number, key, name, text, nbytes
        self.created_ns = time.time_ns()
        self.started_ns = self.completed_ns = 0

    @property
    def state(self) -> str:
        return "completed" if self.completed_ns else "started" if self.started_ns else "scheduled"

    def to_json(self) -> dict[str, Any]:
        group, _, key = self.key.partition(":")
        return {
            "record_id": self.number,
            "pg_id": group,
            "collective_seq_id": key,
            "profiling_name": self.name,
            "call": self.text,
            "nbytes": self.nbytes,
            "state": self.state,
            "time_created_ns": self.created_ns,
            "time_discovered_started_ns": self.started_ns or None,
            "time_discovered_completed_ns": self.completed_ns or None,
        }


class FlightRecorder:
    """The last collectives of a process, oldest first."""

    def __init__(self, rank: int | None) -> None:
        text = os.environ.get("TORCH_FR_BUFFER_SIZE", "")
        self.rank = rank
        self._entries: deque[Entry] = deque(maxlen=max(int(text), 1) if is_whole_number(text) else SIZE)
        self._running: dict[str, Entry] = {}
        self._count = 0

    def add(self, key: str, name: str, text: str, nbytes: int) -> None:
        """Add a collective that is called now; `started` and `completed` find it by its key."""
        self._running[key] = self.queued(key, name, text, nbytes)

    def queued(self, key: str, name: str, text: str, nbytes: int) -> Entry:
        """Add a collective whose progress the caller records in the returned entry."""
        if self._running and len(self._entries) == self._entries.maxlen:
            self._running.pop(self._entries[0].key, None)
        entry = Entry(self._count, key, name, text, nbytes)
        self._count += 1
        self._entries.append(entry)
        return entry

    def started(self, key: str) -> None:
        """Record that this rank has given its values to a collective."""
        if key in self._running:
            self._running[key].started_ns = time.time_ns()

    def completed(self, key: str) -> None:
        """Record that all ranks have given their values to a collective."""
        entry = self._running.pop(key, None)
        if entry is not None:
            entry.completed_ns = time.time_ns()

    def dump(self) -> str:
        """Return the entries as JSON."""
        entries = [entry.to_json() for entry in list(self._entries)]
        return json.dumps({"version": "flambeau 1", "rank": self.rank, "entries": entries}, indent=1)

    def note(self) -> str:
        """Return the last entries as text, for an error."""
        lines = [f"the last collectives of rank {self.rank}:"]
        for entry in list(self._entries)[-SHOWN:]:
            lines.append(f"  {entry.number}: {entry.text}, {entry.nbytes} bytes, {entry.state}")
        return "\n".join(lines)

    def write(self) -> None:
        """Write the entries to the file that TORCH_FR_DUMP_TEMP_FILE names, if any."""
        prefix = os.environ.get("TORCH_FR_DUMP_TEMP_FILE")
        if prefix:
            with open(f"{prefix}{self.rank}", "w", encoding="utf-8") as file:
                file.write(self.dump())
