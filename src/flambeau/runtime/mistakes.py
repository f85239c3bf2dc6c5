"""Mistakes other than races.  `flambeau check` collects them; strict mode reports the first two kinds at once.

- A thread works on a GPU, but does not use the device or stream of the thread that started it.
- A graph is launched although a declared input has no new values, or was freed.
- A stream, or the host, waits for an event that is never recorded.  The wait has no effect.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import callers, config

MAX_KEPT = 1000  # limit of mistakes, and of early waits


class Mistake(NamedTuple):
    """A mistake at a source line (`site`).  is_error: whether it is reported as an error, not as a warning."""

    text: str
    site: str
    is_error: bool


class Collected:
    """The mistakes of a checked program."""

    def __init__(self) -> None:
        self._found: dict[Mistake, None] = {}
        self._waits: dict[tuple[int, str], tuple[str, Any]] = {}  # by stream and line, for events not yet recorded

    def add(self, text: str, is_error: bool) -> None:
        """Add a mistake made by the program's current line."""
        if len(self._found) < MAX_KEPT:
            self._found[Mistake(text, callers.call_site(), is_error)] = None

    def waits_for_nothing(self, stream: int, label: str, event: Any) -> None:
        """Note that a stream (0: the host) waits for an event that was not recorded yet."""
        if len(self._waits) < MAX_KEPT:
            self._waits.setdefault((stream, callers.call_site()), (label, event))

    def early_wait(self, stream: int) -> str:
        """Return the line of a stream's wait for an event that was not recorded yet, "" if there is none."""
        return next((site for other, site in self._waits if other == stream), "")

    def all(self) -> list[Mistake]:
        """Return the mistakes so far.  A wait counts if its event was never recorded afterwards."""
        never = [
            Mistake(f"{label} waits for an event that is never recorded, which has no effect", site, False)
            for (_, site), (label, event) in self._waits.items()
            if not event.handle
        ]
        return [*self._found, *never]


collected: Collected | None = None  # set while a tool collects mistakes


def are_sought() -> bool:
    """Return whether a tool or strict mode checks for mistakes in this process."""
    return collected is not None or config.strict()
