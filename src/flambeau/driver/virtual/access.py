"""Memory accesses of commands, and the access history of a block.

The history is indexed by address: accesses to other bytes do not slow down a look-up.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ... import host
from ...byte_ranges import ByteRange, byte_range
from ...errors import AccessError
from ...kernel import Access
from ...vector_clock import Clock, StreamKey
from .space import POISON, Space, Spans

if TYPE_CHECKING:
    from .submission import Command

MISALIGNED_ADDRESS = 716  # CUresult
TAKING = "block_taken"  # the name of the command that allocates a block; it precedes all uses of the block


class Overlap(NamedTuple):
    """The bytes that two accesses share: those of [low, high) in both `ranges`, or all of them if `ranges` is None.

    Strided ranges are not intersected until the bytes are poisoned.
    """

    low: int
    high: int
    ranges: tuple[ByteRange, ByteRange] | None

    def clipped(self, low: int, high: int) -> Overlap:
        return self._replace(low=max(self.low, low), high=min(self.high, high))

    def poison(self, space: Space) -> None:
        """Make the bytes read as poison."""
        if self.ranges is None:
            space.poison(self.low, self.high)
            return
        one, two = self.ranges
        space.materialise(self.low, self.high)
        space.bytes(self.low, self.high)[one.mask(self.low, self.high) & two.mask(self.low, self.high)] = POISON


class MemoryAccess:
    """Bytes that a command reads, writes or both: some of [low, high), all of them if `dense`.

    key: equal for accesses to the same bytes.  Accesses do not refer to blocks, so commands can share them.
    """

    __slots__ = ("_access", "_range", "dense", "high", "key", "low", "reads", "writes")

    def __init__(self, access: Access, name: str) -> None:
        low, mode = access.address, access.mode
        if low % access.dtype.itemsize:
            raise _misaligned(low, access, name)
        self._access: Access | None = access
        self.low = low
        self.high = low + access.nbytes
        self.reads = mode != "w"
        self.writes = mode != "r"
        self._range = None if access.strides is None else byte_range(access)
        self.dense = self._range is None or self._range.is_dense
        self.key: tuple[Any, ...] = (low, self.high)
        if self._range is not None and not self.dense:
            self.key += (self._range.dims, self._range.width)

    @classmethod
    def whole(cls, low: int, high: int) -> MemoryAccess:
        """Return the allocation of the block [low, high): a write of all its bytes, without an array."""
        access = cls.__new__(cls)
        access.low, access.high, access.key = low, high, (low, high)
        access.reads, access.writes, access.dense, access._range, access._access = False, True, True, None, None
        return access

    def moved(self, low: int, name: str) -> MemoryAccess:
        """Return an equal access whose first byte is at `low`."""
        own = self._access
        if own is not None and low % own.dtype.itemsize:
            raise _misaligned(low, own, name)
        access = MemoryAccess.__new__(MemoryAccess)
        access._access, access._range = own, None
        access.low, access.high = low, low + self.high - self.low
        access.reads, access.writes, access.dense = self.reads, self.writes, self.dense
        access.key = (low, access.high)
        if not self.dense:
            access._range = self.range.moved(low)
            access.key += self.key[2:]
        return access

    @property
    def range(self) -> ByteRange:
        if self._range is None:
            self._range = ByteRange.dense(self.low, self.high - self.low)
        return self._range

    def overlap(self, other: MemoryAccess) -> Overlap | None:
        """Return the bytes that both accesses share, None if there are none."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        if low >= high:
            return None
        if self.dense and other.dense:
            return Overlap(low, high, None)
        return Overlap(low, high, (self.range, other.range)) if self.range.overlaps(other.range) else None

    def covers(self, other: MemoryAccess) -> bool:
        """Return whether this access includes every byte of the other; False if that is not cheap to decide."""
        return self.low <= other.low and other.high <= self.high if self.dense else self.key == other.key

    @property
    def form(self) -> tuple[tuple[int, ...] | None, str]:
        """Shape and type of the array; (None, "") for an allocation."""
        return (None, "") if self._access is None else (tuple(self._access.shape), self._access.dtype.name)

    def array(self, space: Space) -> Any:
        """Return the accessed array in device memory.  It is read-only if the access only reads."""
        return self._view(space.buffer, self.low - space.base)

    def copy(self, space: Space, poisoned: Iterable[Overlap]) -> Any:
        """Return a private copy of the array in which some bytes are poison."""
        private = Space(self.low, space.bytes(self.low, self.high).copy())
        for overlap in poisoned:
            overlap.poison(private)
        return self._view(private.buffer, 0)

    def _view(self, buffer: Any, offset: int) -> Any:
        access = self._access
        assert access is not None
        steps = None if access.strides is None else [stride * access.dtype.itemsize for stride in access.strides]
        view = host.numpy().ndarray(access.shape, access.dtype.numpy, buffer, offset, steps)
        if not self.writes:
            view.flags.writeable = False
        return view


