# cython: binding=False, embedsignature=True, embedsignature.format=clinic
"""Queue submits the frequent work of a stream to the driver by HotCalls, and calls the hooks of tools (hooks.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..driver.api import Address, CopyKind, Driver, EventHandle, KernelHandle, PlanHandle, StreamHandle
from ..kernel import Buffer, Grid
from ..library_operation import unpack_addresses
from .native import enter_critical, identity, leave_critical, origin_above


class Mirror:
    """Queues of several devices: the work of plans on the first is repeated on the others (parallel/mirror.py).

    group: the same object for all mirrors of the same queues.  drawn: for a call that draws random numbers, the
    draws per further device.  made: a list that gets a weak reference to every new tensor, or None.
    lockstep: the Device of parallel/lockstep.py, None if each device allocates on its own.
    The subclass defines `end`, `load`, `draw`, `arrive` and `twins_of`.
    """

    __slots__ = ("drawn", "group", "lockstep", "made", "queues")


class Queue:
    """The part of a Stream that calls the driver.  mirror: the Mirror on which plans repeat its work, or None."""

    __slots__ = ("alone", "device_index", "driver", "handle", "hot", "machine", "mark", "mirror")
    mirror: Any  # a Mirror or None
    alone: dict[int, Any]  # {device index: this Stream}
    machine: Any
    driver: Driver
    hot: HotCalls
    device_index: int
    handle: StreamHandle
    mark: EventHandle | None

    def begin(self, machine: Any, device_index: int, handle: StreamHandle) -> None:
        """Internal: initialize the fields for a driver's stream; the subclass Stream defines `__init__`."""
        self.machine = machine
        self.driver = machine.driver
        self.hot = machine.driver.hot
        self.device_index = device_index
        self.handle = handle
        self.alone = {device_index: self}  # for nodes of calls that use this stream only
        self.mirror = None
        self.mark = None  # the event that others wait for to follow this stream; a wait is for its latest record

    def record(self, event: EventHandle, external: bool = False) -> None:
        """Internal: record an event.  external: in a capture, record it at each launch of the graph."""
        self.hot.event_record(event, self.handle, external)
        if _hooks.on_record is not None:
            _hooks.on_record(event, self)

    def wait(self, event: EventHandle, external: bool = False) -> None:
        """Internal: make later work wait for an event.  external: in a capture, wait at each launch of the graph."""
        self.hot.stream_wait_event(self.handle, event, external)
        if _hooks.on_wait is not None:
            _hooks.on_wait(self, event)

    def _marked(self) -> EventHandle:
        """Record the event by which others follow this stream; return it."""
        if self.mark is None:
            enter_critical()
            try:
                self.mark = self.driver.event_create(self.device_index, False, False, False)
            finally:
                leave_critical()
        self.record(self.mark)
        return self.mark

    def follow(self, other: Queue) -> None:
        """Internal: make later work wait for everything submitted to `other` so far."""
        self.wait(other._marked())

    def synchronize(self) -> None:
        if _hooks.on_wait is not None:
            _hooks.on_wait(None, self)
        self.driver.stream_synchronize(self.handle)

    def launch(self, kernel: KernelHandle, grid: Grid, arguments: Buffer) -> None:
        """Internal: queue a kernel with packed arguments."""
        if _hooks.on_submit is not None:
            _hooks.on_submit(self)
        self.hot.launch(kernel, grid, arguments, self.handle)
        if _hooks.on_launch is not None:
            _hooks.on_launch(self, kernel, arguments)
        if self.machine.launch_blocking:
            self.synchronize()

    def library_run(self, plan: PlanHandle, packed: bytearray, workspace: int) -> None:
        """Internal: queue a library call.  packed: the operands' addresses (`library_operation.unpack_addresses`)."""
        if _hooks.on_submit is not None:
            _hooks.on_submit(self)
        if self.machine.capture is None:
            self.hot.library_run(plan, packed, workspace, self.handle)
        else:
            with self.machine.loading():  # a library may load code and data for the call
                self.hot.library_run(plan, packed, workspace, self.handle)
        if _hooks.on_launch is not None:
            _hooks.on_launch(self, plan, unpack_addresses(packed))
        if self.machine.launch_blocking:
            self.synchronize()

    def copy(self, dst: int, src: int, nbytes: int, kind: CopyKind) -> None:
        """Internal: queue a copy of contiguous bytes."""
        if _hooks.on_submit is not None:
            _hooks.on_submit(self)
        self.hot.copy(dst, src, nbytes, kind, self.handle)
        if _hooks.on_copy is not None:
            _hooks.on_copy(self, dst, src, nbytes, kind)
        if self.machine.launch_blocking:
            self.synchronize()


class HotCalls:
    """The driver's frequent methods; operands' addresses come packed (`library_operation.unpack_addresses`).

    A driver with compiled methods derives from this class.
    """

    __slots__ = ("_driver",)

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def launch(self, kernel: KernelHandle, grid: Grid, arguments: Buffer, stream: StreamHandle) -> None:
        self._driver.launch(kernel, grid, arguments, stream)

    def event_record(self, event: EventHandle, stream: StreamHandle, external: bool = False) -> None:
        self._driver.event_record(event, stream, external)

    def stream_wait_event(self, stream: StreamHandle, event: EventHandle, external: bool = False) -> None:
        self._driver.stream_wait_event(stream, event, external)

    def copy(self, dst: int, src: int, nbytes: int, kind: CopyKind, stream: StreamHandle) -> None:
        self._driver.copy(Address(dst), Address(src), nbytes, kind, stream)

    def library_run(self, plan: PlanHandle, packed: bytearray, workspace: int, stream: StreamHandle) -> None:
        self._driver.library_run(plan, unpack_addresses(packed), Address(workspace), stream)

    def block_taken(self, device: int, address: Address, nbytes: int, stream: StreamHandle) -> None:
        self._driver.block_taken(device, address, nbytes, stream)

    def block_given(self, device: int, address: Address, nbytes: int) -> None:
        self._driver.block_given(device, address, nbytes)


