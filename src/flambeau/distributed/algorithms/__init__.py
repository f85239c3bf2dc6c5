"""torch.distributed.algorithms: work over several processes."""

from ...errors import no_attribute as _no_attribute
from . import ddp_comm_hooks, join

__all__ = ["ddp_comm_hooks", "join"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
