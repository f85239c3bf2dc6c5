"""Analysis of a trace: busy and idle time, the cause of each idle gap, overlap, hidden synchronization, a ranking.

- A device is busy while a kernel, a copy or a fill runs on it.  A copy overlaps while a kernel of the device runs too.
- A gap is a time in which no kernel runs on a device.  Its cause is what the next kernel waited for: a copy, another
  stream, or the host, which was blocked or was making other calls.
- A line's gain is the sum of the gaps that it caused, on the device where that is largest: an upper bound of the time
  saved by removing the cause.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from .. import callers
from .trace import NONE, Call, HostWait, Span, Trace

Interval = tuple[int, int]

BLOCKED, HOST = "host blocked", "host busy"
COPY, STREAM, MEMORY, END = "copy", "other stream", "allocation", "end"
ADVICE = {
    COPY: "start the copy earlier, on a stream of its own, so that it runs beside kernels",
    STREAM: "give the other stream its work earlier, or let this one do something else meanwhile",
    HOST: "the host submits slower than the device works: fewer, larger operations, or a graph (torch.cuda.graph)",
    MEMORY: "the allocator asked the driver for memory: run one step before, so that later ones find it cached",
    END: "nothing more was submitted",
}
EXPLICIT = "wait later, or let a stream wait in place of the host (wait_event, wait_stream)"


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """Merge intervals that overlap or touch; the result is sorted."""
    merged: list[Interval] = []
    for start, end in sorted(intervals):
        if end <= start:
            continue
        if merged and start <= merged[-1][1]:
            if end > merged[-1][1]:
                merged[-1] = merged[-1][0], end
        else:
            merged.append((start, end))
    return merged


def total(intervals: Iterable[Interval]) -> int:
    return sum(end - start for start, end in intervals)


def common(first: list[Interval], second: list[Interval]) -> int:
    """Return the total time covered by both of two sorted lists of disjoint intervals."""
    sum_ns = at = 0
    for start, end in first:
        while at < len(second) and second[at][1] <= start:
            at += 1
        other = at
        while other < len(second) and second[other][0] < end:
            sum_ns += min(end, second[other][1]) - max(start, second[other][0])
            other += 1
    return sum_ns


class Gap(NamedTuple):
    """A time in which no kernel ran on a device.  cause: one of the constants above;  site: the line that caused it."""

    device: int
    start_ns: int
    end_ns: int
    cause: str
    site: str
    text: str

    @property
    def length_ns(self) -> int:
        return self.end_ns - self.start_ns


class Figures(NamedTuple):
    """One device's times.  overlapped_ns: time in which copies and kernels of the device run together."""

    device: int
    busy_ns: int
    kernel_ns: int
    copy_ns: int
    overlapped_ns: int


class Line(NamedTuple):
    """A source line and the idle time that it caused for one reason.  times: the number of gaps, on all devices."""

    site: str
    cause: str
    gain_ns: int
    times: int
    advice: str


class HiddenWait(NamedTuple):
    """A line that makes the host wait as part of another call."""

    site: str
    name: str
    times: int
    blocked_ns: int
    reason: str
    hint: str


@dataclass
class _Sum:
    count: int = 0
    sum_ns: int = 0
    nbytes: int = 0


