"""CUDA IPC: sharing device memory between processes by handle, without copies.

Transfers (`Exchange`):

- A message is a fixed struct: the address of the sender and the number of a handle.  The receiver asks the sender where
  the storage lies, and then its owner if that is a third process.  It opens the whole segment, once per process.
- Every transfer is ordered: the sender records an interprocess event on its current stream, and the receiver's current
  stream waits for it.  This includes a storage that the receiver has already.
- The owner keeps the memory until every holder has released it or ended.
- When an owner ends, its memory is freed.  Using it then raises AccessError on virtual GPUs; on hardware the bytes are
  undefined.
- A thread holds no lock while it waits for another process.
- Nothing is sent or received in a capture: a replay would not repeat it.

The tables of this process's exports and imports (shared_memory.py has such a table of exports for host memory):

- A *handle* is one tensor in flight.  It keeps the storage until the receiver confirms the reception.
- A *reference* counts the holders of an exported storage.  It keeps the storage until every holder has released it.
- Both keep storages by ordinary Python references, so a released storage returns to its cache like any other.
- The handles and references of a process that ends are released automatically.  A handle without a receiver stays until
  it is withdrawn.
- This process's threads change the tables, and the channel's thread does so for other processes.  Storages may be
  dropped under the lock: their finalizers take none.
- An import is released after its last tensor is freed and the work on it is done: the work of the stream that received
  it and of recorded streams.  A background thread waits for that work, since finalizers must not.
- A segment that this process no longer uses is closed first; then its owner gets the release message.
- A capturing stream cannot be waited for: imports that it uses are released after the capture.
"""

from __future__ import annotations

import itertools
import queue
import struct
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import channel
from ..channel import NAME_BYTES, SERVICE_BYTES, Answer, Connection, Peer
from ..core import thread
from ..core.native import Lock
from ..core.storage import Storage, owning
from ..driver.api import Address, CaptureStatus, Driver, EventHandle, StreamHandle
from ..errors import (
    AcceleratorError,
    ArgumentError,
    DeviceIndexError,
    FlambeauError,
    NotSupportedError,
    ProcessGoneError,
)
from ..memory.private import relaxed
from .generator import CAPTURE_UNSUPPORTED
from .machine import Machine

if TYPE_CHECKING:
    from ..core.storage import Storage


@dataclass(frozen=True)
class Lent:
    """A storage of this process that other processes hold.

    nbytes in bytes;  holders: numbers of references by process id;  site: the source line of the first transfer.
    """

    device: int
    nbytes: int
    holders: dict[int, int]
    site: str

    def __str__(self) -> str:
        held = ", ".join(f"process {pid} ({count})" for pid, count in sorted(self.holders.items()))
        return f"cuda:{self.device}, {self.nbytes} bytes, sent at {self.site}: held by {held}"


@dataclass(frozen=True)
class Borrowed:
    """An imported storage.  nbytes in bytes;  is_lost: the owner has ended."""

    device: int
    nbytes: int
    owner: int
    is_lost: bool

    def __str__(self) -> str:
        return f"cuda:{self.device}, {self.nbytes} bytes of process {self.owner}{', which has ended' * self.is_lost}"


@dataclass(frozen=True)
class InFlight:
    """A tensor in flight.  nbytes in bytes;  taker: the receiving process, None before."""

    device: int
    nbytes: int
    taker: int | None
    site: str

    def __str__(self) -> str:
        where = f"cuda:{self.device}" if self.device >= 0 else "cpu"
        who = "not received yet" if self.taker is None else f"being received by process {self.taker}"
        return f"{where}, {self.nbytes} bytes, sent at {self.site}: {who}"


