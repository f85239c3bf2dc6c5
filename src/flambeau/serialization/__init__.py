"""Files of tensors: save and load, and the classes that files may contain."""

from .files import get_unsafe_globals_in_checkpoint, load, save
from .vocabulary import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals

__all__ = [
    "add_safe_globals", "clear_safe_globals", "get_safe_globals", "get_unsafe_globals_in_checkpoint", "load",
    "safe_globals", "save",
]  # fmt: skip
