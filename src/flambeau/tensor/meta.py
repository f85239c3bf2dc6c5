"""The device meta, whose tensors have a shape, a dtype and strides, and no values that a program can read.

They have host memory, which nothing writes, so that it takes no space.  Operators are lowered as on the CPU, and their
plans have allocations alone (see `lowering.entry_for`).
"""

from __future__ import annotations

from typing import Any

from ..core.thread import META
from ..errors import FlambeauError
from ..operands import without_values
from ..runtime.device import as_device, chosen_default


def is_meant(device: Any) -> bool:
    """Return whether a device argument is meta; None is the default device.  False for anything but a device."""
    try:
        return (chosen_default() if device is None else as_device(device)) is META.public
    except FlambeauError:
        return False


def is_meta(tensor: Any) -> bool:
    """Return whether a tensor is on meta."""
    return bool(tensor._layout.device is META)


def check_not_left(name: str, tensor: Any) -> None:
    """Raise NotSupportedError for a tensor of meta, which has no values for another device."""
    if is_meta(tensor):
        raise without_values(name, tensor)
