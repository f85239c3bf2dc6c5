"""Events of virtual GPUs: a point in a stream's queue, replaced by every record.

- Each record makes a new generation.  A wait refers to the latest generation at the time of the call.
- An event that was never recorded is done, and a wait for it has no effect.
- The record of an interprocess event runs its stream: work of two processes is ordered by running it in that order.
- A record on a capturing stream is a point of the capture.  Streams may wait for it, and join; the host may not.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from ... import callers
from ...errors import AcceleratorError
from ...vector_clock import Clock
from ..api import EventHandle
from .capture import CAPTURE_ISOLATION, CAPTURE_MERGE, CAPTURED_EVENT, Capture
from .clock import Late, settled
from .clock import latest as later_of
from .engine import Engine
from .memory import INVALID_VALUE
from .queue import Awaited, Queue

INVALID_HANDLE = 400  # CUresult
NOT_READY = 600  # CUresult
CAPTURE_IMPLICIT = 906  # CUresult
RECORDS_KEPT = 8  # per event


@dataclass(frozen=True, slots=True, eq=False)
class Generation:
    """One record of an event: the commands before it, its clock and its time.

    late: the unfinished commands that the time depends on, None if it is known.
    site: the source line of the record, "" unless races are errors.
    """

    after: Awaited | None
    clock: Clock
    time_ns: int
    late: Late | None = None
    site: str = ""


@dataclass(frozen=True, slots=True)
class Captured:
    """A record in a capture: the nodes that it follows."""

    capture: Capture
    after: tuple[int, ...]


class Waited(NamedTuple):
    """A wait for one record of an event; `site` is its source line.  by_host: whether the host waited, not a stream."""

    event: Event
    point: Generation
    site: str
    by_host: bool = False


@dataclass(slots=True, eq=False)
class Event:
    """An event.

    records: its latest records, kept if races are errors.
    is_mark: whether its last record and the wait for it are one line, as in `wait_stream`, which has its own events.
    """

    handle: EventHandle
    device: int
    timing: bool
    interprocess: bool = False
    latest: Generation | None = None
    captured: Captured | None = None
    records: deque[Generation] = field(default_factory=partial(deque, maxlen=RECORDS_KEPT))
    is_mark: bool = False


class Events:
    """The event calls of one machine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def record(self, event: Event, queue: Queue, external: bool = False) -> None:
        if event.device != queue.device:
            raise AcceleratorError(
                f"the event belongs to device {event.device}, and stream {queue.handle} to device {queue.device}",
                hint=f"record an event of device {queue.device}",
                error_code=INVALID_HANDLE,
                operator="event_record",
            )
        now = self._engine.clock.spend(self._engine.card.host.record)
        if external:
            self._capturing(queue, "event_record").note(queue, "event_record", event)
            return
        if queue.capture is not None:
            queue.capture.check("event_record")
            event.captured = Captured(queue.capture, queue.tails)
            return
        queue.end_ns = max(queue.end_ns, now)
        self.mark(event, queue)

    def mark(self, event: Event, queue: Queue) -> None:
        """Make everything submitted to `queue` so far the event's latest record."""
        event.latest, event.captured = self.point(queue), None
        if self._engine.races.explains:
            event.latest = replace(event.latest, site=callers.call_site())
            event.records.append(event.latest)
        if event.interprocess:
            self._engine.publish(queue)

    def _capturing(self, queue: Queue, name: str) -> Capture:
        """Return the capture of a stream.  Raises AcceleratorError if the stream is not capturing."""
        if queue.capture is None:
            raise AcceleratorError(
                f"stream {queue.handle} is not capturing, which external=True requires",
                error_code=INVALID_VALUE,
                operator=name,
            )
        return queue.capture

    def point(self, queue: Queue) -> Generation:
        """Return the point after everything submitted to `queue` so far."""
        return Generation(queue.tail(), self._engine.clocks.snapshot(queue.handle), queue.end_ns, queue.late)

    def wait_on_queue(self, queue: Queue, event: Event, external: bool = False) -> None:
        """Make later commands of `queue` follow the event's latest record."""
        self._engine.clock.spend(self._engine.card.host.order)
        if external:
            self._capturing(queue, "stream_wait_event").note(queue, "stream_wait_event", event)
        elif event.captured is not None:
            self._join(queue, event.captured)
        elif event.latest is not None and queue.capture is not None:
            what = f"stream_wait_event: stream {queue.handle} cannot wait for work that is not captured"
            hint = "let the other stream wait for a capturing one first, so that it takes part"
            self._engine.captures.break_all([queue.capture], what, CAPTURE_ISOLATION, hint)
        elif event.latest is not None:
            self._note(event, event.latest, queue.waited)
            self.follow(queue, event.latest)

    def _note(self, event: Event, point: Generation, waited: deque[Waited], by_host: bool = False) -> None:
        """Remember a wait for reports."""
        if self._engine.races.explains:
            site = callers.call_site()
            event.is_mark = site == point.site
            waited.append(Waited(event, point, site, by_host))

    def _join(self, queue: Queue, captured: Captured) -> None:
        """Let a stream that waits for a captured event join the capture."""
        capture = captured.capture
        if capture not in self._engine.captures.active:
            raise AcceleratorError(
                f"the event was last recorded in {capture}, which has ended",
                hint="record it after the replay, or make it with external=True",
                error_code=CAPTURED_EVENT,
                operator="stream_wait_event",
            )
        capture.check("stream_wait_event")
        if queue.is_default:
            what = f"stream_wait_event: stream {queue.handle} is a default stream, which cannot be captured"
            self._engine.captures.break_all([capture], what, CAPTURE_IMPLICIT, "use a stream of your own instead")
        if queue.capture not in (None, capture):
            what = f"stream_wait_event: stream {queue.handle} takes part in another capture"
            self._engine.captures.break_all([capture], what, CAPTURE_MERGE)
        capture.join(queue, captured.after)

    def follow(self, queue: Queue, latest: Generation) -> None:
        """Make later commands of `queue` follow a point of another queue."""
        self._engine.clocks.learn(queue.handle, latest.clock)
        queue.follow(latest.after)
        queue.end_ns = max(queue.end_ns, latest.time_ns)
        if latest.late is not None:
            queue.late = later_of(queue.late, latest.late)

    def is_done(self, event: Event, orders: bool = True) -> bool:
        """Return whether the latest record is complete at the host's modelled time.  If so, its work is run first.

        An interprocess event is done once recorded: its work has run by then, and another process may have seen that.
        orders: whether an answer of True orders later work of the host after the record.
        """
        self._check_host(event, "event_query")
        now = self._engine.clock.spend(self._engine.card.host.call)
        latest = event.latest
        if latest is None:
            return True
        if latest.time_ns > now and not event.interprocess:
            return False
        if latest.late is not None:  # a pending collective, which may wait for other processes
            if not self._engine.runner.run_until(latest.after, waits=False, fails=orders):
                return False
            if settled(latest.time_ns, latest.late)[0] > now:
                return False
        self._await(event, latest, orders)
        return True

    def waited_on_host(self, event: Event, point: Generation) -> None:
        """Order later work of the host after a record that it has waited for or seen done."""
        self._note(event, point, self._engine.races.host_waited, by_host=True)
        self._engine.clocks.host_learn(point.clock)

    def _await(self, event: Event, latest: Generation, orders: bool) -> None:
        if orders:
            self._note(event, latest, self._engine.races.host_waited, by_host=True)
            self._engine.wait(latest.after, latest.time_ns, latest.late, latest.clock)
        else:
            self._engine.runner.run_until(latest.after)
            self._engine.block_host(settled(latest.time_ns, latest.late)[0])

    def _check_host(self, event: Event, name: str) -> None:
        """Raise AcceleratorError for a wait or a query of a captured event, or if a capture forbids all of them."""
        captures, captured = self._engine.captures, event.captured
        if captured is not None and captured.capture in captures.active:
            captures.break_all([captured.capture], f"{name}: not permitted on a captured event", CAPTURED_EVENT)
        if captured is not None:
            raise AcceleratorError(
                f"event {event.handle} was last recorded in a capture, {captured.capture}",
                hint="record it after the replay, or make it with external=True",
                error_code=CAPTURED_EVENT,
                operator=name,
            )
        captures.check_unsafe(name)

    def wait_on_host(self, event: Event, orders: bool = True) -> None:
        self._check_host(event, "event_synchronize")
        self._engine.clock.spend(self._engine.card.host.call)
        latest = event.latest
        if latest is not None:
            self._await(event, latest, orders)

    def elapsed_ms(self, start: Event, end: Event) -> float:
        for name, event in (("start", start), ("end", end)):
            if not event.timing:
                raise AcceleratorError(
                    f"the {name} event was made without timing",
                    hint="make it with timing=True",
                    error_code=INVALID_HANDLE,
                    operator="event_elapsed",
                )
            if event.latest is None:
                raise AcceleratorError(
                    f"the {name} event was never recorded",
                    hint="record it outside of captures, or make it with external=True",
                    error_code=INVALID_HANDLE,
                    operator="event_elapsed",
                )
        if start.device != end.device:
            raise AcceleratorError(
                f"the start event is of device {start.device}, the end event of device {end.device}",
                error_code=INVALID_VALUE,
                operator="event_elapsed",
            )
        for name, event in (("start", start), ("end", end)):
            if not self.is_done(event):
                raise AcceleratorError(
                    f"the {name} event is not complete",
                    hint="synchronize with it first",
                    error_code=NOT_READY,
                    operator="event_elapsed",
                )
        assert start.latest is not None and end.latest is not None
        end_ns, _ = settled(end.latest.time_ns, end.latest.late)
        return (end_ns - settled(start.latest.time_ns, start.latest.late)[0]) / 1e6
