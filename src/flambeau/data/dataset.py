"""Datasets: by index (map-style), or as a stream (iterable-style)."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from .. import callers
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    FlambeauError,
    IndexRangeError,
    NotSupportedError,
    naming,
    shown,
)
from ..runtime.generator import Generator
from ..tensor import checks, factories, random
from ..tensor.tensor import Tensor
from ..uncomputed import sample_arrays

LENGTH_HINT = "define __len__(self), or give a list"
Sample_co = TypeVar("Sample_co", covariant=True)


def length_of(name: str, what: str, value: Any) -> int:
    """Return the number of samples or indices.  Raises ArgumentTypeError for an object without a length.

    what: the argument that the object was passed as.
    """
    if not hasattr(value, "__len__"):
        raise ArgumentTypeError(
            f"object of type {type(value).__name__!r} has no len(): {what} is {shown(value)}",
            hint=LENGTH_HINT,
            operator=name,
        )
    return len(value)


def device_of(generator: Any) -> Any:
    """Return the device to draw random numbers on: the generator's, or the CPU."""
    return generator.device if isinstance(generator, Generator) else "cpu"


class Dataset(Generic[Sample_co]):
    """Base class of map-style datasets: subclasses define `__getitem__`, and `__len__` for samplers that need it.

    A subclass may define `__getitems__(indices)`, which returns the samples of a batch as a list.
    Raises: NotSupportedError for an index if the class does not define `__getitem__`.
    Example:
        >>> class Squares(torch.utils.data.Dataset):
        ...     def __getitem__(self, index):
        ...         return index * index
        >>> Squares()[3]
        9
    """

    def __getitem__(self, index: Any) -> Sample_co:
        raise NotSupportedError(
            "__getitem__ is not defined", hint="define __getitem__(self, index)", operator=type(self).__name__
        )

    def __add__(self, other: Dataset[Any]) -> ConcatDataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[Sample_co], Iterable[Sample_co]):
    """Base class of datasets that are only iterated over, such as streams: subclasses define `__iter__`.

    Every worker process iterates over its own copy and should yield only its share: `get_worker_info` returns its
    index.
    Raises: NotSupportedError for an index, the builtin TypeError for a class without `__iter__`.
    Example:
        >>> class Numbers(torch.utils.data.IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(3))
        >>> list(torch.utils.data.DataLoader(Numbers(), batch_size=2))
        [tensor([0, 1]), tensor([2])]
    """

    def __add__(self, other: Dataset[Any]) -> ChainDataset:  # type: ignore[override]  # PyTorch chains streams instead
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Any, ...]]):
    """Dataset of tensors with equal first dimensions: sample i is the tuple of row i of each tensor.

    Shapes: tensors [n, *]; a sample is a tuple of [*].
    Raises: ArgumentError if the first dimensions differ, ArgumentTypeError for a value that is not a tensor,
            IndexRangeError for a tensor without dimensions or an index out of range.
    Example:
        >>> torch.utils.data.TensorDataset(torch.tensor([1, 2]), torch.tensor([3, 4]))[1]
        (tensor(2), tensor(4))
    """

    def __init__(self, *tensors: Tensor) -> None:
        checks.tensors("TensorDataset", "tensors", tensors)
        for index, tensor in enumerate(tensors):
            if not tensor.shape:
                raise IndexRangeError(
                    f"tensors[{index}] has no dimension to take samples from: {tensor.describe()}",
                    hint="use unsqueeze(0) first",
                    operator="TensorDataset",
                )
        lengths = [tensor.shape[0] for tensor in tensors]
        if len(set(lengths)) > 1:
            raise ArgumentError(
                f"Size mismatch between tensors, their first dimensions are {lengths}",
                hint="pass tensors whose first dimensions have the same size",
                operator="TensorDataset",
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __getitems__(self, indices: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return the samples at these indices; rows of CPU tensors are copied together."""
        rows = gathered(self, indices)
        if rows is None:
            return [self[index] for index in indices]
        return list(zip(*[tensor.unbind() for tensor in rows]))

    def __len__(self) -> int:
        if not self.tensors:
            raise IndexRangeError(
                "a TensorDataset of 0 tensors has no length",
                hint="pass one tensor or more to TensorDataset(...)",
                operator="TensorDataset",
            )
        return self.tensors[0].shape[0]


def gathered(dataset: Any, indices: Sequence[Any]) -> list[Any] | None:
    """Return rows of a TensorDataset, or of Subsets of one, as one new tensor per field.

    None if one copy per field is impossible: other classes, tensors on a GPU or with gradients, indices that are not
    ints in range.
    """
    while type(dataset) is Subset and type(dataset.indices) is list:
        try:
            indices = [dataset.indices[index] for index in indices]
        except (IndexError, TypeError):
            return None
        dataset = dataset.dataset
    if type(dataset) is not TensorDataset or not indices or any([type(index) is not int for index in indices]):
        return None
    if any([type(tensor) is not Tensor or tensor.is_cuda or tensor.requires_grad for tensor in dataset.tensors]):
        return None
    try:
        return [factories.from_array(array.take(indices, axis=0)) for array in sample_arrays(dataset.tensors)]
    except IndexError:  # raised again, with a better message, by the sample that is out of range
        return None


class StackDataset(Dataset[Sample_co]):
    """Dataset whose sample i is a tuple of sample i of several datasets, or a dict if they are given by keyword.

    Raises: ArgumentError without datasets, with both kinds of argument, or if lengths differ; ArgumentTypeError for a
            dataset without a length.
    Example:
        >>> torch.utils.data.StackDataset(x=[1, 2], y=["a", "b"])[1]
        {'x': 2, 'y': 'b'}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            wanted = (
                "Supported either tuple- or dict-like datasets" if args else "At least one dataset should be passed"
            )
            raise ArgumentError(
                f"{wanted}, got {len(args)} by position and {len(kwargs)} by keyword",
                hint="give all of them by position, or all by keyword",
                operator="StackDataset",
            )
        self.datasets = args or kwargs
        named = kwargs or {f"datasets[{index}]": dataset for index, dataset in enumerate(args)}
        lengths = [length_of("StackDataset", name, dataset) for name, dataset in named.items()]
        if len(set(lengths)) > 1:
            raise ArgumentError(
                f"Size mismatch between datasets, their lengths are {lengths}",
                hint="give datasets of equal length",
                operator="StackDataset",
            )
        self._length = lengths[0]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices: Sequence[Any]) -> list[Any]:
        """Return the samples at these indices.  Raises ArgumentError if a dataset returns a different number."""
        named = self.datasets.items() if isinstance(self.datasets, dict) else enumerate(self.datasets)
        columns = [_column(f"datasets[{name!r}]", dataset, indices) for name, dataset in named]
        rows = zip(*columns)
        return [dict(zip(self.datasets, row)) for row in rows] if isinstance(self.datasets, dict) else list(rows)

    def __len__(self) -> int:
        return self._length


def _column(name: str, dataset: Any, indices: Sequence[Any]) -> Sequence[Any]:
    """Return the samples of one of StackDataset's datasets."""
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[index] for index in indices]
    samples: Sequence[Any] = dataset.__getitems__(indices)
    if len(samples) != len(indices):
        raise ArgumentError(
            f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(samples)} from "
            f"{name}.__getitems__",
            hint="let __getitems__ return one sample per index",
            operator="StackDataset",
        )
    return samples


