"""Random state as tensors: what torch.get_rng_state and its kin give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..host import np
from ..runtime import device as devices
from ..runtime import state
from ..runtime.generator import Generator, default_generator
from .factories import from_array


def _state(generator: Generator) -> Any:
    return from_array(np.frombuffer(generator.state_bytes(), np.uint8).copy())


def get_rng_state(device: Any = None) -> Any:
    """The state of a CUDA device's generator (None: of the CPU's), a uint8 tensor of 16 bytes on the CPU."""
    return _state(default_generator(devices.CPU_INDEX if device is None else devices.cuda_index(device)))


def set_rng_state(new_state: Any, device: Any = None) -> None:
    """Restore what get_rng_state gave.  Raises ArgumentError for another size."""
    index = devices.CPU_INDEX if device is None else devices.cuda_index(device)
    default_generator(index).set_state_bytes(bytes(new_state.cpu().tolist()))


def cuda_get_rng_state(device: Any = "cuda") -> Any:
    """As get_rng_state, of the current CUDA device if none is named."""
    return get_rng_state(device)


def cuda_set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """As set_rng_state, of the current CUDA device if none is named."""
    set_rng_state(new_state, device)


def get_rng_state_all() -> list[Any]:
    """The states of all CUDA devices' generators."""
    state.machine().start()
    return [_state(each.generator) for each in state.machine().devices]


def set_rng_state_all(new_states: Sequence[Any]) -> None:
    """Restore what get_rng_state_all gave."""
    for index, each in enumerate(new_states):
        set_rng_state(each, index)


@contextmanager
def fork_rng(enabled: bool = True) -> Iterator[None]:
    """Restore, on exit, the state of the CPU's generator and of every CUDA device's."""
    generators = [default_generator(devices.CPU_INDEX), *(each.generator for each in state.machine().devices)]
    saved = [each.state_bytes() for each in generators]
    try:
        yield
    finally:
        for generator, data in zip(generators, saved):
            if enabled:
                generator.set_state_bytes(data)
