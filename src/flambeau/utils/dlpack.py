"""torch.utils.dlpack."""

from ..errors import no_attribute as _no_attribute
from ..tensor import from_dlpack, to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
