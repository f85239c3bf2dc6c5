"""Writers of a trace: one HTML page, and the format of Chrome's trace viewer, which Perfetto reads too.

The page is self-contained and loads nothing from elsewhere:

- It only draws: lanes, causes and tables are computed here and in trace_analysis.py.
- uPlot (page/uPlot.LICENSE) draws memory.  The timeline is a canvas of our own: libraries for flame graphs
  (flame-chart-js) draw one stack and no arrows between lanes; those for schedules (vis-timeline) create a DOM element
  per entry, which takes seconds for 100,000 entries.
- Starts are stored as differences within their lane, and texts once, which keeps the page small.

Chrome's format has a process for the host, with a lane for each thread, and one for each device, with a lane for each
stream.  Flow events lead from a call to its work and along waits of streams; counter events show memory.
"""

from __future__ import annotations

import gzip
import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

from .. import callers
from .trace import NONE, Call, HostWait, Range, Span, Trace
from .trace_analysis import END, Analysis, duration, percent

FILES = Path(__file__).parent / "page"
KINDS = ("kernel", "copy", "fill", "graph", "call", "range", "blocked")
ROWS = 50  # rows of a table
FRAME_HEIGHT = 760  # pixels, in a notebook

Entry = tuple[int, int, str, str, str]  # start, end, kind, name, line


def write_page(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write the page of a trace.  An existing file is replaced once the new one is complete."""
    write_text(page(trace), path)


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write a file through a temporary one in the same folder."""
    target = Path(path)
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def frame(trace: Trace) -> str:
    """Return the page in an HTML frame of its own, for notebooks."""
    source = escape(page(trace), quote=True)
    style = f'style="width:100%;height:{FRAME_HEIGHT}px;border:0"'
    return f'<iframe {style} sandbox="allow-scripts" title="flambeau trace" srcdoc="{source}"></iframe>'


def page(trace: Trace) -> str:
    """Return the HTML text of a trace's page."""
    analysis = Analysis(trace)
    data = json.dumps(_Data(analysis).document(), separators=(",", ":")).replace("<", "\\u003c")
    files = {name: (FILES / name).read_text(encoding="utf-8") for name in ("uPlot.min.css", "trace.css")}
    scripts = [(FILES / name).read_text(encoding="utf-8") for name in ("uPlot.iife.min.js", "trace.js")]
    policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
    title = f"flambeau trace: {len(trace.spans):,} pieces of work in {duration(analysis.length_ns)}"
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            *(f"<style>{text}</style>" for text in files.values()),
            "</head><body><main>",
            f"<h1>{escape(title)}</h1>",
            f'<div class="soft">{escape(_about(trace))}</div>',
            *(f'<div class="note">{escape(text)}</div>' for text in (trace.note, trace.cap) if text),
            _facts(analysis),
            (FILES / "timeline.html").read_text(encoding="utf-8"),
            _ranking(analysis),
            _hidden(analysis),
            _gaps(analysis),
            _work(analysis),
            f'</main><script type="application/json" id="data">{data}</script>',
            *(f"<script>{text}</script>" for text in scripts),
            "</body></html>",
        ]
    )


def _about(trace: Trace) -> str:
    if not trace.source:
        return "no device was used"
    origin = "estimates, not measurements of hardware" if trace.modelled else f"by {trace.measured_by}"
    return f"{trace.source}; all times are {trace.times}{': ' if trace.modelled else ' '}{origin}"


def _facts(analysis: Analysis) -> str:
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in analysis.facts())
    return f'<dl class="facts">{rows}</dl>'


def _line(site: str) -> str:
    """Return the place and the text of a source line, as HTML."""
    return f"<code>{escape(callers.shown_site(site))}</code> <code>{escape(callers.source_at(site)[:120])}</code>"


def _table(title: str, about: str, heads: str, rows: Iterable[str], count: int) -> str:
    """Return a table of rows of HTML.  heads: the titles of columns, of numbers with # before them."""
    if not count:
        return f"<h2>{escape(title)}</h2><p class='soft'>none</p>"
    titles = "".join(
        f'<th class="n">{escape(column[1:])}</th>' if column[0] == "#" else f"<th>{escape(column)}</th>"
        for column in heads.split(", ")
    )
    more = f"<p class='soft'>and {count - ROWS} more</p>" if count > ROWS else ""
    body = "".join(rows)
    head = f"<h2>{escape(title)}</h2><p class='soft'>{escape(about)}</p>"
    return f'{head}<div class="wide"><table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table></div>{more}'


def _numbers(*texts: str) -> str:
    return "".join(f'<td class="n">{escape(text)}</td>' for text in texts)


