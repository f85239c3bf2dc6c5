"""Pooling layers, their inverses, and Unfold and Fold."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError
from ..tensor import checks
from ..tensor.tensor import Tensor
from . import functional as F
from .convolution import spread
from .module import Layer, Module


class _MaxPoolNd(Module):
    """Base class of max pooling layers.

    kernel_size, stride, padding, dilation: an int, or one int for each spatial dimension.  stride None: kernel_size.
    return_indices: whether forward also returns the indices of the maxima.
    """

    function: Any

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        numbers = self.kernel_size, self.stride, self.padding, self.dilation
        return type(self).function(input, *numbers, self.ceil_mode, self.return_indices)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """Max pooling: the largest element of each window of sequences.

    The arguments are those of `torch.max_pool1d`.  return_indices: return (maxima, indices), for `MaxUnpool1d`.

    Shapes: [n, c, l] or [c, l] gives the same dimensions, with the number of windows in place of l.
    Raises: in forward, ValueRangeError for a size, stride or padding out of range, ArgumentTypeError for one that is
            not an int or ints, ShapeError for a wrong number of dimensions or an input that is smaller than the window,
            DtypeError for a bool input.
    Example:
        >>> torch.nn.MaxPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 5.0]]))
        tensor([[3., 5.]])
    """

    function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPoolNd):
    """Max pooling: the largest element of each window of images.

    The arguments are those of `torch.max_pool2d`.  return_indices: return (maxima, indices), for `MaxUnpool2d`.

    Shapes: [n, c, h, w] or [c, h, w] gives the same dimensions, with the numbers of windows in place of h and w.
    Raises: in forward, ValueRangeError for a size, stride or padding out of range, ArgumentTypeError for one that is
            not an int or ints, ShapeError for a wrong number of dimensions or an input that is smaller than the window,
            DtypeError for a bool input.
    Example:
        >>> torch.nn.MaxPool2d(2)(torch.arange(16.0).reshape(1, 4, 4))
        tensor([[[ 5.,  7.],
                 [13., 15.]]])
    """

    function = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPoolNd):
    """Max pooling: the largest element of each window of volumes.

    The arguments are those of `torch.max_pool3d`.  return_indices: return (maxima, indices), for `MaxUnpool3d`.

    Shapes: [n, c, d, h, w] or [c, d, h, w] gives the same dimensions, with the numbers of windows in place of d, h and
            w.
    Raises: in forward, ValueRangeError for a size, stride or padding out of range, ArgumentTypeError for one that is
            not an int or ints, ShapeError for a wrong number of dimensions or an input that is smaller than the window,
            DtypeError for a bool input.
    Example:
        >>> torch.nn.MaxPool3d(2)(torch.ones(1, 4, 4, 4)).shape
        torch.Size([1, 2, 2, 2])
    """

    function = staticmethod(F.max_pool3d)


class AvgPool1d(Layer):
    """Average pooling: the mean of each window of sequences.

    The arguments are those of `torch.avg_pool1d`.
    Shapes: [n, c, l] or [c, l] gives the same dimensions, with the number of windows in place of l.
    Raises: ArgumentTypeError for sizes that are not ints; in forward, ValueRangeError for a size, stride or padding out
            of range, ShapeError for a wrong number of dimensions or an input that is smaller than the window,
            DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.AvgPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 5.0]]))
        tensor([[2.0000, 3.5000]])
    """

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size = spread("AvgPool1d", "kernel_size", kernel_size, 1)
        self.stride = spread("AvgPool1d", "stride", kernel_size if stride is None else stride, 1)
        self.padding = spread("AvgPool1d", "padding", padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        numbers = self.kernel_size, self.stride, self.padding
        result: Tensor = F.avg_pool1d(input, *numbers, self.ceil_mode, self.count_include_pad)
        return result

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPoolNd(Layer):
    """Base class of average pooling layers in several dimensions."""

    function: Any

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        numbers = self.kernel_size, self.stride, self.padding
        options = self.ceil_mode, self.count_include_pad, self.divisor_override
        result: Tensor = type(self).function(input, *numbers, *options)
        return result

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPoolNd):
    """Average pooling: the mean of each window of images.

    The arguments are those of `torch.nn.functional.avg_pool2d`.
    Shapes: [n, c, h, w] or [c, h, w] gives the same dimensions, with the numbers of windows in place of h and w.
    Raises: in forward, ValueRangeError for a size, stride or padding out of range, ArgumentTypeError for one that is
            not an int or ints, ShapeError for a wrong number of dimensions or an input that is smaller than the window,
            DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.AvgPool2d(2)(torch.arange(16.0).reshape(1, 4, 4))
        tensor([[[ 2.5000,  4.5000],
                 [10.5000, 12.5000]]])
    """

    function = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPoolNd):
    """Average pooling: the mean of each window of volumes.

    The arguments are those of `torch.nn.functional.avg_pool3d`.
    Shapes: [n, c, d, h, w] or [c, d, h, w] gives the same dimensions, with the numbers of windows in place of d, h and
            w.
    Raises: in forward, ValueRangeError for a size, stride or padding out of range, ArgumentTypeError for one that is
            not an int or ints, ShapeError for a wrong number of dimensions or an input that is smaller than the window,
            DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.AvgPool3d(2)(torch.ones(1, 4, 4, 4)).shape
        torch.Size([1, 2, 2, 2])
    """

    function = staticmethod(F.avg_pool3d)


class _AdaptiveAvgPoolNd(Layer):
    """Base class of adaptive average pooling layers."""

    function: Any

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = type(self).function(input, self.output_size)
        return result

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Adaptive average pooling: the mean of each of the output_size windows that cover a sequence.

    See `torch.adaptive_avg_pool1d` for the windows.
    Shapes: [n, c, l] or [c, l] gives the same dimensions, with output_size in place of l.
    Raises: in forward, ArgumentTypeError for an output_size that is not an int or ints, ValueRangeError for a negative
            one or a wrong count of ints, ShapeError for a wrong number of dimensions, DtypeError for an input that is
            not floating point.
    Example:
        >>> torch.nn.AdaptiveAvgPool1d(2)(torch.tensor([[1.0, 3.0, 5.0]]))
        tensor([[2., 4.]])
    """

    function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Adaptive average pooling: the mean of each of the output_size windows that cover an image.

    output_size: an int or two; None keeps a size.
    Shapes: [n, c, h, w] or [c, h, w] gives the same dimensions, with output_size in place of h and w.
    Raises: in forward, ArgumentTypeError for an output_size that is not an int or ints, ValueRangeError for a negative
            one or a wrong count of ints, ShapeError for a wrong number of dimensions, DtypeError for an input that is
            not floating point.
    Example:
        >>> torch.nn.AdaptiveAvgPool2d((1, 1))(torch.arange(6.0).reshape(1, 2, 3))
        tensor([[[2.5000]]])
    """

    function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Adaptive average pooling: the mean of each of the output_size windows that cover a volume.

    output_size: an int or three; None keeps a size.
    Shapes: [n, c, d, h, w] or [c, d, h, w] gives the same dimensions, with output_size in place of d, h and w.
    Raises: in forward, ArgumentTypeError for an output_size that is not an int or ints, ValueRangeError for a negative
            one or a wrong count of ints, ShapeError for a wrong number of dimensions, DtypeError for an input that is
            not floating point.
    Example:
        >>> torch.nn.AdaptiveAvgPool3d((2, None, 1))(torch.ones(1, 4, 5, 6)).shape
        torch.Size([1, 2, 5, 1])
    """

    function = staticmethod(F.adaptive_avg_pool3d)


