"""Recorder: a subscriber of the runtime's hooks that builds a Trace.

- Virtual GPUs report modelled times, exactly and without overhead.
- On NVIDIA GPUs, CUPTI measures the work if it can be used (`ByActivities`), otherwise timing events do (`ByEvents`).
  The recorder calls their `open` before each call that submits work, and `close` after it, or `drop` if the call
  failed.  After `finish`, it takes the pieces of work of each closed call.
- A call's measured span gets its name and its times at the end; CUPTI may report several pieces of work of one call, or
  work of other libraries.  Work that is captured into a graph has no times; launches of the graph do.
- Hooks of one thread come in order: a route, a submission, its spans, its end, a wait.  `_Host` keeps that state.
- A program may use several machines, one after the other: each one's clock continues that of the one before.
- The only lock is `_lock`, held around the first use of a machine, so a signal handler may build the trace.
"""

from __future__ import annotations

import concurrent.futures
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from .. import callers
from ..core import thread
from ..core.hooks import subscribe, unsubscribe
from ..core.native import Lock
from ..driver.api import Activities, Activity, Address, CopyKind, EventHandle
from ..kernel import Access
from ..runtime import cuda_memory
from ..runtime.copy import Route
from ..runtime.machine import Machine
from ..runtime.stream import Event, Stream
from .explain import hint_of
from .trace import LIMIT, NONE, Arrow, Call, HostWait, Launch, MemoryPoint, Range, Span, Trace

NS_PER_MS = 1_000_000

_numbers = count(1)  # call numbers, unique in the process: after a failed call, CUPTI keeps its number for the thread


class Piece(NamedTuple):
    """A piece of work.  start_ns, end_ns: on the driver's host clock.  activity: CUPTI's record of it, or None."""

    start_ns: int
    end_ns: int
    activity: Activity | None = None


class Measuring(Protocol):
    """A measurement of the work that recorded calls submit.

    name: the method's name, for reports.  lost: how many pieces of work are missing from the results.
    """

    name: str
    lost: int

    def open(self, stream: Stream) -> Any:
        """Begin a call that submits work to a stream; return the argument for `close` and `drop`."""

    def close(self, stream: Stream, opened: Any, is_graph: bool) -> Any:
        """End a call, saying whether it launched a graph; return the argument for `take` and `discard`."""

    def drop(self, opened: Any) -> None:
        """Forget a call of the calling thread that failed."""

    def finish(self, waits: bool) -> None:
        """End the measurement.  waits: wait for the devices; without it, `take` must not be called."""

    def take(self, closed: Any) -> list[Piece]:
        """Return the work that a call submitted to its stream, by start, and forget the call."""

    def discard(self, closed: Any) -> None:
        """Forget a closed call."""

    def others(self) -> list[Piece]:
        """Return the work that no recorded call submitted; called last."""


def begin_measuring(machine: Machine) -> Measuring:
    """Begin to measure the machine's work."""
    activities = machine.driver.measure()
    return ByEvents(machine) if activities is None else ByActivities(machine, activities)


class Origin(NamedTuple):
    """An event of a device, and the host time at which it occurred."""

    event: EventHandle
    host_ns: int


class ByEvents:
    """A timing event before and after each call.

    The host waits for a device at its first use, to align its clock with the host's.
    """

    name = "events"
    lost = 0

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._origins: dict[int, Origin] = {}
        self._lock = Lock()

    def open(self, stream: Stream) -> EventHandle:
        self._meet(stream.device_index)
        return self._event(stream)

    def close(self, stream: Stream, opened: EventHandle, is_graph: bool) -> tuple[int, EventHandle, EventHandle]:
        return stream.device_index, opened, self._event(stream)

    def drop(self, opened: EventHandle) -> None:
        self._machine.driver.event_destroy(opened)

    def finish(self, waits: bool) -> None:
        if waits:
            for device in sorted(self._origins):
                self._machine.driver.device_synchronize(device)

    def take(self, closed: tuple[int, EventHandle, EventHandle]) -> list[Piece]:
        device, first, last = closed
        origin = self._origins[device]
        start_ns = origin.host_ns + self._between(origin.event, first)
        piece = Piece(start_ns, start_ns + self._between(first, last))
        self.discard(closed)
        return [piece]

    def discard(self, closed: tuple[int, EventHandle, EventHandle]) -> None:
        for event in closed[1:]:
            self._machine.driver.event_destroy(event)

    def others(self) -> list[Piece]:
        for origin in self._origins.values():
            self._machine.driver.event_destroy(origin.event)
        return []

    def _event(self, stream: Stream) -> EventHandle:
        event = self._machine.driver.event_create(stream.device_index, True, False, False)
        stream.record(event)
        return event

    def _meet(self, device: int) -> None:
        if device in self._origins:
            return
        with self._lock:
            if device not in self._origins:
                self._machine.driver.device_synchronize(device)
                event = self._event(self._machine.devices[device].default_stream)
                self._origins[device] = Origin(event, self._machine.driver.host_ns())

    def _between(self, start: EventHandle, end: EventHandle) -> int:
        return round(self._machine.driver.event_elapsed(start, end) * NS_PER_MS)


