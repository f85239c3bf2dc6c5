"""torch.autograd: gradients, under PyTorch's names."""

from ..errors import no_attribute as _no_attribute
from . import graph
from .function import Function
from .functional import backward, grad
from .mode import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled

__all__ = [
    "Function",
    "backward",
    "enable_grad",
    "grad",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
