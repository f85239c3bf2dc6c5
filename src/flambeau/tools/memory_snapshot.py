"""Memory snapshots of flambeau and of PyTorch: read, explained, replayed, and written as a page.

Reading runs no code, checks all fields, and can rebuild the state at any event:

- The file is a pickle.  It is interpreted, never executed: a snapshot has plain objects only, and every reference to a
  class or function is refused.
- Every field that is used is checked.  Each list of frames is read once, however often events refer to it.
- The final state is in the snapshot.  The state before the first event follows by undoing all events; a state in
  between follows from that one.  So a history whose oldest events were dropped gives exact states, too.

Explaining shows where the reserved bytes are, and which lines hold them.

A replay repeats the allocations and frees under other settings or on a device of another size:

- The allocations go to flambeau's caching allocator on a virtual GPU of its own, which computes nothing.
- Blocks from before the first event are allocated first, in the order of their addresses.
- A block is freed where the snapshot says that its free was complete.
- PyTorch's allocator merges a freed block with its neighbours at once, flambeau's later: a replay does as the recorded
  allocator did.
- Each private pool has an allocator of its own; all share the device's memory.

The page shows memory over time, segments and blocks at any moment, and source lines.  It needs no other file and no
network.  Its data is JSON in a script element; memory_page.html draws it.
"""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from sortedcontainers import SortedDict

from .. import callers
from ..config import Gpus
from ..core.pool import Block as PoolBlock
from ..driver.api import StreamHandle
from ..errors import ConfigError, FileFormatError, OutOfMemoryError
from ..memory.allocator import CachingAllocator
from ..memory.out_of_memory import size
from ..memory.settings import BLOCK_GRAIN, Settings
from ..memory.settings import parse as parse_settings
from ..runtime.machine import Machine
from ..serialization.unpickler import Budget, Refusal, Unpickler, cut

MAX_NBYTES = 2 << 30  # size of a file
MAX_NUMBER = (1 << 64) - 1
NO_STACK = 0
SMALL_SEGMENT = 2 << 20  # bytes: the largest segment for small blocks
LARGE_REST = 1 << 20  # bytes: a larger remainder of a large block is split off
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
        if not self.line:  # a frame of compiled code, with a C++ signature
            return f"{self.name.partition('(')[0] or self.name} (compiled)"
        return f"{callers.shown_site(f'{self.file}:{self.line}')} in {self.name}"


