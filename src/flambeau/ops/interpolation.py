"""Resampling of images: interpolate (kernels/interpolation.cu), and at points: grid_sample and affine_grid.

All modes of interpolate are separable: one dimension after another is resampled, as weighted sums of neighbours.
Between two dimensions values are kept in the wide type.  Gradients are gathered in a fixed order, so they repeat.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from math import floor, isfinite, prod
from typing import Any

from .. import strides as st
from ..core import record
from ..core.engine import GraphTask
from ..dtypes import FLOATING_TYPES, dtype, float32, float64, int64, uint8
from ..errors import ArgumentError, DtypeError, NotSupportedError, ShapeError, ValueRangeError
from ..host import np
from ..kernel import Kernel, Pointer, Scalar
from ..memory_formats import channels_to_end
from .creation import steps_from
from .indexing_kernels import zeros
from .operator import REGISTRY, Array, Call, ErrorSample, Operand, Sample, composite, operator
from .pointwise import PRELUDE, THREADS, grid_over, source_text
from .sorting import sort_rows_of

KINDS = ("nearest", "nearest-exact", "linear", "cubic", "area", "linear-antialias", "cubic-antialias")
KIND_OF = {"bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}
RANKS = {"linear": (1,), "bilinear": (2,), "bicubic": (2,), "trilinear": (3,)}  # spatial dimensions; others: 1 to 3
OPTIONAL = ("linear", "bilinear", "bicubic", "trilinear")  # modes that take align_corners
MODES = ("nearest", "nearest-exact", "area", *OPTIONAL)


def _cubic_near(x: Any, a: float) -> Any:
    return ((a + 2) * x - (a + 3)) * x * x + 1


def _cubic_far(x: Any, a: float) -> Any:
    return (((x - 5) * x + 8) * x - 4) * a


def _cubic(x: Any, a: float) -> Any:
    x = np.abs(x)
    return np.where(x < 1, _cubic_near(x, a), np.where(x < 2, _cubic_far(x, a), 0))


def taps_of(kind: str, size: int, results: int, scale: float, align: bool, real: Any) -> tuple[Any, Any]:
    """Return (indexes, weights), both [results, taps], of the neighbours of each result; unused taps have weight 0.

    real: the NumPy type of positions.
    """
    at = np.arange(results)
    if kind.startswith("nearest"):
        shift = np.float32(0.5 if kind == "nearest-exact" else 0)
        position = np.floor((at.astype(np.float32) + shift) * np.float32(scale)).astype(np.int64)
        return np.minimum(position, size - 1)[:, None], np.ones((results, 1), real)
    at, scale = at.astype(real), real(scale)
    if kind in ("linear", "cubic"):
        position = scale * at if align else scale * (at + real(0.5)) - real(0.5)
        position = np.maximum(position, 0) if kind == "linear" else position
        below = np.floor(position)
        if kind == "linear":
            below = np.minimum(below, size - 1)
            rest = np.minimum(position - below, 1)
            first, weights = below.astype(np.int64), np.stack([1 - rest, rest], 1)
        else:
            rest, first = position - below, below.astype(np.int64) - 1
            weights = _cubic(np.stack([rest + 1, rest, 1 - rest, 2 - rest], 1), -0.75)
        count = weights.shape[1]
        return np.clip(first[:, None] + np.arange(count), 0, size - 1), weights.astype(real)
    if kind == "area":
        whole = np.arange(results)
        first = whole * size // results
        counts = -(-(whole + 1) * size // results) - first
        step = np.arange(counts.max())
        weights = (step < counts[:, None]) / counts[:, None]
        return np.minimum(first[:, None] + step, size - 1), weights.astype(real)
    delta, half = real(0.5), 1 if kind.startswith("linear") else 2
    support = half * scale if scale >= 1 else real(half)
    center, inverse = scale * (at + delta), 1 / scale if scale >= 1 else real(1)
    first = np.maximum((center - support + delta).astype(np.int64), 0)
    counts = np.minimum((center + support + delta).astype(np.int64), size) - first
    step = np.arange(max(int(counts.max()), 1))
    x = (first[:, None] + step - (center - delta)[:, None]) * inverse
    weights = np.maximum(1 - np.abs(x), 0) if half == 1 else _cubic(x, -0.5)
    weights = np.where(step < counts[:, None], weights, 0)
    total = weights.sum(1, keepdims=True)
    weights = weights / np.where(total == 0, 1, total)
    return np.minimum(first[:, None] + step, size - 1), weights.astype(real)


@cache
def _resample_kernel(source: dtype, out: dtype, kind: str, is_back: bool) -> Kernel:
    real = np.float64 if source.wide.itemsize == 8 and source.is_floating_point else np.float32
    wide = source.wide if source.is_floating_point else float32
    name = "resample_back" if is_back else "resample"
    entry = f"{name}_{kind.replace('-', '_')}_{source.name}_{out.name}"
    c = "double" if real is np.float64 else "float"
    code = f"""{PRELUDE}{source_text("interpolation.cu")}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({out.cuda}* out, const {source.cuda}* input,
    long long outer, long long size, long long results, long long inner, double scale, long long align) {{
  {name}<{KINDS.index(kind)}, {c}, {wide.cuda}>(out, input, outer, size, results, inner, ({c})scale, align != 0);
}}
"""

    def forward(
        out: Any, input: Any, outer: int, size: int, results: int, inner: int, scale: float, align: int
    ) -> None:
        indexes, weights = taps_of(kind, size, results, scale, bool(align), real)
        if kind.startswith("nearest"):
            out[...] = input[:, indexes[:, 0]]
            return
        values, total = input.astype(wide.numpy, copy=False), 0
        for index, weight in zip(indexes.T, weights.T):
            total = total + values[:, index] * weight.astype(wide.numpy)[:, None]
        out[...] = total

    def backward(
        out: Any, grad: Any, outer: int, size: int, results: int, inner: int, scale: float, align: int
    ) -> None:
        indexes, weights = taps_of(kind, size, results, scale, bool(align), real)
        matrix = np.zeros((size, results), wide.numpy)
        np.add.at(matrix, (indexes, np.arange(results)[:, None]), weights.astype(wide.numpy))
        out[...] = matrix @ grad.astype(wide.numpy, copy=False)

    whole, given = (("outer", name, "inner") for name in (("size", "results") if is_back else ("results", "size")))
    params = [
        Pointer("out", out, "w", whole),
        Pointer("input", source, "r", given),
        *[Scalar(parameter, "int64") for parameter in ("outer", "size", "results", "inner")],
        Scalar("scale", "float64"),
        Scalar("align", "int64"),
    ]
    return Kernel(entry, code, params, backward if is_back else forward, 8.0)


def _run(
    call: Call, input: Any, dim: int, have: int, wanted: int, scale: float, kind: str, align: bool, dtype: dtype,
    is_back: bool,
) -> Any:  # fmt: skip
    """Queue a kernel along `dim`.  have, wanted: the sizes of the image and of its resampled form."""
    shape = list(input.shape)
    outer, inner = prod(shape[:dim]), prod(shape[dim + 1 :])
    shape[dim] = have if is_back else wanted
    out = call.output(shape, dtype)
    if out.numel():
        kernel = _resample_kernel(input.dtype, dtype, kind, is_back)
        numbers = outer, have, wanted, inner, float(scale), int(align)
        call.launch(kernel, grid_over(out.numel(), 1), out, call.contiguous(input), *numbers)
    return out


def _line_samples() -> Iterator[Sample]:
    for number, kind in enumerate(KINDS):
        wanted = (3, 7, 5)[number % 3]
        yield Sample((Array((2, 5, 2)), 1, wanted, 5 / wanted, kind, False))
        yield Sample((Array((2, 8), layout="transposed"), 1, 3, 8 / 3, kind, False))
    for kind in ("linear", "cubic"):
        yield Sample((Array((5, 3)), 0, 9, 0.5, kind, True))
        yield Sample((Array((5, 3)), 0, 1, 0.0, kind, True))
    yield Sample((Array((0, 3)), 1, 6, 0.5, "linear", False))


@operator(samples=_line_samples, dtypes=FLOATING_TYPES, method=False, function=False)
def resample(
    call: Call, input: Operand, dim: int, size: int, scale: float, kind: str, align: bool, dtype: Any = None
) -> Any:
    """Resample the input to `size` elements along `dim`.

    scale: the distance of neighbouring results, in elements of the input.
    """
    own = input.dtype if dtype is None else dtype
    return _run(call, input, dim, input.shape[dim], size, scale, kind, align, own, False)


@resample.derivative
def _(grad: Any, input_shape: Any, dim: int, scale: float, kind: str, align: bool) -> Any:
    return resample_back(grad, dim, input_shape[dim], scale, kind, align)


def _back_samples() -> Iterator[Sample]:
    for sample in _line_samples():
        array, dim, size, *rest = sample.args
        shape = tuple(size if axis == dim else length for axis, length in enumerate(array.shape))
        yield Sample((array._replace(shape=shape), dim, array.shape[dim], *rest))


@operator(samples=_back_samples, dtypes=FLOATING_TYPES, method=False, function=False)
def resample_back(call: Call, grad_output: Operand, dim: int, size: int, scale: float, kind: str, align: bool) -> Any:
    """Return the gradient of the input of `resample`, which has `size` elements along `dim`."""
    wanted = grad_output.shape[dim]
    return _run(call, grad_output, dim, size, wanted, scale, kind, align, grad_output.dtype, True)


@resample_back.derivative
def _(grad: Any, grad_output_shape: Any, dim: int, scale: float, kind: str, align: bool) -> Any:
    return resample(grad, dim, grad_output_shape[dim], scale, kind, align)


# the public name


def _images() -> Iterator[Sample]:
    yield Sample((Array((1, 2, 3)),), {"scale_factor": 2})
    yield Sample((Array((1, 2, 3, 4)), (5, 3)), {"mode": "bilinear"})
    yield Sample((Array((1, 2, 3, 4)), 6), {"mode": "bicubic", "align_corners": True})
    yield Sample((Array((1, 2, 4, 5), layout="transposed"), (2, 2)), {"mode": "bilinear", "antialias": True})
    yield Sample((Array((1, 1, 2, 3, 2)),), {"scale_factor": (2.0, 1.0, 1.5), "mode": "trilinear"})
    yield Sample((Array((1, 2, 5)),), {"scale_factor": 0.5, "mode": "area"})
    yield Sample((Array((0, 2, 3)), 4))


def _bad_images() -> Iterator[ErrorSample]:
    image = Array((1, 2, 3, 4))
    yield ErrorSample((image,), ArgumentError, "either size or scale_factor should be defined")
    yield ErrorSample((image, 2, 2.0), ArgumentError, "only one of size or scale_factor")
    yield ErrorSample((image, (2, 2, 2)), ArgumentError, r"3 numbers for 2 spatial dimensions of \[1, 2, 3, 4\]")
    yield ErrorSample((image, 2), NotSupportedError, r"'linear' .* \[1, 2, 3, 4\]", {"mode": "linear"})
    yield ErrorSample((image, 2), ArgumentError, "align_corners .* 'nearest'", {"align_corners": True})
    yield ErrorSample((image, 2), ArgumentError, "antialias .* 'area'", {"mode": "area", "antialias": True})
    yield ErrorSample((image, 0), ValueRangeError, r"greater than 0, got \[3, 4\] and \[0, 0\]")
    yield ErrorSample((image, None, float("inf")), ValueRangeError, r"must be finite, got \[inf, inf\]")
    yield ErrorSample((image, 2, None), NotSupportedError, "'lanczos'", {"mode": "lanczos"})
    yield ErrorSample((Array((2, 3)), 2), NotSupportedError, r"got shape \[2, 3\]")


def _listed(name: str, shape: Sequence[int], given: Any) -> list[Any]:
    """Return one number for each spatial dimension."""
    rank = len(shape) - 2
    values = list(given) if isinstance(given, (tuple, list)) else [given] * rank
    if len(values) != rank:
        raise ArgumentError(
            f"{name} has {len(values)} numbers for {rank} spatial dimensions of {list(shape)}",
            hint="pass one number for each spatial dimension, or one for all",
            operator="interpolate",
        )
    return values


def _sizes(input: Any, size: Any, scale_factor: Any, recompute: Any, mode: str) -> tuple[list[int], list[Any]]:
    """Return (sizes, factors) of each spatial dimension; a factor of None follows from the sizes."""
    if size is not None and scale_factor is not None:
        raise ArgumentError(
            "only one of size or scale_factor should be defined", hint="leave one out", operator="interpolate"
        )
    if size is None and scale_factor is None:
        raise ArgumentError(
            "either size or scale_factor should be defined", hint="as in scale_factor=2", operator="interpolate"
        )
    if recompute and size is not None:
        raise ArgumentError(
            "recompute_scale_factor is not meaningful with an explicit size",
            hint="leave it out",
            operator="interpolate",
        )
    shape = input.shape
    if size is not None:
        return st.as_ints(_listed("size", shape, size)), [None] * (len(shape) - 2)
    factors = [float(factor) for factor in _listed("scale_factor", shape, scale_factor)]
    if not all(map(isfinite, factors)):
        raise ValueRangeError(f"scale_factor must be finite, got {factors}", hint="as in 2.0", operator="interpolate")
    sizes = [floor(float(have) * factor) for have, factor in zip(shape[2:], factors)]
    return sizes, [None] * len(sizes) if recompute or mode == "area" else factors


def _check_mode(input: Any, mode: str, align_corners: Any, antialias: bool) -> None:
    rank = len(input.shape) - 2
    if mode not in MODES or rank not in RANKS.get(mode, (1, 2, 3)):
        raise NotSupportedError(
            f"mode {mode!r} does not support an input of {rank + 2} dimensions: got shape {list(input.shape)}",
            hint="use linear for 3 dimensions, bilinear or bicubic for 4, trilinear for 5, nearest or area for all",
            operator="interpolate",
        )
    if align_corners is not None and mode not in OPTIONAL:
        raise ArgumentError(
            f"align_corners cannot be set with mode {mode!r}",
            hint=f"leave align_corners out: only {', '.join(OPTIONAL)} accept it",
            operator="interpolate",
        )
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ArgumentError(
            f"antialias is not supported for mode {mode!r}",
            hint="leave antialias out: only bilinear and bicubic accept it",
            operator="interpolate",
        )
    if not (input.dtype.is_floating_point or input.dtype is uint8):
        raise DtypeError(
            f"input must be floating point or uint8, got {input.dtype.name}",
            hint="convert with .float()",
            operator="interpolate",
        )


def _distance(have: int, wanted: int, factor: Any, align: bool, real: Any) -> float:
    """Return the distance of neighbouring results, in elements of the input, rounded as the kernel's type."""
    if align:
        return float(real(have - 1) / real(wanted - 1)) if wanted > 1 else 0.0
    return float(real(1.0 / factor)) if factor else float(real(have) / real(wanted))


