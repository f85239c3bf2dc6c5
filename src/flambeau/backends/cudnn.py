"""torch.backends.cudnn: its switches are attributes of this module."""

import sys as _sys

from ..importer import listing as _listing
from ..numerics import CudnnModule as _Module

_sys.modules[__name__].__class__ = _Module
__all__: list[str] = []
__dir__ = _listing(globals(), *(name for name in vars(_Module) if not name.startswith("_")))
