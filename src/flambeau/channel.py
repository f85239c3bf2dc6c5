"""Private sockets between processes of one user: requests, answers, file descriptors and end notices.

- Each process has one listening socket, made at first use.  Its random name is in Linux's abstract namespace, so it
  needs no file and vanishes with the process.
- Both ends check that the other runs as the same user (SO_PEERCRED).
- Messages are plain bytes for a registered service.  Received bytes are never executed.
- When a process ends, in any way, its sockets close, and the other ends are notified.  Forked children close theirs.  A
  fork waits until no message is being handled.
- Services are notified of a lost peer once its whole process is gone: its GPU work is over by then.
- One daemon thread answers requests and detects lost peers.  Handlers run in it, or in a thread that calls `settle`,
one at a time.
  They must not wait for another process.  Callers of this module must not hold a lock that a handler takes.
- Services are referenced weakly: a deleted one no longer answers.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from .errors import ArgumentError, FlambeauError, ProcessGoneError

NAME_BYTES = 56  # length of an endpoint's name, padded with zeros
SERVICE_BYTES = 16
MAX_BYTES = 1 << 16  # size of one message
DEAF_SECONDS = 0.1  # seconds between attempts to open a file while the limit of open files is reached
MAX_DESCRIPTORS = 4  # files in one answer
OUTLIVE = "a process that sends tensors outlives those that receive them: let it wait for them"
_NAME = b"flambeau-%d-%s"
_CREDENTIALS = struct.Struct("3i")  # struct ucred: pid, uid, gid
_DONE, _FAILED, _GONE = b"d", b"f", b"g"
_HEAD = struct.Struct(f"<Q{SERVICE_BYTES}s")  # request number, 0 if no answer is expected; service
_ANSWERED = struct.Struct("<Qc")  # request number; status

Answer = tuple[bytes, tuple[int, ...]]  # bytes, and open files, which are closed after sending


class Peer:
    """Another process that connected to this one.  Two connections of one process are two peers."""

    __slots__ = ("pid", "socket")

    def __init__(self, connected: socket.socket, pid: int) -> None:
        self.socket = connected
        self.pid = pid


class Service(Protocol):
    """A request handler.  Raises FlambeauError, whose text is sent to the requesting process."""

    def asked(self, peer: Peer, request: bytes) -> Answer: ...
    def lost(self, peer: Peer) -> None:
        """Handle the end of a peer's whole process."""


class Connection:
    """A connection to another process.  on_lost: functions called, in any thread, once that process has ended."""

    def __init__(self, connected: socket.socket, pid: int) -> None:
        self.pid = pid
        self.is_lost = False
        self.on_lost: list[Callable[[], Callable[[], None] | None]] = []  # weak references
        self._socket = connected
        self._lock = threading.Lock()
        self._asked = 0

    def ask(self, service: bytes, request: bytes) -> tuple[bytes, list[int]]:
        """Send a request; return the answer: bytes, and files that the caller must close.

        Host: waits for the answer, as long as the process lives.
        Raises: ProcessGoneError if the process has ended or the service is gone; ArgumentError if it refused.
        """
        with self._lock:
            self._asked += 1
            self._send(_HEAD.pack(self._asked, service) + request)
            status, answer, files = self._receive(self._asked)
        if status == _DONE:
            return answer, files
        if status == _GONE:
            raise ProcessGoneError(f"process {self.pid}: {answer.decode()}")
        raise ArgumentError(f"process {self.pid}: {answer.decode()}")

    def tell(self, service: bytes, request: bytes) -> None:
        """Send a message without an answer.  Does nothing if the process has ended."""
        with self._lock, suppress(ProcessGoneError):
            self._send(_HEAD.pack(0, service) + request)

    def _send(self, message: bytes) -> None:
        try:
            self._socket.sendall(message)
        except OSError as error:
            raise self._gone() from error

    def _receive(self, wanted: int) -> tuple[bytes, bytes, list[int]]:
        """Return the answer to a request, by its number.  Earlier answers belong to interrupted requests."""
        while True:
            try:
                answer, files, _, _ = socket.recv_fds(self._socket, MAX_BYTES, MAX_DESCRIPTORS, socket.MSG_CMSG_CLOEXEC)
            except OSError as error:
                raise self._gone() from error
            if len(answer) < _ANSWERED.size:
                raise self._gone()
            number, status = _ANSWERED.unpack_from(answer)
            if number == wanted:
                return status, answer[_ANSWERED.size :], files
            for file in files:
                os.close(file)

    def _gone(self) -> ProcessGoneError:
        return ProcessGoneError(f"process {self.pid} has ended", hint=OUTLIVE)

    def close(self) -> None:
        self._socket.close()

    def lose(self) -> None:
        """Notify the subscribers that the process has ended."""
        self.is_lost = True
        for reference in self.on_lost:
            if (call := reference()) is not None:
                call()
        self.on_lost.clear()


