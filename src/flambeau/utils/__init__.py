"""torch.utils."""

import typing as _typing

from ..importer import submodule as _submodule
from . import data

if _typing.TYPE_CHECKING:  # rows of import_paths.py
    from . import checkpoint, dlpack, hooks

__all__ = ["checkpoint", "data", "dlpack", "hooks"]


def __getattr__(name: str) -> object:
    return _submodule(__name__, name)
