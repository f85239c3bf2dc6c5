"""Worker processes of a DataLoader: their main loop, and the iterator over the batches that they make ahead."""

from __future__ import annotations

import itertools
import os
import pickle
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing import connection
from types import FunctionType
from typing import Any

from ..core import thread
from ..errors import ArgumentError, FlambeauError, shown
from ..host import np
from ..multiprocessing import reductions, worker_pipe
from ..multiprocessing.worker_pipe import WorkerEnd, WorkerException, WorkerPipe
from ..runtime import faults, generator, host_threads
from .dataset import IterableDataset
from .iterators import LOOK_SECONDS, BatchIterator, PinningThread, fetcher


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker process: its `id`, from 0, `num_workers`, the seed of its generators, its copy of the dataset.

    rng and worker_method are PyTorch's: None and "multiprocessing".
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Return the WorkerInfo of this process; None outside worker processes of a DataLoader.

    Its attributes are `id`, from 0, `num_workers`, `seed` and `dataset`, the process's copy.
    Host: returns at once.
    Example:
        >>> torch.utils.data.get_worker_info() is None
        True
    """
    return _worker_info


def set_worker_info(info: WorkerInfo) -> None:
    """Set the WorkerInfo of this process."""
    global _worker_info
    _worker_info = info


@dataclass(frozen=True)
class Settings:
    """Settings of a worker.  base_seed: the worker's seed is base_seed + id.

    killed_at: the number of the batch at which an injected failure kills it, 0 for none.
    """

    dataset: Any
    batched: bool
    collate_fn: Callable[[Any], Any]
    drop_last: bool
    worker_init_fn: Callable[[int], None] | None
    base_seed: int
    num_workers: int
    killed_at: int = 0


@dataclass(frozen=True)
class Task:
    """A request for one batch.  epoch and number return with the result."""

    epoch: int
    number: int
    index: Any


@dataclass(frozen=True)
class NewEpoch:
    """Message to a worker: start over.  The worker first makes the batches of earlier tasks."""


@dataclass(frozen=True)
class EndOfStream:
    """Result of a task for which the worker's IterableDataset had no samples left."""


def run(pipe: WorkerPipe, number: int, settings: Settings) -> None:
    """Make batches until the parent closes the pipe or ends: the main function of a worker."""
    try:
        host_threads.use_one_thread()
        _seed(settings.base_seed, number)
        seed = settings.base_seed + number
        set_worker_info(WorkerInfo(number, settings.num_workers, seed, settings.dataset))
        _Worker(WorkerEnd(pipe), number, settings).work()
    except (EOFError, KeyboardInterrupt):  # an interrupt also reaches the main process
        pass


def _seed(base_seed: int, number: int) -> None:
    """Seed the generators of flambeau, Python and NumPy."""
    generator.manual_seed(base_seed + number)
    random.seed(base_seed + number)
    np.random.seed(_generate_state(base_seed, number))


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Return the seed of a worker's NumPy; the name is PyTorch's."""
    low, high = base_seed & 0xFFFFFFFF, base_seed >> 32
    state: list[int] = np.random.SeedSequence([worker_id, low, high, 0]).generate_state(4).tolist()
    return state


class _Worker:
    """State of a worker process.  failure: the answer to every task while the worker cannot make batches."""

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
        """Answer every task.  Raises EOFError when the parent closes the pipe."""
        count = 0
        while True:
            task = self._end.receive()
            if isinstance(task, NewEpoch):
                self._begin_epoch()
            elif not self._has_ended:  # of an earlier epoch too: the random numbers of the next one follow it
                count += 1
                if count == self._settings.killed_at:
                    os.kill(os.getpid(), signal.SIGKILL)
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
            refused = _refused("the batch", result, error)
            self._end.send((task.epoch, task.number, WorkerException(refused, self._where)))


UNPICKLABLE = pickle.PicklingError, TypeError, AttributeError  # errors of pickle for objects that it cannot write
MAX_DEPTH = 32  # of containers that are searched for such an object


class UnsendableError(FlambeauError, pickle.PicklingError, TypeError, AttributeError):
    """An object sent to a worker, or by one, cannot be pickled."""


def _refused(what: str, value: Any, error: BaseException) -> BaseException:
    """Return the error for an object that could not be sent; for pickle's own errors, it names the entry at fault."""
    if isinstance(error, FlambeauError) or not isinstance(error, UNPICKLABLE):
        return error
    path, entry = _unpicklable(value, "")
    refused = UnsendableError(
        f"{what} cannot be pickled: {what}{path} is {shown(entry)}: {error}",
        hint="define functions at the top level of a module; with the start method 'fork', only batches are pickled",
        operator="DataLoader",
    )
    refused.__cause__ = error
    return refused


