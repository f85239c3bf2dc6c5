"""What a RaceError says: both sides of every race with their lines, and all the waits that are missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...callers import operator_of
from ...errors import MissingWait, RaceAccess, RaceError
from .history import Use
from .queue import Queue
from .races import HOST, Conflict
from .touch import TAKING, Touch

if TYPE_CHECKING:
    from .events import Waited

HOST_LABEL = "the host"
FRESH = "the bytes are fresh from the driver: hardware would allow this, until they are used again"


def race_error(
    queue: Queue | None, name: str, call: tuple[str, str], waited: Sequence[Waited], conflicts: Sequence[Conflict]
) -> RaceError:
    """The error of a call that races with older work.

    queue: the call's stream, None for what the host does;  waited: the waits that it made so far.
    """
    found = _needed(conflicts)
    newer = [_newer(each, queue, name, call) for each in found]
    older = [_older(each.use) for each in found]
    facts = []
    for at, (this, that, conflict) in enumerate(zip(newer, older, found)):
        shared = _shared(conflict)
        begin = f"nor its access to {shared} after"
        if at == 0:
            where = f"{_on(this, conflict)} at {this.site}"
            begin = f"{this.operator}: {this.verb} {shared} {where}, and nothing orders this after"
        facts.append(f"{begin} {that.operator}, which {that.verb} them {_on(that, conflict)} at {that.site}")
    waiter = HOST_LABEL if queue is None else _waiting(queue).label
    missing = tuple(MissingWait(waiter, _awaited(each.use).label) for each in found)
    hints = [_remedy(queue, name, waiter, [_on_device(_awaited(each.use), each) for each in found])]
    hints += [note for each in found if (note := _rerecorded(waiter, waited, each.use))]
    if any(each.use.taken is not None and each.use.taken.is_fresh for each in found):
        hints.append(FRESH)
    queues = [] if queue is None else [_waiting(queue)]
    for each in dict.fromkeys([*queues, *[_awaited(each.use) for each in found]]):
        if each.site:
            hints.append(f"{each.label} was made at {each.site}")
    return RaceError("; ".join(facts), hint="; ".join(hints), accesses=(newer[0], *older), missing=missing)


def _needed(conflicts: Sequence[Conflict]) -> list[Conflict]:
    """One conflict per stream to wait for, the latest work first, without those that waiting for another one orders."""
    latest: dict[Queue, Conflict] = {}
    for each in conflicts:
        known = latest.get(_awaited(each.use))
        if known is None or _when(known) <= _when(each):
            latest[_awaited(each.use)] = each
    found = sorted(latest.values(), key=_when, reverse=True)
    return [each for each in found if not any(_comes_after(other.use, each.use) for other in found)]


def _when(conflict: Conflict) -> tuple[int, int]:
    """When the older use was submitted.  A block is taken, mostly, without a command: behind the last one."""
    return conflict.use.commands[-1].sequence, conflict.use.number


def _comes_after(use: Use, other: Use) -> bool:
    clock = use.commands[-1].clock
    return use.stream != other.stream and clock is not None and clock.reached(other.stream) >= other.number


def _awaited(use: Use) -> Queue:
    """The stream that a wait for the use has to name: for a branch of a graph, the one that launched it."""
    return _waiting(use.commands[-1].queue)


def _waiting(queue: Queue) -> Queue:
    return queue if queue.launched_on is None else queue.launched_on


def _newer(conflict: Conflict, queue: Queue | None, name: str, call: tuple[str, str]) -> RaceAccess:
    touch = conflict.touch
    label, device = (HOST_LABEL, None) if queue is None else (queue.label, queue.device)
    return RaceAccess(_told(name, call[1]), _verb(touch, name == TAKING), label, device, touch.low, touch.high, call[0])


def _older(use: Use) -> RaceAccess:
    command, touch, taken = use.commands[-1], use.touch, use.taken
    queue = command.queue
    if taken is not None:
        return RaceAccess(
            _told(TAKING, ""), _verb(touch, True), queue.label, queue.device, touch.low, touch.high, taken.site
        )
    return RaceAccess(
        _told(command.name, command.called),
        _verb(touch, command.name == TAKING),
        queue.label,
        queue.device,
        touch.low,
        touch.high,
        command.place,
    )


def _told(name: str, called: str) -> str:
    if name == HOST:
        return called
    return "allocation" if name == TAKING else operator_of(name, called)


def _verb(touch: Touch, takes: bool) -> str:
    if takes:
        return "takes"
    if touch.reads and touch.writes:
        return "reads and writes"
    return "writes" if touch.writes else "reads"


def _shared(conflict: Conflict) -> str:
    """The bytes in common, from the first one to the end of the last one, and where they are."""
    overlap = conflict.overlap
    low, high = overlap.low, overlap.high
    if overlap.ranges is not None:
        one, two = overlap.ranges
        low, high = one.common(two) or (low, high)
    where = "pinned host memory" if conflict.block.device is None else f"device {conflict.block.device}"
    return f"bytes [{low:#x}, {high:#x}) of {where}"


def _on(access: RaceAccess, conflict: Conflict) -> str:
    """A stream, with its device where that is not the one of the bytes."""
    if access.device is None:
        return "on the host"
    return f"on {access.stream}" + ("" if access.device == conflict.block.device else f" of device {access.device}")


def _on_device(queue: Queue, conflict: Conflict) -> str:
    return queue.label + ("" if queue.device == conflict.block.device else f" of device {queue.device}")


def _remedy(queue: Queue | None, name: str, waiter: str, awaited: Sequence[str]) -> str:
    streams = ", and for ".join(awaited)
    if queue is None:
        return f"before that, synchronize with {streams}, or with an event that was recorded there after the other"
    wait = "use wait_stream, or wait_event on an event recorded after the other"
    hint = f"before that, {waiter} must wait for {streams}: {wait}"
    if name == TAKING:
        used = ", and what ".join(f"{each} used" for each in awaited)
        return f"what {used} was freed too early: call its record_stream with that stream, or, {hint}"
    return hint


def _rerecorded(waiter: str, waited: Sequence[Waited], use: Use) -> str:
    """Which event was waited for in another record than the one that would have been enough; "" if none was."""
    for event, point, site in reversed(waited):
        if event.is_mark or point not in event.records:
            continue
        for other in event.records:
            if other is point or other.clock.reached(use.stream) < use.number:
                continue
            begin = f"{waiter} waited at {site} for an event in its record of {point.site}"
            if event.records.index(other) > event.records.index(point):
                return f"{begin}; it was recorded again at {other.site}, after the other, and not waited for again"
            return f"{begin}, which had replaced the one of {other.site}, after the other"
    return ""
