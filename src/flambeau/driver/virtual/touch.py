"""One array that a command reads or writes, prepared for checks that happen at every call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ... import host
from ...dtypes import uint8
from ...errors import AccessError
from ...kernel import Access
from ...order import bytes_overlap
from .space import Space

MISALIGNED_ADDRESS = 716  # CUresult
TAKING = "block_taken"  # the command that makes a block the allocator's, in front of all that use it
Exact = tuple[int, Sequence[int], Sequence[int] | None, int]
ByteRange = tuple[int, int]


class Touch:
    """Bytes [low, high) that a command reads, writes or both; `dense` if it touches every one of them.

    key: equal for touches of the same bytes in the same mode.  Touches know no block, so commands share them.
    """

    __slots__ = ("_access", "dense", "high", "key", "low", "reads", "writes")

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
        self.dense = access.strides is None or _is_dense(access.shape, access.strides)
        self.key: tuple[Any, ...] = (low, self.high, mode)
        if not self.dense:
            self.key += (tuple(access.shape), tuple(access.strides or ()), access.dtype.itemsize)

    @classmethod
    def whole(cls, low: int, high: int) -> Touch:
        """The taking of the block [low, high), which writes it all."""
        return cls(Access(low, uint8, "w", (high - low,), None), TAKING)

    def overlap(self, other: Touch) -> list[ByteRange]:
        """The bytes that both touch, as ranges of addresses."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        if low >= high:
            return []
        if self.dense and other.dense:
            return [(low, high)]
        return bytes_overlap(*self._exact(), *other._exact(), low, high)

    def _exact(self) -> Exact:
        """Start, shape, strides and itemsize, as `bytes_overlap` takes them."""
        access = self._access
        if self.dense:
            return self.low, (access.nbytes,), None, 1
        return self.low, access.shape, access.strides, access.dtype.itemsize

    def covers(self, other: Touch) -> bool:
        return self.dense and self.low <= other.low and other.high <= self.high

    def array(self, space: Space) -> Any:
        """The array itself, in the memory of the device; one that is only read cannot be written."""
        return self._view(space.buffer, self.low - space.base)

    def copy(self, space: Space, poisoned: Iterable[ByteRange]) -> Any:
        """A private copy of the array in which some bytes are poison."""
        private = Space(self.low, space.bytes(self.low, self.high).copy())
        for low, high in poisoned:
            private.poison(low, high)
        return self._view(private.buffer, 0)

    def _view(self, buffer: Any, offset: int) -> Any:
        access = self._access
        steps = None if access.strides is None else [stride * access.dtype.itemsize for stride in access.strides]
        view = host.numpy().ndarray(access.shape, access.dtype.numpy, buffer, offset, steps)
        if not self.writes:
            view.flags.writeable = False
        return view


def _is_dense(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether the elements, in some order of the dimensions, lie without gaps (repeated ones count once)."""
    expected = 1
    for stride, size in sorted(zip(strides, shape)):
        if size == 1 or stride == 0:
            continue
        if stride != expected:
            return False
        expected *= size
    return True
