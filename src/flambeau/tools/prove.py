"""Prove that a program's results do not depend on the order of its streams, or find a schedule that changes them.

- A program without races has the same result under every legal schedule: conflicting accesses are ordered by
  happens-before, and a linear extension of that order computes the same values (as for threads, see S. Adve and
  M. Hill, "Weak ordering: a new definition", 1990).  One run proves it, whatever its size.
- Otherwise the program runs again under other schedules, each time in a forked process.  Dynamic partial-order
  reduction (C. Flanagan and P. Godefroid, "Dynamic partial-order reduction for model checking software", 2005) chooses
  them: for each race, at the choice that ran the first of its two commands, the schedule that runs the other's stream.
- A result consists of the values that reach the program: the bytes of each copy to the host, what it prints and its
  exit status.
- An access of the host to pinned memory waits for no stream: if it races, a schedule chooses which commands run first.
- A query answers by modelled time: no schedule changes that.  Schedules do not change the order in which the program's
  threads submit work either, nor the pinned memory that is allocated while a copy uses it.  The report names these
  conditions.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from .. import callers
from ..driver.virtual.access import TAKING
from ..driver.virtual.driver import VirtualDriver
from ..driver.virtual.memory import FIRST_ADDRESS
from ..driver.virtual.queue import HOST_HANDLE, arrays_of, run_copy_to_host
from ..driver.virtual.races import HOST
from ..driver.virtual.schedule import Replay
from ..errors import ArgumentError
from ..runtime import machine as machines
from . import checked_processes
from .forked import run_forked
from .race_report import Checker, Recorder, Report, joined, of_processes

if TYPE_CHECKING:
    from ..driver.virtual.access import MemoryAccess
    from ..driver.virtual.events import Waited
    from ..driver.virtual.queue import Queue
    from ..driver.virtual.races import Conflict
    from ..driver.virtual.submission import Command
    from ..vector_clock import Clock, StreamKey

DEFAULT_LIMIT = 1000  # most schedules
Point = tuple[int, int]  # a stream and the number of its command


class Interrupted(Exception):
    """A signal, the argument, has ended a run or the search."""


class Choice(NamedTuple):
    """A choice of a schedule: the first commands of the ready streams, and which of them ran."""

    ready: tuple[Point, ...]
    taken: int


class Seen(NamedTuple):
    """One run.  copies: by command that copies to the host, its line and a digest of the bytes.

    races: pairs of commands of streams, or of a command and an access of the host.
    host_races: the number of races with allocations of the host.
    threads: how many threads of the program submitted work.  interrupted: the signal that came meanwhile, 0 for none.
    """

    report: Report
    choices: tuple[Choice, ...]
    order: dict[Point, int]
    races: frozenset[tuple[Point, Point]]
    host_races: int
    queries: int
    threads: int
    copies: dict[Point, tuple[str, str]]
    output: bytes
    status: int
    interrupted: int = 0

    def difference(self, other: Seen) -> str:
        """Return the first difference of another run's result, "" if there is none."""
        for point, (site, digest) in self.copies.items():
            if other.copies.get(point, (site, digest))[1] != digest:
                return f"other bytes reach the host at {callers.shown_site(site)}"
        if self.status != other.status:
            return f"its exit status is {other.status}, and not {self.status}"
        if self.output != other.output:
            return "it prints another text"
        return ""


class Proof(NamedTuple):
    """The result.  report: the races of the first run.  schedule: one with another result, None if none was found.

    is_complete: whether every order of the operations was covered.  text: the result in words.
    """

    report: Report
    status: int
    schedules: int
    schedule: str | None
    is_complete: bool
    text: str

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {name: getattr(self, name) for name in ("schedules", "schedule", "is_complete", "text")}


class TracedSchedule(Replay):
    """A replay that keeps the choices at each step."""

    def __init__(self, choices: Sequence[int]) -> None:
        super().__init__(choices)
        self.made: list[Choice] = []

    def choose(self, ready: Any) -> int:  # a `queue.Ready`
        taken = super().choose(ready)
        self.made.append(Choice(tuple(ready.points), taken))
        return taken


