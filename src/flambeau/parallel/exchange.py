"""A process's side of collectives: posts calls to the hub, and shares bytes with the other ranks of its host.

- A rank puts its bytes into an unnamed file in memory, and posts the file's number.  The others open it through /proc,
  which their user may do, and read.  Nothing is left behind, however a process ends.
- A file is used again once every member has read it.
"""

from __future__ import annotations

import atexit
import mmap
import os
import socket
import threading
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ..errors import FlambeauError
from .hub import Inbox, packed

GOODBYE = 10.0  # seconds that the end of a process waits for the others to read its bytes
SAME_CALLS = "all ranks of a group make the same calls, in the same order"
ROUND = 1 << 16  # sizes of files are multiples of it


class CollectiveError(FlambeauError, RuntimeError):
    """A collective cannot be completed: calls differ, a process has ended, or its time is over."""


class StoreTimeoutError(FlambeauError, RuntimeError):
    """A key was not set in time, or there is no store to connect to."""


class Slot:
    """A file in memory for one post."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.file = os.memfd_create("flambeau", os.MFD_CLOEXEC)
        os.ftruncate(self.file, size)
        self.memory = mmap.mmap(self.file, size)

    def close(self) -> None:
        self.memory.close()
        os.close(self.file)


_clients: weakref.WeakSet[Client] = weakref.WeakSet()


def _in_child() -> None:
    """A forked child has copies of the connections: closed, so that the others see its parent's end."""
    for client in list(_clients):
        client.drop()


os.register_at_fork(after_in_child=_in_child)


