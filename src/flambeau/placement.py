"""Where a call happens: the one device that its tensors are on.  Arguments that are no tensors are found on the way."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from . import host
from .core import TensorCore
from .errors import OF_ARGUMENTS, ArgumentTypeError, DeviceMismatchError, FlambeauError, shown, tell_as
from .ops.operator import Operator
from .runtime import device as devices
from .runtime import state
from .runtime.storage import former_machine

MISUSES = (FlambeauError, AttributeError, IndexError, TypeError, ValueError, struct.error)  # what `misused` explains
NOWHERE = -2  # no tensor was seen yet
TENSOR, TENSORS = "a Tensor", "a list or tuple of Tensors"
WANTED = {  # by a parameter's annotation, see ops/operator.py
    "Operand": TENSOR, "Operand | None": "a Tensor or None", "Operands": TENSORS, "Value": "a Tensor or a number",
    "int": "an int", "int | None": "an int or None", "Dims": "an int, a tuple of ints or None", "bool": "a bool",
    "float": "a number", "float | None": "a number or None", "Number": "a number", "str": "a str", "Any": "",
}  # fmt: skip


def common_device(operator: Operator, bound: list[Any]) -> int:
    """The device of a call's tensors.  Zero-dimensional CPU tensors go along as numbers where an operand may be one.

    Raises DeviceMismatchError, naming every operand; AcceleratorError for memory of a former machine.
    """
    found = NOWHERE
    mixed = False
    machine = state.machine()
    for index in operator.tensor_indexes:
        value = bound[index]
        if isinstance(value, TensorCore):
            tensor = value
            mixed = mixed or (found != NOWHERE and tensor.storage.device != found)
            found = tensor.storage.device
            if found >= 0 and tensor.storage.machine is not machine:
                raise former_machine(operator.called, tensor.storage)
        elif type(value) is list or type(value) is tuple:
            try:
                for tensor in value:
                    mixed = mixed or (found != NOWHERE and tensor.storage.device != found)
                    found = tensor.storage.device
                    if found >= 0 and tensor.storage.machine is not machine:
                        raise former_machine(operator.called, tensor.storage)
            except (AttributeError, TypeError) as error:
                raise misused(operator, bound, error) from error
        elif value is not None and type(value) not in (int, float, bool):
            bound[index] = _plain_number(operator, index, value)
    if mixed:
        return _settle_mixed(operator, bound)
    return devices.CPU_INDEX if found == NOWHERE else found


def _plain_number(operator: Operator, index: int, value: Any) -> Any:
    """A NumPy scalar, or an instance of a number's subclass, as the Python number.  Raises ArgumentTypeError else."""
    if isinstance(value, (int, float)):
        return float(value) if isinstance(value, float) else int(value)
    if host.is_numpy_loaded() and isinstance(value, host.np.generic):
        return value.item()
    raise _unwanted(operator, index, value)


def check_arguments(operator: Operator, bound: Sequence[Any]) -> None:
    """Raise ArgumentTypeError for the first argument that is not what its parameter takes."""
    for index in range(len(bound)):
        parameter, value = operator.parameters[index], bound[index]
        if value is not parameter.default and not _is_wanted(WANTED.get(parameter.annotation, ""), value):
            raise _unwanted(operator, index, value)


def misused(operator: Operator, bound: Sequence[Any], error: Exception) -> FlambeauError:
    """What to raise where an argument of the wrong type led to `error`: ArgumentTypeError, or the error, well named."""
    if not isinstance(error, FlambeauError) or isinstance(error, ArgumentTypeError):
        try:
            check_arguments(operator, bound)
        except ArgumentTypeError as found:
            return found
    if isinstance(error, FlambeauError):
        tell_as(error, operator.called) if isinstance(error, OF_ARGUMENTS) else error.rename(operator.called)
        return error
    rest = [index for index in range(len(bound)) if index not in operator.tensor_indexes]
    listed = ", ".join(f"{operator.parameters[index].name}={shown(bound[index])}" for index in rest)
    return ArgumentTypeError(f"{operator.called}: cannot use {listed}: {error}", hint=operator.signature())


def _is_wanted(wanted: str, value: Any) -> bool:
    if value is None or not wanted:
        return not wanted or wanted.endswith("None")
    if wanted == TENSORS:
        return isinstance(value, (list, tuple)) and all([isinstance(each, TensorCore) for each in value])
    if wanted.startswith(TENSOR) and isinstance(value, TensorCore):
        return True
    if wanted == "a str":
        return isinstance(value, str)
    if "ints" in wanted and isinstance(value, (list, tuple)):
        return all([hasattr(each, "__index__") for each in value])
    if "number" in wanted and isinstance(value, (int, float)):
        return True
    return "Tensor" not in wanted and hasattr(value, "__index__")


def _unwanted(operator: Operator, index: int, value: Any) -> ArgumentTypeError:
    parameter = operator.parameters[index]
    wanted = WANTED[parameter.annotation]
    return ArgumentTypeError(
        f"{operator.called}: argument '{parameter.name}' must be {wanted}, not {type(value).__name__}: {shown(value)}",
        hint=_way_to_pass(operator, parameter.name, wanted),
    )


def _way_to_pass(operator: Operator, name: str, wanted: str) -> str:
    if wanted == TENSORS:
        return f"as in {operator.called}([a, b])"
    return "torch.tensor(...) makes a Tensor of numbers" if "Tensor" in wanted else f"pass {name} as {wanted}"


def _settle_mixed(operator: Operator, bound: Any) -> int:
    """Move zero-dimensional CPU operands of a pointwise call, differentiably, to the one device of the others."""
    tensors = [each for each in _named_tensors(operator, bound)]
    on_gpu = {each.storage.device for _, each in tensors if each.storage.device >= 0}
    loose = [name for name, each in tensors if each.storage.device < 0]
    scalars = [
        index
        for index in operator.tensor_indexes
        if operator.parameters[index].annotation == "Value"
        and isinstance(bound[index], TensorCore)
        and bound[index].storage.device < 0
        and not bound[index].shape
    ]
    if len(on_gpu) == 1 and len(scalars) == len(loose):
        (device,) = on_gpu
        from .transfer import move

        for index in scalars:
            bound[index] = move(bound[index], device)
        return device
    raise _mismatch(operator, tensors)


def _named_tensors(operator: Operator, bound: Sequence[Any]) -> list[tuple[str, TensorCore]]:
    named: list[tuple[str, TensorCore]] = []
    for index in operator.tensor_indexes:
        value, name = bound[index], operator.parameters[index].name
        if isinstance(value, TensorCore):
            named.append((name, value))
        elif isinstance(value, (list, tuple)):
            named += [(f"{name}[{place}]", each) for place, each in enumerate(value)]
    return named


def _mismatch(operator: Operator, tensors: Sequence[tuple[str, TensorCore]]) -> DeviceMismatchError:
    listed = ", ".join(f"{name} is {each.describe()}" for name, each in tensors)
    target = next((each.device for _, each in tensors if each.is_cuda), devices.CPU)
    mover = next(name for name, each in tensors if each.device != target)
    return DeviceMismatchError(
        f"{operator.called}: Expected all tensors to be on the same device: {listed}",
        hint=f'move one of them, for example {mover}.to("{target}")',
    )


def device_name(index: int) -> str:
    return "cpu" if index < 0 else f"cuda:{index}"
