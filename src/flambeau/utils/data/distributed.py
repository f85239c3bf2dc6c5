"""torch.utils.data.distributed."""

from ...data.sampler import DistributedSampler

__all__ = ["DistributedSampler"]
