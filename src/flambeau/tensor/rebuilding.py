"""Tensors over a given storage, made from layouts that may be damaged; and the bytes of a storage."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from .. import core
from ..dtypes import dtype, uint8
from ..errors import ArgumentError
from ..runtime.storage import Storage
from ..strides import extent

MAX_DIMS = 64  # NumPy's limit
MAX_SPAN = 1 << 60  # bytes: element counts, strides and offsets up to here are computed in 64 bits without overflow


def flat(storage: Storage) -> Any:
    """A tensor of uint8 over all bytes of a storage."""
    return core.over(storage, uint8, (storage.nbytes,), (1,))


def host_bytes(storage: Storage) -> Any:
    """The bytes of a storage as a NumPy array: the memory itself on the host, a copy of a GPU's.  Host: waits."""
    return flat(storage).cpu().array()


def location(storage: Storage) -> str:
    """The device of a storage as files name it: 'cpu' or 'cuda:0'."""
    return "cpu" if storage.device < 0 else f"cuda:{storage.device}"


def layout_fault(shape: Any, strides: Any, offset: Any, itemsize: int, nbytes: int) -> str | None:
    """The reason why a layout does not fit in `nbytes` bytes of memory, None if it does."""
    if not _are_sizes(shape) or not _are_sizes(strides) or not _are_sizes((offset,)):
        return f"sizes, strides and offset must be integers from 0 to {MAX_SPAN - 1}"
    if len(shape) != len(strides) or len(shape) > MAX_DIMS:
        return f"{len(shape)} sizes and {len(strides)} strides, at most {MAX_DIMS} of each"
    if max(prod(max(size, 1) for size in shape), offset, *strides) * itemsize >= MAX_SPAN:
        return f"an extent of {MAX_SPAN} bytes or more"
    needed = (offset + extent(shape, strides)) * itemsize if all(shape) else 0
    return f"it needs {needed} bytes of {nbytes}" if needed > nbytes else None


def _are_sizes(values: Any) -> bool:
    return isinstance(values, (tuple, list)) and all(type(value) is int and 0 <= value < MAX_SPAN for value in values)


def over(
    storage: Storage, element_type: dtype, shape: Sequence[int], strides: Sequence[int], offset: int, name: str
) -> Any:
    """A tensor over a storage.  Raises ArgumentError, in the name of the operation `name`, if it does not fit."""
    fault = layout_fault(shape, strides, offset, element_type.itemsize, storage.nbytes)
    if fault is not None:
        raise ArgumentError(
            f"{name}: {element_type.name}{_listed(shape)} with strides {_listed(strides)} at offset {offset} does not "
            f"fit in {storage.nbytes} bytes of storage: {fault}",
            hint="the data was changed on its way: save or send it again",
        )
    return core.over(storage, element_type, shape, strides, offset)


def _listed(values: Any) -> Any:
    return list(values) if isinstance(values, (tuple, list)) and len(values) <= MAX_DIMS else type(values).__name__
