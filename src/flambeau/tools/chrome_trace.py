"""Writer of a trace in the format of Chrome's trace viewer, which Perfetto reads too.

A process for the host, with a lane for each thread, and one for each device, with a lane for each stream.  Flow events
lead from a call to its work and along waits of streams; counter events show memory.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from typing import Any

from .trace import NONE, Call, HostWait, Range, Span, Trace

HOST = 0  # the host's process; device i is process i + 1
NS_PER_US = 1000
Event = dict[str, Any]


def write(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write a trace; compressed if the path ends in .gz."""
    document = {"traceEvents": list(events_of(trace)), "displayTimeUnit": "ns", "otherData": _about(trace)}
    opened: Any = gzip.open if os.fspath(path).endswith(".gz") else open
    with opened(path, "wt", encoding="utf-8") as file:
        json.dump(document, file)


def _about(trace: Trace) -> dict[str, str]:
    texts = (("measured by", trace.measured_by), ("cap", trace.cap), ("note", trace.note))
    return {"times": trace.times} | {key: text for key, text in texts if text}


def events_of(trace: Trace) -> Iterator[Event]:
    """Trace events.  Streams and threads count from 0 in each process: the viewer's lane numbers have 32 bits."""
    streams = sorted({(each.device, each.stream) for each in trace.spans})
    lanes = {each: sum(other[0] == each[0] for other in streams[:at]) for at, each in enumerate(streams)}
    threads = {number: lane for lane, number in enumerate(_threads(trace))}
    for device in trace.devices:
        yield _named("process_name", device + 1, 0, trace.device_name(device))
    for device, stream in streams:
        label = trace.streams.get((device, stream), f"stream {stream}")
        yield _named("thread_name", device + 1, lanes[device, stream], label)
    if threads:
        yield _named("process_name", HOST, 0, "host")
    for number, lane in threads.items():
        yield _named("thread_name", HOST, lane, trace.threads.get(number, f"thread {number}"))
    for span in trace.spans:
        yield _span_event(span, lanes[span.device, span.stream])
    for named in trace.ranges:
        yield _range_event(named, threads[named.thread])
    for call in trace.calls:
        yield _call_event(call, threads[call.thread])
    for wait in trace.waits:
        yield _wait_event(wait, threads[wait.thread])
    yield from _flows(trace, lanes, threads)
    for point in trace.memory:
        sizes = {"allocated": point.allocated, "cached": point.reserved - point.allocated}
        place = {"pid": point.device + 1, "tid": 0, "cat": "memory"}
        yield {"ph": "C", "name": "memory", "ts": _us(point.time_ns), "args": sizes} | place


def _threads(trace: Trace) -> list[int]:
    lists: tuple[list[Any], ...] = (trace.ranges, trace.calls, trace.waits)
    return list(dict.fromkeys(each.thread for entries in lists for each in entries))


def _flows(trace: Trace, lanes: dict[tuple[int, int], int], threads: dict[int, int]) -> Iterator[Event]:
    number = 0
    for span in trace.spans:
        if span.call != NONE:
            number += 1
            call = trace.calls[span.call]
            yield _flow("s", "launch", number, HOST, threads[call.thread], call.start_ns)
            yield _flow("f", "launch", number, span.device + 1, lanes[span.device, span.stream], span.start_ns)
    for arrow in trace.arrows:
        number += 1
        source, target = trace.spans[arrow.source], trace.spans[arrow.target]
        inside = max(source.start_ns, source.end_ns - 1)  # a viewer looks for the entry around it
        yield _flow("s", "wait", number, source.device + 1, lanes[source.device, source.stream], inside)
        yield _flow("f", "wait", number, target.device + 1, lanes[target.device, target.stream], target.start_ns)


def _flow(phase: str, name: str, number: int, process: int, lane: int, time_ns: int) -> Event:
    event = {"ph": phase, "name": name, "cat": "flow", "id": number, "pid": process, "tid": lane, "ts": _us(time_ns)}
    return event | {"bp": "e"} if phase == "f" else event


def _named(what: str, process: int, lane: int, name: str) -> Event:
    """A trace event that names a process or thread."""
    return {"ph": "M", "name": what, "pid": process, "tid": lane, "args": {"name": name}}


def _span_event(span: Span, lane: int) -> Event:
    facts: dict[str, Any] = {"bytes": span.nbytes, "line": span.site}
    if span.shapes:
        facts["shapes"] = [list(each) for each in span.shapes]
    if span.launch is not None:
        facts |= span.launch.facts
    place = {"pid": span.device + 1, "tid": lane, "cat": span.kind, "args": facts}
    return {"ph": "X", "name": span.name} | _times(span.start_ns, span.end_ns) | place


def _range_event(named: Range, lane: int) -> Event:
    place = {"name": named.text, "pid": HOST, "tid": lane, "cat": "range"}
    if named.start_ns == named.end_ns:
        return {"ph": "i", "s": "t", "ts": _us(named.start_ns)} | place
    return {"ph": "X"} | _times(named.start_ns, named.end_ns) | place


def _call_event(call: Call, lane: int) -> Event:
    facts: dict[str, Any] = {"line": call.site} | ({"stack": list(call.stack)} if call.stack else {})
    place = {"pid": HOST, "tid": lane, "cat": "call", "args": facts}
    return {"ph": "X", "name": call.name} | _times(call.start_ns, call.end_ns) | place


def _wait_event(wait: HostWait, lane: int) -> Event:
    facts = {"line": wait.site, "hidden": wait.is_hidden, "reason": wait.reason}
    place = {"pid": HOST, "tid": lane, "cat": "blocked", "args": facts}
    return {"ph": "X", "name": f"blocked: {wait.name}"} | _times(wait.start_ns, wait.end_ns) | place


def _us(time_ns: int) -> float:
    return time_ns / NS_PER_US


def _times(start_ns: int, end_ns: int) -> dict[str, float]:
    """Start and duration in microseconds, as the trace format requires."""
    return {"ts": _us(start_ns), "dur": _us(end_ns - start_ns)}
