"""Lowering: turn a call of an operator into a plan, which serves all calls with the same key.

- A lowering (see ops/operator.py) runs once for given layouts of operands, types of numbers and values of attributes.
  It gets a `Call`, which records what is allocated and queued, and placeholders, which have a layout and no memory.  So
  it decides only by layouts, attributes and types of numbers.
- A composite is lowered by running its body on placeholders.  The operators that it calls are lowered into its `Call`.
  If the body is one call of one operator, later calls go to that operator directly (`Delegation`).  If it needs a
  value, it runs in every call.
- The result is a `Plan` (core/plan.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from . import callers, transfer
from . import strides as st
from .core import call as calls
from .core import storage, tensor, thread
from .core.call_errors import checked_size
from .core.entries import Delegation, Lowering, MovedScalars, RunBody
from .core.host_calls import HostDraw, direct_call, host_call, whole_call
from .core.inplace import keep_overwritten
from .core.layout import Layout, dense_layout, layout_of
from .core.operator import COMPOSITE, POINTWISE, REGISTRY, Number, Operator
from .core.plan import ADDRESS, Launch, LibraryCall, Part, Place, Plan
from .core.storage import NO_PLACE, NotLowerable
from .core.tensor import TensorBase, before_write
from .core.thread import CPU, CPU_INDEX, META, Device
from .dtypes import dtype
from .errors import ArgumentTypeError, DeviceMismatchError
from .kernel import Grid, Kernel, Pointer, Pointers
from .library_operation import LibraryOperation
from .operands import (
    MISUSES,
    check_own_overlap,
    check_types,
    device_of,
    misuse,
    several_numbers,
    without_gradient,
)
from .ops.pointwise import uncastable, unlike_result
from .runtime.device import device
from .runtime.generator import Generator, check_generator
from .runtime.machine import Accelerator

AS_NUMBERS, ON_META = -2, -3  # the device of MovedScalars that are passed as numbers, or are copied to meta
NUMBERS = ("float", "float | None", "int", "int | None", "Number", "bool", "Dims")  # annotations of numbers
AT_ONCE = 2  # a call with at most this many allocations makes all of them before its first step


class Drawn:
    """The state's address, the seed or the first counter of a random draw.  place: its index among the plan's draws."""

    __slots__ = ("place",)

    def __init__(self, place: int) -> None:
        self.place = place


def launch_of(kernel: Kernel, handle: Any, grid: Grid, values: Sequence[Any], called: str) -> Launch:
    """Make a launch with its argument buffer prepared.  called: the operator's public name."""
    step = Launch(kernel, handle, grid, values, called)
    fixed = [_fixed(step, param, at, value) for param, at, value in zip(kernel.params, kernel.offsets, values)]
    step.template = bytearray(kernel.pack(fixed))
    return step


def _fixed(step: Launch, param: Any, at: int, value: Any) -> Any:
    """Return the value to prepare.  Values that are known only in a call are noted, and are 0 until then."""
    if type(param) is Pointer:
        if type(value) is Drawn:
            step.draws.append((at, ADDRESS, value.place))
        elif value is not None:
            step.addresses.append(Place(at, value))
        return 0
    if type(param) is Pointers:
        for number, item in enumerate(value):
            step.addresses.append(Place(at + number * Pointers.NBYTES, item))
        return [(0, item.numel()) for item in value]
    if type(value) is Number:
        step.numbers.append([at, param.struct, value, (None, 0)])
        return 0
    if type(value) is Drawn:
        step.draws.append((at, param.struct, value.place))
        return 0
    return value


def library_call_of(
    operation: LibraryOperation, handle: Any, workspace_nbytes: int, operands: Sequence[Any], called: str
) -> LibraryCall:
    """Make a library call with its addresses prepared.  called: the operator's public name."""
    step = LibraryCall(operation, handle, workspace_nbytes, called)
    step.template = bytearray(ADDRESS.size * len(operands))
    step.addresses = [
        Place(ADDRESS.size * index, operand) for index, operand in enumerate(operands) if operand is not None
    ]
    return step