class Block(NamedTuple):
    """A block.  requested: the bytes that the program asked for, at most `nbytes`;  state: LIVE, WAITING or FREE."""

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
    """An event of the history.  address: for an out-of-memory event, the device's free bytes instead."""

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
    """A memory snapshot that was read from a file of flambeau or PyTorch.

    stacks: from the innermost frame; the first is empty.  settings: the text of PYTORCH_ALLOC_CONF.
    """

    devices: list[Device]
    stacks: list[tuple[Frame, ...]]
    settings: str

    def site(self, stack: int) -> Frame | None:
        """Return the innermost frame of the program, outside libraries.

        Without one, as in the threads of PyTorch's backward, return the operator's frame, else the innermost one.
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
    """Callbacks of the unpickler that refuse every class, function and object state."""

    def find(self, module: str, name: str) -> Any:
        raise Refusal(f"it names {cut(f'{module}.{name}')!r}; a snapshot has plain objects only")

    def call(self, function: Any, args: tuple[Any, ...]) -> Any:
        raise Refusal("it calls a function")

    def new(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        raise Refusal("it makes an object of a class")

    def build(self, target: Any, state: Any) -> None:
        raise Refusal("it sets the state of an object")

    def load_persistent(self, reference: Any) -> Any:
        raise Refusal("it refers to an object outside of the file")

    def may_fill(self, target: Any, builtin: type) -> bool:
        return False


def read(path: str) -> Snapshot:
    """Read a snapshot from a file.  Raises FileFormatError if it is not a snapshot; OSError."""
    nbytes = os.path.getsize(path)
    if nbytes > MAX_NBYTES:
        raise FileFormatError(
            f"{path} has {nbytes} bytes; the limit is {MAX_NBYTES}",
            hint="record fewer events: _record_memory_history(max_entries=100_000)",
            operator="memory",
        )
    with open(path, "rb") as file:
        data = file.read(MAX_NBYTES + 1)
    try:
        return parse(Unpickler(data, _NoNames(), Budget(len(data))).load())
    except FileFormatError as error:
        raise FileFormatError(
            f"{path} is not a memory snapshot: {str(error).splitlines()[0].partition(': ')[2]}",
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

    def snapshot(self, content: Any) -> Snapshot:
        if isinstance(content, list):  # memory_snapshot() of old versions
            content = {"segments": content}
        top = self._dict(content, "the snapshot")
        traces = self._list(top.get("device_traces", []), "device_traces")
        devices = [Device(index, [], []) for index in range(len(traces))]
        for at, entry in enumerate(self._list(top.get("segments"), "segments")):
            where = f"segments[{at}]"
            index = self._number(self._dict(entry, where), "device", where, 0)
            if index > 1 << 10:
                raise _wrong(where, f"is on device {index}")
            devices += [Device(number, [], []) for number in range(len(devices), index + 1)]
            devices[index].segments.append(self._segment(entry, where))
        for index, trace in enumerate(traces):
            events = self._list(trace, f"device_traces[{index}]")
            devices[index].events = [self._event(entry, index, at) for at, entry in enumerate(events)]
        for device in devices:
            device.segments.sort(key=lambda segment: segment.address)
        settings = top.get("allocator_settings")
        settings = settings if isinstance(settings, dict) else {}
        for device in devices:
            device.merges_at_once = settings.get("allocator") != OURS
        text = settings.get("PYTORCH_CUDA_ALLOC_CONF", "")
        return Snapshot(devices, self.stacks, text if isinstance(text, str) else "")

    def _segment(self, fields: Any, where: str) -> Segment:
        segment = Segment(
            self._number(fields, "address", where),
            self._number(fields, "total_size", where),
            self._number(fields, "stream", where, 0),
            fields.get("segment_type") == "small",
            self._pool(fields.get("segment_pool_id", SHARED), where),
            fields.get("is_expandable") is True,
        )
        address = segment.address
        for at, block in enumerate(self._list(fields.get("blocks"), f"{where}: blocks")):
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

    def _event(self, fields: Any, device: int, at: int) -> Event:
        where = f"device_traces[{device}][{at}]"
        self._dict(fields, where)
        action = fields.get("action")
        if not isinstance(action, str):
            raise _wrong(where, "has no action")
        address = self._number(fields, "device_free" if action == "oom" else "addr", where, 0)
        return Event(
            action,
            address,
            self._number(fields, "size", where, 0),
            self._number(fields, "stream", where, 0),
            self._number(fields, "time_us", where, 0),
            self._stack(fields.get("frames", []), where),
            self._pool(fields.get("pool_id", SHARED), where),
        )

    def _stack(self, frames: Any, where: str) -> int:
        number = self._read.get(id(frames))
        if number is None:
            stack = tuple(self._frame(frame, where) for frame in self._list(frames, f"{where}: frames"))
            number = self._numbers.setdefault(stack, len(self.stacks))
            if number == len(self.stacks):
                self.stacks.append(stack)
            self._read[id(frames)] = number  # the snapshot outlives this parser, so the id is not used again
        return number

    def _frame(self, entry: Any, where: str) -> Frame:
        frame = self._frames.get(id(entry))
        if frame is None:
            fields = self._dict(entry, f"{where}: a frame")
            file, name = fields.get("filename"), fields.get("name")
            line = self._number(fields, "line", f"{where}: a frame", 0)
            if not isinstance(file, str) or not isinstance(name, str):
                raise _wrong(f"{where}: a frame", "has no file name or no name")
            frame = self._frames[id(entry)] = Frame(file, line, name)
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
        if pair is None or not all(type(number) is int for number in pair):
            raise _wrong(where, f"has a pool {value!r:.100}, not two numbers")
        return pair[0], pair[1]


# states


class State:
    """The blocks in use and the mapped ranges of one device at one moment."""

    def __init__(self, segments: Iterable[Segment]) -> None:
        self.ranges: SortedDict[int, Segment] = SortedDict({segment.address: segment for segment in segments})
        blocks = (block for segment in self.ranges.values() for block in segment.blocks)
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
        """The size of a block whose first `nbytes` were requested: with the rest, if that is too small to split off."""
        low = next(self.ranges.irange(maximum=address, reverse=True), None)
        segment = None if low is None else self.ranges[low]
        if segment is None or segment.is_small or segment.is_expandable:
            return nbytes
        end = next(self.blocks.irange(minimum=address, inclusive=(False, False)), segment.address + segment.nbytes)
        rest = min(end, segment.address + segment.nbytes) - address - nbytes
        return nbytes + rest if 0 < rest <= LARGE_REST else nbytes

    def complete(self) -> None:
        """Extend each block by the remainder that was too small to be split off: events do not include it."""
        for block in list(self.blocks.values()):
            self.blocks[block.address] = block._replace(nbytes=self._whole(block.address, block.nbytes))

    def _add(self, event: Event) -> None:
        is_mapped = event.action in ("segment_map", "segment_unmap")
        is_small = event.nbytes <= SMALL_SEGMENT
        segment = Segment(event.address, event.nbytes, event.stream, is_small, event.pool, is_mapped)
        self.ranges[event.address] = segment

    def _remove(self, low: int, nbytes: int) -> None:
        """Remove a range, which may be part of a segment or span several."""
        high = low + nbytes
        first = next(self.ranges.irange(maximum=low, reverse=True), low)
        for old in [self.ranges[address] for address in self.ranges.irange(first, high, (True, False))]:
            end = old.address + old.nbytes
            if end <= low:
                continue
            del self.ranges[old.address]
            for start, stop in ((old.address, low), (high, end)):
                if start < stop:
                    rest = Segment(start, stop - start, old.stream, old.is_small, old.pool, old.is_expandable)
                    self.ranges[start] = rest

    def segments(self) -> list[Segment]:
        """Return the segments with all their blocks, free ones too, in address order."""
        segments: list[Segment] = []
        for mapped in self.ranges.values():
            former = segments[-1] if segments else mapped
            if mapped.is_expandable and former.address + former.nbytes == mapped.address and _are_one(former, mapped):
                former.nbytes += mapped.nbytes  # mapped by two calls
            else:
                segments.append(replace(mapped, blocks=[]))
        starts = [segment.address for segment in segments]
        inside: list[list[Block]] = [[] for _ in segments]
        for address in self.blocks:
            at = bisect_right(starts, address) - 1
            if at >= 0 and address < segments[at].address + segments[at].nbytes:
                inside[at].append(self.blocks[address])
        for segment, blocks in zip(segments, inside):
            segment.blocks = list(_with_gaps(segment.address, segment.address + segment.nbytes, blocks))
        return segments


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
    """Return the state before the first event."""
    state = State(device.segments)
    for event in reversed(device.events):
        state.undo(event)
    state.complete()
    return state


def state_at(device: Device, count: int) -> State:
    """Return the state after the first `count` events."""
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
    reserved = most_reserved = sum(segment.nbytes for segment in state.ranges.values())
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


TOP = 5  # most lines that a list shows


@dataclass
class Usage:
    """The reserved bytes of one device at one moment, by use.

    reserved = live + waiting + cached + fragmented.  rounding: bytes of live blocks that were not requested.
    cached: whole free segments, which `empty_cache` returns;  fragmented: free parts of segments in use.
    private: of the reserved bytes, those in pools of graphs and of MemPool.
    largest: the largest free block;  lines: live bytes and blocks by stack;
    holders: free bytes that a single block keeps from being returned to the driver, by the block's stack.
    """

    segments: int = 0
    reserved: int = 0
    live: int = 0
    live_blocks: int = 0
    rounding: int = 0
    waiting: int = 0
    waiting_blocks: int = 0
    cached: int = 0
    fragmented: int = 0
    private: int = 0
    largest: int = 0
    lines: dict[str, tuple[int, int]] = field(default_factory=dict)
    holders: dict[str, tuple[int, int]] = field(default_factory=dict)


def usage(snapshot: Snapshot, segments: list[Segment]) -> Usage:
    """Sum the blocks of segments by use."""
    totals = Usage(segments=len(segments))
    lines: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    holders: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for segment in segments:
        used = [block for block in segment.blocks if block.state != FREE]
        free = [block.nbytes for block in segment.blocks if block.state == FREE]
        totals.reserved += segment.nbytes
        totals.largest = max(totals.largest, *free, 0)
        if segment.pool != SHARED:
            totals.private += segment.nbytes
        if used:
            totals.fragmented += sum(free)
        else:
            totals.cached += sum(free)
        for block in used:
            if block.state == WAITING:
                totals.waiting += block.nbytes
                totals.waiting_blocks += 1
            if block.state == LIVE:
                totals.live += block.nbytes
                totals.live_blocks += 1
                totals.rounding += block.nbytes - block.requested
                site = snapshot.shown(block.stack)
                lines[site] = lines[site][0] + block.nbytes, lines[site][1] + 1
        if len(used) == 1 and free:
            site = snapshot.shown(used[0].stack)
            holders[site] = holders[site][0] + sum(free), holders[site][1] + used[0].nbytes
    totals.lines, totals.holders = dict(lines), dict(holders)
    return totals


def explain(snapshot: Snapshot, title: str) -> str:
    """Explain a snapshot as text: each device at the end, at its peak, and where it ran out of memory."""
    events = sum(len(device.events) for device in snapshot.devices)
    settings = f"; settings {snapshot.settings}" if snapshot.settings else ""
    lines = [f"{title}: {_count(len(snapshot.devices), 'device')}, {_count(events, 'event')}{settings}"]
    for device in snapshot.devices:
        if device.segments or device.events:
            lines += ["", *_explain_device(snapshot, device)]
    if len(lines) == 1:
        lines.append("No memory was reserved.")
    return "\n".join(lines)


def _explain_device(snapshot: Snapshot, device: Device) -> Iterator[str]:
    end = usage(snapshot, device.segments)
    count = peaks_of(device).events if device.events else 0
    peak = usage(snapshot, state_at(device, count).segments()) if device.events else end
    if not end.reserved and not peak.reserved and not any(event.action == "oom" for event in device.events):
        yield f"GPU {device.index}: no memory was reserved"
        return
    yield f"GPU {device.index} at the end"
    yield from _table(end)
    if device.events:
        when = (device.events[count - 1].time_us - device.events[0].time_us) / 1e6 if count else 0.0
        same = ": as at the end" if peak == end else ""
        yield f"GPU {device.index} at its peak, event {count} of {len(device.events)}, after {when:.3f} s{same}"
        if not same:
            yield from _table(peak)
    for count in [count for count, event in enumerate(device.events) if event.action == "oom"][-TOP:]:
        yield from _failure(snapshot, device, count)


def _table(totals: Usage) -> Iterator[str]:
    yield f"  reserved   {size(totals.reserved):>12}  in {_count(totals.segments, 'segment')}"
    rounding = f", of which {size(totals.rounding)} by rounding" if totals.rounding else ""
    yield f"  live       {size(totals.live):>12}  in {_count(totals.live_blocks, 'block')}{rounding}"
    if totals.waiting:
        blocks = _count(totals.waiting_blocks, "freed block")
        yield f"  waiting    {size(totals.waiting):>12}  in {blocks} that another stream may still use"
    yield f"  cached     {size(totals.cached):>12}  whole free segments; empty_cache() returns them"
    yield f"  fragmented {size(totals.fragmented):>12}  free, in segments with live blocks"
    if totals.private:
        yield f"  private    {size(totals.private):>12}  of the reserved bytes, in pools of graphs or MemPool"
    yield f"  largest free block {size(totals.largest)}"
    if totals.lines:
        yield "  live bytes by line"
        yield from _ranked(totals.lines, lambda sums: _count(sums[1], "block"))
    if totals.fragmented and totals.holders:
        yield "  lines whose single block keeps a segment"
        yield from _ranked(totals.holders, lambda sums: f"held by {size(sums[1])}")


def _ranked(lines: dict[str, tuple[int, int]], note: Callable[[tuple[int, int]], str]) -> Iterator[str]:
    ranked = sorted(lines.items(), key=lambda item: (-item[1][0], item[0]))
    for site, sums in ranked[:TOP]:
        yield f"    {size(sums[0]):>12}  {note(sums):<16}  {site}"
    if len(ranked) > TOP:
        rest = sum(sums[0] for _, sums in ranked[TOP:])
        yield f"    {size(rest):>12}  in {_count(len(ranked) - TOP, 'other line')}"


def _failure(snapshot: Snapshot, device: Device, count: int) -> Iterator[str]:
    event = device.events[count]
    free = size(event.address)
    yield f"GPU {device.index} ran out of memory: {size(event.nbytes)} were asked for, the device had {free}"
    yield f"  at {snapshot.shown(event.stack)}"
    totals = usage(snapshot, state_at(device, count).segments())
    yield from _table(totals)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


ROOM = 1 << 43  # bytes of the device, if no capacity is given


@dataclass(frozen=True)
class Replay:
    """The outcome of a replay.

    reserved, used: at most, in bytes;  retries: allocations that needed cached memory to be returned.
    failed: the event that ran out of memory, None if all fit;  failed_at: its number, 0 before the first event.
    """

    settings: str
    device: int
    reserved: int
    used: int
    retries: int
    failed: Event | None = None
    failed_at: int = 0


class _Pools:
    """The allocators of one replay."""

    def __init__(self, settings: Settings, capacity: int, merges_at_once: bool) -> None:
        self.merges_at_once = merges_at_once
        self.machine = Machine(Gpus("virtual", 1, memory=capacity, races="real"))
        self.machine.start()
        self.settings = settings
        self.allocators: dict[tuple[int, int], CachingAllocator] = {}
        self.streams: dict[int, StreamHandle] = {}
        self.live: dict[int, tuple[CachingAllocator, PoolBlock]] = {}
        self.used = self.most_used = self.most_reserved = 0

    def allocate(self, address: int, nbytes: int, stream: int, pool: tuple[int, int]) -> None:
        allocator = self.allocators.get(pool)
        if allocator is None:
            machine = self.machine
            allocator = CachingAllocator(machine.driver, 0, machine.record_event, self.settings)
            self.allocators[pool] = allocator
        self.free(address)
        if self.merges_at_once:
            allocator.coalesce()
        block = allocator.allocate(max(nbytes, 1), self._stream(stream))
        self.live[address] = allocator, block
        self.used += block.nbytes
        self.most_used = max(self.most_used, self.used)
        self.most_reserved = max(self.most_reserved, sum(pool.reserved_bytes for pool in self.allocators.values()))

    def free(self, address: int) -> None:
        allocator, block = self.live.pop(address, (None, None))
        if allocator is not None and block is not None:
            self.used -= block.nbytes
            allocator.free(block)

    def _stream(self, number: int) -> StreamHandle:
        if number not in self.streams:
            device = self.machine.devices[0]
            is_default = number == 0
            self.streams[number] = (device.default_stream if is_default else device.stream_of_its_own()).handle
        return self.streams[number]


def replay(device: Device, settings: str = "", capacity: int | None = None) -> Replay:
    """Replay the events of a device.  settings: as PYTORCH_ALLOC_CONF.  Raises ConfigError for other settings."""
    parsed = parse_settings(settings, "--replay")
    if parsed.backend not in ("", "native"):
        raise ConfigError(
            f"--replay: the {parsed.backend} backend is the driver's own, and cannot be replayed",
            hint="leave backend: out",
        )
    pools = _Pools(parsed, capacity or ROOM, device.merges_at_once)
    count = 0
    failed: Event | None = None
    try:
        for segment in before_events(device).segments():
            for block in segment.blocks:
                if block.state != "free":
                    failed = Event("alloc", block.address, block.nbytes, segment.stream, 0, block.stack, segment.pool)
                    pools.allocate(block.address, block.nbytes, segment.stream, segment.pool)
        for event in device.events:
            failed = event
            count += 1
            if event.action == "alloc":
                pools.allocate(event.address, event.nbytes, event.stream, event.pool)
            elif event.action == "free_completed":
                pools.free(event.address)
        failed = None
    except OutOfMemoryError:
        pass
    retries = sum(allocator.statistics()["num_alloc_retries"] for allocator in pools.allocators.values())
    return Replay(settings, device.index, pools.most_reserved, pools.most_used, retries, failed, count)


def compare(snapshot: Snapshot, settings: list[str], capacity: int | None = None) -> str:
    """Return a table of each device's peak, as recorded and under each of the settings."""
    where = "" if capacity is None else f" on a device of {size(capacity)}"
    lines = [f"Replay{where}", f"  {'GPU':<4} {'peak reserved':>13} {'peak live':>12} {'overhead':>9}  settings"]
    for device in snapshot.devices:
        if not device.events and not device.segments:
            continue
        recorded = peaks_of(device)
        lines.append(_row(device.index, recorded.reserved, recorded.used, "as recorded"))
        for text in settings:
            run = replay(device, text, capacity)
            lines.append(_row(device.index, run.reserved, run.used, text or "default"))
            if run.failed is not None:
                at = f"event {run.failed_at}" if run.failed_at else "before the first event"
                lines.append(
                    f"       out of memory at {at}: {size(run.failed.nbytes)} at {snapshot.shown(run.failed.stack)}"
                )
            elif run.retries:
                times = f"{run.retries} time{'s' * (run.retries != 1)}"
                lines.append(f"       cached memory had to be returned {times} to make room")
    return "\n".join(lines)


