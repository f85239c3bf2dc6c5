"""The thread that pins batches ahead of the program.

- Batches are made in the program's thread, when it asks for the next one; only pinning is done here.  So what a data
  set draws at random does not depend on timing.
- At most DEPTH batches are between being made and being asked for.
- The thread knows the queues alone, never the iterator: dropping the iterator ends the thread.  Nobody waits for that:
  the collector drops it in any thread, whatever locks that holds.
- An exception, from making a batch or from pinning it, comes at that batch's turn.
"""

from __future__ import annotations

import threading
import traceback
import weakref
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from typing import Any

from ..errors import FlambeauError
from ..runtime import state
from .worker_exception import WorkerException
from .pin import pin_memory

DEPTH = 2  # batches
THREAD_NAME = "flambeau-pinning"


class LoaderTimeoutError(FlambeauError, RuntimeError):
    """A batch did not come in the time that the DataLoader was given."""


class _End:
    """Stands in a queue for the end of the batches."""


class PinnedBatches:
    """An iterator over `batches` with their tensors pinned.

    timeout: seconds to wait for a batch at most, 0 for ever.
    Raises: LoaderTimeoutError, and what making or pinning a batch raised, with its type.
    """

    def __init__(self, batches: Iterator[Any], timeout: float) -> None:
        self._batches = batches
        self._timeout = timeout
        self._ahead = 0
        self._made_all = False
        self._jobs: SimpleQueue[Any] = SimpleQueue()
        self._done: SimpleQueue[Any] = SimpleQueue()
        work = (self._jobs, self._done, state.current_device())
        self._thread = threading.Thread(target=_pin_all, args=work, name=THREAD_NAME, daemon=True)
        self._stop = weakref.finalize(self, self._jobs.put, None)
        self._thread.start()

    def __iter__(self) -> PinnedBatches:
        return self

    def __next__(self) -> Any:
        if not self._stop.alive:
            raise StopIteration
        while self._ahead < DEPTH + 1 and not self._made_all:
            self._submit()
        batch = self._wait()
        self._ahead -= 1
        if batch is _End:
            self.close()
            raise StopIteration
        if isinstance(batch, WorkerException):
            self.close()
            raise batch.again()
        if isinstance(batch, _Failed):
            self.close()
            raise batch.error
        return batch

    def close(self) -> None:
        """End the thread, and wait until it has."""
        self._made_all = True
        if self._stop.alive:
            self._stop()
            self._thread.join()

    def _submit(self) -> None:
        try:
            job = next(self._batches, _End)
        except Exception as error:  # noqa: BLE001  (raised at its turn)
            job = _Failed(error)
        self._made_all = job is _End or isinstance(job, _Failed)
        self._jobs.put(job)
        self._ahead += 1

    def _wait(self) -> Any:
        try:
            return self._done.get(timeout=self._timeout or None)
        except Empty:
            self._stop.detach()  # the thread is stuck: it ends when it can, and nobody waits for it
            self._jobs.put(None)
            raise LoaderTimeoutError(
                f"DataLoader: DataLoader timed out after {self._timeout} seconds",
                hint="raise timeout=, or leave it out",
            ) from None


class _Failed:
    """An exception that making a batch raised, on its way to the batch's turn.

    Its traceback goes along as text: frames lead back to the iterator, which would then never end by reference count.
    """

    def __init__(self, error: Exception) -> None:
        error.add_note("".join(traceback.format_exception(error)))
        self.error = error
        link: BaseException | None = error
        while link is not None:
            link.__traceback__ = None
            link = link.__cause__ or link.__context__


def _pin_all(jobs: SimpleQueue[Any], done: SimpleQueue[Any], device: int) -> None:
    """Pin what comes until None comes."""
    state.set_device(device)
    while (job := jobs.get()) is not None:
        done.put(job if job is _End or isinstance(job, _Failed) else _pinned(job, device))
        del job


def _pinned(batch: Any, device: int) -> Any:
    try:
        return pin_memory(batch)
    except BaseException as error:  # noqa: BLE001  (carried to the program's thread)
        return WorkerException(error, f"in pin memory thread for device {device}")
