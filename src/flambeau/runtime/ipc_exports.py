"""IPC exports: reference counts of storages that other processes hold or are receiving.

- A *ticket* is one tensor on its way.  It keeps the storage until the receiver says that it is done with receiving.
- A *loan* is a storage of this process that others hold.  It keeps the storage until every holder has given it back.
- So what was sent is kept by ordinary references, and returns to its cache like any other tensor after the last one.
- A receiver that ends gives back all that it held or was receiving; nobody has to ask.  A ticket that nobody takes
  stays until it is withdrawn.
- The account is changed by this process's own threads, and by the channel's on behalf of others.  References may be
  dropped under the lock: the finalizers of storages take none.
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

    __slots__ = ("loan", "place", "site")

    def __init__(self, loan: int, place: bytes, site: str) -> None:
        self.loan = loan
        self.place = place
        self.site = site


class Handle:
    """Handle of one tensor in flight to another process.

    terms:  None unless the storage is this process's own device memory.
    answer: what the receiver is told;  event: what it must wait for, 0 for host memory, with its device.
    route:  what it was sent by, None if unknown;  taker: the other process that is receiving it, if one is.
    is_taken: somebody, this very process maybe, is receiving it.
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
        self._tickets: dict[int, Handle] = {}
        self._loans: dict[int, Reference] = {}
        self._terms: weakref.WeakKeyDictionary[Storage, Terms] = weakref.WeakKeyDictionary()
        self._spent: list[tuple[int, int]] = []

    def terms(self, storage: Storage) -> Terms | None:
        """What was agreed on when the storage was first sent, or None."""
        return self._terms.get(storage)

    def agree(self, storage: Storage, pack: Callable[[int], bytes], site: str) -> Terms:
        """The terms of a storage that is sent for the first time, from `site`.  pack: its place, by number."""
        with self._lock:
            number = next(self._numbers)
            return self._terms.setdefault(storage, Terms(number, pack(number), site))

    def issue(self, ticket: Handle) -> int:
        """The number of a ticket, which is valid from now on."""
        with self._lock:
            ticket.number = next(self._numbers)
            self._tickets[ticket.number] = ticket
            return ticket.number

    def take(self, number: int, peer: Peer | None) -> Handle:
        """Somebody, this very process if peer is None, begins to receive.  Raises ProcessGoneError."""
        with self._lock:
            ticket = self._tickets.get(number)
            if ticket is None or ticket.is_taken:
                raise ProcessGoneError("the tensor was received already, or withdrawn")
            ticket.is_taken = True
            if peer is not None:
                ticket.taker = peer
                if ticket.terms is not None:
                    assert ticket.storage is not None
                    self._hold(ticket.storage, ticket.terms, peer)
            return ticket

    def _hold(self, storage: Storage, terms: Terms, peer: Peer) -> Reference:
        loan = self._loans.get(terms.loan)
        if loan is None:
            loan = self._loans[terms.loan] = Reference(storage, terms)
        loan.holders[peer] = loan.holders.get(peer, 0) + 1
        return loan

    def hold(self, number: int, peer: Peer) -> Reference:
        """Somebody else, to whom a holder sent it on, holds a loan too.  Raises ProcessGoneError."""
        with self._lock:
            loan = self.loan(number)
            return self._hold(loan.storage, loan.terms, peer)

    def loan(self, number: int) -> Reference:
        """A loan by its number.  Raises ProcessGoneError."""
        found = self._loans.get(number)
        if found is None:
            raise ProcessGoneError("the tensor was given back")
        return found

    def done(self, number: int, peer: Peer | None) -> None:
        """A ticket was received, event included.  Raises ArgumentError if the caller did not take it."""
        with self._lock:
            self._retire(self._taken(number, peer))

    def abandon(self, number: int, peer: Peer) -> None:
        """A ticket was taken, but its taker was interrupted.  Raises ArgumentError if the caller did not take it."""
        with self._lock:
            ticket = self._taken(number, peer)
            self._retire(ticket)
            if ticket.terms is not None:
                self.give_back(ticket.terms.loan, peer)

    def put_back(self, ticket: Handle) -> None:
        """A ticket of host memory was taken, and could not be handed over: it may be taken again."""
        with self._lock:
            ticket.taker, ticket.is_taken = None, False

    def _taken(self, number: int, peer: Peer | None) -> Handle:
        ticket = self._tickets.get(number)
        if ticket is None or not ticket.is_taken or ticket.taker is not peer:
            raise ArgumentError(f"ticket {number} is not being received by the caller", operator="done")
        return ticket

    def _retire(self, ticket: Handle) -> None:
        del self._tickets[ticket.number]
        ticket.storage = None
        if ticket.event:
            self._spent.append((ticket.device, ticket.event))

    def take_spent(self) -> list[tuple[int, int]]:
        """(device, event) of the tickets that are gone since the last time."""
        with self._lock:
            spent, self._spent = self._spent, []
            return spent

    def give_back(self, number: int, peer: Peer) -> None:
        """A holder gives back one of its shares.  Raises ArgumentError if it has none."""
        with self._lock:
            loan = self._loans.get(number)
            if loan is None or peer not in loan.holders:
                raise ArgumentError(f"the caller holds nothing of loan {number}", operator="give_back")
            loan.holders[peer] -= 1
            if not loan.holders[peer]:
                self._leave(loan, peer)

    def _leave(self, loan: Reference, peer: Peer) -> None:
        del loan.holders[peer]
        if not loan.holders:
            del self._loans[loan.terms.loan]

    def lost(self, peer: Peer) -> None:
        """A process has ended: it holds and receives nothing any more."""
        with self._lock:
            for ticket in [each for each in self._tickets.values() if each.taker is peer]:
                self._retire(ticket)
            for loan in [each for each in self._loans.values() if peer in each.holders]:
                self._leave(loan, peer)

    def withdraw(self, chosen: Callable[[object], bool]) -> int:
        """Take back what was sent by a chosen route and nobody has begun to receive; how many tensors that were."""
        with self._lock:
            found = [each for each in self._tickets.values() if not each.is_taken and chosen(each.route)]
            for ticket in found:
                self._retire(ticket)
            return len(found)

    def accounts(self) -> tuple[list[Handle], list[Reference]]:
        """The tickets and loans that there are now."""
        with self._lock:
            return list(self._tickets.values()), list(self._loans.values())


def ask(sender: Connection, service: bytes, request: bytes, undo: bytes) -> tuple[bytes, list[int]]:
    """The answer to a request, as `Connection.ask`.  undo: what is told if asking is interrupted: it may be granted."""
    try:
        return sender.ask(service, request)
    except FlambeauError:  # refused, or nobody is there
        raise
    except BaseException:
        sender.tell(service, undo)
        raise
