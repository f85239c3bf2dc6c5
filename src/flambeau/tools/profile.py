"""What ran when: `with flambeau.profile() as p:` gives the spans of every stream, a table of them, and a trace file."""

from __future__ import annotations

import gzip
import json
import os
import threading
from collections import defaultdict
from typing import Any, NamedTuple

from ..core import thread
from ..errors import AcceleratorError
from ..hooks import subscribe, unsubscribe
from .recorders import EventRecorder, ModelRecorder, Recorder, Span

HOST = 0  # the host's process in a trace file; device i is process i + 1
NAME_WIDTH = 40  # columns, at least
NS_PER_US = 1000


class Range(NamedTuple):
    """A part of the program that `cuda.nvtx` named, or a moment of it (`start_ns` is `end_ns`).

    thread: which one ended it;  start_ns, end_ns: the host's time since the profile began.
    """

    text: str
    thread: int
    start_ns: int
    end_ns: int


class Profile:
    """What ran inside a `with flambeau.profile() as p:` block; complete when the block has ended.

    spans: kernels, library calls, copies and fills, by their begin.  ranges: what `cuda.nvtx` named, by its end.
    modelled: whether the times are those of a model and not of a GPU.
    """

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.ranges: list[Range] = []
        self.modelled = False
        self._labels: dict[tuple[int, int], str] = {}

    def __enter__(self) -> Profile:
        machine = thread.machine()
        machine.start()
        self._machine = machine
        self.modelled = machine.driver.capabilities.modelled_time
        self._recorder: Recorder = ModelRecorder(machine) if self.modelled else EventRecorder(machine)
        self._began = machine.driver.host_ns()
        subscribe(on_range=self._keep_range)
        try:
            self._recorder.begin()
        except BaseException:
            unsubscribe(on_range=self._keep_range)
            raise
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self._recorder.end()
        unsubscribe(on_range=self._keep_range)
        streams = list(self._machine.streams.values())
        self._labels = {(each.device_index, each.cuda_stream): each.label for each in streams}
        if not (isinstance(error, AcceleratorError) and error.sticky):  # else the device does nothing more
            self.spans = self._recorder.spans()

    def _keep_range(self, text: str, start_ns: int | None, end_ns: int) -> None:
        start = 0 if start_ns is None else max(0, start_ns - self._began)
        self.ranges.append(Range(text, threading.get_ident(), start, end_ns - self._began))

    def table(self) -> str:
        """Calls, times and bytes by name, for people: what took longest comes first."""
        sums: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        for each in self.spans:
            row = sums[each.name]
            for place, value in enumerate((1, each.end_ns - each.start_ns, each.nbytes)):
                row[place] += value
        width = max([NAME_WIDTH, *map(len, sums)])
        kind = "modelled" if self.modelled else "measured"
        lines = [f"{f'name ({kind} times)':<{width}}{'calls':>8}{'total us':>14}{'mean us':>12}{'bytes':>16}"]
        for name, (calls, total, nbytes) in sorted(sums.items(), key=lambda item: (-item[1][1], item[0])):
            times = f"{total / NS_PER_US:>14.3f}{total / calls / NS_PER_US:>12.3f}"
            lines.append(f"{name:<{width}}{calls:>8}{times}{nbytes:>16}")
        return "\n".join(lines)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write spans and ranges in the format of Chrome's trace viewer, which Perfetto reads too.

        A path that ends in .gz makes a compressed file, which both read as well.
        """
        kind = "modelled" if self.modelled else "measured"
        document = {"traceEvents": self._events(), "displayTimeUnit": "ns", "otherData": {"times": kind}}
        opened: Any = gzip.open if os.fspath(path).endswith(".gz") else open
        with opened(path, "wt", encoding="utf-8") as file:
            json.dump(document, file)

    def _events(self) -> list[dict[str, Any]]:
        """Lanes are numbered from 0 in each process: the viewer's numbers have 32 bits, those of streams have more."""
        streams = sorted({(each.device, each.stream) for each in self.spans})
        threads = list(dict.fromkeys(each.thread for each in self.ranges))
        lanes = {each: sum(other[0] == each[0] for other in streams[:at]) for at, each in enumerate(streams)}
        return [
            *(_named("process_name", device + 1, 0, f"cuda:{device}") for device in sorted({at for at, _ in streams})),
            *(_named("thread_name", at + 1, lanes[at, stream], self._label(at, stream)) for at, stream in streams),
            *([_named("process_name", HOST, 0, "host")] if threads else []),
            *(_span_event(each, lanes[each.device, each.stream]) for each in self.spans),
            *(_range_event(each, threads.index(each.thread)) for each in self.ranges),
        ]

    def _label(self, device: int, stream: int) -> str:
        return self._labels.get((device, stream), f"stream {stream}")


def _named(what: str, process: int, lane: int, name: str) -> dict[str, Any]:
    """What the viewer shows in the place of a number."""
    return {"ph": "M", "name": what, "pid": process, "tid": lane, "args": {"name": name}}


def _span_event(span: Span, lane: int) -> dict[str, Any]:
    first = span.name.split()[0]
    kind = first if first in ("copy", "fill", "graph") else "kernel"
    place = {"pid": span.device + 1, "tid": lane, "cat": kind, "args": {"bytes": span.nbytes, "line": span.site}}
    return {"ph": "X", "name": span.name} | _times(span.start_ns, span.end_ns) | place


def _range_event(named: Range, lane: int) -> dict[str, Any]:
    place = {"name": named.text, "pid": HOST, "tid": lane, "cat": "range"}
    if named.start_ns == named.end_ns:
        return {"ph": "i", "s": "t", "ts": named.start_ns / NS_PER_US} | place
    return {"ph": "X"} | _times(named.start_ns, named.end_ns) | place


def _times(start_ns: int, end_ns: int) -> dict[str, float]:
    """In microseconds, as the format has it."""
    return {"ts": start_ns / NS_PER_US, "dur": (end_ns - start_ns) / NS_PER_US}


def profile() -> Profile:
    """Collect what every stream does inside a `with` block: see `Profile`.

    On virtual GPUs the times are the model's, and collecting takes none of it.  On NVIDIA GPUs two timing events are
    recorded around each launch, copy and fill: some microseconds of the host's time for each call, about one of the
    GPU's between neighbours on a stream, and memory for the events until the block ends.  Where a stream had nothing
    else to do, its span begins when the host began the call, so a short kernel's span is mostly the call; on a stream
    that is kept busy, spans are exact to about a microsecond.
    Host:   waits at the end of the block for every device that was used; on NVIDIA GPUs also when one is first used.
    Raises: NoDeviceError if there is no GPU; ModeError if another profile is open.
    Example:
        >>> x = torch.ones(1000, device="cuda")
        >>> with torch.profile() as found:
        ...     y = x + x
        >>> [span.name for span in found.spans]
        ['add_float32_float32_float32']
    """
    return Profile()
