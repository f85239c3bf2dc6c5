"""torch.utils.benchmark: time of statements, with the GPU waited for."""

from ..errors import no_attribute as _no_attribute
from ..tools.benchmark import Measurement, Timer

__all__ = ["Measurement", "Timer"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
