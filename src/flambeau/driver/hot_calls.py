"""HotCalls: the driver's frequent calls, which compiled callers make without a Python call in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..kernel import Buffer, Grid
from ..library_operation import unpack_addresses
from .api import Address, CopyKind, EventHandle, KernelHandle, PlanHandle, StreamHandle

if TYPE_CHECKING:
    from .api import Driver


class HotCalls:
    """The driver's methods of the same names; operands' addresses come packed (`library_operation.unpack_addresses`).

    A driver with compiled ones derives from this.
    """

    __slots__ = ("_driver",)

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def launch(self, kernel: KernelHandle, grid: Grid, arguments: Buffer, stream: StreamHandle) -> None:
        self._driver.launch(kernel, grid, arguments, stream)

    def event_record(self, event: EventHandle, stream: StreamHandle, external: bool = False) -> None:
        self._driver.event_record(event, stream, external)

    def stream_wait_event(self, stream: StreamHandle, event: EventHandle, external: bool = False) -> None:
        self._driver.stream_wait_event(stream, event, external)

    def copy(self, dst: int, src: int, nbytes: int, kind: CopyKind, stream: StreamHandle) -> None:
        self._driver.copy(Address(dst), Address(src), nbytes, kind, stream)

    def library_run(self, plan: PlanHandle, packed: bytearray, workspace: int, stream: StreamHandle) -> None:
        self._driver.library_run(plan, unpack_addresses(packed), Address(workspace), stream)
