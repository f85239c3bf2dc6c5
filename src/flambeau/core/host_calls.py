"""Steps of plans on the CPU: a launch or a library call as a call of its NumPy reference (see plan.HostCall)."""

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
    """A step as a call of its reference on arrays."""
    marks = bytearray(step.template)
    for number, place in enumerate(step.addresses):
        ADDRESS.pack_into(marks, place.at, number + 1)
    if isinstance(step, LibraryCall):
        found = step.problem.accesses(unpack_addresses(marks))
        return HostCall(step.problem.reference, [_argument(each, step) for each in found], step)
    kernel = step.kernel
    called = {at: number for at, _, number in step.numbers}
    draws = {at: place for at, _, place in step.draws}
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
            made = Argument(NUMBER, called[at].index, called[at])
            made.start = at
            arguments.append(made)
        elif at in draws:
            arguments.append(Argument(FIXED) if type(param) is Pointer else Argument(DRAWN, draws[at]))
        else:
            arguments.append(_argument(value, step))
    return HostCall(kernel.reference, arguments, step)


def _argument(value: Any, step: Step) -> Argument:
    """What a reference is given where `bind` says `value`, whose address is the number of one of the step's."""
    if isinstance(value, list):
        return Argument(LISTED, 0, [_argument(each, step) for each in value])
    if not isinstance(value, Access):
        return Argument(FIXED, 0, value)
    if not value.address:
        return Argument(FIXED, 0, host.np.empty(tuple(value.shape), value.dtype.numpy))
    place = step.addresses[value.address - 1]
    made = Argument(SHAPED, place.operand)
    made.start = place.start
    made.plain = value.dtype.numpy
    made.shape = tuple(value.shape)
    if value.strides is not None and not _is_row_major(value):
        made.steps = tuple([step * value.dtype.itemsize for step in value.strides])
    return made


def _is_row_major(access: Access) -> bool:
    expected = 1
    for size, stride in zip(reversed(access.shape), reversed(access.strides or ())):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def direct_call(step: Any, layout: Layout) -> HostCall | None:
    """A pointwise launch as a call of its body, which makes the result of `layout`, or None if it has to be written."""
    kernel = step.kernel
    if kernel.body is None or step.draws or not layout.shape:
        return None
    arguments, same = [], True
    for each, compute, at in zip(step.values[1:-1], kernel.computes, kernel.offsets[1:-1]):
        if type(each) is Number:
            made = Argument(WEAK, each.index, each)
            made.plain, made.start = compute.numpy, at
        elif isinstance(each, TensorBase):
            if each.offset != 0:
                return None
            made = Argument(WHOLE, each.storage.place)
            same = same and each.layout.dense and each.layout.shape == layout.shape
        else:
            made = Argument(FIXED, 0, as_type(each, compute.numpy))
        arguments.append(made)
    return HostCall(kernel.body, arguments, step, not (same and layout.dense))


def whole_call(function: Any, operands: Sequence[TensorBase], step: Any) -> HostCall:
    """A call of a function on the arrays of whole operands, which makes the result in an array of its own."""
    return HostCall(function, [Argument(WHOLE, each.storage.place) for each in operands], step)
