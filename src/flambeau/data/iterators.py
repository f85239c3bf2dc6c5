"""Iterators over the batches of a DataLoader, and fetchers that make a batch from a dataset.

- Random draws follow PyTorch: a base seed when an iterator is made, indices when a batch is requested; with workers,
  prefetch_factor * num_workers batches ahead.
- An exception leaves a fetcher usable: the next call makes the next batch.
- The device iterator copies batches to a GPU one batch ahead, on a stream of its own, from pinned memory.  The copy
  stream follows the consumer's stream at each request, so memory freed by then can be reused; the consumer's stream,
  the current one at each `next`, follows the copies of its batch.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any

from .. import callers
from ..core import thread
from ..core.tensor import TensorBase
from ..errors import ArgumentError, NotSupportedError, walking
from ..multiprocessing.worker_pipe import WorkerException
from ..runtime import device as devices
from ..runtime.stream import Stream
from ..tensor.tensor import Tensor
from .collate import Samples, default_collate, rebuilt_mapping, rebuilt_sequence, stacks_tensors
from .dataset import IterableDataset, gathered, length_of
from .sampler import drawn_seed


def pin_memory(data: Any, device: Any = None) -> Any:
    """Copy `data` with its tensors in pinned memory.

    An object with a `pin_memory` method is replaced by that method's result.  Containers keep their type: a mutable one
    is copied and its entries replaced; another is constructed again, or becomes a dict or a list if that fails.  str,
    bytes and objects of other types are returned unchanged.
    device: ignored; pinned memory serves every device.
    """
    with walking("pin_memory", data):
        return _in_pinned_memory(data)


def _in_pinned_memory(data: Any) -> Any:
    if isinstance(data, TensorBase) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    return with_entries(data, _in_pinned_memory)


def pin_host_memory(data: Any) -> Any:
    """Pin like pin_memory, but leave tensors on a GPU as they are."""
    with walking("pin_memory", data):
        return _on_host_pinned(data)


def _on_host_pinned(data: Any) -> Any:
    if isinstance(data, TensorBase) and data.is_cuda:
        return data
    return data.pin_memory() if hasattr(data, "pin_memory") else with_entries(data, _on_host_pinned)


def with_entries(data: Any, function: Callable[[Any], Any]) -> Any:
    """Return a container of `data`'s type with the function applied to every entry; any other object unchanged."""
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return rebuilt_mapping(data, {key: function(value) for key, value in data.items()})
    if isinstance(data, tuple):
        values = [function(entry) for entry in data]
        return type(data)(*values) if hasattr(data, "_fields") else type(data)(values)
    return rebuilt_sequence(data, [function(entry) for entry in data]) if isinstance(data, Sequence) else data


THREAD_NAME = "flambeau-pinning"


class PinningThread:
    """A daemon thread that pins batches in the order of `put`, on the device that is current at its start.

    It refers to its two queues only, not to the iterator: dropping the iterator ends the thread.
    pin: the function that pins one batch.
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
        """Return the next batch with its key; a WorkerException in its place if pinning failed.

        timeout: seconds to wait at most, None for no limit.
        Raises: TimeoutError.
        """
        try:
            result: tuple[Any, Any] = self._done.get(timeout=timeout) if timeout != 0 else self._done.get_nowait()
        except Empty:
            raise TimeoutError from None
        self._in_flight -= 1
        return result

    def close(self) -> None:
        """Let the thread end after the batch that it is pinning.  Host: returns at once."""
        self._stop()


def _pin_all(jobs: SimpleQueue[Any], done: SimpleQueue[Any], device: int, pin: Callable[[Any], Any]) -> None:
    """Pin incoming batches until None arrives."""
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


class Fetcher:
    """Base of the classes that fetch batches.  auto_collation: indices come in lists."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last

    def fetch(self, possibly_batched_index: Any) -> Any:
        """Return the batch of a list of indices, or the sample of one index."""
        raise NotSupportedError(
            "fetch is not defined",
            hint="define fetch(self, possibly_batched_index)",
            operator=type(self).__name__,
        )


class MapFetcher(Fetcher):
    """Fetch batches of a map-style dataset."""

    def fetch(self, possibly_batched_index: Any) -> Any:
        """Return the batch of a list of indices, or the sample of one index."""
        dataset, index = self.dataset, possibly_batched_index
        if not self.auto_collation:
            return self.collate_fn(dataset[index])
        stacks = self.collate_fn is default_collate and stacks_tensors()
        rows = gathered(dataset, index) if stacks else None
        if rows is not None:
            return rows
        at_once = getattr(dataset, "__getitems__", None)
        if at_once:
            return self.collate_fn(at_once(index))
        if not stacks or not isinstance(index, list):
            return self.collate_fn([dataset[key] for key in index])
        samples, rest = Samples(len(index)), iter(index)
        for key in rest:
            samples.append(dataset[key])
            if samples.plain is not None:
                samples.plain += [dataset[key] for key in rest]
        return samples.collated()


class StreamFetcher(Fetcher):
    """Fetch batches of an IterableDataset; the indices only give the number of samples."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.dataset_iter = iter(dataset)
        self.ended = False

    def fetch(self, possibly_batched_index: Any) -> Any:
        """Return the next batch.  Raises StopIteration at the end of the stream."""
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        count = len(possibly_batched_index)
        stacks = self.collate_fn is default_collate and stacks_tensors()
        batch: Any = Samples(count) if stacks else []
        for _ in possibly_batched_index:
            try:
                batch.append(next(self.dataset_iter))
            except StopIteration:
                self.ended = True
                break
        if not batch or (self.drop_last and len(batch) < count):
            raise StopIteration
        return batch.collated() if stacks else self.collate_fn(batch)


def fetcher(dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> Fetcher:
    """Make the fetcher of a dataset.  Host: starts an IterableDataset's iterator."""
    fetcher_type = StreamFetcher if isinstance(dataset, IterableDataset) else MapFetcher
    return fetcher_type(dataset, auto_collation, collate_fn, drop_last)