class _AdaptiveMaxPoolNd(Module):
    """Base class of adaptive max pooling layers."""

    function: Any

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return type(self).function(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Adaptive max pooling: the maximum of each of the output_size windows that cover a sequence.

    return_indices: return (maxima, indices), where an index is the position in the sequence.
    Shapes: [n, c, l] or [c, l] gives the same dimensions, with output_size in place of l.
    Raises: in forward, ArgumentTypeError for an output_size that is not an int or ints, ValueRangeError for a negative
            one or a wrong count of ints, ShapeError for a wrong number of dimensions, DtypeError for an input that is
            not floating point.
    Example:
        >>> torch.nn.AdaptiveMaxPool1d(2)(torch.tensor([[1.0, 3.0, 5.0]]))
        tensor([[3., 5.]])
    """

    function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Adaptive max pooling: the maximum of each of the output_size windows that cover an image.

    output_size: an int or two; None keeps a size.  return_indices: return (maxima, indices), where an index is that of
    the pixel in the flattened image.
    Shapes: [n, c, h, w] or [c, h, w] gives the same dimensions, with output_size in place of h and w.
    Raises: in forward, ArgumentTypeError for an output_size that is not an int or ints, ValueRangeError for a negative
            one or a wrong count of ints, ShapeError for a wrong number of dimensions, DtypeError for an input that is
            not floating point.
    Example:
        >>> torch.nn.AdaptiveMaxPool2d((1, 1))(torch.arange(6.0).reshape(1, 2, 3))
        tensor([[[5.]]])
    """

    function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Adaptive max pooling: the maximum of each of the output_size windows that cover a volume.

    output_size: an int or three; None keeps a size.  return_indices: return (maxima, indices), where an index is that
    of the voxel in the flattened volume.
    Shapes: [n, c, d, h, w] or [c, d, h, w] gives the same dimensions, with output_size in place of d, h and w.
    Raises: in forward, ArgumentTypeError for an output_size that is not an int or ints, ValueRangeError for a negative
            one or a wrong count of ints, ShapeError for a wrong number of dimensions, DtypeError for an input that is
            not floating point.
    Example:
        >>> torch.nn.AdaptiveMaxPool3d((2, None, 1))(torch.ones(1, 4, 5, 6)).shape
        torch.Size([1, 2, 5, 1])
    """

    function = staticmethod(F.adaptive_max_pool3d)


class _LPPoolNd(Layer):
    """Base class of power-average (LP) pooling layers."""

    function: Any

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        checks.number(self._get_name(), "norm_type", norm_type)
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        numbers = float(self.norm_type), self.kernel_size, self.stride
        result: Tensor = type(self).function(input, *numbers, self.ceil_mode)
        return result

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """Power-average pooling: sum(x ** norm_type) ** (1 / norm_type) of each window of sequences.

    stride: the step between windows; None is kernel_size.  ceil_mode: whether the last window may end outside.
    Shapes: [n, c, l] or [c, l] gives the same dimensions, with the number of windows in place of l.
    Raises: in forward, ArgumentError if norm_type is 0, ValueRangeError for a size or stride out of range,
            ArgumentTypeError for one that is not an int or ints, ShapeError for a wrong number of dimensions or an
            input that is smaller than the window, DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.LPPool1d(2, 2)(torch.tensor([[3.0, 4.0, 6.0, 8.0]]))
        tensor([[ 5., 10.]])
    """

    function = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPoolNd):
    """Power-average pooling: sum(x ** norm_type) ** (1 / norm_type) of each window of images.

    stride: the step between windows; None is kernel_size.  ceil_mode: whether the last windows may end outside.
    Shapes: [n, c, h, w] or [c, h, w] gives the same dimensions, with the numbers of windows in place of h and w.
    Raises: in forward, ArgumentError if norm_type is 0, ValueRangeError for a size or stride out of range,
            ArgumentTypeError for one that is not an int or ints, ShapeError for a wrong number of dimensions or an
            input that is smaller than the window, DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.LPPool2d(2, 2)(torch.ones(1, 2, 4))
        tensor([[[2., 2.]]])
    """

    function = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPoolNd):
    """Power-average pooling: sum(x ** norm_type) ** (1 / norm_type) of each window of volumes.

    stride: the step between windows; None is kernel_size.  ceil_mode: whether the last windows may end outside.
    Shapes: [n, c, d, h, w] or [c, d, h, w] gives the same dimensions, with the numbers of windows in place of d, h and
            w.
    Raises: in forward, ArgumentError if norm_type is 0, ValueRangeError for a size or stride out of range,
            ArgumentTypeError for one that is not an int or ints, ShapeError for a wrong number of dimensions or an
            input that is smaller than the window, DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.LPPool3d(1, 2)(torch.ones(1, 2, 2, 4))
        tensor([[[[8., 8.]]]])
    """

    function = staticmethod(F.lp_pool3d)


class _FractionalMaxPoolNd(Module):
    """Base class of fractional max pooling layers."""

    function: Any
    spatial: int

    def __init__(
        self, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
        _random_samples: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        name = self._get_name()
        self.kernel_size = spread(name, "kernel_size", kernel_size, self.spatial)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else spread(name, "output_size", output_size, self.spatial)
        is_one = not isinstance(output_ratio, (tuple, list))
        self.output_ratio = None if output_ratio is None else (output_ratio,) * self.spatial if is_one else output_ratio
        if (self.output_size is None) == (self.output_ratio is None):
            raise ArgumentError(
                f"requires one of output_size and output_ratio, got {output_size} and {output_ratio}",
                hint="pass one of them",
                operator=name,
            )
        for ratio in self.output_ratio or ():
            checks.number(name, "output_ratio", ratio)
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ArgumentError(
                f"output_ratio must be between 0 and 1 (got {output_ratio})",
                hint="pass a number such as 0.5",
                operator=name,
            )

    def forward(self, input: Tensor) -> Any:
        numbers = self.kernel_size, self.output_size, self.output_ratio, self.return_indices
        return type(self).function(input, *numbers, _random_samples=self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Max pooling of images with randomly placed windows (B. Graham, "Fractional max-pooling", 2014).

    The arguments are those of `torch.nn.functional.fractional_max_pool2d`.
    Shapes: [n, c, h, w] or [c, h, w] gives the same dimensions, with output_size, or output_ratio times the sizes, in
            place of h and w.
    Raises: ArgumentError unless one of output_size and output_ratio is given and the ratio is between 0 and 1,
            ArgumentTypeError for a size or ratio of a wrong type; in forward, ShapeError for a wrong number of
            dimensions or windows that do not fit, DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.FractionalMaxPool2d(2, output_ratio=0.5)(torch.ones(1, 1, 8, 8)).shape
        torch.Size([1, 1, 4, 4])
    """

    function = staticmethod(F.fractional_max_pool2d)
    spatial = 2


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Max pooling of volumes with randomly placed windows (B. Graham, "Fractional max-pooling", 2014).

    The arguments are those of `torch.nn.functional.fractional_max_pool3d`.
    Shapes: [n, c, d, h, w] or [c, d, h, w] gives the same dimensions, with output_size, or output_ratio times the
            sizes, in place of d, h and w.
    Raises: ArgumentError unless one of output_size and output_ratio is given and the ratio is between 0 and 1,
            ArgumentTypeError for a size or ratio of a wrong type; in forward, ShapeError for a wrong number of
            dimensions or windows that do not fit, DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.FractionalMaxPool3d(2, output_size=(4, 3, 2))(torch.ones(1, 1, 8, 8, 8)).shape
        torch.Size([1, 1, 4, 3, 2])
    """

    function = staticmethod(F.fractional_max_pool3d)
    spatial = 3


class _MaxUnpoolNd(Module):
    """Base class of max unpooling layers."""

    function: Any
    spatial: int

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        name = self._get_name()
        self.kernel_size = spread(name, "kernel_size", kernel_size, self.spatial)
        self.stride = spread(name, "stride", kernel_size if stride is None else stride, self.spatial)
        self.padding = spread(name, "padding", padding, self.spatial)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        """Return zeros with the elements of `input` at `indices`, which the max pooling layer returned.

        output_size: the size of the result, if that does not follow from the windows.
        Shapes: input and indices have the same shape; the result has output_size or the sizes in the class's docstring.
        Raises: ShapeError if the indices have another shape, ValueRangeError if output_size does not fit,
                IndexRangeError for an index outside the result on the CPU (a device-side assert on a GPU), DtypeError
                for indices that are not integers, ArgumentTypeError for an output_size that is not a list of ints.
        Example:
            >>> pool, unpool = torch.nn.MaxPool1d(2, return_indices=True), torch.nn.MaxUnpool1d(2)
            >>> values, places = pool(torch.tensor([[[1.0, 5.0, 7.0, 2.0, 3.0]]]))
            >>> unpool(values, places, output_size=[5])
            tensor([[[0., 5., 7., 0., 0.]]])
        """
        numbers = self.kernel_size, self.stride, self.padding
        result: Tensor = type(self).function(input, indices, *numbers, output_size)
        return result

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Partial inverse of `MaxPool1d`: puts the maxima at the indices that the pooling returned, and zeros elsewhere.

    Shapes: input and indices [n, c, l] or [c, l]; the result has (size - 1) * stride - 2 * padding + kernel_size in
            place of l, or the output_size that is passed to the call.
    Raises: ArgumentTypeError for sizes that are not ints; in forward, as `nn.functional.max_unpool1d`: ShapeError,
            IndexRangeError, DtypeError, ArgumentTypeError.
    Example:
        >>> maxima, places = torch.nn.MaxPool1d(2, return_indices=True)(torch.tensor([[1.0, 3.0, 5.0, 4.0]]))
        >>> torch.nn.MaxUnpool1d(2)(maxima, places)
        tensor([[0., 3., 5., 0.]])
    """

    function = staticmethod(F.max_unpool1d)
    spatial = 1


class MaxUnpool2d(_MaxUnpoolNd):
    """Partial inverse of `MaxPool2d`: puts the maxima at the indices that the pooling returned, and zeros elsewhere.

    Shapes: input and indices [n, c, h, w] or [c, h, w]; the result has (size - 1) * stride - 2 * padding + kernel_size
            in place of h and w, or the output_size that is passed to the call.
    Raises: ArgumentTypeError for sizes that are not ints; in forward, as `nn.functional.max_unpool2d`: ShapeError,
            IndexRangeError, DtypeError, ArgumentTypeError.
    Example:
        >>> torch.nn.MaxUnpool2d(2)(torch.tensor([[[5.0]]]), torch.tensor([[[2]]]))
        tensor([[[0., 0.],
                 [5., 0.]]])
    """

    function = staticmethod(F.max_unpool2d)
    spatial = 2


class MaxUnpool3d(_MaxUnpoolNd):
    """Partial inverse of `MaxPool3d`: puts the maxima at the indices that the pooling returned, and zeros elsewhere.

    Shapes: input and indices [n, c, d, h, w] or [c, d, h, w]; the result has (size - 1) * stride - 2 * padding +
            kernel_size in place of d, h and w, or the output_size that is passed to the call.
    Raises: ArgumentTypeError for sizes that are not ints; in forward, as `nn.functional.max_unpool3d`: ShapeError,
            IndexRangeError, DtypeError, ArgumentTypeError.
    Example:
        >>> torch.nn.MaxUnpool3d((1, 2, 2))(torch.tensor([[[[5.0]]]]), torch.tensor([[[[2]]]]))
        tensor([[[[0., 0.],
                  [5., 0.]]]])
    """

    function = staticmethod(F.max_unpool3d)
    spatial = 3


class Unfold(Layer):
    """Copy the elements of each window of images to a column.

    The arguments are those of `torch.nn.functional.unfold`.

    Shapes: [n, c, h, w] or [c, h, w] gives [n, c * window size, windows] or [c * window size, windows].
    Raises: in forward, ShapeError for a wrong number of dimensions or windows that do not fit, ValueRangeError for a
            size, stride or padding out of range, ArgumentTypeError for one that is not an int or ints, DtypeError for
            an input that is not floating point.
    Example:
        >>> torch.nn.Unfold(kernel_size=(2, 3))(torch.ones(2, 5, 3, 4)).shape
        torch.Size([2, 30, 4])
    """

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)
        return result

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Layer):
    """Sum columns into images: each pixel is the sum of the column elements that `Unfold` takes from it.

    output_size: the height and width of the images.  kernel_size, dilation, padding, stride: those of `Unfold`.
    Shapes: [n, c * window size, windows] or [c * window size, windows] gives [n, c, *output_size] or [c, *output_size].
    Raises: in forward, ShapeError for a wrong number of dimensions or windows that do not fit, ValueRangeError for a
            size, stride or padding out of range, ArgumentTypeError for one that is not an int or ints, DtypeError for
            an input that is not floating point.
    Example:
        >>> torch.nn.Fold(output_size=(4, 5), kernel_size=(2, 2))(torch.ones(1, 12, 12)).shape
        torch.Size([1, 3, 4, 5])
    """

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        numbers = self.kernel_size, self.dilation, self.padding, self.stride
        result: Tensor = F.fold(input, self.output_size, *numbers)
        return result

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )
