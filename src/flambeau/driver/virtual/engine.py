"""The engine of virtual GPUs: submits commands, waits for them, and models their time."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from ... import callers
from ...config import Gpus, slowdown
from ...core.queue import hooks
from ...errors import AcceleratorError, FlambeauError, KernelReferenceError
from ...vector_clock import Clock, VectorClocks
from .access import TAKING, History, MemoryAccess, Overlap, Taken
from .capture import Captures, nothing
from .card import card
from .clock import CopyEngine, HostClocks, Late, later, latest, settled
from .memory import Block, Memory
from .queue import (
    WAITS_KEPT,
    Awaited,
    Command,
    Join,
    Queue,
    Runner,
    Work,
    place_of,
    run_copy,
    run_copy_from_host,
    run_copy_to_host,
    run_fill,
    run_poison,
    run_reference,
)  # fmt: skip
from .races import HOST, Comparison, Races, Witness, unfinished
from .schedule import Schedule
from .space import reservable

if TYPE_CHECKING:
    from .events import Waited

SAMPLE_NS = 1_000_000_000 // 6  # the sampling period of utilization; on hardware it is from this to a second


class BusySpans:
    """Busy spans of modelled time.  Spans older than the sampling period are dropped."""

    def __init__(self) -> None:
        self._spans: deque[list[int]] = deque()

    def add(self, start_ns: int, end_ns: int, now_ns: int) -> None:
        """Add a busy span from `start_ns` to `end_ns`, known at `now_ns`."""
        spans = self._spans
        if end_ns <= start_ns:
            return
        if spans and spans[-1][0] <= start_ns <= spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], end_ns)
            return
        while spans and spans[0][1] < now_ns - SAMPLE_NS:
            spans.popleft()
        spans.append([start_ns, end_ns])

    def percent(self, now_ns: int, *others: BusySpans) -> int:
        """Percent of the sample ending now, or of the machine's lifetime if shorter, that these spans cover."""
        begin = max(0, now_ns - SAMPLE_NS)
        busy, reached = 0, begin
        for start, end in sorted(chain(self._spans, *(each._spans for each in others))):
            start, end = max(start, reached), min(end, now_ns)
            if end > start:
                busy, reached = busy + end - start, end
        return 100 * busy // (now_ns - begin) if busy else 0


MAX_PENDING = 1024  # commands per stream
COMPUTING = frozenset({run_reference, run_copy, run_copy_from_host, run_copy_to_host, run_fill})


def _settle(start_ns: int, end_ns: int, start: Late | None, end: Late | None) -> tuple[int, int]:
    """The start and the end of work that followed a collective, which has run."""
    return settled(start_ns, start)[0], settled(end_ns, end)[0]


def _nbytes(command: Command) -> int:
    """The bytes that a copy or a fill moves, or the size of a kernel's operands."""
    accesses = command.accesses[:1] if command.name.split()[0] in ("copy", "fill") else command.accesses
    return sum(access.high - access.low for access in accesses)


