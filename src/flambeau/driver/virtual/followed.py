"""The driver for race checks on real GPUs: it calls their driver, and repeats each call on a model.

- Each call is made on the real driver, and then on a model of a virtual GPU with the same addresses.  The model finds
  races as for virtual GPUs.  It computes no values and models no time: its commands are done when they are submitted.
- The real driver determines which work is complete.  A wait orders the work that was submitted before it began.
- Uses of memory that the model does not know, of other libraries and processes, are not compared.  Nor are kernels of
  the program: their launches on real GPUs carry no sizes of arrays (runtime/user_kernel.py).
- If the model cannot follow a call, the program continues, and `lost` has the reason why nothing more is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ... import callers
from ...callers import Origin
from ...config import Gpus
from ...core.queue import FollowedCalls
from ...errors import FlambeauError
from ...kernel import Access, Buffer, Grid, Kernel
from ...library_operation import LibraryOperation
from ..api import (
    Activities,
    Address,
    CaptureMode,
    CaptureStatus,
    CopyKind,
    DeviceProperties,
    Driver,
    EventHandle,
    Exchange,
    GraphExecHandle,
    GraphHandle,
    KernelHandle,
    PartitionHandle,
    PlanHandle,
    Step,
    StreamHandle,
)
from .base import next_handle
from .deferred import CallFailure, MakingLock
from .driver import VirtualDriver
from .events import Event, Generation
from .following import (
    PLAN_SHAPES,
    Alone,
    FollowedCall,
    FollowedCopy,
    FollowedKernel,
    FollowingEngine,
    Handles,
    shapes_of,
)
from .graphs import Graph
from .queue import Queue
from .races import Witness
from .schedule import Schedule


class RealStreams:
    """An exchange that uses the real driver's stream handles."""

    def __init__(self, exchange: Exchange, handles: Mapping[Any, Any]) -> None:
        self._exchange, self._handles = exchange, handles

    @property
    def streams(self) -> list[StreamHandle]:
        return [self._handles[stream] for stream in self._exchange.streams]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._exchange, name)