@composite(samples=_images, errors=_bad_images, dtypes=FLOATING_TYPES, method=False, function=False)
def interpolate(
    input: Operand, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None,
    recompute_scale_factor: Any = None, antialias: bool = False,
) -> Any:  # fmt: skip
    """Resize images, or other inputs with spatial dimensions, by interpolation.

    size: the new sizes, one number or one for each spatial dimension.  scale_factor, instead of size: the ratios of the
    new to the old sizes.
    mode: "nearest", "nearest-exact", "linear" (3 dimensions), "bilinear" or "bicubic" (4), "trilinear" (5) or "area".
    align_corners: align the centers of the corner pixels of both images, not the corners of these pixels.
    recompute_scale_factor: compute positions by the ratio of the rounded sizes instead of scale_factor.
    antialias: average over all pixels that shrinking merges ("bilinear" and "bicubic").
    Shapes: [n, c, *] gives [n, c, *sizes].
    Host:   returns at once.
    Raises: ArgumentError for options that do not fit, NotSupportedError for a mode that does not take this number of
            dimensions, ValueRangeError for empty images, DtypeError for integers other than uint8.
    Example:
        >>> x = torch.tensor([[[1.0, 3.0]]])
        >>> torch.nn.functional.interpolate(x, scale_factor=2, mode="linear")
        tensor([[[1.0000, 1.5000, 2.5000, 3.0000]]])
    """
    for name, given in (("size", size), ("scale_factor", scale_factor)):
        if len(input.shape) > 2 and given is not None:
            _listed(name, input.shape, given)
    _check_mode(input, mode, align_corners, antialias)
    sizes, factors = _sizes(input, size, scale_factor, recompute_scale_factor, mode)
    images = list(input.shape[2:])
    if mode == "area" and min(sizes) == 0 and min(images) > 0:  # as PyTorch, which pools: no elements
        return REGISTRY[f"adaptive_avg_pool{len(sizes)}d"].called_as("interpolate")(input, sizes)
    if min(sizes) <= 0 or min(input.shape[1:]) <= 0:
        raise ValueRangeError(
            f"sizes of input and output should be greater than 0, got {images} and {sizes}",
            hint="make the output larger",
            operator="interpolate",
        )
    own, align = input.dtype, bool(align_corners)
    kind = KIND_OF.get(mode, mode) + ("-antialias" if antialias else "")
    if antialias or kind == "linear":  # dimensions that keep their size are copied, whatever the factor
        factors = [None if have == wanted else factor for have, wanted, factor in zip(images, sizes, factors)]
    moves = None if mode == "area" and len(sizes) == 3 else channels_to_end(input.shape, input.strides)
    values: Any = input
    if moves is not None:
        values = values.permute(*moves[0])
    first = 2 if moves is None else 1
    is_exact = kind.startswith("nearest")
    wide = own if is_exact else own.wide if own.is_floating_point else float32
    if not is_exact and not own.is_floating_point:
        values = values.to(wide)
    real = np.float32 if is_exact else wide.numpy.type
    changed = [
        (dim, have, wanted, factor)
        for dim, (have, wanted, factor) in enumerate(zip(images, sizes, factors), first)
        if have != wanted or factor not in (None, 1.0)
    ]
    changed.sort(key=lambda change: change[2] / change[1])  # the dimensions that shrink most are first
    for number, (dim, have, wanted, factor) in enumerate(changed, 1):
        distance = _distance(have, wanted, factor, align, real)
        result = own if number == len(changed) and own.is_floating_point else wide
        values = resample(values, dim, wanted, distance, kind, align, result)
    if not changed:
        values = values.clone()
    if not is_exact and not own.is_floating_point:
        values = values.round().clamp(0, 255).to(own)
    return values if moves is None else values.permute(*moves[1])


