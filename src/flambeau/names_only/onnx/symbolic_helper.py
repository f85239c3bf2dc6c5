"""torch.onnx.symbolic_helper: the decorator of functions that describe operators, which are not called."""

from ...errors import no_attribute as _no_attribute
from ...tools.eager import decorator as parse_args

__all__ = ["parse_args"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