def _misaligned(low: int, access: Access, name: str) -> AccessError:
    return AccessError(
        f"{low:#x} is not a multiple of {access.dtype.itemsize}, the size of {access.dtype.name}",
        error_code=MISALIGNED_ADDRESS,
        operator=name,
    )


FEW_GROUPS = 16  # a larger history is indexed and pruned
FEW_COMMANDS = 32  # at most, in one entry of a history's log


class Taken(NamedTuple):
    """The allocation of a block.

    site: its source line;  is_fresh: whether its bytes had no earlier owner;  clock: None if it is a command.
    """

    site: str
    is_fresh: bool
    clock: Clock | None = None


class Use:
    """The accesses of one stream to some bytes in one mode.

    number: of the latest operation;  commands: the latest one, and earlier ones that may be unfinished.
    ran: the number of the latest command that was dropped when done, 0 for none;  taken: the allocation, if the latest
    operation is one;  former: the serial of an earlier owner's history if the use comes from it, else 0.
    """

    __slots__ = ("commands", "former", "number", "ran", "stream", "taken", "access")

    def __init__(self, access: MemoryAccess, stream: StreamKey) -> None:
        self.access = access
        self.stream = stream
        self.number = self.ran = self.former = 0
        self.commands: list[Command] = []
        self.taken: Taken | None = None

    def add(self, commands: list[Command], number: int) -> None:
        """Add commands of the stream, the last of which is operation `number`."""
        known = self.commands
        while known and known[0].done:
            self.ran = known.pop(0).number
        if known or len(commands) == 1:
            known += commands
        else:
            done = 0
            while done < len(commands) - 1 and commands[done].done:
                done += 1
            if done:
                self.ran = commands[done - 1].number
            known += commands[done:]
        self.number = number
        self.former = 0
        self.taken = None

    @property
    def has_to_read(self) -> bool:
        """Whether a read is pending in one of its commands or in a use that they replaced."""
        if self.commands[-1].done:
            return False
        return self.access.reads or any(command.covered for command in self.commands)

    def of_former(self, history: History) -> Use:
        """Return a copy for the history of the next owner of the bytes.  history: the current history of this use."""
        duplicate = Use(self.access, self.stream)
        duplicate.former = self.former or history.serial
        duplicate.number, duplicate.ran = self.number, self.ran
        duplicate.commands, duplicate.taken = self.commands.copy(), self.taken
        return duplicate


class Group:
    """All uses of the same bytes.  writes: by stream and whether the use also reads;  reads: by stream."""

    __slots__ = ("high", "low", "reads", "access", "writes")

    def __init__(self, access: MemoryAccess) -> None:
        self.access = access
        self.low = access.low
        self.high = access.high
        self.writes: dict[tuple[StreamKey, bool], Use] = {}
        self.reads: dict[StreamKey, Use] = {}

    def add(self, access: MemoryAccess, stream: StreamKey) -> Use:
        """Return the stream's use in the mode of an access; create it if there is none."""
        if access.writes:
            use = self.writes.get((stream, access.reads))
            if use is None:
                use = self.writes[stream, access.reads] = Use(access, stream)
        else:
            use = self.reads.get(stream)
            if use is None:
                use = self.reads[stream] = Use(access, stream)
        return use

    def uses(self) -> Iterator[Use]:
        yield from self.writes.values()
        yield from self.reads.values()

    def keep(self, uses: Iterable[Use]) -> None:
        """Drop all uses except these."""
        kept = list(uses)
        self.writes = {(use.stream, use.access.reads): use for use in kept if use.access.writes}
        self.reads = {use.stream: use for use in kept if not use.access.writes}

    @property
    def is_empty(self) -> bool:
        return not self.writes and not self.reads


_serials = itertools.count(1)
SEVERAL = object()  # the value of `History.stream` if several streams used the block


