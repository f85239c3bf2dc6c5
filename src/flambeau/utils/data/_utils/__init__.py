"""torch.utils.data._utils: parts of DataLoader that programs extend."""

import sys as _sys

from ....data import collate
from ....data import iterators as fetch
from ....data import iterators as pin_memory
from ....data import workers as worker
from ....data.iterators import LOOK_SECONDS as MP_STATUS_CHECK_INTERVAL

_MODULES = "collate", "fetch", "pin_memory", "worker"  # modules of flambeau.data; scripts/stubs writes their stubs
_sys.modules.update({f"{__name__}.{_name}": getattr(_sys.modules[__name__], _name) for _name in _MODULES})

HAS_NUMPY, IS_WINDOWS = True, False

__all__ = ["HAS_NUMPY", "IS_WINDOWS", "MP_STATUS_CHECK_INTERVAL", "collate", "fetch", "pin_memory", "worker"]
