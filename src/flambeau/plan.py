"""Plans: what a warm call of an operator does, on the CPU, on virtual and on real GPUs.

A plan takes memory, puts addresses and numbers into prepared argument buffers, and queues.  It is made by a lowering
(lowering.py) and run by every call of its kind (dispatch.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from struct import error as StructError
from typing import Any

from . import core, host, trace
from .core import TensorCore
from .errors import FlambeauError, InternalError, OutOfMemoryError, ValueRangeError, shown, tell_as
from .hooks import hooks
from .kernel import Access, Grid, Kernel, Pointer, Pointers, Scalar
from .layout import Layout
from .ops.operator import Number, Operator
from .problem import Problem, unpacked
from .runtime import state, storage
from .runtime.stream import Stream

ADDRESS = Struct("@Q")
# compiled, the names are those of functions in C: see the .pxd
globals()["_put_address"] = ADDRESS.pack_into
globals()["_copied"] = bytearray
globals()["_is_unshared"] = lambda buffer: False


class Drawn:
    """The state's address, the seed or the first counter of a draw.  place: its index among what the plan draws."""

    __slots__ = ("place",)

    def __init__(self, place: int) -> None:
        self.place = place


class Place:
    """Where in an argument buffer an address goes.

    at: bytes from its start;  operand: its index among what the steps use;  start: bytes into it.
    """

    __slots__ = ("at", "operand", "start")

    def __init__(self, at: int, operand: int, start: int) -> None:
        self.at = at
        self.operand = operand
        self.start = start


class Step:
    """What a plan puts on a stream: its argument buffer, and where addresses go in it.

    spare: a buffer of an earlier call that nobody holds any more.  All that calls differ in is overwritten.
    """

    __slots__ = ("addresses", "spare", "template")
    addresses: list[Place]
    spare: bytearray | None
    template: bytearray

    def addressed(self, bound: list[Any]) -> bytearray:
        """A buffer with addresses in their places."""
        buffer = self.spare
        if buffer is None:
            buffer = _copied(self.template)  # type: ignore[name-defined]  # noqa: F821
        else:
            self.spare = None
        for place in self.addresses:
            address = core.address_of(bound[place.operand]) + place.start
            _put_address(buffer, place.at, address)  # type: ignore[name-defined]  # noqa: F821
        return buffer


class Launch(Step):
    """One launch of a plan, and where numbers and draws go in its buffer.  called: by what operator."""

    __slots__ = ("called", "draws", "grid", "handle", "kernel", "numbers")

    def __init__(self, kernel: Kernel, handle: Any, grid: Grid, values: Sequence[Any], called: str) -> None:
        self.called = called
        self.kernel = kernel
        self.handle = handle
        self.grid = grid
        self.addresses = []
        self.spare = None
        self.numbers: list[tuple[int, Any, Number]] = []
        self.draws: list[tuple[int, Any, int]] = []
        fixed = [self._fixed(param, at, value) for param, at, value in zip(kernel.params, kernel.offsets, values)]
        self.template = bytearray(kernel.pack(fixed))

    def _fixed(self, param: Any, at: int, value: Any) -> Any:
        """The value to prepare; what only a call knows is noted, and is 0 until then."""
        if type(param) is Pointer:
            if type(value) is Drawn:
                self.draws.append((at, ADDRESS.pack_into, value.place))
            elif value is not None:
                self.addresses.append(Place(at, value.place, value.start))
            return 0
        if type(param) is Pointers:
            for number, each in enumerate(value):
                self.addresses.append(Place(at + number * Pointers.NBYTES, each.place, each.start))
            return [(0, each.numel()) for each in value]
        if type(value) is Number:
            self.numbers.append((at, _packer_of(param), value))
            return 0
        if type(value) is Drawn:
            self.draws.append((at, _packer_of(param), value.place))
            return 0
        return value

    def filled(self, bound: list[Any], drawn: Sequence[int]) -> bytearray:
        """The argument buffer of one call."""
        buffer = self.addressed(bound)
        if self.numbers or self.draws:
            self._put_numbers(buffer, bound, drawn)
        return buffer

    def _put_numbers(self, buffer: bytearray, bound: Sequence[Any], drawn: Sequence[int]) -> None:
        try:
            for at, pack, number in self.numbers:
                value = bound[number.index]
                for conversion in number.conversions:
                    value = conversion(value)
                pack(buffer, at, value)
        except (StructError, OverflowError) as error:
            raise self._overflow(at, bound[number.index]) from error
        for at, pack, place in self.draws:
            pack(buffer, at, drawn[place])

    def _overflow(self, at: int, value: Any) -> ValueRangeError:
        param = self.kernel.params[self.kernel.offsets.index(at)]
        kind = param.ctype if isinstance(param, Scalar) else ""
        return ValueRangeError(
            f"{self.called}: value cannot be converted to type {kind} without overflow: {shown(value)}",
            hint="integers travel in 64 bits, floating point numbers end at about 1.8e308: use torch.inf",
        )


