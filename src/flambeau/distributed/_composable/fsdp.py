"""torch.distributed._composable.fsdp: names that programs import; modules are not spread over processes."""

from ...errors import no_attribute as _no_attribute
from ...parallel.process_group import fully_shard

__all__ = ["fully_shard"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
