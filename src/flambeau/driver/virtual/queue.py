"""Streams as queues of commands, and the running of what a wait needs.

- Nothing runs when it is submitted.  A stream's commands run in order; a command also follows its `predecessors`.
- A wait runs commands until those it waits for are done.  The schedule picks among the streams that are ready: their
  first command's predecessors are done, and, under a schedule that runs ancestors only, the wait needs that command.
- A command that fails as it would on a GPU stops its device for good: every later call on the device reports it.
- A reference that fails in any other way is an InternalError of the wait that ran it; the device goes on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ... import trace
from ...errors import AcceleratorError, DeviceAssertError, FlambeauError, InternalError
from ...order import Clock
from ..api import StreamHandle
from .faults import InjectedFailure
from .memory import Block
from .schedule import Schedule
from .space import Space
from .touch import ByteRange, Touch

if TYPE_CHECKING:
    from .capture import Capture

LOG_LENGTH = 1 << 20  # commands
DEVICE_ASSERT = 710  # CUresult
LAUNCH_FAILED = 719  # CUresult
MODELLED = (FlambeauError, InjectedFailure)  # failures that a GPU has too: a trap, an access out of bounds, on demand
LOST_HINT = "correct the launch and start again: this process cannot use the device any more"


class Command:
    """Work on a stream: `work(command)` does it, with `detail` as its own data, on `touches` that lie in `blocks`.

    called: what the program called at `site`, "" if that is not known.
    number: its place on the stream;  sequence: its place among all;  known: what it is ordered after.
    spoiled: bytes that it must read as poison;  ruined: bytes that hold poison once it ran.
    """

    __slots__ = (
        "blocks", "called", "detail", "done", "end_ns", "known", "name", "number", "predecessors", "queue", "ruined",
        "sequence", "site", "spoiled", "touches", "work",
    )  # fmt: skip

    def __init__(
        self,
        queue: Queue,
        name: str,
        work: Work,
        detail: Any,
        touches: Sequence[Touch],
        blocks: Sequence[Block],
        site: str,
    ) -> None:
        self.queue = queue
        self.name = name
        self.work = work
        self.detail = detail
        self.touches = touches
        self.blocks = blocks
        self.site = site
        self.called = ""
        self.predecessors = queue.waits
        self.number = self.sequence = self.end_ns = 0
        self.known: Clock = {}
        self.done = False
        self.spoiled: list[ByteRange] = []
        self.ruined: list[tuple[Space, ByteRange]] = []

    def spoil(self, ranges: Sequence[ByteRange]) -> None:
        self.spoiled += ranges

    def ruin(self, space: Space, ranges: Sequence[ByteRange]) -> None:
        self.ruined += [(space, each) for each in ranges]

    def run(self) -> None:
        self.work(self)
        for space, (low, high) in self.ruined:
            space.poison(low, high)
        self.finish()

    def finish(self) -> None:
        """It is done: keep only what reports need."""
        self.done = True
        self.detail = None
        self.touches = self.blocks = self.predecessors = ()
        self.known = {}


Work = Callable[[Command], None]


class Queue:
    """One stream.  end_ns: when everything submitted so far is done;  waits: what its next command must follow.

    share: the part of the device's multiprocessors that its kernels run on, 1 for all.
    capture: the capture it takes part in, or None;  tails: the nodes that its next captured work follows.
    """

    __slots__ = (
        "capture", "device", "end_ns", "handle", "is_default", "is_retired", "last", "pending", "priority", "share",
        "tails", "waits",
    )  # fmt: skip

    def __init__(self, handle: StreamHandle, device: int, priority: int, is_default: bool) -> None:
        self.handle = handle
        self.device = device
        self.priority = priority
        self.share = 1.0
        self.is_default = is_default
        self.is_retired = False
        self.pending: deque[Command] = deque()
        self.last: Command | None = None
        self.waits: tuple[Command, ...] = ()
        self.end_ns = 0
        self.capture: Capture | None = None
        self.tails: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        """What programs call the stream: a created one's handle is its `cuda_stream`."""
        return "the default stream" if self.is_default else f"stream {self.handle}"

    def tail(self) -> tuple[Command, ...]:
        """The unfinished commands after which everything submitted so far is done."""
        last = self.last
        tail = self.waits if last is None else (last, *self.waits)
        return tuple(command for command in tail if not command.done)


