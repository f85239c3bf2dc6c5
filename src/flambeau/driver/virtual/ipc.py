"""IPC of virtual GPUs: memory and events shared between processes.

- A handle is a fixed struct: kind, the exporting process's endpoint, its machine and a number.  A process that opens
  one requests the file with the bytes from the exporter, through a private socket, and checks it before mapping it.
- An imported segment is one live block at an address beyond its device's own memory.  It uses none of its capacity.
- Work of two processes is ordered by running it in that order: recording an interprocess event or sharing a block runs
  the stream up to that point.  An opened event is done.  Modelled time does not cross processes.
- Sharing a block reads it on its stream, so sharing it too early is a race like any other: RaceError under
  races="error", and poison in the unordered bytes under races="poison".
- Races between work of two processes are not found.
- After an exporter has ended, a use of its memory raises AccessError.
"""

from __future__ import annotations

import itertools
import mmap
import os
import struct
import weakref
from typing import TYPE_CHECKING

from ... import channel
from ...channel import Answer, Connection, Peer
from ...config import VALUES_HINT, Gpus
from ...errors import AcceleratorError, ArgumentError, NotSupportedError, ProcessGoneError
from ..api import Address, EventHandle, StreamHandle
from .base import Calls
from .copies import span
from .memory import INVALID_VALUE, Block, Segment, device_of
from .races import unfinished
from .schedule import Schedule

if TYPE_CHECKING:
    from ...core.locks import ReentrantLock
    from .engine import Engine
    from .events import Event
    from .queue import Queue
    from .submission import Command

MEMORY, EVENT = b"flmb-mem", b"flmb-evt"
_HANDLE = struct.Struct(f"<8s{channel.NAME_BYTES}s{channel.SERVICE_BYTES}sQ")
_REQUEST = struct.Struct("<8sQ")
_SEGMENT = struct.Struct("<IQQ")  # device, offset in the file and size, in bytes
_NOTHING: Answer = (b"", ())


class Import:
    """Another process's segment, opened `count` times here."""

    __slots__ = ("__weakref__", "block", "connection", "count", "handle")

    def __init__(self, handle: bytes, connection: Connection, block: Block) -> None:
        self.handle = handle
        self.connection = connection
        self.block = block
        self.count = 0