class ConcatDataset(Dataset[Sample_co]):
    """Dataset of the samples of several datasets; its indices run through one dataset after the other.

    Raises: ArgumentError if there are no datasets, if one is an IterableDataset, or for a negative index out of range;
            IndexRangeError for an index that is too large; ArgumentTypeError for a dataset without a length.
    Example:
        >>> torch.utils.data.ConcatDataset([[1, 2], [3]])[2]
        3
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(checks.listed("ConcatDataset", "datasets", "datasets", datasets))
        if not self.datasets:
            raise ArgumentError(
                f"datasets should not be an empty iterable, got {shown(datasets)}",
                hint="give at least one",
                operator="ConcatDataset",
            )
        for index, dataset in enumerate(self.datasets):
            if isinstance(dataset, IterableDataset):
                raise ArgumentError(
                    f"does not support IterableDataset, which has no index: datasets[{index}] is {shown(dataset)}",
                    hint="use ChainDataset",
                    operator="ConcatDataset",
                )
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Sequence[Any]) -> list[int]:
        """Return the running sums of the datasets' lengths: entry i is where dataset i ends.

        Raises: ArgumentTypeError for a dataset without a length, or an argument that is not a list.
        Example:
            >>> torch.utils.data.ConcatDataset.cumsum([range(3), range(4)])
            [3, 7]
        """
        datasets = checks.listed("cumsum", "sequence", "datasets", sequence)
        lengths = [length_of("ConcatDataset", f"datasets[{index}]", dataset) for index, dataset in enumerate(datasets)]
        return list(itertools.accumulate(lengths))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        checks.integer("ConcatDataset", "an index", index)
        if not -len(self) <= index < len(self):
            error: type[FlambeauError] = IndexRangeError if index >= 0 else ArgumentError  # as PyTorch's
            raise error(
                f"index {index} is out of range for {len(self)} samples",
                hint=f"use {-len(self)} to {len(self) - 1}",
                operator="ConcatDataset",
            )
        position = index % len(self)
        which = bisect_right(self.cumulative_sizes, position)
        start = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][position - start]


class ChainDataset(IterableDataset[Any]):
    """Dataset that yields the samples of several iterable datasets, one dataset after the other.

    Raises: when it is iterated over or its length is taken, ArgumentTypeError for an entry that is not an
            IterableDataset or has no length.
    Example:
        >>> class Numbers(torch.utils.data.IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(2))
        >>> list(torch.utils.data.ChainDataset([Numbers(), Numbers()]))
        [0, 1, 0, 1]
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def _streams(self) -> Iterator[Any]:
        for index, dataset in enumerate(self.datasets):
            if not isinstance(dataset, IterableDataset):
                raise ArgumentTypeError(
                    f"only supports IterableDataset, datasets[{index}] is {shown(dataset)}",
                    hint="use ConcatDataset for datasets with an index",
                    operator="ChainDataset",
                )
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        for dataset in self._streams():
            yield from dataset

    def __len__(self) -> int:
        streams = enumerate(self._streams())
        return sum(length_of("ChainDataset", f"datasets[{index}]", dataset) for index, dataset in streams)


