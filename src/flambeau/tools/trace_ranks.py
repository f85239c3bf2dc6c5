"""Traces of a job's ranks: written by each rank as JSON, and joined into one trace.

- Modelled clocks of ranks begin together, and collectives keep them together, so their times are shown as they are.
- Device i of rank r gets the number r * DEVICES + i, and the name `rank r cuda:i`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from .trace import NONE, Arrow, Call, HostWait, Launch, MemoryPoint, Range, Span, Trace

DEVICES = 1 << 10  # numbers per rank
LISTS: dict[str, Any] = {
    "spans": Span, "calls": Call, "ranges": Range, "waits": HostWait, "arrows": Arrow, "memory": MemoryPoint,
}  # fmt: skip


def write(trace: Trace, path: Path) -> None:
    """Write a trace as JSON, for `read`."""
    kept = {each.name: getattr(trace, each.name) for each in fields(trace) if each.name not in ("waits", "streams")}
    kept["waits"] = [list(asdict(each).values()) for each in trace.waits]
    kept["streams"] = [[*key, label] for key, label in trace.streams.items()]
    path.write_text(json.dumps(kept), encoding="utf-8")


def read(path: Path) -> Trace:
    """Read the parts that `write` wrote."""
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for name, kind in LISTS.items():
        kept[name] = [kind(*map(_as_tuples, entry)) for entry in kept[name]]
    kept["spans"] = [each._replace(launch=each.launch and Launch(*each.launch)) for each in kept["spans"]]
    kept["threads"] = {int(number): label for number, label in kept["threads"].items()}
    kept["devices_named"] = {int(number): label for number, label in kept["devices_named"].items()}
    kept["streams"] = {(device, stream): label for device, stream, label in kept["streams"]}
    return Trace(**kept)


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


def joined(traces: Mapping[int, Trace]) -> Trace:
    """The trace of several ranks."""
    found = Trace(limit=0)
    begin_ns = min((each.begin_ns for each in traces.values() if each.spans), default=0)
    spans: list[tuple[int, int, Span]] = []  # with the rank and the index there
    for rank, trace in sorted(traces.items()):
        shift = trace.begin_ns - begin_ns if trace.spans else 0
        first, calls = rank * DEVICES, len(found.calls)
        threads: dict[int, int] = {}

        def thread(number: int, rank: int = rank, trace: Trace = trace, threads: dict[int, int] = threads) -> int:
            if number not in threads:
                threads[number] = len(found.threads)
                found.threads[threads[number]] = f"of rank {rank}: {trace.threads.get(number, number)}"
            return threads[number]

        for index, span in enumerate(trace.spans):
            call = NONE if span.call == NONE else span.call + calls
            peer = NONE if span.peer == NONE else span.peer + first
            start_ns, end_ns, device = span.start_ns + shift, span.end_ns + shift, span.device + first
            span = span._replace(device=device, start_ns=start_ns, end_ns=end_ns, call=call, peer=peer)
            spans.append((rank, index, span))
        lists: tuple[tuple[list[Any], list[Any]], ...] = (trace.calls, found.calls), (trace.ranges, found.ranges)
        for entries, kept in lists:
            for each in entries:
                times = {"start_ns": each.start_ns + shift, "end_ns": each.end_ns + shift}
                kept.append(each._replace(thread=thread(each.thread), **times))
        for point in trace.memory:
            found.memory.append(point._replace(device=point.device + first, time_ns=point.time_ns + shift))
        for device in trace.devices:
            found.devices_named[device + first] = f"rank {rank} {trace.device_name(device)}"
        for (device, stream), label in trace.streams.items():
            found.streams[device + first, stream] = label
        found.limit += trace.limit
        found.left_out += trace.left_out
        found.lost += trace.lost
        found.modelled, found.source = trace.modelled, found.source or trace.source
        found.measured_by = found.measured_by or trace.measured_by
        found.calibrated = found.calibrated and trace.calibrated
        found.note = "; ".join(filter(None, (found.note, f"rank {rank}: {trace.note}" if trace.note else "")))
        for wait in trace.waits:
            values = asdict(wait) | {"thread": thread(wait.thread), "span": (rank, wait.span)}
            values |= {"start_ns": wait.start_ns + shift, "end_ns": wait.end_ns + shift}
            values["device"] = NONE if wait.device == NONE else wait.device + first
            found.waits.append(HostWait(**values))
    spans.sort(key=lambda entry: (entry[2].start_ns, entry[2].device, entry[2].end_ns))
    found.spans = [span for _, _, span in spans]
    place = {(rank, index): new for new, (rank, index, _) in enumerate(spans)}
    for wait in found.waits:
        key: Any = wait.span
        wait.span = place.get(key, NONE)
    for rank, trace in traces.items():
        for arrow in trace.arrows:
            found.arrows.append(Arrow(place[rank, arrow.source], place[rank, arrow.target], arrow.site))
    return found
