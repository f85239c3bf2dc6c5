"""Functions of pooling in torch.nn.functional that take more arguments than the operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from inspect import signature
from math import prod
from typing import Any

from ..errors import ArgumentError, ArgumentTypeError, ShapeError, ValueRangeError, naming, shown
from ..ops.operator import REGISTRY
from ..ops.pooling import per_dimension
from ..tensor import checks
from ..tensor.random import rand


def _maxima(name: str, return_indices: Any, *arguments: Any) -> Any:
    checks.tensor(name, "input", arguments[0])
    return REGISTRY[f"{name}_with_indices" if return_indices else name](*arguments)


def max_pool1d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """Return the maximum of each window of sequences; with return_indices, also its index.

    See `torch.max_pool1d` for the other arguments.
    Shapes: [n, c, l] or [c, l] gives the same dimensions, with the number of windows in place of l.
    Raises: ArgumentTypeError for sizes that are not ints, ValueRangeError for a size, stride or padding out of range,
            ShapeError for a wrong number of dimensions or an input that is smaller than the window, DtypeError for a
            bool input.
    Example:
        >>> torch.nn.functional.max_pool1d(torch.tensor([[1.0, 3.0, 2.0, 5.0]]), 2, return_indices=True)
        (tensor([[3., 5.]]), tensor([[1, 3]]))
    """
    return _maxima("max_pool1d", return_indices, input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """Return the maximum of each window of images; with return_indices, also its index in the flattened image.

    See `torch.max_pool2d` for the other arguments.
    Shapes: [n, c, h, w] or [c, h, w] gives the same dimensions, with the numbers of windows in place of h and w.
    Raises: ArgumentTypeError for sizes that are not ints, ValueRangeError for a size, stride or padding out of range,
            ShapeError for a wrong number of dimensions or an input that is smaller than the window, DtypeError for a
            bool input.
    Example:
        >>> torch.nn.functional.max_pool2d(torch.arange(8.0).reshape(1, 2, 4), 2, return_indices=True)
        (tensor([[[5., 7.]]]), tensor([[[5, 7]]]))
    """
    return _maxima("max_pool2d", return_indices, input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """Return the maximum of each window of volumes; with return_indices, also its index in the flattened volume.

    See `torch.max_pool3d` for the other arguments.
    Shapes: [n, c, d, h, w] or [c, d, h, w] gives the same dimensions, with the numbers of windows in place of d, h and
            w.
    Raises: ArgumentTypeError for sizes that are not ints, ValueRangeError for a size, stride or padding out of range,
            ShapeError for a wrong number of dimensions or an input that is smaller than the window, DtypeError for a
            bool input.
    Example:
        >>> torch.nn.functional.max_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 2)
        tensor([[[[7.]]]])
    """
    return _maxima("max_pool3d", return_indices, input, kernel_size, stride, padding, dilation, ceil_mode)


def _adaptive_maxima(name: str, input: Any, output_size: Any, return_indices: Any) -> Any:
    checks.tensor(name, "input", input)
    result = REGISTRY[name](input, output_size)
    return result if return_indices else result[0]


def adaptive_max_pool1d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Return the maximum of each of `output_size` windows that cover sequences; with return_indices, also its index.

    Shapes: [n, c, l] or [c, l] gives [n, c, output_size] or [c, output_size].
    Raises: ArgumentTypeError for an output_size that is not an int or ints, ValueRangeError for a negative one or a
            wrong count of ints, ShapeError for a wrong number of dimensions, DtypeError for an input that is not
            floating point.
    Example:
        >>> torch.nn.functional.adaptive_max_pool1d(torch.tensor([[1.0, 3.0, 5.0]]), 2)
        tensor([[3., 5.]])
    """
    return _adaptive_maxima("adaptive_max_pool1d", input, output_size, return_indices)


