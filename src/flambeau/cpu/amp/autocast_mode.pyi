# Written by scripts/stubs, not by hand.
from ...amp.autocast_mode import CpuAutocast as autocast
__all__ = ["autocast"]
