"""When a virtual GPU was busy, for those who watch it as they would watch a real one."""

from __future__ import annotations

from collections import deque

SAMPLE_NS = 1_000_000_000 // 6  # what a figure looks back over; hardware takes this up to six times of it


class Activity:
    """Spans of modelled time.  Those that every thread's sample has left behind are forgotten."""

    def __init__(self) -> None:
        self._spans: deque[list[int]] = deque()

    def add(self, start_ns: int, end_ns: int, now_ns: int) -> None:
        """Busy from `start_ns` to `end_ns`, as was found out at `now_ns`."""
        spans = self._spans
        if end_ns <= start_ns:
            return
        if spans and spans[-1][0] <= start_ns <= spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], end_ns)
            return
        while spans and spans[0][1] < now_ns - SAMPLE_NS:
            spans.popleft()
        spans.append([start_ns, end_ns])

    def percent(self, now_ns: int) -> int:
        """How much of the sample that ends now was busy; since the machine was made, if that is less."""
        begin = max(0, now_ns - SAMPLE_NS)
        busy, reached = 0, begin
        for start, end in sorted(self._spans):
            start, end = max(start, reached), min(end, now_ns)
            if end > start:
                busy, reached = busy + end - start, end
        return 100 * busy // (now_ns - begin) if busy else 0
