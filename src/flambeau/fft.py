"""torch.fft: frequencies and shifts.  The transforms raise NotSupportedError, as there is no complex arithmetic."""

from .errors import no_attribute as _no_attribute
from .importer import listing as _listing
from .tensor.frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from .tools.eager import transforms as _transforms

globals().update(_transforms)
__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]
__all__ += sorted(_transforms)
__dir__ = _listing(globals())


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
