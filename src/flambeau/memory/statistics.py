"""Reports of the allocators' counters (core/pool.py), and counters of rare events.

- A flow (core/pool.py) adds up allocations and frees; everything else is derived when it is read.
- A flow peaks just before a free, so frequently updated flows record their peak once before each batch of frees.
- `active` differs from `allocation` only by the blocks that wait for events, so it needs no updates while none waits.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..core.pool import KINDS, Counters, Flow, note_hot_peaks

NS_PER_US = 1_000


def current(flow: Flow) -> int:
    """Return the current value of a flow: the blocks or bytes that are allocated and not freed."""
    return flow.allocated - flow.freed


def flows_of(counters: Counters) -> list[tuple[str, Flow]]:
    """Return the flows of a pool, with their names."""
    return [(name, getattr(counters, name)) for name in KINDS]


def copied(counters: Counters) -> Counters:
    """Return an independent copy."""
    copy = Counters()
    for (_, flow), (_, other) in zip(flows_of(counters), flows_of(copy)):
        other.allocated, other.freed, other.peak = flow.allocated, flow.freed, flow.peak
        other.allocated_before, other.freed_before = flow.allocated_before, flow.freed_before
    copy.awaiting, copy.awaiting_bytes = counters.awaiting, counters.awaiting_bytes
    return copy


def note_peaks(small: Counters, large: Counters, total: Counters) -> None:
    """Update the peaks; call before anything is freed."""
    note_hot_peaks(small, large, total)
    if small.awaiting or large.awaiting:
        settle(small, large, total)


def settle(small: Counters, large: Counters, total: Counters) -> None:
    """Update every flow, so that all can be read or reset."""
    for name in ("allocation", "allocated_bytes", "requested_bytes"):
        one, other, both = getattr(small, name), getattr(large, name), getattr(total, name)
        both.allocated = one.allocated + other.allocated
        both.freed = one.freed + other.freed
    total.awaiting = small.awaiting + large.awaiting
    total.awaiting_bytes = small.awaiting_bytes + large.awaiting_bytes
    for counters in (small, large, total):
        _derive(counters.active, counters.allocation, counters.awaiting)
        _derive(counters.active_bytes, counters.allocated_bytes, counters.awaiting_bytes)
        for _, flow in flows_of(counters):
            flow.note()


def _derive(active: Flow, allocated: Flow, awaiting: int) -> None:
    active.allocated = allocated.allocated
    active.freed = allocated.freed - awaiting
    allocated.note()
    # While nothing waits, the active flow is not updated: it then equals the allocated one.
    active.peak = max(active.peak, allocated.peak)


def reset_peaks(flows: Iterable[Flow]) -> None:
    """Set every peak to the current value."""
    for flow in flows:
        flow.peak = current(flow)


def reset_accumulated(flows: Iterable[Flow]) -> None:
    """Make the accumulated counts start at 0."""
    for flow in flows:
        flow.allocated_before, flow.freed_before = flow.allocated, flow.freed


def report_flow(flow: Flow, key: str, into: dict[str, int]) -> None:
    """Write `key.current`, `key.peak`, `key.allocated` and `key.freed`."""
    into[f"{key}.current"] = current(flow)
    into[f"{key}.peak"] = flow.peak
    into[f"{key}.allocated"] = flow.allocated - flow.allocated_before
    into[f"{key}.freed"] = flow.freed - flow.freed_before


def report(total: Counters, small: Counters, large: Counters) -> dict[str, int]:
    """Return every counter of both pools together and of each, by name."""
    counts: dict[str, int] = {}
    for name, counters in (("all", total), ("small_pool", small), ("large_pool", large)):
        for metric, flow in flows_of(counters):
            report_flow(flow, f"{metric}.{name}", counts)
    return counts


class Incidents:
    """Number of allocations that had to retry, that failed, that were rejected, or that waited for all streams."""

    __slots__ = ("out_of_memories", "rejections", "retries", "waits")

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.retries = self.out_of_memories = self.rejections = self.waits = 0

    def counts(self) -> dict[str, int]:
        return {
            "num_alloc_retries": self.retries,
            "num_ooms": self.out_of_memories,
            "num_sync_all_streams": self.waits,
            "num_oom_rejections": self.rejections,
        }


class Times:
    """Durations of one driver call, in nanoseconds; reported in microseconds."""

    __slots__ = ("count", "longest", "shortest", "total")

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.total = 0
        self.longest = 0
        self.shortest = 0
        self.count = 0

    def add(self, duration_ns: int) -> None:
        self.total += duration_ns
        self.longest = max(self.longest, duration_ns)
        self.shortest = min(self.shortest, duration_ns) if self.count else duration_ns
        self.count += 1

    def reset_peak(self) -> None:
        """Reset the longest and shortest duration; the next duration sets both.  The total and the count stay."""
        self.longest = 0
        self.shortest = 0

    def report(self, key: str, into: dict[str, int]) -> None:
        """Write `key.total`, `.max`, `.min`, `.count` and `.avg`."""
        into[f"{key}.total"] = self.total // NS_PER_US
        into[f"{key}.max"] = self.longest // NS_PER_US
        into[f"{key}.min"] = self.shortest // NS_PER_US
        into[f"{key}.count"] = self.count
        into[f"{key}.avg"] = self.total // self.count // NS_PER_US if self.count else 0
