"""torch.version: versions of flambeau and of the CUDA toolkit that it uses."""

from . import __version__
from .errors import no_attribute as _no_attribute
from .importer import listing as _listing
from .runtime.absent import cuda_version as _cuda_version

debug = False
git_version = "unknown"
hip = rocm = xpu = None

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]  # noqa: F822  (cuda is looked up)
__dir__ = _listing(globals())


def __getattr__(name: str) -> object:
    if name == "cuda":  # computed on access: the list of installed packages is slow to read
        return _cuda_version()
    raise _no_attribute(__name__, name)
