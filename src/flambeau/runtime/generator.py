"""Random number generators, as in PyTorch: the Mersenne Twister on the CPU, Philox4x32-10 on CUDA devices.

Inside `random.portable`, values come from Philox on every device: see ops/random.py.

A CUDA generator has a seed and a counter of Philox4x32-10 (J. Salmon et al., "Parallel random numbers: as easy as 1, 2,
3", SC 2011), which gives four words of 32 bits for each value of the counter.  Its saved state has 16 bytes: the seed
and the number of words drawn.

A CPU generator has the Mersenne Twister MT19937 (M. Matsumoto and T. Nishimura, 1998), whose words NumPy computes, and
a counter of Philox for the portable stream.  Its saved state has PyTorch's format, so either library continues where
the other stopped:

    at      bytes
    0       8       seed
    8       4       words left of the block of 624, plus 1
    12      4       1: the state is seeded
    16      8       index of the next word in the block
    24      4992    the block: 624 words in 8 bytes each
    5016    8       not used
    5024    8       the float64 normal value kept for the next draw
    5032    8       counter of the portable stream; PyTorch keeps 0 there and ignores it
    5040    4       1: a float64 value is kept
    5048    8       PyTorch's kept float32 value and its flag; 0 here, and ignored
"""

from __future__ import annotations

import ctypes
import operator
import os
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..core import thread
from ..core.locks import whole
from ..core.native import Lock
from ..errors import AcceleratorError, ArgumentTypeError, DeviceMismatchError, ValueRangeError, shown
from ..host import np
from . import device as devices

if TYPE_CHECKING:
    from typing import Self


STATE_BYTES = 16
WORDS = 1 << 64  # period: random words of one seed before they repeat
BLOCK = 624  # words
TWISTER_BYTES, LEGACY_BYTES = 5056, 5048  # sizes of a state with and without the float32 value
_WORD = (1 << 32) - 1
_HEAD, _BLOCK_AT = struct.Struct("<QiiQ"), 24
_NORMAL_AT, _COUNTER_AT, _FLAG_AT = 5024, 5032, 5040
_NUMPY_BYTES = 4 * 624 + 4  # of NumPy's MT19937: the words of a block, and the index of the next one
_FEW_WORDS = 2048  # up to this count `random_raw` draws the words faster than `integers`


class State:
    """Generator state: a seed and the next value of the Philox counter.  Generators may share one."""

    __slots__ = ("_lock", "counter", "seed")

    def __init__(self, seed: int, counter: int = 0) -> None:
        self.seed = seed
        self.counter = counter
        self._lock = Lock()

    @property
    def lock(self) -> Lock:
        """Lock to hold while drawing, so that two calls never draw the same values."""
        return self._lock

    def reserve(self, count: int) -> tuple[int, int, int]:
        """Reserve `count` counters; return (0, seed, first counter), as `Generator.reserve`.  The counter wraps."""
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
        """Set the next value of the counter."""
        with self._lock:
            self.counter = counter

    def copy(self) -> Self:
        """Return an independent copy, which continues with the same numbers."""
        return type(self)(self.seed, self.counter)

    def to_bytes(self) -> bytes:
        """Return the seed and the offset in words, 8 bytes each, little-endian."""
        with self._lock:
            return self.seed.to_bytes(8, "little") + (4 * self.counter).to_bytes(8, "little")

    @staticmethod
    def check(name: str, data: bytes) -> None:
        """Raise ArgumentError unless `read` accepts the bytes: 16, or the 8 of a seed with offset 0."""
        if len(data) not in (8, STATE_BYTES):
            raise ValueRangeError(
                f"a state has {STATE_BYTES} bytes, got {len(data)}",
                hint="pass the result of get_state() of a CUDA generator",
                operator=name,
            )
        offset = int.from_bytes(data[8:], "little")
        if offset % 4:
            raise ValueRangeError(
                f"the offset {offset} is not a multiple of 4",
                hint="use a multiple of 4, for example the result of get_offset()",
                operator=name,
            )

    def read(self, data: bytes) -> None:
        """Restore the state that `to_bytes` returned."""
        with self._lock:
            self.seed = int.from_bytes(data[:8], "little")
            self.counter = int.from_bytes(data[8:], "little") // 4


def twister_words(bits: Any) -> bytes:
    """Return the words and position of NumPy's MT19937 as bytes: its `state` would convert the words one by one."""
    return ctypes.string_at(bits.ctypes.state_address, _NUMPY_BYTES)


