"""Client side of collectives: posts a process's calls to the hub, and shares bytes with the other ranks.

- A rank on the hub's machine puts its bytes into an unnamed file in memory, and sends the file's descriptor number.
  The hub and the other ranks open the file through /proc, which requires the same user.  No file is left behind,
  however a process ends.
- A file is reused once every member has read it.
- A rank on another machine sends its bytes to the hub, and receives the bytes of the others from it.
- Collectives of virtual GPUs give their bytes when the stream has computed them.  A thread of the process runs the
  work that other ranks wait for (`serve_by`), whether or not the program waits for anything.
- Collectives that GPUs run among themselves are logged, and a thread monitors them (watchdog.py).
"""

from __future__ import annotations

import atexit
import mmap
import os
import socket
import sys
import threading
import time
import weakref
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, NamedTuple, Protocol

from ..core.native import run_handlers
from ..driver.api import Driver
from ..errors import ArgumentTypeError, FlambeauError, ValueRangeError, shown
from .calls import Channel, Description, Descriptions
from .flight_recorder import FlightRecorder
from .hub import GOODBYE, PIECE, Inbox, packed, place_of_processes, watched
from .watchdog import Watchdog

ENDED = "the process of rank 0, which holds the store, has ended"
LEFT = "this process has left the group"
REFUSED = "the store closed the connection before it answered"
SAME_CALLS = "all ranks of a group make the same calls, in the same order"
ROUND = 1 << 16  # file sizes are multiples of this
MAX_FREE = 16  # number of files kept for reuse
SLICE = 0.25  # seconds between checks for signals
MAX_LOGGED = 10_000  # calls in one message
JOIN = threading.Thread.join.__code__


class DistError(FlambeauError, RuntimeError):
    """Base class of the errors of process groups and stores."""


class DistBackendError(DistError):
    """A collective operation has failed."""


class DistNetworkError(DistError):
    """Base class of the network errors of a store, such as StoreTimeoutError."""


class DistStoreError(DistError):
    """A call of a key-value store has failed."""


class QueueEmptyError(DistStoreError):
    """The error of `queue_pop(key, block=False)` if the queue of the key is empty."""


class CollectiveError(DistBackendError):
    """A collective operation failed: the calls of the processes differ, a process ended, or the timeout expired.

    is_repeated: whether the same failure has been raised before in this process.
    """

    is_repeated = False


class StoreTimeoutError(DistStoreError, DistNetworkError):
    """A key was not set before the store's timeout, or no store accepted a connection in time."""


def checked_timeout(name: str, timeout: Any) -> timedelta:
    """Return a timeout.  Raises ArgumentTypeError for a value that is not a timedelta."""
    if not isinstance(timeout, timedelta):
        raise ArgumentTypeError(
            f"timeout must be a datetime.timedelta, got {shown(timeout)}",
            hint="for example timedelta(seconds=10)",
            operator=name,
        )
    return timeout


def as_timeout(name: str, timeout: Any) -> timedelta:
    """Return a timeout that may be a float, of seconds, as PyTorch's compiled classes take it; an int is an error.

    Raises: ArgumentTypeError for another value, ValueRangeError for NaN and numbers beyond those of a timedelta.
    """
    if not isinstance(timeout, float):
        return checked_timeout(name, timeout)
    try:
        return timedelta(seconds=timeout)
    except (ValueError, OverflowError):
        raise ValueRangeError(
            f"timeout is {timeout} s", hint="for example timedelta(seconds=10)", operator=name
        ) from None


class Given(NamedTuple):
    """The bytes that each member contributed to a collective, by rank.  times: modelled start and duration, in ns."""

    data: dict[int, bytes]
    times: dict[int, tuple[int, int]]


class NextGroup(CollectiveError):
    """The hub of a former group is ending, and this rank belongs to the group of the next hub at the address.

    is_told: whether the hub said so; otherwise it closed the connection, as it also does after a wrong secret.
    """

    is_told = False


class Unfinished(Protocol):
    """The result of a collective on the host (several.HostWork)."""

    def finish(self, timeout: timedelta | None = None) -> None: ...
    def is_completed(self) -> bool: ...


