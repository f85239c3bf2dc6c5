# Written by scripts/stubs, not by hand.
from . import autocast_mode as autocast_mode
from . import grad_scaler as grad_scaler
from ...amp.autocast_mode import CpuAutocast as autocast
from ...amp.autocast_mode import CpuGradScaler as GradScaler
__all__ = ["GradScaler", "autocast", "autocast_mode", "grad_scaler"]
