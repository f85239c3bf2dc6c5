# Written by scripts/stubs, not by hand.
from ..module import Module as Module
from ..state_dict import IncompatibleKeys as _IncompatibleKeys