GRID_MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")
SHARPNESS = -0.75  # the parameter of cubic interpolation
TAPS = {"bilinear": 2, "nearest": 1, "bicubic": 4}  # pixels that a point reads along each dimension


def _reflected(at: Any, size: int, align: bool) -> Any:
    """Return the coordinates mirrored at the borders of the image, at the centers of its outer pixels if align."""
    low, span = (0.0, float(size - 1)) if align else (-0.5, float(size))
    if span == 0:
        return at * 0
    apart = (at - low).abs()
    flips = (apart / span).floor()
    rest = apart - flips * span
    is_even = flips - (flips / 2).floor() * 2 == 0
    return REGISTRY["where"](is_even, rest, span - rest) + low


def _padded(at: Any, size: int, padding: str, align: bool) -> Any:
    """Return the coordinates inside the image, unless missing pixels are zeros."""
    if padding == "zeros":
        return at
    at = _reflected(at, size, align) if padding == "reflection" else at
    is_inside = (at > 0) & (at < size - 1)  # at the border itself the gradient is 0
    return REGISTRY["where"](is_inside, at, at.detach().clamp(0, size - 1).masked_fill(at != at, 0))


def _read(input: Any, places: Sequence[Any], sizes: Sequence[int]) -> Any:
    """Return the pixels [n, c, points] at integer coordinates, one [n, points] per dimension; 0 outside the image."""
    n, c = input.shape[:2]
    index: Any = None
    is_inside: Any = None
    for coordinate, size in zip(places, sizes):
        fits = (coordinate >= 0) & (coordinate <= size - 1)
        is_inside = fits if is_inside is None else is_inside & fits
        whole = coordinate.clamp(0, size - 1).masked_fill(coordinate != coordinate, 0).to(int64)
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
    for number, (mode, padding) in enumerate(product(GRID_MODES, PADDINGS)):
        grid = Array((2, 2, 3, 2), low=-1.4, high=1.4, seed=number + 1, grad=mode != "nearest")
        yield Sample((image, grid, mode, padding, bool(number % 2)))
    points = Array((1, 2, 1, 2, 3), low=-1.2, high=1.2, seed=2)
    yield Sample((Array((1, 2, 2, 3, 2)), points, "bilinear", "border", False))
    fixed = Array((1, 2, 1, 2, 3), low=-1.2, high=1.2, seed=2, grad=False)
    yield Sample((Array((1, 2, 2, 3, 2)), fixed, "nearest", "zeros", False))


