"""The hub of a job: a server that holds the store of keys, and matches and compares the calls of all ranks.

One process, that of rank 0, runs a `Hub` in a thread.  Every process has one connection to it.

- A message is its length and a JSON object, at most MAX_MESSAGE bytes; at most as many bytes of data may follow.  The
  first message carries the job's secret; a connection without it is closed.  Nothing that is received is executed.
- The members of a collective post their calls under one key, and give their bytes then or later.
- A receive from any process has its own key.  The hub matches it with the first send to its rank that no other
  receive has taken (`Receive`), and posts its call under that send's key.
- The bytes of ranks on the hub's machine do not pass through the hub: a rank's message says where they are
  (exchange.py).  When all members have given theirs, the hub sends each rank the locations of the others' bytes.
- Ranks on other machines send their bytes to the hub in pieces, and receive those of the others in pieces.
- The hub keeps each file of bytes open until all members have read it, so a complete collective stays complete if a
  member exits.
- Collectives that GPUs run among themselves are logged (calls.py): the hub learns of them later, and compares them.
- All ranks get the same failure, with every rank's call and line, as soon as two calls differ, a process has ended, or
  all processes wait and no collective can complete.
- The launcher tells the hub of each rank whose process has ended, so that other ranks do not wait for it.
- A rank that has left and connects again, as after `destroy_process_group`, waits until all others have left too.
  Then the hub forgets the former group and its failure.
"""

from __future__ import annotations

import encodings.idna  # noqa: F401  (sockets load it, with a shared library: see `_in_child`)
import hmac
import json
import math
import os
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakSet

from .calls import Comparison, wrong_size
from .store_contents import Contents

MAX_MESSAGE = 1 << 26  # bytes: those of a store's value are up to six each
PIECE = 1 << 20  # most bytes of data in one message
SILENCE = 10  # seconds of silence before keepalive probes are sent to another machine
LOOKS = 3  # unanswered probes, and seconds between them, before the machine counts as gone
SIZE = 4  # bytes of a message's length
GOODBYE = 10.0  # seconds that an exiting process waits for others to read its bytes
HOST_NAMES = {"localhost": "127.0.0.1"}


def packed(message: dict[str, Any], data: bytes = b"") -> bytes:
    """Return a message as bytes, with its data.  Raises ValueError if it is too long."""
    text = json.dumps({**message, "nbytes": len(data)} if data else message, separators=(",", ":")).encode()
    if len(text) > MAX_MESSAGE:
        raise ValueError(f"a message of {len(text)} bytes; at most {MAX_MESSAGE} are sent")
    return len(text).to_bytes(SIZE, "little") + text + data


def watched(link: socket.socket) -> None:
    """Configure a connection: no delay of small messages, and keepalive probes to detect machines that are gone."""
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, SILENCE)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, LOOKS)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, LOOKS)


