"""Random state as tensors: what torch.get_rng_state and its kin give."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..errors import ArgumentError
from ..host import np
from ..runtime import state
from ..runtime.device import CPU_INDEX, cuda_index
from ..runtime.generator import Tensors, default_generator
from .factories import from_array


def _of_bytes(data: bytes) -> Any:
    return from_array(np.frombuffer(data, np.uint8).copy())


Tensors.of_bytes = _of_bytes


def get_rng_state(device: Any = None) -> Any:
    """The state of a CUDA device's generator (None: of the CPU's), a uint8 tensor of 16 bytes on the CPU."""
    return default_generator(CPU_INDEX if device is None else cuda_index(device)).get_state()


def set_rng_state(new_state: Any, device: Any = None) -> None:
    """Restore what get_rng_state gave.  Raises ArgumentError for another size."""
    index = CPU_INDEX if device is None else cuda_index(device)
    default_generator(index).set_state(new_state)


def cuda_get_rng_state(device: Any = "cuda") -> Any:
    """As get_rng_state, of the current CUDA device if none is named."""
    return get_rng_state(device)


def cuda_set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """As set_rng_state, of the current CUDA device if none is named."""
    set_rng_state(new_state, device)


def get_rng_state_all() -> list[Any]:
    """The states of all CUDA devices' generators."""
    state.machine().start()
    return [each.generator.get_state() for each in state.machine().devices]


def set_rng_state_all(new_states: Sequence[Any]) -> None:
    """Restore what get_rng_state_all gave."""
    for index, each in enumerate(new_states):
        set_rng_state(each, index)


@contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None, enabled: bool = True, device_type: str | None = None
) -> Iterator[None]:
    """Restore, on exit, the state of the CPU's generator and of CUDA devices'.

    devices: those that are restored; None for every one, with a warning if there are several.
    Raises: ArgumentError for another device_type than "cuda" or None.
    """
    if device_type not in (None, "cuda"):
        raise ArgumentError(f"fork_rng: there are no devices of type {device_type!r}", hint='use "cuda" or None')
    if not enabled:
        yield
        return
    chosen = _every_device() if devices is None else [cuda_index(each) for each in devices]
    generators = [default_generator(index) for index in (CPU_INDEX, *chosen)]
    saved = [each.state_bytes() for each in generators]
    try:
        yield
    finally:
        for generator, data in zip(generators, saved):
            generator.set_state_bytes(data)


def _every_device() -> list[int]:
    count = state.machine().device_count()
    if count > 1:
        warnings.warn(
            f"fork_rng: CUDA reports that there are {count} devices, and all of them are meant because none is named; "
            f"name them to silence this: devices=range({count})",
            stacklevel=4,
        )
    return [cuda_index(each) for each in range(count)]
