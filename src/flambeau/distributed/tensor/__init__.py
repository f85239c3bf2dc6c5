"""torch.distributed.tensor: names that programs import; tensors are not spread over processes."""

from ...errors import no_attribute as _no_attribute
from ...parallel.process_group import (
    DeviceMesh,
    DTensor,
    Partial,
    Placement,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
    init_device_mesh,
)
from . import placement_types

__all__ = [
    "DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor",
    "init_device_mesh", "placement_types",
]  # fmt: skip


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
