"""Argument validation and its error messages.  Hot paths call it only after a failure.

`name` is the operation as the user called it, `what` the argument.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from math import inf
from typing import Any, TypeVar

from .. import dtypes
from ..core.tensor import TensorBase
from ..dtypes import BY_NAME, dtype
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    DeviceIndexError,
    DeviceNameError,
    DtypeError,
    IndexRangeError,
    NamingError,
    NotSupportedError,
    ShapeError,
    ValueRangeError,
    name_error,
    shown,
)
from ..host import is_numpy_loaded, np
from ..runtime.device import as_device
from ..strides import is_integer, wrap_dim

Instance = TypeVar("Instance")
OF_DEVICES = (DeviceNameError, DeviceIndexError, ArgumentError, ArgumentTypeError)  # errors that a wrong device raises


def tensor(name: str, what: str, value: object) -> None:
    """Raise ArgumentTypeError unless the value is a tensor."""
    if not isinstance(value, TensorBase):
        raise ArgumentTypeError(
            f"{what} must be a Tensor, got {shown(value)}", hint="make one with torch.tensor(...)", operator=name
        )


def number(name: str, what: str, value: Any) -> None:
    """Raise ArgumentTypeError unless the value is a real number, or a tensor of one element."""
    if isinstance(value, numbers.Real) or hasattr(value, "__float__") and getattr(value, "shape", None) == ():
        return
    raise ArgumentTypeError(
        f"{what} must be a number, got {shown(value)}", hint="pass an int or a float", operator=name
    )


def scalar(name: str, what: str, value: Any) -> Any:
    """Return a number, or the value of a 0-dim tensor.  Raises as `number`."""
    number(name, what, value)
    return plain_number(value)


def plain_number(value: Any) -> Any:
    """Return the value of a 0-dim tensor, and anything else unchanged.  Host: waits if the tensor is on a GPU."""
    if isinstance(value, TensorBase):
        number: Any = value
        return number.item()
    return value


def integer(name: str, what: str, value: Any) -> None:
    """Raise ArgumentTypeError unless the value is an integer, of Python or NumPy, or a tensor of one integer."""
    is_one = is_integer(value)
    if is_one and isinstance(value, TensorBase):
        is_one = value.numel() == 1 and not value.dtype.is_floating_point
    if not is_one:
        is_number = isinstance(value, float) or getattr(value, "size", None) == 1  # also of NumPy
        hint = "convert it with int(...)" if is_number else "pass one int"
        raise ArgumentTypeError(f"{what} must be an int, got {shown(value)}", hint=hint, operator=name)


def count(name: str, what: str, value: Any) -> None:
    """Raise ArgumentTypeError unless the value is an integer, ValueRangeError if it is negative."""
    integer(name, what, value)
    if value < 0:
        raise ValueRangeError(f"{what} must not be negative, got {value}", hint="pass 0 or more", operator=name)


def flag(name: str, what: str, value: object) -> None:
    """Raise ArgumentTypeError unless the value is True or False."""
    if not isinstance(value, bool):
        raise ArgumentTypeError(f"{what} must be a bool, got {shown(value)}", hint="pass True or False", operator=name)


def function(name: str, what: str, value: object) -> None:
    """Raise ArgumentTypeError unless the value is callable."""
    if not callable(value):
        raise ArgumentTypeError(f"{what} must be callable, got {shown(value)}", hint="pass a function", operator=name)


def as_dtype(name: str, value: object) -> dtype | None:
    """Return a dtype or None; the types bool, int and float mean bool, int64 and float64.  Raises ArgumentTypeError."""
    if value is not None and not isinstance(value, dtype):
        if isinstance(converted := dtypes.from_type(value), dtype):
            return converted
        name_of = value.removeprefix("torch.") if isinstance(value, str) else ""
        likely = dtypes.float32 if name_of == "float" else BY_NAME.get(name_of)
        hint = f"use {likely or 'one such as torch.float32'}"
        raise ArgumentTypeError(f"dtype must be a torch.dtype, got {shown(value)}", hint=hint, operator=name)
    if value is not None and not value.exists:
        error = dtypes.no_tensors_of(value)
        name_error(error, name)
        try:
            raise error
        finally:
            del error  # drop the error, which would form a cycle with this frame
    return value


def absent(name: str, what: str, value: object) -> None:
    """Raise NotSupportedError if gradients of rows shall be sparse: `what` names the option."""
    flag(name, what, value)
    if value:
        raise NotSupportedError(
            f"{what}=True is not supported",
            hint="leave it out: there are no sparse tensors, and the dense gradient has the same values",
            operator=name,
        )


def accelerator(name: str, device: Any) -> None:
    """Raise ArgumentError unless `device` is None or a CUDA device, which need not exist."""
    if device is not None and as_device(device).type != "cuda":
        raise ArgumentError(
            f"device must be a CUDA device, got {shown(device)}", hint="leave device out", operator=name
        )


def listed(name: str, what: str, of: str, values: Any) -> tuple[Any, ...]:
    """Return the entries of an iterable as a tuple.  Raises ArgumentTypeError for a tensor or a string."""
    is_list = isinstance(values, Iterable) and not isinstance(values, (TensorBase, str))
    if not is_list or getattr(values, "ndim", 1) == 0:  # of a NumPy array
        raise ArgumentTypeError(
            f"{what} must be a list of {of}, got {shown(values)}", hint="pass a list: [...]", operator=name
        )
    return tuple(values)


def instances(name: str, what: str, cls: type[Instance], values: Any, hint: str) -> list[Instance]:
    """Return a list of instances of a class.  Raises ArgumentTypeError for anything else."""
    parts = list(listed(name, what, f"{cls.__name__.lower()}s", values))
    for index, part in enumerate(parts):
        if not isinstance(part, cls):
            raise ArgumentTypeError(
                f"{what}[{index}] must be a {cls.__name__}, got {shown(part)}", hint=hint, operator=name
            )
    return parts


def tensors(name: str, what: str, values: Any) -> tuple[Any, ...]:
    """Return the tensors of a list as a tuple.  Raises ArgumentTypeError for anything else."""
    entries = listed(name, what, "tensors", values)
    for index, value in enumerate(entries):
        tensor(name, f"{what}[{index}]", value)
    return entries


def entry(name: str, what: str, mapping: Any, key: str) -> Any:
    """Return a dict's value for a key.  Raises ArgumentTypeError if it is not a dict, NamingError without the key."""
    if not hasattr(mapping, "keys"):
        raise ArgumentTypeError(
            f"{what} must be a dict, got {shown(mapping)}", hint=f"pass one with {key!r}", operator=name
        )
    if key not in mapping:
        keys = ", ".join(map(repr, mapping)) or "none"
        raise NamingError(f"{what} has no {key!r}; its keys: {keys}", hint=f"pass one with {key!r}", operator=name)
    return mapping[key]


