"""What streams did to the bytes of one block, as far as later accesses may race with it.

Uses are found by their bytes: their number does not slow down an access to others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from ...vector_clock import Lane
from .ranges import Spans
from .touch import Touch

if TYPE_CHECKING:
    from .queue import Command

FEW_GROUPS = 16  # a history with more than these is indexed, and searched for uses to drop


class Taken(NamedTuple):
    """The taking of a block.  site: its line;  is_fresh: nobody had its bytes before."""

    site: str
    is_fresh: bool


class Use:
    """What one stream did to some bytes in one mode.

    number: of its latest operation;  commands: that one's, and those in front of it that may be unfinished.
    ran: the number of the latest command that was dropped because it ran, 0 for none;  taken: about the latest
    operation, if that took a block.
    """

    __slots__ = ("commands", "number", "ran", "stream", "taken", "touch")

    def __init__(self, touch: Touch, stream: Lane) -> None:
        self.touch = touch
        self.stream = stream
        self.number = self.ran = 0
        self.commands: deque[Command] = deque()
        self.taken: Taken | None = None

    def add(self, command: Command, number: int) -> None:
        while self.commands and self.commands[0].done:
            self.ran = self.commands.popleft().number
        self.commands.append(command)
        self.number = number
        self.taken = None

    @property
    def has_to_read(self) -> bool:
        """Whether a command of it, or one whose place such a command took, has still to read: it may see poison."""
        if self.commands[-1].done:
            return False
        return self.touch.reads or any(each.covered for each in self.commands)

    def copy(self) -> Use:
        made = Use(self.touch, self.stream)
        made.number, made.ran, made.commands, made.taken = self.number, self.ran, self.commands.copy(), self.taken
        return made


class Group:
    """The uses of equal bytes.  writes: by stream, and whether the bytes are read as well;  reads: by stream."""

    __slots__ = ("high", "low", "reads", "touch", "writes")

    def __init__(self, touch: Touch) -> None:
        self.touch = touch
        self.low = touch.low
        self.high = touch.high
        self.writes: dict[tuple[Lane, bool], Use] = {}
        self.reads: dict[Lane, Use] = {}

    def add(self, touch: Touch, stream: Lane) -> Use:
        """The use of a stream in the mode of a touch."""
        if touch.writes:
            use = self.writes.get((stream, touch.reads))
            if use is None:
                use = self.writes[stream, touch.reads] = Use(touch, stream)
        else:
            use = self.reads.get(stream)
            if use is None:
                use = self.reads[stream] = Use(touch, stream)
        return use

    def uses(self) -> Iterator[Use]:
        yield from self.writes.values()
        yield from self.reads.values()

    def keep(self, uses: Iterable[Use]) -> None:
        """Drop all other uses."""
        kept = list(uses)
        self.writes = {(each.stream, each.touch.reads): each for each in kept if each.touch.writes}
        self.reads = {each.stream: each for each in kept if not each.touch.writes}

    @property
    def is_empty(self) -> bool:
        return not self.writes and not self.reads


class History:
    """The uses of one block.  newest, newest_write: at least the number of each stream's latest use, and write."""

    __slots__ = ("_groups", "_index", "_limit", "newest", "newest_write")

    def __init__(self) -> None:
        self._groups: dict[tuple[object, ...], Group] = {}
        self._index: Spans[Group] | None = None
        self._limit = FEW_GROUPS
        self.newest: dict[Lane, int] = {}
        self.newest_write: dict[Lane, int] = {}

    def __len__(self) -> int:
        return len(self._groups)

    def is_of(self, stream: Lane) -> bool:
        """Whether no other stream used the block."""
        return not self.newest or (len(self.newest) == 1 and stream in self.newest)

    def groups(self) -> list[Group]:
        return list(self._groups.values())

    def overlapping(self, low: int, high: int) -> Iterable[Group]:
        """The groups with uses between two addresses, those of strided bytes perhaps with none."""
        if self._index is not None:
            return self._index.overlapping(low, high)
        return [each for each in self._groups.values() if each.low < high and low < each.high]

    def add(self, touch: Touch, stream: Lane, command: Command, number: int) -> Use:
        group = self._groups.get(touch.key)
        if group is None:
            group = self._groups[touch.key] = Group(touch)
            if self._index is not None:
                self._index.add(group)
        use = group.add(touch, stream)
        use.add(command, number)
        self.newest[stream] = number
        if touch.writes:
            self.newest_write[stream] = number
        return use

    def put(self, group: Group) -> None:
        """Take over a group of another history."""
        known = self._groups.get(group.touch.key)
        if known is not None:
            group.keep({*known.uses(), *group.uses()})
        self._groups[group.touch.key] = group
        for use in group.uses():
            self.newest[use.stream] = max(use.number, self.newest.get(use.stream, 0))
            if use.touch.writes:
                self.newest_write[use.stream] = max(use.number, self.newest_write.get(use.stream, 0))

    def remove(self, group: Group) -> None:
        if self._groups.pop(group.touch.key, None) is not None and self._index is not None:
            self._index.remove(group)

    def is_full(self) -> bool:
        """Whether it has grown enough, since uses were dropped, to look for more of them."""
        return len(self._groups) >= self._limit

    def renew(self, groups: Iterable[Group]) -> None:
        """Keep these groups alone."""
        self._groups, self.newest, self.newest_write = {}, {}, {}
        for each in groups:
            self.put(each)
        self._limit = max(FEW_GROUPS, 2 * len(self._groups))
        self._index = None
        if len(self._groups) >= FEW_GROUPS:
            self._index = Spans()
            for each in self._groups.values():
                self._index.add(each)
