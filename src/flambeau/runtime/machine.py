"""The machine: all GPU state of a process.  A test can create its own.

- Queued work of virtual GPUs runs before the process ends.  A forked child of `multiprocessing` ends without `atexit`
  and drops the finalizers of its parent, so the finalizer is registered again in the child.
- With races="error", host accesses to pinned memory are checked like any other.  Accesses by other libraries, and
  through NumPy arrays created before a copy, are not detected.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, Protocol

from .. import callers, config, driver, signals
from ..config import Gpus
from ..core import thread
from ..core.hooks import subscribe
from ..core.locks import ReentrantLock, whole
from ..driver.api import DeviceProperties, EventHandle, KernelHandle, Monitor, PartitionHandle, PlanHandle, StreamHandle
from ..errors import ConfigError, DeferredCudaCallError, NoDeviceError
from ..kernel import Access, Kernel
from ..library_operation import LibraryOperation
from ..memory import settings
from ..memory.allocator import CachingAllocator, RawBlocks
from ..memory.direct import DirectAllocator, DriverPool, LibraryFunctions, Source
from ..memory.pinned import PinnedCache
from ..memory.private import relaxed
from ..memory.settings import Settings
from . import fork, strict
from .cudart import HostRegistry
from .device import CPU_INDEX, device
from .generator import new_default
from .green_context import GreenContext
from .stream import STREAMS_PER_POOL, Stream

PRIORITIES = 4
STACK_FRAMES = 3  # source lines kept for the error of a call that is deferred until the start
SANITIZER = "TORCH_CUDA_SANITIZER works on virtual GPUs only: `flambeau check --gpus nvidia` finds races here"
HINT = (
    "set FLAMBEAU_GPUS=virtual:2, call flambeau.virtual(2) before the first use, or run with "
    "`flambeau run --gpus virtual:2`"
)


class Accelerator(thread.Device):
    """One device: its allocator, streams, generator and loaded kernels."""

    def __init__(self, machine: Machine, index: int) -> None:
        super().__init__(index, machine)
        self.public = device("cuda", index)
        self.driver = machine.driver
        self.properties: DeviceProperties = machine.properties(index)
        self.default_stream = Stream.adopt(machine, index, self.driver.stream_adopt(index, 0))
        self.allocator = machine.make_allocator(index)
        self.raw_blocks = RawBlocks(self.allocator)
        self.generator = new_default(index)
        self.kernels: dict[Kernel, KernelHandle] = {}
        self._library_plans: dict[LibraryOperation, tuple[PlanHandle, int]] = {}
        self.capture_stream: Stream | None = None  # the capture stream of cuda.graph(), created at its first use
        self._pools: dict[int, list[Stream]] = {}
        self._next: dict[int, int] = {}
        self._named: dict[tuple[int, str], Stream] = {}
        self._peers: set[int] = set()  # devices for which `peer` was called

    def kernel(self, kernel: Kernel) -> KernelHandle:
        """Return the loaded form of a kernel on this device."""
        handle = self.kernels.get(kernel)
        if handle is None:
            with self.machine.loading():
                handle = self.kernels[kernel] = self.driver.kernel_load(self.index, kernel)
        return handle

    @whole
    def library_plan(self, problem: LibraryOperation) -> tuple[PlanHandle, int]:
        """Return the driver's handle for a library operation, and the workspace bytes that a run needs."""
        plan = self._library_plans.get(problem)
        if plan is None:
            with self.machine.loading():
                plan = self._library_plans[problem] = self.driver.library_plan(self.index, problem)
        return plan

    def side_stream(self, priority: int, name: str = "") -> Stream:
        """Return the next stream of a priority's pool, which hands out 32 streams round robin.

        name: return the stream of that name instead.
        """
        level = min(0, max(priority, 1 - PRIORITIES))
        with self.machine.lock:
            if name:
                named = self._named.get((level, name))
                if named is None:
                    handle = self.driver.stream_create(self.index, level)
                    named = self._named[level, name] = Stream.adopt(self.machine, self.index, handle, level)
                return named
            pool = self._pools.setdefault(level, [])
            turn = self._next.get(level, 0)
            self._next[level] = turn + 1
            if turn < STREAMS_PER_POOL:
                handle = self.driver.stream_create(self.index, level)
                pool.append(Stream.adopt(self.machine, self.index, handle, level))
            stream = pool[turn % STREAMS_PER_POOL]
            stream.handed_out += 1
            return stream

    @whole
    def stream_of_its_own(self) -> Stream:
        """Create a stream that only the caller uses, unlike the shared streams of the stream pools."""
        return Stream.adopt(self.machine, self.index, self.driver.stream_create(self.index, 0))

    def peer(self, other: int) -> None:
        """Enable direct access to `other`'s memory, if the hardware supports it.  The driver is asked once."""
        if other in self._peers:
            return
        if self.driver.peer_can(self.index, other):
            with self.machine.loading():
                self.driver.peer_enable(self.index, other)
        self._peers.add(other)


