"""Streams as queues of commands, the runner that executes them, and their work: NumPy on the memory of virtual GPUs.

- Nothing runs when it is submitted.  A stream's commands run in order; a command also follows its `predecessors`.
- A wait runs commands until those it waits for are done.  The schedule picks among the streams that are ready: their
  first command's predecessors are done, and, under a schedule that runs ancestors only, the wait needs that command.
- A blocked stream is examined again when the command that blocks it is done.
- A command with a `gate` (exchanges.py) is not ready before other processes have done their part.  When nothing else
  can run, a wait releases the driver's lock and waits for a gate.
- Times after such a command depend on when it ends: see clock.Late.
- A command that fails as it would on a GPU stops its device permanently: every later call on the device reports it.
- A reference that fails in any other way raises InternalError in the wait that ran it, or KernelReferenceError if the
  program defined it; the device stays usable.
- Poison that is recorded but not yet written is written to the bytes before they are read.
- A command with `poisoned_reads` gets a private copy of the array with poison in those bytes.  An array that is also
  written gets the poison in place: bytes that two unordered writers share end as poison anyway.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextvars import Context
from struct import Struct, pack_into
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from ... import callers, host
from ...core.native import run_handlers
from ...errors import (
    AcceleratorError,
    DeviceAssertError,
    FlambeauError,
    KernelReferenceError,
    NotSupportedError,
    cuda_text,
    reference_failed,
    user_reference_failed,
)
from ...kernel import Access, Grid, Kernel, Pointer, Pointers
from ..api import Exchange, StreamHandle
from .access import MemoryAccess, Overlap
from .clock import Late
from .faults import InjectedFailure
from .memory import Block
from .schedule import Schedule
from .space import POISON

if TYPE_CHECKING:
    from .capture import Capture
    from .events import Waited
    from .submission import Command


LOG_LENGTH = 1 << 20  # commands
WAITS_KEPT = 64  # per stream
DEVICE_ASSERT = 710  # CUresult
LAUNCH_FAILED = 719  # CUresult
MODELLED = (FlambeauError, InjectedFailure)  # failures that GPUs have, such as traps, and injected ones
LOST_HINT = "correct the launch, then call torch.virtual.reset() or start the process again: the device is lost"


class Join:
    """A join of several commands and other joins.  Completed ones are dropped from `parts`."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[Awaited]) -> None:
        self.parts = parts

    @property
    def done(self) -> bool:
        return self.holder() is None

    def holder(self) -> Command | None:
        """Return an unfinished command of the join; None if all are done."""
        stack = [self]
        while stack:
            parts = stack[-1].parts
            while parts and not isinstance(parts[-1], Join) and parts[-1].done:
                parts.pop()
            if not parts:
                stack.pop()
                if stack:
                    stack[-1].parts.pop()
                continue
            last = parts[-1]
            if not isinstance(last, Join):
                return last
            stack.append(last)
        return None


Awaited = Union["Command", Join]
NO_WAITS: list[Awaited] = []  # shared by all commands without predecessors; it stays empty
Work = Callable[["Command"], None]


