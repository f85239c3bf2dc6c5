"""torch.distributed.device_mesh: names that programs import; tensors are not spread over processes."""

from ..errors import no_attribute as _no_attribute
from ..parallel.process_group import DeviceMesh, init_device_mesh

__all__ = ["DeviceMesh", "init_device_mesh"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
