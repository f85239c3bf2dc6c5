# Written by scripts/stubs, not by hand.
from ..tensor import from_dlpack as from_dlpack
from ..tensor import to_dlpack as to_dlpack
__all__ = ["from_dlpack", "to_dlpack"]
