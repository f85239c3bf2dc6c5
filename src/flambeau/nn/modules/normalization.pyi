# Written by scripts/stubs, not by hand.
from ..layers import LayerNorm as LayerNorm
from ..normalization import CrossMapLRN2d as CrossMapLRN2d
from ..normalization import GroupNorm as GroupNorm
from ..normalization import LocalResponseNorm as LocalResponseNorm
from ..normalization import RMSNorm as RMSNorm
