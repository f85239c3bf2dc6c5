# Written by scripts/stubs, not by hand.
from ..autograd.checkpoint import CheckpointFunction as CheckpointFunction
from ..autograd.checkpoint import checkpoint as checkpoint
from ..autograd.checkpoint import checkpoint_sequential as checkpoint_sequential
from ..autograd.checkpoint import noop_context_fn as noop_context_fn
from ..autograd.checkpoint import set_checkpoint_debug_enabled as set_checkpoint_debug_enabled
from ..autograd.checkpoint import set_checkpoint_early_stop as set_checkpoint_early_stop
from ..errors import CheckpointError as CheckpointError
__all__ = ["CheckpointError", "CheckpointFunction", "checkpoint", "checkpoint_sequential", "noop_context_fn", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop"]
