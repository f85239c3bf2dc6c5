"""Vector clocks: the happens-before relation between operations on streams.

- The operations of a stream are numbered from 1, in order.
- A clock holds, per stream, the number of the last operation that is done.  An event keeps the clock of its stream.
- The host submits every operation, so each one also follows everything that the host has waited for.  That is kept
  once, separate from the streams' clocks: a stream may not have learned through events what the host knows.
- Clocks share data: an immutable base, and the changes since the base was made.  So the cost of records,
  waits and operations does not depend on the number of streams that a clock knows.  A base is rebuilt when the changes
  outnumber the square root of its size.

Source: C. Fidge, "Timestamps in message-passing systems that preserve the partial ordering", 1988.
"""

from __future__ import annotations

from collections.abc import Hashable
from math import isqrt
from typing import Protocol

from .core.queue import CallCount

StreamKey = Hashable
UNKNOWN = -1  # no operation of the stream is known; 0 means a wait for the stream before its first operation
FEW_CHANGES = 16  # changes after which a small base is rebuilt


class Base:
    """Immutable numbers by stream.  Of two bases of one owner, the one with the higher serial includes the other."""

    __slots__ = ("numbers", "owner", "serial")

    def __init__(self, owner: StreamKey, serial: int, numbers: dict[StreamKey, int]) -> None:
        self.owner = owner
        self.serial = serial
        self.numbers = numbers


EMPTY = Base(None, 0, {})


class Clock:
    """One point of a stream: its operations up to `number`, and the operations that they follow."""

    __slots__ = ("base", "changes", "stream", "number", "version")

    def __init__(self, stream: StreamKey, number: int, base: Base, changes: dict[StreamKey, int], version: int) -> None:
        self.stream = stream
        self.number = number
        self.base = base
        self.changes = changes
        self.version = version

    def reached(self, stream: StreamKey) -> int:
        """Return the number of the last operation of `stream` that is done."""
        if stream == self.stream:
            return self.number
        return max(self.changes.get(stream, UNKNOWN), self.base.numbers.get(stream, UNKNOWN))


class StreamState(CallCount):
    """A stream's own clock.

    changes: numbers learned since `base`, shared with clocks taken from it if `is_shared`.
    merged: the highest serial of each owner's bases that was merged.
    version: how often the clock changed.
    """

    __slots__ = ("base", "changes", "is_shared", "merged", "serial", "version")

    def __init__(self) -> None:
        self.count = 0
        self.is_waiting = False
        self.base = EMPTY
        self.changes: dict[StreamKey, int] = {}
        self.is_shared = False
        self.merged: dict[StreamKey, int] = {}
        self.serial = 0
        self.version = 0

    def copy(self) -> StreamState:
        state = StreamState()
        self.is_shared = True
        for name in ("count", "is_waiting", *self.__slots__):
            setattr(state, name, getattr(self, name))
        state.merged = dict(self.merged)
        return state

    def reached(self, stream: StreamKey) -> int:
        """Return the result of Clock.reached for any stream but this one."""
        return max(self.changes.get(stream, UNKNOWN), self.base.numbers.get(stream, UNKNOWN))


class ClockWitness(Protocol):
    """Interface of a tool that is notified of each edge of happens-before between streams and the host."""

    def point(self, clock: Clock) -> None:
        """Handle a snapshot of the clock of a stream."""

    def learns(self, stream: StreamKey, clock: Clock) -> None:
        """Handle an order: later operations of a stream follow a point."""

    def host_learns(self, clock: Clock) -> None:
        """Handle a wait of the host: all later operations follow a point."""


