"""torch.distributed.algorithms.join: uneven inputs of several processes."""

from ...errors import no_attribute as _no_attribute
from ...parallel.join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
