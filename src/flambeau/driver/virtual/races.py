"""Which accesses to the same bytes nothing orders, and what follows from that.

- Every block keeps the uses that streams made of its bytes.  A new touch is compared with those of other streams: bytes
  in common, at least one write, and no happens-before, is a race.
- races="error": the call raises RaceError, which names every use that it races with, and changes nothing.
- races="poison": a reader sees poison in the bytes of the pair, in a copy of its own; two writers leave poison behind,
  each after it ran.  A reader that ran already cannot be told; then the writer leaves poison behind.  So nothing that a
  program sees depends on which of the two came first.
- races="real": the bytes are what the schedule makes them.
- Uses of the same bytes are one group: a reader is compared with its writers alone, however many have read before.
- A write that is ordered after all of a group, and covers it, takes its place: what races with the group from then on
  races with that write.  Commands that have still to read hang on the write's command, for poison to reach them.
- Other uses are dropped when the host knows that they are done, as the history grows.
- Taking a block is a write of its stream: an operation of its own, even where no command is queued for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...vector_clock import Clock, Lane, VectorClocks
from .history import Group, History, Taken, Use
from .memory import Block
from .touch import Overlap, Touch

if TYPE_CHECKING:
    from .queue import Command

FEW_STREAMS = 8  # that used a block: their latest uses are looked at first
HOST = "host"  # the lane of what the host itself does to pinned memory


class Conflict(NamedTuple):
    """A new touch, the use that nothing orders before it, and the bytes in common."""

    touch: Touch
    block: Block
    use: Use
    overlap: Overlap


class Found(NamedTuple):
    """What a comparison found.  covered: groups whose place the new touches will take."""

    conflicts: list[Conflict]
    covered: list[tuple[History, Group]]


class Taking(NamedTuple):
    """The taking of a block.  history: the block's, with what it races with;  covered: what has still to run."""

    history: History
    conflicts: list[Conflict]
    covered: list[Use]


