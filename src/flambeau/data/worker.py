"""Worker processes of a DataLoader: their main loop and `get_worker_info`."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..host import np
from ..multiprocessing.worker_pipe import WorkerEnd, WorkerPipe
from ..runtime import generator
from .dataset import IterableDataset
from .iterators import fetcher
from .worker_exception import WorkerException


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker's number `id`, from 0, of `num_workers`; the seed of its generators; its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker process of a DataLoader: which one it is.  None in any other process."""
    return _worker_info


def set_worker_info(info: WorkerInfo) -> None:
    """Make this process that worker."""
    global _worker_info
    _worker_info = info


@dataclass(frozen=True)
class Settings:
    """Settings of a worker.  base_seed: the worker's seed is base_seed + id."""

    dataset: Any
    batched: bool
    collate_fn: Callable[[Any], Any]
    drop_last: bool
    worker_init_fn: Callable[[int], None] | None
    base_seed: int
    num_workers: int


@dataclass(frozen=True)
class Task:
    """A request for one batch.  epoch and number return with the result."""

    epoch: int
    number: int
    index: Any


@dataclass(frozen=True)
class NewEpoch:
    """Start over: tasks before this one are not wanted any more."""


@dataclass(frozen=True)
class EndOfStream:
    """The result of a task for which the worker's IterableDataset had no samples left."""


def run(pipe: WorkerPipe, number: int, settings: Settings) -> None:
    """Make batches until the other end of the pipe is closed, or its process has ended."""
    try:
        _seed(settings.base_seed, number)
        seed = settings.base_seed + number
        set_worker_info(WorkerInfo(number, settings.num_workers, seed, settings.dataset))
        _Worker(WorkerEnd(pipe), number, settings).work()
    except (EOFError, KeyboardInterrupt):  # an interrupt reaches the main process, too
        pass


def _seed(base_seed: int, number: int) -> None:
    """Seed the generators of flambeau, Python and NumPy."""
    generator.manual_seed(base_seed + number)
    random.seed(base_seed + number)
    low, high = base_seed & 0xFFFFFFFF, base_seed >> 32
    np.random.seed(np.random.SeedSequence([number, low, high, 0]).generate_state(4))


class _Worker:
    """A worker's state.  failure: the answer to every task while the worker cannot make batches."""

    def __init__(self, end: WorkerEnd, number: int, settings: Settings) -> None:
        self._end = end
        self._settings = settings
        self._where = f"in DataLoader worker process {number}"
        self._failure: WorkerException | None = None
        self._fetcher: Any = None
        self._has_ended = False
        try:
            if settings.worker_init_fn is not None:
                settings.worker_init_fn(number)
        except Exception as error:  # noqa: BLE001  (raised in the main process, as its first batch)
            self._failure = WorkerException(error, self._where)
        self._is_usable = self._failure is None
        self._begin_epoch()

    def _begin_epoch(self) -> None:
        if not self._is_usable:
            return
        given = self._settings
        self._failure, self._has_ended = None, False
        try:
            self._fetcher = fetcher(given.dataset, given.batched, given.collate_fn, given.drop_last)
        except Exception as error:  # noqa: BLE001  (of a stream's __iter__; raised in the main process)
            self._failure = WorkerException(error, self._where)

    def work(self) -> None:
        """Answer every task.  Raises EOFError when no more are wanted."""
        while True:
            task = self._end.receive()
            if isinstance(task, NewEpoch):
                self._begin_epoch()
            elif not self._has_ended and not any(isinstance(each, NewEpoch) for each in self._end.pending):
                self._answer(task, self._result(task.index))

    def _result(self, index: Any) -> Any:
        if self._failure is not None:
            return self._failure
        try:
            return self._fetcher.fetch(index)
        except Exception as error:  # noqa: BLE001  (raised in the main process)
            if isinstance(error, StopIteration) and isinstance(self._settings.dataset, IterableDataset):
                self._has_ended = True
                return EndOfStream()
            return WorkerException(error, self._where)

    def _answer(self, task: Task, result: Any) -> None:
        try:
            self._end.send((task.epoch, task.number, result))
        except EOFError:
            raise
        except Exception as error:  # noqa: BLE001  (the result cannot be pickled)
            self._end.send((task.epoch, task.number, WorkerException(error, self._where)))
