"""torch.utils.data.dataloader."""

from ...data.collate import default_collate, default_convert
from ...data.loader import DataLoader

__all__ = ["DataLoader", "default_collate", "default_convert"]
