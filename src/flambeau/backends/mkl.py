"""torch.backends.mkl, which is not used."""

from ..errors import no_attribute as _no_attribute
from ..runtime.absent import is_available

__all__ = ["is_available"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
