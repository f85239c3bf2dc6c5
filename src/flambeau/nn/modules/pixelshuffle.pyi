# Written by scripts/stubs, not by hand.
from ..layers import PixelShuffle as PixelShuffle
from ..layers import PixelUnshuffle as PixelUnshuffle