class Operation(NamedTuple):
    """A command.  host: by stream, the number of the last command that the host had waited for when it submitted it."""

    point: Point
    accesses: Sequence[MemoryAccess]
    clock: Clock
    host: dict[StreamKey, int]

    def follows(self, other: Operation) -> bool:
        """Return whether another command, submitted before, happens before this one."""
        stream, number = other.point
        return self.clock.reached(stream) >= number or self.host.get(stream, -1) >= number

    def conflicts(self, other: Operation) -> bool:
        """Return whether both access the same bytes and at least one writes them."""
        return any(
            one.low < two.high and two.low < one.high and (one.writes or two.writes)
            for one in self.accesses
            for two in other.accesses
        )


class TracedRecorder(Recorder):
    """A recorder that keeps all commands, the bytes of races, and the bytes that are copied to the host."""

    def __init__(self) -> None:
        super().__init__()
        self.host_races = 0
        self.copies: dict[Point, tuple[str, str]] = {}
        self.threads: set[int] = set()
        self._operations: list[Operation] = []
        self._host: dict[StreamKey, int] = {}
        self._taken: set[tuple[Point, Point]] = set()
        self._with_host: set[tuple[Point, Point]] = set()
        self._racing: set[tuple[int, int]] = set()
        self._number = 0

    def races(self) -> set[tuple[Point, Point]]:
        """Return all pairs of unordered commands that conflict.

        The access history of a block reports fewer: once a write has replaced earlier accesses, it reports only the
        write.
        """
        racing = [entry for entry in self._operations if any(self._is_racing(access) for access in entry.accesses)]
        pairs = {
            (one.point, other.point)
            for at, other in enumerate(racing)
            for one in racing[:at]
            if one.point[0] != other.point[0] and one.conflicts(other) and not other.follows(one)
        }
        return pairs | self._taken | self._with_host

    def _is_racing(self, access: MemoryAccess) -> bool:
        return any(low < access.high and access.low < high for low, high in self._racing)

    def host_learns(self, clock: Clock) -> None:
        super().host_learns(clock)
        self._host = dict(self._host)
        for stream, number in (*clock.base.numbers.items(), *clock.changes.items(), (clock.stream, clock.number)):
            self._host[stream] = max(number, self._host.get(stream, -1))

    def begins(self, queue: Queue | None, number: int, site: str) -> None:
        super().begins(queue, number, site)
        self._number = number

    def found(
        self,
        queue: Queue | None,
        name: str,
        call: tuple[str, str],
        waited: Sequence[Waited],
        conflicts: Sequence[Conflict],
        accesses: Sequence[MemoryAccess],
    ) -> None:
        super().found(queue, name, call, waited, conflicts, accesses)
        for conflict in conflicts:
            stream = conflict.use.stream
            if queue is None and name == HOST and isinstance(stream, int):
                self._with_host.add(((stream, conflict.use.number), (HOST_HANDLE, self._number)))
                continue
            if queue is None or not isinstance(stream, int):
                self.host_races += 1
                continue
            self._racing.add((conflict.access.low, conflict.access.high))
            if name == TAKING:
                self._taken.add(((stream, conflict.use.number), (queue.handle, self._number)))

    def submitted(self, command: Command) -> None:
        super().submitted(command)
        self.threads.add(threading.get_ident())
        assert command.clock is not None
        point = command.queue.handle, command.number
        self._operations.append(Operation(point, command.accesses, command.clock, self._host))
        is_out = command.work is run_copy_to_host
        if is_out or (command.name.startswith("copy") and command.accesses[0].low < FIRST_ADDRESS):
            work = command.work

            def copy(command: Command) -> None:
                work(command)
                digest = hashlib.blake2b(arrays_of(command)[-1].tobytes(), digest_size=8).hexdigest()
                self.copies[point] = command.site, digest

            command.work = copy


