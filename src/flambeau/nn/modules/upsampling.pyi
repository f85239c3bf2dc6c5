# Written by scripts/stubs, not by hand.
from ..layers import Upsample as Upsample
from ..layers import UpsamplingBilinear2d as UpsamplingBilinear2d
from ..layers import UpsamplingNearest2d as UpsamplingNearest2d
