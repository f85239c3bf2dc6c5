"""Padding layers: constant, zero, reflection, replication and circular, for one to three dimensions."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentTypeError, shown
from ..tensor.tensor import Tensor
from . import functional as F
from .module import Layer


class _Pad(Layer):
    """Base of padding layers: an int pads every side, a tuple has (before, after) from the last dimension on."""

    _dims = 1
    _mode = "constant"

    def __init__(self, padding: Any) -> None:
        super().__init__()
        count = 2 * self._dims
        given = (padding,) * count if hasattr(padding, "__index__") else padding
        if not isinstance(given, (tuple, list)) or len(given) != count:
            raise ArgumentTypeError(
                f"padding must be an int or {count} ints, got {shown(padding)}",
                hint="pass (before, after) for the last dimension, then for the dimension before it, and so on",
                operator=self._get_name(),
            )
        self.padding = tuple(given)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ReflectionPadNd(_Pad):
    _mode = "reflect"


class _ReplicationPadNd(_Pad):
    _mode = "replicate"


class _CircularPadNd(_Pad):
    _mode = "circular"


class _ConstantPad(_Pad):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """Pad both ends of the last dimension with the number `value`.

    padding: an int for all sides, or (before, after).
    Shapes: input [*]; the result is larger by the padding.
    Raises: ArgumentTypeError for a padding that is not an int or 2 ints; in forward, ShapeError for a negative padding
            that cuts off more than there is.
    Example:
        >>> torch.nn.ConstantPad1d(1, 7.0)(torch.tensor([[1.0, 2.0, 3.0]]))
        tensor([[7., 1., 2., 3., 7.]])
    """

    _dims = 1


class ConstantPad2d(_ConstantPad):
    """Pad both ends of each of the last two dimensions with the number `value`.

    padding: an int for all sides, or (left, right, top, bottom).
    Shapes: input [*]; the result is larger by the padding.
    Raises: ArgumentTypeError for a padding that is not an int or 4 ints; in forward, ShapeError for fewer dimensions
            than 2 or a negative padding that cuts off more than there is.
    Example:
        >>> torch.nn.ConstantPad2d(1, 7.0)(torch.ones(1, 2, 3)).shape
        torch.Size([1, 4, 5])
    """

    _dims = 2


class ConstantPad3d(_ConstantPad):
    """Pad both ends of each of the last three dimensions with the number `value`.

    padding: an int for all sides, or (left, right, top, bottom, front, back).
    Shapes: input [*]; the result is larger by the padding.
    Raises: ArgumentTypeError for a padding that is not an int or 6 ints; in forward, ShapeError for fewer dimensions
            than 3 or a negative padding that cuts off more than there is.
    Example:
        >>> torch.nn.ConstantPad3d(1, 7.0)(torch.ones(1, 2, 3, 4)).shape
        torch.Size([1, 4, 5, 6])
    """

    _dims = 3


class ZeroPad1d(ConstantPad1d):
    """Pad with zeros, around the last dimension.

    padding: an int for all sides, or (before, after).
    Shapes: input [*]; the result is larger by the padding.
    Raises: ArgumentTypeError for a padding that is not an int or 2 ints; in forward, ShapeError for a negative padding
            that cuts off more than there is.
    Example:
        >>> torch.nn.ZeroPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))
        tensor([[0., 1., 2., 3., 0.]])
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Pad with zeros, around the last two dimensions.

    padding: an int for all sides, or (left, right, top, bottom).
    Shapes: input [*]; the result is larger by the padding.
    Raises: ArgumentTypeError for a padding that is not an int or 4 ints; in forward, ShapeError for fewer dimensions
            than 2 or a negative padding that cuts off more than there is.
    Example:
        >>> torch.nn.ZeroPad2d(1)(torch.ones(1, 2, 3)).shape
        torch.Size([1, 4, 5])
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Pad with zeros, around the last three dimensions.

    padding: an int for all sides, or (left, right, top, bottom, front, back).
    Shapes: input [*]; the result is larger by the padding.
    Raises: ArgumentTypeError for a padding that is not an int or 6 ints; in forward, ShapeError for fewer dimensions
            than 3 or a negative padding that cuts off more than there is.
    Example:
        >>> torch.nn.ZeroPad3d(1)(torch.ones(1, 2, 3, 4)).shape
        torch.Size([1, 4, 5, 6])
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ReflectionPad1d(_ReflectionPadNd):
    """Pad with the mirrored input, without repeating its edge, around the last dimension.

    padding: an int for all sides, or (before, after).
    Shapes: input [n, c, w] or [c, w]; the result is larger by the padding.
    Raises: ArgumentTypeError for a padding that is not an int or 2 ints; in forward, NotSupportedError for a wrong
            number of dimensions, ShapeError for a padding that is not smaller than the size.
    Example:
        >>> torch.nn.ReflectionPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))
        tensor([[2., 1., 2., 3., 2.]])
    """

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Pad with the mirrored input, without repeating its edge, around the last two dimensions.

    padding: an int for all sides, or (left, right, top, bottom).
    Shapes: input [n, c, h, w] or [c, h, w]; the result is larger by the padding.
    Raises: ArgumentTypeError for a padding that is not an int or 4 ints; in forward, NotSupportedError for a wrong
            number of dimensions, ShapeError for a padding that is not smaller than the size.
    Example:
        >>> torch.nn.ReflectionPad2d(1)(torch.ones(1, 2, 3)).shape
        torch.Size([1, 4, 5])
    """

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Pad with the mirrored input, without repeating its edge, around the last three dimensions.

    padding: an int for all sides, or (left, right, top, bottom, front, back).
    Shapes: input [n, c, d, h, w] or [c, d, h, w]; the result is larger by the padding.
    Raises: ArgumentTypeError for a padding that is not an int or 6 ints; in forward, NotSupportedError or ShapeError
            for a wrong number of dimensions, ShapeError for a padding that is not smaller than the size.
    Example:
        >>> torch.nn.ReflectionPad3d(1)(torch.ones(1, 2, 3, 4)).shape
        torch.Size([1, 4, 5, 6])
    """

    _dims = 3


