"""DataLoader: batches of a dataset."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic

from .. import callers
from ..core import thread
from ..errors import ArgumentError, ArgumentTypeError, naming, shown
from ..host import np
from ..runtime import device as devices
from ..runtime.stream import Stream
from ..tensor import checks
from .collate import default_collate, default_convert
from .dataset import Dataset, IterableDataset, Sample_co, length_of
from .iterators import BatchIterator, DeviceIterator, Fetcher, MapFetcher, SerialIterator, StreamFetcher
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, check_generator, check_iterable
from .workers import WorkerIterator

PREFETCH_FACTOR = 2  # default number of batches ahead per worker
FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers", "device")


class _DatasetKind:
    """Kinds of datasets, under PyTorch's name: map-style (`Map`) or iterable (`Iterable`)."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(
        kind: int, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool
    ) -> Fetcher:
        """Return an object that fetches batches from a dataset of this kind."""
        of_kind = MapFetcher if kind == _DatasetKind.Map else StreamFetcher
        return of_kind(dataset, auto_collation, collate_fn, drop_last)


class DataLoader(Generic[Sample_co]):
    """Iterable over the batches of a dataset; each pass over it is one epoch.

    batch_size: samples per batch; None gives single samples.  shuffle: use a random order, drawn from `generator`.
    sampler: an iterable of indices, instead of shuffle.
    batch_sampler: an iterable of lists of indices, instead of batch_size, shuffle, sampler and drop_last.
    collate_fn: makes a batch from a list of samples.  drop_last: leave out a last batch that is shorter.
    num_workers: number of processes that make batches; 0 makes each batch in this process, on request.
    prefetch_factor: batches that each worker makes ahead, 2 by default.  persistent_workers: keep the processes after
        an epoch.  worker_init_fn: called in each worker with its number.  multiprocessing_context: a context, or the
        name of a start method.  timeout: seconds to wait for a batch of the workers, 0 for no limit.
    in_order: return batches in the order of their indices, not as they are ready.
    generator: draws the shuffled order and the workers' base seed, to which each worker adds its number.
    pin_memory: copy batches to pinned memory; with workers, a thread does this ahead of their use.
        pin_memory_device: deprecated, and ignored with a warning.
    device: a GPU that batches are copied to, from pinned memory on a stream of its own, one batch ahead of their use.
    Order:  with `device`, the stream that is current at `next` waits for the copies of the returned batch.
    Raises: ArgumentError for options that exclude each other or are out of range, ArgumentTypeError for options of a
            wrong type, DeviceNameError for a device that is not one; in iteration the errors of the dataset,
            LoaderTimeoutError (RuntimeError) after `timeout` seconds without a batch, WorkerDiedError (RuntimeError) if
            a worker ends, UnsendableError (PicklingError) for an object that cannot be sent to a worker.
    Example:
        >>> data = torch.utils.data.TensorDataset(torch.arange(5))
        >>> [batch for (batch,) in torch.utils.data.DataLoader(data, batch_size=2)]
        [tensor([0, 1]), tensor([2, 3]), tensor([4])]
    """

    __initialized = False  # programs set it by its mangled name, to replace a sampler

    def __init__(
        self,
        dataset: Dataset[Sample_co] | Sequence[Sample_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        device: Any = None,
    ) -> None:
        num_workers = int(num_workers) if isinstance(num_workers, bool) else num_workers
        _check_workers(num_workers, prefetch_factor, persistent_workers)
        _check_options(timeout, pin_memory, generator, collate_fn, worker_init_fn)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = PREFETCH_FACTOR if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.generator = generator
        self.persistent_workers = persistent_workers
        with naming("DataLoader"):
            self.device = None if device is None else devices.as_device(device)
        self._dataset_kind = _DatasetKind.Iterable if isinstance(dataset, IterableDataset) else _DatasetKind.Map
        self._check_order(batch_size, shuffle, sampler, batch_sampler, drop_last)
        with naming("DataLoader"):
            self.sampler = self._sampler(shuffle) if sampler is None else sampler
        self.batch_size = batch_size if batch_sampler is None else None
        self.drop_last = drop_last
        self.batch_sampler = batch_sampler
        if batch_size is not None and batch_sampler is None:
            with naming("DataLoader"):
                self.batch_sampler = BatchSampler(self.sampler, batch_size, drop_last)
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self._iterator: Any = None  # of persistent workers
        self._copies: Stream | None = None
        self._IterableDataset_len_called: int | None = None  # the length of a stream, if it was asked for
        self.__initialized = True
        self.check_worker_number_rationality()

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__initialized and name in FIXED:
            raise ArgumentError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized, got {shown(value)}",
                hint="make another DataLoader",
                operator="DataLoader",
            )
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self) -> Any:
        """The context of the worker processes; None for the default one."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        """The context of the worker processes; None for the default one."""
        self._context = None if context is None else _checked_context(context, self.num_workers)

    def _worker_context(self) -> Any:
        """Return the context that starts workers: for a context of the standard library, flambeau's of that method."""
        from .. import multiprocessing

        context = self._context
        if context is None or type(context).__module__ == "multiprocessing.context":
            return multiprocessing.get_context(None if context is None else context.get_start_method())
        return context

    @property
    def _is_stream(self) -> bool:
        return self._dataset_kind == _DatasetKind.Iterable

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        """The sampler of batch indices."""
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def check_worker_number_rationality(self) -> None:
        """Warn if num_workers is more than the CPU cores that this process may use; the constructor calls it.

        Example:
            >>> torch.utils.data.DataLoader([1, 2, 3]).check_worker_number_rationality()
        """
        cores = len(os.sched_getaffinity(0))
        if self.num_workers > cores:
            callers.warn(
                f"DataLoader: This DataLoader will create {self.num_workers} worker processes in total, and this "
                f"process may use {cores} CPU cores: excessive worker creation might get DataLoader running slow or "
                "even freeze"
            )

    def _check_order(self, batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: bool) -> None:
        _check_flag("shuffle", shuffle)
        for what, value in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
            if self._is_stream and value is not None:
                raise ArgumentError(
                    f"with IterableDataset: expected unspecified {what} option, but got {what}={shown(value)}",
                    hint="a stream has its own order: shuffle in the dataset's __iter__",
                    operator="DataLoader",
                )
        for what, value in (("sampler", sampler), ("batch_sampler", batch_sampler)):
            if value is not None:
                check_iterable("DataLoader", what, value)
        if sampler is not None and shuffle:
            raise ArgumentError(
                f"sampler option is mutually exclusive with shuffle, got {shown(sampler)} and shuffle={shuffle}",
                hint="leave out shuffle, or the sampler",
                operator="DataLoader",
            )
        if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
            raise ArgumentError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and "
                f"drop_last; got batch_size={batch_size}, shuffle={shuffle}, sampler={sampler}, drop_last={drop_last}",
                hint="the batch_sampler decides all of these: leave them out",
                operator="DataLoader",
            )
        if batch_size is None and batch_sampler is None and drop_last:
            raise ArgumentError(
                f"batch_size=None option disables auto-batching and is mutually exclusive with drop_last={drop_last}",
                hint="leave out drop_last, or give a batch_size",
                operator="DataLoader",
            )

    def _sampler(self, shuffle: bool | None) -> Iterable[Any]:
        if self._is_stream:
            return _InfiniteConstantSampler()
        sized: Any = self.dataset
        if shuffle and not hasattr(sized, "__len__"):
            raise ArgumentTypeError(
                f"object of type {type(sized).__name__!r} has no len(): shuffle=True needs the length of the dataset",
                hint="define __len__(self), or pass a sampler",
                operator="DataLoader",
            )
        return RandomSampler(sized, generator=self.generator) if shuffle else SequentialSampler(sized)

    def __iter__(self) -> Iterator[Any]:
        if self.persistent_workers and self.num_workers:
            if self._iterator is not None and not self._iterator.is_closed:
                self._iterator.reset(self)
            else:
                self._iterator = self._get_iterator()
            batches: BatchIterator = self._iterator
        else:
            batches = self._get_iterator()
        if self.device is None or self.device.type == "cpu":
            return batches
        with naming("DataLoader"):
            return DeviceIterator(batches, self._stream_of_copies(devices.cuda_index(self.device)))

    def _stream_of_copies(self, index: int) -> Stream:
        """Return the copy stream, the same one in every epoch: the allocator caches memory per stream."""
        stream = self._copies
        if stream is None or stream.machine is not thread.machine():
            stream = self._copies = Stream(devices.cuda(index))
        return stream

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_copies": None}

    def _get_iterator(self) -> Any:
        """Make an iterator over an epoch's batches, on the host."""
        if not self.num_workers:
            return SerialIterator(self)
        self.check_worker_number_rationality()
        return WorkerIterator(self)

    def __len__(self) -> int:
        if not self._is_stream:
            return self._length("sampler" if self.batch_sampler is None else "batch_sampler")
        count = self._IterableDataset_len_called = self._length("dataset")
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def _length(self, what: str) -> int:
        with naming("DataLoader"):
            return length_of("DataLoader", what, getattr(self, what))


