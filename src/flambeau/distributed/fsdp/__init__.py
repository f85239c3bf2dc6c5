"""torch.distributed.fsdp: names that programs import.  No module is spread over several processes."""

from ...errors import no_attribute as _no_attribute
from ...parallel.process_group import (
    CPUOffload,
    CPUOffloadPolicy,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    FullyShardedDataParallel,
    MixedPrecision,
    MixedPrecisionPolicy,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictType,
    fully_shard,
)

__all__ = [
    "CPUOffload", "CPUOffloadPolicy", "FullOptimStateDictConfig", "FullStateDictConfig", "FullyShardedDataParallel",
    "MixedPrecision", "MixedPrecisionPolicy", "ShardedOptimStateDictConfig", "ShardedStateDictConfig",
    "ShardingStrategy", "StateDictType", "fully_shard",
]  # fmt: skip


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
