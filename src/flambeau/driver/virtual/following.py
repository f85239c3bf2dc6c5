"""The model of GPUs that another driver runs: their memory, at its addresses, and the streams that use it.

- Commands are done when they are submitted: the real GPU runs them.  No values are computed, and no time is modelled.
- Most blocks are used only by the stream that allocated them.  Their uses are ordered, so nothing is compared: each
  launch is appended to a list of the block.  The list becomes accesses and commands when another stream uses or
  allocates the bytes (`SoleHistory.settle`).  From then on, uses of the block are compared one by one.
- A kernel's first launch from a source line makes a command at once, because tools read the line's variables then.
- While only one stream has work, even these lists are not kept (deferred.py).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from struct import Struct, pack_into
from typing import Any

from ... import callers
from ...callers import Origin
from ...config import Gpus
from ...errors import AcceleratorError
from ...kernel import Access, Kernel, Pointer, Pointers, Scalar
from ...vector_clock import UNKNOWN, Base, Clock, StreamKey
from .access import TAKING, Group, History, MemoryAccess, Taken, Use
from .clock import CopyEngine
from .deferred import Deferred
from .engine import Engine
from .memory import Block, DeviceMemory, Memory, Reservation, Segment
from .queue import ADDRESS_BYTES, Form, Loaded, Queue, Split, Work, absent, run_reference
from .races import Witness
from .schedule import Schedule
from .space import EmptySpace, Space
from .submission import INVALID_HANDLE, Command

FEW_LAUNCHES = 64  # a longer list of a block's launches is shortened
PRUNE_AFTER = 4096  # operations of a stream between prunings of the lists of its blocks
MAX_LINES = 1 << 14  # source lines that are cached
MANY_BLOCKS = 1 << 14  # a larger `FollowedDevice.reused` is emptied: then all bytes count as used


class Handles(dict[Any, Any]):
    """Objects by handle.  Looking up an unknown handle raises AcceleratorError."""

    def __missing__(self, handle: int) -> Any:
        raise AcceleratorError(
            f"handle {handle} does not exist: it was never created, or was destroyed", error_code=INVALID_HANDLE
        )


Accesses = Sequence[MemoryAccess]
Bind = Callable[[Any], list[Any]]

# kernels and library plans


class FollowedKernel(Loaded):
    """A kernel, or a library plan, of another driver.  real: its handle there."""

    __slots__ = ("_shapes", "real")

    def __init__(self, real: Any, device: int, name: str, bind: Bind, split: Split | None) -> None:
        """Keep the real handle.  split: how the arguments are split into addresses and the rest; None if unknown."""
        super().__init__(device, name, _nothing, bind, no_time)
        self.real = real
        self._shapes = split

    def split(self, arguments: Any) -> tuple[Form | None, Any]:
        """Return what `spans` and `accesses` take for a launch: its form and addresses, or None and the arguments."""
        shapes = self._shapes
        if shapes is None:
            return None, arguments
        addresses, rest = shapes.split(arguments)
        return self._forms.get(rest) or self.form(arguments, shapes, addresses, rest), addresses

    def accesses(self, form: Form | None, given: Any) -> Accesses:
        """Return the accesses of a launch."""
        return (self.bound(given) if form is None else form.at(given, self.name)).accesses


def _nothing(*operands: Any) -> None:
    """Stand in for a kernel's reference, which is never called."""


def no_time(accesses: list[Access]) -> int:
    """Return 0 as the device time: this model has no clock."""
    return 0


