"""torch.distributed.fsdp: names of modules over several processes, of which there is one."""

from ...errors import no_attribute as _no_attribute
from ...parallel.process_group import FullyShardedDataParallel, fully_shard
from ...parallel.process_group import Policy as CPUOffload
from ...parallel.process_group import Policy as CPUOffloadPolicy
from ...parallel.process_group import Policy as FullOptimStateDictConfig
from ...parallel.process_group import Policy as FullStateDictConfig
from ...parallel.process_group import Policy as MixedPrecision
from ...parallel.process_group import Policy as MixedPrecisionPolicy
from ...parallel.process_group import Policy as ShardedOptimStateDictConfig
from ...parallel.process_group import Policy as ShardedStateDictConfig
from ...parallel.process_group import Policy as ShardingStrategy
from ...parallel.process_group import Policy as StateDictType

__all__ = [
    "CPUOffload", "CPUOffloadPolicy", "FullOptimStateDictConfig", "FullStateDictConfig", "FullyShardedDataParallel",
    "MixedPrecision", "MixedPrecisionPolicy", "ShardedOptimStateDictConfig", "ShardedStateDictConfig",
    "ShardingStrategy", "StateDictType", "fully_shard",
]  # fmt: skip


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
