"""torch.distributed.tensor.placement_types: names of tensors over several processes, of which there is one."""

from ...errors import no_attribute as _no_attribute
from ...parallel.process_group import Partial, Placement, Replicate, Shard
from ...parallel.process_group import Shard as _StridedShard

__all__ = ["Partial", "Placement", "Replicate", "Shard", "_StridedShard"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
