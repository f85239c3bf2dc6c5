"""Functions of the array API that make arrays."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..dtypes import dtype
from ..ops import creation, join
from ..tensor import checks, factories


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: dtype | None = None, device: Any = None) -> Any:
    """Make evenly spaced values in [start, stop), or in [0, start) without stop.

    Shapes: a vector; it is empty if the step points away from stop.
    Raises: ValueRangeError for a step of 0, DeviceNameError or DeviceIndexError for a device that does not exist.
    Example:
        >>> torch.array_api.arange(3), torch.array_api.arange(3, 0).shape
        (tensor([0, 1, 2]), torch.Size([0]))
    """
    first, last = (0, start) if stop is None else (start, stop)
    if (last - first) * step < 0:
        default = (
            dtypes.default.floating
            if any(isinstance(number, float) for number in (first, last, step))
            else dtypes.int64
        )
        return factories.empty(0, dtype=dtype or default, device=device)
    return factories.arange(first, last, step, dtype=dtype, device=device)


def empty(shape: Any, *, dtype: dtype | None = None, device: Any = None) -> Any:
    """Make an array without setting its values.

    Shapes: the result has the shape `shape`.
    Raises: ArgumentTypeError for sizes that are not ints, ValueRangeError for a negative one.
    Example:
        >>> torch.array_api.empty((2, 3)).shape
        torch.Size([2, 3])
    """
    return factories.empty(shape, dtype=dtype, device=device)


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: dtype | None = None, device: Any = None
) -> Any:
    """Make a matrix of zeros with ones on diagonal k; positive k lie above the main diagonal.

    Shapes: [n_rows, n_cols]; n_cols is n_rows by default.
    Raises: ArgumentTypeError for sizes that are not ints, ValueRangeError for a negative one.
    Example:
        >>> torch.array_api.eye(2, 3, k=1)
        tensor([[0., 1., 0.],
                [0., 0., 1.]])
    """
    columns = n_rows if n_cols is None else n_cols
    result = factories.zeros((n_rows, columns), dtype=dtype, device=device)
    if -n_rows < k < columns:
        result.diagonal(k).fill_(1)
    return result


def full(shape: Any, fill_value: Any, *, dtype: dtype | None = None, device: Any = None) -> Any:
    """Make an array whose elements all have the value `fill_value`.

    Shapes: the result has the shape `shape`.
    Raises: ArgumentTypeError for sizes that are not ints or a value that is not a number, ValueRangeError for a
            negative size.
    Example:
        >>> torch.array_api.full(2, True)
        tensor([True, True])
    """
    return factories.full((shape,) if isinstance(shape, int) else shape, fill_value, dtype=dtype, device=device)


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: dtype | None = None,
    device: Any = None,
    endpoint: bool = True,
) -> Any:
    """Make num evenly spaced values from start to stop; the last value is stop, unless endpoint is False.

    Shapes: a vector of `num` elements.
    Raises: ArgumentTypeError if `num` is not an int, ValueRangeError if it is negative.
    Example:
        >>> torch.array_api.linspace(0, 1, 4, endpoint=False)
        tensor([0.0000, 0.2500, 0.5000, 0.7500])
    """
    checks.count("linspace", "num", num)
    if endpoint:
        return factories.linspace(start, stop, num, dtype=dtype, device=device)
    return factories.linspace(start, stop, num + 1, dtype=dtype, device=device)[:-1]


def meshgrid(*arrays: Any, indexing: str = "xy") -> list[Any]:
    """Return the coordinates of a grid, one array for each axis; indexing "xy", the default, swaps the first two axes.

    Shapes: vectors of n and m elements give arrays [m, n], or [n, m] with indexing "ij".
    Raises: ShapeError for more than one dimension, DtypeError if the types differ, ValueRangeError for any other
            indexing.
    Example:
        >>> [each.shape for each in torch.array_api.meshgrid(torch.ones(2), torch.ones(3))]
        [torch.Size([3, 2]), torch.Size([3, 2])]
    """
    return list(join.meshgrid(*arrays, indexing=indexing))


def ones(shape: Any, *, dtype: dtype | None = None, device: Any = None) -> Any:
    """Make an array of ones.

    Shapes: the result has the shape `shape`.
    Raises: ArgumentTypeError for sizes that are not ints, ValueRangeError for a negative one.
    Example:
        >>> torch.array_api.ones(2)
        tensor([1., 1.])
    """
    return factories.ones(shape, dtype=dtype, device=device)


def tril(x: Any, /, *, k: int = 0) -> Any:
    """Return the elements on and below diagonal k of matrices, and zeros above.

    Shapes: [*, n, m] gives the same.
    Raises: ShapeError for fewer than two dimensions.
    Example:
        >>> torch.array_api.tril(torch.ones(2, 2))
        tensor([[1., 0.],
                [1., 1.]])
    """
    return creation.tril(x, k)


def triu(x: Any, /, *, k: int = 0) -> Any:
    """Return the elements on and above diagonal k of matrices, and zeros below.

    Shapes: [*, n, m] gives the same.
    Raises: ShapeError for fewer than two dimensions.
    Example:
        >>> torch.array_api.triu(torch.ones(2, 2), k=1)
        tensor([[0., 1.],
                [0., 0.]])
    """
    return creation.triu(x, k)


def zeros(shape: Any, *, dtype: dtype | None = None, device: Any = None) -> Any:
    """Make an array of zeros.

    Shapes: the result has the shape `shape`.
    Raises: ArgumentTypeError for sizes that are not ints, ValueRangeError for a negative one.
    Example:
        >>> torch.array_api.zeros(2)
        tensor([0., 0.])
    """
    return factories.zeros(shape, dtype=dtype, device=device)
