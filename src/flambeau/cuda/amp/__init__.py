"""torch.cuda.amp: the former names of torch.amp for CUDA devices."""

from ...amp.autocast_mode import CudaAutocast as autocast
from ...amp.autocast_mode import CudaGradScaler as GradScaler
from ...amp.autocast_mode import cuda_custom_bwd as custom_bwd
from ...amp.autocast_mode import cuda_custom_fwd as custom_fwd
from ...errors import no_attribute as _no_attribute
from . import autocast_mode, common, grad_scaler
from .common import amp_definitely_not_available

__all__ = [
    "GradScaler", "amp_definitely_not_available", "autocast", "autocast_mode", "common", "custom_bwd", "custom_fwd",
    "grad_scaler",
]  # fmt: skip


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
