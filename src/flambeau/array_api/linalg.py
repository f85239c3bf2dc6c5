"""Linear algebra of the array API: its extension, which also has the products and transposes of the main namespace."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..dtypes import dtype
from ..errors import ShapeError
from ..importer import listing
from ..ops import arithmetic, einsum, factorizations, norms, reductions, slicing, views
from ..ops import linalg as products
from ..ops.factorizations import linalg_det as det
from ..ops.factorizations import linalg_eigvalsh as eigvalsh
from ..ops.factorizations import linalg_inv as inv
from ..ops.factorizations import linalg_matrix_power as matrix_power
from ..ops.factorizations import linalg_svdvals as svdvals
from ..tensor import checks, functions
from .data_types import promoted
from .reductions import sum as sum_of

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power",
    "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot",
    "trace", "vecdot", "vector_norm",
]  # fmt: skip
__dir__ = listing(globals())


def matmul(x1: Any, x2: Any, /) -> Any:
    """Return the product of matrices, or of stacks of matrices.

    Shapes: [*A, m, k] with [*B, k, n] gives [*C, m, n], where A and B broadcast to C.  A vector x1 has no m, and
            a vector x2 no n.
    Raises: ShapeError if sizes do not fit, DtypeError for bool, or if there is no common type.
    Example:
        >>> torch.array_api.matmul(torch.ones(2, 3), torch.ones(3, 1))
        tensor([[3.],
                [3.]])
    """
    return products.matmul(*promoted(x1, x2))


def matrix_transpose(x: Any, /) -> Any:
    """Return a view with the last two axes exchanged.

    Raises: ShapeError for less than two dimensions.
    Example:
        >>> torch.array_api.matrix_transpose(torch.ones(4, 2, 3)).shape
        torch.Size([4, 3, 2])
    """
    if x.ndim < 2:
        raise ShapeError(
            f"x must have at least 2 dimensions, got {x.ndim}",
            hint="pass a matrix, or a batch of matrices",
            operator="matrix_transpose",
        )
    return views.transpose(x, -1, -2)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """Return the sums of products of two arrays over some of their axes.

    axes: a number n, for the last n axes of x1 and the first n of x2; or two sequences of axes, of x1 and of x2.
    Shapes: the axes of x1, then those of x2, without the ones summed over.
    Raises: ShapeError if sizes differ, or for too many axes, DtypeError if there is no common type.
    Example:
        >>> torch.array_api.tensordot(torch.ones(2, 3), torch.ones(3, 4), axes=1).shape
        torch.Size([2, 4])
    """
    return functions.tensordot(*promoted(x1, x2), dims=axes)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Return the dot products of the vectors along an axis, which must have the same size in both inputs.

    axis: a negative number, counted from the end of each shape, or an index if the numbers of dimensions are equal.
    Shapes: the inputs broadcast together; the result has the broadcast shape without the axis.
    Raises: ShapeError if the sizes differ, IndexRangeError if an array has no such axis.
    Example:
        >>> torch.array_api.vecdot(torch.ones(2, 3), torch.ones(3))
        tensor([3., 3.])
    """
    first, second = promoted(x1, x2)
    for array in (first, second):
        checks.dimension("vecdot", axis, array)
    if first.shape[axis] != second.shape[axis]:
        raise ShapeError(
            f"axis {axis} has size {first.shape[axis]} in x1 and {second.shape[axis]} in x2",
            hint="pass arrays with equal sizes along that axis: only the other axes broadcast",
            operator="vecdot",
        )
    return reductions.sum_(arithmetic.mul(first, second), axis, dtype=first.dtype)


class Eigenpairs(NamedTuple):
    """Eigenvalues and eigenvectors, as `eigh` returns them."""

    eigenvalues: Any
    eigenvectors: Any


class OrthogonalTriangular(NamedTuple):
    """The factors of `qr`."""

    Q: Any
    R: Any


class SignAndLogarithm(NamedTuple):
    """Sign and logarithm of the absolute value of a determinant, as `slogdet` returns them."""

    sign: Any
    logabsdet: Any


