"""Making tensors from data and from nothing.

- On a GPU a kernel makes the values; only `tensor`, `as_tensor` and `asarray` of host data copy, and wait.
- Python floats become float32, integers int64; NumPy arrays keep their type.
"""

from __future__ import annotations

from math import ceil
from operator import index
from typing import Any

from .. import core, dtypes, transfer
from ..core import TensorCore
from ..dispatch import assign, fill_new
from ..dtypes import dtype
from ..errors import ArgumentError, ArgumentTypeError, DtypeError
from ..host import address_of, array_at, np
from ..ops.operator import REGISTRY
from ..runtime import device as devices
from ..runtime import storage
from ..strides import contiguous, extent

# from data


def from_array(array: Any) -> Any:
    """A CPU tensor that shares the memory of a contiguous NumPy array."""
    kind = _kind_of(array)
    flat = array.reshape(-1).view(np.uint8)
    return core.over(storage.from_array(flat), kind, array.shape, contiguous(array.shape))


def _kind_of(array: Any) -> dtype:
    kind = dtypes.from_numpy(array.dtype)
    if kind is None:
        raise DtypeError(f"tensor: NumPy type {array.dtype} has no torch type", hint="convert with .astype(np.float32)")
    return kind


def from_numpy(array: Any) -> Any:
    """A CPU tensor that shares the memory of a NumPy array, strides included.

    Raises: ArgumentTypeError if it is no array, DtypeError for an unknown type, ArgumentError for negative strides.
    """
    if not isinstance(array, np.ndarray):
        raise ArgumentTypeError(f"from_numpy: expected np.ndarray (got {type(array).__name__})")
    kind = _kind_of(array)
    if array.flags.c_contiguous:
        return from_array(array)
    if any(step < 0 or step % kind.itemsize for step in array.strides):
        raise ArgumentError(
            f"from_numpy: strides of {array.strides} bytes are negative, or no multiple of {kind.itemsize} bytes",
            hint="copy the array first: np.ascontiguousarray(array)",
        )
    strides = tuple(step // kind.itemsize for step in array.strides)
    nbytes = extent(array.shape, strides) * kind.itemsize
    flat = array_at(address_of(array), dtypes.uint8, (nbytes,), None, array)
    return core.over(storage.from_array(flat), kind, array.shape, strides)


def tensor(
    data: Any,
    *,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A tensor with a copy of `data`: a number, nested lists, a NumPy array or a tensor.

    dtype: None takes NumPy's for arrays, and bool, int64 or float32 for Python values.
    Host: waits if the device is a GPU.
    """
    if isinstance(data, TensorCore):
        source = data.detach()  # type: ignore[attr-defined]
        where = source.device_index if device is None else devices.resolve(device)
        return transfer.to(source, where, dtype or source.dtype, copy=True).requires_grad_(requires_grad)
    kept = _host_tensor(data, dtype)
    if pin_memory:
        kept = kept.pin_memory()
    return transfer.to(kept, devices.resolve(device), kept.dtype).requires_grad_(requires_grad)


def _host_tensor(data: Any, wanted: dtype | None) -> Any:
    try:
        array = np.array(_without_tensors(data), order="C")
    except ValueError as error:
        raise ArgumentError(f"tensor: the data's nested sequences differ in length: {error}") from error
    if array.dtype.kind in "OSU":
        raise ArgumentTypeError(f"tensor: could not infer dtype of {type(data).__name__}")
    if wanted is not None:
        return from_array(np.ascontiguousarray(array.astype(wanted.numpy)).reshape(array.shape))
    if array.dtype == np.float64 and not isinstance(_first_leaf(data), (np.ndarray, np.generic)):
        array = array.astype(np.float32)
    return from_array(array)


def _without_tensors(data: Any) -> Any:
    """Nested lists whose leaves may be tensors, as nested lists of numbers."""
    return _plain(data) if isinstance(_first_leaf(data), TensorCore) else data


def _first_leaf(data: Any) -> Any:
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return data


def _plain(data: Any) -> Any:
    if isinstance(data, TensorCore):
        return data.tolist()  # type: ignore[attr-defined]
    return [_plain(each) for each in data] if isinstance(data, (list, tuple)) else data


def as_tensor(data: Any, dtype: dtype | None = None, device: Any = None) -> Any:
    """`data` as a tensor: itself, or sharing a NumPy array's memory, where type and device allow it, else a copy.

    Host: waits if host data goes to a GPU.
    """
    if isinstance(data, np.ndarray):
        data = from_numpy(data)
    elif not isinstance(data, TensorCore):
        return tensor(data, dtype=dtype, device=device)
    where = devices.resolve(device) if device is not None or not data.is_cuda else data.device_index
    return transfer.to(data, where, dtype or data.dtype)


def asarray(data: Any, *, dtype: dtype | None = None, device: Any = None, copy: bool | None = None) -> Any:
    """As as_tensor; copy=True always copies.  Raises ArgumentError if copy=False and a copy is needed."""
    made = as_tensor(data, dtype, device)
    is_new = made is not data and not isinstance(data, np.ndarray)
    if copy is False and (is_new or (isinstance(data, np.ndarray) and made.address() != address_of(data))):
        raise ArgumentError(f"asarray: can't make {made.describe()} of {type(data).__name__} without copying")
    return made.clone() if copy and not is_new else made


# from nothing


def _sizes(values: Any) -> tuple[int, ...]:
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        values = values[0]
    for each in values:
        if type(each) is not int:
            return tuple(map(index, values))
    return tuple(values)


def _unset(name: str, size: Any, kind: dtype | None, device: Any, pin_memory: bool = False) -> Any:
    where = devices.resolve(device)
    if pin_memory and where >= 0:
        raise ArgumentError(f"{name}: only CPU tensors can be pinned, and device is cuda:{where}")
    return core.empty(_sizes(size), kind or dtypes.float32, where, pin_memory=pin_memory, name=name)


def _run(name: str, made: Any, *arguments: Any, **named: Any) -> Any:
    """Let an operator write a new tensor: unlike a write in place, no version is counted."""
    if made.numel():
        fill_new(REGISTRY[name], made, arguments, named)
    return made


def empty(
    *size: Any,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = None,
) -> Any:
    """A tensor with unset values.  Host: returns at once."""
    made = _unset("empty", size, dtype, device, pin_memory)
    return made.requires_grad_() if requires_grad else made


def empty_strided(size: Any, stride: Any, *, dtype: dtype | None = None, device: Any = None) -> Any:
    """A tensor with unset values and the given strides, in elements.  Host: returns at once."""
    flat = _unset("empty_strided", (extent(size, stride),), dtype, device)
    return core.alias(flat, size, stride, 0)


def zeros(
    *size: Any, dtype: dtype | None = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Any:
    """A tensor of zeros.  Host: returns at once."""
    return _run("fill", _unset("zeros", size, dtype, device, pin_memory), 0).requires_grad_(requires_grad)


def ones(
    *size: Any, dtype: dtype | None = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Any:
    """A tensor of ones.  Host: returns at once."""
    return _run("fill", _unset("ones", size, dtype, device, pin_memory), 1).requires_grad_(requires_grad)


def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A tensor whose elements are all `fill_value`, a number or a tensor of one element.

    dtype: None takes the value's: bool, int64 or float32 for a number.
    Host: returns at once.
    """
    is_tensor = isinstance(fill_value, TensorCore)
    kind = dtype or (fill_value.dtype if is_tensor else dtypes.of_scalar(fill_value, dtypes.float32))
    made = _unset("full", (size,) if isinstance(size, int) else size, kind, device, pin_memory)
    made = made.copy_(fill_value.detach()) if is_tensor else _run("fill", made, fill_value)
    return made.requires_grad_(requires_grad)


def arange(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Numbers from start (0 if only one is given) to end, which is not included, `step` apart.

    dtype: None is int64 if all three are integers, else float32.
    Host:   returns at once.
    Raises: ArgumentError for a step of 0, or of the wrong sign.
    """
    first, last = (0, start) if end is None else (start, end)
    if step == 0:
        raise ArgumentError("arange: step must be nonzero")
    if (last - first) * step < 0:
        raise ArgumentError(f"arange: upper bound and lower bound inconsistent with step sign: {first}, {last}, {step}")
    whole = all(isinstance(each, int) for each in (first, last, step))
    kind = dtype or (dtypes.int64 if whole else dtypes.float32)
    count = -(-(last - first) // step) if whole else ceil((last - first) / step)
    made = _unset("arange", (count,), kind, device, pin_memory)
    return _run("arange", made, first, step).requires_grad_(requires_grad)


def linspace(
    start: float,
    end: float,
    steps: int,
    *,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """`steps` numbers evenly spaced from start to end, both included.  Host: returns at once."""
    if steps < 0:
        raise ArgumentError(f"linspace: number of steps must be non-negative, got {steps}")
    return _run("linspace", _unset("linspace", (steps,), dtype, device), start, end).requires_grad_(requires_grad)


def eye(
    n: int, m: int | None = None, *, dtype: dtype | None = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """A matrix of n rows and m (or n) columns: ones on the diagonal, zeros elsewhere.  Host: returns at once."""
    made = zeros(n, n if m is None else m, dtype=dtype, device=device)
    diagonal = core.alias(made, (min(made.shape),), (made.shape[1] + 1,), 0)
    if diagonal.numel():
        one = ones((), dtype=made.dtype, device=made.device)
        assign(diagonal, one)
    return made.requires_grad_(requires_grad)


# random


def rand(
    *size: Any,
    generator: Any = None,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Random numbers, uniform in [0, 1).  Host: returns at once."""
    made = _unset("rand", size, dtype, device, pin_memory)
    return _run("uniform", made, 0.0, 1.0, generator=generator).requires_grad_(requires_grad)


def randn(
    *size: Any,
    generator: Any = None,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Random numbers of the standard normal distribution.  Host: returns at once."""
    made = _unset("randn", size, dtype, device, pin_memory)
    return _run("normal", made, 0.0, 1.0, generator=generator).requires_grad_(requires_grad)


def randint(
    *bounds_and_size: Any,
    generator: Any = None,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Random integers: randint(high, size) in [0, high), randint(low, high, size) in [low, high); int64 by default.

    Host:   returns at once.
    Raises: ArgumentError if there is no such integer.
    """
    if len(bounds_and_size) not in (2, 3):
        raise ArgumentTypeError(
            f"randint() takes (high, size) or (low, high, size), got {len(bounds_and_size)} arguments"
        )
    *bounds, size = bounds_and_size
    low, high = bounds if len(bounds) == 2 else (0, bounds[0])
    if low >= high:
        raise ArgumentError(f"randint: expects low to be less than high, got low={low} >= high={high}")
    made = _unset("randint", size, dtype or dtypes.int64, device, pin_memory)
    return _run("random", made, low, high, generator=generator).requires_grad_(requires_grad)


def randperm(
    n: int, *, generator: Any = None, dtype: dtype | None = None, device: Any = None, pin_memory: bool = False
) -> Any:
    """The integers from 0 to n - 1 in a random order, int64 by default.

    Host:   returns at once.
    Raises: ArgumentError if the type does not hold n - 1.
    """
    made = _unset("randperm", (n,), dtype or dtypes.int64, device, pin_memory)
    return _run("randperm", made, generator=generator)