def shapes_of(kernel: Kernel) -> Split | None:
    """Return the functions that split a kernel's argument buffer into addresses and values that determine shapes.

    It is None for kernels of the program, whose buffers may hold other arguments.
    """
    if type(kernel) is not Kernel:
        return None
    sizes = {size for param in kernel.params if isinstance(param, Pointer) for size in param.shape}
    starts: list[int] = []
    singles: list[int] = []  # indices of the starts of single operands
    shapes: list[tuple[int, int]] = []
    for param, start, end in zip(kernel.params, kernel.offsets, [*kernel.offsets[1:], kernel.nbytes]):
        if type(param) is Pointer:
            singles.append(len(starts))
            starts.append(start)
        elif type(param) is Pointers:
            entries = range(start, start + param.count * Pointers.NBYTES, Pointers.NBYTES)
            starts += entries
            shapes += [(entry + ADDRESS_BYTES, entry + Pointers.NBYTES) for entry in entries]
        elif type(param) is not Scalar or param.name in sizes:
            shapes.append((start, end))
    words = _fields([(start, start + ADDRESS_BYTES, "Q") for start in starts])
    rest = _fields([(start, end, f"{end - start}s") for start, end in shapes])

    def split(buffer: bytes) -> tuple[Sequence[int], Hashable]:
        addresses = words.unpack_from(buffer)
        if 0 in addresses:
            return addresses, (absent([addresses[at] for at in singles]), *rest.unpack_from(buffer))
        return addresses, rest.unpack_from(buffer)

    def join(buffer: bytes, addresses: Sequence[int]) -> bytes:
        joined = bytearray(buffer)
        for at, address in zip(starts, addresses):
            pack_into("=Q", joined, at, address)
        return bytes(joined)

    return Split(split, join)


def _fields(fields: Sequence[tuple[int, int, str]]) -> Struct:
    """Return the struct of some fields of a buffer: (start, end, format) of each, in order."""
    ends = [0, *[end for _, end, _ in fields]]
    return Struct("=" + "".join(f"{start - end}x{form}" for end, (start, _, form) in zip(ends, fields)))


# source lines


class Line:
    """A part of a source line that submits work.

    origin: its latest call, which keeps the code object alive, so that its id is not reused;  launched: the kernels
    that it has launched, and the kinds of its copies.
    """

    __slots__ = ("launched", "origin", "site")

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.site = callers.described(origin)[0]
        self.launched: set[object] = set()


# blocks that one stream uses

# Record of a launch: its kernel, form and addresses (see `FollowedKernel.split`), its number on its stream and among
# all operations, the program's call; the base, changes and version of its stream's clock.  It is one tuple to limit the
# number of objects that the garbage collector visits.
Launch = tuple[FollowedKernel, "Form | None", Any, int, int, Origin, Base, dict[StreamKey, int], int]
# Record of an allocation: the preceding operation, its number, the program's call, whether the bytes are fresh, clock.
Allocation = tuple[Launch | Command, int, Origin, bool, Base, dict[StreamKey, int], int]


class Alone:
    """The blocks that only one stream uses.

    real: the other driver's handle of the stream;  state: its clock.
    histories: of the blocks, by the addresses that launches have used.  Some are no longer open (`is_open`).
    latest: the stream's latest operation if it is a launch without a command, else None.
    prunes_at: the number of the operation after which the lists of launches are shortened.
    limit: the number of histories at which those that are no longer open are removed.
    """

    __slots__ = ("_engine", "histories", "latest", "limit", "prunes_at", "queue", "real", "state")

    def __init__(self, engine: FollowingEngine, queue: Queue, real: Any) -> None:
        self._engine = engine
        self.queue = queue
        self.real = real
        self.state = engine.clocks.stream(queue.handle)
        self.histories: dict[int, SoleHistory] = {}
        self.latest: Launch | None = None
        self.prunes_at = self.limit = PRUNE_AFTER

    def command(self, launch: Launch | Command) -> Command:
        """Return the command of a launch; create it if there is none."""
        if isinstance(launch, Command):
            return launch
        command = self.new_command(launch)
        command.accesses = launch[0].accesses(launch[1], launch[2])
        if self._engine.races.witness is not None:
            self._engine.races.witness.submitted(command)
        command.finish()
        return command

    def new_command(self, launch: Launch) -> Command:
        """Create the command of a launch, without accesses."""
        loaded, _, _, number, sequence, origin, base, changes, version = launch
        command = Command(self.queue, loaded.name, run_reference, None, (), (), origin)
        command.number, command.sequence = number, sequence
        command.base, command.changes, command.version = base, changes, version
        return command

    def reusable(self, history: History) -> SoleHistory | None:
        """Return a dead block's history if only this stream used it, and no other block or comparison refers to it."""
        if type(history) is SoleHistory and history.alone is self and history.by_key is None and not history.is_shared:
            return history
        return None

    def settle_last(self) -> None:
        """Make the queue's last command that of the stream's latest operation."""
        if self.latest is not None:
            self.queue.last, self.latest = self.command(self.latest), None

    def settle(self) -> None:
        """Convert all recorded launches to accesses and commands."""
        self.settle_last()
        for history in self.histories.values():
            history.settle()

    def prune(self, known: int) -> None:
        """Shorten the lists of launches.  known: the number of the last operation that the host has waited for."""
        self.histories = {low: history for low, history in self.histories.items() if history.is_open}
        for history in self.histories.values():
            if len(history.launches) > FEW_LAUNCHES:
                history.prune(known)
        self.prunes_at = self.state.count + PRUNE_AFTER
        self.limit = max(PRUNE_AFTER, 2 * len(self.histories))


