"""torch.fx.experimental.proxy_tensor: nothing is traced."""

from ....errors import no_attribute as _no_attribute
from ....tools.eager import nothing as get_proxy_mode
from ....tools.eager import symbolic_trace as make_fx

__all__ = ["get_proxy_mode", "make_fx"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
