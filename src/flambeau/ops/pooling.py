"""Pooling over windows of images, its inverses, and windows as columns.

- `window_max` and `window_mean` compute all pooling.  Their gradients, of any order, gather: no atomics.
- Their attributes are tuples with one number for each spatial dimension; `sizes` are those of the result.
- Adaptive windows of equal sizes that lie side by side are plain windows.
- Results are channels-last if the input is, those of means in two dimensions only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from .. import memory_formats
from .. import strides as st
from ..dtypes import ALL, FLOATING_TYPES, bool_, dtype, int64
from ..errors import ArgumentTypeError, DtypeError, ShapeError, ValueRangeError, shown
from ..kernel import Grid
from .convolution import ORDERS
from .creation import arange
from .gather_scatter import gather
from .join import cat
from .operator import Array, Call, ErrorSample, Operand, Sample, composite, operator
from .padding import constant_pad_nd
from .pointwise import grid_over
from .reduction_kernels import SUM, run_fold
from .slicing import select
from .views import flatten, permute
from .window_kernels import (
    PLANES,
    KernelLayout,
    Windows,
    columns_kernel,
    max_backward_kernel,
    max_kernel,
    mean_backward_kernel,
    mean_kernel,
    sum_columns_kernel,
)

Sizes = tuple[int, ...]


# the operators that all pooling uses


def _is_last(operand: Any) -> bool:
    return memory_formats.suggested(operand.shape, operand.strides) is not memory_formats.contiguous_format


def _made(call: Any, shape: Sizes, of: dtype, is_last: bool) -> Any:
    """Return a new result, channels-last or contiguous; never the tensor of out=, which may be an operand."""
    given, call.given = call.given, None
    out = call.output(shape, of, st.compact(shape, ORDERS[len(shape)]) if is_last else None)
    call.given = given
    return out


def _layouts(*operands: Any) -> list[KernelLayout]:
    """Return the values of Strided parameters, in five dimensions; images and channels are merged if possible."""
    lead, steps = st.collapse(operands[0].shape[:2], [operand.strides[:2] for operand in operands])
    lead, missing = (*(1,) * (2 - len(lead)), *lead), 5 - len(operands[0].shape)
    return [
        (
            (*lead, *(1,) * missing, *operand.shape[2:]),
            [(*(0,) * (2 - len(row)), *row, *(0,) * missing, *operand.strides[2:])],
        )
        for operand, row in zip(operands, steps)
    ]


def _grid(operand: Any) -> Grid:
    return grid_over(operand.numel(), PLANES)


def _samples_of(*samples: tuple[Any, ...]) -> Any:
    return lambda: iter([Sample(args) for args in samples])


def _x(*shape: int, seed: int = 0, layout: str = "dense") -> Array:
    return Array(shape, -2, 2, seed=seed, layout=layout)


_MAXIMA = _samples_of(
    (_x(2, 2, 5, 4), (2, 2), (2, 2), (0, 0), (1, 1), (2, 2), False),
    (_x(1, 2, 5, 6, layout="transposed"), (3, 2), (1, 2), (1, 1), (1, 2), (5, 3), False),
    (_x(2, 1, 7, layout="strided"), (3,), (2,), (0,), (1,), (3,), False),
    (_x(1, 1, 3, 4, 3), (2, 2, 2), (1, 2, 1), (0, 0, 0), (1, 1, 1), (2, 2, 2), False),
    (_x(1, 2, 5, 7), (1, 1), (1, 1), (0, 0), (1, 1), (3, 2), True),
    (_x(0, 2, 5, 4), (2, 2), (2, 2), (0, 0), (1, 1), (2, 2), False),
)


@operator(samples=_MAXIMA, dtypes=ALL[1:], method=False, function=False)
def window_max(
    call: Call, input: Operand, kernel: Any, stride: Any, padding: Any, dilation: Any, sizes: Any, is_adaptive: bool
) -> Any:
    """Return (largest element of each window, its index in the plane).  NaN is the largest.  Arguments are not checked.

    Shapes: [n, c, *I] gives [n, c, *sizes] and int64 [n, c, *sizes].
    Host:   returns at once.
    """
    shape, is_last = (*input.shape[:2], *sizes), _is_last(input)
    out, indices = _made(call, shape, input.dtype, is_last), _made(call, shape, int64, is_last)
    if out.numel():
        windows = Windows(tuple(input.shape[2:]), sizes, kernel, stride, padding, dilation, bool(is_adaptive))
        layouts = _layouts(out, indices, input)
        chosen = max_kernel(input.dtype, windows.are_far(layouts))
        call.launch(chosen, _grid(out), out, indices, input, *layouts, *windows.numbers())
    return out, indices


window_max.node_name = "MaxPool2DWithIndicesBackward0"


@window_max.derivative
def _(
    grads: Any, out1: Any, input_shape: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, is_adaptive: bool
) -> Any:
    windows = kernel, stride, padding, dilation, tuple(input_shape[2:]), is_adaptive
    return window_max_backward(grads[0], out1, *windows)


def _maxima_back() -> Iterator[Sample]:
    def indices(*shape: int, high: int) -> Array:
        return Array(shape, 0, high, dtype="int64", seed=2, grad=False)

    yield Sample((_x(2, 2, 1, 1), indices(2, 2, 1, 1, high=6), (2, 3), (2, 3), (0, 0), (1, 1), (2, 3), False))
    yield Sample((_x(1, 2, 1, layout="strided"), indices(1, 2, 1, high=4), (4,), (1,), (0,), (1,), (4,), False))
    yield Sample((_x(0, 2, 1, 1), indices(0, 2, 1, 1, high=6), (2, 3), (2, 3), (0, 0), (1, 1), (2, 3), False))


@operator(samples=_maxima_back, dtypes=FLOATING_TYPES, method=False, function=False)
def window_max_backward(
    call: Call, input: Operand, indices: Operand, kernel: Any, stride: Any, padding: Any, dilation: Any, sizes: Any,
    is_adaptive: bool,
) -> Any:  # fmt: skip
    """Return the gradient of `window_max`: each element gets the sum of `input` over the windows that chose it.

    Shapes: [n, c, *P] and int64 [n, c, *P] give [n, c, *sizes].
    Host:   returns at once.
    """
    out = _made(call, (*input.shape[:2], *sizes), input.dtype, _is_last(indices))
    if out.numel():
        windows = Windows(sizes, tuple(input.shape[2:]), kernel, stride, padding, dilation, bool(is_adaptive))
        layouts = _layouts(out, indices, input)
        chosen = max_backward_kernel(input.dtype, windows.are_far(layouts))
        call.launch(chosen, _grid(out), out, indices, input, *layouts, *windows.numbers())
    return out


@window_max_backward.derivative
def _(grad: Any, indices: Any) -> Any:
    return _at(grad, indices), None


def _at(planes: Any, indices: Any) -> Any:
    """Return the elements of each plane at indices [n, c, *P]."""
    return gather(flatten(planes, 2), 2, flatten(indices, 2)).reshape(indices.shape)


_MEANS = _samples_of(
    (_x(2, 2, 5, 4), (2, 2), (2, 2), (0, 0), (2, 2), False, True, 0),
    (_x(1, 2, 5, 6, layout="transposed"), (3, 2), (2, 1), (1, 1), (3, 7), False, False, 0),
    (_x(1, 2, 5, 6), (3, 2), (2, 2), (1, 1), (4, 4), False, True, 0),
    (_x(2, 1, 7, layout="strided"), (3,), (2,), (0,), (3,), False, True, 2),
    (_x(1, 1, 3, 4, 3), (2, 2, 2), (1, 2, 1), (0, 0, 0), (2, 2, 2), False, True, 0),
    (_x(1, 2, 5, 7), (1, 1), (1, 1), (0, 0), (3, 2), True, True, 0),
    (_x(0, 2, 5, 4), (2, 2), (2, 2), (0, 0), (2, 2), False, True, 0),
)


@operator(samples=_MEANS, dtypes=FLOATING_TYPES, method=False, function=False)
def window_mean(
    call: Call, input: Operand, kernel: Any, stride: Any, padding: Any, sizes: Any, is_adaptive: bool,
    counts_padding: bool, divisor: int,
) -> Any:  # fmt: skip
    """Compute the sum of each window over `divisor`, or if that is 0 over its size.  Arguments are not checked.

    counts_padding: whether the padding is among these elements.
    Shapes: [n, c, *I] gives [n, c, *sizes].
    Host:   returns at once.
    """
    is_last = len(input.shape) == 4 and _is_last(input)
    out = _made(call, (*input.shape[:2], *sizes), input.dtype, is_last)
    if out.numel():
        ones = (1,) * len(sizes)
        windows = Windows(tuple(input.shape[2:]), sizes, kernel, stride, padding, ones, bool(is_adaptive))
        if windows.is_whole():
            run_fold(call, SUM, input, range(2, len(input.shape)), out, input.dtype.wide, divisor or prod(windows.size))
            return out
        layouts = _layouts(out, input)
        chosen = mean_kernel(input.dtype, windows.are_far(layouts))
        numbers = *windows.numbers(), int(counts_padding), divisor
        call.launch(chosen, _grid(out), out, input, *layouts, *numbers)
    return out


window_mean.node_name = "AvgPool2DBackward0"


@window_mean.derivative
def _(
    grad: Any, input_shape: Any, kernel: Any, stride: Any, padding: Any, is_adaptive: bool, counts_padding: bool,
    divisor: int,
) -> Any:  # fmt: skip
    windows = kernel, stride, padding, tuple(input_shape[2:]), is_adaptive, counts_padding, divisor
    return window_mean_backward(grad, *windows)


_MEANS_BACK = _samples_of(
    (_x(2, 2, 2, 2), (2, 2), (2, 2), (0, 0), (5, 4), False, True, 0),
    (_x(1, 2, 3, 7, layout="strided"), (3, 2), (2, 1), (1, 1), (5, 6), False, False, 0),
    (_x(1, 2, 3, 2), (1, 1), (1, 1), (0, 0), (5, 7), True, True, 0),
    (_x(0, 2, 2, 2), (2, 2), (2, 2), (0, 0), (5, 4), False, True, 0),
)


@operator(samples=_MEANS_BACK, dtypes=FLOATING_TYPES, method=False, function=False)
def window_mean_backward(
    call: Call, input: Operand, kernel: Any, stride: Any, padding: Any, sizes: Any, is_adaptive: bool,
    counts_padding: bool, divisor: int,
) -> Any:  # fmt: skip
    """Return the gradient of `window_mean`.

    Each element gets the sum of `input` / divisor over the windows that contain it.
    Shapes: [n, c, *P] gives [n, c, *sizes].
    Host:   returns at once.
    """
    is_last = len(input.shape) == 4 and _is_last(input)
    out = _made(call, (*input.shape[:2], *sizes), input.dtype, is_last)
    if out.numel():
        ones = (1,) * len(sizes)
        windows = Windows(sizes, tuple(input.shape[2:]), kernel, stride, padding, ones, bool(is_adaptive))
        layouts = _layouts(out, input)
        chosen = mean_backward_kernel(input.dtype, windows.are_far(layouts))
        numbers = *windows.numbers(), int(counts_padding), divisor
        call.launch(chosen, _grid(out), out, input, *layouts, *numbers)
    return out


@window_mean_backward.derivative
def _(
    grad: Any, input_shape: Any, kernel: Any, stride: Any, padding: Any, is_adaptive: bool, counts_padding: bool,
    divisor: int,
) -> Any:  # fmt: skip
    windows = kernel, stride, padding, tuple(input_shape[2:]), is_adaptive, counts_padding, divisor
    return window_mean(grad, *windows)


# checks


def per_dimension(name: str, what: str, value: Any, count: int) -> Sizes:
    """Return one int for each spatial dimension, of an int or of a list.  Raises ArgumentTypeError, ValueRangeError."""
    listed = [value] if hasattr(value, "__index__") else value
    if not isinstance(listed, (tuple, list)) or not st.are_integers(listed):
        raise ArgumentTypeError(
            f"{what} must be an int or a list of ints, got {shown(value)}",
            hint=f"as in {what}={(2,) * count}",
            operator=name,
        )
    if len(listed) not in (1, count):
        raise ValueRangeError(
            f"{what} must either be a single int, or a tuple of {count} ints, got {shown(value)}",
            hint=f"as in {what}={(2,) * count}",
            operator=name,
        )
    numbers = tuple(number.__index__() for number in listed)
    return numbers * count if len(numbers) == 1 else numbers


def _positive(name: str, what: str, value: Any, count: int) -> Sizes:
    numbers = per_dimension(name, what, value, count)
    if min(numbers) < 1:
        raise ValueRangeError(
            f"{what} should be greater than zero, but got {what}={list(numbers)}", hint="use 1 or more", operator=name
        )
    return numbers


def _batch(name: str, input: Any, spatial: int) -> Any:
    """Return the input with a batch dimension.  Raises ShapeError unless it has the dimensions of images."""
    ndim = len(input.shape)
    if ndim not in (spatial + 1, spatial + 2) or 0 in input.shape[ndim - spatial - 1 :]:
        raise ShapeError(
            f"Expected {spatial + 1}D or {spatial + 2}D (batch mode) tensor with optional 0 dim batch size for input, "
            f"but got: {list(input.shape)}",
            hint="dimensions are (batch, channels, *spatial), or without batch; only the batch may be empty",
            operator=name,
        )
    return input if ndim == spatial + 2 else input.unsqueeze(0)


def _placed(
    name: str, shape: Sizes, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[Sizes, Sizes, Sizes, Sizes, Sizes]:
    """Return (kernel, stride, padding, dilation, sizes of the result).  Raises ValueRangeError, ShapeError."""
    count = len(shape)
    kernel = _positive(name, "kernel_size", kernel_size, count)
    is_given = stride is not None and not (isinstance(stride, (tuple, list)) and not stride)
    step = _positive(name, "stride", stride, count) if is_given else kernel
    pad, spread = per_dimension(name, "padding", padding, count), _positive(name, "dilation", dilation, count)
    reach = tuple((size - 1) * apart + 1 for size, apart in zip(kernel, spread))
    if any(not 0 <= front <= span // 2 for front, span in zip(pad, reach)):
        raise ValueRangeError(
            f"pad should be at most half of effective kernel size and not negative, but got pad={list(pad)}, "
            f"kernel_size={list(kernel)} and dilation={list(spread)}",
            hint="use a larger kernel or less padding",
            operator=name,
        )
    sizes = []
    for size, span, front, by in zip(shape, reach, pad, step):
        places = (size + 2 * front - span + (by - 1 if ceil_mode else 0)) // by + 1
        if ceil_mode and (places - 1) * by >= size + front:  # the last window would begin after the end of the image
            places -= 1
        sizes.append(places)
    if min(sizes) < 1:
        raise ShapeError(
            f"Given input size: {list(shape)}, kernel_size={list(kernel)}. Calculated output size: {sizes}. Output "
            "size is too small",
            hint="use a smaller kernel",
            operator=name,
        )
    return kernel, step, pad, spread, tuple(sizes)


def _check_type(name: str, input: Any, allowed: Sequence[dtype]) -> None:
    if input.dtype not in allowed:
        wanted = "floating point or int64" if int64 in allowed else "floating point"
        raise DtypeError(
            f"input must be {'of a numeric type' if allowed == ALL[1:] else wanted}, got {input.dtype.name}",
            hint="convert with .float()",
            operator=name,
        )


def _unbatched(result: Any, input: Any, spatial: int) -> Any:
    return result if len(input.shape) == spatial + 2 else result.squeeze(0)


# max pooling


def _maxima(
    name: str, spatial: int, input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> Any:
    """Return (maxima, indices)."""
    batch = _batch(name, input, spatial)
    _check_type(name, input, ALL[1:])
    placed = _placed(name, tuple(input.shape[-spatial:]), kernel_size, stride, padding, dilation, ceil_mode)
    out, indices = window_max(batch, *placed, False)
    return _unbatched(out, input, spatial), _unbatched(indices, input, spatial)


def _shape_of(spatial: int, *sizes: int) -> Sizes:
    """Return the shape of a sample: batch, channels, and the last `spatial` of its three spatial sizes."""
    return sizes[:2] + sizes[-spatial:]


def _max_samples(spatial: int) -> Any:
    def samples() -> Iterator[Sample]:
        x = Array(_shape_of(spatial, 2, 2, 2, 4, 5), -2, 2)
        yield Sample((x, 2))
        yield Sample((x, (2,) * spatial, 1, 1), {"ceil_mode": True})
        yield Sample((x._replace(layout="strided"), 2, 2, 0, 1, True))
        yield Sample((Array(x.shape[1:], -2, 2), 1, 2))
        yield Sample((Array((0, *x.shape[1:])), 2))

    return samples


def _pool_errors(spatial: int, dilated: bool = True) -> Any:
    def errors() -> Iterator[ErrorSample]:
        x = Array(_shape_of(spatial, 1, 2, 4, 4, 4))
        yield ErrorSample((Array((4,)), 2), ShapeError, rf"Expected {spatial + 1}D .* but got: \[4\]")
        yield ErrorSample((Array((1, 0, *x.shape[2:])), 2), ShapeError, r"but got: \[1, 0, 4")
        yield ErrorSample((x, 0), ValueRangeError, r"kernel_size=\[0")
        yield ErrorSample((x, 2, 0), ValueRangeError, r"stride=\[0")
        yield ErrorSample((x, 2, 2, 2), ValueRangeError, r"pad=\[2.*kernel_size=\[2")
        yield ErrorSample((x, (2, 2, 2, 2)), ValueRangeError, rf"tuple of {spatial} ints, got \(2, 2, 2, 2\)")
        yield ErrorSample((x, 5), ShapeError, r"input size: \[4.*output size: \[0")
        yield ErrorSample((x._replace(dtype="bool"), 2), DtypeError, "got bool")
        if dilated:
            yield ErrorSample((x, 2), ValueRangeError, r"dilation=\[0", {"dilation": 0})

    return errors


def _define_max(spatial: int, function: bool = True) -> Any:
    return composite(
        samples=_max_samples(spatial), errors=_pool_errors(spatial), dtypes=(*FLOATING_TYPES, int64), method=False,
        function=function,
    )  # fmt: skip


@_define_max(1)
def max_pool1d(
    input: Operand, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    """Return the largest element of each window of sequences.

    stride: the step between windows; None is kernel_size.  padding: the number of elements added at each end;
    they are never the largest.
    dilation: the step between a window's elements.  ceil_mode: whether the last window may end outside the sequence.
    Shapes: [n, c, l] or [c, l] gives [n, c, m] or [c, m], where m = (l + 2 * padding - dilation * (kernel_size - 1) -
            1) / stride + 1, rounded down, or up with ceil_mode.
    Host:   returns at once.
    Raises: ShapeError for another number of dimensions, or a result without elements, DtypeError for bool,
            ValueRangeError for a kernel_size, stride, padding or dilation out of range.
    Example:
        >>> torch.max_pool1d(torch.tensor([[1.0, 3.0, 2.0, 5.0, 4.0]]), 2)
        tensor([[3., 5.]])
    """
    return _maxima("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode)[0]


@_define_max(2)
def max_pool2d(
    input: Operand, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    """Return the largest element of each window of images.

    The arguments are those of `max_pool1d`; in place of a number, a tuple of two has one for each of h and w.
    Shapes: [n, c, h, w] or [c, h, w] gives [n, c, p, q] or [c, p, q], each size as in `max_pool1d`.
    Host:   returns at once.
    Raises: ShapeError for another number of dimensions, or a result without elements, DtypeError for bool,
            ValueRangeError for a kernel_size, stride, padding or dilation out of range.
    Example:
        >>> torch.max_pool2d(torch.arange(16.0).reshape(1, 4, 4), 2)
        tensor([[[ 5.,  7.],
                 [13., 15.]]])
    """
    return _maxima("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode)[0]


@_define_max(3)
def max_pool3d(
    input: Operand, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    """Return the largest element of each window of volumes.

    The arguments are those of `max_pool1d`; in place of a number, a tuple of three has one for each of d, h and w.
    Shapes: [n, c, d, h, w] or [c, d, h, w] gives [n, c, o, p, q] or [c, o, p, q], each size as in `max_pool1d`.
    Host:   returns at once.
    Raises: ShapeError for another number of dimensions, or a result without elements, DtypeError for bool,
            ValueRangeError for a kernel_size, stride, padding or dilation out of range.
    Example:
        >>> torch.max_pool3d(torch.ones(1, 2, 4, 4, 4), (2, 4, 1)).shape
        torch.Size([1, 2, 2, 1, 4])
    """
    return _maxima("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode)[0]


@_define_max(1)
def max_pool1d_with_indices(
    input: Operand, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    """Return (maxima, indices): the result of `max_pool1d`, and the index of each maximum in its sequence.

    Shapes: both have the shape of the result of `max_pool1d`; indices are int64.
    Host:   returns at once.
    Raises: ShapeError for another number of dimensions, or a result without elements, DtypeError for bool,
            ValueRangeError for a kernel_size, stride, padding or dilation out of range.
    Example:
        >>> torch.max_pool1d_with_indices(torch.tensor([[1.0, 3.0, 2.0, 5.0, 4.0]]), 2)[1]
        tensor([[1, 3]])
    """
    return _maxima("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode)


@_define_max(2, function=False)
def max_pool2d_with_indices(
    input: Operand, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    """Return (`max_pool2d`, the place of each maximum in its plane, counted row by row).

    Shapes: as `max_pool2d`, twice; places are int64.
    Host:   returns at once.
    Raises: ShapeError for another number of dimensions, or a result without elements, DtypeError for bool,
            ValueRangeError for a kernel_size, stride, padding or dilation out of range.
    """
    return _maxima("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode)


@_define_max(3, function=False)
def max_pool3d_with_indices(
    input: Operand, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    """Return (`max_pool3d`, the place of each maximum in its volume, counted row by row).

    Shapes: as `max_pool3d`, twice; places are int64.
    Host:   returns at once.
    Raises: ShapeError for another number of dimensions, or a result without elements, DtypeError for bool,
            ValueRangeError for a kernel_size, stride, padding or dilation out of range.
    """
    return _maxima("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode)


# average pooling


def _means(
    name: str, spatial: int, input: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Any:  # fmt: skip
    batch = _batch(name, input, spatial)
    _check_type(name, input, (*FLOATING_TYPES, int64))
    if divisor_override == 0:
        raise ValueRangeError(
            "divisor must be not zero, got divisor_override=0",
            hint="pass another number, or None to divide by the window's size",
            operator=name,
        )
    kernel, step, pad, _, sizes = _placed(
        name, tuple(input.shape[-spatial:]), kernel_size, stride, padding, 1, ceil_mode
    )
    if spatial == 3 and any(have < size for have, size in zip(batch.shape[2:], kernel)):
        raise ShapeError(
            f"input image of size {list(batch.shape[2:])} is smaller than kernel size {list(kernel)}",
            hint="use a smaller kernel",
            operator=name,
        )
    divisor = 0 if divisor_override is None else int(divisor_override)
    if input.dtype is int64:
        return _unbatched(
            _whole_means(batch, kernel, step, pad, sizes, bool(count_include_pad), divisor), input, spatial
        )
    out = window_mean(batch, kernel, step, pad, sizes, False, bool(count_include_pad), divisor)
    return _unbatched(out, input, spatial)


def _whole_means(
    batch: Any, kernel: Sizes, step: Sizes, pad: Sizes, sizes: Sizes, counts_padding: bool, divisor: int
) -> Any:  # fmt: skip
    """Compute `window_mean` of int64 exactly: sums of integers, and quotients rounded toward 0."""
    borders: list[int] = []
    counts: Any = divisor
    dims = range(len(kernel))
    for dim in dims:
        have, size, ahead = batch.shape[2 + dim], kernel[dim], pad[dim]
        borders[:0] = ahead, (sizes[dim] - 1) * step[dim] + size - ahead - have
        if not divisor:
            first = arange(batch.new_empty((sizes[dim],), dtype=int64), -ahead, step[dim])
            last = (first + size).clamp(max=have + ahead)
            counted = last - first if counts_padding else last.clamp(max=have) - first.clamp(min=0)
            counted = counted.reshape((-1, *(1,) * (len(kernel) - 1 - dim)))
            counts = counted if dim == 0 else counts * counted
    windows: Any = constant_pad_nd(batch, borders)
    for dim in dims:
        windows = windows.unfold(2 + dim, kernel[dim], step[dim])
    sums = windows.sum([-1 - dim for dim in dims])
    if len(sizes) == 2 and _is_last(batch):
        sums = sums.contiguous(memory_format=memory_formats.channels_last)
    return sums.div(counts, rounding_mode="trunc")


def _mean_samples(spatial: int) -> Any:
    def samples() -> Iterator[Sample]:
        x = Array(_shape_of(spatial, 2, 2, 2, 4, 5), -2, 2)
        yield Sample((x, 2))
        yield Sample((x, (2,) * spatial, 1, 1), {"ceil_mode": True})
        yield Sample((x._replace(layout="strided"), 2, 2, 1, True, False))
        yield Sample((Array(x.shape[1:], -2, 2), 1, 2))
        yield Sample((Array((0, *x.shape[1:])), 2))
        if spatial > 1:
            yield Sample((x, 2), {"divisor_override": 3})

    return samples


def _define_mean(spatial: int) -> Any:
    return composite(
        samples=_mean_samples(spatial), errors=_pool_errors(spatial, dilated=False), dtypes=(*FLOATING_TYPES, int64),
        method=False, function=spatial == 1,
    )  # fmt: skip


@_define_mean(1)
def avg_pool1d(
    input: Operand, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:  # fmt: skip
    """Compute the mean of each window of sequences.

    padding: the number of zeros added at each end.  count_include_pad: whether they count as elements of a window.
    stride: the step between windows; None is kernel_size.
    ceil_mode: whether the last window may end outside the padded sequence.
    Shapes: [n, c, l] or [c, l] gives [n, c, m] or [c, m], where m = (l + 2 * padding - kernel_size) / stride + 1,
            rounded down, or up with ceil_mode.
    Host:   returns at once.
    Raises: ShapeError for another number of dimensions, or a result without elements, DtypeError for integers,
            ValueRangeError for a kernel_size, stride or padding out of range.
    Example:
        >>> torch.avg_pool1d(torch.tensor([[1.0, 3.0, 2.0, 5.0]]), 2)
        tensor([[2.0000, 3.5000]])
    """
    return _means("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


@_define_mean(2)
def avg_pool2d(
    input: Operand, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    """Compute the mean of each window of images.

    kernel_size, stride, padding: an int, or one for each dimension.  Other arguments: see `avg_pool1d`.
    divisor_override: the divisor of the sum of a window, in place of the number of elements.
    Shapes: [n, c, h, w] or [c, h, w] gives [n, c, p, q] or [c, p, q], where p * q is the number of windows.
    Host:   returns at once.
    Raises: ShapeError for another number of dimensions, or a result without elements, DtypeError for integers,
            ValueRangeError for a kernel_size, stride or padding out of range.
    Example:
        >>> torch.nn.functional.avg_pool2d(torch.arange(16.0).reshape(1, 4, 4), 2)
        tensor([[[ 2.5000,  4.5000],
                 [10.5000, 12.5000]]])
    """
    numbers = kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    return _means("avg_pool2d", 2, input, *numbers)


@_define_mean(3)
def avg_pool3d(
    input: Operand, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    """Compute the mean of each window of volumes.

    kernel_size, stride, padding: an int, or one for each of three dimensions.  Other arguments: see `avg_pool2d`.
    Shapes: [n, c, d, h, w] or [c, d, h, w] gives [n, c, o, p, q] or [c, o, p, q], where o * p * q is the number of
            windows.
    Host:   returns at once.
    Raises: ShapeError for another number of dimensions, or a result without elements, DtypeError for integers,
            ValueRangeError for a kernel_size, stride or padding out of range.
    Example:
        >>> torch.nn.functional.avg_pool3d(torch.ones(1, 2, 4, 4, 4), (2, 4, 1)).shape
        torch.Size([1, 2, 2, 1, 4])
    """
    numbers = kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    return _means("avg_pool3d", 3, input, *numbers)


# adaptive pooling


def _adapted(name: str, input: Any, output_size: Any, spatial: int) -> tuple[Any, Sizes, tuple[Any, ...]]:
    """Return (input with a batch dimension, sizes of the result, (kernel, stride, padding, is adaptive))."""
    batch = _batch(name, input, spatial)
    _check_type(name, input, FLOATING_TYPES)
    own = tuple(input.shape[-spatial:])
    listed = [output_size] * spatial if output_size is None or hasattr(output_size, "__index__") else output_size
    if isinstance(listed, (tuple, list)) and len(listed) == 1:
        listed = [*listed] * spatial
    if not isinstance(listed, (tuple, list)) or not st.are_integers([0 if size is None else size for size in listed]):
        raise ArgumentTypeError(
            f"output_size must be an int, ints or None, got {shown(output_size)}",
            hint=f"as in output_size={(2,) * spatial}; None keeps a size",
            operator=name,
        )
    if len(listed) != spatial:
        raise ValueRangeError(
            f"output_size must have {spatial} entries, one for each spatial dimension, got {shown(output_size)}",
            hint=f"as in output_size={(2,) * spatial}; None keeps a size",
            operator=name,
        )
    sizes = tuple(size if wanted is None else wanted.__index__() for wanted, size in zip(listed, own))
    if min(sizes) < 0:
        raise ValueRangeError(
            f"elements of output_size must be greater than or equal to 0, got {list(sizes)}",
            hint="use None for a dimension that keeps its size",
            operator=name,
        )
    zeros = (0,) * spatial
    if all(size and not have % size for have, size in zip(own, sizes)):
        kernel = tuple(have // size for have, size in zip(own, sizes))
        return batch, sizes, (kernel, kernel, zeros, False)
    ones = (1,) * spatial
    return batch, sizes, (ones, ones, zeros, True)


def _adaptive_mean(name: str, spatial: int, input: Any, output_size: Any) -> Any:
    batch, sizes, (kernel, step, pad, is_adaptive) = _adapted(name, input, output_size, spatial)
    return _unbatched(window_mean(batch, kernel, step, pad, sizes, is_adaptive, True, 0), input, spatial)


def _adaptive_max(name: str, spatial: int, input: Any, output_size: Any) -> Any:
    batch, sizes, (kernel, step, pad, is_adaptive) = _adapted(name, input, output_size, spatial)
    out, indices = window_max(batch, kernel, step, pad, (1,) * spatial, sizes, is_adaptive)
    return _unbatched(out, input, spatial), _unbatched(indices, input, spatial)


def _adaptive_samples(spatial: int) -> Any:
    def samples() -> Iterator[Sample]:
        x = Array(_shape_of(spatial, 2, 2, 2, 5, 4), -2, 2)
        yield Sample((x, 1))
        yield Sample((x, 3))
        yield Sample((x._replace(layout="strided"), (2,) * spatial))
        yield Sample((Array(x.shape[1:], -2, 2), 2))
        yield Sample((Array((0, *x.shape[1:])), 3))
        if spatial > 1:
            yield Sample((x, (None,) * (spatial - 1) + (7,)))

    return samples


def _adaptive_errors(spatial: int) -> Any:
    def errors() -> Iterator[ErrorSample]:
        x = Array(_shape_of(spatial, 1, 2, 4, 4, 4))
        yield ErrorSample((Array((4,)), 2), ShapeError, rf"Expected {spatial + 1}D .* but got: \[4\]")
        yield ErrorSample((Array((1, 0, *x.shape[2:])), 2), ShapeError, r"but got: \[1, 0, 4")
        yield ErrorSample((x, -1), ValueRangeError, r"got \[-1")
        yield ErrorSample((x, (1, 1, 1, 1)), ValueRangeError, rf"must have {spatial} entries, .* got \(1, 1, 1, 1\)")
        yield ErrorSample((x._replace(dtype="int64"), 2), DtypeError, "floating point, got int64")

    return errors


def _define_adaptive(spatial: int) -> Any:
    return composite(
        samples=_adaptive_samples(spatial), errors=_adaptive_errors(spatial), dtypes=FLOATING_TYPES, method=False,
        function=spatial == 1,
    )  # fmt: skip


@_define_adaptive(1)
def adaptive_avg_pool1d(input: Operand, output_size: Any) -> Any:
    """Divide sequences into `output_size` windows of about equal size, and compute the mean of each window.

    output_size: an int, or a sequence of one int.
    Shapes: [n, c, l] or [c, l] gives [n, c, output_size] or [c, output_size].  Window i holds the elements from
            floor(i * l / output_size) to ceil((i + 1) * l / output_size) - 1.
    Host:   returns at once.
    Raises: ShapeError for another number of dimensions, DtypeError for integers, ValueRangeError for a negative
            output_size, or a sequence of another length.
    Example:
        >>> torch.adaptive_avg_pool1d(torch.tensor([[1.0, 3.0, 5.0]]), 2)
        tensor([[2., 4.]])
    """
    return _adaptive_mean("adaptive_avg_pool1d", 1, input, output_size)


@_define_adaptive(2)
def adaptive_avg_pool2d(input: Operand, output_size: Any) -> Any:
    """Compute the mean of each of `output_size` windows that together cover an image, all of about one size.

    output_size: an int or two; None keeps a size.  The windows are those of `adaptive_avg_pool1d`, in each dimension.
    Shapes: [n, c, h, w] or [c, h, w] gives [n, c, *output_size] or [c, *output_size].
    Host:   returns at once.
    Raises: ShapeError for another number of dimensions, DtypeError for integers, ValueRangeError for a negative
            output_size, or a sequence of another length.
    Example:
        >>> torch.nn.functional.adaptive_avg_pool2d(torch.arange(6.0).reshape(1, 2, 3), (None, 1))
        tensor([[[1.],
                 [4.]]])
    """
    return _adaptive_mean("adaptive_avg_pool2d", 2, input, output_size)


@_define_adaptive(3)
def adaptive_avg_pool3d(input: Operand, output_size: Any) -> Any:
    """Compute the mean of each of `output_size` windows that together cover a volume, all of about one size.

    output_size: an int or three; None keeps a size.  The windows are those of `adaptive_avg_pool1d`, in each dimension.
    Shapes: [n, c, d, h, w] or [c, d, h, w] gives [n, c, *output_size] or [c, *output_size].
    Host:   returns at once.
    Raises: ShapeError for another number of dimensions, DtypeError for integers, ValueRangeError for a negative
            output_size, or a sequence of another length.
    Example:
        >>> torch.nn.functional.adaptive_avg_pool3d(torch.ones(1, 2, 4, 5, 6), (2, None, 1)).shape
        torch.Size([1, 2, 2, 5, 1])
    """
    return _adaptive_mean("adaptive_avg_pool3d", 3, input, output_size)


@_define_adaptive(1)
def adaptive_max_pool1d(input: Operand, output_size: Any) -> Any:
    """Divide sequences into `output_size` windows of about equal size, and return (maxima, indices) of the windows.

    output_size: an int, or a sequence of one int.  The windows are those of `adaptive_avg_pool1d`.  An index is a
    position in the whole sequence.
    Shapes: [n, c, l] or [c, l] gives [n, c, output_size] or [c, output_size], twice; indices are int64.
    Host:   returns at once.
    Raises: ShapeError for another number of dimensions, DtypeError for integers, ValueRangeError for a negative
            output_size, or a sequence of another length.
    Example:
        >>> torch.adaptive_max_pool1d(torch.tensor([[1.0, 3.0, 5.0]]), 2)
        (tensor([[3., 5.]]), tensor([[1, 2]]))
    """
    return _adaptive_max("adaptive_max_pool1d", 1, input, output_size)


@_define_adaptive(2)
def adaptive_max_pool2d(input: Operand, output_size: Any) -> Any:
    """Compute `adaptive_max_pool1d` for images; places are counted row by row.

    Shapes: [n, c, h, w] or [c, h, w] gives [n, c, *output_size] or [c, *output_size], twice.
    Host:   returns at once.
    Raises: ShapeError for another number of dimensions, DtypeError for integers, ValueRangeError for a negative
            output_size, or a sequence of another length.
    """
    return _adaptive_max("adaptive_max_pool2d", 2, input, output_size)


@_define_adaptive(3)
def adaptive_max_pool3d(input: Operand, output_size: Any) -> Any:
    """Compute `adaptive_max_pool1d` for volumes; places are counted row by row.

    Shapes: [n, c, d, h, w] or [c, d, h, w] gives [n, c, *output_size] or [c, *output_size], twice.
    Host:   returns at once.
    Raises: ShapeError for another number of dimensions, DtypeError for integers, ValueRangeError for a negative
            output_size, or a sequence of another length.
    """
    return _adaptive_max("adaptive_max_pool3d", 3, input, output_size)


# unfold and fold


def _sliding(name: str, shape: Sizes, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Windows:
    """Return the windows of an image.  Raises ValueRangeError, ShapeError."""
    count = len(shape)
    kernel = _positive(name, "kernel_size", kernel_size, count)
    spread, step = _positive(name, "dilation", dilation, count), _positive(name, "stride", stride, count)
    pad = per_dimension(name, "padding", padding, count)
    if min(pad) < 0:
        raise ValueRangeError(
            f"padding should be non-negative, but got padding={list(pad)}", hint="use 0 or more", operator=name
        )
    lengths = zip(shape, pad, spread, kernel, step)
    places = tuple((size + 2 * p - d * (k - 1) - 1) // s + 1 for size, p, d, k, s in lengths)
    if min(places) < 1:
        raise ShapeError(
            f"Given input with spatial size {shape}, kernel_size={kernel}, dilation={spread}, padding={pad}, "
            f"calculated shape of the array of sliding blocks as {places}, but its components must be at least one",
            hint="use a smaller kernel or more padding",
            operator=name,
        )
    return Windows(shape, places, kernel, step, pad, spread)


def _column_samples() -> Iterator[Sample]:
    x = _x(2, 2, 4, 3)
    yield Sample((x, 2))
    yield Sample((x, (3, 2), (1, 2), (1, 1), (2, 1)))
    yield Sample((_x(2, 4, 3, layout="strided"), 2, 1, 1))
    yield Sample((_x(0, 2, 4, 3), 2))


def _column_errors() -> Iterator[ErrorSample]:
    x = Array((1, 2, 4, 4))
    yield ErrorSample((Array((4, 4)), 2), ShapeError, r"Expected 3D or 4D .* but got: \[4, 4\]")
    yield ErrorSample((x, 0), ValueRangeError, r"kernel_size=\[0")
    yield ErrorSample((x, 2, 0), ValueRangeError, r"dilation=\[0")
    yield ErrorSample((x, 2, 1, -1), ValueRangeError, r"padding=\[-1")
    yield ErrorSample((x, 2, 1, 0, 0), ValueRangeError, r"stride=\[0")
    yield ErrorSample((x, 6), ShapeError, r"size \(4, 4\), kernel_size=\(6, 6\).*as \(-1, -1\)")
    yield ErrorSample((x._replace(dtype="int64"), 2), DtypeError, "got int64")


_COLUMN_TYPES = (*FLOATING_TYPES, bool_)


@operator(
    samples=_column_samples, errors=_column_errors, dtypes=_COLUMN_TYPES, method=False, function=False, name="im2col",
    called="unfold",
)  # fmt: skip
def im2col(call: Call, input: Operand, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Return the elements of each window of images, as columns.

    padding: zeros at both ends.  dilation: the step between a window's elements.
    Shapes: [n, c, h, w] or [c, h, w] gives [n, c * k * l, windows] or [c * k * l, windows].
    Host:   returns at once.
    Raises: ShapeError if the shape does not fit, DtypeError for integers, ValueRangeError for a kernel_size, stride,
            padding or dilation out of range.
    """
    _check_images("unfold", input)
    batch = input.shape if len(input.shape) == 4 else (1, *input.shape)
    windows = _sliding("unfold", tuple(batch[2:]), kernel_size, dilation, padding, stride)
    rows, places = batch[1] * prod(windows.kernel), prod(windows.places)
    lead = tuple(input.shape[:-3])
    out = call.output((*lead, rows, places), input.dtype)
    if out.numel():
        steps = input.strides if len(input.shape) == 4 else (0, *input.strides)
        layout = (*batch[:2], 1, *batch[2:]), [(*steps[:2], 0, *steps[2:])]
        numbers = (*windows.numbers(), batch[0], rows * places)
        chosen = columns_kernel(input.dtype, windows.are_far([layout, ((out.numel(),), [(1,)])]))
        call.launch(chosen, grid_over(out.numel(), 1), out, input, layout, *numbers)
    return out


