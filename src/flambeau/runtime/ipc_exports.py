"""IPC exports: reference counts of storages that other processes hold or are receiving.

- A *handle* is one tensor in flight.  It keeps the storage until the receiver confirms the reception.
- A *reference* counts the holders of an exported storage.  It keeps the storage until every holder released it.
- Both keep storages by ordinary Python references, so a released storage returns to its cache like any other.
- The handles and references of a process that ends are released automatically.  A handle without a receiver stays until
  it is withdrawn.
- The tables are changed by this process's threads, and by the channel's thread for others.  Storages may be dropped
  under the lock: their finalizers take none.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..channel import Connection, Peer
from ..errors import ArgumentError, FlambeauError, ProcessGoneError

if TYPE_CHECKING:
    from ..core.storage import Storage


class Terms:
    """Message to a receiver: the number of the reference and the packed storage description."""

    __slots__ = ("reference", "place", "site")

    def __init__(self, reference: int, place: bytes, site: str) -> None:
        self.reference = reference
        self.place = place
        self.site = site


class Handle:
    """Handle of one tensor in flight to another process.

    terms:  None unless the storage is this process's own device memory.
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
        """The terms of a storage that was sent before, or None."""
        return self._terms.get(storage)

    def agree(self, storage: Storage, pack: Callable[[int], bytes], site: str) -> Terms:
        """Register a storage sent for the first time, from `site`.  pack: makes its description from the number."""
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
        """Begin a reception by a peer; None is this process.  Raises ProcessGoneError."""
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
        """Add a holder, to which another holder forwarded the storage.  Raises ProcessGoneError."""
        with self._lock:
            reference = self.reference(number)
            return self._hold(reference.storage, reference.terms, peer)

    def reference(self, number: int) -> Reference:
        """A reference by its number.  Raises ProcessGoneError."""
        found = self._references.get(number)
        if found is None:
            raise ProcessGoneError("the tensor was given back")
        return found

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
        """Return a handle of host memory that could not be delivered: it may be taken again."""
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
        """(device, event) of the handles retired since the last call."""
        with self._lock:
            spent, self._spent = self._spent, []
            return spent

    def give_back(self, number: int, peer: Peer) -> None:
        """Release one reference of a holder.  Raises ArgumentError if it has none."""
        with self._lock:
            reference = self._references.get(number)
            if reference is None or peer not in reference.holders:
                raise ArgumentError(f"the caller holds nothing of reference {number}", operator="give_back")
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
            for handle in [each for each in self._handles.values() if each.taker is peer]:
                self._retire(handle)
            for reference in [each for each in self._references.values() if peer in each.holders]:
                self._leave(reference, peer)

    def withdraw(self, chosen: Callable[[object], bool]) -> int:
        """Withdraw tensors sent by a chosen route whose reception has not begun; return their number."""
        with self._lock:
            found = [each for each in self._handles.values() if not each.is_taken and chosen(each.route)]
            for handle in found:
                self._retire(handle)
            return len(found)

    def accounts(self) -> tuple[list[Handle], list[Reference]]:
        """The current handles and references."""
        with self._lock:
            return list(self._handles.values()), list(self._references.values())


def ask(sender: Connection, service: bytes, request: bytes, undo: bytes) -> tuple[bytes, list[int]]:
    """Ask as `Connection.ask`.  undo: message to send if an interruption leaves the outcome unknown."""
    try:
        return sender.ask(service, request)
    except FlambeauError:  # refused, or nobody is there
        raise
    except BaseException:
        sender.tell(service, undo)
        raise