def sizes(name: str, values: Any) -> None:
    """Raise ArgumentTypeError unless the values are sizes, separate or in one sequence; ValueRangeError if negative."""
    if not isinstance(values, (tuple, list)):
        raise ArgumentTypeError(
            f"a size must be a tuple of ints, got {shown(values)}", hint="as in (2, 3)", operator=name
        )
    whole = values[0] if len(values) == 1 and isinstance(values[0], (tuple, list)) else values
    for index, size in enumerate(whole):
        is_int = is_integer(size) or index and isinstance(size, bool)  # as in PyTorch, only the first is checked
        if not is_int or getattr(size, "ndim", False):
            raise ArgumentTypeError(
                f"sizes must be ints, size {index} is {shown(size)} (all: {shown(list(whole))})",
                hint="as in (2, 3)",
                operator=name,
            )
    if any(size < 0 for size in whole):
        raise ValueRangeError(
            f"trying to create a tensor with negative dimension: {list(whole)}",
            hint="sizes are 0 or more",
            operator=name,
        )


def named(name: str, sizes: tuple[Any, ...], size: Any) -> tuple[Any]:
    """Return a size passed by keyword.  Raises ArgumentTypeError if sizes are passed by position too."""
    if sizes:
        raise ArgumentTypeError(
            f"got two sizes, {list(sizes)} and size={shown(size)}", hint="pass one of them", operator=name
        )
    return (size,)


def factory_dtype(name: str, size: Any, wanted: Any) -> dtype | None:
    """Return the dtype of a factory's result.  Raises an error if the size or the dtype is wrong."""
    element_type = as_dtype(name, wanted)
    if not size:
        raise ArgumentTypeError("got no size", hint=f"as in {name}(2, 3); {name}(()) has no dimensions", operator=name)
    sizes(name, size)
    return element_type


def leaf(name: str, value: Any, requires_grad: Any) -> None:
    """Raise ArgumentTypeError unless requires_grad is a bool, DtypeError if it is True and `value` is not a float."""
    flag(name, "requires_grad", requires_grad)
    if requires_grad and not value.dtype.is_floating_point:
        raise DtypeError(
            f"only Tensors of floating point dtype can require gradients, this is {value.describe()}",
            hint="use a dtype such as torch.float32, or convert with .float()",
            operator=name,
        )


# values


def steps(first: Any, last: Any, step: Any) -> None:
    """Raise ValueRangeError if `arange` does not accept these numbers."""
    bounds = f"{shown(first)}, {shown(last)}, {shown(step)}"
    for what, value in (("start", first), ("end", last), ("step", step)):
        if not -inf < value < inf:
            raise ValueRangeError(
                f"unsupported range, {what} is {value}: start, end and step are {bounds}",
                hint="pass finite numbers",
                operator="arange",
            )
    if step == 0:
        raise ValueRangeError(
            f"step must be nonzero, got start, end and step {bounds}",
            hint="pass another step, or use linspace with a number of points",
            operator="arange",
        )
    try:
        count = (last - first) / step
    except OverflowError:
        count = inf
    if count < 0:
        raise ValueRangeError(
            f"upper bound and lower bound inconsistent with step sign: start, end and step are {bounds}",
            hint=f"use step={-step}, or exchange the bounds",
            operator="arange",
        )
    if count == inf:
        raise ValueRangeError(
            f"too many numbers from start to end: start, end and step are {bounds}",
            hint="use a larger step",
            operator="arange",
        )


