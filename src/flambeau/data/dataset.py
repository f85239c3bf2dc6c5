"""Data sets: by index, or as a stream."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from ..core import TensorCore
from ..errors import ArgumentError, IndexRangeError, NotSupportedError
from ..tensor import factories

Sample_co = TypeVar("Sample_co", covariant=True)


class Dataset(Generic[Sample_co]):
    """Samples by index: write `__getitem__`, and `__len__` for samplers that need it."""

    def __getitem__(self, index: Any) -> Sample_co:
        raise NotSupportedError(
            f"{type(self).__name__}: __getitem__ is not defined", hint="define __getitem__(self, index)"
        )

    def __add__(self, other: Dataset[Any]) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[Sample_co], Iterable[Sample_co]):
    """Samples as a stream: write `__iter__`."""

    def __iter__(self) -> Iterator[Sample_co]:
        raise NotSupportedError(f"{type(self).__name__}: __iter__ is not defined", hint="define __iter__(self)")


class TensorDataset(Dataset[tuple[Any, ...]]):
    """Tensors of one length; sample i is the i-th part of each.  Raises ArgumentError if the lengths differ."""

    def __init__(self, *tensors: TensorCore) -> None:
        lengths = [each.shape[0] for each in tensors]
        if len(set(lengths)) > 1:
            raise ArgumentError(f"TensorDataset: Size mismatch between tensors, their first dimensions are {lengths}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(each[index] for each in self.tensors)  # type: ignore[index]

    def __len__(self) -> int:
        return self.tensors[0].shape[0]


class ConcatDataset(Dataset[Any]):
    """Data sets one after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ArgumentError("ConcatDataset: datasets should not be an empty iterable")
        if any(isinstance(each, IterableDataset) for each in self.datasets):
            raise ArgumentError(
                "ConcatDataset: an IterableDataset has no index", hint="chain the streams with itertools.chain"
            )
        self.cumulative_sizes = list(itertools.accumulate(len(each) for each in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        if not -len(self) <= index < len(self):
            raise IndexRangeError(f"ConcatDataset: index {index} is out of range for {len(self)} samples")
        place = index % len(self)
        which = bisect_right(self.cumulative_sizes, place)
        start = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][place - start]


class Subset(Dataset[Any]):
    """The samples of a data set at chosen indexes."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[each] for each in index]]
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[int | float], generator: Any = None) -> list[Subset]:
    """Split a data set at random into parts of given lengths, or of given shares that sum to 1.

    What rounding leaves over goes to the parts one by one, from the first.
    Raises: ArgumentError if the lengths do not sum to the data set's.
    """
    counts = _counts(lengths, len(dataset))
    if sum(counts) != len(dataset):
        raise ArgumentError(
            f"random_split: Sum of input lengths does not equal the length of the input dataset: {sum(counts)} and "
            f"{len(dataset)}"
        )
    order = factories.randperm(len(dataset), device="cpu", generator=generator).tolist()
    ends = list(itertools.accumulate(counts))
    return [Subset(dataset, order[end - count : end]) for count, end in zip(counts, ends)]


def _counts(lengths: Sequence[int | float], whole: int) -> list[int]:
    if not (math.isclose(sum(lengths), 1) and sum(lengths) <= 1):
        return [int(each) for each in lengths]
    for index, share in enumerate(lengths):
        if not 0 <= share <= 1:
            raise ArgumentError(f"random_split: Fraction at index {index} is not between 0 and 1: {share}")
    counts = [math.floor(whole * share) for share in lengths]
    for index in range(whole - sum(counts)):
        counts[index % len(counts)] += 1
    return counts
