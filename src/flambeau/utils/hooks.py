"""torch.utils.hooks."""

from ..autograd.handle import RemovableHandle

__all__ = ["RemovableHandle"]