class SoleHistory(History):
    """The uses of a block that only the stream that allocated it may have used.

    high: the end of the block.
    is_open: whether the block is live, and no other stream has used it.
    is_shared: whether other dead blocks share this history.
    launches: the launches that used the block and are not in the groups yet, in order.
    """

    is_shared = False
    _allocation: Allocation | None = None

    def __init__(self, alone: Alone, low: int, high: int) -> None:
        """Begin a history.  The host has waited for all earlier work of the stream, unless an allocation follows."""
        self.stream = alone.queue.handle
        self.alone = alone
        self.high = high
        self.is_open = True
        self.launches: list[Launch] = []
        self._low = low

    def begin(self, allocation: Allocation) -> None:
        """Restart with an allocation of the block, which only this stream has used before."""
        self.is_open = True
        self.launches.clear()
        self._allocation = allocation

    def prune(self, known: int) -> None:
        """Drop uses that the host has waited for, and launches whose uses of the block were repeated."""
        latest = {self._uses(launch): launch for launch in self.launches if launch[3] > known}
        self.launches = sorted(latest.values(), key=_number)
        if len(self.launches) > FEW_LAUNCHES:
            self.settle()
        if self.by_key is not None and self.is_full():
            for group in self.groups():
                group.keep(use for use in group.uses() if use.number > known)
            self.renew([group for group in self.groups() if not group.is_empty])
            self.stream = self.alone.queue.handle

    def _uses(self, launch: Launch) -> Hashable:
        """Return what determines a launch's uses of the block: addresses in other blocks do not."""
        loaded, form, given = launch[:3]
        if form is None:
            return loaded, given
        return loaded, form, tuple([address if self._low <= address < self.high else 0 for address in given])

    def settle(self) -> dict[tuple[object, ...], Group]:
        groups = super().settle()
        allocation, launches = self._allocation, self.launches
        if allocation is None and not launches:
            return groups
        self._allocation, self.launches = None, []
        alone, stream = self.alone, self.alone.queue.handle
        if allocation is not None:
            last, number, origin, is_fresh, base, changes, version = allocation
            use = self._note_use(MemoryAccess.whole(self._low, self.high), stream, alone.command(last), number)
            use.taken = Taken(callers.described(origin)[0], is_fresh, Clock(stream, number, base, changes, version))
        for launch in launches:
            command = alone.command(launch)
            for access in launch[0].accesses(launch[1], launch[2]):
                if self._low <= access.low and access.high <= self.high:
                    self._note_use(access, stream, command, command.number)
        if self.stream is None:
            self.stream = stream
        return groups

    def _note_use(self, access: MemoryAccess, stream: StreamKey, command: Command, number: int) -> Use:
        use = self._use(access, stream)
        use.add([command], number)
        self._note(access, stream, number)
        return use

    def add(self, access: MemoryAccess, stream: StreamKey, command: Command, number: int) -> Use:
        if stream != self.alone.queue.handle:
            self.is_open = False
        return super().add(access, stream, command, number)


def _number(launch: Launch) -> int:
    return launch[3]


# memory


