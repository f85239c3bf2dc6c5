# Written by scripts/stubs, not by hand.
from ...data.dataset import Dataset as Dataset
from ...data.sampler import DistributedSampler as DistributedSampler
from ...data.sampler import Sampler as Sampler
__all__ = ["Dataset", "DistributedSampler", "Sampler"]
