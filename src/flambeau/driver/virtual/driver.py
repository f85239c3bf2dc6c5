"""The virtual driver: the Driver calls on an exact, repeatable model of GPUs.

- One lock around every call orders host threads.
- A call checks everything before it changes anything: handles, failed devices, grids, bytes against live blocks, and
  races.  Work runs when something waits for it (queue.py).
- Handles come from one counter of the process.  A created stream's handle is its raw value; a default stream's is 0.
- Memory calls, except those on blocks, are unsafe while a stream is capturing.
"""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

from ... import callers, config, signals
from ...config import Gpus
from ...core.queue import HotCalls
from ...errors import AcceleratorError, NotSupportedError, OutOfMemoryError
from ...kernel import Access, Kernel
from ...library_operation import LibraryOperation
from ..api import (
    Activities,
    Address,
    CopyKind,
    DeviceProperties,
    EventHandle,
    GpuProcess,
    KernelHandle,
    PartitionHandle,
    PlanHandle,
    StreamHandle,
)
from .access import MemoryAccess
from .base import LIBRARIES, Calls, next_handle
from .card import card
from .clock import settled
from .copies import PEER_ACCESS_UNSUPPORTED
from .events import INVALID_HANDLE, Event
from .exchanges import ExchangeCalls
from .graphs import GraphCalls
from .ipc import IpcCalls
from .memory import INVALID_VALUE, device_of
from .queue import ADDRESSES, Loaded, Queue, of_kernel
from .races import HOST, Witness
from .schedule import REPLAY_HINT, Replay, Schedule
from .stream_pool import PoolCalls

STEP = 8  # the number of multiprocessors of a partition is a multiple of this


class Partition(NamedTuple):
    """A part of a device: a number of its multiprocessors."""

    device: int
    multiprocessors: int


