# Written by scripts/stubs, not by hand.
from ..autograd.node_hooks import RemovableHandle as RemovableHandle
__all__ = ["RemovableHandle"]
