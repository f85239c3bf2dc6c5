# Written by scripts/stubs, not by hand.
from ...parallel.distributed import DistributedDataParallel as DistributedDataParallel
__all__ = ["DistributedDataParallel"]
