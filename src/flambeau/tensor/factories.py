"""Factories: tensors from data, from NumPy arrays, and from sizes.

- On a GPU a kernel computes the values.  Only `tensor`, `as_tensor` and `asarray` of host data copy values and wait.
- Python floats become the default type, float32, and integers int64; NumPy arrays keep their type.
"""

from __future__ import annotations

import numbers
from array import array as number_array
from ctypes import Array as ForeignArray
from functools import reduce
from math import ceil
from numbers import Integral
from typing import Any

from .. import callers, dtypes, transfer
from .. import memory_formats as formats
from ..autograd.mode import GradMode, is_grad_enabled
from ..core import host_storage, storage
from ..core.call import run_into
from ..core.factories import explain_by, resolve, unset
from ..core.layout import dense_layout
from ..core.tensor import TensorBase, alias_of, new_tensor, tensor_over
from ..core.thread import CPU
from ..dtypes import converted, dtype
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    DeviceMismatchError,
    DtypeError,
    FlambeauError,
    NotSupportedError,
    ShapeError,
    ValueRangeError,
    name_error,
    naming,
    shown,
)
from ..host import address_of, array_at, np, rounded
from ..strides import Size, extent
from . import checks, foreign, meta, storages

LIST_LIKE = (bytearray, memoryview, number_array, ForeignArray)  # types that `tensor` reads as lists of numbers
BUFFERS = (bytes, *LIST_LIKE)  # types whose memory `asarray` shares
MAX_DEPTH = 64  # most dimensions of a NumPy array
NUMPY_HINT = "convert with .astype(np.float32); pass complex numbers as .real and .imag"


def kind_of(array: Any, name: str) -> dtype:
    """Return an array's dtype.  Raises ArgumentTypeError if torch has none, ArgumentError for a foreign byte order."""
    element_type = dtypes.from_numpy(array.dtype)
    if not array.dtype.isnative:
        raise ArgumentError(
            f"the array's byte order is not that of this machine: {array.dtype.str}{list(array.shape)}",
            hint="convert with array.astype(array.dtype.newbyteorder('='))",
            operator=name,
        )
    if element_type is None:
        raise ArgumentTypeError(f"NumPy type {array.dtype} has no torch type", hint=NUMPY_HINT, operator=name)
    return element_type


def host_array(data: Any, wanted: dtype | None, name: str) -> Any:
    """Copy `data` to a contiguous NumPy array, of the type `wanted` or, if that is None, of the data's own type.

    Raises: ArgumentError, ArgumentTypeError, DtypeError or ValueRangeError, with the position of the fault in the data.
    """
    array = _of_one_kind(data, wanted)
    if array is not None:
        return array
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
        if isinstance(leaf, LIST_LIKE) and array.dtype.kind in "iuf":  # Python numbers have types of their own
            data = array.tolist()
            array = np.array(data, order="C")
    except ValueError as error:
        _check_even(data, name, ())
        fact = f"NumPy cannot make an array of the data: {error}"
        raise ArgumentError(fact, operator=name, hint="stack() joins tensors") from error
    if array.dtype.kind not in "biuf" or array.dtype == np.uint64 and not is_numpy:
        array = _of_large_integers(array, data, wanted, name)
    if wanted is not None:
        if not is_numpy and wanted.category == dtypes.INTEGER and array.dtype.kind == "f":
            values = [converted(name, wanted, value) for value in np.array(data, dtype=object).reshape(-1)]
            return np.array(values, dtype=wanted.numpy).reshape(array.shape)
        if not is_numpy:
            _check_fits(array, wanted, name)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.ascontiguousarray(rounded(array, wanted)).reshape(array.shape)
    return rounded(array, dtypes.default.floating) if array.dtype == np.float64 and not is_numpy else array


