"""torch.utils."""

from ..errors import no_attribute as _no_attribute
from . import checkpoint, data, dlpack, hooks

__all__ = ["checkpoint", "data", "dlpack", "hooks"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
