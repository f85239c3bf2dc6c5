"""Plans: the work of a warm operator call, on the CPU, on virtual GPUs and on real GPUs.

- A lowering makes a plan (lowering.py).  Every call with the same key runs it (call.py).
- On a GPU, a plan allocates, writes addresses and numbers into prepared argument buffers, and queues the launches.
- On the CPU, each step calls a function on NumPy arrays.  If one step makes the only result, the array that it returns
  becomes the result's memory.  Otherwise the functions write arrays that were allocated before.
"""

from __future__ import annotations

from _signal import SIGALRM, SIGINT, getsignal  # signal's getsignal costs ten times as much
from collections.abc import Sequence
from functools import partial
from struct import Struct
from struct import error as StructError
from types import FunctionType, MethodType
from typing import Any

from .. import host, signals
from ..errors import OutOfMemoryError
from ..kernel import Grid, Kernel
from ..library_operation import LibraryOperation
from . import call_errors, storage, tensor, thread
from .hooks import touched
from .layout import Layout
from .native import copied, enter_critical, is_unshared, leave_critical, put_address
from .operator import Number
from .queue import hooks
from .tensor import TensorBase
from .thread import Device

ADDRESS = Struct("@Q")
OF_PYTHON = (FunctionType, MethodType, partial)  # types of host functions in which signal handlers may run
FIXED, WHOLE, SHAPED, NUMBER, DRAWN, LISTED = range(6)  # sources of a host function's argument
_FIXED, _WHOLE, _SHAPED, _NUMBER, _DRAWN = FIXED, WHOLE, SHAPED, NUMBER, DRAWN  # C numbers where compiled


class Place:
    """Position of an address in an argument buffer: byte `at`, of operand number `operand`, `start` bytes into it."""

    __slots__ = ("at", "operand", "start")

    def __init__(self, at: int, operand: Any) -> None:
        self.at = at
        self.operand = operand._storage.place
        self.start = operand._offset * operand.dtype.itemsize


class Step:
    """One operation that a plan queues on a stream: its argument buffer, and the positions of addresses in it.

    spare: a buffer of an earlier call, without another owner.  A call overwrites all parts in which calls differ.
    called: the operator's public name.  mirrored: the last result of `Mirror.load`, or None.
    """

    __slots__ = ("addresses", "called", "mirrored", "spare", "template")
    mirrored: Any
    addresses: list[Place]
    spare: bytearray | None
    template: bytearray
    called: str

    def addressed(self, used: list[Any]) -> bytearray:
        """Return a buffer with the addresses filled in."""
        buffer = self.spare
        if buffer is None:
            buffer = copied(self.template)
        else:
            self.spare = None
        for slot in self.addresses:
            operand = used[slot.operand]
            address = operand._storage.address() + operand._offset * operand._layout.itemsize + slot.start
            put_address(buffer, slot.at, address)
        return buffer

    def readdress(self, buffer: bytearray, used: list[Any], index: int) -> None:
        """Fill in the addresses of the operands' twins on a further device."""
        for slot in self.addresses:
            operand = used[slot.operand]
            twins = operand._storage.twins
            memory = twins.memories[index]
            start = twins.start + operand._offset * operand._layout.itemsize + slot.start
            put_address(buffer, slot.at, memory.address() + start)


class Launch(Step):
    """One launch of a plan, and the positions of numbers and draws in its buffer (see lowering.launch_of)."""

    __slots__ = ("draws", "grid", "handle", "kernel", "numbers", "values")

    def __init__(self, kernel: Kernel, handle: Any, grid: Grid, values: Sequence[Any], called: str) -> None:
        self.called = called
        self.kernel = kernel
        self.handle = handle
        self.grid = grid
        self.values = values
        self.addresses = []
        self.spare = self.mirrored = None
        self.numbers: list[list[Any]] = []  # [offset, struct, Number, (number that was passed last, its 64 bits)]
        self.draws: list[tuple[int, Any, int]] = []

    def filled(self, used: list[Any], drawn: Any) -> bytearray:
        """Return the argument buffer of one call."""
        buffer = self.addressed(used)
        for slot in self.numbers:
            at, struct, number, known = slot
            passed = used[number.index]
            if known[0] is passed:
                put_address(buffer, at, known[1])
                continue
            self.put_number(buffer, at, at, struct, number, passed)
            if struct.size == ADDRESS.size:
                slot[3] = passed, ADDRESS.unpack_from(buffer, at)[0]
        self.put_draws(buffer, drawn)
        return buffer

    def put_draws(self, buffer: bytearray, drawn: Sequence[Any]) -> None:
        """Write the random draws into a buffer."""
        for at, struct, index in self.draws:
            struct.pack_into(buffer, at, drawn[index])

    def put_number(self, buffer: bytearray, place: int, at: int, struct: Any, number: Number, passed: Any) -> None:
        """Write a number `place` bytes into a buffer;  at: the offset of its parameter in the kernel's buffer."""
        value = passed
        try:
            for conversion in number.conversions:
                value = conversion(value)
            struct.pack_into(buffer, place, value)
        except (StructError, OverflowError) as error:
            raise call_errors.overflow(self.called, self.kernel.scalar_at(at).ctype, passed) from error


