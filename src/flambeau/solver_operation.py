"""Solver operations: descriptors of factorizations and of solutions of linear systems, each with its NumPy reference.

- A descriptor names no library (see library_operation.py).  NumPy and SciPy compute it on the CPU and on virtual GPUs,
  cuSOLVER and cuBLAS on NVIDIA GPUs (driver/nvidia/solver.py).
- Matrices are the last two dimensions of an operand; those before them are a batch.  k is the smaller of m and n.
- Results replace operands where libraries do that, as LAPACK: the caller copies what it wants to keep.
- A failure of one matrix is a code in an int32 result, 0 for none; nothing is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, NamedTuple, TypeVar

from . import host
from .dtypes import dtype
from .host import np
from .kernel import Access

# How an operation uses an operand.  The library may overwrite a spent one; a scratch one has no meaning at all.
READ, WRITTEN, UPDATED, SPENT, SCRATCH = "read", "written", "updated", "spent", "scratch"
ACCESSES = {READ: "r", WRITTEN: "w", UPDATED: "rw", SPENT: "rw", SCRATCH: "w"}

LEAST_TOGETHER = 16  # matrices for each step: a batch of more is factorized step by step, not matrix by matrix

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
    """The results of a routine of this module, or of one that a module registered.

    kind: the routine's name.  It gets the operands that are read, then the options, and returns the values of the
    operands that are written or updated, both in the order of the operands.
    """

    kind: str
    arguments: tuple[Argument, ...]
    options: tuple[Any, ...] = ()

    @property
    def operations(self) -> float:
        return float(max(prod(each.shape) * max(each.shape[-1:], default=1) for each in self.arguments))

    def accesses(self, addresses: tuple[int, ...]) -> list[Access | None]:
        rows = zip(addresses, self.arguments)
        return [Access(at, each.dtype, ACCESSES[each.mode], each.shape, each.strides) for at, each in rows]

    def reference(self, *arrays: Any) -> None:
        inputs, outputs = self._uses
        results = ROUTINES[self.kind](*[arrays[index] for index in inputs], *self.options)
        for index, result in zip(outputs, results, strict=True):
            arrays[index][...] = result

    @cached_property
    def _uses(self) -> tuple[list[int], list[int]]:
        """The indexes of the operands that the routine gets, and of those that it makes."""
        modes = list(enumerate(each.mode for each in self.arguments))
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


def _each(function: Callable[..., Any], *arrays: Any, core: Sequence[int]) -> list[tuple[Any, ...]]:
    """Call a function on every matrix of batches.  core: how many last dimensions one call takes, per array."""
    batch = arrays[0].shape[: arrays[0].ndim - core[0]]
    return [function(*[array[index] for array in arrays]) for index in np.ndindex(*batch)]


def _filled(shape: Sequence[int], kind: Any, values: Sequence[Any]) -> Any:
    """An array of a batch's results."""
    out = np.zeros(shape, kind)
    if values:
        out[...] = np.array(values, kind).reshape(shape)
    return out


def _lapack(name: str, *arrays: Any) -> Any:
    """A routine of LAPACK for the type of arrays."""
    return host.scipy_linalg().lapack.get_lapack_funcs((name,), arrays)[0]


@routine(CHOLESKY)
def cholesky(a: Any, upper: bool) -> tuple[Any, Any]:
    """(triangular factor, code) of symmetric matrices, of which that triangle is read; the other is undefined.

    Operands: A [*, n, n] is updated; codes [*] are written.
    """
    if upper:
        a = a.swapaxes(-2, -1)
    try:
        factor, codes = np.linalg.cholesky(a), 0
    except np.linalg.LinAlgError:
        found = _each(_cholesky_or_code, a, core=[2])
        codes = _filled(a.shape[:-2], "int32", [code for _, code in found])
        factor = _filled(a.shape, a.dtype, [matrix for matrix, _ in found])
    return factor.swapaxes(-2, -1) if upper else factor, codes


def _cholesky_or_code(matrix: Any) -> tuple[Any, int]:
    factor, code = _lapack("potrf", matrix)(matrix, lower=True, clean=True)
    return factor, max(code, 0)


