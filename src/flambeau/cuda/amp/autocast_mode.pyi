# Written by scripts/stubs, not by hand.
from ...amp.autocast_mode import CudaAutocast as autocast
from ...amp.autocast_mode import cuda_custom_bwd as custom_bwd
from ...amp.autocast_mode import cuda_custom_fwd as custom_fwd
__all__ = ["autocast", "custom_bwd", "custom_fwd"]
