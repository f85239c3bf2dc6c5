"""Steps of plans on the CPU: run a launch or a library call as a call of its NumPy reference (see plan.HostCall)."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from .. import host
from .. import strides as st
from ..errors import ShapeError
from ..kernel import Access, Pointer, Strided
from ..library_operation import unpack_addresses
from . import thread
from .layout import Layout
from .operator import Number
from .plan import (
    ADDRESS,
    DRAWN,
    FIXED,
    LISTED,
    NUMBER,
    SHAPED,
    WHOLE,
    Argument,
    HostCall,
    Launch,
    LibraryCall,
    Place,
    Step,
)  # fmt: skip
from .storage import NO_PLACE, Storage
from .tensor import TensorBase


class HostDraw(Step):
    """A step on the CPU that draws from a generator: function(state, *written arrays, *values).

    draw: the index of the state among the plan's draws.  Tensors among the values are read as arrays.
    """

    __slots__ = ("draw", "function", "operands", "values")

    def __init__(
        self, function: Callable[..., None], draw: int, written: Sequence[Any], values: Sequence[Any], called: str
    ) -> None:
        self.called = called
        self.function = function
        self.draw = draw
        self.values = [Access(0, item.dtype, "w", item.shape, None) for item in written]
        self.operands = list(written)
        for value in values:
            if isinstance(value, TensorBase):
                self.operands.append(value)
                self.values.append(Access(0, value.dtype, "r", value.shape, None))
            else:
                self.values.append(value)
        self.template = bytearray(ADDRESS.size * len(self.operands))
        self.spare = None
        self.addresses = [Place(ADDRESS.size * index, operand) for index, operand in enumerate(self.operands)]

    def arguments(self, buffer: bytearray) -> list[Any]:
        """Return the arguments after the state, with the addresses of a buffer."""
        addresses = iter(unpack_addresses(buffer))
        return [
            Access(next(addresses), value.dtype, value.mode, value.shape, None) if isinstance(value, Access) else value
            for value in self.values
        ]

    def accesses(self, used: list[Any], drawn: Any) -> list[Any]:
        """Return the arguments of a call, with the memory that it accesses."""
        return [drawn[self.draw], *self.arguments(self.addressed(used))]

    def reference(self, state: Any, *values: Any) -> None:
        with state.lock:
            self.function(state, *values)


def host_call(step: Any) -> HostCall:
    """Return a HostCall that runs the step's NumPy reference."""
    marks = bytearray(step.template)
    for number, position in enumerate(step.addresses):
        ADDRESS.pack_into(marks, position.at, number + 1)
    if isinstance(step, HostDraw):
        arguments = [_argument(value, step) for value in step.arguments(marks)]
        return _host_call(step, step.reference, [Argument(DRAWN, step.draw), *arguments])
    if isinstance(step, LibraryCall):
        accesses = step.operation.accesses(unpack_addresses(marks))
        return _host_call(step, step.operation.reference, [_argument(access, step) for access in accesses])
    kernel = step.kernel
    called = {at: number for at, _, number, _ in step.numbers}
    draws = {at: position for at, _, position in step.draws}
    varying = [param.name for param, at in zip(kernel.params, kernel.offsets) if at in called]
    if any(
        type(param) is Pointer and not isinstance(param.shape, str) and any(size in varying for size in param.shape)
        for param in kernel.params
    ):
        return _host_call(step, None, None)
    values = iter(kernel.bind(marks))
    plain = kernel.computes[0].numpy if kernel.ufunc else None
    arguments = []
    for param, at in zip(kernel.params, kernel.offsets):
        if type(param) is Strided:
            continue
        value = next(values)
        if at in called:
            arguments.append(_number(step, at, called[at], plain))
        elif at in draws:
            arguments.append(Argument(FIXED) if type(param) is Pointer else Argument(DRAWN, draws[at]))
        else:
            is_number = plain is not None and not isinstance(value, Access)
            arguments.append(Argument(FIXED, 0, _as_type(value, plain)) if is_number else _argument(value, step))
    if plain is not None:  # NumPy's functions take `out` last
        return _host_call(step, getattr(host.np, kernel.ufunc), [*arguments[1:], arguments[0]])
    return _host_call(step, kernel.reference, arguments)


