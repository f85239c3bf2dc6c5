# Written by scripts/stubs, not by hand.
from ...parallel.join import Join as Join
from ...parallel.join import JoinHook as JoinHook
from ...parallel.join import Joinable as Joinable
__all__ = ["Join", "JoinHook", "Joinable"]