class SingularValues(NamedTuple):
    """The factors of `svd`."""

    U: Any
    S: Any
    Vh: Any


def cholesky(x: Any, /, *, upper: bool = False) -> Any:
    """Return the Cholesky factor L of symmetric positive definite matrices x = L @ L^T; with upper=True, L^T.

    Shapes: [*, k, k] gives the same.
    Raises: ShapeError unless the matrices are square, DtypeError unless float32 or float64, LinAlgError unless they are
            positive definite.
    Example:
        >>> torch.array_api.linalg.cholesky(torch.tensor([[4.0, 0.0], [0.0, 9.0]]))
        tensor([[2., 0.],
                [0., 3.]])
    """
    return factorizations.linalg_cholesky(x, upper=upper)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Return cross products of the vectors of three elements along an axis.

    axis: a negative number, counted from the end of each shape, or an index if the numbers of dimensions are equal.
    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Raises: ShapeError unless the axis has size three, IndexRangeError if it is out of range.
    Example:
        >>> torch.array_api.linalg.cross(torch.tensor([1, 0, 0]), torch.tensor([0, 1, 0]))
        tensor([0, 0, 1])
    """
    first, second = promoted(x1, x2)
    ndim = max(first.ndim, second.ndim)
    left, right = (array[(None,) * (ndim - array.ndim)] for array in (first, second))
    return einsum.linalg_cross(left, right, dim=axis)


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """Return a view of the diagonals of matrices; a positive `offset` selects one above the main diagonal.

    Shapes: [*, n, m] gives [*, k], where k is the length of the diagonal.
    Raises: IndexRangeError for fewer than two dimensions.
    Example:
        >>> torch.array_api.linalg.diagonal(torch.tensor([[1, 2], [3, 4]]))
        tensor([1, 4])
    """
    return slicing.diagonal(x, offset, -2, -1)


def eigh(x: Any, /) -> Eigenpairs:
    """Return eigenvalues in ascending order, and eigenvectors as columns, of symmetric matrices.

    Shapes: [*, k, k] gives [*, k] and [*, k, k].
    Raises: ShapeError unless the matrices are square, DtypeError unless float32 or float64.
    Example:
        >>> torch.array_api.linalg.eigh(torch.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
        tensor([1., 2.])
    """
    return Eigenpairs(*factorizations.linalg_eigh(x))


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Return a norm of matrices.  ord: "fro" (the default), "nuc", 1, -1, 2, -2, inf or -inf.

    Shapes: [*, n, m] gives [*], or [*, 1, 1] if keepdims.
    Raises: ShapeError for fewer than two dimensions, DtypeError for integers, ModeError for any other `ord`.
    Example:
        >>> torch.array_api.linalg.matrix_norm(torch.tensor([[3.0, 0.0], [0.0, 4.0]]))
        tensor(5.)
    """
    return norms.linalg_matrix_norm(x, ord, (-2, -1), keepdims)


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    """Return the rank of matrices: the number of singular values above rtol times the largest one.

    rtol: None is the epsilon of the type times max(n, m).
    Shapes: [*, n, m] gives [*], int64.
    Raises: ShapeError for fewer than two dimensions, DtypeError unless float32 or float64.
    Example:
        >>> torch.array_api.linalg.matrix_rank(torch.ones(2, 2))
        tensor(1)
    """
    return factorizations.linalg_matrix_rank(x, rtol=rtol)


def outer(x1: Any, x2: Any, /) -> Any:
    """Return the products of all pairs of elements of two vectors.

    Shapes: [n] and [m] give [n, m].
    Raises: ShapeError unless both are vectors, DtypeError if there is no common type.
    Example:
        >>> torch.array_api.linalg.outer(torch.tensor([1, 2]), torch.tensor([3, 4]))
        tensor([[3, 4],
                [6, 8]])
    """
    return products.outer(*promoted(x1, x2))


def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    """Return the pseudoinverses of matrices; singular values up to rtol times the largest one count as zero.

    rtol: None is the epsilon of the type times max(n, m).
    Shapes: [*, n, m] gives [*, m, n].
    Raises: ShapeError for fewer than two dimensions, DtypeError unless float32 or float64.
    Example:
        >>> torch.array_api.linalg.pinv(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    return factorizations.linalg_pinv(x, rtol=rtol)


def qr(x: Any, /, *, mode: str = "reduced") -> OrthogonalTriangular:
    """Return (Q, R), an orthogonal and an upper triangular factor of matrices; mode: "reduced" or "complete".

    Shapes: [*, n, m] gives [*, n, k] and [*, k, m], where k is the smaller size; [*, n, n] and [*, n, m] for
            "complete".
    Raises: ShapeError for fewer than two dimensions, DtypeError unless float32 or float64, ValueRangeError for any
            other mode.
    Example:
        >>> torch.array_api.linalg.qr(torch.ones(3, 2)).R.shape
        torch.Size([2, 2])
    """
    return OrthogonalTriangular(*factorizations.linalg_qr(x, mode))


def slogdet(x: Any, /) -> SignAndLogarithm:
    """Return the signs of determinants, and the logarithms of their absolute values.

    Shapes: [*, k, k] gives [*] twice.
    Raises: ShapeError unless the matrices are square, DtypeError unless float32 or float64.
    Example:
        >>> torch.array_api.linalg.slogdet(torch.tensor([[1.0, 0.0], [0.0, -1.0]])).sign
        tensor(-1.)
    """
    return SignAndLogarithm(*factorizations.linalg_slogdet(x))


def solve(x1: Any, x2: Any, /) -> Any:
    """Return the solutions x of x1 @ x = x2; x2 is one vector if it has one dimension, and otherwise holds matrices.

    Shapes: [*, k, k] with x2 of shape [*, k, n] gives [*, k, n], and with x2 of shape [k] gives [*, k].
    Raises: ShapeError if the sizes do not fit, DtypeError unless float32 or float64, LinAlgError for a singular matrix.
    Example:
        >>> torch.array_api.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.tensor([2.0, 4.0]))
        tensor([1., 1.])
    """
    left, right = promoted(x1, x2)
    if right.ndim == 1:
        return factorizations.linalg_solve(left, right[:, None])[..., 0]
    if right.ndim < left.ndim:
        right = right[(None,) * (left.ndim - right.ndim)]
    return factorizations.linalg_solve(left, right)


def svd(x: Any, /, *, full_matrices: bool = True) -> SingularValues:
    """Return (U, S, Vh): left singular vectors, singular values and transposed right singular vectors.

    Shapes: [*, n, m] gives [*, n, n], [*, k] and [*, m, m], where k is min(n, m).  Without full_matrices, U is
            [*, n, k] and Vh is [*, k, m].
    Raises: ShapeError for fewer than two dimensions, DtypeError unless float32 or float64.
    Example:
        >>> torch.array_api.linalg.svd(torch.tensor([[3.0, 0.0], [0.0, 4.0]])).S
        tensor([4., 3.])
    """
    return SingularValues(*factorizations.linalg_svd(x, full_matrices))


def trace(x: Any, /, *, offset: int = 0, dtype: dtype | None = None) -> Any:
    """Return the sum of a diagonal of each matrix; a positive `offset` selects one above the main diagonal.

    Shapes: [*, n, m] gives [*].
    Raises: IndexRangeError for fewer than two dimensions.
    Example:
        >>> torch.array_api.linalg.trace(torch.tensor([[1, 2], [3, 4]]))
        tensor(5)
    """
    return sum_of(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:
    """Return the norm of order `ord`, 2 by default, along axes or of the whole array.

    Shapes: the input's without the axes in `axis` (None: all axes), or with size 1 there if keepdims.
    Raises: IndexRangeError if an axis is out of range, DtypeError for integers, ArgumentTypeError if `ord` is not a
            number.
    Example:
        >>> torch.array_api.linalg.vector_norm(torch.tensor([3.0, 4.0]))
        tensor(5.)
    """
    if axis == ():
        return x.ne(0).to(x.dtype) if ord == 0 else x.abs()
    return norms.linalg_vector_norm(x, ord, axis, keepdims)
