"""Iterators over the batches of a DataLoader, and the one that makes them in the calling process.

What is drawn, and when, is PyTorch's: a base seed when an iterator is made, indices when a batch is asked for; with
workers, prefetch_factor * num_workers batches ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .. import callers
from ..core import thread
from ..errors import ArgumentError, NotSupportedError
from .dataset import length_of
from .fetch import fetcher
from .pin import pin_host_memory, pin_memory
from .sampler import drawn_seed

LOOK_SECONDS = 5.0  # between looks for workers that ended without a sign


class BatchIterator:
    """Base of the iterators over one epoch of a DataLoader.

    It keeps what it needs of the loader, not the loader, which keeps the iterator of persistent workers.
    """

    def __init__(self, loader: Any) -> None:
        on_gpu = loader.device is not None and loader.device.type == "cuda"
        self._pin: Callable[[Any], Any] | None = None
        if on_gpu:
            self._pin = pin_host_memory
        elif loader.pin_memory and _has_accelerator():
            self._pin = pin_memory
        self._dataset = loader.dataset
        self._num_workers = loader.num_workers
        self._index_sampler = loader._index_sampler
        self._begin(loader)
        self._base_seed = drawn_seed(loader.generator)

    def _begin(self, loader: Any) -> None:
        self._indices: Iterator[Any] = iter(self._index_sampler)
        self._count = 0
        self._expected = loader._reported_length

    def __iter__(self) -> BatchIterator:
        return self

    def __next__(self) -> Any:
        batch = self._next()
        self._count += 1
        if self._expected is not None and self._count > self._expected:
            self._warn_of_length()
        return batch

    def _next(self) -> Any:
        raise NotSupportedError("_next is not defined", hint="define _next(self)", operator=type(self).__name__)

    def __len__(self) -> int:
        return length_of(type(self).__name__, "sampler", self._index_sampler)

    def __reduce__(self) -> Any:
        raise NotSupportedError(
            "an iterator cannot be pickled", hint="send the DataLoader, or its batches", operator=type(self).__name__
        )

    def close(self) -> None:
        """End the epoch."""

    def _warn_of_length(self) -> None:
        shared = (
            " For multiprocessing data-loading, this is so where each worker iterates over a whole copy: divide the "
            "work by get_worker_info()."
        )
        callers.warn(
            f"DataLoader: Length of IterableDataset {self._dataset} was reported to be {self._expected} (when "
            f"accessing len(dataloader)), but {self._count} samples have been fetched."
            + (shared if self._num_workers else "")
        )


class SerialIterator(BatchIterator):
    """Makes each batch when it is asked for."""

    def __init__(self, loader: Any) -> None:
        if loader.timeout:
            raise ArgumentError(
                f"timeout={loader.timeout} needs worker processes (num_workers > 0), and num_workers is 0",
                hint="leave it out: a batch is made when it is asked for",
                operator="DataLoader",
            )
        super().__init__(loader)
        self._fetcher = fetcher(loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last)

    def _next(self) -> Any:
        batch = self._fetcher.fetch(next(self._indices))
        return batch if self._pin is None else self._pin(batch)

    def close(self) -> None:
        self._indices = iter(())


def _has_accelerator() -> bool:
    """Whether memory can be pinned; warns if not."""
    if thread.machine().device_count():
        return True
    callers.warn("DataLoader: pin_memory=True, but there is no accelerator: batches are not pinned")
    return False
