"""torch.utils.data.dataloader."""

from ...data.collate import default_collate, default_convert
from ...data.dataset import Dataset, IterableDataset
from ...data.iterators import BatchIterator as _BaseDataLoaderIter
from ...data.iterators import SerialIterator as _SingleProcessDataLoaderIter
from ...data.loader import DataLoader, _DatasetKind, _InfiniteConstantSampler
from ...data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from ...data.workers import WorkerIterator as _MultiProcessingDataLoaderIter
from ...data.workers import get_worker_info
from . import _utils

__all__ = [
    "BatchSampler", "DataLoader", "Dataset", "IterableDataset", "RandomSampler", "Sampler", "SequentialSampler",
    "_BaseDataLoaderIter", "_DatasetKind", "_InfiniteConstantSampler", "_MultiProcessingDataLoaderIter",
    "_SingleProcessDataLoaderIter", "_utils", "default_collate", "default_convert", "get_worker_info",
]  # fmt: skip