def _unpicklable(value: Any, path: str, depth: int = 0) -> tuple[str, Any]:
    """Return (path, value) of the innermost container entry or attribute that cannot be pickled."""
    if depth > MAX_DEPTH or isinstance(value, (type, FunctionType)):
        return path, value
    if isinstance(value, Mapping):
        parts = [(f"[{key!r}]", entry) for key, entry in value.items()]
    elif isinstance(value, (list, tuple)):
        parts = [(f"[{index}]", entry) for index, entry in enumerate(value)]
    else:
        parts = [(f".{name}", entry) for name, entry in getattr(value, "__dict__", {}).items()]
    for step, entry in parts:
        if not _can_be_pickled(entry):
            return _unpicklable(entry, path + step, depth + 1)
    return path, value


def _can_be_pickled(value: Any) -> bool:
    route = reductions.Route(_refused)
    try:
        reductions.packed(value, route)
    except Exception:  # noqa: BLE001  (whatever the object's own reduction raises)
        return False
    reductions.cancel(route)
    return True


END_SECONDS = 5.0  # time for workers to end by themselves


class LoaderTimeoutError(FlambeauError, RuntimeError):
    """A batch did not arrive within the DataLoader's `timeout`."""


class WorkerDiedError(FlambeauError, RuntimeError):
    """A worker process ended before it had made its batches.  pid: its process id."""

    def __init__(self, what: str, pid: int | None = None, *, hint: str = "", operator: object = "") -> None:
        super().__init__(what, hint=hint, operator=operator)
        self.pid = pid


