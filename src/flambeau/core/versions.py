"""Version counters of tensors that `.data` returned, or was assigned to.

- A saved tensor is compared with its counter, so a write through `.data` is not noticed in backward, as in PyTorch.
- Caches and checks that depend on every write to a storage compare `writes_to`.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary, ref

from .storage import NO_PLACE, Storage, owning
from .tensor import TensorBase


class _Counters:
    """The further counters of one storage.  made: how many there have been;  living: those that tensors still have."""

    __slots__ = ("living", "made")

    def __init__(self) -> None:
        self.made = 0
        self.living: list[ref[Storage]] = []


_further: WeakKeyDictionary[Storage, _Counters] = WeakKeyDictionary()


def count_apart(tensor: TensorBase, version: int) -> None:
    """Give a tensor a counter of its own, which starts at `version`.  Inference memory has none."""
    memory = tensor._storage
    tensor._counter = memory
    if memory.version >= 0 and memory.place == NO_PLACE:
        counter = owning(memory.device, 0, 0, None, None)
        counter.version = version
        tensor._counter = counter
        counters = _further.get(memory)
        if counters is None:
            counters = _further[memory] = _Counters()
        counters.made += 1
        counters.living = [*[each for each in counters.living if each() is not None], ref(counter)]


def writes_to(memory: Storage) -> Any:
    """Return a value that changes with each write to a storage, through any of its counters.

    It may also change where `.data` was only read.
    """
    counters = _further.get(memory) if _further else None
    if counters is None:
        return memory.version
    return memory.version, counters.made, [each.version for alive in counters.living if (each := alive())]
