"""The only place where operators meet streams: check devices, lower, allocate, enqueue, record for autograd."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import core
from . import strides as st
from .autograd import record
from .core import TensorCore
from .errors import ArgumentTypeError, AutogradError, DeviceMismatchError, ShapeError, shown
from .kinds import holding, into, is_apart, key_of, known, note_kind, note_recent, plans_on, remember
from .layout import layout_of
from .lowering import check_fits, check_single, laid_out, lowered
from .ops.operator import COMPOSITE, REGISTRY, VIEW, Handover, Operator, Runner, bind, bind_two, run_calls_with
from .ops.pointwise import uncastable
from .placement import MISUSES, common_device, device_name, misused
from .plan import Handed, Plan, View
from .runtime import state
from .runtime.storage import WIDEST_ACCESS

NO_NAMES: dict[str, Any] = {}
_WIDEST = WIDEST_ACCESS  # compiled, a number of C's


def read(tensor: TensorCore) -> Any:
    """A tensor's values as a NumPy array of its own memory or a copy.  Host: waits for the tensor's current stream."""
    if tensor.storage.device < 0:
        return tensor.array()
    from .transfer import to_device

    return to_device(tensor, -1, False).array()


def call(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an operator on tensors and numbers: what `Operator.__call__` does.

    out=: a tensor of the result's shape to write into, or one without elements, which then takes that shape; a tuple of
    them where there are several results.
    Raises: DeviceMismatchError, and what the operator says; nothing has changed then.
    """
    given = kwargs.pop("out", None) if kwargs else None
    bound = bind(operator, args, kwargs)
    return _called(operator, bound, None) if given is None else _called_into(operator, bound, given)


def call_two(operator: Operator, first: Any, second: Any) -> Any:
    """As `call`, for an operator that needs no more than two arguments."""
    return _called(operator, bind_two(operator, first, second), None)


def _called(operator: Operator, bound: list[Any], given: Any) -> Any:
    kind = operator.kind
    if kind is COMPOSITE:
        return _composed(operator, bound)
    if kind is VIEW:
        return _view(operator, bound)
    plan: Plan | None = holding(operator.recent, operator, bound) if given is None else None
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
        handed: Handed | None = holding(operator.recent, operator, bound)
        if handed is None:
            found = operator.body(*bound)
            if type(found) is not Handover:
                return found
            handed = _handed(operator, bound, found)
        return _handed_over(operator, handed, bound)
    except MISUSES as error:
        raise misused(operator, bound, error)  # noqa: B904  (most often it is that error)


def _handed(operator: Operator, bound: list[Any], found: Handover) -> Handed:
    handed = Handed(found.operator, bind(found.operator, found.arguments, NO_NAMES), found.part, bound)
    note_kind(operator, bound, handed, common_device(operator, bound))
    note_recent(operator.recent, handed)
    return handed


def _handed_over(operator: Operator, handed: Handed, bound: list[Any]) -> Any:
    arguments = handed.arguments.copy()
    for source, place in handed.sources:
        arguments[place] = bound[source]
    thread = state.here()
    before, thread.handing = thread.handing, operator.called
    try:
        result = _called(handed.operator, arguments, None)
    finally:
        thread.handing = before
    return result if handed.part < 0 else result[handed.part]


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
    plans = plans_on(device)
    key = key_of(operator, bound, given)
    plan = known(operator, bound, plans, key)
    if plan is None:
        plan = lowered(operator, bound, given, device)
        note_kind(operator, bound, plan, device)
        remember(plans, key, plan)
    if not operator.mutates:
        if given is None:
            note_recent(operator.recent, plan)
        elif given is bound[0] and is_apart(bound, given):
            note_recent(operator.recent_into, plan)
    return plan.run(bound, given)


def _view(operator: Operator, bound: list[Any]) -> Any:
    decided: View | None = holding(operator.recent, operator, bound)
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
    plans = plans_on(device)
    source = bound[0]
    key = key_of(operator, bound, None)
    if operator.by_place and isinstance(source, TensorCore):
        key += (source.offset, source.storage.nbytes)
    found: View | None = known(operator, bound, plans, key)
    if found is None:
        shape, strides, step = laid_out(operator, bound)
        kind, size, steps = source.dtype, st.Size(shape), tuple(strides)
        found = View(layout_of(kind, size, steps, True), layout_of(kind, size, steps, False), step)
        note_kind(operator, bound, found, device)
        remember(plans, key, found)
    if not operator.by_place:
        note_recent(operator.recent, found)
    return found


def _call_out(operator: Operator, bound: list[Any], given: Any, device: int) -> Any:
    _run_into(operator, bound, given, device)
    given.storage.version += 1
    return given


def _called_into(operator: Operator, bound: list[Any], given: Any) -> Any:
    """Call an operator with out=.  Raises: ArgumentTypeError, AutogradError, and the errors of the call."""
    if not operator.takes_out:
        raise ArgumentTypeError(
            f"{operator.called}: got an unexpected keyword argument 'out': {shown(given)}", hint=operator.signature()
        )
    is_one = isinstance(given, TensorCore)
    for each in (given,) if is_one or not isinstance(given, (tuple, list)) else given:
        check_out(operator, bound, each)
    if is_one and given.layout.numel and operator.kind is not COMPOSITE:
        return _called(operator, bound, given)
    result = _called(operator, bound, None)
    if is_one:
        check_single(operator.called, result)
        if not given.layout.numel:
            _adopt(operator, bound, given, result)
            return given
        return write_out(operator, bound, given, result)
    return _write_several(operator, bound, given, result)


