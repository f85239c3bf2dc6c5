"""torch.utils.cpp_extension: importable; its functions say that extensions of PyTorch are not built."""

import os as _os

from ..errors import no_attribute as _no_attribute
from ..tools.eager import load_extension as load
from ..tools.eager import load_inline_extension as load_inline
from ..tools.eager import make_extension as BuildExtension  # noqa: N812
from ..tools.eager import make_extension as CUDAExtension  # noqa: N812
from ..tools.eager import make_extension as CppExtension  # noqa: N812

CUDA_HOME = _os.environ.get("CUDA_HOME") or _os.environ.get("CUDA_PATH")

__all__ = ["BuildExtension", "CUDAExtension", "CppExtension", "load", "load_inline"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
