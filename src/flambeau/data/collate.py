"""Making a batch of samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import host
from ..core import TensorCore
from ..dtypes import float64
from ..errors import ArgumentTypeError, IndexRangeError, NamingError, ShapeError, shown, told_as
from ..ops.operator import REGISTRY
from ..tensor import factories
from ..tensor.data import kind_of


def default_collate(batch: Sequence[Any]) -> Any:
    """Samples as one: tensors are stacked, numbers become a tensor, and containers are taken part by part.

    Tensors [*S] give [n, *S]; NumPy arrays and numbers give tensors too (floats of float64); texts and bytes stay as
    they are.  Mappings give a mapping, named tuples their kind, other sequences a list.
    Raises: ArgumentTypeError for samples of other types, ShapeError for sequences of different lengths.
    """
    if not hasattr(batch, "__getitem__"):
        fact = f"default_collate: batch must be a list of samples, got {shown(batch)}"
        raise ArgumentTypeError(fact, hint="put a single one in a list")
    if not len(batch):
        raise IndexRangeError(f"default_collate: batch must hold samples, got {shown(batch)}", hint="give at least one")
    with told_as("default_collate"):
        return _collated(batch)


def _collated(batch: Sequence[Any]) -> Any:
    first = batch[0]
    if isinstance(first, TensorCore):
        _check_alike(batch, TensorCore, "a tensor")
        return REGISTRY["stack"](list(batch))
    if host.is_numpy_loaded() and isinstance(first, (host.np.ndarray, host.np.generic)):
        return _of_arrays(batch)
    if isinstance(first, float):
        return factories.tensor(list(batch), dtype=float64)
    if isinstance(first, int):
        return factories.tensor(list(batch))
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return _of_mappings(batch)
    if isinstance(first, Sequence):
        return _of_sequences(batch)
    raise ArgumentTypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found "
        f"{type(first).__name__}: {shown(first)}",
        hint="pass collate_fn= to the DataLoader",
    )


def _of_arrays(batch: Sequence[Any]) -> Any:
    if batch[0].dtype.kind in "SUOV":
        raise ArgumentTypeError(
            f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found "
            f"{batch[0].dtype}",
            hint="pass collate_fn= to the DataLoader",
        )
    arrays = [host.np.asarray(each) for each in batch]
    kind_of(arrays[0], "default_collate")
    for index, each in enumerate(arrays):
        if each.shape != arrays[0].shape:
            raise ShapeError(
                f"default_collate: expects each array to be equal size, but got {list(arrays[0].shape)} at entry 0 and "
                f"{list(each.shape)} at entry {index}",
                hint="pad the samples, or pass collate_fn= to the DataLoader",
            )
    return factories.from_array(host.np.stack(arrays))


def _check_alike(batch: Sequence[Any], kind: Any, what: str) -> None:
    """Raise ArgumentTypeError for the first sample that is not like sample 0."""
    for index, each in enumerate(batch):
        if not isinstance(each, kind):
            raise ArgumentTypeError(
                f"default_collate: sample 0 is {what}, sample {index} is {shown(each)}", hint="give samples of one kind"
            )


def _of_mappings(batch: Sequence[Any]) -> Any:
    first = batch[0]
    _check_alike(batch, Mapping, "a mapping")
    for index, sample in enumerate(batch):
        for key in first:
            if key not in sample:
                raise NamingError(
                    f"default_collate: sample 0 has the key {key!r}, sample {index} has {', '.join(map(repr, sample))}",
                    hint="give samples with the same keys",
                )
    made = {key: _collated([sample[key] for sample in batch]) for key in first}
    if type(first) is dict:
        return made
    try:
        return type(first)(made)
    except TypeError:
        return made


def _of_sequences(batch: Sequence[Any]) -> Any:
    first = batch[0]
    _check_alike(batch, Sequence, "a sequence")
    lengths = [len(sample) for sample in batch]
    if len(set(lengths)) > 1:
        raise ShapeError(
            f"default_collate: each element in list of batch should be of equal size, their lengths are {lengths}",
            hint="pad the samples, or pass collate_fn= to the DataLoader",
        )
    made = [_collated(parts) for parts in zip(*batch)]
    return type(first)(*made) if hasattr(first, "_fields") else made


def default_convert(sample: Any) -> Any:
    """One sample with its NumPy arrays as tensors: what a loader without batches gives."""
    if host.is_numpy_loaded() and isinstance(sample, (host.np.ndarray, host.np.generic)):
        return sample if sample.dtype.kind in "SUOV" else factories.tensor(host.np.asarray(sample))
    if isinstance(sample, Mapping):
        made = {key: default_convert(value) for key, value in sample.items()}
        return made if type(sample) is dict else type(sample)(made)  # type: ignore[call-arg]
    if isinstance(sample, tuple):
        values = [default_convert(each) for each in sample]
        return type(sample)(*values) if hasattr(sample, "_fields") else values
    if isinstance(sample, Sequence) and not isinstance(sample, (str, bytes)):
        return [default_convert(each) for each in sample]
    return sample
