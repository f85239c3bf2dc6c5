# Written by scripts/stubs, not by hand.
from ..tensor.legacy import Variable as Variable
__all__ = ["Variable"]
