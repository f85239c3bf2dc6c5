"""Random factories, and the random state as tensors: torch.rand, torch.get_rng_state and related functions."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ..autograd.mode import GradMode
from ..core import thread
from ..core.call import run_into
from ..core.factories import unset
from ..core.tensor import TensorBase
from ..dtypes import dtype, int64, uint8
from ..errors import ArgumentTypeError, DeviceNameError, ValueRangeError, naming, shown
from ..host import np
from ..ops.philox import is_portable
from ..runtime.device import CPU_INDEX, cuda_index
from ..runtime.generator import Tensors, default_generator, set_states
from ..strides import broadcast
from . import checks
from .factories import as_leaf, check_out, from_array, into

_warned: weakref.WeakSet[Any] = weakref.WeakSet()  # machines on which fork_rng has warned about several devices


def _of_bytes(data: bytes) -> Any:
    return from_array(np.frombuffer(data, np.uint8).copy())


def _to_bytes(name: str, value: Any) -> bytes:
    """Return the bytes of a uint8 tensor.  Raises ArgumentTypeError for anything else; `name` is the operation."""
    if not isinstance(value, TensorBase) or value.dtype is not uint8:
        found = f"one of {value.dtype}" if isinstance(value, TensorBase) else shown(value)
        raise ArgumentTypeError(
            f"a state is a tensor of uint8, got {found}",
            hint="pass a result of get_state or get_rng_state",
            operator=name,
        )
    state: Any = value
    return bytes(state.cpu().reshape(-1).tolist())


Tensors.of_bytes = _of_bytes
Tensors.to_bytes = _to_bytes


def get_rng_state(device: Any = None) -> Any:
    """Return the state of a device's default random number generator, as a uint8 tensor on the CPU.

    device: a CUDA device; None is the CPU.
    Shapes: [5056] for the CPU, [16] for a CUDA device.
    Raises: DeviceNameError or DeviceIndexError for a device that does not exist.
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
    """Set the state of the CPU's or a CUDA device's generator to one that `get_rng_state` returned.

    device: None for the CPU.
    Raises: ArgumentError for a state of another size, ArgumentTypeError for anything but a uint8 tensor.
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
    """Return the state of a CUDA device's generator, as a uint8 tensor of 16 elements on the CPU.

    device: an index or a device; the current CUDA device by default.
    Raises: DeviceIndexError for a device that does not exist, ArgumentError for one that is not a GPU.
    Example:
        >>> state = torch.cuda.get_rng_state()
        >>> first = torch.rand(2, device="cuda")
        >>> torch.cuda.set_rng_state(state)
        >>> torch.equal(first, torch.rand(2, device="cuda"))
        True
    """
    return get_rng_state(device)


def cuda_set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Set the state of a CUDA device's generator.

    new_state: a result of `get_rng_state`.  device: an index or a device; the current CUDA device by default.
    Raises: ArgumentTypeError if the state is not a tensor of uint8, DeviceIndexError for a device that does not exist.
    Example:
        >>> state = torch.cuda.get_rng_state()
        >>> first = torch.rand(2, device="cuda")
        >>> torch.cuda.set_rng_state(state)
        >>> torch.equal(first, torch.rand(2, device="cuda"))
        True
    """
    set_rng_state(new_state, device)


def get_rng_state_all() -> list[Any]:
    """Return the states of all CUDA devices' generators.

    Shapes: [16] for each device, of type uint8.
    Example:
        >>> [state.numel() for state in torch.cuda.get_rng_state_all()]
        [16, 16]
    """
    thread.machine().start()
    return [device.generator.get_state() for device in thread.machine().devices]


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Set the states of the CUDA devices' generators to those that `get_rng_state_all` returned.

    If one of the states is invalid, no generator is changed.
    Raises: the errors of set_rng_state; DeviceIndexError for more states than devices.
    Example:
        >>> states = torch.cuda.get_rng_state_all()
        >>> first = torch.rand(2, device="cuda:1")
        >>> torch.cuda.set_rng_state_all(states)
        >>> torch.equal(first, torch.rand(2, device="cuda:1"))
        True
    """
    states = checks.listed("set_rng_state_all", "new_states", "states", new_states)
    data = [_to_bytes("set_rng_state_all", state) for state in states]
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
    """Return a context that restores the states of the CPU's and of CUDA devices' generators at its end.

    devices: the CUDA devices to restore; None for all: the first such call warns if there are several.
    enabled: if False, nothing is restored.
    _caller, _devices_kw: the names of the operation and of `devices` in messages.
    Raises: DeviceNameError for a device_type other than "cuda" and None.
    Example:
        >>> _ = torch.manual_seed(0)
        >>> with torch.random.fork_rng(devices=[]):
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
    saved = [generator.state_bytes() for generator in generators]
    try:
        yield
    finally:
        set_states("set_state", generators, saved)


