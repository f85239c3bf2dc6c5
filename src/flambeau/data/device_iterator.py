"""The iterator over batches that are copied to a GPU ahead of their use.

- Copies run on a stream of their own, from pinned memory, one batch ahead.
- The copy stream follows the work that the consumer's stream has when a batch is asked for: a batch is not copied
  before the one before the last was used, and memory that was freed by then may be taken again.
- The consumer's stream, the current one at each `next`, follows the copies of the batch that it is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..core import thread
from ..core.tensor import TensorBase
from ..runtime import device as devices
from ..runtime.stream import Stream
from .iterators import BatchIterator
from .pin import with_entries


class DeviceIterator:
    """The batches of another iterator, on a GPU.  Host: returns as soon as the other iterator does."""

    def __init__(self, batches: BatchIterator, device: int) -> None:
        self._batches = batches
        self._index = device
        self._stream = Stream(devices.cuda(device))
        self._ahead: tuple[Any, Exception | None] | None = None

    def __iter__(self) -> DeviceIterator:
        return self

    def __len__(self) -> int:
        return len(self._batches)

    def __next__(self) -> Any:
        current = thread.current_stream(self._index)
        if self._ahead is None:
            self._ahead = self._copied(self._fetched(), current)
        batch, error = self._ahead
        if error is not None:
            if not isinstance(error, StopIteration):
                self._ahead = None
            raise error
        following = self._fetched()
        current.wait_stream(self._stream)
        _record(batch, current)
        self._ahead = self._copied(following, current)
        return batch

    def close(self) -> None:
        """End the epoch."""
        self._batches.close()
        self._ahead = None, StopIteration()

    def _fetched(self) -> tuple[Any, Exception | None]:
        """The next batch on the host, or the exception to raise at its turn."""
        try:
            return next(self._batches), None
        except Exception as error:  # noqa: BLE001  (raised at the batch's turn)
            return None, error

    def _copied(self, fetched: tuple[Any, Exception | None], current: Stream) -> tuple[Any, Exception | None]:
        """Start the copy of a batch."""
        batch, error = fetched
        if error is None:
            self._stream.wait_stream(current)
            with self._stream:
                batch = _moved(batch, devices.cuda(self._index))
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