class Ipc:
    """IPC state of one machine: exported and imported memory and events."""

    def __init__(self, engine: Engine, lock: ReentrantLock, events: dict[EventHandle, Event]) -> None:
        self._engine = engine
        self._lock = lock
        self._events = events
        self._service = b""
        self._numbers = itertools.count(1)
        self._exports: dict[int, tuple[int, Segment]] = {}
        self._imports: dict[tuple[int, bytes], Import] = {}
        self._imports_at: dict[int, Import] = {}

    # exporting
    def export(self, device: int, segment: Segment) -> bytes:
        """Export a segment; return its handle.  The caller holds the lock.

        Raises: NotSupportedError on a machine that computes no values.
        """
        if not self._engine.computes:
            raise NotSupportedError(
                f"memory of virtual device {device} cannot be shared with another process: its values are not computed",
                hint=VALUES_HINT,
                operator="ipc_export",
            )
        memory = self._engine.memory.devices[device]
        for number, (_, known) in self._exports.items():
            if known is segment:
                return self._handle(MEMORY, number)
        self._exports = {n: export for n, export in self._exports.items() if self._is_there(*export)}
        number = next(self._numbers)
        self._exports[number] = device, segment
        memory.space.exported.add(segment.low, segment.high)
        for block in memory.live_in(segment.low, segment.high):
            self._engine.run_users([block])
            memory.space.materialise(block.low, block.high)
        return self._handle(MEMORY, number)

    def export_event(self, event: EventHandle) -> bytes:
        return self._handle(EVENT, event)

    def _handle(self, kind: bytes, number: int) -> bytes:
        endpoint = channel.endpoint()
        self._service = self._service or endpoint.serve(self)
        return _HANDLE.pack(kind, endpoint.name, self._service, number)

    def _is_there(self, device: int, segment: Segment) -> bool:
        return self._engine.memory.devices[device].is_there(segment)

    def share(self, queue: Queue, low: int, high: int) -> None:
        """Queue a read of the shared block, and run the queue's work.  The caller holds the lock."""
        engine = self._engine
        access = span(low, high - low, "r", "block_shared")
        block = engine.memory.find(queue.device, low, high, "block_shared")
        engine.submit(queue, "block_shared", run_share, None, (access,), (block,), 0, engine.card.host.call)
        shared = queue.last
        assert shared is not None
        if shared.poisoned_reads:  # racing commands run first, so that the poison stays
            for command in unfinished([block]):
                if command is not shared:
                    engine.runner.run_until(command)
        engine.publish(queue)

    # answers to other processes, in the channel's thread: only reads that are atomic under the GIL
    def asked(self, peer: Peer, request: bytes) -> Answer:
        if len(request) != _REQUEST.size:
            raise ArgumentError(f"a request of {len(request)} bytes", operator="ipc_open")
        kind, number = _REQUEST.unpack(request)
        if kind == EVENT and EventHandle(number) in self._events:
            return _NOTHING
        if kind == MEMORY and number in self._exports:
            device, segment = self._exports[number]
            space = self._engine.memory.devices[device].space
            if self._is_there(device, segment):
                description = _SEGMENT.pack(device, segment.low - space.base, segment.high - segment.low)
                return description, (os.dup(space.file),)
        raise ProcessGoneError(
            "the exporting process has destroyed the event"
            if kind == EVENT
            else "the exporting process has freed the memory"
        )

    def lost(self, peer: Peer) -> None:
        """Do nothing: the end of an importer has no effect on exports."""

    # importing
    def ask(self, handle: bytes, kind: bytes) -> tuple[Connection, bytes, list[int]]:
        """Ask the exporter about a handle.  The lock must not be held: the exporter may be asking this process."""
        what = "ipc_open" if kind == MEMORY else "event_ipc_open"
        if not isinstance(handle, bytes) or len(handle) != _HANDLE.size or not handle.startswith(kind):
            raise ArgumentError(
                f"this is not a handle of a virtual GPU's {'memory' if kind == MEMORY else 'event'}: "
                f"{handle[:16]!r}, {len(handle)} bytes",
                hint="handles of NVIDIA GPUs and of virtual ones cannot be exchanged",
                operator=what,
            )
        _, name, service, number = _HANDLE.unpack(handle)
        name = name.rstrip(b"\0")
        if name == channel.endpoint().name:
            raise ArgumentError(
                "the handle was exported by this process", hint="use the original object", operator=what
            )
        connection = channel.endpoint().connect(name)
        return connection, *connection.ask(service, _REQUEST.pack(kind, number))

    def known(self, device: int, handle: bytes) -> Import | None:
        """Return the import of a handle, None if it is not open here.  The caller holds the lock."""
        return self._imports.get((device, handle))

    def map_import(self, device: int, handle: bytes, connection: Connection, answer: bytes, files: list[int]) -> Import:
        """Map the exporter's memory.  The caller holds the lock."""
        if len(answer) != _SEGMENT.size or len(files) != 1:
            raise ArgumentError(
                f"process {connection.pid} sent {len(answer)} bytes and {len(files)} files", operator="ipc_open"
            )
        of, offset, nbytes = _SEGMENT.unpack(answer)
        status = os.fstat(files[0])
        if status.st_uid != os.geteuid() or offset + nbytes > status.st_size or nbytes == 0:
            raise ArgumentError(
                f"process {connection.pid} sent a file of user {status.st_uid} with {status.st_size} bytes, "
                f"for {nbytes} bytes at {offset}",
                operator="ipc_open",
            )
        if of != device:
            raise ArgumentError(f"the memory is on device {of}, but was opened on device {device}", operator="ipc_open")
        length = -(-nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
        buffer = mmap.mmap(files[0], min(length, status.st_size - offset), offset=offset)
        imported = Import(handle, connection, self._engine.memory.devices[device].map_import(nbytes, buffer))
        self._imports[device, handle] = self._imports_at[imported.block.low] = imported
        connection.on_lost.append(weakref.WeakMethod(self.exporter_lost))
        if connection.is_lost:  # it was lost after the answer
            self.exporter_lost()
        return imported

    def close(self, device: int, address: Address) -> None:
        """Undo one opening of an import; the last one unmaps it.  The caller holds the lock."""
        imported = self._imports_at.get(address)
        if imported is None or device_of(address) != device:
            raise AcceleratorError(
                f"device {device} has no imported memory at {address:#x}",
                error_code=INVALID_VALUE,
                operator="ipc_close",
            )
        imported.count -= 1
        if imported.count == 0:
            self._engine.run_users([imported.block])
            self._engine.memory.devices[device].unmap_import(imported.block)
            self._imports.pop((device, imported.handle), None)
            del self._imports_at[address]

    def exporter_lost(self) -> None:
        """Invalidate the imports from processes that have ended."""
        with self._lock:
            for (device, _), imported in list(self._imports.items()):
                if imported.connection.is_lost:
                    fate = f"belonged to process {imported.connection.pid}, which has ended"
                    self._engine.memory.devices[device].invalidate(imported.block, fate)
                    del self._imports[device, imported.handle]


class IpcCalls(Calls):
    """The IPC calls of the Driver."""

    if TYPE_CHECKING:

        def event_create(self, device: int, timing: bool, blocking: bool, interprocess: bool) -> EventHandle: ...

    def __init__(self, choice: Gpus, schedule: Schedule | None = None) -> None:
        super().__init__(choice, schedule)
        self._ipc = Ipc(self._engine, self._lock, self._events)

    def ipc_export(self, device: int, address: Address) -> bytes:
        """Export an allocation, after the work on its blocks has run."""
        with self._lock:
            self._check(device)
            return self._ipc.export(device, self._engine.memory.devices[device].segment(address, "ipc_export"))

    def ipc_open(self, device: int, handle: bytes) -> Address:
        self._check(device)
        connection, answer, files = self._ipc.ask(handle, MEMORY)
        try:
            with self._lock:
                self._captures.check_unsafe("ipc_open")
                imported = self._ipc.known(device, handle)
                if imported is None:
                    imported = self._ipc.map_import(device, handle, connection, answer, files)
                imported.count += 1
                return Address(imported.block.low)
        finally:
            for file in files:
                os.close(file)

    def ipc_close(self, device: int, address: Address) -> None:
        with self._lock:
            self._captures.check_unsafe("ipc_close")
            self._ipc.close(device, address)

    def block_shared(self, device: int, address: Address, nbytes: int, stream: StreamHandle) -> None:
        with self._lock:
            queue = self._queue(stream)
            if queue.capture is not None:
                self._captures.check_stream(queue, "block_shared")
            self._ipc.share(queue, address, address + nbytes)

    def ipc_flush(self, stream: StreamHandle) -> None:
        """Run the stream.  This orders nothing in this process and costs no modelled time."""
        with self._lock:
            queue = self._queue(stream)
            self._captures.check_stream(queue, "ipc_flush")
            self._engine.publish(queue)

    def event_ipc_export(self, event: EventHandle) -> bytes:
        with self._lock:
            if not self._event(event).interprocess:
                raise AcceleratorError(
                    "the event was made without interprocess=True",
                    error_code=INVALID_VALUE,
                    operator="event_ipc_export",
                )
            return self._ipc.export_event(event)

    def event_ipc_open(self, device: int, handle: bytes) -> EventHandle:
        self._ipc.ask(handle, EVENT)
        return self.event_create(device, False, False, True)


def run_share(command: Command) -> None:
    """Run the work of `share`: poison the bytes of unordered writes.  Accesses: the block."""
    (access,), (block,) = command.accesses, command.blocks
    for overlap in command.poisoned_reads or ():
        overlap.clipped(access.low, access.high).poison(block.space)
    block.space.materialise(access.low, access.high)
