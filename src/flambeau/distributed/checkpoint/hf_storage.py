"""torch.distributed.checkpoint.hf_storage: names that programs import."""

from ...errors import no_attribute as _no_attribute
from ...parallel.process_group import HuggingFaceStorageReader, HuggingFaceStorageWriter

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
