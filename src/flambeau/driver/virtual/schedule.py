"""Schedules of virtual GPUs: the order in which ready streams run.

When two or more streams are ready, a wait asks `choose` which one runs its next command.  The results of a correctly
synchronized program do not depend on the choice.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol

from ...config import SCHEDULES_HINT, is_whole_number
from ...errors import ArgumentError, ConfigError
from ..api import StreamHandle


class Schedule(Protocol):
    """A schedule picks streams.  ancestors_only: a wait runs only the commands that it needs; else any ready one."""

    ancestors_only: bool = False

    def stream_made(self, stream: StreamHandle) -> None:
        """Handle the creation of a stream, or the first use of a default stream."""
        return None

    def choose(self, ready: Sequence[StreamHandle]) -> int:
        """Return the index of the stream that runs its first command next; `ready` is in order of submission."""
        ...


REPLAY_HINT = "a schedule fits the program that it was found with, unchanged, under races=real"


class Submission(Schedule):
    """Runs commands in submission order, and only those that the wait needs."""

    ancestors_only = True

    def choose(self, ready: Sequence[StreamHandle]) -> int:
        return 0


class Seeded(Schedule):
    """Runs a random ready stream.  Equal seeds give equal choices."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def choose(self, ready: Sequence[StreamHandle]) -> int:
        return self._random.randrange(len(ready))


class Delay(Schedule):
    """Delays one stream behind all others: the stream with `handle`, or number `ordinal` in creation order.

    Streams count from 0 in the order in which the machine made or adopted them.
    """

    def __init__(self, ordinal: int | None = None, *, handle: StreamHandle | None = None) -> None:
        self._to_come = ordinal
        self._delayed = handle

    def stream_made(self, stream: StreamHandle) -> None:
        if self._to_come is not None:
            if self._to_come == 0:
                self._delayed = stream
            self._to_come -= 1

    def choose(self, ready: Sequence[StreamHandle]) -> int:
        return 1 if ready[0] == self._delayed else 0


class Replay(Schedule):
    """Repeats given choices, then picks the first.  taken: the choices made;  ready_counts: how many were ready.

    A choice that is out of range raises ArgumentError once and ends the repetition, so that work can still finish.
    """

    def __init__(self, choices: Sequence[int] = ()) -> None:
        self.choices = tuple(choices)
        self.taken: list[int] = []
        self.ready_counts: list[int] = []

    def choose(self, ready: Sequence[StreamHandle]) -> int:
        step = len(self.taken)
        choice = self.choices[step] if step < len(self.choices) else 0
        if not 0 <= choice < len(ready):
            self.choices = self.choices[:step]
            raise ArgumentError(
                f"choice {choice} at step {step}, but {len(ready)} streams are ready",
                hint=REPLAY_HINT,
                operator="Replay",
            )
        self.taken.append(choice)
        self.ready_counts.append(len(ready))
        return choice

    @property
    def surplus(self) -> str:
        """Return a note about given choices that were not used, "" if all were."""
        given, used = len(self.choices), len(self.taken)
        if used >= given:
            return ""
        return f"the schedule has {given} choice{'s' * (given != 1)}, of which the program used {used}"


def from_text(text: str) -> Schedule:
    """Return the schedule that `submission`, `seeded:N`, `delay:N` or `replay:N,N` names.  Raises ConfigError."""
    name, _, number = text.partition(":")
    if text == "submission":
        return Submission()
    if name == "seeded" and is_whole_number(number):
        return Seeded(int(number))
    if name == "delay" and is_whole_number(number):
        return Delay(int(number))
    if name == "replay":
        return Replay([int(part) for part in number.split(",") if part])
    raise ConfigError(f"virtual GPUs: schedule={text!r} is unknown", hint=SCHEDULES_HINT)