def _errors() -> Iterator[ErrorSample]:
    image, grid = Array((1, 2, 3, 4)), Array((1, 2, 2, 2))
    yield ErrorSample((image, grid, "linear"), ArgumentError, "'linear'")
    yield ErrorSample((image, grid, "nearest", "wrap"), ArgumentError, "'wrap'")
    yield ErrorSample((image, Array((2, 2, 2, 2)), "nearest", "zeros", False), ShapeError, r"\[2, 2, 2, 2\]")
    yield ErrorSample((image, Array((1, 2, 2, 3)), "nearest", "zeros", False), ShapeError, r"\[1, 2, 2, 3\]")
    volume = Array((1, 1, 2, 2, 2)), Array((1, 1, 1, 1, 3))
    yield ErrorSample((*volume, "bicubic", "zeros", False), NotSupportedError, r"\[1, 1, 2, 2, 2\]")


class _Reads:
    """The pixels that points [images, points, ndim] read, in NumPy: see Reads of kernels/interpolation.cu."""

    def __init__(self, grid: Any, sizes: Sequence[int], mode: str, padding: str, align: bool) -> None:
        self.sizes = sizes
        self.taps: list[list[Any]] = []
        self.weights: list[list[Any]] = []
        self.slopes: list[list[Any]] = []
        self.scales: list[Any] = []
        for dim, size in enumerate(sizes):
            x = grid[..., len(sizes) - 1 - dim] + 1
            at = x * ((size - 1) / 2) if align else (x * size - 1) / 2
            scale = grid.dtype.type((size - 1 if align else size) / 2)
            if mode != "bicubic":
                scale = scale * _inside_slope(at, size, padding, align)
                at = _kept_inside(at, size, padding, align)
            self.scales.append(scale)
            below = np.rint(at) if mode == "nearest" else np.floor(at)
            steps = range(-1, 3) if mode == "bicubic" else range(1 if mode == "nearest" else 2)
            near = [below + step for step in steps]
            self.taps.append([_kept_inside(tap, size, padding, align) for tap in near] if mode == "bicubic" else near)
            rest = at - below
            if mode == "bicubic":
                apart = [rest - step for step in steps]
                cubics = _cubic_far, _cubic_near, _cubic_near, _cubic_far
                self.weights.append([cubic(abs(x), SHARPNESS) for cubic, x in zip(cubics, apart)])
                steep = _cubic_far_slope, _cubic_near_slope, _cubic_near_slope, _cubic_far_slope
                signs = 1, 1, -1, -1
                self.slopes.append([sign * slope(abs(x), SHARPNESS) for sign, slope, x in zip(signs, steep, apart)])
            else:
                ones = np.ones_like(at)
                self.weights.append([1 - rest, rest] if mode == "bilinear" else [ones])
                self.slopes.append([-ones, ones])

    def corners(self) -> Iterator[tuple[Sequence[int], Any, Any]]:
        """Yield for each combination of taps its numbers, the index of the pixel, and whether it is in the image."""
        for corner in product(range(len(self.taps[0])), repeat=len(self.sizes)):
            index: Any = 0
            fits: Any = True
            for taps, size, k in zip(self.taps, self.sizes, corner):
                is_inside = (taps[k] >= 0) & (taps[k] <= size - 1)
                index, fits = index * size + np.where(is_inside, taps[k], 0).astype(np.int64), fits & is_inside
            yield corner, index, fits

    def weight(self, corner: Sequence[int], steep: int | None = None) -> Any:
        """Return the weight of a corner, or its derivative by the coordinate of the dimension `steep`."""
        total: Any = 1
        for dim, k in enumerate(corner):
            total = total * (self.slopes if dim == steep else self.weights)[dim][k]
        return total


