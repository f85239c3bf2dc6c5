"""Counters of the allocators, cheap to update.

- A flow only adds up what came and what went; everything else is derived when somebody asks.
- A flow is highest just before something goes, so hot flows note their peak once before a batch of frees.
- `active` differs from `allocation` only by the blocks that wait for events, so it costs nothing while none does.
"""

from __future__ import annotations

KINDS = (
    "allocation", "segment", "active", "inactive_split",
    "allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes", "requested_bytes",
)  # fmt: skip
FIELDS = ("current", "peak", "allocated", "freed")
NS_PER_US = 1_000


class Flow:
    """A counter of allocated and freed blocks or bytes, with its peak.

    `allocated` and `freed` only grow; a reset remembers where they stood.
    """

    __slots__ = ("_allocated_before", "_freed_before", "allocated", "freed", "peak")

    def __init__(self) -> None:
        self.allocated = 0
        self.freed = 0
        self.peak = 0
        self._allocated_before = 0
        self._freed_before = 0

    @property
    def current(self) -> int:
        return self.allocated - self.freed

    def copied(self) -> Flow:
        """The same figures, apart."""
        made = Flow()
        made.allocated, made.freed, made.peak = self.allocated, self.freed, self.peak
        made._allocated_before, made._freed_before = self._allocated_before, self._freed_before
        return made

    def add(self, amount: int) -> None:
        self.allocated += amount
        self.note()

    def remove(self, amount: int) -> None:
        self.freed += amount

    def note(self) -> None:
        """Take the current value into the peak."""
        current = self.allocated - self.freed
        if current > self.peak:
            self.peak = current

    def reset_peak(self) -> None:
        self.peak = self.allocated - self.freed

    def reset_accumulated(self) -> None:
        self._allocated_before = self.allocated
        self._freed_before = self.freed

    def report(self, key: str, into: dict[str, int]) -> None:
        """Write `key.current`, `key.peak`, `key.allocated` and `key.freed`."""
        into[f"{key}.current"] = self.allocated - self.freed
        into[f"{key}.peak"] = self.peak
        into[f"{key}.allocated"] = self.allocated - self._allocated_before
        into[f"{key}.freed"] = self.freed - self._freed_before


class Counters:
    """The nine flows of one pool, or of both together; one slot for each of KINDS.

    `awaiting` and `awaiting_bytes` count the blocks given back whose events are not done.
    """

    __slots__ = (*KINDS, "awaiting", "awaiting_bytes")

    allocation: Flow
    segment: Flow
    active: Flow
    inactive_split: Flow
    allocated_bytes: Flow
    reserved_bytes: Flow
    active_bytes: Flow
    inactive_split_bytes: Flow
    requested_bytes: Flow

    def __init__(self) -> None:
        for kind in KINDS:
            setattr(self, kind, Flow())
        self.awaiting = 0
        self.awaiting_bytes = 0

    def copied(self) -> Counters:
        """The same figures, apart."""
        made = Counters()
        for kind, flow in self.flows():
            setattr(made, kind, flow.copied())
        made.awaiting, made.awaiting_bytes = self.awaiting, self.awaiting_bytes
        return made

    def flows(self) -> list[tuple[str, Flow]]:
        return [(kind, getattr(self, kind)) for kind in KINDS]

    def settle(self) -> None:
        """Derive the active flows, and take every current value into its peak."""
        _derive(self.active, self.allocation, self.awaiting)
        _derive(self.active_bytes, self.allocated_bytes, self.awaiting_bytes)
        for _, flow in self.flows():
            flow.note()


def _derive(active: Flow, allocated: Flow, awaiting: int) -> None:
    active.allocated = allocated.allocated
    active.freed = allocated.freed - awaiting
    allocated.note()
    # With nothing awaiting, the active flow is not kept up: it then equals the allocated one.
    active.peak = max(active.peak, allocated.peak)


def note_peaks(small: Counters, large: Counters, total: Counters) -> None:
    """Take the current values of the hot flows into their peaks; call before anything is freed."""
    _note(small.allocation, large.allocation, total.allocation)
    _note(small.allocated_bytes, large.allocated_bytes, total.allocated_bytes)
    _note(small.requested_bytes, large.requested_bytes, total.requested_bytes)
    if small.awaiting or large.awaiting:
        settle(small, large, total)


def settle(small: Counters, large: Counters, total: Counters) -> None:
    """Bring every flow up to date, so that all of them can be read or reset."""
    for kind in ("allocation", "allocated_bytes", "requested_bytes"):
        one, other, both = getattr(small, kind), getattr(large, kind), getattr(total, kind)
        both.allocated = one.allocated + other.allocated
        both.freed = one.freed + other.freed
    total.awaiting = small.awaiting + large.awaiting
    total.awaiting_bytes = small.awaiting_bytes + large.awaiting_bytes
    small.settle()
    large.settle()
    total.settle()


def report(total: Counters, small: Counters, large: Counters) -> dict[str, int]:
    """Every flow of both pools together and of each, by its name."""
    found: dict[str, int] = {}
    for name, counters in (("all", total), ("small_pool", small), ("large_pool", large)):
        for kind, flow in counters.flows():
            flow.report(f"{kind}.{name}", found)
    return found


def change(flow: Flow, total: Flow, amount: int) -> None:
    """Add a positive amount to a pool's flow and to that of both pools; remove a negative one."""
    if amount > 0:
        flow.allocated += amount
        total.allocated += amount
        if (current := flow.allocated - flow.freed) > flow.peak:
            flow.peak = current
        if (current := total.allocated - total.freed) > total.peak:
            total.peak = current
    else:
        flow.freed -= amount
        total.freed -= amount


def _note(small: Flow, large: Flow, total: Flow) -> None:
    in_small = small.allocated - small.freed
    in_large = large.allocated - large.freed
    if in_small > small.peak:
        small.peak = in_small
    if in_large > large.peak:
        large.peak = in_large
    if in_small + in_large > total.peak:
        total.peak = in_small + in_large


class Incidents:
    """How often an allocation had to retry, to give up, or to wait for all streams."""

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
        """Forget the extremes; the next duration sets both, the total and the count stay."""
        self.longest = 0
        self.shortest = 0

    def report(self, key: str, into: dict[str, int]) -> None:
        """Write `key.total`, `.max`, `.min`, `.count` and `.avg`."""
        into[f"{key}.total"] = self.total // NS_PER_US
        into[f"{key}.max"] = self.longest // NS_PER_US
        into[f"{key}.min"] = self.shortest // NS_PER_US
        into[f"{key}.count"] = self.count
        into[f"{key}.avg"] = self.total // self.count // NS_PER_US if self.count else 0
