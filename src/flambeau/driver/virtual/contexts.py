"""Contexts of virtual GPUs: which devices were used, and parts of a device that streams are confined to."""

from __future__ import annotations

from typing import NamedTuple

from ...errors import AcceleratorError
from ..api import PartitionHandle, StreamHandle
from .base import Calls, next_handle
from .memory import INVALID_VALUE
from .queue import Queue

STEP = 8  # multiprocessors: parts of the modelled GPU are multiples of it


class Partition(NamedTuple):
    device: int
    multiprocessors: int


class ContextCalls(Calls):
    """The calls of the Driver that are about contexts."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self._partitions: dict[PartitionHandle, Partition] = {}
        self._partition_handles: dict[Partition, PartitionHandle] = {}

    def has_context(self, device: int) -> bool:
        self._check_index(device)
        return device in self._contexts

    def partition(self, device: int, multiprocessors: int) -> tuple[PartitionHandle, int]:
        with self._lock:
            self._call(device)
            there_are = self._engine.preset.multi_processor_count
            if not 1 <= multiprocessors <= there_are:
                raise AcceleratorError(
                    f"{multiprocessors} multiprocessors; device {device} has {there_are}",
                    error_code=INVALID_VALUE,
                    operator="partition",
                )
            part = Partition(device, min(-(-multiprocessors // STEP) * STEP, there_are))
            handle = self._partition_handles.get(part)
            if handle is None:
                handle = self._partition_handles[part] = PartitionHandle(next_handle())
                self._partitions[handle] = part
            return handle, part.multiprocessors

    def partition_stream(self, partition: PartitionHandle) -> StreamHandle:
        with self._lock:
            part = self._lookup(self._partitions, partition, "partition")
            self._call(part.device)
            queue = self._add_queue(part.device, 0, is_default=False)
            queue.share = part.multiprocessors / self._engine.preset.multi_processor_count
            return queue.handle

    def _add_queue(self, device: int, priority: int, is_default: bool) -> Queue:
        queue = Queue(StreamHandle(next_handle()), device, priority, is_default)
        self._streams[queue.handle] = queue
        self._engine.runner.add(queue)
        return queue
