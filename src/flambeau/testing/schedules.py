"""Run a small program under every schedule of its streams.

def program(schedule):
    driver = VirtualDriver(virtual_gpus(1, races="real"), schedule)
    ...
    return value

assert outcomes(program) == {7.0}
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from typing import Any, TypeVar

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


class Outcomes(set[Value]):
    """Results of a program.  schedules: by result, the choices of the first schedule that gave it."""

    def __init__(self) -> None:
        super().__init__()
        self.schedules: dict[Value, tuple[int, ...]] = {}


def outcomes(program: Callable[[Replay], Value], limit: int = MAX_SCHEDULES) -> Outcomes[Value]:
    """The set of results of `program` under every schedule.  All NaNs count as one, `math.nan`.

    Raises: ArgumentError if there are more than `limit` schedules.
    Example:
        >>> from flambeau.testing.schedules import outcomes
        >>> results = outcomes(lambda schedule: schedule.choose([3, 4]))
        >>> sorted(results), results.schedules[1]
        ([0, 1], (1,))
    """
    results: Outcomes[Value] = Outcomes()
    for schedule in every_schedule(limit):
        value = _with_one_nan(program(schedule))
        results.add(value)
        results.schedules.setdefault(value, tuple(schedule.taken))
    return results


def _with_one_nan(value: Any) -> Any:
    """The value, with `math.nan` itself for each NaN: sets find it by identity."""
    if isinstance(value, float) and math.isnan(value):
        return math.nan
    return tuple(map(_with_one_nan, value)) if type(value) is tuple else value
