"""Start methods, with queues and pools that carry tensors.

- A queue or pool pickles an object at once, in the thread that puts it.  So a tensor is ordered after that thread's
  current stream, and `put` itself raises the error of an object that cannot be pickled.
- `withdraw` takes back objects that no process received.
- Spawned and fork-server processes inherit the parent's choice of virtual GPUs.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.context
import multiprocessing.pool
import multiprocessing.queues
import pickle
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from ..config import Gpus
from ..core import thread
from ..errors import ArgumentError
from ..runtime.machine import Machine
from . import reductions

if TYPE_CHECKING:  # typeshed's classes are generic, the library's are not
    _Queue = multiprocessing.queues.Queue[Any]
    _JoinableQueue = multiprocessing.queues.JoinableQueue[Any]

    class _Pool(multiprocessing.pool.Pool):
        """multiprocessing.Pool with the private methods that typeshed leaves out."""

        def _check_running(self) -> None: ...
        def _map_async(self, func: Any, iterable: Iterable[Any], *rest: Any) -> Any: ...
else:
    _Queue, _JoinableQueue = multiprocessing.queues.Queue, multiprocessing.queues.JoinableQueue
    _Pool = multiprocessing.pool.Pool


class Packed:
    """An object pickled for a queue or pool; unpickling gives the object itself.

    As a context manager it cancels the transfer of its tensors if the block raises.
    """

    __slots__ = ("_data", "_route")

    def __init__(self, value: Any, owner: object) -> None:
        self._route = reductions.Route(owner)
        self._data = reductions.packed(value, self._route)

    def __enter__(self) -> Packed:
        return self

    def __exit__(self, error_type: object, *error: object) -> None:
        if error_type is not None:
            reductions.cancel(self._route)

    def __reduce__(self) -> tuple[Any, ...]:
        return pickle.loads, (self._data,)


class Withdrawing:
    """Mixin of queues that adds `withdraw`."""

    def withdraw(self) -> int:
        """Withdraw the tensors that this process put and no process received; return their number.

        For a queue whose reader has ended: tensors that it left in the queue, or read and did not open, are kept until
        this call.  Receiving one afterwards raises ProcessGoneError.
        """
        return reductions.withdraw(self)


class Queue(Withdrawing, _Queue):
    """multiprocessing.Queue that carries tensors.

    Raises: in `get(timeout=seconds)` and `put(timeout=seconds)`, queue.Empty and queue.Full.
    """

    def put(self, obj: Any, block: bool = True, timeout: float | None = None) -> None:
        with Packed(obj, self) as packed:
            super().put(packed, block, timeout)


class JoinableQueue(Withdrawing, _JoinableQueue):
    """multiprocessing.JoinableQueue that carries tensors."""

    def put(self, obj: Any, block: bool = True, timeout: float | None = None) -> None:
        with Packed(obj, self) as packed:
            super().put(packed, block, timeout)


class SimpleQueue(Withdrawing, multiprocessing.queues.SimpleQueue[Any]):
    """multiprocessing.SimpleQueue that carries tensors."""

    def put(self, obj: Any) -> None:
        with Packed(obj, self) as packed:
            super().put(packed)


class Pool(_Pool):
    """multiprocessing.Pool that carries tensors.

    `apply`, `map`, `starmap` and their asynchronous forms pickle at the call.  `imap` and `imap_unordered` pickle in a
    thread of the pool, so work on their tensors must be complete.  A result lives as long as the worker that made it:
    clone it to keep it after the pool has ended.
    Raises: the builtin ValueError for processes below 1, the builtin TypeError for an initializer that is not callable.
    """

    def apply_async(
        self,
        func: Callable[..., Any],
        args: Iterable[Any] = (),
        kwds: Mapping[str, Any] = {},
        callback: Any = None,
        error_callback: Any = None,
    ) -> Any:
        self._check_running()  # before anything is pickled, so that an error leaves nothing in flight
        with ExitStack() as all_or_none:
            packed_args = [all_or_none.enter_context(Packed(value, self)) for value in args]
            named = {name: all_or_none.enter_context(Packed(value, self)) for name, value in kwds.items()}
            return super().apply_async(func, packed_args, named, callback, error_callback)

    def _map_async(self, func: Any, iterable: Iterable[Any], *rest: Any) -> Any:
        self._check_running()
        with ExitStack() as all_or_none:
            packed_items = [all_or_none.enter_context(Packed(item, self)) for item in iterable]
            return super()._map_async(func, packed_items, *rest)

    def terminate(self) -> None:
        super().terminate()
        reductions.withdraw(self)


def _choice() -> Gpus | None:
    """Return the parent's choice of virtual GPUs, passed to a child."""
    chosen = thread.machine().choice if thread.has_machine() else None
    return chosen if chosen is not None and chosen.kind == "virtual" else None


