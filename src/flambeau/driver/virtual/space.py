"""Address spaces of virtual GPUs: the bytes behind device and pinned addresses, and sorted sets of byte ranges.

- The bytes lie in one sparse shared mapping per device, made on first use; memory that nothing accessed costs nothing.
- Poison, the byte 0xFF (NaN, or -1), is the value of unwritten memory.  A device keeps it as ranges and writes the
  bytes only when something reads them.
- The memory of a machine that computes no values has addresses only.
- Look-ups and changes of ranges take a number of steps that is logarithmic in the number of entries.
"""

from __future__ import annotations

import mmap
import os
import resource
from collections.abc import Iterator
from typing import Any, Generic, Protocol, TypeVar

from sortedcontainers import SortedDict, SortedList

from ... import callers, host
from ...config import VALUES_HINT
from ...errors import ConfigError, NotSupportedError

FEW = 8  # up to so many ranges, a linear scan is faster than the index


class Ranges:
    """Disjoint ranges [low, high); ranges that touch become one.  Many have an index of their starts."""

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
        """The parts of the ranges that lie in [low, high)."""
        if not self._high:
            return []
        parts = [(max(low, start), min(high, self._high[start])) for start in self._touching(low, high)]
        return [(start, end) for start, end in parts if start < end]

    def first_fit(self, nbytes: int) -> int | None:
        """The lowest start of a range with `nbytes` bytes, or None."""
        for low in sorted(self._high) if self._lows is None else self._lows:
            if self._high[low] - low >= nbytes:
                return int(low)
        return None

    def largest(self) -> int:
        return max((high - low for low, high in self._high.items()), default=0)

    def _touching(self, low: int, high: int) -> list[int]:
        """The starts of the ranges that overlap [low, high) or adjoin it."""
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
        """The item that `address` lies in, or None."""
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
        """Yield the items that overlap [low, high).  The other items examined begin less than their rounded-up length
        before it.
        """
        for length, starts in self._by_length.items():
            for start in starts.irange(low - (1 << length), high, (False, False)):
                for item in starts[start]:
                    if item.high > low:
                        yield item


GRANULE = 2 << 20  # bytes: segments begin and end on multiples of this
POISON = 0xFF


def reservable(nbytes: int, count: int) -> int:
    """The number of bytes, at most `nbytes`, that each of `count` devices can map.

    Under a limit of the address space (RLIMIT_AS) the devices share half of what is left; the host keeps the rest.
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
    """The size of this process's address space, in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * mmap.PAGESIZE


class Space:
    """Bytes by address: pinned host memory, where poison is written at once."""

    __slots__ = ("base", "buffer")

    def __init__(self, base: int, buffer: Any) -> None:
        self.base = base
        self.buffer = buffer

    def bytes(self, low: int, high: int) -> Any:
        """A uint8 array over the bytes at [low, high)."""
        return host.numpy().frombuffer(self.buffer, "uint8", high - low, low - self.base)

    def poison(self, low: int, high: int) -> None:
        """Make [low, high) read as poison."""
        self.bytes(low, high)[:] = POISON

    def materialise(self, low: int, high: int) -> None:
        """Write the pending poison of [low, high) to the buffer, before a read."""

    def written(self, low: int, high: int) -> None:
        """Drop the pending poison of [low, high), before a write of the bytes that have it."""


class DeviceSpace(Space):
    """The bytes of one device, where poison is a set of ranges.

    file: the descriptor of the bytes' memory file, -1 before `open`;  exported: segments that other processes may see.
    """

    __slots__ = ("exported", "file", "nbytes", "unwritten")

    def __init__(self, base: int, nbytes: int) -> None:
        super().__init__(base, None)
        self.nbytes = nbytes
        self.unwritten = Ranges()
        self.exported = Ranges()
        self.file = -1

    def open(self) -> None:
        """Map the bytes, once."""
        if self.buffer is None:
            self.file = os.memfd_create(f"flambeau-{self.base:#x}")
            os.ftruncate(self.file, self.nbytes)
            try:
                self.buffer = mmap.mmap(self.file, self.nbytes)
            except OSError as error:
                raise ConfigError(
                    f"virtual GPUs: {self.nbytes} bytes of memory cannot be mapped beside the {_mapped()} that this "
                    f"process uses: {error.strerror}; the limit of addresses (RLIMIT_AS) is "
                    f"{resource.getrlimit(resource.RLIMIT_AS)[0]}",
                    hint="set less, as in FLAMBEAU_GPUS=virtual:2,memory=1GiB, or raise the limit: ulimit -v",
                ) from error

    def __del__(self) -> None:
        if self.file >= 0:
            os.close(self.file)

    def poison(self, low: int, high: int) -> None:
        self.unwritten.add(low, high)

    def materialise(self, low: int, high: int) -> None:
        pending = self.unwritten.within(low, high)
        for start, end in pending:
            self.bytes(start, end)[:] = POISON
        if pending:
            self.unwritten.remove(low, high)

    def written(self, low: int, high: int) -> None:
        self.unwritten.remove(low, high)

    def discard(self, low: int, high: int) -> None:
        """Return the bytes to the system; both ends are multiples of GRANULE."""
        self.unwritten.remove(low, high)
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
        """Keep nothing, as the next three."""

    def materialise(self, low: int, high: int) -> None: ...

    def written(self, low: int, high: int) -> None: ...

    def discard(self, low: int, high: int) -> None:
        self.unwritten.remove(low, high)
        self.exported.remove(low, high)