class Call:
    """One call while it is lowered: implements the interface of ops/operator.py and records its use.

    name: the operator's name.  called: the name that the user called.
    given: the tensor to write the result to, or None.
    """

    def __init__(self, operator: Operator, device: Device, operands: int) -> None:
        self.name = operator.name
        self.called = operator.called
        self.device = device
        self.is_on_host = device.index < 0
        self.setting = operator.setting
        self.settings: list[tuple[Any, Any]] = []  # of operators called by a composite; not in its key
        self.is_derivative = operator.is_derivative
        self.given: Any = None
        self.places = operands  # the number of operands and allocations so far
        self.taken: list[Layout] = []
        self.steps: list[Any] = []
        self.draws: list[tuple[int | None, Any]] = []
        self.body: Any = None
        self.body_operands: Sequence[Any] = ()
        self.inlined: list[tuple[Operator, Sequence[Any], Any]] = []

    def operand(self, source: TensorBase, index: int) -> Any:
        """Make a placeholder for an operand; `place` is its index in the plan."""
        if source._layout.device is not self.device:
            raise NotLowerable("several devices")
        return self._placed(source._layout, index)

    def _placed(self, layout: Layout, index: int) -> Any:
        memory = storage.placeholder(self.device, layout.nbytes, index)
        memory.aligned = layout.aligned
        return tensor.new_tensor(memory, layout)

    def output(self, shape: Sequence[int], dtype: dtype, strides: Sequence[int] | None = None) -> Any:
        """Return a new result, or the tensor to write if it has the type, shape and strides of the result.

        strides: those of a dense result; contiguous if None.
        """
        size = st.Size(shape)
        layout = dense_layout(self.device, dtype, size)
        if strides is not None:
            layout = layout_of(self.device, dtype, size, tuple(strides))
        target = self.given
        if target is not None and target.dtype is dtype and target.shape == size:
            lies_so = target.is_contiguous() if strides is None else target.strides == layout.strides
            if lies_so:
                return target
        return self.take(layout)

    def scratch(self, shape: Sequence[int], dtype: dtype) -> Any:
        """Allocate contiguous memory that is freed when the launches of this call are done."""
        return self.take(dense_layout(self.device, dtype, checked_size(shape, self.name)))

    def take(self, layout: Layout) -> Any:
        """Allocate memory of a dense layout."""
        if layout.device is not self.device:
            raise NotLowerable("several devices")
        self.taken.append(layout)
        self.places += 1
        return self._placed(layout, self.places - 1)

    def part(self, operand: Any, shape: Sequence[int], strides: Sequence[int], offset: int) -> Any:
        """Return the part of a contiguous operand that has this shape, strides and offset, in elements."""
        return tensor.alias_of(operand, shape, strides, operand._offset + offset)

    def contiguous(self, operand: Any, dtype: dtype | None = None) -> Any:
        """Return the operand itself if it is contiguous and of that dtype, else a contiguous copy."""
        wanted = operand.dtype if dtype is None else dtype
        if operand.dtype is wanted and operand.is_contiguous():
            return operand
        target = self.scratch(operand.shape, wanted)
        self.assign(target, operand)
        return target

    def assign(self, target: Any, source: Any) -> None:
        """Write `source`, converted and broadcast, into `target`."""
        steps = st.expand(source.shape, source.strides, target.shape)
        before, self.given = self.given, target
        REGISTRY["convert"].lower(self, tensor.alias_of(source, target.shape, steps, source._offset))
        self.given = before

    def make_on_host(self, body: Any, *operands: Any) -> None:
        """Run `body` on the operands' arrays, in place of the call's only launch, when the call runs on the CPU."""
        self.body, self.body_operands = body, operands

    def launch(self, kernel: Kernel, grid: Grid, *values: Any) -> None:
        """Queue a kernel; on the CPU, run its reference."""
        callers.uses(kernel.entry, self.name)
        handle = self.device.kernel(kernel) if isinstance(self.device, Accelerator) else None
        self.steps.append(launch_of(kernel, handle, grid, values, self.called))

    def library(self, operation: LibraryOperation, *operands: Any) -> None:
        """Queue a library call, with a workspace from the caching allocator."""
        callers.uses(operation.kind, self.name)
        handle, nbytes = self.device.library_plan(operation) if isinstance(self.device, Accelerator) else (None, 0)
        self.steps.append(library_call_of(operation, handle, nbytes, operands, self.called))

    def reserve(self, operation: LibraryOperation) -> int:
        """Return the size in bytes of what a library operation keeps for its gradients.

        Raises: NotSupportedError if there is no library.
        """
        if not isinstance(self.device, Accelerator):
            return 0
        return self.device.driver.library_reserve(self.device.library_plan(operation)[0])

    def random(self, count: int, source: Any = None) -> tuple[Any, Any, Any]:
        """Reserve `count` Philox counters of a generator (None: the device's); return (state, seed, first counter)."""
        first = self._drawn(count, source)
        return Drawn(first), Drawn(first + 1), Drawn(first + 2)

    def draw_on_host(self, function: Any, source: Any, written: Sequence[Any], *values: Any) -> None:
        """Call function(state, *arrays of `written`, *values); tensors among the values become arrays.  CPU only.

        state: of a generator (None: the default one), locked during the call.
        """
        self.steps.append(HostDraw(function, self._drawn(None, source), written, values, self.called))

    def _drawn(self, count: int | None, source: Any) -> int:
        """Record a draw; return the index of its first number."""
        if source is not None:
            check_generator(self.name, source)
            if source.device_index != self.device.index:
                raise DeviceMismatchError(
                    f"expected a generator of {self.device}, got one of {source.device}",
                    hint=f'make one on that device: torch.Generator("{self.device}")',
                    operator=self.name,
                )
        self.draws.append((count, source))
        return 3 * len(self.draws) - 3

    def inline(self, operator: Operator, bound: Sequence[Any], target: Any) -> Any:
        """Lower a call of a composite's body into this call.  target: the tensor to write the result to, or None."""
        for argument in (*bound, target):
            _check_placed(argument)
        if operator.host == "waits" or operator.mutates:
            raise NotLowerable(operator.name)
        if operator.setting is not None and operator.setting is not self.setting:
            self.settings.append((operator.setting, operator.setting.value))
        if operator.kind is COMPOSITE:
            result = operator.body(*bound)
            if target is not None:
                self.assign(target, result)
            return result if target is None else target
        before = self.given, self.name, self.called
        self.given, self.name = target, operator.name
        if self.is_derivative:  # launches are named after the operators that it calls
            self.called = operator.called
        try:
            result = operator.lower(self, *bound)
        finally:
            self.given, self.name, self.called = before
        self.inlined.append((operator, bound, result))
        return result

    def plan(self, members: list[tuple[int, int]], has_given: bool, result: Any) -> Plan:
        """Make the plan of the recorded steps.  result: the result of the lowering, or of a composite's body."""
        steps = [host_call(step) for step in self.steps] if self.is_on_host else self.steps
        plan = Plan(self.device, members, has_given, self.taken, steps, self.draws, result)
        plan.settings = self.settings or None
        if len(self.taken) > AT_ONCE and self.steps:
            plan.lifetimes = _lifetimes(self.steps, self.places - len(self.taken), len(self.taken), _kept(result))
        return plan


