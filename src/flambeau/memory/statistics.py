"""Reports of the allocators' counters (core/pool.py), and counters of rare events."""

from __future__ import annotations

from ..core.pool import Counters

NS_PER_US = 1_000


def report(total: Counters, small: Counters, large: Counters) -> dict[str, int]:
    """Return every counter of both pools together and of each, by name."""
    counts: dict[str, int] = {}
    for name, counters in (("all", total), ("small_pool", small), ("large_pool", large)):
        for kind, flow in counters.flows():
            flow.report(f"{kind}.{name}", counts)
    return counts


class Incidents:
    """Number of allocations that had to retry, that failed, or that waited for all streams."""

    __slots__ = ("out_of_memories", "retries", "waits")

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.retries = self.out_of_memories = self.waits = 0

    def counts(self) -> dict[str, int]:
        return {
            "num_alloc_retries": self.retries,
            "num_ooms": self.out_of_memories,
            "num_sync_all_streams": self.waits,
            "num_oom_rejections": 0,
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
        """Reset the extremes: the next duration sets both.  The total and the count stay."""
        self.longest = 0
        self.shortest = 0

    def report(self, key: str, into: dict[str, int]) -> None:
        """Write `key.total`, `.max`, `.min`, `.count` and `.avg`."""
        into[f"{key}.total"] = self.total // NS_PER_US
        into[f"{key}.max"] = self.longest // NS_PER_US
        into[f"{key}.min"] = self.shortest // NS_PER_US
        into[f"{key}.count"] = self.count
        into[f"{key}.avg"] = self.total // self.count // NS_PER_US if self.count else 0
