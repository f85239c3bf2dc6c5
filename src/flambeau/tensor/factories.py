"""Making tensors from data and from nothing.

- On a GPU a kernel makes the values; only `tensor`, `as_tensor` and `asarray` of host data copy, and wait.
- Python floats become float32, integers int64; NumPy arrays keep their type.
"""

from __future__ import annotations

import numbers
from math import ceil
from numbers import Integral
from operator import index
from typing import Any

from .. import dtypes, transfer
from .. import memory_formats as formats
from ..autograd.mode import GradMode, is_grad_enabled
from ..core import storage
from ..core.call import assign, fill_new
from ..core.tensor import TensorBase, alias_of, empty_tensor, tensor_over
from ..dtypes import dtype
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    DeviceMismatchError,
    DtypeError,
    FlambeauError,
    ShapeError,
    name_error,
    naming,
    shown,
)
from ..host import address_of, array_at, np
from ..ops.operator import REGISTRY
from ..runtime.device import resolve
from ..scalars import converted
from ..strides import contiguous, extent
from . import checks, layouts
from .data import host_array, kind_of

# from data


def from_array(array: Any, name: str = "tensor") -> Any:
    """A CPU tensor that shares the memory of a contiguous NumPy array."""
    kind = kind_of(array, name)
    flat = array.reshape(-1).view(np.uint8)
    return tensor_over(storage.from_array(flat), kind, array.shape, contiguous(array.shape))


def from_numpy(ndarray: Any) -> Any:
    """A CPU tensor that shares the memory of a NumPy array, strides included.

    Raises: ArgumentTypeError if it is no array or of an unknown type, ArgumentError for negative strides.
    Example:
        >>> import numpy
        >>> array = numpy.zeros(3)
        >>> x = torch.from_numpy(array)
        >>> array[0] = 7
        >>> x
        tensor([7., 0., 0.], dtype=torch.float64)
    """
    return _sharing(ndarray, "from_numpy")


