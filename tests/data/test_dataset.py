"""Data sets."""

import pytest

import flambeau as torch
from flambeau.data import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from flambeau.errors import ArgumentError, ArgumentTypeError, IndexRangeError, NotSupportedError


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
    with pytest.raises(ArgumentError, match="does not support IterableDataset"):
        ConcatDataset([Stream()])
    with pytest.raises(ArgumentError, match="index -4 is out of range for 3 samples"):
        data[-4]
    assert ConcatDataset.cumsum([[1, 2], [3]]) == [2, 3]


def test_a_stream_without_an_iter_cannot_be_made():
    class Lame(IterableDataset):
        pass

    with pytest.raises(TypeError, match="__iter__"):
        Lame()


def test_classes_take_the_type_of_their_samples():
    kinds = ConcatDataset, Dataset, IterableDataset, StackDataset, Subset
    assert [each[int].__origin__ for each in kinds] == list(kinds)


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
    with pytest.raises(ArgumentError, match=r"lengths \[4, 5\] sum to 9, .* 10"):
        random_split(range(10), [4, 5])
    with pytest.raises(ArgumentError, match="Fraction at index 0 is not between 0 and 1"):
        random_split(range(10), [1.5, -0.5])
    for share in (float("nan"), float("inf")):
        with pytest.raises(ArgumentError, match=rf"random_split: lengths\[0\] is {share}"):
            random_split(range(10), [share, 1.0])


def test_what_must_be_written():
    with pytest.raises(NotSupportedError, match="Dataset: __getitem__ is not defined"):
        Dataset()[0]


class Stream(IterableDataset):
    def __init__(self, *values):
        self.values = values

    def __iter__(self):
        return iter(self.values)

    def __len__(self):
        return len(self.values)


def test_streams_follow_one_another():
    chain = Stream(1, 2) + Stream(3)
    assert (type(chain), list(chain), len(chain)) == (ChainDataset, [1, 2, 3], 3)
    assert list(chain + Stream(4)) == [1, 2, 3, 4]
    mixed = ChainDataset([Stream(1), Numbers(2)])
    with pytest.raises(ArgumentTypeError, match=r"only supports IterableDataset, datasets\[1\] is a Numbers"):
        len(mixed)
    found = iter(mixed)
    assert next(found) == 1
    with pytest.raises(ArgumentTypeError, match="ChainDataset"):
        next(found)


def test_datasets_side_by_side():
    pairs = StackDataset(Numbers(1, 2, 3), Numbers("a", "b", "c"))
    assert (len(pairs), pairs[1], pairs.__getitems__([2, 0])) == (3, (2, "b"), [(3, "c"), (1, "a")])
    named = StackDataset(x=Numbers(1, 2), y=Subset(Numbers("a", "b"), [1, 0]))
    assert (len(named), named[0], named.__getitems__([1])) == (2, {"x": 1, "y": "b"}, [{"x": 2, "y": "a"}])


class Short(Numbers):
    def __getitems__(self, indices):
        return [self[index] for index in indices[1:]]


def test_datasets_that_cannot_stand_side_by_side():
    cases = [
        (lambda: StackDataset(), "At least one dataset should be passed, got 0 by position and 0 by keyword"),
        (lambda: StackDataset(Numbers(1), x=Numbers(1)), "Supported either .*got 1 by position and 1 by keyword"),
        (
            lambda: StackDataset(Numbers(1), Numbers(1, 2)),
            r"Size mismatch between datasets, their lengths are \[1, 2\]",
        ),
        (
            lambda: StackDataset(x=Numbers(1), y=Numbers()),
            r"Size mismatch between datasets, their lengths are \[1, 0\]",
        ),
        (lambda: StackDataset(x=Short(1, 2)).__getitems__([0, 1]), "Expected 2, got 1 from datasets\\['x'\\]"),
    ]
    for call, text in cases:
        with pytest.raises(ArgumentError, match=f"StackDataset: .*{text}"):
            call()


def test_a_subset_hands_a_list_of_indices_on():
    class AtOnce(Numbers):
        def __getitems__(self, indices):
            return [("at once", self[index]) for index in indices]

    assert Subset(AtOnce(5, 6, 7), [2, 0]).__getitems__([1, 0]) == [("at once", 5), ("at once", 7)]
    assert Subset(Numbers(5, 6, 7), [2, 0]).__getitems__([1, 0]) == [5, 7]


def test_a_subset_with_samples_of_its_own_says_how_to_fetch_several():
    class Half(Subset):
        def __getitem__(self, index):
            return super().__getitem__(index) / 2

    class Both(Half):
        def __getitems__(self, indices):
            return [self[index] for index in indices]

    with pytest.raises(NotSupportedError, match="Half: overrides __getitem__ but not __getitems__"):
        Half(Numbers(2), [0])
    assert Both(Numbers(2), [0]).__getitems__([0]) == [1.0]


def test_an_empty_share_is_a_warning():
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        parts = random_split(range(3), [0.99, 0.01])
    assert [len(part) for part in parts] == [3, 0]


def test_the_running_sums_take_a_list():
    with pytest.raises(ArgumentTypeError, match="^cumsum: sequence must be a list of datasets, got 3"):
        torch.utils.data.ConcatDataset.cumsum(3)
