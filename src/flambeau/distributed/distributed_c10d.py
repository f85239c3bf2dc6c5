"""torch.distributed.distributed_c10d: the module that has torch.distributed's functions in PyTorch."""

from . import *  # noqa: F403
from . import __all__ as __all__
