"""Fetchers: batches made of a dataset, in the process that iterates or in a worker.

An exception leaves the fetcher usable: the next call makes the next batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .collate import default_collate, stacks_tensors
from .dataset import IterableDataset, gathered


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
