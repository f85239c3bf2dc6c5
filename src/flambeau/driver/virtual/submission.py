"""Commands, and the fast path of the virtual driver: the calls of warm operators, whose kernels are already loaded.

- `WarmCalls` are the calls of the Driver that a warm operator makes: `block_given`, `block_taken` and `launch`.
- `Submission` is the engine's part in them: it queues commands and allocates blocks.
- In the usual case nothing here calls another module of the driver.  Functions shared with other calls are inlined:
  `HostClocks.spend`, `VectorClocks.advance`, `callers.origin`, `signals.look`, `History.add`, `Queue.append` and
  `ReentrantLock.acquire`.  The usual case: memory that only the stream uses, no capture, no attached tool, no failure.
"""

from __future__ import annotations

import os
import signal
import sys
from _signal import SIGALRM, SIGINT, getsignal
from collections import deque
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from ... import callers, signals
from ...callers import Origin
from ...core.native import enter_critical, leave_critical
from ...core.queue import CallCount, hooks
from ...errors import AcceleratorError, OutOfMemoryError
from ...kernel import MAX_BLOCK, MAX_BLOCKS, MAX_THREADS, Buffer, Grid
from ...vector_clock import EMPTY, UNKNOWN, Clock, StreamKey, StreamState, VectorClocks
from ..api import Address, Exchange, KernelHandle, StreamHandle
from .access import FEW_COMMANDS, FEW_GROUPS, TAKING, History, MemoryAccess, Overlap, Taken
from .capture import nothing
from .card import LISTED, Card
from .clock import CopyEngine, HostClocks, Late, later, latest, settled
from .memory import INVALID_VALUE, Block, Memory
from .queue import NO_WAITS, Awaited, Loaded, Queue, Runner, Work, run_assertion, run_failure, run_poison, run_reference

if TYPE_CHECKING:
    from ...core.locks import ReentrantLock
    from .access import Use
    from .faults import Faults
    from .races import Comparison, Races
    from .space import Space

SAMPLE_NS = 1_000_000_000 // 6  # the sampling period of utilization; on hardware it is from this to a second
MAX_PENDING = 1024  # commands per stream
MAX_SHARED = 227 << 10  # bytes of dynamic shared memory per block
BEGUN = "begun"  # key of the note that a backward pass has launched something
INVALID_HANDLE = 400  # CUresult
LAUNCH_OUT_OF_RESOURCES = 701  # CUresult

Handle = TypeVar("Handle")
Entry = TypeVar("Entry")