class Machine(thread.Machine):
    """The GPUs of a process.  Until `start`, only `device_count` may call the driver."""

    devices: list[Accelerator]
    settings: Settings
    pinned: PinnedCache

    def __init__(self, choice: Gpus, schedule: Any = None) -> None:
        super().__init__()
        self.asked = self.choice = choice  # a tool may replace `choice` when the machine starts
        self.schedule = schedule
        self.lock = ReentrantLock()
        self.streams: dict[StreamHandle, Stream] = {}
        self.registered = HostRegistry()
        self.green_contexts: dict[PartitionHandle, GreenContext] = {}
        self.strict: strict.Strict | None = None  # the checks of FLAMBEAU_STRICT=1
        self.cpu_generator = new_default(CPU_INDEX)
        self._on_start: list[tuple[Callable[[], object], list[str]]] = []  # with the source lines of each call
        self.stray_contexts = ""  # reaction of set_device to contexts on other devices: "warn", "error" or ""
        self._starting: int | None = None
        self.process = os.getpid()  # finalizers do nothing in a forked child
        self.forked: fork.Refusal | None = None  # set in a child that has its parent's machine
        self.allocator_functions: LibraryFunctions | None = None  # used in place of the caching allocator
        self.exchange: Any = None  # ipc.Exchange, once something is shared with another process

    @staticmethod
    def from_environment() -> Machine:
        """Make the machine that FLAMBEAU_GPUS selects; by default the NVIDIA GPUs, or no GPUs if there are none."""
        return Machine(config.gpus() or Gpus("nvidia" if driver.nvidia_is_there() else "none"))

    def start(self) -> None:
        """Start the driver, once; any thread may call.  Raises NoDeviceError if there is no GPU."""
        if self.is_started:
            return
        with self.lock:
            if self.is_started or self._starting == threading.get_ident():
                return
            self._starting = threading.get_ident()
            try:
                self._start()
                self.is_started = True
            finally:
                self._starting = None
            self._call_deferred()

    def _call_deferred(self) -> None:
        """Make the deferred calls.  The first that fails raises DeferredCudaCallError; later ones are not made."""
        deferred, self._on_start = self._on_start, []
        for call, stack in deferred:
            try:
                call()
            except Exception as failure:
                raise DeferredCudaCallError(
                    f"a call that was deferred until CUDA started failed: {failure}; made at "
                    f"{', called from '.join(stack) or '<unknown>'}"
                ) from failure

    def _start(self) -> None:
        if self.forked is not None:
            raise self.forked.error()
        if self.choice.kind == "nvidia" and config.sanitizer():
            warnings.warn(SANITIZER, RuntimeWarning, stacklevel=2)
        count = self.device_count()
        if count == 0:
            raise self._no_device()
        self._ordinals = self._visible()
        self.settings, is_strict = settings.from_environment(), config.strict()
        self.stray_contexts = config.stray_contexts()
        if watcher is not None:
            self.choice = watcher.chosen(self.choice)
        self.driver = driver.make(replace(self.choice, count=count), self.schedule)
        self.driver.start()
        self.process = os.getpid()
        self.launch_blocking = config.launch_blocking()
        self.pinned = PinnedCache(self.driver, self.record_event, self.settings.pinned_max_cached)
        self.pinned.registers = self.settings.pinned_registers
        self.devices = [Accelerator(self, index) for index in range(self.driver.device_count())]
        fork.watch(self)
        if is_strict:
            self.strict = strict.watch()
        is_real = self.choice.races == "real" and (self.schedule or self.choice.schedule) != "submission"
        if (self.choice.races == "error" or is_real) and self.driver.capabilities.finds_races:
            watch_host_accesses()
        if watcher is not None:
            watcher.started(self)
        drain_at_exit()
        signals.replace_handlers()

    def make_allocator(self, index: int) -> CachingAllocator:
        """Make the allocator of a device, of the kind that the settings or `change_current_allocator` chose."""
        source: Source | None = self.allocator_functions
        if source is None and self.settings.backend == "cudaMallocAsync":
            source = DriverPool(self.driver)
        if self.allocator_functions is not None:
            self.allocator_functions.driver = self.driver
        if source is None:
            return CachingAllocator(self.driver, index, self.record_event, self.settings)
        return DirectAllocator(self.driver, index, self.record_event, self.settings, source, self._follow)

    def _follow(self, stream: StreamHandle, other: StreamHandle) -> None:
        self.streams[stream].follow(self.streams[other])

    def _no_device(self) -> NoDeviceError:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        if visible is None or self.choice.kind == "none":
            return NoDeviceError(
                "No CUDA GPUs are available: CUDA was used, but there is no NVIDIA GPU and no virtual GPU",
                hint=HINT,
            )
        count = self.choice.count
        hidden = "the only GPU" if count == 1 else f"all {count} GPUs"
        effect = f"hides {hidden}" if self.choice.kind == "virtual" else "leaves no NVIDIA GPU"
        text = visible or "''"
        return NoDeviceError(
            f"CUDA was used, but CUDA_VISIBLE_DEVICES={text} {effect}",
            hint="unset CUDA_VISIBLE_DEVICES, or list existing GPUs in it, each once",
        )

    def at_start(self, call: Callable[[], object]) -> None:
        """Run `call` now if the machine has started, otherwise when it starts; deferred calls keep their order."""
        with self.lock:
            if not self.is_started:
                self._on_start.append((call, callers.call_stack(STACK_FRAMES)))
                return
        call()

    def loading(self) -> AbstractContextManager[None]:
        """Return a context manager in which loading and allocating, which use no stream, invalidate no capture."""
        return relaxed(self.driver) if self.capture is not None else nullcontext()

    def device_count(self) -> int:
        """Return the number of devices.  Never raises, and starts CUDA only if NVML cannot tell."""
        if self.is_started:
            return len(self.devices)
        if self.forked is not None:
            return self.forked.count
        if self.choice.kind == "virtual":
            return len(self._visible())
        return driver.nvidia_device_count() if self.choice.kind == "nvidia" else 0

    def monitor(self) -> Monitor:
        """Return the monitor of the devices.  Does not start CUDA.  Raises NoDeviceError if there is none."""
        return driver.monitor(self.choice, self.driver if self.is_started else None)

    def properties(self, index: int) -> DeviceProperties:
        """Return the properties of a device.  The UUID of a virtual one does not depend on CUDA_VISIBLE_DEVICES."""
        properties = self.driver.properties(index)
        if self.choice.kind != "virtual":
            return properties
        return properties._replace(uuid=config.virtual_uuid(self._ordinals[index]))

    def _visible(self) -> list[int]:
        return config.visible_devices([config.virtual_uuid(ordinal) for ordinal in range(self.choice.count)])

    def record_event(self, stream: StreamHandle) -> EventHandle:
        """Create an event without timing and record it on a stream, for the allocators."""
        queue = self.streams[stream]
        event = self.driver.event_create(queue.device_index, False, False, False)
        queue.record(event)
        return event


