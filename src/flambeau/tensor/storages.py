"""UntypedStorage: the bytes of a tensor as an object of their own."""

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
    """The memory of one or more tensors as bytes; `UntypedStorage(8)` has 8 unset ones.

    Two are equal if they are the same memory.
    Example:
        >>> torch.UntypedStorage(16).nbytes()
        16
    """

    __slots__ = ("_storage",)

    def __init__(self, size: int = 0, *, device: Any = None) -> None:
        checks.count("UntypedStorage", "size", size)
        self._storage: Storage = empty_tensor((size,), uint8, devices.resolve(device)).storage

    def _bytes(self) -> Any:
        """The bytes as a tensor, which shares them."""
        return tensor_over(self._storage, uint8, (self._storage.nbytes,), (1,))

    @property
    def device(self) -> devices.device:
        return self._storage.device.public  # type: ignore[no-any-return]  # a device

    @property
    def is_cuda(self) -> bool:
        return self._storage.device.index >= 0

    def get_device(self) -> int:
        """The index of the CUDA device, -1 on the CPU."""
        return self._storage.device.index

    def nbytes(self) -> int:
        """The size in bytes."""
        return self._storage.nbytes

    size = __len__ = nbytes

    def element_size(self) -> int:
        return 1

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return self._storage.address()

    def is_pinned(self, device: Any = None) -> bool:
        """Whether it lies in pinned host memory.  Starts nothing."""
        checks.accelerator("is_pinned", device)
        return self._storage.is_pinned

    def is_shared(self) -> bool:
        """Whether other processes can have it."""
        return bool(is_shared(self._bytes()))

    def share_memory_(self) -> UntypedStorage:
        """Move bytes on the CPU to where other processes can have them; itself."""
        share_memory_(self._bytes())
        return self

    def resizable(self) -> bool:
        """False: the size never changes."""
        return False

    def __getitem__(self, index: Any) -> Any:
        """One byte as a number, or a copy of several.  Host: waits if they are on a GPU."""
        found = self._bytes()[index]
        return of(found.clone().storage) if isinstance(index, slice) else found.item()

    def __setitem__(self, index: Any, value: int) -> None:
        self._bytes()[index] = value

    def tolist(self) -> list[int]:
        """The bytes as numbers.  Host: waits if they are on a GPU."""
        return self._bytes().tolist()  # type: ignore[no-any-return]  # tolist has no type

    def fill_(self, value: int) -> UntypedStorage:
        """Set every byte; itself."""
        self._bytes().fill_(value)
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool = False) -> UntypedStorage:
        """Take over the bytes of another storage of that size; itself.  Host: as `Tensor.copy_`."""
        if not isinstance(source, UntypedStorage):
            raise ArgumentTypeError(
                f"expected an UntypedStorage, got {shown(source)}", hint="as t.untyped_storage()", operator="copy_"
            )
        if source.nbytes() != self.nbytes():
            raise ValueRangeError(
                f"a storage of {source.nbytes()} bytes does not fit one of {self.nbytes()}",
                hint="give as many",
                operator="copy_",
            )
        self._bytes().copy_(source._bytes(), non_blocking)
        return self

    def clone(self) -> UntypedStorage:
        """A copy on the same device."""
        return of(self._bytes().clone().storage)

    def cpu(self) -> UntypedStorage:
        """The storage on the CPU; itself if it is there.  Host: waits if it is on a GPU."""
        return of(self._bytes().cpu().storage)

    def cuda(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        """The storage on a CUDA device; itself if it is there."""
        return of(self._bytes().cuda(device, non_blocking).storage)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and other._storage is self._storage

    def __hash__(self) -> int:
        return id(self._storage)

    def __repr__(self) -> str:
        return f"<torch.UntypedStorage: {self.nbytes()} bytes on {self.device}>"


def of(bytes_of: storage.Storage) -> UntypedStorage:
    """Wrap a storage of the runtime."""
    made: UntypedStorage = UntypedStorage.__new__(UntypedStorage)
    made._storage = bytes_of
    return made


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
