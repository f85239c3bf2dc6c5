"""Storage: the memory of a tensor, on the host or on a device.

- `Storage.address` is the only source of a storage's address.
- Dropping the last reference returns device and pinned memory to its cache; nothing waits.
- Memory on the CPU belongs to a NumPy array, whose address is looked up on demand.
- A placeholder represents memory of a call that is being lowered.  It has an index in the call's plan, and no address.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from .. import host
from ..driver.api import StreamHandle
from ..dtypes import uint8
from ..errors import OutOfMemoryError
from . import call_errors, thread
from .allocator import BlockAllocator
from .layout import WIDEST_ACCESS, Layout
from .thread import Device

if TYPE_CHECKING:
    from ..memory.allocator import CachingAllocator
    from ..runtime.stream import Stream

INFERENCE = -(1 << 60)  # version of inference memory; no number of writes brings it up to 0
NO_PLACE = -1
_WIDEST = WIDEST_ACCESS  # a C number where compiled
_INFERENCE = INFERENCE


class NotLowerable(Exception):
    """The call that is being lowered needs a value or an address: its body has to run in every call."""


class Twins:
    """The counterparts of a storage on other devices.

    memories: one storage per device;  start: the offset in each, in bytes;  group: see queue.Mirror.
    before: the twins that these replaced;  is_live: whether a mirror may use them.
    arrival: the end of the copies that fill them, until their devices wait for it (see Mirror.arrive), or None.
    kept: the storage that owns these bytes, if `memories` are shared (see Mirror.lockstep), or None.
    """

    __slots__ = ("arrival", "before", "group", "is_live", "kept", "memories", "start")

    def __init__(
        self, group: Any, memories: list[Any], start: int, before: Any = None, kept: Any = None, arrival: Any = None
    ) -> None:
        self.before, self.kept, self.arrival = before, kept, arrival
        self.is_live, self.group, self.memories, self.start = True, group, memories, start


class Storage:
    """`nbytes` of memory on a device.

    version: counts writes in place, except those through `.data`, so that autograd detects overwritten saved values.
    It is negative for memory made in inference mode, which autograd does not save.
    aligned: whether its address is a multiple of WIDEST_ACCESS bytes; True for host memory.
    whole: the array of the tensor that spans all of the memory, in the layout `whole_layout`.
    place: of a placeholder, its index among the plan's operands; else NO_PLACE.
    twins: its counterparts on other devices, or None (see queue.Mirror).
    block: its block in a cache, None for memory that no cache owns.
    """

    __slots__ = (
        "__weakref__", "_address", "_allocator", "_array", "_has_address", "_owner", "aligned", "block", "device",
        "nbytes", "place", "twins", "version", "whole", "whole_layout",
    )  # fmt: skip
    nbytes: int
    block: Any
    version: int
    place: int
    aligned: bool
    device: Device
    whole: Any
    whole_layout: Layout | None
    twins: Twins | None
    _address: int
    _has_address: bool
    _array: Any
    _allocator: CachingAllocator | None  # the block returns to this allocator, or
    _owner: Any  # to this other owner

    def address(self) -> int:
        """Return the address of the first byte, in the device's address space or in this process."""
        if not self._has_address:
            if self.place != NO_PLACE:
                raise NotLowerable("an address")
            self._address = host.address_of(self.whole)
            self._has_address = True
        return self._address

    @property
    def is_pinned(self) -> bool:
        if self.device.index >= 0 or self._owner is not None:
            return self.device.index < 0
        return thread.has_machine() and thread.machine().registered.holds(self.address(), self.nbytes)

    def array(self) -> Any:
        """Return a uint8 NumPy array over host memory; it keeps the memory alive."""
        if self._array is None:
            if self.whole is None:  # pinned: not cached, since storage and array would hold each other
                return host.array_at(self.address(), uint8, (self.nbytes,), None, self)
            self._array = self.whole.reshape(-1).view(host.np.uint8)
        return self._array

    def record_stream(self, stream: Stream) -> None:
        """Delay the reuse of the block, after its free, until the work queued on `stream` by then is done."""
        if self._allocator is not None:
            self._allocator.record_stream(self.block, stream.handle)
        elif self._owner is not None:
            self._owner.record_stream(self.block, stream.handle)

    def __del__(self) -> None:
        try:
            allocator = self._allocator
        except AttributeError:  # unset if `_new` was interrupted
            return
        if allocator is not None:
            BlockAllocator.free(allocator, self.block)  # a direct call
        elif self._owner is not None:
            self._owner.free(self.block)


