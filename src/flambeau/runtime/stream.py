"""Streams, events and the stream context manager.

- A side stream comes from a pool of 32 per device and priority, round robin, and lives as long as the machine.
- An event is created at its first record.  Until then it has no device, waits for it do nothing and `query` is True.
"""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any

from .. import callers
from ..core import thread
from ..core.locks import whole
from ..core.queue import Queue, hooks
from ..driver.api import Address, CaptureStatus, EventHandle, GraphExecHandle, StreamHandle
from ..errors import AcceleratorError, ArgumentError, ArgumentTypeError, DeviceMismatchError
from . import device as devices
from . import mistakes

if TYPE_CHECKING:
    from .machine import Machine

INVALID_HANDLE = 400  # CUresult
STREAMS_PER_POOL = 32


class Stream(Queue):
    """An in-order queue of one device's work.

    device: None or a negative number is the current device.  An object with `__cuda_stream__` is wrapped.
    priority: from 0 to -3, lower is more urgent; other numbers are clamped.
    name: the stream's name in errors, reports and traces.  The same name, device and priority give the same stream.
    Streams without a name are taken in turn from a pool of 32 for each device and priority.
    The attribute `handed_out` is how many times the pool returned this stream; above 1, several owners share it.
    The attribute `made_at` is the source line that requested this stream last; "" for streams that the library made.
    Raises: DeviceIndexError if there is no such device, ArgumentError if it is not a CUDA device; ArgumentTypeError if
            the priority is not an int or the name is not a str.
    Example:
        >>> side = torch.cuda.Stream()
        >>> x = torch.ones(2, device="cuda")
        >>> side.wait_stream(torch.cuda.current_stream())
        >>> with torch.cuda.stream(side):
        ...     y = x * 2
        >>> side.synchronize()
        >>> y
        tensor([2., 2.], device='cuda:0')
    """

    __slots__ = ("__weakref__", "_owner", "_restore", "handed_out", "made_at", "name", "priority")
    machine: Machine
    priority: int
    name: str
    handed_out: int
    made_at: str
    _owner: Any  # keeps the other library's stream object alive as long as this wrapper
    _restore: list[tuple[int, int, Stream]]  # thread, former device and stream of each `with` block inside

    def __new__(cls, device: Any = None, priority: int = 0, *, name: str = "") -> Stream:
        if is_foreign(device):
            return external_stream(device)
        if not devices.is_integer(priority):
            raise ArgumentTypeError(
                f"priority must be an int, got {priority!r}",
                hint="pass 0 for the usual priority, or down to -3 for the most urgent one",
                operator="Stream",
            )
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"name must be a str, got {name!r}", hint='for example name="copies"', operator="Stream"
            )
        index = devices.index_or_current(device)
        stream = thread.machine().devices[index].side_stream(priority, name)
        stream.set_origin(name, callers.call_site())
        return stream

    @classmethod
    def adopt(cls, machine: Machine, index: int, handle: StreamHandle, priority: int = 0) -> Stream:
        """Internal: return the Stream for a driver's stream handle; the same handle gives the same Stream."""
        stream = machine.streams.get(handle)
        if stream is None:
            stream = machine.streams[handle] = Queue.__new__(cls)
            stream.begin(machine, index, handle)
            stream.priority = priority
            stream._restore, stream.handed_out, stream._owner = [], 0, None
            stream.name = stream.made_at = ""
        return stream

    def set_origin(self, name: str, site: str) -> None:
        """Set the stream's name and `site`, the source line that created the stream; reports show both.

        Example:
            >>> side = torch.cuda.Stream()
            >>> side.set_origin("copies", "loader.py:3")
            >>> side.name, side.made_at
            ('copies', 'loader.py:3')
        """
        self.name, self.made_at = name, site
        self.machine.driver.stream_named(self.handle, name, site)

    @property
    def is_own(self) -> bool:
        """Whether it is a default stream or came from a stream pool.  Such streams live as long as the machine."""
        accelerators = self.machine.devices
        return self.handed_out > 0 or bool(accelerators and accelerators[self.device_index].default_stream is self)

    @property
    def label(self) -> str:
        """The text for errors, reports and traces: the stream's name, else its unique number."""
        if self.name:
            return f"stream {self.name!r}"
        accelerators = self.machine.devices
        is_default = accelerators and accelerators[self.device_index].default_stream is self
        return "the default stream" if is_default else f"stream {self.handle}"

    @property
    def plain(self) -> Stream:
        """The plain stream under a MirroredStream (parallel/mirror.py); any other stream itself."""
        return self

    @property
    def device(self) -> devices.device:
        """The device whose work it orders."""
        return devices.cuda(self.device_index)

    @property
    def cuda_stream(self) -> int:
        """The CUstream, as an int; 0 for a default stream."""
        self.driver.expose()
        return self.machine.driver.stream_raw(self.handle)

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return (version, CUstream), the protocol by which other libraries accept this stream."""
        return 0, self.cuda_stream

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        """The CUstream as ctypes passes it."""
        return ctypes.c_void_p(self.cuda_stream)

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """Return the range of priorities: (least urgent, most urgent).

        Example:
            >>> torch.cuda.Stream.priority_range()
            (0, -3)
        """
        return 0, -3

    # waiting, on the host

    def synchronize(self) -> None:
        """Wait until everything submitted so far is done.

        Host:   waits.
        Raises: AcceleratorError if the work failed, or during a capture.
        Example:
            >>> side = torch.cuda.Stream()
            >>> with torch.cuda.stream(side):
            ...     x = torch.ones(2, device="cuda")
            >>> side.synchronize()
            >>> side.query()
            True
        """
        super().synchronize()

    def query(self) -> bool:
        """Return whether all work submitted so far is done.

        Host:   returns at once.
        Raises: AcceleratorError if the work failed, or during a capture.
        Example:
            >>> side = torch.cuda.Stream()
            >>> with torch.cuda.stream(side):
            ...     x = torch.ones(2, device="cuda")
            >>> side.synchronize()
            >>> side.query()
            True
        """
        is_done = self.machine.driver.stream_query(self.handle)
        if is_done and hooks.on_done is not None:
            hooks.on_done(self)
        return is_done

    def is_capturing(self) -> bool:
        """Return whether work submitted to the stream is captured into a graph.

        Host: returns at once.
        Example:
            >>> with torch.cuda.graph(torch.cuda.CUDAGraph()):
            ...     x = torch.ones(2, device="cuda")
            ...     print(torch.cuda.current_stream().is_capturing())
            True
            >>> torch.cuda.current_stream().is_capturing()
            False
        """
        return self.machine.driver.capture_status(self.handle) is not CaptureStatus.NONE

    # order, on the device

    def wait_event(self, event: Event) -> None:
        """Make later work on this stream follow the event's latest record.

        An event that was never recorded has no effect.
        Host:   returns at once.
        Raises: ArgumentTypeError if `event` is not an Event.
        Example:
            >>> side, ready = torch.cuda.Stream(), torch.cuda.Event()
            >>> x = torch.ones(2, device="cuda")
            >>> ready.record()
            >>> side.wait_event(ready)
            >>> with torch.cuda.stream(side):
            ...     y = x * 2
            >>> side.synchronize()
            >>> y
            tensor([2., 2.], device='cuda:0')
        """
        if not isinstance(event, Event):
            raise ArgumentTypeError(
                f"expected an Event, got {event!r}", hint="use wait_stream for a stream", operator="wait_event"
            )
        if event.handle:
            self.wait(event.handle, event.external and self._takes_along(event))
        elif mistakes.collected is not None:
            mistakes.collected.waits_for_nothing(self.handle, repr(self), event)

    def wait_stream(self, stream: Stream) -> None:
        """Make later work on this stream follow all work submitted to `stream` so far.

        Host:   returns at once.
        Raises: ArgumentTypeError if `stream` is not a stream; AcceleratorError if its GPUs no longer exist.
        Example:
            >>> side, x = torch.cuda.Stream(), torch.ones(2, device="cuda")
            >>> side.wait_stream(torch.cuda.current_stream())
            >>> with torch.cuda.stream(side):
            ...     y = x * 2
            >>> torch.cuda.current_stream().wait_stream(side)
            >>> y + 1
            tensor([3., 3.], device='cuda:0')
        """
        stream = adopted(stream)
        if not isinstance(stream, Stream):
            raise ArgumentTypeError(
                f"expected a Stream, got {stream!r}",
                hint="pass a torch.cuda.Stream; ExternalStream wraps a raw one",
                operator="wait_stream",
            )
        if stream.handle == self.handle:
            return
        stream = stream.plain
        check_alive(stream, self.machine, "wait_stream")
        self.follow(stream)

    def record_event(self, event: Event | None = None) -> Event:
        """Record `event`, or a new one, on this stream and return it.

        Host:   returns at once.
        Raises: ArgumentTypeError if `event` is not an Event; DeviceMismatchError if it belongs to another device.
        Example:
            >>> x = torch.ones(2, device="cuda")
            >>> done = torch.cuda.current_stream().record_event()
            >>> done.synchronize()
            >>> done.query()
            True
        """
        if event is None:
            check_alive(self, thread.machine(), "Event.record")
            event = Event()
            event._create(self)
            self.record(event.handle)
            return event
        if not isinstance(event, Event):
            raise ArgumentTypeError(
                f"expected an Event or None, got {event!r}",
                hint="leave it out to get a new one",
                operator="record_event",
            )
        event.record(self)
        return event

    def _takes_along(self, event: Event) -> bool:
        """Return whether this stream is capturing; if so, the graph keeps the external event alive."""
        capture = self.machine.capture
        if capture is None or not self.is_capturing():
            return False
        capture.keep_event(event)
        return True

    # rare calls, as those of Queue

    def fill(self, dst: int, value: int, nbytes: int) -> None:
        """Internal: queue a fill of `nbytes` bytes at the address `dst` with the byte `value`."""
        if hooks.on_submit is not None:
            hooks.on_submit(self)
        self.driver.fill(Address(dst), value, nbytes, self.handle)
        if hooks.on_fill is not None:
            hooks.on_fill(self, dst, nbytes)
        if self.machine.launch_blocking:
            self.synchronize()

    def exchange(self, exchange: Any, inputs: Any, outputs: Any) -> None:
        """Internal: queue a collective of several processes (`driver.api.Exchange`)."""
        if hooks.on_submit is not None:
            hooks.on_submit(self)
        self.driver.exchange(exchange, inputs, outputs, self.handle)
        if hooks.on_exchange is not None:
            hooks.on_exchange(self, exchange)
        if self.machine.launch_blocking:
            self.synchronize()

    def graph_launch(self, graph: GraphExecHandle) -> None:
        """Internal: queue a launch of an instantiated CUDA graph."""
        if hooks.on_submit is not None:
            hooks.on_submit(self)
        self.driver.graph_launch(graph, self.handle)
        if hooks.on_graph_launch is not None:
            hooks.on_graph_launch(self, graph)
        if self.machine.launch_blocking:
            self.synchronize()

    # as a context manager: this stream and its device are current inside

    def __enter__(self) -> Stream:
        check_alive(self, thread.machine(), "stream")
        now = thread.here()
        self._restore.append((now.ident, now.device, thread.current_stream(self.device_index)))
        enter(self)
        return self

    @whole
    def __exit__(self, *error: object) -> None:
        entry = devices.own_entry(self._restore, thread.here().ident)
        if entry is None:
            raise AcceleratorError(
                f"{self!r} was not entered by this thread",
                hint="use it in a `with` statement",
                error_code=INVALID_HANDLE,
                operator="Stream.__exit__",
            )
        restore(*entry[1:])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.machine is self.machine and other.handle == self.handle

    def __hash__(self) -> int:
        return hash((id(self.machine), self.handle))

    def __repr__(self) -> str:
        shared = f" handed_out={self.handed_out}" if self.handed_out > 1 else ""
        origin = f": {self.label}, made at {self.made_at}" if self.made_at else ""
        return f"<torch.cuda.Stream device=cuda:{self.device_index} cuda_stream={self.cuda_stream:#x}{shared}{origin}>"


class Event:
    """A marker in a stream's work, for which other streams and the host can wait, and which can measure time.

    enable_timing: the event can be used with `elapsed_time`.  blocking: `synchronize` sleeps instead of spinning.
    interprocess: the event can be sent to another process; enable_timing must be False.
    external: a record or wait during a capture is performed by each replay, and orders the replay's work with streams
    outside the graph; within the graph it orders nothing.
    Raises: ArgumentError if both enable_timing and interprocess are True.
    Example:
        >>> start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        >>> start.record()
        >>> x = torch.ones(1000, device="cuda") * 2
        >>> end.record()
        >>> end.synchronize()
        >>> start.elapsed_time(end) > 0
        True
    """

    __slots__ = (
        "__weakref__", "_machine", "blocking", "device_index", "enable_timing", "external", "handle", "interprocess",
    )  # fmt: skip

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
    ) -> None:
        self._machine: Machine | None = None
        if interprocess and enable_timing:
            raise ArgumentError(
                "an event with interprocess=True cannot have enable_timing=True",
                hint="pass enable_timing=False",
                operator="Event",
            )
        self.enable_timing = enable_timing
        self.blocking = blocking
        self.interprocess = interprocess
        self.external = external
        self.handle = EventHandle(0)
        self.device_index = devices.CPU_INDEX

    @property
    def device(self) -> devices.device | None:
        """The device of the stream that first recorded it, None before."""
        return devices.cuda(self.device_index) if self.handle else None

    @property
    def cuda_event(self) -> int:
        """The CUevent, as an int; 0 before the first record."""
        if self._machine is None:
            return 0
        self._machine.driver.expose()
        return self._machine.driver.event_raw(self.handle)

    def record(self, stream: Stream | None = None) -> None:
        """Record the event on `stream` (None: the current one).  Later waits for the event refer to this record.

        Host:   returns at once.
        Raises: ArgumentTypeError if `stream` is not a Stream; DeviceMismatchError if the event was recorded on another
                device before.
        Example:
            >>> event = torch.cuda.Event()
            >>> event.record()
            >>> event.device
            device(type='cuda', index=0)
        """
        stream = _stream_or_current(stream, "Event.record")
        if not self.handle:
            self._create(stream)
        elif self.device_index != stream.device_index:
            raise DeviceMismatchError(
                f"the event belongs to cuda:{self.device_index}, the stream to cuda:{stream.device_index}",
                hint="use one event per device",
                operator="Event.record",
            )
        stream.record(self.handle, self.external and stream._takes_along(self))

    @whole
    def _create(self, stream: Stream) -> None:
        self.handle = stream.machine.driver.event_create(
            stream.device_index, self.enable_timing, self.blocking, self.interprocess
        )
        self._machine, self.device_index = stream.machine, stream.device_index

    def ipc_handle(self) -> bytes:
        """Return a handle, as bytes, by which other processes open this event with `from_ipc_handle`.

        Keep the event alive until they have opened it.  If it was never recorded, it now belongs to the current device.
        Host:   returns at once.
        Raises: ArgumentError if the event was made without interprocess=True.
        Example:
            >>> type(torch.cuda.Event(interprocess=True).ipc_handle())
            <class 'bytes'>
        """
        if not self.interprocess:
            raise ArgumentError(
                "the event cannot be shared with other processes",
                hint="make it with interprocess=True",
                operator="Event.ipc_handle",
            )
        if not self.handle:
            self._create(thread.current_stream(devices.cuda_index()))
        assert self._machine is not None
        return self._machine.driver.event_ipc_export(self.handle)

    @classmethod
    def from_ipc_handle(cls, device: Any, handle: bytes) -> Event:
        """Open another process's event; both processes may record it and wait for it.

        device: the device to open it on.  handle: the result of `ipc_handle` in the other process.
        Raises: ArgumentError for a malformed handle, ArgumentTypeError if the handle is not bytes; ProcessGoneError if
                the other process has ended.
        """
        if not isinstance(handle, bytes):
            raise ArgumentTypeError(
                f"the handle must be bytes, got {handle!r}",
                hint="pass the result of ipc_handle()",
                operator="from_ipc_handle",
            )
        event = cls(interprocess=True)
        index = devices.cuda_index(device)
        machine = thread.machine()
        event.handle = machine.driver.event_ipc_open(index, handle)
        event._machine, event.device_index = machine, index
        return event

    def wait(self, stream: Stream | None = None) -> None:
        """Make later work on `stream` (None: the current one) follow this event's latest record.

        Host:   returns at once.
        Raises: ArgumentTypeError if `stream` is not a Stream.
        Example:
            >>> side, ready = torch.cuda.Stream(), torch.cuda.Event()
            >>> x = torch.ones(2, device="cuda")
            >>> ready.record()
            >>> ready.wait(side)
            >>> with torch.cuda.stream(side):
            ...     y = x + 1
            >>> side.synchronize()
            >>> y
            tensor([2., 2.], device='cuda:0')
        """
        _stream_or_current(stream, "Event.wait").wait_event(self)

    def query(self) -> bool:
        """Return whether the work before the latest record is done; True if the event was never recorded.

        Host:   returns at once.
        Raises: AcceleratorError if the work failed, or during a capture.
        Example:
            >>> event = torch.cuda.Event()
            >>> x = torch.ones(2, device="cuda")
            >>> event.record()
            >>> event.synchronize()
            >>> event.query()
            True
        """
        is_done = self._machine is None or self._machine.driver.event_query(self.handle)
        if is_done and hooks.on_done is not None:
            hooks.on_done(self)
        return is_done

    def synchronize(self) -> None:
        """Wait until the work before the latest record is done; return at once if the event was never recorded.

        Host:   waits.
        Raises: AcceleratorError if the work failed, or during a capture.
        Example:
            >>> x, event = torch.ones(2, device="cuda"), torch.cuda.Event()
            >>> event.record()
            >>> event.synchronize()
            >>> event.query()
            True
        """
        if self._machine is not None:
            if hooks.on_wait is not None:
                hooks.on_wait(None, self)
            self._machine.driver.event_synchronize(self.handle)
        elif mistakes.collected is not None:
            mistakes.collected.waits_for_nothing(0, "the host", self)

    def elapsed_time(self, end_event: Event) -> float:
        """Return the time from this event to `end_event`, in milliseconds; the work before both must be done.

        Host:   returns at once.
        Raises: ArgumentTypeError if `end_event` is not an Event; ArgumentError if either has no timing or was never
                recorded; DeviceMismatchError if they belong to different devices; AcceleratorError if either is not
                done.
        Example:
            >>> start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            >>> start.record()
            >>> x = torch.ones(1000, device="cuda") * 2
            >>> end.record()
            >>> end.synchronize()
            >>> 0 < start.elapsed_time(end) < 1000
            True
        """
        if not isinstance(end_event, Event):
            raise ArgumentTypeError(
                f"expected an Event, got {end_event!r}",
                hint="pass an Event with enable_timing=True",
                operator="elapsed_time",
            )
        for name, event in (("start", self), ("end", end_event)):
            if not event.enable_timing:
                raise ArgumentError(
                    f"the {name} event has no timing", hint="make it with enable_timing=True", operator="elapsed_time"
                )
            if event._machine is None:
                raise ArgumentError(
                    f"the {name} event was never recorded",
                    hint="call record() on that event first",
                    operator="elapsed_time",
                )
        if self.device_index != end_event.device_index:
            raise DeviceMismatchError(
                f"the events belong to cuda:{self.device_index} and cuda:{end_event.device_index}",
                hint="record both on one device",
                operator="elapsed_time",
            )
        assert self._machine is not None
        return self._machine.driver.event_elapsed(self.handle, end_event.handle)

    def __del__(self) -> None:
        machine = getattr(self, "_machine", None)  # the attribute is missing if __init__ raised
        if machine is None or machine.process != os.getpid():
            return
        try:
            machine.driver.event_destroy(self.handle)
        except AcceleratorError as failure:
            if not failure.sticky:  # a lost device has already dropped its events
                raise

    def __repr__(self) -> str:
        return f"<torch.cuda.Event {f'device=cuda:{self.device_index}' if self.handle else 'uninitialized'}>"


def check_alive(stream: Stream, machine: Machine, name: str) -> None:
    """Raise AcceleratorError if a stream belongs to another machine, such as one from before `testing.machine`."""
    if stream.machine is not machine:
        fact = f"the stream with handle {stream.handle} belongs to a machine that no longer exists"
        raise AcceleratorError(fact, operator=name, hint="make a new one with cuda.Stream()", error_code=INVALID_HANDLE)


def is_foreign(value: Any) -> bool:
    """Return whether a value is another library's stream: an object with `__cuda_stream__`."""
    return not isinstance(value, Stream) and hasattr(value, "__cuda_stream__")