def plain_steps(first: Any, last: Any, step: Any) -> list[Any]:
    """Return the three as numbers, tensors without dimensions by their values.

    Raises: ArgumentTypeError, or ValueRangeError if `arange` does not accept them.
    """
    given = ("start", first), ("end", last), ("step", step)
    for what, value in given:
        number("arange", what, value)
    found = [plain_number(value) for _, value in given]
    steps(*found)
    return found


def not_bool(name: str, wanted: dtype) -> None:
    """Raise NotSupportedError for the type bool."""
    if wanted is dtypes.bool_:
        raise NotSupportedError(
            f"not implemented for {wanted}",
            hint="pass dtype=torch.int64, and convert the result with .bool()",
            operator=name,
        )


def fill_value(name: str, value: Any) -> None:
    """Raise ArgumentTypeError unless the value is a number, or a tensor of one element."""
    if isinstance(value, TensorBase) and value.numel() == 1:
        return
    if isinstance(value, TensorBase) or not isinstance(plain(value), numbers.Real):
        is_several = hasattr(value, "__len__") and not isinstance(value, (str, bytes))
        raise ArgumentTypeError(
            f"the value must be a number or a tensor of one element, got {shown(value)}",
            hint="use torch.tensor(...) for several values" if is_several else "pass a number, such as 1.0",
            operator=name,
        )


def plain(value: Any) -> Any:
    """Convert a NumPy scalar to the Python number; return anything else unchanged."""
    return value.item() if is_numpy_loaded() and isinstance(value, np.generic) else value


def strided(name: str, size: Any, stride: Any) -> None:
    """Raise ArgumentTypeError, ValueRangeError or ShapeError unless there are valid sizes, and a stride for each."""
    for what, values in (("size", size), ("stride", stride)):
        if not isinstance(values, (tuple, list)):
            raise ArgumentTypeError(
                f"{what} must be a tuple of ints, got {shown(values)}", hint="as in (2, 3)", operator=name
            )
        for place, value in enumerate(values):
            integer(name, f"an entry of {what}", int(value) if place and isinstance(value, bool) else value)
            if value < 0:
                raise ValueRangeError(
                    f"{what} must not have negative entries: {list(values)}",
                    hint="use flip() to reverse a dimension",
                    operator=name,
                )
    if len(size) != len(stride):
        raise ShapeError(
            f"dimensionality of size {list(size)} must match dimensionality of stride {list(stride)}",
            hint="pass one stride, in elements, for each size",
            operator=name,
        )


def fill(value: Any) -> None:
    """Raise ArgumentTypeError or ShapeError unless `fill_` accepts the value: a number or a 0-dim tensor."""
    if isinstance(value, TensorBase):
        if value.ndim:
            raise ShapeError(
                f"only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions: "
                f"{value.describe()}",
                hint="use copy_()",
                operator="fill_",
            )
    else:
        fill_value("fill_", value)


def no_scalar(name: str, value: TensorBase) -> ValueRangeError:
    """Return the error for a tensor that should have one element, and has another number of them."""
    fact = f"a Tensor with {value.numel()} elements cannot be converted to Scalar"
    fact = fact if name == "item" else f"only one element tensors can be converted to Python scalars, {fact}"
    return ValueRangeError(
        f"{fact}: {value.describe()}",
        hint="use tolist(), or take one element first",
        operator=name,
    )


def no_index(value: TensorBase) -> ArgumentTypeError:
    """Return the error for a tensor that is used as a list's index and is not one integer."""
    return ArgumentTypeError(
        f"only integer tensors of a single element can be converted to an index, this is {value.describe()}",
        hint="convert it with int(...)" if value.numel() == 1 else "take one element, or tolist()",
        operator="index",
    )


def dimension(name: str, dim: Any, of: TensorBase) -> None:
    """Raise ArgumentTypeError or IndexRangeError unless the tensor has the dimension."""
    integer(name, "dim", dim)
    wrap_dim(dim, of.ndim, name)
    if not of.ndim:
        raise IndexRangeError(
            f"Dimension specified as {dim} but tensor has no dimensions", hint="leave dim out", operator=name
        )


def expandable(name: str, small: tuple[int, ...], whole: tuple[int, ...]) -> None:
    """Raise ShapeError unless the small shape broadcasts to the whole one."""
    if len(small) > len(whole) or any(a not in (1, b) for a, b in zip(reversed(small), reversed(whole))):
        raise ShapeError(
            f"size {list(small)} is not expandable to size {list(whole)}",
            hint="each size must be the tensor's or 1, counted from the last dimension",
            operator=name,
        )
