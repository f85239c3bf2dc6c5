# Written by scripts/stubs, not by hand.
from . import ddp_comm_hooks as ddp_comm_hooks
from . import join as join
__all__ = ["ddp_comm_hooks", "join"]
