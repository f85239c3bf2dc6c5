"""Profilers: `flambeau.profile()`, and torch.profiler's schedule, events and averages.

- `with flambeau.profile() as p:` records the spans of every stream, and gives a table of them and a trace file.
- torch.profiler.profile collects the same: the work of streams and the named ranges.  Operators appear as the kernels
  that they launched.  Times of events and averages are in microseconds.
- A recorded step is a range itself, `ProfilerStep#n`; averages list all steps as `ProfilerStep*`.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from typing import Any, NamedTuple, Protocol

from .. import callers
from ..core import thread
from ..core.hooks import subscribe, unsubscribe
from ..core.native import Lock
from ..driver.api import CopyKind, EventHandle
from ..errors import LACKING, AcceleratorError, ArgumentError, ArgumentTypeError, ModeError, NotSupportedError, shown
from ..kernel import Access
from ..runtime import profiler
from ..runtime.machine import Machine
from ..runtime.stream import Stream
from ..tensor import checks

NS_PER_MS = 1_000_000


class Span(NamedTuple):
    """One piece of work on a stream.

    device: the index;  stream: the CUstream's number, 0 for the default stream.
    name: the kernel's entry, the library's problem, `copy` with its direction, `fill` or `graph`.
    start_ns, end_ns: since the profile began.
    nbytes: bytes that a copy or a fill moves, or that a kernel's operands span.
    site: `file:line` of the program that queued it; for a graph's parts on virtual GPUs, of the capture.
    """

    device: int
    stream: int
    name: str
    start_ns: int
    end_ns: int
    nbytes: int
    site: str


class Recorder(Protocol):
    """Collects spans from `begin` to `end`.  spans: waits for the devices; called once, after `end`."""

    def begin(self) -> None: ...
    def end(self) -> None: ...
    def spans(self) -> list[Span]: ...


class ModelRecorder:
    """Records modelled times of virtual GPUs: exact and without overhead."""

    def __init__(self, machine: Machine) -> None:
        self._driver = machine.driver
        self._began = machine.driver.host_ns()
        self._spans: list[Span] = []

    def begin(self) -> None:
        subscribe(on_span=self._keep)

    def end(self) -> None:
        unsubscribe(on_span=self._keep)

    def _keep(self, device: int, stream: int, name: str, start_ns: int, end_ns: int, nbytes: int, site: str) -> None:
        self._spans.append(Span(device, stream, name, start_ns - self._began, end_ns - self._began, nbytes, site))

    def spans(self) -> list[Span]:
        for device in sorted({each.device for each in self._spans}):
            self._driver.device_synchronize(device)
        return sorted(self._spans, key=_in_order)


class Timed(NamedTuple):
    """A timed call between two events.  handle, arguments: of the launch, resolved after the profile."""

    stream: Stream
    start: EventHandle
    end: EventHandle
    name: str
    nbytes: int
    site: str
    handle: int = 0
    arguments: Any = None


class Origin(NamedTuple):
    """An event of a device, and the host time at which it occurred."""

    event: EventHandle
    host_ns: int


class EventRecorder:
    """Records a timing event before and after each call.

    The host waits for a device at its first use in a profile, to align its clock with the host's.  Work that is
    captured into a graph has no times; the graph's launches have.
    """

    HOOKS = ("on_submit", "on_launch", "on_copy", "on_fill", "on_graph_launch")

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._driver = machine.driver
        self._began = machine.driver.host_ns()
        self._origins: dict[int, Origin] = {}
        self._open: dict[int, EventHandle] = {}  # by thread: the event before the call that is being made
        self._timed: list[Timed] = []
        self._lock = Lock()

    def begin(self) -> None:
        subscribe(**self._hooks())

    def end(self) -> None:
        unsubscribe(**self._hooks())

    def _hooks(self) -> dict[str, Any]:
        return {name: getattr(self, f"_{name}") for name in self.HOOKS}

    def _on_submit(self, stream: Stream) -> None:
        if self._machine.capture is None:
            self._meet(stream.device_index)
            self._drop()
            self._open[threading.get_ident()] = self._event(stream)

    def _on_launch(self, stream: Stream, handle: int, arguments: Any) -> None:
        self._close(stream, "", 0, handle, arguments)

    def _on_copy(self, stream: Stream, dst: int, src: int, nbytes: int, kind: CopyKind) -> None:
        self._close(stream, f"copy {kind.value}", nbytes)

    def _on_fill(self, stream: Stream, dst: int, nbytes: int) -> None:
        self._close(stream, "fill", nbytes)

    def _on_graph_launch(self, stream: Stream, graph: int) -> None:
        self._close(stream, "graph", 0)

    def _close(self, stream: Stream, name: str, nbytes: int, handle: int = 0, arguments: Any = None) -> None:
        start = self._open.pop(threading.get_ident(), None)
        if start is not None:
            end = self._event(stream)
            self._timed.append(Timed(stream, start, end, name, nbytes, callers.call_site(), handle, arguments))

    def _drop(self) -> None:
        """Forget the event before a call that failed."""
        left = self._open.pop(threading.get_ident(), None)
        if left is not None:
            self._driver.event_destroy(left)

    def _event(self, stream: Stream) -> EventHandle:
        event = self._driver.event_create(stream.device_index, True, False, False)
        stream.record(event)
        return event

    def _meet(self, device: int) -> None:
        if device in self._origins:
            return
        with self._lock:
            if device not in self._origins:
                self._driver.device_synchronize(device)
                event = self._event(self._machine.devices[device].default_stream)
                self._origins[device] = Origin(event, self._driver.host_ns())

    def spans(self) -> list[Span]:
        for device in sorted(self._origins):
            self._driver.device_synchronize(device)
        names = {device: self._names(device) for device in self._origins}
        found = [self._span(each, names[each.stream.device_index]) for each in self._timed]
        for event in self._events():
            self._driver.event_destroy(event)
        return sorted(found, key=_in_order)

    def _events(self) -> list[EventHandle]:
        pairs = [event for each in self._timed for event in (each.start, each.end)]
        return [*pairs, *self._open.values(), *(each.event for each in self._origins.values())]

    def _names(self, device: int) -> dict[int, Any]:
        """The kernel or the problem of each handle."""
        of = self._machine.devices[device]
        kernels: dict[int, Any] = {handle: kernel for kernel, handle in of.kernels.items()}
        return kernels | {handle: problem for problem, (handle, _) in of._library_plans.items()}

    def _span(self, timed: Timed, names: dict[int, Any]) -> Span:
        name, nbytes = timed.name, timed.nbytes
        if timed.handle:
            name, nbytes = _described(names[timed.handle], timed.arguments)
        device = timed.stream.device_index
        origin = self._origins[device]
        start = origin.host_ns - self._began + self._between(origin.event, timed.start)
        end = start + self._between(timed.start, timed.end)
        return Span(device, timed.stream.cuda_stream, name, start, end, nbytes, timed.site)

    def _between(self, start: EventHandle, end: EventHandle) -> int:
        return round(self._driver.event_elapsed(start, end) * NS_PER_MS)


def _described(launched: Any, arguments: Any) -> tuple[str, int]:
    """(Name of a kernel or a problem, bytes that its operands span)."""
    if isinstance(arguments, tuple):
        return launched.kind, _nbytes(launched.accesses(arguments))
    return launched.entry, _nbytes(launched.bind(arguments))


def _nbytes(values: Iterable[Any]) -> int:
    flat = [each for value in values for each in (value if isinstance(value, list) else (value,))]
    return sum(each.nbytes for each in flat if isinstance(each, Access))


def _in_order(span: Span) -> tuple[int, int, int]:
    return span.start_ns, span.device, span.end_ns


HOST = 0  # the host's process in a trace file; device i is process i + 1
NAME_WIDTH = 40  # columns, at least
NS_PER_US = 1000


class Range(NamedTuple):
    """A range of the program that `cuda.nvtx` marks, or an instant (`start_ns` is `end_ns`).

    thread: the thread that ended it;  start_ns, end_ns: host time since the profile began.
    """

    text: str
    thread: int
    start_ns: int
    end_ns: int


class Profile:
    """The result of `with flambeau.profile() as p:`; complete after the block.

    spans: kernels, library calls, copies and fills, by start.  ranges: those marked by `cuda.nvtx`, by end.
    modelled: whether the times are computed by the virtual GPUs' model.
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
        """A table of calls, times and bytes by name, the longest time first."""
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
        """Trace events.  Streams are numbered from 0 in each process: the viewer's lane numbers have 32 bits."""
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
    """A trace event that names a process or thread."""
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
    """Start and duration in microseconds, as the trace format requires."""
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


