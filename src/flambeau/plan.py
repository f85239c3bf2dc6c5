"""Calls of operators, lowered once and then repeated.

- A lowering (see ops/operator.py) runs once for operands of given layouts, numbers of given types and attributes of
  given values.  It meets a `Call`, which writes down what it takes and queues, and `Slot`s, which lie nowhere yet.
- The `Plan` that this gives is what a warm call runs: take the memory, put addresses and numbers into the prepared
  argument buffers, queue.  It is the same on the CPU, on virtual and on real GPUs.
- So a lowering decides by layouts, attributes and number types alone.  What depends on values is a composite.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Any

from . import core, host, trace
from . import strides as st
from .core import TensorCore
from .dtypes import dtype
from .errors import DeviceMismatchError, DtypeError, ShapeError
from .kernel import Access, Grid, Kernel, Pointer, Pointers, Scalar
from .layout import Layout, dense_layout, layout_of
from .ops.operator import REGISTRY, Number, Operator
from .problem import Problem
from .runtime import state, storage
from .runtime.stream import Stream

ADDRESS = Struct("@Q")
IS_COMPILED = not __file__.endswith(".py")


class Slot:
    """An operand, a result or scratch memory of a call that is lowered.

    place: its index among the call's addresses;  start: how many bytes behind that address it begins.
    """

    __slots__ = ("layout", "place", "start")

    def __init__(self, place: int, layout: Layout, start: int = 0) -> None:
        self.place = place
        self.layout = layout
        self.start = start

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


class Drawn:
    """The state's address, the seed or the first counter of a draw.  place: its index among what the plan draws."""

    __slots__ = ("place",)

    def __init__(self, place: int) -> None:
        self.place = place


class Launch:
    """One launch of a plan: its buffer, and where addresses, numbers and draws go in it."""

    __slots__ = ("addresses", "draws", "grid", "handle", "kernel", "numbers", "template")

    def __init__(self, kernel: Kernel, handle: Any, grid: Grid, values: Sequence[Any]) -> None:
        self.kernel = kernel
        self.handle = handle
        self.grid = grid
        self.addresses: list[tuple[int, int, int]] = []  # (byte offset, place, start)
        self.numbers: list[tuple[int, Struct, Number]] = []
        self.draws: list[tuple[int, Struct, int]] = []
        fixed = [self._fixed(param, at, value) for param, at, value in zip(kernel.params, kernel.offsets, values)]
        self.template = kernel.pack(fixed)

    def _fixed(self, param: Any, at: int, value: Any) -> Any:
        """The value to prepare; what only a call knows is noted, and is 0 until then."""
        if type(param) is Pointer:
            if type(value) is Drawn:
                self.draws.append((at, ADDRESS, value.place))
            elif value is not None:
                self.addresses.append((at, value.place, value.start))
            return 0
        if type(param) is Pointers:
            for number, each in enumerate(value):
                self.addresses.append((at + number * Pointers.NBYTES, each.place, each.start))
            return [(0, each.numel()) for each in value]
        if type(value) is Number:
            self.numbers.append((at, _struct_of(param), value))
            return 0
        if type(value) is Drawn:
            self.draws.append((at, _struct_of(param), value.place))
            return 0
        return value

    def filled(self, operands: Sequence[TensorCore], bound: Sequence[Any], drawn: Sequence[int]) -> bytearray:
        """The argument buffer of one call."""
        buffer = bytearray(self.template)
        for at, place, start in self.addresses:
            put_address(buffer, at, core.address_of(operands[place]) + start)
        if self.numbers or self.draws:
            self._put_numbers(buffer, bound, drawn)
        return buffer

    def _put_numbers(self, buffer: bytearray, bound: Sequence[Any], drawn: Sequence[int]) -> None:
        for at, packer, number in self.numbers:
            value = bound[number.index]
            for conversion in number.conversions:
                value = conversion(value)
            packer.pack_into(buffer, at, value)
        for at, packer, place in self.draws:
            packer.pack_into(buffer, at, drawn[place])


def put_address(buffer: bytearray, at: int, address: int) -> None:
    """Write 8 bytes, little-endian."""
    if IS_COMPILED:
        for _ in range(8):  # becomes one store
            buffer[at] = address & 0xFF
            address >>= 8
            at += 1
    else:
        ADDRESS.pack_into(buffer, at, address)


