"""Green contexts: streams confined to a subset of a device's multiprocessors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core import thread
from ..driver.api import PartitionHandle
from ..errors import AcceleratorError, ArgumentTypeError
from . import device as devices
from .stream import STREAMS_PER_POOL, Stream

if TYPE_CHECKING:
    from .machine import Machine

INVALID_VALUE = 1  # CUresult
SIZE_HINT = "pass 1 to cuda.get_device_properties().multi_processor_count"


class GreenContext:
    """A subset of a device's multiprocessors, to which the work on the context's streams is limited.

    `GreenContext.create(num_sms=16)` makes one.  Contexts of equal size have the same multiprocessors; a larger context
    includes those of a smaller one.
    num_sms: the number of the context's multiprocessors.
    Example:
        >>> context = torch.cuda.GreenContext.create(num_sms=16)
        >>> context.num_sms
        16
    """

    def __init__(self, machine: Machine, index: int, partition: PartitionHandle, num_sms: int) -> None:
        self._machine = machine
        self._index = index
        self._partition = partition
        self._streams: list[Stream] = []
        self._turn = 0
        self.num_sms = num_sms

    @staticmethod
    def create(*, num_sms: int, device_id: int | None = None) -> GreenContext:
        """Return a context with at least `num_sms` multiprocessors; the hardware's granularity rounds the number up.

        device_id: None for the current device.
        Raises: ArgumentTypeError if num_sms is not an int; AcceleratorError if it is below 1, or the device has fewer;
                DeviceIndexError if there is no such device.
        Example:
            >>> torch.cuda.GreenContext.create(num_sms=16).num_sms
            16
        """
        if not devices.is_integer(num_sms):
            raise ArgumentTypeError(
                f"num_sms must be an int, got {num_sms!r}", hint=SIZE_HINT, operator="GreenContext.create"
            )
        index = devices.cuda_index(device_id)
        machine = thread.machine()
        available = machine.properties(index).multi_processor_count
        if not 1 <= num_sms <= available:
            raise AcceleratorError(
                f"{num_sms} multiprocessors were requested, cuda:{index} has {available}",
                hint=SIZE_HINT,
                error_code=INVALID_VALUE,
                operator="GreenContext.create",
            )
        partition, granted = machine.devices[index].driver.partition(index, int(num_sms))
        with machine.lock:
            context = machine.green_contexts.get(partition)
            if context is None:
                context = machine.green_contexts[partition] = GreenContext(machine, index, partition, granted)
            return context

    def Stream(self) -> Stream:  # noqa: N802  (the field's name for it)
        """Return the next stream of the context's pool, which hands out 32 streams round robin.

        Example:
            >>> side = torch.cuda.GreenContext.create(num_sms=16).Stream()
            >>> with torch.cuda.stream(side):
            ...     x = torch.ones(2, device="cuda")
            >>> side.synchronize()
        """
        with self._machine.lock:
            turn, self._turn = self._turn, self._turn + 1
            if turn < STREAMS_PER_POOL:
                handle = self._machine.driver.partition_stream(self._partition)
                self._streams.append(Stream.adopt(self._machine, self._index, handle))
            stream = self._streams[turn % STREAMS_PER_POOL]
            stream.handed_out += 1
            return stream