class Queue:
    """One stream.  end_ns: the end of everything submitted so far;  waits: the predecessors of its next command.

    late: the unfinished commands that the end also depends on, None if it is known.
    name: the program's name for it, "" if there is none;  site: the source line that created it.
    launched_on: for a branch of a graph, the stream of the launch;  waited: its waits, for reports.
    share: the fraction of the device's multiprocessors that its kernels run on.
    capture: the capture it takes part in, or None;  tails: the nodes that its next captured work follows.
    """

    __slots__ = (
        "capture", "device", "end_ns", "handle", "is_default", "is_retired", "joined", "last", "late", "launched_on",
        "name", "pending", "priority", "share", "site", "tails", "waited", "waits",
    )  # fmt: skip

    def __init__(self, handle: StreamHandle, device: int, priority: int, is_default: bool) -> None:
        self.handle = handle
        self.device = device
        self.priority = priority
        self.share = 1.0
        self.is_default = is_default
        self.is_retired = False
        self.name = self.site = ""
        self.launched_on: Queue | None = None
        self.waited: deque[Waited] = deque(maxlen=WAITS_KEPT)
        self.pending: deque[Command] = deque()
        self.last: Command | None = None
        self.waits: list[Awaited] = []
        self.joined: Join | None = None  # the waits and the last command as one join
        self.end_ns = 0
        self.late: Late | None = None
        self.capture: Capture | None = None
        self.tails: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        """The stream's label in reports: its name, or its handle."""
        if self.launched_on is not None:
            return f"a branch of a graph on {self.launched_on.label}"
        if self.name:
            return f"stream {self.name!r}"
        return "the default stream" if self.is_default else f"stream {self.handle}"

    def tail(self) -> Awaited | None:
        """Return a command or join that follows all submitted work; None if all of it is done."""
        last = None if self.last is None or self.last.done else self.last
        if not self.waits:
            return last
        if self.joined is None or self.waits != [self.joined]:
            self.joined = Join(self.waits if last is None else [*self.waits, last])
            self.waits = [self.joined]  # so that the next join does not repeat them
        return self.joined

    def append(self, command: Command) -> None:
        self.pending.append(command)
        self.last = command
        self.joined = None

    def follow(self, awaited: Awaited | None) -> None:
        """Make the next command follow this one too."""
        if awaited is not None and not awaited.done:
            self.waits.append(awaited)


