"""Kernels over windows of images, for pooling, unfold and fold (kernels/pooling.cu), with their NumPy references."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from math import prod
from typing import Any, NamedTuple

from ..dtypes import dtype, int64
from ..host import np
from ..kernel import Kernel, Param, Pointer, Scalar, Strided
from ..strides import extent
from .pointwise import MAX_INDEX, PRELUDE, THREADS, source_text

SPATIAL = 3
PLANES = 4  # planes of which a thread computes an element, as in pooling.cu
MANY_IN_LINE = 8  # elements of a window in one dimension
MANY_ELEMENTS = 64  # elements of a window from which on they are reduced along an axis, not one by one
WINDOW_SOURCE = PRELUDE + source_text("pooling.cu")
_FIELDS = ("size", "places", "kernel", "stride", "padding", "dilation")
_NAMES = [f"{field}{dim}" for field in _FIELDS for dim in range(SPATIAL)]
Sizes = tuple[int, ...]
KernelLayout = tuple[Sequence[int], Sequence[Sequence[int]]]  # the value of a Strided parameter


class Windows(NamedTuple):
    """Windows of the spatial dimensions of an image; each field has one number per dimension.

    size: of the image;  places: the number of windows.
    is_adaptive: window o holds [o * size / places, (o + 1) * size / places), rounded outwards.  Others hold
    o * stride - padding + k * dilation for each k below `kernel`; elements outside the image are left out.
    """

    size: Sizes
    places: Sizes
    kernel: Sizes
    stride: Sizes
    padding: Sizes
    dilation: Sizes
    is_adaptive: bool = False

    def numbers(self) -> list[int]:
        """Return the values of the kernels' parameters, with three dimensions."""
        missing = 1, 1, 1, 1, 0, 1
        rows = ((no,) * (SPATIAL - len(row)) + tuple(row) for no, row in zip(missing, self[:-1]))
        return [*(number for row in rows for number in row), int(self.is_adaptive)]

    def is_whole(self) -> bool:
        """Return whether there is one window, which holds every element once."""
        return self.kernel == self.size and not any(self.padding) and not self.is_adaptive

    def are_far(self, layouts: Sequence[KernelLayout]) -> bool:
        """Return whether indexes of the windows, or of an array with one of these layouts, need 64 bits."""
        if self.is_adaptive:
            spans = [(size + 1) * (places + 1) for size, places in zip(self.size, self.places)]
        else:
            rows = zip(self.size, self.kernel, self.stride, self.padding, self.dilation)
            spans = [size + kernel * apart + step + 2 * front for size, kernel, step, front, apart in rows]
        return max(*spans, *(extent(shape, strides[0]) for shape, strides in layouts)) > MAX_INDEX

    def ranges(self, dim: int) -> tuple[Any, Any]:
        """Return (first element, end) of every window of one dimension, as arrays; they may lie outside the image."""
        o = np.arange(self.places[dim])
        if self.is_adaptive:
            size, places = self.size[dim], self.places[dim]
            return o * size // places, -(-(o + 1) * size // places)
        first = o * self.stride[dim] - self.padding[dim]
        return first, first + (self.kernel[dim] - 1) * self.dilation[dim] + 1

    def steps(self, dim: int) -> Iterator[tuple[int, slice, Any, Any]]:
        """Yield (k, windows whose element k is in the image, index of these elements, their positions as an array).

        The windows are a slice; the index is a slice or an array.
        """
        first, end = self.ranges(dim)
        if self.is_adaptive:
            for at in range(int((end - first).max())):
                elements = np.minimum(first + at, end - 1)
                yield at, slice(None), elements, elements
            return
        size, step = self.size[dim], self.stride[dim]
        for at in range(self.kernel[dim]):
            shift = at * self.dilation[dim] - self.padding[dim]
            low, high = max(0, -(shift // step)), min(self.places[dim], (size - 1 - shift) // step + 1)
            if low < high:
                start = low * step + shift
                elements = slice(start, start + (high - low - 1) * step + 1, step)
                yield at, slice(low, high), elements, first[low:high] + at * self.dilation[dim]

    def all_steps(self) -> Iterator[Any]:
        """Yield what `steps` yields for every combination of elements, as tuples with a member for each dimension."""
        for chosen in product(*(list(self.steps(dim)) for dim in range(SPATIAL))):
            yield zip(*chosen)


def windows_of(numbers: Sequence[int]) -> Windows:
    """Return the windows of the values of kernel parameters."""
    rows = [tuple(numbers[at : at + SPATIAL]) for at in range(0, len(_NAMES), SPATIAL)]
    return Windows._make([*rows, bool(numbers[len(_NAMES)])])


# references


def _picked(image: Any, elements: Sequence[Any]) -> Any:
    """Return the elements of an image [n, c, *spatial] at one index of each spatial dimension."""
    for dim, index in enumerate(elements, 2):
        image = image[(slice(None),) * dim + (index,)]
    return image


def _flat(rows: Sequence[Any], sizes: Sizes) -> Any:
    """Return the index in a plane of every combination of indexes of the dimensions."""
    return (rows[0][:, None, None] * sizes[1] + rows[1][:, None]) * sizes[2] + rows[2]


def max_of_windows(out: Any, indices: Any, image: Any, windows: Windows) -> None:
    """Write the largest element of each window and its index.  NaN is the largest, and of several NaN the last."""
    dtype = image.dtype
    wide = np.dtype(np.float32) if dtype.itemsize == 2 and dtype.kind not in "iu" else dtype
    image = image.astype(wide, copy=False)
    is_float = wide.kind == "f"
    has_nan = is_float and bool(image.size) and bool(np.isnan(image.max()))
    if not has_nan and prod(windows.kernel) >= MANY_ELEMENTS and all(_blocks(windows, dim) for dim in range(SPATIAL)):
        _maxima_of_blocks(out, indices, image, windows)
        return
    starts = [windows.ranges(dim)[0] for dim in range(SPATIAL)]
    firsts = [first + np.maximum(0, -(first // by)) * by for first, by in zip(starts, windows.dilation)]
    best = np.full(out.shape, -np.inf if is_float else np.iinfo(wide).min, wide)
    steps = list(windows.all_steps())
    which = np.zeros(out.shape, np.min_scalar_type(len(steps)))  # the step that found the maximum, 0 for none
    places = []  # per step: the index of its elements or, for plain windows, their offset from the starts
    for number, (at, targets, elements, rows) in enumerate(steps, 1):
        target = (slice(None), slice(None), *targets)
        values = _picked(image, elements)
        larger = values > best[target]
        if has_nan:
            larger |= values != values
        np.maximum(best[target], values, out=best[target])
        numbers = np.multiply(larger, which.dtype.type(number), dtype=which.dtype)
        np.maximum(which[target], numbers, out=which[target])  # later steps have larger numbers
        shift = [k * by for k, by in zip(at, windows.dilation)]
        plain = (shift[0] * windows.size[1] + shift[1]) * windows.size[2] + shift[2]
        places.append(_flat(rows, windows.size) if windows.is_adaptive else plain)
    if windows.is_adaptive:
        index = _chosen(which, places)
    else:
        index = np.array([0, *places])[which] + _flat(starts, windows.size)
    if not which.all():
        index = np.where(which == 0, _flat(firsts, windows.size), index)
    out[...], indices[...] = best, index


def _chosen(which: Any, places: Sequence[Any]) -> Any:
    """Return places[which - 1] of each window."""
    table = np.stack([np.broadcast_to(index, which.shape[2:]) for index in places])
    return table[(np.maximum(which, 1) - 1, *np.indices(which.shape, sparse=True)[2:])]


def _maxima_of_blocks(out: Any, indices: Any, image: Any, windows: Windows) -> None:
    """Do the same as `max_of_windows` for many elements in adjacent windows without NaN."""
    kernel, places = windows.kernel, windows.places
    whole = image[:, :, *(slice(0, k * p) for k, p in zip(kernel, places))]
    split = whole.reshape(*image.shape[:2], places[0], kernel[0], places[1], kernel[1], places[2], kernel[2])
    rows = split.transpose(0, 1, 2, 4, 6, 3, 5, 7).reshape(*out.shape, prod(kernel))
    which = rows.argmax(-1)
    out[...] = np.take_along_axis(rows, which[..., None], -1)[..., 0]
    at = np.unravel_index(which, kernel)
    starts = _flat([windows.ranges(dim)[0] for dim in range(SPATIAL)], windows.size)
    indices[...] = starts + (at[0] * windows.size[1] + at[1]) * windows.size[2] + at[2]


def spread_maxima(out: Any, indices: Any, grad: Any) -> None:
    """Write the sum of `grad` over the windows whose index names each element."""
    planes, size = out.shape[0] * out.shape[1], prod(out.shape[2:])
    named = (indices.reshape(planes, -1) + np.arange(0, planes * size, size)[:, None]).reshape(-1)
    parts = grad.reshape(-1).astype(np.float64, copy=False)
    if indices.max() >= size:  # the index of windows without an element
        inside = (indices < size).reshape(-1)
        named, parts = named[inside], parts[inside]
    out[...] = np.bincount(named, parts, planes * size).reshape(out.shape)


def _along(array: Any, dim: int, index: Any) -> Any:
    return array[(slice(None),) * (2 + dim) + (index,)]


def _divisors(windows: Windows, counts_padding: bool, given: int, dtype: Any) -> Any:
    """Return the divisor of each window's sum."""
    if given:
        return dtype.type(given)
    rows = []
    for dim in range(SPATIAL):
        first, end = windows.ranges(dim)
        if not windows.is_adaptive:
            end = np.minimum(end, windows.size[dim] + (windows.padding[dim] if counts_padding else 0))
            first = first if counts_padding else np.maximum(first, 0)
        rows.append(end - first)
    return (rows[0][:, None, None] * rows[1][:, None] * rows[2]).astype(dtype)


def _blocks(windows: Windows, dim: int, least: int = 1) -> bool:
    """Return whether windows of `least` elements or more lie side by side in a dimension, from its first element on."""
    kernel, places = windows.kernel[dim], windows.places[dim]
    apart = windows.stride[dim] == kernel and not windows.padding[dim] and not windows.is_adaptive
    return apart and windows.dilation[dim] == 1 and kernel * places <= windows.size[dim] and kernel >= least


def mean_of_windows(out: Any, image: Any, windows: Windows, counts_padding: bool, given: int) -> None:
    """Write the mean of each window: sums along one dimension after the other, divided once."""
    wide = np.dtype(np.float32) if image.dtype.itemsize == 2 else image.dtype
    total = image.astype(wide, copy=False)
    for dim in reversed(range(SPATIAL)):
        is_whole = windows.kernel[dim] == windows.stride[dim] == 1 and windows.size[dim] == windows.places[dim]
        if windows.is_adaptive or not is_whole:
            total = _sums_along(total, dim, windows)
    out[...] = total / _divisors(windows, counts_padding, given, wide)


def _sums_along(image: Any, dim: int, windows: Windows) -> Any:
    shape = list(image.shape)
    places = shape[2 + dim] = windows.places[dim]
    if _blocks(windows, dim, MANY_IN_LINE):
        kernel = windows.kernel[dim]
        part = _along(image, dim, slice(0, places * kernel))
        return part.reshape(*shape[: 2 + dim], places, kernel, *shape[3 + dim :]).sum(axis=3 + dim)
    sums = np.zeros(shape, image.dtype)
    if windows.is_adaptive:
        for at, (first, end) in enumerate(zip(*windows.ranges(dim))):
            _along(sums, dim, at)[...] = _along(image, dim, slice(first, end)).sum(axis=2 + dim)
    else:
        for _, target, elements, _ in windows.steps(dim):
            _along(sums, dim, target)[...] += _along(image, dim, elements)
    return sums


def spread_means(out: Any, grad: Any, windows: Windows, counts_padding: bool, given: int) -> None:
    """Write the sum of `grad` / divisor over the windows that hold each element."""
    wide = np.dtype(np.float32) if grad.dtype.itemsize == 2 else grad.dtype
    total = grad.astype(wide, copy=False) / _divisors(windows, counts_padding, given, wide)
    for dim in range(SPATIAL):
        shape = list(total.shape)
        shape[2 + dim] = windows.size[dim]
        spread = np.zeros(shape, wide)
        if windows.is_adaptive:
            for at, (first, end) in enumerate(zip(*windows.ranges(dim))):
                _along(spread, dim, slice(first, end))[...] += _along(total, dim, slice(at, at + 1))
        elif _blocks(windows, dim, MANY_IN_LINE):
            kernel = windows.kernel[dim]
            _along(spread, dim, slice(0, windows.places[dim] * kernel))[...] = np.repeat(total, kernel, axis=2 + dim)
        else:
            for _, target, elements, _ in windows.steps(dim):
                _along(spread, dim, elements)[...] += _along(total, dim, target)
        total = spread
    out[...] = total


def _as_columns(columns: Any, channels: int, windows: Windows) -> Any:
    """Return contiguous columns as [n, c, *kernel, *places]: a view."""
    return columns.reshape(columns.shape[0], channels, *windows.kernel, *windows.places)


def columns_of(out: Any, image: Any, windows: Windows) -> None:
    """Write the elements of each window as a column, with 0 for those outside the image."""
    columns = _as_columns(out, image.shape[1], windows)
    columns[...] = 0
    for at, targets, elements, _ in windows.all_steps():
        columns[:, :, *at, *targets] = image[:, :, *elements]


def sum_of_columns(out: Any, columns: Any, windows: Windows) -> None:
    """Write, for each element of the image, the sum of the column elements that lie there."""
    dtype = out.dtype
    wide = np.dtype(np.float32) if dtype.itemsize == 2 else dtype
    total = np.zeros(out.shape, wide)
    columns = _as_columns(columns, out.shape[1], windows)
    for at, targets, elements, _ in windows.all_steps():
        total[:, :, *elements] += columns[:, :, *at, *targets].astype(wide, copy=False)
    out[...] = total


# kernels

_ARGUMENTS = ", ".join(f"long long {name}" for name in (*_NAMES, "is_adaptive"))
_CAST = [f"(I){name}" for name in _NAMES]
_LISTED = ", ".join("{" + ", ".join(_CAST[at : at + SPATIAL]) + "}" for at in range(0, len(_NAMES), SPATIAL))


def _kernel(
    name: str, of: dtype, is_far: bool, arrays: dict[str, tuple[dtype, str]], extra: Sequence[str], call: str,
    reference: Any, flat: str = "", cost: float = 1.0,
) -> Kernel:  # fmt: skip
    """Return a kernel of pooling.cu.

    is_far: whether indexes have 64 bits;  arrays: (type, access) of each array, in order;  extra: numbers after those
    of the windows;  flat: the array that is contiguous columns, with two sizes among the numbers.
    """
    strided = [array for array in arrays if array != flat]
    pointers = [f"{'const ' if mode == 'r' else ''}{dtype.cuda}* {array}" for array, (dtype, mode) in arrays.items()]
    layouts = [f"const __grid_constant__ Layout<1> {array}_layout" for array in strided]
    numbers = [f"long long {number}" for number in extra]
    entry = f"{name}_{of.name}{'_far' if is_far else ''}"
    source = f"""{WINDOW_SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS})
{entry}({", ".join([*pointers, *layouts, _ARGUMENTS, *numbers])}) {{
  typedef {"long long" if is_far else "int"} I;
  const Windows<I> windows = {{{_LISTED}, is_adaptive != 0}};
  {name}<{of.wide.cuda}>({call});
}}
"""
    params: list[Param] = [
        Pointer(array, dtype, mode, tuple(extra) if array == flat else f"{array}_layout")
        for array, (dtype, mode) in arrays.items()
    ]
    params += [Strided(f"{array}_layout", (array,)) for array in strided]
    params += [Scalar(number, "int64") for number in (*_NAMES, "is_adaptive", *extra)]

    def meaning(*values: Any) -> None:
        count = len(arrays)
        numbers = values[count:]
        reference(*values[:count], windows_of(numbers), *numbers[len(_NAMES) + 1 :])

    return Kernel(entry, source, params, meaning, cost)


@cache
def max_kernel(of: dtype, is_far: bool) -> Kernel:
    """Return the kernel of `max_of_windows`: (out, indices, input, their layouts, windows)."""
    arrays = {"out": (of, "w"), "indices": (int64, "w"), "input": (of, "r")}
    call = "out, indices, input, out_layout, indices_layout, input_layout, windows"
    return _kernel("window_max", of, is_far, arrays, (), call, max_of_windows, cost=8.0)


@cache
def max_backward_kernel(of: dtype, is_far: bool) -> Kernel:
    """Return the kernel of `spread_maxima`: (out, indices, grad, their layouts, windows)."""
    arrays = {"out": (of, "w"), "indices": (int64, "r"), "grad": (of, "r")}
    call = "out, indices, grad, out_layout, indices_layout, grad_layout, windows"

    def reference(out: Any, indices: Any, grad: Any, windows: Windows) -> None:
        spread_maxima(out, indices, grad)

    return _kernel("window_max_backward", of, is_far, arrays, (), call, reference, cost=8.0)


@cache
def mean_kernel(of: dtype, is_far: bool) -> Kernel:
    """Return the kernel of `mean_of_windows`.

    Parameters: out, input, their layouts, windows, whether padding counts, divisor or 0.
    """
    arrays = {"out": (of, "w"), "input": (of, "r")}
    call = "out, input, out_layout, input_layout, windows, counts_padding != 0, given"

    def reference(out: Any, image: Any, windows: Windows, counts_padding: int, given: int) -> None:
        mean_of_windows(out, image, windows, bool(counts_padding), given)

    return _kernel("window_mean", of, is_far, arrays, ("counts_padding", "given"), call, reference, cost=8.0)


@cache
def mean_backward_kernel(of: dtype, is_far: bool) -> Kernel:
    """Return the kernel of `spread_means`.

    Parameters: out, grad, their layouts, windows, whether padding counts, divisor or 0.
    """
    arrays = {"out": (of, "w"), "grad": (of, "r")}
    call = "out, grad, out_layout, grad_layout, windows, counts_padding != 0, given"

    def reference(out: Any, grad: Any, windows: Windows, counts_padding: int, given: int) -> None:
        spread_means(out, grad, windows, bool(counts_padding), given)

    return _kernel("window_mean_backward", of, is_far, arrays, ("counts_padding", "given"), call, reference, cost=8.0)


@cache
def columns_kernel(of: dtype, is_far: bool) -> Kernel:
    """Return the kernel of `columns_of`: (out, input, its layout, windows, images, elements of an image's columns)."""
    arrays = {"out": (of, "w"), "input": (of, "r")}

    def reference(out: Any, image: Any, windows: Windows, *_: int) -> None:
        columns_of(out, image, windows)

    call = "out, input, input_layout, windows, (I)(images * elements)"
    return _kernel("window_columns", of, is_far, arrays, ("images", "elements"), call, reference, "out", 0.0)


@cache
def sum_columns_kernel(of: dtype, is_far: bool) -> Kernel:
    """Return the kernel of `sum_of_columns`.

    Parameters: out, columns, out's layout, windows, images, elements of an image's columns.
    """
    arrays = {"out": (of, "w"), "columns": (of, "r")}

    def reference(out: Any, columns: Any, windows: Windows, *_: int) -> None:
        sum_of_columns(out, columns, windows)

    call = "out, columns, out_layout, windows"
    return _kernel("sum_columns", of, is_far, arrays, ("images", "elements"), call, reference, "columns")
