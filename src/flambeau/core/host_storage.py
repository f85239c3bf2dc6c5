"""Storages of host memory that is not one tensor's array: pageable, page-locked, or an array of the program."""

from __future__ import annotations

from typing import Any

from .. import host
from ..driver.api import Address
from .storage import Storage, new_array, owning
from .thread import CPU, Device


def on_host(nbytes: int, device: Device = CPU) -> Storage:
    """Allocate pageable host memory, aligned to 64 bytes.  Raises OutOfMemoryError."""
    raw = new_array((nbytes + 64,), host.np.uint8)
    skip = -host.address_of(raw) % 64
    return from_array(raw[skip : skip + nbytes], device)


def from_array(array: Any, device: Device = CPU) -> Storage:
    """Make a storage that shares the memory of a contiguous uint8 NumPy array."""
    storage = owning(device, array.nbytes, host.address_of(array), None, None)
    storage._array = array
    return storage


def pinned(machine: Any, nbytes: int) -> Storage:
    """Allocate page-locked host memory from the machine's cache."""
    machine.start()
    with machine.pinned.lock:
        block = machine.pinned.take(max(nbytes, 1))
        storage = owning(CPU, nbytes, Address(block.address), block, machine.pinned)
    return storage
