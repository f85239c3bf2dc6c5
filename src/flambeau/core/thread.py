"""Per-thread state, and the process's machine and devices.

All implicit state is here: a call reads from this module whatever is not passed to it.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import host
from ..driver.api import Driver
from .locks import ReentrantLock
from .native import Lock, thread_ident

if TYPE_CHECKING:
    from ..memory.allocator import CachingAllocator
    from ..runtime.generator import Generator
    from ..runtime.machine import Machine as RunningMachine
    from ..runtime.stream import Stream
    from .layout import Layout

CPU_INDEX = -1
MAX_ENTRIES = 4096  # most entries in the call cache of one machine


class Device:
    """One device of one machine, or the CPU: the state that warm calls read.

    index: the CUDA device's number, CPU_INDEX for the CPU.  public: its torch.device.
    layouts: the layouts of its tensors;  dense: the layouts of new tensors, by (dtype, shape).
    """

    machine: Any
    allocator: CachingAllocator
    default_stream: Stream
    generator: Generator
    public: Any
    layouts: dict[Any, Layout]
    dense: dict[Any, Layout]

    __slots__ = (
        "__weakref__", "allocator", "default_stream", "dense", "generator", "index", "layouts", "machine", "public",
    )  # fmt: skip

    def __init__(self, index: int, machine: Any = None) -> None:
        self.index = index
        self.machine = machine
        self.layouts = {}
        self.dense = {}
        unset: Any = None  # the machine sets these three when it starts, which precedes all work on a device
        self.allocator = self.default_stream = self.generator = unset
        self.public = None

    def __str__(self) -> str:
        return str(self.public) if self.index < 0 else f"cuda:{self.index}"


CPU, META = Device(CPU_INDEX), Device(CPU_INDEX)  # tensors on META have no values to read: see tensor/meta.py


class Plans:
    """The call cache of one machine: plans and other entries by the key of a call (see entries.py).

    limit: the number of entries at which some are dropped;  clock: counts uses of entries.
    """

    __slots__ = ("clock", "entries", "limit", "lock")

    def __init__(self) -> None:
        self.entries: dict[Any, Any] = {}
        self.limit = MAX_ENTRIES
        self.clock = 0
        self.lock = Lock()


class Machine:
    """The GPUs of a process: the state that warm calls read.

    devices: empty until the machine has started and is_started is True.  capture: the CUDAGraph that is being captured.
    """

    is_started: bool
    devices: Any
    plans: Plans
    driver: Driver
    launch_blocking: bool
    capture: Any
    cpu_generator: Any

    __slots__ = ("capture", "cpu_generator", "devices", "driver", "is_started", "launch_blocking", "plans")

    def __init__(self) -> None:
        self.is_started = False
        self.devices = []
        self.plans = Plans()
        self.launch_blocking = False
        self.capture = None


class Thread:
    """State of one host thread.  A new thread starts at device 0 and on default streams.

    streams: the current stream by device index, None for a device whose stream was neither set nor read yet.
    chosen: whether the thread has set a device or a stream.
    operator: the public operator that the thread is running, None between calls.
    origin: the `callers.Origin` of that operator's call, None until it is needed.
    task: the running backward pass, or None.
    inference: whether new tensors are inference tensors, without version counters.
    lowering: the Call that operators are being lowered into (see lowering.py), or None.
    autocast: the object that casts the operands of public calls (see autograd/autocast.py), or None.
    """

    __slots__ = (
        "_quiet", "autocast", "chosen", "default_devices", "device", "grad_enabled", "ident", "inference", "lowering",
        "machine", "operator", "origin", "streams", "task",
    )  # fmt: skip

    def __init__(self, ident: int) -> None:
        self.ident = ident
        self.machine: Any = None
        self.device = 0
        self.chosen = False
        self.streams: list[Any] = []
        self.default_devices: list[Any] = []
        self.grad_enabled = True
        self.inference = False
        self.task: Any = None
        self.operator: Any = None
        self.origin: Any = None
        self.lowering: Any = None
        self.autocast: Any = None
        self._quiet: Any = None


class _Local(threading.local):
    def __init__(self) -> None:
        self.thread = Thread(thread_ident())
        self.end = _End()


class _End:
    """Destroyed at thread exit: thread ids are reused."""

    def __del__(self) -> None:
        _forget_last()


_local = _Local()
_last = Thread(0)  # state of the thread that called `here` last: reading it is much cheaper than _local
_lock = ReentrantLock()
_machine: RunningMachine | None = None
_make_machine: Callable[[], RunningMachine] | None = None


def make_machines_by(function: Callable[[], RunningMachine]) -> None:
    """Set the function that makes the process's machine at its first use."""
    global _make_machine
    _make_machine = function


def machine() -> RunningMachine:
    """Return the process's machine; it is made from the environment at first use, and not started."""
    global _machine
    if _machine is None:
        with _lock:
            if _machine is None:
                assert _make_machine is not None
                _machine = _make_machine()
    return _machine


def has_machine() -> bool:
    return _machine is not None


def swap_machine(new: RunningMachine | None) -> RunningMachine | None:
    """Replace the process's machine; return the previous one.  Tensors of the previous one stay bound to it."""
    global _machine
    with _lock:
        previous, _machine = _machine, new
    return previous


def _forget_last() -> None:
    global _last
    _last = Thread(0)


def here() -> Thread:
    """Return the state of the calling thread."""
    global _last
    now = _last
    ident = thread_ident()
    if now.ident != ident:
        now = _last = _local.thread
    if now.machine is not _machine:
        now.machine = _machine
        now.device = 0
        now.chosen = False
        now.streams = []
    return now


def device_at(index: int) -> Device:
    """Return CUDA device `index` of the process's machine, which has started, or the CPU if the index is negative."""
    return CPU if index < 0 else machine().devices[index]


def current_device() -> int:
    """Return the index of this thread's current device."""
    return here().device


def set_device(index: int) -> None:
    now = here()
    now.device = index
    now.chosen = True


def current_stream(index: int) -> Stream:
    """Return this thread's current stream on device `index` of a started machine."""
    now = here()
    streams = now.streams
    stream: Stream | None = streams[index] if index < len(streams) else None
    return _put_stream(now, machine().devices[index].default_stream) if stream is None else stream


def _put_stream(now: Thread, stream: Stream) -> Stream:
    streams, device = now.streams, stream.device_index
    streams.extend([None] * (device + 1 - len(streams)))
    streams[device] = stream
    return stream


def set_stream(stream: Stream) -> None:
    """Make `stream` the current stream of its device; the current device does not change."""
    now = here()
    _put_stream(now, stream)
    now.chosen = True


def quietly(function: Any, arguments: list[Any]) -> Any:
    """Call a NumPy function without floating point warnings, since GPUs give none either."""
    now = here()
    quiet = now._quiet
    if quiet is None:
        context = contextvars.Context()
        context.run(host.np.seterr, all="ignore")
        quiet = context.run
    now._quiet = None  # for a finalizer that runs meanwhile and calls this: a context cannot be entered twice
    try:
        return quiet(function, *arguments)
    finally:
        now._quiet = quiet
