"""Random numbers in graphs.

A captured draw counts from a state in device memory, {seed, first counter} of its generator.  A replay reserves what
the whole graph draws and queues a kernel that writes the state: so replays and calls draw one sequence.
"""

from __future__ import annotations

from typing import Any

from .. import host
from ..core import storage
from ..dtypes import int64
from ..errors import ArgumentError
from ..kernel import Grid, Kernel, Pointer, Scalar
from .generator import Generator, State, check_generator
from .stream import Stream

STATE_BYTES = 16  # {seed, first counter} of one generator
MAX_GENERATORS = 32  # per graph
ONE_THREAD = Grid((1, 1, 1), 1)


def _set_state(out: Any, seed: int, first: int) -> None:
    out[...] = host.numpy().array([seed, first], "uint64").view("int64")


SET_STATE = Kernel(
    "set_random_state",
    """
extern "C" __global__ void set_random_state(long long* out, unsigned long long seed, unsigned long long first) {
  out[0] = seed;
  out[1] = first;
}
""",
    [Pointer("out", int64, "w", (2,)), Scalar("seed", "uint64"), Scalar("first", "uint64")],
    _set_state,
)


class RandomStates:
    """The states of the generators that one graph draws from."""

    def __init__(self) -> None:
        self._memory: storage.Storage | None = None
        self._draws: dict[State, int] = {}  # counters drawn by one replay; a state's place is its number here

    def allocate(self, stream: Stream) -> None:
        """Take the memory, for good: replays on any stream follow the taking.  Host: waits for `stream`."""
        nbytes = STATE_BYTES * MAX_GENERATORS
        self._memory = storage.on_device(stream.machine.devices[stream.device_index], nbytes, stream.handle)
        stream.synchronize()

    def register(self, generator: Generator) -> None:
        """Let the graph draw from a generator.  Raises: ArgumentError if there are too many, ArgumentTypeError."""
        check_generator("register_generator_state", generator)
        if generator.random_state not in self._draws and len(self._draws) == MAX_GENERATORS:
            raise ArgumentError(
                f"{MAX_GENERATORS} generators are drawn from, and no more can be",
                hint="draw from fewer generators in one graph",
                operator="CUDAGraph",
            )
        self._draws.setdefault(generator.random_state, 0)

    def draw(self, generator: Generator, count: int) -> tuple[int, int, int]:
        """Draw `count` counters in each replay: (address of the generator's state, 0, place of the first)."""
        self.register(generator)
        state = generator.random_state
        first = self._draws[state]
        self._draws[state] = first + count
        return self._address(list(self._draws).index(state)), 0, first

    def _address(self, place: int) -> int:
        assert self._memory is not None
        return self._memory.address() + STATE_BYTES * place

    def write(self, stream: Stream, last: Stream | None) -> None:
        """Reserve what a replay on `stream` draws, and queue the writing of the states.  last: of the last replay."""
        if not any(self._draws.values()):
            return
        assert self._memory is not None
        if last is not None and last != stream:
            stream.wait_stream(last)
        self._memory.record_stream(stream)
        kernel = stream.machine.devices[stream.device_index].kernel(SET_STATE)
        for place, (state, count) in enumerate(self._draws.items()):
            _, seed, first = state.reserve(count)
            stream.launch(kernel, ONE_THREAD, SET_STATE.pack([self._address(place), seed, first]))