def _chosen(name: str, what: str, devices: Any) -> list[int]:
    with naming(name):
        return [cuda_index(device) for device in checks.listed(name, what, "devices", devices)]


def _every_device(name: str, what: str) -> list[int]:
    machine = thread.machine()
    count = machine.device_count()
    if count > 1 and machine not in _warned:
        _warned.add(machine)
        warnings.warn(
            f"{name}: CUDA reports that there are {count} devices, and all of them are used because none is named; "
            f"name them to silence this: {what}=range({count})",
            stacklevel=4,
        )
    return [cuda_index(index) for index in range(count)]


class portable:
    """Draw random numbers that are equal on the CPU, on virtual GPUs and on every NVIDIA GPU, instead of PyTorch's.

    The call takes effect at once, for the whole process; as a context manager, it restores the previous choice at the
    end.
    mode: False selects PyTorch's numbers.

    Element i of a result depends only on the generator's seed, the numbers drawn before, and i, so results do not
    depend on the size of the GPU.  Uniform and normal values, integers, permutations, Bernoulli samples and dropout
    masks are bitwise equal everywhere; samples of other distributions may differ in rounding.
    Raises: ArgumentTypeError if `mode` is not a bool.
    Example:
        >>> _ = torch.manual_seed(3)
        >>> with torch.random.portable():
        ...     torch.equal(torch.rand(5), torch.rand(5, device="cuda").cpu())
        True
    """

    def __init__(self, mode: bool = True) -> None:
        checks.flag("portable", "mode", mode)
        self.former = is_portable.value
        is_portable.value = mode

    def __enter__(self) -> None:
        """Do nothing: the call has already selected the numbers."""

    def __exit__(self, *raised: object) -> None:
        is_portable.value = self.former


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
    """Return random numbers that are uniform in [0, 1).

    Shapes: the listed sizes.
    Host:   returns at once.
    Raises: ArgumentTypeError for sizes that are not ints, ValueRangeError for a negative one, DtypeError for a type
            that is not floating point, DeviceMismatchError for a generator of another device.
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
    result = run_into("uniform", "rand", unset("rand", sizes, dtype, device, pin_memory), 0.0, 1.0, generator=generator)
    return result if requires_grad is False else as_leaf("rand", result, requires_grad)


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
    """Return random numbers of the standard normal distribution.

    Shapes: the listed sizes.
    Host:   returns at once.
    Raises: ArgumentTypeError for sizes that are not ints, ValueRangeError for a negative one, DtypeError for a type
            that is not floating point, DeviceMismatchError for a generator of another device.
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
    result = unset("randn", sizes, dtype, device, pin_memory)
    result = run_into("normal", "randn", result, 0.0, 1.0, generator=generator)
    return result if requires_grad is False else as_leaf("randn", result, requires_grad)


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
    """Return random integers in [low, high), int64 by default: randint(low, high, size), or randint(high, size) from 0.

    Shapes: the result has the shape `size`.
    Host:   returns at once.
    Raises: ValueRangeError if the range is empty, or a size negative, ArgumentTypeError for bounds that are not ints,
            or another number of arguments.
    Example:
        >>> x = torch.randint(1, 7, (1000,))
        >>> x.min(), x.max()
        (tensor(1), tensor(6))
    """
    if out is not None or layout is not None:
        options = (dtype, device, requires_grad, pin_memory)
        return into(randint, out, layout, options, *bounds_and_size, low=low, high=high, size=size, generator=generator)
    if low is not None and (high is None or bounds_and_size):
        passed = ", ".join([*map(shown, bounds_and_size), f"low={shown(low)}", f"high={shown(high)}"])
        raise ArgumentTypeError(
            f"low= must be passed with high=, and without positional bounds: got {passed}",
            hint="as in randint(low=0, high=9, size=(2,))",
            operator="randint",
        )
    bounds_and_size += tuple([value for value in (low, high, size) if value is not None])
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
            hint="pass a larger high: high itself is never drawn",
            operator="randint",
        )
    if type(size) is int:
        checks.sizes("randint", size)
    result = unset("randint", (size,), dtype or int64, device, pin_memory)
    result = run_into("random", "randint", result, low, high, generator=generator)
    return result if requires_grad is False else as_leaf("randint", result, requires_grad)


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
    """Return the integers from 0 to n - 1 in a random order, int64 by default.

    Shapes: a vector of n elements.
    Host:   returns at once.
    Raises: ArgumentTypeError if n is not an int, ValueRangeError if it is negative or the type
            cannot hold n - 1.
    Example:
        >>> torch.randperm(5).sort().values
        tensor([0, 1, 2, 3, 4])
    """
    if out is not None or layout is not None:
        options = (dtype, device, requires_grad, pin_memory)
        return into(randperm, out, layout, options, n, generator=generator)
    if type(n) is not int or n < 0:
        checks.count("randperm", "n", n)
    result = unset("randperm", (n,), dtype or int64, device, pin_memory)
    result = run_into("randperm", "randperm", result, generator=generator)
    return result if requires_grad is False else as_leaf("randperm", result, requires_grad)