class FollowedDevice(DeviceMemory):
    """The segments and blocks of a real device, at its addresses.

    reused: blocks that were taken and given back without a change of `blocks`: their ends, by their starts.
    """

    def __init__(self, device: int, total: int, has_values: bool = True) -> None:
        super().__init__(device, total, has_values)
        self.reused: dict[int, int] = {}

    def adopt(self, low: int, nbytes: int) -> None:
        """Add a segment that the real driver allocated."""
        self._renew(low, low + nbytes)
        self._segments.add(Segment(self.space, low, low + nbytes))
        block = Block(self.space, self.device, low, low + nbytes)
        block.is_unused = True
        self.blocks.add(block)

    def drop(self, low: int) -> None:
        """Forget a segment that the real driver freed."""
        segment = self.segment(low, "mem_free")
        self._forget(segment.low, segment.high)
        self._segments.remove(segment)

    def adopt_reserved(self, low: int, nbytes: int) -> None:
        """Add addresses that the real driver reserved."""
        reservation = self._reservations[low] = Reservation(low, low + nbytes)
        reservation.space = EmptySpace(low, nbytes)
        self._segments.add(reservation)

    def drop_reserved(self, low: int) -> None:
        """Forget addresses that the real driver released."""
        reservation = self._reservations.pop(low)
        self._forget(reservation.low, reservation.high)
        self._segments.remove(reservation)

    def adopt_mapped(self, low: int, nbytes: int) -> None:
        """Add memory that the real driver mapped at reserved addresses."""
        self._around(low, nbytes, "mem_map").mapped.add(low, low + nbytes)
        self._renew(low, low + nbytes)

    def drop_mapped(self, low: int, nbytes: int) -> None:
        """Forget memory that the real driver unmapped."""
        self._around(low, nbytes, "mem_unmap").mapped.remove(low, low + nbytes)
        self._forget(low, low + nbytes)

    def _renew(self, low: int, high: int) -> None:
        """Forget the blocks in [low, high), whose bytes are new."""
        former, self.reused = self.reused, {}
        for start, end in former.items():
            self.reuse({start: min(end, low), max(start, high): end})
        self._forget(low, high)

    def give(self, low: int, high: int) -> None:
        block = self.blocks.at.get(low)
        if block is None or not block.is_live or block.high != high:
            super().give(low, high)  # raises
            return
        block.is_live = False
        history = block.history
        if type(history) is SoleHistory:  # the same as `close`
            history.is_open = False

    def reuse(self, bounds: dict[int, int]) -> None:
        """Note that blocks were taken and given back.  bounds: their ends, by their starts."""
        reused = self.reused
        for low, high in bounds.items():
            if reused.get(low, low) < high:
                reused[low] = high
        if len(reused) > MANY_BLOCKS:
            reused.clear()
            for block in self.blocks.at.values():
                block.is_unused = False

    def are_fresh(self, pieces: Sequence[Block], low: int, high: int) -> bool:
        return super().are_fresh(pieces, low, high) and not any(
            [start < high and low < end for start, end in self.reused.items()]
        )

    def pieces(self, low: int, high: int) -> list[Block]:
        """Return the blocks in a range, as DeviceMemory does.  Dead blocks are adjacent, so most need no search."""
        found, at, blocks = [], low, self.blocks.at
        while at < high:
            block = blocks.get(at)
            if block is None or block.is_live:
                return self.room_for(low, high)
            found.append(block)
            at = block.high
        return found

    def take_pieces(self, pieces: Sequence[Block], low: int, high: int, history: History) -> None:
        """Make a block as `take` does, given the result of `pieces`."""
        if not pieces or pieces[0].low != low or any([piece.is_live for piece in pieces]):
            self.take(low, high, history)
            return
        first, end = pieces[0], pieces[-1].high
        if end > high:
            share(pieces[-1])
            self.blocks.add(pieces[-1].part(high, end))
        for piece in pieces[1:]:
            self.blocks.remove(piece)
        first.high = high
        first.is_live, first.is_unused, first.whole = True, False, None
        first.history = history
        first.takes += 1

    def _forget(self, low: int, high: int) -> None:
        for block in self.blocks.overlapping(low, high):
            close(block)
            share(block)
        super()._forget(low, high)


