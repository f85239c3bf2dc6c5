# Written by scripts/stubs, not by hand.
from ..shuffles import ChannelShuffle as ChannelShuffle
