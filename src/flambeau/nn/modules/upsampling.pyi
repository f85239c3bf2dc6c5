# Written by scripts/stubs, not by hand.
from ..upsampling import Upsample as Upsample
from ..upsampling import UpsamplingBilinear2d as UpsamplingBilinear2d
from ..upsampling import UpsamplingNearest2d as UpsamplingNearest2d
