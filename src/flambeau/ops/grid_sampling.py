"""Sampling of images at points: grid_sample and affine_grid, composites of gathers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

from ..dtypes import FLOATING_TYPES, int64
from ..errors import ArgumentError, NotSupportedError, ShapeError
from .operator import REGISTRY, Array, ErrorSample, Operand, Sample, composite

MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")
SHARPNESS = -0.75  # of the cubic


def _reflected(at: Any, size: int, align: bool) -> Any:
    """Coordinates mirrored at the borders of the image, at the centers of its outer pixels if align."""
    low, span = (0.0, float(size - 1)) if align else (-0.5, float(size))
    if span == 0:
        return at * 0
    apart = (at - low).abs()
    flips = (apart / span).floor()
    rest = apart - flips * span
    is_even = flips - (flips / 2).floor() * 2 == 0
    return REGISTRY["where"](is_even, rest, span - rest) + low


def _padded(at: Any, size: int, padding: str, align: bool) -> Any:
    """Coordinates inside the image, unless missing pixels are zeros."""
    if padding == "zeros":
        return at
    at = _reflected(at, size, align) if padding == "reflection" else at
    return at.clamp(0, size - 1)


def _read(input: Any, places: Sequence[Any], sizes: Sequence[int]) -> Any:
    """The pixels [n, c, points] at whole coordinates, one [n, points] for each dimension; 0 outside the image."""
    n, c = input.shape[:2]
    index: Any = None
    is_inside: Any = None
    for place, size in zip(places, sizes):
        fits = (place >= 0) & (place <= size - 1)
        is_inside = fits if is_inside is None else is_inside & fits
        whole = place.clamp(0, size - 1).masked_fill(place != place, 0).to(int64)
        index = whole if index is None else index * size + whole
    wide = index.unsqueeze(1).expand((n, c, index.shape[1]))
    return input.reshape((n, c, prod(sizes))).gather(2, wide).masked_fill(~is_inside.unsqueeze(1), 0)


def _cubic_weights(rest: Any) -> list[Any]:
    a = SHARPNESS
    near = [rest, 1 - rest]
    far = [rest + 1, 2 - rest]
    inner = [((a + 2) * x - (a + 3)) * x * x + 1 for x in near]
    outer = [((a * x - 5 * a) * x + 8 * a) * x - 4 * a for x in far]
    return [outer[0], inner[0], inner[1], outer[1]]


def _samples() -> Iterator[Sample]:
    image = Array((2, 2, 3, 4))
    for number, (mode, padding) in enumerate(product(MODES, PADDINGS)):
        grid = Array((2, 2, 3, 2), low=-1.4, high=1.4, seed=number + 1, grad=mode != "nearest")
        yield Sample((image, grid, mode, padding, bool(number % 2)))
    points = Array((1, 2, 1, 2, 3), low=-1.2, high=1.2, seed=2)
    yield Sample((Array((1, 2, 2, 3, 2)), points, "bilinear", "border", False))


def _errors() -> Iterator[ErrorSample]:
    image, grid = Array((1, 2, 3, 4)), Array((1, 2, 2, 2))
    yield ErrorSample((image, grid, "linear"), ArgumentError, "'linear'")
    yield ErrorSample((image, grid, "nearest", "wrap"), ArgumentError, "'wrap'")
    yield ErrorSample((image, Array((2, 2, 2, 2)), "nearest", "zeros", False), ShapeError, r"\[2, 2, 2, 2\]")
    yield ErrorSample((image, Array((1, 2, 2, 3)), "nearest", "zeros", False), ShapeError, r"\[1, 2, 2, 3\]")
    volume = Array((1, 1, 2, 2, 2)), Array((1, 1, 1, 1, 3))
    yield ErrorSample((*volume, "bicubic", "zeros", False), NotSupportedError, r"\[1, 1, 2, 2, 2\]")


@composite(samples=_samples, errors=_errors, dtypes=FLOATING_TYPES[2:], method=False, function=False)
def grid_sample(
    input: Operand, grid: Operand, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool = False
) -> Any:
    """Values of images at the points of a grid.

    grid: points (x, y), or (x, y, z), from -1, the left or upper border, to 1, the right or lower one.
    mode: "bilinear" (also of volumes), "nearest" or "bicubic".  padding_mode: what is outside an image: "zeros", its
    "border" or its "reflection".  align_corners: -1 and 1 are the centers of the outer pixels, not the image's borders.
    Shapes: [n, c, h, w] and [n, *, *, 2] give [n, c, *, *]; [n, c, d, h, w] and [n, *, *, *, 3] give [n, c, *, *, *].
    Host:   returns at once.
    Raises: ArgumentError for a bad mode, ShapeError, NotSupportedError for "bicubic" of volumes.
    Example:
        >>> image = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
        >>> points = torch.tensor([[[[0.0, 0.0], [1.0, -1.0]]]])
        >>> torch.nn.functional.grid_sample(image, points, align_corners=True)
        tensor([[[[2.5000, 2.0000]]]])
    """
    for what, value, known in (("mode", mode, MODES), ("padding_mode", padding_mode, PADDINGS)):
        if value not in known:
            raise ArgumentError(
                f"{what} should be one of {known}, got {value!r}", hint=f"use {known[0]!r}", operator="grid_sample"
            )
    ndim = len(input.shape)
    n, c, *sizes = input.shape
    wanted = len(grid.shape) == ndim and grid.shape[0] == n and grid.shape[-1] == ndim - 2
    if ndim not in (4, 5) or not wanted or not all(sizes):
        raise ShapeError(
            f"input {list(input.shape)} and grid {list(grid.shape)} do not fit",
            hint="[n, c, h, w] and [n, *, *, 2], or [n, c, d, h, w] and [n, *, *, *, 3]; no image may be empty",
            operator="grid_sample",
        )
    if mode == "bicubic" and ndim != 4:
        raise NotSupportedError(
            f"bicubic sampling takes 4 dimensions, got shape {list(input.shape)}",
            hint="use 'bilinear'",
            operator="grid_sample",
        )
    points: Any = grid
    points = points.reshape((n, prod(grid.shape[1:-1]), ndim - 2))
    places = []
    for dim, size in enumerate(sizes):  # the last coordinate belongs to the first spatial dimension
        at = points.select(2, ndim - 3 - dim)
        at = (at + 1) * ((size - 1) / 2) if align_corners else ((at + 1) * size - 1) / 2
        places.append(at if mode == "bicubic" else _padded(at, size, padding_mode, align_corners))
    if mode == "nearest":
        found = _read(input, [at.round() for at in places], sizes)
    else:
        found = _blended(input, places, sizes, mode, padding_mode, align_corners)
    return found.reshape((n, c, *grid.shape[1:-1]))


def _blended(input: Any, places: Any, sizes: Any, mode: str, padding: str, align: bool) -> Any:
    """The weighted sum of the pixels around each point."""
    below = [at.floor() for at in places]
    rests = [at - floor for at, floor in zip(places, below)]
    if mode == "bicubic":
        weights, first = [_cubic_weights(rest) for rest in rests], -1
    else:
        weights, first = [[1 - rest, rest] for rest in rests], 0
    total: Any = None
    for corner in product(range(len(weights[0])), repeat=len(places)):
        taps = [floor + (first + step) for floor, step in zip(below, corner)]
        if mode == "bicubic":
            taps = [_padded(tap, size, padding, align) for tap, size in zip(taps, sizes)]
        weight: Any = None
        for own, step in zip(weights, corner):
            weight = own[step] if weight is None else weight * own[step]
        term = _read(input, taps, sizes) * weight.unsqueeze(1)
        total = term if total is None else total + term
    return total


def _affine_samples() -> Iterator[Sample]:
    for align in (False, True):
        yield Sample((Array((2, 2, 3)), (2, 1, 3, 4), align))
    yield Sample((Array((1, 3, 4)), (1, 1, 2, 1, 3), False))


def _affine_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((1, 2, 3)), (1, 1, 2), False), NotSupportedError, r"\[1, 1, 2\]")
    yield ErrorSample((Array((1, 3, 3)), (1, 1, 2, 2), False), ArgumentError, r"\[1, 3, 3\]")
    yield ErrorSample((Array((1, 2, 3)), (1, 1, 0, 2), False), ArgumentError, r"\[1, 1, 0, 2\]")
    yield ErrorSample((Array((1, 2, 3), dtype="int64"), (1, 1, 2, 2), False), ArgumentError, "int64")


@composite(samples=_affine_samples, errors=_affine_errors, dtypes=FLOATING_TYPES[2:], method=False, function=False)
def affine_grid(theta: Operand, size: Any, align_corners: bool = False) -> Any:
    """The points of an image under affine maps: a grid for `grid_sample`.

    size: of the image, (n, c, h, w) or (n, c, d, h, w).  align_corners: as in `grid_sample`.
    Shapes: theta [n, 2, 3] gives [n, h, w, 2], and [n, 3, 4] gives [n, d, h, w, 3].
    Host:   returns at once.
    Raises: ArgumentError for a theta or size that do not fit, NotSupportedError for other numbers of dimensions.
    Example:
        >>> identity = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> torch.nn.functional.affine_grid(identity, (1, 1, 1, 3), align_corners=False)[0, 0]
        tensor([[-0.6667,  0.0000],
                [ 0.0000,  0.0000],
                [ 0.6667,  0.0000]])
    """
    sizes = [int(each) for each in size]
    if len(sizes) not in (4, 5):
        raise NotSupportedError(
            f"size needs 4 or 5 numbers, got {sizes}", hint="(n, c, h, w) or (n, c, d, h, w)", operator="affine_grid"
        )
    dims = len(sizes) - 2
    if not theta.dtype.is_floating_point:
        raise ArgumentError(
            f"theta must be floating point, got {theta.dtype.name}",
            hint="convert with .float()",
            operator="affine_grid",
        )
    if tuple(theta.shape) != (sizes[0], dims, dims + 1) or min(sizes) <= 0:
        raise ArgumentError(
            f"theta {list(theta.shape)} and size {sizes} do not fit; sizes must be positive",
            hint="[n, 2, 3] with (n, c, h, w), or [n, 3, 4] with (n, c, d, h, w)",
            operator="affine_grid",
        )
    maps: Any = theta
    column = (sizes[0], *[1] * dims, dims)
    result = maps.select(2, dims).reshape(column)
    for axis, count in enumerate(sizes[2:]):
        at = maps.new_ones((count,)).cumsum(0) * 2 - (count + 1)
        at = at / (max(count - 1, 1) if align_corners else count)
        line = at.reshape((1, *[-1 if each == axis else 1 for each in range(dims)], 1))
        result = result + line * maps.select(2, dims - 1 - axis).reshape(column)
    return result
