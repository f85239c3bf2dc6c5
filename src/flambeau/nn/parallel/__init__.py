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
from . import comm

__all__ = [
    "DataParallel", "comm", "data_parallel", "gather", "parallel_apply", "replicate", "scatter", "scatter_kwargs",
]  # fmt: skip


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