class Runner:
    """Runs the commands of all queues.  log: (stream, number, name) of the latest commands that ran, in order."""

    def __init__(self, schedule: Schedule, fixed_values: bool, lock: Any) -> None:
        self._lock = lock
        self.queues: dict[Queue, None] = {}  # in order of creation
        self.log: deque[tuple[StreamHandle, int, str]] = deque(maxlen=LOG_LENGTH)
        self.failures: dict[int, AcceleratorError] = {}
        self._fixed_values = fixed_values
        self.follow(schedule)
        self._running: Command | None = None
        self.is_interruptible = True  # whether signal handlers may run, and raise, between commands

    def follow(self, schedule: Schedule) -> None:
        """Set the schedule.  Where values must not depend on it, waits run only the commands that they need."""
        self.schedule = schedule
        self._ancestors_only = schedule.ancestors_only or self._fixed_values

    @property
    def explores(self) -> bool:
        """Whether a wait may run more than it needs, so that values may depend on the schedule."""
        return not self._ancestors_only

    def add(self, queue: Queue) -> None:
        self.queues[queue] = None
        self.schedule.stream_made(queue.handle)

    def check(self, device: int) -> None:
        """Raise AcceleratorError if the device has failed."""
        failure = self.failures.get(device)
        if failure is not None:
            fact = f"{failure.fact}; met by {callers.caller()}"
            raise AcceleratorError(
                fact, hint=LOST_HINT, error_code=failure.error_code, sticky=True
            ) from failure.__cause__

    def run_until(self, target: Awaited | None, waits: bool = True, fails: bool = True) -> bool:
        """Run until `target` is done; return whether it is.

        waits: whether the host waits for other processes if the target needs them.
        fails: whether a failed collective raises; if not, it is left in the queue.
        Raises: AcceleratorError if a command fails or has failed; CollectiveError; NotSupportedError if a command's
        reference calls this.
        """
        if target is None or target.done:
            return True
        if self._running is not None:
            raise NotSupportedError(
                "the kernel's reference waits for a GPU, which is running it",
                hint="compute with NumPy, and pass all that the reference needs as arguments",
                operator=self._running.name,
            )
        if not waits and self._is_held_up(target, fails):
            return False
        needed: dict[Queue, int] | None = None
        while not target.done:
            if self._ancestors_only and not isinstance(target, Join) and self._is_next(target, fails):
                self._run_first(target.queue)
                break
            if needed is None:
                needed = needed_numbers(target)
            shut = self._run_ready(target, needed, fails)
            if target.done:
                break
            if not waits:
                return False
            self._wait_for_any(shut)
        return True

    def _is_held_up(self, target: Awaited, fails: bool) -> bool:
        """Return True if the first commands of the streams already show that the target waits for a closed gate.

        Follows the chain of commands that block the target.  Its cost does not depend on the number of commands on the
        streams.
        """
        holder = target.holder()
        while holder is not None and self._ancestors_only and not self.failures:
            head = holder.queue.pending[0]
            holder = next((blocker for command in head.predecessors if (blocker := command.holder()) is not None), None)
            if holder is None:
                return head.gate is not None and not _is_open(head.gate, fails)
        return False

    def _wait_for_any(self, gates: Sequence[Exchange]) -> None:
        """Wait for other processes.  Threads may use the driver meanwhile."""
        state = self._lock.inner._release_save()
        try:
            gates[0].wait(gates)
        finally:
            self._lock.inner._acquire_restore(state)

    def _run_ready(self, target: Awaited, needed: dict[Queue, int], fails: bool) -> list[Exchange]:
        """Run what can run until `target` is done; return the closed gates that block it."""
        shut: list[Exchange] = []
        ready = Ready()
        held_up: dict[Command, list[Queue]] = {}
        for queue in needed if self._ancestors_only else list(self.queues):
            self._look_at(queue, needed, ready, held_up, shut, fails)
        while not target.done:
            if not len(ready):
                for queue in needed:
                    self.check(queue.device)
                assert shut, "no command that the wait needs can run"
                return shut
            queue = ready.take(self.schedule.choose(ready) if len(ready) > 1 else 0)
            while True:
                command = self._run_first(queue)
                if self.is_interruptible:
                    run_handlers()  # between commands the state is consistent
                if len(ready) or held_up or target.done or not self._goes_on(queue, needed):
                    break
            for candidate in (queue, *held_up.pop(command, ())):
                self._look_at(candidate, needed, ready, held_up, shut, fails)
        return shut

    def _goes_on(self, queue: Queue, needed: dict[Queue, int]) -> bool:
        """Return whether a queue's next command can run at once: no predecessors, no gate, and the wait may run it."""
        if not queue.pending:
            return False
        head = queue.pending[0]
        if head.predecessors or head.gate is not None:
            return False
        return not self._ancestors_only or head.number <= needed[queue]

    def run_before_host(self, number: int) -> None:
        """Run the commands that the schedule chooses to run before an access of the host, which does not wait for them.

        number: the index of the access among the racing accesses of the host.
        """
        ready = Ready()
        held_up: dict[Command, list[Queue]] = {}
        for queue in list(self.queues):
            self._look_at(queue, {}, ready, held_up, [], False)
        while len(ready):
            index = self.schedule.choose(HostOrReady(ready, number))
            if index == 0:
                return
            queue = ready.take(index - 1)
            command = self._run_first(queue)
            for candidate in (queue, *held_up.pop(command, ())):
                self._look_at(candidate, {}, ready, held_up, [], False)

    def _is_next(self, command: Command, fails: bool) -> bool:
        """Return whether a command can run at once, without asking the schedule."""
        queue = command.queue
        if queue.pending[0] is not command or command.predecessors or queue.device in self.failures:
            return False
        return command.gate is None or _is_open(command.gate, fails)

    def _look_at(
        self,
        queue: Queue,
        needed: dict[Queue, int],
        ready: Ready,
        held_up: dict[Command, list[Queue]],
        shut: list[Exchange],
        fails: bool,
    ) -> None:
        """Examine a queue's first command, if the wait may run it.

        Add the queue to `ready`, or to `held_up` by what blocks it, or add its gate to `shut` if the wait needs it.
        """
        if not queue.pending or queue.device in self.failures:
            return
        head = queue.pending[0]
        if self._ancestors_only and head.number > needed[queue]:
            return
        waits = head.predecessors
        while waits:
            if (holder := waits[-1].holder()) is not None:
                held_up.setdefault(holder, []).append(queue)
                return
            waits.pop()
        if head.gate is not None:
            is_needed = head.number <= needed.get(queue, 0)
            if not _is_open(head.gate, fails and is_needed):
                if is_needed:
                    shut.append(head.gate)
                return
        ready.add(queue)

    def _run_first(self, queue: Queue) -> Command:
        command = queue.pending.popleft()
        self.log.append((queue.handle, command.number, command.name))
        outer, self._running = self._running, command
        try:
            command.run()
        except KernelReferenceError as error:
            command.finish()
            raise user_reference_failed(command.name, _where(command), error.__cause__) from error.__cause__
        except MODELLED as error:
            if command.gate is not None:  # the failure is the collective's, not the GPU's
                command.finish()
                raise
            failure = self.failures[queue.device] = _failure(command, error)
            failure.__cause__ = error
            self.check(queue.device)
        except Exception as error:
            command.finish()
            what = callers.operator_of(command.name, command.called)
            raise reference_failed(what, _where(command), error) from error
        except BaseException:  # SystemExit of a program's reference
            command.finish()
            raise
        finally:
            self._running = outer
        return command


