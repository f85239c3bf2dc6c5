# Written by scripts/stubs, not by hand.
from ..containers import ModuleDict as ModuleDict
from ..containers import ModuleList as ModuleList
from ..containers import ParameterDict as ParameterDict
from ..containers import ParameterList as ParameterList
from ..containers import Sequential as Sequential