def _row(device: int, reserved: int, used: int, name: str) -> str:
    overhead = f"{(reserved - used) / used:.1%}" if used else "-"
    return f"  {device:<4} {size(reserved):>13} {size(used):>12} {overhead:>9}  {name}"


MAX_EVENTS = 200_000  # events of one device; the latest are shown
TEMPLATE = Path(__file__).with_name("memory_page.html")
KINDS = {name: number for number, name in enumerate((
    "alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap",
    "oom",
))}  # fmt: skip


def page(snapshot: Snapshot, title: str) -> str:
    """Return the page's text."""
    data = {
        "title": title,
        "settings": snapshot.settings,
        "sites": [snapshot.shown(stack) for stack in range(len(snapshot.stacks))],
        "stacks": [[str(frame) for frame in frames] for frames in snapshot.stacks],
        "devices": [_page_data(device) for device in snapshot.devices if device.segments or device.events],
    }
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return TEMPLATE.read_text(encoding="utf-8").replace("/*DATA*/", text)


def write_page(snapshot: Snapshot, title: str, path: str) -> None:
    """Write the page to a file, which is replaced in one step.  Raises OSError."""
    text = page(snapshot, title)
    partial = f"{path}.{os.getpid()}.partial"
    try:
        with open(partial, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        os.replace(partial, path)
    except BaseException:
        if os.path.exists(partial):
            os.unlink(partial)
        raise


def _page_data(device: Device) -> dict[str, Any]:
    """Return the state before the first event that is shown, and the events, with addresses relative to the lowest."""
    omitted = max(len(device.events) - MAX_EVENTS, 0)
    state = before_events(device)
    for event in device.events[:omitted]:
        state.apply(event)
    events = [event for event in device.events[omitted:] if event.action in KINDS]
    bounds = [segment.address for segment in state.ranges.values()]
    bounds += [event.address for event in events if event.action.startswith("segment")]
    base = min(bounds, default=0)
    start = events[0].time_us if events else 0
    data: dict[str, Any] = {
        "index": device.index,
        "omitted": omitted,
        "segments": [
            [entry.address - base, entry.nbytes, entry.stream, entry.pool != (0, 0)] for entry in state.ranges.values()
        ],
        "blocks": [
            [used.address - base, used.nbytes, int(used.state != LIVE), used.stack] for used in state.blocks.values()
        ],
        "events": [],
    }
    for event in events:
        state.apply(event)
        nbytes = state.blocks[event.address].nbytes if event.action == "alloc" else event.nbytes
        at = event.address - (0 if event.action == "oom" else base)
        pool = int(event.pool != (0, 0))
        data["events"].append([KINDS[event.action], at, nbytes, event.stack, event.time_us - start, event.stream, pool])
    return data
