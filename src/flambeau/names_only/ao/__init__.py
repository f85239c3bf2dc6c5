"""torch.ao: names that packages import.  Networks are not quantized."""

from ...errors import no_attribute as _no_attribute
from . import quantization

__all__ = ["quantization"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