class CallCount:
    """How many calls a stream has made, or all have.  is_waiting: whether it has waited for others since the last."""

    count: int
    is_waiting: bool


class CallList:
    """Calls of a stream that the model of a race check makes later: see driver/virtual/deferred.py.

    state: the stream's clock;  limit: the length of a full list.
    """

    launches: list[Any]
    blocks: list[Any]
    inside: dict[int, None]
    is_open: bool
    limit: int
    state: CallCount
    witness: Any


def _origin(now: Any) -> Any:
    """Return the origin of the current call.  now: the state of the thread."""
    if now.operator is None:
        return origin_above(now.task, None)
    if now.origin is None:
        now.origin = origin_above(now.task, now.operator)
    return now.origin


class FollowedCalls(HotCalls):
    """The frequent calls of a driver that a model follows (driver/virtual/followed.py).

    Each is made on the real driver.  It is listed if all memory that it uses is known to be private; other calls, and
    the first launch of a kernel by a source line, are passed to the model.  Lists need no lock: no function is called
    while one is changed, so no other thread can run.
    """

    def __init__(self, driver: Any, real: HotCalls, watches_blocks: bool, here: Any) -> None:
        super().__init__(driver)
        self._model, self._real, self._watches, self._here = driver, real, watches_blocks, here
        self._lines, self._loaded, self._alone = driver.lines, driver.loaded, driver.alone
        self._open, self._latest, self._order = driver.deferred, None, driver.order

    def launch(self, kernel: KernelHandle, grid: Grid, arguments: Buffer, stream: StreamHandle) -> None:
        enter_critical()
        try:
            loaded, alone = self._loaded[kernel], self._alone[stream]
            self._real.launch(loaded.real, grid, arguments, alone.real)
            self._list(alone, loaded, bytes(arguments))
        finally:
            leave_critical()

    def library_run(self, plan: PlanHandle, packed: bytearray, workspace: int, stream: StreamHandle) -> None:
        enter_critical()
        try:
            loaded, alone = self._loaded[plan], self._alone[stream]
            self._real.library_run(loaded.real, packed, workspace, alone.real)
            self._list(alone, loaded, unpack_addresses(packed))
        finally:
            leave_critical()

    def _list(self, alone: Any, loaded: Any, arguments: Any) -> None:
        calls: CallList = alone.deferred
        origin = _origin(self._here())
        line = self._lines.get(identity(origin[0]) + origin[1])
        is_known = line is not None and loaded in line.launched and len(calls.launches) < calls.limit
        addresses = loaded.addresses(arguments) if is_known else ()
        inside = calls.inside
        for address in addresses:
            is_known = is_known and address in inside
        if not is_known or not calls.is_open or calls.inside is not inside:
            self._model.follow_launch(alone, loaded, arguments, origin)
            return
        if line.origin != origin:
            line.origin = origin
        state, order = calls.state, self._order
        state.is_waiting = False
        state.count += 1
        order.count += 1
        calls.launches += (loaded, arguments, line.origin, state.count, order.count, calls.witness.place)

    def block_taken(self, device: int, address: Address, nbytes: int, stream: StreamHandle) -> None:
        alone, origin = self._alone[stream], _origin(self._here())
        if self._watches:
            self._real.block_taken(device, address, nbytes, alone.real)
        calls: CallList = alone.deferred
        if not calls.is_open or address not in calls.inside or len(calls.blocks) >= calls.limit:
            self._model.follow_taken(device, address, nbytes, stream)
            return
        state, order = calls.state, self._order
        state.is_waiting = False
        state.count += 1
        order.count += 1
        calls.blocks += (address, address + nbytes, origin, state.count, order.count, calls.witness.place)

    def block_given(self, device: int, address: Address, nbytes: int) -> None:
        if self._watches:
            self._real.block_given(device, address, nbytes)
        calls = self._latest
        if calls is None or not calls.is_open or address not in calls.inside:
            found = [each for each in tuple(self._open) if each.is_open and address in each.inside]
            if not found:
                self._model.follow_given(device, address, nbytes)
                return
            calls = self._latest = found[0]
        calls.blocks += (address, address + nbytes, device, calls.state.count, self._order.count, 0)


Hook = Callable[..., Any]


class Hooks:
    """The hook points.  Each is None, the only subscriber's function, or a function that calls all subscribers.

    hooks.py documents and sets them.
    """

    on_submit: Hook | None
    on_launch: Hook | None
    on_copy: Hook | None
    on_fill: Hook | None
    on_graph_launch: Hook | None
    on_exchange: Hook | None
    on_span: Hook | None
    on_range: Hook | None
    on_block_taken: Hook | None
    on_block_freed: Hook | None
    on_block_given: Hook | None
    on_workspace: Hook | None
    on_memory: Hook | None
    on_record: Hook | None
    on_wait: Hook | None
    on_blocked: Hook | None
    on_route: Hook | None
    on_convert: Hook | None
    on_done: Hook | None
    on_host_call: Hook | None
    on_host_read: Hook | None
    on_host_write: Hook | None


hooks = Hooks()
_hooks = hooks  # typed where compiled