class FollowedDriver(VirtualDriver):
    """An implementation of `driver.api.Driver` over another one, whose calls a model follows.

    Handles are the model's.  lost: the reason why the model no longer follows, "" while it does.
    unseen: the program's own kernels, whose accesses the model does not know.
    loaded: kernels and library plans;  alone: the model's state of each stream.
    lock: makes deferred calls when it is acquired; its mutex and its `plain` lock do not.
    """

    _engine: FollowingEngine

    def __init__(self, choice: Gpus, real: Driver) -> None:
        super().__init__(replace(choice, races="real", values=False))
        self.capabilities = real.capabilities._replace(watches_blocks=True, finds_races=True)
        self._real = real
        self._memory = self._engine.memory
        self._real_handles = Handles()
        self.loaded, self.alone = Handles(), self._engine.alone
        self.deferred, self.lines, self.order = self._engine.deferred, self._engine.lines, self._engine.order
        self.lock.make = self._make_deferred
        self._plain_lock = self.lock.plain
        hosts = {CopyKind.HOST_TO_DEVICE: 2, CopyKind.DEVICE_TO_HOST: 1}
        self._copy_kinds = {
            kind: FollowedCopy(self._memory, f"copy {kind.value}", hosts.get(kind)) for kind in CopyKind
        }
        self._fills = FollowedCopy(self._memory, "fill")
        self._partition_devices: dict[PartitionHandle, int] = {}
        self.lost = ""
        self.unseen: dict[str, None] = {}

    def _make_lock(self) -> MakingLock:
        self.lock = MakingLock()
        return self.lock

    def _make_engine(self, choice: Gpus, schedule: Schedule) -> FollowingEngine:
        return FollowingEngine(choice, schedule, self._lock)

    def start(self) -> None:
        self._real.start()
        self.hot = FollowedCalls(self, self._real.hot, self._real.capabilities.watches_blocks, callers.here)

    def watch(self, witness: Witness | None) -> None:
        with self._lock:
            if self._engine.races.witness is not None:
                self._follow(self._engine.settle)
            super().watch(witness)

    def _follow(self, call: Callable[..., object], *arguments: Any) -> None:
        """Call the model.  If the call fails, stop following."""
        if not self.lost:
            try:
                call(*arguments)
            except Exception as failure:  # noqa: BLE001  (the program is not to blame, and the report names it)
                self._lose(call.__name__, failure)

    def _lose(self, name: str, failure: Exception) -> None:
        """Stop following, because a call of the model has failed."""
        site = callers.call_site()
        if isinstance(failure, CallFailure) and isinstance(failure.__cause__, Exception):
            name, site, failure = failure.name, failure.site or site, failure.__cause__
        fact = failure.fact if isinstance(failure, FlambeauError) else f"{type(failure).__name__}: {failure}"
        self.lost = f"{name} at {site}: {fact}"
        for deferred in tuple(self.deferred):
            deferred.close()
        self.watch(None)

    def _make_deferred(self) -> None:
        if self._engine.deferred:
            self._follow(self._engine.make_deferred)

    def _points(self, queues: Sequence[Queue]) -> list[Generation]:
        """Return which work a wait of the host that begins now will follow."""
        with self.lock.plain:
            return [self._events_of.point(queue) for queue in queues]

    def _end_wait(self, points: Sequence[Generation]) -> None:
        """Order all later work after the work that the host has waited for."""
        with self.lock.plain:
            self._follow(self._learn, points)

    def _learn(self, points: Sequence[Generation]) -> None:
        for point in points:
            self._engine.clocks.host_learn(point.clock)
        self._engine.drop_deferred()

    # devices
    def properties(self, device: int) -> DeviceProperties:
        return self._real.properties(device)

    def mem_info(self, device: int) -> tuple[int, int]:
        return self._real.mem_info(device)

    def has_context(self, device: int) -> bool:
        return self._real.has_context(device)

    def device_synchronize(self, device: int) -> None:
        with self.lock.plain:  # other threads may create streams
            queues = [queue for queue in self._engine.runner.queues if queue.device == device]
        points = self._points(queues)
        self._real.device_synchronize(device)
        self._end_wait(points)

    def partition(self, device: int, multiprocessors: int) -> tuple[PartitionHandle, int]:
        partition, granted = self._real.partition(device, multiprocessors)
        self._partition_devices[partition] = device
        return partition, granted

    def partition_stream(self, partition: PartitionHandle) -> StreamHandle:
        return self._new_stream(self._partition_devices[partition], self._real.partition_stream(partition))

    def drain(self) -> None:
        self._real.drain()

    # memory
    def mem_alloc(self, device: int, nbytes: int) -> Address:
        address = self._real.mem_alloc(device, nbytes)
        with self.lock.plain:
            self._memory.devices[device].adopt(address, nbytes)
        return address

    def mem_free(self, device: int, address: Address) -> None:
        self._real.mem_free(device, address)
        with self._lock:
            self._engine.forget_segment(device, address)
            self._memory.devices[device].drop(address)

    def mem_reserve(self, device: int, nbytes: int) -> Address:
        address = self._real.mem_reserve(device, nbytes)
        with self.lock.plain:
            self._memory.devices[device].adopt_reserved(address, nbytes)
        return address

    def mem_unreserve(self, device: int, address: Address) -> None:
        self._real.mem_unreserve(device, address)
        with self._lock:
            self._engine.forget_segment(device, address)
            self._memory.devices[device].drop_reserved(address)

    def mem_map(self, device: int, address: Address, nbytes: int) -> None:
        self._real.mem_map(device, address, nbytes)
        with self.lock.plain:
            self._memory.devices[device].adopt_mapped(address, nbytes)

    def mem_unmap(self, device: int, address: Address, nbytes: int) -> None:
        self._real.mem_unmap(device, address, nbytes)
        with self._lock:
            self._memory.devices[device].drop_mapped(address, nbytes)

    def pool_alloc(self, device: int, nbytes: int, stream: StreamHandle) -> Address:
        """Allocate from the pool.  To the model this is new memory: the driver orders uses of its pool."""
        address = self._real.pool_alloc(device, nbytes, self._real_handles[stream])
        with self.lock.plain:
            self._memory.devices[device].adopt(address, nbytes)
        return address

    def pool_free(self, device: int, address: Address, stream: StreamHandle) -> None:
        self._real.pool_free(device, address, self._real_handles[stream])
        with self._lock:
            self._engine.forget_segment(device, address)
            self._memory.devices[device].drop(address)

    def pool_reserved(self, device: int) -> int:
        return self._real.pool_reserved(device)

    def pool_trim(self, device: int) -> None:
        self._real.pool_trim(device)

    def memory_device(self, address: int) -> int | None:
        return self._real.memory_device(address)

    def host_alloc(self, nbytes: int) -> Address:
        address = self._real.host_alloc(nbytes)
        with self.lock.plain:
            self._memory.pinned.register(address, nbytes)
        return address

    def host_free(self, address: Address) -> None:
        self._real.host_free(address)
        self._unpin_followed(address)

    def host_register(self, address: Address, nbytes: int) -> None:
        self._real.host_register(address, nbytes)
        with self.lock.plain:
            self._memory.pinned.register(address, nbytes)

    def host_unregister(self, address: Address) -> None:
        self._real.host_unregister(address)
        self._unpin_followed(address)

    def _unpin_followed(self, address: int) -> None:
        with self._lock:
            blocks = self._memory.pinned.blocks
            blocks.remove(blocks.at[address])

    def block_taken(self, device: int, address: Address, nbytes: int, stream: StreamHandle) -> None:
        self._real.block_taken(device, address, nbytes, self._real_handles[stream])
        self.follow_taken(device, address, nbytes, stream)

    def block_given(self, device: int, address: Address, nbytes: int) -> None:
        self._real.block_given(device, address, nbytes)
        self.follow_given(device, address, nbytes)

    def follow_taken(self, device: int, address: Address, nbytes: int, stream: StreamHandle) -> None:
        """Make the model follow a block that was taken, where `FollowedCalls` has not listed it."""
        alone = self.alone[stream]
        if alone.queue.device != device:
            self._follow(super().block_taken, device, address, nbytes, stream)  # reports the failure
        elif not self.lost:
            try:
                with self._inner_lock:  # called by an allocator in a critical section
                    self._engine.allocate(alone, address, nbytes)
            except Exception as failure:  # noqa: BLE001  (as in `_follow`)
                self._lose("block_taken", failure)

    def follow_given(self, device: int, address: Address, nbytes: int) -> None:
        """Make the model follow a block that was given back, where `FollowedCalls` has not listed it."""
        if not self.lost:
            try:
                with self._inner_lock:  # as in `follow_taken`
                    self._engine.give_block(device, address, nbytes)
            except Exception as failure:  # noqa: BLE001  (as in `_follow`)
                self._lose("block_given", failure)

    def block_finished(self, address: Address, event: EventHandle) -> None:
        with self.lock.plain:
            self._follow(self._engine.make_around, address)
            self._follow(super().block_finished, address, event)

    def host_taken(self, address: Address, nbytes: int) -> None:
        self._follow(super().host_taken, address, nbytes)

    def host_accessed(self, access: Access) -> None:
        self._follow(super().host_accessed, access)

    # streams
    def _new_stream(self, device: int, real: StreamHandle, is_default: bool = False) -> StreamHandle:
        with self._lock:
            queue = self._add_queue(device, 0, is_default)
            self.alone[queue.handle] = Alone(self._engine, queue, real)
            self._real_handles[queue.handle] = real
            return queue.handle

    def stream_named(self, stream: StreamHandle, name: str, site: str) -> None:
        self._real.stream_named(self._real_handles[stream], name, site)
        super().stream_named(stream, name, site)

    def stream_create(self, device: int, priority: int) -> StreamHandle:
        return self._new_stream(device, self._real.stream_create(device, priority))

    def stream_adopt(self, device: int, raw: int) -> StreamHandle:
        with self._lock:
            real = self._real.stream_adopt(device, raw)
            known = (handle for handle in self._streams if self._real_handles[handle] == real)
            return next(known, None) or self._new_stream(device, real, raw == 0)

    def stream_destroy(self, stream: StreamHandle) -> None:
        self._real.stream_destroy(self._real_handles[stream])
        with self._lock:
            del self._real_handles[stream]
            self._engine.retire(self._streams.pop(stream))

    def stream_query(self, stream: StreamHandle) -> bool:
        points = self._points([self._queue(stream)])
        is_done = self._real.stream_query(self._real_handles[stream])
        if is_done:
            self._end_wait(points)
        return is_done

    def stream_synchronize(self, stream: StreamHandle) -> None:
        points = self._points([self._queue(stream)])
        self._real.stream_synchronize(self._real_handles[stream])
        self._end_wait(points)

    def stream_wait_event(self, stream: StreamHandle, event: EventHandle, external: bool = False) -> None:
        with self.lock.plain:
            self._real.stream_wait_event(self._real_handles[stream], self._real_handles[event], external)
            self._follow(super().stream_wait_event, stream, event, external)
            self._follow(self._engine.learned, self.alone[stream])

    def expose(self) -> None:
        self._real.expose()

    def stream_raw(self, stream: StreamHandle) -> int:
        return self._real.stream_raw(self._real_handles[stream])

    # events
    def _new_event(self, device: int, real: EventHandle, is_interprocess: bool) -> EventHandle:
        with self.lock.plain:
            handle = EventHandle(next_handle())
            self._events[handle] = Event(handle, device, False, is_interprocess)
            self._real_handles[handle] = real
            return handle

    def event_create(self, device: int, timing: bool, blocking: bool, interprocess: bool) -> EventHandle:
        return self._new_event(device, self._real.event_create(device, timing, blocking, interprocess), interprocess)

    def event_destroy(self, event: EventHandle) -> None:
        self._real.event_destroy(self._real_handles[event])
        del self._events[event], self._real_handles[event]

    def event_record(self, event: EventHandle, stream: StreamHandle, external: bool = False) -> None:
        with self.lock.plain:
            self._real.event_record(self._real_handles[event], self._real_handles[stream], external)
            self._follow(super().event_record, event, stream, external)

    def event_raw(self, event: EventHandle) -> int:
        return self._real.event_raw(self._real_handles[event])

    def event_query(self, event: EventHandle, orders: bool = True) -> bool:
        latest = self._event(event).latest
        is_done = self._real.event_query(self._real_handles[event], orders)
        if is_done and orders and latest is not None:
            self._event_waited(event, latest)
        return is_done

    def event_synchronize(self, event: EventHandle, orders: bool = True) -> None:
        latest = self._event(event).latest
        self._real.event_synchronize(self._real_handles[event], orders)
        if orders and latest is not None:
            self._event_waited(event, latest)

    def _event_waited(self, event: EventHandle, latest: Generation) -> None:
        with self.lock.plain:
            self._follow(self._events_of.waited_on_host, self._events[event], latest)
            self._follow(self._engine.drop_deferred)

    def event_elapsed(self, start: EventHandle, end: EventHandle) -> float:
        return self._real.event_elapsed(self._real_handles[start], self._real_handles[end])

    # work
    def copy(self, dst: Address, src: Address, nbytes: int, kind: CopyKind, stream: StreamHandle) -> None:
        with self.lock.plain:
            alone = self.alone[stream]
            self._real.copy(dst, src, nbytes, kind, alone.real)
            if nbytes:
                self.follow_launch(alone, self._copy_kinds[kind], (nbytes, dst, src), callers.origin())
            if kind is CopyKind.DEVICE_TO_HOST and self._memory.pinned_block(dst, dst + nbytes, "copy") is None:
                self._end_wait(self._points([alone.queue]))

    def fill(self, dst: Address, value: int, nbytes: int, stream: StreamHandle) -> None:
        with self.lock.plain:
            alone = self.alone[stream]
            self._real.fill(dst, value, nbytes, alone.real)
            if nbytes:
                self.follow_launch(alone, self._fills, (nbytes, dst), callers.origin())

    def peer_can(self, device: int, peer: int) -> bool:
        return self._real.peer_can(device, peer)

    def peer_enable(self, device: int, peer: int) -> None:
        self._real.peer_enable(device, peer)

    def kernel_load(self, device: int, kernel: Kernel) -> KernelHandle:
        real = self._real.kernel_load(device, kernel)
        with self.lock.plain:
            handle = self._kernel_handles.get((device, kernel))
            if handle is None:
                handle = self._kernel_handles[device, kernel] = KernelHandle(next_handle())
                shapes = shapes_of(kernel)
                self.loaded[handle] = FollowedKernel(real, device, kernel.entry, self._bind(kernel), shapes)
                self._real_handles[handle] = real
            return handle

    def _bind(self, kernel: Kernel) -> Callable[[Any], list[Any]]:
        def bind(arguments: Any) -> list[Any]:
            try:
                return kernel.bind(arguments)
            except Exception:  # noqa: BLE001  (a kernel of the program: see the module's docstring)
                self.unseen[kernel.entry] = None
                return []

        return bind

    def launch(self, kernel: KernelHandle, grid: Grid, arguments: Buffer, stream: StreamHandle) -> None:
        with self.lock.plain:
            loaded, alone = self.loaded[kernel], self.alone[stream]
            self._real.launch(loaded.real, grid, arguments, alone.real)
            self.follow_launch(alone, loaded, bytes(arguments), callers.origin())

    def follow_launch(self, alone: Alone, loaded: FollowedCall, arguments: Any, origin: Origin) -> None:
        """Make the model follow a launch, a copy or a library call that the real driver has accepted."""
        if not self.lost:
            try:
                with self._inner_lock:  # called in a critical section
                    self._engine.launch(alone, loaded, arguments, origin)
            except Exception as failure:  # noqa: BLE001  (as in `_follow`)
                self._lose(loaded.call, failure)

    def library_plan(self, device: int, problem: LibraryOperation) -> tuple[PlanHandle, int]:
        real, nbytes = self._real.library_plan(device, problem)
        with self.lock.plain:
            handle = PlanHandle(next_handle())
            self.loaded[handle] = FollowedKernel(real, device, problem.kind, problem.accesses, PLAN_SHAPES)
            self._real_handles[handle] = real
            return handle, nbytes

    def library_reserve(self, plan: PlanHandle) -> int:
        return self._real.library_reserve(self._real_handles[plan])

    def product_workspace(self, device: int) -> int:
        return self._real.product_workspace(device)

    def blas_handle(self, stream: StreamHandle) -> int:
        return self._real.blas_handle(self._real_handles[stream])

    def library_run(
        self, plan: PlanHandle, addresses: tuple[int, ...], workspace: Address, stream: StreamHandle
    ) -> None:
        with self.lock.plain:
            loaded, alone = self.loaded[plan], self.alone[stream]
            self._real.library_run(loaded.real, addresses, workspace, alone.real)
            self.follow_launch(alone, loaded, tuple(addresses), callers.origin())

    def exchange(
        self, exchange: Exchange, inputs: Sequence[Access], outputs: Sequence[Access], stream: StreamHandle
    ) -> None:
        real: Any = RealStreams(exchange, self._real_handles)
        self._real.exchange(real, inputs, outputs, self._real_handles[stream])

    def runs_steps(self, steps: Sequence[Step]) -> bool:
        return self._real.runs_steps(steps)

    def serve_exchanges(self) -> None:
        self._real.serve_exchanges()

    def exchange_failure(self) -> str:
        return self._real.exchange_failure()

    def abort_exchanges(self, streams: Sequence[StreamHandle] | None = None) -> None:
        self._real.abort_exchanges(None if streams is None else [self._real_handles[stream] for stream in streams])

    def await_exchanges(self) -> None:
        self._real.await_exchanges()

    def finish_exchanges(self, streams: Sequence[StreamHandle] | None = None) -> None:
        self._real.finish_exchanges(None if streams is None else [self._real_handles[stream] for stream in streams])

    # time and profilers
    def host_ns(self) -> int:
        return self._real.host_ns()

    def profiler_start(self) -> None:
        self._real.profiler_start()

    def profiler_stop(self) -> None:
        self._real.profiler_stop()

    def measure(self) -> Activities | None:
        return self._real.measure()

    # graphs
    def capture_begin(self, stream: StreamHandle, mode: CaptureMode) -> None:
        self._real.capture_begin(self._real_handles[stream], mode)
        self._follow(super().capture_begin, stream, mode)

    def capture_end(self, stream: StreamHandle) -> GraphHandle:
        with self._lock:
            capture = self._streams[stream].capture
            if capture is not None:
                self._captures.end(capture)
            real = self._real.capture_end(self._real_handles[stream])
            handle = GraphHandle(next_handle())
            nodes, branches = ([], []) if capture is None else (capture.nodes, capture.branches)
            self._graphs[handle] = Graph(nodes, [branch.device for branch in branches])
            self._real_handles[handle] = real
            return handle

    def capture_status(self, stream: StreamHandle) -> CaptureStatus:
        return self._real.capture_status(self._real_handles[stream])

    def capture_mode_exchange(self, mode: CaptureMode) -> CaptureMode:
        previous = self._real.capture_mode_exchange(mode)
        super().capture_mode_exchange(mode)
        return previous

    def graph_node_count(self, graph: GraphHandle) -> int:
        return self._real.graph_node_count(self._real_handles[graph])

    def graph_write(self, graph: GraphHandle, path: str) -> None:
        self._real.graph_write(self._real_handles[graph], path)

    def graph_raw(self, graph: GraphHandle | GraphExecHandle) -> int:
        return self._real.graph_raw(self._real_handles[graph])

    def graph_instantiate(self, graph: GraphHandle) -> GraphExecHandle:
        real = self._real.graph_instantiate(self._real_handles[graph])
        handle = super().graph_instantiate(graph)
        self._real_handles[handle] = real
        return handle

    def graph_launch(self, graph: GraphExecHandle, stream: StreamHandle) -> None:
        with self._lock:
            self._real.graph_launch(self._real_handles[graph], self._real_handles[stream])
            self._follow(super().graph_launch, graph, stream)

    def graph_destroy(self, graph: GraphHandle | GraphExecHandle) -> None:
        self._real.graph_destroy(self._real_handles[graph])
        super().graph_destroy(graph)

    # other processes
    def ipc_export(self, device: int, address: Address) -> bytes:
        return self._real.ipc_export(device, address)

    def ipc_open(self, device: int, handle: bytes) -> Address:
        return self._real.ipc_open(device, handle)

    def ipc_close(self, device: int, address: Address) -> None:
        self._real.ipc_close(device, address)

    def block_shared(self, device: int, address: Address, nbytes: int, stream: StreamHandle) -> None:
        self._real.block_shared(device, address, nbytes, self._real_handles[stream])

    def ipc_flush(self, stream: StreamHandle) -> None:
        points = self._points([self._queue(stream)])
        self._real.ipc_flush(self._real_handles[stream])
        self._end_wait(points)

    def event_ipc_export(self, event: EventHandle) -> bytes:
        return self._real.event_ipc_export(self._real_handles[event])

    def event_ipc_open(self, device: int, handle: bytes) -> EventHandle:
        return self._new_event(device, self._real.event_ipc_open(device, handle), True)
