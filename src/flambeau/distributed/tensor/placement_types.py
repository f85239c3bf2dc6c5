"""torch.distributed.tensor.placement_types: names that programs import; tensors are not spread over processes."""

from ...errors import no_attribute as _no_attribute
from ...parallel.process_group import Partial, Placement, Replicate, Shard
from ...parallel.process_group import Shard as _StridedShard

__all__ = ["Partial", "Placement", "Replicate", "Shard", "_StridedShard"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
