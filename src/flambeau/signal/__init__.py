"""torch.signal: windows of signal processing."""

from ..errors import no_attribute as _no_attribute
from . import windows

__all__ = ["windows"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
