"""Copies batches to pinned memory: `pin_memory`, and the thread that pins batches of worker processes.

The thread refers to its two queues only, not to the iterator, so dropping the iterator ends the thread.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any

from ..core import thread
from ..core.tensor import TensorBase
from .collate import rebuilt_mapping, rebuilt_sequence
from .worker_exception import WorkerException


def pin_memory(data: Any, device: Any = None) -> Any:
    """`data` with its tensors in pinned memory.

    An object with a `pin_memory` method is replaced by its result, whatever else it is.  Containers keep their type: a
    mutable one is copied and its entries replaced, others are made anew; one that cannot be made anew becomes a dict
    or a list.  str, bytes and objects of other types stay as they are.
    device: ignored, pinned memory serves every device.
    """
    if isinstance(data, TensorBase) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    return with_entries(data, pin_memory)


def pin_host_memory(data: Any) -> Any:
    """As pin_memory, but tensors on a GPU stay as they are."""
    if isinstance(data, TensorBase) and data.is_cuda:
        return data
    return pin_memory(data) if hasattr(data, "pin_memory") else with_entries(data, pin_host_memory)


def with_entries(data: Any, function: Callable[[Any], Any]) -> Any:
    """A container of `data`'s type with the function applied to every entry; anything else as it is."""
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return rebuilt_mapping(data, {key: function(value) for key, value in data.items()})
    if isinstance(data, tuple):
        values = [function(each) for each in data]
        return type(data)(*values) if hasattr(data, "_fields") else type(data)(values)
    return rebuilt_sequence(data, [function(each) for each in data]) if isinstance(data, Sequence) else data


THREAD_NAME = "flambeau-pinning"


class PinningThread:
    """A daemon thread with the calling thread's current device, which pins batches in the order of `put`.

    pin: the function that pins one.
    """

    def __init__(self, pin: Callable[[Any], Any]) -> None:
        self._jobs: SimpleQueue[Any] = SimpleQueue()
        self._done: SimpleQueue[Any] = SimpleQueue()
        self._in_flight = 0
        work = (self._jobs, self._done, thread.current_device(), pin)
        self._thread = threading.Thread(target=_pin_all, args=work, name=THREAD_NAME, daemon=True)
        self._stop = weakref.finalize(self, self._jobs.put, None)
        self._thread.start()

    @property
    def in_flight(self) -> int:
        """The number of batches in the queue."""
        return self._in_flight

    def put(self, key: Any, batch: Any) -> None:
        """Pin a batch.  Host: returns at once."""
        self._jobs.put((key, batch))
        self._in_flight += 1

    def take(self, timeout: float | None) -> tuple[Any, Any]:
        """The next batch, with its key; a WorkerException in its place if pinning failed.

        timeout: seconds to wait at most, None for no limit.
        Raises: TimeoutError.
        """
        try:
            found: tuple[Any, Any] = self._done.get(timeout=timeout) if timeout != 0 else self._done.get_nowait()
        except Empty:
            raise TimeoutError from None
        self._in_flight -= 1
        return found

    def close(self) -> None:
        """Let the thread end after the batch that it is pinning.  Host: returns at once."""
        self._stop()


def _pin_all(jobs: SimpleQueue[Any], done: SimpleQueue[Any], device: int, pin: Callable[[Any], Any]) -> None:
    """Pin incoming batches until None."""
    thread.set_device(device)
    while (job := jobs.get()) is not None:
        key, batch = job
        done.put((key, batch if isinstance(batch, WorkerException) else _pinned(batch, device, pin)))
        del job, batch


def _pinned(batch: Any, device: int, pin: Callable[[Any], Any]) -> Any:
    try:
        return pin(batch)
    except BaseException as error:  # noqa: BLE001  (raised in the program's thread)
        return WorkerException(error, f"in pin memory thread for device {device}")