def _host_call(step: Any, function: Any, arguments: list[Argument] | None, is_checked: bool = False) -> HostCall:
    """Return a HostCall of a function that does the work of a step."""
    if isinstance(step, HostDraw):
        return HostCall(function, arguments, step, step.accesses, step.reference, is_checked)

    def accesses_of_library_call(used: list[Any], drawn: Any) -> Any:
        _check_shrunk(used)
        return step.operation.accesses(unpack_addresses(step.addressed(used)))

    def accesses_of_launch(used: list[Any], drawn: Any) -> Any:
        _check_shrunk(used)
        return step.kernel.bind(step.filled(used, drawn))

    if isinstance(step, LibraryCall):
        return HostCall(function, arguments, step, accesses_of_library_call, step.operation.reference, is_checked)
    return HostCall(function, arguments, step, accesses_of_launch, step.kernel.reference, is_checked)


shrunk: weakref.WeakSet[Storage] = weakref.WeakSet()  # storages that were made smaller


def check_storages(values: Sequence[Any], name: str = "", depth: int = 64) -> None:
    """Raise ShapeError for a tensor that exceeds its storage, which was made smaller after the tensor was made.

    depth: of nested lists that are searched; a list may contain itself.
    """
    for value in values:
        if isinstance(value, (list, tuple)):
            if depth:
                check_storages(value, name, depth - 1)
        elif isinstance(value, TensorBase) and value._storage.place == NO_PLACE:
            reach = st.extent(value.shape, value.strides)
            needed = (value._offset + reach) * value.dtype.itemsize if reach else 0
            if needed > value._storage.nbytes:
                raise ShapeError(
                    f"{value.describe()} needs {needed} bytes of its storage, which has {value._storage.nbytes}",
                    hint=f"enlarge it first, by untyped_storage().resize_({needed}), and write values again",
                    operator=name,
                )


def _check_shrunk(values: Sequence[Any]) -> None:
    """Do the same as `check_storages` where any storage was made smaller."""
    if shrunk:
        called = thread.here().operator
        check_storages(values, "" if called is None else called.called)


def _argument(value: Any, step: Step) -> Argument:
    """Return the Argument for a value of `bind`, whose address is 1 + its index among the step's addresses."""
    if isinstance(value, list):
        return Argument(LISTED, 0, [_argument(item, step) for item in value])
    if not isinstance(value, Access):
        return Argument(FIXED, 0, value)
    if not value.address:
        return Argument(FIXED, 0, host.np.empty(tuple(value.shape), value.dtype.numpy))
    address = step.addresses[value.address - 1]
    argument = Argument(SHAPED, address.operand)
    argument.start = address.start
    argument.plain = value.dtype.numpy
    argument.shape = tuple(value.shape)
    if value.strides is not None and not _is_row_major(value):
        argument.steps = tuple([step * value.dtype.itemsize for step in value.strides])
    return argument


def _number(step: Launch, at: int, number: Number, plain: Any = None) -> Argument:
    """Return the Argument for a number of the call.

    at: the offset of its parameter in the kernel's buffer.  plain: the type that the function computes in, if any.
    """

    def converted(passed: Any) -> Any:
        struct = step.kernel.scalar_at(at).struct
        buffer = bytearray(struct.size)
        step.put_number(buffer, 0, at, struct, number, passed)
        value = struct.unpack(buffer)[0]
        return value if plain is None else _as_type(value, plain)

    return Argument(NUMBER, number.index, converted)


def _as_type(value: int | float, plain: Any) -> Any:
    """Convert a number to a dtype as kernels do: integers wrap, as in C."""
    return thread.quietly((host.np.float64 if isinstance(value, float) else host.np.int64)(value).astype, [plain])


def _is_row_major(access: Access) -> bool:
    expected = 1
    for size, stride in zip(reversed(access.shape), reversed(access.strides or ())):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def direct_call(step: Any, layout: Layout) -> HostCall | None:
    """Return a HostCall of a pointwise launch's body, whose array becomes the result; None if that is not possible."""
    kernel = step.kernel
    if kernel.body is None or step.draws or not layout.shape:
        return None
    arguments, same = [], True
    for value, compute, at in zip(step.values[1:-1], kernel.computes, kernel.offsets[1:-1]):
        if type(value) is Number:
            argument = _number(step, at, value, compute.numpy)
        elif isinstance(value, TensorBase):
            if value._offset != 0:
                return None
            argument = Argument(WHOLE, value._storage.place)
            same = same and value._layout.dense and value._layout.shape == layout.shape
        else:
            argument = Argument(FIXED, 0, _as_type(value, compute.numpy))
        arguments.append(argument)
    return _host_call(step, kernel.body, arguments, not (same and layout.dense))


def whole_call(function: Any, operands: Sequence[TensorBase], step: Any) -> HostCall:
    """Return a HostCall of a function that takes the arrays of operands and returns the result as a new array."""
    return _host_call(step, function, [Argument(WHOLE, operand._storage.place) for operand in operands], True)
