"""Operator calls: bind the arguments, build the key, look the entry up, run it, record it for autograd.

- The key of a call is the operator and its setting, each tensor's layout, the type of each number whose value
  is passed to every call, and the canonical form of every other argument.  Each machine has one dictionary of entries.
- An entry is a Plan, or an instruction that replaces one: Delegation, MovedScalars or RunBody.
- A call that has no entry is lowered.
- A view is computed directly, without a key.
- The outermost call of a thread is the public one: errors take its name, and autocast casts its operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import host
from .. import strides as st
from ..dtypes import dtype, from_type, plain_number
from ..errors import FlambeauError, name_error, shown
from ..memory_formats import memory_format
from ..operands import overlap_of
from . import call_errors, record, thread
from .binding import Caller, Signature, make_calls_by
from .entries import FALSE, TRUE, Delegation, Lowering, MovedScalars, RunBody, add_entry, is_stale
from .inplace import check_inplace, check_out, disown, node_for_inplace, record_inplace
from .native import enter_critical, leave_critical, next_number
from .operator import COMPOSITE, REGISTRY, VIEW, Operator
from .plan import Plan
from .storage import NO_PLACE
from .tensor import TensorBase, before_write, in_graph
from .thread import Machine, Thread
from .view_geometry import computed_view
from .views import is_recorded, is_served, marked_parts

_NO_PLACE, _STALE = NO_PLACE, record.STALE  # C numbers where compiled
DEEPEST, TOO_DEEP = 64, "an argument holds itself, or more than 64 nested lists"
INTO = "into"  # in a key, precedes the layout of the written tensor

keyed: set[type] = {dtype, memory_format}  # classes of hashable, immutable objects, which enter keys unchanged
_keyed = keyed  # typed where compiled
_lowering = Lowering()


def set_lowering(lowering: Lowering) -> None:
    """Set the object that lowers calls and explains their errors."""
    global _lowering
    _lowering = lowering


def call(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an operator on tensors and numbers.

    out=: a tensor of the result's shape to write into, or an empty one, which is resized; a tuple for several results.
    Raises: DeviceMismatchError, and the operator's own errors.  State is unchanged after an error.
    """
    out = kwargs.pop("out", None) if kwargs else None
    bound = bind(operator, args, kwargs)
    quick = operator.quick
    if quick is not None and out is None:
        view = _quick(operator, quick, bound)
        if view is not None:
            return view
    return _served(operator, bound, out, False)


def _quick(operator: Operator, quick: Callable[[TensorBase, list[Any]], Any], bound: list[Any]) -> Any:
    """Compute a view, or several, directly; return None if the call has to take the ordinary path."""
    source = bound[0]
    if not is_served(source):
        return None
    recorded, node = is_recorded(source), operator.quick_node
    if recorded and node is None:
        return None
    try:
        found = quick(source, bound)
    except (OverflowError, TypeError, FlambeauError):  # the ordinary path raises the proper error
        return None
    if recorded and node is not None and found is not None:
        record.record(node, bound, found if isinstance(found, tuple) else (found,))
    return found


def call_two(operator: Operator, first: Any, second: Any) -> Any:
    """Like `call`, for an operator that needs at most two arguments and writes neither."""
    bound: list[Any] = operator.defaults[:]
    bound[0], bound[1] = first, second
    return _named(operator, bound, None, False)


