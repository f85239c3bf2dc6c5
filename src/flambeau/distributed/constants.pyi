# Written by scripts/stubs, not by hand.
from ..parallel.group import TIMEOUT as default_pg_timeout
__all__ = ["default_pg_timeout"]