def _packer_of(param: Any) -> Any:
    assert isinstance(param, Scalar)
    return param.struct.pack_into


class Library(Step):
    """One library call of a plan.  Where an operand is absent, its address stays 0."""

    __slots__ = ("handle", "problem", "workspace_nbytes")

    def __init__(self, problem: Problem, handle: Any, workspace_nbytes: int, operands: Sequence[Any]) -> None:
        self.problem = problem
        self.handle = handle
        self.workspace_nbytes = workspace_nbytes
        self.template = bytearray(ADDRESS.size * len(operands))
        self.spare = None
        given = [(index, each) for index, each in enumerate(operands) if each is not None]
        self.addresses = [Place(ADDRESS.size * index, each.place, each.start) for index, each in given]


class Decided:
    """What was decided once for all calls of a kind.

    device, machine: where they are, the machine by its serial number;  setting: the operator's.
    parts: what has to be the same in each argument.
    """

    __slots__ = ("device", "machine", "parts", "setting")

    def is_for(self, machine: int, device: int, setting: Any, parts: list[Any]) -> None:
        """Note which calls."""
        self.machine, self.device, self.setting, self.parts = machine, device, setting, parts


class View(Decided):
    """A view's layout if it begins where the widest access can, its layout if not, and its offset from the source."""

    __slots__ = ("aligned", "misaligned", "step")

    def __init__(self, aligned: Layout, misaligned: Layout, step: int) -> None:
        self.aligned = aligned
        self.misaligned = misaligned
        self.step = step


class Handed(Decided):
    """The call of another operator that a composite comes to.

    arguments: the other operator's, where `sources` has no (index among the composite's, index among the other's).
    part: which of its results, or -1.
    """

    __slots__ = ("arguments", "operator", "part", "sources")

    def __init__(self, operator: Operator, arguments: list[Any], part: int, bound: Sequence[Any]) -> None:
        self.operator = operator
        self.part = part
        self.sources: list[tuple[int, int]] = []
        self.arguments: list[Any] = []
        for place, value in enumerate(arguments):
            is_tensor = isinstance(value, TensorCore)
            self.arguments.append(None if is_tensor else value)
            if is_tensor:
                self.sources.append((_place_of(value, bound), place))


def _place_of(tensor: TensorCore, bound: Sequence[Any]) -> int:
    found = [place for place, each in enumerate(bound) if each is tensor]
    assert found, f"handed over: {tensor.describe()}, which the composite was not given"
    return found[0]


