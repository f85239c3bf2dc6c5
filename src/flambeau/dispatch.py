"""The only place where operators meet streams: check devices, lower, allocate, enqueue, record for autograd."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import core
from . import strides as st
from .autograd import record
from .core import TensorCore
from .dtypes import dtype
from .errors import ArgumentTypeError, AutogradError, DeviceMismatchError, ShapeError, shown
from .layout import layout_of
from .lowering import check_fits, check_single, laid_out, lowered
from .ops.operator import COMPOSITE, REGISTRY, VIEW, Operator, run_calls_with
from .placement import MISUSES, common_device, device_name, misused
from .plan import Decided, Plan, View, also_read
from .runtime import state
from .runtime.storage import WIDEST_ACCESS

if TYPE_CHECKING:
    from .runtime.machine import Machine

MAX_PLANS = 4096  # of one device; with more, all are decided anew
MAX_RECENT = 8  # calls of one operator that are compared with before all plans are looked through
NUMBERS = (int, float, bool)
_WIDEST = WIDEST_ACCESS  # compiled, a number of C's
UNLIKE = object()  # no argument: stands for what may change
UNCHANGING = (int, float, bool, str, dtype, type(None))


def read(tensor: TensorCore) -> Any:
    """A tensor's values as a NumPy array of its own memory or a copy.  Host: waits for the tensor's current stream."""
    if tensor.storage.device < 0:
        return tensor.array()
    from .transfer import to_device

    return to_device(tensor, -1, False).array()


def call(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an operator on tensors and numbers: what `Operator.__call__` does.

    out=: a tensor of the result's shape to write into.
    Raises: DeviceMismatchError, and what the operator says; nothing has changed then.
    """
    given = kwargs.pop("out", None) if kwargs else None
    bound = operator.bind(args, kwargs)
    kind = operator.kind
    if kind is COMPOSITE:
        result = _composed(operator, bound)
        return result if given is None else write_out(operator, bound, given, result)
    if kind is VIEW:
        return _view(operator, bound)
    plan: Plan | None = _holding(operator.recent, operator, bound) if given is None else None
    if plan is not None:
        result = plan.run(bound, None)
    else:
        device = common_device(operator, bound)
        if given is not None:
            return _call_out(operator, bound, given, device)
        if operator.mutates:
            return _call_mutating(operator, bound, device)
        result = _run(operator, bound, None, device)
    if record.wants_grad(operator, bound):
        record.record(operator, bound, result if isinstance(result, tuple) else (result,))
    return result


def _composed(operator: Operator, bound: list[Any]) -> Any:
    """What a body says that calls operators.  Its errors begin with what the user called, not with what it calls."""
    try:
        return operator.body(*bound)
    except MISUSES as error:
        raise misused(operator, bound, error)  # noqa: B904  (most often it is that error)


def _call_mutating(operator: Operator, bound: list[Any], device: int) -> Any:
    """Lower a call that writes operands, and is in no graph.  Raises AutogradError where gradients would be lost."""
    written = [each for name in operator.mutates for each in bound[operator.index_of[name]]]
    if state.here().grad_enabled:
        for each in written:
            record.check_inplace(operator.called, each)
        if record.wants_grad(operator, bound):
            raise AutogradError(f"{operator.called}: has no derivative", hint="call it under torch.no_grad()")
    result = _run(operator, bound, None, device)
    for each in written:
        each.storage.version += 1
    return result


def _run(operator: Operator, bound: list[Any], given: Any, device: int) -> Any:
    """Run the plan of a call; the first of its kind is lowered."""
    plans = _plans(device)
    key = _key(operator, bound, given)
    plan = _known(operator, bound, plans, key)
    if plan is None:
        plan = lowered(operator, bound, given, device)
        _note_kind(operator, bound, plan, device)
        _remember(plans, key, plan)
    if not operator.mutates:
        if given is None:
            _note_recent(operator.recent, plan)
        elif given is bound[0] and _is_apart(bound, given):
            _note_recent(operator.recent_into, plan)
    return plan.run(bound, given)


def _note_recent(recent: list[Decided], decided: Decided) -> None:
    recent.insert(0, decided)
    del recent[MAX_RECENT:]


def _into(operator: Operator, bound: list[Any]) -> Any:
    """What was decided for a recent write into the operator's first operand, if it holds for this one."""
    return _holding(operator.recent_into, operator, bound) if _is_apart(bound, bound[0]) else None


def _is_apart(bound: list[Any], target: TensorCore) -> bool:
    """Whether a dense tensor, the first argument, can be written without a look at the others."""
    for index in range(1, len(bound)):
        value = bound[index]
        if isinstance(value, TensorCore):
            tensor = value
            if tensor.storage is target.storage:
                return False
    return target.layout.dense


def _holding(recent: list[Decided], operator: Operator, bound: list[Any]) -> Any:
    """What was decided for one of an operator's recent calls, if it holds for this one: cheaper than to look it up."""
    machine = state.machine()
    serial = machine.serial
    setting = operator.setting() if operator.setting is not None else None
    for decided in recent:
        if decided.machine == serial and decided.setting == setting and _is_for(decided, operator, bound, machine):
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


def _note_kind(operator: Operator, bound: list[Any], decided: Decided, device: int) -> None:
    setting = operator.setting() if operator.setting is not None else None
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


def _remember(plans: dict[Any, Any], key: Any, decided: Any) -> None:
    if len(plans) >= MAX_PLANS:
        plans.clear()
    plans[key] = decided


def _plans(device: int) -> dict[Any, Any]:
    machine = state.machine()
    if device < 0:
        return machine.cpu_plans
    accelerator = machine.devices[device]
    return accelerator.plans