def _ranking(analysis: Analysis) -> str:
    rows = (
        f"<tr>{_numbers(duration(line.gain_ns), percent(line.gain_ns, analysis.length_ns), str(line.times))}"
        f"<td>{escape(line.cause)}</td><td>{_line(line.site)}</td><td class='text'>{escape(line.advice)}</td></tr>"
        for line in analysis.ranking[:ROWS]
    )
    about = "Lines by the time in which devices ran no kernel because of them: at most this much is saved."
    heads = "#up to, #of all, #times, cause, line, what to do"
    return _table("What would help most", about, heads, rows, len(analysis.ranking))


def _hidden(analysis: Analysis) -> str:
    rows = (
        f"<tr>{_numbers(duration(wait.blocked_ns), str(wait.times))}<td>{escape(wait.name)}</td>"
        f"<td>{_line(wait.site)}</td>"
        f"<td class='text'>{escape(wait.reason)}<br><span class='soft'>{escape(wait.hint)}</span></td></tr>"
        for wait in analysis.hidden[:ROWS]
    )
    about = "Calls that make the host wait for a device, other than synchronize."
    return _table("Hidden synchronizations", about, "#blocked, #times, call, line, why", rows, len(analysis.hidden))


def _gaps(analysis: Analysis) -> str:
    gaps = sorted((gap for gap in analysis.gaps if gap.cause != END), key=lambda gap: -gap.length_ns)
    rows = (
        f'<tr tabindex="0" data-from="{gap.start_ns}" data-to="{gap.end_ns}">'
        f"{_numbers(duration(gap.length_ns), duration(gap.start_ns - analysis.window[0]))}"
        f"<td>{escape(analysis.trace.device_name(gap.device))}</td><td>{escape(gap.cause)}</td>"
        f"<td class='text'>{escape(gap.text)}</td><td>{_line(gap.site)}</td></tr>"
        for gap in gaps[:ROWS]
    )
    about = "Times in which a device ran no kernel, and what its next kernel waited for.  A click shows one."
    return _table("Longest idle gaps", about, "#length, #at, device, cause, what happened, line", rows, len(gaps))


def _work(analysis: Analysis) -> str:
    rows = (
        f"<tr>{_numbers(duration(sum_ns), str(count), duration(sum_ns // count), f'{nbytes:,}')}"
        f"<td><code>{escape(name)}</code></td><td>{_line(site)}</td></tr>"
        for name, site, count, sum_ns, nbytes in analysis.kernels[:ROWS]
    )
    return _table("Where the time goes", "", "#total, #times, #mean, #bytes, work, line", rows, len(analysis.kernels))