class ByActivities:
    """CUPTI's records, each with the number of the call that queued it."""

    def __init__(self, machine: Machine, activities: Activities) -> None:
        self.name = activities.name
        self.lost = 0
        self._machine, self._activities = machine, activities
        self._devices: set[int] = set()
        self._pieces: defaultdict[int, list[Piece]] = defaultdict(list)
        self._closed: set[int] = set()
        self._graphs: list[int] = []  # the calls that launched graphs, in order

    def open(self, stream: Stream) -> int:
        self._devices.add(stream.device_index)
        number = next(_numbers)
        self._activities.begin_call(number)
        return number

    def close(self, stream: Stream, opened: int, is_graph: bool) -> int:
        self._activities.end_call()
        self._closed.add(opened)
        if is_graph:
            self._graphs.append(opened)
        return opened

    def drop(self, opened: int) -> None:
        self._activities.end_call()

    def finish(self, waits: bool) -> None:
        if waits:
            for device in sorted(self._devices):
                self._machine.driver.device_synchronize(device)
        activities, self.lost = self._activities.stop(collect=waits)
        activities.sort(key=lambda activity: (activity.start_ns, activity.end_ns))
        for work in assigned(activities, self._graphs):
            self._pieces[work.call if work.call in self._closed else 0].append(Piece(work.start_ns, work.end_ns, work))

    def take(self, closed: int) -> list[Piece]:
        return self._pieces[closed]

    def discard(self, closed: int) -> None:
        """Do nothing: the call's pieces are never taken."""

    def others(self) -> list[Piece]:
        return self._pieces[0]


def assigned(found: list[Activity], launches: list[int]) -> list[Activity]:
    """Assign the work of graphs to their launches by order, if CUPTI attributed none to a launch.

    CUPTI before CUDA 13.1 Update 1 gives graphs wrong numbers in all measurements of a process but the first.  Each
    launch runs each node of its graph once: the n-th record of a node belongs to the graph's n-th launch.
    found: by start.  launches: the calls, in their order.
    """
    if {work.call for work in found}.issuperset(launches):
        return found
    times: defaultdict[tuple[int, int], int] = defaultdict(int)  # number of runs of each node so far
    runs: dict[tuple[int, int], int] = {}  # order of each launch of a graph, by its first work
    places = []
    for work in found:
        times[work.graph, work.node] += 1
        run = work.graph, times[work.graph, work.node]
        places.append(runs.setdefault(run, len(runs)) if work.graph else None)
    if len(runs) != len(launches):
        return found  # other code launched some of it
    return [work if index is None else work._replace(call=launches[index]) for work, index in zip(found, places)]


STACK_LINES = 32
GRAPH = "graph"  # the name of a graph's launch
FULL_REASON = "the stream has as many pending commands as fit"
ROOM_REASON = "the allocator waits for work on memory that is to be reused or returned"

_PACKAGE = str(Path(callers.__file__).parent)
_THREADS = threading.__file__, str(Path(concurrent.futures.__file__).parent)


