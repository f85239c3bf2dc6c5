"""Samplers: the order of a dataset's samples.

Indices are drawn on request, as in PyTorch: a generator is first used at an iterator's first `next`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any, Generic, TypeVar

from ..core.tensor import TensorBase
from ..dtypes import float64, int64
from ..errors import ArgumentError, ArgumentTypeError, NotSupportedError, ValueRangeError, naming, shown
from ..host import np
from ..ops.random import multinomial
from ..runtime.generator import Generator
from ..tensor import checks, factories, random
from .dataset import device_of, length_of

Index_co = TypeVar("Index_co", covariant=True)
DRAWN_AT_ONCE = 32  # indices with replacement, which are drawn as they are needed


class Sampler(Generic[Index_co]):
    """Base class of samplers: subclasses define `__iter__`, and `__len__` if the number is known.

    Raises: NotSupportedError if the class does not define `__iter__`.
    Example:
        >>> class Reversed(torch.utils.data.Sampler):
        ...     def __iter__(self):
        ...         return iter((2, 1, 0))
        >>> list(Reversed())
        [2, 1, 0]
    """

    def __iter__(self) -> Iterator[Index_co]:
        raise NotSupportedError("__iter__ is not defined", hint="define __iter__(self)", operator=type(self).__name__)


class SequentialSampler(Sampler[int]):
    """Yield the indices of a dataset in order: 0, 1, 2 and so on.

    Raises: ArgumentTypeError for a dataset without a length, when it is iterated over.
    Example:
        >>> list(torch.utils.data.SequentialSampler(["a", "b"]))
        [0, 1]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))

    def __len__(self) -> int:
        return length_of("SequentialSampler", "data_source", self.data_source)


def drawn_seed(generator: Any) -> int:
    """Draw an int64 from `generator`, or from the CPU's default generator."""
    return int(factories.empty((), dtype=int64, device=device_of(generator)).random_(generator=generator).item())


def _integers(high: int, count: int, generator: Any) -> list[int]:
    drawn = random.randint(0, high, (count,), device=device_of(generator), generator=generator)
    return list(drawn.tolist())


def _permutation(count: int, generator: Any) -> list[int]:
    return list(random.randperm(count, device=device_of(generator), generator=generator).tolist())


