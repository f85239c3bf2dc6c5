"""Data sets."""

import pytest

import flambeau as torch
from flambeau.data import ConcatDataset, Dataset, IterableDataset, Subset, TensorDataset, random_split
from flambeau.errors import ArgumentError, IndexRangeError, NotSupportedError


class Numbers(Dataset):
    def __init__(self, *values):
        self.values = values

    def __getitem__(self, index):
        return self.values[index]

    def __len__(self):
        return len(self.values)


def test_tensors_of_one_length():
    data = TensorDataset(torch.arange(6.0).view(3, 2), torch.tensor([7, 8, 9]))
    x, y = data[1]
    assert (len(data), x.tolist(), y.item()) == (3, [2.0, 3.0], 8)
    with pytest.raises(ArgumentError, match=r"first dimensions are \[3, 2\]"):
        TensorDataset(torch.ones(3), torch.ones(2))


def test_data_sets_follow_one_another():
    data = ConcatDataset([Numbers(1, 2), Numbers(), Numbers(3)])
    assert [(Numbers(1) + data)[index] for index in range(4)] == [1, 1, 2, 3]
    assert [data[index] for index in range(len(data))] == [1, 2, 3]
    assert (data[-1], data.cumulative_sizes) == (3, [2, 2, 3])
    with pytest.raises(IndexRangeError, match="index 3 is out of range for 3 samples"):
        data[3]
    with pytest.raises(ArgumentError, match="should not be an empty iterable"):
        ConcatDataset([])
    with pytest.raises(ArgumentError, match="an IterableDataset has no index"):
        ConcatDataset([IterableDataset()])


def test_a_subset_maps_indexes():
    data = Subset(Numbers(5, 6, 7), [2, 0])
    assert [data[index] for index in range(len(data))] == [7, 5]


@pytest.mark.parametrize(("lengths", "sizes"), [([3, 7], [3, 7]), ([0.5, 0.25, 0.25], [6, 2, 2]), ([1.0], [10])])
def test_a_split_takes_every_sample_once(lengths, sizes):
    parts = random_split(range(10), lengths, generator=torch.Generator().manual_seed(1))
    assert [len(part) for part in parts] == sizes
    assert sorted(part[index] for part in parts for index in range(len(part))) == list(range(10))


def test_a_split_is_the_generator_s():
    def split(seed):
        return [part.indices for part in random_split(range(30), [10, 20], torch.Generator().manual_seed(seed))]

    assert split(1) == split(1)
    assert split(1) != split(2)


def test_bad_splits():
    with pytest.raises(ArgumentError, match=r"does not equal the length of the input dataset: 9 of \[4, 5\] and 10"):
        random_split(range(10), [4, 5])
    with pytest.raises(ArgumentError, match="Fraction at index 0 is not between 0 and 1"):
        random_split(range(10), [1.5, -0.5])


def test_what_must_be_written():
    with pytest.raises(NotSupportedError, match="Dataset: __getitem__ is not defined"):
        Dataset()[0]
    with pytest.raises(NotSupportedError, match="IterableDataset: __iter__ is not defined"):
        iter(IterableDataset())
