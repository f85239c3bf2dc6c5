"""Tensors in memory that other processes can have too."""

from __future__ import annotations

from typing import Any

from ..core.storage import Storage


def is_shared(self: Any) -> bool:
    """Whether other processes can have this tensor's memory: a GPU's always, the CPU's once it was shared.

    Example:
        >>> x = torch.ones(2)
        >>> x.is_shared()
        False
        >>> x.share_memory_().is_shared()
        True
    """
    from ..runtime import shared_memory

    storage: Storage = self.storage
    return storage.device.index >= 0 or storage in shared_memory.host_side().files


def share_memory_(self: Any) -> Any:
    """Move a CPU tensor, and every tensor over the same memory, to where other processes can have it; itself.

    Nothing for a tensor on a GPU.  NumPy arrays that were made from it before keep the former memory.
    Example:
        >>> x = torch.ones(2).share_memory_()
        >>> x.is_shared()
        True
    """
    from ..runtime import shared_memory

    if self.device_index < 0:
        shared_memory.host_side().share(self.storage)
    return self


METHODS = (is_shared, share_memory_)
