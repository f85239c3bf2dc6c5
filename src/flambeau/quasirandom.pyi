# Written by scripts/stubs, not by hand.
from .tensor.quasirandom import SobolEngine as SobolEngine
__all__ = ["SobolEngine"]
