"""Fork after CUDA started: in the child, every use of the inherited machine raises AcceleratorError.

- The check costs nothing until a fork happens: in the child, every reference to the driver is replaced.
- Finalizers do nothing in the child.  Those of other threads' local objects run there before any function of
  os.register_at_fork: they compare `Machine.process`, and a native Lock knows the forks by itself.
- The child's CPU tensors and CPU generator keep working.
"""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING, Any, NoReturn

from .. import callers, driver
from ..core import thread
from ..driver.api import EventHandle, GraphExecHandle, GraphHandle
from ..errors import AcceleratorError

if TYPE_CHECKING:
    from .machine import Machine

NOT_INITIALIZED = 3  # CUresult
STACK_FRAMES = 3  # source lines of the machine's start that the error shows
HINT = (
    "use the 'spawn' or 'forkserver' start method, as in flambeau.multiprocessing.get_context('spawn'), or fork before "
    "the first use of CUDA"
)

_started: weakref.WeakKeyDictionary[Machine, Refusal] = weakref.WeakKeyDictionary()


class Refusal:
    """Replaces the driver and devices in a forked child: any use raises AcceleratorError.

    pid: the process that started the machine;  count: the number of its devices;  stack: source lines of the start,
    innermost first.
    """

    def __init__(self, pid: int, count: int, stack: list[str]) -> None:
        self.pid = pid
        self.count = count
        self.stack = stack

    def error(self) -> AcceleratorError:
        where = ", called from ".join(map(_with_source, self.stack)) or "<unknown>"
        return AcceleratorError(
            f"Cannot re-initialize CUDA in forked subprocess: process {self.pid} had started CUDA, at {where}, before "
            f"process {os.getpid()} was forked from it",
            hint=HINT,
            error_code=NOT_INITIALIZED,
        )

    def event_destroy(self, event: EventHandle) -> None:
        """Do nothing: the parent owns the event."""

    def graph_destroy(self, graph: GraphHandle | GraphExecHandle) -> None:
        """Do nothing: the parent owns the graph."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self.error()

    def __getitem__(self, index: int) -> NoReturn:
        raise self.error()

    def __iter__(self) -> NoReturn:
        raise self.error()

    def __len__(self) -> NoReturn:
        raise self.error()


def _with_source(site: str) -> str:
    source = callers.source_at(site)
    return f"{site} (`{source}`)" if source else site


def watch(machine: Machine) -> None:
    """Register a started machine and the source lines of its start."""
    _started[machine] = Refusal(os.getpid(), len(machine.devices), callers.call_stack(STACK_FRAMES))


def _in_child() -> None:
    """Make the inherited machines of a forked child refuse all use."""
    current = thread.machine() if thread.has_machine() else None
    for machine, refusal in list(_started.items()):
        dead: Any = refusal
        for accelerator in machine.devices:
            accelerator.driver = dead
        for stream in machine.streams.values():
            stream.driver = dead
        machine.driver = dead
        if machine is current:
            thread.swap_machine(_refused(machine, refusal))
            current = None
    _started.clear()
    asked = driver.nvidia_initialized()
    if current is not None and current.choice.kind == "nvidia" and asked is not None and current.forked is None:
        # No machine was started, but counting the devices has initialized NVIDIA's driver.
        thread.swap_machine(_refused(current, Refusal(asked[0], 0, asked[1])))


def _refused(former: Machine, refusal: Refusal) -> Machine:
    """Return the machine of a forked child: it cannot start, and shares the parent's CPU state."""
    refused = type(former)(former.choice, former.schedule)
    dead: Any = refusal
    refused.forked, refused.driver, refused.devices = refusal, dead, dead
    refused.cpu_generator, refused.plans = former.cpu_generator, former.plans
    return refused


os.register_at_fork(after_in_child=_in_child)
