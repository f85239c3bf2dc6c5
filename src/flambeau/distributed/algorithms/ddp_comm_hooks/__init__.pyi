# Written by scripts/stubs, not by hand.
from . import default_hooks as default_hooks
from ....parallel.comm_hooks import DDPCommHookType as DDPCommHookType
from ....parallel.comm_hooks import register_ddp_comm_hook as register_ddp_comm_hook
__all__ = ["DDPCommHookType", "default_hooks", "register_ddp_comm_hook"]
