"""Factories: tensors from data, from NumPy arrays, and from nothing.

- On a GPU a kernel makes the values; only `tensor`, `as_tensor` and `asarray` of host data copy, and wait.
- Python floats become float32, integers int64; NumPy arrays keep their type.
"""

from __future__ import annotations

import numbers
from functools import reduce
from math import ceil
from numbers import Integral
from typing import Any

from .. import dtypes, transfer
from .. import memory_formats as formats
from ..autograd.mode import GradMode, is_grad_enabled
from ..core import storage
from ..core.call import assign
from ..core.factories import Explainer, explain_by, resolve, run_into, unset
from ..core.tensor import TensorBase, alias_of, tensor_over
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
from ..host import address_of, array_at, np, rounded
from ..scalars import converted
from ..strides import contiguous, extent
from . import checks

MAX_DEPTH = 64  # dimensions of a NumPy array
NUMPY_HINT = "convert with .astype(np.float32)"


def kind_of(array: Any, name: str) -> dtype:
    """The type of a NumPy array.  Raises ArgumentTypeError if there is none, ArgumentError for a foreign byte order."""
    kind = dtypes.from_numpy(array.dtype)
    if not array.dtype.isnative:
        raise ArgumentError(
            f"the array's byte order is not that of this machine: {array.dtype.str}{list(array.shape)}",
            hint="convert with array.astype(array.dtype.newbyteorder('='))",
            operator=name,
        )
    if kind is None:
        raise ArgumentTypeError(f"NumPy type {array.dtype} has no torch type", hint=NUMPY_HINT, operator=name)
    return kind


def host_array(data: Any, wanted: dtype | None, name: str) -> Any:
    """A contiguous NumPy array with a copy of `data`, of the type `wanted` or, for None, of the data's own.

    Raises: ArgumentError, ArgumentTypeError, DtypeError or ValueRangeError, saying where in the data the fault is.
    """
    leaf = _first_leaf(data, name)
    is_numpy = isinstance(leaf, (np.ndarray, np.generic))
    if _has_tensors(data):
        wanted = wanted or _common_type(data)
        data = _without_tensors(data, name, ())
    if isinstance(data, np.ndarray):
        kind_of(data, name)
    try:
        array = np.array(data, order="C")
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
    except ValueError as error:
        _check_even(data, name, ())
        fact = f"NumPy makes no array of the data: {error}"
        raise ArgumentError(fact, operator=name, hint="stack() joins tensors") from error
    if array.dtype.kind not in "biuf" or array.dtype == np.uint64 and not is_numpy:
        _refuse_leaf(data, name, ())
    if wanted is not None:
        if not is_numpy and wanted.category == dtypes.INTEGER and array.dtype.kind == "f":
            found = [converted(name, wanted, each) for each in np.array(data, dtype=object).reshape(-1)]
            return np.array(found, dtype=wanted.numpy).reshape(array.shape)
        if not is_numpy:
            _check_fits(array, wanted, name)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.ascontiguousarray(rounded(array, wanted)).reshape(array.shape)
    return array.astype(np.float32) if array.dtype == np.float64 and not is_numpy else array


def _first_leaf(data: Any, name: str) -> Any:
    """The first entry that is no list.  Raises ArgumentError for more nested lists than there can be dimensions."""
    depth, leaf = 0, data
    while isinstance(leaf, (list, tuple)) and leaf:
        leaf = leaf[0]
        depth += 1
        if depth > MAX_DEPTH:
            raise ArgumentError(
                f"too many dimensions: more than {MAX_DEPTH} lists are nested in {shown(type(data))}",
                hint="a list that holds itself has no end",
                operator=name,
            )
    return leaf


def _has_tensors(data: Any) -> bool:
    """Whether nested lists, of no more than MAX_DEPTH, hold a tensor somewhere."""
    level = data if isinstance(data, (list, tuple)) else ()
    for _ in range(MAX_DEPTH):
        if any(isinstance(each, TensorBase) for each in level):
            return True
        level = [each for one in level if isinstance(one, (list, tuple)) for each in one]
        if not level:
            return False
    return False


def _without_tensors(data: Any, name: str, place: tuple[int, ...]) -> Any:
    """Nested lists with numbers in the place of tensors of one element."""
    if isinstance(data, TensorBase):
        if data.numel() != 1:
            raise ArgumentError(
                f"only one element tensors can be converted to Python scalars, data{_at(place)} is {data.describe()}",
                hint="stack() joins tensors",
                operator=name,
            )
        return data.item()  # type: ignore[attr-defined]  # every tensor is a Tensor
    if not isinstance(data, (list, tuple)) or len(place) > MAX_DEPTH:
        return data
    return [_without_tensors(each, name, (*place, at)) for at, each in enumerate(data)]


def _common_type(data: Any) -> dtype | None:
    """The type that numbers and tensors in nested lists promote to, None if there is something else."""
    if isinstance(data, TensorBase):
        return data.dtype
    if isinstance(data, (list, tuple)):
        found = [_common_type(each) for each in data]
        # ignored: None is excluded
        return None if None in found or not found else reduce(dtypes.promote, found)  # type: ignore[arg-type]
    if isinstance(data, np.generic):
        return dtypes.from_numpy(data.dtype)
    return dtypes.of_scalar(data, dtypes.float32) if isinstance(data, (bool, int, float)) else None


