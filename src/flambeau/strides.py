"""Arithmetic on shapes and strides.  Strides count elements, as in PyTorch; a negative stride never occurs."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, SupportsIndex, cast, overload

from .errors import ArgumentTypeError, IndexRangeError, ShapeError, shown

Shape = tuple[int, ...]
_SIZE_HINT = "as in torch.Size([2, 3])"


class Size(tuple[int, ...]):
    """The shape of a tensor: a tuple of ints that prints as torch.Size([2, 3]).

    Other integers, such as NumPy's and integer tensors without dimensions, become ints.
    Raises: ArgumentTypeError for a value that is not iterable, or an item that is no integer.
    Example:
        >>> torch.Size([2, 3]), torch.Size([2, 3]).numel()
        (torch.Size([2, 3]), 6)
    """

    __slots__ = ()

    def __new__(cls, sizes: Iterable[SupportsIndex] = ()) -> Size:
        if not hasattr(type(sizes), "__iter__"):
            raise ArgumentTypeError(f"sizes must be iterable, got {shown(sizes)}", hint=_SIZE_HINT, operator="Size")
        values = tuple(sizes)
        if set(map(type, values)) <= {int}:
            return tuple.__new__(cls, cast(Shape, values))
        return tuple.__new__(cls, [_item(at, value) for at, value in enumerate(values)])

    def numel(self) -> int:
        """Return the number of elements: the product of the sizes.

        Example:
            >>> torch.Size([2, 3]).numel()
            6
        """
        return prod(self)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def __add__(self, other: tuple[int, ...]) -> Size:  # type: ignore[override]  # a sum of sizes is a Size
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: tuple[int, ...]) -> Size:
        return Size(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, count: SupportsIndex) -> Size:
        return Size(tuple.__mul__(self, count))

    __rmul__ = __mul__

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Size: ...
    def __getitem__(self, index: SupportsIndex | slice) -> int | Size:
        if isinstance(index, slice):
            return tuple.__new__(Size, tuple.__getitem__(self, index))
        return tuple.__getitem__(self, index)


def _item(at: int, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise ArgumentTypeError(
            f"sizes must be ints, item {at} is {shown(value)}", hint=_SIZE_HINT, operator="Size"
        ) from None


def contiguous(shape: Sequence[int]) -> Shape:
    """Return the strides of a dense row-major array."""
    strides = [1] * len(shape)
    for index in range(len(shape) - 2, -1, -1):
        strides[index] = strides[index + 1] * max(shape[index + 1], 1)
    return tuple(strides)


def is_contiguous(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Return whether the elements lie in row-major order without gaps (dimensions of size 1 do not count)."""
    if 0 in shape:
        return True
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True


