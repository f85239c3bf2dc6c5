"""Race detection: conflicting accesses that are not ordered by happens-before, and their error text.

- Every block keeps an access history per stream.  A new access races with an access of another stream if they share
  bytes, at least one writes, and neither happens before the other.
- races="error": the call raises RaceError, which names every conflicting access, and changes nothing.
- races="poison": a reader reads poison in the shared bytes, from a private copy.  Of two writers, each writes poison
  to the shared bytes after it ran.  If the reader already ran, the writer does.  So no result depends on their order.
- races="real": the bytes depend on the schedule.
- Accesses to the same bytes form a group: a reader is compared with its writers only.
- A write that is ordered after a whole group and covers it replaces it: later races are races with that write.
  Commands that have not read yet are linked to the write's command, so that poison reaches them.
- Other accesses are dropped when the history has grown and the host has waited for them.
- Allocating a block is a write of its stream: a separate operation, even if no command is queued for it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ...callers import operator_of, shown_site
from ...errors import MissingWait, RaceAccess, RaceError
from ...vector_clock import Clock, ClockWitness, StreamKey, VectorClocks
from .access import TAKING, Group, History, MemoryAccess, Overlap, Taken, Use
from .memory import Block
from .queue import WAITS_KEPT, Queue

if TYPE_CHECKING:
    from .events import Waited
    from .submission import Command

FEW_STREAMS = 8  # for at most this many streams of a block, the latest uses are compared first
HOST = "host"  # the stream key of host accesses to pinned memory


class Conflict(NamedTuple):
    """A race: a new access, an older use that is not ordered before it, and the bytes they share."""

    access: MemoryAccess
    block: Block
    use: Use
    overlap: Overlap


class Comparison(NamedTuple):
    """The result of a comparison.  covered: groups that the new accesses replace."""

    conflicts: list[Conflict]
    covered: list[tuple[History, Group]]


class Taking(NamedTuple):
    """The allocation of a block.  history: its new access history;  covered: older uses that it replaces."""

    history: History
    conflicts: list[Conflict]
    covered: list[Use]


class Place(NamedTuple):
    """The place of a call in the order of all calls.

    number: on its stream;  sequence: among all operations.
    place: among the reports to the witness, or IN_PART (deferred.py).
    """

    number: int
    sequence: int
    place: int


class Witness(ClockWitness, Protocol):
    """Interface of a tool that is notified of every operation and every race.  It must not affect them.

    place: that of its next report.  `began` reports a call of an earlier place.
    """

    place: int

    def begins(self, queue: Queue | None, number: int, site: str) -> None:
        """Handle the start of the comparison of operation `number` of a stream, or of an access of the host."""

    def began(self, queue: Queue, at: Place, site: str) -> None:
        """Handle what `begins` does for a deferred operation, after later ones: it belongs before report `at.place`."""

    def submitted(self, command: Command) -> None:
        """Handle the submission of a command to a queue."""

    def found(
        self,
        queue: Queue | None,
        name: str,
        call: tuple[str, str],
        waited: Sequence[Waited],
        conflicts: Sequence[Conflict],
        accesses: Sequence[MemoryAccess],
    ) -> None:
        """Handle a race of an operation, with the arguments of `race_error` and all accesses of the operation."""


class Races:
    """Compares and records the accesses of all commands.

    witness: the tool that is notified, or None.
    looks: whether accesses are compared.
    explains: whether the source lines of waits, records and allocations are kept for reports.
    explores: whether a schedule may run more than a wait needs; it then also orders racing allocations.
    poisoned: how many racing accesses became poison;  first: the lines of the first pair.
    host_waited: the latest waits of the host for events, kept if `explains`.
    looked_at: the number of groups and uses compared so far, a measure of cost.
    """

    def __init__(self, clocks: VectorClocks, mode: str, explores: bool = False) -> None:
        self._clocks = clocks
        self.explores = explores
        self.mode = mode
        self.raises = mode == "error"
        self.watch(None)
        self.poisoned = 0
        self.first: tuple[str, str] | None = None
        self.looked_at = 0
        self.host_waited: deque[Waited] = deque(maxlen=WAITS_KEPT)

    def watch(self, witness: Witness | None) -> None:
        """Report races to a tool from now on; None ends it."""
        self.witness = witness
        self.looks = self.mode != "real" or self.explores or witness is not None
        self.explains = self.raises or witness is not None

    def meet(
        self,
        queue: Queue | None,
        name: str,
        call: tuple[str, str],
        waited: Sequence[Waited],
        conflicts: Sequence[Conflict],
        accesses: Sequence[MemoryAccess] = (),
    ) -> None:
        """Report the races of an operation.  Raises RaceError under races="error".

        A wait of the host orders the work of all streams, so a report of a stream's race explains those waits too.
        """
        if queue is not None and self.explains:
            waited = [*self.host_waited, *waited]  # a stream's own waits are explained first
        if self.witness is not None:
            self.witness.found(queue, name, call, waited, conflicts, accesses)
        if self.raises:
            raise race_error(queue, name, call, waited, conflicts)
        if self.mode == "poison":
            self.poisoned += 1
            if self.first is None:
                self.first = older_side(conflicts[0].use).site, call[0]

    def take_note(self) -> str:
        """Return a note about accesses that became poison since the last call, "" if there were none."""
        if self.first is None:
            return ""
        one, other = map(shown_site, self.first)
        count = "1 unordered access" if self.poisoned == 1 else f"{self.poisoned} unordered accesses"
        self.poisoned, self.first = 0, None
        return f"{count} became poison; the first: {one} and {other}"

    def compare(
        self, stream: StreamKey, accesses: Sequence[MemoryAccess], blocks: Sequence[Block], histories: Sequence[History]
    ) -> Comparison | None:
        """Compare a stream's next operation with the histories of blocks; None if there is nothing to compare."""
        if not self.looks:
            return None
        result: Comparison | None = None
        for access, block, history in zip(accesses, blocks, histories):
            if not history.is_of(stream):
                result = result or Comparison([], [])
                self._compare(stream, access, block, history, result)
        return result

    def _compare(
        self, stream: StreamKey, access: MemoryAccess, block: Block, history: History, result: Comparison
    ) -> None:
        newest = history.newest if access.writes else history.newest_write
        if len(newest) <= FEW_STREAMS and all(self._is_ordered(stream, *latest) for latest in newest.items()):
            return
        for group in history.overlapping(access.low, access.high):
            racing = [
                use
                for use in (group.uses() if access.writes else group.writes.values())
                if not self._is_ordered(stream, use.stream, use.number)
            ]
            self.looked_at += 1 + len(group.writes) + (len(group.reads) if access.writes else 0)
            if racing:
                overlap = access.overlap(group.access)
                if overlap is not None:
                    result.conflicts.extend(Conflict(access, block, use, overlap) for use in racing)
            elif access.writes and access.covers(group.access):
                result.covered.append((history, group))

    def _is_ordered(self, stream: StreamKey, other: StreamKey, number: int) -> bool:
        return other == stream or self._clocks.knows(stream, other, number)

    def record(self, command: Command, races: Comparison | None, histories: Sequence[History]) -> None:
        """Add a command to the histories of its blocks, so that later commands are compared with it."""
        if not self.looks:
            return
        if races is not None:
            self._cover(command, races.covered)
        for access, history in zip(command.accesses, histories):
            self.add(command, access, history)

    def add(self, command: Command, access: MemoryAccess, history: History) -> None:
        """Add one access of a command to a history."""
        if history.is_full():
            self._drop(history, command.queue.handle, access)
        use = history.add(access, command.queue.handle, command, command.number)
        if isinstance(command.detail, Taken):
            use.taken = command.detail

    def _cover(self, command: Command, covered: Iterable[tuple[History, Group]]) -> None:
        for history, group in covered:
            history.remove(group)
            command.cover(group.uses())

    def _drop(self, history: History, stream: StreamKey, access: MemoryAccess) -> None:
        """Drop the uses that the host knows to be done, and those that `access`, of that stream, covers."""
        kept: list[Group] = []
        for group in history.groups():
            covers = access.writes and access.covers(group.access)
            group.keep(
                use
                for use in group.uses()
                if not self._clocks.host_knows(use.stream, use.number)
                and not (covers and not use.has_to_read and self._is_ordered(stream, use.stream, use.number))
            )
            if not group.is_empty:
                kept.append(group)
        history.renew(kept)

    def mark(self, command: Command | None, stream: StreamKey, conflicts: Sequence[Conflict]) -> None:
        """Poison both sides of every conflict: reads return poison, writes end as poison.

        command: the newer side; None for the host, and for an allocation, whose whole block is poisoned.
        """
        if self.mode == "real":
            return
        stack = list(conflicts)
        seen: set[tuple[MemoryAccess, Use]] = set()
        while stack:
            conflict = stack.pop()
            if (conflict.access, conflict.use) in seen:
                continue
            seen.add((conflict.access, conflict.use))
            self._mark(command, stream, conflict)
            for older in conflict.use.commands:
                stack += self._covered(older, stream, conflict)

    def _covered(self, command: Command, stream: StreamKey, conflict: Conflict) -> Iterator[Conflict]:
        """Yield the races of an access with uses that a racing older command replaced in the history."""
        access, block = conflict.access, conflict.block
        for use in command.covered or ():
            if self._is_ordered(stream, use.stream, use.number) or not (access.writes or use.access.writes):
                continue
            overlap = access.overlap(use.access)
            if overlap is not None:
                yield Conflict(access, block, use, overlap)

    def _mark(self, command: Command | None, stream: StreamKey, conflict: Conflict) -> None:
        access, block, use, overlap = conflict
        older = [earlier for earlier in use.commands if not self._is_ordered(stream, use.stream, earlier.number)]
        ran = use.ran and not self._is_ordered(stream, use.stream, use.ran) or any(earlier.done for earlier in older)
        if command is not None:
            if access.writes and (use.access.writes or ran):
                command.poison_write(block.space, overlap)
            if access.reads and use.access.writes:
                command.poison_read(overlap)
        if not access.writes:
            return
        pending = [earlier for earlier in older if not earlier.done]
        if use.access.writes and pending:  # earlier writes are overwritten; their readers race as well
            pending[-1].poison_write(block.space, overlap)
        if use.access.reads:
            for earlier in pending:
                earlier.poison_read(overlap)

    # blocks
    def take(self, stream: StreamKey, access: MemoryAccess, pieces: Sequence[Block]) -> Taking:
        """Return the races of allocating a block at `access` over dead blocks, and the accesses that it replaces."""
        taking = Taking(History(), [], [])
        for piece in pieces if self.looks else ():
            if self.mode == "real" and piece.history.is_of(stream):
                continue  # ordered, and no command needs to know which use is replaced
            for group in list(piece.history.overlapping(max(access.low, piece.low), min(access.high, piece.high))):
                overlap = access.overlap(group.access)
                if overlap is None:
                    continue
                racing = [use for use in group.uses() if not self._is_ordered(stream, use.stream, use.number)]
                taking.conflicts.extend(Conflict(access, piece, use, overlap) for use in racing)
                taking.covered.extend(use for use in group.uses() if use not in racing)
                if racing:
                    left = Group(group.access)  # of copies: the dead block's uses must not change
                    left.keep(use.of_former(piece.history) for use in racing)
                    taking.history.put(left)
        return taking

    def taken(
        self, taking: Taking, stream: StreamKey, access: MemoryAccess, last: Command, number: int, facts: Taken
    ) -> None:
        """Record an allocation without a command: operation `number` of a stream, after its command `last`."""
        if not self.looks:
            return
        self.mark(None, stream, taking.conflicts)
        last.cover(taking.covered)
        taking.history.add(access, stream, last, number).taken = facts

    def forget(self, history: History, clock: Clock, low: int, high: int) -> None:
        """Drop the accesses to [low, high) before a point that the memory's owner has waited for."""
        for group in list(history.overlapping(low, high)):
            group.keep(use for use in group.uses() if clock.reached(use.stream) < use.number)
        history.renew([group for group in history.groups() if not group.is_empty])


