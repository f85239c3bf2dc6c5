"""Collation: a list of samples made into one batch."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

from ..core.tensor import TensorBase
from ..dtypes import float64
from ..errors import ArgumentTypeError, IndexRangeError, NamingError, ShapeError, naming, shown
from ..host import np
from ..ops.operator import REGISTRY
from ..tensor import factories
from ..tensor.factories import kind_of
from ..tensor.tensor import Tensor

NUMPY_NUMBERS = (np.bool_, np.number, np.object_)  # the scalar types that become tensors
NO_NUMBERS = "SUOV"  # kinds of NumPy types that no tensor holds
KINDS_HINT = "pass collate_fn= to the DataLoader"

Collators = dict[type | tuple[type, ...], Callable[..., Any]]


def default_collate(batch: Sequence[Any]) -> Any:
    """Make a batch of samples: tensors are stacked, numbers become a tensor, containers are collated entry by entry.

    NumPy arrays and numbers become tensors too, Python floats of float64; str and bytes stay a list.
    `default_collate_fn_map` maps types to functions, and may be extended.
    Shapes: n tensors [*S] become one of [n, *S].
    Raises: ArgumentTypeError for samples of other types, ShapeError for sequences of different lengths.
    Example:
        >>> torch.utils.data.default_collate([(1, torch.zeros(2)), (2, torch.ones(2))])
        [tensor([1, 2]), tensor([[0., 0.],
                [1., 1.]])]
    """
    with naming("default_collate"):
        return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Sequence[Any], *, collate_fn_map: Collators | None = None) -> Any:
    """Make a batch of samples by a mapping from types to functions; containers are collated entry by entry.

    A function is called as f(batch, collate_fn_map=...).  The function of the sample's own type is used, else that of
    the first key, in order, of which the sample is an instance.
    """
    if not hasattr(batch, "__getitem__"):
        fact = f"batch must be a list of samples, got {shown(batch)}"
        raise ArgumentTypeError(fact, operator="collate", hint="put a single one in a list")
    if not len(batch):
        raise IndexRangeError(
            f"batch must hold samples, got {shown(batch)}", hint="give at least one", operator="collate"
        )
    return _collated(batch, collate_fn_map or {})


def _collated(batch: Sequence[Any], by_type: Collators) -> Any:
    first = batch[0]
    found = by_type.get(type(first))
    if found is None:
        found = next((function for key, function in by_type.items() if isinstance(first, key)), None)
    if found is not None:
        return found(batch, collate_fn_map=by_type)
    if isinstance(first, Mapping):
        return _of_mappings(batch, by_type)
    if isinstance(first, Sequence):
        return _of_sequences(batch, by_type)
    raise ArgumentTypeError(
        "batch must contain tensors, numpy arrays, numbers, dicts or lists; found "
        f"{type(first).__name__}: {shown(first)}",
        hint=KINDS_HINT,
        operator="default_collate",
    )


def collate_tensor_fn(batch: Sequence[Any], *, collate_fn_map: Collators | None = None) -> Any:
    """Tensors, stacked."""
    _check_kinds(batch, TensorBase, "a tensor")
    dtype, shape = batch[0].dtype, batch[0].shape
    if all([_is_plain(each) and each.dtype is dtype and each.shape == shape for each in batch]):
        return factories.from_array(np.stack([each.array() for each in batch]))
    return REGISTRY["stack"](list(batch))


def _is_plain(tensor: Any) -> bool:
    """Whether a tensor is on the CPU and outside any graph, so that it can be copied without an operator."""
    return type(tensor) is Tensor and not tensor.is_cuda and not tensor.requires_grad


def collate_numpy_array_fn(batch: Sequence[Any], *, collate_fn_map: Collators | None = None) -> Any:
    """NumPy arrays, stacked, as a tensor."""
    first = batch[0]
    if first.dtype.kind in NO_NUMBERS:
        raise ArgumentTypeError(
            f"batch must contain tensors, numpy arrays, numbers, dicts or lists; found {first.dtype}",
            hint=KINDS_HINT,
            operator="default_collate",
        )
    arrays = [np.asarray(each) for each in batch]
    kind_of(arrays[0], "default_collate")
    for index, each in enumerate(arrays):
        if each.shape != first.shape:
            raise ShapeError(
                f"expects each array to be equal size, but got {list(first.shape)} at entry 0 and "
                f"{list(each.shape)} at entry {index}",
                hint="pad the samples, or pass collate_fn= to the DataLoader",
                operator="default_collate",
            )
    if collate_fn_map is not None and collate_fn_map.get(Tensor) not in (None, collate_tensor_fn):
        return _collated([factories.as_tensor(each) for each in arrays], collate_fn_map)
    return factories.from_array(np.stack(arrays))


def collate_numpy_scalar_fn(batch: Sequence[Any], *, collate_fn_map: Collators | None = None) -> Any:
    """NumPy numbers, as a tensor of their type."""
    return factories.tensor(np.asarray(batch))


def collate_float_fn(batch: Sequence[Any], *, collate_fn_map: Collators | None = None) -> Any:
    """Python floats, as a float64 tensor."""
    return factories.tensor(list(batch), dtype=float64)


def collate_int_fn(batch: Sequence[Any], *, collate_fn_map: Collators | None = None) -> Any:
    """Python ints, as an int64 tensor; bools, as a bool tensor."""
    return factories.tensor(list(batch))


def collate_str_fn(batch: Sequence[Any], *, collate_fn_map: Collators | None = None) -> Any:
    """str and bytes, as they are."""
    return batch


default_collate_fn_map: Collators = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    NUMPY_NUMBERS: collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def stacks_tensors() -> bool:
    """Whether `default_collate` stacks tensors: its mapping still has the original function for them."""
    return default_collate_fn_map.get(Tensor) is collate_tensor_fn


def _check_kinds(batch: Sequence[Any], kind: Any, what: str) -> None:
    """Raise ArgumentTypeError for the first sample whose kind differs from sample 0's."""
    first = type(batch[0])
    for index, each in enumerate(batch):
        if type(each) is not first and not isinstance(each, kind):
            raise ArgumentTypeError(
                f"sample 0 is {what}, sample {index} is {shown(each)}",
                hint="give samples of one kind",
                operator="default_collate",
            )


