"""Collation: a list of samples made into one batch."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from functools import cache
from operator import attrgetter, itemgetter
from sys import getrefcount
from typing import Any, NamedTuple

from ..core.factories import resolve
from ..core.layout import dense_layout
from ..core.queue import hooks
from ..core.tensor import TensorBase, in_graph, new_on_host
from ..core.thread import CPU
from ..dtypes import float64, int64, uint8
from ..errors import ArgumentTypeError, IndexRangeError, NamingError, ShapeError, naming, shown, walking
from ..host import np
from ..multiprocessing.worker_pipe import COPIED_BYTES, SharedStack, shares_batches
from ..ops.operator import REGISTRY
from ..strides import Size
from ..tensor import factories
from ..tensor.factories import kind_of
from ..tensor.tensor import Tensor
from ..uncomputed import sample_arrays

NUMPY_NUMBERS = (np.bool_, np.number, np.object_)  # the scalar types that become tensors
NO_NUMBERS = "SUOV"  # kinds of NumPy types that no tensor holds
np_str_obj_array_pattern = re.compile(r"[SaUO]")  # types of arrays that are not numbers; programs import it
NO_COLLATION = "batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
default_collate_err_msg_format = f"default_collate: {NO_COLLATION}"  # programs raise errors with it
KINDS_HINT = "pass collate_fn= to the DataLoader"

Collators = dict[type | tuple[type, ...], Callable[..., Any]]


def default_collate(batch: Sequence[Any]) -> Any:
    """Make a batch of samples: tensors are stacked, numbers become a tensor, containers are collated entry by entry.

    NumPy arrays and numbers become tensors too; Python floats become float64.  str and bytes stay a list.
    `default_collate_fn_map` maps types to functions, and may be extended.
    Shapes: n tensors [*S] become one of [n, *S].
    Raises: ArgumentTypeError for samples of other types, ShapeError for tensors or sequences of different lengths,
            NamingError for dicts with different keys, IndexRangeError for no samples.
    Example:
        >>> torch.utils.data.default_collate([(1, torch.zeros(2)), (2, torch.ones(2))])
        [tensor([1, 2]), tensor([[0., 0.],
                [1., 1.]])]
    """
    with walking("default_collate", batch):
        return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Sequence[Any], *, collate_fn_map: Collators | None = None) -> Any:
    """Make a batch of samples by a mapping from types to functions; containers are collated entry by entry.

    A function is called as f(batch, collate_fn_map=...).  The function of the sample's own type is used, else that of
    the first key, in order, of which the sample is an instance.
    """
    if not hasattr(batch, "__getitem__"):
        fact = f"batch must be a list of samples, got {shown(batch)}"
        raise ArgumentTypeError(fact, operator="collate", hint="put a single sample in a list")
    if not len(batch):
        raise IndexRangeError(
            f"batch must hold samples, got {shown(batch)}", hint="give at least one", operator="collate"
        )
    return _collated(batch, collate_fn_map or {})


def _collated(batch: Sequence[Any], by_type: Collators) -> Any:
    first = batch[0]
    collate_fn = by_type.get(type(first))
    if collate_fn is None:
        collate_fn = next((function for key, function in by_type.items() if isinstance(first, key)), None)
    if collate_fn is not None:
        return collate_fn(batch, collate_fn_map=by_type)
    if isinstance(first, Mapping):
        return _of_mappings(batch, by_type)
    if isinstance(first, Sequence):
        return _of_sequences(batch, by_type)
    fact = NO_COLLATION.format(f"{type(first).__name__}: {shown(first)}")
    raise ArgumentTypeError(fact, hint=KINDS_HINT, operator="default_collate")


def collate_tensor_fn(batch: Sequence[Any], *, collate_fn_map: Collators | None = None) -> Any:
    """Stack tensors."""
    _check_kinds(batch, TensorBase, "a tensor")
    stacked = _stacked_on_host(batch)
    return REGISTRY["stack"](list(batch)) if stacked is None else stacked


_layout_of, _storage_of, _offset_of = attrgetter("_layout"), attrgetter("_storage"), attrgetter("_offset")


def _stacked_on_host(batch: Sequence[Any]) -> Any:
    """Stack plain CPU tensors of one type and shape outside any graph, without an operator; None for others."""
    if set(map(type, batch)) != {Tensor}:
        return None
    layout = batch[0]._layout
    if len(set(map(_layout_of, batch))) > 1:
        for other in map(_layout_of, batch):
            if (other.dtype, other.shape, other.device) != (layout.dtype, layout.shape, layout.device):
                return None
    elif layout.device.index < 0 and layout.dense and layout.numel and len(set(map(_storage_of, batch))) == 1:
        rows = None if any(map(in_graph, batch)) or hooks.on_host_read is not None else _rows_of_one(batch, layout)
        if rows is not None:
            return factories.from_array(rows.reshape(len(batch), *layout.shape))
    if layout.device.index >= 0 or any(map(in_graph, batch)):
        return None
    arrays = sample_arrays(batch)
    return stacked_arrays(arrays)


def _where_factories_do(stacked: Any) -> Any:
    """Move a new batch to the default device of factories."""
    return stacked if resolve(None) < 0 else factories.as_tensor(stacked, device=resolve(None))


def _rows_of_one(batch: Sequence[Any], layout: Any) -> Any:
    """Copy samples that are rows of one table; None unless each begins at a multiple of the row length."""
    numel, nbytes = layout.numel, layout.nbytes
    if shares_batches() and nbytes * len(batch) > COPIED_BYTES:
        return None
    offsets = np.array(list(map(_offset_of, batch)))
    if numel > 1:
        offsets, beside = np.divmod(offsets, numel)
        if beside.any():
            return None
    memory = batch[0]._storage.array()
    table = memory[: memory.size // nbytes * nbytes].view(layout.dtype.numpy).reshape(-1, numel)
    return table.take(offsets, axis=0)


def stacked_arrays(arrays: list[Any]) -> Any:
    """Stack NumPy arrays of one type and shape as a tensor; in a worker, large ones in memory for the main process."""
    first = arrays[0]
    shape = (len(arrays), *first.shape)
    if not first.ndim:
        return factories.from_array(np.array(arrays, dtype=first.dtype))
    if shares_batches() and first.nbytes * len(arrays) > COPIED_BYTES:
        stack = SharedStack()
        stack.add(arrays)
        return stack.tensor(first.dtype, shape)
    out = np.empty(shape, first.dtype)
    np.concatenate(arrays, out=out.reshape(-1, *first.shape[1:]))
    return factories.from_array(out)


def collate_numpy_array_fn(batch: Sequence[Any], *, collate_fn_map: Collators | None = None) -> Any:
    """Stack NumPy arrays as a tensor."""
    first = batch[0]
    if first.dtype.kind in NO_NUMBERS:
        raise ArgumentTypeError(NO_COLLATION.format(first.dtype), hint=KINDS_HINT, operator="default_collate")
    arrays = list(map(np.asarray, batch))
    kind_of(arrays[0], "default_collate")
    for index, array in enumerate(arrays):
        if array.shape != first.shape:
            raise ShapeError(
                f"expects each array to be equal size, but got {list(first.shape)} at entry 0 and "
                f"{list(array.shape)} at entry {index}",
                hint="pad the samples, or pass collate_fn= to the DataLoader",
                operator="default_collate",
            )
    if collate_fn_map is not None and collate_fn_map.get(Tensor) not in (None, collate_tensor_fn):
        return _collated([factories.as_tensor(array) for array in arrays], collate_fn_map)
    if len({array.dtype for array in arrays}) > 1:  # NumPy's type of both differs from ours
        return REGISTRY["stack"]([factories.as_tensor(array) for array in arrays])
    return _where_factories_do(stacked_arrays(arrays))


def collate_numpy_scalar_fn(batch: Sequence[Any], *, collate_fn_map: Collators | None = None) -> Any:
    """Convert NumPy numbers to a tensor of their type."""
    return factories.tensor(np.asarray(batch))


def collate_float_fn(batch: Sequence[Any], *, collate_fn_map: Collators | None = None) -> Any:
    """Convert Python floats to a float64 tensor."""
    if set(map(type, batch)) == {float}:
        return _where_factories_do(factories.from_array(np.array(batch, np.float64)))
    return factories.tensor(list(batch), dtype=float64)


def collate_int_fn(batch: Sequence[Any], *, collate_fn_map: Collators | None = None) -> Any:
    """Convert Python ints to an int64 tensor, and bools to a bool tensor."""
    kinds = set(map(type, batch))
    if kinds == {int}:
        fits = max(map(int.bit_length, batch)) < 64
        if not fits:
            return factories.tensor(list(batch), dtype=int64)
        return _where_factories_do(factories.from_array(np.array(batch, np.int64)))
    if kinds == {bool}:
        return _where_factories_do(factories.from_array(np.array(batch, np.bool_)))
    return factories.tensor(list(batch))


def collate_str_fn(batch: Sequence[Any], *, collate_fn_map: Collators | None = None) -> Any:
    """Return a list of str or bytes unchanged."""
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
    """Return whether `default_collate` stacks tensors: its mapping still has the original function for them."""
    return default_collate_fn_map.get(Tensor) is collate_tensor_fn


# tensors that are stacked when their sample is appended

LARGE = 1 << 16  # bytes; smaller tensors are stacked at the end of the batch
_TENSOR: Any = Tensor  # whose private parts no stub declares
_WHOLE = -1  # the place of a sample that is a tensor itself


class _HostStack:
    """Arrays of one type and shape, stacked in this process.  The interface is SharedStack's."""

    def __init__(self, dtype: Any, shape: tuple[int, ...]) -> None:
        self._all = np.empty(shape, dtype)
        self._count = 0

    def add(self, arrays: Sequence[Any]) -> None:
        for array in arrays:
            self._all[self._count] = array
            self._count += 1

    def array(self, dtype: Any, shape: tuple[int, ...]) -> Any:
        return self._all[: shape[0]]

    def tensor(self, dtype: Any, shape: tuple[int, ...]) -> Any:
        return factories.from_array(self.array(dtype, shape))


