"""torch.utils.data: datasets, samplers and DataLoader."""

import typing as _typing

from ...data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    default_convert,
    get_worker_info,
    random_split,
)
from ...data.loader import _DatasetKind  # noqa: F401  (some programs name it)
from ...importer import listing as _listing
from ...importer import submodule as _submodule
from . import _utils  # noqa: F401  (some programs name it)

if _typing.TYPE_CHECKING:  # the submodules are rows of import_paths.py, which name members of these
    from ...data import dataset, sampler
    from . import dataloader, distributed

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset",
    "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset",
    "WeightedRandomSampler", "dataloader", "dataset", "default_collate", "default_convert", "distributed",
    "get_worker_info", "random_split", "sampler",
]  # fmt: skip
__dir__ = _listing(globals())


_DATA_PIPES = (
    "DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe", "argument_validation", "datapipes",
    "functional_datapipe", "guaranteed_datapipes_determinism", "non_deterministic", "runtime_validation",
    "runtime_validation_disabled",
)  # fmt: skip


def __getattr__(name: str) -> object:
    if name in _DATA_PIPES:
        hint = "use an IterableDataset, or a Dataset, with a DataLoader"
        raise AttributeError(f"{__name__}.{name}: there are no DataPipes in flambeau\nhint: {hint}", name=name)
    return _submodule(__name__, name)