def _key(operator: Operator, bound: Sequence[Any], given: Any) -> tuple[Any, ...]:
    """All that a lowering may decide by."""
    key: list[Any] = [operator, operator.setting()] if operator.setting is not None else [operator]
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


def _known(operator: Operator, bound: list[Any], plans: dict[Any, Any], key: Any) -> Any:
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


def _view(operator: Operator, bound: list[Any]) -> Any:
    decided: View | None = _holding(operator.recent, operator, bound)
    if decided is None:
        decided = _view_of_kind(operator, bound)
    source: TensorCore = bound[0]
    offset = source.offset + decided.step
    is_aligned = source.storage.aligned and offset * decided.aligned.itemsize % _WIDEST == 0
    result = core.new(source.storage, decided.aligned if is_aligned else decided.misaligned, offset)
    record.link_view(operator, bound, result)
    return result


def _view_of_kind(operator: Operator, bound: list[Any]) -> View:
    """The view that was decided for calls like this; the first is lowered."""
    device = common_device(operator, bound)
    plans = _plans(device)
    source = bound[0]
    key = _key(operator, bound, None)
    if operator.by_place and isinstance(source, TensorCore):
        key += (source.offset, source.storage.nbytes)
    found: View | None = _known(operator, bound, plans, key)
    if found is None:
        shape, strides, step = laid_out(operator, bound)
        kind, size, steps = source.dtype, st.Size(shape), tuple(strides)
        found = View(layout_of(kind, size, steps, True), layout_of(kind, size, steps, False), step)
        _note_kind(operator, bound, found, device)
        _remember(plans, key, found)
    if not operator.by_place:
        _note_recent(operator.recent, found)
    return found


def _call_out(operator: Operator, bound: list[Any], given: Any, device: int) -> Any:
    check_out(operator, given)
    if record.wants_grad(operator, bound) or core.in_graph(given) and state.here().grad_enabled:
        raise AutogradError(
            f"{operator.called}: functions with out=... arguments don't support automatic differentiation, and one of "
            f"the operands, or out ({given.describe()}), requires grad",
            hint="call it under torch.no_grad(), or without out=",
        )
    _run_into(operator, bound, given, device)
    given.storage.version += 1
    return given


def check_out(operator: Operator, given: Any) -> None:
    """Raise ArgumentTypeError if out= is no tensor."""
    if not isinstance(given, TensorCore):
        raise ArgumentTypeError(f"{operator.called}: out must be a Tensor, got {shown(given)}", hint="leave it out")


def call_inplace(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an operator and write the result into its first operand, which is returned: `x.add_(y)`."""
    bound = operator.bind(args, kwargs)
    target = bound[0]
    if operator.kind is COMPOSITE:
        from .transfer import copy_

        return copy_(target, _composed(operator, bound))
    needs_node = record.wants_grad(operator, bound)
    if needs_node or target.base is not None:
        record.check_inplace(operator.called, target)
    else:
        plan: Plan | None = _into(operator, bound)
        if plan is not None:
            plan.run(bound, target)
            target.storage.version += 1
            return target
    device = common_device(operator, bound)
    if not target.dtype.is_floating_point and needs_node:
        needs_node = False
    node = record.node_for_inplace(operator, bound, target) if needs_node else None
    _run_into(operator, bound, target, device)
    record.record_inplace(operator, bound, target, node)
    return target


def _run_into(operator: Operator, bound: list[Any], target: Any, device: int) -> None:
    """Lower a call whose result goes to `target`."""
    if target.storage.device != device:
        raise DeviceMismatchError(
            f"{operator.called}: the tensor to write is {target.describe()}, the operands are on {device_name(device)}",
            hint=f'write into one of that device: torch.empty_like(out, device="{device_name(device)}")',
        )
    _check_overlap(operator, bound, target)
    _run(operator, bound, target, device)


def write_out(operator: Operator, bound: list[Any], given: Any, result: Any) -> Any:
    """Write a composite's result into out=."""
    check_out(operator, given)
    check_single(operator.called, result)
    check_fits(operator.called, result, given)
    assign(given, result)
    given.storage.version += 1
    return given


def assign(target: TensorCore, source: TensorCore) -> None:
    """Write `source`, converted and broadcast, into `target` of the same device; unknown to autograd."""
    steps = st.expand(source.shape, source.strides, target.shape)
    view = core.alias(source, target.shape, steps, source.offset)
    _run(REGISTRY["convert"], [view, None], target, target.storage.device)


def fill_new(operator: Operator, made: TensorCore, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Let an operator write a new tensor, its first operand: unlike a write in place, no version is counted."""
    bound = operator.bind((made, *args), kwargs)
    plan: Plan | None = _into(operator, bound)
    if plan is None:
        _run(operator, bound, made, made.storage.device)
    else:
        plan.run(bound, made)


def _check_overlap(operator: Operator, bound: Sequence[Any], target: Any) -> None:
    if not target.layout.dense and st.overlaps_itself(target.shape, target.strides):
        raise ShapeError(
            f"{operator.called}: more than one element of the written-to tensor {target.describe()} refers to a single "
            f"memory location (strides {list(target.strides)})",
            hint="clone() the tensor before writing it",
        )
    for index in operator.tensor_indexes:
        each = bound[index]
        if isinstance(each, TensorCore) and each is not target and core.overlap(each, target) == "partial":
            raise ShapeError(
                f"{operator.called}: the written-to tensor {target.describe()} partly overlaps an input, "
                f"{each.describe()}",
                hint="clone() the input before writing",
            )


run_calls_with(call)