class ReplicationPad1d(_ReplicationPadNd):
    """Pad with copies of the edge of the input, around the last dimension.

    padding: an int for all sides, or (before, after).
    Shapes: input [n, c, w] or [c, w]; the result is larger by the padding.
    Raises: ArgumentTypeError for a padding that is not an int or 2 ints; in forward, NotSupportedError for a wrong
            number of dimensions, ShapeError for a padding that leaves no elements.
    Example:
        >>> torch.nn.ReplicationPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))
        tensor([[1., 1., 2., 3., 3.]])
    """

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Pad with copies of the edge of the input, around the last two dimensions.

    padding: an int for all sides, or (left, right, top, bottom).
    Shapes: input [n, c, h, w] or [c, h, w]; the result is larger by the padding.
    Raises: ArgumentTypeError for a padding that is not an int or 4 ints; in forward, NotSupportedError for a wrong
            number of dimensions, ShapeError for a padding that leaves no elements.
    Example:
        >>> torch.nn.ReplicationPad2d(1)(torch.ones(1, 2, 3)).shape
        torch.Size([1, 4, 5])
    """

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Pad with copies of the edge of the input, around the last three dimensions.

    padding: an int for all sides, or (left, right, top, bottom, front, back).
    Shapes: input [n, c, d, h, w] or [c, d, h, w]; the result is larger by the padding.
    Raises: ArgumentTypeError for a padding that is not an int or 6 ints; in forward, NotSupportedError or ShapeError
            for a wrong number of dimensions, ShapeError for a padding that leaves no elements.
    Example:
        >>> torch.nn.ReplicationPad3d(1)(torch.ones(1, 2, 3, 4)).shape
        torch.Size([1, 4, 5, 6])
    """

    _dims = 3


class CircularPad1d(_CircularPadNd):
    """Pad both ends of the last dimension circularly, each with elements from the opposite end.

    padding: an int for all sides, or (before, after).
    Shapes: input [n, c, w] or [c, w]; the result is larger by the padding.
    Raises: ArgumentTypeError for a padding that is not an int or 2 ints; in forward, NotSupportedError for a wrong
            number of dimensions, ShapeError for a padding that is larger than the size.
    Example:
        >>> torch.nn.CircularPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))
        tensor([[3., 1., 2., 3., 1.]])
    """

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """Pad both ends of each of the last two dimensions circularly, each with elements from the opposite end.

    padding: an int for all sides, or (left, right, top, bottom).
    Shapes: input [n, c, h, w] or [c, h, w]; the result is larger by the padding.
    Raises: ArgumentTypeError for a padding that is not an int or 4 ints; in forward, NotSupportedError for a wrong
            number of dimensions, ShapeError for a padding that is larger than the size.
    Example:
        >>> torch.nn.CircularPad2d(1)(torch.ones(1, 2, 3)).shape
        torch.Size([1, 4, 5])
    """

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """Pad both ends of each of the last three dimensions circularly, each with elements from the opposite end.

    padding: an int for all sides, or (left, right, top, bottom, front, back).
    Shapes: input [n, c, d, h, w] or [c, d, h, w]; the result is larger by the padding.
    Raises: ArgumentTypeError for a padding that is not an int or 6 ints; in forward, NotSupportedError or ShapeError
            for a wrong number of dimensions, ShapeError for a padding that is larger than the size.
    Example:
        >>> torch.nn.CircularPad3d(1)(torch.ones(1, 2, 3, 4)).shape
        torch.Size([1, 4, 5, 6])
    """

    _dims = 3
