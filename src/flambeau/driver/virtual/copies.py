"""Copies and fills of virtual GPUs.

- Pinned host memory is read and written when the copy runs.
- Pageable host memory is read at the call; the host waits for a copy that writes it.
"""

from __future__ import annotations

from ... import host
from ...dtypes import uint8
from ...errors import AcceleratorError
from ...kernel import Access
from ..api import CopyKind
from .access import MemoryAccess
from .capture import CAPTURE_UNSUPPORTED, nothing
from .engine import Engine
from .faults import Faults
from .memory import INVALID_VALUE
from .queue import Queue, run_copy, run_copy_from_host, run_copy_to_host, run_fill

PEER_ACCESS_UNSUPPORTED = 217  # CUresult


def span(address: int, nbytes: int, mode: str, name: str) -> MemoryAccess:
    """Return the access to a contiguous range of bytes."""
    return MemoryAccess(Access(address, uint8, mode, (nbytes,), None), name)


class Copies:
    """The copy calls of one machine."""

    def __init__(self, engine: Engine, faults: Faults) -> None:
        self._engine = engine
        self._faults = faults

    def copy(self, queue: Queue, dst: int, src: int, nbytes: int, kind: CopyKind) -> None:
        name = f"copy {kind.value}"
        if nbytes < 0:
            raise AcceleratorError(f"{nbytes} bytes cannot be copied", error_code=INVALID_VALUE, operator=name)
        if nbytes == 0:
            return
        target, source = span(dst, nbytes, "w", name), span(src, nbytes, "r", name)
        if kind is CopyKind.HOST_TO_DEVICE:
            self._from_host(queue, target, source, name)
        elif kind is CopyKind.DEVICE_TO_HOST:
            self._to_host(queue, target, source, name)
        elif kind is CopyKind.DEVICE_TO_DEVICE:
            self._within(queue, target, source, name)
        else:
            self._between(queue, target, source, name)

    def _from_host(self, queue: Queue, target: MemoryAccess, source: MemoryAccess, name: str) -> None:
        engine, nbytes = self._engine, source.high - source.low
        card, copies = engine.card, (engine.copies_in[queue.device],)
        block = engine.memory.find(queue.device, target.low, target.high, name)
        pinned = engine.memory.pinned_block(source.low, source.high, name)
        duration = card.copy_ns("pinned_in", nbytes)
        if pinned is not None:
            blocks = (block, pinned)
            engine.submit(queue, name, run_copy, None, (target, source), blocks, duration, card.host.copy, copies)
            return
        self._check_pageable(queue, name)
        staged = host.bytes_at(source.low, nbytes).copy() if engine.computes else None
        staging = card.host.copy + card.copy_ns("pageable_in", nbytes)
        engine.submit(queue, name, run_copy_from_host, staged, (target,), (block,), duration, staging, copies)

    def _to_host(self, queue: Queue, target: MemoryAccess, source: MemoryAccess, name: str) -> None:
        engine, nbytes = self._engine, source.high - source.low
        card, copies = engine.card, (engine.copies_out[queue.device],)
        block = engine.memory.find(queue.device, source.low, source.high, name)
        pinned = engine.memory.pinned_block(target.low, target.high, name)
        if pinned is not None:
            blocks, duration = (pinned, block), card.copy_ns("pinned_out", nbytes)
            engine.submit(queue, name, run_copy, None, (target, source), blocks, duration, card.host.copy, copies)
            return
        self._check_pageable(queue, name)
        duration = card.copy_ns("pageable_out", nbytes)
        engine.submit(
            queue, name, run_copy_to_host, target.low, (source,), (block,), duration, card.host.copy, copies
        )
        copy = queue.last
        try:
            engine.wait_for_queue(queue)
        except BaseException:
            if copy is not None:
                copy.work = nothing  # the program may have freed the target by the time it runs
            raise

    def _check_pageable(self, queue: Queue, name: str) -> None:
        """Raise AcceleratorError for pageable memory on a capturing stream: it may be freed before a launch."""
        if queue.capture is not None:
            what = f"{name}: host memory that is not pinned cannot be copied"
            self._engine.captures.break_all([queue.capture], what, CAPTURE_UNSUPPORTED)

    def _within(self, queue: Queue, target: MemoryAccess, source: MemoryAccess, name: str) -> None:
        engine = self._engine
        blocks = [engine.memory.find(queue.device, access.low, access.high, name) for access in (target, source)]
        duration = engine.card.kernel_ns(2 * (source.high - source.low), 0)
        engine.submit(queue, name, run_copy, None, (target, source), blocks, duration, engine.card.host.copy)

    def _between(self, queue: Queue, target: MemoryAccess, source: MemoryAccess, name: str) -> None:
        engine = self._engine
        to, origin = self._device(target, name), self._device(source, name)
        if not self._faults.is_linked(to, origin):
            raise AcceleratorError(
                f"there is no link from device {origin} to device {to}",
                error_code=PEER_ACCESS_UNSUPPORTED,
                operator=name,
            )
        blocks = [
            engine.memory.find(to, target.low, target.high, name),
            engine.memory.find(origin, source.low, source.high, name),
        ]
        duration = engine.card.copy_ns("peer", source.high - source.low) * self._faults.slowdown(to, origin)
        copies = (engine.copies_out[origin], engine.copies_in[to]) if to != origin else ()
        engine.submit(queue, name, run_copy, None, (target, source), blocks, duration, engine.card.host.copy, copies)

    def _device(self, access: MemoryAccess, name: str) -> int:
        device = self._engine.memory.owner(access.low)
        if device is None or device >= len(self._engine.memory.devices):
            raise AcceleratorError(
                f"{access.low:#x} is not an address of a device", error_code=INVALID_VALUE, operator=name
            )
        self._engine.runner.check(device)
        return device

    def fill(self, queue: Queue, dst: int, value: int, nbytes: int) -> None:
        engine = self._engine
        if nbytes < 0 or not 0 <= value <= 255:
            raise AcceleratorError(
                f"cannot write value {value} to {nbytes} bytes: the value must be 0 to 255, and the size not negative",
                error_code=INVALID_VALUE,
                operator="fill",
            )
        if nbytes == 0:
            return
        target = span(dst, nbytes, "w", "fill")
        block = engine.memory.find(queue.device, target.low, target.high, "fill")
        duration = engine.card.kernel_ns(nbytes, 0)
        engine.submit(queue, "fill", run_fill, value, (target,), (block,), duration, engine.card.host.copy)
