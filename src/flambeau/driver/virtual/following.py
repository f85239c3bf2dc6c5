"""The model of GPUs that another driver runs: their memory, at its addresses, and the streams that use it.

- Commands are done when they are submitted: the real GPU runs them.  No values are computed, and no time is modelled.
- Most blocks are used only by the stream that allocated them.  Their uses are ordered, so nothing is compared: each
  launch is appended to a list of the block.  The list becomes accesses and commands when another stream uses or
  allocates the bytes (`SoleHistory.settle`).  From then on, uses of the block are compared one by one.
- A kernel's first launch from a source line makes a command at once, because tools read the line's variables then.
- In memory that no other stream uses, even these lists are not kept (deferred.py).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from struct import Struct, pack_into
from typing import Any, NamedTuple

from ... import callers
from ...callers import Origin
from ...config import Gpus
from ...errors import AcceleratorError
from ...kernel import Access, Kernel, Pointer, Pointers, Scalar
from ...vector_clock import UNKNOWN, Base, Clock, StreamKey
from .access import TAKING, Group, History, MemoryAccess, Taken, Use
from .clock import CopyEngine
from .copies import span
from .deferred import IN_PART, MIXED, OUTSIDE, PRIVATE, Deferred
from .deferred import Clock as CallClock
from .engine import Engine
from .memory import Block, DeviceMemory, Memory, Reservation, Segment
from .queue import ADDRESS_BYTES, ADDRESSES, Form, Loaded, Queue, Split, Work, absent, run_reference
from .races import Place, Witness
from .schedule import Schedule
from .space import EmptySpace, Space
from .submission import INVALID_HANDLE, Command

FEW_LAUNCHES = 64  # a longer list of a block's launches is shortened
PRUNE_AFTER = 4096  # operations of a stream between prunings of the lists of its blocks
MAX_LINES = 1 << 14  # source lines that are cached
NOWHERE = (-1,)  # an address that is in no memory
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
    """A kernel, or a library plan, of another driver.

    real: its handle there;  call: the driver's call, for messages.
    addresses: returns the addresses among the arguments of a launch; 0 stands for an absent operand.
    """

    __slots__ = ("_shapes", "addresses", "real")
    call = "launch"
    addresses: Callable[[Any], Sequence[int]]

    def __init__(self, real: Any, device: int, name: str, bind: Bind, shapes: Shapes | None) -> None:
        """Keep the real handle.  shapes: how the arguments are split; None if that is unknown."""
        super().__init__(device, name, _nothing, bind, no_time)
        self.real = real
        self._shapes = None if shapes is None else shapes.split
        self.addresses = self._accessed if shapes is None else shapes.addresses

    def _accessed(self, arguments: Any) -> Sequence[int]:
        try:
            return [access.low for access in self.bound(arguments).accesses]
        except Exception:  # noqa: BLE001  (the model fails at the same, and says so; FollowedCalls must not)
            return NOWHERE

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


class FollowedCopy:
    """The copies of one kind, or the fills, of another driver.  Their arguments: the bytes, the target and the source.

    host: the index of the argument that is an address of the host, or None;  call: the driver's call, for messages.
    """

    __slots__ = ("_memory", "call", "host", "name")

    def __init__(self, memory: FollowedMemory, name: str, host: int | None = None) -> None:
        self._memory = memory
        self.name = name
        self.call = name.partition(" ")[0]
        self.host = host

    def addresses(self, arguments: tuple[int, ...]) -> Sequence[int]:
        """Return the addresses among the arguments."""
        return arguments[1:]

    def split(self, arguments: tuple[int, ...]) -> tuple[Form | None, tuple[int, ...]]:
        """Return what `accesses` takes."""
        return None, arguments

    def accesses(self, form: Form | None, given: tuple[int, ...]) -> Accesses:
        """Return the accesses of a copy; those to host memory only if it is pinned."""
        nbytes, pinned_block = given[0], self._memory.pinned_block
        return [
            span(address, nbytes, mode, self.name)
            for at, (address, mode) in enumerate(zip(given[1:], "wr"), 1)
            if at != self.host or pinned_block(address, address + nbytes, self.name) is not None
        ]


FollowedCall = FollowedKernel | FollowedCopy


def _nothing(*operands: Any) -> None:
    """Stand in for a kernel's reference, which is never called."""


