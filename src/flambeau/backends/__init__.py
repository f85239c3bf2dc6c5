"""torch.backends: switches between speed and exactness."""

import sys as _sys

from ..numerics import BackendsModule as _Module
from . import cpu, cuda, cudnn, mkl, mkldnn, mps, openmp

_sys.modules[__name__].__class__ = _Module
__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp"]
