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
    from .queue import Command

MISALIGNED_ADDRESS = 716  # CUresult
TAKING = "block_taken"  # the name of the command that allocates a block; it precedes all uses of the block


class Overlap(NamedTuple):
    """The bytes that two accesses share: those of [low, high) in both `ranges`, or all of them if `ranges` is None.

    Strided ranges are intersected only when the bytes are poisoned.
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
        """The allocation of the block [low, high): a write of all its bytes, without an array."""
        access = cls.__new__(cls)
        access.low, access.high, access.key = low, high, (low, high)
        access.reads, access.writes, access.dense, access._range, access._access = False, True, True, None, None
        return access

    def moved(self, low: int, name: str) -> MemoryAccess:
        """The same access elsewhere: its first byte is at `low`."""
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
        """The bytes that both accesses share, None if there are none."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        if low >= high:
            return None
        if self.dense and other.dense:
            return Overlap(low, high, None)
        return Overlap(low, high, (self.range, other.range)) if self.range.overlaps(other.range) else None

    def covers(self, other: MemoryAccess) -> bool:
        """Whether this access includes every byte of the other; False if that is not cheap to decide."""
        return self.low <= other.low and other.high <= self.high if self.dense else self.key == other.key

    @property
    def form(self) -> tuple[tuple[int, ...] | None, str]:
        """Shape and type of the array; (None, "") for an allocation."""
        return (None, "") if self._access is None else (tuple(self._access.shape), self._access.dtype.name)

    def array(self, space: Space) -> Any:
        """The accessed array in device memory.  It is read-only if the access only reads."""
        return self._view(space.buffer, self.low - space.base)

    def copy(self, space: Space, poisoned: Iterable[Overlap]) -> Any:
        """A private copy of the array in which some bytes are poison."""
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


class Taken(NamedTuple):
    """The allocation of a block.

    site: its source line;  is_fresh: its bytes had no owner before;  clock: at an allocation without a command.
    """

    site: str
    is_fresh: bool
    clock: Clock | None = None


class Use:
    """The accesses of one stream to some bytes in one mode.

    number: of the latest operation;  commands: the latest one, and earlier ones that may be unfinished.
    ran: the number of the latest command dropped because it is done, 0 for none;  taken: the allocation, if the latest
    operation is one;  former: the serial of the history of an earlier owner of the bytes, whose use it is, else 0.
    """

    __slots__ = ("commands", "former", "number", "ran", "stream", "taken", "access")

    def __init__(self, access: MemoryAccess, stream: StreamKey) -> None:
        self.access = access
        self.stream = stream
        self.number = self.ran = self.former = 0
        self.commands: list[Command] = []
        self.taken: Taken | None = None

    def add(self, command: Command, number: int) -> None:
        commands = self.commands
        while commands and commands[0].done:
            self.ran = commands.pop(0).number
        commands.append(command)
        self.number = number
        self.former = 0
        self.taken = None

    @property
    def has_to_read(self) -> bool:
        """Whether one of its commands, or of the uses that they replaced, has still to read."""
        if self.commands[-1].done:
            return False
        return self.access.reads or any(command.covered for command in self.commands)

    def of_former(self, history: History) -> Use:
        """A copy for the history of the next owner of the bytes.  history: the one that it is in."""
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
        """Return the stream's use in the mode of an access, made if there is none."""
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
        """Keep only these uses."""
        kept = list(uses)
        self.writes = {(use.stream, use.access.reads): use for use in kept if use.access.writes}
        self.reads = {use.stream: use for use in kept if not use.access.writes}

    @property
    def is_empty(self) -> bool:
        return not self.writes and not self.reads


_serials = itertools.count(1)


class History:
    """The uses of one block.  newest, newest_write: by stream, bounds of the numbers of its latest use and write.

    serial: its number in the process.
    """

    __slots__ = ("_groups", "_index", "_limit", "newest", "newest_write", "serial")

    def __init__(self) -> None:
        self.serial = next(_serials)
        self._groups: dict[tuple[object, ...], Group] = {}
        self._index: Spans[Group] | None = None
        self._limit = FEW_GROUPS
        self.newest: dict[StreamKey, int] = {}
        self.newest_write: dict[StreamKey, int] = {}

    def __len__(self) -> int:
        return len(self._groups)

    def is_of(self, stream: StreamKey) -> bool:
        """Whether no other stream used the block."""
        return not self.newest or (len(self.newest) == 1 and stream in self.newest)

    def groups(self) -> list[Group]:
        return list(self._groups.values())

    def overlapping(self, low: int, high: int) -> Iterable[Group]:
        """The groups whose ranges overlap [low, high).  A strided group may have no byte there."""
        if self._index is not None:
            return self._index.overlapping(low, high)
        return [group for group in self._groups.values() if group.low < high and low < group.high]

    def add(self, access: MemoryAccess, stream: StreamKey, command: Command, number: int) -> Use:
        group = self._groups.get(access.key)
        if group is None:
            group = self._groups[access.key] = Group(access)
            if self._index is not None:
                self._index.add(group)
        use = group.add(access, stream)
        use.add(command, number)
        self.newest[stream] = number
        if access.writes:
            self.newest_write[stream] = number
        return use

    def put(self, group: Group) -> None:
        """Merge a group of another history."""
        known = self._groups.get(group.access.key)
        if known is not None:
            group.keep({*known.uses(), *group.uses()})
        self._groups[group.access.key] = group
        for use in group.uses():
            self.newest[use.stream] = max(use.number, self.newest.get(use.stream, 0))
            if use.access.writes:
                self.newest_write[use.stream] = max(use.number, self.newest_write.get(use.stream, 0))

    def remove(self, group: Group) -> None:
        if self._groups.pop(group.access.key, None) is not None and self._index is not None:
            self._index.remove(group)

    def is_full(self) -> bool:
        """Whether the history has grown enough to be pruned again."""
        return len(self._groups) >= self._limit

    def renew(self, groups: Iterable[Group]) -> None:
        """Keep only these groups."""
        self._groups, self.newest, self.newest_write = {}, {}, {}
        for group in groups:
            self.put(group)
        self._limit = max(FEW_GROUPS, 2 * len(self._groups))
        self._index = None
        if len(self._groups) >= FEW_GROUPS:
            self._index = Spans()
            for group in self._groups.values():
                self._index.add(group)