def _check_images(name: str, input: Any) -> None:
    if len(input.shape) not in (3, 4) or 0 in input.shape[-3:]:
        raise ShapeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
            f"but got: {list(input.shape)}",
            hint="dimensions are (batch, channels, height, width), or without batch",
            operator=name,
        )
    _check_type(name, input, _COLUMN_TYPES)


@im2col.derivative
def _(grad: Any, input_shape: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    return col2im(grad, tuple(input_shape[-2:]), kernel_size, dilation, padding, stride)


def _sum_samples() -> Iterator[Sample]:
    yield Sample((_x(2, 8, 6), (4, 3), 2))
    yield Sample((_x(1, 6, 6, layout="transposed"), (4, 3), (3, 2), (1, 2), (1, 1), (2, 1)))
    yield Sample((_x(8, 20, layout="strided"), (4, 3), 2, 1, 1))
    yield Sample((_x(0, 8, 6), (4, 3), 2))


def _sum_errors() -> Iterator[ErrorSample]:
    x = Array((1, 8, 9))
    yield ErrorSample((Array((4,)), (4, 4), 2), ShapeError, r"Expected 2D or 3D .* but got: \[4\]")
    yield ErrorSample((Array((1, 7, 9)), (4, 4), 2), ShapeError, r"divisible by .* input.size\(1\)=7 .*\(2, 2\)")
    yield ErrorSample((Array((1, 8, 8)), (4, 4), 2), ShapeError, r"3 \* 3 = 9, but got input.size\(2\)=8")
    yield ErrorSample((x, (4, 4), 0), ValueRangeError, r"kernel_size=\[0")
    yield ErrorSample((x, (4, 4), 2, 1, 0, 0), ValueRangeError, r"stride=\[0")
    yield ErrorSample((x, (1, 1), 2), ShapeError, r"size \(1, 1\), kernel_size=\(2, 2\)")
    yield ErrorSample((x._replace(dtype="int64"), (4, 4), 2), DtypeError, "got int64")


@operator(
    samples=_sum_samples, errors=_sum_errors, dtypes=FLOATING_TYPES, method=False, function=False, name="col2im",
    called="fold",
)  # fmt: skip
def col2im(
    call: Call, input: Operand, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Any:
    """Add up columns to images: each pixel is the sum of the column elements that `unfold` takes from it.

    Shapes: [n, c * k * l, windows] or [c * k * l, windows] gives [n, c, *output_size] or [c, *output_size].
    Host:   returns at once.
    Raises: ShapeError if the shape does not fit, DtypeError for integers, ValueRangeError for a kernel_size, stride,
            padding or dilation out of range.
    """
    if len(input.shape) not in (2, 3) or 0 in input.shape[-2:]:
        raise ShapeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(input.shape)}",
            hint="dimensions are (batch, channels * kernel sizes, windows), or without batch",
            operator="fold",
        )
    _check_type("fold", input, FLOATING_TYPES)
    shape = _positive("fold", "output_size", output_size, 2)
    windows = _sliding("fold", shape, kernel_size, dilation, padding, stride)
    *lead, rows, places = input.shape
    terms, blocks = prod(windows.kernel), prod(windows.places)
    if rows % terms:
        raise ShapeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={rows} and kernel_size={windows.kernel}",
            hint=f"each channel has {terms} rows",
            operator="fold",
        )
    if places != blocks:
        raise ShapeError(
            f"Given output_size={shape}, kernel_size={windows.kernel}, dilation={windows.dilation}, "
            f"padding={windows.padding}, stride={windows.stride}, expected size of input's dimension 2 to match the "
            f"calculated number of sliding blocks {' * '.join(map(str, windows.places))} = {blocks}, but got "
            f"input.size(2)={places}",
            hint="pass an input as unfold with the same arguments returns it",
            operator="fold",
        )
    out = call.output((*lead, rows // terms, *shape), input.dtype)
    if out.numel():
        columns = call.contiguous(input)
        batch = lead[0] if lead else 1
        layout = (batch, rows // terms, 1, *shape), [st.contiguous((batch, rows // terms, 1, *shape))]
        numbers = (*windows.numbers(), batch, rows * places)
        chosen = sum_columns_kernel(input.dtype, windows.are_far([layout, ((columns.numel(),), [(1,)])]))
        call.launch(chosen, grid_over(out.numel(), 1), out, columns, layout, *numbers)
    return out


@col2im.derivative
def _(grad: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    return im2col(grad, kernel_size, dilation, padding, stride)


# fractional max pooling


def _fractional_samples() -> Iterator[Sample]:
    yield Sample((_x(2, 2, 6, 5), Array((2, 2, 2), 0, 1, seed=1, grad=False), (2, 2), (3, 2)))
    yield Sample((_x(1, 1, 4, 5, 3), Array((1, 1, 3), 0, 1, seed=1, grad=False), (2, 1, 2), (2, 3, 1)))


@composite(samples=_fractional_samples, dtypes=FLOATING_TYPES, method=False, function=False)
def fractional_maxima(input: Operand, samples: Operand, kernel: Any, sizes: Any) -> Any:
    """Return (largest element of each window, its index in the plane) for windows at random places.

    samples: numbers in [0, 1), one for each plane and dimension; for images the first one is that of the width.
    Shapes: [n, c, *I] with samples [n, c, d] gives [n, c, *sizes] and int64 [n, c, *sizes].
    Host:   returns at once.
    """
    own, spatial = tuple(input.shape[2:]), len(sizes)
    flat: Any = 0
    for dim, (size, k, places) in enumerate(zip(own, kernel, sizes)):
        sample = select(samples, 2, spatial - 1 - dim if spatial == 2 else dim)
        elements = _window_starts(sample, size, k, places).unsqueeze(-1) + _counted(samples, k)  # [n, c, places, k]
        shape = [*input.shape[:2], *(1,) * (2 * spatial)]
        shape[2 + dim], shape[2 + spatial + dim] = places, k
        flat = elements.reshape(shape) + flat * size
    flat = flat.reshape((*input.shape[:2], *sizes, prod(kernel)))
    windows = gather(flatten(input, 2), 2, flatten(flat, 2)).reshape(flat.shape)
    out, which = windows.max(-1)
    return out, gather(flat, -1, which.unsqueeze(-1)).squeeze(-1)


def _counted(like: Any, count: int) -> Any:
    """Return 0 to count - 1, in int64."""
    return arange(like.new_zeros((count,), dtype=int64))


def _window_starts(sample: Any, size: int, kernel: int, places: int) -> Any:
    """Return the first element of each window of one dimension: [n, c, places]."""
    last = (sample * 0).long().unsqueeze(-1) + (size - kernel)
    if places == 1:
        return last
    step, sample = (size - kernel) / (places - 1), sample.unsqueeze(-1)
    starts = ((_counted(sample, places - 1) + sample) * step).long() - (sample * step).long()
    return cat([starts, last], -1)


# max unpooling


def _unpool_samples() -> Iterator[Sample]:
    yield Sample((_x(2, 2, 3), Array((2, 2, 3), 0, 6, dtype="int64", seed=1, grad=False), (6,)))
    yield Sample((_x(1, 2, 1, 2), Array((1, 2, 1, 2), 0, 8, dtype="int64", seed=1, grad=False), (3, 3)))


@composite(samples=_unpool_samples, dtypes=FLOATING_TYPES, method=False, function=False)
def place_maxima(input: Operand, indices: Operand, sizes: Any) -> Any:
    """Return planes of zeros with `input` at the indices: the inverse of max pooling.  Shapes are not checked.

    Of several elements with one index the last counts.
    Shapes: [..., *P] and int64 [..., *P] give [..., *sizes].
    Host:   returns at once; an index out of range raises on the CPU and stops the device on a GPU.
    """
    count = len(input.shape) - len(sizes)
    moves = memory_formats.channels_to_end(input.shape, input.strides) if count == len(sizes) == 2 else None
    if moves is not None:
        to_end, back = moves
        source: Any = flatten(permute(input, to_end), 1, 2)
        images, _, channels = source.shape
        planes = source.new_zeros((images, prod(sizes), channels))
        places = flatten(permute(indices, to_end), 1, 2)
        return permute(planes.scatter(1, places, source).reshape((images, *sizes, channels)), back)
    lead = tuple(input.shape[:count])
    source = flatten(input, count)
    planes = source.new_zeros((*lead, prod(sizes)))
    return planes.scatter(count, flatten(indices, count), source).reshape((*lead, *sizes))