class WorkerIterator(BatchIterator):
    """Iterator over batches that worker processes make ahead of their use.

    A task is a numbered list of indices.  Workers get tasks in turn; results return in order through each worker's own
    pipe.  _tasks: the worker of each outstanding task number;  _arrived: results that `next` has not returned yet.
    Raises: ArgumentError for a loader without a positive prefetch_factor.
    """

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        if not (loader.prefetch_factor or 0) > 0:
            raise ArgumentError(
                f"prefetch_factor must be positive, got {loader.prefetch_factor}",
                hint="give 1 or more",
                operator="DataLoader",
            )
        self._timeout = loader.timeout
        self._in_order = loader.in_order
        self._persistent = loader.persistent_workers
        self._most = loader.prefetch_factor * loader.num_workers  # tasks that may be outstanding
        self._pid = os.getpid()
        self._epoch = 0
        self._pinning: PinningThread | None = None
        self._team: list[_WorkerProcess] = []
        host_threads.find_pools()  # here, so that not each worker does
        try:
            for number in range(loader.num_workers):
                self._team.append(_WorkerProcess(loader, number, self._base_seed))
            if self._pin is not None:
                thread.machine().start()  # after the forks: a child could not use it
                self._pinning = PinningThread(self._pin)
            self._begin(loader)  # PyTorch calls the sampler's __iter__ again, which draws again
            self._prime()
        except BaseException:
            self.close()
            raise

    @property
    def is_closed(self) -> bool:
        return not self._team

    @property
    def _workers(self) -> list[Any]:
        """The processes, under PyTorch's name: programs read it to watch them."""
        return [worker.process for worker in self._team]

    def _shutdown_workers(self) -> None:
        """Call `close`, under PyTorch's name: programs use it to end persistent workers."""
        self.close()

    def reset(self, loader: Any) -> None:
        """Begin another epoch with the same workers; late results of the previous epoch are dropped."""
        self._begin(loader)
        self._epoch += 1
        for worker in self._team:
            worker.pipe.post(NewEpoch())
        self._prime()

    def _prime(self) -> None:
        self._send_idx = self._rcvd_idx = 0
        self._tasks: dict[int, _WorkerProcess] = {}
        self._arrived: dict[int, Any] = {}
        self._turns = itertools.cycle(self._team)
        for worker in self._team:
            worker.has_more, worker.outstanding = True, 0
        for _ in range(self._most):
            self._assign()

    def _assign(self) -> None:
        """Send the next indices, if there are any, to the next worker in turn."""
        try:
            index = self._next_index()
        except StopIteration:
            return
        active = sum(worker.has_more for worker in self._team)
        for worker in itertools.islice(self._turns, len(self._team)):
            if worker.has_more and (self._in_order or worker.outstanding < self._most // active):
                break
        else:
            return
        worker.pipe.post(Task(self._epoch, self._send_idx, index))
        worker.outstanding += 1
        self._tasks[self._send_idx] = worker
        self._send_idx += 1

    def _next_data(self) -> Any:
        while True:
            number = self._next_number()
            if number is None:
                self._collect()
                number = self._next_number()
            if number is None:
                self._wait()
                continue
            worker, result = self._tasks.pop(number), self._arrived.pop(number)
            if number == self._rcvd_idx:
                self._rcvd_idx += 1
            if isinstance(result, EndOfStream):
                worker.has_more = False
                if not self._persistent:
                    worker.close_pipe()
                self._assign()
                continue
            worker.outstanding -= 1
            self._assign()
            if isinstance(result, WorkerException):
                raise result.again()
            return result

    def _next_number(self) -> int | None:
        """Return the number of the next result, None if it has not arrived.  Raises StopIteration at the end."""
        while self._rcvd_idx < self._send_idx:
            worker = self._tasks.get(self._rcvd_idx)
            if worker is not None and (worker.has_more or self._rcvd_idx in self._arrived):
                break
            self._tasks.pop(self._rcvd_idx, None)  # of a worker whose stream has ended
            self._rcvd_idx += 1
        else:
            if not self._persistent:
                self.close()
            raise StopIteration
        if self._rcvd_idx in self._arrived:
            return self._rcvd_idx
        return None if self._in_order else next(iter(self._arrived), None)

    def _collect(self) -> None:
        """Collect results of the workers and the pinning thread without waiting."""
        for worker in self._team:
            for epoch, number, result in worker.received():
                if epoch != self._epoch:
                    continue
                if self._pinning is None or isinstance(result, EndOfStream):
                    self._arrived[number] = result
                else:
                    self._pinning.put((epoch, number), result)
        while self._pinning is not None and self._pinning.in_flight:
            try:
                self._keep(*self._pinning.take(0))
            except TimeoutError:
                return

    def _keep(self, key: tuple[int, int], result: Any) -> None:
        if key[0] == self._epoch:
            self._arrived[key[1]] = result

    def _wait(self) -> None:
        """Wait until a result can be returned.  Raises WorkerDiedError, or LoaderTimeoutError without any change."""
        limit = self._timeout
        end = time.monotonic() + limit if limit else None
        while self._next_number() is None:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise LoaderTimeoutError(
                    f"DataLoader timed out after {limit} seconds",
                    hint="raise timeout=, or leave it out",
                    operator="DataLoader",
                )
            if self._pinning is not None and self._pinning.in_flight:
                try:
                    self._keep(*self._pinning.take(left))
                except TimeoutError:
                    continue
            else:
                self._listen(left)
            self._collect()

    def _listen(self, seconds: float | None) -> None:
        """Wait for a message, or for the end of a worker whose result is due.  Raises WorkerDiedError."""
        wanted = [self._tasks[self._rcvd_idx]] if self._in_order else self._team
        wanted = [worker for worker in wanted if worker.has_more]
        alive = [worker for worker in wanted if worker.process.is_alive()]
        files: list[Any] = [worker.pipe for worker in self._team if worker.is_open]
        files += [worker.process.sentinel for worker in alive]
        if len(alive) == len(wanted):
            for worker in self._team:
                worker.pipe.flush()
            connection.wait(files, LOOK_SECONDS if seconds is None else min(seconds, LOOK_SECONDS))
            return
        self._collect()  # results that it sent before it ended
        if self._next_number() is None and not (self._pinning is not None and self._pinning.in_flight):
            failure = next(worker for worker in wanted if worker not in alive).failure()
            self.close()
            try:
                raise failure
            finally:
                del failure  # otherwise the exception and this frame would keep each other alive

    def close(self) -> None:
        """End the workers and the pinning thread; wait for the workers, and kill those that do not end."""
        workers, self._team = self._team, []
        self._send_idx = self._rcvd_idx = 0
        self._tasks, self._arrived = {}, {}
        if self._pid != os.getpid():  # a forked child has a copy of the iterator, but does not own its workers
            return
        if self._pinning is not None:
            self._pinning.close()
        for worker in workers:
            worker.close_pipe()
        end = time.monotonic() + END_SECONDS
        for worker in workers:
            worker.end(end - time.monotonic())

    def __del__(self) -> None:
        if getattr(self, "_team", None) and not sys.is_finalizing():
            self.close()


class _WorkerProcess:
    """The parent's view of a worker.  has_more: its stream has not ended.  outstanding: number of its tasks."""

    def __init__(self, loader: Any, number: int, base_seed: int) -> None:
        self.number, self.among = number, loader.num_workers
        self.has_more = True
        self.outstanding = 0
        self.pipe, end = worker_pipe.pair()
        settings = Settings(
            loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last, loader.worker_init_fn,
            base_seed, loader.num_workers, faults.batch_that_kills(number),
        )  # fmt: skip
        context = loader._worker_context()
        self.process = context.Process(target=run, args=(end, number, settings), daemon=True)
        try:
            self.process.start()
        except BaseException as error:
            self.pipe.close()
            for name in ("dataset", "collate_fn", "worker_init_fn") if isinstance(error, UNPICKLABLE) else ():
                if not _can_be_pickled(getattr(loader, name)):
                    raise _refused(name, getattr(loader, name), error) from error
            raise
        finally:
            end.forget()
        self.is_open = True

    def received(self) -> Iterator[tuple[int, int, Any]]:
        """Yield the results received so far."""
        while self.is_open:
            try:
                yield self.pipe.receive()
            except BlockingIOError:
                return
            except EOFError:
                self.is_open = False

    def close_pipe(self) -> None:
        """Ask the worker to end."""
        self.is_open = False
        self.pipe.close()

    def failure(self) -> WorkerDiedError:
        """Return the error that says how the process exited."""
        self.process.join(END_SECONDS)
        code, pid = self.process.exitcode, self.process.pid
        how = f"(pid(s) {pid}) exited unexpectedly with exit code {code}"
        if code is not None and code < 0:
            how = f"(pid {pid}) is killed by signal: {signal.Signals(-code).name}"
        return WorkerDiedError(
            f"DataLoader worker {how}; it was worker {self.number} of {self.among}",
            pid,
            hint="with num_workers=0 the batch is made in this process, where a debugger sees it",
            operator="DataLoader",
        )

    def end(self, seconds: float) -> None:
        """Wait until the process has ended; after `seconds`, terminate it, then kill it."""
        self.process.join(max(seconds, 0.0))
        for stop in (self.process.terminate, self.process.kill):
            if self.process.is_alive():
                stop()
                self.process.join(END_SECONDS)
