"""Pinning a batch: every tensor in it, however it is nested."""

from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

from ..core.tensor import TensorBase


def pin_memory(data: Any) -> Any:
    """`data` with its tensors in pinned memory.

    An object with a `pin_memory` method gives what that returns, whatever else it is.  Containers keep their type: a
    mutable one is a shallow copy with its entries replaced, others are made anew; one that cannot be made anew
    becomes a dict or a list.  Texts, bytes and everything else stay as they are.
    """
    if isinstance(data, TensorBase) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return _pinned_mapping(data)
    if isinstance(data, tuple):
        return _pinned_tuple(data)
    return _pinned_sequence(data) if isinstance(data, Sequence) else data


def _pinned_mapping(data: Mapping[Any, Any]) -> Any:
    entries = {key: pin_memory(value) for key, value in data.items()}
    try:
        if isinstance(data, MutableMapping):
            same = copy.copy(data)
            same.update(entries)
            return same
        return type(data)(entries)  # type: ignore[call-arg]
    except TypeError:
        return entries


def _pinned_tuple(data: tuple[Any, ...]) -> Any:
    values = [pin_memory(each) for each in data]
    return type(data)(*values) if hasattr(data, "_fields") else type(data)(values)


def _pinned_sequence(data: Sequence[Any]) -> Any:
    values = [pin_memory(each) for each in data]
    try:
        if isinstance(data, MutableSequence):
            same = copy.copy(data)
            for index, each in enumerate(values):
                same[index] = each
            return same
        return type(data)(values)  # type: ignore[call-arg]
    except TypeError:
        return values
