"""torch.fx.experimental: names that programs import."""

from ....errors import no_attribute as _no_attribute
from . import proxy_tensor, symbolic_shapes

__all__ = ["proxy_tensor", "symbolic_shapes"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