class Client:
    """A connection to the hub, for the store alone or, with a rank, for collectives."""

    def __init__(
        self, host: str, port: int, secret: str, timeout: float, rank: int | None = None, size: int | None = None
    ) -> None:
        self.rank = rank
        self._changed = threading.Condition()
        self._replies: dict[int, dict[str, Any]] = {}
        self._ready: dict[str, dict[str, Any]] = {}
        self._number = 0
        self._slots: dict[str, Slot] = {}
        self._free: list[Slot] = []
        self.failure: str | None = None
        self._is_closed = False
        self._sending = threading.Lock()
        self._link = _connected(host, port, timeout)
        _clients.add(self)
        self._thread = threading.Thread(target=self._listen, name="flambeau hub client", daemon=True)
        self._thread.start()
        self._pid = os.getpid()
        self._send(do="hello", id=0, secret=secret, rank=rank, size=size)
        reply = self._reply(0, timeout, "a connection to the hub")
        if reply.get("error"):
            self.close()
            raise CollectiveError(
                reply["error"], hint="start each rank once, all with one WORLD_SIZE", operator="init_process_group"
            )
        if rank is not None:
            atexit.register(self.leave)

    def _send(self, **message: Any) -> None:
        data = packed(message)
        with self._sending:
            try:
                self._link.sendall(data)
            except OSError:
                self._fail("the process of rank 0, which holds the store, has ended")

    def _listen(self) -> None:
        inbox = Inbox()
        while True:
            try:
                data = self._link.recv(1 << 16)
                messages = inbox.add(data) if data else None
            except (OSError, ValueError):
                messages = None
            if messages is None:
                if not self._is_closed:
                    self._fail("the process of rank 0, which holds the store, has ended")
                return
            with self._changed:
                for message in messages:
                    self._receive(message)
                self._changed.notify_all()

    def _receive(self, message: dict[str, Any]) -> None:
        if "failure" in message:
            self.failure = self.failure or message["failure"]
        elif "where" in message:
            self._ready[message["key"]] = message["where"]
        elif "free" in message:
            slot = self._slots.pop(message["free"], None)
            if slot is not None:
                self._free.append(slot)
        else:
            self._replies[message["id"]] = message

    def _fail(self, reason: str) -> None:
        with self._changed:
            self.failure = self.failure or reason
            self._changed.notify_all()

    def _reply(self, number: int, timeout: float, what: str) -> dict[str, Any]:
        with self._changed:
            is_there = self._changed.wait_for(lambda: number in self._replies or self.failure is not None, timeout)
            if number in self._replies:
                return self._replies.pop(number)
        if not is_there:
            raise StoreTimeoutError(
                f"{what} was not there within {timeout:g} s",
                hint="does every rank run, with the same address?",
                operator="store",
            )
        raise CollectiveError(str(self.failure), operator="store")

    def ask(self, timeout: float, what: str, **message: Any) -> Any:
        """Send a request of the store; return its answer.  Raises StoreTimeoutError, CollectiveError."""
        with self._changed:
            self._number += 1
            number = self._number
        self._send(id=number, **message)
        return self._reply(number, timeout, what).get("value")

    # collectives

    def post(self, key: str, members: Sequence[int], same: Any, text: str, parts: Sequence[Any]) -> None:
        """Post a call under a key, with arrays of bytes for the other members.  Host: does not wait."""
        size = sum(len(part) for part in parts)
        where = None
        if size:
            slot = self._slot(size)
            at = 0
            for part in parts:
                slot.memory[at : at + len(part)] = part.tobytes()
                at += len(part)
            with self._changed:
                self._slots[key] = slot
            where = [os.getpid(), slot.file, size]
        self._send(do="post", key=key, members=list(members), same=same, text=text, where=where)

    def _slot(self, size: int) -> Slot:
        with self._changed:
            fitting = [slot for slot in self._free if slot.size >= size]
            if fitting:
                best = min(fitting, key=lambda slot: slot.size)
                self._free.remove(best)
                return best
            dropped, self._free = self._free, []
        for slot in dropped:
            slot.close()
        return Slot(-(-size // ROUND) * ROUND)

    def collect(self, key: str, timeout: float, operator: str) -> dict[int, bytes]:
        """Return the bytes that each member posted under a key.  Host: waits until all have.

        Raises: CollectiveError, with the calls of all ranks.
        """
        with self._changed:
            if key not in self._ready and self.failure is None:
                self._send(do="wait", key=key)
            end = time.monotonic() + timeout
            while key not in self._ready and self.failure is None:
                left = end - time.monotonic()
                if left <= 0:
                    self._send(do="late", key=key, seconds=round(timeout, 3))
                    self._changed.wait_for(lambda: self.failure is not None, GOODBYE)
                    break
                self._changed.wait(min(left, 1.0))  # so that signals are handled
            where = self._ready.pop(key, None)
        if where is None:
            raise CollectiveError(str(self.failure), hint=SAME_CALLS, operator=operator)
        try:
            found = {int(rank): _bytes_of(place) for rank, place in where.items()}
        except OSError as failure:  # its process has ended, which the hub says too
            with self._changed:
                self._changed.wait_for(lambda: self.failure is not None, GOODBYE)
            text = self.failure or f"the bytes of another rank cannot be read: {failure}"
            raise CollectiveError(text, hint=SAME_CALLS, operator=operator) from failure
        self._send(do="read", key=key)
        return found

    def leave(self) -> None:
        """Say goodbye, once the others have read this rank's bytes."""
        if self._is_closed or self._pid != os.getpid():
            return
        with self._changed:
            self._changed.wait_for(lambda: not self._slots or self.failure is not None, GOODBYE)
        self._send(do="leave")
        self.close()

    def drop(self) -> None:
        """Close this process's copy of the connection."""
        self._is_closed = True
        self.failure = "the process was forked"
        self._link.close()

    def close(self) -> None:
        """Close the connection."""
        self._is_closed = True
        with suppress(OSError):  # the other end has closed it
            self._link.shutdown(socket.SHUT_RDWR)
        self._link.close()
        atexit.unregister(self.leave)


def _connected(host: str, port: int, timeout: float) -> socket.socket:
    """A connection to an address where a hub may not listen yet."""
    end = time.monotonic() + timeout
    while True:
        try:
            link = socket.create_connection((host, port), timeout=max(end - time.monotonic(), 0.001))
            link.settimeout(None)
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return link
        except OSError as failure:
            if time.monotonic() + 0.05 > end:
                raise StoreTimeoutError(
                    f"nothing listens at {host}:{port}: {failure}",
                    hint="does rank 0 run, with this MASTER_ADDR and MASTER_PORT?",
                    operator="init_process_group",
                ) from failure
            time.sleep(0.02)


def _bytes_of(place: Any) -> bytes:
    """The bytes of another rank's file.  Raises OSError."""
    if place is None:
        return b""
    process, file, size = place
    with open(f"/proc/{int(process)}/fd/{int(file)}", "rb", buffering=0) as source:
        data = source.read(size)
    if data is None or len(data) != size:
        raise OSError(f"process {process} shares {len(data or b'')} bytes in place of {size}")
    return data
