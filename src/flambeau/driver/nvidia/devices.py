"""Devices and contexts: the primary context of each device, peer access and green contexts; tables of handles.

- A device's primary context, which all libraries of the process share, is retained when the device is first used.
- The current context is queried from the driver each time and set if it differs, never cached: other libraries
  change it.  A call restores it.  The one exception is a thread without a current context, where the context of
  device 0 may stay current: without a context the CUDA runtime uses device 0 as well.
- A partition is a green context.  It shares everything with the primary context except the multiprocessors, so kernels
  loaded there run on its streams too.  Partitions live as long as the driver: few sizes are possible.
- Addresses identify their device, so copies between devices need no peer access.
- Handles come from one counter of the process and are never reused, so a destroyed one is recognized.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from threading import Lock
from typing import Any, NamedTuple, TypeVar

from ...core.nvidia import Stream
from ...errors import AcceleratorError
from ..api import DeviceProperties, PartitionHandle, StreamHandle
from .library import INVALID_DEVICE, INVALID_HANDLE, PEER_ACCESS_ALREADY_ENABLED, check

Entry = TypeVar("Entry")
_next = itertools.count(1).__next__


class Table(dict[int, Entry]):
    """A table of handles of one kind.  Thread-safe: each method is one dict operation."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._kind = kind

    def add(self, entry: Entry) -> int:
        handle = _next()
        self[handle] = entry
        return handle

    def remove(self, handle: int) -> Entry:
        """Remove and return an entry.  Raises AcceleratorError if the handle is unknown or was removed."""
        entry = self.pop(handle, None)
        return self.__missing__(handle) if entry is None else entry

    def __missing__(self, handle: int) -> Entry:
        raise AcceleratorError(
            f"{self._kind} {handle} does not exist: it was never created, or was destroyed", error_code=INVALID_HANDLE
        )


NAME_BYTES = 256
NONE = 0  # the driver's handle for no current context
STAYS = nullcontext()  # the current context needs no restoring


class Context(NamedTuple):
    """A device's primary context: as an object of cuda.bindings, and as an integer."""

    cu: Any
    raw: int


class _Restoring:
    """Makes a context, or none, current again at the end of a `with` block."""

    __slots__ = ("_cu", "_former")

    def __init__(self, cu: Any, former: int) -> None:
        self._cu = cu
        self._former = former

    def __enter__(self) -> None:
        """Do nothing: the other context is current already."""

    def __exit__(self, *_: object) -> None:
        check(self._cu.cuCtxSetCurrent(self._former), "cuCtxSetCurrent", context=hex(self._former))