class Inbox:
    """Parser of a connection's messages from received bytes.  The data of a message becomes its entry "data"."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._message: dict[str, Any] | None = None  # the message whose data is incomplete

    def add(self, data: bytes) -> list[dict[str, Any]]:
        """Add bytes; return the messages that they complete.  Raises ValueError for an invalid message."""
        self._data += data
        messages: list[dict[str, Any]] = []
        while True:
            if self._message is None:
                self._message = self._next()
            if self._message is None:
                return messages
            nbytes = self._message.get("nbytes", 0)
            if type(nbytes) is not int or not 0 <= nbytes <= MAX_MESSAGE:
                raise ValueError(f"a message with {nbytes} bytes of data; at most {MAX_MESSAGE} are read")
            if len(self._data) < nbytes:
                return messages
            self._message["data"] = self._taken(nbytes)
            messages.append(self._message)
            self._message = None

    def _next(self) -> dict[str, Any] | None:
        if len(self._data) < SIZE:
            return None
        length = int.from_bytes(self._data[:SIZE], "little")
        if length > MAX_MESSAGE:
            raise ValueError(f"a message of {length} bytes; at most {MAX_MESSAGE} are read")
        if len(self._data) < SIZE + length:
            return None
        message = json.loads(self._taken(SIZE + length)[SIZE:])
        if not isinstance(message, dict):
            raise ValueError("a message that is not an object")
        return message

    def _taken(self, nbytes: int) -> bytes:
        taken = bytes(self._data[:nbytes])
        del self._data[:nbytes]
        return taken


class Piece(NamedTuple):
    """A part of a file, to be sent to a rank on another machine as the data of `message`."""

    message: dict[str, Any]
    file: int
    offset: int
    nbytes: int


class Call(NamedTuple):
    """A rank's part of a collective.  same: what must be equal on all ranks;  text: the call and its line.

    gpu: a GPU that no other member on the same machine, `place`, may use; "" for none.
    sends, takes: bytes to and from each member if they may differ; else None.
    """

    same: Any
    text: str
    place: str
    gpu: str
    sends: list[int] | None
    takes: list[int] | None


class Connection:
    """One connection.  rank: None before the first message, and for a connection that uses only the store.

    place: the process's; see `place_of_processes`.
    """

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self.place = ""
        self.inbox = Inbox()
        self.outbox: deque[bytes | Piece] = deque()
        self.is_known = False
        self.rank: int | None = None
        self.has_left = False
        self.announced = 0  # the number of complete collectives that were announced to it


class Receive:
    """A receive that the hub matches with a send.

    message: the call.  channels: the channels of possible sends, and their ranks.
    given: the message with which the receiver gave its bytes, if it arrived before the match.
    meeting: the key of the send; None until there is a match.
    """

    def __init__(self, rank: int, message: dict[str, Any]) -> None:
        self.rank, self.message = rank, message
        self.channels: dict[str, int] = message["channels"]
        self.given: dict[str, Any] | None = None
        self.meeting: str | None = None

    @property
    def text(self) -> str:
        return str(self.message["text"])

    def begins_with(self, prefix: str) -> bool:
        """Return whether the call's key begins with the prefix of a group."""
        return str(self.message["key"]).startswith(prefix)


class Meeting:
    """A collective whose bytes not all members have read yet.

    given: by rank, the location of its bytes and its modelled times.  files: by rank, the file that the hub keeps open.
    keys: by rank, the name of a matched receive in its process.
    aborted: the ranks that neither wait for it nor read the bytes.
    """

    def __init__(self, members: list[int]) -> None:
        self.members = members
        self.calls: dict[int, Call] = {}
        self.given: dict[int, dict[str, Any]] = {}
        self.readers: set[int] = set()
        self.files: dict[int, int] = {}
        self.keys: dict[int, str] = {}
        self.aborted: set[int] = set()
        self.is_announced = False  # whether the members know the locations of all bytes

    @property
    def texts(self) -> dict[int, str]:
        return {rank: call.text for rank, call in self.calls.items()}

    def waits_for(self, rank: int) -> bool:
        """Return whether a member waits for the call of a rank."""
        return rank in self.members and rank not in self.calls and not self.calls.keys() <= self.aborted

    @property
    def is_complete(self) -> bool:
        return len(self.given) == len(self.members)

    def given_to(self, index: int) -> dict[str, Any]:
        """Return, by rank, the location of each member's bytes, for the member at `index`.

        part: the offset and number of the bytes for this member; None if all bytes are for it.
        """
        locations = {}
        for rank, what in self.given.items():
            sends = self.calls[rank].sends
            part = None if sends is None else [sum(sends[:index]), sends[index]]
            locations[str(rank)] = {**what, "part": part}
        return locations

    def keep(self, rank: int, where: Any) -> Any:
        """Open a rank's file; return its size, and its locations in this process and in the rank's process."""
        if where is None:
            return None
        process, file, size = (int(number) for number in where)
        places = [[process, file]]
        with suppress(OSError):  # the rank has ended, or too many files are open
            self.files[rank] = os.open(f"/proc/{process}/fd/{file}", os.O_RDONLY | os.O_CLOEXEC)
            places.insert(0, [os.getpid(), self.files[rank]])
        return [size, places]

    def receive(self, rank: int, data: bytes) -> None:
        """Append data to the bytes received from a rank on another machine."""
        if rank not in self.files:
            self.files[rank] = os.memfd_create("flambeau", os.MFD_CLOEXEC)
        with open(self.files[rank], "wb", buffering=0, closefd=False) as file:
            while data:
                data = data[file.write(data) :]

    def received(self, rank: int) -> Any:
        """Keep the received bytes of a rank on another machine; return the same as `keep`."""
        file = self.files.get(rank)
        return None if file is None else [os.fstat(file).st_size, [[os.getpid(), file]]]

    def forget(self) -> None:
        """Close the files."""
        for file in self.files.values():
            os.close(file)
        self.files = {}