@dataclass(frozen=True)
class Report:
    """The memory that this process shares with other processes, as returned by `torch.cuda.ipc_report`.

    lent: storages of this process that others hold.  borrowed: storages of other processes.
    in_flight: tensors that were sent and not yet received.
    Example:
        >>> print(torch.multiprocessing.Report(lent=[], borrowed=[], in_flight=[]))
        nothing is shared with other processes
    """

    lent: list[Lent]
    borrowed: list[Borrowed]
    in_flight: list[InFlight]

    def __str__(self) -> str:
        parts = (("lent", self.lent), ("borrowed", self.borrowed), ("on their way", self.in_flight))
        lines = [f"{title}: {entry}" for title, entries in parts for entry in entries]
        return "\n".join(lines) or "nothing is shared with other processes"


class Terms:
    """The export of a storage: its reference number, packed location and the source line of the first transfer."""

    __slots__ = ("reference", "location", "site")

    def __init__(self, reference: int, location: bytes, site: str) -> None:
        self.reference = reference
        self.location = location
        self.site = site


class Handle:
    """Handle of one tensor in flight to another process.

    terms:  the export; None unless the storage is this process's own device memory.
    answer: the answer to the receiver;  event: the event to wait for, 0 for host memory, with its device.
    route:  the queue or pool that sent it, None if unknown;  taker: the other process that is receiving it, or None.
    is_taken: a process, perhaps this one, is receiving it.
    """

    __slots__ = (
        "answer", "device", "event", "is_taken", "nbytes", "number", "route", "site", "storage", "taker", "terms",
    )  # fmt: skip

    def __init__(
        self, storage: Storage, terms: Terms | None, answer: bytes, event: int, route: object, site: str
    ) -> None:
        self.number = 0
        self.storage: Storage | None = storage
        self.device = storage.device.index
        self.nbytes = storage.nbytes
        self.terms = terms
        self.answer = answer
        self.event = event
        self.route = route
        self.site = site
        self.taker: Peer | None = None
        self.is_taken = False


class Reference:
    """Reference counts of an exported storage, by process."""

    __slots__ = ("holders", "storage", "terms")

    def __init__(self, storage: Storage, terms: Terms) -> None:
        self.storage = storage
        self.terms = terms
        self.holders: dict[Peer, int] = {}