class LibraryCall(Step):
    """One call of a vendor's library.  The address of an absent operand stays 0."""

    __slots__ = ("handle", "operation", "workspace_nbytes")

    def __init__(self, operation: LibraryOperation, handle: Any, workspace_nbytes: int, called: str) -> None:
        self.called = called
        self.operation = operation
        self.handle = handle
        self.workspace_nbytes = workspace_nbytes
        self.spare = self.mirrored = None


class Argument:
    """Source of one argument of a host function.

    how: FIXED, a value;  WHOLE, a whole operand;  SHAPED, an array over an operand, `start` bytes into it;
    NUMBER, a number of the call, which the function `value` converts;  DRAWN, a random draw;  LISTED, a list.
    """

    __slots__ = ("how", "last", "made", "place", "plain", "shape", "start", "steps", "value")

    def __init__(self, how: int, place: int = 0, value: Any = None) -> None:
        self.how = how
        self.place = place
        self.value = value
        self.start = 0
        self.plain: Any = None
        self.shape: Any = None
        self.steps: Any = None
        self.last: Any = None  # the number that was converted last, whose conversion is `made`
        self.made: Any = None


class HostCall:
    """A step on the CPU: a function, and the sources of its arguments.

    arguments: None if the arrays have to be found by their addresses in the argument buffer.
    accesses: a function of a call's operands and draws; returns the arguments of `reference`, arrays as Access.
    is_checked: whether the returned array's strides may differ from the result's.
    """

    __slots__ = ("accesses", "arguments", "function", "is_checked", "reference", "step")

    def __init__(
        self, function: Any, arguments: list[Argument] | None, step: Any, accesses: Any, reference: Any,
        is_checked: bool = False,
    ) -> None:  # fmt: skip
        self.function = function
        self.arguments = arguments
        self.step = step
        self.accesses = accesses
        self.reference = reference
        self.is_checked = is_checked

    def run(self, used: list[Any], drawn: Any) -> None:
        """Run the step on the operands and draws of a call."""
        if self.arguments is None or hooks.on_host_read is not None or hooks.on_host_write is not None:
            accesses = self.accesses(used, drawn)
            if hooks.on_host_call is None or not hooks.on_host_call(self.step, accesses, used):
                _called(self.reference, touched(accesses))
        else:
            _called(self.function, _gathered(self.arguments, used, drawn))


def _called(function: Any, arguments: list[Any]) -> Any:
    """Call a host function.  Its exceptions become errors of the operator, but for those of signal handlers."""
    if type(function) in OF_PYTHON and (
        getsignal(SIGINT) is not signals.interrupt or getsignal(SIGALRM) is not signals.alarm
    ):
        signals.replace_handlers()
    try:
        return thread.quietly(function, arguments)
    except Exception as error:  # noqa: BLE001  (translated and raised)
        call_errors.raise_failed(thread.here().operator, error)


def _gathered(arguments: list[Argument], used: list[Any], drawn: Any) -> list[Any]:
    """Return the arguments of a host function for one call."""
    values: list[Any] = []
    for argument in arguments:
        how = argument.how
        if how == _WHOLE:
            values.append(tensor.array_of(used[argument.place]))
        elif how == _SHAPED:
            values.append(_shaped(argument, used[argument.place]))
        elif how == _FIXED:
            values.append(argument.value)
        elif how == _NUMBER:
            values.append(_number(argument, used[argument.place]))
        elif how == _DRAWN:
            values.append(drawn[argument.place])
        else:
            values.append(_gathered(argument.value, used, drawn))
    return values


def _shaped(argument: Argument, operand: TensorBase) -> Any:
    memory, layout = operand._storage, operand._layout
    start = operand._offset * layout.itemsize + argument.start
    is_whole = start == 0 and memory.whole_layout is layout and layout.dense
    if is_whole and argument.steps is None and layout.plain is argument.plain and layout.shape == argument.shape:
        return memory.whole
    if layout.numel == 0:
        return host.np.empty(argument.shape, argument.plain)
    return host.np.ndarray(argument.shape, argument.plain, memory.array(), start, argument.steps)