class RandomSampler(Sampler[int]):
    """Yield random indices: each once or, with replacement, drawn independently.

    num_samples: the number of indices, the dataset's length by default.
    generator: without one, each iterator seeds its own generator from the CPU's default generator.
    Raises: ArgumentError if the dataset is empty or num_samples is not positive, ArgumentTypeError for a dataset
            without a length, a replacement that is not a bool or a generator that is not one.
    Example:
        >>> sorted(torch.utils.data.RandomSampler(range(3)))
        [0, 1, 2]
    """

    def __init__(
        self, data_source: Sized, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise ArgumentTypeError(
                f"replacement should be a boolean value, but got replacement={shown(replacement)}",
                hint="give True or False",
                operator="RandomSampler",
            )
        check_generator("RandomSampler", generator)
        length_of("RandomSampler", "data_source", data_source)
        _check_count(
            "RandomSampler",
            self.num_samples,
            "give 1 or more; the default is the length of the dataset, which must not be empty",
        )

    @property
    def num_samples(self) -> int:
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count = len(self.data_source)
        if not count and self.num_samples:
            raise ValueRangeError(
                f"cannot draw {self.num_samples} samples, the dataset is empty",
                hint="pass a dataset with samples",
                operator="RandomSampler",
            )
        generator = self.generator
        if generator is None:
            generator = Generator().manual_seed(drawn_seed(None))
        if self.replacement:
            for start in range(0, self.num_samples, DRAWN_AT_ONCE):
                yield from _integers(count, min(DRAWN_AT_ONCE, self.num_samples - start), generator)
            return
        for _ in range(self.num_samples // count):
            yield from _permutation(count, generator)
        # Drawn also if none is left: PyTorch draws it too, and a shared generator must be in the same state.
        yield from _permutation(count, generator)[: self.num_samples % count]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Yield given indices, each once, in random order.

    Raises: ArgumentTypeError for indices without a length or a generator that is not one.
    Example:
        >>> sorted(torch.utils.data.SubsetRandomSampler([4, 2]))
        [2, 4]
    """

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        length_of("SubsetRandomSampler", "indices", indices)
        check_generator("SubsetRandomSampler", generator)
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for index in _permutation(len(self.indices), self.generator):
            yield self.indices[index]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Yield indices drawn with probabilities in proportion to weights, with replacement or without.

    Without replacement, an index is drawn at most once.  Source of the algorithm: P. Efraimidis and P. Spirakis (2006).
    Raises: ArgumentError for a num_samples that is not a positive integer, a replacement that is not a bool or a weight
            that is not a number; ValueRangeError for weights that are negative, not finite or all zero, or if, without
            replacement, num_samples exceeds the number of positive weights.
    Example:
        >>> list(torch.utils.data.WeightedRandomSampler([0.0, 1.0], num_samples=3))
        [1, 1, 1]
    """

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True, generator: Any = None) -> None:
        _check_count("WeightedRandomSampler", num_samples, "give 1 or more")
        if not isinstance(replacement, bool):
            raise ArgumentError(
                f"replacement should be a boolean value, but got replacement={shown(replacement)}",
                hint="give True or False",
                operator="WeightedRandomSampler",
            )
        check_generator("WeightedRandomSampler", generator)
        self.weights = _weights(weights)
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator
        self._checked()

    def _checked(self) -> None:
        """Validate the weights, again before each draw: the tensor may have been written."""
        weights = self.weights.numpy()
        positive = _count_positive(weights)
        if not self.replacement and self.num_samples > positive:
            raise ValueRangeError(
                f"cannot draw {self.num_samples} samples without replacement: only {positive} of the weights are "
                "above 0",
                hint="pass replacement=True",
                operator="WeightedRandomSampler",
            )

    def __iter__(self) -> Iterator[int]:
        self._checked()
        weights = self.weights.to(device_of(self.generator))
        drawn = multinomial(weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Yield lists of `batch_size` indices of another sampler.

    drop_last: whether to leave out a last list that is shorter.
    Raises: ArgumentError for a batch_size that is not a positive int or a drop_last that is not a bool; in iteration,
            ArgumentTypeError for a sampler that is not iterable.
    Example:
        >>> list(torch.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

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
        check_iterable("BatchSampler", "sampler", sampler)
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        count = length_of("BatchSampler", "sampler", self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


class DistributedSampler(Sampler[Index_co]):
    """Yield one process's share of a dataset's indices; all shares have the same length.

    num_replicas: the number of processes;  rank: this process's number, from 0.  Both are those of the default process
        group unless given.
    shuffle: permute the indices, equally in every process, with the random seed `seed` + the epoch of `set_epoch`.
    drop_last: leave out the tail that does not divide evenly; otherwise the first indices are repeated to fill it.
    Raises: GroupError (RuntimeError) if num_replicas or rank is not given and there is no process group; ArgumentError
            unless rank is in [0, num_replicas - 1], ArgumentTypeError for numbers that are not ints or a dataset
            without a length.
    Example:
        >>> list(torch.utils.data.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
        [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            from ..parallel import process_group  # it loads networks, which samplers do not need

            num_replicas = process_group.get_world_size() if num_replicas is None else num_replicas
            rank = process_group.get_rank() if rank is None else rank
        checks.integer("DistributedSampler", "num_replicas", num_replicas)
        checks.integer("DistributedSampler", "rank", rank)
        if not 0 <= rank < num_replicas:
            raise ArgumentError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]",
                hint="pass the rank of this process, counted from 0",
                operator="DistributedSampler",
            )
        count = length_of("DistributedSampler", "dataset", dataset)
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        self.num_samples = count // num_replicas if drop_last else math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[Any]:
        count = len(self.dataset)
        if self.shuffle:
            order = _permutation(count, Generator().manual_seed(self.seed + self.epoch))
        else:
            order = list(range(count))
        whole = order * math.ceil(self.total_size / count) if count else []
        return iter(whole[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch's number, which determines, with the seed, the random order of later iterators.

        Call it before each epoch; otherwise every epoch has the same order.
        Raises: ArgumentTypeError for an epoch that is not an int.
        Example:
            >>> sampler = torch.utils.data.DistributedSampler(range(4), num_replicas=2, rank=0)
            >>> sampler.set_epoch(1)
            >>> sampler.epoch, len(list(sampler))
            (1, 2)
        """
        checks.integer("set_epoch", "epoch", epoch)
        self.epoch = epoch


def _count_positive(weights: Any) -> int:
    """Return the number of positive weights.  Raises ValueRangeError."""
    wrong = np.flatnonzero(~((weights >= 0) & (weights < np.inf)))
    if len(wrong):
        index = int(wrong[0])
        raise ValueRangeError(
            f"weight {index} is {weights[index].item()}; weights must be finite and not negative",
            hint="give 0 for an index that must not be drawn",
            operator="WeightedRandomSampler",
        )
    positive = int(np.count_nonzero(weights))
    if not positive:
        raise ValueRangeError(
            f"none of the {len(weights)} weights is positive",
            hint="give at least one above 0",
            operator="WeightedRandomSampler",
        )
    return positive


def check_iterable(name: str, what: str, sampler: Any) -> None:
    """Raise ArgumentTypeError unless `iter` accepts the object."""
    if not isinstance(sampler, Iterable) and not hasattr(sampler, "__getitem__"):
        raise ArgumentTypeError(
            f"{what} must be an iterable of indices, got {shown(sampler)}",
            hint="give a sampler, or a list",
            operator=name,
        )


def _check_count(name: str, count: Any, hint: str) -> None:
    if isinstance(count, bool) or not isinstance(count, int) or count <= 0:
        raise ArgumentError(
            f"num_samples should be a positive integer value, but got num_samples={shown(count)}",
            hint=hint,
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


def _weights(weights: Any) -> Any:
    """Return weights as a float64 CPU tensor.  Raises ArgumentTypeError, ArgumentError unless it is a 1d sequence."""
    name = "WeightedRandomSampler"
    if not isinstance(weights, (TensorBase, np.ndarray)):
        weights = checks.listed(name, "weights", "numbers", weights)
        for index, weight in enumerate(weights):
            if isinstance(weight, str) or not hasattr(weight, "__float__"):
                raise ArgumentError(
                    f"weight {index} is not a number: {shown(weight)}", hint="pass one number per sample", operator=name
                )
        weights = list(map(float, weights))
    elif weights.ndim != 1:
        raise ArgumentError(
            f"weights should be a 1d sequence but given weights are {shown(weights)}",
            hint="pass one number per sample",
            operator=name,
        )
    with naming(name):
        return factories.as_tensor(weights, dtype=float64, device="cpu")