class _Form(NamedTuple):
    """The form that all samples of a batch must have, so that their tensors can be stacked one by one.

    type, length: of a sample; the length of a tensor is 1.  places, layouts: of the entries that are stacked.
    """

    type: type
    length: int
    places: list[int]
    layouts: list[Any]


class Samples:
    """The samples of a batch for `default_collate`.  Large tensors are copied into the batch when they are appended.

    The tensor is then still in the processor's cache, and its memory can be reused for the next sample.  The batch is
    the same as if all samples were collated at the end: a tensor is copied early only if no reference to it exists
    outside its sample, so the program cannot change it afterwards.  After a sample whose form differs from that of the
    first, the samples are collected in a list and collated at the end.
    plain: that list; None as long as tensors are copied early.
    """

    def __init__(self, count: int) -> None:
        """Make an empty batch.  count: the largest number of samples."""
        self.plain: list[Any] | None = None
        self._most = count
        self._form: _Form | None = None
        self._stacks: list[Any] = []
        self._rests: list[list[Any]] = []  # the entries of each sample; None in place of a tensor that is stacked

    def append(self, sample: Any) -> None:
        if self.plain is not None:
            self.plain.append(sample)
            return
        places = [index for index, *counts in _references(sample) if counts == _alone(index == _WHOLE)]
        entries = list(sample) if type(sample) in (tuple, list) else [sample]
        form = _Form(type(sample), len(entries), places, [entries[index]._layout for index in places])
        if self._form is None:
            self._form = form
            self._stacks = [_stack_of(self._most, layout) for layout in form.layouts]
            if form.type is not Tensor and any(isinstance(sample, key) for key in default_collate_fn_map):
                places = []  # the program has its own function for such samples
        if not places or form != self._form:
            self.plain = [*self._restored(), sample]
            return
        for index, stack in zip(places, self._stacks):
            stack.add(sample_arrays([entries[index]]))
            entries[index] = None
        self._rests.append(entries)

    def __len__(self) -> int:
        return len(self._rests if self.plain is None else self.plain)

    def collated(self) -> Any:
        """Return the batch."""
        if self.plain is not None or self._form is None:
            return default_collate(self.plain or [])
        count, form = len(self._rests), self._form
        stacked = {
            index: stack.tensor(layout.plain, (count, *layout.shape))
            for index, layout, stack in zip(form.places, form.layouts, self._stacks)
        }
        if _WHOLE in stacked:
            return stacked[_WHOLE]
        with naming("default_collate"):
            return [
                stacked[index] if index in stacked else _collated(column, default_collate_fn_map)
                for index, column in enumerate(zip(*self._rests))
            ]

    def _restored(self) -> list[Any]:
        """Return the samples so far, with their tensors again."""
        form, rests = self._form, self._rests
        assert form is not None
        for index, layout, stack in zip(form.places, form.layouts, self._stacks):
            for entries, row in zip(rests, stack.array(layout.plain, (len(rests), *layout.shape))):
                entries[index] = factories.from_array(row)
        return [form.type(entries) if form.type in (tuple, list) else entries[0] for entries in rests]