def _number(argument: Argument, value: Any) -> Any:
    """Return a number for a host function: as a kernel receives it, in the type that the function computes in."""
    if value is not argument.last:
        argument.last, argument.made = value, argument.value(value)
    return argument.made


class Part:
    """A result that is a view of memory that a plan allocates.  place: its operand index;  offset: in elements."""

    __slots__ = ("layout", "offset", "place")

    def __init__(self, place: int, layout: Layout, offset: int) -> None:
        self.place = place
        self.layout = layout
        self.offset = offset


class Plan:
    """Allocations and steps of a call, run by every call with the same key.

    Steps refer to operands by index.  The operands are the bound arguments, followed by what `run` appends: the members
    of lists, which are at (index of the list, index in it), the tensor that is written, and the allocated tensors.
    result: the result's index among these, a Part, None, or a tuple of such.  used: the cache's clock at the last run.
    direct: on the CPU, the call that makes the only result.
    settings: (setting, value) pairs of user settings that the plan depends on and its key does not have, or None.
    lifetimes: per step, the indexes in `taken` to allocate before it and to drop after it; None allocates all at once.
    """

    __slots__ = (
        "device", "direct", "draws", "has_given", "is_on_host", "lifetimes", "members", "result", "settings",
        "steps", "taken", "used",
    )  # fmt: skip

    def __init__(
        self,
        device: Device,
        members: list[tuple[int, int]],
        has_given: bool,
        taken: list[Layout],
        steps: list[Any],
        draws: list[tuple[int | None, Any]],
        result: Any,
    ) -> None:
        self.device = device
        self.is_on_host = device.index < 0
        self.members = members
        self.has_given = has_given
        self.taken = taken
        self.steps = steps
        self.draws = draws
        self.result = result
        self.used = 0
        self.direct: HostCall | None = None
        self.lifetimes: list[Any] | None = None
        self.settings: list[tuple[Any, Any]] | None = None

    def run(self, bound: list[Any], target: Any) -> Any:
        """Run the call; return its results.  Raises: OutOfMemoryError, and errors of queueing work."""
        if self.is_on_host:
            if self.direct is not None and hooks.on_host_read is None and hooks.on_host_write is None:
                return self._run_direct(bound)
            stream = None
        else:
            stream = thread.current_stream(self.device.index)
        for index, at in self.members:
            bound.append(bound[index][at])
        if self.has_given:
            bound.append(target)
        if stream is not None and stream.mirror is not None and not _are_mirrored(bound, stream.mirror):
            stream.mirror.end("an operand is on the first device only")
        if self.lifetimes is None:
            for layout in self.taken:
                bound.append(tensor.taken(layout, stream))
        if self.draws:
            self._draw_and_run(bound, stream)
        else:
            self._run_steps(stream, bound, None)
        return _built(self.result, bound)

    def _draw_and_run(self, bound: list[Any], stream: Any) -> None:
        """Reserve counters of generators and run the steps in a critical section: no reserved counter is lost."""
        enter_critical()
        try:
            drawn = self._drawn()
            if stream is not None and stream.mirror is not None:
                stream.mirror.draw(self.draws)
            self._run_steps(stream, bound, drawn)
        finally:
            leave_critical()

    def _run_step(self, step: Any, stream: Any, bound: list[Any], drawn: Any) -> None:
        if stream is not None and stream.mirror is not None:
            _run_on_all(step, stream.mirror, bound, drawn)
        elif isinstance(step, Launch):
            _launch(step, stream, bound, drawn)
        elif isinstance(step, HostCall):
            step.run(bound, drawn)
        else:
            _run_library(step, stream, bound)

    def _run_steps(self, stream: Any, bound: list[Any], drawn: Any) -> None:
        """Run the steps.  With lifetimes, memory is allocated before its first use and dropped after its last."""
        if self.lifetimes is None:
            for step in self.steps:
                self._run_step(step, stream, bound, drawn)
            return
        first = len(bound)
        bound += [None] * len(self.taken)
        for number, step in enumerate(self.steps):
            takes, drops = self.lifetimes[number]
            for index in takes:
                bound[first + index] = tensor.taken(self.taken[index], stream)
            self._run_step(step, stream, bound, drawn)
            for index in drops:
                bound[first + index] = None

    def _run_direct(self, bound: list[Any]) -> Any:
        call, layout = self.direct, self.taken[0]
        assert call is not None and call.arguments is not None
        values = _gathered(call.arguments, bound, None)
        array = _called(call.function, values)
        if (
            type(array) is not host.np.ndarray
            or array.dtype is not layout.plain
            or array.base is not None
            or _is_one_of(array, values)
            or (call.is_checked and array.strides != layout.steps)
        ):
            array = _own(array, layout)
        return tensor.new_tensor(storage.of_array(array, layout), layout)

    def _drawn(self) -> list[Any]:
        """Return the state, the seed and the first counter of every draw (see Generator.reserve)."""
        own = thread.machine().cpu_generator if self.is_on_host else self.device.generator
        return [number for count, source in self.draws for number in (own if source is None else source).reserve(count)]