class Plan(Decided):
    """What a call takes and queues: run by every call whose operands lie as the first one's did.

    Its steps use the bound arguments, and what `run` puts behind them: the members of lists, which are at (index of the
    list, index in it), the tensor that is written, and what the call takes.
    """

    __slots__ = ("draws", "has_given", "members", "result", "steps", "taken")

    def __init__(self, call: Any, members: list[tuple[int, int]], has_given: bool, result: Any) -> None:
        self.device = call.device
        self.members = members
        self.has_given = has_given
        self.taken = call.taken
        self.steps = call.steps
        self.draws = call.draws
        self.result = result

    def run(self, bound: list[Any], given: Any) -> Any:
        """Do the call; what it returns.  Raises: OutOfMemoryError, and what putting work on a stream can."""
        machine = state.machine()
        stream = None if self.device < 0 else state.current_stream(self.device)
        for index, at in self.members:
            bound.append(bound[index][at])
        if self.has_given:
            bound.append(given)
        for layout in self.taken:
            bound.append(core.new(_memory(machine, stream, layout.nbytes), layout))
        drawn = _drawn(machine, self.device, self.draws) if self.draws else None
        for step in self.steps:
            if isinstance(step, Launch):
                _launch(step, stream, bound, drawn)
            else:
                _run_library(machine, stream, step, bound)
        return _built(self.result, bound)


def _launch(step: Launch, stream: Stream | None, bound: list[Any], drawn: Any) -> None:
    buffer = step.filled(bound, drawn)
    if stream is None:
        run_on_host(step.kernel.bind(buffer), step.kernel.reference, step.called)
    else:
        stream.launch(step.handle, step.grid, buffer)
        if _is_unshared(buffer):  # type: ignore[name-defined]  # noqa: F821
            step.spare = buffer


def _memory(machine: Any, stream: Stream | None, nbytes: int) -> storage.Storage:
    if stream is None:
        return storage.on_host(nbytes)
    return storage.on_device(machine, stream.device_index, nbytes, stream.handle)


def _drawn(machine: Any, device: int, draws: Sequence[tuple[int, Any]]) -> list[int]:
    """The state, the seed and the first counter of every draw."""
    own = machine.cpu_generator if device < 0 else machine.devices[device].generator
    return [number for count, source in draws for number in (own if source is None else source).reserve(count)]


def _run_library(machine: Any, stream: Stream | None, step: Library, bound: list[Any]) -> None:
    packed = step.addressed(bound)
    if stream is None:
        run_on_host(step.problem.accesses(unpacked(packed)), step.problem.reference, step.problem.kind)
        return
    workspace = _memory(machine, stream, step.workspace_nbytes) if step.workspace_nbytes else None
    stream.library_run(step.handle, packed, 0 if workspace is None else workspace.address())
    if _is_unshared(packed):  # type: ignore[name-defined]  # noqa: F821
        step.spare = packed


def run_on_host(bound: Sequence[Any], reference: Any, called: str) -> None:
    """Run a reference on host memory.  Raises what it raises, in the name of what was called."""
    if hooks.on_host_read is not None or hooks.on_host_write is not None:
        trace.touched_by_host(bound)
    try:
        with host.np.errstate(all="ignore"):
            reference(*[_host_array(each) for each in bound])
    except FlambeauError as error:
        tell_as(error, called)
        raise
    except MemoryError as error:
        raise OutOfMemoryError(f"{called}: CPU out of memory: {error}", hint="split the call") from error
    except Exception as error:
        raise InternalError(called, "", error) from error


def _host_array(value: Any) -> Any:
    if isinstance(value, list):
        return [_host_array(each) for each in value]
    if isinstance(value, Access):
        return host.array_at(value.address, value.dtype, value.shape, value.strides)
    return value


def _built(result: Any, bound: Sequence[Any]) -> Any:
    """What the lowering returned, with tensors in the place of slots."""
    if type(result) is int:
        place = result
        return bound[place]
    if isinstance(result, tuple):
        made = [_built(each, bound) for each in result]
        return tuple(made) if type(result) is tuple else type(result)(*made)
    return result


def also_read(bound: Sequence[Any], given: TensorCore) -> tuple[int, ...]:
    """The indexes of the operands that are the tensor to write."""
    return tuple([at for at, each in enumerate(bound) if isinstance(each, TensorCore) and _is_same(each, given)])


def _is_same(one: TensorCore, other: TensorCore) -> bool:
    return one.storage is other.storage and one.offset == other.offset and one.layout is other.layout