def adopted(stream: Any) -> Any:
    """Wrap a stream of another library; return anything else unchanged."""
    return external_stream(stream) if is_foreign(stream) else stream


def _stream_or_current(stream: Any, name: str) -> Stream:
    """Return a checked stream; None is the current one."""
    if stream is None:
        return thread.current_stream(devices.cuda_index())
    stream = adopted(stream)
    if not isinstance(stream, Stream):
        raise ArgumentTypeError(
            f"expected a Stream or None, got {stream!r}",
            hint="pass a torch.cuda.Stream; ExternalStream wraps a raw one",
            operator=name,
        )
    check_alive(stream, thread.machine(), name)
    return stream


def enter(stream: Stream) -> None:
    """Make a stream and its device current.

    The last statements are plain assignments, in which no signal handler can raise.  Otherwise `__enter__` could take
    effect without `__exit__` running.
    """
    devices.unmirror("the program chose a stream")
    now, device = thread.here(), stream.device_index
    streams = list(now.streams)
    streams.extend([None] * (device + 1 - len(streams)))
    streams[device] = stream
    now.streams, now.device, now.chosen = streams, device, True


def restore(device: int, *streams: Stream) -> None:
    """Make streams and a device current again at the end of a block.

    Does nothing if their machine is gone, for example after `torch.virtual.reset()` inside the block: the thread is on
    the default streams of the new machine then.
    """
    if streams[0].machine is thread.machine():
        for stream in streams:
            thread.set_stream(stream)
        thread.set_device(device)


