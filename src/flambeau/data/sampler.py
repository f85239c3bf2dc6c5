"""Samplers: in which order a data set's samples are taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from ..core.tensor import TensorBase
from ..dtypes import float64
from ..errors import ArgumentError, ArgumentTypeError, NotSupportedError, shown
from ..host import np
from ..runtime.generator import Generator
from ..tensor import checks, factories, random_factories
from .dataset import length_of

Index_co = TypeVar("Index_co", covariant=True)


class Sampler(Generic[Index_co]):
    """An order of indexes: write `__iter__`, and `__len__` where the number is known."""

    def __iter__(self) -> Iterator[Index_co]:
        raise NotSupportedError("__iter__ is not defined", hint="define __iter__(self)", operator=type(self).__name__)


class SequentialSampler(Sampler[int]):
    """0, 1, 2 and so on."""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))

    def __len__(self) -> int:
        return length_of("SequentialSampler", "data_source", self.data_source)


class RandomSampler(Sampler[int]):
    """Indexes at random: each once or, with replacement, drawn anew each time.

    num_samples: how many; the data set's length if not given.
    Raises: ArgumentError if the data set is empty or num_samples is not positive.
    """

    def __init__(
        self, data_source: Sized, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        checks.flag("RandomSampler", "replacement", replacement)
        check_generator("RandomSampler", generator)
        length_of("RandomSampler", "data_source", data_source)
        _check_count("RandomSampler", self.num_samples)

    @property
    def num_samples(self) -> int:
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count = len(self.data_source)
        if self.replacement:
            drawn = random_factories.randint(0, count, (self.num_samples,), device="cpu", generator=self.generator)
            yield from drawn.tolist()
            return
        left = self.num_samples
        while left > 0:
            order = random_factories.randperm(count, device="cpu", generator=self.generator).tolist()
            yield from order[:left]
            left -= count

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indexes, each once, at random."""

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        length_of("SubsetRandomSampler", "indices", indices)
        check_generator("SubsetRandomSampler", generator)
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        order = random_factories.randperm(len(self.indices), device="cpu", generator=self.generator).tolist()
        return iter([self.indices[place] for place in order])

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indexes drawn with probabilities in proportion to weights, with replacement or without.

    Without replacement each draw is from what is left, by the keys of P. Efraimidis and P. Spirakis (2006).
    Raises: ArgumentError for weights that are negative, not finite or all zero, or if, without replacement, more
            samples are wanted than have a weight.
    """

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True, generator: Any = None) -> None:
        _check_count("WeightedRandomSampler", num_samples)
        if not isinstance(replacement, bool):
            raise ArgumentError(
                f"replacement should be a boolean value, but got replacement={shown(replacement)}",
                hint="give True or False",
                operator="WeightedRandomSampler",
            )
        check_generator("WeightedRandomSampler", generator)
        self.weights = _numbers(weights)
        positive = _check_weights(self.weights)
        if not replacement and num_samples > positive:
            raise ArgumentError(
                f"cannot draw {num_samples} samples without replacement, {positive} have a weight",
                hint="pass replacement=True",
                operator="WeightedRandomSampler",
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        return iter(self._with_replacement() if self.replacement else self._without_replacement())

    def _uniform(self, count: int) -> Any:
        return factories.empty(count, dtype=float64, device="cpu").uniform_(generator=self.generator).numpy()

    def _with_replacement(self) -> list[int]:
        ends = np.cumsum(np.array(self.weights))
        found = np.searchsorted(ends, self._uniform(self.num_samples) * ends[-1], side="right")
        last = max(index for index, weight in enumerate(self.weights) if weight > 0)
        return np.minimum(found, last).tolist()  # type: ignore[no-any-return]

    def _without_replacement(self) -> list[int]:
        with np.errstate(divide="ignore", invalid="ignore"):
            waits = -np.log1p(-self._uniform(len(self.weights))) / np.array(self.weights)
        waits[np.array(self.weights) == 0] = np.inf
        return np.argsort(waits, kind="stable")[: self.num_samples].tolist()  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` indexes of another sampler; drop_last: leave out a last one that is shorter."""

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size <= 0:
            raise ArgumentError(
                f"batch_size should be a positive integer value, but got batch_size={shown(batch_size)}",
                hint="give 1 or more",
                operator="BatchSampler",
            )
        if not isinstance(drop_last, bool):
            raise ArgumentError(
                f"drop_last should be a boolean value, but got drop_last={shown(drop_last)}",
                hint="give True or False",
                operator="BatchSampler",
            )
        if not isinstance(sampler, Iterable):
            raise ArgumentTypeError(
                f"sampler must give indexes, got {shown(sampler)}",
                hint="give a sampler, or a list of ints",
                operator="BatchSampler",
            )
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        count = length_of("BatchSampler", "sampler", self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


def _check_weights(weights: Sequence[float]) -> int:
    """How many weights are positive.  Raises ArgumentError."""
    for index, each in enumerate(weights):
        if not 0 <= each < float("inf"):
            raise ArgumentError(
                f"weight {index} is {each}; weights must be finite and not negative",
                hint="give 0 for what shall not be drawn",
                operator="WeightedRandomSampler",
            )
    positive = sum(each > 0 for each in weights)
    if not positive:
        raise ArgumentError(
            f"none of the {len(weights)} weights is positive",
            hint="give at least one above 0",
            operator="WeightedRandomSampler",
        )
    return positive


def _check_count(name: str, count: Any) -> None:
    if isinstance(count, bool) or not isinstance(count, int) or count <= 0:
        raise ArgumentError(
            f"num_samples should be a positive integer value, but got num_samples={shown(count)}",
            hint="give 1 or more; without one it is the length of the data set, which must not be empty",
            operator=name,
        )


def check_generator(name: str, generator: Any) -> None:
    """Raise ArgumentTypeError unless it is a generator or None."""
    if generator is not None and not isinstance(generator, Generator):
        raise ArgumentTypeError(
            f"generator must be a Generator or None, got {shown(generator)}",
            hint="make one: torch.Generator()",
            operator=name,
        )


def _numbers(weights: Any) -> list[float]:
    """Weights as a list.  Raises ArgumentTypeError, ArgumentError for what is no vector of numbers."""
    name = "WeightedRandomSampler"
    if isinstance(weights, TensorBase) and weights.ndim != 1 or not isinstance(weights, Iterable):
        raise ArgumentError(
            f"weights should be a 1d sequence but given weights are {shown(weights)}",
            hint="give one per sample",
            operator=name,
        )
    found = checks.listed(name, "weights", "numbers", weights.tolist() if isinstance(weights, TensorBase) else weights)
    for index, each in enumerate(found):
        if isinstance(each, str) or not hasattr(each, "__float__"):
            raise ArgumentError(
                f"weight {index} is no number: {shown(each)}", hint="give one per sample", operator=name
            )
    return [float(each) for each in found]