class _Host:
    """The state of a thread.

    call: the index of its current call;  route: the route of a copy that is about to wait;  wait: the wait in progress.
    opened: the result of Measuring.open for the current call.
    """

    __slots__ = ("call", "is_submitting", "machine", "number", "opened", "route", "start_ns", "wait")

    def __init__(self, number: int) -> None:
        self.number = number
        self.machine: Any = None
        self.call = NONE
        self.start_ns = 0
        self.is_submitting = False
        self.route: Stream | None = None
        self.wait: HostWait | None = None
        self.opened: Any = None


class Timed(NamedTuple):
    """A measured call.  place: the index of its span.  handle, arguments: those of a kernel launch."""

    place: int
    closed: Any  # the value that Measuring.close returned
    handle: int
    arguments: Any


def is_modelled(machine: Machine) -> bool:
    """Return whether the machine's driver reports modelled times."""
    return machine.driver.capabilities.modelled_time


class Recorder:
    """Collects a Trace from `begin` to `end`.

    shapes: keep the shapes of kernels' operands.  stacks: keep the lines of the program that led to each call.
    limit: the number of spans to keep.
    """

    def __init__(self, *, shapes: bool = False, stacks: bool = False, limit: int = LIMIT) -> None:
        self.found = Trace(limit=limit)
        self._shapes, self._stacks = shapes, stacks
        self._hosts: dict[threading.Thread, _Host] = {}
        self._zeros: dict[Machine, int] = {}  # the host clock of a machine at the beginning of the trace
        self._latest_ns = 0
        self._spans: list[Span] = []
        self._seen: set[Stream] = set()
        self._last: dict[Any, int] = {}  # the last span of each stream
        self._records: dict[Any, tuple[Any, int]] = {}  # by recorded event: the stream and its last span
        self._waiting: defaultdict[Any, list[tuple[int, str]]] = defaultdict(list)  # by waiting stream
        self._change = 0  # bytes of blocks taken less those given back, since the latest call
        self._timed: list[Timed] = []
        self._measured: Machine | None = None
        self._measuring: Measuring | None = None
        self._lock = Lock()
        self._functions: dict[str, Any] = {}
        self._unsettled: list[tuple[int, int, Callable[[], tuple[int, int]]]] = []  # spans after collectives

    def begin(self, machine: Machine | None = None) -> None:
        """Begin recording.  machine: the trace begins at its current time; by default, at a machine's first use."""
        if machine is not None:
            self._zero(machine)
            cuda_memory.allocated_bytes()  # takes back what was freed before, which is no change of the trace
        names = (
            "on_submit", "on_launch", "on_copy", "on_fill", "on_graph_launch", "on_exchange", "on_span", "on_range",
            "on_block_taken", "on_block_given", "on_record", "on_wait", "on_blocked", "on_route",
        )  # fmt: skip
        self._functions = {name: getattr(self, f"_{name}") for name in names}
        subscribe(**self._functions)

    def end(self) -> None:
        unsubscribe(**self._functions)

    def trace(self, waits: bool = True) -> Trace:
        """Build the trace; called once, after `end`.  waits: wait for the devices; without it, nothing is measured."""
        trace = self.found
        if waits:
            for machine in self._zeros:
                if is_modelled(machine):
                    for device in sorted({span.device for span in self._spans}):
                        if device < len(machine.devices):
                            machine.driver.device_synchronize(device)
        if self._measuring is not None:
            self._measure(self._measuring, waits)
        for index, zero, settle in self._unsettled:
            start_ns, end_ns = settle()
            self._spans[index] = self._spans[index]._replace(start_ns=start_ns - zero, end_ns=end_ns - zero)
        kept = [(span, index) for index, span in enumerate(self._spans) if span.end_ns >= 0]
        kept.sort(key=lambda entry: (entry[0].start_ns, entry[0].device, entry[0].end_ns))
        positions = {index: new for new, (_, index) in enumerate(kept)}
        trace.spans = [span for span, _ in kept]
        trace.arrows = [
            Arrow(positions[arrow.source], positions[arrow.target], arrow.site)
            for arrow in trace.arrows
            if arrow.source in positions and arrow.target in positions
        ]
        ends: dict[int, list[int]] = defaultdict(list)
        for new, span in enumerate(trace.spans):
            ends[span.end_ns].append(new)
        for wait in trace.waits:
            wait.span = self._awaited(wait, ends)
        return trace

    def _awaited(self, wait: HostWait, ends: dict[int, list[int]]) -> int:
        """Return the span that ended when a wait did; with measured times, the last one that ended during the wait."""
        if not wait.blocked_ns:
            return NONE
        spans = self.found.spans
        exact = [index for index in ends.get(wait.end_ns, ()) if _matches(wait, spans[index])]
        if exact or self.found.modelled:
            return exact[-1] if exact else NONE
        candidates = [
            index
            for index, span in enumerate(spans)
            if wait.start_ns < span.end_ns <= wait.end_ns and _matches(wait, span)
        ]
        return max(candidates, key=lambda index: spans[index].end_ns, default=NONE)

    # time and threads

    def _zero(self, machine: Machine) -> int:
        zero = self._zeros.get(machine)
        if zero is None:
            if not is_modelled(machine):
                self._begin_measuring(machine)
            zero = self._zeros[machine] = machine.driver.host_ns() - self._latest_ns
            if len(self._zeros) == 1:
                self.found.begin_ns = zero
            self.found.modelled = is_modelled(machine)
            self.found.calibrated = machine.driver.capabilities.calibrated
            self.found.source = machine.driver.properties(0).name
        return zero

    def _begin_measuring(self, machine: Machine) -> None:
        with self._lock:
            if self._measuring is None:
                self._measured, self._measuring = machine, begin_measuring(machine)
                self.found.measured_by = self._measuring.name

    def _now(self, machine: Machine) -> int:
        now = machine.driver.host_ns() - self._zero(machine)
        self._latest_ns = max(self._latest_ns, now)
        return now

    def _host(self) -> _Host:
        present = threading.current_thread()
        host = self._hosts.get(present)
        if host is None:
            host = self._hosts[present] = _Host(self._number(present))
            self.found.threads[host.number] = present.name
        return host

    def _number(self, present: threading.Thread) -> int:
        """Return a thread's number: its identifier, or the number of an ended thread of the same name."""
        for other, host in self._hosts.items():
            if other.name == present.name and not other.is_alive():
                return host.number
        number = threading.get_ident()
        return -len(self.found.threads) if number in self.found.threads else number

    # work

    def _on_submit(self, stream: Stream) -> None:
        machine, host = stream.machine, self._host()
        host.machine, host.is_submitting = machine, True
        host.start_ns = self._now(machine)
        host.call = NONE
        if stream not in self._seen:
            self._seen.add(stream)
            self.found.streams[stream.device_index, stream.cuda_stream] = stream.label
        if host.wait is not None and host.route is None:
            host.wait = None
        if machine is self._measured and machine.capture is None:
            assert self._measuring is not None
            if host.opened is not None:  # left by a call that failed
                self._measuring.drop(host.opened)
            host.opened = self._measuring.open(stream)

    def _on_span(
        self,
        device: int,
        stream: int,
        name: str,
        start_ns: int,
        end_ns: int,
        nbytes: int,
        site: str,
        settle: Callable[[], tuple[int, int]] | None = None,
    ) -> None:
        host = self._host()
        if host.machine is None or not is_modelled(host.machine):
            return
        zero = self._zero(host.machine)
        if host.call == NONE:
            host.call = self._open_call(host, name)
        self._latest_ns = max(self._latest_ns, end_ns - zero)
        span = Span(device, stream, name, start_ns - zero, end_ns - zero, nbytes, _of_program(site), host.call)
        index = self._add((host.machine, device, stream), span)
        if settle is not None and index != NONE:
            self._unsettled.append((index, zero, settle))

    def _open_call(self, host: _Host, name: str) -> int:
        """Add the current call; its end is set when it returns."""
        calls = self.found.calls
        if len(calls) >= self.found.limit:
            return NONE
        site, called = _call()
        stack = tuple(callers.call_stack(STACK_LINES)) if self._stacks else ()
        change, self._change = self._change, 0
        calls.append(Call(host.number, called or name, host.start_ns, host.start_ns, site, stack, change))
        return len(calls) - 1

    def _add(self, key: Any, span: Span) -> int:
        """Add a span; return its index, or NONE if there are too many."""
        if len(self._spans) >= self.found.limit:
            self.found.left_out += 1
            return NONE
        index = len(self._spans)
        self._spans.append(span)
        self._last[key] = index
        for source, site in self._waiting.pop(key, ()):
            self.found.arrows.append(Arrow(source, index, site))
        return index

    def _on_launch(self, stream: Stream, handle: int, arguments: Any) -> None:
        index = self._submitted(stream, "kernel", 0, handle, arguments)
        if self._shapes and index != NONE and is_modelled(stream.machine):
            launched = _launched(stream.machine, stream.device_index).get(handle)
            shapes = () if launched is None else _described(launched, arguments)[2]
            self._spans[index] = self._spans[index]._replace(shapes=shapes)

    def _on_copy(self, stream: Stream, dst: int, src: int, nbytes: int, kind: CopyKind) -> None:
        index = self._submitted(stream, f"copy {kind.value}", nbytes)
        if index != NONE and kind is CopyKind.PEER:
            places = [stream.machine.driver.memory_device(Address(address)) for address in (dst, src)]
            peer = next((device for device in places if device is not None and device != stream.device_index), NONE)
            self._spans[index] = self._spans[index]._replace(peer=peer)

    def _on_fill(self, stream: Stream, dst: int, nbytes: int) -> None:
        self._submitted(stream, "fill", nbytes)

    def _on_exchange(self, stream: Stream, exchange: Any) -> None:
        self._submitted(stream, exchange.name, exchange.nbytes)

    def _on_graph_launch(self, stream: Stream, graph: int) -> None:
        self._submitted(stream, GRAPH, 0)

    def _submitted(self, stream: Stream, name: str, nbytes: int, handle: int = 0, arguments: Any = None) -> int:
        """End a call that put something on a stream; return the index of its last span."""
        host = self._host()
        host.is_submitting = False
        machine = stream.machine
        if not is_modelled(machine):
            index = self._close_timed(host, stream, name, nbytes, handle, arguments)
        else:
            index = self._last.get((machine, stream.device_index, stream.cuda_stream), NONE)
        if host.call == NONE:
            return NONE  # it was captured, or exceeds the limit
        call = self.found.calls[host.call] = self.found.calls[host.call]._replace(end_ns=self._now(machine))
        if host.wait is not None and host.route is stream and not is_modelled(machine):
            host.wait.start_ns, host.wait.end_ns = call.start_ns, call.end_ns  # the driver waits inside such a copy
        return index if index != NONE and self._spans[index].call == host.call else NONE

    def _close_timed(
        self, host: _Host, stream: Stream, name: str, nbytes: int, handle: int, arguments: Any
    ) -> int:
        opened, host.opened = host.opened, None
        if opened is None or self._measuring is None:
            return NONE
        closed = self._measuring.close(stream, opened, name == GRAPH)
        host.call = self._open_call(host, name)
        key = (stream.machine, stream.device_index, stream.cuda_stream)
        span = Span(stream.device_index, key[2], name, 0, NONE, nbytes, _call()[0], host.call)
        index = self._add(key, span)
        if index == NONE:
            self._measuring.discard(closed)
        else:
            self._timed.append(Timed(index, closed, handle, arguments))
        return index

    # measuring, on NVIDIA GPUs

    def _measure(self, measuring: Measuring, waits: bool) -> None:
        """Set the times of measured spans.  Without a wait, the spans are left out."""
        assert self._measured is not None
        failed = [host.opened for host in self._hosts.values() if host.opened is not None]
        for opened in failed if waits else ():
            measuring.drop(opened)
        measuring.finish(waits)
        if not waits:
            return
        self.found.lost = measuring.lost
        devices = {self._spans[timed.place].device for timed in self._timed}
        launched = {device: _launched(self._measured, device) for device in devices}
        last: dict[int, int] = {}  # by the first span of a call with several: its last one
        streams: dict[Any, int] = {}  # by CUPTI's numbers
        for timed in self._timed:
            span = self._spans[timed.place]
            if timed.handle:
                name, nbytes, shapes = _described(launched[span.device].get(timed.handle), timed.arguments)
                span = span._replace(name=name, nbytes=nbytes, shapes=shapes if self._shapes else ())
            is_named = span.kind in ("copy", "fill") or bool(timed.handle and not isinstance(timed.arguments, tuple))
            for number, piece in enumerate(measuring.take(timed.closed)):
                measured, activity = self._measured_span(span, piece, is_named), piece.activity
                if number == 0:
                    self._spans[timed.place] = measured
                else:
                    last[timed.place] = self._append(measured)
                if activity is not None and activity.grid:
                    span = span._replace(nbytes=0)  # the first kernel has the operands' bytes
                if activity is not None and not activity.graph:
                    streams[_stream_key(activity)] = span.stream
        self._add_others(measuring.others(), streams)
        arrows = self.found.arrows
        arrows[:] = [arrow._replace(source=last.get(arrow.source, arrow.source)) for arrow in arrows]

    def _measured_span(self, span: Span, piece: Piece, is_named: bool) -> Span:
        """Make the span of a piece of work from that of its call.  is_named: the work has the call's name."""
        assert self._measured is not None
        zero, activity = self._zero(self._measured), piece.activity
        span = span._replace(start_ns=piece.start_ns - zero, end_ns=piece.end_ns - zero)
        if activity is None:
            return span
        operation, name = ("", span.name) if is_named else (span.name, activity.name)
        launch = Launch(
            operation, activity.context, activity.stream, activity.graph,
            activity.grid, activity.block, activity.registers, activity.shared_nbytes,
        )  # fmt: skip
        return span._replace(name=name, nbytes=activity.nbytes or span.nbytes, launch=launch)

    def _append(self, span: Span) -> int:
        """Add a span that has its times; return its index, or NONE if there are too many."""
        if len(self._spans) >= self.found.limit:
            self.found.left_out += 1
            return NONE
        self._spans.append(span)
        return len(self._spans) - 1

    def _add_others(self, pieces: list[Piece], streams: dict[Any, int]) -> None:
        """Add the work of other libraries that began in the trace.  Their streams have CUPTI's numbers, negative."""
        assert self._measured is not None
        for piece in pieces:
            activity: Any = piece.activity
            if piece.start_ns < self._zero(self._measured):
                continue
            stream = streams.get(_stream_key(activity))
            if stream is None:
                stream = -activity.stream
                self.found.streams[activity.device, stream] = f"stream {activity.stream} of another library"
            self._append(self._measured_span(Span(activity.device, stream, activity.name, 0, 0, 0, ""), piece, True))

    # order between streams

    def _on_record(self, event: Any, stream: Stream) -> None:
        key = (stream.machine, stream.device_index, stream.cuda_stream)
        self._records[stream.machine, event] = key, self._last.get(key, NONE)

    def _on_wait(self, waiter: Stream | None, awaited: Any) -> None:
        if waiter is None:
            self._host_waits(awaited)
            return
        record = self._records.get((waiter.machine, awaited))
        key = (waiter.machine, waiter.device_index, waiter.cuda_stream)
        if record is not None and record[1] != NONE and record[0] != key:
            self._waiting[key].append((record[1], callers.call_site()))

    # waits of the host

    def _on_route(self, route: Route, stream: Stream | None, other: Stream | None, nbytes: int) -> None:
        host = self._host()
        host.route = host.wait = None
        if route.waits and stream is not None and stream.machine.capture is None:
            host.route, host.machine = stream, stream.machine
            name = f"copy {route.kind.value}" if route.kind else route.name
            host.wait = self._new_wait(host, name, True, stream, route.reason)
            host.wait.hint = hint_of(route, host.wait.name)

    def _host_waits(self, awaited: Any) -> None:
        host = self._host()
        if host.route is not None and awaited is host.route:  # the wait of a copy
            host.route = None
            return
        host.route = None
        of = awaited if isinstance(awaited, (Stream, Event)) else None
        host.machine = thread.machine() if not isinstance(of, Stream) else of.machine
        host.wait = self._new_wait(host, "synchronize", False, awaited if isinstance(awaited, Stream) else None)
        if of is None or isinstance(of, Event):
            host.wait.device = awaited.index if of is None else of.device_index

    def _new_wait(
        self, host: _Host, name: str, is_hidden: bool, stream: Stream | None, reason: str = ""
    ) -> HostWait:
        now = self._now(host.machine)
        site, called = _call()
        wait = HostWait(host.number, called or name, now, now, site, is_hidden, reason)
        if stream is not None:
            wait.device, wait.stream = stream.device_index, stream.cuda_stream
        if len(self.found.waits) < self.found.limit:
            self.found.waits.append(wait)
        return wait

    def _on_blocked(self, start_ns: int, end_ns: int) -> None:
        host = self._host()
        machine: Any = host.machine if host.machine is not None else thread.machine()
        host.machine = machine
        zero = self._zero(machine)
        if host.wait is None:
            full = host.is_submitting
            wait = self._new_wait(host, "a full stream" if full else "the allocator", True, None)
            wait.reason = FULL_REASON if full else ROOM_REASON
            wait.start_ns, wait.end_ns = start_ns - zero, end_ns - zero
            return
        if not host.wait.blocked_ns:
            host.wait.start_ns = start_ns - zero
        host.wait.end_ns = max(host.wait.end_ns, end_ns - zero)

    # memory and ranges

    def _on_block_taken(self, block: Any, stream: Any) -> None:
        self._change += block.nbytes
        self._note_memory(stream, 0)

    def _on_block_given(self, block: Any) -> None:
        self._change -= block.nbytes
        self._note_memory(block.stream, block.nbytes)  # the allocator updates its count afterwards

    def _note_memory(self, handle: Any, given: int) -> None:
        machine: Any = thread.machine()
        stream = machine.streams.get(handle)
        if stream is None or len(self.found.memory) >= 2 * self.found.limit:
            return
        device = stream.device_index
        allocator = machine.devices[device].allocator
        small, large = allocator._small.counters, allocator._large.counters
        flows = small.allocated_bytes, large.allocated_bytes
        allocated = sum(flow.allocated - flow.freed for flow in flows) - given
        self.found.memory.append(MemoryPoint(device, self._now(machine), allocated, allocator.reserved_bytes))

    def _on_range(self, text: str, start_ns: int | None, end_ns: int, change: int) -> None:
        host = self._host()
        machine: Any = thread.machine()
        zero = self._zero(machine)
        start = 0 if start_ns is None else max(0, start_ns - zero)
        self.found.ranges.append(Range(text, host.number, start, end_ns - zero, change))


