"""Random state as tensors: what torch.get_rng_state and its kin give."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ..core import thread
from ..core.tensor import TensorBase
from ..dtypes import uint8
from ..errors import ArgumentTypeError, DeviceNameError, naming, shown
from ..host import np
from ..runtime.device import CPU_INDEX, cuda_index
from ..runtime.generator import Tensors, default_generator, set_states
from . import checks
from .factories import from_array

_warned: weakref.WeakSet[Any] = weakref.WeakSet()  # machines whose fork_rng has told of their several devices


def _of_bytes(data: bytes) -> Any:
    return from_array(np.frombuffer(data, np.uint8).copy())


def _to_bytes(name: str, value: Any) -> bytes:
    """What a tensor of bytes holds.  Raises ArgumentTypeError if it is none; `name` is the operation."""
    if not isinstance(value, TensorBase) or value.dtype is not uint8:
        given = f"one of {value.dtype}" if isinstance(value, TensorBase) else shown(value)
        raise ArgumentTypeError(
            f"a state is a tensor of uint8, got {given}",
            hint="give what get_state or get_rng_state returned",
            operator=name,
        )
    return bytes(value.cpu().reshape(-1).tolist())  # type: ignore[attr-defined]  # every tensor is a Tensor


Tensors.of_bytes = _of_bytes
Tensors.to_bytes = _to_bytes


def get_rng_state(device: Any = None) -> Any:
    """The state of a CUDA device's generator (None: of the CPU's), a uint8 tensor of 16 bytes on the CPU.

    Example:
        >>> state = torch.get_rng_state()
        >>> first = torch.rand(2)
        >>> torch.set_rng_state(state)
        >>> torch.equal(first, torch.rand(2))
        True
    """
    return _generator_of("get_rng_state", device).get_state()


def _generator_of(name: str, device: Any) -> Any:
    with naming(name):
        return default_generator(CPU_INDEX if device is None else cuda_index(device))


def set_rng_state(new_state: Any, device: Any = None) -> None:
    """Restore what get_rng_state gave.

    Raises: ArgumentError for another size, ArgumentTypeError for another type.
    Example:
        >>> state = torch.get_rng_state()
        >>> first = torch.rand(2)
        >>> torch.set_rng_state(state)
        >>> torch.equal(first, torch.rand(2))
        True
    """
    generator = _generator_of("set_rng_state", device)
    set_states("set_rng_state", [generator], [_to_bytes("set_rng_state", new_state)])


def cuda_get_rng_state(device: Any = "cuda") -> Any:
    """As get_rng_state, of the current CUDA device if none is named.

    Example:
        >>> state = torch.cuda.get_rng_state()
        >>> first = torch.rand(2, device="cuda")
        >>> torch.cuda.set_rng_state(state)
        >>> torch.equal(first, torch.rand(2, device="cuda"))
        True
    """
    return get_rng_state(device)


def cuda_set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """As set_rng_state, of the current CUDA device if none is named.

    Example:
        >>> state = torch.cuda.get_rng_state()
        >>> first = torch.rand(2, device="cuda")
        >>> torch.cuda.set_rng_state(state)
        >>> torch.equal(first, torch.rand(2, device="cuda"))
        True
    """
    set_rng_state(new_state, device)


def get_rng_state_all() -> list[Any]:
    """The states of all CUDA devices' generators.

    Example:
        >>> [state.numel() for state in torch.cuda.get_rng_state_all()]
        [16, 16]
    """
    thread.machine().start()
    return [each.generator.get_state() for each in thread.machine().devices]


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Restore what get_rng_state_all gave, on every device or on none.

    Raises: what set_rng_state does; DeviceIndexError for more states than devices.
    Example:
        >>> states = torch.cuda.get_rng_state_all()
        >>> first = torch.rand(2, device="cuda:1")
        >>> torch.cuda.set_rng_state_all(states)
        >>> torch.equal(first, torch.rand(2, device="cuda:1"))
        True
    """
    given = checks.listed("set_rng_state_all", "new_states", "states", new_states)
    data = [_to_bytes("set_rng_state_all", each) for each in given]
    generators = [_generator_of("set_rng_state_all", index) for index in range(len(data))]
    set_states("set_rng_state_all", generators, data)


@contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str | None = None,
) -> Iterator[None]:
    """Restore, on exit, the state of the CPU's generator and of CUDA devices'.

    devices: those that are restored; None for every one, with a warning, the first time, if there are several.
    _caller, _devices_kw: the names of the operation and of `devices` in texts.
    Raises: DeviceNameError for another device_type than "cuda" or None.
    Example:
        >>> _ = torch.manual_seed(0)
        >>> with torch.fork_rng(devices=[]):
        ...     inside = torch.rand(2)
        >>> torch.equal(inside, torch.rand(2))
        True
    """
    if device_type not in (None, "cuda"):
        raise DeviceNameError(
            f"there are no devices of type {device_type!r}", hint='use "cuda" or None', operator="fork_rng"
        )
    if not enabled:
        yield
        return
    chosen = _every_device(_caller, _devices_kw) if devices is None else _chosen(_caller, _devices_kw, devices)
    generators = [default_generator(index) for index in (CPU_INDEX, *chosen)]
    saved = [each.state_bytes() for each in generators]
    try:
        yield
    finally:
        set_states("set_state", generators, saved)


def _chosen(name: str, what: str, devices: Any) -> list[int]:
    with naming(name):
        return [cuda_index(each) for each in checks.listed(name, what, "devices", devices)]


def _every_device(name: str, what: str) -> list[int]:
    machine = thread.machine()
    count = machine.device_count()
    if count > 1 and machine not in _warned:
        _warned.add(machine)
        warnings.warn(
            f"{name}: CUDA reports that there are {count} devices, and all of them are meant because none is named; "
            f"name them to silence this: {what}=range({count})",
            stacklevel=4,
        )
    return [cuda_index(each) for each in range(count)]