def _is_open(gate: Exchange, fails: bool) -> bool:
    return gate.is_ready() or (fails and gate.has_failed())


class Ready(Sequence[StreamHandle]):
    """The ready streams, in the order in which their first commands were submitted."""

    def __init__(self) -> None:
        self._queues: list[tuple[int, Queue]] = []

    def __len__(self) -> int:
        return len(self._queues)

    def __getitem__(self, index: Any) -> Any:
        entry = self._queues[index]
        return [queue.handle for _, queue in entry] if isinstance(entry, list) else entry[1].handle

    @property
    def points(self) -> list[tuple[StreamHandle, int]]:
        """Each stream with the number of its first command."""
        return [(queue.handle, queue.pending[0].number) for _, queue in self._queues]

    def add(self, queue: Queue) -> None:
        insort(self._queues, (queue.pending[0].sequence, queue))

    def take(self, index: int) -> Queue:
        return self._queues.pop(index)[1]


HOST_HANDLE = StreamHandle(-1)


class HostOrReady(Sequence[StreamHandle]):
    """The choices before an access of the host: index 0 is the access, the others are the ready streams."""

    def __init__(self, ready: Ready, number: int) -> None:
        self._ready = ready
        self._number = number

    def __len__(self) -> int:
        return 1 + len(self._ready)

    def __getitem__(self, index: Any) -> Any:
        return [HOST_HANDLE, *self._ready][index]

    @property
    def points(self) -> list[tuple[StreamHandle, int]]:
        """The points of `Ready`, with the number of the host's access."""
        return [(HOST_HANDLE, self._number), *self._ready.points]


def needed_numbers(target: Awaited) -> dict[Queue, int]:
    """Return, per queue, the number of the last command that must run before `target` is done."""
    needed: dict[Queue, int] = {}
    seen: set[Join] = set()
    stack = [target]
    while stack:
        awaited = stack.pop()
        if isinstance(awaited, Join):
            if awaited not in seen:
                seen.add(awaited)
                stack += awaited.parts
            continue
        queue, reached = awaited.queue, needed.get(awaited.queue, 0)
        if awaited.done or awaited.number <= reached:
            continue
        needed[queue] = awaited.number
        for other in queue.pending:
            if other.number > awaited.number:
                break
            if other.number > reached:
                stack += other.predecessors
    return needed


def _where(command: Command) -> str:
    return f" on device {command.queue.device}, {command.queue.label}, launched at {command.place}"


def _failure(command: Command, error: Exception) -> AcceleratorError:
    code = DEVICE_ASSERT if isinstance(error, IndexError | ValueError | DeviceAssertError) else LAUNCH_FAILED
    what = callers.operator_of(command.name, command.called)
    fact = f"{type(error).__name__}: {getattr(error, 'fact', error)}"
    return AcceleratorError(
        f"failed{_where(command)}: {fact}{_poison_note(command)}; CUDA error: {cuda_text(code)}",
        error_code=code,
        sticky=True,
        operator=what,
    )