def _call() -> tuple[str, str]:
    """(Line of the program, operator that it called there).

    For a thread of the library, which has no line of the program, the main thread's current line is used.
    """
    site, called = callers.call()
    return _of_program(site), called


def _of_program(site: str) -> str:
    if not site.startswith(_THREADS):
        return site
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None and frame.f_code.co_filename.startswith((*_THREADS, _PACKAGE)):
        frame = frame.f_back
    return site if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _matches(wait: HostWait, span: Span) -> bool:
    """Return whether a wait can be for this span's stream."""
    return wait.device in (NONE, span.device) and wait.stream in (NONE, span.stream)


def _stream_key(activity: Activity) -> tuple[int, int, int]:
    return activity.device, activity.context, activity.stream


def _launched(machine: Machine, device: int) -> dict[int, Any]:
    """Return the kernel or the library operation of each handle."""
    of = machine.devices[device]
    kernels: dict[int, Any] = {handle: kernel for kernel, handle in of.kernels.items()}
    return kernels | {handle: problem for problem, (handle, _) in of._library_plans.items()}


def _described(launched: Any, arguments: Any) -> tuple[str, int, tuple[tuple[int, ...], ...]]:
    """(Name of a kernel or a library operation, bytes that its operands span, their shapes)."""
    if isinstance(arguments, tuple):
        operands, name = _flat(launched.accesses(arguments)), launched.kind
    else:
        operands, name = _flat(launched.bind(arguments)), launched.entry
    return name, sum(operand.nbytes for operand in operands), tuple(tuple(operand.shape) for operand in operands)


def _flat(values: Iterable[Any]) -> list[Access]:
    flat = [part for value in values for part in (value if isinstance(value, list) else (value,))]
    return [part for part in flat if isinstance(part, Access)]
