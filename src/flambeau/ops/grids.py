"""Grids and images: meshgrid, cartesian_prod, combinations, vander, rot90, and the shuffles of channels and pixels."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb, prod
from typing import Any

from .. import callers, dtypes
from .. import strides as st
from ..errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError, ValueRangeError, shown
from .creation import arange
from .join import cat, flip, stack
from .operator import Array, ErrorSample, Operand, Operands, Sample, composite
from .views import expand, permute, reshape, transpose, unsqueeze

# at least so many dimensions


def _each(function: Any, name: str, tensors: tuple[Any, ...]) -> Any:
    """Apply a function to one tensor, to several, or to a sequence of them; several results are a tuple."""
    if len(tensors) == 1 and hasattr(tensors[0], "_layout"):
        return function(tensors[0])
    several = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    check_tensors(name, several)
    return tuple([function(tensor) for tensor in several])


def check_tensors(name: str, tensors: Any) -> None:
    """Raise ArgumentTypeError unless all are tensors."""
    for number, tensor in enumerate(tensors):
        if not hasattr(tensor, "_layout"):
            raise ArgumentTypeError(
                f"tensors[{number}] must be a Tensor, got {shown(tensor)}",
                hint="make one with torch.tensor(...)",
                operator=name,
            )


def _with_one(tensor: Any) -> Any:
    return tensor if tensor.shape else reshape(tensor, (1,))


def _with_two(tensor: Any) -> Any:
    return tensor if len(tensor.shape) >= 2 else unsqueeze(_with_one(tensor), 0)


def _with_three(tensor: Any) -> Any:
    return tensor if len(tensor.shape) >= 3 else unsqueeze(_with_two(tensor), -1)


def atleast_1d(*tensors: Any) -> Any:
    """The tensor, or the tensors as a tuple, with 0-dim ones as vectors.

    Host: returns at once.
    Example:
        >>> torch.atleast_1d(torch.tensor(1))
        tensor([1])
        >>> torch.atleast_1d(torch.tensor(1), torch.tensor([2]))
        (tensor([1]), tensor([2]))
    """
    return _each(_with_one, "atleast_1d", tensors)


def atleast_2d(*tensors: Any) -> Any:
    """The tensor, or the tensors as a tuple, with vectors as matrices of one row.

    Host: returns at once.
    Example:
        >>> torch.atleast_2d(torch.tensor([1, 2]))
        tensor([[1, 2]])
    """
    return _each(_with_two, "atleast_2d", tensors)


def atleast_3d(*tensors: Any) -> Any:
    """The tensor, or the tensors as a tuple, with at least three dimensions: [n] becomes [1, n, 1], [n, m] [n, m, 1].

    Host: returns at once.
    Example:
        >>> torch.atleast_3d(torch.zeros(2, 3)).shape
        torch.Size([2, 3, 1])
    """
    return _each(_with_three, "atleast_3d", tensors)


def _rows() -> Iterator[Sample]:
    yield Sample(([Array((3,)), Array((3,), seed=1)],))
    yield Sample(([Array((2, 3)), Array((2, 3), seed=1)],))
    yield Sample(([Array(()), Array((), seed=1)],))


def _no_rows() -> Iterator[ErrorSample]:
    yield ErrorSample(([],), ArgumentError, "expected a non-empty list of Tensors")


@composite(samples=_rows, errors=_no_rows, dtypes=dtypes.ALL, method=False)
def dstack(tensors: Operands) -> Any:
    """Concatenate along dimension 2; vectors of n are [1, n, 1], matrices [n, m, 1].

    Host: returns at once.
    Example:
        >>> torch.dstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
        tensor([[[1, 3],
                 [2, 4]]])
    """
    return cat([_with_three(tensor) for tensor in tensors], 2)


@composite(samples=_rows, errors=_no_rows, dtypes=dtypes.ALL, method=False)
def column_stack(tensors: Operands) -> Any:
    """Concatenate along dimension 1, with vectors as columns.

    Host: returns at once.
    Example:
        >>> torch.column_stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
        tensor([[1, 3],
                [2, 4]])
    """
    columns = [reshape(tensor, (tensor.numel(), 1)) if len(tensor.shape) < 2 else tensor for tensor in tensors]
    return cat(columns, 1)


@composite(samples=_rows, errors=_no_rows, dtypes=dtypes.ALL, method=False)
def row_stack(tensors: Operands) -> Any:
    """Alias of `vstack`.

    Host: returns at once.
    Example:
        >>> torch.row_stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
        tensor([[1, 2],
                [3, 4]])
    """
    return cat([reshape(tensor, (1, -1)) if len(tensor.shape) < 2 else tensor for tensor in tensors], 0)


# products of vectors


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Any, ...]:
    """Views of vectors, expanded to a grid with one dimension for each.

    indexing: "ij" gives shape [n0, n1, ...]; "xy" exchanges the first two.  None is "ij", with a warning.
    Host:   returns at once.
    Raises: ShapeError for more than one dimension, DtypeError or DeviceMismatchError for mixed tensors.
    Example:
        >>> x, y = torch.meshgrid(torch.tensor([1, 2, 3]), torch.tensor([4, 5]), indexing="ij")
        >>> x
        tensor([[1, 1],
                [2, 2],
                [3, 3]])
        >>> y
        tensor([[4, 5],
                [4, 5],
                [4, 5]])
    """
    several = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    check_tensors("meshgrid", several)
    if not several:
        raise ValueRangeError("expects a non-empty TensorList", hint="pass vectors", operator="meshgrid")
    if indexing is None:
        callers.warn(
            "meshgrid: in an upcoming release, it will be required to pass the indexing argument; pass indexing='ij'"
        )
    elif indexing not in ("ij", "xy"):
        raise ValueRangeError(
            f'indexing must be one of "xy" or "ij", but received: {shown(indexing)}',
            hint='"ij" has one dimension for each vector, in order',
            operator="meshgrid",
        )
    for number, tensor in enumerate(several):
        if len(tensor.shape) > 1:
            raise ShapeError(
                f"Expected 0D or 1D tensor in the tensor list but got tensors[{number}] of shape {list(tensor.shape)}",
                hint="flatten() it",
                operator="meshgrid",
            )
        if tensor.dtype is not several[0].dtype or tensor.device != several[0].device:
            raise DtypeError(
                "expects all tensors to have the same dtype and device, got "
                f"{several[0].describe()} and {tensor.describe()}",
                hint="convert them with .to(...)",
                operator="meshgrid",
            )
    shape = [tensor.numel() for tensor in several]
    swaps = indexing == "xy" and len(several) > 1
    grids = []
    for dim, tensor in enumerate(several):
        grid = expand(reshape(tensor, [-1 if at == dim else 1 for at in range(len(shape))]), tuple(shape))
        grids.append(transpose(grid, 0, 1) if swaps else grid)
    return tuple(grids)


def cartesian_prod(*tensors: Any) -> Any:
    """All tuples with one element of each vector, as rows; the first vector varies slowest.  One vector is returned.

    Host:   returns at once.
    Raises: ShapeError unless all have one dimension.
    Example:
        >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([4, 5]))
        tensor([[1, 4],
                [1, 5],
                [2, 4],
                [2, 5]])
    """
    several = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    check_tensors("cartesian_prod", several)
    for number, tensor in enumerate(several):
        if len(tensor.shape) != 1:
            raise ShapeError(
                f"Expect a 1D vector, but tensors[{number}] has shape {list(tensor.shape)}",
                hint="flatten() it",
                operator="cartesian_prod",
            )
    if len(several) == 1:
        return several[0]
    return stack([reshape(grid, (-1,)) for grid in meshgrid(*several, indexing="ij")], 1)


def _combinations_samples() -> Iterator[Sample]:
    yield Sample((Array((4,)),))
    yield Sample((Array((4,)), 3))
    yield Sample((Array((3,)), 2, True))
    yield Sample((Array((2,)), 3))
    yield Sample((Array((3,)), 0))


def _combinations_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 2)),), ShapeError, r"1D vector, but got shape \[2, 2\]")
    yield ErrorSample((Array((2,)), -1), ValueRangeError, "non-negative number, but got -1")


@composite(samples=_combinations_samples, errors=_combinations_errors, dtypes=dtypes.ALL, takes_out=False, method=False)
def combinations(input: Operand, r: int = 2, with_replacement: bool = False) -> Any:
    """All choices of r elements of a vector, as rows in the order of their positions.

    with_replacement: an element may be chosen several times.
    Host:   returns at once.
    Raises: ShapeError unless the input has one dimension, ValueRangeError for a negative r.
    Example:
        >>> torch.combinations(torch.tensor([1, 2, 3]))
        tensor([[1, 2],
                [1, 3],
                [2, 3]])
    """
    if len(input.shape) != 1:
        raise ShapeError(
            f"Expect a 1D vector, but got shape {list(input.shape)}", hint="flatten() it", operator="combinations"
        )
    if r < 0:
        raise ValueRangeError(
            f"Expect a non-negative number, but got {r}", hint="pass 0 or more", operator="combinations"
        )
    source: Any = input
    if r == 0:
        return source.new_empty((0,))
    size = source.shape[0]
    count = comb(size + r - 1, r) if with_replacement else comb(size, r)
    places = (
        source.new_zeros((0, r), dtype=dtypes.int64) if not count else _chosen(source, size, r, with_replacement, count)
    )
    return reshape(source.index_select(0, reshape(places, (-1,))), (count, r))


def _chosen(source: Any, size: int, r: int, with_replacement: bool, count: int) -> Any:
    """Positions of every choice, [count, r]: those of all tuples whose positions ascend.  Nothing waits for them."""
    places = arange(source.new_empty((size**r,), dtype=dtypes.int64), 0, 1)
    columns = [(places // size ** (r - 1 - column)) % size for column in range(r)]
    ascends = source.new_ones((size**r,), dtype=dtypes.bool_)
    for one, other in zip(columns, columns[1:]):  # noqa: RUF007
        ascends = ascends & (one <= other if with_replacement else one < other)
    kept = ascends.to(dtypes.uint8).argsort(descending=True, stable=True).narrow(0, 0, count)
    return stack(columns, 1).index_select(0, kept)


def _vander_samples() -> Iterator[Sample]:
    yield Sample((Array((3,), 1, 3),))
    yield Sample((Array((3,), 1, 3), 4, True))
    yield Sample((Array((2,), 1, 3), 0))


def _vander_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 2)),), ShapeError, r"one-dimensional tensor, got \[2, 2\]")
    yield ErrorSample((Array((2,)), -1), ValueRangeError, "N must be non-negative, got -1")


@composite(samples=_vander_samples, errors=_vander_errors, dtypes=dtypes.ALL[5:], takes_out=False, method=False,
           other_names={"input": "x"})  # fmt: skip
def vander(x: Operand, N: int | None = None, increasing: bool = False) -> Any:  # noqa: N803  (PyTorch's name)
    """The Vandermonde matrix of a vector: columns of powers from N - 1 down to 0, or up with increasing=True.

    Shapes: [n] gives [n, N]; N is n unless given.
    Host:   returns at once.
    Raises: ShapeError unless there is one dimension, ValueRangeError for a negative N.
    Example:
        >>> torch.vander(torch.tensor([1, 2, 3]))
        tensor([[1, 1, 1],
                [4, 2, 1],
                [9, 3, 1]])
    """
    if len(x.shape) != 1:
        raise ShapeError(
            f"x must be a one-dimensional tensor, got {list(x.shape)}", hint="flatten() it", operator="vander"
        )
    columns = x.shape[0] if N is None else N
    if columns < 0:
        raise ValueRangeError(f"N must be non-negative, got {columns}", hint="leave it out", operator="vander")
    source: Any = unsqueeze(x, 1).to(dtypes.promote(x.dtype, dtypes.int64))
    if not columns:
        return source.new_empty((x.shape[0], 0))
    powers = [source.new_ones((x.shape[0], 1))]
    for _ in range(columns - 1):
        powers.append(powers[-1] * source)
    return cat(powers if increasing else powers[::-1], 1)


# turned


def _fliplr_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)),), ShapeError, "at least 2 dimensions, got 1")


def _images() -> Iterator[Sample]:
    yield Sample((Array((2, 3)),))
    yield Sample((Array((3, 2, 2), layout="transposed"),))


@composite(samples=_images, errors=_fliplr_errors, dtypes=dtypes.ALL, takes_out=False)
def fliplr(input: Operand) -> Any:
    """A copy with the order of dimension 1 reversed.

    Host:   returns at once.
    Raises: ShapeError for fewer than two dimensions.
    Example:
        >>> torch.fliplr(torch.tensor([[1, 2], [3, 4]]))
        tensor([[2, 1],
                [4, 3]])
    """
    if len(input.shape) < 2:
        raise ShapeError(
            f"input must have at least 2 dimensions, got {len(input.shape)}: {list(input.shape)}",
            hint="flip(x, 0) reverses a vector",
            operator="fliplr",
        )
    return flip(input, (1,))


def _flipud_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array(()),), ShapeError, "at least 1 dimension, got 0")


@composite(samples=_images, errors=_flipud_errors, dtypes=dtypes.ALL, takes_out=False)
def flipud(input: Operand) -> Any:
    """A copy with the order of dimension 0 reversed.

    Host:   returns at once.
    Raises: ShapeError without a dimension.
    Example:
        >>> torch.flipud(torch.tensor([[1, 2], [3, 4]]))
        tensor([[3, 4],
                [1, 2]])
    """
    if not input.shape:
        raise ShapeError(
            "input must have at least 1 dimension, got 0: []", hint="reshape it to (1,)", operator="flipud"
        )
    return flip(input, (0,))


def _rot90_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 3)),))
    yield Sample((Array((2, 3, 2)), 2, (0, -1)))
    yield Sample((Array((3, 2), layout="transposed"), -1, (1, 0)))
    yield Sample((Array((2, 2)), 4))


def _rot90_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), 1, (0,)), ShapeError, r"2 dimensions, got \[0\]")
    yield ErrorSample((Array((2, 3)), 1, (0, -2)), ShapeError, r"different dimensions, got \[0, -2\]")
    yield ErrorSample((Array((3,)),), ShapeError, "at least 2 dimensions, got 1")


@composite(samples=_rot90_samples, errors=_rot90_errors, dtypes=dtypes.ALL, takes_out=False)
def rot90(input: Operand, k: int = 1, dims: Any = (0, 1)) -> Any:
    """A copy turned k times by 90 degrees in the plane of two dimensions, from the first towards the second.

    Host:   returns at once.
    Raises: ShapeError unless there are two different dimensions, IndexRangeError if one is out of range.
    Example:
        >>> torch.rot90(torch.tensor([[1, 2], [3, 4]]))
        tensor([[2, 4],
                [1, 3]])
    """
    plane, ndim = st.as_ints(dims), len(input.shape)
    if len(plane) != 2:
        raise ShapeError(f"expected 2 dimensions, got {plane}", hint="as in (0, 1)", operator="rot90")
    if ndim < 2:
        raise ShapeError(
            f"input must have at least 2 dimensions, got {ndim}: {list(input.shape)}",
            hint="flip(x, 0) reverses a vector",
            operator="rot90",
        )
    a, b = [st.wrap_dim(dim, ndim, "rot90") for dim in plane]
    if a == b:
        raise ShapeError(f"expected different dimensions, got {plane}", hint="as in (0, 1)", operator="rot90")
    turns = k % 4
    if turns == 1:
        return transpose(flip(input, (b,)), a, b)
    if turns == 2:
        return flip(input, (a, b))
    if turns == 3:
        return transpose(flip(input, (a,)), a, b)
    source: Any = input
    return source.clone()


# channels and pixels


def _shuffle_samples() -> Iterator[Sample]:
    yield Sample((Array((1, 4, 2)), 2))
    yield Sample((Array((2, 6, 2, 2)), 3))
    yield Sample((Array((0, 4, 2)), 2))


def _shuffle_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((4, 2)), 2), ShapeError, r"more than 2 dimensions, got \[4, 2\]")
    yield ErrorSample((Array((1, 4, 2)), 3), ShapeError, "4 channels are not divisible by 3 groups")
    yield ErrorSample((Array((1, 4, 2)), 0), ValueRangeError, "groups must be positive, got 0")


@composite(samples=_shuffle_samples, errors=_shuffle_errors, dtypes=dtypes.ALL, takes_out=False, method=False)
def channel_shuffle(input: Operand, groups: int) -> Any:
    """A copy whose channels, dimension 1, come from the groups in turn: the first of each, the second of each, ...

    Host:   returns at once.
    Raises: ShapeError for fewer than three dimensions or if `groups` does not divide the channels, ValueRangeError.
    Example:
        >>> torch.channel_shuffle(torch.arange(4).reshape(1, 4, 1), 2).flatten()
        tensor([0, 2, 1, 3])
    """
    shape = tuple(input.shape)
    if len(shape) < 3:
        raise ShapeError(
            f"expects input with more than 2 dimensions, got {list(shape)}",
            hint="dimension 1 has the channels: [n, c, ...]",
            operator="channel_shuffle",
        )
    if groups <= 0:
        raise ValueRangeError(
            f"groups must be positive, got {groups}", hint="1 changes nothing", operator="channel_shuffle"
        )
    if shape[1] % groups:
        raise ShapeError(
            f"{shape[1]} channels are not divisible by {groups} groups",
            hint="pass a divisor of the number of channels",
            operator="channel_shuffle",
        )
    if 0 in shape:
        source: Any = input
        return source.clone()
    inner = prod(shape[2:])
    apart = reshape(input, (shape[0], groups, shape[1] // groups, inner))
    return reshape(permute(apart, (0, 2, 1, 3)).contiguous(), shape)


def _pixel_samples() -> Iterator[Sample]:
    yield Sample((Array((4, 2, 3)), 2))
    yield Sample((Array((2, 9, 1, 2)), 3))
    yield Sample((Array((0, 4, 1, 1)), 2))


def _pixel_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((4, 2)), 2), ShapeError, r"at least 3 dimensions, got \[4, 2\]")
    yield ErrorSample((Array((3, 2, 2)), 2), ShapeError, "3 channels are not divisible by 4, the square of 2")
    yield ErrorSample((Array((4, 2, 2)), 0), ValueRangeError, "upscale_factor must be positive, got 0")


def _check_pixels(name: str, what: str, input: Operand, factor: int) -> None:
    if len(input.shape) < 3:
        raise ShapeError(
            f"expects input to have at least 3 dimensions, got {list(input.shape)}",
            hint="the last three are channels, height and width",
            operator=name,
        )
    if factor <= 0:
        raise ValueRangeError(f"{what} must be positive, got {factor}", hint="1 changes nothing", operator=name)


@composite(samples=_pixel_samples, errors=_pixel_errors, dtypes=dtypes.ALL, takes_out=False, method=False)
def pixel_shuffle(input: Operand, upscale_factor: int) -> Any:
    """Images whose r * r channels become squares of r by r pixels, for an upscale factor r.

    Shapes: [..., c * r * r, h, w] gives [..., c, h * r, w * r].
    Host:   returns at once.
    Raises: ShapeError if the channels do not divide evenly, ValueRangeError for a factor below 1.
    Example:
        >>> torch.pixel_shuffle(torch.arange(4).reshape(4, 1, 1), 2)
        tensor([[[0, 1],
                 [2, 3]]])
    """
    _check_pixels("pixel_shuffle", "upscale_factor", input, upscale_factor)
    r = upscale_factor
    *batch, channels, height, width = input.shape
    if channels % (r * r):
        raise ShapeError(
            f"{channels} channels are not divisible by {r * r}, the square of {r}",
            hint="dimension -3 has the channels",
            operator="pixel_shuffle",
        )
    kept, at = channels // (r * r), len(batch)
    apart = reshape(input, (*batch, kept, r, r, height, width))
    order = (*range(at), at, at + 3, at + 1, at + 4, at + 2)
    return reshape(permute(apart, order).contiguous(), (*batch, kept, height * r, width * r))


def _unpixel_samples() -> Iterator[Sample]:
    yield Sample((Array((1, 2, 4)), 2))
    yield Sample((Array((2, 1, 3, 6)), 3))
    yield Sample((Array((0, 1, 2, 2)), 2))


def _unpixel_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((4, 2)), 2), ShapeError, r"at least 3 dimensions, got \[4, 2\]")
    yield ErrorSample((Array((1, 3, 2)), 2), ShapeError, "3 by 2 is not divisible by 2")
    yield ErrorSample((Array((4, 2, 2)), 0), ValueRangeError, "downscale_factor must be positive, got 0")


@composite(samples=_unpixel_samples, errors=_unpixel_errors, dtypes=dtypes.ALL, takes_out=False, method=False)
def pixel_unshuffle(input: Operand, downscale_factor: int) -> Any:
    """The reverse of `pixel_shuffle`: squares of r by r pixels become r * r channels, for a downscale factor r.

    Shapes: [..., c, h * r, w * r] gives [..., c * r * r, h, w].
    Host:   returns at once.
    Raises: ShapeError if height and width do not divide evenly, ValueRangeError for a factor below 1.
    Example:
        >>> torch.pixel_unshuffle(torch.arange(4).reshape(1, 2, 2), 2).flatten()
        tensor([0, 1, 2, 3])
    """
    _check_pixels("pixel_unshuffle", "downscale_factor", input, downscale_factor)
    r = downscale_factor
    *batch, channels, height, width = input.shape
    if height % r or width % r:
        raise ShapeError(
            f"an image of {height} by {width} is not divisible by {r}",
            hint="cut or pad the last two dimensions",
            operator="pixel_unshuffle",
        )
    at = len(batch)
    apart = reshape(input, (*batch, channels, height // r, r, width // r, r))
    order = (*range(at), at, at + 2, at + 4, at + 1, at + 3)
    return reshape(permute(apart, order).contiguous(), (*batch, channels * r * r, height // r, width // r))


# places


def broadcast_shapes(*shapes: Any) -> st.Size:
    """The shape to which tensors of these shapes, tuples of ints or single ints, broadcast.

    Host:   returns at once.
    Raises: ShapeError if they do not broadcast, ValueRangeError for a negative size.
    Example:
        >>> torch.broadcast_shapes((2, 1), (3,), 1)
        torch.Size([2, 3])
    """
    listed = [st.as_ints(shape) for shape in shapes]
    for sizes in listed:
        if any(size < 0 for size in sizes):
            raise ValueRangeError(
                f"sizes must not be negative: {tuple(sizes)}", hint="0 or more", operator="broadcast_shapes"
            )
    return st.Size(st.broadcast(listed, "broadcast_shapes"))