class Endpoint:
    """This process's end of all its connections."""

    def __init__(self) -> None:
        self.name = _NAME % (os.getpid(), os.urandom(16).hex().encode())
        self.services: weakref.WeakValueDictionary[bytes, Service] = weakref.WeakValueDictionary()
        self._lock = threading.RLock()
        self._connections: dict[bytes, Connection] = {}
        self._outgoing: dict[int, tuple[bytes, Connection]] = {}
        self._peers: dict[int, Peer] = {}
        self._leaving: dict[int, Peer] = {}  # by process descriptor; their sockets are closed
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listening.bind(b"\0" + self.name)
        self._listening.listen(128)
        self._listening.setblocking(False)
        self._spare = _spare_file()
        self._poll = select.epoll()
        self._poll.register(self._listening, select.EPOLLIN)
        threading.Thread(target=self._run, name="flambeau-channel", daemon=True).start()

    def serve(self, service: Service) -> bytes:
        """Register a service for other processes; return the name that they use."""
        name = os.urandom(SERVICE_BYTES)
        self.services[name] = service
        return name

    def connect(self, name: bytes) -> Connection:
        """Return the connection to the process whose endpoint has this name.  Raises ProcessGoneError."""
        with self._lock:
            connection = self._connections.get(name)
            if connection is None or connection.is_lost:
                connection = self._connections[name] = self._opened(name)
            return connection

    def _opened(self, name: bytes) -> Connection:
        connected = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            connected.connect(b"\0" + name)
            pid = _checked_pid(connected)
        except OSError as error:
            connected.close()
            whose = name.split(b"-")[1].decode("ascii", "replace") if name.count(b"-") == 2 else "?"
            shown = name.rstrip(b"\0").decode("ascii", "replace")
            raise ProcessGoneError(f"process {whose} has ended: there is no endpoint {shown}", hint=OUTLIVE) from error
        connection = Connection(connected, pid)
        self._outgoing[connected.fileno()] = name, connection
        self._poll.register(connected, 0)  # hanging up is always reported
        return connection

    def settle(self) -> None:
        """Handle all messages that have arrived."""
        with self._lock:
            if self._spare < 0:
                self._listen_again()
            while ready := self._poll.poll(0):  # new connections may have sent messages
                for file, event in ready:
                    self._handle(file, event)

    def _run(self) -> None:
        while True:
            self._poll.poll(-1 if self._spare >= 0 else DEAF_SECONDS)
            self.settle()  # polls again under the lock, since file numbers may have been reused

    def _handle(self, file: int, event: int) -> None:
        if file == self._listening.fileno():
            self._accept()
        elif file in self._peers:
            self._serve(self._peers[file])
        elif file in self._leaving:
            peer = self._leaving.pop(file)
            self._poll.unregister(file)
            os.close(file)
            self._lost(peer)
        elif file in self._outgoing and event & (select.EPOLLHUP | select.EPOLLERR):
            self._lose(file)

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._listening.accept()
            except BlockingIOError:
                return
            except OSError:
                if self._turn_away():
                    continue
                return
            try:
                pid = _checked_pid(accepted)
            except PermissionError:
                accepted.close()
                continue
            accepted.setblocking(False)
            self._peers[accepted.fileno()] = Peer(accepted, pid)
            self._poll.register(accepted, select.EPOLLIN)

    def _turn_away(self) -> bool:
        """Close the next connection when no more files can be opened, using the spare file; return whether one came.

        If the spare file cannot be opened again, listening stops until it can: the socket would stay ready forever.
        """
        spare, self._spare = self._spare, -1
        os.close(spare)
        try:
            accepted, _ = self._listening.accept()
            accepted.close()
            return True
        except OSError:
            return False
        finally:
            self._spare = _spare_file()
            if self._spare < 0:
                self._poll.unregister(self._listening)

    def _listen_again(self) -> None:
        self._spare = _spare_file()
        if self._spare >= 0:
            self._poll.register(self._listening, select.EPOLLIN)

    def _serve(self, peer: Peer) -> None:
        with suppress(BlockingIOError):
            while True:
                try:
                    message = peer.socket.recv(MAX_BYTES)
                except ConnectionError:
                    message = b""
                if len(message) < _HEAD.size:  # the peer has ended, or uses another protocol
                    self._forget(peer)
                    return
                self._answer(peer, message)

    def _answer(self, peer: Peer, message: bytes) -> None:
        number, service = _HEAD.unpack_from(message)
        status, answer, files = self._asked(peer, service, message[_HEAD.size :])
        try:
            if number:
                with suppress(ConnectionError):
                    socket.send_fds(peer.socket, [_ANSWERED.pack(number, status) + answer], files)
        finally:
            for file in files:
                os.close(file)

    def _asked(self, peer: Peer, service: bytes, request: bytes) -> tuple[bytes, bytes, tuple[int, ...]]:
        handler = self.services.get(service)
        if handler is None:
            return _GONE, b"the shared object is gone", ()
        try:
            return _DONE, *handler.asked(peer, request)
        except ProcessGoneError as error:
            return _GONE, error.fact.encode(), ()
        except FlambeauError as error:
            return _FAILED, error.fact.encode(), ()
        except Exception as error:  # noqa: BLE001  (sent to the requesting side; this thread serves others too)
            return _FAILED, f"{type(error).__name__}: {error}".encode(), ()

    def _forget(self, peer: Peer) -> None:
        del self._peers[peer.socket.fileno()]
        self._poll.unregister(peer.socket)  # closing does not unregister it while a child has a copy
        peer.socket.close()
        process = process_descriptor(peer.pid)
        if process is None:
            self._lost(peer)
        else:
            self._leaving[process] = peer
            self._poll.register(process, select.EPOLLIN)

    def _lost(self, peer: Peer) -> None:
        for service in list(self.services.values()):
            service.lost(peer)

    def _lose(self, file: int) -> None:
        name, connection = self._outgoing.pop(file)
        self._poll.unregister(file)
        if self._connections.get(name) is connection:
            del self._connections[name]
        connection.lose()
        connection.close()

    def pause(self) -> Any:
        """Stop handling messages until the returned lock is released, so that a fork copies no half-handled state."""
        self._lock.acquire()
        return self._lock

    def close(self) -> None:
        """Close this process's copies of all sockets."""
        self._poll.close()
        self._listening.close()
        if self._spare >= 0:
            os.close(self._spare)
        for peer in self._peers.values():
            peer.socket.close()
        for file in self._leaving:
            os.close(file)
        for _, connection in self._outgoing.values():
            connection.close()


