"""Address spaces of virtual GPUs: the bytes behind device and pinned addresses.

- They lie in one sparse shared mapping per device, made on first use; memory that nobody accessed costs nothing.
- Poison, the byte 0xFF (NaN, or -1), is what unwritten memory reads as.  A device keeps it as ranges and writes the
  bytes only when something reads them.
"""

from __future__ import annotations

import mmap
import os
import resource
from typing import Any

from ... import callers, host
from ...errors import ConfigError
from .ranges import Ranges

GRANULE = 2 << 20  # bytes: segments begin and end on multiples of this
POISON = 0xFF


def reservable(nbytes: int, count: int) -> int:
    """The number of bytes, at most `nbytes`, that each of `count` devices can map.

    Under a limit of the address space (RLIMIT_AS) the devices share half of what is left; the host keeps the rest.
    """
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return nbytes
    share = max(limit - _mapped(), 0) // (2 * count) // GRANULE * GRANULE
    if share >= nbytes:
        return nbytes
    callers.warn(
        f"virtual GPUs: each has {share} bytes of memory and not {nbytes}: this process is limited to {limit} bytes of "
        "addresses (RLIMIT_AS); FLAMBEAU_GPUS=virtual:2,memory=1GiB sets how many"
    )
    return share


def _mapped() -> int:
    """The size of this process's address space, in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * mmap.PAGESIZE


class Space:
    """Bytes by address: pinned host memory, where poison is written at once."""

    __slots__ = ("base", "buffer")

    def __init__(self, base: int, buffer: Any) -> None:
        self.base = base
        self.buffer = buffer

    def bytes(self, low: int, high: int) -> Any:
        """A uint8 array over the bytes at [low, high)."""
        return host.numpy().frombuffer(self.buffer, "uint8", high - low, low - self.base)

    def poison(self, low: int, high: int) -> None:
        """From now on, [low, high) reads as poison."""
        self.bytes(low, high)[:] = POISON

    def materialise(self, low: int, high: int) -> None:
        """Make the buffer hold the poison of [low, high), which is about to be read."""

    def written(self, low: int, high: int) -> None:
        """[low, high) is about to be written, every byte that the buffer does not hold yet."""


class DeviceSpace(Space):
    """The bytes of one device, where poison is a set of ranges.

    file: what the bytes lie in, -1 before `open`;  exported: segments that other processes may see.
    """

    __slots__ = ("exported", "file", "nbytes", "unwritten")

    def __init__(self, base: int, nbytes: int) -> None:
        super().__init__(base, None)
        self.nbytes = nbytes
        self.unwritten = Ranges()
        self.exported = Ranges()
        self.file = -1

    def open(self) -> None:
        """Map the bytes, once."""
        if self.buffer is None:
            self.file = os.memfd_create(f"flambeau-{self.base:#x}")
            os.ftruncate(self.file, self.nbytes)
            try:
                self.buffer = mmap.mmap(self.file, self.nbytes)
            except OSError as error:
                raise ConfigError(
                    f"virtual GPUs: {self.nbytes} bytes of memory cannot be mapped beside the {_mapped()} that this "
                    f"process uses: {error.strerror}; the limit of addresses (RLIMIT_AS) is "
                    f"{resource.getrlimit(resource.RLIMIT_AS)[0]}",
                    hint="set less, as in FLAMBEAU_GPUS=virtual:2,memory=1GiB, or raise the limit: ulimit -v",
                ) from error

    def __del__(self) -> None:
        if self.file >= 0:
            os.close(self.file)

    def poison(self, low: int, high: int) -> None:
        self.unwritten.add(low, high)

    def materialise(self, low: int, high: int) -> None:
        for start, end in self.unwritten.within(low, high):
            self.bytes(start, end)[:] = POISON
        self.unwritten.remove(low, high)

    def written(self, low: int, high: int) -> None:
        self.unwritten.remove(low, high)

    def discard(self, low: int, high: int) -> None:
        """Give the bytes back to the system; both ends are multiples of GRANULE."""
        self.unwritten.remove(low, high)
        self.exported.remove(low, high)
        self.buffer.madvise(mmap.MADV_REMOVE, low - self.base, high - low)
