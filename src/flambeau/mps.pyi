# Written by scripts/stubs, not by hand.
from .runtime.absent import device_count as device_count
from .runtime.absent import is_available as is_available
__all__ = ["device_count", "is_available"]
