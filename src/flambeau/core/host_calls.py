"""Steps of plans on the CPU: runs a launch or a library call as a call of its NumPy reference (see plan.HostCall)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import host
from ..kernel import Access, Pointer, Strided
from ..library_operation import unpack_addresses
from .layout import Layout
from .operator import Number
from .plan import (
    ADDRESS,
    DRAWN,
    FIXED,
    LISTED,
    NUMBER,
    SHAPED,
    WEAK,
    WHOLE,
    Argument,
    HostCall,
    LibraryCall,
    Step,
    as_type,
)  # fmt: skip
from .tensor import TensorBase


def host_call(step: Any) -> HostCall:
    """Return a call of the step's reference on arrays."""
    marks = bytearray(step.template)
    for number, position in enumerate(step.addresses):
        ADDRESS.pack_into(marks, position.at, number + 1)
    if isinstance(step, LibraryCall):
        accesses = step.operation.accesses(unpack_addresses(marks))
        return HostCall(step.operation.reference, [_argument(access, step) for access in accesses], step)
    kernel = step.kernel
    called = {at: number for at, _, number in step.numbers}
    draws = {at: position for at, _, position in step.draws}
    varying = [param.name for param, at in zip(kernel.params, kernel.offsets) if at in called]
    if any(
        type(param) is Pointer and not isinstance(param.shape, str) and any(size in varying for size in param.shape)
        for param in kernel.params
    ):
        return HostCall(None, None, step)
    values = iter(kernel.bind(marks))
    arguments = []
    for param, at in zip(kernel.params, kernel.offsets):
        if type(param) is Strided:
            continue
        value = next(values)
        if at in called:
            argument = Argument(NUMBER, called[at].index, called[at])
            argument.start = at
            arguments.append(argument)
        elif at in draws:
            arguments.append(Argument(FIXED) if type(param) is Pointer else Argument(DRAWN, draws[at]))
        else:
            arguments.append(_argument(value, step))
    return HostCall(kernel.reference, arguments, step)


def _argument(value: Any, step: Step) -> Argument:
    """Return the argument for a value of `bind`, whose address is one more than its index in the step's addresses."""
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


def _is_row_major(access: Access) -> bool:
    expected = 1
    for size, stride in zip(reversed(access.shape), reversed(access.strides or ())):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def direct_call(step: Any, layout: Layout) -> HostCall | None:
    """Return a call of a pointwise launch's body, making the result of `layout`; None if it must write a result."""
    kernel = step.kernel
    if kernel.body is None or step.draws or not layout.shape:
        return None
    arguments, same = [], True
    for value, compute, at in zip(step.values[1:-1], kernel.computes, kernel.offsets[1:-1]):
        if type(value) is Number:
            argument = Argument(WEAK, value.index, value)
            argument.plain, argument.start = compute.numpy, at
        elif isinstance(value, TensorBase):
            if value._offset != 0:
                return None
            argument = Argument(WHOLE, value._storage.place)
            same = same and value._layout.dense and value._layout.shape == layout.shape
        else:
            argument = Argument(FIXED, 0, as_type(value, compute.numpy))
        arguments.append(argument)
    return HostCall(kernel.body, arguments, step, not (same and layout.dense))


def whole_call(function: Any, operands: Sequence[TensorBase], step: Any) -> HostCall:
    """Return a call of a function on the arrays of whole operands; it returns the result as an array of its own."""
    return HostCall(function, [Argument(WHOLE, operand._storage.place) for operand in operands], step)
