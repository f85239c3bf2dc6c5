"""Errors raised by calls and backward passes: their texts.  The compiled modules detect the mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from math import prod
from typing import Any, NoReturn

from .. import signals
from ..errors import (
    AcceleratorError,
    ArgumentTypeError,
    AutogradError,
    FlambeauError,
    OutOfMemoryError,
    ShapeError,
    ValueRangeError,
    reference_failed,
    shown,
)
from ..strides import Size, as_ints

MAX_COUNT = 2**63 - 1  # bytes in one tensor
MAX_NBYTES = 1 << 60  # 1 EiB: tensors of this size or more are refused
INVALID_HANDLE = 400  # CUresult
INVALID_VALUE = 1  # CUresult of an invalid pointer


# memory


def checked_size(shape: Sequence[int], name: str, dtype: Any = None) -> Size:
    """Return a shape as a Size.  Raises ValueRangeError for a negative dimension, OutOfMemoryError from 1 EiB on."""
    if any(size < 0 for size in shape):
        raise ValueRangeError(
            f"trying to create a tensor with negative dimension: {list(shape)}",
            hint="sizes are 0 or more",
            operator=name,
        )
    nbytes = 0 if dtype is None else prod(shape) * dtype.itemsize
    if nbytes >= MAX_NBYTES:
        raise OutOfMemoryError(
            f"{dtype.name}{list(shape)} needs {nbytes} bytes, more than 1EB memory",
            hint="no device has so much memory: check how the size was computed",
            operator=name,
        )
    return Size(shape)


def checked_numel(dtype: Any, shape: Sequence[int]) -> int:
    """Return the number of elements of a shape.  Raises ValueRangeError for more than 2**63 - 1 bytes."""
    numel = prod(shape)
    if numel * dtype.itemsize > MAX_COUNT:
        raise ValueRangeError(
            f"{dtype.name}{list(shape)} has {numel} elements: integer multiplication overflow",
            hint="a tensor has at most 2**63 - 1 bytes: check how the size was computed",
        )
    return numel


def out_of_host_memory(nbytes: int) -> OutOfMemoryError:
    return OutOfMemoryError(
        f"CPU out of memory. Tried to allocate {nbytes} bytes", hint="check how the size was computed"
    )


def invalid_pointer(name: str, address: int) -> AcceleratorError:
    """Return the error for a block that was freed already."""
    return AcceleratorError(f"invalid device pointer: {address:#x}", error_code=INVALID_VALUE, operator=name)


def name_workspace(error: OutOfMemoryError, kind: str) -> None:
    """Say in an error that the memory was for the workspace of a library operation of this kind."""
    error.what = f"{error.what.rstrip('.')}. The memory was for the workspace of a {kind}."


def former_machine(name: str, storage: Any, machine: Any) -> AcceleratorError:
    """Return the error for device memory of another machine, such as one of an earlier `testing.machine`."""
    if machine.forked is not None:
        error: AcceleratorError = machine.forked.error()
        return error
    return AcceleratorError(
        f"{storage.nbytes} bytes of {storage.device} belong to a machine that no longer exists",
        hint="a tensor does not outlive the `testing.machine` block that it was made in, nor `torch.virtual.reset()`",
        error_code=INVALID_HANDLE,
        operator=name,
    )


# calls


def checked_integers(name: str, values: Sequence[Any]) -> tuple[int, ...]:
    """Return sizes as integers.  Raises ArgumentTypeError for a bool in front and for anything that is no integer."""
    with suppress(TypeError):
        return tuple(as_ints(values))
    described = ", ".join([shown(size) for size in values])
    raise ArgumentTypeError(f"expected ints, got ({described})", hint="pass integers, as in (2, 3)", operator=name)


def no_out(operator: Any, out: Any) -> ArgumentTypeError:
    """Return the error for out= of an operator that does not take it."""
    return ArgumentTypeError(
        f"got an unexpected keyword argument 'out': {shown(out)}", hint=operator.usage(), operator=operator.called
    )


def method_out(operator: Any, out: Any) -> ArgumentTypeError:
    """Return the error for out= of a method; the hint names the function, if that takes it."""
    error = no_out(operator, out)
    if operator.takes_out and operator.function:
        error.hint = f"a method takes no out=; call the function, torch.{operator.called}(..., out=out)"
    return error


def out_is_no_tensor(operator: Any, out: Any) -> ArgumentTypeError:
    return ArgumentTypeError(f"out must be a Tensor, got {shown(out)}", hint="omit out=", operator=operator.called)


def out_in_graph(operator: Any, out: Any) -> AutogradError:
    return AutogradError(
        "functions with out=... arguments don't support automatic differentiation, and one of "
        f"the operands, or out ({out.describe()}), requires grad",
        hint="call it under torch.no_grad(), or without out=",
        operator=operator.called,
    )


def partial_overlap(operator: Any, operand: Any, target: Any) -> ShapeError:
    return ShapeError(
        f"the written-to tensor {target.describe()} partly overlaps an input, {operand.describe()}",
        hint="clone() the input before writing",
        operator=operator.called,
    )


def overlaps_itself(called: str, target: Any) -> ShapeError:
    return ShapeError(
        f"more than one element of the written-to tensor {target.describe()} refers to a single memory location "
        f"(strides {list(target.strides)})",
        hint="clone() the tensor before writing it",
        operator=called,
    )


def overflow(called: str, kind: Any, value: Any) -> ValueRangeError:
    """Return the error for a number that does not fit its parameter of a kernel."""
    return ValueRangeError(
        f"value cannot be converted to type {kind} without overflow: {shown(value)}",
        hint="integers have 64 bits, and floating point numbers reach about 1.8e308; for more, use float('inf')",
        operator=called,
    )


def raise_failed(operator: Any, error: Exception) -> NoReturn:
    """Raise the error for a host function's exception: OutOfMemoryError or InternalError.

    A FlambeauError, or what a signal handler raised, is raised itself.
    """
    called = "" if operator is None else operator.called
    if isinstance(error, FlambeauError) or signals.raised_by_handler(error):
        try:
            raise error
        finally:
            del error  # drop the exception, which would form a cycle with this frame
    if isinstance(error, MemoryError):
        raise OutOfMemoryError(f"CPU out of memory: {error}", hint="use smaller tensors", operator=called) from error
    raise reference_failed(called, "", error) from error


# gradients


def no_derivative(operator: Any) -> AutogradError:
    return AutogradError(
        "the derivative is not implemented", hint="call it under torch.no_grad()", operator=operator.called
    )


def never_differentiable(operator: Any) -> AutogradError:
    return AutogradError("has no derivative", hint="call it under torch.no_grad()", operator=operator.called)


def inference_write(called: str, tensor: Any) -> AutogradError:
    return AutogradError(
        f"Inplace update to inference tensor outside InferenceMode is not allowed: {tensor.describe()}",
        hint="modify a clone(), or modify it under torch.inference_mode()",
        operator=called,
    )


def inference_saved(tensor: Any) -> AutogradError:
    return AutogradError(
        f"Inference tensors cannot be saved for backward: {tensor.describe()}",
        hint="use a clone() of it, which is a normal tensor",
        operator="backward",
    )


def overwritten(name: str, saved: Any) -> AutogradError:
    """Return the error for a saved tensor whose memory was written since it was saved."""
    layout = saved.layout
    return AutogradError(
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: {layout.dtype.name}{list(layout.shape)} is at version {saved.counter.version}; "
        f"expected version {saved.version}",
        hint="use the out-of-place form, or clone() the tensor before it is written",
        operator=name,
    )


def freed(name: str) -> AutogradError:
    """Return the error for saved values that an earlier backward has freed."""
    return AutogradError(
        "trying to backward through the graph a second time, or to read saved tensors that have been freed",
        hint="Specify retain_graph=True in the first backward",
        operator=name,
    )


def wrong_count(name: str, gradients: int, inputs: int) -> AutogradError:
    return AutogradError(
        f"got {gradients} gradients for {inputs} inputs",
        hint="a derivative returns one gradient for each operand, or None",
        operator=name,
    )


def check_broadcast(fact: str, grad: Any, shape: Sequence[int]) -> None:
    """Raise AutogradError, under the operator name `fact`, if `shape` does not broadcast to the gradient's shape."""
    have = grad.shape[len(grad.shape) - len(shape) :]
    if len(grad.shape) < len(shape) or any(size not in (1, other) for size, other in zip(shape, have)):
        raise AutogradError(
            f"{grad.describe()} for an input of shape {list(shape)}",
            hint="a gradient has the shape of its input, or a shape to which its input broadcasts",
            operator=fact,
        )
