"""Arithmetic on shapes and strides.  Strides count elements, as in PyTorch; a negative stride never occurs."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from math import prod
from typing import SupportsIndex, overload

from .errors import ShapeError

Shape = tuple[int, ...]


class Size(tuple[int, ...]):
    """The shape of a tensor: a tuple that prints as PyTorch's does."""

    __slots__ = ()

    def numel(self) -> int:
        return prod(self)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def __add__(self, other: tuple[int, ...]) -> Size:  # type: ignore[override]
        return Size(tuple.__add__(self, other))

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Size: ...
    def __getitem__(self, index: SupportsIndex | slice) -> int | Size:
        return Size(tuple.__getitem__(self, index)) if isinstance(index, slice) else tuple.__getitem__(self, index)


def contiguous(shape: Sequence[int]) -> Shape:
    """The strides of a dense row-major array."""
    strides = [1] * len(shape)
    for index in range(len(shape) - 2, -1, -1):
        strides[index] = strides[index + 1] * max(shape[index + 1], 1)
    return tuple(strides)


def is_contiguous(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether the elements lie in row-major order without gaps (dimensions of size 1 do not count)."""
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size == 0:
            return True
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True


def broadcast(shapes: Iterable[Sequence[int]], name: str = "broadcast") -> Shape:
    """The shape that all `shapes` expand to.  Raises ShapeError, naming operator `name`, if there is none."""
    shapes = [tuple(shape) for shape in shapes]
    result = [1] * max((len(shape) for shape in shapes), default=0)
    for shape in shapes:
        for index in range(1, len(shape) + 1):
            size, have = shape[-index], result[-index]
            if size != 1 and have not in (1, size):
                listed = " and ".join(str(list(each)) for each in shapes)
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
    """The strides with which an array of `shape` reads as `target` (stride 0 along what is repeated)."""
    lead = len(target) - len(shape)
    kept = [0 if size == 1 and want != 1 else stride for size, stride, want in zip(shape, strides, target[lead:])]
    return (0,) * lead + tuple(kept)


def collapse(shape: Sequence[int], operands: Sequence[Sequence[int]]) -> tuple[Shape, list[Shape]]:
    """Merge neighbouring dimensions that every operand walks as one.

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
    return tuple(sizes), [tuple(each) for each in kept]


def extent(shape: Sequence[int], strides: Sequence[int]) -> int:
    """How many elements lie from the first that is touched to the last, both included; 0 if there are none."""
    last = 0
    for size, stride in zip(shape, strides):
        if size == 0:
            return 0
        last += (size - 1) * stride
    return last + 1


def overlaps_itself(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether two indexes may name one element.

    Exact for everything but exotic `as_strided` views, where it errs to True.
    """
    walk = sorted((stride, size) for size, stride in zip(shape, strides) if size > 1)
    reach = 0
    for stride, size in walk:
        if stride <= reach:
            return True
        reach += stride * (size - 1)
    return False


def view(shape: Sequence[int], strides: Sequence[int], target: Sequence[int]) -> Shape | None:
    """The strides that show an array of `shape` as `target` without moving a byte, or None if there are none."""
    if prod(shape) == 0:
        return contiguous(target)
    sizes, (steps,) = collapse(shape, [strides])
    result: list[int] = []
    chunk = len(sizes) - 1
    left = 1
    step = steps[chunk] if sizes else 1
    room = sizes[chunk] if sizes else 1
    for size in reversed(target):
        if left == room and size != 1 and chunk > 0:
            chunk -= 1
            left, room, step = 1, sizes[chunk], steps[chunk]
        result.append(step * left)
        left *= size
        if room % left:
            return None
    return tuple(reversed(result))


def infer(shape: Sequence[int], numel: int, name: str = "view") -> Shape:
    """Fill in the one -1 that `shape` may hold, so that it has `numel` elements."""
    unknown = [index for index, size in enumerate(shape) if size == -1]
    known = prod(size for size in shape if size != -1)
    fits = numel == known if not unknown else len(unknown) == 1 and known and numel % known == 0
    if not fits or any(size < -1 for size in shape):
        raise ShapeError(
            f"shape '{list(shape)}' is invalid for input of size {numel}",
            hint="the sizes must multiply to that number; one of them may be -1, and is then worked out",
            operator=name,
        )
    return tuple(numel // known if size == -1 else size for size in shape)


def as_ints(value: SupportsIndex | Iterable[SupportsIndex]) -> list[int]:
    """One integer, Python's or NumPy's, or several as a list.  Raises TypeError for anything else."""
    return [operator.index(value)] if isinstance(value, SupportsIndex) else [operator.index(each) for each in value]


def wrap_dim(dim: int, ndim: int, name: str) -> int:
    """`dim` counted from the front.  A zero-dimensional array takes 0 and -1."""
    from .errors import IndexRangeError

    room = max(ndim, 1)
    if not -room <= dim < room:
        raise IndexRangeError(
            f"Dimension out of range (expected to be in range of [{-room}, {room - 1}], but got {dim})",
            hint=f"count from the front with 0 to {room - 1}, or from the back with -1 to {-room}",
            operator=name,
        )
    return dim % room
