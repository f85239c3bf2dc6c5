"""Calls of a stream that are deferred: launches, copies and blocks in memory that no other stream uses.

- A segment is private to a stream while the host has waited for all work of the other streams that used it.  The
  stream's calls race with nothing there, so they are only listed, with their places in the order of all calls.
- The list is made, in order, before another stream uses such a segment, and before the driver's rare calls
  (`MakingLock`), but not before it allocates memory: no listed call uses that.
- When the host has waited for calls, everything later follows them.  They are dropped, and only the blocks that are
  still in use are taken (`Deferred.drop`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any, Protocol

from ... import callers
from ...callers import Origin
from ...core.locks import ReentrantLock
from ...core.queue import CallList
from ...vector_clock import UNKNOWN, Base, StreamKey, StreamState, VectorClocks
from .memory import Segment
from .queue import Queue
from .races import Place, Witness

MAX_ADDRESSES = 1 << 16  # that a stream knows to be private, or not
WIDTH = 6  # entries of the lists per call
FULL = WIDTH << 14  # the length of a list that is made
IN_PART = -1  # the place of a launch that was made in part: its accesses outside of the private segments

# where the accesses of a launch are: all, some or none of them in private segments
PRIVATE, MIXED, OUTSIDE = range(3)

Clock = tuple[Base, dict[StreamKey, int], int]  # base, changes and version of a stream's clock


class CallFailure(Exception):
    """A deferred call has failed; the cause says why.

    name: that of the driver's call;  site: the program's line, "" if unknown.
    """

    def __init__(self, first: Any, third: Any) -> None:
        """Describe a call of a list of `Deferred` by its first and third entry."""
        super().__init__()
        self.name = first.call if type(first) is not int else "block_given" if type(third) is int else "block_taken"
        self.site = callers.described(third)[0] if type(third) is tuple else ""


class Stream(Protocol):
    """The state of the stream whose calls are deferred."""

    state: StreamState

    @property
    def queue(self) -> Queue: ...


class Model(Protocol):
    """The methods that carry out deferred calls.  `FollowingEngine` (following.py) implements and documents them."""

    clocks: VectorClocks
    lines: dict[int, Any]

    def make_launch(
        self, alone: Any, loaded: Any, arguments: Any, origin: Origin, at: Place, clock: Clock
    ) -> None: ...
    def skip_launch(self, alone: Any, call: list[Any], clock: Clock) -> None: ...
    def make_block(self, alone: Any, low: int, high: int, origin: Origin, at: Place, clock: Clock) -> None: ...
    def give(self, device: int, low: int, high: int) -> None: ...
    def reuse(self, device: int, bounds: dict[int, int]) -> None: ...
    def take_known(self, alone: Any, low: int, high: int) -> None: ...


class Deferred(CallList):
    """The deferred calls of one stream.

    is_open: whether there are any, so that further ones are deferred;  all: those of the machine that are.
    launches: six entries per launch or copy: its kernel, arguments and origin, and the numbers of its `Place`.
    blocks: six entries per block that was taken or given back: its start, its end, the origin of the former or the
    device of the latter, and the numbers of its place; a block that is given back has those of the call before it.
    state: the stream's clock.  witness: that of the calls.  segments: the private segments.
    inside, outside: addresses that are known to be in private segments or not.  They are emptied when these change, and
    are dicts because lookups are slower in a set of numbers that end in the same bits, as addresses of blocks do.
    """

    __slots__ = ("_alone", "_clock", "_waits", "all", "engine", "outside", "segments")
    state: StreamState
    witness: Witness

    def __init__(self, engine: Model, alone: Stream, everything: dict[Deferred, None]) -> None:
        self.engine, self.limit = engine, FULL
        self._alone = alone
        self.state = alone.state
        self._clock = self._clock_now()  # of the first call
        self._waits: list[tuple[int, int, Clock]] = []  # number of the call before, sequence, clock of later calls
        self.all = everything
        self.is_open = False
        self.launches: list[Any] = []
        self.blocks: list[Any] = []
        self.segments: set[Segment] = set()
        self.inside = {0: None}  # the address of an absent operand
        self.outside: dict[int, None] = {}

    def begin(self, witness: Witness) -> None:
        """Make the deferred calls, and defer those that follow."""
        self.make()
        self._clock = self._clock_now()
        self.witness = witness
        self.is_open = True
        self.all[self] = None

    def _clock_now(self) -> Clock:
        state = self.state
        state.is_shared = True
        return state.base, state.changes, state.version

    def learned(self, sequence: int) -> None:
        """Note that the stream's clock has changed, after operation `sequence` and before later ones."""
        if self.is_open:
            self._waits.append((self.state.count, sequence, self._clock_now()))

    def close(self) -> None:
        """Forget the deferred calls, and defer no more."""
        self.is_open = False
        del self.all[self]
        self.launches, self.blocks, self._waits = [], [], []

    def make(self) -> None:
        """Make the deferred calls.  Raises: CallFailure."""
        self.drop()
        if not self.is_open:
            return
        model, alone, clock, waits = self.engine, self._alone, self._clock, deque(self._waits)
        launches, blocks = self.launches, self.blocks
        self.close()  # until then, other threads may list blocks
        calls = sorted([*_sextuples(launches), *_sextuples(blocks)], key=itemgetter(4))
        first = origin = None
        try:
            for first, second, origin, number, sequence, place in calls:
                while waits and waits[0][1] < sequence:
                    clock = waits.popleft()[2]
                if type(origin) is int:
                    model.give(origin, first, second)
                elif type(first) is int:
                    model.make_block(alone, first, second, origin, Place(number, sequence, place), clock)
                else:
                    model.make_launch(alone, first, second, origin, Place(number, sequence, place), clock)
        except Exception as failure:
            raise CallFailure(first, origin) from failure

    def drop(self) -> None:
        """Drop the calls that the host has waited for, and take the blocks among them that are still in use."""
        if not self.is_open:
            return
        launches, blocks, waits = self.launches, self.blocks, self._waits
        known = self.engine.clocks.host.get(self._alone.queue.handle, UNKNOWN)
        dropped = WIDTH * bisect_right(launches[3::WIDTH], known), WIDTH * bisect_right(blocks[3::WIDTH], known)
        # no call until both lists are split: during one, another thread could list a block
        self.launches, self.blocks = launches[dropped[0] :], blocks[dropped[1] :]
        del launches[dropped[0] :], blocks[dropped[1] :]
        if not self.launches and not self.blocks:
            self.is_open = False
            del self.all[self]
        self._waits = [wait for wait in waits if wait[0] > known]
        self._skip(launches[-WIDTH:], waits, known)
        if blocks:
            self._drop_blocks(blocks)

    def _skip(self, launch: list[Any], waits: list[tuple[int, int, Clock]], known: int) -> None:
        """Make the last launch, if any, the stream's latest operation.  Apply the waits up to operation `known`."""
        clock = self._clock
        for number, sequence, later in waits:
            if launch and sequence < launch[4]:
                clock = later
            if number <= known:
                self._clock = later
        if launch:
            try:
                self.engine.skip_launch(self._alone, launch, clock)
            except Exception as failure:
                raise CallFailure(launch[0], launch[2]) from failure

    def _drop_blocks(self, blocks: list[Any]) -> None:
        """Give back the earlier blocks that the list gives back, and take those that are in use at its end."""
        model, alone = self.engine, self._alone
        taken: dict[int, int] = {}  # the ends of blocks, by their starts
        reused: dict[int, int] = {}
        low = third = None
        try:
            for low, high, third in zip(blocks[::WIDTH], blocks[1::WIDTH], blocks[2::WIDTH]):
                if type(third) is not int:
                    taken[low] = high
                elif taken.pop(low, None) is None:
                    model.give(third, low, high)
                elif reused.get(low, 0) < high:
                    reused[low] = high
            model.reuse(alone.queue.device, reused)
            for low, high in taken.items():
                model.take_known(alone, low, high)
        except Exception as failure:
            raise CallFailure(low, third) from failure

    def leave(self, segment: Segment) -> None:
        """Forget a private segment.  No calls may be deferred."""
        self.segments.discard(segment)
        self.inside = {0: None}

    def note(self, address: int, is_inside: bool) -> None:
        """Remember whether an address is in a private segment."""
        if len(self.inside) + len(self.outside) >= MAX_ADDRESSES:
            self.inside, self.outside = {0: None}, {}
        (self.inside if is_inside else self.outside)[address] = None


def _sextuples(calls: list[Any]) -> Iterator[tuple[Any, Any, Any, Any, Any, Any]]:
    entries = iter(calls)
    return zip(entries, entries, entries, entries, entries, entries)


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
