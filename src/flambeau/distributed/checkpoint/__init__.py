"""torch.distributed.checkpoint: importable; files of several processes are not written."""

from ...errors import no_attribute as _no_attribute
from . import hf_storage

__all__ = ["hf_storage"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
