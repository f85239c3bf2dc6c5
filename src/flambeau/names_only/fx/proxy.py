"""torch.fx.proxy: names that programs import."""

from ...errors import no_attribute as _no_attribute
from ...tools.eager import Proxy

__all__ = ["Proxy"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
