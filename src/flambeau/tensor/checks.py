"""What a wrong argument is told as.  Where time counts, a call asks here only after it has failed.

`name` is the operation as the user called it, `what` the argument.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from math import isfinite
from typing import Any

from .. import dtypes
from ..core.tensor import TensorBase
from ..dtypes import BY_NAME, dtype
from ..errors import (
    LACKING,
    ArgumentError,
    ArgumentTypeError,
    DeviceIndexError,
    DeviceNameError,
    DtypeError,
    NamingError,
    NotSupportedError,
    ShapeError,
    ValueRangeError,
    shown,
)
from ..host import is_numpy_loaded, np
from ..runtime.device import as_device
from ..strides import wrap_dim

OF_DEVICES = (DeviceNameError, DeviceIndexError, ArgumentError, ArgumentTypeError)  # what a wrong device is


def tensor(name: str, what: str, value: object) -> None:
    """Raise ArgumentTypeError unless it is a tensor."""
    if not isinstance(value, TensorBase):
        raise ArgumentTypeError(
            f"{what} must be a Tensor, got {shown(value)}", hint="make one with torch.tensor(...)", operator=name
        )


def number(name: str, what: str, value: Any) -> None:
    """Raise ArgumentTypeError unless it is a real number, or a tensor of one element."""
    if isinstance(value, numbers.Real) or hasattr(value, "__float__") and getattr(value, "shape", None) == ():
        return
    raise ArgumentTypeError(
        f"{what} must be a number, got {shown(value)}", hint="give an int or a float", operator=name
    )


def integer(name: str, what: str, value: Any) -> None:
    """Raise ArgumentTypeError unless it is an integer, Python's or NumPy's, or a tensor with one."""
    is_one = hasattr(value, "__index__") and not isinstance(value, bool)
    if is_one and isinstance(value, TensorBase):
        is_one = value.numel() == 1 and not value.dtype.is_floating_point
    if not is_one:
        raise ArgumentTypeError(
            f"{what} must be an int, got {shown(value)}", hint="convert it with int(...)", operator=name
        )


def count(name: str, what: str, value: Any) -> None:
    """Raise ArgumentTypeError unless it is an integer, ValueRangeError if it is negative."""
    integer(name, what, value)
    if value < 0:
        raise ValueRangeError(f"{what} must not be negative, got {value}", hint="give 0 or more", operator=name)


def flag(name: str, what: str, value: object) -> None:
    """Raise ArgumentTypeError unless it is True or False."""
    if not isinstance(value, bool):
        raise ArgumentTypeError(f"{what} must be a bool, got {shown(value)}", hint="give True or False", operator=name)


def function(name: str, what: str, value: object) -> None:
    """Raise ArgumentTypeError unless it can be called."""
    if not callable(value):
        raise ArgumentTypeError(f"{what} must be callable, got {shown(value)}", hint="give a function", operator=name)


def kind(name: str, value: object) -> dtype | None:
    """A dtype or None; bool, int and float stand for bool, int64 and float64.  Raises ArgumentTypeError."""
    if value is not None and not isinstance(value, dtype):
        if isinstance(found := dtypes.meant(value), dtype):
            return found
        meant = dtypes.float32 if value == "float" else BY_NAME.get(str(value).removeprefix("torch."))
        hint = f"use {meant or 'one such as torch.float32'}"
        raise ArgumentTypeError(f"dtype must be a torch.dtype, got {shown(value)}", hint=hint, operator=name)
    return value


def absent(name: str, what: str, value: object) -> None:
    """Raise NotSupportedError if an option that does not exist here is True."""
    flag(name, what, value)
    if value:
        raise NotSupportedError(f"{what}=True does not exist", hint=LACKING, operator=name)


def accelerator(name: str, device: Any) -> None:
    """Raise ArgumentError unless `device` is None or a CUDA device, which need not exist."""
    if device is not None and as_device(device).type != "cuda":
        raise ArgumentError(f"device must be a CUDA device, got {shown(device)}", hint="leave it out", operator=name)


def listed(name: str, what: str, of: str, values: Any) -> tuple[Any, ...]:
    """The entries of a list, or of anything else to go through.  Raises ArgumentTypeError for a tensor or a text."""
    if isinstance(values, (TensorBase, str)) or not isinstance(values, Iterable):
        raise ArgumentTypeError(
            f"{what} must be a list of {of}, got {shown(values)}", hint="put it in a list: [...]", operator=name
        )
    return tuple(values)


def tensors(name: str, what: str, values: Any) -> tuple[Any, ...]:
    """The tensors of a list.  Raises ArgumentTypeError for anything else."""
    found = listed(name, what, "tensors", values)
    for place, each in enumerate(found):
        tensor(name, f"{what}[{place}]", each)
    return found


def entry(name: str, what: str, mapping: Any, key: str) -> Any:
    """What a mapping has under a key.  Raises ArgumentTypeError if it is none, NamingError without the key."""
    if not hasattr(mapping, "keys"):
        raise ArgumentTypeError(
            f"{what} must be a dict, got {shown(mapping)}", hint=f"give one with {key!r}", operator=name
        )
    if key not in mapping:
        keys = ", ".join(map(repr, mapping)) or "none"
        raise NamingError(f"{what} has no {key!r}; its keys: {keys}", hint=f"give one with {key!r}", operator=name)
    return mapping[key]


def sizes(name: str, values: Any) -> None:
    """Raise ArgumentTypeError unless these are sizes, one by one or together; ValueRangeError for a negative one."""
    if not isinstance(values, (tuple, list)):
        raise ArgumentTypeError(
            f"a size must be a tuple of ints, got {shown(values)}", hint="as in (2, 3)", operator=name
        )
    whole = values[0] if len(values) == 1 and isinstance(values[0], (tuple, list)) else values
    for place, each in enumerate(whole):
        if isinstance(each, (bool, str)) or not hasattr(each, "__index__") or getattr(each, "ndim", False):
            raise ArgumentTypeError(
                f"sizes must be ints, size {place} is {shown(each)} (all: {list(whole)})",
                hint="as in (2, 3)",
                operator=name,
            )
    if any(each < 0 for each in whole):
        raise ValueRangeError(
            f"trying to create a tensor with negative dimension: {list(whole)}",
            hint="sizes are 0 or more",
            operator=name,
        )


def named(name: str, sizes: tuple[Any, ...], size: Any) -> tuple[Any]:
    """A size that is given by name alone.  Raises ArgumentTypeError if it is given by place too."""
    if sizes:
        raise ArgumentTypeError(
            f"got two sizes, {list(sizes)} and size={shown(size)}", hint="give one of them", operator=name
        )
    return (size,)


def made(name: str, size: Any, wanted: Any) -> dtype | None:
    """The type that is meant.  Raises what is wrong with the size or the type of a factory, if something is."""
    meant = kind(name, wanted)
    if not size:
        raise ArgumentTypeError("got no size", hint=f"as in {name}(2, 3); {name}(()) has no dimensions", operator=name)
    sizes(name, size)
    return meant


def leaf(name: str, value: Any, requires_grad: Any) -> None:
    """Raise ArgumentTypeError unless requires_grad is a bool, DtypeError if it is True and `value` is no float."""
    flag(name, "requires_grad", requires_grad)
    if requires_grad and not value.dtype.is_floating_point:
        raise DtypeError(
            f"only Tensors of floating point dtype can require gradients, this is {value.describe()}",
            hint="use a dtype such as torch.float32, or convert with .float()",
            operator=name,
        )


# values


def steps(first: Any, last: Any, step: Any) -> None:
    """Raise ArgumentTypeError or ValueRangeError if there is no `arange` of these."""
    bounds = f"{shown(first)}, {shown(last)}, {shown(step)}"
    for what, each in (("start", first), ("end", last), ("step", step)):
        number("arange", what, each)
        if not isfinite(each):
            raise ValueRangeError(
                f"unsupported range, {what} is {each}: {bounds}", hint="give finite numbers", operator="arange"
            )
    if step == 0:
        raise ValueRangeError(
            f"step must be nonzero, got start, end and step {bounds}",
            hint="linspace takes the number of steps instead",
            operator="arange",
        )
    if (last - first) * step < 0:
        raise ValueRangeError(
            f"upper bound and lower bound inconsistent with step sign: {bounds}",
            hint=f"use step={-step}, or exchange the bounds",
            operator="arange",
        )


def not_bool(name: str, wanted: dtype) -> None:
    """Raise NotSupportedError for bool."""
    if wanted is dtypes.bool_:
        raise NotSupportedError(
            f"not implemented for {wanted}", hint="make int64, and convert it with .bool()", operator=name
        )


def fill_value(name: str, value: Any) -> None:
    """Raise ArgumentTypeError unless it is a number, or a tensor of one element."""
    if isinstance(value, TensorBase) and value.numel() == 1:
        return
    if isinstance(value, TensorBase) or not isinstance(plain(value), numbers.Real):
        raise ArgumentTypeError(
            f"the value must be a number or a tensor of one element, got {shown(value)}",
            hint="torch.tensor(...) makes a tensor of several values",
            operator=name,
        )


def plain(value: Any) -> Any:
    """A NumPy scalar as the Python number; anything else as it is."""
    return value.item() if is_numpy_loaded() and isinstance(value, np.generic) else value


def strided(name: str, size: Any, stride: Any) -> None:
    """Raise ArgumentTypeError, ValueRangeError or ShapeError unless these are sizes, and a step for each."""
    for what, each in (("size", size), ("stride", stride)):
        if not isinstance(each, (tuple, list)):
            raise ArgumentTypeError(
                f"{what} must be a tuple of ints, got {shown(each)}", hint="as in (2, 3)", operator=name
            )
        for one in each:
            integer(name, f"an entry of {what}", one)
            if one < 0:
                raise ValueRangeError(
                    f"{what} must not have negative entries: {list(each)}",
                    hint="flip() reverses a dimension",
                    operator=name,
                )
    if len(size) != len(stride):
        raise ShapeError(
            f"dimensionality of size {list(size)} must match dimensionality of stride {list(stride)}",
            hint="give one step, in elements, for each size",
            operator=name,
        )


def fill(value: Any) -> None:
    """Raise ArgumentTypeError or ShapeError unless `fill_` takes the value: a number or a 0-dim tensor."""
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
    """What is raised where one number is wanted of a tensor that has another number of them."""
    fact = f"a Tensor with {value.numel()} elements cannot be converted to Scalar"
    fact = fact if name == "item" else f"only one element tensors can be converted to Python scalars, {fact}"
    return ValueRangeError(
        f"{fact}: {value.describe()}",
        hint="use tolist(), or take one element first",
        operator=name,
    )


def no_index(value: TensorBase) -> ArgumentTypeError:
    """What is raised where a tensor should be a list's index, and is no integer."""
    return ArgumentTypeError(
        f"only integer tensors of a single element can be converted to an index, this is {value.describe()}",
        hint="convert it with int(...)" if value.numel() == 1 else "take one element, or tolist()",
        operator="index",
    )


def dimension(name: str, dim: Any, of: TensorBase) -> None:
    """Raise ArgumentTypeError or IndexRangeError unless the tensor has such a dimension."""
    integer(name, "dim", dim)
    wrap_dim(dim, of.ndim, name)


def expandable(name: str, small: tuple[int, ...], whole: tuple[int, ...]) -> None:
    """Raise ShapeError unless broadcasting the small shape gives the whole one."""
    if len(small) > len(whole) or any(a not in (1, b) for a, b in zip(reversed(small), reversed(whole))):
        raise ShapeError(
            f"size {list(small)} is not expandable to size {list(whole)}",
            hint="each size must be the tensor's or 1, counted from the last dimension",
            operator=name,
        )
