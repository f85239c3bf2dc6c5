# Written by scripts/stubs, not by hand.
from . import default_hooks as default_hooks
__all__ = ["default_hooks"]