def _process(cls: Any, choice: Gpus | None) -> Any:
    """Make a process object in the child, after choosing the parent's GPUs unless a machine exists."""
    if choice is not None and not thread.has_machine():
        thread.swap_machine(Machine(choice))
    return cls.__new__(cls)


class Process(multiprocessing.Process):
    """A process of the default start method: Process(target=f, args=(...,)), or a subclass with `run`.

    Raises: in `start`, the builtin AssertionError if it was started before.
    Example:
        >>> process = torch.multiprocessing.Process(target=pow, args=(2, 3))
        >>> process.start()
        >>> process.join()
        >>> process.exitcode
        0
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _process, (type(self), _choice()), self.__dict__


class SpawnProcess(multiprocessing.context.SpawnProcess):
    """A process of start method "spawn"."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _process, (type(self), _choice()), self.__dict__


class ForkServerProcess(multiprocessing.context.ForkServerProcess):
    """A process of start method "forkserver"."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _process, (type(self), _choice()), self.__dict__


class _Context(multiprocessing.context.BaseContext):
    """Mixin of contexts that adds queues and pools which carry tensors."""

    def Queue(self, maxsize: int = 0) -> Any:  # noqa: N802
        return Queue(maxsize, ctx=self.get_context())

    def JoinableQueue(self, maxsize: int = 0) -> Any:  # noqa: N802
        return JoinableQueue(maxsize, ctx=self.get_context())

    def SimpleQueue(self) -> Any:  # noqa: N802
        return SimpleQueue(ctx=self.get_context())

    def Pool(  # noqa: N802
        self, processes: Any = None, initializer: Any = None, initargs: Any = (), maxtasksperchild: Any = None
    ) -> Any:
        return Pool(processes, initializer, initargs, maxtasksperchild, context=self.get_context())


class SpawnContext(_Context, multiprocessing.context.SpawnContext):
    """Context of start method "spawn"."""

    Process = SpawnProcess


class ForkServerContext(_Context, multiprocessing.context.ForkServerContext):
    """Context of start method "forkserver"."""

    Process = ForkServerProcess


class ForkContext(_Context, multiprocessing.context.ForkContext):
    """Context of start method "fork".  Children cannot use CUDA if their parent has started it."""


_CONTEXTS: dict[str, Any] = {"spawn": SpawnContext(), "forkserver": ForkServerContext(), "fork": ForkContext()}


def get_context(method: str | None = None) -> Any:
    """Return the context of a start method, "spawn", "forkserver" or "fork"; None is the default one.

    Raises: ArgumentError for any other name.
    Example:
        >>> context = torch.multiprocessing.get_context("spawn")
        >>> context.get_start_method()
        'spawn'
    """
    name = multiprocessing.get_start_method() if method is None else method
    if name not in _CONTEXTS:
        raise ArgumentError(
            f"cannot find context for {name!r}", hint=f"use one of {', '.join(_CONTEXTS)}", operator="get_context"
        )
    return _CONTEXTS[name]
