"""Iterators over the batches of a DataLoader, and fetchers that make a batch from a dataset.

- Random draws follow PyTorch: a base seed when an iterator is made, indices when a batch is requested; with workers,
  prefetch_factor * num_workers batches ahead.
- An exception leaves a fetcher usable: the next call makes the next batch.
- The device iterator copies batches to a GPU one batch ahead, on a stream of its own, from pinned memory.  The copy
  stream follows the consumer's stream at each request, so memory freed by then can be reused; the consumer's stream,
  the current one at each `next`, follows the copies of its batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .. import callers
from ..core import thread
from ..core.tensor import TensorBase
from ..errors import ArgumentError, NotSupportedError
from ..runtime import device as devices
from ..runtime.stream import Stream
from .collate import default_collate, stacks_tensors
from .dataset import IterableDataset, gathered, length_of
from .pinning import pin_host_memory, pin_memory, with_entries
from .sampler import drawn_seed


class MapFetcher:
    """Batches of a dataset with an index.  batched: indices come in lists."""

    def __init__(self, dataset: Any, batched: bool, collate_fn: Callable[[Any], Any]) -> None:
        self._dataset = dataset
        self._batched = batched
        self._collate = collate_fn

    def fetch(self, index: Any) -> Any:
        """The batch of a list of indices, or the sample of one index."""
        if not self._batched:
            return self._collate(self._dataset[index])
        if self._collate is default_collate and stacks_tensors():
            rows = gathered(self._dataset, index)
            if rows is not None:
                return rows
        at_once = getattr(self._dataset, "__getitems__", None)
        return self._collate(at_once(index) if at_once else [self._dataset[each] for each in index])


class StreamFetcher:
    """Batches of an IterableDataset, whose indices only say how many samples a batch has."""

    def __init__(self, dataset: Any, batched: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> None:
        self._samples = iter(dataset)
        self._batched = batched
        self._collate = collate_fn
        self._drop_last = drop_last
        self._ended = False

    def fetch(self, index: Any) -> Any:
        """The next batch.  Raises StopIteration at the end of the stream."""
        if self._ended:
            raise StopIteration
        if not self._batched:
            return self._collate(next(self._samples))
        batch = []
        for _ in index:
            try:
                batch.append(next(self._samples))
            except StopIteration:
                self._ended = True
                break
        if not batch or (self._drop_last and len(batch) < len(index)):
            raise StopIteration
        return self._collate(batch)


def fetcher(dataset: Any, batched: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> Any:
    """The fetcher for a dataset.  Host: starts an IterableDataset's iterator."""
    if isinstance(dataset, IterableDataset):
        return StreamFetcher(dataset, batched, collate_fn, drop_last)
    return MapFetcher(dataset, batched, collate_fn)


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
    """Iterator that makes each batch in this process, on request."""

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


class DeviceIterator:
    """The batches of another iterator, on a GPU.  Host: returns as soon as the other iterator does."""

    def __init__(self, batches: BatchIterator, device: int) -> None:
        self._batches = batches
        self._index = device
        self._stream = Stream(devices.cuda(device))
        self._fetched: tuple[Any, Exception | None] | None = None  # on the host; kept if its copy is interrupted
        self._ahead: tuple[Any, Exception | None] | None = None

    def __iter__(self) -> DeviceIterator:
        return self

    def __len__(self) -> int:
        return len(self._batches)

    def __next__(self) -> Any:
        current = thread.current_stream(self._index)
        if self._ahead is None:
            self._fetch()
            self._ahead, self._fetched = self._copied(current), None
        batch, error = self._ahead
        if error is not None:
            if not isinstance(error, StopIteration):
                self._ahead = None
            raise error
        self._fetch()
        current.wait_stream(self._stream)
        _record(batch, current)
        self._ahead, self._fetched = self._copied(current), None
        return batch

    def close(self) -> None:
        """End the epoch."""
        self._batches.close()
        self._ahead, self._fetched = (None, StopIteration()), None

    def _fetch(self) -> None:
        """Fetch the next batch, or the exception to raise at its turn, unless an interrupted call did."""
        if self._fetched is None:
            try:
                self._fetched = next(self._batches), None
            except Exception as error:  # noqa: BLE001  (raised at the batch's turn)
                self._fetched = None, error

    def _copied(self, current: Stream) -> tuple[Any, Exception | None]:
        """Start the copy of the fetched batch; a batch whose copy fails is dropped."""
        assert self._fetched is not None
        batch, error = self._fetched
        if error is None:
            try:
                self._stream.wait_stream(current)
                with self._stream:
                    batch = _moved(batch, devices.cuda(self._index))
            except Exception:
                self._fetched = None
                raise
        return batch, error


def _moved(data: Any, device: Any) -> Any:
    """`data` with its tensors, and objects that have a `to` method, on a device."""
    if isinstance(data, TensorBase) or callable(getattr(data, "to", None)):
        return data.to(device, non_blocking=True)
    return with_entries(data, lambda entry: _moved(entry, device))


def _record(data: Any, stream: Stream) -> None:
    """Keep the memory of a batch's tensors until the work that `stream` has when they are dropped is done."""
    if isinstance(data, TensorBase):
        data.record_stream(stream)  # type: ignore[attr-defined]  # every tensor is a Tensor
    elif isinstance(data, Mapping):
        for each in data.values():
            _record(each, stream)
    elif isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        for each in data:
            _record(each, stream)
