"""torch.utils.data._utils.pin_memory."""

from ....data.pinning import pin_memory

__all__ = ["pin_memory"]
