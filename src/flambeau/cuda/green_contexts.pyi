# Written by scripts/stubs, not by hand.
from ..runtime.green_context import GreenContext as GreenContext
__all__ = ["GreenContext"]
