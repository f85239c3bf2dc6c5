# Written by scripts/stubs, not by hand.
from ..layers import Bilinear as Bilinear
from ..layers import Identity as Identity
from ..layers import Linear as Linear
from ..lazy import LazyLinear as LazyLinear
from ..transformer import NonDynamicallyQuantizableLinear as NonDynamicallyQuantizableLinear
