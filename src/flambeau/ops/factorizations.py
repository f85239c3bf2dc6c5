"""Factorizations, inverses and solutions of linear systems, for torch.linalg.

- A public operator is a composite: it checks its arguments, calls an operator of solvers.py, which has the derivative,
  and reads the failure codes if it raises errors.
- Operands on an NVIDIA GPU without cuSOLVER are copied to the host and results back, so the host waits there.
- Matrices are [*, m, n]; k is the smaller of m and n.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from .. import dtypes
from .. import strides as st
from ..core.view_geometry import known_views
from ..dtypes import int64
from ..errors import ArgumentError, DtypeError, LinAlgError, NotSupportedError, ShapeError, ValueRangeError, shown
from ..host import np
from . import results
from .compare import where
from .creation import tril
from .join import cat, powers_of
from .linalg import check_types, matmul
from .operator import Array, ErrorSample, Operand, Sample, composite
from .slicing import diagonal
from .solvers import (
    TYPES,
    as_pseudoinverse,
    check_floating,
    cholesky_of,
    determinant_of,
    eigen_of,
    eigenvalues_of,
    exponential_of,
    identities,
    inverse_of,
    log_determinant_of,
    lu_of,
    lu_solution_of,
    lu_triangles,
    mt,
    permutation_of,
    qr_of,
    reflected_columns_of,
    reflection_of,
    reflectors_of,
    singular_values_alone_of,
    singular_values_of,
    solution_of,
    to_host,
    to_solver,
    triangular_solution_of,
)
from .views import expand

# arguments


def back(result: Any, like: Any) -> Any:
    """Copy a result, or each of several, back to the device of an operand."""
    first = result[0] if isinstance(result, tuple) else result
    if first.device_index == like.device_index:
        return result
    if isinstance(result, tuple):
        moved = [back(each, like) for each in result]
        return type(result)(*moved) if hasattr(result, "_fields") else tuple(moved)
    return result.to(like.device)


def check_matrix(name: str, what: str, value: Any) -> None:
    if len(value.shape) < 2:
        raise ShapeError(
            f"{what} must have at least 2 dimensions, got shape {list(value.shape)}",
            hint="pass a matrix, or a batch of matrices in the last two dimensions",
            operator=name,
        )


def check_square(name: str, what: str, value: Any) -> None:
    check_matrix(name, what, value)
    if value.shape[-1] != value.shape[-2]:
        raise ShapeError(
            f"{what} must be batches of square matrices, got shape {list(value.shape)}",
            hint="pass matrices with equal last two sizes",
            operator=name,
        )


def check_info(name: str, info: Any, fact: str, hint: str) -> None:
    """Raise LinAlgError if a failure code is not 0.  fact: its description, with {at} for the first code.

    Host: waits for codes on a GPU.
    """
    found = (info if len(info.shape) < 2 else info.reshape((-1,))).tolist()
    codes = found if isinstance(found, list) else [found]
    if not any(codes):
        return
    index, code = next((index, code) for index, code in enumerate(codes) if code)
    batch = f"(batch element {index}) " if len(info.shape) else ""
    raise LinAlgError(f"{batch}{fact.format(at=code)}", hint=hint, operator=name)


SINGULAR = "the diagonal element {at} is zero, the {what} could not be completed because the input matrix is singular"
NO_INVERSE = "pinv and lstsq take matrices without an inverse"
DIVERGED = "the algorithm failed to converge"
NOT_FINITE = "the input may contain NaN or infinity, or be ill-conditioned"


def _matrix(shape: Sequence[int] = (2, 2), **options: Any) -> Array:
    return Array(tuple(shape), 0.5, 3.0, **options)


def _squares() -> Iterator[Sample]:
    yield Sample((_matrix(),))
    yield Sample((_matrix((2, 3, 3), layout="transposed"),))
    yield Sample((_matrix((1, 1), layout="strided"),))
    yield Sample((_matrix((0, 2, 2)),))
    yield Sample((_matrix((0, 0)),))


def _not_square() -> Iterator[ErrorSample]:
    yield from _not_square_or_integers()
    yield ErrorSample((_matrix(dtype="float16"),), DtypeError, "low precision .* got float16")


def _not_square_or_integers() -> Iterator[ErrorSample]:
    yield ErrorSample((_matrix((2, 3)),), ShapeError, r"square matrices, got shape \[2, 3\]")
    yield ErrorSample((_matrix((3,)),), ShapeError, r"at least 2 dimensions, got shape \[3\]")
    yield ErrorSample((_matrix(dtype="int64"),), DtypeError, "floating point tensor as input, got int64")


def public(**options: Any) -> Any:
    """Return a decorator that makes a composite of torch.linalg.  By default it waits on a GPU, for failure codes."""
    settings = {"dtypes": TYPES, "host": "waits", "method": False, "function": False, **options}
    return composite(**settings)


# inverse and solutions


@public(samples=_squares, errors=_not_square, called="linalg.inv_ex", host="may wait")
def linalg_inv_ex(A: Operand, *, check_errors: bool = False) -> Any:
    """Return (inverse, info): the inverses of square matrices, and a failure code for each.

    info: 0, or the index, from 1, of the first zero on the diagonal of U in the LU decomposition.
    Shapes: [*, k, k] gives the same, and [*] for info, int32.
    Host:   returns at once; waits with check_errors, and on an NVIDIA GPU without cuSOLVER.
    Raises: ShapeError unless the matrices are square, DtypeError unless float32 or float64, LinAlgError for a singular
            matrix, if check_errors.
    Example:
        >>> torch.linalg.inv_ex(torch.tensor([[2.0, 0.0], [0.0, 4.0]])).inverse
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    check_square("linalg.inv_ex", "A", A)
    result, info = inverse_of(to_solver("linalg.inv_ex", A))
    if check_errors:
        check_info("linalg.inv_ex", info, SINGULAR.replace("{what}", "inversion"), NO_INVERSE)
    return back(results.linalg_inv_ex(result, info), A)