STEP_NUMBER = re.compile(r"^ProfilerStep#\d+$")
COLUMNS = ("count", "cpu_time_total", "device_time_total")
EVENT_NAME_WIDTH = 55  # columns, at most


class ProfilerActivity(Enum):
    """Activities that a profile records: of the host or of the GPUs."""

    CPU = 0
    CUDA = 1


@dataclass(frozen=True)
class FunctionEvent:
    """A named range of the host, or a piece of work on a stream.

    key: its name.  device_type: where it ran.  device_index: which GPU, -1 for the host.
    start_us, end_us: microseconds since the profile began.  count: the number of events it sums up.
    stack: the line that queued it, if the profile was made with_stack, else ().
    """

    key: str
    device_type: ProfilerActivity
    device_index: int
    start_us: float
    end_us: float
    cpu_time_total: float
    device_time_total: float
    count: int = 1
    stack: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.key

    @property
    def cpu_time(self) -> float:
        """Mean host time in microseconds."""
        return self.cpu_time_total / self.count

    @property
    def device_time(self) -> float:
        """Mean GPU time in microseconds."""
        return self.device_time_total / self.count


class EventList(list[FunctionEvent]):
    """A list of events, or of sums of events."""

    def key_averages(self, group_by_stack_n: int = 0) -> EventList:
        """Sum events of one name and kind of device; step numbers are ignored.

        group_by_stack_n: number of stack entries that must be equal too.
        """
        sums: dict[tuple[str, ProfilerActivity, tuple[str, ...]], FunctionEvent] = {}
        for each in self:
            key = STEP_NUMBER.sub("ProfilerStep*", each.key), each.device_type, each.stack[:group_by_stack_n]
            former = sums.get(key)
            sums[key] = replace(each, key=key[0]) if former is None else _sum(former, each)
        return EventList(sums.values())

    def total_average(self) -> FunctionEvent:
        """Sum all events into one.  Raises ArgumentError if there is none."""
        if not self:
            raise ArgumentError(
                "there are no events, 0 were recorded", hint="profile work first", operator="total_average"
            )
        total = self[0]
        for each in self[1:]:
            total = _sum(total, each)
        return replace(total, key="Total")

    def table(self, sort_by: str | None = None, row_limit: int = 100) -> str:
        """A table of names, calls and times.  sort_by: "count", "cpu_time_total", "device_time_total" or an average.

        Raises: ArgumentError for another `sort_by`.
        """
        checks.integer("table", "row_limit", row_limit)
        shown = sorted(self, key=_by(sort_by), reverse=True) if sort_by else list(self)
        width = min(EVENT_NAME_WIDTH, max([4, *(len(each.key) for each in shown)]))
        lines = [f"{'Name':<{width}}{'Calls':>8}{'CPU total us':>16}{'Device total us':>18}{'Device avg us':>16}"]
        for each in shown[: row_limit if row_limit >= 0 else None]:
            times = f"{each.cpu_time_total:>16.3f}{each.device_time_total:>18.3f}{each.device_time:>16.3f}"
            lines.append(f"{each.key[:width]:<{width}}{each.count:>8}{times}")
        return "\n".join(lines)


