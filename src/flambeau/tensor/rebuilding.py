"""Tensors over a given storage, made from layouts that may be damaged; and the bytes of a storage."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..core.storage import Storage
from ..core.tensor import tensor_over
from ..dtypes import dtype, uint8
from ..errors import ArgumentError
from ..strides import extent

MAX_DIMS = 64  # NumPy's limit
MAX_SHOWN = 80  # characters of a text, and bits of an integer, that errors show
MAX_SPAN = 1 << 60  # bytes: element counts, strides and offsets up to here are computed in 64 bits without overflow


def flat(storage: Storage) -> Any:
    """A tensor of uint8 over all bytes of a storage."""
    return tensor_over(storage, uint8, (storage.nbytes,), (1,))


def host_bytes(storage: Storage) -> Any:
    """The bytes of a storage as a NumPy array: the memory itself on the host, a copy of a GPU's.  Host: waits."""
    return flat(storage).cpu().array()


def location(storage: Storage) -> str:
    """The device of a storage as files name it: 'cpu' or 'cuda:0'."""
    return str(storage.device)


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
            f"{element_type.name}{brief(shape)} with strides {brief(strides)} at offset {brief(offset)} "
            f"does not fit in {storage.nbytes} bytes of storage: {fault}",
            hint="the data was changed on its way: save or send it again",
            operator=name,
        )
    return tensor_over(storage, element_type, shape, strides, offset)


def brief(value: Any) -> str:
    """A value of unknown origin as errors show it.  Containers are not shown: their text may have any length."""
    if type(value) is int:
        return repr(value) if value.bit_length() <= MAX_SHOWN else f"an integer of {value.bit_length()} bits"
    if type(value) in (str, bytes):
        return repr(value[:MAX_SHOWN])
    if value is None or isinstance(value, (bool, float, dtype)):
        return repr(value)
    if type(value) in (tuple, list) and len(value) <= MAX_DIMS and all(type(item) is int for item in value):
        return f"[{', '.join(map(brief, value))}]"
    return f"the class {value.__name__[:MAX_SHOWN]}" if isinstance(value, type) else f"a {type(value).__name__}"
