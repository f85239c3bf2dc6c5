"""torch.fx.graph_module: names that programs import."""

from ...errors import no_attribute as _no_attribute
from ...tools.eager import GraphModule
from ...tools.eager import GraphModule as _CodeOnlyModule
from ...tools.eager import nothing as _copy_attr

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"

__all__ = ["GraphModule", "_CodeOnlyModule", "_copy_attr"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
