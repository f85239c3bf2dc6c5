"""Kinds of calls: what was decided for a call holds for later ones that are like it.

Calls are alike in a kind if their operator, each tensor's layout and device, each number's type and each attribute's
value are the same.  Most are like one of the operator's recent ones, which is seen by comparing; any other is looked up
by a key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import strides as st
from .core import TensorCore
from .dtypes import dtype
from .memory_formats import memory_format
from .ops.operator import Operator
from .placement import misused
from .plan import Decided, also_read
from .runtime import state

if TYPE_CHECKING:
    from .runtime.machine import Machine

MAX_PLANS = 4096  # of one device; with more, all are decided anew
MAX_RECENT = 8  # calls of one operator that are compared with before all plans are looked through
NUMBERS = (int, float, bool)
UNLIKE = object()  # no argument: stands for what may change
UNCHANGING = (int, float, bool, str, dtype, memory_format, type(None))


def note_recent(recent: list[Decided], decided: Decided) -> None:
    recent.insert(0, decided)
    del recent[MAX_RECENT:]


def into(operator: Operator, bound: list[Any]) -> Any:
    """What was decided for a recent write into the operator's first operand, if it holds for this one."""
    return holding(operator.recent_into, operator, bound) if is_apart(bound, bound[0]) else None


def is_apart(bound: list[Any], target: TensorCore) -> bool:
    """Whether a dense tensor, the first argument, can be written without a look at the others."""
    for index in range(1, len(bound)):
        value = bound[index]
        if isinstance(value, TensorCore):
            tensor = value
            if tensor.storage is target.storage:
                return False
    return target.layout.dense


def holding(recent: list[Decided], operator: Operator, bound: list[Any]) -> Any:
    """What was decided for one of an operator's recent calls, if it holds for this one: cheaper than to look it up."""
    machine = state.machine()
    serial = machine.serial
    setting = operator.setting.value if operator.setting is not None else None
    for decided in recent:
        if (
            decided.machine == serial
            and (decided.setting is setting or decided.setting == setting)
            and _is_for(decided, operator, bound, machine)
        ):
            return decided
    return None


def _is_for(decided: Decided, operator: Operator, bound: list[Any], machine: Machine) -> bool:
    for index, value in enumerate(bound):
        part = decided.parts[index]
        if isinstance(value, TensorCore):
            tensor = value
            if tensor.layout is not part or tensor.storage.device != decided.device:
                return False
            if decided.device >= 0 and tensor.storage.machine is not machine:
                return False
        elif value is not part and not _are_alike(operator, index, value, part):
            return False
    return True


def _are_alike(operator: Operator, index: int, value: Any, part: Any) -> bool:
    """Whether an argument that is no tensor means what another call's did."""
    kind = type(value)
    if kind is int and type(part) is int:
        return bool(value == part)
    if kind is float and type(part) is float:
        return bool(value == part) and value != 0  # for 0.0 and -0.0 are equal, and differ
    if kind is tuple and type(part) is tuple:
        return _are_same_sizes(value, part)
    if kind is st.Size and type(part) is kind:
        return _are_same_sizes(tuple(value), tuple(part))
    return kind is part and index in operator.number_indexes


def _are_same_sizes(value: tuple[Any, ...], part: tuple[int, ...]) -> bool:
    if len(value) != len(part):
        return False
    for index, size in enumerate(value):  # noqa: SIM110 (compiled, there are no closures)
        if type(size) is not int or size != part[index]:
            return False
    return True


def note_kind(operator: Operator, bound: list[Any], decided: Decided, device: int) -> None:
    setting = operator.setting.value if operator.setting is not None else None
    decided.is_for(state.machine().serial, device, setting, _parts(operator, bound))


def _parts(operator: Operator, bound: list[Any]) -> list[Any]:
    """What has to be the same in calls of one key."""
    parts: list[Any] = []
    for index, value in enumerate(bound):
        if isinstance(value, TensorCore):
            parts.append(value.layout)
        elif index in operator.number_indexes and type(value) in NUMBERS:
            parts.append(type(value))
        else:
            parts.append(value if type(value) in UNCHANGING or _is_sizes(value) else UNLIKE)
    return parts


def _is_sizes(value: Any) -> bool:
    kind = type(value)
    return (kind is tuple or kind is st.Size) and all([type(each) is int for each in value])


def remember(plans: dict[Any, Any], key: Any, decided: Any) -> None:
    if len(plans) >= MAX_PLANS:
        plans.clear()
    plans[key] = decided


def plans_on(device: int) -> dict[Any, Any]:
    machine = state.machine()
    if device < 0:
        return machine.cpu_plans
    accelerator = machine.devices[device]
    return accelerator.plans


def key_of(operator: Operator, bound: Sequence[Any], given: Any) -> tuple[Any, ...]:
    """All that a lowering may decide by."""
    key: list[Any] = [operator, operator.setting.value] if operator.setting is not None else [operator]
    for index, value in enumerate(bound):
        if isinstance(value, TensorCore):
            tensor = value
            key.append(tensor.layout)
        elif index in operator.number_indexes and type(value) in NUMBERS:
            key.append(type(value))
        else:
            key.append(_fixed(value))
    if given is not None:
        key += (given.layout, also_read(bound, given))
    return tuple(key)


def known(operator: Operator, bound: list[Any], plans: dict[Any, Any], key: Any) -> Any:
    """What was decided for calls of a key.  Raises ArgumentTypeError if an argument can be part of no key."""
    try:
        return plans.get(key)
    except TypeError as error:
        raise misused(operator, bound, error) from error


def _fixed(value: Any) -> Any:
    """An attribute as part of a key: values that compare equal and differ, as 1, True and 1.0 do, are kept apart."""
    kind = type(value)
    if kind is float:
        return kind, value.hex()
    if kind is bool:
        return kind, value
    if kind is list or kind is tuple:
        return tuple([each.layout if isinstance(each, TensorCore) else _fixed(each) for each in value])
    return value
