"""Random number generators: a seed and a Philox counter.

Values come from Philox4x32-10 (J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).  Element i of
a call reads counter `first + i // 4`, word i % 4, so its bits do not depend on the device or on how work is spread.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from typing import Any

from ..errors import AcceleratorError, ArgumentError, DeviceMismatchError
from . import device as devices
from . import state

DEFAULT_SEED = 67280421310721
STATE_BYTES = 16
CAPTURE_UNSUPPORTED = 900  # CUresult


class State:
    """A seed, and how many counters were taken.  Generators may share one."""

    __slots__ = ("_lock", "counter", "seed")

    def __init__(self, seed: int, counter: int = 0) -> None:
        self.seed = seed
        self.counter = counter
        self._lock = threading.Lock()

    def reserve(self, count: int) -> tuple[int, int, int]:
        """Take `count` counters: (0, the seed, the first of them)."""
        with self._lock:
            first = self.counter
            self.counter += count
        return 0, self.seed, first

    def set(self, seed: int, counter: int) -> None:
        with self._lock:
            self.seed, self.counter = seed, counter


class Tensors:
    """What makes a tensor of bytes; the tensor layer registers itself here."""

    of_bytes: Callable[[bytes], Any]


class Generator:
    """A source of random numbers for one device.

    A generator made by hand starts from a fixed seed; the default ones start from a random seed.
    """

    def __init__(self, device: Any = "cpu") -> None:
        if isinstance(device, int):  # a default generator, made by the machine
            self.device_index = device
            self.random_state = State(secrets.randbits(63))
        else:
            self.device_index = devices.resolve(device)
            self.random_state = State(DEFAULT_SEED)

    @property
    def device(self) -> devices.device:
        return devices.CPU if self.device_index == devices.CPU_INDEX else devices.cuda(self.device_index)

    def reserve(self, count: int) -> tuple[int, int, int]:
        """Take `count` counters: (address of the state that says more, or 0; seed; the first of them).

        While the device's current stream is capturing, the seed and where to start are what each replay puts into the
        state, so that replays go on where calls would.
        """
        capture = state.machine().capture
        if capture is not None and capture.covers(self.device_index):
            return capture.draw(self, count)  # type: ignore[no-any-return]
        return self.random_state.reserve(count)

    def _is_captured(self) -> bool:
        """Whether the device's current stream is capturing."""
        capture = state.machine().capture
        return capture is not None and capture.covers(self.device_index)

    def _check_not_captured(self, name: str) -> None:
        """Raises AcceleratorError while the device's current stream is capturing: a replay would not do it."""
        if self._is_captured():
            raise AcceleratorError(
                f"{name}: the state of the generator of {self.device} is neither read nor set in a capture",
                hint="do it before the capture; replays go on from the state at that time",
                error_code=CAPTURE_UNSUPPORTED,
            )

    def manual_seed(self, seed: int) -> Generator:
        """Start over from `seed`, an integer of 64 bits (negative ones count as two's complement).

        Raises: ArgumentError for another one; AcceleratorError in a capture, unless it is the seed that there is.
        """
        if not -(1 << 63) <= seed < 1 << 64:
            raise ArgumentError(f"manual_seed: {seed} does not fit in 64 bits")
        if self._is_captured():
            if seed % (1 << 64) != self.random_state.seed:
                self._check_not_captured("manual_seed")
            return self
        self.random_state.set(seed % (1 << 64), 0)
        return self

    def seed(self) -> int:
        """Start over from a random seed, and return it."""
        self.manual_seed(secrets.randbits(63))
        return self.random_state.seed

    def initial_seed(self) -> int:
        return self.random_state.seed

    def get_offset(self) -> int:
        """How far the generator has come, in random words: four per counter."""
        self._check_not_captured("get_offset")
        return 4 * self.random_state.counter

    def set_offset(self, offset: int) -> None:
        if offset % 4 or offset < 0:
            raise ArgumentError(f"set_offset: {offset} is not a multiple of 4 that is not negative")
        self._check_not_captured("set_offset")
        self.random_state.set(self.random_state.seed, offset // 4)

    def state_bytes(self) -> bytes:
        """Seed and offset, 8 bytes each, little-endian."""
        return self.random_state.seed.to_bytes(8, "little") + self.get_offset().to_bytes(8, "little")

    def set_state_bytes(self, data: bytes) -> None:
        """Restore what `state_bytes` gave; 8 bytes are a seed with offset 0.  Raises ArgumentError for another size."""
        if len(data) not in (8, STATE_BYTES):
            raise ArgumentError(f"set_rng_state: a state has {STATE_BYTES} bytes, got {len(data)}")
        self._check_not_captured("set_state")
        offset = int.from_bytes(data[8:], "little")
        if offset % 4:
            raise ArgumentError(f"set_rng_state: the offset {offset} is not a multiple of 4")
        self.random_state.set(int.from_bytes(data[:8], "little"), offset // 4)

    def get_state(self) -> Any:
        """The state, a uint8 tensor of 16 bytes on the CPU: seed and offset."""
        return Tensors.of_bytes(self.state_bytes())

    def set_state(self, new_state: Any) -> None:
        """Restore what get_state gave.  Raises ArgumentError for another size."""
        self.set_state_bytes(bytes(new_state.cpu().tolist()))

    def graphsafe_get_state(self) -> Generator:
        """A generator of the same state: what one draws, the other does not draw again."""
        return self._of(self.random_state)

    def graphsafe_set_state(self, state: Generator) -> Generator:
        """Go on with the state of another generator, which both have from now on; also in a capture."""
        if self.device_index != state.device_index:
            raise DeviceMismatchError(
                f"graphsafe_set_state: the generator is of {self.device}, the state of {state.device}"
            )
        self.random_state = state.random_state
        return self

    def clone_state(self) -> Generator:
        """A generator of its own state, which is what this one's is now."""
        return self._of(State(self.random_state.seed, self.random_state.counter))

    def _of(self, state: State) -> Generator:
        made = Generator(self.device_index)
        made.random_state = state
        return made


def default_generator(index: int) -> Generator:
    """The generator that calls on a device use when none is given."""
    machine = state.machine()
    return machine.cpu_generator if index == devices.CPU_INDEX else machine.devices[index].generator


def manual_seed_all(seed: int) -> None:
    """Seed every CUDA device's generator, now or when the machine starts."""
    machine = state.machine()
    machine.at_start(lambda: [each.generator.manual_seed(seed) for each in machine.devices] and None)


def manual_seed(seed: int) -> Generator:
    """Seed the CPU's generator and every CUDA device's; the CPU's generator."""
    manual_seed_all(seed)
    return default_generator(devices.CPU_INDEX).manual_seed(seed)


def cuda_generator(device: object = None) -> Generator:
    """The default generator of a CUDA device, the current one if none is named."""
    return default_generator(devices.cuda_index(device))


def seed_current(seed: int) -> None:
    """Seed the current CUDA device's generator, now or when the machine starts."""
    machine = state.machine()
    machine.at_start(lambda: machine.devices[state.current_device()].generator.manual_seed(seed) and None)


def seed() -> int:
    """Seed the CPU's generator and every CUDA device's from one random seed; the seed."""
    chosen = secrets.randbits(63)
    manual_seed(chosen)
    return chosen


def seed_current_randomly() -> None:
    """Seed the current CUDA device's generator from a random seed, now or when the machine starts."""
    seed_current(secrets.randbits(63))


def seed_all() -> None:
    """Seed every CUDA device's generator from one random seed, now or when the machine starts."""
    manual_seed_all(secrets.randbits(63))


def initial_seed() -> int:
    """The seed of the CPU's generator."""
    return default_generator(devices.CPU_INDEX).initial_seed()


def cuda_initial_seed() -> int:
    """The seed of the current CUDA device's generator."""
    return cuda_generator().initial_seed()
