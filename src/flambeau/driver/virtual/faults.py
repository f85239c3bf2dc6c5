"""Injected failures of virtual GPUs: their names, their text form, and the countdowns that the driver reads.

A failure is a name and a value: oom=3 in Python, `oom:3` as text.  Several numbers are a tuple in
Python, (0, 1), and `0:1` as text.  `FORMS` has an example of each.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ...config import is_whole_number, parse_bytes
from ...errors import ArgumentError, ConfigError

FORMS = {
    "oom": "oom:3 or oom:64MiB",
    "launch": "launch:5",
    "device_assert": "device_assert:5",
    "refused": "refused:5",
    "capture": "capture:2",
    "lost_link": "lost_link:0:1",
    "slow_link": "slow_link:0:1:10",
    "kill_worker": "kill_worker:0:3",
    "kill_rank": "kill_rank:1:5",
}
MEANINGS = {  # names of the numbers of values that are tuples
    "lost_link": ("device", "device"),
    "slow_link": ("device", "device", "factor"),
    "kill_worker": ("worker", "batch"),
    "kill_rank": ("rank", "launch"),
}
FROM_ZERO = ("device", "worker", "rank")
OPERATOR = "faults"

_met_in = 0  # id of the process whose first machine has applied FLAMBEAU_FAULTS


def parse(text: str) -> dict[str, Any]:
    """Return the failures of a text such as `oom:3,lost_link:0:1`.  Raises ArgumentError."""
    wanted: dict[str, Any] = {}
    for part in text.split(","):
        name, _, value = part.strip().partition(":")
        if name not in FORMS:
            raise ArgumentError(
                f"{part.strip()!r} is not the name of a failure",
                hint=f"write one of {', '.join(FORMS.values())}",
                operator=OPERATOR,
            )
        if name in wanted:
            raise ArgumentError(f"{name} is given twice in {text!r}", hint=f"give {name} once", operator=OPERATOR)
        numbers = value.split(":")
        if all(map(is_whole_number, numbers)):
            wanted[name] = tuple(map(int, numbers)) if name in MEANINGS else int(numbers[0])
            is_wrong = wanted[name] == 0 or (name not in MEANINGS and len(numbers) != 1)
        else:
            wanted[name], is_wrong = value, name != "oom" or not value
        if is_wrong:
            raise ArgumentError(
                f"{part.strip()!r} is not a valid description of a failure",
                hint=f"write {FORMS[name]}",
                operator=OPERATOR,
            )
        check(name, wanted[name])
    return wanted


def check(name: str, value: Any, devices: int | None = None) -> None:
    """Raise ArgumentError if a value of a failure is wrong.  devices: how many there are, None if that is unknown."""
    if name in MEANINGS:
        if value is not None:
            _check_numbers(name, value, devices)
    elif name == "oom" and isinstance(value, str):
        size_of(value)
    elif not _is_number(value) or value < 0:
        raise ArgumentError(
            f"{name} must be an int of 0 or more, got {value!r}",
            hint="1 is the next call, 0 is none",
            operator=OPERATOR,
        )


def size_of(text: str) -> int:
    """Return the number of bytes in a text such as 64MiB.  Raises ArgumentError."""
    try:
        size = parse_bytes(text)
    except ConfigError as failure:
        raise ArgumentError(f"oom={text!r}: {failure.fact}", hint=failure.hint, operator=OPERATOR) from None
    if size == 0:
        raise ArgumentError(
            f"oom={text!r} is a limit of 0 bytes: every block is larger", hint="write oom:64MiB", operator=OPERATOR
        )
    return size


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_numbers(name: str, value: Any, devices: int | None) -> None:
    meanings = MEANINGS[name]
    example = FORMS[name].partition(":")[2].replace(":", ", ")
    hint = f"pass ({', '.join(meanings)}), as in {name}=({example}) or {FORMS[name]}"
    if not isinstance(value, tuple) or len(value) != len(meanings) or not all(map(_is_number, value)):
        raise ArgumentError(
            f"{name} must be a tuple of {len(meanings)} ints, got {value!r}", hint=hint, operator=OPERATOR
        )
    for what, number in zip(meanings, value):
        if number < (what not in FROM_ZERO):
            raise ArgumentError(
                f"{name} is {value}, and its {what} {number} is too small", hint=hint, operator=OPERATOR
            )
        if what == "device" and devices is not None and number >= devices:
            raise ArgumentError(
                f"{name} is {value}, and there are {devices} devices",
                hint=f"use two device indexes below {devices}",
                operator=OPERATOR,
            )
    if meanings[:2] == ("device", "device") and value[0] == value[1]:
        raise ArgumentError(f"{name} is {value}, with the same device twice", hint=hint, operator=OPERATOR)


class InjectedFailure(Exception):
    """A launch failed because `fail_launch_at` requested it."""


class Countdown:
    """A countdown that triggers once, at the n-th call.  left: the calls until then, 0 if it is off."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = 0

    def strikes(self) -> bool:
        """Count one call; return whether it triggers."""
        if self.left == 0:
            return False
        self.left -= 1
        return self.left == 0