def unfinished(blocks: Sequence[Block]) -> list[Command]:
    """Return the unfinished commands that access one of the blocks; commands that these follow may be left out."""
    groups = [group for block in blocks for group in block.history.groups()]
    return [command for group in groups for use in group.uses() for command in use.commands if not command.done]


HOST_LABEL = "the host"
FRESH = "the bytes are fresh from the driver: hardware would allow this until they are reused"


def race_error(
    queue: Queue | None, name: str, call: tuple[str, str], waited: Sequence[Waited], conflicts: Sequence[Conflict]
) -> RaceError:
    """Return the error of a call that races with older work.

    queue: the call's stream, None for the host;  waited: its waits so far.
    """
    needed = needed_of(conflicts)
    newer = [newer_side(conflict, queue, name, call) for conflict in needed]
    older = [older_side(conflict.use) for conflict in needed]
    facts = []
    for at, (this, that, conflict) in enumerate(zip(newer, older, needed)):
        shared = _shared(conflict)
        begin = f"nor its access to {shared} after"
        if at == 0:
            where = f"{_on(this, conflict)} at {this.site}"
            begin = f"{this.operator}: {this.verb} {shared} {where}, and nothing orders this after"
        facts.append(f"{begin} {that.operator}, which {that.verb} them {_on(that, conflict)} at {that.site}")
    waiter = HOST_LABEL if queue is None else waiting_queue(queue).label
    missing = tuple(MissingWait(waiter, awaited_queue(conflict.use).label) for conflict in needed)
    hints = [_remedy(queue, name, waiter, [_on_device(awaited_queue(conflict.use), conflict) for conflict in needed])]
    hints += [note for conflict in needed if (note := rerecorded(waiter, waited, conflict.use))]
    if any(conflict.use.taken is not None and conflict.use.taken.is_fresh for conflict in needed):
        hints.append(FRESH)
    queues = [] if queue is None else [waiting_queue(queue)]
    for stream in dict.fromkeys([*queues, *[awaited_queue(conflict.use) for conflict in needed]]):
        if stream.site:
            hints.append(f"{stream.label} was made at {stream.site}")
    low, high = shared_bytes(needed[0])
    sides = newer[0], *older
    return RaceError("; ".join(facts), hint="; ".join(hints), accesses=sides, missing=missing, low=low, high=high)


