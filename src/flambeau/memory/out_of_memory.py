"""Texts of out-of-memory errors: sizes and the state of the device's memory.

- The text has, in order: size requested, GPU, capacity, free, processes, limit, allocated, reserved but unallocated.
- The hint names the cause that follows from the numbers: the limit, live bytes, a segment's rounding, a capture, or
  fragmentation; then the setting that would have helped, freed blocks that wait for streams, and, if a history is
  recorded, the lines that hold the memory.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from .. import callers
from ..errors import OutOfMemoryError
from .settings import MIB, SMALLEST_OWN_SEGMENT

UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
TOO_LARGE_TO_TRY = 1 << 60  # bytes
LINES = 3  # most source lines that a hint names
RECORD = "torch.cuda.memory._record_memory_history(stacks='line') would name the lines that hold it"


class Holder(NamedTuple):
    """A line of the program, and the bytes and number of its live blocks.

    kept: free bytes in segments whose live blocks are all of this line.
    """

    site: str
    nbytes: int
    blocks: int
    kept: int


class Shortage(NamedTuple):
    """State of a device's memory when a request failed.  All sizes in bytes.

    block, segment:  the rounded request, and the driver segment that it needs.
    total, free:     as the driver reports them;  limit: the bytes that this process may reserve, or None.
    processes:       (process id, bytes) where known.
    allocated:       in blocks that have an owner;  active: these and the blocks that wait for events.
    reserved:        in all segments;  largest: the largest idle block of the shared pools, of any stream.
    reachable:       the largest idle block of the request's stream and pool.
    capturing:       whether a capture kept idle segments from being returned to the driver.
    waiting:         (stream, bytes) of freed blocks that wait for work on a stream.
    holders:         the lines that hold live blocks;  is_recorded: whether a history knows them.
    expands:         whether the request's pool has expandable segments.
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
    waiting: tuple[tuple[int, int], ...] = ()
    holders: tuple[Holder, ...] = ()
    is_recorded: bool = False
    expands: bool = False

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
        """Return the hint: the likely cause and a remedy, then freed blocks that wait, then lines that hold memory."""
        waits = [f"{size(nbytes)} are freed, and wait for work on stream {stream}" for stream, nbytes in self.waiting]
        return "; ".join([self._cause(), *waits, *self._lines()])

    def _cause(self) -> str:
        if self.limit is not None and self.limit - self.reserved < self.segment <= self.free:
            needed = (self.reserved + self.segment) / self.total
            return (
                f"the limit is the cause: {size(self.reserved)} of {size(self.limit)} are reserved, and the device has "
                f"{size(self.free)}; set_per_process_memory_fraction({min(needed + 0.005, 1.0):.2f}) would allow it"
            )
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
                f"and only {size(self.room)} can still be reserved{self._smaller_segment()}"
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

    def _smaller_segment(self) -> str:
        """Return the setting by which the request would have fitted, if there is one."""
        smallest = SMALLEST_OWN_SEGMENT // MIB + 1
        if self.block < SMALLEST_OWN_SEGMENT < self.segment and self.room >= smallest * MIB:
            return f"; PYTORCH_ALLOC_CONF=large_segment_size_mb:{self.room // MIB} would have helped"
        return ""

    def _lines(self) -> list[str]:
        if not self.is_recorded:
            return [RECORD] if self.active else []
        is_fragmented = self.missing <= 0 and not self.capturing and self.room < self.block
        key = _kept if is_fragmented and any(holder.kept for holder in self.holders) else _nbytes
        ranked = sorted(self.holders, key=lambda holder: (-key(holder), holder.site))[:LINES]
        return [
            f"{callers.shown_site(holder.site) or 'an unknown line'} holds {size(holder.nbytes)} in {holder.blocks} "
            f"block{'s' * (holder.blocks != 1)}"
            + (f" and keeps {size(holder.kept)} of free memory from being returned" if key is _kept else "")
            for holder in ranked
            if key(holder)
        ]

    def _fragments(self) -> str:
        largest = f"largest free block {size(self.largest)} of {self.cached}"
        if self.largest >= self.block > self.reachable:
            return f"{largest} belongs to another stream or pool, whose live blocks hold its segment"
        if self.expands:
            return f"{largest}; live blocks are in the same pages: release all live blocks of a page"
        return (
            f"{largest}; live blocks are in the same segments: release all live blocks of a segment, "
            "or set expandable_segments:True or max_split_size_mb"
        )


def _nbytes(holder: Holder) -> int:
    return holder.nbytes


def _kept(holder: Holder) -> int:
    return holder.kept


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
