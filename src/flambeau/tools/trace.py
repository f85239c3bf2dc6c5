"""Trace: the record of host threads, streams, copy engines and memory.

- A recorder (recorder.py) makes it, trace_analysis.py explains it, trace_writers.py writes it as a page or for viewers.
- Times are nanoseconds of the host's clock since the trace began; on virtual GPUs they are modelled.
- Spans, calls and waits refer to each other by their index in the trace's lists.

The ranks of a job write their traces as JSON, and `join_ranks` makes one trace of them:

- Modelled clocks of ranks begin together, and collectives keep them together, so their times are shown as they are.
- Device i of rank r gets the number r * DEVICES + i, and the name `rank r cuda:i`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

LIMIT = 200_000  # spans
NONE = -1  # index of an unknown span or call


class Launch(NamedTuple):
    """CUPTI's data about a piece of work, without its times.

    operation: the library call or the `graph` that it belongs to; "" for other kernels, copies and fills.
    context, stream: CUPTI's numbers.  graph: CUPTI's number of the graph that it was launched in, 0 outside graphs.
    grid, block: the kernel's blocks and threads per block, () for a copy or a fill.
    registers: per thread.  shared_nbytes: shared memory per block.
    """

    operation: str
    context: int
    stream: int
    graph: int = 0
    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    registers: int = 0
    shared_nbytes: int = 0

    @property
    def facts(self) -> dict[str, Any]:
        """The known facts by name, for display."""
        facts: dict[str, Any] = {"operation": self.operation} if self.operation else {}
        if self.grid:
            facts |= {"grid": list(self.grid), "block": list(self.block)}
            facts |= {"registers per thread": self.registers, "shared memory": self.shared_nbytes}
        facts |= {"graph": self.graph} if self.graph else {}
        return facts | {"context": self.context, "CUPTI stream": self.stream}


class Span(NamedTuple):
    """One piece of work on a stream.

    device: the index;  stream: the CUstream's number, 0 for the default stream.
    name: the kernel's entry, the library operation, `copy` with its direction, `fill` or `graph`.  CUPTI reports
        every kernel of a library and of a graph by its own name.
    start_ns, end_ns: since the profile began.
    nbytes: bytes that a copy or a fill moves, or that a kernel's operands span.
    site: `file:line` of the program that queued it; for parts of a graph on virtual GPUs, the line of the capture.
    call: the index of the host's call that queued it.  peer: the other device of a copy between devices, else -1.
    shapes: its operands' shapes, if recorded.  launch: CUPTI's record of it, None without CUPTI.
    """

    device: int
    stream: int
    name: str
    start_ns: int
    end_ns: int
    nbytes: int
    site: str
    call: int = NONE
    peer: int = NONE
    shapes: tuple[tuple[int, ...], ...] = ()
    launch: Launch | None = None

    @property
    def kind(self) -> str:
        """`copy`, `fill`, `graph` or `kernel`."""
        first = self.name.partition(" ")[0]
        return first if first in ("copy", "fill", "graph") else "kernel"

    @property
    def lane(self) -> str:
        """The part of the device that runs it: a copy engine, a link to another device, or `kernels`."""
        if self.name == "copy peer":
            return "link" if self.peer < 0 else f"link with cuda:{self.peer}"
        return {"copy h2d": "copies in", "copy d2h": "copies out"}.get(self.name, "kernels")


class Range(NamedTuple):
    """A range of the program that `cuda.nvtx` marks, or an instant (`start_ns` is `end_ns`).

    thread: the thread that ended it;  start_ns, end_ns: host time since the profile began.
    change: how many more bytes tensors hold on all devices at its end than at its start, negative if fewer.
    """

    text: str
    thread: int
    start_ns: int
    end_ns: int
    change: int = 0


class Call(NamedTuple):
    """A call of the host that submitted work to a stream.  name: the operator, or the kind of work if it has none.

    stack: lines of the program, innermost first, if they are recorded.
    change: how many more bytes tensors hold on all devices than at the call before, negative if fewer.
    """

    thread: int
    name: str
    start_ns: int
    end_ns: int
    site: str
    stack: tuple[str, ...] = ()
    change: int = 0


@dataclass(slots=True)
class HostWait:
    """A call in which the host waits for devices.

    start_ns, end_ns: while it was blocked, equal if it was not.  name: the operator or the kind of wait.
    is_hidden: whether it is part of another call, such as `item()`; a synchronize is not.
    reason, hint: of a hidden one: why it waits, and how to avoid it.
    device, stream: those awaited, -1 for all or unknown.  span: the work that ended last, if known.
    """

    thread: int
    name: str
    start_ns: int
    end_ns: int
    site: str
    is_hidden: bool
    reason: str = ""
    hint: str = ""
    device: int = NONE
    stream: int = NONE
    span: int = NONE

    @property
    def blocked_ns(self) -> int:
        return self.end_ns - self.start_ns


class Arrow(NamedTuple):
    """A stream's wait: span `target` starts after span `source` of another stream.  site: the line of the wait."""

    source: int
    target: int
    site: str


