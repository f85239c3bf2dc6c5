"""States of random number generators, and their bytes.

A CUDA generator has a seed and a counter of Philox4x32-10 (J. Salmon et al., "Parallel random numbers: as easy as 1, 2,
3", SC 2011), which gives four words for each counter.  Its 16 bytes are the seed and the number of words drawn.

A CPU generator has the Mersenne Twister MT19937 (M. Matsumoto and T. Nishimura, 1998), whose words NumPy computes, and
a counter of Philox for the portable stream.  Its bytes are those that PyTorch saves, so either library continues where
the other stopped:

    at      bytes
    0       8       seed
    8       4       words left of the block of 624, plus 1
    12      4       1: the state is seeded
    16      8       index of the next word in the block
    24      4992    the block: 624 words in 8 bytes each
    5024    8       the float64 normal value that is kept for the next draw
    5032    8       counter of the portable stream; PyTorch keeps 0 there and ignores it
    5040    4       1: there is such a value
    5048    8       the same for a float32 value, which PyTorch does not draw
"""

from __future__ import annotations

import ctypes
import struct
from typing import TYPE_CHECKING, Any

from ..core.native import Lock
from ..errors import ArgumentError
from ..host import np

if TYPE_CHECKING:
    from typing import Self

STATE_BYTES = 16
WORDS = 1 << 64  # random words of one seed; then they repeat
BLOCK = 624  # words
TWISTER_BYTES, LEGACY_BYTES = 5056, 5048  # with and without the float32 value
_WORD = (1 << 32) - 1
_HEAD, _BLOCK_AT = struct.Struct("<QiiQ"), 24
_NORMAL_AT, _COUNTER_AT, _FLAG_AT = 5024, 5032, 5040
_NUMPY_BYTES = 4 * 624 + 4  # of NumPy's MT19937: the words of a block, and the index of the next one
_FEW_WORDS = 2048  # up to which NumPy's `random_raw` is the faster of two ways to the same words


