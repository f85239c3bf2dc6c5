# Written by scripts/stubs, not by hand.
from ..autograd.mode import enable_grad as enable_grad
from ..autograd.mode import inference_mode as inference_mode
from ..autograd.mode import no_grad as no_grad
from ..autograd.mode import set_grad_enabled as set_grad_enabled
from ..autograd.mode import set_multithreading_enabled as set_multithreading_enabled
__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]