def process_descriptor(pid: int) -> int | None:
    """Return a file that becomes readable when the process ends; None if it has ended, or without such files."""
    if pid == os.getpid():  # tests have two endpoints in one process
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def _spare_file() -> int:
    """Open a spare file, to be closed when the limit of open files is reached; return -1 if that is so now."""
    try:
        return os.open(os.devnull, os.O_RDONLY)
    except OSError:
        return -1


_lock = threading.Lock()
_held_by_fork: list[Any] = []  # locks
_endpoint: Endpoint | None = None


def endpoint() -> Endpoint:
    """Return this process's endpoint, made at first use."""
    global _endpoint
    if _endpoint is not None:  # does not wait for a fork
        return _endpoint
    with _lock:
        if _endpoint is None:
            _endpoint = Endpoint()
        return _endpoint


def settle() -> None:
    """Handle all messages and ends of processes that have arrived."""
    if _endpoint is not None:
        _endpoint.settle()


def _checked_pid(connected: socket.socket) -> int:
    """Return the process at the other end.  Raises PermissionError if another user runs it."""
    pid, uid, _ = _CREDENTIALS.unpack(connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    if uid != os.geteuid():
        raise PermissionError(f"process {pid} runs as user {uid}, this one as user {os.geteuid()}")
    return int(pid)


def _before_fork() -> None:
    """Pause before a fork.  An interrupt may end this function anywhere, and the process still forks."""
    _lock.acquire()
    _held_by_fork.append(_lock)
    if _endpoint is not None:
        _held_by_fork.append(_endpoint.pause())


def _in_parent() -> None:
    while _held_by_fork:
        _held_by_fork.pop().release()


def _in_child() -> None:
    global _endpoint, _lock
    _held_by_fork.clear()
    _lock = threading.Lock()
    former, _endpoint = _endpoint, None
    if former is not None:
        former.close()


os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child)
