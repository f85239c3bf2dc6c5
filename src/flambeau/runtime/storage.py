"""Storage: the bytes of a tensor, on the host or on a device.

`address` is the only way to a storage's memory.  Dropping the last reference gives device and pinned memory back
to its cache without waiting for anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import host
from ..driver.api import Address, StreamHandle
from ..dtypes import uint8
from ..errors import AcceleratorError, OutOfMemoryError
from ..memory.caching import CachingAllocator
from . import state
from .device import CPU_INDEX

INVALID_HANDLE = 400  # CUresult

WIDEST_ACCESS = 16  # bytes that a GPU's thread reads or writes at once

_WIDEST = WIDEST_ACCESS  # compiled, a number of C's

if TYPE_CHECKING:
    from .machine import Machine
    from .stream import Stream


class Storage:
    """`nbytes` of memory on CUDA device `device`, or on the host where that is CPU_INDEX.

    version counts writes in place, so that autograd sees when a saved value was overwritten.
    aligned: whether it begins where a GPU may use its widest access; host memory always counts as if.
    """

    __slots__ = (
        "__weakref__", "_address", "_array", "_block", "_give_back",
        "aligned", "device", "machine", "nbytes", "version",
    )  # fmt: skip

    def __init__(self, device: int, nbytes: int, address: int, block: Any, give_back: Any, machine: Any) -> None:
        self.begin(device, nbytes, address, block, give_back, machine)

    def begin(self, device: int, nbytes: int, address: int, block: Any, give_back: Any, machine: Any) -> None:
        """Own memory.  give_back: the cache that `block` is returned to, or None."""
        self.device = device
        self.nbytes = nbytes
        self.machine = machine
        self.version = 0
        self.aligned = device < 0 or address % _WIDEST == 0
        self._address = address
        self._block = block
        self._give_back = give_back
        self._array: Any = None

    def address(self) -> int:
        """Where the first byte lies: in the device's address space, or in this process."""
        return self._address

    @property
    def block(self) -> Any:
        """What a cache gave for it, None for memory that no cache owns."""
        return self._block

    @property
    def is_pinned(self) -> bool:
        if self.device != CPU_INDEX or self._give_back is not None:
            return self.device == CPU_INDEX
        return state.has_machine() and state.machine().registered.holds(self._address, self.nbytes)

    def array(self) -> Any:
        """A uint8 NumPy array over host memory; it keeps the storage's memory alive."""
        if self._array is None:  # pinned: not kept, or storage and array would hold each other
            return host.array_at(self._address, uint8, (self.nbytes,), None, self)
        return self._array

    def move_to(self, array: Any) -> None:
        """Let host memory be that of a uint8 NumPy array, which holds the bytes already."""
        if self._give_back is not None:
            self._give_back.free(self._block)
        self._block = self._give_back = self.machine = None
        self._address = host.address_of(array)
        self._array = array

    def record_stream(self, stream: Stream) -> None:
        """Keep the block from reuse until the work that `stream` has when it is freed is done."""
        if self._give_back is not None:
            self._give_back.record_stream(self._block, stream.handle)

    def __del__(self) -> None:
        if isinstance(self._give_back, CachingAllocator):
            _free(self._give_back, self._block)
        elif self._give_back is not None:
            self._give_back.free(self._block)


def _free(allocator: CachingAllocator, block: Any) -> None:
    """What compiled code calls without Python in between."""
    allocator.free(block)


def former_machine(name: str, storage: Storage) -> AcceleratorError:
    """What a call raises for device memory that was not made on the present machine, as before `testing.machine`."""
    refusal = state.machine().forked
    if refusal is not None:
        return refusal.error()
    return AcceleratorError(
        f"{name}: {storage.nbytes} bytes of cuda:{storage.device} belong to a machine that is gone",
        hint="a tensor does not outlive the `testing.machine` block that it was made in",
        error_code=INVALID_HANDLE,
    )


def on_device(machine: Machine, device: int, nbytes: int, stream: StreamHandle) -> Storage:
    """Device memory whose first use is on `stream`.  Raises OutOfMemoryError."""
    if nbytes == 0:
        return Storage(device, 0, 0, None, None, machine)
    accelerator = machine.devices[device]
    allocator = accelerator.allocator
    block = allocator.allocate(nbytes, stream)
    made: Storage = Storage.__new__(Storage)
    made.begin(device, nbytes, block.address, block, allocator, machine)
    return made


def on_host(nbytes: int) -> Storage:
    """Pageable host memory, 64-byte aligned.  Raises OutOfMemoryError."""
    try:
        raw = host.np.empty(nbytes + 64, host.np.uint8)
    except MemoryError as error:
        raise OutOfMemoryError(
            f"CPU out of memory. Tried to allocate {nbytes} bytes", hint="look for a size that was computed wrongly"
        ) from error
    skip = -host.address_of(raw) % 64
    return from_array(raw[skip : skip + nbytes])


def from_array(array: Any) -> Storage:
    """The memory of a contiguous uint8 NumPy array, shared with it."""
    storage = Storage(CPU_INDEX, array.nbytes, host.address_of(array), None, None, None)
    storage._array = array
    return storage


def pinned(machine: Machine, nbytes: int) -> Storage:
    """Page-locked host memory from the machine's cache."""
    machine.start()
    block = machine.pinned.allocate(max(nbytes, 1))
    return Storage(CPU_INDEX, nbytes, Address(block.address), block, machine.pinned, machine)
