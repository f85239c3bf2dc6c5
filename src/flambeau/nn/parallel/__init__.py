"""torch.nn.parallel: one module on several devices."""

from ...errors import no_attribute as _no_attribute
from ...parallel.data_parallel import (
    DataParallel,
    data_parallel,
    gather,
    parallel_apply,
    replicate,
    scatter,
    scatter_kwargs,
)
from ...parallel.distributed import DistributedDataParallel
from . import comm, distributed

__all__ = [
    "DataParallel", "DistributedDataParallel", "comm", "data_parallel", "distributed", "gather", "parallel_apply",
    "replicate", "scatter", "scatter_kwargs",
]  # fmt: skip


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
