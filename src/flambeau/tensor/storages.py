"""UntypedStorage: the memory of a tensor as bytes."""

from __future__ import annotations

from typing import Any

from ..core import storage
from ..core.storage import Storage
from ..core.tensor import empty_tensor, tensor_over
from ..dtypes import uint8
from ..errors import ArgumentTypeError, ValueRangeError, shown
from ..runtime import device as devices
from . import checks


class UntypedStorage:
    """The memory of one or more tensors as bytes; `UntypedStorage(8)` has 8 unset bytes.

    Two are equal if they are the same memory.
    Example:
        >>> torch.UntypedStorage(16).nbytes()
        16
    """

    __slots__ = ("_storage",)

    def __init__(self, size: int = 0, *, device: Any = None) -> None:
        checks.count("UntypedStorage", "size", size)
        self._storage: Storage = empty_tensor((size,), uint8, devices.resolve(device))._storage

    def _bytes(self) -> Any:
        """Return a tensor of bytes over the same memory."""
        return tensor_over(self._storage, uint8, (self._storage.nbytes,), (1,))

    @property
    def device(self) -> devices.device:
        public: devices.device = self._storage.device.public
        return public

    @property
    def is_cuda(self) -> bool:
        return self._storage.device.index >= 0

    def get_device(self) -> int:
        """Return the index of the CUDA device, -1 on the CPU."""
        return self._storage.device.index

    def nbytes(self) -> int:
        """Return the size in bytes."""
        return self._storage.nbytes

    size = __len__ = nbytes

    def element_size(self) -> int:
        return 1

    def data_ptr(self) -> int:
        """Return the address of the first byte."""
        return self._storage.address()

    def is_pinned(self, device: Any = None) -> bool:
        """Return whether it lies in pinned host memory.  Does not initialize CUDA."""
        checks.accelerator("is_pinned", device)
        return self._storage.is_pinned

    def is_shared(self) -> bool:
        """Return whether other processes can open it."""
        return bool(is_shared(self._bytes()))

    def share_memory_(self) -> UntypedStorage:
        """Move bytes on the CPU to shared memory, which other processes can open; return self."""
        share_memory_(self._bytes())
        return self

    def resizable(self) -> bool:
        """Return False: the size never changes."""
        return False

    def __getitem__(self, index: Any) -> Any:
        """Return one byte as a number, or a copy of several.  Host: waits if they are on a GPU."""
        values = self._bytes()[index]
        return of(values.clone()._storage) if isinstance(index, slice) else values.item()

    def __setitem__(self, index: Any, value: int) -> None:
        self._bytes()[index] = value

    def tolist(self) -> list[int]:
        """Return the bytes as numbers.  Host: waits if they are on a GPU."""
        values: list[int] = self._bytes().tolist()
        return values

    def fill_(self, value: int) -> UntypedStorage:
        """Set every byte; return self."""
        self._bytes().fill_(value)
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool = False) -> UntypedStorage:
        """Copy the bytes of another storage of the same size; return self.  Host: as `Tensor.copy_`."""
        if not isinstance(source, UntypedStorage):
            raise ArgumentTypeError(
                f"expected an UntypedStorage, got {shown(source)}", hint="as t.untyped_storage()", operator="copy_"
            )
        if source.nbytes() != self.nbytes():
            raise ValueRangeError(
                f"a storage of {source.nbytes()} bytes does not fit one of {self.nbytes()}",
                hint="pass a storage of the same size",
                operator="copy_",
            )
        self._bytes().copy_(source._bytes(), non_blocking)
        return self

    def clone(self) -> UntypedStorage:
        """Return a copy on the same device."""
        return of(self._bytes().clone()._storage)

    def cpu(self) -> UntypedStorage:
        """Return the storage on the CPU; itself if it is there.  Host: waits if it is on a GPU."""
        return of(self._bytes().cpu()._storage)

    def cuda(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        """Return the storage on a CUDA device; itself if it is there."""
        return of(self._bytes().cuda(device, non_blocking)._storage)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and other._storage is self._storage

    def __hash__(self) -> int:
        return id(self._storage)

    def __repr__(self) -> str:
        return f"<torch.UntypedStorage: {self.nbytes()} bytes on {self.device}>"


def of(bytes_of: storage.Storage) -> UntypedStorage:
    """Wrap a storage of the core."""
    wrapper: UntypedStorage = UntypedStorage.__new__(UntypedStorage)
    wrapper._storage = bytes_of
    return wrapper


def is_shared(self: Any) -> bool:
    """Return whether other processes can open this tensor's memory: always on a GPU, on the CPU once it was shared.

    Example:
        >>> x = torch.ones(2)
        >>> x.is_shared()
        False
        >>> x.share_memory_().is_shared()
        True
    """
    from ..runtime import shared_memory

    storage: Storage = self._storage
    return storage.device.index >= 0 or storage in shared_memory.host_side().files


def share_memory_(self: Any) -> Any:
    """Move a CPU tensor, and every tensor over the same memory, to shared memory; return this tensor.

    Other processes can open shared memory.  Does nothing for a tensor on a GPU.  NumPy arrays made from it before keep
    the former memory.
    Example:
        >>> x = torch.ones(2).share_memory_()
        >>> x.is_shared()
        True
    """
    from ..runtime import shared_memory

    if self.device_index < 0:
        shared_memory.host_side().share(self._storage)
    return self


METHODS = (is_shared, share_memory_)
