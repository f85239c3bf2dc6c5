"""torch.mps: Apple's GPUs, which are not used."""

from .errors import no_attribute as _no_attribute
from .runtime.absent import device_count, is_available

__all__ = ["device_count", "is_available"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