def no_time(accesses: list[Access]) -> int:
    """Return 0 as the device time: this model has no clock."""
    return 0


class Shapes(NamedTuple):
    """Functions that split launch arguments into addresses and values that determine shapes, or return the former."""

    split: Split
    addresses: Callable[[Any], Sequence[int]]


PLAN_SHAPES = Shapes(ADDRESSES, tuple)  # of library plans


def shapes_of(kernel: Kernel) -> Shapes | None:
    """Return how a kernel's argument buffer is split.

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

    return Shapes(Split(split, join), words.unpack_from)


def _fields(fields: Sequence[tuple[int, int, str]]) -> Struct:
    """Return the struct of some fields of a buffer: (start, end, format) of each, in order."""
    ends = [0, *[end for _, end, _ in fields]]
    return Struct("=" + "".join(f"{start - end}x{form}" for end, (start, _, form) in zip(ends, fields)))


# source lines


class Line:
    """A part of a source line that submits work.

    origin: its latest call, which keeps the code object alive, so that its id is not reused;  launched: the kernels
    and the kinds of copies that it has launched.
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
Launch = tuple[FollowedCall, "Form | None", Any, int, int, Origin, Base, dict[StreamKey, int], int]
# Record of an allocation: the preceding operation, its number, the program's call, whether the bytes are fresh, clock.
Allocation = tuple[Launch | Command, int, Origin, bool, Base, dict[StreamKey, int], int]


class Alone:
    """The blocks that only one stream uses.

    real: the other driver's handle of the stream;  state: its clock.
    histories: of the blocks, by the addresses that launches have used.  Some are no longer open (`is_open`).
    latest: the stream's latest operation if it is a launch without a command, else None.
    deferred: its calls that are not made yet; they are not among the stream's operations here.
    prunes_at: the number of the operation after which the lists of launches are shortened.
    limit: the number of histories at which those that are no longer open are removed.
    """

    __slots__ = ("_engine", "deferred", "histories", "latest", "limit", "prunes_at", "queue", "real", "state")

    def __init__(self, engine: FollowingEngine, queue: Queue, real: Any) -> None:
        self._engine = engine
        self.queue = queue
        self.real = real
        self.state = engine.clocks.stream(queue.handle)
        self.histories: dict[int, SoleHistory] = {}
        self.latest: Launch | None = None
        self.deferred = Deferred(engine, self, engine.deferred)
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


def _spans(loaded: FollowedCall, form: Form | None, given: Any) -> list[tuple[int, int]]:
    """Return the ranges of bytes that a launch uses."""
    if form is None:
        return [(access.low, access.high) for access in loaded.accesses(form, given)]
    return [(given[index] + start, given[index] + end) for index, start, end, _ in form.places]


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

    def segment_at(self, address: int) -> Segment | None:
        """Return the segment that an address lies in, or None."""
        return self._segments.find(address)

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
        pieces, at, blocks = [], low, self.blocks.at
        while at < high:
            block = blocks.get(at)
            if block is None or block.is_live:
                return self.room_for(low, high)
            pieces.append(block)
            at = block.high
        return pieces

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

    def segment(self, device: int, address: int) -> Segment | None:
        """Return the segment that an address lies in, which is likely one of `device`; None if it is unknown."""
        segment = self.devices[device].segment_at(address)
        return segment or next(filter(None, [memory.segment_at(address) for memory in self.devices]), None)

    def owner(self, address: int) -> int | None:
        block = self.around(address)
        return None if block is None else block.device

    def pinned_block(self, low: int, high: int, name: str) -> Block | None:
        block = self.pinned.blocks.find(low)
        return block if block is not None and high <= block.high else None


