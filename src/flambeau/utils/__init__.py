"""torch.utils."""

from ..importer import submodule as _submodule
from . import checkpoint, data, dlpack, hooks

__all__ = ["checkpoint", "data", "dlpack", "hooks"]


def __getattr__(name: str) -> object:
    return _submodule(__name__, name)