class Explorer(Checker):
    """Watches the machines of one run under a schedule."""

    def __init__(self, choices: Sequence[int]) -> None:
        super().__init__("real")
        self._schedule = TracedSchedule(choices)
        self._drivers: list[VirtualDriver] = []
        self._recorders: list[TracedRecorder] = []

    def recorder(self) -> Recorder:
        self._recorders.append(TracedRecorder())
        return self._recorders[-1]

    def started(self, machine: machines.Machine) -> None:
        super().started(machine)
        if isinstance(machine.driver, VirtualDriver):
            machine.driver.follow(self._schedule)
            self._drivers.append(machine.driver)

    def seen(self, places: Sequence[tuple[str, ...]], status: int, output: bytes) -> Seen:
        """Return the run, once it has ended."""
        ran = [(stream, number) for driver in self._drivers for stream, number, _ in driver.log]
        return Seen(
            self.report(places),
            tuple(self._schedule.made),
            {point: at for at, point in enumerate(ran)},
            frozenset(pair for recorder in self._recorders for pair in recorder.races()),
            sum(recorder.host_races for recorder in self._recorders),
            sum(driver.queries for driver in self._drivers),
            len({thread for recorder in self._recorders for thread in recorder.threads}),
            {point: copy for recorder in self._recorders for point, copy in recorder.copies.items()},
            output,
            status,
        )


def run_once(
    program: Callable[[], int], choices: Sequence[int], places: Sequence[tuple[str, ...]], is_quiet: bool
) -> Seen:
    """Run a program, which returns its exit status, in a forked process under a schedule.

    is_quiet: drop its stderr.  Raises: ArgumentError if the process was killed.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as answer:

        def job() -> None:
            try:
                if is_quiet:
                    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                _run_in_child(program, choices, places, output, answer)
            finally:
                os._exit(1)

        ended = run_forked(job)
        answer.seek(0)
        if ended.status != 0 and ended.received:
            raise Interrupted(ended.received)
        if ended.status != 0:
            raise ArgumentError(
                f"the process that ran the program under {name_of(choices)} ended with {ended.status}",
                operator="check --prove",
            )
        seen: Seen = pickle.load(answer)  # written by the child process, to an unnamed file
        return seen._replace(interrupted=ended.received)


def _run_in_child(
    program: Callable[[], int],
    choices: Sequence[int],
    places: Sequence[tuple[str, ...]],
    output: BinaryIO,
    answer: BinaryIO,
) -> None:
    os.dup2(output.fileno(), 1)
    others = checked_processes.Folder("real", places)
    explorer = machines.watcher = Explorer(choices)

    def finish(status: int) -> int:
        sys.stdout.flush()
        output.seek(0)
        seen = explorer.seen(places, status, output.read())
        pickle.dump(seen._replace(report=joined([seen.report, *of_processes(others)])), answer)
        others.close()
        answer.flush()
        return 0

    with checked_processes.before_exit(finish):
        status = program()
    os._exit(finish(status))


def name_of(choices: Sequence[int]) -> str:
    """Return the text of a schedule.  Choices of the first stream at the end are left out."""
    kept = list(choices)
    while kept and kept[-1] == 0:
        kept.pop()
    return f"replay:{','.join(map(str, kept))}"


class Step:
    """A choice on the current path.  done, wanted: indices of the streams that were tried, and are to be tried."""

    def __init__(self, choice: Choice) -> None:
        self.choice = choice
        self.done = {choice.taken}
        self.wanted: set[int] = set()


def prove(
    program: Callable[[], int],
    places: Sequence[tuple[str, ...]] = (),
    schedules: int = DEFAULT_LIMIT,
    seconds: float = float("inf"),
    progress: Callable[[int], None] = lambda count: None,
    began: Callable[[Seen], None] = lambda first: None,
) -> Proof:
    """Run a program under enough schedules to decide whether its result depends on the schedule.

    program: runs it, on machines that it starts itself, and returns its exit status.  places: suppressed races.
    schedules, seconds: when to stop.  progress: called with the number of schedules;  began: with the first run.
    """
    end = time.monotonic() + seconds
    first = run_once(program, (), places, is_quiet=False)
    began(first)
    if first.interrupted:
        return _decided(first, 0, None, "", is_complete=False)
    if not first.races or first.host_races:
        return _decided(first, 1, None, "", is_complete=not first.races)
    path = [Step(choice) for choice in first.choices]
    _reverse(first, path)
    count = 1
    try:
        while True:
            progress(count)
            at = max((at for at, step in enumerate(path) if step.wanted - step.done), default=None)
            if at is None:
                return _decided(first, count, None, "", is_complete=True)
            if count >= schedules or time.monotonic() > end:
                return _decided(first, count, None, "", is_complete=False)
            step = path[at]
            index = min(step.wanted - step.done)
            step.done.add(index)
            choices = [*(earlier.choice.taken for earlier in path[:at]), index]
            seen = run_once(program, choices, places, is_quiet=True)
            if seen.interrupted:
                raise Interrupted(seen.interrupted)
            count += 1
            if difference := first.difference(seen):
                return _decided(first, count, choices, difference, is_complete=False)
            step.choice = seen.choices[at]
            path[at + 1 :] = [Step(choice) for choice in seen.choices[at + 1 :]]
            _reverse(seen, path)
    except (KeyboardInterrupt, Interrupted) as end:
        number = end.args[0] if isinstance(end, Interrupted) else signal.SIGINT
        stopped = first._replace(interrupted=number, status=128 + number)
        return _decided(stopped, count, None, "", is_complete=False)


def _reverse(seen: Seen, path: list[Step]) -> None:
    """For each race, request the opposite order at the choice that ran its first command."""
    ran_at = {choice.ready[choice.taken]: at for at, choice in enumerate(seen.choices)}
    for one, other in seen.races:
        if other[0] == HOST_HANDLE:
            for at in (ran_at.get(other), ran_at.get(one, _last_choice_before(seen, ran_at, one))):
                if at is not None:
                    path[at].wanted |= set(range(len(path[at].choice.ready)))
            continue
        first, second = sorted((one, other), key=lambda point: seen.order.get(point, len(seen.order)))
        at = ran_at.get(first)
        if at is None:  # it was the only stream that could run, or the command is the allocation of a block
            at = _last_choice_before(seen, ran_at, first)
        if at is None:
            continue
        step = path[at]
        others = {index for index, (stream, _) in enumerate(step.choice.ready) if stream == second[0]}
        step.wanted |= others or set(range(len(step.choice.ready)))


def _last_choice_before(seen: Seen, ran_at: dict[Point, int], point: Point) -> int | None:
    """Return the last choice of the stream up to `point`: a block's allocation runs with the command before it."""
    stream, number = point
    indices = [at for (other, earlier), at in ran_at.items() if other == stream and earlier <= number]
    return max(indices, default=None)