class Command:
    """A command of a stream: `work(command)` executes it, with data in `detail` and `accesses` to `blocks`.

    origin: the program's call that made it;  launched: the source line of its graph's launch, "" if it has none.
    number: its index on the stream;  sequence: its index among all commands.
    base, changes, version: of its clock.
    poisoned_reads: bytes that it reads as poison;  poisoned_writes: bytes that hold poison after it ran.
    notes: data that a tool attaches to it.
    gate: the exchange that must also be ready before it runs, or None.
    late: the unfinished commands that its end also depends on, None if it is known.
    covered: unfinished uses that it replaced in the history, because it writes all of their bytes.
    """

    # Initial values of a command.
    number = sequence = end_ns = version = 0
    base = EMPTY
    changes: dict[StreamKey, int] = EMPTY.numbers
    predecessors: list[Awaited] = NO_WAITS
    done = False
    poisoned_reads: list[Overlap] | None = None
    poisoned_writes: list[tuple[Space, Overlap]] | None = None
    covered: list[Use] | None = None
    notes: Any = None
    gate: Exchange | None = None
    late: Late | None = None

    def __init__(
        self,
        queue: Queue,
        name: str,
        work: Work,
        detail: Any,
        accesses: Sequence[MemoryAccess],
        blocks: Sequence[Block],
        origin: Origin,
        launched: str = "",
    ) -> None:
        self.queue = queue
        self.name = name
        self.work = work
        self.detail = detail
        self.accesses = accesses
        self.blocks = blocks
        self.origin = origin
        self.launched = launched
        if queue.waits:
            self.predecessors, queue.waits = queue.waits, []

    def advance(self, state: StreamState) -> None:
        """Make this command the next operation of its stream, whose clock is `state`."""
        state.count += 1
        state.is_waiting = False
        state.is_shared = True
        self.number, self.base, self.changes, self.version = state.count, state.base, state.changes, state.version

    @property
    def clock(self) -> Clock:
        """The clock at the completion of this command."""
        return Clock(self.queue.handle, self.number, self.base, self.changes, self.version)

    @property
    def site(self) -> str:
        """The source line of the call."""
        return callers.described(self.origin)[0]

    @property
    def called(self) -> str:
        """The operation that the program called; "" if unknown."""
        return callers.described(self.origin)[1]

    @property
    def place(self) -> str:
        """The source lines of the call and of its graph's launch."""
        return place_of(self.site, self.launched)

    def poison_read(self, overlap: Overlap) -> None:
        if self.poisoned_reads is None:
            self.poisoned_reads = []
        self.poisoned_reads.append(overlap)

    def poison_write(self, space: Space, overlap: Overlap) -> None:
        if self.poisoned_writes is None:
            self.poisoned_writes = []
        self.poisoned_writes.append((space, overlap))

    def cover(self, uses: Iterable[Use]) -> None:
        """Add replaced uses with pending reads to `covered`."""
        left = [use for use in uses if use.has_to_read]
        if self.covered is None:
            self.covered = left or None
        else:
            self.covered += left

    def run(self) -> None:
        self.work(self)
        if self.poisoned_writes is not None:
            for space, overlap in self.poisoned_writes:
                overlap.poison(space)
        self.finish()

    def finish(self) -> None:
        """Mark this command as done, and drop all data except what reports need."""
        self.done = True
        self.detail = None
        self.accesses = self.blocks = ()
        self.poisoned_reads = self.poisoned_writes = self.covered = None
        self.predecessors = NO_WAITS
        self.gate = None

    def holder(self) -> Command | None:
        """Return this command until it is done, then None."""
        return None if self.done else self


def place_of(site: str, launched: str) -> str:
    """Return a source line, and the line of the graph's launch if it was captured."""
    return f"{site}, captured, and launched at {launched}" if launched else site


class BusySpans:
    """Busy spans of modelled time.  Spans older than the sampling period are dropped."""

    def __init__(self) -> None:
        self._spans: deque[list[int]] = deque()

    def add(self, start_ns: int, end_ns: int, now_ns: int) -> None:
        """Add a busy span from `start_ns` to `end_ns`, known at `now_ns`."""
        spans = self._spans
        if end_ns <= start_ns:
            return
        if spans:
            last = spans[-1]
            if last[0] <= start_ns <= last[1]:
                if end_ns > last[1]:
                    last[1] = end_ns
                return
        while spans and spans[0][1] < now_ns - SAMPLE_NS:
            spans.popleft()
        spans.append([start_ns, end_ns])

    def percent(self, now_ns: int, *others: BusySpans) -> int:
        """Return the percentage of the current sample, or of the machine's shorter lifetime, that spans cover."""
        begin = max(0, now_ns - SAMPLE_NS)
        busy, reached = 0, begin
        for start, end in sorted(chain(self._spans, *(other._spans for other in others))):
            start, end = max(start, reached), min(end, now_ns)
            if end > start:
                busy, reached = busy + end - start, end
        return 100 * busy // (now_ns - begin) if busy else 0