def _kept(result: Any) -> Iterator[int]:
    """Yield the operand indexes of the results of a call."""
    if isinstance(result, tuple):
        for tensor in result:
            yield from _kept(tensor)
    elif result is not None:
        yield result.place if isinstance(result, Part) else result


def _lifetimes(steps: Sequence[Any], first: int, count: int, kept: Iterator[int]) -> list[Any]:
    """Return, per step, the indexes of the allocations to make before it and of those to free after it.

    first: the place of the first allocation.  kept: the places of results, which are never freed.
    """
    uses = [{position.operand - first for position in step.addresses} for step in steps]
    begins, ends = [0] * count, [len(steps) - 1] * count
    for taken in range(count):
        used_by = [at for at, used in enumerate(uses) if taken in used]
        if used_by:
            begins[taken], ends[taken] = used_by[0], used_by[-1]
    is_kept = {position - first for position in kept}
    return [
        (
            [taken for taken in range(count) if begins[taken] == at],
            [taken for taken in range(count) if ends[taken] == at and taken not in is_kept],
        )
        for at in range(len(steps))
    ]


def _check_placed(value: Any) -> None:
    """Raise NotLowerable for a tensor with memory that is not an argument: later calls may use another tensor."""
    if isinstance(value, TensorBase):
        if value._storage.place == NO_PLACE:
            raise NotLowerable("a tensor that is not an argument")
    elif isinstance(value, (list, tuple)):
        for member in value:
            _check_placed(member)