class Races:
    """Compares and records the touches of all commands.

    looked_at: groups and uses that a new touch was compared with so far: what the comparisons cost.
    """

    def __init__(self, clocks: VectorClocks, mode: str) -> None:
        self._clocks = clocks
        self.mode = mode
        self.raises = mode == "error"
        self.looked_at = 0

    def compare(
        self, stream: Lane, touches: Sequence[Touch], blocks: Sequence[Block], histories: Sequence[History]
    ) -> Found | None:
        """What the next operation of a stream races with, in the histories of the blocks; None if nothing is found."""
        if self.mode == "real":
            return None
        found: Found | None = None
        for touch, block, history in zip(touches, blocks, histories):
            if not history.is_of(stream):
                found = found or Found([], [])
                self._compare(stream, touch, block, history, found)
        return found

    def _compare(self, stream: Lane, touch: Touch, block: Block, history: History, found: Found) -> None:
        newest = history.newest if touch.writes else history.newest_write
        if len(newest) <= FEW_STREAMS and all(self._is_ordered(stream, *each) for each in newest.items()):
            return
        for group in history.overlapping(touch.low, touch.high):
            racing = [
                use
                for use in (group.uses() if touch.writes else group.writes.values())
                if not self._is_ordered(stream, use.stream, use.number)
            ]
            self.looked_at += 1 + len(group.writes) + (len(group.reads) if touch.writes else 0)
            if racing:
                overlap = touch.overlap(group.touch)
                if overlap is not None:
                    found.conflicts.extend(Conflict(touch, block, use, overlap) for use in racing)
            elif touch.writes and touch.covers(group.touch):
                found.covered.append((history, group))

    def _is_ordered(self, stream: Lane, other: Lane, number: int) -> bool:
        return other == stream or self._clocks.knows(stream, other, number)

    def record(self, command: Command, found: Found | None, histories: Sequence[History]) -> None:
        """Let later commands be compared with this one, in the histories of the blocks that it touches."""
        if self.mode == "real":
            return
        stream = command.queue.handle
        if found is not None:
            self._cover(command, found.covered)
        for touch, history in zip(command.touches, histories):
            if history.is_full():
                self._drop(history, stream, touch)
            use = history.add(touch, stream, command, command.number)
            if isinstance(command.detail, Taken):
                use.taken = command.detail

    def _cover(self, command: Command, covered: Iterable[tuple[History, Group]]) -> None:
        for history, group in covered:
            history.remove(group)
            command.cover(group.uses())

    def _drop(self, history: History, stream: Lane, touch: Touch) -> None:
        """Drop the uses that the host knows to be done, and those that `touch`, of that stream, covers."""
        kept: list[Group] = []
        for group in history.groups():
            covers = touch.writes and touch.covers(group.touch)
            group.keep(
                use
                for use in group.uses()
                if not self._clocks.host_knows(use.stream, use.number)
                and not (covers and not use.has_to_read and self._is_ordered(stream, use.stream, use.number))
            )
            if not group.is_empty:
                kept.append(group)
        history.renew(kept)

    def mark(self, command: Command | None, stream: Lane, conflicts: Sequence[Conflict]) -> None:
        """Make both sides of every conflict see, or leave, poison.

        command: None for the host, and for the taking of a block, which leaves poison in all of it.
        """
        stack = list(conflicts)
        seen: set[tuple[Touch, Use]] = set()
        while stack:
            conflict = stack.pop()
            if (conflict.touch, conflict.use) in seen:
                continue
            seen.add((conflict.touch, conflict.use))
            self._mark(command, stream, conflict)
            for older in conflict.use.commands:
                stack += self._covered(older, stream, conflict)

    def _covered(self, command: Command, stream: Lane, conflict: Conflict) -> Iterator[Conflict]:
        """The races of a touch with what an older command, which it races with, took the place of."""
        touch, block = conflict.touch, conflict.block
        for use in command.covered or ():
            if self._is_ordered(stream, use.stream, use.number) or not (touch.writes or use.touch.writes):
                continue
            overlap = touch.overlap(use.touch)
            if overlap is not None:
                yield Conflict(touch, block, use, overlap)

    def _mark(self, command: Command | None, stream: Lane, conflict: Conflict) -> None:
        touch, block, use, overlap = conflict
        older = [each for each in use.commands if not self._is_ordered(stream, use.stream, each.number)]
        ran = use.ran and not self._is_ordered(stream, use.stream, use.ran) or any(each.done for each in older)
        if command is not None:
            if touch.writes and (use.touch.writes or ran):
                command.ruin(block.space, overlap)
            if touch.reads and use.touch.writes:
                command.spoil(overlap)
        if not touch.writes:
            return
        pending = [each for each in older if not each.done]
        if use.touch.writes and pending:  # the earlier ones are written over, and who reads them races as well
            pending[-1].ruin(block.space, overlap)
        if use.touch.reads:
            for each in pending:
                each.spoil(overlap)

    # blocks
    def take(self, stream: Lane, touch: Touch, pieces: Sequence[Block]) -> Taking:
        """What the taking of a block at `touch`, over dead blocks, would race with and take the place of."""
        taking = Taking(History(), [], [])
        for piece in pieces if self.mode != "real" else ():
            for group in list(piece.history.overlapping(max(touch.low, piece.low), min(touch.high, piece.high))):
                overlap = touch.overlap(group.touch)
                if overlap is None:
                    continue
                racing = [use for use in group.uses() if not self._is_ordered(stream, use.stream, use.number)]
                taking.conflicts.extend(Conflict(touch, piece, use, overlap) for use in racing)
                taking.covered.extend(use for use in group.uses() if use not in racing)
                if racing:
                    left = Group(group.touch)
                    left.keep(use.copy() for use in racing)  # the dead block's own stay as they are
                    taking.history.put(left)
        return taking

    def taken(self, taking: Taking, stream: Lane, touch: Touch, last: Command, number: int, facts: Taken) -> None:
        """Operation `number` of a stream, behind its command `last`, took a block, for which nothing is queued."""
        if self.mode == "real":
            return
        self.mark(None, stream, taking.conflicts)
        last.cover(taking.covered)
        taking.history.add(touch, stream, last, number).taken = facts

    def forget(self, history: History, clock: Clock, low: int, high: int) -> None:
        """Drop the uses of bytes between two addresses that come before a point which the memory's owner waited for."""
        for group in list(history.overlapping(low, high)):
            group.keep(use for use in group.uses() if clock.reached(use.stream) < use.number)
        history.renew([each for each in history.groups() if not each.is_empty])


def unfinished(blocks: Sequence[Block]) -> list[Command]:
    """The commands that still have to touch one of the blocks, but for those that others have to come after."""
    groups = [group for block in blocks for group in block.history.groups()]
    return [each for group in groups for use in group.uses() for each in use.commands if not each.done]