class Submission:
    """The part of the engine that queues commands and allocates blocks.  Callers hold the driver's lock.

    left_out: the work functions that are skipped where values are not computed.
    slowdown: the factor of all durations; a straggler has more than 1.
    """

    card: Card
    memory: Memory
    clocks: VectorClocks
    clock: HostClocks
    runner: Runner
    races: Races
    kernels: list[BusySpans]
    copies: list[BusySpans]
    left_out: frozenset[Work]
    slowdown: float
    order: CallCount

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
        origin: Origin | None = None,
        launched: str = "",
        is_seen: bool = True,
    ) -> None:
        """Submit a command to a queue, or record it if the queue is capturing.

        origin: the program's call, by default the current one.
        launched: the source line of the graph's launch, for a node of a graph.
        is_seen: whether tools are notified of it.
        Raises: RaceError, or the failure of a command that had to run to make room.
        """
        if self.left_out and work in self.left_out:
            work, detail = nothing, None
        if queue.capture is not None:
            self.clock.spend(host_ns)
            queue.capture.record(queue, name, work, detail, accesses, blocks, duration_ns, engines)
            return
        if origin is None:
            origin = callers.origin()
        handle, races = queue.handle, self.races
        if races.witness is not None and not launched:
            races.witness.begins(queue, self.clocks.stream(handle).count + 1, callers.described(origin)[0])
        compared: Comparison | None = None
        if races.looks:
            for block in blocks:
                user = block.history.stream
                if user != handle and user is not None:
                    compared = self.check(queue, name, origin, launched, accesses, blocks)
                    break
        if len(queue.pending) >= MAX_PENDING:
            self.make_room(queue)
        command = Command(queue, name, work, detail, accesses, blocks, origin, launched)
        clock = self.clock
        now_ns = clock.thread.now_ns = getattr(clock.thread, "now_ns", clock.latest_ns) + host_ns
        if now_ns > clock.latest_ns:
            clock.latest_ns = now_ns
        start = now_ns if now_ns > queue.end_ns else queue.end_ns
        late = queue.late
        for engine in engines:
            start = max(start, engine.free_ns)
            late = latest(late, engine.late)
        if late is not None:
            start, late = settled(start, late)
        if self.slowdown != 1 and is_seen:
            duration_ns = int(duration_ns * self.slowdown)
        self.order.count += 1
        command.sequence = self.order.count
        command.advance(self.clocks.streams.get(handle) or self.clocks.stream(handle))
        command.end_ns = queue.end_ns = start + duration_ns
        queue.late = None
        if late is not None:
            command.late = queue.late = later(late, duration_ns)
        for engine in engines:
            engine.free_ns, engine.late = command.end_ns, command.late
        if is_seen:
            (self.copies if engines else self.kernels)[queue.device].add(start, command.end_ns, now_ns)
            if hooks.on_span is not None:
                self.show(command, start, late)
        if compared is not None:
            races.mark(command, handle, compared.conflicts)
            races.record(command, compared, [block.history for block in blocks])
        elif races.looks:
            for access, block in zip(accesses, blocks):
                history = block.history
                log = history.log
                if log and log[-1][0] is access and history.stream == handle and len(log[-1][1]) < FEW_COMMANDS:
                    log[-1][1].append(command)
                elif history.stream == handle and len(log) < history.room:
                    log.append((access, [command], None))
                else:
                    races.add(command, access, history)
        queue.pending.append(command)
        queue.last, queue.joined = command, None
        if races.witness is not None:
            races.witness.submitted(command)

    def check(
        self,
        queue: Queue,
        name: str,
        origin: Origin,
        launched: str,
        accesses: Sequence[MemoryAccess],
        blocks: Sequence[Block],
        histories: Sequence[History] = (),
    ) -> Comparison | None:
        """Find the races of a queue's next command with histories, by default those of the blocks.

        Raises: RaceError for any race under races="error".
        """
        compared = self.races.compare(queue.handle, accesses, blocks, histories or [block.history for block in blocks])
        if compared is not None and compared.conflicts:
            site, called = callers.described(origin)
            call = place_of(site, launched), called
            self.races.meet(queue, name, call, queue.waited, compared.conflicts, accesses)
        return compared

    def show(self, command: Command, start_ns: int, late: Late | None, nbytes: int | None = None) -> None:
        """Call the profilers' hook `on_span` for a command.

        late: the unfinished commands that its start depends on.  nbytes: the bytes that it moves, by default those of
        its accesses.
        """
        assert hooks.on_span is not None
        if nbytes is None:
            nbytes = _nbytes(command)
        queue, times = command.queue, (start_ns, command.end_ns)
        stream = 0 if queue.is_default else queue.handle
        settle = () if command.late is None else (partial(_settle, *times, late, command.late),)
        hooks.on_span(queue.device, stream, command.name, *times, nbytes, command.site, *settle)

    def make_room(self, queue: Queue) -> None:
        """Block the host, if a queue is full, until its oldest command is done."""
        if len(queue.pending) >= MAX_PENDING:
            oldest = queue.pending[0]
            self.runner.run_until(oldest)
            self.block_host(settled(oldest.end_ns, oldest.late)[0])

    def block_host(self, end_ns: int) -> None:
        """Block the calling thread until `end_ns` of modelled time, if that is later than its clock."""
        now = self.clock.now()
        if end_ns > now:
            self.clock.reach(end_ns)
            if hooks.on_blocked is not None:
                hooks.on_blocked(now, end_ns)
            self.clock.spend(self.card.host.wake)

    def take_block(self, queue: Queue, low: int, high: int) -> None:
        """Allocate the block [low, high) on a stream: an operation of the stream that writes poison.

        This is the fast path: a dead block of exactly this range, used only by this stream, becomes live again.
        The last command of the stream writes the poison when it runs.
        """
        handle, last, races = queue.handle, queue.last, self.races
        block = self.memory.devices[queue.device].blocks.at.get(low)
        state = self.clocks.streams.get(handle)
        if (
            block is None or block.is_live or block.high != high or state is None or last is None or queue.waits
            or queue.capture is not None or races.explains
            or (block.history.stream != handle and block.history.stream is not None)
            or self.clocks.host.get(handle, UNKNOWN) >= state.count
        ):  # fmt: skip
            self._take_block(queue, low, high)
            return
        whole = block.whole
        if whole is None:
            whole = block.whole = MemoryAccess.whole(low, high)
            block.poisoning = block.space, Overlap(low, high, None)
        state.count += 1
        state.is_waiting = False
        state.is_shared = True
        before, history = block.history, History()
        if races.looks:
            is_read = before.by_key is not None
            for access, commands, _ in before.log:
                if access.reads or any([command.covered for command in commands]):
                    is_read = True
            if is_read and races.mode != "real":
                last.cover(before.unread(whole))
            history.stream, history.room = handle, FEW_GROUPS
            history.log = [(whole, [last], (state.count, state.base, state.changes, state.version))]
        block.history, block.is_live, block.is_unused = history, True, False
        block.takes += 1
        if last.done:
            block.space.poison(low, high)
        elif last.poisoned_writes is None:
            last.poisoned_writes = [block.poisoning]
        else:
            last.poisoned_writes.append(block.poisoning)

    def current_call(self) -> tuple[str, str]:
        """Return the source line and the operator of the call that is being made."""
        return callers.call()

    def _take_block(self, queue: Queue, low: int, high: int) -> None:
        """Take a block as `take_block` does, without its fast path.

        - If the host has waited for all work of the stream, the poison is written at once.
        - If the stream has new waits or no command yet, the allocation is a separate command.  The same holds if it
          races and the schedule may run more than a wait needs: the older use may then run before or after it.
        - Otherwise the stream's last command writes the poison when it runs.
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
            call = self.current_call()
            site = call[0]
            if self.races.witness is not None and (not is_command or self.races.raises):
                self.races.witness.begins(queue, self.clocks.stream(queue.handle).count + (not is_over), site)
            if taking.conflicts and (not is_command or self.races.raises):  # a command is compared below
                self.races.meet(queue, TAKING, call, queue.waited, taking.conflicts)
            is_fresh = memory.are_fresh(pieces, low, high)
        if is_over:
            block = memory.take(low, high, taking.history)
            self.races.mark(None, queue.handle, taking.conflicts)
        elif is_command:
            self.make_room(queue)
            block = memory.take(low, high, taking.history)
            taken = Taken(site, is_fresh)
            self.submit(queue, TAKING, run_poison, taken, [access], [block], 0, 0, is_seen=False)
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


def _nbytes(command: Command) -> int:
    """Return the bytes that a copy or a fill moves, or the size of a kernel's operands."""
    accesses = command.accesses[:1] if command.name.split()[0] in ("copy", "fill") else command.accesses
    return sum(access.high - access.low for access in accesses)


