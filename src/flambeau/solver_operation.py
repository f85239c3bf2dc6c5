"""Solver operations: descriptors of factorizations and of solutions of linear systems, each with its NumPy reference.

- A descriptor names no library (see library_operation.py).  NumPy and SciPy compute it on the CPU and on virtual GPUs,
  cuSOLVER and cuBLAS on NVIDIA GPUs (driver/nvidia/solver.py).
- Matrices are the last two dimensions of an operand; those before them are a batch.  k is the smaller of m and n.
- Results overwrite operands where libraries do so, as LAPACK does: the caller copies operands that it still needs.
- One matrix is computed by LAPACK, a batch by NumPy's loops, which have more overhead.  NumPy computes float32 in
  float64, and so do the LAPACK calls that complement these loops.
- A failure of one matrix is a code in an int32 result, 0 for success; no error is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod
from typing import Any, NamedTuple, TypeVar

from . import host
from .dtypes import dtype
from .host import np
from .kernel import Access

# How an operation uses an operand.  The library may overwrite a spent operand; a scratch operand has no defined value.
READ, WRITTEN, UPDATED, SPENT, SCRATCH = "read", "written", "updated", "spent", "scratch"
ACCESSES = {READ: "r", WRITTEN: "w", UPDATED: "rw", SPENT: "rw", SCRATCH: "w"}

# rows and columns of a small matrix: SIDE of small_matrices.cu, and LAPACK needs no workspace for blocks
SMALL_SIDE = 32
LEAST_TOGETHER = 16  # a batch of at least this many matrices is factorized step by step, not matrix by matrix
MOST_STEPS = 16  # the most steps of such a batch: with more, its memory does not stay in caches from step to step

# The operations that libraries of GPUs compute.  Operands and options of each: see its routine below.
CHOLESKY, LU, LU_IN_ORDER = "cholesky", "lu", "lu_in_order"
SOLUTION, LU_SOLUTION, TRIANGULAR = "solution", "lu_solution", "triangular_solution"
REFLECTORS, REFLECTED_COLUMNS, REFLECTION = "reflectors", "reflected_columns", "reflection"
EIGEN, EIGENVALUES, SINGULAR = "eigendecomposition", "eigenvalues", "singular_values"
SOLVERS = frozenset(
    {CHOLESKY, LU, LU_IN_ORDER, SOLUTION, LU_SOLUTION, TRIANGULAR, REFLECTORS, REFLECTED_COLUMNS, REFLECTION, EIGEN,
     EIGENVALUES, SINGULAR}
)  # fmt: skip


class Argument(NamedTuple):
    """An operand of a solver operation.  mode: one of READ to SCRATCH.  Strides are in elements."""

    mode: str
    dtype: dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Solver:
    """A call of a routine of this module, or of one that another module registered.

    kind: the routine's name.  It gets the operands that are read, then the options, and returns the values of the
    operands that are written or updated, both in the order of the operands.
    """

    kind: str
    arguments: tuple[Argument, ...]
    options: tuple[Any, ...] = ()

    @property
    def operations(self) -> float:
        return float(max(prod(arg.shape) * max(arg.shape[-1:], default=1) for arg in self.arguments))

    def accesses(self, addresses: tuple[int, ...]) -> list[Access | None]:
        rows = zip(addresses, self.arguments)
        return [Access(at, arg.dtype, ACCESSES[arg.mode], arg.shape, arg.strides) for at, arg in rows]

    def reference(self, *arrays: Any) -> None:
        inputs, outputs = self._uses
        results = ROUTINES[self.kind](*[arrays[index] for index in inputs], *self.options)
        for index, result in zip(outputs, results, strict=True):
            arrays[index][...] = result

    @cached_property
    def _uses(self) -> tuple[list[int], list[int]]:
        """The indexes of the operands that the routine reads, and of those that it returns."""
        modes = list(enumerate(arg.mode for arg in self.arguments))
        inputs = [index for index, mode in modes if mode in (READ, UPDATED, SPENT)]
        return inputs, [index for index, mode in modes if mode in (WRITTEN, UPDATED)]


Routine = TypeVar("Routine", bound=Callable[..., tuple[Any, ...]])
ROUTINES: dict[str, Callable[..., tuple[Any, ...]]] = {}


def routine(name: str) -> Callable[[Routine], Routine]:
    """Register a function of arrays, which returns a tuple, as a kind of solver operation."""

    def registered(function: Routine) -> Routine:
        ROUTINES[name] = function
        return function

    return registered


def single(a: Any) -> Any:
    """Return the only matrix of a batch, or None."""
    m, n = a.shape[-2:]
    return a.reshape(m, n) if a.size == m * n else None


def small(a: Any) -> Any:
    """Return the only matrix of a batch if it is small, else None."""
    return single(a) if max(a.shape[-2:]) <= SMALL_SIDE else None


def _each(function: Callable[..., Any], *arrays: Any, core: Sequence[int]) -> list[tuple[Any, ...]]:
    """Call a function on every matrix of batches.  core: how many last dimensions one call takes, per array."""
    count = prod(arrays[0].shape[: arrays[0].ndim - core[0]])
    flat = [array.reshape(count, *array.shape[array.ndim - dims :]) for array, dims in zip(arrays, core)]
    return [function(*matrices) for matrices in zip(*flat)]


def _filled(shape: Sequence[int], dtype: Any, values: Sequence[Any]) -> Any:
    """Return an array of a batch's results."""
    return np.array(values, dtype).reshape(shape)


