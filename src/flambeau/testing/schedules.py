"""Run a small program under every schedule of its streams.

def program(schedule):
    driver = VirtualDriver(virtual_gpus(1, races="real"), schedule)
    ...
    return value

assert outcomes(program) == {7.0}
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import TypeVar

from ..driver.virtual.schedule import Replay
from ..errors import ArgumentError

MAX_SCHEDULES = 10_000

Value = TypeVar("Value", bound=Hashable)


def every_schedule(limit: int = MAX_SCHEDULES) -> Iterator[Replay]:
    """Yield one schedule per distinct interleaving; the caller runs the program, on a new machine, under each.

    Raises: ArgumentError if there are more than `limit`.
    """
    pending: list[tuple[int, ...]] = [()]
    count = 0
    while pending:
        if count == limit:
            raise ArgumentError(
                f"there are more than {limit} interleavings",
                hint="shorten the program or raise limit",
                operator="every_schedule",
            )
        count += 1
        schedule = Replay(pending.pop())
        yield schedule
        for step in range(len(schedule.choices), len(schedule.taken)):
            prefix = tuple(schedule.taken[:step])
            pending += [(*prefix, other) for other in range(1, schedule.ready_counts[step])]


def outcomes(program: Callable[[Replay], Value], limit: int = MAX_SCHEDULES) -> set[Value]:
    """The set of results of `program` under every schedule.

    Raises: ArgumentError if there are more than `limit` schedules.
    """
    return {program(schedule) for schedule in every_schedule(limit)}
