"""torch.cpu: mixed precision on the CPU."""

from ..errors import no_attribute as _no_attribute
from . import amp

__all__ = ["amp"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
