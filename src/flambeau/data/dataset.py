"""Data sets: by index, or as a stream."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from ..core.tensor import TensorBase
from ..errors import ArgumentError, ArgumentTypeError, IndexRangeError, NotSupportedError, naming, shown
from ..tensor import checks, random_factories

LENGTH_HINT = "define __len__(self), or give a list"
Sample_co = TypeVar("Sample_co", covariant=True)


def length_of(name: str, what: str, value: Any) -> int:
    """How many samples or indexes there are.  Raises ArgumentTypeError if that is not known."""
    if not hasattr(value, "__len__"):
        raise ArgumentTypeError(
            f"object of type {type(value).__name__!r} has no len(): {what} is {shown(value)}",
            hint=LENGTH_HINT,
            operator=name,
        )
    return len(value)


class Dataset(Generic[Sample_co]):
    """Samples by index: write `__getitem__`, and `__len__` for samplers that need it."""

    def __getitem__(self, index: Any) -> Sample_co:
        raise NotSupportedError(
            "__getitem__ is not defined", hint="define __getitem__(self, index)", operator=type(self).__name__
        )

    def __add__(self, other: Dataset[Any]) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[Sample_co], Iterable[Sample_co]):
    """Samples as a stream: write `__iter__`."""

    def __iter__(self) -> Iterator[Sample_co]:
        raise NotSupportedError("__iter__ is not defined", hint="define __iter__(self)", operator=type(self).__name__)


class TensorDataset(Dataset[tuple[Any, ...]]):
    """Tensors of one length; sample i is the i-th part of each.  Raises ArgumentError if the lengths differ."""

    def __init__(self, *tensors: TensorBase) -> None:
        checks.tensors("TensorDataset", "tensors", tensors)
        for place, each in enumerate(tensors):
            if not each.shape:
                raise IndexRangeError(
                    f"tensors[{place}] has no dimension to take samples from: {each.describe()}",
                    hint="use unsqueeze(0) first",
                    operator="TensorDataset",
                )
        lengths = [each.shape[0] for each in tensors]
        if len(set(lengths)) > 1:
            raise ArgumentError(
                f"Size mismatch between tensors, their first dimensions are {lengths}",
                hint="give tensors with as many samples each",
                operator="TensorDataset",
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(each[index] for each in self.tensors)  # type: ignore[index]

    def __len__(self) -> int:
        if not self.tensors:
            raise IndexRangeError(
                "it was made of 0 tensors, and has no length", hint="give it some", operator="TensorDataset"
            )
        return self.tensors[0].shape[0]


class ConcatDataset(Dataset[Any]):
    """Data sets one after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(checks.listed("ConcatDataset", "datasets", "data sets", datasets))
        if not self.datasets:
            raise ArgumentError(
                f"datasets should not be an empty iterable, got {shown(datasets)}",
                hint="give at least one",
                operator="ConcatDataset",
            )
        for place, each in enumerate(self.datasets):
            if isinstance(each, IterableDataset):
                raise ArgumentError(
                    f"an IterableDataset has no index: datasets[{place}] is {shown(each)}",
                    hint="chain the streams with itertools.chain",
                    operator="ConcatDataset",
                )
        lengths = [length_of("ConcatDataset", f"datasets[{place}]", each) for place, each in enumerate(self.datasets)]
        self.cumulative_sizes = list(itertools.accumulate(lengths))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        checks.integer("ConcatDataset", "an index", index)
        if not -len(self) <= index < len(self):
            raise IndexRangeError(
                f"index {index} is out of range for {len(self)} samples",
                hint=f"use {-len(self)} to {len(self) - 1}",
                operator="ConcatDataset",
            )
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
            return self.dataset[[self._at(each) for each in index]]
        return self.dataset[self._at(index)]

    def _at(self, index: Any) -> Any:
        try:
            return self.indices[index]
        except IndexError as error:
            count = len(self.indices)
            fact = f"index {index} is out of range for {count} samples"
            raise IndexRangeError(fact, operator="Subset", hint=f"use {-count} to {count - 1}") from error
        except TypeError as error:
            fact = f"{shown(index)} is no index of its indices, {shown(self.indices)}"
            raise ArgumentTypeError(
                fact, operator="Subset", hint="indices is a list of ints, and so is an index one"
            ) from error

    def __len__(self) -> int:
        return length_of("Subset", "indices", self.indices)


def random_split(dataset: Any, lengths: Sequence[int | float], generator: Any = None) -> list[Subset]:
    """Split a data set at random into parts of given lengths, or of given shares that sum to 1.

    What rounding leaves over goes to the parts one by one, from the first.
    Raises: ArgumentError if the lengths do not sum to the data set's.
    """
    whole = length_of("random_split", "dataset", dataset)
    counts = _counts(_checked("random_split", lengths), whole)
    if sum(counts) != whole:
        raise ArgumentError(
            f"Sum of input lengths does not equal the length of the input dataset: {sum(counts)} of "
            f"{list(lengths)} and {whole}",
            hint=f"give numbers that sum to {whole}, or shares that sum to 1",
            operator="random_split",
        )
    with naming("random_split"):
        order = random_factories.randperm(whole, device="cpu", generator=generator).tolist()
    ends = list(itertools.accumulate(counts))
    return [Subset(dataset, order[end - count : end]) for count, end in zip(counts, ends)]


def _checked(name: str, lengths: Any) -> tuple[Any, ...]:
    """The lengths of the parts.  Raises ArgumentTypeError, ArgumentError for a negative one."""
    found = checks.listed(name, "lengths", "numbers", lengths)
    for place, each in enumerate(found):
        checks.number(name, f"lengths[{place}]", each)
    are_shares = math.isclose(sum(found), 1)
    for place, each in enumerate(found):
        if not are_shares and int(each) != each:
            raise ArgumentError(
                f"lengths[{place}] is {each}, and lengths sum to {sum(found)}: {list(found)}",
                hint="give ints, or shares that sum to 1",
                operator=name,
            )
        if not are_shares and each < 0:
            raise ArgumentError(f"lengths[{place}] is negative: {list(found)}", hint="give 0 or more", operator=name)
    return found


def _counts(lengths: Sequence[int | float], whole: int) -> list[int]:
    if not (math.isclose(sum(lengths), 1) and sum(lengths) <= 1):
        return [int(each) for each in lengths]
    for index, share in enumerate(lengths):
        if not 0 <= share <= 1:
            raise ArgumentError(
                f"Fraction at index {index} is not between 0 and 1: {share}",
                hint="give shares of at least 0 that sum to 1",
                operator="random_split",
            )
    counts = [math.floor(whole * share) for share in lengths]
    for index in range(whole - sum(counts)):
        counts[index % len(counts)] += 1
    return counts