def _struct_of(param: Any) -> Struct:
    assert isinstance(param, Scalar)
    return param.struct


class Library:
    """One library call of a plan.  places: of its operands, None where one is absent."""

    __slots__ = ("handle", "places", "problem", "workspace_nbytes")

    def __init__(self, problem: Problem, handle: Any, workspace_nbytes: int, places: Sequence[int | None]) -> None:
        self.problem = problem
        self.handle = handle
        self.workspace_nbytes = workspace_nbytes
        self.places = places


class Call:
    """One call of an operator while it is lowered: what the lowering may ask for (see ops/operator.py)."""

    def __init__(self, name: str, device: int, operands: int) -> None:
        self.name = name
        self.device = device
        self.given: Slot | None = None
        self.accelerator: Any = state.machine().devices[device] if device >= 0 else None
        self.places = operands  # how many addresses there are so far
        self.taken: list[Layout] = []
        self.steps: list[Launch | Library] = []
        self.draws: list[tuple[int, Any]] = []

    def output(self, shape: Sequence[int], dtype: dtype) -> Any:
        """A new contiguous result, or what is to be written, if that has this shape and type."""
        layout = dense_layout(dtype, st.Size(shape))
        given = self.given
        if given is not None and given.dtype is dtype and given.shape == layout.shape and given.is_contiguous():
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
        self.steps.append(Launch(kernel, handle, grid, values))

    def library(self, problem: Problem, *operands: Any) -> None:
        """Queue a library call, with a workspace from the caching allocator."""
        places = [None if each is None else each.place for each in operands]
        trace.uses(problem.kind, self.name)
        handle, nbytes = (None, 0) if self.accelerator is None else self.accelerator.library_plan(problem)
        self.steps.append(Library(problem, handle, nbytes, places))

    def random(self, count: int, source: Any = None) -> tuple[Any, Any, Any]:
        """Reserve `count` Philox counters of a generator (None: the device's own): (state, seed, first counter)."""
        if source is not None and source.device_index != self.device:
            raise DeviceMismatchError(
                f"{self.name}: expected a generator of {_device_name(self.device)}, got one of {source.device}"
            )
        self.draws.append((count, source))
        place = 3 * len(self.draws) - 3
        return Drawn(place), Drawn(place + 1), Drawn(place + 2)


class Plan:
    """What a call takes and queues: run by every call whose operands lie as the first one's did.

    sources: where the operands are among the bound arguments, as (index, index in a list, or -1).
    """

    __slots__ = ("device", "draws", "has_given", "result", "sources", "steps", "taken")

    def __init__(self, call: Call, sources: list[tuple[int, int]], has_given: bool, result: Any) -> None:
        self.device = call.device
        self.sources = sources
        self.has_given = has_given
        self.taken = call.taken
        self.steps = call.steps
        self.draws = call.draws
        self.result = result

    def run(self, bound: Sequence[Any], given: Any) -> Any:
        """Do the call; what it returns.  Raises: OutOfMemoryError, and what putting work on a stream can."""
        machine = state.machine()
        stream = None if self.device < 0 else state.current_stream(self.device)
        operands = [bound[index] if at < 0 else bound[index][at] for index, at in self.sources]
        if self.has_given:
            operands.append(given)
        for layout in self.taken:
            operands.append(core.new(_memory(machine, stream, layout.nbytes), layout))
        drawn = _drawn(machine, self.device, self.draws) if self.draws else None
        for step in self.steps:
            if isinstance(step, Launch):
                _launch(step, stream, operands, bound, drawn)
            else:
                _run_library(machine, stream, step, operands)
        return _built(self.result, operands)


def _launch(step: Launch, stream: Stream | None, operands: list[TensorCore], bound: Sequence[Any], drawn: Any) -> None:
    buffer = step.filled(operands, bound, drawn)
    if stream is None:
        run_on_host(step.kernel.bind(buffer), step.kernel.reference)
    else:
        stream.launch(step.handle, step.grid, buffer)


def _memory(machine: Any, stream: Stream | None, nbytes: int) -> storage.Storage:
    if stream is None:
        return storage.on_host(nbytes)
    return storage.on_device(machine, stream.device_index, nbytes, stream.handle)


def _drawn(machine: Any, device: int, draws: Sequence[tuple[int, Any]]) -> list[int]:
    """The state, the seed and the first counter of every draw."""
    own = machine.cpu_generator if device < 0 else machine.devices[device].generator
    return [number for count, source in draws for number in (own if source is None else source).reserve(count)]


