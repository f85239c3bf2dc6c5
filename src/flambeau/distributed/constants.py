"""torch.distributed.constants: the default timeout of process groups."""

from ..parallel.group import TIMEOUT as default_pg_timeout

__all__ = ["default_pg_timeout"]