class Engine:
    """The state and time model behind the driver's calls.  Callers hold the driver's lock."""

    def __init__(self, choice: Gpus, schedule: Schedule, lock: Any) -> None:
        self.card = card(choice.preset)
        total = choice.memory or self.card.total_memory
        if choice.values and not choice.memory:
            total = reservable(total, choice.count)
        self.memory = Memory([total] * choice.count, choice.values)
        self.clocks = VectorClocks()
        self.clock = HostClocks()
        self.runner = Runner(schedule, fixed_values=choice.races != "real", lock=lock)
        self.computes = choice.values
        poisons = choice.values or choice.races != "poison"  # without values there is nothing to poison
        self.races = Races(self.clocks, choice.races if poisons else "real", self.runner.explores)
        self.copies_in = [CopyEngine() for _ in range(choice.count)]
        self.copies_out = [CopyEngine() for _ in range(choice.count)]
        self.kernels = [BusySpans() for _ in range(choice.count)]
        self.copies = [BusySpans() for _ in range(choice.count)]
        self.slowdown = slowdown()  # the factor of all durations; a straggler has more than 1
        self.captures = Captures()
        self.host_waited: deque[Waited] = deque(maxlen=WAITS_KEPT)
        self.host_races = 0  # accesses of the host that conflicted with unfinished work
        self.queries = 0  # of the program, whether a stream or an event is done
        self._sequence = 0

    def watch(self, witness: Witness | None) -> None:
        """Report order and races to a tool from now on; None ends it."""
        self.clocks.witness = self.races.witness = witness

    def submit(
        self,
        queue: Queue,
        name: str,
        work: Work,
        detail: Any,
        accesses: Sequence[MemoryAccess],
        blocks: Sequence[Block],
        duration_ns: int,
        host_ns: int,
        engines: Sequence[CopyEngine] = (),
        site: str = "",
        called: str = "",
        launched: str = "",
        is_seen: bool = True,
    ) -> None:
        """Submit a command to a queue, or record it if the queue is capturing.

        site, called: the source line and the operation of the call, by default the present one.
        launched: the source line of the graph's launch, for a node of a graph.
        is_seen: whether tools are told of it.
        Raises: RaceError, or the failure of a command that had to run to make room.
        """
        if not self.computes and work in COMPUTING:
            work, detail = nothing, None
        if queue.capture is not None:
            self.clock.spend(host_ns)
            queue.capture.record(queue, name, work, detail, accesses, blocks, duration_ns, engines)
            return
        if not site:
            site, called = callers.call()
        call = place_of(site, launched) if launched else site, called
        histories = [block.history for block in blocks]
        if self.races.witness is not None and not launched:
            self.races.witness.begins(queue, self.clocks.stream(queue.handle).count + 1, site)
        races = self.check(queue, name, call, accesses, blocks, histories)
        if len(queue.pending) >= MAX_PENDING:
            self._make_room(queue)
        command = Command(queue, name, work, detail, accesses, blocks, site)
        command.called = called
        command.launched = launched
        start = now_ns = self.clock.spend(host_ns)
        if queue.end_ns > start:
            start = queue.end_ns
        for engine in engines:
            start = max(start, engine.free_ns)
        if self.slowdown != 1 and is_seen:
            duration_ns = int(duration_ns * self.slowdown)
        late = queue.late
        if late is not None or engines and any(engine.late is not None for engine in engines):
            for engine in engines:
                late = latest(late, engine.late)
            start, late = settled(start, late)
        self._sequence += 1
        command.sequence = self._sequence
        command.clock = self.clocks.advance(queue.handle)
        command.number = command.clock.number
        command.end_ns = queue.end_ns = start + duration_ns
        command.late = queue.late = None if late is None else later(late, duration_ns)
        for engine in engines:
            engine.free_ns, engine.late = command.end_ns, command.late
        if is_seen and work is not run_poison:
            self.observe(command, start, late, now_ns, bool(engines))
        if races is not None and races.conflicts:
            self.races.mark(command, queue.handle, races.conflicts)
        self.races.record(command, races, histories)
        queue.append(command)
        if self.races.witness is not None:
            self.races.witness.submitted(command)

    def check(
        self,
        queue: Queue,
        name: str,
        call: tuple[str, str],
        accesses: Sequence[MemoryAccess],
        blocks: Sequence[Block],
        histories: Sequence[History],
    ) -> Comparison | None:
        """Find the races of a queue's next command with histories of blocks.

        Raises: RaceError for any race under races="error".
        """
        races = self.races.compare(queue.handle, accesses, blocks, histories)
        if races is not None and races.conflicts:
            self.races.meet(queue, name, call, queue.waited, races.conflicts, accesses)
        return races

    def observe(
        self, command: Command, start_ns: int, late: Late | None, now_ns: int, is_copy: bool, nbytes: int | None = None
    ) -> None:
        """Add a command to the busy spans and call the hook.

        late: what its start depends on besides.  nbytes: what it moves, if its accesses do not say so.
        """
        device = command.queue.device
        busy = self.copies if is_copy else self.kernels
        busy[device].add(start_ns, command.end_ns, now_ns)
        if hooks.on_span is not None:
            if nbytes is None:
                nbytes = _nbytes(command)
            site = command.site or callers.call_site()
            stream = 0 if command.queue.is_default else command.queue.handle
            times = start_ns, command.end_ns
            if command.late is None:
                hooks.on_span(device, stream, command.name, *times, nbytes, site)
            else:
                settle = partial(_settle, *times, late, command.late)
                hooks.on_span(device, stream, command.name, *times, nbytes, site, settle)

    def _make_room(self, queue: Queue) -> None:
        """Block the host, if a queue is full, until its oldest command is done."""
        if len(queue.pending) >= MAX_PENDING:
            oldest = queue.pending[0]
            self.runner.run_until(oldest)
            self.block_host(settled(oldest.end_ns, oldest.late)[0])

    def take_block(self, queue: Queue, low: int, high: int) -> None:
        """Allocate the block [low, high) on a stream: an operation of the stream that writes poison.

        - If the host has waited for all work of the stream, the poison is written at once.
        - If the stream has new waits or no command yet, the allocation is a command of its own.  So it is if it races
          and the schedule may run more than a wait needs: the older use may then come first, or second.
        - Otherwise the stream's last command leaves the poison behind when it runs.
        """
        memory = self.memory.devices[queue.device]
        if queue.capture is not None:
            queue.capture.check("block_taken")
            memory.room_for(low, high)
            block = memory.take_for_graph(low, high)
            self.submit(queue, TAKING, run_poison, None, [MemoryAccess.whole(low, high)], [block], 0, 0)
            return
        pieces = memory.pieces(low, high)
        access = MemoryAccess.whole(low, high)
        taking = self.races.take(queue.handle, access, pieces)
        last, site, is_fresh = queue.last, "", False
        is_over = self.clocks.host_knows_all(queue.handle)
        is_command = not is_over and (last is None or bool(queue.waits))
        if taking.conflicts and self.runner.explores:
            is_over, is_command = False, True
        if self.races.explains or taking.conflicts:
            call = callers.call()
            site = call[0]
            if self.races.witness is not None and (not is_command or self.races.raises):
                self.races.witness.begins(queue, self.clocks.stream(queue.handle).count + (not is_over), site)
            if taking.conflicts and (not is_command or self.races.raises):  # a command is compared below
                self.races.meet(queue, TAKING, call, queue.waited, taking.conflicts)
            is_fresh = all(piece.is_fresh for piece in pieces)
        if is_over:
            block = memory.take(low, high, taking.history)
            self.races.mark(None, queue.handle, taking.conflicts)
        elif is_command:
            self._make_room(queue)
            block = memory.take(low, high, taking.history)
            self.submit(queue, TAKING, run_poison, Taken(site, is_fresh), [access], [block], 0, 0)
            assert queue.last is not None
            queue.last.cover(taking.covered)
            return
        else:
            assert last is not None
            block = memory.take(low, high, taking.history)
            clock = self.clocks.advance(queue.handle)
            self.races.taken(taking, queue.handle, access, last, clock.number, Taken(site, is_fresh, clock))
        if last is None or last.done:
            block.space.poison(low, high)
        else:
            last.poison_write(block.space, Overlap(low, high, None))

    def take_pinned(self, block: Block, nbytes: int) -> None:
        """Allocate pinned memory: a write by the host, ordered after all that the host has waited for."""
        access = MemoryAccess.whole(block.low, block.low + nbytes)
        taking = self.races.take(HOST, access, [block])
        if self.races.witness is not None:
            self.races.witness.begins(None, 0, callers.call_site())
        if taking.conflicts:
            call = callers.call()
            self.races.meet(None, TAKING, call, self.host_waited, taking.conflicts)
        self.races.mark(None, HOST, taking.conflicts)
        block.history = taking.history

    def check_host(self, access: MemoryAccess, block: Block) -> None:
        """Report a host access to pinned memory that conflicts with work that the host has not waited for.

        Under a schedule that may run more than a wait needs, that work comes before or after it.
        Raises: RaceError under races="error".
        """
        if self.races.witness is not None:
            self.races.witness.begins(None, self.host_races + 1, callers.call_site())
        races = self.races.compare(HOST, [access], [block], [block.history])
        if races is not None and races.conflicts:
            what, _, where = callers.caller().partition(" at ")
            site = where.rpartition(" on thread ")[0]
            self.races.meet(None, HOST, (site, what), self.host_waited, races.conflicts, [access])
            self.host_races += 1
            if self.runner.explores:
                self.runner.run_before_host(self.host_races)

    def publish(self, queue: Queue) -> None:
        """Run a queue's commands, and write pending poison that other processes may read.  Host: does not wait."""
        self.runner.run_until(queue.tail())
        memory = self.memory.devices[queue.device]
        for low, high in memory.space.exported.within(memory.space.base, memory.space.base + memory.total):
            for block in memory.live_in(low, high):
                memory.space.materialise(block.low, block.high)

    def wait(self, awaited: Awaited | None, end_ns: int, late: Late | None, clock: Clock) -> None:
        """Let the host wait for work that ends at `end_ns`; afterwards it knows everything in `clock`."""
        self.runner.run_until(awaited)
        self.block_host(settled(end_ns, late)[0])
        self.clocks.host_learn(clock)

    def block_host(self, end_ns: int) -> None:
        """Block the calling thread until `end_ns` of modelled time, if that is later than its clock."""
        now = self.clock.now()
        if end_ns > now:
            self.clock.reach(end_ns)
            if hooks.on_blocked is not None:
                hooks.on_blocked(now, end_ns)
            self.clock.spend(self.card.host.wake)

    def wait_for_queue(self, queue: Queue) -> None:
        self.wait(queue.tail(), queue.end_ns, queue.late, self.clocks.snapshot(queue.handle))

    def wait_for_device(self, device: int) -> None:
        queues = [queue for queue in self.runner.queues if queue.device == device]
        tails = [tail for queue in queues if (tail := queue.tail()) is not None]
        self.runner.run_until(tails[0] if len(tails) == 1 else Join(tails))
        for queue in queues:
            self.wait_for_queue(queue)
            if queue.is_retired:
                self.runner.queues.pop(queue, None)  # `retire` may remove it during the wait

    def retire(self, queue: Queue) -> None:
        """Retire a destroyed stream's queue, kept for `wait_for_device` until the host knows that its work is done."""
        queue.is_retired = True
        if queue.last is None or self.clocks.host_knows(queue.handle, queue.last.number):
            del self.runner.queues[queue]

    def wait_for_users(self, blocks: Sequence[Block]) -> None:
        """Wait for unfinished work on the blocks.  This orders nothing: the program did not ask for the wait."""
        for command in unfinished(blocks):
            self.runner.run_until(command)
            self.block_host(settled(command.end_ns, command.late)[0])

    def run_users(self, blocks: Sequence[Block]) -> None:
        """Run unfinished work on the blocks."""
        for command in unfinished(blocks):
            self.runner.run_until(command)

    def drain(self) -> list[FlambeauError]:
        """Run all queued work on devices that have not failed; return the new failures."""
        known = set(self.runner.failures)
        failed: list[FlambeauError] = []
        for queue in list(self.runner.queues):
            is_done = False
            while not is_done and queue.device not in self.runner.failures:
                try:
                    self.runner.run_until(queue.tail())
                    is_done = True
                except KernelReferenceError as error:  # the rest can still run
                    failed.append(error)
                except AcceleratorError:
                    is_done = True
                except FlambeauError as error:  # of a collective of several processes
                    failed += [] if getattr(error, "is_repeated", False) else [error]
        return failed + [failure for device, failure in self.runner.failures.items() if device not in known]