class _Texts:
    """Table of texts, each stored once under a number.  Number 0 is the empty text."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {"": 0}

    def number(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


class _Data:
    """The data of the page's script."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis, self._trace = analysis, analysis.trace
        self._names, self._sites, self._notes = _Texts(), _Texts(), _Texts()
        self._shown: dict[str, str] = {}
        self._lanes: list[dict[str, Any]] = []
        self._call_at: dict[int, tuple[int, int]] = {}  # lane and index by call
        self._span_at: dict[int, tuple[int, int]] = {}

    def document(self) -> dict[str, Any]:
        trace = self._trace
        for thread in dict.fromkeys([*trace.threads, *(entry.thread for entry in trace.ranges)]):
            self._add_thread(thread)
        for device in sorted({span.device for span in trace.spans} | {span.peer for span in trace.spans} - {NONE}):
            self._add_device(device)
        arrows = sorted(trace.arrows, key=lambda arrow: trace.spans[arrow.source].end_ns)
        return {
            "window": self._analysis.window,
            "times": trace.times,
            "kinds": KINDS,
            "lanes": self._lanes,
            "arrows": [
                (self._span_at[arrow.source], self._span_at[arrow.target], self._sites.number(self._site(arrow.site)))
                for arrow in arrows
            ],
            "memory": [self._memory(device) for device in sorted({point.device for point in trace.memory})],
            "names": list(self._names.numbers),
            "sites": list(self._sites.numbers),
            "notes": list(self._notes.numbers),
        }

    def _site(self, site: str) -> str:
        """Return the text of a line: its place and its source."""
        shown = self._shown.get(site)
        if shown is None:
            shown = self._shown[site] = f"{callers.shown_site(site)}   {callers.source_at(site)[:160]}".rstrip()
        return shown

    def _lane(self, group: str, label: str, entries: list[Entry]) -> dict[str, Any]:
        """Add a lane of entries that are sorted by start."""
        starts = [entry[0] for entry in entries]
        lane: dict[str, Any] = {
            "group": group,
            "label": label,
            "start": [start - former for start, former in zip(starts, [0, *starts])],
            "length": [entry[1] - entry[0] for entry in entries],
            "kind": [KINDS.index(entry[2]) for entry in entries],
            "name": [self._names.number(entry[3]) for entry in entries],
            "site": [self._sites.number(self._site(entry[4])) if entry[4] else 0 for entry in entries],
        }
        self._lanes.append(lane)
        return lane

    def _add_thread(self, thread: int) -> None:
        trace, group = self._trace, f"host thread {self._trace.threads.get(thread, thread)}"
        ranges = [entry for entry in trace.ranges if entry.thread == thread]
        ranges.sort(key=lambda entry: (entry.start_ns, -entry.end_ns))
        for depth, nested in enumerate(_nested(ranges)):
            entries = [(entry.start_ns, entry.end_ns, "range", entry.text, "") for entry in nested]
            self._lane(group, "ranges" if depth == 0 else f"ranges, depth {depth}", entries)
        calls = [(index, call) for index, call in enumerate(trace.calls) if call.thread == thread]
        if calls:
            calls.sort(key=lambda entry: entry[1].start_ns)
            for position, (index, _) in enumerate(calls):
                self._call_at[index] = len(self._lanes), position
            lane = self._lane(group, "calls", [_call_entry(call) for _, call in calls])
            if any(call.stack for _, call in calls):
                lane["note"] = [self._notes.number("\n".join(call.stack)) for _, call in calls]
        waits = self._analysis.blocked.get(thread, [])
        if waits:
            entries = [(wait.start_ns, wait.end_ns, "blocked", wait.name, wait.site) for wait in waits]
            lane = self._lane(group, "blocked", entries)
            lane["note"] = [self._notes.number(self._wait_note(wait)) for wait in waits]

    def _wait_note(self, wait: HostWait) -> str:
        lines = []
        if wait.span != NONE:
            span = self._trace.spans[wait.span]
            lines.append(f"the host was blocked here by {span.name}, launched at {self._site(span.site)}")
        lines += [wait.reason] if wait.reason else []
        lines += [f"hint: {wait.hint}"] if wait.hint else []
        return "\n".join(lines)

    def _add_device(self, device: int) -> None:
        trace, group = self._trace, self._trace.device_name(device)
        by_stream: defaultdict[int, list[int]] = defaultdict(list)
        by_part: defaultdict[str, list[int]] = defaultdict(list)
        for index, span in enumerate(trace.spans):
            if span.device == device:
                by_stream[span.stream].append(index)
            if span.lane != "kernels" and device in (span.device, span.peer):
                other = span.device if device == span.peer else span.peer
                by_part[f"link with {trace.device_name(other)}" if span.peer != NONE else span.lane].append(index)
        for stream in sorted(by_stream):
            indices = by_stream[stream]
            for position, index in enumerate(indices):
                self._span_at[index] = len(self._lanes), position
            self._add_spans(group, trace.streams.get((device, stream), f"stream {stream}"), indices)
        for part in sorted(by_part):
            self._add_spans(group, part, by_part[part])

    def _add_spans(self, group: str, label: str, indices: list[int]) -> None:
        spans = [self._trace.spans[index] for index in indices]
        lane = self._lane(group, label, [_span_entry(span) for span in spans])
        lane["bytes"] = [span.nbytes for span in spans]
        lane["from"] = [self._call_at.get(span.call, 0) for span in spans]
        if any(span.shapes or span.launch for span in spans):
            lane["note"] = [self._notes.number(_span_note(span)) for span in spans]

    def _memory(self, device: int) -> dict[str, Any]:
        points = [point for point in self._trace.memory if point.device == device]
        points.sort(key=lambda point: point.time_ns)
        kept = [point for point, later in pairwise(points) if later.time_ns > point.time_ns] + points[-1:]
        times = [point.time_ns for point in kept]
        return {
            "device": self._trace.device_name(device),
            "time": [time - former for time, former in zip(times, [0, *times])],
            "allocated": [point.allocated for point in kept],
            "reserved": [point.reserved for point in kept],
        }


def _call_entry(call: Call) -> Entry:
    return call.start_ns, call.end_ns, "call", call.name, call.site


def _span_entry(span: Span) -> Entry:
    return span.start_ns, span.end_ns, span.kind, span.name, span.site


def _span_note(span: Span) -> str:
    shapes = "shapes " + ", ".join(str(list(shape)) for shape in span.shapes) if span.shapes else ""
    facts = "" if span.launch is None else ", ".join(f"{name} {value}" for name, value in span.launch.facts.items())
    return "\n".join(filter(None, (shapes, facts)))