# work


class FollowingEngine(Engine):
    """An engine whose commands are done when they are submitted.

    alone: by stream, the blocks that only it uses.  deferred: the calls that are not made yet, of each stream.
    """

    memory: FollowedMemory

    def __init__(self, choice: Gpus, schedule: Schedule, lock: Any) -> None:
        super().__init__(choice, schedule, lock)
        self.memory = FollowedMemory(choice.count)
        self.alone: dict[StreamKey, Alone] = Handles()
        self.deferred: dict[Deferred, None] = {}
        self._users: dict[Segment, set[StreamKey]] = {}  # the streams that used a segment since it was private
        self._owners: dict[Segment, Deferred] = {}  # of private segments
        self.lines: dict[int, Line] = {}  # by the address of an instruction

    def settle(self) -> None:
        """Convert all recorded launches to accesses and commands, while their witness is still attached."""
        for alone in self.alone.values():
            alone.settle()

    def watch(self, witness: Witness | None) -> None:
        self.lines.clear()
        super().watch(witness)

    def retire(self, queue: Queue) -> None:
        alone = self.alone.pop(queue.handle, None)  # None: a branch of a graph
        if alone is not None:
            alone.settle_last()
        super().retire(queue)

    def _line(self, origin: Origin) -> Line:
        """Return the source line of a call, which is cached.  The call becomes its latest."""
        code, offset = origin[:2]
        at = id(code) + int(offset)  # the address of the instruction, which a code object contains
        line = self.lines.get(at)
        if line is None:
            if len(self.lines) >= MAX_LINES:
                self.lines.clear()
            line = self.lines[at] = Line(origin)
        elif line.origin != origin:  # an equal one is not replaced, which keeps fewer objects alive
            line.origin = origin
        return line

    # private segments

    def _is_private(self, alone: Alone, address: int) -> bool:
        """Return whether an address is in a segment that is private to a stream, which uses it now."""
        is_private = self._has_private(alone, address)
        alone.deferred.note(address, is_private)
        return is_private

    def _has_private(self, alone: Alone, low: int) -> bool:
        segment = self.memory.segment(alone.queue.device, low)
        if segment is None or segment in alone.deferred.segments:
            return segment is not None
        is_new = segment not in self._users
        users = self._used(segment, alone.queue.handle)
        if not all([user == alone.queue.handle or self._is_idle(user) for user in users]):
            return False
        users.intersection_update([alone.queue.handle])
        for other in self.alone.values():
            other.deferred.outside.clear()
        if not is_new:
            alone.deferred.make()  # launches that were made in part may have used it
        alone.deferred.segments.add(segment)
        self._owners[segment] = alone.deferred
        return True

    def _is_idle(self, stream: StreamKey) -> bool:
        return self.clocks.host.get(stream, UNKNOWN) >= self.clocks.stream(stream).count

    def _used(self, segment: Segment, stream: StreamKey) -> set[StreamKey]:
        """Note that a stream uses a segment that is not private to it; return the streams that do."""
        owner = self._owners.pop(segment, None)
        if owner is not None:
            owner.make()
            owner.leave(segment)
        users = self._users.setdefault(segment, set())
        users.add(stream)
        return users

    def forget_segment(self, device: int, low: int) -> None:
        """Forget the users of a segment that the real driver frees."""
        segment = self.memory.segment(device, low)
        if segment is not None:
            self._users.pop(segment, None)
            owner = self._owners.pop(segment, None)
            if owner is not None:
                owner.leave(segment)

    def _locate(self, alone: Alone, addresses: Sequence[int]) -> int:
        """Return where the accesses of a stream's next launch are: PRIVATE, MIXED or OUTSIDE."""
        deferred = alone.deferred
        are_private = [
            address in deferred.inside or address not in deferred.outside and self._is_private(alone, address)
            for address in addresses
            if address
        ]
        return PRIVATE if all(are_private) else MIXED if any(are_private) else OUTSIDE

    # deferred calls

    def make_deferred(self) -> None:
        """Make all deferred calls.  Raises: CallFailure."""
        for deferred in list(self.deferred):
            deferred.make()

    def make_around(self, address: int) -> None:
        """Make the deferred calls of the stream to which an address is private.  Raises: CallFailure."""
        for deferred in list(self.deferred):
            if any(segment.low <= address < segment.high for segment in deferred.segments):
                deferred.make()

    def drop_deferred(self) -> None:
        """Drop the deferred calls that the host has waited for.  Raises: CallFailure."""
        for deferred in list(self.deferred):
            deferred.drop()
        for alone in self.alone.values():
            alone.deferred.outside.clear()  # memory may be private now

    def launch(self, alone: Alone, loaded: FollowedCall, arguments: Any, origin: Origin) -> None:
        """Submit a launch, a copy or a library call, or defer it, where `FollowedCalls` has not listed it."""
        queue, deferred, witness = alone.queue, alone.deferred, self.races.witness
        line = self._line(origin)  # whose origin becomes that of an earlier call, once that is made
        if witness is None or queue.capture is not None:
            self.make_deferred()
            accesses = loaded.accesses(*loaded.split(arguments))
            blocks = [self.memory.find(queue.device, access.low, access.high, loaded.name) for access in accesses]
            self.submit(queue, loaded.name, run_reference, None, accesses, blocks, 0, 0, (), origin)
            return
        where, is_new = self._locate(alone, loaded.addresses(arguments)), loaded not in line.launched
        if is_new or where == OUTSIDE:
            deferred.make()
            witness.begins(queue, alone.state.count + 1, line.site)
            self._note(alone, self._launch(alone, loaded, arguments, origin))
            if is_new:
                line.launched.add(loaded)
                alone.settle_last()
            return
        place = witness.place
        if not deferred.is_open or len(deferred.launches) >= deferred.limit:
            deferred.begin(witness)
        if where == MIXED:
            witness.begins(queue, alone.state.count + 1, line.site)
            place = IN_PART
        launch = self._launch(alone, loaded, arguments, origin)
        deferred.launches += (loaded, arguments, origin, launch[3], launch[4], place)
        if where == MIXED:
            self._note(alone, launch, False)

    def make_launch(
        self, alone: Alone, loaded: FollowedCall, arguments: Any, origin: Origin, at: Place, clock: CallClock
    ) -> None:
        """Make a deferred launch."""
        form, given = loaded.split(arguments)
        launch = loaded, form, given, at.number, at.sequence, origin, *clock
        if at.place == IN_PART:
            self._note(alone, launch, True)
        else:
            self._began(alone, origin, at)
            self._note(alone, launch)

    def skip_launch(self, alone: Alone, call: list[Any], clock: CallClock) -> None:
        """Make a deferred launch the stream's latest operation, without its uses: the host has waited for it."""
        loaded, arguments, origin, number, sequence, _ = call
        alone.latest = loaded, *loaded.split(arguments), number, sequence, origin, *clock

    def _began(self, alone: Alone, origin: Origin, at: Place) -> None:
        assert self.races.witness is not None
        self.races.witness.began(alone.queue, at, self._line(origin).site)

    def allocate(self, alone: Alone, low: int, nbytes: int) -> None:
        """Allocate a block on a stream, or defer that after other calls, where `FollowedCalls` has not listed it."""
        origin, deferred, state = callers.origin(), alone.deferred, alone.state
        if low not in deferred.inside and not self._is_private(alone, low) or len(deferred.blocks) >= deferred.limit:
            deferred.make()
        if not deferred.is_open:
            self._allocate(alone, low, low + nbytes, origin)
            return
        state.count += 1
        state.is_waiting = False
        self.order.count += 1
        deferred.blocks += (low, low + nbytes, origin, state.count, self.order.count, deferred.witness.place)

    def give_block(self, device: int, low: int, nbytes: int) -> None:
        """Mark a block as dead, or defer that, where `FollowedCalls` has not listed it."""
        for deferred in self.deferred:
            if self.memory.segment(device, low) in deferred.segments:
                deferred.blocks += (low, low + nbytes, device, deferred.state.count, self.order.count, 0)
                return
        self.give(device, low, low + nbytes)

    def learned(self, alone: Alone) -> None:
        """Note that a stream's clock has changed."""
        self.order.count += 1
        alone.deferred.learned(self.order.count)

    def give(self, device: int, low: int, high: int) -> None:
        """Mark a block as dead."""
        self.memory.devices[device].give(low, high)

    def reuse(self, device: int, bounds: dict[int, int]) -> None:
        """Note that blocks were taken and given back.  bounds: their ends, by their starts."""
        self.memory.devices[device].reuse(bounds)

    def take_known(self, alone: Alone, low: int, high: int) -> None:
        """Allocate a block on a stream; the host has waited for that."""
        memory = self.memory.devices[alone.queue.device]
        history = alone.histories[low] = SoleHistory(alone, low, high)
        memory.take_pieces(memory.pieces(low, high), low, high, history)
        if len(alone.histories) > alone.limit:  # dropped calls have no numbers, which would lead to it
            alone.prune(self.clocks.host.get(alone.queue.handle, UNKNOWN))

    # submission

    def _launch(self, alone: Alone, loaded: FollowedCall, arguments: Any, origin: Origin) -> Launch:
        """Make a launch the next operation of its stream."""
        state, order, (form, given) = alone.state, self.order, loaded.split(arguments)
        state.count += 1  # from here on, no call: during one, another thread could list a launch
        order.count += 1
        state.is_waiting, state.is_shared = False, True
        return loaded, form, given, state.count, order.count, origin, state.base, state.changes, state.version

    def _note(self, alone: Alone, launch: Launch, inside: bool | None = None) -> None:
        """Compare and record the uses of a launch.  inside: only those in private segments, or only the others."""
        loaded, form, given, number = launch[:4]
        histories, are_all_open = alone.histories, True
        if inside is not False:  # the rest of it is made later, after the operations before it
            alone.latest = launch
        for low, high in _spans(loaded, form, given):
            if inside is not None and self._is_inside(alone, low) != inside:
                continue
            history = histories.get(low)
            if history is not None and history.is_open and high <= history.high:
                history.launches.append(launch)
            else:
                are_all_open = False
        if not are_all_open:
            self._use_others(alone, launch, inside)
        if number >= alone.prunes_at:
            alone.prune(self.clocks.host.get(alone.queue.handle, UNKNOWN))

    def _is_inside(self, alone: Alone, low: int) -> bool:
        """Return whether an address is in a private segment of a stream."""
        return self.memory.segment(alone.queue.device, low) in alone.deferred.segments

    def _use_others(self, alone: Alone, launch: Launch, inside: bool | None) -> None:
        """Compare and record a launch's uses of blocks that other streams may have used."""
        queue, loaded, origin = alone.queue, launch[0], launch[5]
        used, accesses, blocks = loaded.accesses(launch[1], launch[2]), [], []
        for access in used:
            if inside is not None and self._is_inside(alone, access.low) != inside:
                continue
            history = alone.histories.get(access.low)
            if history is not None and history.is_open and access.high <= history.high:
                continue
            block = self.memory.find(queue.device, access.low, access.high, loaded.name)
            sole = block.history
            if type(sole) is SoleHistory and sole.is_open and sole.alone is alone:  # an address within a block
                alone.histories[access.low] = sole
                sole.launches.append(launch)
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
            if inside is not False:
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
            origin = callers.origin()
        for access in accesses:
            self._touch(queue, access.low)
        witness = self.races.witness
        if witness is not None and not launched:
            witness.begins(queue, self.clocks.stream(queue.handle).count + 1, callers.described(origin)[0])
        races = self.check(queue, name, origin, launched, accesses, blocks)
        command = Command(queue, name, work, detail, accesses, blocks, origin, launched)
        self.order.count += 1
        command.sequence = self.order.count
        command.advance(self.clocks.stream(queue.handle))
        self.races.record(command, races, [block.history for block in blocks])
        if witness is not None:
            witness.submitted(command)
        command.finish()
        queue.last = command
        if queue.handle in self.alone:  # not a branch of a graph
            self.alone[queue.handle].latest = None

    def _touch(self, queue: Queue, low: int) -> None:
        """Note that a stream uses an address."""
        segment = self.memory.segment(queue.device, low)
        alone = self.alone.get(queue.handle)  # None: a branch of a graph
        if segment is not None and (alone is None or segment not in alone.deferred.segments):
            self._used(segment, queue.handle)

    def _allocate(self, alone: Alone, low: int, high: int, origin: Origin) -> None:
        """Allocate a block on a stream."""
        queue, memory = alone.queue, self.memory.devices[alone.queue.device]
        self._touch(queue, low)
        stream, state, witness = queue.handle, alone.state, self.races.witness
        is_over = self.clocks.host.get(stream, UNKNOWN) >= state.count and self.clocks.host_knows_all(stream)
        has_last = queue.last is not None or alone.latest is not None
        if witness is None or not has_last or queue.capture is not None or is_over:
            alone.settle_last()
            self.take_block(queue, low, high)
            block = memory.blocks.at[low]
            if queue.capture is None and block.history.stream is None:
                block.history = alone.histories[low] = SoleHistory(alone, low, high)
            return
        witness.begins(queue, state.count + 1, self._line(origin).site)
        self._take(alone, low, high, origin, state.count + 1, (state.base, state.changes, state.version))
        state.count += 1
        state.is_waiting, state.is_shared = False, True

    def make_block(self, alone: Alone, low: int, high: int, origin: Origin, at: Place, clock: CallClock) -> None:
        """Make a deferred allocation of a block."""
        self._began(alone, origin, at)
        self._take(alone, low, high, origin, at.number, clock)

    def _take(self, alone: Alone, low: int, high: int, origin: Origin, number: int, clock: CallClock) -> None:
        """Allocate a block on a stream that has an operation before it."""
        queue, memory = alone.queue, self.memory.devices[alone.queue.device]
        stream, last = queue.handle, queue.last if alone.latest is None else alone.latest
        assert last is not None
        known = memory.blocks.at.get(low)
        history = None
        if known is not None and known.high == high and not known.is_live:
            history = alone.reusable(known.history)
        if known is not None and history is not None:
            history.begin((last, number, origin, False, *clock))
            known.is_live = True
            known.takes += 1
        else:
            pieces = memory.pieces(low, high)
            is_fresh = memory.are_fresh(pieces, low, high)
            if not all([piece.history.is_of(stream) for piece in pieces]):
                access = MemoryAccess.whole(low, high)
                taking = self.races.take(stream, access, pieces)
                if taking.conflicts:
                    call = callers.described(origin)
                    self.races.meet(queue, TAKING, call, queue.waited, taking.conflicts)
                    memory.take(low, high, taking.history)
                    taken = Taken(call[0], is_fresh, Clock(stream, number, *clock))
                    self.races.taken(taking, stream, access, alone.command(last), number, taken)
                    return
            history = SoleHistory(alone, low, high)
            history.begin((last, number, origin, is_fresh, *clock))
            memory.take_pieces(pieces, low, high, history)
        alone.histories[low] = history

    def block_host(self, end_ns: int) -> None:
        """Do nothing: the real driver has waited."""