@routine(LU)
def lu(a: Any) -> tuple[Any, Any, Any]:
    """(L and U in one matrix, code, pivots from 1): row i was exchanged with row pivots[i] - 1.

    Operands: A [*, m, n] is updated; codes [*] and pivots [*, k] are written.
    """
    *batch, m, n = a.shape
    if prod(batch) > LEAST_TOGETHER * min(m, n):
        return _eliminated(a, True)
    found = _each(_lapack("getrf", a), a, core=[2])
    return (
        _filled(a.shape, a.dtype, [factors for factors, _, _ in found]),
        _filled(batch, "int32", [max(code, 0) for _, _, code in found]),
        _filled((*batch, min(m, n)), "int32", [pivots + 1 for _, pivots, _ in found]),
    )


@routine(LU_IN_ORDER)
def lu_in_order(a: Any) -> tuple[Any, Any]:
    """(L and U in one matrix, code), without an exchange of rows.

    Operands: A [*, m, n] is updated; codes [*] are written.
    """
    return _eliminated(a, False)[:2]


def _eliminated(a: Any, exchanges: bool) -> tuple[Any, Any, Any]:
    """(LU factors, codes, pivots) of a batch, all matrices step by step together.

    Without exchanges of rows, a zero on the diagonal gives infinities and NaN.
    """
    *batch, m, n = a.shape
    out, k = np.array(a).reshape(-1, m, n), min(m, n)
    codes, pivots, every = np.zeros(len(out), "int32"), np.zeros((len(out), k), "int32"), np.arange(len(out))
    with np.errstate(all="ignore"):
        for at in range(k):
            if exchanges:
                pivots[:, at] = rows = at + np.abs(out[:, at:, at]).argmax(1)
                held = out[every, rows]
                out[every, rows] = out[:, at]
                out[:, at] = held
            numbers = out[:, at, at]
            is_zero = numbers == 0
            codes[(codes == 0) & is_zero] = at + 1
            out[:, at + 1 :, at] /= np.where(is_zero, 1, numbers)[:, None] if exchanges else numbers[:, None]
            out[:, at + 1 :, at + 1 :] -= out[:, at + 1 :, at, None] * out[:, at, None, at + 1 :]
    return out.reshape(a.shape), codes.reshape(batch), (pivots + 1).reshape(*batch, k)


@routine(SOLUTION)
def solution(a: Any, b: Any) -> tuple[Any, Any]:
    """(X of A @ X = B, code).

    Operands: A [*, n, n] is spent; B [*, n, r] is updated; pivots [*, n] are scratch; codes [*] are written.
    """
    if not b.size:
        return b, lu(a)[1]
    try:
        return np.linalg.solve(a, b), 0
    except np.linalg.LinAlgError:
        found = _each(_solution_or_code, a, b, core=[2, 2])
        codes = _filled(a.shape[:-2], "int32", [code for _, code in found])
        return _filled(b.shape, b.dtype, [matrix for matrix, _ in found]), codes


def _solution_or_code(a: Any, b: Any) -> tuple[Any, int]:
    _, _, found, code = _lapack("gesv", a, b)(a, b)
    return found, max(code, 0)


@routine(LU_SOLUTION)
def lu_solution(factors: Any, pivots: Any, b: Any, transposed: bool) -> tuple[Any]:
    """X of A @ X = B, given the LU factors and pivots of A; transposed: of A^T @ X = B.

    Operands: factors [*, n, n] and pivots [*, n] are read; B [*, n, r] is updated.
    """
    getrs = _lapack("getrs", factors, b)

    def one(factors: Any, pivots: Any, b: Any) -> Any:
        return getrs(factors, pivots - 1, b, trans=int(transposed))[0]

    return (_filled(b.shape, b.dtype, _each(one, factors, pivots, b, core=[2, 1, 2])),)


@routine(TRIANGULAR)
def triangular_solution(a: Any, b: Any, upper: bool, unit: bool) -> tuple[Any]:
    """X of A @ X = B for triangular A; zeros on the diagonal give infinities and NaN.  unit: the diagonal is ones.

    Operands: A [*, n, n] is read; B [*, n, r] is updated.
    """
    trtrs = _lapack("trtrs", a, b)

    def one(a: Any, b: Any) -> Any:
        found, code = trtrs(a, b, lower=not upper, unitdiag=unit)
        return found if code <= 0 else _divided(a, b, upper)

    return (_filled(b.shape, b.dtype, _each(one, a, b, core=[2, 2])),)


def _divided(a: Any, b: Any, upper: bool) -> Any:
    """Substitution in NumPy, for a diagonal with zeros: the result has infinities and NaN."""
    out = np.array(b)
    size = len(a)
    with np.errstate(all="ignore"):
        for at in range(size - 1, -1, -1) if upper else range(size):
            part = slice(at + 1, None) if upper else slice(0, at)
            out[at] = (out[at] - a[at, part] @ out[part]) / a[at, at]
    return out


@routine(REFLECTORS)
def reflectors(a: Any) -> tuple[Any, Any]:
    """(R and the vectors of the reflections below it, their factors) of a QR decomposition.

    Operands: A [*, m, n] is updated; factors [*, k] are written.
    """
    packed, factors = np.linalg.qr(a, "raw")
    return packed.swapaxes(-2, -1), factors


@routine(REFLECTED_COLUMNS)
def reflected_columns(a: Any, factors: Any) -> tuple[Any]:
    """The first n columns of Q, the product of the reflections.

    Operands: A [*, m, n], m >= n, with the vectors, is updated; factors [*, up to n] are read.
    """
    orgqr = _lapack("orgqr", a)
    return (_filled(a.shape, a.dtype, _each(lambda *each: orgqr(*each)[0], a, factors, core=[2, 1])),)


@routine(REFLECTION)
def reflection(a: Any, factors: Any, other: Any, left: bool, transposed: bool) -> tuple[Any]:
    """Q @ other or, if not left, other @ Q; transposed: with Q^T in place of Q.

    Operands: A [*, m, k or more] with the vectors and factors [*, k] are read; other [*, m, r] or [*, r, m] is updated.
    """
    ormqr, count = _lapack("ormqr", a), factors.shape[-1]

    def one(a: Any, factors: Any, other: Any) -> Any:
        lwork = 64 * max(other.shape)
        return ormqr("L" if left else "R", "T" if transposed else "N", a[:, :count], factors, other, lwork)[0]

    return (_filled(other.shape, other.dtype, _each(one, a, factors, other, core=[2, 1, 2])),)


@routine(EIGEN)
def eigendecomposition(a: Any, lower: bool) -> tuple[Any, Any, Any]:
    """(eigenvectors, eigenvalues, code) of symmetric matrices.  lower: the triangle of A to read.

    Operands: A [*, n, n] is updated; eigenvalues [*, n], the smallest first, and codes [*] are written.
    """
    values, vectors, codes = _or_nan(lambda a: np.linalg.eigh(a, "L" if lower else "U"), a)
    return vectors, values, codes


@routine(EIGENVALUES)
def eigenvalues(a: Any, lower: bool) -> tuple[Any, Any]:
    """(eigenvalues, code) of symmetric matrices.  lower: the triangle of A to read.

    Operands: A [*, n, n] is spent; eigenvalues [*, n], the smallest first, and codes [*] are written.
    """
    values, codes = _or_nan(lambda a: (np.linalg.eigvalsh(a, "L" if lower else "U"),), a)
    return values, codes


@routine(SINGULAR)
def singular_values(a: Any, full: bool) -> tuple[Any, Any, Any, Any]:
    """(U, singular values, V^T, code).  full: U and V are square, else they have k columns.

    Operands: A [*, m, n] is spent; U [*, m, m or k], singular values [*, k], the largest first, V^T [*, n or k, n] and
    codes [*] are written.
    """
    u, s, vt, codes = _or_nan(lambda a: np.linalg.svd(a, full), a)
    return u, s, vt, codes


def _or_nan(decompose: Callable[..., Any], a: Any) -> tuple[Any, ...]:
    """(*results, code) of matrices; NaN and 1 where the algorithm does not converge."""
    try:
        return *decompose(a), 0
    except np.linalg.LinAlgError:
        shapes = [each.shape for each in decompose(np.zeros(a.shape, a.dtype))]
    results = [np.full(shape, np.nan, a.dtype) for shape in shapes]
    codes = np.ones(a.shape[:-2], "int32")
    for index in np.ndindex(*a.shape[:-2]):
        try:
            for target, found in zip(results, decompose(a[index])):
                target[index] = found
        except np.linalg.LinAlgError:
            continue
        codes[index] = 0
    return *results, codes
