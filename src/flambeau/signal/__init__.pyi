# Written by scripts/stubs, not by hand.
from . import windows as windows
__all__ = ["windows"]