def _decided(first: Seen, count: int, choices: Sequence[int] | None, difference: str, is_complete: bool) -> Proof:
    operations = f"{first.report.replayed} operation" + "s" * (first.report.replayed != 1)
    schedules = f"{count} schedule" + "s" * (count != 1)
    schedule = None
    if choices is not None:
        schedule = name_of(choices)
        text = f"another schedule gives another result: {difference}\n  flambeau check --schedule {schedule} ..."
    elif first.interrupted:
        text = f"interrupted after {schedules}" if count else "interrupted in the first run"
    elif first.host_races:
        is_complete = False
        count_text = "1 race is" if first.host_races == 1 else f"{first.host_races} races are"
        text = f"not proved: {count_text} with pinned memory that the host allocates"
    elif not first.races:
        text = f"ordered under every legal schedule: no two conflicting accesses of {operations} are unordered"
    elif is_complete:
        text = f"the same result under every order of the races: {schedules}, by partial-order reduction"
    else:
        text = f"stopped at the limit: {schedules} gave the same result, and there are more"
    if first.queries and choices is None:
        is_complete = False
        text += f"\n  if each query of a stream or an event ({first.queries}) answers as in this run"
    if any(race.processes for race in first.report.races) and choices is None:
        is_complete = False
        text += "\n  for the first process alone: others have races"
    if first.threads > 1 and choices is None:
        is_complete = False
        text += "\n  if its threads submit their work in the order of this run"
    return Proof(first.report, first.status, count, schedule, is_complete, text)
