"""Private functions and classes of PyTorch that packages import: copies into one array, groups, weak dictionaries."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import ContextDecorator
from typing import Any

from ..errors import NotSupportedError
from ..nn.module import Module
from ..ops.operator import REGISTRY
from ..runtime.control import device_count
from ..runtime.device import as_device
from ..tensor.methods import to_arguments

# torch._utils


def flatten_dense_tensors(tensors: Sequence[Any]) -> Any:
    """Return the elements of tensors of one type and device, in one dimension."""
    return REGISTRY["cat"]([tensor.reshape(-1) for tensor in tensors], 0)


def unflatten_dense_tensors(flat: Any, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """Return views of an array with one dimension, in the shapes of tensors."""
    parts = flat.split([tensor.numel() for tensor in tensors])
    return tuple(part.view(tensor.shape) for part, tensor in zip(parts, tensors, strict=True))


def available_device_type() -> str | None:
    """Return "cuda" if there are GPUs, else None."""
    return "cuda" if device_count() else None


# torch._C


def parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """Return the device, the type, whether copies may be asynchronous and the memory format of arguments of `to`."""
    memory_format = kwargs.pop("memory_format", None)
    device, dtype, non_blocking, _ = to_arguments(args, kwargs)
    return None if device is None else as_device(device), dtype, non_blocking, memory_format


# torch.utils._contextlib


class DecoratorContextManager(ContextDecorator):
    """Base of context managers that also decorate functions; each call enters a new one, made by `clone`."""

    def _recreate_cm(self) -> Any:
        return self.clone()

    def clone(self) -> Any:
        """Return a context manager like this one."""
        return type(self)()


# torch.utils.weak


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary with weak references to its keys, which are equal only if they are the same object."""

    def __init__(self, dict: Any = None, ref_type: Any = None) -> None:
        self._entries: Entries = {}
        self.update(dict or {})

    def __getitem__(self, key: Any) -> Any:
        try:
            return self._entries[id(key)][1]
        except KeyError:
            raise KeyError(key) from None

    def __setitem__(self, key: Any, value: Any) -> None:
        entries, number = self._entries, id(key)
        entries[number] = weakref.ref(key, lambda _: entries.pop(number, None)), value

    def __delitem__(self, key: Any) -> None:
        self[key]
        del self._entries[id(key)]

    def __contains__(self, key: object) -> bool:
        return id(key) in self._entries

    def __iter__(self) -> Iterator[Any]:
        for reference, _ in list(self._entries.values()):
            key = reference()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return len(self._entries)


Entries = dict[int, tuple[weakref.ref[Any], Any]]

# torch.utils._foreach_utils

Groups = dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]


def group_tensors(tensorlistlist: Sequence[Sequence[Any]], with_indices: bool = False) -> Groups:
    """Group the places of several lists by device and type of the first list's tensors.

    Return, for each device and type, the lists with these places alone, and the places if with_indices.
    """
    groups: Groups = {}
    for index, tensor in enumerate(tensorlistlist[0]):
        lists, places = groups.setdefault((tensor.device, tensor.dtype), ([[] for _ in tensorlistlist], []))
        for own, values in zip(lists, tensorlistlist):
            if values:
                own.append(values[index])
        if with_indices:
            places.append(index)
    return groups


def foreach_devices() -> list[str]:
    """Return the device types whose tensors are changed many at once."""
    return ["cuda"]


def default_to_fused_or_foreach(
    params: Sequence[Any], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Return (False, False): neither `fused` nor `foreach` has an effect."""
    return False, False


# torch.ao.quantization


class ObserverBase(Module):
    """Base class of modules that record the range of values for quantization; flambeau has no such modules."""


class FakeQuantizeBase(Module):
    """Base class of modules that round values as quantization would; flambeau has no such modules."""


# torch.utils.flop_counter


class FlopCounterMode:
    """Placeholder for PyTorch's counter of arithmetic operations: it can be constructed, but entering it raises."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __enter__(self) -> FlopCounterMode:
        raise NotSupportedError(
            "counting floating point operations is not supported",
            hint="compute the count from the shapes",
            operator="FlopCounterMode",
        )

    def __exit__(self, *error: object) -> None:
        pass

    def get_total_flops(self) -> int:
        """Return 0: nothing was counted."""
        return 0

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Return an empty dict: nothing was counted."""
        return {}


# torch._dynamo.exc


class TorchDynamoException(RuntimeError):
    """The base of errors of PyTorch's compiler, which is not there to raise them."""


class Unsupported(TorchDynamoException):
    """The error of a program that PyTorch's compiler does not take."""


def no_mode(*args: Any, **kwargs: Any) -> None:
    """Return None: no mode intercepts the calls of operators."""
