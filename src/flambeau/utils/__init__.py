"""torch.utils."""

import typing as _typing

from ..importer import listing as _listing
from ..importer import submodule as _submodule
from . import data

if _typing.TYPE_CHECKING:  # rows of import_paths.py
    from . import benchmark, checkpoint, dlpack, hooks, tensorboard

__all__ = ["benchmark", "checkpoint", "data", "dlpack", "hooks", "tensorboard"]
__dir__ = _listing(globals())


def __getattr__(name: str) -> object:
    return _submodule(__name__, name)
