"""Replay of a memory snapshot: its allocations and frees under other settings or on a device of another size.

- The allocations go to flambeau's caching allocator on a virtual GPU of its own, which computes nothing.
- Blocks from before the first event are allocated first, in the order of their addresses.
- A block is freed where the snapshot says that its free was complete.
- PyTorch's allocator merges a freed block with its neighbours at once, flambeau's later: a replay does as the recorded
  allocator did.
- Each private pool has an allocator of its own; all share the device's memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..config import Gpus
from ..core.pool import Block
from ..driver.api import StreamHandle
from ..errors import ConfigError, OutOfMemoryError
from ..memory.allocator import CachingAllocator
from ..memory.out_of_memory import size
from ..memory.settings import Settings, parse
from ..runtime.machine import Machine
from .memory_snapshot import Device, Event, Snapshot, before_events, peaks_of

ROOM = 1 << 43  # bytes of the device if no capacity is given


@dataclass(frozen=True)
class Replay:
    """The outcome of a replay.

    reserved, used: at the peak, in bytes;  retries: allocations that needed cached memory to be returned.
    failed: the event that ran out of memory, and its number; None if all fit.
    """

    settings: str
    device: int
    reserved: int
    used: int
    retries: int
    failed: Event | None = None
    failed_at: int = 0


class _Pools:
    """The allocators of one replay."""

    def __init__(self, settings: Settings, capacity: int, merges_at_once: bool) -> None:
        self.merges_at_once = merges_at_once
        self.machine = Machine(Gpus("virtual", 1, memory=capacity, races="real"))
        self.machine.start()
        self.settings = settings
        self.allocators: dict[tuple[int, int], CachingAllocator] = {}
        self.streams: dict[int, StreamHandle] = {}
        self.live: dict[int, tuple[CachingAllocator, Block]] = {}
        self.used = self.most_used = self.most_reserved = 0

    def allocate(self, address: int, nbytes: int, stream: int, pool: tuple[int, int]) -> None:
        allocator = self.allocators.get(pool)
        if allocator is None:
            machine = self.machine
            allocator = CachingAllocator(machine.driver, 0, machine.record_event, self.settings)
            self.allocators[pool] = allocator
        self.free(address)
        if self.merges_at_once:
            allocator.coalesce()
        block = allocator.allocate(max(nbytes, 1), self._stream(stream))
        self.live[address] = allocator, block
        self.used += block.nbytes
        self.most_used = max(self.most_used, self.used)
        self.most_reserved = max(self.most_reserved, sum(each.reserved_bytes for each in self.allocators.values()))

    def free(self, address: int) -> None:
        allocator, block = self.live.pop(address, (None, None))
        if allocator is not None and block is not None:
            self.used -= block.nbytes
            allocator.free(block)

    def _stream(self, number: int) -> StreamHandle:
        if number not in self.streams:
            device = self.machine.devices[0]
            is_default = number == 0
            self.streams[number] = (device.default_stream if is_default else device.stream_of_its_own()).handle
        return self.streams[number]


def replay(device: Device, settings: str = "", capacity: int | None = None) -> Replay:
    """Replay the events of a device.  settings: as PYTORCH_ALLOC_CONF.  Raises ConfigError for other settings."""
    parsed = parse(settings, "--replay")
    if parsed.backend not in ("", "native"):
        raise ConfigError(
            f"--replay: the {parsed.backend} backend is the driver's own, and cannot be replayed",
            hint="leave backend: out",
        )
    pools = _Pools(parsed, capacity or ROOM, device.merges_at_once)
    count = 0
    failed: Event | None = None
    try:
        for segment in before_events(device).segments():
            for block in segment.blocks:
                if block.state != "free":
                    failed = Event("alloc", block.address, block.nbytes, segment.stream, 0, block.stack, segment.pool)
                    pools.allocate(block.address, block.nbytes, segment.stream, segment.pool)
        for event in device.events:
            failed = event
            count += 1
            if event.action == "alloc":
                pools.allocate(event.address, event.nbytes, event.stream, event.pool)
            elif event.action == "free_completed":
                pools.free(event.address)
        failed = None
    except OutOfMemoryError:
        pass
    retries = sum(each.statistics()["num_alloc_retries"] for each in pools.allocators.values())
    return Replay(settings, device.index, pools.most_reserved, pools.most_used, retries, failed, count)


def compare(snapshot: Snapshot, settings: list[str], capacity: int | None = None) -> str:
    """A table of each device's peak, as recorded and under each of the settings."""
    where = "" if capacity is None else f" on a device of {size(capacity)}"
    lines = [f"Replay{where}", f"  {'GPU':<4} {'peak reserved':>13} {'peak live':>12} {'overhead':>9}  settings"]
    for device in snapshot.devices:
        if not device.events and not device.segments:
            continue
        recorded = peaks_of(device)
        lines.append(_row(device.index, recorded.reserved, recorded.used, "as recorded"))
        for text in settings:
            found = replay(device, text, capacity)
            lines.append(_row(device.index, found.reserved, found.used, text or "default"))
            if found.failed is not None:
                at = f"event {found.failed_at}" if found.failed_at else "before the first event"
                lines.append(
                    f"       out of memory at {at}: {size(found.failed.nbytes)} at {snapshot.shown(found.failed.stack)}"
                )
            elif found.retries:
                times = f"{found.retries} time{'s' * (found.retries != 1)}"
                lines.append(f"       cached memory had to be returned {times} to make room")
    return "\n".join(lines)


def _row(device: int, reserved: int, used: int, name: str) -> str:
    overhead = f"{(reserved - used) / used:.1%}" if used else "-"
    return f"  {device:<4} {size(reserved):>13} {size(used):>12} {overhead:>9}  {name}"