class Subset(Dataset[Sample_co]):
    """Dataset of the samples of another dataset at given indices.

    Raises: IndexRangeError for an index out of range; in a DataLoader, NotSupportedError for a subclass that overrides
            `__getitem__` and not `__getitems__`.
    Example:
        >>> torch.utils.data.Subset(["a", "b", "c"], [2, 0])[0]
        'c'
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        cls = type(self)
        if cls.__getitem__ is not Subset.__getitem__ and cls.__getitems__ is Subset.__getitems__:
            raise NotSupportedError(
                "overrides __getitem__ but not __getitems__, which a DataLoader calls",
                hint="define __getitems__(self, indices), as in: return [self[index] for index in indices]",
                operator=cls.__name__,
            )
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self._at(entry) for entry in index]]
        return self.dataset[self._at(index)]

    def __getitems__(self, indices: Sequence[Any]) -> Any:
        """Return the samples at these positions of `indices`, by the dataset's own `__getitems__` if it has one."""
        chosen = [self._at(index) for index in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(chosen)
        return [self.dataset[index] for index in chosen]

    def _at(self, index: Any) -> Any:
        try:
            return self.indices[index]
        except IndexError as error:
            count = len(self.indices)
            fact = f"index {index} is out of range for {count} samples"
            raise IndexRangeError(fact, operator="Subset", hint=f"use {-count} to {count - 1}") from error
        except TypeError as error:
            fact = f"indices={shown(self.indices)} cannot be indexed with {shown(index)}"
            raise ArgumentTypeError(
                fact, operator="Subset", hint="pass a list of ints as indices, and an int as the index"
            ) from error

    def __len__(self) -> int:
        return length_of("Subset", "indices", self.indices)


def random_split(dataset: Any, lengths: Sequence[int | float], generator: Any = None) -> list[Subset[Any]]:
    """Split a dataset at random into parts of given lengths, or of given fractions that sum to 1.

    Fractions are rounded down; the remaining samples go one each to the parts, from the first part on.  An empty part
    gives a warning.
    Raises: ArgumentError if the lengths do not sum to the dataset's or one is negative, ArgumentTypeError for lengths
            that are not numbers, a dataset without a length or a generator that is not one.
    Example:
        >>> [len(part) for part in torch.utils.data.random_split(range(10), [0.75, 0.25])]
        [8, 2]
    """
    whole = length_of("random_split", "dataset", dataset)
    counts = _counts(_checked("random_split", lengths), whole)
    if sum(counts) != whole:
        raise ArgumentError(
            "Sum of input lengths does not equal the length of the input dataset: "
            f"lengths {list(lengths)} sum to {sum(counts)}, the dataset has {whole} samples",
            hint=f"give numbers that sum to {whole}, or fractions that sum to 1",
            operator="random_split",
        )
    with naming("random_split"):
        order = random.randperm(whole, device=device_of(generator), generator=generator).tolist()
    ends = list(itertools.accumulate(counts))
    return [Subset(dataset, order[end - count : end]) for count, end in zip(counts, ends)]


def _checked(name: str, lengths: Any) -> tuple[Any, ...]:
    """Return the lengths of the parts.  Raises ArgumentTypeError, ArgumentError for a negative one."""
    numbers = checks.listed(name, "lengths", "numbers", lengths)
    for index, number in enumerate(numbers):
        checks.number(name, f"lengths[{index}]", number)
    are_shares = math.isclose(sum(numbers), 1)
    for index, number in enumerate(numbers):
        if not are_shares and (not -math.inf < number < math.inf or int(number) != number):
            raise ArgumentError(
                f"lengths[{index}] is {number}, and lengths sum to {sum(numbers)}: {list(numbers)}",
                hint="pass ints, or fractions that sum to 1",
                operator=name,
            )
        if not are_shares and number < 0:
            raise ArgumentError(f"lengths[{index}] is negative: {list(numbers)}", hint="give 0 or more", operator=name)
    return numbers


def _counts(lengths: Sequence[int | float], whole: int) -> list[int]:
    if not (math.isclose(sum(lengths), 1) and sum(lengths) <= 1):
        return [int(length) for length in lengths]
    for index, share in enumerate(lengths):
        if not 0 <= share <= 1:
            raise ArgumentError(
                f"Fraction at index {index} is not between 0 and 1: {share}",
                hint="pass fractions of at least 0 that sum to 1",
                operator="random_split",
            )
    counts = [math.floor(whole * share) for share in lengths]
    for index in range(whole - sum(counts)):
        counts[index % len(counts)] += 1
    for index, count in enumerate(counts):
        if count == 0:
            callers.warn(f"random_split: Length of split at index {index} is 0: fractions {list(lengths)} of {whole}")
    return counts