class VectorClocks:
    """The clocks of all streams and of the host.  Callers hold a lock of their own.

    streams: each stream's own clock;  host: by stream, the number of the last operation that the host has waited for.
    witness: the tool that is notified, or None.
    steps: numbers compared or copied so far, a measure of cost.
    """

    def __init__(self) -> None:
        self.streams: dict[StreamKey, StreamState] = {}
        self.host: dict[StreamKey, int] = {}
        self._host_merged: dict[StreamKey, int] = {}
        self.steps = 0
        self.witness: ClockWitness | None = None

    def stream(self, stream: StreamKey) -> StreamState:
        state = self.streams.get(stream)
        if state is None:
            state = self.streams[stream] = StreamState()
        return state

    def restore(self, stream: StreamKey, state: StreamState) -> None:
        """Restore a result of `stream(...).copy()`."""
        self.streams[stream] = state

    def advance(self, stream: StreamKey) -> Clock:
        """Number the stream's next operation; return the clock at its completion."""
        state = self.streams.get(stream) or self.stream(stream)
        state.count += 1
        state.is_waiting = False
        state.is_shared = True
        return Clock(stream, state.count, state.base, state.changes, state.version)

    def snapshot(self, stream: StreamKey) -> Clock:
        """Return the clock at the completion of all work submitted to `stream` so far."""
        clock = self._clock(stream, self.stream(stream))
        if self.witness is not None:
            self.witness.point(clock)
        return clock

    def _clock(self, stream: StreamKey, state: StreamState) -> Clock:
        state.is_shared = True
        return Clock(stream, state.count, state.base, state.changes, state.version)

    def learn(self, stream: StreamKey, clock: Clock) -> None:
        """Make the next operations of `stream` follow everything in `clock`."""
        state = self.stream(stream)
        if clock.stream == stream or self.knows(stream, clock.stream, clock.number + 1):
            return  # a later operation of that stream, which is known, follows all of this
        if self.witness is not None:
            self.witness.learns(stream, clock)
        if state.is_shared:
            state.changes = dict(state.changes)
            state.is_shared = False
            self.steps += len(state.changes)
        self._learn_base(stream, state, clock.base)
        for other, number in clock.changes.items():
            self._learn_number(stream, state, other, number)
        self._learn_number(stream, state, clock.stream, clock.number)
        state.version += 1
        state.is_waiting = True
        if len(state.changes) > FEW_CHANGES + isqrt(len(state.base.numbers)):
            self._renew(stream, state, state.base.numbers, state.changes)

    def _learn_base(self, stream: StreamKey, state: StreamState, base: Base) -> None:
        known = state.base
        if base is known or not base.numbers or state.merged.get(base.owner, 0) >= base.serial:
            return
        state.merged[base.owner] = base.serial
        if known is EMPTY or known.owner == base.owner:  # a higher serial includes the lower one
            state.base = base
        else:
            self._renew(stream, state, known.numbers, base.numbers)

    def _learn_number(self, stream: StreamKey, state: StreamState, other: StreamKey, number: int) -> None:
        self.steps += 1
        if other != stream and state.reached(other) < number:
            state.changes[other] = number

    def _renew(
        self, stream: StreamKey, state: StreamState, numbers: dict[StreamKey, int], more: dict[StreamKey, int]
    ) -> None:
        """Give the stream a new base that joins both, without the numbers that the host knows."""
        self.steps += len(numbers) + len(more)
        joined = dict(numbers)
        for other, number in more.items():
            if joined.get(other, UNKNOWN) < number:
                joined[other] = number
        host = self.host
        state.serial += 1
        kept = {other: number for other, number in joined.items() if host.get(other, UNKNOWN) < number}
        state.base = Base(stream, state.serial, kept)
        state.merged[stream] = state.serial
        if more is state.changes:
            state.changes = {}

    def knows(self, stream: StreamKey, other: StreamKey, number: int) -> bool:
        """Return whether the next operation of `stream` follows operation `number` of another stream."""
        if self.host.get(other, UNKNOWN) >= number:
            return True
        state = self.streams.get(stream)
        return state is not None and state.reached(other) >= number

    # the host
    def host_learn(self, clock: Clock) -> None:
        """Record that the host waited for everything in `clock`: all later operations follow it."""
        if self.witness is not None:
            self.witness.host_learns(clock)
        base = clock.base
        if base.numbers and self._host_merged.get(base.owner, 0) < base.serial:
            self._host_merged[base.owner] = base.serial
            self._host_learn_numbers(base.numbers)
        self._host_learn_numbers(clock.changes)
        if self.host.get(clock.stream, UNKNOWN) < clock.number:
            self.host[clock.stream] = clock.number
        self.steps += 1
        state = self.stream(clock.stream)
        if state.version == clock.version:
            state.is_waiting = False

    def _host_learn_numbers(self, numbers: dict[StreamKey, int]) -> None:
        self.steps += len(numbers)
        for stream, number in numbers.items():
            if self.host.get(stream, UNKNOWN) < number:
                self.host[stream] = number

    def host_knows(self, stream: StreamKey, number: int) -> bool:
        """Return whether the host has waited for operation `number` of `stream`."""
        return self.host.get(stream, UNKNOWN) >= number

    def host_knows_all(self, stream: StreamKey) -> bool:
        """Return whether the host has waited for all work of `stream` and for everything that the stream waits for."""
        state = self.stream(stream)
        if self.host.get(stream, UNKNOWN) < state.count:
            return False
        if state.is_waiting and self._host_has(state.changes) and self._host_has(state.base.numbers):
            state.is_waiting = False
        return not state.is_waiting

    def _host_has(self, numbers: dict[StreamKey, int]) -> bool:
        for stream, number in numbers.items():
            self.steps += 1
            if self.host.get(stream, UNKNOWN) < number:
                return False
        return True
