"""torch.distributed.algorithms.ddp_comm_hooks: how DistributedDataParallel reduces a bucket of gradients."""

from ....errors import no_attribute as _no_attribute
from . import default_hooks

__all__ = ["default_hooks"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
