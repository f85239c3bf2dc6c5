"""torch.storage: the classes of storages, which are names of the package too."""

from ..errors import no_attribute as _no_attribute
from ..tensor.storages import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
