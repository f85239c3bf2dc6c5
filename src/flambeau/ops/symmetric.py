"""Symmetric matrices that need not be positive definite: LDL factorizations, and a few extreme eigenvalues."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import host
from ..dtypes import int32
from ..errors import ArgumentError, ShapeError, ValueRangeError, shown
from ..host import np
from ..solver_operation import routine
from . import results
from .factorizations import (
    back,
    check_info,
    check_square,
    linalg_cholesky,
    linalg_eigh,
    linalg_solve_triangular,
    public,
    systems,
)
from .operator import Array, ErrorSample, Operand, Sample, composite
from .solvers import TYPES, mt, run_on_host, solver_operator, to_host

SINGULAR = "the diagonal element {at} of D is zero: the matrix is singular"
METHODS = (None, "basic", "ortho")


@routine("ldl")
def _ldl(a: Any) -> tuple[Any, Any, Any]:
    (sytrf,) = host.scipy_linalg().lapack.get_lapack_funcs(("sytrf",), (a,))
    factors, pivots, codes = np.zeros_like(a), np.zeros(a.shape[:-1], "int32"), np.zeros(a.shape[:-2], "int32")
    for index in np.ndindex(*a.shape[:-2]):
        if a.shape[-1]:
            packed, pivots[index], codes[index] = sytrf(a[index], lower=1)
            factors[index] = np.tril(packed)
    return factors, pivots, codes


@routine("ldl_solution")
def _ldl_solution(factors: Any, pivots: Any, b: Any) -> tuple[Any]:
    (sytrs,) = host.scipy_linalg().lapack.get_lapack_funcs(("sytrs",), (factors, b))
    out = np.array(b)
    for index in np.ndindex(*b.shape[:-2]):
        if b[index].size:
            out[index] = sytrs(factors[index], pivots[index], b[index], lower=1)[0]
    return (out,)


@solver_operator()
def ldl_of(call: Any, A: Operand) -> Any:
    """Return (factors in one matrix, pivots, failure code) of symmetric matrices, from their lower triangles."""
    return run_on_host(call, "ldl", [(A.shape, A.dtype), (A.shape[:-1], int32), (A.shape[:-2], int32)], A)


@solver_operator()
def ldl_solution_of(call: Any, LD: Operand, pivots: Operand, B: Operand) -> Any:
    """Compute the solution X of A @ X = B, given the factors of A."""
    return run_on_host(call, "ldl_solution", [(B.shape, B.dtype)], LD, pivots, B)


def _symmetric() -> Iterator[Sample]:
    yield Sample((Array((3, 3), low=-2, high=2, grad=False),))
    yield Sample((Array((2, 2, 2), layout="transposed", grad=False),))
    yield Sample((Array((0, 0), grad=False),))


def _not_square() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)),), ShapeError, r"square matrices, got shape \[2, 3\]")


@public(samples=_symmetric, errors=_not_square, called="linalg.ldl_factor_ex", differentiable=False)
def linalg_ldl_factor_ex(A: Operand, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    """Return (LD, pivots, info): the results of `linalg.ldl_factor`, and a failure code for each matrix.

    info: 0, or the index, from 1, of the first zero on the diagonal of D.
    Shapes: [*, k, k] gives LD [*, k, k], pivots [*, k], int32, and info [*], int32.
    Host:   waits if the operand is on a GPU.
    Raises: ShapeError unless the matrices are square, DtypeError unless float32 or float64, AutogradError for an
            operand that requires a gradient, LinAlgError for an info other than 0, if check_errors.
    Example:
        >>> torch.linalg.ldl_factor_ex(torch.zeros(1, 1)).info
        tensor(1, dtype=torch.int32)
    """
    check_square("linalg.ldl_factor_ex", "A", A)
    result = ldl_of(to_host("linalg.ldl_factor_ex", A))
    if check_errors:
        check_info("linalg.ldl_factor_ex", result[2], SINGULAR, "linalg.lstsq takes singular matrices")
    return back(results.linalg_ldl_factor_ex(*result), A)


@public(samples=_symmetric, errors=_not_square, called="linalg.ldl_factor", differentiable=False)
def linalg_ldl_factor(A: Operand, *, hermitian: bool = False) -> Any:
    """Return (LD, pivots): L and D of A = L @ D @ L^T in one matrix, in the format of LAPACK's sytrf.

    The lower triangle of A is read.  L is 1 on its diagonal, and D has blocks of one or two rows.
    hermitian: has no effect on real matrices.
    Shapes: [*, k, k] gives LD [*, k, k] and pivots [*, k], int32.
    Host:   waits if the operand is on a GPU.
    Raises: ShapeError unless the matrices are square, DtypeError unless float32 or float64, AutogradError for an
            operand that requires a gradient, LinAlgError for a zero on the diagonal of D.
    Example:
        >>> torch.linalg.ldl_factor(torch.tensor([[4.0, 2.0], [2.0, 3.0]])).LD
        tensor([[4.0000, 0.0000],
                [0.5000, 2.0000]])
    """
    check_square("linalg.ldl_factor", "A", A)
    factors, pivots, info = ldl_of(to_host("linalg.ldl_factor", A))
    check_info("linalg.ldl_factor", info, SINGULAR, "linalg.lstsq takes singular matrices")
    return back(results.linalg_ldl_factor(factors, pivots), A)


def _factored() -> Iterator[Sample]:
    pivots = Array((2,), low=1, high=1, dtype="int32", grad=False)
    yield Sample((Array((2, 2), 0.5, 3.0, grad=False), pivots, Array((2, 3), seed=1, grad=False)))


def _bad_factored() -> Iterator[ErrorSample]:
    pivots = Array((2,), low=1, high=1, dtype="int32")
    yield ErrorSample((Array((2, 3)), pivots, Array((2, 2))), ShapeError, r"square matrices, got shape \[2, 3\]")
    yield ErrorSample((Array((2, 2)), pivots, Array((3, 2))), ShapeError, r"incompatible shapes .* \(2x2 and 3x2\)")


@public(samples=_factored, errors=_bad_factored, called="linalg.ldl_solve", differentiable=False)
def linalg_ldl_solve(LD: Operand, pivots: Operand, B: Operand, *, hermitian: bool = False) -> Any:
    """Compute the solution X of A @ X = B, given the results of `linalg.ldl_factor` of A.

    hermitian: has no effect on real matrices.
    Shapes: [*, k, k], [*, k] and [*, k, n] give [*, k, n].
    Host:   waits if the operands are on a GPU.
    Raises: ShapeError if shapes do not fit, DtypeError if the types differ.
    Example:
        >>> A = torch.tensor([[0.0, 2.0], [2.0, 0.0]])
        >>> torch.linalg.ldl_solve(*torch.linalg.ldl_factor(A), torch.tensor([[4.0], [6.0]]))
        tensor([[3.],
                [2.]])
    """
    name, given = "linalg.ldl_solve", pivots
    check_square(name, "LD", LD)
    factors, right = systems(name, to_host(name, LD), to_host(name, B), True)
    numbers: Any = given
    numbers = numbers.to("cpu").expand(factors.shape[:-1])
    return back(ldl_solution_of(factors, numbers, right), B)


def _few() -> Iterator[Sample]:
    yield Sample((Array((6, 6), grad=False), 2), {"B": None})


def _bad_few() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)),), ShapeError, r"square matrices, got shape \[2, 3\]")
    yield ErrorSample((Array((4, 4)), 2), ValueRangeError, "4, must be at least 3 times .* 2")
    yield ErrorSample((Array((4, 4)),), ArgumentError, "method .*'other'", {"method": "other"})


@composite(samples=_few, errors=_bad_few, dtypes=TYPES, host="waits", method=False)
def lobpcg(
    A: Operand,
    k: int | None = None,
    B: Operand | None = None,
    X: Operand | None = None,
    n: int | None = None,
    iK: Operand | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: Any = None,
    ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> Any:
    """Return (E, X): the k largest eigenvalues of A @ x = e * B @ x, and their eigenvectors as columns.

    A must be symmetric, B positive definite.
    There are no iterations: all eigenvalues are computed.  n, niter, tol, iK, the values of X, ortho_iparams,
    ortho_fparams and ortho_bparams have no effect.
    k: the number of eigenvalues; None is the number of columns of X, or 1 without X.  largest: False returns the
    smallest ones.
    Shapes: [*, m, m] gives [*, k] and [*, m, k]; m is at least 3 * k.
    Host:   waits if the operands are on a GPU.
    Raises: ShapeError unless A is square, DtypeError unless float32 or float64, ValueRangeError for fewer rows than 3
            times the number of eigenvalues, ArgumentError for a method other than "basic" and "ortho", or any tracker.
    Example:
        >>> torch.lobpcg(torch.diag(torch.tensor([1.0, 5.0, 3.0])))[0]
        tensor([5.])
    """
    check_square("lobpcg", "A", A)
    if method not in METHODS or tracker is not None:
        raise ArgumentError(
            f"method must be 'basic' or 'ortho' and tracker None, got {shown(method)} and {shown(tracker)}",
            hint="leave method and tracker out: there are no iterations to track",
            operator="lobpcg",
        )
    count = k if k is not None else X.shape[-1] if X is not None else 1
    rows = A.shape[-1]
    if count < 1 or rows < 3 * count:
        raise ValueRangeError(
            f"the rows of A, {rows}, must be at least 3 times the number of eigenvalues, {count}",
            hint="use linalg.eigh, which computes all eigenvalues",
            operator="lobpcg",
        )
    matrix: Any = A
    lower: Any = None
    if B is not None:
        check_square("lobpcg", "B", B)
        lower = linalg_cholesky(B)
        half = linalg_solve_triangular(lower, matrix, upper=False)
        matrix = linalg_solve_triangular(lower, mt(half), upper=False)
    values, vectors = linalg_eigh(matrix)
    if lower is not None:
        vectors = linalg_solve_triangular(mt(lower), vectors, upper=True)
    if largest is None or largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    return values[..., :count], vectors[..., :count]
