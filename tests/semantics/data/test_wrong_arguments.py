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
    (lambda: DataLoader([1], batch_size=0), ValueError, "DataLoader", "0"),
    (lambda: DataLoader([1], batch_size="x"), ValueError, "DataLoader", "'x'"),
    (lambda: DataLoader([], shuffle=True), ValueError, "DataLoader", "0"),
    (lambda: DataLoader([1], shuffle="x"), TypeError, "DataLoader", "'x'"),
    (lambda: DataLoader([1], sampler=3), TypeError, "DataLoader", "3"),
    (lambda: DataLoader([1], sampler=[0], shuffle=True), ValueError, "DataLoader", "[0]", "True"),
    (lambda: DataLoader([1], batch_sampler=[[0]], batch_size=2), ValueError, "DataLoader", "2"),
    (lambda: DataLoader([1], batch_size=None, drop_last=True), ValueError, "DataLoader", "None", "True"),
    (lambda: DataLoader([1], num_workers=-1), ValueError, "DataLoader", "-1"),
    (lambda: DataLoader([1], num_workers="x"), TypeError, "DataLoader", "'x'"),
    (lambda: DataLoader([1], persistent_workers=True), ValueError, "DataLoader", "True"),
    (lambda: DataLoader([1], collate_fn=3), TypeError, "DataLoader", "3"),
    (lambda: DataLoader([1], pin_memory="x"), TypeError, "DataLoader", "'x'"),
    (lambda: DataLoader([1], drop_last="x"), ValueError, "DataLoader", "'x'"),
    (lambda: DataLoader([1], timeout=-1), ValueError, "DataLoader", "-1"),
    (lambda: DataLoader([1], timeout="x"), TypeError, "DataLoader", "'x'"),
    (lambda: DataLoader([1], generator=3), TypeError, "DataLoader", "3"),
    (lambda: DataLoader(Stream(), shuffle=True), ValueError, "DataLoader", "True"),
    (lambda: len(DataLoader(Stream())), TypeError, "DataLoader", "'Stream'"),
    (lambda: len(DataLoader([1], sampler=iter([0]))), TypeError, "DataLoader", "'list_iterator'"),
    (lambda: DataLoader(NoLength(), shuffle=True), TypeError, "DataLoader", "'NoLength'", "True"),
    (lambda: list(DataLoader(NoLength())), TypeError, "SequentialSampler", "'NoLength'"),
    (lambda: BatchSampler(3, 1, False), TypeError, "BatchSampler", "3"),
    (lambda: BatchSampler([1], 0, False), ValueError, "BatchSampler", "0"),
    (lambda: len(SequentialSampler(3)), TypeError, "SequentialSampler", "'int'", "3"),
    (lambda: RandomSampler([]), ValueError, "RandomSampler", "0"),
    (lambda: RandomSampler([1], replacement="x"), TypeError, "RandomSampler", "'x'"),
    (lambda: RandomSampler([1], generator=3), TypeError, "RandomSampler", "3"),
    (lambda: SubsetRandomSampler(3), TypeError, "SubsetRandomSampler", "'int'", "3"),
    (lambda: WeightedRandomSampler([1, -1], 1), RuntimeError, "WeightedRandomSampler", "-1.0"),
    (lambda: WeightedRandomSampler([math.nan], 1), RuntimeError, "WeightedRandomSampler", "nan"),
    (lambda: WeightedRandomSampler([0, 0], 1), RuntimeError, "WeightedRandomSampler", "2"),
    (lambda: WeightedRandomSampler("x", 1), TypeError, "WeightedRandomSampler", "'x'"),
    (lambda: WeightedRandomSampler(torch.ones(2, 2), 1), ValueError, "WeightedRandomSampler", "float32[2, 2] on cpu"),
    (lambda: WeightedRandomSampler(["x"], 1), ValueError, "WeightedRandomSampler", "'x'"),
    (lambda: WeightedRandomSampler([1], 0), ValueError, "WeightedRandomSampler", "0"),
    (lambda: WeightedRandomSampler([1], 2, replacement=False), ValueError, "WeightedRandomSampler", "2", "1"),
    (lambda: WeightedRandomSampler([1], 1, replacement="x"), ValueError, "WeightedRandomSampler", "'x'"),
    (lambda: TensorDataset(3), TypeError, "TensorDataset", "3"),
    (lambda: TensorDataset(torch.tensor(1)), IndexError, "TensorDataset", "int64[] on cpu"),
    (lambda: TensorDataset(torch.ones(2), torch.ones(3)), ValueError, "TensorDataset", "[2, 3]"),
    (lambda: len(TensorDataset()), IndexError, "TensorDataset", "0"),
    (lambda: ConcatDataset(3), TypeError, "ConcatDataset", "3"),
    (lambda: ConcatDataset([]), ValueError, "ConcatDataset", "[]"),
    (lambda: ConcatDataset([[1], Stream()]), ValueError, "ConcatDataset", "Stream"),
    (lambda: ConcatDataset([[1]])[5], IndexError, "ConcatDataset", "5", "1"),
    (lambda: ConcatDataset([[1]])["x"], TypeError, "ConcatDataset", "'x'"),
    (lambda: Subset([1], [0])[5], IndexError, "Subset", "5", "1"),
    (lambda: Subset([1], 3)[0], TypeError, "Subset", "0", "3"),
    (lambda: len(Subset([1], 3)), TypeError, "Subset", "'int'", "3"),
    (lambda: random_split([1, 2], [3]), ValueError, "random_split", "3", "[3]", "2"),
    (lambda: random_split([1, 2], [-1, 3]), ValueError, "random_split", "[-1, 3]"),
    (lambda: random_split([1, 2], [0.5, 0.6]), ValueError, "random_split", "0.5", "1.1", "[0.5, 0.6]"),
    (lambda: random_split([1, 2], ["x"]), TypeError, "random_split", "'x'"),
    (lambda: random_split(3, [1]), TypeError, "random_split", "'int'", "3"),
    (lambda: random_split([1, 2], [1, 1], generator=3), TypeError, "random_split", "3"),
    (lambda: default_collate([]), IndexError, "default_collate", "[]"),
    (lambda: default_collate(3), TypeError, "default_collate", "3"),
    (lambda: default_collate([None]), TypeError, "default_collate", "None"),
    (lambda: default_collate([torch.ones(2), torch.ones(3)]), RuntimeError, "default_collate", "[2]", "[3]"),
    (lambda: default_collate([torch.ones(2), "x"]), TypeError, "default_collate", "'x'"),
    (lambda: default_collate([{"a": 1}, {"b": 2}]), KeyError, "default_collate", "'a'", "'b'"),
    (lambda: default_collate([[1], 3]), TypeError, "default_collate", "3"),
    (lambda: default_collate([1, "x"]), TypeError, "default_collate", "'x'"),
    (lambda: default_collate([np.ones(2), np.ones(3)]), RuntimeError, "default_collate", "[2]", "[3]"),
)
def test_wrong_calls(case):
    refused(*case)


def test_what_pytorch_takes_is_taken():
    assert [len(part) for part in random_split(range(10), [0.25, 0.75])] == [3, 7]
    assert len(DataLoader([1, 2], shuffle=0, pin_memory=0)) == 2
    with pytest.raises(TypeError):
        len(NoLength())
