# Written by scripts/stubs, not by hand.
from ..layers import Flatten as Flatten
from ..layers import Unflatten as Unflatten