def _own(array: Any, layout: Layout) -> Any:
    """Copy a body's result into a new array with the layout of the result."""
    own = tensor.array_of(tensor.new_on_host(layout))
    own[...] = array
    return own


def _is_one_of(array: Any, values: list[Any]) -> bool:
    for value in values:  # noqa: SIM110 (compiled, there are no closures)
        if value is array:
            return True
    return False


def _launch(step: Launch, stream: Any, used: list[Any], drawn: Any) -> None:
    buffer = step.filled(used, drawn)
    stream.launch(step.handle, step.grid, buffer)
    if is_unshared(buffer):
        step.spare = buffer


def _run_library(step: LibraryCall, stream: Any, used: list[Any]) -> None:
    packed, workspace = step.addressed(used), None
    if step.workspace_nbytes:
        workspace = _workspace(step, stream.machine.devices[stream.device_index], step.workspace_nbytes, stream.handle)
    stream.library_run(step.handle, packed, 0 if workspace is None else workspace.address())
    if is_unshared(packed):
        step.spare = packed


def _workspace(step: LibraryCall, device: Device, nbytes: int, stream: Any, mirror: Any = None) -> Any:
    """Allocate a library call's workspace.  Raises OutOfMemoryError."""
    try:
        workspace = storage.on_device(device, nbytes, stream)
    except OutOfMemoryError as error:
        call_errors.name_workspace(error, step.operation.kind)
        raise
    if mirror is not None:
        storage.add_twins(workspace, mirror)
    if hooks.on_workspace is not None:
        hooks.on_workspace(workspace)
    return workspace


def _are_mirrored(bound: list[Any], mirror: Any) -> bool:
    for value in bound:
        if isinstance(value, TensorBase):
            memory = value._storage
            if memory.device.index >= 0 and (memory.twins is None or memory.twins.group is not mirror.group):
                return False
            if memory.twins is not None and memory.twins.arrival is not None:
                mirror.arrive(memory.twins)
    return True


def _run_on_all(step: Any, mirror: Any, used: list[Any], drawn: Any) -> None:
    """Run a step on every device of a mirror, with the addresses and the draws of each."""
    mirrored = step.mirrored
    if mirrored is None or mirrored[0] is not mirror.group:
        mirrored = mirror.load(step)
    handles, nbytes, count = mirrored[1], mirrored[2], len(mirror.queues)
    launch = step if isinstance(step, Launch) else None
    buffer = step.addressed(used) if launch is None else launch.filled(used, drawn)
    workspace: Any = None
    if nbytes:
        workspace = _workspace(step, mirror.devices[0], nbytes, mirror.group[0], mirror)
        count = 1 if workspace.twins is None else count  # it is None where the mirror has ended
    address = 0 if workspace is None else workspace.address()
    for index in range(count):
        queue = mirror.queues[index]
        if index > 0:
            if not is_unshared(buffer):
                buffer = copied(buffer)
            step.readdress(buffer, used, index - 1)
            if launch is not None and launch.draws:
                launch.put_draws(buffer, mirror.drawn[index - 1])
            if workspace is not None:
                address = workspace.twins.memories[index - 1].address() + workspace.twins.start
        if launch is None:
            queue.library_run(handles[index], buffer, address)
        else:
            queue.launch(handles[index], launch.grid, buffer)
    if is_unshared(buffer):
        step.spare = buffer


def _built(result: Any, used: list[Any]) -> Any:
    """Return the result with tensors in place of their indexes."""
    if type(result) is int:
        index = result
        return used[index]
    if isinstance(result, tuple):
        parts = [_built(part, used) for part in result]
        return tuple(parts) if type(result) is tuple else type(result)(*parts)
    if isinstance(result, Part):
        whole: TensorBase = used[result.place]
        return tensor.new_tensor(whole._storage, result.layout, whole._offset + result.offset)
    return result
