"""torch.cpu.amp.autocast_mode."""

from ...amp.autocast_mode import CpuAutocast as autocast

__all__ = ["autocast"]
