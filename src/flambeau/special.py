"""torch.special: special functions of mathematics."""

from .errors import no_attribute as _no_attribute
from .tensor.special import *  # noqa: F403
from .tensor.special import __all__ as __all__


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