class ContextCalls(Calls):
    """Context and partition calls of the Driver."""

    def __init__(self, choice: Gpus, schedule: Schedule | None = None) -> None:
        super().__init__(choice, schedule)
        self._partitions: dict[PartitionHandle, Partition] = {}
        self._partition_handles: dict[Partition, PartitionHandle] = {}

    def has_context(self, device: int) -> bool:
        self._check_index(device)
        return device in self._contexts

    def partition(self, device: int, multiprocessors: int) -> tuple[PartitionHandle, int]:
        with self._lock:
            self._call(device)
            available = self._engine.card.multi_processor_count
            if not 1 <= multiprocessors <= available:
                raise AcceleratorError(
                    f"{multiprocessors} multiprocessors were requested, and device {device} has {available}",
                    error_code=INVALID_VALUE,
                    operator="partition",
                )
            part = Partition(device, min(-(-multiprocessors // STEP) * STEP, available))
            handle = self._partition_handles.get(part)
            if handle is None:
                handle = self._partition_handles[part] = PartitionHandle(next_handle())
                self._partitions[handle] = part
            return handle, part.multiprocessors

    def partition_stream(self, partition: PartitionHandle) -> StreamHandle:
        with self._lock:
            part = self._lookup(self._partitions, partition, "partition")
            self._call(part.device)
            queue = self._add_queue(part.device, 0, is_default=False)
            queue.share = part.multiprocessors / self._engine.card.multi_processor_count
            return queue.handle

    def _add_queue(self, device: int, priority: int, is_default: bool) -> Queue:
        queue = Queue(StreamHandle(next_handle()), device, priority, is_default)
        self._streams[queue.handle] = queue
        self._engine.runner.add(queue)
        return queue


class MemoryCalls(Calls):
    """Memory calls of the Driver: segments, pinned memory and blocks."""

    def mem_alloc(self, device: int, nbytes: int) -> Address:
        with self._lock:
            self._captures.check_unsafe("mem_alloc")
            self._call(device, self._engine.card.host.allocate)
            if self.faults.allocation.strikes():
                raise OutOfMemoryError(
                    f"the allocation of {nbytes} bytes on virtual device {device} was made to fail",
                    operator="mem_alloc",
                )
            return self._engine.memory.devices[device].allocate(nbytes)

    def mem_free(self, device: int, address: Address) -> None:
        with self._lock:
            self._captures.check_unsafe("mem_free")
            self._call(device)
            memory = self._engine.memory.devices[device]
            segment = memory.segment(address, "mem_free")
            self._engine.wait_for_users(memory.blocks_in(segment))
            memory.release(segment)

    def mem_reserve(self, device: int, nbytes: int) -> Address:
        with self._lock:
            self._captures.check_unsafe("mem_reserve")
            self._call(device)
            return self._engine.memory.devices[device].reserve(nbytes)

    def mem_unreserve(self, device: int, address: Address) -> None:
        with self._lock:
            self._call(device)
            self._engine.memory.devices[device].unreserve(address)

    def mem_map(self, device: int, address: Address, nbytes: int) -> None:
        with self._lock:
            self._captures.check_unsafe("mem_map")
            self._call(device, self._engine.card.host.allocate)
            if self.faults.allocation.strikes():
                raise OutOfMemoryError(
                    f"the allocation of {nbytes} bytes on virtual device {device} was made to fail", operator="mem_map"
                )
            self._engine.memory.devices[device].map(address, nbytes)

    def mem_unmap(self, device: int, address: Address, nbytes: int) -> None:
        with self._lock:
            self._captures.check_unsafe("mem_unmap")
            self._call(device)
            memory = self._engine.memory.devices[device]
            self._engine.wait_for_users(memory.mapped_blocks(address, nbytes))
            memory.unmap(address, nbytes)

    def memory_device(self, address: int) -> int | None:
        index = device_of(address)
        return index if index is not None and index < self.device_count() else None

    def host_alloc(self, nbytes: int) -> Address:
        with self._lock:
            self._captures.check_unsafe("host_alloc")
            self._use_any()
            self._engine.clock.spend(self._engine.card.host.allocate)
            return self._engine.memory.pinned.allocate(nbytes)

    def host_free(self, address: Address) -> None:
        self._unpin(address, "host_free")

    def host_register(self, address: Address, nbytes: int) -> None:
        with self._lock:
            self._captures.check_unsafe("host_register")
            self._use_any()
            self._engine.clock.spend(self._engine.card.host.allocate)
            self._engine.memory.pinned.register(address, nbytes)

    def host_unregister(self, address: Address) -> None:
        self._unpin(address, "host_unregister")

    def _unpin(self, address: Address, name: str) -> None:
        with self._lock:
            self._captures.check_unsafe(name)
            self._engine.clock.spend(self._engine.card.host.call)
            pinned = self._engine.memory.pinned
            block = pinned.block(address, name)
            self._engine.wait_for_users([block])
            pinned.blocks.remove(block)
            block.is_live = False

    def block_finished(self, address: Address, event: EventHandle) -> None:
        with self._plain_lock:
            latest = self._event(event).latest
            block = self._engine.memory.around(address)
            if latest is not None and block is not None:
                self._engine.races.forget(block.history, latest.clock, block.low, block.high)

    def host_taken(self, address: Address, nbytes: int) -> None:
        with self._plain_lock:
            self._engine.take_pinned(self._engine.memory.pinned.block(address, "host_taken"), nbytes)

    def host_accessed(self, access: Access) -> None:
        races = self._engine.races
        compares = races.explains or self._engine.runner.explores
        if not compares or not access.nbytes or not self._engine.memory.pinned.blocks:
            return
        with self._plain_lock:
            for block in self._engine.memory.pinned.blocks.overlapping(access.address, access.address + access.nbytes):
                self._engine.check_host(MemoryAccess(access, HOST), block)


PRIORITIES = (-5, 0)  # most and least urgent


class VirtualDriver(MemoryCalls, PoolCalls, GraphCalls, IpcCalls, ExchangeCalls, ContextCalls):
    """An implementation of `driver.api.Driver`.

    schedule: the order in which ready streams run; None for the one that `choice` names.
    faults: injected failures;  log: (stream, number, name) of the commands that ran, in order;  clock: modelled time.
    is_profiled: whether the program is between `profiler_start` and `profiler_stop`.
    """

    # devices
    def start(self) -> None:
        """Set `hot`, and inject the failures of FLAMBEAU_FAULTS.  Memory is mapped at its first allocation."""
        if text := config.faults():
            self.faults.ask_once(text, self.device_count())
        self.hot = HotCalls(self)
        self._told_of_choices = False

    def properties(self, device: int) -> DeviceProperties:
        self._check_index(device)
        return self._engine.card.properties(device, self._engine.memory.devices[device].total)

    def device_synchronize(self, device: int) -> None:
        signals.replace_handlers()
        with self._lock:
            self._captures.check_device(device, "device_synchronize")
            self._call(device)
            self._engine.wait_for_device(device)

    def mem_info(self, device: int) -> tuple[int, int]:
        with self._lock:
            self._call(device)
            memory = self._engine.memory.devices[device]
            return memory.total - memory.used, memory.total

    def memory_used(self, device: int) -> int:
        """Return the number of allocated bytes.  Like all monitoring, it takes no modelled time."""
        self._check_index(device)
        return self._engine.memory.devices[device].used

    def busy_percent(self, device: int) -> int:
        """Return the percentage of the last sample of modelled time in which kernels ran."""
        self._check_index(device)
        with self._lock:
            return self._engine.kernels[device].percent(self._engine.clock.now())

    def memory_busy_percent(self, device: int) -> int:
        """Return the percentage of the last sample of modelled time in which kernels or copies ran."""
        self._check_index(device)
        with self._lock:
            return self._engine.kernels[device].percent(self._engine.clock.now(), self._engine.copies[device])

    # time
    def host_ns(self) -> int:
        with self._lock:
            return self._engine.clock.now()

    def end_ns(self) -> int:
        """Return the modelled time at which all submitted work is done.  Costs no modelled time."""
        with self._lock:
            return max([self._engine.clock.now(), *[queue.end_ns for queue in self._engine.runner.queues]])

    def profiler_start(self) -> None:
        """Set `is_profiled`: no profiler attaches to virtual GPUs."""
        self.is_profiled = True

    def profiler_stop(self) -> None:
        self.is_profiled = False

    def measure(self) -> Activities | None:
        """Return None: times are modelled."""
        return None

    def watch(self, witness: Witness | None) -> None:
        """Report order and races to a tool from now on; None ends it."""
        with self._lock:
            self._engine.watch(witness)

    def follow(self, schedule: Schedule) -> None:
        """Let a schedule choose among the ready streams from now on."""
        with self._lock:
            self._engine.runner.follow(schedule)

    def drain(self) -> None:
        """Run all queued work, and print failures and warnings, each once."""
        with self._lock:
            for failure in self._engine.drain():
                print(failure.fact, file=sys.stderr)
            if note := self._engine.races.take_note():
                print(f"flambeau: {note}; run `flambeau check`", file=sys.stderr)
            if self.unused_choices and not self._told_of_choices:
                self._told_of_choices = True
                print(f"flambeau: {self.unused_choices}\nhint: {REPLAY_HINT}", file=sys.stderr)

    @property
    def unused_choices(self) -> str:
        """Return a note about choices of a `replay:` schedule that were not used so far, "" if all were."""
        schedule = self._engine.runner.schedule
        return schedule.surplus if isinstance(schedule, Replay) else ""

    # streams
    def stream_named(self, stream: StreamHandle, name: str, site: str) -> None:
        with self._lock:
            queue = self._queue(stream)
            queue.name, queue.site = name, site

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
                    f"{raw} is not a stream of device {device}",
                    hint="pass the cuda_stream of a stream of this device",
                    error_code=INVALID_HANDLE,
                    operator="stream_adopt",
                )
            return queue.handle

    def stream_destroy(self, stream: StreamHandle) -> None:
        """Destroy the handle; queued work continues."""
        with self._lock:
            queue = self._queue(stream)
            if queue.is_default:
                raise AcceleratorError(
                    f"stream {stream} is a default stream", error_code=INVALID_HANDLE, operator="stream_destroy"
                )
            if queue.capture is not None:
                self._captures.check_stream(queue, "stream_destroy")
            del self._streams[stream]
            self._engine.retire(queue)

    def stream_query(self, stream: StreamHandle) -> bool:
        with self._lock:
            queue = self._queue(stream)
            self._captures.check_stream(queue, "stream_query")
            self._engine.queries += 1
            if queue.end_ns > self._engine.clock.spend(self._engine.card.host.call):
                return False
            if queue.late is not None:  # a pending collective, which may wait for other processes
                if not self._engine.runner.run_until(queue.tail(), waits=False):
                    return False
                if settled(queue.end_ns, queue.late)[0] > self._engine.clock.now():
                    return False
            self._engine.wait_for_queue(queue)
            return True

    def stream_synchronize(self, stream: StreamHandle) -> None:
        signals.replace_handlers()
        with self._lock:
            queue = self._queue(stream)
            self._captures.check_stream(queue, "stream_synchronize")
            self._engine.clock.spend(self._engine.card.host.call)
            self._engine.wait_for_queue(queue)

    def stream_wait_event(self, stream: StreamHandle, event: EventHandle, external: bool = False) -> None:
        with self._plain_lock:
            self._events_of.wait_on_queue(self._queue(stream), self._event(event), external)

    def expose(self) -> None:
        """Do nothing: calls are never deferred."""

    def stream_raw(self, stream: StreamHandle) -> int:
        with self._lock:
            queue = self._queue(stream)
            return 0 if queue.is_default else queue.handle

    # events
    def event_create(self, device: int, timing: bool, blocking: bool, interprocess: bool) -> EventHandle:
        """Create an event.  `blocking` has no effect: how a host thread sleeps is not modelled."""
        with self._lock:
            self._call(device)
            if timing and interprocess:
                raise AcceleratorError(
                    "interprocess events have no timing", error_code=INVALID_VALUE, operator="event_create"
                )
            handle = EventHandle(next_handle())
            self._events[handle] = Event(handle, device, timing, interprocess)
            return handle

    def event_destroy(self, event: EventHandle) -> None:
        """See Driver.  Takes no lock: finalizers call it, in threads that hold locks for which its owner may wait."""
        self._event(event)
        del self._events[event]

    def event_record(self, event: EventHandle, stream: StreamHandle, external: bool = False) -> None:
        with self._plain_lock:
            self._events_of.record(self._event(event), self._queue(stream), external)

    def event_raw(self, event: EventHandle) -> int:
        with self._lock:
            return self._event(event).handle

    def event_query(self, event: EventHandle, orders: bool = True) -> bool:
        with self._lock:
            self._engine.queries += orders
            return self._events_of.is_done(self._event(event), orders)

    def event_synchronize(self, event: EventHandle, orders: bool = True) -> None:
        signals.replace_handlers()
        with self._lock:
            self._events_of.wait_on_host(self._event(event), orders)

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
                    f"device {device} cannot reach device {peer}",
                    error_code=PEER_ACCESS_UNSUPPORTED,
                    operator="peer_enable",
                )
            self._engine.memory.peers.add((device, peer))

    def kernel_load(self, device: int, kernel: Kernel) -> KernelHandle:
        with self._lock:
            self._check(device)
            handle = self._kernel_handles.get((device, kernel))
            self._contexts.add(device)
            if handle is None:
                self._captures.check_unsafe("kernel_load")
                handle = KernelHandle(next_handle())
                self._kernel_handles[device, kernel] = handle
                self._kernels[handle] = self._loaded_kernel(device, kernel)
            return handle

    def _loaded_kernel(self, device: int, kernel: Kernel) -> Loaded:
        card = self._engine.card

        def duration(accesses: list[Access]) -> int:
            return card.launch_ns(kernel.entry, kernel.operations, accesses)

        is_own = type(kernel) is Kernel  # a kernel of the program has another class
        host_ns = card.kernel_host_ns(kernel.entry)
        return Loaded(device, kernel.entry, kernel.reference, kernel.bind, duration, of_kernel(kernel), is_own, host_ns)

    def library_plan(self, device: int, problem: LibraryOperation) -> tuple[PlanHandle, int]:
        if problem.kind not in LIBRARIES:
            raise NotSupportedError(f"the virtual driver does not implement {problem.kind!r}", operator="library_plan")
        with self._lock:
            self._captures.check_unsafe("library_plan")
            self._check(device)
            handle = PlanHandle(next_handle())
            card = self._engine.card
            self._plans[handle] = Loaded(
                device,
                problem.kind,
                problem.reference,
                problem.accesses,
                lambda accesses: card.library_ns(problem, accesses),
                ADDRESSES,
                host_ns=card.library_host_ns(problem),
            )
            return handle, card.workspace_nbytes(problem)

    def library_reserve(self, plan: PlanHandle) -> int:
        return 0

    def product_workspace(self, device: int) -> int:
        """Return the size that the environment sets; 0 by default."""
        return self._granted_workspace

    def blas_handle(self, stream: StreamHandle) -> int:
        """Return a number that, like a raw stream here, is no valid handle for another library."""
        with self._lock:
            return self._blas_handles.get(self._queue(stream).device, next_handle)

    def library_run(
        self, plan: PlanHandle, addresses: tuple[int, ...], workspace: Address, stream: StreamHandle
    ) -> None:
        """Queue a library call; `workspace` is not written."""
        with self._lock:
            queue = self._queue(stream)
            loaded = self._lookup(self._plans, plan, "plan")
            task = callers.here().task
            self._enqueue(queue, loaded, tuple(addresses), 0 if task is None else self._backward_ns(task))


HINT = "ask for it on an NVIDIA GPU: FLAMBEAU_GPUS=nvidia"


class VirtualMonitor:
    """An implementation of `driver.api.Monitor`.  Before the driver starts, devices are idle and empty."""

    def __init__(self, choice: Gpus, started: VirtualDriver | None) -> None:
        self._card = card(choice.preset)
        self._started = started

    def utilization(self, device: int) -> int:
        return 0 if self._started is None else self._started.busy_percent(device)

    def memory_usage(self, device: int) -> int:
        return 0 if self._started is None else self._started.memory_busy_percent(device)

    def memory_used(self, device: int) -> int:
        return 0 if self._started is None else self._started.memory_used(device)

    def temperature(self, device: int) -> int:
        raise NotSupportedError(
            "virtual GPUs have no temperature: they model work and time only", hint=HINT, operator="temperature"
        )

    def power_draw(self, device: int) -> int:
        raise NotSupportedError(
            "virtual GPUs draw no power: they model work and time only", hint=HINT, operator="power_draw"
        )

    def clock_rate(self, device: int) -> int:
        return self._card.clock_mhz

    def processes(self, device: int) -> list[GpuProcess]:
        """Return this process if it has memory on the device: each process has its own virtual GPUs."""
        used = self.memory_used(device)
        return [GpuProcess(os.getpid(), used)] if used else []