class Devices:
    """The devices visible to the driver.  Thread-safe."""

    def __init__(self, cu: Any, count: int) -> None:
        self._cu = cu
        self._handles = [check(cu.cuDeviceGet(device), "cuDeviceGet", device=device) for device in range(count)]
        self.contexts: dict[int, Context] = {}
        self.current: Callable[[], int] = self._current
        self.flush: Callable[[], None] = _no_calls_are_put_off

    @property
    def count(self) -> int:
        return len(self._handles)

    def handle(self, device: int) -> Any:
        """Return the CUdevice.  Raises AcceleratorError."""
        if not 0 <= device < self.count:
            raise AcceleratorError(
                f"there is no device {device}; {self.count} NVIDIA devices exist", error_code=INVALID_DEVICE
            )
        return self._handles[device]

    def attribute(self, device: int, name: str) -> int:
        attribute = getattr(self._cu.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        result = self._cu.cuDeviceGetAttribute(attribute, self.handle(device))
        return int(check(result, "cuDeviceGetAttribute", device=device, attribute=name))

    def arch(self, device: int) -> str:
        """Return the architecture that kernels are compiled for, such as "sm_90"."""
        major, minor = (self.attribute(device, f"COMPUTE_CAPABILITY_{part}") for part in ("MAJOR", "MINOR"))
        return f"sm_{major}{minor}"

    def properties(self, device: int) -> DeviceProperties:
        cu, of = self._cu, self.handle(device)
        name = check(cu.cuDeviceGetName(NAME_BYTES, of), "cuDeviceGetName", device=device)
        return DeviceProperties(
            name=name.split(b"\0", 1)[0].decode(),
            major=self.attribute(device, "COMPUTE_CAPABILITY_MAJOR"),
            minor=self.attribute(device, "COMPUTE_CAPABILITY_MINOR"),
            total_memory=int(check(cu.cuDeviceTotalMem(of), "cuDeviceTotalMem", device=device)),
            multi_processor_count=self.attribute(device, "MULTIPROCESSOR_COUNT"),
            max_threads_per_multi_processor=self.attribute(device, "MAX_THREADS_PER_MULTIPROCESSOR"),
            warp_size=self.attribute(device, "WARP_SIZE"),
            l2_cache_size=self.attribute(device, "L2_CACHE_SIZE"),
            uuid=self.uuid(device),
        )

    def uuid(self, device: int) -> str:
        """Return the UUID of a device, as `GPU-…` text of 40 characters."""
        result = self._cu.cuDeviceGetUuid(self.handle(device))
        return _uuid_text(check(result, "cuDeviceGetUuid", device=device).bytes)

    def context(self, device: int) -> Context:
        context = self.contexts.get(device)
        return context if context is not None else self._retain(device)

    def use(self, device: int) -> AbstractContextManager[None]:
        """Make the device's primary context current in this thread, until the end of the `with` block.

        Deferred driver calls are made first (core/submission.h).
        """
        self.flush()
        return self.enter(device)

    def enter(self, device: int) -> AbstractContextManager[None]:
        """Like `use`, without making deferred calls: for a call that need not follow them."""
        context = self.contexts.get(device) or self._retain(device)
        former = self.current()
        if former == context.raw:
            return STAYS
        check(self._cu.cuCtxSetCurrent(context.cu), "cuCtxSetCurrent", device=device)
        return STAYS if former == NONE and device == 0 else _Restoring(self._cu, former)

    def use_any(self) -> AbstractContextManager[None]:
        """Make some context current, for calls on host memory.  Creates one only if the process has none."""
        self.flush()
        return STAYS if self.current() else self.enter(next(iter(self.contexts), 0))

    def _current(self) -> int:
        return int(check(self._cu.cuCtxGetCurrent(), "cuCtxGetCurrent"))

    def _retain(self, device: int) -> Context:
        retained = check(
            self._cu.cuDevicePrimaryCtxRetain(self.handle(device)), "cuDevicePrimaryCtxRetain", device=device
        )
        return self.contexts.setdefault(device, Context(retained, int(retained)))


def _no_calls_are_put_off() -> None:
    """Do nothing: without compiled calls, `flush` has no deferred calls to make."""


def _uuid_text(raw: bytes) -> str:
    digits = raw.hex()
    return f"GPU-{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def can_access_peer(cu: Any, devices: Devices, device: int, peer: int) -> bool:
    """Return whether kernels and copies of `device` can use the memory of `peer` directly; never its own."""
    here, there = devices.handle(device), devices.handle(peer)
    if device == peer:
        return False
    return bool(check(cu.cuDeviceCanAccessPeer(here, there), "cuDeviceCanAccessPeer", device=device, peer=peer))


def enable_peer(cu: Any, devices: Devices, device: int, peer: int) -> None:
    """Let `device` use the memory of `peer`."""
    other = devices.context(peer)
    with devices.use(device):
        result = cu.cuCtxEnablePeerAccess(other.cu, 0)
        if result[0] != PEER_ACCESS_ALREADY_ENABLED:
            check(result, "cuCtxEnablePeerAccess", device=device, peer=peer)


# cuda.h
STREAM_NON_BLOCKING = 1
GREEN_DEFAULT_STREAM = 1  # CU_GREEN_CTX_DEFAULT_STREAM, which is required


class Partition(NamedTuple):
    """A green context on some of a device's multiprocessors.  cu: the CUgreenCtx."""

    device: int
    multiprocessors: int
    cu: Any


class ContextCalls:
    """Context and partition calls of the Driver."""

    _cu: Any
    _devices: Devices
    _lock: Lock
    _streams: Table[Stream]
    _stream_by_raw: dict[tuple[int, int], StreamHandle]

    def __init__(self) -> None:
        super().__init__()
        self._partitions: Table[Partition] = Table("partition")
        self._partition_handles: dict[tuple[int, int], PartitionHandle] = {}

    def _add_stream(self, stream: Stream) -> StreamHandle:
        handle = StreamHandle(self._streams.add(stream))
        self._stream_by_raw[stream.device, stream.raw] = handle
        return handle

    def has_context(self, device: int) -> bool:
        """Return whether a device has a context, also one created by another library."""
        result = self._cu.cuDevicePrimaryCtxGetState(self._devices.handle(device))
        _, is_active = check(result, "cuDevicePrimaryCtxGetState", device=device)
        return bool(is_active)

    def partition(self, device: int, multiprocessors: int) -> tuple[PartitionHandle, int]:
        with self._lock:
            handle = self._partition_handles.get((device, multiprocessors))
            if handle is None:
                handle = PartitionHandle(self._partitions.add(self._make_partition(device, multiprocessors)))
                self._partition_handles[device, multiprocessors] = handle
        return handle, self._partitions[handle].multiprocessors

    def _make_partition(self, device: int, multiprocessors: int) -> Partition:
        cu, of = self._cu, self._devices.handle(device)
        if multiprocessors < 1:
            raise AcceleratorError(
                f"device {device} cannot be partitioned into {multiprocessors} multiprocessors", operator="partition"
            )
        facts: dict[str, Any] = {"device": device, "multiprocessors": multiprocessors}
        with self._devices.use(device):
            resource_type = cu.CUdevResourceType.CU_DEV_RESOURCE_TYPE_SM
            every = check(cu.cuDeviceGetDevResource(of, resource_type), "cuDeviceGetDevResource", **facts)
            split = cu.cuDevSmResourceSplitByCount(1, every, 0, multiprocessors)
            parts, count, _ = check(split, "cuDevSmResourceSplitByCount", **facts)
            if not count:
                raise AcceleratorError(
                    f"device {device} has fewer than {multiprocessors} multiprocessors to part", operator="partition"
                )
            part = parts[0]
            description = check(cu.cuDevResourceGenerateDesc([part], 1), "cuDevResourceGenerateDesc", **facts)
            context = check(cu.cuGreenCtxCreate(description, of, GREEN_DEFAULT_STREAM), "cuGreenCtxCreate", **facts)
            return Partition(device, int(part.sm.smCount), context)

    def partition_stream(self, partition: PartitionHandle) -> StreamHandle:
        of = self._partitions[partition]
        with self._devices.use(of.device):
            result = self._cu.cuGreenCtxStreamCreate(of.cu, STREAM_NON_BLOCKING, 0)
            created = check(result, "cuGreenCtxStreamCreate", partition=partition, device=of.device)
            return self._add_stream(Stream(of.device, created, is_ours=True))
