# Written by scripts/stubs, not by hand.
from ...amp.autocast_mode import CudaGradScaler as GradScaler
from ...amp.grad_scaler import OptState as OptState
__all__ = ["GradScaler", "OptState"]
