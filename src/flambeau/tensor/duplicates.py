"""Tensors in `copy` and `pickle`: tensors that share memory share it in what is copied or pickled together.

A tensor is pickled as its storage and how it is seen.  A storage is pickled once in a pickle, and copied once in a
`deepcopy`.
"""

from __future__ import annotations

import copy
import copyreg
from typing import Any

from .. import core, dispatch
from ..dtypes import BY_NAME, uint8
from ..errors import AutogradError
from ..host import np
from ..runtime import device as devices
from ..runtime.storage import Storage
from . import factories, subclass


def reduce(self: Any, protocol: Any = None) -> tuple[Any, ...]:
    """What `copy.copy` and pickle take of a tensor.  A gradient, and a place in a graph, are left out."""
    seen = self.dtype.name, tuple(self.shape), self.strides, self.offset
    return _rebuilt, (type(self), self.storage, *seen, self.requires_grad, vars(self))


def _rebuilt(
    cls: type, storage: Storage, kind: str, shape: Any, strides: Any, offset: int, requires_grad: bool, own: Any
) -> Any:
    made = subclass.of_class(core.over(storage, BY_NAME[kind], shape, strides, offset), cls)
    made._requires_grad = requires_grad
    vars(made).update(own)
    return made


def _bytes_of(storage: Storage) -> Any:
    """A storage as a tensor of bytes."""
    return core.over(storage, uint8, (storage.nbytes,), (1,))


def reduce_storage(storage: Storage) -> tuple[Any, ...]:
    """What pickle takes of a storage: its bytes and its device.  Host: waits for one on a GPU."""
    values = dispatch.read(_bytes_of(storage)).tobytes()
    return _restored, (values, "cpu" if storage.device < 0 else f"cuda:{storage.device}")


def _restored(values: bytes, device: str) -> Storage:
    found = factories.from_array(np.frombuffer(bytearray(values), np.uint8))
    return (found if device == "cpu" else found.to(devices.as_device(device))).storage  # type: ignore[no-any-return]


def deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    """A leaf with memory of its own, and with a copy of its gradient; on a GPU, after the current stream's work.

    Raises: AutogradError for a tensor that is no leaf.
    """
    if not self.is_leaf:
        raise AutogradError(
            "deepcopy: Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
            f"moment, this is {self.describe()} of {self.grad_fn}",
            hint="copy tensor.detach()",
        )
    storage = memo.get(id(self.storage))
    if storage is None:
        storage = memo[id(self.storage)] = _bytes_of(self.storage).clone().storage  # type: ignore[attr-defined]
    made = memo[id(self)] = _rebuilt(
        type(self), storage, self.dtype.name, self.shape, self.strides, self.offset, self._requires_grad, {}
    )
    if self.grad is not None:
        made.grad = copy.deepcopy(self.grad, memo)
    vars(made).update(copy.deepcopy(vars(self), memo))
    return made


copyreg.pickle(Storage, reduce_storage)
