"""torch.utils.data.distributed."""

from ...data.dataset import Dataset
from ...data.sampler import DistributedSampler, Sampler

__all__ = ["Dataset", "DistributedSampler", "Sampler"]
