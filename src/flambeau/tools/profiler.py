"""Profilers: `flambeau.profile()`, and torch.profiler's schedule, events and averages.

- `with flambeau.profile() as p:` records the spans of every stream; they are shown as a table or written as a trace
  file.
- torch.profiler.profile records the same data: the work of streams and named ranges.  Operators appear as the kernels
  that they launched.  Times of events and averages are in microseconds.
- A recorded step is a range itself, `ProfilerStep#n`; averages list all steps as `ProfilerStep*`.
"""

from __future__ import annotations

import os
import re
import socket
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from typing import Any

from .. import callers
from ..core import thread
from ..errors import LACKING, AcceleratorError, ArgumentError, ArgumentTypeError, ModeError, NotSupportedError, shown
from ..runtime import profiler
from ..tensor import checks
from .recorder import Recorder
from .trace import NONE, Range, Span, Trace

NO_LIMIT = sys.maxsize
NAME_WIDTH = 40  # least number of columns
NS_PER_US = 1000


class Profile:
    """The result of `with flambeau.profile() as p:`; complete after the block.

    spans: kernels, library calls, copies and fills, by start.  ranges: those marked by `cuda.nvtx`, by end.
    trace: the complete record: these, calls and waits of the host, order between streams, and memory.
    modelled: whether the times are computed by the virtual GPUs' model.
    """

    def __init__(self, *, shapes: bool = False, stacks: bool = False) -> None:
        self.trace = Trace()
        self._options = {"shapes": shapes, "stacks": stacks}

    @property
    def spans(self) -> list[Span]:
        return self.trace.spans

    @property
    def ranges(self) -> list[Range]:
        return self.trace.ranges

    @property
    def modelled(self) -> bool:
        return self.trace.modelled

    def __enter__(self) -> Profile:
        machine: Any = thread.machine()
        machine.start()
        return self._begin(machine)

    def _begin(self, machine: Any = None) -> Profile:
        """Record from now on.  machine: one that has started; by default, the trace begins when one does."""
        self._recorder = Recorder(limit=NO_LIMIT, **self._options)
        self._recorder.begin(machine)
        return self

    def __exit__(self, error_type: object, error: object, traceback: object) -> None:
        self._recorder.end()
        lost = isinstance(error, AcceleratorError) and error.sticky  # from then on the device is idle
        self.trace = self._recorder.trace(waits=not lost)

    def summary(self) -> str:
        """Return five lines: busy and idle time, blocked host time, overlapped copies, and the worst source line."""
        from .trace_analysis import Analysis

        return Analysis(self.trace).summary()

    def export_html(self, path: str | os.PathLike[str]) -> None:
        """Write the trace as one self-contained page."""
        from .trace_writers import write_page

        write_page(self.trace, path)

    def _repr_html_(self) -> str:
        """Return the page of the trace, for notebooks."""
        from .trace_writers import frame

        return frame(self.trace)

    def table(self) -> str:
        """Return a table of calls, times and bytes by name, the longest time first."""
        sums: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        for span in self.spans:
            row = sums[span.name]
            for column, value in enumerate((1, span.end_ns - span.start_ns, span.nbytes)):
                row[column] += value
        width = max([NAME_WIDTH, *map(len, sums)])
        name = f"name ({self.trace.times} times)"
        lines = [f"{name:<{width}}{'calls':>8}{'total us':>14}{'mean us':>12}{'bytes':>16}"]
        for name, (calls, total, nbytes) in sorted(sums.items(), key=lambda item: (-item[1][1], item[0])):
            times = f"{total / NS_PER_US:>14.3f}{total / calls / NS_PER_US:>12.3f}"
            lines.append(f"{name:<{width}}{calls:>8}{times}{nbytes:>16}")
        return "\n".join(lines)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write spans and ranges in the format of Chrome's trace viewer, which Perfetto reads too.

        If the path ends in .gz, the file is compressed; both viewers read that too.
        """
        from .trace_writers import write_chrome_trace

        write_chrome_trace(self.trace, path)


def profile() -> Profile:
    """Record the work of every GPU stream inside a `with` block; its `as` target is a `Profile`.

    On virtual GPUs the times are modelled, and recording adds nothing to them.  On NVIDIA GPUs CUPTI measures each
    kernel, copy and fill, those of libraries and graphs included, if it is installed and no other profiler uses it.
    Otherwise two timing events are recorded around each call, and the logger `flambeau` says so.  Events cost a few
    microseconds of host time per call, about one microsecond of GPU time between two pieces of work on a stream, and
    memory until the block ends.  With events, the measured time of a call on an idle stream begins when the host
    begins the call, so the time of a short kernel is mostly that of the call.  On a stream that always has queued work,
    times are exact to about a microsecond.
    Host:   waits at the end of the block for every device that was used; with events, also when a device is first used.
    Raises: NoDeviceError if there is no GPU.
    Example:
        >>> x = torch.ones(1000, device="cuda")
        >>> with torch.profile() as found:
        ...     y = x + x
        >>> [span.name for span in found.spans]
        ['add_float32_float32_float32']
    """
    return Profile()


@contextmanager
def trace(path: str | os.PathLike[str] | None = None) -> Iterator[Profile]:
    """Record the work of every stream inside a `with` block, and write it as an HTML page, even if the block raises.

    path: the file of the page; if it ends in .json or .json.gz, a trace for Perfetto is written instead; None writes
    nothing.
    Host:   as `torch.profiler.profile`: waits, at the end of the block, for every device that was used.
    Raises: NoDeviceError if there is no GPU; OSError if the file cannot be written.
    Example:
        >>> from flambeau.testing import trace
        >>> with trace() as found:
        ...     x = torch.ones(1000, device="cuda") * 2
        ...     total = x.sum().item()
        >>> [wait.name for wait in found.trace.waits if wait.is_hidden]  # waits inside calls such as item()
        ['Tensor.item']
    """
    recording = Profile()
    try:
        with recording:
            yield recording
    finally:
        if path is not None:
            is_json = os.fspath(path).endswith((".json", ".json.gz"))
            (recording.export_chrome_trace if is_json else recording.export_html)(path)


STEP_NUMBER = re.compile(r"^ProfilerStep#\d+$")
COLUMNS = ("count", "cpu_time_total", "device_time_total")
EVENT_NAME_WIDTH = 55  # most columns


class ProfilerActivity(Enum):
    """Activities that a profile can record: CPU for the host's, CUDA for the GPUs'.

    Example:
        >>> with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        ...     x = torch.ones(3, device="cuda")
        >>> [(event.name, event.device_type.name) for event in profile.events()]
        [('fill_float32', 'CUDA')]
    """

    CPU = 0
    CUDA = 1


@dataclass(frozen=True)
class FunctionEvent:
    """A named range of the host, or a piece of work on a stream.

    key: its name.  device_type: where it ran.  device_index: which GPU, -1 for the host.
    start_us, end_us: microseconds since the profile began.  count: the number of events it sums up.
    cpu_time_total, device_time_total: the time on the host and on the GPU, in microseconds.
    stack: the program's lines that led to it, innermost first, if the profile was made with_stack, else ().
    input_shapes: shapes of a kernel's operands, results included, if the profile was made with record_shapes.
    device_memory_usage: change in bytes that tensors hold, if the profile was made with profile_memory.
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
    input_shapes: tuple[tuple[int, ...], ...] = ()
    device_memory_usage: int = 0

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
    """A list of profiler events, or of sums of such events."""

    def key_averages(self, group_by_stack_n: int = 0, group_by_input_shape: bool = False) -> EventList:
        """Return one event for each name and device type: the sum of all such events.

        Step numbers in names are ignored.  group_by_stack_n: also tell events apart by the first n lines of the stack.
        group_by_input_shape: also tell events apart by their operands' shapes.
        """
        sums: dict[Any, FunctionEvent] = {}
        for event in self:
            name = STEP_NUMBER.sub("ProfilerStep*", event.key)
            shapes = event.input_shapes if group_by_input_shape else None
            key = name, event.device_type, event.stack[:group_by_stack_n], shapes
            former = sums.get(key)
            sums[key] = replace(event, key=key[0]) if former is None else _sum(former, event)
        return EventList(sums.values())

    def total_average(self) -> FunctionEvent:
        """Return the sum of all events, as one event.  Raises ArgumentError if there are none."""
        if not self:
            raise ArgumentError(
                "there are no events, 0 were recorded",
                hint="call operators inside of the profile block first",
                operator="total_average",
            )
        total = self[0]
        for event in self[1:]:
            total = _sum(total, event)
        return replace(total, key="Total")

    def table(self, sort_by: str | None = None, row_limit: int = 100) -> str:
        """Return a table of names, calls and times.

        sort_by: "count", "cpu_time_total", "device_time_total", "cpu_time" or "device_time" (averages), largest first.
        row_limit: the largest number of rows; a negative number means all.
        Raises: ArgumentError for any other `sort_by`.
        """
        checks.integer("table", "row_limit", row_limit)
        shown = sorted(self, key=_by(sort_by), reverse=True) if sort_by else list(self)
        width = min(EVENT_NAME_WIDTH, max([4, *(len(event.key) for event in shown)]))
        has_memory = any(event.device_memory_usage for event in self)
        has_shapes = any(event.input_shapes for event in self)
        head = f"{'Name':<{width}}{'Calls':>8}{'CPU total us':>16}{'Device total us':>18}{'Device avg us':>16}"
        lines = [head + f"{'Device Mem':>16}" * has_memory + "  Input Shapes" * has_shapes]
        for event in shown[: row_limit if row_limit >= 0 else None]:
            times = f"{event.cpu_time_total:>16.3f}{event.device_time_total:>18.3f}{event.device_time:>16.3f}"
            memory = f"{event.device_memory_usage:>16}" * has_memory
            shapes = f"  {[list(shape) for shape in event.input_shapes]}" * has_shapes
            lines.append(f"{event.key[:width]:<{width}}{event.count:>8}{times}{memory}{shapes}")
        return "\n".join(lines)


