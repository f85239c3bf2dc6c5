"""The part of every factory that runs in each call: read the sizes, resolve the device, take memory, fill it."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from .. import dtypes
from ..dtypes import dtype
from ..errors import ArgumentTypeError, FlambeauError, name_error, shown
from ..runtime import device
from ..runtime.device import CPU_INDEX
from . import call as calls
from . import thread
from .operator import REGISTRY
from .tensor import TensorBase, empty_tensor

_CPU, _CURRENT = CPU_INDEX, -2  # compiled, numbers of C's
_places: dict[str, int] = {}  # a CUDA index, _CPU, or _CURRENT for `cuda` without one, by the names that were used


def resolve(value: Any) -> int:
    """As runtime.device.resolve; names that were used before are found at once."""
    known = _places.get(value) if type(value) is str else None
    if known is None:
        return _resolved(value)
    place: int = known
    if place == _CPU:
        return place
    machine = thread.machine()
    if machine.is_started:
        found = thread.current_device() if place == _CURRENT else place
        if found < len(machine.devices):
            return found
    return _resolved(value)


def _resolved(value: Any) -> int:
    found = device.resolve(value)
    if type(value) is str:
        named = device.as_device(value)
        _places[value] = _CPU if named.type == "cpu" else _CURRENT if named.index is None else named.index
    return found


def sizes(values: Sequence[Any], name: str) -> tuple[int, ...]:
    """Sizes given one by one or together, as in `f(2, 3)` and `f((2, 3))`.  Raises: ArgumentTypeError."""
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        values = values[0]
    for each in values:
        if type(each) is not int:
            return _converted(values, name)
    return values if type(values) is tuple else tuple(values)


def _converted(values: Sequence[Any], name: str) -> tuple[int, ...]:
    try:
        return tuple([index(each) for each in values])
    except TypeError as error:
        given = ", ".join([shown(each) for each in values])
        raise ArgumentTypeError(f"expected ints, got ({given})", hint="as in (2, 3)", operator=name) from error


class Explainer:
    """Explains failed calls of factories; the tensor package sets its own (see `explain_by`)."""

    __slots__ = ()

    def unset(self, error: Exception, name: str, size: Any, kind: Any, where: Any, pin_memory: Any) -> Any:
        """The result of the call after all, with `kind` converted, or a better error than `error`."""
        raise error


_explainer = Explainer()


def explain_by(explainer: Explainer) -> None:
    """Set the object that explains failed calls."""
    global _explainer
    _explainer = explainer


def unset(name: str, size: Any, kind: dtype | None, where: Any, pin_memory: Any = False) -> TensorBase:
    """A tensor with unset values.  The arguments are checked only after something has failed."""
    try:
        if not size:
            raise TypeError("no size")
        place = resolve(where)
        if pin_memory is not False and (pin_memory is not True or place >= 0):
            raise TypeError("not to be pinned")
        return empty_tensor(_sizes(size), kind or dtypes.float32, place, pin_memory=pin_memory, name=name)
    except (FlambeauError, AttributeError, TypeError) as error:
        found: TensorBase = _explainer.unset(error, name, size, kind, where, pin_memory)
    return found


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
    return tuple([index(each) for each in values])


def run_into(name: str, called: str, made: TensorBase, *arguments: Any, **named: Any) -> Any:
    """Let an operator write a new tensor: unlike a write in place, no version is counted."""
    if made.layout.numel:
        try:
            calls.fill_new(REGISTRY[name], made, arguments, named)
        except FlambeauError as error:
            name_error(error, called)
            raise
    return made
