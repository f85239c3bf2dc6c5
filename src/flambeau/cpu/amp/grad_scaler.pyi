# Written by scripts/stubs, not by hand.
from ...amp.autocast_mode import CpuGradScaler as GradScaler
__all__ = ["GradScaler"]