def _by(column: str) -> Callable[[FunctionEvent], float]:
    if not isinstance(column, str):
        raise ArgumentError(f"sort_by={column!r} is unknown", hint=f"use one of {', '.join(COLUMNS)}", operator="table")
    wanted = column.replace("cuda_", "device_")
    if wanted == "self_device_time_total":  # work on a device is never nested
        wanted = "device_time_total"
    if wanted not in (*COLUMNS, "cpu_time", "device_time"):
        raise ArgumentError(f"sort_by={column!r} is unknown", hint=f"use one of {', '.join(COLUMNS)}", operator="table")
    return lambda event: float(getattr(event, wanted))


def _sum(one: FunctionEvent, other: FunctionEvent) -> FunctionEvent:
    return replace(
        one,
        start_us=min(one.start_us, other.start_us),
        end_us=max(one.end_us, other.end_us),
        cpu_time_total=one.cpu_time_total + other.cpu_time_total,
        device_time_total=one.device_time_total + other.device_time_total,
        count=one.count + other.count,
        device_memory_usage=one.device_memory_usage + other.device_memory_usage,
    )


def events_of(profile: Profile, activities: Iterable[ProfilerActivity], with_memory: bool = False) -> EventList:
    """Return a profile's events of some activities, by start; enclosing events first."""
    events, trace = [], profile.trace
    if ProfilerActivity.CPU in activities:
        events += [_of_host(entry, with_memory) for entry in reversed(trace.ranges)]
    if ProfilerActivity.CUDA in activities:
        first = {span.call: index for index, span in reversed(list(enumerate(trace.spans)))}  # its bytes count once
        for index, span in enumerate(trace.spans):
            events.append(_of_device(span, trace, with_memory and first[span.call] == index))
    return EventList(sorted(events, key=lambda event: (event.start_us, -event.end_us)))