def _run_library(machine: Any, stream: Stream | None, step: Library, operands: Sequence[TensorCore]) -> None:
    given = tuple([0 if place is None else core.address_of(operands[place]) for place in step.places])
    if stream is None:
        run_on_host(step.problem.accesses(given), step.problem.reference)
        return
    workspace = _memory(machine, stream, step.workspace_nbytes)
    stream.library_run(step.handle, given, workspace.address())


def run_on_host(bound: Sequence[Any], reference: Any) -> None:
    """Run a reference on host memory."""
    if trace.on_host_read is not None or trace.on_host_write is not None:
        trace.touched_by_host(bound)
    with host.np.errstate(all="ignore"):
        reference(*[_host_array(each) for each in bound])


def _host_array(value: Any) -> Any:
    if isinstance(value, list):
        return [_host_array(each) for each in value]
    if isinstance(value, Access):
        return host.array_at(value.address, value.dtype, value.shape, value.strides)
    return value


def _built(result: Any, operands: Sequence[Any]) -> Any:
    """What the lowering returned, with tensors in the place of slots."""
    if type(result) is int:
        return operands[result]
    if isinstance(result, tuple):
        made = [_built(each, operands) for each in result]
        return tuple(made) if type(result) is tuple else type(result)(*made)
    return result


def _places(result: Any) -> Any:
    """What the lowering returned, with places for slots."""
    if type(result) is Slot:
        return result.place
    if isinstance(result, tuple):
        made = [_places(each) for each in result]
        return tuple(made) if type(result) is tuple else type(result)(*made)
    assert result is None, f"a lowering returned {result!r}"
    return None


def lowered(operator: Operator, bound: Sequence[Any], given: Any, device: int) -> Plan:
    """Lower a call.  given: the tensor to write, or None.  Raises what the operator raises."""
    arguments, sources = _as_slots(operator, bound)
    call = Call(operator.name, device, len(sources) + (given is not None))
    if given is None:
        return Plan(call, sources, False, _places(operator.lower(call, *arguments)))
    target = call.given = Slot(len(sources), given.layout)
    for index in also_read(bound, given):
        arguments[index] = target
    result = operator.lower(call, *arguments)
    if result.place != target.place:
        check_fits(operator.name, result, target)
        call.assign(target, result)
    return Plan(call, sources, True, target.place)


def _as_slots(operator: Operator, bound: Sequence[Any]) -> tuple[list[Any], list[tuple[int, int]]]:
    """The arguments as a lowering sees them, and where its operands are among the bound ones."""
    arguments: list[Any] = []
    sources: list[tuple[int, int]] = []

    def slot(tensor: TensorCore, index: int, at: int) -> Slot:
        sources.append((index, at))
        return Slot(len(sources) - 1, tensor.layout)

    for index, value in enumerate(bound):
        if isinstance(value, TensorCore):
            arguments.append(slot(value, index, -1))
        elif type(value) in (list, tuple) and value and isinstance(value[0], TensorCore):
            arguments.append([slot(each, index, at) for at, each in enumerate(value)])
        elif index in operator.number_indexes and type(value) in (int, float, bool):
            arguments.append(Number(index, type(value)))
        else:
            arguments.append(value)
    return arguments, sources


def also_read(bound: Sequence[Any], given: TensorCore) -> tuple[int, ...]:
    """The indexes of the operands that are the tensor to write."""
    return tuple([at for at, each in enumerate(bound) if isinstance(each, TensorCore) and _is_same(each, given)])


def _is_same(one: TensorCore, other: TensorCore) -> bool:
    return one.storage is other.storage and one.offset == other.offset and one.layout is other.layout


def check_fits(name: str, result: Any, target: Any) -> None:
    """Raise ShapeError or DtypeError if `target` cannot take `result`."""
    if result.shape != target.shape:
        raise ShapeError(f"{name}: the result has shape {list(result.shape)}, the tensor to write {list(target.shape)}")
    if result.dtype.category > target.dtype.category:
        raise DtypeError(
            f"{name}: result type {result.dtype.name} can't be cast to the desired output type {target.dtype.name}"
        )


def _device_name(index: int) -> str:
    return "cpu" if index < 0 else f"cuda:{index}"
