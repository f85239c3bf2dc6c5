"""Vector clocks: which operations happen before which.

- A lane does one operation after another; a stream is a lane.  Its operations are numbered from 1.
- A clock says, per lane, up to which operation everything is done.  An event keeps the clock of its stream.
- The host submits every operation, so each one also follows whatever the host has waited for.  That is kept once,
  apart from the lanes' clocks: what a lane has not learned through events, the host may know.
- Clocks share what they have in common: a base, which never changes, and what was learned since the base was made.
  So records, waits and operations cost the same however many lanes a clock knows.  A base is made anew when a lane
  has learned about as many numbers as the square root of the size of its base.

Source: C. Fidge, "Timestamps in message-passing systems that preserve the partial ordering", 1988.
"""

from __future__ import annotations

from collections.abc import Hashable
from math import isqrt

Lane = Hashable
UNKNOWN = -1  # what is known of a lane that nothing is known of; 0 if it was waited for before its first operation
FEW_CHANGES = 16  # numbers that a lane learns before it makes a small base anew


class Base:
    """Numbers of lanes, never changed.  Of two bases of one owner, the one with the higher serial knows more."""

    __slots__ = ("numbers", "owner", "serial")

    def __init__(self, owner: Lane, serial: int, numbers: dict[Lane, int]) -> None:
        self.owner = owner
        self.serial = serial
        self.numbers = numbers


EMPTY = Base(None, 0, {})


class Clock:
    """What is done at one point of a lane: the lane's operations up to `number`, and what those came after."""

    __slots__ = ("base", "changes", "lane", "number", "version")

    def __init__(self, lane: Lane, number: int, base: Base, changes: dict[Lane, int], version: int) -> None:
        self.lane = lane
        self.number = number
        self.base = base
        self.changes = changes
        self.version = version

    def reached(self, lane: Lane) -> int:
        """Up to which operation of `lane` everything is done."""
        if lane == self.lane:
            return self.number
        return max(self.changes.get(lane, UNKNOWN), self.base.numbers.get(lane, UNKNOWN))


class LaneState:
    """A lane's own clock.

    changes: what it learned since `base`; shared with clocks that were taken, if `is_shared`.
    merged: the highest serial that it learned of each owner's bases.
    version: how often it learned anything;  is_waiting: it learned something since its last operation.
    """

    __slots__ = ("base", "changes", "count", "is_shared", "is_waiting", "merged", "serial", "version")

    def __init__(self) -> None:
        self.count = 0
        self.base = EMPTY
        self.changes: dict[Lane, int] = {}
        self.is_shared = False
        self.merged: dict[Lane, int] = {}
        self.serial = 0
        self.version = 0
        self.is_waiting = False

    def copy(self) -> LaneState:
        made = LaneState()
        self.is_shared = True
        for name in self.__slots__:
            setattr(made, name, getattr(self, name))
        made.merged = dict(self.merged)
        return made

    def reached(self, lane: Lane) -> int:
        """As of a Clock, for any lane but this one."""
        return max(self.changes.get(lane, UNKNOWN), self.base.numbers.get(lane, UNKNOWN))


