"""Memory snapshots of flambeau and of PyTorch: read without running code, checked, and rebuilt at any event.

- The file is a pickle.  It is interpreted, never executed: a snapshot has plain objects only, and any name is refused.
- Every field that is used is checked.  Each list of frames is read once, however often events refer to it.
- The final state is in the snapshot.  The state before the first event follows by undoing all events; a state in
  between follows from that one.  So a history whose oldest events were dropped gives exact states, too.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from sortedcontainers import SortedDict

from .. import callers
from ..errors import FileFormatError
from ..memory.settings import BLOCK_GRAIN
from ..serialization.unpickler import Budget, Refusal, Unpickler, cut

MAX_NBYTES = 2 << 30  # of a file
MAX_NUMBER = (1 << 64) - 1
NO_STACK = 0
SMALL_SEGMENT = 2 << 20  # bytes, at most, of a segment for small blocks
LARGE_REST = 1 << 20  # bytes: a rest of a larger segment is split off if it has more
SHARED = (0, 0)
LIVE, WAITING, FREE = "live", "waiting", "free"
STATES = {
    "active_allocated": LIVE, "active_awaiting_free": WAITING, "active_pending_free": WAITING, "inactive": FREE,
}  # fmt: skip
ADDS = ("segment_alloc", "segment_map")
REMOVES = ("segment_free", "segment_unmap")
HINT = "torch.cuda.memory._dump_snapshot(path) writes such a file, in flambeau and in PyTorch"
OURS = "flambeau"  # the name of this allocator in the settings of a snapshot; those of PyTorch have none
LIBRARIES = ("/torch/", "/flambeau/", "/site-packages/", "/dist-packages/", "<frozen ", "<built-in", "??")
OPERATORS = ("at::_ops::", "torch::autograd::generated::")  # how names of PyTorch's compiled operators begin
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class Frame(NamedTuple):
    file: str
    line: int
    name: str

    def __str__(self) -> str:
        if not self.line:  # of compiled code, with a C++ signature
            return f"{self.name.partition('(')[0] or self.name} (compiled)"
        return f"{callers.shown_site(f'{self.file}:{self.line}')} in {self.name}"


class Block(NamedTuple):
    """Bytes of a segment.  requested: as the program asked, at most `nbytes`;  state: LIVE, WAITING or FREE."""

    address: int
    nbytes: int
    requested: int
    state: str
    stack: int


@dataclass
class Segment:
    address: int
    nbytes: int
    stream: int
    is_small: bool
    pool: tuple[int, int]
    is_expandable: bool = False
    blocks: list[Block] = field(default_factory=list)


def _are_one(former: Segment, after: Segment) -> bool:
    """Return whether two parts belong to one expandable segment.  Pages of one segment differ in size."""
    names = ("is_expandable", "stream", "pool")
    return all(getattr(former, name) == getattr(after, name) for name in names)


class Event(NamedTuple):
    """address: of an out-of-memory event, the device's free bytes."""

    action: str
    address: int
    nbytes: int
    stream: int
    time_us: int
    stack: int
    pool: tuple[int, int]


@dataclass
class Device:
    """One device: its segments at the end, and its events, oldest first.

    merges_at_once: whether its allocator merges each freed block with its neighbours, as PyTorch's does.
    """

    index: int
    segments: list[Segment]
    events: list[Event]
    merges_at_once: bool = False


@dataclass
class Snapshot:
    """stacks: from the innermost frame; the first is empty.  settings: the text of PYTORCH_ALLOC_CONF."""

    devices: list[Device]
    stacks: list[tuple[Frame, ...]]
    settings: str

    def site(self, stack: int) -> Frame | None:
        """The innermost frame of the program, outside libraries.

        If there is none, as in PyTorch's threads of backward: that of the operator, else the innermost one.
        """
        frames = self.stacks[stack]
        program = (frame for frame in frames if not _is_library(frame.file))
        operators = (frame for frame in frames if frame.name.startswith(OPERATORS))
        return next(program, None) or next(operators, frames[0] if frames else None)

    def shown(self, stack: int) -> str:
        site = self.site(stack)
        return "(no stack was recorded)" if site is None else str(site)


def _is_library(file: str) -> bool:
    if not file or file.startswith(_PACKAGE):
        return True
    return any(part in file for part in LIBRARIES) or file.endswith((".cpp", ".c", ".h"))


