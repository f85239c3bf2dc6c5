# Written by scripts/stubs, not by hand.
from .adagrad import *
