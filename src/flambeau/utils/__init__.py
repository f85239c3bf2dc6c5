"""torch.utils."""

from ..errors import no_attribute as _no_attribute
from . import data

__all__ = ["data"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