def _nested(ranges: list[Range]) -> list[list[Range]]:
    """Ranges by depth; those of one depth do not overlap."""
    depths: list[list[Range]] = []
    for entry in ranges:
        for row in depths:
            if row[-1].end_ns <= entry.start_ns:
                row.append(entry)
                break
        else:
            depths.append([entry])
    return depths


HOST = 0  # the host's process; device i is process i + 1
NS_PER_US = 1000
Event = dict[str, Any]


def write_chrome_trace(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write a trace; compressed if the path ends in .gz."""
    document = {"traceEvents": list(events_of(trace)), "displayTimeUnit": "ns", "otherData": _chrome_arguments(trace)}
    opened: Any = gzip.open if os.fspath(path).endswith(".gz") else open
    with opened(path, "wt", encoding="utf-8") as file:
        json.dump(document, file)


def _chrome_arguments(trace: Trace) -> dict[str, str]:
    texts = (("measured by", trace.measured_by), ("cap", trace.cap), ("note", trace.note))
    return {"times": trace.times} | {key: text for key, text in texts if text}


def events_of(trace: Trace) -> Iterator[Event]:
    """Trace events.  Streams and threads count from 0 in each process: the viewer's lane numbers have 32 bits."""
    streams = sorted({(span.device, span.stream) for span in trace.spans})
    lanes = {key: sum(other[0] == key[0] for other in streams[:at]) for at, key in enumerate(streams)}
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
        fields = {"pid": point.device + 1, "tid": 0, "cat": "memory"}
        yield {"ph": "C", "name": "memory", "ts": _us(point.time_ns), "args": sizes} | fields


def _threads(trace: Trace) -> list[int]:
    lists: tuple[list[Any], ...] = (trace.ranges, trace.calls, trace.waits)
    return list(dict.fromkeys(entry.thread for entries in lists for entry in entries))


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
        inside = max(source.start_ns, source.end_ns - 1)  # a viewer looks for the entry that encloses it
        yield _flow("s", "wait", number, source.device + 1, lanes[source.device, source.stream], inside)
        yield _flow("f", "wait", number, target.device + 1, lanes[target.device, target.stream], target.start_ns)


def _flow(phase: str, name: str, number: int, process: int, lane: int, time_ns: int) -> Event:
    event = {"ph": phase, "name": name, "cat": "flow", "id": number, "pid": process, "tid": lane, "ts": _us(time_ns)}
    return event | {"bp": "e"} if phase == "f" else event


def _named(what: str, process: int, lane: int, name: str) -> Event:
    """Return a trace event that names a process or thread."""
    return {"ph": "M", "name": what, "pid": process, "tid": lane, "args": {"name": name}}


def _span_event(span: Span, lane: int) -> Event:
    facts: dict[str, Any] = {"bytes": span.nbytes, "line": span.site}
    if span.shapes:
        facts["shapes"] = [list(shape) for shape in span.shapes]
    if span.launch is not None:
        facts |= span.launch.facts
    fields = {"pid": span.device + 1, "tid": lane, "cat": span.kind, "args": facts}
    return {"ph": "X", "name": span.name} | _times(span.start_ns, span.end_ns) | fields


def _range_event(named: Range, lane: int) -> Event:
    fields = {"name": named.text, "pid": HOST, "tid": lane, "cat": "range"}
    if named.start_ns == named.end_ns:
        return {"ph": "i", "s": "t", "ts": _us(named.start_ns)} | fields
    return {"ph": "X"} | _times(named.start_ns, named.end_ns) | fields


def _call_event(call: Call, lane: int) -> Event:
    facts: dict[str, Any] = {"line": call.site} | ({"stack": list(call.stack)} if call.stack else {})
    fields = {"pid": HOST, "tid": lane, "cat": "call", "args": facts}
    return {"ph": "X", "name": call.name} | _times(call.start_ns, call.end_ns) | fields


def _wait_event(wait: HostWait, lane: int) -> Event:
    facts = {"line": wait.site, "hidden": wait.is_hidden, "reason": wait.reason}
    fields = {"pid": HOST, "tid": lane, "cat": "blocked", "args": facts}
    return {"ph": "X", "name": f"blocked: {wait.name}"} | _times(wait.start_ns, wait.end_ns) | fields


def _us(time_ns: int) -> float:
    return time_ns / NS_PER_US


def _times(start_ns: int, end_ns: int) -> dict[str, float]:
    """Start and duration in microseconds, as the trace format requires."""
    return {"ts": _us(start_ns), "dur": _us(end_ns - start_ns)}
