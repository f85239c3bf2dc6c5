"""torch.cuda.cudart(): functions of the CUDA runtime.  They return error codes and never raise.

Registered memory is host memory that another library allocated, pinned in place.  The caller keeps it alive until it is
unregistered and the work that uses it is done.
"""

from __future__ import annotations

from bisect import bisect_right
from enum import IntEnum

from ..core import thread
from ..core.locks import whole
from ..driver.api import Address
from ..errors import AcceleratorError
from . import device as devices


class cudaError(IntEnum):  # noqa: N801  (the field's name for it)
    """Error codes of the CUDA runtime."""

    success = 0


class cudaStatus:  # noqa: N801  (the field's name for it)
    """Error codes of the CUDA runtime, as ints, for `check_error`: SUCCESS and ERROR_NOT_READY.

    Example:
        >>> torch.cuda.cudaStatus.SUCCESS
        0
    """

    SUCCESS = 0
    ERROR_NOT_READY = 34


class HostRegistry:
    """The registered host memory ranges of a machine, by address."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._nbytes: dict[int, int] = {}

    def add(self, address: int, nbytes: int) -> None:
        self._starts.insert(bisect_right(self._starts, address), address)
        self._nbytes[address] = nbytes

    def remove(self, address: int) -> None:
        if self._nbytes.pop(address, None) is not None:
            self._starts.remove(address)

    def holds(self, address: int, nbytes: int) -> bool:
        """Return whether all of the bytes lie in one registered range."""
        at = bisect_right(self._starts, address) - 1
        return at >= 0 and address + nbytes <= self._starts[at] + self._nbytes[self._starts[at]]


class Cudart:
    """The subset of the CUDA runtime that `cudart()` offers."""

    cudaError = cudaError

    @staticmethod
    @whole
    def cudaHostRegister(ptr: int, size: int, flags: int = 0) -> int:  # noqa: N802
        """Pin `size` bytes at `ptr` for every device; return 0 or the driver's error code.  flags: not used."""
        machine = thread.machine()
        machine.start()
        try:
            machine.driver.host_register(Address(ptr), size)
        except AcceleratorError as error:
            return error.error_code
        machine.registered.add(ptr, size)
        return cudaError.success

    @staticmethod
    @whole
    def cudaHostUnregister(ptr: int) -> int:  # noqa: N802
        """Undo cudaHostRegister; return 0 or the driver's error code.  Virtual GPUs wait for queued uses first."""
        machine = thread.machine()
        machine.start()
        try:
            machine.driver.host_unregister(Address(ptr))
        except AcceleratorError as error:
            return error.error_code
        machine.registered.remove(ptr)
        return cudaError.success

    @staticmethod
    def cudaMemGetInfo(device: int) -> tuple[int, int]:  # noqa: N802
        """Return the free and the total memory of a device, in bytes, as its driver reports them: (free, total)."""
        return thread.machine().driver.mem_info(devices.cuda_index(device))


def cudart() -> type[Cudart]:
    """Return an object with functions of the CUDA runtime, such as `cudaMemGetInfo`; initializes CUDA.

    `cudaHostRegister` and `cudaHostUnregister` return error codes instead of raising.
    Raises: NoDeviceError if there is no GPU.
    Example:
        >>> free, total = torch.cuda.cudart().cudaMemGetInfo(0)
        >>> free <= total
        True
    """
    thread.machine().start()
    return Cudart
