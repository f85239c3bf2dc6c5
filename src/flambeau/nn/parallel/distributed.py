"""torch.nn.parallel.distributed."""

from ...errors import no_attribute as _no_attribute
from ...parallel.distributed import DistributedDataParallel

__all__ = ["DistributedDataParallel"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
