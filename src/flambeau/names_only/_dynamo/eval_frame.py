"""torch._dynamo.eval_frame: the class of compiled modules, of which there are none."""

from ...errors import no_attribute as _no_attribute
from ...tools.eager import NoGraph as OptimizedModule
from ...tools.eager import no as is_dynamo_supported

__all__ = ["OptimizedModule", "is_dynamo_supported"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
