"""torch.utils.data._utils: parts of DataLoader that programs extend."""

import sys as _sys

from ....data import collate
from ....data import iterators as pin_memory
from ....data import workers as worker
from ....data.iterators import LOOK_SECONDS as MP_STATUS_CHECK_INTERVAL

_MODULES = "collate", "pin_memory", "worker"  # import flambeau.data's modules; scripts/stubs writes their stubs
_sys.modules.update({f"{__name__}.{_name}": globals()[_name] for _name in _MODULES})

__all__ = ["MP_STATUS_CHECK_INTERVAL", "collate", "pin_memory", "worker"]
