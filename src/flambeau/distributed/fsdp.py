"""torch.distributed.fsdp: names of modules over several processes, of which there is one."""

from ..errors import no_attribute as _no_attribute
from ..parallel.process_group import FullyShardedDataParallel, fully_shard
from ..parallel.process_group import Policy as CPUOffloadPolicy
from ..parallel.process_group import Policy as MixedPrecision
from ..parallel.process_group import Policy as MixedPrecisionPolicy
from ..parallel.process_group import Policy as ShardingStrategy
from ..parallel.process_group import Policy as StateDictType

__all__ = [
    "CPUOffloadPolicy", "FullyShardedDataParallel", "MixedPrecision", "MixedPrecisionPolicy", "ShardingStrategy",
    "StateDictType", "fully_shard",
]  # fmt: skip


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
