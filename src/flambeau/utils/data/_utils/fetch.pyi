# Written by scripts/stubs, not by hand.
from ....data.iterators import *
