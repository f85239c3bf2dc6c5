"""`copy`, `deepcopy` and `pickle` of tensors.  Shared memory stays shared.

A tensor is pickled as its storage, type, shape, strides and offset.  One pickle, or one `deepcopy`, copies each storage
once.
"""

from __future__ import annotations

import copy
import copyreg
from collections.abc import Sequence
from math import prod
from typing import Any

from .. import transfer
from ..core.storage import Storage
from ..core.tensor import tensor_over
from ..dtypes import BY_NAME, dtype, uint8
from ..errors import ArgumentError, AutogradError
from ..host import np
from ..runtime import device as devices
from ..strides import extent
from . import factories, subclass
from .meta import check_not_left


def reduce(self: Any, protocol: Any = None) -> tuple[Any, ...]:
    """Reduce a tensor for `copy.copy` and pickle, without its gradient and its graph."""
    seen = self.dtype.name, tuple(self.shape), self.strides, self._offset
    return _rebuilt, (type(self), self._storage, *seen, self.requires_grad, vars(self))


def _rebuilt(
    cls: type, storage: Storage, dtype_name: str, shape: Any, strides: Any, offset: int, requires_grad: bool, own: Any
) -> Any:
    tensor = subclass.recast(tensor_over(storage, BY_NAME[dtype_name], shape, strides, offset), cls)
    tensor._requires_grad = requires_grad
    vars(tensor).update(own)
    return tensor


def _bytes_of(storage: Storage) -> Any:
    """Return a tensor of bytes over a storage."""
    return tensor_over(storage, uint8, (storage.nbytes,), (1,))


def check_has_values(name: str, storage: Storage) -> None:
    """Raise NotSupportedError for a storage on meta."""
    check_not_left(name, _bytes_of(storage))


def reduce_storage(storage: Storage) -> tuple[Any, ...]:
    """Reduce a storage for pickle to its bytes and its device.  Host: waits if it is on a GPU."""
    check_has_values("pickle", storage)
    return _restored, (transfer.read(_bytes_of(storage)).tobytes(), str(storage.device))


def _restored(values: bytes, device: str) -> Storage:
    values_on_host: Any = factories.from_array(np.frombuffer(bytearray(values), np.uint8))
    restored = values_on_host if device == "cpu" else values_on_host.to(devices.as_device(device))
    storage: Storage = restored._storage
    return storage


def deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    """Copy a leaf, its memory and its gradient; on a GPU, after the current stream's work.

    Raises: AutogradError for a tensor that is not a leaf.
    """
    if not self.is_leaf:
        raise AutogradError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
            f"moment, this is {self.describe()} of {self.grad_fn}",
            hint="copy tensor.detach()",
            operator="deepcopy",
        )
    storage = memo.get(id(self._storage))
    if storage is None:
        storage = memo[id(self._storage)] = _bytes_of(self._storage).clone()._storage
    copied = memo[id(self)] = _rebuilt(
        type(self), storage, self.dtype.name, self.shape, self.strides, self._offset, self._requires_grad, {}
    )
    if self.grad is not None:
        copied.grad = copy.deepcopy(self.grad, memo)
    vars(copied).update(copy.deepcopy(vars(self), memo))
    return copied


copyreg.pickle(Storage, reduce_storage)


MAX_DIMS = 64  # NumPy's limit
MAX_SHOWN = 80  # most characters of a text, or bits of an integer, that errors show
MAX_SPAN = 1 << 60  # bytes: up to this, 64-bit arithmetic on element counts, strides and offsets does not overflow


def flat(storage: Storage) -> Any:
    """Return a uint8 tensor over all bytes of a storage."""
    return tensor_over(storage, uint8, (storage.nbytes,), (1,))


def host_bytes(storage: Storage) -> Any:
    """Return the bytes of a storage as a NumPy array: host memory itself, or a copy of a GPU's.  Host: waits."""
    return flat(storage).cpu().array()


def location(storage: Storage) -> str:
    """Return the device of a storage as files name it: 'cpu' or 'cuda:0'."""
    return str(storage.device)


def layout_fault(shape: Any, strides: Any, offset: Any, itemsize: int, nbytes: int) -> str | None:
    """Return why a layout does not fit in `nbytes` bytes of memory, None if it does."""
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
    """Make a tensor over a storage.  Raises ArgumentError, for the operation `name`, if it does not fit."""
    fault = layout_fault(shape, strides, offset, element_type.itemsize, storage.nbytes)
    if fault is not None:
        raise ArgumentError(
            f"{element_type.name}{brief(shape)} with strides {brief(strides)} at offset {brief(offset)} "
            f"does not fit in {storage.nbytes} bytes of storage: {fault}",
            hint="the data was changed after it was saved or sent: save or send it again",
            operator=name,
        )
    return tensor_over(storage, element_type, shape, strides, offset)


def brief(value: Any) -> str:
    """Format a value of unknown origin for errors.  Containers are not shown, since their text may be long."""
    if type(value) is int:
        return repr(value) if value.bit_length() <= MAX_SHOWN else f"an integer of {value.bit_length()} bits"
    if type(value) in (str, bytes):
        return repr(value[:MAX_SHOWN])
    if value is None or isinstance(value, (bool, float, dtype)):
        return repr(value)
    if type(value) in (tuple, list) and len(value) <= MAX_DIMS and all(type(item) is int for item in value):
        return f"[{', '.join(map(brief, value))}]"
    return f"the class {value.__name__[:MAX_SHOWN]}" if isinstance(value, type) else f"a {type(value).__name__}"