def _cubic_near_slope(x: Any, a: float) -> Any:
    return (3 * (a + 2) * x - 2 * (a + 3)) * x


def _cubic_far_slope(x: Any, a: float) -> Any:
    return ((3 * x - 10) * x + 8) * a


def _inside_slope(at: Any, size: int, padding: str, align: bool) -> Any:
    """Return the derivative of `_kept_inside`, 0 where a coordinate is moved to the border."""
    if padding == "zeros":
        return np.ones_like(at)
    slope = np.ones_like(at)
    if padding == "reflection":
        low, span = (0.0, size - 1) if align else (-0.5, size)
        if span == 0:
            return np.zeros_like(at)
        is_even = np.floor(np.abs(at - low) / span) % 2 == 0
        slope = np.where((at < low) == is_even, -slope, slope)
    inside = _reflected_array(at, size, align) if padding == "reflection" else at
    return np.where((inside > 0) & (inside < size - 1), slope, 0 * slope)


def _reflected_array(at: Any, size: int, align: bool) -> Any:
    """Do the same as `_reflected` for NumPy arrays."""
    low, span = (0.0, size - 1) if align else (-0.5, size)
    if span == 0:
        return at * 0
    apart = np.abs(at - low)
    flips = np.floor(apart / span)
    folded = apart - flips * span
    return np.where(flips % 2 == 0, folded, span - folded) + low


def _kept_inside(at: Any, size: int, padding: str, align: bool) -> Any:
    """Do the same as `_padded` for NumPy arrays."""
    if padding == "zeros":
        return at
    at = _reflected_array(at, size, align) if padding == "reflection" else at
    return np.where(at > 0, np.minimum(at, size - 1), at.dtype.type(0))  # NaN, the reflection of an infinity: 0


def _points_code(entry: str, dtype: dtype, ndim: int, arguments: str, statement: str) -> tuple[str, list[Any]]:
    """Return the source and the numbers of a kernel on points; the statement may name them."""
    names = ["images", "channels", "points", "pixels", *[f"size{dim}" for dim in range(ndim)], "padding", "align"]
    code = f"""{PRELUDE}{source_text("interpolation.cu")}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({arguments},
    {", ".join(f"long long {name}" for name in names)}) {{
  const long long sizes[] = {{{", ".join(f"size{dim}" for dim in range(ndim))}}};
  {statement}
}}
"""
    return code, [Scalar(name, "int64") for name in names]


def _reads_of(grid: Any, mode: str, numbers: Sequence[int]) -> _Reads:
    """Return the reads of a kernel's points.  numbers: the kernel's last arguments: sizes, padding and align."""
    return _Reads(grid, numbers[:-2], mode, PADDINGS[numbers[-2]], bool(numbers[-1]))


@cache
def _points_kernel(dtype: dtype, mode: str, ndim: int) -> Kernel:
    """Return the kernel that samples images of `ndim` dimensions at points."""
    entry, c = f"sample_points_{mode}_{ndim}d_{dtype.name}", dtype.cuda
    statement = f"""sample_points<{GRID_MODES.index(mode)}, {ndim}>(
      out, input, grid, channels, points, pixels, sizes, images * channels * points, (int)padding, align != 0);"""
    code, numbers = _points_code(entry, dtype, ndim, f"{c}* out, const {c}* input, const {c}* grid", statement)

    def reference(
        out: Any, input: Any, grid: Any, images: int, channels: int, points: int, pixels: int, *numbers: int
    ) -> None:
        reads = _reads_of(grid, mode, numbers)
        image, channel = np.arange(images)[:, None, None], np.arange(channels)[:, None]
        total: Any = 0
        for corner, index, fits in reads.corners():
            values = np.where(fits[:, None], input[image, channel, index[:, None]], 0)
            total = total + values * reads.weight(corner)[:, None]
        out[...] = total

    params: list[Any] = [
        Pointer("out", dtype, "w", ("images", "channels", "points")),
        Pointer("input", dtype, "r", ("images", "channels", "pixels")),
        Pointer("grid", dtype, "r", ("images", "points", ndim)),
    ]
    return Kernel(entry, code, [*params, *numbers], reference, 40.0)


@cache
def _slopes_kernel(dtype: dtype, mode: str, ndim: int) -> Kernel:
    """Return the kernel of the gradient of the grid of `sample_points`."""
    entry, c = f"sample_points_slopes_{mode}_{ndim}d_{dtype.name}", dtype.cuda
    statement = f"""sample_points_slopes<{GRID_MODES.index(mode)}, {ndim}>(
      out, grad, input, grid, channels, points, pixels, sizes, images * points, (int)padding, align != 0);"""
    arguments = f"{c}* out, const {c}* grad, const {c}* input, const {c}* grid"
    code, numbers = _points_code(entry, dtype, ndim, arguments, statement)

    def reference(
        out: Any, grad: Any, input: Any, grid: Any, images: int, channels: int, points: int, pixels: int, *numbers: int
    ) -> None:
        reads = _reads_of(grid, mode, numbers)
        image, channel = np.arange(images)[:, None, None], np.arange(channels)[:, None]
        totals: list[Any] = [0] * ndim
        for corner, index, fits in reads.corners():
            values = (grad * np.where(fits[:, None], input[image, channel, index[:, None]], 0)).sum(1)
            totals = [total + values * reads.weight(corner, dim) for dim, total in enumerate(totals)]
        for dim, total in enumerate(totals):
            out[..., ndim - 1 - dim] = total * reads.scales[dim]

    params: list[Any] = [
        Pointer("out", dtype, "w", ("images", "points", ndim)),
        Pointer("grad", dtype, "r", ("images", "channels", "points")),
        Pointer("input", dtype, "r", ("images", "channels", "pixels")),
        Pointer("grid", dtype, "r", ("images", "points", ndim)),
    ]
    return Kernel(entry, code, [*params, *numbers], reference, 80.0)


