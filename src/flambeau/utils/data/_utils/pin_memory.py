"""torch.utils.data._utils.pin_memory."""

from ....data.pin import pin_memory

__all__ = ["pin_memory"]