def close(block: Block) -> None:
    """End the list of launches of a block that is freed."""
    history = block.history
    if type(history) is SoleHistory:
        history.is_open = False


def share(block: Block) -> None:
    """Freeze the history of a dead block, to be shared by parts of the block."""
    history = block.history
    if type(history) is SoleHistory:
        history.is_shared = True


class FollowedMemory(Memory):
    """The memory of real GPUs.  Device and pinned memory share one range of addresses."""

    devices: list[FollowedDevice]

    def __init__(self, count: int) -> None:
        super().__init__([])
        self.devices = [FollowedDevice(device, 0, False) for device in range(count)]
        self._unknown = Space(0, None)

    def find(self, device: int, low: int, high: int, name: str) -> Block:
        """Return the live block around [low, high), or a new one without a history for unknown memory."""
        block = self.devices[device].blocks.at.get(low)
        if block is None or not block.is_live or high > block.high:
            block = self.around(low)
        if block is None or not block.is_live or high > block.high:
            return Block(self._unknown, device, low, high)
        return block

    def around(self, address: int) -> Block | None:
        for blocks in (self.pinned.blocks, *(memory.blocks for memory in self.devices)):
            block = blocks.find(address)
            if block is not None:
                return block
        return None

    def owner(self, address: int) -> int | None:
        block = self.around(address)
        return None if block is None else block.device

    def pinned_block(self, low: int, high: int, name: str) -> Block | None:
        block = self.pinned.blocks.find(low)
        return block if block is not None and high <= block.high else None


# work


