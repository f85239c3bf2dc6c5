"""Functions of the array API that make arrays."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..dtypes import dtype
from ..ops import creation, join
from ..tensor import factories


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: dtype | None = None, device: Any = None) -> Any:
    """Make evenly spaced values in [start, stop); there are none if the step points away from stop.

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

    Example:
        >>> torch.array_api.empty((2, 3)).shape
        torch.Size([2, 3])
    """
    return factories.empty(shape, dtype=dtype, device=device)


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: dtype | None = None, device: Any = None
) -> Any:
    """Make a matrix of zeros with ones on diagonal k; positive k lie above the main diagonal.

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
    """Make an array of one value.

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
    """Make num evenly spaced values from start to stop, which is the last one unless endpoint is False.

    Example:
        >>> torch.array_api.linspace(0, 1, 4, endpoint=False)
        tensor([0.0000, 0.2500, 0.5000, 0.7500])
    """
    if endpoint:
        return factories.linspace(start, stop, num, dtype=dtype, device=device)
    return factories.linspace(start, stop, num + 1, dtype=dtype, device=device)[:-1]


def meshgrid(*arrays: Any, indexing: str = "xy") -> list[Any]:
    """Return the coordinates of a grid, one array for each axis; indexing "xy" swaps the first two axes.

    Example:
        >>> [each.shape for each in torch.array_api.meshgrid(torch.ones(2), torch.ones(3))]
        [torch.Size([3, 2]), torch.Size([3, 2])]
    """
    return list(join.meshgrid(*arrays, indexing=indexing))


def ones(shape: Any, *, dtype: dtype | None = None, device: Any = None) -> Any:
    """Make an array of ones.

    Example:
        >>> torch.array_api.ones(2)
        tensor([1., 1.])
    """
    return factories.ones(shape, dtype=dtype, device=device)


def tril(x: Any, /, *, k: int = 0) -> Any:
    """Return the elements on and below diagonal k of matrices, and zeros above.

    Example:
        >>> torch.array_api.tril(torch.ones(2, 2))
        tensor([[1., 0.],
                [1., 1.]])
    """
    return creation.tril(x, k)


def triu(x: Any, /, *, k: int = 0) -> Any:
    """Return the elements on and above diagonal k of matrices, and zeros below.

    Example:
        >>> torch.array_api.triu(torch.ones(2, 2), k=1)
        tensor([[0., 1.],
                [0., 0.]])
    """
    return creation.triu(x, k)


def zeros(shape: Any, *, dtype: dtype | None = None, device: Any = None) -> Any:
    """Make an array of zeros.

    Example:
        >>> torch.array_api.zeros(2)
        tensor([0., 0.])
    """
    return factories.zeros(shape, dtype=dtype, device=device)
