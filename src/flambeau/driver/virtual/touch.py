"""One array that a command reads or writes, prepared for checks that happen at every call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ... import host
from ...byte_ranges import ByteRange, byte_range
from ...errors import AccessError
from ...kernel import Access
from .space import POISON, Space

MISALIGNED_ADDRESS = 716  # CUresult
TAKING = "block_taken"  # the command that makes a block the allocator's, in front of all that use it


class Overlap(NamedTuple):
    """Bytes that two touches have in common: those of [low, high) that lie in both ranges; all of them if it has none.

    Which ones these are is worked out when they are poisoned, with the arrays at hand.
    """

    low: int
    high: int
    ranges: tuple[ByteRange, ByteRange] | None

    def clipped(self, low: int, high: int) -> Overlap:
        return self._replace(low=max(self.low, low), high=min(self.high, high))

    def poison(self, space: Space) -> None:
        """From now on, the bytes read as poison."""
        if self.ranges is None:
            space.poison(self.low, self.high)
            return
        one, two = self.ranges
        space.materialise(self.low, self.high)
        space.bytes(self.low, self.high)[one.mask(self.low, self.high) & two.mask(self.low, self.high)] = POISON


class Touch:
    """Bytes that a command reads, writes or both: some of [low, high), all of them if `dense`.

    key: equal for touches of the same bytes.  Touches know no block, so commands share them.
    """

    __slots__ = ("_access", "_range", "dense", "high", "key", "low", "reads", "writes")

    def __init__(self, access: Access, name: str) -> None:
        low, mode = access.address, access.mode
        if low % access.dtype.itemsize:
            raise AccessError(
                f"{low:#x} is not a multiple of {access.dtype.itemsize}, the size of {access.dtype.name}",
                error_code=MISALIGNED_ADDRESS,
                operator=name,
            )
        self._access = access
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
    def whole(cls, low: int, high: int) -> Touch:
        """The taking of the block [low, high), which writes it all.  Nobody asks for its array."""
        made = cls.__new__(cls)
        made.low, made.high, made.key = low, high, (low, high)
        made.reads, made.writes, made.dense, made._range = False, True, True, None
        return made

    @property
    def range(self) -> ByteRange:
        if self._range is None:
            self._range = ByteRange.dense(self.low, self.high - self.low)
        return self._range

    def overlap(self, other: Touch) -> Overlap | None:
        """The bytes that both touch, None if there are none."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        if low >= high:
            return None
        if self.dense and other.dense:
            return Overlap(low, high, None)
        return Overlap(low, high, (self.range, other.range)) if self.range.overlaps(other.range) else None

    def covers(self, other: Touch) -> bool:
        """Whether this one touches every byte that the other one does; False where that takes more than a look."""
        return self.low <= other.low and other.high <= self.high if self.dense else self.key == other.key

    def array(self, space: Space) -> Any:
        """The array itself, in the memory of the device; one that is only read cannot be written."""
        return self._view(space.buffer, self.low - space.base)

    def copy(self, space: Space, poisoned: Iterable[Overlap]) -> Any:
        """A private copy of the array in which some bytes are poison."""
        private = Space(self.low, space.bytes(self.low, self.high).copy())
        for each in poisoned:
            each.poison(private)
        return self._view(private.buffer, 0)

    def _view(self, buffer: Any, offset: int) -> Any:
        access = self._access
        steps = None if access.strides is None else [stride * access.dtype.itemsize for stride in access.strides]
        view = host.numpy().ndarray(access.shape, access.dtype.numpy, buffer, offset, steps)
        if not self.writes:
            view.flags.writeable = False
        return view
