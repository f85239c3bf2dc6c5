"""torch.cuda.nccl: collectives of one process over tensors on several GPUs."""

from ..parallel.one_process import (
    SUM,
    all_gather,
    all_reduce,
    broadcast,
    is_available,
    reduce,
    reduce_scatter,
    unique_id,
    version,
)

__all__ = [
    "SUM", "all_gather", "all_reduce", "broadcast", "is_available", "reduce", "reduce_scatter", "unique_id", "version",
]  # fmt: skip
