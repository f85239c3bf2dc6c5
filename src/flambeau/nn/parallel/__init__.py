"""torch.nn.parallel: one module on several devices."""

import sys as _sys
import typing as _typing

from ...importer import listing as _listing
from ...importer import submodule as _submodule
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

if _typing.TYPE_CHECKING:  # rows of import_paths.py
    from . import comm, distributed

# PyTorch has a module for each of these functions
_module = _sys.modules[DataParallel.__module__]
_MODULES = "data_parallel", "parallel_apply", "replicate", "scatter_gather"
_sys.modules.update({f"{__name__}.{_name}": _module for _name in _MODULES})
scatter_gather = _module

__all__ = [
    "DataParallel", "DistributedDataParallel", "comm", "data_parallel", "distributed", "gather", "parallel_apply",
    "replicate", "scatter", "scatter_gather", "scatter_kwargs",
]  # fmt: skip
__dir__ = _listing(globals())


def __getattr__(name: str) -> object:
    return _submodule(__name__, name)