# PyTorch's names, which programs use.
_BaseDatasetFetcher, _MapDatasetFetcher, _IterableDatasetFetcher = Fetcher, MapFetcher, StreamFetcher

LOOK_SECONDS = 5.0  # between checks for workers that ended without a message


class BatchIterator:
    """Base of the iterators over one epoch of a DataLoader.

    The iterator copies the loader's settings instead of referring to the loader: with persistent workers, the loader
    refers to the iterator, and a reference back would be a cycle.
    """

    def __init__(self, loader: Any) -> None:
        on_gpu = loader.device is not None and loader.device.type == "cuda"
        self._pin: Callable[[Any], Any] | None = None
        if on_gpu:
            self._pin = pin_host_memory
        elif loader.pin_memory and _has_accelerator(loader.pin_memory_device):
            self._pin = pin_memory
        self._dataset = loader.dataset
        self._num_workers = loader.num_workers
        self._index_sampler = loader._index_sampler
        self._begin(loader)
        self._base_seed = drawn_seed(loader.generator)

    def _begin(self, loader: Any) -> None:
        self._sampler_iter: Iterator[Any] = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def __iter__(self) -> BatchIterator:
        return self

    def __next__(self) -> Any:
        batch = self._next_data()
        self._num_yielded += 1
        if self._IterableDataset_len_called is not None and self._num_yielded > self._IterableDataset_len_called:
            self._warn_of_length()
        return batch

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotSupportedError(
            "_next_data is not defined", hint="define _next_data(self)", operator=type(self).__name__
        )

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
            f"DataLoader: Length of IterableDataset {self._dataset} was reported to be "
            f"{self._IterableDataset_len_called} (when accessing len(dataloader)), but {self._num_yielded} samples "
            "have been fetched."
            + (shared if self._num_workers else "")
        )


class SerialIterator(BatchIterator):
    """Iterator that makes each batch in this process, on request.

    Raises: ArgumentError for a loader with a timeout; by `next`, the errors of the dataset.
    """

    def __init__(self, loader: Any) -> None:
        if loader.timeout:
            raise ArgumentError(
                f"timeout={loader.timeout} needs worker processes (num_workers > 0), and num_workers is 0",
                hint="leave timeout out, or pass num_workers=1 or more",
                operator="DataLoader",
            )
        super().__init__(loader)
        self._dataset_fetcher = fetcher(loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last)

    def _next_data(self) -> Any:
        batch = self._dataset_fetcher.fetch(self._next_index())
        return batch if self._pin is None else self._pin(batch)

    def close(self) -> None:
        self._sampler_iter = iter(())


def _has_accelerator(pin_memory_device: str) -> bool:
    """Return whether memory can be pinned.  Warns if it cannot, and if a device to pin for is given."""
    if pin_memory_device:
        callers.warn(
            f"DataLoader: pin_memory_device={pin_memory_device!r} is deprecated and ignored: pinned memory serves "
            "every device"
        )
    if thread.machine().device_count():
        return True
    callers.warn("DataLoader: pin_memory=True, but there is no accelerator: batches are not pinned")
    return False


# A batch, or the exception to raise in its place.  The end is the class: an instance's traceback would keep the
# iterator and, through its frames, a batch.
Ahead = tuple[Any, Exception | type[StopIteration] | None]


class DeviceIterator:
    """The batches of another iterator, on a GPU.  Host: returns as soon as the other iterator does."""

    def __init__(self, batches: BatchIterator, stream: Stream) -> None:
        self._batches = batches
        self._index = stream.device_index
        self._stream = stream
        self._fetched: Ahead | None = None  # on the host; kept if its copy is interrupted
        self._ahead: Ahead | None = None

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
            if error is not StopIteration:
                self._ahead = None
            try:
                raise error
            finally:
                del error  # otherwise the exception and this frame would keep each other alive
        self._fetch()
        current.wait_stream(self._stream)
        _record(batch, current)
        self._ahead, self._fetched = self._copied(current), None
        return batch

    def close(self) -> None:
        """End the epoch."""
        self._batches.close()
        self._ahead, self._fetched = (None, StopIteration), None

    def _fetch(self) -> None:
        """Fetch the next batch, or the exception to raise in its place, unless an interrupted call already did."""
        if self._fetched is None:
            try:
                self._fetched = next(self._batches), None
            except StopIteration:
                self._fetched = None, StopIteration
            except Exception as error:  # noqa: BLE001  (raised at the batch's turn)
                self._fetched = None, error

    def _copied(self, current: Stream) -> Ahead:
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
    """Return `data` with its tensors, and objects that have a `to` method, moved to a device."""
    if isinstance(data, TensorBase) or callable(getattr(data, "to", None)):
        return data.to(device, non_blocking=True)
    return with_entries(data, lambda entry: _moved(entry, device))


def _record(data: Any, stream: Stream) -> None:
    """Keep the memory of a batch's tensors, once dropped, until the work then queued on `stream` has completed."""
    if isinstance(data, Tensor):
        data.record_stream(stream)
    elif isinstance(data, Mapping):
        for entry in data.values():
            _record(entry, stream)
    elif isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        for entry in data:
            _record(entry, stream)
