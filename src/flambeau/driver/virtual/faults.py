"""Failures on demand, for tests of what happens when a GPU misbehaves."""

from __future__ import annotations


class InjectedFailure(Exception):
    """A launch failed because `fail_launch_at` said so."""


class Countdown:
    """Strikes once, at the n-th call from when it was set."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = 0

    def strikes(self) -> bool:
        """Count one call."""
        if self.left == 0:
            return False
        self.left -= 1
        return self.left == 0


class Faults:
    """What will fail.  n = 1 is the next call."""

    def __init__(self) -> None:
        self.allocation = Countdown()
        self.launch = Countdown()
        self.capture = Countdown()
        self._dropped: set[frozenset[int]] = set()

    def out_of_memory_at(self, n: int) -> None:
        """The n-th `mem_alloc` from now fails, once."""
        self.allocation.left = n

    def fail_launch_at(self, n: int) -> None:
        """The n-th launch from now fails when it runs, and its device with it."""
        self.launch.left = n

    def break_capture_at(self, n: int) -> None:
        """The n-th piece of work that is captured from now finds its capture broken, as by a call of another thread."""
        self.capture.left = n

    def drop_peer(self, a: int, b: int) -> None:
        """The link between devices `a` and `b` goes away."""
        self._dropped.add(frozenset((a, b)))

    def is_linked(self, a: int, b: int) -> bool:
        return frozenset((a, b)) not in self._dropped
