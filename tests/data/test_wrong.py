"""Wrong arguments of data sets, samplers, loaders and collation."""

import math

import numpy as np
import pytest

import flambeau as torch
from flambeau.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    random_split,
)
from tests.wrong import cases, refused


class NoLength(Dataset):
    def __getitem__(self, index):
        return index


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(5))


@cases(
    (
        lambda: DataLoader([1], batch_size=0),
        ValueError,
        "DataLoader: batch_size should be a positive integer value, but got batch_size=0",
    ),
    (
        lambda: DataLoader([1], batch_size="x"),
        ValueError,
        "DataLoader: batch_size should be a positive integer value, but got batch_size='x'",
    ),
    (
        lambda: DataLoader([], shuffle=True),
        ValueError,
        "DataLoader: num_samples should be a positive integer value, but got num_samples=0",
    ),
    (lambda: DataLoader([1], shuffle="x"), TypeError, "DataLoader: shuffle must be a bool, got 'x'"),
    (lambda: DataLoader([1], sampler=3), TypeError, "DataLoader: sampler must be an iterable of indices, got 3"),
    (
        lambda: DataLoader([1], sampler=[0], shuffle=True),
        ValueError,
        "DataLoader: sampler option is mutually exclusive with shuffle, got [0] and shuffle=True",
    ),
    (
        lambda: DataLoader([1], batch_sampler=[[0]], batch_size=2),
        ValueError,
        "DataLoader: batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last; "
        "got batch_size=2",
    ),
    (
        lambda: DataLoader([1], batch_size=None, drop_last=True),
        ValueError,
        "DataLoader: batch_size=None option disables auto-batching and is mutually exclusive with drop_last=True",
    ),
    (
        lambda: DataLoader([1], num_workers=-1),
        ValueError,
        "DataLoader: num_workers option should be non-negative, got -1",
    ),
    (lambda: DataLoader([1], num_workers="x"), TypeError, "DataLoader: num_workers must be an int, got 'x'"),
    (
        lambda: DataLoader([1], persistent_workers=True),
        ValueError,
        "DataLoader: persistent_workers=True needs worker processes",
    ),
    (lambda: DataLoader([1], collate_fn=3), TypeError, "DataLoader: collate_fn must be callable, got 3"),
    (lambda: DataLoader([1], pin_memory="x"), TypeError, "DataLoader: pin_memory must be a bool, got 'x'"),
    (
        lambda: DataLoader([1], drop_last="x"),
        ValueError,
        "DataLoader: drop_last should be a boolean value, but got drop_last='x'",
    ),
    (lambda: DataLoader([1], timeout=-1), ValueError, "DataLoader: timeout option should be non-negative, got -1"),
    (lambda: DataLoader([1], timeout="x"), TypeError, "DataLoader: timeout must be a number, got 'x'"),
    (lambda: DataLoader([1], generator=3), TypeError, "DataLoader: generator must be a Generator or None, got 3"),
    (
        lambda: DataLoader(Stream(), shuffle=True),
        ValueError,
        "DataLoader: with IterableDataset: expected unspecified shuffle option, but got shuffle=True",
    ),
    (
        lambda: len(DataLoader(Stream())),
        TypeError,
        "DataLoader: object of type 'Stream' has no len(): dataset is a Stream",
    ),
    (
        lambda: len(DataLoader([1], sampler=iter([0]))),
        TypeError,
        "DataLoader: object of type 'list_iterator' has no len()",
    ),
    (
        lambda: DataLoader(NoLength(), shuffle=True),
        TypeError,
        "DataLoader: object of type 'NoLength' has no len(): shuffle=True needs the length of the dataset",
    ),
    (lambda: list(DataLoader(NoLength())), TypeError, "SequentialSampler: object of type 'NoLength' has no len()"),
    (lambda: BatchSampler(3, 1, False), TypeError, "BatchSampler: sampler must be an iterable of indices, got 3"),
    (
        lambda: BatchSampler([1], 0, False),
        ValueError,
        "BatchSampler: batch_size should be a positive integer value, but got batch_size=0",
    ),
    (
        lambda: len(SequentialSampler(3)),
        TypeError,
        "SequentialSampler: object of type 'int' has no len(): data_source is 3",
    ),
    (
        lambda: RandomSampler([]),
        ValueError,
        "RandomSampler: num_samples should be a positive integer value, but got num_samples=0",
    ),
    (
        lambda: RandomSampler([1], replacement="x"),
        TypeError,
        "RandomSampler: replacement should be a boolean value, but got replacement='x'",
    ),
    (lambda: RandomSampler([1], generator=3), TypeError, "RandomSampler: generator must be a Generator or None, got 3"),
    (lambda: SubsetRandomSampler(3), TypeError, "SubsetRandomSampler: object of type 'int' has no len(): indices is 3"),
    (
        lambda: WeightedRandomSampler([1, -1], 1),
        RuntimeError,
        "WeightedRandomSampler: weight 1 is -1.0; weights must be finite and not negative",
    ),
    (lambda: WeightedRandomSampler([math.nan], 1), RuntimeError, "WeightedRandomSampler: weight 0 is nan"),
    (lambda: WeightedRandomSampler([0, 0], 1), RuntimeError, "WeightedRandomSampler: none of the 2 weights is pos"),
    (
        lambda: WeightedRandomSampler("x", 1),
        TypeError,
        "WeightedRandomSampler: weights must be a list of numbers, got 'x'",
    ),
    (
        lambda: WeightedRandomSampler(torch.ones(2, 2), 1),
        ValueError,
        "WeightedRandomSampler: weights should be a 1d sequence but given weights are float32[2, 2] on cpu",
    ),
    (lambda: WeightedRandomSampler(["x"], 1), ValueError, "WeightedRandomSampler: weight 0 is not a number: 'x'"),
    (
        lambda: WeightedRandomSampler([1], 0),
        ValueError,
        "WeightedRandomSampler: num_samples should be a positive integer value, but got num_samples=0",
    ),
    (
        lambda: WeightedRandomSampler([1], 2, replacement=False),
        ValueError,
        "WeightedRandomSampler: cannot draw 2 samples without replacement, 1 have a weight",
    ),
    (
        lambda: WeightedRandomSampler([1], 1, replacement="x"),
        ValueError,
        "WeightedRandomSampler: replacement should be a boolean value, but got replacement='x'",
    ),
    (lambda: TensorDataset(3), TypeError, "TensorDataset: tensors[0] must be a Tensor, got 3"),
    (
        lambda: TensorDataset(torch.tensor(1)),
        IndexError,
        "TensorDataset: tensors[0] has no dimension to take samples from: int64[] on cpu",
    ),
    (
        lambda: TensorDataset(torch.ones(2), torch.ones(3)),
        ValueError,
        "TensorDataset: Size mismatch between tensors, their first dimensions are [2, 3]",
    ),
    (lambda: len(TensorDataset()), IndexError, "TensorDataset: it was made of 0 tensors"),
    (lambda: ConcatDataset(3), TypeError, "ConcatDataset: datasets must be a list of datasets, got 3"),
    (lambda: ConcatDataset([]), ValueError, "ConcatDataset: datasets should not be an empty iterable, got []"),
    (
        lambda: ConcatDataset([[1], Stream()]),
        ValueError,
        "ConcatDataset: does not support IterableDataset, which has no index: datasets[1] is a Stream",
    ),
    (lambda: ConcatDataset([[1]])[5], IndexError, "ConcatDataset: index 5 is out of range for 1 samples"),
    (lambda: ConcatDataset([[1]])["x"], TypeError, "ConcatDataset: an index must be an int, got 'x'"),
    (lambda: Subset([1], [0])[5], IndexError, "Subset: index 5 is out of range for 1 samples"),
    (lambda: Subset([1], 3)[0], TypeError, "Subset: 0 is not a valid index of its indices, 3"),
    (lambda: len(Subset([1], 3)), TypeError, "Subset: object of type 'int' has no len(): indices is 3"),
    (
        lambda: random_split([1, 2], [3]),
        ValueError,
        "random_split: Sum of input lengths does not equal the length of the input dataset: 3 of [3] and 2",
    ),
    (lambda: random_split([1, 2], [-1, 3]), ValueError, "random_split: lengths[0] is negative: [-1, 3]"),
    (
        lambda: random_split([1, 2], [0.5, 0.6]),
        ValueError,
        "random_split: lengths[0] is 0.5, and lengths sum to 1.1: [0.5, 0.6]",
    ),
    (lambda: random_split([1, 2], ["x"]), TypeError, "random_split: lengths[0] must be a number, got 'x'"),
    (lambda: random_split(3, [1]), TypeError, "random_split: object of type 'int' has no len(): dataset is 3"),
    (lambda: random_split([1, 2], [1, 1], generator=3), TypeError, "random_split: "),
    (lambda: default_collate([]), IndexError, "default_collate: batch must hold samples, got []"),
    (lambda: default_collate(3), TypeError, "default_collate: batch must be a list of samples, got 3"),
    (
        lambda: default_collate([None]),
        TypeError,
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found NoneType: None",
    ),
    (lambda: default_collate([torch.ones(2), torch.ones(3)]), RuntimeError, "default_collate: "),
    (
        lambda: default_collate([torch.ones(2), "x"]),
        TypeError,
        "default_collate: sample 0 is a tensor, sample 1 is 'x'",
    ),
    (
        lambda: default_collate([{"a": 1}, {"b": 2}]),
        KeyError,
        "default_collate: sample 0 has the key 'a', sample 1 has 'b'",
    ),
    (lambda: default_collate([[1], 3]), TypeError, "default_collate: sample 0 is a sequence, sample 1 is 3"),
    (lambda: default_collate([1, "x"]), TypeError, "default_collate: could not infer dtype of str, data[1] is 'x'"),
    (
        lambda: default_collate([np.ones(2), np.ones(3)]),
        RuntimeError,
        "default_collate: expects each array to be equal size, but got [2] at entry 0 and [3] at entry 1",
    ),
)
def test_wrong_calls(call, error, begins):
    refused(call, error, begins)


def test_what_pytorch_takes_is_taken():
    assert [len(part) for part in random_split(range(10), [0.25, 0.75])] == [3, 7]
    assert len(DataLoader([1, 2], shuffle=0, pin_memory=0)) == 2
    with pytest.raises(TypeError):
        len(NoLength())
