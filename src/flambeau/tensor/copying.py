"""`copy`, `deepcopy` and `pickle` of tensors, which keep shared memory shared.

A tensor is pickled as its storage, type, shape, strides and offset.  One pickle, and one `deepcopy`, takes each storage
once.
"""

from __future__ import annotations

import copy
import copyreg
from typing import Any

from .. import transfer
from ..core.storage import Storage
from ..core.tensor import tensor_over
from ..dtypes import BY_NAME, uint8
from ..errors import AutogradError
from ..host import np
from ..runtime import device as devices
from . import factories, subclass


def reduce(self: Any, protocol: Any = None) -> tuple[Any, ...]:
    """Reduce a tensor for `copy.copy` and pickle, without its gradient and its graph."""
    seen = self.dtype.name, tuple(self.shape), self.strides, self.offset
    return _rebuilt, (type(self), self.storage, *seen, self.requires_grad, vars(self))


def _rebuilt(
    cls: type, storage: Storage, kind: str, shape: Any, strides: Any, offset: int, requires_grad: bool, own: Any
) -> Any:
    made = subclass.recast(tensor_over(storage, BY_NAME[kind], shape, strides, offset), cls)
    made._requires_grad = requires_grad
    vars(made).update(own)
    return made


def _bytes_of(storage: Storage) -> Any:
    """View a storage as a tensor of bytes."""
    return tensor_over(storage, uint8, (storage.nbytes,), (1,))


def reduce_storage(storage: Storage) -> tuple[Any, ...]:
    """Reduce a storage for pickle to its bytes and its device.  Host: waits if it is on a GPU."""
    return _restored, (transfer.read(_bytes_of(storage)).tobytes(), str(storage.device))


def _restored(values: bytes, device: str) -> Storage:
    found = factories.from_array(np.frombuffer(bytearray(values), np.uint8))
    # ignored: a tensor of bytes
    return (found if device == "cpu" else found.to(devices.as_device(device))).storage  # type: ignore[no-any-return]


def deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    """Copy a leaf, its memory and its gradient; on a GPU, after the current stream's work.

    Raises: AutogradError for a tensor that is no leaf.
    """
    if not self.is_leaf:
        raise AutogradError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
            f"moment, this is {self.describe()} of {self.grad_fn}",
            hint="copy tensor.detach()",
            operator="deepcopy",
        )
    storage = memo.get(id(self.storage))
    if storage is None:
        storage = memo[id(self.storage)] = _bytes_of(self.storage).clone().storage
    made = memo[id(self)] = _rebuilt(
        type(self), storage, self.dtype.name, self.shape, self.strides, self.offset, self._requires_grad, {}
    )
    if self.grad is not None:
        made.grad = copy.deepcopy(self.grad, memo)
    vars(made).update(copy.deepcopy(vars(self), memo))
    return made


copyreg.pickle(Storage, reduce_storage)