class _InfiniteConstantSampler(Sampler[None]):
    """Sampler for iterable datasets: yields None forever, as the dataset itself ends the epoch."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


def _check_workers(num_workers: int, prefetch_factor: Any, persistent: bool) -> None:
    checks.integer("DataLoader", "num_workers", num_workers)
    if num_workers < 0:
        raise ArgumentError(
            f"num_workers option should be non-negative, got {num_workers}",
            hint="use num_workers=0",
            operator="DataLoader",
        )
    if prefetch_factor is not None:
        checks.integer("DataLoader", "prefetch_factor", prefetch_factor)
        if prefetch_factor < 0:
            raise ArgumentError(
                f"prefetch_factor option should be non-negative, got {prefetch_factor}",
                hint="give 1 or more",
                operator="DataLoader",
            )
    for name, value in (("prefetch_factor", prefetch_factor), ("persistent_workers", persistent or None)):
        if value is not None and num_workers == 0:
            raise ArgumentError(
                f"{name}={value} needs worker processes (num_workers > 0), and num_workers is 0",
                hint="leave it out, or give num_workers=1 or more",
                operator="DataLoader",
            )


def _checked_context(context: Any, num_workers: int) -> Any:
    """Convert a start method's name to its context.  Raises ArgumentError, ArgumentTypeError."""
    from multiprocessing.context import BaseContext

    from .. import multiprocessing

    if num_workers == 0:
        raise ArgumentError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but "
            f"got num_workers=0 and multiprocessing_context={shown(context)}",
            hint="leave it out, or give num_workers=1 or more",
            operator="DataLoader",
        )
    if isinstance(context, str):
        methods = multiprocessing.get_all_start_methods()
        if context not in methods:
            raise ArgumentError(
                f"multiprocessing_context option should specify a valid start method in {methods}, got {context!r}",
                hint=f"use one of {', '.join(methods)}",
                operator="DataLoader",
            )
        return multiprocessing.get_context(context)
    if not isinstance(context, BaseContext):
        raise ArgumentTypeError(
            "multiprocessing_context option should be a valid context or the name of a start method, got "
            f"{shown(context)}",
            hint='pass "spawn", or torch.multiprocessing.get_context("spawn")',
            operator="DataLoader",
        )
    return context


def _check_flag(what: str, value: Any) -> None:
    """Raise ArgumentTypeError unless the value is None, a number or a bool, of Python or NumPy."""
    if value is not None and not isinstance(value, (int, np.bool_)):
        checks.flag("DataLoader", what, value)


def _check_options(timeout: Any, pin_memory: Any, generator: Any, collate_fn: Any, worker_init_fn: Any) -> None:
    """Raise ArgumentTypeError or ArgumentError for options of wrong type or value."""
    checks.number("DataLoader", "timeout", timeout)
    if timeout < 0:
        raise ArgumentError(
            f"timeout option should be non-negative, got {timeout}",
            hint="pass 0 to wait without a limit",
            operator="DataLoader",
        )
    _check_flag("pin_memory", pin_memory)
    check_generator("DataLoader", generator)
    for what, function in (("collate_fn", collate_fn), ("worker_init_fn", worker_init_fn)):
        if function is not None:
            checks.function("DataLoader", what, function)