def call_inplace(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an operator and write the result into its first operand, which is returned, as in `x.add_(y)`."""
    return _served(operator, bind(operator, args, kwargs), None, True)


def bind(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Return every parameter's value in order.  Raises ArgumentTypeError where a Python call would raise TypeError."""
    if kwargs or not operator.needed <= len(args) <= operator.positional:
        return _bind_named(operator, args, kwargs)
    bound: list[Any] = operator.defaults[:]
    for index, value in enumerate(args):
        bound[index] = value
    return bound


def _bind_named(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    signature = operator.last_signature
    if signature is None or not _is_like(signature, len(args), kwargs):
        form = (len(args), *kwargs)
        signature = operator.signatures.get(form)
        if signature is None:
            signature = operator.signatures[form] = operator.signature_of(args, kwargs)
        operator.last_signature = signature
    bound: list[Any] = operator.defaults[:]
    for index, value in enumerate(args):
        bound[index] = value
    for index, value in enumerate(kwargs.values()):
        bound[signature.places[index]] = from_type(value) if isinstance(value, type) else value
    return bound


def _is_like(signature: Signature, count: int, kwargs: dict[str, Any]) -> bool:
    """Return whether a call has this signature.  Keywords in program text are interned, so identity suffices."""
    if signature.count != count or len(signature.names) != len(kwargs):
        return False
    for index, name in enumerate(kwargs):  # noqa: SIM110 (compiled, there are no closures)
        if name is not signature.names[index]:
            return False
    return True


def is_operand(other: Any) -> bool:
    """Return whether a value is a tensor or a number, of Python or NumPy."""
    return isinstance(other, (TensorBase, int, float)) or host.is_numpy_loaded() and isinstance(other, host.np.generic)


def method_of(operator: Operator) -> Any:
    """Make the method `x.name(...)` of an operator.  Like PyTorch's methods, it does not take out=."""

    def method(*args: Any, **kwargs: Any) -> Any:
        if kwargs and kwargs.get("out") is not None:  # NumPy's functions pass None
            raise call_errors.method_out(operator, kwargs["out"])
        return call(operator, args, kwargs)

    return method


def sizes_method_of(operator: Operator, otherwise: Callable[..., Any]) -> Any:
    """Make the method `x.name(2, 3)` of an operator that takes sizes.  otherwise: called with all other arguments."""

    def method(self: Any, *values: Any, **named: Any) -> Any:
        if values and not named:
            for value in values:
                if type(value) is not int:
                    return otherwise(self, *values)
            return call(operator, (self, values), named)
        return otherwise(self, *values, **named)

    return method


def inplace_method_of(operator: Operator) -> Any:
    """Make the method `x.name_(...)` of an operator."""

    def method(*args: Any, **kwargs: Any) -> Any:
        return call_inplace(operator, args, kwargs)

    return method


def binary_method_of(operator: Operator, otherwise: Callable[[Any, Any], Any]) -> Any:
    """Make the special method of `x + y` and the like.  otherwise: called if y is neither a tensor nor a number."""

    def method(self: Any, other: Any) -> Any:
        return call_two(operator, self, other) if is_operand(other) else otherwise(self, other)

    return method


def reflected_method_of(operator: Operator, otherwise: Callable[[Any, Any], Any]) -> Any:
    """Like `binary_method_of`, for `y + x` where y's class is not Tensor."""

    def method(self: Any, other: Any) -> Any:
        return call_two(operator, other, self) if is_operand(other) else otherwise(self, other)

    return method


def augmented_method_of(operator: Operator) -> Any:
    """Make the method of `x += y`.  It returns NotImplemented for an array, so that Python computes `x = x + y`."""

    def method(self: Any, other: Any) -> Any:
        return call_inplace(operator, (self, other), {}) if is_operand(other) else NotImplemented

    return method


class CoreCaller(Caller):
    """Runs operators called as functions."""

    __slots__ = ()

    def derive(self, operator: Operator, bound: list[Any]) -> Any:
        """Run a derivative without recording it, in the types of the recorded call: autocast casts nothing."""
        now = thread.here()
        mode, now.autocast = now.autocast, None
        try:
            result = _run(now, operator, bound)
        finally:
            now.autocast = mode
        return result

    def call(self, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return call(operator, args, kwargs)


make_calls_by(CoreCaller())


def _served(operator: Operator, bound: list[Any], out: Any, inplace: bool) -> Any:
    """Run a call.  One that writes tensors is a critical section, so that versions count exactly the writes made."""
    if not inplace and out is None and not operator.mutates:
        return _named(operator, bound, out, inplace)
    enter_critical()
    try:
        result = _named(operator, bound, out, inplace)
    finally:
        leave_critical()
    return result


def _named(operator: Operator, bound: list[Any], out: Any, inplace: bool) -> Any:
    """Run a call.  Errors in the outermost call of a thread are reported under the name of that call."""
    now = thread.here()
    now.origin = None
    if now.operator is not None:
        return _inplace(now, operator, bound) if inplace else _called(now, operator, bound, out)
    now.operator = operator
    try:
        if now.autocast is not None and now.lowering is None and not inplace and out is None:
            bound = now.autocast.cast(operator, bound)
        return _inplace(now, operator, bound) if inplace else _called(now, operator, bound, out)
    except _lowering.misuses as error:
        _lowering.raise_misuse(operator, bound, error)
    finally:
        now.operator = None


def _called(now: Thread, operator: Operator, bound: list[Any], out: Any) -> Any:
    if out is not None:
        return _call_out(now, operator, bound, out)
    if operator.kind is VIEW:
        return computed_view(operator, bound)
    return _call_mutating(now, operator, bound) if operator.mutates else _run(now, operator, bound)


def _run(now: Thread, operator: Operator, bound: list[Any]) -> Any:
    """Run a call that returns new tensors, and record it."""
    if now.lowering is not None and _is_placed(bound):
        return now.lowering.inline(operator, bound, None)
    if operator.gives_views:
        return _composed(operator, bound)
    try:
        key = _key(operator, bound)
    except TypeError:
        if operator.kind is COMPOSITE:
            return _composed(operator, bound)
        raise
    joins = now.grad_enabled and record.joins(operator, bound)
    entry = _entry(operator, bound, key, None)
    if isinstance(entry, Plan):
        plan = entry
        if joins:
            if operator.kind is COMPOSITE:
                return _composed(operator, bound)
            result = plan.run(bound, None)
            record.record(operator, bound, result if isinstance(result, tuple) else (result,))
            return result
        return plan.run(bound, None)
    if isinstance(entry, Delegation):
        return _delegated(now, entry, bound)
    if isinstance(entry, RunBody):
        return _composed(operator, bound)
    return _run(now, operator, _lowering.with_moved(entry, bound))


def _entry(operator: Operator, bound: list[Any], key: list[Any], target: Any) -> Any:
    """Return the entry of a call; lower the call if it has none."""
    machine: Machine = thread.machine()
    plans = machine.plans
    full = tuple(key)
    entry = plans.entries.get(full)
    if isinstance(entry, Plan):
        plan = entry
        if plan.settings is None or not is_stale(plan.settings):
            plans.clock += 1
            plan.used = plans.clock
            return plan
        entry = None
    if entry is None:
        entry = _lowering.entry_for(operator, bound, target)
        add_entry(plans, full, entry)
    else:
        plans.clock += 1
        entry.used = plans.clock
    return entry


def _delegated(now: Thread, delegation: Delegation, bound: list[Any]) -> Any:
    arguments, operator, plan = delegation.arguments[:], delegation.operator, delegation.plan
    for source, index in delegation.sources:
        arguments[index] = bound[source]
    if plan is not None and not (now.grad_enabled and record.joins(operator, arguments)):
        result = plan.run(arguments, None)
    else:
        result = _run(now, operator, arguments)
        if delegation.may_keep:  # a plan appends operands to the arguments
            key = tuple(_key(operator, arguments[: len(delegation.arguments)]))
            delegation.keep(thread.machine().plans.entries.get(key))
    part = delegation.part
    return result if part < 0 else result[part]


def _composed(operator: Operator, bound: list[Any]) -> Any:
    """Run a composite's body; its results are views of its operands, or tensors of their own."""
    results = operator.body(*bound)
    if operator.is_derivative:
        return results
    if operator.gives_views:
        return marked_parts(results)
    for item in results if isinstance(results, tuple) else (results,):
        if isinstance(item, TensorBase):
            view = item
            if view._base is not None:
                disown(view, bound)
    return results


def _key(operator: Operator, bound: list[Any]) -> list[Any]:
    """Build the key of a call.  Replace numbers of NumPy and of subclasses in `bound` by plain Python ones.

    Raises: TypeError for an argument that cannot be in a key.
    """
    key: list[Any] = [operator]
    if operator.setting is not None:
        key.append(operator.setting.value)
    for index, value in enumerate(bound):
        if isinstance(value, TensorBase):
            operand = value
            key.append(operand._layout)
            continue
        value_type = type(value)
        if value_type is int or value_type is float or value_type is bool:
            key.append(value_type if operator.travels[index] else _canonical(value))
        elif value is None or value_type is str:
            key.append(value)
        elif value_type is tuple or value_type is list or value_type is st.Size or value_type in _keyed:
            key.append(_canonical(value))
        else:
            plain = bound[index] = plain_number(value)
            key.append(type(plain) if plain is not value and operator.travels[index] else _canonical(plain))
    return key


def _canonical(value: Any, depth: int = 0) -> Any:
    """Return an argument's form in a key.  Equal values of different types (1, True, 1.0) get different forms."""
    value_type = type(value)
    if value_type is int or value_type is str or value is None:
        return value
    if value_type is bool:
        return TRUE if value else FALSE
    if value_type is float:  # 0.0 == -0.0, and no NaN equals itself
        return float, value if value < 0 or value > 0 else value.hex()
    if value_type is tuple or value_type is list or value_type is st.Size:
        if depth == DEEPEST:
            raise TypeError(TOO_DEEP)
        return tuple([_canonical(item, depth + 1) for item in value])
    if isinstance(value, TensorBase):
        return value._layout
    if value_type in _keyed:
        return value
    plain = plain_number(value)
    if plain is value:
        raise TypeError(f"{shown(value)} is not a valid argument of an operator")
    return _canonical(plain)


def _is_placed(values: Any, depth: int = 0) -> bool:
    """Return whether a call's arguments include placeholders of the call that is being lowered."""
    for value in values:
        if isinstance(value, TensorBase):
            operand = value
            if operand._storage.place != _NO_PLACE:
                return True
        elif (type(value) is list or type(value) is tuple) and depth < DEEPEST and _is_placed(value, depth + 1):
            return True
    return False


def _call_mutating(now: Thread, operator: Operator, bound: list[Any]) -> Any:
    """Run a call that writes operands, and record it.  Raises AutogradError where gradients would be lost."""
    written = [target for name in operator.mutates for target in bound[operator.index_of[name]]]
    joins = now.grad_enabled and record.joins(operator, bound)
    for target in written:
        before_write(operator.called, target)
        if now.grad_enabled:
            check_inplace(operator.called, target, False)
    if joins and operator.backward is None:
        raise call_errors.never_differentiable(operator)
    result = _entry(operator, bound, _key(operator, bound), None).run(bound, None)
    for target in written:
        target._counter.version += 1
    if joins:
        record.record(operator, bound, result)
    return result


def _call_out(now: Thread, operator: Operator, bound: list[Any], out: Any) -> Any:
    """Run a call with out=.  Raises: ArgumentTypeError, AutogradError, and the errors of the call."""
    recorded = operator.differentiable and (operator.kind is COMPOSITE or operator.backward is not None)
    joins = now.grad_enabled and recorded and record.joins(operator, bound)
    if joins or not operator.takes_out or not isinstance(out, TensorBase) or now.grad_enabled and in_graph(out):
        check_out(operator, out, joins, now.grad_enabled)  # accepts a tuple of tensors that are in no graph
    if isinstance(out, TensorBase) and out._layout.numel and operator.kind is not COMPOSITE:
        before_write(operator.called, out)
        write(operator, bound, out)
        out._counter.version += 1
        return out
    return _lowering.write_out(operator, bound, out, _run(now, operator, bound))


def _inplace(now: Thread, operator: Operator, bound: list[Any]) -> Any:
    if not isinstance(bound[0], TensorBase):
        raise TypeError("the tensor to write is not a Tensor")
    target: TensorBase = bound[0]
    if operator.kind is COMPOSITE:
        return _lowering.copy_(target, next_number(), _run(now, operator, bound))
    if now.lowering is not None and _is_placed(bound):
        return now.lowering.inline(operator, bound, target)
    needs_node = now.grad_enabled and record.joins(operator, bound)
    before_write(operator.called, target)
    if now.grad_enabled and (needs_node or target._base is not None and in_graph(target)):
        check_inplace(operator.called, target, needs_node)
    if needs_node and target._layout.is_floating:
        node = node_for_inplace(operator, bound, target)
        write(operator, bound, target)
        record_inplace(target, node)
        return target
    write(operator, bound, target)
    target._counter.version += 1
    if target._base is not None:
        target._view_version = _STALE
    return target


def write(operator: Operator, bound: list[Any], target: TensorBase) -> None:
    """Run a call that stores its result in `target`.  Autograd does not record it, and no version changes."""
    key = _key(operator, bound)
    key.append(INTO)
    key.append(target._layout)
    for index in range(len(bound)):
        value = bound[index]
        if isinstance(value, TensorBase):
            operand = value
            if operand._storage is target._storage:
                if operand._offset == target._offset and operand._layout is target._layout:
                    key.append(index)
                elif overlap_of(operand, target) == "partial":
                    raise call_errors.partial_overlap(operator, operand, target)
    entry = _entry(operator, bound, key, target)
    if isinstance(entry, MovedScalars):
        write(operator, _lowering.with_moved(entry, bound), target)
        return
    entry.run(bound, target)


def run_into(name: str, called: str, target: TensorBase, *arguments: Any, **named: Any) -> Any:
    """Run an operator that writes its first operand, a new tensor.  Unlike a write in place, no version changes.

    called: the operator's name in error messages.
    """
    if target._layout.numel:
        operator, lowering = REGISTRY[name], thread.here().lowering
        try:
            bound = bind(operator, (target, *arguments), named)
            if lowering is not None and _is_placed(bound):
                lowering.inline(operator, bound, target)
            else:
                write(operator, bound, target)
        except FlambeauError as error:
            name_error(error, called)
            raise
    return target
