"""Queues and pools that pickle an object at once, in the thread that puts it.

So a tensor is ordered after the giving thread's current stream, an object that cannot be pickled is an error where it
was put, and `withdraw` can take back what nobody has received.
"""

from __future__ import annotations

import multiprocessing.pool
import multiprocessing.queues
import pickle
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import Any

from . import reductions


class Packed:
    """Something that is pickled already, for a queue or pool; unpickling gives the thing itself.

    As a context manager it takes its tensors back if the block fails: then nothing was sent.
    """

    __slots__ = ("_data", "_route")

    def __init__(self, value: Any, owner: object) -> None:
        self._route = reductions.Route(owner)
        self._data = reductions.packed(value, self._route)

    def __enter__(self) -> Packed:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        if kind is not None:
            reductions.cancel(self._route)

    def __reduce__(self) -> tuple[Any, ...]:
        return pickle.loads, (self._data,)


class Withdrawing:
    """Mixin of queues: `withdraw`."""

    def withdraw(self) -> int:
        """Withdraw the tensors that this process put and no process received; return their number.

        For a queue whose reader has ended: what it left in the queue, or had read and not yet opened, is kept until
        then.  Receiving it afterwards is a ProcessGoneError.
        """
        return reductions.withdraw(self)


class Queue(Withdrawing, multiprocessing.queues.Queue):  # type: ignore[type-arg]  # only stubs make it generic
    """multiprocessing.Queue, for tensors too."""

    def put(self, obj: Any, block: bool = True, timeout: float | None = None) -> None:
        with Packed(obj, self) as packed:
            super().put(packed, block, timeout)


class JoinableQueue(Withdrawing, multiprocessing.queues.JoinableQueue):  # type: ignore[type-arg]  # only stubs make it generic
    """multiprocessing.JoinableQueue, for tensors too."""

    def put(self, obj: Any, block: bool = True, timeout: float | None = None) -> None:
        with Packed(obj, self) as packed:
            super().put(packed, block, timeout)


class SimpleQueue(Withdrawing, multiprocessing.queues.SimpleQueue):  # type: ignore[type-arg]  # only stubs make it generic
    """multiprocessing.SimpleQueue, for tensors too."""

    def put(self, obj: Any) -> None:
        with Packed(obj, self) as packed:
            super().put(packed)


class Pool(multiprocessing.pool.Pool):
    """multiprocessing.Pool, for tensors too.

    `apply`, `map`, `starmap` and their asynchronous forms pickle at the call; `imap` and `imap_unordered` in a thread
    of the pool, so their tensors must be complete.  A result lives as long as the worker that made it: clone what
    shall outlive the pool.
    """

    def apply_async(
        self,
        func: Callable[..., Any],
        args: Iterable[Any] = (),
        kwds: Mapping[str, Any] = {},
        callback: Any = None,
        error_callback: Any = None,
    ) -> Any:
        self._check_running()  # type: ignore[attr-defined]  # before anything is on its way
        with ExitStack() as all_or_none:
            given = [all_or_none.enter_context(Packed(each, self)) for each in args]
            named = {name: all_or_none.enter_context(Packed(each, self)) for name, each in kwds.items()}
            return super().apply_async(func, given, named, callback, error_callback)

    def _map_async(self, func: Any, iterable: Iterable[Any], *rest: Any) -> Any:
        self._check_running()  # type: ignore[attr-defined]  # the base is a Pool
        with ExitStack() as all_or_none:
            given = [all_or_none.enter_context(Packed(each, self)) for each in iterable]
            return super()._map_async(func, given, *rest)  # type: ignore[misc]  # the base is a Pool

    def terminate(self) -> None:
        super().terminate()
        reductions.withdraw(self)