def _settle(start_ns: int, end_ns: int, start: Late | None, end: Late | None) -> tuple[int, int]:
    """Return the start and the end of work that depended on a collective, which has run."""
    return settled(start_ns, start)[0], settled(end_ns, end)[0]


class WarmCalls:
    """The Driver's calls that a warm operator makes.  The subclass provides the state and the checks."""

    faults: Faults
    _engine: Submission
    _lock: ReentrantLock
    _inner_lock: Any
    _streams: dict[StreamHandle, Queue]
    _kernels: dict[KernelHandle, Loaded]

    def block_given(self, device: int, address: Address, nbytes: int) -> None:
        devices = self._engine.memory.devices
        if not 0 <= device < len(devices):
            self._check_index(device)  # the only check: blocks of a lost device are freed too
        block = devices[device].blocks.at.get(address)
        if block is None or not block.is_live or block.high != address + nbytes:
            devices[device].give(address, address + nbytes)
        else:
            block.is_live = False

    def block_taken(self, device: int, address: Address, nbytes: int, stream: StreamHandle) -> None:
        with self._inner_lock:  # called by an allocator in a critical section
            queue = self._streams.get(stream)
            if queue is None or self._engine.runner.failures:
                queue = self._queue(stream)
            if queue.device != device:
                raise AcceleratorError(
                    f"stream {stream} belongs to device {queue.device}, the block to device {device}",
                    error_code=INVALID_HANDLE,
                    operator="block_taken",
                )
            if self.faults.is_used and self.faults.refuses_block(nbytes):
                raise OutOfMemoryError(
                    f"the allocation of {nbytes} bytes on virtual device {device} was made to fail",
                    hint="flambeau.testing.faults or --fault requested it",
                    operator="allocate",
                )
            self._engine.take_block(queue, address, address + nbytes)

    def launch(self, kernel: KernelHandle, grid: Grid, arguments: Buffer, stream: StreamHandle) -> None:
        if getsignal(SIGINT) is not signals.interrupt or getsignal(SIGALRM) is not signals.alarm:
            signals.replace_handlers()
        enter_critical()
        if not self._inner_lock.acquire(False):
            self._lock.wait()
        try:
            queue = self._streams.get(stream)
            if queue is None or self._engine.runner.failures:
                queue = self._queue(stream)
            loaded = self._kernels.get(kernel)
            if loaded is None:
                loaded = self._lookup(self._kernels, kernel, "kernel")
            if grid is not loaded.grid:
                _check_grid(grid, loaded.name)
                loaded.grid = grid
            now = callers.here()
            more_ns = 0 if now.task is None else self._backward_ns(now.task)
            frame: Any = sys._getframe(1)
            called: Any = None
            while frame is not None and frame.f_code.co_filename.startswith(callers.PACKAGE):
                frame, called = frame.f_back, frame.f_code
            code, at = (None, 0) if frame is None else (frame.f_code, frame.f_lasti)
            self._enqueue(queue, loaded, bytes(arguments), more_ns, (code, at, called, now.operator))
        finally:
            self._inner_lock.release()
            leave_critical()

    def _backward_ns(self, task: Any) -> int:
        """Return the host time that a backward pass adds to its next launch."""
        host = self._engine.card.host
        if task.notes is None:
            task.notes = {}
        if BEGUN in task.notes:
            return host.backward
        task.notes[BEGUN] = {}
        return host.backward + host.backward_pass

    def _enqueue(
        self, queue: Queue, loaded: Loaded, arguments: Any, more_ns: int, origin: Origin | None = None
    ) -> None:
        """Queue a launch or a library call.  more_ns: of host time, beside that of the kernel or the call."""
        engine = self._engine
        if loaded.device != queue.device:
            raise AcceleratorError(
                f"the kernel is loaded on device {loaded.device}, and launched on stream {queue.handle} of device "
                f"{queue.device}",
                error_code=INVALID_HANDLE,
                operator=loaded.name,
            )
        work = self._work_on_demand(queue.device, loaded.name) if self.faults.is_used else run_reference
        bound = loaded.bounds.get(arguments)
        if bound is None:
            bound = loaded.bound(arguments)
        accesses, blocks = bound.accesses, bound.blocks
        for block in blocks:
            if not block.is_live:
                blocks = ()
        if len(blocks) < len(accesses):
            find = engine.memory.find
            blocks = [find(queue.device, access.low, access.high, loaded.name) for access in accesses]
            bound.blocks = blocks
        host_ns = loaded.host_ns + more_ns
        if len(accesses) > LISTED:
            host_ns += engine.card.host.operand * (len(accesses) - LISTED)
        duration_ns = bound.duration_ns
        if queue.share != 1.0:
            duration_ns = engine.card.within(queue.share, duration_ns)
        engine.submit(queue, loaded.name, work, (loaded, bound), accesses, blocks, duration_ns, host_ns, (), origin)

    def _work_on_demand(self, device: int, name: str) -> Work:
        """Return the work of a launch while failures are injected.  Raises AcceleratorError for a refused launch."""
        faults = self.faults
        if faults.kill.strikes():
            os.kill(os.getpid(), signal.SIGKILL)
        if faults.refusal.strikes():
            raise AcceleratorError(
                f"an injected failure refused the launch on device {device}",
                error_code=LAUNCH_OUT_OF_RESOURCES,
                operator=name,
            )
        work = run_failure if faults.launch.strikes() else run_reference
        return run_assertion if faults.assertion.strikes() else work

    # methods of the subclass
    def _check_index(self, device: int) -> None:
        raise AssertionError("the subclass defines _check_index")

    def _queue(self, stream: StreamHandle) -> Queue:
        raise AssertionError("the subclass defines _queue")

    def _lookup(self, table: dict[Handle, Entry], handle: Handle, what: str) -> Entry:
        raise AssertionError("the subclass defines _lookup")


def _check_grid(grid: Grid, name: str) -> None:
    """Raise AcceleratorError if a kernel cannot be launched with a grid."""
    (x, y, z), threads, shared, threads_y, threads_z = grid
    (most_x, most_y, most_z), most_deep = MAX_BLOCKS, MAX_BLOCK[2]
    has_blocks = 0 < x <= most_x and 0 < y <= most_y and 0 < z <= most_z
    has_threads = threads > 0 and threads_y > 0 and 0 < threads_z <= most_deep
    if not (has_blocks and has_threads and threads * threads_y * threads_z <= MAX_THREADS):
        raise AcceleratorError(
            f"{grid} cannot be launched: blocks go from 1 to {most_x}, {most_y} and {most_z}, "
            f"threads from 1 to {MAX_THREADS} in all, and to {most_deep} along z",
            error_code=INVALID_VALUE,
            operator=name,
        )
    if not 0 <= shared <= MAX_SHARED:
        raise AcceleratorError(
            f"{shared} bytes of shared memory were requested; at most {MAX_SHARED} are available",
            hint="use smaller tiles",
            error_code=INVALID_VALUE,
            operator=name,
        )