class StreamGuard:
    """`with cuda.stream(s):` makes s and its device current, and restores both on exit.  None changes nothing.

    Raises: ArgumentTypeError if `s` is neither a stream nor None; on entry, AcceleratorError if the device of `s` no
            longer exists, as after `torch.virtual.reset()`.
    Example:
        >>> side = torch.cuda.Stream()
        >>> with torch.cuda.stream(side):
        ...     print(torch.cuda.current_stream() == side)
        True
    """

    __slots__ = ("_entered", "stream")

    def __init__(self, stream: Any) -> None:
        stream = adopted(stream)
        if stream is not None and not isinstance(stream, Stream):
            raise ArgumentTypeError(
                f"expected a Stream or None, got {stream!r}", hint="make one with cuda.Stream()", operator="stream"
            )
        self.stream = stream
        # of each block inside: thread, former device, and the former streams of the stream's device and of that one
        self._entered: list[tuple[int, int, Stream, Stream]] = []

    def __enter__(self) -> Stream | None:
        stream = self.stream
        if stream is not None:
            check_alive(stream, thread.machine(), "stream")
            now = thread.here()
            own, former = thread.current_stream(stream.device_index), thread.current_stream(now.device)
            self._entered.append((now.ident, now.device, own, former))
            enter(stream)
        return stream

    @whole
    def __exit__(self, *error: object) -> None:
        entry = devices.own_entry(self._entered, thread.here().ident)
        if entry is not None:
            restore(*entry[1:])


