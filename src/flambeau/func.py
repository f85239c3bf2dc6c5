"""torch.func: derivatives of functions as functions, and calls of modules with other parameters."""

from .autograd.transforms import (
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
    vmap,
)
from .errors import no_attribute as _no_attribute
from .nn.functional_call import functional_call, replace_all_batch_norm_modules_, stack_module_state
from .tensor.rearranging import rearrange

__all__ = [
    "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
    "rearrange", "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap",
]  # fmt: skip


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