class MemoryPoint(NamedTuple):
    """Bytes of a device that tensors hold, and that the allocator has reserved, from `time_ns` on."""

    device: int
    time_ns: int
    allocated: int
    reserved: int


@dataclass
class Trace:
    """The record of a profile.

    spans: by start.  threads: names by number.  streams: labels by (device, stream).
    modelled: whether the times are modelled;  calibrated: whether the modelled GPU's figures were measured.
    source: the name of the GPU.  measured_by: the source of the times, such as `events`; "" if they are modelled.
    left_out: spans dropped because the limit was reached.  lost: pieces of work that CUPTI did not measure.  note: why
    the program ended early.
    begin_ns: the beginning on the clock of the first machine.  devices_named: names that differ from `cuda:i`.
    """

    spans: list[Span] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    ranges: list[Range] = field(default_factory=list)
    waits: list[HostWait] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    memory: list[MemoryPoint] = field(default_factory=list)
    threads: dict[int, str] = field(default_factory=dict)
    streams: dict[tuple[int, int], str] = field(default_factory=dict)
    modelled: bool = False
    calibrated: bool = True
    source: str = ""
    measured_by: str = ""
    limit: int = LIMIT
    left_out: int = 0
    lost: int = 0
    note: str = ""
    begin_ns: int = 0
    devices_named: dict[int, str] = field(default_factory=dict)

    def device_name(self, device: int) -> str:
        """Return the name of a device."""
        return self.devices_named.get(device, f"cuda:{device}")

    @property
    def end_ns(self) -> int:
        """The end of the last entry."""
        lists: tuple[list[Any], ...] = (self.spans, self.calls, self.waits, self.ranges)
        return max((entry.end_ns for entries in lists for entry in entries), default=0)

    @property
    def devices(self) -> list[int]:
        """The devices that did something or have memory."""
        return sorted({span.device for span in self.spans} | {point.device for point in self.memory})

    @property
    def times(self) -> str:
        if not self.modelled:
            return "measured"
        return "modelled" if self.calibrated else "modelled, not calibrated"

    @property
    def cap(self) -> str:
        """The sentence that says that spans are missing; "" if none is."""
        total = self.limit + self.left_out
        left_out = f"only the first {self.limit:,} of {total:,} pieces of work are shown: raise the limit to see more"
        lost = f"{self.lost:,} records were lost by {self.measured_by}: pieces of work may be missing"
        return "; ".join(text for text, count in ((left_out, self.left_out), (lost, self.lost)) if count)


DEVICES = 1 << 10  # numbers per rank
LISTS: dict[str, Any] = {
    "spans": Span, "calls": Call, "ranges": Range, "waits": HostWait, "arrows": Arrow, "memory": MemoryPoint,
}  # fmt: skip


def write_json(trace: Trace, path: Path) -> None:
    """Write a trace as JSON, for `read_json`."""
    kept = {part.name: getattr(trace, part.name) for part in fields(trace) if part.name not in ("waits", "streams")}
    kept["waits"] = [list(asdict(wait).values()) for wait in trace.waits]
    kept["streams"] = [[*key, label] for key, label in trace.streams.items()]
    path.write_text(json.dumps(kept), encoding="utf-8")


