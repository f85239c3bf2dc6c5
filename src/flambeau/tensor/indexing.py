"""Indexing: `x[...]` and `x[...] = value`, by views if the index allows it, else by index tensors and masks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .. import callers, dtypes
from ..core import call as calls
from ..core.tensor import TensorBase
from ..dtypes import int32, int64
from ..errors import ArgumentError, ArgumentTypeError, FlambeauError, IndexRangeError, name_error, shown
from ..host import is_numpy_loaded, np
from ..operands import check_own_overlap
from ..ops.indexing import check_mask, is_mask_of
from ..ops.operator import REGISTRY
from . import factories

FULL = slice(None)
NO_NAMES: dict[str, Any] = {}
MAX_ITEMS = 32  # a list with at least this many entries is never read as a tuple
READABLE = {dtypes.bool_, dtypes.uint8, dtypes.int8, dtypes.int16, int32, int64}  # types of indexes
KINDS = "use integers, slices, ..., None, and tensors or sequences of integers or bools"


class Selection(NamedTuple):
    """A view, and index tensors to apply to it (one or None per dimension, trailing ones omitted)."""

    view: Any
    indices: list[Any]


def get(tensor: Any, index: Any) -> Any:
    """Return `tensor[index]` for any index.

    Host:   waits for masks, and for zero-dimensional index tensors on a GPU; else returns at once.
    Raises: IndexRangeError, ArgumentError, ArgumentTypeError.
    """
    try:
        return _selected(tensor, index)
    except FlambeauError as error:
        name_error(error, "index")
        raise


def _selected(tensor: Any, index: Any) -> Any:
    if isinstance(index, TensorBase) and _lists_rows(tensor, index):
        return calls.call(REGISTRY["index_select"], (tensor, 0, index, True), NO_NAMES)
    if isinstance(index, TensorBase) and is_mask_of(tensor, index):
        return calls.call_two(REGISTRY["index"], tensor, [index])
    chosen = select(tensor, index)
    if chosen.indices:
        return REGISTRY["index"](chosen.view, chosen.indices)
    return REGISTRY["alias"](tensor) if chosen.view is tensor else chosen.view


def _lists_rows(tensor: TensorBase, index: TensorBase) -> bool:
    """Return whether the index is a vector of integers on the tensor's device, the usual case."""
    element_type = index._layout.dtype
    return (
        len(index._layout.shape) == 1
        and (element_type is int64 or element_type is int32)
        and index.device_index == tensor.device_index
        and len(tensor._layout.shape) > 0
    )


def put(tensor: Any, index: Any, value: Any) -> None:
    """Perform `tensor[index] = value` for a number or a tensor that broadcasts to the selection.

    Host:   as `get`; a value from another device is copied as `copy_` does.
    Raises: IndexRangeError, ArgumentError, ArgumentTypeError, ShapeError.
    """
    if not isinstance(value, TensorBase):
        _check_number(tensor, value)
    try:
        _put(tensor, index, value)
    except FlambeauError as error:
        name_error(error, "index")
        raise


def _put(tensor: Any, index: Any, value: Any) -> None:
    chosen = select(tensor, index)
    if not chosen.indices:
        check_own_overlap("index", chosen.view)
        chosen.view.copy_(_fitting(value, chosen.view)) if isinstance(value, TensorBase) else chosen.view.fill_(value)
    elif (mask := _only_mask(chosen)) is not None and not (isinstance(value, TensorBase) and value.shape):
        _fill_masked(chosen.view, mask, value)
    else:
        chosen.view.index_put_(chosen.indices, _as_values(value, chosen.view))


def _check_number(tensor: Any, value: Any) -> None:
    """Raise ArgumentTypeError unless the value is a number."""
    if not isinstance(value, (bool, int, float)) and not (is_numpy_loaded() and isinstance(value, np.generic)):
        raise ArgumentTypeError(
            f"can't assign a {type(value).__name__} to a {tensor.type()}: {shown(value)}",
            hint="pass a number, or make a tensor with torch.tensor(...)",
            operator="index",
        )


