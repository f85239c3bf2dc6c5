"""Checks of the arguments of an operator: their types, the common device of its tensors, and overlap in memory."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from . import host
from . import strides as st
from .core import thread
from .core.call_errors import former_machine, overflow, overlaps_itself
from .core.host_calls import check_storages
from .core.operator import VALUE_ANNOTATIONS, Operator, Parameter
from .core.tensor import TensorBase
from .core.thread import CPU, Device
from .errors import (
    AccessError,
    ArgumentTypeError,
    DeviceMismatchError,
    FlambeauError,
    NotSupportedError,
    ShapeError,
    name_error,
    shown,
)

MISUSES = (FlambeauError, AttributeError, IndexError, TypeError, ValueError, struct.error)  # explained by `misuse`


class Accepted(NamedTuple):
    """The values that a parameter accepts.  text: their description in errors.  takes: the check.  hint: an example."""

    text: str
    takes: Callable[[Any], bool]
    hint: str = ""


def _is_tensor(value: Any) -> bool:
    return isinstance(value, TensorBase)


def _are_tensors(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all([isinstance(member, TensorBase) for member in value])


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) or hasattr(value, "__index__")


def _is_value(value: Any) -> bool:
    return isinstance(value, (TensorBase, int, float))


def _are_dims(value: Any) -> bool:
    return value is None or (st.are_integers(value) if isinstance(value, (list, tuple)) else st.is_integer(value))


def _is_flag(value: Any) -> bool:
    return hasattr(value, "__index__")


def _is_type(value: Any) -> bool:
    return value is None or not isinstance(value, (TensorBase, int, float))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _or_none(takes: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or takes(value)


MAKE = "torch.tensor(...) makes a Tensor of numbers"
ACCEPTED = {  # by annotation (see core/operator.py); other annotations accept any value
    "Operand": Accepted("a Tensor", _is_tensor, MAKE),
    "Operand | None": Accepted("a Tensor or None", _or_none(_is_tensor), MAKE),
    "Operands": Accepted("a list or tuple of Tensors", _are_tensors, "as in {}([a, b])"),
    "Value": Accepted("a Tensor or a number", _is_value, MAKE),
    "Value | None": Accepted("a Tensor, a number or None", _or_none(_is_value), MAKE),
    "int": Accepted("an int", st.is_integer),
    "int | None": Accepted("an int or None", _or_none(st.is_integer)),
    "Dims": Accepted("an int, a tuple of ints or None", _are_dims),
    "bool": Accepted("a bool", _is_flag),
    "float": Accepted("a number", _is_number),
    "float | None": Accepted("a number or None", _or_none(_is_number)),
    "Number": Accepted("a number", _is_number),
    "str": Accepted("a str", _is_text),
}
TYPE = Accepted("a dtype or None", _is_type)  # of parameters with the name dtype


def check_types(operator: Operator, bound: Sequence[Any]) -> None:
    """Raise ArgumentTypeError for the first argument that its parameter does not accept."""
    for parameter, value in zip(operator.parameters, bound):
        accepted = TYPE if parameter.name == "dtype" else ACCEPTED.get(parameter.annotation)
        if accepted is not None and value is not parameter.default and not accepted.takes(value):
            raise _unaccepted(operator, parameter, accepted, value)


def _unaccepted(operator: Operator, parameter: Parameter, accepted: Accepted, value: Any) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"argument '{parameter.name}' must be {accepted.text}, not {type(value).__name__}: {shown(value)}",
        hint=accepted.hint.format(operator.called) or f"pass {parameter.name} as {accepted.text}",
        operator=operator.called,
    )


def without_gradient(operator: Operator, name: str, value: Any) -> ArgumentTypeError:
    """Return the error for a tensor that requires a gradient and is passed as a number."""
    return ArgumentTypeError(
        f"argument '{name}' must be a number, not a Tensor that requires grad: {shown(value)} would have no gradient",
        hint=f"pass {name}.item(), or write the function with operators that take tensors",
        operator=operator.called,
    )


def several_numbers(operator: Operator, name: str, value: TensorBase) -> ArgumentTypeError:
    """Return the error for a tensor that is passed as a number and does not have one element."""
    return ArgumentTypeError(
        f"argument '{name}' must be a number, not a Tensor with {value._layout.numel} elements: {shown(value)}",
        hint="take one element first",
        operator=operator.called,
    )


def without_values(name: str, tensor: TensorBase) -> NotSupportedError:
    """Return the error for a call that needs the values of a tensor on the device meta."""
    return NotSupportedError(
        f"Cannot copy out of meta tensor; no data: {tensor.describe()}",
        hint="make it with torch.empty_like(tensor, device=...), or call Module.to_empty()",
        operator=name,
    )


def misuse(operator: Operator, bound: Sequence[Any], error: Exception) -> FlambeauError:
    """Return the error for a failed call: an error about the wrong argument that caused `error`, or `error` itself."""
    if not isinstance(error, FlambeauError) or isinstance(error, (ArgumentTypeError, AccessError)):
        try:
            check_types(operator, bound)
            check_storages(bound)
        except (ArgumentTypeError, ShapeError) as wrong_argument:
            name_error(wrong_argument, operator.called)
            return wrong_argument
    if isinstance(error, FlambeauError):
        name_error(error, operator.called, operands_of(operator, bound))
        return error
    beyond = [value for value in bound if isinstance(value, int) and not -(2**63) <= value < 2**63]
    if isinstance(error, struct.error) and beyond:  # raised by Kernel.pack, whose integers have 64 bits
        return overflow(operator.called, "int64", beyond[0])
    rest = [index for index in range(len(operator.parameters)) if index not in operator.tensor_indexes]
    listed = ", ".join(f"{operator.parameters[index].name}={shown(bound[index])}" for index in rest)
    return ArgumentTypeError(f"cannot use {listed}: {error}", hint=operator.usage(), operator=operator.called)


def operands_of(operator: Operator, bound: Sequence[Any]) -> tuple[tuple[str, str], ...]:
    """Return (name, description) of each argument of a call."""
    return tuple((parameter.name, shown(value)) for parameter, value in zip(operator.parameters, bound))


def device_of(operator: Operator, bound: Sequence[Any]) -> tuple[Device, list[int]]:
    """Return the device of a call's tensors, and the indexes of the zero-dimensional CPU tensors used as numbers.

    Raises DeviceMismatchError, which names every operand; AcceleratorError for memory of an earlier machine.
    """
    tensors = _named_tensors(operator, bound)
    devices = {tensor._layout.device for _, tensor in tensors}
    machine = thread.machine()
    for _, tensor in tensors:
        if tensor._layout.device.index >= 0 and tensor._layout.device.machine is not machine:
            raise former_machine(operator.called, tensor._storage, machine)
    if len(devices) <= 1:
        return next(iter(devices), CPU), []
    further = [device for device in devices if device is not CPU]
    loose = [name for name, tensor in tensors if tensor._layout.device is CPU]
    scalars = [index for index in operator.tensor_indexes if _is_scalar(operator.parameters[index], bound[index])]
    if len(further) == 1 and len(scalars) == len(loose):
        return further[0], scalars
    raise _mismatch(operator, tensors)


def _is_scalar(parameter: Parameter, value: Any) -> bool:
    is_wanted = parameter.annotation in VALUE_ANNOTATIONS and isinstance(value, TensorBase)
    return is_wanted and value._layout.device is CPU and not value.shape


def _named_tensors(operator: Operator, bound: Sequence[Any]) -> list[tuple[str, TensorBase]]:
    named: list[tuple[str, TensorBase]] = []
    for index in operator.tensor_indexes:
        value, name = bound[index], operator.parameters[index].name
        if isinstance(value, TensorBase):
            named.append((name, value))
        elif isinstance(value, (list, tuple)):
            named += [(f"{name}[{at}]", tensor) for at, tensor in enumerate(value)]
    return named


def _mismatch(operator: Operator, tensors: Sequence[tuple[str, TensorBase]]) -> DeviceMismatchError:
    listed = ", ".join(f"{name} is {tensor.describe()}" for name, tensor in tensors)
    target = next((tensor._layout.device for _, tensor in tensors if tensor.is_cuda), CPU)
    mover = next(name for name, tensor in tensors if tensor._layout.device is not target)
    return DeviceMismatchError(
        f"Expected all tensors to be on the same device: {listed}",
        hint=f'move one of them, for example {mover}.to("{target}")',
        operator=operator.called,
    )


def overlap_of(a: TensorBase, b: TensorBase) -> str:
    """Return how two tensors overlap: "none", "same" (element for element) or "partial"."""
    one, other = a._layout, b._layout
    if a._storage is not b._storage or not one.numel or not other.numel:
        return "none"
    is_aligned_alike = a._offset == b._offset and one.strides == other.strides
    if is_aligned_alike and one.shape == other.shape and one.dtype is other.dtype:
        return "same"
    start, next_start = a._offset * one.itemsize, b._offset * other.itemsize
    end = start + st.extent(one.shape, one.strides) * one.itemsize
    if next_start >= end or start >= next_start + st.extent(other.shape, other.strides) * other.itemsize:
        return "none"
    if one.compact and other.compact:
        return "partial"
    first = start, one.dtype, one.shape, one.strides
    return "partial" if host.share_bytes(first, (next_start, other.dtype, other.shape, other.strides)) else "none"


def check_own_overlap(called: str, target: TensorBase) -> None:
    """Raise ShapeError if elements of the tensor to write share memory with each other."""
    layout = target._layout
    if not layout.compact and st.overlaps_itself(layout.shape, layout.strides):
        raise overlaps_itself(called, target)
