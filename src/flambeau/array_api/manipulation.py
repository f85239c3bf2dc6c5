"""Functions of the array API that arrange, join and select elements."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..core.tensor import TensorBase
from ..errors import ArgumentError, ArgumentTypeError, ValueRangeError, shown
from ..ops import gather_scatter, indexing, join, slicing, views
from ..tensor import checks
from .data_types import result_type


def _of_one_type(name: str, arrays: Any) -> list[Any]:
    """Convert arrays to the type that they promote to.  Raises ArgumentTypeError unless there is at least one."""
    entries = list(checks.listed(name, "arrays", "arrays", arrays))
    if not entries or not all(isinstance(array, TensorBase) for array in entries):
        hint = "as in [x, torch.asarray(2)]"
        raise ArgumentTypeError(f"expected one array or more, got {shown(entries)}", hint=hint, operator=name)
    wanted = result_type(*entries)
    return [array.to(wanted) for array in entries]


def _of_int64(indices: Any) -> Any:
    """Convert an array of indices to int64.  Anything else is returned unchanged, for the operator to refuse it."""
    array: Any = indices
    return array.to(dtypes.int64) if isinstance(indices, TensorBase) else indices


def broadcast_arrays(*arrays: Any) -> list[Any]:
    """Return views of arrays, all of the shape that they broadcast to.

    Raises: ShapeError if they do not broadcast, ArgumentTypeError if one is not an array.
    Example:
        >>> [each.shape for each in torch.array_api.broadcast_arrays(torch.ones(2, 1), torch.ones(3))]
        [torch.Size([2, 3]), torch.Size([2, 3])]
    """
    return list(views.broadcast_tensors(*arrays))


def broadcast_to(x: Any, /, shape: Any) -> Any:
    """Return a view of an array, broadcast to another shape.

    Raises: ShapeError if the array does not broadcast to the shape.
    Example:
        >>> torch.array_api.broadcast_to(torch.tensor([1, 2]), (2, 2))
        tensor([[1, 2],
                [1, 2]])
    """
    return views.broadcast_to(x, shape)


def concat(arrays: Any, /, *, axis: int | None = 0) -> Any:
    """Join arrays along an axis; axis=None: flatten them first.  The type is the one that they promote to.

    Shapes: sizes are equal except along the axis, where the result has their sum; a vector if axis is None.
    Raises: ShapeError if other sizes differ, IndexRangeError if the axis is out of range, ArgumentTypeError for no
            arrays, or one that is not an array.
    Example:
        >>> torch.array_api.concat([torch.tensor([[1, 2]]), torch.tensor([3.0])], axis=None)
        tensor([1., 2., 3.])
    """
    converted = _of_one_type("concat", arrays)
    if axis is None:
        return join.cat([array.reshape(-1) for array in converted], 0)
    return join.cat(converted, axis)


def expand_dims(x: Any, /, *, axis: int = 0) -> Any:
    """Return a view with a new axis of size one at the position `axis`.

    Raises: IndexRangeError if the axis is out of range.
    Example:
        >>> torch.array_api.expand_dims(torch.ones(3), axis=1).shape
        torch.Size([3, 1])
    """
    return views.unsqueeze(x, axis)


def flip(x: Any, /, *, axis: Any = None) -> Any:
    """Reverse the order of elements along an axis or several; axis=None: along all.

    Shapes: same as the input.
    Raises: IndexRangeError if an axis is out of range, ShapeError if one is repeated.
    Example:
        >>> torch.array_api.flip(torch.tensor([[1, 2], [3, 4]]))
        tensor([[4, 3],
                [2, 1]])
    """
    return join.flip(x, tuple(range(x.ndim)) if axis is None else axis)


def moveaxis(x: Any, source: Any, destination: Any, /) -> Any:
    """Return a view with the axis `source` moved to the position `destination`; for several axes, pass tuples.

    Raises: IndexRangeError if an axis is out of range, ShapeError if one is repeated or the numbers of axes differ.
    Example:
        >>> torch.array_api.moveaxis(torch.ones(2, 3, 4), 0, -1).shape
        torch.Size([3, 4, 2])
    """
    return views.movedim(x, source, destination)


def permute_dims(x: Any, /, axes: Any) -> Any:
    """Return a view with the axes in another order.

    Shapes: size i of the result is size axes[i] of the input.
    Raises: ShapeError unless `axes` lists every axis once, IndexRangeError if one is out of range.
    Example:
        >>> torch.array_api.permute_dims(torch.ones(2, 3, 4), (2, 0, 1)).shape
        torch.Size([4, 2, 3])
    """
    return views.permute(x, axes)


def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> Any:
    """Repeat each element along an axis; axis=None: of the flattened array.

    repeats: how often each element occurs: one number, or an array with a number for each index of the axis.
    Host:   waits for an array of numbers on a GPU.
    Raises: ShapeError unless there is one number for each index, ValueRangeError for a negative number, IndexRangeError
            if the axis is out of range.
    Example:
        >>> torch.array_api.repeat(torch.tensor([1, 2]), 2)
        tensor([1, 1, 2, 2])
    """
    return join.repeat_interleave(x, repeats, axis)


def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
    """Return the elements in another shape; copy: True copies, False never does, None only if it must.

    Raises: ShapeError if the number of elements differs, or if copy is False and a view is impossible.
    Example:
        >>> torch.array_api.reshape(torch.arange(4), (2, -1))
        tensor([[0, 1],
                [2, 3]])
    """
    if copy is None:
        return views.reshape(x, shape)
    return views.reshape(x.clone(), shape) if copy else x.view(shape)


def roll(x: Any, /, shift: Any, *, axis: Any = None) -> Any:
    """Shift elements along axes; those shifted out at one end enter at the other.  axis=None: in the flattened array.

    Shapes: same as the input.
    Raises: IndexRangeError if an axis is out of range, ShapeError if shifts and axes differ in number.
    Example:
        >>> torch.array_api.roll(torch.arange(4), 1)
        tensor([3, 0, 1, 2])
    """
    if isinstance(axis, tuple) and isinstance(shift, int):
        shift = (shift,) * len(axis)
    return join.roll(x, shift, axis)


def squeeze(x: Any, /, axis: Any) -> Any:
    """Return a view without the given axes, which must have size one.

    Raises: ValueRangeError if an axis has another size; PyTorch keeps such an axis.
    Example:
        >>> torch.array_api.squeeze(torch.ones(1, 3), 0).shape
        torch.Size([3])
    """
    for dim in axis if isinstance(axis, tuple) else (axis,):
        if x.size(dim) != 1:
            raise ValueRangeError(
                f"axis {dim} must have size 1, and has size {x.shape[dim]} in shape {tuple(x.shape)}",
                hint="pass an axis of size 1",
                operator="squeeze",
            )
    return views.squeeze(x, axis)


def stack(arrays: Any, /, *, axis: int = 0) -> Any:
    """Join arrays of one shape along a new axis.  The type is the one that they promote to.

    Shapes: the arrays' with the number of arrays inserted at `axis`.
    Raises: ShapeError if shapes differ, IndexRangeError if the axis is out of range, ArgumentTypeError for no arrays,
            or one that is not an array.
    Example:
        >>> torch.array_api.stack([torch.tensor([1, 2]), torch.tensor([3, 4])], axis=1)
        tensor([[1, 3],
                [2, 4]])
    """
    return join.stack(_of_one_type("stack", arrays), axis)


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    """Return the elements at indices along an axis, which may be omitted for an array of one dimension.

    Raises: ArgumentError if the axis is omitted for an array of several dimensions.
    Example:
        >>> torch.array_api.take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([1]), axis=1)
        tensor([[2],
                [4]])
    """
    if axis is None and x.ndim != 1:
        raise ArgumentError(
            f"axis=None is only for arrays with one dimension, and x has {x.ndim}", hint="pass axis", operator="take"
        )
    return indexing.index_select(x, axis or 0, _of_int64(indices))


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    """Return the elements at indices along an axis, with indices for each position on the other axes.

    Shapes: x and indices broadcast, except along the axis; the result has the size of the indices there.
    Raises: ShapeError if the numbers of dimensions differ, IndexRangeError if the axis is out of range.
    Example:
        >>> torch.array_api.take_along_axis(torch.tensor([[5, 6], [7, 8]]), torch.tensor([[1], [0]]))
        tensor([[6],
                [7]])
    """
    return gather_scatter.take_along_dim(x, _of_int64(indices), axis)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """Return views of an array, one for each index of an axis.

    Shapes: the input's without the axis.
    Raises: IndexRangeError if the axis is out of range.
    Example:
        >>> torch.array_api.unstack(torch.tensor([[1, 2], [3, 4]]), axis=1)
        (tensor([1, 3]), tensor([2, 4]))
    """
    return tuple(slicing.unbind(x, axis))