def _fitting(value: Any, view: Any) -> Any:
    """Return `value` without leading dimensions of size 1 that the view does not have."""
    extra = value.ndim - view.ndim
    return value.reshape(value.shape[extra:]) if extra > 0 and set(value.shape[:extra]) == {1} else value


def _as_values(value: Any, view: Any) -> Any:
    """Return the values to write as a tensor of the view's type, without leading dimensions of size 1."""
    if isinstance(value, TensorBase):
        values: Any = value
        lead = next((at for at, size in enumerate(values.shape) if size != 1), values.ndim)
        return values.reshape(values.shape[lead:]).to(view.device, view.dtype)
    return factories.full((), value, dtype=view.dtype, device=view.device)


def _only_mask(chosen: Selection) -> Any:
    """Return (dimension, mask) if a mask is the only index tensor, else None."""
    tensors = [(dim, index) for dim, index in enumerate(chosen.indices) if index is not None]
    if len(tensors) != 1:
        return None
    index = tensors[0][1]
    return tensors[0] if index.dtype is dtypes.bool_ and index.shape else None


def _fill_masked(view: Any, position: tuple[int, Any], value: Any) -> None:
    """Write one value where a mask is true, without a wait for the mask's values."""
    dim, mask = position
    check_mask(view, mask, dim)
    spread = mask.reshape((*mask.shape, *[1] * (view.ndim - dim - mask.ndim)))
    if isinstance(value, TensorBase):
        source: Any = value
        value = source.to(view.device, view.dtype)
    view.masked_fill_(spread, value)


def delete(tensor: Any, index: Any) -> None:
    """Raise ArgumentTypeError for `del tensor[index]`."""
    raise ArgumentTypeError(
        f"Tensor does not support deleting items: {tensor.describe()}[{shown(index)}]",
        hint="select the elements to keep, for example with a mask: x[keep]",
        operator="index",
    )


# reading an index


def select(tensor: Any, index: Any) -> Selection:
    """Apply the views of an index, and collect its index tensors."""
    if tensor._layout.shape and type(index) in (int, slice):  # the most frequent indexes, which have one item
        if type(index) is int:
            return Selection(tensor.select(0, index), [])
        return Selection(tensor if index == FULL else _sliced(tensor, 0, index), [])
    items = _expanded(tensor, [_item(entry, tensor) for entry in _listed(index)])
    view, dim = tensor, 0
    indices: list[Any] = []
    for item in items:
        is_tensor = isinstance(item, TensorBase)
        if item is None or isinstance(item, bool) or (is_tensor and not item.shape):
            view = view.unsqueeze(dim)
        if isinstance(item, bool):
            item = factories.tensor([item], device=tensor.device)
        elif is_tensor and not item.shape:
            item = item.reshape((1,))
        if isinstance(item, int):
            view = view.select(dim, item)
            continue
        if isinstance(item, slice):
            view = view if item == FULL else _sliced(view, dim, item)
        if isinstance(item, TensorBase):
            indices += [None] * (dim - len(_spread(indices)))
            indices.append(item)
            dim += _width(item)
        else:
            dim += 1
    return Selection(view, indices)


def _listed(index: Any) -> Any:
    """Return the items of an index.

    A sequence that is no tuple is one item, unless it contains non-numbers: then it is read as a tuple.
    """
    if isinstance(index, tuple):
        return index
    is_whole = isinstance(index, (str, bytes)) or is_numpy_loaded() and isinstance(index, np.ndarray)
    if is_whole or not _is_sequence(index) or len(index) >= MAX_ITEMS:
        return (index,)
    if not any([_is_item(entry) for entry in _entries(index)]):
        return (index,)
    callers.warn(
        "using a list of indexes, slices or None for several dimensions is deprecated; use a tuple: x[tuple(index)]"
    )
    return tuple(index)


def _is_item(value: Any) -> bool:
    """Return whether an entry of a list makes the list an index of several dimensions."""
    return value is None or value is Ellipsis or isinstance(value, (slice, TensorBase)) or _is_sequence(value)


def _is_sequence(value: Any) -> bool:
    """Return whether a value that is no tensor has entries at indexes, as lists, arrays, buffers and ranges have."""
    if isinstance(value, (list, tuple)):
        return True
    if isinstance(value, (TensorBase, Mapping)) or is_numpy_loaded() and isinstance(value, np.generic):
        return False
    return hasattr(type(value), "__getitem__") and hasattr(type(value), "__len__")