def _poison_note(command: Command) -> str:
    """Return a note for an error if an operand of the failed command holds poison, "" if none does."""
    for access, block in zip(command.accesses, command.blocks):
        if not access.reads:
            continue
        shape, dtype = access.form
        array = host.numpy().ascontiguousarray(_array(access, block, command.poisoned_reads or []))
        size = array.dtype.itemsize  # one-byte types are skipped: 0xFF is a common value of them
        if size > 1 and (array.reshape(-1).view("uint8").reshape(-1, size) == POISON).all(axis=1).any():
            value = "-1" if array.dtype.kind == "i" else "NaN" if array.dtype.kind == "f" else "all bits set"
            what = f"its {dtype} operand of shape {list(shape or ())} holds poison ({value})"
            return f"; {what}: bytes never written, or shared by unordered accesses, which `flambeau check` finds"
    return ""


BOUND_LAUNCHES = 1024  # cached argument buffers per kernel and device
ADDRESS_BYTES = 8
STAND_IN_BITS = 44  # placeholder addresses are multiples of 2**44: no array is longer


class Split(NamedTuple):
    """Functions that split launch arguments into addresses and the rest, and join the rest with other addresses.

    The rest is equal for arguments that differ only in addresses and have the same operands.
    """

    split: Callable[[Any], tuple[Sequence[int], Hashable]]
    join: Callable[[Any, Sequence[int]], Any]


def absent(addresses: Sequence[int]) -> Hashable:
    """Return which operands are absent, if any: their addresses are 0."""
    return None if all(addresses) else tuple(map(bool, addresses))


# the split of a library plan
ADDRESSES = Split(lambda addresses: (addresses, absent(addresses)), lambda _, addresses: tuple(addresses))


def of_kernel(kernel: Kernel) -> Split | None:
    """Return the split of a kernel's argument buffer.

    It is None for kernels of the program, and those with lists of arrays.
    """
    if type(kernel) is not Kernel or any(type(param) is Pointers for param in kernel.params):
        return None
    starts = [at for param, at in zip(kernel.params, kernel.offsets) if type(param) is Pointer]
    ends = [0, *[at + ADDRESS_BYTES for at in starts]]
    gaps = [(low, high) for low, high in zip(ends, starts) if low < high]
    words = Struct("=" + "".join(f"{start - end}xQ" for end, start in zip(ends, starts)))
    last = ends[-1]

    def split(buffer: bytes) -> tuple[Sequence[int], Hashable]:
        addresses = words.unpack_from(buffer)
        return addresses, (absent(addresses), buffer[last:], *[buffer[low:high] for low, high in gaps])

    def join(buffer: bytes, addresses: Sequence[int]) -> bytes:
        joined = bytearray(buffer)
        for at, address in zip(starts, addresses):
            pack_into("=Q", joined, at, address)
        return bytes(joined)

    return Split(split, join)


class Bound:
    """The bound arguments of a launch: the values of `Kernel.bind`, the accesses to check and the device time.

    blocks: the blocks of the accesses at the last launch, empty before the first.
    made: the arguments of the reference if they are the same at every launch;  None until then.
    """

    __slots__ = ("accesses", "blocks", "duration_ns", "made", "values")

    def __init__(self, values: list[Any], accesses: tuple[MemoryAccess, ...], duration_ns: int) -> None:
        self.values = values
        self.accesses = accesses
        self.duration_ns = duration_ns
        self.blocks: Sequence[Block] = ()
        self.made: list[Any] | None = None


