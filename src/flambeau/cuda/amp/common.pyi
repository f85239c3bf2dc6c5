# Written by scripts/stubs, not by hand.
from ...autograd.autocast import amp_definitely_not_available as amp_definitely_not_available
__all__ = ["amp_definitely_not_available"]
