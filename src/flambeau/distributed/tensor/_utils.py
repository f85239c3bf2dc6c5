"""torch.distributed.tensor._utils: names that programs import; tensors are not spread over processes."""

from ...errors import no_attribute as _no_attribute
from ...parallel.process_group import compute_local_shape_and_global_offset

__all__ = ["compute_local_shape_and_global_offset"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