class VectorClocks:
    """The clocks of all lanes and of the host.  Callers hold a lock of their own.

    steps: numbers that were compared or copied so far: what the calls cost.
    """

    def __init__(self) -> None:
        self._lanes: dict[Lane, LaneState] = {}
        self._host: dict[Lane, int] = {}
        self._host_merged: dict[Lane, int] = {}
        self.steps = 0

    def lane(self, lane: Lane) -> LaneState:
        state = self._lanes.get(lane)
        if state is None:
            state = self._lanes[lane] = LaneState()
        return state

    def restore(self, lane: Lane, state: LaneState) -> None:
        """Put back what `lane(...).copy()` gave."""
        self._lanes[lane] = state

    def advance(self, lane: Lane) -> Clock:
        """Begin the lane's next operation, and return the clock of the time when it is done."""
        state = self.lane(lane)
        state.count += 1
        state.is_waiting = False
        return self._clock(lane, state)

    def snapshot(self, lane: Lane) -> Clock:
        """The clock of the time when everything so far on `lane` is done."""
        return self._clock(lane, self.lane(lane))

    def _clock(self, lane: Lane, state: LaneState) -> Clock:
        state.is_shared = True
        return Clock(lane, state.count, state.base, state.changes, state.version)

    def learn(self, lane: Lane, clock: Clock) -> None:
        """From its next operation on, `lane` comes after everything in `clock`."""
        state = self.lane(lane)
        if clock.lane == lane or self.knows(lane, clock.lane, clock.number + 1):
            return  # a later operation of that lane, which is known, came after all of this
        if state.is_shared:
            state.changes = dict(state.changes)
            state.is_shared = False
            self.steps += len(state.changes)
        self._learn_base(lane, state, clock.base)
        for other, number in clock.changes.items():
            self._learn_number(lane, state, other, number)
        self._learn_number(lane, state, clock.lane, clock.number)
        state.version += 1
        state.is_waiting = True
        if len(state.changes) > FEW_CHANGES + isqrt(len(state.base.numbers)):
            self._renew(lane, state, state.base.numbers, state.changes)

    def _learn_base(self, lane: Lane, state: LaneState, base: Base) -> None:
        known = state.base
        if base is known or not base.numbers or state.merged.get(base.owner, 0) >= base.serial:
            return
        state.merged[base.owner] = base.serial
        if known is EMPTY or known.owner == base.owner:  # a higher serial: it knows all that the other one does
            state.base = base
        else:
            self._renew(lane, state, known.numbers, base.numbers)

    def _learn_number(self, lane: Lane, state: LaneState, other: Lane, number: int) -> None:
        self.steps += 1
        if other != lane and state.reached(other) < number:
            state.changes[other] = number

    def _renew(self, lane: Lane, state: LaneState, numbers: dict[Lane, int], more: dict[Lane, int]) -> None:
        """Give the lane a base of its own that joins both, without what the host knows."""
        self.steps += len(numbers) + len(more)
        joined = dict(numbers)
        for other, number in more.items():
            if joined.get(other, UNKNOWN) < number:
                joined[other] = number
        host = self._host
        state.serial += 1
        kept = {other: number for other, number in joined.items() if host.get(other, UNKNOWN) < number}
        state.base = Base(lane, state.serial, kept)
        state.merged[lane] = state.serial
        if more is state.changes:
            state.changes = {}

    def knows(self, lane: Lane, other: Lane, number: int) -> bool:
        """Whether the next operation of `lane` comes after operation `number` of another lane."""
        if self._host.get(other, UNKNOWN) >= number:
            return True
        state = self._lanes.get(lane)
        return state is not None and state.reached(other) >= number

    # the host
    def host_learn(self, clock: Clock) -> None:
        """The host has waited for everything in `clock`: all operations from now on come after it."""
        base = clock.base
        if base.numbers and self._host_merged.get(base.owner, 0) < base.serial:
            self._host_merged[base.owner] = base.serial
            self._host_learn_numbers(base.numbers)
        self._host_learn_numbers(clock.changes)
        if self._host.get(clock.lane, UNKNOWN) < clock.number:
            self._host[clock.lane] = clock.number
        self.steps += 1
        state = self.lane(clock.lane)
        if state.version == clock.version:
            state.is_waiting = False

    def _host_learn_numbers(self, numbers: dict[Lane, int]) -> None:
        self.steps += len(numbers)
        for lane, number in numbers.items():
            if self._host.get(lane, UNKNOWN) < number:
                self._host[lane] = number

    def host_knows(self, lane: Lane, number: int) -> bool:
        """Whether the host has waited for operation `number` of `lane`."""
        return self._host.get(lane, UNKNOWN) >= number

    def host_knows_all(self, lane: Lane) -> bool:
        """Whether the host has waited for everything that `lane` has, and for all that it waits for itself."""
        state = self.lane(lane)
        if self._host.get(lane, UNKNOWN) < state.count:
            return False
        if state.is_waiting and self._host_has(state.changes) and self._host_has(state.base.numbers):
            state.is_waiting = False
        return not state.is_waiting

    def _host_has(self, numbers: dict[Lane, int]) -> bool:
        for lane, number in numbers.items():
            self.steps += 1
            if self._host.get(lane, UNKNOWN) < number:
                return False
        return True