def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Return the maximum of each of `output_size` windows that cover images; with return_indices, also its index.

    output_size: one or two ints; None keeps a size.
    Shapes: [n, c, h, w] or [c, h, w] gives [n, c, *output_size] or [c, *output_size].
    Raises: ArgumentTypeError for an output_size that is not an int or ints, ValueRangeError for a negative one or a
            wrong count of ints, ShapeError for a wrong number of dimensions, DtypeError for an input that is not
            floating point.
    Example:
        >>> torch.nn.functional.adaptive_max_pool2d(torch.arange(6.0).reshape(1, 2, 3), (None, 1))
        tensor([[[2.],
                 [5.]]])
    """
    return _adaptive_maxima("adaptive_max_pool2d", input, output_size, return_indices)


def adaptive_max_pool3d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Return the maximum of each of `output_size` windows that cover volumes; with return_indices, also its index.

    output_size: one or three ints; None keeps a size.
    Shapes: [n, c, d, h, w] or [c, d, h, w] gives [n, c, *output_size] or [c, *output_size].
    Raises: ArgumentTypeError for an output_size that is not an int or ints, ValueRangeError for a negative one or a
            wrong count of ints, ShapeError for a wrong number of dimensions, DtypeError for an input that is not
            floating point.
    Example:
        >>> torch.nn.functional.adaptive_max_pool3d(torch.ones(1, 2, 4, 5, 6), (2, None, 1)).shape
        torch.Size([1, 2, 2, 5, 1])
    """
    return _adaptive_maxima("adaptive_max_pool3d", input, output_size, return_indices)


# LP pooling