def has_nan(a: Any) -> bool:
    """Return whether a matrix has NaN, below which OpenBLAS divides nothing, so that it would be lost."""
    return bool(np.isnan(a).any())


def _are_many(a: Any) -> bool:
    """Return whether a batch is computed step by step, all of its matrices together."""
    steps = min(a.shape[-2:])
    return bool(steps <= MOST_STEPS and prod(a.shape[:-2]) > LEAST_TOGETHER * steps)


@cache
def lapack(name: str, kind: str = "d") -> Any:
    """Return a routine of LAPACK.  kind: the character of the type that it computes in."""
    return getattr(host.scipy_linalg().lapack, {"f": "s", "d": "d"}[kind] + name)


@routine(CHOLESKY)
def cholesky(a: Any, upper: bool) -> tuple[Any, Any]:
    """Return (triangular factor, code) of symmetric matrices, of which that triangle is read; the other is undefined.

    Operands: A [*, n, n] is updated; codes [*] are written.
    """
    matrix = single(a)
    if matrix is not None:
        return _cholesky_or_code(matrix, upper)
    if upper:
        a = a.swapaxes(-2, -1)
    try:
        factor = np.linalg.cholesky(a)
        codes: Any = _nan_pivots(factor)
    except np.linalg.LinAlgError:
        results = _each(_cholesky_or_code, a, core=[2])
        codes = _filled(a.shape[:-2], "int32", [code for _, code in results])
        factor = _filled(a.shape, a.dtype, [matrix for matrix, _ in results])
    return factor.swapaxes(-2, -1) if upper else factor, codes


def _cholesky_or_code(matrix: Any, upper: bool = False) -> tuple[Any, int]:
    factor, code = lapack("potrf")(matrix, not upper)
    return factor, max(code, 0) or int(_nan_pivots(factor))


def _nan_pivots(factor: Any) -> Any:
    """Return the number of the first NaN on each diagonal, from 1, or 0: OpenBLAS takes it for a positive pivot."""
    is_nan = np.isnan(np.diagonal(factor, axis1=-2, axis2=-1))
    return np.where(is_nan.any(-1), is_nan.argmax(-1) + 1, 0).astype("int32") if is_nan.any() else 0


@routine(LU)
def lu(a: Any) -> tuple[Any, Any, Any]:
    """Return (L and U in one matrix, code, pivots from 1): row i was exchanged with row pivots[i] - 1.

    Operands: A [*, m, n] is updated; codes [*] and pivots [*, k] are written.
    """
    *batch, m, n = a.shape
    if has_nan(a):
        return _eliminated(a, True)
    matrix, getrf = single(a), lapack("getrf", a.dtype.char)
    if matrix is not None:
        factors, pivots, code = getrf(matrix)
        return factors, max(code, 0), pivots + 1
    if _are_many(a):
        return _eliminated(a, True)
    columns = np.array(a.reshape(-1, m, n).swapaxes(1, 2), order="C")
    results = [getrf(transposed.T, True) for transposed in columns]  # in place
    pivots = np.concatenate([pivots for _, pivots, _ in results]).reshape(*batch, min(m, n)) + 1
    codes = _filled(batch, "int32", [max(code, 0) for _, _, code in results])
    return columns.swapaxes(1, 2).reshape(a.shape), codes, pivots


@routine(LU_IN_ORDER)
def lu_in_order(a: Any) -> tuple[Any, Any]:
    """Return (L and U in one matrix, code), without an exchange of rows.

    Operands: A [*, m, n] is updated; codes [*] are written.
    """
    return _eliminated(a, False)[:2]


