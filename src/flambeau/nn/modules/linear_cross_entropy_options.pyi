# Written by scripts/stubs, not by hand.
from ..loss import LinearCrossEntropyOptions as LinearCrossEntropyOptions
