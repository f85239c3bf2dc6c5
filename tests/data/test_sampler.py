"""Samplers: uniqueness, and how often each index comes."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

import flambeau as torch
from flambeau.data import (
    BatchSampler,
    DataLoader,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
    random_split,
)
from flambeau.errors import ArgumentError, ArgumentTypeError, NotSupportedError
from flambeau.testing import machine
from tests.oracle import loader_cases

RECORDED = json.loads(Path(loader_cases.__file__).with_suffix(".json").read_text())


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


@pytest.mark.parametrize("replacement", [False, True])
def test_an_empty_dataset_has_no_samples(replacement):
    samples = []
    sampler = RandomSampler(samples, replacement, num_samples=3)
    with pytest.raises(ArgumentError, match="RandomSampler: cannot draw 3 samples"):
        next(iter(sampler))
    samples.append(0)  # filled later
    assert list(sampler) == [0, 0, 0]


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
        (lambda: WeightedRandomSampler([0.0, 1.0], 2, replacement=False), "draw 2 .* only 1 of the weights"),
    ]
    for make, text in cases:
        with pytest.raises(ArgumentError, match=text):
            make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: RandomSampler(range(40)),
        lambda: RandomSampler(range(40), replacement=True),
        lambda: SubsetRandomSampler(range(40)),
        lambda: WeightedRandomSampler([1.0] * 40, 30),
        lambda: WeightedRandomSampler([1.0] * 40, 30, replacement=False),
    ],
)
def test_nothing_is_drawn_before_the_first_index(make):
    sampler = make()
    one, other = iter(sampler), iter(sampler)
    torch.manual_seed(3)
    first = next(one)
    torch.manual_seed(3)
    assert next(other) == first
    assert list(one) == list(other)


def test_any_number_of_indices_is_drawn_as_they_are_needed():
    indices = iter(RandomSampler(range(7), replacement=True, num_samples=10**10))
    assert all(0 <= next(indices) < 7 for _ in range(100))


@pytest.mark.parametrize(("count", "permutations"), [(5, 1), (10, 2), (20, 3), (25, 3)])
def test_a_generator_gives_pytorch_s_number_of_permutations(count, permutations):
    """One for each whole round, and one for the rest, also if there is none."""
    given, twin = seeded(), seeded()
    list(RandomSampler(range(10), num_samples=count, generator=given))
    for _ in range(permutations):
        torch.randperm(10, generator=twin)
    assert given.get_state().tolist() == twin.get_state().tolist()


def test_a_generator_of_a_gpu_draws_there():
    makes = [
        lambda given: RandomSampler(range(20), generator=given),
        lambda given: RandomSampler(range(20), True, 20, given),
        lambda given: SubsetRandomSampler(range(20), given),
        lambda given: WeightedRandomSampler([1.0] * 20, 20, False, given),
        lambda given: DataLoader(range(20), None, shuffle=True, generator=given),
    ]
    with machine(devices=1):
        generator = torch.Generator("cuda")
        for make in makes:
            first = list(make(generator.manual_seed(3)))
            assert first == list(make(generator.manual_seed(3))) != list(make(generator))
            assert set(first) <= set(range(20))
        (part,) = random_split(range(20), [20], generator.manual_seed(3))
        assert list(part.indices) == torch.randperm(20, device="cuda", generator=generator.manual_seed(3)).tolist()


def test_without_a_generator_one_seed_is_drawn():
    generator = torch.manual_seed(3)
    before = generator.get_state()
    list(RandomSampler(range(10), num_samples=35))
    assert loader_cases.draws(torch, generator, before) == 1


def test_weights_are_a_tensor_that_may_be_changed():
    sampler = WeightedRandomSampler([1.0, 1.0, 0.0], 20)
    assert (sampler.weights.dtype, sampler.weights.tolist()) == (torch.float64, [1.0, 1.0, 0.0])
    sampler.weights[0] = 0.0
    assert set(sampler) == {1}
    sampler.weights[1] = -1.0
    with pytest.raises(ArgumentError, match=r"weight 1 is -1\.0"):
        next(iter(sampler))


@pytest.mark.parametrize("case", RECORDED["distributed"], ids=str)
def test_each_process_has_pytorch_s_share(case):
    *given, expected = case
    assert loader_cases.distributed(torch, *given) == expected


def test_shares_are_shuffled_alike():
    def shares(epoch):
        samplers = [DistributedSampler(range(10), 3, rank, seed=4) for rank in range(3)]
        for each in samplers:
            each.set_epoch(epoch)
        return [list(each) for each in samplers]

    first = shares(0)
    assert sorted(index for share in first for index in share[:3]) != list(range(9))
    assert sorted({index for share in first for index in share}) == list(range(10))
    assert shares(0) == first != shares(1)
    assert list(DistributedSampler(range(10), 1, 0, seed=9)) == torch.randperm(10, generator=seeded(9)).tolist()


def test_shares_need_to_know_of_the_others():
    for options in ({"rank": 0}, {"num_replicas": 2}):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            DistributedSampler(range(3), **options)
    with pytest.raises(ArgumentError, match=r"Invalid rank 2, rank should be in the interval \[0, 1\]"):
        DistributedSampler(range(3), 2, 2)


@pytest.mark.parametrize(("name", "seed", "expected"), RECORDED["orders"])
def test_a_seed_gives_pytorch_s_order(name, seed, expected):
    assert loader_cases.order(torch, name, seed) == expected


def test_anything_that_iterates_is_a_sampler_of_batches():
    class Old:
        def __getitem__(self, index):
            if index == 3:
                raise IndexError
            return 10 * index

    assert list(BatchSampler(Old(), 2, False)) == [[0, 10], [20]]


def test_an_epoch_is_an_int():
    with pytest.raises(ArgumentTypeError, match="^set_epoch: epoch must be an int, got 'a'"):
        DistributedSampler(range(4), 2, 0).set_epoch("a")
