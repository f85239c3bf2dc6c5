"""torch.distributed.distributed_c10d: the module that has torch.distributed's functions in PyTorch."""

from ..importer import listing as _listing
from ..parallel.coalesced import CoalescingManager as _CoalescingManager  # noqa: F401  (programs import these)
from ..parallel.coalesced import coalescing_manager as _coalescing_manager  # noqa: F401
from ..parallel.collective_options import AllgatherOptions as AllgatherOptions
from ..parallel.process_group import default_group as _get_default_group  # noqa: F401
from ..parallel.process_group import default_store as _get_default_store  # noqa: F401
from ..parallel.process_group import process_group_name as _get_process_group_name  # noqa: F401
from ..parallel.process_group import process_group_store as _get_process_group_store  # noqa: F401
from ..parallel.process_group import rank_not_in_group as _rank_not_in_group  # noqa: F401
from ..parallel.shrink import SHRINK_ABORT as SHRINK_ABORT
from ..parallel.shrink import SHRINK_DEFAULT as SHRINK_DEFAULT
from . import *  # noqa: F403
from . import __all__ as __all__

__dir__ = _listing(globals(), "AllgatherOptions", "SHRINK_ABORT", "SHRINK_DEFAULT")