def _of_mappings(batch: Sequence[Any], by_type: Collators) -> Any:
    first = batch[0]
    _check_kinds(batch, Mapping, "a mapping")
    for index, sample in enumerate(batch):
        for key in first:
            if key not in sample:
                raise NamingError(
                    f"sample 0 has the key {key!r}, sample {index} has {', '.join(map(repr, sample))}",
                    hint="give samples with the same keys",
                    operator="default_collate",
                )
    return rebuilt_mapping(first, {key: _collated([sample[key] for sample in batch], by_type) for key in first})


def _of_sequences(batch: Sequence[Any], by_type: Collators) -> Any:
    first = batch[0]
    _check_kinds(batch, Sequence, "a sequence")
    lengths = [len(sample) for sample in batch]
    if len(set(lengths)) > 1:
        raise ShapeError(
            f"each element in list of batch should be of equal size, their lengths are {lengths}",
            hint="pad the samples, or pass collate_fn= to the DataLoader",
            operator="default_collate",
        )
    entries = [_collated(column, by_type) for column in zip(*batch)]
    if isinstance(first, tuple):
        return type(first)(*entries) if hasattr(first, "_fields") else entries
    return rebuilt_sequence(first, entries)


def rebuilt_mapping(like: Mapping[Any, Any], entries: dict[Any, Any]) -> Any:
    """A mapping of `like`'s type with other entries; a dict if that type cannot be constructed from entries.

    A mutable mapping is copied and updated, to keep its attributes.
    """
    try:
        if isinstance(like, MutableMapping):
            same = copy.copy(like)
            same.update(entries)
            return same
        make: Any = type(like)
        return make(entries)
    except TypeError:
        return entries


def rebuilt_sequence(like: Sequence[Any], entries: list[Any]) -> Any:
    """As rebuilt_mapping, for a sequence that is no tuple; a list if its type cannot be constructed."""
    try:
        if isinstance(like, MutableSequence):
            same = copy.copy(like)
            for index, each in enumerate(entries):
                same[index] = each
            return same
        make: Any = type(like)
        return make(entries)
    except TypeError:
        return entries


def default_convert(data: Any) -> Any:
    """Convert NumPy arrays and numbers of one sample to tensors that share their memory; for loaders without batches.

    Containers keep their type; plain tuples become lists.
    Example:
        >>> import numpy as np
        >>> torch.utils.data.default_convert({"x": np.array([1, 2]), "name": "a"})
        {'x': tensor([1, 2]), 'name': 'a'}
    """
    if isinstance(data, (np.ndarray, np.generic)):
        return data if data.dtype.kind in NO_NUMBERS else factories.as_tensor(np.asarray(data))
    if isinstance(data, (TensorBase, str, bytes)):
        return data
    if isinstance(data, Mapping):
        return rebuilt_mapping(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple):
        entries = [default_convert(each) for each in data]
        return type(data)(*entries) if hasattr(data, "_fields") else entries
    if isinstance(data, Sequence):
        return rebuilt_sequence(data, [default_convert(each) for each in data])
    return data
