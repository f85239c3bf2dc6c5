"""Methods of tensors that other files define: indexing, conversions by name, `new_*`, exchange with other libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import dtypes, transfer
from .. import memory_formats as formats
from ..core import views as core_views
from ..core.factories import sizes
from ..dtypes import dtype
from ..errors import naming
from ..ops import compare, join, views
from ..ops.indexing import index_put_
from ..ops.operator import Operator
from ..runtime import device as devices
from . import indexing, interop, legacy, like_factories, pickling, queries, storages
from .operators import put

CONVERSIONS = {
    "half": dtypes.float16,
    "bfloat16": dtypes.bfloat16,
    "float": dtypes.float32,
    "double": dtypes.float64,
    "byte": dtypes.uint8,
    "char": dtypes.int8,
    "short": dtypes.int16,
    "int": dtypes.int32,
    "long": dtypes.int64,
    "bool": dtypes.bool_,
}


def _conversion(name: str, kind: dtype) -> Callable[[Any], Any]:
    def method(self: Any, *, memory_format: Any = None) -> Any:
        if memory_format is not None:
            formats.check(name, memory_format)
        return transfer.to(self, self.device_index, kind, False, False, memory_format)

    method.__name__ = name
    method.__doc__ = (
        f"This tensor as {kind.name}; itself if it is.\n\nHost: returns at once.\n"
        f"Example:\n    >>> torch.tensor([0, 1]).{name}().dtype\n    {kind}\n"
    )
    return method


def _several(operator: Operator) -> Callable[..., Any]:
    """A method that takes numbers one by one, or all in one sequence."""

    def method(self: Any, *values: Any, **named: Any) -> Any:
        if named and not values:
            return operator(self, **named)
        return operator(self, sizes(values, operator.name), **named)

    method.__name__, method.__doc__ = operator.name, operator.__doc__
    method.__wrapped__ = operator  # type: ignore[attr-defined]  # whose signature is the method's
    return method


def new(self: Any, *args: Any, device: Any = None) -> Any:
    """A tensor of this one's type and device: unset values for sizes, or a copy of data.

    Host: waits for data on a GPU, else returns at once.
    Example:
        >>> torch.tensor([1, 2]).new([3, 4])
        tensor([3, 4])
    """
    with naming("new"):
        index = self.device_index if device is None else devices.resolve(device)
    return legacy.constructed(self.dtype, index, args, "new")


def where(self: Any, condition: Any, other: Any) -> Any:
    """This tensor where the condition holds, else `other`.

    Host: returns at once.
    Example:
        >>> x = torch.tensor([-1.0, 2.0])
        >>> x.where(x > 0, 0.0)
        tensor([0., 2.])
    """
    return compare.where(condition, self, other)


def install(cls: Any) -> None:
    """Give a tensor class these methods."""
    for name, kind in CONVERSIONS.items():
        put(cls, name, _conversion(name, kind))
    for operator in (
        join.flip, join.repeat, join.tile, views.broadcast_to, views.expand, views.permute, views.reshape,
    ):  # fmt: skip
        put(cls, operator.name, _several(operator))
    for made in (new, where, *like_factories.NEW_METHODS, *queries.METHODS, *storages.METHODS):
        setattr(cls, made.__name__, made)
    put(cls, "__getitem__", core_views.getter(indexing.get))
    put(cls, "__setitem__", indexing.put)
    put(cls, "__delitem__", indexing.delete)
    cls.index_put_ = index_put_
    cls.__array__, cls.__array_wrap__ = interop.as_array, interop.from_result
    cls.__dlpack__, cls.__dlpack_device__ = interop.dlpack, interop.dlpack_device
    cls.__cuda_array_interface__ = property(interop.cuda_array_interface)
    cls.__reduce_ex__, cls.__deepcopy__ = pickling.reduce, pickling.deepcopy
