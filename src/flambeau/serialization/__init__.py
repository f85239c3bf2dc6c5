"""Files of tensors: save and load, and the classes that files may contain."""

import os as _os
import typing as _typing

from ..importer import listing as _listing
from .files import get_unsafe_globals_in_checkpoint, load, save
from .vocabulary import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals

__all__ = [
    "add_safe_globals", "clear_safe_globals", "get_safe_globals", "get_unsafe_globals_in_checkpoint", "load",
    "safe_globals", "save",
]  # fmt: skip
__dir__ = _listing(globals())

# Types of arguments, and a number, that packages import
FILE_LIKE: _typing.TypeAlias = _typing.Any
MAP_LOCATION: _typing.TypeAlias = _typing.Any
FileLike: _typing.TypeAlias = str | _os.PathLike[str] | _typing.IO[bytes]
DEFAULT_PROTOCOL = 2
