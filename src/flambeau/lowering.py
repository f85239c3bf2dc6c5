"""Lowering: what one call of an operator takes and queues, said once for all calls like it.

- A lowering (see ops/operator.py) runs once for operands of given layouts, numbers of given types and attributes of
  given values.  It meets a `Call`, which writes down what it takes and queues, and `Slot`s, which lie nowhere yet.
- So a lowering decides by layouts, attributes and number types alone.  What depends on values is a composite.
- What comes of it is a `Plan` (plan.py), which calls of the same kind run.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as as_int
from typing import Any

from . import core, trace
from . import strides as st
from .core import TensorCore
from .dtypes import dtype
from .errors import ArgumentTypeError, DeviceMismatchError
from .kernel import Grid, Kernel
from .layout import Layout, checked_numel, dense_layout, layout_of
from .ops.operator import REGISTRY, Number, Operator
from .ops.pointwise import uncastable, unlike_result
from .placement import MISUSES, check_arguments, device_name, misused
from .plan import Drawn, Launch, Library, Plan, also_read
from .problem import Problem
from .runtime import state, storage
from .runtime.generator import check_generator


class Slot:
    """An operand, a result or scratch memory of a call that is lowered.

    place: its index among what the call's steps use (see Plan);  start: how many bytes behind that address it begins.
    """

    __slots__ = ("layout", "place", "start")

    def __init__(self, place: int, layout: Layout, start: int = 0) -> None:
        self.place = place
        self.layout = layout
        self.start = start

    def __repr__(self) -> str:
        return f"a tensor of {self.dtype} and shape {tuple(self.shape)}"

    @property
    def dtype(self) -> dtype:
        return self.layout.dtype

    @property
    def shape(self) -> st.Size:
        return self.layout.shape

    @property
    def strides(self) -> st.Shape:
        return self.layout.strides

    def numel(self) -> int:
        return self.layout.numel

    def is_contiguous(self) -> bool:
        return self.layout.dense

    def is_aligned(self) -> bool:
        return self.layout.aligned


class Call:
    """One call of an operator while it is lowered: what the lowering may ask for (see ops/operator.py)."""

    def __init__(self, operator: Operator, device: int, operands: int) -> None:
        self.name = operator.name
        self.called = operator.called
        self.device = device
        self.given: Slot | None = None
        self.accelerator: Any = state.machine().devices[device] if device >= 0 else None
        self.places = operands  # how many there are so far
        self.taken: list[Layout] = []
        self.steps: list[Launch | Library] = []
        self.draws: list[tuple[int, Any]] = []

    def output(self, shape: Sequence[int], dtype: dtype, strides: Sequence[int] | None = None) -> Any:
        """A new result, or the tensor to write if its type, shape and strides are those of the result.

        strides: of a result that leaves no gaps, contiguous if not given.
        """
        size = st.Size(shape)
        layout = dense_layout(dtype, size) if strides is None else layout_of(dtype, size, tuple(strides))
        given = self.given
        if given is not None and given.dtype is dtype and given.shape == size:
            lies_so = given.is_contiguous() if strides is None else given.strides == layout.strides
            if lies_so:
                return given
        return self._take(layout)

    def scratch(self, shape: Sequence[int], dtype: dtype) -> Any:
        """Contiguous memory that is free again once this call's launches are done."""
        return self._take(dense_layout(dtype, core.checked_size(shape, self.name)))

    def _take(self, layout: Layout) -> Slot:
        self.taken.append(layout)
        self.places += 1
        return Slot(self.places - 1, layout)

    def part(self, operand: Any, shape: Sequence[int], strides: Sequence[int], offset: int) -> Any:
        """A part of a contiguous operand, by its shape, strides and offset in elements."""
        start = offset * operand.dtype.itemsize
        aligned = operand.is_aligned() and start % storage.WIDEST_ACCESS == 0
        layout = layout_of(operand.dtype, st.Size(shape), tuple(strides), aligned)
        return Slot(operand.place, layout, operand.start + start)

    def contiguous(self, operand: Any, dtype: dtype | None = None) -> Any:
        """The operand itself if it is contiguous and of that dtype, else a copy that is."""
        wanted = operand.dtype if dtype is None else dtype
        if operand.dtype is wanted and operand.is_contiguous():
            return operand
        target = self.scratch(operand.shape, wanted)
        self.assign(target, operand)
        return target

    def assign(self, target: Any, source: Any) -> None:
        """Write `source`, converted and broadcast, into `target`."""
        steps = st.expand(source.shape, source.strides, target.shape)
        view = Slot(source.place, layout_of(source.dtype, target.shape, steps, source.is_aligned()), source.start)
        before, self.given = self.given, target
        REGISTRY["convert"].lower(self, view)
        self.given = before

    def launch(self, kernel: Kernel, grid: Grid, *values: Any) -> None:
        """Queue a kernel; on the CPU, run its reference."""
        trace.uses(kernel.entry, self.name)
        handle = None if self.accelerator is None else self.accelerator.kernel(kernel)
        self.steps.append(Launch(kernel, handle, grid, values, self.called))

    def library(self, problem: Problem, *operands: Any) -> None:
        """Queue a library call, with a workspace from the caching allocator."""
        trace.uses(problem.kind, self.name)
        handle, nbytes = (None, 0) if self.accelerator is None else self.accelerator.library_plan(problem)
        self.steps.append(Library(problem, handle, nbytes, operands))

    def random(self, count: int, source: Any = None) -> tuple[Any, Any, Any]:
        """Reserve `count` Philox counters of a generator (None: the device's own): (state, seed, first counter)."""
        if source is not None:
            check_generator(self.name, source)
            if source.device_index != self.device:
                raise DeviceMismatchError(
                    f"{self.name}: expected a generator of {device_name(self.device)}, got one of {source.device}",
                    hint=f'make one there: torch.Generator("{device_name(self.device)}")',
                )
        self.draws.append((count, source))
        place = 3 * len(self.draws) - 3
        return Drawn(place), Drawn(place + 1), Drawn(place + 2)


