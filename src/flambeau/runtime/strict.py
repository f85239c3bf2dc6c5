"""FLAMBEAU_STRICT=1: what a machine watches to find mistakes that are silent otherwise.

It hangs on `callers`'s hooks, beside what has subscribed already; machines that are not strict are left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import callers
from ..core import thread
from ..driver.api import CopyKind, EventHandle, StreamHandle
from ..hooks import subscribe, unsubscribe
from ..kernel import Access
from .device import device
from .early import EarlyUses
from .launches import Launches
from .stream import Event, Stream
from .threads import Parents

if TYPE_CHECKING:
    from .machine import Machine

_hooks: dict[str, Callable[..., None]] = {}


class Strict:
    """The watchers of one machine."""

    def __init__(self) -> None:
        self.host = EarlyUses()
        self.launches = Launches()
        self.parents = Parents()


def watch() -> Strict:
    """The watchers of a machine that starts, subscribed."""
    if callers.suspects is not _suspects:  # once in a process
        subscribe(**_hooks)
    callers.suspects = _suspects
    return Strict()


def unwatch() -> None:
    """Have nothing called any more, until a strict machine starts."""
    if callers.suspects is _suspects:
        unsubscribe(**_hooks)
        callers.suspects = None


def _suspects() -> list[str]:
    strict = thread.machine().strict if thread.has_machine() else None
    return strict.launches.suspects() if strict is not None else []


def _on(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def kept(hook: Callable[..., None]) -> Callable[..., None]:
        _hooks[name] = hook
        return hook

    return kept


@_on("on_launch")
def _launched(stream: Stream, handle: Any, _arguments: Any) -> None:
    if (strict := stream.machine.strict) is not None:
        strict.launches.launched(stream, handle)
        strict.parents.worked(stream)


@_on("on_copy")
def _copied(stream: Stream, _dst: int, _src: int, _nbytes: int, kind: CopyKind) -> None:
    if (strict := stream.machine.strict) is not None:
        strict.launches.put(stream, f"copy {kind.value}")
        strict.parents.worked(stream)


@_on("on_graph_launch")
def _replayed(stream: Stream, _graph: Any) -> None:
    if (strict := stream.machine.strict) is not None:
        strict.launches.put(stream, "a replay")
        strict.parents.worked(stream)


@_on("on_record")
def _recorded(event: EventHandle, stream: Stream) -> None:
    if (strict := stream.machine.strict) is not None:
        strict.host.recorded(event, stream)


@_on("on_wait")
def _waits(waiter: Stream | None, awaited: Any) -> None:
    if waiter is None:
        machine = _machine_of(awaited)
        if machine is not None and machine.strict is not None:
            machine.strict.launches.host_waits(_streams_of(machine, awaited))
        _host_knows(awaited)
    elif (strict := waiter.machine.strict) is not None:
        strict.host.stream_waits(waiter, awaited)


@_on("on_done")
def _host_knows(awaited: Stream | Event | device) -> None:
    machine = _machine_of(awaited)
    if machine is None or machine.strict is None:
        return
    if isinstance(awaited, Event):
        machine.strict.host.host_knows_event(awaited.handle)
    else:
        machine.strict.host.host_knows_streams(_streams_of(machine, awaited))


def _streams_of(machine: Machine, awaited: Stream | Event | device) -> list[StreamHandle]:
    """The streams of which all is awaited."""
    if isinstance(awaited, Stream):
        return [awaited.handle]
    if isinstance(awaited, Event):
        return []
    return [each.handle for each in machine.streams.values() if each.device_index == awaited.index]


def _machine_of(awaited: Stream | Event | device) -> Machine | None:
    if isinstance(awaited, Stream):
        return awaited.machine
    return awaited._machine if isinstance(awaited, Event) else thread.machine()


@_on("on_host_read")
@_on("on_host_write")
def _touched(access: Access) -> None:
    strict = thread.machine().strict if thread.has_machine() else None
    if strict is not None:
        strict.host.check(access)
