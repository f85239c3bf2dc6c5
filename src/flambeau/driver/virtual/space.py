"""Address spaces of virtual GPUs: the bytes behind device and pinned addresses, and sorted sets of byte ranges.

- The bytes lie in one sparse shared mapping per device, made on first use; memory takes no RAM until it is accessed.
- Poison, the byte 0xFF (NaN, or -1), is the value of unwritten memory.  A device marks it per grain of 512 bytes and
  writes the bytes only when something reads them.
- The memory of a machine that computes no values has addresses only.
- Look-ups and changes of ranges take a number of steps that is logarithmic in the number of entries.
"""

from __future__ import annotations

import gc
import mmap
import os
import resource
from collections.abc import Iterator
from typing import Any, Generic, Protocol, TypeVar

from sortedcontainers import SortedDict, SortedList

from ... import callers, host
from ...config import VALUES_HINT
from ...errors import ConfigError, NotSupportedError

FEW = 8  # for at most this many ranges, a linear scan is faster than the index


class Ranges:
    """Disjoint ranges [low, high); ranges that touch become one.  Large sets have an index of their starts."""

    __slots__ = ("_high", "_lows")

    def __init__(self) -> None:
        self._high: dict[int, int] = {}
        self._lows: SortedList[int] | None = None

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
        """Return the parts of the ranges that lie in [low, high)."""
        if not self._high:
            return []
        parts = [(max(low, start), min(high, self._high[start])) for start in self._touching(low, high)]
        return [(start, end) for start, end in parts if start < end]

    def first_fit(self, nbytes: int) -> int | None:
        """Return the lowest start of a range with `nbytes` bytes, or None."""
        for low in sorted(self._high) if self._lows is None else self._lows:
            if self._high[low] - low >= nbytes:
                return int(low)
        return None

    def largest(self) -> int:
        return max((high - low for low, high in self._high.items()), default=0)

    def _touching(self, low: int, high: int) -> list[int]:
        """Return the starts of the ranges that overlap [low, high) or adjoin it."""
        if self._lows is None:
            return sorted([start for start, end in self._high.items() if start <= high and low <= end])
        starts = list(self._lows.irange(low, high))
        before = next(self._lows.irange(maximum=low, inclusive=(True, False), reverse=True), None)
        if before is not None and self._high[before] >= low:
            starts.insert(0, before)
        return starts

    def _put(self, low: int, high: int) -> None:
        self._high[low] = high
        if self._lows is not None:
            self._lows.add(low)
        elif len(self._high) > FEW:
            self._lows = SortedList(self._high)

    def _take_out(self, low: int) -> int:
        high = self._high.pop(low)
        if self._lows is not None:
            self._lows.remove(low)
            if len(self._high) < FEW // 2:
                self._lows = None
        return high


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
        """Return the item that `address` lies in, or None."""
        low = next(self._lows.irange(maximum=address, reverse=True), None)
        if low is None:
            return None
        item = self.at[low]
        return item if address < item.high else None

    def overlapping(self, low: int, high: int) -> list[T]:
        first = self.find(low)
        items = [] if first is None else [first]
        return items + [self.at[start] for start in self._lows.irange(low, high, (False, False))]


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
        """Yield the items that overlap [low, high).

        Of the other items, only those that begin less than their rounded-up length before `low` are examined.
        """
        for length, starts in self._by_length.items():
            for start in starts.irange(low - (1 << length), high, (False, False)):
                for item in starts[start]:
                    if item.high > low:
                        yield item


GRANULE = 2 << 20  # bytes: segments begin and end on multiples of this
POISON = 0xFF


def reservable(nbytes: int, count: int) -> int:
    """Return the number of bytes, at most `nbytes`, that each of `count` devices can map.

    Under an address space limit (RLIMIT_AS), the devices share half of the free address space.
    """
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return nbytes
    share = max(limit - _mapped(), 0) // (2 * count) // GRANULE * GRANULE
    if share >= nbytes:
        return nbytes
    callers.warn(
        f"virtual GPUs: each has {share} bytes of memory and not {nbytes}: this process is limited to {limit} bytes of "
        "addresses (RLIMIT_AS); FLAMBEAU_GPUS=virtual:2,memory=1GiB sets how many"
    )
    return share


