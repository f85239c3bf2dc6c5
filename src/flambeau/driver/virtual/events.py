"""Events: a point in a stream's queue, replaced by every record.

- A record makes a new generation.  What waits keeps the generation it waited on.
- An event that was never recorded is done, and a wait for it waits for nothing.
- The record of an interprocess event runs its stream: work of two processes is ordered by running it in that order.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import AcceleratorError
from ...order import Clock
from ..api import EventHandle
from .engine import Engine
from .memory import INVALID_VALUE
from .queue import Command, Queue

INVALID_HANDLE = 400  # CUresult
NOT_READY = 600  # CUresult


@dataclass(frozen=True, slots=True)
class Generation:
    """One record: the commands it follows, what is done when it is done, and when that is."""

    after: tuple[Command, ...]
    clock: Clock
    time_ns: int


@dataclass(slots=True)
class Event:
    handle: EventHandle
    device: int
    timing: bool
    interprocess: bool = False
    latest: Generation | None = None


class Events:
    """The event calls of one machine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def record(self, event: Event, queue: Queue) -> None:
        if event.device != queue.device:
            raise AcceleratorError(
                f"event_record: the event belongs to device {event.device}, and stream {queue.handle} to device "
                f"{queue.device}",
                hint=f"record an event of device {queue.device}",
                error_code=INVALID_HANDLE,
            )
        now = self._engine.clock.spend(self._engine.preset.record_ns)
        queue.end_ns = max(queue.end_ns, now)
        event.latest = Generation(queue.tail(), self._engine.order.snapshot(queue.handle), queue.end_ns)
        if event.interprocess:
            self._engine.publish(queue)

    def wait_on_queue(self, queue: Queue, event: Event) -> None:
        """Later commands of `queue` follow the latest record."""
        self._engine.clock.spend(self._engine.preset.record_ns)
        latest = event.latest
        if latest is None:
            return
        self._engine.order.learn(queue.handle, latest.clock)
        queue.waits += tuple(command for command in latest.after if not command.done)
        queue.end_ns = max(queue.end_ns, latest.time_ns)

    def is_done(self, event: Event) -> bool:
        """Whether the latest record lies behind the host's clock; if so, its work has run."""
        now = self._engine.clock.spend(self._engine.preset.call_ns)
        latest = event.latest
        if latest is None:
            return True
        if latest.time_ns > now:
            return False
        self._engine.wait(latest.after, latest.time_ns, latest.clock)
        return True

    def wait_on_host(self, event: Event) -> None:
        self._engine.clock.spend(self._engine.preset.call_ns)
        latest = event.latest
        if latest is not None:
            self._engine.wait(latest.after, latest.time_ns, latest.clock)

    def elapsed_ms(self, start: Event, end: Event) -> float:
        for name, event in (("start", start), ("end", end)):
            if not event.timing:
                raise AcceleratorError(
                    f"event_elapsed: the {name} event was made without timing",
                    hint="make it with timing=True",
                    error_code=INVALID_HANDLE,
                )
            if event.latest is None:
                raise AcceleratorError(f"event_elapsed: the {name} event was never recorded", error_code=INVALID_HANDLE)
        if start.device != end.device:
            raise AcceleratorError(
                f"event_elapsed: the start event is of device {start.device}, the end event of device {end.device}",
                error_code=INVALID_VALUE,
            )
        for name, event in (("start", start), ("end", end)):
            if not self.is_done(event):
                raise AcceleratorError(
                    f"event_elapsed: the {name} event is not complete",
                    hint="synchronize with it first",
                    error_code=NOT_READY,
                )
        assert start.latest is not None and end.latest is not None
        return (end.latest.time_ns - start.latest.time_ns) / 1e6