def entry_for(operator: Operator, bound: list[Any], target: Any) -> Any:
    """Make the call cache's entry for a call.  Raises the errors of the operator."""
    if operator.is_derivative:
        return _composite_entry(operator, bound, next(iter(_devices(bound)), CPU))
    check_types(operator, bound)
    numbers = [index for index, value in enumerate(bound) if _is_number(operator, index, value)]
    if numbers:
        return MovedScalars(numbers, AS_NUMBERS, _names(operator, numbers))
    device, scalars = device_of(operator, bound)
    if target is not None:
        _check_given(operator, device, target)
    if scalars:
        return MovedScalars(scalars, ON_META if device is META else device.index, _names(operator, scalars))
    if operator.kind is COMPOSITE:
        return _composite_entry(operator, bound, device)
    members = _members(bound)
    call = Call(operator, device, len(bound) + len(members) + (target is not None))
    arguments = _arguments(call, operator, bound)
    if target is not None:
        call.given = call.operand(target, call.places - 1)
        for index, argument in enumerate(bound):
            if isinstance(argument, TensorBase) and is_same(argument, target):
                arguments[index] = call.given
    result = operator.lower(call, *arguments)
    if target is not None:
        result = _written(call, result)
    if device is META:  # its tensors have no values: nothing is computed or drawn
        call.steps, call.draws, call.body = [], [], None
    plan = call.plan(members, target is not None, _places(result))
    if call.is_on_host and target is None and len(call.steps) == len(call.taken) == 1 and call.taken[0].dense:
        if call.body is not None:
            plan.direct = whole_call(call.body, call.body_operands, call.steps[0])
        elif operator.kind is POINTWISE and result is not call.given:
            plan.direct = direct_call(call.steps[0], call.taken[0])
    return plan


def _names(operator: Operator, indexes: Sequence[int]) -> list[str]:
    return [operator.parameters[index].name for index in indexes]


def _is_number(operator: Operator, index: int, value: Any) -> bool:
    """Return whether tensors are passed as numbers, one or a list: their values are then read in every call."""
    parameter = operator.parameters[index]
    if isinstance(value, (list, tuple)) and not parameter.is_tensor:
        is_read = operator.kind is not COMPOSITE or parameter.annotation in NUMBERS
        return is_read and any(isinstance(item, TensorBase) for item in value)
    return isinstance(value, TensorBase) and parameter.annotation in NUMBERS


def _number(name: str, value: Any) -> Any:
    """Return the number of a tensor that is passed as one, or of each tensor in a list.  The host waits."""
    if isinstance(value, (list, tuple)):
        return type(value)(_number(name, item) for item in value)
    if not isinstance(value, TensorBase):
        return value
    if value.requires_grad:
        raise without_gradient(thread.here().operator, name, value)
    if value._layout.numel != 1:
        raise several_numbers(thread.here().operator, name, value)
    tensor: Any = value
    return tensor.item()


def _check_given(operator: Operator, device: Device, target: TensorBase) -> None:
    """Raise DeviceMismatchError or ShapeError if a call on a device cannot write a tensor."""
    if target._layout.device is not device:
        raise DeviceMismatchError(
            f"the tensor to write is {target.describe()}, the operands are on {device}",
            hint=f'write to a tensor on that device: torch.empty_like(out, device="{device}")',
            operator=operator.called,
        )
    if not operator.writes_one_value:
        check_own_overlap(operator.called, target)


def is_same(one: TensorBase, other: TensorBase) -> bool:
    """Return whether two tensors have the same memory and layout."""
    return one._storage is other._storage and one._offset == other._offset and one._layout is other._layout


def _members(bound: Sequence[Any]) -> list[tuple[int, int]]:
    """Return (index of the argument, index in it) of every tensor in arguments that are lists of tensors."""
    return [
        (index, at)
        for index, value in enumerate(bound)
        if _lists_tensors(value)
        for at, member in enumerate(value)
        if isinstance(member, TensorBase)
    ]


def _lists_tensors(value: Any) -> bool:
    """Return whether a value is a list with a tensor; other items may be None, as in indexes and gradients."""
    return type(value) in (list, tuple) and any(isinstance(member, TensorBase) for member in value)


def _arguments(call: Call, operator: Operator, bound: Sequence[Any]) -> list[Any]:
    """Return the arguments of a lowering: placeholders for tensors, a Number for a number passed in each call."""
    arguments: list[Any] = []
    member = len(bound)
    for index, value in enumerate(bound):
        if isinstance(value, TensorBase):
            arguments.append(call.operand(value, index))
        elif _lists_tensors(value):
            members = []
            for given in value:
                is_tensor = isinstance(given, TensorBase)
                members.append(call.operand(given, member) if is_tensor else given)
                member += is_tensor
            arguments.append(members)
        elif operator.travels[index] and type(value) in (int, float, bool):
            arguments.append(Number(index, type(value)))
        else:
            arguments.append(value)
    return arguments


