# Written by scripts/stubs, not by hand.
from .autograd.transforms import functionalize as functionalize
from .autograd.transforms import grad as grad
from .autograd.transforms import grad_and_value as grad_and_value
from .autograd.transforms import hessian as hessian
from .autograd.transforms import jacfwd as jacfwd
from .autograd.transforms import jacrev as jacrev
from .autograd.transforms import jvp as jvp
from .autograd.transforms import linearize as linearize
from .autograd.transforms import vjp as vjp
from .autograd.transforms import vmap as vmap
from .nn.functional_call import functional_call as functional_call
from .nn.functional_call import replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_
from .nn.functional_call import stack_module_state as stack_module_state
from .tensor.rearranging import rearrange as rearrange
__all__ = ["functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "rearrange", "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap"]
