"""Convolution layers, their transposed forms, and those that find their input channels at the first call."""

from __future__ import annotations

import math
from typing import Any

from ..errors import ArgumentError, ArgumentTypeError, ShapeError, naming, shown
from ..tensor import checks, factories
from ..tensor.tensor import Tensor
from . import functional as F
from . import init
from .lazy import LazyModuleMixin
from .module import Layer
from .parameter import Parameter, UninitializedParameter

PADDING_MODES = ("zeros", "reflect", "replicate", "circular")
PADDINGS = ("valid", "same")
FUNCTIONS: dict[bool, Any] = {
    False: {1: F.conv1d, 2: F.conv2d, 3: F.conv3d},
    True: {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d},
}


def spread(name: str, what: str, value: Any, count: int) -> tuple[int, ...]:
    """Return one int per spatial dimension; the length of a list is not checked.  Raises ArgumentTypeError."""
    listed = value if isinstance(value, (tuple, list)) else (value,) * count
    for entry in listed:
        checks.integer(name, f"an entry of {what}", entry)
    return tuple(listed)


class _ConvNd(Layer):
    """Base class of convolution layers."""

    spatial: int
    transposed: bool

    def _set_up(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
        output_padding: Any, groups: int, bias: bool, padding_mode: str, device: Any, dtype: Any,
    ) -> None:  # fmt: skip
        name, count = self._get_name(), self.spatial
        checks.count(name, "in_channels", in_channels)
        checks.count(name, "out_channels", out_channels)
        checks.integer(name, "groups", groups)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = spread(name, "kernel_size", kernel_size, count)
        self.stride = spread(name, "stride", stride, count)
        self.padding = padding if isinstance(padding, str) else spread(name, "padding", padding, count)
        self.dilation = spread(name, "dilation", dilation, count)
        self.output_padding = spread(name, "output_padding", output_padding, count)
        self.transposed = isinstance(self, _ConvTransposeNd)
        self.groups = groups
        self.padding_mode = padding_mode
        self._check(name)
        self._reversed_padding_repeated_twice = self._sides()
        with naming(name):
            self._make(device, dtype, bias)
        self.reset_parameters()

    def _check(self, name: str) -> None:
        """Raise ArgumentError for values that do not fit together."""
        if self.groups < 1:
            raise ArgumentError(
                f"groups must be a positive integer, got {self.groups}",
                hint="pass 1 or more: 1 connects all channels",
                operator=name,
            )
        for what, channels in (("in_channels", self.in_channels), ("out_channels", self.out_channels)):
            if channels % self.groups:
                raise ArgumentError(
                    f"{what} must be divisible by groups, got {what}={channels} and groups={self.groups}",
                    hint="pass a divisor of the number of channels as groups",
                    operator=name,
                )
        if isinstance(self.padding, str) and self.padding not in PADDINGS:
            raise ArgumentError(
                f"Invalid padding string {self.padding!r}, should be one of 'valid' and 'same'",
                hint="use one of these, or pass numbers",
                operator=name,
            )
        if self.padding == "same" and any(step != 1 for step in self.stride):
            raise ArgumentError(
                f"padding='same' is not supported for strided convolutions, got stride={self.stride}",
                hint="pass the padding as numbers",
                operator=name,
            )
        if self.padding_mode not in PADDING_MODES:
            raise ArgumentError(
                f"padding_mode must be one of {', '.join(PADDING_MODES)}, but got padding_mode={self.padding_mode!r}",
                hint="use one of these; the default is 'zeros'",
                operator=name,
            )

    def _sides(self) -> list[int]:
        """Return the padding as `F.pad` takes it: both sides of each dimension, the last dimension first."""
        if self.padding == "valid":
            return [0, 0] * self.spatial
        if self.padding == "same":
            totals = [apart * (size - 1) for apart, size in zip(self.dilation, self.kernel_size)]
            return [side for total in reversed(totals) for side in (total // 2, total - total // 2)]
        numbers: Any = self.padding
        return [side for number in reversed(numbers) for side in (number, number)]

    def _weight_shape(self) -> tuple[int, ...]:
        if self.transposed:
            return self.in_channels, self.out_channels // self.groups, *self.kernel_size
        return self.out_channels, self.in_channels // self.groups, *self.kernel_size

    def _make(self, device: Any, dtype: Any, bias: bool) -> None:
        self.weight = Parameter(factories.empty(*self._weight_shape(), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(factories.empty(self.out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)

    def reset_parameters(self) -> None:
        """Draw new weights and biases uniformly from [-b, b], with b = 1 / sqrt(weight[0].numel()).

        Example:
            >>> layer = torch.nn.Conv1d(2, 3, 2)
            >>> _ = torch.nn.init.constant_(layer.weight, 9.0)
            >>> layer.reset_parameters()
            >>> bool((layer.weight.abs() <= 0.5).all())
            True
        """
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init.fans(self.weight)
            if fan_in:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        parts = {
            "padding": self.padding != (0,) * len(self.padding),
            "dilation": self.dilation != (1,) * len(self.dilation),
            "output_padding": self.output_padding != (0,) * len(self.output_padding),
            "groups": self.groups != 1,
        }
        text += "".join(f", {name}={getattr(self, name)}" for name, is_shown in parts.items() if is_shown)
        text += "" if self.bias is not None else ", bias=False"
        return text + (f", padding_mode={self.padding_mode}" if self.padding_mode != "zeros" else "")


class _Conv(_ConvNd):
    transposed = False

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        numbers = kernel_size, stride, padding, dilation, 0, groups
        self._set_up(in_channels, out_channels, *numbers, bias, padding_mode, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Any, bias: Any) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            pad: Any = F.pad
            input, padding = pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode), 0
        convolve = FUNCTIONS[False][self.spatial]
        result: Tensor = convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)
        return result


class Conv1d(_Conv):
    """A convolution of sequences: see `torch.conv1d`.

    padding: numbers, "valid" or "same".  padding_mode: "zeros", "reflect", "replicate" or "circular".
    Shapes: input [n, in_channels, l] or [in_channels, l]; weight [out_channels, in_channels / groups, kernel_size];
            bias [out_channels]; the result has out_channels channels and the size of `torch.conv1d`.
    Raises: ArgumentTypeError for sizes that are not ints, ArgumentError for groups that do not divide the channels or
            an unknown padding or padding_mode; in forward, ShapeError for an input that does not fit, ValueRangeError
            for a size, stride or dilation out of range, DtypeError for an input of another dtype than the weight.
    Example:
        >>> torch.nn.Conv1d(3, 5, 4, stride=2)(torch.ones(2, 3, 10)).shape
        torch.Size([2, 5, 4])
    """

    spatial = 1


class Conv2d(_Conv):
    """A convolution of images: see `torch.conv2d`.

    kernel_size, stride, padding, dilation: an int, or one int for each spatial dimension.
    padding: numbers, "valid" or "same".  padding_mode: "zeros", "reflect", "replicate" or "circular".
    Shapes: input [n, in_channels, h, w] or [in_channels, h, w]; weight [out_channels, in_channels / groups,
            *kernel_size]; bias [out_channels]; the result has out_channels channels and the sizes of `torch.conv2d`.
    Raises: ArgumentTypeError for sizes that are not ints, ArgumentError for groups that do not divide the channels or
            an unknown padding or padding_mode; in forward, ShapeError for an input that does not fit, ValueRangeError
            for a size, stride or dilation out of range, DtypeError for an input of another dtype than the weight.
    Example:
        >>> layer = torch.nn.Conv2d(3, 8, kernel_size=3, padding=1)
        >>> layer(torch.ones(2, 3, 5, 6)).shape
        torch.Size([2, 8, 5, 6])
    """

    spatial = 2


class Conv3d(_Conv):
    """A convolution of volumes: see `torch.conv3d`.  The arguments are those of `Conv2d`.

    Shapes: [n, c, d, h, w] or [c, d, h, w] gives the same dimensions, with out_channels channels and the sizes of
            `torch.conv3d`.
    Raises: ArgumentTypeError for sizes that are not ints, ArgumentError for groups that do not divide the channels or
            an unknown padding or padding_mode; in forward, ShapeError for an input that does not fit, ValueRangeError
            for a size, stride or dilation out of range, DtypeError for an input of another dtype than the weight.
    Example:
        >>> torch.nn.Conv3d(2, 4, (1, 3, 3), padding="same")(torch.ones(1, 2, 4, 5, 6)).shape
        torch.Size([1, 4, 4, 5, 6])
    """

    spatial = 3


class _ConvTransposeNd(_ConvNd):
    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros",
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if padding_mode != "zeros":
            raise ArgumentError(
                f'Only "zeros" padding mode is supported for {self._get_name()}, got {shown(padding_mode)}',
                hint="leave it out",
                operator=self._get_name(),
            )
        if isinstance(padding, str):
            raise ArgumentTypeError(
                f"padding must be an int or a tuple of ints, got {padding!r}",
                hint="pass numbers, such as padding=0",
                operator=self._get_name(),
            )
        numbers = kernel_size, stride, padding, dilation, output_padding, groups
        self._set_up(in_channels, out_channels, *numbers, bias, padding_mode, device, dtype)

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """Return the transposed convolution of an input.

        output_size: the spatial sizes of the result, if stride is above 1 and several are possible; None uses
        output_padding.
        Shapes: those of the layer's class.
        Raises: ShapeError for an input that does not fit the layer, ArgumentError for an output_size that is not
                possible, ArgumentTypeError for one that is not a list of ints.
        Example:
            >>> layer = torch.nn.ConvTranspose1d(1, 1, 3, stride=2)
            >>> layer(torch.ones(1, 4)).shape, layer(torch.ones(1, 4), output_size=[10]).shape
            (torch.Size([1, 9]), torch.Size([1, 10]))
        """
        extra = self.output_padding if output_size is None else self._output_padding(input, output_size)
        numbers = self.stride, self.padding, extra, self.groups, self.dilation
        result: Tensor = FUNCTIONS[True][self.spatial](input, self.weight, self.bias, *numbers)
        return result

    def _output_padding(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """Return the output padding that gives these sizes.  Raises ArgumentError."""
        count, name = self.spatial, self._get_name()
        lead = input.ndim - count
        wanted = list(checks.listed(name, "output_size", "ints", output_size))
        for size in wanted:
            checks.integer(name, "an entry of output_size", size)
        if len(wanted) == input.ndim:
            wanted = wanted[lead:]
        if len(wanted) != count:
            raise ArgumentError(
                f"for {input.ndim}D input, output_size must have {count} or {input.ndim} elements (got {len(wanted)})",
                hint="pass the spatial sizes",
                operator=name,
            )
        least = [
            (input.shape[lead + at] - 1) * self.stride[at] - 2 * int(self.padding[at])
            + self.dilation[at] * (self.kernel_size[at] - 1) + 1
            for at in range(count)
        ]  # fmt: skip
        most = [size + step - 1 for size, step in zip(least, self.stride)]
        if any(not low <= size <= high for low, size, high in zip(least, wanted, most)):
            raise ArgumentError(
                f"requested an output size of {wanted}, but valid sizes range from {least} to {most} (for an input of "
                f"{list(input.shape[lead:])})",
                hint="choose one of them",
                operator=name,
            )
        return tuple(size - low for size, low in zip(wanted, least))


class ConvTranspose1d(_ConvTransposeNd):
    """A transposed convolution of sequences: see `torch.conv_transpose1d`.

    padding: elements cut off at both ends.  output_padding: elements added at the end.  padding_mode: only "zeros".
    Shapes: input [n, in_channels, l] or [in_channels, l]; weight [in_channels, out_channels / groups, kernel_size];
            bias [out_channels]; the result has out_channels channels and the size of `torch.conv_transpose1d`.
    Raises: ArgumentTypeError for sizes that are not ints, ArgumentError for groups that do not divide the channels or a
            padding_mode other than "zeros"; in forward, ShapeError for an input that does not fit, ArgumentError for an
            output_size out of range, ValueRangeError for a size, stride or output_padding out of range, DtypeError for
            an input of another dtype than the weight.
    Example:
        >>> layer = torch.nn.ConvTranspose1d(3, 5, 4, stride=2)
        >>> layer(torch.ones(2, 3, 4)).shape, layer(torch.ones(2, 3, 4), output_size=[11]).shape
        (torch.Size([2, 5, 10]), torch.Size([2, 5, 11]))
    """

    spatial = 1


class ConvTranspose2d(_ConvTransposeNd):
    """A transposed convolution of images: see `torch.conv_transpose2d`.  The arguments are those of `ConvTranspose1d`.

    kernel_size, stride, padding, output_padding, dilation: an int, or one int for each spatial dimension.
    Shapes: [n, c, h, w] or [c, h, w] gives the same dimensions, with out_channels channels and the sizes of
            `torch.conv_transpose2d`.
    Raises: ArgumentTypeError for sizes that are not ints, ArgumentError for groups that do not divide the channels or a
            padding_mode other than "zeros"; in forward, ShapeError for an input that does not fit, ArgumentError for an
            output_size out of range, ValueRangeError for a size, stride or output_padding out of range, DtypeError for
            an input of another dtype than the weight.
    Example:
        >>> torch.nn.ConvTranspose2d(3, 8, 2, stride=2)(torch.ones(2, 3, 5, 6)).shape
        torch.Size([2, 8, 10, 12])
    """

    spatial = 2


class ConvTranspose3d(_ConvTransposeNd):
    """A transposed convolution of volumes: see `torch.conv_transpose3d`.  The arguments are those of `ConvTranspose2d`.

    Shapes: [n, c, d, h, w] or [c, d, h, w] gives the same dimensions, with out_channels channels and the sizes of
            `torch.conv_transpose3d`.
    Raises: ArgumentTypeError for sizes that are not ints, ArgumentError for groups that do not divide the channels or a
            padding_mode other than "zeros"; in forward, ShapeError for an input that does not fit, ArgumentError for an
            output_size out of range, ValueRangeError for a size, stride or output_padding out of range, DtypeError for
            an input of another dtype than the weight.
    Example:
        >>> torch.nn.ConvTranspose3d(2, 4, (1, 2, 2))(torch.ones(1, 2, 4, 5, 6)).shape
        torch.Size([1, 4, 4, 6, 7])
    """

    spatial = 3


# layers that find their input channels at the first call


class _LazyConv(LazyModuleMixin, _ConvNd):
    """Base class of layers whose weight is made at the first call."""

    def _make(self, device: Any, dtype: Any, bias: bool) -> None:
        self._has_bias = bool(bias)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)
        else:
            self.register_parameter("bias", None)

    def reset_parameters(self) -> None:
        if self.in_channels and not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Create weight and bias, with as many input channels as `input` has.

        Raises: ShapeError for a wrong number of dimensions, ArgumentError if `groups` does not divide the channels.
        Example:
            >>> layer = torch.nn.LazyConv1d(2, 3)
            >>> layer.initialize_parameters(torch.ones(1, 4, 8))
            >>> layer.weight.shape
            torch.Size([2, 4, 3])
        """
        if not self.has_uninitialized_params():
            self.in_channels = self.weight.shape[0] if self.transposed else self.weight.shape[1] * self.groups
            return
        name = self._get_name()
        checks.tensor(name, "input", input)
        if input.ndim not in (self.spatial + 1, self.spatial + 2):
            raise ShapeError(
                f"Expected {self.spatial + 1}D (unbatched) or {self.spatial + 2}D (batched) input to {name}, but got "
                f"input of size: {list(input.shape)}",
                hint="dimensions are (batch, channels, *spatial), or without batch",
                operator=name,
            )
        channels = input.shape[input.ndim - self.spatial - 1]
        if channels % self.groups:
            raise ArgumentError(
                f"in_channels must be divisible by groups, got in_channels={channels} and groups={self.groups}",
                hint="pass a divisor of the number of channels as groups",
                operator=name,
            )
        self.in_channels = channels
        weight: Any = self.weight
        weight.materialize(self._weight_shape())
        if self.bias is not None:
            bias: Any = self.bias
            bias.materialize((self.out_channels,))
        self.reset_parameters()


class _LazyPlain(_LazyConv):
    def __init__(
        self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        numbers = kernel_size, stride, padding, dilation, groups
        super().__init__(0, out_channels, *numbers, bias, padding_mode, device, dtype)


class _LazyTransposed(_LazyConv):
    def __init__(
        self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
        groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        numbers = kernel_size, stride, padding, output_padding, groups
        super().__init__(0, out_channels, *numbers, bias, dilation, padding_mode, device, dtype)


class LazyConv1d(_LazyPlain, Conv1d):
    """A `Conv1d` that takes in_channels from its first input, and then becomes a plain Conv1d.

    Arguments and shapes: as `Conv1d`.
    Raises: ArgumentTypeError, ArgumentError as `Conv1d`; in forward, ShapeError for a wrong number of dimensions,
            ArgumentError for channels that groups does not divide, ArgumentTypeError for an input that is not a tensor.
    Example:
        >>> layer = torch.nn.LazyConv1d(5, 4)
        >>> layer(torch.ones(2, 3, 10)).shape, layer
        (torch.Size([2, 5, 7]), Conv1d(3, 5, kernel_size=(4,), stride=(1,)))
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyPlain, Conv2d):
    """A `Conv2d` that takes in_channels from its first input, and then becomes a plain Conv2d.

    Arguments and shapes: as `Conv2d`.
    Raises: ArgumentTypeError, ArgumentError as `Conv2d`; in forward, ShapeError for a wrong number of dimensions,
            ArgumentError for channels that groups does not divide, ArgumentTypeError for an input that is not a tensor.
    Example:
        >>> layer = torch.nn.LazyConv2d(8, 3)
        >>> layer
        LazyConv2d(0, 8, kernel_size=(3, 3), stride=(1, 1))
        >>> layer(torch.ones(2, 3, 5, 6)).shape, layer
        (torch.Size([2, 8, 3, 4]), Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1)))
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyPlain, Conv3d):
    """A `Conv3d` that takes in_channels from its first input, and then becomes a plain Conv3d.

    Arguments and shapes: as `Conv3d`.
    Raises: ArgumentTypeError, ArgumentError as `Conv3d`; in forward, ShapeError for a wrong number of dimensions,
            ArgumentError for channels that groups does not divide, ArgumentTypeError for an input that is not a tensor.
    Example:
        >>> torch.nn.LazyConv3d(4, 2)(torch.ones(1, 2, 4, 5, 6)).shape
        torch.Size([1, 4, 3, 4, 5])
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """A `ConvTranspose1d` that takes in_channels from its first input, and then becomes a plain one.

    Arguments and shapes: as `ConvTranspose1d`.
    Raises: ArgumentTypeError, ArgumentError as `ConvTranspose1d`; in forward, ShapeError for a wrong number of
            dimensions, ArgumentError for channels that groups does not divide, ArgumentTypeError for an input that is
            not a tensor.
    Example:
        >>> torch.nn.LazyConvTranspose1d(5, 4)(torch.ones(2, 3, 10)).shape
        torch.Size([2, 5, 13])
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """A `ConvTranspose2d` that takes in_channels from its first input, and then becomes a plain one.

    Arguments and shapes: as `ConvTranspose2d`.
    Raises: ArgumentTypeError, ArgumentError as `ConvTranspose2d`; in forward, ShapeError for a wrong number of
            dimensions, ArgumentError for channels that groups does not divide, ArgumentTypeError for an input that is
            not a tensor.
    Example:
        >>> torch.nn.LazyConvTranspose2d(8, 2, 2)(torch.ones(2, 3, 5, 6)).shape
        torch.Size([2, 8, 10, 12])
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):
    """A `ConvTranspose3d` that takes in_channels from its first input, and then becomes a plain one.

    Arguments and shapes: as `ConvTranspose3d`.
    Raises: ArgumentTypeError, ArgumentError as `ConvTranspose3d`; in forward, ShapeError for a wrong number of
            dimensions, ArgumentError for channels that groups does not divide, ArgumentTypeError for an input that is
            not a tensor.
    Example:
        >>> torch.nn.LazyConvTranspose3d(4, 2)(torch.ones(1, 2, 4, 5, 6)).shape
        torch.Size([1, 4, 5, 6, 7])
    """

    cls_to_become = ConvTranspose3d
