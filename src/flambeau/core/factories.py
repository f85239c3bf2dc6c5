"""Fast path of the factories: reads the sizes, resolves the device, allocates and fills."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..dtypes import dtype
from ..errors import FlambeauError
from ..runtime import device
from ..runtime.device import CPU_INDEX, CURRENT, indexes
from . import call_errors, thread
from .tensor import TensorBase, empty_tensor

_CPU, _CURRENT, _UNKNOWN = CPU_INDEX, CURRENT, CURRENT - 1  # C numbers where compiled
_indexes = indexes  # typed where compiled


def resolve(value: Any) -> int:
    """Return a device's index, as runtime.device.resolve does; the indexes of names are cached."""
    if type(value) is not str:
        return device.resolve(value)
    device_index: int = _indexes.get(value, _UNKNOWN)
    if device_index == _CPU:
        return device_index
    machine = thread.machine()
    if device_index != _UNKNOWN and machine.is_started:
        if device_index != _CURRENT:
            device.unmirror(device.NAMED)
        current = thread.current_device() if device_index == _CURRENT else device_index
        if current < len(machine.devices):
            return current
    return device.resolve_name(value)


def sizes(values: Sequence[Any], name: str) -> tuple[int, ...]:
    """Return sizes that are passed one by one or together: `f(2, 3)` or `f((2, 3))`.  Raises: ArgumentTypeError."""
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        values = values[0]
    for size in values:
        if type(size) is not int:
            return call_errors.checked_integers(name, values)
    return tuple(values)


_explain: Any = None


def explain_by(function: Any) -> None:
    """Set the function that returns the result of a failed call, or raises a better error."""
    global _explain
    _explain = function


def unset(name: str, size: Any, dtype: dtype | None, where: Any, pin_memory: Any = False) -> TensorBase:
    """Return a tensor with uninitialized values.  The arguments are checked only after a failure."""
    try:
        if not size:
            raise TypeError("no size")
        device_index = resolve(where)
        if pin_memory is not False and (pin_memory is not True or device_index >= 0):
            raise TypeError("not to be pinned")
        return empty_tensor(
            sizes(size, name), dtype or dtypes.default.floating, device_index, pin_memory=pin_memory, name=name
        )
    except (FlambeauError, AttributeError, TypeError, ValueError) as error:
        tensor: TensorBase = _explain(error, name, size, dtype, where, pin_memory)
    return tensor
