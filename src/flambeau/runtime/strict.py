"""FLAMBEAU_STRICT=1: checks that turn silent mistakes into errors.

- The checks subscribe to `hooks` once per process and ignore machines that are not strict.
- Use before completion: host memory that a pending copy writes may not be read or written; memory that it reads may not
  be written.  A copy is complete when the host has waited for it, or queried it as done, through an event or stream
  ordered after it.  A copy that merely happens to be done does not count, so every run gives the same result.
- Only copies of pinned memory advance a stream's clock.  The clocks of events are dropped when no copy is pending.
- Recent launches: a driver that reports an asynchronous failure cannot name the launch, so those that the host has not
  waited for are listed as suspects.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import callers
from ..byte_ranges import ByteRange, byte_range
from ..core import thread
from ..core.hooks import subscribe, unsubscribe
from ..core.native import Lock
from ..core.storage import Storage
from ..driver.api import CopyKind, EventHandle, StreamHandle
from ..errors import EarlyAccessError
from ..kernel import Access
from ..vector_clock import Clock, VectorClocks
from .device import device
from .pending_copies import HostUse
from .stream import Event, Stream
from .threads import Parents

if TYPE_CHECKING:
    from .machine import Machine

_hooks: dict[str, Callable[..., None]] = {}


class Strict:
    """The strict checks of one machine."""

    def __init__(self) -> None:
        self.host = UsesBeforeCompletion()
        self.launches = RecentLaunches()
        self.parents = Parents()


def watch() -> Strict:
    """Create the checks of a machine that starts, and subscribe them."""
    if callers.suspects is not _suspects:  # subscribe once per process
        subscribe(**_hooks)
    callers.suspects = _suspects
    return Strict()


def unwatch() -> None:
    """Unsubscribe until a strict machine starts."""
    if callers.suspects is _suspects:
        unsubscribe(**_hooks)
        callers.suspects = None


def _suspects() -> list[str]:
    """Return the launches that may have caused an asynchronous failure, for error messages."""
    strict = thread.machine().strict if thread.has_machine() else None
    return strict.launches.suspects() if strict is not None else []


def _on(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that registers a function for the hook `name`."""

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
    """Return the streams that this wait fully synchronizes."""
    if isinstance(awaited, Stream):
        return [awaited.handle]
    if isinstance(awaited, Event):
        return []
    return [stream.handle for stream in machine.streams.values() if stream.device_index == awaited.index]


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


WRITTEN_HINT = (
    "call wait() on the tensor that the copy returned or wrote, or synchronize with an event or a stream that comes "
    "after the copy"
)
READ_HINT = "synchronize with an event or a stream that comes after the copy before its source is written again"


class PendingUse(NamedTuple):
    """Bytes [low, high) that operation `number` of a stream reads or writes.  site: the source line of the copy."""

    memory: weakref.ref[Storage]
    low: int
    high: int
    is_written: bool
    stream: Stream
    number: int
    site: str


