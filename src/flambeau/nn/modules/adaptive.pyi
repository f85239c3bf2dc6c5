# Written by scripts/stubs, not by hand.
from ..loss import AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss
from ..loss import _ASMoutput as _ASMoutput