def at_exit(function: Callable[[], None]) -> None:
    """Call a function when the process exits, before those that were registered earlier.

    A process forked by multiprocessing does not run the functions of atexit.
    """
    atexit.register(function)
    if "multiprocessing.util" in sys.modules:
        sys.modules["multiprocessing.util"].Finalize(None, function, exitpriority=0)


def ends_by_exception() -> bool:
    """Return whether the process is ending because of an uncaught exception."""
    return hasattr(sys, "last_value")


class _Ending:
    """Ends the process with exit status 1 when it is deleted.

    An attribute of `sys` is deleted last, after functions of `atexit`, which cannot set the status, and all modules.
    """

    def __del__(self, end: Callable[[int], None] = os._exit) -> None:
        end(1)


def _end_with(failure: str) -> None:
    """Print a failure that no call has raised, and let the process exit with status 1."""
    print(failure, file=sys.stderr)
    vars(sys)["_flambeau_ending"] = _Ending()


class Slot:
    """A file in memory with the bytes of one post."""

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
    """Close a forked child's copies of the connections, so that the other ends notice when the parent exits."""
    for client in list(_clients):
        client.drop()


os.register_at_fork(after_in_child=_in_child)


class Client:
    """A connection to the hub: for the store only or, with a rank, for collectives too."""

    def __init__(
        self,
        host: str,
        port: int,
        secret: str,
        timeout: float,
        rank: int | None = None,
        size: int | None = None,
        find: Callable[[], tuple[str, int]] | None = None,
    ) -> None:
        """Connect.  find: returns the address, which may change until a hub listens; None uses host and port."""
        self.rank, self.size = rank, size
        self.recorder = FlightRecorder(rank)
        self.descriptions = Descriptions()
        self.channels: dict[str, Channel] = {}
        self._changed = threading.Condition()
        self._replies: dict[int, dict[str, Any]] = {}
        self._ready: dict[str, dict[str, Any]] = {}
        self._pieces: defaultdict[str, defaultdict[int, bytearray]]  # on another machine: bytes by key and rank
        self._pieces = defaultdict(lambda: defaultdict(bytearray))
        self._arrivals = 0  # number of messages received about collectives
        self._callers = weakref.WeakSet([threading.current_thread()])  # the threads that make calls
        self._waits: dict[threading.Thread, Sequence[str]] = {}  # the keys that threads wait for
        self._is_wait_reported = False  # whether the hub knows that all of these threads wait
        self._driver: Driver | None = None  # whose streams run collectives
        self._server: threading.Thread | None = None
        self._watchdog: Watchdog | None = None
        self.is_told = False  # whether the failure has been raised
        self._number = 0
        self._slots: dict[str, Slot] = {}
        self._free: list[Slot] = []
        self.unfinished: dict[str, deque[Unfinished]] = {}  # by channel, in the order of the calls
        self.failure: str | None = None
        self.aborted: set[str] = set()  # names of groups whose unfinished collectives raise CollectiveError
        self._is_over = False  # whether the hub has shut down normally, before any failure
        self._is_closed = False
        self._is_welcome = False  # whether the hub has answered the first message
        self._is_listening = True
        self._ends_before_machine = False
        self._sending, self._reporting = threading.Lock(), threading.Lock()
        self._link = _connected(find or (lambda: (host, port)), timeout)
        _clients.add(self)
        self._thread = threading.Thread(target=self._listen, name="flambeau hub client", daemon=True)
        self._thread.start()
        self._pid = os.getpid()
        self._send(do="hello", id=0, secret=secret, rank=rank, size=size, place=place_of_processes())
        try:
            reply = self._reply(0, timeout, "a connection to the hub, after all ranks have left the former group,")
        except BaseException:
            self.close()
            raise
        self._is_welcome = True
        self._is_near = reply.get("is_near", True)  # whether the hub can open files of this process
        if reply.get("again"):
            self.close()
            refusal = NextGroup("the hub of the former group ends", operator="init_process_group")
            refusal.is_told = True
            raise refusal
        if reply.get("error"):
            self.close()
            raise CollectiveError(
                reply["error"],
                hint="start each rank once, all with one WORLD_SIZE",
                operator="init_process_group",
            )
        if rank is not None:
            at_exit(self.end)

    def _send(self, data: bytes = b"", **message: Any) -> None:
        sent = packed(message, data)
        with self._sending, suppress(OSError):  # `_listen` handles it after the messages that came before
            self._link.sendall(sent)

    def _listen(self) -> None:
        inbox = Inbox()
        while True:
            try:
                data = self._link.recv(1 << 16)
                messages = inbox.add(data) if data else None
            except (OSError, ValueError):
                messages = None
            if messages is None:
                self._is_listening = False
                self._fail(LEFT if self._is_closed else ENDED if self._is_welcome else REFUSED)
                return
            with self._changed:
                for message in messages:
                    self._receive(message)
                self._changed.notify_all()

    def _receive(self, message: dict[str, Any]) -> None:
        if "failure" in message:
            self.failure = self.failure or message["failure"]
            self._arrivals += 1
        elif "over" in message:
            self._is_over = self.failure is None
        elif "piece" in message:
            self._pieces[message["key"]][int(message["piece"])] += message["data"]
        elif "given" in message:
            self._ready[message["key"]] = message["given"]
            self._arrivals += 1
            self._waits.clear()  # threads that go on waiting say so again
            self._is_wait_reported = False
        elif "free" in message:
            slot = self._slots.pop(message["free"], None)
            if slot is not None and len(self._free) < MAX_FREE:
                self._free.append(slot)
            elif slot is not None:
                slot.close()
        else:
            self._replies[message["id"]] = message

    def _fail(self, reason: str) -> None:
        with self._changed:
            self.failure = self.failure or reason
            self._arrivals += 1
            self._changed.notify_all()

    def _reply(self, number: int, timeout: float, what: str) -> dict[str, Any]:
        def is_over() -> bool:
            return number in self._replies or not self._is_listening

        with self._changed:
            is_there = self._changed.wait_for(is_over, timeout)
            if number in self._replies:
                return self._replies.pop(number)
        if not is_there:
            raise StoreTimeoutError(
                f"{what} was not available within {timeout:g} s",
                hint="check that every rank runs, with the same address and port",
                operator="store",
            )
        if not self._is_welcome:
            hint = "set the same FLAMBEAU_JOB_SECRET for all ranks, and the address of this job"
            raise NextGroup(str(self.failure), hint=hint, operator="store")
        raise CollectiveError(str(self.failure), operator="store")

    def ask(self, timeout: float, what: str, **message: Any) -> Any:
        """Send a request to the store; return its answer.

        Raises: StoreTimeoutError, CollectiveError; DistStoreError if the store refuses it.
        """
        with self._changed:
            self._number += 1
            number = self._number
        try:
            self._send(id=number, **message)
        except ValueError as failure:  # the message is too long
            reply = {"error": str(failure)}
        else:
            reply = self._reply(number, timeout, what)
        if "error" in reply:
            hint = "add to keys that hold numbers" if message["do"] == "add" else "divide the value among several keys"
            raise DistStoreError(reply["error"], hint=hint, operator=f"Store.{message['do']}")
        return reply.get("value")

    @property
    def local_host(self) -> str:
        """This machine's address, as the hub's machine reaches it."""
        return str(self._link.getsockname()[0])

    # collectives

    def call(
        self,
        key: str,
        members: Sequence[int],
        called: Description,
        gpu: str = "",
        nbytes: int = 0,
        channels: Mapping[str, int] | None = None,
    ) -> None:
        """Post a call under a key; `give` then adds its bytes.  Host: does not wait.

        gpu: a GPU that no other member may use.
        channels: for a receive that the hub matches with a send, the channels of possible sends and their ranks.
        Raises: CollectiveError if the group has failed.
        """
        self.check(called.name)
        self.recorder.add(key, called.name, called.text, nbytes)
        self.post(key, members, called, gpu, channels)

    def post(
        self,
        key: str,
        members: Sequence[int],
        called: Description,
        gpu: str,
        channels: Mapping[str, int] | None = None,
    ) -> None:
        """Post a call as `call` does, without an entry of the flight recorder."""
        self._add_caller()
        self._send(
            do="post" if channels is None else "receive",
            key=key,
            members=list(members),
            channels=channels,
            same=called.same,
            text=called.text,
            gpu=gpu,
            sends=called.sends,
            takes=called.takes,
        )

    def check(self, operator: str) -> None:
        """Raise CollectiveError if no further collectives are possible."""
        if self.failure is not None:
            raise self.error(operator)

    @property
    def is_broken(self) -> bool:
        """Whether pending collectives may never end: the group failed, and neither the hub nor this rank has left."""
        return self.failure not in (None, LEFT) and not self._is_over

    def channel(self, name: str, members: Sequence[int]) -> Channel:
        """Return the channel with this name, which logs calls."""
        channel = self.channels.get(name)
        if channel is None:
            channel = self.channels[name] = Channel(name, members)
        return channel

    def report(self) -> None:
        """Send new log entries to the hub.  Host: does not wait."""
        with self._reporting:  # two threads would mix the order of calls
            for channel in list(self.channels.values()):
                while channel.log:
                    self._send(do="log", **channel.unreported(MAX_LOGGED))

    def report_late(self, channel: Channel, seconds: float) -> None:
        """Tell the hub that a collective has not ended before its timeout."""
        self._send(do="late", key=channel.name, seconds=seconds)

    def report_broken(self, text: str) -> None:
        """Tell the hub that this rank's GPUs cannot continue."""
        self._send(do="broken", text=text)

    def await_failure(self, seconds: float) -> bool:
        """Wait for at most `seconds`; return whether the group has failed or the connection is closed."""
        with self._changed:
            return self._changed.wait_for(lambda: self.failure is not None or self._is_closed, seconds)

    def give(self, key: str, parts: Sequence[Any], times: tuple[int, int] | None = None) -> None:
        """Give the other ranks arrays of bytes, and the call's modelled start and duration.

        Host: does not wait on the hub's machine; elsewhere it waits until the bytes are sent.
        """
        size = sum(len(part) for part in parts)
        where = None
        if not self._is_near:
            for part in parts:
                for begin in range(0, len(part), PIECE):
                    self._send(part[begin : begin + PIECE].tobytes(), do="piece", key=key)
        elif size:
            slot = self._slot(size)
            at = 0
            for part in parts:
                slot.memory[at : at + len(part)] = part.tobytes()
                at += len(part)
            with self._changed:
                self._slots[key] = slot
            where = [os.getpid(), slot.file, size]
        self.recorder.started(key)
        self._send(do="give", key=key, where=where, times=times)

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

    def is_ready(self, key: str) -> bool:
        """Return whether all members have given their bytes."""
        return key in self._ready

    def wait(self, keys: Sequence[str], timeout: float, is_over: Callable[[], bool]) -> None:
        """Wait until one of several collectives is ready, or none can become ready.  Host: waits; serves other ranks.

        is_over: returns whether another thread has ended the wait.
        """
        end, me = time.monotonic() + timeout, threading.current_thread()
        self._add_caller()
        while True:
            with self._changed:
                seen = self._arrivals
            if self._driver is not None:
                self._driver.serve_exchanges()
            with self._changed:
                if self.failure is not None or is_over() or any(key in self._ready for key in keys):
                    return
                if seen == self._arrivals:
                    self._waits[me] = keys
                    try:
                        self._await_arrival(end)
                    except BaseException:
                        self._take_back_wait()
                        raise
                    finally:
                        self._waits.pop(me, None)
                    if seen == self._arrivals:
                        break
        self._send(do="late", key=keys[0], seconds=round(timeout, 3))
        with self._changed:
            self._changed.wait_for(lambda: self.failure is not None, GOODBYE)
            self.failure = self.failure or f"nothing came within {timeout:g} s, the group's timeout"

    def _await_arrival(self, end: float) -> None:
        """Wait until a message about collectives arrives, or until the time `end`.

        When all threads that make calls wait, tell the hub so, with the number of messages that have arrived.  If the
        hub has sent more, it ignores this: the next message may end a wait.
        """
        seen = self._arrivals
        while seen == self._arrivals and (left := end - time.monotonic()) > 0:
            if not self._is_wait_reported and all(self._is_blocked(caller) for caller in list(self._callers)):
                self._is_wait_reported = True
                self._send(do="wait", keys=[key for keys in self._waits.values() for key in keys], seen=seen)
            self._changed.wait(min(left, SLICE))
            run_handlers()

    def _is_blocked(self, caller: threading.Thread) -> bool:
        """Return whether a thread waits for a collective, or joins a thread that does, or has ended."""
        if caller in self._waits or not caller.is_alive():
            return True
        frame = sys._current_frames().get(caller.ident or 0)
        while frame is not None and frame.f_code.co_filename == JOIN.co_filename:
            if frame.f_code is JOIN:
                return frame.f_locals["timeout"] is None and frame.f_locals["self"] in self._waits
            frame = frame.f_back
        return False

    def _add_caller(self) -> None:
        me = threading.current_thread()
        if me not in self._callers:
            with self._changed:
                self._callers.add(me)
                self._take_back_wait()

    def _take_back_wait(self) -> None:
        """If the hub was told that all threads wait, tell it that this is no longer so."""
        if self._is_wait_reported:
            self._is_wait_reported = False
            self._send(do="wait", keys=[], seen=self._arrivals)

    def collect(self, key: str, timeout: float, operator: str) -> Given:
        """Return the bytes that the members gave under a key.  Host: waits until all have given theirs.

        Raises: CollectiveError, which lists the calls of all ranks.
        """
        if key not in self._ready and self.failure is None:
            self.wait([key], timeout, lambda: False)
        with self._changed:
            given, pieces = self._ready.pop(key, None), dict(self._pieces.pop(key, {}))
        if given is None:
            raise self.error(operator)
        try:
            data = {
                int(rank): bytes(pieces.get(int(rank), b"")) or _bytes_of(what["where"], what["part"])
                for rank, what in given.items()
            }
        except OSError as failure:  # the hub and the rank have ended
            with self._changed:
                self._changed.wait_for(lambda: self.failure is not None, GOODBYE)
                self.failure = self.failure or f"the bytes of another rank cannot be read: {failure}"
            raise self.error(operator) from None
        self.recorder.completed(key)
        self._send(do="read", key=key)
        return Given(data, {int(rank): tuple(what["times"]) for rank, what in given.items() if what["times"]})

    def error(self, operator: str) -> CollectiveError:
        """Return the error for the failure, with the last collectives of this rank as a note."""
        error = CollectiveError(str(self.failure), hint=SAME_CALLS, operator=operator)
        error.is_repeated = self.is_told
        if not self.is_told:
            self.recorder.write()
        self.is_told = True
        error.add_note(self.recorder.note())
        return error

    @property
    def is_watched(self) -> bool:
        """Whether GPUs have run collectives among themselves."""
        return self._watchdog is not None

    def watch(self, driver: Driver) -> None:
        """Monitor the collectives that a driver's GPUs run among themselves."""
        if self._watchdog is None:
            self._driver = driver
            self._watchdog = Watchdog(self, driver)

    def end_before_machine(self) -> None:
        """Register `end` to run before the atexit function that shuts down the machine, which must already exist."""
        if not self._ends_before_machine:
            self._ends_before_machine = True
            atexit.unregister(self.end)
            at_exit(self.end)

    def serve_by(self, driver: Driver) -> None:
        """Run the work that other ranks wait for on a driver's streams, whenever a collective has become ready."""
        self._driver = driver
        if self._server is None:
            self._server = threading.Thread(target=self._serve_others, name="flambeau collectives", daemon=True)
            self._server.start()

    def _serve_others(self) -> None:
        seen = 0
        while not self._is_closed:
            with self._changed:
                while self._arrivals == seen and not self._is_closed:
                    self._changed.wait()
                seen = self._arrivals
            if self._driver is not None and self.failure is None and not self._is_closed:
                self._driver.serve_exchanges()

    def end(self) -> None:
        """Leave the group at process exit.  A process that ends by an exception does not wait for other ranks."""
        if not self._is_closed and ends_by_exception():
            self.abort("the process ends by an exception")
        self.leave()

    def abort(self, reason: str) -> None:
        """End this rank's unfinished collectives: they and later ones raise CollectiveError with this reason."""
        if self._watchdog is not None:
            self._watchdog.stop_raising()
        self.is_told = True
        self._fail(reason)
        if self._driver is not None:
            self._driver.abort_exchanges()

    def abort_group(self, group: str) -> None:
        """End this rank's unfinished collectives of one group.  The job continues."""
        self.report()
        self.aborted.add(group)
        for name in [channel for channel in self.channels if channel.startswith(f"{group}:")]:
            del self.channels[name]
        for name in [channel for channel in self.unfinished if channel.startswith(f"{group}:")]:
            del self.unfinished[name]
        self._send(do="forget", group=group)

    def complete(self, operator: str) -> None:
        """Wait for all of this rank's collectives.  Raises: CollectiveError."""
        self.check(operator)
        self.finish()
        if self._driver is not None:
            self._driver.await_exchanges()

    def leave(self) -> None:
        """Leave the group once this rank's collectives are done.  Host: waits for the ranks that take part in them.

        A failure that no call has raised is printed, and sets the exit status to 1.
        """
        if self._is_closed or self._pid != os.getpid():
            return
        self.report()
        if self._watchdog is not None:
            self._watchdog.stop_raising()
        self._end_quietly(self.finish)
        if self._driver is not None:
            self._end_quietly(self._driver.await_exchanges)
        if self._watchdog is not None and self.is_broken and not self.is_told:
            _end_with(f"CollectiveError: {self.error('destroy_process_group')}")
        with suppress(DistError):  # the hub has ended
            self._number += 1
            self._send(id=self._number, do="leave")
            self._reply(self._number, GOODBYE, "the end")
        self.close()
        if self._watchdog is not None:
            self._watchdog.join()  # a later abort would end collectives of the next group
        if self._driver is not None:  # last, as NCCL waits for ranks that do not know yet that this one leaves
            self._end_quietly(self._driver.finish_exchanges)

    def _end_quietly(self, finish: Callable[[], None]) -> None:
        try:
            finish()
        except FlambeauError as error:
            if not getattr(error, "is_repeated", False):
                _end_with(f"{type(error).__name__}: {error}")

    def finish(self, group: str = "") -> None:
        """Wait for the host collectives that the program has not waited for, and write their outputs.

        group: the name of their group; "" for all groups.  Raises: CollectiveError.
        """
        for channel, works in list(self.unfinished.items()):
            if channel.startswith(f"{group}:" if group else ""):
                for work in list(works):
                    work.finish()

    def drop(self) -> None:
        """Close this process's copy of the connection, regardless of locks that threads of the parent held."""
        self._is_closed, self._is_listening = True, False
        self.failure = "the process was forked"
        self._changed = threading.Condition()
        self._sending, self._reporting = threading.Lock(), threading.Lock()
        self._link.close()

    def close(self) -> None:
        """Close the connection and the files in memory; the hub has opened those that other ranks still read."""
        with self._changed:
            self._is_closed = True
            self.failure = self.failure or LEFT
            slots, self._free = [*self._free, *self._slots.values()], []
            self._slots.clear()
            self._changed.notify_all()
        for slot in slots:
            slot.close()
        with suppress(OSError):  # the other end has closed it
            self._link.shutdown(socket.SHUT_RDWR)
        self._link.close()
        atexit.unregister(self.end)


