"""State and argument checks shared by the call groups of the virtual driver."""

from __future__ import annotations

import itertools
from collections import deque
from typing import TypeVar

from ...config import Gpus, blas_workspace
from ...core.locks import ReentrantLock
from ...errors import AcceleratorError
from ...kernel import Kernel
from ...library_operation import CONVOLUTIONS
from ...solver_operation import SOLVERS
from ..api import Capabilities, EventHandle, KernelHandle, PlanHandle, StreamHandle
from ..per_thread import PerThread
from .card import Card, card
from .clock import HostClocks
from .copies import Copies
from .engine import Engine
from .events import INVALID_HANDLE, Event, Events
from .faults import Faults
from .queue import Loaded, Queue
from .schedule import Schedule, from_text
from .submission import WarmCalls

INVALID_DEVICE = 101  # CUresult
LIBRARIES = SOLVERS | {"gemm", "attention", "attention_backward", "recurrent", "recurrent_backward", *CONVOLUTIONS}

_handles = itertools.count(1)
Handle = TypeVar("Handle")
Entry = TypeVar("Entry")


def next_handle() -> int:
    """Return a handle that is unique in the process."""
    return next(_handles)


class Calls(WarmCalls):
    """Base of the driver's groups of calls: the state of one machine, and checks of handles."""

    def __init__(self, choice: Gpus, schedule: Schedule | None = None) -> None:
        self.capabilities = Capabilities(
            "virtual",
            graphs=True,
            ipc=True,
            faults=True,
            modelled_time=True,
            calibrated=card(choice.preset).is_calibrated,
            watches_blocks=True,
            runs_references=True,
            finds_races=True,
            exchanges=True,
            libraries=LIBRARIES,
            computes=choice.values,
        )
        self.faults = Faults()
        self.is_profiled = False
        self._lock = self._make_lock()
        self._plain_lock: ReentrantLock = self._lock  # of calls that may be made while others are deferred
        self._inner_lock = self._lock.inner
        self._engine: Engine = self._make_engine(choice, schedule or from_text(choice.schedule))
        self._captures = self._engine.captures
        self._events_of = Events(self._engine)
        self._copies = Copies(self._engine, self.faults)
        self._streams: dict[StreamHandle, Queue] = {}
        self._defaults: dict[int, Queue] = {}
        self._events: dict[EventHandle, Event] = {}
        self._kernels: dict[KernelHandle, Loaded] = {}
        self._kernel_handles: dict[tuple[int, Kernel], KernelHandle] = {}
        self._plans: dict[PlanHandle, Loaded] = {}
        self._granted_workspace = blas_workspace() or 0
        self._blas_handles: PerThread[int, int] = PerThread()
        self._contexts: set[int] = set()  # devices that were used

    def _make_lock(self) -> ReentrantLock:
        return ReentrantLock()

    def _make_engine(self, choice: Gpus, schedule: Schedule) -> Engine:
        return Engine(choice, schedule, self._lock)

    @property
    def card(self) -> Card:
        """The properties and speeds of the modelled GPU."""
        return self._engine.card

    @property
    def queries(self) -> int:
        """The number of queries of streams and events by the program."""
        return self._engine.queries

    @property
    def log(self) -> deque[tuple[StreamHandle, int, str]]:
        return self._engine.runner.log

    @property
    def clock(self) -> HostClocks:
        return self._engine.clock

    def device_count(self) -> int:
        return len(self._engine.memory.devices)

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
        self._contexts.add(device)
        self._engine.clock.spend(self._engine.card.host.call if host_ns is None else host_ns)

    def _use_any(self) -> None:
        """Create a context on the first device if there is none, for pinning."""
        if not self._contexts:
            self._contexts.add(0)

    def _queue(self, stream: StreamHandle) -> Queue:
        queue = self._streams.get(stream)
        if queue is None:
            queue = self._lookup(self._streams, stream, "stream")
        if self._engine.runner.failures:
            self._engine.runner.check(queue.device)
        return queue

    def _event(self, event: EventHandle) -> Event:
        result = self._lookup(self._events, event, "event")
        self._engine.runner.check(result.device)
        return result

    def _lookup(self, table: dict[Handle, Entry], handle: Handle, what: str) -> Entry:
        result = table.get(handle)
        if result is None:
            raise AcceleratorError(
                f"{what} {handle} does not exist: it was never created, or was destroyed", error_code=INVALID_HANDLE
            )
        return result