def _by(column: str) -> Callable[[FunctionEvent], float]:
    if not isinstance(column, str):
        raise ArgumentError(f"sort_by={column!r} is unknown", hint=f"use one of {', '.join(COLUMNS)}", operator="table")
    wanted = column.replace("cuda_", "device_")
    if wanted == "self_device_time_total":  # nothing on a device is inside of something else
        wanted = "device_time_total"
    if wanted not in (*COLUMNS, "cpu_time", "device_time"):
        raise ArgumentError(f"sort_by={column!r} is unknown", hint=f"use one of {', '.join(COLUMNS)}", operator="table")
    return lambda each: float(getattr(each, wanted))


def _sum(one: FunctionEvent, other: FunctionEvent) -> FunctionEvent:
    return replace(
        one,
        start_us=min(one.start_us, other.start_us),
        end_us=max(one.end_us, other.end_us),
        cpu_time_total=one.cpu_time_total + other.cpu_time_total,
        device_time_total=one.device_time_total + other.device_time_total,
        count=one.count + other.count,
    )


def events_of(profile: Profile, activities: Iterable[ProfilerActivity], with_stack: bool = False) -> EventList:
    """Events of a profile of some activities, by start; enclosing events first."""
    found = []
    if ProfilerActivity.CPU in activities:
        found += [_of_host(each.text, each.start_ns, each.end_ns) for each in reversed(profile.ranges)]
    if ProfilerActivity.CUDA in activities:
        found += [_of_device(each, (each.site,) if with_stack else ()) for each in profile.spans]
    return EventList(sorted(found, key=lambda each: (each.start_us, -each.end_us)))