def _of_host(named: Range, with_memory: bool) -> FunctionEvent:
    start, end = named.start_ns / NS_PER_US, named.end_ns / NS_PER_US
    usage = named.change if with_memory else 0
    host, key = ProfilerActivity.CPU, named.text
    return FunctionEvent(key, host, -1, start, end, end - start, 0.0, device_memory_usage=usage)


def _of_device(span: Span, trace: Trace, with_memory: bool) -> FunctionEvent:
    start, end = span.start_ns / NS_PER_US, span.end_ns / NS_PER_US
    stack: tuple[str, ...] = ()
    usage = 0
    if span.call != NONE:
        call = trace.calls[span.call]
        stack = call.stack
        usage = call.change if with_memory else 0
    return FunctionEvent(
        span.name, ProfilerActivity.CUDA, span.device, start, end, 0.0, end - start,
        stack=stack, input_shapes=span.shapes, device_memory_usage=usage,
    )  # fmt: skip


class ProfilerAction(IntEnum):
    """The profiler's action in a step: NONE or WARMUP to record nothing, RECORD, or RECORD_AND_SAVE to end a cycle too.

    Example:
        >>> every_third = torch.profiler.schedule(wait=2, warmup=0, active=1)
        >>> every_third(0) is torch.profiler.ProfilerAction.NONE
        True
        >>> every_third(2) is torch.profiler.ProfilerAction.RECORD_AND_SAVE
        True
    """

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
    """Return a function from a step's number to the profiler's action: cycles of waiting, warming up and recording.

    wait, warmup, active: numbers of steps of each cycle that wait, warm up and record.
    repeat: the number of cycles; 0 for no limit.  skip_first: steps before the first cycle.
    skip_first_wait: if not 0, the first cycle has no waiting steps.
    Raises: ArgumentError for negative numbers, or no active step; ArgumentTypeError for a value that is not an int.
    Example:
        >>> action = torch.profiler.schedule(wait=1, warmup=1, active=2)
        >>> [action(step).name for step in range(5)]
        ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    for what, value in (("wait", wait), ("warmup", warmup), ("active", active), ("repeat", repeat)):
        checks.integer("schedule", what, value)
    checks.integer("schedule", "skip_first", skip_first)
    least = {"wait": wait, "warmup": warmup, "repeat": repeat, "skip_first": skip_first, "active": active - 1}
    bad = [f"{name}={value + (name == 'active')}" for name, value in least.items() if value < 0]
    if bad:
        raise ArgumentError(
            f"these numbers of steps are too small: {', '.join(bad)}",
            hint="pass active of 1 or more, and all others of 0 or more",
            operator="schedule",
        )
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        at = step - skip_first + (wait if skip_first_wait else 0)
        if step < skip_first or (repeat and at >= repeat * cycle):
            return ProfilerAction.NONE
        phase = at % cycle
        if phase < wait + warmup:
            return ProfilerAction.NONE if phase < wait else ProfilerAction.WARMUP
        return ProfilerAction.RECORD if phase < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def _always(step: int) -> ProfilerAction:
    """Return RECORD: the schedule that records every step, for a profile that is given none."""
    return ProfilerAction.RECORD


class SteppedProfile:
    """Profile the code inside a `with` block, or chosen steps of a loop in it that calls `step()`.

    activities: CPU for named ranges, CUDA for the work of streams; both if None.
    schedule: the action of each step; without it, everything inside the block is recorded.
    on_trace_ready: called with this object at the end of each recorded cycle, or of the block.
    with_stack: record the program lines that led to each event.  acc_events: keep the events of all cycles.
    record_shapes: record the shapes of kernels' operands.  profile_memory: record the change of memory in each event.
    use_cuda: deprecated; adds CUDA to the activities or removes it.
    with_flops, with_modules: not recorded; a warning says so.
    experimental_config, custom_trace_id_callback, post_processing_timeout_s: have no effect.
    The attribute step_num is the number of completed steps.
    Without a GPU, the profile warns and records nothing: operators of the host are not profiled.
    Host:   waits, at the end of the recording, for every device that was used.
    Raises: ArgumentTypeError for a schedule or an on_trace_ready that cannot be called, and for an activity of another
            type; NotSupportedError for an execution_trace_observer.
    Example:
        >>> def report(profile):
        ...     print([event.name for event in profile.events()])
        >>> every_second = torch.profiler.schedule(wait=1, warmup=0, active=1, repeat=1)
        >>> with torch.profiler.profile(schedule=every_second, on_trace_ready=report) as profile:
        ...     for _ in range(2):
        ...         x = torch.ones(3, device="cuda") * 2
        ...         profile.step()
        ['ProfilerStep#1', 'fill_float32', 'mul_float32_float32_nfloat32']
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
        _warn_unrecorded(with_flops=with_flops, with_modules=with_modules)
        if execution_trace_observer is not None:
            raise NotSupportedError("execution_trace_observer does not exist", hint=LACKING, operator="profile")
        for what, function in (("schedule", schedule), ("on_trace_ready", on_trace_ready)):
            if function is not None:
                checks.function("profile", what, function)
        self.activities = frozenset(supported_activities()) if activities is None else _checked(activities)
        if use_cuda is not None:
            callers.warn("profile: use_cuda is deprecated, use activities instead")
            cuda = {ProfilerActivity.CUDA}
            self.activities = self.activities | cuda if use_cuda else self.activities - cuda
        self._options = {"shapes": bool(record_shapes), "stacks": bool(with_stack)}
        self._with_memory = bool(profile_memory)
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

    def __exit__(self, error_type: object, error: object, traceback: object) -> None:
        self._stop(error)

    def start(self) -> None:
        """Start recording, at step 0 of the schedule.

        Without a GPU it warns, and records nothing: operators of the host are not profiled.
        Raises: the errors of the schedule.
        Example:
            >>> profile = torch.profiler.profile()
            >>> profile.start()
            >>> x = torch.ones(3, device="cuda")
            >>> profile.stop()
            >>> len(profile.events())
            1
        """
        if not thread.machine().device_count():
            callers.warn("profile: nothing is recorded: there is no GPU, and operators of the host are not profiled")
        self._enter(self._schedule(self.step_num))

    def step(self) -> None:
        """End the current step of the loop and start the next one.

        Raises: the errors of the schedule and of on_trace_ready.
        Example:
            >>> second = torch.profiler.schedule(wait=1, warmup=0, active=1)
            >>> with torch.profiler.profile(schedule=second) as profile:
            ...     x = torch.ones(3, device="cuda")  # step 0 is not recorded
            ...     profile.step()
            ...     y = x * 2
            >>> [event.name for event in profile.events()]
            ['ProfilerStep#1', 'mul_float32_float32_nfloat32']
        """
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
        """End the last step and the profile.

        Host:   waits for every device that was used, if a recording ends.
        Raises: the errors of on_trace_ready.
        Example:
            >>> profile = torch.profiler.profile()
            >>> profile.start()
            >>> x = torch.ones(3, device="cuda")
            >>> profile.stop()
            >>> y = torch.ones(3, device="cuda")  # not recorded
            >>> len(profile.events())
            1
        """
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
                profile, machine = Profile(**self._options), thread.machine()
                self._open = profile.__enter__() if machine.device_count() else profile._begin()
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
                "nothing has been recorded", hint="read events after a recorded step, or after stop()", operator=name
            )
        return self._found

    def _events(self, name: str) -> EventList:
        parts = [events_of(result, self.activities, self._with_memory) for result in self._results(name)]
        return EventList([event for part in parts for event in part])

    def events(self) -> EventList:
        """Return the events of the last cycle, or of all cycles with acc_events, ordered by their start.

        Times are in microseconds.
        Raises: ModeError if nothing was recorded.
        Example:
            >>> with torch.profiler.profile() as profile:
            ...     x = torch.ones(1000, device="cuda") * 2
            >>> [(event.name, event.device_index) for event in profile.events()]
            [('fill_float32', 0), ('mul_float32_float32_nfloat32', 0)]
        """
        return self._events("events")

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Return one entry for each event name and device type, with the count and the summed times of its events.

        Times are in microseconds.
        group_by_stack_n: group by the first n entries of the stack too.  group_by_input_shape: group by the shapes too.
        group_by_overload_name: has no effect, since overload names are not recorded.
        Raises: ModeError if nothing was recorded.
        Example:
            >>> x = torch.ones(1000, device="cuda")
            >>> with torch.profiler.profile() as profile:
            ...     y = x * 2 * 2
            >>> [(event.key, event.count) for event in profile.key_averages()]
            [('mul_float32_float32_nfloat32', 2)]
        """
        return self._events("key_averages").key_averages(group_by_stack_n, group_by_input_shape)

    def export_chrome_trace(self, path: str | os.PathLike[str], use_python_export: bool = False) -> None:
        """Write the last recorded cycle as a Chrome trace, which Perfetto reads too.

        A path that ends in .gz makes a compressed file.  use_python_export has no effect.
        Raises: ModeError if nothing was recorded, OSError if the file cannot be written.
        Example:
            >>> import json, tempfile
            >>> with torch.profiler.profile() as profile:
            ...     x = torch.ones(3, device="cuda")
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     profile.export_chrome_trace(f"{folder}/trace.json")
            ...     with open(f"{folder}/trace.json") as file:
            ...         "traceEvents" in json.load(file)
            True
        """
        self._results("export_chrome_trace")[-1].export_chrome_trace(path)

    def export_html(self, path: str | os.PathLike[str]) -> None:
        """Write the last recorded cycle as one self-contained HTML page.

        Raises: ModeError if nothing was recorded, OSError if the file cannot be written.
        Example:
            >>> import tempfile
            >>> with torch.profiler.profile() as profile:
            ...     x = torch.ones(3, device="cuda")
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     profile.export_html(f"{folder}/trace.html")
            ...     with open(f"{folder}/trace.html") as file:
            ...         file.read(15)
            '<!doctype html>'
        """
        self._results("export_html")[-1].export_html(path)

    def export_stacks(self, path: str | os.PathLike[str], metric: str = "self_cuda_time_total") -> None:
        """Write one line `outermost;...;innermost microseconds` per stack, the input format of flame graph tools.

        metric: only "self_cuda_time_total", the time on devices.
        Raises: ModeError without events; ArgumentError without with_stack=True, or for an unknown metric; OSError if
                the file cannot be written.
        Example:
            >>> import tempfile
            >>> with torch.profiler.profile(with_stack=True) as profile:
            ...     x = torch.ones(1_000_000, device="cuda")
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     profile.export_stacks(f"{folder}/stacks.txt")
            ...     with open(f"{folder}/stacks.txt") as file:
            ...         int(file.read().split()[-1]) > 0  # microseconds of the last stack
            True
        """
        if metric not in ("self_cuda_time_total", "self_device_time_total"):
            raise ArgumentError(
                f"metric={metric!r} is not recorded", hint="use 'self_cuda_time_total'", operator="export_stacks"
            )
        if not self._options["stacks"]:
            raise ArgumentError(
                "with_stack=False records no stacks", hint="pass with_stack=True", operator="export_stacks"
            )
        sums: defaultdict[str, float] = defaultdict(float)
        for event in self._events("export_stacks"):
            if event.stack:
                sums[";".join(reversed(event.stack))] += event.device_time_total
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{stack} {round(time_us)}\n" for stack, time_us in sorted(sums.items()))


class WholeProfile(SteppedProfile):
    """`with torch.autograd.profiler.profile() as p:` records a whole block: the former form of torch.profiler.profile.

    enabled: False to record nothing.  use_cpu: whether ranges of the host are recorded.  use_device="cuda" or
    use_cuda=True records GPUs.  Other arguments are those of torch.profiler.profile, or have no effect.
    Example:
        >>> with torch.autograd.profiler.profile() as profile:
        ...     with torch.autograd.profiler.record_function("double"):
        ...         x = torch.ones(2) * 2
        >>> [event.name for event in profile.key_averages()]
        ['double']
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cpu: bool = True,
        use_device: str | None = None,
        use_cuda: bool = False,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        **others: Any,
    ) -> None:
        wanted = {ProfilerActivity.CPU: use_cpu, ProfilerActivity.CUDA: use_cuda or use_device == "cuda"}
        super().__init__(
            activities=[activity for activity, is_wanted in wanted.items() if is_wanted],
            record_shapes=record_shapes,
            with_flops=with_flops,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_modules=with_modules,
        )
        self.enabled = enabled

    def start(self) -> None:
        if self.enabled:
            super().start()

    def table(self, sort_by: str | None = None, row_limit: int = 100, **others: Any) -> str:
        """Return the events as text, as `EventList.table` does.

        Raises: ModeError if nothing was recorded, ArgumentError for an unknown `sort_by`.
        Example:
            >>> with torch.autograd.profiler.profile() as profile:
            ...     with torch.autograd.profiler.record_function("double"):
            ...         x = torch.ones(2) * 2
            >>> "double" in profile.table()
            True
        """
        return self._events("table").table(sort_by, row_limit)

    def total_average(self) -> FunctionEvent:
        """Return the sum of all events.

        Raises: ModeError if nothing was recorded, ArgumentError if there are no events.
        Example:
            >>> with torch.autograd.profiler.profile() as profile:
            ...     with torch.autograd.profiler.record_function("double"):
            ...         x = torch.ones(2) * 2
            >>> profile.total_average().count
            1
        """
        return self._events("total_average").total_average()


