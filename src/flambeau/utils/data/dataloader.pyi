# Written by scripts/stubs, not by hand.
from ...data.collate import default_collate as default_collate
from ...data.collate import default_convert as default_convert
from ...data.dataset import Dataset as Dataset
from ...data.dataset import IterableDataset as IterableDataset
from ...data.iterators import BatchIterator as _BaseDataLoaderIter
from ...data.iterators import SerialIterator as _SingleProcessDataLoaderIter
from ...data.loader import DataLoader as DataLoader
from ...data.loader import _DatasetKind as _DatasetKind
from ...data.loader import _InfiniteConstantSampler as _InfiniteConstantSampler
from ...data.sampler import BatchSampler as BatchSampler
from ...data.sampler import RandomSampler as RandomSampler
from ...data.sampler import Sampler as Sampler
from ...data.sampler import SequentialSampler as SequentialSampler
from ...data.workers import WorkerIterator as _MultiProcessingDataLoaderIter
from ...data.workers import get_worker_info as get_worker_info
from ...utils.data import _utils as _utils
from typing import Any as _collate_fn_t
from typing import Any as _worker_init_fn_t
__all__ = ["BatchSampler", "DataLoader", "Dataset", "IterableDataset", "RandomSampler", "Sampler", "SequentialSampler", "_BaseDataLoaderIter", "_DatasetKind", "_InfiniteConstantSampler", "_MultiProcessingDataLoaderIter", "_SingleProcessDataLoaderIter", "_collate_fn_t", "_utils", "_worker_init_fn_t", "default_collate", "default_convert", "get_worker_info"]
