"""Random state as tensors: what torch.get_rng_state and its kin give."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ..core import thread
from ..core.factories import run_into, unset
from ..core.tensor import TensorBase
from ..dtypes import dtype, int64, uint8
from ..errors import ArgumentTypeError, DeviceNameError, ValueRangeError, naming, shown
from ..host import np
from ..runtime.device import CPU_INDEX, cuda_index
from ..runtime.generator import Tensors, default_generator, set_states
from . import checks
from .factories import as_leaf, from_array, into

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


def rand(
    *sizes: Any,
    size: Any = None,
    generator: Any = None,
    out: Any = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Random numbers, uniform in [0, 1).

    Host: returns at once.
    Example:
        >>> x = torch.rand(1000)
        >>> x.min() >= 0, x.max() < 1
        (tensor(True), tensor(True))
    """
    if out is not None or layout is not None:
        options = (dtype, device, requires_grad, pin_memory)
        return into(rand, out, layout, options, *sizes, size=size, generator=generator)
    if size is not None:
        sizes = checks.named("rand", sizes, size)
    made = run_into("uniform", "rand", unset("rand", sizes, dtype, device, pin_memory), 0.0, 1.0, generator=generator)
    return made if requires_grad is False else as_leaf("rand", made, requires_grad)


def randn(
    *sizes: Any,
    size: Any = None,
    generator: Any = None,
    out: Any = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Random numbers of the standard normal distribution.

    Host: returns at once.
    Example:
        >>> x = torch.randn(10000)
        >>> round(x.mean().item(), 1) == 0, round(x.std().item(), 1)
        (True, 1.0)
    """
    if out is not None or layout is not None:
        options = (dtype, device, requires_grad, pin_memory)
        return into(randn, out, layout, options, *sizes, size=size, generator=generator)
    if size is not None:
        sizes = checks.named("randn", sizes, size)
    made = run_into("normal", "randn", unset("randn", sizes, dtype, device, pin_memory), 0.0, 1.0, generator=generator)
    return made if requires_grad is False else as_leaf("randn", made, requires_grad)


def randint(
    *bounds_and_size: Any,
    low: Any = None,
    high: Any = None,
    size: Any = None,
    generator: Any = None,
    out: Any = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Random integers: randint(high, size) in [0, high), randint(low, high, size) in [low, high); int64 by default.

    Host:   returns at once.
    Raises: ValueRangeError if there is no such integer, ArgumentTypeError.
    Example:
        >>> x = torch.randint(1, 7, (1000,))
        >>> x.min(), x.max()
        (tensor(1), tensor(6))
    """
    if out is not None or layout is not None:
        options = (dtype, device, requires_grad, pin_memory)
        return into(randint, out, layout, options, *bounds_and_size, low=low, high=high, size=size, generator=generator)
    if low is not None and (high is None or bounds_and_size):
        given = ", ".join([*map(shown, bounds_and_size), f"low={shown(low)}", f"high={shown(high)}"])
        raise ArgumentTypeError(f"low comes with high: {given}", hint="name both, or neither", operator="randint")
    bounds_and_size += tuple([each for each in (low, high, size) if each is not None])
    if len(bounds_and_size) not in (2, 3):
        raise ArgumentTypeError(
            f"takes (high, size) or (low, high, size), got {len(bounds_and_size)} arguments: "
            f"{', '.join(map(shown, bounds_and_size))}",
            hint="as in randint(10, (2, 3))",
            operator="randint",
        )
    *bounds, size = bounds_and_size
    low, high = bounds if len(bounds) == 2 else (0, bounds[0])
    if type(low) is not int or type(high) is not int:
        checks.integer("randint", "low", low)
        checks.integer("randint", "high", high)
    if low >= high:
        raise ValueRangeError(
            f"expects low to be less than high, got low={low} >= high={high}",
            hint="high itself is never drawn",
            operator="randint",
        )
    if type(size) is int:
        checks.sizes("randint", size)
    made = unset("randint", (size,), dtype or int64, device, pin_memory)
    made = run_into("random", "randint", made, low, high, generator=generator)
    return made if requires_grad is False else as_leaf("randint", made, requires_grad)


def randperm(
    n: int,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """The integers from 0 to n - 1 in a random order, int64 by default.

    Host:   returns at once.
    Raises: ArgumentTypeError or ValueRangeError for an n that is no number of integers, ArgumentError if the type does
            not hold n - 1.
    Example:
        >>> torch.randperm(5).sort().values
        tensor([0, 1, 2, 3, 4])
    """
    if out is not None or layout is not None:
        options = (dtype, device, requires_grad, pin_memory)
        return into(randperm, out, layout, options, n, generator=generator)
    if type(n) is not int or n < 0:
        checks.count("randperm", "n", n)
    made = unset("randperm", (n,), dtype or int64, device, pin_memory)
    made = run_into("randperm", "randperm", made, generator=generator)
    return made if requires_grad is False else as_leaf("randperm", made, requires_grad)
