# Written by scripts/stubs, not by hand.
from ..autograd.checkpoint import CheckpointFunction as CheckpointFunction
from ..autograd.checkpoint import check_backward_validity as check_backward_validity
from ..autograd.checkpoint import checkpoint as checkpoint
from ..autograd.checkpoint import checkpoint_sequential as checkpoint_sequential
from ..autograd.checkpoint import detach_variable as detach_variable
from ..autograd.checkpoint import get_device_states as get_device_states
from ..autograd.checkpoint import noop_context_fn as noop_context_fn
from ..autograd.checkpoint import set_checkpoint_debug_enabled as set_checkpoint_debug_enabled
from ..autograd.checkpoint import set_checkpoint_early_stop as set_checkpoint_early_stop
from ..autograd.checkpoint import set_device_states as set_device_states
from ..errors import CheckpointError as CheckpointError
__all__ = ["CheckpointError", "CheckpointFunction", "check_backward_validity", "checkpoint", "checkpoint_sequential", "detach_variable", "get_device_states", "noop_context_fn", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop", "set_device_states"]
