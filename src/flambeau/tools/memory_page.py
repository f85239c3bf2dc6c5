"""One HTML page of a memory snapshot: areas over time, segments and blocks at any moment, and lines.

The page needs no other file and no network.  Its data is JSON in a script element; memory_page.html draws it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from .memory_snapshot import LIVE, Device, Snapshot, before_events

MAX_EVENTS = 200_000  # of one device; the latest are shown
TEMPLATE = Path(__file__).with_name("memory_page.html")
KINDS = {name: number for number, name in enumerate((
    "alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap",
    "oom",
))}  # fmt: skip


def page(snapshot: Snapshot, title: str) -> str:
    """The page's text."""
    data = {
        "title": title,
        "settings": snapshot.settings,
        "sites": [snapshot.shown(stack) for stack in range(len(snapshot.stacks))],
        "stacks": [[str(frame) for frame in frames] for frames in snapshot.stacks],
        "devices": [_device(device) for device in snapshot.devices if device.segments or device.events],
    }
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return TEMPLATE.read_text(encoding="utf-8").replace("/*DATA*/", text)


def write(snapshot: Snapshot, title: str, path: str) -> None:
    """Write the page to a file, which is replaced in one step.  Raises OSError."""
    text = page(snapshot, title)
    partial = f"{path}.{os.getpid()}.partial"
    try:
        with open(partial, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(partial, path)
    except BaseException:
        if os.path.exists(partial):
            os.unlink(partial)
        raise


def _device(device: Device) -> dict[str, Any]:
    """The state before the first event that is shown, and the events, with addresses relative to the lowest."""
    omitted = max(len(device.events) - MAX_EVENTS, 0)
    state = before_events(device)
    for event in device.events[:omitted]:
        state.apply(event)
    events = [event for event in device.events[omitted:] if event.action in KINDS]
    bounds = [each.address for each in state.ranges.values()]
    bounds += [event.address for event in events if event.action.startswith("segment")]
    base = min(bounds, default=0)
    start = events[0].time_us if events else 0
    found: dict[str, Any] = {
        "index": device.index,
        "omitted": omitted,
        "segments": [
            [each.address - base, each.nbytes, each.stream, each.pool != (0, 0)] for each in state.ranges.values()
        ],
        "blocks": [
            [each.address - base, each.nbytes, int(each.state != LIVE), each.stack] for each in state.blocks.values()
        ],
        "events": [],
    }
    for each in events:
        state.apply(each)
        nbytes = state.blocks[each.address].nbytes if each.action == "alloc" else each.nbytes
        place = each.address - (0 if each.action == "oom" else base)
        pool = int(each.pool != (0, 0))
        found["events"].append([KINDS[each.action], place, nbytes, each.stack, each.time_us - start, each.stream, pool])
    return found