# reading


class _NoNames:
    """A vocabulary without any name."""

    def find(self, module: str, name: str) -> Any:
        raise Refusal(f"it names {cut(f'{module}.{name}')!r}; a snapshot has plain objects only")

    def call(self, function: Any, args: tuple[Any, ...]) -> Any:
        raise Refusal("it calls a function")

    def new(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        raise Refusal("it makes an object of a class")

    def build(self, target: Any, state: Any) -> None:
        raise Refusal("it sets the state of an object")

    def load_persistent(self, reference: Any) -> Any:
        raise Refusal("it refers to an object outside")

    def may_fill(self, target: Any, builtin: type) -> bool:
        return False


def read(path: str) -> Snapshot:
    """Read a snapshot from a file.  Raises FileFormatError if it is none; OSError."""
    nbytes = os.path.getsize(path)
    if nbytes > MAX_NBYTES:
        raise FileFormatError(
            f"{path} has {nbytes} bytes; a snapshot of at most {MAX_NBYTES} is read",
            hint="record fewer events: _record_memory_history(max_entries=100_000)",
            operator="memory",
        )
    with open(path, "rb") as file:
        data = file.read(MAX_NBYTES + 1)
    try:
        return parse(Unpickler(data, _NoNames(), Budget(len(data))).load())
    except FileFormatError as error:
        raise FileFormatError(
            f"{path} is no memory snapshot: {str(error).splitlines()[0].partition(': ')[2]}",
            hint=HINT,
            operator="memory",
        ) from None


def parse(found: Any) -> Snapshot:
    """Check a snapshot as `_snapshot()` returns it.  Raises FileFormatError."""
    return _Parser().snapshot(found)


def _wrong(where: str, fact: str) -> FileFormatError:
    return FileFormatError(f"{where} {fact}", hint=HINT, operator="memory")


class _Parser:
    def __init__(self) -> None:
        self.stacks: list[tuple[Frame, ...]] = [()]
        self._numbers: dict[tuple[Frame, ...], int] = {(): NO_STACK}
        self._read: dict[int, int] = {}  # numbers of stacks by id of the list of frames
        self._frames: dict[int, Frame] = {}

    def snapshot(self, found: Any) -> Snapshot:
        if isinstance(found, list):  # memory_snapshot() of old versions
            found = {"segments": found}
        top = self._dict(found, "the snapshot")
        traces = self._list(top.get("device_traces", []), "device_traces")
        devices = [Device(index, [], []) for index in range(len(traces))]
        for at, each in enumerate(self._list(top.get("segments"), "segments")):
            where = f"segments[{at}]"
            index = self._number(self._dict(each, where), "device", where, 0)
            if index > 1 << 10:
                raise _wrong(where, f"is on device {index}")
            devices += [Device(number, [], []) for number in range(len(devices), index + 1)]
            devices[index].segments.append(self._segment(each, where))
        for index, trace in enumerate(traces):
            events = self._list(trace, f"device_traces[{index}]")
            devices[index].events = [self._event(each, index, at) for at, each in enumerate(events)]
        for device in devices:
            device.segments.sort(key=lambda segment: segment.address)
        settings = top.get("allocator_settings")
        settings = settings if isinstance(settings, dict) else {}
        for device in devices:
            device.merges_at_once = settings.get("allocator") != OURS
        text = settings.get("PYTORCH_CUDA_ALLOC_CONF", "")
        return Snapshot(devices, self.stacks, text if isinstance(text, str) else "")

    def _segment(self, each: Any, where: str) -> Segment:
        segment = Segment(
            self._number(each, "address", where),
            self._number(each, "total_size", where),
            self._number(each, "stream", where, 0),
            each.get("segment_type") == "small",
            self._pool(each.get("segment_pool_id", SHARED), where),
            each.get("is_expandable") is True,
        )
        address = segment.address
        for at, block in enumerate(self._list(each.get("blocks"), f"{where}: blocks")):
            inside = f"{where}, blocks[{at}]"
            self._dict(block, inside)
            nbytes = self._number(block, "size", inside)
            state = STATES.get(block.get("state")) if isinstance(block.get("state"), str) else None
            if state is None:
                raise _wrong(inside, f"has the state {block.get('state')!r:.100}")
            requested = self._number(block, "requested_size", inside, nbytes)
            stack = self._stack(block.get("frames", []), inside)
            segment.blocks.append(Block(address, nbytes, min(requested, nbytes), state, stack))
            address += nbytes
        if address != segment.address + segment.nbytes:
            raise _wrong(where, f"has {segment.nbytes} bytes, and its blocks have {address - segment.address}")
        return segment

    def _event(self, each: Any, device: int, at: int) -> Event:
        where = f"device_traces[{device}][{at}]"
        self._dict(each, where)
        action = each.get("action")
        if not isinstance(action, str):
            raise _wrong(where, "has no action")
        address = self._number(each, "device_free" if action == "oom" else "addr", where, 0)
        return Event(
            action,
            address,
            self._number(each, "size", where, 0),
            self._number(each, "stream", where, 0),
            self._number(each, "time_us", where, 0),
            self._stack(each.get("frames", []), where),
            self._pool(each.get("pool_id", SHARED), where),
        )

    def _stack(self, frames: Any, where: str) -> int:
        number = self._read.get(id(frames))
        if number is None:
            stack = tuple(self._frame(each, where) for each in self._list(frames, f"{where}: frames"))
            number = self._numbers.setdefault(stack, len(self.stacks))
            if number == len(self.stacks):
                self.stacks.append(stack)
            self._read[id(frames)] = number  # the snapshot outlives this parser, so the id is not used again
        return number

    def _frame(self, each: Any, where: str) -> Frame:
        frame = self._frames.get(id(each))
        if frame is None:
            fields = self._dict(each, f"{where}: a frame")
            file, name = fields.get("filename"), fields.get("name")
            line = self._number(fields, "line", f"{where}: a frame", 0)
            if not isinstance(file, str) or not isinstance(name, str):
                raise _wrong(f"{where}: a frame", "has no file name or no name")
            frame = self._frames[id(each)] = Frame(file, line, name)
        return frame

    def _dict(self, value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _wrong(where, f"is a {type(value).__name__}, not a dict")
        return value

    def _list(self, value: Any, where: str) -> list[Any]:
        if not isinstance(value, list):
            raise _wrong(where, f"is a {type(value).__name__}, not a list")
        return value

    def _number(self, fields: dict[str, Any], name: str, where: str, default: int | None = None) -> int:
        value = fields.get(name, default)
        if type(value) is not int or not 0 <= value <= MAX_NUMBER:
            raise _wrong(where, f"has {name}={value!r:.100}, not a number of bytes or an address")
        return value

    def _pool(self, value: Any, where: str) -> tuple[int, int]:
        pair = tuple(value) if isinstance(value, (tuple, list)) and len(value) == 2 else None
        if pair is None or not all(type(each) is int for each in pair):
            raise _wrong(where, f"has a pool {value!r:.100}, not two numbers")
        return pair[0], pair[1]


# states


class State:
    """The blocks in use and the mapped ranges of one device at one moment."""

    def __init__(self, segments: Iterable[Segment]) -> None:
        self.ranges: SortedDict[int, Segment] = SortedDict({each.address: each for each in segments})
        blocks = (block for each in self.ranges.values() for block in each.blocks)
        self.blocks: SortedDict[int, Block] = SortedDict(
            {block.address: block for block in blocks if block.state != FREE}
        )

    def apply(self, event: Event) -> None:
        address = event.address
        if event.action == "alloc":
            nbytes = self._whole(address, _rounded(event.nbytes))
            self.blocks[address] = Block(address, nbytes, event.nbytes, LIVE, event.stack)
        elif event.action == "free_requested" and address in self.blocks:
            self.blocks[address] = self.blocks[address]._replace(state=WAITING)
        elif event.action == "free_completed":
            self.blocks.pop(address, None)
        elif event.action in ADDS:
            self._add(event)
        elif event.action in REMOVES:
            self._remove(address, event.nbytes)

    def undo(self, event: Event) -> None:
        address = event.address
        if event.action == "alloc":
            self.blocks.pop(address, None)
        elif event.action == "free_requested" and address in self.blocks:
            self.blocks[address] = self.blocks[address]._replace(state=LIVE)
        elif event.action == "free_completed":
            self.blocks[address] = Block(address, _rounded(event.nbytes), event.nbytes, WAITING, NO_STACK)
        elif event.action in ADDS:
            self._remove(address, event.nbytes)
        elif event.action in REMOVES:
            self._add(event)

    def _whole(self, address: int, nbytes: int) -> int:
        """The size of a block whose first `nbytes` serve a request: with the rest, if that is too small to be split."""
        low = next(self.ranges.irange(maximum=address, reverse=True), None)
        segment = None if low is None else self.ranges[low]
        if segment is None or segment.is_small or segment.is_expandable:
            return nbytes
        end = next(self.blocks.irange(minimum=address, inclusive=(False, False)), segment.address + segment.nbytes)
        rest = min(end, segment.address + segment.nbytes) - address - nbytes
        return nbytes + rest if 0 < rest <= LARGE_REST else nbytes

    def complete(self) -> None:
        """Add to each block the rest that was too small to be split: events do not have it."""
        for block in list(self.blocks.values()):
            self.blocks[block.address] = block._replace(nbytes=self._whole(block.address, block.nbytes))

    def _add(self, event: Event) -> None:
        is_mapped = event.action in ("segment_map", "segment_unmap")
        is_small = event.nbytes <= SMALL_SEGMENT
        made = Segment(event.address, event.nbytes, event.stream, is_small, event.pool, is_mapped)
        self.ranges[event.address] = made

    def _remove(self, low: int, nbytes: int) -> None:
        """Remove a range, which may be a part of a segment, or several."""
        high = low + nbytes
        first = next(self.ranges.irange(maximum=low, reverse=True), low)
        for each in [self.ranges[address] for address in self.ranges.irange(first, high, (True, False))]:
            end = each.address + each.nbytes
            if end <= low:
                continue
            del self.ranges[each.address]
            for start, stop in ((each.address, low), (high, end)):
                if start < stop:
                    rest = Segment(start, stop - start, each.stream, each.is_small, each.pool, each.is_expandable)
                    self.ranges[start] = rest

    def segments(self) -> list[Segment]:
        """The segments with all their blocks, free ones too, in address order."""
        found: list[Segment] = []
        for each in self.ranges.values():
            former = found[-1] if found else each
            if each.is_expandable and former.address + former.nbytes == each.address and _are_one(former, each):
                former.nbytes += each.nbytes  # mapped by two calls
            else:
                found.append(replace(each, blocks=[]))
        starts = [each.address for each in found]
        inside: list[list[Block]] = [[] for _ in found]
        for address in self.blocks:
            at = bisect_right(starts, address) - 1
            if at >= 0 and address < found[at].address + found[at].nbytes:
                inside[at].append(self.blocks[address])
        for each, blocks in zip(found, inside):
            each.blocks = list(_with_gaps(each.address, each.address + each.nbytes, blocks))
        return found


def _rounded(nbytes: int) -> int:
    return -(-max(nbytes, 1) // BLOCK_GRAIN) * BLOCK_GRAIN


def _with_gaps(at: int, end: int, blocks: list[Block]) -> Iterator[Block]:
    for block in blocks:
        if block.address > at:
            yield Block(at, block.address - at, 0, FREE, NO_STACK)
        yield block
        at = max(at, block.address + block.nbytes)
    if at < end:
        yield Block(at, end - at, 0, FREE, NO_STACK)


def before_events(device: Device) -> State:
    """The state before the first event."""
    state = State(device.segments)
    for event in reversed(device.events):
        state.undo(event)
    state.complete()
    return state


def state_at(device: Device, count: int) -> State:
    """The state after the first `count` events."""
    state = before_events(device)
    for event in device.events[:count]:
        state.apply(event)
    return state


class Peaks(NamedTuple):
    """The most bytes in use and in segments; `events` is the number of events after which the most were in use."""

    events: int
    used: int
    reserved: int


def peaks_of(device: Device) -> Peaks:
    state = before_events(device)
    used = most = sum(block.nbytes for block in state.blocks.values())
    reserved = most_reserved = sum(each.nbytes for each in state.ranges.values())
    count = 0
    for at, event in enumerate(device.events, 1):
        if event.action in ("alloc", "free_completed") and (former := state.blocks.get(event.address)) is not None:
            used -= former.nbytes
        state.apply(event)
        if event.action == "alloc":
            used += state.blocks[event.address].nbytes
            if used > most:
                most, count = used, at
        elif event.action in ADDS:
            reserved += event.nbytes
            most_reserved = max(most_reserved, reserved)
        elif event.action in REMOVES:
            reserved -= event.nbytes
    return Peaks(count, most, most_reserved)
