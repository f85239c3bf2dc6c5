"""What a warm call reads of a machine and of a device: the part of them that is compiled."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from ..driver.api import Driver
from ..memory.caching import CachingAllocator

if TYPE_CHECKING:
    from .stream import Stream

_serials = itertools.count(1)


class DeviceFacts:
    """Of an Accelerator.  plans: what dispatch decided once."""

    allocator: CachingAllocator
    default_stream: Stream
    plans: dict[Any, Any]

    __slots__ = ("allocator", "default_stream", "plans")


class MachineFacts:
    """Of a Machine.

    serial: its number, which no other of this process has.  devices: its Accelerators, once it has started, and
    is_started is True.
    cpu_plans: as `plans`, for the CPU.  capture: the CUDAGraph that is being captured.
    """

    serial: int
    is_started: bool
    devices: Any
    cpu_plans: dict[Any, Any]
    driver: Driver
    launch_blocking: bool
    capture: Any

    __slots__ = ("capture", "cpu_plans", "devices", "driver", "is_started", "launch_blocking", "serial")

    def __init__(self) -> None:
        self.serial = next(_serials)
        self.is_started = False
        self.devices = []
        self.cpu_plans = {}
        self.launch_blocking = False
        self.capture = None
