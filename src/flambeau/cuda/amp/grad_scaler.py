"""torch.cuda.amp.grad_scaler."""

from ...amp.autocast_mode import CudaGradScaler as GradScaler
from ...amp.grad_scaler import OptState

__all__ = ["GradScaler", "OptState"]
