"""One module on several GPUs of one process: copies and sums between devices, DataParallel and its parts."""

from ..importer import listing as _listing

from .. import nn  # noqa: F401  # isort: skip  (first: nn shows DataParallel, which derives from nn's Module)
from . import comm
from .data_parallel import DataParallel, data_parallel, gather, parallel_apply, replicate, scatter, scatter_kwargs

__all__ = [
    "DataParallel", "comm", "data_parallel", "gather", "parallel_apply", "replicate", "scatter", "scatter_kwargs",
]  # fmt: skip
__dir__ = _listing(globals())