class Faults:
    """Injected failures of one machine.  An n of 1 means the next call.

    is_used: whether any failure was requested; until then, calls skip all checks.
    too_large: blocks of at least this many bytes are refused; 0 refuses none.
    """

    def __init__(self) -> None:
        self.is_used = False
        self.allocation = Countdown()
        self.block = Countdown()
        self.launch = Countdown()
        self.assertion = Countdown()
        self.refusal = Countdown()
        self.capture = Countdown()
        self.kill = Countdown()
        self.too_large = 0
        self._dropped: set[frozenset[int]] = set()
        self._slow: dict[frozenset[int], int] = {}

    def out_of_memory_at(self, n: int) -> None:
        """Make the n-th `mem_alloc` from now fail, once."""
        self.allocation.left, self.is_used = n, True

    def fail_launch_at(self, n: int) -> None:
        """Make the n-th launch from now fail when it runs, which loses its device."""
        self.launch.left, self.is_used = n, True

    def break_capture_at(self, n: int) -> None:
        """Invalidate the capture at the n-th operation captured from now, as another thread might."""
        self.capture.left, self.is_used = n, True

    def drop_peer(self, a: int, b: int) -> None:
        """Remove the link between devices `a` and `b`."""
        self._dropped.add(frozenset((a, b)))

    def is_linked(self, a: int, b: int) -> bool:
        return frozenset((a, b)) not in self._dropped

    def slowdown(self, a: int, b: int) -> int:
        """Return the factor by which a copy between two devices takes longer."""
        return self._slow.get(frozenset((a, b)), 1) if self._slow else 1

    def refuses_block(self, nbytes: int) -> bool:
        """Return whether the allocation of a block is refused."""
        return bool(self.too_large and nbytes >= self.too_large) or self.block.strikes()

    def ask_once(self, text: str, devices: int) -> None:
        """Request the failures of FLAMBEAU_FAULTS.  They apply to the first machine of a process only.

        Raises: ConfigError, which names the variable.
        """
        global _met_in
        try:
            wanted = parse(text)
            for name, value in wanted.items():
                check(name, value, devices)
        except ArgumentError as failure:
            raise ConfigError(f"FLAMBEAU_FAULTS={text!r}: {failure.what}", hint=failure.hint) from None
        if _met_in != os.getpid():
            self.ask(wanted)
        _met_in = os.getpid()

    def ask(self, wanted: dict[str, Any]) -> Callable[[], None]:
        """Inject failures, whose values are already checked, from now on.  Return a function that ends them."""
        self.is_used = True
        countdowns = {
            "oom": self.block,
            "launch": self.launch,
            "device_assert": self.assertion,
            "refused": self.refusal,
            "capture": self.capture,
        }
        before: list[tuple[Countdown, int]] = []
        too_large, dropped, slow = self.too_large, set(self._dropped), dict(self._slow)

        def start(countdown: Countdown, n: int) -> None:
            if n:
                before.append((countdown, countdown.left))
                countdown.left = n

        def end() -> None:
            for countdown, left in before:
                countdown.left = left
            self.too_large, self._dropped, self._slow = too_large, dropped, slow

        for name, value in wanted.items():
            if isinstance(value, str):
                self.too_large = size_of(value)
            elif name in countdowns:
                start(countdowns[name], value)
            elif name == "lost_link":
                self.drop_peer(*value)
            elif name == "slow_link":
                self._slow[frozenset(value[:2])] = value[2]
            elif name == "kill_rank" and os.environ.get("RANK", "") == str(value[0]):
                start(self.kill, value[1])
        return end
