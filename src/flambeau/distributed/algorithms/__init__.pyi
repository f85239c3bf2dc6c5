# Written by scripts/stubs, not by hand.
from . import ddp_comm_hooks as ddp_comm_hooks
from . import join as join
from . import model_averaging as model_averaging
from ...parallel.join import Join as Join
from ...parallel.join import JoinHook as JoinHook
from ...parallel.join import Joinable as Joinable
__all__ = ["Join", "JoinHook", "Joinable", "ddp_comm_hooks", "join", "model_averaging"]
