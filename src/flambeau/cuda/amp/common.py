"""torch.cuda.amp.common."""

from ...autograd.autocast import amp_definitely_not_available

__all__ = ["amp_definitely_not_available"]