def _eliminated(a: Any, exchanges: bool) -> tuple[Any, Any, Any]:
    """Return (LU factors, codes, pivots) of a batch, all matrices step by step together.

    Without exchanges of rows, a zero on the diagonal gives infinities and NaN.
    """
    *batch, m, n = a.shape
    out = np.array(a.reshape(-1, m, n).transpose(1, 2, 0), order="C")  # [m, n, batch]
    k, count = min(m, n), out.shape[-1]
    codes, pivots = np.zeros(count, "int32"), np.zeros((k, count), "int32")
    elements, in_row = out.reshape(-1), np.arange(n * count).reshape(n, count)
    with np.errstate(all="ignore"):
        for at in range(k):
            pivots[at] = at + 1
            if exchanges and at + 1 < m:
                rows = np.abs(out[at:, at]).argmax(0) + at
                pivots[at] = rows + 1
                chosen = rows * (n * count) + in_row
                held = elements.take(chosen)
                elements[chosen] = out[at]
                out[at] = held
            numbers = out[at, at]
            if not numbers.all():
                is_zero = numbers == 0
                codes[(codes == 0) & is_zero] = at + 1
                numbers = np.where(is_zero, 1, numbers) if exchanges else numbers
            out[at + 1 :, at] /= numbers
            out[at + 1 :, at + 1 :] -= out[at + 1 :, at, None] * out[at, at + 1 :]
    return out.transpose(2, 0, 1).reshape(a.shape), codes.reshape(batch), pivots.T.reshape(*batch, k)


@routine(SOLUTION)
def solution(a: Any, b: Any) -> tuple[Any, Any]:
    """Return (X of A @ X = B, code).

    Operands: A [*, n, n] is spent; B [*, n, r] is updated; pivots [*, n] are scratch; codes [*] are written.
    """
    if not b.size:
        return b, lu(a)[1]
    if has_nan(a):
        factors, codes, pivots = _eliminated(a, True)
        return lu_solution(factors, pivots, b, False)[0], codes
    matrix, right = single(a), single(b)
    if matrix is not None and right is not None:
        return _solution_or_code(matrix, right)
    try:
        return np.linalg.solve(a, b), 0
    except np.linalg.LinAlgError:
        results = _each(_solution_or_code, a, b, core=[2, 2])
        codes = _filled(a.shape[:-2], "int32", [code for _, code in results])
        return _filled(b.shape, b.dtype, [matrix for matrix, _ in results]), codes


def _solution_or_code(a: Any, b: Any) -> tuple[Any, int]:
    _, _, x, code = lapack("gesv")(a, b)
    return x, max(code, 0)


@routine(LU_SOLUTION)
def lu_solution(factors: Any, pivots: Any, b: Any, transposed: bool) -> tuple[Any]:
    """Compute X of A @ X = B, given the LU factors and pivots of A; transposed: of A^T @ X = B.

    Operands: factors [*, n, n] and pivots [*, n] are read; B [*, n, r] is updated.
    """
    getrs = lapack("getrs", factors.dtype.char)

    def one(factors: Any, pivots: Any, b: Any) -> Any:
        return getrs(factors, pivots - 1, b, trans=int(transposed))[0]

    return (_filled(b.shape, b.dtype, _each(one, factors, pivots, b, core=[2, 1, 2])),)


@routine(TRIANGULAR)
def triangular_solution(a: Any, b: Any, upper: bool, unit: bool) -> tuple[Any]:
    """Compute X of A @ X = B for triangular A; zeros on the diagonal give infinities and NaN.

    unit: the diagonal is ones.
    Operands: A [*, n, n] is read; B [*, n, r] is updated.
    """
    if _are_many(a):
        return (_substituted(a, b, upper, unit),)
    trtrs = lapack("trtrs", a.dtype.char)

    def one(a: Any, b: Any) -> Any:
        x, code = trtrs(a, b, not upper, 0, unit)
        return x if code <= 0 else _substituted(a[None], b[None], upper, unit)[0]

    matrix, right = single(a), single(b)
    if matrix is not None and right is not None:
        return (one(matrix, right),)
    return (_filled(b.shape, b.dtype, _each(one, a, b, core=[2, 2])),)


def _substituted(a: Any, b: Any, upper: bool, unit: bool) -> Any:
    """Solve triangular systems step by step, all matrices of a batch together."""
    *_, n, columns = b.shape
    a = np.array(a.reshape(-1, n, n).transpose(1, 2, 0), order="C")
    out = np.array(b.reshape(-1, n, columns).transpose(1, 2, 0), order="C")
    with np.errstate(all="ignore"):
        for at in range(n - 1, -1, -1) if upper else range(n):
            part = slice(at + 1, None) if upper else slice(0, at)
            out[at] -= (a[at, part, None] * out[part]).sum(0)
            if not unit:
                out[at] /= a[at, at]
    return out.transpose(2, 0, 1).reshape(b.shape)