def _written(call: Call, result: Any) -> Any:
    """Record the copy of `result` to the tensor to write, if they differ.  Returns that tensor."""
    check_single(call.called, result)
    if result is not call.given:
        check_fits(call.name, result, call.given)
        call.assign(call.given, result)
    return call.given


def _places(result: Any) -> Any:
    """Return the result of a lowering with tensors replaced by operand indexes."""
    if isinstance(result, TensorBase):
        return result._storage.place
    if isinstance(result, tuple):
        places = [_places(tensor) for tensor in result]
        return tuple(places) if type(result) is tuple else type(result)(*places)
    assert result is None, f"a lowering returned {result!r}"
    return None


# composites


def _devices(values: Sequence[Any]) -> Iterator[Device]:
    """Yield the devices of the tensors among arguments, also in lists."""
    for value in values:
        if isinstance(value, TensorBase):
            yield value._layout.device
        elif isinstance(value, (list, tuple)):
            yield from _devices(value)


def _composite_entry(operator: Operator, bound: list[Any], device: Device) -> Any:
    """Return a Delegation or a Plan for a composite that reads no values, else RunBody."""
    if operator.host == "waits":
        return RunBody()
    members = _members(bound)
    call = Call(operator, device, len(bound) + len(members))
    now, failed = thread.here(), False
    try:
        arguments = _arguments(call, operator, bound)
        now.lowering = call
        result = operator.body(*arguments)
        return _delegation(call, arguments, result) or call.plan(members, False, _parts(call, arguments, result))
    except NotLowerable:
        return RunBody()
    except MISUSES:
        failed = True
    finally:
        now.lowering = None
    if failed:
        operator.body(*bound)  # so that the error describes the actual tensors
    return RunBody()


def _delegation(call: Call, arguments: Sequence[Any], result: Any) -> Delegation | None:
    """Return the delegation for a composite that is one call of one operator with the same operands, else None.

    If the other operator has no gradient, calls in a graph run the composite's body, so the result is None.
    """
    if len(call.inlined) != 1 or not call.inlined[0][0].differentiable:
        return None
    operator, bound, inner_result = call.inlined[0]
    part = -1
    if result is not inner_result:
        if not isinstance(inner_result, tuple) or not any(output is result for output in inner_result):
            return None
        part = next(at for at, output in enumerate(inner_result) if output is result)
    sources: list[tuple[int, int]] = []
    for index, value in enumerate(bound):
        if isinstance(value, TensorBase) or _lists_tensors(value):
            positions = [at for at, argument in enumerate(arguments) if argument is value]
            if not positions:
                return None
            sources.append((positions[0], index))
    passed = {source for source, _ in sources}
    if any(isinstance(value, TensorBase) and at not in passed for at, value in enumerate(arguments)):
        return None  # in a graph, the body may give an operand that is not read a gradient of zeros
    template = [None if isinstance(value, TensorBase) or _lists_tensors(value) else value for value in bound]
    return Delegation(operator, template, sources, part)


def _parts(call: Call, arguments: Sequence[Any], result: Any) -> Any:
    """Replace the tensors of a composite's result by operand indexes.  Raises NotLowerable for views of operands."""
    if isinstance(result, TensorBase):
        index = result._storage.place
        if index == NO_PLACE:
            raise NotLowerable("a tensor that is not an argument")
        first = call.places - len(call.taken)
        if index >= first:
            layout = call.taken[index - first]
            is_whole = result._layout is layout and result._offset == 0
            return index if is_whole else Part(index, result._layout, result._offset)
        if any(argument is result for argument in arguments):
            return index
        if call.is_derivative:
            return Part(index, result._layout, result._offset)
        raise NotLowerable("a view of an operand")
    if type(result) in (tuple, list):
        return tuple([_parts(call, arguments, tensor) for tensor in result]) if type(result) is tuple else _refuse()
    if result is None:
        return None
    if isinstance(result, tuple):
        return type(result)(*[_parts(call, arguments, tensor) for tensor in result])
    return _refuse()


def _refuse() -> Any:
    raise NotLowerable("another result")


def check_single(name: str, result: Any) -> None:
    """Raise ArgumentTypeError if out= is one tensor but there are several results."""
    if isinstance(result, tuple):
        raise ArgumentTypeError(
            f"out= takes one tensor, and there are {len(result)} results", hint="call it without out=", operator=name
        )


