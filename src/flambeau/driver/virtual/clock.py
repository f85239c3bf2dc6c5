"""The clocks of virtual GPUs: clocks of host threads and copy engines, and times that are not known yet.

- Times are whole nanoseconds since the machine was made.  They depend on the calls made, never on the schedule.
- Each host thread has a clock: every driver call costs it a fixed time, and a wait moves it to the awaited completion.
- Times of work that follows a collective of several processes are known only once the collective has run.  Until then,
  a time is the earliest possible one, together with the commands that it depends on (`Late`).
- Work starts when the host has submitted it, the earlier work of its stream and the events it waits for are complete,
  and, for copies, the device's copy engine of that direction is free.  It ends one modelled duration (card.py) later.
"""

from __future__ import annotations

import threading
from typing import Any


class HostClocks:
    """The clocks of host threads.  A new thread starts at the latest time of all threads.

    thread: has the calling thread's time, if it has spent any;  latest_ns: the latest time of all threads.
    """

    def __init__(self) -> None:
        self.thread = threading.local()
        self.latest_ns = 0

    def now(self) -> int:
        return self.spend(0)

    def spend(self, ns: int) -> int:
        """Advance the calling thread's clock by `ns`; return its new time."""
        now: int = getattr(self.thread, "now_ns", self.latest_ns) + ns
        self.thread.now_ns = now
        if now > self.latest_ns:
            self.latest_ns = now
        return now

    def reach(self, time_ns: int) -> None:
        """Advance the calling thread's clock to `time_ns` if that is later."""
        late = time_ns - self.now()
        if late > 0:
            self.spend(late)


class CopyEngine:
    """A copy engine: one direction of one device's copies, one copy at a time."""

    __slots__ = ("free_ns", "late")

    def __init__(self) -> None:
        self.free_ns = 0
        self.late: Late | None = None


# Dependencies of a time that is not known yet: for each command whose end other processes determine, the least number
# of nanoseconds from that end to the time.
Late = dict[Any, int]


def settled(time_ns: int, late: Late | None) -> tuple[int, Late | None]:
    """Update a time by the commands that have run; return it and the commands that it still depends on."""
    if late is None:
        return time_ns, None
    for command, ns in late.items():
        if command.done:
            time_ns = max(time_ns, command.end_ns + ns)
    left = {command: ns for command, ns in late.items() if not command.done}
    return time_ns, left or None


def latest(first: Late | None, second: Late | None) -> Late | None:
    """Return the commands that the later of two times depends on, given those of each.

    A command is left out if a later command of the same stream adds at least as much time.
    """
    if first is None or second is None:
        return first or second
    merged = {command: max(first.get(command, 0), second.get(command, 0)) for command in (*first, *second)}
    last: dict[Any, Any] = {}
    for command in merged:
        if command.queue not in last or last[command.queue].number < command.number:
            last[command.queue] = command
    return {entry: ns for entry, ns in merged.items() if last[entry.queue] is entry or merged[last[entry.queue]] < ns}


def later(late: Late | None, ns: int) -> Late | None:
    """Return the commands that a time depends on, shifted for a time that is `ns` later."""
    return None if late is None else {command: before + ns for command, before in late.items()}