def _of_host(text: str, start_ns: int, end_ns: int) -> FunctionEvent:
    start, end = start_ns / NS_PER_US, end_ns / NS_PER_US
    return FunctionEvent(text, ProfilerActivity.CPU, -1, start, end, end - start, 0.0)


def _of_device(span: Span, stack: tuple[str, ...]) -> FunctionEvent:
    start, end = span.start_ns / NS_PER_US, span.end_ns / NS_PER_US
    return FunctionEvent(span.name, ProfilerActivity.CUDA, span.device, start, end, 0.0, end - start, stack=stack)


class ProfilerAction(IntEnum):
    """The profiler's action in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


COLLECTING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
Schedule = Callable[[int], ProfilerAction]
STEP = "ProfilerStep#"


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Schedule:
    """A schedule of profiler actions: cycles of waiting, warming up and recording.

    repeat: how many cycles; 0 for as many as there are steps.  skip_first: steps before the first cycle.
    skip_first_wait: not 0 for a first cycle that does not wait.
    Raises: ArgumentError for negative numbers, or no active step.
    """
    for what, value in (("wait", wait), ("warmup", warmup), ("active", active), ("repeat", repeat)):
        checks.integer("schedule", what, value)
    checks.integer("schedule", "skip_first", skip_first)
    least = {"wait": wait, "warmup": warmup, "repeat": repeat, "skip_first": skip_first, "active": active - 1}
    bad = [f"{name}={value + (name == 'active')}" for name, value in least.items() if value < 0]
    if bad:
        raise ArgumentError(
            f"too small: {', '.join(bad)}", hint="active is at least 1, all others 0", operator="schedule"
        )
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        at = step - skip_first + (wait if skip_first_wait else 0)
        if step < skip_first or (repeat and at >= repeat * cycle):
            return ProfilerAction.NONE
        place = at % cycle
        if place < wait + warmup:
            return ProfilerAction.NONE if place < wait else ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def _always(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


class SteppedProfile:
    """`with torch.profiler.profile(schedule=..., on_trace_ready=...) as p:` around a loop that calls `p.step()`.

    activities: CPU for named ranges, CUDA for the work of streams; both if None.
    schedule: what is done with each step; without it, everything inside the block is recorded.
    on_trace_ready: called with this object when a cycle, or the block, has been recorded.
    with_stack: events have the line that put them on their stream.  acc_events: events of all cycles are kept.
    use_cuda: the former switch for CUDA among the activities.
    record_shapes, profile_memory, with_flops, with_modules: not recorded; a warning says so.
    experimental_config, custom_trace_id_callback, post_processing_timeout_s: have no effect.
    step_num: how many steps are over.
    Host:   waits, at the end of what is recorded, for every device that was used.
    Raises: NoDeviceError if there is no GPU; ModeError if another profile is open; NotSupportedError for an
            execution_trace_observer.
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Schedule | None = None,
        on_trace_ready: Callable[[SteppedProfile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Any = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        _warn_unrecorded(
            record_shapes=record_shapes, profile_memory=profile_memory, with_flops=with_flops, with_modules=with_modules
        )
        if execution_trace_observer is not None:
            raise NotSupportedError("execution_trace_observer does not exist", hint=LACKING, operator="profile")
        for what, each in (("schedule", schedule), ("on_trace_ready", on_trace_ready)):
            if each is not None:
                checks.function("profile", what, each)
        self.activities = frozenset(supported_activities()) if activities is None else _checked(activities)
        if use_cuda is not None:
            callers.warn("profile: use_cuda is deprecated, use activities instead")
            cuda = {ProfilerActivity.CUDA}
            self.activities = self.activities | cuda if use_cuda else self.activities - cuda
        self._with_stack = with_stack
        self._keeps_all = acc_events
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self._schedule = schedule or _always
        self._names_steps = schedule is not None
        self._action = ProfilerAction.NONE
        self._range: int | None = None
        self._open: Profile | None = None
        self._found: list[Profile] = []

    def __enter__(self) -> SteppedProfile:
        self.start()
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self._stop(error)

    def start(self) -> None:
        """Start with step 0."""
        self._enter(self._schedule(self.step_num))

    def step(self) -> None:
        """Start the next step."""
        self._end_step()
        saves = self._action is ProfilerAction.RECORD_AND_SAVE
        self.step_num += 1
        following = self._schedule(self.step_num)
        if self._open is not None and (saves or following not in COLLECTING):
            self._end()
            if saves:
                self._hand_over()
        self._enter(following)

    def stop(self) -> None:
        """End the last step."""
        self._stop(None)

    def _stop(self, error: object) -> None:
        self._end_step()
        self._action = ProfilerAction.NONE
        if self._open is not None:
            self._end(error)
            self._hand_over()

    def _enter(self, action: ProfilerAction) -> None:
        self._action = action
        if action in COLLECTING:
            if self._open is None:
                self._open = Profile().__enter__()
            if self._names_steps:
                self._range = profiler.range_start(f"{STEP}{self.step_num}")

    def _end_step(self) -> None:
        if self._range is not None:
            profiler.range_end(self._range)
            self._range = None

    def _end(self, error: object = None) -> None:
        """Store the collected events.  error: the exception that ended the block, or None."""
        done, self._open = self._open, None
        if done is not None:
            self._found = [*self._found, done] if self._keeps_all else [done]
            done.__exit__(None, error, None)

    def _hand_over(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _results(self, name: str) -> list[Profile]:
        if not self._found:
            raise ModeError(
                "nothing has been recorded", hint="call it after a recorded step, or after stop()", operator=name
            )
        return self._found

    def _events(self, name: str) -> EventList:
        parts = [events_of(each, self.activities, self._with_stack) for each in self._results(name)]
        return EventList([event for part in parts for event in part])

    def events(self) -> EventList:
        """Events of the last cycle, or of all cycles if acc_events, by start.  Raises ModeError without any."""
        return self._events("events")

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Sum the events by name.  Raises ModeError if nothing was recorded.

        group_by_stack_n: number of stack entries that must be equal too.
        group_by_input_shape, group_by_overload_name: have no effect: neither is recorded.
        """
        return self._events("key_averages").key_averages(group_by_stack_n)

    def export_chrome_trace(self, path: str | os.PathLike[str], use_python_export: bool = False) -> None:
        """Write the last recorded cycle as a Chrome trace, which Perfetto reads too.  Raises ModeError.

        A path that ends in .gz makes a compressed file.  use_python_export has no effect.
        """
        self._results("export_chrome_trace")[-1].export_chrome_trace(path)


def _warn_unrecorded(**asked: bool) -> None:
    for name, wanted in asked.items():
        if wanted:
            callers.warn(f"profile: {name}=True has no effect: a profile holds kernels, copies and named ranges")


def _checked(activities: Any) -> frozenset[ProfilerActivity]:
    """Check the activities argument.  Raises ArgumentTypeError."""
    found = checks.listed("profile", "activities", "activities", activities)
    for place, each in enumerate(found):
        if not isinstance(each, ProfilerActivity):
            raise ArgumentTypeError(
                f"activities[{place}] must be a ProfilerActivity, got {shown(each)}",
                hint="use ProfilerActivity.CPU or ProfilerActivity.CUDA",
                operator="profile",
            )
    return frozenset(found)


def supported_activities() -> set[ProfilerActivity]:
    """The activities that can be recorded."""
    return set(ProfilerActivity)


def record_function(name: str, args: str | None = None) -> AbstractContextManager[None]:
    """Context manager and decorator: a named range of profiles.  args: added to the name."""
    return profiler.named(name if args is None else f"{name}({args})")


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
) -> Callable[[SteppedProfile], None]:
    """Make a function for `on_trace_ready` that writes each trace to a file of its own in a directory.

    use_gzip: the files are compressed.  use_python_export has no effect.
    """
    ending = ".pt.trace.json.gz" if use_gzip else ".pt.trace.json"
    worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"

    def write(profile: SteppedProfile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        profile.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}{ending}"))

    return write