class Watcher(Protocol):
    """A tool that watches every machine of the process."""

    def chosen(self, choice: Gpus) -> Gpus:
        """Return the GPUs to use in place of those that a machine is about to start."""

    def started(self, machine: Machine) -> None:
        """Called when a machine has started."""


watcher: Watcher | None = None

thread.make_machines_by(Machine.from_environment)


def choose(gpus: Gpus) -> None:
    """Select the process's GPUs.  Raises ConfigError if the machine has already started with other GPUs."""
    current = thread.machine() if thread.has_machine() else None
    if isinstance(current, Machine) and current.is_started:
        if current.asked == gpus:
            return
        raise ConfigError(
            f"virtual: the machine has started already, with {current.device_count()} devices",
            hint="call it before the first use of CUDA, or use flambeau.testing.machine(...) in tests",
        )
    thread.swap_machine(Machine(gpus))


DRAIN_PRIORITY = 100  # of the finalizer: it runs before those of multiprocessing's queues and pools

_drains_in = 0  # id of the process that has registered the finalizer


def drain_at_exit() -> None:
    """Run the queued work of the process's machine at exit."""
    global _drains_in
    if _drains_in != os.getpid():
        from multiprocessing import util  # imported late: importing flambeau must not load multiprocessing

        _drains_in = os.getpid()
        atexit.register(_drain)
        _finalize(_drain)
        util.register_after_fork(_drain, _finalize)


def _finalize(drain: object) -> None:
    from multiprocessing import util

    util.Finalize(None, _drain, exitpriority=DRAIN_PRIORITY)


def abandon_work() -> None:
    """Leave the queued work of this process undone at exit, where nothing may wait for it any more."""
    global _drains_in
    _drains_in = 0


def _is_interrupted() -> bool:
    """Return whether KeyboardInterrupt ends the process."""
    return getattr(sys, "last_type", None) is KeyboardInterrupt and not hasattr(sys, "ps1")


def _drain() -> None:
    if _is_interrupted():
        return
    machine = thread.machine() if thread.has_machine() else None
    if machine is not None and machine.is_started and machine.forked is None and _drains_in == os.getpid():
        machine.driver.drain()


_watches_host_accesses = False


def watch_host_accesses() -> None:
    """Report host memory accesses to the driver, for machines that detect races and for tools."""
    global _watches_host_accesses
    if not _watches_host_accesses:
        subscribe(on_host_read=_host_accessed, on_host_write=_host_accessed)
        _watches_host_accesses = True


def _host_accessed(access: Access) -> None:
    machine = thread.machine() if thread.has_machine() else None
    if machine is not None and machine.is_started and machine.driver.capabilities.finds_races:
        machine.driver.host_accessed(access)