def is_compact(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Return whether the elements fill a range of memory without gaps or repeats, in any order of dimensions."""
    if 0 in shape:
        return True
    expected = 1
    for stride, size in sorted((stride, size) for size, stride in zip(shape, strides) if size > 1):
        if stride != expected:
            return False
        expected *= size
    return True


def walk_order(shape: Sequence[int], operands: Sequence[Sequence[int]]) -> list[int]:
    """Return the dimensions, fastest first, in the order in which an elementwise operation traverses its operands.

    The first operand that orders two dimensions decides.  Otherwise the later dimension is faster.  Dimensions of
    stride 0 are not ordered.  As in PyTorch, the order of operands may change the strides of results.
    """
    order = list(reversed(range(len(shape))))
    for last in range(1, len(order)):
        at = last
        for before in reversed(range(last)):
            verdict = _compared(shape, operands, order[before], order[at])
            if verdict < 0:
                break
            if verdict > 0:
                order[before], order[at] = order[at], order[before]
                at = before
    return order


def _compared(shape: Sequence[int], operands: Sequence[Sequence[int]], one: int, other: int) -> int:
    """Return 1 if dimension `one` is slower than `other`, -1 if it is faster, 0 if no operand decides."""
    for strides in operands:
        if strides[one] == 0 or strides[other] == 0:
            continue
        if strides[one] != strides[other]:
            return 1 if strides[one] > strides[other] else -1
        if shape[one] > shape[other]:
            return 1
    return 0


def compact(shape: Sequence[int], order: Sequence[int]) -> Shape:
    """Return the strides of a compact array whose dimensions lie in `order`, fastest first."""
    if list(order) == list(reversed(range(len(shape)))):
        return contiguous(shape)
    strides = [0] * len(shape)
    step = 1
    for dim in order:
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)


def preserved(shape: Sequence[int], strides: Sequence[int]) -> Shape:
    """Return the strides of a copy: the original's if they are compact, else compact ones in the same order."""
    return tuple(strides) if is_compact(shape, strides) else compact(shape, walk_order(shape, [strides]))


def elementwise(shape: Shape, operands: Sequence[tuple[Shape, Shape]]) -> Shape:
    """Return the strides of an elementwise operation's new result of `shape`.  operands: (shape, strides) of each."""
    if all(operand_shape == shape for operand_shape, _ in operands):
        every = [strides for _, strides in operands]
        if all(is_contiguous(shape, strides) for strides in every):
            return contiguous(shape)
        if len(shape) == 4 and all(is_channels_last(shape, strides) for strides in every):
            return compact(shape, CHANNELS_LAST)
        if is_compact(shape, every[0]) and all(strides == every[0] for strides in every):
            return every[0]
    expanded = [expand(operand_shape, strides, shape) for operand_shape, strides in operands]
    return compact(shape, walk_order(shape, expanded))


CHANNELS_LAST = (1, 3, 2, 0)  # of [n, c, h, w], fastest first
CHANNELS_LAST_3D = (1, 4, 3, 2, 0)  # of [n, c, d, h, w]


def is_channels_last(shape: Sequence[int], strides: Sequence[int], order: Sequence[int] = CHANNELS_LAST) -> bool:
    """Return whether an array is in channels-last order without gaps (dimensions of size 1 do not count)."""
    expected = 1
    for dim in order if len(shape) == len(order) else ():
        if shape[dim] != 1 and strides[dim] != expected:
            return False
        expected *= shape[dim]
    return len(shape) == len(order)


def broadcast(shapes: Iterable[Sequence[int]], name: str = "broadcast") -> Shape:
    """Return the shape that all `shapes` expand to.  Raises ShapeError, for the operation `name`, if there is none."""
    shapes = [tuple(shape) for shape in shapes]
    result = [1] * max((len(shape) for shape in shapes), default=0)
    for shape in shapes:
        for index in range(1, len(shape) + 1):
            size, have = shape[-index], result[-index]
            if size != 1 and have not in (1, size):
                listed = " and ".join(str(list(shape)) for shape in shapes)
                raise ShapeError(
                    f"The size of tensor a ({have}) must match the size of tensor b ({size}) at non-singleton "
                    f"dimension {len(result) - index}: shapes {listed} do not broadcast",
                    hint="sizes must be equal, or one of them 1, counted from the last dimension",
                    operator=name,
                )
            if size != 1:
                result[-index] = size
    return tuple(result)


def expand(shape: Sequence[int], strides: Sequence[int], target: Sequence[int]) -> Shape:
    """Return the strides with which an array of `shape` reads as `target`: 0 along repeated dimensions."""
    lead = len(target) - len(shape)
    kept = [0 if size == 1 and want != 1 else stride for size, stride, want in zip(shape, strides, target[lead:])]
    return (0,) * lead + tuple(kept)


def collapse(shape: Sequence[int], operands: Sequence[Sequence[int]]) -> tuple[Shape, list[Shape]]:
    """Merge adjacent dimensions that every operand traverses as one.

    Returns the shorter shape and the operands' strides for it; dimensions of size 1 are dropped.
    """
    sizes: list[int] = []
    kept: list[list[int]] = [[] for _ in operands]
    for dim, size in enumerate(shape):
        if size == 1:
            continue
        if sizes and all(have[-1] == strides[dim] * size for have, strides in zip(kept, operands)):
            sizes[-1] *= size
            for have, strides in zip(kept, operands):
                have[-1] = strides[dim]
        else:
            sizes.append(size)
            for have, strides in zip(kept, operands):
                have.append(strides[dim])
    return tuple(sizes), [tuple(row) for row in kept]


def extent(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Return the number of elements from the first to the last in memory, gaps included; 0 if there are none."""
    last = 0
    for size, stride in zip(shape, strides):
        if size == 0:
            return 0
        last += (size - 1) * stride
    return last + 1


def overlaps_itself(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Return whether two indexes may refer to one element.

    Exact except for unusual `as_strided` views, for which it may be True although no element is shared.
    """
    if 0 in shape:
        return False
    walk = sorted((stride, size) for size, stride in zip(shape, strides) if size > 1)
    reach = 0
    for stride, size in walk:
        if stride <= reach:
            return True
        reach += stride * (size - 1)
    return False


def view(shape: Sequence[int], strides: Sequence[int], target: Sequence[int]) -> Shape | None:
    """Return the strides with which an array of `shape` reads as `target` without a copy, or None.

    Adjacent dimensions that can be traversed as one form a chunk.  Each chunk must consist of whole dimensions of the
    target, which begin at the chunk's own stride.  Dimensions of size 1 belong to the chunk after them.
    """
    if prod(shape) == 0:
        return tuple(strides) if tuple(shape) == tuple(target) else contiguous(target)
    if not shape:
        return (1,) * len(target)
    result = [0] * len(target)
    at, step, room = len(target) - 1, strides[-1], 1
    for dim in reversed(range(len(shape))):
        room *= shape[dim]
        if dim and (shape[dim - 1] == 1 or strides[dim - 1] == room * step):
            continue
        shown = 1
        while at >= 0 and (shown < room or target[at] == 1):
            result[at] = shown * step
            shown *= target[at]
            at -= 1
        if shown != room:
            return None
        if dim:
            step, room = strides[dim - 1], 1
    return tuple(result)


def infer(shape: Sequence[int], numel: int, name: str = "view") -> Shape:
    """Fill in a -1 in `shape`, so that it has `numel` elements.  Raises ShapeError, TypeError for other than ints."""
    shape = as_ints(shape)
    unknown = [index for index, size in enumerate(shape) if size == -1]
    known = prod(size for size in shape if size != -1)
    fits = numel == known if not unknown else len(unknown) == 1 and known and numel % known == 0
    if not fits or any(size < -1 for size in shape):
        raise ShapeError(
            f"shape '{list(shape)}' is invalid for input of size {numel}",
            hint="the sizes must multiply to that number; one of them may be -1, which is then computed",
            operator=name,
        )
    return tuple(numel // known if size == -1 else size for size in shape)


def is_integer(value: object) -> bool:
    """Return whether a value is an integer, of Python, NumPy or a tensor.  A bool is not."""
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        return False
    element_type: Any = getattr(value, "dtype", None)
    if hasattr(element_type, "kind"):  # of NumPy, whose arrays all have __index__
        return bool(element_type.kind in "iu" and not getattr(value, "ndim", 0))
    return getattr(element_type, "name", "") != "bool"


def as_int(value: SupportsIndex) -> int:
    """Return an integer, of Python, NumPy or a tensor.  Raises TypeError for anything else, a bool included."""
    if not is_integer(value):
        raise TypeError(f"expected an integer, got {value!r}")
    return operator.index(value)


def are_integers(values: Sequence[object]) -> bool:
    """Return whether all values are integers; as in PyTorch, only the first may not be a bool of Python."""
    for place, value in enumerate(values):
        if type(value) is not int and not is_integer(value) and not (place and isinstance(value, bool)):
            return False
    return True


def as_ints(value: SupportsIndex | Iterable[SupportsIndex]) -> list[int]:
    """Return one or several integers, as `is_integer` and `are_integers` define them.  Raises TypeError for others."""
    values = [value] if isinstance(value, SupportsIndex) else list(value)
    if not are_integers(values):
        raise TypeError(f"expected integers, got {shown(value)}")
    return [operator.index(number) for number in values]


def wrap_dim(dim: int, ndim: int, name: str) -> int:
    """Return `dim` counted from the front.  A zero-dimensional array accepts 0 and -1.

    Raises: IndexRangeError;  ArgumentTypeError if `dim` is not an integer.
    """
    if type(dim) is not int:
        if not is_integer(dim):
            raise ArgumentTypeError(
                f"a dimension must be an int, got {shown(dim)}",
                hint="pass an int: 0 is the first dimension",
                operator=name,
            )
        dim = operator.index(dim)
    room = max(ndim, 1)
    if not -room <= dim < room:
        raise IndexRangeError(
            f"Dimension out of range (expected to be in range of [{-room}, {room - 1}], but got {dim})",
            hint=f"count from the front with 0 to {room - 1}, or from the back with -1 to {-room}",
            operator=name,
        )
    return dim % room
