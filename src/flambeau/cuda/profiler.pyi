# Written by scripts/stubs, not by hand.
from ..runtime.profiler import profile as profile
from ..runtime.profiler import start as start
from ..runtime.profiler import stop as stop
__all__ = ["profile", "start", "stop"]