def check_out(operator: Operator, bound: list[Any], given: Any) -> None:
    """Raise ArgumentTypeError if out= is no tensor, AutogradError if it or an operand is in a graph."""
    if not isinstance(given, TensorCore):
        raise ArgumentTypeError(f"{operator.called}: out must be a Tensor, got {shown(given)}", hint="leave it out")
    if record.wants_grad(operator, bound) or core.in_graph(given) and state.here().grad_enabled:
        raise AutogradError(
            f"{operator.called}: functions with out=... arguments don't support automatic differentiation, and one of "
            f"the operands, or out ({given.describe()}), requires grad",
            hint="call it under torch.no_grad(), or without out=",
        )


def _adopt(operator: Operator, bound: list[Any], given: Any, result: TensorCore) -> None:
    """Let a tensor without elements take the shape and the values of a result."""
    _check_device(operator, given, result.storage.device)
    if result.dtype.category > given.dtype.category:
        raise uncastable(operator.called, result.dtype, given.dtype)
    is_shared = any(isinstance(each, TensorCore) and each.storage is result.storage for each in bound)
    if result.dtype is not given.dtype or is_shared:
        result = REGISTRY["convert"](result, given.dtype)
    given.storage, given.layout, given.offset = result.storage, result.layout, result.offset
    given.storage.version += 1


def _write_several(operator: Operator, bound: list[Any], given: Any, results: Any) -> Any:
    """Write the results of a call into the tensors of out=, of the same number and types; a tuple of them."""
    if not isinstance(results, tuple) or len(results) != len(given):
        count = len(results) if isinstance(results, tuple) else 1
        raise ArgumentTypeError(
            f"{operator.called}: out has {len(given)} tensors, and there are {count} results",
            hint="give one tensor for each result",
        )
    for target, result in zip(given, results):
        _check_device(operator, target, result.storage.device)
        if target.dtype is not result.dtype:
            raise uncastable(operator.called, result.dtype, target.dtype)
        if target.layout.numel:
            check_fits(operator.called, result, target)
    for target, result in zip(given, results):
        if target.layout.numel:
            assign(target, result)
            target.storage.version += 1
        else:
            _adopt(operator, bound, target, result)
    return tuple(given) if type(results) is tuple else type(results)(*given)


def call_inplace(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an operator and write the result into its first operand, which is returned: `x.add_(y)`."""
    bound = bind(operator, args, kwargs)
    target = bound[0]
    if operator.kind is COMPOSITE:
        from .transfer import copy_

        return copy_(target, _composed(operator, bound))
    needs_node = record.wants_grad(operator, bound)
    if needs_node or target.base is not None:
        record.check_inplace(operator.called, target)
    else:
        plan: Plan | None = into(operator, bound)
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
    _check_device(operator, target, device)
    _check_overlap(operator, bound, target)
    _run(operator, bound, target, device)


def _check_device(operator: Operator, target: TensorCore, device: int) -> None:
    if target.storage.device != device:
        raise DeviceMismatchError(
            f"{operator.called}: the tensor to write is {target.describe()}, the operands are on {device_name(device)}",
            hint=f'write into one of that device: torch.empty_like(out, device="{device_name(device)}")',
        )


def write_out(operator: Operator, bound: list[Any], given: Any, result: Any) -> Any:
    """Write a composite's result into out=."""
    _check_device(operator, given, result.storage.device)
    check_fits(operator.called, result, given)
    assign(given, result)
    given.storage.version += 1
    return given


def assign(target: TensorCore, source: TensorCore) -> None:
    """Write `source`, converted and broadcast, into `target` of the same device; unknown to autograd."""
    steps = st.expand(source.shape, source.strides, target.shape)
    view = core.alias(source, target.shape, steps, source.offset)
    _run(REGISTRY["convert"], [view, None, None], target, target.storage.device)


def fill_new(operator: Operator, made: TensorCore, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Let an operator write a new tensor, its first operand: unlike a write in place, no version is counted."""
    bound = bind(operator, (made, *args), kwargs)
    plan: Plan | None = into(operator, bound)
    if plan is None:
        _run(operator, bound, made, made.storage.device)
    else:
        plan.run(bound, made)


def _check_overlap(operator: Operator, bound: Sequence[Any], target: Any) -> None:
    if not operator.writes_one_value:
        check_own_overlap(operator.called, target)
    for index in operator.tensor_indexes:
        each = bound[index]
        if isinstance(each, TensorCore) and each is not target and core.overlap(each, target) == "partial":
            raise ShapeError(
                f"{operator.called}: the written-to tensor {target.describe()} partly overlaps an input, "
                f"{each.describe()}",
                hint="clone() the input before writing",
            )


def check_own_overlap(called: str, target: TensorCore) -> None:
    """Raise ShapeError if elements of the tensor to write share memory."""
    if not target.layout.compact and st.overlaps_itself(target.shape, target.strides):
        raise ShapeError(
            f"{called}: more than one element of the written-to tensor {target.describe()} refers to a single memory "
            f"location (strides {list(target.strides)})",
            hint="clone() the tensor before writing it",
        )


class _Dispatch(Runner):
    __slots__ = ()

    def run(self, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return call(operator, args, kwargs)


run_calls_with(_Dispatch())
