"""Start methods.  Spawned and fork-server processes inherit the parent's choice of virtual GPUs."""

from __future__ import annotations

import multiprocessing
import multiprocessing.context
from typing import Any

from ..config import Gpus
from ..core import thread
from ..errors import ArgumentError
from ..runtime.machine import Machine
from . import queues


def _choice() -> Gpus | None:
    """The parent's choice of virtual GPUs, passed to a child."""
    chosen = thread.machine().choice if thread.has_machine() else None
    return chosen if chosen is not None and chosen.kind == "virtual" else None


def _process(cls: Any, choice: Gpus | None) -> Any:
    """In the child: choose the parent's GPUs, unless something has been chosen, before its arguments are unpickled."""
    if choice is not None and not thread.has_machine():
        thread.swap_machine(Machine(choice))
    return cls.__new__(cls)


class Process(multiprocessing.Process):
    """A process of the default start method: Process(target=f, args=(...,)), or a subclass with `run`."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _process, (type(self), _choice()), self.__dict__


class SpawnProcess(multiprocessing.context.SpawnProcess):
    """A process that starts anew."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _process, (type(self), _choice()), self.__dict__


class ForkServerProcess(multiprocessing.context.ForkServerProcess):
    """A process that is forked from a server, which has started nothing."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _process, (type(self), _choice()), self.__dict__


class _Context:
    """Queues and pools of a context."""

    def Queue(self, maxsize: int = 0) -> Any:  # noqa: N802
        return queues.Queue(maxsize, ctx=self.get_context())  # type: ignore[attr-defined]  # of the context beside it

    def JoinableQueue(self, maxsize: int = 0) -> Any:  # noqa: N802
        # ignored: of the context beside it
        return queues.JoinableQueue(maxsize, ctx=self.get_context())  # type: ignore[attr-defined]

    def SimpleQueue(self) -> Any:  # noqa: N802
        return queues.SimpleQueue(ctx=self.get_context())  # type: ignore[attr-defined]  # of the context beside it

    def Pool(  # noqa: N802
        self, processes: Any = None, initializer: Any = None, initargs: Any = (), maxtasksperchild: Any = None
    ) -> Any:
        # ignored: of the context beside it
        return queues.Pool(processes, initializer, initargs, maxtasksperchild, context=self.get_context())  # type: ignore[attr-defined]


class SpawnContext(_Context, multiprocessing.context.SpawnContext):
    Process = SpawnProcess


class ForkServerContext(_Context, multiprocessing.context.ForkServerContext):
    Process = ForkServerProcess


class ForkContext(_Context, multiprocessing.context.ForkContext):
    """Its children cannot use CUDA if their parent had started it."""


_CONTEXTS: dict[str, Any] = {"spawn": SpawnContext(), "forkserver": ForkServerContext(), "fork": ForkContext()}


def get_context(method: str | None = None) -> Any:
    """The context of a start method, "spawn", "forkserver" or "fork"; of the default one if none is named.

    Raises: ArgumentError for another name.
    """
    name = multiprocessing.get_start_method() if method is None else method
    if name not in _CONTEXTS:
        raise ArgumentError(
            f"cannot find context for {name!r}", hint=f"use one of {', '.join(_CONTEXTS)}", operator="get_context"
        )
    return _CONTEXTS[name]


def Queue(maxsize: int = 0) -> Any:  # noqa: N802
    """A queue of the default start method, for tensors too."""
    return get_context().Queue(maxsize)


def JoinableQueue(maxsize: int = 0) -> Any:  # noqa: N802
    """A queue of the default start method that can be joined, for tensors too."""
    return get_context().JoinableQueue(maxsize)


def SimpleQueue() -> Any:  # noqa: N802
    """A queue without a thread of its own, of the default start method, for tensors too."""
    return get_context().SimpleQueue()


def Pool(processes: Any = None, initializer: Any = None, initargs: Any = (), maxtasksperchild: Any = None) -> Any:  # noqa: N802
    """A pool of the default start method's processes, for tensors too."""
    return get_context().Pool(processes, initializer, initargs, maxtasksperchild)