def _sharing(array: Any, name: str) -> Any:
    if not isinstance(array, np.ndarray):
        raise ArgumentTypeError(
            f"expected np.ndarray (got {type(array).__name__}): {shown(array)}",
            hint="torch.as_tensor(...) takes tensors, lists and numbers too",
            operator=name,
        )
    kind = kind_of(array, name)
    if array.flags.c_contiguous:
        return from_array(array, name)
    if any(step < 0 or step % kind.itemsize for step in array.strides):
        raise ArgumentError(
            f"strides of {array.strides} bytes are negative, or no multiple of {kind.itemsize} bytes",
            hint="copy the array first: np.ascontiguousarray(array)",
            operator=name,
        )
    strides = tuple(step // kind.itemsize for step in array.strides)
    nbytes = extent(array.shape, strides) * kind.itemsize
    flat = array_at(address_of(array), dtypes.uint8, (nbytes,), None, array)
    return tensor_over(storage.from_array(flat), kind, array.shape, strides)


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
    Raises: ArgumentError, ArgumentTypeError, DtypeError or ValueRangeError for what is no data of one type and shape.
    Example:
        >>> torch.tensor([[1, 2], [3, 4]])
        tensor([[1, 2],
                [3, 4]])
        >>> torch.tensor([0.5, 1], dtype=torch.float64, requires_grad=True)
        tensor([0.5000, 1.0000], dtype=torch.float64, requires_grad=True)
    """
    made = _copied("tensor", data, dtype, device, pin_memory)
    return made if requires_grad is False else as_leaf("tensor", made, requires_grad)


def _copied(name: str, data: Any, wanted: dtype | None, device: Any, pin_memory: bool = False) -> Any:
    wanted = checks.kind(name, wanted)
    try:
        if isinstance(data, TensorBase):
            source = data.detach()  # type: ignore[attr-defined]  # every tensor is a Tensor
            where = source.device_index if device is None else resolve(device)
            return transfer.to(source, where, wanted or source.dtype, copy=True)
        where = resolve(device)
        kept = from_array(host_array(data, wanted, name), name)
        if pin_memory is not False:
            checks.flag(name, "pin_memory", pin_memory)
            kept = kept.pin_memory() if pin_memory else kept
        return transfer.to(kept, where, kept.dtype)
    except FlambeauError as error:
        _retell(error, name)
        raise


def _retell(error: FlambeauError, name: str) -> None:
    """A wrong device is told in another name."""
    if isinstance(error, checks.OF_DEVICES):
        name_error(error, name)


def as_tensor(data: Any, dtype: dtype | None = None, device: Any = None) -> Any:
    """`data` as a tensor: itself, or sharing a NumPy array's memory, where type and device allow it, else a copy.

    Host: waits if host data goes to a GPU.
    Example:
        >>> x = torch.ones(2)
        >>> torch.as_tensor(x) is x
        True
        >>> torch.as_tensor([1, 2], dtype=torch.float32)
        tensor([1., 2.])
    """
    return _as_tensor("as_tensor", data, dtype, device)


def _as_tensor(name: str, data: Any, wanted: dtype | None, device: Any) -> Any:
    wanted = checks.kind(name, wanted)
    if isinstance(data, np.ndarray):
        data = _sharing(data, name)
    elif not isinstance(data, TensorBase):
        return _copied(name, data, wanted, device)
    with naming(name):
        where = resolve(device) if device is not None or not data.is_cuda else data.device_index
    return transfer.to(data, where, wanted or data.dtype)


def asarray(
    obj: Any, *, dtype: dtype | None = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False
) -> Any:
    """As as_tensor; copy=True always copies.  A leaf's requires_grad is that of the argument.

    Raises: ArgumentError if copy=False and a copy is needed.
    Example:
        >>> x = torch.ones(2)
        >>> torch.asarray(x).data_ptr() == x.data_ptr()
        True
        >>> torch.asarray(x, copy=True).data_ptr() == x.data_ptr()
        False
    """
    if copy is not None:
        checks.flag("asarray", "copy", copy)
    # ignored: every tensor is a Tensor
    data = obj.detach() if isinstance(obj, TensorBase) and not requires_grad else obj  # type: ignore[attr-defined]
    made = _as_tensor("asarray", data, dtype, device)
    is_new = made is not data and not isinstance(data, np.ndarray)
    if copy is False and (is_new or (isinstance(data, np.ndarray) and made.address() != address_of(data))):
        raise ArgumentError(
            f"can't make {made.describe()} of {shown(data)} without copying, and copy is False",
            hint="leave out copy=False",
            operator="asarray",
        )
    made = made.clone() if copy and not is_new else made
    return made if requires_grad is False else as_leaf("asarray", made, requires_grad)


# from nothing


def _sizes(values: Any) -> tuple[int, ...]:
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        values = values[0]
    for each in values:
        if type(each) is not int:
            return _integers(values)
    return tuple(values)


def _integers(values: Any) -> tuple[int, ...]:
    if any([isinstance(each, bool) for each in values]):
        raise TypeError("a size is a bool")
    return tuple(map(index, values))


def unset(name: str, size: Any, kind: dtype | None, device: Any, pin_memory: bool = False) -> Any:
    """A tensor with unset values.  What is wrong with the arguments is looked for when something has failed."""
    try:
        if not size:
            raise TypeError("no size")
        where = resolve(device)
        if pin_memory is not False and where >= 0 and pin_memory:
            raise ArgumentError(
                f"only CPU tensors can be pinned, and device is cuda:{where}",
                hint="leave out pin_memory",
                operator=name,
            )
        if pin_memory is not False:
            checks.flag(name, "pin_memory", pin_memory)
        return empty_tensor(_sizes(size), kind or dtypes.float32, where, pin_memory=pin_memory, name=name)
    except (FlambeauError, AttributeError, TypeError) as error:
        meant = checks.made(name, size, kind)
        if meant is not kind:
            return unset(name, size, meant, device, pin_memory)
        if isinstance(error, checks.OF_DEVICES):
            name_error(error, name)
        raise


def as_leaf(name: str, made: Any, requires_grad: bool) -> Any:
    """What a factory that was given requires_grad=True returns."""
    checks.leaf(name, made, requires_grad)
    return made.requires_grad_(requires_grad)


def into(make: Any, out: Any, layout: Any, options: tuple[Any, Any, bool, bool], *args: Any, **own: Any) -> Any:
    """Call a factory that was given out= or layout=.

    out: takes the values; without elements it takes the shape too.
    options: the factory's dtype, device, requires_grad and pin_memory.
    Raises: ArgumentTypeError, AutogradError, DeviceMismatchError, DtypeError or ShapeError if it cannot.
    """
    name, (kind, device, requires_grad, pin_memory) = make.__name__, options
    layouts.check(name, layout)
    if out is None:
        return make(*args, dtype=kind, device=device, requires_grad=requires_grad, pin_memory=pin_memory, **own)
    checks.tensor(name, "out", out)
    made = make(*args, dtype=kind or out.dtype, device=out.device if device is None else device, **own)
    check_out(name, made, out)
    if out.shape != made.shape:
        out.storage, out.layout, out.offset = made.storage, made.layout, made.offset
        out.storage.version += 1
    else:
        with GradMode(False):
            out.copy_(made)
    return out if requires_grad is False else as_leaf(name, out, requires_grad)


def check_out(name: str, made: Any, out: Any) -> None:
    """Raise an error if `out` cannot take what a factory made."""
    if out.requires_grad and is_grad_enabled():
        raise AutogradError(
            f"out, {out.describe()}, requires a gradient, and nothing would flow to it",
            hint="call it under torch.no_grad(), or without out=",
            operator=name,
        )
    if made.dtype is not out.dtype:
        raise DtypeError(
            f"dtype {made.dtype.name} does not match dtype of out parameter ({out.dtype.name})",
            hint="leave out dtype=",
            operator=name,
        )
    if made.device != out.device:
        raise DeviceMismatchError(
            f"device {made.device} does not match device of out parameter ({out.device})",
            hint="leave out device=",
            operator=name,
        )
    if out.numel() and out.shape != made.shape:
        raise ShapeError(
            f"the result has shape {list(made.shape)}, and out has shape {list(out.shape)}",
            hint="give a tensor of that shape, or torch.empty(0)",
            operator=name,
        )


def run_into(name: str, called: str, made: Any, *arguments: Any, **named: Any) -> Any:
    """Let an operator write a new tensor: unlike a write in place, no version is counted."""
    if made.numel():
        try:
            fill_new(REGISTRY[name], made, arguments, named)
        except FlambeauError as error:
            name_error(error, called)
            raise
    return made


def empty(
    *sizes: Any,
    size: Any = None,
    out: Any = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = None,
) -> Any:
    """A tensor with unset values.

    Host: returns at once.
    Example:
        >>> x = torch.empty(2, 3, dtype=torch.int64)
        >>> x.shape, x.dtype
        (torch.Size([2, 3]), torch.int64)
    """
    if out is not None or layout is not None:
        options = (dtype, device, requires_grad, pin_memory)
        return into(empty, out, layout, options, *sizes, size=size, memory_format=memory_format)
    if size is not None:
        sizes = checks.named("empty", sizes, size)
    made = unset("empty", sizes, dtype, device, pin_memory)
    if memory_format is not None:
        formats.check("empty", memory_format)
        made = alias_of(made, made.shape, formats.strides_in("empty", memory_format, made.shape), 0)
    return made if requires_grad is False else as_leaf("empty", made, requires_grad)


def empty_strided(
    size: Any,
    stride: Any,
    *,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A tensor with unset values and the given strides, in elements.

    Host: returns at once.
    Example:
        >>> torch.empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """
    layouts.check("empty_strided", layout)
    checks.strided("empty_strided", size, stride)
    flat = unset("empty_strided", (extent(size, stride),), dtype, device, pin_memory)
    made = alias_of(flat, size, stride, 0)
    return made if requires_grad is False else as_leaf("empty_strided", made, requires_grad)


def zeros(
    *sizes: Any,
    size: Any = None,
    out: Any = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A tensor of zeros.

    Host: returns at once.
    Example:
        >>> torch.zeros(2, 3)
        tensor([[0., 0., 0.],
                [0., 0., 0.]])
    """
    if out is not None or layout is not None:
        options = (dtype, device, requires_grad, pin_memory)
        return into(zeros, out, layout, options, *sizes, size=size)
    if size is not None:
        sizes = checks.named("zeros", sizes, size)
    made = run_into("fill", "zeros", unset("zeros", sizes, dtype, device, pin_memory), 0)
    return made if requires_grad is False else as_leaf("zeros", made, requires_grad)


def ones(
    *sizes: Any,
    size: Any = None,
    out: Any = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A tensor of ones.

    Host: returns at once.
    Example:
        >>> torch.ones((2, 2), dtype=torch.int64)
        tensor([[1, 1],
                [1, 1]])
    """
    if out is not None or layout is not None:
        options = (dtype, device, requires_grad, pin_memory)
        return into(ones, out, layout, options, *sizes, size=size)
    if size is not None:
        sizes = checks.named("ones", sizes, size)
    made = run_into("fill", "ones", unset("ones", sizes, dtype, device, pin_memory), 1)
    return made if requires_grad is False else as_leaf("ones", made, requires_grad)


def full(
    size: Any,
    fill_value: Any,
    *,
    out: Any = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A tensor whose elements are all `fill_value`, a number or a tensor of one element.

    dtype: None takes the value's: bool, int64 or float32 for a number.
    Host: returns at once.
    Example:
        >>> torch.full((2, 3), 7)
        tensor([[7, 7, 7],
                [7, 7, 7]])
    """
    if out is not None or layout is not None:
        options = (dtype, device, requires_grad, pin_memory)
        return into(full, out, layout, options, size, fill_value)
    is_tensor = isinstance(fill_value, TensorBase)
    if is_tensor and fill_value.numel() != 1 or not is_tensor and type(fill_value) not in (int, float, bool):
        checks.fill_value("full", fill_value)
        fill_value = checks.plain(fill_value)
    kind = dtype or (fill_value.dtype if is_tensor else dtypes.of_scalar(fill_value, dtypes.float32))
    if type(size) is int:
        checks.sizes("full", size)
    made = unset("full", (size,), kind, device, pin_memory)
    if is_tensor:
        made.copy_(fill_value.detach())
    else:
        run_into("fill", "full", made, fill_value)
    return made if requires_grad is False else as_leaf("full", made, requires_grad)


def of_number(name: str, what: str, value: Any, device: Any) -> Any:
    """A 0-dim tensor of a number, whose value is kept.  Raises ArgumentTypeError for anything else."""
    if isinstance(value, TensorBase) or not isinstance(value, numbers.Real):
        raise ArgumentTypeError(
            f"{what} must be a Tensor or a number, got {shown(value)}",
            hint="torch.tensor(...) makes a tensor of a list",
            operator=name,
        )
    plain = checks.plain(value)
    kind = dtypes.of_scalar(plain, dtypes.float64)
    return run_into("fill", name, unset(name, ((),), kind, device), plain)


def arange(
    start: Any = None,
    end: Any = None,
    step: Any = 1,
    *,
    out: Any = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Numbers from start (0 if only one is given) to end, which is not included, `step` apart.

    dtype: None is int64 if all three are integers, else float32.
    Host:   returns at once.
    Raises: ArgumentTypeError for what is no number, ValueRangeError for a step of 0 or of the wrong sign and for bounds
            that are not finite, NotSupportedError for bool.
    Example:
        >>> torch.arange(4)
        tensor([0, 1, 2, 3])
        >>> torch.arange(1, 2, 0.25)
        tensor([1.0000, 1.2500, 1.5000, 1.7500])
    """
    if out is not None or layout is not None:
        options = (dtype, device, requires_grad, pin_memory)
        return into(arange, out, layout, options, start, end, step)
    first, last = (0, start) if end is None else (0 if start is None else start, end)
    are_int = type(first) is int and type(last) is int and type(step) is int
    if not are_int or step == 0 or (last - first) * step < 0:
        checks.steps(first, last, step)
    whole = all(isinstance(each, Integral) for each in (first, last, step))
    kind = dtype or (dtypes.int64 if whole else dtypes.float32)
    if not whole and checks.kind("arange", kind) is dtypes.int64:  # the numbers are cut before they are counted
        whole = True
        first, last, step = (converted("arange", dtypes.int64, each) for each in (first, last, step))
        checks.steps(first, last, step)
    count = -(-(last - first) // step) if whole else ceil((last - first) / step)
    made = unset("arange", (count,), kind, device, pin_memory)
    checks.not_bool("arange", made.dtype)
    run_into("arange", "arange", made, first, step)
    return made if requires_grad is False else as_leaf("arange", made, requires_grad)


def linspace(
    start: float,
    end: float,
    steps: int,
    *,
    out: Any = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """`steps` numbers evenly spaced from start to end, both included.

    Host: returns at once.
    Example:
        >>> torch.linspace(0, 1, steps=5)
        tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    if out is not None or layout is not None:
        options = (dtype, device, requires_grad, pin_memory)
        return into(linspace, out, layout, options, start, end, steps)
    checks.number("linspace", "start", start)
    checks.number("linspace", "end", end)
    checks.count("linspace", "the number of steps", steps)
    made = unset("linspace", (steps,), dtype, device, pin_memory)
    checks.not_bool("linspace", made.dtype)
    made = run_into("linspace", "linspace", made, start, end)
    return made if requires_grad is False else as_leaf("linspace", made, requires_grad)


def eye(
    n: int,
    m: int | None = None,
    *,
    out: Any = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A matrix of n rows and m (or n) columns: ones on the diagonal, zeros elsewhere.

    Host: returns at once.
    Example:
        >>> torch.eye(2, 3)
        tensor([[1., 0., 0.],
                [0., 1., 0.]])
    """
    if out is not None or layout is not None:
        options = (dtype, device, requires_grad, pin_memory)
        return into(eye, out, layout, options, n, m)
    checks.count("eye", "n", n)
    if m is not None:
        checks.count("eye", "m", m)
    made = run_into("fill", "eye", unset("eye", (n, n if m is None else m), dtype, device, pin_memory), 0)
    diagonal = alias_of(made, (min(made.shape),), (made.shape[1] + 1,), 0)
    if diagonal.numel():
        one = ones((), dtype=made.dtype, device=made.device)
        assign(diagonal, one)
    return made if requires_grad is False else as_leaf("eye", made, requires_grad)