def lowered(operator: Operator, bound: Sequence[Any], given: Any, device: int) -> Plan:
    """Lower a call.  given: the tensor to write, or None.  Raises what the operator raises."""
    check_arguments(operator, bound)
    try:
        return _lowered(operator, bound, given, device)
    except MISUSES as error:
        raise misused(operator, bound, error)  # noqa: B904  (most often it is that error)


def laid_out(operator: Operator, bound: Sequence[Any]) -> tuple[list[int], list[int], int]:
    """The shape, the strides and the offset from its source of a view.  Raises what the operator raises."""
    check_arguments(operator, bound)
    try:
        shape, strides, step = operator.body(*bound)
        checked_numel(bound[0].dtype, shape)
        return [as_int(each) for each in shape], [as_int(each) for each in strides], as_int(step)
    except MISUSES as error:
        raise misused(operator, bound, error)  # noqa: B904  (most often it is that error)


def _lowered(operator: Operator, bound: Sequence[Any], given: Any, device: int) -> Plan:
    arguments, members = _as_slots(operator, bound)
    count = len(bound) + len(members)
    call = Call(operator, device, count + (given is not None))
    if given is None:
        return Plan(call, members, False, _places(operator.lower(call, *arguments)))
    target = call.given = Slot(count, given.layout)
    for index in also_read(bound, given):
        arguments[index] = target
    result = operator.lower(call, *arguments)
    check_single(operator.called, result)
    if result.place != target.place:
        check_fits(operator.name, result, target)
        call.assign(target, result)
    return Plan(call, members, True, target.place)


def _as_slots(operator: Operator, bound: Sequence[Any]) -> tuple[list[Any], list[tuple[int, int]]]:
    """The arguments as a lowering sees them, and where those operands are that are members of lists."""
    arguments: list[Any] = []
    members: list[tuple[int, int]] = []

    def member(tensor: TensorCore, index: int, at: int) -> Slot:
        members.append((index, at))
        return Slot(len(bound) + len(members) - 1, tensor.layout)

    for index, value in enumerate(bound):
        if isinstance(value, TensorCore):
            arguments.append(Slot(index, value.layout))
        elif type(value) in (list, tuple) and value and isinstance(value[0], TensorCore):
            arguments.append([member(each, index, at) for at, each in enumerate(value)])
        elif index in operator.number_indexes and type(value) in (int, float, bool):
            arguments.append(Number(index, type(value)))
        else:
            arguments.append(value)
    return arguments, members


def _places(result: Any) -> Any:
    """What the lowering returned, with places for slots."""
    if type(result) is Slot:
        return result.place
    if isinstance(result, tuple):
        made = [_places(each) for each in result]
        return tuple(made) if type(result) is tuple else type(result)(*made)
    assert result is None, f"a lowering returned {result!r}"
    return None


def check_single(name: str, result: Any) -> None:
    """Raise ArgumentTypeError where one tensor is to take several results."""
    if isinstance(result, tuple):
        raise ArgumentTypeError(
            f"{name}: out= takes one tensor, and there are {len(result)} results", hint="call it without out="
        )


def check_fits(name: str, result: Any, target: Any) -> None:
    """Raise ShapeError or DtypeError if `target` cannot take `result`."""
    if result.shape != target.shape:
        raise unlike_result(name, result.shape, target.shape)
    if result.dtype.category > target.dtype.category:
        raise uncastable(name, result.dtype, target.dtype)
