"""Sorted sets of disjoint byte ranges, and of things that occupy one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Generic, Protocol, TypeVar


class Ranges:
    """Disjoint ranges [low, high); ranges that touch become one."""

    __slots__ = ("_highs", "_lows")

    def __init__(self) -> None:
        self._lows: list[int] = []
        self._highs: list[int] = []

    def add(self, low: int, high: int) -> None:
        first = bisect_left(self._highs, low)
        last = bisect_right(self._lows, high)
        if first < last:
            low = min(low, self._lows[first])
            high = max(high, self._highs[last - 1])
        self._lows[first:last] = [low]
        self._highs[first:last] = [high]

    def remove(self, low: int, high: int) -> None:
        first = bisect_right(self._highs, low)
        last = bisect_left(self._lows, high)
        if first >= last:
            return
        left, right = self._lows[first], self._highs[last - 1]
        kept = [each for each in ((left, low), (high, right)) if each[0] < each[1]]
        self._lows[first:last] = [start for start, _ in kept]
        self._highs[first:last] = [end for _, end in kept]

    def within(self, low: int, high: int) -> list[tuple[int, int]]:
        """The parts of the ranges that lie in [low, high)."""
        first = bisect_right(self._highs, low)
        last = bisect_left(self._lows, high)
        return [(max(low, self._lows[at]), min(high, self._highs[at])) for at in range(first, last)]

    def first_fit(self, nbytes: int) -> int | None:
        """The lowest start of a range with `nbytes` bytes, or None."""
        for low, high in zip(self._lows, self._highs):
            if high - low >= nbytes:
                return low
        return None

    def largest(self) -> int:
        return max((high - low for low, high in zip(self._lows, self._highs)), default=0)


class HasRange(Protocol):
    @property
    def low(self) -> int: ...
    @property
    def high(self) -> int: ...


T = TypeVar("T", bound=HasRange)


class Blocks(Generic[T]):
    """Things that occupy disjoint ranges.  `at` finds one by its first address."""

    __slots__ = ("_lows", "at")

    def __init__(self) -> None:
        self._lows: list[int] = []
        self.at: dict[int, T] = {}

    def add(self, item: T) -> None:
        self._lows.insert(bisect_left(self._lows, item.low), item.low)
        self.at[item.low] = item

    def remove(self, item: T) -> None:
        del self._lows[bisect_left(self._lows, item.low)]
        del self.at[item.low]

    def find(self, address: int) -> T | None:
        """The item that `address` lies in, or None."""
        index = bisect_right(self._lows, address) - 1
        if index < 0:
            return None
        item = self.at[self._lows[index]]
        return item if address < item.high else None

    def overlapping(self, low: int, high: int) -> list[T]:
        first = max(bisect_right(self._lows, low) - 1, 0)
        last = bisect_left(self._lows, high)
        items = [self.at[address] for address in self._lows[first:last]]
        return [item for item in items if item.high > low]
