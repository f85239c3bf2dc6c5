"""Measurement of work on NVIDIA GPUs for a recorder: by CUPTI where it can be used, by timing events otherwise.

A recorder calls `open` before each call that submits work and `close` after it, or `drop` if the call failed.  After
`finish`, it takes each closed call's pieces of work.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import count
from typing import Any, NamedTuple, Protocol

from ..core.native import Lock
from ..driver.api import Activities, Activity, EventHandle
from ..runtime.machine import Machine
from ..runtime.stream import Stream

NS_PER_MS = 1_000_000

_numbers = count(1)  # of calls, unique in the process: CUPTI keeps the number of a call that failed for its thread


class Piece(NamedTuple):
    """A piece of work.  start_ns, end_ns: on the driver's host clock.  activity: CUPTI's record of it, or None."""

    start_ns: int
    end_ns: int
    activity: Activity | None = None


class Measuring(Protocol):
    """A measurement of the work that recorded calls submit.

    name: of the method, for reports.  lost: how many pieces of work are missing from the results.
    """

    name: str
    lost: int

    def open(self, stream: Stream) -> Any:
        """Begin a call that submits work to a stream; return what `close` and `drop` take."""

    def close(self, stream: Stream, opened: Any, is_graph: bool) -> Any:
        """End a call, which launched a graph or not; return what `take` and `discard` take."""

    def drop(self, opened: Any) -> None:
        """Forget a call of the calling thread that failed."""

    def finish(self, waits: bool) -> None:
        """End the measurement.  waits: wait for the devices, without which nothing may be taken."""

    def take(self, closed: Any) -> list[Piece]:
        """Return what a call put on its stream, by start, and forget the call."""

    def discard(self, closed: Any) -> None:
        """Forget a closed call."""

    def others(self) -> list[Piece]:
        """Return what no call of the recorder put on a stream; the last call of all."""


def begun(machine: Machine) -> Measuring:
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
        found = Piece(start_ns, start_ns + self._between(first, last))
        self.discard(closed)
        return [found]

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
        self._graphs: list[int] = []  # the calls that launched graphs, in their order

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
        found, self.lost = self._activities.stop(collect=waits)
        found.sort(key=lambda activity: (activity.start_ns, activity.end_ns))
        for each in assigned(found, self._graphs):
            self._pieces[each.call if each.call in self._closed else 0].append(Piece(each.start_ns, each.end_ns, each))

    def take(self, closed: int) -> list[Piece]:
        return self._pieces[closed]

    def discard(self, closed: int) -> None:
        """Do nothing: its pieces are never asked for."""

    def others(self) -> list[Piece]:
        return self._pieces[0]


def assigned(found: list[Activity], launches: list[int]) -> list[Activity]:
    """Assign the work of graphs to their launches by its order, if CUPTI gave a launch none.

    CUPTI before CUDA 13.1 Update 1 gives graphs wrong numbers in all measurements of a process but the first.  Each
    launch runs each node of its graph once: the n-th record of a node belongs to the graph's n-th launch.
    found: by start.  launches: the calls, in their order.
    """
    if {each.call for each in found}.issuperset(launches):
        return found
    times: defaultdict[tuple[int, int], int] = defaultdict(int)  # how often a node has run
    runs: dict[tuple[int, int], int] = {}  # the place of each launch of a graph, by its first work
    places = []
    for each in found:
        times[each.graph, each.node] += 1
        run = each.graph, times[each.graph, each.node]
        places.append(runs.setdefault(run, len(runs)) if each.graph else None)
    if len(runs) != len(launches):
        return found  # some of it was launched elsewhere
    return [each if place is None else each._replace(call=launches[place]) for each, place in zip(found, places)]
