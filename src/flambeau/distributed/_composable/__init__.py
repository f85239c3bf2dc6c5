"""torch.distributed._composable: names that programs import; modules are not spread over processes."""

from ...errors import no_attribute as _no_attribute
from . import fsdp

__all__ = ["fsdp"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