class Analysis:
    """Statistics of a trace, each computed once, at first use."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    @cached_property
    def window(self) -> Interval:
        """From the first entry to the last."""
        trace = self.trace
        starts = [entry.start_ns for entries in (trace.calls, trace.spans, trace.waits) for entry in entries]
        return (min(starts), trace.end_ns) if starts else (0, 0)

    @property
    def length_ns(self) -> int:
        return self.window[1] - self.window[0]

    @cached_property
    def figures(self) -> list[Figures]:
        """Times of each device that did something."""
        kernels: defaultdict[int, list[Interval]] = defaultdict(list)
        copies: defaultdict[int, list[Interval]] = defaultdict(list)
        for span in self.trace.spans:
            places = [span.device] + ([span.peer] if span.peer >= 0 else [])
            for device in places:
                (copies if span.lane != "kernels" else kernels)[device].append((span.start_ns, span.end_ns))
        rows = []
        for device in sorted({*kernels, *copies}):
            of_kernels, of_copies = union(kernels[device]), union(copies[device])
            busy = total(union(of_kernels + of_copies))
            beside = common(of_copies, of_kernels)
            rows.append(Figures(device, busy, total(of_kernels), total(of_copies), beside))
        return rows

    @cached_property
    def blocked(self) -> dict[int, list[HostWait]]:
        """The waits that blocked each thread, by start."""
        waits: defaultdict[int, list[HostWait]] = defaultdict(list)
        for wait in sorted(self.trace.waits, key=lambda wait: wait.start_ns):
            if wait.blocked_ns:
                waits[wait.thread].append(wait)
        return dict(waits)

    @cached_property
    def blocked_ns(self) -> int:
        """Time in which at least one host thread was blocked."""
        return total(union((wait.start_ns, wait.end_ns) for waits in self.blocked.values() for wait in waits))

    @cached_property
    def hidden(self) -> list[HiddenWait]:
        """Hidden waits by line and call, the longest first."""
        sums: dict[tuple[str, str, str, str], _Sum] = defaultdict(_Sum)
        for wait in self.trace.waits:
            if wait.is_hidden:
                row = sums[wait.site, wait.name, wait.reason, wait.hint]
                row.count += 1
                row.sum_ns += wait.blocked_ns
        rows = [
            HiddenWait(site, name, row.count, row.sum_ns, reason, hint)
            for (site, name, reason, hint), row in sums.items()
        ]
        return sorted(rows, key=lambda row: (-row.blocked_ns, -row.times, row.site))

    @cached_property
    def gaps(self) -> list[Gap]:
        """The gaps of every device that ran a kernel, by start."""
        gaps = [gap for row in self.figures if row.kernel_ns for gap in _Causes(self, row.device).gaps()]
        return sorted(gaps, key=lambda gap: gap.start_ns)

    @cached_property
    def ranking(self) -> list[Line]:
        """Lines by the idle time that they caused, the largest first."""
        sums: dict[tuple[str, str], dict[int, _Sum]] = defaultdict(lambda: defaultdict(_Sum))
        hints = {wait.site: wait.hint for wait in self.hidden}
        for gap in self.gaps:
            if gap.cause != END:
                row = sums[gap.site, gap.cause][gap.device]
                row.count += 1
                row.sum_ns += gap.length_ns
        rows = []
        for (site, cause), devices in sums.items():
            gain, times = max(row.sum_ns for row in devices.values()), sum(row.count for row in devices.values())
            rows.append(Line(site, cause, gain, times, ADVICE.get(cause) or hints.get(site) or EXPLICIT))
        return sorted(rows, key=lambda line: (-line.gain_ns, line.site))

    @cached_property
    def kernels(self) -> list[tuple[str, str, int, int, int]]:
        """(name, line, count, nanoseconds, bytes) of the work by name and line, the longest first."""
        sums: dict[tuple[str, str], _Sum] = defaultdict(_Sum)
        for span in self.trace.spans:
            row = sums[span.name, span.site]
            row.count += 1
            row.sum_ns += span.end_ns - span.start_ns
            row.nbytes += span.nbytes
        rows = [(name, site, row.count, row.sum_ns, row.nbytes) for (name, site), row in sums.items()]
        return sorted(rows, key=lambda row: (-row[3], row[:2]))

    def summary(self) -> str:
        """Five lines: busy, idle, blocked, overlapped, and the worst line."""
        return "\n".join(f"{name:<12}{text}" for name, text in self.facts())

    def facts(self) -> list[tuple[str, str]]:
        """Return the five lines of the summary: (name, text)."""
        length, times = self.length_ns, self.trace.times
        if not self.figures:
            nothing = "nothing ran on a device"
            return [("busy", nothing), *((title, "-") for title in ("idle", "blocked", "overlapped", "worst line"))]
        name = self.trace.device_name
        busy = ", ".join(f"{name(row.device)} {percent(row.busy_ns, length)}" for row in self.figures)
        idle = ", ".join(f"{name(row.device)} {percent(length - row.busy_ns, length)}" for row in self.figures)
        waits = sum(map(len, self.blocked.values()))
        hidden = sum(wait.is_hidden for blocked in self.blocked.values() for wait in blocked)
        copies, beside = (sum(getattr(row, name) for row in self.figures) for name in ("copy_ns", "overlapped_ns"))
        text = f"{percent(self.blocked_ns, length)}: {duration(self.blocked_ns)} in {waits} wait{'s' * (waits != 1)}"
        return [
            ("busy", f"{busy} of {duration(length)} ({times})"),
            ("idle", idle + self._main_cause()),
            ("blocked", f"the host, {text}, {hidden} of them hidden in other calls{self._longest_hidden()}"),
            ("overlapped", f"{percent(beside, copies)} of {duration(copies)} of copies" if copies else "no copies"),
            ("worst line", self._worst()),
        ]

    def _main_cause(self) -> str:
        sums: defaultdict[str, int] = defaultdict(int)
        for gap in self.gaps:
            sums[gap.cause] += gap.length_ns
        cause = max(sums, key=lambda name: sums[name], default="")
        text = ADVICE[END] if cause == END else cause
        return f"; main cause of time without a kernel: {text}" if cause else ""

    def _longest_hidden(self) -> str:
        if not self.hidden:
            return ""
        longest = self.hidden[0]
        return f"; longest: {longest.name} at {callers.shown_site(longest.site)}"

    def _worst(self) -> str:
        if not self.ranking:
            return "-"
        worst = self.ranking[0]
        source = callers.source_at(worst.site)
        code = f": {source}" if source else ""
        share = percent(worst.gain_ns, self.length_ns)
        return f"{callers.shown_site(worst.site)}{code}: {worst.cause}, up to {duration(worst.gain_ns)} ({share})"


class _Causes:
    """Finds the causes of one device's gaps."""

    def __init__(self, analysis: Analysis, device: int) -> None:
        self._analysis, self._device = analysis, device
        trace = self._trace = analysis.trace
        self._sources: defaultdict[int, list[int]] = defaultdict(list)
        for arrow in trace.arrows:
            self._sources[arrow.target].append(arrow.source)
        former: dict[tuple[int, int], int] = {}
        self._former: list[int] = []  # by span: the one before it on its stream
        for index, span in enumerate(trace.spans):
            key = span.device, span.stream
            self._former.append(former.get(key, NONE))
            former[key] = index
        self._growth = _growths(trace, device)
        self._calls: defaultdict[int, list[Call]] = defaultdict(list)
        for call in trace.calls:
            self._calls[call.thread].append(call)
        self._starts = {thread: [call.start_ns for call in calls] for thread, calls in self._calls.items()}
        self._ends = {
            thread: [wait.end_ns for wait in waits] for thread, waits in analysis.blocked.items()
        }

    def gaps(self) -> list[Gap]:
        begin, end = self._analysis.window
        gaps: list[Gap] = []
        reached = begin
        for index, span in enumerate(self._trace.spans):
            if span.device == self._device and span.lane == "kernels" and span.end_ns > span.start_ns:
                if span.start_ns > reached:
                    gaps += self._explain(reached, span.start_ns, index)
                reached = max(reached, span.end_ns)
        if reached < end:
            gaps.append(Gap(self._device, reached, end, END, "", ADVICE[END]))
        return gaps

    def _explain(self, start: int, end: int, index: int) -> list[Gap]:
        """Split the gap before a span at the work that it waited for, from its end back to its start."""
        parts: list[Gap] = []
        while end > start:
            span = self._trace.spans[index]
            binding = self._binding(index)
            if binding == NONE:
                parts += reversed(self._by_host(start, end, span))
                break
            other = self._trace.spans[binding]
            low = max(start, min(other.start_ns, end))
            if other.lane != "kernels":
                rate = f", {other.nbytes / max(1, other.end_ns - other.start_ns):.1f} GB/s"
                parts.append(Gap(self._device, low, end, COPY, other.site, f"waits for {other.name}{rate}"))
            elif (other.device, other.stream) != (span.device, span.stream):
                where = f"{self._label(other)} of {self._trace.device_name(other.device)}"
                parts.append(Gap(self._device, low, end, STREAM, other.site, f"waits for {other.name} on {where}"))
            end, index = low, binding
        return [part for part in reversed(parts) if part.end_ns > part.start_ns]

    def _label(self, span: Span) -> str:
        return self._trace.streams.get((span.device, span.stream), f"stream {span.stream}")

    def _binding(self, index: int) -> int:
        """Return the work whose end let a span start; NONE if it was the host's call."""
        spans, span = self._trace.spans, self._trace.spans[index]
        before = [*self._sources.get(index, ()), *([self._former[index]] if self._former[index] != NONE else [])]
        last = max(before, key=lambda number: spans[number].end_ns, default=NONE)
        if last in (NONE, index):
            return NONE
        submitted = self._trace.calls[span.call].end_ns if span.call != NONE else span.start_ns
        ended = spans[last].end_ns
        return last if ended >= submitted and spans[last].start_ns < span.start_ns else NONE

    def _by_host(self, start: int, end: int, span: Span) -> list[Gap]:
        """Explain the part of a gap in which the device had no work by the calls and waits of the submitting thread.

        A wait accounts for the time since the end of the wait before it; the last one accounts for the rest, because it
        had emptied the stream.
        """
        if span.call == NONE:
            return [Gap(self._device, start, end, HOST, span.site, "the host had not submitted it")]
        call = self._trace.calls[span.call]
        waits, ends = self._analysis.blocked.get(call.thread, []), self._ends.get(call.thread, [])
        inside = waits[bisect_right(ends, start) : bisect_right(ends, end)]
        reached, parts = start, []
        for wait in inside:
            until = end if wait is inside[-1] else wait.end_ns
            parts.append(Gap(self._device, reached, until, BLOCKED, wait.site, self._wait_text(wait)))
            reached = until
        return parts or [self._by_calls(start, end, call)]

    def _wait_text(self, wait: HostWait) -> str:
        awaited = ""
        if wait.span != NONE:
            work = self._trace.spans[wait.span]
            awaited = f" for {work.name}, launched at {callers.shown_site(work.site)}"
        return f"{wait.name} blocked the host{awaited}; it submitted nothing meanwhile"

    def _by_calls(self, start: int, end: int, call: Call) -> Gap:
        if self._growth:
            grown = bisect_left(self._growth, start)
            if grown < len(self._growth) and self._growth[grown] <= call.start_ns:
                text = "the allocator asked the driver for memory"
                return Gap(self._device, start, end, MEMORY, call.site, text)
        calls, starts = self._calls[call.thread], self._starts[call.thread]
        first = max(0, bisect_right(starts, start) - 1)
        present = calls[first : bisect_left(starts, end)]
        spans = [(min(other.end_ns, end) - max(other.start_ns, start), other) for other in present]
        spent, longest = max(spans, key=lambda entry: entry[0], default=(0, call))
        if 2 * spent < end - start:
            text = f"the host did other things before it called {call.name}"
            return Gap(self._device, start, end, HOST, call.site, text)
        return Gap(self._device, start, end, HOST, longest.site, f"the host was in {longest.name}")


def _growths(trace: Trace, device: int) -> list[int]:
    """Return the times at which a device's allocator got memory from the driver."""
    points = [point for point in trace.memory if point.device == device]
    return [point.time_ns for former, point in pairwise(points) if point.reserved > former.reserved]


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "0 %"


UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns"))


def duration(ns: int) -> str:
    """Format a time with three digits and its unit."""
    for size, unit in UNITS:
        if ns >= size:
            return f"{ns / size:.3g} {unit}" if ns < 1000 * size else f"{ns / size:.0f} {unit}"
    return "0 ns"