class Exports:
    """Handles in flight and references of one machine.  Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._numbers = itertools.count(1)
        self._handles: dict[int, Handle] = {}
        self._references: dict[int, Reference] = {}
        self._terms: weakref.WeakKeyDictionary[Storage, Terms] = weakref.WeakKeyDictionary()
        self._spent: list[tuple[int, int]] = []

    def terms(self, storage: Storage) -> Terms | None:
        """Return the export of a storage that was sent before, or None."""
        return self._terms.get(storage)

    def agree(self, storage: Storage, pack: Callable[[int], bytes], site: str) -> Terms:
        """Register a storage sent for the first time, from `site`.  pack: makes its packed location from the number."""
        with self._lock:
            number = next(self._numbers)
            return self._terms.setdefault(storage, Terms(number, pack(number), site))

    def issue(self, handle: Handle) -> int:
        """Register a handle; return its number."""
        with self._lock:
            handle.number = next(self._numbers)
            self._handles[handle.number] = handle
            return handle.number

    def take(self, number: int, peer: Peer | None) -> Handle:
        """Begin the reception of a handle by a peer process (None: this process).  Raises ProcessGoneError."""
        with self._lock:
            handle = self._handles.get(number)
            if handle is None or handle.is_taken:
                raise ProcessGoneError("the tensor was received already, or withdrawn")
            handle.is_taken = True
            if peer is not None:
                handle.taker = peer
                if handle.terms is not None:
                    assert handle.storage is not None
                    self._hold(handle.storage, handle.terms, peer)
            return handle

    def _hold(self, storage: Storage, terms: Terms, peer: Peer) -> Reference:
        reference = self._references.get(terms.reference)
        if reference is None:
            reference = self._references[terms.reference] = Reference(storage, terms)
        reference.holders[peer] = reference.holders.get(peer, 0) + 1
        return reference

    def hold(self, number: int, peer: Peer) -> Reference:
        """Add a holder that received the storage from another holder.  Raises ProcessGoneError."""
        with self._lock:
            reference = self.reference(number)
            return self._hold(reference.storage, reference.terms, peer)

    def reference(self, number: int) -> Reference:
        """Return the reference with a number.  Raises ProcessGoneError."""
        reference = self._references.get(number)
        if reference is None:
            raise ProcessGoneError("the tensor was released")
        return reference

    def done(self, number: int, peer: Peer | None) -> None:
        """Retire a received handle and its event.  Raises ArgumentError if the caller did not take it."""
        with self._lock:
            self._retire(self._taken(number, peer))

    def abandon(self, number: int, peer: Peer) -> None:
        """Release a handle whose receiver was interrupted.  Raises ArgumentError if the caller did not take it."""
        with self._lock:
            handle = self._taken(number, peer)
            self._retire(handle)
            if handle.terms is not None:
                self.give_back(handle.terms.reference, peer)

    def put_back(self, handle: Handle) -> None:
        """Undo `take` for host memory that could not be delivered, so that it can be received again."""
        with self._lock:
            handle.taker, handle.is_taken = None, False

    def _taken(self, number: int, peer: Peer | None) -> Handle:
        handle = self._handles.get(number)
        if handle is None or not handle.is_taken or handle.taker is not peer:
            raise ArgumentError(f"handle {number} is not being received by the caller", operator="done")
        return handle

    def _retire(self, handle: Handle) -> None:
        del self._handles[handle.number]
        handle.storage = None
        if handle.event:
            self._spent.append((handle.device, handle.event))

    def take_spent(self) -> list[tuple[int, int]]:
        """Return (device, event) of each handle that was retired since the last call."""
        with self._lock:
            spent, self._spent = self._spent, []
            return spent

    def give_back(self, number: int, peer: Peer) -> None:
        """Release one reference of a holder.  Raises ArgumentError if it has none."""
        with self._lock:
            reference = self._references.get(number)
            if reference is None or peer not in reference.holders:
                raise ArgumentError(f"the caller does not hold reference {number}", operator="give_back")
            reference.holders[peer] -= 1
            if not reference.holders[peer]:
                self._leave(reference, peer)

    def _leave(self, reference: Reference, peer: Peer) -> None:
        del reference.holders[peer]
        if not reference.holders:
            del self._references[reference.terms.reference]

    def lost(self, peer: Peer) -> None:
        """Release all handles and references of a process that ended."""
        with self._lock:
            for handle in [handle for handle in self._handles.values() if handle.taker is peer]:
                self._retire(handle)
            for reference in [reference for reference in self._references.values() if peer in reference.holders]:
                self._leave(reference, peer)

    def withdraw(self, chosen: Callable[[object], bool]) -> int:
        """Withdraw tensors sent by a chosen route whose reception has not begun; return their number."""
        with self._lock:
            withdrawn = [handle for handle in self._handles.values() if not handle.is_taken and chosen(handle.route)]
            for handle in withdrawn:
                self._retire(handle)
            return len(withdrawn)

    def accounts(self) -> tuple[list[Handle], list[Reference]]:
        """Return the current handles and references."""
        with self._lock:
            return list(self._handles.values()), list(self._references.values())


def ask(sender: Connection, service: bytes, request: bytes, undo: bytes) -> tuple[bytes, list[int]]:
    """Like `Connection.ask`.  undo: the message to send if an interruption leaves the outcome unknown."""
    try:
        return sender.ask(service, request)
    except FlambeauError:  # refused, or the process has ended
        raise
    except BaseException:
        sender.tell(service, undo)
        raise


REQUEST = struct.Struct("<cQ")  # the action, and the number of a handle or reference
GIVE_BACK = b"g"
CAPTURE_POLL = 0.01  # seconds
_ON_DEVICE = b"d"
# marker; owner and service; number of the reference; device's UUID; offset in the segment; size; lengths of the two
# handles that follow
_LOCATION = struct.Struct(f"<c{NAME_BYTES}s{SERVICE_BYTES}sQ40sQQHH")


class Location:
    """The owner's description of a storage: its segment, offset and size, and the IPC handles known so far."""

    def __init__(
        self,
        owner: bytes,
        service: bytes,
        reference: int,
        uuid: str,
        offset: int,
        nbytes: int,
        segment: bytes,
        event: bytes,
    ) -> None:
        self.owner = owner
        self.service = service
        self.reference = reference
        self.uuid = uuid
        self.offset = offset
        self.nbytes = nbytes
        self.segment = segment
        self.event = event

    def pack(self, segment: bytes, event: bytes) -> bytes:
        """Pack the location with these handles into a message."""
        lengths = len(segment), len(event)
        uuid = self.uuid.encode()
        fixed = (_ON_DEVICE, self.owner, self.service, self.reference, uuid, self.offset, self.nbytes, *lengths)
        return _LOCATION.pack(*fixed) + segment + event

    @staticmethod
    def unpack(answer: bytes) -> Location:
        """Unpack a received location.  Raises ArgumentError if it is malformed."""
        if len(answer) < _LOCATION.size:
            raise ArgumentError(f"an answer of {len(answer)} bytes", operator="receive")
        marker, owner, service, reference, uuid, offset, nbytes, *lengths = _LOCATION.unpack_from(answer)
        handles = answer[_LOCATION.size :]
        if marker != _ON_DEVICE or len(handles) != sum(lengths):
            raise ArgumentError(
                f"an answer of kind {marker!r} with handles of {len(handles)} bytes", operator="receive"
            )
        text = uuid.rstrip(b"\0").decode("ascii", "replace")
        segment, event = handles[: lengths[0]], handles[lengths[0] :]
        return Location(owner.rstrip(b"\0"), service, reference, text, offset, nbytes, segment, event)


