"""Products and transposes of the array API."""

from __future__ import annotations

from typing import Any

from ..errors import ShapeError
from ..ops import arithmetic, linalg, reductions, views
from ..tensor import functions
from .data_types import promoted


def matmul(x1: Any, x2: Any, /) -> Any:
    """Return the product of matrices, or of stacks of matrices.

    Example:
        >>> torch.array_api.matmul(torch.ones(2, 3), torch.ones(3, 1))
        tensor([[3.],
                [3.]])
    """
    return linalg.matmul(*promoted(x1, x2))


def matrix_transpose(x: Any, /) -> Any:
    """Return a view with the last two axes exchanged.

    Raises: ShapeError for less than two dimensions.
    Example:
        >>> torch.array_api.matrix_transpose(torch.ones(4, 2, 3)).shape
        torch.Size([4, 3, 2])
    """
    if x.ndim < 2:
        raise ShapeError(f"x has {x.ndim} dimensions", hint="a matrix has two at least", operator="matrix_transpose")
    return views.transpose(x, -1, -2)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """Return the sums of products over axes: a number of last and first ones, or a sequence for each array.

    Example:
        >>> torch.array_api.tensordot(torch.ones(2, 3), torch.ones(3, 4), axes=1).shape
        torch.Size([2, 4])
    """
    return functions.tensordot(*promoted(x1, x2), dims=axes)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Return the sums of products along an axis, which is negative and of one size in both arrays.

    Raises: ShapeError if the sizes differ.
    Example:
        >>> torch.array_api.vecdot(torch.ones(2, 3), torch.ones(3))
        tensor([3., 3.])
    """
    first, second = promoted(x1, x2)
    if first.shape[axis] != second.shape[axis]:
        raise ShapeError(
            f"axis {axis} has size {first.shape[axis]} in x1 and {second.shape[axis]} in x2",
            hint="only other axes broadcast",
            operator="vecdot",
        )
    return reductions.sum_(arithmetic.mul(first, second), axis, dtype=first.dtype)