def _resolved(host: str, port: int) -> tuple[int, Any]:
    """Return the address family and address of a host, IPv4 if it has one.  Raises OSError for an unknown name."""
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    family, *_, address = next((entry for entry in addresses if entry[0] == socket.AF_INET), addresses[0])
    return family, address[:2]


def place_of_processes() -> str:
    """Return a name of the process-id namespace: equal in processes that see each other's process ids."""
    with suppress(OSError):
        kernel = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{kernel} {os.readlink('/proc/self/ns/pid')}"
    return socket.gethostname()


_hubs: WeakSet[Hub] = WeakSet()


def _in_child() -> None:
    """Close a forked child's copies of the sockets, so that the ranks notice when the parent exits.

    Ranks may be forked too.  They load no shared library: the loader has a lock that stays held in the child if another
    thread of the parent held it, as while it throws a C++ exception.
    """
    for hub in list(_hubs):
        hub.drop()


os.register_at_fork(after_in_child=_in_child)


class Hub:
    """The server.  address: where it listens.  `stop` ends it."""

    def __init__(self, host: str, port: int, world_size: int, secret: str) -> None:
        self._secret = secret
        self._world_size = world_size
        self._place = place_of_processes()
        family, address = _resolved(HOST_NAMES.get(host, host), port)
        self._listener = socket.create_server(address, family=family)
        self.address: tuple[str, int] = self._listener.getsockname()[:2]
        self._waker, self._wake = socket.socketpair()
        self._contents = Contents()
        self._waiters: list[tuple[Connection, int, list[str]]] = []
        self._ranks: dict[int, Connection] = {}
        self._meetings: dict[str, Meeting] = {}
        self._receives: dict[tuple[int, str], Receive] = {}  # those whose bytes have not been read, by rank and key
        self._unmatched: list[Receive] = []  # in the order of the calls
        self._logged: dict[str, Comparison] = {}  # by channel
        self._forgotten: set[str] = set()  # names of aborted groups
        self._waiting: dict[int, list[str]] = {}  # by rank, keys of collectives of which it waits for any one
        self._latest: dict[int, str] = {}
        self._gone: dict[int, str] = {}
        self._ended: dict[int, str] = {}  # how the processes of ranks ended, as reported by the launcher
        self._failure: str | None = None
        self._early: list[tuple[Connection, dict[str, Any]]] = []  # ranks of the next group, and their first messages
        self._is_ending = self._is_hurried = False
        self._is_deaf = threading.Event()  # whether the listener is closed
        self._read_all = threading.Condition()  # notified for each collective that all members have read
        self._selector = selectors.DefaultSelector()
        _hubs.add(self)
        self._thread = threading.Thread(target=self._serve, name="flambeau hub", daemon=True)
        self._thread.start()

    def retire(self) -> None:
        """Accept no more connections, and end once all ranks have left.  Host: does not wait.

        Another hub may then listen at the address.
        """
        self._is_ending = True
        with suppress(OSError):  # it has ended
            self._wake.send(b"x")
        while self._listener.fileno() >= 0 and self._thread.is_alive():
            self._is_deaf.wait(GOODBYE)

    def settle(self) -> None:
        """Wait until all bytes of complete collectives have been read, or for GOODBYE seconds, at process exit."""
        with self._read_all:
            self._read_all.wait_for(lambda: not self._is_read_from(), GOODBYE)

    def join(self) -> None:
        """Wait until the hub has ended.  Does nothing in a forked child."""
        if self._thread.is_alive():
            self._thread.join()

    def stop(self) -> None:
        """End once all bytes of complete collectives have been read, or after GOODBYE seconds.  Host: waits."""
        self._is_hurried = True
        self.retire()
        self.join()

    def drop(self) -> None:
        """Close this process's copies of the sockets, regardless of a lock that a thread of the parent held."""
        self._read_all = threading.Condition()
        with suppress(RuntimeError, ValueError):  # the parent was changing the selector's table, or had closed it
            for key in list((self._selector.get_map() or {}).values()):
                if isinstance(key.fileobj, socket.socket):
                    key.fileobj.close()
        for resource in (self._listener, self._waker, self._wake, self._selector):
            resource.close()
        for meeting in self._meetings.values():
            meeting.forget()

    # connections

    def _serve(self) -> None:
        with self._selector as selector:
            self._listener.setblocking(False)
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._waker, selectors.EVENT_READ)
            end = math.inf
            while not self._is_ending or (self._is_needed() and time.monotonic() < end):
                if self._is_ending and end == math.inf and (self._is_hurried or self._failure is not None):
                    end = time.monotonic() + GOODBYE
                for key, events in selector.select(None if end == math.inf else max(end - time.monotonic(), 0)):
                    if key.fileobj is self._waker:
                        self._waker.recv(64)
                        self._accept_no_more()
                    elif key.fileobj is self._listener:
                        with suppress(OSError):  # the client has given up, or the listener is closed
                            self._accept()
                    else:
                        self._handle(key.data, events)
            for link in [entry for entry in selector.get_map().values() if entry.data is not None]:
                self._send(link.data, over=True)
                link.data.link.close()
        for meeting in self._meetings.values():
            meeting.forget()
        for resource in (self._listener, self._waker, self._wake):
            resource.close()
        self._is_deaf.set()

    def _accept_no_more(self) -> None:
        """Close the listener, so that another hub may listen at the address; redirect ranks of the next group to it."""
        if self._listener.fileno() >= 0:
            self._selector.unregister(self._listener)
            self._listener.close()
            self._is_deaf.set()
        early, self._early = self._early, []
        for connection, _ in early:
            self._send(connection, id=0, again=True)

    def _is_needed(self) -> bool:
        """Return whether ranks remain; when stopping or after a failure, whether they still have work here.

        That is bytes of complete collectives to read, or calls of GPUs to report.
        """
        has_ranks = any(not connection.has_left for connection in self._ranks.values())
        if not self._is_hurried and self._failure is None:
            return has_ranks
        is_reported_to = bool(self._logged) and self._failure is None
        return self._is_read_from() or (is_reported_to and has_ranks)

    def _is_read_from(self) -> bool:
        """Return whether a rank still has bytes to read."""
        return any(meeting.is_announced for meeting in list(self._meetings.values()))

    def _accept(self) -> None:
        link, _ = self._listener.accept()
        link.setblocking(False)
        watched(link)
        self._selector.register(link, selectors.EVENT_READ, Connection(link))

    def _handle(self, connection: Connection, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            self._flush(connection)
        if not events & selectors.EVENT_READ:
            return
        try:
            data = connection.link.recv(1 << 16)
            messages = connection.inbox.add(data) if data else None
        except BlockingIOError:
            return
        except (OSError, ValueError):
            messages = None
        if messages is None:
            self._lost(connection)
            return
        for message in messages:
            try:
                self._receive(connection, message)
            except (KeyError, TypeError, ValueError, AttributeError):  # not a valid message
                self._lost(connection)
                return

    def _send(self, connection: Connection, **message: Any) -> None:
        connection.outbox.append(packed(message))
        self._flush(connection)

    def _flush(self, connection: Connection) -> None:
        try:
            while connection.outbox:
                data = connection.outbox.popleft()
                if isinstance(data, Piece):
                    data = packed(data.message, os.pread(data.file, data.nbytes, data.offset))
                sent = connection.link.send(data)
                if sent < len(data):
                    connection.outbox.appendleft(data[sent:])
        except BlockingIOError:
            connection.outbox.appendleft(data)
        except OSError:
            return  # the next read reports the end
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if connection.outbox else 0)
        self._selector.modify(connection.link, events, connection)

    def _lost(self, connection: Connection) -> None:
        """Handle the end of a connection: the job fails if its rank has not left the group."""
        self._selector.unregister(connection.link)
        connection.link.close()
        self._waiters = [waiter for waiter in self._waiters if waiter[0] is not connection]
        self._early = [early for early in self._early if early[0] is not connection]
        rank = connection.rank
        if rank is None or self._ranks.get(rank) is not connection:
            return
        del self._ranks[rank]
        self._waiting.pop(rank, None)
        if not connection.has_left:
            self._gone[rank] = "its process has ended"
            self._fail(f"the process of rank {rank} has ended", {})
        self._reads_no_more(rank)
        self._begin_next()

    # messages

    def _receive(self, connection: Connection, message: dict[str, Any]) -> None:
        action = message["do"]
        if not connection.is_known:
            if action != "hello" or not hmac.compare_digest(str(message["secret"]), self._secret):
                raise ValueError("no secret")
            connection.is_known = True
            self._welcome(connection, message)
        elif action == "post":
            self._post(connection, message)
        elif action == "read":
            rank = self._rank_of(connection)
            self._read(rank, self._meeting_key(rank, message["key"]))
        elif action == "receive":
            self._match_receive(self._rank_of(connection), message)
        elif action == "piece":
            self._meetings[message["key"]].receive(self._rank_of(connection), message["data"])
        elif action == "give":
            self._give(self._rank_of(connection), message)
        elif action == "wait":
            rank, keys = self._rank_of(connection), [str(key) for key in message["keys"]]
            self._waiting.pop(rank, None)
            if keys and message["seen"] == connection.announced:  # otherwise an answer is on its way
                self._waiting[rank] = keys
                self._look_for_a_hang()
        elif action == "log":
            self._log(self._rank_of(connection), message)
        elif action == "late":
            waited = f"rank {connection.rank} has waited for {message['seconds']} s, the group's timeout"
            rank, key = self._rank_of(connection), message["key"]
            if texts := self._texts(rank, key):
                self._fail(waited, texts)
            else:
                self._fail(waited, self._logged[key].unfinished() if key in self._logged else {})
        elif action == "broken":
            self._fail(f"rank {self._rank_of(connection)} reports {message['text']}", {})
        elif action == "ended":
            self._note_end(int(message["rank"]), str(message["how"]))
            self._send(connection, id=message["id"], value=None)
        elif action == "forget":
            self._forget_group(self._rank_of(connection), str(message["group"]))
        elif action == "leave":
            self._leave(connection)
            self._send(connection, id=message["id"], value=None)  # the files of its bytes are open
            self._begin_next()
        else:
            self._use_store(connection, action, message)

    def _welcome(self, connection: Connection, message: dict[str, Any]) -> None:
        rank, size = message.get("rank"), message.get("size")
        wrong = ""
        if rank in self._gone:
            self._early.append((connection, message))
            self._begin_next()
            return
        if rank is not None:
            if size != self._world_size:
                wrong = f"rank {rank} has world_size {size}, and rank 0 has {self._world_size}"
            elif not 0 <= rank < size:
                wrong = f"rank {rank} is not in a world of {size} processes"
            elif rank in self._ranks:
                wrong = f"there are two processes of rank {rank}"
            else:
                connection.rank, connection.place = rank, str(message["place"])
                self._ranks[rank] = connection
                self._ended.pop(rank, None)  # the rank continues in a process that the launcher did not start
        self._send(connection, id=0, value=None, error=wrong, is_near=connection.place == self._place)
        if self._failure is not None:
            self._send(connection, failure=self._failure)

    def _begin_next(self) -> None:
        """Forget the group that all ranks have left, if a rank has connected again."""
        if self._early and self._is_ending:
            self._accept_no_more()
        if not self._early or any(not connection.has_left for connection in self._ranks.values()):
            return
        for meeting in self._meetings.values():
            meeting.forget()
        for table in (self._ranks, self._meetings, self._logged, self._waiting, self._latest, self._gone):
            table.clear()
        self._receives.clear()
        self._unmatched.clear()
        self._forgotten.clear()
        self._failure = None
        early, self._early = self._early, []
        for connection, message in early:
            self._welcome(connection, message)

    def _forget_group(self, rank: int, group: str) -> None:
        """Stop a rank's waits for the calls of a group, and stop comparing the group's logged calls."""
        prefix = f"{group}:"
        self._forgotten.add(group)
        for key, meeting in list(self._meetings.items()):
            if key.startswith(prefix) and rank in meeting.members:
                meeting.aborted.add(rank)
                if meeting.is_announced:
                    self._read(rank, key)
        self._unmatched = [
            receive for receive in self._unmatched if receive.rank != rank or not receive.begins_with(prefix)
        ]
        for channel in [name for name in self._logged if name.startswith(prefix)]:
            del self._logged[channel]

    def _rank_of(self, connection: Connection) -> int:
        if connection.rank is None:
            raise ValueError("a collective of a connection without a rank")
        return connection.rank

    def _leave(self, connection: Connection) -> None:
        """Handle a rank that leaves the group: the job fails if other ranks wait for it."""
        rank = self._rank_of(connection)
        connection.has_left = True
        self._gone[rank] = "has left the group"
        self._waiting.pop(rank, None)
        self._reads_no_more(rank)
        for meeting in self._meetings.values():
            if meeting.waits_for(rank):
                self._fail(f"rank {rank} has left the group", meeting.texts)
                return
        for logged in self._logged.values():
            if rank in logged.members and logged.is_behind(rank):
                self._fail(f"rank {rank} has left the group", logged.texts())
                return
        self._unmatched = [receive for receive in self._unmatched if receive.rank != rank]
        self._check_senders()
        self._look_for_a_hang()

    def _note_end(self, rank: int, how: str) -> None:
        """Handle the end of a rank's process: a rank that has not joined the group never will."""
        self._ended[rank] = how
        for meeting in self._meetings.values():
            if meeting.waits_for(rank) and rank not in self._ranks:
                self._fail(f"rank {rank} {self._absence(rank)}", meeting.texts)
                return
        self._check_senders()

    def _absence(self, rank: int) -> str:
        """Return why a rank makes no more calls; "" if it still may."""
        if rank in self._gone:
            return self._gone[rank]
        if rank in self._ended and rank not in self._ranks:
            return f"{self._ended[rank]} before it joined the group"
        return ""

    # the store

    def _use_store(self, connection: Connection, action: str, message: dict[str, Any]) -> None:
        number = message["id"]
        if action == "await":
            self._waiters.append((connection, number, list(message["keys"])))
        else:
            try:
                self._send(connection, id=number, value=self._contents.answer(message))
            except ValueError as failure:  # `add` to a value that is not a number
                self._send(connection, id=number, error=str(failure))
        self._tell_waiters()

    def _tell_waiters(self) -> None:
        waiters, self._waiters = self._waiters, []
        for connection, number, keys in waiters:
            if self._contents.has(keys):
                self._send(connection, id=number, value=None)
            else:
                self._waiters.append((connection, number, keys))

    # collectives

    def _post(self, connection: Connection, message: dict[str, Any]) -> None:
        rank, key, members = self._rank_of(connection), message["key"], list(message["members"])
        meeting = self._meetings.setdefault(key, Meeting(members))
        sizes = message["sends"], message["takes"]
        call = Call(message["same"], str(message["text"]), connection.place, message["gpu"], *sizes)
        self._latest[rank] = call.text
        meeting.calls[rank] = call
        other = next((posted for posted in meeting.calls.values() if posted.same != call.same), None)
        if other is not None or meeting.members != members:
            self._fail("ranks make different calls", meeting.texts)
            return
        missing = [member for member in members if member not in meeting.calls and self._absence(member)]
        if missing:
            self._fail(f"rank {missing[0]} {self._absence(missing[0])}", meeting.texts)
            return
        alike = (call.place, call.gpu)
        users = sorted(
            member for member, posted in meeting.calls.items() if (posted.place, posted.gpu) == alike and call.gpu
        )
        if len(users) > 1:
            what = f"ranks {users[0]} and {users[1]} both use {call.gpu}: each needs its own GPU"
            self._fail(what, meeting.texts)
        elif call.sends is not None and len(meeting.calls) == len(members):
            byte_counts = [(member, meeting.calls[member].sends, meeting.calls[member].takes) for member in members]
            if wrong := wrong_size(byte_counts):
                self._fail(wrong, meeting.texts)
        for receive in self._unmatched:
            if self._is_match(receive, key):
                self._join(receive, key)
                break

    # receives from any process

    def _match_receive(self, rank: int, message: dict[str, Any]) -> None:
        """Match a receive with the first suitable send; if there is none, keep it for a later send."""
        receive = self._receives[rank, message["key"]] = Receive(rank, message)
        self._latest[rank] = receive.text
        self._unmatched.append(receive)
        key = next((key for key in self._meetings if self._is_match(receive, key)), None)
        if key is not None:
            self._join(receive, key)
        else:
            self._check_senders()

    def _is_match(self, receive: Receive, key: str) -> bool:
        """Return whether a receive matches the message of a key, which is sent and not taken by another receive."""
        source, calls = receive.channels.get(key[: key.rfind("/") + 1]), self._meetings[key].calls
        return source is not None and source in calls and receive.rank not in calls

    def _join(self, receive: Receive, key: str) -> None:
        """Match a receive with the message of a key."""
        self._unmatched.remove(receive)
        receive.meeting, meeting = key, self._meetings[key]
        meeting.keys[receive.rank] = receive.message["key"]
        connection = self._ranks[receive.rank]
        self._post(connection, {**receive.message, "key": key, "members": meeting.members})
        if receive.given is not None:
            self._give(receive.rank, receive.given)

    def _meeting_key(self, rank: int, key: str) -> str:
        """Return the key under which all members post a call; for an unmatched receive, its own key."""
        receive = self._receives.get((rank, key))
        return key if receive is None or receive.meeting is None else receive.meeting

    def _texts(self, rank: int, key: str) -> dict[int, str]:
        """Return the calls of a collective, by rank; an empty dict if it is unknown."""
        meeting, receive = self._meetings.get(self._meeting_key(rank, key)), self._receives.get((rank, key))
        if meeting is not None:
            return meeting.texts
        return {} if receive is None else {rank: receive.text}

    def _check_senders(self) -> None:
        """Fail if no process is left that may send a message which a rank waits for."""
        for receive in self._unmatched:
            senders = sorted(receive.channels.values())
            if all(self._absence(sender) for sender in senders):
                self._fail(f"rank {senders[0]} {self._absence(senders[0])}", {receive.rank: receive.text})

    # bytes

    def _log(self, rank: int, message: dict[str, Any]) -> None:
        """Compare logged calls of a rank with those of the other ranks."""
        members = list(message["members"])
        if message["channel"].partition(":")[0] in self._forgotten:
            return
        logged = self._logged.setdefault(message["channel"], Comparison(members))
        if logged.members != members:
            self._fail("ranks make different calls", logged.unfinished())
            return
        difference = logged.add(rank, message)
        self._latest.update({rank: logged.latest[rank]} if rank in logged.latest else {})
        missing = [member for member in logged.members if member in self._gone and logged.is_behind(member)]
        if difference is not None:
            self._fail(difference.reason, difference.texts)
        elif missing:
            self._fail(f"rank {missing[0]} {self._gone[missing[0]]}", logged.texts())

    def _give(self, rank: int, message: dict[str, Any]) -> None:
        key, receive = self._meeting_key(rank, message["key"]), self._receives.get((rank, message["key"]))
        if receive is not None and receive.meeting is None:
            receive.given = message
            return
        meeting = self._meetings[key]
        is_near = self._ranks[rank].place == self._place
        where = meeting.keep(rank, message["where"]) if is_near else meeting.received(rank)
        meeting.given[rank] = {"where": where, "times": message.get("times")}
        if self._failure is None and meeting.is_complete:
            meeting.is_announced = True
            for index, member in enumerate(meeting.members):
                self._waiting.pop(member, None)
                if member in self._ranks:
                    own_key = meeting.keys.get(member, key)
                    self._announce(self._ranks[member], own_key, meeting.given_to(index), meeting.files)
            for member in meeting.members:
                if member not in self._ranks or member in meeting.aborted:
                    self._read(member, key)

    def _announce(self, connection: Connection, key: str, given: dict[str, Any], files: Mapping[int, int]) -> None:
        """Send a rank the locations of all bytes for it, or the bytes themselves if it is on another machine."""
        if connection.place != self._place:
            for rank, what in given.items():
                size, _ = what["where"] or (0, [])
                offset, nbytes = what["part"] or (0, size)
                what["where"], what["part"] = None, None
                if nbytes and int(rank) not in files:
                    self._fail(f"the process of rank {rank} has ended", {})
                    return
                for at in range(offset, offset + nbytes, PIECE):
                    message = {"key": key, "piece": rank}
                    piece = Piece(message, files[int(rank)], at, min(PIECE, offset + nbytes - at))
                    connection.outbox.append(piece)
        connection.announced += 1
        self._send(connection, key=key, given=given)

    def _read(self, rank: int, key: str) -> None:
        meeting = self._meetings.get(key)
        if meeting is None:
            return
        meeting.readers.add(rank)
        if len(meeting.readers) == len(meeting.members):
            del self._meetings[key]
            for member, own_key in meeting.keys.items():
                del self._receives[member, own_key]
            meeting.forget()
            for member in meeting.members:
                if member in self._ranks:
                    self._send(self._ranks[member], free=key)
            with self._read_all:
                self._read_all.notify_all()

    def _reads_no_more(self, rank: int) -> None:
        """Stop keeping the bytes of other ranks for a rank that has gone."""
        for key, meeting in list(self._meetings.items()):
            if rank in meeting.members and meeting.is_announced:
                self._read(rank, key)

    def _look_for_a_hang(self) -> None:
        """Fail if every live rank waits for a collective, as none of them can complete."""
        live = [rank for rank, connection in self._ranks.items() if not connection.has_left]
        if not live or len(self._ranks) + len(self._gone) < self._world_size:
            return  # some ranks have not joined yet
        if all(rank in self._waiting for rank in live):
            self._fail("all ranks wait for each other", {})

    def _fail(self, reason: str, calls: Mapping[int, str]) -> None:
        """Report to all ranks, once, why the job cannot continue, with every rank's call.

        calls: the texts of the calls that caused the failure, by rank.
        """
        if self._failure is not None:
            return
        lines = [reason]
        for rank in range(self._world_size):
            if rank in calls:
                state = calls[rank]
            elif rank in self._waiting and (text := self._texts(rank, self._waiting[rank][0]).get(rank)):
                state = text + " (waits)"
            elif rank in self._gone:
                state = self._gone[rank] + (f"; its last call: {self._latest[rank]}" if rank in self._latest else "")
            elif rank not in self._ranks:
                state = self._absence(rank) or "has not joined the group"
            else:
                state = f"has not called; its last call: {self._latest.get(rank, 'none')}"
            lines.append(f"  rank {rank}: {state}")
        self._failure = "\n".join(lines)
        for connection in list(self._ranks.values()):
            self._send(connection, failure=self._failure)