@cache
def _reads_kernel(dtype: dtype, mode: str, ndim: int) -> Kernel:
    """Return the kernel that lists the pixels which points read, and their weights."""
    entry, c, corners = f"sample_points_reads_{mode}_{ndim}d_{dtype.name}", dtype.cuda, TAPS[mode] ** ndim
    statement = f"""sample_points_reads<{GRID_MODES.index(mode)}, {ndim}>(
      places, weights, grid, pixels, sizes, images * points, (int)padding, align != 0);"""
    arguments = f"long long* places, {c}* weights, const {c}* grid"
    code, numbers = _points_code(entry, dtype, ndim, arguments, statement)

    def reference(
        places: Any, weights: Any, grid: Any, images: int, channels: int, points: int, pixels: int, *numbers: int
    ) -> None:
        reads = _reads_of(grid, mode, numbers)
        for number, (corner, index, fits) in enumerate(reads.corners()):
            places[..., number] = np.where(fits, index, pixels)
            weights[..., number] = reads.weight(corner)

    params: list[Any] = [
        Pointer("places", int64, "w", ("images", "points", corners)),
        Pointer("weights", dtype, "w", ("images", "points", corners)),
        Pointer("grid", dtype, "r", ("images", "points", ndim)),
    ]
    return Kernel(entry, code, [*params, *numbers], reference, 40.0)


@cache
def _points_back_kernel(dtype: dtype) -> Kernel:
    """Return the kernel that adds gradients to the pixels that were read.

    Unsorted reads, on the CPU, have no entries.
    """
    entry, c = f"sample_points_back_{dtype.name}", dtype.cuda
    names = "images", "channels", "points", "corners", "pixels", "count"
    code = f"""{PRELUDE}{source_text("interpolation.cu")}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({c}* out, const {c}* grad, const long long* places,
    const long long* entries, const {c}* weights, {", ".join(f"long long {name}" for name in names)}) {{
  sample_points_back(out, grad, places, entries, weights, images, channels, points, corners, pixels);
}}
"""

    def reference(
        out: Any, grad: Any, places: Any, entries: Any, weights: Any, images: int, channels: int, points: int,
        corners: int, pixels: int, count: int,
    ) -> None:  # fmt: skip
        for image in range(images):
            order = slice(None) if entries is None else entries[image]
            is_inside = places[image] < pixels
            terms = (np.repeat(grad[image], corners, axis=1) * weights[image])[:, order][:, is_inside]
            for channel in range(channels):
                np.add.at(out[image, channel], places[image][is_inside], terms[channel])

    params: list[Any] = [
        Pointer("out", dtype, "rw", ("images", "channels", "pixels")),
        Pointer("grad", dtype, "r", ("images", "channels", "points")),
        Pointer("places", int64, "r", ("images", "count")),
        Pointer("entries", int64, "r", ("images", "count")),
        Pointer("weights", dtype, "r", ("images", "count")),
        *[Scalar(name, "int64") for name in names],
    ]
    return Kernel(entry, code, params, reference, 4.0)


def _point_numbers(images: Sequence[int], grid: Any, padding: str, align: bool) -> tuple[int, ...]:
    """Return the numbers of the kernels on points, for images of this shape."""
    n, channels, *sizes = images
    return n, channels, prod(grid.shape[1:-1]), prod(sizes), *sizes, PADDINGS.index(padding), int(align)


@operator(samples=_samples, dtypes=FLOATING_TYPES[2:], method=False, function=False)
def sample_points(call: Call, input: Operand, grid: Operand, mode: str, padding: str, align: bool) -> Any:
    """Compute `grid_sample` of checked arguments of one type, in one launch.

    Host: returns at once.
    """
    out = call.output((*input.shape[:2], *grid.shape[1:-1]), input.dtype)
    if out.numel():
        numbers = _point_numbers(input.shape, grid, padding, align)
        kernel = _points_kernel(input.dtype, mode, grid.shape[-1])
        call.launch(kernel, grid_over(out.numel(), 1), out, call.contiguous(input), call.contiguous(grid), *numbers)
    return out


@sample_points.derivative
def _(grad: Any, input: Any, grid: Any, mode: str, padding: str, align: bool, needs: Any) -> Any:
    if record.wants_grad(grid_sample, [input, grid]):
        return _differentiable_gradients(grad, input, grid, mode, padding, align, needs)
    of_input = sample_points_back(grad, grid, tuple(input.shape), mode, padding, align) if needs[0] else None
    has_slope = needs[1] and mode != "nearest"
    return of_input, sample_points_slopes(grad, input, grid, mode, padding, align) if has_slope else None


def _differentiable_gradients(
    grad: Any, input: Any, grid: Any, mode: str, padding: str, align: bool, needs: Sequence[bool]
) -> list[Any]:
    """Return the gradients of `sample_points` with a graph of their own, by a composition of differentiable operators.

    Views of the operands end the inner backward pass, also if one operand was computed from the other.
    """
    image, places = input.view(input.shape), grid.view(grid.shape)
    root: Any = record.edge_of(_composed(image, places, mode, padding, align))
    edges = [record.edge_of(operand) if need else None for operand, need in zip((image, places), needs)]
    task = GraphTask([edge for edge in edges if edge is not None], True, True, False)
    gradients = iter(task.run([root], [grad]))
    return [None if edge is None else next(gradients) for edge in edges]


def _slope_samples() -> Iterator[Sample]:
    for image, grid, *options in (sample.args for sample in _samples()):
        if options[0] != "nearest":
            yield Sample((Array((*image.shape[:2], *grid.shape[1:-1]), seed=9), image, grid, *options))
    yield Sample((Array((1, 0, 2, 2)), Array((1, 0, 3, 4)), Array((1, 2, 2, 2)), "bilinear", "zeros", False))