class Form:
    """The bound arguments of launches that differ only in addresses, bound once.

    places: per access, the index of its address, the offsets of its first byte and its end from there, and the access.
    """

    __slots__ = ("bound", "places")

    def __init__(self, bound: Bound) -> None:
        self.bound = bound
        self.places = []
        for access in bound.accesses:
            index, start = (access.low >> STAND_IN_BITS) - 1, access.low & (1 << STAND_IN_BITS) - 1
            self.places.append((index, start, start + access.high - access.low, access))

    def at(self, addresses: Sequence[int], name: str) -> Bound:
        """Return the bound arguments with these addresses."""
        accesses = tuple([access.moved(addresses[index] + start, name) for index, start, _, access in self.places])
        return Bound(self.bound.values, accesses, self.bound.duration_ns)


class Loaded:
    """A kernel or library plan on one device.

    bind: from launch arguments to arrays and numbers;  duration: from arrays to device time in nanoseconds.
    split: how addresses are separated from other arguments, or None.
    bounds: the bound arguments of the latest launches, by the arguments;  grid: of the last launch.
    host_ns: the host time of a launch or call.
    is_own: whether the reference is this library's, not the program's: it does not modify its input arrays.
    """

    __slots__ = (
        "_bind", "_duration", "_forms", "_split", "bounds", "device", "grid", "host_ns", "is_own", "name", "reference",
    )  # fmt: skip

    def __init__(
        self,
        device: int,
        name: str,
        reference: Callable[..., None],
        bind: Callable[[Any], list[Any]],
        duration: Callable[[list[Access]], int],
        split: Split | None = None,
        is_own: bool = True,
        host_ns: int = 0,
    ) -> None:
        self.device = device
        self.name = name
        self.reference = reference
        self._bind = bind
        self._duration = duration
        self._split = split
        self.is_own = is_own
        self.host_ns = host_ns
        self.bounds: dict[Any, Bound] = {}
        self.grid: Grid | None = None
        self._forms: dict[Hashable, Form] = {}

    def bound(self, arguments: Any) -> Bound:
        """Bind launch arguments, or return the cached result."""
        bound = self.bounds.get(arguments)
        if bound is None:
            if len(self.bounds) >= BOUND_LAUNCHES:
                self.bounds.clear()
            result = self._bind_anew(arguments) if self._split is None else self._by_form(arguments, self._split)
            bound = self.bounds[arguments] = result
        return bound

    def _bind_anew(self, arguments: Any) -> Bound:
        values = self._bind(arguments)
        operands = [value for value in _flat(values) if isinstance(value, Access) and value.nbytes]
        accesses = tuple([MemoryAccess(operand, self.name) for operand in operands])
        return Bound(values, accesses, self._duration(operands))

    def _by_form(self, arguments: Any, split: Split) -> Bound:
        addresses, rest = split.split(arguments)
        firsts = [addresses.index(address) + 1 if address else 0 for address in addresses]  # equal addresses count once
        return self._form((rest, *firsts), arguments, split, firsts).at(addresses, self.name)

    def form(self, arguments: Any, split: Split, addresses: Sequence[int], rest: Hashable) -> Form:
        """Return the form of launch arguments, which `split` has split.  Equal addresses count as different ones."""
        known = self._forms.get(rest)
        if known is not None:
            return known
        return self._form(rest, arguments, split, [at if address else 0 for at, address in enumerate(addresses, 1)])

    def _form(self, key: Hashable, arguments: Any, split: Split, operands: Sequence[int]) -> Form:
        """Return the cached form of a key.  operands: per address, the number of its operand from 1, 0 for none."""
        form = self._forms.get(key)
        if form is None:
            if len(self._forms) >= BOUND_LAUNCHES:
                self._forms.clear()
            stand_ins = [at << STAND_IN_BITS for at in operands]
            form = self._forms[key] = Form(self._bind_anew(split.join(arguments, stand_ins)))
        return form


def _flat(values: list[Any]) -> list[Any]:
    return [item for value in values for item in (value if isinstance(value, list) else (value,))]


