# Written by scripts/stubs, not by hand.
from . import autocast_mode as autocast_mode
from . import common as common
from . import grad_scaler as grad_scaler
from ...amp.autocast_mode import CudaAutocast as autocast
from ...amp.autocast_mode import CudaGradScaler as GradScaler
from ...amp.autocast_mode import cuda_custom_bwd as custom_bwd
from ...amp.autocast_mode import cuda_custom_fwd as custom_fwd
from ...autograd.autocast import amp_definitely_not_available as amp_definitely_not_available
__all__ = ["GradScaler", "amp_definitely_not_available", "autocast", "autocast_mode", "common", "custom_bwd", "custom_fwd", "grad_scaler"]