def _of_one_kind(data: Any, wanted: dtype | None) -> Any:
    """Return the array of a number or a flat list of numbers of one Python type; None if `wanted` is another dtype."""
    kinds = set(map(type, data)) if type(data) in (list, tuple) else {type(data)}
    if len(kinds) != 1:
        return None
    kind = kinds.pop()
    if kind is float:
        own = dtypes.default.floating
        is_exact = own.itemsize >= 4  # otherwise a half type would be rounded twice
    elif kind is int:
        own, is_exact = dtypes.int64, True
    elif kind is bool:
        own, is_exact = dtypes.bool_, True
    else:
        return None
    if not is_exact or wanted is not None and wanted is not own:
        return None
    if kind is float:
        with np.errstate(over="ignore"):
            return np.array(data, own.numpy)
    try:
        return np.array(data, own.numpy)
    except OverflowError:  # _refuse_leaf raises: an integer does not fit in int64
        _refuse_leaf(data, "tensor", ())
        return None


def _of_large_integers(array: Any, data: Any, wanted: dtype | None, name: str) -> Any:
    """Return the array of numbers, some of which do not fit in int64, for uint64 and floating types.

    array: NumPy's array of the data.  Raises an error for the first entry that is not supported.
    """
    own = _common_type(data)
    kind = own and (wanted or own)
    if kind is None or not (kind is dtypes.uint64 or kind.is_floating_point):
        _refuse_leaf(data, name, ())
        return array
    try:
        return np.array(data, np.uint64 if kind is dtypes.uint64 else np.float64)
    except OverflowError as error:
        largest = max(np.array(data, dtype=object).reshape(-1), key=abs)
        raise ValueRangeError(
            f"data does not fit in {kind.name}: {largest}", hint="pass smaller numbers", operator=name
        ) from error


def _first_leaf(data: Any, name: str) -> Any:
    """Return the first entry that is not a list.  Raises ArgumentError if the lists nest too deeply."""
    depth, leaf = 0, data
    while isinstance(leaf, (list, tuple)) and leaf:
        leaf = leaf[0]
        depth += 1
        if depth > MAX_DEPTH:
            raise ArgumentError(
                f"too many dimensions: more than {MAX_DEPTH} lists are nested in {shown(type(data))}",
                hint="check whether the list contains itself",
                operator=name,
            )
    return leaf


def _has_tensors(data: Any) -> bool:
    """Return whether nested lists, to the depth of MAX_DEPTH, contain a tensor."""
    level = data if isinstance(data, (list, tuple)) else ()
    for _ in range(MAX_DEPTH):
        if any(isinstance(entry, TensorBase) for entry in level):
            return True
        level = [entry for nested in level if isinstance(nested, (list, tuple)) for entry in nested]
        if not level:
            return False
    return False


def _without_tensors(data: Any, name: str, position: tuple[int, ...]) -> Any:
    """Return nested lists in which tensors of one element are replaced by numbers."""
    if isinstance(data, TensorBase):
        if data.numel() != 1:
            raise ArgumentError(
                "only one element tensors can be converted to Python scalars, "
                f"data{_at(position)} is {data.describe()}",
                hint="stack() joins tensors",
                operator=name,
            )
        number: Any = data
        return number.item()
    if not isinstance(data, (list, tuple)) or len(position) > MAX_DEPTH:
        return data
    return [_without_tensors(entry, name, (*position, at)) for at, entry in enumerate(data)]


def _common_type(data: Any) -> dtype | None:
    """Return the type that numbers and tensors in nested lists promote to, None if they contain anything else."""
    if isinstance(data, TensorBase):
        return data.dtype
    if isinstance(data, (list, tuple)):
        types = [_common_type(entry) for entry in data]
        known = [element_type for element_type in types if element_type is not None]
        return reduce(dtypes.promote, known) if known and len(known) == len(types) else None
    if isinstance(data, np.generic):
        return dtypes.from_numpy(data.dtype)
    return dtypes.of_scalar(data, dtypes.default.floating) if isinstance(data, (bool, int, float)) else None


def _at(position: tuple[int, ...]) -> str:
    return "".join(f"[{index}]" for index in position)


def _length(value: Any) -> int | None:
    """Return the number of entries of one level of nested data, None for a number."""
    if isinstance(value, TensorBase) or hasattr(value, "ndim"):
        return len(value) if value.ndim else None
    return len(value) if isinstance(value, (list, tuple)) else None


