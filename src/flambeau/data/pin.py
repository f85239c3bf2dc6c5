"""Batches moved to other memory: every tensor in one, however deeply it is nested."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core.tensor import TensorBase
from .collate import rebuilt_mapping, rebuilt_sequence


def pin_memory(data: Any, device: Any = None) -> Any:
    """`data` with its tensors in pinned memory.

    An object with a `pin_memory` method is replaced by its result, whatever else it is.  Containers keep their type: a
    mutable one is copied and its entries replaced, others are made anew; one that cannot be made anew becomes a dict
    or a list.  str, bytes and objects of other types stay as they are.
    device: ignored, pinned memory serves every device.
    """
    if isinstance(data, TensorBase) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    return with_entries(data, pin_memory)


def pin_host_memory(data: Any) -> Any:
    """As pin_memory, for batches of which some tensors may lie on a GPU: those stay as they are."""
    if isinstance(data, TensorBase) and data.is_cuda:
        return data
    return pin_memory(data) if hasattr(data, "pin_memory") else with_entries(data, pin_host_memory)


def with_entries(data: Any, function: Callable[[Any], Any]) -> Any:
    """A container of `data`'s type with the function applied to every entry; anything else as it is."""
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return rebuilt_mapping(data, {key: function(value) for key, value in data.items()})
    if isinstance(data, tuple):
        values = [function(each) for each in data]
        return type(data)(*values) if hasattr(data, "_fields") else type(data)(values)
    return rebuilt_sequence(data, [function(each) for each in data]) if isinstance(data, Sequence) else data
