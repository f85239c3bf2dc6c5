"""IPC imports: device memory of other processes that this process holds, and its release.

- A holder gives back when its last tensor goes, after the work of the stream that it received it on, and of recorded
  streams: a thread waits for those, since finalizers must not.
- A segment that nothing here uses any more is closed before its owner is told.
- A stream that is capturing cannot be waited for: what it uses goes back after the capture.
"""

from __future__ import annotations

import queue
import struct
import threading
from contextlib import suppress

from ..channel import NAME_BYTES, SERVICE_BYTES, Connection
from ..driver.api import Address, CaptureStatus, Driver, StreamHandle
from ..errors import AcceleratorError, ArgumentError
from ..memory.private import relaxed

REQUEST = struct.Struct("<cQ")  # what is asked, and the number of a handle or reference
GIVE_BACK = b"g"
CAPTURE_POLL = 0.01  # seconds
_ON_DEVICE = b"d"
# whose reference, and its number; device's UUID; offset in the segment and size; lengths of the two handles that follow
_PLACE = struct.Struct(f"<c{NAME_BYTES}s{SERVICE_BYTES}sQ40sQQHH")


class Place:
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
        """The place with these handles, as it is sent."""
        lengths = len(segment), len(event)
        uuid = self.uuid.encode()
        fixed = (_ON_DEVICE, self.owner, self.service, self.reference, uuid, self.offset, self.nbytes, *lengths)
        return _PLACE.pack(*fixed) + segment + event

    @staticmethod
    def unpack(answer: bytes) -> Place:
        """Raises ArgumentError."""
        if len(answer) < _PLACE.size:
            raise ArgumentError(f"an answer of {len(answer)} bytes", operator="receive")
        kind, owner, service, reference, uuid, offset, nbytes, *lengths = _PLACE.unpack_from(answer)
        handles = answer[_PLACE.size :]
        if kind != _ON_DEVICE or len(handles) != sum(lengths):
            raise ArgumentError(f"an answer of kind {kind!r} with handles of {len(handles)} bytes", operator="receive")
        text = uuid.rstrip(b"\0").decode("ascii", "replace")
        segment, event = handles[: lengths[0]], handles[lengths[0] :]
        return Place(owner.rstrip(b"\0"), service, reference, text, offset, nbytes, segment, event)


class Share:
    """An imported storage of another process.  base: the address of its opened segment."""

    __slots__ = ("__weakref__", "base", "device", "driver", "owner", "place", "streams")

    def __init__(self, driver: Driver, owner: Connection, place: Place, device: int, base: Address) -> None:
        self.driver = driver
        self.owner = owner
        self.place = place
        self.device = device
        self.base = base
        self.streams: list[StreamHandle] = []

    def is_captured(self) -> bool:
        """Whether one of its streams is capturing."""
        with suppress(AcceleratorError):
            return any(self.driver.capture_status(stream) is not CaptureStatus.NONE for stream in self.streams)
        return False

    def give_back(self) -> None:
        """Wait for the work that uses it, close the segment, tell the owner.  A failed device does no more work."""
        with suppress(AcceleratorError), relaxed(self.driver):
            self._close()
        tell_given_back(self.owner, self.place)

    def _close(self) -> None:
        for stream in self.streams:
            with suppress(AcceleratorError):
                self.driver.ipc_flush(stream)
        with suppress(AcceleratorError):
            self.driver.ipc_close(self.device, self.base)


class Returner:
    """Releases imported storages in a background thread, started by the first one."""

    def __init__(self) -> None:
        self._given: queue.SimpleQueue[Share | threading.Event | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Have the thread run: finalizers cannot start one."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="flambeau-returner", daemon=True)
                self._thread.start()

    def give(self, share: Share) -> None:
        """Safe in finalizers."""
        self._given.put(share)

    def settle(self) -> None:
        """Wait until what was given so far has gone back."""
        if self._thread is not None:
            passed = threading.Event()
            self._given.put(passed)
            passed.wait()

    def stop(self) -> None:
        """End the thread after what was given so far.  Safe in finalizers."""
        self._thread = None
        self._given.put(None)

    def _run(self) -> None:
        held: list[Share] = []
        while (given := self._next(held)) is not None:
            if isinstance(given, Share):
                held.append(given)
            held = _given_back(held)
            if isinstance(given, threading.Event):
                given.set()
            del given

    def _next(self, held: list[Share]) -> Share | threading.Event | None:
        """What is given next; while shares are held, soon something that nobody waits for."""
        try:
            return self._given.get(timeout=CAPTURE_POLL if held else None)
        except queue.Empty:
            return threading.Event()


def _given_back(shares: list[Share]) -> list[Share]:
    """Release imports; return those delayed by a graph capture."""
    captured = [each for each in shares if each.is_captured()]
    for each in shares:
        if each not in captured:
            each.give_back()
    return captured


def tell_given_back(owner: Connection, place: Place) -> None:
    """Tell the owner that this process released one reference."""
    owner.tell(place.service, REQUEST.pack(GIVE_BACK, place.reference))
