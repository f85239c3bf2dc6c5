"""Queue: submits all work of a stream to the driver, and calls the hooks.

The hooks of `callers` are called after what they tell of.  Addresses are plain numbers here: to make each an Address is
a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..driver.api import (
    CopyKind,
    Driver,
    EventHandle,
    GraphExecHandle,
    KernelHandle,
    PlanHandle,
    StreamHandle,
)
from ..driver.hot_calls import HotCalls
from ..hooks import hooks
from ..kernel import Buffer, Grid
from ..library_operation import unpack_addresses

if TYPE_CHECKING:
    from .machine import Machine


class Queue:
    """The driver's half of a Stream."""

    __slots__ = ("alone", "device_index", "driver", "handle", "hot", "machine", "mark")
    alone: dict[int, Queue]
    machine: Machine
    driver: Driver
    hot: HotCalls
    device_index: int
    handle: StreamHandle
    mark: EventHandle | None

    def begin(self, machine: Machine, device_index: int, handle: StreamHandle) -> None:
        """Stand for a driver's stream: `__init__` belongs to Stream."""
        self.machine = machine
        self.driver = machine.driver
        self.hot = machine.driver.hot
        self.device_index = device_index
        self.handle = handle
        self.alone = {device_index: self}  # what work on this stream only has for its streams by device
        self.mark = None  # the event by which others follow this stream: a wait means its latest record only

    def record(self, event: EventHandle, external: bool = False) -> None:
        """Record a driver's event on this stream.  external: at each launch of the graph that is being captured."""
        self.hot.event_record(event, self.handle, external)
        if hooks.on_record is not None:
            hooks.on_record(event, self)

    def wait(self, event: EventHandle, external: bool = False) -> None:
        """Make later work follow a driver's event.  external: at each launch of the graph that is being captured."""
        self.hot.stream_wait_event(self.handle, event, external)
        if hooks.on_wait is not None:
            hooks.on_wait(self, event)

    def follow(self, other: Queue) -> None:
        """Make later work follow everything submitted to `other` so far."""
        if other.mark is None:
            other.mark = self.driver.event_create(other.device_index, False, False, False)
        other.record(other.mark)
        self.wait(other.mark)

    def synchronize(self) -> None:
        """Wait until everything submitted so far is done.  Host: waits."""
        if hooks.on_wait is not None:
            hooks.on_wait(None, self)
        self.driver.stream_synchronize(self.handle)

    def launch(self, kernel: KernelHandle, grid: Grid, arguments: Buffer) -> None:
        """Queue a kernel whose arguments are packed."""
        if hooks.on_submit is not None:
            hooks.on_submit(self)
        self.hot.launch(kernel, grid, arguments, self.handle)
        if hooks.on_launch is not None:
            hooks.on_launch(self, kernel, arguments)
        if self.machine.launch_blocking:
            self.synchronize()

    def library_run(self, plan: PlanHandle, packed: bytearray, workspace: int) -> None:
        """Queue a library call on operands whose addresses are packed (see `library_operation.unpack_addresses`).

        While a stream is capturing, libraries may load what they need for it.
        """
        if hooks.on_submit is not None:
            hooks.on_submit(self)
        if self.machine.capture is None:
            self.hot.library_run(plan, packed, workspace, self.handle)
        else:
            with self.machine.loading():
                self.hot.library_run(plan, packed, workspace, self.handle)
        if hooks.on_launch is not None:
            hooks.on_launch(self, plan, unpack_addresses(packed))
        if self.machine.launch_blocking:
            self.synchronize()

    def copy(self, dst: int, src: int, nbytes: int, kind: CopyKind) -> None:
        """Queue a copy of contiguous bytes."""
        if hooks.on_submit is not None:
            hooks.on_submit(self)
        self.hot.copy(dst, src, nbytes, kind, self.handle)
        if hooks.on_copy is not None:
            hooks.on_copy(self, dst, src, nbytes, kind)
        if self.machine.launch_blocking:
            self.synchronize()

    def fill(self, dst: int, value: int, nbytes: int) -> None:
        """Queue the setting of every byte to `value`."""
        if hooks.on_submit is not None:
            hooks.on_submit(self)
        self.driver.fill(dst, value, nbytes, self.handle)  # type: ignore[arg-type]
        if hooks.on_fill is not None:
            hooks.on_fill(self, dst, nbytes)
        if self.machine.launch_blocking:
            self.synchronize()

    def graph_launch(self, graph: GraphExecHandle) -> None:
        """Queue all of a graph."""
        if hooks.on_submit is not None:
            hooks.on_submit(self)
        self.driver.graph_launch(graph, self.handle)
        if hooks.on_graph_launch is not None:
            hooks.on_graph_launch(self, graph)
        if self.machine.launch_blocking:
            self.synchronize()
