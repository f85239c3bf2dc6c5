# Written by scripts/stubs, not by hand.
from ..optim.sgd import *