class TwisterState(State):
    """State of a CPU generator: a seed, the Mersenne Twister, and the counter of the portable stream.

    next_normal: the cached float64 normal value that the next draw of a single one returns, or None.
    """

    __slots__ = ("_bits", "_is_fresh", "next_normal")

    def __init__(self, seed: int, counter: int = 0) -> None:
        super().__init__(seed, counter)
        self._bits: Any = None  # NumPy's MT19937, made at the first draw
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
        """Return NumPy's bit generator."""
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
        """Draw `count` 64-bit numbers, each of two words, the high half first: uint64[count]."""
        words = self._generator().random_raw(2 * count)
        if count:
            self._is_fresh = False
        return words[::2] << np.uint64(32) | words[1::2]

    def mark(self) -> Any:
        """Return the position in the sequence of words, for `rewind`."""
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
            raise ValueRangeError(
                f"a state of a CPU generator has {TWISTER_BYTES} bytes, got {len(data)}",
                hint="pass the result of get_state() of a CPU generator",
                operator=name,
            )
        _, left, seeded, position = _HEAD.unpack_from(data)
        if not (seeded == 1 and 1 <= left <= BLOCK and position <= BLOCK):
            raise ValueRangeError(
                f"the state is not one of a CPU generator: {left} words left, next {position}, seeded {seeded}",
                hint="pass the result of get_state() of a CPU generator",
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


DEFAULT_SEED = 67280421310721
CAPTURE_UNSUPPORTED = 900  # CUresult


def _drawn_seed() -> int:
    """Draw a seed of 63 bits from the system.  The module `secrets` would add 7 ms to the import."""
    return int.from_bytes(os.urandom(8), "little") >> 1


class Tensors:
    """Functions that convert between bytes and tensors; the tensor layer sets them."""

    of_bytes: Callable[[bytes], Any]
    to_bytes: Callable[[str, Any], bytes]


class Generator:
    """A source of random numbers for one device.

    device: None is the CPU, whatever the default device is.
    A new generator always starts from the same seed.  The default generators of the devices start from a random seed.
    Raises: DeviceNameError for a text that names no device, ArgumentTypeError for any other value; DeviceIndexError if
            there is no such device; NotSupportedError for a device without tensors, such as "mps".
    Example:
        >>> generator = torch.Generator().manual_seed(3)
        >>> first = torch.rand(2, generator=generator)
        >>> _ = generator.manual_seed(3)
        >>> torch.equal(first, torch.rand(2, generator=generator))
        True
    """

    device_index: int
    random_state: State

    def __init__(self, device: Any = None) -> None:
        self.device_index = devices.resolve(devices.CPU if device is None else device)
        self.random_state = _state_of(self.device_index, DEFAULT_SEED)

    @property
    def device(self) -> devices.device:
        """The device of the generator's random numbers."""
        return devices.CPU if self.device_index == devices.CPU_INDEX else devices.cuda(self.device_index)

    def reserve(self, count: int | None) -> tuple[Any, int, int]:
        """Reserve `count` Philox counters for a kernel; return (address, seed, first counter).

        The address is 0, unless the device's current stream is capturing.  Then it is that of a state in device memory,
        to which each replay writes its seed and first counter, so replays continue the sequence as calls would.
        count=None returns (state, 0, 0), for draws on the CPU, which take their words from the state.
        Example:
            >>> torch.Generator("cuda").manual_seed(5).reserve(2)
            (0, 5, 0)
        """
        if count is None:
            return self.random_state, 0, 0
        capture = thread.machine().capture
        if capture is not None and capture.covers(self.device_index):
            reserved: tuple[int, int, int] = capture.draw(self, count)
            return reserved
        return self.random_state.reserve(count)

    def _is_captured(self) -> bool:
        """Return whether the device's current stream is capturing."""
        capture = thread.machine().capture
        return capture is not None and capture.covers(self.device_index)

    def _check_not_captured(self, name: str) -> None:
        """Raise AcceleratorError if the device's current stream is capturing: no replay would repeat the call."""
        if self._is_captured():
            raise AcceleratorError(
                f"the state of the generator of {self.device} cannot be read or set during a capture",
                hint="do it before the capture; each replay continues from the generator's current state",
                error_code=CAPTURE_UNSUPPORTED,
                operator=name,
            )

    def manual_seed(self, seed: Any) -> Generator:
        """Restart from the 64-bit seed `int(seed)`, and return this generator.

        A negative seed is read as two's complement.

        Raises: ValueRangeError if the seed is not a number or needs more than 64 bits, ArgumentTypeError for other
                types; AcceleratorError in a capture, unless the seed is unchanged.
        Example:
            >>> generator = torch.Generator().manual_seed(3)
            >>> generator.initial_seed()
            3
        """
        _seed("manual_seed", [self], _as_seed("manual_seed", seed))
        return self

    def seed(self) -> int:
        """Restart from a random seed that the operating system supplies, and return it.

        Raises: AcceleratorError in a capture.
        Example:
            >>> generator = torch.Generator()
            >>> generator.seed() == generator.initial_seed()
            True
        """
        self.manual_seed(_drawn_seed())
        return self.random_state.seed

    def initial_seed(self) -> int:
        """Return the seed from which the generator started.

        Example:
            >>> torch.Generator().manual_seed(3).initial_seed()
            3
        """
        return self.random_state.seed

    def get_offset(self) -> int:
        """Return the number of random words of 32 bits drawn since the seed, rounded up to a multiple of four.

        On the CPU, it counts only numbers drawn while `torch.random.portable` is in effect.
        Raises: AcceleratorError in a capture.
        Example:
            >>> generator = torch.Generator("cuda").manual_seed(0)
            >>> _ = torch.rand(1, device="cuda", generator=generator)
            >>> generator.get_offset()
            4
        """
        self._check_not_captured("get_offset")
        return 4 * self.random_state.counter

    def set_offset(self, offset: int) -> None:
        """Set the position in the sequence: the next draw starts `offset` random words of 32 bits after the seed.

        offset: a multiple of 4, from 0 to 2**64 - 4.
        Raises: ValueRangeError for other numbers, ArgumentTypeError if `offset` is not an integer; AcceleratorError in
                a capture.
        Example:
            >>> generator = torch.Generator("cuda").manual_seed(0)
            >>> generator.set_offset(8)
            >>> generator.get_offset()
            8
        """
        try:
            words = operator.index(offset)
        except TypeError as failure:
            raise ArgumentTypeError(
                f"the offset must be an int, got {offset!r}", hint="pass an int", operator="set_offset"
            ) from failure
        if words % 4 or not 0 <= words < WORDS:
            raise ValueRangeError(
                f"the offset must be a multiple of 4 from 0 to {WORDS - 4}, got {words}",
                hint="use a multiple of 4, for example the result of get_offset()",
                operator="set_offset",
            )
        self._check_not_captured("set_offset")
        self.random_state.count_from(words // 4)

    def state_bytes(self) -> bytes:
        """Return the state in PyTorch's format: 5056 bytes of a CPU generator, 16 of a CUDA one.

        Raises: AcceleratorError in a capture.
        Example:
            >>> len(torch.Generator("cuda").state_bytes())
            16
        """
        self._check_not_captured("get_state")
        return self.random_state.to_bytes()

    def set_state_bytes(self, data: bytes) -> None:
        """Restore a state that `state_bytes` returned.

        Raises: ValueRangeError for bytes that are not such a state, ArgumentTypeError for other types; AcceleratorError
                in a capture.
        Example:
            >>> generator = torch.Generator().manual_seed(3)
            >>> saved = generator.state_bytes()
            >>> first = torch.rand(2, generator=generator)
            >>> generator.set_state_bytes(saved)
            >>> torch.equal(first, torch.rand(2, generator=generator))
            True
        """
        if not isinstance(data, bytes):
            raise ArgumentTypeError(
                f"the state must be bytes, got {shown(data)}",
                hint="pass the result of state_bytes()",
                operator="set_state_bytes",
            )
        set_states("set_state", [self], [data])

    def get_state(self) -> Any:
        """Return the state as a tensor on the CPU: PyTorch's 5056 bytes, or 16 bytes (seed and offset) on CUDA devices.

        Shapes: [5056] or [16], of type uint8.
        Raises: AcceleratorError in a capture.
        Example:
            >>> state = torch.Generator("cuda").get_state()
            >>> state.shape, state.dtype
            (torch.Size([16]), torch.uint8)
        """
        return Tensors.of_bytes(self.state_bytes())

    def set_state(self, new_state: Any) -> Generator:
        """Restore a state that `get_state` returned, and return this generator.

        Shapes: [5056] for a CPU generator, [16] for a CUDA one.
        Raises: ArgumentTypeError unless it is a tensor of uint8, ValueRangeError if it is not such a state;
                AcceleratorError in a capture.
        Example:
            >>> generator = torch.Generator().manual_seed(3)
            >>> saved = generator.get_state()
            >>> first = torch.rand(2, generator=generator)
            >>> torch.equal(first, torch.rand(2, generator=generator.set_state(saved)))
            True
        """
        self.set_state_bytes(Tensors.to_bytes("set_state", new_state))
        return self

    def graphsafe_get_state(self) -> Generator:
        """Return a generator that shares this one's state: each draw from one advances both.

        Example:
            >>> generator = torch.Generator("cuda").manual_seed(0)
            >>> shared = generator.graphsafe_get_state()
            >>> _ = torch.rand(1, device="cuda", generator=generator)
            >>> shared.get_offset()
            4
        """
        return self._of(self.random_state)

    def graphsafe_set_state(self, state: Generator) -> Generator:
        """Share the state of the generator `state` from now on, and return this generator; it is allowed in a capture.

        Raises: ArgumentTypeError if `state` is not a generator; DeviceMismatchError if it is of another device.
        Example:
            >>> first, second = torch.Generator("cuda").manual_seed(1), torch.Generator("cuda")
            >>> second.graphsafe_set_state(first).initial_seed()
            1
        """
        check_generator("graphsafe_set_state", state)
        if self.device_index != state.device_index:
            raise DeviceMismatchError(
                f"the generator is of {self.device}, the state of {state.device}",
                hint="use the state of a generator on this device",
                operator="graphsafe_set_state",
            )
        self.random_state = state.random_state
        return self

    def clone_state(self) -> Generator:
        """Return a new generator whose state is a copy of this one's.

        Example:
            >>> generator = torch.Generator().manual_seed(3)
            >>> copied = generator.clone_state()
            >>> torch.equal(torch.rand(2, generator=generator), torch.rand(2, generator=copied))
            True
        """
        return self._of(self.random_state.copy())

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.device, self.state_bytes())

    def _of(self, state: State) -> Generator:
        return _made(self.device_index, state)


def _state_of(index: int, seed: int) -> State:
    return TwisterState(seed) if index == devices.CPU_INDEX else State(seed)


def _restored(device: devices.device, data: bytes) -> Generator:
    """Return a generator in a state that another one has had; for copies and pickles."""
    generator = Generator(device)
    generator.set_state_bytes(data)
    return generator


def _made(index: int, state: State) -> Generator:
    generator = object.__new__(Generator)
    generator.device_index, generator.random_state = index, state
    return generator


def new_default(index: int) -> Generator:
    """Create the default generator of a device (CPU_INDEX or a CUDA index), with a random seed."""
    return _made(index, _state_of(index, _drawn_seed()))


def default_generator(index: int) -> Generator:
    """Return the default generator of a device."""
    machine = thread.machine()
    return machine.cpu_generator if index == devices.CPU_INDEX else machine.devices[index].generator


def cuda_generators() -> tuple[Generator, ...]:
    """Return the default generators of all CUDA devices; empty until CUDA has started."""
    return tuple(accelerator.generator for accelerator in thread.machine().devices)


def check_generator(name: str, value: object) -> None:
    """Raise ArgumentTypeError unless a value is a generator."""
    if not isinstance(value, Generator):
        raise ArgumentTypeError(
            f"{shown(value)} is not a Generator", hint="make one: torch.Generator(device)", operator=name
        )


def _as_seed(name: str, value: Any) -> int:
    """Convert a value to a seed.  Raises ArgumentTypeError or ValueRangeError."""
    try:
        seed = int(value)
    except (TypeError, ValueError, OverflowError) as failure:
        error_class = ArgumentTypeError if isinstance(failure, TypeError) else ValueRangeError
        raise error_class(f"{name}: {value!r} is not a seed", hint="give an integer") from failure
    if not -(1 << 63) <= seed < 1 << 64:
        raise ValueRangeError(
            f"{seed} does not fit in 64 bits", hint="use a number from -2**63 to 2**64 - 1", operator=name
        )
    return seed % (1 << 64)


@whole
def _seed(name: str, generators: Sequence[Generator], seed: int) -> None:
    """Reseed all generators, or none if one fails.  A generator in a capture keeps its seed, which must be equal."""
    for generator in generators:
        if seed != generator.random_state.seed:
            generator._check_not_captured(name)
    for generator in generators:
        if not generator._is_captured():
            generator.random_state.reseed(seed)


@whole
def set_states(name: str, generators: Sequence[Generator], states: Sequence[bytes]) -> None:
    """Restore states from `state_bytes` in all generators, or in none if one fails.

    Raises: ArgumentError for malformed bytes; AcceleratorError in a capture.
    """
    for generator, data in zip(generators, states):
        generator.random_state.check(name, data)
        generator._check_not_captured(name)
    for generator, data in zip(generators, states):
        generator.random_state.read(data)


def manual_seed_all(seed: Any) -> None:
    """Seed every CUDA device's generator, now, or when CUDA is initialized.

    Raises: the errors of `Generator.manual_seed`.
    Example:
        >>> torch.cuda.manual_seed_all(7)
        >>> first = torch.rand(2, device="cuda:1")
        >>> torch.cuda.manual_seed_all(7)
        >>> torch.equal(first, torch.rand(2, device="cuda:1"))
        True
    """
    _seed_devices("manual_seed_all", _as_seed("manual_seed_all", seed))


def _seed_devices(name: str, seed: int) -> None:
    machine = thread.machine()
    machine.at_start(lambda: _seed(name, [accelerator.generator for accelerator in machine.devices], seed))


@whole
def manual_seed(seed: Any) -> Generator:
    """Seed the generators of the CPU and of every CUDA device; return the CPU's generator.

    seed: a 64-bit integer; a negative one is read as two's complement.
    Raises: ValueRangeError if the seed is not a number or needs more than 64 bits, ArgumentTypeError for other types.
    Example:
        >>> _ = torch.manual_seed(7)
        >>> first = torch.rand(2)
        >>> _ = torch.manual_seed(7)
        >>> torch.equal(first, torch.rand(2))
        True
    """
    chosen = _as_seed("manual_seed", seed)
    _seed_devices("manual_seed", chosen)
    return default_generator(devices.CPU_INDEX).manual_seed(chosen)


def cuda_generator(device: object = None) -> Generator:
    """Return the default generator of a CUDA device.  None is the current device."""
    return default_generator(devices.cuda_index(device))


def seed_current(seed: Any) -> None:
    """Seed the current CUDA device's generator, now, or when CUDA is initialized.

    Raises: the errors of `Generator.manual_seed`.
    Example:
        >>> torch.cuda.manual_seed(7)
        >>> first = torch.rand(2, device="cuda")
        >>> torch.cuda.manual_seed(7)
        >>> torch.equal(first, torch.rand(2, device="cuda"))
        True
    """
    chosen = _as_seed("manual_seed", seed)
    machine = thread.machine()
    machine.at_start(lambda: machine.devices[thread.current_device()].generator.manual_seed(chosen))


def seed() -> int:
    """Seed the CPU's generator and every CUDA device's from one random seed; return the seed.

    Raises: AcceleratorError during the capture of a CUDA graph.
    Example:
        >>> torch.seed() == torch.initial_seed()
        True
    """
    chosen = _drawn_seed()
    manual_seed(chosen)
    return chosen


def seed_current_randomly() -> None:
    """Seed the current CUDA device's generator from a random seed, now, or when CUDA is initialized.

    Raises: AcceleratorError in a capture.
    Example:
        >>> torch.cuda.manual_seed(7)
        >>> torch.cuda.seed()
        >>> torch.cuda.initial_seed() == 7
        False
    """
    seed_current(_drawn_seed())


def seed_all() -> None:
    """Seed every CUDA device's generator from one random seed, now, or when CUDA is initialized.

    Raises: AcceleratorError in a capture.
    Example:
        >>> torch.cuda.manual_seed_all(7)
        >>> torch.cuda.seed_all()
        >>> torch.cuda.initial_seed() == 7
        False
    """
    manual_seed_all(_drawn_seed())


def initial_seed() -> int:
    """Return the seed of the CPU's generator.

    Example:
        >>> _ = torch.manual_seed(7)
        >>> torch.initial_seed()
        7
    """
    return default_generator(devices.CPU_INDEX).initial_seed()


def cuda_initial_seed() -> int:
    """Return the seed of the current CUDA device's generator.

    Raises: NoDeviceError if there is no GPU.
    Example:
        >>> torch.cuda.manual_seed(7)
        >>> torch.cuda.initial_seed()
        7
    """
    return cuda_generator().initial_seed()
