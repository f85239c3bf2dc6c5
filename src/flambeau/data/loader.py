"""DataLoader: batches of a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .. import trace
from ..core import thread
from ..errors import ArgumentError, ArgumentTypeError, NotSupportedError, naming, shown
from ..tensor import checks
from .collate import default_collate, default_convert
from .dataset import IterableDataset, length_of
from .pinning import PinnedBatches
from .sampler import BatchSampler, RandomSampler, SequentialSampler, check_generator


class DataLoader:
    """Batches of a data set, one epoch per iteration.

    batch_size: samples per batch; None gives single samples.  shuffle: at random, else in order.
    sampler: the order of indexes, in shuffle's place;  batch_sampler: lists of indexes, in place of all of these.
    collate_fn: makes a batch of a list of samples.  drop_last: leave out a last batch that is shorter.
    pin_memory: put batches in pinned memory, ahead of their use, in a thread of its own; see data/pinning.
    timeout: seconds to wait for that thread at most, 0 for ever.  generator: what shuffle draws from.
    Host:   making a batch is the caller's work, at its turn or, with pin_memory, up to two batches before.
    Raises: ArgumentError for options that exclude each other, NotSupportedError for num_workers > 0.
    """

    def __init__(
        self,
        dataset: Any,
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
    ) -> None:
        _check_workers(num_workers, multiprocessing_context, prefetch_factor, persistent_workers)
        _check_options(timeout, pin_memory, generator, collate_fn, worker_init_fn)
        if pin_memory_device:
            trace.warn(
                f"DataLoader: pin_memory_device={pin_memory_device!r} is ignored: pinned memory serves every device",
                DeprecationWarning,
            )
        self.dataset = dataset
        self.num_workers = num_workers
        self.pin_memory = pin_memory
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.generator = generator
        self._is_stream = isinstance(dataset, IterableDataset)
        self._check_order(batch_size, shuffle, sampler, batch_sampler, drop_last)
        with naming("DataLoader"):
            self.sampler = self._sampler(shuffle) if sampler is None else sampler
        self.batch_size = batch_size if batch_sampler is None else None
        self.drop_last = drop_last
        self.batch_sampler = batch_sampler
        if batch_size is not None and batch_sampler is None:
            with naming("DataLoader"):
                self.batch_sampler = BatchSampler(self.sampler, batch_size, drop_last)
        self.collate_fn = collate_fn or (default_convert if self.batch_sampler is None else default_collate)

    def _check_order(self, batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: bool) -> None:
        if shuffle is not None and not isinstance(shuffle, int):
            checks.flag("DataLoader", "shuffle", shuffle)
        for what, each in (("sampler", sampler), ("batch_sampler", batch_sampler)):
            if each is not None and not isinstance(each, Iterable):
                raise ArgumentTypeError(
                    f"{what} must give indexes, got {shown(each)}",
                    hint="give a sampler, or a list",
                    operator="DataLoader",
                )
        if self._is_stream and (shuffle or sampler is not None or batch_sampler is not None):
            raise ArgumentError(
                f"an IterableDataset has its own order; got shuffle={shuffle}, sampler={sampler}, "
                f"batch_sampler={batch_sampler}",
                hint="shuffle in the data set's __iter__",
                operator="DataLoader",
            )
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
            return _Endless()
        return RandomSampler(self.dataset, generator=self.generator) if shuffle else SequentialSampler(self.dataset)

    def __iter__(self) -> Iterator[Any]:
        batches = self._of_stream() if self._is_stream else self._by_index()
        return PinnedBatches(batches, self.timeout) if self._pins() else batches

    def _pins(self) -> bool:
        if not self.pin_memory:
            return False
        machine = thread.machine()
        if machine.device_count() == 0:
            trace.warn("DataLoader: pin_memory=True, but there is no accelerator: batches are not pinned")
            return False
        machine.start()
        return True

    def _by_index(self) -> Iterator[Any]:
        if self.batch_sampler is None:
            for index in self.sampler:
                yield self.collate_fn(self.dataset[index])
            return
        fetch = getattr(self.dataset, "__getitems__", None)
        for indexes in self.batch_sampler:
            samples = fetch(indexes) if fetch is not None else [self.dataset[index] for index in indexes]
            yield self.collate_fn(samples)

    def _of_stream(self) -> Iterator[Any]:
        samples = iter(self.dataset)
        if self.batch_sampler is None:
            yield from (self.collate_fn(each) for each in samples)
            return
        for places in self.batch_sampler:
            batch = [sample for _, sample in zip(places, samples)]
            if not batch or (self.drop_last and len(batch) < len(places)):
                return
            yield self.collate_fn(batch)

    def __len__(self) -> int:
        if not self._is_stream:
            return self._length("sampler" if self.batch_sampler is None else "batch_sampler")
        count = self._length("dataset")
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def _length(self, what: str) -> int:
        with naming("DataLoader"):
            return length_of("DataLoader", what, getattr(self, what))


class _Endless:
    """The sampler of a stream: its samples end the epoch."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


def _check_workers(num_workers: int, context: Any, prefetch_factor: Any, persistent: bool) -> None:
    checks.integer("DataLoader", "num_workers", num_workers)
    if num_workers < 0:
        raise ArgumentError(
            f"num_workers option should be non-negative, got {num_workers}",
            hint="use num_workers=0",
            operator="DataLoader",
        )
    if num_workers > 0:
        raise NotSupportedError(
            f"num_workers={num_workers}: there are no worker processes",
            hint="use num_workers=0; with pin_memory=True batches are pinned ahead in a thread",
            operator="DataLoader",
        )
    given = {
        "multiprocessing_context": context,
        "prefetch_factor": prefetch_factor,
        "persistent_workers": persistent or None,
    }
    for name, value in given.items():
        if value is not None:
            raise ArgumentError(
                f"{name}={value} needs worker processes (num_workers > 0), and num_workers is 0",
                hint="leave it out: there are no worker processes",
                operator="DataLoader",
            )


def _check_options(timeout: Any, pin_memory: Any, generator: Any, collate_fn: Any, worker_init_fn: Any) -> None:
    """Raise ArgumentTypeError, ArgumentError for what none of these can be."""
    checks.number("DataLoader", "timeout", timeout)
    if timeout < 0:
        raise ArgumentError(
            f"timeout option should be non-negative, got {timeout}", hint="0 waits for ever", operator="DataLoader"
        )
    if not isinstance(pin_memory, int):
        checks.flag("DataLoader", "pin_memory", pin_memory)
    check_generator("DataLoader", generator)
    for what, each in (("collate_fn", collate_fn), ("worker_init_fn", worker_init_fn)):
        if each is not None:
            checks.function("DataLoader", what, each)
