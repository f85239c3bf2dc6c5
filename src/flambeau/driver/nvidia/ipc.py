"""Memory and events of NVIDIA GPUs that several processes use.

- A handle is a fixed struct: kind, the exporting process (its pid, and a random number), the device's UUID and the 64
  bytes that the driver gave.  All but the last is checked here; the driver checks those.
- The driver opens an allocation as a whole, and counts: the same handle gives the same address until the last close.
- An exporter must not free what others have open, nor destroy an event that others still have to wait for.
"""

from __future__ import annotations

import ctypes
import os
import struct
from typing import TYPE_CHECKING, Any

from ... import host
from ...errors import AcceleratorError, ArgumentError, ProcessGoneError
from ..api import Address, EventHandle, StreamHandle
from .handles import Event, Table
from .library import check

if TYPE_CHECKING:
    from .devices import Devices

MEMORY, EVENT = b"flmc-mem", b"flmc-evt"
CU_HANDLE_BYTES = 64  # CU_IPC_HANDLE_SIZE
LAZY_ENABLE_PEER_ACCESS = 1  # CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, the only flag there is
INVALID_VALUE = 1  # CUresult
_HANDLE = struct.Struct(f"<8sI8s40s{CU_HANDLE_BYTES}s")
_PROCESS = os.urandom(8)  # processes of different containers may have equal pids


class IpcCalls:
    """The calls of the Driver Protocol that concern other processes."""

    _cu: Any
    _devices: Devices
    _events: Table[Event]

    if TYPE_CHECKING:

        def stream_synchronize(self, stream: StreamHandle) -> None: ...

    def ipc_export(self, device: int, address: Address) -> bytes:
        self._devices.use(device)
        handle = check(self._cu.cuIpcGetMemHandle(address), "cuIpcGetMemHandle", device=device, address=hex(address))
        return self._packed(MEMORY, device, handle)

    def ipc_open(self, device: int, handle: bytes) -> Address:
        raw = self._unpacked("ipc_open", MEMORY, device, handle, self._cu.CUipcMemHandle)
        self._devices.use(device)
        result = self._cu.cuIpcOpenMemHandle(raw, LAZY_ENABLE_PEER_ACCESS)
        return Address(int(check(result, "cuIpcOpenMemHandle", device=device, exporter=_exporter(handle))))

    def ipc_close(self, device: int, address: Address) -> None:
        self._devices.use(device)
        check(self._cu.cuIpcCloseMemHandle(address), "cuIpcCloseMemHandle", device=device, address=hex(address))

    def block_shared(self, device: int, address: Address, nbytes: int, stream: StreamHandle) -> None:
        """Nothing: an interprocess event recorded on the stream orders the work of other processes."""

    def ipc_flush(self, stream: StreamHandle) -> None:
        self.stream_synchronize(stream)

    def event_ipc_export(self, event: EventHandle) -> bytes:
        of = self._events[event]
        if not of.interprocess:
            raise AcceleratorError(
                "the event was made without interprocess=True", error_code=INVALID_VALUE, operator="event_ipc_export"
            )
        self._devices.use(of.device)
        handle = check(self._cu.cuIpcGetEventHandle(of.cu), "cuIpcGetEventHandle", event=event, device=of.device)
        return self._packed(EVENT, of.device, handle)

    def event_ipc_open(self, device: int, handle: bytes) -> EventHandle:
        raw = self._unpacked("event_ipc_open", EVENT, device, handle, self._cu.CUipcEventHandle)
        exporter = _exporter(handle)
        if not host.is_process_alive(exporter):  # the driver would open it, and nobody would ever record it
            raise ProcessGoneError(f"process {exporter}, which made the event, has ended", operator="event_ipc_open")
        self._devices.use(device)
        result = self._cu.cuIpcOpenEventHandle(raw)
        opened = check(result, "cuIpcOpenEventHandle", device=device, exporter=exporter)
        return EventHandle(self._events.add(Event(device, opened, timing=False)))

    def _packed(self, kind: bytes, device: int, handle: Any) -> bytes:
        raw = ctypes.string_at(int(handle.getPtr()), CU_HANDLE_BYTES)
        return _HANDLE.pack(kind, os.getpid(), _PROCESS, self._devices.uuid(device).encode(), raw)

    def _unpacked(self, name: str, kind: bytes, device: int, handle: bytes, make: Any) -> Any:
        """The driver's struct.  Raises ArgumentError for what this driver did not export, or exported right here."""
        if not isinstance(handle, bytes) or len(handle) != _HANDLE.size or not handle.startswith(kind):
            raise ArgumentError(
                f"this is not a handle of an NVIDIA GPU's {'memory' if kind == MEMORY else 'event'}: "
                f"{handle[:16]!r}, {len(handle)} bytes",
                hint="handles of NVIDIA GPUs and of virtual ones cannot be exchanged",
                operator=name,
            )
        _, _, process, uuid, raw = _HANDLE.unpack(handle)
        if process == _PROCESS:
            raise ArgumentError(
                "the handle was exported by this very process", hint="use what it was made from", operator=name
            )
        there, here = uuid.rstrip(b"\0").decode("ascii", "replace"), self._devices.uuid(device)
        if there != here:
            raise ArgumentError(
                f"the handle is of device {there}, and was opened on device {device}, {here}", operator=name
            )
        made = make()
        ctypes.memmove(int(made.getPtr()), raw, CU_HANDLE_BYTES)
        return made


def _exporter(handle: bytes) -> int:
    return int(_HANDLE.unpack(handle)[1])
