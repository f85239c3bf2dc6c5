# Written by scripts/stubs, not by hand.
from ..optim.adagrad import *
