"""Sorted sets of disjoint byte ranges, and indexes of objects by byte range.

Every look-up and change takes a number of steps that is logarithmic in the number of entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from sortedcontainers import SortedDict, SortedList

FEW = 8  # ranges that are looked through faster than they are searched


class Ranges:
    """Disjoint ranges [low, high); ranges that touch become one."""

    __slots__ = ("_high", "_lows")

    def __init__(self) -> None:
        self._lows: SortedList[int] = SortedList()
        self._high: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._high)

    def add(self, low: int, high: int) -> None:
        for start in self._touching(low, high):
            end = self._take_out(start)
            low, high = min(low, start), max(high, end)
        self._put(low, high)

    def remove(self, low: int, high: int) -> None:
        if not self._high:
            return
        for start in self._touching(low, high):
            end = self._high[start]
            if end == low or start == high:
                continue
            self._take_out(start)
            if start < low:
                self._put(start, low)
            if high < end:
                self._put(high, end)

    def within(self, low: int, high: int) -> list[tuple[int, int]]:
        """The parts of the ranges that lie in [low, high)."""
        if not self._high:
            return []
        parts = [(max(low, start), min(high, self._high[start])) for start in self._touching(low, high)]
        return [(start, end) for start, end in parts if start < end]

    def first_fit(self, nbytes: int) -> int | None:
        """The lowest start of a range with `nbytes` bytes, or None."""
        for low in self._lows:
            if self._high[low] - low >= nbytes:
                return int(low)
        return None

    def largest(self) -> int:
        return max((high - low for low, high in self._high.items()), default=0)

    def _touching(self, low: int, high: int) -> list[int]:
        """The starts of the ranges that overlap [low, high) or adjoin it."""
        if len(self._high) <= FEW:
            return sorted([start for start, end in self._high.items() if start <= high and low <= end])
        found = list(self._lows.irange(low, high))
        before = next(self._lows.irange(maximum=low, inclusive=(True, False), reverse=True), None)
        if before is not None and self._high[before] >= low:
            found.insert(0, before)
        return found

    def _put(self, low: int, high: int) -> None:
        self._lows.add(low)
        self._high[low] = high

    def _take_out(self, low: int) -> int:
        self._lows.remove(low)
        return self._high.pop(low)


class HasRange(Protocol):
    @property
    def low(self) -> int: ...
    @property
    def high(self) -> int: ...


T = TypeVar("T", bound=HasRange)


class Blocks(Generic[T]):
    """An index of objects with disjoint ranges.  `at` finds one by its first address."""

    __slots__ = ("_lows", "at")

    def __init__(self) -> None:
        self._lows: SortedList[int] = SortedList()
        self.at: dict[int, T] = {}

    def __len__(self) -> int:
        return len(self.at)

    def add(self, item: T) -> None:
        self._lows.add(item.low)
        self.at[item.low] = item

    def remove(self, item: T) -> None:
        self._lows.remove(item.low)
        del self.at[item.low]

    def find(self, address: int) -> T | None:
        """The item that `address` lies in, or None."""
        low = next(self._lows.irange(maximum=address, reverse=True), None)
        if low is None:
            return None
        item = self.at[low]
        return item if address < item.high else None

    def overlapping(self, low: int, high: int) -> list[T]:
        first = self.find(low)
        found = [] if first is None else [first]
        return found + [self.at[each] for each in self._lows.irange(low, high, (False, False))]


class Spans(Generic[T]):
    """An index of objects whose ranges may overlap, by power of two of the length and by start."""

    __slots__ = ("_by_length",)

    def __init__(self) -> None:
        self._by_length: dict[int, SortedDict[int, list[T]]] = {}

    def add(self, item: T) -> None:
        length = (item.high - item.low).bit_length()
        starts = self._by_length.get(length)
        if starts is None:
            starts = self._by_length[length] = SortedDict()
        if item.low in starts:
            starts[item.low].append(item)
        else:
            starts[item.low] = [item]

    def remove(self, item: T) -> None:
        length = (item.high - item.low).bit_length()
        starts = self._by_length[length]
        starts[item.low].remove(item)
        if not starts[item.low]:
            del starts[item.low]
            if not starts:
                del self._by_length[length]

    def overlapping(self, low: int, high: int) -> Iterator[T]:
        """The things that overlap [low, high).  Those looked at besides begin in front of it, by less than their length
        rounded up."""
        for length, starts in self._by_length.items():
            for start in starts.irange(low - (1 << length), high, (False, False)):
                for item in starts[start]:
                    if item.high > low:
                        yield item