def needed_of(conflicts: Sequence[Conflict]) -> list[Conflict]:
    """Return one conflict per stream to wait for, the latest work first.

    Conflicts that another wait would order are left out.
    """
    latest: dict[Queue, Conflict] = {}
    for conflict in conflicts:
        known = latest.get(awaited_queue(conflict.use))
        if known is None or _is_later(conflict, known):
            latest[awaited_queue(conflict.use)] = conflict
    ordered = sorted(latest.values(), key=_when, reverse=True)
    return [conflict for conflict in ordered if not any(_comes_after(other.use, conflict.use) for other in ordered)]


def _is_later(conflict: Conflict, known: Conflict) -> bool:
    """Return whether a wait for work of the same stream, or of a graph that it launched, orders the other work too."""
    if _comes_after(conflict.use, known.use):
        return True
    return _when(known) <= _when(conflict) and not _comes_after(known.use, conflict.use)


def _when(conflict: Conflict) -> tuple[int, int]:
    """Return the submission order of the older access; an allocation without a command comes after the last one."""
    return conflict.use.commands[-1].sequence, conflict.use.number


def _comes_after(use: Use, other: Use) -> bool:
    clock = use.commands[-1].clock if use.taken is None or use.taken.clock is None else use.taken.clock
    return use.stream != other.stream and clock is not None and clock.reached(other.stream) >= other.number