def _connected(find: Callable[[], tuple[str, int]], timeout: float) -> socket.socket:
    """Connect to an address, and retry while no hub listens there."""
    end = time.monotonic() + timeout
    while True:
        host, port = find()
        try:
            link = socket.create_connection((host, port), timeout=max(end - time.monotonic(), 0.001))
            link.settimeout(None)
            watched(link)
            return link
        except OSError as failure:
            if time.monotonic() + 0.05 > end:
                raise StoreTimeoutError(
                    f"nothing listens at {host}:{port}: {failure}",
                    hint="check that rank 0 runs, with this MASTER_ADDR and MASTER_PORT",
                    operator="init_process_group",
                ) from failure
            time.sleep(0.02)


def _bytes_of(location: Any, part: Any) -> bytes:
    """Return the bytes of a rank's file, which the hub or the rank has open.  Raises OSError.

    part: the offset and the number of bytes for this rank; None for all.
    """
    if location is None:
        return b""
    size, files = location
    offset, length = part or (0, size)
    for number, (process, file) in enumerate(files):
        try:
            with open(f"/proc/{int(process)}/fd/{int(file)}", "rb", buffering=0) as source:
                source.seek(offset)
                data = source.read(length)
            break
        except OSError:
            if number == len(files) - 1:
                raise
    if data is None or len(data) != length:
        raise OSError(f"process {process} shares {len(data or b'')} bytes in place of {length}")
    return data
