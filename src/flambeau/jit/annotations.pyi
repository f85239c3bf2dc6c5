# Written by scripts/stubs, not by hand.
from builtins import list as BroadcastingList1
from builtins import list as BroadcastingList2
from builtins import list as BroadcastingList3
from builtins import list as BroadcastingList4
from builtins import list as BroadcastingList5
from builtins import list as BroadcastingList6
from typing import Any as Any
from typing import Dict as Dict
from typing import List as List
from typing import Optional as Optional
from typing import Tuple as Tuple
from typing import Union as Union
__all__ = ["Any", "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "BroadcastingList4", "BroadcastingList5", "BroadcastingList6", "Dict", "List", "Optional", "Tuple", "Union"]
