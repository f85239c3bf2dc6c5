"""torch.utils.data._utils: parts of DataLoader that programs extend."""

from . import collate, pin_memory, worker

__all__ = ["collate", "pin_memory", "worker"]
