"""Contexts: which devices this process uses, and parts of a device that streams are confined to.

A part is a green context.  It shares everything with the device's primary context but the multiprocessors, so kernels
that are loaded there are launched on its streams too.  Parts live as long as the driver: few sizes are possible.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, NamedTuple

from ...errors import AcceleratorError
from ..api import PartitionHandle, StreamHandle
from .devices import Devices
from .handles import Stream, Table
from .library import check

# cuda.h
STREAM_NON_BLOCKING = 1
GREEN_DEFAULT_STREAM = 1  # CU_GREEN_CTX_DEFAULT_STREAM, without which none can be made


class Partition(NamedTuple):
    """cu: the CUgreenCtx."""

    device: int
    multiprocessors: int
    cu: Any


class ContextCalls:
    """The calls of the Driver that are about contexts."""

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
        """Also a context that another library made."""
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
                f"{multiprocessors} multiprocessors are no part of device {device}", operator="partition"
            )
        facts: dict[str, Any] = {"device": device, "multiprocessors": multiprocessors}
        self._devices.use(device)
        kind = cu.CUdevResourceType.CU_DEV_RESOURCE_TYPE_SM
        every = check(cu.cuDeviceGetDevResource(of, kind), "cuDeviceGetDevResource", **facts)
        split = cu.cuDevSmResourceSplitByCount(1, every, 0, multiprocessors)
        parts, count, _ = check(split, "cuDevSmResourceSplitByCount", **facts)
        if not count:
            raise AcceleratorError(
                f"device {device} has fewer than {multiprocessors} multiprocessors to part", operator="partition"
            )
        part = parts[0]
        description = check(cu.cuDevResourceGenerateDesc([part], 1), "cuDevResourceGenerateDesc", **facts)
        made = check(cu.cuGreenCtxCreate(description, of, GREEN_DEFAULT_STREAM), "cuGreenCtxCreate", **facts)
        return Partition(device, int(part.sm.smCount), made)

    def partition_stream(self, partition: PartitionHandle) -> StreamHandle:
        of = self._partitions[partition]
        self._devices.use(of.device)
        made = self._cu.cuGreenCtxStreamCreate(of.cu, STREAM_NON_BLOCKING, 0)
        created = check(made, "cuGreenCtxStreamCreate", partition=partition, device=of.device)
        return self._add_stream(Stream(of.device, created, is_ours=True))