class State:
    """Generator state: a seed and the number of counters taken.  Generators may share one."""

    __slots__ = ("_lock", "counter", "seed")

    def __init__(self, seed: int, counter: int = 0) -> None:
        self.seed = seed
        self.counter = counter
        self._lock = Lock()

    @property
    def lock(self) -> Lock:
        """Held while values are drawn that several calls must not share."""
        return self._lock

    def reserve(self, count: int) -> tuple[int, int, int]:
        """Reserve `count` counters; return (0, seed, first counter).  Counter 0 follows the largest one."""
        with self._lock:
            first = self.counter
            self.counter = (first + count) % (WORDS // 4)
        return 0, self.seed, first

    def reseed(self, seed: int) -> None:
        """Start again with a seed."""
        with self._lock:
            self.seed, self.counter = seed, 0

    def position(self) -> tuple[Any, ...]:
        """Return a value that changes when numbers are drawn."""
        return self.seed, self.counter

    def count_from(self, counter: int) -> None:
        """Continue with a counter."""
        with self._lock:
            self.counter = counter

    def copy(self) -> Self:
        """A state of its own that continues as this one."""
        return type(self)(self.seed, self.counter)

    def to_bytes(self) -> bytes:
        """Seed and offset in words, 8 bytes each, little-endian."""
        with self._lock:
            return self.seed.to_bytes(8, "little") + (4 * self.counter).to_bytes(8, "little")

    @staticmethod
    def check(name: str, data: bytes) -> None:
        """Raise ArgumentError unless `read` accepts the bytes: 16, or the 8 of a seed with offset 0."""
        if len(data) not in (8, STATE_BYTES):
            raise ArgumentError(
                f"a state has {STATE_BYTES} bytes, got {len(data)}",
                hint="pass what get_state() of a CUDA generator returned",
                operator=name,
            )
        offset = int.from_bytes(data[8:], "little")
        if offset % 4:
            raise ArgumentError(
                f"the offset {offset} is not a multiple of 4",
                hint="use a multiple of 4, for example what get_offset() returned",
                operator=name,
            )

    def read(self, data: bytes) -> None:
        """Restore the state that `to_bytes` returned."""
        with self._lock:
            self.seed = int.from_bytes(data[:8], "little")
            self.counter = int.from_bytes(data[8:], "little") // 4


def twister_words(bits: Any) -> bytes:
    """Return the words and the position of NumPy's MT19937, whose `state` converts them one by one."""
    return ctypes.string_at(bits.ctypes.state_address, _NUMPY_BYTES)


class TwisterState(State):
    """State of a CPU generator: a seed, the Mersenne Twister, and the counter of the portable stream.

    next_normal: a float64 normal value that the next draw of one takes, or None.
    """

    __slots__ = ("_bits", "_is_fresh", "next_normal")

    def __init__(self, seed: int, counter: int = 0) -> None:
        super().__init__(seed, counter)
        self._bits: Any = None  # NumPy's, made at the first draw
        self._is_fresh = True  # no word was drawn since the seed
        self.next_normal: float | None = None

    def reseed(self, seed: int) -> None:
        with self._lock:
            self.seed, self.counter = seed, 0
            self._bits, self._is_fresh, self.next_normal = None, True, None

    def position(self) -> tuple[Any, ...]:
        if self._bits is None:
            return self.seed, self.counter, self.next_normal
        return self.seed, self.counter, str(self.next_normal), twister_words(self._bits)

    def copy(self) -> TwisterState:
        new = TwisterState(self.seed)
        new.read(self.to_bytes())
        return new

    def _generator(self) -> Any:
        """NumPy's bit generator."""
        if self._bits is None:
            bits = np.random.MT19937(0)
            np.random.RandomState(bits).seed(self.seed & _WORD)
            self._bits = bits
        return self._bits

    def words(self, count: int) -> Any:
        """Draw `count` words: a new array of uint64 if they are few, else of uint32."""
        bits = self._generator()
        if count:
            self._is_fresh = False
        if count <= _FEW_WORDS:
            return bits.random_raw(count)
        return np.random.Generator(bits).integers(0, _WORD, count, np.uint32, True)

    def pairs(self, count: int) -> Any:
        """Draw `count` numbers of 64 bits, of two words each with the high half first: uint64[count]."""
        words = self._generator().random_raw(2 * count)
        if count:
            self._is_fresh = False
        return words[::2] << np.uint64(32) | words[1::2]

    def mark(self) -> Any:
        """Return the place in the sequence of words, for `rewind`."""
        return self._generator().state

    def rewind(self, mark: Any, count: int) -> None:
        """Continue `count` words after a mark."""
        bits = self._generator()
        bits.state = mark
        bits.random_raw(count, False)

    def to_bytes(self) -> bytes:
        with self._lock:
            state = self._generator().state["state"]
            position = int(state["pos"])
            data = bytearray(TWISTER_BYTES)
            _HEAD.pack_into(data, 0, self.seed, BLOCK + 1 - position, 1, 0 if self._is_fresh else position)
            data[_BLOCK_AT : _BLOCK_AT + 8 * BLOCK] = state["key"].astype("<u8").tobytes()
            struct.pack_into("<Q", data, _COUNTER_AT, self.counter)
            if self.next_normal is not None:
                struct.pack_into("<d", data, _NORMAL_AT, self.next_normal)
                struct.pack_into("<i", data, _FLAG_AT, 1)
        return bytes(data)

    @staticmethod
    def check(name: str, data: bytes) -> None:
        if len(data) not in (TWISTER_BYTES, LEGACY_BYTES):
            raise ArgumentError(
                f"a state of a CPU generator has {TWISTER_BYTES} bytes, got {len(data)}",
                hint="pass what get_state() of a CPU generator returned",
                operator=name,
            )
        _, left, seeded, position = _HEAD.unpack_from(data)
        if not (seeded == 1 and 1 <= left <= BLOCK and position <= BLOCK):
            raise ArgumentError(
                f"the state is not one of a CPU generator: {left} words left, next {position}, seeded {seeded}",
                hint="pass what get_state() of a CPU generator returned",
                operator=name,
            )

    def read(self, data: bytes) -> None:
        seed, left, _, position = _HEAD.unpack_from(data)
        bits = np.random.MT19937(0)
        key = np.frombuffer(data, "<u8", BLOCK, _BLOCK_AT).astype(np.uint32)
        bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": BLOCK + 1 - left}}
        (counter,) = struct.unpack_from("<Q", data, _COUNTER_AT)
        (normal,) = struct.unpack_from("<d", data, _NORMAL_AT)
        (has_normal,) = struct.unpack_from("<i", data, _FLAG_AT)
        with self._lock:
            self.seed, self.counter, self._bits, self._is_fresh = seed, counter, bits, position == 0
            self.next_normal = normal if has_normal else None
