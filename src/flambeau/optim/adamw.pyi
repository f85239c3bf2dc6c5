# Written by scripts/stubs, not by hand.
from .adam import *
