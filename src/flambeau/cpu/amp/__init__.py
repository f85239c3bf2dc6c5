"""torch.cpu.amp: the former names of torch.amp for the CPU."""

from ...amp.autocast_mode import CpuAutocast as autocast
from ...amp.autocast_mode import CpuGradScaler as GradScaler
from ...errors import no_attribute as _no_attribute
from . import autocast_mode, grad_scaler

__all__ = ["GradScaler", "autocast", "autocast_mode", "grad_scaler"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