def awaited_queue(use: Use) -> Queue:
    """Return the stream to wait for: that of the earlier access, or for a graph's branch that of the launch."""
    return waiting_queue(use.commands[-1].queue)


def waiting_queue(queue: Queue) -> Queue:
    return queue if queue.launched_on is None else queue.launched_on


def newer_side(conflict: Conflict, queue: Queue | None, name: str, call: tuple[str, str]) -> RaceAccess:
    access = conflict.access
    label, device, made_at = (HOST_LABEL, None, "") if queue is None else (queue.label, queue.device, queue.site)
    return RaceAccess(
        _operation(name, call[1]),
        _verb(access, name == TAKING),
        label,
        device,
        access.low,
        access.high,
        call[0],
        made_at,
        *access.form,
    )


def older_side(use: Use) -> RaceAccess:
    command, access, taken = use.commands[-1], use.access, use.taken
    queue = command.queue
    takes = taken is not None or command.name == TAKING
    operation = _operation(TAKING, "") if taken is not None else _operation(command.name, command.called)
    return RaceAccess(
        operation,
        _verb(access, takes),
        queue.label,
        queue.device,
        access.low,
        access.high,
        command.place if taken is None else taken.site or command.place,
        queue.site,
        *access.form,
    )


def _operation(name: str, called: str) -> str:
    if name == HOST:
        return called
    return "allocation" if name == TAKING else operator_of(name, called)