def _new(device: Device, nbytes: int) -> Storage:
    """Make a storage without memory."""
    storage: Storage = Storage.__new__(Storage)
    storage.block = storage._owner = storage._allocator = storage.twins = None
    storage.device, storage.nbytes, storage.aligned = device, nbytes, True
    storage.version = _INFERENCE if thread.here().inference else 0
    storage.place, storage._address, storage._has_address = NO_PLACE, 0, True
    storage._array = storage.whole = storage.whole_layout = None
    return storage


def owning(device: Device, nbytes: int, address: int, block: Any, owner: Any) -> Storage:
    """Make a storage over memory at an address.  owner: the object whose `free` gets the block, or None."""
    storage = _new(device, nbytes)
    storage._address, storage.block, storage._owner = address, block, owner
    storage.aligned = device.index < 0 or address % _WIDEST == 0
    return storage


def placeholder(device: Device, nbytes: int, place: int) -> Storage:
    """Make a storage of a call that is being lowered."""
    storage = _new(device, nbytes)
    storage.place, storage._has_address = place, False
    return storage


def on_device(device: Device, nbytes: int, stream: StreamHandle) -> Storage:
    """Allocate device memory whose first use is on `stream`.  Raises OutOfMemoryError."""
    storage = _new(device, nbytes)
    if nbytes:
        owner = device.allocator
        owner.lock.acquire()
        try:
            # a direct call is much faster;  DirectAllocator, which replaces `take`, always sets `_divisions`
            block = owner.take(nbytes, stream) if owner._divisions else BlockAllocator.take(owner, nbytes, stream)
            storage._address, storage.block, storage._allocator = block.address, block, owner
        finally:
            owner.lock.release()
        storage.aligned = storage._address % _WIDEST == 0
    return storage


def add_twins(memory: Storage, mirror: Any) -> None:
    """Allocate a new storage's twins.  If a device is out of memory, the mirror ends."""
    try:
        further = mirror.lockstep  # no `:=`: Cython 3.1 refuses it
        if further is None:
            memory.twins = mirror.twins_of(memory)
        else:
            kept = on_device(further, memory.nbytes or 1, mirror.group[1])
            segment, twins = kept.block.segment, Twins.__new__(Twins)
            twins.memories = segment.memories or further.allocator.filled(segment)
            twins.group, twins.start, twins.kept = mirror.group, kept._address - segment.address, kept
            twins.before, twins.arrival, twins.is_live, memory.twins = None, None, True, twins
    except OutOfMemoryError as error:
        mirror.end("a further device is out of memory", error)


def of_array(array: Any, layout: Layout) -> Storage:
    """Make a storage of a NumPy array that is a tensor of `layout`, which has no gaps."""
    storage = _new(layout.device, layout.nbytes)
    storage._has_address = False
    storage.whole = array
    storage.whole_layout = layout
    return storage


def new_array(shape: tuple[int, ...], dtype: Any) -> Any:
    """Make a NumPy array of uninitialized values.  Raises OutOfMemoryError."""
    try:
        return host.np.empty(shape, dtype)
    except MemoryError as error:
        raise call_errors.out_of_host_memory(prod(shape) * host.np.dtype(dtype).itemsize) from error