def external_stream(stream_ptr: Any, device: Any = None) -> Stream:
    """Wrap a stream of another library: a CUstream as an int, or an object with `__cuda_stream__`.

    device: the device of the stream; None for the current one.
    An object is kept alive as long as it is needed; a stream passed as an int must outlive its use here.
    Raises: ArgumentTypeError for anything else; DeviceIndexError if there is no such device; on virtual GPUs,
            AcceleratorError if there is no such stream.
    Example:
        >>> side = torch.cuda.Stream()
        >>> torch.cuda.ExternalStream(side.cuda_stream).cuda_stream == side.cuda_stream
        True
    """
    is_owner = hasattr(stream_ptr, "__cuda_stream__")
    raw = stream_ptr.__cuda_stream__()[1] if is_owner else stream_ptr
    if isinstance(raw, bool) or not isinstance(raw, int):
        raise ArgumentTypeError(
            f"expected a CUstream as an int, or an object with __cuda_stream__, got {raw!r}",
            hint="pass its address, for example stream.ptr or stream.cuda_stream",
            operator="ExternalStream",
        )
    index = devices.cuda_index(device)
    machine = thread.machine()
    machine.driver.expose()
    stream = Stream.adopt(machine, index, machine.driver.stream_adopt(index, raw))
    if is_owner and stream_ptr is not stream:
        stream._owner = stream_ptr
    return stream


def stream_from_external(data_ptr: Any, device: Any = None) -> Stream:
    """Wrap a stream of another library: another name of `ExternalStream`.

    Raises: the errors of `ExternalStream`.
    Example:
        >>> side = torch.cuda.Stream()
        >>> torch.cuda.get_stream_from_external(side.cuda_stream).cuda_stream == side.cuda_stream
        True
    """
    return external_stream(data_ptr, device)
