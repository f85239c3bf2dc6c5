"""The device meta: its tensors are marked, and programs replace them before they use their values.

A tensor of meta has host memory and values, so that every operator works on it; only its device is another.  Results of
tensors of meta, with or without tensors of the CPU, are on meta or on the CPU.
"""

from __future__ import annotations

from typing import Any

from ..core.tensor import TensorBase, tensor_over
from ..core.thread import CPU_INDEX, Device
from ..errors import FlambeauError, NotSupportedError
from ..runtime.device import as_device, chosen_default

META = Device(CPU_INDEX)
META.public = as_device("meta")


def is_meant(device: Any) -> bool:
    """Return whether a device argument is meta; None is the default device.  False for anything but a device."""
    try:
        return (chosen_default() if device is None else as_device(device)) is META.public
    except FlambeauError:
        return False


def is_meta(tensor: Any) -> bool:
    """Return whether a tensor is on meta."""
    return bool(tensor._layout.device is META)


def marked(tensor: TensorBase) -> Any:
    """Return a new tensor of the CPU, which nothing else uses, as one of meta."""
    tensor._storage.device = META
    return tensor_over(tensor._storage, tensor.dtype, tensor.shape, tensor.strides, tensor._offset)


def check_not_left(name: str, tensor: Any) -> None:
    """Raise NotSupportedError for a tensor of meta, which has no values for another device."""
    if tensor._layout.device is META:
        raise NotSupportedError(
            f"Cannot copy out of meta tensor; no data: {tensor.describe()}",
            hint="make it with torch.empty_like(tensor, device=...), or call Module.to_empty()",
            operator=name,
        )
