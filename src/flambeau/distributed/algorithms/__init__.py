"""torch.distributed.algorithms: names of work over several processes, of which there is one."""

from ...errors import no_attribute as _no_attribute
from . import join

__all__ = ["join"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