def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Return normally distributed random numbers; mean and std are tensors, with one value per result, or numbers.

    Shapes: mean and std broadcast together; with two numbers, `size`.
    Host:   returns at once, but waits for the values of a std on a GPU.
    Raises: ValueRangeError for a negative std, ShapeError if mean and std do not broadcast, ArgumentTypeError for
            anything but tensors and numbers.
    Example:
        >>> x = torch.normal(torch.tensor([0.0, 100.0]), 0.1)
        >>> x.round().abs()
        tensor([  0., 100.])
        >>> torch.normal(2.0, 0.5, size=(2, 3)).shape
        torch.Size([2, 3])
    """
    if isinstance(mean, TensorBase) or isinstance(std, TensorBase):
        if size is not None:
            raise ArgumentTypeError(
                f"size is {shown(size)}, but mean or std is a tensor, which sets the size",
                hint="leave size out",
                operator="normal",
            )
        return _normal_around(mean, std, generator, out)
    checks.number("normal", "mean", mean)
    checks.number("normal", "std", std)
    if not isinstance(size, (tuple, list)):
        raise ArgumentTypeError(
            f"with two numbers, size must be a tuple of ints, got {shown(size)}",
            hint="as in normal(0.0, 1.0, (2, 3))",
            operator="normal",
        )
    if out is not None or layout is not None:
        options = (dtype, device, requires_grad, pin_memory)
        return into(normal, out, layout, options, mean, std, size, generator=generator)
    result = unset("normal", (size,), dtype, device, pin_memory)
    result = run_into("normal", "normal", result, mean, std, generator=generator)
    return result if requires_grad is False else as_leaf("normal", result, requires_grad)


def _normal_around(mean: Any, std: Any, generator: Any, out: Any) -> Any:
    """Return normal values for means and deviations, at least one of which is a tensor."""
    first = mean if isinstance(mean, TensorBase) else std
    if isinstance(std, TensorBase):
        deviations: Any = std
        if not (deviations >= 0).all():
            raise ValueRangeError(
                "expected every std to be at least 0, got negative elements or NaN",
                hint="pass its absolute values",
                operator="normal",
            )
    else:
        checks.number("normal", "std", std)
        if not std >= 0:
            raise ValueRangeError(
                f"expected std to be at least 0, got {std}",
                hint="pass 0 or more: std is a standard deviation, and mean comes before it",
                operator="normal",
            )
    if not isinstance(mean, TensorBase):
        checks.number("normal", "mean", mean)
    if isinstance(mean, TensorBase) and isinstance(std, TensorBase):
        shape = broadcast([mean.shape, std.shape], "normal")
    else:
        shape = first.shape
    target = unset("normal", (shape,), first.dtype if out is None else out.dtype, first.device)
    if out is not None:
        check_out("normal", target, out, target.device)
    is_scaled = isinstance(std, TensorBase)
    drawn = run_into("normal", "normal", target, 0.0, 1.0 if is_scaled else std, generator=generator)
    with naming("normal"):
        if is_scaled:
            drawn.mul_(std)
        result = drawn.add_(mean)
        if out is None:
            return result
        if out.shape != result.shape:
            out._storage, out._layout, out._offset = result._storage, result._layout, result._offset
            out._counter = result._counter
            return out
        with GradMode(False):
            return out.copy_(result)