def _norms(spatial: int, input: Any, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool) -> Any:
    name = f"lp_pool{spatial}d"
    checks.tensor(name, "input", input)
    checks.number(name, "norm_type", norm_type)
    count = prod(per_dimension(name, "kernel_size", kernel_size, spatial))
    if norm_type == 0:
        raise ArgumentError(
            "norm_type must not be 0",
            hint="pass another number: the norm takes the root of degree norm_type",
            operator=name,
        )
    with naming(name):
        if norm_type in (math.inf, -math.inf):
            sign = 1 if norm_type > 0 else -1
            return REGISTRY[f"max_pool{spatial}d"](input.abs() * sign, kernel_size, stride, 0, 1, ceil_mode) * sign
        means = REGISTRY[f"avg_pool{spatial}d"](input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
        powers = means.masked_fill(means == 0, 0)  # a sum of 0 has a gradient of 0, not the infinite one of the root
        return (powers * count).pow(1.0 / norm_type)


def lp_pool1d(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
    """Return sum(x ** norm_type) ** (1 / norm_type) of each window of sequences.

    kernel_size, stride, ceil_mode: as in `torch.max_pool1d`.

    Shapes: [n, c, l] or [c, l] gives the same dimensions, with the number of windows in place of l.
    Raises: ArgumentError if norm_type is 0, ArgumentTypeError for sizes that are not ints, ValueRangeError for a size
            or stride out of range, ShapeError for a wrong number of dimensions or an input that is smaller than the
            window, DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.functional.lp_pool1d(torch.tensor([[3.0, 4.0, 6.0, 8.0]]), 2, 2)
        tensor([[ 5., 10.]])
    """
    return _norms(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
    """Return sum(x ** norm_type) ** (1 / norm_type) of each window of images.

    kernel_size, stride, ceil_mode: as in `torch.max_pool2d`.

    Shapes: [n, c, h, w] or [c, h, w] gives the same dimensions, with the numbers of windows in place of h and w.
    Raises: ArgumentError if norm_type is 0, ArgumentTypeError for sizes that are not ints, ValueRangeError for a size
            or stride out of range, ShapeError for a wrong number of dimensions or an input that is smaller than the
            window, DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.functional.lp_pool2d(torch.ones(1, 2, 4), 2, 2)
        tensor([[[2., 2.]]])
    """
    return _norms(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
    """Return sum(x ** norm_type) ** (1 / norm_type) of each window of volumes.

    kernel_size, stride, ceil_mode: as in `torch.max_pool3d`.

    Shapes: [n, c, d, h, w] or [c, d, h, w] gives the same dimensions, with the numbers of windows in place of d, h and
            w.
    Raises: ArgumentError if norm_type is 0, ArgumentTypeError for sizes that are not ints, ValueRangeError for a size
            or stride out of range, ShapeError for a wrong number of dimensions or an input that is smaller than the
            window, DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.functional.lp_pool3d(torch.ones(1, 2, 2, 4), 1, 2)
        tensor([[[[8., 8.]]]])
    """
    return _norms(3, input, norm_type, kernel_size, stride, ceil_mode)


# fractional max pooling


def _fractional(
    spatial: int, input: Any, kernel_size: Any, output_size: Any, output_ratio: Any, return_indices: Any, samples: Any
) -> Any:
    name = f"fractional_max_pool{spatial}d"
    checks.tensor(name, "input", input)
    if input.ndim not in (spatial + 1, spatial + 2):
        raise ShapeError(
            f"expected {spatial + 1}D or {spatial + 2}D tensor, but got: {list(input.shape)}",
            hint="dimensions are (batch, channels, *spatial), or without batch",
            operator=name,
        )
    kernel, own = per_dimension(name, "kernel_size", kernel_size, spatial), tuple(input.shape[-spatial:])
    sizes = _fractional_sizes(name, own, output_size, output_ratio)
    room = 0 if spatial == 2 else 1  # in three dimensions, one more element is required
    if any(k < 1 or size < 1 or size + k - 1 + room > have for k, size, have in zip(kernel, sizes, own)):
        raise ShapeError(
            f"kernel_size={list(kernel)} and output_size={list(sizes)} do not fit input of size {list(own)}",
            hint=f"output_size + kernel_size may be at most the size{' + 1' if spatial == 2 else ''}",
            operator=name,
        )
    batch = input if input.ndim == spatial + 2 else input.unsqueeze(0)
    shape = *batch.shape[:2], spatial
    with naming(name):
        if samples is None:
            samples = rand(shape, dtype=input.dtype, device=input.device)
        checks.tensor(name, "_random_samples", samples)
        if tuple(samples.shape) != shape:
            raise ShapeError(
                f"_random_samples must have the shape {list(shape)}, got {list(samples.shape)}",
                hint="pass one number for each sample, channel and dimension",
                operator=name,
            )
        out, indices = REGISTRY["fractional_maxima"](batch, samples, kernel, sizes)
    if input.ndim != spatial + 2:
        out, indices = out.squeeze(0), indices.squeeze(0)
    return (out, indices) if return_indices else out


def _fractional_sizes(name: str, own: tuple[int, ...], output_size: Any, output_ratio: Any) -> tuple[int, ...]:
    if output_size is not None:
        return per_dimension(name, "output_size", output_size, len(own))
    if output_ratio is None:
        raise ValueRangeError(
            "requires specifying either an output_size or an output_ratio, got output_size=None and output_ratio=None",
            hint="pass one of them",
            operator=name,
        )
    ratios = output_ratio if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * len(own)
    if len(ratios) != len(own) or not all(isinstance(ratio, (int, float)) for ratio in ratios):
        raise ArgumentTypeError(
            f"output_ratio requires to either be a single number or a tuple of {len(own)}, got {shown(output_ratio)}",
            hint="pass a number such as 0.5",
            operator=name,
        )
    return tuple(int(size * ratio) for size, ratio in zip(own, ratios))


def fractional_max_pool2d(
    input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:  # fmt: skip
    """Return the maxima of randomly placed windows of images (B. Graham, "Fractional max-pooling", 2014).

    kernel_size: the size of the windows.  output_size: the numbers of windows.
    output_ratio: instead of output_size, these numbers as shares of the input's size.
    return_indices: return (maxima, their indices in the flattened images).
    _random_samples: [n, c, 2] numbers in [0, 1) that determine the positions.
    Shapes: [n, c, h, w] or [c, h, w] gives [n, c, *output_size] or [c, *output_size].
    Raises: ValueRangeError without output_size and output_ratio, ArgumentTypeError for sizes of a wrong type,
            ShapeError for a wrong number of dimensions or windows that do not fit, DtypeError for an input that is not
            floating point.
    Example:
        >>> torch.nn.functional.fractional_max_pool2d(torch.ones(1, 1, 8, 8), 2, output_ratio=0.5).shape
        torch.Size([1, 1, 4, 4])
    """
    return _fractional(2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


def fractional_max_pool3d(
    input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:  # fmt: skip
    """Return the maxima of randomly placed windows of volumes; see `fractional_max_pool2d`.

    _random_samples: [n, c, 3] numbers in [0, 1) that determine the positions.
    Shapes: [n, c, d, h, w] or [c, d, h, w] gives [n, c, *output_size] or [c, *output_size].
    Raises: ValueRangeError without output_size and output_ratio, ArgumentTypeError for sizes of a wrong type,
            ShapeError for a wrong number of dimensions or windows that do not fit, DtypeError for an input that is not
            floating point.
    Example:
        >>> torch.nn.functional.fractional_max_pool3d(torch.ones(1, 1, 8, 8, 8), 2, output_size=(4, 3, 2)).shape
        torch.Size([1, 1, 4, 3, 2])
    """
    return _fractional(3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


# max pooling with indices


def _with_indices(function: Callable[..., Any], spatial: int, example: str = "2") -> Callable[..., Any]:
    """Make the form of a pooling function that also returns the indices of the maxima.

    example: arguments of its example, which make two windows of each dimension.
    """
    index = list(signature(function).parameters).index("return_indices")

    @wraps(function)
    def with_indices(*args: Any, **kwargs: Any) -> Any:
        if len(args) > index:
            return function(*args[:index], True, *args[index + 1 :], **kwargs)
        return function(*args, **{**kwargs, "return_indices": True})

    name = f"{function.__name__}_with_indices"
    with_indices.__name__ = with_indices.__qualname__ = name
    with_indices.__doc__ = f"""Return the maxima that `{function.__name__}` returns, and their indices.

    Shapes: as `{function.__name__}`; the indices have the shape of the maxima.
    Raises: as `{function.__name__}`: ArgumentTypeError, ValueRangeError, ShapeError, DtypeError.
    Example:
        >>> torch.nn.functional.{name}(torch.ones(1{", 4" * spatial}), {example})[1].shape
        torch.Size([1{", 2" * spatial}])
    """
    return with_indices


max_pool1d_with_indices = _with_indices(max_pool1d, 1)
max_pool2d_with_indices = _with_indices(max_pool2d, 2)
max_pool3d_with_indices = _with_indices(max_pool3d, 3)
adaptive_max_pool1d_with_indices = _with_indices(adaptive_max_pool1d, 1)
adaptive_max_pool2d_with_indices = _with_indices(adaptive_max_pool2d, 2)
adaptive_max_pool3d_with_indices = _with_indices(adaptive_max_pool3d, 3)
fractional_max_pool2d_with_indices = _with_indices(fractional_max_pool2d, 2, "2, 2")
fractional_max_pool3d_with_indices = _with_indices(fractional_max_pool3d, 3, "2, 2")


# max unpooling


def _unpool_sizes(
    name: str, own: Sequence[int], kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> tuple[int, ...]:
    count = len(own)
    kernel = per_dimension(name, "kernel_size", kernel_size, count)
    step = kernel if stride is None or stride == [] else per_dimension(name, "stride", stride, count)
    pad = per_dimension(name, "padding", padding, count)
    sizes = tuple((size - 1) * by - 2 * front + k for size, by, front, k in zip(own, step, pad, kernel))
    if output_size is None:
        return sizes
    output_size = checks.listed(name, "output_size", "ints", output_size)
    for size in output_size:
        checks.integer(name, "an entry of output_size", size)
    wanted: tuple[int, ...] = output_size[-count:]
    if len(output_size) not in (count, count + 2) or any(
        not size - by < want < size + by for want, size, by in zip(wanted, sizes, step)
    ):
        raise ValueRangeError(
            f"invalid output_size {list(output_size)}: each of the last {count} must be less than the stride "
            f"{list(step)} away from {list(sizes)}",
            hint="pass the size of the input of the pooling",
            operator=name,
        )
    return wanted


def _unpool(
    spatial: int, input: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> Any:
    name = f"max_unpool{spatial}d"
    checks.tensor(name, "input", input)
    checks.tensor(name, "indices", indices)
    if input.ndim not in (spatial + 1, spatial + 2):
        raise ShapeError(
            f"Input to {name} should be a {spatial + 1}d or {spatial + 2}d Tensor, but got: {list(input.shape)}",
            hint="dimensions are (batch, channels, *spatial), or without batch",
            operator=name,
        )
    if input.shape != indices.shape:
        raise ShapeError(
            f"Expected shape of indices to be same as that of the input tensor {list(input.shape)} but got indices "
            f"tensor with shape: {list(indices.shape)}",
            hint="pass the indices that the pooling returned",
            operator=name,
        )
    sizes = _unpool_sizes(name, input.shape[-spatial:], kernel_size, stride, padding, output_size)
    with naming(name):
        return REGISTRY["place_maxima"](input, indices, sizes)


def max_unpool1d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Any:
    """Return sequences of zeros, with the values of `input` at the indices that `max_pool1d` returned.

    output_size: the size of the result, if the windows do not determine it.
    Shapes: input and indices [n, c, l] or [c, l]; the result has the size (l - 1) * stride - 2 * padding + kernel_size,
            or output_size, in place of l.
    Raises: ShapeError if the indices have another shape or the number of dimensions is wrong; ValueRangeError if
            output_size does not fit; IndexRangeError for an index outside the result on the CPU (a device-side assert
            on a GPU); DtypeError for indices that are not integers; ArgumentTypeError, ValueRangeError for wrong window
            sizes.
    Example:
        >>> x = torch.tensor([[1.0, 3.0, 5.0, 4.0]])
        >>> maxima, places = torch.nn.functional.max_pool1d(x, 2, return_indices=True)
        >>> torch.nn.functional.max_unpool1d(maxima, places, 2)
        tensor([[0., 3., 5., 0.]])
    """
    return _unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Any:
    """Return images of zeros, with the values of `input` at the indices that `max_pool2d` returned.

    output_size: the size of the result, if the windows do not determine it.
    Shapes: input and indices [n, c, h, w] or [c, h, w]; the result has (size - 1) * stride - 2 * padding + kernel_size,
            or output_size, in place of h and w.
    Raises: ShapeError if the indices have another shape or the number of dimensions is wrong; ValueRangeError if
            output_size does not fit; IndexRangeError for an index outside the result on the CPU (a device-side assert
            on a GPU); DtypeError for indices that are not integers; ArgumentTypeError, ValueRangeError for wrong window
            sizes.
    Example:
        >>> torch.nn.functional.max_unpool2d(torch.tensor([[[5.0]]]), torch.tensor([[[2]]]), 2)
        tensor([[[0., 0.],
                 [5., 0.]]])
    """
    return _unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Any:
    """Return volumes of zeros, with the values of `input` at the indices that `max_pool3d` returned.

    output_size: the size of the result, if the windows do not determine it.
    Shapes: input and indices [n, c, d, h, w] or [c, d, h, w]; the result has (size - 1) * stride - 2 * padding +
            kernel_size, or output_size, in place of d, h and w.
    Raises: ShapeError if the indices have another shape or the number of dimensions is wrong; ValueRangeError if
            output_size does not fit; IndexRangeError for an index outside the result on the CPU (a device-side assert
            on a GPU); DtypeError for indices that are not integers; ArgumentTypeError, ValueRangeError for wrong window
            sizes.
    Example:
        >>> torch.nn.functional.max_unpool3d(torch.tensor([[[[5.0]]]]), torch.tensor([[[[2]]]]), (1, 2, 2))
        tensor([[[[0., 0.],
                  [5., 0.]]]])
    """
    return _unpool(3, input, indices, kernel_size, stride, padding, output_size)


# unfold and fold


def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Return the elements of each window of images, as columns: [n, c, h, w] gives [n, c * window size, windows].

    kernel_size: the size of the windows.  dilation: the step between the elements of a window.
    padding: the number of zeros added at each side.  stride: the step between windows.  Each is an int or two ints.

    Shapes: [n, c, h, w] or [c, h, w] gives [n, c * window size, windows] or [c * window size, windows].
    Raises: ShapeError for a wrong number of dimensions or windows that do not fit, ValueRangeError for a size, stride
            or padding out of range, ArgumentTypeError for one that is not an int or ints, DtypeError for an input that
            is not floating point.
    Example:
        >>> torch.nn.functional.unfold(torch.arange(6.0).reshape(1, 2, 3), (2, 2))
        tensor([[0., 1.],
                [1., 2.],
                [3., 4.],
                [4., 5.]])
    """
    return REGISTRY["im2col"](input, kernel_size, dilation, padding, stride)


def fold(input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Sum columns into images: each pixel is the sum of the column elements that `unfold` takes from it.

    output_size: the height and width of the images.  Other arguments: see `unfold`.

    Shapes: [n, c * window size, windows] or [c * window size, windows] gives [n, c, *output_size] or [c, *output_size].
    Raises: ShapeError for a wrong number of dimensions or windows that do not fit, ValueRangeError for a size, stride
            or padding out of range, ArgumentTypeError for one that is not an int or ints, DtypeError for an input that
            is not floating point.
    Example:
        >>> columns = torch.nn.functional.unfold(torch.ones(1, 2, 3), (2, 2))
        >>> torch.nn.functional.fold(columns, (2, 3), (2, 2))
        tensor([[[1., 2., 1.],
                 [1., 2., 1.]]])
    """
    return REGISTRY["col2im"](input, output_size, kernel_size, dilation, padding, stride)