class FollowingEngine(Engine):
    """An engine whose commands are done when they are submitted.

    alone: by stream, the blocks that only it uses.  deferred: the calls that are not made yet.
    """

    memory: FollowedMemory

    def __init__(self, choice: Gpus, schedule: Schedule, lock: Any) -> None:
        super().__init__(choice, schedule, lock)
        self.memory = FollowedMemory(choice.count)
        self.alone: dict[StreamKey, Alone] = Handles()
        self.deferred = Deferred(self)
        self._made_for: Origin | None = None  # the call of the program that is being made, if it is an earlier one
        self._lines: dict[tuple[Any, ...], Line] = {}  # by the id of a code object and the offset in it

    def settle(self) -> None:
        """Convert all recorded launches to accesses and commands, while their witness is still attached."""
        for alone in self.alone.values():
            alone.settle()

    def watch(self, witness: Witness | None) -> None:
        self._lines.clear()
        super().watch(witness)

    def retire(self, queue: Queue) -> None:
        alone = self.alone.pop(queue.handle, None)  # None: a branch of a graph
        if alone is not None:
            alone.settle_last()
        super().retire(queue)

    def _line(self, origin: Origin) -> Line:
        """Return the source line of a call, which is cached.  The call becomes its latest."""
        line = self._lines.get((id(origin[0]), origin[1]))
        if line is None:
            if len(self._lines) >= MAX_LINES:
                self._lines.clear()
            line = self._lines[id(origin[0]), origin[1]] = Line(origin)
        elif line.origin != origin:  # an equal one is not replaced, which keeps fewer objects alive
            line.origin = origin
        return line

    # deferred calls

    def launch(self, alone: Alone, loaded: FollowedKernel, arguments: Any, origin: Origin) -> None:
        """Submit a launch or a library call, or defer it."""
        deferred, line = self.deferred, self._line(origin)
        if alone is not deferred.alone and (deferred.may_begin or deferred.alone is not None):
            deferred.begin(alone)
        if alone is not deferred.alone:
            self._launch(alone, loaded, arguments, line, line.origin)
        elif loaded in line.launched:
            deferred.add(loaded, arguments, line.origin)
        else:
            origin = line.origin  # that of an earlier call of the line, once that is made
            deferred.make()
            self._launch(alone, loaded, arguments, line, origin)

    def call(self, alone: Alone, name: str, function: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        """Call a function that submits one copy, or defer that.  name: its kind."""
        deferred, origin = self.deferred, callers.origin(3)
        line = self._line(origin)
        if alone is not deferred.alone:
            deferred.begin(alone)
        if alone is deferred.alone and name in line.launched:
            deferred.add(function, arguments, origin)
        else:
            deferred.end()
            last = alone.queue.last
            function(*arguments)
            if alone.queue.last is not last:  # neither an empty nor a captured copy, which have no command
                line.launched.add(name)

    def call_as(self, origin: Origin, function: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        """Call a function for an earlier call of the program."""
        self._made_for = origin
        try:
            function(*arguments)
        finally:
            self._made_for = None

    def current_call(self) -> tuple[str, str]:
        return callers.call() if self._made_for is None else callers.described(self._made_for)

    def take_block(self, queue: Queue, low: int, high: int) -> None:
        """Allocate a block on a stream, or defer that."""
        deferred, alone, origin = self.deferred, self.alone[queue.handle], callers.origin(3)
        if alone is deferred.alone:
            deferred.add(low, high, origin)
        else:
            if deferred.alone is not None:
                deferred.end()
            self.make_block(alone, low, high, origin)

    def give_block(self, device: int, low: int, high: int) -> None:
        """Mark a block as dead, or defer that."""
        if self.deferred.alone is None:
            self.memory.devices[device].give(low, high)
        else:
            self.deferred.add(low, high, device)

    def give(self, device: int, low: int, high: int) -> None:
        """Mark a block as dead."""
        self.memory.devices[device].give(low, high)

    def reuse(self, device: int, bounds: dict[int, int]) -> None:
        """Note that blocks were taken and given back.  bounds: their ends, by their starts."""
        self.memory.devices[device].reuse(bounds)

    def take_known(self, alone: Alone, low: int, high: int) -> None:
        """Allocate a block on a stream; the host has waited for all earlier work of all streams."""
        memory = self.memory.devices[alone.queue.device]
        history = alone.histories[low] = SoleHistory(alone, low, high)
        memory.take_pieces(memory.pieces(low, high), low, high, history)
        if len(alone.histories) > alone.limit:  # dropped calls have no numbers, which would lead to it
            alone.prune(self.clocks.host.get(alone.queue.handle, UNKNOWN))

    # submission

    def make_launch(self, alone: Alone, loaded: FollowedKernel, arguments: Any, origin: Origin) -> None:
        """Submit a launch or a library call."""
        self._launch(alone, loaded, arguments, self._line(origin), origin)

    def _launch(self, alone: Alone, loaded: FollowedKernel, arguments: Any, line: Line, origin: Origin) -> None:
        queue, witness = alone.queue, self.races.witness
        form, given = loaded.split(arguments)
        if witness is None or queue.capture is not None:
            accesses = loaded.accesses(form, given)
            blocks = [self.memory.find(queue.device, each.low, each.high, loaded.name) for each in accesses]
            self.submit(queue, loaded.name, run_reference, None, accesses, blocks, 0, 0, (), origin)
            return
        state = alone.state
        number = state.count = state.count + 1
        state.is_waiting, state.is_shared = False, True
        self._sequence += 1
        witness.begins(queue, number, line.site)
        base, changes, version = state.base, state.changes, state.version
        launch = alone.latest = loaded, form, given, number, self._sequence, origin, base, changes, version
        histories, are_all_open = alone.histories, True
        if form is None:
            spans = [(access.low, access.high) for access in loaded.bound(given).accesses]
        else:
            spans = [(given[index] + start, given[index] + end) for index, start, end, _ in form.places]
        for low, high in spans:
            history = histories.get(low)
            if history is not None and history.is_open and high <= history.high:
                history.launches.append(launch)
            else:
                are_all_open = False
        if not are_all_open:
            self._use_others(alone, launch)
        if loaded not in line.launched:
            line.launched.add(loaded)
            alone.settle_last()
        if number >= alone.prunes_at:
            alone.prune(self.clocks.host.get(queue.handle, UNKNOWN))

    def _use_others(self, alone: Alone, launch: Launch) -> None:
        """Compare and record a launch's uses of blocks that other streams may have used."""
        queue, loaded, origin = alone.queue, launch[0], launch[5]
        used, accesses, blocks = loaded.accesses(launch[1], launch[2]), [], []
        for access in used:
            history = alone.histories.get(access.low)
            if history is not None and history.is_open and access.high <= history.high:
                continue
            block = self.memory.find(queue.device, access.low, access.high, loaded.name)
            found = block.history
            if type(found) is SoleHistory and found.is_open and found.alone is alone:  # an address within a block
                alone.histories[access.low] = found
                found.launches.append(launch)
            else:
                accesses.append(access)
                blocks.append(block)
        if accesses:
            command = alone.new_command(launch)
            command.accesses = accesses
            races = self.check(queue, command.name, origin, "", accesses, blocks)
            self.races.record(command, races, [block.history for block in blocks])
            command.accesses = used
            assert self.races.witness is not None
            self.races.witness.submitted(command)
            command.finish()
            queue.last, alone.latest = command, None

    def submit(
        self,
        queue: Queue,
        name: str,
        work: Work,
        detail: Any,
        accesses: Accesses,
        blocks: Sequence[Block],
        duration_ns: int,
        host_ns: int,
        engines: Sequence[CopyEngine] = (),
        origin: Origin | None = None,
        launched: str = "",
        is_seen: bool = True,
    ) -> None:
        if queue.capture is not None:
            queue.capture.record(queue, name, work, None, accesses, blocks, 0, ())
            return
        if origin is None:
            origin = self._made_for or callers.origin()
        witness = self.races.witness
        if witness is not None and not launched:
            witness.begins(queue, self.clocks.stream(queue.handle).count + 1, callers.described(origin)[0])
        races = self.check(queue, name, origin, launched, accesses, blocks)
        command = Command(queue, name, work, detail, accesses, blocks, origin, launched)
        self._sequence += 1
        command.sequence = self._sequence
        command.advance(self.clocks.stream(queue.handle))
        self.races.record(command, races, [block.history for block in blocks])
        if witness is not None:
            witness.submitted(command)
        command.finish()
        queue.last = command
        if queue.handle in self.alone:  # not a branch of a graph
            self.alone[queue.handle].latest = None

    def make_block(self, alone: Alone, low: int, high: int, origin: Origin) -> None:
        """Allocate a block on a stream."""
        queue = alone.queue
        stream, memory = queue.handle, self.memory.devices[queue.device]
        state, witness, last = alone.state, self.races.witness, queue.last if alone.latest is None else alone.latest
        is_over = self.clocks.host.get(stream, UNKNOWN) >= state.count and self.clocks.host_knows_all(stream)
        if witness is None or last is None or queue.capture is not None or is_over:
            alone.settle_last()
            self.call_as(origin, super().take_block, (queue, low, high))
            block = memory.blocks.at[low]
            if queue.capture is None and block.history.stream is None:
                block.history = alone.histories[low] = SoleHistory(alone, low, high)
            return
        number, line = state.count + 1, self._line(origin)
        witness.begins(queue, number, line.site)
        known = memory.blocks.at.get(low)
        history = None
        if known is not None and known.high == high and not known.is_live:
            history = alone.reusable(known.history)
        if known is not None and history is not None:
            history.begin((last, number, origin, False, state.base, state.changes, state.version))
            known.is_live = True
            known.takes += 1
        else:
            pieces = memory.pieces(low, high)
            is_fresh = memory.are_fresh(pieces, low, high)
            if not all([piece.history.is_of(stream) for piece in pieces]):
                access = MemoryAccess.whole(low, high)
                taking = self.races.take(stream, access, pieces)
                if taking.conflicts:
                    self.races.meet(queue, TAKING, callers.described(origin), queue.waited, taking.conflicts)
                    memory.take(low, high, taking.history)
                    taken = Taken(line.site, is_fresh, self.clocks.advance(stream))
                    self.races.taken(taking, stream, access, alone.command(last), number, taken)
                    return
            history = SoleHistory(alone, low, high)
            history.begin((last, number, origin, is_fresh, state.base, state.changes, state.version))
            memory.take_pieces(pieces, low, high, history)
        alone.histories[low] = history
        state.count = number
        state.is_waiting, state.is_shared = False, True

    def block_host(self, end_ns: int) -> None:
        """Do nothing: the real driver has waited."""
