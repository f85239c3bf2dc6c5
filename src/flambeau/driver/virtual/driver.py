"""Virtual GPUs: the Driver calls on an exact, repeatable model of a machine.

- One lock around every call; host threads are ordered by it.
- A call checks everything before it changes anything: handles, devices that failed, grids, bytes against live blocks,
  and races.  Work runs when something waits for it (queue.py).
- Handles come from one counter of the process.  A created stream's handle is its raw value; a default stream's is 0.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from typing import TypeVar

from ...config import Gpus
from ...errors import AcceleratorError, NotSupportedError, OutOfMemoryError
from ...kernel import Access, Buffer, Grid, Kernel
from ...problem import Problem
from ..api import (
    Address,
    Capabilities,
    CopyKind,
    DeviceProperties,
    EventHandle,
    KernelHandle,
    PlanHandle,
    StreamHandle,
)
from .clock import HostClocks
from .copies import PEER_ACCESS_UNSUPPORTED, Copies
from .denied import Denied
from .engine import Engine
from .events import INVALID_HANDLE, Event, Events
from .faults import Faults
from .ipc import Ipc, IpcCalls
from .memory import INVALID_VALUE
from .queue import Queue
from .schedule import Schedule, from_text
from .work import Loaded, run_failure, run_reference

INVALID_DEVICE = 101  # CUresult
MAX_X = 2**31 - 1  # blocks
MAX_YZ = 65_535  # blocks
MAX_THREADS = 1024  # per block
MAX_SHARED = 227 << 10  # bytes of dynamic shared memory per block
PRIORITIES = (-5, 0)  # most and least urgent
LIBRARIES = frozenset({"gemm", "attention", "attention_backward"})

_handles = itertools.count(1)
Handle = TypeVar("Handle")
Found = TypeVar("Found")


class VirtualDriver(IpcCalls, Denied):
    """An implementer of `driver.api.Driver`.

    schedule: in which order ready streams run, instead of the one that `choice` names.
    faults: what will fail;  log: (stream, number, name) of every command that ran, in order;  clock: modelled time.
    """

    def __init__(self, choice: Gpus, schedule: Schedule | None = None) -> None:
        self.capabilities = Capabilities(
            "virtual", ipc=True, faults=True, modelled_time=True, watches_blocks=True, libraries=LIBRARIES
        )
        self.faults = Faults()
        self._lock = threading.RLock()
        self._engine = Engine(choice, schedule or from_text(choice.schedule))
        self._events_of = Events(self._engine)
        self._copies = Copies(self._engine, self.faults)
        self._streams: dict[StreamHandle, Queue] = {}
        self._defaults: dict[int, Queue] = {}
        self._events: dict[EventHandle, Event] = {}
        self._ipc = Ipc(self._engine, self._lock, self._events)
        self._kernels: dict[KernelHandle, Loaded] = {}
        self._kernel_handles: dict[tuple[int, Kernel], KernelHandle] = {}
        self._plans: dict[PlanHandle, Loaded] = {}

    @property
    def log(self) -> deque[tuple[StreamHandle, int, str]]:
        return self._engine.runner.log

    @property
    def clock(self) -> HostClocks:
        return self._engine.clock

    # devices
    def start(self) -> None:
        """Nothing is left to do: memory is mapped when it is first allocated."""

    def device_count(self) -> int:
        return len(self._engine.memory.devices)

    def properties(self, device: int) -> DeviceProperties:
        self._check_index(device)
        return self._engine.preset.properties(device, self._engine.memory.devices[device].total)

    def device_synchronize(self, device: int) -> None:
        with self._lock:
            self._call(device)
            self._engine.wait_for_device(device)

    def mem_info(self, device: int) -> tuple[int, int]:
        with self._lock:
            self._call(device)
            memory = self._engine.memory.devices[device]
            return memory.total - memory.used, memory.total

    # memory
    def mem_alloc(self, device: int, nbytes: int) -> Address:
        with self._lock:
            self._call(device, self._engine.preset.mem_alloc_ns)
            if self.faults.allocation.strikes():
                raise OutOfMemoryError(f"mem_alloc: {nbytes} bytes on virtual device {device} fail on demand")
            return self._engine.memory.devices[device].allocate(nbytes)

    def mem_free(self, device: int, address: Address) -> None:
        with self._lock:
            self._call(device)
            memory = self._engine.memory.devices[device]
            segment = memory.segment(address, "mem_free")
            self._engine.wait_for_users(memory.blocks_in(segment.low, segment.high))
            memory.release(segment)

    def host_alloc(self, nbytes: int) -> Address:
        with self._lock:
            self._engine.clock.spend(self._engine.preset.mem_alloc_ns)
            return self._engine.memory.pinned.allocate(nbytes)

    def host_free(self, address: Address) -> None:
        self._unpin(address, "host_free")

    def host_register(self, address: Address, nbytes: int) -> None:
        with self._lock:
            self._engine.clock.spend(self._engine.preset.mem_alloc_ns)
            self._engine.memory.pinned.register(address, nbytes)

    def host_unregister(self, address: Address) -> None:
        self._unpin(address, "host_unregister")

    def _unpin(self, address: Address, name: str) -> None:
        with self._lock:
            self._engine.clock.spend(self._engine.preset.call_ns)
            pinned = self._engine.memory.pinned
            block = pinned.block(address, name)
            self._engine.wait_for_users([block])
            pinned.blocks.remove(block)

    def block_taken(self, device: int, address: Address, nbytes: int, stream: StreamHandle) -> None:
        with self._lock:
            queue = self._queue(stream)
            if queue.device != device:
                raise AcceleratorError(
                    f"block_taken: stream {stream} belongs to device {queue.device}, the block to device {device}",
                    error_code=INVALID_HANDLE,
                )
            self._engine.take_block(queue, address, address + nbytes)

    def block_given(self, device: int, address: Address, nbytes: int) -> None:
        with self._lock:
            self._check(device)
            self._engine.memory.devices[device].give(address, address + nbytes)

    # streams
    def stream_create(self, device: int, priority: int) -> StreamHandle:
        with self._lock:
            self._call(device)
            clamped = max(PRIORITIES[0], min(PRIORITIES[1], priority))
            return self._add_queue(device, clamped, is_default=False).handle

    def stream_adopt(self, device: int, raw: int) -> StreamHandle:
        with self._lock:
            self._check(device)
            if raw == 0:
                if device not in self._defaults:
                    self._defaults[device] = self._add_queue(device, 0, is_default=True)
                return self._defaults[device].handle
            queue = self._streams.get(StreamHandle(raw))
            if queue is None or queue.is_default or queue.device != device:
                raise AcceleratorError(
                    f"stream_adopt: {raw} is not a stream of device {device}", error_code=INVALID_HANDLE
                )
            return queue.handle

    def _add_queue(self, device: int, priority: int, is_default: bool) -> Queue:
        queue = Queue(StreamHandle(next(_handles)), device, priority, is_default)
        self._streams[queue.handle] = queue
        self._engine.runner.add(queue)
        return queue

    def stream_destroy(self, stream: StreamHandle) -> None:
        """Its work goes on; the handle is gone."""
        with self._lock:
            queue = self._queue(stream)
            if queue.is_default:
                raise AcceleratorError(
                    f"stream_destroy: stream {stream} is a default stream", error_code=INVALID_HANDLE
                )
            del self._streams[stream]
            self._engine.retire(queue)

    def stream_query(self, stream: StreamHandle) -> bool:
        with self._lock:
            queue = self._queue(stream)
            if queue.end_ns > self._engine.clock.spend(self._engine.preset.call_ns):
                return False
            self._engine.wait_for_queue(queue)
            return True

    def stream_synchronize(self, stream: StreamHandle) -> None:
        with self._lock:
            queue = self._queue(stream)
            self._engine.clock.spend(self._engine.preset.call_ns)
            self._engine.wait_for_queue(queue)

    def stream_wait_event(self, stream: StreamHandle, event: EventHandle) -> None:
        with self._lock:
            self._events_of.wait_on_queue(self._queue(stream), self._event(event))

    def stream_raw(self, stream: StreamHandle) -> int:
        with self._lock:
            queue = self._queue(stream)
            return 0 if queue.is_default else queue.handle

    # events
    def event_create(self, device: int, timing: bool, blocking: bool, interprocess: bool) -> EventHandle:
        """`blocking` changes how a host thread sleeps, which is not modelled."""
        with self._lock:
            self._call(device)
            if timing and interprocess:
                raise AcceleratorError("event_create: interprocess events have no timing", error_code=INVALID_VALUE)
            handle = EventHandle(next(_handles))
            self._events[handle] = Event(handle, device, timing, interprocess)
            return handle

    def event_destroy(self, event: EventHandle) -> None:
        with self._lock:
            self._event(event)
            del self._events[event]

    def event_record(self, event: EventHandle, stream: StreamHandle, external: bool = False) -> None:
        if external:
            raise NotSupportedError("event_record: external=True needs graphs, which the virtual driver does not have")
        with self._lock:
            self._events_of.record(self._event(event), self._queue(stream))

    def event_query(self, event: EventHandle) -> bool:
        with self._lock:
            return self._events_of.is_done(self._event(event))

    def event_synchronize(self, event: EventHandle) -> None:
        with self._lock:
            self._events_of.wait_on_host(self._event(event))

    def event_elapsed(self, start: EventHandle, end: EventHandle) -> float:
        with self._lock:
            return self._events_of.elapsed_ms(self._event(start), self._event(end))

    # work
    def copy(self, dst: Address, src: Address, nbytes: int, kind: CopyKind, stream: StreamHandle) -> None:
        with self._lock:
            self._copies.copy(self._queue(stream), dst, src, nbytes, kind)

    def fill(self, dst: Address, value: int, nbytes: int, stream: StreamHandle) -> None:
        with self._lock:
            self._copies.fill(self._queue(stream), dst, value, nbytes)

    def peer_can(self, device: int, peer: int) -> bool:
        self._check_index(device)
        self._check_index(peer)
        return device != peer and self.faults.is_linked(device, peer)

    def peer_enable(self, device: int, peer: int) -> None:
        with self._lock:
            self._call(device)
            if not self.peer_can(device, peer):
                raise AcceleratorError(
                    f"peer_enable: device {device} cannot reach device {peer}", error_code=PEER_ACCESS_UNSUPPORTED
                )
            self._engine.memory.peers.add((device, peer))

    def kernel_load(self, device: int, kernel: Kernel) -> KernelHandle:
        with self._lock:
            self._check(device)
            handle = self._kernel_handles.get((device, kernel))
            if handle is None:
                handle = KernelHandle(next(_handles))
                self._kernel_handles[device, kernel] = handle
                self._kernels[handle] = self._loaded_kernel(device, kernel)
            return handle

    def _loaded_kernel(self, device: int, kernel: Kernel) -> Loaded:
        preset = self._engine.preset

        def duration(accesses: list[Access]) -> int:
            nbytes = elements = 0
            for each in accesses:
                nbytes += each.nbytes
                elements = max(elements, each.nbytes // each.dtype.itemsize)
            return preset.kernel_ns(nbytes, kernel.operations * elements)

        return Loaded(device, kernel.entry, kernel.reference, kernel.bind, duration)

    def launch(self, kernel: KernelHandle, grid: Grid, arguments: Buffer, stream: StreamHandle) -> None:
        with self._lock:
            queue = self._queue(stream)
            loaded = self._lookup(self._kernels, kernel, "kernel")
            (x, y, z), threads, shared = grid
            if not (0 < x <= MAX_X and 0 < y <= MAX_YZ and 0 < z <= MAX_YZ and 0 < threads <= MAX_THREADS):
                raise AcceleratorError(
                    f"{loaded.name}: {grid} cannot be launched: blocks go from 1 to {MAX_X}, {MAX_YZ} and {MAX_YZ}, "
                    f"threads from 1 to {MAX_THREADS}",
                    error_code=INVALID_VALUE,
                )
            if not 0 <= shared <= MAX_SHARED:
                raise AcceleratorError(
                    f"{loaded.name}: {shared} bytes of shared memory; {MAX_SHARED} can be had", error_code=INVALID_VALUE
                )
            self._enqueue(queue, loaded, bytes(arguments))

    def _enqueue(self, queue: Queue, loaded: Loaded, arguments: object) -> None:
        engine, device, name = self._engine, queue.device, loaded.name
        if loaded.device != device:
            raise AcceleratorError(
                f"{name}: loaded on device {loaded.device}, launched on stream {queue.handle} of device {device}",
                error_code=INVALID_HANDLE,
            )
        bound = loaded.bound(arguments)
        find = engine.memory.find
        blocks = [find(device, touch.low, touch.high, name) for touch in bound.touches]
        work = run_failure if self.faults.launch.strikes() else run_reference
        engine.submit(
            queue, name, work, (loaded, bound), bound.touches, blocks, bound.duration_ns, engine.preset.launch_ns
        )

    def library_plan(self, device: int, problem: Problem) -> tuple[PlanHandle, int]:
        if problem.kind not in LIBRARIES:
            raise NotSupportedError(f"library_plan: the virtual driver does not solve {problem.kind!r}")
        with self._lock:
            self._check(device)
            handle = PlanHandle(next(_handles))
            preset = self._engine.preset
            self._plans[handle] = Loaded(
                device,
                problem.kind,
                problem.reference,
                problem.accesses,
                lambda accesses: preset.library_ns(problem, sum(each.nbytes for each in accesses)),
            )
            return handle, 0

    def library_run(
        self, plan: PlanHandle, addresses: tuple[int, ...], workspace: Address, stream: StreamHandle
    ) -> None:
        """`workspace` is not used: plans need none."""
        with self._lock:
            queue = self._queue(stream)
            self._enqueue(queue, self._lookup(self._plans, plan, "plan"), tuple(addresses))

    # checks
    def _check_index(self, device: int) -> None:
        if not 0 <= device < self.device_count():
            raise AcceleratorError(
                f"there is no device {device}; {self.device_count()} virtual devices exist", error_code=INVALID_DEVICE
            )

    def _check(self, device: int) -> None:
        self._check_index(device)
        self._engine.runner.check(device)

    def _call(self, device: int, host_ns: int | None = None) -> None:
        """Check a device and charge the calling thread for a call on it."""
        self._check(device)
        self._engine.clock.spend(self._engine.preset.call_ns if host_ns is None else host_ns)

    def _queue(self, stream: StreamHandle) -> Queue:
        queue = self._lookup(self._streams, stream, "stream")
        if self._engine.runner.failures:
            self._engine.runner.check(queue.device)
        return queue

    def _event(self, event: EventHandle) -> Event:
        found = self._lookup(self._events, event, "event")
        self._engine.runner.check(found.device)
        return found

    def _lookup(self, table: dict[Handle, Found], handle: Handle, what: str) -> Found:
        found = table.get(handle)
        if found is None:
            raise AcceleratorError(
                f"{what} {handle} does not exist: it was never made, or was destroyed", error_code=INVALID_HANDLE
            )
        return found