def _warn_unrecorded(**asked: bool) -> None:
    for name, wanted in asked.items():
        if wanted:
            callers.warn(f"profile: {name}=True has no effect: a profile records kernels, copies and named ranges")


def _checked(activities: Any) -> frozenset[ProfilerActivity]:
    """Check the activities argument.  Raises ArgumentTypeError."""
    listed = checks.listed("profile", "activities", "activities", activities)
    for index, activity in enumerate(listed):
        if not isinstance(activity, ProfilerActivity):
            raise ArgumentTypeError(
                f"activities[{index}] must be a ProfilerActivity, got {shown(activity)}",
                hint="use ProfilerActivity.CPU or ProfilerActivity.CUDA",
                operator="profile",
            )
    return frozenset(listed)


def kineto_available() -> bool:
    """Return True: the profiler is always available.

    Example:
        >>> torch.profiler.kineto_available()
        True
    """
    return True


def supported_activities() -> set[ProfilerActivity]:
    """Return the activities that can be recorded.

    Example:
        >>> sorted(activity.name for activity in torch.profiler.supported_activities())
        ['CPU', 'CUDA']
    """
    return set(ProfilerActivity)


def record_function(name: str, args: str | None = None) -> AbstractContextManager[None]:
    """Show a `with` block, or the calls of a decorated function, as a named range in profiles.

    name, args: texts; args is appended to the name.
    Example:
        >>> with torch.profiler.profile() as profile:
        ...     with torch.profiler.record_function("double"):
        ...         x = torch.ones(3, device="cuda") * 2
        >>> profile.events()[0].name
        'double'
    """
    return profiler.named(name if args is None else f"{name}({args})")


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
) -> Callable[[SteppedProfile], None]:
    """Return a function for `on_trace_ready` that writes each trace to a new file in a directory.

    worker_name: the start of each file's name, by default the host's name and the process's number.
    use_gzip: whether to compress the files.  use_python_export has no effect.
    Raises: the function raises OSError if the file cannot be written, ModeError if nothing was recorded.
    Example:
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     handler = torch.profiler.tensorboard_trace_handler(folder, "worker")
        ...     with torch.profiler.profile(on_trace_ready=handler):
        ...         x = torch.ones(3, device="cuda")
        ...     [name.endswith(".pt.trace.json") for name in os.listdir(folder)]
        [True]
    """
    ending = ".pt.trace.json.gz" if use_gzip else ".pt.trace.json"
    worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"

    def write(profile: SteppedProfile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        profile.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}{ending}"))

    return write
