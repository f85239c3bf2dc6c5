# Written by scripts/stubs, not by hand.
from .sgd import *
