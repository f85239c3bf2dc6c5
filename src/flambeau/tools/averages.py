"""The events of a profile, and their sums by name, as torch.profiler gives them.  Times are in microseconds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum

from ..errors import ArgumentError
from ..tensor import checks
from .profile import NS_PER_US, Profile
from .recorders import Span

STEP_NUMBER = re.compile(r"^ProfilerStep#\d+$")
COLUMNS = ("count", "cpu_time_total", "device_time_total")
NAME_WIDTH = 55  # columns, at most


class ProfilerActivity(Enum):
    """Who did what is recorded: the host, or the GPUs."""

    CPU = 0
    CUDA = 1


@dataclass(frozen=True)
class FunctionEvent:
    """A named range of the host, or something that a stream did.

    key: its name.  device_type: who did it.  device_index: which GPU, -1 for the host.
    start_us, end_us: microseconds since the profile began.  count: how many it sums up.
    stack: the line that put it on its stream, if the profile was made with_stack, else ().
    """

    key: str
    device_type: ProfilerActivity
    device_index: int
    start_us: float
    end_us: float
    cpu_time_total: float
    device_time_total: float
    count: int = 1
    stack: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.key

    @property
    def cpu_time(self) -> float:
        """Microseconds of the host, on the average."""
        return self.cpu_time_total / self.count

    @property
    def device_time(self) -> float:
        """Microseconds of a GPU, on the average."""
        return self.device_time_total / self.count


class EventList(list[FunctionEvent]):
    """Events, or their sums."""

    def key_averages(self, group_by_stack_n: int = 0) -> EventList:
        """One event for all of a name on one kind of device; numbers of steps do not count.

        group_by_stack_n: how many entries of their stacks must be the same too.
        """
        sums: dict[tuple[str, ProfilerActivity, tuple[str, ...]], FunctionEvent] = {}
        for each in self:
            key = STEP_NUMBER.sub("ProfilerStep*", each.key), each.device_type, each.stack[:group_by_stack_n]
            former = sums.get(key)
            sums[key] = replace(each, key=key[0]) if former is None else _sum(former, each)
        return EventList(sums.values())

    def total_average(self) -> FunctionEvent:
        """All events as one.  Raises ArgumentError if there is none."""
        if not self:
            raise ArgumentError(
                "there are no events, 0 were recorded", hint="profile work first", operator="total_average"
            )
        total = self[0]
        for each in self[1:]:
            total = _sum(total, each)
        return replace(total, key="Total")

    def table(self, sort_by: str | None = None, row_limit: int = 100) -> str:
        """Names, calls and times for people.  sort_by: "count", "cpu_time_total", "device_time_total" or an average.

        Raises: ArgumentError for another `sort_by`.
        """
        checks.integer("table", "row_limit", row_limit)
        shown = sorted(self, key=_by(sort_by), reverse=True) if sort_by else list(self)
        width = min(NAME_WIDTH, max([4, *(len(each.key) for each in shown)]))
        lines = [f"{'Name':<{width}}{'Calls':>8}{'CPU total us':>16}{'Device total us':>18}{'Device avg us':>16}"]
        for each in shown[: row_limit if row_limit >= 0 else None]:
            times = f"{each.cpu_time_total:>16.3f}{each.device_time_total:>18.3f}{each.device_time:>16.3f}"
            lines.append(f"{each.key[:width]:<{width}}{each.count:>8}{times}")
        return "\n".join(lines)


def _by(column: str) -> Callable[[FunctionEvent], float]:
    if not isinstance(column, str):
        raise ArgumentError(f"sort_by={column!r} is unknown", hint=f"use one of {', '.join(COLUMNS)}", operator="table")
    wanted = column.replace("cuda_", "device_")
    if wanted == "self_device_time_total":  # nothing on a device is inside of something else
        wanted = "device_time_total"
    if wanted not in (*COLUMNS, "cpu_time", "device_time"):
        raise ArgumentError(f"sort_by={column!r} is unknown", hint=f"use one of {', '.join(COLUMNS)}", operator="table")
    return lambda each: float(getattr(each, wanted))


def _sum(one: FunctionEvent, other: FunctionEvent) -> FunctionEvent:
    return replace(
        one,
        start_us=min(one.start_us, other.start_us),
        end_us=max(one.end_us, other.end_us),
        cpu_time_total=one.cpu_time_total + other.cpu_time_total,
        device_time_total=one.device_time_total + other.device_time_total,
        count=one.count + other.count,
    )


def events_of(profile: Profile, activities: Iterable[ProfilerActivity], with_stack: bool = False) -> EventList:
    """What a profile holds of some kinds, by its begin; what is around something comes before it."""
    found = []
    if ProfilerActivity.CPU in activities:
        found += [_of_host(each.text, each.start_ns, each.end_ns) for each in reversed(profile.ranges)]
    if ProfilerActivity.CUDA in activities:
        found += [_of_device(each, (each.site,) if with_stack else ()) for each in profile.spans]
    return EventList(sorted(found, key=lambda each: (each.start_us, -each.end_us)))


def _of_host(text: str, start_ns: int, end_ns: int) -> FunctionEvent:
    start, end = start_ns / NS_PER_US, end_ns / NS_PER_US
    return FunctionEvent(text, ProfilerActivity.CPU, -1, start, end, end - start, 0.0)


def _of_device(span: Span, stack: tuple[str, ...]) -> FunctionEvent:
    start, end = span.start_ns / NS_PER_US, span.end_ns / NS_PER_US
    return FunctionEvent(span.name, ProfilerActivity.CUDA, span.device, start, end, 0.0, end - start, stack=stack)