class History:
    """The uses of one block.

    The latest uses by its only stream are in a log.  `settle` moves them into the groups before the groups are read.
    `room` limits the entries of the log, and so the number of groups that they can add.

    stream: the only stream that used the block;  None before the first use, SEVERAL if there were others.
    by_key: the groups, by the key of their accesses;  None before the first one.
    log: accesses, each with its latest commands and None.  An allocation without a command has the preceding command,
    and (number, base, changes, version) of its operation's clock in place of None.
    """

    # A new history has these values.  An `__init__` would cost every allocation a call.
    stream: StreamKey = None
    log: Any = ()  # a list, once there is room
    room = 0
    by_key: dict[tuple[object, ...], Group] | None = None
    _newest: dict[StreamKey, int] | None = None
    _newest_write: dict[StreamKey, int] | None = None
    _index: Spans[Group] | None = None
    _limit = FEW_GROUPS
    _serial = 0

    @property
    def serial(self) -> int:
        """The process-wide number of this history."""
        if self._serial == 0:
            self._serial = next(_serials)
        return self._serial

    @property
    def newest(self) -> dict[StreamKey, int]:
        """By stream, the number of the latest use or an upper bound of it."""
        self.settle()
        assert self._newest is not None
        return self._newest

    @property
    def newest_write(self) -> dict[StreamKey, int]:
        """By stream, the number of the latest write or an upper bound of it."""
        self.settle()
        assert self._newest_write is not None
        return self._newest_write

    def settle(self) -> dict[tuple[object, ...], Group]:
        """Move the log into the groups; return the groups."""
        if self.by_key is None:
            self.by_key, self._newest, self._newest_write = {}, {}, {}
        if not self.log:
            return self.by_key
        log, self.log = self.log, ()
        for access, commands, taken in log:
            number = commands[-1].number if taken is None else taken[0]
            use = self._use(access, self.stream)
            use.add(commands, number)
            if taken is not None:
                use.taken = Taken("", False, Clock(self.stream, *taken))
            self._note(access, self.stream, number)
        self._make_room()
        return self.by_key

    def __len__(self) -> int:
        return len(self.settle())

    def is_of(self, stream: StreamKey) -> bool:
        """Return whether no other stream used the block."""
        return self.stream is None or self.stream == stream

    def groups(self) -> list[Group]:
        return list(self.settle().values())

    def overlapping(self, low: int, high: int) -> Iterable[Group]:
        """Return the groups whose ranges overlap [low, high).  A strided group may have no byte there."""
        groups = self.settle()
        if self._index is not None:
            return self._index.overlapping(low, high)
        return [group for group in groups.values() if group.low < high and low < group.high]

    def unread(self, access: MemoryAccess) -> list[Use]:
        """Return the uses that share bytes with an access and whose read is pending."""
        return [
            use
            for group in self.overlapping(access.low, access.high)
            for use in group.uses()
            if use.has_to_read and access.overlap(group.access) is not None
        ]

    def add(self, access: MemoryAccess, stream: StreamKey, command: Command, number: int) -> Use:
        self.settle()
        self.stream = stream if self.is_of(stream) else SEVERAL
        use = self._use(access, stream)
        use.add([command], number)
        self._note(access, stream, number)
        self._make_room()
        return use

    def _use(self, access: MemoryAccess, stream: StreamKey) -> Use:
        assert self.by_key is not None
        group = self.by_key.get(access.key)
        if group is None:
            group = self.by_key[access.key] = Group(access)
            if self._index is not None:
                self._index.add(group)
        return group.add(access, stream)

    def _note(self, access: MemoryAccess, stream: StreamKey, number: int) -> None:
        assert self._newest is not None and self._newest_write is not None
        self._newest[stream] = number
        if access.writes:
            self._newest_write[stream] = number

    def _make_room(self) -> None:
        """Make room in the log if there is one stream and its groups are few."""
        assert self.by_key is not None
        self.room = 0 if self.stream is SEVERAL else self._limit - len(self.by_key)
        if self.room > 0 and not self.log:
            self.log = []

    def put(self, group: Group) -> None:
        """Merge a group of another history into this one."""
        groups = self.settle()
        known = groups.get(group.access.key)
        if known is not None:
            group.keep({*known.uses(), *group.uses()})
        groups[group.access.key] = group
        newest, newest_write = self.newest, self.newest_write
        for use in group.uses():
            newest[use.stream] = max(use.number, newest.get(use.stream, 0))
            if use.access.writes:
                newest_write[use.stream] = max(use.number, newest_write.get(use.stream, 0))
        self._find_stream()

    def _find_stream(self) -> None:
        """Set `stream` from the groups."""
        self.stream = next(iter(self.newest)) if len(self.newest) == 1 else SEVERAL if self.newest else None
        self._make_room()

    def remove(self, group: Group) -> None:
        if self.settle().pop(group.access.key, None) is not None and self._index is not None:
            self._index.remove(group)

    def is_full(self) -> bool:
        """Return whether the history has grown enough to be pruned again."""
        return len(self.settle()) >= self._limit

    def renew(self, groups: Iterable[Group]) -> None:
        """Replace the groups by these."""
        self.log, self.by_key = (), None
        self.settle()
        for group in groups:
            self.put(group)
        kept = self.groups()
        self._limit = max(FEW_GROUPS, 2 * len(kept))
        self._index = None
        if len(kept) >= FEW_GROUPS:
            self._index = Spans()
            for group in kept:
                self._index.add(group)
        self._find_stream()
