# Written by scripts/stubs, not by hand.
from ..adaptive import AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss
from ..adaptive import _ASMoutput as _ASMoutput