def _entries(sequence: Any) -> Any:
    """Return the entries of a sequence, as lists; those of a NumPy array as the array."""
    if isinstance(sequence, memoryview):
        return sequence.tolist()
    if isinstance(sequence, list) or is_numpy_loaded() and isinstance(sequence, np.ndarray):
        return sequence
    return [sequence[index] for index in range(len(sequence))]


def _spread(indices: list[Any]) -> list[Any]:
    """Return the index tensor of each dimension: a mask stands for several."""
    return [index for index in indices for _ in range(1 if index is None else _width(index))]


def _width(item: Any) -> int:
    """Return the number of dimensions that an item consumes."""
    if isinstance(item, TensorBase):
        return (
            len(item.shape) if item.dtype in (dtypes.bool_, dtypes.uint8) else 1
        )  # a 0-dim mask consumes none: it adds one
    return 0 if item is None or item is Ellipsis or isinstance(item, bool) else 1


def _sliced(view: Any, dim: int, item: slice) -> Any:
    start, stop, step = _bound(item.start), _bound(item.stop), _bound(item.step)
    if step is not None and step <= 0:
        raise ArgumentError(
            f"slice step must be greater than zero, got {step}",
            hint="use flip(dim) to reverse a dimension",
            operator="index",
        )
    return calls.call(REGISTRY["slice"], (view, dim, start, stop, 1 if step is None else step), NO_NAMES)


def _bound(value: Any) -> Any:
    if value is None or type(value) is int:
        return value
    if not hasattr(value, "__index__"):
        raise ArgumentTypeError(
            f"slice indices must be integers or None, got {shown(value)}",
            hint="convert it with int(...)",
            operator="index",
        )
    return value.__index__()


def _expanded(tensor: Any, items: list[Any]) -> list[Any]:
    """Replace the first Ellipsis by full slices, and drop further ones.  Raises IndexRangeError for too many items."""
    used = sum(_width(item) for item in items)
    if used > tensor.ndim:
        raise IndexRangeError(
            f"too many indices for tensor of dimension {tensor.ndim}: {used} for {tensor.describe()}",
            hint=f"use {tensor.ndim} at most; None adds a dimension",
            operator="index",
        )
    expanded: list[Any] = []
    missing = tensor.ndim - used
    for item in items:
        if item is Ellipsis:
            expanded += [FULL] * missing
            missing = 0
        else:
            expanded.append(item)
    return expanded


def _item(item: Any, tensor: Any) -> Any:
    """Return an item as an int, a bool, a slice, None, Ellipsis or an index tensor on the tensor's device."""
    if item is None or item is Ellipsis or isinstance(item, (bool, int, slice)):
        return item
    if isinstance(item, TensorBase):
        return _index_tensor(item, tensor)
    if is_numpy_loaded() and isinstance(item, np.bool_):
        return bool(item)
    if isinstance(item, (str, bytes)):
        error_class: type[FlambeauError] = ArgumentTypeError
    elif _is_sequence(item):
        return _index_tensor(_read(_entries(item)), tensor)
    elif hasattr(type(item), "__index__"):
        return item.__index__()
    else:
        error_class = IndexRangeError
    raise error_class(
        "only integers, slices (`:`), ellipsis (`...`), None and integer or bool tensors are valid indices "
        f"(got {type(item).__name__}): {shown(item)}",
        hint=KINDS,
    )


def _read(entries: Any) -> Any:
    """Return a tensor of the entries of a sequence: bools and bytes of NumPy as they are, other numbers as integers."""
    indices = factories.tensor(entries)
    return indices if indices.numel() and indices.dtype in READABLE else factories.tensor(entries, dtype=int64)


def _index_tensor(item: Any, tensor: Any) -> Any:
    if not item.shape and item.dtype.category == dtypes.INTEGER and item.dtype is not dtypes.uint8:
        return int(item.item())
    if item.dtype is dtypes.uint8:
        callers.warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.")
    return item if item.device == tensor.device else item.to(tensor.device)
