"""What a device is, under the names that PyTorch's properties have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..driver.api import DeviceProperties

# The same on every GPU since compute capability 3.0.
THREADS_PER_BLOCK = 1024
SHARED_MEMORY_PER_BLOCK = 48 << 10  # bytes, without asking for more


@dataclass(frozen=True)
class Uuid:
    """A device's 16 bytes; as text, 36 characters."""

    bytes: bytes

    def __str__(self) -> str:
        digits = self.bytes.hex()
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


@dataclass(frozen=True)
class Properties:
    """One device.  Sizes in bytes."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    max_threads_per_multi_processor: int
    warp_size: int
    L2_cache_size: int
    uuid: Uuid
    max_threads_per_block: int = THREADS_PER_BLOCK
    shared_memory_per_block: int = SHARED_MEMORY_PER_BLOCK


def properties_of(found: DeviceProperties) -> Properties:
    """A driver's record of a device as a program sees it."""
    kept: dict[str, Any] = {name: value for name, value in vars(found).items() if name in Properties.__annotations__}
    kept["uuid"] = Uuid(bytes.fromhex(found.uuid.removeprefix("GPU-").replace("-", "")))
    return Properties(**kept, L2_cache_size=found.l2_cache_size)