@operator(samples=_slope_samples, dtypes=FLOATING_TYPES[2:], method=False, function=False, differentiable=False)
def sample_points_slopes(
    call: Call, grad: Operand, input: Operand, grid: Operand, mode: str, padding: str, align: bool
) -> Any:
    """Return the gradient of the grid of `sample_points`."""
    if not input.numel():
        return zeros(call, grid.shape, grid.dtype)
    out = call.output(grid.shape, grid.dtype)
    if out.numel():
        numbers = _point_numbers(input.shape, grid, padding, align)
        operands = [call.contiguous(operand) for operand in (grad, input, grid)]
        kernel = _slopes_kernel(grid.dtype, mode, grid.shape[-1])
        call.launch(kernel, grid_over(out.numel() // grid.shape[-1], 1), out, *operands, *numbers)
    return out


def _image_samples() -> Iterator[Sample]:
    for image, grid, *options in (sample.args for sample in _samples()):
        yield Sample((Array((*image.shape[:2], *grid.shape[1:-1]), seed=9), grid, image.shape, *options))
    crowded = Array((1, 40, 30, 2), low=-1.2, high=1.2, seed=2)  # the reads need several launches to be sorted
    yield Sample((Array((1, 2, 40, 30), seed=1), crowded, (1, 2, 3, 4), "bilinear", "border", False))


@operator(samples=_image_samples, dtypes=FLOATING_TYPES[2:], method=False, function=False, differentiable=False)
def sample_points_back(
    call: Call, grad: Operand, grid: Operand, shape: Any, mode: str, padding: str, align: bool
) -> Any:
    """Return the gradient of the images of `sample_points`, which have this shape.

    Pixels add up their reads in order.
    """
    out = zeros(call, shape, grad.dtype)
    if out.numel() and grad.numel():
        numbers = _point_numbers(shape, grid, padding, align)
        images, channels, points, pixels = numbers[:4]
        corners = TAPS[mode] ** grid.shape[-1]
        count = points * corners
        places, weights = call.scratch((images, count), int64), call.scratch((images, count), grad.dtype)
        kernel = _reads_kernel(grad.dtype, mode, grid.shape[-1])
        call.launch(kernel, grid_over(images * points, 1), places, weights, call.contiguous(grid), *numbers)
        ordered, entries = places, None
        if not call.is_on_host:  # NumPy adds in order anyway
            ordered, entries = call.scratch((images, count), int64), call.scratch((images, count), int64)
            sort_rows_of(call, places, ordered, entries, (images, count), False, pixels.bit_length())
        call.launch(
            _points_back_kernel(grad.dtype), grid_over(images * channels * count, 1), out, call.contiguous(grad),
            ordered, entries, weights, images, channels, points, corners, pixels, count,
        )  # fmt: skip
    return out


@composite(samples=_samples, errors=_errors, dtypes=FLOATING_TYPES[2:], method=False, function=False)
def grid_sample(
    input: Operand, grid: Operand, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool = False
) -> Any:
    """Sample images at the points of a grid.

    grid: points (x, y), or (x, y, z), from -1, the left or upper border, to 1, the right or lower one.  NaN is read
    as -1, unless values outside are zeros.
    mode: "bilinear" (trilinear for volumes), "nearest" or "bicubic".  padding_mode: values outside an image: "zeros",
    its "border" or its "reflection".  align_corners: -1 and 1 are the centers of the outer pixels, not the borders.
    Shapes: [n, c, h, w] and [n, *, *, 2] give [n, c, *, *]; [n, c, d, h, w] and [n, *, *, *, 3] give [n, c, *, *, *].
    Host:   returns at once.
    Raises: ArgumentError for a bad mode, ShapeError if input and grid do not fit, NotSupportedError for "bicubic" of
            volumes.
    Example:
        >>> image = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
        >>> points = torch.tensor([[[[0.0, 0.0], [1.0, -1.0]]]])
        >>> torch.nn.functional.grid_sample(image, points, align_corners=True)
        tensor([[[[2.5000, 2.0000]]]])
    """
    for what, value, known in (("mode", mode, GRID_MODES), ("padding_mode", padding_mode, PADDINGS)):
        if value not in known:
            raise ArgumentError(
                f"{what} should be one of {known}, got {value!r}", hint=f"use {known[0]!r}", operator="grid_sample"
            )
    ndim = len(input.shape)
    n, _, *sizes = input.shape
    wanted = len(grid.shape) == ndim and grid.shape[0] == n and grid.shape[-1] == ndim - 2
    if ndim not in (4, 5) or not wanted or not all(sizes):
        raise ShapeError(
            f"input {list(input.shape)} and grid {list(grid.shape)} do not fit",
            hint="pass [n, c, h, w] and [n, *, *, 2], or [n, c, d, h, w] and [n, *, *, *, 3], without empty images",
            operator="grid_sample",
        )
    if mode == "bicubic" and ndim != 4:
        raise NotSupportedError(
            f"bicubic sampling takes 4 dimensions, got shape {list(input.shape)}",
            hint="use 'bilinear'",
            operator="grid_sample",
        )
    is_wide = input.dtype is grid.dtype and input.dtype in (float32, float64)
    if is_wide:
        return sample_points(input, grid, mode, padding_mode, bool(align_corners))
    return _composed(input, grid, mode, padding_mode, align_corners)


def _composed(input: Any, grid: Any, mode: str, padding_mode: str, align_corners: bool) -> Any:
    """Compute `grid_sample` by differentiable operators, for other types and second derivatives."""
    n, c, *sizes = input.shape
    ndim = len(input.shape)
    points: Any = grid
    points = points.reshape((n, prod(grid.shape[1:-1]), ndim - 2))
    places = []
    for dim, size in enumerate(sizes):  # the last coordinate belongs to the first spatial dimension
        at = points.select(2, ndim - 3 - dim)
        at = (at + 1) * ((size - 1) / 2) if align_corners else ((at + 1) * size - 1) / 2
        places.append(at if mode == "bicubic" else _padded(at, size, padding_mode, align_corners))
    if mode == "nearest":
        values = _read(input, [at.round() for at in places], sizes)
    else:
        values = _blended(input, places, sizes, mode, padding_mode, align_corners)
    return values.reshape((n, c, *grid.shape[1:-1]))


def _blended(input: Any, places: Any, sizes: Any, mode: str, padding: str, align: bool) -> Any:
    """Return the weighted sum of the pixels around each point."""
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


def _places(count: int, align: bool, dtype: dtype) -> Any:
    """Return `count` places from -1 to 1 with the roundings of `linspace`, which decide which pixel a place belongs to.

    align: -1 and 1 are the centers of the outer pixels, else their borders.
    """
    number = dtype.numpy.type
    if count == 1:
        return np.zeros(1, number)
    apart, half = float(number(2) / number(count - 1)), count // 2
    first = steps_from(-1.0, apart, np.arange(half), dtype)
    second = steps_from(1.0, -apart, np.arange(count - 1 - half, -1, -1), dtype)
    places = np.concatenate([first, second]).astype(number, copy=False)
    return places if align else places * number(count - 1) / number(count)


@cache
def _affine_kernel(dtype: dtype) -> Kernel:
    """Return the kernel of affine_points.  depth: 1 for images.  dims: 2 for images, 3 for volumes."""
    entry, t, c = f"affine_points_{dtype.name}", dtype.cuda, dtype.wide.cuda
    names = ("n", "depth", "height", "width", "dims", "columns", "align")
    fma = "__fma_rn" if dtype.wide is float64 else "__fmaf_rn"
    source = f"""{PRELUDE}
// Place i of `count`, from -1 to 1: of the centers of the outer pixels if `align`, else of the borders.
inline {c} place_of(long long i, long long count, bool align) {{
  if (count == 1) return 0;
  const {c} apart = ({c})2 / ({c})(count - 1);
  const {c} place = i < count / 2 ? {fma}(apart, ({c})i, ({c})-1) : {fma}(-apart, ({c})(count - 1 - i), ({c})1);
  return align ? place : place * ({c})(count - 1) / ({c})count;
}}

extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({t}* out, const {t}* theta,
    {", ".join(f"long long {name}" for name in names)}) {{
  const long long points = n * depth * height * width, step = (long long)gridDim.x * blockDim.x;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < points; i += step) {{
    long long x, y, z;
    const long long image = divide(divide(divide(i, width, x), height, y), depth, z);
    const {c} at[3] = {{place_of(x, width, align), place_of(y, height, align), place_of(z, depth, align)}};
    for (int row = 0; row < dims; ++row) {{
      const {t}* map = theta + (image * dims + row) * columns;
      {c} total = load<{c}>(map[dims]);
      for (int column = (int)dims - 1; column >= 0; --column) total += at[column] * load<{c}>(map[column]);
      out[i * dims + row] = store<{t}>(total);
    }}
  }}
}}
"""

    def reference(
        out: Any, theta: Any, n: int, depth: int, height: int, width: int, dims: int, columns: int, align: int
    ) -> None:
        wide = dtype.wide.numpy
        maps = theta.astype(wide, copy=False)[:, None, None, None]
        total = np.broadcast_to(maps[..., dims], out.shape)
        for axis, count in list(enumerate((depth, height, width), 1))[3 - dims :]:
            line = _places(count, bool(align), dtype.wide).reshape([-1 if dim == axis else 1 for dim in range(5)])
            total = total + line * maps[..., 3 - axis]
        out[...] = total

    shapes = (("out", "w", (*names[:4], "dims")), ("theta", "r", ("n", "dims", "columns")))
    params = [Pointer(name, dtype, access, shape) for name, access, shape in shapes]
    return Kernel(entry, source, [*params, *(Scalar(name, "int64") for name in names)], reference, 12.0)


def _affine_point_samples() -> Iterator[Sample]:
    for align in (False, True):
        yield Sample((Array((2, 2, 3)), (3, 4), align))
    yield Sample((Array((1, 3, 4), layout="strided"), (2, 1, 3), False))


@operator(samples=_affine_point_samples, dtypes=FLOATING_TYPES[2:], method=False, function=False)
def affine_points(call: Call, input: Operand, sizes: Any, align: bool) -> Any:
    """Compute `affine_grid` for a theta of the right shape.  sizes: of the image's spatial dimensions.

    Host: returns at once.
    """
    n, dims, columns = input.shape
    out = call.output((n, *sizes, dims), input.dtype)
    numbers = n, *[1] * (3 - dims), *sizes, dims, columns, int(align)
    grid = grid_over(out.numel() // dims, 1)
    call.launch(_affine_kernel(input.dtype), grid, out, call.contiguous(input), *numbers)
    return out


@affine_points.derivative
def _(grad: Any, sizes: Any, align: bool) -> Any:
    dims = len(sizes)
    unit = REGISTRY["diag_embed"](grad.new_ones((dims,)))
    places = affine_points(REGISTRY["cat"]([unit, grad.new_zeros((dims, 1))], 1).unsqueeze(0), sizes, align)
    flowed = grad.reshape((grad.shape[0], -1, dims)).transpose(1, 2)
    return REGISTRY["cat"]([flowed @ places.reshape((-1, dims)), flowed.sum(2, True)], 2)


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
    """Return the points of an image under affine maps: a grid for `grid_sample`.

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
    sizes = [int(length) for length in size]
    if len(sizes) not in (4, 5):
        raise NotSupportedError(
            f"size needs 4 or 5 numbers, got {sizes}",
            hint="pass (n, c, h, w) or (n, c, d, h, w)",
            operator="affine_grid",
        )
    dims = len(sizes) - 2
    if not theta.dtype.is_floating_point:
        raise ArgumentError(
            f"theta must be floating point, got {theta.dtype.name}",
            hint="convert with .float()",
            operator="affine_grid",
        )
    if tuple(theta.shape) != (sizes[0], dims, dims + 1) or min(sizes) <= 0:
        raise ValueRangeError(
            f"theta {list(theta.shape)} and size {sizes} do not fit; sizes must be positive",
            hint="pass [n, 2, 3] with (n, c, h, w), or [n, 3, 4] with (n, c, d, h, w)",
            operator="affine_grid",
        )
    return affine_points(theta, tuple(sizes[2:]), bool(align_corners))