def _stack_of(count: int, layout: Any) -> Any:
    if shares_batches() and layout.nbytes * count > COPIED_BYTES:
        return SharedStack()
    return _HostStack(layout.plain, (count, *layout.shape))


def _references(sample: Any) -> list[list[int]]:
    """Return a list for each large tensor of a sample: its index, then reference counts.

    They are those of the sample, the tensor, its storage, and the two arrays over its memory.
    """
    rows = []
    for index in range(len(sample)) if type(sample) in (tuple, list) else (_WHOLE,):
        entry: Any = sample if index == _WHOLE else sample[index]
        if type(entry) is _TENSOR and entry._layout.nbytes >= LARGE and entry.device_index < 0 and not in_graph(entry):
            memory = entry._storage
            is_plain = memory.whole_layout is entry._layout and entry.is_contiguous()
            if is_plain and memory.whole.base is None:
                memory.array()  # makes `_array`, which refers to `whole`
                parts = sample, entry, memory, memory.whole, memory._array
                rows.append([index, *map(getrefcount, parts)])
    return rows


@cache
def _alone(is_sample: bool) -> list[int]:
    """Return the counts of `_references` for a tensor without references outside its sample.

    is_sample: whether the tensor itself is the sample, and not an entry of one.
    """

    def counts(sample: Any) -> list[int]:  # has one reference to the sample, as `append` has
        return next(counts for _, *counts in _references(sample))

    if is_sample:
        return counts(new_on_host(dense_layout(CPU, uint8, Size((LARGE,)))))
    return counts((new_on_host(dense_layout(CPU, uint8, Size((LARGE,)))),))


