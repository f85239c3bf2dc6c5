"""Where a call happens: the one device that its tensors are on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import host
from .core import TensorCore
from .errors import ArgumentTypeError, DeviceMismatchError
from .ops.operator import Operator
from .runtime import device as devices
from .runtime import state
from .runtime.storage import former_machine

NOWHERE = -2  # no tensor was seen yet


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
                raise former_machine(operator.name, tensor.storage)
        elif type(value) is list or type(value) is tuple:
            for tensor in value:
                mixed = mixed or (found != NOWHERE and tensor.storage.device != found)
                found = tensor.storage.device
                if found >= 0 and tensor.storage.machine is not machine:
                    raise former_machine(operator.name, tensor.storage)
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
    parameter = operator.parameters[index]
    wanted = "a Tensor or a number" if parameter.annotation == "Value" else "a Tensor"
    raise ArgumentTypeError(
        f"{operator.name}(): argument '{parameter.name}' must be {wanted}, not {type(value).__name__}"
    )


def _settle_mixed(operator: Operator, bound: Any) -> int:
    """Replace zero-dimensional CPU operands of a pointwise call by their values, if that leaves one device."""
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
        from .transfer import to_device

        for index in scalars:
            bound[index] = to_device(bound[index], device, False)
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
        f"{operator.name}: Expected all tensors to be on the same device: {listed}",
        hint=f'move one of them, for example {mover}.to("{target}")',
    )


def device_name(index: int) -> str:
    return "cpu" if index < 0 else f"cuda:{index}"