def run_reference(command: Command) -> None:
    """Run the NumPy reference of a kernel or library plan.  command.detail: (Loaded, Bound)."""
    loaded, bound = command.detail
    values = bound.made
    if values is None or command.poisoned_reads is not None:
        values = _arguments(bound, iter(arrays_of(command)))
        if loaded.is_own and command.poisoned_reads is None and all(map(_is_lasting, command.blocks)):
            bound.made = values
    else:
        prepare(command)
    if loaded.is_own:
        _run_quietly(loaded.reference, values)
    else:
        with host.numpy().errstate(all="ignore"):
            loaded.reference(*values)


_quiet: list[Context] = []  # idle contexts without floating point warnings, as GPUs give none


def _run_quietly(reference: Callable[..., None], values: list[Any]) -> None:
    """Call a reference without warnings in a cached context, which is much faster than `errstate`."""
    if _quiet:
        context = _quiet.pop()
    else:
        context = Context()
        context.run(host.numpy().seterr, all="ignore")
    try:
        context.run(reference, *values)
    finally:
        _quiet.append(context)


def _is_lasting(block: Block) -> bool:
    return block.space.is_lasting


def _arguments(bound: Bound, arrays: Iterator[Any]) -> list[Any]:
    """Return the arguments of a reference, given an array per access."""
    return [
        [_argument(item, arrays) for item in value] if isinstance(value, list) else _argument(value, arrays)
        for value in bound.values
    ]


def _argument(value: Any, arrays: Iterator[Any]) -> Any:
    if not isinstance(value, Access):
        return value
    return next(arrays) if value.nbytes else host.numpy().empty(tuple(value.shape), value.dtype.numpy)


def run_copy(command: Command) -> None:
    """Copy within virtual and pinned memory.  Accesses: destination, source."""
    target, source = arrays_of(command)
    target[:] = source


def run_copy_from_host(command: Command) -> None:
    """Copy staged host bytes to a device.  Accesses: destination.  detail: the bytes."""
    (target,) = arrays_of(command)
    target[:] = command.detail


def run_copy_to_host(command: Command) -> None:
    """Copy to pageable memory.  Accesses: source.  detail: the host's address."""
    (source,) = arrays_of(command)
    host.bytes_at(command.detail, len(source))[:] = source


def run_fill(command: Command) -> None:
    """Set every byte.  Accesses: destination.  detail: the byte."""
    (target,) = arrays_of(command)
    target[:] = command.detail


def run_poison(command: Command) -> None:
    """Poison a new block.  Accesses: the block."""
    (access,), (block,) = command.accesses, command.blocks
    block.space.poison(access.low, access.high)


def run_failure(command: Command) -> None:
    """Raise a failure that a test injected."""
    raise InjectedFailure("an injected failure: the launch failed")


def run_assertion(command: Command) -> None:
    """Raise a failed assertion of device code that a test injected."""
    raise DeviceAssertError("an injected failure: an assertion failed")


def prepare(command: Command) -> None:
    """Prepare bytes for an access: write pending poison that will be read, drop poison that will be overwritten."""
    for access, block in zip(command.accesses, command.blocks):
        if access.reads or not access.dense:
            block.space.materialise(access.low, access.high)
    for access, block in zip(command.accesses, command.blocks):
        if access.writes:
            block.space.written(access.low, access.high)


def arrays_of(command: Command) -> list[Any]:
    """Return one array per access, ready to be read and written."""
    prepare(command)
    poisoned = command.poisoned_reads or []
    return [_array(access, block, poisoned) for access, block in zip(command.accesses, command.blocks)]


def _array(access: MemoryAccess, block: Block, poisoned_reads: list[Overlap]) -> Any:
    parts = _clip(access, poisoned_reads) if poisoned_reads and access.reads else []
    if not parts:
        return access.array(block.space)
    if not access.writes:
        return access.copy(block.space, parts)
    for part in parts:
        part.poison(block.space)
        block.space.materialise(part.low, part.high)
    return access.array(block.space)


def _clip(access: MemoryAccess, overlaps: list[Overlap]) -> list[Overlap]:
    clipped = [overlap.clipped(access.low, access.high) for overlap in overlaps]
    return [part for part in clipped if part.low < part.high]