class Share:
    """An imported storage of another process.  base: the address of its opened segment."""

    __slots__ = ("__weakref__", "base", "device", "driver", "owner", "location", "streams")

    def __init__(self, driver: Driver, owner: Connection, location: Location, device: int, base: Address) -> None:
        self.driver = driver
        self.owner = owner
        self.location = location
        self.device = device
        self.base = base
        self.streams: list[StreamHandle] = []

    def is_captured(self) -> bool:
        """Return whether one of its streams is capturing."""
        with suppress(AcceleratorError):
            return any(self.driver.capture_status(stream) is not CaptureStatus.NONE for stream in self.streams)
        return False

    def give_back(self) -> None:
        """Wait for the work that uses it, close the segment, and tell the owner.  A failed device has no work left."""
        with suppress(AcceleratorError), relaxed(self.driver):
            self._close()
        tell_given_back(self.owner, self.location)

    def _close(self) -> None:
        for stream in self.streams:
            with suppress(AcceleratorError):
                self.driver.ipc_flush(stream)
        with suppress(AcceleratorError):
            self.driver.ipc_close(self.device, self.base)


class Returner:
    """Releases imported storages in a background thread, started by the first one."""

    def __init__(self) -> None:
        self._items: queue.SimpleQueue[Share | threading.Event | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread if it is not running: finalizers cannot start one."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="flambeau-returner", daemon=True)
                self._thread.start()

    def give(self, share: Share) -> None:
        """Queue an import for release.  Safe in finalizers."""
        self._items.put(share)

    def settle(self) -> None:
        """Wait until all imports queued so far are released.  A forked child has no thread, and releases nothing."""
        if self._thread is not None and self._thread.is_alive():
            passed = threading.Event()
            self._items.put(passed)
            passed.wait()

    def stop(self) -> None:
        """End the thread after the imports queued so far.  Safe in finalizers."""
        self._thread = None
        self._items.put(None)

    def _run(self) -> None:
        held: list[Share] = []
        while (item := self._next(held)) is not None:
            if isinstance(item, Share):
                held.append(item)
            held = _given_back(held)
            if isinstance(item, threading.Event):
                item.set()
            del item

    def _next(self, held: list[Share]) -> Share | threading.Event | None:
        """Wait for the next item.  While a capture delays imports, return a new Event after CAPTURE_POLL to retry."""
        try:
            return self._items.get(timeout=CAPTURE_POLL if held else None)
        except queue.Empty:
            return threading.Event()


def _given_back(shares: list[Share]) -> list[Share]:
    """Release imports; return those delayed by a graph capture."""
    captured = [share for share in shares if share.is_captured()]
    for share in shares:
        if share not in captured:
            share.give_back()
    return captured


def tell_given_back(owner: Connection, location: Location) -> None:
    """Tell the owner that this process released one reference."""
    owner.tell(location.service, REQUEST.pack(GIVE_BACK, location.reference))


MAGIC = b"flmb-ten"
_MESSAGE = struct.Struct(f"<8s{NAME_BYTES}s{SERVICE_BYTES}sQ")
_TAKE, _HOLD, _DONE, _ABANDON = b"t", b"h", b"d", b"a"
_NOTHING: Answer = (b"", ())


class Exchange:
    """IPC state of one machine: exports, imports and the endpoint."""

    def __init__(self, machine: Machine) -> None:
        self.exports = Exports()
        self._machine = machine
        self._endpoint = channel.endpoint()
        self._service = self._endpoint.serve(self)
        self._lock = Lock()
        self._idle_events: dict[int, list[EventHandle]] = {}
        self._event_handles: dict[int, bytes] = {}
        self._opened_events: dict[tuple[Connection, int, bytes], EventHandle] = {}
        self._received: weakref.WeakValueDictionary[tuple[bytes, bytes, int], Storage] = weakref.WeakValueDictionary()
        self._shares: weakref.WeakSet[Share] = weakref.WeakSet()
        self._returner = Returner()
        weakref.finalize(self, self._returner.stop)

    # sending
    def send(self, storage: Storage, site: str, route: object = None) -> bytes:
        """Return the message by which another process, or this one, receives a non-empty storage.

        site: the source line, for reports;  route: the queue or pool that sends it, for `withdraw`.
        Host:   returns at once.
        Order:  the receiver's current stream follows the work submitted so far to the current stream of the storage's
                device.
        Raises: AcceleratorError in a capture.
        """
        self._refuse_capture(f"send, at {site}")
        with self._machine.loading():
            handle = self._handle(storage, route, site)
        return _MESSAGE.pack(MAGIC, self._endpoint.name, self._service, self.exports.issue(handle))

    def _refuse_capture(self, name: str) -> None:
        """Raise AcceleratorError if the current stream of a device is capturing."""
        if self._machine.capture is None:
            return
        if any(thread.current_stream(accelerator.index).is_capturing() for accelerator in self._machine.devices):
            raise AcceleratorError(
                "tensors of several processes cannot be sent or received in a capture",
                hint="do it before the capture or after it",
                error_code=CAPTURE_UNSUPPORTED,
                operator=name,
            )

    def _handle(self, storage: Storage, route: object, site: str) -> Handle:
        driver, device = self._machine.driver, storage.device.index
        if not driver.capabilities.ipc:
            raise NotSupportedError(
                f"cuda:{device} cannot share its memory with other processes",
                hint="send a copy on the host: tensor.cpu()",
                operator="multiprocessing",
            )
        stream, share = thread.current_stream(device), storage.block
        if isinstance(share, Share):  # an import: the receiver asks the owner for the segment
            terms, location, segment = None, share.location, b""
        else:
            terms = self.exports.terms(storage) or self._first_terms(storage, site)
            location = Location.unpack(terms.location)
            segment = location.segment
        driver.block_shared(device, Address(storage.address()), storage.nbytes, stream.handle)
        storage.record_stream(stream)
        event = self._idle_event(device)
        stream.record(event)
        return Handle(storage, terms, location.pack(segment, self._event_handles[event]), event, route, site)

    def _first_terms(self, storage: Storage, site: str) -> Terms:
        self._machine.devices[storage.device.index].allocator.require_segments("multiprocessing")
        if storage.block.segment.pool.is_expandable:
            raise NotSupportedError(
                f"cuda:{storage.device.index} cannot share {storage.nbytes} bytes of an expandable segment with other "
                "processes",
                hint="allocate it after torch.cuda.memory._set_allocator_settings('expandable_segments:False'), or "
                "send a copy on the host: tensor.cpu()",
                operator="multiprocessing",
            )
        segment = storage.block.segment.address
        device = self._machine.devices[storage.device.index]
        device.allocator.last_resort = channel.settle
        handle = self._machine.driver.ipc_export(device.index, segment)
        uuid = device.properties.uuid
        offset = storage.address() - segment

        def pack(reference: int) -> bytes:
            location = Location(
                self._endpoint.name, self._service, reference, uuid, offset, storage.nbytes, handle, b""
            )
            return location.pack(handle, b"")

        return self.exports.agree(storage, pack, site)

    def _idle_event(self, device: int) -> EventHandle:
        """Return an interprocess event without pending waits, made if there is none."""
        with self._lock:
            for owner, spent in self.exports.take_spent():
                self._idle_events.setdefault(owner, []).append(EventHandle(spent))
            idle = self._idle_events.get(device)
            if idle:
                return idle.pop()
        event = self._machine.driver.event_create(device, False, False, True)
        self._event_handles[event] = self._machine.driver.event_ipc_export(event)
        return event

    # answering other processes, in the channel's thread
    def asked(self, peer: Peer, request: bytes) -> Answer:
        if len(request) != REQUEST.size:
            raise ArgumentError(f"a request of {len(request)} bytes", operator="multiprocessing")
        action, number = REQUEST.unpack(request)
        if action == _TAKE:
            return self.exports.take(number, peer).answer, ()
        if action == _HOLD:
            return self.exports.hold(number, peer).terms.location, ()
        if action == _DONE:
            self.exports.done(number, peer)
        elif action == _ABANDON:
            self.exports.abandon(number, peer)
        elif action == GIVE_BACK:
            self.exports.give_back(number, peer)
        else:
            raise ArgumentError(f"request {action!r} is unknown", operator="multiprocessing")
        return _NOTHING

    def lost(self, peer: Peer) -> None:
        self.exports.lost(peer)

    # receiving
    def receive(self, message: bytes) -> Storage:
        """Receive the storage of a message.  Each message can be received once.

        Host:   waits for the sender's answer, not for work on a device.
        Raises: ProcessGoneError if the sender or the owner has ended, or if the tensor was received already or
                withdrawn; ArgumentError for a malformed message; DeviceIndexError if the device is not visible to this
                process; AcceleratorError in a capture.
        """
        if not isinstance(message, bytes) or len(message) != _MESSAGE.size or not message.startswith(MAGIC):
            raise ArgumentError(
                f"this is not a message of a tensor: {message[:16]!r}, {len(message)} bytes", operator="receive"
            )
        self._refuse_capture("receive")
        _, name, service, number = _MESSAGE.unpack(message)
        name = name.rstrip(b"\0")
        if name == self._endpoint.name:
            return self._receive_own(service, number)
        sender = self._endpoint.connect(name)
        answer, _ = ask(sender, service, REQUEST.pack(_TAKE, number), REQUEST.pack(_ABANDON, number))
        try:
            with self._machine.loading():
                return self._receive_share(sender, Location.unpack(answer))
        finally:
            sender.tell(service, REQUEST.pack(_DONE, number))

    def _receive_own(self, service: bytes, number: int) -> Storage:
        if service != self._service:
            raise ArgumentError("the tensor belongs to another machine of this process", operator="receive")
        handle = self.exports.take(number, None)
        storage = handle.storage
        assert storage is not None
        try:
            thread.current_stream(storage.device.index).wait(EventHandle(handle.event))
        finally:
            self.exports.done(number, None)
        return storage

    def _receive_share(self, sender: Connection, location: Location) -> Storage:
        if location.owner == self._endpoint.name:
            storage = self.exports.reference(location.reference).storage
        else:
            storage = self._borrow(sender, location)
        event = self._opened_event(sender, storage.device.index, location.event)
        stream = thread.current_stream(storage.device.index)
        stream.wait(event)
        storage.record_stream(stream)
        return storage

    def _borrow(self, sender: Connection, location: Location) -> Storage:
        """Return a storage of another process, to which this process holds a reference from now on."""
        owner = sender
        if not location.segment:
            owner = self._endpoint.connect(location.owner)
            answer, _ = owner.ask(location.service, REQUEST.pack(_HOLD, location.reference))
            location = Location.unpack(answer)
        known = self._received.get((location.owner, location.service, location.reference))
        if known is not None:
            tell_given_back(owner, location)
            return known
        try:
            return self._opened(owner, location)
        except BaseException:
            tell_given_back(owner, location)
            raise

    def _opened(self, owner: Connection, location: Location) -> Storage:
        """Open the segment of a storage, and make the storage over it."""
        device = self._device(location.uuid)
        driver = self._machine.driver
        base = driver.ipc_open(device, location.segment)
        share = Share(driver, owner, location, device, base)
        storage = owning(self._machine.devices[device], location.nbytes, base + location.offset, share, self)
        self._shares.add(share)
        self._returner.start()
        self._received[location.owner, location.service, location.reference] = storage
        return storage

    def _device(self, uuid: str) -> int:
        """Return the index of the device with a UUID.  Raises DeviceIndexError if this process does not see it."""
        for accelerator in self._machine.devices:
            if accelerator.properties.uuid == uuid:
                return accelerator.index
        raise DeviceIndexError(
            f"the tensor lies on {uuid}, and this process sees "
            f"{', '.join(accelerator.properties.uuid for accelerator in self._machine.devices)}",
            hint="give both processes the same GPUs: CUDA_VISIBLE_DEVICES, or FLAMBEAU_GPUS",
            operator="receive",
        )

    def _opened_event(self, sender: Connection, device: int, handle: bytes) -> EventHandle:
        """Open a sender's event.  Opened events are kept, because senders reuse theirs."""
        driver = self._machine.driver
        for key in [key for key in list(self._opened_events) if key[0].is_lost]:  # other threads receive too
            lost = self._opened_events.pop(key, None)
            if lost is not None:
                driver.event_destroy(lost)
        event = self._opened_events.get((sender, device, handle))
        if event is None:
            opened = driver.event_ipc_open(device, handle)
            event = self._opened_events.setdefault((sender, device, handle), opened)
            if event != opened:  # another thread opened it first
                driver.event_destroy(opened)
        return event

    # releasing imports: a Share is the block of an imported storage, and the Exchange is its allocator
    def record_stream(self, share: Share, stream: StreamHandle) -> None:
        if stream not in share.streams:
            share.streams.append(stream)

    def free(self, share: Share) -> None:
        """Release an import whose last tensor was freed.  Safe in finalizers and under any lock."""
        self._returner.give(share)

    def collect(self) -> None:
        """Release dropped imports, and process the releases of other processes.

        Host: waits for the work of this process that uses dropped imports.
        """
        self._returner.settle()
        self._endpoint.settle()

    def report(self) -> Report:
        """Report exported, imported and in-flight memory, as far as this process knows."""
        self._endpoint.settle()
        handles, references = self.exports.accounts()
        return Report(
            [
                Lent(
                    reference.storage.device.index,
                    reference.storage.nbytes,
                    _by_pid(reference.holders),
                    reference.terms.site,
                )
                for reference in references
            ],
            [
                Borrowed(share.device, share.location.nbytes, share.owner.pid, share.owner.is_lost)
                for share in list(self._shares)
            ],
            [
                InFlight(handle.device, handle.nbytes, handle.taker.pid if handle.taker else None, handle.site)
                for handle in handles
            ],
        )


def _by_pid(holders: dict[Peer, int]) -> dict[int, int]:
    return {peer.pid: count for peer, count in holders.items()}


def of(machine: Machine) -> Exchange:
    """Start a machine and return its IPC state.  Raises NoDeviceError if there is no GPU."""
    machine.start()
    with machine.lock:
        if machine.exchange is None:
            machine.exchange = Exchange(machine)
        exchange: Exchange = machine.exchange
        return exchange
