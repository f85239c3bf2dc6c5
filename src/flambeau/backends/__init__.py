"""torch.backends: switches between speed and exactness."""

import sys as _sys
import typing as _typing

from ..importer import listing as _listing
from ..importer import submodule as _submodule
from ..numerics import BackendsModule as _Module
from . import cudnn

if _typing.TYPE_CHECKING:  # the submodules are rows of import_paths.py, which name members of these
    from .. import host as cpu
    from ..runtime import absent as mkl
    from ..runtime import absent as mkldnn
    from ..runtime import absent as mps
    from ..runtime import absent as openmp
    from . import cuda

_sys.modules[__name__].__class__ = _Module
__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp"]
__dir__ = _listing(globals(), "fp32_precision")


def __getattr__(name: str) -> object:
    return _submodule(__name__, name)