def _check_kinds(batch: Sequence[Any], expected: Any, what: str) -> None:
    """Raise ArgumentTypeError for the first sample whose kind differs from sample 0's."""
    if len(set(map(type, batch))) == 1:
        return
    first = type(batch[0])
    for index, sample in enumerate(batch):
        if type(sample) is not first and not isinstance(sample, expected):
            raise ArgumentTypeError(
                f"sample 0 is {what}, sample {index} is {shown(sample)}",
                hint="let the dataset return samples of one type, or pass collate_fn= to the DataLoader",
                operator="default_collate",
            )


def _of_mappings(batch: Sequence[Any], by_type: Collators) -> Any:
    first = batch[0]
    _check_kinds(batch, Mapping, "a mapping")
    try:
        columns = {key: list(map(itemgetter(key), batch)) for key in first}
    except KeyError:
        for index, sample in enumerate(batch):
            for key in first:
                if key not in sample:
                    raise NamingError(
                        f"sample 0 has the key {key!r}, sample {index} has {', '.join(map(repr, sample))}",
                        hint="let the dataset return samples with the same keys",
                        operator="default_collate",
                    ) from None
        raise
    return rebuilt_mapping(first, {key: _collated(column, by_type) for key, column in columns.items()})


def _of_sequences(batch: Sequence[Any], by_type: Collators) -> Any:
    first = batch[0]
    _check_kinds(batch, Sequence, "a sequence")
    if len(set(map(len, batch))) > 1:
        raise ShapeError(
            "each element in list of batch should be of equal size, their lengths are "
            f"{[len(sample) for sample in batch]}",
            hint="pad the samples, or pass collate_fn= to the DataLoader",
            operator="default_collate",
        )
    entries = [_collated(column, by_type) for column in zip(*batch)]
    if isinstance(first, tuple):
        return type(first)(*entries) if hasattr(first, "_fields") else entries
    return rebuilt_sequence(first, entries)


def rebuilt_mapping(like: Mapping[Any, Any], entries: dict[Any, Any]) -> Any:
    """Return a mapping of `like`'s type with other entries; a dict if that type cannot be constructed from entries.

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
    """Return a sequence of `like`'s type with other entries; a list if that type cannot be constructed."""
    try:
        if isinstance(like, MutableSequence):
            same = copy.copy(like)
            for index, entry in enumerate(entries):
                same[index] = entry
            return same
        make: Any = type(like)
        return make(entries)
    except TypeError:
        return entries


def default_convert(data: Any) -> Any:
    """Convert the NumPy arrays and NumPy numbers in a sample to tensors, which share the arrays' memory.

    A DataLoader without batches applies it to each sample.

    Containers keep their type; plain tuples become lists.
    Shapes: an array [*] gives a tensor [*], a number gives ().
    Raises: nothing; objects of other types are returned unchanged.
    Example:
        >>> import numpy as np
        >>> torch.utils.data.default_convert({"x": np.array([1, 2]), "name": "a"})
        {'x': tensor([1, 2]), 'name': 'a'}
    """
    with walking("default_convert", data):
        return _converted(data)


def _converted(data: Any) -> Any:
    if isinstance(data, (np.ndarray, np.generic)) and type(data).__module__ == "numpy":  # not of packages' subclasses
        return data if data.dtype.kind in NO_NUMBERS else factories.as_tensor(np.asarray(data))
    if isinstance(data, (TensorBase, str, bytes)):
        return data
    if isinstance(data, Mapping):
        return rebuilt_mapping(data, {key: _converted(value) for key, value in data.items()})
    if isinstance(data, tuple):
        entries = [_converted(entry) for entry in data]
        return type(data)(*entries) if hasattr(data, "_fields") else entries
    if isinstance(data, Sequence):
        return rebuilt_sequence(data, [_converted(entry) for entry in data])
    return data