@routine(REFLECTORS)
def reflectors(a: Any) -> tuple[Any, Any]:
    """Return (R and the vectors of the reflections below it, their factors) of a QR decomposition.

    Operands: A [*, m, n] is updated; factors [*, k] are written.
    """
    matrix = small(a)
    if matrix is not None:
        packed, factors, _, _ = lapack("geqrf")(matrix)
        return packed.astype(a.dtype), factors.astype(a.dtype)
    packed, factors = np.linalg.qr(a, "raw")
    return packed.swapaxes(-2, -1), factors


@routine(REFLECTED_COLUMNS)
def reflected_columns(a: Any, factors: Any) -> tuple[Any]:
    """Return the first n columns of Q, the product of the reflections.

    Operands: A [*, m, n], m >= n, with the vectors, is updated; factors [*, up to n] are read.
    """
    orgqr, matrix = lapack("orgqr", a.dtype.char), single(a)
    lwork = 64 * a.shape[-1]
    if matrix is not None:
        return (orgqr(matrix, factors.reshape(-1), lwork)[0],)
    columns = _each(lambda a, factors: orgqr(a, factors, lwork)[0], a, factors, core=[2, 1])
    return (_filled(a.shape, a.dtype, columns),)


@routine(REFLECTION)
def reflection(a: Any, factors: Any, other: Any, left: bool, transposed: bool) -> tuple[Any]:
    """Compute Q @ other or, if not left, other @ Q; transposed: with Q^T in place of Q.

    Operands: A [*, m, k or more] with the vectors and factors [*, k] are read; other [*, m, r] or [*, r, m] is updated.
    """
    ormqr, count = lapack("ormqr", a.dtype.char), factors.shape[-1]

    def one(a: Any, factors: Any, other: Any) -> Any:
        lwork = 64 * max(other.shape)
        return ormqr("L" if left else "R", "T" if transposed else "N", a[:, :count], factors, other, lwork)[0]

    return (_filled(other.shape, other.dtype, _each(one, a, factors, other, core=[2, 1, 2])),)


@routine(EIGEN)
def eigendecomposition(a: Any, lower: bool) -> tuple[Any, Any, Any]:
    """Return (eigenvectors, eigenvalues, code) of symmetric matrices.  lower: the triangle of A to read.

    Operands: A [*, n, n] is updated; eigenvalues [*, n], the smallest first, and codes [*] are written.
    """
    matrix = small(a)
    if matrix is not None:
        values, vectors, code = _converged(*lapack("syevd")(matrix, 1, lower))
    else:
        values, vectors, code = _or_nan(lambda a: np.linalg.eigh(a, "L" if lower else "U"), a)
    return vectors, values, code


@routine(EIGENVALUES)
def eigenvalues(a: Any, lower: bool) -> tuple[Any, Any]:
    """Return (eigenvalues, code) of symmetric matrices.  lower: the triangle of A to read.

    Operands: A [*, n, n] is spent; eigenvalues [*, n], the smallest first, and codes [*] are written.
    """
    matrix = small(a)
    if matrix is not None:
        values, _, code = _converged(*lapack("syevd")(matrix, 0, lower))
        return values, code
    values, codes = _or_nan(lambda a: (np.linalg.eigvalsh(a, "L" if lower else "U"),), a)
    return values, codes


@routine(SINGULAR)
def singular_values(a: Any, full: bool) -> tuple[Any, Any, Any, Any]:
    """Return (U, singular values, V^T, code).  full: U and V are square, else they have k columns.

    Operands: A [*, m, n] is spent; U [*, m, m or k], singular values [*, k], the largest first, V^T [*, n or k, n] and
    codes [*] are written.
    """
    matrix = small(a)
    if matrix is not None:
        u, s, vt, code = _converged(*lapack("gesdd")(matrix, 1, full))
        return u, s, vt, code
    u, s, vt, codes = _or_nan(lambda a: np.linalg.svd(a, full), a)
    return u, s, vt, codes


def _converged(*results: Any) -> tuple[Any, ...]:
    """Return the results of a LAPACK call, the code last; NaN and 1 if the algorithm did not converge."""
    if results[-1]:
        return *(np.full_like(result, np.nan) for result in results[:-1]), 1
    return results


def _or_nan(decompose: Callable[..., Any], a: Any) -> tuple[Any, ...]:
    """Return (*results, code) of matrices; NaN and 1 where the algorithm does not converge."""
    try:
        return *decompose(a), 0
    except np.linalg.LinAlgError:
        shapes = [result.shape for result in decompose(np.zeros(a.shape, a.dtype))]
    results = [np.full(shape, np.nan, a.dtype) for shape in shapes]
    codes = np.ones(a.shape[:-2], "int32")
    for index in np.ndindex(*a.shape[:-2]):
        try:
            for target, value in zip(results, decompose(a[index])):
                target[index] = value
        except np.linalg.LinAlgError:
            continue
        codes[index] = 0
    return *results, codes