def _mapped() -> int:
    """Return the size of this process's address space, in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * mmap.PAGESIZE


class Space:
    """Bytes by address: pinned host memory, where poison is written at once.

    is_lasting: whether the bytes stay at these addresses as long as the machine exists.
    """

    __slots__ = ("base", "buffer", "is_lasting")

    def __init__(self, base: int, buffer: Any, is_lasting: bool = False) -> None:
        self.base = base
        self.buffer = buffer
        self.is_lasting = is_lasting

    def bytes(self, low: int, high: int) -> Any:
        """Return a uint8 array over the bytes at [low, high)."""
        return host.numpy().frombuffer(self.buffer, "uint8", high - low, low - self.base)

    def poison(self, low: int, high: int) -> None:
        """Make [low, high) read as poison."""
        self.bytes(low, high)[:] = POISON

    def materialise(self, low: int, high: int) -> None:
        """Write the pending poison of [low, high) to the buffer, before a read."""

    def written(self, low: int, high: int) -> None:
        """Drop the pending poison of [low, high), before a write of the bytes that have it."""


GRAIN = 512  # bytes: the unit of pending poison


def _mapped_file(file: int, nbytes: int) -> mmap.mmap:
    """Map a file.  If that fails, first collect unreachable machines, which may still occupy addresses."""
    try:
        return mmap.mmap(file, nbytes)
    except OSError:
        gc.collect()
        return mmap.mmap(file, nbytes)


class DeviceSpace(Space):
    """The bytes of one device.  A grain's poison is pending until the grain is read or partly written.

    After the bytes there is a mark per grain: 0 while its poison is pending, as in new memory, else 1.

    file: the descriptor of the memory file, -1 before `open`;  exported: segments that other processes may see.
    """

    __slots__ = ("_marks", "exported", "file", "nbytes")

    def __init__(self, base: int, nbytes: int, is_lasting: bool = False) -> None:
        super().__init__(base, None, is_lasting)
        self.nbytes = nbytes
        self._marks = -(-nbytes // GRANULE) * GRANULE  # the offset of the marks
        self.exported = Ranges()
        self.file = -1

    def open(self) -> None:
        """Map the bytes, once."""
        if self.buffer is None:
            self.file = os.memfd_create(f"flambeau-{self.base:#x}")
            length = self._marks + -(-self.nbytes // GRAIN)
            os.ftruncate(self.file, length)
            try:
                self.buffer = _mapped_file(self.file, length)
            except OSError as error:
                raise ConfigError(
                    f"virtual GPUs: {self.nbytes} bytes of memory cannot be mapped beside the {_mapped()} that this "
                    f"process uses: {error.strerror}; the limit of addresses (RLIMIT_AS) is "
                    f"{resource.getrlimit(resource.RLIMIT_AS)[0]}",
                    hint="set a smaller size, as in FLAMBEAU_GPUS=virtual:2,memory=1GiB, or raise the limit: ulimit -v",
                ) from error

    def __del__(self) -> None:
        if self.file >= 0:
            os.close(self.file)

    def poison(self, low: int, high: int) -> None:
        start, end = low - self.base, high - self.base
        first, last = -(-start // GRAIN), end // GRAIN  # the whole grains in the range
        if first > last:
            self._poison_part(start, end)
            return
        if start < first * GRAIN:
            self._poison_part(start, first * GRAIN)
        if first < last:
            self._clear(self._marks + first, self._marks + last)
        if last * GRAIN < end:
            self._poison_part(last * GRAIN, end)

    def _poison_part(self, start: int, end: int) -> None:
        """Poison a part of one grain."""
        if self.buffer[self._marks + start // GRAIN]:
            self.buffer[start:end] = b"\xff" * (end - start)

    def _clear(self, first: int, last: int) -> None:
        """Clear marks.  Whole pages of them are returned to the system."""
        low, high = -(-first // mmap.PAGESIZE) * mmap.PAGESIZE, last // mmap.PAGESIZE * mmap.PAGESIZE
        if low < high:
            self.buffer.madvise(mmap.MADV_REMOVE, low, high - low)
            self.buffer[first:low] = bytes(low - first)
            first = high
        self.buffer[first:last] = bytes(last - first)

    def materialise(self, low: int, high: int) -> None:
        first, last = (low - self.base) // GRAIN, (high - self.base - 1) // GRAIN + 1
        marks = self.buffer[self._marks + first : self._marks + last]
        if 0 not in marks:
            return
        start = marks.find(0)
        while start >= 0:
            end = marks.find(1, start)
            end = end if end >= 0 else len(marks)
            self.bytes(self.base + (first + start) * GRAIN, self.base + (first + end) * GRAIN)[:] = POISON
            start = marks.find(0, end)
        self.buffer[self._marks + first : self._marks + last] = b"\1" * (last - first)

    def written(self, low: int, high: int) -> None:
        start, end = low - self.base, high - self.base
        first, last = start // GRAIN, (end - 1) // GRAIN + 1
        if start % GRAIN:
            self.materialise(low, low + 1)
        if end % GRAIN:
            self.materialise(high - 1, high)
        self.buffer[self._marks + first : self._marks + last] = b"\1" * (last - first)

    def is_pending(self, low: int, high: int) -> bool:
        """Return whether poison is pending for all of [low, high)."""
        first, last = (low - self.base) // GRAIN, (high - self.base - 1) // GRAIN + 1
        return 1 not in self.buffer[self._marks + first : self._marks + last]

    def discard(self, low: int, high: int) -> None:
        """Return the bytes to the system; both ends are multiples of GRANULE."""
        self._clear(self._marks + (low - self.base) // GRAIN, self._marks + (high - self.base) // GRAIN)
        self.exported.remove(low, high)
        self.buffer.madvise(mmap.MADV_REMOVE, low - self.base, high - low)


class EmptySpace(DeviceSpace):
    """The addresses of a device whose values are not computed: there are no bytes."""

    __slots__ = ()

    def open(self) -> None:
        """Map nothing."""

    def bytes(self, low: int, high: int) -> Any:
        raise NotSupportedError(
            f"bytes [{low:#x}, {high:#x}) of a virtual GPU have no values: they are not computed", hint=VALUES_HINT
        )

    def poison(self, low: int, high: int) -> None:
        """Do nothing: there are no bytes.  The next two methods do nothing either."""

    def materialise(self, low: int, high: int) -> None: ...

    def written(self, low: int, high: int) -> None: ...

    def discard(self, low: int, high: int) -> None:
        self.exported.remove(low, high)
