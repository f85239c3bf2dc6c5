# Written by scripts/stubs, not by hand.
from ..pooling import Fold as Fold
from ..pooling import Unfold as Unfold
