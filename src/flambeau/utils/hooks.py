"""torch.utils.hooks."""

from ..autograd.node_hooks import RemovableHandle

__all__ = ["RemovableHandle"]
