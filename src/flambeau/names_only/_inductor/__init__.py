"""torch._inductor: its settings, which programs change.  Nothing is compiled, so they have no effect."""

from ...errors import no_attribute as _no_attribute
from . import config

__all__ = ["config"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
