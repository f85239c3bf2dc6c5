"""Calls on one stream that are deferred while nothing runs beside it.

- The host knows all work of the other streams to be done, so calls on this stream race with nothing.  They are only
  listed: launches, copies, and the blocks that are taken and given back.
- The model catches up before it does anything else: acquiring its lock makes the listed calls, in order (`MakingLock`).
- When the host has waited for the stream, everything later follows them.  Then launches and copies are dropped, and
  only the blocks that are still in use are taken (`Deferred.drop`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ... import callers
from ...core.locks import ReentrantLock
from ...vector_clock import UNKNOWN, VectorClocks
from .capture import Captures
from .queue import Queue
from .races import Races

if TYPE_CHECKING:
    from ...callers import Origin
    from .events import Generation

MAX_CALLS = 1 << 14  # a longer list is made
FEW_STREAMS = 32  # with more streams, nothing is deferred: each one is looked at before the list begins
WIDTH = 3  # entries of the list per call


class Wait:
    """A wait of the host for streams.  points: of these streams when it began; None while that is deferred."""

    __slots__ = ("_point", "points", "queues")

    def __init__(self, queues: Sequence[Queue], point: Callable[[Queue], Generation]) -> None:
        self.queues = queues
        self.points: list[Generation] | None = None
        self._point = point

    def begin(self) -> list[Generation]:
        """Set and return the points."""
        self.points = [self._point(queue) for queue in self.queues]
        return self.points


class CallFailure(Exception):
    """A deferred call has failed; the cause says why.

    name: that of the driver's call;  site: the program's line, "" if unknown.
    """

    def __init__(self, first: Any, third: Any) -> None:
        """Describe a call of the list (`Deferred.calls`) by its first and third entry."""
        super().__init__()
        self.name, self.site = "launch", ""
        if type(third) is int:
            self.name = "block_given"
        elif type(first) is int:
            self.name = "block_taken"
        elif callable(first):
            self.name = first.__name__
        if type(third) is tuple:
            self.site = callers.described(third)[0]


class Lone(Protocol):
    """The state of the stream whose calls are deferred."""

    @property
    def queue(self) -> Queue: ...


class Model(Protocol):
    """The methods that carry out deferred calls.  `FollowingEngine` (following.py) implements and documents them."""

    captures: Captures
    clocks: VectorClocks
    races: Races

    def make_launch(self, alone: Any, loaded: Any, arguments: Any, origin: Origin) -> None: ...
    def make_block(self, alone: Any, low: int, high: int, origin: Origin) -> None: ...
    def call_as(self, origin: Origin, function: Callable[..., None], arguments: tuple[Any, ...]) -> None: ...
    def give(self, device: int, low: int, high: int) -> None: ...
    def reuse(self, device: int, bounds: dict[int, int]) -> None: ...
    def take_known(self, alone: Any, low: int, high: int) -> None: ...


class Deferred:
    """The deferred calls of one machine.

    alone: the state of their stream, None if nothing is deferred.
    calls: three entries per call.  A launch: its kernel, arguments and origin.  A copy: a function, its arguments and
    their origin.  A block that was taken: its bounds and the origin; one given back: its bounds and the device.
    may_begin: whether another stream may have become idle since `begin` failed.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.alone: Lone | None = None
        self.calls: list[Any] = []
        self.may_begin = True

    def add(self, first: Any, second: Any, third: Any) -> None:
        """Append a call."""
        self.calls += (first, second, third)
        if len(self.calls) >= MAX_CALLS * WIDTH:
            self.make()

    def begin(self, alone: Lone) -> None:
        """Defer the stream's calls from now on, unless something runs beside it."""
        self.end()
        if self.may_begin:
            self.may_begin = self._is_only(alone)
            if self.may_begin:
                self.alone = alone

    def _is_only(self, alone: Lone) -> bool:
        model, handle = self._model, alone.queue.handle
        streams, host = model.clocks.streams, model.clocks.host
        if model.races.witness is None or model.captures.active or len(streams) > FEW_STREAMS:
            return False
        return all(
            [stream == handle or host.get(stream, UNKNOWN) >= state.count or not state.count
             for stream, state in streams.items()]
        )  # fmt: skip

    def make(self) -> None:
        """Make the deferred calls.  Raises: CallFailure."""
        alone, calls, self.calls = self.alone, self.calls, []
        if not calls:
            return
        assert alone is not None
        model = self._model
        first = third = None
        try:
            for first, second, third in _triples(calls):
                if type(third) is int:
                    model.give(third, first, second)
                elif type(first) is int:
                    model.make_block(alone, first, second, third)
                elif type(first) is Wait:
                    first.begin()
                elif callable(first):
                    model.call_as(third, first, second)
                else:
                    model.make_launch(alone, first, second, third)
        except Exception as failure:
            raise CallFailure(first, third) from failure

    def end(self) -> None:
        """Make the deferred calls, and defer none from now on."""
        if self.alone is not None:
            self.make()
            self.alone = None

    def wait(self, wait: Wait) -> None:
        """Begin a wait of the host.  It need not make the calls on the stream if it waits for that one."""
        if self.alone is not None and self.alone.queue in wait.queues:
            self.add(wait, (), None)
        else:
            self.end()
            wait.begin()

    def forget(self, wait: Wait) -> None:
        """Forget the latest wait, which did not end: a program may query a stream many times."""
        if self.calls and self.calls[-WIDTH] is wait:
            del self.calls[-WIDTH:]

    def drop(self, wait: Wait) -> list[Generation]:
        """Drop the calls before a wait that has ended; return its points.  Other calls may have been made meanwhile."""
        self.may_begin = True
        at, alone, calls = 0, self.alone, self.calls
        if wait.points is None:
            at = next(at for at in range(len(calls) - WIDTH, -1, -WIDTH) if calls[at] is wait)
        if wait.points is not None or _takes(calls[at:]):  # another thread took a block before the host knew of the end
            self.end()
            assert wait.points is not None
            return wait.points
        assert alone is not None
        self.calls = calls[at + WIDTH :]
        model = self._model
        taken: dict[int, int] = {}  # the ends of blocks, by their starts
        reused: dict[int, int] = {}
        for first, second, third in _triples(calls[:at]):
            if type(third) is int:
                if taken.pop(first, None) is None:
                    model.give(third, first, second)
                elif reused.get(first, 0) < second:
                    reused[first] = second
            elif type(first) is int:
                taken[first] = second
            elif type(first) is Wait:
                first.begin()
        model.reuse(alone.queue.device, reused)
        for low, high in taken.items():
            model.take_known(alone, low, high)
        return wait.begin()


def _takes(calls: list[Any]) -> bool:
    """Return whether one of the calls takes a block."""
    return any([type(first) is int and type(third) is not int for first, _, third in _triples(calls)])


def _triples(calls: list[Any]) -> Iterator[tuple[Any, Any, Any]]:
    entries = iter(calls)
    return zip(entries, entries, entries)


class MakingLock(ReentrantLock):
    """The lock of a model.  Acquiring it makes all deferred calls.

    make: the function that makes them;  plain: a lock on the same mutex, which leaves them deferred.
    """

    __slots__ = ("make", "plain")

    def __init__(self) -> None:
        super().__init__()
        self.plain = ReentrantLock()
        self.plain.inner = self.inner
        self.make: Callable[[], None] = _nothing

    def acquire(self) -> None:
        super().acquire()
        self.make()

    __enter__ = acquire


def _nothing() -> None:
    """Do nothing: the machine is being made."""
