"""torch.utils.data._utils: parts of DataLoader that programs extend."""

from ....data.iterators import LOOK_SECONDS as MP_STATUS_CHECK_INTERVAL
from . import collate, pin_memory, worker

__all__ = ["MP_STATUS_CHECK_INTERVAL", "collate", "pin_memory", "worker"]
