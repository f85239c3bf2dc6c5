"""torch.cpu.amp.grad_scaler."""

from ...amp.autocast_mode import CpuGradScaler as GradScaler

__all__ = ["GradScaler"]
