"""Explanation of a memory snapshot: where the reserved bytes are, and which lines hold them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ..memory.out_of_memory import size
from .memory_snapshot import FREE, LIVE, SHARED, WAITING, Device, Segment, Snapshot, peaks_of, state_at

TOP = 5  # lines that a list shows


@dataclass
class Usage:
    """The reserved bytes of one device at one moment, by use.

    reserved = live + waiting + cached + fragmented.  rounding: bytes of live blocks that were not requested.
    cached: whole free segments, which `empty_cache` returns;  fragmented: free parts of segments in use.
    private: of the reserved bytes, those in pools of graphs and of MemPool.
    largest: the largest free block;  lines: live bytes and blocks by stack;
    holders: free bytes that one block alone keeps from being returned, by its stack.
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
    found = Usage(segments=len(segments))
    lines: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    holders: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for segment in segments:
        used = [block for block in segment.blocks if block.state != FREE]
        free = [block.nbytes for block in segment.blocks if block.state == FREE]
        found.reserved += segment.nbytes
        found.largest = max(found.largest, *free, 0)
        if segment.pool != SHARED:
            found.private += segment.nbytes
        if used:
            found.fragmented += sum(free)
        else:
            found.cached += sum(free)
        for block in used:
            if block.state == WAITING:
                found.waiting += block.nbytes
                found.waiting_blocks += 1
            if block.state == LIVE:
                found.live += block.nbytes
                found.live_blocks += 1
                found.rounding += block.nbytes - block.requested
                site = snapshot.shown(block.stack)
                lines[site] = lines[site][0] + block.nbytes, lines[site][1] + 1
        if len(used) == 1 and free:
            site = snapshot.shown(used[0].stack)
            holders[site] = holders[site][0] + sum(free), holders[site][1] + used[0].nbytes
    found.lines, found.holders = dict(lines), dict(holders)
    return found


def explain(snapshot: Snapshot, title: str) -> str:
    """The explanation of a snapshot as text: each device at the end, at its peak, and where it ran out of memory."""
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


def _table(found: Usage) -> Iterator[str]:
    yield f"  reserved   {size(found.reserved):>12}  in {_count(found.segments, 'segment')}"
    rounding = f", of which {size(found.rounding)} by rounding" if found.rounding else ""
    yield f"  live       {size(found.live):>12}  in {_count(found.live_blocks, 'block')}{rounding}"
    if found.waiting:
        blocks = _count(found.waiting_blocks, "freed block")
        yield f"  waiting    {size(found.waiting):>12}  in {blocks} that another stream may still use"
    yield f"  cached     {size(found.cached):>12}  whole free segments; empty_cache() returns them"
    yield f"  fragmented {size(found.fragmented):>12}  free, in segments with live blocks"
    if found.private:
        yield f"  private    {size(found.private):>12}  of the reserved bytes, in pools of graphs or MemPool"
    yield f"  largest free block {size(found.largest)}"
    if found.lines:
        yield "  live bytes by line"
        yield from _ranked(found.lines, lambda each: _count(each[1], "block"))
    if found.fragmented and found.holders:
        yield "  lines whose single block keeps a segment"
        yield from _ranked(found.holders, lambda each: f"held by {size(each[1])}")


def _ranked(lines: dict[str, tuple[int, int]], note: Callable[[tuple[int, int]], str]) -> Iterator[str]:
    ranked = sorted(lines.items(), key=lambda item: (-item[1][0], item[0]))
    for site, each in ranked[:TOP]:
        yield f"    {size(each[0]):>12}  {note(each):<16}  {site}"
    if len(ranked) > TOP:
        rest = sum(each[0] for _, each in ranked[TOP:])
        yield f"    {size(rest):>12}  in {_count(len(ranked) - TOP, 'other line')}"


def _failure(snapshot: Snapshot, device: Device, count: int) -> Iterator[str]:
    event = device.events[count]
    free = size(event.address)
    yield f"GPU {device.index} ran out of memory: {size(event.nbytes)} were asked for, the device had {free}"
    yield f"  at {snapshot.shown(event.stack)}"
    found = usage(snapshot, state_at(device, count).segments())
    yield from _table(found)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
