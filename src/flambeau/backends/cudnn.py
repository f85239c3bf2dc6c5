"""torch.backends.cudnn: its switches are attributes of this module."""

import sys as _sys

from ..numerics import CudnnModule as _Module

_sys.modules[__name__].__class__ = _Module
__all__: list[str] = []
