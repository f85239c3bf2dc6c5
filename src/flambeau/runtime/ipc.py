"""CUDA IPC: sharing device memory between processes by handle, without copies.

- A message is a fixed struct: the address of the sender and the number of a handle.  The receiver asks the sender, and
  the owner if that is a third process; it then opens the whole segment, once per process.
- Every transfer is ordered: the sender records an interprocess event on its current stream, and the receiver's current
  stream waits for it.  This includes a storage that the receiver has already.
- The owner keeps the memory until every holder has released it (ipc_exports.py) or ended.
- When an owner ends, its memory is freed.  Using it then raises AccessError on virtual GPUs; on hardware the bytes are
  undefined.
- A thread holds no lock while it waits for another process.
- Nothing is sent or received in a capture: a replay would not repeat it.
"""

from __future__ import annotations

import struct
import weakref

from .. import channel
from ..channel import NAME_BYTES, SERVICE_BYTES, Answer, Connection, Peer
from ..core import thread
from ..core.native import Lock
from ..core.storage import Storage, owning
from ..driver.api import Address, EventHandle, StreamHandle
from ..errors import AcceleratorError, ArgumentError, DeviceIndexError, NotSupportedError
from .generator import CAPTURE_UNSUPPORTED
from .ipc_memory import (
    GIVE_BACK,
    REQUEST,
    Borrowed,
    Exports,
    Handle,
    InFlight,
    Lent,
    Location,
    Report,
    Returner,
    Share,
    Terms,
    ask,
    tell_given_back,
)
from .machine import Machine

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
        if isinstance(share, Share):  # the receiver asks its owner for the segment
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
            if event != opened:  # another thread was faster
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
    """The IPC state of a machine; starts it.  Raises NoDeviceError if there is no GPU."""
    machine.start()
    with machine.lock:
        if machine.exchange is None:
            machine.exchange = Exchange(machine)
        exchange: Exchange = machine.exchange
        return exchange
