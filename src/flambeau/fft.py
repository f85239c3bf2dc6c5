"""torch.fft: importable; its functions say that complex arithmetic is not there."""

from .errors import no_attribute as _no_attribute
from .tools.eager import transforms as _transforms

globals().update(_transforms)
__all__ = sorted(_transforms)


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
