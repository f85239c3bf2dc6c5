"""Which accesses to the same bytes nothing orders, and what follows from that.

- Every block keeps, per stream, the touches of the commands queued on it.  A new touch is compared with those of other
  streams: bytes in common, at least one write, and no happens-before, is a race.
- races="error": the second call raises RaceError and changes nothing.
- races="poison": a reader sees poison in the bytes of the pair, in a copy of its own; two writers leave poison behind,
  each after it ran.  So nothing that a program sees depends on which of the two came first.
- races="real": the bytes are what the schedule makes them.
- Touches of the same bytes on one stream share an entry, which holds its unfinished commands: each of them may still
  have to see poison.  An entry is dropped when the host knows that it is done, or when a write ordered after it covers
  it and none of its commands still has to read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...errors import RaceError
from ...order import Clock, Order
from ...trace import operator_of
from ..api import StreamHandle
from .memory import Block
from .touch import TAKING, ByteRange, Touch

if TYPE_CHECKING:
    from .queue import Command, Queue

FEW_ENTRIES = 16  # a lane with more than these is searched for entries to drop


class Entry:
    """A touch, the number of the latest command that made it, and those of its commands that may be unfinished."""

    __slots__ = ("commands", "number", "touch")

    def __init__(self, touch: Touch) -> None:
        self.touch = touch
        self.number = 0
        self.commands: deque[Command] = deque()

    def add(self, command: Command) -> None:
        while self.commands and self.commands[0].done:
            self.commands.popleft()
        self.commands.append(command)
        self.number = command.number

    def is_covered(self, touch: Touch) -> bool:
        """Whether `touch`, a write ordered after this entry, speaks for it too."""
        return touch.covers(self.touch) and (not self.touch.reads or self.commands[-1].done)


class Lane:
    """The touches of one stream on one block."""

    __slots__ = ("entries", "limit", "number")

    def __init__(self) -> None:
        self.entries: dict[tuple[object, ...], Entry] = {}
        self.number = 0
        self.limit = FEW_ENTRIES

    def part(self, low: int, high: int) -> Lane | None:
        """The lane of the bytes [low, high) alone, or None if nothing touched them."""
        part = Lane()
        part.entries = {
            key: entry for key, entry in self.entries.items() if entry.touch.low < high and low < entry.touch.high
        }
        part.number = max((entry.number for entry in part.entries.values()), default=0)
        part.limit = max(FEW_ENTRIES, len(part.entries))
        return part if part.entries else None


History = dict[StreamHandle, Lane]


class Conflict(NamedTuple):
    """A new touch, the older entry that nothing orders before it, and the bytes in common."""

    touch: Touch
    block: Block
    stream: StreamHandle
    entry: Entry
    ranges: list[ByteRange]


class Races:
    """Compares and records the touches of all commands."""

    def __init__(self, order: Order, mode: str) -> None:
        self._order = order
        self._mode = mode
        self.wants_sites = mode == "error"

    def check(
        self, queue: Queue, name: str, call: tuple[str, str], touches: Sequence[Touch], blocks: Sequence[Block]
    ) -> list[Conflict]:
        """The races of a command that is about to be queued, by the call that trace.call() told of.

        Raises: RaceError under races="error".
        """
        found: list[Conflict] = []
        if self._mode == "real":
            return found
        stream = queue.handle
        for touch, block in zip(touches, blocks):
            history = block.history
            if len(history) > 1 or (history and stream not in history):
                found += self._compare(stream, touch, block)
        if found and self._mode == "error":
            raise _race_error(found[-1], queue, name, call)
        return found

    def _compare(self, stream: StreamHandle, touch: Touch, block: Block) -> list[Conflict]:
        found: list[Conflict] = []
        known = self._order.snapshot(stream)
        for other, lane in block.history.items():
            if other == stream or self._is_before(known, other, lane.number):
                continue
            for entry in lane.entries.values():
                if not (touch.writes or entry.touch.writes) or self._is_before(known, other, entry.number):
                    continue
                if ranges := touch.overlap(entry.touch):
                    found.append(Conflict(touch, block, other, entry, ranges))
        return found

    def _is_before(self, known: Clock, stream: StreamHandle, number: int) -> bool:
        return known.get(stream, 0) >= number or self._order.host_knows(stream, number)

    def record(self, command: Command) -> None:
        """Let later commands be compared with this one."""
        stream = command.queue.handle
        for touch, block in zip(command.touches, command.blocks):
            lane = block.history.get(stream)
            if lane is None:
                lane = block.history[stream] = Lane()
            entry = lane.entries.get(touch.key)
            if entry is None:
                if len(lane.entries) >= lane.limit:
                    self._prune(lane, stream, touch)
                entry = lane.entries[touch.key] = Entry(touch)
            entry.add(command)
            lane.number = command.number

    def _prune(self, lane: Lane, stream: StreamHandle, touch: Touch) -> None:
        lane.entries = {
            key: entry
            for key, entry in lane.entries.items()
            if not self._order.host_knows(stream, entry.number) and not (touch.writes and entry.is_covered(touch))
        }
        lane.limit = max(FEW_ENTRIES, 2 * len(lane.entries))

    def mark(self, command: Command, conflicts: Sequence[Conflict]) -> None:
        """Make both sides of every conflict see, or leave, poison."""
        for touch, block, stream, entry, ranges in conflicts:
            if touch.writes and entry.touch.writes:
                command.ruin(block.space, ranges)
            if touch.reads and entry.touch.writes:
                command.spoil(ranges)
            if not touch.writes:
                continue
            for older in entry.commands:
                if older.done or self._is_before(command.known, stream, older.number):
                    continue
                if entry.touch.writes:
                    older.ruin(block.space, ranges)
                if entry.touch.reads:
                    older.spoil(ranges)

    def retake(self, block: Block, stream: StreamHandle, last: Command | None) -> bool:
        """Begin the history of a dead block that `stream` takes again after its command `last`.

        False if another stream used the block, or if reports shall name the taking: then it wants a command of its own.
        """
        history = block.history
        if self.wants_sites or len(history) > 1 or (history and stream not in history):
            return False
        block.history = {}
        if last is None or self._mode == "real" or self._order.host_knows(stream, last.number):
            return True
        touch = Touch.whole(block.low, block.high)
        entry = Entry(touch)
        entry.add(last)
        lane = block.history[stream] = Lane()
        if stream in history:  # what has still to be read is not covered by the taking
            lane.entries = {key: each for key, each in history[stream].entries.items() if not each.is_covered(touch)}
        lane.entries[touch.key] = entry
        lane.number = last.number
        return True

    def inherit(self, pieces: Sequence[Block], touch: Touch, stream: StreamHandle) -> History:
        """The history of a block at `touch` that is taken for `stream` over dead `pieces`."""
        history: History = {}
        known = self._order.snapshot(stream)
        for piece in pieces:
            for other, lane in piece.history.items():
                if self._order.host_knows(other, lane.number):
                    continue
                if part := lane.part(touch.low, touch.high):
                    part.entries = {
                        key: entry
                        for key, entry in part.entries.items()
                        if not (self._is_before(known, other, entry.number) and entry.is_covered(touch))
                    }
                    _join(history, other, part)
        return history


def unfinished(blocks: Sequence[Block]) -> list[Command]:
    """The commands that still have to touch one of the blocks."""
    lanes = [lane for block in blocks for lane in block.history.values()]
    return [each for lane in lanes for entry in lane.entries.values() for each in entry.commands if not each.done]


def _join(history: History, stream: StreamHandle, part: Lane) -> None:
    if not part.entries:
        return
    lane = history.setdefault(stream, part)
    if lane is not part:
        lane.entries |= part.entries
        lane.number = max(lane.number, part.number)


def _race_error(conflict: Conflict, queue: Queue, name: str, call: tuple[str, str]) -> RaceError:
    touch, block, _, entry, ranges = conflict
    older = entry.commands[-1]
    here, there = _on(queue, block), _on(older.queue, block)
    low, high = ranges[0][0], ranges[-1][1]
    where = "pinned host memory" if block.device is None else f"device {block.device}"
    site, called = call
    wait = "use wait_stream, or wait_event on an event recorded after the other"
    hint = f"before that, {here} must wait for {there}: {wait}"
    if name == TAKING:
        hint = f"what {there} used was freed too early: call its record_stream with that stream, or, {hint}"
    return RaceError(
        f"{_mode(touch, name)} bytes [{low:#x}, {high:#x}) of {where} on {here} "
        f"at {site}, and nothing orders this after {_told(older.name, older.called)}, which "
        f"{_mode(entry.touch, older.name)} them on {there} at {older.site}",
        hint=hint,
        operator=_told(name, called),
    )


def _on(queue: Queue, block: Block) -> str:
    """A stream, with its device where that is not the one of the bytes."""
    return queue.label if queue.device == block.device else f"{queue.label} of device {queue.device}"


def _told(name: str, called: str) -> str:
    return "allocation" if name == TAKING else operator_of(name, called)


def _mode(touch: Touch, name: str) -> str:
    if name == TAKING:
        return "takes"
    if touch.reads and touch.writes:
        return "reads and writes"
    return "writes" if touch.writes else "reads"
