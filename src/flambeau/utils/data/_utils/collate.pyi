# Written by scripts/stubs, not by hand.
from ....data.collate import *
