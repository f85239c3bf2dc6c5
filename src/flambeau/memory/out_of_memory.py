"""Texts of out-of-memory errors: sizes and the state of the device's memory.

- The text has, in order: size requested, GPU, capacity, free, processes, limit, allocated, reserved but unallocated.
- The hint names the cause that follows from the numbers: live bytes, a segment's rounding, a capture, or fragmentation.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from ..errors import OutOfMemoryError

UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
TOO_LARGE_TO_TRY = 1 << 60  # bytes


@dataclass(frozen=True)
class Shortage:
    """State of a device's memory when a request failed.  All sizes in bytes.

    block, segment:  the rounded request, and the driver segment that it needs.
    total, free:     as the driver reports them;  limit: what this process may reserve, or None.
    processes:       (process id, bytes) where known.
    allocated:       in blocks that have an owner;  active: these and the blocks that wait for events.
    reserved:        in all segments;  largest: the largest idle block, of any stream and pool.
    reachable:       the largest idle block of the request's stream and pool.
    capturing:       whether a capture kept idle segments from being handed back.
    """

    device: int
    block: int
    segment: int
    total: int
    free: int
    limit: int | None
    processes: tuple[tuple[int, int], ...]
    allocated: int
    active: int
    reserved: int
    largest: int
    reachable: int
    capturing: bool

    def error(self) -> OutOfMemoryError:
        return OutOfMemoryError(self.fact(), hint=self.hint())

    def fact(self) -> str:
        parts = [
            f"CUDA out of memory. Tried to allocate {size(self.segment)}.",
            f"GPU {self.device} has a total capacity of {size(self.total)} of which {size(self.free)} is free.",
        ]
        parts += [_process(pid, nbytes) for pid, nbytes in self.processes]
        if self.limit is not None:
            parts.append(f"This process is allowed to reserve {size(self.limit)}.")
        unallocated = size(self.reserved - self.allocated)
        parts.append(
            f"Of the allocated memory {size(self.allocated)} is allocated by flambeau, and {unallocated} is reserved "
            "by flambeau but unallocated."
        )
        return " ".join(parts)

    def hint(self) -> str:
        """Return the hint: the likely cause and a remedy."""
        if self.missing > 0:
            return (
                f"fragmentation is not the cause: live bytes exceed capacity by {size(self.missing)}; "
                "release tensors, or use a smaller batch"
            )
        if self.capturing:
            return f"a capture is underway, so {self.cached} cannot be handed back; allocate before the capture begins"
        if self.room >= self.block:
            return (
                f"the block of {size(self.block)} would fit, but it needs a segment of {size(self.segment)}, "
                f"and only {size(self.room)} can still be reserved"
            )
        return f"fragmentation is the cause: {self._fragments()}"

    @property
    def room(self) -> int:
        """Bytes that this process can still reserve."""
        allowed = self.free if self.limit is None else self.limit - self.reserved
        return max(min(self.free, allowed), 0)

    @property
    def missing(self) -> int:
        """Bytes by which live bytes and the request exceed all memory; negative if they do not."""
        return self.active + self.block - (self.reserved + self.room)

    @property
    def cached(self) -> str:
        return f"{size(self.reserved - self.active)} cached"

    def _fragments(self) -> str:
        largest = f"largest free block {size(self.largest)} of {self.cached}"
        if self.largest >= self.block > self.reachable:
            return f"{largest} belongs to another stream or pool, whose live blocks hold its segment"
        return f"{largest}; live blocks hold the segments around it, so release them together, or set max_split_size_mb"


def too_large() -> OutOfMemoryError:
    return OutOfMemoryError("CUDA out of memory. Tried to allocate more than 1EB memory.")


def size(nbytes: int) -> str:
    """Format a number of bytes as bytes, KiB, MiB or GiB, with two decimals."""
    for unit, name in UNITS:
        if nbytes >= unit:
            return f"{nbytes / unit:.2f} {name}"
    return f"{nbytes} bytes"


def _process(pid: int, nbytes: int) -> str:
    if pid == os.getpid():
        return f"Including non-flambeau memory, this process has {size(nbytes)} memory in use."
    return f"Process {pid} has {size(nbytes)} memory in use."