def _verb(access: MemoryAccess, takes: bool) -> str:
    if takes:
        return "takes"
    if access.reads and access.writes:
        return "reads and writes"
    return "writes" if access.writes else "reads"


def shared_bytes(conflict: Conflict) -> tuple[int, int]:
    """Return the first shared byte and the end of the last one."""
    overlap = conflict.overlap
    low, high = overlap.low, overlap.high
    if overlap.ranges is not None:
        one, two = overlap.ranges
        low, high = one.common(two) or (low, high)
    return low, high


def _shared(conflict: Conflict) -> str:
    """Return the text for the shared bytes: their range and location."""
    low, high = shared_bytes(conflict)
    where = "pinned host memory" if conflict.block.device is None else f"device {conflict.block.device}"
    return f"bytes [{low:#x}, {high:#x}) of {where}"


def _on(access: RaceAccess, conflict: Conflict) -> str:
    """Return the name of a stream, with its device if it differs from the bytes' device."""
    if access.device is None:
        return "on the host"
    return f"on {access.stream}" + ("" if access.device == conflict.block.device else f" of device {access.device}")


def _on_device(queue: Queue, conflict: Conflict) -> str:
    return queue.label + ("" if queue.device == conflict.block.device else f" of device {queue.device}")


def _remedy(queue: Queue | None, name: str, waiter: str, awaited: Sequence[str]) -> str:
    streams = ", and for ".join(awaited)
    recorded = f"that {awaited[0] if len(awaited) == 1 else 'each'} records after the earlier access"
    if queue is None:
        return f"before that, synchronize with {streams}, or with an event {recorded}"
    wait = f"use wait_stream, or wait_event on an event {recorded}"
    hint = f"before that, {waiter} must wait for {streams}: {wait}"
    if name == TAKING:
        used = " and ".join(f"{stream} used" for stream in awaited)
        early = f"the memory that {used} was freed too early"
        return f"{early}: call its tensor's record_stream with that stream, or, {hint}"
    return hint


def rerecorded(waiter: str, waited: Sequence[Waited], use: Use) -> str:
    """Return a note if the event was recorded again since the wait that should order the use, else "".

    waiter: who waited, except where the host did.
    """
    for event, point, site, by_host in reversed(waited):
        if point not in event.records:
            continue
        if event.is_mark and len({record.clock.stream for record in event.records}) == 1:  # internal to `wait_stream`
            continue
        for other in event.records:
            if other is point or other.clock.reached(use.stream) < use.number:
                continue
            begin = f"{HOST_LABEL if by_host else waiter} waited at {site} for an event in its record of {point.site}"
            if event.records.index(other) > event.records.index(point):
                again = f"it was recorded again at {other.site}, after the earlier access"
                return f"{begin}; {again}, and not waited for again"
            return f"{begin}, which had replaced that of {other.site}, after the earlier access"
    return ""