def _check_even(data: Any, name: str, position: tuple[int, ...]) -> None:
    """Raise ArgumentError or ArgumentTypeError for the first entry whose shape differs from the entry before it."""
    if not isinstance(data, (list, tuple)):
        return
    for index, entry in enumerate(data):
        first, here = _length(data[0]), _length(entry)
        at = _at((*position, index))
        if (first is None) != (here is None):
            raise ArgumentTypeError(
                f"data{at} is {shown(entry)} and data{_at((*position, 0))} is {shown(data[0])}: one of them is a "
                "sequence, the other is not",
                hint="nest all entries to the same depth",
                operator=name,
            )
        if first != here:
            raise ArgumentError(
                f"the data's nested sequences differ in length: expected sequence of length {first} at dim "
                f"{len(position) + 1} (got {here}, data{at})",
                hint="pad the shorter ones, or make a tensor of each",
                operator=name,
            )
    for index, entry in enumerate(data):
        _check_even(entry, name, (*position, index))


def _refuse_leaf(data: Any, name: str, position: tuple[int, ...]) -> None:
    """Raise an error for the first entry that is not a supported number."""
    if isinstance(data, (list, tuple)):
        for index, entry in enumerate(data):
            _refuse_leaf(entry, name, (*position, index))
    elif isinstance(data, (np.ndarray, np.generic)):
        if dtypes.from_numpy(data.dtype) is None:
            raise ArgumentTypeError(f"NumPy type {data.dtype} has no torch type", hint=NUMPY_HINT, operator=name)
    elif isinstance(data, str):
        # as in PyTorch, whose first look is at the first entry of each list
        error_class = ArgumentError if position and not any(position) else ArgumentTypeError
        fact = f"could not infer dtype of str, data{_at(position)} is {shown(data)}"
        raise error_class(fact, hint="convert it first, as in float(text)")
    elif isinstance(data, bytes):
        fact = f"could not infer dtype of bytes, data{_at(position)} is {shown(data)}"
        raise ArgumentTypeError(fact, hint="convert it first, as in list(data)", operator=name)
    elif isinstance(data, complex):
        raise DtypeError(
            f"data{_at(position)} is a complex number, which is not supported: {data}",
            hint="pass .real and .imag separately",
            operator=name,
        )
    elif isinstance(data, int) and not -(2**63) <= data < 2**63:
        fact = f"data{_at(position)} does not fit in int64: {data}"
        raise ArgumentError(fact, hint="pass it as a float", operator=name)
    elif not isinstance(data, (bool, int, float, TensorBase)):
        raise DtypeError(
            f"could not infer dtype of {type(data).__name__}, data{_at(position)} is {shown(data)}",
            hint="pass numbers, nested lists of them, a NumPy array or a tensor",
            operator=name,
        )


def _check_fits(array: Any, wanted: dtype, name: str) -> None:
    """Raise ValueRangeError for integers beyond the range of an integer type."""
    if wanted.category == dtypes.INTEGER and array.size:
        for bound in (array.min(), array.max()):
            converted(name, wanted, bound.item())


# from data


def from_array(array: Any, name: str = "tensor") -> Any:
    """Make a CPU tensor that shares the memory of a row-major NumPy array."""
    layout = dense_layout(CPU, kind_of(array, name), Size(array.shape))
    plain = array.view(layout.dtype.numpy, np.ndarray)  # a view: the program may change the shape of its own array
    return new_tensor(storage.of_array(plain, layout), layout)


def from_numpy(ndarray: Any) -> Any:
    """Return a CPU tensor that shares the memory of a NumPy array, strides included.

    Shapes: those of the array.
    Raises: ArgumentTypeError if it is not an array or its type is unknown, ArgumentError for negative strides.
    Example:
        >>> import numpy
        >>> array = numpy.zeros(3)
        >>> x = torch.from_numpy(array)
        >>> array[0] = 7
        >>> x
        tensor([7., 0., 0.], dtype=torch.float64)
    """
    return sharing(ndarray, "from_numpy")


