# Written by scripts/stubs, not by hand.
from . import amp as amp
__all__ = ["amp"]
