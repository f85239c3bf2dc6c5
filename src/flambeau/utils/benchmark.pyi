# Written by scripts/stubs, not by hand.
from ..tools.benchmark import Measurement as Measurement
from ..tools.benchmark import Timer as Timer
__all__ = ["Measurement", "Timer"]