def sharing(array: Any, name: str) -> Any:
    """Return a CPU tensor over the memory of a NumPy array, for the operator `name`; read-only arrays are copied."""
    if not isinstance(array, np.ndarray):
        raise ArgumentTypeError(
            f"expected np.ndarray (got {type(array).__name__}): {shown(array)}",
            hint="use torch.as_tensor(...) for tensors, lists and numbers",
            operator=name,
        )
    element_type = kind_of(array, name)
    if not array.flags.writeable:
        callers.warn(
            f"{name}: the given NumPy array is not writable, and tensors are: its values are copied; "
            "array.copy() does so without this warning"
        )
        array = array.copy()
    if array.flags.c_contiguous:
        return from_array(array, name)
    if any(step < 0 or step % element_type.itemsize for step in array.strides):
        raise ArgumentError(
            f"strides of {array.strides} bytes are negative, or not a multiple of {element_type.itemsize} bytes",
            hint="copy the array first: np.ascontiguousarray(array)",
            operator=name,
        )
    strides = tuple(step // element_type.itemsize for step in array.strides)
    nbytes = extent(array.shape, strides) * element_type.itemsize
    flat = array_at(address_of(array), dtypes.uint8, (nbytes,), None, array)
    return tensor_over(host_storage.from_array(flat), element_type, array.shape, strides)


def tensor(
    data: Any,
    *,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Return a tensor with a copy of `data`: a number, nested lists, a NumPy array or a tensor.

    dtype: None takes NumPy's for arrays, and bool, int64 or the default floating point type for Python values.
    Shapes: the shape of the data; numbers have no dimensions.
    Host:   waits if the device is a GPU.
    Raises: ArgumentTypeError, DtypeError for data that are not numbers, or of mixed depth; ArgumentError for lists of
            different lengths; ValueRangeError if the type cannot hold a number; DeviceNameError or DeviceIndexError for
            a device that does not exist.
    Example:
        >>> torch.tensor([[1, 2], [3, 4]])
        tensor([[1, 2],
                [3, 4]])
        >>> torch.tensor([0.5, 1], dtype=torch.float64, requires_grad=True)
        tensor([0.5000, 1.0000], dtype=torch.float64, requires_grad=True)
    """
    result = _copied("tensor", data, dtype, device, pin_memory)
    return result if requires_grad is False else as_leaf("tensor", result, requires_grad)


def _copied(name: str, data: Any, wanted: dtype | None, device: Any, pin_memory: bool = False) -> Any:
    wanted = checks.as_dtype(name, wanted)
    try:
        if isinstance(data, TensorBase):
            original: Any = data
            source = original.detach()
            where = source.device_index if device is None else resolve(device)
            return transfer.to(source, where, wanted or source.dtype, copy=True)
        if foreign.is_on_device(data):
            shared = foreign.of_interface(name, data)
            where = shared.device_index if device is None else resolve(device)
            return transfer.to(shared, where, wanted or shared.dtype, copy=True)
        where = resolve(device)
        kept = from_array(host_array(foreign.as_array(name, data), wanted, name), name)
        if pin_memory is not False:
            checks.flag(name, "pin_memory", pin_memory)
            kept = kept.pin_memory() if pin_memory else kept
        return transfer.to(kept, where, kept.dtype)
    except FlambeauError as error:
        if meta.is_meant(device):
            return transfer.on_meta(_copied(name, data, wanted, "cpu"))
        _retell(error, name)
        raise


def _retell(error: FlambeauError, name: str) -> None:
    """Re-raise device errors under the factory's name."""
    if isinstance(error, checks.OF_DEVICES):
        name_error(error, name)


def as_tensor(data: Any, dtype: dtype | None = None, device: Any = None) -> Any:
    """Convert `data` to a tensor, without a copy if type and device allow it.

    Memory is shared with NumPy arrays and with objects that have `__cuda_array_interface__`.
    Shapes: the shape of the data; numbers have no dimensions.
    Host:   waits if host data goes to a GPU.
    Raises: ArgumentTypeError or DtypeError for data of another type, ArgumentError for nested lists of different
            lengths, DeviceNameError or DeviceIndexError for a device that does not exist.
    Example:
        >>> x = torch.ones(2)
        >>> torch.as_tensor(x) is x
        True
        >>> torch.as_tensor([1, 2], dtype=torch.float32)
        tensor([1., 2.])
    """
    return _as_tensor("as_tensor", data, dtype, device)


def _as_tensor(name: str, data: Any, wanted: dtype | None, device: Any) -> Any:
    wanted = checks.as_dtype(name, wanted)
    data = storages.elements_of(data)
    if isinstance(data, np.ndarray):
        data = sharing(data, name)
    elif foreign.is_on_device(data):
        data = foreign.of_interface(name, data)
    elif not isinstance(data, TensorBase):
        return _copied(name, data, wanted, device)
    if device is not None and (meta.is_meta(data) or meta.is_meant(device)):
        with naming(name):
            return data.to(device, wanted or data.dtype)
    with naming(name):
        where = resolve(device) if device is not None or not data.is_cuda else data.device_index
    return transfer.to(data, where, wanted or data.dtype)


def of_buffer(
    name: str, buffer: Any, wanted: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Any:
    """Make a tensor over the memory of an object with the buffer interface."""
    element_type = checks.as_dtype(name, wanted)
    if element_type is None:
        raise ArgumentTypeError("dtype must be a torch.dtype, got None", hint="as in torch.uint8", operator=name)
    try:
        view = memoryview(buffer)
    except TypeError as error:
        raise ArgumentError(
            f"object does not implement Python buffer protocol: {shown(buffer)}",
            hint="use torch.tensor(...) for lists",
            operator=name,
        ) from error
    if not view.c_contiguous:
        raise ArgumentError(
            f"could not retrieve a contiguous buffer: this one has shape {list(view.shape or ())} and strides "
            f"{list(view.strides or ())} in bytes",
            hint="torch.from_numpy(...) shares NumPy arrays with strides; bytearray(...) copies other buffers",
            operator=name,
        )
    size, have = element_type.itemsize, view.nbytes
    wanted_bytes = have - offset if count < 0 else count * size
    if not have or not count or not 0 <= offset < have or offset + wanted_bytes > have or wanted_bytes % size:
        raise ArgumentError(
            f"a buffer of {have} bytes does not hold {'whole elements' if count < 0 else f'{count} elements'} of "
            f"{element_type.name} from offset {offset} on",
            hint=f"an element has {size} bytes: pass a smaller offset or count, or a longer buffer",
            operator=name,
        )
    if view.readonly:
        callers.warn(
            f"{name}: the given buffer is not writable, and a write to the tensor over it is undefined; "
            "use a bytearray, or clone() the tensor"
        )
    array = np.frombuffer(buffer, element_type.numpy, count, offset)
    result = from_array(array, name)
    return result if requires_grad is False else as_leaf(name, result, requires_grad)


def asarray(
    obj: Any, *, dtype: dtype | None = None, device: Any = None, copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Any:  # fmt: skip
    """Convert an object to a tensor: like `as_tensor`, with a choice of whether to copy.

    copy: True always copies, False never, None only if needed.  Bytes-like objects are read as elements of `dtype`.
    requires_grad: None and True keep a tensor in its graph, False detaches it.  True makes a leaf of other data.
    Shapes: the shape of the data.
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
    if isinstance(obj, BUFFERS):
        obj = of_buffer("asarray", obj, dtype or dtypes.default.floating)
    source: Any = obj
    data = source.detach() if isinstance(obj, TensorBase) and requires_grad is False else obj
    result = _as_tensor("asarray", data, dtype, device)
    is_new = result is not data and not isinstance(data, np.ndarray)
    if copy is False and (is_new or (isinstance(data, np.ndarray) and result.address() != address_of(data))):
        raise ArgumentError(
            f"can't make {result.describe()} of {shown(data)} without copying, and copy is False",
            hint="leave out copy=False",
            operator="asarray",
        )
    result = result.clone() if copy and not is_new else result
    return result if requires_grad is None or requires_grad is False else as_leaf("asarray", result, requires_grad)


# from sizes


def _explained(error: Exception, name: str, size: Any, dtype: Any, where: Any, pin_memory: Any) -> Any:
    """Return the result of a failed call of `unset` with `dtype` converted, or raise a better error than `error`."""
    element_type = checks.factory_dtype(name, size, dtype)
    if element_type is not dtype:
        return unset(name, size, element_type, where, pin_memory)
    if meta.is_meant(where) and isinstance(error, NotSupportedError):
        return transfer.on_meta(unset(name, size, dtype, "cpu"))
    if isinstance(error, checks.OF_DEVICES):
        name_error(error, name)
    if not isinstance(error, FlambeauError):
        _check_pinned(name, where, pin_memory)
    try:
        raise error
    finally:
        del error  # drop the error: it would form a cycle with this frame and keep the callers' objects alive


explain_by(_explained)


def _check_pinned(name: str, device: Any, pin_memory: Any) -> None:
    """Raise ArgumentTypeError or ArgumentError unless a tensor on the device can be pinned."""
    checks.flag(name, "pin_memory", pin_memory)
    if pin_memory and resolve(device) >= 0:
        raise ArgumentError(
            f"only CPU tensors can be pinned, and device is cuda:{resolve(device)}",
            hint="leave out pin_memory",
            operator=name,
        )


def as_leaf(name: str, tensor: Any, requires_grad: bool) -> Any:
    """Return a factory's result as a leaf, for a factory called with requires_grad=True."""
    checks.leaf(name, tensor, requires_grad)
    return tensor.requires_grad_(requires_grad)


def into(make: Any, out: Any, layout: Any, options: tuple[Any, Any, bool, bool], *args: Any, **own: Any) -> Any:
    """Call a factory with out= or layout=.

    out: receives the values; if it has no elements, it is resized to the result's shape.
    options: the factory's dtype, device, requires_grad and pin_memory.
    Raises: ArgumentTypeError, AutogradError, DeviceMismatchError, DtypeError or ShapeError if `out` does not fit.
    """
    name, (element_type, device, requires_grad, pin_memory) = make.__name__, options
    formats.check_layout(name, layout)
    if out is None:
        return make(*args, dtype=element_type, device=device, requires_grad=requires_grad, pin_memory=pin_memory, **own)
    checks.tensor(name, "out", out)
    element_type, device = element_type or out.dtype, out.device if device is None else device
    if "generator" in own:  # an error must come before the draw: a call on meta has the result's type and shape
        unseeded = {key: value for key, value in own.items() if key != "generator"}
        check_out(name, make(*args, dtype=element_type, device="meta", **unseeded), out, empty(0, device=device).device)
    result = make(*args, dtype=element_type, device=device, **own)
    check_out(name, result, out, result.device)
    if out.shape != result.shape:
        out._storage, out._layout, out._offset = result._storage, result._layout, result._offset
        out._counter = result._counter
        out._counter.version += 1
    else:
        with GradMode(False):
            out.copy_(result)
    return out if requires_grad is False else as_leaf(name, out, requires_grad)


def check_out(name: str, result: Any, out: Any, device: Any) -> None:
    """Raise an error if `out` cannot receive the result of a factory, which is computed on a device."""
    if out.requires_grad and is_grad_enabled():
        raise AutogradError(
            f"out, {out.describe()}, requires a gradient, which would be lost",
            hint="call it under torch.no_grad(), or without out=",
            operator=name,
        )
    if result.dtype is not out.dtype:
        raise DtypeError(
            f"dtype {result.dtype.name} does not match dtype of out parameter ({out.dtype.name})",
            hint="leave out dtype=",
            operator=name,
        )
    if device != out.device:
        raise DeviceMismatchError(
            f"device {device} does not match device of out parameter ({out.device})",
            hint="leave out device=",
            operator=name,
        )
    if out.numel() and out.shape != result.shape:
        raise ShapeError(
            f"the result has shape {list(result.shape)}, and out has shape {list(out.shape)}",
            hint="pass a tensor of that shape, or torch.empty(0)",
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
    """Return an uninitialized tensor.

    sizes: ints, or one sequence of ints, which may also be passed as `size`.  dtype: None for the default dtype.
    device: None for the default device.
    Shapes: the listed sizes.
    Host:   returns at once.
    Raises: ArgumentTypeError for sizes that are not ints, ValueRangeError for a negative one, DeviceNameError or
            DeviceIndexError for a device that does not exist, OutOfMemoryError if the device has too little memory.
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
    result = unset("empty", sizes, dtype, device, pin_memory)
    if memory_format is not None:
        formats.check("empty", memory_format)
        result = alias_of(result, result.shape, formats.strides_in("empty", memory_format, result.shape), 0)
    return result if requires_grad is False else as_leaf("empty", result, requires_grad)


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
    """Return an uninitialized tensor with the shape `size` and the strides `stride`, in elements.

    Shapes: the result has the shape `size`.
    Host:   returns at once.
    Raises: ShapeError unless there is one stride for each size, ValueRangeError for a negative number, DeviceNameError
            or DeviceIndexError for a device that does not exist, OutOfMemoryError if the device has too little memory.
    Example:
        >>> torch.empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """
    formats.check_layout("empty_strided", layout)
    checks.strided("empty_strided", size, stride)
    flat = unset("empty_strided", (extent(size, stride),), dtype, device, pin_memory)
    result = alias_of(flat, size, stride, 0)
    return result if requires_grad is False else as_leaf("empty_strided", result, requires_grad)


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
    """Return a tensor of zeros.

    Shapes: the listed sizes.
    Host:   returns at once.
    Raises: ArgumentTypeError for sizes that are not ints, ValueRangeError for a negative one, DeviceNameError or
            DeviceIndexError for a device that does not exist, OutOfMemoryError if the device has too little memory.
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
    result = run_into("fill", "zeros", unset("zeros", sizes, dtype, device, pin_memory), 0)
    return result if requires_grad is False else as_leaf("zeros", result, requires_grad)


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
    """Return a tensor of ones.

    Shapes: the listed sizes.
    Host:   returns at once.
    Raises: ArgumentTypeError for sizes that are not ints, ValueRangeError for a negative one, DeviceNameError or
            DeviceIndexError for a device that does not exist, OutOfMemoryError if the device has too little memory.
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
    result = run_into("fill", "ones", unset("ones", sizes, dtype, device, pin_memory), 1)
    return result if requires_grad is False else as_leaf("ones", result, requires_grad)


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
    """Return a tensor whose elements are all `fill_value`, a number or a tensor of one element.

    dtype: None is bool, int64 or the default floating point type, depending on the kind of the value.
    Shapes: the result has the shape `size`.
    Host:   returns at once.
    Raises: ArgumentTypeError if `fill_value` is neither a number nor a tensor of one element, ValueRangeError for a
            negative size, or if the type cannot hold the value, DeviceNameError or DeviceIndexError for a device that
            does not exist.
    Example:
        >>> torch.full((2, 3), 7)
        tensor([[7, 7, 7],
                [7, 7, 7]])
    """
    if out is not None or layout is not None:
        options = (dtype, device, requires_grad, pin_memory)
        return into(full, out, layout, options, size, fill_value)
    if dtype is dtypes.uint64 and type(fill_value) is int and 2**63 <= fill_value < 2**64:
        fill_value = tensor(fill_value, dtype=dtype)  # operators take Python integers only within int64
    is_tensor = isinstance(fill_value, TensorBase)
    if is_tensor and fill_value.numel() != 1 or not is_tensor and type(fill_value) not in (int, float, bool):
        checks.fill_value("full", fill_value)
        fill_value = checks.plain(fill_value)
    element_type = dtype or _number_type(fill_value)
    if type(size) is int:
        checks.sizes("full", size)
    result: Any = unset("full", (size,), element_type, device, pin_memory)
    if is_tensor:
        with naming("full"):
            result.copy_(fill_value.detach().reshape(()))
    else:
        run_into("fill", "full", result, fill_value)
    return result if requires_grad is False else as_leaf("full", result, requires_grad)


def _number_type(value: Any) -> dtype:
    """Return the type of a tensor of one number: bool, int64 or the default floating point type."""
    if not isinstance(value, TensorBase):
        return dtypes.of_scalar(value, dtypes.default.floating)
    if value.dtype.is_floating_point:
        return dtypes.default.floating
    return value.dtype if value.dtype is dtypes.bool_ else dtypes.int64


def of_number(name: str, what: str, value: Any, device: Any) -> Any:
    """Return a 0-dim tensor that keeps a number's precision.  Raises ArgumentTypeError for anything else."""
    if isinstance(value, TensorBase) or not isinstance(value, numbers.Real):
        raise ArgumentTypeError(
            f"{what} must be a Tensor or a number, got {shown(value)}",
            hint="use torch.tensor(...) to make a tensor of a list",
            operator=name,
        )
    plain = checks.plain(value)
    element_type = dtypes.of_scalar(plain, dtypes.float64)
    return run_into("fill", name, unset(name, ((),), element_type, device), plain)


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
    """Return the numbers from start (0 by default) to end, which is not included, in steps of `step`.

    dtype: None is int64 if all three numbers are integers, else the default floating point type.
    Shapes: a vector of ceil((end - start) / step) elements.
    Host:   returns at once.
    Raises: ArgumentTypeError for anything but numbers, ValueRangeError for a step of 0 or of the wrong sign and for
            bounds that are not finite, NotSupportedError for a dtype of bool.
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
        first, last, step = checks.plain_steps(first, last, step)
    whole = all(isinstance(number, Integral) for number in (first, last, step))
    element_type = dtype or (dtypes.int64 if whole else dtypes.default.floating)
    if not whole and checks.as_dtype("arange", element_type) is dtypes.int64:  # truncate the bounds first
        whole = True
        first, last, step = (converted("arange", dtypes.int64, number) for number in (first, last, step))
        checks.steps(first, last, step)
    count = -(-(last - first) // step) if whole else ceil((last - first) / step)
    result = unset("arange", (count,), element_type, device, pin_memory)
    checks.not_bool("arange", result.dtype)
    run_into("arange", "arange", result, first, step)
    return result if requires_grad is False else as_leaf("arange", result, requires_grad)


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
    """Return `steps` evenly spaced numbers from start to end, both included.

    Shapes: a vector of `steps` elements.
    Host:   returns at once.
    Raises: ArgumentTypeError if an end is not a number or `steps` not an int, ValueRangeError if `steps` is negative.
    Example:
        >>> torch.linspace(0, 1, steps=5)
        tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    if out is not None or layout is not None:
        options = (dtype, device, requires_grad, pin_memory)
        return into(linspace, out, layout, options, start, end, steps)
    start, end = checks.scalar("linspace", "start", start), checks.scalar("linspace", "end", end)
    checks.count("linspace", "the number of steps", steps)
    result = unset("linspace", (steps,), dtype, device, pin_memory)
    checks.not_bool("linspace", result.dtype)
    result = run_into("linspace", "linspace", result, start, end)
    return result if requires_grad is False else as_leaf("linspace", result, requires_grad)


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
    """Return a matrix of n rows and m (or n) columns: ones on the diagonal, zeros elsewhere.

    Shapes: [n, m], or [n, n] without m.
    Host:   returns at once.
    Raises: ArgumentTypeError if a size is not an int, ValueRangeError if it is negative.
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
    result = run_into("fill", "eye", unset("eye", (n, n if m is None else m), dtype, device, pin_memory), 0)
    diagonal = alias_of(result, (min(result.shape),), (result.shape[1] + 1,), 0)
    if diagonal.numel():
        one = ones((), dtype=result.dtype, device=result.device)
        transfer.assign(diagonal, one)
    return result if requires_grad is False else as_leaf("eye", result, requires_grad)
