"""Samplers: uniqueness, and how often each index comes."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

import flambeau as torch
from flambeau.data import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from flambeau.errors import ArgumentError, NotSupportedError


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_in_order():
    assert list(SequentialSampler(range(4))) == [0, 1, 2, 3]
    assert len(SequentialSampler(range(4))) == 4
    with pytest.raises(NotSupportedError):
        iter(Sampler())


def test_at_random_each_once():
    sampler = RandomSampler(range(50), generator=seeded())
    first, second = list(sampler), list(sampler)
    assert sorted(first) == sorted(second) == list(range(50))
    assert first != second
    assert list(RandomSampler(range(50), generator=seeded())) == first


def test_more_or_fewer_than_there_are():
    found = list(RandomSampler(range(4), num_samples=10, generator=seeded()))
    assert (len(found), sorted(found[:4]), sorted(found[4:8])) == (10, [0, 1, 2, 3], [0, 1, 2, 3])
    assert len(set(RandomSampler(range(20), num_samples=5, generator=seeded()))) == 5


def test_with_replacement_every_index_is_as_likely():
    found = list(RandomSampler(range(4), replacement=True, num_samples=4000, generator=seeded()))
    assert set(found) == {0, 1, 2, 3}
    assert all(900 < found.count(index) < 1100 for index in range(4))


def test_without_a_generator_the_cpu_s_seed_decides():
    torch.manual_seed(4)
    first = list(RandomSampler(range(20)))
    torch.manual_seed(4)
    assert list(RandomSampler(range(20))) == first


def test_subsets():
    found = list(SubsetRandomSampler([3, 5, 9], generator=seeded()))
    assert sorted(found) == [3, 5, 9]
    assert len(SubsetRandomSampler([3, 5, 9])) == 3


def test_weights_decide_how_often():
    sampler = WeightedRandomSampler([1.0, 0.0, 3.0], 4000, generator=seeded())
    found = list(sampler)
    assert (len(found), len(sampler), found.count(1)) == (4000, 4000, 0)
    assert 900 < found.count(0) < 1100


def test_weights_without_replacement():
    firsts = []
    for seed in range(400):
        found = list(WeightedRandomSampler(torch.tensor([1.0, 3.0, 0.0, 4.0]), 3, False, generator=seeded(seed)))
        assert sorted(found) == [0, 1, 3]
        firsts.append(found[0])
    assert 25 < firsts.count(0) < 75
    assert 160 < firsts.count(3) < 240


@given(some.integers(0, 40), some.integers(1, 7), some.booleans())
def test_batches_hold_every_index_in_order(count, size, drop_last):
    sampler = BatchSampler(SequentialSampler(range(count)), size, drop_last)
    batches = list(sampler)
    kept = count - count % size if drop_last else count
    assert [index for batch in batches for index in batch] == list(range(kept))
    assert all(len(batch) == size for batch in batches[:-1])
    assert len(batches) == len(sampler)


def test_bad_arguments():
    cases = [
        (lambda: RandomSampler([]), "positive integer value, but got num_samples=0"),
        (lambda: RandomSampler([1], num_samples=1.5), r"num_samples=1\.5"),
        (lambda: BatchSampler([1], 0, False), "batch_size=0"),
        (lambda: BatchSampler([1], True, False), "batch_size=True"),
        (lambda: BatchSampler([1], 1, 1), "drop_last=1"),
        (lambda: WeightedRandomSampler([1.0, -2.0], 1), r"weight 1 is -2\.0"),
        (lambda: WeightedRandomSampler([float("nan")], 1), "weight 0 is nan"),
        (lambda: WeightedRandomSampler([0.0, 0.0], 1), "none of the 2 weights is positive"),
        (lambda: WeightedRandomSampler([0.0, 1.0], 2, replacement=False), "cannot draw 2 samples .*, 1 have a weight"),
    ]
    for make, text in cases:
        with pytest.raises(ArgumentError, match=text):
            make()