def _at(place: tuple[int, ...]) -> str:
    return "".join(f"[{each}]" for each in place)


def _length(value: Any) -> int | None:
    """How many entries a level of nested data has, None for a number."""
    if isinstance(value, TensorBase) or hasattr(value, "ndim"):
        return len(value) if value.ndim else None
    return len(value) if isinstance(value, (list, tuple)) else None


def _check_even(data: Any, name: str, place: tuple[int, ...]) -> None:
    """Raise ArgumentError or ArgumentTypeError for the first entry that is not like the one before it."""
    if not isinstance(data, (list, tuple)):
        return
    for each, entry in enumerate(data):
        first, here = _length(data[0]), _length(entry)
        at = _at((*place, each))
        if (first is None) != (here is None):
            raise ArgumentTypeError(
                f"data{at} is {shown(entry)} and data{_at((*place, 0))} is {shown(data[0])}: one of them is a "
                "sequence, the other is not",
                hint="nest all entries alike",
                operator=name,
            )
        if first != here:
            raise ArgumentError(
                f"the data's nested sequences differ in length: expected sequence of length {first} at dim "
                f"{len(place) + 1} (got {here}, data{at})",
                hint="fill up the shorter ones, or make a tensor of each",
                operator=name,
            )
    for each, entry in enumerate(data):
        _check_even(entry, name, (*place, each))


def _refuse_leaf(data: Any, name: str, place: tuple[int, ...]) -> None:
    """Raise for the first entry that is no number of ours."""
    if isinstance(data, (list, tuple)):
        for each, entry in enumerate(data):
            _refuse_leaf(entry, name, (*place, each))
    elif isinstance(data, (np.ndarray, np.generic)):
        if dtypes.from_numpy(data.dtype) is None:
            raise ArgumentTypeError(f"NumPy type {data.dtype} has no torch type", hint=NUMPY_HINT, operator=name)
    elif isinstance(data, str):
        kind = ArgumentError if place else ArgumentTypeError
        fact = f"could not infer dtype of str, data{_at(place)} is {shown(data)}"
        raise kind(fact, hint="convert it first, as in float(text)")
    elif isinstance(data, complex):
        raise DtypeError(
            f"data{_at(place)} is complex: {data}", hint="give .real and .imag by themselves", operator=name
        )
    elif isinstance(data, int) and not -(2**63) <= data < 2**63:
        raise ArgumentError(f"data{_at(place)} does not fit in int64: {data}", hint="give it as a float", operator=name)
    elif not isinstance(data, (bool, int, float, TensorBase)):
        raise DtypeError(
            f"could not infer dtype of {type(data).__name__}, data{_at(place)} is {shown(data)}",
            hint="give numbers, nested lists of them, a NumPy array or a tensor",
            operator=name,
        )


def _check_fits(array: Any, wanted: dtype, name: str) -> None:
    """Raise ValueRangeError for integers that an integer type does not hold."""
    if wanted.category == dtypes.INTEGER and array.size:
        for each in (array.min(), array.max()):
            converted(name, wanted, each.item())


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
    obj: Any, *, dtype: dtype | None = None, device: Any = None, copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Any:  # fmt: skip
    """As as_tensor; copy=True always copies.

    requires_grad: None keeps a tensor in its graph, False detaches it, True makes a leaf of what is in no graph.
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
    data = obj.detach() if isinstance(obj, TensorBase) and requires_grad is False else obj  # type: ignore[attr-defined]
    made = _as_tensor("asarray", data, dtype, device)
    is_new = made is not data and not isinstance(data, np.ndarray)
    if copy is False and (is_new or (isinstance(data, np.ndarray) and made.address() != address_of(data))):
        raise ArgumentError(
            f"can't make {made.describe()} of {shown(data)} without copying, and copy is False",
            hint="leave out copy=False",
            operator="asarray",
        )
    made = made.clone() if copy and not is_new else made
    return made if requires_grad is None or requires_grad is False else as_leaf("asarray", made, requires_grad)


# from nothing


class _Explainer(Explainer):
    __slots__ = ()

    def unset(self, error: Exception, name: str, size: Any, kind: Any, where: Any, pin_memory: Any) -> Any:
        meant = checks.made(name, size, kind)
        if meant is not kind:
            return unset(name, size, meant, where, pin_memory)
        if isinstance(error, checks.OF_DEVICES):
            name_error(error, name)
        if not isinstance(error, FlambeauError):
            _check_pinned(name, where, pin_memory)
        raise error


explain_by(_Explainer())


def _check_pinned(name: str, device: Any, pin_memory: Any) -> None:
    """Raise ArgumentTypeError or ArgumentError unless a tensor on the device can be pinned so."""
    checks.flag(name, "pin_memory", pin_memory)
    if pin_memory and resolve(device) >= 0:
        raise ArgumentError(
            f"only CPU tensors can be pinned, and device is cuda:{resolve(device)}",
            hint="leave out pin_memory",
            operator=name,
        )


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
    formats.check_layout(name, layout)
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
    formats.check_layout("empty_strided", layout)
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
    made: Any = unset("full", (size,), kind, device, pin_memory)
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