class Runner:
    """Runs commands of all queues.  `log` has (stream, number, name) of each one run, in order."""

    def __init__(self, schedule: Schedule, ancestors_only: bool) -> None:
        self.queues: list[Queue] = []
        self.log: deque[tuple[StreamHandle, int, str]] = deque(maxlen=LOG_LENGTH)
        self.failures: dict[int, AcceleratorError] = {}
        self._schedule = schedule
        self._ancestors_only = ancestors_only

    def add(self, queue: Queue) -> None:
        self.queues.append(queue)
        self._schedule.stream_made(queue.handle)

    def check(self, device: int) -> None:
        """Raises AcceleratorError if the device has failed."""
        failure = self.failures.get(device)
        if failure is not None:
            fact = f"{failure.fact}; met by {trace.caller()}"
            raise AcceleratorError(
                fact, hint=LOST_HINT, error_code=failure.error_code, sticky=True
            ) from failure.__cause__

    def run_until(self, targets: Iterable[Command]) -> None:
        """Run until all `targets` are done.  Raises AcceleratorError if a command fails or has failed."""
        waiting = [command for command in targets if not command.done]
        if not waiting:
            return
        needed = needed_numbers(waiting)
        while not all(command.done for command in waiting):
            queues: Iterable[Queue] = needed if self._ancestors_only else self.queues
            ready = [queue for queue in queues if self._is_ready(queue, needed)]
            if not ready:
                self._check_all(needed)
            self._run_first(self._pick(ready))

    def _is_ready(self, queue: Queue, needed: dict[Queue, int]) -> bool:
        if not queue.pending or queue.device in self.failures:
            return False
        head = queue.pending[0]
        if self._ancestors_only and head.number > needed[queue]:
            return False
        return all(each.done for each in head.predecessors)

    def _check_all(self, queues: Iterable[Queue]) -> None:
        for queue in queues:
            self.check(queue.device)
        raise AssertionError("a wait needs commands of which none can run")

    def _pick(self, ready: list[Queue]) -> Queue:
        if len(ready) == 1:
            return ready[0]
        ready.sort(key=lambda queue: queue.pending[0].sequence)
        return ready[self._schedule.choose([queue.handle for queue in ready])]

    def _run_first(self, queue: Queue) -> None:
        command = queue.pending.popleft()
        self.log.append((queue.handle, command.number, command.name))
        try:
            command.run()
        except MODELLED as error:
            failure = self.failures[queue.device] = _failure(command, error)
            failure.__cause__ = error
            self.check(queue.device)
        except Exception as error:
            command.finish()
            what = trace.operator_of(command.name, command.called)
            raise InternalError(what, _place_of(command), error) from error


def needed_numbers(targets: Iterable[Command]) -> dict[Queue, int]:
    """Per queue, the number of the last command that must run before all `targets` are done."""
    needed: dict[Queue, int] = {}
    stack = list(targets)
    while stack:
        command = stack.pop()
        queue, reached = command.queue, needed.get(command.queue, 0)
        if command.done or command.number <= reached:
            continue
        needed[queue] = command.number
        for each in queue.pending:
            if each.number > command.number:
                break
            if each.number > reached:
                stack += each.predecessors
    return needed


def _place_of(command: Command) -> str:
    return f" on device {command.queue.device}, {command.queue.label}, launched at {command.site}"


def _failure(command: Command, error: Exception) -> AcceleratorError:
    code = DEVICE_ASSERT if isinstance(error, IndexError | ValueError | DeviceAssertError) else LAUNCH_FAILED
    what = trace.operator_of(command.name, command.called)
    return AcceleratorError(
        f"{what}: failed{_place_of(command)}: {type(error).__name__}: {getattr(error, 'fact', error)}",
        error_code=code,
        sticky=True,
    )