def read_json(path: Path) -> Trace:
    """Read a trace that `write_json` wrote."""
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for name, entry_type in LISTS.items():
        kept[name] = [entry_type(*map(_as_tuples, entry)) for entry in kept[name]]
    kept["spans"] = [span._replace(launch=span.launch and Launch(*span.launch)) for span in kept["spans"]]
    kept["threads"] = {int(number): label for number, label in kept["threads"].items()}
    kept["devices_named"] = {int(number): label for number, label in kept["devices_named"].items()}
    kept["streams"] = {(device, stream): label for device, stream, label in kept["streams"]}
    return Trace(**kept)


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


def join_ranks(traces: Mapping[int, Trace]) -> Trace:
    """Return the trace of several ranks."""
    joined = Trace(limit=0)
    begin_ns = min((trace.begin_ns for trace in traces.values() if trace.spans), default=0)
    spans: list[tuple[int, int, Span]] = []  # annotated with the rank and the index in it
    for rank, trace in sorted(traces.items()):
        shift = trace.begin_ns - begin_ns if trace.spans else 0
        first, calls = rank * DEVICES, len(joined.calls)
        threads: dict[int, int] = {}

        def thread(number: int, rank: int = rank, trace: Trace = trace, threads: dict[int, int] = threads) -> int:
            if number not in threads:
                threads[number] = len(joined.threads)
                joined.threads[threads[number]] = f"of rank {rank}: {trace.threads.get(number, number)}"
            return threads[number]

        for index, span in enumerate(trace.spans):
            call = NONE if span.call == NONE else span.call + calls
            peer = NONE if span.peer == NONE else span.peer + first
            start_ns, end_ns, device = span.start_ns + shift, span.end_ns + shift, span.device + first
            span = span._replace(device=device, start_ns=start_ns, end_ns=end_ns, call=call, peer=peer)
            spans.append((rank, index, span))
        lists: tuple[tuple[list[Any], list[Any]], ...] = (trace.calls, joined.calls), (trace.ranges, joined.ranges)
        for entries, kept in lists:
            for entry in entries:
                times = {"start_ns": entry.start_ns + shift, "end_ns": entry.end_ns + shift}
                kept.append(entry._replace(thread=thread(entry.thread), **times))
        for point in trace.memory:
            joined.memory.append(point._replace(device=point.device + first, time_ns=point.time_ns + shift))
        for device in trace.devices:
            joined.devices_named[device + first] = f"rank {rank} {trace.device_name(device)}"
        for (device, stream), label in trace.streams.items():
            joined.streams[device + first, stream] = label
        joined.limit += trace.limit
        joined.left_out += trace.left_out
        joined.lost += trace.lost
        joined.modelled, joined.source = trace.modelled, joined.source or trace.source
        joined.measured_by = joined.measured_by or trace.measured_by
        joined.calibrated = joined.calibrated and trace.calibrated
        joined.note = "; ".join(filter(None, (joined.note, f"rank {rank}: {trace.note}" if trace.note else "")))
        for wait in trace.waits:
            values = asdict(wait) | {"thread": thread(wait.thread), "span": (rank, wait.span)}
            values |= {"start_ns": wait.start_ns + shift, "end_ns": wait.end_ns + shift}
            values["device"] = NONE if wait.device == NONE else wait.device + first
            joined.waits.append(HostWait(**values))
    spans.sort(key=lambda entry: (entry[2].start_ns, entry[2].device, entry[2].end_ns))
    joined.spans = [span for _, _, span in spans]
    positions = {(rank, index): new for new, (rank, index, _) in enumerate(spans)}
    for wait in joined.waits:
        key: Any = wait.span
        wait.span = positions.get(key, NONE)
    for rank, trace in traces.items():
        for arrow in trace.arrows:
            joined.arrows.append(Arrow(positions[rank, arrow.source], positions[rank, arrow.target], arrow.site))
    return joined
