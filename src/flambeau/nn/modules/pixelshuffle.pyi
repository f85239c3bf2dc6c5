# Written by scripts/stubs, not by hand.
from ..shuffles import PixelShuffle as PixelShuffle
from ..shuffles import PixelUnshuffle as PixelUnshuffle
