"""Storage: the bytes of a tensor, on the host or on a device.

- `address` is the only way to a storage's memory.
- Dropping the last reference gives device and pinned memory back to its cache without waiting for anything.
- Memory on the CPU is a NumPy array's, whose address is found when it is asked for.
- A placeholder stands for memory of a call that is being lowered: it has a place in the call's plan, and no address.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from .. import host
from ..driver.api import Address, StreamHandle
from ..dtypes import uint8
from ..errors import AcceleratorError, OutOfMemoryError
from . import thread
from .allocator import CachingAllocator
from .layout import WIDEST_ACCESS, Layout
from .thread import CPU, Device

if TYPE_CHECKING:
    from ..runtime.stream import Stream

INVALID_HANDLE = 400  # CUresult
INFERENCE = -(1 << 60)  # version of memory that was made in inference mode, which no write brings up to 0
NO_PLACE = -1
_WIDEST = WIDEST_ACCESS  # compiled, a number of C's
_INFERENCE = INFERENCE


class NotLowerable(Exception):
    """What is being lowered needs a value or an address: it has to be run instead."""


class Storage:
    """`nbytes` of memory on a device.

    version counts writes in place, so that autograd sees when a saved value was overwritten.  It is negative for memory
    made in inference mode, which autograd does not save.
    aligned: whether it begins where a GPU may use its widest access; host memory always counts as if.
    whole: the array of a tensor that has all of the memory, in the layout `whole_layout`.
    place: of a placeholder, its index among what the plan uses, else NO_PLACE.
    """

    __slots__ = (
        "__weakref__", "_address", "_allocator", "_array", "_block", "_has_address", "_owner", "aligned", "device",
        "nbytes", "place", "version", "whole", "whole_layout",
    )  # fmt: skip
    nbytes: int
    version: int
    place: int
    aligned: bool
    device: Device
    whole: Any
    whole_layout: Layout | None
    _address: int
    _has_address: bool
    _array: Any
    _block: Any
    _allocator: CachingAllocator | None  # that the block is given back to, or
    _owner: Any  # what else it is given back to

    def address(self) -> int:
        """Where the first byte lies: in the device's address space, or in this process."""
        if not self._has_address:
            self._find_address()
        return self._address

    def _find_address(self) -> None:
        if self.place != NO_PLACE:
            raise NotLowerable("an address")
        self._address = host.address_of(self.whole)
        self._has_address = True

    @property
    def block(self) -> Any:
        """What a cache gave for it, None for memory that no cache owns."""
        return self._block

    @property
    def is_pinned(self) -> bool:
        if self.device.index >= 0 or self._owner is not None:
            return self.device.index < 0
        return thread.has_machine() and thread.machine().registered.holds(self.address(), self.nbytes)

    def array(self) -> Any:
        """A uint8 NumPy array over host memory; it keeps the storage's memory alive."""
        if self._array is None:
            if self.whole is None:  # pinned: not kept, or storage and array would hold each other
                return host.array_at(self.address(), uint8, (self.nbytes,), None, self)
            self._array = self.whole.reshape(-1).view(host.np.uint8)
        return self._array

    def move_to(self, array: Any) -> None:
        """Let host memory be that of a uint8 NumPy array, which holds the bytes already."""
        if self._owner is not None:
            self._owner.free(self._block)
        self._block = self._owner = None
        self._address = host.address_of(array)
        self._has_address = True
        self._array = array
        self.whole = self.whole_layout = None

    def record_stream(self, stream: Stream) -> None:
        """Keep the block from reuse until the work that `stream` has when it is freed is done."""
        if self._allocator is not None:
            self._allocator.record_stream(self._block, stream.handle)
        elif self._owner is not None:
            self._owner.record_stream(self._block, stream.handle)

    def __del__(self) -> None:
        try:
            allocator = self._allocator
        except AttributeError:  # `_new` was interrupted
            return
        if allocator is not None:
            allocator.free(self._block)
        elif self._owner is not None:
            self._owner.free(self._block)


def _new(device: Device, nbytes: int) -> Storage:
    """A storage without memory."""
    made: Storage = Storage.__new__(Storage)
    made._block = made._owner = made._allocator = None
    made.device = device
    made.nbytes = nbytes
    made.version = _INFERENCE if thread.here().inference else 0
    made.aligned = True
    made.place = NO_PLACE
    made._address = 0
    made._has_address = True
    made._array = made.whole = made.whole_layout = None
    return made


def owning(device: Device, nbytes: int, address: int, block: Any, owner: Any) -> Storage:
    """A storage over memory at an address.  owner: what `block` is given back to, or None."""
    made = _new(device, nbytes)
    made._address = address
    made._block = block
    made._owner = owner
    made.aligned = device.index < 0 or address % _WIDEST == 0
    return made


def placeholder(device: Device, nbytes: int, place: int) -> Storage:
    """A storage of a call that is being lowered."""
    made = _new(device, nbytes)
    made.place = place
    made._has_address = False
    return made


def on_device(device: Device, nbytes: int, stream: StreamHandle) -> Storage:
    """Device memory whose first use is on `stream`.  Raises OutOfMemoryError."""
    made = _new(device, nbytes)
    if nbytes:
        allocator = device.allocator
        allocator.lock.acquire()
        try:
            block = allocator.take(nbytes, stream)
            made._address = block.address
            made._block = block
            made._allocator = allocator
        finally:
            allocator.lock.release()
        made.aligned = made._address % _WIDEST == 0
    return made


def of_array(array: Any, layout: Layout) -> Storage:
    """The memory of a NumPy array that is a tensor's of `layout`, which leaves no gaps."""
    made = _new(CPU, layout.nbytes)
    made._has_address = False
    made.whole = array
    made.whole_layout = layout
    return made


def new_array(shape: tuple[int, ...], kind: Any) -> Any:
    """A NumPy array of unset values.  Raises OutOfMemoryError."""
    try:
        return host.np.empty(shape, kind)
    except MemoryError as error:
        nbytes = prod(shape) * host.np.dtype(kind).itemsize
        raise OutOfMemoryError(
            f"CPU out of memory. Tried to allocate {nbytes} bytes", hint="look for a size that was computed wrongly"
        ) from error


def on_host(nbytes: int) -> Storage:
    """Pageable host memory, 64-byte aligned.  Raises OutOfMemoryError."""
    raw = new_array((nbytes + 64,), host.np.uint8)
    skip = -host.address_of(raw) % 64
    return from_array(raw[skip : skip + nbytes])


def from_array(array: Any) -> Storage:
    """The memory of a contiguous uint8 NumPy array, shared with it."""
    made = _new(CPU, array.nbytes)
    made._address = host.address_of(array)
    made._array = array
    return made


def pinned(machine: Any, nbytes: int) -> Storage:
    """Page-locked host memory from the machine's cache."""
    machine.start()
    with machine.pinned.lock:
        block = machine.pinned.take(max(nbytes, 1))
        made = owning(CPU, nbytes, Address(block.address), block, machine.pinned)
    return made


def former_machine(name: str, storage: Storage) -> AcceleratorError:
    """What a call raises for device memory that was not made on the present machine, as before `testing.machine`."""
    refusal = thread.machine().forked
    if refusal is not None:
        return refusal.error()
    return AcceleratorError(
        f"{storage.nbytes} bytes of {storage.device} belong to a machine that is gone",
        hint="a tensor does not outlive the `testing.machine` block that it was made in",
        error_code=INVALID_HANDLE,
        operator=name,
    )