def check_fits(name: str, result: Any, target: Any) -> None:
    """Raise ShapeError or DtypeError if `target` cannot hold `result`."""
    if result.shape != target.shape:
        raise unlike_result(name, result.shape, target.shape)
    if result.dtype.category > target.dtype.category:
        raise uncastable(name, result.dtype, target.dtype)


def write_out(operator: Operator, bound: list[Any], out: Any, result: Any) -> Any:
    """Write the result of a call to the tensors of out=.  Returns the result of the call.

    Raises: ArgumentTypeError, DeviceMismatchError, DtypeError, ShapeError.  Nothing is written then.
    """
    called = operator.called
    if isinstance(out, TensorBase):
        check_single(called, result)
        pairs = [(out, result)]
    elif not isinstance(result, tuple) or len(result) != len(out):
        count = len(result) if isinstance(result, tuple) else 1
        raise ArgumentTypeError(
            f"out has {len(out)} tensors, and there are {count} results",
            hint="pass one tensor for each result",
            operator=called,
        )
    else:
        pairs = list(zip(out, result))
        for target, value in pairs:
            if target.dtype is not value.dtype:
                raise uncastable(called, value.dtype, target.dtype)
    for target, value in pairs:
        _check_given(operator, value._layout.device, target)
        if target._layout.numel:
            check_fits(called, value, target)
        elif value.dtype.category > target.dtype.category:
            raise uncastable(called, value.dtype, target.dtype)
    for target, value in pairs:
        before_write(called, target)
        if target._layout.numel:
            transfer.assign(target, value)
        elif target._layout.shape != value._layout.shape:
            _adopt(bound, target, value)
        target._counter.version += 1
    if isinstance(out, TensorBase):
        return out
    return tuple(out) if type(result) is tuple else type(result)(*out)


def _adopt(bound: list[Any], target: TensorBase, result: TensorBase) -> None:
    """Give a tensor without elements the shape and the values of a result."""
    is_shared = any(isinstance(argument, TensorBase) and argument._storage is result._storage for argument in bound)
    if result.dtype is not target.dtype or is_shared:
        result = REGISTRY["convert"](result, target.dtype)
    target._storage, target._layout, target._offset = result._storage, result._layout, result._offset
    target._counter = result._counter


class _Lowering(Lowering):
    """The core's interface to the modules above it."""

    __slots__ = ()
    misuses = (*MISUSES, NotLowerable)

    def entry_for(self, operator: Operator, bound: list[Any], target: Any) -> Any:
        return entry_for(operator, bound, target)

    def raise_misuse(self, operator: Operator, bound: list[Any], error: Exception) -> NoReturn:
        if isinstance(error, NotLowerable):
            error = TypeError("a tensor was passed, whose values this call does not read")
        better = misuse(operator, bound, error)
        try:
            if better is error:
                raise
            raise better from error
        finally:
            del better, error, bound  # breaks a reference cycle: error, frame, error and operands

    def with_moved(self, moved: MovedScalars, bound: list[Any]) -> list[Any]:
        arguments = bound[:]
        for index, name in zip(moved.indexes, moved.names):
            value = bound[index]
            if moved.device == AS_NUMBERS:
                arguments[index] = _number(name, value)
            elif moved.device == ON_META:
                arguments[index] = transfer.on_meta(transfer.to(value.detach(), CPU_INDEX, value.dtype, copy=True))
            else:
                arguments[index] = transfer.move(value, moved.device)
        return arguments

    def copy_(self, target: TensorBase, first: int, source: TensorBase) -> Any:
        """Write the result of a composite in place.  Raises DtypeError if the target's type cannot hold it."""
        if source._layout.dtype.category > target._layout.dtype.category:
            raise uncastable(thread.here().operator.called, source._layout.dtype, target._layout.dtype)
        if source._grad_fn is not None:
            keep_overwritten(source._grad_fn, target, first)
        return transfer.copy_(target, source)

    def write_out(self, operator: Operator, bound: list[Any], out: Any, result: Any) -> Any:
        return write_out(operator, bound, out, result)


def _refuse_warning() -> None:
    if thread.here().lowering is not None:
        raise NotLowerable("a warning")


calls.set_lowering(_Lowering())
callers.here = thread.here
callers.before_warning = _refuse_warning
calls.keyed.update((device, Generator))
