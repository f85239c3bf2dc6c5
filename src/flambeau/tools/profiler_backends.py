"""Profiler backends: times of submitted work from the model, or from events around each call.

Both subscribe to hooks of `callers` and hand out spans when they are done.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

from .. import callers
from ..core.native import Lock
from ..core.queue import subscribe, unsubscribe
from ..driver.api import CopyKind, EventHandle
from ..kernel import Access
from ..runtime.machine import Machine
from ..runtime.stream import Stream

NS_PER_MS = 1_000_000


class Span(NamedTuple):
    """Something that a stream did.

    device: the index;  stream: the CUstream's number, 0 for the default stream.
    name: the kernel's entry, the library's problem, `copy` with its direction, `fill` or `graph`.
    start_ns, end_ns: since the profile began.
    nbytes: what a copy or a fill moves, or what lies within a kernel's operands.
    site: `file:line` of the program that put it there; of the capture for a graph's parts on virtual GPUs.
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
    """An event of a device and the host's time at which it happened."""

    event: EventHandle
    host_ns: int


class EventRecorder:
    """Records a timing event before and after each call.

    A device is waited for when the profile first meets it, so that its clock can be laid beside the host's.
    Work that is captured into a graph has no times; the graph's launches have.
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
    """A kernel's or a problem's name, and the bytes within its operands."""
    if isinstance(arguments, tuple):
        return launched.kind, _nbytes(launched.accesses(arguments))
    return launched.entry, _nbytes(launched.bind(arguments))


def _nbytes(values: Iterable[Any]) -> int:
    flat = [each for value in values for each in (value if isinstance(value, list) else (value,))]
    return sum(each.nbytes for each in flat if isinstance(each, Access))


def _in_order(span: Span) -> tuple[int, int, int]:
    return span.start_ns, span.device, span.end_ns