class UsesBeforeCompletion:
    """Asynchronous copies of pinned memory that the host has not waited for."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._clocks = VectorClocks()
        self._points: dict[EventHandle, Clock] = {}
        self._expected: list[PendingUse] = []

    def expect(self, use: HostUse, stream: Stream) -> None:
        """Register a submitted copy.  Call this before the event after the copy is recorded."""
        with self._lock:
            number = self._clocks.advance(stream.handle).number
            memory, high = weakref.ref(use.memory), use.low + use.nbytes
            pending = PendingUse(memory, use.low, high, use.is_written, stream, number, callers.call_site())
            self._expected.append(pending)

    def recorded(self, event: EventHandle, stream: Stream) -> None:
        """Note that an event was recorded on a stream."""
        if self._expected:
            with self._lock:
                self._points[event] = self._clocks.snapshot(stream.handle)

    def stream_waits(self, stream: Stream, event: EventHandle) -> None:
        """Note that a stream waits for an event."""
        if self._expected:
            with self._lock:
                if (point := self._points.get(event)) is not None:
                    self._clocks.learn(stream.handle, point)

    def host_knows_event(self, event: EventHandle) -> None:
        """Note that the host synchronized with an event, or queried it as done."""
        if self._expected:
            with self._lock:
                if (point := self._points.get(event)) is not None:
                    self._host_learns(point)

    def host_knows_streams(self, streams: list[StreamHandle]) -> None:
        """Note that the host synchronized with streams, or queried them as done."""
        if self._expected:
            with self._lock:
                for stream in streams:
                    self._host_learns(self._clocks.snapshot(stream))

    def _host_learns(self, clock: Clock) -> None:
        self._clocks.host_learn(clock)
        self._expected = [
            use
            for use in self._expected
            if use.memory() is not None and not self._clocks.host_knows(use.stream.handle, use.number)
        ]
        if not self._expected:
            self._points.clear()

    def check(self, access: Access) -> None:
        """Raise EarlyAccessError if a host access conflicts with a pending copy."""
        for use in list(self._expected):
            has_to_wait = use.is_written or access.mode != "r"
            if has_to_wait and use.memory() is not None and _overlaps(access, use):
                raise _use_error(access, use)


def _overlaps(access: Access, expected: PendingUse) -> bool:
    if access.address >= expected.high or expected.low >= access.address + access.nbytes:
        return False
    return access.strides is None or byte_range(access).overlaps(
        ByteRange.dense(expected.low, expected.high - expected.low)
    )


def _use_error(access: Access, expected: PendingUse) -> EarlyAccessError:
    verb = "reads" if access.mode == "r" else "writes"
    use = "writes" if expected.is_written else "reads"
    return EarlyAccessError(
        f"{verb} host memory that a non_blocking copy {use}, and has not waited for the copy, which "
        f"was made at {expected.site} on {expected.stream!r}",
        hint=WRITTEN_HINT if expected.is_written else READ_HINT,
        operator=callers.caller(),
    )


MAX_SUSPECTS = 16  # launches of one stream that are remembered


class LaunchRecord(NamedTuple):
    """A launch, copy or replay, with the source line that submitted it."""

    number: int
    what: str
    site: str
    stream: Stream


class RecentLaunches:
    """Recent launches of one machine that the host has not waited for."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._of: dict[StreamHandle, deque[LaunchRecord]] = {}
        self._waited: set[StreamHandle] = set()
        self._names: dict[int, str] = {}
        self._count = 0

    def launched(self, stream: Stream, handle: Any) -> None:
        """Remember the source line that launched a kernel or a library operation on a stream."""
        site, called = callers.call()
        self._keep(stream, callers.operator_of(self.name_of(stream, handle), called), site)

    def put(self, stream: Stream, what: str) -> None:
        """Remember the source line that submitted other work to a stream."""
        self._keep(stream, what, callers.call_site())

    def _keep(self, stream: Stream, what: str, site: str) -> None:
        with self._lock:
            kept = self._of.setdefault(stream.handle, deque(maxlen=MAX_SUSPECTS))
            if stream.handle in self._waited:  # the wait succeeded, so the earlier launches did
                self._waited.remove(stream.handle)
                kept.clear()
            self._count += 1
            kept.append(LaunchRecord(self._count, what, site, stream))

    def host_waits(self, streams: list[StreamHandle]) -> None:
        """Note that the host is about to wait for all work of some streams."""
        with self._lock:
            self._waited.update(streams)

    def name_of(self, stream: Stream, handle: Any) -> str:
        """Return the entry name of a kernel, or the kind of a library operation."""
        name = self._names.get(handle)
        if name is None:
            device = stream.machine.devices[stream.device_index]
            self._names |= {known: kernel.entry for kernel, known in device.kernels.items()}
            self._names |= {plan: problem.kind for problem, (plan, _) in device._library_plans.items()}
            name = self._names.setdefault(handle, "a launch")
        return name

    def suspects(self) -> list[str]:
        """Return launches that may have failed, the latest first: `operator at file:line on stream`."""
        with self._lock:
            launches = sorted((launch for kept in self._of.values() for launch in kept), reverse=True)
        return [f"{launch.what} at {launch.site} on {launch.stream!r}" for launch in launches[:MAX_SUSPECTS]]