@public(samples=_squares, errors=_not_square, called="linalg.inv", other_names={"input": "A"})
def linalg_inv(A: Operand) -> Any:
    """Compute the inverse of square matrices.

    Shapes: [*, k, k] gives the same.
    Host:   waits if the operand is on a GPU.
    Raises: ShapeError unless the matrices are square, DtypeError unless float32 or float64, LinAlgError for a singular
            matrix.
    Example:
        >>> torch.linalg.inv(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    check_square("linalg.inv", "A", A)
    result, info = inverse_of(to_solver("linalg.inv", A))
    check_info("linalg.inv", info, SINGULAR.replace("{what}", "inversion"), NO_INVERSE)
    return back(result, A)


def _systems() -> Iterator[Sample]:
    yield Sample((_matrix(), Array((2, 3), seed=1)))
    yield Sample((_matrix(), Array((2,), seed=1)))
    yield Sample((_matrix((2, 3, 3), layout="transposed"), Array((2, 3), seed=1)))
    yield Sample((_matrix((2, 1, 2, 2)), Array((3, 2, 1), layout="strided", seed=1)))
    yield Sample((_matrix(), Array((3, 2), seed=1)), {"left": False})
    yield Sample((_matrix((0, 0)), Array((0, 2))))


def _bad_systems() -> Iterator[ErrorSample]:
    square = _matrix()
    yield ErrorSample((_matrix((2, 3)), Array((2,))), ShapeError, r"square matrices, got shape \[2, 3\]")
    yield ErrorSample((square, Array((3, 2))), ShapeError, r"incompatible shapes .* \(2x2 and 3x2\)")
    yield ErrorSample((square, Array((2,), dtype="float64")), DtypeError, "got float32 and float64")


def is_vector_of(A: Any, B: Any) -> bool:
    """Return whether B is a batch of vectors, not of matrices, by the rule of torch.linalg.solve."""
    return len(B.shape) == 1 or len(A.shape) - 1 == len(B.shape) and A.shape[:-1] == B.shape


def systems(name: str, A: Any, B: Any, left: bool) -> tuple[Any, Any]:
    """Return A and B as matrices with one batch shape; on the CPU if their GPU has no solver library.

    The system is A @ X = B: both are transposed if `left` is False.
    """
    check_types(name, A=A, B=B)
    check_matrix(name, "B", B)
    rows, inner = B.shape[-2] if left else B.shape[-1], A.shape[-1]
    if rows != inner:
        pairs = "x".join(map(str, A.shape[-2:])), "x".join(map(str, B.shape[-2:]))
        raise ShapeError(
            f"incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({pairs[0]} and {pairs[1]})",
            hint="B has as many rows as A (columns, with left=False)",
            operator=name,
        )
    A, B = to_solver(name, A), to_solver(name, B)
    if not left:
        A, B = mt(A), mt(B)
    batch = st.broadcast([A.shape[:-2], B.shape[:-2]], name)
    return expand(A, (*batch, *A.shape[-2:])), expand(B, (*batch, *B.shape[-2:]))


def _solved(name: str, A: Any, B: Any, left: bool) -> tuple[Any, Any]:
    check_square(name, "A", A)
    is_vector = left and is_vector_of(A, B)
    a, b = systems(name, A, B.unsqueeze(-1) if is_vector else B, left)
    solution, info = solution_of(a, b)
    if info.shape != A.shape[:-2]:  # one matrix for several systems
        info = lu_of(to_solver(name, A).detach(), True)[2]
    if is_vector:
        solution = solution.squeeze(-1)
    return solution if left else mt(solution), info


@public(samples=_systems, errors=_bad_systems, called="linalg.solve")
def linalg_solve(A: Operand, B: Operand, *, left: bool = True) -> Any:
    """Compute the solution X of A @ X = B, or of X @ A = B if `left` is False.

    Shapes: A [*, k, k] and B [*, k, n] give [*, k, n].  B [k], or B [*, k] with the batch shape of A, gives [*, k].
    Host:   waits if the operands are on a GPU.
    Raises: LinAlgError for a singular matrix, ShapeError if shapes do not fit, DtypeError if the types differ.
    Example:
        >>> torch.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.tensor([2.0, 2.0]))
        tensor([1.0000, 0.5000])
    """
    solution, info = _solved("linalg.solve", A, B, left)
    check_info("linalg.solve", info, "the solver failed because the input matrix is singular", NO_INVERSE)
    return back(solution, A)


@public(samples=_systems, errors=_bad_systems, called="linalg.solve_ex", host="may wait")
def linalg_solve_ex(A: Operand, B: Operand, *, left: bool = True, check_errors: bool = False) -> Any:
    """Return (result, info): the solution that `linalg.solve` returns, and a failure code for each matrix.

    info: 0, or the index, from 1, of the first zero on the diagonal of U in the LU decomposition of A.
    Shapes: [*, k, k] with [*, k, n] gives [*, k, n], and [*] for info, int32.
    Host:   returns at once; waits with check_errors, and on an NVIDIA GPU without cuSOLVER.
    Raises: ShapeError if shapes do not fit, DtypeError if the types differ or are not float32 or float64, LinAlgError
            for a singular matrix, if check_errors.
    Example:
        >>> torch.linalg.solve_ex(torch.eye(2), torch.tensor([2.0, 3.0])).info
        tensor(0, dtype=torch.int32)
    """
    solution, info = _solved("linalg.solve_ex", A, B, left)
    if check_errors:
        check_info("linalg.solve_ex", info, "the solver failed because the input matrix is singular", NO_INVERSE)
    return back(results.linalg_solve_ex(solution, info), A)


def _triangular_systems() -> Iterator[Sample]:
    yield Sample((_matrix(), Array((2, 3), seed=1)), {"upper": True})
    yield Sample((_matrix((2, 3, 3), layout="transposed"), Array((3, 2), seed=1)), {"upper": False})
    yield Sample((_matrix(), Array((3, 2), seed=1)), {"upper": True, "left": False, "unitriangular": True})
    yield Sample((_matrix(), Array((2, 3), seed=1)), {"upper": False, "unitriangular": True})


def _bad_triangular_systems() -> Iterator[ErrorSample]:
    wanted = {"upper": True}
    yield ErrorSample((_matrix((2, 3)), Array((2, 2))), ShapeError, r"square matrices, got shape \[2, 3\]", wanted)
    yield ErrorSample((_matrix(), Array((3, 2))), ShapeError, r"incompatible shapes .* \(2x2 and 3x2\)", wanted)


@public(samples=_triangular_systems, errors=_bad_triangular_systems, called="linalg.solve_triangular", host="may wait")
def linalg_solve_triangular(
    A: Operand, B: Operand, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    """Compute the solution X of A @ X = B, or of X @ A = B if `left` is False, for triangular A.

    upper: whether A is upper triangular.  The other triangle is not read.  unitriangular: take the diagonal
    as ones.  A zero on the diagonal gives infinities and NaN.
    Shapes: [*, k, k] with [*, k, n] gives [*, k, n].
    Host:   returns at once; waits on an NVIDIA GPU without cuSOLVER.
    Raises: ShapeError if shapes do not fit, DtypeError if the types differ.
    Example:
        >>> A = torch.tensor([[2.0, 1.0], [0.0, 1.0]])
        >>> torch.linalg.solve_triangular(A, torch.tensor([[3.0], [1.0]]), upper=True)
        tensor([[1.],
                [1.]])
    """
    name = "linalg.solve_triangular"
    check_square(name, "A", A)
    a, b = systems(name, A, B, left)
    solution = triangular_solution_of(a, b, upper if left else not upper, unitriangular)
    return back(solution if left else mt(solution), A)


def _former_systems() -> Iterator[Sample]:
    yield Sample((Array((2, 3), seed=1), _matrix()))
    yield Sample((Array((2, 3), seed=1), _matrix(), False, True, True))


def _bad_former_systems() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 2)), _matrix((2, 3))), ShapeError, r"square matrices, got shape \[2, 3\]")
    yield ErrorSample((Array((3, 2)), _matrix()), ShapeError, r"incompatible shapes .* \(2x2 and 3x2\)")


@composite(
    samples=_former_systems, errors=_bad_former_systems, dtypes=TYPES, host="may wait", other_names={"input": "b"}
)
def triangular_solve(
    b: Operand, A: Operand, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """Return (X, A), where X solves A @ X = b for the input b: the former name of `linalg.solve_triangular`.

    A: an upper triangular matrix, or a lower triangular one if upper is False.  transpose: True solves A^T @ X = b.
    unitriangular: True takes the diagonal of A as 1.
    Shapes: b [*, k, n] with A [*, k, k] gives [*, k, n], and A itself.
    Host:   returns at once; waits on an NVIDIA GPU without cuSOLVER.
    Raises: ShapeError if shapes do not fit, DtypeError if the types differ.
    Example:
        >>> torch.triangular_solve(torch.tensor([[3.0], [1.0]]), torch.tensor([[2.0, 1.0], [0.0, 1.0]])).solution
        tensor([[1.],
                [1.]])
    """
    check_square("triangular_solve", "A", A)
    given: Any = A
    a = mt(given) if transpose else given
    solution = linalg_solve_triangular(a, b, upper=bool(upper) != bool(transpose), unitriangular=bool(unitriangular))
    shape = (*solution.shape[:-2], *given.shape[-2:])
    return results.triangular_solve(solution, expand(given, shape).clone())


# determinants


@public(samples=_squares, errors=_not_square, called="linalg.det", host="may wait", other_names={"input": "A"})
def linalg_det(A: Operand) -> Any:
    """Compute the determinant of square matrices.

    Shapes: [*, k, k] gives [*].
    Host:   returns at once; waits on an NVIDIA GPU without cuSOLVER.
    Raises: ShapeError unless the matrices are square, DtypeError unless float32 or float64.
    Example:
        >>> torch.linalg.det(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor(-2.0000)
    """
    check_square("linalg.det", "A", A)
    return back(determinant_of(to_solver("linalg.det", A)), A)


@public(samples=_squares, errors=_not_square, called="linalg.slogdet", host="may wait", other_names={"input": "A"})
def linalg_slogdet(A: Operand) -> Any:
    """Return (sign, logabsdet) of the determinant of square matrices: its sign and the log of its absolute value.

    Shapes: [*, k, k] gives two tensors of shape [*].
    Host:   returns at once; waits on an NVIDIA GPU without cuSOLVER.
    Raises: ShapeError unless the matrices are square, DtypeError unless float32 or float64.
    Example:
        >>> torch.linalg.slogdet(torch.tensor([[1.0, 0.0], [0.0, -1.0]]))
        torch.return_types.linalg_slogdet(
        sign=tensor(-1.),
        logabsdet=tensor(0.))
    """
    check_square("linalg.slogdet", "A", A)
    return back(results.linalg_slogdet(*log_determinant_of(to_solver("linalg.slogdet", A))), A)


def _positive() -> Iterator[Sample]:
    yield Sample((_matrix((1, 1)),))
    yield Sample((_matrix((3, 1, 1), layout="transposed"),))
    yield Sample((_matrix((2, 3, 3), grad=False),))  # some determinants are negative
    yield Sample((_matrix((0, 0)),))


@composite(samples=_positive, errors=_not_square, dtypes=TYPES, host="may wait")
def logdet(input: Operand) -> Any:
    """Compute the logarithm of the determinant of square matrices: NaN for a negative determinant, -infinity for 0.

    Shapes: [*, k, k] gives [*].
    Host:   returns at once; waits on an NVIDIA GPU without cuSOLVER.
    Raises: ShapeError unless the matrices are square, DtypeError unless float32 or float64.
    Example:
        >>> torch.logdet(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
        tensor(0.)
    """
    check_square("logdet", "input", input)
    sign, size = log_determinant_of(to_solver("logdet", input))
    return back(size.masked_fill(sign < 0, float("nan")), input)


# Cholesky


NOT_POSITIVE = "the factorization could not be completed because the input is not positive-definite (the leading "
NOT_POSITIVE += "minor of order {at} is not positive-definite)"
ADD_TO_DIAGONAL = "adding a small multiple of the identity makes a nearly definite matrix definite"


def _definite() -> Iterator[Sample]:
    yield Sample((Array((1, 1), 1, 2),))
    yield Sample((Array((3, 1, 1), 1, 2),), {"upper": True})
    yield Sample((Array((0, 2, 2)),))


def _cholesky(name: str, A: Any, upper: bool, check_errors: bool) -> tuple[Any, Any]:
    check_square(name, "A", A)
    factor, info = cholesky_of(to_solver(name, A), bool(upper))
    if check_errors:
        check_info(name, info, NOT_POSITIVE, ADD_TO_DIAGONAL)
    return factor, info


@public(samples=_definite, errors=_not_square, called="linalg.cholesky")
def linalg_cholesky(A: Operand, *, upper: bool = False) -> Any:
    """Return the Cholesky factor of A: lower triangular L with A = L @ L^T, or with `upper` U with A = U^T @ U.

    Only the triangle of A that corresponds to the factor is read.
    Shapes: [*, k, k] gives the same.
    Host:   waits if the operand is on a GPU.
    Raises: ShapeError unless the matrices are square, DtypeError unless float32 or float64, LinAlgError unless A is
            positive definite.
    Example:
        >>> torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 2.0]]))
        tensor([[2., 0.],
                [1., 1.]])
    """
    return back(_cholesky("linalg.cholesky", A, upper, True)[0], A)


@public(samples=_definite, errors=_not_square, called="linalg.cholesky_ex", host="may wait")
def linalg_cholesky_ex(A: Operand, *, upper: bool = False, check_errors: bool = False) -> Any:
    """Return (L, info): the factor of `linalg.cholesky`, and a failure code for each matrix.

    info: 0, or the order of the first leading minor that is not positive.
    Shapes: [*, k, k] gives the same, and [*] for info, int32.
    Host:   returns at once; waits with check_errors, and on an NVIDIA GPU without cuSOLVER.
    Raises: ShapeError unless the matrices are square, DtypeError unless float32 or float64, LinAlgError unless A is
            positive definite, if check_errors.
    Example:
        >>> torch.linalg.cholesky_ex(torch.tensor([[-4.0]])).info
        tensor(1, dtype=torch.int32)
    """
    return back(results.linalg_cholesky_ex(*_cholesky("linalg.cholesky_ex", A, upper, check_errors)), A)


@composite(samples=_definite, errors=_not_square, dtypes=TYPES, host="waits")
def cholesky(input: Operand, upper: bool = False) -> Any:
    """Return the Cholesky factor L of the input A, where A = L @ L^T: the former name of `linalg.cholesky`.

    upper: True returns the upper triangular factor, L^T.
    Shapes: [*, k, k] gives the same.
    Host:   waits if the operand is on a GPU.
    Raises: ShapeError unless the matrices are square, DtypeError unless float32 or float64, LinAlgError unless the
            input is positive definite.
    Example:
        >>> torch.cholesky(torch.tensor([[4.0]]))
        tensor([[2.]])
    """
    return back(_cholesky("cholesky", input, upper, True)[0], input)


def _factored_systems() -> Iterator[Sample]:
    yield Sample((Array((2, 3), seed=1), _matrix()))
    yield Sample((Array((2, 3, 1), seed=1), _matrix((3, 3), layout="transposed"), True))


@composite(
    samples=_factored_systems,
    errors=_bad_former_systems,
    dtypes=TYPES,
    host="may wait",
    other_names={"input": "B", "input2": "L"},
)
def cholesky_solve(B: Operand, L: Operand, upper: bool = False) -> Any:
    """Compute the solution X of A @ X = B from the Cholesky factor L of A, where A = L @ L^T.

    upper: True takes L as upper triangular, with A = L^T @ L.
    Shapes: B, the input, [*, k, n] and L [*, k, k] give X [*, k, n].
    Host:   returns at once; waits on an NVIDIA GPU without cuSOLVER.
    Raises: ShapeError if shapes do not fit, DtypeError if the types differ.
    Example:
        >>> torch.cholesky_solve(torch.tensor([[8.0]]), torch.tensor([[2.0]]))
        tensor([[2.]])
    """
    check_square("cholesky_solve", "L", L)
    a, b = systems("cholesky_solve", L, B, True)
    first = triangular_solution_of(mt(a) if upper else a, b, False, False)
    return back(triangular_solution_of(a if upper else mt(a), first, True, False), B)


@composite(samples=_squares, errors=_not_square, dtypes=TYPES, host="may wait", other_names={"input": "L"})
def cholesky_inverse(L: Operand, upper: bool = False) -> Any:
    """Compute the inverse of A from the input, its Cholesky factor L, where A = L @ L^T.

    upper: True takes L as upper triangular, with A = L^T @ L.
    Shapes: [*, k, k] gives the same.
    Host:   returns at once; waits on an NVIDIA GPU without cuSOLVER.
    Raises: ShapeError unless L is square, DtypeError unless float32 or float64.
    Example:
        >>> torch.cholesky_inverse(torch.tensor([[2.0]]))
        tensor([[0.2500]])
    """
    check_square("cholesky_inverse", "L", L)
    a = to_solver("cholesky_inverse", L)
    return back(cholesky_solve(identities(a), a, upper), L)


# QR


def _tall() -> Iterator[Sample]:
    yield Sample((_matrix((3, 2)),))
    yield Sample((_matrix((2, 3), layout="transposed"),))
    yield Sample((_matrix((2, 3, 3)),), {"mode": "complete"})
    yield Sample((_matrix((0, 2)),))


def _bad_qr() -> Iterator[ErrorSample]:
    yield ErrorSample((_matrix((3,)),), ShapeError, r"at least 2 dimensions, got shape \[3\]")
    yield ErrorSample((_matrix(), "all"), ArgumentError, "mode must be .* got 'all'")


@public(samples=_tall, errors=_bad_qr, called="linalg.qr", host="may wait")
def linalg_qr(A: Operand, mode: str = "reduced") -> Any:
    """Return (Q, R) of the QR decomposition A = Q @ R: Q has orthonormal columns, and R is upper triangular.

    mode: "reduced" for Q of [*, m, k]; "complete" for Q of [*, m, m]; "r" for only R, with an empty Q.
    Shapes: [*, m, n] gives [*, m, k] and [*, k, n], where k is min(m, n); see `mode`.
    Host:   returns at once; waits on an NVIDIA GPU without cuSOLVER.
    Raises: ShapeError for fewer than 2 dimensions, DtypeError unless float32 or float64, ValueRangeError for any other
            mode, NotSupportedError in backward of "r", and of "complete" if m > n.
    Example:
        >>> torch.linalg.qr(torch.tensor([[-3.0, 1.0], [-4.0, 2.0]])).R.abs()
        tensor([[5.0000, 2.2000],
                [0.0000, 0.4000]])
    """
    if mode not in ("reduced", "complete", "r"):
        raise ValueRangeError(
            f"mode must be 'reduced', 'complete' or 'r', got {shown(mode)}", hint="leave it out", operator="linalg.qr"
        )
    check_matrix("linalg.qr", "A", A)
    a = to_solver("linalg.qr", A)
    q, r = qr_of(a.detach() if mode == "r" else a, "complete" if mode == "complete" else "reduced")
    if mode == "r":
        q = q.new_zeros((0,))
    return back(results.linalg_qr(q, r), A)


@composite(
    samples=lambda: [Sample((_matrix((3, 2)),)), Sample((_matrix((2, 2)), False))], dtypes=TYPES, host="may wait"
)
def qr(input: Operand, some: bool = True) -> Any:
    """Return (Q, R), the QR decomposition input = Q @ R: the former name of `linalg.qr`.

    some: True is mode="reduced", False mode="complete".
    Shapes: [*, m, n] gives [*, m, k] and [*, k, n], where k = min(m, n); [*, m, m] and [*, m, n] if not some.
    Host:   returns at once; waits on an NVIDIA GPU without cuSOLVER.
    Raises: ShapeError for fewer than 2 dimensions, DtypeError unless float32 or float64.
    Example:
        >>> torch.qr(torch.eye(2)).R.abs()
        tensor([[1., 0.],
                [0., 1.]])
    """
    return results.qr(*linalg_qr(input, "reduced" if some else "complete"))


# eigenvalues and singular values


def _reflectors() -> Iterator[Sample]:
    yield Sample((_matrix((3, 2)), Array((2,), 0.2, 1.0, seed=1)))
    yield Sample((_matrix((2, 3, 3), layout="transposed"), Array((2, 2), 0.2, 1.0, seed=1)))


def _bad_reflectors() -> Iterator[ErrorSample]:
    yield ErrorSample((_matrix((3,)), Array((1,))), ShapeError, r"at least 2 dimensions, got shape \[3\]")
    yield ErrorSample((_matrix((2, 3)), Array((2,))), ShapeError, r"A \[2, 3\] and tau \[2\] do not fit")
    yield ErrorSample((_matrix((3, 2)), Array((3,))), ShapeError, r"A \[3, 2\] and tau \[3\] do not fit")


def _product(name: str, A: Any, tau: Any) -> Any:
    check_matrix(name, "A", A)
    *batch, m, n = A.shape
    if m < n or list(tau.shape[:-1]) != batch or not tau.shape or tau.shape[-1] > n:
        raise ShapeError(
            f"A {list(A.shape)} and tau {list(tau.shape)} do not fit",
            hint="pass A [*, m, n] with m >= n, and tau [*, k] with k <= n",
            operator=name,
        )
    check_types(name, A=A, tau=tau)
    return back(reflected_columns_of(to_solver(name, A), to_solver(name, tau)), A)


@public(
    samples=_reflectors,
    errors=_bad_reflectors,
    called="linalg.householder_product",
    host="may wait",
    other_names={"input": "A"},
)
def linalg_householder_product(A: Operand, tau: Operand) -> Any:
    """Return Q of a QR decomposition: the first n columns of the product of the reflections that `torch.geqrf` returns.

    Reflection i is I - tau[i] * v @ v^T, where v is 0 above row i, 1 there, and column i of A below row i.
    Shapes: [*, m, n] with m >= n, and [*, k] with k <= n, give [*, m, n].
    Host:   returns at once; waits on an NVIDIA GPU without cuSOLVER.
    Raises: ShapeError unless the shapes fit, DtypeError if the types differ or are not float32 or float64.
    Example:
        >>> q = torch.linalg.householder_product(*torch.geqrf(torch.tensor([[3.0], [4.0]])))
        >>> q
        tensor([[-0.6000],
                [-0.8000]])
    """
    return _product("linalg.householder_product", A, tau)


@composite(samples=_reflectors, errors=_bad_reflectors, dtypes=TYPES, host="may wait", other_names={"tau": "input2"})
def orgqr(input: Operand, input2: Operand) -> Any:
    """Return Q of a QR decomposition from the reflections of `torch.geqrf`: an alias of `linalg.householder_product`.

    input, input2: the tensors `a` and `tau` that geqrf returns.
    Shapes: [*, m, n] and [*, k] give [*, m, n].
    Host:   returns at once; waits on an NVIDIA GPU without cuSOLVER.
    Raises: ShapeError unless the shapes fit, DtypeError if the types differ or are not float32 or float64.
    Example:
        >>> torch.orgqr(*torch.geqrf(torch.tensor([[3.0], [4.0]])))
        tensor([[-0.6000],
                [-0.8000]])
    """
    return _product("orgqr", input, input2)


def _rotations() -> Iterator[Sample]:
    reflections = _matrix((3, 2)), Array((2,), 0.2, 1.0, seed=1)
    for transposed in (False, True):
        yield Sample((*reflections, _matrix((3, 4), seed=2), True, transposed))
        yield Sample((*reflections, _matrix((2, 3), seed=2), False, transposed))
    yield Sample((_matrix((2, 3, 3)), Array((2, 2), 0.2, 1.0, seed=1), _matrix((2, 3, 1), seed=2)))


def _bad_rotations() -> Iterator[ErrorSample]:
    tall = _matrix((3, 2)), Array((2,))
    yield ErrorSample((*tall, _matrix((3,))), ShapeError, r"at least 2 dimensions, got shape \[3\]")
    yield ErrorSample((*tall, _matrix((2, 3))), ShapeError, r"input \[3, 2\], tau \[2\] and other \[2, 3\] do not fit")
    yield ErrorSample((_matrix((3, 2)), Array((3,)), _matrix((3, 2))), ShapeError, r"tau \[3\] .* do not fit")


@composite(
    samples=_rotations, errors=_bad_rotations, dtypes=TYPES, host="may wait",
    other_names={"tau": "input2", "other": "input3"},
)  # fmt: skip
def ormqr(input: Operand, input2: Operand, input3: Operand, left: bool = True, transpose: bool = False) -> Any:
    """Compute Q @ input3, where Q is the square product of the reflections that `torch.geqrf` returns.

    input, input2: the tensors `a` and `tau` of geqrf.  left: if False, compute input3 @ Q.  transpose: use Q^T for Q.
    Shapes: input [*, m, k], input2 [*, up to min(m, k)], input3 [*, m, n], or [*, n, m] if left is False;
            the result has the shape of input3.
    Host:   returns at once; waits on an NVIDIA GPU without cuSOLVER.
    Raises: ShapeError unless the shapes fit, DtypeError if the types differ or are not float32 or float64.
    Example:
        >>> a = torch.tensor([[3.0], [4.0]])
        >>> torch.ormqr(*torch.geqrf(a), a, transpose=True)
        tensor([[-5.],
                [ 0.]])
    """
    for what, value in (("input", input), ("other", input3)):
        check_matrix("ormqr", what, value)
    *batch, m, k = input.shape
    fits = list(input3.shape[:-2]) == batch == list(input2.shape[:-1]) and input3.shape[-2 if left else -1] == m
    if not fits or not input2.shape or input2.shape[-1] > min(m, k):
        raise ShapeError(
            f"input {list(input.shape)}, tau {list(input2.shape)} and other {list(input3.shape)} do not fit",
            hint="pass [*, m, k], [*, at most min(m, k)], and [*, m, n], or [*, n, m] with left=False",
            operator="ormqr",
        )
    check_types("ormqr", input=input, tau=input2, other=input3)
    a, factors, other = (to_solver("ormqr", each) for each in (input, input2, input3))
    return back(reflection_of(a, factors, other, bool(left), bool(transpose)), input3)


@composite(
    samples=lambda: [Sample((_matrix((3, 2), grad=False),)), Sample((_matrix((2, 2, 3), grad=False),))],
    errors=lambda: [ErrorSample((_matrix((3,)),), ShapeError, r"at least 2 dimensions, got shape \[3\]")],
    dtypes=TYPES, host="may wait", differentiable=False,
)  # fmt: skip
def geqrf(input: Operand) -> Any:
    """Return (a, tau): a QR decomposition in the form of Householder reflections.

    R is the upper triangle of a; `orgqr` computes Q from (a, tau).
    Shapes: [*, m, n] gives [*, m, n] and [*, k], where k = min(m, n).
    Host:   returns at once; waits on an NVIDIA GPU without cuSOLVER.
    Raises: ShapeError for fewer than two dimensions, DtypeError unless float32 or float64, AutogradError for an operand
            that requires a gradient.
    Example:
        >>> torch.geqrf(torch.tensor([[3.0], [4.0]])).a[0]
        tensor([-5.])
    """
    check_matrix("geqrf", "input", input)
    return back(results.geqrf(*reflectors_of(to_solver("geqrf", input))), input)


def _symmetric() -> Iterator[Sample]:
    yield Sample((Array((1, 1)),))
    yield Sample((Array((3, 1, 1)),))
    yield Sample((Array((2, 2), grad=False), "U"))
    yield Sample((Array((0, 2, 2)),))


def _bad_symmetric() -> Iterator[ErrorSample]:
    yield from _not_square()
    yield ErrorSample((_matrix(), "X"), ArgumentError, "UPLO must be 'L' or 'U', got 'X'")


def _is_lower(name: str, A: Any, UPLO: str) -> bool:
    """Check the arguments of eigendecompositions.  Returns whether the lower triangle is read."""
    check_square(name, "A", A)
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise ValueRangeError(f"UPLO must be 'L' or 'U', got {shown(UPLO)}", hint="leave it out", operator=name)
    return UPLO.upper() == "L"


def _eigenvalues(name: str, A: Any, UPLO: str) -> Any:
    """Return the eigenvalues; the vectors are computed only for the gradient."""
    lower = _is_lower(name, A, UPLO)
    a = to_solver(name, A)
    if a.requires_grad:
        values, _, info = eigen_of(a, lower)
    else:
        values, info = eigenvalues_of(a, lower)
    check_info(name, info, DIVERGED, NOT_FINITE)
    return values


@public(samples=_symmetric, errors=_bad_symmetric, called="linalg.eigh")
def linalg_eigh(A: Operand, UPLO: str = "L") -> Any:
    """Return (eigenvalues, eigenvectors) of symmetric matrices, the smallest eigenvalue first; vectors are columns.

    UPLO: the triangle of A to read, "L" or "U".  The gradient is finite only if the eigenvalues are distinct.
    Shapes: [*, k, k] gives [*, k] and [*, k, k].
    Host:   waits if the operand is on a GPU.
    Raises: ShapeError unless the matrices are square, DtypeError unless float32 or float64, ValueRangeError for any
            other UPLO, LinAlgError if the algorithm does not converge.
    Example:
        >>> torch.linalg.eigh(torch.tensor([[3.0, 0.0], [0.0, 1.0]])).eigenvalues
        tensor([1., 3.])
    """
    lower = _is_lower("linalg.eigh", A, UPLO)
    values, vectors, info = eigen_of(to_solver("linalg.eigh", A), lower)
    check_info("linalg.eigh", info, DIVERGED, NOT_FINITE)
    return back(results.linalg_eigh(values, vectors), A)


@public(samples=_symmetric, errors=_bad_symmetric, called="linalg.eigvalsh")
def linalg_eigvalsh(A: Operand, UPLO: str = "L") -> Any:
    """Return the eigenvalues of symmetric matrices, the smallest first.

    UPLO: the triangle of A to read, "L" or "U".
    Shapes: [*, k, k] gives [*, k].
    Host:   waits if the operand is on a GPU.
    Raises: ShapeError unless the matrices are square, DtypeError unless float32 or float64, ValueRangeError for any
            other UPLO, LinAlgError if the algorithm does not converge.
    Example:
        >>> torch.linalg.eigvalsh(torch.tensor([[3.0, 0.0], [0.0, 1.0]]))
        tensor([1., 3.])
    """
    return back(_eigenvalues("linalg.eigvalsh", A, UPLO), A)


def _no_complex(name: str) -> NotSupportedError:
    return NotSupportedError(
        "eigenvalues of a general matrix are complex numbers, which are not supported",
        hint="use linalg.eigh or linalg.eigvalsh for symmetric matrices",
        operator=name,
    )


@public(samples=tuple, errors=lambda: [ErrorSample((_matrix(),), NotSupportedError, "complex")], called="linalg.eig")
def linalg_eig(A: Operand) -> Any:
    """Raise NotSupportedError: the results would be complex.

    Raises: NotSupportedError, always: eigenvalues of a general matrix are complex.
    Example:
        >>> try:
        ...     torch.linalg.eig(torch.eye(2))
        ... except NotImplementedError:
        ...     print(torch.linalg.eigvalsh(torch.eye(2)))
        tensor([1., 1.])
    """
    raise _no_complex("linalg.eig")


@public(
    samples=tuple, errors=lambda: [ErrorSample((_matrix(),), NotSupportedError, "complex")], called="linalg.eigvals"
)
def linalg_eigvals(A: Operand) -> Any:
    """Raise NotSupportedError: the results would be complex.

    Raises: NotSupportedError, always: eigenvalues of a general matrix are complex.
    Example:
        >>> try:
        ...     torch.linalg.eigvals(torch.eye(2))
        ... except NotImplementedError:
        ...     print(torch.linalg.eigvalsh(torch.eye(2)))
        tensor([1., 1.])
    """
    raise _no_complex("linalg.eigvals")


def _any_matrices() -> Iterator[Sample]:
    yield Sample((_matrix((3, 2)),))
    yield Sample((_matrix((2, 3), layout="transposed"),))
    yield Sample((_matrix((2, 2, 2)),))
    yield Sample((_matrix((0, 2)),))


def _few_dimensions() -> Iterator[ErrorSample]:
    yield ErrorSample((_matrix((3,)),), ShapeError, r"at least 2 dimensions, got shape \[3\]")


def _svd(name: str, A: Any, full: bool) -> tuple[Any, Any, Any]:
    u, s, vh, info = singular_values_of(A, full)
    check_info(name, info, DIVERGED, NOT_FINITE)
    return u, s, vh


def _svdvals(name: str, A: Any) -> Any:
    """Return the singular values; the vectors are computed only for the gradient."""
    if A.requires_grad:
        return _svd(name, A, False)[1]
    s, info = singular_values_alone_of(A)
    check_info(name, info, DIVERGED, NOT_FINITE)
    return s


@public(samples=_any_matrices, errors=_few_dimensions, called="linalg.svd")
def linalg_svd(A: Operand, full_matrices: bool = True, *, driver: Any = None) -> Any:
    """Return (U, S, Vh) of the singular value decomposition A = U @ diag(S) @ Vh, with the largest value of S first.

    driver: has no effect.  The gradient is finite only if the singular values are distinct and, for a matrix that is
    not square, nonzero.
    Shapes: [*, m, n] gives U [*, m, m], S [*, k] and Vh [*, n, n], where k is min(m, n); without full_matrices, U is
            [*, m, k] and Vh [*, k, n].
    Host:   waits if the operand is on a GPU.
    Raises: ShapeError for fewer than 2 dimensions, DtypeError unless float32 or float64, LinAlgError if the algorithm
            does not converge.
    Example:
        >>> torch.linalg.svd(torch.tensor([[3.0, 0.0], [0.0, -4.0]])).S
        tensor([4., 3.])
    """
    check_matrix("linalg.svd", "A", A)
    return back(results.linalg_svd(*_svd("linalg.svd", to_solver("linalg.svd", A), bool(full_matrices))), A)


@public(samples=_any_matrices, errors=_few_dimensions, called="linalg.svdvals")
def linalg_svdvals(A: Operand, *, driver: Any = None) -> Any:
    """Return the singular values of matrices, the largest first.  driver: has no effect.

    Shapes: [*, m, n] gives [*, min(m, n)].
    Host:   waits if the operand is on a GPU.
    Raises: ShapeError for fewer than 2 dimensions, DtypeError unless float32 or float64, LinAlgError if the algorithm
            does not converge.
    Example:
        >>> torch.linalg.svdvals(torch.tensor([[3.0, 0.0], [0.0, -4.0]]))
        tensor([4., 3.])
    """
    check_matrix("linalg.svdvals", "A", A)
    return back(_svdvals("linalg.svdvals", to_solver("linalg.svdvals", A)), A)


@composite(samples=_any_matrices, errors=_few_dimensions, dtypes=TYPES, host="waits")
def svd(input: Operand, some: bool = True, compute_uv: bool = True) -> Any:
    """Return (U, S, V), the singular value decomposition input = U @ diag(S) @ V^T; `linalg.svd` returns V^T instead.

    `linalg.svd`, which replaces this function, returns V^T.
    some: True gives U and V only k columns.  compute_uv: False returns zeros as U and V.
    Shapes: [*, m, n] gives [*, m, k], [*, k] and [*, n, k], where k = min(m, n); if not some, U is [*, m, m] and V
            [*, n, n].
    Host:   waits if the operand is on a GPU.
    Raises: ShapeError for fewer than 2 dimensions, DtypeError unless float32 or float64, LinAlgError if the algorithm
            does not converge.
    Example:
        >>> torch.svd(torch.tensor([[3.0, 0.0], [0.0, -4.0]])).S
        tensor([4., 3.])
    """
    check_matrix("svd", "input", input)
    a = to_solver("svd", input)
    if not compute_uv:
        *batch, m, n = a.shape
        u, v = a.new_zeros((*batch, m, m)), a.new_zeros((*batch, n, n))
        return back(results.svd(u, _svdvals("svd", a), v), input)
    u, s, vh = _svd("svd", a, not some)
    return back(results.svd(u, s, mt(vh)), input)


# pseudoinverse, rank, least squares


def _tolerance(name: str, largest: Any, shape: Sequence[int], atol: Any, rtol: Any) -> Any:
    """Return the size below which singular values count as 0: [*, 1].  largest: the largest ones, [*]."""
    absolute = 0.0 if atol is None else atol
    if rtol is None:
        epsilon = float(np.finfo(largest.dtype.numpy).eps) * max(shape[-2:])
        if atol is None:
            rtol = epsilon
        elif isinstance(atol, (int, float)):
            rtol = 0.0 if atol > 0 else epsilon
        else:
            there = atol.to(largest.device)
            rtol = where(there > 0, there * 0, there * 0 + epsilon)
    parts = [part if isinstance(part, (int, float)) else part.to(largest.device) for part in (absolute, rtol)]
    bound = largest * parts[1]
    if not isinstance(parts[0], (int, float)):
        bound = (bound * 0 + parts[0]).maximum(bound)
    elif parts[0] or not isinstance(parts[1], (int, float)) or parts[1] < 0:
        bound = bound.clamp_min(parts[0])
    return bound.unsqueeze(-1)


def _largest(values: Any) -> Any:
    """Return the largest singular value, given them in descending order; 0 if there are none."""
    return values.select(-1, 0) if values.shape[-1] else values.sum(-1)


@public(
    samples=lambda: [Sample((_matrix((3, 2)),)), Sample((_matrix((2, 2, 2)), 0.1)), Sample((_matrix((0, 2)),))],
    errors=_few_dimensions, called="linalg.matrix_rank", differentiable=False, other_names={"input": "A"},
)  # fmt: skip
def linalg_matrix_rank(
    A: Operand, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Any:
    """Return the rank of matrices: the number of singular values larger than max(atol, rtol * the largest one).

    rtol: by default the epsilon of the dtype times max(m, n), or 0 if atol is positive.  hermitian: whether A is
    symmetric.  tol: a former argument, the same as atol=tol with rtol=0.
    Shapes: [*, m, n] gives [*], int64.
    Host:   waits if the operand is on a GPU.
    Raises: ShapeError for fewer than 2 dimensions, DtypeError unless float32 or float64.
    Example:
        >>> torch.linalg.matrix_rank(torch.ones(3, 2))
        tensor(1)
    """
    name = "linalg.matrix_rank"
    check_matrix(name, "A", A)
    a = to_solver(name, A).detach()
    values = _eigenvalues(name, a, "L").abs() if hermitian else _svdvals(name, a)
    largest = values.amax(-1) if hermitian and values.shape[-1] else _largest(values)
    if tol is not None:
        atol, rtol = tol, 0.0
    return back((values > _tolerance(name, largest, A.shape, atol, rtol)).sum(-1), A)


@public(samples=_any_matrices, errors=_few_dimensions, called="linalg.pinv")
def linalg_pinv(A: Operand, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Any:
    """Compute the Moore-Penrose pseudoinverse of matrices.

    Singular values up to max(atol, rtol * the largest one) count as 0.  rtol: by default the epsilon of the dtype times
    max(m, n), or 0 if atol is positive.  rcond: the former name of rtol.  hermitian: whether A is symmetric.
    Shapes: [*, m, n] gives [*, n, m].
    Host:   waits if the operand is on a GPU.
    Raises: ShapeError for fewer than 2 dimensions, DtypeError unless float32 or float64, LinAlgError if the algorithm
            does not converge.
    Example:
        >>> torch.linalg.pinv(torch.tensor([[2.0, 0.0], [0.0, 0.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.0000]])
    """
    return _pinv("linalg.pinv", A, atol, rtol if rcond is None else rcond, hermitian)


def _pinv(name: str, A: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    check_matrix(name, "A", A)
    a = to_solver(name, A)
    if not prod(a.shape):
        return back(mt(a) * 0, A)
    values = a.detach()
    if hermitian:
        check_square(name, "A", A)
        values = tril(values) + mt(tril(values, -1))
    u, s, vh = _svd(name, values, False)
    return back(_inverted(a, u, s, vh, _tolerance(name, _largest(s), A.shape, atol, rtol)), A)


def _inverted(a: Any, u: Any, s: Any, vh: Any, tolerance: Any) -> Any:
    """Return the pseudoinverse of a = U @ diag(s) @ Vh, without the singular values up to the tolerance."""
    reciprocals = (1 / s).masked_fill(s <= tolerance, 0)
    inverse = matmul(mt(vh) * reciprocals.unsqueeze(-2), mt(u))
    return as_pseudoinverse(inverse, a) if a.requires_grad else inverse


@composite(samples=_any_matrices, errors=_few_dimensions, dtypes=TYPES, host="waits")
def pinverse(input: Operand, rcond: float = 1e-15) -> Any:
    """Compute the pseudoinverse of matrices, as `linalg.pinv` does.

    rcond: singular values up to rcond times the largest one count as 0.
    Shapes: [*, m, n] gives [*, n, m].
    Host:   waits if the operand is on a GPU.
    Raises: ShapeError for fewer than 2 dimensions, DtypeError unless float32 or float64, LinAlgError if the algorithm
            does not converge.
    Example:
        >>> torch.pinverse(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    return _pinv("pinverse", input, None, rcond, False)


def _conditions() -> Iterator[Sample]:
    yield Sample((_matrix((3, 2)),))
    for p in ("fro", "nuc", 1, float("-inf")):
        yield Sample((_matrix((2, 2, 2)), p))


def _bad_conditions() -> Iterator[ErrorSample]:
    yield from _few_dimensions()
    yield ErrorSample((_matrix((2, 3)), 1), ShapeError, r"square matrices, got shape \[2, 3\]")
    yield ErrorSample((_matrix(), 3), ValueRangeError, "p must be .* got 3")


@public(samples=_conditions, errors=_bad_conditions, called="linalg.cond")
def linalg_cond(A: Operand, p: Any = None) -> Any:
    """Compute the condition number of matrices: the norm times the norm of the inverse, or infinity if singular.

    p: the norm, as `ord` of `linalg.matrix_norm`; None is 2.
    Shapes: [*, m, n] gives [*]; [*, k, k] unless p is None, 2 or -2.
    Host:   waits if the operand is on a GPU.
    Raises: ShapeError for matrices that are not square, ValueRangeError for any other p.
    Example:
        >>> torch.linalg.cond(torch.tensor([[2.0, 0.0], [0.0, 1.0]]))
        tensor(2.)
    """
    name = "linalg.cond"
    check_matrix(name, "A", A)
    a = to_solver(name, A)
    if p in (None, 2, -2):
        values = _svdvals(name, a)
        if not values.shape[-1]:
            return back(values.sum(-1), A)
        largest, smallest = values.select(-1, 0), values.select(-1, -1)
        return back(smallest / largest if p == -2 else largest / smallest, A)
    check_square(name, "A", A)
    inverse, info = inverse_of(a)
    product = _matrix_norm(name, a, p) * _matrix_norm(name, inverse, p)
    return back(product.masked_fill(info > 0, float("inf")), A)


def _matrix_norm(name: str, a: Any, p: Any) -> Any:
    if p == "fro":
        return (a * a).sum((-2, -1)).sqrt()
    if p == "nuc":
        return _svdvals(name, a).sum(-1)
    if p not in (1, -1, float("inf"), float("-inf")):
        raise ValueRangeError(
            f"p must be None, 'fro', 'nuc', inf, -inf, 1, -1, 2 or -2, got {shown(p)}",
            hint="leave it out",
            operator=name,
        )
    sums = a.abs().sum(-2 if abs(p) == 1 else -1)
    if not sums.shape[-1]:
        return sums.sum(-1)
    return sums.amax(-1) if p > 0 else sums.amin(-1)


def _overdetermined() -> Iterator[Sample]:
    yield Sample((_matrix((3, 2)), Array((3, 2), seed=1)))
    yield Sample((_matrix((2, 3)), Array((2, 1), seed=1)))
    yield Sample((_matrix((2, 3, 2)), Array((2, 3), seed=1)))


def _bad_overdetermined() -> Iterator[ErrorSample]:
    yield ErrorSample((_matrix((3, 2)), Array((2, 2))), ShapeError, r"broadcast: shapes \[3, 2\] and \[2, 2\]")
    yield ErrorSample((_matrix((3, 2)), Array((3, 2)), None), ArgumentError, "driver", {"driver": "x"})


@public(samples=_overdetermined, errors=_bad_overdetermined, called="linalg.lstsq")
def linalg_lstsq(A: Operand, B: Operand, rcond: Any = None, *, driver: Any = None) -> Any:
    """Return (solution, residuals, rank, singular_values) of least squares: the X that minimizes |A @ X - B|.

    rcond: singular values up to rcond times the largest one count as 0; by default the epsilon of the dtype times
    max(m, n).  driver: has no effect on the solution.  "gelsd" and "gelss" return all four results.  "gelsy", the
    default, leaves residuals and singular_values empty, and "gels" leaves rank and singular_values empty.
    residuals: the sum of squares of each column of A @ X - B; also empty unless m > n and A has full rank, which
    "gels" does not check.
    Shapes: A [*, m, n] and B [*, m, r] give a solution [*, n, r], and the batches broadcast.  B [*, m], with the batch
            shape of A, gives [*, n].
    Host:   waits if the operands are on a GPU.
    Raises: ShapeError if shapes do not fit, DtypeError if the types differ or are not float32 or float64,
            ValueRangeError for any other driver.
    Example:
        >>> A, B = torch.tensor([[1.0], [0.0]]), torch.tensor([[2.0], [3.0]])
        >>> torch.linalg.lstsq(A, B).solution
        tensor([[2.]])
    """
    name = "linalg.lstsq"
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise ValueRangeError(
            f"driver must be one of gels, gelsy, gelsd and gelss, got {shown(driver)}",
            hint="leave it out",
            operator=name,
        )
    driver = driver or "gelsy"
    check_matrix(name, "A", A)
    check_types(name, A=A, B=B)
    is_vector = is_vector_of(A, B)
    right: Any = B
    a, b = to_solver(name, A), to_solver(name, right.unsqueeze(-1) if is_vector else right)
    are_alike = len(a.shape) == len(b.shape) and a.shape[-2] == b.shape[-2]
    if not are_alike or any(one != other and 1 not in (one, other) for one, other in zip(a.shape[:-2], b.shape[:-2])):
        raise ShapeError(
            "A and B must have the same number of rows, and batches that broadcast: "
            f"shapes {list(A.shape)} and {list(B.shape)}",
            hint="pass A [*, m, n] and B [*, m, k]",
            operator=name,
        )
    m, n = a.shape[-2:]
    u, values, vh = _svd(name, a.detach(), False)
    bound = _tolerance(name, _largest(values), a.shape, None, rcond)
    solution = matmul(_inverted(a, u, values, vh, bound), b)
    rank = (values > bound).sum(-1)
    full = m > n and driver != "gelsy" and (driver == "gels" or bool((rank == n).all().item()))
    errors = matmul(a, solution) - b if full else None
    residuals = a.new_zeros((0,)) if errors is None else (errors * errors).sum(-2)
    if is_vector:
        solution = solution.squeeze(-1)
    nothing = a.new_zeros((0,))
    result = results.linalg_lstsq(
        solution,
        residuals,
        nothing.to(int64) if driver == "gels" else rank,
        values if driver in ("gelsd", "gelss") else nothing,
    )
    return back(result, A)


# LU


@public(samples=_any_matrices, errors=_few_dimensions, called="linalg.lu_factor_ex", host="may wait")
def linalg_lu_factor_ex(A: Operand, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """Return (LU, pivots, info): the results of `linalg.lu_factor`, and a failure code for each matrix.

    info: 0, or the index, from 1, of the first zero on the diagonal of U.
    Shapes: [*, m, n] gives LU [*, m, n], pivots [*, min(m, n)], int32, and info [*], int32.
    Host:   returns at once; waits with check_errors, and on an NVIDIA GPU without cuSOLVER.
    Raises: ShapeError for fewer than 2 dimensions, DtypeError unless float32 or float64, LinAlgError for an info
            other than 0, if check_errors.
    Example:
        >>> torch.linalg.lu_factor_ex(torch.zeros(1, 1)).info
        tensor(1, dtype=torch.int32)
    """
    check_matrix("linalg.lu_factor_ex", "A", A)
    result = lu_of(to_solver("linalg.lu_factor_ex", A), bool(pivot))
    if check_errors:
        check_info("linalg.lu_factor_ex", result[2], "the diagonal element {at} of U is zero", NO_INVERSE)
    return back(results.linalg_lu_factor_ex(*result), A)


@public(samples=_any_matrices, errors=_few_dimensions, called="linalg.lu_factor")
def linalg_lu_factor(A: Operand, *, pivot: bool = True) -> Any:
    """Return (LU, pivots) of an LU decomposition: L below the diagonal of one matrix, U on and above it.

    pivots: row i was exchanged with row pivots[i] - 1.  pivot: whether rows are exchanged.
    Shapes: [*, m, n] gives LU [*, m, n] and pivots [*, min(m, n)], int32.
    Host:   waits if the operand is on a GPU.
    Raises: ShapeError for fewer than 2 dimensions, DtypeError unless float32 or float64, LinAlgError for a zero on the
            diagonal of U.
    Example:
        >>> torch.linalg.lu_factor(torch.tensor([[0.0, 2.0], [4.0, 6.0]]))
        torch.return_types.linalg_lu_factor(
        LU=tensor([[4., 6.],
                [0., 2.]]),
        pivots=tensor([2, 2], dtype=torch.int32))
    """
    check_matrix("linalg.lu_factor", "A", A)
    factors, pivots, info = lu_of(to_solver("linalg.lu_factor", A), bool(pivot))
    check_info("linalg.lu_factor", info, "the diagonal element {at} of U is zero: A has no inverse", NO_INVERSE)
    return back(results.linalg_lu_factor(factors, pivots), A)


@composite(samples=_any_matrices, errors=_few_dimensions, dtypes=TYPES, host="may wait", other_names={"input": "A"})
def lu(A: Operand, pivot: bool = True, get_infos: bool = False) -> Any:
    """Return (LU, pivots) of an LU decomposition, or with get_infos (LU, pivots, infos), as `linalg.lu_factor_ex` does.

    pivot: whether rows are exchanged.
    Shapes: [*, m, n] gives LU [*, m, n], pivots [*, min(m, n)] and infos [*]; pivots and infos are int32.
    Host:   waits if the operand is on a GPU; with get_infos, only on an NVIDIA GPU without cuSOLVER.
    Raises: ShapeError for fewer than 2 dimensions, DtypeError unless float32 or float64, LinAlgError for a zero on the
            diagonal of U, unless get_infos.
    Example:
        >>> torch.lu(torch.tensor([[2.0]]))[0]
        tensor([[2.]])
    """
    if get_infos:
        return linalg_lu_factor_ex(A, pivot=pivot)
    return linalg_lu_factor(A, pivot=pivot)


@public(samples=_any_matrices, errors=_few_dimensions, called="linalg.lu", host="may wait")
def linalg_lu(A: Operand, *, pivot: bool = True) -> Any:
    """Return (P, L, U) of the LU decomposition A = P @ L @ U: a permutation, a lower and an upper triangular matrix.

    pivot: whether rows are exchanged; otherwise P is empty.
    Shapes: [*, m, n] gives [*, m, m], [*, m, k] and [*, k, n], where k is min(m, n).
    Host:   returns at once; waits on an NVIDIA GPU without cuSOLVER.
    Raises: ShapeError for fewer than 2 dimensions, DtypeError unless float32 or float64.
    Example:
        >>> torch.linalg.lu(torch.tensor([[0.0, 2.0], [4.0, 6.0]])).P
        tensor([[0., 1.],
                [1., 0.]])
    """
    check_matrix("linalg.lu", "A", A)
    factors, pivots, _ = lu_of(to_solver("linalg.lu", A), bool(pivot))
    order = permutation_of(pivots, A.shape[-2], A.dtype) if pivot else factors.new_zeros((0,))
    return back(results.linalg_lu(order, *lu_triangles(factors)), A)


def _bad_pivots() -> Iterator[ErrorSample]:
    pivots = Array((2,), 1, 2.9, dtype="int32")
    yield ErrorSample((_matrix((2, 3)), pivots, Array((2, 2))), ShapeError, r"square matrices, got shape \[2, 3\]")
    yield ErrorSample((_matrix(), pivots, Array((3, 2))), ShapeError, r"incompatible shapes .* \(2x2 and 3x2\)")
    yield ErrorSample((_matrix(), Array((2,)), Array((2, 2))), DtypeError, "pivots must be int32, this is float32")


def _check_pivots(name: str, pivots: Any) -> None:
    if pivots.dtype is not dtypes.int32:
        raise DtypeError(
            f"pivots must be int32, this is {pivots.describe()}",
            hint="pass the pivots that lu_factor returned",
            operator=name,
        )


def _packed() -> Iterator[Sample]:
    yield Sample((_matrix((2, 2)), Array((2,), 1, 2.9, dtype="int32", grad=False)))
    yield Sample((_matrix((2, 3, 2)), Array((2, 2), 2, 3.9, dtype="int32", grad=False)))


def _bad_packed() -> Iterator[ErrorSample]:
    pivots = Array((2,), 1, 2.9, dtype="int32")
    yield ErrorSample((_matrix((2,)), pivots), ShapeError, r"at least 2 dimensions, got shape \[2\]")
    yield ErrorSample((_matrix(), Array((2,))), DtypeError, "pivots must be int32, this is float32")


@composite(samples=_packed, errors=_bad_packed, dtypes=TYPES, host="never", method=False)
def lu_unpack(LU_data: Operand, LU_pivots: Operand, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """Return the matrices (P, L, U), with A = P @ L @ U, from the results of `linalg.lu_factor` of A.

    unpack_data: False leaves L and U empty.  unpack_pivots: False leaves P empty.
    Shapes: LU_data [*, m, n] gives [*, m, m], [*, m, k] and [*, k, n], where k is min(m, n).
    Host:   returns at once.
    Raises: ShapeError if LU_data has fewer than 2 dimensions, DtypeError if it is not floating point or the pivots are
            not int32, IndexRangeError for a pivot beyond the rows.
    Example:
        >>> torch.lu_unpack(*torch.linalg.lu_factor(torch.tensor([[0.0, 2.0], [4.0, 6.0]]))).U
        tensor([[4., 6.],
                [0., 2.]])
    """
    check_matrix("lu_unpack", "LU_data", LU_data)
    check_floating("lu_unpack", LU_data)
    factors: Any = LU_data
    order = lower = upper = factors.new_zeros((0,))
    if unpack_pivots:
        _check_pivots("lu_unpack", LU_pivots)
        order = permutation_of(LU_pivots, factors.shape[-2], factors.dtype)
    if unpack_data:
        lower, upper = lu_triangles(factors)
    return results.lu_unpack(order, lower, upper)


def _lu_systems() -> Iterator[Sample]:
    pivots = Array((2,), 1, 2.9, dtype="int32", grad=False)
    yield Sample((_matrix(), pivots, Array((2, 3), seed=1)))
    yield Sample((_matrix(), pivots, Array((3, 2), seed=1)), {"left": False, "adjoint": True})


@public(samples=_lu_systems, errors=_bad_pivots, called="linalg.lu_solve", host="may wait")
def linalg_lu_solve(LU: Operand, pivots: Operand, B: Operand, *, left: bool = True, adjoint: bool = False) -> Any:
    """Compute the solution X of A @ X = B, given the results of `linalg.lu_factor` of A.

    left: if False, solve X @ A = B.  adjoint: use A^T in place of A.
    Shapes: [*, k, k], [*, k] and [*, k, n] give [*, k, n].
    Host:   returns at once; waits on an NVIDIA GPU without cuSOLVER.
    Raises: ShapeError if shapes do not fit, DtypeError if the types differ.
    Example:
        >>> torch.linalg.lu_solve(*torch.linalg.lu_factor(torch.tensor([[2.0]])), torch.tensor([[4.0]]))
        tensor([[2.]])
    """
    return _lu_solved("linalg.lu_solve", LU, pivots, B, left, adjoint)


def _lu_solved(name: str, LU: Any, pivots: Any, B: Any, left: bool, adjoint: bool) -> Any:
    check_square(name, "LU", LU)
    _check_pivots(name, pivots)
    factors, b = systems(name, LU, B, True) if left else systems(name, mt(LU), B, False)
    orders = expand(pivots.to(factors.device), factors.shape[:-1])
    result = lu_solution_of(factors, orders, b, bool(left) == bool(adjoint))  # X @ A = B is A^T @ X^T = B^T
    return back(result if left else mt(result), B)


@composite(
    samples=lambda: [Sample((sample.args[2], *sample.args[:2])) for sample in list(_lu_systems())[:1]],
    errors=lambda: [ErrorSample((args[2], *args[:2]), error, match) for args, error, match, _ in _bad_pivots()],
    dtypes=TYPES, host="may wait", other_names={"input": "b"},
)  # fmt: skip
def lu_solve(b: Operand, LU_data: Operand, LU_pivots: Operand) -> Any:
    """Compute the solution X of A @ X = b from the LU factorization of A: `linalg.lu_solve` with b first.

    Shapes: b [*, k, n] with LU_data [*, k, k] and LU_pivots [*, k] gives [*, k, n].
    Host:   returns at once; waits on an NVIDIA GPU without cuSOLVER.
    Raises: ShapeError if shapes do not fit, DtypeError if the types differ.
    Example:
        >>> torch.lu_solve(torch.tensor([[4.0]]), *torch.linalg.lu_factor(torch.tensor([[2.0]])))
        tensor([[2.]])
    """
    return _lu_solved("lu_solve", LU_data, LU_pivots, b, True, False)


# powers and exponentials


@public(
    samples=_squares, errors=_not_square_or_integers, dtypes=dtypes.FLOATING_TYPES, called="linalg.matrix_exp",
    other_names={"input": "A"},
)  # fmt: skip
def linalg_matrix_exp(A: Operand) -> Any:
    """Compute the matrix exponential of square matrices.

    float16 and bfloat16 are computed in float32, and rounded once.

    Shapes: [*, k, k] gives the same.
    Host:   waits if the operand is on a GPU.
    Raises: ShapeError unless the matrices are square, DtypeError unless their type is floating point.
    Example:
        >>> torch.linalg.matrix_exp(torch.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """
    check_square("linalg.matrix_exp", "A", A)
    if A.dtype is not A.dtype.wide:
        return linalg_matrix_exp(A.to(A.dtype.wide)).to(A.dtype)
    return back(exponential_of(to_host("linalg.matrix_exp", A)), A)


def _powers() -> Iterator[Sample]:
    yield Sample((_matrix(), 3))
    yield Sample((_matrix((2, 3, 3), layout="transposed"), 2))
    yield Sample((_matrix(), 0))
    yield Sample((_matrix(), 1))
    yield Sample((_matrix(), -2))


@public(
    samples=_powers, errors=lambda: [ErrorSample((_matrix((2, 3)), 2), ShapeError, r"square .* \[2, 3\]")],
    called="linalg.matrix_power", other_names={"input": "A"},
)  # fmt: skip
def linalg_matrix_power(A: Operand, n: int) -> Any:
    """Return the n-th power of square matrices; a negative n gives a power of the inverse.

    Shapes: [*, k, k] gives the same.
    Host:   returns at once; with a negative n on a GPU, waits.
    Raises: ShapeError unless the matrices are square, LinAlgError if one has no inverse.
    Example:
        >>> torch.linalg.matrix_power(torch.tensor([[1.0, 1.0], [0.0, 1.0]]), 10)
        tensor([[ 1., 10.],
                [ 0.,  1.]])
    """
    check_square("linalg.matrix_power", "A", A)
    matrix: Any = A
    if n == 0:
        return matrix.clone().copy_(identities(matrix))  # whose gradient is zeros
    if n < 0:
        matrix, n = linalg_inv(matrix), -n
    result = None
    while n:
        if n & 1:
            result = matrix if result is None else matmul(result, matrix)
        n >>= 1
        if n:
            matrix = matmul(matrix, matrix)
    return matrix.clone() if result is A else result


# further forms


@public(
    samples=lambda: [Sample((Array((2, 3, 3)),)), Sample((Array((2, 3, 4), layout="transposed"),), {"offset": 1})],
    dtypes=dtypes.ALL, host="never", called="linalg.diagonal",
)  # fmt: skip
def linalg_diagonal(A: Operand, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Return a view of the diagonals of matrices: `torch.diagonal` of the last two dimensions.

    offset: 0 is the main diagonal; positive numbers are above it.  dim1, dim2: the dimensions of the matrices.
    Shapes: the input's without the two dimensions, and a last one with the length of the diagonal.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range, ShapeError if the two are the same.
    Example:
        >>> torch.linalg.diagonal(torch.arange(8).reshape(2, 2, 2))
        tensor([[0, 3],
                [4, 7]])
    """
    return diagonal(A, offset, dim1, dim2)


known_views(linalg_diagonal)


@public(
    samples=lambda: [Sample((Array((3,)),)), Sample((Array((2, 3), layout="transposed"),), {"N": 2})],
    dtypes=dtypes.FLOATING_TYPES, host="never", called="linalg.vander",
)  # fmt: skip
def linalg_vander(x: Operand, *, N: int | None = None) -> Any:
    """Return Vandermonde matrices: the powers 0 to N - 1 of each element.

    Shapes: [*, n] gives [*, n, N]; N is n by default.  [] gives [1, N].
    Host:   returns at once.
    Raises: ValueRangeError unless N is at least 2.
    Example:
        >>> torch.linalg.vander(torch.tensor([1.0, 2.0, 3.0]), N=3)
        tensor([[1., 1., 1.],
                [1., 2., 4.],
                [1., 3., 9.]])
    """
    count = (x.shape[-1] if x.shape else 1) if N is None else N
    if count <= 1:
        raise ValueRangeError(
            f"N must be greater than 1, got {count}", hint="pass N=2 or more", operator="linalg.vander"
        )
    kind = x.dtype if x.dtype.is_floating_point else dtypes.int64
    column: Any = x.reshape((*(x.shape or (1,)), 1)).to(kind)
    return cat(powers_of(column, count), -1)


def _split_at(name: str, shape: Sequence[int], ind: int) -> tuple[int, int]:
    first, second = prod(shape[:ind]), prod(shape[ind:])
    if first != second:
        raise ShapeError(
            f"the first {ind} sizes of {list(shape)} must have the product of the others, got {first} and {second}",
            hint="choose another ind, or reshape the tensor",
            operator=name,
        )
    return first, second


@public(
    samples=lambda: [Sample((_matrix((1, 2, 2)),), {"ind": 2}), Sample((_matrix((2, 2)),), {"ind": 1})],
    errors=lambda: [ErrorSample((_matrix((2, 3)),), ShapeError, r"first 1 sizes of \[2, 3\]", {"ind": 1})],
    called="linalg.tensorinv",
)  # fmt: skip
def linalg_tensorinv(A: Operand, ind: int = 2) -> Any:
    """Compute the inverse of a tensor as a matrix: its first `ind` dimensions are the rows, the others the columns.

    Shapes: [*X, *Y] gives [*Y, *X], where X has `ind` sizes, and X and Y have the same product.
    Host:   waits if the operand is on a GPU.
    Raises: ValueRangeError unless ind is positive, ShapeError unless the products are equal, LinAlgError for a
            singular matrix.
    Example:
        >>> torch.linalg.tensorinv(torch.eye(4).reshape(2, 2, 4)).shape
        torch.Size([4, 2, 2])
    """
    if ind <= 0:
        raise ValueRangeError(
            f"ind must be a positive number, got {ind}", hint="leave it out", operator="linalg.tensorinv"
        )
    sizes = _split_at("linalg.tensorinv", A.shape, ind)
    return linalg_inv(A.reshape(sizes)).reshape((*A.shape[ind:], *A.shape[:ind]))


@public(
    samples=lambda: [Sample((_matrix((1, 2, 2)), Array((1, 2), seed=1)))],
    errors=lambda: [ErrorSample((_matrix((2, 3)), Array((2,))), ShapeError, r"elements of B")],
    called="linalg.tensorsolve",
)  # fmt: skip
def linalg_tensorsolve(A: Operand, B: Operand, dims: Any = None) -> Any:
    """Compute the solution X of tensordot(A, X, X.ndim) = B.

    dims: dimensions of A to move to the end before solving.
    Shapes: A [*P, *Q] and B [*P] give [*Q], where P and Q have the same product.
    Host:   waits if the operands are on a GPU.
    Raises: ShapeError if shapes do not fit, DtypeError unless float32 or float64, LinAlgError for a singular matrix.
    Example:
        >>> torch.linalg.tensorsolve(torch.eye(4).reshape(2, 2, 4), torch.ones(2, 2))
        tensor([1., 1., 1., 1.])
    """
    matrix: Any = A
    if dims is not None:
        matrix = matrix.movedim(list(dims), list(range(len(matrix.shape) - len(dims), len(matrix.shape))))
    rest, count = matrix.shape[len(B.shape) :], prod(B.shape)
    if prod(rest) != count:
        raise ShapeError(
            f"the last sizes of A, {list(rest)}, must have the product of the elements of B, {count}",
            hint="B has the first dimensions of A",
            operator="linalg.tensorsolve",
        )
    return linalg_solve(matrix.reshape((-1, count)), B.reshape((count,))).reshape(rest)
